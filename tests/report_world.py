"""Runs and qrels for reports, with names that must be escaped."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd

import pt_multiaspect as ma

#: Names of systems: two that would run scripts, and one of signs that HTML, JSON and scripts treat
#: specially.
NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "a&amp;b \"'` \\u003c \u2028 é",
)
SYSTEMS = ("bm25", *NASTY, "dense")
SCALES = ma.Aspects({"relevance": 2, "<b>cred": 3})
MEASURES = {
    "TOMA": ma.TOMA(aspects=SCALES) @ 5,
    "</script>": ma.CAM(base="AP", aspects=SCALES),
    "ESL": ma.On(base="ESL", aspects=SCALES),
    "MM": ma.MM(base="P@5", aspects=SCALES),
    "AP": "AP",
}


def world(
    systems=SYSTEMS, n_topics=6, n_documents=12, seed=3
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Runs that are better the later they are listed, and qrels of two aspects."""
    rng = np.random.default_rng(seed)
    judged: list[tuple[Any, ...]] = []
    ranked: dict[str, list[tuple[Any, ...]]] = {name: [] for name in systems}
    for topic in range(n_topics):
        qid = f"q{topic}<i>"
        labels = rng.integers(0, [3, 4], (n_documents, 2))
        judged += [
            (qid, f"d{topic}-{index}</td>", *row) for index, row in enumerate(labels.tolist())
        ]
        for position, name in enumerate(systems):
            score = labels[:, 0] * position / len(systems) + rng.normal(size=n_documents)
            ranked[name] += [(qid, f"d{topic}-{at}</td>", score[at]) for at in range(n_documents)]
            ranked[name] += [(qid, f"new{topic}-{at}", at + 0.5) for at in range(2)]
    qrels = pd.DataFrame(judged, columns=["qid", "docno", "label", "<b>cred"])
    runs = {
        name: pd.DataFrame(rows, columns=["qid", "docno", "score"]) for name, rows in ranked.items()
    }
    return runs, qrels


class Page(HTMLParser):
    """The content of a page: elements, attributes, scripts, and the cells of tables by the id of the table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table: list[list[str]] | None = None
        self._raw = False
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._raw = tag in ("script", "style")
        if tag == "script":
            self.scripts.append("")
        elif tag == "table":
            self._table = self.tables.setdefault(
                dict(attrs).get("id") or dict(attrs).get("class") or "", []
            )
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table is not None:
            self._table[-1].append("")
        elif tag in ("small", "span") and self._table and self._table[-1]:
            self._table[-1][-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self._raw = False
        if tag == "table":
            self._table = None

    def handle_data(self, data: str) -> None:
        if self._raw:
            if self.elements[-1][0] == "script":
                self.scripts[-1] += data
            return
        self.text += data
        if self._table and self._table[-1]:
            self._table[-1][-1] += data

    @property
    def data(self) -> dict[str, Any]:
        """The data that the script of a report reads."""
        return json.loads(self.scripts[0])
