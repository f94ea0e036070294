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
from .scales import Judged, read_judged, scale_to_declare, with_labels
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
    if applied is None and is_about_answers:
        applied = ANSWER_RULES
    elif applied is None:
        applied = RULES
    findings: list[Finding] = []
    for rule in applied:
        findings_of_rule = list(rule(statistics))
        findings += merge_alike(findings_of_rule)
    if is_about_answers:
        findings = list(map(reword, findings))
    return sorted(findings, key=_seriousness)


def _seriousness(finding: Finding) -> int:
    """Return the position of a finding's severity, 0 for errors, by which findings are sorted."""
    return SEVERITIES.index(finding.severity)


def merge_alike(findings: Sequence[Finding]) -> list[Finding]:
    """Merge the findings of a rule that say the same of several aspects.

    They are in the order of the first ones.
    """
    groups: dict[tuple[str, str, bool], list[Finding]] = {}
    for finding in findings:
        text = _without_name(finding)
        has_changes = finding.changes is not None
        key = (finding.severity, text, has_changes)
        group = groups.setdefault(key, [])
        group.append(finding)
    return list(map(_merge, groups.values()))


def _without_name(finding: Finding) -> str:
    """Return the text of a finding with a placeholder for its aspect."""
    if not finding.aspects:
        return finding.finding
    name = re.escape(finding.aspects)
    return re.sub(rf"\b{name}\b", _PLACEHOLDER, finding.finding)


def _merge(findings: Sequence[Finding]) -> Finding:
    """Return one finding for those that differ only in the aspect, its numbers and its remedy."""
    first = findings[0]
    names = ", ".join(finding.aspects for finding in findings)
    # The distinct remedies, in their order.
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
    """Return the text of findings that are merged, with their numbers in parentheses.

    `names` are those of their aspects. Numbers that differ between aspects are listed by aspect.
    """
    first = findings[0]
    text = first.finding
    if len(findings) > 1:
        text = _without_name(first).replace(_PLACEHOLDER, names)
    with_numbers = [finding for finding in findings if finding.numbers]
    distinct_numbers = {finding.numbers for finding in with_numbers}
    if not distinct_numbers:
        return text
    if len(distinct_numbers) == 1:
        numbers_of_all = with_numbers[0].numbers
        return f"{text} ({numbers_of_all})"
    numbers_by_aspect = []
    for finding in with_numbers:
        numbers_by_aspect.append(f"{finding.aspects}: {finding.numbers}")
    listed = "; ".join(numbers_by_aspect)
    return f"{text} ({listed})"


def propose_scales(statistics: Statistics, findings: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales that resolve findings; aspects that are to be left out are missing.

    The changes of the findings are made, and the rules applied to the changed scales, until they
    propose no more changes: if a code is removed or a scale reversed, its threshold differs.
    """
    judged = statistics.judged
    has_changes = any(finding.changes for finding in findings)
    if not has_changes:
        return _scales_to_declare(judged)
    scales = {view.name: as_given(view.label_counts) for view in judged.views}
    # All rounds read the same labels on other scales.
    labelled_judgments = _select_labels(judged.given, tuple(scales))
    for _ in range(_MOST_ROUNDS):
        changed_scales = _change_scales(scales, findings)
        are_all_left_out = not changed_scales
        if are_all_left_out or changed_scales == scales:
            break
        scales = changed_scales
        judged_on_scales = read_judged(labelled_judgments, Aspects(scales))
        judged = replace(judged_on_scales, answers=judged.answers)
        findings = _findings_about_scales(judged, statistics)
    return _scales_to_declare(judged)


def _findings_about_scales(judged: Judged, statistics: Statistics) -> list[Finding]:
    """Return the findings of rules that propose other scales.

    `judged` has changed scales, and `statistics` are those of the original ones.
    """
    declaring = _DECLARING
    if judged.answers is not None:
        declaring = (*_DECLARING, find_undeclared_grades)
    # The statistics of runs do not depend on scales.
    changed_statistics = Statistics.of(judged, statistics.retrieved)
    return apply_rules(changed_statistics, declaring)


def _scales_to_declare(judged: Judged) -> dict[str, Aspect]:
    """Return the scales of judgments in the form in which they are declared."""
    is_about_answers = judged.answers is not None
    scales = {}
    for view in judged.views:
        if is_about_answers:
            # Scores of answers in [0, 1] are values, whose grades are not declared.
            scales[view.name] = scale_to_declare(view)
        else:
            scales[view.name] = as_short(view.label_counts)
    return scales


def _change_scales(scales: Mapping[str, Aspect], findings: Sequence[Finding]) -> dict[str, Aspect]:
    """Return the scales with the changes of findings; the first change of an aspect counts.

    Aspects that a finding leaves out are missing.
    """
    changes: dict[str, Aspect | None] = {}
    for finding in findings:
        changes_of_finding = finding.changes or {}
        for name, changed in changes_of_finding.items():
            changes.setdefault(name, changed)
    changed_scales = {}
    for name, aspect in scales.items():
        changed = changes.get(name, aspect)
        if changed is not None:  # None for an aspect that is left out
            changed_scales[name] = changed
    return changed_scales


def _select_labels(judgments: Judgments, names: tuple[str, ...]) -> Judgments:
    """Return the judgments with the labels of some aspects only."""
    labels = {}
    for view in judgments.views(names):
        labels[view.name] = view.label
    return with_labels(judgments, labels)


def findings_table(findings: Sequence[Finding], scales: Aspects) -> pd.DataFrame:
    """Return findings as a table with the columns ``severity aspects finding remedy``.

    `scales` are those that all findings propose.
    """
    columns = ["severity", "aspects", "finding", "remedy"]
    rows = []
    for finding in findings:
        remedy = _remedy(finding, scales)
        rows.append([finding.severity, finding.aspects, finding.finding, remedy])
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _remedy(finding: Finding, scales: Aspects) -> str:
    """Return the remedy of a finding as code, given the scales that all findings propose."""
    if finding.changes is None:
        return finding.remedy
    left_out = [name for name, changed in finding.changes.items() if changed is None]
    # If another finding declares a scale of such an aspect instead, there is no single remedy.
    is_disputed = not scales.keys().isdisjoint(left_out)
    if is_disputed:
        return LOOK
    return declaration(scales)
