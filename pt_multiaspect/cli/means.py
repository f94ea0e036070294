"""The table of means of the command ``evaluate``, for terminals, programs and papers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import Aspects
from ..description.retrieved import retrieved
from ..description.scales import read
from ..errors import MultiAspectError, silenced
from ..evaluation import interval_columns
from ..evaluation.labels import recorded
from ..integration.aggregators import lower_aggregate_is_better
from ..tables.content import content
from ..tables.latex import latex_of
from .significance import TESTS, tested
from .tables import DECIMALS, Sheet, number

__all__ = ["JUDGED", "BaselineTest", "Means"]

#: How many of the first ranks --judged looks at.
JUDGED = 10


@dataclass(frozen=True)
class BaselineTest:
    """Tests against a baseline: the run, one of `TESTS`, one of `CORRECTIONS`, and the significance level."""

    baseline: str
    test: str
    correction: str
    alpha: float


class Means:
    """The table of means: columns for programs, and cells for people.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    table : DataFrame
        The result of `pt_multiaspect.aggregate`, whose runs are shown in its order.
    labels : list of str
        The measures.
    n_judged : int
        The number of judged topics; where means are over fewer, notes tell.
    confidence : float or None
        The confidence level of the intervals in `table`, None without.
    """

    def __init__(
        self, values: pd.DataFrame, table: pd.DataFrame, labels: list[str], n_judged: int, confidence: float | None
    ) -> None:
        self._values = values
        self._table = table
        self._labels = labels
        self._confidence = confidence
        self._names: list[str] = table["name"].tolist()
        self._judged: dict[str, list[float]] = {}
        self._n_judged = n_judged
        self._advice: list[str] = []

    def tell_suite(self, name: str) -> None:
        """Refer to what is to be known of a suite."""
        self._advice.append(
            f"for how these values can differ from official ones, see 'pt-multiaspect measures --suites {name}'"
        )

    def add_judged(self, runs: dict[str, object], qrels: pd.DataFrame, aspects: Aspects | None) -> None:
        """Add how many of the first documents are judged, over the queries that the run has."""
        with silenced():
            found = retrieved(runs, read(qrels, aspects)).judged_at
        for aspect, rows in found.groupby("aspect", sort=False):
            column = f"judged@{JUDGED} {aspect}"
            if column in self._table:
                raise MultiAspectError(
                    f"--judged: {column!r} is the label of a measure; omit --judged, or relabel it"
                )
            fractions = rows.set_index("name")[f"judged@{JUDGED}"].reindex(self._names)
            self._judged[column] = fractions.tolist()

    def sheet(self, comparison: BaselineTest | None) -> Sheet:
        """Return the table for terminals and programs, with the tests against a baseline."""
        table = self._table.assign(**self._judged)
        columns = {label: [label, *self._ends(label)] for label in self._labels}
        marks = {label: [""] * len(table) for label in self._labels}
        notes = list(self._advice)
        if (counted := self._counted({label: label for label in self._labels})) is not None:
            notes.insert(0, f"means over {counted}")
        if comparison is not None:
            for label, of_run in self._tested(comparison).items():
                marks[label] = of_run.pop("mark").tolist()
                for column, cells in of_run.items():
                    name = f"{label} {column}"
                    if name in table:
                        raise MultiAspectError(f"--baseline: {name!r} is the label of a measure; use another label")
                    table[name] = cells.array
                    columns[label].append(name)
            notes.append(_legend(comparison))
        order = ["name", *(column for label in self._labels for column in columns[label]), *self._judged]
        known = recorded(self._values)
        shown: dict[str, list[str]] = {"name": self._names}
        bold = set()
        for at, label in enumerate(self._labels, 1):
            values = table[label]
            shown[label] = [f"{number(value)}{mark}" for value, mark in zip(values, marks[label], strict=True)]
            if self._confidence is not None:
                low, high = self._ends(label)
                shown[label] = [
                    f"{cell} [{number(start)}, {number(end)}]"
                    for cell, start, end in zip(shown[label], table[low], table[high], strict=True)
                ]
            best = values.min() if lower_aggregate_is_better(known[label]) else values.max()
            bold |= {(row, at) for row in np.flatnonzero(values == best).tolist()}
        shown |= {column: list(map(number, fractions)) for column, fractions in self._judged.items()}
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        return Sheet(table[order], list(shown), rows, notes, frozenset(bold))

    def latex(self, comparison: BaselineTest | None) -> str:
        """Return the table for papers, which is that of `pt_multiaspect.to_latex`, with what was added."""
        place = {name: at for at, name in enumerate(self._names)}
        compared: dict[str, Any] = {}
        if comparison is not None:
            compared = {
                "baseline": comparison.baseline,
                "test": TESTS[comparison.test][0],
                "correction": None if comparison.correction == "none" else comparison.correction,
                "alpha": comparison.alpha,
            }
        table = content(
            self._values.sort_values("name", key=lambda column: column.map(place), kind="stable"),
            **compared,
            ci=self._confidence,
            interval="ends",
            decimals=DECIMALS,
        )
        for head, fractions in self._judged.items():
            table = table.with_column(head, dict(zip(self._names, map(number, fractions), strict=True)))
        if (counted := self._counted({head.label: head.short for head in table.heads})) is not None:
            table = replace(table, topics=f"Means over {counted}.")
        return latex_of(table, comments=self._advice)

    def _counted(self, heads: dict[str, str]) -> str | None:
        """Return the number of topics of each column, None if no topic is left out."""
        counts = self._values.groupby("measure", sort=False)["qid"].nunique()
        if (counts == self._n_judged).all():
            return None
        each = ", ".join(f"{heads[str(label)]} {count}" for label, count in counts.items())
        return f"the topics with a positive document, of {self._n_judged} judged: {each}"

    def _ends(self, label: str) -> tuple[str, ...]:
        """The columns of the interval of a measure."""
        return () if self._confidence is None else interval_columns(label, self._confidence)

    def _tested(self, comparison: BaselineTest) -> dict[str, pd.DataFrame]:
        """Return the tests of each measure, with the column names of pt.Experiment and the mark of each run."""
        tests = tested(self._values, comparison.baseline, comparison.test, comparison.correction, comparison.alpha)
        result = {}
        for label, rows in tests.groupby("measure", sort=False):
            of_run = rows.set_index("name").reindex(self._names)
            verdict = of_run["verdict"].fillna("")
            columns = {
                "+": of_run["wins"].astype("Int64"),
                "-": of_run["losses"].astype("Int64"),
                "p-value": of_run["asl"],
                "p-value corrected": of_run["p"],
                "reject": verdict != "",
                "mark": verdict.map({"better": "+", "worse": "-", "": " "}),
            }
            if comparison.correction == "none":
                del columns["p-value corrected"]
            result[str(label)] = pd.DataFrame(columns)
        return result


def _legend(comparison: BaselineTest) -> str:
    """Return what the marks mean."""
    _, described = TESTS[comparison.test]
    corrected = "" if comparison.correction == "none" else f", correction: {comparison.correction}"
    return (
        f"+ better, - worse than {comparison.baseline} (two-sided {described}, p < {comparison.alpha:g}{corrected})"
    )
