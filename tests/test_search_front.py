"""Fronts of searches, and the choice of a setting on them: `pareto_front`."""

from __future__ import annotations

import pickle
import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from test_repeats import GRADES, NAMES, QID, SCORING, N, X, Y

import pt_multiaspect as ma
from pt_multiaspect import CAM, AspectRanker, MultiAspectError, On, RepeatedQueryKFold
from pt_multiaspect.kernels import pareto


def table(*rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


# -- the front ------------------------------------------------------------------------------------


@pytest.mark.every(2)
@pytest.mark.parametrize("n_metrics", [2, 3])
def test_the_front_is_what_nothing_dominates(n_metrics: int) -> None:
    rng = np.random.default_rng(n_metrics)
    for _ in range(20):
        scores = rng.integers(0, 4, (9, n_metrics)) / 4
        names = [f"m{number}" for number in range(n_metrics)]
        on_front = ma.pareto_front(pd.DataFrame(scores, columns=names), names)["on_front"].tolist()
        expected = [
            not any(
                all(a >= b for a, b in zip(x, y, strict=True)) and tuple(x) != tuple(y)
                for x in scores
            )
            for y in scores
        ]
        assert on_front == expected
        assert any(on_front)


def test_equal_settings_are_both_on_the_front_and_failed_ones_never() -> None:
    front = ma.pareto_front(table([1, 0], [1, 0], [np.nan, 9], [0.5, 0]), NAMES)
    assert front["on_front"].tolist() == [True, True, False, False]


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_points_that_differ_by_rounding_are_equal(
    n_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n_columns)
    for most_pairs in (4_000_000, 1):
        monkeypatch.setattr(pareto, "_MOST_PAIRS", most_pairs)
        for _ in range(40):
            points = rng.integers(0, 4, (int(rng.integers(1, 12)), n_columns)) / 3
            rounded = points * (1 + rng.normal(size=points.shape) * 1e-15)
            expected = [
                not any((other >= point).all() and (other > point).any() for other in points)
                for point in points
            ]
            assert pareto.is_on_front(rounded).tolist() == expected
            assert pareto.is_on_front(rounded * 1e6).tolist() == expected


def test_no_settings_have_no_front() -> None:
    assert pareto.is_on_front(np.zeros((0, 2))).tolist() == []
    assert pareto.is_on_front(np.full((2, 2), np.nan)).tolist() == [False, False]


class Search:
    """Four settings on four splits; the second and third are the front in the mean."""

    relevance = np.array(
        [[0.1, 0.2, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5], [0.4, 0.6, 0.4, 0.4], [0.5, 0.3, 0.5, 0.3]]
    )
    credibility = np.array(
        [[0.1, 0.2, 0.2, 0.1], [0.2, 0.2, 0.2, 0.2], [0.3, 0.3, 0.3, 0.3], [0.1, 0.2, 0.2, 0.1]]
    )

    def __init__(self) -> None:
        results: dict[str, Any] = {
            "params": [{"alpha": n} for n in range(4)],
            "param_alpha": np.arange(4),
        }
        for name in NAMES:
            scores = getattr(self, name)
            results |= {f"split{n}_test_{name}": scores[:, n].copy() for n in range(4)}
            results[f"mean_test_{name}"] = scores.mean(axis=1)
            results[f"std_test_{name}"] = scores.std(axis=1)
        self.cv_results_ = results


def test_the_front_of_the_means() -> None:
    """Of four settings, alpha 1 and 2 are on the front: the means of the splits are these.

    alpha        0     1     2     3
    relevance    .15   .5    .45   .4
    credibility  .15   .2    .3    .15
    """
    search = Search()
    front = ma.pareto_front(search)
    assert front.columns.tolist() == ["param_alpha", *NAMES, "on_front"]
    assert front["param_alpha"].tolist() == [0, 1, 2, 3]
    assert front["relevance"].tolist() == pytest.approx([0.15, 0.5, 0.45, 0.4])
    assert front["credibility"].tolist() == pytest.approx([0.15, 0.2, 0.3, 0.15])
    assert front["on_front"].tolist() == [False, True, True, False]
    pd.testing.assert_frame_equal(ma.pareto_front(search.cv_results_), front)


def test_a_setting_that_failed_on_one_split_is_on_no_front() -> None:
    search = Search()
    search.cv_results_["split0_test_relevance"][2] = np.nan
    search.cv_results_["mean_test_relevance"][2] = np.nan
    assert ma.pareto_front(search)["on_front"].tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (table([1, 0]),),
            "expected metrics, the columns of the scores; columns: relevance, credibility",
        ),
        (
            (table([1, 0]), ["relevance"]),
            "metrics: expected at least two different ones of relevance, credibility",
        ),
        (
            (table([1, 0]), ["relevance", "relevance"]),
            "metrics: expected at least two different ones",
        ),
        ((table([1, 0]), ["relevance", "mood"]), "metrics: expected at least two different ones"),
        ((table([1, np.inf]), NAMES), "expected finite scores of at least one candidate"),
        ((table(), NAMES), "expected finite scores of at least one candidate"),
        ((table(["a", 1]), NAMES), "relevance: expected numbers"),
        (
            (table([1, 0]), "relevance"),
            "two different ones of relevance, credibility, got relevance",
        ),
        (({"mean_test_score": [1.0]},), "its scoring is a dict"),
        ((3,), "expected a fitted search, its cv_results_, or a data frame, got int"),
    ],
    ids=str,
)
def test_what_has_no_front(arguments: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.pareto_front(*arguments)


# -- the choice -----------------------------------------------------------------------------------

SETTINGS = table([0.9, 0.0], [0.8, 0.5], [0.5, 0.6], [0.0, 0.7], [0.7, 0.5])


# Of SETTINGS, (.9, 0), (.8, .5), (.5, .6) and (0, .7) are on the front, (.7, .5) is not.
@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        pytest.param({"choose": {"relevance": 1}}, 0, id="most relevant"),
        pytest.param({"choose": {"credibility": 2}}, 3, id="most credible"),
        pytest.param({"choose": {"relevance": 1, "credibility": 1}}, 1, id="highest sum, 1.3"),
        pytest.param(
            {"choose": {"relevance": 1, "credibility": 0}, "at_least": {"credibility": 0.55}},
            2,
            id="most relevant with credibility .55",
        ),
        pytest.param(
            {"choose": {"relevance": 1}, "at_least": {"credibility": 0.5, "relevance": 0.6}},
            1,
            id="most relevant with credibility .5 and relevance .6",
        ),
        # Scaled to 0 to 1 on the front: (1, 0), (.89, .71), (.56, .86), (0, 1).
        pytest.param({"choose": "knee"}, 1, id="knee, the highest sum of scaled values"),
        # Scaled on the rest of the front: (1, 0), (.63, .5), (0, 1).
        pytest.param(
            {"choose": "knee", "at_least": {"credibility": 0.5}}, 2, id="knee with credibility .5"
        ),
    ],
)
def test_the_choice(options: Any, chosen: int) -> None:
    """The position of the chosen setting; a failed candidate is never chosen, wherever it stands."""
    choice = partial(ma.pareto_front, metrics=NAMES, **options)
    assert choice(SETTINGS) == chosen
    assert type(choice(SETTINGS)) is int
    assert pickle.loads(pickle.dumps(choice))(SETTINGS) == chosen

    failed_candidate = table([np.nan, 5.0])
    with_failed_first = pd.concat([failed_candidate, SETTINGS], ignore_index=True)
    assert choice(with_failed_first) == chosen + 1


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"choose": {"mood": 1}}, "choose: expected metrics (relevance, credibility), got mood"),
        (
            {"at_least": {"mood": 1}},
            "at_least: expected metrics (relevance, credibility), got mood",
        ),
        ({"at_least": {"credibility": 0.8}}, "no setting scores at least 0.8 on credibility"),
        (
            {"at_least": {"credibility": 0.7, "relevance": 0.3}},
            "no setting scores at least 0.3 on relevance",
        ),
        (
            {"choose": {"relevance": -1}},
            "choose of relevance: expected a number of at least 0, got -1",
        ),
        ({"choose": {"relevance": 0}}, "choose: expected at least one positive weight"),
        ({"choose": "best"}, "choose: expected 'knee' or a dict of weights, got 'best'"),
        (
            {"choose": None, "at_least": {"relevance": 0}},
            "pass choose",
        ),
        ({"at_least": 0.3}, "at_least: expected a dict of metrics to numbers, got 0.3"),
        ({"at_least": {"relevance": np.nan}}, "at_least of relevance: expected a number"),
    ],
    ids=str,
)
def test_choices_that_cannot_be_made(how: Any, message: str) -> None:
    with pytest.raises(MultiAspectError, match=re.escape(message)):
        ma.pareto_front(SETTINGS, NAMES, **({"choose": "knee"} | how))


def test_all_settings_failed() -> None:
    with pytest.raises(MultiAspectError, match="every setting failed"):
        ma.pareto_front(table([np.nan, 1], [1, np.nan]), NAMES, choose="knee")


# -- searches -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("routed", [True, False])
def test_a_search_refits_the_chosen_setting(routed: bool) -> None:
    """Of three weightings of relevance and credibility, the knee is the one in between."""
    only_credibility = {"relevance": 0, "credibility": 1}
    both = {"relevance": 0.4, "credibility": 0.6}
    only_relevance = {"relevance": 1, "credibility": 0}
    labels = Y.set_index(pd.Index(QID, name="qid"))
    n_splits, n_repeats = 2, 2
    search = GridSearchCV(
        AspectRanker(Ridge(), target=CAM(aspects=GRADES, base="DCG")),
        {"target__weights": [only_credibility, both, only_relevance]},
        scoring=SCORING,
        refit=partial(ma.pareto_front, choose="knee"),
        cv=RepeatedQueryKFold(n_splits=n_splits, n_repeats=n_repeats),
    )
    metadata = {"qid": QID, "groups": QID} if routed else {}
    with sklearn.config_context(enable_metadata_routing=routed):
        search.fit(X, labels, **metadata)

    assert search.best_index_ == 1
    assert search.best_params_ == {"target__weights": both}
    assert search.best_estimator_.predict(X).shape == (N,)
    assert ma.pareto_front(search.cv_results_, choose={"credibility": 1}) == 0
    assert ma.pareto_front(search.cv_results_, choose={"relevance": 1}) == 2
    assert ma.pareto_front(search)["on_front"].all()
    # A column per split and metric.
    split_columns = [name for name in search.cv_results_ if name.startswith("split")]
    assert len(split_columns) == n_splits * n_repeats * len(NAMES)


def test_the_front_of_weighted_predictions() -> None:
    rankers = [
        AspectRanker(Ridge(), target=name, aspects=GRADES).fit(X, Y, qid=QID) for name in NAMES
    ]
    first, second = (ranker.predict(X) / ranker.predict(X).std() for ranker in rankers)
    rows = []
    for weight in np.linspace(0, 1, 6):
        scores = weight * first + (1 - weight) * second
        values = {
            name: ma.ranking_score(Y, scores, qid=QID, measure=On(aspect=name, aspects=GRADES))
            for name in NAMES
        }
        rows.append({"weight": weight, **values})
    swept = pd.DataFrame(rows)
    front = ma.pareto_front(swept, NAMES)
    assert front["on_front"].sum() > 2
    row = ma.pareto_front(swept, NAMES, choose="knee")
    assert 0 < swept["weight"][row] < 1


# -- scores ---------------------------------------------------------------------------------------


def test_scores_that_differ_by_rounding_are_equal():
    table = pd.DataFrame({"x": [0.3, 0.1 + 0.2], "y": [0.5, 0.4]})
    assert ma.pareto_front(table, ["x", "y"])["on_front"].tolist() == [True, False]


def test_lower_is_better_columns_must_be_negated():
    # The longest searches were on the front.
    table = pd.DataFrame({"ESL(wanted=1)": [1.0, 2.0, 3.0], "nDCG@10": [0.1, 0.2, 0.3]})
    for read in (ma.pareto_front, partial(ma.pareto_front, choose="knee")):
        with pytest.raises(MultiAspectError, match=r"ESL\(wanted=1\) is lower-is-better"):
            read(table, ["ESL(wanted=1)", "nDCG@10"])
    negated = table.assign(negated=-table["ESL(wanted=1)"])
    assert ma.pareto_front(negated, ["negated", "nDCG@10"])["on_front"].all()
    # As ranking_scorer returns them.
    already = table.assign(**{"ESL(wanted=1)": -table["ESL(wanted=1)"]})
    assert ma.pareto_front(already, ["ESL(wanted=1)", "nDCG@10"])["on_front"].all()
