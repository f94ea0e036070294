"""Monotonicity: scores do not decrease if documents are better, or better documents are moved up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from .._frames import Floats
from ._asking import Bound
from ._report import RankedWorld, written
from ._worlds import Asked, Bools, Multisets, Position, Sequences, Space, Worlds, exchanged, is_better
from .properties import TOLERANCE, OfOrder, Property


class PartialOrder(Property):
    """Equation 1 of Maistro et al.: a better document does not score lower."""

    name = "Eq. 1"
    statement = (
        "A ranking of one document scores at least as high as a ranking of another document that is not better on "
        "any aspect (both documents are judged, possibly with others). For TOMA also: no label tuple weighs less "
        "than a tuple that is not better on any aspect."
    )
    source = Multisets()

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all ordered pairs of documents."""
        return list(permutations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare rankings of one document each, of which one is better than the other."""
        better, worse = position
        return is_better(worlds, better, worse), [Asked(worlds, (better,)), Asked(worlds, (worse,))]

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        return (
            "the document of A is better than that of B on one aspect and worse on none. A should not score lower"
        )

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        """Check that label tuples do not weigh less than tuples that are worse on one aspect."""
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, _, weights = tuples
        space = bound.space
        # Steps of one grade on one aspect are sufficient: all other pairs follow by transitivity.
        weight_of = np.full(space.n_tuples, np.nan)
        weight_of[space.encode(grades)] = weights
        trials, wrong = 0, []
        for aspect, size in enumerate(space.sizes):
            lower = grades[grades[:, aspect] < size - 1]
            upper = lower.copy()
            upper[:, aspect] += 1
            difference = weight_of[space.encode(upper)] - weight_of[space.encode(lower)]
            trials += int(np.isfinite(difference).sum())
            wrong += [(upper[row], lower[row]) for row in np.flatnonzero(difference < -TOLERANCE).tolist()]
        return OfOrder(trials, wrong, "A weighs less than B, although it is better on one aspect and worse on none")


class InPlace(Property):
    """Equation 4 of Maistro et al.: a document that is better alone is better at any rank."""

    name = "Eq. 4"
    statement = (
        "A document that is better alone is better in any ranking: if the ranking of one document scores at least "
        "as high as the ranking of another, swapping the two in any ranking so that the first moves up does not "
        "lower the score. For TOMA also: weights and binary relevance do not decrease along the order of label "
        "tuples."
    )
    source = Sequences()
    shown = (2, 3)
    observed = "does"

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all pairs of ranks."""
        return list(combinations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the documents alone, and both orders of them in the ranking."""
        (i, j), n = position, worlds.shape[1]
        differ = np.asarray((worlds[:, i] != worlds[:, j]).any(axis=1))
        return differ, [Asked(worlds, order) for order in ((j,), (i,), exchanged(n), exchanged(n, i, j))]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the gain of the swap, for trials in which the document that moves up is not worse alone."""
        with np.errstate(invalid="ignore"):
            at_least = ~(scores[:, 0] < scores[:, 1] - TOLERANCE)
        return scores[:, 3] - scores[:, 2], np.asarray(at_least)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        (better, worse), (i, j) = rankings[:2], position
        return (
            f"alone, {better.tuples[0]} scores {written(better.score)} and {worse.tuples[0]} "
            f"{written(worse.score)}. B swaps ranks {i + 1} and {j + 1} of A and moves {better.tuples[0]} up. "
            "B should not score lower"
        )

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        """Check that weights do not decrease along the order of label tuples."""
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, tuple_class, weights = tuples
        # The maximum weight of each class or below. Tuples of the same class must have the same weight.
        maxima = np.full(int(tuple_class.max()) + 1, -np.inf)
        np.maximum.at(maxima, tuple_class, weights)
        maxima = np.maximum.accumulate(maxima)
        pairs = []
        for row in np.flatnonzero(weights < maxima[tuple_class] - TOLERANCE).tolist():
            heavier = np.flatnonzero((weights == maxima[tuple_class[row]]) & (tuple_class <= tuple_class[row]))
            pairs.append((grades[row], grades[heavier[0]]))
        return OfOrder(len(grades), pairs, "A weighs less than B, although it is not below B in the order")


class Swap(Property):
    """Moving a worse document up does not raise the score."""

    name = "swap"
    statement = (
        "In any ranking, ideal or not, swapping two documents so that the worse one (worse on one aspect, better "
        "on none) moves up does not raise the score."
    )
    source = Sequences()
    observed = "does"

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all pairs of ranks."""
        return list(combinations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the ranking with that in which a worse document moves up."""
        (i, j), n = position, worlds.shape[1]
        return is_better(worlds, i, j), [Asked(worlds, exchanged(n)), Asked(worlds, exchanged(n, i, j))]

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        i, j = (rank + 1 for rank in position)
        return f"B swaps ranks {i} and {j} of A and moves the worse document up. B should not score higher"
