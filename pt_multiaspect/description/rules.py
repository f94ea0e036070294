"""Rules that find oddities of aspects, measures, identifiers and runs."""

from __future__ import annotations

from collections.abc import Iterator

import ir_measures
import numpy as np
import pandas as pd

from .._numbers import spell
from .._typing import Floats
from ..aspects import Aspect, Aspects
from ..collection import AspectView, Judgments, label_rules
from ..collection.columns import added_columns, doubt, text_mapping
from ..errors import number_of
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

#: The difference of judged@10 between runs from which missing labels may decide (.1, and rounding
#: errors).
_UNEVEN = 0.1 - 1e-9


def find_labels_out_of_scale(statistics: Statistics) -> Iterator[Finding]:
    """Find labels that are not on the declared scale."""
    for view in statistics.judged.views:
        label, count = used_labels(view)
        if view.scale.identity and len(label) and label[-1] > 1:
            n_above = int(count[label > 1].sum())
            yield Finding(
                "error",
                view.name,
                "labels are not probabilities, and measures that multiply probabilities reject "
                "them",
                changes={view.name: Aspect(label.tolist())},
                numbers=f"{n_above} labels, up to {spell(float(label[-1]))}",
            )
        off_scale = statistics.judged.off_scale.get(view.name)
        if off_scale is not None:
            yield _off_scale_finding(view, off_scale)


def _off_scale_finding(view: AspectView, off_scale: Floats) -> Finding:
    """Return the finding of labels that are not declared grades.

    Those far above the scale are proposed as codes, the others as grades.
    """
    scale = view.scale
    labels = np.unique(off_scale)
    length = max(float(np.ptp(scale.grades)), 1.0)
    above_top = labels - scale.grades[-1]
    if not scale.greater_is_better:
        above_top = -above_top
    is_far = above_top >= _FAR * length
    grades = [*(view.aspect.grades or ()), *labels[~is_far].tolist()]
    codes = labels[is_far].tolist()
    changed = label_rules.rescale_aspect(view.label_counts, grades, codes)
    listed = ", ".join(map(spell, labels[:5].tolist()))
    if len(labels) > 5:
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
        counts = view.label_counts
        for finding in (
            label_rules.find_unjudged(counts),
            label_rules.find_constant(counts) or _find_doubtful_scale(statistics, view),
            label_rules.find_labels_below(counts),
        ):
            if finding is None:
                continue
            changes = None
            if finding.leave_out or finding.declaration is not None:
                changes = {view.name: finding.declaration}
            yield Finding(
                finding.severity, view.name, finding.text, changes=changes, numbers=finding.numbers
            )


def _find_doubtful_scale(
    statistics: Statistics, view: AspectView
) -> label_rules.LabelFinding | None:
    """Find a doubtful threshold or, for scores of answers, a doubtful start of a scale.

    Scores of answers have no threshold.
    """
    if statistics.judged.answers is None:
        return label_rules.find_doubtful_threshold(view.label_counts)
    if view.inferred:
        return None
    return label_rules.find_start_above_zero(view.label_counts)


def find_codes_on_top(statistics: Statistics) -> Iterator[Finding]:
    """Find a highest label that may be a code rather than a grade."""
    for view in statistics.judged.views:
        label, _ = used_labels(view)
        if not view.scale.greater_is_better or len(label) < 3:
            continue
        top = float(label[-1])
        is_value = statistics.judged.answers is not None and top <= 1
        if is_value:
            continue
        survey_codes = _survey_codes(view)
        if survey_codes:
            yield _survey_finding(view, survey_codes)
            continue
        comparisons = statistics.top_labels
        comparisons = comparisons[comparisons["aspect"] == view.name]
        reason = _gap_below_top(view) or _unrelated_top(comparisons)
        if reason:
            yield _code_finding(view, reason)
            continue
        on_relevance = comparisons["other"] == "relevance"
        if (on_relevance & (comparisons["z_next"] < -3)).any():
            yield _less_relevant_top(view)


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
    share = percent(count[is_code].sum() / count.sum())
    below = spell(float(label[~is_code][-1]))
    listed = " and ".join(map(spell, codes))
    if len(codes) == 1:
        text = (
            f"the highest label, {listed}, may be a code rather than a grade: {share} of the judged "
            f"documents have it, and no label is between it and {below}"
        )
    else:
        text = (
            f"the highest labels, {listed}, may be codes rather than grades: {share} of the judged "
            f"documents have one of them, and no label is between them and {below}"
        )
    changed = label_rules.rescale_aspect(view.label_counts, [], codes)
    return Finding("warning", view.name, text, changes=_change(view, changed))


def _gap_below_top(view: AspectView) -> str:
    """Return that the highest label is far above the others; empty if it is not."""
    label, count = used_labels(view)
    top = float(label[-1])
    below = float(label[-2])
    grades = view.aspect.grades or ()
    between = [grade for grade in grades if below < grade < top]
    is_declared = not view.inferred and not between
    lower = label[:-1]
    other_gaps = np.diff(lower[lower >= 0])
    widest = float(other_gaps.max(initial=0.0))
    span = below - max(float(label[0]), 0.0)
    gap = top - below
    is_apart = widest > 0 and gap >= 2 * widest and gap >= 0.1 * span
    if not is_apart or is_declared:
        return ""
    share = count[-1] / count.sum()
    if share < 0.005 or gap >= _FAR * max(span, 1.0):
        return (
            f"{percent(share)} of the judged documents have it, and no label is between it and "
            f"{spell(below)}"
        )
    return ""


def _unrelated_top(comparisons: pd.DataFrame) -> str:
    """Return that the highest label breaks the trend of the lower ones; empty if it does not."""
    foreseen = comparisons[comparisons["expected"].abs() >= 6]
    is_unrelated = bool((comparisons["z"].abs() < 2).all())
    if len(foreseen) and is_unrelated:
        return f"unlike the lower labels, it is unrelated to {', '.join(foreseen['other'])}"
    return ""


def _code_finding(view: AspectView, reason: str) -> Finding:
    """Return the finding of a highest label that may be a code."""
    label, _ = used_labels(view)
    top = float(label[-1])
    below = float(label[-2])
    lower_grades = [grade for grade in view.aspect.grades or () if grade <= below]
    changed = label_rules.rescale_aspect(view.label_counts, lower_grades, [top])
    return Finding(
        "warning",
        view.name,
        f"the highest label, {spell(top)}, may be a code rather than a grade: {reason}",
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
    """Find aspects without a positive document in some or all topics."""
    n_topics = statistics.n_topics
    for row in records(statistics.per_aspect):
        if not row.judged or not row.positive >= label_rules.RARELY:
            continue
        if row.topics_without_positive > 0.2 * n_topics:
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
    if not statistics.judged.all_columns:
        return
    names = statistics.judged.names
    reasons = {}
    for view in statistics.judged.views:
        if view.name == "relevance":
            continue
        labels, _ = used_labels(view)
        reason = doubt(view.name, labels, names)
        if reason:
            reasons[view.name] = reason
    likely = [name for name in names if name not in reasons]
    for name, reason in reasons.items():
        yield Finding(
            "note",
            name,
            "unlikely to contain labels, but evaluated as an aspect, as none were selected",
            f"ma.describe(qrels, aspects={likely!r})",
            numbers=reason,
        )


def find_text_columns(statistics: Statistics) -> Iterator[Finding]:
    """Find columns of numbers that are stored as text."""
    if not statistics.judged.all_columns:
        return
    for column, texts in statistics.judged.judgments.text_columns.items():
        listed = ", ".join(map(repr, texts))
        yield Finding(
            "warning",
            column,
            f"the column contains text ({listed}), so it is not evaluated; if the texts are "
            "labels, map them to numbers, the lowest grade to 0",
            f"qrels[{column!r}] = {text_mapping(column, texts)}",
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
        if "relevance" not in (row.first, row.second) or not row.tau < -0.2:
            continue
        name = row.second if row.first == "relevance" else row.first
        view = statistics.judged.view(name)
        assert view is not None
        severity = "note"
        changes = None
        is_sure = row.topics >= 5 and row.tau + 2 * row.tau_error < 0
        if is_sure:
            severity = "warning"
            changes = {name: _reversed_scale(view)}
        n_topics = number_of(row.topics, "topic")
        yield Finding(
            severity,
            name,
            f"the scale may be reversed: relevant documents have low labels (mean tau-b within "
            f"{n_topics} {fixed_point(row.tau, 2)})",
            f"ma.describe(qrels).contingency('relevance', {name!r})",
            changes,
        )


def _reversed_scale(view: AspectView) -> Aspect:
    """Return the scale in the other direction.

    Gains, probabilities and a threshold that were declared do not apply to it.
    """
    grades = None
    if not view.inferred:
        grades = sorted(view.scale.grades.tolist())
    return Aspect(
        grades,
        greater_is_better=not view.scale.greater_is_better,
        unjudged=view.aspect.unjudged,
    )


def find_copied_labels(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose labels are those of another aspect."""
    n_distinct = statistics.per_aspect.set_index("aspect")["distinct"]
    for row in records(statistics.between):
        is_constant = min(n_distinct[row.first], n_distinct[row.second]) <= 1
        if row.both < 10 or is_constant:
            continue
        names = f"{row.first}, {row.second}"
        copied = row.second if row.first == "relevance" else row.first
        documents = f"on all {row.both} documents judged on both"
        if row.same == "equal":
            text = f"the labels are the same {documents}; one may be a copy"
            yield Finding("error", names, text, changes={copied: None})
        elif row.same:
            text = (
                f"each label of one corresponds to one of the other {documents}; one may be a "
                "recoded copy"
            )
            yield Finding("warning", names, text, changes={copied: None})
        elif row.tau >= 0.95:
            n_topics = number_of(row.topics, "topic")
            tau = fixed_point(row.tau, 2)
            yield Finding(
                "note",
                names,
                f"both rank documents nearly alike (mean tau-b within {n_topics} {tau})",
                f"ma.describe(qrels).contingency({row.first!r}, {row.second!r})",
            )


def find_different_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects that are judged on different documents."""
    views = statistics.judged.views
    if len(views) < 2:
        return
    reference = statistics.judged.view("relevance")
    if reference is None:
        reference = max(views, key=_n_known)
    for view in views:
        if view is not reference and view.known.any() and reference.known.any():
            yield from _find_different_pool(reference, view)


def _n_known(view: AspectView) -> int:
    """Return the number of judged documents of an aspect."""
    return int(view.known.sum())


def _find_different_pool(reference: AspectView, view: AspectView) -> Iterator[Finding]:
    """Find that an aspect is judged on other documents than the reference."""
    n_both = int((view.known & reference.known).sum())
    names = f"{reference.name}, {view.name}"
    counts = (
        f"{_n_known(view)} documents are judged on {view.name}, {_n_known(reference)} on "
        f"{reference.name}, {n_both} on both"
    )
    look = f"ma.describe(qrels).contingency({reference.name!r}, {view.name!r})"
    if not n_both:
        text = f"no document is judged on both; are the labels of one collection? ({counts})"
        yield Finding("error", names, text, look)
        return
    is_relevant = reference.known & (reference.grade > 0)
    n_relevant = int(is_relevant.sum())
    covered = (view.known & is_relevant).sum() / max(n_relevant, 1)
    within = n_both / view.known.sum()
    reasons = []
    if n_relevant and covered < 0.95:
        reasons.append(
            f"only {percent(covered)} of the documents above the lowest {reference.name} grade "
            f"are judged on {view.name}"
        )
    if within < 0.95:
        reasons.append(
            f"only {percent(within)} of those judged on {view.name} are on {reference.name}"
        )
    if reasons:
        text = f"{' and '.join(reasons)}; missing labels count as the lowest grade ({counts})"
        yield Finding("warning", names, text, look)


def find_refused_measures(statistics: Statistics) -> Iterator[Finding]:
    """Find measures that cannot be computed."""
    for label, message in statistics.refused.items():
        measure = statistics.measures[label]
        name = "evaluate"
        if supports(measure):
            name = measure.NAME
        yield Finding("error", "", f"{label} cannot be computed: {message}", f"help(ma.{name})")


def find_unequal_axes(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose longer gains dominate TOMA's distance."""
    for label, measure in statistics.measures.items():
        if label in statistics.refused or not has_distance(measure) or measure["axes"] != "gains":
            continue
        spans = _axis_spans(measure, statistics.judged.judgments)
        counted = [span for span in spans.values() if span > 0]
        if len(counted) < 2 or max(counted) == min(counted):
            continue
        severity = "note"
        if max(counted) >= 2 * min(counted):
            severity = "warning"
        listed = ", ".join(f"{name} {spell(span)}" for name, span in spans.items())
        yield Finding(
            severity,
            ", ".join(spans),
            f"the axes of {label} are of unequal length ({listed}): longer scales have more weight",
            f"ma.{measure(axes='equal')!r}",
        )


def _axis_spans(measure: ir_measures.Measure, judgments: Judgments) -> dict[str, float]:
    """Return the length of the axis of each aspect in TOMA's distance."""
    views = measure.views(judgments)
    weights = weights_of(measure["weights"], [view.name for view in views])
    spans = {}
    for view, weight in zip(views, weights, strict=True):
        gains = view.scale.gains
        spans[view.name] = weight * float(gains[-1] - gains[0])
    return spans


def find_inferred_scales(statistics: Statistics) -> Iterator[Finding]:
    """Find measures that depend on inferred scales."""
    table = statistics.dependences
    depends = table[table["inferred"].eq(True) & table["scale"].eq(True)]
    labels_of_aspects: dict[str, list[str]] = {}
    for label, rows in depends.groupby("measure", sort=False):
        aspects = ", ".join(rows["aspect"])
        labels_of_aspects.setdefault(aspects, []).append(str(label))
    for aspects, labels in labels_of_aspects.items():
        verb = "depends" if len(labels) == 1 else "depend"
        yield Finding(
            "warning",
            aspects,
            f"{', '.join(labels)} {verb} on the length of scales that were inferred; other "
            "qrels, or parts of these, may give other values",
            changes={},
        )


def find_lookalike_ids(statistics: Statistics) -> Iterator[Finding]:
    """Find identifiers that look alike but differ."""
    for row in records(statistics.retrieved.alike):
        kind = "query" if row.what == "qid" else "document"
        column = statistics.column(row.what)
        calls = alike.mending_calls(row.first, row.second)
        # The same change for the qrels and every run, or identifiers that are equal now would
        # differ.
        remedy = f"{column} = {column}{calls}"
        if len(statistics.retrieved.runs):
            remedy += f"\nfor run in runs.values(): run[{row.what!r}] = run[{row.what!r}]{calls}"
        if row.where == "qrels":
            severity = "warning"
            text = f"the qrels have {row.count} {kind} ids that look like other ones but differ"
        else:
            severity = "error"
            text = (
                f"run {row.where} has {row.count} {kind} ids that look like other judged ones but "
                "differ"
            )
        yield Finding(severity, "", f"{text}, such as {row.first!r} and {row.second!r}", remedy)


def find_other_collections(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that seem to be from another collection."""
    lookalikes = statistics.retrieved.alike
    judged_at = statistics.retrieved.judged_at
    n_topics = statistics.n_topics
    for row in records(statistics.retrieved.runs):
        misspelt = lookalikes.loc[lookalikes["where"] == row.name, "what"]
        has_misspelt_qids = (misspelt == "qid").any()
        if not row.topics:
            if not has_misspelt_qids:
                text = (
                    f"run {row.name} has no topic in common with the qrels; is it from another "
                    "collection?"
                )
                yield Finding("error", "", text, f"runs.pop({row.name!r})")
            continue
        judged_at_20 = judged_at.loc[judged_at["name"] == row.name, "judged@20"].max()
        if row.documents and judged_at_20 < 0.01 and not len(misspelt):
            text = (
                f"less than 1 % of the top 20 of run {row.name} is judged, though it has "
                f"{row.topics} of the topics; is it from another collection?"
            )
            yield Finding("error", "", text, f"runs.pop({row.name!r})")
        elif row.missed > 0.1 * n_topics and not has_misspelt_qids:
            text = (
                f"run {row.name} misses {row.missed} of {n_topics} topics; they count as empty "
                "rankings"
            )
            remedy = f"set(qrels['qid']) - set(runs[{row.name!r}]['qid'])"
            yield Finding("warning", "", text, remedy)


def find_sparse_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find runs whose first ranks are hardly judged."""
    judged_at = _partly_judged(statistics)
    for aspect, rows in judged_at.groupby("aspect", sort=False):
        mean = float(rows["judged@10"].mean())
        if mean < 0.5:
            yield Finding(
                "warning",
                str(aspect),
                "few documents of a run's top 10 are judged; the others count as the lowest grade",
                "ma.describe(qrels, runs=runs).judged_at",
                numbers=f"{percent(mean)} on average",
            )


def _partly_judged(statistics: Statistics) -> pd.DataFrame:
    """Return the judged fractions of runs with any judged document among the first 10.

    The other runs have another finding.
    """
    judged_at = statistics.retrieved.judged_at
    fractions = judged_at.groupby("name")["judged@10"]
    return judged_at[fractions.transform("max") > 0]


def find_uneven_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects on which the first ranks of some runs are judged less than those of others."""
    judged_at = _partly_judged(statistics)
    for view in statistics.judged.views:
        rows = judged_at[judged_at["aspect"] == view.name]
        share = rows.set_index("name")["judged@10"]
        if len(share) < 2 or share.max() - share.min() < _UNEVEN:
            continue
        measure = On(aspect=view.name, aspects=Aspects({view.name: view.aspect})) @ 10
        lowest = percent(float(share.min()))
        highest = percent(float(share.max()))
        yield Finding(
            "warning",
            view.name,
            "the top 10 of one run is judged less than that of another, so missing labels may "
            "decide which is better",
            f"ma.analysis.missing_labels(runs, qrels, {str(measure)!r})",
            numbers=f"{lowest} of run {share.idxmin()}, {highest} of run {share.idxmax()}",
        )


def find_repeated_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that repeat documents."""
    runs = statistics.retrieved.runs
    for row in records(runs[runs["repeated"] > 0]):
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
    for row in records(runs[runs["tied"] > 0.1]):
        run = f"runs[{row.name!r}]"
        yield Finding(
            "note",
            "",
            f"{percent(row.tied)} of the documents of run {row.name} have tied scores (as 32-bit "
            "numbers); ties are broken by docno, descending, and not by the order in the run",
            f"{run}['score'] = -{run}.groupby('qid').cumcount()",
        )
