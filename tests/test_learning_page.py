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
    """The page fits rankers of the libraries that are installed; training stops ten rounds after the best."""
    page = run("learning", "lightgbm")  # the names that the code of the page defines
    for name in ("boosted", "extreme", "cat"):  # LightGBM, XGBoost, CatBoost
        if name not in page:
            continue
        ranker = page[name]
        ((_measure, values),) = ranker.evals_result_["valid_0"].items()
        assert ranker.best_iteration_ == int(np.argmax(values)) + 1
        stopped_early = ranker.best_iteration_ + 10
        all_rounds = (60, 100)  # the numbers of trees on the page
        assert len(values) in (stopped_early, *all_rounds)


def test_fitted_rankers_have_importances(run: Any) -> None:
    page = run("learning", "lightgbm")
    n_features = 4
    for name in ("ranker", "piped"):
        if page.get(name) is not None:
            assert page[name].feature_importances_.shape == (n_features,)


def test_searches(run: Any) -> None:
    page = run("searches", "lightgbm")  # the names that the code of the page defines
    assert len(page["search"].cv_results_["params"]) == 4  # of its targets
    for name in ("search", "plain", "halving", "several"):
        results = page[name].cv_results_
        first_mean = next(column for column in results if column.startswith("mean_test"))
        assert np.isfinite(results[first_mean]).all()
    assert page["search"].best_estimator_.best_iteration_ >= 1
    assert page["halving"].n_resources_ == [3, 9]
    assert {f"test_{name}" for name in page["measures"]} <= set(page["nested"])
    # What the page sets, it takes back.
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_the_front_of_a_search(run: Any) -> None:
    """The page chooses the most relevant setting of those with an understandability of at least 0.7."""
    page = run("searches", "lightgbm")
    search = page["several"]
    front = ma.pareto_front(search)
    chosen = front.loc[search.best_index_]
    assert chosen["understandability"] >= 0.7
    allowed = front[front["understandability"] >= 0.7]
    assert chosen["relevance"] == allowed["relevance"].max()


def test_the_first_feature_matters_most_for_relevance(run: Any) -> None:
    page = run("searches", "lightgbm")
    importances = page["found"]["relevance"]["importances_mean"]  # per feature
    assert importances.argmax() == 0


def test_other_trainers(run: Any) -> None:
    page = run("other_trainers", "lightgbm")  # the names that the code of the page defines
    assert page["results"].shape == (2, 3)
    metric = page["metric"]
    (values_by_round,) = metric.history
    assert len(values_by_round) > 1
    assert page["trained"].best_score["valid_0"][metric.name] == max(values_by_round)
    assert len(page["metric_of_all"].history) == 4  # one per fold


def test_other_trainers_stop_by_other_queries_than_those_of_the_report(run: Any) -> None:
    page = run("other_trainers", "lightgbm")
    for name in ("metric", "xgb_metric"):
        if name in page:
            (rows_of_set,) = page[name]._sets
            assert len(rows_of_set) == page["valid"].sum()
    # These are masks of rows.
    used_otherwise = page["test"] | page["fitted"]
    assert not (page["valid"] & used_otherwise).any()


def test_optuna(run: Any) -> None:
    page = run("searches", "optuna")
    front = ma.pareto_front(page["trials"], list(page["on"]))
    assert set(np.flatnonzero(front["on_front"])) == {
        trial.number for trial in page["study"].best_trials
    }


def test_neural_rankers(run: Any) -> None:
    """The page makes labels and weights in [0, 1] for cross-encoders, whose loss requires that."""
    page = run("other_trainers", "lightgbm")
    labels = page["unit"]["label"]
    assert labels.between(0, 1).all()
    assert labels.max() == 1
    assert len(page["pairs"]) == len(labels)
    weights = page["sample_weight"]
    assert weights.between(0, 1).all()
    assert weights[0] == 1  # of the first document, which is judged
