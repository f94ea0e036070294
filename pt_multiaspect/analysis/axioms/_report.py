"""Results of a check: the table of verdicts, and counterexamples as small rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from ..._numbers import spell
from ...aspects import Aspects
from ...errors import refuse_unknown
from ...integration.parsing import MeasureLike
from ...measures import Measure
from ...views import Block, Cell, Column, Items, Mark, Sentence, Table, View, with_minus

#: Verdicts that are emphasised.
_MARKS: dict[str, Mark] = {"holds": "holds", "ties": "ties", "fails": "fails"}


def format_score(score: float) -> str:
    """Format a score with four decimals."""
    return with_minus(f"{score:.4f}")


@dataclass(frozen=True)
class RankedWorld:
    """A ranking of a few judged documents and its score.

    Attributes
    ----------
    tuples : tuple of tuples of numbers
        Labels of the ranked documents, from rank 1, in the order of the aspects.
    unranked : tuple of tuples of numbers
        Labels of the documents that are judged but not ranked.
    score : float
        Value of the measure, or the weight of the tuple if the order of label tuples itself is wrong.
    measure : Measure
        The measure with the aspects and weights that were checked.

    Notes
    -----
    Stability: provisional. It is part of the result of `check`, which may change.
    """

    tuples: tuple[tuple[float, ...], ...]
    unranked: tuple[tuple[float, ...], ...]
    score: float
    measure: Measure


@dataclass(frozen=True, repr=False)
class CounterExample(View):
    """The smallest trial found that violates a property, or ties if the property requires a difference.

    Attributes
    ----------
    measure, property : str
        Names of the measure and the property.
    verdict : {'fails', 'ties'}
        Whether the scores are in the wrong order or equal.
    aspects : tuple of str
        The aspects, in the order of the labels.
    rankings : tuple of RankedWorld
        All compared rankings.
    shown : tuple of int
        Indices of the rankings that are printed as A and B.
    figures : list of (str, tuple of float)
        Lines of numbers printed below the rankings, with one number per ranking shown.
    sentence : str
        The expected and the actual relation of the scores.

    Notes
    -----
    Stability: provisional. It is part of the result of `check`, which may change.

    Examples
    --------
    See `check`.
    """

    measure: str
    property: str
    verdict: str
    aspects: tuple[str, ...]
    rankings: tuple[RankedWorld, ...]
    shown: tuple[int, ...]
    figures: list[tuple[str, tuple[float, ...]]] = field(hash=False)
    sentence: str

    def _content(self) -> list[Block]:
        n_aspects = len(self.aspects)
        sides = [self.rankings[index] for index in self.shown]
        unknown = [""] * n_aspects
        rows = [
            [str(rank + 1), *(cell for side in sides for cell in _labels(side.tuples, rank) or unknown)]
            for rank in range(max(len(side.tuples) for side in sides))
        ]
        rows += [
            ["not ranked", *(cell for side in sides for cell in _labels(side.unranked, index))]
            for index in range(max(len(side.unranked) for side in sides))
        ]
        for name, values in self.figures:
            rows.append([name, *(cell for value in values for cell in (format_score(value), *unknown[1:]))])
        names = [
            Column(name, left=True, separated=len(sides) > 1 and index == 0)
            for _ in sides
            for index, name in enumerate(self.aspects)
        ]
        groups = [("", 1), *((letter, n_aspects) for letter in "AB"[: len(sides)])] if len(sides) > 1 else []
        return [
            Table([Column("rank", left=True), *names], rows, groups=groups),
            Sentence(self.sentence),
        ]

    def _title(self) -> str:
        return f"{self.measure}, {self.property}: {self.verdict}"


def _labels(tuples: Sequence[tuple[float, ...]], index: int) -> list[str]:
    """Return the labels of a document as text; empty if there is no such document."""
    return [spell(label) for labels in tuples[index : index + 1] for label in labels]


@dataclass(frozen=True, repr=False)
class AxiomCheck(View):
    """Result of `check`.

    Attributes
    ----------
    table : DataFrame
        The verdicts, with one row per measure and one column per property.
    results : DataFrame
        One row per measure and property, with columns ``measure property verdict``; ``trials``, the number
        of trials; ``violations``, the number that violate the property; ``ties``, the number with equal scores
        where the property requires a difference; ``complete``, the number of documents up to which all
        worlds were tried; ``reason``, why a property does not apply.
    aspects : Aspects
        The declared scales.
    trials, seed, documents : int
        As given to `check`.
    refused : mapping of str to str
        The error of each measure that cannot be computed on these aspects, by the name in the table.

    Notes
    -----
    Stability: provisional. It is the result of `check`, which may change.

    Examples
    --------
    See `check`.
    """

    table: pd.DataFrame
    results: pd.DataFrame
    aspects: Aspects
    trials: int
    seed: int
    documents: int
    _examples: Mapping[tuple[str, str], CounterExample]
    refused: Mapping[str, str]

    def example(self, measure: MeasureLike, property: str) -> CounterExample | None:
        """Return the smallest counterexample found.

        Parameters
        ----------
        measure : measure or str
            As given to `check`, or the name in the table.
        property : str
            Name of a property.

        Returns
        -------
        CounterExample or None
            The counterexample, which prints as a small ranking, or None if the property holds or does not
            apply.

        Raises
        ------
        MultiAspectError
            If the measure or the property is not in the table.
        """
        name = str(measure)
        refuse_unknown([name], self.table.index, "one that was checked", "measure")
        refuse_unknown([property], self.table.columns, "one that was checked", "property")
        return self._examples.get((name, property))

    def reasons(self) -> list[str]:
        """Return the reasons why properties do not apply, and other explanations of verdicts.

        Returns
        -------
        list of str
            One sentence per reason, with the verdict, the properties and the measures.
        """
        explained = self.results[self.results["reason"] != ""]
        rules = explained.groupby(["measure", "verdict", "reason"], sort=False)["property"].agg(list).reset_index()
        n_rules = len(self.table.columns)
        rules["property"] = ["all" if len(names) == n_rules else "; ".join(names) for names in rules["property"]]
        alike = rules.groupby(["verdict", "property", "reason"], sort=False)["measure"].agg("; ".join).reset_index()
        return [f"{verdict} ({names}): {reason}: {who}" for _, verdict, names, reason, who in alike.itertuples()]

    def title(self) -> str:
        """Return the extent of the search in one line.

        Returns
        -------
        str
            The numbers of trials and documents, and the aspects.
        """
        return f"up to {self.trials} trials each, of up to {self.documents} documents; aspects {self.aspects}"

    def _blocks(self) -> list[Block]:
        rows = [
            [name, *(Cell(verdict, _MARKS.get(verdict, "muted")) for verdict in verdicts)]
            for name, *verdicts in self.table.itertuples(name=None)
        ]
        columns = [Column("measure", left=True, shorten=12), *(Column(str(name)) for name in self.table.columns)]
        reasons = [Items([[Sentence(reason)] for reason in self.reasons()])]
        return [Sentence(self.title()), Table(columns, rows, most=len(rows)), *(reasons if self.reasons() else [])]

    def _title(self) -> str:
        return "Axioms"
