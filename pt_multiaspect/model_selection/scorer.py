"""Measures as scikit-learn scorers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, overload

import ir_measures
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from .._validation import choice
from ..aspects.aspects import Aspects
from ..aspects.parameter import AspectSpec, parse_aspects
from ..collection.frames import in_memory, to_pandas
from ..errors import MultiAspectError, choices, warn_once
from ..integration import parsing
from ..measures import Measure, On
from ..strings.identifiers import identifiers
from .estimators import takes_queries, trained_rows
from .labels import LabelledRows, check_known, find_qid, unmasked
from .row_order import check_order

__all__ = ["RankingScorer", "ranking_scorer"]

_RESPONSES = ("predict", "decision_function", "predict_proba")


@overload
def ranking_scorer(
    measure: Mapping[str, ir_measures.Measure | str],
    *,
    aspects: object = ...,
    response_method: str = ...,
    missing: str = ...,
) -> RankingScorers: ...


@overload
def ranking_scorer(
    measure: ir_measures.Measure | str,
    *,
    aspects: object = ...,
    response_method: str = ...,
    missing: str = ...,
) -> RankingScorer: ...


def ranking_scorer(
    measure: ir_measures.Measure | str | Mapping[str, ir_measures.Measure | str],
    *,
    aspects: object = None,
    response_method: str = "predict",
    missing: str = "error",
) -> RankingScorer | RankingScorers:
    """Make a scikit-learn scorer for grouped ranking data from a measure.

    The rows of each query are ranked by the predictions of the estimator and evaluated with the labels in
    `y`, one column per aspect. Higher scores are better: the values of lower-is-better measures, such as ESL,
    are negated.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        A multi-aspect measure, or a single-aspect measure, which scores the column ``relevance`` (or
        ``label``) of y, as in `evaluate`, or the only column of y. Use
        ``On(aspect="credibility", base=nDCG) @ 10`` for any other column. A dict ``{name: measure}`` gives a
        scorer of several measures, which predicts once and returns a dict, as `GridSearchCV` (with the name of
        a measure as `refit`) and `cross_validate` accept.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns if y is an array, or the columns to select if y is a data frame (pandas,
        Polars or PyArrow). Declared scales are also used for a measure without declared scales, so all
        folds use the same scales.
    response_method : {'predict', 'decision_function', 'predict_proba'}
        The method of the estimator that returns the scores. For ``predict_proba`` with two classes, the
        scores are the probabilities of the second class.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.

    Returns
    -------
    RankingScorer or RankingScorers
        A callable ``scorer(estimator, X, y, qid=None)`` for the ``scoring`` of `GridSearchCV`,
        `RandomizedSearchCV` and `cross_validate`. A scorer of one measure can also be used in a dict of
        several, which predicts once per scorer.

    Raises
    ------
    MultiAspectError
        On creation: if the measure or response method is unknown. When called: if qid is missing,
        columns, queries or predictions have the wrong number or shape, or labels or predictions are NaN.

    Notes
    -----
    *Query ids.* With metadata routing (``sklearn.set_config(enable_metadata_routing=True)``), pass ``qid``
    to ``fit`` or as ``params``; the scorer requests it by default. Without routing, query ids are taken
    from the index level ``qid`` of y or X, or the column ``qid`` of one of them (or the column of X named by
    `qid_column` of `AspectRanker`). A missing qid raises an error; rows are never treated as a single query.

    By default, searches in scikit-learn convert this error to NaN and continue, so they would select
    arbitrary parameters: pass ``error_score='raise'`` to searches and to `cross_validate`. Only
    `AspectRanker` drops a column ``qid`` of X. Other estimators, and pipeline steps before it, treat it as a
    feature: move the query ids to the index, or pass them as ``qid``.

    *Folds.* Split by query, for example with `GroupKFold`. If an `AspectRanker` or `AspectFusion` was trained on
    other rows of the scored queries, as with `KFold`, a warning is given. Successive halving over samples splits
    queries, so its scores are computed on truncated queries; use another resource, such as ``n_estimators``.

    *Ties.* Among tied predictions, the later row ranks first: rows are documents named by their position,
    and ties are broken by docno, descending, as in trec_eval. Predictions are compared as 64-bit floats,
    whereas scores of runs are compared as 32-bit floats. A query with a single row, or with lowest grades
    only, counts like any other query (as 0 if no gain is possible).

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
    if isinstance(measure, Mapping):
        return RankingScorers(measure, aspects, response_method, missing)
    return RankingScorer(measure, aspects, response_method, missing)


class RankingScorer:
    """The scorer returned by `ranking_scorer`."""

    def __init__(
        self,
        measure: ir_measures.Measure | str,
        aspects: object,
        response_method: str = "predict",
        missing: str = "error",
    ) -> None:
        parsed = parsing.parse(measure)
        if len(parsed) != 1:
            raise MultiAspectError(f"expected one measure, but {measure!r} expands to {len(parsed)}")
        if response_method not in _RESPONSES:
            raise MultiAspectError(f"response_method: expected {choices(_RESPONSES)}, got {response_method!r}")
        self.aspects: AspectSpec = parse_aspects(aspects)
        self.measure = self._declare(parsed[0])
        self._ordinary().validate_params()
        self._response_method = response_method
        self._missing = choice("missing", "error", "lowest")(missing)

    def _declare(self, measure: ir_measures.Measure) -> ir_measures.Measure:
        """Give the declared scales to a measure that has none for its aspects."""
        if "aspects" not in measure.SUPPORTED_PARAMS:
            return measure
        spec, declared = measure["aspects"], self.aspects
        if not isinstance(declared, Aspects):
            return measure
        if spec is None:
            return measure(aspects=declared)
        if isinstance(spec, tuple) and all(name in declared for name in spec):
            return measure(aspects=Aspects({name: declared[name] for name in spec}))
        return measure

    def _ordinary(self, aspect: str = "relevance", declared: Aspects | None = None) -> Measure:
        """Return the measure itself, or for a single-aspect measure, the measure on an aspect."""
        on = getattr(self.measure, "on", None)  # a measure of this package knows
        measure: Measure = (
            On(aspect=aspect, base=self.measure, aspects=declared) if on is None else on(aspect, declared)
        )
        return measure

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """Score `estimator` on the rows of X with the labels y."""
        X, y, qid = map(in_memory, (X, y, qid))
        queries = self.find_queries(estimator, X, y, qid)
        return self.of_predictions(y, self.scores(estimator, X, queries), queries)

    def find_queries(self, estimator: Any, X: Any, y: Any, qid: Any) -> NDArray[Any]:
        """Return the query of each row, or raise an error."""
        check_order("y", y, X=X, qid=qid)
        column, features = getattr(estimator, "qid_column", None), to_pandas(X)
        has_column = features is not None and column in features.columns
        queries = find_qid(qid, X, y, column if has_column else None)
        if queries is None:
            message = (
                f"{self!r} needs the query of every row: pass qid with metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)), or add an index level or a column qid to "
                "y or X"
            )
            # A search converts the error to NaN and selects parameters anyway.
            warn_once(
                f"{message}. Without metadata routing the qid passed to fit does not reach the scorer. "
                "Pass error_score='raise' to make this an error",
                key="a scorer without qid",
            )
            raise MultiAspectError(message)
        if features is not None and "qid" in features.columns and not _drops_qid(estimator):
            warn_once(
                f"X has a column qid, which {type(estimator).__name__} uses as a feature: pass qid with metadata "
                "routing, or move it to the index of X or y. AspectRanker drops the column, but not "
                "after other steps of a pipeline",
                key="qid among the features",
            )
        _warn_of_divided_queries(estimator, queries)
        return queries

    def of_predictions(self, y: Any, scores: Any, qid: Any) -> float:
        """Score predictions for the rows of y."""
        rows = LabelledRows(y, qid, self.aspects, self.measure)
        measure = self.measure_on(rows)
        if self._missing == "error":
            check_known(measure, rows.judgments)
        value = rows.evaluate(measure, scores)
        return -value if measure.lower_aggregate_is_better else value

    def measure_on(self, rows: LabelledRows) -> Measure:
        """Return the measure itself, or a single-aspect measure on relevance or on the only column."""
        aspect = rows.names[0] if len(rows.names) == 1 else "relevance"
        measure = self._ordinary(aspect, self.aspects if isinstance(self.aspects, Aspects) else None)
        if measure is not self.measure and aspect not in rows.names:
            raise MultiAspectError(
                f"{self.measure} scores the aspect relevance, but y has the columns {choices(rows.names)}; "
                f"choose one, as in On(aspect={rows.names[0]!r}, base={str(self.measure)!r})"
            )
        return measure

    def scores(self, estimator: Any, X: Any, queries: Any) -> Any:
        """Return the predictions of `estimator`."""
        respond = getattr(estimator, self._response_method, None)
        if respond is None:
            raise MultiAspectError(f"{type(estimator).__name__} has no method {self._response_method}")
        scores = unmasked(respond(X, qid=queries) if takes_queries(respond) else respond(X))
        if self._response_method == "predict_proba" and scores.ndim == 2 and scores.shape[1] == 2:
            return scores[:, 1]
        return scores

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata request: ``score`` takes `qid`."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        more = "" if self._response_method == "predict" else f", response_method={self._response_method!r}"
        return f"ranking_scorer({self.measure}{more})"


class RankingScorers:
    """The scorer of several measures returned by `ranking_scorer`; it predicts once."""

    def __init__(
        self,
        measures: Mapping[str, ir_measures.Measure | str],
        aspects: object,
        response_method: str,
        missing: str,
    ) -> None:
        if not measures:
            raise MultiAspectError("expected at least one measure, got an empty dict")
        self._scorers = {
            str(name): RankingScorer(measure, aspects, response_method, missing)
            for name, measure in measures.items()
        }
        self._first = next(iter(self._scorers.values()))

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> dict[str, float]:
        """Score `estimator` on the rows of X with the labels y, by each measure."""
        X, y, qid = map(in_memory, (X, y, qid))
        queries = self._first.find_queries(estimator, X, y, qid)
        scores = self._first.scores(estimator, X, queries)
        return {name: scorer.of_predictions(y, scores, queries) for name, scorer in self._scorers.items()}

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata request: ``score`` takes `qid`."""
        return self._first.get_metadata_routing()

    def __repr__(self) -> str:
        measures = {name: str(scorer.measure) for name, scorer in self._scorers.items()}
        return f"ranking_scorer({measures})"


def _warn_of_divided_queries(estimator: Any, queries: NDArray[Any]) -> None:
    """Warn if the estimator was trained on other rows of the scored queries: folds have divided them."""
    trained = trained_rows(estimator)
    if not trained or queries.ndim != 1:
        return
    scored = Counter(identifiers(pd.Series(queries, name="value"), "qid").tolist())
    # Scored on the training set, queries have all their rows.
    divided = [qid for qid, rows in scored.items() if trained.get(qid, rows) != rows]
    if divided:
        warn_once(
            f"{type(estimator).__name__} was trained on other rows of {len(divided)} of the {len(scored)} scored "
            f"queries, such as {divided[0]}: the folds divide queries, so the values are those of incomplete "
            "rankings. Split by query, as with cv=GroupKFold() and groups=qid, or cv=RepeatedQueryKFold()",
            key="folds that divide queries",
        )


def _drops_qid(estimator: Any) -> bool:
    """Return whether an estimator excludes a column qid of X from its features."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if step is not None and step != "passthrough"]
        if steps and isinstance(steps[0], ColumnTransformer):
            return not any(name.rpartition("__")[2] == "qid" for name in steps[0].get_feature_names_out())
        return bool(steps) and _drops_qid(steps[0])
    # An AspectRanker, which this module must not import.
    return hasattr(estimator, "qid_column") and estimator.qid_column in (None, "qid")
