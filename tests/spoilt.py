"""A sound collection, and ten ways to spoil one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

Run = pd.DataFrame


def sound(n_topics: int = 30, n_documents: int = 40, seed: int = 0) -> pd.DataFrame:
    """Judgments of three aspects that go together a little, on scales of which all grades are used."""
    generator = np.random.default_rng(seed)
    size = n_topics * n_documents
    quality = generator.normal(size=size)

    def graded(shares: list[float]) -> np.ndarray:
        noisy = 0.9 * quality + generator.normal(size=size)
        cuts = np.quantile(noisy, np.cumsum(shares)[:-1])
        return np.searchsorted(cuts, noisy)

    return pd.DataFrame(
        {
            "qid": np.repeat([f"q{topic:02}" for topic in range(1, n_topics + 1)], n_documents),
            "docno": [f"doc{number:05}x" for number in range(1, size + 1)],
            "label": graded([0.6, 0.25, 0.15]),
            "understandability": graded([0.2, 0.2, 0.3, 0.3]),
            "trust": graded([0.25, 0.25, 0.2, 0.2, 0.1]),
        }
    )


def run_of(qrels: pd.DataFrame, seed: int = 1) -> Run:
    """A ranking of the judged documents."""
    scores = np.random.default_rng(seed).permutation(len(qrels)).astype(float)
    return qrels[["qid", "docno"]].assign(score=scores)


@dataclass(frozen=True)
class Spoiling:
    """A change to judgments and run, and what the finding about it says and is about."""

    name: str
    spoil: Callable[[pd.DataFrame, Run], tuple[pd.DataFrame, Run]]
    severity: str
    aspects: str
    says: str


def _reverse_scale(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels.assign(trust=qrels["trust"].max() - qrels["trust"]), run


def _blanks(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels, run.assign(docno=run["docno"] + " ")


def _leading_zeros(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    numbers = {qid: number for number, qid in enumerate(qrels["qid"].unique(), 1)}
    return (
        qrels.assign(qid=qrels["qid"].map(lambda qid: f"{numbers[qid]:03}")),
        run.assign(qid=run["qid"].map(lambda qid: str(numbers[qid]))),
    )


def _case(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels, run.assign(docno=run["docno"].str.upper())


def _half_missing(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels.assign(trust=qrels["trust"].where(np.arange(len(qrels)) % 2 == 0)), run


def _other_aspect(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    other = qrels[["qid", "docno", "trust"]].assign(docno="other-" + qrels["docno"])
    return qrels.drop(columns="trust").merge(other, on=["qid", "docno"], how="outer"), run


def _copy_aspect(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels.assign(trust=qrels["understandability"]), run


def _constant(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels.assign(trust=2), run


def _code(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels.assign(trust=qrels["trust"].where(np.arange(len(qrels)) % 300 > 0, 99)), run


def _other_run(qrels: pd.DataFrame, run: Run) -> tuple[pd.DataFrame, Run]:
    return qrels, run.assign(qid="topic-" + run["qid"], docno="other-" + run["docno"])


SPOILINGS = (
    Spoiling("scale reversed", _reverse_scale, "warning", "trust", "may be reversed"),
    Spoiling("blanks in document ids", _blanks, "error", "", "document ids that look like"),
    Spoiling("leading zeros in query ids", _leading_zeros, "error", "", "query ids that look like"),
    Spoiling("case of document ids", _case, "error", "", "document ids that look like"),
    Spoiling(
        "half an aspect missing",
        _half_missing,
        "warning",
        "relevance, trust",
        "missing labels count as",
    ),
    Spoiling(
        "aspect of other qrels",
        _other_aspect,
        "error",
        "relevance, trust",
        "no document is judged on both",
    ),
    Spoiling(
        "copied column",
        _copy_aspect,
        "error",
        "understandability, trust",
        "the labels are the same",
    ),
    Spoiling(
        "constant column", _constant, "warning", "trust", "every judged document has the label 2"
    ),
    Spoiling("code on top", _code, "warning", "trust", "99, may be a code"),
    Spoiling("run from another collection", _other_run, "error", "", "no topic in common"),
)
