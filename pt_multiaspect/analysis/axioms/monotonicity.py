"""Monotonicity: a better document, or a better document further up, does not lower the score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from .._frames import Floats
from ._asking import Bound
from ._report import RankedWorld, written
from ._worlds import (
    Asked,
    Bools,
    Multisets,
    Position,
    Sequences,
    Space,
    Worlds,
    exchanged,
    is_better,
)
from .properties import TOLERANCE, OfOrder, Property


class PartialOrder(Property):
    name = "Eq. 1"
    statement = (
        "A ranking of one document scores at least as high as a ranking of another document that is not better on "
        "any aspect (both documents are judged, possibly with others). For TOMA also: no label tuple weighs less "
        "than a tuple that is not better on any aspect."
    )
    source = Multisets()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(permutations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        better, worse = position
        return is_better(worlds, better, worse), [Asked(worlds, (better,)), Asked(worlds, (worse,))]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        return (
            "the document of A is better than that of B on one aspect and worse on none. A should not score lower"
        )

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, _, weights = tuples
        space = bound.space
        # Steps of one grade on one aspect are sufficient: all other pairs follow by transitivity.
        at = np.full(space.n_tuples, np.nan)
        at[space.encode(grades)] = weights
        trials, wrong = 0, []
        for aspect, size in enumerate(space.sizes):
            lower = grades[grades[:, aspect] < size - 1]
            upper = lower.copy()
            upper[:, aspect] += 1
            difference = at[space.encode(upper)] - at[space.encode(lower)]
            trials += int(np.isfinite(difference).sum())
            wrong += [(upper[row], lower[row]) for row in np.flatnonzero(difference < -TOLERANCE).tolist()]
        return OfOrder(trials, wrong, "A weighs less than B, although it is better on one aspect and worse on none")


class InPlace(Property):
    name = "Eq. 4"
    statement = (
        "A document that is better alone is better in any ranking: if the ranking of one document scores at least "
        "as high as the ranking of another, swapping the two in any ranking so that the first moves up does not "
        "lower the score. For TOMA also: weights and binary relevance do not decrease along the order of label "
        "tuples."
    )
    source = Sequences()
    shown = (2, 3)

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(combinations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, j), n = position, worlds.shape[1]
        differ = np.asarray((worlds[:, i] != worlds[:, j]).any(axis=1))
        return differ, [Asked(worlds, order) for order in ((j,), (i,), exchanged(n), exchanged(n, i, j))]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        with np.errstate(invalid="ignore"):
            at_least = ~(scores[:, 0] < scores[:, 1] - TOLERANCE)
        return scores[:, 3] - scores[:, 2], np.asarray(at_least)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        (one, other), (i, j) = asked[:2], position
        return (
            f"alone, {one.tuples[0]} scores {written(one.score)} and {other.tuples[0]} {written(other.score)}. B "
            f"swaps ranks {i + 1} and {j + 1} of A and moves {one.tuples[0]} up. B should not score lower"
        )

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "does"

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, place, weights = tuples
        # The maximum weight at each place or below. Tuples at the same place must have the same weight.
        greatest = np.full(int(place.max()) + 1, -np.inf)
        np.maximum.at(greatest, place, weights)
        greatest = np.maximum.accumulate(greatest)
        pairs = []
        for row in np.flatnonzero(weights < greatest[place] - TOLERANCE).tolist():
            heavier = np.flatnonzero((weights == greatest[place[row]]) & (place <= place[row]))
            pairs.append((grades[row], grades[heavier[0]]))
        return OfOrder(len(grades), pairs, "A weighs less than B, although it is not below B in the order")


class Swap(Property):
    name = "swap"
    statement = (
        "In any ranking, ideal or not, swapping two documents so that the worse one (worse on one aspect, better "
        "on none) moves up does not raise the score."
    )
    source = Sequences()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(combinations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, j), n = position, worlds.shape[1]
        return is_better(worlds, i, j), [Asked(worlds, exchanged(n)), Asked(worlds, exchanged(n, i, j))]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, j = (rank + 1 for rank in position)
        return f"B swaps ranks {i} and {j} of A and moves the worse document up. B should not score higher"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "does"
