"""Warnings come once in a call, and again in the next one, as when a cell of a notebook is run again."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA

TOPICS = pd.DataFrame({"qid": [f"q{number}" for number in range(8)], "query": "x"})
RNG = np.random.default_rng(0)
QRELS = pd.DataFrame(
    [
        (qid, f"d{number}", number % 3, number // 2 % 3)
        for qid in TOPICS["qid"]
        for number in range(12)
    ],
    columns=["qid", "docno", "label", "trust"],
)
RUN = QRELS[["qid", "docno"]].assign(score=RNG.random(len(QRELS)))
#: Its ids are spelt in another way, so that every value is 0.
ZEROS = RUN.assign(docno="0" + RUN["docno"])
LABELS = QRELS[["label", "trust"]].rename(columns={"label": "relevance"})
FEATURES = RNG.random((len(QRELS), 3))
CALC = {
    "qrels": QRELS.set_axis(["query_id", "doc_id", "relevance", "trust"], axis=1),
    "run": ZEROS.set_axis(["query_id", "doc_id", "score"], axis=1),
}


def caught_warnings(call: Callable[[], Any]) -> list[str]:
    """Return the warnings of a call, without that of TOMA without a gate, which is meant here."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="TOMA has no gate")
        call()
    return [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ma.MultiAspectWarning)
    ]


def search(jobs: int) -> GridSearchCV:
    ranker = ma.AspectRanker(Ridge(), target="relevance").set_fit_request(qid=True)
    targets = {"target": ["relevance", "trust"]}
    return GridSearchCV(
        ranker, targets, scoring=ma.ranking_scorer(TOMA), cv=GroupKFold(4), n_jobs=jobs
    )


def fit_search(estimator: GridSearchCV) -> None:
    qid = QRELS["qid"].to_numpy()
    estimator.fit(FEATURES, LABELS, qid=qid, groups=qid)


DOORS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "evaluate": (
        lambda: ma.evaluate(
            {"one": ZEROS, "two": ZEROS}, QRELS, [TOMA, CAM(base="AP")], progress=False
        ),
        ["TOMA depends", "run one: none of the 96 documents"],
    ),
    "Experiment": (
        lambda: pt.Experiment(
            [pt.Transformer.from_df(ZEROS)] * 3, TOPICS, QRELS, [TOMA, CAM, TOMA @ 3]
        ),
        ["none of the 96 documents", "TOMA depends"],
    ),
    "calc_aggregate": (
        lambda: ir_measures.calc_aggregate([TOMA, TOMA @ 3], CALC["qrels"], CALC["run"]),
        ["none of the 96 documents", "TOMA depends"],
    ),
    "ranking_score": (
        lambda: ma.ranking_score(LABELS, FEATURES[:, 0], measure=TOMA, qid=QRELS["qid"]),
        ["TOMA depends"],
    ),
    "fit": (
        lambda: ma.AspectRanker(Ridge(), target=TOMA).fit(FEATURES, LABELS, qid=QRELS["qid"]),
        ["TOMA depends"],
    ),
    "upper_bound": (lambda: ma.analysis.upper_bound(QRELS, TOMA), ["TOMA depends"]),
}


@pytest.mark.parametrize("door", DOORS)
def test_each_call_warns_once(door: str) -> None:
    """Kind: warnings that one process gave once, whatever it was called with later."""
    call, expected = DOORS[door]
    for _ in range(3):
        messages = caught_warnings(call)
        assert len(messages) == len(expected), messages
        for message, text in zip(messages, expected, strict=True):
            assert text in message


@pytest.mark.usefixtures("routing")
def test_a_search_warns_once_with_all_of_its_folds() -> None:
    estimator = search(1)
    for _ in range(2):
        messages = caught_warnings(lambda: fit_search(estimator))
        assert [message.partition(" on ")[0] for message in messages] == ["TOMA depends"]


def test_a_trainer_warns_once_with_all_of_its_iterations() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    labels, group = LABELS["relevance"].to_numpy(), [12] * 8

    def fit() -> None:
        metric = ma.metric_for("lightgbm", TOMA, LABELS, QRELS["qid"])
        ranker = lightgbm.LGBMRanker(n_estimators=5, min_child_samples=2, verbose=-1)
        evaluation = {
            "eval_set": [(FEATURES, labels)],
            "eval_group": [group],
            "eval_metric": metric,
        }
        ranker.fit(FEATURES, labels, group=group, **evaluation)

    for _ in range(2):
        (message,) = caught_warnings(fit)
        assert message.startswith("TOMA depends")


def test_an_evaluator_of_many_runs_warns_once_of_its_qrels() -> None:
    """And of each run."""
    evaluator = ma.evaluator(QRELS, TOMA)
    runs = [ZEROS.assign(name=name) for name in "abc"]
    messages = [
        message for run in runs for message in caught_warnings(lambda run=run: evaluator(run))
    ]
    assert sum("TOMA depends" in message for message in messages) == 1
    assert sum("none of the 96 documents" in message for message in messages) == 3
    theirs = ir_measures.evaluator([TOMA], CALC["qrels"])
    messages = [
        text
        for _ in range(3)
        for text in caught_warnings(lambda: list(theirs.iter_calc(CALC["run"])))
    ]
    assert sum("TOMA depends" in message for message in messages) == 1
    assert sum("none of the 96 documents" in message for message in messages) == 3


CELL = """
import pandas as pd, pt_multiaspect as ma
qrels = pd.DataFrame({"qid": "q", "docno": [f"d{n}" for n in range(12)], "label": [0, 1, 2] * 4})
run = qrels[["qid"]].assign(docno=[f"0d{n}" for n in range(12)], score=range(12))
ma.evaluate({"mine": run}, qrels, ma.On(base="AP"), progress=False)
"""


def test_a_cell_that_is_run_again_shows_zeros_with_their_warning(tmp_path: Path) -> None:
    """By Python's default filters, which show a text once at a line of a module."""
    (tmp_path / "notebook.py").write_text(
        f"names = {{}}\nfor _ in range(3):\n    exec({CELL!r}, names)\n"
    )
    done = subprocess.run(
        [sys.executable, "notebook.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr.count("none of the 12 documents retrieved") == 3


@pytest.mark.parametrize("arguments", [["-c", CELL], ["-"]])
def test_programs_without_a_file_are_warned(tmp_path: Path, arguments: list[str]) -> None:
    """Their globals name a loader that has no source, on which Python itself stopped."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, input=CELL, capture_output=True, text=True, check=True
    )
    assert done.stderr.count("none of the 12 documents retrieved") == 1


def test_filters_of_users_hold() -> None:
    """`upper_bound` warns that TOMA depends on inferred scales; the filter that was added last decides."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="TOMA depends", category=ma.MultiAspectWarning)
        ma.analysis.upper_bound(QRELS, TOMA)

        # Warnings are given for the module that calls the package: this one.
        warnings.filterwarnings("error", message="TOMA depends", module=__name__)
        for _call in range(2):
            with pytest.raises(ma.MultiAspectWarning):
                ma.analysis.upper_bound(QRELS, TOMA)


class Run(dict[str, Any]):
    """A dict that weak references can refer to."""


def test_what_a_call_was_given_ends_with_it() -> None:
    """The causes that a call has warned of keep nothing alive."""
    # The run, a dict that weak references can refer to, has none of the judged documents.
    run = Run(q0={f"other{number}": float(number) for number in range(12)})
    qrels = {"q0": {f"d{number}": number % 3 for number in range(12)}}
    reference = weakref.ref(run)
    messages = caught_warnings(partial(CAM.calc_aggregate, qrels, run))
    assert len(messages) > 0
    del run
    gc.collect()
    assert reference() is None
