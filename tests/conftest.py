"""Settings of all tests."""

from __future__ import annotations

import gc
import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from strategies import examples, forget_warnings

from pt_multiaspect import Aspect, Aspects, Order, accelerate

# The workers of pytest-xdist share the cores: more threads of OpenMP would spend half their time
# waiting.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile(
    "pt_multiaspect",
    examples(100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]),
)
settings.load_profile("pt_multiaspect")

#: How many tests that are marked `slow` were deselected.
_left_out = {"slow": 0}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Collect examples of the package only, as `--doctest-modules` would search all objects of the tests, too."""
    return [collector for collector in (yield) if not isinstance(collector, DoctestModule)]


def pytest_collection():
    gc.disable()


def pytest_collection_finish():
    """Exclude the tests from garbage collection, which would traverse them again and again until the end."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as `slow` the cases of a parametrised test that its mark `every` leaves out."""
    seen = Counter()
    for item in items:
        mark = item.get_closest_marker("every")
        if mark and not item.get_closest_marker("slow"):
            family = item.nodeid.partition("[")[0]
            if seen[family] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            seen[family] += 1


def pytest_deselected(items):
    worker = getattr(items[0].config, "workeroutput", {})
    worker["left_out"] = _left_out["slow"] = sum(
        item.get_closest_marker("slow") is not None for item in items
    )


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Read what a worker of pytest-xdist deselected: each of them collects all tests."""
    _left_out["slow"] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter):
    if _left_out["slow"]:
        terminalreporter.write_line(
            f"slow tests left to .ci/run, or to pytest -m '': {_left_out['slow']}"
        )


@pytest.fixture(autouse=True)
def _warnings_are_given_again() -> None:
    """Warnings that are given once without a call of a tool are given once a test."""
    forget_warnings()


@pytest.fixture(autouse=True)
def _names_last_one_test(monkeypatch) -> None:
    """A name that a test declares means nothing to the tests after it, in whatever order they run."""
    for registry in (Aspects.registry, Order.registry):
        monkeypatch.setattr(registry, "_content", registry._content.copy())
        monkeypatch.setattr(registry, "_declared", registry._declared.copy())


@pytest.fixture
def routing() -> Iterator[None]:
    """Metadata routing of scikit-learn, which the process that starts the workers need not import."""
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def undo_acceleration() -> Iterator[None]:
    """Undo the acceleration of ir-measures after the test."""
    yield
    accelerate().undo()


@pytest.fixture(scope="session")
def study_module() -> Callable[[str], Any]:
    """Import a module of the studies in benchmarks/, which are not installed."""

    def import_module(name: str) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(Path(__file__).resolve().parent.parent)
            return importlib.import_module(f"benchmarks.study.{name}")

    return import_module


@pytest.fixture
def trec_files(tmp_path):
    """A directory with the qrels of two aspects, six queries, four runs and the label scales."""
    rng = np.random.default_rng(1)
    queries = [(f"q{q}", [f"d{q}{d}" for d in range(8)]) for q in range(6)]
    labels = {}
    for aspect, top in {"relevance": 2, "credibility": 3}.items():
        labels[aspect] = {docno: rng.integers(top + 1) for _, docnos in queries for docno in docnos}
        lines = [
            f"{qid} 0 {docno} {labels[aspect][docno]}"
            for qid, docnos in queries
            for docno in docnos
        ]
        (tmp_path / f"{aspect}.txt").write_text("\n".join(lines))
    (tmp_path / "runs").mkdir()
    # The best run, two by chance, and the worst.
    for name, sign in {"alpha": 1, "beta": 0, "gamma": 0, "delta": -1}.items():
        lines = [
            f"{qid} Q0 {docno} {rank + 1} {9 - rank} {name}"
            for qid, docnos in queries
            for rank, docno in enumerate(
                sorted(
                    rng.permutation(docnos), key=lambda docno: -sign * labels["relevance"][docno]
                )[:6]
            )
        ]
        (tmp_path / "runs" / f"{name}.run").write_text("\n".join(lines))
    Aspects({"relevance": Aspect(2, threshold=2), "credibility": Aspect(3, threshold=1)}).to_file(
        tmp_path / "scales.json"
    )
    return tmp_path


@pytest.fixture
def cli(trec_files, capsys, monkeypatch):
    """Run a command on `trec_files`, and return the exit code and what it prints."""
    # The process that starts the workers need not import it, while they wait.
    from pt_multiaspect.cli import main

    monkeypatch.chdir(trec_files)

    def run(command, *arguments, qrels=("relevance=relevance.txt", "credibility=credibility.txt")):
        code = main([command, *(["--qrels", *qrels] if qrels else []), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
