"""Draws the picture of the README: a question of the demonstration, as settings tuned for two measures rank it.

Run it after a change of the demonstration: ``python docs/picture.py``. It prints the description of the picture,
which README.md and docs/index.md contain.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pyterrier as pt
from matplotlib.patches import Rectangle

from pt_multiaspect import TOMA, Aspects, On, plots
from pt_multiaspect.datasets import load_health
from pt_multiaspect.demo.pipelines import ReadabilityReranker, TfidfRetriever
from pt_multiaspect.plots.style import ORANGE

FILE = Path(__file__).parent / "_static" / "two_rankings.png"
CUTOFF = 5
#: The question: on insomnia, with documents that are relevant, but hard to understand or not credible.
QID = "6"
#: The weights of readability of the demonstration.
WEIGHTS = [step / 5 for step in range(6)]

collection = load_health()
health = Aspects(collection.grades, name="health-demo")
MAXIMA = [max(grades) for grades in collection.grades.values()]
MEASURES = {
    "nDCG": On(aspect="relevance", base="nDCG", aspects=health) @ CUTOFF,
    "TOMA": TOMA(distance="chebyshev", aspects=health) @ CUTOFF,
}


def tuned_runs() -> dict[str, pd.DataFrame]:
    """Return the run of the setting that a grid search over all questions selects, for each measure."""
    runs = {}
    for name, measure in MEASURES.items():
        reranker = ReadabilityReranker(collection.documents)
        with contextlib.redirect_stdout(io.StringIO()):  # GridSearch prints its result
            best = pt.GridSearch(
                TfidfRetriever(collection.documents) >> reranker,
                {reranker: {"weight": WEIGHTS}},
                collection.topics,
                collection.qrels,
                metric=str(measure),
            )
        runs[name] = best.transform(collection.topics)
    return runs


def values(run: pd.DataFrame) -> str:
    """Return the values of both measures on the question as text."""
    of_question = pt.Evaluate(run, collection.qrels, [*MEASURES.values()], perquery=True)[QID]
    return ", ".join(f"{name} {of_question[str(measure)]:.2f}" for name, measure in MEASURES.items())


def rank_of_best(run: pd.DataFrame) -> int:
    """Return the rank of the only document with the highest grade on every aspect."""
    judged = collection.qrels[collection.qrels["qid"] == QID].set_index("docno").drop(columns="qid")
    (best,) = judged.index[(judged == MAXIMA).all(axis=1)]
    ranking = run[(run["qid"] == QID) & (run["docno"] == best)]
    return int(ranking["rank"].iloc[0]) + 1


def describe(runs: dict[str, pd.DataFrame]) -> str:
    """Return the description of the picture."""
    (first, at_first), (second, at_second) = ((values(run), rank_of_best(run)) for run in runs.values())
    return (
        f"Grades of the first {CUTOFF} documents for one question. In the ranking tuned for nDCG ({first}), the "
        "only document with the best grades on relevance, understandability and credibility is at rank "
        f"{at_first}; in the one tuned for TOMA ({second}), it is at rank {at_second}."
    )


def draw(runs: dict[str, pd.DataFrame]) -> None:
    """Draw the rankings of the question, in letters that can be read on a phone."""
    figure, axes = plt.subplots(1, 2, figsize=(5, 2.5), layout="constrained", sharey=True)
    for ax, (name, run) in zip(axes, runs.items(), strict=True):
        plots.ranking_grades(run, collection.qrels, QID, health, CUTOFF, ax=ax)
        ax.images[0].colorbar.remove()  # the cells have labels
        ax.add_patch(
            Rectangle(
                (rank_of_best(run) - 1.5, -0.5),
                1,
                len(MAXIMA),
                fill=False,
                ec=ORANGE,
                lw=3,
                clip_on=False,
                zorder=9,
            )
        )
        ax.set_title(f"tuned for {name}:\n{values(run)}", loc="left", fontsize=10)
    query = collection.topics.set_index("qid").loc[QID, "query"]
    figure.suptitle(f"“{query}”", x=0.01, ha="left", fontsize=10)
    figure.savefig(FILE, dpi=140)


if __name__ == "__main__":
    tuned = tuned_runs()
    draw(tuned)
    print(describe(tuned))
