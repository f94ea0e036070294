"""The content of tables of systems: heads, best values, signs of baselines, decimals and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
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
        """Return what the measure computes and is printed as; None if the head says all."""
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
    known: dict[str, ir_measures.Measure | None] = {}
    for label, measure in measures.items():
        if isinstance(measure, Direction):
            known[label] = None
        else:
            known[label] = measure
    labels_of_criteria = labels_of_answers(measures)
    shorts = _distinct_heads(known)
    numbered = _number_equal_heads(shorts)
    heads = []
    for label, measure in known.items():
        definition = ""
        if getattr(measure, "is_multi_aspect", False):
            definition = sentence(measure, label in labels_of_criteria)
        head = Head(
            label,
            numbered[label],
            _meaning(numbered[label], label, measure),
            lower_is_better(measures[label]),
            _scales_with_name(measure),
            definition,
            is_numbered=numbered[label] != shorts[label],
        )
        heads.append(head)
    return heads


def _distinct_heads(known: Mapping[str, ir_measures.Measure | None]) -> dict[str, str]:
    """Return short heads.

    Those of one measure, with any cutoffs, keep the parameters that differ, if these are short.
    """
    shorts = {label: short_label(label, measure) for label, measure in known.items()}
    result = dict(shorts)
    names = {label: _name_without_cutoff(short, known[label]) for label, short in shorts.items()}
    for name in dict.fromkeys(names.values()):
        labels = [label for label in known if names[label] == name]
        measures = [known[label] for label in labels]
        if len(labels) == 1 or None in measures:
            continue
        longer = _with_differing_parameters(measures)
        are_distinct = len(set(longer)) == len(longer)
        if are_distinct and max(map(len, longer)) <= _LONGEST_HEAD:
            for label, head in zip(labels, longer, strict=True):
                is_alone = list(shorts.values()).count(shorts[label]) == 1
                if not (is_alone and label == shorts[label]):  # which is as it was given
                    result[label] = head
    return result


def _name_without_cutoff(short: str, measure: ir_measures.Measure | None) -> str:
    """Return a head without its cutoff if it is the name of the measure."""
    name = short.partition("@")[0]
    if measure is not None and name == measure.NAME:
        return name
    return short


def _with_differing_parameters(measures: Sequence[Any]) -> list[str]:
    """Return the names of measures, with the parameters in which others differ."""
    heads = []
    for measure in measures:
        differing = []
        for name, option in measure.params.items():
            differs = any(other.params.get(name) != option for other in measures)
            if differs and name != "cutoff":
                differing.append(f"{name}={option_name(option)}")
        head = str(measure.NAME)
        if differing:
            head += f"({', '.join(differing)})"
        cutoff = measure.params.get("cutoff")
        if cutoff is not None:
            head += f"@{cutoff}"
        heads.append(head)
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
        if short == label:
            return None
        return label
    if short == str(measure):
        return None
    if find_measures(short) == [measure]:
        return None
    return str(measure)


def _scales_with_name(measure: ir_measures.Measure | None) -> Aspects | None:
    """Return the scales of a measure, if they have a name."""
    scales = getattr(measure, "params", {}).get("aspects")
    if isinstance(scales, Aspects) and scales.name is not None:
        return scales
    return None


def best_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best and second best of unrounded values; none if all are equal."""
    if lower_is_better:
        gains = -values
    else:
        gains = values
    near = _TOLERANCE * float(np.abs(gains).max())
    is_best = gains >= gains.max() - near
    marks: list[Mark] = [""] * len(gains)
    if is_best.all():
        return marks
    is_second = gains >= gains[~is_best].max() - near  # or best
    for row in np.flatnonzero(is_second):
        marks[row] = "second"
    for row in np.flatnonzero(is_best):
        marks[row] = "best"
    return marks


def shown_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best value and, of three or more systems, the second best."""
    marks = best_marks(values, lower_is_better)
    if len(marks) <= 2 and "second" in marks:
        marks[marks.index("second")] = ""
    return marks


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
    chosen = {find_label(known, name): number for name, number in named.items()}
    refuse_unknown(chosen, labels, "measures", "decimals")
    for number in (default, *chosen.values()):
        is_integer = isinstance(number, Integral) and not isinstance(number, bool)
        if not is_integer or not 0 <= number <= 15:
            raise MultiAspectError(f"decimals: expected integers from 0 to 15, got {number!r}")
    by_label = {}
    for label in labels:
        if label in chosen:
            by_label[label] = int(chosen[label])
        elif aggregate_is_sum(known[label]):
            by_label[label] = 0
        else:
            by_label[label] = int(default)
    return by_label


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
        """Return what the signs mean: the baselines, the margin, the test and the topics."""
        (first, sign), *others = self.signs.items()
        note = f"{sign} differs from {first}"
        for name, letter in others:
            note += f", {letter} from {name}"
        if self.margins is not None:
            margin = self._margin_in_words(heads)
            note += f", {_NOT_WORSE} is not worse by {margin}"
            note += f", {_EQUIVALENT} differs by less than {margin}"
        test = test_name(self.test, self.correction)
        return f"{note} ({test}, p < {self.alpha:g}, {topics})"

    def mark_note_in_text(self, heads: Sequence[Head], topics: str, width: int) -> str:
        """Return the same note; if it is too wide, the test and a single baseline are shortened."""
        note = self.mark_note(heads, topics)
        if len(note) <= width or len(self.signs) > 1 or self.margins is not None:
            return note
        (baseline,) = self.signs
        test, _, correction = test_name(self.test, self.correction).partition(", ")
        words = [_IN_TEXT.get(test, test)]
        if correction:
            words.append(correction)
        words += [f"p < {self.alpha:g}", topics]
        ending = f" ({', '.join(words)})"
        room = width - len("† differs from ") - len(ending)
        short_name = crop(baseline, max(room, _LEAST_NAME))
        return f"† differs from {short_name}{ending}"

    def _margin_in_words(self, heads: Sequence[Head]) -> str:
        """Return the margin, or those of the measures."""
        margins = self.margins or {}
        distinct = set(margins.values())
        if len(distinct) == 1:
            return f"{distinct.pop():g}"
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
        known = []
        for head in heads:
            if head.label in detectable:
                difference = fixed_point(detectable[head.label], digits[head.label])
                known.append(f"{head.short} {difference}")
        if not known:
            return
        test = pairs = ""
        if self.test != "t":
            test = f" of a {_TESTS['t']}"
        if len(self.tests[["baseline", "name"]].drop_duplicates()) > 1:
            pairs = ", median over the pairs of systems"
        yield f"Detectable difference{test} (power {POWER:g}{pairs}): {', '.join(known)}."

    def interval_note(self, labels: Sequence[str]) -> str:
        """Return what the intervals of the differences from the only baseline are.

        It also says what their levels mean.
        """
        levels = sorted(self.tests["confidence"].dropna().unique().tolist())
        low, high = level_text(levels[0]), level_text(levels[-1])
        if low == high:
            level = low
        else:
            level = f"{low.removesuffix(' %')}–{high}"
        if self.test == "tukey":
            method = "studentised range"
        else:
            method = "Student’s t"
        joint = self._joint_level(levels)
        note = f"[…] {level} interval of the difference ({method}{joint})."
        return note + self._disagreement(labels)

    def _disagreement(self, labels: Sequence[str]) -> str:
        """Return why signs and intervals of some differences disagree, '' if none do."""
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
            n_comparisons = round(self.alpha / (1 - levels[0]))
            return f", {joint_level(confidence, n_comparisons)}"
        return f", {level_text(confidence)} for all of a measure"

    def tests_by_row(self, means: pd.DataFrame, label: str) -> pd.DataFrame:
        """Return the tests of a measure for the rows of means, NaN for the only baseline."""
        keys = _row_keys(means)
        tests = self.tests[self.tests["measure"] == label].set_index(keys)
        if len(keys) == 1:
            return tests.reindex(means[keys[0]])
        return tests.reindex(pd.MultiIndex.from_frame(means[keys]))

    def signs_by_row(self, means: pd.DataFrame, label: str) -> list[str]:
        """Return the signs of the baselines from which a measure differs, for the rows of means."""
        tests = self.tests[self.tests["measure"] == label]
        signs = tests["baseline"].map(self.signs)
        signs = signs.where(tests["significant"], "")
        if self.margins is not None:
            is_equivalent = tests["p_equivalent"] < self.alpha
            is_not_worse = tests["p_not_worse"] < self.alpha
            signs += np.select([is_equivalent, is_not_worse], [_EQUIVALENT, _NOT_WORSE], "")
        keys = _row_keys(means)
        columns = [tests[key] for key in keys]
        joined = {key: "".join(group) for key, group in signs.groupby(columns, sort=False)}
        row_keys = means[keys].itertuples(index=False, name=None)
        return [joined.get(key, "") for key in row_keys]


def _row_keys(table: pd.DataFrame) -> list[str]:
    """Return the columns that identify the rows of means."""
    if "group" in table:
        return ["group", "name"]
    return ["name"]


def _median_detectable(comparisons: Comparisons) -> dict[str, float]:
    """Return the median detectable difference by measure.

    Measures that are not averaged, or whose differences do not vary, have none.
    """
    if comparisons.alpha >= POWER:
        return {}
    known = measures_by_label(comparisons.perquery)
    structure = comparisons.structure
    medians = {}
    for label, rows in by_measure(comparisons.perquery):
        qids = rows["qid"].unique().tolist()
        if not aggregate_is_mean(known[str(label)]) or len(structure.clusters_of(qids)) < 2:
            continue
        cluster = None
        if structure.clusters is not None:
            cluster = {str(qid): structure.clusters[str(qid)] for qid in qids}
        found = detectable_difference(
            rows,
            baseline=list(comparisons.signs),
            power=POWER,
            alpha=comparisons.alpha,
            correction=comparisons.correction,
            cluster=cluster,
        )
        median = float(found.table["median"].iloc[0])
        if not np.isnan(median):
            medians[str(label)] = median
    return medians


def _intervals_in_words(table: pd.DataFrame, columns: Sequence[str], digits: int) -> list[str]:
    """Return the ends of the intervals in two columns as text, '' where there are none."""
    ends = table[list(columns)].to_numpy(dtype=np.float64)
    texts = []
    for low, high in ends.tolist():
        if np.isnan(low) or np.isnan(high):
            texts.append("")
        else:
            texts.append(f"[{fixed_point(low, digits)}, {fixed_point(high, digits)}]")
    return texts


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
    columns = [Column("", left=True, shorten=12)]
    columns += [_value_column(head) for head in heads]
    known = measures_by_label(perquery)
    averaged = [head.label for head in heads if aggregate_is_mean(known[head.label])]
    sections = _sections(means)
    cells = [[cell] for cell in _name_cells(means["name"], comparisons)]
    for head in heads:
        intervals = [""] * len(means)
        if interval == "mean":
            ends = interval_columns(head.label, level)
            intervals = _intervals_in_words(means, ends, digits[head.label])
        elif interval == "difference" and comparisons is not None and head.label in averaged:
            tests = comparisons.tests_by_row(means, head.label)
            intervals = _intervals_in_words(tests, ("low", "high"), digits[head.label])
        values = _value_cells(means, sections, head, digits[head.label], comparisons, intervals)
        for row, cell in enumerate(values):
            cells[row].append(cell)

    lines: list[Row] = []
    for title, rows in sections:
        if title is not None:
            lines.append(Row([title], span=len(columns)))
        lines += [Row(cells[row]) for row in rows]

    n_topics = perquery.groupby("measure", sort=False)["qid"].nunique()
    counts = {head.short: int(n_topics[head.label]) for head in heads}
    clusters = structure.clusters_of(perquery["qid"].unique().tolist())
    topics = _topics(counts, clusters)
    if structure.by is not None:
        topics += " in all"
    marks = {cell.mark for cell in chain(*cells)}
    below = _marks_notes(marks, comparisons, heads, topics)
    details: list[str] = []
    has_intervals = any(cell.after for cell in chain(*cells))
    if has_intervals:
        details += _interval_notes(interval, level, comparisons, averaged)
    details += _cluster_notes(clusters, comparisons)
    if n_judged is None:
        details += _different_topics_notes(counts, perquery)
    else:
        details += _fewer_topics_notes(counts, n_judged)
    details += _group_notes(structure, has_error=has_intervals or comparisons is not None)
    details += advice
    if details:
        below.append(Sentence(" ".join(details)))
    if notes == "full":
        below += _explaining_notes(heads, digits, comparisons)
    else:
        below += _definitions([head for head in heads if head.is_numbered])
    return Table(columns, lines, most=len(lines), notes=below)


def _name_cells(names: Iterable[str], comparisons: Comparisons | None) -> list[Cell]:
    """Return the cells of the names of systems, with the letters of several baselines."""
    if comparisons is None:
        return [Cell(name) for name in names]
    letters = {name: sign.strip("†") for name, sign in comparisons.signs.items()}
    return [Cell(name, signs=letters.get(name, "")) for name in names]


def _value_column(head: Head) -> Column:
    """Return the column of a measure, with an arrow if lower is better."""
    if head.lower_is_better:
        return Column(f"{head.short} ↓")
    return Column(head.short)


def _value_cells(
    means: pd.DataFrame,
    sections: Sequence[tuple[str | None, Ints]],
    head: Head,
    digits: int,
    comparisons: Comparisons | None,
    intervals: Sequence[str],
) -> list[Cell]:
    """Return the cells of a measure, one per row of means."""
    values = means[head.label].to_numpy(dtype=np.float64)
    marks = _marks_by_row(values, sections, head)
    if comparisons is None:
        signs = [""] * len(values)
    else:
        signs = comparisons.signs_by_row(means, head.label)
    columns = zip(values, marks, signs, intervals, strict=True)
    return [
        Cell(fixed_point(value, digits), mark=mark, signs=sign, after=interval)
        for value, mark, sign, interval in columns
    ]


def _marks_by_row(
    values: Floats, sections: Sequence[tuple[str | None, Ints]], head: Head
) -> list[Mark]:
    """Return the marks of the best values of each section, none where some are missing."""
    marks: list[Mark] = [""] * len(values)
    for _, rows in sections:
        if np.isnan(values[rows]).any():
            continue
        marks_of_section = shown_marks(values[rows], head.lower_is_better)
        for row, mark in zip(rows, marks_of_section, strict=True):
            marks[row] = mark
    return marks


def _sections(means: pd.DataFrame) -> list[tuple[str | None, Ints]]:
    """Return the title and the rows of each group of topics.

    Without groups, there is one section without title.
    """
    if "group" not in means:
        return [(None, np.arange(len(means)))]
    sections: list[tuple[str | None, Ints]] = []
    for group in means["group"].unique():
        rows = np.flatnonzero(means["group"] == group)
        sections.append((str(group), rows))
    return sections


def _topics(counts: Mapping[str, int], clusters: Clusters) -> str:
    """Return the lowest and the highest number of topics in words, and that of clusters."""
    low = min(counts.values())
    high = max(counts.values())
    if low == high:
        topics = number_of(high, "topic")
    else:
        topics = f"{low}–{high} topics"
    if clusters.are_single_topics:
        return topics
    return f"{topics} in {number_of(len(clusters), 'cluster')}"


def _marks_notes(
    marks: Set[str], comparisons: Comparisons | None, heads: Sequence[Head], topics: str
) -> list[Sentence]:
    """Return the note of every table: what its marks mean, the test and the number of topics."""
    has_best = bool(marks - {""})
    if comparisons is None:
        note = in_text = topics
    else:
        note = comparisons.mark_note(heads, topics)
        in_text = comparisons.mark_note_in_text(heads, topics, WIDTH - len("* best; ."))
    if has_best:
        best = "Best values in bold"
        if "second" in marks:
            best += ", second best underlined"
        return [Sentence(f"{best}; {note}.", in_text=f"* best; {in_text}.")]
    if comparisons is None:
        return []
    return [Sentence(f"{note}.")]


def _interval_notes(
    interval: str, level: float, comparisons: Comparisons | None, labels: Sequence[str]
) -> Iterator[str]:
    """Yield what the brackets are, for differences those of the measures `labels`."""
    if interval == "mean":
        yield f"[…] {level_text(level)} interval of the mean (Student’s t)."
    elif comparisons is not None:
        yield comparisons.interval_note(labels)


def _different_topics_notes(counts: Mapping[str, int], perquery: pd.DataFrame) -> Iterator[str]:
    """Yield the number of topics of each column, if columns are over different topics."""
    if topics_differ(perquery):
        yield f"Columns are over different topics: {_counts_in_words(counts)}."


def _fewer_topics_notes(counts: Mapping[str, int], n_judged: int) -> Iterator[str]:
    """Yield the number of topics of each column, if columns are over fewer topics than judged."""
    if set(counts.values()) - {n_judged}:
        columns = _counts_in_words(counts)
        yield f"Means over the topics with a positive document, of {n_judged} judged: {columns}."


def _counts_in_words(counts: Mapping[Any, int]) -> str:
    return choices(f"{name} {count}" for name, count in counts.items())


def _cluster_notes(clusters: Clusters, comparisons: Comparisons | None) -> Iterator[str]:
    """Yield the sizes of clusters, their degrees of freedom, and the design effects."""
    if clusters.are_single_topics:
        return
    if comparisons is None:
        effects = np.empty(0)
    else:
        effects = comparisons.design_effects()
    yield f"{clusters_in_words(clusters, effects)}."


def _group_notes(structure: TopicStructure, *, has_error: bool) -> Iterator[str]:
    """Yield the number of topics of each group, and what the macro mean is."""
    if structure.by is not None:
        sizes = pd.Series(structure.by).value_counts(sort=False)
        yield f"Topics: {_counts_in_words(sizes.to_dict())}."
    if structure.macro is not None:
        yield structure.macro.in_words(has_error=has_error)


def _explaining_notes(
    heads: Sequence[Head], digits: Mapping[str, int], comparisons: Comparisons | None
) -> Iterator[Sentence]:
    """Yield what only those ask for who do not know the measures or plan to test."""
    if comparisons is not None:
        for note in comparisons.detectable_note(heads, digits):
            yield Sentence(note)
        structure = comparisons.structure
        if structure.by is not None and comparisons.correction is not None:
            further = ""
            if structure.macro is not None:
                further = " and those of macro means"
            yield Sentence(
                f"Comparisons in all groups are corrected together, those over all topics{further} "
                "separately."
            )
    yield from _definitions(heads)
    named_scales = dict.fromkeys(head.scales for head in heads)
    for scales in named_scales:
        if scales is not None:
            yield Sentence(f"{scales.name}: {in_words(scales)}.")


def _definitions(heads: Iterable[Head]) -> Iterator[Sentence]:
    """Yield the definitions of measures that their heads do not tell."""
    for head in heads:
        definition = head.define()
        if definition is not None:
            yield definition
