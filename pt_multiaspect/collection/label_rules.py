"""Rules for labels and scales: the basis of warnings of measures and of findings of `describe`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._numbers import spell
from .._typing import Floats, Ints
from ..aspects import Aspect, Scale
from ..aspects.aspect import unjudged_codes
from ..errors import in_shell, parameter
from .columns import USUAL_GRADES, is_far_above, join_some

#: Minimum number of judged documents to doubt a scale that is declared by its top grade alone.
_MIN_DECLARED = 30

#: Labels that mark junk documents in TREC collections. On other aspects than relevance, they rather
#: mean 'not judged', unless the scale is declared.
JUNK = (-1, -2)

#: Minimum number of judged documents for rules about fractions of documents.
MIN_POOL = 10

#: Codes of surveys: 8 means 'does not apply', 9 'don't know'.
_SURVEY_CODES = (8, 9)

#: Such labels are codes if all grades are at least this far below them.
_SURVEY_GAP = 3

#: The default threshold is doubtful on scales of at least this many grades, from this fraction of
#: positive documents, or below the last one if the judged documents would be expected to include
#: `MIN_POOL` positive ones.
LONG_SCALE, MOSTLY, RARELY = 6, 0.85, 0.01


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Number of documents with each grade of an aspect: the input of the rules."""

    name: str
    #: The aspect with its grades, declared or inferred.
    aspect: Aspect
    inferred: bool
    #: The number of documents judged on any aspect.
    n_documents: int
    #: Numbers by grade; labels below the lowest grade count as that grade.
    counts: Ints
    #: Distinct labels below the lowest grade.
    below: tuple[float, ...]

    @property
    def n_judged(self) -> int:
        """The number of documents judged on the aspect."""
        return int(self.counts.sum())

    @property
    def positive(self) -> float:
        """The fraction of the judged documents that reach the threshold; 0 if none is judged."""
        # The threshold of a scale is a position among its grades, as are those of `counts`.
        threshold = self.aspect.scale.threshold
        n_positive = self.counts[threshold:].sum()
        n_judged_or_1 = max(self.n_judged, 1)
        return float(n_positive / n_judged_or_1)


@dataclass(frozen=True)
class LabelFinding:
    """A finding about the labels of an aspect."""

    #: 'error', 'warning' or 'note'; measures do not warn about notes.
    severity: str
    text: str
    #: The remedy, a sentence for warnings.
    advice: str = ""
    #: The numbers behind `text`, which differ between aspects.
    numbers: str = ""
    #: The declaration to use instead, if known.
    declaration: Aspect | None = None
    #: Whether the aspect should be left out.
    leave_out: bool = False

    @property
    def warning(self) -> str:
        """The text of a warning about one aspect."""
        if self.numbers:
            return f"{self.text} ({self.numbers}). {self.advice}"
        return f"{self.text}. {self.advice}"


def find_unjudged(labels: LabelCounts) -> LabelFinding | None:
    """Find an aspect without any label, unless this may be chance with few documents."""
    has_few_documents = labels.n_documents < MIN_POOL
    if labels.n_judged or has_few_documents:
        return None
    return LabelFinding(
        "error",
        f"all labels of {labels.name} are missing ({labels.n_documents} documents), so no run "
        "scores on it",
        f"{_leave_out()}, or check how the column was made: a merge by ids that do not match "
        "leaves labels missing. In a part of the qrels (a batch, a fold), this may be intended",
        leave_out=True,
    )


def _leave_out() -> str:
    """Return the advice to leave an aspect out."""
    if in_shell():
        return f"Leave its file out of {parameter('qrels')}"
    return f"Leave it out with {parameter('aspects')}"


def find_labels_below(labels: LabelCounts) -> LabelFinding | None:
    """Find labels below the lowest grade, other than TREC's codes of junk."""
    below = _unexpected_labels_below(labels)
    if not below:
        return None
    aspect = labels.aspect
    lowest = spell(aspect.scale.grades[0])
    listed = join_some(list(map(spell, below)))
    advice = (
        f"If they mean 'not judged', declare {unjudged_codes(listed)}; if they are codes of "
        "another kind, map them to grades"
    )
    # Negative labels are likely codes, others are likely grades that were not declared.
    likely_codes = [label for label in below if label < 0]
    likely_grades = [label for label in below if label >= 0]
    if likely_grades:
        advice = f"If they are grades, add them to the declared ones ({aspect.scale}). {advice}"
    declared_grades = aspect.grades or ()
    all_grades = [*likely_grades, *declared_grades]
    declaration = rescale_aspect(labels, grades=all_grades, unjudged=likely_codes)
    return LabelFinding(
        "warning",
        f"{labels.name} has labels below its lowest grade {lowest}, which are evaluated as that "
        f"grade: {listed}",
        advice,
        declaration=declaration,
    )


def _unexpected_labels_below(labels: LabelCounts) -> list[float]:
    """Return the labels below the lowest grade that are not codes of junk."""
    # Without a declared scale, only relevance has codes of junk.
    has_codes_of_junk = labels.name == "relevance" or not labels.inferred
    if has_codes_of_junk:
        return [label for label in labels.below if label not in JUNK]
    return list(labels.below)


def find_undeclared_harm(labels: LabelCounts) -> LabelFinding | None:
    """Find labels below 0 without declared gains, for measures of harmful documents."""
    aspect = labels.aspect
    # If lower labels are better, a negative label is the best one, not that of a harmful document.
    may_be_harm = aspect.gains is None and aspect.scale.greater_is_better
    has_other_finding = find_labels_below(labels) is not None
    if not may_be_harm or has_other_finding:
        return None
    # Negative labels may be grades, or may be below the lowest grade.
    grades = aspect.scale.grades
    grades_of_documents = grades[labels.counts > 0].tolist()
    all_labels = {*labels.below, *grades_of_documents}
    negative = sorted(label for label in all_labels if label < 0)
    if not negative:
        return None
    # The advice declares a scale on which each grade is its own gain.
    not_negative = grades[grades >= 0].tolist()
    negative_text = ", ".join(map(spell, negative))
    all_text = ", ".join(map(spell, [*negative, *not_negative]))
    return LabelFinding(
        "warning",
        f"{labels.name} has labels below 0 ({negative_text}), which measures of displacement take "
        "as not relevant",
        f"If they mark harmful documents, declare their gains, as in Aspect([{all_text}], "
        f"gains=[{all_text}]); if they mean 'not judged', declare {unjudged_codes(negative_text)}",
    )


def find_far_label(labels: LabelCounts) -> LabelFinding | None:
    """Find a label of relevance far above the others.

    Other columns with such labels are unlikely to be aspects.
    """
    if labels.name != "relevance" or not labels.inferred:
        return None
    grades_of_documents = labels.aspect.scale.grades[labels.counts > 0]
    if not is_far_above(grades_of_documents):
        return None
    highest = float(grades_of_documents[-1])
    top = spell(highest)
    # The grades are inferred again, without the highest label.
    without_highest = rescale_aspect(labels, grades=[], unjudged=[highest])
    return LabelFinding(
        "warning",
        f"the label {top} of relevance is far above its other labels, and its scale is taken as 0 "
        f"to {top}",
        f"If it means 'not judged', declare {unjudged_codes(top)}; if it is a grade, declare the "
        "grades",
        declaration=without_highest,
    )


def survey_codes_on_top(labels: Floats, counts: Ints) -> list[float]:
    """Return the highest labels if they are codes of surveys, 8 or 9; empty if they are grades.

    They are codes if the other labels are 1, 2, … or 0, 1, …, without a gap, and end well below.

    Parameters
    ----------
    labels : ndarray of float, shape (n_labels,)
        The distinct labels in increasing order; negative ones are ignored.
    counts : ndarray of int, shape (n_labels,)
        The number of documents with each label.
    """
    is_code = np.isin(labels, _SURVEY_CODES)
    is_grade = (labels >= 0) & ~is_code
    codes = labels[is_code]
    grades = labels[is_grade]
    if not len(codes) or len(grades) < 2:
        return []
    lowest = grades[0]
    highest = grades[-1]
    starts_at_0_or_1 = lowest in (0, 1)
    has_no_gap = np.array_equal(grades, np.arange(lowest, highest + 1))
    are_codes_far = codes[0] - highest >= _SURVEY_GAP
    # A label that most documents have is rather a grade.
    is_code_most_frequent = counts[is_code].max() > counts[is_grade].max()
    if starts_at_0_or_1 and has_no_gap and are_codes_far and not is_code_most_frequent:
        return [float(code) for code in codes]
    return []


def find_constant(labels: LabelCounts) -> LabelFinding | None:
    """Find an aspect with one grade for all documents; qrels may list the relevant ones only."""
    grades_of_documents = np.flatnonzero(labels.counts)
    is_constant = len(grades_of_documents) == 1 and not labels.below
    if not is_constant:
        return None
    grade = grades_of_documents[0]
    scale = labels.aspect.scale
    label = spell(scale.grades[grade])
    text = f"every judged document has the label {label}"
    is_positive = grade >= scale.threshold
    if labels.name == "relevance" and is_positive:
        return LabelFinding("note", f"{text}; documents that are not relevant are not in the qrels")
    advice = f"{_leave_out()}: {labels.name} cannot distinguish documents"
    return LabelFinding("warning", text, advice, leave_out=True)


def find_doubtful_threshold(labels: LabelCounts) -> LabelFinding | None:
    """Find a threshold that hardly separates the documents, and its likely cause."""
    return find_start_above_zero(labels) or _find_extreme_threshold(labels)


def aspect_from_one(labels: LabelCounts) -> Aspect | None:
    """Return the aspect on a scale from 1, if its scale from 0 is doubtful as no label is 0.

    Return None if the scale is likely to start at 0.
    """
    aspect = labels.aspect
    scale = aspect.scale
    if _is_start_declared(aspect, labels.inferred):
        return None
    # Only 0, 1, 2, … may be 1, 2, … instead: not probabilities, all of [0, 1], nor fractions.
    if scale.identity:
        return None
    if scale.is_fractional:
        return None
    if not _lacks_zeros(labels):
        return None
    # A scale that is declared by its top grade is doubted only if there are more labels.
    is_declared = not labels.inferred
    if is_declared and not _is_top_doubtful(labels):
        return None
    return Aspect(
        range(1, len(scale)),
        greater_is_better=aspect.greater_is_better,
        unjudged=aspect.unjudged,
    )


def _is_start_declared(aspect: Aspect, is_inferred: bool) -> bool:
    """Return whether it is declared where a scale starts.

    `is_inferred` is whether its grades are inferred.
    """
    if aspect.threshold is not None:
        return True  # who declares a threshold knows the scale
    # Aspect([0, 1, 2]) lists the lowest grade. Aspect(2) declares the top grade only.
    return not is_inferred and not aspect.by_top


def _lacks_zeros(labels: LabelCounts) -> bool:
    """Return whether no label on a scale from 0 is 0, although labels differ."""
    # The label 0 is the lowest grade, or the highest one if lower labels are better.
    if labels.aspect.scale.greater_is_better:
        n_zeros = labels.counts[0]
    else:
        n_zeros = labels.counts[-1]
    n_distinct = np.count_nonzero(labels.counts)
    return bool(n_zeros == 0 and n_distinct >= 2)


def _is_top_doubtful(labels: LabelCounts) -> bool:
    """Return whether a scale declared by its top grade alone, 0 to this grade, may start at 1.

    The caller knows that no label is 0. It may start at 1 if there are enough labels to expect a 0,
    and some are 1.
    """
    scale = labels.aspect.scale
    # Qrels may list the relevant documents only, so that a short scale of relevance lacks the 0.
    may_lack_zeros = labels.name == "relevance" and len(scale) < LONG_SCALE
    if may_lack_zeros or labels.n_judged < _MIN_DECLARED:
        return False
    # `counts` are ordered from the lowest to the best grade: 0, 1, 2, … or, if lower labels are
    # better, …, 2, 1, 0.
    if scale.greater_is_better:
        n_ones = labels.counts[1]
    else:
        n_ones = labels.counts[-2]
    return bool(n_ones > 0)


def start_at_one_note(aspects: Iterable[LabelCounts]) -> str:
    """Return further sentences of a warning, one per aspect that may start at 1 instead of 0."""
    note = ""
    for labels in aspects:
        aspect_from_zero = labels.aspect
        from_one = aspect_from_one(labels)
        if from_one is None:
            continue
        note += (
            f". No label of {labels.name} is 0: if its scale starts at 1, declare {from_one!r}, "
            f"which changes values; if 0 is a grade, declare {aspect_from_zero!r}"
        )
    return note


def find_start_above_zero(labels: LabelCounts) -> LabelFinding | None:
    """Find a scale that may start at 1, although it was inferred or declared to start at 0."""
    from_one = aspect_from_one(labels)
    if from_one is None:
        return None
    name = labels.name
    scale = labels.aspect.scale
    # The advice has a declaration for each case: from 1, and from 0.
    advice = f"If the scale starts at 1, declare {name}: {from_one!r}; if it starts at 0, "
    if labels.inferred:
        effect = _effect_of_start_at_zero(labels)
        text = f"no label of {name} is 0, but the scale is taken as {scale}, so that {effect}"
        # The inferred scale, and a threshold: it has no effect, but tells that the start is meant.
        from_zero = _with_threshold(labels.aspect, 1)
        advice += f"{name}: {from_zero}"
    else:
        text = (
            f"no label of {name} is 0, but the scale is declared by its top grade alone, as {scale}"
        )
        # The declared scale, whose representation lists all grades.
        advice += f"list its grades, {name}: {labels.aspect!r}"
    return LabelFinding("warning", text, advice, declaration=from_one)


def _effect_of_start_at_zero(labels: LabelCounts) -> str:
    """Return in words the doubtful effect of a start at 0 on a scale without labels 0."""
    scale = labels.aspect.scale
    if not scale.greater_is_better:
        # The best grade is 0, which no document has.
        return "no document has its top grade"
    grades_of_documents = scale.grades[labels.counts > 0]
    lowest = spell(grades_of_documents[0])
    return f"every judged document is positive and {lowest} has a positive gain"


def is_doubtful(positive: float, n_judged: int, n_grades: int) -> bool:
    """Return whether a default threshold is doubtful.

    Parameters
    ----------
    positive : float
        The fraction of the judged documents that are positive.
    n_judged : int
        Number of judged documents.
    n_grades : int
        Number of grades of the scale.
    """
    is_long = n_grades >= LONG_SCALE
    return is_long or _are_positive_extreme(positive, n_judged)


def _are_positive_extreme(positive: float, n_judged: int) -> bool:
    """Return whether nearly all or very few of the judged documents are positive.

    `positive` is the fraction of positive documents.
    """
    are_most_positive = positive >= MOSTLY and n_judged >= MIN_POOL
    # Few positive documents say nothing if there are too few documents to expect any.
    n_expected = RARELY * n_judged
    are_few_positive = positive < RARELY and n_expected >= MIN_POOL
    return are_most_positive or are_few_positive


def _find_extreme_threshold(labels: LabelCounts) -> LabelFinding | None:
    """Find a threshold that hardly separates the documents."""
    aspect = labels.aspect
    n_grades = len(aspect.scale)
    if not labels.n_judged or n_grades < 2:
        return None
    # A threshold that is declared, or is the only one possible, is doubtful because of the
    # documents alone.
    is_settled = aspect.threshold is not None or n_grades == 2
    if is_settled:
        return _find_extreme_positives(labels)
    return _find_extreme_default_threshold(labels)


def _find_extreme_positives(labels: LabelCounts) -> LabelFinding | None:
    """Find a threshold that nearly all or hardly any documents reach."""
    if not _are_positive_extreme(labels.positive, labels.n_judged):
        return None
    scale = labels.aspect.scale
    threshold = spell(scale.grades[scale.threshold])
    text = f"the threshold of {labels.name} separates few documents from the others"
    numbers = f"{_positive_text(labels)} are positive, from {threshold} on"
    return LabelFinding("note", text, numbers=numbers)


def _find_extreme_default_threshold(labels: LabelCounts) -> LabelFinding | None:
    """Find a doubtful default threshold, the second grade.

    It is doubtful on a long scale, or if it separates few documents from the others.
    """
    aspect = labels.aspect
    if not is_doubtful(labels.positive, labels.n_judged, len(aspect.scale)):
        return None
    better = _better_threshold(labels)
    declaration = None
    if better is not None:
        declaration = _declare_threshold(as_short(labels), aspect.scale.grades[better])
    return LabelFinding(
        "warning",
        f"the threshold of {labels.name} is not declared, so every grade above the lowest is "
        "positive",
        advice=_advice_to_declare_threshold(labels, better),
        numbers=f"{_positive_text(labels)}, on the scale {aspect.scale}",
        declaration=declaration,
    )


def _advice_to_declare_threshold(labels: LabelCounts, better: int | None) -> str:
    """Return how a threshold is declared.

    `better` is the position of a grade that is a better threshold than the default, if known.
    """
    if in_shell():
        setting = f'"threshold", with {parameter("aspects")} FILE'
    else:
        setting = f"as in {_example_of_threshold(labels, better)}"
    advice = f"Declare the lowest positive grade, {setting}"
    are_few_positive = labels.positive < RARELY
    if are_few_positive:
        return f"Check that the labels are those of {labels.name} and not reversed. {advice}"
    return advice


def _example_of_threshold(labels: LabelCounts, better: int | None) -> str:
    """Return a declaration of a threshold as an example for advice.

    `better` is the position of a grade that is a better threshold than the default, if known.
    """
    if labels.positive < RARELY:
        # A higher threshold would leave even fewer positive documents: show the default.
        position = 1
    elif better is not None:
        position = better
    else:
        position = len(labels.aspect.scale) // 2
    return _with_threshold(labels.aspect, position)


def _positive_text(labels: LabelCounts) -> str:
    """Return the fraction of positive documents, as in '95% of 120 judged documents'."""
    percentage = _percent(labels.positive)
    return f"{percentage} of {labels.n_judged} judged documents"


def _percent(fraction: float) -> str:
    """Return a fraction as a percentage, with further digits near 0 and 1."""
    if 0.01 <= fraction <= 0.99:
        return f"{fraction:.0%}"
    percentage = 100 * fraction
    return f"{percentage:.4g}%"


def _better_threshold(labels: LabelCounts) -> int | None:
    """Return the position of a grade near the middle of the scale that separates the documents.

    A grade separates them if neither few nor nearly all are at or above it. Return None if none
    does.
    """
    # Sums from the top: counts [5, 3, 2] -> [10, 5, 2] documents at or above each grade.
    counts_from_top = labels.counts[::-1]
    n_from_top = counts_from_top.cumsum()
    n_at_or_above = n_from_top[::-1]
    fraction_at_or_above = n_at_or_above / labels.n_judged
    is_usable = (fraction_at_or_above >= RARELY) & (fraction_at_or_above < MOSTLY)
    is_usable[0] = False  # the lowest grade is no threshold
    usable = np.flatnonzero(is_usable)
    if not len(usable):
        return None
    middle = len(labels.counts) / 2
    distance = np.abs(usable - middle)
    nearest = np.argmin(distance)
    return int(usable[nearest])


def _with_threshold(aspect: Aspect, index: int) -> str:
    """Return the declaration with the grade at `index` as threshold, as printed in advice."""
    grade = aspect.scale.grades[index]
    threshold = spell(float(grade))
    spec = aspect.to_spec()
    is_top_grade = isinstance(spec, int)  # instead of a dict of parameters
    if is_top_grade:
        return f"Aspect({spec}, threshold={threshold})"
    has_too_many_grades = len(aspect.scale) > USUAL_GRADES
    if has_too_many_grades:
        return f"Aspect(…, threshold={threshold})"
    return repr(_declare_threshold(aspect, grade))


def _declare_threshold(aspect: Aspect, grade: float) -> Aspect:
    """Return an aspect with a grade as its threshold."""
    spec = _spec(aspect)
    spec["threshold"] = float(grade)
    return Aspect(**spec)


def _spec(aspect: Aspect) -> dict[str, Any]:
    """Return the parameters of an aspect, as a new dict."""
    spec = aspect.to_spec()
    if isinstance(spec, int):  # the top grade
        return {"grades": spec}
    return spec


def as_given(labels: LabelCounts) -> Aspect:
    """Return the aspect as declared, without inferred grades."""
    if not labels.inferred:
        return labels.aspect
    spec = _spec(labels.aspect)
    spec["grades"] = None
    return Aspect(**spec)


def as_short(labels: LabelCounts) -> Aspect:
    """Return the aspect with its grades, unless they are too many fractions to list.

    Many fractions are left out if they were inferred, so that they will be inferred again.
    """
    scale = labels.aspect.scale
    has_many_fractions = scale.is_fractional and len(scale) > USUAL_GRADES
    if has_many_fractions and labels.inferred:
        return as_given(labels)  # as declared, without grades
    return labels.aspect


def rescale_aspect(
    labels: LabelCounts, grades: Sequence[float], unjudged: Sequence[float]
) -> Aspect | None:
    """Return an aspect with further codes of unjudged documents and other declared grades.

    The threshold is kept if possible. Return None if the aspect declares gains or probabilities
    and there are further grades, as those of further grades are unknown.

    Parameters
    ----------
    labels : LabelCounts
        The aspect. If its grades are inferred, they are inferred again, without the codes.
    grades : sequence of float
        All grades of a declared scale, in any order.
    unjudged : sequence of float
        Further labels that mean "not judged".
    """
    aspect = labels.aspect
    spec = _spec(aspect)  # the parameters of Aspect that are declared
    spec["unjudged"] = [*aspect.unjudged, *unjudged]
    if labels.inferred:
        spec["grades"] = None
        return Aspect(**spec)

    scale = aspect.scale
    new_grades = sorted(set(grades), reverse=not scale.greater_is_better)  # lowest first
    spec["grades"] = new_grades
    # Gains and probabilities that are declared as lists have one number per old grade.
    is_kept = np.isin(scale.grades, new_grades)
    n_kept = is_kept.sum()
    for key, number_of_grade in (("gains", scale.gains), ("probabilities", scale.probabilities)):
        is_list = isinstance(spec.get(key), list)
        if not is_list:
            continue
        if n_kept < len(new_grades):
            return None  # a further grade has no number
        spec[key] = number_of_grade[is_kept].tolist()

    threshold = _threshold_to_keep(scale, spec.get("threshold"), new_grades)
    if threshold is None:
        spec.pop("threshold", None)  # none may be declared
    else:
        spec["threshold"] = threshold
    return Aspect(**spec)


def _threshold_to_keep(
    scale: Scale, declared: float | None, new_grades: Sequence[float]
) -> float | None:
    """Return the threshold to declare if a scale gets other grades; None to declare none.

    Parameters
    ----------
    scale : Scale
        The old scale.
    declared : float or None
        The threshold that was declared.
    new_grades : sequence of float
        The other grades, from the lowest to the best one.
    """
    threshold = declared
    # The default threshold is the second grade. With another lowest grade, the default would be
    # another one, too: the old one is declared.
    has_other_lowest = new_grades[0] != scale.grades[0]
    if len(scale) > 1 and has_other_lowest:
        threshold = float(scale.grades[scale.threshold])
    # A threshold must be a grade, and not the lowest one.
    if threshold in new_grades[1:]:
        return threshold
    return None
