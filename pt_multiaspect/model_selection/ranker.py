"""A meta-estimator that trains any ranker or regressor on several aspects."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import MultiAspectError, choices
from ..kernels.layout import Floats
from ..measures import TOMA, MultiAspectMeasure
from .labels import LabelledRows, check_length, find_qid, gains, label_frame, read_target
from .scorer import RankingScorer

__all__ = ["AspectRanker"]

#: LightGBM has gains 2^label - 1 for labels up to this, and XGBoost takes no greater ones with them.
_GREATEST_DEFAULT_LABEL = 30

#: LightGBM's list of gains has one for every whole number up to the greatest label; longer ones cost memory.
_GREATEST_KEPT_LABEL = 10_000


def _has(method: str) -> Any:
    def check(self: AspectRanker) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.estimator, method)
        return True

    return available_if(check)


class AspectRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Train an estimator on one target made of several aspects' labels.

    The columns of y become one label by `target`; rows are sorted by query, and the wrapped
    estimator gets what it wants beside them: ``group`` sizes (LightGBM), ``qid`` (XGBoost),
    ``group_id`` (CatBoost), or nothing (regressors).

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor, or a `Pipeline` that ends in one. It is cloned.
    target : TOMA, CAM, On, Order or str, default TOMA
        What is learnt: the weights of TOMA's classes, CAM's weighted sum of values, the values
        of one aspect (by On or its name), or an Order's weights. A measure's parameters are
        parameters of the search: ``target__distance``, ``target__weights``, … as are
        ``estimator__…``.
    qid_column : str, optional
        The column of X that holds the query; it is no feature, and is dropped.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    n_features_in_ : int
        The number of features the estimator was given.
    feature_names_in_ : ndarray of str
        Their names, where X has such.

    Raises
    ------
    MultiAspectError
        If the estimator needs queries and there are none, or y, qid and X do not fit.

    Notes
    -----
    *Labels.* Rankers of LightGBM and XGBoost take whole labels: a fractional target is passed as
    the index of its distinct values, with ``label_gain`` set to these values for LightGBM. Labels
    above 30 have no default gain there, so ``label_gain`` is set to the labels themselves (above
    10000 they are passed as fractional ones are); XGBoost gets ``ndcg_exp_gain=False`` then. A
    ``label_gain`` you set is left alone: set one to compare targets of few and of many levels, as
    LightGBM's own gain is 2^label - 1, while here and in TOMA over nDCG gains are linear.

    *Queries* come as ``qid``, by metadata routing (requested already), from `qid_column`, or from
    the index level or the column ``qid``, as in `ranking_scorer`.

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

    # Requested whatever the switch said when the object was made; unused where nothing is passed.
    __metadata_request__fit = {"qid": True, "sample_weight": True}
    # A pipeline's score always has a sample_weight, if only None, for which somebody must answer.
    __metadata_request__score = {"qid": True, "sample_weight": None}

    def __init__(self, estimator: Any, target: Any = TOMA, qid_column: str | None = None) -> None:
        self.estimator = estimator
        self.target = target
        self.qid_column = qid_column

    # -- parameters: a measure is no estimator, but its parameters can be searched ---------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` also those of the estimator and of the target."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.target, MultiAspectMeasure):
            params |= {f"target__{name}": self.target[name] for name in self.target.SUPPORTED_PARAMS}
        return params

    def set_params(self, **params: Any) -> AspectRanker:
        """Set parameters; those of the target make a new measure and leave the given one alone."""
        if "target" in params:
            self.target = params.pop("target")
        inner = {
            name.removeprefix("target__"): value for name, value in params.items() if name.startswith("target__")
        }
        if inner:
            if not isinstance(self.target, MultiAspectMeasure):
                raise MultiAspectError(
                    f"target {self.target!r} is no measure, so it has no parameters {choices(inner)}"
                )
            self.target = self.target(**inner)
        super().set_params(**{name: value for name, value in params.items() if not name.startswith("target__")})
        return self

    # -- fitting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, **fit_params: Any) -> AspectRanker:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Features, a row per (query, document).
        y : array-like or DataFrame of shape (n_rows, n_aspects)
            A column of labels per aspect; an array's columns are named by the target's aspects.
        qid : array-like of shape (n_rows,), optional
            The query of each row, in any order.
        sample_weight : array-like of shape (n_rows,), optional
            Passed on; XGBoost's rankers take one weight a query, so it must not vary within one.
        **fit_params
            Passed on as they are, such as ``eval_set``.

        Returns
        -------
        AspectRanker
        """
        measure = read_target(self.target)
        queries = find_qid(qid, X, y, self.qid_column)
        X = self._features(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        frame = label_frame(y, None, measure)
        if len(frame) != n_rows:
            raise MultiAspectError(f"y has {len(frame)} rows, but X has {n_rows}")
        self.estimator_ = clone(self.estimator)
        needed = _query_parameter(self.estimator_)
        if queries is None:
            if needed is not None:
                raise MultiAspectError(
                    f"{_last(self.estimator_).__class__.__name__} learns from rankings, so fit needs the query of "
                    "every row: pass qid, name qid_column, or give y or X an index level called qid"
                )
            queries = np.arange(n_rows)
        rows = LabelledRows(frame, queries)
        target = rows.judgments.of_rows(gains(rows.judgments, measure))
        # Rows of a query must stand together; otherwise they keep their order.
        codes = pd.factorize(rows.qids)[0]
        order = np.argsort(codes, kind="stable") if needed is not None else np.arange(n_rows)
        label = self._label(target)[order]
        weights = None if sample_weight is None else check_length(sample_weight, n_rows, "sample_weight")[order]
        passed = dict(fit_params)
        if needed is not None:
            passed[needed] = np.bincount(codes) if needed == "group" else codes[order]
        if weights is not None:
            per_query = _family(_last(self.estimator_)) == "xgboost"
            passed["sample_weight"] = _weight_per_query(weights, codes[order]) if per_query else weights
        self._fit(_safe_indexing(X, order) if needed is not None else X, label, passed)
        self._remember_features(X)
        return self

    def _fit(self, X: Any, label: NDArray[Any], passed: dict[str, Any]) -> None:
        if not isinstance(self.estimator_, Pipeline):
            self.estimator_.fit(X, label, **passed)
            return
        name, last = self.estimator_.steps[-1]
        # Rankers that are not scikit-learn's kind, as CatBoost's, can request nothing.
        routed = _routing_enabled() and hasattr(last, "set_fit_request")
        if routed:
            requested = {key: True for key in passed if key in inspect.signature(last.fit).parameters}
            last.set_fit_request(**requested)
        else:
            passed = {f"{name}__{key}": value for key, value in passed.items()}
        with config_context(enable_metadata_routing=routed):
            self.estimator_.fit(X, label, **passed)

    def _label(self, target: Floats) -> NDArray[Any]:
        """The target as the estimator takes it, with its gains set to fit."""
        last = _last(self.estimator_)
        kind = _family(last)
        if kind is None:
            return target
        greatest = target.max(initial=0.0)
        whole = bool((target == np.floor(target)).all())
        label, gain = target, None
        if not whole or (kind == "lightgbm" and greatest > _GREATEST_KEPT_LABEL):
            values = np.unique(np.append(target, 0.0))
            label, gain = np.searchsorted(values, target).astype(np.float64), values
        elif greatest > _GREATEST_DEFAULT_LABEL:
            gain = np.arange(int(greatest) + 1, dtype=np.float64) if kind == "lightgbm" else label
        if gain is not None:
            if kind == "lightgbm" and last.get_params().get("label_gain") is None:
                last.set_params(label_gain=gain.tolist())
            elif kind == "xgboost" and last.get_params().get("ndcg_exp_gain") is None:
                last.set_params(ndcg_exp_gain=False)
        return label.astype(np.int64)

    def _features(self, X: Any) -> Any:
        if isinstance(X, pd.DataFrame):
            column = self.qid_column or "qid"
            return X.drop(columns=column) if column in X.columns else X
        return X if hasattr(X, "shape") else np.asarray(X)

    def _remember_features(self, X: Any) -> None:
        self.n_features_in_ = X.shape[1] if X.ndim == 2 else 1
        self.__dict__.pop("feature_names_in_", None)
        if isinstance(X, pd.DataFrame) and all(isinstance(column, str) for column in X.columns):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)

    # -- predicting --------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict a score per row of X; higher ranks first."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(self._features(X)))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The estimator's decision function."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._features(X)))

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Return the target measure of the predictions' ranking: TOMA by TOMA, an aspect by its nDCG.

        Parameters
        ----------
        X, y, qid
            As in `fit`.

        Returns
        -------
        float
        """
        scorer = RankingScorer(read_target(self.target), None, "predict")
        return scorer(self, X, y, qid=find_qid(qid, X, y, self.qid_column))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


def _routing_enabled() -> bool:
    return bool(get_config()["enable_metadata_routing"])


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _query_parameter(estimator: Any) -> str | None:
    """The parameter of ``fit`` by which the estimator wants queries."""
    parameters = inspect.signature(_last(estimator).fit).parameters
    # XGBoost takes both, and its group sizes are the older way.
    return next((name for name in ("qid", "group_id", "group") if name in parameters), None)


def _family(estimator: Any) -> str | None:
    """Which library's ranker this is, of those that take whole labels only."""
    if _query_parameter(estimator) is None:
        return None
    modules = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((name for name in ("lightgbm", "xgboost") if name in modules), None)


def _weight_per_query(weights: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    varying = np.flatnonzero(weights != np.repeat(weights[begins], np.diff(begins, append=len(codes))))
    if len(varying):
        raise MultiAspectError(
            f"XGBoost's rankers take one weight a query, but sample_weight varies within them ({len(varying)} rows)"
        )
    return weights[begins]
