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
    """Return the verdict, given whether the conditions of 'holds' and 'does not hold' are met.

    The verdict is undecided if neither is met, or both.
    """
    if holds and not fails:
        return HOLDS
    if fails and not holds:
        return FAILS
    return UNDECIDED


def verdict_of_fractions(significant: float, other: float) -> str:
    """Return the verdict of weightings, given the fractions for and against the order.

    Parameters
    ----------
    significant : float in [0, 1]
        The fraction that gives the same sign, and p < .05.
    other : float in [0, 1]
        The fraction that gives the other sign.
    """
    holds = significant >= MOST
    fails = other > 1 - MOST
    return verdict_of(holds, fails)


def verdict_of_variants(n_significant: int, n_other: int, n_variants: int) -> str:
    """Return the verdict of variants, all of which must agree if they are few.

    `n_significant` is the number of those with the same sign and p < .05, `n_other` that of those
    with the other sign.
    """
    if n_variants < _FEW_VARIANTS:
        return verdict_of(n_significant == n_variants, n_other > 0)
    significant = n_significant / n_variants
    other = n_other / n_variants
    return verdict_of_fractions(significant, other)


def verdict_of_labels(sign: float, low: float, high: float, expected: float) -> str:
    """Return the verdict of missing labels.

    Parameters
    ----------
    sign : float
        The observed sign of the difference, 1 or −1.
    low, high : float
        The ends of the difference over all missing labels, NaN if not known.
    expected : float
        The expected difference, NaN if not known.
    """
    if low > 0:
        certain_sign = 1.0
    elif high < 0:
        certain_sign = -1.0
    else:
        certain_sign = 0.0
    holds = certain_sign == sign
    is_certainly_other = certain_sign == -sign
    is_expected_other = np.sign(expected) == -sign
    return verdict_of(holds, is_certainly_other or is_expected_other)


def verdict_of_judges(signs: Sequence[float], sign: float) -> str:
    """Return the verdict of judges, from the sign of the difference by the labels of each.

    `sign` is the sign by the labels of all judges, 1 or −1.
    """
    n_same = sum(sign_of_judge == sign for sign_of_judge in signs)
    n_other = sum(sign_of_judge == -sign for sign_of_judge in signs)
    n_judges = len(signs)
    return verdict_of(n_same == n_judges, n_other > n_judges / 2)


def p_value(p: float) -> str:
    """Return a p-value with its relation, such as 'p = 0.0123'.

    Three digits are shown, but more of a value that would be rounded to the significance level.
    """
    if p < 0.0001:
        return "p < 0.0001"
    if p == ALPHA:
        return f"p = {p:#.3g}"
    for n_digits in range(3, 12):
        text = f"{p:#.{n_digits}g}"
        if float(text) != ALPHA:
            break
    return f"p = {text}"
