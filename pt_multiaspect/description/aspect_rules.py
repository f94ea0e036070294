"""What can be odd about one aspect, or about one beside another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._numbers import spell
from ..aspects.aspect import Aspect
from ..collection.columns import doubt, text_mapping
from ..collection.views import AspectView
from ..errors import number_of
from .figures import Figures, Finding, direction, percent, scale_code, scale_code_with, unjudged_code
from .scales import is_positive, records


def out_of_scale(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        label, count = figures.used(view)
        if view.scale.identity and len(label) and label[-1] > 1:
            yield Finding(
                "error",
                view.name,
                f"{int(count[label > 1].sum())} labels are no probabilities, up to {spell(float(label[-1]))}; "
                "measures that multiply probabilities refuse them",
                figures.declaration({view.name: scale_code(Aspect(label.tolist()))}),
            )
        off = figures.judged.off_scale.get(view.name)
        if off is None:
            continue
        labels = np.unique(off).tolist()
        listed = ", ".join(map(spell, labels[:5])) + (", ..." if len(labels) > 5 else "")
        grades = sorted({*(view.aspect.grades or ()), *labels})
        yield Finding(
            "error",
            view.name,
            f"{len(off)} labels are no declared grade ({listed}); the grades are {view.scale}, and measures refuse "
            "others",
            figures.declaration({view.name: scale_code(Aspect(grades, **direction(view)))}),
        )


def never_judged(figures: Figures) -> Iterator[Finding]:
    for row in records(figures.per_aspect):
        if row.judged == 0:
            yield Finding(
                "error", row.aspect, "no document is judged on it", figures.declaration(without=row.aspect)
            )


def constant(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        labels, _ = figures.used(view)
        if len(labels) != 1:
            continue
        only_positives = view.name == "relevance" and bool(is_positive(view).any())
        yield Finding(
            "note" if only_positives else "warning",
            view.name,
            f"every judged document has the label {spell(float(labels[0]))}"
            + ("; documents that are not relevant are not in the qrels" if only_positives else ""),
            figures.declaration(without=view.name)
            if len(figures.judged.views) > 1
            else "ma.describe(qrels).labels",
        )


def code_on_top(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        label, count = figures.used(view)
        if not view.scale.greater_is_better or len(label) < 3:
            continue
        top, below = float(label[-1]), float(label[-2])
        others = np.diff(label[:-1][label[:-1] >= 0])
        widest, span = float(others.max(initial=0.0)), below - max(float(label[0]), 0.0)
        gap, share = top - below, count[-1] / count.sum()
        grades = view.aspect.grades or ()
        declared = not view.inferred and not any(below < grade < top for grade in grades)
        apart = widest > 0 and gap >= 2 * widest and gap >= 0.1 * span and not declared
        rows = figures.top_labels[figures.top_labels["aspect"] == view.name]
        foreseen = rows[rows["expected"].abs() >= 6]
        independent = len(foreseen) > 0 and bool((rows["z"].abs() < 2).all())
        lower = rows[(rows["other"] == "relevance") & (rows["z_next"] < -3)]
        text, severity = "", "warning"
        if apart and (share < 0.005 or gap >= 3 * max(span, 1.0)):
            text = (
                f"the highest label, {spell(top)}, may be a code rather than a grade: {percent(share)} of the "
                f"judged documents have it, and no label is between it and {spell(below)}"
            )
        elif independent:
            text = (
                f"the highest label, {spell(top)}, may be a code rather than a grade: unlike the lower labels "
                f"it has nothing to do with {', '.join(foreseen['other'])}"
            )
        elif len(lower):
            severity = "note"
            text = (
                f"documents with the highest label, {spell(top)}, are on average less relevant than those with "
                f"{spell(below)}; sound scales do that too, but check that it is a grade"
            )
        if text:
            below_top = [grade for grade in grades if grade <= below]
            remedy = figures.declaration({view.name: unjudged_code(view, [top], below_top)})
            if severity == "note":
                remedy = f"ma.describe(qrels).contingency({view.name!r}, 'relevance')"
            yield Finding(severity, view.name, text, remedy)


def starts_above_zero(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        if view.other_reading is not None:
            label, _ = figures.used(view)
            yield Finding(
                "warning",
                view.name,
                f"no label is 0: the scale is taken as {view.scale}, so that every judged document is positive "
                f"and {spell(float(label[0]))} is worth something",
                figures.declaration({view.name: scale_code(view.other_reading)}),
            )


def below_scale(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        label, count = figures.used(view)
        lowest = view.scale.grades[0]
        odd = label < -2 if view.scale.greater_is_better else np.zeros(len(label), dtype=np.bool_)
        if not view.inferred:
            under = label < lowest if view.scale.greater_is_better else label > lowest
            odd |= under & (label >= 0)
        if odd.any():
            codes = label[odd].tolist()
            yield Finding(
                "warning",
                view.name,
                f"{int(count[odd].sum())} labels below the scale ({', '.join(map(spell, codes[:5]))}) count as its "
                f"lowest grade, {spell(float(lowest))}; only -1 and -2 usually mark junk",
                figures.declaration({view.name: unjudged_code(view, codes, view.aspect.grades)}),
            )


def threshold(figures: Figures) -> Iterator[Finding]:
    for view in figures.judged.views:
        label, _ = figures.used(view)
        if len(label) < 2 or len(view.scale) < 2:
            continue
        share = is_positive(view).sum() / view.known.sum()
        if 0.01 <= share <= 0.95:
            continue
        # Where the scale starts is another finding, and its remedy moves the threshold too.
        if view.inferred and label[0] > 0:
            continue
        threshold = spell(float(view.scale.grades[view.scale.threshold]))
        other = _other_threshold(view)
        yield Finding(
            "warning",
            view.name,
            f"{percent(share)} of the judged documents are positive (threshold {threshold}): to binary measures "
            f"{'nearly all' if share > 0.5 else 'nearly none'} count",
            figures.declaration({view.name: scale_code_with(view.aspect, threshold=other)})
            if other is not None
            else figures.declaration(without=view.name),
        )


def _other_threshold(view: AspectView) -> float | None:
    """The grade nearest the middle of the scale among those with 1 to 95 % positive, or the most even one."""
    counts = np.bincount(view.grade[view.known], minlength=len(view.scale))
    shares = (counts[::-1].cumsum()[::-1] / counts.sum())[1:]
    usable = np.flatnonzero((shares >= 0.01) & (shares <= 0.95))
    if not len(usable):
        return None
    middle = len(view.scale) / 2
    at = usable[np.argmin(np.abs(usable + 1 - middle))]
    return float(view.scale.grades[at + 1])


def no_positive(figures: Figures) -> Iterator[Finding]:
    n_topics = figures.judged.judgments.n_queries
    for row in records(figures.per_aspect):
        if row.judged and row.positive >= 0.01 and row.topics_without_positive > 0.2 * n_topics:
            yield Finding(
                "note",
                row.aspect,
                f"{row.topics_without_positive} of {n_topics} topics have no positive document: there the aspect "
                "is 0 for every run, and so are MM and GAM",
                "ma.CAM(empty='drop')",
            )


def no_label_column(figures: Figures) -> Iterator[Finding]:
    if not figures.judged.all_columns:
        return
    names = [view.name for view in figures.judged.views]
    for view in figures.judged.views:
        reason = None if view.name == "relevance" else doubt(view.name, figures.used(view)[0], names)
        if reason:
            yield Finding(
                "note",
                view.name,
                f"the column is unlikely to hold labels ({reason}), but is evaluated as an aspect, as none were "
                "selected",
                figures.declaration(without=view.name),
            )


def text_column(figures: Figures) -> Iterator[Finding]:
    if not figures.judged.all_columns:
        return
    for column, texts in figures.judged.judgments.text_columns.items():
        yield Finding(
            "warning",
            column,
            f"the column holds text ({', '.join(map(repr, texts))}), so it is not evaluated; if it holds labels, "
            "map them to numbers, the lowest grade to 0",
            f"qrels[{column!r}] = {text_mapping(column, texts)}",
        )


def reversed_scale(figures: Figures) -> Iterator[Finding]:
    for row in records(figures.between):
        if "relevance" not in (row.first, row.second) or not row.tau < -0.2:
            continue
        other = row.second if row.first == "relevance" else row.first
        view = figures.judged.view(other)
        assert view is not None
        turned = scale_code_with(view.aspect, greater_is_better=not view.scale.greater_is_better)
        sure = row.topics >= 5 and row.tau + 2 * row.tau_error < 0
        yield Finding(
            "warning" if sure else "note",
            other,
            f"the scale may be reversed: relevant documents have low labels (mean tau-b within "
            f"{number_of(row.topics, 'topic')} {row.tau:.2f})",
            figures.declaration({other: turned}),
        )


def copied(figures: Figures) -> Iterator[Finding]:
    distinct = dict(zip(figures.per_aspect["aspect"], figures.per_aspect["distinct"], strict=True))
    for row in records(figures.between):
        several = min(distinct[row.first], distinct[row.second]) > 1
        if row.same and row.both >= 10 and several:
            yield Finding(
                "error" if row.same == "equal" else "warning",
                f"{row.first}, {row.second}",
                f"the labels are the same on all {row.both} documents judged on both; one may be a copy"
                if row.same == "equal"
                else f"each label of one stands for one label of the other on all {row.both} documents judged on "
                "both; one may be a recoded copy",
                figures.declaration(without=row.second if row.first == "relevance" else row.first),
            )
        elif row.tau >= 0.95 and several and row.both >= 10:
            yield Finding(
                "note",
                f"{row.first}, {row.second}",
                f"both rank documents nearly alike (mean tau-b within {number_of(row.topics, 'topic')} "
                f"{row.tau:.2f})",
                f"ma.describe(qrels).contingency({row.first!r}, {row.second!r})",
            )


def different_documents(figures: Figures) -> Iterator[Finding]:
    views = figures.judged.views
    if len(views) < 2:
        return
    reference = figures.judged.view("relevance") or max(views, key=lambda view: int(view.known.sum()))
    relevant = reference.known & (reference.grade > 0)
    for view in views:
        if view is reference or not view.known.any() or not reference.known.any():
            continue
        both = int((view.known & reference.known).sum())
        counts = (
            f"{int(view.known.sum())} documents are judged on {view.name}, {int(reference.known.sum())} on "
            f"{reference.name}, {both} on both"
        )
        names = f"{reference.name}, {view.name}"
        look = f"ma.describe(qrels).contingency({reference.name!r}, {view.name!r})"
        if not both:
            yield Finding(
                "error", names, f"no document is judged on both; are the labels of one collection? ({counts})", look
            )
            continue
        covered = (view.known & relevant).sum() / max(int(relevant.sum()), 1)
        within = both / view.known.sum()
        if (relevant.any() and covered < 0.95) or within < 0.95:
            reasons = []
            if relevant.any() and covered < 0.95:
                reasons.append(
                    f"only {percent(covered)} of the documents above the lowest {reference.name} grade are judged "
                    f"on {view.name}"
                )
            if within < 0.95:
                reasons.append(f"only {percent(within)} of those judged on {view.name} are on {reference.name}")
            text = f"{' and '.join(reasons)}; missing labels count as the lowest grade ({counts})"
            yield Finding("warning", names, text, look)
