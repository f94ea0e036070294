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

#: Parameters of the target begin with this.
_TARGET_PREFIX = "target__"

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
    >>> ranker = ma.AspectRanker(Ridge(alpha=1e-6), target=target, aspects=aspects)
    >>> ranker = ranker.fit(X, Y, qid=qid)
    >>> ranker.predict(X).round(2)
    array([2., 2., 2., 4.])
    >>> ranker.set_params(target__distance="euclidean").target
    TOMA(aspects={'relevance': 2, 'credibility': 2})
    """

    #: Whether scikit-learn's clone made the ranker.
    _is_clone = False
    #: The parameter that a search sets, "measure" or "target", so that `score` refuses.
    _searched: str | None = None

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
        """Return the tags: X may be sparse or contain NaN if the estimator accepts it."""
        tags = super().__sklearn_tags__()
        estimator_tags = get_tags(self.estimator).input_tags
        tags.input_tags.sparse = estimator_tags.sparse
        tags.input_tags.allow_nan = estimator_tags.allow_nan
        return tags

    # -- parameters: a measure is not an estimator, but its parameters can be searched
    # ---------------

    def __sklearn_clone__(self) -> AspectRanker:
        """Return a clone, marked as such.

        Searches set parameters of clones: by this mark, `_record_searched` knows a candidate.
        """
        cloned: AspectRanker = super().__sklearn_clone__()
        cloned._is_clone = True
        return cloned

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also those of the estimator and the target."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in nested_params(self.target).items():
                params[f"{_TARGET_PREFIX}{name}"] = value
        return params

    def set_params(self, **params: Any) -> AspectRanker:
        """Set parameters. Those of the target create a new measure, and leave the given one.

        Values are validated by `fit`, so an invalid value fails only its candidate in a search.
        """
        own_params, target_params = _split_params(params)
        sets_target = "target" in own_params or bool(target_params)
        self._record_searched("measure" in own_params, sets_target)
        super().set_params(**own_params)
        # After a new target is set, as the parameters may be meant for it.
        if target_params:
            self.target = with_params(self.target, target_params)
        return self

    def _record_searched(self, sets_measure: bool, sets_target: bool) -> None:
        """Record in `_searched` whether a search sets the measure or the target of its candidates.

        Then each candidate would be scored by its own measure or, without measure=, by its own
        target, and the scores could not be compared: `score` refuses. A searched measure counts
        more than a searched target, as measure= does not make its scores comparable.
        """
        # The measure of a clone that is not fitted yet is set by a search; that of any other ranker
        # is set by a user who chooses the measure of `score`.
        is_candidate = self._is_clone and not hasattr(self, "estimator_")
        if sets_measure and is_candidate:
            self._searched = "measure"
        # The target counts in any ranker: a search may be a loop that sets the target of one.
        if sets_target and self._searched != "measure":
            self._searched = "target"

    def _evaluated_measure(self) -> EvaluatedMeasure | None:
        """Return the measure of evaluation: `self.measure`, or by default the target.

        It is None if the target is an order, which defines gains, but no value of a ranking.
        """
        if self.measure is not None:
            return EvaluatedMeasure(self.measure, self.aspects, self.missing)
        target = read_target(self.target, aspects=parse_aspects(self.aspects))
        # Only measures with values define `_evaluate`; that of the base class raises an error.
        has_values = type(target)._evaluate is not Measure._evaluate
        if not has_values:
            return None
        return EvaluatedMeasure(target, self.aspects, self.missing)

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
        # Evaluation sets are evaluated by measure=, by default by the target if it has values.
        evaluated = self._evaluated_measure()
        measure = None
        if evaluated is not None:
            measure = evaluated.measure
        declared = parse_aspects(self.aspects)
        target = with_scales(read_target(self.target, measure, declared), declared)
        naming = _naming_measure(target, measure)  # names the columns of arrays
        # Parts are checked against this estimator while they are read.
        self.estimator_ = _clone_estimator(self.estimator)
        arguments = {"sample_weight": sample_weight, **fit_params}
        train = self._read_training_set(X, y, qid, arguments, target, naming)
        sets = self._read_evaluation_sets(eval_set, target, naming, train)
        if eval_fraction is not None:
            parse_fraction = proportion("eval_fraction")
            fraction = parse_fraction(eval_fraction)
            seed = _random_seed(last_step(self.estimator_))
            train, held_out = split_queries(train, fraction, seed)
            sets.append(held_out)
        if sets:
            check_evaluation(last_step(self.estimator_))
            if evaluated is None:
                self._refuse_unknown_measure()
        warn_of_shared_queries(train, sets)
        self._fit_parts(train, sets, target, evaluated, fit_params)
        self._record_fit(train.X, measure)
        return self

    def _fit_parts(
        self,
        train: Part,
        sets: list[Part],
        target: Measure,
        evaluated: EvaluatedMeasure | None,
        fit_params: Mapping[str, Any],
    ) -> None:
        """Fit the estimator to the labels that the target makes of the aspects.

        Parameters
        ----------
        train : Part
            The training set.
        sets : list of Part
            The evaluation sets, none without early stopping.
        target : Measure
            The measure that defines the labels to learn.
        evaluated : EvaluatedMeasure, optional
            The measure on the evaluation sets.
        fit_params : mapping
            Further arguments of the estimator's fit.
        """
        last = last_step(self.estimator_)
        # 1. Libraries expect the rows of a query together.
        if query_parameter(last) is not None:
            train = train.by_query()
        sets = [part.by_query() for part in sets]
        parts = [train, *sets]
        # 2. The labels to learn. Those of all parts define the scales that are not declared.
        joined = join_labels(parts, target, self.missing)
        self._distinct_labels = _distinct_labels(joined.frame)  # for the scales of `score`
        gains = _gains_of_parts(joined, target, parts)
        train_label, *set_labels = objective_labels(last, gains)
        # 3. The features, after the first steps of a pipeline.
        warn_of_features(train.X, train.labels, train.names)
        part_features = [part.X for part in parts]
        train_features, *set_features = self._transform_features(train_label, part_features)
        # 4. The fit of the last step.
        passed = {**fit_params, **fit_values(last, train)}
        self._forget_fit()  # an earlier one
        if not sets or evaluated is None:
            fit_estimator(last, train_features, train_label, passed)
            return
        rows = _evaluation_rows(set_features, set_labels, sets)
        aspect_labels = labelled_rows(sets, joined)
        self._fit_with_evaluation(
            train_features, train_label, passed, rows, aspect_labels, evaluated
        )

    def _refuse_unknown_measure(self) -> NoReturn:
        """Raise the error for evaluation sets without a measure to evaluate on them."""
        raise MultiAspectError(
            f"measure: early stopping needs a measure, which the target {self.target!r} is not; "
            "pass measure="
        )

    def _forget_fit(self) -> None:
        """Delete the attributes of an earlier fit that the next one may not set."""
        for name in ("evals_result_", "best_iteration_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)

    def _read_training_set(
        self, X: Any, y: Any, qid: Any, arguments: Mapping[str, Any], target: Measure, naming: Any
    ) -> Part:
        """Read the training set, and keep its queries and the names of its aspects.

        `arguments` are the further arguments of fit; `naming` names the columns of arrays, see
        `_naming_measure`.
        """
        train = self._read_part(X, y, qid, target, naming, arguments=arguments)
        columns = list(train.labels.columns)
        n_rows = len(train.labels)
        check_aspect_target(self.target, columns, has_names(y, self.aspects))
        sample_weight = arguments["sample_weight"]
        if sample_weight is not None:
            weights = check_length(sample_weight, n_rows, "sample_weight")
            train = replace(train, values={**train.values, "sample_weight": weights})
        # With these, `ranking_scorer` detects that it scores queries of the training set.
        self._trained_queries: dict[str, int] = {}
        if train.query is not None:
            self._trained_queries = rows_per_query(train.names)
        self._columns = tuple(columns)
        n_queries = len(self._trained_queries)
        has_single_rows = n_queries == n_rows
        if n_rows > 1 and has_single_rows:
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
        """Fit the last step with evaluation sets, and keep the values of the measure on them.

        Parameters
        ----------
        X, label : array-like
            The training rows.
        passed : dict
            Other arguments of fit.
        sets : list of EvaluationRows
            The evaluation sets as the library receives them.
        labelled : list of LabelledRows
            The labels of the aspects on these sets.
        evaluated : EvaluatedMeasure
            The measure.
        """
        last = last_step(self.estimator_)
        library = str(boosting_library(last))
        columns = [rows.frame for rows in labelled]
        metric = LibraryMetric(library, evaluated, labelled, columns)
        self.best_iteration_ = fit_with_evaluation(last, X, label, passed, sets, metric)
        measure_name = str(evaluated.measure)
        self.evals_result_ = {}
        for index, values in enumerate(metric.history):
            self.evals_result_[f"valid_{index}"] = {measure_name: values}
        metric.release()
        last_predictions = last.predict(sets[-1].X)
        last_rankings = labelled[-1].rankings(last_predictions)
        warn_if_constant(last_rankings, metric.name)

    def _record_fit(self, X: Any, measure: Measure | None) -> None:
        """Set the attributes that tell by which features and which measure it was fitted."""
        if X.ndim == 2:
            self.n_features_in_ = X.shape[1]
        else:
            self.n_features_in_ = 1
        names = feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        self.measure_ = measure
        # The parameters that `measure_` follows from: `score` uses it as long as they are the same.
        self._params_of_measure = (self.measure, self.target)

    def _read_part(
        self,
        X: Any,
        y: Any,
        qid: Any,
        target: Measure,
        naming: Any,
        prefix: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> Part:
        """Read the features, labels and queries of the training set or of an evaluation set.

        Parameters
        ----------
        X, y, qid : array-like
            See `fit`.
        target : Measure
            The target.
        naming : Measure, optional
            The measure whose aspects name the columns of arrays.
        prefix : str
            The beginning of messages about an evaluation set, such as ``"eval_set[0]: "``; empty
            for the training set.
        arguments : mapping, optional
            Further arguments of fit, some of which have one value per row.
        """
        features = read_features(X)
        n_rows = features.shape[0]
        row_arguments = values_of_rows(arguments or {}, n_rows)
        # All of these may be pandas objects, whose indexes are compared to find the queries.
        queries = find_queries(y, X, qid, **row_arguments)
        values = {name: fill_masked(value) for name, value in row_arguments.items()}
        labels = self._read_labels(y, n_rows, naming, prefix)
        if queries is None:
            self._check_needs_no_queries(target, prefix)
            no_qids = np.empty(0, dtype=object)
            return Part(features, labels, None, no_qids, values)
        query, qids = query_codes(check_length(queries, n_rows, f"{prefix}qid"))
        # Documents are the index of the labels, where `join_labels` finds them.
        documents = find_documents(y=y, X=X, qid=qid)
        if documents is not None:
            labels = labels.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))
        return Part(features, labels, query, qids, values)

    def _read_labels(self, y: Any, n_rows: int, naming: Any, prefix: str) -> pd.DataFrame:
        """Return the labels as a frame of `n_rows` rows; other parameters are as for `_read_part`.

        The columns of an array without names are named by `naming` in the training set, and as
        those of this in an evaluation set.
        """
        columns: Sequence[str] = ()
        is_evaluation_set = prefix != ""
        if is_evaluation_set:
            columns = self._columns  # of the training set, which is read first
        labels = label_frame(y, self.aspects, naming, columns)
        if len(labels) != n_rows:
            raise MultiAspectError(f"{prefix}y has {len(labels)} rows, but X has {n_rows}")
        return labels

    def _check_needs_no_queries(self, target: Measure, prefix: str) -> None:
        """Raise an error that begins with `prefix` if estimator or target require queries."""
        if query_parameter(self.estimator_) is not None:
            name = type(last_step(self.estimator_)).__name__
            cause = f"{name} is a ranker"
        elif target.stated.gain_per_query:
            cause = f"the label of {target} is normalised per query"
        else:
            return
        raise MultiAspectError(
            f"{prefix}{cause}, so fit needs the query of every row: pass qid, or {ADD_QID}"
        )

    def _read_evaluation_sets(
        self, eval_set: Any, target: Measure, naming: Any, train: Part
    ) -> list[Part]:
        """Read the evaluation sets. Their features have the names of those of the training set.

        `naming` names the columns of arrays, see `_naming_measure`.
        """
        train_features = feature_names(train.X)
        sets = []
        for index, evaluation_set in enumerate(read_evaluation_sets(eval_set)):
            X, y, qid = evaluation_set
            prefix = f"eval_set[{index}]: "
            part = self._read_part(X, y, qid, target, naming, prefix)
            check_feature_names(part.X, train_features, f"{prefix}X", "list(X_train.columns)")
            sets.append(part)
        # Offsets, such as init_score, are predictions that training starts from. eval_set cannot
        # contain those of its rows, so that these would be evaluated without.
        train_offsets = [name for name in OFFSETS if name in train.values]
        if sets and train_offsets:
            raise MultiAspectError(
                f"eval_set: expected no evaluation set beside {choices(train_offsets)}, as it "
                "has none; "
                "pass eval_fraction, which holds out rows with theirs"
            )
        return sets

    def _transform_features(self, label: NDArray[Any], features: list[Any]) -> list[Any]:
        """Fit the steps of a pipeline before the last one, and return the features for that.

        The first element of `features` are those of the training set, which has these labels; the
        steps are fitted to them.
        """
        if not isinstance(self.estimator_, Pipeline) or len(self.estimator_.steps) == 1:
            return features
        train_features, *set_features = features
        first_steps = self.estimator_[:-1]  # a pipeline of its own
        transformed = [first_steps.fit_transform(train_features, label)]
        for other_features in set_features:
            transformed.append(first_steps.transform(other_features))
        # With memory=, a pipeline fits clones of its steps, and replaces them by these. So the
        # steps of the whole pipeline are replaced, too.
        *_, last = self.estimator_.steps
        self.estimator_.steps = [*first_steps.steps, last]
        return transformed

    # -- predicting --------------------------------------------------------------------------

    def _check_features(self, X: Any) -> Any:
        """Return the features, after checking that they are those of fit, in this order.

        LightGBM would accept them in any order.
        """
        check_is_fitted(self)
        features = read_features(X)
        names_of_fit = getattr(self, "feature_names_in_", None)
        check_feature_names(features, names_of_fit, "X", "ranker.feature_names_in_")
        return features

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
        if boosting_library(last) == "catboost":
            # The default importances of rankers require the training set.
            return np.asarray(last.get_feature_importance(type="PredictionValuesChange"))
        if hasattr(last, "feature_importances_"):
            return np.asarray(last.feature_importances_)
        coefficients = np.ravel(last.coef_)
        return np.abs(coefficients)

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
        measure = self._scoring_measure()
        queries = find_queries(y, X, qid)
        is_array = to_pandas(y) is None
        if is_array:
            y = self._name_columns(y, measure)
        scorer = RankingScorer(measure, self.aspects, missing=self.missing)
        # A ranker that is not fitted has no labels: the scorer raises the error.
        if hasattr(self, "_distinct_labels"):
            scorer.fitted = self._fitted_labels()
        value = scorer(self, X, y, qid=queries)
        assert isinstance(value, float)  # of a single measure
        return value

    def _name_columns(self, y: Any, measure: Measure) -> pd.DataFrame:
        """Return an array of labels as a frame with the columns of fit."""
        check_is_fitted(self)
        target = read_target(self.target, measure)
        return label_frame(y, self.aspects, _naming_measure(target, measure), self._columns)

    def _fitted_labels(self) -> pd.DataFrame:
        """Return the different labels of fit, from which undeclared scales are inferred, too.

        One column per aspect. Aspects have different numbers of labels: shorter columns end with
        NaN.
        """
        columns = {name: pd.Series(labels) for name, labels in self._distinct_labels.items()}
        return pd.DataFrame(columns)

    def _scoring_measure(self) -> Measure:
        """Return the measure of `score`, or warn and raise an error if there is none.

        There is none if the target is not a measure, or if the candidates of a search would be
        scored by different measures.
        """
        measure: Measure | None = None
        if self._is_resolved():
            measure = self.measure_
        else:
            evaluated = self._evaluated_measure()
            if evaluated is not None:
                measure = evaluated.measure
        if measure is not None and self._has_comparable_scores():
            return measure
        message = self._no_score_message(self._searched)
        # Searches turn errors into NaN scores, but show warnings.
        warn(
            f"{message}. Pass measure= to AspectRanker, or scoring=ranking_scorer(measure) to "
            "the search"
        )
        raise MultiAspectError(message)

    def _has_comparable_scores(self) -> bool:
        """Return whether all candidates of a search are scored by the same measure.

        `self._searched` is the parameter that a search sets, ``"measure"`` or ``"target"``; None
        without such a search.
        """
        if self._searched == "measure":
            return False
        if self._searched == "target":
            # Without measure=, each candidate is scored by its own target.
            return self.measure is not None
        return True

    def _no_score_message(self, searched: str | None) -> str:
        """Return why there is no score: the target is no measure, or a parameter is `searched`."""
        reason = (
            "was set by set_params: in a search, each candidate would be scored by its own "
            f"{searched}"
        )
        if searched == "measure":
            return f"score does not evaluate by the measure {self.measure!r}, as it {reason}"
        if searched == "target":
            return f"score needs measure=, as the target {self.target!r} {reason}"
        return f"score needs measure=, as the target {self.target!r} is not a measure"

    def _is_resolved(self) -> bool:
        """Return whether the parameters measure and target are still those of `fit`."""
        is_fitted = hasattr(self, "_params_of_measure")
        if not is_fitted:
            return False
        fitted_measure, fitted_target = self._params_of_measure
        has_same_measure = _is_same(fitted_measure, self.measure)
        return has_same_measure and _is_same(fitted_target, self.target)


def _split_params(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a ranker, and those of its target without their prefix."""
    own_params = {}
    target_params = {}
    for name, value in params.items():
        if name.startswith(_TARGET_PREFIX):
            name_in_target = name.removeprefix(_TARGET_PREFIX)
            target_params[name_in_target] = value
        else:
            own_params[name] = value
    return own_params, target_params


def _is_same(first: object, second: object) -> bool:
    """Return whether two parameters are the same object or equal texts."""
    if isinstance(first, str):
        return first == second
    return first is second


def _distinct_labels(labels: pd.DataFrame) -> dict[str, NDArray[Any]]:
    """Return the different labels of each aspect, without missing ones."""
    distinct = {}
    for name, column in labels.items():
        distinct[str(name)] = np.asarray(column.dropna().unique())
    return distinct


def _gains_of_parts(
    joined: LabelledRows, target: Measure, parts: Sequence[Part]
) -> list[NDArray[np.float64]]:
    """Return the gains of the rows of each part; `joined` has all parts one after the other."""
    gain_of_pair = target_gains(joined.judgments, target)
    gain_of_row = joined.judgments.row_values(gain_of_pair)
    ends = np.cumsum([len(part.labels) for part in parts])
    return np.split(gain_of_row, ends[:-1])


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
    """Return the evaluation sets as the fits of boosting libraries take them.

    Features and labels are those of each set for the last step.
    """
    rows = []
    for index, part in enumerate(sets):
        rows.append(EvaluationRows(features[index], labels[index], part.codes, part.offset))
    return rows


def _refuse_replaced(fit_params: Mapping[str, Any]) -> None:
    """Raise an error for arguments of estimators that the ranker itself passes to them."""
    replaced = [name for name in fit_params if name in _INSTEAD]
    if not replaced:
        return
    replacement = _INSTEAD[replaced[0]]
    raise MultiAspectError(
        f"expected {replacement} instead of {choices(replaced)}. (pt.ltr passes the "
        "labels of one aspect, by group: give it a plain ranker and "
        "aggregate_labels(qrels, measure))"
    )


def _random_seed(estimator: Any) -> int:
    """Return the seed of an estimator, under the names that the libraries give it, or 0."""
    params = estimator.get_params()
    for name in ("random_state", "random_seed", "seed"):
        seed = params.get(name)
        if isinstance(seed, int | np.integer):
            return int(seed)
    return 0


def _naming_measure(target: Measure, measure: Measure | None) -> Measure | None:
    """Return what names the columns of arrays: a target that declares aspects, or the measure."""
    if isinstance(target.spec, Aspects):
        return target
    return measure
