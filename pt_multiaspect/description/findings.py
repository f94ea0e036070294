"""Findings about the figures, most serious first, and the scales that they propose together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..collection.label_rules import as_given, short
from . import aspect_rules, run_rules
from .figures import LOOK, Figures, Finding, declaration
from .scales import read_judged

#: "error": values are rejected or meaningless; "warning": they are likely not as intended; "note": for information.
SEVERITIES = ("error", "warning", "note")

Rule = Callable[[Figures], Iterator[Finding]]

#: The rules in the order of findings with equal severity.
RULES: tuple[Rule, ...] = (
    aspect_rules.labels_out_of_scale,
    run_rules.lookalike_ids,
    run_rules.other_collections,
    aspect_rules.different_documents,
    aspect_rules.copied_labels,
    run_rules.refused_measures,
    aspect_rules.reversed_scales,
    aspect_rules.codes_on_top,
    aspect_rules.label_warnings,
    run_rules.inferred_scales,
    run_rules.unequal_axes,
    run_rules.sparse_tops,
    run_rules.repeated_documents,
    aspect_rules.missing_positives,
    aspect_rules.doubtful_columns,
    aspect_rules.text_columns,
    run_rules.tied_scores,
)

#: The rules that propose other scales.
_DECLARING: tuple[Rule, ...] = (
    aspect_rules.labels_out_of_scale,
    aspect_rules.copied_labels,
    aspect_rules.reversed_scales,
    aspect_rules.codes_on_top,
    aspect_rules.label_warnings,
)

#: Maximum number of times that the proposed scales are checked.
_MOST_ROUNDS = 20


def findings(figures: Figures, rules: Sequence[Rule] = RULES) -> list[Finding]:
    """Apply rules."""
    found = [finding for rule in rules for finding in rule(figures)]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def propose_scales(figures: Figures, found: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings, applied one after another until none is left.

    Changes depend on each other: if a code is removed or a scale reversed, its threshold differs.
    """
    judged = figures.judged
    scales = {view.name: as_given(view.label_counts) for view in judged.views}
    for _ in range(_MOST_ROUNDS):
        changes: dict[str, Aspect | None] = {}
        for finding in found:
            changes = {**(finding.changes or {}), **changes}
        changed = {name: changes.get(name, aspect) for name, aspect in scales.items()}
        kept = {name: aspect for name, aspect in changed.items() if aspect is not None}
        if not kept or kept == scales:
            break
        if judged is figures.judged:
            given = judged.given
            labels = pd.DataFrame({"query_id": given.qids[given.pool_query], "doc_id": given.docnos})
            labels = labels.assign(**{view.name: view.label for view in given.views(tuple(scales))})
        scales, judged = kept, read_judged(labels, Aspects(kept))
        found = findings(Figures.of(judged, figures.retrieved), _DECLARING)
    return {view.name: short(view.label_counts) for view in judged.views}


def findings_table(found: Sequence[Finding], scales: Aspects) -> pd.DataFrame:
    """Return findings as a table with the columns ``severity aspects finding remedy``."""
    rows = []
    for finding in found:
        left_out = [name for name, aspect in (finding.changes or {}).items() if aspect is None]
        declared = finding.changes is not None and not any(name in scales for name in left_out)
        remedy = declaration(scales) if declared else LOOK if left_out else finding.remedy
        rows.append([finding.severity, finding.aspects, finding.finding, remedy])
    return pd.DataFrame(rows, columns=["severity", "aspects", "finding", "remedy"], dtype=object)
