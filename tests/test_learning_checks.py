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
    """The first, second and fourth row of query a tie, and both rows of b: 3! · 2! orders."""
    labels = pd.DataFrame({"relevance": [2, 0, 1, 2, 0, 1], "credibility": [0, 3, 2, 2, 1, 0]})
    qid = ["a", "a", "a", "a", "b", "b"]
    scores = np.array([0.5, 0.5, 0.9, 0.5, 0.1, 0.1])
    values = []
    for first, second, fourth in itertools.permutations(range(3)):
        for fifth, sixth in itertools.permutations(range(2)):
            small_differences = 1e-3 * np.array([first, second, 0, fourth, fifth, sixth])
            values.append(
                ma.ranking_score(
                    labels, scores + small_differences, qid=qid, measure=measure, aspects=ASPECTS
                )
            )
    value = ma.ranking_score(labels, scores, qid=qid, measure=measure, aspects=ASPECTS)
    assert value == pytest.approx(np.mean(values), abs=1e-12)
    assert np.ptp(values) > 0.01  # the order makes a difference


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
    """It gets the labels themselves: its gains are 2^label - 1, by which the highest of many codes is all.

    So it learns more than half of what lambdarank learns.
    """
    value_by_objective = {}
    for objective in ("rank_xendcg", "lambdarank"):
        booster = lightgbm_ranker(objective=objective, n_estimators=40)
        ranker = ma.AspectRanker(booster, target=MEASURE).fit(X[:112], LABELS[:112])
        value_by_objective[objective] = ranker.score(X[112:], LABELS[112:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MultiAspectWarning)
        value_of_ties = ma.ranking_score(Y[112:], np.zeros(48), qid=QID[112:], measure=MEASURE)
    half_of_lambdarank = (value_of_ties + value_by_objective["lambdarank"]) / 2
    assert value_by_objective["rank_xendcg"] > half_of_lambdarank


def test_rank_xendcg_gets_no_gains() -> None:
    booster = lightgbm_ranker(objective="rank_xendcg")
    ranker = ma.AspectRanker(booster, target=MEASURE).fit(X, LABELS)
    assert "label_gain" not in ranker.estimator_.get_params()


@pytest.mark.parametrize("weighting", ["classes", "exponential"])
def test_tomas_gains_are_those_that_it_sums(weighting: str) -> None:
    """LightGBM gets the weights of the classes as gains, beginning with 0 if no document has it."""
    target = TOMA(aspects=ASPECTS, weighting=weighting)
    ranker = ma.AspectRanker(lightgbm_ranker(), target=target).fit(X, LABELS)
    weights = np.unique(ma.aggregate_labels(LABELS, target).values).tolist()
    if weights[0] != 0:
        weights = [0, *weights]
    assert ranker.estimator_.get_params()["label_gain"] == weights


def test_labels_of_lightgbm_are_codes_of_gains() -> None:
    """It knows 31 codes at most, so that near gains share one; 0 stays 0."""
    gains = ma.aggregate_labels(Y, MEASURE, qid=QID).values
    assert len(np.unique(gains)) > 31
    codes, params = ma.aggregate_labels(Y, MEASURE, "lightgbm", qid=QID)
    gain_of_code = np.array(params["label_gain"])
    assert len(gain_of_code) <= 31
    assert codes.dtype.kind == "i"
    assert gain_of_code[0] == 0
    assert (np.diff(gain_of_code) > 0).all()
    largest_step = gains.max() / 30
    assert np.abs(gain_of_code[codes] - gains).max() <= largest_step
    assert (codes[gains == 0] == 0).all()


def test_labels_of_other_libraries_are_gains() -> None:
    gains = ma.aggregate_labels(Y, MEASURE, qid=QID).values
    labels, params = ma.aggregate_labels(Y, MEASURE, "xgboost", qid=QID)
    assert (labels == gains).all()
    assert params == {"objective": "rank:ndcg", "ndcg_exp_gain": False}
    fractions_of_highest = ma.aggregate_labels(LABELS, MEASURE, "unit").values
    assert fractions_of_highest == pytest.approx(gains / gains.max())
    assert fractions_of_highest.dtype == np.float64
    _, params = ma.aggregate_labels(LABELS, MEASURE, "catboost")
    assert params == {}


def test_errors_of_forms_of_labels() -> None:
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


#: Candidates whose targets weigh credibility not at all, or as much as relevance.
TARGET_GRID = {"target__weights": [{"relevance": 1, "credibility": weight} for weight in (0, 1)]}


def test_a_search_over_targets_needs_a_measure() -> None:
    """By its own target, each candidate would have another measure, and the easiest to learn would win."""
    ranker = ma.AspectRanker(Ridge(), target=MEASURE)
    search = GridSearchCV(ranker, TARGET_GRID, cv=GroupKFold(2), error_score="raise")
    # The first candidate is scored with a warning, the second one cannot be compared.
    with (
        pytest.warns(MultiAspectWarning, match=r"score needs measure=.*candidate"),
        pytest.raises(MultiAspectError, match="score needs measure="),
    ):
        search.fit(X, LABELS, groups=QID)


def test_a_search_compares_candidates_by_one_measure() -> None:
    """That of the ranker, as if it were given to a scorer."""
    ranker = ma.AspectRanker(Ridge(), target=MEASURE, measure=MEASURE)
    search = GridSearchCV(ranker, TARGET_GRID, cv=GroupKFold(2))
    search.fit(X, LABELS, groups=QID)
    by_scorer = GridSearchCV(
        ranker, TARGET_GRID, scoring=ma.ranking_scorer(MEASURE), cv=GroupKFold(2)
    )
    by_scorer.fit(X, LABELS, groups=QID)
    scores = search.cv_results_["mean_test_score"]
    assert np.array_equal(scores, by_scorer.cv_results_["mean_test_score"])
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
    """Rows 0 to 79 are the queries q00 to q09, of eight rows each."""
    ranker = ma.AspectRanker(lightgbm_ranker(), target=MEASURE)
    from_q07 = slice(7 * 8, None)
    with pytest.warns(MultiAspectWarning, match=r"3 queries, .*q07.*training set"):
        ranker.fit(X[:80], LABELS[:80], eval_set=[(X[from_q07], LABELS[from_q07])])
    from_q10 = slice(10 * 8, None)
    ranker.fit(X[:80], LABELS[:80], eval_set=[(X[from_q10], LABELS[from_q10])])


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
    """A target that declares two aspects is an error; one that takes the columns it finds warns."""
    relevance = Y["relevance"].to_numpy()
    with pytest.raises(MultiAspectError, match=r"y has 1 column,.*2 aspects.*pt.ltr"):
        ma.AspectRanker(Ridge(), target=MEASURE).fit(X, relevance, qid=QID)
    with (
        pytest.warns(MultiAspectWarning, match=r"TOMA.*several aspects"),
        pytest.warns(MultiAspectWarning, match="TOMA depends"),
    ):
        ma.AspectRanker(Ridge(), target=TOMA).fit(X, relevance, qid=QID)


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
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_a_column_of_a_frame_that_is_the_query(name: str, dtype: Any) -> None:
    """Such as a column left over from the file of features: a learner would learn queries by heart."""
    numbers = np.repeat(np.arange(301, 321), 8)  # 20 queries of eight rows
    features = pd.DataFrame(X, columns=list("abc")).assign(**{name: numbers.astype(dtype)})
    with pytest.warns(MultiAspectWarning, match=f"column {name} of X looks like the query id"):
        ma.AspectRanker(Ridge(), target=MEASURE).fit(features, Y, qid=numbers)


def test_a_feature_of_queries_is_no_query_id() -> None:
    """It has one value per query, as a query id has, but other values."""
    numbers = np.repeat(np.arange(301, 321), 8)
    features = pd.DataFrame(X, columns=list("abc")).assign(length_of_query=numbers * 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ma.AspectRanker(Ridge(), target=MEASURE).fit(features, Y, qid=numbers)


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


def test_the_metric_of_lightgbm() -> None:
    """It returns its name, the value, and that higher is better."""
    value = ma.ranking_score(LABELS, X[:, 0], measure=nDCG @ 5)
    metric = ma.metric_for("lightgbm", nDCG @ 5, LABELS)
    assert metric(Y["relevance"], X[:, 0]) == (metric.name, value, True)
    with pytest.raises(MultiAspectError, match="160 rows, got 5"):
        metric(Y["relevance"][:5], X[:5, 0])


def test_the_metric_of_xgboost() -> None:
    """It returns its name and the value."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    value = ma.ranking_score(LABELS, X[:, 0], measure=nDCG @ 5)
    metric = ma.metric_for("xgboost", nDCG @ 5, LABELS)
    assert metric(X[:, 0], xgboost.DMatrix(X, Y["relevance"])) == (metric.name, value)


def test_the_metric_of_catboost() -> None:
    """It returns the value and a weight of 1; CatBoost also calls it on the training set, where it is 0."""
    value = ma.ranking_score(LABELS, X[:, 0], measure=nDCG @ 5)
    metric = ma.metric_for("catboost", nDCG @ 5, LABELS)
    assert metric.evaluate([X[:5, 0]], Y["relevance"][:5], None) == (0.0, 1.0)  # of other rows
    assert metric.evaluate([X[:, 0]], Y["relevance"], None) == (value, 1.0)
    assert metric.evaluate([X[:5, 0]], Y["relevance"][:5], None) == (0.0, 1.0)


def test_there_is_no_metric_for_other_libraries() -> None:
    with pytest.raises(MultiAspectError, match="library: expected"):
        ma.metric_for("sklearn", nDCG, LABELS)


def fit_lightgbm(sets: list[str], features: Any, labels: Any, metric: Any) -> None:
    """Fit on the first 20 rows, and evaluate the metric on the sets: "train", "valid" (the others)."""
    lightgbm = pytest.importorskip("lightgbm")
    train = lightgbm.Dataset(features[:20], labels[:20], group=[10, 10])
    valid = lightgbm.Dataset(features[20:], labels[20:], group=[10, 10], reference=train)
    set_by_name = {"train": train, "valid": valid}
    params = {
        "objective": "lambdarank",
        "metric": "None",
        "verbose": -1,
        "min_data_in_leaf": 2,
        "num_threads": 1,
    }
    lightgbm.train(params, train, 3, valid_sets=[set_by_name[name] for name in sets], feval=metric)


def fit_xgboost(sets: list[str], features: Any, labels: Any, metric: Any) -> None:
    """Do the same with XGBoost."""
    xgboost = pytest.importorskip("xgboost")
    train = xgboost.DMatrix(features[:20], labels[:20])
    valid = xgboost.DMatrix(features[20:], labels[20:])
    set_by_name = {"train": train, "valid": valid}
    for part in set_by_name.values():
        part.set_group([10, 10])
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    evals = [(set_by_name[name], name) for name in sets]
    xgboost.train(params, train, 3, evals=evals, custom_metric=metric, verbose_eval=False)


@pytest.mark.parametrize(("library", "fit"), [("lightgbm", fit_lightgbm), ("xgboost", fit_xgboost)])
def test_a_metric_of_one_set_refuses_another_of_the_same_length(library: str, fit: Any) -> None:
    """Or predictions for the training set would be evaluated by labels of the validation set."""
    rng = np.random.default_rng(5)
    features, labels = rng.random((40, 2)), rng.integers(0, 3, 40)
    of_valid = pd.DataFrame({"relevance": labels[20:], "credibility": labels[20:][::-1]})
    qid, scales = np.repeat(["a", "b"], 10), {"relevance": 2, "credibility": 2}
    metric = ma.metric_for(library, "CAM@5", of_valid, qid, aspects=scales)
    with pytest.raises(MultiAspectError, match="one validation set"):
        fit(["train", "valid"], features, labels, metric)
    metric = ma.metric_for(library, "CAM@5", of_valid, qid, aspects=scales)
    fit(["valid"], features, labels, metric)
    assert len(metric.history[0]) == 3  # iterations


def test_catboost_has_0_on_a_training_set_of_the_same_length() -> None:
    """In each iteration, CatBoost calls the metric on the training set, then on the evaluation set.

    The metric knows the latter by its labels.
    """
    labels = pd.DataFrame({"relevance": [0, 1, 2]})
    metric = ma.metric_for("catboost", nDCG @ 5, labels, ["q", "q", "q"])
    scores = np.array([3.0, 2.0, 1.0])
    labels_of_training, labels_of_evaluation = np.array([2.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])
    weight = 1.0
    for _ in range(2):
        assert metric.evaluate([scores], labels_of_training, None) == (0.0, weight)
        value, _ = metric.evaluate([scores], labels_of_evaluation, None)
        assert 0 < value < 1
    assert len(metric.history[0]) == 2  # only the evaluation set is in the history


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
