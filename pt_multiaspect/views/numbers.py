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
    """Return a confidence level in per cent with two decimals, or more close to 1: '98.33 %'.

    Close to 1, there are enough decimals for two digits of its difference from 100 %: '99.9983 %'.
    """
    error = 100 * (1 - confidence)  # 0.0017 in the second example
    # 0.0017 is at least 10 ** -3, so that its first digit is the third decimal.
    first_decimal = -math.floor(math.log10(error))
    second_decimal = first_decimal + 1
    n_decimals = max(2, second_decimal)
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
    # `_short_percent` does not round to 0 or 100. More decimals are for the limits only.
    text = _short_percent(share)
    for n_decimals in range(2, 12):
        rounded = float(text)
        if all(_is_on_side(rounded, share, limit) for limit in limits):
            break
        text = f"{100 * share:.{n_decimals}f}"
    return f"{text} %"


def _short_percent(share: float) -> str:
    """Return a fraction in per cent with one decimal, or with more if that were 0 or 100."""
    in_percent = 100 * share
    text = f"{in_percent:.1f}"
    if text == "0.0" and share > 0:
        return f"{in_percent:.3g}"  # '0.0123'
    if text == "100.0" and share < 1:
        return f"{in_percent:.6g}"  # '99.9876'
    return text


def _is_on_side(rounded: float, share: float, limit: float) -> bool:
    """Return whether a rounded percentage is on the same side of a limit as the fraction.

    A fraction that equals the limit has no side: any percentage will do.
    """
    if math.isclose(share, limit, abs_tol=1e-12):
        return True
    limit_in_percent = 100 * limit
    if math.isclose(rounded, limit_in_percent):
        return False
    if share < limit:
        return rounded < limit_in_percent
    return rounded > limit_in_percent
