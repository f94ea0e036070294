"""The findings of all rules, most serious first, and the scales they propose."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from ..aspects import Aspect, Aspects
from ..collection.label_rules import as_given, as_short
from . import rules
from .answer_rules import ANSWER_RULES, find_undeclared_grades, reword
from .scales import read_judged, scale_to_declare
from .statistics import LOOK, Finding, Statistics, declaration

#: "error": values are rejected or meaningless; "warning": they are likely not as intended; "note":
#: for information.
SEVERITIES = ("error", "warning", "note")

Rule = Callable[[Statistics], Iterator[Finding]]

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
    rules.find_added_columns,
    rules.find_tied_scores,
    rules.find_nested_topics,
)

#: The rules that propose other scales.
_DECLARING: tuple[Rule, ...] = (
    rules.find_labels_out_of_scale,
    rules.find_copied_labels,
    rules.find_reversed_scales,
    rules.find_codes_on_top,
    rules.find_label_warnings,
)

#: Stands for the name of an aspect in texts that are compared.
_PLACEHOLDER = "\0"

#: Maximum number of times that the proposed scales are checked.
_MOST_ROUNDS = 20


def apply_rules(statistics: Statistics, applied: Sequence[Rule] | None = None) -> list[Finding]:
    """Return the findings of rules, by default of all that apply, most serious first."""
    answers = statistics.judged.answers is not None
    if applied is None:
        applied = ANSWER_RULES if answers else RULES
    else:
        applied = applied
    found: list[Finding] = []
    for rule in applied:
        found += merge_alike(list(rule(statistics)))
    if answers:
        found = [reword(finding) for finding in found]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def merge_alike(found: Sequence[Finding]) -> list[Finding]:
    """Merge the findings of a rule that say the same of several aspects, in the order of the first ones."""
    alike: dict[tuple[str, str, bool], list[Finding]] = {}
    for finding in found:
        key = (finding.severity, _without_name(finding), finding.changes is None)
        alike.setdefault(key, []).append(finding)
    return [_merge(findings) for findings in alike.values()]


def _without_name(finding: Finding) -> str:
    """Return the text of a finding with a placeholder for its aspect."""
    if not finding.aspects:
        return finding.finding
    return re.sub(rf"\b{re.escape(finding.aspects)}\b", _PLACEHOLDER, finding.finding)


def _merge(findings: Sequence[Finding]) -> Finding:
    """Return one finding for those that differ only in the aspect, its numbers and its remedy."""
    first = findings[0]
    names = ", ".join(finding.aspects for finding in findings)
    text = first.finding
    if len(findings) > 1:
        text = _without_name(first).replace(_PLACEHOLDER, names)
    numbers = dict.fromkeys(finding.numbers for finding in findings if finding.numbers)
    if len(numbers) == 1:
        text += f" ({first.numbers})"
    elif numbers:
        listed = "; ".join(f"{finding.aspects}: {finding.numbers}" for finding in findings)
        text += f" ({listed})"
    changes: dict[str, Aspect | None] = {}
    for finding in findings:
        changes.update(finding.changes or {})
    return replace(
        first,
        aspects=names,
        finding=text,
        numbers="",
        remedy="\n".join(dict.fromkeys(finding.remedy for finding in findings)),
        changes=None if first.changes is None else changes,
    )


def propose_scales(statistics: Statistics, found: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings, applied one after another until none is left.

    Changes depend on each other: if a code is removed or a scale reversed, its threshold differs.
    """
    judged = statistics.judged
    if judged.answers is None:
        declaring = _DECLARING
    else:
        declaring = (*_DECLARING, find_undeclared_grades)
    scales = {view.name: as_given(view.label_counts) for view in judged.views}
    for _ in range(_MOST_ROUNDS):
        changes = ChainMap(
            *(dict(finding.changes or {}) for finding in found)
        )  # the first one counts
        changed = {name: changes.get(name, aspect) for name, aspect in scales.items()}
        kept = {name: aspect for name, aspect in changed.items() if aspect is not None}
        if not kept or kept == scales:
            break
        if judged is statistics.judged:
            given = judged.given
            labels = pd.DataFrame(
                {"query_id": given.qids[given.pool_query], "doc_id": given.docnos}
            )
            labels = labels.assign(**{view.name: view.label for view in given.views(tuple(scales))})
            judgments = type(given)(labels)
        scales, judged = (
            kept,
            replace(read_judged(judgments, Aspects(kept)), answers=judged.answers),
        )
        found = apply_rules(Statistics.of(judged, statistics.retrieved), declaring)
    if judged.answers is not None:
        return {view.name: scale_to_declare(view) for view in judged.views}
    return {view.name: as_short(view.label_counts) for view in judged.views}


def findings_table(found: Sequence[Finding], scales: Aspects) -> pd.DataFrame:
    """Return findings as a table with the columns ``severity aspects finding remedy``."""
    rows = []
    for finding in found:
        left_out = [name for name, aspect in (finding.changes or {}).items() if aspect is None]
        declared = finding.changes is not None and not any(name in scales for name in left_out)
        if declared:
            remedy = declaration(scales)
        elif left_out:
            remedy = LOOK
        else:
            remedy = finding.remedy
        rows.append([finding.severity, finding.aspects, finding.finding, remedy])
    return pd.DataFrame(rows, columns=["severity", "aspects", "finding", "remedy"], dtype=object)
