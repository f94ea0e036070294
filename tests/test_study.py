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


@pytest.mark.slow
def test_a_small_study(
    study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(study.data, "N_TRAIN", 6)
    monkeypatch.setattr(study.data, "N_DOCUMENTS", 8)
    tiny = study.data.synthetic
    monkeypatch.setattr(study.data, "synthetic", lambda **options: tiny(**options, n_queries=10))
    rare = "independent, 5 % and 60 %, features of relevance"
    settings = {name: study.data.SETTINGS[name] for name in ("conflicting, equal scales", rare)}
    # With 8 documents, one per query is more than 5 %.
    settings[rare] = {**settings[rare], "prevalence": (0.3, 0.6)}
    monkeypatch.setattr(study.data, "SETTINGS", settings)
    collection = study.data.World(
        *(getattr(tiny(0, (2, 3), 1, 12), name) for name in ("X", "Y", "qid", "aspects"))
    )
    monkeypatch.setattr(study.data, "COLLECTIONS", {"a collection": lambda data: collection})
    monkeypatch.setattr(
        study.data, "directions", lambda data: {"credibility": {"rises": 1, "falls": 0}}
    )
    monkeypatch.setitem(study.targets.PARAMS, "n_estimators", 3)
    out = tmp_path / "results.json"
    options = [
        "--draws",
        "2",
        "--splits",
        "2",
        "--repeats",
        "1",
        "--data",
        str(tmp_path),
        "--out",
        str(out),
    ]
    monkeypatch.setattr(sys, "argv", ["study", *options])
    study.main.main()
    assert "a collection:" in capsys.readouterr().out
    written = study.figures.load(out)
    assert set(written) == set(study.results)
    assert set(written["about"]) == set(study.results["about"])
    assert set(written["worlds"]) == {"a collection", *settings}
    assert set(written["worlds"]["a collection"]) == set(
        study.results["worlds"]["CLEF eHealth 2015"]
    )
    for name in settings:
        draws = written["worlds"][name]
        assert set(draws) == set(study.results["worlds"][name])
        assert len(draws["scores"]["LightGBM"]["fusion"]["CAM@10"]) == 2
    assert written["worlds"][rare]["prevalence"]["relevance"]["documents"] == pytest.approx(
        0.3, abs=0.02
    )


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
    short, long = (study.data.synthetic(0.0, (2, top), seed=3) for top in (2, 10))
    assert (short.X == long.X).all()
    assert (short.Y["relevance"] == long.Y["relevance"]).all()
    tau = study.data.synthetic(-0.7, (2, 2), 0).Y.corr(method="kendall").iloc[0, 1]
    assert tau < -0.2


@pytest.mark.parametrize("seed", [0, 1])
def test_the_fractions_of_positive_documents_are_those_of_the_setting(
    study: Any, seed: int
) -> None:
    for everywhere in (True, False):
        world = study.data.synthetic(
            **(study.data.SETTINGS["conflicting, 5 % and 60 %"] | {"everywhere": everywhere}),
            seed=seed,
        )
        positive = world.labels > 0
        for aspect, fraction in zip(world.aspects, study.data.RARE, strict=True):
            assert positive[aspect].mean() == pytest.approx(fraction, abs=1 / len(positive))
            assert world.prevalence[aspect]["documents"] == positive[aspect].mean()
        queries = positive.groupby(level=0).any().mean()
        assert queries["credibility"] > 0.98
        assert queries["relevance"] == 1 if everywhere else 0.4 < queries["relevance"] < 0.65
        assert world.prevalence["relevance"]["queries"] == queries["relevance"]


def test_prevalence_does_not_change_the_features(study: Any) -> None:
    common, rare = (
        study.data.synthetic(-0.7, (2, 2), 3, prevalence=prevalence)
        for prevalence in (None, study.data.RARE)
    )
    assert (common.X == rare.X).all()
    assert (common.Y != rare.Y).any(axis=None)


@pytest.mark.parametrize(
    ("informative", "other"), [("relevance", "credibility"), ("credibility", "relevance")]
)
def test_features_tell_of_the_informative_aspect_only(
    study: Any, informative: str, other: str
) -> None:
    world = study.data.synthetic(0.0, (2, 2), 5, informative=[informative])
    correlations = world.Y.apply(
        lambda labels: np.abs([np.corrcoef(labels, x)[0, 1] for x in world.X.T]).max()
    )
    assert correlations[informative] > 0.4
    assert correlations[other] < 0.05
    both = study.data.synthetic(0.0, (2, 2), 5)
    assert (both.Y == world.Y).all(axis=None)
    # Aspects that conflict are told of the wrong way round.
    conflicting = study.data.synthetic(-0.7, (2, 2), 5, informative=[informative])
    column = list(conflicting.aspects).index(informative)
    assert np.corrcoef(conflicting.X[:, column], conflicting.Y[other])[0, 1] < -0.2


# -- why: the linear form divides by the ideal of each aspect in the query, a sum by its top grade
# ---------


def test_the_linear_form_is_the_gain_over_the_ideal(study: Any) -> None:
    world = study.data.synthetic(0.0, (2, 10), 1, 12, prevalence=(0.1, 0.6))
    gain = study.data.gains(world.labels, world.aspects)
    ideal = gain.apply(study.data.ideals).loc[gain.index]
    label = ma.aggregate_labels(world.labels, ma.CAM(aspects=world.aspects) @ 10).values
    np.testing.assert_allclose(label, (gain / ideal / 2).sum(axis=1))


@pytest.mark.parametrize("relation", ["conflicting", "independent"])
def test_one_weight_per_aspect_makes_the_sum_of_labels_as_good_as_the_linear_form(
    study: Any, relation: str
) -> None:
    world = study.data.synthetic(**study.data.SETTINGS[f"{relation}, 5 % and 60 %"], seed=1)
    measure = ma.CAM(aspects=world.aspects) @ 10
    mean = study.data.gains(world.labels, world.aspects).apply(study.data.ideals).mean()
    assert mean["credibility"] > 5 * mean["relevance"]
    targets = {
        "linear form": measure,
        "raw sum": ma.CAM(base="DCG", aspects=world.aspects),
        "over mean ideals": ma.CAM(base="DCG", aspects=world.aspects, weights=(1 / mean).to_dict()),
    }
    # The labels themselves are the predictions.
    reached = {
        name: ma.ranking_score(
            world.labels, ma.aggregate_labels(world.labels, target).values, measure=measure
        )
        for name, target in targets.items()
    }
    assert reached["linear form"] > reached["raw sum"] + 0.1
    assert reached["linear form"] - 0.01 < reached["over mean ideals"] <= reached["linear form"]


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
    changes = {
        world: [
            abs(study.difference(world, *pair, "CAM@10")["difference"])
            for pair in ((study.targets.WEIGHTED, "linear form"), ("linear form", "scaled sum"))
        ]
        for world in study.synthetic
    }
    for world, (weights, normalisation) in changes.items():
        assert (weights < normalisation) == ("5 %" in world and "credibility" not in world), world
        assert weights < 0.062


def test_one_weight_per_aspect_explains_the_linear_form(study: Any) -> None:
    for learner, most in (("LightGBM", 0.0045), ("linear", 0.012)):
        for world in study.synthetic:
            mean = study.difference(world, study.targets.BY_MEAN, "linear form", "CAM@10", learner)
            assert abs(mean["difference"]) < most, (learner, world)
    rare = study.results["worlds"]["conflicting, 5 % and 60 %"]["prevalence"]
    assert rare["relevance"]["ideal DCG@10"] == pytest.approx(0.7, abs=0.05)
    assert rare["credibility"]["ideal DCG@10"] == pytest.approx(4.0, abs=0.05)
    fractions = study.results["worlds"]["independent, unequal scales"]["prevalence"]
    assert [round(fractions[aspect]["documents"], 2) for aspect in fractions] == [0.58, 0.39]


def test_the_page_says_what_came_out(study: Any) -> None:
    page = (ROOT / "docs" / "howto" / "training_targets.md").read_text(encoding="utf-8")
    rows = [
        ("`CAM` − sum of raw gains, in CAM", ("linear form", "raw sum"), "CAM@10"),
        ('`CAM` − `"scaled sum"`, in CAM', ("linear form", "scaled sum"), "CAM@10"),
        ('`CAM` − `"scaled sum"`, in TOMA', ("linear form", "scaled sum"), "TOMA@10"),
        ('`TOMA` − `"scaled sum"`, in TOMA', ("TOMA classes", "scaled sum"), "TOMA@10"),
        ("in CAM |", (study.targets.BY_MEASURE, study.targets.BY_LABEL), "CAM@10"),
        (
            "relevance counts twice − equal weights, in CAM",
            (study.targets.WEIGHTED, "linear form"),
            "CAM@10",
        ),
    ]
    start = page.index("| difference | conflicting")
    table = [line.split("|") for line in page[start:].splitlines()[2 : 2 + len(rows)]]
    for (label, pair, measure), (_, name, *cells, _) in zip(rows, table, strict=True):
        assert label.rstrip(" |") in name
        for world, cell in zip(("conflicting", "independent"), cells, strict=True):
            differences = study.difference(f"{world}, unequal scales", *pair, measure)
            said = [float(number.replace("−", "-")) for number in re.findall(r"[+−]?\.\d+", cell)]
            assert said == pytest.approx(
                differences[["difference", "low", "high"]].tolist(), abs=0.00051
            )


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
    page = (ROOT / "docs" / "howto" / "training_targets.md").read_text(encoding="utf-8")
    start = page.index("| documents above grade 0; features tell")
    rows = [
        line.strip("|").split("|")
        for line in page[start:].splitlines()[2 : 2 + 2 * len(PREVALENCE)]
    ]
    columns = [
        ("linear form", "scaled sum", "CAM@10"),
        ("linear form", "scaled sum", "MM@10"),
        ("linear form", "scaled sum", "TOMA@10"),
        ("linear form", "scaled sum", "CAM@10", "linear"),
        ("fusion", "linear form", "CAM@10"),
    ]
    expected = [
        (label, relation) for label in PREVALENCE for relation in ("conflicting", "independent")
    ]
    assert [(row[0].strip(), row[1].strip()) for row in rows] == expected
    for label, relation, *cells in rows:
        for cell, column in zip(cells, columns, strict=True):
            row = study.difference(f"{relation.strip()}, {PREVALENCE[label.strip()]}", *column)
            said = [float(number.replace("−", "-")) for number in re.findall(r"[+−]?\.\d+", cell)]
            assert said == pytest.approx(
                [row["difference"], (row["high"] - row["low"]) / 2], abs=0.00051
            )


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
    def losses(worlds: list[str]) -> list[float]:
        return [
            -study.difference(name, "fusion", "linear form", "CAM@10")["difference"]
            for name in worlds
        ]

    one_only = [name for name in study.synthetic if "features of" in name]
    rare = [name for name in study.synthetic if "5 %" in name and name not in one_only]
    assert {*study.both_common, *one_only, *rare} == set(study.synthetic)
    assert max(losses(study.both_common)) < 0.0115
    assert [round(limit(losses(rare)), 2) for limit in (min, max)] == [0.02, 0.04]
    assert [round(limit(losses(one_only)), 2) for limit in (min, max)] == [0.04, 0.07]
    page = (ROOT / "docs" / "howto" / "training_targets.md").read_text(encoding="utf-8")
    assert (
        "costs .02 to .04 in CAM if one aspect is rare, and .04 to .07 if the features predict one"
        in page
    )
    searches = (ROOT / "docs" / "howto" / "searches.md").read_text(encoding="utf-8")
    assert "by up to .07 where the features predict one aspect only" in searches


def test_docstrings_quote_the_study(study: Any) -> None:
    orders = pd.DataFrame(study.results["worlds"]["CLEF eHealth 2015"]["row orders"]).loc["TOMA@10"]
    assert f"differ by up to {orders.map(np.ptp).max():.3f}" in " ".join(
        ma.RepeatedQueryKFold.__doc__.split()
    )
