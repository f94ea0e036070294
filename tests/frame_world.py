"""A small collection, and rows to learn from, as frames of pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd

import pt_multiaspect as ma
from pt_multiaspect import CAM

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
X = pd.DataFrame({"qid": [f"q{n // 4}" for n in range(12)], "f1": np.arange(12.0) % 5, "f2": np.arange(12.0) * 3 % 7})
Y = pd.DataFrame({"relevance": np.arange(12) % 3, "credibility": np.arange(12) % 2})
QID, SCORE = pd.Series(X["qid"], name="qid"), pd.Series(np.arange(12.0)[::-1], name="score")
