"""Draws the picture of the README: one query of the demonstration, ranked as two measures would have it.

Run it after a change of the demonstration: ``python docs/picture.py``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pyterrier as pt

from pt_multiaspect import TOMA, Aspects, On, plots
from pt_multiaspect.datasets import load_health
from pt_multiaspect.demo.pipelines import ReadabilityReranker, TfidfRetriever

FILE = Path(__file__).parent / "_static" / "two_rankings.png"
CUTOFF = 5
#: The weights of readability that the demonstration's grid searches pick.
PICKED = {"nDCG@5": 0.0, "TOMA@5": 0.4}


def draw() -> None:
    """Draw the rankings of the query whose TOMA differs most."""
    collection = load_health()
    health = Aspects(collection.grades, name="health-demo")
    toma = TOMA(distance="chebyshev", aspects=health) @ CUTOFF
    ndcg = On(aspect="relevance", base="nDCG", aspects=health) @ CUTOFF
    runs, values = {}, {}
    for metric, weight in PICKED.items():
        pipeline = TfidfRetriever(collection.documents) >> ReadabilityReranker(collection.documents, weight=weight)
        runs[metric] = pipeline.transform(collection.topics)
        values[metric] = pt.Evaluate(runs[metric], collection.qrels, [ndcg, toma], perquery=True)
    first, second = values.values()
    qid = max(first, key=lambda key: second[key][str(toma)] - first[key][str(toma)])
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained", sharey=True)
    for ax, (metric, run) in zip(axes, runs.items(), strict=True):
        plots.ranking_grades(run, collection.qrels, qid, health, CUTOFF, ax=ax)
        of = values[metric][qid]
        title = f"tuned for {metric}: nDCG {of[str(ndcg)]:.2f}, TOMA {of[str(toma)]:.2f}"
        ax.set_title(title, loc="left", fontsize=10)
    query = collection.topics.set_index("qid").loc[qid, "query"]
    figure.suptitle(f"“{query}”: grades of the first {CUTOFF} documents", fontsize=10)
    figure.savefig(FILE, dpi=130)


if __name__ == "__main__":
    draw()
