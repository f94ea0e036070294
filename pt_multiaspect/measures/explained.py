"""The interface of explanations that measures use."""

from __future__ import annotations

from os import PathLike
from typing import Any, Protocol

import pandas as pd

from ..aspects.aspect import Aspect


class Explained(Protocol):
    """The result of `Measure.explain`, a `pt_multiaspect.Explanation`.

    Measures do not import that class, as it depends on them.
    """

    measure: Any
    label: str
    qid: str
    run: str
    value: float
    offset: float
    ranks: pd.DataFrame
    aspects: pd.DataFrame
    swaps: pd.DataFrame | None
    labels: tuple[str, ...]
    notes: list[str]

    @property
    def ideal(self) -> Explained | None:
        """The explanation of a best ranking."""

    @property
    def shortfall(self) -> pd.DataFrame | None:
        """The shortfall of each rank from a best ranking."""

    @property
    def details(self) -> list[str]:
        """The columns that the measure computes from the labels."""

    @property
    def judged(self) -> pd.DataFrame:
        """The labels of all judged documents of the topic, by docno."""

    @property
    def scales(self) -> dict[str, Aspect]:
        """The scales, by the columns of `judged`."""

    @property
    def grade_positions(self) -> pd.DataFrame:
        """The positions of the labels on their scales."""

    @property
    def retrieved(self) -> list[str]:
        """The retrieved documents."""

    def compare(self, other: Any) -> Any:
        """Compare with the explanation of another run."""

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return an HTML page."""
