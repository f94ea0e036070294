"""Properties of measures: the rankings they compare, and conditions on their scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np

from ..._typing import Bools, Floats, Ints
from ._report import RankedWorld
from ._worlds import Asked, Bound, Position, Source, Space, Worlds

#: Scores that differ by at most this are equal.
TOLERANCE = 1e-9


class OrderCheck(NamedTuple):
    """Result of checking the order of label tuples itself."""

    trials: int
    #: Pairs of tuples (as grades): the first should weigh at least as much as the second, but does not.
    wrong: list[tuple[Ints, Ints]]
    sentence: str


class Property(ABC):
    """A property: its worlds, the rankings compared in them, and the condition on their scores."""

    name: ClassVar[str]
    statement: ClassVar[str]
    #: Whether equal scores also violate the property.
    strict: ClassVar[bool] = False
    least_aspects: ClassVar[int] = 1
    least_documents: ClassVar[int] = 2
    #: Number of documents in a ranking beyond those of its world.
    surplus: ClassVar[int] = 0
    #: Whether `check_order` checks the order of label tuples, too.
    checks_order: ClassVar[bool] = False
    #: Number of ranks that are compared.
    n_ranks: ClassVar[int] = 0
    source: ClassVar[Source]
    #: The expected relation between the rankings shown, with the ranks of the position as {0}, {1} and so on.
    relation: ClassVar[str]
    #: Indices of the rankings that are shown in an example.
    shown: ClassVar[tuple[int, ...]] = (0, 1)
    #: Columns of the ranking that should score higher, and of the other one.
    better, worse = 0, 1
    #: The relation that a violation shows instead of the expected one, and that a tie shows if it is strict.
    observed: ClassVar[str] = "the opposite holds"
    observed_tie: ClassVar[str] = "both score the same"

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return the possible comparisons in worlds of n documents; by default, all choices of `n_ranks` ranks."""
        return list(combinations(range(n), self.n_ranks))

    @abstractmethod
    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Return a mask of the worlds that satisfy the conditions, and the rankings to score in each world."""

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the margin by which each trial satisfies the property, and a mask of the trials that count.

        A negative margin violates the property. `scores` has one row per trial and one column per ranking; higher
        is better.
        """
        return scores[:, self.better] - scores[:, self.worse], np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation between the rankings A, B, … shown."""
        return self.relation.format(*(rank + 1 for rank in position))

    def observed_relation(self, scores: Sequence[float], tied: bool) -> str:
        """Return the observed relation."""
        return self.observed_tie if tied else self.observed

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        """Return lines of numbers below the rankings shown. The sign is -1 if lower scores are better."""
        return [("score", tuple(scores[column] for column in self.shown))]

    def example_rankings(self, scores: Floats) -> list[int]:
        """Return the indices of the rankings that belong to an example."""
        return list(range(len(scores)))

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """Return a verdict and its reason if no search is needed, else None."""
        return None

    def check_order(self, space: Space, grades: Worlds, tuple_class: Ints, weights: Floats) -> OrderCheck:
        """Check the order of label tuples itself, given tuples, their classes in the order, and their weights."""
        raise NotImplementedError
