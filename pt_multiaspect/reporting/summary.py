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
    ends = interval_values(table, head.label, figures.options.ci)

    def value(row: int) -> str:
        if ends is None:
            return decimals(means[row])
        interval = f"[{decimals(ends[0][row])}, {decimals(ends[1][row])}]"
        return f"{decimals(means[row])} ({100 * figures.options.ci:g} % confidence interval {interval})"

    if len(names) == 1:
        return f"Over {topics}, {names[0]} has the value {value(0)} {on}."
    marks = best_marks(means, head.lower_is_better)
    best = [name for name, mark in zip(names, marks, strict=True) if mark == "best"]
    if not best:
        return f"Over {topics}, the {len(names)} systems have the same value {on}, {decimals(means[0])}."
    first = names.index(best[0])
    leader = (
        f"Over {topics}, {choices(best)} {'has' if len(best) == 1 else 'have'} the {superlative} value of "
        f"{len(names)} systems {on}: {value(first)}."
    )
    against = figures.baseline
    if figures.tests is None or (against is None and len(best) > 1):
        return leader
    if against is None:
        rival, *tied = [name for name, mark in zip(names, marks, strict=True) if mark == "second"]
        p = _p_among_all_pairs(figures, best[0], rival)
        is_significant = p < figures.options.alpha
        change = _change(figures, table, best[0], rival, p)
        if figures.options.family_correction is not None and len(names) > 2:
            change += ", corrected for all pairs"
        return (
            f"{leader} It is {'significantly ' if is_significant else ''}{above} {rival}, the next ({change})"
            f"{'' if is_significant else ', but not significantly'}{_weightings(figures, best[0], rival, above)}"
            f"{_ties(tied, rival)}."
        )
    candidates = [name for name in names if name != against]
    marks = best_marks(means[[names.index(name) for name in candidates]], head.lower_is_better)
    top, *tied = [name for name, mark in zip(candidates, marks, strict=True) if mark == "best"] or candidates
    tests = rows_of_group(figures.tests.comparisons)
    tests = tests[(tests["measure"] == head.label) & (tests["baseline"] == against)].set_index("name")
    is_significant = bool(tests.loc[top, "verdict"])
    change = _change(figures, table, top, against, float(tests.loc[top, "p"]))
    pair = best_marks(means[[names.index(top), names.index(against)]], head.lower_is_better)
    if not any(pair):
        text, tied = f"no system is {above} {against} {on}", [top, *tied]
    elif pair[0] == "best":
        text = (
            f"{top} is {'significantly ' if is_significant else ''}{above} {against} {on} ({change})"
            f"{'' if is_significant else ', but not significantly'}{_weightings(figures, top, against, above)}"
        )
    else:
        text = (
            f"no system is {above} {against} {on}; the next, {top}, is "
            f"{'' if is_significant else 'not '}significantly worse ({change})"
        )
    equal = _ties(tied, top if any(pair) else against)
    return f"Over {topics}, {text}{equal}.{_counts(tests['verdict'], against)}"


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
