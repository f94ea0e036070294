"""A suite: labelled measures, with the labels they need and the topics of their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import fill

import ir_measures
import pandas as pd

from ..evaluation.topics import TOPICS
from ..integration.aggregators import lower_is_better

__all__ = ["Suite"]

_WIDTH = 100


@dataclass(frozen=True, eq=False, repr=False)
class Suite(Mapping[str, ir_measures.Measure]):
    """A mapping of labels to measures, accepted wherever measures are.

    Parameters
    ----------
    name : str
        The name, as in ``suite(name)``.
    title : str
        The track and task.
    measures : dict of str to ir_measures.Measure
        The measures by label.
    columns : dict of str to str
        The label columns that the qrels must have, with the meaning of their labels.
    topics : {'judged', 'positive'}
        The topics of each mean, see `evaluate`.
    about_topics : str
        The topics of the official means.
    notes : tuple of str
        How values can differ from the official ones, and slips of the official programs.
    sources : tuple of str
        Where the measures and settings are published.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> ma.suite("trec-misinfo-2022")
    Suite('trec-misinfo-2022': 7 measures of relevance, correctness)
    >>> print(ma.suite("trec-misinfo-2022")["P@10 useful and incorrect"])
    TOMA(base='P',order='trec-misinfo-useful-incorrect')@10
    """

    name: str
    title: str
    measures: dict[str, ir_measures.Measure]
    columns: dict[str, str]
    topics: str = TOPICS[0]
    about_topics: str = "All judged topics."
    notes: tuple[str, ...] = field(default=())
    sources: tuple[str, ...] = field(default=())

    def __getitem__(self, label: str) -> ir_measures.Measure:
        return self.measures[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __repr__(self) -> str:
        return f"Suite({self.name!r}: {len(self)} measures of {', '.join(self.columns)})"

    def __str__(self) -> str:
        return self.description

    def to_frame(self) -> pd.DataFrame:
        """Return the measures as a frame.

        Returns
        -------
        DataFrame
            Columns ``label measure better``, the last of which is ``'higher'`` or ``'lower'``.
        """
        return pd.DataFrame(self._rows(), columns=["label", "measure", "better"])

    def _rows(self) -> list[tuple[str, str, str]]:
        return [
            (label, str(measure), "lower" if lower_is_better(measure) else "higher")
            for label, measure in self.measures.items()
        ]

    @property
    def description(self) -> str:
        """The columns, measures, topics, differences and sources as text."""
        width = max(map(len, self.measures))
        measures = [
            f"  {label:<{width}}  {measure}{'  (lower is better)' if better == 'lower' else ''}"
            for label, measure, better in self._rows()
        ]
        columns = [_item(f"{column}: {meaning}") for column, meaning in self.columns.items()]
        parts = [
            [f"{self.name}: {self.title}"],
            ["Columns of the qrels:", *columns],
            ["Measures:", *measures],
            ["Topics of the means:", _item(self.about_topics)],
        ]
        if self.notes:
            parts.append(["Notes:", *map(_item, self.notes)])
        if self.sources:
            parts.append(["Sources:", *map(_item, self.sources)])
        return "\n\n".join("\n".join(part) for part in parts)

    def _repr_html_(self) -> str:
        from html import escape

        from .._rendering import fragment, table

        rows = [
            [f"<b>{escape(label)}</b>", f"<code>{escape(measure)}</code>", better]
            for label, measure, better in self._rows()
        ]
        columns = [f"{column}: {meaning}" for column, meaning in self.columns.items()]
        items = [*columns, f"Means: {self.about_topics}", *self.notes]
        listed = "".join(f"<li>{escape(item)}</li>" for item in items)
        shown = table(["label", "measure", "better"], rows, left=2, most=len(rows), whole=(0, 2))
        return fragment(f"<h3>{escape(self.name)}: {escape(self.title)}</h3>{shown}<ul>{listed}</ul>")


def _item(text: str) -> str:
    return fill(
        text,
        width=_WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
