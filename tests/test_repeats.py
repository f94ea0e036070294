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
@pytest.mark.parametrize("routed", [True, False])
@pytest.mark.parametrize("search", [GridSearchCV, RandomizedSearchCV])
def test_searches_take_it_as_cv(search: Any, routed: bool) -> None:
    cv = RepeatedQueryKFold(n_splits=2, n_repeats=2)
    more = {"n_iter": 2, "random_state": 0} if search is RandomizedSearchCV else {}
    ranker = AspectRanker(Ridge(), target=On(aspect="relevance", aspects=GRADES))
    with sklearn.config_context(enable_metadata_routing=routed):
        grid_search = search(
            ranker, {"estimator__alpha": [1, 9]}, scoring=SCORING["relevance"], cv=cv, **more
        )
        labels = Y if routed else Y.set_index(pd.Index(QID, name="qid"))
        grid_search.fit(X, labels, groups=QID, **({"qid": QID} if routed else {}))
    assert np.isfinite(grid_search.cv_results_["split3_test_score"]).all()
    assert "split4_test_score" not in grid_search.cv_results_


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


def test_intervals_are_those_of_the_corrected_test() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.55, 0.1, 30), rng.normal(0.45, 0.1, 30)
    differences = first - second
    interval = ma.paired_interval(first, second, n_folds=5)
    error = np.sqrt((1 / 30 + 1 / 4) * differences.var(ddof=1))
    assert interval["difference"] == pytest.approx(differences.mean())
    assert (interval["low"], interval["high"]) == pytest.approx(
        stats.t.interval(0.95, 29, differences.mean(), error)
    )
    assert interval["p_value"] == pytest.approx(2 * stats.t.sf(abs(differences.mean()) / error, 29))
    # The usual test of as many independent differences claims much more.
    usual = stats.ttest_rel(first, second)
    assert usual.pvalue < 0.1 * interval["p_value"]
    narrow = ma.paired_interval(first, second, n_folds=5, ci=0.5)
    assert interval["low"] < narrow["low"] < narrow["high"] < interval["high"]
    swapped = ma.paired_interval(second.tolist(), pd.Series(first), n_folds=5)
    assert swapped[["difference", "low", "high"]].tolist() == pytest.approx(
        [-interval["difference"], -interval["high"], -interval["low"]]
    )


@pytest.mark.slow
def test_learners_trained_on_samples_of_queries_differ_within_the_interval() -> None:
    """Of two learners that are equally good, the interval misses 0 in about 5 % of studies, not in half of them."""
    rng = np.random.default_rng(2)
    missed = {"corrected": 0, "usual": 0}
    n_studies = 100
    for _ in range(n_studies):
        # The mean of 40 values is what each learner learns; it predicts one half of the noise.
        noise = rng.normal(size=(2, 40))
        differences = []
        for repeat in range(6):
            for fold in np.array_split(np.random.default_rng(repeat).permutation(40), 5):
                train = np.setdiff1d(np.arange(40), fold)
                model = noise[:, train].mean(axis=1)
                error = ((noise[:, fold] - model[:, None]) ** 2).mean(axis=1)
                differences.append(error[0] - error[1])
        interval = ma.paired_interval(differences, np.zeros(30), n_folds=5)
        missed["corrected"] += not interval["low"] <= 0 <= interval["high"]
        missed["usual"] += stats.ttest_1samp(differences, 0).pvalue < 0.05
    assert missed["corrected"] < 0.12 * n_studies
    assert missed["usual"] > 0.25 * n_studies


def test_equal_scores() -> None:
    same = ma.paired_interval([0.1, 0.7, 0.3, 0.1 + 0.2], [0.1, 0.7, 0.3, 0.3], n_folds=2)
    assert same.round(9).tolist() == [0, 0, 0, 1]
    shifted = ma.paired_interval([0.2, 0.4], [0.1, 0.3], n_folds=2)
    assert shifted.tolist() == pytest.approx([0.1, 0.1, 0.1, 0])


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
