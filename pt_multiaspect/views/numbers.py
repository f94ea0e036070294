"""Formatting of numbers in results."""

from __future__ import annotations

import math

#: The minus sign of printed numbers; output for programs has "-".
MINUS = "−"


def decimals(value: float) -> str:
    """Return a number with four decimals, or few digits if it is tiny or large; '-' for NaN."""
    if math.isnan(value):
        return "-"
    size = abs(value)
    is_tiny = 0 < size < 0.00005  # four decimals would be 0.0000
    is_large = size >= 1_000_000
    if is_tiny or is_large:
        return with_minus(f"{value:.2g}")
    # The sum changes -0.0 to 0.0, which is printed without a minus sign.
    return with_minus(f"{value + 0.0:.4f}")


def interval_text(low: float, high: float) -> str:
    """Return an interval with four decimals; nothing if it is unknown."""
    if math.isnan(low):
        return ""
    return f"[{decimals(low)}, {decimals(high)}]"


def with_minus(number: str) -> str:
    """Return a formatted number with the minus sign of printed numbers."""
    if number.startswith("-"):
        return MINUS + number[1:]
    return number


def fixed_point(value: float, digits: int) -> str:
    """Return a number with a fixed number of decimals; '-' for NaN.

    If it is rounded to 0, it has no sign.
    """
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    is_zero = float(text) == 0
    if is_zero:
        return text.lstrip("-")
    return with_minus(text)


def level_text(confidence: float) -> str:
    """Return a confidence level in per cent with four digits, or more close to 1: '98.33 %'.

    Close to 1, there are enough decimals for two digits of its difference from 100 %: '99.9983 %'.
    """
    error = 100 * (1 - confidence)
    magnitude = math.floor(math.log10(error))  # of the first digit: -2 for 0.05
    digits = max(2, 1 - magnitude)
    rounded = round(100 - error, digits)
    return f"{rounded:.10g} %"


def percent(share: float, *limits: float) -> str:
    """Return a fraction in per cent, with as many digits as are necessary; '-' for NaN.

    It is rounded to one decimal, but neither to 0 or 100 nor across one of the limits, which are
    fractions.
    """
    if math.isnan(share):
        return "-"
    if 1 - 1e-6 < share < 1:
        return "> 99.9999 %"
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        text = f"{100 * share:.3g}"
    # The difference from 100 is formatted with the digits that it has.
    if text == "100.0" and share < 1:
        text = f"{100 - 100 * (1 - share):.6g}"
    for digits in range(2, 12):
        rounded = float(text)
        is_exact_enough = all(_is_on_side(rounded, share, limit) for limit in limits)
        if is_exact_enough:
            break
        text = f"{100 * share:.{digits}f}"
    return f"{text} %"


def _is_on_side(rounded: float, share: float, limit: float) -> bool:
    """Return whether a rounded percentage is on the side of a limit that the fraction is on.

    Any percentage is if the fraction equals the limit.
    """
    if math.isclose(share, limit, abs_tol=1e-12):
        return True
    limit_in_percent = 100 * limit
    if math.isclose(rounded, limit_in_percent):
        return False
    if share < limit:
        return rounded < limit_in_percent
    return rounded >= limit_in_percent
