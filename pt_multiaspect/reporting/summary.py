"""The summary of a report: what it found, and what the difference that it states depends on."""

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
from ..errors import MultiAspectError, agree, choices, silence_warnings
from ..evaluation import evaluate
from ..evaluation.topic_clusters import topics_in_words
from ..integration.aggregators import aggregate_is_mean
from ..integration.parsing import as_measure
from ..integration.provider import supports
from ..tables.content import Head, best_marks
from ..views import decimals, interval_text, level_text
from .results import Results, interval_values, rows_of_group
from .settings import ALPHA, CI, CORRECTION, TEST

#: Tolerance for equal values (rounding errors).
_TOLERANCE = 1e-9


def summary(results: Results) -> str:
    """Return what the report found, in a few sentences.

    It is about the main measure, and says whether it is so on the others. The best system is
    compared with the baseline. Without one, it is compared with the next best system, and p is
    corrected for all pairs.
    """
    head, means = _main(results)
    undefined = [name for name, mean in means.items() if not np.isfinite(mean)]
    if undefined:
        return f"{head.short} is undefined for {choices(undefined)}."
    names = list(means)
    best = _best(head, means)
    over = f"Over {topics_in_words(results.clusters)}"
    on = f"on {head.short}"
    if head.lower_is_better:
        superlative, above = "lowest", "below"
        on += " (lower is better)"
    else:
        superlative, above = "highest", "above"
    if len(names) == 1:
        return f"{over}, {names[0]} has the value {_value(results, 0)} {on}."
    if best == names:
        value = decimals(means[names[0]])
        return f"{over}, the {len(names)} systems have the same value {on}, {value}."
    if results.tests is not None and results.baseline is not None:
        comparisons = _comparisons(results, head.label, results.baseline)
        difference = _against_baseline(results, results.baseline, above, on)
        counts = _counts(comparisons["verdict"], results.baseline)
        rival = _rival_of_baseline(results, results.baseline)
        others = _others(results, rival, results.baseline)
        return f"{over}, {difference}.{counts}{others}"
    have = agree(len(best), len(best), "has", "have")
    value = _value(results, names.index(best[0]))
    leader = (
        f"{over}, {choices(best)} {have} the {superlative} value of {len(names)} systems {on}: "
        f"{value}."
    )
    if results.tests is None or len(best) > 1:
        return leader
    return f"{leader} {_against_next(results, best[0], above)}"


def compared_pair(results: Results) -> tuple[str, str] | None:
    """Return the system that the summary is about and the one it is compared with.

    None if it compares none.
    """
    head, means = _main(results)
    if results.tests is None or not np.isfinite(list(means.values())).all():
        return None
    if results.baseline is not None:
        return _rival_of_baseline(results, results.baseline), results.baseline
    best = _best(head, means)
    if len(best) > 1:
        return None
    return best[0], _best(head, _without(means, best[0]))[0]


def _main(results: Results) -> tuple[Head, dict[str, float]]:
    """Return the head of the main measure, and its aggregates over all topics by system."""
    position = list(results.measures).index(results.main)
    head = results.heads[position]
    values = results.overall[head.label].astype(float)
    return head, dict(zip(results.overall["name"], values, strict=True))


def _without(means: Mapping[str, float], name: str) -> dict[str, float]:
    """Return the aggregates of the other systems."""
    return {system: mean for system, mean in means.items() if system != name}


def _rival_of_baseline(results: Results, baseline: str) -> str:
    """Return the best system besides the baseline."""
    head, means = _main(results)
    return _best(head, _without(means, baseline))[0]


def _best(head: Head, means: Mapping[str, float]) -> list[str]:
    """Return the systems with the best value; all if their values are equal."""
    marks = best_marks(np.array(list(means.values())), head.lower_is_better)
    best = [name for name, mark in zip(means, marks, strict=True) if mark == "best"]
    return best or list(means)


def _value(results: Results, row: int) -> str:
    """Return the value of a system on the main measure, with its interval if there is one."""
    value = decimals(float(results.overall[results.main].iloc[row]))
    ends = interval_values(results.overall, results.main)
    if ends is None:
        return value
    low, high = ends
    interval = interval_text(low[row], high[row])
    return f"{value} ({100 * CI:g} % confidence interval {interval})"


def _against_next(results: Results, best: str, above: str) -> str:
    """Return the difference between the best system and the next.

    Further systems that equal the next, and the other measures, follow.
    """
    head, means = _main(results)
    rival, *tied = _best(head, _without(means, best))
    change, is_significant = _change(results, best, rival)
    if len(means) > 2:
        change += ", corrected for all pairs"
    ties = _ties(tied, rival)
    others = _others(results, best, rival)
    if is_significant:
        return f"It is significantly {above} {rival}, the next ({change}){ties}.{others}"
    return f"It is {above} {rival}, the next ({change}), but not significantly{ties}.{others}"


def _against_baseline(results: Results, baseline: str, above: str, on: str) -> str:
    """Return the difference between the best other system and the baseline."""
    head, means = _main(results)
    rival, *tied = _best(head, _without(means, baseline))
    change, is_significant = _change(results, rival, baseline)
    marks = best_marks(np.array([means[rival], means[baseline]]), head.lower_is_better)
    if not any(marks):
        return f"no system is {above} {baseline} {on}{_ties([rival, *tied], baseline)}"
    ties = _ties(tied, rival)
    if marks[0] != "best":
        if is_significant:
            worse = "significantly worse"
        else:
            worse = "not significantly worse"
        text = f"no system is {above} {baseline} {on}; the next, {rival}, is {worse} ({change})"
    elif is_significant:
        text = f"{rival} is significantly {above} {baseline} {on} ({change})"
    else:
        text = f"{rival} is {above} {baseline} {on} ({change}), but not significantly"
    return f"{text}{ties}"


def _ties(names: list[str], name: str) -> str:
    """Return that systems have the value of another; '' for no systems.

    Their p-values can differ.
    """
    if not names:
        return ""
    have = agree(len(names), len(names), "has", "have")
    return f"; {choices(names)} {have} the same value as {name}"


def _comparisons(results: Results, label: str, baseline: str) -> pd.DataFrame:
    """Return the comparisons of all other systems with a baseline on a measure."""
    assert results.tests is not None
    tests = rows_of_group(results.tests.comparisons)
    return tests[(tests["measure"] == label) & (tests["baseline"] == baseline)]


def _test(results: Results, label: str, a: str, b: str) -> tuple[float, float, Floats]:
    """Return the difference of two systems on a measure, its p-value, and those of its family.

    The family are all comparisons with the baseline; without one, all pairs of systems.
    """
    if results.baseline is not None:
        family = _comparisons(results, label, b)
        test = family[family["name"] == a].iloc[0]
        return float(test["difference"]), float(test["p"]), family["p"].to_numpy(np.float64)
    assert results.tests is not None
    pairs = results.tests.power.pairs
    pairs = pairs[pairs["measure"] == label]
    levels = corrector(TEST, CORRECTION)(pairs["asl"].to_numpy(np.float64))
    first = pairs["a"].map(str)
    second = pairs["b"].map(str)
    is_pair = ((first == a) & (second == b)) | ((first == b) & (second == a))
    row = int(is_pair.to_numpy().argmax())
    difference = float(pairs["difference"].iloc[row])
    if first.iloc[row] != a:
        difference = -difference
    return difference, float(levels[row]), levels


def _change(results: Results, a: str, b: str) -> tuple[str, bool]:
    """Return the difference of two systems on the main measure, and whether it is significant.

    It is that of means with its interval and p-value; of other aggregates, both values.
    """
    _, means = _main(results)
    _, p, family = _test(results, results.main, a, b)
    is_significant = p < ALPHA
    if p < 0.0001:
        level = "p < 0.0001"
    else:
        level = f"p = {p:#.3g}"
    if not aggregate_is_mean(results.measures[results.main]):
        return f"{decimals(means[a])} and {decimals(means[b])}, {level}", is_significant
    rows = results.perquery
    rows = rows[(rows["measure"] == results.main) & rows["name"].isin([a, b])]
    alpha = interval_alpha(family, CORRECTION, ALPHA)
    clusters = results.structure.clusters
    test = compare_with_baseline(rows, b, alpha=alpha, correction=None, cluster=clusters).iloc[0]
    difference = decimals(test["difference"])
    if test["difference"] > 0:
        difference = f"+{difference}"
    interval = f"{level_text(1 - alpha)} interval {interval_text(test['low'], test['high'])}"
    if len(family) > 1:
        interval += f" ({joint_level(1 - ALPHA, len(family))})"
    return f"{difference}, {interval}, {level}", is_significant


def _others(results: Results, a: str, b: str) -> str:
    """Return on which other measures two systems differ significantly, and on which they do not."""
    measures: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for head in results.heads:
        if head.label != results.main:
            verdict = _verdict(results, head.label, a, b)
            measures[verdict].append(head.short)
    parts = []
    if measures["better"]:
        parts.append(f"significantly better on {choices(measures['better'])}")
    if measures["worse"]:
        parts.append(f"significantly worse on {choices(measures['worse'])}")
    if measures[""]:
        parts.append(f"no significant difference on {choices(measures[''])}")
    if not parts:
        return ""
    return f" Other measures, {a} against {b}: {'; '.join(parts)}."


def _verdict(results: Results, label: str, a: str, b: str) -> str:
    """Return 'better' or 'worse' if a system differs significantly from another, else ''."""
    difference, p, _ = _test(results, label, a, b)
    if not difference or p >= ALPHA:
        return ""
    is_higher = difference > 0
    if is_higher != results.lower[label]:
        return "better"
    return "worse"


def _counts(verdicts: pd.Series[str], baseline: str) -> str:
    """Return how many of several systems differ significantly from the baseline."""
    if len(verdicts) < 2:
        return ""
    n_better = (verdicts == "better").sum()
    n_worse = (verdicts == "worse").sum()
    if not n_better and not n_worse:
        return f" None of the {len(verdicts)} other systems differs significantly from {baseline}."
    return (
        f" Of the {len(verdicts)} other systems, {_number_is(n_better)} significantly better than "
        f"{baseline} and {_number_is(n_worse)} significantly worse."
    )


def _number_is(number: int) -> str:
    """Return a number with a verb."""
    if number == 0:
        return "none is"
    if number == 1:
        return "1 is"
    return f"{number} are"


def robustness_of_pair(
    results: Results,
    runs: Mapping[str, Any] | None = None,
    qrels: Judgments | None = None,
    spec: AspectSpec = None,
) -> Robustness | None:
    """Return what the difference of the pair of the summary depends on.

    None if there is no difference of means.

    Parameters
    ----------
    results : Results
        The results. A note is added if the analysis is not possible.
    runs, qrels : optional
        The runs and judgments; None for values.
    spec : Aspects, tuple of str or None
        The scales of measures that declare none.
    """
    pair = compared_pair(results)
    measure = results.measures[results.main]
    if pair is None or not aggregate_is_mean(measure):
        return None
    examined: Any = runs
    if runs is None:
        examined = _negate_lower_labels(results)
    elif qrels is not None and isinstance(spec, Aspects):
        measure = _with_scale(measure, results, runs, qrels, spec)
    if measure is None and results.lower[results.main]:
        measure = "lower"
    elif measure is None:
        measure = "higher"
    try:
        with silence_warnings():  # which the evaluation has given
            found = robustness(
                examined,
                qrels,
                {results.main: measure},
                baseline=results.baseline,
                cluster=results.structure.clusters,
            )
    except MultiAspectError:
        results.notes.append("How far the difference holds could not be examined.")
        return None
    is_pair = (found.table["a"] == pair[0]) & (found.table["b"] == pair[1])
    rows = found.table[is_pair].reset_index(drop=True)
    if rows.empty:
        return None
    return replace(found, table=rows)


def _negate_lower_labels(results: Results) -> pd.DataFrame:
    """Return values, negated for labels that name no measure if lower values are better.

    The sign is the only place for their direction. The main measure keeps its values.
    """
    values = results.perquery
    lower = []
    for label, measure in results.measures.items():
        if measure is None and results.lower[label] and label != results.main:
            lower.append(label)
    is_lower = values["measure"].isin(lower)
    signed = values.assign(value=values["value"].where(~is_lower, -values["value"]))
    signed.attrs = values.attrs
    return signed


def _with_scale(
    measure: Any, results: Results, runs: Mapping[str, Any], qrels: Judgments, spec: Aspects
) -> ir_measures.Measure:
    """Return a measure of ir-measures as `On` the declared scale of relevance.

    If its values change, or for other measures, it is returned as it is.
    """
    if supports(measure) or "relevance" not in spec:
        return measure
    with silence_warnings():
        try:
            declared = as_measure(measure).declare(Aspects({"relevance": spec["relevance"]}))
            values = evaluate(runs, qrels, {results.main: declared}, progress=False)
        except MultiAspectError:  # of measures that no measure of this package equals
            return measure
    own = results.perquery[results.perquery["measure"] == results.main]
    both = own.merge(values, on=["name", "qid"])
    if len(both) != len(own):
        return measure
    if np.allclose(both["value_x"], both["value_y"], rtol=0, atol=_TOLERANCE):
        return declared
    return measure
