"""Early stopping is that of the libraries: their parameters, defaults and names, and the model that they keep."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from test_early_stopping import (
    CAM,
    LABELS,
    LIBRARIES,
    QID,
    TRAIN,
    X,
    Y,
    catboost,
    lightgbm,
    xgboost,
)

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

HELD = (X[~TRAIN], LABELS[~TRAIN])
pytestmark = pytest.mark.filterwarnings("ignore:Found '.*' in params. Will use it instead")


def fit(estimator: Any, target: Any = CAM, **options: Any) -> Any:
    ranker = ma.AspectRanker(estimator, target=target, measure=CAM)
    return ranker.fit(X[TRAIN], LABELS[TRAIN], **{"eval_set": [HELD], **options})


def values_of(ranker: Any) -> list[float]:
    ((values,),) = (list(by_measure.values()) for by_measure in ranker.evals_result_.values())
    return list(values)


def score_held(ranker: Any) -> float:
    return ma.ranking_score(LABELS[~TRAIN], ranker.predict(X[~TRAIN]), measure=CAM)


def best_with(values: list[float], delta: float, patience: int) -> tuple[int, int]:
    """Return the best iteration, from 0, and the number of iterations with early stopping.

    An iteration is better if it exceeds the best one by more than delta, and training stops when
    none is for as many iterations as `patience`.
    """
    best = 0
    for iteration, value in enumerate(values):
        if value > values[best] + delta:
            best = iteration
        elif iteration - best >= patience:
            return best, iteration + 1
    return best, len(values)


# -- off, unless it is asked for
# -----------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [0, None])
@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_stopping_that_is_off_trains_all_iterations(make: Any, rounds: Any) -> None:
    """LightGBM's 0 trained one tree; without a number, training stopped after 50 iterations."""
    name = "early_stopping_round" if make is lightgbm else "early_stopping_rounds"
    ranker = fit(make(**{name: rounds}, n_estimators=120))
    assert ranker.best_iteration_ == len(values_of(ranker)) == 120
    assert score_held(ranker) == pytest.approx(values_of(ranker)[-1], abs=1e-9)
    plain = ma.AspectRanker(make(**{name: rounds}, n_estimators=120), target=CAM).fit(
        X[TRAIN], LABELS[TRAIN]
    )
    assert (ranker.predict(X) == plain.predict(X)).all()


def test_catboost_keeps_the_best_of_all_iterations_by_default() -> None:
    ranker = fit(catboost(early_stopping_rounds=None, iterations=120))
    values = values_of(ranker)
    assert len(values) == 120
    assert ranker.best_iteration_ == int(np.argmax(values)) + 1 < 120
    assert score_held(ranker) == pytest.approx(max(values), abs=1e-9)


# -- the libraries' parameters
# -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["early_stopping_round", "early_stopping", "n_iter_no_change"])
def test_lightgbm_knows_the_number_by_several_names(name: str) -> None:
    booster = lightgbm()
    params = booster.get_params()
    del params["early_stopping_round"]
    ranker = fit(type(booster)(**params, **{name: 6}))
    values = values_of(ranker)
    best, n_iterations = best_with(values, delta=0, patience=6)
    assert ranker.best_iteration_ == best + 1
    assert len(values) == n_iterations
    assert n_iterations < 40  # the number of estimators


@pytest.mark.parametrize("delta", [0.02, 0.05])
def test_lightgbm_counts_improvements_above_its_min_delta(delta: float) -> None:
    booster = {"early_stopping_round": None, "n_estimators": 40}
    every = values_of(fit(lightgbm(**booster)))
    ranker = fit(lightgbm(early_stopping_round=5, early_stopping_min_delta=delta))
    best, number = best_with(every, delta, 5)
    assert values_of(ranker) == every[:number]
    assert ranker.best_iteration_ == best + 1
    assert (best, number) != best_with(every, 0, 5)
    assert score_held(ranker) == pytest.approx(every[best], abs=1e-9)


def test_lightgbm_takes_callbacks_of_its_own() -> None:
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    without_stopping = fit(lightgbm(early_stopping_round=None))
    stop = library.early_stopping(5, min_delta=0.02, verbose=False)
    ranker = fit(lightgbm(early_stopping_round=None), callbacks=[stop])
    best, n_iterations = best_with(values_of(without_stopping), delta=0.02, patience=5)
    assert ranker.best_iteration_ == best + 1
    assert len(values_of(ranker)) == n_iterations


@pytest.mark.parametrize("measure", [CAM, ma.ESL(wanted=1)], ids=str)
@pytest.mark.parametrize("save_best", [False, True])
def test_xgboost_takes_callbacks_of_its_own(save_best: bool, measure: Any) -> None:
    """XGBoost minimises a metric whose name it does not know, unless told otherwise."""
    library = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    stop = library.callback.EarlyStopping(rounds=5, min_delta=0.001, save_best=save_best)
    booster = xgboost(early_stopping_rounds=None, callbacks=[stop], n_estimators=60)
    ranker = ma.AspectRanker(booster, target=CAM, measure=measure)
    ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[HELD])
    values = values_of(ranker)
    higher_is_better = values
    if measure.lower_is_better:
        higher_is_better = [-value for value in values]
    best, n_iterations = best_with(higher_is_better, delta=0.001, patience=5)
    assert ranker.best_iteration_ == best + 1
    assert len(values) == n_iterations
    score = ma.ranking_score(LABELS[~TRAIN], ranker.predict(X[~TRAIN]), measure=measure)
    assert score == pytest.approx(values[best], abs=1e-6)
    # The model ends with its best iteration if it is saved so.
    n_trained = ranker.estimator_.get_booster().num_boosted_rounds()
    assert n_trained == (best + 1 if save_best else n_iterations)
    # The fitted model has the callback alone, and the callback that was given is not changed.
    assert len(ranker.estimator_.callbacks) == 1
    assert stop.maximize is None


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
def test_xgboost_prints_nothing(kind: str, capsys: Any) -> None:
    fit(xgboost(kind))
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore:Overfitting detector")
def test_catboost_stops_by_its_overfitting_detector() -> None:
    """With a detector other than a number of iterations, AspectRanker trains what CatBoost alone does."""
    library = pytest.importorskip("catboost", reason="CatBoost is not installed")
    detector = {"od_type": "IncToDec", "od_pval": 0.05, "od_wait": 3}
    settings = {"early_stopping_rounds": None, "iterations": 200, **detector}
    ranker = fit(catboost(**settings))

    labels, params = ma.aggregate_labels(LABELS[TRAIN], CAM, "catboost")
    labels_of_held, _ = ma.aggregate_labels(LABELS[~TRAIN], CAM, "catboost")
    metric = ma.metric_for("catboost", CAM, LABELS[~TRAIN])
    number_of_query, _ = pd.factorize(QID)
    held = library.Pool(X[~TRAIN], labels_of_held, group_id=number_of_query[~TRAIN])
    by_catboost = catboost(**settings, eval_metric=metric, **params)
    by_catboost.fit(X[TRAIN], labels, group_id=number_of_query[TRAIN], eval_set=held)

    (values,) = metric.history
    assert values_of(ranker) == values
    assert len(values) < 200
    assert (ranker.predict(X) == by_catboost.predict(X)).all()


@pytest.mark.parametrize(
    ("params", "n_trees"),
    [
        ({"use_best_model": False}, "all"),
        ({"best_model_min_trees": 30}, 30),
        ({"use_best_model": True}, "best"),
    ],
    ids=str,
)
def test_the_iterations_of_catboost_are_those_that_predict(
    params: dict[str, Any], n_trees: Any
) -> None:
    ranker = fit(catboost(early_stopping_rounds=None, **params))
    values = values_of(ranker)
    best = int(np.argmax(values)) + 1
    expected = {"all": len(values), "best": best}.get(n_trees, n_trees)
    assert ranker.best_iteration_ == ranker.estimator_.tree_count_ == expected
    assert score_held(ranker) == pytest.approx(values[ranker.best_iteration_ - 1], abs=1e-9)


@pytest.mark.parametrize("make", LIBRARIES)
def test_the_last_set_stops_alone(make: Any) -> None:
    """LightGBM itself stops by any set."""
    constant = (X[TRAIN][:8] * 0, LABELS[TRAIN][:8])
    alone, beside = fit(make()), fit(make(), eval_set=[constant, HELD])
    assert list(beside.evals_result_) == ["valid_0", "valid_1"]
    assert beside.evals_result_["valid_1"] == alone.evals_result_["valid_0"]
    assert beside.best_iteration_ == alone.best_iteration_
    (watched,) = beside.evals_result_["valid_0"].values()
    assert len(watched) == len(values_of(alone))


# -- continued training
# --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("stops", [True, False])
def test_xgboost_continues_a_model(kind: str, stops: bool) -> None:
    """Its best iteration was counted without the iterations of the earlier model."""
    earlier = fit(xgboost(kind, learning_rate=0.05, early_stopping_rounds=3)).estimator_
    n_old = earlier.get_booster().num_boosted_rounds()
    rounds = 6 if stops else None
    ranker = fit(xgboost(kind, early_stopping_rounds=rounds), xgb_model=earlier.get_booster())
    values = values_of(ranker)
    best = int(np.argmax(values)) if stops else len(values) - 1
    assert ranker.best_iteration_ == n_old + best + 1
    assert score_held(ranker) == pytest.approx(values[best], abs=1e-6)


def test_xgboost_continues_a_model_without_an_evaluation_set() -> None:
    """It predicts with the best iteration of the earlier model, so that later ones have no effect."""
    earlier = fit(xgboost(early_stopping_rounds=3)).estimator_.get_booster()
    ranker = ma.AspectRanker(xgboost(early_stopping_rounds=None, n_estimators=5), target=CAM)
    ranker.fit(X[TRAIN], LABELS[TRAIN], xgb_model=earlier)
    booster = ranker.estimator_.get_booster()
    assert booster.num_boosted_rounds() == earlier.num_boosted_rounds() + 5
    rows = pytest.importorskip("xgboost").DMatrix(X)
    assert ranker.predict(X) == pytest.approx(booster.predict(rows))
    assert int(earlier.attr("best_iteration")) >= 0  # the earlier model is not changed


@pytest.mark.parametrize("stops", [True, False])
def test_lightgbm_continues_a_model(stops: bool) -> None:
    earlier = fit(lightgbm(learning_rate=0.05)).estimator_
    n_old = earlier.booster_.current_iteration()
    ranker = fit(lightgbm(early_stopping_round=6 if stops else 0), init_model=earlier)
    values = values_of(ranker)
    best = int(np.argmax(values)) if stops else len(values) - 1
    assert ranker.best_iteration_ == n_old + best + 1
    assert score_held(ranker) == pytest.approx(values[best], abs=1e-9)


def test_catboost_continues_a_model() -> None:
    earlier = fit(catboost(learning_rate=0.05)).estimator_
    ranker = fit(catboost(early_stopping_rounds=6), init_model=earlier)
    values = values_of(ranker)
    best = int(np.argmax(values))
    assert ranker.best_iteration_ == ranker.estimator_.tree_count_ == earlier.tree_count_ + best + 1
    assert score_held(ranker) == pytest.approx(values[best], abs=1e-9)


# -- what cannot stop
# ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [Ridge(), HistGradientBoostingRegressor(early_stopping=True)], ids=str
)
def test_estimators_without_evaluation_sets_are_refused(estimator: Any) -> None:
    name = type(estimator).__name__
    with pytest.raises(
        MultiAspectError, match=f"{name} accepts no evaluation set; leave out eval_set"
    ):
        fit(estimator)


def test_random_forests_of_xgboost_are_refused() -> None:
    library = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    with pytest.raises(
        MultiAspectError, match=r"XGBRFRegressor trains a single iteration.*leave out eval_set"
    ):
        fit(library.XGBRFRegressor(n_estimators=3))


@pytest.mark.filterwarnings("ignore:.*`booster=(gblinear|dart)` is deprecated")
@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize(
    ("make", "params", "patience_name"),
    [
        (xgboost, {"booster": "gblinear", "max_depth": None}, "early_stopping_rounds"),
        (xgboost, {"booster": "dart"}, "early_stopping_rounds"),
        (lightgbm, {"boosting_type": "dart"}, "early_stopping_round"),
        (lightgbm, {"boosting": "dart"}, "early_stopping_round"),
        (lightgbm, {"boost": "dart"}, "early_stopping_round"),
    ],
    ids=["gblinear", "dart of XGBoost", "dart", "dart as boosting", "dart as boost"],
)
def test_models_that_later_iterations_change_do_not_stop(
    make: Any, params: dict[str, Any], patience_name: str, kind: str
) -> None:
    """The coefficients of gblinear, and dart's weights of earlier trees: the best model is lost.

    Without early stopping, the model of the last iteration is kept.
    """
    remedy = r"leave out early_stopping_rounds?, or choose another boost"
    with pytest.raises(
        MultiAspectError, match=f"best iteration is lost when training stops; {remedy}"
    ):
        fit(make(kind, **params))
    ranker = fit(make(kind, **params, **{patience_name: None}, n_estimators=10))
    assert ranker.best_iteration_ == 10
    values = values_of(ranker)
    assert len(values) == 10
    assert score_held(ranker) == pytest.approx(values[-1], abs=1e-6)


# -- names of parameters and values
# --------------------------------------------------------------------


def learn(target: Any = CAM, **params: Any) -> Any:
    """A ranker of LightGBM, without an evaluation set."""
    ranker = ma.AspectRanker(lightgbm(early_stopping_round=None, **params), target=target)
    return ranker.fit(X[TRAIN], LABELS[TRAIN])


@pytest.mark.parametrize("name", ["objective", "objective_type", "app", "application", "loss"])
@pytest.mark.parametrize("value", ["xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart", "XENDCG"])
def test_names_of_an_objective_of_lightgbm(name: str, value: str) -> None:
    """Its labels were gains instead of levels, of which it learns nothing."""
    expected = learn(objective="rank_xendcg")
    ranker = learn(**{name: value})
    assert (ranker.predict(X) == expected.predict(X)).all()


@pytest.mark.parametrize(
    "params", [{"objective": "LambdaRank"}, {"loss": "lambdarank"}, {"objective": None}], ids=str
)
def test_names_of_lambdarank_set_its_gains(params: dict[str, Any]) -> None:
    expected = learn()
    ranker = learn(**params)
    assert (
        ranker.estimator_.get_params()["label_gain"]
        == expected.estimator_.get_params()["label_gain"]
    )
    assert (ranker.predict(X) == expected.predict(X)).all()


def test_other_objectives_of_lightgbm_learn_the_gains() -> None:
    def difference(labels: Any, scores: Any) -> Any:
        return scores - labels, np.ones(len(labels))

    for objective in ("regression", "l2", "mse"):
        ranker = learn(objective=objective, target="credibility")
        alone = lightgbm(early_stopping_round=0, objective=objective).fit(
            X[TRAIN], Y["credibility"][TRAIN], group=[8] * 25
        )
        assert (ranker.predict(X) == alone.predict(X)).all()
    ranker = learn(objective=difference, target="credibility")
    alone = lightgbm(early_stopping_round=0, objective=difference).fit(
        X[TRAIN], Y["credibility"][TRAIN], group=[8] * 25
    )
    assert (ranker.predict(X) == alone.predict(X)).all()
    with pytest.raises(Exception, match="Unknown objective"):
        learn(objective="nonsense")


@pytest.mark.parametrize("name", ["metric", "metrics", "metric_types"])
def test_other_metrics_of_lightgbm_do_not_stop(name: str) -> None:
    expected = fit(lightgbm())
    ranker = fit(lightgbm(**{name: "ndcg"}))
    assert ranker.evals_result_ == expected.evals_result_
    assert ranker.best_iteration_ == expected.best_iteration_


@pytest.mark.parametrize(
    ("make", "default", "name"),
    [
        (lightgbm, "random_state", "seed"),
        (lightgbm, "random_state", "random_seed"),
        (xgboost, "random_state", "seed"),
        (catboost, "random_seed", "random_state"),
    ],
)
@pytest.mark.parametrize("seed", [3, 4])
def test_names_of_the_seed_choose_the_queries_that_are_held_out(
    make: Any, default: str, name: str, seed: int
) -> None:
    """The libraries know the seed by several names; any of them chooses a fourth of the 40 queries."""
    booster = make(**{default: None, name: seed})
    ranker = ma.AspectRanker(booster, target="relevance", measure=CAM)
    ranker.fit(X, LABELS, eval_fraction=0.25)
    number_of_query, _ = pd.factorize(QID)
    held_queries = np.random.default_rng(seed).permutation(40)[:10]
    is_held = np.isin(number_of_query, held_queries)
    value = ma.ranking_score(LABELS[is_held], ranker.predict(X[is_held]), measure=CAM)
    best_value = values_of(ranker)[ranker.best_iteration_ - 1]
    assert value == pytest.approx(best_value, abs=1e-6)


# -- files
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def numba(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for Numba, by which CatBoost replaces methods of a metric."""

    def jit(*args: Any, **options: Any) -> Any:
        return lambda function: function

    errors = types.SimpleNamespace(NumbaError=ValueError)
    module: Any = types.ModuleType("numba")
    module.jit = module.njit = jit
    module.core = types.SimpleNamespace(errors=errors)
    monkeypatch.setitem(sys.modules, "numba", module)


@pytest.mark.usefixtures("numba")
def test_catboost_is_pickled_where_numba_is_installed() -> None:
    """CatBoost replaced a method of the metric by a local function."""
    ranker = fit(catboost())
    again = pickle.loads(pickle.dumps(ranker))
    assert (again.predict(X) == ranker.predict(X)).all()
    metric = ma.metric_for("catboost", CAM, LABELS[~TRAIN])
    library = pytest.importorskip("catboost", reason="CatBoost is not installed")
    codes = pd.factorize(QID)[0]
    pool = library.Pool(X[~TRAIN], Y["relevance"][~TRAIN], group_id=codes[~TRAIN])
    model = catboost(eval_metric=metric).fit(
        X[TRAIN], Y["relevance"][TRAIN], group_id=codes[TRAIN], eval_set=pool
    )
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()


@pytest.mark.slow
def test_fitted_folds_come_back_from_other_processes() -> None:
    ranker = ma.AspectRanker(catboost(), target="scaled sum", measure=CAM)
    options = {"cv": GroupKFold(2), "return_estimator": True, "error_score": "raise", "groups": QID}
    one, two = (
        cross_validate(ranker, X, LABELS, params={"eval_fraction": 0.2}, n_jobs=jobs, **options)
        for jobs in (1, 2)
    )
    assert (one["test_score"] == two["test_score"]).all()
    for alone, parallel in zip(one["estimator"], two["estimator"], strict=True):
        assert (alone.predict(X) == parallel.predict(X)).all()
