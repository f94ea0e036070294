"""The collection of health passages that the package contains."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from ..errors import choices, number_of


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Documents, topics and multi-aspect qrels, with PyTerrier's column names.

    Collections are compared by identity: two that are loaded separately are not equal.

    Attributes
    ----------
    documents : pandas.DataFrame
        One row per document: ``docno``, ``text``, ``readability`` (an estimate from 0, hard, to 1,
        easy).
    topics : pandas.DataFrame
        One row per query: ``qid``, ``query``.
    qrels : pandas.DataFrame
        One row per judged document of a query: ``qid``, ``docno``, ``label`` and one
        column for each further aspect.
    grades : dict of str to list of int
        The grades of each aspect, from lowest to highest. The first aspect is
        ``relevance``, whose column is ``label``.
    """

    documents: pd.DataFrame
    topics: pd.DataFrame
    qrels: pd.DataFrame
    grades: dict[str, list[int]]

    def __repr__(self) -> str:
        """Return the sizes, the columns and the grades, one line each."""
        n_documents = number_of(len(self.documents), "document")
        n_topics = number_of(len(self.topics), "topic")
        n_judgments = number_of(len(self.qrels), "judgment")
        columns_of_documents = choices(self.documents.columns)
        columns_of_topics = choices(self.topics.columns)
        columns_of_qrels = choices(self.qrels.columns)
        scales = []
        for aspect, grades in self.grades.items():
            listed = choices(grades)
            scales.append(f"{aspect} {listed}")
        all_scales = "; ".join(scales)
        lines = [
            f"<Collection: {n_documents}, {n_topics}, {n_judgments}>",
            f"- documents: columns {columns_of_documents}",
            f"- topics: columns {columns_of_topics}",
            f"- qrels: columns {columns_of_qrels}",
            f"- grades: {all_scales}",
        ]
        return "\n".join(lines)


def load_health() -> Collection:
    """Load the collection of health passages that the package contains.

    54 short passages, 10 questions in plain language and 118 judgments of
    relevance (0-2), understandability (0-3) and credibility (0-2), written for
    this package. Some passages are deliberately false: this is not medical advice.

    Returns
    -------
    Collection
        New frames on each call, which may be changed freely.

    Examples
    --------
    >>> from pt_multiaspect.datasets import load_health
    >>> health = load_health()
    >>> health
    <Collection: 54 documents, 10 topics, 118 judgments>
    - documents: columns docno, text, readability
    - topics: columns qid, query
    - qrels: columns qid, docno, label, understandability, credibility
    - grades: relevance 0, 1, 2; understandability 0, 1, 2, 3; credibility 0, 1, 2
    >>> health.topics["query"].iloc[0]
    'How long does a common cold last and will antibiotics help'
    >>> print(health.qrels.head(3).to_string(index=False))
    qid docno  label  understandability  credibility
      1   h01      2                  3            2
      1   h02      2                  0            2
      1   h03      2                  3            0
    >>> health.grades["understandability"]
    [0, 1, 2, 3]
    """
    folder = files("pt_multiaspect") / "data" / "health"
    # Identifiers are read as text: the number 1 would not match "1" in a run.
    with (folder / "documents.jsonl").open(encoding="utf-8") as file:
        documents = pd.read_json(file, lines=True, dtype=False)
    with (folder / "topics.tsv").open(encoding="utf-8") as file:
        topics = pd.read_csv(file, sep="\t", dtype=str)
    with (folder / "qrels.tsv").open(encoding="utf-8") as file:
        qrels = pd.read_csv(file, sep="\t", dtype={"qid": str, "docno": str})
    grades = {
        "relevance": [0, 1, 2],
        "understandability": [0, 1, 2, 3],
        "credibility": [0, 1, 2],
    }
    return Collection(documents, topics, qrels, grades)
