"""The summary of a report: what it found, in a few sentences."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..analysis import weightings
from ..analysis._significance import corrector
from ..analysis.weightings import has_linear_weights
from ..errors import MultiAspectError, choices, number_of
from ..integration.aggregators import aggregate_is_mean
from ..tables.content import best_marks
from ..views import decimals, percent
from .figures import Figures, interval_values, rows_of_group

#: Relative tolerance for equal differences of means (rounding errors).
_TOLERANCE = 1e-9


def summary(figures: Figures) -> str:
    """Return what the report found on its main measure, in a few sentences.

    The best system is compared with the baseline. Without one, it is compared with the next best system, and p is
    corrected for all pairs.
    """
    head = next(head for head in figures.heads if head.label == figures.main)
    table = rows_of_group(figures.systems)
    names, means = table["name"].tolist(), table[head.label].to_numpy(dtype=np.float64)
    if not np.isfinite(means).all():
        return f"{head.short} is undefined for {choices(np.array(names)[~np.isfinite(means)])}."
    superlative, above = ("lowest", "below") if head.lower_is_better else ("highest", "above")
    on = f"on {head.short}{' (lower is better)' if head.lower_is_better else ''}"
    topics = number_of(figures.perquery["qid"].nunique(), "topic")
    if len(names) == 1:
        return f"Over {topics}, {names[0]} has the value {_value(figures, table, head.label, 0)} {on}."
    marks = best_marks(means, head.lower_is_better)
    best = [name for name, mark in zip(names, marks, strict=True) if mark == "best"]
    if not best:
        return f"Over {topics}, the {len(names)} systems have the same value {on}, {decimals(means[0])}."
    if figures.tests is not None and figures.baseline is not None:
        text = _against_baseline(figures, table, figures.tests.comparisons, figures.baseline, above, on)
        return f"Over {topics}, {text}"
    leader = (
        f"Over {topics}, {choices(best)} {'has' if len(best) == 1 else 'have'} the {superlative} value of "
        f"{len(names)} systems {on}: {_value(figures, table, head.label, names.index(best[0]))}."
    )
    if figures.tests is None or len(best) > 1:
        return leader
    next_best = [name for name, mark in zip(names, marks, strict=True) if mark == "second"]
    return f"{leader} {_against_next(figures, table, best[0], next_best, above)}"


def _value(figures: Figures, table: pd.DataFrame, label: str, row: int) -> str:
    """Return the value of a system, with its confidence interval if there is one."""
    value = decimals(float(table[label].iloc[row]))
    ends = interval_values(table, label, figures.options.ci)
    if ends is None:
        return value
    interval = f"[{decimals(ends[0][row])}, {decimals(ends[1][row])}]"
    return f"{value} ({100 * figures.options.ci:g} % confidence interval {interval})"


def _against_next(figures: Figures, table: pd.DataFrame, best: str, next_best: list[str], above: str) -> str:
    """Return the difference between the best system and the next, and the further systems that equal the next."""
    rival, *tied = next_best
    p = _p_among_all_pairs(figures, best, rival)
    change = _change(figures, table, best, rival, p)
    if figures.options.family_correction is not None and len(table) > 2:
        change += ", corrected for all pairs"
    significantly, unless = _significance_words(p < figures.options.alpha)
    return (
        f"It is {significantly}{above} {rival}, the next ({change}){unless}"
        f"{_weightings(figures, best, rival, above)}{_ties(tied, rival)}."
    )


def _against_baseline(
    figures: Figures, table: pd.DataFrame, comparisons: pd.DataFrame, baseline: str, above: str, on: str
) -> str:
    """Return the difference between the best other system and the baseline, and the number of significant ones."""
    head = next(head for head in figures.heads if head.label == figures.main)
    means = dict(zip(table["name"], table[head.label].astype(float), strict=True))
    candidates = [name for name in means if name != baseline]
    marks = best_marks(np.array([means[name] for name in candidates]), head.lower_is_better)
    top, *tied = [name for name, mark in zip(candidates, marks, strict=True) if mark == "best"] or candidates
    tests = rows_of_group(comparisons)
    tests = tests[(tests["measure"] == head.label) & (tests["baseline"] == baseline)].set_index("name")
    change = _change(figures, table, top, baseline, float(tests.loc[top, "p"]))
    significantly, unless = _significance_words(bool(tests.loc[top, "verdict"]))
    pair = best_marks(np.array([means[top], means[baseline]]), head.lower_is_better)
    if not any(pair):
        text, tied = f"no system is {above} {baseline} {on}", [top, *tied]
    elif pair[0] == "best":
        text = (
            f"{top} is {significantly}{above} {baseline} {on} ({change}){unless}"
            f"{_weightings(figures, top, baseline, above)}"
        )
    else:
        text = (
            f"no system is {above} {baseline} {on}; the next, {top}, is "
            f"{significantly or 'not significantly '}worse ({change})"
        )
    return f"{text}{_ties(tied, top if any(pair) else baseline)}.{_counts(tests['verdict'], baseline)}"


def _significance_words(is_significant: bool) -> tuple[str, str]:
    """Return what stands before a difference, and what after it."""
    return ("significantly ", "") if is_significant else ("", ", but not significantly")


def _ties(names: list[str], name: str) -> str:
    """Return that systems have the value of another, although their p-values can differ; '' for no systems."""
    return f"; {choices(names)} {'has' if len(names) == 1 else 'have'} the same value as {name}" if names else ""


def _p_among_all_pairs(figures: Figures, a: str, b: str) -> float:
    """Return the p-value of a pair of systems, corrected for all pairs."""
    assert figures.tests is not None
    pairs = figures.tests.power.pairs
    pairs = pairs[pairs["measure"] == figures.main]
    options = figures.options
    levels = corrector(options.test, options.family_correction, options.alpha)(pairs["asl"].to_numpy(np.float64))
    is_pair = [{str(first), str(second)} == {a, b} for first, second in zip(pairs["a"], pairs["b"], strict=True)]
    return float(levels[np.array(is_pair)][0])


def _change(figures: Figures, table: pd.DataFrame, a: str, b: str, p: float) -> str:
    """Return the difference of two means with its p-value; of other aggregates, both values."""
    first, second = (float(table.loc[table["name"] == name, figures.main].iloc[0]) for name in (a, b))
    level = "p < 0.0001" if p < 0.0001 else f"p = {p:#.3g}"
    if not aggregate_is_mean(figures.measures[figures.main]):
        return f"{decimals(first)} and {decimals(second)}, {level}"
    return f"{'+' if first > second else ''}{decimals(first - second)}, {level}"


def _weightings(figures: Figures, better: str, worse: str, above: str) -> str:
    """Return under which weightings of the aspects the order remains; '' unless the measure is linear in them."""
    mean, labels = figures.measures[figures.main], list(figures.aspects.values())
    if len(labels) < 2 or not has_linear_weights(mean):
        return ""
    rows = figures.perquery[figures.perquery["name"].isin([better, worse])]
    means = rows[rows["measure"] == figures.main].groupby("name")["value"].mean()
    are_criteria = all(figures.measures[label] is None for label in labels)
    try:
        found = weightings(
            rows,
            mean,
            measures=dict.fromkeys(labels, "higher") if are_criteria else None,
            baseline=worse,
            n_resamples=1,
        )
    except MultiAspectError:  # the aspects alone have another base than the measure, or other scales
        return ""
    difference, own = float(found.pairs["difference"].iloc[0]), abs(float(means[better] - means[worse]))
    if abs(difference - own) > _TOLERANCE * float(rows["value"].abs().max()):
        return ""
    gains = found.aspects.set_index("aspect")["difference"]
    fraction = percent(float(found.pairs["fraction"].iloc[0]))
    if (gains < 0).any():
        return f", and {above} it under {fraction} of the weightings of the aspects"
    tied = list(gains.index[gains == 0])
    return f", and {above} it under every weighting of the aspects{f' but {choices(tied)} alone' if tied else ''}"


def _counts(verdicts: pd.Series[str], baseline: str) -> str:
    """Return how many of several systems differ significantly from the baseline."""
    better, worse = ((verdicts == verdict).sum() for verdict in ("better", "worse"))
    if len(verdicts) < 2:
        return ""
    if not better and not worse:
        return f" None of the {len(verdicts)} other systems differs significantly from {baseline}."
    counts = [f"{number or 'none'} {'is' if number < 2 else 'are'}" for number in (better, worse)]
    return (
        f" Of the {len(verdicts)} other systems, {counts[0]} significantly better than {baseline} and {counts[1]} "
        "significantly worse."
    )
