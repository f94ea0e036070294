"""Intervals of the values of one measure over all completions of missing labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..bases import Term
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings, TopicCopies
from ..kernels.forms import Linear
from ..kernels.hits import positions
from ..kernels.label_extremes import AttainableGains, highest_ratios, shared_ratios
from ..measures import Measure

#: The maximum number of completions that are enumerated, of one topic and of all.
MOST_OF_TOPIC, MOST_OF_ALL = 10_000, 100_000

#: The maximum number of rows of rankings of one topic that are enumerated, and of label tuples.
_MOST_ROWS, _MOST_TUPLES = 3_000_000, 300_000

#: Differences of at most this, relative to the values, are rounding errors.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Interval:
    """The extremes of several rankings or pairs of rankings; NaN if nothing is known."""

    #: The low and the high end, 2 × rows × topics.
    ends: Floats
    #: Whether they are attained, per topic.
    exact: Bools

    @classmethod
    def unknown(cls, n_rows: int, n_topics: int, *, exact: bool = False) -> Interval:
        return cls(np.full((2, n_rows, n_topics), np.nan), np.full(n_topics, exact))

    def fill(self, topics: Bools, ends: Floats, exact: Bools) -> None:
        """Replace the extremes of some topics by those of arrays of all topics."""
        self.ends[..., topics] = ends[..., topics]
        self.exact[topics] = exact[topics]


class LabelIntervals:
    """The intervals of one measure.

    Parameters
    ----------
    measure : Measure
        The measure, with declared scales.
    universe : Judgments
        All documents, see `join_universe`.
    rankings : sequence of Rankings
        The runs, joined with the universe.
    first, second : ndarray of int, shape (n_pairs,)
        The runs of each pair.
    """

    def __init__(
        self, measure: Measure, universe: Judgments, rankings: Sequence[Rankings], first: Ints, second: Ints
    ) -> None:
        self.measure, self.universe, self.rankings = measure, universe, rankings
        self.first, self.second = first, second
        self.views = measure.views(universe)
        self.names = [view.name for view in self.views]
        self.grades = [view.scale.grades for view in self.views]
        #: The labels, aspects × documents.
        self.labels = np.stack([view.label for view in self.views])

    @cached_property
    def missing(self) -> Bools:
        """A mask of the missing labels that matter, aspects × documents: not those behind a gate."""
        missing = np.isnan(self.labels)
        if self._terms:
            matters = np.zeros_like(missing)
            for term in self._terms:
                matters[term.aspects] |= term.is_open
            missing &= matters
        return missing

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the topics with missing labels."""
        query = self.universe.pool_query[self.missing.any(axis=0)]
        return np.bincount(query, minlength=self.universe.n_queries) > 0

    def complete(self, labels: Floats) -> Judgments:
        """Return the universe with other labels, aspects × documents."""
        rows = {name: self.universe.row_values(row) for name, row in zip(self.names, labels, strict=True)}
        return self.universe.with_labels(rows, scales=self.universe)

    def _all_at(self, grade: int) -> Floats:
        """Return the labels with all missing ones at the lowest (0) or highest (-1) grade."""
        ends = np.array([[grades[grade]] for grades in self.grades])
        return np.where(np.isnan(self.labels), ends, self.labels)

    def _values(self, judgments: Judgments) -> Floats:
        return np.stack([self.measure.evaluate(run.with_judgments(judgments)) for run in self.rankings])

    def values_of_copies(self, topics: Ints, labels: Floats) -> Floats:
        """Return the values of copies of topics, runs × copies × topics.

        Parameters
        ----------
        topics : ndarray of int
            The topics, increasing.
        labels : ndarray, shape (n_copies, n_aspects, n_documents)
            The labels of their documents in each copy.
        """
        copies = TopicCopies(self.universe, topics, dict(zip(self.names, labels.swapaxes(0, 1), strict=True)))
        values = [self.measure.evaluate(copies.rankings(run)) for run in self.rankings]
        return np.stack(values).reshape(len(self.rankings), copies.number, len(topics))

    @cached_property
    def lowest_labels(self) -> Floats:
        """The labels with all missing ones at the lowest grade, aspects × documents."""
        return self._all_at(0)

    @cached_property
    def _lowest(self) -> Judgments:
        return self.complete(self.lowest_labels)

    @cached_property
    def at_lowest(self) -> Floats:
        """The values with all missing labels at the lowest grade, runs × topics."""
        return self._values(self._lowest)

    # -- all measures -----------------------------------------------------------------------------------

    def stated(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values and of the differences that follow from statements of the measure."""
        n_topics, first, second = self.universe.n_queries, self.first, self.second
        values, pairs = (Interval.unknown(n_rows, n_topics) for n_rows in (len(self.rankings), len(first)))
        certain = np.ones(n_topics, dtype=np.bool_)
        lowest, never_falls = self.at_lowest, self.measure.never_falls
        highest = self._values(self.complete(self._all_at(-1))) if never_falls else lowest
        values.fill(~self.is_open | never_falls, np.stack([lowest, highest]), certain)
        difference = lowest[first] - lowest[second]
        pairs.fill(~self.is_open, np.stack([difference, difference]), certain)
        kind = choice("ideal_documents", "judged", "ranks", "retrieved", "separate")(self.measure.ideal_documents)
        if self._terms and kind == "separate":
            self._divide_sums(values)
        elif self._terms:
            self._combine(values, pairs)
        return values, pairs

    def compute(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values and of the differences."""
        values, pairs = self.stated()
        self.enumerate(self.is_open & ~(values.exact & pairs.exact), values, pairs)
        (low, high), first, second = values.ends, self.first, self.second
        bounds = np.stack([low[first] - high[second], high[first] - low[second]])
        pairs.fill(~pairs.exact & np.isnan(pairs.ends[0]).any(axis=0), bounds, np.zeros_like(pairs.exact))
        size = np.maximum(np.abs(high[first]), np.abs(high[second]))
        pairs.ends[np.abs(pairs.ends) <= ROUNDING * size] = 0.0
        return values, pairs

    def _divide_sums(self, values: Interval) -> None:
        """Compute the intervals of sums over terms, divided by the sum of the ideals of the retrieved documents."""
        for topic in np.flatnonzero(self.is_open).tolist():
            for row, run in enumerate(self.rankings):
                documents = run.hits.row[run.hits.query == topic]
                gains = [part.attainable_gains(documents, len(documents)) for part in self._terms]
                ends = shared_ratios(gains[0].discounts, gains)
                values.ends[:, row, topic] = np.minimum(ends, self.measure.range[1])
        values.exact[self.is_open] = True

    def _combine(self, values: Interval, pairs: Interval) -> None:
        """Combine the intervals of terms whose missing labels are separate, topic by topic."""
        measure, parts, weights = self.measure, self._terms, np.stack([part.term.weight for part in self._terms])
        readers = np.zeros((len(self.names), self.universe.n_queries), dtype=np.intp)
        for part in parts:
            for row in part.aspects:
                readers[row, self.universe.pool_query[self.missing[row] & part.is_open]] += 1
        separate = self.is_open & (readers <= 1).all(axis=0)  # no missing label matters to several terms

        def fill(target: Interval, intervals: list[Interval | None], combine: Callable[[Floats], Floats]) -> None:
            known = [interval for interval in intervals if interval is not None]
            if len(known) == len(parts):
                exact = np.all([interval.exact for interval in known], axis=0)
                target.fill(
                    separate & ~target.exact, combine(np.stack([interval.ends for interval in known])), exact
                )

        def combine_values(ends: Floats) -> Floats:
            flat = measure.combine(ends.reshape(len(parts), -1), np.tile(weights, 2 * len(self.rankings)))
            return flat.reshape(ends.shape[1:])

        if measure.IS_INCREASING:
            fill(values, [part.values for part in parts], combine_values)
        if measure.IS_WEIGHTED_SUM:
            fill(pairs, [part.pairs for part in parts], lambda ends: (ends * weights[:, None, None]).sum(axis=0))

    @cached_property
    def _terms(self) -> list[_TermIntervals]:
        """The terms; none if their weights depend on labels or there are too many label tuples."""
        terms = self.measure.label_terms(self._lowest)
        parts = [_TermIntervals(self, number, term) for number, term in enumerate(terms)]
        return [] if any(part.n_tuples > _MOST_TUPLES for part in parts) else parts

    def enumerate(self, topics: Bools, values: Interval, pairs: Interval) -> None:
        """Evaluate all completions of topics that have few."""
        total = 0
        for topic in np.flatnonzero(topics).tolist():
            rows = np.flatnonzero(self.universe.pool_query == topic)
            missing = self.missing[:, rows]
            grades = [self.grades[aspect] for aspect in np.nonzero(missing)[0]]
            number, depth = prod(map(len, grades)), max(int(run.hits.n_ret[topic]) for run in self.rankings)
            if number > min(MOST_OF_TOPIC, MOST_OF_ALL - total) or number * depth > _MOST_ROWS:
                continue
            total += number
            labels = np.repeat(self.lowest_labels[None, :, rows], number, axis=0)
            labels[:, missing] = list(product(*grades))
            table = self.values_of_copies(np.array([topic]), labels)[:, :, 0]
            for interval, found in ((values, table), (pairs, table[self.first] - table[self.second])):
                interval.ends[..., topic] = found.min(axis=1), found.max(axis=1)
                interval.exact[topic] = True


class _TermIntervals:
    """The intervals of one term: a base on gains that depend on the labels of a document only."""

    def __init__(self, owner: LabelIntervals, number: int, term: Term) -> None:
        self.owner, self.number, self.term, self.base = owner, number, term, term.base
        self.aspects = [owner.names.index(name) for name in term.aspects or owner.names]

    @cached_property
    def _patterns(self) -> tuple[Floats, Ints]:
        """The distinct labels of documents, infinite where missing, and the position of those of each document."""
        labels = self.owner.labels[self.aspects].T
        distinct, pattern = np.unique(np.where(np.isnan(labels), np.inf, labels), axis=0, return_inverse=True)
        return distinct, np.asarray(pattern.reshape(-1), dtype=np.intp)

    @property
    def n_tuples(self) -> int:
        """The number of label tuples that documents may have."""
        lengths = [float(len(self.owner.grades[row])) for row in self.aspects]
        return int(np.where(np.isinf(self._patterns[0]), lengths, 1.0).prod(axis=1).sum())

    @cached_property
    def _tuples(self) -> tuple[Floats, Ints]:
        """The label tuples that documents may have, pattern by pattern, and their patterns."""
        grades = [self.owner.grades[row] for row in self.aspects]
        tuples = []
        for known in self._patterns[0]:
            options = [
                of_aspect if np.isinf(label) else [label] for of_aspect, label in zip(grades, known, strict=True)
            ]
            tuples.append(np.array(list(product(*options)), dtype=np.float64))
        return np.concatenate(tuples), np.repeat(np.arange(len(tuples)), [len(rows) for rows in tuples])

    def _labels(self, tuples: Floats) -> Floats:
        """Return labels on all aspects, those that the term does not read at the lowest grade."""
        labels = np.repeat([[grades[0]] for grades in self.owner.grades], len(tuples), axis=1)
        labels[self.aspects] = tuples.T
        return labels

    @cached_property
    def _gains(self) -> Floats:
        """The gain of each tuple, all in the same unit: those of documents of one topic."""
        owner, tuples = self.owner, self._tuples[0]
        zeros, qids = np.zeros(len(tuples), dtype=np.intp), np.array(["q"], dtype=object)
        labels = dict(zip(owner.names, self._labels(tuples), strict=True))
        term = self._term(owner.universe.with_copies(zeros, zeros, qids, labels))
        form = term.base.additive(term.target)
        gain = form.gain if isinstance(form, Linear) else term.base.gain(term.target)
        return np.asarray(gain, dtype=np.float64)

    def _term(self, judgments: Judgments) -> Term:
        return self.owner.measure.label_terms(judgments)[self.number]

    @cached_property
    def _attainable(self) -> tuple[Floats, Bools]:
        """All gains, with 0, and a mask of those that each pattern can have."""
        levels = np.unique(np.append(self._gains, 0.0))
        allowed = np.zeros((len(self._patterns[0]), len(levels)), dtype=np.bool_)
        allowed[self._tuples[1], np.searchsorted(levels, self._gains)] = True
        return levels, allowed

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the documents whose gain is not known."""
        return np.asarray((self._attainable[1].sum(axis=1) > 1)[self._patterns[1]], dtype=np.bool_)

    @cached_property
    def _linear(self) -> Linear | None:
        """The form, if gains determine it: with a constant norm, or that of an ideal ranking."""
        form = self.base.additive(self.term.target)
        if not isinstance(form, Linear) or isinstance(form.depth, np.ndarray) or (self._gains < 0).any():
            return None
        return form if form.ideal is not None or form.norm is None or self.base.CONSTANT_NORM else None

    @cached_property
    def _discounts(self) -> Floats:
        """The discount of each document in each run, runs × documents."""
        assert self._linear is not None
        table = np.zeros((len(self.owner.rankings), len(self.owner.universe)))
        for weights, run in zip(table, self.owner.rankings, strict=True):
            hits = run.hits
            weights[hits.row] = self._linear.discounts(hits.rank, hits.query)
        return table

    @cached_property
    def values(self) -> Interval | None:
        """The intervals of the runs."""
        if self._linear is not None:
            interval = self._intervals_of_sums[0]
            np.minimum(interval.ends, self.base.RANGE[1], out=interval.ends)
            return interval
        return self._by_number() if self.base.PREFERS_EARLY else None

    @property
    def pairs(self) -> Interval | None:
        """The intervals of the pairs, of measures that are weighted sums of terms."""
        return None if self._linear is None else self._intervals_of_sums[1]

    @cached_property
    def _intervals_of_sums(self) -> tuple[Interval, ...]:
        """The intervals of the runs and the pairs, of which equal ones are computed once."""
        owner, discounts = self.owner, self._discounts
        n_topics = owner.universe.n_queries
        n_pairs = len(owner.first) if owner.measure.IS_WEIGHTED_SUM else 0
        starts = np.searchsorted(owner.universe.pool_query, np.arange(n_topics + 1))
        result = tuple(Interval.unknown(n_rows, n_topics, exact=True) for n_rows in (len(discounts), n_pairs))
        for topic in np.flatnonzero(owner.is_open).tolist():
            for chosen, documents, depth in self._shared_ideals(np.arange(*starts[topic : topic + 2])):
                weighted = discounts[np.ix_(chosen, documents)]
                has_weight = weighted.any(axis=0)
                runs, number = np.unique(weighted[:, has_weight], axis=0, return_inverse=True)
                run = np.full(len(discounts), -1)
                run[chosen] = number.reshape(-1)
                first, second = run[owner.first[:n_pairs]], run[owner.second[:n_pairs]]
                pairs = np.flatnonzero((first >= 0) & (second >= 0))
                code, pair = np.unique(first[pairs] * len(runs) + second[pairs], return_inverse=True)
                weights = np.concatenate([runs, runs[code // len(runs)] - runs[code % len(runs)]])
                ordered = np.append(documents[has_weight], documents[~has_weight])
                ends, exact = self._extremes(topic, weights, self.attainable_gains(ordered, depth))
                found = (chosen, run[chosen]), (pairs, len(runs) + pair)
                for interval, (rows, row) in zip(result, found, strict=True):
                    interval.ends[:, rows, topic] = ends[:, row]
                    interval.exact[topic] &= exact[row].all()
        for interval in result:
            interval.exact[np.isnan(interval.ends[0]).any(axis=0)] = False
        return result

    def _shared_ideals(self, documents: Ints) -> Iterator[tuple[Ints, Ints, int | None]]:
        """Yield the runs that share an ideal ranking of one topic, its documents and its depth."""
        kind, is_hit = self.owner.measure.ideal_documents, self._discounts[:, documents] > 0
        if kind == "judged":
            assert self._linear is not None
            ideal = self._linear.ideal
            yield np.arange(len(is_hit)), documents, None if ideal is None else ideal.depth
            return
        if kind == "retrieved":
            for retrieved in np.unique(is_hit, axis=0):
                yield np.flatnonzero((is_hit == retrieved).all(axis=1)), documents[retrieved], int(retrieved.sum())
            return
        n_hits = is_hit.sum(axis=1)
        for depth in np.unique(n_hits).tolist():
            yield np.flatnonzero(n_hits == depth), documents, depth

    def attainable_gains(self, documents: Ints, depth: int | None) -> AttainableGains:
        """Return the gains of documents of a topic, and the discounts of the ideal ranking if there is one."""
        levels, allowed = self._attainable
        sets, ideal = allowed[self._patterns[1][documents]], None if self._linear is None else self._linear.ideal
        used: Bools = np.append(True, sets[:, 1:].any(axis=0))
        rank = np.arange(1, len(sets) + 1)
        discounts = np.zeros(len(sets))
        if ideal is not None:
            discounts = np.where(rank <= (len(rank) if depth is None else depth), ideal.discount(rank), 0.0)
        return AttainableGains(levels[used], sets[:, used], discounts)

    def _extremes(self, topic: int, weights: Floats, gains: AttainableGains) -> tuple[Floats, Bools]:
        """Return the extremes of weighted sums of a topic's gains, the first documents of which have a weight."""
        assert self._linear is not None
        if self._linear.ideal is None:
            low, high = (gains.levels[end[: weights.shape[1]]] for end in (gains.lowest, gains.highest))
            up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            norm = 1.0 if self._linear.norm is None else float(self._linear.norm[topic])
            exact = np.ones(len(weights), dtype=np.bool_)
            return np.stack([up @ low + down @ high, up @ high + down @ low]) / norm + 0.0, exact
        value, exact = highest_ratios(np.concatenate([-weights, weights]), gains)
        (lowest, highest), is_exact = value.reshape(2, -1), np.logical_and(*exact.reshape(2, -1))
        return np.stack([0.0 - lowest, highest]), is_exact  # no negative zeros

    def _by_number(self) -> Interval:
        """Return the extremes over the numbers of relevant documents without labels, the first or the last ones."""
        owner, (distinct, pattern), (tuples, of_tuple) = self.owner, self._patterns, self._tuples
        # A tuple that is relevant and one that is not, where there is one.
        chosen = np.tile(np.searchsorted(of_tuple, np.arange(len(distinct))), (2, 1))
        for row, mask in enumerate((self._gains > 0, self._gains <= 0)):
            chosen[row, of_tuple[mask]] = np.flatnonzero(mask)
        yes, no = chosen[:, pattern]
        n_topics, query, opened = owner.universe.n_queries, owner.universe.pool_query, np.flatnonzero(self.is_open)
        size = np.bincount(query[opened], minlength=n_topics)
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for row, run in enumerate(owner.rankings):
            rank = np.full(len(query), np.iinfo(np.intp).max)
            rank[run.hits.row] = run.hits.rank
            ranked = opened[np.lexsort((rank[opened], query[opened]))]
            above = positions(query[ranked])
            below = size[query[ranked]] - above - 1
            for number in range(int(size.max(initial=0)) + 1):
                masks = (below < number, above < number)
                for end, better, is_relevant in zip(result.ends, (np.fmin, np.fmax), masks, strict=True):
                    code = np.where(self.is_open, no, yes)
                    code[ranked[is_relevant]] = yes[ranked[is_relevant]]
                    end[row] = better(end[row], self._evaluate(run, tuples[code]))
        return result

    def _evaluate(self, run: Rankings, tuples: Floats) -> Floats:
        judged = self.owner.complete(self._labels(tuples))
        term = self._term(judged)
        return term.base.values(run.with_judgments(judged), term.target)
