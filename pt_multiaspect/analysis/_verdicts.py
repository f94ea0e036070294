"""Questions of robustness, and the rules of their verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._significance import ALPHA

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

#: By question: the source of the row, and when the order holds and does not hold. It is undecided
#: otherwise.
RULES = {
    "topics": ("a paired t-test over topics", "p is below .05", ""),
    "aspects": (
        "the same test on each aspect",
        "the difference is significant, with the same sign, on all",
        "it is significant with the other sign on one",
    ),
    "weights": (
        "all weightings of the aspects, each equally likely",
        "the sign is the same and p is below .05 under 95 % of them",
        "the sign is the other one under more than 5 %",
    ),
    "variants": (
        "the measure and its variants",
        "the sign is the same and p is below .05 by 95 % of them (of fewer than ten: by all)",
        "the sign is the other one by more than 5 % (of fewer than ten: by one)",
    ),
    "labels": (
        "all values of the missing labels",
        "the sign is the same for all of them",
        "it is the other one for all of them, or that of the expected difference",
    ),
    "judges": (
        "the labels of each judge of at least half of the documents",
        "all, and at least two, give the same sign",
        "most give the other sign",
    ),
}

#: The fraction of weightings, and of at least so many variants, that a conclusion needs.
MOST, _FEW_VARIANTS = 0.95, 10


def verdict_of(holds: bool, fails: bool) -> str:
    """Return the verdict; what both holds and fails is undecided."""
    if holds == fails:
        return UNDECIDED
    if holds:
        return HOLDS
    return FAILS


def verdict_of_fractions(significant: float, other: float) -> str:
    """Return the verdict of weightings, given the fractions for and against the order.

    These have the same sign and p < .05, and the other sign.
    """
    return verdict_of(significant >= MOST, other > 1 - MOST)


def verdict_of_variants(n_significant: int, n_other: int, n_variants: int) -> str:
    """Return the verdict of variants, of which few must all agree."""
    if n_variants < _FEW_VARIANTS:
        return verdict_of(n_significant == n_variants, n_other > 0)
    return verdict_of_fractions(n_significant / n_variants, n_other / n_variants)


def verdict_of_labels(sign: float, low: float, high: float, expected: float) -> str:
    """Return the verdict of missing labels, given the interval of a difference and its mean."""
    certain_sign = float(low > 0) - float(high < 0)
    fails = certain_sign == -sign or np.sign(expected) == -sign
    return verdict_of(certain_sign == sign, fails)


def verdict_of_judges(signs: Sequence[float], sign: float) -> str:
    """Return the verdict of judges, from the sign of the difference by the labels of each."""
    n_other = sum(own == -sign for own in signs)
    return verdict_of(all(own == sign for own in signs), n_other > len(signs) / 2)


def p_value(p: float) -> str:
    """Return a p-value with its relation, never rounded to the significance level."""
    if p < 0.0001:
        return "p < 0.0001"
    text = f"{p:#.3g}"
    for digits in range(4, 12):
        if p == ALPHA or float(text) != ALPHA:
            break
        text = f"{p:#.{digits}g}"
    return f"p = {text}"
