"""The how-to pages on learning: their code runs, and gives what their texts say.

The documentation build executes the pages, too, but for the cells that need packages which it does
not install.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import sklearn

import pt_multiaspect as ma

HOWTO = Path(__file__).resolve().parent.parent / "docs" / "howto"
OPTIONAL = ("xgboost", "catboost", "optuna")
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.M | re.S)


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def cells(page: str) -> list[str]:
    """The code of a page, cell by cell, without the options of cells."""
    text = (HOWTO / f"{page}.md").read_text(encoding="utf-8")
    return [
        re.sub(r"\A(?::tags:[^\n]*\n|---\n.*?\n---\n)", "", cell, flags=re.S)
        for cell in CELL.findall(text)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journeys")


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a page in a folder of its own, without the cells that need packages which are not installed."""
    matplotlib.use("Agg")
    monkeypatch.chdir(folder)

    def needs(package: str) -> None:
        if not is_installed(package):
            pytest.skip(f"{package} is not installed")

    def page(name: str, *packages: str) -> dict[str, Any]:
        for package in packages:
            needs(package)
        return execute_page(name)

    return page


@cache
def execute_page(page: str) -> dict[str, Any]:
    """The variables after all cells of a page."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(page):
        imported = set(re.findall(r"^(?:import|from) (\w+)", cell, re.M))
        if not any(package in imported and not is_installed(package) for package in OPTIONAL):
            exec(compile(cell, f"{page}.md", "exec"), names)
    return names


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation Report"),
]


def test_fitting(run: Any) -> None:
    page = run("learning", "lightgbm")
    for name in ("boosted", "extreme", "cat"):
        if name not in page:
            continue
        ranker = page[name]
        ((_, values),) = ranker.evals_result_["valid_0"].items()
        assert ranker.best_iteration_ == int(np.argmax(values)) + 1
        assert len(values) in (ranker.best_iteration_ + 10, 60, 100)
    for fitted in (page["ranker"], page.get("piped")):
        assert fitted is None or fitted.feature_importances_.shape == (4,)


def test_searches(run: Any) -> None:
    page = run("searches", "lightgbm")
    assert len(page["search"].cv_results_["params"]) == 4
    for search in (page["search"], page["plain"], page["halving"], page["several"]):
        key = next(name for name in search.cv_results_ if name.startswith("mean_test"))
        assert np.isfinite(search.cv_results_[key]).all()
    assert page["search"].best_estimator_.best_iteration_ >= 1
    assert page["halving"].n_resources_ == [3, 9]
    assert not sklearn.get_config()["enable_metadata_routing"]
    assert {f"test_{name}" for name in page["measures"]} <= set(page["nested"])


def test_the_front_of_a_search(run: Any) -> None:
    page = run("searches", "lightgbm")
    front = ma.pareto_front(page["several"])
    chosen = page["several"].best_index_
    assert front.loc[chosen, "understandability"] >= 0.7
    assert (
        front.loc[chosen, "relevance"] == front.query("understandability >= 0.7")["relevance"].max()
    )
    importance = {name: values["importances_mean"] for name, values in page["found"].items()}
    assert importance["relevance"].argmax() == 0


def test_other_trainers(run: Any) -> None:
    page = run("other_trainers", "lightgbm")
    assert page["results"].shape == (2, 3)
    assert len(page["metric"].history[0]) > 1
    # Training stops by other queries than those of the report.
    for name in page.keys() & {"metric", "xgb_metric"}:
        (rows,) = page[name]._sets
        assert len(rows) == page["valid"].sum()
    assert not (page["valid"] & (page["test"] | page["fitted"])).any()
    assert page["trained"].best_score["valid_0"][page["metric"].name] == max(
        page["metric"].history[0]
    )
    assert len(page["metric_of_all"].history) == 4


def test_optuna(run: Any) -> None:
    page = run("searches", "optuna")
    front = ma.pareto_front(page["trials"], list(page["on"]))
    assert set(np.flatnonzero(front["on_front"])) == {
        trial.number for trial in page["study"].best_trials
    }


def test_neural_rankers(run: Any) -> None:
    page = run("other_trainers", "lightgbm")
    assert page["unit"]["label"].between(0, 1).all()
    assert page["unit"]["label"].max() == 1
    assert len(page["pairs"]) == len(page["unit"])
    assert page["sample_weight"].between(0, 1).all()
    assert page["sample_weight"][0] == 1
