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
    "callbacks", "cat_features", "categorical_feature", "embedding_features", "text_features", "init_model",
    "xgb_model",
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
    """Warn about a fitted classifier, as most rows of a query have the same predicted class."""
    classes = getattr(last_step(model), "classes_", None)
    if classes is not None and len(classes):
        name = type(last_step(model)).__name__
        warn_once(
            f"{name} is a classifier, whose few distinct predictions rank with many ties: take a "
            f"ranker or a regressor{remedy}",
            key=f"{name} predicts classes",
        )


def query_parameter(estimator: Any) -> str | None:
    """Return the parameter of fit for queries: group sizes, or one id per row."""
    parameters = inspect.signature(last_step(estimator).fit).parameters
    return next((name for name in ("qid", "group_id", "group") if name in parameters), None)


def boosting_library(estimator: Any) -> str | None:
    """Return the boosting library of an estimator, or None."""
    modules = {cls.__module__.partition(".")[0] for cls in type(estimator).__mro__}
    return next((name for name in LIBRARIES if name in modules), None)


def library_parameter(estimator: Any, name: str) -> Any:
    """Return the value of a parameter, which LightGBM knows by several names, or None."""
    params = estimator.get_params()
    names = [name]
    if boosting_library(estimator) == "lightgbm":
        from lightgbm.basic import _ConfigAliases

        names = _ConfigAliases.get_sorted(name)
    values = [params[alias] for alias in names if params.get(alias) is not None]
    if values:
        return values[0]
    return None


# -- labels
# ------------------------------------------------------------------------------------------


def objective_labels(estimator: Any, gains: list[Floats]) -> list[NDArray[Any]]:
    """Return gains as labels for the objective of a learner, after setting its parameters."""
    library = boosting_library(estimator)
    if query_parameter(estimator) is None:
        return list(gains)
    if library == "xgboost":
        if library_parameter(estimator, "ndcg_exp_gain"):
            raise MultiAspectError(
                "ndcg_exp_gain=True would learn the gains 2^gain - 1; leave it unset, or choose a "
                "target with these gains, as in TOMA(weighting='exponential')"
            )
        estimator.set_params(ndcg_exp_gain=False)
    if library != "lightgbm":
        return list(gains)
    if library_parameter(estimator, "label_gain") is not None:
        raise MultiAspectError(
            "label_gain: AspectRanker sets the gains that the target sums; leave it unset, or "
            "choose a target with other gains, as in TOMA(weighting='exponential')"
        )
    objective = _lightgbm_objective(estimator)
    if objective not in ("lambdarank", "rank_xendcg"):
        return list(gains)
    # The objective rank_xendcg supports only the gains 2^level - 1, so it gets levels of the gains.
    codes, level_gains = gain_levels(
        np.concatenate(gains), None if objective == "lambdarank" else MOST_LEVELS
    )
    if objective == "lambdarank":
        estimator.set_params(label_gain=level_gains)
    return np.split(codes.astype(np.int64), np.cumsum([len(part) for part in gains])[:-1])


def _lightgbm_objective(estimator: Any) -> str | None:
    """Return the name of the objective of a ranker in LightGBM's models, or None if it is a function."""
    import lightgbm

    objective = _given_objective(estimator)
    if objective in ("lambdarank", "rank_xendcg"):
        return str(objective)
    if not isinstance(objective, str):
        return None
    # Names of objectives have aliases, which only LightGBM's parser knows.
    rows = lightgbm.Dataset(np.zeros((2, 1)), label=[0, 1], group=[2])
    try:
        booster = lightgbm.Booster(
            {"objective": objective, "num_threads": 1, "verbosity": -1}, rows
        )
    except lightgbm.basic.LightGBMError:
        return None  # raised again by fit, with all parameters
    return str(booster.dump_model()["objective"]).partition(" ")[0]


def _given_objective(estimator: Any) -> Any:
    """Return the objective of a ranker of LightGBM, whose aliases have precedence over the name itself."""
    from lightgbm.basic import _ConfigAliases

    params = estimator.get_params()
    objective = params["objective"] or "lambdarank"
    for alias in _ConfigAliases.get("objective") - {"objective"}:
        objective = params.get(alias, objective)
    return objective


# -- fitting
# -----------------------------------------------------------------------------------------


def check_evaluation(estimator: Any) -> None:
    """Raise an error if an estimator accepts no evaluation set, or would lose the best iteration when it stops."""
    name, library = type(estimator).__name__, boosting_library(estimator)
    if library is None:
        raise MultiAspectError(
            f"{name} accepts no evaluation set; leave out eval_set and eval_fraction"
        )
    if _is_single_iteration(estimator):
        raise MultiAspectError(
            f"{name} trains a single iteration, so that it cannot stop early; leave out eval_set "
            "and eval_fraction"
        )
    rounds = "early_stopping_round" if library == "lightgbm" else "early_stopping_rounds"
    parameter = "boosting" if library == "lightgbm" else "booster"
    booster = library_parameter(estimator, parameter)
    if booster in ("dart", "gblinear") and library_parameter(estimator, rounds):
        raise MultiAspectError(
            f"{name}: later iterations of {booster!r} change earlier ones, so that the best "
            "iteration is lost when "
            f"training stops; leave out {rounds}, or choose another {parameter}"
        )


def _is_single_iteration(estimator: Any) -> bool:
    """Return whether an estimator is a random forest of XGBoost."""
    if boosting_library(estimator) != "xgboost":
        return False
    import xgboost

    return isinstance(estimator, xgboost.XGBRFRegressor | xgboost.XGBRFClassifier)


def fit_estimator(estimator: Any, X: Any, label: NDArray[Any], passed: dict[str, Any]) -> None:
    """Fit an estimator without an evaluation set."""
    try:
        if passed.get("xgb_model") is None or _is_single_iteration(estimator):
            estimator.fit(X, label, **passed)
        else:
            callbacks = [_continuation_callback(), *(estimator.callbacks or ())]
            with _temporary_params(estimator, {"callbacks": callbacks}):
                estimator.fit(X, label, **passed)
    except ValueError as error:
        if boosting_library(estimator) is None or "early stopping" not in str(error).lower():
            raise
        raise MultiAspectError(
            f"{type(estimator).__name__}: expected an evaluation set, as it stops early, got none; "
            "pass eval_fraction=0.2 to hold out queries, or eval_set"
        ) from None


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
    parameters = inspect.signature(estimator.fit).parameters
    options = dict(passed)
    if "eval_X" in parameters:
        options["eval_X"] = tuple(rows.X for rows in sets)
        options["eval_y"] = tuple(rows.label for rows in sets)
    else:
        options["eval_set"] = [(rows.X, rows.label) for rows in sets]
    if "eval_group" in parameters:
        options["eval_group"] = [np.bincount(rows.query) for rows in sets]
    if any(rows.offset is not None for rows in sets):
        options["eval_init_score"] = [rows.offset for rows in sets]
    estimator.set_params(metric="None")
    estimator.fit(X, label, eval_metric=metric, **options)
    return int(estimator.best_iteration_) or int(estimator.booster_.current_iteration())


def _fit_xgboost(
    estimator: Any, X: Any, label: Any, passed: Any, sets: Any, metric: LibraryMetric
) -> int:
    import xgboost

    matrices = []
    for rows in sets:
        options = {
            "missing": estimator.missing,
            "enable_categorical": True,
            "base_margin": rows.offset,
        }
        matrices.append(xgboost.DMatrix(rows.X, **options))
    callbacks, stopping = [_continuation_callback()], []
    for callback in estimator.callbacks or ():
        if not isinstance(callback, xgboost.callback.EarlyStopping):
            callbacks.append(callback)
            continue
        if callback.maximize is None:
            callback.maximize = metric.maximize
        stopping.append(callback)
    if estimator.early_stopping_rounds:
        stopping.append(metric.early_stopping(estimator.early_stopping_rounds))
    callbacks.append(_evaluation_callback(metric, matrices, stopping))
    # XGBoost would stop by the minimum, and print the log of regressors.
    params = {"callbacks": callbacks, "early_stopping_rounds": None}
    with _temporary_params(estimator, params):
        estimator.fit(X, label, **{"verbose": False, **passed})
    booster = estimator.get_booster()
    best = booster.attr("best_iteration")
    return int(booster.num_boosted_rounds() if best is None else int(best) + 1)


def _fit_catboost(
    estimator: Any, X: Any, label: Any, passed: Any, sets: Any, metric: LibraryMetric
) -> int:
    from catboost import Pool  # type: ignore[import-untyped]

    params = estimator.get_params()
    columns = {
        name: passed.get(name, params.get(name))
        for name in ("cat_features", "text_features", "embedding_features")
    }
    is_ranker = query_parameter(estimator) is not None
    pools = []
    for rows in sets:
        queries = rows.query if is_ranker else None
        pools.append(Pool(rows.X, rows.label, group_id=queries, baseline=rows.offset, **columns))
    estimator.set_params(eval_metric=metric)
    estimator.fit(X, label, eval_set=pools[0] if len(pools) == 1 else pools, **passed)
    return int(estimator.tree_count_)


def _evaluation_callback(
    metric: LibraryMetric, matrices: Sequence[Any], stopping: Sequence[Any]
) -> Any:
    """Create a callback of XGBoost that adds values of the metric to the log, and lets others stop by them.

    XGBoost's estimators themselves evaluate a metric query by query, and XGBoost before 3.0 calls
    callbacks in any order.

    Parameters
    ----------
    metric : LibraryMetric
        The metric.
    matrices : sequence of DMatrix
        The evaluation sets.
    stopping : sequence of EarlyStopping
        The callbacks that stop the training.
    """
    import xgboost

    class Evaluate(xgboost.callback.TrainingCallback):
        def before_training(self, model: Any) -> Any:
            for callback in stopping:
                model = callback.before_training(model)
            return model

        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            for index, matrix in enumerate(matrices):
                values = evals_log.setdefault(f"validation_{index}", {}).setdefault(metric.name, [])
                values.append(metric.evaluate_set(model.predict(matrix), index))
            is_done = False
            for callback in stopping:
                is_done |= callback.after_iteration(model, epoch, evals_log)
            return is_done

        def after_training(self, model: Any) -> Any:
            for callback in stopping:
                model = callback.after_training(model)
            return model

    return Evaluate()


def _continuation_callback() -> Any:
    """Create a callback of XGBoost that forgets the best iteration of a model whose training is continued.

    XGBoost would predict with that iteration of the earlier model.
    """
    import xgboost

    class Continue(xgboost.callback.TrainingCallback):
        def before_training(self, model: Any) -> Any:
            model.set_attr(best_iteration=None, best_score=None)
            return model

    return Continue()


@contextmanager
def _temporary_params(estimator: Any, params: dict[str, Any]) -> Iterator[None]:
    """Set parameters of an estimator for the duration of a fit."""
    before = {name: getattr(estimator, name) for name in params}
    estimator.set_params(**params)
    try:
        yield
    finally:
        estimator.set_params(**before)
