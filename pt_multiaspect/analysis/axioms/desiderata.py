"""Properties that `check` checks: monotonicity, attainability, and desiderata of multi-aspect measures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np

from ..._numbers import spell
from ..._typing import Bools, Floats, Ints
from ._report import RankedWorld, format_score
from ._worlds import (
    Alike,
    Asked,
    Bound,
    Chains,
    Multisets,
    OneAlike,
    Position,
    Source,
    Space,
    Variant,
    Worlds,
    ask_swaps,
    change_grades,
    is_better,
    is_chain,
    order_with_swap,
)
from .properties import TOLERANCE, OrderCheck, Property


class PartialOrder(Property):
    """Equation 1 of Maistro et al.: a better document does not score lower."""

    name = "Eq. 1"
    statement = (
        "A ranking of one document scores at least as high as a ranking of another document that is not better on "
        "any aspect (both documents are judged, possibly with others). For TOMA also: no label tuple weighs less "
        "than a tuple that is not better on any aspect."
    )
    source = Multisets()
    checks_order = True
    relation = (
        "the document of A is better than that of B on one aspect and worse on none. A should not score lower"
    )

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all ordered pairs of documents."""
        return list(permutations(range(n), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare rankings of one document each, of which one is better than the other."""
        better, worse = position
        return is_better(worlds, better, worse), [Asked(worlds, (better,)), Asked(worlds, (worse,))]

    def check_order(self, space: Space, grades: Worlds, tuple_class: Ints, weights: Floats) -> OrderCheck:
        """Check that label tuples do not weigh less than tuples that are worse on one aspect."""
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
        return OrderCheck(
            trials, wrong, "A weighs less than B, although it is better on one aspect and worse on none"
        )


class InPlace(Property):
    """Equation 4 of Maistro et al.: a document that is better alone is better at any rank."""

    name = "Eq. 4"
    statement = (
        "A document that is better alone is better in any ranking: if the ranking of one document scores at least "
        "as high as the ranking of another, swapping the two in any ranking so that the first moves up does not "
        "lower the score. For TOMA also: weights and binary relevance do not decrease along the order of label "
        "tuples."
    )
    source = Source()
    n_ranks = 2
    checks_order = True
    shown = (2, 3)
    observed = "does"

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the documents alone, and both orders of them in the ranking."""
        i, j = position
        differ = np.asarray((worlds[:, i] != worlds[:, j]).any(axis=1))
        return differ, [Asked(worlds, (j,)), Asked(worlds, (i,)), *ask_swaps(worlds, (), position)]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the gain of the swap, for trials in which the document that moves up is not worse alone."""
        with np.errstate(invalid="ignore"):
            at_least = ~(scores[:, 0] < scores[:, 1] - TOLERANCE)
        return scores[:, 3] - scores[:, 2], np.asarray(at_least)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        (better, worse), (i, j) = rankings[:2], position
        return (
            f"alone, {better.tuples[0]} scores {format_score(better.score)} and {worse.tuples[0]} "
            f"{format_score(worse.score)}. B swaps ranks {i + 1} and {j + 1} of A and moves {better.tuples[0]} up. "
            "B should not score lower"
        )

    def check_order(self, space: Space, grades: Worlds, tuple_class: Ints, weights: Floats) -> OrderCheck:
        """Check that weights do not decrease along the order of label tuples."""
        # The maximum weight of each class or below. Tuples of the same class must have the same weight.
        maxima = np.full(int(tuple_class.max()) + 1, -np.inf)
        np.maximum.at(maxima, tuple_class, weights)
        maxima = np.maximum.accumulate(maxima)
        pairs = []
        for row in np.flatnonzero(weights < maxima[tuple_class] - TOLERANCE).tolist():
            heavier = np.flatnonzero((weights == maxima[tuple_class[row]]) & (tuple_class <= tuple_class[row]))
            pairs.append((grades[row], grades[heavier[0]]))
        return OrderCheck(len(grades), pairs, "A weighs less than B, although it is not below B in the order")


class Swap(Property):
    """Moving a worse document up does not raise the score."""

    name = "swap"
    statement = (
        "In any ranking, ideal or not, swapping two documents so that the worse one (worse on one aspect, better "
        "on none) moves up does not raise the score."
    )
    source = Source()
    n_ranks = 2
    relation = "B swaps ranks {0} and {1} of A and moves the worse document up. B should not score higher"
    observed = "does"

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the ranking with that in which a worse document moves up."""
        return is_better(worlds, *position), ask_swaps(worlds, (), position)


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
        return self._is_applicable(worlds), [Asked(worlds, order) for order in permutations(range(n))]

    @staticmethod
    def _is_applicable(worlds: Worlds) -> Bools:
        return np.ones(len(worlds), dtype=np.bool_)

    def example_rankings(self, scores: Floats) -> list[int]:
        """Return the best or the worst order."""
        return [int(np.argmax(self.end * scores))]

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """Return 'n/a' for measures with values outside [0, 1]."""
        low, high = bound.range
        outside = "n/a", f"the values of the measure are between {low:g} and {high:g}"
        return None if (low, high) == (0.0, 1.0) else outside


class OneAttainable(Attainable):
    """The best order scores 1."""

    name = "1 attainable"
    statement = "In every world in which some order of all documents scores above 0, the best order scores 1."
    relation = "this is the best order of these documents. It should score 1"
    end = 1
    least_documents = 1

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the highest score minus 1, for worlds with a positive score."""
        best = scores.max(axis=1)
        return best - 1.0, ~(best <= TOLERANCE)


class ZeroAttainable(Attainable):
    """The worst order scores 0."""

    name = "0 attainable"
    statement = (
        "In every world whose documents do not all have the same labels, the worst order of all documents scores 0."
    )
    relation = "this is the worst order of these documents. It should score 0"
    end = -1

    @staticmethod
    def _is_applicable(worlds: Worlds) -> Bools:
        return np.asarray((worlds != worlds[:, :1]).any(axis=(1, 2)))

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return minus the lowest score."""
        return -scores.min(axis=1), np.ones(len(scores), dtype=np.bool_)


class LargerErrors(Property):
    """D1: larger errors cost more."""

    name = "D1"
    statement = (
        "Larger errors cost more. In the ideal ranking of a chain (documents sorted on all aspects at once), "
        "swapping ranks i and k scores lower than swapping ranks i and j, for i < j < k, if the document at i is "
        "better than the one at j, which is better than the one at k."
    )
    strict = True
    least_documents = n_ranks = 3
    source = Chains()
    relation = "B swaps ranks {0} and {2} of the ideal ranking, A only ranks {0} and {1}. B should score lower"

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the swap of ranks i and j with that of i and k."""
        i, j, k = position
        valid = is_chain(worlds) & is_better(worlds, i, j) & is_better(worlds, j, k)
        return valid, ask_swaps(worlds, (i, j), (i, k))


class HighErrors(Property):
    """D2: errors at higher ranks cost more."""

    name = "D2"
    statement = (
        "Errors at higher ranks cost more. In the ideal ranking of a chain, swapping ranks i and i + 1 scores "
        "lower than swapping ranks j and j + 1, for j > i, if both pairs of documents have the same differences "
        "in grades, gains and probabilities on every aspect, and a difference on at least one aspect."
    )
    strict = True
    least_documents = 3
    source = Chains()
    better, worse = 1, 0

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all pairs of ranks that have a rank below them."""
        return list(combinations(range(n - 1), 2))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare swaps of adjacent documents with equal differences at two ranks."""
        i, j = position
        valid = is_chain(worlds) & is_better(worlds, i, i + 1)
        for aspect, scale in enumerate(space.scales):
            probabilities = scale.grades if scale.identity else scale.probabilities
            for numbers in (np.arange(len(scale), dtype=np.float64), scale.gains, probabilities):
                label = numbers[worlds[:, :, aspect]]
                upper, lower = label[:, i] - label[:, i + 1], label[:, j] - label[:, j + 1]
                valid &= np.isclose(upper, lower, rtol=0, atol=1e-12)
        return valid, ask_swaps(worlds, (i, i + 1), (j, j + 1))

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        i, j = (rank + 1 for rank in position)
        return (
            f"A swaps ranks {i} and {i + 1} of the ideal ranking, B ranks {j} and {j + 1}, which differ by as "
            "much. A should score lower"
        )


class LargerDifferences(Property):
    """D3: larger differences between labels are larger errors."""

    name = "D3"
    statement = (
        "Larger differences between labels are larger errors. In the ideal ranking of a chain, two adjacent "
        "documents are swapped. If the better one is a grade better, or the worse one a grade worse, on an aspect "
        "on which they differ, and the documents are still a chain, the score is lower."
    )
    strict = True
    source = Chains()

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return rank, aspect and direction of the change."""
        return [(i, aspect, step) for i in range(n - 1) for aspect in range(len(space)) for step in (1, -1)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the swap of two documents with that after one of them changed by a grade."""
        (i, aspect, step), n = position, worlds.shape[1]
        changed = change_grades(worlds, [i if step > 0 else i + 1], aspect, step)
        valid = is_chain(worlds) & (worlds[:, i, aspect] > worlds[:, i + 1, aspect])
        valid &= is_chain(changed) & (changed >= 0).all(axis=(1, 2))
        valid &= (changed < np.array(space.sizes)).all(axis=(1, 2))
        order = order_with_swap(n, i, i + 1)
        return valid, [Asked(worlds, order), Asked(changed, order)]

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        i, aspect, step = position
        which = f"better one, at rank {i + 2}, is better" if step > 0 else f"worse one, at rank {i + 1}, is worse"
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order. In B the {which} in {space.names[aspect]} than "
            "in A. B should score lower"
        )


def _losses(scores: Floats, wrong: int) -> Floats:
    """Return the score lost by the ranking in column `wrong`, compared to the correct one in the next column."""
    return np.asarray(scores[:, wrong + 1] - scores[:, wrong])


class HighRelevance(Property):
    """D4: errors in credibility cost more for documents of higher relevance."""

    name = "D4"
    statement = (
        "All else being equal, an error in credibility (the second aspect) costs more for documents of higher "
        "relevance (the first aspect). In the ideal ranking of a chain, two adjacent documents that differ only in "
        "credibility are swapped. The loss in score is larger than if both had a lower relevance, with all other "
        "labels equal and the documents still a chain."
    )
    strict = True
    least_aspects = 2
    source = Chains()
    shown = (0, 2)
    observed, observed_tie = "A loses less", "both lose the same"

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return the upper rank and the lower relevance."""
        return [(i, low) for i in range(n - 1) for low in range(space.sizes[0] - 1)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the swap at a higher with that at a lower relevance, and both with the ideal ranking."""
        (i, low), n = position, worlds.shape[1]
        changed = change_grades(worlds, [i, i + 1], 0, low, to=True)
        upper, lower = worlds[:, i], worlds[:, i + 1]
        valid = is_chain(worlds) & is_chain(changed) & (upper[:, 1] > lower[:, 1]) & (upper[:, 0] > low)
        for aspect in {*range(len(space))} - {1}:
            valid &= upper[:, aspect] == lower[:, aspect]
        wrong, right = order_with_swap(n, i, i + 1), order_with_swap(n)
        return valid, [Asked(labels, order) for labels in (worlds, changed) for order in (wrong, right)]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the difference of the losses."""
        return _losses(scores, 0) - _losses(scores, 2), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        i = position[0]
        relevance, credibility = space.names[:2]
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order of {credibility}, in A at a higher {relevance} than "
            "in B. A should lose more"
        )

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        """Return the scores in both orders, and the losses."""
        right = (scores[1], scores[3])
        wrong = (scores[0], scores[2])
        lost = tuple(sign * (a - b) for a, b in zip(right, wrong, strict=True))
        return [("score", wrong), ("in the right order", right), ("loss", lost)]


class WellDefined(Property):
    """D5: the measure is defined if all documents have the same labels."""

    name = "D5"
    statement = (
        "The measure is defined if all documents have the same labels: its value is a finite number in its "
        "range, for every label tuple and every number of documents."
    )
    least_documents = 1
    source = Alike()
    relation = "a ranking of documents with the same labels should have a score in the range of the measure"
    shown = (0,)

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Score rankings of documents with the same labels."""
        alike = (worlds == worlds[:, :1]).all(axis=(1, 2))
        return np.asarray(alike), ask_swaps(worlds, ())

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return 0 for finite scores in the range, else -1."""
        low, high = limits
        with np.errstate(invalid="ignore"):
            defined = np.isfinite(scores) & (scores >= low - TOLERANCE) & (scores <= high + TOLERANCE)
        return np.where(defined[:, 0], 0.0, -1.0), np.ones(len(scores), dtype=np.bool_)

    def observed_relation(self, scores: Sequence[float], tied: bool) -> str:
        """Return the score."""
        return f"the score is {scores[0]:g}"


class Scaling(Property):
    """D6: scores do not depend on the unit of the labels."""

    name = "D6"
    statement = (
        "Multiplying the labels of all aspects (grades, gains and thresholds) by the same positive constant does "
        "not change any score."
    )
    least_documents = 1
    source = Source()
    observed = "their scores differ"

    def _constants(self, space: Space) -> tuple[float, ...]:
        # Probabilities must remain probabilities; other labels remain integers, which some bases require.
        return (0.5,) if any(scale.identity for scale in space.scales) else (2, 3)

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return all aspects (-1) and the index of the constant."""
        return [(-1, index) for index in range(len(self._constants(space)))]

    def _scale_constants(self, space: Space, position: Position) -> tuple[float, ...]:
        aspect, number = position
        constant = self._constants(space)[number]
        return tuple(constant if aspect in (-1, index) else 1.0 for index in range(len(space)))

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the ranking with that of scaled labels."""
        order = order_with_swap(worlds.shape[1])
        scaled = Variant(scaled=self._scale_constants(space, position))
        return np.ones(len(worlds), dtype=np.bool_), [Asked(worlds, order), Asked(worlds, order, scaled)]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return minus the absolute difference."""
        return -np.abs(scores[:, 0] - scores[:, 1]), np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        constants = dict(zip(space.names, self._scale_constants(space, position), strict=True))
        which = " and ".join(f"{name} times {spell(c)}" for name, c in constants.items() if c != 1)
        return f"B is A with the labels of {which}. Both should score the same"

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """Return 'n/a' for measures without scales."""
        if not bound.has_scales:
            return "n/a", "the measure has no parameter aspects, so its scales cannot be changed"
        return None


class ScalingOne(Scaling):
    """D6 for the labels of a single aspect."""

    name = "D6, one aspect"
    statement = (
        "Multiplying the labels of a single aspect (grades, gains and threshold) by a positive constant does "
        "not change any score."
    )
    least_aspects = 2

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return the aspect and the index of the constant."""
        return [(a, index) for a in range(len(space)) for index in range(len(self._constants(space)))]


class OneAspectAlike(Property):
    """D7: if one aspect is the same for all documents, the measure evaluates the others."""

    name = "D7"
    statement = (
        "If all documents have the same grade on one aspect, whichever it is, the measure evaluates the other "
        "aspects: in any ranking, swapping two documents of which the lower one is better (on one of the other "
        "aspects, and worse on none) raises the score."
    )
    strict = True
    least_aspects = 2
    source = OneAlike()
    better, worse = 1, 0

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return the aspect that is the same and two ranks."""
        return [(aspect, i, j) for aspect in range(len(space)) for i, j in combinations(range(n), 2)]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the ranking with that in which a better document moves up."""
        aspect, i, j = position
        alike = (worlds[:, :, aspect] == worlds[:, :1, aspect]).all(axis=1)
        return alike & is_better(worlds, j, i), ask_swaps(worlds, (), (i, j))

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        aspect, i, j = position
        return (
            f"all documents have the same {space.names[aspect]}. B swaps ranks {i + 1} and {j + 1} of A and moves "
            "the better document up. B should score higher"
        )


class Adjustable(Property):
    """D8: the importance of an aspect can be adjusted."""

    name = "D8"
    statement = (
        "The importance of an aspect can be adjusted by a parameter (weights; mu and nu of NLRE and NGRE): "
        "doubling the parameter of an aspect makes an error on this aspect cost more, relative to the same error "
        "on another aspect. The error: in the ideal ranking of a chain, two adjacent documents that differ on "
        "this aspect only are swapped. The same error on another aspect has the same ranks, the same worse "
        "document and the same difference in grades."
    )
    strict = True
    least_aspects = 2
    least_documents = 1
    surplus = 1
    source = Chains()
    shown = (0, 2)
    observed, observed_tie = "it decreases", "their ratio does not change"

    def positions(self, space: Space, n: int) -> list[Position]:
        """Return the rank, two aspects and the difference in grades."""
        return [
            (i, a, b, step)
            for i in range(n)
            for a, b in permutations(range(len(space)), 2)
            for step in range(1, min(space.sizes[a], space.sizes[b]))
        ]

    def ask(self, space: Space, worlds: Worlds, position: Position) -> tuple[Bools, list[Asked]]:
        """Compare the losses on two aspects, with and without doubled importance of the first."""
        i, a, b, step = position
        n = worlds.shape[1]
        # Document i is duplicated, and the upper copy is made better on one aspect.
        doubled = worlds[:, [*range(i + 1), *range(i, n)]]
        valid = is_chain(worlds)
        cases = []
        for aspect in (a, b):
            case = change_grades(doubled, [i], aspect, step)
            valid &= is_chain(case) & (case[:, i, aspect] < space.sizes[aspect])
            cases += [(case, order_with_swap(n + 1, i, i + 1)), (case, order_with_swap(n + 1))]
        return valid, [Asked(*case, variant) for variant in (Variant(), Variant(raised=a)) for case in cases]

    def margin(self, scores: Floats, limits: tuple[float, float]) -> tuple[Floats, Bools]:
        """Return the cross product of the losses, positive if their ratio increases."""
        on_a, on_b, on_a_raised, on_b_raised = (np.maximum(_losses(scores, column), 0.0) for column in (0, 2, 4, 6))
        # Normalisation changes with the weights, so only the ratio of the losses is compared.
        return on_a_raised * on_b - on_a * on_b_raised, np.ones(len(scores), dtype=np.bool_)

    def expected(self, space: Space, position: Position, rankings: Sequence[RankedWorld]) -> str:
        """Return the expected relation."""
        i, a, b, _ = position
        return (
            f"ranks {i + 1} and {i + 2} are in the wrong order of {space.names[a]} in A and of {space.names[b]} in "
            f"B. Doubling the importance of {space.names[a]} should increase A's loss relative to B's"
        )

    def figures(self, scores: Sequence[float], sign: int) -> list[tuple[str, tuple[float, ...]]]:
        """Return the scores, and the losses with and without doubled importance."""

        def losses(first: int) -> tuple[float, ...]:
            return tuple(sign * (scores[column + 1] - scores[column]) for column in (first, first + 2))

        return [*super().figures(scores, sign), ("loss", losses(0)), ("loss, doubled", losses(4))]

    def refusal(self, bound: Bound) -> tuple[str, str] | None:
        """Return 'n/a' for explicit orders, 'fails' for measures without a parameter."""
        if bound.order is not None:
            return "n/a", "the measure uses an explicit order, which takes no weights of aspects"
        if not bound.is_adjustable:
            return "fails", "the measure has no parameter for the importance of an aspect"
        return None


#: All properties, in the order of the table.
ALL_PROPERTIES: tuple[Property, ...] = (
    LargerErrors(), HighErrors(), LargerDifferences(), HighRelevance(), WellDefined(), Scaling(), ScalingOne(),
    OneAspectAlike(), Adjustable(), PartialOrder(), InPlace(), OneAttainable(), ZeroAttainable(), Swap(),
)  # fmt: skip
