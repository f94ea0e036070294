"""A meta-estimator that trains a ranker or regressor on several aspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._validation import proportion
from ..aspects import Aspects, parse_aspects
from ..collection.columns import DOCUMENT_COLUMNS
from ..collection.other_libraries import to_pandas
from ..errors import MultiAspectError, choices, warn, warn_once
from ..measures import TOMA, Measure
from .arrays import check_length, fill_masked, label_frame
from .boosters import (
    LIBRARY_OPTIONS,
    OFFSETS,
    EvaluationRows,
    boosting_library,
    check_evaluation,
    fit_estimator,
    fit_with_evaluation,
    last_step,
    objective_labels,
    query_parameter,
    warn_of_classes,
)
from .features import check_feature_names, feature_names, read_features, warn_of_features
from .labels import (
    check_aspect_target,
    has_names,
    nested_params,
    read_target,
    target_gains,
    with_params,
)
from .metrics import LibraryMetric
from .parts import (
    Part,
    fit_values,
    join_labels,
    labelled_rows,
    read_evaluation_sets,
    split_queries,
    values_of_rows,
    warn_of_shared_queries,
)
from .queries import ADD_QID, find_documents, find_queries, query_codes, rows_per_query
from .rows import EvaluatedMeasure, LabelledRows, warn_if_constant, with_scales
from .scorer import RankingScorer

#: Arguments of estimators' fit methods, and what to pass instead.
_INSTEAD = {
    "eval_metric": "measure= of AspectRanker",
    **dict.fromkeys(("group", "group_id"), "qid"),
    **dict.fromkeys(
        ("eval_X", "eval_y", "eval_group", "eval_qid", "X_val", "y_val"), "eval_set=[(X, y, qid)]"
    ),
    **dict.fromkeys(("eval_init_score", "base_margin_eval_set"), "eval_fraction"),
    **dict.fromkeys(("pairs", "pairs_weight"), "labels, of which CatBoost makes pairs,"),
}


class AspectRanker(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Train an estimator on a single target aggregated from the labels of several aspects.

    The columns of y are aggregated into one label, as defined by `target`. The wrapped estimator
    receives the labels in the form in which it uses them as the gains of the target, and the
    queries in the form it expects. With an evaluation set, boosters evaluate `measure`, and stop by
    it if their parameters say so.

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor of LightGBM, XGBoost, CatBoost or scikit-learn, or a `Pipeline` that
        ends with one. It is cloned.
    target : measure, Order, DistanceOrder or str, default TOMA
        The training label, as in `aggregate_labels`: the weights of TOMA's classes, the values of
        one aspect (On or the name of the aspect), the weights of an Order, the gains that uRBP,
        uRBPgr, unDCG, uERR and NWCS sum, the linear form of CAM, which is a surrogate for mixed
        bases, MM, GAM and WHAM, or ``'scaled sum'``. The parameters of a measure can be searched as
        ``target__distance``, ``target__weights``, … and those of the estimator as ``estimator__…``.
    measure : measure or str, optional
        The measure, of this package or of ir-measures, for `score` and early stopping. By default,
        the target; required for `score` if the target is searched over, or is the scaled sum.
        `score` does not evaluate candidates of a search over measures, nor can it notice that a
        search compares rankers with different measures, as those of a pipeline step: pass
        ``scoring=ranking_scorer(measure)`` to such a search.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns of y, as in ``list(Y.columns)``: required if y is an array of several
        columns, also if scikit-learn makes an array of a data frame, as `RFE` and
        `BaggingRegressor` do. Of a data frame, these columns are selected. Declared scales are also
        those of a target and a measure without scales.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) in `fit` or `score` raises an error or counts as the lowest
        grade.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    measure_ : Measure or None
        The measure, with the scales that its name referred to during the fit.
    evals_result_ : dict of str to dict
        The values of the measure on each evaluation set in each iteration, as ``{'valid_0':
        {measure: [...]}}``.
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
        If the estimator requires queries and none are given, or the shapes of X, y and qid do not
        match.

    Notes
    -----
    *Labels.* The gains that the target itself sums are learned: LightGBM receives the index of each
    distinct gain, with ``label_gain`` set (for its objective ``rank_xendcg``, which supports only
    the gains 2^label - 1, at most 31 levels of equal width), XGBoost the gains with
    ``ndcg_exp_gain=False``, CatBoost and regressors the gains.

    *Early stopping* is that of the library, by its own parameters: LightGBM's
    ``early_stopping_round`` and ``early_stopping_min_delta``, XGBoost's ``early_stopping_rounds``
    or callback ``EarlyStopping``, CatBoost's ``early_stopping_rounds`` and ``od_type``. By default,
    LightGBM and XGBoost train all iterations, and CatBoost trains all and keeps those up to the
    best.

    *Ideal rankings* of `score` and early stopping are those of the rows of each query. To count
    relevant documents without a row, too, pass ``scoring=ranking_scorer(measure, qrels=qrels)`` to
    searches.

    *Queries* are taken from ``qid`` (requested by default for metadata routing) or the index level
    or column ``qid`` of X or y, which is not used as a feature.

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

    # Requested even if routing was disabled when the object was created; unused if nothing is
    # passed.
    __metadata_request__fit = dict.fromkeys(
        ("qid", "sample_weight", "eval_set", "eval_fraction", *LIBRARY_OPTIONS, *OFFSETS), True
    )
    # Searches and pipelines also pass the sample_weight of fit to score, which ignores it, as
    # without metadata routing. There, it has another name, so that sample_weight passed to score
    # itself is an error.
    __metadata_request__score = {
        "qid": True,
        "sample_weight": False,
        "weight_of_fit": "sample_weight",
    }

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags

    # -- parameters: a measure is not an estimator, but its parameters can be searched
    # ---------------

    def __sklearn_clone__(self) -> AspectRanker:
        cloned: AspectRanker = super().__sklearn_clone__()
        cloned._is_clone = True
        return cloned

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep=True`` including those of the estimator and the target."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            params |= {
                f"target__{name}": value for name, value in nested_params(self.target).items()
            }
        return params

    def set_params(self, **params: Any) -> AspectRanker:
        """Set parameters. Parameters of the target create a new measure and do not modify the given one.

        Values are validated by `fit`, so an invalid value fails only its candidate in a search.
        """
        prefix = "target__"
        inner = {
            name.removeprefix(prefix): params.pop(name)
            for name in list(params)
            if name.startswith(prefix)
        }
        # Searches set parameters of unfitted clones: each candidate would be scored by its own
        # measure or, without measure=, its own target. To set the measure of the ranker itself is
        # to choose that of `score`.
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
            One column of labels per aspect. Several columns of an array are named by `aspects`, a
            single one by the aspect of the target. If y or X has a docno (index level or column),
            rows of a pair may be repeated, as by oversampling, but must have equal labels.
        qid : array-like of shape (n_rows,), optional
            The query of each row, in any order.
        sample_weight : array-like of shape (n_rows,), optional
            Passed to the estimator. XGBoost's rankers use one weight per query, so weights must not
            vary within a query.
        eval_set : list of (X, y) or (X, y, qid), optional
            Evaluation sets, with labels as in `y`: the columns of arrays are those of `y`. The
            library stops by the measure on the last one, as the estimator's parameters say (see
            Notes).
        eval_fraction : float, optional
            Fraction of the queries that are held out as an evaluation set, at random, seeded by the
            estimator's ``random_state`` (else 0).
        **fit_params
            Passed to the estimator. Arrays with one value per row, such as ``init_score``,
            ``base_margin`` and ``baseline``, stay with their rows. With metadata routing, these and
            ``callbacks``, ``cat_features``, ``categorical_feature``, ``embedding_features``,
            ``text_features``, ``init_model`` and ``xgb_model`` reach it through searches and
            pipelines.

        Returns
        -------
        AspectRanker

        Raises
        ------
        MultiAspectError
            If the shapes of X, y, qid or the evaluation sets do not match, labels are missing, the
            estimator or the target requires queries and none are given, the estimator does not
            accept evaluation sets or cannot keep its best iteration, `y` is an array of several
            columns without names, or a document has different labels for a query or, in an
            evaluation set, several rows.

        Warns
        -----
        MultiAspectWarning
            If a feature equals the labels of an aspect or looks like the query, a query is in the
            training set and in the last evaluation set, every query has one row, undeclared labels
            contain -1 besides 0 and 1, or the predictions for the last evaluation set are constant
            within queries.
        """
        _refuse_replaced(fit_params)
        evaluated = self._evaluated_measure()
        measure = None if evaluated is None else evaluated.measure
        declared = parse_aspects(self.aspects)
        target = with_scales(read_target(self.target, measure, declared), declared)
        named = _naming_measure(target, measure)
        self.estimator_ = _clone_estimator(self.estimator)
        last = last_step(self.estimator_)
        train = self._read_training_set(
            X, y, qid, {"sample_weight": sample_weight, **fit_params}, target, named
        )
        sets = self._read_evaluation_sets(eval_set, target, named, train)
        if eval_fraction is not None:
            train, held = split_queries(
                train, proportion("eval_fraction")(eval_fraction), _random_seed(last)
            )
            sets.append(held)
        if sets:
            check_evaluation(last)
        if sets and evaluated is None:
            self._refuse_unknown_measure()
        warn_of_shared_queries(train, sets)
        if query_parameter(last) is not None:
            train = train.by_query()
        sets = [part.by_query() for part in sets]
        parts = [train, *sets]
        joined = join_labels(parts, target, self.missing)
        # `score` infers undeclared scales from these, too.
        self._distinct_labels = {
            name: np.asarray(labels.dropna().unique()) for name, labels in joined.frame.items()
        }
        gains = joined.judgments.row_values(target_gains(joined.judgments, target))
        ends = np.cumsum([len(part.labels) for part in parts])[:-1]
        labels = objective_labels(last, np.split(gains, ends))
        warn_of_features(train.X, train.labels, train.names)
        features = self._transform_features(labels[0], [part.X for part in parts])
        passed = {**fit_params, **fit_values(last, train)}
        for name in ("evals_result_", "best_iteration_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if sets and evaluated is not None:
            data = _evaluation_rows(features[1:], labels[1:], sets)
            self._fit_with_evaluation(
                features[0], labels[0], passed, data, labelled_rows(sets, joined), evaluated
            )
        else:
            fit_estimator(last, features[0], labels[0], passed)
        self._record_fit(train.X, measure)
        return self

    def _refuse_unknown_measure(self) -> NoReturn:
        raise MultiAspectError(
            f"measure: early stopping needs a measure, which the target {self.target!r} is not; "
            "pass measure="
        )

    def _read_training_set(
        self, X: Any, y: Any, qid: Any, fit_params: Mapping[str, Any], target: Measure, named: Any
    ) -> Part:
        """Read the training set, and keep its queries and the names of its aspects."""
        train = self._read_part(X, y, qid, target, named, fit_params=fit_params)
        check_aspect_target(self.target, list(train.labels.columns), has_names(y, self.aspects))
        sample_weight = fit_params["sample_weight"]
        if sample_weight is not None:
            weights = check_length(sample_weight, len(train.labels), "sample_weight")
            train = replace(train, values={**train.values, "sample_weight": weights})
        # With these, `ranking_scorer` detects that it scores queries of the training set.
        if train.query is None:
            self._trained_queries = {}
        else:
            self._trained_queries = rows_per_query(train.names)
        self._columns = tuple(train.labels.columns)
        if len(self._trained_queries) == len(train.labels) > 1:
            warn_once(
                "fit: every query has one row, so there is nothing to rank. Pass as qid the query "
                "of each row, not the number of the row",
                key="fit with single rows",
            )
        return train

    def _fit_with_evaluation(
        self,
        X: Any,
        label: NDArray[Any],
        passed: dict[str, Any],
        sets: list[EvaluationRows],
        labelled: list[LabelledRows],
        evaluated: EvaluatedMeasure,
    ) -> None:
        """Fit the last step, which is evaluated on sets, and keep the values of the measure."""
        last = last_step(self.estimator_)
        library = str(boosting_library(last))
        metric = LibraryMetric(library, evaluated, labelled, [rows.frame for rows in labelled])
        self.best_iteration_ = fit_with_evaluation(last, X, label, passed, sets, metric)
        self.evals_result_ = {
            f"valid_{index}": {str(evaluated.measure): values}
            for index, values in enumerate(metric.history)
        }
        metric.release()
        warn_if_constant(labelled[-1].rankings(last.predict(sets[-1].X)), metric.name)

    def _record_fit(self, X: Any, measure: Measure | None) -> None:
        """Set the attributes that tell what the ranker was fitted with."""
        if X.ndim == 2:
            self.n_features_in_ = X.shape[1]
        else:
            self.n_features_in_ = 1
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        self.measure_ = measure
        self._resolved = (self.measure, self.target)

    def _read_part(
        self,
        X: Any,
        y: Any,
        qid: Any,
        target: Measure,
        named: Any,
        what: str = "",
        fit_params: Mapping[str, Any] | None = None,
    ) -> Part:
        """Read the features, labels and queries of the training set, or of the set `what`."""
        features = read_features(X)
        values = values_of_rows(fit_params or {}, features.shape[0])
        queries = find_queries(y, X, qid, **values)
        values = {name: fill_masked(value) for name, value in values.items()}
        frame = label_frame(y, self.aspects, named, self._columns if what else ())
        if len(frame) != features.shape[0]:
            raise MultiAspectError(f"{what}y has {len(frame)} rows, but X has {features.shape[0]}")
        if queries is not None:
            query, qids = query_codes(check_length(queries, len(frame), f"{what}qid"))
            documents = find_documents(y=y, X=X, qid=qid)
            if documents is not None:
                frame = frame.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))
            return Part(features, frame, query, qids, values)
        if query_parameter(self.estimator_) is not None:
            cause = f"{last_step(self.estimator_).__class__.__name__} is a ranker"
        elif target.stated.gain_per_query:
            cause = f"the label of {target} is normalised per query"
        else:
            return Part(features, frame, None, np.empty(0, dtype=object), values)
        raise MultiAspectError(
            f"{what}{cause}, so fit needs the query of every row: pass qid, or {ADD_QID}"
        )

    def _read_evaluation_sets(
        self, given: Any, target: Measure, named: Any, train: Part
    ) -> list[Part]:
        """Read the evaluation sets, which have the features of the training set if these have names."""
        names = feature_names(train.X)
        sets = []
        for index, (X, y, qid) in enumerate(read_evaluation_sets(given)):
            part = self._read_part(X, y, qid, target, named, f"eval_set[{index}]: ")
            check_feature_names(part.X, names, f"eval_set[{index}]: X", "list(X_train.columns)")
            sets.append(part)
        offsets = [name for name in OFFSETS if name in train.values]
        if sets and offsets:
            raise MultiAspectError(
                f"eval_set: expected no evaluation set beside {choices(offsets)}, as it has none; "
                "pass eval_fraction, which holds out rows with theirs"
            )
        return sets

    def _transform_features(self, label: NDArray[Any], features: list[Any]) -> list[Any]:
        """Fit the steps of a pipeline before the last one, and return the features for the last one.

        The first features are those of the training set, to which the steps are fitted.
        """
        if not isinstance(self.estimator_, Pipeline) or len(self.estimator_.steps) == 1:
            return features
        head = self.estimator_[:-1]
        train = head.fit_transform(features[0], label)
        self.estimator_.steps[:-1] = head.steps
        return [train, *map(head.transform, features[1:])]

    # -- predicting --------------------------------------------------------------------------

    def _check_features(self, X: Any) -> Any:
        """Return the features, after checking that they are those of fit, as LightGBM accepts them in any order."""
        check_is_fitted(self)
        X = read_features(X)
        check_feature_names(
            X, getattr(self, "feature_names_in_", None), "X", "ranker.feature_names_in_"
        )
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
        if (
            boosting_library(last) == "catboost"
        ):  # the default ones of rankers require the training set
            return np.asarray(last.get_feature_importance(type="PredictionValuesChange"))
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_)
        return np.abs(np.ravel(last.coef_))

    def score(self, X: Any, y: Any, qid: Any = None, *, weight_of_fit: Any = None) -> float:
        """Evaluate the ranking by predictions with `measure`, or by default with the target.

        Scales that are not declared are those that `fit` inferred; labels beyond them extend them,
        with a warning.

        Parameters
        ----------
        X, y, qid : as in fit
            See `fit`.
        weight_of_fit : array-like, optional
            Ignored: the ``sample_weight`` of a search with metadata routing. Pass weights of
            queries to `ranking_score`.

        Returns
        -------
        float
            The score, where higher is better: the values of lower-is-better measures are negated.
        """
        if self._is_resolved():
            measure = self.measure_
        else:
            measure = getattr(self._evaluated_measure(), "measure", None)
        searched = getattr(self, "_searched", None)
        if searched == "target" and self.measure is not None:
            searched = None
        if measure is None or searched:
            message = f"score needs measure=, as the target {self.target!r}"
            if searched == "measure":
                message = f"score does not evaluate by the measure {self.measure!r}, as it"
            reason = f"was set by set_params: in a search, each candidate would be scored by its own {searched}"
            message += f" {reason if searched else 'is not a measure'}"
            warn(
                f"{message}. Pass measure= to AspectRanker, or scoring=ranking_scorer(measure) to "
                "the search"
            )
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
        return all(
            fitted is now or (isinstance(fitted, str) and fitted == now) for fitted, now in pairs
        )


def _clone_estimator(estimator: Any) -> Any:
    """Return an estimator with the same parameters that is not fitted.

    scikit-learn's clone rejects lists among CatBoost's parameters, such as cat_features.
    """
    if boosting_library(estimator) == "catboost":
        return estimator.copy()
    return clone(estimator)


def _evaluation_rows(
    features: Sequence[Any], labels: Sequence[Any], sets: Sequence[Part]
) -> list[EvaluationRows]:
    """Return the evaluation sets as the fits of boosting libraries take them."""
    rows = []
    for of_set, label, part in zip(features, labels, sets, strict=True):
        rows.append(EvaluationRows(of_set, label, part.codes, part.offset))
    return rows


def _refuse_replaced(fit_params: Mapping[str, Any]) -> None:
    """Raise an error for arguments of estimators that the ranker itself passes to them."""
    replaced = [name for name in fit_params if name in _INSTEAD]
    if replaced:
        raise MultiAspectError(
            f"expected {_INSTEAD[replaced[0]]} instead of {choices(replaced)}. (pt.ltr passes the "
            "labels "
            "of one aspect, by group: give it a plain ranker and aggregate_labels(qrels, measure))"
        )


def _random_seed(estimator: Any) -> int:
    """Return the seed of an estimator, under the names that the libraries give it, or 0."""
    params = estimator.get_params()
    for name in ("random_state", "random_seed", "seed"):
        if isinstance(params.get(name), int | np.integer):
            return int(params[name])
    return 0


def _naming_measure(target: Measure, measure: Measure | None) -> Measure | None:
    """Return the target or the measure, whose aspects name the columns of arrays: the target if it declares any."""
    return target if isinstance(target.spec, Aspects) else measure
