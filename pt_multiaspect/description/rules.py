"""Rules that find oddities of aspects, measures, identifiers and runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._numbers import spell
from ..aspects import Aspect, Aspects
from ..collection import AspectView, label_rules
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
            yield Finding(
                "error",
                view.name,
                "labels are not probabilities, and measures that multiply probabilities reject "
                "them",
                changes={view.name: Aspect(label.tolist())},
                numbers=f"{int(count[label > 1].sum())} labels, up to {spell(float(label[-1]))}",
            )
        off = statistics.judged.off_scale.get(view.name)
        if off is None:
            continue
        labels, scale = np.unique(off), view.scale
        span = float(np.ptp(scale.grades))
        distance = (labels - scale.grades[-1]) * (1 if scale.greater_is_better else -1)
        far = distance >= _FAR * max(span, 1.0)
        grades = [*(view.aspect.grades or ()), *labels[~far].tolist()]
        listed = ", ".join(map(spell, labels[:5].tolist())) + (", ..." if len(labels) > 5 else "")
        changed = label_rules.rescale_aspect(view.label_counts, grades, labels[far].tolist())
        yield Finding(
            "error",
            view.name,
            "labels are not declared grades, and measures reject them. Check first that these are "
            "the labels of "
            f"{view.name}, and the top grade",
            changes=None if changed is None else {view.name: changed},
            numbers=f"{len(off)} labels ({listed}) are not on the scale {scale}",
        )


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
            is_change = finding.leave_out or finding.declaration is not None
            if is_change:
                changes = {view.name: finding.declaration}
            else:
                changes = None
            yield Finding(
                finding.severity, view.name, finding.text, changes=changes, numbers=finding.numbers
            )


def _find_doubtful_scale(
    statistics: Statistics, view: AspectView
) -> label_rules.LabelFinding | None:
    """Find a doubtful threshold or, for scores of answers, which read none, a doubtful start of a scale."""
    if statistics.judged.answers is None:
        return label_rules.find_doubtful_threshold(view.label_counts)
    if view.inferred:
        return None
    return label_rules.find_start_above_zero(view.label_counts)


def find_codes_on_top(statistics: Statistics) -> Iterator[Finding]:
    """Find a highest label that may be a code rather than a grade."""
    for view in statistics.judged.views:
        label, count = used_labels(view)
        if not view.scale.greater_is_better or len(label) < 3:
            continue
        top, below = float(label[-1]), float(label[-2])
        if statistics.judged.answers is not None and top <= 1:  # a value
            continue
        others = np.diff(label[:-1][label[:-1] >= 0])
        widest, span = float(others.max(initial=0.0)), below - max(float(label[0]), 0.0)
        gap, share = top - below, count[-1] / count.sum()
        grades = view.aspect.grades or ()
        declared = not view.inferred and not any(below < grade < top for grade in grades)
        apart = widest > 0 and gap >= 2 * widest and gap >= 0.1 * span and not declared
        rows = statistics.top_labels[statistics.top_labels["aspect"] == view.name]
        foreseen = rows[rows["expected"].abs() >= 6]
        independent = len(foreseen) > 0 and bool((rows["z"].abs() < 2).all())
        lower = rows[(rows["other"] == "relevance") & (rows["z_next"] < -3)]
        if apart and (share < 0.005 or gap >= _FAR * max(span, 1.0)):
            reason = f"{percent(share)} of the judged documents have it, and no label is between it and {spell(below)}"
        elif independent:
            reason = f"unlike the lower labels, it is unrelated to {', '.join(foreseen['other'])}"
        else:
            if len(lower):
                yield Finding(
                    "note",
                    view.name,
                    f"documents with the highest label, {spell(top)}, are on average less relevant "
                    "than those with "
                    f"{spell(below)}; this also happens with valid scales, but check that it is a "
                    "grade",
                    f"ma.describe(qrels).contingency({view.name!r}, 'relevance')",
                )
            continue
        text = f"the highest label, {spell(top)}, may be a code rather than a grade: {reason}"
        lower_grades = [grade for grade in grades if grade <= below]
        changed = label_rules.rescale_aspect(view.label_counts, lower_grades, [top])
        yield Finding(
            "warning", view.name, text, changes=None if changed is None else {view.name: changed}
        )


def find_missing_positives(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects without a positive document in some or all topics."""
    n_topics = statistics.judged.judgments.n_queries
    for row in records(statistics.per_aspect):
        if (
            row.judged
            and row.positive >= label_rules.RARELY
            and row.topics_without_positive > 0.2 * n_topics
        ):
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
            reason = None
        else:
            reason = doubt(view.name, used_labels(view)[0], names)
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
        yield Finding(
            "warning",
            column,
            f"the column contains text ({', '.join(map(repr, texts))}), so it is not evaluated; if "
            "the texts "
            "are labels, map them to numbers, the lowest grade to 0",
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
        # Gains, probabilities and a threshold that were declared do not apply to the reversed
        # scale.
        turned = Aspect(
            None if view.inferred else sorted(view.scale.grades.tolist()),
            greater_is_better=not view.scale.greater_is_better,
            unjudged=view.aspect.unjudged,
        )
        sure = row.topics >= 5 and row.tau + 2 * row.tau_error < 0
        yield Finding(
            "warning" if sure else "note",
            name,
            f"the scale may be reversed: relevant documents have low labels (mean tau-b within "
            f"{number_of(row.topics, 'topic')} {fixed_point(row.tau, 2)})",
            f"ma.describe(qrels).contingency('relevance', {name!r})",
            {name: turned} if sure else None,
        )


def find_copied_labels(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose labels are those of another aspect."""
    distinct = dict(
        zip(statistics.per_aspect["aspect"], statistics.per_aspect["distinct"], strict=True)
    )
    for row in records(statistics.between):
        if row.both < 10 or min(distinct[row.first], distinct[row.second]) <= 1:
            continue
        names, copied = (
            f"{row.first}, {row.second}",
            row.second if row.first == "relevance" else row.first,
        )
        on_both = f"on all {row.both} documents judged on both; one may be a"
        if row.same == "equal":
            yield Finding(
                "error", names, f"the labels are the same {on_both} copy", changes={copied: None}
            )
        elif row.same:
            text = f"each label of one corresponds to one of the other {on_both} recoded copy"
            yield Finding("warning", names, text, changes={copied: None})
        elif row.tau >= 0.95:
            yield Finding(
                "note",
                names,
                "both rank documents nearly alike (mean tau-b within "
                f"{number_of(row.topics, 'topic')} "
                f"{fixed_point(row.tau, 2)})",
                f"ma.describe(qrels).contingency({row.first!r}, {row.second!r})",
            )


def find_different_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects that are judged on different documents."""
    views = statistics.judged.views
    if len(views) < 2:
        return
    reference = statistics.judged.view("relevance") or max(
        views, key=lambda view: int(view.known.sum())
    )
    relevant = reference.known & (reference.grade > 0)
    for view in views:
        if view is reference or not view.known.any() or not reference.known.any():
            continue
        both = int((view.known & reference.known).sum())
        counts = (
            f"{int(view.known.sum())} documents are judged on {view.name}, "
            f"{int(reference.known.sum())} on "
            f"{reference.name}, {both} on both"
        )
        names = f"{reference.name}, {view.name}"
        look = f"ma.describe(qrels).contingency({reference.name!r}, {view.name!r})"
        if not both:
            yield Finding(
                "error",
                names,
                f"no document is judged on both; are the labels of one collection? ({counts})",
                look,
            )
            continue
        covered = (view.known & relevant).sum() / max(int(relevant.sum()), 1)
        within = both / view.known.sum()
        reasons = []
        if relevant.any() and covered < 0.95:
            reasons.append(
                f"only {percent(covered)} of the documents above the lowest {reference.name} grade "
                "are judged on "
                f"{view.name}"
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
        explained = measure.NAME if supports(measure) else "evaluate"
        yield Finding(
            "error", "", f"{label} cannot be computed: {message}", f"help(ma.{explained})"
        )


def find_unequal_axes(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects whose longer gains dominate TOMA's distance."""
    for label, measure in statistics.measures.items():
        if label in statistics.refused or not has_distance(measure) or measure["axes"] != "gains":
            continue
        views = measure.views(statistics.judged.judgments)
        names = [view.name for view in views]
        weights = weights_of(measure["weights"], names)
        spans = [
            w * float(v.scale.gains[-1] - v.scale.gains[0])
            for v, w in zip(views, weights, strict=True)
        ]
        counted = [span for span in spans if span > 0]
        if len(counted) > 1 and max(counted) > min(counted):
            listed = ", ".join(
                f"{view.name} {spell(span)}" for view, span in zip(views, spans, strict=True)
            )
            yield Finding(
                "warning" if max(counted) >= 2 * min(counted) else "note",
                ", ".join(names),
                f"the axes of {label} are of unequal length ({listed}): longer scales have more "
                "weight",
                f"ma.{measure(axes='equal')!r}",
            )


def find_inferred_scales(statistics: Statistics) -> Iterator[Finding]:
    """Find measures that depend on inferred scales."""
    depends = statistics.dependences[
        statistics.dependences["inferred"].eq(True) & statistics.dependences["scale"].eq(True)
    ]
    alike: dict[str, list[str]] = {}
    for label, rows in depends.groupby("measure", sort=False):
        alike.setdefault(", ".join(rows["aspect"]), []).append(str(label))
    for aspects, labels in alike.items():
        yield Finding(
            "warning",
            aspects,
            f"{', '.join(labels)} {'depends' if len(labels) == 1 else 'depend'} on the length of "
            "scales that were "
            "inferred; other qrels, or parts of these, may give other values",
            changes={},
        )


def find_lookalike_ids(statistics: Statistics) -> Iterator[Finding]:
    """Find identifiers that look alike but differ."""
    for row in records(statistics.retrieved.alike):
        kind = "query" if row.what == "qid" else "document"
        column, change = statistics.column(row.what), alike.mending_calls(row.first, row.second)
        # The same change for the qrels and every run, or identifiers that are equal now would
        # differ.
        remedy = f"{column} = {column}{change}"
        if len(statistics.retrieved.runs):
            remedy += f"\nfor run in runs.values(): run[{row.what!r}] = run[{row.what!r}]{change}"
        if row.where == "qrels":
            where = "the qrels have"
        else:
            where = f"run {row.where} has"
        judged = "" if row.where == "qrels" else "judged "
        yield Finding(
            "warning" if row.where == "qrels" else "error",
            "",
            f"{where} {row.count} {kind} ids that look like other {judged}ones but differ, such as "
            f"{row.first!r} and {row.second!r}",
            remedy,
        )


def find_other_collections(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that seem to be from another collection."""
    alike_in = statistics.retrieved.alike
    n_topics = statistics.judged.judgments.n_queries
    for row in records(statistics.retrieved.runs):
        spelled = alike_in[alike_in["where"] == row.name]
        at = statistics.retrieved.judged_at
        at = at[at["name"] == row.name]
        is_misspelt = (spelled["what"] == "qid").any()
        if not row.topics and not is_misspelt:
            text = f"run {row.name} has no topic in common with the qrels; is it from another collection?"
            yield Finding("error", "", text, f"runs.pop({row.name!r})")
        elif row.topics and row.documents and at["judged@20"].max() < 0.01 and not len(spelled):
            text = (
                f"less than 1 % of the top 20 of run {row.name} is judged, though it has "
                f"{row.topics} of the "
                "topics; is it from another collection?"
            )
            yield Finding("error", "", text, f"runs.pop({row.name!r})")
        elif row.topics and row.missed > 0.1 * n_topics and not is_misspelt:
            text = f"run {row.name} misses {row.missed} of {n_topics} topics; they count as empty rankings"
            yield Finding(
                "warning", "", text, f"set(qrels['qid']) - set(runs[{row.name!r}]['qid'])"
            )


def find_sparse_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find runs whose first ranks are hardly judged."""
    at = statistics.retrieved.judged_at
    # A run without documents judged on any aspect has another finding.
    at = at[at.groupby("name")["judged@10"].transform("max") > 0]
    for aspect, rows in at.groupby("aspect", sort=False):
        mean = rows["judged@10"].mean()
        if mean < 0.5:
            yield Finding(
                "warning",
                str(aspect),
                "few documents of a run's top 10 are judged; the others count as the lowest grade",
                "ma.describe(qrels, runs=runs).judged_at",
                numbers=f"{percent(float(mean))} on average",
            )


def find_uneven_tops(statistics: Statistics) -> Iterator[Finding]:
    """Find aspects on which the first ranks of some runs are judged less than those of others."""
    at = statistics.retrieved.judged_at
    at = at[at.groupby("name")["judged@10"].transform("max") > 0]
    for view in statistics.judged.views:
        share = at[at["aspect"] == view.name].set_index("name")["judged@10"]
        if len(share) > 1 and share.max() - share.min() >= _UNEVEN:
            measure = On(aspect=view.name, aspects=Aspects({view.name: view.aspect})) @ 10
            yield Finding(
                "warning",
                view.name,
                "the top 10 of one run is judged less than that of another, so missing labels may "
                "decide which is "
                "better",
                f"ma.analysis.missing_labels(runs, qrels, {str(measure)!r})",
                numbers=f"{percent(float(share.min()))} of run {share.idxmin()}, {percent(float(share.max()))} of "
                f"run {share.idxmax()}",
            )


def find_repeated_documents(statistics: Statistics) -> Iterator[Finding]:
    """Find runs that repeat documents."""
    for row in records(statistics.retrieved.runs[statistics.retrieved.runs["repeated"] > 0]):
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
    for row in records(statistics.retrieved.runs[statistics.retrieved.runs["tied"] > 0.1]):
        run = f"runs[{row.name!r}]"
        yield Finding(
            "note",
            "",
            f"{percent(row.tied)} of the documents of run {row.name} have tied scores (as 32-bit "
            "numbers); ties "
            "are broken by docno, descending, and not by the order in the run",
            f"{run}['score'] = -{run}.groupby('qid').cumcount()",
        )
