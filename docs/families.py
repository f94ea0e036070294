"""Pictures of families' pages and of "Which measure?", drawn at each build, and what to compare values with."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

import pt_multiaspect as ma
from pt_multiaspect.views import fixed_point, with_minus

if TYPE_CHECKING:
    from pt_multiaspect.measures import Measure

__all__ = ["COMPARE_WITH", "PICTURES", "picture", "pictured_values", "range_and_comparison"]

#: The documents of "Which measure?": their grades of relevance and credibility.
DOCUMENTS = {"both": (2, 2), "relevant": (2, 0), "credible": (0, 2)}
COLOURS = {"both": "#009E73", "relevant": "#56B4E9", "credible": "#E69F00"}
#: The user of some measures knows this document.
KNOWN = "both"
ASPECTS = ma.Aspects({"relevance": 2, "credibility": 2}, name="pictured-aspects")
ORDERS = list(itertools.permutations(DOCUMENTS))
#: Rankings that differ in what is retrieved, for measures that are alike for all orders of three
#: documents.
PARTS = [
    ("both",), ("relevant",), ("credible",),
    ("both", "credible"), ("relevant", "credible"), ("credible", "relevant"), ("credible", "relevant", "both"),
]  # fmt: skip
#: Harmful are documents that are credible, but not relevant.
HARM = ma.Order(
    {(r, c): r + c if r else -c for r in range(3) for c in range(3)}, ASPECTS, name="pictured-harm",
    allow_violations=True,
)  # fmt: skip
NDCG = {"nDCG": "nDCG"}
#: Breaks a name above a picture.
HYPHEN = "-\n"
ONE_ASPECT = "These measures see relevance only: *both* and *relevant* are alike to them."

#: Of each page, what is drawn: measures by name, of which a phone shows the first, rankings, and
#: what else to know.
PICTURES: dict[str, tuple[Mapping[str, object], Sequence[tuple[str, ...]], str]] = {
    "toma": (
        {"TOMA": ma.TOMA(aspects=ASPECTS), "TOMA, gate": ma.TOMA(gate="relevance", aspects=ASPECTS)} | NDCG, ORDERS,
        "With ``gate='relevance'``, *credible* is worth nothing.",
    ),
    "means": (
        {measure.NAME: measure(aspects=ASPECTS) for measure in (ma.CAM, ma.MM, ma.GAM)} | NDCG, ORDERS,
        ("No ranking is ideal for both aspects at once, so that 1 is not attained. WHAM of two "
        "aspects is MM."),
    ),
    "on": (
        {
            "relevance": ma.On(aspect="relevance", aspects=ASPECTS),
            "credibility": ma.On(aspect="credibility", aspects=ASPECTS),
        },
        ORDERS, "Each aspect has its own perfect rankings.",
    ),
    "understandability": (
        {m.NAME: m(aspects=ASPECTS) for m in (ma.uRBP, ma.uRBPgr, ma.unDCG, ma.uERR)} | NDCG, ORDERS,
        "Only the rank of *both* counts: a document that lacks an aspect has no gain.",
    ),
    "nwcs": (
        {"NWCS": ma.NWCS(aspects=ASPECTS)} | NDCG, ORDERS, "*Relevant* and *credible* have the same sum of grades.",
    ),
    "rank_errors": (
        {"NLRE": ma.NLRE(aspects=ASPECTS), "NGRE": ma.NGRE(aspects=ASPECTS)} | NDCG, ORDERS,
        "Values lie in the upper part of the range.",
    ),
    "compatibility": (
        {
            "Helpful-\nCompat": ma.HelpfulCompat(order=HARM), "Harmful-\nCompat": ma.HarmfulCompat(order=HARM),
            "HelpfulMinus-\nHarmful": ma.HelpfulMinusHarmful(order=HARM),
        },
        ORDERS,
        "By the order of this example, a document that is credible but not relevant is harmful.",
    ),
    "displacement": ({"CRP": ma.CRP, "nCRP": ma.nCRP, "CRPRecovery": ma.CRPRecovery} | NDCG, ORDERS, ONE_ASPECT),
    "cumulated_gain": (
        {"CG": ma.CG, "DCG": ma.DCG, "G": ma.G} | NDCG, PARTS, f"{ONE_ASPECT} CG does not depend on the order.",
    ),
    "user_oriented": (
        {
            "Coverage-\nRatio": ma.CoverageRatio, "Novelty-\nRatio": ma.NoveltyRatio,
            "Relative-\nRecall": ma.RelativeRecall(expected=2), "Recall-\nEffort": ma.RecallEffort(expected=2),
            "Satisfaction": ma.Satisfaction, "Frustration": ma.Frustration,
        },
        PARTS, "These measures see relevance only. The user knows *both*, and expects two relevant documents.",
    ),
    "search_length": (
        {"RR": "RR", "ESL": ma.ESL, "ESL, two wanted": ma.ESL(wanted=2)}, ORDERS,
        "These measures see relevance only. Lower values of ESL are better.",
    ),
    "rank_biased_utility": (
        {"RBU": ma.RBU(aspects=ASPECTS)} | NDCG, PARTS,
        "Serving an aspect again adds little, and every document costs effort.",
    ),
    "session": (
        {m.NAME: m(themes="relevance", usability="credibility", aspects=ASPECTS) for m in (ma.MDCU, ma.nMDCU)}
        | NDCG,
        PARTS, "Relevance is the theme, credibility the usability: only *both* has a utility, at any rank.",
    ),
    "mean_of": (
        {
            "nDCG": "nDCG", "RR, credibility": ma.On(aspect="credibility", base="RR", aspects=ASPECTS),
            "MeanOf both": ma.MeanOf(["nDCG", "On(aspect='credibility', base='RR')"], aspects=ASPECTS),
        },
        ORDERS, "The mean is 1 only where both members are.",
    ),
    "intents": (
        {m.NAME: m(aspects=ASPECTS) for m in (ma.IRec, ma.DnDCG, ma.DSharpnDCG)} | NDCG, PARTS,
        "The aspects are the intents: one document that is good on both covers them.",
    ),
    "subtopics": (
        {
            "α-nDCG@2": ma.Subtopics(base="alpha_nDCG(alpha=0.5)", aspects=ASPECTS) @ 2,
            "nERR-IA@2": ma.Subtopics(base="nERR_IA", aspects=ASPECTS) @ 2,
        }
        | NDCG,
        PARTS, "The aspects are the subtopics.",
    ),
    "which_measure": (
        NDCG
        | {
            "CAM": ma.CAM(aspects=ASPECTS), "TOMA, gate": ma.TOMA(gate="relevance", aspects=ASPECTS),
            "unDCG": ma.unDCG(aspects=ASPECTS), "NLRE": ma.NLRE(aspects=ASPECTS),
        },
        ORDERS, "",
    ),
}  # fmt: skip

#: What values of a measure are to be compared with.
COMPARE_WITH = {
    "TOMA": (
        "`On` for each aspect, `CAM` over the same base, and TOMA with another gate or distance. "
        "Values under different bases, axes or scales cannot be compared."
    ),
    "CAM": (
        "`On` for each aspect, and the attainable maximum (`analysis.upper_bound`), which is often "
        "below 1; "
        "``CAM(normalized=True)`` divides by it. `MM` shows where one aspect makes up for another."
    ),
    "MM": (
        "`CAM` with the same base and weights, which MM never exceeds: it is far below where one "
        "aspect is served badly. Count the topics on which it is 0 for every run."
    ),
    "WHAM": "`MM`, which has the same values for two aspects, and `CAM`.",
    "GAM": (
        "`CAM` and `MM` with the same base and weights: GAM is never above the first, and never "
        "below the second."
    ),
    "On": "The same base on each of the other aspects, and a measure that combines them.",
    "uRBP": (
        "RBP of relevance with the same ``p``, which uRBP never exceeds at the same threshold, and "
        "other runs on the same topics: with few good documents, the maximum is far below 1."
    ),
    "uRBPgr": (
        "RBP of relevance, and `uRBP` with the same ``p``, which reads thresholds instead of "
        "probabilities."
    ),
    "unDCG": (
        "nDCG of relevance. Count the topics without a document that is good on all aspects: every "
        "run has 0 there."
    ),
    "uERR": (
        "ERR of relevance, and other runs on the same topics: the maximum is below 1 and depends "
        "on the topic."
    ),
    "NWCS": (
        "`CAM` with the same weights, or ``NWCS(ideal='judged')``: the default does not penalise a "
        "run for relevant documents that it does not retrieve."
    ),
    "NLRE": (
        "Other runs on the same topics only: values are compressed into the upper part of the "
        "range, and a better order can score lower."
    ),
    "NGRE": "As `NLRE`.",
    "HelpfulCompat": "`HarmfulCompat` with the same order and ``p``.",
    "HarmfulCompat": (
        "`HelpfulCompat` with the same order and ``p``: a run that retrieves nothing has the best "
        "value, 0."
    ),
    "HelpfulMinusHarmful": "Its two parts, as different parts can have the same difference.",
    "CRP": "`nCRP`: topics with many relevant documents dominate means of CRP.",
    "nCRP": "nDCG without a cutoff, which looks as deep into the ranking; ``nDCG@10`` does not.",
    "CRPRecovery": "`nCRP`. Other rankings than the ideal one can have the value 1.",
    "CG": "`DCG`, which discounts by rank, at the same cutoff.",
    "DCG": (
        "nDCG, which divides by the ideal of the topic: topics with many relevant documents "
        "dominate means of DCG."
    ),
    "G": "nDCG, which discounts by rank, whatever the documents above.",
    "CoverageRatio": "`NoveltyRatio`, of the documents that the user does not know.",
    "NoveltyRatio": "`CoverageRatio`, and recall: few documents that are all new have the value 1.",
    "RelativeRecall": "Recall, which divides by all relevant documents instead of those expected.",
    "RecallEffort": "`ESL` with as many documents wanted.",
    "Satisfaction": "P@k, which divides by k, also if fewer documents are retrieved.",
    "Frustration": "`Satisfaction`: the two sum to 1.",
    "ESL": "RR, the inverse of the rank of the first relevant document, of which higher is better.",
    "RBU": (
        "0, the value of retrieving nothing, and other runs with the same ``p`` and effort: the "
        "range depends on both."
    ),
    "MDCU": "`nMDCU`, as the attainable values of topics differ.",
    "nMDCU": (
        "Other runs on the same topics: the ideal is a greedy ranking unless you give one, and can "
        "be exceeded."
    ),
    "MeanOf": "Its members, as different members can have the same mean.",
    "IRec": "`DnDCG`: IRec counts the intents that are covered, whatever the grades and the order.",
    "DnDCG": "`IRec`: D-nDCG does not see which intents the gains are on.",
    "DSharpnDCG": "Its parts, `IRec` and `DnDCG`.",
    "Subtopics": (
        "`IRec`, and nDCG of relevance. Measures without normalisation compare runs on the same "
        "topics only."
    ),
}


@cache
def _qrels() -> pd.DataFrame:
    """Return the judgments of the three documents; ``known`` is read by user-oriented measures only."""
    rows = [("q", docno, *grades) for docno, grades in DOCUMENTS.items()]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "credibility"])
    return qrels.assign(known=(qrels["docno"] == KNOWN).astype(int))


def pictured_values(page: str) -> pd.DataFrame:
    """Return what the picture of a page shows: a row per ranking, a column per measure."""
    measures, rankings, _ = PICTURES[page]
    runs = {
        ", ".join(ranking): pd.DataFrame(
            [("q", docno, -rank) for rank, docno in enumerate(ranking)],
            columns=["qid", "docno", "score"],
        )
        for ranking in rankings
    }
    values = ma.evaluate(runs, _qrels(), dict(measures), progress=False)
    return values.pivot(index="name", columns="measure", values="value").loc[
        list(runs), list(measures)
    ]


def _number(value: float) -> str:
    """Return a value with two decimals, three if it is small, none if it is whole; without a leading zero."""
    places = 0 if abs(value - round(value)) < 1e-9 else 3 if abs(value) < 0.05 else 2
    return re.sub(r"\b0(?=\.)", "", fixed_point(value, places))


def draw(page: str, path: Path) -> str:
    """Draw the values of a family's measures for rankings of three documents, and return them as a sentence."""
    values = pictured_values(page)
    n_rankings, n_measures = values.shape
    settings = {"svg.hashsalt": page, "font.size": 10}
    with plt.rc_context(settings):
        figure, (ranks, *panels) = plt.subplots(
            1, n_measures + 1, figsize=(2.6 + 1.25 * n_measures, 0.55 + 0.36 * n_rankings), sharey=True,
            layout="constrained", width_ratios=[2.6, *[1.25] * n_measures],
        )  # fmt: skip
        for row, ranking in enumerate(values.index):
            for rank, docno in enumerate(ranking.split(", ")):
                chip = {
                    "boxstyle": "round,pad=0.25",
                    "facecolor": COLOURS[docno],
                    "edgecolor": "none",
                }
                ranks.text(rank + 0.5, row, docno, ha="center", va="center", fontsize=9, bbox=chip)
        depth = max(len(ranking.split(", ")) for ranking in values.index)
        ranks.set(
            xlim=(0, 3), ylim=(n_rankings - 0.4, -0.6), xticks=[rank + 0.5 for rank in range(depth)]
        )
        ranks.set_xticklabels([f"rank {rank + 1}" for rank in range(depth)])
        ranks.xaxis.tick_top()
        for panel, (name, column) in zip(panels, values.items(), strict=True):
            low, high = min(0.0, column.min()), max(0.0, column.max())
            panel.hlines(range(n_rankings), 0, column, color="#8a8a8a", linewidth=1.5)
            panel.plot(column, range(n_rankings), "o", color="#333333", markersize=5)
            room = (high - low or 1) * 0.75
            for row, value in enumerate(column):
                panel.annotate(
                    _number(value),
                    (max(value, 0), row),
                    (6, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=9,
                )
            panel.set(xlim=(low - room * 0.1, high + room), xticks=[])
            panel.set_title(name, fontsize=10)
        for axes in (ranks, *panels):
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        ranks.set_yticks([])
        figure.savefig(path, metadata={"Date": None}, transparent=True)
        plt.close(figure)
    lowest, highest = values.min().map(_number), values.max().map(_number)
    spans = [
        f"{str(name).replace(HYPHEN, '')} from {lowest[name]} ({column.idxmin()}) to "
        f"{highest[name]} ({column.idxmax()})"
        for name, column in values.items()
    ]
    return f"Values of {n_rankings} rankings of three documents: {'; '.join(spans)}."


def _limit(value: float) -> str:
    """Return one end of a range."""
    text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}".replace(",", " ")
    return with_minus(text) if math.isfinite(value) else "no limit"


def range_and_comparison(measure: Measure) -> str:
    """Return the paragraphs that say between which numbers values are, and what to compare them with."""
    low, high = measure.range
    limits = (
        f"{_limit(low)} to {_limit(high)}"
        if math.isfinite(low) or math.isfinite(high)
        else "no limits"
    )
    defaults = " with default parameters" if type(measure).range is not ma.Measure.range else ""
    better = "lower" if measure.LOWER_IS_BETTER else "higher"
    values = f"**Range per topic**: {limits}{defaults}; {better} is better."
    return f"{values}\n\n**Compare with**: {COMPARE_WITH[measure.NAME]}"


def picture(page: str, folder: Path) -> list[str]:
    """Draw the picture of a page and return the lines that show it."""
    alternative = draw(page, folder / f"{Path(page).name}.svg")
    note = PICTURES[page][2]
    caption = (
        "Rankings of three :ref:`documents <three-documents>`: *both* is relevant and credible, "
        f"*relevant* and *credible* are one of these. {note}"
    )
    return [
        f".. figure:: {page}.svg",
        f"   :alt: {alternative}",
        "   :figclass: rankings",
        "",
        f"   {caption}",
        "",
    ]
