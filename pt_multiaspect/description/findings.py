"""The findings of all rules, most serious first, and the scales they propose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from ..aspects import Aspect, Aspects
from ..collection import Judgments
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
    is_about_answers = statistics.judged.answers is not None
    if applied is None:
        applied = ANSWER_RULES if is_about_answers else RULES
    findings: list[Finding] = []
    for rule in applied:
        findings += merge_alike(list(rule(statistics)))
    if is_about_answers:
        findings = [reword(finding) for finding in findings]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def merge_alike(findings: Sequence[Finding]) -> list[Finding]:
    """Merge the findings of a rule that say the same of several aspects.

    They are in the order of the first ones.
    """
    groups: dict[tuple[str, str, bool], list[Finding]] = {}
    for finding in findings:
        key = (finding.severity, _without_name(finding), finding.changes is None)
        groups.setdefault(key, []).append(finding)
    return [_merge(group) for group in groups.values()]


def _without_name(finding: Finding) -> str:
    """Return the text of a finding with a placeholder for its aspect."""
    if not finding.aspects:
        return finding.finding
    return re.sub(rf"\b{re.escape(finding.aspects)}\b", _PLACEHOLDER, finding.finding)


def _merge(findings: Sequence[Finding]) -> Finding:
    """Return one finding for those that differ only in the aspect, its numbers and its remedy."""
    first = findings[0]
    names = ", ".join(finding.aspects for finding in findings)
    remedies = dict.fromkeys(finding.remedy for finding in findings)
    changes: dict[str, Aspect | None] | None = None
    if first.changes is not None:
        changes = {}
        for finding in findings:
            changes.update(finding.changes or {})
    return replace(
        first,
        aspects=names,
        finding=_text_with_numbers(findings, names),
        numbers="",
        remedy="\n".join(remedies),
        changes=changes,
    )


def _text_with_numbers(findings: Sequence[Finding], names: str) -> str:
    """Return the text of findings that are merged, with their numbers."""
    first = findings[0]
    text = first.finding
    if len(findings) > 1:
        text = _without_name(first).replace(_PLACEHOLDER, names)
    distinct = {finding.numbers for finding in findings if finding.numbers}
    if not distinct:
        return text
    if len(distinct) == 1:
        return f"{text} ({first.numbers})"
    numbers = "; ".join(f"{finding.aspects}: {finding.numbers}" for finding in findings)
    return f"{text} ({numbers})"


def propose_scales(statistics: Statistics, findings: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings, applied one after another until none is left.

    Changes depend on each other: if a code is removed or a scale reversed, its threshold differs.
    """
    judged = statistics.judged
    declaring = _DECLARING
    if judged.answers is not None:
        declaring = (*_DECLARING, find_undeclared_grades)
    scales = {view.name: as_given(view.label_counts) for view in judged.views}
    judgments = None
    for _ in range(_MOST_ROUNDS):
        changed = _change_scales(scales, findings)
        if not changed or changed == scales:
            break
        if judgments is None:
            judgments = _plain_judgments(judged.given, tuple(scales))
        scales = changed
        judged = replace(read_judged(judgments, Aspects(scales)), answers=judged.answers)
        findings = apply_rules(Statistics.of(judged, statistics.retrieved), declaring)
    if judged.answers is not None:
        return {view.name: scale_to_declare(view) for view in judged.views}
    return {view.name: as_short(view.label_counts) for view in judged.views}


def _change_scales(scales: Mapping[str, Aspect], findings: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings; the first change of an aspect counts."""
    changes: dict[str, Aspect | None] = {}
    for finding in findings:
        for name, changed in (finding.changes or {}).items():
            changes.setdefault(name, changed)
    result = {}
    for name, aspect in scales.items():
        changed = changes.get(name, aspect)
        if changed is not None:
            result[name] = changed
    return result


def _plain_judgments(judgments: Judgments, names: tuple[str, ...]) -> Judgments:
    """Return the judgments with the labels of some aspects only."""
    columns = {"query_id": judgments.qids[judgments.pool_query], "doc_id": judgments.docnos}
    frame = pd.DataFrame(columns)
    labels = {view.name: view.label for view in judgments.views(names)}
    return type(judgments)(frame.assign(**labels))


def findings_table(findings: Sequence[Finding], scales: Aspects) -> pd.DataFrame:
    """Return findings as a table with the columns ``severity aspects finding remedy``."""
    rows = []
    for finding in findings:
        remedy = _remedy(finding, scales)
        rows.append([finding.severity, finding.aspects, finding.finding, remedy])
    return pd.DataFrame(rows, columns=["severity", "aspects", "finding", "remedy"], dtype=object)


def _remedy(finding: Finding, scales: Aspects) -> str:
    """Return the remedy of a finding, given the scales that all findings propose."""
    if finding.changes is None:
        return finding.remedy
    left_out = [name for name, aspect in finding.changes.items() if aspect is None]
    still_proposed = [name for name in left_out if name in scales]
    if still_proposed:
        return LOOK
    return declaration(scales)
