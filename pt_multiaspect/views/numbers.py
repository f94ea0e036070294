"""Formatting of numbers in results."""

from __future__ import annotations

import math

#: The minus sign of printed numbers; output for programs has "-".
MINUS = "−"


def decimals(value: float) -> str:
    """Return a number with four decimals, or few digits if it is tiny or large; '-' for NaN."""
    if math.isnan(value):
        return "-"
    if value and (abs(value) < 5e-5 or abs(value) >= 1e6):
        return with_minus(f"{value:.2g}")
    return with_minus(f"{value + 0.0:.4f}")  # no -0


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
    if float(text):
        return with_minus(text)
    return text.lstrip("-")


def level_text(confidence: float) -> str:
    """Return a confidence level in per cent with four digits, or more close to 1: '98.33 %'."""
    error = 100 * (1 - confidence)
    magnitude = math.floor(math.log10(error))
    digits = max(2, 1 - magnitude)
    rounded = round(100 - error, digits)
    return f"{rounded:.10g} %"


def percent(share: float, *limits: float) -> str:
    """Return a fraction in per cent, never rounded to 0, 100 or a limit beside it; '-' for NaN."""
    if 1 - 1e-6 < share < 1:
        return "> 99.9999 %"
    if math.isnan(share):
        return "-"
    text = f"{100 * share:.1f}"
    if text == "0.0" and share > 0:
        text = f"{100 * share:.3g}"
    if text == "100.0" and share < 1:
        text = f"{100 - 100 * (1 - share):.6g}"
    for digits in range(2, 12):
        rounded = float(text)
        if all(_is_on_side(rounded, share, limit) for limit in limits):
            break
        text = f"{100 * share:.{digits}f}"
    return f"{text} %"


def _is_on_side(rounded: float, share: float, limit: float) -> bool:
    """Return whether a rounded percentage is on the side of a limit of the fraction itself."""
    if share == limit or math.isclose(share, limit, abs_tol=1e-12):
        return True
    if math.isclose(rounded, 100 * limit):
        return False
    return (rounded < 100 * limit) == (share < limit)
