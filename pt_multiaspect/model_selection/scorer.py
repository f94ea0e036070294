"""Measures as scikit-learn scorers, and scores of predictions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from .._typing import Floats, Objects
from .._validation import choice
from ..collection import Judgments
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, agree, number_of, warn_once
from ..integration.aggregators import aggregate_is_mean
from ..integration.parsing import MeasureLike
from .arrays import as_numbers, check_length, fill_masked, weight_per_query
from .boosters import last_step, warn_of_classes
from .queries import (
    ADD_QID,
    check_same_documents,
    find_documents,
    find_queries,
    require_queries,
    rows_per_query,
)
from .row_judgments import RowJudgments
from .row_rankings import RowRankings
from .rows import EvaluatedMeasure, LabelledRows, warn_if_constant


def ranking_scorer(
    measure: MeasureLike | Mapping[str, MeasureLike],
    *,
    aspects: object = None,
    response_method: str = "predict",
    missing: str = "error",
    qrels: object = None,
) -> RankingScorer:
    """Create a scikit-learn scorer for grouped ranking data from a measure.

    The rows of each query are ranked by the predictions of the estimator and evaluated with the
    labels in `y`, one column per aspect. Higher scores are better: the values of lower-is-better
    measures, such as ESL, are negated.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        A multi-aspect measure, or a single-aspect measure, which scores the column ``relevance``
        (or ``label``) of y, as in `evaluate`, or the only column of y. Use
        ``On(aspect="credibility", base=nDCG) @ 10`` for any other column. A dict ``{name:
        measure}`` gives a scorer of several measures, which predicts once and returns a dict, as
        `GridSearchCV` (with the name of a measure as `refit`) and `cross_validate` accept.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns if y is an array, or the columns to select if y is a data frame
        (pandas, Polars or PyArrow). Declared scales are also used for a measure without declared
        scales, so all folds use the same scales.
    response_method : {'predict', 'decision_function', 'predict_proba'}
        The method of the estimator that returns the scores. For ``predict_proba`` with two classes,
        the scores are the probabilities of the second class. If it has a parameter ``qid``, it
        receives the queries.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments, optional
        All judgments of the queries, as in `evaluate`, also of documents without a row. Ideal
        rankings and numbers of relevant documents are then those of the qrels; by default, they are
        those of the rows of each query. They may contain other queries, such as those of other
        folds. y or X needs an index level or a column docno.

    Returns
    -------
    RankingScorer
        A callable ``scorer(estimator, X, y, qid=None)`` for the ``scoring`` of `GridSearchCV`,
        `RandomizedSearchCV`, `cross_validate` and `permutation_importance`.

    Raises
    ------
    MultiAspectError
        On creation: if the measure or response method is unknown. When called: if qid is missing,
        columns, queries or predictions have the wrong number or shape, labels or predictions are
        NaN, a document has several rows for a query (if y or X has a docno), or labels differ from
        those of `qrels`.

    Warns
    -----
    MultiAspectWarning
        If an `AspectRanker` was fitted on one of the scored queries, as with folds that divide
        queries (the training set as a whole may be scored), the predictions are equal within every
        query, or every query has one row.

    Notes
    -----
    *Query ids.* With metadata routing (``sklearn.set_config(enable_metadata_routing=True)``), pass
    ``qid`` to ``fit`` or as ``params``; the scorer requests it by default. Without routing, query
    ids are taken from the index level or column ``qid`` of y or X. A missing qid raises an error;
    rows are never treated as a single query.

    By default, searches in scikit-learn convert this error to NaN and continue, so they would
    select arbitrary parameters: pass ``error_score='raise'`` to searches and to `cross_validate`.
    Only `AspectRanker` drops a column ``qid`` of X. Other estimators, and pipeline steps before it,
    treat it as a feature: move the query ids to the index, or pass them as ``qid``.

    *Ideal rankings* and numbers of relevant documents are those of the rows of each query, so
    relevant documents without a row do not count: values are higher than those of `evaluate` if the
    rows are a part of the judged documents, such as those that a first stage retrieved. Pass
    `qrels` for the values of `evaluate`.

    *Successive halving* takes rows as its resource by default: it would fit and score parts of
    queries, which cannot be noticed. Pass ``resource='estimator__n_estimators'`` to
    `HalvingGridSearchCV`.

    *Ties.* Measures that are linear in linear bases (CAM, TOMA, On and uRBP over nDCG, DCG, RBP, P,
    …) have their expected value over all orders of tied rows, like scikit-learn's `ndcg_score`. For
    other measures, tied rows are sorted by docno, descending, as in `evaluate`, if y or X has an
    index level or a column docno. Otherwise, they are in a random order that follows from their
    query and labels, so that neither the order of the rows nor other queries matter. Predictions
    are compared as 64-bit floats.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> import pt_multiaspect as ma
    >>> X, qid = np.array([[0.1], [0.9], [0.4], [0.3]]), ["a", "a", "b", "b"]
    >>> Y = np.array([[0, 1], [2, 1], [1, 0], [0, 2]])
    >>> scorer = ma.ranking_scorer(ma.CAM @ 10, aspects={"relevance": 2, "credibility": 2})
    >>> round(scorer(LinearRegression().fit(X, Y[:, 0]), X, Y, qid=qid), 3)
    0.908
    """
    return RankingScorer(measure, aspects, response_method, missing, qrels)


#: The name of a measure that was not given in a dict.
_SINGLE = ""


class RankingScorer:
    """The scorer returned by `ranking_scorer`."""

    def __init__(
        self,
        measure: MeasureLike | Mapping[str, MeasureLike],
        aspects: object = None,
        response_method: str = "predict",
        missing: str = "error",
        qrels: object = None,
    ) -> None:
        parse_method = choice("response_method", "predict", "decision_function", "predict_proba")
        parse_method(response_method)
        self._response_method = response_method
        #: Whether the measures were given as a dict.
        self._several = isinstance(measure, Mapping)
        measures: Mapping[str, MeasureLike]
        if isinstance(measure, Mapping):
            measures = measure
        else:
            measures = {_SINGLE: measure}
        if not measures:
            raise MultiAspectError("expected at least one measure, got an empty dict")
        judgments = None
        if qrels is not None:
            judgments = Judgments.of(qrels)
        self._measures: dict[str, EvaluatedMeasure] = {}
        for name, named_measure in measures.items():
            evaluated = EvaluatedMeasure(named_measure, aspects, missing, judgments)
            self._measures[str(name)] = evaluated
        #: Labels of a fit, from which undeclared scales are inferred, too.
        self.fitted: pd.DataFrame | None = None

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float | dict[str, float]:
        """Score `estimator` on the rows of X with the labels y.

        The result is the score, or that of each name if the measures were given as a dict.
        """
        queries = find_queries(y, X, qid)
        if queries is None:
            self._refuse_missing_queries()
        frame = to_pandas(X)
        if frame is not None:
            _warn_of_qid_column(frame, estimator)
            # scikit-learn does not read the frames of some libraries, which have no `columns`.
            if not hasattr(X, "columns"):
                X = frame
        # Another number of queries than rows is an error, which is raised below.
        has_query_per_row = len(queries) == _num_samples(X)
        if has_query_per_row:
            _warn_of_trained_queries(estimator, queries)
        response = self._predict(estimator, X, queries)
        check_same_documents("y", y, "predictions", response)
        check_same_documents("X", X, "predictions", response)
        scores = self._scores_of_response(response)
        documents = find_documents(y=y, X=X, qid=qid)
        return self._score_predictions(y, scores, queries, documents)

    def _scores_of_response(self, response: Any) -> NDArray[Any]:
        """Return predictions as an array: of two classes, the probability of the second one.

        Other shapes than one score per row are refused later.
        """
        scores = fill_masked(response)
        if self._response_method != "predict_proba":
            return scores
        has_two_classes = scores.ndim == 2 and scores.shape[1] == 2
        if has_two_classes:
            return scores[:, 1]
        return scores

    def _refuse_missing_queries(self) -> NoReturn:
        """Raise an error, after a warning, as a search turns the error into NaN and goes on."""
        message = (
            f"{self!r} needs the query of every row: pass qid with metadata routing "
            f"(sklearn.set_config(enable_metadata_routing=True)), or {ADD_QID}"
        )
        warn_once(
            f"{message}. Without metadata routing the qid passed to fit does not reach the "
            "scorer. Pass error_score='raise' to make this an error",
            key="a scorer without qid",
        )
        raise MultiAspectError(message)

    def _predict(self, estimator: Any, X: Any, queries: NDArray[Any]) -> Any:
        """Return the response of the estimator to X, and to the queries if it takes them."""
        respond = getattr(estimator, self._response_method, None)
        if respond is None:
            raise MultiAspectError(
                f"{type(estimator).__name__} has no method {self._response_method}"
            )
        if self._response_method == "predict":
            warn_of_classes(estimator, ", or score two classes by response_method='predict_proba'")
        if _has_qid_parameter(respond):
            return respond(X, qid=queries)
        return respond(X)

    def _score_predictions(
        self, y: Any, scores: Any, qid: Any, documents: Objects | None
    ) -> float | dict[str, float]:
        """Return the score of predictions for the rows of y, or one per name of a measure.

        The keys of `self._measures` are these names, or `_SINGLE` for a measure without a name.
        """
        values: dict[str, float] = {}
        # The rankings are computed once for all measures on the same columns of y.
        ranked_by_columns: dict[tuple[str, ...], _RankedRows] = {}
        is_array = to_pandas(y) is None
        rows: LabelledRows | None = None
        for name, evaluated in self._measures.items():
            # A frame is read once, but the columns of an array are named by each measure.
            if rows is None or is_array:
                rows = self._read_rows(evaluated, y, qid, documents)
            columns = tuple(rows.names)
            if columns not in ranked_by_columns:
                rankings = rows.rankings(scores)
                ranked_by_columns[columns] = _RankedRows(rows, rankings)
            values[name] = self._evaluate(evaluated, ranked_by_columns[columns])
        # All rankings are by the same predictions, so that one tells whether these are constant.
        first_ranked = next(iter(ranked_by_columns.values()))
        warn_if_constant(first_ranked.rankings, repr(self))
        if self._several:
            return values
        return values[_SINGLE]

    def _read_rows(
        self, evaluated: EvaluatedMeasure, y: Any, qid: Any, documents: Objects | None
    ) -> LabelledRows:
        """Return the rows of y for a measure, on the scales of a fit if there is one."""
        rows = evaluated.rows(y, qid, documents)
        if self.fitted is not None:
            rows.share_scales(self.fitted)
        return rows

    def _evaluate(self, evaluated: EvaluatedMeasure, ranked: _RankedRows) -> float:
        """Return the score of rankings by a measure, where higher is better."""
        measure_on_rows = evaluated.bind(ranked.rows)  # with the aspects and scales of the rows
        if self.fitted is not None:
            ranked.rows.warn_of_further_grades(measure_on_rows, self.fitted)
        # Values of queries are aggregated as the original measure, such as GMAP, tells.
        aggregation = evaluated.measure
        value = ranked.rows.evaluate(measure_on_rows, ranked.rankings, aggregation)
        if measure_on_rows.lower_is_better:
            return -value
        return value

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata request: ``score`` takes `qid`."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        names = {name: str(evaluated.measure) for name, evaluated in self._measures.items()}
        if self._several:
            measures = str(names)
        else:
            measures = names[_SINGLE]
        if self._response_method == "predict":
            return f"ranking_scorer({measures})"
        return f"ranking_scorer({measures}, response_method={self._response_method!r})"


class _RankedRows(NamedTuple):
    """Rows of labels, and their rankings by predictions."""

    rows: LabelledRows
    rankings: RowRankings


def _has_qid_parameter(method: Any) -> bool:
    """Return whether a method has a parameter `qid`."""
    try:
        parameters = inspect.signature(method).parameters
    except ValueError:  # a builtin without signature
        return False
    return "qid" in parameters


def _warn_of_qid_column(features: pd.DataFrame, estimator: Any) -> None:
    """Warn if a column qid of the features is not dropped by the estimator, which learns it."""
    if "qid" not in features.columns or _drops_qid(estimator):
        return
    name = type(estimator).__name__
    warn_once(
        f"X has a column qid, which {name} uses as a feature: pass qid "
        "with metadata routing, or move it to the index of X or y. AspectRanker drops the "
        "column, but not after other steps of a pipeline",
        key="qid among the features",
    )


def _warn_of_trained_queries(estimator: Any, queries: NDArray[Any]) -> None:
    """Warn if an `AspectRanker` was fitted on some of the scored queries.

    The training set as a whole may be scored, as with ``return_train_score``.
    """
    fitted = last_step(getattr(estimator, "best_estimator_", estimator))
    trained: Mapping[str, int] = getattr(fitted, "_trained_queries", {})
    are_valid = queries.ndim == 1 and not pd.isna(queries).any()  # else scoring raises an error
    if not trained or not are_valid:
        return
    scored = rows_per_query(queries)
    is_training_set = trained == scored
    shared = [qid for qid in scored if qid in trained]
    if is_training_set or not shared:
        return
    name = type(estimator).__name__
    scored_queries = number_of(len(scored), "scored query")
    were = agree(len(shared), len(scored), "was", "were")
    # The folds and candidates of a search have the same queries in all, and warn once.
    all_queries = frozenset(trained).union(scored)
    warn_once(
        f"{len(shared)} of {scored_queries}, such as {shared[0]}, {were} "
        f"among those that {name} was fitted on: the values do not hold for other queries. "
        "Split by query, as with cv=GroupKFold() and groups=qid, or cv=RepeatedQueryKFold()",
        key=f"{name} fitted on scored queries {hash(all_queries)}",
    )


def _drops_qid(estimator: Any) -> bool:
    """Return whether an estimator excludes a column qid of X from its features.

    `AspectRanker` does, and pipelines that begin with it or select other columns.
    """
    # A search predicts with its best estimator.
    estimator = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(estimator, Pipeline):
        # Only AspectRanker has this attribute. Its module imports this one, which therefore cannot
        # import the class.
        return hasattr(estimator, "_trained_queries")
    # Steps that are None or "passthrough" do nothing.
    steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
    if not steps:
        return False
    first_step = steps[0]
    if isinstance(first_step, ColumnTransformer):
        return not _puts_out_qid(first_step)
    return _drops_qid(first_step)  # an AspectRanker, or a pipeline within the pipeline


def _puts_out_qid(transformer: ColumnTransformer) -> bool:
    """Return whether a column qid is among the outputs of a transformer of columns.

    Their names may have prefixes, as in ``remainder__qid``.
    """
    for output in transformer.get_feature_names_out():
        _, _, column = output.rpartition("__")
        if column == "qid":
            return True
    return False


def ranking_score(
    y_true: object,
    y_score: object,
    *,
    measure: MeasureLike,
    qid: object = None,
    aspects: object = None,
    sample_weight: object = None,
    missing: str = "error",
    per_query: bool = False,
    qrels: object = None,
) -> float | pd.Series[float]:
    """Evaluate the rankings given by predictions with a measure.

    Parameters
    ----------
    y_true : DataFrame or array-like of shape (n_rows,) or (n_rows, n_aspects)
        One row per (query, document) pair, in any order, with one column of labels per aspect. Data
        frames may be of pandas, Polars or PyArrow.
    y_score : array-like of shape (n_rows,)
        The predictions. Higher scores rank first. Ties are treated as in `ranking_scorer`.
    measure : ir_measures.Measure or str
        A multi-aspect measure, or a single-aspect measure, which is computed on the column
        ``relevance`` (or ``label``) of y_true, or on its only column.
    qid : array-like of shape (n_rows,), optional
        The query of each row, as strings or numbers. By default, the index level or column ``qid``
        of y_true.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and scales) of the columns of an array, or the columns to select from a frame.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the queries for the mean, constant within each query.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.
    per_query : bool, default False
        Whether to return the value of each query instead of the aggregate.
    qrels : DataFrame, dict, iterable of namedtuples or Judgments, optional
        All judgments of the queries, as in `evaluate`, also of documents without a row. Ideal
        rankings and numbers of relevant documents are then those of the qrels; by default, they are
        those of the rows of each query. y_true needs an index level or a column docno.

    Returns
    -------
    float or Series of float
        The value of the measure, aggregated over queries as the measure defines (the mean for
        most), or the values of the queries, with the query ids as strings in the index, sorted. For
        lower-is-better measures such as ESL, lower values are better, whereas `ranking_scorer`
        negates them.

    Raises
    ------
    MultiAspectError
        If no query ids are given, lengths differ, labels are missing or masked, predictions are
        NaN, masked or complex, weights vary within a query or the measure is not a mean over
        queries (such as NumRel), the indexes of pandas objects have the same elements in a
        different order, their rows have different queries or documents in index levels or columns,
        a document has several rows for a query (if y_true has a docno), or labels differ from those
        of `qrels`.

    Warns
    -----
    MultiAspectWarning
        If the predictions are equal within every query, every query has one row, or queries of
        `qrels` have no row.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, qid = [[2, 0], [0, 2], [1, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> predictions, aspects = [0.3, 0.1, 0.2, 0.9], {"relevance": 2, "credibility": 2}
    >>> round(ma.ranking_score(labels, predictions, qid=qid, measure="CAM@10", aspects=aspects), 4)
    0.7232
    >>> scores = ma.ranking_score(
    ...     labels, predictions, qid=qid, measure="CAM@10", aspects=aspects, per_query=True
    ... )
    >>> scores.round(4)
    a    0.8155
    b    0.6309
    Name: CAM(aspects={'relevance': 2, 'credibility': 2})@10, dtype: float64
    """
    evaluated = EvaluatedMeasure(measure, aspects, missing, qrels)
    _refuse_swapped(y_true, y_score)
    queries = require_queries(
        "ranking_score", y_true, None, qid, "y_true", y_score=y_score, sample_weight=sample_weight
    )
    documents = find_documents(y_true=y_true, y_score=y_score, qid=qid)
    rows = evaluated.rows(y_true, queries, documents)
    bound_measure = evaluated.bind(rows)
    rankings = rows.rankings(y_score)
    warn_if_constant(rankings, "ranking_score")
    if evaluated.qrels is not None:
        _warn_of_queries_without_rows(evaluated.qrels.n_queries, rows.judgments.n_queries)
    if per_query:
        if sample_weight is not None:
            raise MultiAspectError(
                "sample_weight has no effect on the values of single queries; omit it"
            )
        query_values = rows.values(bound_measure, rankings)
        return pd.Series(query_values, index=rows.judgments.qids, name=str(evaluated.measure))
    if sample_weight is None:
        return rows.evaluate(bound_measure, rankings, evaluated.measure)
    if not aggregate_is_mean(evaluated.measure):
        raise MultiAspectError(
            f"sample_weight: {evaluated.measure} is not a mean over queries; omit the weights"
        )
    weights = _weights_of_queries(sample_weight, rows.judgments, len(rows))
    query_values = rows.values(bound_measure, rankings)
    weighted_sum = (weights * query_values).sum()
    return float(weighted_sum / weights.sum())


def _refuse_swapped(y_true: object, y_score: object) -> None:
    """Raise an error if the predictions have several columns and the labels are a single one."""
    labels_shape: tuple[int, ...] = getattr(y_true, "shape", ())
    scores_shape: tuple[int, ...] = getattr(y_score, "shape", ())
    if len(labels_shape) != 1 or len(scores_shape) != 2:
        return
    n_columns = scores_shape[1]
    if n_columns > 1:
        raise MultiAspectError(
            f"y_score: expected one prediction per row, got {n_columns} columns. Are y_true "
            "and y_score swapped?"
        )


def _warn_of_queries_without_rows(n_judged: int, n_scored: int) -> None:
    """Warn if the qrels judge further queries than those that have rows, and are scored.

    `n_judged` and `n_scored` are the numbers of these queries.
    """
    n_left_out = n_judged - n_scored
    if n_left_out <= 0:
        return
    judged_queries = number_of(n_judged, "query")
    have = agree(n_left_out, n_judged, "has no row and is", "have no row and are")
    warn_once(
        f"ranking_score: {n_left_out} of {judged_queries} of the qrels {have} "
        "left out of the mean, while evaluate counts judged topics without a ranking as 0. "
        "Pass the qrels of the scored queries only, as in qrels[qrels['qid'].isin(qid)]",
        key=f"{n_judged} {n_scored}",
        group="queries of the qrels without rows",
    )


def _weights_of_queries(sample_weight: Any, judgments: RowJudgments, n_rows: int) -> Floats:
    """Return the weight of each query, which its rows must share."""
    column = check_length(sample_weight, n_rows, "sample_weight")
    row_weights = as_numbers(column, "sample_weight")
    is_valid = np.isfinite(row_weights) & (row_weights >= 0)
    has_positive = row_weights.any()
    if not is_valid.all() or not has_positive:
        raise MultiAspectError(
            "sample_weight: expected finite, non-negative weights that are not all 0"
        )
    pair_weights = judgments.pair_values(row_weights)
    return weight_per_query(pair_weights, judgments.pool_query, judgments.n_queries)
