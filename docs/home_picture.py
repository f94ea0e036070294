"""Draws the picture of the README and of the first page: two rankings of one question, alike by relevance alone.

Run it after a change of the collection or of a measure: ``python docs/home_picture.py``.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import pandas as pd

import pt_multiaspect as ma
from pt_multiaspect.demo import TfidfRetriever

FILE = Path(__file__).resolve().parent / "_static" / "several_aspects.svg"

QID, CUTOFF = "2", 5
ASPECTS = ma.Aspects(
    {"relevance": 2, "understandability": 3, "credibility": 2}, name="home-picture"
)
MEASURES = {
    "nDCG@5, relevance alone": "nDCG@5",
    "TOMA@5, all three": ma.TOMA(gate="relevance", aspects=ASPECTS) @ 5,
}

#: The fill and the text of a cell, from the lowest grade of its aspect to the best.
SHADES = (
    ("#b85c00", "#ffffff"),
    ("#f2bd80", "#000000"),
    ("#a9c9e8", "#000000"),
    ("#1f6fb5", "#ffffff"),
)
#: Legible on white and on dark pages.
GREY = "#747c85"
CELL, GAP, LEFT, TOP = 32, 3, 128, 52
WIDTH, HEIGHT = 660, 208
#: Where the rankings begin, from the left.
STARTS = (0, 340)


def judged_rankings() -> dict[str, pd.DataFrame]:
    """Return the grades of the first documents of two rankings, rank by rank."""
    health = ma.datasets.load_health()
    question = health.topics[health.topics["qid"] == QID]
    grades = health.qrels.rename(columns={"label": "relevance"})
    retrievers = {
        "by words": TfidfRetriever(health.documents),
        "by characters": TfidfRetriever(health.documents, analyzer="char"),
    }
    return {
        name: retriever(question)
        .nsmallest(CUTOFF, "rank")
        .merge(grades, on=["qid", "docno"], how="left")
        for name, retriever in retrievers.items()
    }


def values_of(rankings: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the value of each measure and ranking."""
    qrels = ma.datasets.load_health().qrels
    of_question = qrels[qrels["qid"] == QID]
    perquery = ma.evaluate(rankings, of_question, MEASURES, progress=False)
    return perquery.pivot(index="measure", columns="name", values="value")


def text(
    x: float,
    y: float,
    content: str,
    *,
    fill: str = GREY,
    anchor: str = "start",
    size: int = 14,
    bold: bool = False,
) -> str:
    """Return an SVG text."""
    weight = "bold" if bold else "normal"
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(content)}</text>'
    )


def cell(x: float, y: float, aspect: str, grade: float) -> list[str]:
    """Return the square of a document's grade, coloured by its share of the best grade."""
    best = ASPECTS[aspect].grades[-1]
    judged = 0 if pd.isna(grade) else int(grade)
    fill, colour = SHADES[round(judged / best * (len(SHADES) - 1))]
    square = f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" rx="4" fill="{fill}"/>'
    written = "–" if pd.isna(grade) else str(judged)
    return [square, text(x + CELL / 2, y + CELL / 2 + 5, written, fill=colour, anchor="middle")]


def drawn_ranking(start: float, name: str, ranking: pd.DataFrame, values: pd.Series) -> list[str]:
    """Return the grades of a ranking, a row per aspect, and its values below."""
    parts = [text(start + LEFT, 20, name, bold=True, size=15)]
    for rank in range(CUTOFF):
        centre = start + LEFT + rank * (CELL + GAP) + CELL / 2
        parts.append(text(centre, TOP - 8, str(rank + 1), anchor="middle", size=12))
    for row, aspect in enumerate(ASPECTS):
        y = TOP + row * (CELL + GAP)
        parts.append(text(start + LEFT - 8, y + CELL / 2 + 5, aspect, anchor="end"))
        for rank, grade in enumerate(ranking[aspect]):
            parts += cell(start + LEFT + rank * (CELL + GAP), y, aspect, grade)
    for row, (measure, value) in enumerate(values.loc[list(MEASURES)].items()):
        y = TOP + 3 * (CELL + GAP) + 24 + row * 22
        parts.append(
            text(
                start + LEFT + 5 * (CELL + GAP) - GAP,
                y,
                f"{measure}: {value:.2f}",
                anchor="end",
                bold=row == 1,
            )
        )
    return parts


def picture() -> str:
    """Return the picture as SVG."""
    rankings = judged_rankings()
    values = values_of(rankings)
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, sans-serif" '
            'role="img">'
        ),
        (
            "<title>Two rankings of one question: nDCG is the same, TOMA is higher for the "
            "second</title>"
        ),
    ]
    for start, (name, ranking) in zip(STARTS, rankings.items(), strict=True):
        parts += drawn_ranking(start, name, ranking, values[name])
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    FILE.write_text(picture(), encoding="utf-8")
