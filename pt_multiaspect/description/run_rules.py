"""Rules about measures, identifiers and runs."""

from __future__ import annotations

from collections.abc import Iterator

from .._numbers import spell
from ..integration.provider import supports
from ..orders.order import weights_of
from ..views import percent
from . import alike
from .figures import Figures, Finding, has_distance
from .scales import records


def refused_measures(figures: Figures) -> Iterator[Finding]:
    """Find measures that cannot be computed."""
    for label, message in figures.refused.items():
        measure = figures.measures[label]
        explained = measure.NAME if supports(measure) else "evaluate"
        yield Finding("error", "", f"{label} cannot be computed: {message}", f"help(ma.{explained})")


def unequal_axes(figures: Figures) -> Iterator[Finding]:
    """Find aspects whose longer gains dominate TOMA's distance."""
    for label, measure in figures.measures.items():
        if label in figures.refused or not has_distance(measure) or measure["axes"] != "gains":
            continue
        views = measure.views(figures.judged.judgments)
        weights = weights_of(measure["weights"], [view.name for view in views])
        spans = [w * float(v.scale.gains[-1] - v.scale.gains[0]) for v, w in zip(views, weights, strict=True)]
        counted = [span for span in spans if span > 0]
        if len(counted) > 1 and max(counted) > min(counted):
            listed = ", ".join(f"{view.name} {spell(span)}" for view, span in zip(views, spans, strict=True))
            yield Finding(
                "warning" if max(counted) >= 2 * min(counted) else "note",
                ", ".join(view.name for view in views),
                f"the axes of {label} are of unequal length ({listed}): longer scales have more weight",
                f"ma.{measure(axes='equal')!r}",
            )


def inferred_scales(figures: Figures) -> Iterator[Finding]:
    """Find measures that depend on inferred scales."""
    depends = figures.dependences[figures.dependences["inferred"].eq(True) & figures.dependences["scale"].eq(True)]
    alike: dict[str, list[str]] = {}
    for label, rows in depends.groupby("measure", sort=False):
        alike.setdefault(", ".join(rows["aspect"]), []).append(str(label))
    for aspects, labels in alike.items():
        yield Finding(
            "warning",
            aspects,
            f"{', '.join(labels)} depend{'s' * (len(labels) == 1)} on the length of scales that were inferred; "
            "other qrels, or parts of these, may give other values",
            changes={},
        )


def lookalike_ids(figures: Figures) -> Iterator[Finding]:
    """Find identifiers that look alike but differ."""
    for row in records(figures.retrieved.alike):
        kind = "query" if row.what == "qid" else "document"
        column, change = figures.column(row.what), alike.mending_calls(row.first, row.second)
        # The same change for the qrels and every run, or identifiers that are equal now would differ.
        remedy = f"{column} = {column}{change}"
        if len(figures.retrieved.runs):
            remedy += f"\nfor run in runs.values(): run[{row.what!r}] = run[{row.what!r}]{change}"
        where = "the qrels have" if row.where == "qrels" else f"run {row.where} has"
        judged = "" if row.where == "qrels" else "judged "
        yield Finding(
            "warning" if row.where == "qrels" else "error",
            "",
            f"{where} {row.count} {kind} ids that look like other {judged}ones but differ, such as "
            f"{row.first!r} and {row.second!r}",
            remedy,
        )


def other_collections(figures: Figures) -> Iterator[Finding]:
    """Find runs that seem to be from another collection."""
    alike_in = figures.retrieved.alike
    n_topics = figures.judged.judgments.n_queries
    for row in records(figures.retrieved.runs):
        spelled = alike_in[alike_in["where"] == row.name]
        at = figures.retrieved.judged_at
        at = at[at["name"] == row.name]
        if not row.topics:
            if not (spelled["what"] == "qid").any():
                text = f"run {row.name} has no topic in common with the qrels; is it from another collection?"
                yield Finding("error", "", text, f"runs.pop({row.name!r})")
            continue
        if row.documents and at["judged@20"].max() < 0.01 and not len(spelled):
            text = (
                f"less than 1 % of the top 20 of run {row.name} is judged, though it has {row.topics} of the "
                "topics; is it from another collection?"
            )
            yield Finding("error", "", text, f"runs.pop({row.name!r})")
        elif row.missed > 0.1 * n_topics and not (spelled["what"] == "qid").any():
            text = f"run {row.name} misses {row.missed} of {n_topics} topics; they count as empty rankings"
            yield Finding("warning", "", text, f"set({_QIDS}) - set(runs[{row.name!r}]['qid'])")


_QIDS = "qrels['qid']"


def sparse_tops(figures: Figures) -> Iterator[Finding]:
    """Find runs whose first ranks are hardly judged."""
    at = figures.retrieved.judged_at
    # A run without documents judged on any aspect has another finding.
    at = at[at.groupby("name")["judged@10"].transform("max") > 0]
    for aspect, rows in at.groupby("aspect", sort=False):
        mean = rows["judged@10"].mean()
        if mean < 0.5:
            yield Finding(
                "warning",
                str(aspect),
                f"on average {percent(float(mean))} of a run's top 10 is judged on it; the others count as its "
                "lowest grade",
                f"ma.describe(qrels, runs=runs).judged_at.query({f'aspect == {str(aspect)!r}'!r})",
            )


def repeated_documents(figures: Figures) -> Iterator[Finding]:
    """Find runs that repeat documents."""
    for row in records(figures.retrieved.runs[figures.retrieved.runs["repeated"] > 0]):
        run = f"runs[{row.name!r}]"
        yield Finding(
            "warning",
            "",
            f"run {row.name} has {row.repeated} documents more than once for a topic; the last score counts",
            f"{run} = {run}.drop_duplicates(['qid', 'docno'], keep='last')",
        )


def tied_scores(figures: Figures) -> Iterator[Finding]:
    """Find runs with many tied scores."""
    for row in records(figures.retrieved.runs[figures.retrieved.runs["tied"] > 0.1]):
        run = f"runs[{row.name!r}]"
        yield Finding(
            "note",
            "",
            f"{percent(row.tied)} of the documents of run {row.name} have tied scores (as 32-bit numbers); ties "
            "are broken by docno, descending, and not by the order in the run",
            f"{run}['score'] = -{run}.groupby('qid').cumcount()",
        )
