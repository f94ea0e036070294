"""Parts of tables of systems: best values, signs of baselines, groups, decimals and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from ..analysis._frames import Direction, Floats, directions_from_words, topics_differ
from ..analysis.baseline import compare_with_baseline
from ..errors import MultiAspectError, choices, refuse_repeated, refuse_unknown
from ..evaluation.long_frames import check_labels, measures_by_label
from ..integration.parsing import parse_all
from ..views import Mark, Sentence
from .heads import Head

#: The beginning of the note with the numbers of topics.
DIFFERENT_TOPICS = "Columns are over different topics"

#: Tolerance for ties, relative to the maximum (rounding errors of means).
_TOLERANCE = 1e-12

_TESTS = {
    "t": "paired t-test",
    "bootstrap": "paired bootstrap test",
    "permutation": "paired permutation test",
    "tukey": "randomised Tukey HSD test",
}
_CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "fdr_bh": "Benjamini–Hochberg",
    "fdr_by": "Benjamini–Yekutieli",
}

#: The signs of several baselines; superscripts of all of them are in Unicode.
_LETTERS = "abcdefghijklmnop"


def known_measures(perquery: pd.DataFrame, measures: Any) -> tuple[dict[str, Any], dict[str, Direction]]:
    """Return the measure of each label, None if unknown, and the directions given instead of measures."""
    words = directions_from_words(measures) if isinstance(measures, Mapping) else {}
    if not words:
        return measures_by_label(perquery, measures), {}
    labels = [str(label) for label in perquery["measure"].unique()]
    check_labels(labels, measures)
    named = {label: measure for label, measure in measures.items() if label not in words}
    parsed = parse_all(named) if named else {}
    return {label: None if label in words else parsed[label] for label in labels}, words


def best_marks(values: Floats, lower_is_better: bool) -> list[Mark]:
    """Mark the best and second best of unrounded values; none if all are equal."""
    gains = -values if lower_is_better else values
    near = _TOLERANCE * float(np.abs(gains).max())
    best = gains >= gains.max() - near
    if best.all():
        return [""] * len(gains)
    second = gains >= gains[~best].max() - near
    return [
        "best" if first else "second" if next_lower else "" for first, next_lower in zip(best, second, strict=True)
    ]


def test_name(test: str, correction: str | None) -> str:
    """Return a test and its correction in words."""
    corrected = (
        "" if correction is None or test == "tukey" else f", {_CORRECTIONS.get(correction, correction)} correction"
    )
    return f"{_TESTS[test]}{corrected}"


def rounded(value: float, digits: int) -> str:
    """Return a value with a minus sign (U+2212), and without one if it is rounded to 0."""
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def decimals_of(decimals: int | Mapping[str, int], heads: list[Head], known: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of decimals of each measure; by default, sums of counts have none."""
    labels = [head.label for head in heads]
    by_label: Mapping[str, int] = decimals if isinstance(decimals, Mapping) else {}
    default = 3 if isinstance(decimals, Mapping) else decimals
    refuse_unknown(by_label, labels, "measures", "decimals")
    for number in (default, *by_label.values()):
        if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= number <= 15:
            raise MultiAspectError(f"decimals: expected integers from 0 to 15, got {number!r}")
    return {label: int(by_label.get(label, 0 if _is_sum(known[label]) else default)) for label in labels}


def _is_sum(measure: Any) -> bool:
    if measure is None:
        return False
    aggregator = measure.aggregator()
    for _ in range(2):
        aggregator.add(1.0)
    return bool(aggregator.result() == 2)


def check_mean(head: Head, aggregated: float, values: Floats) -> None:
    """Check that an aggregate is the mean of the values of topics, which half widths require."""
    if not np.isclose(aggregated, values.mean(), rtol=1e-9, atol=1e-12):
        raise MultiAspectError(
            f"interval='half-width': {head.label} is not the mean of its per-query values; use interval='ends'"
        )


def baseline_signs(baseline: str | Sequence[str] | None) -> dict[str, str]:
    """Return the sign of each baseline: a dagger for one, letters for several."""
    if baseline is None:
        return {}
    names = [baseline] if isinstance(baseline, str) else list(baseline)
    if len(names) > len(_LETTERS):
        raise MultiAspectError(f"baseline: expected at most {len(_LETTERS)} baselines, got {len(names)}")
    return {names[0]: "†"} if len(names) == 1 else dict(zip(names, _LETTERS, strict=False))


def differences(
    perquery: pd.DataFrame, signs: Mapping[str, str], **options: Any
) -> dict[tuple[str, str], list[str]]:
    """Return the signs of the baselines from which a system differs significantly, by measure and system."""
    result: dict[tuple[str, str], list[str]] = {}
    if signs:
        compared = compare_with_baseline(perquery, list(signs), **options)
        significant = compared[compared["significant"]]
        for measure, against, name in significant[["measure", "baseline", "name"]].to_numpy(dtype=object):
            result.setdefault((measure, name), []).append(signs[against])
    return result


def grouped(groups: Mapping[str, Sequence[str]] | None, names: list[str]) -> dict[str | None, list[str]]:
    """Return the systems of each group, after checking that every system is in one."""
    if groups is None:
        return {None: names}
    if any(isinstance(members, str) for members in groups.values()):
        raise MultiAspectError("groups: expected a mapping {group: names of systems}, got a string as names")
    result: dict[str | None, list[str]] = {str(group): list(members) for group, members in groups.items()}
    assigned = [name for members in result.values() for name in members]
    refuse_unknown(assigned, names, "names of systems", "groups")
    refuse_repeated(assigned, "systems", "groups")
    refuse_unknown(names, assigned, "every system in one group", "groups")
    return {group: members for group, members in result.items() if members}


def topics_note(counts: Mapping[str, int], perquery: pd.DataFrame) -> list[Sentence]:
    """Return a sentence with the number of topics of each column, if columns are over different topics."""
    if not topics_differ(perquery):
        return []
    return [Sentence(f"{DIFFERENT_TOPICS}: {choices(f'{short} {count}' for short, count in counts.items())}.")]


def sign_notes(
    signs: Mapping[str, str],
    counts: Mapping[str, int],
    test: str,
    correction: str | None,
    alpha: float,
    ci: float | None,
    interval: str,
) -> list[Sentence]:
    """Return the sentences that explain intervals and signs."""
    low, high = min(counts.values()), max(counts.values())
    topics = f"{low} topics" if low == high else f"{low}–{high} topics"
    notes = []
    if ci is not None:
        ends = "± half the width" if interval == "half-width" else "[ends]"
        notes.append(Sentence(f"{ends} of the {100 * ci:g} % confidence interval (Student’s t, {topics})."))
    if signs:
        against = ", ".join(f"{name} ({sign})" for name, sign in signs.items())
        tested = f"{test_name(test, correction)}, p < {alpha:g}, {topics}"
        notes.append(Sentence(f"Significantly different from {against} ({tested})."))
    return notes
