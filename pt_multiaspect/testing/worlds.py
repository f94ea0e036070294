"""Small collections in which everything can be tried, from small to large."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..aspects import Aspect, Aspects
from ..collection.columns import KNOWN
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..measures import Measure

__all__ = ["TOLERANCE", "Failure", "World", "differences", "equal", "standard", "worlds"]

#: What a class states, and where that does not hold.
Failure = tuple[str, str]

Judged = Mapping[str, Mapping[str, float]]

#: How many documents the worlds have.
_SIZES = (1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4)

_NAN = float("nan")

#: How far values may exceed what they should not.
TOLERANCE = 1e-9


def standard(names: Sequence[str]) -> Aspects:
    """Scales 0-2 for aspects of which nothing is declared."""
    return Aspects({name: Aspect([0, 1, 2], threshold=1) for name in names})


@dataclass(frozen=True)
class World:
    """Some judged documents, and rankings of them, each of which is a query of its own."""

    judged: Judged
    ranked: tuple[tuple[str, ...], ...]

    def judgments(self) -> Judgments:
        """The judgments, once for every ranking."""
        return Judgments(self._qrels)

    @cached_property
    def _qrels(self) -> pd.DataFrame:
        rows = [
            {"query_id": f"{index:03d}", "doc_id": docno, **labels}
            for index in range(len(self.ranked))
            for docno, labels in self.judged.items()
        ]
        return pd.DataFrame(rows)

    def run(self, depth: int | None = None) -> dict[str, dict[str, float]]:
        """The rankings, or their first ranks."""
        return {
            f"{index:03d}": {docno: -float(rank) for rank, docno in enumerate(ranked[:depth])}
            for index, ranked in enumerate(self.ranked)
            if ranked
        }

    def rankings(self, depth: int | None = None) -> Rankings:
        """The rankings joined with new judgments."""
        return Rankings(self.run(depth), self.judgments())

    def values(self, measure: Measure) -> Floats:
        """The values of a measure, which are computed once."""
        if measure not in self._values:
            self._values[measure] = measure.evaluate(self.rankings())
        return self._values[measure]

    @cached_property
    def _values(self) -> dict[Measure, Floats]:
        return {}

    @cached_property
    def complete(self) -> Ints:
        """Which rankings have all judged documents and no others."""
        sizes = [len(ranked) == len(self.judged) and "unjudged" not in ranked for ranked in self.ranked]
        return np.flatnonzero(sizes)

    def show(self, index: int) -> str:
        """The world and one of its rankings, for an error."""
        labels = {docno: _labels(of) for docno, of in self.judged.items()}
        return f"judged {labels}, ranked {' '.join(self.ranked[index]) or 'nothing'}"


def _labels(of: Mapping[str, float]) -> object:
    rest = {name: label for name, label in of.items() if name != KNOWN}
    return rest["relevance"] if list(rest) == ["relevance"] else rest


def worlds(aspects: Aspects, seed: int) -> list[World]:
    """Worlds with labels of the scales, junk and missing labels, from small to large."""
    rng = random.Random(seed)
    labels = {name: [*aspect.scale.grades.tolist() * 2, -1.0, _NAN] for name, aspect in aspects.items()}
    made = []
    for size in _SIZES:
        judged = {
            f"d{number + 1}": {name: rng.choice(of) for name, of in labels.items()} | {KNOWN: rng.choice((0, 1))}
            for number in range(size)
        }
        made.append(World(judged, tuple(_arrangements(tuple(judged)))))
    return made


def _arrangements(documents: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Rankings of some of the documents, and of all of them with one that nobody judged."""
    for length in range(len(documents), -1, -1):
        yield from itertools.permutations(documents, length)
    for place in range(len(documents) + 1):
        yield (*documents[:place], "unjudged", *documents[place:])


def equal(values: Floats, wanted: Floats) -> Bools:
    """Whether values are equal but for rounding."""
    return np.asarray(np.isclose(values, wanted, rtol=1e-9, atol=1e-9), dtype=np.bool_)


def differences(statement: str, world: World, values: Floats, wanted: Floats) -> Iterator[Failure]:
    """The first ranking at which values are not what is wanted."""
    if values.shape != wanted.shape:
        yield statement, f"the shape is {values.shape}, expected {wanted.shape}"
        return
    wrong = np.flatnonzero(~equal(values, wanted))
    if len(wrong):
        at = int(wrong[-1])
        yield statement, f"{world.show(at)}: {values[at]:.6g}, expected {wanted[at]:.6g}"
