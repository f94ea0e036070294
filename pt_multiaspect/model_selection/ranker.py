"""A meta-estimator that trains a ranker or regressor on several aspects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._typing import Ints, Objects
from .._validation import proportion
from ..aspects import Aspects, parse_aspects
from ..collection import Judgments
from ..collection.frames import to_pandas
from ..errors import MultiAspectError, choices, number_of, shown, warn, warn_once
from ..measures import TOMA, Measure
from .arrays import check_length, fill_masked, label_frame, weight_per_query
from .boosters import (
    LIBRARY_OPTIONS,
    Evaluation,
    boosting_library,
    fit_with_evaluation,
    last_step,
    objective_labels,
    query_parameter,
    warn_of_classes,
    warn_of_columns,
)
from .labels import check_aspect_target, has_names, nested_params, read_target, target_gains, with_params
from .queries import ADD_QID, document_ids, find_queries, query_codes, rows_per_query
from .rows import EvaluatedMeasure, LabelledRows, check_known, with_scales
from .scorer import RankingScorer

#: Arguments of estimators' fit methods, and what to pass instead.
_INSTEAD = {
    "eval_metric": "measure= of AspectRanker",
    **dict.fromkeys(("group", "group_id"), "qid"),
    **dict.fromkeys(("eval_X", "eval_y", "eval_group", "eval_qid", "X_val", "y_val"), "eval_set=[(X, y, qid)]"),
}


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of the training set or of an evaluation set."""

    X: Any
    labels: pd.DataFrame
    #: The queries of the rows as positions in `qids`; None without queries.
    query: Ints | None
    qids: Objects
    weights: NDArray[Any] | None = None

    @property
    def codes(self) -> Ints:
        """The queries, numbered by first occurrence, or the numbers of the rows."""
        return np.arange(len(self.labels)) if self.query is None else pd.factorize(self.query)[0]

    @property
    def names(self) -> Objects:
        """The query of each row, or the number of the row."""
        return self.codes.astype(str).astype(object) if self.query is None else self.qids[self.query]

    def take(self, rows: Ints) -> _Part:
        """Return some rows in the given order."""
        query = None if self.query is None else self.query[rows]
        weights = None if self.weights is None else self.weights[rows]
        X, labels = _safe_indexing(self.X, rows), self.labels.iloc[rows]
        return replace(self, X=X, labels=labels, query=query, weights=weights)

    def by_query(self) -> _Part:
        """Return the rows with those of each query together."""
        codes = self.codes
        return self if (np.diff(codes) >= 0).all() else self.take(np.argsort(codes, kind="stable"))


class Wrapper(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator with the parameter `estimator`, which accepts the same features."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


class AspectRanker(Wrapper):
    """Train an estimator on a single target aggregated from the labels of several aspects.

    The columns of y are aggregated into one label, as defined by `target`. The wrapped estimator receives the
    labels in the form in which it uses them as the gains of the target, and the queries in the form it expects.
    With an evaluation set, boosters stop early by `measure`.

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor of LightGBM, XGBoost, CatBoost or scikit-learn, or a `Pipeline` that ends with one. It
        is cloned.
    target : measure, Order, DistanceOrder or str, default TOMA
        The training label, as in `aggregate_labels`: the weights of TOMA's classes, the values of one aspect (On or
        the name of the aspect), the weights of an Order, the gains that uRBP, uRBPgr, unDCG, uERR and NWCS sum, the
        linear form of CAM, which is a surrogate for mixed bases, MM, GAM and WHAM, or ``'scaled sum'``. The
        parameters of a measure can be searched as ``target__distance``, ``target__weights``, … and those of the
        estimator as ``estimator__…``.
    measure : measure or str, optional
        The measure, of this package or of ir-measures, for `score` and early stopping. By default, the target;
        required for `score` if the target is searched over, or is the scaled sum. `score` does not evaluate
        candidates of a search over measures, nor can it notice that a search compares rankers with different
        measures, as those of a pipeline step: pass ``scoring=ranking_scorer(measure)`` to such a search.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns of y, as in ``list(Y.columns)``: required if y is an array of several columns, also if
        scikit-learn makes an array of a data frame, as `RFE` and `BaggingRegressor` do. Of a data frame, these
        columns are selected. Declared scales are also those of a target and a measure without scales.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) in `fit` or `score` raises an error or counts as the lowest grade.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    measure_ : Measure or None
        The measure, with the scales that its name referred to during the fit.
    evals_result_ : dict of str to dict
        The values of the measure on each evaluation set in each iteration, as ``{'valid_0': {measure: [...]}}``.
    best_iteration_ : int
        Number of iterations that `predict` uses, if there was an evaluation set.
    feature_importances_ : ndarray of float
        The importances of the estimator, or the absolute values of its coefficients.
    n_features_in_ : int
        Number of features passed to the estimator.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Raises
    ------
    MultiAspectError
        If the estimator requires queries and none are given, or the shapes of X, y and qid do not match.

    Notes
    -----
    *Labels.* The gains that the target itself sums are learned: LightGBM receives the index of each distinct gain,
    with ``label_gain`` set (for its objective ``rank_xendcg``, which supports only the gains 2^label - 1, at most
    31 levels of equal width), XGBoost the gains with ``ndcg_exp_gain=False``, CatBoost and regressors the gains.

    *Ideal rankings* of `score` and early stopping are those of the rows of each query. To count relevant documents
    without a row, too, pass ``scoring=ranking_scorer(measure, qrels=qrels)`` to searches.

    *Queries* are taken from ``qid`` (requested by default for metadata routing) or the index level or column
    ``qid`` of X or y, which is not used as a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> import pt_multiaspect as ma
    >>> X, Y, qid = np.eye(4), np.array([[2, 0], [0, 2], [1, 1], [2, 2]]), ["a", "a", "b", "b"]
    >>> aspects = {"relevance": 2, "credibility": 2}
    >>> target = ma.TOMA(distance="manhattan", aspects=aspects)
    >>> ranker = ma.AspectRanker(Ridge(alpha=1e-6), target=target, aspects=aspects).fit(X, Y, qid=qid)
    >>> ranker.predict(X).round(2)
    array([2., 2., 2., 4.])
    >>> ranker.set_params(target__distance="euclidean").target
    TOMA(aspects={'relevance': 2, 'credibility': 2})
    """

    # Requested even if routing was disabled when the object was created; unused if nothing is passed.
    __metadata_request__fit = dict.fromkeys(
        ("qid", "sample_weight", "eval_set", "eval_fraction", *LIBRARY_OPTIONS), True
    )
    # Searches and pipelines also pass the sample_weight of fit to score, which ignores it, as without metadata
    # routing. There, it has another name, so that sample_weight passed to score itself is an error.
    __metadata_request__score = {"qid": True, "sample_weight": False, "weight_of_fit": "sample_weight"}

    def __init__(
        self,
        estimator: Any,
        target: Any = TOMA,
        *,
        measure: Any = None,
        aspects: Any = None,
        missing: str = "error",
    ) -> None:
        self.estimator = estimator
        self.target = target
        self.measure = measure
        self.aspects = aspects
        self.missing = missing

    # -- parameters: a measure is not an estimator, but its parameters can be searched ---------------

    def __sklearn_clone__(self) -> AspectRanker:
        cloned: AspectRanker = super().__sklearn_clone__()
        cloned._is_clone = True
        return cloned

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep=True`` including those of the estimator and the target."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            params |= {f"target__{name}": value for name, value in nested_params(self.target).items()}
        return params

    def set_params(self, **params: Any) -> AspectRanker:
        """Set parameters. Parameters of the target create a new measure and do not modify the given one.

        Values are validated by `fit`, so an invalid value fails only its candidate in a search.
        """
        prefix = "target__"
        inner = {name.removeprefix(prefix): params.pop(name) for name in list(params) if name.startswith(prefix)}
        # Searches set parameters of unfitted clones: each candidate would be scored by its own measure or, without
        # measure=, its own target. To set the measure of the ranker itself is to choose that of `score`.
        if "measure" in params and hasattr(self, "_is_clone") and not hasattr(self, "estimator_"):
            self._searched = "measure"
        elif inner or "target" in params:
            self._searched = getattr(self, "_searched", "target")
        if "target" in params:
            self.target = params.pop("target")
        if inner:
            self.target = with_params(self.target, inner)
        super().set_params(**params)
        return self

    def _evaluated_measure(self) -> EvaluatedMeasure | None:
        """Return the measure of evaluation; None if only a target is given that is not a measure."""
        measure = self.measure
        if measure is None:
            measure = read_target(self.target, aspects=parse_aspects(self.aspects))
            if type(measure)._evaluate is Measure._evaluate:
                return None
        return EvaluatedMeasure(measure, self.aspects, self.missing)

    # -- fitting -----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_fraction: float | None = None,
        **fit_params: Any,
    ) -> AspectRanker:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Features, one row per (query, document) pair. Polars and PyArrow frames are converted to
            pandas.
        y : array-like or data frame of shape (n_rows, n_aspects)
            One column of labels per aspect. Several columns of an array are named by `aspects`, a single one by the
            aspect of the target. If there is a docno (index level or column), rows of a pair may be repeated, as by
            oversampling, but must have equal labels.
        qid : array-like of shape (n_rows,), optional
            The query of each row, in any order.
        sample_weight : array-like of shape (n_rows,), optional
            Passed to the estimator. XGBoost's rankers use one weight per query, so weights must not vary
            within a query.
        eval_set : list of (X, y) or (X, y, qid), optional
            Evaluation sets for early stopping by `measure`, with labels as in `y`: the columns of arrays are those
            of `y`. Training stops by the last one, after as many iterations without improvement as the estimator
            sets, else 50.
        eval_fraction : float, optional
            Fraction of the queries that are held out as an evaluation set, at random, seeded by the estimator's
            ``random_state`` (else 0).
        **fit_params
            Passed to the estimator unchanged. With metadata routing, these reach it through searches and pipelines:
            ``callbacks``, ``cat_features``, ``categorical_feature``, ``embedding_features``, ``text_features``,
            ``init_model`` and ``xgb_model``.

        Returns
        -------
        AspectRanker

        Raises
        ------
        MultiAspectError
            If the shapes of X, y, qid or the evaluation sets do not match, labels are missing, the estimator or the
            target requires queries and none are given, the estimator does not accept evaluation sets, `y` is an
            array of several columns without names, or a document has different labels for a query or, in an
            evaluation set, several rows.

        Warns
        -----
        MultiAspectWarning
            If a feature equals the labels of an aspect or looks like the query, a query is in the training set and
            in the last evaluation set, every query has one row, undeclared labels contain -1 besides 0 and 1, or
            the best predictions on the last evaluation set are constant within queries.
        """
        _refuse_replaced(fit_params)
        evaluated = self._evaluated_measure()
        measure = None if evaluated is None else evaluated.measure
        declared = parse_aspects(self.aspects)
        target = with_scales(read_target(self.target, measure, declared), declared)
        named = _naming_measure(target, measure)
        # scikit-learn's clone rejects lists among CatBoost's parameters, such as cat_features.
        is_catboost = boosting_library(self.estimator) == "catboost"
        self.estimator_ = self.estimator.copy() if is_catboost else clone(self.estimator)
        last = last_step(self.estimator_)
        train = self._read_training_set(X, y, qid, sample_weight, target, named)
        sets = self._evaluation_sets(eval_set, target, named, _feature_names(train.X))
        if eval_fraction is not None:
            kept, held = self._split(train, proportion("eval_fraction")(eval_fraction))
            sets.append(train.take(held))
            train = train.take(kept)
        if sets:
            self._check_early_stopping(last, evaluated)
        _warn_of_shared_queries(train, sets)
        if query_parameter(last) is not None:
            train = train.by_query()
        sets = [part.by_query() for part in sets]
        joined = self._join_labels([train, *sets], target)
        # `score` infers undeclared scales from these, too.
        self._distinct_labels = {
            name: np.asarray(labels.dropna().unique()) for name, labels in joined.frame.items()
        }
        ends = np.cumsum([len(part.labels) for part in (train, *sets)])[:-1]
        gains = joined.judgments.row_values(target_gains(joined.judgments, target))
        label, *others = objective_labels(last, np.split(gains, ends))
        warn_of_columns(train.X, train.labels, train.names)
        passed = {**fit_params, **_parameters_of_rows(last, train)}
        features = self._transform_features(label, train.X, *(part.X for part in sets))
        for name in ("evals_result_", "best_iteration_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if evaluated is not None and sets:
            evaluation = _evaluation_on(sets, evaluated, joined.judgments)
            data = [(x, values, part.codes) for x, values, part in zip(features[1:], others, sets, strict=True)]
            self.best_iteration_ = fit_with_evaluation(last, features[0], label, passed, data, evaluation)
            self.evals_result_ = {
                f"valid_{index}": {str(evaluated.measure): values}
                for index, values in enumerate(evaluation.history)
            }
        else:
            _fit_without_evaluation(last, features[0], label, passed)
        self._record_fit(train.X, measure)
        return self

    def _read_training_set(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, target: Measure, named: Any
    ) -> _Part:
        """Read the training set, and keep its queries and the names of its aspects."""
        train = self._read_part(X, y, qid, target, named, sample_weight=sample_weight)
        check_aspect_target(self.target, list(train.labels.columns), has_names(y, self.aspects))
        if sample_weight is not None:
            train = replace(train, weights=check_length(sample_weight, len(train.labels), "sample_weight"))
        # With these, `ranking_scorer` detects that it scores queries of the training set.
        self._trained_queries = {} if train.query is None else rows_per_query(train.names)
        self._columns = tuple(train.labels.columns)
        if len(self._trained_queries) == len(train.labels) > 1:
            warn_once(
                "fit: every query has one row, so there is nothing to rank. Pass as qid the query of each row, not "
                "the number of the row",
                key="fit with single rows",
            )
        return train

    def _record_fit(self, X: Any, measure: Measure | None) -> None:
        """Set the attributes that tell what the ranker was fitted with."""
        self.n_features_in_ = X.shape[1] if X.ndim == 2 else 1
        names = _feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        self.measure_ = measure
        self._resolved = (self.measure, self.target)

    def _check_early_stopping(self, last: Any, evaluated: EvaluatedMeasure | None) -> None:
        """Raise an error if the estimator cannot stop early, or there is no measure by which it could."""
        if boosting_library(last) is None or evaluated is None:
            raise MultiAspectError(
                f"measure: early stopping needs a measure, which the target {self.target!r} is not; pass measure="
                if evaluated is None
                else f"{type(last).__name__} accepts no evaluation set; leave out eval_set and eval_fraction"
            )

    def _read_part(
        self, X: Any, y: Any, qid: Any, target: Measure, named: Any, what: str = "", **others: Any
    ) -> _Part:
        """Read the features, labels and queries of the training set, or of the set `what`."""
        queries = find_queries(y, X, qid, **others)
        features = self._features(X)
        frame = label_frame(y, self.aspects, named, self._columns if what else ())
        if len(frame) != features.shape[0]:
            raise MultiAspectError(f"{what}y has {len(frame)} rows, but X has {features.shape[0]}")
        if queries is not None:
            return _Part(features, frame, *query_codes(check_length(queries, len(frame), f"{what}qid")))
        if query_parameter(self.estimator_) is not None:
            cause = f"{last_step(self.estimator_).__class__.__name__} is a ranker"
        elif target.statements().gain_per_query:
            cause = f"the label of {target} is normalised per query"
        else:
            return _Part(features, frame, None, np.empty(0, dtype=object))
        raise MultiAspectError(f"{what}{cause}, so fit needs the query of every row: pass qid, or {ADD_QID}")

    def _evaluation_sets(self, given: Any, target: Measure, named: Any, names: Any) -> list[_Part]:
        """Read the evaluation sets, which have the features of the training set if these have names."""
        sets = [
            self._read_part(*rows, target, named, f"eval_set[{index}]: ")
            for index, rows in enumerate(evaluation_rows(given))
        ]
        for index, part in enumerate(sets):
            _check_names(part.X, names, f"eval_set[{index}]: X", "list(X_train.columns)")
        return sets

    def _split(self, train: _Part, fraction: float) -> tuple[Ints, Ints]:
        """Return the rows of the training set and of held-out queries."""
        if train.query is None:
            raise MultiAspectError(f"eval_fraction holds out whole queries: pass qid, or {ADD_QID}")
        params = last_step(self.estimator_).get_params()
        seeds = [params.get(name) for name in ("random_state", "random_seed")]
        seed = next((seed for seed in seeds if isinstance(seed, int | np.integer)), 0)
        queries = np.unique(train.query)
        if len(queries) < 2:
            raise MultiAspectError(f"eval_fraction: expected at least two queries, got {len(queries)}")
        n_held = min(max(round(fraction * len(queries)), 1), len(queries) - 1)
        held = np.isin(train.query, np.random.default_rng(seed).permutation(queries)[:n_held])
        return np.flatnonzero(~held), np.flatnonzero(held)

    def _join_labels(self, parts: list[_Part], target: Measure) -> LabelledRows:
        """Return the labels of all parts. They are aggregated together, so they have the same scales."""
        columns = list(parts[0].labels.columns)
        for index, part in enumerate(parts[1:]):
            if sorted(part.labels.columns) != sorted(columns):
                raise MultiAspectError(
                    f"eval_set[{index}]: expected y with the columns of the training set ({choices(columns)}), "
                    f"got {choices(part.labels.columns)}"
                )
        frame = pd.concat([part.labels[columns] for part in parts], ignore_index=True)
        documents = [document_ids(part.labels) for part in parts]
        if any(docnos is not None for docnos in documents):
            filled = [
                np.arange(len(part.labels)) if docnos is None else docnos
                for part, docnos in zip(parts, documents, strict=True)
            ]
            frame.index = pd.Index(np.concatenate(filled), name="docno")
        # A single part keeps the names of its queries for messages.
        queries = [part.names if len(parts) == 1 else f"{index} " + part.names for index, part in enumerate(parts)]
        joined = LabelledRows(frame, np.concatenate(queries))
        check_known(self.missing, target, joined.judgments, remedy=" to AspectRanker")
        views = target.views(joined.judgments)
        for view in views:
            if view.inferred and {-1, 0, 1} <= set(view.label[view.known].tolist()):
                warn(
                    f"{view.name} has the labels -1, 0 and 1 on a scale that is not declared: if -1 means "
                    f"not judged, declare it, as in Aspect(grades=[0, 1], unjudged=[-1]); it is learnt as a grade"
                )
        if len(views) == 1 and target.spec is None and target.accepts_aspects and len(columns) == 1:
            target._check_views(views)
        return joined

    def _transform_features(self, label: NDArray[Any], *features: Any) -> list[Any]:
        """Fit the steps of a pipeline before the last one, and return the features for the last one."""
        if not isinstance(self.estimator_, Pipeline) or len(self.estimator_.steps) == 1:
            return list(features)
        head = self.estimator_[:-1]
        transformed = [head.fit_transform(features[0], label), *map(head.transform, features[1:])]
        self.estimator_.steps[:-1] = head.steps
        return transformed

    def _features(self, X: Any) -> Any:
        frame = to_pandas(X)
        if frame is not None:
            return frame.drop(columns="qid") if "qid" in frame.columns else frame
        rows = X if hasattr(X, "shape") else fill_masked(X)
        if not rows.shape:
            raise MultiAspectError(f"X: expected one row of features per document, got {shown(X)}")
        return rows

    # -- predicting --------------------------------------------------------------------------

    def _check_features(self, X: Any) -> Any:
        """Return the features, after checking that they are those of fit, as LightGBM accepts them in any order."""
        check_is_fitted(self)
        X = self._features(X)
        _check_names(X, getattr(self, "feature_names_in_", None), "X", "ranker.feature_names_in_")
        return X

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict one score per row of X. Higher scores rank first."""
        features = self._check_features(X)
        warn_of_classes(self.estimator_)
        return np.asarray(self.estimator_.predict(features))

    @available_if(  # type: ignore[untyped-decorator]
        lambda ranker: hasattr(getattr(ranker, "estimator_", ranker.estimator), "decision_function")
    )
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision function of the estimator."""
        return np.asarray(self.estimator_.decision_function(self._check_features(X)))

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """The importances of the estimator, or the absolute values of its coefficients."""
        last = last_step(self.estimator_)
        if boosting_library(last) == "catboost":  # the default ones of rankers require the training set
            return np.asarray(last.get_feature_importance(type="PredictionValuesChange"))
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_)
        return np.abs(np.ravel(last.coef_))

    def score(self, X: Any, y: Any, qid: Any = None, *, weight_of_fit: Any = None) -> float:
        """Evaluate the ranking by predictions with `measure`, or by default with the target.

        Scales that are not declared are those that `fit` inferred; labels beyond them extend them, with a warning.

        Parameters
        ----------
        X, y, qid : as in fit
            See `fit`.
        weight_of_fit : array-like, optional
            Ignored: the ``sample_weight`` of a search with metadata routing. Pass weights of queries to
            `ranking_score`.

        Returns
        -------
        float
            The score, where higher is better: the values of lower-is-better measures are negated.
        """
        measure = self.measure_ if self._is_resolved() else getattr(self._evaluated_measure(), "measure", None)
        searched = getattr(self, "_searched", None)
        if searched == "target" and self.measure is not None:
            searched = None
        if measure is None or searched:
            message = f"score needs measure=, as the target {self.target!r}"
            if searched == "measure":
                message = f"score does not evaluate by the measure {self.measure!r}, as it"
            reason = f"was set by set_params: in a search, each candidate would be scored by its own {searched}"
            message += f" {reason if searched else 'is not a measure'}"
            warn(f"{message}. Pass measure= to AspectRanker, or scoring=ranking_scorer(measure) to the search")
            raise MultiAspectError(message)
        queries = find_queries(y, X, qid)
        if to_pandas(y) is None:
            check_is_fitted(self)
            named = _naming_measure(read_target(self.target, measure), measure)
            y = label_frame(y, self.aspects, named, self._columns)
        scorer = RankingScorer(measure, self.aspects, missing=self.missing)
        if hasattr(self, "_distinct_labels"):
            columns = {name: pd.Series(labels) for name, labels in self._distinct_labels.items()}
            scorer.fitted = pd.DataFrame(columns)
        value = scorer(self, X, y, qid=queries)
        assert isinstance(value, float)
        return value

    def _is_resolved(self) -> bool:
        """Return whether measure and target are those of `fit`."""
        if not hasattr(self, "_resolved"):
            return False
        pairs = zip(self._resolved, (self.measure, self.target), strict=True)
        return all(fitted is now or (isinstance(fitted, str) and fitted == now) for fitted, now in pairs)


def _feature_names(X: Any) -> Objects | None:
    """Return the names of the features, if all have names."""
    if isinstance(X, pd.DataFrame) and all(isinstance(column, str) for column in X.columns):
        return np.asarray(X.columns, dtype=object)
    return None


def _check_names(X: Any, known: Objects | None, what: str, remedy: str) -> None:
    """Raise an error if a frame has other features than those known, or another order, which LightGBM accepts."""
    if known is not None and isinstance(X, pd.DataFrame) and list(X.columns) != list(known):
        raise MultiAspectError(
            f"{what}: expected the features of fit in the same order, {choices(known)}, got {choices(X.columns)}; "
            f"select them as in X[{remedy}]"
        )


def _refuse_replaced(fit_params: Mapping[str, Any]) -> None:
    """Raise an error for arguments of estimators that the ranker itself passes to them."""
    replaced = [name for name in fit_params if name in _INSTEAD]
    if replaced:
        raise MultiAspectError(
            f"expected {_INSTEAD[replaced[0]]} instead of {choices(replaced)}. (pt.ltr passes the labels "
            "of one aspect, by group: give it a plain ranker and aggregate_labels(qrels, measure))"
        )


def _parameters_of_rows(estimator: Any, train: _Part) -> dict[str, Any]:
    """Return the queries and weights of the rows, as the estimator expects them."""
    passed: dict[str, Any] = {}
    needed = query_parameter(estimator)
    if needed is not None:
        passed[needed] = np.bincount(train.codes) if needed == "group" else train.codes
    if train.weights is not None:
        passed["sample_weight"] = train.weights
        if needed is not None and boosting_library(estimator) == "xgboost":
            passed["sample_weight"] = weight_per_query(train.weights, train.codes, len(np.unique(train.codes)))
    return passed


def _evaluation_on(sets: list[_Part], evaluated: EvaluatedMeasure, judgments: Judgments) -> Evaluation:
    """Return the evaluation on sets, on the scales of judgments that include the training set."""
    labelled = [LabelledRows(part.labels, part.names) for part in sets]
    for rows in labelled:
        rows.judgments.infer_scales_from(judgments)
    # The sets have the same columns, so that the measure is the same on all; each is checked.
    measures = [evaluated.bind(rows) for rows in labelled]
    return Evaluation(measures[-1], labelled)


def _fit_without_evaluation(estimator: Any, features: Any, label: NDArray[Any], passed: dict[str, Any]) -> None:
    try:
        estimator.fit(features, label, **passed)
    except ValueError as error:
        if boosting_library(estimator) is None or "early stopping" not in str(error).lower():
            raise
        raise MultiAspectError(
            f"{type(estimator).__name__}: expected an evaluation set, as it stops early, got none; pass "
            "eval_fraction=0.2 to hold out queries, or eval_set"
        ) from None


def evaluation_rows(given: Any) -> list[tuple[Any, Any, Any]]:
    """Return X, y and qid (or None) of each evaluation set."""
    if given is None:
        return []
    is_one = isinstance(given, tuple) and not all(isinstance(part, tuple | list) for part in given)
    sets = []
    for part in [given] if is_one or not isinstance(given, Iterable) else given:
        if not isinstance(part, tuple | list) or len(part) not in (2, 3):
            raise MultiAspectError(
                "eval_set: expected a list of (X, y) or (X, y, qid) with one column of labels per aspect in y, "
                f"got {type(part).__name__}"
            )
        X, y, qid = (*part, None)[:3]
        sets.append((X, y, qid))
    return sets


def _naming_measure(target: Measure, measure: Measure | None) -> Measure | None:
    """Return the target or the measure, whose aspects name the columns of arrays: the target if it declares any."""
    return target if isinstance(target.spec, Aspects) else measure


def _warn_of_shared_queries(train: _Part, sets: list[_Part]) -> None:
    """Warn about queries in the training set and in the evaluation set by which training stops, the last one."""
    queries = [set() if part.query is None else set(part.names.tolist()) for part in (train, *sets[-1:])]
    shared = sorted(queries[0].intersection(*queries[1:])) if sets else []
    if shared:
        warn(
            f"{number_of(len(shared), 'query')}, such as {shared[0]}, in the training set and in the evaluation "
            "set by which training stops: early stopping will be too late. Split by query, or pass eval_fraction"
        )
