"""The properties: what they compare, in which worlds, and what must be true of the scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ...aspects import spell
from .._frames import Floats
from ._asking import Bound
from ._report import RankedWorld, written
from ._worlds import (
    Alike,
    Asked,
    Bools,
    Chains,
    Multisets,
    OneAlike,
    Position,
    Sequences,
    Source,
    Space,
    Variant,
    Worlds,
    exchanged,
    is_better,
    is_chain,
    relabelled,
)

#: Only greater differences are differences.
TOLERANCE = 1e-9


class OfOrder(NamedTuple):
    """What was found in the order of label tuples itself."""

    trials: int
    #: Grades of the tuple that should weigh at least as much, and of the one that weighs more.
    wrong: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]
    sentence: str


class Property(ABC):
    """One property: its worlds, the rankings that are compared in them, and what must be true of the scores."""

    name: ClassVar[str]
    statement: ClassVar[str]
    #: Whether equal scores, too, are against the property.
    strict: ClassVar[bool] = False
    least_aspects: ClassVar[int] = 1
    least_documents: ClassVar[int] = 2
    #: How many documents a ranking has more than its world.
    surplus: ClassVar[int] = 0
    source: ClassVar[Source]
    #: Which of the rankings asked for an example shows.
    shown: ClassVar[tuple[int, ...]] = (0, 1)

    @abstractmethod
    def positions(self, space: Space, n: int) -> list[Position]:
        """What there is to compare in worlds of n documents."""

    @abstractmethod
    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Which worlds meet the conditions, and the rankings asked for in all of them."""

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """By how much each trial keeps the property (negative: it breaks it), and which trials count.

        `scores` has a row per trial and a column per ranking asked for, great values good. By
        default the first ranking is to score more than the second.
        """
        return scores[:, 0] - scores[:, 1], np.ones(len(scores), dtype=np.bool_)

    @abstractmethod
    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        """What should have been, of the rankings A, B, … shown."""

    def found(self, scores: Sequence[float], tied: bool) -> str:
        """What is instead."""
        return "they score the same" if tied else "it is the other way round"

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        """The lines of numbers below the rankings shown; the sign is -1 where small scores are good."""
        return [("score", tuple(scores[column] for column in self.shown))]

    def to_show(self, scores: Floats) -> list[int]:
        """Which of the rankings asked for belong to an example."""
        return list(range(len(scores)))

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """A verdict with its reason where there is nothing to search."""
        return None

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        """What can be told from the order of label tuples itself, where the measure has one."""
        return None


class _LargerErrors(Property):
    name = "D1"
    statement = (
        "Larger errors cost more. In an ideal ranking of a chain (documents sorted on every aspect at once), "
        "exchanging the documents at ranks i and k scores lower than exchanging those at i and j, for i < j < k "
        "with the document at i better than that at j and that one better than the one at k."
    )
    strict = True
    least_documents = 3
    source = Chains()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(combinations(range(n), 3))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, j, k), n = position, worlds.shape[1]
        valid = is_chain(worlds) & is_better(worlds, i, j) & is_better(worlds, j, k)
        return valid, [Asked(worlds, exchanged(n, i, j)), Asked(worlds, exchanged(n, i, k))]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, j, k = (rank + 1 for rank in position)
        return (
            f"B exchanges ranks {i} and {k} of the ideal ranking, A only ranks {i} and {j}, so B should score lower"
        )


class _HighErrors(Property):
    name = "D2"
    statement = (
        "Errors high up cost more. In an ideal ranking of a chain, exchanging the neighbours at ranks i and i + 1 "
        "scores lower than exchanging those at j and j + 1, for j > i, where both pairs differ by the same "
        "numbers of grades, values and gains on every aspect, and on at least one of them by more than nothing."
    )
    strict = True
    least_documents = 3
    source = Chains()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(combinations(range(n - 1), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, j), n = position, worlds.shape[1]
        valid = is_chain(worlds) & is_better(worlds, i, i + 1)
        for aspect, scale in enumerate(space.scales):
            gains = scale.grades if scale.identity else scale.gains
            for numbers in (np.arange(len(scale), dtype=np.float64), scale.values, gains):
                of = numbers[worlds[:, :, aspect]]
                valid &= np.isclose(of[:, i] - of[:, i + 1], of[:, j] - of[:, j + 1], rtol=0, atol=1e-12)
        return valid, [Asked(worlds, exchanged(n, i, i + 1)), Asked(worlds, exchanged(n, j, j + 1))]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        return scores[:, 1] - scores[:, 0], np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, j = (rank + 1 for rank in position)
        return (
            f"A exchanges ranks {i} and {i + 1} of the ideal ranking, B ranks {j} and {j + 1}, which differ by as "
            "much, so A should score lower"
        )


class _LargerDifferences(Property):
    name = "D3"
    statement = (
        "Larger label differences are larger errors. In an ideal ranking of a chain two neighbours are exchanged; "
        "if the better one is a grade better, or the worse one a grade worse, on an aspect on which they differ, "
        "and the rest of the chain stays sorted as it was, the score is lower."
    )
    strict = True
    source = Chains()

    def positions(self, space: Space, n: int) -> list[Position]:
        return [(i, aspect, step) for i in range(n - 1) for aspect in range(len(space)) for step in (1, -1)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, aspect, step), n = position, worlds.shape[1]
        changed = relabelled(worlds, [i if step > 0 else i + 1], aspect, step)
        valid = is_chain(worlds) & (worlds[:, i, aspect] > worlds[:, i + 1, aspect])
        valid &= is_chain(changed) & (changed >= 0).all(axis=(1, 2))
        valid &= (changed < np.array(space.sizes)).all(axis=(1, 2))
        order = exchanged(n, i, i + 1)
        return valid, [Asked(worlds, order), Asked(changed, order)]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, aspect, step = position
        which = f"better one, at rank {i + 2}, is better" if step > 0 else f"worse one, at rank {i + 1}, is worse"
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order, and in B the {which} in {space.names[aspect]} than "
            "in A, so B should score lower"
        )


def _losses(scores: Floats, wrong: int) -> Floats:
    """What the error in column `wrong` costs, the corrected ranking standing next to it."""
    return np.asarray(scores[:, wrong + 1] - scores[:, wrong])


class _HighRelevance(Property):
    name = "D4"
    statement = (
        "Ceteris paribus an error of credibility (the second aspect) costs more where relevance (the first) is "
        "high. In an ideal ranking of a chain two neighbours with the same relevance, and the same labels on "
        "further aspects, are put in the wrong order of credibility. The score that is lost is greater than if "
        "both had a lower relevance, everything else equal and the chain still sorted."
    )
    strict = True
    least_aspects = 2
    source = Chains()
    shown = (0, 2)

    def positions(self, space: Space, n: int) -> list[Position]:
        return [(i, low) for i in range(n - 1) for low in range(space.sizes[0] - 1)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, low), n = position, worlds.shape[1]
        changed = relabelled(worlds, [i, i + 1], 0, low, to=True)
        upper, lower = worlds[:, i], worlds[:, i + 1]
        valid = is_chain(worlds) & is_chain(changed) & (upper[:, 1] > lower[:, 1]) & (upper[:, 0] > low)
        for aspect in {*range(len(space))} - {1}:
            valid &= upper[:, aspect] == lower[:, aspect]
        wrong, right = exchanged(n, i, i + 1), exchanged(n)
        return valid, [Asked(of, order) for of in (worlds, changed) for order in (wrong, right)]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        return _losses(scores, 0) - _losses(scores, 2), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i = position[0]
        relevance, credibility = space.names[:2]
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order of {credibility}, in A at a higher {relevance} than "
            "in B, so A should lose more"
        )

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "both lose the same" if tied else "it loses less"

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        right = (scores[1], scores[3])
        wrong = (scores[0], scores[2])
        lost = tuple(sign * (a - b) for a, b in zip(right, wrong, strict=True))
        return [("score", wrong), ("in the right order", right), ("loss", lost)]


class _WellDefined(Property):
    name = "D5"
    statement = (
        "The measure is well-defined if all documents have the same labels: a finite number in the measure's "
        "range, for every tuple of labels and every number of documents."
    )
    least_documents = 1
    source = Alike()
    shown = (0,)

    def positions(self, space: Space, n: int) -> list[Position]:
        return [()]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        alike = (worlds == worlds[:, :1]).all(axis=(1, 2))
        return np.asarray(alike), [Asked(worlds, exchanged(worlds.shape[1]))]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        low, high = limits
        with np.errstate(invalid="ignore"):
            defined = np.isfinite(scores) & (scores >= low - TOLERANCE) & (scores <= high + TOLERANCE)
        return np.where(defined[:, 0], 0.0, -1.0), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        return "a ranking of documents that are all alike should have a score in the measure's range"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return f"this one's is {scores[0]:g}"


class _Scaling(Property):
    name = "D6"
    statement = (
        "Multiplying the labels of all aspects (grades, values and thresholds) by the same positive constant does "
        "not change the score of any ranking."
    )
    least_documents = 1
    source = Sequences()

    def _constants(self, space: Space) -> tuple[float, ...]:
        # Labels that are probabilities must stay so; others stay whole, as some bases want them.
        return (0.5,) if any(scale.identity for scale in space.scales) else (2, 3)

    def positions(self, space: Space, n: int) -> list[Position]:
        return [(-1, index) for index in range(len(self._constants(space)))]

    def _scaled(self, space: Space, position: Position) -> tuple[float, ...]:
        aspect, index = position
        constant = self._constants(space)[index]
        return tuple(constant if aspect in (-1, other) else 1.0 for other in range(len(space)))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        order = exchanged(worlds.shape[1])
        scaled = Variant(scaled=self._scaled(space, position))
        return np.ones(len(worlds), dtype=np.bool_), [Asked(worlds, order), Asked(worlds, order, scaled)]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        return -np.abs(scores[:, 0] - scores[:, 1]), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        constants = dict(zip(space.names, self._scaled(space, position), strict=True))
        which = " and ".join(f"{name} times {spell(c)}" for name, c in constants.items() if c != 1)
        return f"B is A with the labels of {which}, so both should score the same"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "they do not"

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        if not bound.has_scales:
            return "n/a", "its scales cannot be exchanged, as it has no parameter aspects"
        return None


class _ScalingOne(_Scaling):
    name = "D6, one aspect"
    statement = (
        "Multiplying the labels of one aspect alone (grades, values and threshold) by a positive constant does "
        "not change the score of any ranking."
    )
    least_aspects = 2

    def positions(self, space: Space, n: int) -> list[Position]:
        return [(a, index) for a in range(len(space)) for index in range(len(self._constants(space)))]


class _OneAspectAlike(Property):
    name = "D7"
    statement = (
        "If all documents have the same label on one aspect, whichever grade it is, the measure works as one of "
        "the other aspects: in any ranking, exchanging two documents of which the lower one is better (on one of "
        "the others, and worse on none) raises the score."
    )
    strict = True
    least_aspects = 2
    source = OneAlike()

    def positions(self, space: Space, n: int) -> list[Position]:
        return [(aspect, i, j) for aspect in range(len(space)) for i, j in combinations(range(n), 2)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (aspect, i, j), n = position, worlds.shape[1]
        alike = (worlds[:, :, aspect] == worlds[:, :1, aspect]).all(axis=1)
        return alike & is_better(worlds, j, i), [
            Asked(worlds, exchanged(n)),
            Asked(worlds, exchanged(n, i, j)),
        ]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        return scores[:, 1] - scores[:, 0], np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        aspect, i, j = position
        return (
            f"all documents have the same {space.names[aspect]}, and B exchanges ranks {i + 1} and {j + 1} of A so "
            "that the better one comes up, so B should score higher"
        )


class _Adjustable(Property):
    name = "D8"
    statement = (
        "The importance of an aspect can be adjusted by a parameter (weights; mu and nu of NLRE and NGRE): "
        "doubling that of an aspect makes an error on this aspect cost more, relative to the same error on "
        "another aspect. The error: in an ideal ranking of a chain, two neighbours that differ on the one aspect "
        "only are exchanged; the same error has the same ranks, the same worse document and the same number of "
        "grades between the two."
    )
    strict = True
    least_aspects = 2
    least_documents = 1
    surplus = 1
    source = Chains()
    shown = (0, 2)

    def positions(self, space: Space, n: int) -> list[Position]:
        return [
            (i, a, b, step)
            for i in range(n)
            for a in range(len(space))
            for b in range(len(space))
            if a != b
            for step in range(1, min(space.sizes[a], space.sizes[b]))
        ]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        i, a, b, step = position
        n = worlds.shape[1]
        # Document i stands twice, and the upper one of the two is made better on one aspect.
        doubled = worlds[:, [*range(i + 1), *range(i, n)]]
        valid = is_chain(worlds)
        cases = []
        for aspect in (a, b):
            case = relabelled(doubled, [i], aspect, step)
            valid &= is_chain(case) & (case[:, i, aspect] < space.sizes[aspect])
            cases += [(case, exchanged(n + 1, i, i + 1)), (case, exchanged(n + 1))]
        return valid, [Asked(*case, variant) for variant in (Variant(), Variant(raised=a)) for case in cases]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        on_a, on_b, on_a_raised, on_b_raised = (np.maximum(_losses(scores, column), 0.0) for column in (0, 2, 4, 6))
        # Normalisation changes with the weights, so that only the ratio of the losses counts.
        return on_a_raised * on_b - on_a * on_b_raised, np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, a, b, _ = position
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order of {space.names[a]} in A and of {space.names[b]} in "
            f"B, so doubling the importance of {space.names[a]} should make A's loss greater relative to B's"
        )

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "their relation does not change" if tied else "it becomes smaller"

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        def losses(first: int) -> tuple[float, ...]:
            return tuple(sign * (scores[column + 1] - scores[column]) for column in (first, first + 2))

        return [*super().figures(scores, sign), ("loss", losses(0)), ("loss, doubled", losses(4))]

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        if bound.order is not None:
            return "n/a", "an explicit order is itself what one adjusts; it takes no weight per aspect"
        if not bound.is_adjustable:
            return "fails", "it has no parameter for the importance of an aspect"
        return None


class _PartialOrder(Property):
    name = "Eq. 1"
    statement = (
        "A ranking of one document scores at least what a ranking of another one scores that is not better on any "
        "aspect (both judged, possibly among others). Of TOMA also: no label tuple weighs less than one that is "
        "not better on any aspect."
    )
    source = Multisets()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(permutations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        better, worse = position
        return is_better(worlds, better, worse), [Asked(worlds, (better,)), Asked(worlds, (worse,))]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        return (
            "the document of A is worse on no aspect than that of B and better on one, so A should not score lower"
        )

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, _, weights = tuples
        space = bound.space
        # A step up by one grade on one aspect: what holds of all steps holds of all pairs.
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
        return OfOrder(trials, wrong, "A weighs less, although it is worse on no aspect and better on one")


class _InPlace(Property):
    name = "Eq. 4"
    statement = (
        "What is better alone is better in place: if a ranking of the one document scores at least what a ranking "
        "of the other scores, exchanging the two in any ranking so that the one comes up does not lower the "
        "score. Of TOMA also: weights, and what counts as positive, do not decrease along the order of label "
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
            f"alone {one.tuples[0]} scores {written(one.score)} and {other.tuples[0]} {written(other.score)}, so "
            f"B, which exchanges ranks {i + 1} and {j + 1} of A to bring {one.tuples[0]} up, should not score lower"
        )

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "it does"

    def of_order(self, bound: Bound, rng: np.random.Generator) -> OfOrder | None:
        tuples = bound.weighed_tuples(rng)
        if tuples is None:
            return None
        grades, place, weights = tuples
        # The greatest weight at each place or below; tuples of one place may not differ in weight either.
        greatest = np.full(int(place.max()) + 1, -np.inf)
        np.maximum.at(greatest, place, weights)
        greatest = np.maximum.accumulate(greatest)
        pairs = []
        for row in np.flatnonzero(weights < greatest[place] - TOLERANCE).tolist():
            heavier = np.flatnonzero((weights == greatest[place[row]]) & (place <= place[row]))
            pairs.append((grades[row], grades[heavier[0]]))
        return OfOrder(len(grades), pairs, "A weighs less, although it does not stand lower in the order of tuples")


class Attainable(Property):
    """What all permutations of a world are needed for."""

    source = Multisets()
    #: The end of the range, as a sign: +1 the best order, -1 the worst.
    end: ClassVar[int]
    shown = (0,)

    def positions(self, space: Space, n: int) -> list[Position]:
        return [()]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        n = worlds.shape[1]
        return self._meant(worlds), [Asked(worlds, order) for order in permutations(range(n))]

    @staticmethod
    def _meant(worlds: Worlds) -> Bools:
        return np.ones(len(worlds), dtype=np.bool_)

    def to_show(self, scores: Floats) -> list[int]:
        return [int(np.argmax(self.end * scores))]

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        low, high = bound.range
        return None if (low, high) == (0.0, 1.0) else ("n/a", f"its values lie between {low:g} and {high:g}")


class _OneAttainable(Attainable):
    name = "1 attainable"
    statement = (
        "In every world in which some order of all its documents scores above 0, the best of all orders scores 1."
    )
    end = 1
    least_documents = 1

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        best = scores.max(axis=1)
        return best - 1.0, ~(best <= TOLERANCE)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        return "this is the best order of these documents, so it should score 1"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "it does not"


class _ZeroAttainable(Attainable):
    name = "0 attainable"
    statement = "In every world whose documents are not all alike, the worst order of all of them scores 0."
    end = -1

    @staticmethod
    def _meant(worlds: Worlds) -> Bools:
        return np.asarray((worlds != worlds[:, :1]).any(axis=(1, 2)))

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        return -scores.min(axis=1), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        return "this is the worst order of these documents, so it should score 0"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "it does not"


class _Swap(Property):
    name = "swap"
    statement = (
        "In any ranking, ideal or not, exchanging two documents so that the worse one (better on no aspect, worse "
        "on one) comes up does not raise the score."
    )
    source = Sequences()

    def positions(self, space: Space, n: int) -> list[Position]:
        return list(combinations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        (i, j), n = position, worlds.shape[1]
        return is_better(worlds, i, j), [Asked(worlds, exchanged(n)), Asked(worlds, exchanged(n, i, j))]

    def expected(self, space: Space, position: Position, asked: Sequence[RankedWorld]) -> str:
        i, j = (rank + 1 for rank in position)
        return f"B exchanges ranks {i} and {j} of A so that the worse one comes up, so B should not score higher"

    def found(self, scores: Sequence[float], tied: bool) -> str:
        return "it does"


ALL: tuple[Property, ...] = (
    _LargerErrors(), _HighErrors(), _LargerDifferences(), _HighRelevance(), _WellDefined(), _Scaling(),
    _ScalingOne(), _OneAspectAlike(), _Adjustable(), _PartialOrder(), _InPlace(), _OneAttainable(),
    _ZeroAttainable(), _Swap(),
)  # fmt: skip

#: What each property says, in the words that `check` puts it in.
PROPERTIES: Mapping[str, str] = MappingProxyType({each.name: each.statement for each in ALL})
