"""The summary of a report: what it found, in a few sentences, and what the difference that it states depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import compare_with_baseline
from ..analysis._pairs import joint_level
from ..analysis._significance import corrector, interval_alpha
from ..analysis.robustness import Robustness, robustness
from ..aspects import Aspects, AspectSpec
from ..collection import Judgments
from ..errors import MultiAspectError, choices, silence_warnings
from ..evaluation import evaluate
from ..evaluation.topic_clusters import topics_in_words
from ..integration.aggregators import aggregate_is_mean
from ..integration.parsing import as_measure
from ..integration.provider import supports
from ..tables.content import Head, best_marks
from ..views import decimals, interval_text, level_text
from .results import Figures, interval_values, rows_of_group
from .settings import ALPHA, CI, CORRECTION, TEST

#: Tolerance for equal values (rounding errors).
_TOLERANCE = 1e-9


def summary(figures: Figures) -> str:
    """Return what the report found, in a few sentences: on its main measure, and whether it is so on the others.

    The best system is compared with the baseline. Without one, it is compared with the next best
    system, and p is corrected for all pairs.
    """
    head, means = _main(figures)
    undefined = [name for name, mean in means.items() if not np.isfinite(mean)]
    if undefined:
        return f"{head.short} is undefined for {choices(undefined)}."
    names, best = list(means), _best(head, means)
    if head.lower_is_better:
        superlative, above = ("lowest", "below")
    else:
        superlative, above = ("highest", "above")
    on = f"on {head.short}{' (lower is better)' if head.lower_is_better else ''}"
    topics = topics_in_words(figures.clusters)
    if len(names) == 1:
        return f"Over {topics}, {names[0]} has the value {_value(figures, 0)} {on}."
    if best == names:
        return f"Over {topics}, the {len(names)} systems have the same value {on}, {decimals(means[names[0]])}."
    if figures.tests is not None and figures.baseline is not None:
        text = _against_baseline(figures, figures.tests.comparisons, figures.baseline, above, on)
        return f"Over {topics}, {text}"
    leader = (
        f"Over {topics}, {choices(best)} {'has' if len(best) == 1 else 'have'} the {superlative} "
        "value of "
        f"{len(names)} systems {on}: {_value(figures, names.index(best[0]))}."
    )
    if figures.tests is None or len(best) > 1:
        return leader
    return f"{leader} {_against_next(figures, best[0], above)}"


def compared_pair(figures: Figures) -> tuple[str, str] | None:
    """Return the system that the summary is about and the one it is compared with; None if it compares none."""
    head, means = _main(figures)
    if figures.tests is None or not np.isfinite(list(means.values())).all():
        return None
    rival = figures.baseline
    if rival is not None:
        return _best(head, {name: mean for name, mean in means.items() if name != rival})[0], rival
    best = _best(head, means)
    rest = {name: mean for name, mean in means.items() if name not in best}
    if len(best) == 1:
        return (best[0], _best(head, rest)[0])
    return None


def _main(figures: Figures) -> tuple[Head, dict[str, float]]:
    """Return the head of the main measure, and its aggregates over all topics by system."""
    head = next(head for head in figures.heads if head.label == figures.main)
    return head, dict(
        zip(figures.overall["name"], figures.overall[head.label].astype(float), strict=True)
    )


def _best(head: Head, means: Mapping[str, float]) -> list[str]:
    """Return the systems with the best value; all if their values are equal."""
    marks = best_marks(np.array(list(means.values())), head.lower_is_better)
    return [name for name, mark in zip(means, marks, strict=True) if mark == "best"] or list(means)


def _value(figures: Figures, row: int) -> str:
    """Return the value of a system on the main measure, with its confidence interval if there is one."""
    value = decimals(float(figures.overall[figures.main].iloc[row]))
    ends = interval_values(figures.overall, figures.main)
    if ends is None:
        return value
    interval = interval_text(ends[0][row], ends[1][row])
    return f"{value} ({100 * CI:g} % confidence interval {interval})"


def _against_next(figures: Figures, best: str, above: str) -> str:
    """Return the difference between the best system and the next, and the further systems that equal the next."""
    head, means = _main(figures)
    rival, *tied = _best(head, {name: mean for name, mean in means.items() if name != best})
    change, significantly, unless = _change(figures, best, rival)
    if len(means) > 2:
        change += ", corrected for all pairs"
    return (
        f"It is {significantly}{above} {rival}, the next ({change}){unless}{_ties(tied, rival)}."
        f"{_others(figures, best, rival)}"
    )


def _against_baseline(
    figures: Figures, comparisons: pd.DataFrame, baseline: str, above: str, on: str
) -> str:
    """Return the difference between the best other system and the baseline, and the number of significant ones."""
    head, means = _main(figures)
    top, *tied = _best(head, {name: mean for name, mean in means.items() if name != baseline})
    change, significantly, unless = _change(figures, top, baseline)
    pair = best_marks(np.array([means[top], means[baseline]]), head.lower_is_better)
    if not any(pair):
        text, tied = f"no system is {above} {baseline} {on}", [top, *tied]
    elif pair[0] == "best":
        text = f"{top} is {significantly}{above} {baseline} {on} ({change}){unless}"
    else:
        text = (
            f"no system is {above} {baseline} {on}; the next, {top}, is "
            f"{significantly or 'not significantly '}worse ({change})"
        )
    tests = rows_of_group(comparisons)
    verdicts = tests.loc[
        (tests["measure"] == head.label) & (tests["baseline"] == baseline), "verdict"
    ]
    return (
        f"{text}{_ties(tied, top if any(pair) else baseline)}.{_counts(verdicts, baseline)}"
        f"{_others(figures, top, baseline)}"
    )


def _ties(names: list[str], name: str) -> str:
    """Return that systems have the value of another, although their p-values can differ; '' for no systems."""
    if names:
        return f"; {choices(names)} {'has' if len(names) == 1 else 'have'} the same value as {name}"
    return ""


def _test(figures: Figures, label: str, a: str, b: str) -> tuple[float, float, Floats]:
    """Return the difference of two systems on a measure, its p-value, and those of its family.

    The family are all comparisons with the baseline; without one, all pairs of systems.
    """
    assert figures.tests is not None
    if figures.baseline is not None:
        tests = rows_of_group(figures.tests.comparisons)
        family = tests[(tests["measure"] == label) & (tests["baseline"] == b)]
        test = family[family["name"] == a].iloc[0]
        return float(test["difference"]), float(test["p"]), family["p"].to_numpy(np.float64)
    pairs = figures.tests.power.pairs
    pairs = pairs[pairs["measure"] == label]
    levels = corrector(TEST, CORRECTION)(pairs["asl"].to_numpy(np.float64))
    sides = list(zip(pairs["a"].map(str), pairs["b"].map(str), strict=True))
    row = next(row for row, pair in enumerate(sides) if set(pair) == {a, b})
    return (
        float(pairs["difference"].iloc[row]) * (1 if sides[row][0] == a else -1),
        float(levels[row]),
        levels,
    )


def _change(figures: Figures, a: str, b: str) -> tuple[str, str, str]:
    """Return the difference of two systems on the main measure, and what stands before and after it in a sentence.

    It is that of means with its interval and p-value; of other aggregates, both values.
    """
    _, means = _main(figures)
    _, p, family = _test(figures, figures.main, a, b)
    if p < ALPHA:
        words = ("significantly ", "")
    else:
        words = ("", ", but not significantly")
    if p < 0.0001:
        level = "p < 0.0001"
    else:
        level = f"p = {p:#.3g}"
    if not aggregate_is_mean(figures.measures[figures.main]):
        return f"{decimals(means[a])} and {decimals(means[b])}, {level}", *words
    rows = figures.perquery
    rows = rows[(rows["measure"] == figures.main) & rows["name"].isin([a, b])]
    alpha = interval_alpha(family, CORRECTION, ALPHA)
    clusters = figures.structure.clusters
    test = compare_with_baseline(rows, b, alpha=alpha, correction=None, cluster=clusters).iloc[0]
    interval = f"{level_text(1 - alpha)} interval {interval_text(test['low'], test['high'])}"
    interval += f" ({joint_level(1 - ALPHA, len(family))})" if len(family) > 1 else ""
    return (
        (
            f"{'+' if test['difference'] > 0 else ''}{decimals(test['difference'])}, {interval}, "
            f"{level}"
        ),
        *words,
    )


def _others(figures: Figures, a: str, b: str) -> str:
    """Return on which other measures a system is significantly better or worse than another, or neither."""
    labels: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for head in figures.heads:
        if head.label != figures.main:
            labels[_verdict(figures, head.label, a, b)].append(head.short)
    words = {
        "better": "significantly better",
        "worse": "significantly worse",
        "": "no significant difference",
    }
    parts = [f"{words[verdict]} on {choices(names)}" for verdict, names in labels.items() if names]
    if parts:
        return f" Other measures, {a} against {b}: {'; '.join(parts)}."
    return ""


def _verdict(figures: Figures, label: str, a: str, b: str) -> str:
    """Return 'better' or 'worse' if a system differs significantly from another on a measure, else ''."""
    difference, p, _ = _test(figures, label, a, b)
    if not difference or p >= ALPHA:
        return ""
    return "better" if (difference > 0) != figures.lower[label] else "worse"


def _counts(verdicts: pd.Series[str], baseline: str) -> str:
    """Return how many of several systems differ significantly from the baseline."""
    better, worse = ((verdicts == verdict).sum() for verdict in ("better", "worse"))
    if len(verdicts) < 2:
        return ""
    if not better and not worse:
        return f" None of the {len(verdicts)} other systems differs significantly from {baseline}."
    counts = [f"{number or 'none'} {'is' if number < 2 else 'are'}" for number in (better, worse)]
    return (
        f" Of the {len(verdicts)} other systems, {counts[0]} significantly better than {baseline} "
        f"and {counts[1]} "
        "significantly worse."
    )


def robustness_of_pair(
    figures: Figures,
    runs: Mapping[str, Any] | None = None,
    qrels: Judgments | None = None,
    spec: AspectSpec = None,
) -> Robustness | None:
    """Return what the difference of the pair of the summary depends on, None if there is no difference of means.

    Parameters
    ----------
    figures : Figures
        The figures. A note is added if the analysis is not possible.
    runs, qrels : optional
        The runs and judgments; None for values.
    spec : Aspects, tuple of str or None
        The scales of measures that declare none.
    """
    pair, measure = compared_pair(figures), figures.measures[figures.main]
    if pair is None or not aggregate_is_mean(measure):
        return None
    values = figures.perquery
    if (
        runs is None
    ):  # the sign of values is the only place for the direction of a label that names no measure
        lower = [
            label
            for label, known in figures.measures.items()
            if known is None and figures.lower[label]
        ]
        is_lower = values["measure"].isin(lower) & (values["measure"] != figures.main)
        values = values.assign(value=values["value"].where(~is_lower, -values["value"]))
        values.attrs = figures.perquery.attrs
    elif qrels is not None and isinstance(spec, Aspects):
        measure = _with_scale(measure, figures, runs, qrels, spec)
    word = "lower" if figures.lower[figures.main] else "higher"
    try:
        with silence_warnings():  # which the evaluation has given
            found = robustness(
                values if runs is None else runs,
                qrels,
                {figures.main: word if measure is None else measure},
                baseline=figures.baseline,
                cluster=figures.structure.clusters,
            )
    except MultiAspectError:
        figures.notes.append("How far the difference holds could not be examined.")
        return None
    rows = found.table[(found.table["a"] == pair[0]) & (found.table["b"] == pair[1])].reset_index(
        drop=True
    )
    if len(rows):
        return replace(found, table=rows)
    return None


def _with_scale(
    measure: Any, figures: Figures, runs: Mapping[str, Any], qrels: Judgments, spec: Aspects
) -> ir_measures.Measure:
    """Return a measure of ir-measures as `On` the declared scale of relevance, if its values stay the same."""
    if supports(measure) or "relevance" not in spec:
        return measure
    with silence_warnings():
        try:
            declared = as_measure(measure).declare(Aspects({"relevance": spec["relevance"]}))
            values = evaluate(runs, qrels, {figures.main: declared}, progress=False)
        except MultiAspectError:  # of measures that no measure of this package equals
            return measure
    own = figures.perquery[figures.perquery["measure"] == figures.main]
    both = own.merge(values, on=["name", "qid"])
    is_same = len(both) == len(own) and np.allclose(
        both["value_x"], both["value_y"], rtol=0, atol=_TOLERANCE
    )
    return declared if is_same else measure
