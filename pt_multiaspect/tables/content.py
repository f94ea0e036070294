"""The content of tables of systems: heads, best values, signs of baselines, decimals and notes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..analysis import detectable_difference
from ..analysis._frames import Direction, by_measure, read_directions, topics_differ
from ..analysis._pairs import joint_level, read_baselines
from ..analysis.baseline import compare_with_levels
from ..aspects import Aspects
from ..aspects.aspects import in_words
from ..errors import MultiAspectError, choices, refuse_unknown
from ..evaluation import interval_columns
from ..evaluation.long_frames import check_labels, find_label, labels_of_answers, measures_by_label
from ..integration.aggregators import aggregate_is_mean, aggregate_values, lower_is_better
from ..integration.parsing import find_measures, short_label
from ..measures.definitions import sentence
from ..views import Cell, Column, Mark, Row, Sentence, Table, fixed_point, level_text

#: Tolerance for ties, relative to the maximum (rounding errors of means).
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
}

#: The probability of finding the detectable differences that notes state.
POWER = 0.8

#: The signs of several baselines; superscripts of all of them are in Unicode.
_LETTERS = "abcdefghijklmnop"


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    #: The label of the measure in the frame.
    label: str
    #: The text in the table.
    short: str
    #: The measure, if `short` is not its name.
    meaning: str | None
    lower_is_better: bool
    #: The scales that the printed measure only names.
    scales: Aspects | None = None
    #: What a measure of several aspects computes, in a sentence.
    definition: str = ""


def column_heads(measures: Mapping[str, ir_measures.Measure | Direction | None]) -> list[Head]:
    """Return the heads of columns.

    Parameters
    ----------
    measures : mapping of str to Measure, Direction or None
        The measures by label, None if unknown, or directions instead of them.

    Returns
    -------
    list of Head
        The heads, in the order of `measures`. Labels that are printed measures are shortened to name and cutoff,
        and numbered if they are equal.
    """
    known = {label: None if isinstance(measure, Direction) else measure for label, measure in measures.items()}
    of_answers = labels_of_answers(measures)
    shorts = _number_equal_heads({label: short_label(label, measure) for label, measure in known.items()})
    return [
        Head(
            label,
            shorts[label],
            _meaning(shorts[label], label, measure),
            lower_is_better(measures[label]),
            _scales_with_name(measure),
            sentence(measure, label in of_answers) if getattr(measure, "is_multi_aspect", False) else "",
        )
        for label, measure in known.items()
    ]


def _number_equal_heads(shorts: dict[str, str]) -> dict[str, str]:
    """Return heads, numbered if they are equal."""
    result: dict[str, str] = {}
    for label, short in shorts.items():
        equal = [key for key, head in shorts.items() if head == short]
        result[label] = short if len(equal) == 1 else f"{short} ({equal.index(label) + 1})"
    if len(set(result.values())) < len(result):  # another label looks like a numbered one
        return {label: label for label in shorts}
    return result


def _meaning(short: str, label: str, measure: ir_measures.Measure | None) -> str | None:
    """Return the measure of a head, unless the head is its name."""
    if measure is None:
        return None if short == label else label
    if short == str(measure):
        return None
    return None if find_measures(short) == [measure] else str(measure)


def _scales_with_name(measure: ir_measures.Measure | None) -> Aspects | None:
    """Return the scales of a measure, if they have a name."""
    scales = getattr(measure, "params", {}).get("aspects")
    return scales if isinstance(scales, Aspects) and scales.name is not None else None


def known_measures(perquery: pd.DataFrame, measures: Any) -> tuple[dict[str, Any], dict[str, Direction]]:
    """Return the measure of each label, None if unknown, and the directions given instead of measures."""
    words, parsed = read_directions(measures) if isinstance(measures, Mapping) else ({}, {})
    if not words:
        return measures_by_label(perquery, measures), {}
    labels = [str(label) for label in perquery["measure"].unique()]
    check_labels(labels, measures)
    return {label: parsed.get(label) for label in labels}, words


def best_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best and second best of unrounded values; none if all are equal."""
    gains = -values if lower_is_better else values
    near = _TOLERANCE * float(np.abs(gains).max())
    best = gains >= gains.max() - near
    if best.all():
        return [""] * len(gains)
    second = gains >= gains[~best].max() - near
    return [
        "best" if first else "second" if next_lower else "" for first, next_lower in zip(best, second, strict=True)
    ]


def shown_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best value and, of three or more systems, the second best."""
    marks = best_marks(values, lower_is_better)
    return marks if len(marks) > 2 else ["" if mark == "second" else mark for mark in marks]


def test_name(test: str, correction: str | None) -> str:
    """Return a test and its correction in words."""
    corrected = "" if correction is None or test == "tukey" else f", {_CORRECTIONS[correction]} correction"
    return f"{_TESTS[test]}{corrected}"


def decimals_by_label(
    decimals: int | Mapping[str, int], heads: list[Head], known: Mapping[str, Any]
) -> dict[str, int]:
    """Return the number of decimals of each measure; by default, sums of counts have none."""
    labels = [head.label for head in heads]
    named, default = (decimals, 3) if isinstance(decimals, Mapping) else ({}, decimals)
    by_label = {find_label(known, name): number for name, number in named.items()}
    refuse_unknown(by_label, labels, "measures", "decimals")
    for number in (default, *by_label.values()):
        if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number <= 15:
            raise MultiAspectError(f"decimals: expected integers from 0 to 15, got {number!r}")
    is_sum = {label: aggregate_values(known[label], [1.0, 1.0]) == 2 for label in labels}
    return {label: int(by_label.get(label, 0 if is_sum[label] else default)) for label in labels}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of systems with baselines."""

    #: The result of `compare_with_levels`.
    tests: pd.DataFrame
    #: The sign of each baseline.
    signs: Mapping[str, str]
    test: str
    correction: str | None
    alpha: float
    #: The detectable difference of each measure, the median over the pairs.
    detectable: Mapping[str, float]

    @classmethod
    def of(
        cls,
        perquery: pd.DataFrame,
        baseline: str | Sequence[str] | None,
        by: Mapping[str, str] | None,
        test: str,
        correction: str | None,
        alpha: float,
    ) -> Comparisons | None:
        """Compare systems with one or several baselines, as `compare_with_baseline` does."""
        if baseline is None:
            return None
        names = read_baselines(baseline, perquery["name"].unique().tolist())
        if len(names) > len(_LETTERS):
            raise MultiAspectError(f"baseline: expected at most {len(_LETTERS)} baselines, got {len(names)}")
        signs = {names[0]: "†"} if len(names) == 1 else dict(zip(names, _LETTERS, strict=False))
        tests = compare_with_levels(perquery, names, test=test, correction=correction, alpha=alpha, by=by)
        # Tukey's test has a level of its own, for all pairs of systems.
        detectable = {} if test == "tukey" else _median_detectable(perquery, names, correction, alpha)
        return cls(tests, signs, test, correction, alpha, detectable)

    def notes(
        self, heads: Sequence[Head], digits: Mapping[str, int], topics: str, differences: Sequence[str]
    ) -> Iterator[Sentence]:
        """Yield what the signs are, the intervals of the measures `differences`, and which ones are detectable."""
        if differences:
            yield Sentence(f"[ends] of the {self.intervals_in_words(topics)}.{self._disagreement(differences)}")
        against = ", ".join(f"{name} ({sign})" for name, sign in self.signs.items())
        name = test_name(self.test, self.correction)
        yield Sentence(f"Significantly different from {against} ({name}, p < {self.alpha:g}, {topics}).")
        known = [
            f"{head.short} {fixed_point(self.detectable[head.label], digits[head.label])}"
            for head in heads
            if head.label in self.detectable
        ]
        if known:
            test = "" if self.test == "t" else f" of a {_TESTS['t']}"
            several = len(self.tests[["baseline", "name"]].drop_duplicates()) > 1
            pairs = ", median over the pairs of systems" if several else ""
            yield Sentence(f"Detectable difference{test} (power {POWER:g}{pairs}): {', '.join(known)}.")

    def intervals_in_words(self, topics: str) -> str:
        """Return what the intervals of the differences from the only baseline are, and what their levels mean."""
        (baseline,) = self.signs
        levels = sorted(self.tests["confidence"].dropna().unique().tolist())
        low, high = level_text(levels[0]), level_text(levels[-1])
        level = low if low == high else f"{low.removesuffix(' %')}–{high}"
        method = "studentised range" if self.test == "tukey" else "Student’s t"
        joint = self._joint_level(levels)
        return f"{level} confidence interval of the difference from {baseline} ({method}{joint}, {topics})"

    def _disagreement(self, labels: Sequence[str]) -> str:
        """Return why some differences have a sign although their interval includes 0, or none; '' if none do."""
        tests = self.tests[self.tests["measure"].isin(labels)]
        excludes_zero = (tests["low"] > 0) | (tests["high"] < 0)
        if (excludes_zero == tests["significant"]).all():
            return ""
        if self.test == "t":
            return " A sign beside an interval that includes 0 is what Holm’s correction gains."
        return f" Signs are by the {_TESTS[self.test]}, and can differ."

    def _joint_level(self, levels: Sequence[float]) -> str:
        """Return what the levels of intervals mean for several comparisons, '' for a single one."""
        confidence = 1 - self.alpha
        if self.test == "tukey":
            return f", {level_text(confidence)} for all pairs of systems"
        if self.correction is None or levels == [confidence]:
            return ""
        if self.correction == "fdr_bh":
            return f", false coverage rate {self.alpha:g}"
        if len(levels) == 1:
            return f", {joint_level(confidence, round(self.alpha / (1 - levels[0])))}"
        return f", {level_text(confidence)} for all of a measure"

    def rows(self, keys: list[str], label: str, row_keys: Sequence[Any]) -> pd.DataFrame:
        """Return the tests of a measure against the only baseline by the keys of rows, NaN for the baseline."""
        tests = self.tests[self.tests["measure"] == label].set_index(keys)
        return tests.reindex(pd.MultiIndex.from_tuples(row_keys) if len(keys) > 1 else [key for (key,) in row_keys])

    def signs_by_row(self, keys: list[str], label: str) -> dict[Hashable, str]:
        """Return the signs of the baselines from which the values of a measure differ, by the keys of the row."""
        rows = self.tests[self.tests["significant"] & (self.tests["measure"] == label)]
        signs = rows["baseline"].map(self.signs)
        return {key: "".join(group) for key, group in signs.groupby([rows[key] for key in keys], sort=False)}


def _median_detectable(
    perquery: pd.DataFrame, baselines: list[str], correction: str | None, alpha: float
) -> dict[str, float]:
    """Return the median detectable difference of the measures that are averaged, where differences vary."""
    if alpha >= POWER:
        return {}
    known = measures_by_label(perquery)
    medians = {
        str(label): detectable_difference(rows, baseline=baselines, power=POWER, alpha=alpha, correction=correction)
        .table["median"]
        .iloc[0]
        for label, rows in by_measure(perquery)
        if rows["qid"].nunique() > 1 and aggregate_is_mean(known[str(label)])
    }
    return {label: float(median) for label, median in medians.items() if not np.isnan(median)}


def _interval_ends(table: pd.DataFrame, columns: Sequence[str], digits: int) -> list[str]:
    """Return the ends of the intervals in two columns as text, '' where there are none."""
    return [
        "" if np.isnan(ends).any() else f"[{', '.join(fixed_point(end, digits) for end in ends)}]"
        for ends in table[list(columns)].to_numpy(dtype=np.float64).tolist()
    ]


def means_table(
    means: pd.DataFrame,
    perquery: pd.DataFrame,
    heads: Sequence[Head],
    digits: Mapping[str, int],
    *,
    ci: float | None = None,
    half_widths: Mapping[str, Sequence[str]] | None = None,
    comparisons: Comparisons | None = None,
    differences: bool = False,
    n_judged: int | None = None,
    by: Mapping[str, str] | None = None,
    define: bool = False,
) -> Table:
    """Return a table of means, with the best values marked.

    Parameters
    ----------
    means : DataFrame
        The result of `aggregate`. With groups of topics, each is a section with best values of its own.
    perquery : DataFrame
        The values that are aggregated.
    heads : sequence of Head
        The columns.
    digits : mapping of str to int
        The number of decimals of each measure.
    ci : float, optional
        The confidence level of the intervals in `means`.
    half_widths : mapping of str to sequence of str, optional
        The half widths of the intervals by measure, which are shown instead of their ends.
    comparisons : Comparisons, optional
        The comparisons with baselines.
    differences : bool, default False
        Whether to show the intervals of the differences from the only baseline, of measures that are averaged.
    n_judged : int, optional
        The number of judged topics, if a note states which means are over fewer. By default, it states where the
        topics of measures differ.
    by : mapping of str to str, optional
        The group of each topic, for means with groups.
    define : bool, default False
        Whether notes say what measures of several aspects compute.
    """
    sections = _sections(means)
    keys = ["group", "name"] if "group" in means else ["name"]
    row_keys = list(means[keys].itertuples(index=False, name=None))
    columns = [Column("", left=True, shorten=12)]
    signs = {} if comparisons is None else comparisons.signs
    known = measures_by_label(perquery)
    averaged = [head.label for head in heads if aggregate_is_mean(known[head.label])]
    cells = [[Cell(name, signs=signs.get(name, "").strip("†"))] for *_, name in row_keys]
    for head in heads:
        columns.append(Column(f"{head.short} ↓" if head.lower_is_better else head.short))
        values = means[head.label].to_numpy(dtype=np.float64)
        marks = _marks_by_row(values, sections, head)
        different = {} if comparisons is None else comparisons.signs_by_row(keys, head.label)
        after: Sequence[str] = [""] * len(values)
        if half_widths:
            after = half_widths[head.label]
        elif ci is not None:
            after = _interval_ends(means, interval_columns(head.label, ci), digits[head.label])
        elif differences and comparisons is not None and head.label in averaged:
            after = _interval_ends(
                comparisons.rows(keys, head.label, row_keys), ("low", "high"), digits[head.label]
            )
        for row, key in enumerate(row_keys):
            text = fixed_point(values[row], digits[head.label])
            cells[row].append(Cell(text, mark=marks[row], signs=different.get(key, ""), after=after[row]))
    lines: list[Row] = []
    for title, rows in sections:
        lines += [Row([title], span=len(columns))] if title is not None else []
        lines += [Row(cells[row]) for row in rows]
    numbers = perquery.groupby("measure", sort=False)["qid"].nunique()
    counts = {head.short: int(numbers[head.label]) for head in heads}
    topics = _topics(counts) + (" in all" if by is not None else "")
    named_scales = dict.fromkeys(head.scales for head in heads if head.scales is not None)
    shown = averaged if differences and ci is None else []
    notes = [
        *_mark_notes({cell.mark for row in cells for cell in row}),
        *_interval_notes(ci, "± half the width" if half_widths else "[ends]", topics),
        *([] if comparisons is None else comparisons.notes(heads, digits, topics, shown)),
        *_topics_notes(counts, perquery, n_judged),
        *(Sentence(f"{head.short}: {head.definition}") for head in heads if define and head.definition),
        *(Sentence(head.short, code=head.meaning) for head in heads if head.meaning is not None),
        *(Sentence(f"{scales.name}: {in_words(scales)}.") for scales in named_scales),
        *_group_notes(by, comparisons),
    ]
    return Table(columns, lines, most=len(lines), notes=notes)


def _marks_by_row(values: Floats, sections: Sequence[tuple[str | None, Ints]], head: Head) -> list[Mark]:
    """Return the marks of the values that are best in their section, none where some are missing."""
    marks: list[Mark] = [""] * len(values)
    for _, rows in sections:
        if not np.isnan(values[rows]).any():
            for row, mark in zip(rows, shown_marks(values[rows], head.lower_is_better), strict=True):
                marks[row] = mark
    return marks


def _sections(means: pd.DataFrame) -> list[tuple[str | None, Ints]]:
    """Return the title and the rows of each group of topics; without groups, one section without title."""
    if "group" not in means:
        return [(None, np.arange(len(means)))]
    return [(str(group), np.flatnonzero(means["group"] == group)) for group in means["group"].unique()]


def _topics(counts: Mapping[str, int]) -> str:
    low, high = min(counts.values()), max(counts.values())
    return f"{low} topics" if low == high else f"{low}–{high} topics"


def _mark_notes(marks: Set[str]) -> list[Sentence]:
    """Return what the marks of cells mean."""
    second = ", second best underlined" if "second" in marks else ""
    legend = Sentence(f"Best value per column in bold{second}.", in_text="* best value of the column")
    return [legend] if marks - {""} else []


def _interval_notes(ci: float | None, form: str, topics: str) -> list[Sentence]:
    if ci is None:
        return []
    return [Sentence(f"{form} of the {100 * ci:g} % confidence interval (Student’s t, {topics}).")]


def _group_notes(by: Mapping[str, str] | None, comparisons: Comparisons | None) -> list[Sentence]:
    if by is None:
        return []
    sizes = pd.Series(by).value_counts(sort=False)
    notes = [f"Topics: {choices(f'{group} {size}' for group, size in sizes.items())}."]
    if comparisons is not None and comparisons.correction is not None:
        notes.append("Comparisons in all groups are corrected together, those over all topics separately.")
    return list(map(Sentence, notes))


def _topics_notes(counts: Mapping[str, int], perquery: pd.DataFrame, n_judged: int | None) -> list[Sentence]:
    """Return a sentence with the number of topics of each column, if columns are over different or fewer topics."""
    columns = choices(f"{short} {count}" for short, count in counts.items())
    if n_judged is None:
        return [Sentence(f"Columns are over different topics: {columns}.")] if topics_differ(perquery) else []
    if all(count == n_judged for count in counts.values()):
        return []
    return [Sentence(f"Means over the topics with a positive document, of {n_judged} judged: {columns}.")]
