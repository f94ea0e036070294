"""The summary of a report: what it found, and what the difference that it states depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

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
    main = _main(results)
    undefined = _undefined_systems(main)
    if undefined:
        systems = choices(undefined)
        return f"{main.head.short} is undefined for {systems}."
    topics = topics_in_words(results.clusters)
    finding = _finding(results)
    return f"Over {topics}, {finding}"


class _Main(NamedTuple):
    """The head of the main measure, and its aggregate over all topics by system."""

    head: Head
    means: dict[str, float]

    @property
    def above(self) -> str:
        """The word for the place of a better system."""
        if self.head.lower_is_better:
            return "below"
        return "above"


def _finding(results: Results) -> str:
    """Return which system is the best on the main measure, and how it differs from another."""
    main = _main(results)
    names = list(main.means)
    on_measure = _on_measure(main.head)
    if len(names) == 1:
        value = _value(results, names[0])
        return f"{names[0]} has the value {value} {on_measure}."
    best = _best(main.head, main.means)
    are_all_equal = best == names
    if are_all_equal:
        n_systems = len(names)
        value = decimals(main.means[names[0]])
        return f"the {n_systems} systems have the same value {on_measure}, {value}."
    if results.tests is not None and results.baseline is not None:
        return _comparison_with_baseline(results, results.baseline)
    leader = _leader(results, best)
    if results.tests is None or len(best) > 1:
        return leader
    difference = _difference_from_next(results, best[0])
    return f"{leader} {difference}"


def _comparison_with_baseline(results: Results, baseline: str) -> str:
    """Return how the best other system, the numbers of systems and the other measures compare."""
    difference = _difference_from_baseline(results, baseline)
    comparisons = _comparisons(results, results.main, baseline)
    counts = _counts(comparisons["verdict"], baseline)
    rival = _rival_of_baseline(results, baseline)
    others = _others(results, rival, baseline)
    return f"{difference}.{counts}{others}"


def _undefined_systems(main: _Main) -> list[str]:
    """Return the systems whose aggregate is NaN or infinite."""
    return [name for name, mean in main.means.items() if not np.isfinite(mean)]


def _on_measure(head: Head) -> str:
    """Return 'on' with the name of a measure, and with its direction if lower is better."""
    if head.lower_is_better:
        return f"on {head.short} (lower is better)"
    return f"on {head.short}"


def _leader(results: Results, best: list[str]) -> str:
    """Return which systems have the best value, and this value; `best` are all of them."""
    main = _main(results)
    if main.head.lower_is_better:
        superlative = "lowest"
    else:
        superlative = "highest"
    verb = "have"
    if len(best) == 1:
        verb = "has"
    n_systems = len(main.means)
    value = _value(results, best[0])
    return (
        f"{choices(best)} {verb} the {superlative} value of {n_systems} systems "
        f"{_on_measure(main.head)}: {value}."
    )


def compared_pair(results: Results) -> tuple[str, str] | None:
    """Return the system that the summary is about and the one it is compared with.

    None if it compares none.
    """
    main = _main(results)
    if results.tests is None or _undefined_systems(main):
        return None
    if results.baseline is not None:
        return _rival_of_baseline(results, results.baseline), results.baseline
    best = _best(main.head, main.means)
    if len(best) > 1:  # it states no difference between equal systems
        return None
    others = _without(main.means, best[0])
    next_best = _best(main.head, others)
    return best[0], next_best[0]


def _main(results: Results) -> _Main:
    """Return the head of the main measure, and its aggregates over all topics by system."""
    labels = list(results.measures)
    position = labels.index(results.main)
    head = results.heads[position]
    names = results.overall["name"]
    values = results.overall[head.label].astype(float)
    means = dict(zip(names, values, strict=True))
    return _Main(head, means)


def _without(means: Mapping[str, float], name: str) -> dict[str, float]:
    """Return the aggregates of the other systems."""
    return {system: mean for system, mean in means.items() if system != name}


def _rival_of_baseline(results: Results, baseline: str) -> str:
    """Return the best system besides the baseline; of equal ones, the first."""
    main = _main(results)
    others = _without(main.means, baseline)
    return _best(main.head, others)[0]


def _best(head: Head, means: Mapping[str, float]) -> list[str]:
    """Return the systems with the best value, in order; all if their values are equal."""
    names = list(means)
    values = np.array(list(means.values()))
    marks = best_marks(values, head.lower_is_better)
    best = []
    for name, mark in zip(names, marks, strict=True):
        if mark == "best":
            best.append(name)
    if not best:  # equal values have no marks
        return names
    return best


def _value(results: Results, name: str) -> str:
    """Return the value of a system on the main measure, with its interval if there is one."""
    names = results.overall["name"].tolist()
    row = names.index(name)
    values = results.overall[results.main]
    value = decimals(float(values.iloc[row]))
    ends = interval_values(results.overall, results.main)
    if ends is None:
        return value
    lower_ends, upper_ends = ends
    interval = interval_text(lower_ends[row], upper_ends[row])
    percent = 100 * CI
    return f"{value} ({percent:g} % confidence interval {interval})"


def _difference_from_next(results: Results, best: str) -> str:
    """Return the difference between the best system and the next, in sentences.

    Further systems that equal the next, and the other measures, follow.
    """
    main = _main(results)
    other_means = _without(main.means, best)
    next_best, *equal_to_next = _best(main.head, other_means)
    change = _change(results, best, next_best)
    details = change.text
    if len(main.means) > 2:
        details += ", corrected for all pairs"
    ties = _ties(equal_to_next, next_best)
    others = _others(results, best, next_best)
    above = main.above
    if change.is_significant:
        return f"It is significantly {above} {next_best}, the next ({details}){ties}.{others}"
    return f"It is {above} {next_best}, the next ({details}), but not significantly{ties}.{others}"


def _difference_from_baseline(results: Results, baseline: str) -> str:
    """Return the difference between the best other system and the baseline, without a period.

    Further systems that equal this one follow.
    """
    main = _main(results)
    others = _without(main.means, baseline)
    best_other, *equal_to_best = _best(main.head, others)
    # Such as "above BM25 on CAM@10".
    above_baseline = f"{main.above} {baseline} {_on_measure(main.head)}"
    pair = {best_other: main.means[best_other], baseline: main.means[baseline]}
    best_of_pair = _best(main.head, pair)
    is_tie = len(best_of_pair) == 2
    if is_tie:
        equal_to_baseline = _ties([best_other, *equal_to_best], baseline)
        return f"no system is {above_baseline}{equal_to_baseline}"

    change = _change(results, best_other, baseline)
    ties = _ties(equal_to_best, best_other)
    if best_of_pair == [baseline]:
        next_best = _next_after_baseline(best_other, change)
        return f"no system is {above_baseline}; {next_best}{ties}"
    if change.is_significant:
        return f"{best_other} is significantly {above_baseline} ({change.text}){ties}"
    return f"{best_other} is {above_baseline} ({change.text}), but not significantly{ties}"


def _next_after_baseline(system: str, change: _Change) -> str:
    """Return that the best other system is worse than the baseline; `change` is the difference."""
    worse = "not significantly worse"
    if change.is_significant:
        worse = "significantly worse"
    return f"the next, {system}, is {worse} ({change.text})"


def _ties(names: list[str], name: str) -> str:
    """Return the text that some systems have the value of another one; '' for no systems.

    The text says nothing of p-values, in which they can differ.
    """
    if not names:
        return ""
    have = "have"
    if len(names) == 1:
        have = "has"
    return f"; {choices(names)} {have} the same value as {name}"


def _comparisons(results: Results, label: str, baseline: str) -> pd.DataFrame:
    """Return the comparisons of all other systems with a baseline on a measure."""
    assert results.tests is not None
    tests = rows_of_group(results.tests.comparisons)
    is_of_measure = tests["measure"] == label
    is_with_baseline = tests["baseline"] == baseline
    return tests[is_of_measure & is_with_baseline]


class _Test(NamedTuple):
    """The difference of two systems on a measure, its p-value, and those of its family."""

    difference: float
    p: float
    #: The p-values of all comparisons with the baseline; without one, of all pairs of systems.
    family: Floats


def _test(results: Results, label: str, a: str, b: str) -> _Test:
    """Return the test of system `a` against system `b` on a measure."""
    if results.baseline is not None:
        return _test_with_baseline(results, label, a, b)
    return _test_of_pair(results, label, a, b)


def _test_with_baseline(results: Results, label: str, name: str, baseline: str) -> _Test:
    """Return the test of a system against the baseline, corrected for all other systems."""
    family = _comparisons(results, label, baseline)
    is_system = family["name"] == name
    comparison = family[is_system].iloc[0]  # the only one
    difference = float(comparison["difference"])
    p = float(comparison["p"])
    p_of_family = family["p"].to_numpy(np.float64)
    return _Test(difference, p, p_of_family)


def _test_of_pair(results: Results, label: str, a: str, b: str) -> _Test:
    """Return the test of system `a` against system `b`, corrected for all pairs."""
    assert results.tests is not None
    pairs = results.tests.power.pairs
    pairs_of_measure = pairs[pairs["measure"] == label]
    uncorrected = pairs_of_measure["asl"].to_numpy(np.float64)
    correct = corrector(TEST, CORRECTION)
    p_of_family = correct(uncorrected)

    # The pair is listed once, in either order. Its difference is the first minus the second.
    first = pairs_of_measure["a"].map(str)
    second = pairs_of_measure["b"].map(str)
    is_in_order = (first == a) & (second == b)
    is_reversed = (first == b) & (second == a)
    is_pair = is_in_order | is_reversed
    row = int(is_pair.to_numpy().argmax())  # the only True
    difference = float(pairs_of_measure["difference"].iloc[row])
    if is_reversed.iloc[row]:
        difference = -difference
    p = float(p_of_family[row])
    return _Test(difference, p, p_of_family)


class _Change(NamedTuple):
    """A difference in words, and whether it is significant."""

    text: str
    is_significant: bool


def _change(results: Results, a: str, b: str) -> _Change:
    """Return the difference of two systems on the main measure, `a` minus `b`.

    It is that of means with its interval and p-value; of other aggregates, both values.
    """
    test = _test(results, results.main, a, b)
    is_significant = test.p < ALPHA
    if test.p < 0.0001:
        level = "p < 0.0001"
    else:
        level = f"p = {test.p:#.3g}"
    is_difference_of_means = aggregate_is_mean(results.measures[results.main])
    if is_difference_of_means:
        difference = _difference_with_interval(results, a, b, test.family)
        return _Change(f"{difference}, {level}", is_significant)
    # `means` has the aggregates of all measures. That of this one is another, such as a product.
    aggregates = _main(results).means
    value_of_a = decimals(aggregates[a])
    value_of_b = decimals(aggregates[b])
    return _Change(f"{value_of_a} and {value_of_b}, {level}", is_significant)


def _difference_with_interval(results: Results, a: str, b: str, family: Floats) -> str:
    """Return the difference of the means of two systems on the main measure, with its interval.

    The level of the interval corresponds to the correction of the p-values of the family.
    """
    values = results.perquery
    is_of_measure = values["measure"] == results.main
    is_of_pair = values["name"].isin([a, b])
    alpha = interval_alpha(family, CORRECTION, ALPHA)
    comparisons = compare_with_baseline(
        values[is_of_measure & is_of_pair],
        b,
        alpha=alpha,
        correction=None,
        cluster=results.structure.clusters,
    )
    comparison = comparisons.iloc[0]  # the only one
    difference = decimals(comparison["difference"])
    if comparison["difference"] > 0:
        difference = f"+{difference}"
    level = level_text(1 - alpha)
    interval = interval_text(comparison["low"], comparison["high"])
    text = f"{difference}, {level} interval {interval}"
    if len(family) > 1:
        joint = joint_level(1 - ALPHA, len(family))
        text += f" ({joint})"
    return text


def _others(results: Results, a: str, b: str) -> str:
    """Return on which other measures two systems differ significantly, and on which they do not."""
    better = []
    worse = []
    not_different = []
    for head in results.heads:
        if head.label == results.main:
            continue
        verdict = _verdict(results, head.label, a, b)
        if verdict == "better":
            better.append(head.short)
        elif verdict == "worse":
            worse.append(head.short)
        else:
            not_different.append(head.short)
    parts = []
    if better:
        parts.append(f"significantly better on {choices(better)}")
    if worse:
        parts.append(f"significantly worse on {choices(worse)}")
    if not_different:
        parts.append(f"no significant difference on {choices(not_different)}")
    if not parts:
        return ""
    findings = "; ".join(parts)
    return f" Other measures, {a} against {b}: {findings}."


def _verdict(results: Results, label: str, a: str, b: str) -> str:
    """Return 'better' or 'worse' if system `a` differs significantly from `b`, else ''."""
    test = _test(results, label, a, b)
    if test.difference == 0 or test.p >= ALPHA:
        return ""
    if results.lower[label]:  # lower values are better
        is_better = test.difference < 0
    else:
        is_better = test.difference > 0
    if is_better:
        return "better"
    return "worse"


def _counts(verdicts: pd.Series[str], baseline: str) -> str:
    """Return how many other systems differ significantly from the baseline; '' if it is one."""
    n_others = len(verdicts)
    if n_others < 2:
        return ""
    n_better = int((verdicts == "better").sum())
    n_worse = int((verdicts == "worse").sum())
    if n_better == 0 and n_worse == 0:
        return f" None of the {n_others} other systems differs significantly from {baseline}."
    are_better = _number_is(n_better)
    are_worse = _number_is(n_worse)
    return (
        f" Of the {n_others} other systems, {are_better} significantly better than {baseline} and "
        f"{are_worse} significantly worse."
    )


def _number_is(number: int) -> str:
    """Return a number with its verb: 'none is', '1 is', '2 are'."""
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
    runs_or_values: Any = runs
    if runs is None:
        runs_or_values = _values_for_robustness(results)
    elif qrels is not None and isinstance(spec, Aspects):
        measure = _with_scale(measure, results, runs, qrels, spec)
    # The main label stands for a measure or, if this is unknown, for values of some direction.
    meaning = measure
    if measure is None:
        meaning = _direction_of_main_label(results)
    try:
        with silence_warnings():  # which the evaluation has given
            robustness_of_all_pairs = robustness(
                runs_or_values,
                qrels,
                {results.main: meaning},
                baseline=results.baseline,
                cluster=results.structure.clusters,
            )
    except MultiAspectError:
        results.notes.append("How far the difference holds could not be examined.")
        return None
    return _only_pair(robustness_of_all_pairs, pair)


def _only_pair(found: Robustness, pair: tuple[str, str]) -> Robustness | None:
    """Return the robustness of one pair of systems, None if it is not among those examined."""
    first, second = pair
    is_first = found.table["a"] == first
    is_second = found.table["b"] == second
    rows = found.table[is_first & is_second]
    if rows.empty:
        return None
    table = rows.reset_index(drop=True)
    return replace(found, table=table)


def _direction_of_main_label(results: Results) -> str:
    """Return whether 'higher' or 'lower' values of the main label are better."""
    if results.lower[results.main]:
        return "lower"
    return "higher"


def _values_for_robustness(results: Results) -> pd.DataFrame:
    """Return the values per topic, negated where `robustness` cannot know that lower is better.

    It knows this of measures, and is told the direction of the main label. For labels without a
    measure, it assumes that higher values are better.
    """
    values = results.perquery
    negated_labels = []
    for label, measure in results.measures.items():
        is_known = measure is not None or label == results.main
        if results.lower[label] and not is_known:
            negated_labels.append(label)
    is_negated = values["measure"].isin(negated_labels)
    signed_values = values["value"].mask(is_negated, -values["value"])
    signed = values.assign(value=signed_values)
    signed.attrs = values.attrs
    return signed


def _with_scale(
    measure: Any, results: Results, runs: Mapping[str, Any], qrels: Judgments, spec: Aspects
) -> ir_measures.Measure:
    """Return the main measure as `On` the declared scale of relevance, if its values are the same.

    Otherwise, as for all measures of this package, it is returned as it is.

    Parameters
    ----------
    measure : Measure
        The main measure.
    results : Results
        The results.
    runs : mapping of str to run
        The runs.
    qrels : Judgments
        The judgments.
    spec : Aspects
        The declared scales.
    """
    if supports(measure) or "relevance" not in spec:
        return measure
    scale = Aspects({"relevance": spec["relevance"]})
    with silence_warnings():
        try:
            declared = as_measure(measure).declare(scale)
            declared_values = evaluate(runs, qrels, {results.main: declared}, progress=False)
        except MultiAspectError:  # of measures that no measure of this package equals
            return measure
    is_of_main = results.perquery["measure"] == results.main
    own_values = results.perquery[is_of_main]
    # One row for each run and topic in which both have a value.
    suffixes = ("_own", "_declared")
    both = own_values.merge(declared_values, on=["name", "qid"], suffixes=suffixes)
    if len(both) != len(own_values):  # they count different topics
        return measure
    are_equal = np.allclose(both["value_own"], both["value_declared"], rtol=0, atol=_TOLERANCE)
    if are_equal:
        return declared
    return measure
