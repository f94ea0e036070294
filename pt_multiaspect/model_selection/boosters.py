"""Estimators of LightGBM, XGBoost and CatBoost: their labels, queries and evaluation sets."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from .._typing import Floats, Ints
from ..errors import MultiAspectError, warn_once
from .labels import MOST_LEVELS, gain_levels
from .metrics import LIBRARIES, LibraryMetric

#: Arguments of their fit methods that are neither rows nor parameters.
LIBRARY_OPTIONS = (
    "callbacks", "cat_features", "categorical_feature", "embedding_features", "text_features",
    "init_model", "xgb_model",
)  # fmt: skip

#: Arguments of their fit methods with predictions that training starts from, one per row.
OFFSETS = ("init_score", "base_margin", "baseline")


@dataclass(frozen=True, eq=False)
class EvaluationRows:
    """An evaluation set as a library receives it: rows with those of each query together."""

    X: Any
    label: NDArray[Any]
    #: The queries, numbered by first occurrence.
    query: Ints
    #: The predictions that training starts from, if any.
    offset: NDArray[Any] | None


# -- estimators
# --------------------------------------------------------------------------------------


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    if isinstance(estimator, Pipeline):
        return estimator.steps[-1][1]
    return estimator


def warn_of_classes(model: Any, remedy: str = "") -> None:
    """Warn about a fitted classifier, as most rows of a query have the same predicted class.

    The text `remedy` ends the message.
    """
    estimator = last_step(model)
    classes = getattr(estimator, "classes_", None)
    if classes is None or len(classes) == 0:
        return
    name = type(estimator).__name__
    warn_once(
        f"{name} is a classifier, whose few distinct predictions rank with many ties: take a "
        f"ranker or a regressor{remedy}",
        key=f"{name} predicts classes",
    )


def query_parameter(estimator: Any) -> str | None:
    """Return the parameter of fit for queries; None for regressors, which have none.

    The parameter "group" takes the number of rows of each query, "qid" and "group_id" the query of
    each row.
    """
    parameters = inspect.signature(last_step(estimator).fit).parameters
    for name in ("qid", "group_id", "group"):
        if name in parameters:
            return name
    return None


def boosting_library(estimator: Any) -> str | None:
    """Return the boosting library of the class of an estimator or of a base class, or None."""
    packages = set()
    for cls in type(estimator).__mro__:
        package, _, _ = cls.__module__.partition(".")
        packages.add(package)
    for library in LIBRARIES:
        if library in packages:
            return library
    return None


def library_parameter(estimator: Any, name: str) -> Any:
    """Return the value of a parameter of an estimator, None if it is not set.

    LightGBM knows a parameter by several names.
    """
    params = estimator.get_params()
    names = [name]
    if boosting_library(estimator) == "lightgbm":
        from lightgbm.basic import _ConfigAliases

        names = _ConfigAliases.get_sorted(name)
    for alias in names:
        value = params.get(alias)
        if value is not None:
            return value
    return None


# -- labels
# ------------------------------------------------------------------------------------------


def objective_labels(estimator: Any, gains: list[Floats]) -> list[NDArray[Any]]:
    """Return gains as labels for the objective of a learner, after setting its parameters.

    Parameters
    ----------
    estimator : estimator
        The learner.
    gains : list of ndarray of float
        The gains of the rows of each set.
    """
    library = boosting_library(estimator)
    is_ranker = query_parameter(estimator) is not None
    if is_ranker and library == "xgboost":
        _set_xgboost_gains(estimator)
    if is_ranker and library == "lightgbm":
        return _lightgbm_labels(estimator, gains)
    return list(gains)


def _set_xgboost_gains(estimator: Any) -> None:
    """Let a ranker of XGBoost learn its labels as gains."""
    if library_parameter(estimator, "ndcg_exp_gain"):
        raise MultiAspectError(
            "ndcg_exp_gain=True would learn the gains 2^gain - 1; leave it unset, or choose a "
            "target with these gains, as in TOMA(weighting='exponential')"
        )
    estimator.set_params(ndcg_exp_gain=False)


def _lightgbm_labels(estimator: Any, gains: list[Floats]) -> list[NDArray[Any]]:
    """Return the gains of each set as labels for a ranker of LightGBM, and set its ``label_gain``.

    Its ranking objectives require levels, other objectives learn the gains themselves.
    """
    if library_parameter(estimator, "label_gain") is not None:
        raise MultiAspectError(
            "label_gain: AspectRanker sets the gains that the target sums; leave it unset, or "
            "choose a target with other gains, as in TOMA(weighting='exponential')"
        )
    objective = _lightgbm_objective(estimator)
    all_gains = np.concatenate(gains)
    if objective == "lambdarank":
        levels, level_gains = gain_levels(all_gains)
        estimator.set_params(label_gain=level_gains)
    elif objective == "rank_xendcg":
        # It supports only the gains 2^level - 1, which grow fast.
        levels, _ = gain_levels(all_gains, MOST_LEVELS)
    else:
        return list(gains)
    set_ends = np.cumsum([len(set_gains) for set_gains in gains])
    return np.split(levels.astype(np.int64), set_ends[:-1])


def _lightgbm_objective(estimator: Any) -> str | None:
    """Return LightGBM's name of the objective of a ranker; None for a function or if unknown."""
    objective = _given_objective(estimator)
    if objective in ("lambdarank", "rank_xendcg"):
        return str(objective)
    if not isinstance(objective, str):
        return None
    return _objective_of_alias(objective)


def _objective_of_alias(alias: str) -> str | None:
    """Return the objective that LightGBM knows by this and other names, None if there is none.

    Only LightGBM's parser knows the other names: a model without trees states the objective.
    """
    import lightgbm

    params = {"objective": alias, "num_threads": 1, "verbosity": -1}
    rows = lightgbm.Dataset(np.zeros((2, 1)), label=[0, 1], group=[2])
    try:
        booster = lightgbm.Booster(params, rows)
    except lightgbm.basic.LightGBMError:
        return None  # raised again by fit, with all parameters
    # The objective is followed by its parameters, as in "lambdarank truncation:30".
    objective, _, _ = str(booster.dump_model()["objective"]).partition(" ")
    return objective


def _given_objective(estimator: Any) -> Any:
    """Return the objective that a ranker of LightGBM was given, lambdarank by default.

    Aliases of the parameter, such as ``loss``, have precedence over ``objective`` itself.
    """
    from lightgbm.basic import _ConfigAliases

    params = estimator.get_params()
    objective = params["objective"] or "lambdarank"
    for alias in _ConfigAliases.get("objective"):
        if alias != "objective" and alias in params:
            objective = params[alias]
    return objective


# -- fitting
# -----------------------------------------------------------------------------------------


def check_evaluation(estimator: Any) -> None:
    """Raise an error if an estimator accepts no evaluation set, or loses its best iteration."""
    name = type(estimator).__name__
    library = boosting_library(estimator)
    if library is None:
        raise MultiAspectError(
            f"{name} accepts no evaluation set; leave out eval_set and eval_fraction"
        )
    if _is_single_iteration(estimator):
        raise MultiAspectError(
            f"{name} trains a single iteration, so that it cannot stop early; leave out eval_set "
            "and eval_fraction"
        )
    if library == "lightgbm":
        booster_parameter = "boosting"
        rounds_parameter = "early_stopping_round"
    else:
        booster_parameter = "booster"
        rounds_parameter = "early_stopping_rounds"
    booster = library_parameter(estimator, booster_parameter)
    stops_early = library_parameter(estimator, rounds_parameter)
    if booster in ("dart", "gblinear") and stops_early:
        raise MultiAspectError(
            f"{name}: later iterations of {booster!r} change earlier ones, so that the best "
            "iteration is lost when training stops; leave out "
            f"{rounds_parameter}, or choose another {booster_parameter}"
        )


def _is_single_iteration(estimator: Any) -> bool:
    """Return whether an estimator is a forest of XGBoost, which has a single iteration."""
    if boosting_library(estimator) != "xgboost":
        return False
    import xgboost

    return isinstance(estimator, xgboost.XGBRFRegressor | xgboost.XGBRFClassifier)


def fit_estimator(estimator: Any, X: Any, label: NDArray[Any], passed: dict[str, Any]) -> None:
    """Fit an estimator without an evaluation set; `passed` are the other arguments of fit."""
    continues_training = passed.get("xgb_model") is not None
    try:
        # A forest trains a single iteration, and accepts no callbacks.
        if continues_training and not _is_single_iteration(estimator):
            _continue_xgboost(estimator, X, label, passed)
        else:
            estimator.fit(X, label, **passed)
    except ValueError as error:
        is_from_library = boosting_library(estimator) is not None
        if is_from_library and "early stopping" in str(error).lower():
            name = type(estimator).__name__
            raise MultiAspectError(
                f"{name}: expected an evaluation set, as it stops early, got none; "
                "pass eval_fraction=0.2 to hold out queries, or eval_set"
            ) from None
        raise


def _continue_xgboost(estimator: Any, X: Any, label: Any, passed: dict[str, Any]) -> None:
    """Fit an estimator of XGBoost that continues the training of an earlier model.

    That model is passed as ``xgb_model``. Its best iteration must not remain that of the new one.
    """
    own_callbacks = estimator.callbacks or ()
    callbacks = [_continuation_callback(), *own_callbacks]
    with _temporary_params(estimator, {"callbacks": callbacks}):
        estimator.fit(X, label, **passed)


def fit_with_evaluation(
    estimator: Any,
    X: Any,
    label: NDArray[Any],
    passed: dict[str, Any],
    sets: Sequence[EvaluationRows],
    metric: LibraryMetric,
) -> int:
    """Fit an estimator of a boosting library, which stops by the metric if its parameters say so.

    Parameters
    ----------
    estimator : estimator
        A ranker or regressor of LightGBM, XGBoost or CatBoost.
    X, label : array-like
        The training rows.
    passed : dict
        Other arguments of fit.
    sets : sequence of EvaluationRows
        The evaluation sets.
    metric : LibraryMetric
        The metric on these sets.

    Returns
    -------
    int
        The number of iterations that predictions use.
    """
    library = boosting_library(estimator)
    if library == "lightgbm":
        return _fit_lightgbm(estimator, X, label, passed, sets, metric)
    if library == "xgboost":
        return _fit_xgboost(estimator, X, label, passed, sets, metric)
    return _fit_catboost(estimator, X, label, passed, sets, metric)


def _fit_lightgbm(
    estimator: Any, X: Any, label: Any, passed: Any, sets: Any, metric: LibraryMetric
) -> int:
    """Fit an estimator of LightGBM; see `fit_with_evaluation`."""
    parameters = inspect.signature(estimator.fit).parameters
    options = dict(passed)
    # Newer versions of LightGBM have two arguments for the evaluation sets.
    if "eval_X" in parameters:
        options["eval_X"] = tuple(rows.X for rows in sets)
        options["eval_y"] = tuple(rows.label for rows in sets)
    else:
        options["eval_set"] = [(rows.X, rows.label) for rows in sets]
    is_ranker = "eval_group" in parameters
    if is_ranker:
        options["eval_group"] = [np.bincount(rows.query) for rows in sets]
    offsets = [rows.offset for rows in sets]
    if any(offset is not None for offset in offsets):
        options["eval_init_score"] = offsets
    # Training would also stop by the default metric of the objective.
    estimator.set_params(metric="None")
    estimator.fit(X, label, eval_metric=metric, **options)
    best_iteration = int(estimator.best_iteration_)
    if best_iteration > 0:
        return best_iteration
    # Without early stopping, there is no best iteration: predictions use all.
    return int(estimator.booster_.current_iteration())


def _fit_xgboost(
    estimator: Any, X: Any, label: Any, passed: Any, sets: Any, metric: LibraryMetric
) -> int:
    """Fit an estimator of XGBoost; see `fit_with_evaluation`.

    XGBoost gets no evaluation sets: it would stop the training at the minimum of the metric, also
    if higher is better. Instead, callbacks evaluate the metric on these sets, and stop the training.
    """
    import xgboost

    matrices = []
    for rows in sets:
        matrix = xgboost.DMatrix(
            rows.X, missing=estimator.missing, enable_categorical=True, base_margin=rows.offset
        )
        matrices.append(matrix)
    callbacks = _xgboost_callbacks(estimator, metric, matrices)
    # These replace the estimator's own early stopping during the fit.
    params = {"callbacks": callbacks, "early_stopping_rounds": None}
    options = {"verbose": False, **passed}
    with _temporary_params(estimator, params):
        estimator.fit(X, label, **options)
    booster = estimator.get_booster()
    best_iteration = booster.attr("best_iteration")  # text, counted from 0
    if best_iteration is None:
        return int(booster.num_boosted_rounds())
    return int(best_iteration) + 1


def _xgboost_callbacks(estimator: Any, metric: LibraryMetric, matrices: Sequence[Any]) -> list[Any]:
    """Return the callbacks for a fit of XGBoost that is evaluated on `matrices`.

    They are one that forgets the best iteration of an earlier model, if fit continues its training;
    those of the estimator that do not stop the training; and one that evaluates the metric and then
    calls those that stop.
    """
    import xgboost

    callbacks = [_continuation_callback()]
    for callback in estimator.callbacks or ():
        is_stopping = isinstance(callback, xgboost.callback.EarlyStopping)
        if not is_stopping:
            callbacks.append(callback)
    stopping = _stopping_callbacks(estimator, metric)
    callbacks.append(_evaluation_callback(metric, matrices, stopping))
    return callbacks


def _stopping_callbacks(estimator: Any, metric: LibraryMetric) -> list[Any]:
    """Return the callbacks that stop the training of an estimator of XGBoost.

    They are those among its callbacks, and one for its parameter ``early_stopping_rounds``.
    """
    import xgboost

    stopping = []
    for callback in estimator.callbacks or ():
        if isinstance(callback, xgboost.callback.EarlyStopping):
            if callback.maximize is None:
                callback.maximize = metric.maximize
            stopping.append(callback)
    rounds = estimator.early_stopping_rounds
    if rounds:
        stopping.append(metric.early_stopping(rounds))
    return stopping


def _fit_catboost(
    estimator: Any, X: Any, label: Any, passed: Any, sets: Any, metric: LibraryMetric
) -> int:
    """Fit an estimator of CatBoost; see `fit_with_evaluation`."""
    from catboost import Pool  # type: ignore[import-untyped]

    # Pools need the kinds of columns, which are arguments of fit or parameters of the estimator.
    params = estimator.get_params()
    columns = {}
    for kind in ("cat_features", "text_features", "embedding_features"):
        columns[kind] = passed.get(kind, params.get(kind))
    is_ranker = query_parameter(estimator) is not None
    pools = []
    for rows in sets:
        queries = None
        if is_ranker:
            queries = rows.query
        pool = Pool(rows.X, rows.label, group_id=queries, baseline=rows.offset, **columns)
        pools.append(pool)
    eval_set: Any = pools
    if len(pools) == 1:
        eval_set = pools[0]  # a list is for several sets
    estimator.set_params(eval_metric=metric)
    estimator.fit(X, label, eval_set=eval_set, **passed)
    return int(estimator.tree_count_)


def _append_to_log(log: Any, set_name: str, metric_name: str, value: float) -> None:
    """Append a value to the log of XGBoost: the values of all iterations by set, then by metric."""
    if set_name not in log:
        log[set_name] = {}
    values_by_metric = log[set_name]
    if metric_name not in values_by_metric:
        values_by_metric[metric_name] = []
    values_by_metric[metric_name].append(value)


def _evaluation_callback(
    metric: LibraryMetric, matrices: Sequence[Any], stopping: Sequence[Any]
) -> Any:
    """Create a callback of XGBoost that evaluates the metric, and lets others stop by its values.

    XGBoost's estimators themselves evaluate a metric query by query. The callback also calls the
    stopping ones, as XGBoost before 3.0 calls callbacks in any order, and these need the values.

    Parameters
    ----------
    metric : LibraryMetric
        The metric.
    matrices : sequence of DMatrix
        The evaluation sets.
    stopping : sequence of EarlyStopping
        The callbacks that stop the training.
    """
    # A class within the function, as the module must not import XGBoost, which is optional.
    import xgboost

    class Evaluate(xgboost.callback.TrainingCallback):
        """Evaluates the metric, then passes the calls of XGBoost on to the callbacks `stopping`."""

        def before_training(self, model: Any) -> Any:
            """Return the model as the stopping callbacks prepare it for the training."""
            for callback in stopping:
                model = callback.before_training(model)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            """Add the values of the iteration to XGBoost's log; return whether training stops.

            `metric`, `matrices` and `stopping` are the parameters of `_evaluation_callback`.
            """
            for index, matrix in enumerate(matrices):
                value = metric.evaluate_set(model.predict(matrix), index)
                _append_to_log(evals_log, f"validation_{index}", metric.name, value)
            # All are called, also after one that stops, as they keep the best values.
            stops = [callback.after_iteration(model, epoch, evals_log) for callback in stopping]
            return any(stops)

        def after_training(self, model: Any) -> Any:
            """Return the model as the callbacks `stopping` leave it after the training.

            `stopping` is the parameter of `_evaluation_callback`. Such a callback may return the
            model of the best iteration.
            """
            for callback in stopping:
                model = callback.after_training(model)
            return model

    return Evaluate()


def _continuation_callback() -> Any:
    """Create a callback of XGBoost that makes a model forget its best iteration.

    If training continues, XGBoost would predict with that iteration of the earlier model.
    """
    import xgboost

    class Continue(xgboost.callback.TrainingCallback):
        def before_training(self, model: Any) -> Any:
            """Return the model without the attributes of its best iteration."""
            model.set_attr(best_iteration=None, best_score=None)
            return model

    return Continue()


@contextmanager
def _temporary_params(estimator: Any, params: dict[str, Any]) -> Iterator[None]:
    """Set parameters of an estimator for the duration of a fit."""
    params_before = {name: getattr(estimator, name) for name in params}
    estimator.set_params(**params)
    try:
        yield
    finally:
        estimator.set_params(**params_before)
