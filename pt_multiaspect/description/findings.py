"""The findings of all rules, most serious first, and the scales they propose."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from ..aspects import Aspect, Aspects
from ..collection.label_rules import as_given, as_short
from . import rules
from .answer_rules import ANSWER_RULES, find_undeclared_grades, reword
from .figures import LOOK, Figures, Finding, declaration
from .scales import read_judged, scale_to_declare

#: "error": values are rejected or meaningless; "warning": they are likely not as intended; "note": for information.
SEVERITIES = ("error", "warning", "note")

Rule = Callable[[Figures], Iterator[Finding]]

#: The rules in the order of findings with equal severity.
RULES: tuple[Rule, ...] = (
    rules.find_labels_out_of_scale,
    rules.find_lookalike_ids,
    rules.find_other_collections,
    rules.find_different_documents,
    rules.find_copied_labels,
    rules.find_refused_measures,
    rules.find_reversed_scales,
    rules.find_codes_on_top,
    rules.find_label_warnings,
    rules.find_inferred_scales,
    rules.find_unequal_axes,
    rules.find_sparse_tops,
    rules.find_uneven_tops,
    rules.find_repeated_documents,
    rules.find_missing_positives,
    rules.find_doubtful_columns,
    rules.find_text_columns,
    rules.find_tied_scores,
)

#: The rules that propose other scales.
_DECLARING: tuple[Rule, ...] = (
    rules.find_labels_out_of_scale,
    rules.find_copied_labels,
    rules.find_reversed_scales,
    rules.find_codes_on_top,
    rules.find_label_warnings,
)

#: Maximum number of times that the proposed scales are checked.
_MOST_ROUNDS = 20


def apply_rules(figures: Figures, applied: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the findings of rules, by default of all that apply, most serious first."""
    answers = figures.judged.answers is not None
    applied = (ANSWER_RULES if answers else RULES) if applied is None else applied
    found = [finding for rule in applied for finding in rule(figures)]
    found = [reword(finding) for finding in found] if answers else found
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def propose_scales(figures: Figures, found: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings, applied one after another until none is left.

    Changes depend on each other: if a code is removed or a scale reversed, its threshold differs.
    """
    judged = figures.judged
    declaring = _DECLARING if judged.answers is None else (*_DECLARING, find_undeclared_grades)
    scales = {view.name: as_given(view.label_counts) for view in judged.views}
    for _ in range(_MOST_ROUNDS):
        changes = ChainMap(*(dict(finding.changes or {}) for finding in found))  # the first one counts
        changed = {name: changes.get(name, aspect) for name, aspect in scales.items()}
        kept = {name: aspect for name, aspect in changed.items() if aspect is not None}
        if not kept or kept == scales:
            break
        if judged is figures.judged:
            given = judged.given
            labels = pd.DataFrame({"query_id": given.qids[given.pool_query], "doc_id": given.docnos})
            labels = labels.assign(**{view.name: view.label for view in given.views(tuple(scales))})
        scales, judged = kept, replace(read_judged(labels, Aspects(kept)), answers=judged.answers)
        found = apply_rules(Figures.of(judged, figures.retrieved), declaring)
    if judged.answers is not None:
        return {view.name: scale_to_declare(view) for view in judged.views}
    return {view.name: as_short(view.label_counts) for view in judged.views}


def findings_table(found: Sequence[Finding], scales: Aspects) -> pd.DataFrame:
    """Return findings as a table with the columns ``severity aspects finding remedy``."""
    rows = []
    for finding in found:
        left_out = [name for name, aspect in (finding.changes or {}).items() if aspect is None]
        declared = finding.changes is not None and not any(name in scales for name in left_out)
        remedy = declaration(scales) if declared else LOOK if left_out else finding.remedy
        rows.append([finding.severity, finding.aspects, finding.finding, remedy])
    return pd.DataFrame(rows, columns=["severity", "aspects", "finding", "remedy"], dtype=object)
