"""Boosters within AspectRanker: early stopping by the measure, what is remembered, copies and files."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, HalvingGridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from strategies import no_warnings

import pt_multiaspect as ma

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})
CAM = ma.CAM(aspects=ASPECTS) @ 5
RNG = np.random.default_rng(2)
N, QID = 320, np.repeat([f"q{number:02d}" for number in range(40)], 8)
X = RNG.normal(size=(N, 4))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + RNG.normal(size=N), [0, 1]),
        "credibility": np.digitize(X[:, 1] - X[:, 0] + RNG.normal(size=N), [-1, 0, 1]),
    }
)
LABELS = Y.set_axis(pd.Index(QID, name="qid"))
TRAIN = np.arange(N) < 200
PATIENCE = 4


def lightgbm(kind: str = "Ranker", **params: Any) -> Any:
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    fixed = {
        "n_estimators": 40,
        "num_leaves": 5,
        "min_child_samples": 5,
        "verbose": -1,
        "n_jobs": 1,
    }
    return getattr(library, f"LGBM{kind}")(
        **{**fixed, "random_state": 0, "early_stopping_round": PATIENCE, **params}
    )


def xgboost(kind: str = "Ranker", **params: Any) -> Any:
    library = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    fixed = {"n_estimators": 40, "max_depth": 3, "n_jobs": 1, "random_state": 0}
    estimator = getattr(library, f"XGB{kind}")(
        **{**fixed, "early_stopping_rounds": PATIENCE, **params}
    )
    try:
        get_tags(estimator)
    except AttributeError:
        pytest.skip("this XGBoost does not know the tags of this scikit-learn")
    return estimator


def catboost(kind: str = "Ranker", **params: Any) -> Any:
    library = pytest.importorskip("catboost", reason="CatBoost is not installed")
    fixed = {
        "iterations": 40,
        "depth": 3,
        "learning_rate": 0.3,
        "verbose": 0,
        "thread_count": 1,
        "random_seed": 0,
    }
    loss = {"loss_function": "QueryRMSE"} if kind == "Ranker" else {}
    return getattr(library, f"CatBoost{kind}")(
        **{
            **fixed,
            "allow_writing_files": False,
            "early_stopping_rounds": PATIENCE,
            **loss,
            **params,
        }
    )


LIBRARIES = [lightgbm, xgboost, catboost]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("kind", "measure"),
    [("Ranker", ma.ESL(wanted=1)), ("Regressor", CAM), ("Ranker", "nDCG@3")],
    ids=str,
)
@pytest.mark.parametrize("make", LIBRARIES)
def test_boosters_stop_by_the_measure(make: Any, kind: str, measure: Any) -> None:
    other = (X[~TRAIN][:40], Y[~TRAIN][:40], QID[~TRAIN][:40])
    ranker = ma.AspectRanker(make(kind), target=CAM, measure=measure)
    # The last set decides; rows of a query need not stand together.
    rows = np.flatnonzero(~TRAIN)[::-1].reshape(-1, 8).T.ravel()
    ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[other, (X[rows], Y.iloc[rows], QID[rows])])
    (first,), (values,) = (list(history.values()) for history in ranker.evals_result_.values())
    lower = isinstance(measure, ma.Measure) and measure.lower_is_better
    best = int(np.argmin(values) if lower else np.argmax(values))
    assert ranker.best_iteration_ == best + 1
    assert len(values) == len(first) == min(best + 1 + PATIENCE, 40)
    predicted = ranker.predict(X[rows])
    assert values[best] == pytest.approx(
        ma.ranking_score(Y.iloc[rows], predicted, qid=QID[rows], measure=measure), abs=1e-9
    )
    score = ranker.score(X[rows], Y.iloc[rows], qid=QID[rows])
    assert score == pytest.approx(-values[best] if lower else values[best], abs=1e-9)
    assert ranker.feature_importances_.shape == (4,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("columns", [list("dcba"), list("abce")])
def test_features_of_an_evaluation_set_are_those_of_fit(columns: list[str], library: str) -> None:
    # LightGBM read them by position.
    as_frame = pytest.importorskip(library).DataFrame
    features = pd.DataFrame(X, columns=list("abcd"))
    same = (as_frame(dict(features[~TRAIN])), Y[~TRAIN], QID[~TRAIN])
    wrong = (as_frame(dict(features[~TRAIN].set_axis(columns, axis=1))), *same[1:])
    message = r"eval_set\[1\]: X: expected the features of fit in the same order, a, b, c, d, got .* select them"
    ranker = ma.AspectRanker(lightgbm(n_estimators=3), aspects=ASPECTS)
    ranker.fit(as_frame(dict(features[TRAIN])), Y[TRAIN], qid=QID[TRAIN], eval_set=[same])
    with pytest.raises(ma.MultiAspectError, match=message):
        ranker.fit(
            as_frame(dict(features[TRAIN])), Y[TRAIN], qid=QID[TRAIN], eval_set=[same, wrong]
        )


@pytest.mark.every(3)
@pytest.mark.parametrize("make", LIBRARIES)
def test_a_ranker_of_one_aspect_stops_by_it(make: Any) -> None:
    for name in ASPECTS:
        ranker = ma.AspectRanker(make(), target=name, aspects=ASPECTS)
        alone = ma.AspectRanker(
            make(), ma.On(aspect=name, aspects=ma.Aspects({name: ASPECTS[name]}))
        )
        alone.fit(X[TRAIN], LABELS[TRAIN][[name]], eval_set=[(X[~TRAIN], LABELS[~TRAIN][[name]])])
        ((_, expected),) = alone.evals_result_["valid_0"].items()
        for y in (LABELS, LABELS.reset_index(), Y.to_numpy()):
            qid = None if isinstance(y, pd.DataFrame) else QID
            held = (X[~TRAIN], y[~TRAIN], None if qid is None else QID[~TRAIN])
            ranker.fit(X[TRAIN], y[TRAIN], qid=None if qid is None else QID[TRAIN], eval_set=[held])
            ((_, values),) = ranker.evals_result_["valid_0"].items()
            assert values == expected
            assert ranker.best_iteration_ == alone.best_iteration_ < 40


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_early_stopping_without_an_evaluation_set_names_the_remedy(make: Any, kind: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=r"(LGBM|XGB).*got none; pass eval_fraction"):
        ma.AspectRanker(make(kind), target=CAM).fit(X, LABELS)


@pytest.mark.every(3)
@pytest.mark.parametrize("make", LIBRARIES)
def test_every_fold_stops_on_queries_of_its_own(make: Any) -> None:
    ranker = ma.AspectRanker(make(), target="scaled sum", measure=CAM)
    plain = {"cv": GroupKFold(2), "return_estimator": True, "error_score": "raise"}
    fitted = cross_validate(ranker, X, LABELS, groups=QID, params={"eval_fraction": 0.2}, **plain)[
        "estimator"
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"qid": QID, "groups": QID, "eval_fraction": 0.2}
        routed = cross_validate(ranker, X, Y, params=params, **plain)["estimator"]
    for ranker, through_search in zip(fitted, routed, strict=True):
        assert ranker.evals_result_ == through_search.evals_result_
        assert (ranker.predict(X) == through_search.predict(X)).all()
    assert fitted[0].evals_result_ != fitted[1].evals_result_


@pytest.mark.slow
def test_whole_queries_are_held_out_by_the_seed_of_the_estimator() -> None:
    def fit_results(seed: Any) -> Any:
        ranker = ma.AspectRanker(lightgbm(random_state=seed, n_estimators=3), target=CAM)
        return ranker.fit(X, LABELS, eval_fraction=0.25).evals_result_

    assert fit_results(0) == fit_results(0) == fit_results(None)
    assert fit_results(0) != fit_results(1)


@pytest.mark.parametrize(
    ("fraction", "n_queries", "n_held"),
    [(0.25, 40, 10), (0.01, 40, 1), (0.99, 40, 39), (0.5, 2, 1)],
)
def test_the_fraction_of_the_queries_that_is_held_out(
    fraction: float, n_queries: int, n_held: int
) -> None:
    n_rows = []

    class Recording(type(lightgbm("Regressor"))):  # type: ignore[misc]
        @wraps(lightgbm("Regressor").fit)
        def fit(self, features: Any, *args: Any, **options: Any) -> Any:
            sets = options.get("eval_X") or [
                held for held, _ in options["eval_set"]
            ]  # of older versions
            n_rows.extend(map(len, (features, *sets)))
            return super().fit(features, *args, **options)

    booster = Recording(n_estimators=1, num_leaves=2, min_child_samples=1, verbose=-1, n_jobs=1)
    ma.AspectRanker(booster, target=CAM).fit(
        X[: 8 * n_queries], LABELS[: 8 * n_queries], eval_fraction=fraction
    )
    assert n_rows == [8 * (n_queries - n_held), 8 * n_held]


UNDECLARED = [ma.CAM(base="ERR"), ma.uRBPgr, ma.TOMA(aspects=["relevance", "credibility"]) @ 5]


@pytest.mark.parametrize("measure", UNDECLARED, ids=str)
@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_scores_have_the_scales_that_fit_inferred(measure: Any) -> None:
    # Each evaluated on its own scale: the best of evals_result_ was .847, and the score of the same
    # rows .865.
    lower = LABELS.clip(upper=1)
    held = (X[~TRAIN], lower[~TRAIN])
    ranker = ma.AspectRanker(lightgbm(), target="relevance", measure=measure)
    ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[held])
    ((values,),) = (list(by_measure.values()) for by_measure in ranker.evals_result_.values())
    assert ranker.score(*held) == pytest.approx(max(values), abs=1e-12)
    assert pickle.loads(pickle.dumps(ranker)).score(*held) == ranker.score(*held)
    declared = ma.AspectRanker(Ridge(), target=CAM, measure=measure(aspects=ASPECTS)).fit(
        X[TRAIN], LABELS[TRAIN]
    )
    inferred = ma.AspectRanker(Ridge(), target=CAM, measure=measure).fit(X[TRAIN], LABELS[TRAIN])
    assert inferred.score(*held) == declared.score(*held)


@pytest.mark.parametrize("measure", UNDECLARED, ids=str)
@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_a_grade_beyond_those_of_fit_extends_the_scale(measure: Any) -> None:
    ranker = ma.AspectRanker(Ridge(), target="relevance", measure=measure)
    ranker.fit(X[TRAIN], LABELS[TRAIN].clip(upper=1))
    held = (X[~TRAIN], LABELS[~TRAIN])
    with pytest.warns(
        ma.MultiAspectWarning,
        match=r"grades of .* inferred from these labels and those of fit, which",
    ) as caught:
        score = ranker.score(*held)
    assert sum("those of fit" in str(warning.message) for warning in caught) == 2  # of two aspects
    with pytest.warns(ma.MultiAspectWarning, match="those of fit"):
        assert ranker.score(*held) == score
    declared = ma.AspectRanker(Ridge(), target="relevance", measure=measure(aspects=ASPECTS))
    assert score == declared.fit(X[TRAIN], LABELS[TRAIN].clip(upper=1)).score(*held)
    # Fractions are the grades of both, also if rows have only some of them.
    halves = ma.AspectRanker(Ridge(), target="relevance", measure="uRBPgr(aspects=['relevance'])")
    halves.fit(X[TRAIN], LABELS[TRAIN] / 2)
    scored = halves.score(X[~TRAIN], LABELS[~TRAIN].where(LABELS[~TRAIN] != 1, 0) / 2)
    known = ma.uRBPgr(aspects={"relevance": ma.Aspect([0, 0.5, 1])})
    assert scored == ma.ranking_score(
        LABELS[~TRAIN].where(LABELS[~TRAIN] != 1, 0) / 2, halves.predict(X[~TRAIN]), measure=known
    )


@no_warnings()
def test_declared_scales_and_unused_columns_do_not_warn() -> None:
    other = LABELS.assign(noise=np.arange(N) % 2)
    for measure in (
        CAM,
        ma.CAM(aspects=["relevance"]),
        "nDCG@3",
        ma.On(aspect="credibility", aspects=ASPECTS) @ 3,
    ):
        ranker = ma.AspectRanker(Ridge(), target="relevance", measure=measure).fit(
            X[TRAIN], other[TRAIN]
        )
        ranker.score(X[~TRAIN], other[~TRAIN].assign(noise=7))
        # Lacking columns, and rows without the top grade.
        ranker.score(X[~TRAIN], LABELS[~TRAIN].clip(upper=1))
    partial = ma.AspectRanker(Ridge(), target="relevance", measure=CAM).fit(
        X[TRAIN], LABELS.loc[TRAIN, ["relevance"]]
    )
    partial.score(X[~TRAIN], LABELS[~TRAIN])


@pytest.mark.every(2)
@pytest.mark.parametrize("make", LIBRARIES)
def test_the_steps_of_a_pipeline_transform_the_evaluation_sets(make: Any) -> None:
    shifted = X * 100 + 7
    around = ma.AspectRanker(make_pipeline(StandardScaler(), make()), target=CAM)
    around.fit(shifted[TRAIN], LABELS[TRAIN], eval_set=(shifted[~TRAIN], LABELS[~TRAIN]))
    scale = StandardScaler().fit(shifted[TRAIN])
    alone = ma.AspectRanker(make(), target=CAM)
    alone.fit(
        scale.transform(shifted[TRAIN]),
        LABELS[TRAIN],
        eval_set=(scale.transform(shifted[~TRAIN]), LABELS[~TRAIN]),
    )
    assert around.evals_result_ == alone.evals_result_
    assert (around.predict(shifted) == alone.predict(scale.transform(shifted))).all()


def test_lightgbm_is_called_as_it_asks_to_be() -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*eval_set.*")
        ma.AspectRanker(lightgbm(), target=CAM).fit(X, LABELS, eval_fraction=0.25)


def test_categorical_features_of_catboost() -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        site=np.where(X[:, 0] > 0, "news", "forum")
    )
    ranker = ma.AspectRanker(catboost(cat_features=["site"]), target=CAM)
    ranker.fit(
        frame[TRAIN], Y[TRAIN], qid=QID[TRAIN], eval_set=[(frame[~TRAIN], Y[~TRAIN], QID[~TRAIN])]
    )
    assert ranker.estimator_.get_cat_feature_indices() == [4]
    # scikit-learn cannot clone the list among CatBoost's parameters; in a search, it is an argument
    # of fit.
    plain = ma.AspectRanker(catboost(), target=CAM)
    plain.fit(frame, Y, qid=QID, cat_features=["site"], eval_fraction=0.25)
    assert plain.predict(frame).shape == (N,)


@pytest.mark.every(2)
@pytest.mark.parametrize("scoring", [None, ma.ranking_scorer(CAM)], ids=["own score", "scorer"])
def test_options_of_the_libraries_are_routed_to_fit(scoring: Any) -> None:
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        site=np.where(X[:, 0] > 0, "news", "forum")
    )
    fixed = {"cv": GroupKFold(2), "error_score": "raise", "scoring": scoring}
    rounds: list[int] = []
    options = {
        lightgbm: {
            "callbacks": [lambda env: rounds.append(env.iteration)],
            "categorical_feature": ["d"],
        },
        catboost: {"cat_features": ["site"]},
    }
    models = {}
    with sklearn.config_context(enable_metadata_routing=True):
        for make, passed in options.items():
            ranker = ma.AspectRanker(make(), target=CAM, measure=CAM)
            search = GridSearchCV(ranker, {"target__cutoff": [2, 5]}, **fixed)
            features = (
                frame if make is catboost else frame.drop(columns="site").assign(d=np.arange(N) % 3)
            )
            search.fit(features, Y, qid=QID, groups=QID, eval_fraction=0.2, **passed)
            models[make] = search.best_estimator_.estimator_
    assert len(rounds) > 5
    assert models[catboost].get_cat_feature_indices() == [4]
    assert isinstance(models[lightgbm], library.LGBMRanker)
    assert models[lightgbm].booster_.dump_model()["feature_infos"]["d"]["values"] == [
        -1,
        0,
        1,
        2,
    ]  # as categories


@pytest.mark.filterwarnings("ignore:The scoring AspectRanker.score does not support sample_weight")
@pytest.mark.parametrize("routing", [False, True], ids=["no routing", "routing"])
def test_weights_are_for_fit_and_not_for_the_rankers_own_score(routing: bool) -> None:
    weight = np.where(X[:, 2] > 0, 5.0, 1.0)
    ranker = ma.AspectRanker(Ridge(), target="relevance", measure=CAM)
    search = GridSearchCV(
        ranker, {"estimator__alpha": [1, 10]}, cv=GroupKFold(2), error_score="raise"
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        queries = {"qid": QID} if routing else {}
        search.fit(X, Y if routing else LABELS, groups=QID, sample_weight=weight, **queries)
        assert search.best_estimator_.score(X, Y, qid=QID) > 0
    expected = Ridge(search.best_params_["estimator__alpha"]).fit(X, Y["relevance"], weight)
    assert search.predict(X) == pytest.approx(expected.predict(X))
    (train, test) = next(GroupKFold(2).split(X, groups=QID))
    alone = ma.AspectRanker(Ridge(1), target="relevance", measure=CAM)
    alone.fit(X[train], LABELS.iloc[train], sample_weight=weight[train])
    assert search.cv_results_["split0_test_score"][0] == alone.score(X[test], LABELS.iloc[test])


@pytest.mark.slow
def test_successive_halving_takes_iterations() -> None:
    ranker = ma.AspectRanker(RandomForestRegressor(random_state=0), target=CAM)
    search = HalvingGridSearchCV(
        ranker, {"estimator__max_depth": [2, 4, 8]}, resource="estimator__n_estimators", min_resources=3,
        max_resources=9, cv=GroupKFold(2), error_score="raise", random_state=0,
    ).fit(X, LABELS, groups=QID)  # fmt: skip
    assert search.n_resources_ == [3, 9]
    row = search.cv_results_["iter"].tolist().index(1)
    train, test = next(GroupKFold(2).split(X, groups=QID))
    alone = sklearn.clone(ranker).set_params(**search.cv_results_["params"][row])
    alone.fit(X[train], LABELS.iloc[train])
    assert search.cv_results_["split0_test_score"][row] == alone.score(X[test], LABELS.iloc[test])
    # Parts of queries as its rows are in folds of their own, which nothing tells from whole ones.
    rows = HalvingGridSearchCV(
        sklearn.clone(ranker).set_params(estimator__n_estimators=3), {"estimator__max_depth": [2, 4, 8]},
        min_resources=100, cv=GroupKFold(2), error_score="raise", random_state=0,
    ).fit(X, LABELS, groups=QID)  # fmt: skip
    assert rows.n_resources_[0] < N
    text = " ".join(str(ma.ranking_scorer.__doc__).split())
    assert "cannot be noticed. Pass ``resource='estimator__n_estimators'``" in text
    assert "resource of successive halving" not in text


def test_the_training_set_may_be_watched_but_not_stop_the_training() -> None:
    train, held = ((X[rows], Y[rows], QID[rows]) for rows in (TRAIN, ~TRAIN))
    ranker = ma.AspectRanker(lightgbm(), target=CAM)
    ranker.fit(*train, eval_set=[train, held])  # silent, as training stops by the last set
    assert list(ranker.evals_result_) == ["valid_0", "valid_1"]
    with pytest.warns(
        ma.MultiAspectWarning, match="the training set and in the evaluation set by which"
    ):
        ranker.fit(*train, eval_set=[held, train])


def test_predictions_that_never_rank_are_told_of_once() -> None:
    booster = lightgbm(min_child_samples=10_000)
    with pytest.warns(ma.MultiAspectWarning, match="predictions are equal") as caught:
        ma.AspectRanker(booster, target=CAM).fit(X, LABELS, eval_fraction=0.25)
    assert sum(warning.category is ma.MultiAspectWarning for warning in caught) == 1


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "estimator", [Ridge(), RandomForestRegressor(5, random_state=0), "lightgbm"], ids=str
)
def test_recursive_feature_elimination(estimator: Any) -> None:
    # RFE passes arrays.
    ranker = ma.AspectRanker(
        lightgbm(early_stopping_round=None) if estimator == "lightgbm" else estimator,
        target=CAM,
        aspects=list(Y),
    )
    with sklearn.config_context(enable_metadata_routing=True):
        chosen = RFE(ranker, n_features_to_select=2).fit(X, Y, qid=QID)
    assert chosen.support_[[0, 1]].sum() >= 1
    assert chosen.predict(X).shape == (N,)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("make", "protocol"),
    [*((lightgbm, protocol) for protocol in range(6)), (xgboost, 5), (catboost, 5)],
)
def test_pickles(make: Any, protocol: int) -> None:
    ranker = ma.AspectRanker(make(), target="scaled sum", measure=CAM).fit(
        X, LABELS, eval_fraction=0.25
    )
    text = pickle.dumps(ranker, protocol)
    again = pickle.loads(text)
    assert (again.predict(X) == ranker.predict(X)).all()
    assert again.evals_result_ == ranker.evals_result_
    assert again.measure_ == CAM
    # The model does not keep the rows that it was stopped by.
    assert len(pickle.dumps(ranker.estimator_)) < 400_000


@pytest.mark.slow
def test_a_named_measure_is_scored_in_a_fresh_process(tmp_path: Any) -> None:
    ma.Aspects({"relevance": 2, "credibility": 3}, name="of-this-process")
    ranker = ma.AspectRanker(
        Ridge(), target="relevance", measure="CAM(aspects='of-this-process')@5"
    )
    path = tmp_path / "ranker.pickle"
    ranker.fit(X[TRAIN], Y[TRAIN], qid=QID[TRAIN])
    path.write_bytes(pickle.dumps((ranker, X[~TRAIN], Y[~TRAIN], QID[~TRAIN])))
    code = f"import pickle; r, X, Y, q = pickle.load(open({str(path)!r}, 'rb')); print(r.score(X, Y, qid=q))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert float(printed) == pytest.approx(ranker.score(X[~TRAIN], Y[~TRAIN], qid=QID[~TRAIN]))


def test_skops() -> None:
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    ranker = ma.AspectRanker(Ridge(), target=CAM).fit(X, LABELS)
    text = io.dumps(ranker)
    again = io.loads(text, trusted=io.get_untrusted_types(data=text))
    assert (again.predict(X) == ranker.predict(X)).all()
    assert again.score(X, LABELS) == ranker.score(X, LABELS)
    assert sklearn.clone(again).target == CAM
