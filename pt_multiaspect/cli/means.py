"""The table of means of `evaluate`, for terminals, programs and papers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import compare_with_baseline
from ..aspects import Aspects
from ..description.retrieved import retrieved
from ..description.scales import read
from ..errors import MultiAspectError, choices, silenced
from ..evaluation import interval_columns
from ..evaluation.long_frames import measures_by_label
from ..integration.aggregators import lower_aggregate_is_better
from ..tables import systems_table
from ..tables.content import DIFFERENT_TOPICS, best_marks
from ..views import Cell, Column, Mark, Row, Sentence, latex_of
from .significance import Significance
from .tables import DECIMALS, Sheet, number

#: The number of ranks that --judged considers.
JUDGED = 10


def judged_fractions(
    runs: Mapping[str, object], qrels: pd.DataFrame, aspects: Aspects | None
) -> dict[str, list[float]]:
    """Return the fraction of the first documents of each run that is judged, per aspect, over its queries."""
    with silenced():
        judged = retrieved(runs, read(qrels, aspects)).judged_at
    return {
        f"judged@{JUDGED} {aspect}": rows.set_index("name")[f"judged@{JUDGED}"].reindex(list(runs)).tolist()
        for aspect, rows in judged.groupby("aspect", sort=False)
    }


@dataclass(frozen=True)
class Means:
    """The means of runs, with tests, intervals and notes.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    means : DataFrame
        The result of `pt_multiaspect.aggregate`, in the order of the output.
    labels : list of str
        The measures.
    n_judged : int
        The number of judged topics; notes state which means are over fewer.
    confidence : float or None
        The confidence level of the intervals in `means`, None without.
    baseline : str or None
        The run that the others are tested against.
    by : mapping of str to str or None
        The groups of topics, as in `means`.
    significance : Significance
        The test.
    judged : mapping of str to list of float
        The result of `judged_fractions`, in the order of `means`.
    advice : sequence of str
        Notes about the measures.
    """

    values: pd.DataFrame
    means: pd.DataFrame
    labels: list[str]
    n_judged: int
    confidence: float | None
    baseline: str | None
    by: Mapping[str, str] | None
    significance: Significance
    judged: Mapping[str, list[float]]
    advice: Sequence[str]

    def sheet(self) -> Sheet:
        """Return the table for programs, terminals and papers."""
        _check_new(self.judged, self.means, "--judged")
        tests = self._tests()
        known = measures_by_label(self.values)
        columns: dict[str, Any] = {key: self.means[key] for key in self._keys}
        cells: dict[str, Sequence[Cell | str]] = {key: self.means[key].tolist() for key in self._keys}
        for label in self.labels:
            values = self.means[label].to_numpy(dtype=np.float64)
            ends = () if self.confidence is None else interval_columns(label, self.confidence)
            columns |= {column: self.means[column] for column in (label, *ends)}
            beside = {f"{label} {name}": column.array for name, column in tests[label].items()} if tests else {}
            signs = beside.pop(f"{label} sign", [""] * len(values))
            _check_new(beside, [*self.means, *self.judged], "--baseline")
            columns |= beside
            intervals = [
                f"[{', '.join(map(number, row))}]" if row and not np.isnan(row).any() else ""
                for row in self.means[list(ends)].to_numpy().tolist()
            ]
            marks = self._marks(values, lower_aggregate_is_better(known[label]))
            cells[label] = [
                Cell(number(value), mark, sign, interval)
                for value, mark, sign, interval in zip(values.tolist(), marks, signs, intervals, strict=True)
            ]
        cells |= {column: list(map(number, fractions)) for column, fractions in self.judged.items()}
        counted = self._counted(self.labels)
        notes = [*([] if counted is None else [f"means over {counted}"]), *self.advice]
        if self.baseline is not None:
            corrected = f", correction: {self.significance.correction}" if self.significance.is_corrected else ""
            notes.append(f"+ better, - worse than {self.baseline} ({self.significance}{corrected})")
        if self.by is not None:
            topics = pd.Series(self.by).value_counts(sort=False)
            notes.append(f"topics: {choices(f'{group} {size}' for group, size in topics.items())}")
            if self.baseline is not None and self.significance.correction != "none":
                notes.append("comparisons in all groups are corrected together, those over all topics separately")
        heads = [
            Column(head, left=head in self._keys, shorten=12 if head in self._keys else None) for head in cells
        ]
        rows = [list(row) for row in zip(*cells.values(), strict=True)]
        frame = pd.DataFrame(columns | dict(self.judged))
        return Sheet.with_cells(frame, heads, rows, notes, self._latex if self.by is None else None)

    @property
    def _keys(self) -> list[str]:
        return ["name"] if self.by is None else ["group", "name"]

    def _marks(self, values: Floats, lower_is_better: bool) -> list[Mark]:
        """Mark the best values over the topics of each group, if it has values for the measure."""
        if self.by is None:
            return best_marks(values, lower_is_better)
        marks: list[Mark] = []
        for group in self.means["group"].unique():
            of_group = values[self.means["group"] == group]
            marks += [""] * len(of_group) if np.isnan(of_group).any() else best_marks(of_group, lower_is_better)
        return marks

    def _latex(self) -> str:
        """Return the table for papers: that of `pt_multiaspect.systems_table`, with the added columns and notes."""
        names = self.means["name"].tolist()
        compared = {} if self.baseline is None else {"baseline": self.baseline, **self.significance.options}
        table = systems_table(
            self.values.sort_values("name", key=lambda column: column.map(names.index), kind="stable"),
            ci=self.confidence,
            interval="ends",
            decimals=DECIMALS,
            **compared,
        ).cells
        notes = list(table.notes)
        counted = self._counted([column.head.removesuffix(" ↓") for column in table.columns[1:]])
        if counted is not None:
            notes = [note for note in notes if not note.text.startswith(DIFFERENT_TOPICS)]
            notes.append(Sentence(f"Means over {counted}."))
        beside = zip(*self.judged.values(), strict=True) if self.judged else [()] * len(names)
        rows = [
            Row([*row.cells, *map(number, fractions)])
            for row, fractions in zip(table.all_rows(), beside, strict=True)
        ]
        columns = [*table.columns, *map(Column, self.judged)]
        return latex_of(replace(table, columns=columns, rows=rows, notes=notes), comments=self.advice)

    def _counted(self, heads: Sequence[str]) -> str | None:
        """Return the number of topics of each column, or None if no topic is left out."""
        counts = self.values.groupby("measure", sort=False)["qid"].nunique()
        if (counts == self.n_judged).all():
            return None
        by_column = ", ".join(f"{head} {count}" for head, count in zip(heads, counts, strict=True))
        return f"the topics with a positive document, of {self.n_judged} judged: {by_column}"

    def _tests(self) -> dict[str, pd.DataFrame]:
        """Return the tests of each measure, with the column names of pt.Experiment and the sign of each run."""
        if self.baseline is None:
            return {}
        result = {}
        tests = compare_with_baseline(self.values, self.baseline, by=self.by, **self.significance.options)
        in_order = self.means.set_index(self._keys).index
        for label, rows in tests.groupby("measure", sort=False):
            by_run = rows.set_index(self._keys).reindex(in_order)
            verdict = by_run["verdict"].fillna("")
            columns = {
                "+": by_run["wins"].astype("Int64"),
                "-": by_run["losses"].astype("Int64"),
                "p-value": by_run["asl"],
                "p-value corrected": by_run["p"],
                "reject": verdict != "",
                "sign": verdict.map({"better": "+", "worse": "-", "": ""}),
            }
            if not self.significance.is_corrected:
                del columns["p-value corrected"]
            result[str(label)] = pd.DataFrame(columns)
        return result


def _check_new(columns: Iterable[str], taken: Container[str], option: str) -> None:
    """Check that columns beside the means are not labels of measures."""
    for column in columns:
        if column in taken:
            raise MultiAspectError(f"{option}: {column!r} is the label of a measure; omit {option}, or relabel it")
