"""The value of one topic of a run, and its parts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import ir_measures
import pandas as pd

from ..aspects.aspect import Aspect


@dataclass(eq=False)
class ExplainedTopic:
    """The value of one topic of a run as a sum over ranks, with the labels of the documents.

    `Explanation` documents the attributes.
    """

    measure: ir_measures.Measure
    label: str
    qid: str
    run: str
    value: float
    offset: float
    ranks: pd.DataFrame
    aspects: pd.DataFrame
    swaps: pd.DataFrame | None
    notes: list[str]
    judged: pd.DataFrame
    scales: dict[str, Aspect]
    grade_positions: pd.DataFrame
    retrieved: list[str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of `ranks` with labels, one per aspect."""
        return tuple(self.scales)

    @property
    def details(self) -> list[str]:
        """The columns of `ranks` that the measure computes from the labels, such as TOMA's class."""
        return detail_columns(self.ranks, self.labels)


def detail_columns(ranks: pd.DataFrame, labels: Collection[str]) -> list[str]:
    """Return the columns between the labels and the gain."""
    columns = list(ranks.columns)
    return columns[2 + len(labels) : columns.index("gain")]
