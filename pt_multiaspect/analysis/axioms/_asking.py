"""Measures bound to aspects, and their scores of many rankings at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._typing import Floats, Ints
from ...aspects.aspects import Aspects
from ...collection.judgments import Judgments
from ...collection.rankings import Rankings
from ...errors import MultiAspectError, choices
from ...measures import Measure
from ...orders import Order
from ...orders.order import scaled_aspects
from ._worlds import Asked, Position, Space, Variant, Worlds

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
        self._variants: dict[Variant, Measure] = {}

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
        if variant not in self._variants:
            measure = self.measure
            if variant.raised >= 0:
                measure = self._raise_importance(variant.raised)
            if variant.scaled:
                measure = self._scale_labels(variant.scaled)
            self._variants[variant] = measure
        return self._variants[variant]

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
        #: The distinct rankings, by scaling of the labels.
        self._rankings: dict[tuple[float, ...], Rankings] = {}
        for scaled in dict.fromkeys(asked.variant.scaled for block in blocks for asked in block.asked):
            self._rankings[scaled] = self._join(scaled)

    def _join(self, scaled: tuple[float, ...]) -> Rankings:
        by_size: dict[int, dict[tuple[int, int], Ints]] = {}
        for index, block in enumerate(self._blocks):
            for column, asked in enumerate(block.asked):
                if asked.variant.scaled == scaled:
                    by_size.setdefault(asked.worlds.shape[1], {})[index, column] = self._codes(asked)
        distinct: list[Ints] = []
        n_queries = 0
        for codes in by_size.values():
            unique, rows = _unique(np.concatenate(list(codes.values())), 2 * self._space.n_tuples)
            ends = np.cumsum([len(part) for part in codes.values()])
            self._rows.update(zip(codes, np.split(rows + n_queries, ends[:-1]), strict=True))
            distinct.append(unique)
            n_queries += len(unique)
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


def _unique(codes: Ints, base: int) -> tuple[Ints, Ints]:
    """Return the distinct rows of codes below `base`, and the index of each row among them."""
    n = codes.shape[1]
    if base**n < 2**62:
        keys = codes @ (base ** np.arange(n, dtype=np.int64))
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return codes[first], inverse.reshape(-1)
    distinct, inverse = np.unique(codes, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)
