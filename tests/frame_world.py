"""A small collection, and rows to learn from, as frames of pandas; functions that make further ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

import pt_multiaspect as ma
from pt_multiaspect import CAM
from pt_multiaspect.collection import Run

SCALES = {"relevance": 2, "credibility": 1}
MEASURE = CAM(aspects=SCALES) @ 5
QRELS = pd.DataFrame(
    [(f"q{q}", f"d{d}", (d * q) % 3, (d + q) % 2) for q in (1, 2, 3) for d in range(6)],
    columns=["qid", "docno", "label", "credibility"],
)
RUNS = {
    name: pd.DataFrame(
        [(f"q{q}", f"d{d}", float((d * factor + q) % 7)) for q in (1, 2, 3) for d in range(6)],
        columns=["qid", "docno", "score"],
    )
    for name, factor in (("a", 2), ("b", 3), ("c", 5))
}
LONG = ma.evaluate(RUNS, QRELS, {"CAM": MEASURE, "P@3": "P@3"}, progress=False)
TABLE = pd.concat([run.assign(name=name) for name, run in RUNS.items()], ignore_index=True)
X = pd.DataFrame(
    {
        "qid": [f"q{n // 4}" for n in range(12)],
        "f1": np.arange(12.0) % 5,
        "f2": np.arange(12.0) * 3 % 7,
    }
)
Y = pd.DataFrame({"relevance": np.arange(12) % 3, "credibility": np.arange(12) % 2})
QID, SCORE = pd.Series(X["qid"], name="qid"), pd.Series(np.arange(12.0)[::-1], name="score")


def random_qrels(n_topics: int) -> pd.DataFrame:
    """Return labels of two aspects for twelve documents per topic."""
    rng = np.random.default_rng(7)
    pairs = [(f"q{topic}", f"d{document}") for topic in range(n_topics) for document in range(12)]
    frame = pd.DataFrame(pairs, columns=["qid", "docno"])
    return frame.assign(
        label=rng.integers(0, 3, len(frame)), credibility=rng.integers(0, 3, len(frame))
    )


def random_run(qrels: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a ranking of most of the judged documents."""
    some = qrels.sample(frac=0.7, random_state=seed)[["qid", "docno"]]
    return some.assign(score=np.random.default_rng(seed).normal(size=len(some)))


def evaluate_in_processes(runs: Mapping[str, Any], qrels: Any, measures: Any) -> pd.DataFrame:
    """Return the values of runs by name that two processes have evaluated."""
    frames = {
        name: run if isinstance(run, pd.DataFrame) else Run.of(run).to_pandas()
        for name, run in runs.items()
    }
    evaluator = ma.evaluator(qrels, measures)
    parts = joblib.Parallel(n_jobs=2)(
        joblib.delayed(evaluator)(frame.assign(name=name)) for name, frame in frames.items()
    )
    return evaluator.complete(pd.concat(parts), names=list(runs))


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file, and return its path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_run(run: pd.DataFrame, path: Path) -> None:
    """Write a run file whose ranks are not those of the scores."""
    path.write_text(
        "".join(f"{row.qid} Q0 {row.docno} 1 {row.score!r} x\n" for row in run.itertuples())
    )


def one_topic(**aspects: Any) -> pd.DataFrame:
    """Return the qrels of one topic, with the documents in the order of their labels."""
    size = len(next(iter(aspects.values())))
    return pd.DataFrame(
        {"qid": "q1", "docno": [f"d{number:03}" for number in range(size)], **aspects}
    )


def as_ir_measures(frame: pd.DataFrame) -> pd.DataFrame:
    """Return qrels or a run with the columns of ir-measures."""
    return frame.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})


def long_frame(values: dict[str, list[float]], measure: str = "AP") -> pd.DataFrame:
    """Return the long frame of the values of each run on the topics q0, q1, …"""
    rows = [
        (name, f"q{n}", measure, value)
        for name, column in values.items()
        for n, value in enumerate(column)
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])


def array_frame(values: Any, measures: Sequence[str] = ("AP", "RR", "P")) -> pd.DataFrame:
    """Return the long frame of an array systems × topics × measures."""
    rows = [
        (f"run {system}", f"q{topic}", measures[measure], value)
        for (system, topic, measure), value in np.ndenumerate(np.asarray(values, dtype=float))
    ]
    return pd.DataFrame(rows, columns=["name", "qid", "measure", "value"])
