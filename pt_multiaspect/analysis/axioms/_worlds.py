"""Small worlds: judged documents with any label tuples of the declared scales, and scores of their rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._numbers import number
from ..._typing import Bools, Floats, Ints
from ...aspects import Aspects, Scale
from ...collection import Judgments, Rankings
from ...errors import MultiAspectError, choices
from ...kernels.hits import row_keys
from ...measures import Measure
from ...orders.explicit import Order
from ...orders.order import scaled_aspects

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


def ask_swaps(worlds: Worlds, *pairs: tuple[int, ...]) -> list[Asked]:
    """Return the rankings with each pair of documents swapped; for an empty pair, that of the worlds."""
    return [Asked(worlds, order_with_swap(worlds.shape[1], *pair)) for pair in pairs]


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


#: Maximum number of label tuples whose order is checked; if there are more, this many are sampled.
_MOST_TUPLES = 100_000


class Bound:
    """A measure bound to the aspects it is checked on."""

    def __init__(self, name: str, measure: Measure, declared: Aspects) -> None:
        self.name = name
        #: The explicit order that defines the weights of label tuples, if the measure has one.
        self.order: Order | None = measure["order"] if "order" in measure.SUPPORTED_PARAMS else None
        takes_aspects = measure.accepts_aspects
        spec = measure.spec
        if isinstance(spec, Aspects):
            self.aspects, self.measure = spec, measure
        else:
            missing = [aspect for aspect in spec or () if aspect not in declared]
            if missing:
                raise MultiAspectError(
                    f"aspects: expected grades of {choices(missing)}, which {measure} selects, "
                    f"got {choices(declared)}"
                )
            chosen = declared if spec is None else Aspects({aspect: declared[aspect] for aspect in spec})
            self.aspects, self.measure = chosen, measure(aspects=chosen) if takes_aspects else measure
        check_grades(self.aspects)
        self.space = Space(self.aspects)
        self.has_scales = takes_aspects or self.order is not None
        low, high = self.measure.range
        #: Whether lower values are better.
        self.turned = self.measure.lower_is_better
        finite = math.isfinite(low) and math.isfinite(high)
        #: The range of values, and of oriented values.
        self.range = (low, high)
        self.limits = (-high, -low) if self.turned and not finite else (low, high)
        self._turn = low + high if finite else 0.0

    def orient(self, values: Floats) -> Floats:
        """Reverse values, if lower is better, so that higher is better. Applying it twice changes nothing."""
        return self._turn - values if self.turned else values

    @property
    def is_adjustable(self) -> bool:
        """Whether the measure has a parameter for the importance of aspects."""
        params = self.measure.SUPPORTED_PARAMS
        return "weights" in params or {"mu", "nu"} <= set(params)

    def variant(self, variant: Variant) -> Measure:
        """Return the measure with the scaled labels or raised importance of the variant."""
        if variant.raised >= 0:
            return self._raise_importance(variant.raised)
        return self._scale_labels(variant.scaled) if variant.scaled else self.measure

    def _raise_importance(self, aspect: int) -> Measure:
        measure, name = self.measure, self.space.names[aspect]
        if "weights" in measure.SUPPORTED_PARAMS:
            weights = dict(measure["weights"] or dict.fromkeys(self.space.names, 1))
            return measure(weights={**weights, name: 2 * weights[name] or 1})
        default = measure.SUPPORTED_PARAMS["mu"].default
        mu, nu = measure["mu"], measure["nu"]
        constants: dict[str, Any] = dict.fromkeys(self.space.names, default)
        constants.update(mu if isinstance(mu, dict) else zip(self.space.names, (mu, nu), strict=False))
        return measure(mu={**constants, name: 2 * constants[name] or 1}, nu=measure.SUPPORTED_PARAMS["nu"].default)

    def _scale_labels(self, constants: tuple[float, ...]) -> Measure:
        if self.order is None:
            return self.measure(aspects=scaled_aspects(self.aspects, constants))
        return self.measure(order=self.order.rescaled(constants))

    def tuple_weights(self, rng: np.random.Generator) -> tuple[Worlds, Ints, Floats] | None:
        """Return label tuples, their classes in the order of tuples and their weights; None without an order."""
        space, order = self.space, self.measure.order(self.aspects)
        if order is None:
            return None
        codes = np.arange(min(space.n_tuples, _MOST_TUPLES))
        if space.n_tuples > _MOST_TUPLES:
            codes = np.unique(rng.integers(space.n_tuples, size=_MOST_TUPLES))
        grades = space.decode(codes)
        if self.order is not None:
            weights = self.order.weights(grades)
            return grades, np.unique(weights, return_inverse=True)[1].astype(np.intp), weights
        frame = pd.DataFrame({"query_id": "q", "doc_id": [f"{code:09d}" for code in codes.tolist()]})
        for aspect, scale in enumerate(space.scales):
            frame[space.names[aspect]] = scale.grades[grades[:, aspect]]
        (term,) = self.measure.terms(Judgments(frame))
        target = term.target
        return grades, order.class_index(grades), target.gain + target.positive


def check_grades(aspects: Aspects) -> None:
    """Raise an error for aspects without declared grades."""
    unknown = [name for name, aspect in aspects.items() if aspect.grades is None]
    if unknown:
        raise MultiAspectError(
            f"aspects: expected declared grades, got none for {choices(unknown)} "
            "(a number n declares the grades 0 … n)"
        )


class Block(NamedTuple):
    """Trials of a property at one position."""

    worlds: Worlds
    position: Position
    asked: list[Asked]


class Questions:
    """The distinct rankings of blocks, joined with judgments once for all measures."""

    def __init__(self, space: Space, blocks: Sequence[Block]) -> None:
        self._space = space
        self._blocks = blocks
        #: Per block and ranking, the rows of its trials among the distinct rankings.
        self._rows: dict[tuple[int, int], Ints] = {}
        scalings = dict.fromkeys(asked.variant.scaled for block in blocks for asked in block.asked)
        #: The distinct rankings, by scaling of the labels.
        self._rankings = {scaled: self._join(scaled) for scaled in scalings}

    def _join(self, scaled: tuple[float, ...]) -> Rankings:
        by_size: dict[int, dict[tuple[int, int], Ints]] = {}
        for index, block in enumerate(self._blocks):
            for column, asked in enumerate(block.asked):
                if asked.variant.scaled == scaled:
                    by_size.setdefault(asked.worlds.shape[1], {})[index, column] = self._codes(asked)
        distinct: list[Ints] = []
        n_queries = 0
        for codes in by_size.values():
            sequences = np.concatenate(list(codes.values()))
            keys = row_keys(sequences, np.full(sequences.shape[1], 2 * self._space.n_tuples).tolist())
            _, first, rows = np.unique(keys, return_index=True, return_inverse=True)
            ends = np.cumsum([len(part) for part in codes.values()])
            self._rows.update(zip(codes, np.split(rows + n_queries, ends[:-1]), strict=True))
            distinct.append(sequences[first])
            n_queries += len(first)
        return self._make_rankings(distinct, n_queries, scaled)

    def _codes(self, asked: Asked) -> Ints:
        """Return the label tuples by rank, followed by those of documents not retrieved, marked by an offset."""
        codes = self._space.encode(asked.worlds)
        rest = [document for document in range(codes.shape[1]) if document not in asked.order]
        retrieved = codes[:, list(asked.order)]
        return np.concatenate([retrieved, np.sort(codes[:, rest], axis=1) + self._space.n_tuples], axis=1)

    def _make_rankings(self, distinct: Sequence[Ints], n_queries: int, scaled: tuple[float, ...]) -> Rankings:
        space = self._space
        sizes = np.concatenate([np.full(len(codes), codes.shape[1]) for codes in distinct])
        code = np.concatenate([codes.ravel() for codes in distinct])
        position = np.concatenate([np.tile(np.arange(codes.shape[1]), len(codes)) for codes in distinct])
        # Names of equal length sort like numbers, so values are in the order of the rankings.
        qids = np.array([f"{query:08d}" for query in range(n_queries)], dtype=object)
        docnos = np.array([f"d{document}" for document in range(int(sizes.max()))], dtype=object)
        frame = pd.DataFrame({"query_id": np.repeat(qids, sizes), "doc_id": docnos[position]})
        retrieved = code < space.n_tuples
        grades = space.decode(code % space.n_tuples)
        aspects = scaled_aspects(space.aspects, scaled) if scaled else space.aspects
        scales = zip(aspects.items(), grades.T, strict=True)
        judged = frame.assign(**{name: aspect.scale.grades[column] for (name, aspect), column in scales})
        run = frame.assign(score=-position.astype(np.float64))[retrieved]  # distinct, so there are no ties
        return Rankings(run, Judgments(judged))

    def scores(self, bound: Bound) -> list[Floats]:
        """Return the oriented values of a measure: one array per block, trials × rankings."""
        values: dict[Variant, Floats] = {}
        for variant in dict.fromkeys(asked.variant for block in self._blocks for asked in block.asked):
            raw = bound.variant(variant).evaluate(self._rankings[variant.scaled])
            values[variant] = bound.orient(np.asarray(raw, dtype=np.float64))
        columns = [
            [values[asked.variant][self._rows[index, column]] for column, asked in enumerate(block.asked)]
            for index, block in enumerate(self._blocks)
        ]
        return [np.stack(of_block, axis=1) for of_block in columns]
