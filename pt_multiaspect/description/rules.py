"""Rules that find oddities of aspects, measures, identifiers and runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..aspects import Aspect, Aspects
from ..collection import AspectView, Judgments, label_rules
from ..collection.columns import added_columns, doubt, text_mapping
from ..errors import agree, number_of
from ..evaluation.nested_topics import cluster_argument, nested_topics
from ..integration.provider import supports
from ..measures import On
from ..orders.tuple_order import weights_of
from ..views import fixed_point, percent
from . import alike
from .scales import records, used_labels
from .statistics import Finding, Statistics, has_distance

#: Labels are considered codes if they are this many times the length of the scale above it.
_FAR = 3

#: A highest label that is less frequent than this, and above a gap, is considered a code.
_RARE = 0.005

#: The difference of judged@10 between runs from which missing labels may decide (.1, and rounding
#: errors).
_UNEVEN = 0.1 - 1e-9

#: A difference is expected for sure if it is this many standard errors, and absent if it is less
#: than the second number of them.
_SURELY_DIFFERENT, _NOT_DIFFERENT = 6, 2


def find_labels_out_of_scale(statistics: Statistics) -> Iterator[Finding]:
    """Find labels that are not on the declared scale."""
    for view in statistics.judged.views:
        label, _ = used_labels(view)
        are_probabilities = view.scale.identity  # the labels themselves
        if are_probabilities and label.max(initial=0) > 1:
            yield _no_probabilities_finding(view)
        off_scale = statistics.judged.off_scale.get(view.name)
        if off_scale is not None:
            yield _off_scale_finding(view, off_scale)


def _no_probabilities_finding(view: AspectView) -> Finding:
    """Return the finding of labels above 1 on a scale of probabilities."""
    label, count = used_labels(view)
    highest = spell(float(label[-1]))
    n_above = int(count[label > 1].sum())
    return Finding(
        "error",
        view.name,
        "labels are not probabilities, and measures that multiply probabilities reject them",
        changes={view.name: Aspect(label.tolist())},
        numbers=f"{n_above} labels, up to {highest}",
    )


def _off_scale_finding(view: AspectView, off_scale: Floats) -> Finding:
    """Return the finding of labels that are not declared grades, given these labels.

    Those far above the scale are proposed as codes, the others as grades.
    """
    scale = view.scale
    distinct = np.unique(off_scale)
    scale_length = max(float(np.ptp(scale.grades)), 1.0)
    # How much better each label would be than the top grade.
    above_top = distinct - scale.grades[-1]
    if not scale.greater_is_better:
        above_top = -above_top
    is_code = above_top >= _FAR * scale_length
    codes = distinct[is_code].tolist()
    further_grades = distinct[~is_code].tolist()
    declared_grades = view.aspect.grades or ()
    grades = [*declared_grades, *further_grades]
    changed = label_rules.rescale_aspect(view.label_counts, grades, codes)
    listed = ", ".join(map(spell, distinct[:5].tolist()))
    if len(distinct) > 5:
        listed += ", ..."
    return Finding(
        "error",
        view.name,
        "labels are not declared grades, and measures reject them. Check first that these are "
        f"the labels of {view.name}, and the top grade",
        changes=_change(view, changed),
        numbers=f"{len(off_scale)} labels ({listed}) are not on the scale {scale}",
    )


def _change(view: AspectView, aspect: Aspect | None) -> dict[str, Aspect | None] | None:
    """Return the change of an aspect to another scale, if there is one."""
    if aspect is None:
        return None
    return {view.name: aspect}


def find_label_warnings(statistics: Statistics) -> Iterator[Finding]:
    """Find the causes of measures' warnings."""
    for view in statistics.judged.views:
        label_counts = view.label_counts
        unjudged = label_rules.find_unjudged(label_counts)
        # If all labels are equal, it is no use to doubt the scale too.
        constant_or_doubtful = label_rules.find_constant(label_counts)
        if constant_or_doubtful is None:
            constant_or_doubtful = _find_doubtful_scale(statistics, view)
        below = label_rules.find_labels_below(label_counts)
        for label_finding in (unjudged, constant_or_doubtful, below):
            if label_finding is not None:
                yield _finding_of_labels(view, label_finding)


def _finding_of_labels(view: AspectView, finding: label_rules.LabelFinding) -> Finding:
    """Return a finding of the rules for labels as one of a description."""
    changes = None
    if finding.leave_out or finding.declaration is not None:
        # The declaration of an aspect that is left out is None.
        changes = {view.name: finding.declaration}
    return Finding(
        finding.severity, view.name, finding.text, changes=changes, numbers=finding.numbers
    )


def _find_doubtful_scale(
    statistics: Statistics, view: AspectView
) -> label_rules.LabelFinding | None:
    """Find a doubtful threshold or, for scores of answers, a doubtful start of a scale.

    Scores of answers have no threshold.
    """
    is_about_answers = statistics.judged.answers is not None
    if not is_about_answers:
        return label_rules.find_doubtful_threshold(view.label_counts)
    # Scores of answers without a declared scale are the finding of another rule.
    if view.inferred:
        return None
    return label_rules.find_start_above_zero(view.label_counts)


def find_codes_on_top(statistics: Statistics) -> Iterator[Finding]:
    """Find a highest label that may be a code rather than a grade."""
    for view in statistics.judged.views:
        label, _ = used_labels(view)
        has_few_labels = len(label) < 3
        if has_few_labels or not view.scale.greater_is_better:
            continue
        is_about_answers = statistics.judged.answers is not None
        are_values = is_about_answers and label[-1] <= 1  # values in [0, 1] have no codes
        if are_values:
            continue
        finding = _find_code_on_top(statistics, view)
        if finding is not None:
            yield finding


def _find_code_on_top(statistics: Statistics, view: AspectView) -> Finding | None:
    """Find that the highest label of an aspect may be a code, or is less relevant than the next."""
    survey_codes = _survey_codes(view)
    if survey_codes:
        return _survey_finding(view, survey_codes)
    # Documents with the highest label, compared on each other aspect with those with lower labels.
    all_comparisons = statistics.top_labels
    comparisons = all_comparisons[all_comparisons["aspect"] == view.name]
    reason = _gap_below_top(view) or _unrelated_top(comparisons)
    if reason:
        return _code_finding(view, reason)
    # On relevance, with those with the next label; the difference is in standard errors.
    on_relevance = comparisons[comparisons["other"] == "relevance"]
    is_surely_lower = on_relevance["z_next"] < -3
    if is_surely_lower.any():
        return _less_relevant_top(view)
    return None


def _survey_codes(view: AspectView) -> list[float]:
    """Return the highest labels that are codes of surveys; empty for declared scales."""
    if not view.inferred:
        return []
    label, count = used_labels(view)
    return label_rules.survey_codes_on_top(label, count)


def _survey_finding(view: AspectView, codes: list[float]) -> Finding:
    """Return the finding of highest labels that may be codes of surveys, such as 9 on 1 to 5."""
    label, count = used_labels(view)
    is_code = np.isin(label, codes)
    fraction_of_codes = count[is_code].sum() / count.sum()
    share = percent(fraction_of_codes)
    grades = label[~is_code]
    top_grade = spell(float(grades[-1]))
    listed = " and ".join(map(spell, codes))
    if len(codes) == 1:
        text = (
            f"the highest label, {listed}, may be a code rather than a grade: {share} of the "
            f"judged documents have it, and no label is between it and {top_grade}"
        )
    else:
        text = (
            f"the highest labels, {listed}, may be codes rather than grades: {share} of the judged "
            f"documents have one of them, and no label is between them and {top_grade}"
        )
    changed = label_rules.rescale_aspect(view.label_counts, [], codes)
    return Finding("warning", view.name, text, changes=_change(view, changed))


def _gap_below_top(view: AspectView) -> str:
    """Return in words that the highest label is far above the others; empty if it is not."""
    label, count = used_labels(view)  # in increasing order
    top = float(label[-1])
    next_to_top = float(label[-2])
    if _is_top_declared(view, top, next_to_top):
        return ""
    # The scale of the other labels begins at 0 or higher: negative labels are codes, too.
    lowest = max(float(label[0]), 0.0)
    length_of_others = next_to_top - lowest
    gap = top - next_to_top
    if not _exceeds_other_gaps(gap, label[:-1], length_of_others):
        return ""
    # The top label must also be rare, or far away: by several lengths of that scale.
    share = count[-1] / count.sum()
    is_rare = share < _RARE
    is_far = gap >= _FAR * max(length_of_others, 1.0)
    if not (is_rare or is_far):
        return ""
    percentage = percent(share)
    below = spell(next_to_top)
    return f"{percentage} of the judged documents have it, and no label is between it and {below}"


def _exceeds_other_gaps(gap: float, lower_labels: Floats, length: float) -> bool:
    """Return whether the gap below the highest label is larger than those of the other labels.

    There must be other gaps, and the gap must also be large for the scale of the other labels,
    which has this length. Negative labels are codes, and not compared.
    """
    not_negative = lower_labels[lower_labels >= 0]
    other_gaps = np.diff(not_negative)
    widest_other_gap = float(other_gaps.max(initial=0.0))
    has_other_gaps = widest_other_gap > 0
    is_wider = gap >= 2 * widest_other_gap
    is_large = gap >= 0.1 * length
    return has_other_gaps and is_wider and is_large


def _is_top_declared(view: AspectView, top: float, next_to_top: float) -> bool:
    """Return whether the two highest labels are neighbours on a declared scale.

    Then the top is a grade. With grades between the two, the scale may have been declared as 0 to
    the highest label, although that label is a code.
    """
    if view.inferred:
        return False
    grades = np.array(view.aspect.grades or ())
    is_between = (grades > next_to_top) & (grades < top)
    has_grades_between = bool(is_between.any())
    return not has_grades_between


def _unrelated_top(comparisons: pd.DataFrame) -> str:
    """Return in words that the highest label breaks the trend of the lower ones; empty if not.

    Parameters
    ----------
    comparisons : DataFrame
        One row per other aspect: ``other``, its name; ``z``, how much higher documents with the
        highest label are on it, in standard errors; and ``expected``, how much higher they would be
        if the trend of the lower labels continued.
    """
    # A grade would be related to some other aspects, as the lower labels are.
    is_difference_expected = comparisons["expected"].abs() >= _SURELY_DIFFERENT
    if not is_difference_expected.any():
        return ""
    # A code such as 9 for 'not judged' is related to none.
    is_unrelated = comparisons["z"].abs() < _NOT_DIFFERENT
    if not is_unrelated.all():
        return ""
    related_to_lower = comparisons.loc[is_difference_expected, "other"]
    others = ", ".join(related_to_lower)
    return f"unlike the lower labels, it is unrelated to {others}"


def _code_finding(view: AspectView, reason: str) -> Finding:
    """Return the finding of a highest label that may be a code, for a reason in words."""
    label, _ = used_labels(view)  # in increasing order
    top = float(label[-1])
    next_to_top = float(label[-2])
    # The change: the highest label means "not judged", and a declared scale ends at the next label.
    declared_grades = view.aspect.grades or ()
    lower_grades = [grade for grade in declared_grades if grade <= next_to_top]
    changed = label_rules.rescale_aspect(view.label_counts, grades=lower_grades, unjudged=[top])
    code = spell(top)
    return Finding(
        "warning",
        view.name,
        f"the highest label, {code}, may be a code rather than a grade: {reason}",
        changes=_change(view, changed),
    )


def _less_relevant_top(view: AspectView) -> Finding:
    """Return the finding of a highest label whose documents are less relevant."""
    label, _ = used_labels(view)
    top = spell(float(label[-1]))
    below = spell(float(label[-2]))
    return Finding(
        "note",
        view.name,
        f"documents with the highest label, {top}, are on average less relevant than those with "
        f"{below}; this also happens with valid scales, but check that it is a grade",
        f"ma.describe(qrels).contingency({view.name!r}, 'relevance')",
    )


def find_missing_positives(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects without a positive document in many topics."""
    n_topics = statistics.n_topics
    for row in records(statistics.per_aspect):
        # Aspects with hardly any positive document at all have another finding.
        has_positives = row.judged > 0 and row.positive >= label_rules.RARELY
        lacks_positives_often = row.topics_without_positive > 0.2 * n_topics
        if has_positives and lacks_positives_often:
            yield Finding(
                "note",
                row.aspect,
                "topics without a positive document, on which the aspect is 0 for every run, and "
                "so are MM and GAM",
                "ma.CAM(empty='drop')",
                numbers=f"{row.topics_without_positive} of {n_topics}",
            )


def find_doubtful_columns(statistics: Statistics) -> Iterator[Finding]:
    """Find columns that are evaluated as aspects, but are unlikely to contain labels."""
    if not statistics.judged.all_columns:  # the user selected the aspects
        return
    names = statistics.judged.names
    reasons = {}  # by the name of the column
    for view in statistics.judged.views:
        if view.name == "relevance":
            continue
        labels, _ = used_labels(view)
        reason = doubt(view.name, labels, names)
        if reason:
            reasons[view.name] = reason
    likely_aspects = [name for name in names if name not in reasons]
    for name, reason in reasons.items():
        yield Finding(
            "note",
            name,
            "unlikely to contain labels, but evaluated as an aspect, as none were selected",
            f"ma.describe(qrels, aspects={likely_aspects!r})",
            numbers=reason,
        )


def find_text_columns(statistics: Statistics) -> Iterator[Finding]:
    """Find columns of texts that may be labels."""
    if not statistics.judged.all_columns:  # the user selected the aspects
        return
    text_columns = statistics.judged.judgments.text_columns
    for column, texts in text_columns.items():
        listed = ", ".join(map(repr, texts))
        mapping = text_mapping(column, texts)
        yield Finding(
            "warning",
            column,
            f"the column contains text ({listed}), so it is not evaluated; if the texts are "
            "labels, map them to numbers, the lowest grade to 0",
            f"qrels[{column!r}] = {mapping}",
        )


def find_added_columns(statistics: Statistics) -> Iterator[Finding]:
    """Find columns that are left out, as they contain numbers of rows or ids."""
    if not statistics.judged.all_columns:
        return
    for column in added_columns(statistics.judged.judgments.columns):
        yield Finding(
            "note",
            column,
            "looks like a row index or an id, so it is left out of the aspects, unless they are "
            "selected",
            f"qrels = qrels.drop(columns={column!r})",
        )


def find_reversed_scales(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose grades are negatively correlated with relevance."""
    for row in records(statistics.between):
        name = _aspect_beside_relevance(row)
        is_reversed = row.tau < -0.2  # False for NaN
        if name is None or not is_reversed:
            continue
        view = statistics.judged.view(name)
        assert view is not None
        severity = "note"
        changes = None
        # The correlation is surely negative, by twice its standard error.
        is_sure = row.topics >= 5 and row.tau + 2 * row.tau_error < 0
        if is_sure:
            severity = "warning"
            changes = {name: _reversed_scale(view)}
        n_topics = number_of(row.topics, "topic")
        tau = fixed_point(row.tau, 2)
        yield Finding(
            severity,
            name,
            "the scale may be reversed: relevant documents have low labels (mean tau-b within "
            f"{n_topics} {tau})",
            f"ma.describe(qrels).contingency('relevance', {name!r})",
            changes,
        )


def _aspect_beside_relevance(row: Any) -> str | None:
    """Return the other aspect of a pair with relevance; None for other pairs of aspects."""
    if row.first == "relevance":
        return str(row.second)
    if row.second == "relevance":
        return str(row.first)
    return None


def _reversed_scale(view: AspectView) -> Aspect:
    """Return the scale in the other direction.

    Gains, probabilities and a threshold that were declared do not apply to it.
    """
    grades = None  # they are inferred again
    if not view.inferred:
        grades = sorted(view.scale.grades.tolist())  # `Aspect` takes them in any direction
    return Aspect(
        grades,
        greater_is_better=not view.scale.greater_is_better,
        unjudged=view.aspect.unjudged,
    )


def find_copied_labels(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose labels are those of another aspect, or nearly so."""
    n_labels = statistics.per_aspect.set_index("aspect")["distinct"]
    for row in records(statistics.between):
        is_constant = n_labels[row.first] <= 1 or n_labels[row.second] <= 1
        has_few_documents = row.both < 10
        if is_constant or has_few_documents:
            continue
        finding = _find_copy(row)
        if finding is not None:
            yield finding


def _find_copy(row: Any) -> Finding | None:
    """Find that the labels of an aspect may be a copy; `row` is that of a pair of aspects."""
    names = f"{row.first}, {row.second}"
    documents = f"on all {row.both} documents judged on both"
    # Relevance is kept; of other aspects, the first one is proposed to be left out.
    copied = _aspect_beside_relevance(row) or row.first
    if row.same == "equal":
        text = f"the labels are the same {documents}; one may be a copy"
        return Finding("error", names, text, changes={copied: None})
    if row.same == "recoded":
        text = (
            f"each label of one corresponds to one of the other {documents}; one may be a "
            "recoded copy"
        )
        return Finding("warning", names, text, changes={copied: None})
    if row.tau >= 0.95:
        n_topics = number_of(row.topics, "topic")
        tau = fixed_point(row.tau, 2)
        text = f"both rank documents nearly alike (mean tau-b within {n_topics} {tau})"
        table = f"ma.describe(qrels).contingency({row.first!r}, {row.second!r})"
        return Finding("note", names, text, table)
    return None


def find_different_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects that are judged on other documents than relevance.

    Without relevance, they are compared with the aspect that has most judged documents.
    """
    views = statistics.judged.views
    if len(views) < 2:
        return
    reference = statistics.judged.view("relevance")
    if reference is None:
        reference = max(views, key=_n_known)
    for view in views:
        is_reference = view is reference
        are_judged = view.known.any() and reference.known.any()
        if are_judged and not is_reference:
            yield from _find_different_pool(reference, view)


def _n_known(view: AspectView) -> int:
    """Return the number of judged documents of an aspect."""
    return int(view.known.sum())


def _find_different_pool(reference: AspectView, view: AspectView) -> Iterator[Finding]:
    """Find that an aspect is judged on other documents than the reference."""
    is_on_both = view.known & reference.known
    n_both = int(is_on_both.sum())
    n_view = _n_known(view)
    n_reference = _n_known(reference)
    names = f"{reference.name}, {view.name}"
    counts = (
        f"{n_view} documents are judged on {view.name}, {n_reference} on {reference.name}, "
        f"{n_both} on both"
    )
    table = f"ma.describe(qrels).contingency({reference.name!r}, {view.name!r})"
    if n_both == 0:
        text = f"no document is judged on both; are the labels of one collection? ({counts})"
        yield Finding("error", names, text, table)
        return
    reasons = _differences_of_pools(reference, view)
    if reasons:
        all_reasons = " and ".join(reasons)
        text = f"{all_reasons}; missing labels count as the lowest grade ({counts})"
        yield Finding("warning", names, text, table)


def _differences_of_pools(reference: AspectView, view: AspectView) -> list[str]:
    """Return in words which fractions of judged documents are not judged on the other aspect.

    These are relevant documents of the reference without a label of the aspect, and documents of
    the aspect without one of the reference. The list is empty if the pools are nearly the same.
    """
    reasons = []
    is_relevant = reference.known & (reference.grade > 0)
    if is_relevant.any():
        judged_on_view = view.known[is_relevant].mean()
        if judged_on_view < 0.95:
            percentage = percent(judged_on_view)
            reasons.append(
                f"only {percentage} of the documents above the lowest {reference.name} grade "
                f"are judged on {view.name}"
            )
    judged_on_reference = reference.known[view.known].mean()
    if judged_on_reference < 0.95:
        percentage = percent(judged_on_reference)
        reasons.append(f"only {percentage} of those judged on {view.name} are on {reference.name}")
    return reasons


def find_refused_measures(statistics: Statistics) -> Iterator[Finding]:
    """Find measures that cannot be computed."""
    for label, message in statistics.refused.items():
        measure = statistics.measures[label]
        # Measures of ir-measures have no help here.
        topic_of_help = "evaluate"
        if supports(measure):
            topic_of_help = measure.NAME
        text = f"{label} cannot be computed: {message}"
        yield Finding("error", "", text, f"help(ma.{topic_of_help})")


def find_unequal_axes(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose longer gains dominate TOMA's distance."""
    for label, measure in statistics.measures.items():
        is_refused = label in statistics.refused
        if is_refused or not has_distance(measure):
            continue
        if measure["axes"] != "gains":  # equal axes
            continue
        lengths = _axis_lengths(measure, statistics.judged.judgments)
        positive_lengths = [length for length in lengths.values() if length > 0]
        if len(positive_lengths) < 2:
            continue
        shortest = min(positive_lengths)
        longest = max(positive_lengths)
        if longest == shortest:
            continue
        severity = "note"
        if longest >= 2 * shortest:
            severity = "warning"
        listed = ", ".join(f"{name} {spell(length)}" for name, length in lengths.items())
        remedy = measure(axes="equal")
        yield Finding(
            severity,
            ", ".join(lengths),
            f"the axes of {label} are of unequal length ({listed}): longer scales have more weight",
            f"ma.{remedy!r}",
        )


def _axis_lengths(measure: ir_measures.Measure, judgments: Judgments) -> dict[str, float]:
    """Return the length of the axis of each aspect in TOMA's distance."""
    views = measure.views(judgments)
    names = [view.name for view in views]
    weights = weights_of(measure["weights"], names)
    lengths = {}
    for view, weight in zip(views, weights, strict=True):
        gains = view.scale.gains
        length_of_scale = float(gains[-1] - gains[0])
        lengths[view.name] = weight * length_of_scale
    return lengths


def find_inferred_scales(statistics: Statistics) -> Iterator[Finding]:
    """Find measures that depend on inferred scales."""
    table = statistics.dependences  # one row per measure and aspect
    # Both columns may contain None where it is unknown. The column scale tells whether values of
    # the measure change if the scale has a further grade.
    is_inferred = table["inferred"].eq(True)
    depends_on_length = table["scale"].eq(True)
    dependent = table[is_inferred & depends_on_length]
    # Measures that depend on the same aspects are in one finding.
    measures_by_aspects: dict[str, list[str]] = {}
    for measure, rows in dependent.groupby("measure", sort=False):
        aspects = ", ".join(rows["aspect"])
        measures_by_aspects.setdefault(aspects, []).append(str(measure))
    for aspects, measures in measures_by_aspects.items():
        names = ", ".join(measures)
        n_measures = len(measures)
        verb = agree(n_measures, n_measures, "depends", "depend")
        yield Finding(
            "warning",
            aspects,
            f"{names} {verb} on the length of scales that were inferred; other "
            "qrels, or parts of these, may give other values",
            changes={},
        )


def find_lookalike_ids(statistics: Statistics) -> Iterator[Finding]:
    """Find identifiers that look alike but differ."""
    has_runs = len(statistics.retrieved.runs) > 0
    for row in records(statistics.retrieved.alike):
        kind = "document"
        if row.what == "qid":
            kind = "query"
        example = f"such as {row.first!r} and {row.second!r}"
        if row.where == "qrels":
            severity = "warning"
            text = (
                f"the qrels have {row.count} {kind} ids that look like other ones but differ, "
                f"{example}"
            )
        else:
            severity = "error"
            text = (
                f"run {row.where} has {row.count} {kind} ids that look like other judged ones but "
                f"differ, {example}"
            )
        # The remedy is code that makes the two ids equal, such as .str.casefold(). It changes the
        # ids of the qrels and of all runs, so that ids which are equal now remain equal.
        calls = alike.mending_calls(row.first, row.second)
        column = statistics.column(row.what)
        remedy = f"{column} = {column}{calls}"
        if has_runs:
            remedy += f"\nfor run in runs.values(): run[{row.what!r}] = run[{row.what!r}]{calls}"
        yield Finding(severity, "", text, remedy)  # about no single aspect


def find_other_collections(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that seem to be from another collection, or miss many topics."""
    lookalikes = statistics.retrieved.alike
    for row in records(statistics.retrieved.runs):
        # Ids that look like judged ones have another finding, which explains missing judgments.
        misspelt_kinds = set(lookalikes.loc[lookalikes["where"] == row.name, "what"])
        has_misspelt_qids = "qid" in misspelt_kinds
        finding = None
        if row.topics > 0:
            finding = _find_missed_judgments(statistics, row, misspelt_kinds)
        elif not has_misspelt_qids:
            text = (
                f"run {row.name} has no topic in common with the qrels; is it from another "
                "collection?"
            )
            finding = Finding("error", "", text, f"runs.pop({row.name!r})")
        if finding is not None:
            yield finding


def _find_missed_judgments(
    statistics: Statistics, row: Any, misspelt_kinds: set[str]
) -> Finding | None:
    """Find that a run has hardly any judged document, or misses many topics of the qrels.

    Parameters
    ----------
    statistics : Statistics
        The statistics of all runs.
    row : tuple
        The row of the run in the table of runs.
    misspelt_kinds : set of str
        The ids of the run that look like judged ones: 'qid', 'docno', both or none.
    """
    judged_at = statistics.retrieved.judged_at
    judged_at_20 = judged_at.loc[judged_at["name"] == row.name, "judged@20"]  # one per aspect
    is_hardly_judged = row.documents > 0 and judged_at_20.max() < 0.01
    if is_hardly_judged and not misspelt_kinds:
        text = (
            f"less than 1 % of the top 20 of run {row.name} is judged, though it has "
            f"{row.topics} of the topics; is it from another collection?"
        )
        return Finding("error", "", text, f"runs.pop({row.name!r})")
    n_topics = statistics.n_topics
    misses_many = row.missed > 0.1 * n_topics
    if misses_many and "qid" not in misspelt_kinds:
        text = (
            f"run {row.name} misses {row.missed} of {n_topics} topics; they count as empty rankings"
        )
        remedy = f"set(qrels['qid']) - set(runs[{row.name!r}]['qid'])"
        return Finding("warning", "", text, remedy)
    return None


def find_sparse_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects on which the first ranks of runs are hardly judged."""
    fractions = _partly_judged(statistics)
    for aspect, rows in fractions.groupby("aspect", sort=False):
        mean = float(rows["judged@10"].mean())
        if mean < 0.5:
            percentage = percent(mean)
            yield Finding(
                "warning",
                str(aspect),
                "few documents of a run's top 10 are judged; the others count as the lowest grade",
                "ma.describe(qrels, runs=runs).judged_at",
                numbers=f"{percentage} on average",
            )


def _partly_judged(statistics: Statistics) -> pd.DataFrame:
    """Return the judged fractions of runs with any judged document among the first 10.

    The other runs have another finding.
    """
    judged_at = statistics.retrieved.judged_at
    fractions_by_run = judged_at.groupby("name")["judged@10"]
    highest_of_run = fractions_by_run.transform("max")
    return judged_at[highest_of_run > 0]


def find_uneven_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects on which the first ranks of some runs are judged less than those of others."""
    fractions = _partly_judged(statistics)
    for view in statistics.judged.views:
        rows = fractions[fractions["aspect"] == view.name]
        fraction_by_run = rows.set_index("name")["judged@10"]
        if len(fraction_by_run) < 2:
            continue
        lowest = float(fraction_by_run.min())
        highest = float(fraction_by_run.max())
        if highest - lowest < _UNEVEN:
            continue
        lowest_run = fraction_by_run.idxmin()
        highest_run = fraction_by_run.idxmax()
        lowest_text = percent(lowest)
        highest_text = percent(highest)
        measure = On(aspect=view.name, aspects=Aspects({view.name: view.aspect})) @ 10
        measure_name = str(measure)
        yield Finding(
            "warning",
            view.name,
            "the top 10 of one run is judged less than that of another, so missing labels may "
            "decide which is better",
            f"ma.analysis.missing_labels(runs, qrels, {measure_name!r})",
            numbers=f"{lowest_text} of run {lowest_run}, {highest_text} of run {highest_run}",
        )


def find_repeated_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that repeat documents."""
    runs = statistics.retrieved.runs
    has_repeated = runs["repeated"] > 0
    for row in records(runs[has_repeated]):
        run = f"runs[{row.name!r}]"
        yield Finding(
            "warning",
            "",
            f"run {row.name} has {row.repeated} documents more than once for a topic; the last "
            "score counts",
            f"{run} = {run}.drop_duplicates(['qid', 'docno'], keep='last')",
        )


def find_nested_topics(statistics: Statistics) -> Iterator[Finding]:
    """Find topics whose ids look like those of groups, such as turns of conversations."""
    nested = nested_topics(statistics.judged.judgments.qids)
    if nested is not None:
        text = (
            f"{nested}; tests and intervals treat them as independent unless their groups are given"
        )
        yield Finding("note", "", text, cluster_argument(nested))


def find_tied_scores(statistics: Statistics) -> Iterator[Finding]:
    """Find runs with many tied scores."""
    runs = statistics.retrieved.runs
    has_many_ties = runs["tied"] > 0.1  # of the documents
    for row in records(runs[has_many_ties]):
        fraction = percent(row.tied)
        # The remedy is code that replaces scores by ones that count down in the order of the run.
        run = f"runs[{row.name!r}]"
        remedy = f"{run}['score'] = -{run}.groupby('qid').cumcount()"
        yield Finding(
            "note",
            "",  # about no single aspect
            f"{fraction} of the documents of run {row.name} have tied scores (as 32-bit "
            "numbers); ties are broken by docno, descending, and not by the order in the run",
            remedy,
        )
