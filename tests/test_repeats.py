"""Repeated folds of queries, and intervals of paired scores: `RepeatedQueryKFold` and `paired_interval`."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_validate

import pt_multiaspect as ma
from pt_multiaspect import AspectRanker, MultiAspectError, On, RepeatedQueryKFold

GRADES = {"relevance": 2, "credibility": 3}
NAMES = ["relevance", "credibility"]
RNG = np.random.default_rng(1)
N = 160
QID = RNG.choice([f"q{i}" for i in range(16)], N)
X = RNG.normal(size=(N, 3))
Y = pd.DataFrame(
    {
        "relevance": np.digitize(X[:, 0] + 0.3 * RNG.normal(size=N), [0, 1]),
        "credibility": np.digitize(X[:, 1] - X[:, 0] + 0.3 * RNG.normal(size=N), [-1, 0, 1]),
    }
)
SCORING = {name: ma.ranking_scorer(On(aspect=name, aspects=GRADES)) for name in NAMES}


# -- repeated folds -------------------------------------------------------------------------------


def test_folds_have_whole_queries_and_cover_all() -> None:
    cv = RepeatedQueryKFold(n_splits=3, n_repeats=4)
    splits = list(cv.split(X, Y, QID))
    assert len(splits) == cv.get_n_splits() == 12
    for repeat in range(4):
        tests = [test for _, test in splits[3 * repeat : 3 * repeat + 3]]
        assert sorted(np.concatenate(tests)) == list(range(N))
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(N))
        assert not set(QID[train]) & set(QID[test])
        assert (np.diff(test) > 0).all()
        assert len(set(QID[test])) in (5, 6)
        # Queries stay together, so that rankers can be given groups.
        assert (QID[train][1:] != QID[train][:-1]).sum() == len(set(QID[train])) - 1
    assert len({frozenset(test) for _, test in splits}) == 12


def test_orders_of_rows_differ_between_repeats_and_not_between_calls() -> None:
    cv = RepeatedQueryKFold(n_splits=2, n_repeats=3)
    for (train, test), (again, same) in zip(
        cv.split(X, Y, QID), cv.split(X, groups=pd.Series(QID)), strict=True
    ):
        assert (train == again).all()
        assert (test == same).all()
        assert (np.diff(train) < 0).any()
    other = next(RepeatedQueryKFold(n_splits=2, random_state=1).split(X, Y, QID))
    assert set(other[1]) != set(next(cv.split(X, Y, QID))[1])
    plain = RepeatedQueryKFold(n_splits=2, shuffle_rows=False)
    assert all((np.diff(train) > 0).all() for train, _ in plain.split(X, Y, QID))


def test_the_order_of_rows_reaches_the_ranker() -> None:
    seen = []

    class Recorder(Ridge):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(X[:, 0].copy())
            return super().fit(X, y)

    cv = RepeatedQueryKFold(n_splits=2, n_repeats=2)
    for train, _ in cv.split(X, Y, QID):
        AspectRanker(Recorder(), target=On(aspect="relevance", aspects=GRADES)).fit(
            X[train], Y.iloc[train]
        )
        assert (seen[-1] == X[train, 0]).all()


def test_queries_are_found_in_the_labels() -> None:
    expected = [test.tolist() for _, test in RepeatedQueryKFold(n_repeats=1).split(X, Y, QID)]
    for labels in (Y.assign(qid=QID), Y.set_index(pd.Index(QID, name="qid"))):
        assert [
            test.tolist() for _, test in RepeatedQueryKFold(n_repeats=1).split(X, labels)
        ] == expected


@pytest.mark.every(3)
@pytest.mark.parametrize("is_routed", [True, False], ids=["routing", "no routing"])
@pytest.mark.parametrize(
    ("search_class", "options"),
    [(GridSearchCV, {}), (RandomizedSearchCV, {"n_iter": 2, "random_state": 0})],
    ids=["grid", "random"],
)
def test_searches_take_it_as_cv(
    search_class: Any, options: dict[str, Any], is_routed: bool
) -> None:
    cv = RepeatedQueryKFold(n_splits=2, n_repeats=2)  # the splits 0 to 3
    ranker = AspectRanker(Ridge(), target=On(aspect="relevance", aspects=GRADES))
    search = search_class(
        ranker, {"estimator__alpha": [1, 9]}, scoring=SCORING["relevance"], cv=cv, **options
    )
    with sklearn.config_context(enable_metadata_routing=is_routed):
        if is_routed:
            search.fit(X, Y, groups=QID, qid=QID)
        else:
            search.fit(X, Y.set_index(pd.Index(QID, name="qid")), groups=QID)
    assert np.isfinite(search.cv_results_["split3_test_score"]).all()
    assert "split4_test_score" not in search.cv_results_


@pytest.mark.parametrize(
    ("params", "options", "message"),
    [
        ({}, {"groups": None}, "RepeatedQueryKFold needs the query of every row: pass groups=qid"),
        (
            {},
            {"groups": QID[:3]},
            "groups: expected one value for each of 160 rows, got shape (3,)",
        ),
        ({"n_splits": 17}, {}, "n_splits=17 queries, got 16"),
        ({"n_splits": 1}, {}, "n_splits: expected a whole number of at least 2"),
        ({"n_repeats": 0}, {}, "n_repeats: expected a whole number of at least 1"),
        ({"random_state": None}, {}, "random_state: expected a whole number of at least 0"),
        ({"shuffle_rows": 1}, {}, "shuffle_rows: expected True or False, got 1"),
    ],
    ids=str,
)
def test_what_cannot_be_split(params: Any, options: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        list(RepeatedQueryKFold(**params).split(X, **{"groups": QID, **options}))


# -- paired intervals -----------------------------------------------------------------------------


def scores_of_two_models() -> tuple[np.ndarray, np.ndarray]:
    """Scores of two models on 30 splits, six repeats of five folds."""
    rng = np.random.default_rng(0)
    return rng.normal(0.55, 0.1, 30), rng.normal(0.45, 0.1, 30)


def test_intervals_are_those_of_the_corrected_test() -> None:
    """The corrected resampled t test of Nadeau and Bengio."""
    first, second = scores_of_two_models()
    differences = first - second
    interval = ma.paired_interval(first, second, n_folds=5)
    # 1 / 30 of the number of splits, and 1 / 4 of the queries for tests to those for training.
    error = np.sqrt((1 / 30 + 1 / 4) * differences.var(ddof=1))
    low, high = stats.t.interval(0.95, 29, differences.mean(), error)
    p_value = 2 * stats.t.sf(abs(differences.mean()) / error, 29)
    assert interval["difference"] == pytest.approx(differences.mean())
    assert interval["low"] == pytest.approx(low)
    assert interval["high"] == pytest.approx(high)
    assert interval["p_value"] == pytest.approx(p_value)
    # The usual test of as many independent differences claims much more.
    usual = stats.ttest_rel(first, second)
    assert usual.pvalue < 0.1 * interval["p_value"]


def test_intervals_of_less_confidence_are_narrower() -> None:
    first, second = scores_of_two_models()
    wide = ma.paired_interval(first, second, n_folds=5)
    narrow = ma.paired_interval(first, second, n_folds=5, ci=0.5)
    assert wide["low"] < narrow["low"] < narrow["high"] < wide["high"]


def test_swapped_models_have_the_negative_interval() -> None:
    first, second = scores_of_two_models()
    interval = ma.paired_interval(first, second, n_folds=5)
    swapped = ma.paired_interval(second.tolist(), pd.Series(first), n_folds=5)
    assert swapped["difference"] == pytest.approx(-interval["difference"])
    assert swapped["low"] == pytest.approx(-interval["high"])
    assert swapped["high"] == pytest.approx(-interval["low"])


def differences_of_equal_learners(rng: np.random.Generator) -> list[float]:
    """Differences of the errors of two learners, in six repeats of five folds of 40 queries.

    Each query has a random value per learner. A learner predicts the mean of the training queries.
    """
    values = rng.normal(size=(2, 40))  # learners, queries
    differences = []
    for repeat in range(6):
        shuffled = np.random.default_rng(repeat).permutation(40)
        for fold in np.array_split(shuffled, 5):
            train = np.setdiff1d(np.arange(40), fold)
            predictions = values[:, train].mean(axis=1, keepdims=True)
            first_error, second_error = ((values[:, fold] - predictions) ** 2).mean(axis=1)
            differences.append(first_error - second_error)
    return differences


@pytest.mark.slow
def test_learners_trained_on_samples_of_queries_differ_within_the_interval() -> None:
    """Of two learners that are equally good, the interval misses 0 in about 5 % of studies, not in half of them."""
    rng = np.random.default_rng(2)
    n_studies = 100
    n_missed = n_missed_by_usual_test = 0
    for _study in range(n_studies):
        differences = differences_of_equal_learners(rng)
        interval = ma.paired_interval(differences, np.zeros(30), n_folds=5)
        n_missed += not interval["low"] <= 0 <= interval["high"]
        n_missed_by_usual_test += stats.ttest_1samp(differences, 0).pvalue < 0.05
    assert n_missed < 0.12 * n_studies
    assert n_missed_by_usual_test > 0.25 * n_studies


def test_equal_scores() -> None:
    nearly_equal = ma.paired_interval([0.1, 0.7, 0.3, 0.1 + 0.2], [0.1, 0.7, 0.3, 0.3], n_folds=2)
    expected = {"difference": 0, "low": 0, "high": 0, "p_value": 1}
    assert nearly_equal.round(9).to_dict() == expected


def test_scores_that_differ_by_a_constant() -> None:
    shifted = ma.paired_interval([0.2, 0.4], [0.1, 0.3], n_folds=2)
    expected = {"difference": 0.1, "low": 0.1, "high": 0.1, "p_value": 0}
    assert shifted.to_dict() == pytest.approx(expected)


@pytest.mark.slow
def test_scores_of_cross_validation_are_paired() -> None:
    cv, labels = RepeatedQueryKFold(n_splits=4, n_repeats=2), Y.set_index(pd.Index(QID, name="qid"))
    results = {
        name: cross_validate(
            AspectRanker(Ridge(), target=On(aspect=name, aspects=GRADES)),
            X,
            labels,
            scoring=SCORING,
            cv=cv,
        )
        for name in NAMES
    }
    scores = [results[name]["test_relevance"] for name in NAMES]
    interval = ma.paired_interval(*scores, n_folds=4)
    assert interval["low"] > 0
    assert interval["p_value"] < 0.01


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], [1], 2), "a multiple of n_folds=2, got the shapes (2,) and (1,)"),
        (([1, 2, 3], [1, 2, 3], 2), "a multiple of n_folds=2, got the shapes (3,)"),
        (([], [], 2), "a multiple of n_folds=2, got the shapes (0,)"),
        (([[1, 2]], [[1, 2]], 2), "got the shapes (1, 2)"),
        (([1, np.nan], [1, 2], 2), "expected finite scores, got NaN"),
        (([1, 2], ["a", "b"], 2), "baseline: expected numbers"),
        (([1, 2], [1, 2], 1), "n_folds: expected a whole number of at least 2"),
    ],
    ids=str,
)
def test_what_cannot_be_compared(arguments: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.paired_interval(*arguments[:2], n_folds=arguments[2])
    with pytest.raises(MultiAspectError, match=r"ci: expected.*got 95"):
        ma.paired_interval([1, 2], [1, 2], n_folds=2, ci=95)
