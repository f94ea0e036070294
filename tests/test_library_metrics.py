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
    """A set whose groups have other sizes than the queries of y is refused, also if labels are equal."""
    constant = pd.DataFrame({"relevance": np.ones(len(QID)), "credibility": 1})
    reversed_rows = np.flatnonzero(VALID)[::-1]
    # The last of the validation queries, q29, has 9 rows; the first, q15, has 6.
    message = r"group 0 \(counted from 0\) has 9 rows of query q29 in y, but 6 in the set"
    with pytest.raises(MultiAspectError, match=message):
        _train_lightgbm(_metric("lightgbm", reversed_rows, constant))


@pytest.mark.parametrize("change", ["last group divided", "last two groups merged"])
def test_groups_of_xgboost_are_the_queries_of_the_rows(change: str) -> None:
    *first_sizes, next_to_last, last = GROUPS[True]  # the sizes of the validation queries
    if change == "last group divided":
        sizes = [*first_sizes, next_to_last, 4, last - 4]
    else:
        sizes = [*first_sizes, next_to_last + last]
    matrix = _matrix(True, is_grouped=False)
    matrix.set_group(sizes)
    metric = _metric("xgboost")
    message = r"group \d+ .* has \d rows of query q\d+ in y, but \d+ in the set"
    with pytest.raises(MultiAspectError, match=message):
        metric(np.zeros(VALID.sum()), matrix)


def test_a_further_group_of_the_library_has_no_query() -> None:
    sizes = [*GROUPS[True], 1]  # y has 15 queries, the groups 0 to 14
    metric = _metric("lightgbm")
    with pytest.raises(MultiAspectError, match=r"group 15 .* has no rows in y, but 1 in the set"):
        # As estimators of LightGBM call it: labels, predictions, weights, sizes of groups.
        metric(LABEL[VALID], X[VALID, 0], None, sizes)


@pytest.mark.parametrize("door", LIBRARIES)
def test_a_metric_has_the_value_of_the_fitted_model(door: str) -> None:
    library, train = LIBRARIES[door]
    metric = _metric(library)

    model = train(metric)  # in five rounds

    features = xgboost.DMatrix(X[VALID]) if door == "xgb.train" else X[VALID]
    value = ma.ranking_score(Y[VALID], model.predict(features), qid=QID[VALID], measure=CAM)
    (values_by_round,) = metric.history
    assert len(values_by_round) == 5
    # CatBoost keeps the trees up to the best round; the others keep all.
    kept = max(values_by_round) if door == "CatBoostRanker" else values_by_round[-1]
    assert kept == pytest.approx(value)


def test_xgboost_data_without_groups_have_labels_to_compare() -> None:
    """Without groups, rows in another order than y show only in their labels."""
    _train_xgboost(_metric("xgboost"), is_grouped=False)
    shuffled = _metric("xgboost", _shuffled_rows())
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        _train_xgboost(shuffled, is_grouped=False)


def test_lightgbm_data_without_groups_have_labels_to_compare() -> None:
    """Without groups, as for regression, rows in another order than y show only in their labels."""
    params = {**PARAMS, "objective": "regression"}
    train = lightgbm.Dataset(X[~VALID], LABEL[~VALID])
    valid = lightgbm.Dataset(X[VALID], LABEL[VALID], reference=train)
    lightgbm.train(params, train, 2, valid_sets=[valid], feval=_metric("lightgbm"))
    shuffled = _metric("lightgbm", _shuffled_rows())
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        lightgbm.train(params, train, 2, valid_sets=[valid], feval=shuffled)


def test_labels_of_another_source_are_refused_unless_y_has_them() -> None:
    """A set may be trained on labels that no aspect has, such as clicks."""
    clicks = RNG.integers(0, 3, len(QID)).astype(float)
    metric = _metric("lightgbm")
    with pytest.raises(MultiAspectError, match="add that as a column to y"):
        metric(clicks[VALID], X[VALID, 0])


@pytest.mark.parametrize(
    ("measure", "aspects"),
    [(CAM, None), ("CAM@5", {"relevance": 2, "credibility": 3}), ("nDCG@5", "relevance")],
    ids=["measure", "string and scales", "string and aspect"],
)
def test_labels_of_another_source_are_a_column_of_y(measure: Any, aspects: Any) -> None:
    clicks = RNG.integers(0, 3, len(QID)).astype(float)
    y = Y.assign(clicks=clicks, text="a text")
    metric = _metric("lightgbm", y=y, measure=measure, aspects=aspects)
    _name, value, _is_higher_better = metric(clicks[VALID], X[VALID, 0])
    assert value > 0


def test_columns_of_a_run_are_no_labels_of_another_source() -> None:
    """Labels are compared only if y has no further columns that may be their source; these are none."""
    row_numbers = np.arange(len(QID))
    y = Y.assign(docno=[f"d{row}" for row in row_numbers], score=X[:, 2], rank=row_numbers)
    metric = _metric("lightgbm", _shuffled_rows(), y)
    with pytest.raises(MultiAspectError, match="have equal labels in y, but"):
        metric(LABEL[VALID], X[VALID, 0])


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


@pytest.mark.parametrize("measure", [CAM, ma.ESL(wanted=1)], ids=str)  # ESL: lower is better
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_the_callback_stops_in_the_direction_of_the_measure(library: str, measure: Any) -> None:
    metric = _metric(library, measure=measure)
    if library == "lightgbm":
        stop = metric.early_stopping(5, verbose=False)
        model = _train_lightgbm(metric, rounds=40, callbacks=[stop])
    else:
        stop = metric.early_stopping(5, save_best=True)
        model = _train_xgboost(metric, rounds=40, callbacks=[stop])

    (values,) = metric.history
    best_round = int(np.argmin(values) if measure.lower_is_better else np.argmax(values))
    n_before_best_iteration = 1 if library == "lightgbm" else 0  # where it starts to count
    assert model.best_iteration == best_round + n_before_best_iteration
    # The rounds up to the best, counted from 0, and five without an improvement.
    assert len(values) == (best_round + 1) + 5
    assert len(values) < 40
    features = X[VALID] if library == "lightgbm" else xgboost.DMatrix(X[VALID])
    score = ma.ranking_score(Y[VALID], model.predict(features), qid=QID[VALID], measure=measure)
    assert score == pytest.approx(values[best_round], abs=1e-6)


def test_catboost_has_no_callback() -> None:
    with pytest.raises(MultiAspectError, match="pass early_stopping_rounds=5 to fit"):
        _metric("catboost").early_stopping(5)


# -- folds
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluates_training", "n_sets"),
    [(False, 3), (True, 6)],  # three folds, each with a validation set
    ids=["validation sets", "training sets too"],
)
def test_lightgbm_cross_validates(evaluates_training: bool, n_sets: int) -> None:
    """The mean that lgb.cv reports is that of the values of its folds."""
    data = lightgbm.Dataset(X, LABEL, group=SIZES, free_raw_data=False)
    all_rows = np.arange(len(QID))
    metric = _metric("lightgbm", all_rows)

    results = lightgbm.cv(
        PARAMS, data, 20, nfold=3, feval=metric, return_cvbooster=True, eval_train_metric=evaluates_training,
        callbacks=[metric.early_stopping(5, verbose=False)],
    )  # fmt: skip

    means_by_round = results[f"valid {metric.name}-mean"]
    n_rounds = len(means_by_round)
    expected = []
    for booster in results["cvbooster"].boosters:
        validation_set = booster.valid_sets[booster.name_valid_sets.index("valid")]
        rows = np.array(validation_set.used_indices)
        predictions = booster.predict(X[rows], num_iteration=n_rounds)
        score = ma.ranking_score(Y.iloc[rows], predictions, qid=QID[rows], measure=CAM)
        expected.append(score)
    assert len(expected) == 3
    assert means_by_round[-1] == pytest.approx(np.mean(expected))
    assert len(metric.history) == n_sets


def test_folds_have_the_scales_of_all_rows() -> None:
    """Scales are inferred from all rows, as here the highest grade, which the fold does not have."""
    y = Y.copy()
    y.loc[QID == "q00", "credibility"] = 9
    fold_rows = np.flatnonzero(VALID)  # q15 to q29
    data = lightgbm.Dataset(X, y["credibility"], group=SIZES)
    fold = data.subset(fold_rows.tolist()).construct()
    predictions = X[VALID, 0]

    inferred = _metric("lightgbm", np.arange(len(QID)), y, ma.uRBPgr)
    with pytest.warns(ma.MultiAspectWarning, match="inferred"):
        _name, value, _is_higher_better = inferred(predictions, fold)

    measure = ma.uRBPgr(aspects={"relevance": 2, "credibility": 9})
    declared = _metric("lightgbm", fold_rows, y, measure)
    _name, expected, _is_higher_better = declared(predictions, fold)
    assert value == expected


def test_folds_divide_no_query() -> None:
    """Data without groups are divided by rows, not by queries."""
    data = lightgbm.Dataset(X, LABEL)
    params = {**PARAMS, "objective": "regression"}
    all_rows = np.arange(len(QID))
    metric = _metric("lightgbm", all_rows)
    message = r"expected folds of whole queries, got .* divided between folds"
    with pytest.raises(MultiAspectError, match=message):
        lightgbm.cv(params, data, 2, nfold=2, stratified=False, feval=metric)


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
    """If qrels judge more documents than the rows have, the value of a fold is relative to all of them."""
    qrels = Y.assign(qid=QID, docno=[f"d{row}" for row in range(len(QID))])
    # The first four documents of each of the 30 queries are retrieved.
    is_retrieved = (qrels.groupby("qid").cumcount() < 4).to_numpy()
    retrieved = qrels[is_retrieved]
    features, labels = X[is_retrieved], LABEL[is_retrieved]
    metric = ma.metric_for("lightgbm", CAM, retrieved, qrels=qrels)

    is_in_fold = (retrieved["qid"] >= "q15").to_numpy()
    data = lightgbm.Dataset(features, labels, group=[4] * 30, free_raw_data=False)
    fold = data.subset(np.flatnonzero(is_in_fold).tolist()).construct()
    predictions = features[is_in_fold, 0]
    _name, value, _is_higher_better = metric(predictions, fold)

    fold_rows = retrieved[is_in_fold]
    judged = qrels[qrels["qid"] >= "q15"]
    assert value == ma.ranking_score(fold_rows, predictions, measure=CAM, qrels=judged)
    assert value < ma.ranking_score(fold_rows, predictions, measure=CAM)


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


def _evaluated_rounds(period: int) -> list[int]:
    """The rounds of twelve in which CatBoost evaluates metrics: every period-th one, and the last."""
    return sorted({*range(0, 12, period), 11})


@pytest.mark.every(3)
@pytest.mark.filterwarnings("ignore:Overfitting detector")
@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("period", [1, 5])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_catboost_sets_with_equal_labels(n_sets: int, period: int, stops: bool) -> None:
    """CatBoost does not tell a metric which set it evaluates; each set gets its own history."""
    features = _equal_sets(n_sets + 1)  # of the training set, then of the evaluation sets
    metric = ma.metric_for("catboost", "nDCG@3", FIRST, FIRST_QID)
    early_stopping = {"early_stopping_rounds": 20} if stops else {}
    for n_fits in (1, 2):  # the second fit has its arrays in other places
        model = _catboost(eval_metric=metric, metric_period=period, use_best_model=False)
        training_set, *evaluation_sets = _pools(n_sets + 1)
        model.fit(training_set, eval_set=evaluation_sets, **early_stopping)

        assert len(metric.history) == n_sets
        for index, values in enumerate(metric.history):
            # Early stopping evaluates the last set in every round.
            is_always_evaluated = stops and index == n_sets - 1
            rounds = range(12) if is_always_evaluated else _evaluated_rounds(period)
            values_of_fit = _staged(model, features[index + 1], rounds)
            assert values == pytest.approx(values_of_fit * n_fits)  # all fits, one after the other


@pytest.mark.filterwarnings("ignore:Overfitting detector")
@pytest.mark.parametrize("period", [1, 5])
def test_ranker_of_catboost_with_equal_sets(period: int) -> None:
    """The model has the trees up to the round in which the last evaluation set had its best value."""
    training_set, first_set, last_set = [
        (features, FIRST, FIRST_QID + 10 * number)  # other queries, with equal labels
        for number, features in enumerate(_equal_sets(3))
    ]
    ranker = ma.AspectRanker(_catboost(metric_period=period), "relevance", measure="nDCG@3")

    ranker.fit(*training_set, eval_set=[first_set, last_set])

    (values,) = ranker.evals_result_["valid_1"].values()  # of the last set
    best_round = _evaluated_rounds(period)[int(np.argmax(values))]
    assert ranker.best_iteration_ == best_round + 1
    predictions = ranker.predict(last_set[0])
    score = ma.ranking_score(FIRST, predictions, qid=FIRST_QID, measure="nDCG@3")
    assert max(values) == pytest.approx(score)


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
    """CatBoost evaluates the training set first, for which the metric is not computed, in each round.

    The labels are lists here, not CatBoost's own arrays, by whose addresses sets are recognised.
    """
    metric = ma.metric_for("catboost", "nDCG@3", FIRST, FIRST_QID)
    training_scores, validation_scores = X[:60, 0], X[:60, 1]
    labels = FIRST["relevance"].tolist()
    not_computed = (0.0, 1.0)  # a value and its weight
    for _round in range(3):
        assert metric.evaluate([training_scores], labels, None) == not_computed
        value, _weight = metric.evaluate([validation_scores], labels, None)
        assert value > 0
    (values,) = metric.history
    assert len(values) == 3
