"""The content of tables of systems: heads, best values, signs of baselines, decimals and notes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..analysis import detectable_difference
from ..analysis._pairs import joint_level, read_baselines
from ..analysis._value_matrices import Direction, by_measure, read_differences, topics_differ
from ..analysis.baseline import compare_with_levels
from ..aspects import Aspects
from ..aspects.aspects import scales_in_words
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
        if self.meaning is None and not self.definition:
            return None
        if self.meaning is None:
            return Sentence(f"{self.short}: {self.definition}")
        if not self.definition:
            return Sentence(self.short, code=self.meaning)
        # The meaning follows after a colon.
        definition = self.definition.removesuffix(".")
        return Sentence(f"{self.short}: {definition}", code=self.meaning)


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
    short_heads = _distinct_heads(known)
    texts = _number_equal_heads(short_heads)
    heads = []
    for label, measure in known.items():
        text = texts[label]
        definition = ""
        if getattr(measure, "is_multi_aspect", False):
            definition = sentence(measure, label in labels_of_criteria)
        head = Head(
            label=label,
            short=text,
            meaning=_meaning(text, label, measure),
            lower_is_better=lower_is_better(measures[label]),
            scales=_scales_with_name(measure),
            definition=definition,
            is_numbered=text != short_heads[label],
        )
        heads.append(head)
    return heads


def _distinct_heads(known: Mapping[str, ir_measures.Measure | None]) -> dict[str, str]:
    """Return a short head for each label.

    Heads of the same class of measures, with any cutoffs, have the parameters that differ, if these
    make them distinct and are short.
    """
    short_heads = {label: short_label(label, measure) for label, measure in known.items()}
    all_short_heads = list(short_heads.values())
    heads = dict(short_heads)
    for labels in _labels_by_class(known, short_heads):
        longer_heads = _distinct_longer_heads([known[label] for label in labels])
        if longer_heads is None:
            continue
        for label, longer_head in zip(labels, longer_heads, strict=True):
            # A label without parameters is its own short head, and remains the head, unless
            # another label has the same one.
            has_parameters = label != short_heads[label]
            is_shared = all_short_heads.count(short_heads[label]) > 1
            if has_parameters or is_shared:
                heads[label] = longer_head
    return heads


def _labels_by_class(
    known: Mapping[str, ir_measures.Measure | None], short_heads: Mapping[str, str]
) -> Iterable[list[str]]:
    """Return lists of the labels of measures of one class, such as nDCG and nDCG@10."""
    labels_by_name: dict[str, list[str]] = {}
    for label, measure in known.items():
        name = _name_without_cutoff(short_heads[label], measure)
        labels_of_class = labels_by_name.setdefault(name, [])
        labels_of_class.append(label)
    return labels_by_name.values()


def _distinct_longer_heads(
    measures: Sequence[ir_measures.Measure | None],
) -> list[str] | None:
    """Return heads of measures of one class, with the parameters that differ.

    Return None if such heads are not needed (a single measure), not possible (an unknown measure),
    too long or not distinct.
    """
    if len(measures) == 1 or None in measures:
        return None
    heads = _with_differing_parameters(measures)
    are_distinct = len(set(heads)) == len(heads)
    longest = max(map(len, heads))
    if longest > _LONGEST_HEAD or not are_distinct:
        return None
    return heads


def _name_without_cutoff(short: str, measure: ir_measures.Measure | None) -> str:
    """Return a head without its cutoff if it is the name of the measure."""
    name = short.partition("@")[0]
    if measure is not None and name == measure.NAME:
        return name
    return short


def _with_differing_parameters(measures: Sequence[Any]) -> list[str]:
    """Return heads of measures of one class, with the parameters in which others differ."""
    heads = []
    for measure in measures:
        differing = []
        for name, option in measure.params.items():
            differs = any(other.params.get(name) != option for other in measures)
            if differs and name != "cutoff":
                text = option_name(option)
                differing.append(f"{name}={text}")
        head = str(measure.NAME)
        if differing:
            in_brackets = ", ".join(differing)
            head += f"({in_brackets})"
        # The cutoff is always shown.
        cutoff = measure.params.get("cutoff")
        if cutoff is not None:
            head += f"@{cutoff}"
        heads.append(head)
    return heads


def _number_equal_heads(heads: dict[str, str]) -> dict[str, str]:
    """Return the heads by label, with numbers if they are equal, as in ``CAM (2)``."""
    n_earlier: Counter[str] = Counter()
    n_equal = Counter(heads.values())
    numbered: dict[str, str] = {}
    for label, head in heads.items():
        n_earlier[head] += 1
        numbered[label] = head
        if n_equal[head] > 1:
            numbered[label] = f"{head} ({n_earlier[head]})"
    # Another label may look like a numbered one; the labels are distinct.
    if len(set(numbered.values())) < len(numbered):
        return {label: label for label in heads}
    return numbered


def _meaning(head: str, label: str, measure: ir_measures.Measure | None) -> str | None:
    """Return what a head stands for: its measure, or the label if that is unknown.

    None if the head says it.
    """
    if measure is None:
        if head == label:
            return None
        return label
    printed = str(measure)
    if head == printed or find_measures(head) == [measure]:
        return None
    return printed


def _scales_with_name(measure: ir_measures.Measure | None) -> Aspects | None:
    """Return the scales of a measure, if they have a name."""
    scales = getattr(measure, "params", {}).get("aspects")
    if isinstance(scales, Aspects) and scales.name is not None:
        return scales
    return None


def best_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Return a mark for each value: 'best', 'second' or '', and no marks if all are equal.

    Parameters
    ----------
    values : array of float, shape (n_systems,)
        The unrounded values of systems.
    lower_is_better : bool
        Whether lower values are better.
    """
    if lower_is_better:
        gains = -values
    else:
        gains = values
    rounding_error = _TOLERANCE * float(np.abs(gains).max())
    is_best = gains >= gains.max() - rounding_error
    marks: list[Mark] = [""] * len(gains)
    if is_best.all():
        return marks
    second_best = gains[~is_best].max()
    is_second_or_best = gains >= second_best - rounding_error
    for row in np.flatnonzero(is_second_or_best):
        marks[row] = "second"
    for row in np.flatnonzero(is_best):
        marks[row] = "best"
    return marks


def shown_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best value and, of three or more systems, the second best."""
    marks = best_marks(values, lower_is_better)
    # Of two systems, the second best is the worst.
    if len(marks) == 2 and "second" in marks:
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
    """Return the number of decimals of each measure.

    Parameters
    ----------
    decimals : int or mapping of str to int
        The number for all measures but sums of counts, which have none, or the numbers of some
        measures by name.
    heads : list of Head
        The heads of the measures.
    known : mapping of str to Measure or None
        The measures by label.
    """
    labels = [head.label for head in heads]
    chosen: dict[str, Any] = {}
    default: Any = 3
    if isinstance(decimals, Mapping):
        for name, number in decimals.items():
            label = find_label(known, name)
            chosen[label] = number
    else:
        default = decimals
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
            margin_option = parameter("margin")
            baseline_option = parameter("baseline")
            raise MultiAspectError(
                f"{margin_option}: expected one baseline, got {baseline_option} {shown(baseline)}"
            )
        if baseline is None:
            return None
        names = read_baselines(baseline, perquery["name"].unique().tolist())
        n_baselines = len(names)
        n_letters = len(_LETTERS)
        if n_baselines > n_letters:
            raise MultiAspectError(
                f"baseline: expected at most {n_letters} baselines, got {n_baselines}"
            )
        if n_baselines == 1:
            signs = {names[0]: "†"}
        else:
            signs = dict(zip(names, _LETTERS[:n_baselines], strict=True))
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
        # Such as "a differs from BM25, b from DPR (…)".
        signs_in_words: list[str] = []
        for name, sign in self.signs.items():
            if not signs_in_words:
                signs_in_words.append(f"{sign} differs from {name}")
            else:
                signs_in_words.append(f"{sign} from {name}")
        if self.margins is not None:
            margin = self._margin_in_words(heads)
            signs_in_words.append(f"{_NOT_WORSE} is not worse by {margin}")
            signs_in_words.append(f"{_EQUIVALENT} differs by less than {margin}")
        note = ", ".join(signs_in_words)
        test = test_name(self.test, self.correction)
        return f"{note} ({test}, p < {self.alpha:g}, {topics})"

    def mark_note_in_text(self, heads: Sequence[Head], topics: str, width: int) -> str:
        """Return the note of `mark_note`; if it is too wide for a line of text, a shorter one.

        Only notes about a single baseline are shortened. Those about several baselines or margins
        take several lines anyway.
        """
        note = self.mark_note(heads, topics)
        can_be_shortened = len(self.signs) == 1 and self.margins is None
        if len(note) <= width or not can_be_shortened:
            return note
        # The test has a shorter name, and the baseline is cropped to the room that is left.
        full_name = _TESTS[self.test]
        test = test_name(self.test, self.correction).replace(full_name, _IN_TEXT[full_name])
        beginning = "† differs from "
        ending = f" ({test}, p < {self.alpha:g}, {topics})"
        room = width - len(beginning) - len(ending)
        (baseline,) = self.signs
        short_name = crop(baseline, max(room, _LEAST_NAME))
        return beginning + short_name + ending

    def _margin_in_words(self, heads: Sequence[Head]) -> str:
        """Return the margin, or those of the measures."""
        assert self.margins is not None
        distinct_margins = set(self.margins.values())
        if len(distinct_margins) == 1:
            margin = distinct_margins.pop()
            return f"{margin:g}"
        margins = []
        for head in heads:
            margin = self.margins[head.label]
            margins.append(f"{margin:g} {head.short}")
        return choices(margins)

    def design_effects(self) -> Floats:
        """Return the design effects of the pairs over all topics."""
        if "group" in self.tests:
            tests = self.tests[self.tests["group"] == ALL]
        else:
            tests = self.tests
        return tests["design_effect"].to_numpy(dtype=np.float64)

    def detectable_note(self, heads: Sequence[Head], digits: Mapping[str, int]) -> Iterator[str]:
        """Yield which differences are detectable, if known for any measure."""
        # Tukey's test has a level of its own, for all pairs of systems.
        if self.test == "tukey":
            return
        median_of = _median_detectable(self)
        known = []
        for head in heads:
            if head.label in median_of:
                difference = fixed_point(median_of[head.label], digits[head.label])
                known.append(f"{head.short} {difference}")
        if not known:
            return
        test = ""
        if self.test != "t":
            test = f" of a {_TESTS['t']}"
        pairs = self.tests[["baseline", "name"]].drop_duplicates()
        median = ""
        if len(pairs) > 1:
            median = ", median over the pairs of systems"
        differences = ", ".join(known)
        yield f"Detectable difference{test} (power {POWER:g}{median}): {differences}."

    def correction_note(self) -> Iterator[str]:
        """Yield which comparisons are corrected together, if topics are in groups."""
        has_groups = self.structure.by is not None
        if not has_groups or self.correction is None:
            return
        over_all_topics = "those over all topics"
        if self.structure.macro is not None:
            over_all_topics += " and those of macro means"
        yield f"Comparisons in all groups are corrected together, {over_all_topics} separately."

    def interval_note(self, labels: Sequence[str]) -> str:
        """Return what the intervals of the differences from the only baseline are.

        It also says what their levels mean, and whether signs can disagree.
        """
        levels = sorted(self.tests["confidence"].dropna().unique().tolist())
        lowest = level_text(levels[0])
        highest = level_text(levels[-1])
        level = highest
        if lowest != highest:
            lowest_number = lowest.removesuffix(" %")
            level = f"{lowest_number}–{highest}"
        method = "Student’s t"
        if self.test == "tukey":
            method = "studentised range"
        joint = self._joint_level(levels)
        disagreement = self._disagreement(labels)
        return f"[…] {level} interval of the difference ({method}{joint}).{disagreement}"

    def _disagreement(self, labels: Sequence[str]) -> str:
        """Return why signs and intervals of some differences disagree, '' if none do."""
        tests = self.tests[self.tests["measure"].isin(labels)]
        is_above_zero = tests["low"] > 0
        is_below_zero = tests["high"] < 0
        excludes_zero = is_above_zero | is_below_zero
        has_sign = tests["significant"]
        if (excludes_zero == has_sign).all():
            return ""
        # Intervals are always by the t-test, with Bonferroni's correction. Signs by the t-test have
        # Holm's correction, which finds more differences; signs by other tests differ anyhow.
        if self.test == "t":
            return " A sign beside an interval that includes 0 is what Holm’s correction gains."
        return f" Signs are by the {_TESTS[self.test]}, and can differ."

    def _joint_level(self, levels: Sequence[float]) -> str:
        """Return what the levels of intervals mean for several comparisons, '' for a single one.

        `levels` are the distinct levels of single intervals. For several comparisons they are
        higher than 1 - alpha, such as 0.975 for two, so that all together have the level 1 - alpha.
        """
        if self.test == "tukey":
            return ", for all pairs"
        if self.correction is None:
            return ""
        joint_confidence = 1 - self.alpha
        is_single_comparison = levels == [joint_confidence]
        if is_single_comparison:
            return ""
        if self.correction == "fdr_bh":
            return f", false coverage rate {self.alpha:g}"
        # Measures may have different numbers of comparisons, and so different levels.
        if len(levels) > 1:
            level = level_text(joint_confidence)
            return f", {level} for all of a measure"
        # The level is 1 - alpha / n for n comparisons, from which follows n.
        alpha_of_each = 1 - levels[0]
        n_comparisons = round(self.alpha / alpha_of_each)
        joint = joint_level(joint_confidence, n_comparisons)
        return f", {joint}"

    def tests_by_row(self, means: pd.DataFrame, label: str) -> pd.DataFrame:
        """Return the tests of a measure for the rows of means, NaN for the only baseline."""
        row_keys = _row_keys(means)
        tests = self.tests[self.tests["measure"] == label]
        tests = tests.set_index(row_keys)
        if len(row_keys) == 1:
            rows = pd.Index(means[row_keys[0]])
        else:
            rows = pd.MultiIndex.from_frame(means[row_keys])
        return tests.reindex(rows)

    def signs_by_row(self, means: pd.DataFrame, label: str) -> list[str]:
        """Return the signs of the baselines from which a measure differs, for the rows of means.

        A row is a system, or a system in a group of topics. Each of its tests, one per baseline,
        has a sign or '', which are joined. The only baseline has no tests, and the sign ''.
        """
        tests = self.tests[self.tests["measure"] == label]
        row_keys = _row_keys(means)
        # A row is identified by a tuple of its group, if there are groups, and its system.
        row_of_test = tests[row_keys].itertuples(index=False, name=None)
        signs_of_row: defaultdict[tuple[object, ...], str] = defaultdict(str)
        for row, sign in zip(row_of_test, self._signs_of_tests(tests), strict=True):
            signs_of_row[row] += sign
        rows = means[row_keys].itertuples(index=False, name=None)
        return [signs_of_row[row] for row in rows]

    def _signs_of_tests(self, tests: pd.DataFrame) -> pd.Series[str]:
        """Return the sign of each test, '' if it finds nothing.

        It is the sign of its baseline if the difference is significant, followed by a sign for
        equivalence or non-inferiority if there are margins.
        """
        sign_of_baseline = tests["baseline"].map(self.signs)
        signs = sign_of_baseline.where(tests["significant"], "")
        if self.margins is None:
            return signs
        is_equivalent = tests["p_equivalent"] < self.alpha
        is_not_worse = tests["p_not_worse"] < self.alpha
        # Equivalent systems are not worse, either: they have the first sign only.
        signs_of_margin = np.select(
            [is_equivalent, is_not_worse], [_EQUIVALENT, _NOT_WORSE], default=""
        )
        all_signs: pd.Series[str] = signs + signs_of_margin
        return all_signs


def _row_keys(table: pd.DataFrame) -> list[str]:
    """Return the columns that identify the rows of means."""
    if "group" in table:
        return ["group", "name"]
    return ["name"]


def _median_detectable(comparisons: Comparisons) -> dict[str, float]:
    """Return the median detectable difference by measure.

    Measures that are not averaged, or whose differences do not vary, have none.
    """
    # A test at the level alpha finds a difference of 0 with the probability alpha: if that is POWER
    # or more, no difference is too small to be detected.
    if comparisons.alpha >= POWER:
        return {}
    known = measures_by_label(comparisons.perquery)
    structure = comparisons.structure
    baselines = list(comparisons.signs)
    medians = {}
    for label, rows in by_measure(comparisons.perquery):
        qids = rows["qid"].unique().tolist()
        n_clusters = len(structure.clusters_of(qids))
        if n_clusters < 2 or not aggregate_is_mean(known[str(label)]):
            continue
        cluster = None
        if structure.clusters is not None:
            cluster = {str(qid): structure.clusters[str(qid)] for qid in qids}
        detectable = detectable_difference(
            rows,
            baseline=baselines,
            power=POWER,
            alpha=comparisons.alpha,
            correction=comparisons.correction,
            cluster=cluster,
        )
        median = float(detectable.table["median"].iloc[0])
        if not np.isnan(median):
            medians[str(label)] = median
    return medians


def _intervals_by_row(
    means: pd.DataFrame,
    label: str,
    digits: int,
    interval: str,
    level: float,
    comparisons: Comparisons | None,
) -> list[str]:
    """Return the interval of each mean of a measure as text, '' where there is none.

    The parameters are those of `means_table`; `label` and `digits` are of one measure. Intervals of
    means are two columns of `means`, those of differences are in the tests.
    """
    if interval == "mean":
        ends = interval_columns(label, level)
        return _intervals_in_words(means, ends, digits)
    if interval == "difference" and comparisons is not None:
        tests = comparisons.tests_by_row(means, label)
        return _intervals_in_words(tests, ("low", "high"), digits)
    return [""] * len(means)


def _intervals_in_words(table: pd.DataFrame, columns: Sequence[str], digits: int) -> list[str]:
    """Return the ends of the intervals in two columns as text, '' where there are none."""
    ends = table[list(columns)].to_numpy(dtype=np.float64)
    texts = []
    for low, high in ends.tolist():
        has_interval = not np.isnan([low, high]).any()
        text = ""
        if has_interval:
            low_text = fixed_point(low, digits)
            high_text = fixed_point(high, digits)
            text = f"[{low_text}, {high_text}]"
        texts.append(text)
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
    known = measures_by_label(perquery)
    averaged = [head.label for head in heads if aggregate_is_mean(known[head.label])]
    sections = _sections(means)
    # The first column contains the names of the systems, the others one measure each.
    columns = [Column("", left=True, shorten=12), *map(_value_column, heads)]
    cells_by_column = [_name_cells(means["name"], comparisons)]
    for head in heads:
        n_digits = digits[head.label]
        interval_of_measure = interval
        if interval == "difference" and head.label not in averaged:
            interval_of_measure = "none"  # only means have tests of differences
        intervals = _intervals_by_row(
            means, head.label, n_digits, interval_of_measure, level, comparisons
        )
        cells = _value_cells(means, sections, head, n_digits, comparisons, intervals)
        cells_by_column.append(cells)
    rows = _rows_of_sections(sections, cells_by_column)

    # The first note: what marks and signs mean, and how many topics there are.
    all_cells = list(chain(*cells_by_column))
    marks = {cell.mark for cell in all_cells}
    counts = _count_topics(perquery, heads)
    topics = _topics(counts, structure, perquery)
    first_notes = _marks_notes(marks, comparisons, heads, topics)
    # A paragraph of details.
    has_intervals = any(cell.after for cell in all_cells)
    details: list[str] = []
    if has_intervals:
        details += _interval_notes(interval, level, comparisons, averaged)
    details += _topics_notes(perquery, counts, n_judged, structure, comparisons, has_intervals)
    details += advice
    if details:
        first_notes.append(Sentence(" ".join(details)))
    # Explanations of measures. Numbered heads are identified by their definitions only.
    if notes == "full":
        explanations = _explaining_notes(heads, digits, comparisons)
    else:
        explanations = _definitions([head for head in heads if head.is_numbered])
    return Table(columns, rows, most=len(rows), notes=[*first_notes, *explanations])


def _count_topics(perquery: pd.DataFrame, heads: Sequence[Head]) -> dict[str, int]:
    """Return the number of topics of each column, by its head."""
    n_topics = perquery.groupby("measure", sort=False)["qid"].nunique()
    return {head.short: int(n_topics[head.label]) for head in heads}


def _rows_of_sections(
    sections: Sequence[_Section], cells_by_column: Sequence[Sequence[Cell]]
) -> list[Row]:
    """Return the rows of the table, with a title above each group of topics."""
    rows = []
    for section in sections:
        if section.title is not None:
            rows.append(Row([section.title], span=len(cells_by_column)))
        for row in section.rows:
            cells = [column_cells[row] for column_cells in cells_by_column]
            rows.append(Row(cells))
    return rows


def _name_cells(names: Iterable[str], comparisons: Comparisons | None) -> list[Cell]:
    """Return the cells of the names of systems, with the letters of several baselines."""
    if comparisons is None:
        return [Cell(name) for name in names]
    cells = []
    for name in names:
        sign = comparisons.signs.get(name, "")
        # The dagger of a single baseline is explained by its name in the note.
        letter = sign.strip("†")
        cells.append(Cell(name, signs=letter))
    return cells


def _value_column(head: Head) -> Column:
    """Return the column of a measure, with an arrow if lower is better."""
    if head.lower_is_better:
        return Column(f"{head.short} ↓")
    return Column(head.short)


def _value_cells(
    means: pd.DataFrame,
    sections: Sequence[_Section],
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
    cells = []
    for row, value in enumerate(values):
        number = fixed_point(value, digits)
        cell = Cell(number, mark=marks[row], signs=signs[row], after=intervals[row])
        cells.append(cell)
    return cells


def _marks_by_row(values: Floats, sections: Sequence[_Section], head: Head) -> list[Mark]:
    """Return the marks of the best values of each section, none where some are missing."""
    marks: list[Mark] = [""] * len(values)
    for section in sections:
        section_values = values[section.rows]
        if np.isnan(section_values).any():
            continue
        section_marks = shown_marks(section_values, head.lower_is_better)
        for row, mark in zip(section.rows, section_marks, strict=True):
            marks[row] = mark
    return marks


class _Section(NamedTuple):
    """The rows of means of a group of topics, and its name as title, if there are groups."""

    title: str | None
    rows: Ints


def _sections(means: pd.DataFrame) -> list[_Section]:
    """Return the groups of topics.

    Without groups, there is one section without title.
    """
    if "group" not in means:
        return [_Section(None, np.arange(len(means)))]
    sections = []
    for group in means["group"].unique():
        rows = np.flatnonzero(means["group"] == group)
        sections.append(_Section(str(group), rows))
    return sections


def _topics(counts: Mapping[str, int], structure: TopicStructure, perquery: pd.DataFrame) -> str:
    """Return the number of topics in words, such as '8–10 topics in 3 clusters'.

    `counts` are the numbers of topics of the columns, of which the lowest and the highest are
    named.
    """
    low = min(counts.values())
    high = max(counts.values())
    if low == high:
        topics = number_of(high, "topic")
    else:
        topics = f"{low}–{high} topics"
    clusters = structure.clusters_of(perquery["qid"].unique().tolist())
    if not clusters.are_single_topics:
        n_clusters = number_of(len(clusters), "cluster")
        topics = f"{topics} in {n_clusters}"
    has_groups = structure.by is not None
    if has_groups:
        topics += " in all"  # each group has fewer
    return topics


def _marks_notes(
    marks: Set[str], comparisons: Comparisons | None, heads: Sequence[Head], topics: str
) -> list[Sentence]:
    """Return the note of every table: what its marks mean, the test and the number of topics.

    Parameters
    ----------
    marks : set of str
        The marks of the cells.
    comparisons : Comparisons, optional
        The comparisons with baselines.
    heads : sequence of Head
        The columns.
    topics : str
        The number of topics in words.
    """
    has_marked_values = bool(marks - {""})
    if not has_marked_values:
        if comparisons is None:
            return []
        note = comparisons.mark_note(heads, topics)
        return [Sentence(f"{note}.")]

    best = "Best values in bold"
    if "second" in marks:
        best += ", second best underlined"
    # In text, the note is to fit into one line with its beginning.
    best_in_text = "* best"
    if comparisons is None:
        note = topics
        note_in_text = topics
    else:
        note = comparisons.mark_note(heads, topics)
        room = WIDTH - len(f"{best_in_text}; .")
        note_in_text = comparisons.mark_note_in_text(heads, topics, room)
    return [Sentence(f"{best}; {note}.", in_text=f"{best_in_text}; {note_in_text}.")]


def _interval_notes(
    interval: str, level: float, comparisons: Comparisons | None, labels: Sequence[str]
) -> Iterator[str]:
    """Yield what the brackets are, for differences those of the measures `labels`."""
    if interval == "mean":
        yield f"[…] {level_text(level)} interval of the mean (Student’s t)."
    elif comparisons is not None:
        yield comparisons.interval_note(labels)


def _topics_notes(
    perquery: pd.DataFrame,
    counts: Mapping[str, int],
    n_judged: int | None,
    structure: TopicStructure,
    comparisons: Comparisons | None,
    has_intervals: bool,
) -> Iterator[str]:
    """Yield sentences about the topics: their clusters, their numbers by column, and their groups.

    The parameters are those of `means_table`; `counts` are the numbers of topics of the columns.
    """
    clusters = structure.clusters_of(perquery["qid"].unique().tolist())
    yield from _cluster_notes(clusters, comparisons)
    if n_judged is None:
        yield from _different_topics_notes(counts, perquery)
    else:
        yield from _fewer_topics_notes(counts, n_judged)
    # Tests and intervals of macro means have an error, which a note explains.
    has_error = has_intervals or comparisons is not None
    yield from _group_notes(structure, has_error=has_error)


def _different_topics_notes(counts: Mapping[str, int], perquery: pd.DataFrame) -> Iterator[str]:
    """Yield the number of topics of each column, if columns are over different topics."""
    if topics_differ(perquery):
        yield f"Columns are over different topics: {_counts_in_words(counts)}."


def _fewer_topics_notes(counts: Mapping[str, int], n_judged: int) -> Iterator[str]:
    """Yield the number of topics of each column, if columns are over fewer topics than judged."""
    has_fewer = any(count != n_judged for count in counts.values())
    if has_fewer:
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
    """Yield notes for readers who do not know the measures or plan to test.

    These are the detectable differences, how groups are corrected, the definitions of measures, and
    the scales that measures name.
    """
    if comparisons is not None:
        for note in comparisons.detectable_note(heads, digits):
            yield Sentence(note)
        for note in comparisons.correction_note():
            yield Sentence(note)
    yield from _definitions(heads)
    distinct_scales = dict.fromkeys(head.scales for head in heads)
    for scales in distinct_scales:
        if scales is not None:
            description = scales_in_words(scales)
            yield Sentence(f"{scales.name}: {description}.")


def _definitions(heads: Iterable[Head]) -> Iterator[Sentence]:
    """Yield the definitions of measures that their heads do not tell."""
    for head in heads:
        definition = head.define()
        if definition is not None:
            yield definition
