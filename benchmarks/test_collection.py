"""Evaluation of many runs, of run files, and reading, as ratios against pytrec_eval, ir-measures and Polars.

Run with ``pytest benchmarks -s``. Both sides alternate in one process, and the shortest of several rounds counts.
The goals are those of the package; the limits leave room for a loaded machine.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures
import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from collection import collection

import pt_multiaspect as ma
from pt_multiaspect.collection import Judgments, Rankings
from pt_multiaspect.collection.trec_files import read_run_table

GRADES = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2}, name="benchmark")
SIX = [
    "nDCG@10",
    "AP",
    ma.TOMA(aspects=GRADES),
    ma.CAM(aspects=GRADES),
    ma.uRBP(aspects=GRADES),
    ma.NLRE(aspects=GRADES),
]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(
    what: str, goal: float, limit: float, work: Callable[[], object], yardstick: Callable[[], object]
) -> None:
    work(), yardstick()
    pairs = [(seconds(work), seconds(yardstick)) for _ in range(3)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    print(
        f"\n{what}: {ours:.3f} s against {theirs:.3f} s, ratio {ours / theirs:.3f} (goal {goal}, at most {limit})"
    )
    assert ours / theirs <= limit


def runs_of_a_track(n_runs: int) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Qrels of 50 topics, and runs of 1000 documents per topic, ranked."""
    qrels, run = collection(n_queries=50)
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(n_runs):
        other = run.assign(score=rng.normal(size=len(run)))
        runs.append(other.sort_values(["query_id", "score"], ascending=[True, False], ignore_index=True))
    return qrels, runs


def lines_of(run: pd.DataFrame) -> str:
    columns = zip(run["query_id"], run["doc_id"], run["score"].tolist(), strict=True)
    return "".join(f"{qid} Q0 {docno} {rank} {score!r} tag\n" for rank, (qid, docno, score) in enumerate(columns))


def by_pytrec_eval(qrels: pd.DataFrame, runs: list[pd.DataFrame]) -> None:
    judged: dict[str, dict[str, int]] = {}
    for qid, docno, label in zip(qrels["query_id"], qrels["doc_id"], qrels["relevance"].tolist(), strict=True):
        judged.setdefault(qid, {})[docno] = label
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"})
    for run in runs:
        retrieved: dict[str, dict[str, float]] = {}
        for qid, docno, score in zip(run["query_id"], run["doc_id"], run["score"].tolist(), strict=True):
            retrieved.setdefault(qid, {})[docno] = score
        evaluator.evaluate(retrieved)


def test_runs_in_memory() -> None:
    qrels, runs = runs_of_a_track(20)
    ratio(
        "20 runs x 50 x 1000, six measures, against pytrec_eval's nDCG@10",
        0.25,
        0.5,
        lambda: ma.evaluate(runs, qrels, SIX, progress=False),
        lambda: by_pytrec_eval(qrels, runs),
    )


def test_run_files(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    qrels, runs = runs_of_a_track(3)
    paths = [tmp_path / f"{place}.run" for place in range(len(runs))]
    for path, run in zip(paths, runs, strict=True):
        path.write_text(lines_of(pd.concat([run, run.assign(query_id="x" + run["query_id"])])), encoding="utf-8")
    judged = list(qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False, name="Qrel"))

    def original() -> None:
        for path in paths:
            ir_measures.calc_aggregate([ir_measures.nDCG], judged, ir_measures.read_trec_run(str(path)))

    ratio(
        "run files of 100 000 lines, five measures, against ir-measures' nDCG",
        0.15,
        0.4,
        lambda: ma.evaluate(paths, qrels, SIX[:5], progress=False),
        original,
    )


def test_reading_a_file_to_joined_rankings() -> None:
    polars = pytest.importorskip("polars")
    qrels, run = collection()
    ranked = run.sort_values(["query_id", "score"], ascending=[True, False], ignore_index=True)
    content, judgments = lines_of(ranked).encode(), Judgments(qrels)
    of_pool = polars.from_pandas(
        qrels[["query_id", "doc_id", "relevance"]].astype({"query_id": object, "doc_id": object})
    )
    names = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
    kinds = [polars.String, polars.String, polars.String, polars.Int64, polars.Float64, polars.String]

    def yardstick() -> object:
        frame = polars.read_csv(
            content, separator=" ", has_header=False, quote_char=None, schema=dict(zip(names, kinds, strict=True))
        ).sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        frame = frame.with_columns(polars.int_range(polars.len()).over("query_id").alias("place"))
        return frame.join(of_pool, on=["query_id", "doc_id"], how="left")

    ratio(
        "reading and joining 10^6 lines, against Polars' scan, sort, rank and join",
        1.0,
        2.5,
        lambda: Rankings(read_run_table(io.BytesIO(content)), judgments),
        yardstick,
    )
