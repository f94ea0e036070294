"""The size of a report on 50 runs × 50 topics × 10 measures, and the time that it takes.

Run with ``pytest benchmarks -s``. Names are as long as those of ClueWeb12, and few runs share
documents.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd

import pt_multiaspect as ma

SCALES = ma.Aspects({"relevance": 2, "understandability": 3, "credibility": 2})
MEASURES = {
    "TOMA@10": ma.TOMA(aspects=SCALES) @ 10,
    "CAM@10": ma.CAM(aspects=SCALES) @ 10,
    "MM@10": ma.MM(aspects=SCALES) @ 10,
    "GAM": ma.GAM(aspects=SCALES),
    "NLRE": ma.NLRE(aspects=SCALES),
    "NGRE": ma.NGRE(aspects=SCALES),
    "NWCS": ma.NWCS(aspects=SCALES),
    "CAM(AP)": ma.CAM(aspects=SCALES, base="AP"),
    "TOMA(RBP)": ma.TOMA(aspects=SCALES, base="RBP(p=.8)"),
    "AP": "AP",
}

#: Bytes, so that it can be sent by mail.
LIMIT = 5_000_000


def world() -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """50 runs of different quality, with 100 documents per topic."""
    rng = np.random.default_rng(0)
    n_topics, n_pool, n_documents, depth = 50, 150, 450, 100
    judged, ranked = [], {f"system-{run:02d}": [] for run in range(50)}
    for topic in range(n_topics):
        docnos = np.array(
            [
                f"clueweb12-{topic:04d}wb-{at:02d}-{rng.integers(99999):05d}"
                for at in range(n_documents)
            ]
        )
        labels = np.stack(
            [rng.integers(0, len(SCALES[name].grades), n_pool) for name in SCALES], axis=1
        )
        ids = {"qid": str(topic), "docno": docnos[:n_pool]}
        judged.append(
            pd.DataFrame({**ids, **dict(zip(("label", *list(SCALES)[1:]), labels.T, strict=True))})
        )
        worth = np.append(labels[:, 0] + 0.3 * labels[:, 1], np.zeros(n_documents - n_pool))
        for place, rows in enumerate(ranked.values()):
            score = worth * (0.3 + place / 50) + rng.normal(size=n_documents)
            top = np.argsort(-score)[:depth]
            rows.append(
                pd.DataFrame({"qid": str(topic), "docno": docnos[top], "score": score[top]})
            )
    return {name: pd.concat(rows) for name, rows in ranked.items()}, pd.concat(judged)


def test_a_report_can_be_sent(tmp_path):
    runs, qrels = world()
    start = time.perf_counter()
    found = ma.report(runs, qrels, MEASURES, aspects=SCALES, baseline="system-03", progress=False)
    computed = time.perf_counter()
    found.to_html(tmp_path / "report.html")
    written = time.perf_counter()
    size = (tmp_path / "report.html").stat().st_size
    times = f"computed in {computed - start:.1f} s, written in {written - computed:.1f} s"
    print(f"\nreport: {size / 1e6:.1f} MB, {times}")
    assert size < LIMIT
    assert len(found._data["topics"]) == 50
    assert found._data["depth"] == 10
