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
        """Return the judgments as a frame, in which each ranking is a query with all of them."""
        rows_of_query = []
        for docno, labels in self.judged.items():
            rows_of_query.append({"doc_id": docno, **labels})
        n_queries = len(self.ranked)
        qrels = pd.DataFrame(rows_of_query * n_queries)
        qids = [_qid(index) for index in range(n_queries)]
        qrels["query_id"] = np.repeat(qids, len(rows_of_query))
        return qrels

    def run(self, depth: int | None = None) -> dict[str, dict[str, float]]:
        """Return the scores of the documents by query, down to rank `depth` if it is given.

        As in a run, a query without retrieved documents is absent.
        """
        run = {}
        for index, ranked in enumerate(self.ranked):
            if ranked:
                qid = _qid(index)
                run[qid] = _decreasing_scores(ranked[:depth])
        return run

    def rankings(self, depth: int | None = None) -> Rankings:
        """Return the rankings, or their first ranks, joined with the judgments once."""

        def join() -> Rankings:
            return Rankings(self.run(depth), self.judgments)

        return self.compute_once(("rankings", depth), join)

    @cached_property
    def separate_rankings(self) -> Rankings:
        """The rankings, joined with another copy of the judgments, on which nothing is cached."""
        judgments = Judgments(self._qrels())
        return Rankings(self.run(), judgments)

    def values(self, measure: Measure) -> Floats:
        """Return the values of a measure, which are computed once."""

        def evaluate() -> Floats:
            return measure.evaluate(self.rankings())

        return self.compute_once(("values", measure), evaluate)

    @cached_property
    def complete(self) -> Ints:
        """The indices of the rankings that have all judged documents and no others."""
        indices = []
        for index, ranked in enumerate(self.ranked):
            has_unjudged = "unjudged" in ranked
            if len(ranked) == len(self.judged) and not has_unjudged:
                indices.append(index)
        return np.array(indices, dtype=np.intp)

    @property
    def middle(self) -> int:
        """The index of a ranking of some of the judged documents."""
        return len(self.ranked) // 2

    def show(self, index: int) -> str:
        """Describe the world and one of its rankings, for an error."""
        judged: dict[str, object] = {}
        for docno, columns in self.judged.items():
            labels = dict(columns)
            labels.pop(KNOWN, None)  # whether the user knew the document: no label
            # Without other aspects, the label alone is shorter than a mapping.
            if list(labels) == ["relevance"]:
                judged[docno] = labels["relevance"]
            else:
                judged[docno] = labels
        ranked = " ".join(self.ranked[index])
        if not ranked:
            ranked = "nothing"
        return f"judged {judged}, ranked {ranked}"


def _qid(index: int) -> str:
    """Return the id of the query of a ranking, such as 007: ids sort as the rankings do."""
    return f"{index:03d}"


def _decreasing_scores(ranked: Sequence[str]) -> dict[str, float]:
    """Return the scores 0, -1, -2, … of the documents of a ranking, from first to last."""
    return {docno: -float(position) for position, docno in enumerate(ranked)}


class Worlds(tuple[World, ...]):
    """Worlds of the same aspects, from small to large, and collections with one query per world."""

    @cached_property
    def all_rankings(self) -> Rankings:
        """One ranking of each world."""
        return self._join(range(len(self)))

    @cached_property
    def reversed_rankings(self) -> Rankings:
        """The same rankings, with queries and documents in reverse order."""
        indices = range(len(self))
        last_first = indices[::-1]
        return self._join(last_first, reverse_judgments=True)

    @cached_property
    def single_rankings(self) -> list[Rankings]:
        """The same rankings, each in a separate collection."""
        return [self._join([index]) for index in range(len(self))]

    def _join(self, indices: Sequence[int], reverse_judgments: bool = False) -> Rankings:
        """Return a collection with one query for each of some worlds: its ranking in the middle.

        `reverse_judgments` reverses the order of the judged documents of each query.
        """
        judged = {}
        run = {}
        for index in indices:
            world = self[index]
            qid = chr(ord("a") + index)
            judged_documents = list(world.judged.items())
            if reverse_judgments:
                judged_documents.reverse()
            judged[qid] = dict(judged_documents)
            ranked = world.ranked[world.middle]
            run[qid] = _decreasing_scores(ranked)
        return Rankings(run, Judgments(judged))


def worlds(aspects: Aspects, seed: int) -> Worlds:
    """Return worlds with labels of the scales, junk and missing labels, from small to large."""
    rng = random.Random(seed)
    choices = {}
    for name, aspect in aspects.items():
        grades = aspect.scale.grades.tolist()
        # A grade is drawn twice as often as the label of junk, -1, or a missing label.
        choices[name] = [*grades, *grades, -1.0, _NAN]
    result = []
    for n_documents in _SIZES:
        judged = {}
        for number in range(1, n_documents + 1):
            labels = {name: rng.choice(options) for name, options in choices.items()}
            labels[KNOWN] = rng.choice((0, 1))
            judged[f"d{number}"] = labels
        rankings = tuple(_arrangements(tuple(judged)))
        result.append(World(judged, rankings))
    return Worlds(result)


def _arrangements(documents: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield all rankings of documents, and those with one unjudged document in addition.

    The former retrieve all or some of the documents, from the longest to the empty ranking. In the
    latter, the documents have their order, and the unjudged one each rank in turn.
    """
    n_documents = len(documents)
    for length in range(n_documents, -1, -1):
        yield from itertools.permutations(documents, length)
    for n_above in range(n_documents + 1):
        above = documents[:n_above]
        below = documents[n_above:]
        yield (*above, "unjudged", *below)


def equal(values: Floats, expected: Floats) -> Bools:
    """Return whether values are equal except for rounding."""
    is_close = np.isclose(values, expected, rtol=1e-9, atol=1e-9)
    return np.asarray(is_close, dtype=np.bool_)


def differences(
    statement: str, world: World, values: Floats, expected: Floats
) -> Iterator[Failure]:
    """Yield a ranking for which a value differs from the expected one, if there is one."""
    if values.shape != expected.shape:
        yield statement, f"the shape is {values.shape}, expected {expected.shape}"
        return
    is_different = ~equal(values, expected)
    different = np.flatnonzero(is_different)
    if len(different):
        # The last one, as the longest rankings come first.
        index = int(different[-1])
        example = world.show(index)
        value = values[index]
        expected_value = expected[index]
        yield statement, f"{example}: {value:.6g}, expected {expected_value:.6g}"
