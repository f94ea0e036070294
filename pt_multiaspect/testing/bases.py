"""Checks of the statements of single-aspect measures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._typing import Floats
from ..aspects import Aspect, Aspects
from ..bases import Base
from ..collection import Ranking, Rankings
from ..kernels.forms import Additive, Linear
from ..kernels.hits import Hits
from ..kernels.progress import Counts, Progression
from ..kernels.target import Target
from .worlds import TOLERANCE, Failure, World, differences, equal, standard

SCALES = standard(["relevance"])

#: The same grades; the lowest one is harmful.
_HARMFUL = Aspects({"relevance": Aspect([0, 1, 2], gains=[-1, 0, 2], threshold=1)})


def _target(rankings: Rankings, aspects: Aspects = SCALES) -> Target:
    return rankings.judgments.view("relevance", aspects).target


def base_failures(base: Base, world: World) -> Iterator[Failure]:
    """Yield the statements of a base that do not hold in a world."""
    rankings = world.rankings()
    target = _target(rankings)
    values = base.values(rankings, target)
    ranking = rankings.top(base.depth)
    gain = np.asarray(base.gain(target), dtype=np.float64)
    if gain.shape != target.query.shape or not (np.isfinite(gain) & (gain >= 0)).all():
        yield "`gain` is a number of at least 0 per judged document", f"{world.show(0)}: {gain}"
        return
    yield from differences(
        "`values` is `score`", world, np.asarray(base.score(ranking, target)), values
    )
    yield from _parameters(base)
    yield from _invariances(base, world, ranking, target, values)
    yield from _sorting(base, world, rankings, gain, values)
    if base.stated.prefers_early:
        yield from _early_documents(base, world, target, values)
    if base.empty(target).any() and not base.LOWER_IS_BETTER and values.max() > 0:
        yield "`empty`: without a gain no value is above 0", world.show(int(np.argmax(values)))
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


def _negative_gains(base: Base, world: World) -> Iterator[Failure]:
    """Yield the statements that do not hold with a negative gain of the lowest grade."""
    rankings = world.rankings()
    target = _target(rankings, _HARMFUL)
    values = base.values(rankings, target)
    ranking = rankings.top(base.depth)
    best = int(np.argmax(values))
    if values[best] > base.RANGE[1] + TOLERANCE:
        yield (
            "accepts_negative_gains: values are within the maximum of RANGE",
            f"{world.show(best)}: {values[best]:.6g}",
        )
    without = base.values(rankings, target.with_gain(np.maximum(target.gain, 0.0), target.top))
    raised = (
        () if base.stated.is_ordinal else np.flatnonzero(values > without + TOLERANCE)[:1].tolist()
    )
    for index in raised:
        yield (
            "accepts_negative_gains: negative gains do not raise values",
            f"{world.show(index)}: {values[index]:.6g}, with 0 for these {without[index]:.6g}",
        )
    form = base.additive(target)
    if form is not None:
        yield from _additive(form, world, rankings, ranking, values)
    yield from _contributions(base, world, ranking, target, values)


def _contributions(
    base: Base, world: World, ranking: Ranking, target: Target, values: Floats
) -> Iterator[Failure]:
    contributions = base.contributions(ranking, target)
    if contributions is not None:
        hits: Hits = ranking
        if len(contributions) != len(ranking.query):
            hits = ranking.dense()
        if len(contributions) != len(hits.query):
            yield (
                "`contributions` has a number per document of the ranking",
                f"{len(contributions)} numbers",
            )
            return
        total = hits.total(np.asarray(contributions))
        wrong = list(differences("`contributions` sum to the value", world, total, values))
        if wrong:
            yield from wrong
            return
    breakdown = base.breakdown(ranking, target)
    if breakdown is not None:
        yield from differences("`breakdown` sums to the value", world, breakdown.values(), values)


def _parameters(base: Base) -> Iterator[Failure]:
    if base.accepts_cutoff and (base.at(3).cutoff != 3 or base.at(None).cutoff is not None):
        yield "`at` gives another cutoff", f"at(3) has the cutoff {base.at(3).cutoff}"
    if base.accepts_cutoff:
        same = base.at(base.cutoff)
    else:
        same = base
    if same != base or hash(same) != hash(base):
        yield "equal measures are equal and have one hash", f"{same!r} is not {base!r}"


def _invariances(
    base: Base, world: World, ranking: Ranking, target: Target, values: Floats
) -> Iterator[Failure]:
    def score(gain: Floats, top: float) -> Floats:
        return np.asarray(base.score(ranking, target.with_gain(gain, top)), dtype=np.float64)

    if base.BINARY:
        changed = score(3 * target.gain + 2 * (target.gain > 0), target.top)
        yield from differences("BINARY: gains make no difference", world, changed, values)
    stated = base.stated
    max_gain = stated.max_gain
    if max_gain is None:
        max_gain = np.inf
    if stated.is_ordinal and target.top**2 <= max_gain:
        changed = score(target.gain**2, target.top**2)
        yield from differences(
            "is_ordinal: only the order of gains makes a difference", world, changed, values
        )
    if not stated.needs_top:
        changed = score(target.gain, target.top + 1)
        statement = "needs_top is not stated: the top of the scale makes no difference"
        yield from differences(statement, world, changed, values)
    if stated.exponentiates_gains:
        exponential = None
    else:
        exponential = base.exponential()
    if exponential is not None and np.exp2(target.top) - 1.0 <= max_gain:
        expected = score(np.exp2(target.gain) - 1.0, float(np.exp2(target.top)) - 1.0)
        computed = np.asarray(exponential.score(ranking, target), dtype=np.float64)
        yield from differences(
            "`exponential` is the measure of 2^gain - 1", world, computed, expected
        )


def _sorting(
    base: Base, world: World, rankings: Rankings, gain: Floats, values: Floats
) -> Iterator[Failure]:
    if not base.stated.sorting_is_optimal:
        return
    complete = values[world.complete]
    if base.LOWER_IS_BETTER:
        best = complete.min()
    else:
        best = complete.max()
    hits = rankings.hits
    rows = np.array([hits.row[hits.query == index] for index in world.complete], dtype=np.intp)
    is_sorted = (np.diff(gain[rows], axis=1) <= 0).all(axis=1)
    for index in world.complete[is_sorted & ~equal(complete, np.full(len(complete), best))][
        :1
    ].tolist():
        better = int(world.complete[np.argmax(complete == best)])
        yield (
            "sorting_is_optimal: documents in decreasing gain are a best ranking",
            (
                f"{world.show(index)}: {values[index]:.6g}, but {' '.join(world.ranked[better])} has "
                f"{best:.6g}"
            ),
        )


def _early_documents(base: Base, world: World, target: Target, values: Floats) -> Iterator[Failure]:
    """Exchange a document that is not relevant for a relevant one further down, or not retrieved."""
    is_first = target.query == 0
    relevant = dict(zip(world.judged, base.relevant(target)[is_first].tolist(), strict=True))
    value_of = dict(zip(world.ranked, values.tolist(), strict=True))
    for ranked, value in value_of.items():
        for row, worse in enumerate(ranked):
            for better in world.judged:
                if (
                    relevant[better]
                    and not relevant.get(worse, True)
                    and better not in ranked[:row]
                ):
                    exchanged = {worse: better, better: worse}
                    other = tuple(exchanged.get(docno, docno) for docno in ranked)
                    if value_of.get(other, value) < value - TOLERANCE:
                        index = world.ranked.index(ranked)
                        yield (
                            "prefers_early: a relevant document further up never lowers the value",
                            (
                                f"{world.show(index)}: {value:.6g}, with {' '.join(other)} "
                                f"{value_of[other]:.6g}"
                            ),
                        )
                        return


def _additive(
    form: Additive, world: World, rankings: Rankings, ranking: Ranking, values: Floats
) -> Iterator[Failure]:
    computed = np.asarray(form.values(ranking), dtype=np.float64)
    yield from differences(
        "`additive` is the measure (a norm may be too small)", world, computed, values
    )
    hits = rankings.hits
    summed = values.copy()
    for index in world.complete.tolist():
        is_hit = hits.query == index
        summed[index] = form.worth(index, hits.row[is_hit], hits.rank[is_hit]).trace()
    yield from differences("`additive`: worth sums to the value", world, summed, values)


def _linear(base: Base, form: Linear, world: World) -> Iterator[Failure]:
    discounts = np.asarray(form.discount(np.arange(1, 21)), dtype=np.float64)
    if discounts.shape != (20,) or (discounts < 0).any() or (np.diff(discounts) > 0).any():
        yield (
            "a discount is at least 0 and does not increase with the rank",
            f"ranks 1, 2, ...: {discounts[:5]}",
        )
    if base.stated.has_constant_norm and (form.norm is None or len(set(form.norm.tolist())) > 1):
        yield "has_constant_norm: all queries have one norm", f"{world.show(0)}: {form.norm}"
    if form.ideal is not None and form.norm is not None:
        ideal = form.ideal.norm(form.target, form.gain)
        yield from differences(
            "`ideal` is the ideal ranking of the norm", world, np.asarray(form.norm), ideal
        )
    if form.norm is None:
        norm = None
    else:
        norm = np.asarray(form.norm)
    if norm is not None and norm.shape != (form.target.n_queries,):
        yield "a norm has one number per query", f"the shape is {norm.shape}"
    elif norm is not None and (norm < 0).any():
        yield "a norm is not negative", f"{world.show(0)}: {norm}"


def _progression(
    progression: Progression, world: World, rankings: Rankings, values: Floats
) -> Iterator[Failure]:
    """Check a progression on all complete rankings: all continuations of each partial ranking."""
    hits = rankings.hits
    value_of = {world.ranked[index]: values[index] for index in world.complete.tolist()}
    for index in world.complete.tolist():
        rows = hits.row[hits.query == index]
        levels, kinds = np.unique(progression.gain[rows], return_inverse=True)
        progress = progression.begin(levels, np.bincount(kinds).astype(np.int32), index)
        counts: Counts = np.zeros((1, len(levels)), dtype=np.int32)
        gained = [0.0]
        rests = [float(progress.bound_of_rest(0, counts)[0])]
        for rank, kind in enumerate(kinds.tolist(), start=1):
            gained.append(gained[-1] + float(progress.step(rank, counts)[0, kind]))
            counts[0, kind] += 1
            rests.append(float(progress.bound_of_rest(rank, counts)[0]))
        if not equal(np.array(gained[-1]), values[index]):
            yield (
                "`progression`: the steps sum to the value",
                f"{world.show(index)}: {gained[-1]:.6g}, expected {values[index]:.6g}",
            )
        for rank, (before, rest) in enumerate(zip(gained, rests, strict=True)):
            if gained[-1] - before > rest + 1e-9:
                yield (
                    "`progression`: `rest` is a bound of what is still gained",
                    (
                        f"{world.show(index)}: {gained[-1] - before:.6g} after rank {rank}, rest is "
                        f"{rest:.6g}"
                    ),
                )
        ranked = world.ranked[index]
        for row in np.flatnonzero(np.diff(kinds) > 0).tolist():  # the next document is better
            swapped = (*ranked[:row], ranked[row + 1], ranked[row], *ranked[row + 2 :])
            if value_of[swapped] < values[index] - 1e-9:
                yield (
                    "`progression`: a better document further up never lowers the value",
                    (
                        f"{world.show(index)}: {values[index]:.6g}, with {' '.join(swapped)} "
                        f"{value_of[swapped]:.6g}"
                    ),
                )


def discounts_are_comparable(base: Base, world: World) -> bool:
    """Return whether the discounts of two targets are equal: sums can be sorted."""
    first = base.additive(_target(world.rankings()))
    second = base.additive(_target(world.separate_rankings))
    if not isinstance(first, Linear) or not isinstance(second, Linear):
        return True
    try:
        return bool(
            first.discount == second.discount and hash(first.discount) == hash(second.discount)
        )
    except TypeError:  # not hashable
        return False
