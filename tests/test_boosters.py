"""The boosters' metrics give the measure's value, and training stops by it."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA, MultiAspectError, On

GRADES = {"relevance": 2, "credibility": 3}
ASPECTS = ma.Aspects(GRADES)
MEASURE = TOMA(aspects=ASPECTS) @ 5
#: The first two print alike from their last blank on, by which LightGBM 4.5 tells names apart.
MEASURES = [
    MEASURE,
    CAM(aspects=ASPECTS) @ 5,
    nDCG @ 5,
    AP(rel=2),
    On(aspect="credibility", base=nDCG @ 3, aspects=ASPECTS),
]


def spelt(measure: Any) -> str:
    """The name of a metric."""
    return str(measure).replace(" ", "")


def _rows(rng: Any, queries: list[str]) -> tuple[Any, pd.DataFrame, Any]:
    qid = np.repeat(queries, 10)
    X = rng.normal(size=(len(qid), 4)).round(1)
    noise = rng.normal(size=(len(qid), 2))
    Y = pd.DataFrame(
        {
            "relevance": np.digitize(X[:, 0] + noise[:, 0], [0, 1]),
            "credibility": np.digitize(X[:, 1] - X[:, 0] + noise[:, 1], [-1, 0, 1]),
        }
    )
    return X, Y, qid


class Split:
    """Thirty queries to train on and twelve, whose names are not in order, to stop by."""

    def __init__(self) -> None:
        rng = np.random.default_rng(11)
        self.X, self.Y, self.qid = _rows(rng, [f"t{i}" for i in range(30)])
        self.X_valid, self.Y_valid, self.qid_valid = _rows(rng, [f"v{i}" for i in rng.permutation(12)])
        self.label = self.aggregated(self.Y)
        self.label_valid = self.aggregated(self.Y_valid)
        self.group, self.group_valid = [10] * 30, [10] * 12

    @staticmethod
    def aggregated(Y: pd.DataFrame) -> Any:
        rows = Y.assign(qid="q", docno=[f"{i:04d}" for i in range(len(Y))])
        return ma.aggregate_labels(rows, TOMA(aspects=ASPECTS))["label"].to_numpy()

    def expected(self, measure: Any, scores: Any) -> float:
        """The value of the validation set by ir-measures."""
        ids = pd.DataFrame({"query_id": self.qid_valid, "doc_id": [f"{i:03d}" for i in range(len(self.Y_valid))]})
        qrels = ids.join(self.Y_valid)
        if not isinstance(measure, ma.Measure):
            qrels = qrels.drop(columns="credibility")
        return float(ir_measures.calc_aggregate([measure], qrels, ids.assign(score=scores))[measure])


@pytest.fixture(scope="module")
def split() -> Split:
    return Split()


@pytest.fixture(scope="module")
def lgb() -> Any:
    return pytest.importorskip("lightgbm", reason="LightGBM is not installed")


@pytest.fixture(scope="module")
def xgb() -> Any:
    return pytest.importorskip("xgboost", reason="XGBoost is not installed")


def lightgbm_metric(split: Split, measure: Any, **more: Any) -> Any:
    return ma.lightgbm_metric(measure, split.Y_valid, split.qid_valid, aspects=ASPECTS, **more)


def xgboost_metric(split: Split, measure: Any, **more: Any) -> Any:
    return ma.xgboost_metric(measure, split.Y_valid, split.qid_valid, aspects=ASPECTS, **more)


# -- LightGBM -----------------------------------------------------------------------------------


def lightgbm_ranker(lgb: Any, **params: Any) -> Any:
    given = {"n_estimators": 60, "learning_rate": 0.1, "min_child_samples": 3, "n_jobs": 1, "verbose": -1}
    return lgb.LGBMRanker(**given, metric="None", **params)


def fit(ranker: Any, split: Split, **how: Any) -> Any:
    return ranker.fit(
        split.X,
        split.label,
        group=split.group,
        eval_set=[(split.X_valid, split.label_valid)],
        eval_group=[split.group_valid],
        **how,
    )


def test_lightgbm_rankers_evaluate_several_measures_and_stop_by_the_first(lgb: Any, split: Split) -> None:
    metrics = [lightgbm_metric(split, measure) for measure in MEASURES]
    stop = lgb.early_stopping(4, first_metric_only=True, verbose=False)
    ranker = fit(lightgbm_ranker(lgb), split, eval_metric=metrics, callbacks=[stop])
    history = ranker.evals_result_["valid_0"]
    assert list(history) == [metric.__name__ for metric in metrics] == [spelt(measure) for measure in MEASURES]
    for rounds in (1, ranker.best_iteration_ // 2, ranker.best_iteration_):
        scores = ranker.predict(split.X_valid, num_iteration=rounds)
        for measure in MEASURES:
            assert history[spelt(measure)][rounds - 1] == pytest.approx(split.expected(measure, scores), abs=1e-12)
    # It stopped four rounds after the best value of the first, and predicts as of then.
    values = history[spelt(MEASURE)]
    assert len(values) == ranker.best_iteration_ + 4 < 60
    assert ranker.best_iteration_ == int(np.argmax(values)) + 1
    assert split.expected(MEASURE, ranker.predict(split.X_valid)) == pytest.approx(max(values))
    # Another measure would have stopped elsewhere, so it is this one that did.
    assert int(np.argmax(history["nDCG@5"])) + 1 != ranker.best_iteration_


def test_lightgbm_stops_by_one_measure(lgb: Any, split: Split) -> None:
    metric = lightgbm_metric(split, "TOMA@5", name="toma")
    ranker = fit(lightgbm_ranker(lgb), split, eval_metric=metric, callbacks=[lgb.early_stopping(4, verbose=False)])
    assert list(ranker.evals_result_["valid_0"]) == ["toma"]
    assert ranker.best_score_["valid_0"]["toma"] == max(ranker.evals_result_["valid_0"]["toma"])
    assert ranker.best_iteration_ < 60


def test_lightgbms_own_loop_takes_it_as_feval(lgb: Any, split: Split) -> None:
    train = lgb.Dataset(split.X, split.label, group=split.group)
    valid = lgb.Dataset(split.X_valid, split.label_valid, group=split.group_valid, reference=train)
    params = {
        "objective": "lambdarank",
        "metric": "None",
        "learning_rate": 0.3,
        "min_data_in_leaf": 3,
        "num_threads": 1,
        "verbose": -1,
    }
    history: dict[str, Any] = {}
    booster = lgb.train(
        params,
        train,
        60,
        valid_sets=[valid],
        valid_names=["valid"],
        feval=[lightgbm_metric(split, measure) for measure in MEASURES],
        callbacks=[
            lgb.early_stopping(4, first_metric_only=True, verbose=False),
            lgb.record_evaluation(history),
        ],
    )
    values = history["valid"][spelt(MEASURE)]
    assert booster.best_iteration == int(np.argmax(values)) + 1 < 56
    scores = booster.predict(split.X_valid, num_iteration=booster.best_iteration)
    for measure in MEASURES:
        found = booster.best_score["valid"][spelt(measure)]
        assert found == pytest.approx(split.expected(measure, scores), abs=1e-12)


def test_lightgbm_within_aspect_ranker(lgb: Any, split: Split) -> None:
    # The labels of the validation set are aggregated as those of the training set.
    ranker = ma.AspectRanker(lightgbm_ranker(lgb), target=TOMA(aspects=ASPECTS)).fit(
        split.X,
        split.Y,
        qid=split.qid,
        eval_set=[(split.X_valid, split.Y_valid)],
        eval_group=[split.group_valid],
        eval_metric=lightgbm_metric(split, MEASURE),
        callbacks=[lgb.early_stopping(4, verbose=False)],
    )
    direct = fit(
        lightgbm_ranker(lgb),
        split,
        eval_metric=lightgbm_metric(split, MEASURE),
        callbacks=[lgb.early_stopping(4, verbose=False)],
    )
    assert ranker.estimator_.best_iteration_ == direct.best_iteration_
    value = ma.ranking_scorer(MEASURE)(ranker, split.X_valid, split.Y_valid, qid=split.qid_valid)
    assert value == pytest.approx(direct.best_score_["valid_0"][spelt(MEASURE)], abs=1e-12)


def test_lightgbm_must_not_evaluate_it_on_the_training_set(lgb: Any, split: Split) -> None:
    ranker = lightgbm_ranker(lgb)
    message = "expected predictions for its validation set of 120 rows, got 300; evaluate on that set only"
    with pytest.raises(MultiAspectError, match=message):
        ranker.fit(
            split.X,
            split.label,
            group=split.group,
            eval_set=[(split.X, split.label), (split.X_valid, split.label_valid)],
            eval_group=[split.group, split.group_valid],
            eval_metric=lightgbm_metric(split, MEASURE),
        )


# -- XGBoost ------------------------------------------------------------------------------------

XGB = {
    "objective": "rank:ndcg",
    "disable_default_eval_metric": True,
    "eta": 0.3,
    "min_child_weight": 0.01,
    "nthread": 1,
}


def matrices(xgb: Any, split: Split) -> tuple[Any, Any]:
    train, valid = xgb.DMatrix(split.X, split.label), xgb.DMatrix(split.X_valid, split.label_valid)
    train.set_group(split.group)
    valid.set_group(split.group_valid)
    return train, valid


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_xgboost_stops_by_any_measure(measure: Any, xgb: Any, split: Split) -> None:
    train, valid = matrices(xgb, split)
    history: dict[str, Any] = {}
    metric = xgboost_metric(split, measure)
    booster = xgb.train(
        XGB,
        train,
        40,
        evals=[(valid, "valid")],
        custom_metric=metric,
        maximize=True,
        early_stopping_rounds=4,
        evals_result=history,
        verbose_eval=False,
    )
    # XGBoost reads its own log, with values of six decimals and names without blanks and colons.
    assert not set(metric.__name__) & set(" :")
    values = history["valid"][metric.__name__]
    for rounds in (1, 3, booster.best_iteration + 1):
        scores = booster.predict(valid, iteration_range=(0, rounds))
        assert values[rounds - 1] == pytest.approx(split.expected(measure, scores), abs=5e-7 + 1e-12)
    assert booster.best_iteration == int(np.argmax(values))
    assert booster.best_score == max(values)
    assert len(values) == booster.best_iteration + 5 < 40


def test_xgboosts_callback_finds_the_metric_by_its_name(xgb: Any, split: Split) -> None:
    train, valid = matrices(xgb, split)
    metric = xgboost_metric(split, MEASURE, name="toma: mean of 12")
    assert metric.__name__ == "toma=meanof12"
    stop = xgb.callback.EarlyStopping(
        rounds=4, metric_name=metric.__name__, data_name="valid", maximize=True, save_best=True
    )
    booster = xgb.train(
        XGB, train, 40, evals=[(valid, "valid")], custom_metric=metric, callbacks=[stop], verbose_eval=False
    )
    assert booster.num_boosted_rounds() == booster.best_iteration + 1 < 36
    scores = booster.predict(valid)
    assert booster.best_score == pytest.approx(split.expected(MEASURE, scores), abs=5e-7 + 1e-12)


def test_xgboost_must_not_evaluate_it_on_the_training_set(xgb: Any, split: Split) -> None:
    train, valid = matrices(xgb, split)
    with pytest.raises(MultiAspectError, match="validation set of 120 rows, got 300"):
        xgb.train(
            XGB,
            train,
            2,
            evals=[(train, "train"), (valid, "valid")],
            custom_metric=xgboost_metric(split, MEASURE),
            verbose_eval=False,
        )


def test_xgboosts_wrapper_is_refused_with_the_reason(xgb: Any, split: Split) -> None:
    ranker = xgb.XGBRanker(n_estimators=3, n_jobs=1, eval_metric=xgboost_metric(split, MEASURE))
    with pytest.raises(
        MultiAspectError,
        match=r"once per query.* a measure over all queries cannot be computed; use xgboost\.train",
    ):
        ranker.fit(
            split.X,
            split.label,
            qid=np.repeat(np.arange(30), 10),
            eval_set=[(split.X_valid, split.label_valid)],
            eval_qid=[np.repeat(np.arange(12), 10)],
            verbose=False,
        )


# -- both ---------------------------------------------------------------------------------------

BOTH: list[Callable[..., Any]] = [ma.lightgbm_metric, ma.xgboost_metric]


class _Set:
    """What XGBoost and LightGBM call a data set."""

    def get_label(self) -> None: ...


@pytest.mark.parametrize("make", BOTH)
def test_labels_may_be_arrays_with_named_columns_and_queries_scattered(make: Any, split: Split) -> None:
    scores = split.X_valid[:, 0]
    rows = np.random.default_rng(0).permutation(len(scores))
    metrics = [
        make(MEASURE, split.Y_valid, split.qid_valid),
        make("TOMA@5", split.Y_valid.to_numpy(), split.qid_valid, aspects=ASPECTS),
        make(MEASURE, split.Y_valid.assign(mood=1), split.qid_valid, aspects=ASPECTS),
    ]
    values = [metric(scores, _Set())[1] for metric in metrics]
    assert values == pytest.approx([split.expected(MEASURE, scores)] * 3, abs=1e-12)
    untied = scores + np.linspace(0, 1e-3, len(scores))
    scattered = make(MEASURE, split.Y_valid.iloc[rows], split.qid_valid[rows])
    assert scattered(untied[rows], _Set())[1] == pytest.approx(split.expected(MEASURE, untied), abs=1e-12)


@pytest.mark.parametrize("make", BOTH)
def test_metrics_can_be_pickled(make: Any, split: Split) -> None:
    metric = make(MEASURE, split.Y_valid, split.qid_valid)
    again = pickle.loads(pickle.dumps(metric))
    assert again.__name__ == metric.__name__
    assert again(split.X_valid[:, 0], _Set()) == metric(split.X_valid[:, 0], _Set())


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qid_valid": ["q"]}, "qid: expected one value for each of 120 rows of y, got shape (1,)"),
        ({"Y_valid": np.zeros((120, 3))}, "y has 3 columns, but there are 2 aspects"),
        ({"measure": "P"}, "expected one measure, but 'P' expands to"),
        ({"measure": [MEASURE, 3]}, "expected a measure or a string"),
        ({"measure": []}, "expected at least one measure"),
        ({"measure": [MEASURE, nDCG], "name": "both"}, "no name for a list, as each metric has its own name"),
        ({"measure": [MEASURE, MEASURE]}, "expected metrics with different names"),
    ],
    ids=str,
)
def test_what_no_metric_can_be_made_of(make: Any, changes: dict[str, Any], message: str, split: Split) -> None:
    given = {"measure": MEASURE, "Y_valid": split.Y_valid, "qid_valid": split.qid_valid} | changes
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        make(**given)


@pytest.mark.parametrize("make", BOTH)
def test_predictions_that_rank_nothing(make: Any, split: Split) -> None:
    metric = make(MEASURE, split.Y_valid, split.qid_valid)
    with pytest.raises(MultiAspectError, match="120 of 120 predictions are NaN"):
        metric(np.full(120, np.nan), _Set())


def test_other_queries_of_as_many_rows_are_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(12, 3)), rng.integers(0, 2, 12), np.repeat([1, 2, 3], 4)
    metric = ma.lightgbm_metric("CAM@5", y, np.repeat([1, 2], 6), aspects={"relevance": 1})
    ranker = lightgbm.LGBMRanker(n_estimators=2, min_child_samples=1, verbose=-1)
    with pytest.raises(MultiAspectError, match=r"expected 2 queries with 6, 6 rows, got 3 with 4, 4, 4"):
        ranker.fit(X, y, group=[4, 4, 4], eval_set=[(X, y)], eval_group=[[4, 4, 4]], eval_metric=metric)
    right = ma.lightgbm_metric("CAM@5", y, qid, aspects={"relevance": 1})
    ranker.fit(X, y, group=[4, 4, 4], eval_set=[(X, y)], eval_group=[[4, 4, 4]], eval_metric=right)
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, y, qid=qid)
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True}
    with pytest.raises(MultiAspectError, match=r"expected 2 queries with 6, 6 rows, got 3 with 4, 4, 4"):
        xgboost.train(
            params,
            data,
            1,
            evals=[(data, "valid")],
            custom_metric=ma.xgboost_metric("CAM@5", y, np.repeat([1, 2], 6), aspects={"relevance": 1}),
            verbose_eval=False,
        )


# -- what was silent -----------------------------------------------------------------------------


class _Data:
    """A data set of either library with labels and sizes of groups."""

    def __init__(self, labels: Any, sizes: Any) -> None:
        self.labels, self.sizes = labels, sizes

    def get_label(self) -> Any:
        return np.asarray(self.labels, dtype=np.float32)

    def get_group(self) -> Any:
        return self.sizes

    def get_uint_info(self, _: str) -> Any:
        return np.concatenate([[0], np.cumsum(self.sizes)])


DO_NOT_MATCH = "the labels of the evaluation set do not match those of the metric"


def trained_on(target: Any, split: Split) -> Any:
    rows = split.Y_valid.assign(qid=split.qid_valid, docno=[f"{i:04d}" for i in range(120)])
    return ma.aggregate_labels(rows, target)["label"].to_numpy()


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize(
    "target",
    [
        TOMA(aspects=ASPECTS),
        TOMA(aspects=ASPECTS, weighting="normalized"),
        CAM(aspects=ASPECTS),
        CAM(aspects=ASPECTS) @ 5,
        "relevance",
        "credibility",
        ma.uRBP(aspects=ASPECTS),
    ],
    ids=str,
)
@pytest.mark.parametrize("coded", [False, True])
def test_rows_in_another_order_are_noticed(make: Any, target: Any, coded: bool, split: Split) -> None:
    # The metric gave another value for them (.60 for .75) without a word.
    labels = trained_on(target, split)
    labels = np.unique(labels, return_inverse=True)[1] if coded else labels
    metric = make(MEASURE, split.Y_valid, split.qid_valid)
    scores = split.X_valid[:, 0]
    expected = split.expected(MEASURE, scores)
    assert metric(scores, _Data(labels, split.group_valid))[1] == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(0)
    within = np.concatenate([10 * q + rng.permutation(10) for q in range(12)])
    queries = np.concatenate([10 * q + np.arange(10) for q in rng.permutation(12)])
    for rows in (within, queries, np.arange(120)[::-1]):
        for made in (metric, make(MEASURE, split.Y_valid, split.qid_valid)):
            with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
                made(scores, _Data(labels[rows], split.group_valid))
    # The same rows still pass, and labels of something else where that is asked for.
    assert metric(scores, _Data(labels, split.group_valid))[1] == pytest.approx(expected, abs=1e-12)
    unchecked = make(MEASURE, split.Y_valid, split.qid_valid, check_labels=False)
    assert unchecked(scores, _Data(labels[within], split.group_valid))[1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("make", BOTH)
def test_distinct_labels_in_another_order_are_noticed(make: Any) -> None:
    # No two rows have equal labels, so that any label would be a function of theirs.
    labels, qid = pd.DataFrame({"relevance": [3, 2, 1, 0, 0, 1, 2, 3]}), [1] * 4 + [2] * 4
    metric = make(nDCG, labels, qid)
    scores = np.arange(8.0)
    assert metric(scores, _Data([3, 2, 1, 0, 0, 1, 2, 3], [4, 4]))[1] > 0
    with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
        metric(scores, _Data([3, 1, 2, 0, 0, 1, 2, 3], [4, 4]))


def test_lightgbm_notices_rows_in_another_order(lgb: Any, split: Split) -> None:
    rows = np.concatenate([10 * q + np.arange(10)[::-1] for q in range(12)])
    with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
        fit(
            lightgbm_ranker(lgb),
            split,
            eval_metric=ma.lightgbm_metric(MEASURE, split.Y_valid.iloc[rows], split.qid_valid),
        )


def test_lightgbm_is_told_which_measures_are_better_if_lower(split: Split) -> None:
    for measure, greater in (
        ("ESL(wanted=5)", False),
        (CAM(base=ma.ESL(wanted=5), aspects=ASPECTS), False),
        (nDCG, True),
        (MEASURE, True),
    ):
        metric = lightgbm_metric(split, measure)
        data = _Data(split.label_valid, split.group_valid)
        _, value, told = metric(split.X_valid[:, 0], data)
        assert told is greater
        # It is the value itself, not its negative.
        assert value > 0
        assert metric(split.label_valid, split.X_valid[:, 0], None, split.group_valid) == (
            metric.__name__,
            value,
            told,
        )


@pytest.mark.parametrize("make", BOTH)
def test_predictions_are_compared_in_double_precision(make: Any) -> None:
    metric = make(nDCG, pd.DataFrame({"relevance": [3, 2, 1, 0]}), ["q"] * 4)
    scores = np.array([1 + 3e-9, 1 + 2e-9, 1 + 1e-9, 1.0])
    assert metric(scores, _Set())[1] == 1.0
    assert metric(scores[::-1], _Set())[1] < 0.8


@pytest.mark.parametrize("make", BOTH)
def test_ordinary_measures_are_computed_on_relevance(make: Any, split: Split) -> None:
    turned = split.Y_valid[["credibility", "relevance"]]
    scores = split.X_valid[:, 0]
    expected = split.expected(nDCG @ 5, scores)
    for labels in (turned, turned.rename(columns={"relevance": "label"})):
        assert make(nDCG @ 5, labels, split.qid_valid)(scores, _Set())[1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("make", BOTH)
def test_what_the_measure_sums_tells_rows_of_distinct_labels_in_another_order(make: Any) -> None:
    rows = pd.DataFrame({"relevance": [2, 1, 0, 2], "credibility": [0, 3, 1, 1]})
    target = CAM(base="DCG", aspects=ASPECTS)
    labels = ma.aggregate_labels(rows.assign(qid="q", docno=list("abcd")), target)["label"].to_numpy()
    scores = np.arange(4.0)
    assert make(target, rows, ["q"] * 4)(scores, _Data(labels, [4]))[1] > 0
    with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
        make(target, rows, ["q"] * 4)(scores, _Data(labels[[1, 2, 0, 3]], [4]))
    # A measure that has no such number is checked by the columns alone.
    assert make(ma.NLRE(aspects=ASPECTS), rows, ["q"] * 4)(scores, _Data(labels, [4]))[1] > 0


# -- several measures at once ---------------------------------------------------------------------


def test_lightgbm_takes_several_measures_at_once(lgb: Any, split: Split) -> None:
    metric = lightgbm_metric(split, MEASURES)
    ranker = fit(lightgbm_ranker(lgb).set_params(n_estimators=5), split, eval_metric=metric)
    scores = ranker.predict(split.X_valid)
    evaluated = ranker.evals_result_["valid_0"]
    assert {name: values[-1] for name, values in evaluated.items()} == pytest.approx(
        {spelt(measure): split.expected(measure, scores) for measure in MEASURES}, abs=1e-12
    )


def test_measures_can_be_named(lgb: Any, split: Split) -> None:
    metric = lightgbm_metric(split, {"the measure@5": MEASURE, "nDCG": "nDCG@5"})
    assert metric.__name__ == "themeasure@5,nDCG"
    scores = split.X_valid[:, 0]
    assert metric(scores, _Set()) == [
        ("themeasure@5", pytest.approx(split.expected(MEASURE, scores)), True),
        ("nDCG", pytest.approx(split.expected(nDCG @ 5, scores)), True),
    ]
    # A cutoff in the name is no obstacle to early stopping by it.
    stop = lgb.early_stopping(3, first_metric_only=True, verbose=False)
    ranker = fit(lightgbm_ranker(lgb), split, eval_metric=metric, callbacks=[stop])
    values = ranker.evals_result_["valid_0"]["themeasure@5"]
    assert ranker.best_iteration_ == int(np.argmax(values)) + 1 < 60


def train_xgboost(xgb: Any, split: Split, metric: Any, rounds: int = 30, **how: Any) -> Any:
    train = xgb.DMatrix(split.X, split.label, group=split.group)
    valid = xgb.DMatrix(split.X_valid, split.label_valid, group=split.group_valid)
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "ndcg_exp_gain": False}
    result: dict[str, Any] = {}
    given = {"evals": [(valid, "valid")], "evals_result": result, "verbose_eval": False, **how}
    return xgb.train(params, train, rounds, custom_metric=metric, **given), result["valid"]


def test_xgboost_takes_several_measures_at_once(xgb: Any, split: Split) -> None:
    metric = xgboost_metric(split, {"cam": MEASURES[1], "toma": MEASURE})
    model, values = train_xgboost(xgb, split, metric, early_stopping_rounds=5, maximize=metric.maximize)
    assert set(values) == {"cam", "toma"}
    assert len(values["cam"]) == len(values["toma"])
    assert model.best_iteration == int(np.argmax(values["toma"]))
    data = xgb.DMatrix(split.X_valid)
    scores = model.predict(data, iteration_range=(0, 1))
    assert values["toma"][0] == pytest.approx(split.expected(MEASURE, scores.astype(float)), abs=1e-5)


def test_xgboost_must_be_told_what_is_better(xgb: Any, split: Split) -> None:
    # It minimised the measure, and kept about the first round, without a word.
    metric = xgboost_metric(split, MEASURE, name="toma")
    assert metric.maximize is True
    message = "XGBoost's early stopping minimises toma, for which higher is better: pass maximize=True"
    with pytest.raises(MultiAspectError, match=message):
        train_xgboost(xgb, split, metric, early_stopping_rounds=5)
    with pytest.raises(MultiAspectError, match=message):
        train_xgboost(xgb, split, metric, callbacks=[xgb.callback.EarlyStopping(5, metric_name="toma")])
    # Without early stopping, or told, all is well; its own guess is right for some names.
    train_xgboost(xgb, split, metric, rounds=3)
    train_xgboost(xgb, split, metric, early_stopping_rounds=5, maximize=True)
    train_xgboost(xgb, split, xgboost_metric(split, nDCG @ 5, name="ndcg@5"), early_stopping_rounds=5)
    length = xgboost_metric(split, ma.ESL(wanted=1), name="map-like")
    assert length.maximize is False
    with pytest.raises(MultiAspectError, match="maximises map-like, for which lower is better: pass maximize=F"):
        train_xgboost(xgb, split, length, early_stopping_rounds=5)
    # Of several, the last one counts unless another is named.
    both = xgboost_metric(split, {"toma": MEASURE, "esl": ma.ESL(wanted=1)})
    assert both.maximize is False
    train_xgboost(xgb, split, both, early_stopping_rounds=5)
    with pytest.raises(MultiAspectError, match=message):
        train_xgboost(xgb, split, both, callbacks=[xgb.callback.EarlyStopping(5, metric_name="toma")])


# -- LightGBM's cross-validation ------------------------------------------------------------------


def cross_validated(lgb: Any, split: Split, metric: Any, **how: Any) -> Any:
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 3}
    given = {"num_boost_round": 4, "nfold": 3, "return_cvbooster": True, **how}
    dataset = lgb.Dataset(split.X, split.label, group=split.group, free_raw_data=False)
    return lgb.cv({**params, "label_gain": list(range(60))}, dataset, feval=metric, **given)


@pytest.mark.slow
def test_lightgbms_cross_validation_evaluates_each_fold(lgb: Any, split: Split) -> None:
    # A fold has other rows than the metric, which refused it.
    groups = np.repeat(np.arange(30), 10)
    folds = [(np.flatnonzero(groups % 3 != fold), np.flatnonzero(groups % 3 == fold)) for fold in range(3)]
    metric = ma.lightgbm_metric([MEASURE, "nDCG@5"], split.Y, split.qid, aspects=ASPECTS)
    result = cross_validated(lgb, split, metric, folds=folds, eval_train_metric=True)
    boosters = result.pop("cvbooster").boosters
    for measure in (MEASURE, nDCG @ 5):
        for part, place in (("valid", 1), ("train", 0)):
            values = [
                ma.ranking_score(
                    split.Y.iloc[fold[place]],
                    booster.predict(split.X[fold[place]]),
                    qid=split.qid[fold[place]],
                    measure=measure,
                )
                for booster, fold in zip(boosters, folds, strict=True)
            ]
            assert result[f"{part} {spelt(measure)}-mean"][-1] == pytest.approx(np.mean(values), abs=1e-12)
    stopped = cross_validated(
        lgb, split, metric, num_boost_round=40, callbacks=[lgb.early_stopping(3, verbose=False)]
    )
    assert len(stopped[f"valid {spelt(MEASURE)}-mean"]) < 40


def test_folds_must_not_divide_queries(lgb: Any, split: Split) -> None:
    metric = ma.lightgbm_metric(MEASURE, split.Y, split.qid, aspects=ASPECTS)

    class Fold:
        used_indices = list(range(15))

        class reference:
            num_data = staticmethod(lambda: 300)
            get_label = staticmethod(lambda: split.label)

        def get_label(self) -> None: ...

    message = "expected folds of whole queries, got 5 of 10 rows of the query t1; use folds that keep the rows"
    with pytest.raises(MultiAspectError, match=message):
        metric(np.arange(15.0), Fold())
    Fold.used_indices = list(range(20))
    assert metric(np.arange(20.0), Fold())[1] == pytest.approx(
        ma.ranking_score(split.Y[:20], np.arange(20.0), qid=split.qid[:20], measure=MEASURE)
    )
    # The rows of the whole data set are checked, too.
    Fold.reference.get_label = staticmethod(lambda: split.label[::-1])
    with pytest.raises(MultiAspectError, match="the labels of the evaluation set do not match"):
        metric(np.arange(20.0), Fold())


def xgboost_folds(xgb: Any, split: Split, metric: Any, **how: Any) -> Any:
    data = xgb.DMatrix(split.X, split.label)
    data.set_group(split.group)
    given = {"nfold": 3, "custom_metric": metric, "maximize": True, "as_pandas": False, "seed": 1, **how}
    return xgb.cv({**XGB, "nthread": 1}, metric.number_rows(data), **given)


@pytest.mark.slow
def test_xgboosts_cross_validation_evaluates_each_fold(xgb: Any, split: Split) -> None:
    # Folds were refused, as they have other rows than the metric.
    metric = ma.xgboost_metric({"ndcg": nDCG @ 5, "toma": MEASURE}, split.Y, split.qid, aspects=ASPECTS)
    packs: list[Any] = []

    class Keep(xgb.callback.TrainingCallback):  # type: ignore[misc,name-defined]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            packs[:] = model.cvfolds
            return False

    result = xgboost_folds(xgb, split, metric, num_boost_round=3, callbacks=[Keep()])
    for name, measure in (("ndcg", nDCG @ 5), ("toma", MEASURE)):
        for part, of_pack in (("train", "dtrain"), ("test", "dtest")):
            values = []
            for pack in packs:
                data = getattr(pack, of_pack)
                rows = data.get_float_info("label_lower_bound").astype(int)
                # The queries of the fold are whole, and its features those of the rows.
                assert len(rows) == 10 * len(set(split.qid[rows]))
                assert np.allclose(data.get_label(), split.label[rows])
                scores = pack.bst.predict(data)
                given = {"qid": split.qid[rows], "measure": measure}
                values.append(ma.ranking_score(split.Y.iloc[rows], scores, **given))
            assert result[f"{part}-{name}-mean"][-1] == pytest.approx(np.mean(values), abs=1e-6)
    stopped = xgboost_folds(xgb, split, metric, num_boost_round=40, early_stopping_rounds=3)
    assert len(stopped["test-toma-mean"]) < 40
    with pytest.raises(MultiAspectError, match="early stopping minimises toma, for which higher is better"):
        xgboost_folds(xgb, split, metric, num_boost_round=4, early_stopping_rounds=3, maximize=False)


def test_numbered_rows_are_those_of_the_metric(xgb: Any, split: Split) -> None:
    metric = ma.xgboost_metric(MEASURE, split.Y, split.qid, aspects=ASPECTS)
    data = xgb.DMatrix(split.X, split.label)
    with pytest.raises(MultiAspectError, match="with 10, 10, 10, 10, 10, … rows; got 300 rows and no queries"):
        metric.number_rows(data)
    data.set_group([20] * 15)
    with pytest.raises(MultiAspectError, match="got 300 rows and queries with 20, 20, 20, 20, 20, … rows"):
        metric.number_rows(data)
    backwards = xgb.DMatrix(split.X, split.label[::-1])
    backwards.set_group(split.group)
    with pytest.raises(MultiAspectError, match="the labels of the evaluation set do not match"):
        metric.number_rows(backwards)
    data.set_group(split.group)
    fold = metric.number_rows(data).slice(np.arange(15), allow_groups=True)
    with pytest.raises(MultiAspectError, match="expected folds of whole queries, got 5 of 10 rows of the query t1"):
        metric(np.zeros(15), fold)
    fold.set_label(np.zeros(15))
    with pytest.raises(MultiAspectError, match="the labels of a fold are not those of the DMatrix"):
        metric(np.zeros(15), fold)
    # The whole set is still evaluated as such, and another one refused.
    assert metric(split.label.astype(float), data)[1] == 1.0
    with pytest.raises(MultiAspectError, match="validation set of 300 rows, got 5"):
        metric(np.zeros(5), xgb.DMatrix(split.X[:5], split.label[:5]))


# -- CatBoost -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def catboost() -> Any:
    return pytest.importorskip("catboost", reason="CatBoost is not installed")


def fit_catboost(catboost: Any, split: Split, metric: Any, rows: Any = slice(None), **params: Any) -> Any:
    given = {"iterations": 40, "learning_rate": 0.3, "verbose": 0, "thread_count": 1, "allow_writing_files": False}
    ranker = catboost.CatBoostRanker(loss_function="QueryRMSE", eval_metric=metric, **{**given, **params})
    valid = catboost.Pool(split.X_valid[rows], split.label_valid[rows], group_id=np.repeat(range(12), 10)[rows])
    return ranker.fit(split.X, split.label, group_id=np.repeat(range(30), 10), eval_set=valid)


@pytest.mark.filterwarnings("ignore:Failed to import numba")
@pytest.mark.parametrize("measure", [MEASURE, nDCG @ 5, ma.ESL(wanted=1)], ids=str)
def test_catboost_stops_by_any_measure(measure: Any, catboost: Any, split: Split) -> None:
    metric = ma.catboost_metric(measure, split.Y_valid, split.qid_valid, aspects=ASPECTS)
    ranker = fit_catboost(catboost, split, metric, early_stopping_rounds=5)
    (values,) = (each for name, each in ranker.get_evals_result()["validation"].items() if "Metric" in name)
    best = np.argmin(values) if measure == ma.ESL(wanted=1) else np.argmax(values)
    assert ranker.get_best_iteration() == best
    assert len(values) < 40
    assert values[best] == pytest.approx(split.expected(measure, ranker.predict(split.X_valid)), abs=1e-9)
    assert len(set(values)) > 1


@pytest.mark.filterwarnings("ignore:Failed to import numba")
def test_catboost_within_aspect_ranker(catboost: Any, split: Split) -> None:
    metric = ma.catboost_metric(MEASURE, split.Y_valid, split.qid_valid)
    given = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "loss_function": "QueryRMSE"}
    inner = catboost.CatBoostRanker(iterations=20, eval_metric=metric, early_stopping_rounds=3, **given)
    ranker = ma.AspectRanker(inner, target=CAM(aspects=ASPECTS))
    valid = {"eval_set": [(split.X_valid, split.Y_valid)], "eval_qid": [split.qid_valid]}
    ranker.fit(split.X, split.Y, qid=split.qid, **valid)
    evaluated = ranker.estimator_.get_evals_result()["validation"]
    (values,) = (each for name, each in evaluated.items() if "Metric" in name)
    assert max(values) == pytest.approx(split.expected(MEASURE, ranker.predict(split.X_valid)), abs=1e-9)


@pytest.mark.filterwarnings("ignore:Failed to import numba")
def test_catboost_notices_other_rows(catboost: Any, split: Split) -> None:
    # Every set but the metric's is 0, so that training would stop at once.
    metric = ma.catboost_metric(MEASURE, split.Y_valid[:60], split.qid_valid[:60])
    with pytest.raises(Exception, match="expected one eval_set with the 60 rows of the metric"):
        fit_catboost(catboost, split, metric)
    metric = ma.catboost_metric(MEASURE, split.Y_valid[::-1], split.qid_valid[::-1])
    with pytest.raises(Exception, match=r"in the same order, got \d+ rows or other labels"):
        fit_catboost(catboost, split, metric)
    metric = ma.catboost_metric(MEASURE, split.Y_valid, split.qid_valid, check_labels=False)
    fit_catboost(catboost, split, metric, iterations=2)
    with pytest.raises(MultiAspectError, match="expected one measure, as CatBoost has one eval_metric"):
        ma.catboost_metric([MEASURE], split.Y_valid, split.qid_valid)


@pytest.mark.parametrize("make", BOTH)
@pytest.mark.parametrize("coded", [False, True])
def test_few_grades_in_another_order_across_queries_are_noticed(make: Any, coded: bool) -> None:
    """Within each query, the labels are a function of the columns, or the reverse, so nothing seemed wrong."""
    grades = np.array([2, 1, 0, 1, 0, 0])
    Y, qid, scores = (
        pd.DataFrame({"relevance": 2 * grades if coded else grades}),
        [1, 1, 1, 2, 2, 2],
        np.arange(6.0),
    )
    labels = _Data(grades, [3, 3])
    assert make(nDCG, Y, qid)(scores, labels)[1] > 0
    for order in ([3, 4, 5, 0, 1, 2], [3, 4, 1, 0, 2, 5]):
        with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
            make(nDCG, Y, qid)(scores, _Data(grades[order], [3, 3]))


@pytest.mark.parametrize("make", BOTH)
def test_labels_with_the_counts_of_a_column_may_be_a_function_of_all_columns(make: Any) -> None:
    Y = pd.DataFrame({"relevance": [2, 1, 0, 1], "credibility": [0, 3, 1, 3]})
    labels = [0, 1, 2, 1]  # 0 for (2, 0), 1 for (1, 3), 2 for (0, 1)
    metric = make(CAM(aspects=ASPECTS), Y, [1, 1, 2, 2])
    assert metric(np.arange(4.0), _Data(labels, [2, 2]))[1] > 0
    # What cannot be told apart: no two rows have the same labels, so that any label is a function of them.
    distinct = pd.DataFrame({"relevance": [2, 1, 0, 1], "credibility": [0, 1, 2, 3]})
    metric = make(CAM(aspects=ASPECTS), distinct, [1, 1, 2, 2])
    assert metric(np.arange(4.0), _Data([0, 1, 2, 1], [2, 2]))[1] > 0


@pytest.mark.filterwarnings("ignore:no aspects were selected")
def test_whole_queries_in_another_order_are_found_by_their_labels() -> None:
    rng = np.random.default_rng(1)
    Y = pd.DataFrame({"relevance": rng.random(6), "credibility": rng.random(6)})
    metric = ma.lightgbm_metric("CAM@2", Y, list("aaabbb"))
    scores, labels = rng.random(6), Y["relevance"].to_numpy()
    in_order = metric(labels, scores)
    order = [3, 4, 5, 0, 1, 2]
    qrels = Y.assign(qid=list("aaabbb"), docno=list("012345"))
    gain = ma.aggregate_labels(qrels, "CAM@2")["label"].to_numpy()
    for known in (labels, Y["credibility"].to_numpy(), gain):
        for given in (known, known.astype(np.float32)):
            with pytest.raises(MultiAspectError, match=DO_NOT_MATCH):
                metric(given[order], scores[order])
            assert metric(given, scores) == in_order


def quantiles(ranks: Any) -> Any:
    return 1 / (9 - ranks) - 1 / (1 + ranks)


@pytest.mark.filterwarnings("ignore:no aspects were selected")
@pytest.mark.parametrize("make", [np.array, quantiles])
def test_ranks_of_another_column_are_no_reordered_labels(make: Any) -> None:
    # Normalised columns have the same values, in an order that is their own.
    rng = np.random.default_rng(2)
    relevance, credibility, labels = (make(rng.permutation(9)) + 8.0 for _ in range(3))
    Y = pd.DataFrame({"relevance": relevance, "credibility": credibility})
    metric = ma.lightgbm_metric("CAM@2", Y, list("aaabbbccc"))
    scores = rng.random(9)
    assert metric(labels, scores) == metric(relevance, scores)


@pytest.mark.parametrize("make", BOTH)
def test_labels_of_a_measure_with_another_cutoff_are_no_rows_in_another_order(make: Any) -> None:
    """Their counts are those of the gain, which is normalised by query and thus no function of the columns."""
    Y = np.array(
        [
            [2, 1],
            [0, 1],
            [0, 1],
            [0, 0],
            [1, 2],
            [1, 0],
            [0, 0],
            [1, 1],
            [2, 2],
            [2, 0],
            [1, 2],
            [1, 0],
            [0, 2],
            [1, 2],
            [2, 2],
            [0, 0],
            [0, 0],
            [1, 1],
            [2, 1],
            [0, 1],
        ]
    )
    aspects = {"relevance": 2, "credibility": 2}
    qrels = pd.DataFrame(Y, columns=list(aspects)).assign(qid=["a"] * 10 + ["b"] * 10, docno=range(20))
    labels = ma.aggregate_labels(qrels, CAM(base="nDCG", aspects=aspects) @ 10)["label"].to_numpy()
    metric = make(CAM(base="nDCG", aspects=aspects) @ 5, Y, qrels["qid"], aspects=aspects)
    assert metric(np.arange(20.0), _Data(labels, [10, 10]))[1] > 0
