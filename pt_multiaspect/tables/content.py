"""What a table of systems and measures shows, apart from its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from .._validation import choice, proportion
from ..analysis._by_measure import matrices, topics_differ
from ..analysis._frames import Direction, Floats, directions, words_in
from ..analysis._significance import TESTS, corrector
from ..analysis.baseline import compare_with_baseline
from ..collection.frames import as_pandas
from ..errors import MultiAspectError, choices
from ..evaluation import aggregate, interval_columns
from ..evaluation.labels import check_given, recorded
from ..integration.parsing import parse_all
from ..integration.records import record
from ..kernels.intervals import half_width
from .heads import Head, heads_of

__all__ = ["INTERVALS", "Cell", "Table", "content", "places", "test_name"]

INTERVALS = ("half-width", "ends")

#: Values that differ by at most this, relative to the maximum, are tied (rounding errors of means).
_TOLERANCE = 1e-12

_TESTS = {
    "t": "paired t-test",
    "bootstrap": "paired bootstrap test",
    "permutation": "paired permutation test",
    "tukey": "randomised Tukey HSD test",
}
_CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "fdr_bh": "Benjamini–Hochberg",
    "fdr_by": "Benjamini–Yekutieli",
}

#: The marks of several baselines; superscripts of all of them are in Unicode.
_LETTERS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Cell:
    """One value of a table."""

    #: The rounded value.
    number: str
    #: 1 for the best value of its column, 2 for the second best, else 0.
    place: int
    #: Half the width of the interval, its two ends, or nothing.
    interval: tuple[str, ...]
    #: The marks of the baselines from which the system differs significantly.
    marks: str


@dataclass(frozen=True)
class Table:
    """The content of a table, without escapes; marks and signs are Unicode."""

    heads: list[Head]
    #: Names of systems by the name of their group (None without groups), in the order of rows.
    groups: dict[str | None, list[str]]
    cells: dict[str, list[Cell]]
    #: The mark of each baseline.
    marks: dict[str, str]
    #: What the signs mean.
    signs: list[str]
    #: Over which topics the means are, where that is not the same for every column.
    topics: str | None

    @property
    def notes(self) -> list[str]:
        """The sentences below the table."""
        return self.signs if self.topics is None else [*self.signs, self.topics]

    def with_column(self, head: str, cells: Mapping[str, str]) -> Table:
        """Return the table with a last column of texts, by system, in which no value is marked as the best."""
        added = Head(head, head, None, lower_is_better=False)
        return replace(
            self,
            heads=[*self.heads, added],
            cells={name: [*row, Cell(cells[name], 0, (), "")] for name, row in self.cells.items()},
        )


def content(
    perquery: Any,
    measures: Any = None,
    *,
    baseline: str | Sequence[str] | None = None,
    test: str = "t",
    correction: str | None = "holm",
    alpha: float = 0.05,
    n_resamples: int = 10_000,
    seed: int = 0,
    ci: float | None = None,
    interval: str = "half-width",
    decimals: int | Mapping[str, int] = 3,
    labels: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    function: str = "to_latex",
) -> Table:
    """Compute a table for a `function`, which warnings name. The other parameters are those of `to_latex`."""
    choice("interval", *INTERVALS)(interval)
    choice("test", *TESTS)(test)
    proportion("alpha")(alpha)
    # Refuses unknown ones, also where there is no baseline.
    corrector(test, None if test == "tukey" else correction, alpha)
    perquery = as_pandas(perquery)
    names, given = matrices(perquery, least=1)
    known, words = _known(perquery, measures)
    names, values = list(map(str, names)), {str(label): each for label, each in given.items()}
    perquery = perquery.assign(name=perquery["name"].map(str), measure=perquery["measure"].map(str))
    if measures is not None:
        record(perquery, known)
    # Refuses negated values, of which the lowest tells, and warns of labels that tell no direction.
    lowest = np.array([[[each.min() for each in values.values()]]])
    directions(perquery, lowest, list(values), {} if measures is None else {**known, **words}, function)
    table = aggregate(perquery, ci=ci).set_index("name")
    heads = [
        replace(head, lower_is_better=words[head.label].lower_is_better) if head.label in words else head
        for head in heads_of({label: known[label] for label in values}, labels)
    ]
    digits = _digits(decimals, heads, known)
    marks = _marks(baseline)
    differs = _differences(
        perquery, marks, test=test, correction=correction, alpha=alpha, n_resamples=n_resamples, seed=seed
    )
    cells: dict[str, list[Cell]] = {name: [] for name in names}
    for head in heads:
        aggregates = table[head.label].to_numpy(dtype=np.float64)
        of_rows = places(-aggregates if head.lower_is_better else aggregates)
        for row, name in enumerate(names):
            shown: tuple[float, ...] = ()
            if ci is not None and interval == "ends":
                shown = tuple(table.loc[name, list(interval_columns(head.label, ci))])
            elif ci is not None:
                _check_mean(head, aggregates[row], values[head.label][row])
                shown = (half_width(values[head.label][row], ci),)
            cells[name].append(
                Cell(
                    number=_rounded(aggregates[row], digits[head.label]),
                    place=of_rows[row],
                    interval=tuple(_rounded(end, digits[head.label]) for end in shown),
                    marks="".join(differs.get((head.label, name), ())),
                )
            )
    counts = {head.short: values[head.label].shape[1] for head in heads}
    signs = _signs(cells, marks, _number_of_topics(counts), test, correction, alpha, ci, interval)
    return Table(heads, _grouped(groups, names), cells, marks, signs, _different_topics(counts, perquery))


def _known(perquery: pd.DataFrame, measures: Any) -> tuple[dict[str, Any], dict[str, Direction]]:
    """Return the measure of each label, None if unknown, and the directions that are given instead of measures."""
    words = words_in(measures) if isinstance(measures, Mapping) else {}
    if not words:
        return recorded(perquery, measures), {}
    labels = [str(label) for label in perquery["measure"].unique()]
    check_given(labels, measures)
    others = {label: each for label, each in measures.items() if label not in words}
    parsed = parse_all(others) if others else {}
    return {label: None if label in words else parsed[label] for label in labels}, words


def places(gains: Floats) -> list[int]:
    """Return 1 for the highest values and 2 for the next lower ones, by unrounded values; 0 if all are equal."""
    near = _TOLERANCE * float(np.abs(gains).max())
    best = gains >= gains.max() - near
    if best.all():
        return [0] * len(gains)
    second = ~best & (gains >= gains[~best].max() - near)
    return [int(place) for place in best + 2 * second]


def test_name(test: str, correction: str | None) -> str:
    """Return a test and its correction in words."""
    corrected = (
        "" if correction is None or test == "tukey" else f", {_CORRECTIONS.get(correction, correction)} correction"
    )
    return f"{_TESTS[test]}{corrected}"


def _rounded(value: float, digits: int) -> str:
    """Return a value with a minus sign (U+2212), and without one if it is rounded to 0."""
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _digits(decimals: int | Mapping[str, int], heads: list[Head], known: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of decimals of each measure; by default, sums of counts have none."""
    labels = [head.label for head in heads]
    given: Mapping[str, int] = decimals if isinstance(decimals, Mapping) else {}
    default = 3 if isinstance(decimals, Mapping) else decimals
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise MultiAspectError(f"decimals: expected measures among {choices(labels)}, got {choices(unknown)}")
    for number in (default, *given.values()):
        if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number <= 15:
            raise MultiAspectError(f"decimals: expected integers from 0 to 15, got {number!r}")
    return {label: int(given.get(label, 0 if _is_sum(known[label]) else default)) for label in labels}


def _is_sum(measure: Any) -> bool:
    if measure is None:
        return False
    aggregator = measure.aggregator()
    for _ in range(2):
        aggregator.add(1.0)
    return bool(aggregator.result() == 2)


def _check_mean(head: Head, aggregated: float, values: Floats) -> None:
    if not np.isclose(aggregated, values.mean(), rtol=1e-9, atol=1e-12):
        raise MultiAspectError(
            f"interval='half-width': {head.label} is not the mean of its per-query values; use interval='ends'"
        )


def _marks(baseline: str | Sequence[str] | None) -> dict[str, str]:
    """Return the marks of baselines: a dagger for one, letters for several."""
    if baseline is None:
        return {}
    given = [baseline] if isinstance(baseline, str) else list(baseline)
    if len(given) > len(_LETTERS):
        raise MultiAspectError(f"baseline: expected at most {len(_LETTERS)} baselines, got {len(given)}")
    return {given[0]: "†"} if len(given) == 1 else dict(zip(given, _LETTERS, strict=False))


def _differences(
    perquery: pd.DataFrame, marks: Mapping[str, str], **options: Any
) -> dict[tuple[str, str], list[str]]:
    """Return the marks of each measure and system, in the order of the baselines."""
    result: dict[tuple[str, str], list[str]] = {}
    if marks:
        compared = compare_with_baseline(perquery, list(marks), **options)
        found = compared[compared["significant"]]
        for measure, against, name in found[["measure", "baseline", "name"]].to_numpy(dtype=object):
            result.setdefault((measure, name), []).append(marks[against])
    return result


def _grouped(groups: Mapping[str, Sequence[str]] | None, names: list[str]) -> dict[str | None, list[str]]:
    """Return the systems of each group, after checking that every system is in one."""
    if groups is None:
        return {None: names}
    if any(isinstance(members, str) for members in groups.values()):
        raise MultiAspectError("groups: expected a mapping {group: names of systems}, got a string as names")
    result: dict[str | None, list[str]] = {str(group): list(members) for group, members in groups.items()}
    given = [name for members in result.values() for name in members]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise MultiAspectError(f"groups: expected names of systems ({choices(names)}), got {choices(unknown)}")
    twice = [name for name in names if given.count(name) != 1]
    if twice:
        raise MultiAspectError(
            f"groups: expected every system in one group, got {choices(twice)} in {given.count(twice[0])} groups"
        )
    return {group: members for group, members in result.items() if members}


def _number_of_topics(counts: Mapping[str, int]) -> str:
    """Return the number of topics, or the lowest and the highest where columns have different numbers."""
    low, high = min(counts.values()), max(counts.values())
    return f"{low} topics" if low == high else f"{low}–{high} topics"


def _different_topics(counts: Mapping[str, int], perquery: pd.DataFrame) -> str | None:
    """Return a sentence with the number of topics of each column, if columns are over different topics."""
    if not topics_differ(perquery):
        return None
    return f"Columns are over different topics: {choices(f'{short} {count}' for short, count in counts.items())}."


def _signs(
    cells: Mapping[str, list[Cell]],
    marks: Mapping[str, str],
    topics: str,
    test: str,
    correction: str | None,
    alpha: float,
    ci: float | None,
    interval: str,
) -> list[str]:
    """Return the sentences that explain the signs of the table."""
    places = {cell.place for row in cells.values() for cell in row}
    notes = []
    if places & {1, 2}:
        notes.append("Best value per column in bold, second best underlined.")
    if ci is not None:
        what = "± half the width" if interval == "half-width" else "[ends]"
        notes.append(f"{what} of the {100 * ci:g} % confidence interval (Student’s t, {topics}).")
    if marks:
        against = ", ".join(f"{name} ({mark})" for name, mark in marks.items())
        tested = f"{test_name(test, correction)}, p < {alpha:g}, {topics}"
        notes.append(f"Significantly different from {against} ({tested}).")
    return notes
