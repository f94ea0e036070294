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
from ..analysis._pairs import joint_level, read_baselines
from ..analysis._value_matrices import Direction, by_measure, read_differences, topics_differ
from ..analysis.baseline import compare_with_levels
from ..aspects import Aspects
from ..aspects.aspects import in_words
from ..errors import MultiAspectError, choices, number_of, parameter, refuse_unknown, shown
from ..evaluation import interval_columns
from ..evaluation.long_frames import find_label, labels_of_answers, measures_by_label
from ..evaluation.topic_clusters import clusters_in_words
from ..evaluation.topic_groups import ALL
from ..evaluation.topic_structure import TopicStructure
from ..integration.aggregators import aggregate_is_mean, aggregate_is_sum, lower_is_better
from ..integration.parsing import find_measures, short_label
from ..integration.variants import option_name
from ..kernels.mean_errors import Clusters
from ..measures.definitions import sentence
from ..views import WIDTH, Cell, Column, Mark, Row, Sentence, Table, crop, fixed_point, level_text

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

#: The signs of systems that are not worse than the baseline by a margin, and of those equivalent to
#: it.
_NOT_WORSE, _EQUIVALENT = "‡", "≈"

#: Topics without groups and clusters.
_NO_STRUCTURE = TopicStructure()

#: The signs of several baselines; superscripts of all of them are in Unicode.
_LETTERS = "abcdefghijklmnop"

#: The maximum length of heads with parameters.
_LONGEST_HEAD = 32

#: Shorter names of tests, for a line of text; all tests are paired.
_IN_TEXT = {name: name.removeprefix("paired ") for name in _TESTS.values()}
_IN_TEXT[_TESTS["tukey"]] = "Tukey HSD"

#: The minimum length to which notes shorten the name of a baseline.
_LEAST_NAME = 12


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
    #: Whether `short` is numbered, as equal heads are, so that only its definition identifies the
    #: measure.
    is_numbered: bool = False

    def define(self) -> Sentence | None:
        """Return what the measure computes and is printed as, in one line; None if the head says all."""
        if self.meaning is None:
            if self.definition:
                return Sentence(f"{self.short}: {self.definition}")
            return None
        if not self.definition:
            return Sentence(self.short, code=self.meaning)
        return Sentence(f"{self.short}: {self.definition.removesuffix('.')}", code=self.meaning)


def column_heads(measures: Mapping[str, ir_measures.Measure | Direction | None]) -> list[Head]:
    """Return the heads of columns.

    Parameters
    ----------
    measures : mapping of str to Measure, Direction or None
        The measures by label, None if unknown, or directions instead of them.

    Returns
    -------
    list of Head
        The heads, in the order of `measures`. Labels that are printed measures are shortened to
        name and cutoff. If these are equal, they keep the parameters that differ, or are numbered.
    """
    known = {
        label: None if isinstance(measure, Direction) else measure
        for label, measure in measures.items()
    }
    of_answers = labels_of_answers(measures)
    shorts = _distinct_heads(known)
    numbered = _number_equal_heads(shorts)
    return [
        Head(
            label,
            numbered[label],
            _meaning(numbered[label], label, measure),
            lower_is_better(measures[label]),
            _scales_with_name(measure),
            sentence(measure, label in of_answers)
            if getattr(measure, "is_multi_aspect", False)
            else "",
            is_numbered=numbered[label] != shorts[label],
        )
        for label, measure in known.items()
    ]


def _distinct_heads(known: Mapping[str, ir_measures.Measure | None]) -> dict[str, str]:
    """Return short heads; equal ones keep the parameters in which their measures differ, if these are short."""
    shorts = {label: short_label(label, measure) for label, measure in known.items()}
    result = dict(shorts)
    for head in set(shorts.values()):
        labels = [label for label, short in shorts.items() if short == head]
        measures = [known[label] for label in labels]
        if len(labels) > 1 and None not in measures:
            longer = _with_differing_parameters(measures)
            if len(set(longer)) == len(longer) and max(map(len, longer)) <= _LONGEST_HEAD:
                result |= zip(labels, longer, strict=True)
    return result


def _with_differing_parameters(measures: Sequence[Any]) -> list[str]:
    """Return the names of measures, each with its parameters that others lack or have with another value."""
    heads = []
    for measure in measures:
        differing = [
            f"{name}={option_name(option)}"
            for name, option in measure.params.items()
            if name != "cutoff" and any(other.params.get(name) != option for other in measures)
        ]
        if differing:
            parameters = f"({', '.join(differing)})"
        else:
            parameters = ""
        cutoff = measure.params.get("cutoff")
        heads.append(f"{measure.NAME}{parameters}" + ("" if cutoff is None else f"@{cutoff}"))
    return heads


def _number_equal_heads(shorts: dict[str, str]) -> dict[str, str]:
    """Return heads, numbered if they are equal."""
    result: dict[str, str] = {}
    for label, short in shorts.items():
        equal = [key for key, head in shorts.items() if head == short]
        if len(equal) == 1:
            result[label] = short
        else:
            result[label] = f"{short} ({equal.index(label) + 1})"
    if len(set(result.values())) < len(result):  # another label looks like a numbered one
        return {label: label for label in shorts}
    return result


def _meaning(short: str, label: str, measure: ir_measures.Measure | None) -> str | None:
    """Return the measure of a head, unless the head is its name."""
    if measure is None:
        return None if short == label else label
    if short == str(measure):
        return None
    if find_measures(short) == [measure]:
        return None
    return str(measure)


def _scales_with_name(measure: ir_measures.Measure | None) -> Aspects | None:
    """Return the scales of a measure, if they have a name."""
    scales = getattr(measure, "params", {}).get("aspects")
    return scales if isinstance(scales, Aspects) and scales.name is not None else None


def best_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best and second best of unrounded values; none if all are equal."""
    if lower_is_better:
        gains = -values
    else:
        gains = values
    near = _TOLERANCE * float(np.abs(gains).max())
    best = gains >= gains.max() - near
    if best.all():
        return [""] * len(gains)
    second = gains >= gains[~best].max() - near
    return [
        "best" if first else "second" if next_lower else ""
        for first, next_lower in zip(best, second, strict=True)
    ]


def shown_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best value and, of three or more systems, the second best."""
    marks = best_marks(values, lower_is_better)
    if len(marks) > 2:
        return marks
    return ["" if mark == "second" else mark for mark in marks]


def test_name(test: str, correction: str | None) -> str:
    """Return a test and its correction in words."""
    if correction is None or test == "tukey":
        return _TESTS[test]
    return f"{_TESTS[test]}, {_CORRECTIONS[correction]}"


def decimals_by_label(
    decimals: int | Mapping[str, int], heads: list[Head], known: Mapping[str, Any]
) -> dict[str, int]:
    """Return the number of decimals of each measure; by default, sums of counts have none."""
    labels = [head.label for head in heads]
    if isinstance(decimals, Mapping):
        named, default = (decimals, 3)
    else:
        named, default = ({}, decimals)
    by_label = {find_label(known, name): number for name, number in named.items()}
    refuse_unknown(by_label, labels, "measures", "decimals")
    for number in (default, *by_label.values()):
        if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number <= 15:
            raise MultiAspectError(f"decimals: expected integers from 0 to 15, got {number!r}")
    is_sum = {label: aggregate_is_sum(known[label]) for label in labels}
    return {label: int(by_label.get(label, 0 if is_sum[label] else default)) for label in labels}


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons of systems with baselines."""

    #: The values that are compared.
    perquery: pd.DataFrame
    #: The result of `compare_with_levels`.
    tests: pd.DataFrame
    #: The sign of each baseline.
    signs: Mapping[str, str]
    structure: TopicStructure
    test: str
    correction: str | None
    alpha: float
    #: The margin of each measure, if there is one.
    margins: Mapping[str, float] | None

    @classmethod
    def of(
        cls,
        perquery: pd.DataFrame,
        baseline: str | Sequence[str] | None,
        structure: TopicStructure,
        test: str,
        correction: str | None,
        alpha: float,
        margin: float | Mapping[str, float] | None = None,
    ) -> Comparisons | None:
        """Compare systems with one or several baselines, as `compare_with_baseline` does."""
        if margin is not None and not isinstance(baseline, str):
            raise MultiAspectError(
                f"{parameter('margin')}: expected one baseline, got {parameter('baseline')} "
                f"{shown(baseline)}"
            )
        if baseline is None:
            return None
        names = read_baselines(baseline, perquery["name"].unique().tolist())
        if len(names) > len(_LETTERS):
            raise MultiAspectError(
                f"baseline: expected at most {len(_LETTERS)} baselines, got {len(names)}"
            )
        if len(names) == 1:
            signs = {names[0]: "†"}
        else:
            signs = dict(zip(names, _LETTERS, strict=False))
        margins = read_differences(margin, perquery["measure"].unique().tolist(), "margin")
        options = {
            "test": test,
            "correction": correction,
            "alpha": alpha,
            "margin": margins,
            **structure.options,
        }
        tests = compare_with_levels(perquery, names, **options)
        return cls(perquery, tests, signs, structure, test, correction, alpha, margins)

    def mark_note(self, heads: Sequence[Head], topics: str) -> str:
        """Return what the signs mean: the baselines, the margin, the test and the number of topics."""
        (first, sign), *others = self.signs.items()
        further = [f", {letter} from {name}" for name, letter in others]
        if self.margins is not None:
            margin = self._margin_in_words(heads)
            further.append(
                f", {_NOT_WORSE} is not worse by {margin}, {_EQUIVALENT} differs by less than "
                f"{margin}"
            )
        test = test_name(self.test, self.correction)
        return (
            f"{sign} differs from {first}{''.join(further)} ({test}, p < {self.alpha:g}, {topics})"
        )

    def mark_note_in_text(self, heads: Sequence[Head], topics: str, width: int) -> str:
        """Return the same note, with shorter names of the test and a single baseline if it is too wide."""
        note = self.mark_note(heads, topics)
        if len(note) <= width or len(self.signs) > 1 or self.margins is not None:
            return note
        (baseline,) = self.signs
        test, _, correction = test_name(self.test, self.correction).partition(", ")
        words = [_IN_TEXT.get(test, test), correction, f"p < {self.alpha:g}", topics]
        rest = f" ({', '.join(filter(None, words))})"
        room = width - len("† differs from ") - len(rest)
        return f"† differs from {crop(baseline, max(room, _LEAST_NAME))}{rest}"

    def _margin_in_words(self, heads: Sequence[Head]) -> str:
        """Return the margin, or those of the measures."""
        margins = self.margins or {}
        if len(set(margins.values())) == 1:
            return f"{next(iter(margins.values())):g}"
        return choices(f"{margins[head.label]:g} {head.short}" for head in heads)

    def design_effects(self) -> Floats:
        """Return the design effects of the pairs over all topics."""
        if "group" in self.tests:
            tests = self.tests[self.tests["group"] == ALL]
        else:
            tests = self.tests
        return tests["design_effect"].to_numpy(dtype=np.float64)

    def detectable_note(self, heads: Sequence[Head], digits: Mapping[str, int]) -> Iterator[str]:
        """Yield which differences are detectable, if known for any measure."""
        if self.test == "tukey":  # which has a level of its own, for all pairs of systems
            return
        detectable = _median_detectable(self)
        known = [
            f"{head.short} {fixed_point(detectable[head.label], digits[head.label])}"
            for head in heads
            if head.label in detectable
        ]
        if known:
            if self.test == "t":
                test = ""
            else:
                test = f" of a {_TESTS['t']}"
            several = len(self.tests[["baseline", "name"]].drop_duplicates()) > 1
            pairs = ", median over the pairs of systems" if several else ""
            yield f"Detectable difference{test} (power {POWER:g}{pairs}): {', '.join(known)}."

    def interval_note(self, labels: Sequence[str]) -> str:
        """Return what the intervals of the differences from the only baseline are, and what their levels mean."""
        levels = sorted(self.tests["confidence"].dropna().unique().tolist())
        low, high = level_text(levels[0]), level_text(levels[-1])
        if low == high:
            level = low
        else:
            level = f"{low.removesuffix(' %')}–{high}"
        method = "studentised range" if self.test == "tukey" else "Student’s t"
        joint = self._joint_level(levels)
        note = f"[…] {level} interval of the difference ({method}{joint})."
        return f"{note}{self._disagreement(labels)}"

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
            return ", for all pairs"
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
        return tests.reindex(
            pd.MultiIndex.from_tuples(row_keys) if len(keys) > 1 else [key for (key,) in row_keys]
        )

    def signs_by_row(self, keys: list[str], label: str) -> dict[Hashable, str]:
        """Return the signs of the baselines from which the values of a measure differ, by the keys of the row."""
        rows = self.tests[self.tests["measure"] == label]
        signs = rows["baseline"].map(self.signs).where(rows["significant"], "")
        if self.margins is not None:
            is_equivalent, is_not_worse = (
                rows[p] < self.alpha for p in ("p_equivalent", "p_not_worse")
            )
            signs += np.select([is_equivalent, is_not_worse], [_EQUIVALENT, _NOT_WORSE], "")
        return {
            key: "".join(group)
            for key, group in signs.groupby([rows[key] for key in keys], sort=False)
        }


def _median_detectable(comparisons: Comparisons) -> dict[str, float]:
    """Return the median detectable difference of the measures that are averaged, where differences vary."""
    if comparisons.alpha >= POWER:
        return {}
    known = measures_by_label(comparisons.perquery)
    baselines, clusters = list(comparisons.signs), comparisons.structure.clusters
    medians = {}
    for label, rows in by_measure(comparisons.perquery):
        qids = rows["qid"].unique().tolist()
        if (
            not aggregate_is_mean(known[str(label)])
            or len(comparisons.structure.clusters_of(qids)) < 2
        ):
            continue
        found = detectable_difference(
            rows,
            baseline=baselines,
            power=POWER,
            alpha=comparisons.alpha,
            correction=comparisons.correction,
            cluster=None if clusters is None else {str(qid): clusters[str(qid)] for qid in qids},
        )
        medians[str(label)] = float(found.table["median"].iloc[0])
    return {label: median for label, median in medians.items() if not np.isnan(median)}


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
    interval: str = "none",
    level: float = 0.95,
    comparisons: Comparisons | None = None,
    n_judged: int | None = None,
    structure: TopicStructure = _NO_STRUCTURE,
    advice: Sequence[str] = (),
    notes: str = "short",
) -> Table:
    """Return a table of means, with the best values marked.

    Parameters
    ----------
    means : DataFrame
        The result of `aggregate`. With groups of topics, each is a section with best values of its
        own.
    perquery : DataFrame
        The values that are aggregated.
    heads : sequence of Head
        The columns.
    digits : mapping of str to int
        The number of decimals of each measure.
    interval : {'none', 'difference', 'mean'}, default 'none'
        The intervals beside values: of the differences from the only baseline, for measures that
        are averaged, or of the means, which `means` then contain.
    level : float, default 0.95
        The confidence level of the intervals of means.
    comparisons : Comparisons, optional
        The comparisons with baselines.
    n_judged : int, optional
        The number of judged topics, if a note states which means are over fewer. By default, it
        states where the topics of measures differ.
    structure : TopicStructure, optional
        The groups of topics, for means with groups, and their clusters.
    advice : sequence of str
        Further sentences below the table.
    notes : {'short', 'full'}, default 'short'
        Whether notes also define the measures and their scales, and state detectable differences.
    """
    sections = _sections(means)
    if "group" in means:
        keys = ["group", "name"]
    else:
        keys = ["name"]
    row_keys = list(means[keys].itertuples(index=False, name=None))
    columns = [Column("", left=True, shorten=12)]
    signs = {} if comparisons is None else comparisons.signs
    cells = [[Cell(name, signs=signs.get(name, "").strip("†"))] for *_, name in row_keys]
    known = measures_by_label(perquery)
    averaged = [head.label for head in heads if aggregate_is_mean(known[head.label])]
    for head in heads:
        columns.append(Column(f"{head.short} ↓" if head.lower_is_better else head.short))
        values = means[head.label].to_numpy(dtype=np.float64)
        marks = _marks_by_row(values, sections, head)
        if comparisons is None:
            different = {}
        else:
            different = comparisons.signs_by_row(keys, head.label)
        after: Sequence[str] = [""] * len(values)
        if interval == "mean":
            after = _interval_ends(means, interval_columns(head.label, level), digits[head.label])
        elif interval == "difference" and comparisons is not None and head.label in averaged:
            tests = comparisons.rows(keys, head.label, row_keys)
            after = _interval_ends(tests, ("low", "high"), digits[head.label])
        for row, key in enumerate(row_keys):
            text = fixed_point(values[row], digits[head.label])
            cells[row].append(
                Cell(text, mark=marks[row], signs=different.get(key, ""), after=after[row])
            )
    lines: list[Row] = []
    for title, rows in sections:
        lines += [Row([title], span=len(columns))] if title is not None else []
        lines += [Row(cells[row]) for row in rows]
    numbers = perquery.groupby("measure", sort=False)["qid"].nunique()
    counts = {head.short: int(numbers[head.label]) for head in heads}
    clusters = structure.clusters_of(perquery["qid"].unique().tolist())
    topics = _topics(counts, clusters) + (" in all" if structure.by is not None else "")
    values_shown = [cell for row in cells for cell in row]
    below = [_marks_note({cell.mark for cell in values_shown}, comparisons, heads, topics)]
    has_intervals = any(cell.after for cell in values_shown)
    details = [
        *(_interval_notes(interval, level, comparisons, averaged) if has_intervals else []),
        *_cluster_notes(clusters, comparisons),
        *_topics_notes(counts, perquery, n_judged),
        *_group_notes(structure, has_error=has_intervals or comparisons is not None),
        *advice,
    ]
    below += [Sentence(" ".join(details))] if details else []
    if notes == "full":
        below += _explaining_notes(heads, digits, comparisons)
    else:
        below += [
            note for head in heads if head.is_numbered and (note := head.define()) is not None
        ]
    return Table(
        columns, lines, most=len(lines), notes=[note for note in below if note is not None]
    )


def _marks_by_row(
    values: Floats, sections: Sequence[tuple[str | None, Ints]], head: Head
) -> list[Mark]:
    """Return the marks of the values that are best in their section, none where some are missing."""
    marks: list[Mark] = [""] * len(values)
    for _, rows in sections:
        if not np.isnan(values[rows]).any():
            for row, mark in zip(
                rows, shown_marks(values[rows], head.lower_is_better), strict=True
            ):
                marks[row] = mark
    return marks


def _sections(means: pd.DataFrame) -> list[tuple[str | None, Ints]]:
    """Return the title and the rows of each group of topics; without groups, one section without title."""
    if "group" not in means:
        return [(None, np.arange(len(means)))]
    return [
        (str(group), np.flatnonzero(means["group"] == group)) for group in means["group"].unique()
    ]


def _topics(counts: Mapping[str, int], clusters: Clusters) -> str:
    """Return the number of topics in words, or the lowest and the highest one, and that of clusters."""
    low, high = min(counts.values()), max(counts.values())
    if low == high:
        topics = number_of(high, "topic")
    else:
        topics = f"{low}–{high} topics"
    if clusters.are_single_topics:
        return topics
    return f"{topics} in {number_of(len(clusters), 'cluster')}"


def _marks_note(
    marks: Set[str], comparisons: Comparisons | None, heads: Sequence[Head], topics: str
) -> Sentence | None:
    """Return the note of every table: what its marks mean, the test and the number of topics."""
    has_best = bool(marks - {""})
    if comparisons is None:
        note = in_text = topics
    else:
        note = comparisons.mark_note(heads, topics)
        in_text = comparisons.mark_note_in_text(heads, topics, WIDTH - len("* best; ."))
    if has_best:
        best = (
            "Best values in bold, second best underlined"
            if "second" in marks
            else "Best values in bold"
        )
        return Sentence(f"{best}; {note}.", in_text=f"* best; {in_text}.")
    if comparisons is None:
        return None
    return Sentence(f"{note}.")


def _interval_notes(
    interval: str, level: float, comparisons: Comparisons | None, labels: Sequence[str]
) -> Iterator[str]:
    """Yield what the brackets are, for differences those of the measures `labels`."""
    if interval == "mean":
        yield f"[…] {level_text(level)} interval of the mean (Student’s t)."
    elif comparisons is not None:
        yield comparisons.interval_note(labels)


def _topics_notes(
    counts: Mapping[str, int], perquery: pd.DataFrame, n_judged: int | None
) -> Iterator[str]:
    """Yield the number of topics of each column, if columns are over different or fewer topics."""
    columns = choices(f"{short} {count}" for short, count in counts.items())
    if n_judged is None:
        if topics_differ(perquery):
            yield f"Columns are over different topics: {columns}."
    elif any(count != n_judged for count in counts.values()):
        yield f"Means over the topics with a positive document, of {n_judged} judged: {columns}."


def _cluster_notes(clusters: Clusters, comparisons: Comparisons | None) -> Iterator[str]:
    """Yield the sizes of clusters and their degrees of freedom, and of pairs of systems the design effect."""
    if not clusters.are_single_topics:
        if comparisons is None:
            effects = np.empty(0)
        else:
            effects = comparisons.design_effects()
        yield f"{clusters_in_words(clusters, effects)}."


def _group_notes(structure: TopicStructure, *, has_error: bool) -> Iterator[str]:
    """Yield the number of topics of each group, and what the macro mean is."""
    if structure.by is not None:
        sizes = pd.Series(structure.by).value_counts(sort=False)
        yield f"Topics: {choices(f'{group} {size}' for group, size in sizes.items())}."
    if structure.macro is not None:
        yield structure.macro.in_words(has_error=has_error)


def _explaining_notes(
    heads: Sequence[Head], digits: Mapping[str, int], comparisons: Comparisons | None
) -> Iterator[Sentence]:
    """Yield what only those ask for who do not know the measures or plan to test."""
    if comparisons is not None:
        yield from map(Sentence, comparisons.detectable_note(heads, digits))
        structure = comparisons.structure
        if structure.by is not None and comparisons.correction is not None:
            further = "" if structure.macro is None else " and those of macro means"
            yield Sentence(
                f"Comparisons in all groups are corrected together, those over all topics{further} "
                "separately."
            )
    yield from filter(None, (head.define() for head in heads))
    named_scales = dict.fromkeys(head.scales for head in heads if head.scales is not None)
    yield from (Sentence(f"{scales.name}: {in_words(scales)}.") for scales in named_scales)
