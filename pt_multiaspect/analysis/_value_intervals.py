"""Intervals of the values of one measure over all completions of missing labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..bases import Term
from ..bases.precision import Counting
from ..collection import Judgments, Rankings
from ..collection.rankings import TopicCopies
from ..kernels.forms import Linear
from ..kernels.hits import positions
from ..kernels.label_extremes import AttainableGains, highest_ratios, shared_ratios
from ..measures import Measure
from ._relevant_counts import RetrievedDocuments, extremes_by_number

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
        ends = np.full((2, n_rows, n_topics), np.nan)
        return cls(ends, np.full(n_topics, exact))

    def columns(self) -> dict[str, Any]:
        """Return the means of the extremes over topics, and whether they are exact.

        Means that are rounding errors become 0.
        """
        size = np.abs(self.ends).max(axis=0).mean(axis=1)
        means = self.ends.mean(axis=2)  # ends × rows
        is_zero = np.abs(means) <= ROUNDING * size
        low, high = np.where(is_zero, 0.0, means)
        exact = self.exact.all() & ~np.isnan(low)
        return {"low": low, "high": high, "exact": exact}

    def fill(self, topics: Bools, ends: Floats, exact: Bools) -> None:
        """Replace the extremes of some topics by those of arrays of all topics."""
        self.ends[..., topics] = ends[..., topics]
        self.exact[topics] = exact[topics]

    def fill_topic(self, topic: int, candidates: Floats) -> None:
        """Replace the extremes of one topic by those of all its completions, rows × completions."""
        self.ends[0, :, topic] = candidates.min(axis=1)
        self.ends[1, :, topic] = candidates.max(axis=1)
        self.exact[topic] = True


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
        self,
        measure: Measure,
        universe: Judgments,
        rankings: Sequence[Rankings],
        first: Ints,
        second: Ints,
    ) -> None:
        self.measure = measure
        self.universe = universe
        self.rankings = rankings
        self.first = first
        self.second = second
        self.views = measure.views(universe)
        self.names = [view.name for view in self.views]
        self.grades = [view.scale.grades for view in self.views]
        #: The lowest and the highest grade, aspects × 1.
        self.lowest = np.array([[grades[0]] for grades in self.grades])
        self.highest = np.array([[grades[-1]] for grades in self.grades])
        #: The labels, aspects × documents.
        self.labels = np.stack([view.label for view in self.views])

    @cached_property
    def ideal_documents(self) -> str:
        """The documents of the ideal rankings; all judged ones if the measure states none."""
        stated = self.measure.stated.ideal_documents
        check = choice("ideal_documents", "judged", "ranks", "retrieved", "separate")
        if stated is None:
            return "judged"
        return str(check(stated))

    def label_terms(self, judgments: Judgments) -> list[Term]:
        """Return the terms by which the value depends on labels, if the measure states them."""
        make_terms = self.measure.stated.label_terms
        if make_terms is None:
            return []
        return make_terms(judgments)

    @cached_property
    def missing(self) -> Bools:
        """A mask of the missing labels that matter, aspects × documents.

        Those behind a gate do not matter.
        """
        missing = np.isnan(self.labels)
        if self._terms:
            by_term = [part.matters for part in self._terms]
            missing &= np.any(by_term, axis=0)
        return missing

    @cached_property
    def is_read(self) -> Bools:
        """A mask of the aspects that matter: not those of weight 0."""
        if not self._terms:
            return np.ones(len(self.names), dtype=np.bool_)
        by_term = [part.is_read for part in self._terms]
        return np.asarray(np.any(by_term, axis=0))

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the topics with missing labels."""
        has_missing = self.missing.any(axis=0)
        topics = self.universe.pool_query[has_missing]
        return np.bincount(topics, minlength=self.universe.n_queries) > 0

    def complete(self, labels: Floats) -> Judgments:
        """Return the universe with other labels, aspects × documents."""
        rows = {}
        for name, aspect_labels in zip(self.names, labels, strict=True):
            rows[name] = self.universe.row_values(aspect_labels)
        return self.universe.with_labels(rows, scales=self.universe)

    def _values(self, judgments: Judgments) -> Floats:
        """Return the values by other judgments, runs × topics."""
        values = []
        for run in self.rankings:
            judged_run = run.with_judgments(judgments)
            values.append(self.measure.evaluate(judged_run))
        return np.stack(values)

    def values_of_copies(self, topics: Ints, labels: Floats) -> Floats:
        """Return the values of copies of topics, runs × copies × topics.

        Parameters
        ----------
        topics : ndarray of int
            The topics, increasing.
        labels : ndarray, shape (n_copies, n_aspects, n_documents)
            The labels of their documents in each copy.
        """
        by_aspect = dict(zip(self.names, labels.swapaxes(0, 1), strict=True))
        copies = TopicCopies(self.universe, topics, by_aspect)
        values = []
        for run in self.rankings:
            copied_run = copies.rankings(run)
            values.append(self.measure.evaluate(copied_run))
        return np.stack(values).reshape(len(self.rankings), copies.number, len(topics))

    @cached_property
    def lowest_labels(self) -> Floats:
        """The labels with all missing ones at the lowest grade, aspects × documents."""
        return np.where(np.isnan(self.labels), self.lowest, self.labels)

    @cached_property
    def _lowest(self) -> Judgments:
        return self.complete(self.lowest_labels)

    @cached_property
    def at_lowest(self) -> Floats:
        """The values with all missing labels at the lowest grade, runs × topics."""
        return self._values(self._lowest)

    # -- all measures
    # -----------------------------------------------------------------------------------

    def stated(self) -> tuple[Interval, Interval]:
        """Return the intervals of values and differences that follow from statements."""
        n_topics = self.universe.n_queries
        values = Interval.unknown(len(self.rankings), n_topics)
        pairs = Interval.unknown(len(self.first), n_topics)
        certain = np.ones(n_topics, dtype=np.bool_)
        never_falls = bool(self.measure.stated.never_falls_with_labels)
        lowest = self.at_lowest
        if never_falls:
            highest_labels = np.where(np.isnan(self.labels), self.highest, self.labels)
            highest = self._values(self.complete(highest_labels))
        else:
            highest = lowest
        values.fill(~self.is_open | never_falls, np.stack([lowest, highest]), certain)
        difference = lowest[self.first] - lowest[self.second]
        pairs.fill(~self.is_open, np.stack([difference, difference]), certain)
        if self._terms and self.ideal_documents == "separate":
            self._divide_sums(values)
        elif self._terms:
            self._combine(values, pairs)
        return values, pairs

    def compute(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values and of the differences."""
        values, pairs = self.stated()
        is_unknown = self.is_open & ~(values.exact & pairs.exact)
        self.enumerate(is_unknown, values, pairs)
        low, high = values.ends  # runs × topics each
        low_of_first, low_of_second = low[self.first], low[self.second]
        high_of_first, high_of_second = high[self.first], high[self.second]
        bounds = np.stack([low_of_first - high_of_second, high_of_first - low_of_second])
        lacks_ends = np.isnan(pairs.ends[0]).any(axis=0)
        pairs.fill(~pairs.exact & lacks_ends, bounds, np.zeros_like(pairs.exact))
        size = np.maximum(np.abs(high_of_first), np.abs(high_of_second))
        is_zero = np.abs(pairs.ends) <= ROUNDING * size
        pairs.ends[is_zero] = 0.0
        return values, pairs

    def _divide_sums(self, values: Interval) -> None:
        """Compute the intervals of sums over terms, divided by the sum of the terms' ideals.

        The ideals are those of the retrieved documents.
        """
        for topic in np.flatnonzero(self.is_open).tolist():
            for row, run in enumerate(self.rankings):
                documents = run.hits.row[run.hits.query == topic]
                gains = [part.attainable_gains(documents, len(documents)) for part in self._terms]
                ends = shared_ratios(gains[0].discounts, gains)
                values.ends[:, row, topic] = np.minimum(ends, self.measure.range[1])
        values.exact[self.is_open] = True

    def _combine(self, values: Interval, pairs: Interval) -> None:
        """Combine the intervals of terms whose missing labels are separate, topic by topic."""
        parts = self._terms
        n_readers = np.sum([self.missing & part.matters for part in parts], axis=0)
        is_shared = (n_readers > 1).any(axis=0)
        separate = self.is_open.copy()  # no missing label matters to several terms
        separate[self.universe.pool_query[is_shared]] = False
        intervals_of_values = []
        intervals_of_pairs = []
        for part in parts:
            of_values, of_pairs = part.intervals()
            intervals_of_values.append(of_values)
            intervals_of_pairs.append(of_pairs)
        if self.measure.stated.never_falls_with_terms:
            self._combine_terms(values, intervals_of_values, separate)
        if self.measure.stated.is_weighted_sum:
            self._combine_terms(pairs, intervals_of_pairs, separate)

    def _combine_terms(
        self, combined: Interval, intervals: Sequence[Interval | None], separate: Bools
    ) -> None:
        """Fill an interval by those of all terms, on topics whose missing labels are separate."""
        known = [interval for interval in intervals if interval is not None]
        if len(known) < len(intervals):
            return
        weights = np.stack([part.term.weight for part in self._terms])  # terms × topics
        ends = np.stack([interval.ends for interval in known])  # terms × 2 × rows × topics
        n_terms, _, n_rows, _ = ends.shape
        flat_ends = ends.reshape(n_terms, -1)
        flat_weights = np.tile(weights, 2 * n_rows)
        flat = self.measure.combine(flat_ends, flat_weights)
        exact = np.all([interval.exact for interval in known], axis=0)
        combined.fill(separate & ~combined.exact, flat.reshape(ends.shape[1:]), exact)

    @cached_property
    def _terms(self) -> list[_TermIntervals]:
        """The terms; none if their weights depend on labels or there are too many label tuples."""
        parts: list[_TermIntervals] = []
        is_missing = np.isnan(self.labels)
        for number, term in enumerate(self.label_terms(self._lowest)):
            names = term.aspects or self.names
            is_read = np.array([name in names for name in self.names])
            marked = np.where(is_missing, np.inf, self.labels)
            labels = np.where(is_read[:, None], marked, self.lowest)
            patterns, pattern = np.unique(labels.T, axis=0, return_inverse=True)
            if self._number_of_tuples(patterns) > _MOST_TUPLES:
                return []
            parts.append(_TermIntervals(self, number, term, is_read, patterns, pattern.reshape(-1)))
        return parts

    def _number_of_tuples(self, patterns: Floats) -> float:
        """Return the number of label tuples of patterns × aspects; infinity is a missing label."""
        n_grades = [float(len(grades)) for grades in self.grades]
        n_options = np.where(np.isinf(patterns), n_grades, 1.0)
        return float(n_options.prod(axis=1).sum())

    def enumerate(self, topics: Bools, values: Interval, pairs: Interval) -> None:
        """Evaluate all completions of topics that have few."""
        total = 0
        for topic in np.flatnonzero(topics).tolist():
            rows = np.flatnonzero(self.universe.pool_query == topic)
            missing = self.missing[:, rows]
            aspects, _ = np.nonzero(missing)
            grades = [self.grades[aspect] for aspect in aspects]
            n_completions = prod(map(len, grades))
            depth = max(int(run.hits.n_ret[topic]) for run in self.rankings)
            most = min(MOST_OF_TOPIC, MOST_OF_ALL - total)
            if n_completions > most or n_completions * depth > _MOST_ROWS:
                continue
            total += n_completions
            labels = np.repeat(self.lowest_labels[None, :, rows], n_completions, axis=0)
            labels[:, missing] = list(product(*grades))
            table = self.values_of_copies(np.array([topic]), labels)[:, :, 0]  # runs × completions
            values.fill_topic(topic, table)
            pairs.fill_topic(topic, table[self.first] - table[self.second])


@dataclass(frozen=True, eq=False)
class _SharedIdeal:
    """Runs that share an ideal ranking of one topic."""

    runs: Ints
    #: The documents of the ideal ranking, and its depth.
    documents: Ints
    depth: int | None


class _TermIntervals:
    """The intervals of one term: a base on gains that depend on the labels of a document only.

    Parameters
    ----------
    owner : LabelIntervals
        The intervals of the measure.
    number : int
        The position of the term.
    term : Term
        The term with all missing labels at the lowest grade.
    is_read : ndarray of bool, shape (n_aspects,)
        The aspects that the term reads.
    patterns : ndarray, shape (n_patterns, n_aspects)
        The distinct patterns of known labels; infinity is a missing label.
    pattern : ndarray of int, shape (n_documents,)
        The pattern of each document.
    """

    def __init__(
        self,
        owner: LabelIntervals,
        number: int,
        term: Term,
        is_read: Bools,
        patterns: Floats,
        pattern: Ints,
    ) -> None:
        self.owner = owner
        self.number = number
        self.term = term
        self.base = term.base
        self.is_read = is_read
        self.pattern = pattern
        options = [_label_tuples(known, owner.grades) for known in patterns.tolist()]
        #: The labels that documents with each pattern of known labels may have, pattern by pattern.
        self.tuples = np.concatenate(options)
        n_tuples = [len(rows) for rows in options]
        self.pattern_of_tuple = np.repeat(np.arange(len(options)), n_tuples)
        self.gains = self._gains_of_tuples()
        #: All gains, with 0, and a mask of those that each pattern can have.
        self.levels = np.unique(np.append(self.gains, 0.0))
        self.allowed = np.zeros((len(options), len(self.levels)), dtype=np.bool_)
        self.allowed[self.pattern_of_tuple, np.searchsorted(self.levels, self.gains)] = True
        #: A mask of the documents whose gain is not known.
        has_several_gains = self.allowed.sum(axis=1) > 1
        self.is_open = has_several_gains[pattern]

    def _gains_of_tuples(self) -> Floats:
        """Return the gain of each tuple, all in the same unit: those of documents of one topic."""
        universe = self.owner.universe
        zeros = np.zeros(len(self.tuples), dtype=np.intp)
        qids = np.array(["q"], dtype=object)
        labels = dict(zip(self.owner.names, self.tuples.T, strict=True))
        target = self._term(universe.with_copies(zeros, zeros, qids, labels)).target
        form = self.base.additive(target)
        if isinstance(form, Linear):
            gain = form.gain
        else:
            gain = self.base.gain(target)
        return np.asarray(gain, dtype=np.float64)

    def _term(self, judgments: Judgments) -> Term:
        return self.owner.label_terms(judgments)[self.number]

    @property
    def matters(self) -> Bools:
        """A mask of the labels, aspects × documents: those read of documents with open gains."""
        return np.asarray(self.is_read[:, None] & self.is_open)

    @cached_property
    def linear(self) -> Linear | None:
        """The form, if gains determine it: with a constant norm, or that of an ideal ranking."""
        form = self.base.additive(self.term.target)
        if not isinstance(form, Linear):
            return None
        if isinstance(form.depth, np.ndarray) or (self.gains < 0).any():
            return None
        if form.ideal is None and form.norm is not None and not self.base.stated.has_constant_norm:
            return None
        return form

    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """Return the intervals of the runs and, if the measure is a weighted sum, of the pairs."""
        if self.linear is not None:
            return self._intervals_of_sums(self.linear)
        if self.base.stated.prefers_early:
            if isinstance(self.base, Counting):
                return self._by_count(self.base), None
            return self._by_number(), None
        return None, None

    # -- weighted sums of gains
    # -----------------------------------------------------------------------------------

    def _intervals_of_sums(self, form: Linear) -> tuple[Interval, Interval]:
        """Return the intervals of weighted sums.

        A run's own interval is that of its difference to a run that retrieves nothing.
        """
        owner = self.owner
        n_runs = len(owner.rankings)
        n_topics = owner.universe.n_queries
        discounts = self._discounts_of_runs(form)
        if owner.measure.stated.is_weighted_sum:
            n_pairs = len(owner.first)
        else:
            n_pairs = 0
        first = np.append(np.arange(n_runs), owner.first[:n_pairs])
        second = np.append(np.full(n_runs, n_runs), owner.second[:n_pairs])
        ends = np.full((2, len(first), n_topics), np.nan)
        exact = np.zeros((len(first), n_topics), dtype=np.bool_)
        starts = np.searchsorted(owner.universe.pool_query, np.arange(n_topics + 1))
        for topic in np.flatnonzero(owner.is_open).tolist():
            documents = np.arange(starts[topic], starts[topic + 1])
            is_hit = discounts[:-1, documents] > 0
            for ideal in self._shared_ideals(form, documents, is_hit):
                rows, extremes, is_exact = self._extremes_of_differences(
                    form, topic, ideal, discounts, first, second
                )
                ends[:, rows, topic] = extremes
                exact[rows, topic] = is_exact
        np.minimum(ends[:, :n_runs], self.base.RANGE[1], out=ends[:, :n_runs])
        values = Interval(ends[:, :n_runs], np.logical_and.reduce(exact[:n_runs]))
        pairs = Interval(ends[:, n_runs:], np.logical_and.reduce(exact[n_runs:]))
        return values, pairs

    def _discounts_of_runs(self, form: Linear) -> Floats:
        """Return the discount of each document by each run, and by one that retrieves nothing."""
        owner = self.owner
        discounts = np.zeros((len(owner.rankings) + 1, len(owner.universe)))
        for row, run in enumerate(owner.rankings):
            discounts[row, run.hits.row] = form.discounts(run.hits.rank, run.hits.query)
        return discounts

    def _shared_ideals(
        self, form: Linear, documents: Ints, is_hit: Bools
    ) -> Iterator[_SharedIdeal]:
        """Yield the ideal rankings of a topic, given the mask of hits, runs × documents."""
        kind = self.owner.ideal_documents
        n_hits = is_hit.sum(axis=1)
        if kind == "judged":
            keys: Floats | Ints | Bools = np.zeros((len(is_hit), 1))
        elif kind == "ranks":
            keys = n_hits[:, None]
        else:
            keys = is_hit
        for key in np.unique(keys, axis=0):
            runs = np.flatnonzero((keys == key).all(axis=1))
            if kind == "retrieved":
                of_ideal = documents[is_hit[runs[0]]]
            else:
                of_ideal = documents
            if kind != "judged":
                yield _SharedIdeal(runs, of_ideal, int(n_hits[runs[0]]))
            elif form.ideal is None:
                yield _SharedIdeal(runs, of_ideal, None)
            else:
                yield _SharedIdeal(runs, of_ideal, form.ideal.depth)

    def _extremes_of_differences(
        self,
        form: Linear,
        topic: int,
        ideal: _SharedIdeal,
        discounts: Floats,
        first: Ints,
        second: Ints,
    ) -> tuple[Ints, Floats, Bools]:
        """Return the pairs with this ideal, the extremes of their differences, and exactness."""
        nothing = len(discounts) - 1
        compared = np.append(ideal.runs, nothing)
        weighted = discounts[np.ix_(compared, ideal.documents)]
        has_weight = weighted.any(axis=0)
        distinct, number = np.unique(weighted[:, has_weight], axis=0, return_inverse=True)
        number_of_run = np.full(len(discounts), -1)
        number_of_run[compared] = number.reshape(-1)
        is_compared = (number_of_run[first] >= 0) & (number_of_run[second] >= 0)
        rows = np.flatnonzero(is_compared)
        # Pairs of runs with the same discounts are computed once.
        a = number_of_run[first[rows]]
        b = number_of_run[second[rows]]
        code, position = np.unique(a * len(distinct) + b, return_inverse=True)
        weights = distinct[code // len(distinct)] - distinct[code % len(distinct)]
        with_weight = ideal.documents[has_weight]
        without_weight = ideal.documents[~has_weight]
        gains = self.attainable_gains(np.append(with_weight, without_weight), ideal.depth)
        extremes, is_exact = self._extremes(form, topic, weights, gains)
        return rows, extremes[:, position], is_exact[position]

    def attainable_gains(self, documents: Ints, depth: int | None) -> AttainableGains:
        """Return the gains of documents of a topic, and the discounts of its ideal ranking."""
        allowed = self.allowed[self.pattern[documents]]
        is_used: Bools = np.append(True, allowed[:, 1:].any(axis=0))
        discounts = np.zeros(len(documents))
        if self.linear is not None and self.linear.ideal is not None:
            rank = np.arange(1, len(documents) + 1)
            if depth is None:
                depth = len(documents)
            discounts = np.where(rank <= depth, self.linear.ideal.discount(rank), 0.0)
        return AttainableGains(self.levels[is_used], allowed[:, is_used], discounts)

    def _extremes(
        self, form: Linear, topic: int, weights: Floats, gains: AttainableGains
    ) -> tuple[Floats, Bools]:
        """Return the extremes of weighted sums of gains, 2 × sums, and whether they are exact.

        The first documents are those with a weight.
        """
        if form.ideal is not None:
            value, exact = highest_ratios(np.concatenate([-weights, weights]), gains)
            highest_of_negative, highest = value.reshape(2, -1)
            is_exact = np.logical_and(*exact.reshape(2, -1))
            return np.stack([0.0 - highest_of_negative, highest]), is_exact  # no negative zeros
        n_weighted = weights.shape[1]
        low = gains.levels[gains.lowest[:n_weighted]]
        high = gains.levels[gains.highest[:n_weighted]]
        positive = np.maximum(weights, 0.0)
        negative = np.minimum(weights, 0.0)
        lowest = positive @ low + negative @ high
        highest = positive @ high + negative @ low
        if form.norm is None:
            norm = 1.0
        else:
            norm = float(form.norm[topic])
        ends = np.stack([lowest, highest]) / norm + 0.0  # no negative zeros
        return ends, np.ones(len(weights), dtype=np.bool_)

    # -- bases that prefer relevant documents early
    # -----------------------------------------------------------------------------------

    def _by_count(self, base: Counting) -> Interval:
        """Return the extremes of a base that depends on the relevant documents only."""
        owner = self.owner
        n_topics = owner.universe.n_queries
        query = owner.universe.pool_query
        is_relevant = ~self.allowed[self.pattern, 0] & ~self.is_open  # whose label is known
        may_be_relevant = is_relevant | self.is_open
        n_relevant = np.bincount(query[is_relevant], minlength=n_topics)
        n_open = np.bincount(query[self.is_open], minlength=n_topics)
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for row, run in enumerate(owner.rankings):
            hits = run.hits.select(may_be_relevant[run.hits.row])
            is_open = self.is_open[hits.row]
            starts = np.searchsorted(hits.query, np.arange(n_topics + 1))
            for topic in np.flatnonzero(owner.is_open).tolist():
                of_topic = slice(starts[topic], starts[topic + 1])
                n_open_hits = int(is_open[of_topic].sum())
                n_relevant_hits = len(is_open[of_topic]) - n_open_hits
                documents = RetrievedDocuments(
                    run,
                    self.term.target.source,
                    hits.rank[of_topic],
                    int(hits.n_ret[topic]),
                    is_open[of_topic],
                    int(n_relevant[topic]) - n_relevant_hits,
                    int(n_open[topic]) - n_open_hits,
                )
                result.ends[:, row, topic] = extremes_by_number(base, documents)
        return result

    def _by_number(self) -> Interval:
        """Return the extremes over the numbers of relevant documents without labels.

        The relevant ones are the first or the last ones of each ranking.
        """
        owner = self.owner
        query = owner.universe.pool_query
        n_topics = owner.universe.n_queries
        relevant, not_relevant = self._tuples_of_documents()
        opened = np.flatnonzero(self.is_open)
        n_open = np.bincount(query[opened], minlength=n_topics)
        numbers = range(int(n_open.max(initial=0)) + 1)
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for row, run in enumerate(owner.rankings):
            low, high = result.ends[:, row]  # views, which are filled
            rank = np.full(len(query), np.iinfo(np.intp).max)
            rank[run.hits.row] = run.hits.rank
            ranked = opened[np.lexsort((rank[opened], query[opened]))]
            n_above = positions(query[ranked])
            n_below = n_open[query[ranked]] - n_above - 1
            for number, n_before in product(numbers, (n_above, n_below)):
                chosen = ranked[n_before < number]
                tuple_of_document = not_relevant.copy()
                tuple_of_document[chosen] = relevant[chosen]
                judgments = owner.complete(self.tuples[tuple_of_document].T)
                term = self._term(judgments)
                value = term.base.values(run.with_judgments(judgments), term.target)
                np.fmin(low, value, out=low)
                np.fmax(high, value, out=high)
        return result

    def _tuples_of_documents(self) -> tuple[Ints, Ints]:
        """Return a relevant label tuple of each document and one that is not, if it has both."""
        patterns = np.arange(len(self.allowed))
        relevant = np.searchsorted(self.pattern_of_tuple, patterns)  # the first tuple of each
        not_relevant = relevant.copy()
        is_relevant = self.gains > 0
        relevant[self.pattern_of_tuple[is_relevant]] = np.flatnonzero(is_relevant)
        is_not_relevant = self.gains <= 0
        not_relevant[self.pattern_of_tuple[is_not_relevant]] = np.flatnonzero(is_not_relevant)
        return relevant[self.pattern], not_relevant[self.pattern]


def _label_tuples(known: Sequence[float], grades: Sequence[Floats]) -> Floats:
    """Return the label tuples of documents with a pattern of known labels, tuples × aspects."""
    options: list[Any] = []
    for label, grades_of_aspect in zip(known, grades, strict=True):
        if label == np.inf:
            options.append(grades_of_aspect)
        else:
            options.append([label])
    return np.array(list(product(*options)))
