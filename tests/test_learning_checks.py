"""Learning and selection: tied rows, targets of libraries, comparable candidates, and rows that do not match."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ir_measures import RR, nDCG
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, MultiAspectError, MultiAspectWarning, On
from pt_multiaspect import uRBP as URBP

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})
MEASURE = CAM(aspects=ASPECTS) @ 10
RNG = np.random.default_rng(5)
QID = np.repeat([f"q{number:02d}" for number in range(20)], 8)
X = RNG.normal(size=(160, 3))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + 0.5 * RNG.normal(size=160), [0, 1]),
        "credibility": np.digitize(X[:, 1] - X[:, 0] + 0.5 * RNG.normal(size=160), [-1, 0, 1]),
    }
)
LABELS = Y.set_axis(pd.Index(QID, name="qid"))


def lightgbm_ranker(**params: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    fixed = {
        "n_estimators": 20,
        "min_child_samples": 3,
        "num_leaves": 7,
        "verbose": -1,
        "n_jobs": 1,
    }
    return lightgbm.LGBMRanker(**{**fixed, "random_state": 0, **params})


# -- ties ------------------------------------------------------------------------------------------


def test_classes_of_a_classifier_rank_with_many_ties() -> None:
    scorer = ma.ranking_scorer(MEASURE)
    doors = {
        "DecisionTreeClassifier": lambda model: scorer(model.fit(X, Y["relevance"]), X, LABELS),
        "QuadraticDiscriminantAnalysis": lambda model: scorer(
            make_pipeline(model).fit(X, Y["relevance"]), X, LABELS
        ),
        "LogisticRegression": lambda model: (
            ma.AspectRanker(model, "relevance").fit(X, LABELS).predict(X)
        ),
        "GaussianNB": lambda model: (
            ma.AspectRanker(make_pipeline(model), "relevance").fit(X, LABELS).predict(X)
        ),
    }
    models = [
        DecisionTreeClassifier(),
        QuadraticDiscriminantAnalysis(),
        LogisticRegression(),
        GaussianNB(),
    ]
    for (name, door), model in zip(doors.items(), models, strict=True):
        with pytest.warns(
            MultiAspectWarning, match=f"{name} is a classifier, whose few distinct predictions"
        ):
            door(model)
    for method in ("predict_proba", "decision_function"):
        model = LinearDiscriminantAnalysis().fit(X, Y["relevance"] > 0)
        assert ma.ranking_scorer(MEASURE, response_method=method)(model, X, LABELS) > 0


LINEAR = (
    MEASURE,
    CAM(aspects=ASPECTS, base="RBP", normalized=True),
    CAM(aspects=ASPECTS, base={"relevance": "P@3", "credibility": "nDCG@2"}, empty="drop"),
    TOMA(aspects=ASPECTS) @ 3,
    TOMA(aspects=ASPECTS, weighting="exponential") @ 4,
    On(aspect="credibility", aspects=ASPECTS) @ 3,
    URBP(aspects=ASPECTS),
    "nDCG@3",
)


@pytest.mark.every(2)
@pytest.mark.parametrize("measure", LINEAR, ids=str)
def test_linear_measures_have_their_expected_value_over_the_orders_of_tied_rows(
    measure: Any,
) -> None:
    labels = pd.DataFrame({"relevance": [2, 0, 1, 2, 0, 1], "credibility": [0, 3, 2, 2, 1, 0]})
    qid, scores = ["a", "a", "a", "a", "b", "b"], np.array([0.5, 0.5, 0.9, 0.5, 0.1, 0.1])
    values = []
    for order in itertools.product(
        itertools.permutations(range(3)), itertools.permutations(range(2))
    ):
        (first, second, fourth), last = order
        untied = scores + 1e-3 * np.array([first, second, 0, fourth, *last])
        values.append(ma.ranking_score(labels, untied, qid=qid, measure=measure, aspects=ASPECTS))
    value = ma.ranking_score(labels, scores, qid=qid, measure=measure, aspects=ASPECTS)
    assert value == pytest.approx(np.mean(values), abs=1e-12)
    assert np.ptp(values) > 0.01


def test_ties_are_those_of_scikit_learn() -> None:
    scores = np.round(X[:, 0])
    expected = ndcg_score(Y["relevance"].to_numpy().reshape(20, 8), scores.reshape(20, 8), k=5)
    assert ma.ranking_score(Y["relevance"], scores, qid=QID, measure="nDCG@5") == pytest.approx(
        expected, abs=1e-12
    )


@pytest.mark.parametrize("measure", [*LINEAR, MM(aspects=ASPECTS), RR, "ESL"], ids=str)
def test_the_order_of_rows_tells_nothing_of_tied_rows(measure: Any) -> None:
    # All-zero predictions had CAM@10 .774 for rows that ascend by label, .210 for descending ones.
    scored = {}
    by_label = np.lexsort((Y["relevance"] + Y["credibility"], QID))
    for name, rows in {"ascending": by_label, "descending": by_label[::-1]}.items():
        with pytest.warns(MultiAspectWarning, match="predictions are equal"):
            scored[name] = ma.ranking_score(
                Y.iloc[rows], np.zeros(160), qid=QID[rows], measure=measure, aspects=ASPECTS
            )
    assert scored["ascending"] == pytest.approx(scored["descending"], abs=1e-12)


def test_only_values_with_tied_scores_change() -> None:
    ties = np.where(QID == "q03", 0.0, X[:, 0])
    for measure in (MEASURE, MM(aspects=ASPECTS)):
        values = [
            ma.ranking_score(Y, scores, qid=QID, measure=measure, per_query=True)
            for scores in (X[:, 0], ties)
        ]
        assert set(values[0].index[values[0] != values[1]]) == {"q03"}


def test_a_constant_model_wins_no_search() -> None:
    # A tree of one leaf won, as rows ascend by label and the later row of tied ones came first.
    rows = np.lexsort((Y.sum(axis=1), QID))
    search = GridSearchCV(
        ma.AspectRanker(DecisionTreeRegressor(random_state=0), target=MEASURE),
        {"estimator__max_depth": [1, 3], "estimator__min_samples_leaf": [1, 1000]},
        scoring=ma.ranking_scorer(MEASURE), cv=GroupKFold(4), error_score="raise",
    )  # fmt: skip
    with pytest.warns(MultiAspectWarning, match="so they rank nothing"):
        search.fit(X[rows], LABELS.iloc[rows], groups=QID[rows])
    assert search.best_params_["estimator__min_samples_leaf"] == 1
    scores = search.cv_results_["mean_test_score"]
    assert scores.max() - scores.min() > 0.05


# -- labels ----------------------------------------------------------------------------------------


def test_rank_xendcg_learns_fractional_targets() -> None:
    # It knows no gains but 2^label - 1: of hundreds of codes, it learnt the topmost only.
    values = {}
    for objective in ("rank_xendcg", "lambdarank"):
        ranker = ma.AspectRanker(
            lightgbm_ranker(objective=objective, n_estimators=40), target=MEASURE
        )
        ranker.fit(X[:112], LABELS[:112])
        values[objective] = ranker.score(X[112:], LABELS[112:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MultiAspectWarning)
        floor = ma.ranking_score(Y[112:], np.zeros(48), qid=QID[112:], measure=MEASURE)
    assert values["rank_xendcg"] > (floor + values["lambdarank"]) / 2
    assert "label_gain" not in ma.AspectRanker(
        lightgbm_ranker(objective="rank_xendcg"), target=MEASURE
    ).fit(X, LABELS).estimator_.get_params()  # fmt: skip


def test_tomas_gains_are_those_that_it_sums() -> None:
    classes = TOMA(aspects=ASPECTS)
    for target in (classes, classes(weighting="exponential")):
        ranker = ma.AspectRanker(lightgbm_ranker(), target=target).fit(X, LABELS)
        gains = np.unique(ma.aggregate_labels(LABELS, target).values).tolist()
        assert ranker.estimator_.get_params()["label_gain"] == [*([0] if gains[0] else []), *gains]


def test_labels_come_with_the_parameters_that_they_need() -> None:
    gains = ma.aggregate_labels(Y, MEASURE, qid=QID).values
    codes, params = ma.aggregate_labels(Y, MEASURE, "lightgbm", qid=QID)
    levels = np.array(params["label_gain"])
    assert len(np.unique(gains)) > 31 >= len(levels)
    assert codes.dtype.kind == "i"
    assert levels[0] == 0
    assert (np.diff(levels) > 0).all()
    assert np.abs(levels[codes] - gains).max() <= gains.max() / 30
    assert (codes[gains == 0] == 0).all()
    values, params = ma.aggregate_labels(Y, MEASURE, "xgboost", qid=QID)
    assert (values == gains).all()
    assert params == {"objective": "rank:ndcg", "ndcg_exp_gain": False}
    unit = ma.aggregate_labels(LABELS, MEASURE, "unit").values
    assert unit == pytest.approx(gains / gains.max())
    assert unit.dtype == np.float64
    assert ma.aggregate_labels(LABELS, MEASURE, "catboost") [1] == {}  # fmt: skip
    with pytest.raises(MultiAspectError, match="form: expected"):
        ma.aggregate_labels(LABELS, MEASURE, "catboost ")
    with pytest.raises(MultiAspectError, match=r"per query, .*pass qid"):
        ma.aggregate_labels(Y, MEASURE)


def test_the_scaled_sum() -> None:
    target = ma.AspectRanker(Ridge(), target="scaled sum", measure=MEASURE).fit(X, Y, qid=QID)
    expected = Ridge().fit(X, Y["relevance"] / 2 + Y["credibility"] / 3)
    assert target.predict(X) == pytest.approx(expected.predict(X))
    with pytest.warns(MultiAspectWarning, match=r"scaled sum.*scales"):
        ma.AspectRanker(Ridge(), target="scaled sum").fit(X, Y)


# -- searches --------------------------------------------------------------------------------------


def test_a_search_compares_candidates_by_one_measure() -> None:
    # Each candidate was scored by its own target, so the one that was easiest to learn won.
    grid = {"target__weights": [{"relevance": 1, "credibility": w} for w in (0, 1)]}
    ranker = ma.AspectRanker(Ridge(), target=MEASURE)
    with (
        pytest.warns(MultiAspectWarning, match=r"score needs measure=.*candidate"),
        pytest.raises(MultiAspectError, match="score needs measure="),
    ):
        GridSearchCV(ranker, grid, cv=GroupKFold(2), error_score="raise").fit(X, LABELS, groups=QID)
    search = GridSearchCV(ranker.set_params(measure=MEASURE), grid, cv=GroupKFold(2)).fit(
        X, LABELS, groups=QID
    )
    same = GridSearchCV(ranker, grid, scoring=ma.ranking_scorer(MEASURE), cv=GroupKFold(2))
    assert np.array_equal(
        search.cv_results_["mean_test_score"],
        same.fit(X, LABELS, groups=QID).cv_results_["mean_test_score"],
    )
    assert search.best_params_["target__weights"]["credibility"] == 1


def test_a_measure_is_no_scorer() -> None:
    message = r"a measure is not a scorer; use scoring=ranking_scorer\(CAM"
    with (
        pytest.warns(UserWarning, match="Scoring failed"),
        pytest.warns(MultiAspectWarning, match=message),
    ):
        scores = cross_validate(
            ma.AspectRanker(Ridge(), target=MEASURE), X, LABELS, scoring=MEASURE, cv=2
        )
    assert np.isnan(scores["test_score"]).all()


def test_four_measures_are_scored_as_one_by_one() -> None:
    ranker = ma.AspectRanker(Ridge(), target=MEASURE).fit(X[:80], LABELS[:80])
    measures = {
        "a": MEASURE,
        "b": MM(aspects=ASPECTS),
        "c": "nDCG@5",
        "d": On(aspect="credibility"),
    }
    together = ma.ranking_scorer(measures, aspects=ASPECTS)(ranker, X[80:], LABELS[80:])
    for name, measure in measures.items():
        alone = ma.ranking_scorer(measure, aspects=ASPECTS)(ranker, X[80:], LABELS[80:])
        assert together[name] == alone


# -- fit -------------------------------------------------------------------------------------------


def test_a_feature_that_equals_a_label() -> None:
    leak = np.column_stack([X, Y["credibility"]])
    for features, name in ((leak, "3"), (pd.DataFrame(leak, columns=list("abcd")), "d")):
        for _ in range(2):  # in every fit, not once per process
            with pytest.warns(
                MultiAspectWarning, match=f"column {name} of X equals the labels of credibility"
            ):
                ma.AspectRanker(Ridge(), target=MEASURE).fit(features, LABELS)
    # A predicted credibility is not a leak, nor is a constant with labels that are all the same.
    ma.AspectRanker(Ridge(), target=MEASURE).fit(
        np.column_stack([X, Y["credibility"] + 0.1]), LABELS
    )
    ma.AspectRanker(Ridge(), target="relevance").fit(
        np.column_stack([X, np.ones(160)]), np.ones((160, 1))
    )


def test_queries_in_both_sets() -> None:
    ranker = ma.AspectRanker(lightgbm_ranker(), target=MEASURE)
    with pytest.warns(MultiAspectWarning, match=r"3 queries, .*q07.*training set"):
        ranker.fit(X[:80], LABELS[:80], eval_set=[(X[56:], LABELS[56:])])
    ranker.fit(X[:80], LABELS[:80], eval_set=[(X[80:], LABELS[80:])])


def test_minus_one_beside_zero_and_one() -> None:
    labels = (LABELS > 0).astype(int)
    labels.iloc[3, 1] = -1
    with (
        pytest.warns(
            MultiAspectWarning, match=r"credibility has labels below .* -1\..*unjudged=\[-1\]"
        ),
        pytest.warns(MultiAspectWarning, match="inferred"),
    ):
        ma.AspectRanker(Ridge(), target=TOMA).fit(X, labels)
    declared = {"relevance": 1, "credibility": ma.Aspect([0, 1], unjudged=[-1])}
    ma.AspectRanker(Ridge(), target=TOMA(aspects=declared), missing="lowest").fit(X, labels)


def test_pt_ltr_hands_over_one_label() -> None:
    with pytest.raises(MultiAspectError, match=r"y has 1 column,.*2 aspects.*pt.ltr"):
        ma.AspectRanker(Ridge(), target=MEASURE).fit(X, Y["relevance"].to_numpy(), qid=QID)
    with (
        pytest.warns(MultiAspectWarning, match=r"TOMA.*several aspects"),
        pytest.warns(MultiAspectWarning, match="TOMA depends"),
    ):
        ma.AspectRanker(Ridge(), target=TOMA).fit(X, Y["relevance"].to_numpy(), qid=QID)


def test_an_array_of_queries_that_contradicts_the_index() -> None:
    other = np.where(QID == "q00", "q01", QID)
    ranker = ma.AspectRanker(Ridge(), target=MEASURE).fit(X, LABELS)
    for call in (
        lambda: ma.AspectRanker(Ridge(), target=MEASURE).fit(X, LABELS, qid=other),
        lambda: ma.ranking_scorer(MEASURE)(ranker, X, LABELS, qid=other),
        lambda: ma.ranking_score(LABELS, X[:, 0], qid=other, measure=MEASURE),
        lambda: ma.metric_for("lightgbm", MEASURE, LABELS, other),
    ):
        with pytest.raises(MultiAspectError, match=r"expected.*index.*qid"):
            call()
    # Numbers that stand for the same queries do not contradict it.
    ma.ranking_score(LABELS, X[:, 0], qid=np.unique(QID, return_inverse=True)[1], measure=MEASURE)


@pytest.mark.parametrize("as_level", [False, True])
def test_labels_with_queries_named_as_in_ir_measures(as_level: bool) -> None:
    # query_id was dropped from the labels, and then there was no query.
    labels = LABELS.reset_index(drop=True).assign(query_id=QID)
    labels = labels.set_index("query_id") if as_level else labels
    expected = ma.ranking_score(Y, X[:, 0], qid=QID, measure=MEASURE)
    assert ma.ranking_score(labels, X[:, 0], measure=MEASURE) == expected
    ranker = ma.AspectRanker(lightgbm_ranker(), target=MEASURE).fit(X, labels)
    assert (
        ranker.predict(X)
        == ma.AspectRanker(lightgbm_ranker(), target=MEASURE).fit(X, Y, qid=QID).predict(X)
    ).all()
    with pytest.raises(MultiAspectError, match=r"expected.*same qid"):
        ma.ranking_score(labels, X[:, 0], qid=np.roll(QID, 1), measure=MEASURE)


@pytest.mark.parametrize("name", ["topic", "query_id"])
def test_a_column_of_a_frame_that_is_the_query(name: str) -> None:
    numbers = np.unique(QID, return_inverse=True)[1] + 300
    frame = pd.DataFrame(X, columns=list("abc"))
    for values in (numbers, numbers.astype(np.float32)):
        with pytest.warns(MultiAspectWarning, match=f"column {name} of X looks like the query id"):
            ma.AspectRanker(Ridge(), target=MEASURE).fit(
                frame.assign(**{name: values}), Y, qid=numbers
            )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ma.AspectRanker(Ridge(), target=MEASURE).fit(
            frame.assign(length_of_query=numbers * 7), Y, qid=numbers
        )


def test_training_on_queries_of_one_row_each() -> None:
    with pytest.warns(MultiAspectWarning, match="fit: every query has one row"):
        ma.AspectRanker(Ridge(), target=MEASURE).fit(X, Y, qid=np.arange(len(X)))


def test_features_in_another_order() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    ranker = ma.AspectRanker(lightgbm_ranker(), target=MEASURE).fit(frame, LABELS.reset_index())
    with pytest.raises(MultiAspectError, match=r"expected.*a, b, c, got c, b, a"):
        ranker.predict(frame[["c", "b", "a"]])
    assert (ranker.predict(frame.assign(qid=QID)) == ranker.predict(frame)).all()


def test_folds_that_divide_queries_with_the_rankers_own_score() -> None:
    with pytest.warns(MultiAspectWarning, match="AspectRanker was fitted on"):
        cross_validate(
            ma.AspectRanker(Ridge(), target=MEASURE),
            X,
            LABELS,
            cv=KFold(3, shuffle=True, random_state=0),
        )


def test_one_metric_for_each_library() -> None:
    value = ma.ranking_score(LABELS, X[:, 0], measure=nDCG @ 5)
    metrics = {
        name: ma.metric_for(name, nDCG @ 5, LABELS) for name in ("lightgbm", "xgboost", "catboost")
    }
    assert metrics["lightgbm"](Y["relevance"], X[:, 0]) == (metrics["lightgbm"].name, value, True)
    assert metrics["catboost"].evaluate([X[:5, 0]], Y["relevance"][:5], None) == (
        0.0,
        1.0,
    )  # the training set
    assert metrics["catboost"].evaluate([X[:, 0]], Y["relevance"], None) == (value, 1.0)
    assert metrics["catboost"].evaluate([X[:5, 0]], Y["relevance"][:5], None) == (0.0, 1.0)
    with pytest.raises(MultiAspectError, match="160 rows, got 5"):
        metrics["lightgbm"](Y["relevance"][:5], X[:5, 0])
    with pytest.raises(MultiAspectError, match="library: expected"):
        ma.metric_for("sklearn", nDCG, LABELS)
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    matrix = xgboost.DMatrix(X, Y["relevance"])
    assert metrics["xgboost"](X[:, 0], matrix) == (metrics["xgboost"].name, value)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_metric_of_one_set_refuses_another_of_the_same_length(library: str) -> None:
    """Predictions for a training set as long as the validation set were scored by the labels of the latter."""
    booster = pytest.importorskip(library)
    rng = np.random.default_rng(5)
    features, label = rng.random((40, 2)), rng.integers(0, 3, 40)
    labels = pd.DataFrame({"relevance": label[20:], "credibility": label[20:][::-1]})
    qid, scales = np.repeat(["a", "b"], 10), {"relevance": 2, "credibility": 2}
    metric = ma.metric_for(library, "CAM@5", labels, qid, aspects=scales)
    sizes = [10, 10]
    if library == "lightgbm":
        train = booster.Dataset(features[:20], label[:20], group=sizes)
        valid = booster.Dataset(features[20:], label[20:], group=sizes, reference=train)
        params = {
            "objective": "lambdarank",
            "metric": "None",
            "verbose": -1,
            "min_data_in_leaf": 2,
            "num_threads": 1,
        }

        def fit(sets):
            return booster.train(params, train, 3, valid_sets=sets, feval=metric)
    else:
        train, valid = (
            booster.DMatrix(features[:20], label[:20]),
            booster.DMatrix(features[20:], label[20:]),
        )
        for part in (train, valid):
            part.set_group(sizes)
        params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}

        def fit(sets):
            evals = [(part, str(index)) for index, part in enumerate(sets)]
            return booster.train(
                params, train, 3, evals=evals, custom_metric=metric, verbose_eval=False
            )

    with pytest.raises(MultiAspectError, match="one validation set"):
        fit([train, valid])
    metric = ma.metric_for(library, "CAM@5", labels, qid, aspects=scales)
    fit([valid])
    assert len(metric.history[0]) == 3


def test_catboost_has_0_on_a_training_set_of_the_same_length() -> None:
    metric = ma.metric_for("catboost", nDCG @ 5, pd.DataFrame({"relevance": [0, 1, 2]}), ["q"] * 3)
    scores = np.array([3.0, 2.0, 1.0])
    for _ in range(2):
        assert metric.evaluate([scores], np.array([2.0, 1.0, 0.0]), None) == (0.0, 1.0)
        assert 0 < metric.evaluate([scores], np.array([0.0, 1.0, 2.0]), None)[0] < 1
    assert len(metric.history[0]) == 2


def test_missing_labels_of_every_evaluation_set_are_errors() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(3)
    X = rng.random((20, 2))
    y = pd.DataFrame(
        {"relevance": rng.integers(0, 3, 20), "credibility": rng.integers(0, 3, 20).astype(float)}
    )
    holes = y.assign(credibility=y["credibility"].where(np.arange(20) % 2 == 0))
    qid = np.repeat(["a", "b"], 10)
    scales = {"relevance": 2, "credibility": 2}
    ranker = ma.AspectRanker(
        lightgbm.LGBMRanker(n_estimators=2, verbose=-1, n_jobs=1),
        target="relevance",
        measure=ma.CAM(aspects=scales),
    )
    others = np.repeat(["c", "d"], 10)
    for sets in ([(X, holes, others), (X, y, others)], [(X, y, others), (X, holes, others)]):
        with pytest.raises(MultiAspectError, match="no credibility label"):
            ranker.fit(X, y, qid, eval_set=sets)
