"""The study of training targets: its script runs, and what is said of its results is in them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma

ROOT = Path(__file__).resolve().parent.parent
pytest.importorskip("lightgbm", reason="LightGBM is not installed")


@pytest.fixture(scope="module")
def study(study_module: Callable[[str], Any]) -> Any:
    script, learning, report, worlds = map(
        study_module, ("__main__", "learning", "report", "worlds")
    )

    class Study:
        main, targets, figures, data = script, learning, report, worlds
        results = report.load()

        synthetic = list(worlds.SETTINGS)
        both_common = [
            f"{relation}, {scales}" for scales in worlds.SCALES for relation in worlds.CORRELATIONS
        ]

        def difference(
            self, world: str, name: str, baseline: str, measure: str, learner: str = "LightGBM"
        ) -> Any:
            return report.differences(self.results, world, name, baseline, learner).loc[measure]

    return Study()


def test_the_results_tell_how_they_were_made(study: Any) -> None:
    about = study.results["about"]
    assert set(study.results["worlds"]) == {*study.data.SETTINGS, *study.data.COLLECTIONS}
    for name, setting in study.data.SETTINGS.items():
        assert about["synthetic"]["settings"][name] == {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in setting.items()
        }
    assert set(about["versions"]) == {"python", *study.main.PACKAGES}
    assert about["lightgbm"] == study.targets.PARAMS
    assert about["synthetic"]["seeds"] == 20
    assert about["collections"] == {"folds": 5, "repeats": 2, "random_state": 0}
    for name, world in study.results["worlds"].items():
        n_scores = 10 if world["n_folds"] else 20
        for learner, by_target in world["scores"].items():
            assert set(study.targets.COMPARED) <= set(by_target), (name, learner)
            for scores in by_target.values():
                assert {len(values) for values in scores.values()} == {n_scores}
                assert all(0 <= value <= 1 for values in scores.values() for value in values)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [
        "conflicting, unequal scales",
        "independent, 5 % and 60 %, features of relevance",
        "conflicting, 5 % and 60 %, not in every query",
    ],
)
def test_the_committed_values_are_those_of_the_script(study: Any, setting: str) -> None:
    # The first collection of some settings; boosting differs a little between versions and
    # machines.
    world = study.data.synthetic(**study.data.SETTINGS[setting], seed=study.data.FIRST_SEED)
    committed = study.results["worlds"][setting]["scores"]
    for learner, targets, tolerance in (
        ("LightGBM", ["linear form", "raw sum"], 0.03),
        ("linear", ["raw sum", study.targets.BY_MEAN], 1e-4),
    ):
        scores = study.targets.evaluate(
            world, study.data.first_and_rest(world), targets, learner=learner
        )
        for name, by_measure in scores.items():
            for measure, (value,) in by_measure.items():
                expected = committed[learner][name][measure][0]
                assert value == pytest.approx(expected, abs=tolerance), (learner, name, measure)


@pytest.fixture
def small_study(study: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Reduce the study to two settings and one collection of a few queries; return the settings' names."""
    worlds = study.data
    synthetic = worlds.synthetic
    common = "conflicting, equal scales"
    rare = "independent, 5 % and 60 %, features of relevance"
    # With 8 documents, one per query is more than 5 %.
    prevalence = {"prevalence": (0.3, 0.6)}
    settings = {common: worlds.SETTINGS[common], rare: worlds.SETTINGS[rare] | prevalence}
    monkeypatch.setattr(worlds, "N_TRAIN", 6)
    monkeypatch.setattr(worlds, "N_DOCUMENTS", 8)
    monkeypatch.setattr(worlds, "SETTINGS", settings)

    def synthetic_of_ten_queries(**options: Any) -> Any:
        return synthetic(**options, n_queries=10)

    def read_collection(_folder: Path) -> Any:
        return synthetic(correlation=0, tops=(2, 3), seed=1, n_queries=12)

    def read_directions(_folder: Path) -> dict[str, dict[str, int]]:
        return {"credibility": {"rises": 1, "falls": 0}}

    monkeypatch.setattr(worlds, "synthetic", synthetic_of_ten_queries)
    monkeypatch.setattr(worlds, "COLLECTIONS", {"a collection": read_collection})
    monkeypatch.setattr(worlds, "directions", read_directions)
    monkeypatch.setitem(study.targets.PARAMS, "n_estimators", 3)
    return common, rare


@pytest.mark.slow
def test_a_small_study(
    study: Any,
    small_study: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    """The script writes results that have the same parts as those of the whole study."""
    common, rare = small_study
    out = tmp_path / "results.json"
    sizes = ["--draws", "2", "--splits", "2", "--repeats", "1"]
    paths = ["--data", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["study", *sizes, *paths])

    study.main.main()

    assert "a collection:" in capsys.readouterr().out
    written = study.figures.load(out)
    whole = study.results
    assert set(written) == set(whole)
    assert set(written["about"]) == set(whole["about"])
    assert set(written["worlds"]) == {"a collection", common, rare}
    parts = set(written["worlds"]["a collection"])
    assert parts == set(whole["worlds"]["CLEF eHealth 2015"])
    for name in (common, rare):
        world = written["worlds"][name]
        assert set(world) == set(whole["worlds"][name])
        scores_by_draw = world["scores"]["LightGBM"]["fusion"]["CAM@10"]
        assert len(scores_by_draw) == 2
    prevalence = written["worlds"][rare]["prevalence"]
    assert prevalence["relevance"]["documents"] == pytest.approx(0.3, abs=0.02)


def test_row_orders_change_training_rows_only(study: Any) -> None:
    world = study.data.synthetic(0.0, (2, 2), 0, 20)
    first, second = study.data.row_orders(world, n_orders=2, n_splits=4, seed=0)
    for (train, test), (other, same) in zip(first, second, strict=True):
        assert (test == same).all()
        assert set(train) == set(other)
        assert (train != other).any()
        # Rows of a query stay together.
        assert (np.diff(world.qid[train]) != 0).sum() == len(set(world.qid[train])) - 1


def test_synthetic_scales_do_not_change_the_documents(study: Any) -> None:
    """Whether the second aspect has the grades 0 to 2 or 0 to 10, features and relevance are the same."""
    short = study.data.synthetic(correlation=0.0, tops=(2, 2), seed=3)
    long = study.data.synthetic(correlation=0.0, tops=(2, 10), seed=3)
    assert (short.X == long.X).all()
    assert (short.Y["relevance"] == long.Y["relevance"]).all()


def test_labels_of_conflicting_aspects_have_a_negative_correlation(study: Any) -> None:
    world = study.data.synthetic(correlation=-0.7, tops=(2, 2), seed=0)
    tau = world.Y["relevance"].corr(world.Y["credibility"], method="kendall")
    assert tau < -0.2


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("everywhere", [True, False], ids=["in every query", "in some queries"])
def test_the_fractions_of_positive_documents_are_those_of_the_setting(
    study: Any, everywhere: bool, seed: int
) -> None:
    options = study.data.SETTINGS["conflicting, 5 % and 60 %"] | {"everywhere": everywhere}
    world = study.data.synthetic(**options, seed=seed)

    is_positive = world.labels > 0  # with the queries in the index
    fractions = dict(zip(world.aspects, study.data.RARE, strict=True))
    for aspect, fraction in fractions.items():
        assert is_positive[aspect].mean() == pytest.approx(fraction, abs=1 / len(is_positive))
        assert world.prevalence[aspect]["documents"] == is_positive[aspect].mean()
    # The fractions of queries that have a positive document.
    of_queries = is_positive.groupby(level=0).any().mean()
    assert of_queries["credibility"] > 0.98
    assert world.prevalence["relevance"]["queries"] == of_queries["relevance"]
    if everywhere:
        assert of_queries["relevance"] == 1
    else:
        assert 0.4 < of_queries["relevance"] < 0.65


def test_prevalence_does_not_change_the_features(study: Any) -> None:
    options = {"correlation": -0.7, "tops": (2, 2), "seed": 3}
    common = study.data.synthetic(**options)
    rare = study.data.synthetic(**options, prevalence=study.data.RARE)
    assert (common.X == rare.X).all()
    assert (common.Y != rare.Y).any(axis=None)


@pytest.mark.parametrize(
    ("informative", "other"), [("relevance", "credibility"), ("credibility", "relevance")]
)
def test_features_tell_of_the_informative_aspect_only(
    study: Any, informative: str, other: str
) -> None:
    options = {"correlation": 0.0, "tops": (2, 2), "seed": 5}
    world = study.data.synthetic(**options, informative=[informative])

    def highest_correlation(labels: pd.Series) -> float:
        """The highest absolute correlation of the labels with any feature."""
        correlations = [np.corrcoef(labels, feature)[0, 1] for feature in world.X.T]
        return np.abs(correlations).max()

    assert highest_correlation(world.Y[informative]) > 0.4
    assert highest_correlation(world.Y[other]) < 0.05
    of_both = study.data.synthetic(**options)
    assert (of_both.Y == world.Y).all(axis=None)


@pytest.mark.parametrize(
    ("informative", "other"), [("relevance", "credibility"), ("credibility", "relevance")]
)
def test_features_of_an_aspect_tell_the_opposite_of_one_that_conflicts(
    study: Any, informative: str, other: str
) -> None:
    world = study.data.synthetic(correlation=-0.7, tops=(2, 2), seed=5, informative=[informative])
    column = list(world.aspects).index(informative)  # features are in the order of the aspects
    correlation = np.corrcoef(world.X[:, column], world.Y[other])[0, 1]
    assert correlation < -0.2


# -- why: the linear form divides by the ideal of each aspect in the query, a sum by its top grade
# ---------


def test_the_linear_form_is_the_gain_over_the_ideal(study: Any) -> None:
    """Training on CAM takes as label the mean over aspects of the gain over the ideal DCG of the query."""
    world = study.data.synthetic(
        correlation=0.0, tops=(2, 10), seed=1, n_queries=12, prevalence=(0.1, 0.6)
    )
    gains = study.data.gains(world.labels, world.aspects)  # rows with their queries, aspects
    ideal_dcgs = gains.apply(study.data.ideals)  # queries, aspects
    normalized_gains = gains / ideal_dcgs.loc[gains.index]

    cam = ma.CAM(aspects=world.aspects) @ 10
    labels = ma.aggregate_labels(world.labels, cam).values

    np.testing.assert_allclose(labels, normalized_gains.mean(axis=1))


@pytest.mark.parametrize("relation", ["conflicting", "independent"])
def test_one_weight_per_aspect_makes_the_sum_of_labels_as_good_as_the_linear_form(
    study: Any, relation: str
) -> None:
    """Rankings by labels reach the same CAM if each aspect is divided by its mean ideal DCG.

    The linear form divides it by that of each query; the raw sum divides by nothing.
    """
    world = study.data.synthetic(**study.data.SETTINGS[f"{relation}, 5 % and 60 %"], seed=1)
    ideal_dcgs = study.data.gains(world.labels, world.aspects).apply(study.data.ideals)
    mean_ideals = ideal_dcgs.mean()
    assert mean_ideals["credibility"] > 5 * mean_ideals["relevance"]
    cam = ma.CAM(aspects=world.aspects) @ 10
    weights = (1 / mean_ideals).to_dict()

    def reached_cam(target: ma.Measure) -> float:
        """CAM of the rankings in the order of the labels for a target."""
        predictions = ma.aggregate_labels(world.labels, target).values
        return ma.ranking_score(world.labels, predictions, measure=cam)

    by_linear_form = reached_cam(cam)
    by_raw_sum = reached_cam(ma.CAM(base="DCG", aspects=world.aspects))
    by_weighted_sum = reached_cam(ma.CAM(base="DCG", aspects=world.aspects, weights=weights))
    assert by_linear_form > by_raw_sum + 0.1
    assert by_linear_form - 0.01 < by_weighted_sum <= by_linear_form


# -- what is said of the results
# -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "pair", "measure", "earlier"),
    [
        ("CLEF eHealth 2015", ("linear form", "relevance"), "CAM@10", 0.0084),
        ("CLEF eHealth 2015", ("linear form", "relevance"), "TOMA@10", 0.0114),
        ("CLEF eHealth 2015", ("fusion", "linear form"), "CAM@10", -0.032),
        ("CLEF eHealth 2018", ("linear form", "relevance"), "CAM@10", 0.0),
        ("independent, unequal scales", ("linear form", "raw sum"), "CAM@10", 0.0138),
    ],
)
def test_an_earlier_experiment_is_within_the_intervals(
    study: Any, world: str, pair: tuple[str, str], measure: str, earlier: float
) -> None:
    row = study.difference(world, *pair, measure)
    assert row["low"] <= earlier <= row["high"]


@pytest.mark.slow
def test_relevance_is_the_worst_target_where_both_aspects_are_common(study: Any) -> None:
    for world in study.both_common:
        gained = []
        for target in ("raw sum", "scaled sum", "linear form", "TOMA classes", "fusion"):
            for measure in ("CAM@10", "MM@10"):
                assert study.difference(world, target, "relevance", measure)["low"] > 0
            gained.append(study.difference(world, target, "relevance", "CAM@10")["difference"])
        assert 0.015 < min(gained) <= max(gained) < 0.125


def test_the_scaled_sum_is_worse_than_relevance_if_features_tell_of_relevance_only(
    study: Any,
) -> None:
    for relation, rare in (("conflicting", -0.098), ("independent", -0.059)):
        common = study.difference(
            f"{relation}, features of relevance", "scaled sum", "relevance", "CAM@10"
        )
        assert -0.015 < common["difference"] < common["high"] < 0
        world = f"{relation}, 5 % and 60 %, features of relevance"
        assert study.difference(world, "scaled sum", "relevance", "CAM@10")[
            "difference"
        ] == pytest.approx(rare, abs=0.001)


@pytest.mark.slow
def test_the_linear_form_is_better_than_the_raw_sum_if_scales_differ(study: Any) -> None:
    for measure in study.targets.MEASURES:
        for relation in ("conflicting", "independent", "correlated"):
            assert (
                study.difference(f"{relation}, unequal scales", "linear form", "raw sum", measure)[
                    "low"
                ]
                > 0
            )
            for learner in study.targets.LEARNERS:
                world = f"{relation}, equal scales"
                equal = study.difference(world, "linear form", "raw sum", measure, learner)
                assert abs(equal["difference"]) < (0.007 if measure == "TOMA@10" else 0.0015)


def test_the_linear_form_is_better_than_the_scaled_sum_in_cam_and_mm_if_one_aspect_is_rare(
    study: Any,
) -> None:
    for relation in ("conflicting", "independent"):
        for setting in (
            "5 % and 60 %",
            "5 % and 60 %, not in every query",
            "5 % and 60 %, features of relevance",
        ):
            for measure in ("CAM@10", "MM@10"):
                world = f"{relation}, {setting}"
                assert study.difference(world, "linear form", "scaled sum", measure)["low"] > 0
        for setting in ("5 % and 60 %", "5 % and 60 %, not in every query"):
            world = f"{relation}, {setting}"
            assert study.difference(world, "linear form", "scaled sum", "TOMA@10")["high"] < 0
        # One informative aspect does not matter if aspects are equally common.
        world = f"{relation}, features of relevance"
        assert (
            abs(study.difference(world, "linear form", "scaled sum", "CAM@10")["difference"])
            < 0.0015
        )


def test_where_the_linear_form_does_not_help(study: Any) -> None:
    def gain(world: str, learner: str = "LightGBM") -> Any:
        return study.difference(world, "linear form", "scaled sum", "CAM@10", learner)

    assert gain("conflicting, 5 % and 60 %, features of credibility")["high"] < 0.006
    assert gain("independent, 5 % and 60 %, features of credibility")["high"] < -0.03
    assert gain("conflicting, 5 % and 60 %, not in every query", "linear")["high"] < 0
    linear, trees = (
        gain("conflicting, 5 % and 60 %", learner) for learner in ("linear", "LightGBM")
    )
    assert linear["high"] < trees["low"]


def test_the_linear_form_loses_toma_if_one_aspect_is_rare_except_once(study: Any) -> None:
    lost = {
        world: -study.difference(world, "linear form", "scaled sum", "TOMA@10")["difference"]
        for world in study.synthetic
        if "5 %" in world
    }
    assert max(lost.values()) == pytest.approx(0.148, abs=0.001)
    assert [world for world in lost if lost[world] < 0] == [
        "independent, 5 % and 60 %, features of relevance"
    ]


def test_weights_matter_less_than_normalisation_only_if_features_tell_of_the_rare_aspect(
    study: Any,
) -> None:
    """Results of the study: how much either changes CAM, by world."""
    for world in study.synthetic:
        weighted = study.difference(world, study.targets.WEIGHTED, "linear form", "CAM@10")
        normalized = study.difference(world, "linear form", "scaled sum", "CAM@10")
        change_by_weights = abs(weighted["difference"])
        change_by_normalization = abs(normalized["difference"])
        # Relevance is rare where 5 % of the documents are relevant.
        is_rare = "5 %" in world
        tells_of_relevance = "features of credibility" not in world
        matters_less = change_by_weights < change_by_normalization
        assert matters_less == (is_rare and tells_of_relevance), world
        assert change_by_weights < 0.062


@pytest.mark.parametrize(
    ("learner", "largest_difference"), [("LightGBM", 0.0045), ("linear", 0.012)]
)
def test_one_weight_per_aspect_explains_the_linear_form(
    study: Any, learner: str, largest_difference: float
) -> None:
    """Training on the sum with weights of 1 / mean ideal DCG reaches nearly the CAM of the linear form."""
    for world in study.synthetic:
        row = study.difference(world, study.targets.BY_MEAN, "linear form", "CAM@10", learner)
        assert abs(row["difference"]) < largest_difference, world


def test_the_study_has_the_prevalence_that_the_pages_state(study: Any) -> None:
    worlds = study.results["worlds"]
    # 5 % of the documents are relevant, 60 % credible.
    rare = worlds["conflicting, 5 % and 60 %"]["prevalence"]
    assert rare["relevance"]["ideal DCG@10"] == pytest.approx(0.7, abs=0.05)
    assert rare["credibility"]["ideal DCG@10"] == pytest.approx(4.0, abs=0.05)
    # With the grades 0 to 2 and 0 to 10, 58 % and 39 % of the documents are above grade 0.
    unequal = worlds["independent, unequal scales"]["prevalence"]
    assert round(unequal["relevance"]["documents"], 2) == 0.58
    assert round(unequal["credibility"]["documents"], 2) == 0.39


PAGE = ROOT / "docs" / "howto" / "training_targets.md"


def table_below(header: str) -> list[list[str]]:
    """The cells of the rows of the page's table whose header begins so."""
    _, table = PAGE.read_text(encoding="utf-8").split(header)
    _rest_of_header, _separator, *rows = table.split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def numbers_in(cell: str) -> list[float]:
    """The numbers of a cell such as "−.024 [−.030, −.018]" or "+.125 ± .017"."""
    return [float(number.replace("−", "-")) for number in re.findall(r"[+−]?\.\d+", cell)]


def test_the_page_says_what_came_out(study: Any) -> None:
    """Its first table has a row per difference of two targets, and a column per relation of the aspects."""
    targets = study.targets
    # The end of the first cell; target and baseline of the study; the measure of the difference.
    rows = [
        ("`CAM` − sum of raw gains, in CAM", "linear form", "raw sum", "CAM@10"),
        ('`CAM` − `"scaled sum"`, in CAM', "linear form", "scaled sum", "CAM@10"),
        ('`CAM` − `"scaled sum"`, in TOMA', "linear form", "scaled sum", "TOMA@10"),
        ('`TOMA` − `"scaled sum"`, in TOMA', "TOMA classes", "scaled sum", "TOMA@10"),
        ("nDCG of the label, in CAM", targets.BY_MEASURE, targets.BY_LABEL, "CAM@10"),
        ("equal weights, in CAM", targets.WEIGHTED, "linear form", "CAM@10"),
    ]
    table = table_below("| difference | conflicting")
    for cells, (label, target, baseline, measure) in zip(table, rows, strict=True):
        name, conflicting, independent = cells
        assert name.endswith(label)
        for relation, cell in (("conflicting", conflicting), ("independent", independent)):
            world = f"{relation}, unequal scales"
            found = study.difference(world, target, baseline, measure)
            expected = [found["difference"], found["low"], found["high"]]
            assert numbers_in(cell) == pytest.approx(expected, abs=0.00051)


#: Settings of the rows of the page's table on prevalence, each for conflicting and independent
#: aspects.
PREVALENCE = {
    "58 % and 58 %; of both": "equal scales",
    "58 % and 58 %; of relevance": "features of relevance",
    "5 % and 60 %; of both": "5 % and 60 %",
    "5 % and 60 %, none in half of the queries; of both": "5 % and 60 %, not in every query",
    "5 % and 60 %; of relevance": "5 % and 60 %, features of relevance",
    "5 % and 60 %; of credibility": "5 % and 60 %, features of credibility",
}


def test_the_page_says_what_prevalence_and_features_change(study: Any) -> None:
    """Its second table has two rows per setting, and a column per pair of targets, measure and learner."""
    columns = [
        ("linear form", "scaled sum", "CAM@10", "LightGBM"),
        ("linear form", "scaled sum", "MM@10", "LightGBM"),
        ("linear form", "scaled sum", "TOMA@10", "LightGBM"),
        ("linear form", "scaled sum", "CAM@10", "linear"),
        ("fusion", "linear form", "CAM@10", "LightGBM"),
    ]
    # PREVALENCE maps the first cell of a row to the study's name of the setting.
    rows = [
        (label, setting, relation)
        for label, setting in PREVALENCE.items()
        for relation in ("conflicting", "independent")
    ]
    table = table_below("| documents above grade 0; features tell")
    for cells, (label, setting, relation) in zip(table, rows, strict=True):
        assert cells[:2] == [label, relation]
        for cell, (target, baseline, measure, learner) in zip(cells[2:], columns, strict=True):
            world = f"{relation}, {setting}"
            found = study.difference(world, target, baseline, measure, learner)
            half_width = (found["high"] - found["low"]) / 2
            expected = [found["difference"], half_width]  # as "+.125 ± .017"
            assert numbers_in(cell) == pytest.approx(expected, abs=0.00051)


@pytest.mark.slow
def test_where_nothing_came_out(study: Any) -> None:
    for world in study.synthetic:
        stopped = study.difference(
            world, study.targets.BY_MEASURE, study.targets.BY_LABEL, "CAM@10"
        )
        assert abs(stopped["difference"]) <= 0.0064
        classes = study.difference(world, "TOMA classes", "scaled sum", "TOMA@10")
        assert abs(classes["difference"]) <= 0.008
    for world in ("CLEF eHealth 2015", "CLEF eHealth 2018"):
        for target in ("raw sum", "linear form", "TOMA classes", study.targets.BY_MEAN):
            for baseline in ("relevance", "scaled sum"):
                for measure in ("CAM@10", "TOMA@10"):
                    row = study.difference(world, target, baseline, measure)
                    assert row["low"] <= 0 <= row["high"]
                    assert (row["high"] - row["low"]) / 2 < 0.055
    fusion = study.difference("CLEF eHealth 2015", "fusion", "scaled sum", "TOMA@10")
    assert fusion["high"] < 0
    assert fusion["difference"] == pytest.approx(-0.03, abs=0.005)


def test_the_pages_say_what_one_ranker_per_aspect_costs(study: Any) -> None:
    """Costs are what CAM loses by fusing one ranker per aspect, rather than training one on CAM."""
    costs: dict[str, list[float]] = {"both common": [], "one rare": [], "features of one": []}
    for world in study.synthetic:
        row = study.difference(world, "fusion", "linear form", "CAM@10")
        cost = -row["difference"]
        if "features of" in world:
            costs["features of one"].append(cost)
        elif "5 %" in world:
            costs["one rare"].append(cost)
        else:
            assert world in study.both_common
            costs["both common"].append(cost)

    assert len(costs["both common"]) == len(study.both_common)
    assert max(costs["both common"]) < 0.0115
    assert round(min(costs["one rare"]), 2) == 0.02
    assert round(max(costs["one rare"]), 2) == 0.04
    assert round(min(costs["features of one"]), 2) == 0.04
    assert round(max(costs["features of one"]), 2) == 0.07
    sentence = (
        "costs .02 to .04 in CAM if one aspect is rare, and .04 to .07 if the features predict one"
    )
    assert sentence in PAGE.read_text(encoding="utf-8")
    searches = (ROOT / "docs" / "howto" / "searches.md").read_text(encoding="utf-8")
    assert "by up to .07 where the features predict one aspect only" in searches


def test_docstrings_quote_the_study(study: Any) -> None:
    """Folds with other orders of the rows change the mean TOMA@10 of a target by up to this much."""
    row_orders = study.results["worlds"]["CLEF eHealth 2015"]["row orders"]
    ranges = []
    for means_by_measure in row_orders.values():  # per target
        means = means_by_measure["TOMA@10"]  # per order of the rows
        ranges.append(max(means) - min(means))
    docstring = " ".join(ma.RepeatedQueryKFold.__doc__.split())
    assert f"differ by up to {max(ranges):.3f}" in docstring
