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
from .bases import SCALES, base_failures, discounts_are_comparable
from .worlds import TOLERANCE, Failure, World, Worlds, differences, equal, standard, worlds


class FailedCheckError(MultiAspectError, AssertionError):
    """A statement of a measure or a distance does not hold. The message lists the statements, with examples."""


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
    if isinstance(measure, type):
        checked: Any = measure()
    else:
        checked = measure
    if not is_measure(checked):
        raise MultiAspectError(
            f"expected a measure, a base or the class of one, got {shown(measure)}"
        )
    seed = random_seed(seed)
    failures: dict[str, str] = {}
    with silence_warnings():
        for statement, example in _failures(checked, seed):
            failures.setdefault(statement, example)
        comparable = all(
            discounts_are_comparable(base, _smallest(SCALES, seed)) for base in _bases(checked)
        )
    if failures:
        if len(failures) == 1:
            does = "1 of its statements does"
        else:
            does = f"{len(failures)} of its statements do"
        listed = "".join(f"\n- {statement}: {example}" for statement, example in failures.items())
        raise FailedCheckError(f"{checked}: {does} not hold:{listed}")
    if not comparable:
        warn(
            f"the discounts of {checked} on two collections are not equal, so combinations assign "
            "documents to ranks instead of sorting them, which is slow; make the discount a frozen "
            "dataclass with __call__, or a function of a module"
        )


def _smallest(aspects: Aspects, seed: int) -> World:
    return worlds(aspects, seed)[2]


def _bases(measure: object) -> list[Base]:
    """Return the measure as a base, with its own cutoff and with small ones."""
    if not getattr(measure, "SINGLE_ASPECT", True):
        return []
    base = as_base(measure)
    base.check_complete()
    if not base.accepts_cutoff or base.cutoff is not None:
        return [base]
    return [base, base.at(1), base.at(2)]


def _failures(measure: Any, seed: int) -> Iterator[Failure]:
    # All variants of the measure are evaluated on the same worlds, which are joined once.
    worlds_of = cache(partial(worlds, seed=seed))
    for base in _bases(measure):
        for world in worlds_of(SCALES):
            yield from _guard(base.text, world, base_failures(base, world))
    if not hasattr(measure, "SINGLE_ASPECT"):  # a measure of ir-measures, or a base
        if not hasattr(measure, "iter_calc"):
            return
        measure = On(base=measure, aspects=SCALES)
    measure.validate_params()
    yield from _as_value(measure)
    declared = _with_scales(measure)
    several = worlds_of(_scales(declared))
    for variant in _with_cutoffs(declared):
        direction = 0
        for world in several:
            yield from _guard(str(variant), world, _world_failures(variant, world))
            direction += _direction(variant, world)
        for world in several[:5]:
            yield from _guard(str(variant), world, _missing_labels(variant, world))
        if direction < 0:
            better = "lower" if variant.lower_is_better else "higher"
            yield (
                f"lower_is_better is {variant.lower_is_better}",
                f"rankings with better documents first are not {better}",
            )
        yield from _guard(str(variant), several[0], _independence(variant, several))
        yield from _guard(str(variant), several[0], _bounds(variant, several))
    yield from _guard(str(declared), several[2], _mean_failures(declared, several[2], seed))


def _guard(name: str, world: World, failures: Iterable[Failure]) -> Iterator[Failure]:
    """Yield the failures, and any exception as a failure."""
    try:
        yield from failures
    except NotImplementedError as error:
        yield "the class is complete", str(error)
    except Exception as error:
        yield f"{name} can be computed", f"{type(error).__name__}: {error} ({world.show(0)})"


def _with_scales(measure: Measure) -> Measure:
    """Return the measure with scales for the aspects it evaluates."""
    if measure.SINGLE_ASPECT:
        return measure.on("relevance", SCALES)
    if "aspects" not in measure.SUPPORTED_PARAMS or isinstance(measure.spec, Aspects):
        return measure
    names = list(measure.spec or ("relevance", "credibility"))
    if "aspect" in measure.SUPPORTED_PARAMS:
        names = sorted({*names, measure["aspect"]})
    return measure(aspects=standard(names))


def _scales(measure: Measure) -> Aspects:
    spec = measure.spec
    if isinstance(spec, Aspects):
        return spec
    return standard(list(spec or ("relevance",)))


def _with_cutoffs(measure: Measure) -> list[Measure]:
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
    kind = type(measure)
    again: list[tuple[str, Callable[[], object]]] = [
        ("constructed from its parameters", lambda: kind(**measure.params)),
        ("copied", lambda: copy.deepcopy(measure)),
    ]
    if type(ir_measures.measures.registry.get(measure.NAME)) is kind:
        again.append((f"read as {str(measure)!r}", lambda: read_measure(str(measure))))
    if _is_importable(kind):
        again.append(("pickled", lambda: pickle.loads(pickle.dumps(measure))))
    for how, make in again:
        statement = f"{how}, it is the same measure"
        try:
            copied = make()
        except Exception as error:
            yield statement, f"{type(error).__name__}: {error}"
            continue
        if copied != measure or hash(copied) != hash(measure) or str(copied) != str(measure):
            yield statement, f"{copied!r} is not {measure!r}"


def _is_importable(kind: type) -> bool:
    try:
        return attrgetter(kind.__qualname__)(sys.modules[kind.__module__]) is kind
    except (AttributeError, KeyError):
        return False


# -- in one world
# -------------------------------------------------------------------------------------


def _world_failures(measure: Measure, world: World) -> Iterator[Failure]:
    rankings = world.rankings()
    judgments = rankings.judgments
    values = world.values(measure)
    low, high = measure.range
    for index in np.flatnonzero((values < low - TOLERANCE) | (values > high + TOLERANCE))[
        -1:
    ].tolist():
        yield (
            f"values are within RANGE, {low:g} to {high:g}",
            f"{world.show(index)}: {values[index]:.6g}",
        )
    same = "evaluated again, values are the same"
    yield from differences(same, world, measure.evaluate(world.separate_rankings), values)
    if "cutoff" in measure.SUPPORTED_PARAMS:
        cutoff = measure["cutoff"]
    else:
        cutoff = None
    if cutoff is not None:
        cut = measure.evaluate(world.rankings(cutoff))
        yield from differences("documents below the cutoff make no difference", world, cut, values)
    terms = measure.terms(judgments)
    if terms and not measure.params.get("normalized"):
        parts = np.stack([term.base.values(rankings, term.target) for term in terms])
        weights = np.stack([term.weight for term in terms])
        combined = np.asarray(measure.combine(parts, weights), dtype=np.float64)
        yield from differences("`combine` of the terms is the value", world, combined, values)
        if measure.stated.is_weighted_sum:
            summed = (parts * weights).sum(axis=0)
            yield from differences(
                "is_weighted_sum: values are the sum of the terms", world, summed, values
            )
    yield from _document_gain(measure, world, judgments, values)
    if measure.stated.never_falls_with_labels:
        yield from _rising_labels(measure, world, values)


def _rising_labels(measure: Measure, world: World, values: Floats) -> Iterator[Failure]:
    """Raise each label by one grade."""
    for name, aspect in _scales(measure).items():
        following = dict(pairwise(aspect.scale.grades.tolist()))
        for docno, labels in world.judged.items():
            if (grade := labels.get(name)) in following:
                raised = {**world.judged, docno: {**labels, name: following[grade]}}
                changed = measure.evaluate(World(raised, world.ranked).rankings())
                for index in np.flatnonzero(changed < values - TOLERANCE)[:1].tolist():
                    shown = (
                        f"{values[index]:.6g}, {changed[index]:.6g} with a better {name} of {docno}"
                    )
                    yield (
                        "never_falls_with_labels: a better label never lowers the value",
                        f"{world.show(index)}: {shown}",
                    )
                    return


def _missing_labels(measure: Measure, world: World) -> Iterator[Failure]:
    """Compare the extremes over missing labels by `label_terms` with those of all completions."""
    world = World(
        {**world.judged, "unjudged": dict.fromkeys(_scales(measure), np.nan)}, world.ranked
    )
    label_terms = measure.stated.label_terms
    if label_terms is None or not label_terms(world.judgments):
        return
    following = World(world.judged, (*world.ranked[1:], world.ranked[0]))
    runs = [world.rankings(), Rankings(following.run(), world.judgments)]
    search = LabelIntervals(measure, world.judgments, runs, np.array([0]), np.array([1]))
    with np.errstate(divide="ignore", invalid="ignore"):  # a norm that is wrong may be 0
        stated = search.stated()
    enumerated = copy.deepcopy(stated)
    search.enumerate(search.is_open, *enumerated)
    ideal = f"ideal_documents={search.ideal_documents!r}"
    statement = f"label_terms, {ideal}: extremes over missing labels are those of all completions"
    for interval, expected in zip(stated, enumerated, strict=True):
        for end, extreme in zip(interval.ends[:, 0], expected.ends[:, 0], strict=True):
            yield from differences(
                statement, world, np.where(interval.exact, end, extreme), extreme
            )


def _document_gain(
    measure: Measure, world: World, judgments: Judgments, values: Floats
) -> Iterator[Failure]:
    gain = measure.document_gain(judgments)
    if gain is None:
        return
    gain = np.asarray(gain, dtype=np.float64)
    if gain.shape != judgments.pool_query.shape or not (np.isfinite(gain) & (gain >= 0)).all():
        yield (
            "`document_gain` is a number of at least 0 per judged document",
            f"{world.show(0)}: {gain}",
        )
        return
    if measure.gain_is_surrogate(judgments) or measure.lower_is_better:
        return
    hits = world.rankings().hits
    highest = values[world.complete].max()
    for index in world.complete.tolist():
        ranked = gain[hits.row[hits.query == index]]
        if (np.diff(ranked) <= 0).all() and values[index] < highest - TOLERANCE:
            yield (
                "sorting by `document_gain` is the best ranking (or `gain_is_surrogate`)",
                f"{world.show(index)}: {values[index]:.6g}, the best ranking has {highest:.6g}",
            )


def _direction(measure: Measure, world: World) -> int:
    """Return 1 if documents from best to worst are better than the reverse, -1 if they are worse, else 0."""
    try:
        values = world.values(measure)
    except Exception:
        return 0  # reported by `_world_failures`
    grades = _total_grades(measure, world)
    order = sorted(grades, key=lambda docno: -grades[docno])
    forth, back = (values[world.ranked.index(tuple(ranked))] for ranked in (order, order[::-1]))
    sign = int(np.sign(np.round(forth - back, 9)))
    if measure.lower_is_better:
        return -sign
    return sign


def _total_grades(measure: Measure, world: World) -> dict[str, float]:
    """Return the sum of each document's labels, with signs so that higher is better."""
    signs = {
        name: 1 if aspect.scale.greater_is_better else -1
        for name, aspect in _scales(measure).items()
    }
    return {
        docno: float(np.nansum([sign * labels[name] for name, sign in signs.items()]))
        for docno, labels in world.judged.items()
    }


def _independence(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Check that values do not depend on other queries and the order of rows."""

    def evaluate_run(rankings: Rankings) -> dict[str, float]:
        return dict(zip(rankings.judgments.qids, measure.evaluate(rankings).tolist(), strict=True))

    together, backwards = (
        evaluate_run(several.all_rankings),
        evaluate_run(several.reversed_rankings),
    )
    for world, (qid, expected), alone in zip(
        several, together.items(), several.single_rankings, strict=True
    ):
        for statement, value in (
            ("a query has the same value alone and among others", evaluate_run(alone)[qid]),
            ("the order of rows makes no difference", backwards[qid]),
        ):
            if not equal(np.asarray(value), np.asarray(expected)):
                yield statement, f"{world.show(world.middle)}: {expected:.6g} and {value:.6g}"


def _bounds(measure: Measure, several: Worlds) -> Iterator[Failure]:
    """Check the upper bounds of all worlds."""
    if measure.lower_is_better:
        return
    try:
        table = upper_bound(several.all_rankings.judgments, measure)
    except MultiAspectError:
        return  # no bound is known
    for world, row in zip(several, table.itertuples(), strict=True):
        values = world.values(measure)[world.complete]
        best = int(world.complete[np.argmax(values)])
        attained = f"{world.show(best)}: {values.max():.6g}"
        if row.bound < values.max() - TOLERANCE:
            yield "no ranking exceeds the upper bound", f"{attained}, the bound is {row.bound:.6g}"
        if row.value > values.max() + TOLERANCE:
            yield "the value of the best ranking is attained", f"{attained}, not {row.value:.6g}"
        if row.strategy == "exact" and row.value < values.max() - TOLERANCE:
            yield "the exact upper bound is the best value", f"{attained}, not {row.value:.6g}"


def _mean_failures(measure: Measure, world: World, seed: int) -> Iterator[Failure]:
    """Check that `combine` increases, and that `slope` is the gradient of a homogeneous mean."""
    rng = np.random.default_rng(seed)
    n_terms = len(measure.terms(world.judgments))
    if n_terms < 2:
        return
    shape = (n_terms, 200)
    values, others = rng.uniform(0.05, 1, (2, *shape))
    weights = rng.uniform(0.05, 1, shape)
    weights /= weights.sum(axis=0)
    combined = np.asarray(measure.combine(values, weights), dtype=np.float64)
    if combined.shape != (200,):
        yield "`combine` has one value per query", f"the shape is {combined.shape}"
        return
    cases = _case_texts(values, weights, combined)
    raised = np.asarray(measure.combine(np.maximum(values, others), weights))
    if measure.stated.never_falls_with_terms:
        for index in np.flatnonzero(raised < combined - TOLERANCE)[:1].tolist():
            yield (
                "never_falls_with_terms: `combine` never falls when a value rises",
                f"{cases(index)}, then {raised[index]:.6g}",
            )
    slope = measure.slope(values, weights)
    if slope is not None:
        yield from _slope_failures(
            measure, np.asarray(slope, dtype=np.float64), values, others, weights
        )


def _case_texts(values: Floats, weights: Floats, combined: Floats) -> Callable[[int], str]:
    """Return the function that writes a case: its values, their weights and their mean."""

    def text(index: int) -> str:
        of_case = values[:, index].round(3)
        their_weights = weights[:, index].round(3)
        return f"values {of_case}, weights {their_weights}: {combined[index]:.6g}"

    return text


def _slope_failures(
    measure: Measure, slope: Floats, values: Floats, others: Floats, weights: Floats
) -> Iterator[Failure]:
    """Check that `slope` is the gradient of a homogeneous, concave mean."""
    combined = np.asarray(measure.combine(values, weights), dtype=np.float64)
    if slope.shape != values.shape:
        yield (
            "`slope` has a number per term and query",
            f"the shape is {slope.shape}, expected {values.shape}",
        )
        return
    cases = _case_texts(values, weights, combined)
    for statement, value, expected in (
        (
            "`slope`: `combine` is homogeneous, f(x/2) = f(x)/2",
            2 * measure.combine(values / 2, weights),
            combined,
        ),
        ("`slope`: slope times value sums to `combine`", (slope * values).sum(axis=0), combined),
    ):
        for index in np.flatnonzero(~equal(np.asarray(value), expected))[:1].tolist():
            yield statement, f"{cases(index)}, but {value[index]:.6g}"
    elsewhere = np.asarray(measure.combine(others, weights), dtype=np.float64)
    plane = (slope * others).sum(axis=0)
    for index in np.flatnonzero(elsewhere > plane + TOLERANCE)[:1].tolist():
        yield (
            "`slope`: `combine` is concave, so that slope times other values is a bound",
            (
                f"{cases(index)}; at {others[:, index].round(3)} {elsewhere[index]:.6g}, above "
                f"{plane[index]:.6g}"
            ),
        )
