"""A small collection, pipelines and measures for the tests of doors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
from ir_measures import AP, Measure, P, nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, GAM, MM, NGRE, NLRE, NWCS, TOMA, WHAM, Aspect, Aspects, On
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr

QIDS = [f"q{i}" for i in range(1, 7)]
DOCNOS = [f"d{i:02}" for i in range(12)]
TOPICS = pd.DataFrame({"qid": QIDS, "query": [f"query {qid}" for qid in QIDS]})
HEALTH = Aspects(
    {"relevance": 2, "readability": Aspect(3, probabilities=[0, 0.4, 0.8, 1], threshold=2)}
)
BONUS = np.random.default_rng(3).permutation(len(DOCNOS))


def _collection() -> tuple[pd.DataFrame, pd.DataFrame]:
    random = np.random.default_rng(0)
    pairs = [(qid, docno) for qid in QIDS for docno in DOCNOS]
    scores = pd.DataFrame(pairs, columns=["qid", "docno"]).assign(
        score=random.permutation(len(pairs)).astype(float)
    )
    numbers = scores["docno"].str[1:].astype(int)
    # Relevant documents tend to have great scores, readable ones a great bonus.
    relevance = (
        np.clip(scores["score"] / 30 - 0.2 + random.normal(0, 0.5, len(pairs)), 0, 2)
        .round()
        .astype(int)
    )
    readability = (
        np.clip(BONUS[numbers] / 4 + random.normal(0, 0.5, len(pairs)), 0, 3).round().astype(int)
    )
    qrels = scores[["qid", "docno"]].assign(label=relevance, readability=readability)
    assert set(qrels["label"]) == {0, 1, 2}
    assert set(qrels["readability"]) == {0, 1, 2, 3}
    return scores.sample(frac=0.8, random_state=1).sort_index(), qrels.sample(
        frac=0.8, random_state=2
    ).sort_index()


SCORES, QRELS = _collection()
IR_QRELS = QRELS.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})
IR_RUN = SCORES.rename(columns={"qid": "query_id", "docno": "doc_id"})
RUN = {
    qid: dict(zip(rows["docno"], rows["score"], strict=True)) for qid, rows in SCORES.groupby("qid")
}


class Readable(pt.Transformer):
    """Adds a bonus to documents, times a weight that grid searches vary."""

    def __init__(self, weight: float = 0.0) -> None:
        self.weight = weight

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        numbers = inp["docno"].str[1:].astype(int) if len(inp) else inp["docno"]
        bonus = BONUS[numbers] if len(inp) else 0.0
        return pt.model.add_ranks(inp.assign(score=inp["score"] + self.weight * bonus))

    def __repr__(self) -> str:
        return "Readable()"


FIRST = pt.Transformer.from_df(SCORES)
TOMA_10 = TOMA(aspects=HEALTH) @ 10
CAM_10 = CAM(base=nDCG @ 10, aspects=HEALTH)
DECLARED: list[Measure] = [
    TOMA_10,
    CAM_10,
    CAM(base=nDCG @ 5, normalized=True, aspects=HEALTH),
    MM(base=AP, aspects=HEALTH),
    WHAM(base=P @ 5, weights={"relevance": 2, "readability": 1}, aspects=HEALTH),
    GAM(base="RBP", aspects=HEALTH),
    On(aspect="readability", base=nDCG, aspects=HEALTH) @ 10,
    URBP(aspects=HEALTH),
    URBPgr(p=0.9, aspects=HEALTH) @ 10,
    ma.unDCG(aspects=HEALTH) @ 10,
    ma.uERR(s=2, aspects=HEALTH),
    NWCS(aspects=HEALTH) @ 10,
    NLRE(aspects=HEALTH) @ 10,
    NGRE(mu=1, aspects=HEALTH),
]


def per_query(
    measures: list[Any], qrels: object = IR_QRELS, run: object = IR_RUN
) -> dict[tuple[str, str], float]:
    return {
        (m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc(measures, qrels, run)
    }


def run_python(code: str, *, stdin: str = "", env: dict[str, str] | None = None) -> Any:
    """Run code in a fresh interpreter; it prints one JSON value as its last line."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


SYSTEMS = [
    FIRST,
    FIRST >> Readable(5.0),
    FIRST >> Readable(20.0),
    FIRST >> Readable(80.0) >> Readable(0.5),
]
SYSTEM_NAMES = ["first", "a little", "more", "most"]


def experiment(metrics: list[Any], **options: Any) -> pd.DataFrame:
    options = {"names": SYSTEM_NAMES, "verbose": False} | options
    result = pt.Experiment(SYSTEMS, TOPICS, QRELS, metrics, **options)
    assert isinstance(result, pd.DataFrame)
    return result
