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
        return cls(np.full((2, n_rows, n_topics), np.nan), np.full(n_topics, exact))

    def columns(self) -> dict[str, Any]:
        """Return the means of the extremes over topics, without rounding errors, and whether they are exact."""
        size, means = np.abs(self.ends).max(axis=0).mean(axis=1), self.ends.mean(axis=2)
        low, high = np.where(np.abs(means) <= ROUNDING * size, 0.0, means)
        return {"low": low, "high": high, "exact": self.exact.all() & ~np.isnan(low)}

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
        self,
        measure: Measure,
        universe: Judgments,
        rankings: Sequence[Rankings],
        first: Ints,
        second: Ints,
    ) -> None:
        self.measure, self.universe, self.rankings = measure, universe, rankings
        self.first, self.second = first, second
        self.views = measure.views(universe)
        self.names = [view.name for view in self.views]
        self.grades = [view.scale.grades for view in self.views]
        self.lowest, self.highest = (
            np.array([[grades[end]] for grades in self.grades]) for end in (0, -1)
        )
        #: The labels, aspects × documents.
        self.labels = np.stack([view.label for view in self.views])

    @cached_property
    def ideal_documents(self) -> str:
        """The documents of the ideal rankings; all judged ones if the measure does not state them."""
        stated = self.measure.stated.ideal_documents
        check = choice("ideal_documents", "judged", "ranks", "retrieved", "separate")
        if stated is None:
            return "judged"
        return str(check(stated))

    def label_terms(self, judgments: Judgments) -> list[Term]:
        """Return the terms by which the value depends on labels; none if the measure does not state them."""
        make_terms = self.measure.stated.label_terms
        if make_terms is None:
            return []
        return make_terms(judgments)

    @cached_property
    def missing(self) -> Bools:
        """A mask of the missing labels that matter, aspects × documents: not those behind a gate."""
        missing = np.isnan(self.labels)
        if self._terms:
            missing &= np.any(
                [term.is_read[:, None] & term.is_open for term in self._terms], axis=0
            )
        return missing

    @cached_property
    def is_read(self) -> Bools:
        """A mask of the aspects that matter: not those of weight 0."""
        if not self._terms:
            return np.ones(len(self.names), dtype=np.bool_)
        return np.asarray(np.any([term.is_read for term in self._terms], axis=0))

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the topics with missing labels."""
        query = self.universe.pool_query[self.missing.any(axis=0)]
        return np.bincount(query, minlength=self.universe.n_queries) > 0

    def complete(self, labels: Floats) -> Judgments:
        """Return the universe with other labels, aspects × documents."""
        rows = {
            name: self.universe.row_values(row)
            for name, row in zip(self.names, labels, strict=True)
        }
        return self.universe.with_labels(rows, scales=self.universe)

    def _values(self, judgments: Judgments) -> Floats:
        return np.stack(
            [self.measure.evaluate(run.with_judgments(judgments)) for run in self.rankings]
        )

    def values_of_copies(self, topics: Ints, labels: Floats) -> Floats:
        """Return the values of copies of topics, runs × copies × topics.

        Parameters
        ----------
        topics : ndarray of int
            The topics, increasing.
        labels : ndarray, shape (n_copies, n_aspects, n_documents)
            The labels of their documents in each copy.
        """
        copies = TopicCopies(
            self.universe, topics, dict(zip(self.names, labels.swapaxes(0, 1), strict=True))
        )
        values = [self.measure.evaluate(copies.rankings(run)) for run in self.rankings]
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
        """Return the intervals of the values and of the differences that follow from statements of the measure."""
        n_topics, first, second = self.universe.n_queries, self.first, self.second
        values, pairs = (
            Interval.unknown(n_rows, n_topics) for n_rows in (len(self.rankings), len(first))
        )
        certain = np.ones(n_topics, dtype=np.bool_)
        lowest = highest = self.at_lowest
        never_falls = bool(self.measure.stated.never_falls_with_labels)
        if never_falls:
            highest = self._values(
                self.complete(np.where(np.isnan(self.labels), self.highest, self.labels))
            )
        values.fill(~self.is_open | never_falls, np.stack([lowest, highest]), certain)
        difference = lowest[first] - lowest[second]
        pairs.fill(~self.is_open, np.stack([difference, difference]), certain)
        if self._terms and self.ideal_documents == "separate":
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
        pairs.fill(
            ~pairs.exact & np.isnan(pairs.ends[0]).any(axis=0), bounds, np.zeros_like(pairs.exact)
        )
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
        measure, parts, weights = (
            self.measure,
            self._terms,
            np.stack([part.term.weight for part in self._terms]),
        )
        n_readers = np.sum(
            [self.missing & part.is_read[:, None] & part.is_open for part in parts], axis=0
        )
        separate = self.is_open.copy()  # no missing label matters to several terms
        separate[self.universe.pool_query[(n_readers > 1).any(axis=0)]] = False
        of_values, of_pairs = zip(*(part.intervals() for part in parts), strict=True)
        for target, intervals, is_known in (
            (values, of_values, self.measure.stated.never_falls_with_terms),
            (pairs, of_pairs, self.measure.stated.is_weighted_sum),
        ):
            if is_known and None not in intervals:
                ends = np.stack([interval.ends for interval in intervals])
                flat = measure.combine(
                    ends.reshape(len(parts), -1), np.tile(weights, 2 * ends.shape[2])
                )
                exact = np.all([interval.exact for interval in intervals], axis=0)
                target.fill(separate & ~target.exact, flat.reshape(ends.shape[1:]), exact)

    @cached_property
    def _terms(self) -> list[_TermIntervals]:
        """The terms; none if their weights depend on labels or there are too many label tuples."""
        parts: list[_TermIntervals] = []
        for number, term in enumerate(self.label_terms(self._lowest)):
            names = term.aspects or self.names
            is_read = np.array([name in names for name in self.names])
            labels = np.where(
                is_read[:, None], np.where(np.isnan(self.labels), np.inf, self.labels), self.lowest
            )
            patterns, pattern = np.unique(labels.T, axis=0, return_inverse=True)
            n_grades = [float(len(grades)) for grades in self.grades]
            if np.where(np.isinf(patterns), n_grades, 1.0).prod(axis=1).sum() > _MOST_TUPLES:
                return []
            parts.append(_TermIntervals(self, number, term, is_read, patterns, pattern.reshape(-1)))
        return parts

    def enumerate(self, topics: Bools, values: Interval, pairs: Interval) -> None:
        """Evaluate all completions of topics that have few."""
        total = 0
        for topic in np.flatnonzero(topics).tolist():
            rows = np.flatnonzero(self.universe.pool_query == topic)
            missing = self.missing[:, rows]
            grades = [self.grades[aspect] for aspect in np.nonzero(missing)[0]]
            number, depth = (
                prod(map(len, grades)),
                max(int(run.hits.n_ret[topic]) for run in self.rankings),
            )
            if number > min(MOST_OF_TOPIC, MOST_OF_ALL - total) or number * depth > _MOST_ROWS:
                continue
            total += number
            labels = np.repeat(self.lowest_labels[None, :, rows], number, axis=0)
            labels[:, missing] = list(product(*grades))
            table = self.values_of_copies(np.array([topic]), labels)[:, :, 0]
            for interval, found in (
                (values, table),
                (pairs, table[self.first] - table[self.second]),
            ):
                interval.ends[..., topic] = found.min(axis=1), found.max(axis=1)
                interval.exact[topic] = True


class _TermIntervals:
    """The intervals of one term: a base on gains that depend on the labels of a document only."""

    def __init__(
        self,
        owner: LabelIntervals,
        number: int,
        term: Term,
        is_read: Bools,
        patterns: Floats,
        pattern: Ints,
    ) -> None:
        self.owner, self.number, self.term, self.base, self.is_read = (
            owner,
            number,
            term,
            term.base,
            is_read,
        )
        #: The labels that documents with each pattern of known labels may have, pattern by pattern.
        options = []
        for known in patterns.tolist():
            sets = [
                grades if label == np.inf else [label]
                for label, grades in zip(known, owner.grades, strict=True)
            ]
            options.append(np.array(list(product(*sets))))
        self.tuples, self.pattern = np.concatenate(options), pattern
        self.pattern_of_tuple = np.repeat(np.arange(len(options)), [len(rows) for rows in options])
        # The gain of each tuple, all in the same unit: those of documents of one topic.
        zeros, qids = np.zeros(len(self.tuples), dtype=np.intp), np.array(["q"], dtype=object)
        labels = dict(zip(owner.names, self.tuples.T, strict=True))
        alone = self._term(owner.universe.with_copies(zeros, zeros, qids, labels))
        form = self.base.additive(alone.target)
        if isinstance(form, Linear):
            gain = form.gain
        else:
            gain = self.base.gain(alone.target)
        self.gains = np.asarray(gain, dtype=np.float64)
        #: All gains, with 0, and a mask of those that each pattern can have.
        self.levels = np.unique(np.append(self.gains, 0.0))
        self.allowed = np.zeros((len(options), len(self.levels)), dtype=np.bool_)
        self.allowed[self.pattern_of_tuple, np.searchsorted(self.levels, self.gains)] = True
        #: A mask of the documents whose gain is not known.
        self.is_open = (self.allowed.sum(axis=1) > 1)[pattern]

    def _term(self, judgments: Judgments) -> Term:
        return self.owner.label_terms(judgments)[self.number]

    @cached_property
    def linear(self) -> Linear | None:
        """The form, if gains determine it: with a constant norm, or that of an ideal ranking."""
        form = self.base.additive(self.term.target)
        if (
            not isinstance(form, Linear)
            or isinstance(form.depth, np.ndarray)
            or (self.gains < 0).any()
        ):
            return None
        if form.ideal is None and form.norm is not None and not self.base.stated.has_constant_norm:
            return None
        return form

    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """Return the intervals of the runs, and those of the pairs if the measure is a weighted sum."""
        if self.linear is not None:
            return self._intervals_of_sums(self.linear)
        if self.base.stated.prefers_early:
            if isinstance(self.base, Counting):
                return self._by_count(self.base), None
            return self._by_number(), None
        return None, None

    def _intervals_of_sums(self, form: Linear) -> tuple[Interval, Interval]:
        """Return the intervals of weighted sums: a run is compared with one that retrieves nothing."""
        owner, n_runs, n_topics = (
            self.owner,
            len(self.owner.rankings),
            self.owner.universe.n_queries,
        )
        discounts = np.zeros((n_runs + 1, len(owner.universe)))
        for weights, run in zip(discounts, owner.rankings, strict=False):
            weights[run.hits.row] = form.discounts(run.hits.rank, run.hits.query)
        if owner.measure.stated.is_weighted_sum:
            n_pairs = len(owner.first)
        else:
            n_pairs = 0
        first = np.append(np.arange(n_runs), owner.first[:n_pairs])
        second = np.append(np.full(n_runs, n_runs), owner.second[:n_pairs])
        ends, exact = (
            np.full((2, len(first), n_topics), np.nan),
            np.zeros((len(first), n_topics), dtype=np.bool_),
        )
        starts = np.searchsorted(owner.universe.pool_query, np.arange(n_topics + 1))
        for topic in np.flatnonzero(owner.is_open).tolist():
            documents = np.arange(*starts[topic : topic + 2])
            for chosen, of_ideal, depth in self._shared_ideals(
                form, documents, discounts[:-1, documents] > 0
            ):
                weighted = discounts[np.ix_(np.append(chosen, n_runs), of_ideal)]
                has_weight = weighted.any(axis=0)
                distinct, number = np.unique(weighted[:, has_weight], axis=0, return_inverse=True)
                run_of = np.full(n_runs + 1, -1)
                run_of[np.append(chosen, n_runs)] = number.reshape(-1)
                rows = np.flatnonzero((run_of[first] >= 0) & (run_of[second] >= 0))
                a, b = run_of[first[rows]], run_of[second[rows]]
                code, row = np.unique(a * len(distinct) + b, return_inverse=True)
                weights = distinct[code // len(distinct)] - distinct[code % len(distinct)]
                gains = self.attainable_gains(
                    np.append(of_ideal[has_weight], of_ideal[~has_weight]), depth
                )
                extremes, is_exact = self._extremes(form, topic, weights, gains)
                ends[:, rows, topic], exact[rows, topic] = extremes[:, row], is_exact[row]
        np.minimum(ends[:, :n_runs], self.base.RANGE[1], out=ends[:, :n_runs])
        of_runs, of_pairs = np.split(exact, [n_runs])
        values = Interval(ends[:, :n_runs], np.logical_and.reduce(of_runs))
        return values, Interval(ends[:, n_runs:], np.logical_and.reduce(of_pairs))

    def _shared_ideals(
        self, form: Linear, documents: Ints, is_hit: Bools
    ) -> Iterator[tuple[Ints, Ints, int | None]]:
        """Yield the runs that share an ideal ranking of one topic, its documents and its depth."""
        kind, n_hits = self.owner.ideal_documents, is_hit.sum(axis=1)
        keys = {
            "judged": np.zeros((len(is_hit), 1)),
            "ranks": n_hits[:, None],
            "retrieved": is_hit,
        }[kind]
        for key in np.unique(keys, axis=0):
            chosen = np.flatnonzero((keys == key).all(axis=1))
            depth: int | None = int(n_hits[chosen[0]])
            if kind == "judged":
                if form.ideal is None:
                    depth = None
                else:
                    depth = form.ideal.depth
            yield chosen, documents[is_hit[chosen[0]]] if kind == "retrieved" else documents, depth

    def attainable_gains(self, documents: Ints, depth: int | None) -> AttainableGains:
        """Return the gains of documents of a topic, and the discounts of the ideal ranking if there is one."""
        sets, ideal = (
            self.allowed[self.pattern[documents]],
            None if self.linear is None else self.linear.ideal,
        )
        used: Bools = np.append(True, sets[:, 1:].any(axis=0))
        rank = np.arange(1, len(sets) + 1)
        discounts = np.zeros(len(sets))
        if ideal is not None:
            discounts = np.where(
                rank <= (len(rank) if depth is None else depth), ideal.discount(rank), 0.0
            )
        return AttainableGains(self.levels[used], sets[:, used], discounts)

    def _extremes(
        self, form: Linear, topic: int, weights: Floats, gains: AttainableGains
    ) -> tuple[Floats, Bools]:
        """Return the extremes of weighted sums of a topic's gains, the first documents of which have a weight."""
        if form.ideal is None:
            low, high = (
                gains.levels[end[: weights.shape[1]]] for end in (gains.lowest, gains.highest)
            )
            up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            if form.norm is None:
                norm = 1.0
            else:
                norm = float(form.norm[topic])
            exact = np.ones(len(weights), dtype=np.bool_)
            return np.stack([up @ low + down @ high, up @ high + down @ low]) / norm + 0.0, exact
        value, exact = highest_ratios(np.concatenate([-weights, weights]), gains)
        (lowest, highest), is_exact = value.reshape(2, -1), np.logical_and(*exact.reshape(2, -1))
        return np.stack([0.0 - lowest, highest]), is_exact  # no negative zeros

    def _by_count(self, base: Counting) -> Interval:
        """Return the extremes of a base that depends on the relevant documents only, topic by topic."""
        owner, n_topics = self.owner, self.owner.universe.n_queries
        is_relevant = ~self.allowed[self.pattern, 0] & ~self.is_open  # whose label is known
        n_relevant, n_open = (
            np.bincount(owner.universe.pool_query[mask], minlength=n_topics)
            for mask in (is_relevant, self.is_open)
        )
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for ends, run in zip(result.ends.swapaxes(0, 1), owner.rankings, strict=True):
            hits = run.hits.select((is_relevant | self.is_open)[run.hits.row])
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
                ends[:, topic] = extremes_by_number(base, documents)
        return result

    def _by_number(self) -> Interval:
        """Return the extremes over the numbers of relevant documents without labels, the first or the last ones."""
        owner, n_topics, query = (
            self.owner,
            self.owner.universe.n_queries,
            self.owner.universe.pool_query,
        )
        # A tuple that is relevant and one that is not, where there is one.
        chosen = np.tile(
            np.searchsorted(self.pattern_of_tuple, np.arange(len(self.allowed))), (2, 1)
        )
        for row, mask in enumerate((self.gains > 0, self.gains <= 0)):
            chosen[row, self.pattern_of_tuple[mask]] = np.flatnonzero(mask)
        yes, no = chosen[:, self.pattern]
        opened = np.flatnonzero(self.is_open)
        size = np.bincount(query[opened], minlength=n_topics)
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for (low, high), run in zip(result.ends.swapaxes(0, 1), owner.rankings, strict=True):
            rank = np.full(len(query), np.iinfo(np.intp).max)
            rank[run.hits.row] = run.hits.rank
            ranked = opened[np.lexsort((rank[opened], query[opened]))]
            above = positions(query[ranked])
            below = size[query[ranked]] - above - 1
            for number, place in product(range(int(size.max(initial=0)) + 1), (above, below)):
                code = no.copy()
                code[ranked[place < number]] = yes[ranked[place < number]]
                judged = owner.complete(self.tuples[code].T)
                term = self._term(judged)
                value = term.base.values(run.with_judgments(judged), term.target)
                np.fmin(low, value, out=low)
                np.fmax(high, value, out=high)
        return result
