"""The how-to pages on learning: their code runs, and gives what their text says.

The documentation build executes the pages, too, but for the cells that need packages which it does not install.
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn

import pt_multiaspect as ma

HOWTO = Path(__file__).resolve().parent.parent / "docs" / "howto"
OPTIONAL = ("lightgbm", "xgboost", "catboost", "optuna", "mlflow")
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```$", re.M | re.S)


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def sections(page: str) -> list[list[str]]:
    """The code of each section of a page, cell by cell."""
    text = (HOWTO / f"{page}.md").read_text(encoding="utf-8")
    cells = [CELL.findall(section) for section in re.split(r"^## ", text, flags=re.M)]
    return [[re.sub(r"^:tags:.*\n", "", cell) for cell in section] for section in cells if section]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journeys")


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a page in a folder of its own, without the sections that need packages which are not installed."""
    matplotlib.use("Agg")
    monkeypatch.chdir(folder)

    def needs(package: str) -> None:
        if not installed(package):
            pytest.skip(f"{package} is not installed")

    def page(name: str, *packages: str) -> dict[str, Any]:
        for package in packages:
            needs(package)
        return executed(name)

    return page


@cache
def executed(page: str) -> dict[str, Any]:
    """The variables after all cells of a page, and in `shown` what each displays."""
    names: dict[str, Any] = {"__name__": "__main__", "shown": []}
    for section in sections(page):
        imported = {found for cell in section for found in re.findall(r"^(?:import|from) (\w+)", cell, re.M)}
        if any(package in imported and not installed(package) for package in OPTIONAL):
            continue
        for cell in section:
            *_, last = cell.rstrip().rsplit("\n", 1)
            exec(compile(cell, f"{page}.md", "exec"), names)
            if re.match(r"[\w.]+(\(.*\))?$", last):
                names["shown"].append(last)
    return names


pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation Report"),
    pytest.mark.filterwarnings("ignore:Failed to import numba"),
]


# -- scikit-learn -----------------------------------------------------------------------------------


def test_searches(run: Any) -> None:
    page = run("model_selection")
    grid, plain, halving = page["search"], page["plain"], page["halving"]
    assert len(grid.cv_results_["params"]) == 6
    for search in (grid, plain, page["drawn"], halving):
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert 0.5 < search.best_score_ <= 1
    # With and without routing, the same folds and values.
    routed = pd.DataFrame(grid.cv_results_).query("param_estimator__alpha == 1")
    same = [params["target"] == page["CAM"] for params in routed["params"]]
    assert routed["mean_test_score"][same].item() == pytest.approx(plain.cv_results_["mean_test_score"][0])
    assert halving.n_resources_ == [3, 9]
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_an_invalid_distance_fails_its_candidate_only(run: Any) -> None:
    page = run("model_selection")
    valid, invalid = page["some"].cv_results_["mean_test_score"]
    assert valid > 0.5
    assert np.isnan(invalid)
    assert page["some"].best_params_ == {"target__distance": "euclidean"}
    assert page["ranker"].target == "TOMA(aspects='both')@5"


def test_several_measures_predict_once(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = run("model_selection")
    calls: list[int] = []
    predict = ma.AspectRanker.predict
    monkeypatch.setattr(ma.AspectRanker, "predict", lambda self, X: calls.append(len(X)) or predict(self, X))
    sklearn.model_selection.cross_validate(
        ma.AspectRanker(page["Ridge"](), target=page["CAM"]),
        page["X"],
        page["labels"],
        scoring=ma.ranking_scorer(page["measures"]),
        cv=ma.RepeatedQueryKFold(5, 1),
        error_score="raise",
    )
    assert len(calls) == 5
    for name, measure in page["measures"].items():
        assert len(page["scores"][f"test_{name}"]) == 10, measure


def test_pipelines_and_copies(run: Any) -> None:
    page = run("model_selection")
    inside, around = (page[name].fit(page["X"], page["labels"]) for name in ("inside", "around"))
    assert np.allclose(inside.predict(page["X"]), around.predict(page["X"]))
    with sklearn.config_context(enable_metadata_routing=True):
        routed = sklearn.clone(inside).fit(page["X"], page["Y"], qid=page["qid"])
    assert np.allclose(routed.predict(page["X"]), inside.predict(page["X"]))
    assert "estimator__ridge__alpha" in around.get_params()
    assert (page["again"].predict(page["X"]) == page["plain"].predict(page["X"])).all()


# -- boosting ----------------------------------------------------------------------------------------


def test_lightgbm(run: Any) -> None:
    page = run("boosting", "lightgbm")
    metric = ma.lightgbm_metric({"CAM": page["CAM"], "TOMA": page["TOMA"]}, page["Y"], page["qid"])
    assert [name for name, *_ in metric(page["label"], page["label"])] == ["CAM", "TOMA"]
    # Ranked by the integer labels, CAM of the linear form is at its maximum, but for what the levels lose.
    best = metric(page["label"], page["gain"] if "gain" in page else page["label"])[0][1]
    assert metric(page["label"], page["label"])[0][1] >= best * (1 - page["labels"].attrs["loss"]) - 1e-9


def test_xgboost(run: Any) -> None:
    page = run("boosting", "xgboost")
    data = page["matrix"](page["valid"])
    # The floats themselves.
    assert np.allclose(data.get_label(), page["gain"][page["valid"]])
    assert len(set(data.get_label())) > 10
    value = ma.ranking_score(
        page["Y"][page["valid"]],
        page["booster"].predict(data, iteration_range=(0, page["booster"].best_iteration + 1)),
        qid=page["qid"][page["valid"]],
        measure=page["CAM"],
    )
    assert page["booster"].best_score == pytest.approx(value, abs=1e-6)
    assert {"test-CAM-mean", "test-TOMA-mean"} <= set(page["folds"])
    assert len(page["folds"]["test-CAM-mean"]) == 20


def test_catboost(run: Any) -> None:
    page = run("boosting", "catboost")
    fitted = page["ranker"].estimator_
    assert type(fitted).__name__ == "CatBoostRanker"
    assert fitted.get_best_iteration() < 60


# -- several objectives --------------------------------------------------------------------------


def test_the_front_of_a_search(run: Any) -> None:
    page = run("objectives")
    front = ma.pareto_front(page["search"])
    assert front["on_front"].any()
    chosen = page["search"].best_index_
    assert front.loc[chosen, "understandability"] >= 0.8
    assert front.loc[chosen, "relevance"] == front.query("understandability >= 0.8")["relevance"].max()
    first, last = page["swept"].iloc[0], page["swept"].iloc[-1]
    assert first["relevance"] < last["relevance"]
    assert first["understandability"] > last["understandability"]


def test_optuna(run: Any) -> None:
    page = run("objectives", "optuna")
    trials, study = page["trials"], page["study"]
    assert len(trials) == 20
    # The same front as Optuna's own.
    front = ma.pareto_front(trials, list(page["on"]))
    assert set(np.flatnonzero(front["on_front"])) == {trial.number for trial in study.best_trials}
    assert front["on_front"][page["choices"]["knee"](trials)]
    # Read again from its storage, categories are still measures.
    again = page["optuna"].load_study(study_name="two aspects", storage="sqlite:///search.db")
    targets = {trial.params["target"] for trial in again.trials}
    assert targets == set(page["targets"])
    for target in targets:
        ma.AspectRanker(page["Ridge"](), target=target).fit(page["X"], page["labels"])


def test_mlflow(run: Any) -> None:
    page = run("objectives", "mlflow")
    client = page["mlflow"].MlflowClient()
    logged = client.get_run(page["run"].info.run_id).data
    for name in page["measures"]:
        assert logged.metrics[name] == pytest.approx(page["scores"][f"test_{name}"].mean())
    assert logged.params["target"] == str(page["measures"]["CAM"])
    with pytest.raises(page["mlflow"].exceptions.MlflowException, match="Invalid"):
        client.log_metric(page["run"].info.run_id, str(page["measures"]["CAM"]), 1.0)


# -- PyTerrier ---------------------------------------------------------------------------------------


def test_pyterrier(run: Any) -> None:
    page = run("learned_pipelines", "lightgbm")
    assert page["labels"].attrs["loss"] < 0.01
    assert page["results"].shape == (3, 4)
    rows, ranker = page["rows"], page["ranker"]
    (values,) = ranker.evals_result_["valid_0"].values()
    scored = ma.ranking_score(
        rows[["label", "understandability", "credibility"]],
        ranker.predict(np.stack(rows["features"])),
        qid=rows["qid"],
        measure=page["measure"],
    )
    assert max(values) == pytest.approx(scored)
