"""Suites: labelled measures, with their label columns and the topics of their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import ir_measures
import pandas as pd

from ..evaluation.topics import TOPICS
from ..integration.aggregators import lower_is_better
from ..views import Block, Heading, Items, Sentence, View


@dataclass(frozen=True, eq=False, repr=False)
class Suite(View, Mapping[str, ir_measures.Measure]):
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
    average_over : {'judged', 'positive'}
        The topics that count for each measure, see `evaluate`.
    about_topics : str
        The topics of the official means.
    notes : tuple of str
        Possible differences from the official values, and errors of the official programs.
    sources : tuple of str
        The publications of the measures and settings.

    Notes
    -----
    Stability: provisional. It is the result of `suite`, which may change.

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
    average_over: str = TOPICS[0]
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
        return str(self)

    def _title(self) -> str:
        return self.name

    def _blocks(self) -> list[Block]:
        listed = {
            "Columns of the qrels": [Sentence(f"{column}: {meaning}") for column, meaning in self.columns.items()],
            "Measures": [
                Sentence(label + " (lower is better)" * (better == "lower"), code=measure)
                for label, measure, better in self._rows()
            ],
            "Topics of the means": [Sentence(self.about_topics)],
            "Notes": [Sentence(note) for note in self.notes],
            "Sources": [Sentence(source) for source in self.sources],
        }
        blocks: list[Block] = [Heading(f"{self.name}: {self.title}")]
        for title, sentences in listed.items():
            if sentences:
                blocks += [Sentence(f"{title}:"), Items([[sentence] for sentence in sentences])]
        return blocks
