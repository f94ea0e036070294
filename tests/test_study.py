"""The study of training targets: its script runs, and what is said of its results is in them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma

ROOT = Path(__file__).resolve().parent.parent
pytest.importorskip("lightgbm", reason="LightGBM is not installed")


@pytest.fixture(scope="module")
def study() -> Any:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.study import __main__ as script
        from benchmarks.study import learning, report, worlds
    finally:
        sys.path.remove(str(ROOT))

    class Study:
        main, targets, figures, data = script, learning, report, worlds
        results = report.load()

        def difference(self, world: str, name: str, baseline: str, measure: str) -> Any:
            return report.differences(self.results, world, name, baseline, "LightGBM").loc[measure]

    return Study()


def test_the_results_tell_how_they_were_made(study: Any) -> None:
    about = study.results["about"]
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
def test_the_committed_values_are_those_of_the_script(study: Any) -> None:
    # The first collection of one setting; boosting differs a little between versions and machines.
    world = study.data.synthetic(-0.7, (2, 10), seed=study.data.FIRST_SEED)
    found = study.targets.evaluate(world, study.data.first_and_rest(world), ["linear form", "raw sum"])
    committed = study.results["worlds"]["conflicting, unequal scales"]["scores"]["LightGBM"]
    for name, scores in found.items():
        for measure, (value,) in scores.items():
            assert value == pytest.approx(committed[name][measure][0], abs=0.03), (name, measure)
    linear = study.targets.evaluate(world, study.data.first_and_rest(world), ["raw sum"], learner="linear")
    committed = study.results["worlds"]["conflicting, unequal scales"]["scores"]["linear"]
    for measure, (value,) in linear["raw sum"].items():
        assert value == pytest.approx(committed["raw sum"][measure][0], abs=1e-4)


@pytest.mark.slow
def test_a_small_study(study: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(study.data, "N_TRAIN", 6)
    monkeypatch.setattr(study.data, "N_DOCUMENTS", 8)
    tiny = study.data.synthetic
    monkeypatch.setattr(study.data, "synthetic", lambda *given: tiny(*given, n_queries=10))
    monkeypatch.setattr(study.data, "CORRELATIONS", {"conflicting": -0.7})
    monkeypatch.setattr(study.data, "SCALES", {"equal scales": (2, 2)})
    collection = study.data.World(*(getattr(tiny(0, (2, 3), 1, 12), name) for name in ("X", "Y", "qid", "aspects")))
    monkeypatch.setattr(study.data, "COLLECTIONS", {"a collection": lambda data: collection})
    monkeypatch.setattr(study.data, "directions", lambda data: {"credibility": {"rises": 1, "falls": 0}})
    monkeypatch.setitem(study.targets.PARAMS, "n_estimators", 3)
    out = tmp_path / "results.json"
    given = ["--draws", "2", "--splits", "2", "--repeats", "1", "--data", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["study", *given])
    study.main.main()
    assert "a collection:" in capsys.readouterr().out
    written = study.figures.load(out)
    assert set(written) == set(study.results)
    assert set(written["about"]) == set(study.results["about"])
    of_collection, of_draws = written["worlds"]["a collection"], written["worlds"]["conflicting, equal scales"]
    assert set(of_collection) == set(study.results["worlds"]["CLEF eHealth 2015"])
    assert set(of_draws) == set(study.results["worlds"]["conflicting, equal scales"])
    assert len(of_draws["scores"]["LightGBM"]["fusion"]["CAM@10"]) == 2


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


# -- what is said of the results -----------------------------------------------------------------------


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
def test_relevance_is_the_worst_target_where_features_tell_of_both_aspects(study: Any) -> None:
    for world, scores in study.results["worlds"].items():
        for measure in ("CAM@10", "MM@10") if scores["n_folds"] is None else ():
            for target in ("raw sum", "linear form", "TOMA classes", "fusion"):
                assert study.difference(world, target, "relevance", measure)["low"] > 0


@pytest.mark.slow
def test_the_linear_form_is_better_than_the_sum_if_scales_differ(study: Any) -> None:
    for measure in study.targets.MEASURES:
        for relation in ("conflicting", "independent", "correlated"):
            assert study.difference(f"{relation}, unequal scales", "linear form", "raw sum", measure)["low"] > 0
            equal = study.difference(f"{relation}, equal scales", "linear form", "raw sum", measure)
            assert abs(equal["difference"]) < 0.008


def test_the_page_says_what_came_out(study: Any) -> None:
    page = (ROOT / "docs" / "howto" / "learning.md").read_text(encoding="utf-8")
    rows = [
        ("`CAM` − sum of raw gains, in CAM", ("linear form", "raw sum"), "CAM@10"),
        ('`CAM` − `"scaled sum"`, in CAM', ("linear form", "scaled sum"), "CAM@10"),
        ('`CAM` − `"scaled sum"`, in TOMA', ("linear form", "scaled sum"), "TOMA@10"),
        ('`TOMA` − `"scaled sum"`, in TOMA', ("TOMA classes", "scaled sum"), "TOMA@10"),
        ("in CAM |", (study.targets.BY_MEASURE, study.targets.BY_LABEL), "CAM@10"),
        ("relevance counts twice − equal weights, in CAM", (study.targets.WEIGHTED, "linear form"), "CAM@10"),
    ]
    table = [line.split("|") for line in page.splitlines() if line.startswith("| ")][-len(rows) :]
    for (label, pair, measure), (_, name, *cells, _) in zip(rows, table, strict=True):
        assert label.rstrip(" |") in name
        for world, cell in zip(("conflicting", "independent"), cells, strict=True):
            found = study.difference(f"{world}, unequal scales", *pair, measure)
            said = [float(number.replace("−", "-")) for number in re.findall(r"[+−]?\.\d+", cell)]
            assert said == pytest.approx(found[["difference", "low", "high"]].tolist(), abs=0.00051)


@pytest.mark.slow
def test_where_nothing_came_out(study: Any) -> None:
    synthetic = [name for name, world in study.results["worlds"].items() if world["n_folds"] is None]
    for world in synthetic:
        stopped = study.difference(world, study.targets.BY_MEASURE, study.targets.BY_LABEL, "CAM@10")
        assert abs(stopped["difference"]) <= 0.0025
        classes = study.difference(world, "TOMA classes", "scaled sum", "TOMA@10")
        assert -0.0041 <= classes["low"] <= classes["high"] <= 0.0041
    for world in ("CLEF eHealth 2015", "CLEF eHealth 2018"):
        for target in ("scaled sum", "linear form", "TOMA classes"):
            for measure in ("CAM@10", "TOMA@10"):
                assert study.difference(world, target, "relevance", measure)["low"] < 0
                assert study.difference(world, target, "relevance", measure)["high"] > 0


def test_docstrings_quote_the_study(study: Any) -> None:
    synthetic = [name for name, world in study.results["worlds"].items() if world["n_folds"] is None]
    fused = [study.difference(name, "fusion", "linear form", "CAM@10")["difference"] for name in synthetic]
    on_clef = study.difference("CLEF eHealth 2015", "fusion", "linear form", "CAM@10")
    half = (on_clef["high"] - on_clef["low"]) / 2
    said = f"by {max(fused):+.3f} to {min(fused):+.3f} on synthetic collections "
    said += f"and by {on_clef['difference']:+.3f} ± {half:.3f} on CLEF eHealth 2015"
    assert said.replace("-", "−") in " ".join(ma.AspectFusion.__doc__.split())
    orders = pd.DataFrame(study.results["worlds"]["CLEF eHealth 2015"]["row orders"]).loc["TOMA@10"]
    assert f"differ by up to {orders.map(np.ptp).max():.3f}" in " ".join(ma.RepeatedQueryKFold.__doc__.split())
