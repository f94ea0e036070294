"""Metrics for the boosting libraries' own interfaces: rows in another order, directions, folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")

CAM = ma.CAM(aspects={"relevance": 2, "credibility": 3}) @ 5
RNG = np.random.default_rng(7)
#: Queries of equal and of different sizes.
SIZES = [8] * 10 + [5, 6, 7, 9] * 5
QID = np.repeat([f"q{query:02d}" for query in range(30)], SIZES)
X = RNG.normal(size=(len(QID), 4))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + RNG.normal(size=len(QID)), [0, 1]),
        "credibility": np.digitize(X[:, 1] - X[:, 0] + RNG.normal(size=len(QID)), [-1, 0, 1]),
    }
)
LABEL, PARAMS = ma.aggregate_labels(Y, CAM, "lightgbm", qid=QID)
VALID = QID >= "q15"
GROUPS = {False: SIZES[:15], True: SIZES[15:]}
PARAMS = {**PARAMS, "metric": "None", "num_leaves": 5, "num_threads": 1, "verbose": -1, "seed": 0}
TREES = {
    "objective": "rank:ndcg",
    "disable_default_eval_metric": True,
    "max_depth": 3,
    "nthread": 1,
    "seed": 0,
}


def _metric(library: str, rows: Any = VALID, y: Any = Y, measure: Any = CAM, **options: Any) -> Any:
    rows = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else rows
    return ma.metric_for(library, measure, y.iloc[rows], QID[rows], **options)


def _dataset(part: bool, **options: Any) -> Any:
    rows = part == VALID
    return lightgbm.Dataset(X[rows], LABEL[rows], group=GROUPS[part], **options)


def _train_lightgbm(metric: Any, rounds: int = 5, **options: Any) -> Any:
    data = _dataset(False)
    return lightgbm.train(
        PARAMS, data, rounds, valid_sets=[_dataset(True, reference=data)], feval=metric, **options
    )


def _matrix(part: bool, *, is_grouped: bool = True) -> Any:
    rows = part == VALID
    return xgboost.DMatrix(
        X[rows], LABEL[rows], qid=pd.factorize(QID[rows])[0] if is_grouped else None
    )


def _train_xgboost(metric: Any, rounds: int = 5, *, is_grouped: bool = True, **options: Any) -> Any:
    valid = [(_matrix(True, is_grouped=is_grouped), "valid")]
    return xgboost.train(
        TREES,
        _matrix(False),
        rounds,
        evals=valid,
        custom_metric=metric,
        verbose_eval=False,
        **options,
    )


def _train_ranker(metric: Any, rounds: int = 5) -> Any:
    ranker = lightgbm.LGBMRanker(n_estimators=rounds, **PARAMS)
    sets = {
        "eval_set": [(X[VALID], LABEL[VALID])],
        "eval_group": [GROUPS[True]],
        "eval_metric": metric,
    }
    return ranker.fit(X[~VALID], LABEL[~VALID], group=GROUPS[False], **sets)


def _train_catboost(metric: Any, rounds: int = 5) -> Any:
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    pools = [catboost.Pool(X[rows], LABEL[rows], group_id=QID[rows]) for rows in (~VALID, VALID)]
    fixed = {
        "loss_function": "QueryRMSE",
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    }
    return catboost.CatBoostRanker(iterations=rounds, eval_metric=metric, **fixed).fit(
        pools[0], eval_set=pools[1]
    )


LIBRARIES = {
    "lgb.train": ("lightgbm", _train_lightgbm),
    "LGBMRanker": ("lightgbm", _train_ranker),
    "xgb.train": ("xgboost", _train_xgboost),
    "CatBoostRanker": ("catboost", _train_catboost),
}
pytestmark = [
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
    pytest.mark.filterwarnings("ignore:.*eval_set.* is deprecated"),
]


# -- rows in another order
# -----------------------------------------------------------------------------


def _shuffled_rows() -> Any:
    return RNG.permutation(np.flatnonzero(VALID))


def _reversed_queries() -> Any:
    return np.lexsort((np.arange(len(QID)), QID))[::-1][: VALID.sum()]


def _reversed_rows() -> Any:
    rows = np.flatnonzero(VALID)
    return rows[np.lexsort((-rows, QID[rows]))]


@pytest.mark.every(5)
@pytest.mark.parametrize("order", [_shuffled_rows, _reversed_queries, _reversed_rows])
@pytest.mark.parametrize("door", LIBRARIES)
def test_rows_in_another_order_than_those_of_the_library(door: str, order: Any) -> None:
    library, train = LIBRARIES[door]
    metric = _metric(library, order())
    # CatBoost wraps errors in its own.
    error = (
        MultiAspectError if library != "catboost" else pytest.importorskip("catboost").CatBoostError
    )
    with pytest.raises(error, match=r"one validation set.*in the order of the rows of the set"):
        train(metric)


def test_groups_of_the_library_are_the_queries_of_the_rows() -> None:
    # Constant labels cannot tell.
    y = pd.DataFrame({"relevance": np.ones(len(QID)), "credibility": 1})
    rows = np.flatnonzero(VALID)[::-1]
    message = r"group 0 \(counted from 0\) has 9 rows of query q29 in y, but 6 in the set"
    with pytest.raises(MultiAspectError, match=message):
        _train_lightgbm(_metric("lightgbm", rows, y))
    for sizes in ([*GROUPS[True][:-1], 4, 5], [*GROUPS[True][:-2], sum(GROUPS[True][-2:])]):
        matrix = _matrix(True, is_grouped=False)
        matrix.set_group(sizes)
        with pytest.raises(
            MultiAspectError,
            match=r"group \d+ .* has \d rows of query q\d+ in y, but \d+ in the set",
        ):
            _metric("xgboost")(np.zeros(VALID.sum()), matrix)
    with pytest.raises(MultiAspectError, match=r"group 15 .* has no rows in y, but 1 in the set"):
        _metric("lightgbm")(LABEL[VALID], X[VALID, 0], None, [*GROUPS[True], 1])


@pytest.mark.parametrize("door", LIBRARIES)
def test_a_metric_has_the_value_of_the_fitted_model(door: str) -> None:
    library, train = LIBRARIES[door]
    metric = _metric(library)
    model = train(metric)
    features = xgboost.DMatrix(X[VALID]) if door == "xgb.train" else X[VALID]
    value = ma.ranking_score(Y[VALID], model.predict(features), qid=QID[VALID], measure=CAM)
    assert (
        max(metric.history[0])
        if door == "CatBoostRanker"
        else metric.history[0][-1] == pytest.approx(value)
    )
    assert len(metric.history[0]) == 5


def test_data_without_groups_have_labels_to_compare() -> None:
    _train_xgboost(_metric("xgboost"), is_grouped=False)
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        _train_xgboost(_metric("xgboost", _shuffled_rows()), is_grouped=False)
    regression = {**PARAMS, "objective": "regression"}
    data = lightgbm.Dataset(X[~VALID], LABEL[~VALID])
    valid = lightgbm.Dataset(X[VALID], LABEL[VALID], reference=data)
    lightgbm.train(regression, data, 2, valid_sets=[valid], feval=_metric("lightgbm"))
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        lightgbm.train(
            regression, data, 2, valid_sets=[valid], feval=_metric("lightgbm", _shuffled_rows())
        )


def test_labels_of_another_source_are_a_column_of_y() -> None:
    clicks = RNG.integers(0, 3, len(QID)).astype(float)
    with pytest.raises(MultiAspectError, match="add that as a column to y"):
        _metric("lightgbm")(clicks[VALID], X[VALID, 0])
    y = Y.assign(clicks=clicks, text="a text")
    for measure, aspects in (
        (CAM, None),
        ("CAM@5", {"relevance": 2, "credibility": 3}),
        ("nDCG@5", "relevance"),
    ):
        assert (
            _metric("lightgbm", y=y, measure=measure, aspects=aspects)(clicks[VALID], X[VALID, 0])[
                1
            ]
            > 0
        )
    # Neither document ids nor the scores of a run are labels, so they hide nothing.
    run = Y.assign(
        docno=[f"d{row}" for row in range(len(QID))], score=X[:, 2], rank=np.arange(len(QID))
    )
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        _metric("lightgbm", _shuffled_rows(), run)(LABEL[VALID], X[VALID, 0])


def test_a_metric_of_one_aspect_with_labels_of_two() -> None:
    metric = ma.metric_for("lightgbm", "nDCG@5", Y[VALID], QID[VALID])
    assert metric(LABEL[VALID], X[VALID, 0])[1] == pytest.approx(
        ma.ranking_score(Y.loc[VALID, "relevance"], X[VALID, 0], qid=QID[VALID], measure="nDCG@5")
    )
    holes = Y.astype(float).mask(Y == 1)
    metric = ma.metric_for("lightgbm", CAM, holes[VALID], QID[VALID], missing="lowest")
    assert metric(holes.loc[VALID, "relevance"].fillna(0), X[VALID, 0])[1] > 0


# -- directions
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", [CAM, ma.ESL(wanted=1)], ids=str)
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_the_callback_stops_in_the_direction_of_the_measure(library: str, measure: Any) -> None:
    train = {"lightgbm": _train_lightgbm, "xgboost": _train_xgboost}[library]
    metric = _metric(library, measure=measure)
    options = {"verbose": False} if library == "lightgbm" else {"save_best": True}
    model = train(metric, 40, callbacks=[metric.early_stopping(5, **options)])
    (values,) = metric.history
    best = int(np.argmin(values) if measure.lower_is_better else np.argmax(values))
    assert model.best_iteration == best + (library == "lightgbm")
    assert len(values) == best + 6 < 40
    features = X[VALID] if library == "lightgbm" else xgboost.DMatrix(X[VALID])
    score = ma.ranking_score(Y[VALID], model.predict(features), qid=QID[VALID], measure=measure)
    assert score == pytest.approx(values[best], abs=1e-6)


def test_catboost_has_no_callback() -> None:
    with pytest.raises(MultiAspectError, match="pass early_stopping_rounds=5 to fit"):
        _metric("catboost").early_stopping(5)


# -- folds
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluates_training", [False, True])
def test_lightgbm_cross_validates(evaluates_training: bool) -> None:
    data = lightgbm.Dataset(X, LABEL, group=SIZES, free_raw_data=False)
    metric = _metric("lightgbm", np.arange(len(QID)))
    results = lightgbm.cv(
        PARAMS, data, 20, nfold=3, feval=metric, return_cvbooster=True, eval_train_metric=evaluates_training,
        callbacks=[metric.early_stopping(5, verbose=False)],
    )  # fmt: skip
    means = results[f"valid {metric.name}-mean"]
    expected = []
    for booster in results["cvbooster"].boosters:
        fold = booster.valid_sets[booster.name_valid_sets.index("valid")]
        rows = np.array(fold.used_indices)
        scores = booster.predict(X[rows], num_iteration=len(means))
        expected.append(ma.ranking_score(Y.iloc[rows], scores, qid=QID[rows], measure=CAM))
    assert len(expected) == 3
    assert means[-1] == pytest.approx(np.mean(expected))
    assert len(metric.history) == (6 if evaluates_training else 3)


def test_folds_have_the_scales_of_all_rows() -> None:
    y = Y.copy()
    y.loc[QID == "q00", "credibility"] = 9
    data = lightgbm.Dataset(X, y["credibility"], group=SIZES)
    rows = np.flatnonzero(VALID)
    metric = _metric("lightgbm", np.arange(len(QID)), y, ma.uRBPgr)
    declared = ma.uRBPgr(aspects={"relevance": 2, "credibility": 9})
    known = _metric("lightgbm", rows, y, declared)
    fold = data.subset(rows.tolist()).construct()
    with pytest.warns(ma.MultiAspectWarning, match="inferred"):
        _, value, _ = metric(X[VALID, 0], fold)
    assert value == known(X[VALID, 0], fold)[1]


def test_folds_divide_no_query() -> None:
    data = lightgbm.Dataset(X, LABEL)
    metric = _metric("lightgbm", np.arange(len(QID)))
    with pytest.raises(
        MultiAspectError, match=r"expected folds of whole queries, got .* divided between folds"
    ):
        lightgbm.cv(
            {**PARAMS, "objective": "regression"}, data, 2, nfold=2, stratified=False, feval=metric
        )


def test_xgboost_does_not_tell_the_rows_of_a_fold() -> None:
    data = xgboost.DMatrix(X, LABEL, qid=pd.factorize(QID)[0])
    with pytest.raises(MultiAspectError, match=r"not in xgb\.cv.*cross_validate"):
        xgboost.cv(TREES, data, 2, nfold=3, custom_metric=_metric("xgboost", np.arange(len(QID))))


def test_estimators_of_xgboost_evaluate_query_by_query() -> None:
    fixed = {"n_estimators": 2, "n_jobs": 1, "eval_metric": _metric("xgboost")}
    queries = {"qid": pd.factorize(QID[~VALID])[0], "eval_qid": [pd.factorize(QID[VALID])[0]]}
    for estimator, options in (
        (xgboost.XGBRanker(**fixed), queries),
        (xgboost.XGBRegressor(**fixed), {}),
    ):
        with pytest.raises(
            MultiAspectError, match="query by query, and minimise it; pass the measure to AspectR"
        ):
            estimator.fit(
                X[~VALID],
                LABEL[~VALID],
                eval_set=[(X[VALID], LABEL[VALID])],
                verbose=False,
                **options,
            )


def test_folds_take_ideal_rankings_from_qrels() -> None:
    qrels = Y.assign(qid=QID, docno=[f"d{row}" for row in range(len(QID))])
    retrieved = np.flatnonzero(qrels.groupby("qid").cumcount() < 4)
    rows, labels = qrels.iloc[retrieved], LABEL[retrieved]
    metric = ma.metric_for("lightgbm", CAM, rows, qrels=qrels)
    held = np.flatnonzero(rows["qid"].to_numpy() >= "q15")
    data = lightgbm.Dataset(X[retrieved], labels, group=[4] * 30, free_raw_data=False)
    _, value, _ = metric(X[retrieved[held], 0], data.subset(held.tolist()).construct())
    judged = qrels[qrels["qid"] >= "q15"]
    assert value == ma.ranking_score(
        rows.iloc[held], X[retrieved[held], 0], measure=CAM, qrels=judged
    )
    assert value < ma.ranking_score(rows.iloc[held], X[retrieved[held], 0], measure=CAM)


# -- CatBoost's sets
# -----------------------------------------------------------------------------------

#: Each query has one relevant document, which comes first, so that all sets of ten queries have
#: equal labels.
FIRST = pd.DataFrame({"relevance": np.tile([1, 0, 0, 0, 0, 0], 10)})
FIRST_QID = np.repeat(np.arange(10), 6)


def _equal_sets(number: int) -> list[Any]:
    features = [np.random.default_rng(seed).normal(size=(60, 3)) for seed in range(number)]
    return [values + FIRST.to_numpy() * [0.7, 0, 0] for values in features]


def _catboost(**params: Any) -> Any:
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    fixed = {
        "thread_count": 2,
        "verbose": 0,
        "allow_writing_files": False,
        "loss_function": "QueryRMSE",
    }
    return catboost.CatBoostRanker(iterations=12, depth=3, **fixed, **params)


def _pools(number: int) -> list[Any]:
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    return [catboost.Pool(features, FIRST, group_id=FIRST_QID) for features in _equal_sets(number)]


def _staged(model: Any, features: Any, rounds: Any) -> list[float]:
    scores = list(model.staged_predict(features))
    return [
        ma.ranking_score(FIRST, scores[iteration], qid=FIRST_QID, measure="nDCG@3")
        for iteration in rounds
    ]


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore:Overfitting detector")
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("period", [1, 5])
@pytest.mark.parametrize("number", [1, 2])
def test_catboost_sets_with_equal_labels(number: int, period: int, stops: bool) -> None:
    sets = _equal_sets(number + 1)
    metric = ma.metric_for("catboost", "nDCG@3", FIRST, FIRST_QID)
    rounds = [*range(0, 12, period), *[11] * (period > 1)]
    for fits in (1, 2):  # the second fit has its arrays in other places
        model = _catboost(eval_metric=metric, metric_period=period, use_best_model=False)
        pools = _pools(number + 1)
        model.fit(pools[0], eval_set=pools[1:], early_stopping_rounds=20 if stops else None)
        assert len(metric.history) == number
        for index, values in enumerate(metric.history):
            is_last = index == number - 1
            expected = _staged(model, sets[index + 1], range(12) if stops and is_last else rounds)
            assert values == pytest.approx(expected * fits)


@pytest.mark.filterwarnings("ignore:Overfitting detector")
@pytest.mark.parametrize("period", [1, 5])
def test_ranker_of_catboost_with_equal_sets(period: int) -> None:
    sets = [
        (features, FIRST, FIRST_QID + 10 * index) for index, features in enumerate(_equal_sets(3))
    ]
    ranker = ma.AspectRanker(_catboost(metric_period=period), "relevance", measure="nDCG@3")
    ranker.fit(*sets[0], eval_set=sets[1:])
    (values,) = ranker.evals_result_["valid_1"].values()
    rounds = [*range(0, 12, period), *[11] * (period > 1)]
    assert ranker.best_iteration_ == rounds[int(np.argmax(values))] + 1
    best = ma.ranking_score(FIRST, ranker.predict(sets[2][0]), qid=FIRST_QID, measure="nDCG@3")
    assert max(values) == pytest.approx(best)


def test_catboost_without_the_set_of_the_metric() -> None:
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    pools = _pools(2)
    metric = ma.metric_for("catboost", "nDCG@3", FIRST[:54], FIRST_QID[:54])
    with pytest.raises(
        catboost.CatBoostError, match=r"expected an evaluation set of 54 rows, .* got 60; pass"
    ):
        _catboost(eval_metric=metric).fit(pools[0], eval_set=pools[1])
    metric = ma.metric_for("catboost", "nDCG@3", FIRST, FIRST_QID)
    with pytest.raises(
        catboost.CatBoostError, match=r"expected an evaluation set of 60 rows, .* got none; pass"
    ):
        _catboost(eval_metric=metric).fit(pools[0])


def test_catboost_metric_without_arrays_of_the_library() -> None:
    metric = ma.metric_for("catboost", "nDCG@3", FIRST, FIRST_QID)
    for _ in range(3):
        assert metric.evaluate([X[:60, 0]], FIRST["relevance"].tolist(), None) == (0.0, 1.0)
        assert metric.evaluate([X[:60, 1]], FIRST["relevance"].tolist(), None)[0] > 0
    assert len(metric.history[0]) == 3
