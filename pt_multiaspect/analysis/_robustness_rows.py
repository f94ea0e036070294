"""The rows of robustness: one question each, with its verdict and what decides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..errors import choices, number_of
from ..evaluation.aggregation import ALL
from ..views import decimals, percent
from .judges import JudgeSensitivity
from .missing_labels import MissingLabels
from .multiverse import Multiverse
from .preferences import PreferenceAgreement
from .weightings import Weightings

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

#: By question: the source of the row, and when the order holds and does not hold. It is undecided otherwise.
RULES = {
    "topics": ("a paired t-test over topics", "p is below alpha", ""),
    "aspects": (
        "the same test on each aspect",
        "the difference is significant, with the same sign, on all",
        "it is significant with the other sign on one",
    ),
    "weights": (
        "all weightings of the aspects, each equally likely",
        "the sign is the same and p is below alpha under 95 % of them",
        "the sign is the other one under more than 5 %",
    ),
    "variants": (
        "the measure and its variants",
        "the sign is the same and p is below alpha by 95 % of them (of fewer than ten: by all)",
        "the sign is the other one by more than 5 % (of fewer than ten: by one)",
    ),
    "labels": (
        "all values of the missing labels",
        "the sign is the same for all of them",
        "it is the other one for all of them, or that of the expected difference",
    ),
    "judges": ("the labels of each judge", "all give the same sign", "most give the other sign"),
    "preferences": ("the agreement of the measure with preferences of people", "", ""),
}

#: The fraction of weightings, and of at least so many variants, that a conclusion needs.
_MOST, _FEW_VARIANTS = 0.95, 10

#: Differences of at most this, relative to the maximum, are rounding errors.
_ROUNDING = 1e-12

#: The columns of numbers.
NUMBERS = ["difference", "low", "high", "p", "detectable", "same_sign", "significant"]

Rows = list[dict[str, Any]]


def verdict(holds: bool, fails: bool) -> str:
    """Return the verdict; what both holds and fails is undecided."""
    return UNDECIDED if holds == fails else HOLDS if holds else FAILS


def verdict_of_fractions(significant: float, other: float) -> str:
    """Return the verdict of weightings: the fractions with the same sign and p < alpha, and with the other sign."""
    return verdict(significant >= _MOST, other > 1 - _MOST)


def verdict_of_variants(n_significant: int, n_other: int, n_variants: int) -> str:
    """Return the verdict of variants, of which few must all agree."""
    if n_variants < _FEW_VARIANTS:
        return verdict(n_significant == n_variants, n_other > 0)
    return verdict_of_fractions(n_significant / n_variants, n_other / n_variants)


def verdict_of_labels(sign: float, low: float, high: float, expected: float) -> str:
    """Return the verdict of missing labels, from the interval of the difference and the expected one."""
    certain = float(low > 0) - float(high < 0)
    return verdict(certain == sign, certain == -sign or np.sign(expected) == -sign)


def verdict_of_judges(signs: Sequence[float], sign: float) -> str:
    """Return the verdict of judges, from the sign of the difference by the labels of each."""
    n_other = sum(own == -sign for own in signs)
    return verdict(all(own == sign for own in signs), n_other > len(signs) / 2)


def p_value(p: float) -> str:
    """Return a p-value with its relation."""
    return "p unknown" if np.isnan(p) else "p < 0.0001" if p < 0.0001 else f"p = {p:#.3g}"


def _each(
    question: str, claims: pd.DataFrame, frame: pd.DataFrame, judge: Callable[[Any, list[Any]], dict[str, Any]]
) -> Rows:
    """Return one row per claim that the frame has rows of; rows without a group are those of all topics."""
    keys = [key for key in ("group", "a", "b") if key in claims]
    by_keys: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
    for row in frame.to_dict("records"):
        by_keys.setdefault(tuple(row.get(key, ALL) for key in keys), []).append(row)
    rows: Rows = []
    for claim in claims.to_dict("records"):
        pair: dict[str, Any] = {key: claim[key] for key in keys}
        if found := by_keys.get(tuple(pair.values())):
            answer = judge(claim, found)
            if answer["verdict"] and not claim["sign"]:
                answer["verdict"] = UNDECIDED
            rows.append({**pair, "question": question, **answer})
    return rows


def topic_rows(claims: pd.DataFrame, alpha: float, n_family: int, correction: str | None) -> Rows:
    """Return the rows of the test of the claims themselves."""
    n_groups = claims["group"].nunique() - 1 if "group" in claims else 1

    def judge(claim: Any, _: list[Any]) -> dict[str, Any]:
        columns = ["difference", "low", "high", "p", "detectable"]
        n_pairs = n_family if claim.get("group", ALL) == ALL else n_family * n_groups
        is_corrected = correction is not None and n_pairs > 1
        note = " (not corrected)" if is_corrected else ""
        pairs = f" ({str(correction).capitalize()}, {n_pairs} pairs)" if is_corrected else ""
        interval = f"[{decimals(claim['low'])}, {decimals(claim['high'])}]"
        evidence = (
            f"difference {decimals(claim['difference'])}, {100 * (1 - alpha):g} % interval {interval}{note}, "
            f"{p_value(claim['p'])}{pairs}"
        )
        if not np.isnan(claim["detectable"]):
            evidence += f"; detectable {decimals(claim['detectable'])}"
        holds = verdict(claim["p"] < alpha, False)
        return {"verdict": holds, "evidence": evidence, **{name: claim[name] for name in columns}}

    return _each("topics", claims, claims, judge)


def aspect_rows(claims: pd.DataFrame, aspects: pd.DataFrame, alpha: float) -> Rows:
    """Return the rows of the aspects, from the tests on each: ``a b aspect gain p``, higher gains are better."""

    def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
        gain = np.sign([row["gain"] for row in rows])
        significant = np.array([row["p"] < alpha for row in rows])
        same, other = gain == claim["sign"], gain == -claim["sign"]
        words = {1.0: "better", -1.0: "worse", 0.0: "equal"}
        parts = [
            f"{'significantly ' if tested else ''}{words[float(sign)]} on {row['aspect']} ({p_value(row['p'])})"
            for row, sign, tested in zip(rows, gain, significant, strict=True)
        ]
        return {
            "verdict": verdict(bool((same & significant).all()), bool((other & significant).any())),
            "evidence": choices(parts),
            "same_sign": same.mean(),
            "significant": (same & significant).mean(),
        }

    return _each("aspects", claims, aspects, judge)


def weight_rows(claims: pd.DataFrame, found: Weightings) -> Rows:
    """Return the rows of weightings."""

    def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
        (row,) = rows
        same, other = row["fraction"], row["fraction_lower"]
        if claim["sign"] < 0:
            same, other = other, same
        significant = row["fraction_significant"]
        evidence = f"{percent(same)} of weightings give the same sign, {percent(significant)} significantly"
        if row["reversal"]:
            evidence += f"; reversed by {row['reversal']}"
        holds = verdict_of_fractions(significant, other)
        return {"verdict": holds, "evidence": evidence, "same_sign": same, "significant": significant}

    return _each("weights", claims, found.pairs, judge)


def variant_rows(claims: pd.DataFrame, found: Multiverse, alpha: float) -> Rows:
    """Return the rows of the variants with distinct values."""
    distinct = found.variants[found.variants["same_as"].isna()]

    def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
        signs = np.sign([row["difference"] for row in rows])
        significant = np.array([row["p"] < alpha for row in rows]) & (signs == claim["sign"])
        names = np.array([row["measure"] for row in rows], dtype=object)
        same, other = signs == claim["sign"], signs == -claim["sign"]
        evidence = f"{same.sum()} of {number_of(len(rows), 'measure')} give the same sign, "
        evidence += f"{significant.sum()} significantly"
        if other.any():
            evidence += f"; reversed by {choices(names[other])}"
        elif not significant.all():
            evidence += f"; not significant by {choices(names[~significant])}"
        return {
            "verdict": verdict_of_variants(int(significant.sum()), int(other.sum()), len(rows)),
            "evidence": evidence,
            "same_sign": same.mean(),
            "significant": significant.mean(),
        }

    return _each("variants", claims, distinct, judge)


def label_rows(claims: pd.DataFrame, found: MissingLabels, lower_is_better: bool) -> Rows:
    """Return the rows of missing labels, whose pairs may be the other way round."""
    swapped = found.pairs.rename(columns={"a": "b", "b": "a"})
    turned = {"difference": -swapped["difference"], "low": -swapped["high"], "high": -swapped["low"]}
    if "expected" in swapped:
        turned["expected"] = -swapped["expected"]
    both = pd.concat([found.pairs, swapped.assign(**turned)], ignore_index=True)
    universe = found.universe.to_dict("records")
    missing = choices(f"{row['missing']} of {row['aspect']}" for row in universe if row["missing"])

    def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
        row = rows[0]
        low, high, expected = row["low"], row["high"], row.get("expected", np.nan)
        evidence = f"labels missing: {missing or 'none'}; difference in [{decimals(low)}, {decimals(high)}]"
        if not np.isnan(expected):
            evidence += f", expected {decimals(expected)}"
        sign = -claim["sign"] if lower_is_better else claim["sign"]
        ends = {"low": low, "high": high, "difference": expected}
        return {"verdict": verdict_of_labels(sign, low, high, expected), "evidence": evidence, **ends}

    return _each("labels", claims, both, judge)


def judge_rows(claims: pd.DataFrame, found: JudgeSensitivity, lower_is_better: bool) -> Rows:
    """Return the rows of judges, from the means of the runs by the labels of each."""
    means = found.runs.pivot(index="name", columns="judge", values="value") * (-1 if lower_is_better else 1)
    zero = _ROUNDING * float(means.abs().to_numpy().max())

    def judge(claim: Any, _: list[Any]) -> dict[str, Any]:
        differences = means.loc[claim["a"]] - means.loc[claim["b"]]
        signs = np.sign(differences.where(differences.abs() > zero, 0.0))
        n_same = int((signs == claim["sign"]).sum())
        evidence = f"{n_same} of {number_of(len(signs), 'judge')} give the same sign"
        other = signs.index[signs == -claim["sign"]]
        if len(other):
            evidence += f"; {choices(map(str, other))} {'gives' if len(other) == 1 else 'give'} the other"
        return {
            "verdict": verdict_of_judges(signs.tolist(), claim["sign"]),
            "evidence": evidence,
            "same_sign": n_same / len(signs),
        }

    of_all = claims[claims["group"] == ALL] if "group" in claims else claims
    return _each("judges", of_all, of_all, judge)


def preference_rows(claims: pd.DataFrame, found: PreferenceAgreement) -> Rows:
    """Return the rows of the agreement of the measure with preferences, the same for all pairs."""
    by_group = {row.get("group", ALL): row for row in found.table.to_dict("records")}

    def judge(claim: Any, _: list[Any]) -> dict[str, Any]:
        row = by_group[claim.get("group", ALL)]
        interval = f"[{decimals(row['low'])}, {decimals(row['high'])}]"
        evidence = (
            f"the measure agrees with {decimals(row['agreement'])} of "
            f"{number_of(row['n_strict'], 'strict preference')} on {number_of(row['n_topics'], 'topic')}, "
            f"{100 * found.ci:g} % interval {interval}"
        )
        return {"verdict": "", "evidence": evidence}

    return _each("preferences", claims, claims, judge)
