"""Labels, topics and measures that functions for learning refuse, with the remedy, and those that they accept."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import pt_multiaspect as ma
from pt_multiaspect import CAM, MultiAspectError

ASPECTS = ma.Aspects({"relevance": 2, "credibility": 3})
MEASURE = CAM(aspects=ASPECTS) @ 5
LONGER = ma.ESL(wanted=1)
N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
QID = np.repeat([f"q{i}" for i in range(8)], 5)
Y = pd.DataFrame({"relevance": RNG.integers(0, 3, N), "credibility": RNG.integers(0, 4, N)})
HOLES = Y.astype(float)
HOLES.loc[3] = np.nan
RANKER = ma.AspectRanker(Ridge(), target=MEASURE).fit(X, Y, qid=QID)


def _metric(y: Any, qid: Any, measure: Any, **more: Any) -> float:
    metric = ma.metric_for("lightgbm", measure, y, qid, aspects=ASPECTS, **more)
    return float(metric(Y["relevance"], X[:, 0])[1])


def _catboost(y: Any, qid: Any, measure: Any, **more: Any) -> float:
    metric = ma.metric_for("catboost", measure, y, qid, aspects=ASPECTS, **more)
    metric.evaluate([X[:1, 0]], Y["relevance"][:1], None)  # the training set comes first
    return float(metric.evaluate([X[:, 0]], Y["relevance"], None)[0])


def _score(y: Any, qid: Any, measure: Any, **more: Any) -> float:
    return float(ma.ranking_score(y, X[:, 0], qid=qid, measure=measure, aspects=ASPECTS, **more))


def _scorer(y: Any, qid: Any, measure: Any, **more: Any) -> float:
    return float(ma.ranking_scorer(measure, aspects=ASPECTS, **more)(_First(), X, y, qid=qid))


def _scorers(y: Any, qid: Any, measure: Any, **more: Any) -> float:
    return ma.ranking_scorer({"m": measure}, aspects=ASPECTS, **more)(_First(), X, y, qid=qid)["m"]


class _First:
    def predict(self, X: Any) -> Any:
        return X[:, 0]


def _fit(y: Any, qid: Any, measure: Any, **more: Any) -> Any:
    return ma.AspectRanker(Ridge(), target=measure, **more).fit(X, y, qid=qid).predict(X)


def _own_score(y: Any, qid: Any, measure: Any, missing: str = "error") -> float:
    ranker = ma.AspectRanker(Ridge(), target=measure, missing=missing).fit(X, Y, qid=QID)
    return ranker.score(X, y, qid=qid)


def _labels(y: Any, qid: Any, measure: Any, **more: Any) -> Any:
    columns = {} if qid is None else {"qid": qid}
    rows = y.iloc[: N if qid is None else len(qid)]
    qrels = rows.assign(docno=[f"d{row}" for row in range(len(rows))], **columns)
    return ma.aggregate_labels(qrels, measure, **more).values["label"].to_numpy()


DOORS: dict[str, Callable[..., Any]] = {
    "ranking_score": _score,
    "ranking_scorer": _scorer,
    "ranking_scorer of several": _scorers,
    "metric_for": _metric,
    "metric_for CatBoost": _catboost,
    "AspectRanker": _fit,
    "AspectRanker.score": _own_score,
    "aggregate_labels": _labels,
}

#: What is wrong -> the arguments, and what every message must tell.
WRONG: dict[str, tuple[tuple[Any, Any], str]] = {
    "no qid": ((Y, None), r"qid"),
    "qid of one row missing": (
        (Y, np.where(np.arange(N) == 2, None, QID)),
        r"in every row, got none in row 2",
    ),
    "qid of fewer rows": ((Y, QID[:-5]), r"one value for each of 40 rows, got shape \(35,\)"),
    "a label missing": (
        (HOLES, QID),
        r"label in 1 of 40 rows \(NaN\); drop these rows, or pass missing='lowest'",
    ),
    "an aspect missing": ((Y[["relevance"]], QID), r"no column for the aspect credibility"),
}

#: Where it is not wrong: qrels have a qid in each row, and a document per row.
NOT_WRONG = {("aggregate_labels", "qid of fewer rows")}


@pytest.mark.every(2)
@pytest.mark.filterwarnings("ignore:ranking_scorer:pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize(("door", "what"), sorted(set(itertools.product(DOORS, WRONG)) - NOT_WRONG))
def test_no_way_in_accepts_it(door: str, what: str) -> None:
    (y, qid), message = WRONG[what]
    with pytest.raises(MultiAspectError, match=message):
        DOORS[door](y, qid, MEASURE)


@pytest.mark.parametrize("door", DOORS)
def test_missing_labels_count_as_lowest_if_asked_for(door: str) -> None:
    zeros = HOLES.fillna(0).astype(int)
    expected = DOORS[door](zeros, QID, MEASURE)
    assert np.array_equal(DOORS[door](HOLES, QID, MEASURE, missing="lowest"), expected)
    # The message of the error says what to do: drop, or ask.
    with pytest.raises(MultiAspectError, match="missing"):
        DOORS[door](HOLES, QID, MEASURE, missing="zero")


def test_single_aspect_measures_need_labels_of_their_aspect_only() -> None:
    holes = HOLES.assign(relevance=Y["relevance"])
    for door in (_score, _scorer, _metric, _catboost):
        assert door(holes, QID, "nDCG@5") == door(Y, QID, "nDCG@5") > 0


# -- measures for which lower is better
# -------------------------------------------------------------


def test_lower_is_better_has_its_direction_at_each_way_in() -> None:
    """Of ESL, scores of searches are negated, as these maximise; metrics tell the library to minimise."""
    value = _score(Y, QID, LONGER)
    assert value > 0
    assert _scorer(Y, QID, LONGER) == -value
    assert _scorers(Y, QID, LONGER) == -value

    metric = ma.metric_for("lightgbm", LONGER, Y, QID, aspects=ASPECTS)
    _name, value_of_metric, higher_is_better = metric(Y["relevance"], X[:, 0])
    assert value_of_metric == value
    assert higher_is_better is False
    assert metric.maximize is False  # for XGBoost
    assert metric.is_max_optimal() is False  # for CatBoost


@pytest.mark.parametrize("door", [_fit, _labels])
@pytest.mark.parametrize("target", [LONGER, "ESL(wanted=1)", "nDCG@5"])
def test_measures_without_a_gain_per_document_are_no_targets(
    door: Callable[..., Any], target: Any
) -> None:
    message = r"expected a measure with a gain per document .*ranking_scorer"
    with pytest.raises(MultiAspectError, match=message):
        door(Y, QID, target)


def test_a_target_over_a_lower_is_better_base_still_ranks_better_documents_first() -> None:
    for base in (LONGER, "CRP"):
        labels = pd.Series(_labels(Y, QID, CAM(base=base, aspects=ASPECTS)))
        assert all(labels.groupby(QID).apply(lambda grades: grades.max()) > 0)
        assert labels.corr(Y.sum(axis=1), method="spearman") > 0.5


# -- other groups
# --------------------------------------------------------------------------------------


def test_queries_of_a_metric_may_be_in_the_index_of_its_labels() -> None:
    indexed = Y.set_axis(pd.Index(QID, name="qid"))
    for door in (_metric, _catboost):
        assert door(indexed, None, MEASURE) == door(Y, QID, MEASURE)


def test_folds_need_queries_of_all_rows() -> None:
    for groups, message in (
        (None, "pass groups=qid"),
        (QID[:3], r"each of 40 rows, got shape \(3,\)"),
    ):
        with pytest.raises(MultiAspectError, match=message):
            next(ma.RepeatedQueryKFold(2, 1).split(X, Y, groups=groups))


# -- rows in another order
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("door", sorted(set(DOORS) - {"aggregate_labels"}))
def test_frames_with_the_same_rows_in_another_order_are_no_pair(door: str) -> None:
    # Rows match by position, as in scikit-learn: labels or queries of other rows were taken without
    # a sign.
    backwards = pd.Series(QID[::-1], index=Y.index[::-1])
    with pytest.raises(MultiAspectError, match="rows are matched by position"):
        DOORS[door](Y, backwards, MEASURE)
    other = pd.Series(QID, index=range(100, 100 + N))
    assert np.array_equal(DOORS[door](Y, other, MEASURE), DOORS[door](Y, QID, MEASURE))


@pytest.mark.parametrize("use", ["fit", "score", "search"])
def test_features_in_another_order_than_labels(use: str) -> None:
    features = pd.DataFrame(X)[::-1]
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: RANKER.fit(features, Y, qid=QID),
        "score": lambda: RANKER.score(features, Y, qid=QID),
        "search": lambda: ma.ranking_scorer(MEASURE)(RANKER, features, Y, qid=QID),
    }
    with pytest.raises(MultiAspectError, match=r"index of X.*index of y.*different"):
        calls[use]()


@pytest.mark.parametrize("use", ["fit", "weigh", "score", "search", "ranking_score", "split"])
def test_queries_and_weights_in_another_order_than_features(use: str) -> None:
    # The labels are an array, so that only the other objects tell that rows are in another order.
    y, features = Y.to_numpy(), pd.DataFrame(X)
    backwards, weights = pd.Series(QID)[::-1], pd.Series(np.ones(N))
    ranker = ma.AspectRanker(Ridge(), MEASURE, aspects=ASPECTS)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: ranker.fit(features, y, qid=backwards),
        "weigh": lambda: ranker.fit(X, y, qid=backwards, sample_weight=weights),
        "score": lambda: ranker.fit(X, y, qid=QID).score(features, y, qid=backwards),
        "search": lambda: ma.ranking_scorer(MEASURE)(
            ranker.fit(X, y, qid=QID), features, y, qid=backwards
        ),
        "ranking_score": lambda: ma.ranking_score(
            y, pd.Series(X[:, 0]), qid=backwards, measure=MEASURE
        ),
        "split": lambda: next(ma.RepeatedQueryKFold(2, 1).split(features, y, groups=backwards)),
    }
    with pytest.raises(
        MultiAspectError, match=r"index of \w+ has.*different order.*\w+\.to_numpy\(\)"
    ):
        calls[use]()
    assert ranker.fit(features, y, qid=backwards.to_numpy()).n_features_in_ == X.shape[1]


@pytest.mark.parametrize("use", ["fit", "score", "search"])
@pytest.mark.parametrize("as_column", [False, True], ids=["in the index", "in a column"])
def test_features_of_other_queries_than_the_labels(use: str, as_column: bool) -> None:
    """The features have q1 where the labels have q0, so that they cannot be the same rows in another order."""
    y = Y.set_axis(pd.Index(QID, name="qid"))
    other_qid = pd.Index(np.where(QID == "q0", "q1", QID), name="qid")
    features = pd.DataFrame(X).rename(columns=str)
    if as_column:
        features = features.assign(qid=other_qid)
    else:
        features = features.set_axis(other_qid)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: clone(RANKER).fit(features, y),
        "score": lambda: RANKER.score(features, y),
        "search": lambda: ma.ranking_scorer(MEASURE)(RANKER, features, y),
    }
    with pytest.raises(MultiAspectError, match=r"expected y and X.*qid.*got q0 and q1"):
        calls[use]()


def test_queries_numbered_in_the_features_are_the_same_queries() -> None:
    features = pd.DataFrame(X).set_axis(pd.Index(pd.factorize(QID)[0], name="qid"))
    scorer = ma.ranking_scorer(MEASURE)
    ranker = clone(RANKER).fit(X, Y, qid=QID)
    assert scorer(ranker, features.to_numpy(), Y, qid=QID) == scorer(
        ranker, features, Y.set_axis(pd.Index(QID, name="qid"))
    )


# -- settings that failed
# ------------------------------------------------------------------------------


def test_failed_settings_are_never_chosen() -> None:
    table = pd.DataFrame({"relevance": [np.nan, 0.4], "credibility": [0.9, 0.1]})
    assert ma.pareto_front(table, list(table), choose="knee") == 1
    with pytest.raises(MultiAspectError, match="every setting failed"):
        ma.pareto_front(table[:1], list(table), choose="knee")
    with pytest.raises(MultiAspectError, match="expected finite scores, got NaN"):
        ma.paired_interval([0.1, np.nan], [0.1, 0.2], n_folds=2)
