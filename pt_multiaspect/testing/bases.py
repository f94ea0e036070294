"""Checks of the statements of single-aspect measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Bools, Floats
from ..aspects import Aspect, Aspects
from ..bases import Base
from ..collection import Ranking, Rankings
from ..kernels.forms import Additive, Linear
from ..kernels.hits import Hits
from ..kernels.progress import Counts, Progress, Progression
from ..kernels.target import Target
from .worlds import TOLERANCE, Failure, World, differences, equal, standard

SCALES = standard(["relevance"])

#: The same grades; the lowest one is harmful.
_HARMFUL = Aspects({"relevance": Aspect([0, 1, 2], gains=[-1, 0, 2], threshold=1)})


def _target(rankings: Rankings, aspects: Aspects = SCALES) -> Target:
    view = rankings.judgments.view("relevance", aspects)
    return view.target


def base_failures(base: Base, world: World) -> Iterator[Failure]:
    """Yield the statements of a base that do not hold in a world, each with an example."""
    rankings = world.rankings()
    target = _target(rankings)
    values = base.values(rankings, target)
    ranking = rankings.top(base.depth)
    gains_of_base = base.gain(target)
    gain = np.asarray(gains_of_base, dtype=np.float64)
    if not is_valid_gain(gain, target.query.shape):
        # All rankings of a world have the same judgments: the first one, 0, is the example.
        example = world.show(0)
        yield "`gain` is a number of at least 0 per judged document", f"{example}: {gain}"
        return
    scores = _score(base, ranking, target)
    yield from differences("`values` is `score`", world, scores, values)
    yield from _parameters(base)
    yield from _invariances(base, world, ranking, target, values)
    if base.stated.sorting_is_optimal:
        yield from _sorting(base, world, rankings, gain, values)
    if base.stated.prefers_early:
        yield from _early_documents(base, world, target, values)
    yield from _empty_targets(base, world, target, values)
    form = base.additive(target)
    if form is not None:
        yield from _additive(form, world, rankings, ranking, values)
    if isinstance(form, Linear):
        yield from _linear(base, form, world)
    yield from _contributions(base, world, ranking, target, values)
    progression = base.progression(target)
    if progression is not None:
        yield from _progression(progression, world, rankings, values)
    if base.stated.accepts_negative_gains:
        yield from _negative_gains(base, world)


def _score(base: Base, ranking: Ranking, target: Target) -> Floats:
    """Return the values by the function `score` that the class of a base defines."""
    values = base.score(ranking, target)
    return np.asarray(values, dtype=np.float64)


def is_valid_gain(gain: Floats, shape: tuple[int, ...]) -> bool:
    """Return whether gains have the expected shape, are finite and not negative."""
    if gain.shape != shape:
        return False
    is_finite = np.isfinite(gain)
    is_non_negative = gain >= 0
    return bool((is_finite & is_non_negative).all())


def _parameters(base: Base) -> Iterator[Failure]:
    """Check that `at` sets the cutoff, and that measures of equal parameters are equal."""
    same = base
    if base.accepts_cutoff:
        cutoff = base.at(3).cutoff
        no_cutoff = base.at(None).cutoff
        if cutoff != 3 or no_cutoff is not None:
            statement = "`at` gives another cutoff"
            yield statement, f"at(3) has the cutoff {cutoff}"
        same = base.at(base.cutoff)
    has_same_hash = hash(same) == hash(base)
    if same != base or not has_same_hash:
        statement = "equal measures are equal and have one hash"
        yield statement, f"{same!r} is not {base!r}"


def _invariances(
    base: Base, world: World, ranking: Ranking, target: Target, values: Floats
) -> Iterator[Failure]:
    """Check that values remain the same after changes that a base states to make no difference."""
    for statement, gain, top in _neutral_changes(base, target):
        changed_target = target.with_gain(gain, top)
        changed_values = _score(base, ranking, changed_target)
        yield from differences(statement, world, changed_values, values)
    yield from _exponential(base, world, ranking, target)


def _max_gain(base: Base) -> float:
    """Return the largest gain that a base accepts; infinity if it accepts all."""
    max_gain = base.stated.max_gain
    if max_gain is None:
        return np.inf
    return max_gain


def _neutral_changes(base: Base, target: Target) -> Iterator[tuple[str, Floats, float]]:
    """Yield statements of a base that changes make no difference, with changed gains and top.

    The top is the highest gain of the scale.
    """
    gain = target.gain
    top = target.top
    if base.BINARY:
        # Other gains for the positive documents, 1 to 5 and 2 to 8, for example; 0 remains 0.
        is_positive = gain > 0
        other_gain = 3 * gain + 2 * is_positive
        yield "BINARY: gains make no difference", other_gain, top
    squared_top = top**2
    if base.stated.is_ordinal and squared_top <= _max_gain(base):
        # Squares of gains have the same order.
        yield "is_ordinal: only the order of gains makes a difference", gain**2, squared_top
    if not base.stated.needs_top:
        statement = "needs_top is not stated: the top of the scale makes no difference"
        yield statement, gain, top + 1


def _exponential(base: Base, world: World, ranking: Ranking, target: Target) -> Iterator[Failure]:
    """Check that the exponential measure is the measure itself, evaluated on gains 2^gain - 1."""
    exponential_top = float(np.exp2(target.top)) - 1.0
    is_accepted = exponential_top <= _max_gain(base)
    if base.stated.exponentiates_gains or not is_accepted:
        return
    exponential = base.exponential()
    if exponential is None:
        return
    exponential_gain = np.exp2(target.gain) - 1.0
    exponential_target = target.with_gain(exponential_gain, exponential_top)
    expected = _score(base, ranking, exponential_target)
    computed = _score(exponential, ranking, target)
    statement = "`exponential` is the measure of 2^gain - 1"
    yield from differences(statement, world, computed, expected)


def _sorting(
    base: Base, world: World, rankings: Rankings, gain: Floats, values: Floats
) -> Iterator[Failure]:
    """Check that complete rankings in decreasing order of gain have the best value.

    `world.complete` are the indices of the rankings with all judged documents; `values` has one
    value per ranking of the world.
    """
    complete_values = values[world.complete]
    if base.LOWER_IS_BETTER:
        best = world.complete[complete_values.argmin()]
    else:
        best = world.complete[complete_values.argmax()]
    best_value = values[best]
    # One element per complete ranking.
    is_sorted = _is_sorted_by_gain(world, rankings.hits, gain)
    is_best = equal(complete_values, np.full_like(complete_values, best_value))
    counterexamples = world.complete[is_sorted & ~is_best]
    if len(counterexamples) == 0:
        return
    first = int(counterexamples[0])
    best_ranking = " ".join(world.ranked[best])
    yield (
        "sorting_is_optimal: documents in decreasing gain are a best ranking",
        f"{world.show(first)}: {values[first]:.6g}, but {best_ranking} has {best_value:.6g}",
    )


def _is_sorted_by_gain(world: World, hits: Hits, gain: Floats) -> Bools:
    """Return a mask of the complete rankings in which gains never increase with the rank."""
    result = []
    for index in world.complete:
        is_hit = hits.query == index
        gain_by_rank = gain[hits.row[is_hit]]
        increase = np.diff(gain_by_rank)
        result.append((increase <= 0).all())
    return np.array(result, dtype=np.bool_)


def _early_documents(base: Base, world: World, target: Target, values: Floats) -> Iterator[Failure]:
    """Check that values never fall if a relevant document takes the rank of a non-relevant one.

    The relevant document was further down, or not retrieved. `world.ranked` has the rankings of the
    world, each a tuple of document ids, and `values` their values.
    """
    # Each ranking is a query, and all queries have the same judged documents, `world.judged`, in
    # this order. So which of them are relevant is read from the first query.
    is_first_query = target.query == 0
    relevant_documents = base.relevant(target)
    is_relevant = relevant_documents[is_first_query].tolist()
    relevant = dict(zip(world.judged, is_relevant, strict=True))
    value_of = dict(zip(world.ranked, values.tolist(), strict=True))
    for ranked, value in value_of.items():
        for improved in _improved_rankings(ranked, relevant):
            # The world has all rankings of judged documents, but not all with an unjudged one.
            if improved not in value_of:
                continue
            improved_value = value_of[improved]
            has_fallen = improved_value < value - TOLERANCE
            if has_fallen:
                index = world.ranked.index(ranked)
                example = world.show(index)
                improved_docnos = " ".join(improved)
                yield (
                    "prefers_early: a relevant document further up never lowers the value",
                    f"{example}: {value:.6g}, with {improved_docnos} {improved_value:.6g}",
                )
                return


def _improved_rankings(
    ranked: tuple[str, ...], relevant: Mapping[str, bool]
) -> Iterator[tuple[str, ...]]:
    """Yield rankings in which a relevant document takes the rank of a non-relevant one.

    `relevant` maps each judged document to whether it is relevant. Unjudged documents are kept.
    """
    for position, docno in enumerate(ranked):
        is_non_relevant = docno in relevant and not relevant[docno]
        if not is_non_relevant:
            continue
        above = ranked[:position]
        for candidate, is_relevant in relevant.items():
            if is_relevant and candidate not in above:
                exchanged = {docno: candidate, candidate: docno}
                yield tuple(exchanged.get(document, document) for document in ranked)


def _empty_targets(base: Base, world: World, target: Target, values: Floats) -> Iterator[Failure]:
    """Check that no value is above 0 if the measure calls its target empty."""
    if base.LOWER_IS_BETTER:
        return
    # All queries of a world have the same judgments, so that all are empty, or none.
    is_empty = base.empty(target).any()
    if is_empty and values.max() > 0:
        index = int(np.argmax(values))
        yield "`empty`: without a gain no value is above 0", world.show(index)


def _additive(
    form: Additive, world: World, rankings: Rankings, ranking: Ranking, values: Floats
) -> Iterator[Failure]:
    """Check that the form as a sum over ranks gives the values of the measure.

    Each ranking of the world is a query.
    """
    values_of_form = form.values(ranking)
    computed = np.asarray(values_of_form, dtype=np.float64)
    # A norm that is too small may be the reason if values differ: the message says so.
    statement = "`additive` is the measure (a norm may be too small)"
    yield from differences(statement, world, computed, values)

    # `differences` compares all rankings. Those that are not checked keep their values, which are
    # then equal: only rankings with all judged documents are.
    summed = values.copy()
    for query in world.complete.tolist():
        summed[query] = _sum_of_worth(form, rankings.hits, query)
    yield from differences("`additive`: worth sums to the value", world, summed, values)


def _sum_of_worth(form: Additive, hits: Hits, query: int) -> float:
    """Return the sum of what the documents of a ranking add to its value at their ranks."""
    is_hit = hits.query == query
    documents = hits.row[is_hit]
    ranks = hits.rank[is_hit]
    worth = form.worth(query, documents, ranks)  # of each document at each rank
    # The first document is at the first of these ranks, and so on: their worth is on the diagonal.
    return float(np.trace(worth))


def _linear(base: Base, form: Linear, world: World) -> Iterator[Failure]:
    """Check the discount and the norm of a sum of discount times gain over ranks."""
    ranks = np.arange(1, 21)
    discounts_of_form = form.discount(ranks)
    discounts = np.asarray(discounts_of_form, dtype=np.float64)
    if not _are_discounts(discounts, ranks.shape):
        first_discounts = discounts[:5]
        yield (
            "a discount is at least 0 and does not increase with the rank",
            f"ranks 1, 2, ...: {first_discounts}",
        )
    if base.stated.has_constant_norm and not _has_constant_norm(form):
        # A norm depends on the judgments only, which are the same for all rankings of a world: the
        # first one, 0, is the example.
        example = world.show(0)
        yield "has_constant_norm: all queries have one norm", f"{example}: {form.norm}"
    if form.norm is not None:
        norm = np.asarray(form.norm)
        yield from _norm(form, norm, world)


def _are_discounts(discounts: Floats, shape: tuple[int, ...]) -> bool:
    """Return whether discounts have the expected shape, are never negative and never increase."""
    if discounts.shape != shape:
        return False
    has_negative = (discounts < 0).any()
    has_increase = (np.diff(discounts) > 0).any()
    return not has_negative and not has_increase


def _has_constant_norm(form: Linear) -> bool:
    """Return whether the norm is the same number for all queries."""
    if form.norm is None:
        return False
    distinct_norms = set(form.norm.tolist())
    return len(distinct_norms) <= 1


def _norm(form: Linear, norm: Floats, world: World) -> Iterator[Failure]:
    """Check that the norm is the sum of the ideal ranking, one non-negative number per query."""
    if form.ideal is not None:
        ideal_sum = form.ideal.norm(form.target, form.gain)
        yield from differences("`ideal` is the ideal ranking of the norm", world, norm, ideal_sum)
    expected_shape = (form.target.n_queries,)
    if norm.shape != expected_shape:
        yield "a norm has one number per query", f"the shape is {norm.shape}"
    elif (norm < 0).any():
        # A norm depends on the judgments only, which are the same for all rankings of a world: the
        # first one, 0, is the example.
        example = world.show(0)
        yield "a norm is not negative", f"{example}: {norm}"


def _contributions(
    base: Base, world: World, ranking: Ranking, target: Target, values: Floats
) -> Iterator[Failure]:
    """Check that contributions of documents, and those of the breakdown, sum to the values."""
    contributions = base.contributions(ranking, target)
    if contributions is not None:
        hits = _hits_with_contributions(ranking, len(contributions))
        if hits is None:
            statement = "`contributions` has a number per document of the ranking"
            yield statement, f"{len(contributions)} numbers"
            return
        total = hits.total(np.asarray(contributions))
        statement = "`contributions` sum to the value"
        wrong = list(differences(statement, world, total, values))
        if wrong:
            # A breakdown is made of the contributions, so it would be wrong for the same reason.
            yield from wrong
            return
    breakdown = base.breakdown(ranking, target)
    if breakdown is not None:
        total = breakdown.values()
        yield from differences("`breakdown` sums to the value", world, total, values)


def _hits_with_contributions(ranking: Ranking, n_contributions: int) -> Hits | None:
    """Return the documents that a base computes contributions of, by their number.

    These are the judged documents of the ranking, or all of its documents; None if neither.
    """
    judged: Hits = ranking
    if n_contributions == len(judged.query):
        return judged
    all_documents = ranking.dense()
    if n_contributions == len(all_documents.query):
        return all_documents
    return None


def _progression(
    progression: Progression, world: World, rankings: Rankings, values: Floats
) -> Iterator[Failure]:
    """Check a progression, a measure computed rank by rank, on all complete rankings.

    `world.complete` are the indices of the rankings with all judged documents; each ranking is a
    query. So all continuations of each partial ranking are checked.
    """
    hits = rankings.hits
    complete = world.complete.tolist()
    value_of = {world.ranked[query]: values[query] for query in complete}
    for query in complete:
        example = world.show(query)
        is_hit = hits.query == query
        rows = hits.row[is_hit]  # the documents in the order of the ranking
        gains = progression.gain[rows]
        # A progression knows documents by their type: the gains 1, 3, 1 are two types, 1 and 3, and
        # the documents are of the types 0, 1 and 0, which have 2 and 1 documents in total.
        gain_of_type, types = np.unique(gains, return_inverse=True)
        totals = np.bincount(types).astype(np.int32)
        progress = progression.begin(gain_of_type, totals, query)
        # The gains of the ranks sum to the value, and what is still gained has a bound.
        yield from _steps(progress, types.tolist(), len(totals), example, values[query])
        # A better document further up does not lower the value.
        yield from _swaps(world.ranked[query], types, value_of, example)


def _swaps(
    ranked: tuple[str, ...],
    types: NDArray[np.integer[Any]],
    value_of: Mapping[tuple[str, ...], float],
    example: str,
) -> Iterator[Failure]:
    """Check that the value of a ranking never falls if a better document goes up by one rank.

    `types` are the types of the documents by rank, where higher ones are better. `value_of` has the
    values of all orders of the documents, and `example` describes the ranking.
    """
    value = value_of[ranked]
    is_next_better = np.diff(types) > 0
    for position in np.flatnonzero(is_next_better).tolist():
        swapped = _swap_with_next(ranked, position)
        swapped_value = value_of[swapped]
        is_lower = swapped_value < value - 1e-9  # but for rounding
        if is_lower:
            docnos = " ".join(swapped)
            statement = "`progression`: a better document further up never lowers the value"
            yield statement, f"{example}: {value:.6g}, with {docnos} {swapped_value:.6g}"


def _steps(
    progress: Progress, types: list[int], n_types: int, example: str, value: float
) -> Iterator[Failure]:
    """Check the gains of a ranking, and the bounds of what is still gained after each rank.

    `types` are the types of the documents by rank, `example` describes the ranking, and `value` is
    its value.
    """
    gained_by_rank, bound_by_rank = _gained_and_bounds(progress, types, n_types)
    gained = gained_by_rank[-1]
    is_value = equal(np.array(gained), np.asarray(value))
    if not is_value:
        yield (
            "`progression`: the steps sum to the value",
            f"{example}: {gained:.6g}, expected {value:.6g}",
        )
    for rank, bound in enumerate(bound_by_rank):
        still_gained = gained - gained_by_rank[rank]
        if still_gained > bound + 1e-9:
            yield (
                "`progression`: `rest` is a bound of what is still gained",
                f"{example}: {still_gained:.6g} after rank {rank}, rest is {bound:.6g}",
            )


def _gained_and_bounds(
    progress: Progress, types: list[int], n_types: int
) -> tuple[list[float], list[float]]:
    """Return what is gained down to each rank, and the bound of what further ranks gain.

    Both begin with rank 0, where nothing is gained. `types` are the types of the documents by rank.
    """
    # `progress` computes many rankings at once; here is one. The numbers of its documents by type.
    counts: Counts = np.zeros((1, n_types), dtype=np.int32)
    gained = 0.0
    gained_by_rank = [gained]
    (bound,) = progress.bound_of_rest(0, counts)
    bound_by_rank = [float(bound)]
    for rank, document_type in enumerate(types, start=1):
        (gain_of_types,) = progress.step(rank, counts)  # of a document of each type at this rank
        gained += float(gain_of_types[document_type])
        gained_by_rank.append(gained)
        counts[0, document_type] += 1
        (bound,) = progress.bound_of_rest(rank, counts)
        bound_by_rank.append(float(bound))
    return gained_by_rank, bound_by_rank


def _swap_with_next(ranked: tuple[str, ...], position: int) -> tuple[str, ...]:
    """Return the ranking with the document at a position (from 0) and the next one exchanged."""
    swapped = list(ranked)
    swapped[position] = ranked[position + 1]
    swapped[position + 1] = ranked[position]
    return tuple(swapped)


def _negative_gains(base: Base, world: World) -> Iterator[Failure]:
    """Yield the statements that do not hold with a negative gain of the lowest grade."""
    rankings = world.rankings()
    target = _target(rankings, _HARMFUL)
    values = base.values(rankings, target)
    ranking = rankings.top(base.depth)
    _, maximum = base.RANGE
    best = int(np.argmax(values))
    if values[best] > maximum + TOLERANCE:
        example = world.show(best)
        yield (
            "accepts_negative_gains: values are within the maximum of RANGE",
            f"{example}: {values[best]:.6g}",
        )
    # Ordinal measures ignore by how much gains differ, so values may rise.
    if not base.stated.is_ordinal:
        yield from _harm(base, world, rankings, target, values)
    form = base.additive(target)
    if form is not None:
        yield from _additive(form, world, rankings, ranking, values)
    yield from _contributions(base, world, ranking, target, values)


def _harm(
    base: Base, world: World, rankings: Rankings, target: Target, values: Floats
) -> Iterator[Failure]:
    """Check that negative gains do not raise values above those with gains of 0 instead."""
    gain_without_harm = np.maximum(target.gain, 0.0)
    target_without_harm = target.with_gain(gain_without_harm, target.top)
    values_without_harm = base.values(rankings, target_without_harm)
    is_raised = values > values_without_harm + TOLERANCE
    if is_raised.any():
        index = int(np.argmax(is_raised))
        example = world.show(index)
        without_harm = values_without_harm[index]
        yield (
            "accepts_negative_gains: negative gains do not raise values",
            f"{example}: {values[index]:.6g}, with 0 for these {without_harm:.6g}",
        )


def discounts_are_comparable(base: Base, world: World) -> bool:
    """Return whether the discounts of a base for two targets are equal, and have the same hash.

    Combinations then know that their terms have the same discounts, and sort documents instead of
    assigning them to ranks. Bases without discounts are comparable.
    """
    # Two collections of the same judgments: their discounts are the same, but made separately.
    target = _target(world.rankings())
    separate_target = _target(world.separate_rankings)
    form = base.additive(target)
    separate_form = base.additive(separate_target)
    # Only sums of discount times gain have discounts.
    if not isinstance(form, Linear) or not isinstance(separate_form, Linear):
        return True
    discount = form.discount
    separate_discount = separate_form.discount
    try:
        have_same_hash = hash(discount) == hash(separate_discount)
    except TypeError:  # not hashable
        return False
    return bool(discount == separate_discount and have_same_hash)
