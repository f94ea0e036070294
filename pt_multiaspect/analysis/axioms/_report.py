"""Results of a check: the table of verdicts, and counterexamples as small rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import ir_measures
import pandas as pd

from ..._numbers import spell
from ..._rendering import fragment
from ...aspects.aspects import Aspects
from ...errors import refuse_unknown
from ...measures import Measure


def written(score: float) -> str:
    """Format a score with four decimals."""
    return f"{score:.4f}"


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
    """

    tuples: tuple[tuple[float, ...], ...]
    unranked: tuple[tuple[float, ...], ...]
    score: float
    measure: Measure


@dataclass(frozen=True, repr=False)
class CounterExample:
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

    def _grid(self) -> list[list[str]]:
        """Return ranks and labels as cells. Documents that are not ranked are last."""
        sides = [self.rankings[index] for index in self.shown]
        rows = []
        for rank in range(max(len(side.tuples) for side in sides)):
            cells = [str(rank + 1)]
            for side in sides:
                labels = side.tuples[rank] if rank < len(side.tuples) else None
                cells += [""] * len(self.aspects) if labels is None else map(spell, labels)
            rows.append(cells)
        for index in range(max(len(side.unranked) for side in sides)):
            rows.append(["not ranked", *(spell(label) for side in sides for label in side.unranked[index])])
        return rows

    def __repr__(self) -> str:
        n_aspects, n_sides = len(self.aspects), len(self.shown)
        rows = [["rank", *self.aspects * n_sides], *self._grid()]
        for name, values in self.figures:
            rows.append([name, *(cell for value in values for cell in (written(value), *[""] * (n_aspects - 1)))])
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = []
        if n_sides > 1:
            side = sum(widths[1 : n_aspects + 1]) + 2 * n_aspects
            titles = "".join(letter.ljust(side + 2) for letter in "AB"[:n_sides])
            lines.append(" " * (widths[0] + 2) + titles)
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            sides = ["  ".join(cells[1 + index * n_aspects :][:n_aspects]) for index in range(n_sides)]
            lines.append("    ".join(["  ".join([cells[0], sides[0]]), *sides[1:]]))
        body = "\n".join(line.rstrip() for line in lines)
        return f"{self.measure}, {self.property}: {self.verdict}\n{body}\n{self.sentence}"

    def _repr_html_(self) -> str:
        n_aspects, n_sides = len(self.aspects), len(self.shown)
        first = " side"  # separates the rankings

        def row(name: str, cells: list[str], tag: str, width: int = 1) -> str:
            """Return a row that starts with a name or rank. Each cell spans `width` columns."""
            parts = [
                f'<{tag} class="n{"" if index * width % n_aspects else first}" colspan={width}>{cell}</{tag}>'
                for index, cell in enumerate(cells)
            ]
            return f"<tr><th class=n>{escape(name)}</th>{''.join(parts)}</tr>"

        head = row("", list("AB"[:n_sides]), "th", n_aspects) if n_sides > 1 else ""
        head += row("rank", [escape(name) for name in self.aspects] * n_sides, "th")
        body = "".join(row(cells[0], cells[1:], "td") for cells in self._grid())
        foot = "".join(
            row(name, [f"<b>{written(value)}</b>" for value in values], "td", n_aspects)
            for name, values in self.figures
        )
        caption = f"{escape(self.measure)}, {escape(self.property)}: {self.verdict}"
        table = f"<table><thead>{head}</thead><tbody>{body}{foot}</tbody></table>"
        return fragment(f'<h3>{caption}</h3><div class="wide">{table}</div><p>{escape(self.sentence)}</p>')


@dataclass(frozen=True, repr=False)
class AxiomCheck:
    """Result of `check`.

    Attributes
    ----------
    table : DataFrame
        The verdicts, with one row per measure and one column per property.
    results : DataFrame
        One row per measure and property, with columns ``measure property verdict``; ``trials``, the number
        of trials; ``violations``, the number that violate the property; ``ties``, the number with equal scores
        where the property requires a difference; ``complete``, the number of documents up to which all
        worlds were tried; ``reason``, of a property that does not apply.
    aspects : Aspects
        The declared scales.
    trials, seed, documents : int
        As given to `check`.
    refused : mapping of str to str
        The error of each measure that cannot be computed on these aspects, by the name in the table.

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
    _examples: Mapping[tuple[str, str], CounterExample] = field(hash=False)
    refused: Mapping[str, str] = field(hash=False)

    def example(self, measure: ir_measures.Measure | str, property: str) -> CounterExample | None:
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
        """Return the reasons of properties that do not apply, and other explanations of verdicts.

        Returns
        -------
        list of str
            One sentence per reason, with the verdict, the properties and the measures.
        """
        explained = self.results[self.results["reason"] != ""]
        rows = explained[["measure", "property", "verdict", "reason"]].itertuples(index=False, name=None)
        rules_of: dict[tuple[str, str, str], list[str]] = {}
        for measure, rule, verdict, reason in rows:
            rules_of.setdefault((measure, verdict, reason), []).append(rule)
        alike: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
        for (measure, verdict, reason), rules in rules_of.items():
            which = ("all",) if len(rules) == len(self.table.columns) else tuple(rules)
            alike.setdefault((verdict, reason, which), []).append(measure)
        return [
            f"{verdict} ({'; '.join(rules)}): {reason}: {'; '.join(measures)}"
            for (verdict, reason, rules), measures in alike.items()
        ]

    def title(self) -> str:
        """Return the extent of the search in one line.

        Returns
        -------
        str
            The numbers of trials and documents, and the aspects.
        """
        return f"up to {self.trials} trials each, of up to {self.documents} documents; aspects {self.aspects}"

    def __repr__(self) -> str:
        return "\n".join([f"AxiomCheck: {self.title()}", self.table.to_string(), *self.reasons()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th class=c>{escape(name)}</th>" for name in self.table.columns)
        rows = []
        for name, *verdicts in self.table.itertuples(name=None):
            cells = "".join(f'<td class="c {verdict.replace("/", "")}">{verdict}</td>' for verdict in verdicts)
            rows.append(f"<tr><th class=n>{escape(name)}</th>{cells}</tr>")
        notes = "".join(f"<li>{escape(reason)}</li>" for reason in self.reasons())
        return fragment(
            f'<p>{escape(self.title())}</p><div class="wide"><table><thead><tr><th></th>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></div>" + (f"<ul>{notes}</ul>" if notes else "")
        )
