"""Small worlds: judged documents with all the label tuples that scales allow, and rankings of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...aspects import Aspects, Scale, number

Bools = npt.NDArray[np.bool_]
#: Grade indices, 0 the worst: worlds × documents × aspects, the documents in the order of a ranking.
Worlds = npt.NDArray[np.intp]
#: Which documents, aspects or constants a trial is about.
Position = tuple[int, ...]


class Space:
    """The label tuples that the declared scales make."""

    def __init__(self, aspects: Aspects) -> None:
        self.aspects = aspects
        self.names = tuple(aspects)
        self.scales: tuple[Scale, ...] = tuple(aspect.scale for aspect in aspects.values())
        self.sizes = tuple(map(len, self.scales))
        self.n_tuples = math.prod(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def decode(self, codes: npt.NDArray[np.intp]) -> Worlds:
        """The label tuples of codes 0 … n_tuples - 1."""
        return np.stack(np.unravel_index(codes, self.sizes), axis=-1).astype(np.intp)

    def encode(self, grades: Worlds) -> npt.NDArray[np.intp]:
        columns = tuple(grades[..., aspect] for aspect in range(len(self)))
        return np.asarray(np.ravel_multi_index(columns, self.sizes), dtype=np.intp)

    def labels(self, grades: npt.NDArray[np.intp]) -> tuple[float, ...]:
        """One tuple of grade indices as labels."""
        return tuple(
            number(scale.grades[grade].item(), "a label")
            for scale, grade in zip(self.scales, grades.tolist(), strict=True)
        )


class Source(ABC):
    """Where worlds of one kind come from: all there are, or random ones."""

    @abstractmethod
    def count(self, sizes: Sequence[int], n: int) -> int:
        """How many worlds of n documents there are, at the most."""

    @abstractmethod
    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        """All of them."""

    @abstractmethod
    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        """Draw m of them."""


def _integers(sizes: Sequence[int], shape: tuple[int, ...], rng: np.random.Generator) -> Worlds:
    return np.stack([rng.integers(size, size=shape) for size in sizes], axis=-1).astype(np.intp)


class Sequences(Source):
    """Any documents in any order."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        return int(math.prod(sizes) ** n)

    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        codes = np.indices((math.prod(sizes),) * n).reshape(n, -1).T
        return np.stack(np.unravel_index(codes, tuple(sizes)), axis=-1).astype(np.intp)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        return _integers(sizes, (m, n), rng)


class Multisets(Source):
    """Any documents, whatever their order."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        return math.comb(math.prod(sizes) + n - 1, n)

    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        codes = np.array(list(combinations_with_replacement(range(math.prod(sizes)), n)), dtype=np.intp)
        return np.stack(np.unravel_index(codes, tuple(sizes)), axis=-1).astype(np.intp)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        return _integers(sizes, (m, n), rng)


class Chains(Source):
    """Documents that are sorted on every aspect at once."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        return math.prod(math.comb(size + n - 1, n) for size in sizes)

    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        falling = [np.array(list(combinations_with_replacement(range(size)[::-1], n))) for size in sizes]
        picks = np.indices(tuple(map(len, falling))).reshape(len(sizes), -1)
        columns = [column[pick] for column, pick in zip(falling, picks, strict=True)]
        return np.stack(columns, axis=-1).astype(np.intp)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        return np.sort(_integers(sizes, (m, n), rng), axis=1)[:, ::-1]


class Alike(Source):
    """Documents with the same labels."""

    def count(self, sizes: Sequence[int], n: int) -> int:
        return math.prod(sizes)

    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        return Sequences().every(sizes, 1).repeat(n, axis=1)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        return _integers(sizes, (m, 1), rng).repeat(n, axis=1)


class OneAlike(Source):
    """Documents with the same label on at least one aspect, in any order."""

    @staticmethod
    def _without(sizes: Sequence[int], aspect: int) -> list[int]:
        return [1 if other == aspect else size for other, size in enumerate(sizes)]

    def count(self, sizes: Sequence[int], n: int) -> int:
        each = enumerate(sizes)
        return sum(size * Sequences().count(self._without(sizes, aspect), n) for aspect, size in each)

    def every(self, sizes: Sequence[int], n: int) -> Worlds:
        parts = []
        for aspect, size in enumerate(sizes):
            others = Sequences().every(self._without(sizes, aspect), n)
            for grade in range(size):
                part = others.copy()
                part[:, :, aspect] = grade
                parts.append(part)
        return np.unique(np.concatenate(parts), axis=0)

    def draw(self, sizes: Sequence[int], n: int, m: int, rng: np.random.Generator) -> Worlds:
        worlds = _integers(sizes, (m, n), rng)
        rows, aspect = np.arange(m), rng.integers(len(sizes), size=m)
        worlds[rows, :, aspect] = worlds[rows, 0, aspect][:, None]
        return worlds


class Variant(NamedTuple):
    """In which form the measure is asked."""

    #: The constant that the labels of each aspect are multiplied by; none: as declared.
    scaled: tuple[float, ...] = ()
    #: The aspect whose importance is raised; -1: none.
    raised: int = -1


class Asked(NamedTuple):
    """One ranking in each of some worlds."""

    worlds: Worlds
    #: The documents from rank 1 on; those left out are judged but not retrieved.
    order: tuple[int, ...]
    variant: Variant = Variant()


def exchanged(n: int, *pair: int) -> tuple[int, ...]:
    """The order of n documents with two exchanged."""
    order = list(range(n))
    if pair:
        i, j = pair
        order[i], order[j] = j, i
    return tuple(order)


def is_better(worlds: Worlds, i: int, j: int) -> Bools:
    """Where document i is not worse than j on any aspect and better on one."""
    first, second = worlds[:, i], worlds[:, j]
    return np.asarray((first >= second).all(axis=1) & (first > second).any(axis=1))


def is_chain(worlds: Worlds) -> Bools:
    return np.asarray((worlds[:, :-1] >= worlds[:, 1:]).all(axis=(1, 2)))


def relabelled(worlds: Worlds, documents: Sequence[int], aspect: int, change: int, *, to: bool = False) -> Worlds:
    """The worlds with labels of some documents changed by, or set to, a number."""
    changed = worlds.copy()
    for document in documents:
        changed[:, document, aspect] = change if to else changed[:, document, aspect] + change
    return changed
