"""What is odd about the figures, most serious first, each with a remedy to paste."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from . import aspect_rules, run_rules
from .figures import Figures, Finding

__all__ = ["SEVERITIES", "findings"]

#: "error": values are refused or mean nothing; "warning": they are likely not what is wanted; "note": look.
SEVERITIES = ("error", "warning", "note")

Rule = Callable[[Figures], Iterator[Finding]]

#: Findings of equal severity come in this order.
RULES: tuple[Rule, ...] = (
    aspect_rules.out_of_scale,
    run_rules.look_alike,
    run_rules.other_collection,
    aspect_rules.different_documents,
    aspect_rules.copied,
    aspect_rules.never_judged,
    run_rules.refused,
    aspect_rules.reversed_scale,
    aspect_rules.code_on_top,
    aspect_rules.constant,
    aspect_rules.starts_above_zero,
    aspect_rules.threshold,
    aspect_rules.below_scale,
    run_rules.inferred_scales,
    run_rules.unequal_axes,
    run_rules.sparse_top,
    run_rules.repeated,
    aspect_rules.no_positive,
    aspect_rules.no_label_column,
    aspect_rules.text_column,
    run_rules.tied,
)


def findings(figures: Figures) -> pd.DataFrame:
    """Apply all rules; columns ``severity aspects finding remedy``."""
    found = [finding for rule in RULES for finding in rule(figures)]
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    columns = ["severity", "aspects", "finding", "remedy"]
    return pd.DataFrame(
        [[getattr(one, column) for column in columns] for one in found], columns=columns, dtype=object
    )
