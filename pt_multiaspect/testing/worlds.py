"""Small collections with all rankings of their documents."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .._cached import Memo, cached_property
from .._typing import Bools, Floats, Ints
from ..aspects import Aspect, Aspects
from ..collection import Judgments, Rankings
from ..collection.columns import KNOWN
from ..measures import Measure

#: A statement of a class, and an example for which it does not hold.
Failure = tuple[str, str]

Judged = Mapping[str, Mapping[str, float]]

#: Numbers of documents of the worlds.
_SIZES = (1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4)

_NAN = float("nan")

#: Tolerance of inequalities.
TOLERANCE = 1e-9


def standard(names: Sequence[str]) -> Aspects:
    """Return scales 0-2 for aspects that are not declared."""
    return Aspects({name: Aspect([0, 1, 2], threshold=1) for name in names})


@dataclass(frozen=True)
class World(Memo):
    """Judged documents, and rankings of them; each ranking is a separate query."""

    judged: Judged
    ranked: tuple[tuple[str, ...], ...]

    @cached_property
    def judgments(self) -> Judgments:
        """The judgments, repeated for every ranking."""
        return Judgments(self._qrels())

    def _qrels(self) -> pd.DataFrame:
        rows = [{"doc_id": docno, **labels} for docno, labels in self.judged.items()]
        qrels = pd.DataFrame(rows * len(self.ranked))
        return qrels.assign(
            query_id=np.repeat([f"{index:03d}" for index in range(len(self.ranked))], len(rows))
        )

    def run(self, depth: int | None = None) -> dict[str, dict[str, float]]:
        """Return the rankings, or their first ranks."""
        return {
            f"{index:03d}": {docno: -float(rank) for rank, docno in enumerate(ranked[:depth])}
            for index, ranked in enumerate(self.ranked)
            if ranked
        }

    def rankings(self, depth: int | None = None) -> Rankings:
        """Return the rankings, or their first ranks, joined with the judgments once."""
        return self.compute_once(
            ("rankings", depth), lambda: Rankings(self.run(depth), self.judgments)
        )

    @cached_property
    def separate_rankings(self) -> Rankings:
        """The rankings, joined with separate judgments."""
        return Rankings(self.run(), Judgments(self._qrels()))

    def values(self, measure: Measure) -> Floats:
        """Return the values of a measure, which are computed once."""
        return self.compute_once(("values", measure), lambda: measure.evaluate(self.rankings()))

    @cached_property
    def complete(self) -> Ints:
        """The indices of the rankings that have all judged documents and no others."""
        sizes = [
            len(ranked) == len(self.judged) and "unjudged" not in ranked for ranked in self.ranked
        ]
        return np.flatnonzero(sizes)

    @property
    def middle(self) -> int:
        """The index of a ranking of some of the judged documents."""
        return len(self.ranked) // 2

    def show(self, index: int) -> str:
        """Describe the world and one of its rankings, for an error."""
        shown: dict[str, object] = {}
        for docno, judged in self.judged.items():
            labels = {name: label for name, label in judged.items() if name != KNOWN}
            if list(labels) == ["relevance"]:
                shown[docno] = labels["relevance"]
            else:
                shown[docno] = labels
        return f"judged {shown}, ranked {' '.join(self.ranked[index]) or 'nothing'}"


class Worlds(tuple[World, ...]):
    """Worlds of the same aspects, from small to large, and collections with one query per world."""

    @cached_property
    def all_rankings(self) -> Rankings:
        """One ranking of each world."""
        return self._join(range(len(self)))

    @cached_property
    def reversed_rankings(self) -> Rankings:
        """The same rankings, with queries and documents in reverse order."""
        return self._join(range(len(self))[::-1], step=-1)

    @cached_property
    def single_rankings(self) -> list[Rankings]:
        """The same rankings, each in a separate collection."""
        return [self._join([index]) for index in range(len(self))]

    def _join(self, indices: Sequence[int], step: int = 1) -> Rankings:
        """Return one ranking of some worlds, joined with their judgments."""
        chosen = {chr(97 + index): self[index] for index in indices}
        judged = {qid: dict(list(world.judged.items())[::step]) for qid, world in chosen.items()}
        run = {
            qid: {docno: -float(rank) for rank, docno in enumerate(world.ranked[world.middle])}
            for qid, world in chosen.items()
        }
        return Rankings(run, Judgments(judged))


def worlds(aspects: Aspects, seed: int) -> Worlds:
    """Return worlds with labels of the scales, junk and missing labels, from small to large."""
    rng = random.Random(seed)
    labels = {
        name: [*aspect.scale.grades.tolist() * 2, -1.0, _NAN] for name, aspect in aspects.items()
    }
    result = []
    for size in _SIZES:
        judged = {
            f"d{number + 1}": {name: rng.choice(choices) for name, choices in labels.items()}
            | {KNOWN: rng.choice((0, 1))}
            for number in range(size)
        }
        result.append(World(judged, tuple(_arrangements(tuple(judged)))))
    return Worlds(result)


def _arrangements(documents: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield rankings of some of the documents, and of all of them with one unjudged document."""
    for length in range(len(documents), -1, -1):
        yield from itertools.permutations(documents, length)
    for row in range(len(documents) + 1):
        yield (*documents[:row], "unjudged", *documents[row:])


def equal(values: Floats, expected: Floats) -> Bools:
    """Return whether values are equal except for rounding."""
    return np.asarray(np.isclose(values, expected, rtol=1e-9, atol=1e-9), dtype=np.bool_)


def differences(
    statement: str, world: World, values: Floats, expected: Floats
) -> Iterator[Failure]:
    """Yield a ranking for which a value differs from the expected one, if there is one."""
    if values.shape != expected.shape:
        yield statement, f"the shape is {values.shape}, expected {expected.shape}"
        return
    for index in np.flatnonzero(~equal(values, expected))[-1:].tolist():
        yield statement, f"{world.show(index)}: {values[index]:.6g}, expected {expected[index]:.6g}"
