"""A meta-estimator that trains a ranker or regressor on several aspects."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._validation import boolean
from ..collection.frames import in_memory, to_pandas
from ..collection.judgments import Judgments
from ..errors import MultiAspectError, choices
from ..measures import TOMA, Measure
from .estimators import (
    family_of,
    labels_for,
    lambdarank_weights,
    last_step,
    of_evaluation_set,
    queries_of_groups,
    query_parameter,
    routing_enabled,
    warn_of_query_columns,
    weight_per_query,
)
from .labels import LabelledRows, check_known, check_length, find_qid, label_frame
from .levels import cutoff_of, label_values
from .row_order import check_order
from .scorer import RankingScorer
from .targets import gains, nested_params, read_target, with_params

__all__ = ["AspectRanker"]


_MISSING = ("error", "lowest")


@dataclass(frozen=True, eq=False)
class _Part:
    """The rows of the training set or of an evaluation set."""

    X: Any
    labels: pd.DataFrame
    qids: NDArray[np.object_]
    #: Whether the queries were given; otherwise each row has its own.
    grouped: bool = True

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """The query of each row, numbered by first occurrence."""
        return pd.factorize(self.qids)[0]


def _has(method: str) -> Any:
    def check(self: AspectRanker) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.estimator, method)
        return True

    return available_if(check)


class AspectRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Train an estimator on a single target aggregated from the labels of several aspects.

    The columns of y are aggregated into one label, as defined by `target`. Rows are sorted by query, and
    queries are passed to the wrapped estimator in the form it expects: ``group`` sizes (LightGBM), ``qid``
    (XGBoost), ``group_id`` (CatBoost), or not at all (regressors).

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor, or a `Pipeline` with a ranker or regressor as its last step. It is cloned.
    target : measure, Order, DistanceOrder or str, default TOMA
        Defines the target, as in `aggregate_labels`: the weights of TOMA's classes, the values of one
        aspect (On or the name of the aspect), the weights of an Order, the gains that uRBP, uRBPgr, unDCG,
        uERR and NWCS sum, or the linear form of CAM, which is a surrogate for mixed bases, MM, GAM and
        WHAM. The parameters of a measure can be searched as ``target__distance``, ``target__weights``, …
        and those of the estimator as ``estimator__…``.
    qid_column : str, optional
        The column of X that contains the query ids. It is not used as a feature.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) in `fit` or `score` raises an error or counts as the lowest grade.
    query_weights : bool, default False
        For LightGBM's lambdarank only: whether to weight each query by the maximum of its value that labels
        can give, so that the objective is the mean of the measure over queries. Otherwise all queries have the
        same weight, whatever their maximum. Sets ``lambdarank_norm=False`` and a
        ``lambdarank_truncation_level`` of at least the cutoff of the measure. In our experiments, this made
        no measurable difference.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    n_features_in_ : int
        Number of features passed to the estimator.
    feature_names_in_ : ndarray of str
        Names of the features, if X has names.

    Raises
    ------
    MultiAspectError
        If the estimator needs queries and none are given, or the shapes of X, y and qid do not match.

    Notes
    -----
    *Labels.* By default, the gains of LightGBM and XGBoost are 2^label - 1. These are kept for grades and
    classes (of TOMA, On and an Order) that are whole numbers up to 30. For any other target, the target
    itself is the gain: LightGBM receives the index of each distinct value, with ``label_gain`` set to the
    values (whole numbers up to 10000 are passed unchanged). XGBoost receives the target with
    ``ndcg_exp_gain=False``, or the index of each distinct value if ``ndcg_exp_gain`` is True, which supports
    integer labels only. If you set ``label_gain`` or ``ndcg_exp_gain``, your setting is kept: set one to
    compare targets with few and with many levels, as the gains of TOMA over nDCG are linear. CatBoost and
    regressors receive the target.

    *Queries* are taken from ``qid`` (requested by default for metadata routing), `qid_column`, or the index
    level or column ``qid``, as in `ranking_scorer`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> import pt_multiaspect as ma
    >>> X, Y, qid = np.eye(4), np.array([[2, 0], [0, 2], [1, 1], [2, 2]]), ["a", "a", "b", "b"]
    >>> target = ma.TOMA(distance="manhattan", aspects={"relevance": 2, "credibility": 2})
    >>> ranker = ma.AspectRanker(Ridge(alpha=1e-6), target=target).fit(X, Y, qid=qid)
    >>> ranker.predict(X).round(2)
    array([2., 2., 2., 4.])
    >>> ranker.set_params(target__distance="euclidean").target
    TOMA(aspects={'relevance': 2, 'credibility': 2})
    """

    # Requested even if routing was disabled when the object was created; unused if nothing is passed.
    __metadata_request__fit = {"qid": True, "sample_weight": True}
    # The score method of a pipeline always passes sample_weight, possibly None, so it must be declared.
    __metadata_request__score = {"qid": True, "sample_weight": None}

    def __init__(
        self,
        estimator: Any,
        target: Any = TOMA,
        qid_column: str | None = None,
        missing: str = "error",
        query_weights: bool = False,
    ) -> None:
        self.estimator = estimator
        self.target = target
        self.qid_column = qid_column
        self.missing = missing
        self.query_weights = query_weights

    # -- parameters: a measure is no estimator, but its parameters can be searched ---------------

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
        if "target" in params:
            self.target = params.pop("target")
        inner = {
            name.removeprefix("target__"): value for name, value in params.items() if name.startswith("target__")
        }
        if inner:
            self.target = with_params(self.target, inner)
        super().set_params(**{name: value for name, value in params.items() if not name.startswith("target__")})
        return self

    # -- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, **fit_params: Any) -> AspectRanker:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Features, one row per (query, document) pair. Polars and PyArrow frames are converted to
            pandas.
        y : array-like or data frame of shape (n_rows, n_aspects)
            One column of labels per aspect. The columns of an array are named after the target's aspects.
        qid : array-like of shape (n_rows,), optional
            The query of each row, in any order.
        sample_weight : array-like of shape (n_rows,), optional
            Passed to the estimator. XGBoost's rankers use one weight per query, so weights must not vary
            within a query.
        **fit_params
            Passed to the estimator unchanged, except for the evaluation sets for early stopping: `eval_set`
            is a list of (X, y), with labels as in `y`, which are aggregated together with `y`. Their queries
            are given as `eval_qid` (a list with one array-like of shape (n_rows,) per set), as `eval_group`
            (a list with the query sizes of each set), or in the same way as those of X and y. They are
            passed to the estimator in the form it expects. Rows of a query must be contiguous.

        Returns
        -------
        AspectRanker

        Raises
        ------
        MultiAspectError
            If the shapes of X, y, qid or the evaluation sets do not match, labels are missing, or the
            estimator or the target needs queries and none are given.
        """
        measure = read_target(self.target)
        if self.missing not in _MISSING:
            raise MultiAspectError(f"missing: expected one of {choices(map(repr, _MISSING))}, got {self.missing!r}")
        self.estimator_ = clone(self.estimator)
        needed = query_parameter(self.estimator_)
        passed = dict(fit_params)
        y, sample_weight = in_memory(y), in_memory(sample_weight)
        train = self._part(X, y, qid, measure, "")
        sets = self._evaluation_sets(passed, measure)
        judgments = self._judged([train, *sets], measure)
        target = gains(judgments, measure)
        ends = np.cumsum([len(part) for part in (train, *sets)])[:-1]
        targets = np.split(judgments.of_rows(target), ends)
        # Rankers need the rows of a query to be contiguous; the order within queries is kept.
        order = np.argsort(train.codes, kind="stable") if needed is not None else np.arange(len(train))
        last = last_step(self.estimator_)
        weighted = boolean("query_weights")(self.query_weights)
        label, *others = labels_for(last, targets, measure, weighted=weighted)
        check_order("y", y, sample_weight=sample_weight)
        weights = None if sample_weight is None else check_length(sample_weight, len(train), "sample_weight")[order]
        if weighted:
            values = judgments.of_rows(label_values(judgments, measure, target))[: len(train)]
            cutoff = cutoff_of(measure, judgments)
            ideal = lambdarank_weights(last, values[order], train.codes[order], cutoff)
            weights = ideal if weights is None else weights * ideal
        if needed is not None:
            passed[needed] = np.bincount(train.codes) if needed == "group" else train.codes[order]
        if weights is not None:
            per_query = family_of(last) == "xgboost"
            passed["sample_weight"] = weight_per_query(weights, train.codes[order]) if per_query else weights
        if sets:
            passed |= self._handed_on(sets, others, needed)
        warn_of_query_columns(train.X, train.codes)
        self._fit(_safe_indexing(train.X, order) if needed is not None else train.X, label[order], passed)
        self._remember_features(train.X)
        # By which scorers notice folds that divide queries.
        self._rows_of_queries = Counter(train.qids.tolist()) if train.grouped else Counter()
        return self

    def _part(self, X: Any, y: Any, qid: Any, measure: Measure, what: str) -> _Part:
        """Read the features, labels and queries of the training set, or of the set `what`."""
        X, y, qid = map(in_memory, (X, y, qid))
        check_order("y", y, X=X, qid=qid)
        queries = find_qid(qid, X, y, self.qid_column)
        features = self._features(X)
        n_rows = features.shape[0]
        frame = label_frame(y, None, measure)
        if len(frame) != n_rows:
            raise MultiAspectError(f"{what}y has {len(frame)} rows, but X has {n_rows}")
        if queries is None:
            needs = f"{last_step(self.estimator_).__class__.__name__} is a ranker"
            if query_parameter(self.estimator_) is None:
                needs = f"the label of {measure} is normalised per query"
                if not measure.GAIN_PER_QUERY:
                    return _Part(features, frame, np.arange(n_rows).astype(str), grouped=False)
            raise MultiAspectError(
                f"{what}{needs}, so fit needs the query of every row: pass qid, set qid_column, or add an "
                "index level qid to y or X"
            )
        return _Part(features, frame, LabelledRows(frame, queries).qids)

    def _evaluation_sets(self, passed: dict[str, Any], measure: Measure) -> list[_Part]:
        """Remove the evaluation sets and their queries from the arguments of fit, and read them."""
        other = [name for name in ("eval_X", "eval_y", "X_val", "y_val") if passed.get(name) is not None]
        if other:
            raise MultiAspectError(f"expected evaluation sets as eval_set=[(X, y)], got {choices(other)}")
        if passed.get("eval_set") is None:
            return []
        if isinstance(self.estimator_, Pipeline) and len(self.estimator_.steps) > 1:
            raise MultiAspectError(
                "the steps of a pipeline do not transform eval_set; transform X and the sets first, and wrap only "
                "the last step in AspectRanker"
            )
        given = passed.pop("eval_set")
        pairs = [given] if isinstance(given, tuple) else list(given)
        groups, queries = (passed.pop(name, None) for name in ("eval_group", "eval_qid"))
        sets = []
        for place, pair in enumerate(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise MultiAspectError(
                    "eval_set: expected a list of pairs (X, y) with one column of labels per aspect in y, got "
                    f"{type(pair).__name__}"
                )
            pair = [in_memory(each) for each in pair]
            qid = of_evaluation_set(queries, place, len(pairs), "eval_qid")
            sizes = of_evaluation_set(groups, place, len(pairs), "eval_group")
            if qid is None and sizes is not None:
                qid = queries_of_groups(sizes, self._features(pair[0]).shape[0], f"eval_group[{place}]")
            part = self._part(pair[0], pair[1], qid, measure, f"eval_set[{place}]: ")
            if query_parameter(self.estimator_) is not None and (np.diff(part.codes) < 0).any():
                raise MultiAspectError(
                    f"eval_set[{place}]: the rows of a query must be contiguous; sort them by query"
                )
            sets.append(part)
        return sets

    def _judged(self, parts: list[_Part], measure: Measure) -> Judgments:
        """Return the labels of all parts. They are aggregated together, so they have the same scales."""
        columns = list(parts[0].labels.columns)
        for place, part in enumerate(parts[1:]):
            if sorted(part.labels.columns) != sorted(columns):
                raise MultiAspectError(
                    f"eval_set[{place}]: expected y with the columns of the training set ({choices(columns)}), "
                    f"got {choices(part.labels.columns)}"
                )
        frame = pd.concat([part.labels[columns] for part in parts], ignore_index=True)
        # One part alone keeps the names of its queries for messages.
        queries = [part.qids if len(parts) == 1 else f"{place} " + part.qids for place, part in enumerate(parts)]
        judgments = LabelledRows(frame, np.concatenate(queries)).judgments
        if self.missing == "error":
            check_known(measure, judgments, remedy=" to AspectRanker")
        return judgments

    def _handed_on(self, sets: list[_Part], labels: list[NDArray[Any]], needed: str | None) -> dict[str, Any]:
        """Return the evaluation sets in the form the estimator expects."""
        if needed == "group_id":
            from catboost import Pool  # type: ignore[import-untyped]

            pools = [Pool(part.X, label, group_id=part.codes) for part, label in zip(sets, labels, strict=True)]
            return {"eval_set": pools[0] if len(pools) == 1 else pools}
        passed: dict[str, Any] = {"eval_set": [(part.X, label) for part, label in zip(sets, labels, strict=True)]}
        if needed == "group":
            passed["eval_group"] = [np.bincount(part.codes) for part in sets]
        elif needed == "qid":
            passed["eval_qid"] = [part.codes for part in sets]
        return passed

    def _fit(self, X: Any, label: NDArray[Any], passed: dict[str, Any]) -> None:
        if not isinstance(self.estimator_, Pipeline):
            self.estimator_.fit(X, label, **passed)
            return
        name, last = self.estimator_.steps[-1]
        # Rankers that are not scikit-learn estimators, such as CatBoost's, cannot request metadata.
        routed = routing_enabled() and hasattr(last, "set_fit_request")
        if routed:
            requested = {key: True for key in passed if key in inspect.signature(last.fit).parameters}
            last.set_fit_request(**requested)
        else:
            passed = {f"{name}__{key}": value for key, value in passed.items()}
        with config_context(enable_metadata_routing=routed):
            self.estimator_.fit(X, label, **passed)

    def _features(self, X: Any) -> Any:
        frame = to_pandas(X)
        if frame is not None:
            column = self.qid_column or "qid"
            return frame.drop(columns=column) if column in frame.columns else frame
        return X if hasattr(X, "shape") else np.asarray(X)

    def _remember_features(self, X: Any) -> None:
        self.n_features_in_ = X.shape[1] if X.ndim == 2 else 1
        self.__dict__.pop("feature_names_in_", None)
        if isinstance(X, pd.DataFrame) and all(isinstance(column, str) for column in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)

    # -- predicting --------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict one score per row of X. Higher scores rank first."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(self._features(X)))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the decision function of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._features(X)))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Evaluate the ranking by predictions with the target measure (nDCG if the target is an aspect).

        Parameters
        ----------
        X, y, qid : as in fit
            See `fit`.

        Returns
        -------
        float
        """
        measure = read_target(self.target)
        X, y, qid = map(in_memory, (X, y, qid))
        check_order("y", y, X=X, qid=qid)
        queries = find_qid(qid, X, y, self.qid_column)
        scorer = RankingScorer(measure, None, missing=self.missing)
        return scorer(self, X, label_frame(y, None, measure), qid=queries)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")
