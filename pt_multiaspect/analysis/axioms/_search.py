"""Search for the smallest trial that violates a property."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from ..._typing import Bools, Floats
from ...errors import MultiAspectError
from ...orders.order import scaled_aspects
from ._report import CounterExample, RankedWorld
from ._worlds import Block, Bound, Position, Questions, Space, Worlds
from .desiderata import Attainable
from .properties import TOLERANCE, OrderCheck, Property

#: Maximum number of rankings per trial, if a trial evaluates all permutations.
_RANKINGS_PER_TRIAL = 30
#: Maximum number of candidates per trial that are tested for the conditions of a property.
_CANDIDATES_PER_TRIAL = 40


class _Hit(NamedTuple):
    """A trial that violates a property, or ties."""

    world: Worlds
    position: Position

    def key(self) -> tuple[int, int, list[int], Position]:
        """Return a sort key: fewest documents first, then lowest labels."""
        return len(self.world), int(self.world.sum()), self.world.ravel().tolist(), self.position


class _Finding(NamedTuple):
    """Result of the trials of a property for a measure."""

    verdict: str
    trials: int = 0
    violations: int = 0
    ties: int = 0
    reason: str = ""
    example: CounterExample | None = None
    #: Whether the measure cannot be computed; the reason is the error.
    failed: bool = False


class Search:
    """The trials of a property, generated once for all measures on the same aspects."""

    def __init__(self, rule: Property, space: Space, *, trials: int, seed: int, documents: int) -> None:
        self.rule, self.space, self._trials, self._seed = rule, space, trials, seed
        self.blocks: list[Block] = []
        #: Number of documents up to which all worlds were tried.
        self.complete = 0
        left, unbroken = trials, True
        sizes = range(rule.least_documents, documents - rule.surplus + 1)
        for n in sizes:
            blocks, is_complete = self._blocks_of_size(n, left, sizes.stop - n)
            unbroken &= is_complete
            if unbroken:
                self.complete = n + rule.surplus
            self.blocks += blocks
            left -= sum(len(block.worlds) for block in blocks)
        self.questions = Questions(space, self.blocks) if self.blocks else None

    def _blocks_of_size(self, n: int, left: int, sizes_left: int) -> tuple[list[Block], bool]:
        """Return trials with worlds of n documents, and whether these are all possible trials."""
        rule, space, source = self.rule, self.space, self.rule.source
        positions = rule.positions(space, n)
        if not positions or not left:
            return [], not positions
        # The seed does not depend on which other properties are checked.
        rng = np.random.default_rng([self._seed, crc32(rule.name.encode()), n])
        # Small worlds are enumerated, but some trials are left for larger worlds.
        most, share = max(left // min(sizes_left, 2), 1), max(left // sizes_left, 1)
        if isinstance(rule, Attainable):
            affordable = max(_RANKINGS_PER_TRIAL * self._trials // math.factorial(n), 1)
            most, share = min(most, affordable), min(share, affordable)
        candidates = _CANDIDATES_PER_TRIAL * self._trials
        is_enumerated = source.count(space.sizes, n) * len(positions) <= candidates
        worlds = source.all_worlds(space.sizes, n) if is_enumerated else self._draw(n, positions, share, rng)
        valid = np.stack([rule.ask(space, worlds, position)[0] for position in positions])
        column, row = np.nonzero(valid)
        is_complete = is_enumerated and len(row) <= most
        if not is_complete and len(row) > share:
            chosen = np.sort(rng.choice(len(row), size=share, replace=False))
            column, row = column[chosen], row[chosen]
        return [
            self._block(part, position)
            for index, position in enumerate(positions)
            if len(part := worlds[row[column == index]])
        ], is_complete

    def _draw(self, n: int, positions: list[Position], share: int, rng: np.random.Generator) -> Worlds:
        """Draw random worlds until enough of them satisfy the conditions, or ten times."""
        parts: list[Worlds] = []
        n_valid = 0
        for _ in range(10):
            part = self.rule.source.draw(self.space.sizes, n, 2 * share, rng)
            parts.append(part)
            n_valid += sum(int(self.rule.ask(self.space, part, position)[0].sum()) for position in positions)
            if n_valid >= 2 * share:
                break
        return np.concatenate(parts)

    def finding(self, bound: Bound) -> _Finding:
        """Return the verdict on a measure, with an example."""
        rule = self.rule
        refused = rule.refusal(bound)
        if refused is not None:
            return _Finding(refused[0], reason=refused[1])
        if self.questions is None:
            return _Finding("n/a", reason="no such worlds exist with the declared grades and number of documents")
        try:
            scores = self.questions.scores(bound)
            rng = np.random.default_rng([self._seed, crc32(rule.name.encode())])
            tuples = bound.tuple_weights(rng) if rule.checks_order else None
        except MultiAspectError as error:
            return _Finding("n/a", reason=str(error), failed=True)
        violated, tied, trials = self._judge(bound, scores)
        violations, ties = (sum(int(mask.sum()) for mask in masks) for masks in (violated, tied))
        order_check = None if tuples is None else rule.check_order(bound.space, *tuples)
        if order_check is not None:
            trials, violations = trials + order_check.trials, violations + len(order_check.wrong)
        if not trials:
            return _Finding("n/a", reason="it applies to none of the worlds drawn; raise trials")
        verdict = "fails" if violations else "ties" if ties else "holds"
        example = None
        hit = self._smallest(self.blocks, violated if violations else tied)
        if hit is not None:
            example = self._example(bound, self._shrink(bound, hit, verdict), verdict)
        elif tuples is not None and order_check is not None and order_check.wrong:
            weight = dict(zip(map(tuple, tuples[0].tolist()), tuples[2].tolist(), strict=True))
            example = self._example_of_tuples(bound, order_check, weight)
        return _Finding(verdict, trials, violations, ties, "", example)

    def _judge(self, bound: Bound, scores: Sequence[Floats]) -> tuple[list[Bools], list[Bools], int]:
        """Return masks of violating and of tied trials, per block, and the number of trials that count."""
        violated, tied, trials = [], [], 0
        for block_scores in scores:
            margin, counted = self.rule.margin(block_scores, bound.limits)
            with np.errstate(invalid="ignore"):
                wrong = counted & ~(margin >= -TOLERANCE)  # NaN is a violation
                equal = counted & ~wrong & ~(margin > TOLERANCE)
            violated.append(wrong)
            tied.append(equal if self.rule.strict else np.zeros_like(equal))
            trials += int(counted.sum())
        return violated, tied, trials

    @staticmethod
    def _smallest(blocks: Sequence[Block], masks: Sequence[Bools]) -> _Hit | None:
        hits = []
        for block, mask in zip(blocks, masks, strict=True):
            worlds = block.worlds[mask]
            if len(worlds):
                totals = worlds.sum(axis=(1, 2))
                lowest = worlds[totals == totals.min()]
                hits += [_Hit(world, block.position) for world in lowest]
        return min(hits, key=_Hit.key, default=None)

    def _shrink(self, bound: Bound, hit: _Hit, verdict: str) -> _Hit:
        """Remove documents and lower labels while the trial still gives the verdict."""
        while True:
            blocks = [block for worlds in self._reductions(hit.world) for block in self._blocks_of(worlds)]
            if not blocks:
                return hit
            scores = Questions(self.space, blocks).scores(bound)
            violated, tied, _ = self._judge(bound, scores)
            smaller = self._smallest(blocks, violated if verdict == "fails" else tied)
            if smaller is None:
                return hit
            hit = smaller

    def _reductions(self, world: Worlds) -> list[Worlds]:
        """Return all worlds with one document fewer, or with one aspect of one or all documents a grade lower."""
        n = len(world)
        shorter = [np.delete(world, document, axis=0) for document in range(n)]
        lower = []
        for aspect in range(len(self.space)):
            for documents in [[document] for document in range(n)] + [list(range(n))]:
                changed = world.copy()
                changed[documents, aspect] -= 1
                if changed.min() >= 0:
                    lower.append(changed)
        kept = shorter if n > self.rule.least_documents else []
        return [np.stack(worlds) for worlds in (kept, lower) if worlds]

    def _blocks_of(self, worlds: Worlds) -> list[Block]:
        positions = self.rule.positions(self.space, worlds.shape[1])
        masks = [(position, self.rule.ask(self.space, worlds, position)[0]) for position in positions]
        return [self._block(worlds[valid], position) for position, valid in masks if valid.any()]

    def _block(self, worlds: Worlds, position: Position) -> Block:
        return Block(worlds, position, self.rule.ask(self.space, worlds, position)[1])

    def _example(self, bound: Bound, hit: _Hit, verdict: str) -> CounterExample:
        rule, space = self.rule, self.space
        block = self._block(hit.world[None], hit.position)
        (table,) = Questions(space, [block]).scores(bound)
        raw = bound.orient(table[0])
        rankings = []
        for column in rule.example_rankings(table[0]):
            worlds, order, variant = block.asked[column]
            aspects = scaled_aspects(bound.aspects, variant.scaled) if variant.scaled else bound.aspects
            labels = [Space(aspects).labels(document) for document in worlds[0]]
            ranked = tuple(labels[document] for document in order)
            rest = tuple(labels[document] for document in range(len(labels)) if document not in order)
            rankings.append(RankedWorld(ranked, rest, float(raw[column]), bound.variant(variant)))
        scores = [ranking.score for ranking in rankings]
        expected = rule.expected(space, hit.position, rankings)
        observed = rule.observed_relation(scores, verdict == "ties")
        if bound.turned:
            expected = _reverse_sentence(expected)
        sentence = f"{expected[0].upper()}{expected[1:]}, but {observed}."
        figures = rule.figures(scores, -1 if bound.turned else 1)
        return CounterExample(
            bound.name, rule.name, verdict, space.names, tuple(rankings), rule.shown, figures, sentence
        )

    def _example_of_tuples(
        self, bound: Bound, order_check: OrderCheck, weight: dict[tuple[int, ...], float]
    ) -> CounterExample:
        pair = min(order_check.wrong, key=lambda pair: (int(sum(map(sum, pair))), *map(tuple, pair)))
        rankings = tuple(
            RankedWorld((self.space.labels(grades),), (), float(weight[tuple(grades.tolist())]), bound.measure)
            for grades in pair
        )
        figures = [("weight", tuple(ranking.score for ranking in rankings))]
        aspects, sentence = self.space.names, f"{order_check.sentence}."
        return CounterExample(bound.name, self.rule.name, "fails", aspects, rankings, (0, 1), figures, sentence)


def _reverse_sentence(sentence: str) -> str:
    """Adapt the expectation to a measure for which lower is better."""
    pairs = (("score lower", "score higher"), ("score 1", "score 0"))
    for word, opposite in pairs:
        sentence = opposite.join(part.replace(opposite, word) for part in sentence.split(word))
    return sentence
