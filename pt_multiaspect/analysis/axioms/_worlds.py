"""Small worlds: judged documents with any label tuples of the declared scales, and their rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from ..._numbers import number
from ..._typing import Bools, Ints
from ...aspects.aspect import Scale
from ...aspects.aspects import Aspects

#: Grade indices (0 is the lowest grade): worlds × documents × aspects, with documents in ranking order.
Worlds = Ints
#: The documents, aspects or constants that a trial compares.
Position = tuple[int, ...]


class Space:
    """All label tuples of the declared scales."""

    def __init__(self, aspects: Aspects) -> None:
        self.aspects = aspects
        self.names = tuple(aspects)
        self.scales: tuple[Scale, ...] = tuple(aspect.scale for aspect in aspects.values())
        self.sizes = tuple(map(len, self.scales))
        self.n_tuples = math.prod(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def decode(self, codes: Ints) -> Worlds:
        """Return the label tuples with the codes 0 … n_tuples - 1."""
        return np.stack(np.unravel_index(codes, self.sizes), axis=-1).astype(np.intp)

    def encode(self, grades: Worlds) -> Ints:
        """Return the codes of label tuples."""
        columns = tuple(grades[..., aspect] for aspect in range(len(self)))
        return np.asarray(np.ravel_multi_index(columns, self.sizes), dtype=np.intp)

    def labels(self, grades: Ints) -> tuple[float, ...]:
        """Return the labels of a tuple of grade indices."""
        return tuple(
            number(scale.grades[grade].item(), "a label")
            for scale, grade in zip(self.scales, grades.tolist(), strict=True)
        )


def _integers(sizes: Sequence[int], shape: tuple[int, ...], rng: np.random.Generator) -> Worlds:
    return np.stack([rng.integers(size, size=shape) for size in sizes], axis=-1).astype(np.intp)


class Source:
    """A kind of worlds, to be enumerated or sampled: any documents in any order."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        """Return the number of sequences of n label tuples."""
        return int(math.prod(sizes) ** n)

    def all_worlds(self, sizes: Sequence[int], n: int) -> Worlds:
        """Return all sequences of n label tuples."""
        codes = np.indices((math.prod(sizes),) * n).reshape(n, -1).T
        return np.stack(np.unravel_index(codes, tuple(sizes)), axis=-1).astype(np.intp)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        """Draw m sequences of n label tuples."""
        return _integers(sizes, (m, n), rng)


class Multisets(Source):
    """Any documents, without regard to order."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        """Return the number of multisets of n label tuples."""
        return math.comb(math.prod(sizes) + n - 1, n)

    def all_worlds(self, sizes: Sequence[int], n: int) -> Worlds:
        """Return all multisets of n label tuples."""
        codes = np.array(list(combinations_with_replacement(range(math.prod(sizes)), n)), dtype=np.intp)
        return np.stack(np.unravel_index(codes, tuple(sizes)), axis=-1).astype(np.intp)


class Chains(Source):
    """Documents that are sorted on all aspects at once."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        """Return the number of chains of n label tuples."""
        return math.prod(math.comb(size + n - 1, n) for size in sizes)

    def all_worlds(self, sizes: Sequence[int], n: int) -> Worlds:
        """Return all chains of n label tuples."""
        falling = [np.array(list(combinations_with_replacement(range(size)[::-1], n))) for size in sizes]
        picks = np.indices(tuple(map(len, falling))).reshape(len(sizes), -1)
        columns = [column[pick] for column, pick in zip(falling, picks, strict=True)]
        return np.stack(columns, axis=-1).astype(np.intp)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        """Draw m chains: grades of each aspect, sorted."""
        return np.sort(_integers(sizes, (m, n), rng), axis=1)[:, ::-1]


class Alike(Source):
    """Documents with the same labels."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        """Return the number of label tuples."""
        return math.prod(sizes)

    def all_worlds(self, sizes: Sequence[int], n: int) -> Worlds:
        """Return n copies of each label tuple."""
        return Source().all_worlds(sizes, 1).repeat(n, axis=1)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        """Draw m label tuples, n copies of each."""
        return _integers(sizes, (m, 1), rng).repeat(n, axis=1)


class OneAlike(Source):
    """Documents with the same label on at least one aspect, in any order."""

    @staticmethod
    def _other_sizes(sizes: Sequence[int], aspect: int) -> list[int]:
        return [1 if index == aspect else size for index, size in enumerate(sizes)]

    def count(self, sizes: Sequence[int], n: int) -> int:
        """Return an upper bound: worlds with equal labels on several aspects are counted several times."""
        parts = enumerate(sizes)
        return sum(size * Source().count(self._other_sizes(sizes, aspect), n) for aspect, size in parts)

    def all_worlds(self, sizes: Sequence[int], n: int) -> Worlds:
        """Return all sequences of n label tuples with the same grade on some aspect."""
        parts = []
        for aspect, size in enumerate(sizes):
            others = Source().all_worlds(self._other_sizes(sizes, aspect), n)
            for grade in range(size):
                part = others.copy()
                part[:, :, aspect] = grade
                parts.append(part)
        return np.unique(np.concatenate(parts), axis=0)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        """Draw m sequences with the same grade on an aspect drawn at random."""
        worlds = _integers(sizes, (m, n), rng)
        rows, aspect = np.arange(m), rng.integers(len(sizes), size=m)
        worlds[rows, :, aspect] = worlds[rows, 0, aspect][:, None]
        return worlds


class Variant(NamedTuple):
    """Changes to the measure or the labels."""

    #: The constant by which the labels of each aspect are multiplied. Empty: as declared.
    scaled: tuple[float, ...] = ()
    #: The aspect whose importance is doubled. -1: none.
    raised: int = -1


class Asked(NamedTuple):
    """One ranking for each of several worlds."""

    worlds: Worlds
    #: The documents from rank 1. All others are judged but not retrieved.
    order: tuple[int, ...]
    variant: Variant = Variant()


def order_with_swap(n: int, *pair: int) -> tuple[int, ...]:
    """Return the order of n documents with two of them swapped; unchanged without a pair."""
    order = list(range(n))
    if pair:
        i, j = pair
        order[i], order[j] = j, i
    return tuple(order)


def is_better(worlds: Worlds, i: int, j: int) -> Bools:
    """Return whether document i is better than j on one aspect and worse on none, for each world."""
    first, second = worlds[:, i], worlds[:, j]
    return np.asarray((first >= second).all(axis=1) & (first > second).any(axis=1))


def is_chain(worlds: Worlds) -> Bools:
    """Return whether the documents are sorted on all aspects at once, for each world."""
    return np.asarray((worlds[:, :-1] >= worlds[:, 1:]).all(axis=(1, 2)))


def change_grades(
    worlds: Worlds, documents: Sequence[int], aspect: int, change: int, *, to: bool = False
) -> Worlds:
    """Return the worlds with `change` added to the grades of some documents, or with these grades set to it."""
    changed = worlds.copy()
    for document in documents:
        changed[:, document, aspect] = change if to else changed[:, document, aspect] + change
    return changed
