"""Attainability: the best order of the documents scores 1, the worst scores 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import ClassVar

import numpy as np

from .._frames import Floats
from ._asking import Bound
from ._report import RankedWorld
from ._worlds import Asked, Bools, Multisets, Position, Space, Worlds
from .properties import TOLERANCE, Property


class Attainable(Property):
    """A property for which all permutations of a world are evaluated."""

    source = Multisets()
    #: +1 for the best order, -1 for the worst.
    end: ClassVar[int]
    shown = (0,)
    observed = "does not"

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Return the worlds that the statement applies to, and all permutations of their documents."""
        n = worlds.shape[1]
        return self._applies(worlds), [Asked(worlds, order) for order in permutations(range(n))]

    @staticmethod
    def _applies(worlds: Worlds) -> Bools:
        return np.ones(len(worlds), dtype=np.bool_)

    def to_show(self, scores: Floats) -> list[int]:
        """Return the best or the worst order."""
        return [int(np.argmax(self.end * scores))]

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """Return 'n/a' for measures with values outside [0, 1]."""
        low, high = bound.range
        return (
            None
            if (low, high) == (0.0, 1.0)
            else ("n/a", f"the values of the measure are between {low:g} and {high:g}")
        )


class OneAttainable(Attainable):
    """The best order scores 1."""

    name = "1 attainable"
    statement = "In every world in which some order of all documents scores above 0, the best order scores 1."
    end = 1
    least_documents = 1

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the highest score minus 1, for worlds with a positive score."""
        best = scores.max(axis=1)
        return best - 1.0, ~(best <= TOLERANCE)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected score."""
        return "this is the best order of these documents. It should score 1"


class ZeroAttainable(Attainable):
    """The worst order scores 0."""

    name = "0 attainable"
    statement = (
        "In every world whose documents do not all have the same labels, the worst order of all documents scores 0."
    )
    end = -1

    @staticmethod
    def _applies(worlds: Worlds) -> Bools:
        return np.asarray((worlds != worlds[:, :1]).any(axis=(1, 2)))

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return minus the lowest score."""
        return -scores.min(axis=1), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected score."""
        return "this is the worst order of these documents. It should score 0"
