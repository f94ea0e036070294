"""Formatting of numbers in results."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    """Return a confidence level in per cent with two decimals, or more close to 1: '98.33 %'.

    Close to 1, there are enough decimals for two digits of its difference from 100 %: '99.9983 %'.
    """
    error = 100 * (1 - confidence)  # 0.0017 in the second example
    exponent = math.floor(math.log10(error))  # of its first digit: -3, the third decimal
    decimals_for_two_digits = 1 - exponent  # 4
    n_decimals = max(2, decimals_for_two_digits)
    rounded = round(100 - error, n_decimals)
    return f"{rounded:.10g} %"  # without trailing zeros: '95 %'


def percent(share: float, *limits: float) -> str:
    """Return a fraction in per cent, with as many digits as are necessary; '-' for NaN.

    It is rounded to one decimal, but neither to 0 or 100 nor across one of the limits, which are
    fractions: '49.97 %' for 0.4997 with the limit 0.5.
    """
    if math.isnan(share):
        return "-"
    if 1 - 1e-6 < share < 1:
        return "> 99.9999 %"
    in_percent = 100 * share
    text = f"{in_percent:.1f}"
    if text == "0.0" and share > 0:
        text = f"{in_percent:.3g}"  # '0.0123'
    if text == "100.0" and share < 1:
        text = f"{in_percent:.6g}"  # '99.9876'
    # Take more decimals as long as the text is on the wrong side of a limit.
    n_decimals = 1
    while n_decimals < 11 and not _is_on_sides(float(text), share, limits):
        n_decimals += 1
        text = f"{in_percent:.{n_decimals}f}"
    return f"{text} %"


def _is_on_sides(rounded: float, share: float, limits: Sequence[float]) -> bool:
    """Return whether a rounded percentage is on the same side of each limit as the fraction.

    A fraction that equals a limit has no side: any percentage will do. For other fractions, a
    percentage that equals the limit is on neither side.
    """
    for limit in limits:
        equals_limit = math.isclose(share, limit, abs_tol=1e-12)
        if equals_limit:
            continue
        limit_in_percent = 100 * limit
        is_rounded_to_limit = math.isclose(rounded, limit_in_percent)
        is_below = share < limit
        is_rounded_below = rounded < limit_in_percent
        if is_rounded_to_limit or is_below != is_rounded_below:
            return False
    return True
