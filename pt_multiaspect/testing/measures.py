"""Checks of the statements of measures."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import pairwise
from operator import attrgetter
from typing import Any

import ir_measures
import numpy as np

from .._typing import Floats
from .._validation import random_seed
from ..analysis import upper_bound
from ..analysis._value_intervals import LabelIntervals
from ..aspects import Aspects
from ..bases import Base, as_base
from ..bases.base import is_measure
from ..bases.strings import read_measure
from ..collection import Judgments, Rankings
from ..errors import MultiAspectError, shown, silence_warnings, warn
from ..measures import Measure, On
from .bases import SCALES, base_failures, discounts_are_comparable, is_valid_gain
from .worlds import TOLERANCE, Failure, World, Worlds, differences, equal, standard, worlds

#: The index of a small world: the first one with two documents.
_SMALL = 2


class FailedCheckError(MultiAspectError, AssertionError):
    """Statements of a measure or a distance do not hold. The message lists them, with examples."""


def check_measure(measure: type[Measure] | ir_measures.Measure | Base, *, seed: int = 0) -> None:
    """Check the statements of a measure against brute force.

    The checks use small collections with all rankings of up to four documents. Values must be
    finite, within `RANGE`, independent of other queries, rows and runs and of documents below the
    cutoff, and better in the direction of `lower_is_better`. Measures must print, parse, copy and
    compare. Further checks depend on the class: for single-aspect measures the form as a sum over
    ranks, contributions, progression, the best ranking, and the flags for gains, positives and the
    top of the scale; for sums with an `ideal` the norm; for combinations `combine` and `slope`; for
    all measures what they state in `Measure.statements`, the training label `document_gain` and
    upper bounds.

    Parameters
    ----------
    measure : type of Measure, ir_measures.Measure or Base
        A class or a measure. A measure of ir-measures is checked as a base.
    seed : int, default 0
        Random seed of the collections.

    Raises
    ------
    FailedCheckError
        If a statement does not hold. All such statements are listed, with the smallest collection
        and ranking for which they do not hold. It is a `MultiAspectError` and an `AssertionError`.
    MultiAspectError
        If a required parameter is missing, such as the cutoff of P.

    Warns
    -----
    MultiAspectWarning
        If the discounts of a linear measure cannot be compared.

    Notes
    -----
    The collections have the grades and gains 0, 1 and 2. A base that does not accept larger gains,
    such as one with ``max_rel=2``, states them as `max_gain`; it is not checked with the gains
    2^gain - 1, up to 3.

    Pickling is checked if the class can be imported by its name, unlike classes defined in a
    function or in a notebook.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> ma.testing.check_measure(ma.DCG)
    >>> class _Fraction(ma.SingleAspectMeasure):
    ...     '''The fraction of the retrieved documents that is relevant, with an error.'''
    ...     BINARY = True
    ...     SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}
    ...     def score(self, ranking, target):
    ...         return ranking.total(self.relevant(target)[ranking.row])
    >>> ma.testing.check_measure(_Fraction)
    Traceback (most recent call last):
    pt_multiaspect.testing.measures.FailedCheckError: Fraction: 1 of its statements does not hold:
    - values are within RANGE, 0 to 1: judged {'d1': 2.0, 'd2': 2.0}, ranked d1 d2 unjudged: 2
    """
    checked: Any = measure
    if isinstance(measure, type):
        checked = measure()
    if not is_measure(checked):
        got = shown(measure)
        raise MultiAspectError(f"expected a measure, a base or the class of one, got {got}")
    seed = random_seed(seed)
    with silence_warnings():
        failures = _first_failures(checked, seed)
        are_comparable = _has_comparable_discounts(checked, seed)
    if failures:
        message = _failure_message(checked, failures)
        raise FailedCheckError(message)
    if not are_comparable:
        warn(
            f"the discounts of {checked} on two collections are not equal, so combinations assign "
            "documents to ranks instead of sorting them, which is slow; make the discount a frozen "
            "dataclass with __call__, or a function of a module"
        )


def _first_failures(measure: Any, seed: int) -> dict[str, str]:
    """Return the statements that do not hold, each with its first example."""
    failures: dict[str, str] = {}
    for statement, example in _failures(measure, seed):
        # Collections come from small to large: the first example is in the smallest one.
        failures.setdefault(statement, example)
    return failures


def _has_comparable_discounts(measure: Any, seed: int) -> bool:
    """Return whether each base of the measure has equal discounts on two collections.

    The collections have the same judgments, those of a small world.
    """
    world = worlds(SCALES, seed)[_SMALL]
    return all(discounts_are_comparable(base, world) for base in _bases(measure))


def _failure_message(measure: Any, failures: dict[str, str]) -> str:
    """Return an error message that lists the statements that do not hold, with examples."""
    n_failures = len(failures)
    if n_failures == 1:
        verdict = "1 of its statements does not hold"
    else:
        verdict = f"{n_failures} of its statements do not hold"
    lines = [f"{measure}: {verdict}:"]
    for statement, example in failures.items():
        lines.append(f"- {statement}: {example}")
    return "\n".join(lines)


def _bases(measure: object) -> list[Base]:
    """Return the measure as a base, with its own cutoff and with small ones."""
    # Measures of ir-measures and bases have no such attribute; they evaluate one aspect.
    is_single_aspect = getattr(measure, "SINGLE_ASPECT", True)
    if not is_single_aspect:
        return []
    base = as_base(measure)
    base.check_complete()
    has_fixed_cutoff = base.cutoff is not None
    if has_fixed_cutoff or not base.accepts_cutoff:
        return [base]
    return [base, base.at(1), base.at(2)]


def _failures(measure: Any, seed: int) -> Iterator[Failure]:
    """Yield the statements of a measure that do not hold, each with an example, smallest first."""
    # `worlds_of(scales)` makes the worlds of some scales, small test collections, once.
    worlds_of = cache(partial(worlds, seed=seed))
    # As a base, if it is one, it is evaluated on a single aspect, whose scales are `SCALES`.
    for base in _bases(measure):
        for world in worlds_of(SCALES):
            failures = base_failures(base, world)
            yield from _guard(base.text, world, failures)

    own_measure = _as_own_measure(measure)
    if own_measure is None:
        return
    own_measure.validate_params()
    yield from _as_value(own_measure)
    declared = _with_scales(own_measure)
    worlds_of_measure = worlds_of(_scales(declared))
    for variant in _with_cutoffs(declared):
        yield from _variant_failures(variant, worlds_of_measure)
    # How values of terms are combined does not depend on the world, so a small one is enough.
    small_world = worlds_of_measure[_SMALL]
    failures = _mean_failures(declared, small_world, seed)
    yield from _guard(str(declared), small_world, failures)


def _as_own_measure(measure: Any) -> Measure | None:
    """Return a measure of this package, made from one of ir-measures if needed; None for a base."""
    is_own_measure = hasattr(measure, "SINGLE_ASPECT")
    if is_own_measure:
        own_measure: Measure = measure
        return own_measure
    is_of_ir_measures = hasattr(measure, "iter_calc")
    if is_of_ir_measures:
        return On(base=measure, aspects=SCALES)
    return None


def _variant_failures(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Yield the statements that do not hold for a measure with declared scales, on any world."""
    name = str(measure)
    for world in several:
        yield from _guard(name, world, _world_failures(measure, world))
    for world in several[:5]:  # missing labels of larger ones have too many completions
        yield from _guard(name, world, _missing_labels(measure, world))
    yield from _direction_failures(measure, several)
    # These compare worlds. A program error in them is reported with the first world as the example.
    first_world = several[0]
    yield from _guard(name, first_world, _independence(measure, several))
    yield from _guard(name, first_world, _bounds(measure, several))


def _direction_failures(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Check that rankings with better documents first are better in most worlds."""
    directions = [_direction(measure, world) for world in several]  # 1 better, -1 worse, or 0
    are_mostly_worse = sum(directions) < 0
    if not are_mostly_worse:
        return
    better = "higher"
    if measure.lower_is_better:
        better = "lower"
    yield (
        f"lower_is_better is {measure.lower_is_better}",
        f"rankings with better documents first are not {better}",
    )


def _guard(name: str, world: World, failures: Iterable[Failure]) -> Iterator[Failure]:
    """Yield the failures, and an exception that finding them raises as a failure, too.

    `name` is the measure, and `world` the example of an exception.
    """
    try:
        yield from failures
    except NotImplementedError as error:
        yield "the class is complete", str(error)
    except Exception as error:
        error_type = type(error).__name__
        # It is not known which ranking of the world has raised it: the first one, 0, is shown.
        example = world.show(0)
        yield f"{name} can be computed", f"{error_type}: {error} ({example})"


def _with_scales(measure: Measure) -> Measure:
    """Return the measure with declared label scales for the aspects that it evaluates.

    `measure.spec` is its parameter `aspects`: scales, names of aspects, or nothing.
    """
    if measure.SINGLE_ASPECT:
        return measure.on("relevance", SCALES)
    if isinstance(measure.spec, Aspects):  # they are declared
        return measure
    accepts_scales = "aspects" in measure.SUPPORTED_PARAMS
    if not accepts_scales:
        return measure
    names = {"relevance", "credibility"}  # any aspects will do
    if measure.spec:
        names = set(measure.spec)
    has_special_aspect = "aspect" in measure.SUPPORTED_PARAMS  # one in a role of its own
    if has_special_aspect:
        names.add(measure["aspect"])
    return measure(aspects=standard(sorted(names)))


def _scales(measure: Measure) -> Aspects:
    """Return the declared scales of the measure, or scales 0-2 of the aspects that it names."""
    spec = measure.spec
    if isinstance(spec, Aspects):
        return spec
    names = ["relevance"]
    if spec:
        names = list(spec)
    return standard(names)


def _with_cutoffs(measure: Measure) -> list[Measure]:
    """Return the measure itself, and with the cutoffs 1 and 2 if it accepts them."""
    if "cutoff" not in measure.SUPPORTED_PARAMS or measure["cutoff"] is not None:
        return [measure]
    try:
        return [measure, measure @ 1, measure @ 2]
    except MultiAspectError:  # a base that requires a cutoff, or has one
        return [measure]


# -- as a value
# ---------------------------------------------------------------------------------------


def _as_value(measure: Measure) -> Iterator[Failure]:
    """Check that a measure can be constructed, copied, parsed and pickled, and compares equal."""
    measure_class = type(measure)
    text = str(measure)
    # How a copy is made, and a function that makes it.
    copies: dict[str, Callable[[], object]] = {
        "constructed from its parameters": lambda: measure_class(**measure.params),
        "copied": lambda: copy.deepcopy(measure),
    }
    registered_class = type(ir_measures.measures.registry.get(measure.NAME))
    if registered_class is measure_class:
        copies[f"read as {text!r}"] = lambda: read_measure(text)
    if _is_importable(measure_class):
        copies["pickled"] = lambda: pickle.loads(pickle.dumps(measure))
    for how, make_copy in copies.items():
        yield from _copy_failures(measure, how, make_copy)


def _copy_failures(
    measure: Measure, how: str, make_copy: Callable[[], object]
) -> Iterator[Failure]:
    """Check that a copy can be made, and has the value, the hash and the text of the measure."""
    statement = f"{how}, it is the same measure"
    try:
        copied = make_copy()
    except Exception as error:
        error_type = type(error).__name__
        yield statement, f"{error_type}: {error}"
        return
    has_same_hash = hash(copied) == hash(measure)
    has_same_text = str(copied) == str(measure)
    if copied != measure or not has_same_hash or not has_same_text:
        yield statement, f"{copied!r} is not {measure!r}"


def _is_importable(measure_class: type) -> bool:
    """Return whether the class is found in its module by name, unlike classes in functions."""
    try:
        module = sys.modules[measure_class.__module__]
        found = attrgetter(measure_class.__qualname__)(module)
    except (AttributeError, KeyError):
        return False
    return found is measure_class


# -- in one world
# -------------------------------------------------------------------------------------


def _world_failures(measure: Measure, world: World) -> Iterator[Failure]:
    """Yield the statements of a measure that do not hold in a world, each with an example."""
    rankings = world.rankings()
    judgments = rankings.judgments
    values = world.values(measure)
    yield from _range(measure, world, values)
    values_again = measure.evaluate(world.separate_rankings)
    yield from differences("evaluated again, values are the same", world, values_again, values)
    cutoff = None
    if "cutoff" in measure.SUPPORTED_PARAMS:
        cutoff = measure["cutoff"]
    if cutoff is not None:
        values_of_top = measure.evaluate(world.rankings(cutoff))
        statement = "documents below the cutoff make no difference"
        yield from differences(statement, world, values_of_top, values)
    yield from _combination(measure, world, rankings, values)
    yield from _document_gain(measure, world, judgments, values)
    if measure.stated.never_falls_with_labels:
        yield from _rising_labels(measure, world, values)


def _range(measure: Measure, world: World, values: Floats) -> Iterator[Failure]:
    """Check that all values are within the range of the measure."""
    low, high = measure.range
    is_too_low = values < low - TOLERANCE
    is_too_high = values > high + TOLERANCE
    is_outside = is_too_low | is_too_high
    if not is_outside.any():
        return
    # The rankings in the end of a world are the simpler ones.
    outside = np.flatnonzero(is_outside)
    index = int(outside[-1])
    example = world.show(index)
    statement = f"values are within RANGE, {low:g} to {high:g}"
    yield statement, f"{example}: {values[index]:.6g}"


def _combination(
    measure: Measure, world: World, rankings: Rankings, values: Floats
) -> Iterator[Failure]:
    """Check that the values are the combination of the values of the terms."""
    terms = measure.terms(rankings.judgments)
    # Normalised values are the combination, divided by its maximum.
    is_normalised = measure.params.get("normalized")
    if is_normalised or not terms:
        return
    values_of_terms = [term.base.values(rankings, term.target) for term in terms]
    parts = np.stack(values_of_terms)  # (n_terms, n_queries)
    weights = np.stack([term.weight for term in terms])
    combined = _combine(measure, parts, weights)
    yield from differences("`combine` of the terms is the value", world, combined, values)
    if measure.stated.is_weighted_sum:
        weighted_sum = (parts * weights).sum(axis=0)
        statement = "is_weighted_sum: values are the sum of the terms"
        yield from differences(statement, world, weighted_sum, values)


def _combine(measure: Measure, values: Floats, weights: Floats) -> Floats:
    """Return the combination of the values of the terms, one per query.

    Both arrays have the shape (n_terms, n_queries).
    """
    combined = measure.combine(values, weights)
    return np.asarray(combined, dtype=np.float64)


def _rising_labels(measure: Measure, world: World, values: Floats) -> Iterator[Failure]:
    """Check that raising any label by one grade never lowers a value."""
    for name, aspect in _scales(measure).items():
        grades = aspect.scale.grades.tolist()
        next_grade = dict(pairwise(grades))
        for docno, labels in world.judged.items():
            grade = labels.get(name)
            # The highest grade, junk and missing labels have no next grade.
            if grade not in next_grade:
                continue
            raised_labels = {**labels, name: next_grade[grade]}
            raised = World({**world.judged, docno: raised_labels}, world.ranked)
            changed = measure.evaluate(raised.rankings())
            is_lower = changed < values - TOLERANCE
            if is_lower.any():
                index = int(np.argmax(is_lower))
                example = world.show(index)
                new_value = f"{changed[index]:.6g} with a better {name} of {docno}"
                yield (
                    "never_falls_with_labels: a better label never lowers the value",
                    f"{example}: {values[index]:.6g}, {new_value}",
                )
                return


def _missing_labels(measure: Measure, world: World) -> Iterator[Failure]:
    """Compare the extremes over missing labels by `label_terms` with those of all completions."""
    # The unjudged document of the rankings becomes one that lacks all labels.
    missing = dict.fromkeys(_scales(measure), np.nan)
    world = World({**world.judged, "unjudged": missing}, world.ranked)
    label_terms = measure.stated.label_terms
    if label_terms is None or not label_terms(world.judgments):
        return
    search = _search_of_two_runs(measure, world)
    # The intervals of the values of both runs, and of their difference.
    with np.errstate(divide="ignore", invalid="ignore"):  # a norm that is wrong may be 0
        by_label_terms = search.stated()
    # `enumerate` sets the ends of intervals in place to those of all completions: of a copy.
    by_completions = copy.deepcopy(by_label_terms)
    search.enumerate(search.is_open, *by_completions)

    ideal = f"ideal_documents={search.ideal_documents!r}"
    statement = f"label_terms, {ideal}: extremes over missing labels are those of all completions"
    for interval, expected in zip(by_label_terms, by_completions, strict=True):
        # (2, n_queries): the low and the high ends, of the first run or the only difference.
        ends = interval.ends[:, 0]
        expected_ends = expected.ends[:, 0]
        # Ends that are not stated to be exact are not compared.
        compared_ends = np.where(interval.exact, ends, expected_ends)
        for compared_end, expected_end in zip(compared_ends, expected_ends, strict=True):
            yield from differences(statement, world, compared_end, expected_end)


def _search_of_two_runs(measure: Measure, world: World) -> LabelIntervals:
    """Return the search for the intervals of the values of two runs, and of their difference."""
    # In the second run, each query has the ranking of the next query of the first run.
    first_ranking, *further_rankings = world.ranked
    shifted = World(world.judged, (*further_rankings, first_ranking))
    second_run = Rankings(shifted.run(), world.judgments)
    runs = [world.rankings(), second_run]
    # The only pair of runs: positions in the list of runs.
    first_of_pair = np.array([0])
    second_of_pair = np.array([1])
    return LabelIntervals(measure, world.judgments, runs, first_of_pair, second_of_pair)


def _document_gain(
    measure: Measure, world: World, judgments: Judgments, values: Floats
) -> Iterator[Failure]:
    """Check that training labels are valid, and that sorting by them gives a best ranking."""
    gain = measure.document_gain(judgments)
    if gain is None:
        return
    gain = np.asarray(gain, dtype=np.float64)
    if not is_valid_gain(gain, judgments.pool_query.shape):
        # All rankings of a world have the same judgments: the first one, 0, is the example.
        example = world.show(0)
        statement = "`document_gain` is a number of at least 0 per judged document"
        yield statement, f"{example}: {gain}"
        return
    is_surrogate = measure.gain_is_surrogate(judgments)
    if is_surrogate or measure.lower_is_better:
        return
    hits = world.rankings().hits
    highest = values[world.complete].max()
    for index in world.complete.tolist():
        is_of_ranking = hits.query == index
        rows = hits.row[is_of_ranking]
        increases = np.diff(gain[rows])
        is_sorted = (increases <= 0).all()
        if is_sorted and values[index] < highest - TOLERANCE:
            example = world.show(index)
            yield (
                "sorting by `document_gain` is the best ranking (or `gain_is_surrogate`)",
                f"{example}: {values[index]:.6g}, the best ranking has {highest:.6g}",
            )


def _direction(measure: Measure, world: World) -> int:
    """Return 1 if documents from best to worst are better than the reverse, -1 if worse, else 0."""
    try:
        values = world.values(measure)
    except Exception:
        return 0  # reported by `_world_failures`
    grades = _total_grades(measure, world)
    docnos = sorted(grades, key=lambda docno: -grades[docno])
    best_first = tuple(docnos)
    worst_first = best_first[::-1]
    index_of_best_first = world.ranked.index(best_first)
    index_of_worst_first = world.ranked.index(worst_first)
    value_of_best_first = values[index_of_best_first]
    value_of_worst_first = values[index_of_worst_first]
    difference = np.round(value_of_best_first - value_of_worst_first, 9)
    sign = int(np.sign(difference))
    if measure.lower_is_better:
        return -sign
    return sign


def _total_grades(measure: Measure, world: World) -> dict[str, float]:
    """Return the sum of each document's labels, with signs so that higher is better."""
    scales = _scales(measure)
    total_grades = {}
    for docno, labels in world.judged.items():
        signed_labels = []
        for name, aspect in scales.items():
            if aspect.scale.greater_is_better:
                signed_labels.append(labels[name])
            else:
                signed_labels.append(-labels[name])
        # A missing label is NaN and adds nothing.
        total = np.nansum(signed_labels)
        total_grades[docno] = float(total)
    return total_grades


# -- in all worlds
# ------------------------------------------------------------------------------------


def _independence(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Check that values do not depend on other queries and the order of rows."""
    values_together = _values_by_qid(measure, several.all_rankings)
    values_reversed = _values_by_qid(measure, several.reversed_rankings)
    # Queries are in the order of the worlds.
    qids = list(values_together)
    for index, world in enumerate(several):
        qid = qids[index]
        value_together = values_together[qid]
        rankings_of_world = several.single_rankings[index]
        values_alone = _values_by_qid(measure, rankings_of_world)
        value_alone = values_alone[qid]
        value_reversed = values_reversed[qid]
        example = world.show(world.middle)
        is_equal_alone = equal(np.asarray(value_alone), np.asarray(value_together))
        if not is_equal_alone:
            statement = "a query has the same value alone and among others"
            yield statement, f"{example}: {value_together:.6g} and {value_alone:.6g}"
        is_equal_reversed = equal(np.asarray(value_reversed), np.asarray(value_together))
        if not is_equal_reversed:
            statement = "the order of rows makes no difference"
            yield statement, f"{example}: {value_together:.6g} and {value_reversed:.6g}"


def _values_by_qid(measure: Measure, rankings: Rankings) -> dict[str, float]:
    """Return the value of the measure for each query id."""
    values = measure.evaluate(rankings).tolist()
    qids = rankings.judgments.qids
    return dict(zip(qids, values, strict=True))


def _bounds(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Check the upper bounds of all worlds against the best values of all their rankings."""
    if measure.lower_is_better:
        return
    # A collection with one query per world.
    judgments = several.all_rankings.judgments
    try:
        table = upper_bound(judgments, measure)
    except MultiAspectError:
        return  # no bound is known
    # The table has one row per query, with an upper bound and the value of the best ranking found.
    for world, row in zip(several, table.itertuples(), strict=True):
        # Rankings of all judged documents include the best ones.
        complete_values = world.values(measure)[world.complete]
        highest = complete_values.max()
        position_of_best = np.argmax(complete_values)
        best = int(world.complete[position_of_best])
        example = world.show(best)
        attained = f"{example}: {highest:.6g}"
        if row.bound < highest - TOLERANCE:
            yield "no ranking exceeds the upper bound", f"{attained}, the bound is {row.bound:.6g}"
        if row.value > highest + TOLERANCE:
            yield "the value of the best ranking is attained", f"{attained}, not {row.value:.6g}"
        is_exact = row.strategy == "exact"
        if is_exact and row.value < highest - TOLERANCE:
            yield "the exact upper bound is the best value", f"{attained}, not {row.value:.6g}"


# -- combinations of terms
# ----------------------------------------------------------------------------


def _mean_failures(measure: Measure, world: World, seed: int) -> Iterator[Failure]:
    """Check that `combine` increases, and that `slope` is the gradient of a homogeneous mean.

    They are computed for random values and weights of the terms, as of 200 queries.
    """
    n_terms = len(measure.terms(world.judgments))
    if n_terms < 2:
        return
    rng = np.random.default_rng(seed)
    n_queries = 200
    shape = (2, n_terms, n_queries)
    draws = rng.uniform(0.05, 1, shape)
    values = draws[0]
    others = draws[1]
    weights = rng.uniform(0.05, 1, (n_terms, n_queries))
    weights /= weights.sum(axis=0)
    combined = _combine(measure, values, weights)
    if combined.shape != (n_queries,):
        yield "`combine` has one value per query", f"the shape is {combined.shape}"
        return
    raised_values = np.maximum(values, others)
    raised = _combine(measure, raised_values, weights)
    has_fallen = raised < combined - TOLERANCE
    if measure.stated.never_falls_with_terms and has_fallen.any():
        index = int(np.argmax(has_fallen))
        case = _case_text(values, weights, combined, index)
        yield (
            "never_falls_with_terms: `combine` never falls when a value rises",
            f"{case}, then {raised[index]:.6g}",
        )
    slope = measure.slope(values, weights)
    if slope is not None:
        slope = np.asarray(slope, dtype=np.float64)
        yield from _slope_failures(measure, slope, values, others, weights)


def _case_text(values: Floats, weights: Floats, combined: Floats, index: int) -> str:
    """Return the values of the terms of one query, their weights and their mean, as text.

    `values` and `weights` have the shape (n_terms, n_queries), and `combined` are the means.
    """
    values_of_query = values[:, index]
    weights_of_query = weights[:, index]
    rounded_values = values_of_query.round(3)
    rounded_weights = weights_of_query.round(3)
    mean = combined[index]
    return f"values {rounded_values}, weights {rounded_weights}: {mean:.6g}"


def _slope_failures(
    measure: Measure, slope: Floats, values: Floats, others: Floats, weights: Floats
) -> Iterator[Failure]:
    """Check that `slope` is the gradient of a homogeneous, concave mean.

    `slope` is the gradient at `values`; `others` are values at other points, all of shape
    (n_terms, n_queries).
    """
    if slope.shape != values.shape:
        statement = "`slope` has a number per term and query"
        yield statement, f"the shape is {slope.shape}, expected {values.shape}"
        return
    yield from _homogeneity(measure, values, weights)
    yield from _sum_of_slopes(measure, slope, values, weights)
    yield from _concavity(measure, slope, values, others, weights)


def _sum_of_slopes(
    measure: Measure, slope: Floats, values: Floats, weights: Floats
) -> Iterator[Failure]:
    """Check that slopes times values sum to the mean, as for all homogeneous functions (Euler)."""
    mean = _combine(measure, values, weights)
    sum_of_products = (slope * values).sum(axis=0)
    differs_from_sum = ~equal(sum_of_products, mean)
    if differs_from_sum.any():
        index = int(np.argmax(differs_from_sum))  # the first query
        case = _case_text(values, weights, mean, index)
        statement = "`slope`: slope times value sums to `combine`"
        yield statement, f"{case}, but {sum_of_products[index]:.6g}"


def _homogeneity(measure: Measure, values: Floats, weights: Floats) -> Iterator[Failure]:
    """Check that half of the values of the terms have half of their mean."""
    mean = _combine(measure, values, weights)
    half_values = values / 2
    doubled = 2 * _combine(measure, half_values, weights)
    is_inhomogeneous = ~equal(doubled, mean)
    if is_inhomogeneous.any():
        index = int(np.argmax(is_inhomogeneous))  # the first query
        case = _case_text(values, weights, mean, index)
        statement = "`slope`: `combine` is homogeneous, f(x/2) = f(x)/2"
        yield statement, f"{case}, but {doubled[index]:.6g}"


def _concavity(
    measure: Measure, slope: Floats, values: Floats, others: Floats, weights: Floats
) -> Iterator[Failure]:
    """Check that the mean is concave: it is nowhere above its tangent plane.

    `slope` is the gradient at `values`, where the plane touches the mean. As the mean is
    homogeneous, the plane goes through the origin: at the values `others`, it is the sum of slope
    times value.
    """
    mean = _combine(measure, others, weights)
    plane = (slope * others).sum(axis=0)
    is_above = mean > plane + TOLERANCE
    if is_above.any():
        index = int(np.argmax(is_above))  # the first query
        mean_of_values = _combine(measure, values, weights)
        case = _case_text(values, weights, mean_of_values, index)
        point = others[:, index].round(3)
        statement = "`slope`: `combine` is concave, so that slope times other values is a bound"
        yield statement, f"{case}; at {point} {mean[index]:.6g}, above {plane[index]:.6g}"
