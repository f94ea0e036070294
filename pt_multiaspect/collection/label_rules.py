"""Rules for labels and scales: the basis of warnings of measures and of findings of `describe`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._numbers import spell
from .._typing import Ints
from ..aspects import Aspect
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
        """The fraction of the judged documents that reach the threshold."""
        n_positive = self.counts[self.aspect.scale.threshold :].sum()
        return float(n_positive / max(self.n_judged, 1))


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
            numbers = f" ({self.numbers})"
        else:
            numbers = ""
        return f"{self.text}{numbers}. {self.advice}"


def find_unjudged(labels: LabelCounts) -> LabelFinding | None:
    """Find an aspect without any label, unless this may be chance with few documents."""
    if labels.n_judged or labels.n_documents < MIN_POOL:
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
    codes_of_junk: tuple[int, ...] = JUNK
    if labels.inferred and labels.name != "relevance":
        codes_of_junk = ()
    below = [label for label in labels.below if label not in codes_of_junk]
    if not below:
        return None
    aspect = labels.aspect
    lowest = spell(aspect.scale.grades[0])
    grades = [label for label in below if label >= 0]
    codes = [label for label in below if label < 0]
    listed = join_some(list(map(spell, below)))
    advice = (
        f"If they mean 'not judged', declare {unjudged_codes(listed)}; if they are codes of "
        "another kind, map them to grades"
    )
    if grades:
        advice = f"If they are grades, add them to the declared ones ({aspect.scale}). {advice}"
    return LabelFinding(
        "warning",
        f"{labels.name} has labels below its lowest grade {lowest}, which are evaluated as that "
        f"grade: {listed}",
        advice,
        declaration=rescale_aspect(labels, [*grades, *(aspect.grades or ())], codes),
    )


def find_undeclared_harm(labels: LabelCounts) -> LabelFinding | None:
    """Find labels below 0 without declared gains, for measures of harmful documents."""
    aspect = labels.aspect
    is_declared = aspect.gains is not None or not aspect.scale.greater_is_better
    if is_declared or find_labels_below(labels) is not None:
        return None
    grades = aspect.scale.grades
    used = grades[np.flatnonzero(labels.counts)].tolist()
    negative = sorted({label for label in (*labels.below, *used) if label < 0})
    if not negative:
        return None
    others = grades[grades >= 0].tolist()
    listed = ", ".join(map(spell, negative))
    all_grades = ", ".join(map(spell, [*negative, *others]))
    return LabelFinding(
        "warning",
        f"{labels.name} has labels below 0 ({listed}), which measures of displacement take as not "
        "relevant",
        f"If they mark harmful documents, declare their gains, as in Aspect([{all_grades}], "
        f"gains=[{all_grades}]); if they mean 'not judged', declare {unjudged_codes(listed)}",
    )


def find_far_label(labels: LabelCounts) -> LabelFinding | None:
    """Find a label of relevance far above the others.

    Other columns with such labels are unlikely to be aspects.
    """
    present = labels.aspect.scale.grades[np.flatnonzero(labels.counts)]
    if labels.name != "relevance" or not labels.inferred or not is_far_above(present):
        return None
    top = spell(float(present[-1]))
    return LabelFinding(
        "warning",
        f"the label {top} of relevance is far above its other labels, and its scale is taken as 0 "
        f"to {top}",
        f"If it means 'not judged', declare {unjudged_codes(top)}; if it is a grade, declare the "
        "grades",
        declaration=rescale_aspect(labels, [], [float(present[-1])]),
    )


def find_constant(labels: LabelCounts) -> LabelFinding | None:
    """Find an aspect with one grade for all documents; qrels may list the relevant ones only."""
    grades = np.flatnonzero(labels.counts)
    if len(grades) != 1 or labels.below:
        return None
    grade = grades[0]
    scale = labels.aspect.scale
    text = f"every judged document has the label {spell(scale.grades[grade])}"
    if labels.name == "relevance" and grade >= scale.threshold:
        return LabelFinding("note", f"{text}; documents that are not relevant are not in the qrels")
    advice = f"{_leave_out()}: {labels.name} cannot distinguish documents"
    return LabelFinding("warning", text, advice, leave_out=True)


def find_doubtful_threshold(labels: LabelCounts) -> LabelFinding | None:
    """Find a threshold that hardly separates the documents, and its likely cause."""
    return find_start_above_zero(labels) or _find_extreme_threshold(labels)


def aspect_from_one(labels: LabelCounts) -> Aspect | None:
    """Return the aspect on a scale that starts at 1, if no label is 0 and the 0 is not declared.

    The scale is inferred, or declared by its top grade alone. Then, some of at least 30 labels must
    be 1. A short scale of relevance is not doubted then, as qrels may list the relevant documents
    only.
    """
    aspect = labels.aspect
    scale = aspect.scale
    is_listed = not (labels.inferred or aspect.by_top)
    if is_listed or scale.identity or scale.is_fractional or aspect.threshold is not None:
        return None
    # The positions of the grades 0 and 1.
    if scale.greater_is_better:
        zero, one = 0, 1
    else:
        zero, one = -1, -2
    if labels.counts[zero] or np.count_nonzero(labels.counts) < 2:
        return None
    if not labels.inferred:
        positives_only = labels.name == "relevance" and len(scale) < LONG_SCALE
        if positives_only or labels.n_judged < _MIN_DECLARED or not labels.counts[one]:
            return None
    return Aspect(
        range(1, len(scale)), greater_is_better=aspect.greater_is_better, unjudged=aspect.unjudged
    )


def start_at_one_note(aspects: Iterable[LabelCounts]) -> str:
    """Return further sentences of a warning, one per aspect without a label 0."""
    note = ""
    for labels in aspects:
        start = aspect_from_one(labels)
        if start is not None:
            note += (
                f". No label of {labels.name} is 0: if its scale starts at 1, declare {start!r}, "
                f"which changes values; if 0 is a grade, declare {labels.aspect!r}"
            )
    return note


def find_start_above_zero(labels: LabelCounts) -> LabelFinding | None:
    """Find a scale that may start at 1, although it was inferred or declared to start at 0."""
    start = aspect_from_one(labels)
    if start is None:
        return None
    scale = labels.aspect.scale
    if not labels.inferred:
        return LabelFinding(
            "warning",
            f"no label of {labels.name} is 0, but the scale is declared by its top grade alone, as "
            f"{scale}",
            f"If the scale starts at 1, declare {labels.name}: {start!r}; if it starts at 0, list "
            f"its grades, {labels.name}: {labels.aspect!r}",
            declaration=start,
        )
    if scale.greater_is_better:
        lowest = spell(scale.grades[np.flatnonzero(labels.counts)[0]])
        effect = f"every judged document is positive and {lowest} has a positive gain"
    else:
        effect = "no document has its top grade"
    return LabelFinding(
        "warning",
        f"no label of {labels.name} is 0, but the scale is taken as {scale}, so that {effect}",
        f"If the scale starts at 1, declare {labels.name}: {start!r}; if it starts at 0, "
        f"{labels.name}: {_with_threshold(labels.aspect, 1)}",
        declaration=start,
    )


def is_doubtful(positive: float, n_judged: int, n_grades: int) -> bool:
    """Return whether a default threshold is doubtful, given the fraction of positive documents."""
    if n_grades >= LONG_SCALE:
        return True
    are_most = positive >= MOSTLY and n_judged >= MIN_POOL
    are_few = positive < RARELY and n_judged * RARELY >= MIN_POOL
    return are_most or are_few


def _find_extreme_threshold(labels: LabelCounts) -> LabelFinding | None:
    """Find a threshold that hardly separates the documents."""
    aspect = labels.aspect
    scale = aspect.scale
    n_grades = len(scale)
    positive = labels.positive
    if not labels.n_judged or n_grades < 2:
        return None
    fraction = f"{_percent(positive)} of {labels.n_judged} judged documents"

    # A threshold that is declared, or is the only one possible, is doubtful because of the
    # documents alone.
    is_settled = aspect.threshold is not None or n_grades == 2
    if is_settled:
        if not is_doubtful(positive, labels.n_judged, 2):
            return None
        lowest = spell(scale.grades[scale.threshold])
        text = f"the threshold of {labels.name} separates few documents from the others"
        return LabelFinding("note", text, numbers=f"{fraction} are positive, from {lowest} on")

    if not is_doubtful(positive, labels.n_judged, n_grades):
        return None
    better = _better_threshold(labels)
    is_rare = positive < RARELY
    if is_rare:
        check = f"Check that the labels are those of {labels.name} and not reversed. "
        example = 1
    else:
        check = ""
        example = better or n_grades // 2
    if in_shell():
        setting = f'"threshold", with {parameter("aspects")} FILE'
    else:
        setting = f"as in {_with_threshold(aspect, example)}"
    declaration = None
    if better is not None:
        spec = _spec(as_short(labels))
        spec["threshold"] = float(scale.grades[better])
        declaration = Aspect(**spec)
    return LabelFinding(
        "warning",
        f"the threshold of {labels.name} is not declared, so every grade above the lowest is "
        "positive",
        f"{check}Declare the lowest positive grade, {setting}",
        f"{fraction}, on the scale {scale}",
        declaration,
    )


def _percent(fraction: float) -> str:
    """Format a fraction, with further digits near 0 and 1."""
    if 0.01 <= fraction <= 0.99:
        return f"{fraction:.0%}"
    return f"{100 * fraction:.4g}%"


def _better_threshold(labels: LabelCounts) -> int | None:
    """Return the position of a grade near the middle of the scale that separates the documents."""
    n_at_or_above = labels.counts[::-1].cumsum()[::-1]
    positive = n_at_or_above[1:] / labels.n_judged  # by threshold, from the second grade
    usable = np.flatnonzero((positive >= RARELY) & (positive < MOSTLY)) + 1
    if not len(usable):
        return None
    middle = len(labels.counts) / 2
    nearest = np.argmin(np.abs(usable - middle))
    return int(usable[nearest])


def _with_threshold(aspect: Aspect, index: int) -> str:
    """Return the declaration with the grade at `index` as threshold, as printed in advice."""
    spec = aspect.to_spec()
    grade = spell(aspect.scale.grades[index])
    if isinstance(spec, int):
        return f"Aspect({spec}, threshold={grade})"
    if len(aspect.scale) > USUAL_GRADES:
        return f"Aspect(…, threshold={grade})"
    spec["threshold"] = float(grade)
    return repr(Aspect(**spec))


def _spec(aspect: Aspect) -> dict[str, Any]:
    """Return a new dict of the parameters of an aspect."""
    spec = aspect.to_spec()
    if isinstance(spec, int):
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
    """Return the aspect, without grades if too many fractions were inferred to list them."""
    scale = labels.aspect.scale
    if scale.is_fractional and len(scale) > USUAL_GRADES:
        return as_given(labels)
    return labels.aspect


def rescale_aspect(
    labels: LabelCounts, grades: Sequence[float], unjudged: Sequence[float]
) -> Aspect | None:
    """Return an aspect with further codes of unjudged documents and other declared grades.

    The threshold is kept if possible. Return None if the aspect declares gains or probabilities, as
    those of further grades are unknown.
    """
    aspect = labels.aspect
    scale = aspect.scale
    spec = _spec(aspect)
    spec["unjudged"] = [*aspect.unjudged, *unjudged]
    if labels.inferred:
        spec["grades"] = None
        return Aspect(**spec)
    upwards = sorted(set(grades), reverse=not scale.greater_is_better)
    kept = np.isin(scale.grades, upwards)
    for key in ("gains", "probabilities"):
        if isinstance(spec.get(key), list):
            if len(upwards) > kept.sum():
                return None
            values = getattr(scale, key)
            spec[key] = values[kept].tolist()
    if len(scale) > 1 and upwards[0] != scale.grades[0]:
        # The default would be another grade.
        spec["threshold"] = float(scale.grades[scale.threshold])
    if spec.get("threshold") not in upwards[1:]:
        spec.pop("threshold", None)
    spec["grades"] = upwards
    return Aspect(**spec)
