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
#: The first 25 of the 40 queries.
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


def history_of(ranker: Any, name: str | None = None) -> list[float]:
    """The values of the measure after each iteration, on the evaluation set of this name, or the only one."""
    if name is None:
        (by_measure,) = ranker.evals_result_.values()
    else:
        by_measure = ranker.evals_result_[name]
    (values,) = by_measure.values()
    return values


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("kind", "measure"),
    [("Ranker", ma.ESL(wanted=1)), ("Regressor", CAM), ("Ranker", "nDCG@3")],
    ids=str,
)
@pytest.mark.parametrize("make", LIBRARIES)
def test_boosters_stop_by_the_measure(make: Any, kind: str, measure: Any) -> None:
    """Of two evaluation sets the last decides; the rows of a query need not stand together."""
    held_rows = np.flatnonzero(~TRAIN)
    first_rows = held_rows[:40]
    # The first rows of all queries, then the second ones, and so on.
    last_rows = held_rows.reshape(-1, 8).T.ravel()
    first_set = (X[first_rows], Y.iloc[first_rows], QID[first_rows])
    last_set = (X[last_rows], Y.iloc[last_rows], QID[last_rows])
    ranker = ma.AspectRanker(make(kind), target=CAM, measure=measure)

    ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[first_set, last_set])

    name_of_first, name_of_last = ranker.evals_result_
    values = history_of(ranker, name_of_last)
    lower_is_better = isinstance(measure, ma.Measure) and measure.lower_is_better
    best = int(np.argmin(values) if lower_is_better else np.argmax(values))
    assert ranker.best_iteration_ == best + 1
    n_iterations = min(best + 1 + PATIENCE, 40)
    assert len(values) == len(history_of(ranker, name_of_first)) == n_iterations

    features, labels, qid = last_set
    best_value = ma.ranking_score(labels, ranker.predict(features), qid=qid, measure=measure)
    assert values[best] == pytest.approx(best_value, abs=1e-9)
    score = ranker.score(features, labels, qid=qid)  # higher is better
    assert score == pytest.approx(-best_value if lower_is_better else best_value, abs=1e-9)
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
    """Whether the labels of all aspects are a frame with an index, with a column of queries, or an array."""
    for name in ASPECTS:
        labels_of_aspect = LABELS[[name]]
        alone = ma.AspectRanker(
            make(), ma.On(aspect=name, aspects=ma.Aspects({name: ASPECTS[name]}))
        )
        alone.fit(
            X[TRAIN], labels_of_aspect[TRAIN], eval_set=[(X[~TRAIN], labels_of_aspect[~TRAIN])]
        )
        assert alone.best_iteration_ < 40

        ranker = ma.AspectRanker(make(), target=name, aspects=ASPECTS)
        for y in (LABELS, LABELS.reset_index()):
            ranker.fit(X[TRAIN], y[TRAIN], eval_set=[(X[~TRAIN], y[~TRAIN], None)])
            assert history_of(ranker) == history_of(alone)
            assert ranker.best_iteration_ == alone.best_iteration_

        y = Y.to_numpy()
        held = (X[~TRAIN], y[~TRAIN], QID[~TRAIN])
        ranker.fit(X[TRAIN], y[TRAIN], qid=QID[TRAIN], eval_set=[held])
        assert history_of(ranker) == history_of(alone)
        assert ranker.best_iteration_ == alone.best_iteration_


@pytest.mark.parametrize("kind", ["Ranker", "Regressor"])
@pytest.mark.parametrize("make", [lightgbm, xgboost])
def test_early_stopping_without_an_evaluation_set_names_the_remedy(make: Any, kind: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=r"(LGBM|XGB).*got none; pass eval_fraction"):
        ma.AspectRanker(make(kind), target=CAM).fit(X, LABELS)


@pytest.mark.every(3)
@pytest.mark.parametrize("make", LIBRARIES)
def test_every_fold_stops_on_queries_of_its_own(make: Any) -> None:
    """With eval_fraction, whether queries are in the index of the labels or routed as metadata."""
    ranker = ma.AspectRanker(make(), target="scaled sum", measure=CAM)
    options = {"cv": GroupKFold(2), "return_estimator": True, "error_score": "raise"}

    by_index = cross_validate(
        ranker, X, LABELS, groups=QID, params={"eval_fraction": 0.2}, **options
    )["estimator"]
    with sklearn.config_context(enable_metadata_routing=True):
        params = {"qid": QID, "groups": QID, "eval_fraction": 0.2}
        routed = cross_validate(ranker, X, Y, params=params, **options)["estimator"]

    for ranker_by_index, routed_ranker in zip(by_index, routed, strict=True):
        assert ranker_by_index.evals_result_ == routed_ranker.evals_result_
        assert (ranker_by_index.predict(X) == routed_ranker.predict(X)).all()
    first_fold, second_fold = by_index
    assert first_fold.evals_result_ != second_fold.evals_result_


@pytest.mark.slow
def test_whole_queries_are_held_out_by_the_seed_of_the_estimator() -> None:
    def fit_results(seed: Any) -> Any:
        ranker = ma.AspectRanker(lightgbm(random_state=seed, n_estimators=3), target=CAM)
        return ranker.fit(X, LABELS, eval_fraction=0.25).evals_result_

    assert fit_results(0) == fit_results(0) == fit_results(None)
    assert fit_results(0) != fit_results(1)


@pytest.mark.parametrize(
    ("fraction", "n_queries", "n_held"),
    [
        pytest.param(0.25, 40, 10, id="a quarter"),
        pytest.param(0.01, 40, 1, id="at least one"),
        pytest.param(0.99, 40, 39, id="at least one for training"),
        pytest.param(0.5, 2, 1, id="one of two"),
    ],
)
def test_the_fraction_of_the_queries_that_is_held_out(
    fraction: float, n_queries: int, n_held: int
) -> None:
    """Whole queries, of 8 rows each, are held out of training."""
    numbers_of_rows = []

    class Recording(type(lightgbm("Regressor"))):  # type: ignore[misc]
        @wraps(lightgbm("Regressor").fit)
        def fit(self, features: Any, *args: Any, **options: Any) -> Any:
            if "eval_X" in options:
                (held_features,) = options["eval_X"]
            else:  # older versions of LightGBM
                ((held_features, _labels),) = options["eval_set"]
            numbers_of_rows.append(len(features))
            numbers_of_rows.append(len(held_features))
            return super().fit(features, *args, **options)

    booster = Recording(n_estimators=1, num_leaves=2, min_child_samples=1, verbose=-1, n_jobs=1)
    n_rows = 8 * n_queries
    ma.AspectRanker(booster, target=CAM).fit(X[:n_rows], LABELS[:n_rows], eval_fraction=fraction)
    n_trained = n_queries - n_held
    assert numbers_of_rows == [8 * n_trained, 8 * n_held]


UNDECLARED = [ma.CAM(base="ERR"), ma.uRBPgr, ma.TOMA(aspects=["relevance", "credibility"]) @ 5]


@pytest.mark.parametrize("measure", UNDECLARED, ids=str)
@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_scores_have_the_scales_that_fit_inferred(measure: Any) -> None:
    """Held-out rows have the labels 0 and 1 only, but are scored on the scales of the training rows.

    So the score equals the best value of the history, also of an unpickled ranker.
    """
    held = (X[~TRAIN], LABELS[~TRAIN].clip(upper=1))
    ranker = ma.AspectRanker(lightgbm(), target="relevance", measure=measure)
    ranker.fit(X[TRAIN], LABELS[TRAIN], eval_set=[held])
    assert ranker.score(*held) == pytest.approx(max(history_of(ranker)), abs=1e-12)
    unpickled = pickle.loads(pickle.dumps(ranker))
    assert unpickled.score(*held) == ranker.score(*held)


@pytest.mark.parametrize("measure", UNDECLARED, ids=str)
@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_inferred_scales_of_fit_score_as_declared_ones(measure: Any) -> None:
    """All grades are in the training rows; the held-out rows have the labels 0 and 1 only."""
    held = (X[~TRAIN], LABELS[~TRAIN].clip(upper=1))
    inferred = ma.AspectRanker(Ridge(), target=CAM, measure=measure)
    inferred.fit(X[TRAIN], LABELS[TRAIN])
    declared = ma.AspectRanker(Ridge(), target=CAM, measure=measure(aspects=ASPECTS))
    declared.fit(X[TRAIN], LABELS[TRAIN])
    assert inferred.score(*held) == declared.score(*held)


@pytest.mark.parametrize("measure", UNDECLARED, ids=str)
@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_a_grade_beyond_those_of_fit_extends_the_scale(measure: Any) -> None:
    """Training rows have the labels 0 and 1 only: held-out rows with all grades are scored on the whole scales.

    A warning is given for each of the two aspects, in every call.
    """
    training_labels = LABELS[TRAIN].clip(upper=1)
    held = (X[~TRAIN], LABELS[~TRAIN])
    ranker = ma.AspectRanker(Ridge(), target="relevance", measure=measure)
    ranker.fit(X[TRAIN], training_labels)

    message = r"grades of .* inferred from these labels and those of fit, which"
    with pytest.warns(ma.MultiAspectWarning, match=message) as caught:
        score = ranker.score(*held)
    n_warnings = sum("those of fit" in str(warning.message) for warning in caught)
    assert n_warnings == 2
    with pytest.warns(ma.MultiAspectWarning, match="those of fit"):
        assert ranker.score(*held) == score

    declared = ma.AspectRanker(Ridge(), target="relevance", measure=measure(aspects=ASPECTS))
    declared.fit(X[TRAIN], training_labels)
    assert score == declared.score(*held)


@pytest.mark.filterwarnings("ignore:.* which were inferred:pt_multiaspect.MultiAspectWarning")
def test_fractions_that_are_labels_are_the_grades_of_fit_also_if_rows_lack_some() -> None:
    """Training rows have the labels 0, .5 and 1, held-out rows 0 and 1 only."""
    ranker = ma.AspectRanker(Ridge(), target="relevance", measure="uRBPgr(aspects=['relevance'])")
    ranker.fit(X[TRAIN], LABELS[TRAIN] / 2)
    halves = LABELS[~TRAIN] / 2
    without_half = halves.where(halves != 0.5, 0)

    score = ranker.score(X[~TRAIN], without_half)

    declared = ma.uRBPgr(aspects={"relevance": ma.Aspect([0, 0.5, 1])})
    predicted = ranker.predict(X[~TRAIN])
    assert score == ma.ranking_score(without_half, predicted, measure=declared)


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


def search_with_options(ranker_library: Any, features: Any, scoring: Any, **options: Any) -> Any:
    """The booster that is best in a grid search, whose fit gets these options as metadata."""
    ranker = ma.AspectRanker(ranker_library(), target=CAM, measure=CAM)
    search = GridSearchCV(
        ranker, {"target__cutoff": [2, 5]}, cv=GroupKFold(2), error_score="raise", scoring=scoring
    )
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(features, Y, qid=QID, groups=QID, eval_fraction=0.2, **options)
    return search.best_estimator_.estimator_


SCORINGS = pytest.mark.parametrize(
    "scoring", [None, ma.ranking_scorer(CAM)], ids=["own score", "scorer"]
)


@pytest.mark.every(2)
@SCORINGS
def test_options_of_lightgbm_are_routed_to_fit(scoring: Any) -> None:
    """Callbacks are called, and d is a category."""
    library = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    features = pd.DataFrame(X, columns=list("abcd")).assign(d=np.arange(N) % 3)
    iterations: list[int] = []

    def record_iteration(environment: Any) -> None:
        iterations.append(environment.iteration)

    model = search_with_options(
        lightgbm, features, scoring, callbacks=[record_iteration], categorical_feature=["d"]
    )

    assert isinstance(model, library.LGBMRanker)
    assert len(iterations) > 5
    # Of a number, LightGBM would list the range; of categories, it lists these and -1 for others.
    description_of_d = model.booster_.dump_model()["feature_infos"]["d"]
    assert description_of_d["values"] == [-1, 0, 1, 2]


@pytest.mark.every(2)
@SCORINGS
def test_options_of_catboost_are_routed_to_fit(scoring: Any) -> None:
    """The fifth column has words, which CatBoost takes for categories only if told."""
    site = np.where(X[:, 0] > 0, "news", "forum")
    features = pd.DataFrame(X, columns=list("abcd")).assign(site=site)
    model = search_with_options(catboost, features, scoring, cat_features=["site"])
    assert model.get_cat_feature_indices() == [4]


@pytest.mark.filterwarnings("ignore:The scoring AspectRanker.score does not support sample_weight")
@pytest.mark.parametrize("routing", [False, True], ids=["no routing", "routing"])
def test_weights_are_for_fit_and_not_for_the_rankers_own_score(routing: bool) -> None:
    """A grid search with sample_weight fits with weights, and scores as without."""
    weight = np.where(X[:, 2] > 0, 5.0, 1.0)
    ranker = ma.AspectRanker(Ridge(), target="relevance", measure=CAM)
    alphas = [1, 10]
    search = GridSearchCV(
        ranker, {"estimator__alpha": alphas}, cv=GroupKFold(2), error_score="raise"
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            search.fit(X, Y, qid=QID, groups=QID, sample_weight=weight)
        else:  # queries are in the index of the labels
            search.fit(X, LABELS, groups=QID, sample_weight=weight)
        assert search.best_estimator_.score(X, Y, qid=QID) > 0

    # The best setting is fitted to all rows, with their weights.
    best_ridge = Ridge(search.best_params_["estimator__alpha"])
    best_ridge.fit(X, Y["relevance"], weight)
    assert search.predict(X) == pytest.approx(best_ridge.predict(X))

    # The first score is that of the first alpha on the first fold.
    train, test = next(GroupKFold(2).split(X, groups=QID))
    alone = ma.AspectRanker(Ridge(alphas[0]), target="relevance", measure=CAM)
    alone.fit(X[train], LABELS.iloc[train], sample_weight=weight[train])
    score_of_alone = alone.score(X[test], LABELS.iloc[test])
    assert search.cv_results_["split0_test_score"][0] == score_of_alone


@pytest.mark.slow
def test_successive_halving_takes_iterations() -> None:
    """With trees as resource, 3 and then 9, each fold has all rows of its queries."""
    ranker = ma.AspectRanker(RandomForestRegressor(random_state=0), target=CAM)
    search = HalvingGridSearchCV(
        ranker, {"estimator__max_depth": [2, 4, 8]}, resource="estimator__n_estimators", min_resources=3,
        max_resources=9, cv=GroupKFold(2), error_score="raise", random_state=0,
    ).fit(X, LABELS, groups=QID)  # fmt: skip
    assert search.n_resources_ == [3, 9]

    results = pd.DataFrame(search.cv_results_)
    with_9_trees = results[results["iter"] == 1].iloc[0]
    train, test = next(GroupKFold(2).split(X, groups=QID))
    alone = sklearn.clone(ranker).set_params(**with_9_trees["params"])
    alone.fit(X[train], LABELS.iloc[train])
    assert with_9_trees["split0_test_score"] == alone.score(X[test], LABELS.iloc[test])


@pytest.mark.slow
def test_successive_halving_of_rows_cannot_be_noticed() -> None:
    """With rows as resource, the default, folds have parts of queries, which nothing tells from whole ones.

    So the documentation of the scorer warns.
    """
    forest = RandomForestRegressor(n_estimators=3, random_state=0)
    search = HalvingGridSearchCV(
        ma.AspectRanker(forest, target=CAM), {"estimator__max_depth": [2, 4, 8]},
        min_resources=100, cv=GroupKFold(2), error_score="raise", random_state=0,
    ).fit(X, LABELS, groups=QID)  # fmt: skip
    n_rows_at_first = search.n_resources_[0]
    assert n_rows_at_first < N

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
