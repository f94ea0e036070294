"""Intervals of the values of one measure over all completions of missing labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

import numpy as np
import pandas as pd

from .._cached import cached_property
from .._typing import Bools, Floats, Ints
from ..bases import Term
from ..collection.copies import TopicCopies
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..kernels.forms import Linear
from ..kernels.label_extremes import AttainableGains, highest_ratios
from ..measures import Measure

#: The maximum number of completions that are enumerated, of one topic and of all.
MOST_OF_TOPIC, MOST_OF_ALL = 10_000, 100_000

#: The maximum number of rows of rankings of one topic that are enumerated, and of label tuples.
_MOST_ROWS, _MOST_TUPLES = 3_000_000, 300_000

#: Differences of at most this, relative to the values, are rounding errors.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Interval:
    """The extremes of several rankings or pairs of rankings, rows × topics; NaN if nothing is known."""

    low: Floats
    high: Floats
    #: Whether they are attained, per topic.
    exact: Bools

    @classmethod
    def unknown(cls, n_rows: int, n_topics: int) -> Interval:
        nothing = np.full((n_rows, n_topics), np.nan)
        return cls(nothing, nothing.copy(), np.zeros(n_topics, dtype=np.bool_))

    def fill(self, topic: Ints, other: Interval) -> None:
        """Replace the extremes of some topics by those of another interval of all topics."""
        self.low[:, topic], self.high[:, topic] = other.low[:, topic], other.high[:, topic]
        self.exact[topic] = other.exact[topic]


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
        self.grades = {view.name: view.scale.grades for view in self.views}
        self.labels = {view.name: view.label for view in self.views}

    @cached_property
    def missing(self) -> Bools:
        """A mask of the missing labels that matter, aspects × documents: not those behind a gate."""
        missing = np.stack([~view.known for view in self.views])
        if self._terms is not None:
            matters = np.zeros_like(missing)
            for term in self._terms:
                matters[term.aspects] |= term.is_open
            missing &= matters
        return missing

    def n_missing(self) -> dict[str, int]:
        """Return the number of missing labels of each aspect."""
        return dict(zip(self.names, self.missing.sum(axis=1).tolist(), strict=True))

    def complete(self, labels: Mapping[str, Floats]) -> Judgments:
        """Return the universe with other labels."""
        rows = {name: self.universe.row_values(values) for name, values in labels.items()}
        return self.universe.with_labels(rows, scales=self.universe)

    def _all_at(self, grade: int) -> Judgments:
        """Return the universe with all missing labels at the lowest (0) or highest (-1) grade."""
        return self.complete(
            {
                name: np.where(np.isnan(label), self.grades[name][grade], label)
                for name, label in self.labels.items()
            }
        )

    def _values(self, judgments: Judgments) -> Floats:
        return np.stack([self.measure.evaluate(run.with_judgments(judgments)) for run in self.rankings])

    def values_of_copies(self, topics: Ints, labels: Mapping[str, Floats]) -> Floats:
        """Return the values of copies of topics, runs × copies × topics; see `TopicCopies.judgments`."""
        copies = TopicCopies(self.universe, topics, len(labels[self.names[0]]))
        judgments = copies.judgments(labels)
        values = [self.measure.evaluate(copies.rankings(run, judgments)) for run in self.rankings]
        return np.stack(values).reshape(len(self.rankings), copies.number, len(topics))

    @cached_property
    def _lowest(self) -> Judgments:
        return self._all_at(0)

    def lowest_labels(self, rows: Ints) -> dict[str, Floats]:
        """Return the labels of documents on each aspect, missing ones at the lowest grade."""
        return {name: self._lowest.labels(name)[rows] for name in self.names}

    @cached_property
    def at_lowest(self) -> Floats:
        """The values with all missing labels at the lowest grade, runs × topics."""
        return self._values(self._lowest)

    @cached_property
    def open_topics(self) -> Ints:
        """The topics with missing labels."""
        return np.unique(self.universe.pool_query[self.missing.any(axis=0)])

    # -- all measures -----------------------------------------------------------------------------------

    def compute(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values and of the differences."""
        n_topics, everything = self.universe.n_queries, np.arange(self.universe.n_queries)
        values = Interval.unknown(len(self.rankings), n_topics)
        pairs = Interval.unknown(len(self.first), n_topics)
        at_lowest = self.at_lowest
        open_topic = np.zeros(n_topics, dtype=np.bool_)
        open_topic[self.open_topics] = True
        certain = np.ones(n_topics, dtype=np.bool_)
        values.fill(np.flatnonzero(~open_topic), Interval(at_lowest, at_lowest, certain))
        if self.measure.never_falls:
            values.fill(everything, Interval(at_lowest, self._values(self._all_at(-1)), certain))
        if self._terms is not None:
            self._combine(self._terms, values, pairs)
        unknown = open_topic & ~(values.exact & pairs.exact)
        for topic, labels in self._enumerable(unknown):
            self._enumerate(topic, labels, values, pairs)
        difference = at_lowest[self.first] - at_lowest[self.second]
        pairs.fill(np.flatnonzero(~open_topic), Interval(difference, difference, certain))
        rest = np.flatnonzero(open_topic & ~pairs.exact)
        low = values.low[self.first] - values.high[self.second]
        high = values.high[self.first] - values.low[self.second]
        bounded = rest[np.isnan(pairs.low[:, rest]).any(axis=0)]
        pairs.fill(bounded, Interval(low, high, np.zeros(n_topics, dtype=np.bool_)))
        size = np.maximum(np.abs(values.high[self.first]), np.abs(values.high[self.second]))
        for bound in (pairs.low, pairs.high):
            bound[np.abs(bound) <= ROUNDING * size] = 0.0
        return values, pairs

    def _combine(self, parts: list[_TermIntervals], values: Interval, pairs: Interval) -> None:
        """Combine the intervals of terms whose missing labels are separate, topic by topic."""
        measure = self.measure
        separate = self._are_separate(parts)
        weights = np.stack([part.term.weight for part in parts])
        of_runs = [part.values for part in parts]
        if all(interval is not None for interval in of_runs) and measure.IS_INCREASING:
            known = [interval for interval in of_runs if interval is not None]
            low, high = (
                np.stack(
                    [
                        measure.combine(np.stack([getattr(interval, end)[row] for interval in known]), weights)
                        for row in range(len(self.rankings))
                    ]
                )
                for end in ("low", "high")
            )
            exact = np.all([interval.exact for interval in known], axis=0)
            topics = np.flatnonzero(separate & ~values.exact)
            values.fill(topics, Interval(low, high, exact))
        of_pairs = [part.pairs for part in parts] if measure.IS_WEIGHTED_SUM else [None]
        known = [interval for interval in of_pairs if interval is not None]
        if len(known) == len(of_pairs):
            low, high = (
                np.sum([getattr(interval, end) * w for interval, w in zip(known, weights, strict=True)], axis=0)
                for end in ("low", "high")
            )
            exact = np.all([interval.exact for interval in known], axis=0)
            pairs.fill(np.flatnonzero(separate), Interval(low, high, exact))

    @cached_property
    def _terms(self) -> list[_TermIntervals] | None:
        """The terms, or None if their weights depend on labels or there are too many label tuples."""
        terms = self.measure.terms(self._lowest) if self.measure.has_fixed_weights else []
        parts = [_TermIntervals(self, number, term) for number, term in enumerate(terms)]
        if not parts or any(part.patterns is None for part in parts):
            return None
        return parts

    def _are_separate(self, parts: list[_TermIntervals]) -> Bools:
        """Return a mask of the topics in which no missing label matters to several terms."""
        readers = np.zeros((len(self.names), self.universe.n_queries), dtype=np.intp)
        for part in parts:
            for row in part.aspects:
                matters = self.missing[row] & part.is_open
                topics = np.unique(self.universe.pool_query[matters])
                readers[row, topics] += 1
        return np.asarray((readers <= 1).all(axis=0), dtype=np.bool_)

    # -- enumeration ------------------------------------------------------------------------------------

    def _enumerable(self, unknown: Bools) -> Iterator[tuple[int, list[tuple[str, int]]]]:
        """Yield topics with few completions, and their missing labels as aspects and rows."""
        total = 0
        for topic in np.flatnonzero(unknown).tolist():
            rows = np.flatnonzero(self.universe.pool_query == topic)
            holes = [
                (name, row)
                for name, missing in zip(self.names, self.missing, strict=True)
                for row in rows[missing[rows]].tolist()
            ]
            number = prod(len(self.grades[name]) for name, _ in holes)
            if number <= MOST_OF_TOPIC and total + number <= MOST_OF_ALL:
                total += number
                yield topic, holes

    def _enumerate(self, topic: int, holes: list[tuple[str, int]], values: Interval, pairs: Interval) -> None:
        completions = np.array(list(product(*(self.grades[name] for name, _ in holes))))
        depths = [int(run.hits.n_ret[topic]) for run in self.rankings]
        if len(completions) * max(depths) > _MOST_ROWS:
            return
        rows = np.flatnonzero(self.universe.pool_query == topic)
        lowest = self.lowest_labels(rows)
        labels = {name: np.tile(label, (len(completions), 1)) for name, label in lowest.items()}
        for column, (name, row) in enumerate(holes):
            labels[name][:, row - rows[0]] = completions[:, column]
        table = self.values_of_copies(np.array([topic]), labels)[:, :, 0]
        differences = table[self.first] - table[self.second]
        for interval, rows_of in ((values, table), (pairs, differences)):
            if len(rows_of):
                interval.low[:, topic], interval.high[:, topic] = rows_of.min(axis=1), rows_of.max(axis=1)
            interval.exact[topic] = True


class _TermIntervals:
    """The intervals of one term: a base on gains that depend on the labels of a document only."""

    def __init__(self, owner: LabelIntervals, number: int, term: Term) -> None:
        self.owner, self.number, self.term = owner, number, term
        read = term.aspects or tuple(owner.names)
        self.aspects = [owner.names.index(name) for name in read]
        self.base = term.base
        self.form = term.base.additive(term.target)

    @cached_property
    def patterns(self) -> tuple[Ints, Floats, list[Ints]] | None:
        """The label tuples that documents may have: the pattern of each document, tuples, and those of patterns."""
        owner = self.owner
        labels = np.stack([owner.labels[owner.names[row]] for row in self.aspects], axis=1)
        distinct, pattern = np.unique(np.where(np.isnan(labels), np.inf, labels), axis=0, return_inverse=True)
        options = [
            [
                owner.grades[owner.names[row]] if np.isinf(label) else [label]
                for row, label in zip(self.aspects, known, strict=True)
            ]
            for known in distinct
        ]
        if sum(prod(map(len, option)) for option in options) > _MOST_TUPLES:
            return None
        tuples = [np.array(list(product(*option)), dtype=np.float64) for option in options]
        ends = np.cumsum([0, *map(len, tuples)])
        members = [np.arange(start, end) for start, end in pairwise(ends.tolist())]
        return np.asarray(pattern.reshape(-1), dtype=np.intp), np.concatenate(tuples), members

    @cached_property
    def _gains(self) -> Floats:
        """The gain of each tuple, all in the same unit."""
        owner = self.owner
        assert self.patterns is not None
        tuples = self.patterns[1]
        frame = pd.DataFrame({"query_id": "q", "doc_id": [f"d{row:07d}" for row in range(len(tuples))]})
        frame = frame.assign(**dict.fromkeys(owner.universe.label_names, np.nan))
        for row, name in enumerate(owner.names):
            column = self.aspects.index(row) if row in self.aspects else None
            frame[name] = owner.grades[name][0] if column is None else tuples[:, column]
        judged = Judgments(frame)
        judged.infer_scales_from(owner.universe)
        term = owner.measure.terms(judged)[self.number]
        form = term.base.additive(term.target)
        gain = form.gain if isinstance(form, Linear) else term.base.gain(term.target)
        position = pd.Index(judged.docnos).get_indexer(pd.Index(frame["doc_id"]))
        return np.asarray(gain, dtype=np.float64)[position]

    @cached_property
    def _attainable(self) -> tuple[Floats, Bools]:
        """All gains, with 0, and a mask of those that each pattern can have."""
        assert self.patterns is not None
        levels = np.unique(np.append(self._gains, 0.0))
        code = np.searchsorted(levels, self._gains)
        allowed = np.zeros((len(self.patterns[2]), len(levels)), dtype=np.bool_)
        for row, members in enumerate(self.patterns[2]):
            allowed[row, code[members]] = True
        return levels, allowed

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the documents whose gain is not known."""
        assert self.patterns is not None
        several: Bools = self._attainable[1].sum(axis=1) > 1
        return several[self.patterns[0]]

    @cached_property
    def _linear(self) -> Linear | None:
        """The form, if gains determine it: with a constant norm, or that of an ideal ranking."""
        form = self.form
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
            interval = self._of_sums[0]
            for end in (interval.low, interval.high):
                np.clip(end, None, self.base.RANGE[1], out=end)
            return interval
        return self._by_number() if self.base.PREFERS_EARLY else None

    @property
    def pairs(self) -> Interval | None:
        """The intervals of the pairs, of measures that are weighted sums of terms."""
        return None if self._linear is None else self._of_sums[1]

    @cached_property
    def _of_sums(self) -> tuple[Interval, Interval]:
        """The intervals of the runs and the pairs, of which equal ones are computed once."""
        owner, discounts = self.owner, self._discounts
        assert self.patterns is not None
        allowed = self._attainable[1][self.patterns[0]]
        n_topics = owner.universe.n_queries
        n_pairs = len(owner.first) if owner.measure.IS_WEIGHTED_SUM else 0
        ends = np.searchsorted(owner.universe.pool_query, np.arange(n_topics + 1))
        result = Interval.unknown(len(discounts), n_topics), Interval.unknown(n_pairs, n_topics)
        for topic in owner.open_topics.tolist():
            documents = np.arange(*ends[topic : topic + 2])
            has_weight = discounts[:, documents].any(axis=0)
            runs = discounts[:, documents[has_weight]]
            run = pd.factorize(np.array([row.tobytes() for row in runs], dtype=object))[0]
            runs = runs[np.unique(run, return_index=True)[1]]
            codes = run[owner.first[:n_pairs]] * len(runs) + run[owner.second[:n_pairs]]
            code, pair = np.unique(codes, return_inverse=True)
            weights = np.concatenate([runs, runs[code // len(runs)] - runs[code % len(runs)]])
            sets = allowed[np.append(documents[has_weight], documents[~has_weight])]
            low, high, exact = self._extremes(topic, weights, sets)
            for interval, row in zip(result, (run, len(runs) + pair), strict=True):
                interval.low[:, topic], interval.high[:, topic] = low[row], high[row]
                interval.exact[topic] = exact[row].all()
        return result

    def _extremes(self, topic: int, weights: Floats, sets: Bools) -> tuple[Floats, Floats, Bools]:
        """Return the extremes of weighted sums of a topic's gains, the first documents of which have a weight."""
        assert self._linear is not None
        used: Bools = np.append(True, sets[:, 1:].any(axis=0))
        levels, sets, ideal = self._attainable[0][used], sets[:, used], self._linear.ideal
        rank = np.arange(1, len(sets) + 1)
        if ideal is None:
            gains = AttainableGains(levels, sets[: weights.shape[1]], np.zeros(weights.shape[1]))
            norm = 1.0 if self._linear.norm is None else float(self._linear.norm[topic])
            up, down = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
            low, high = levels[gains.lowest], levels[gains.highest]
            low, high = (up @ low + down @ high) / norm, (up @ high + down @ low) / norm
            return low + 0.0, high, np.ones(len(weights), dtype=np.bool_)
        discounts = np.where(rank <= (ideal.depth or len(rank)), ideal.discount(rank), 0.0)
        found = highest_ratios(np.concatenate([weights, -weights]), AttainableGains(levels, sets, discounts))
        high, low = np.split(found.value, 2)
        return 0.0 - low, high, np.logical_and(*np.split(found.exact, 2))  # no negative zeros

    def _by_number(self) -> Interval:
        """Return the extremes over the numbers of relevant documents without labels, the first or the last ones."""
        owner = self.owner
        assert self.patterns is not None
        pattern, tuples, members = self.patterns
        positive = self._gains > 0
        yes = np.array([rows[positive[rows].argmax()] for rows in members])[pattern]
        no = np.array([rows[positive[rows].argmin()] for rows in members])[pattern]
        n_topics, query = owner.universe.n_queries, owner.universe.pool_query
        result = Interval(
            np.full((len(owner.rankings), n_topics), np.inf),
            np.full((len(owner.rankings), n_topics), -np.inf),
            np.ones(n_topics, dtype=np.bool_),
        )
        for row, run in enumerate(owner.rankings):
            rank = np.full(len(query), np.iinfo(np.intp).max)
            rank[run.hits.row] = run.hits.rank
            opened = np.flatnonzero(self.is_open)
            opened = opened[np.lexsort((rank[opened], query[opened]))]
            size = np.bincount(query[opened], minlength=n_topics)
            place = np.arange(len(opened)) - (np.cumsum(size) - size)[query[opened]]
            for number in range(int(size.max(initial=0)) + 1):
                ends = (result.high, place < number), (result.low, place >= size[query[opened]] - number)
                for end, chosen in ends:
                    code = np.where(self.is_open, no, yes)
                    code[opened[chosen]] = yes[opened[chosen]]
                    value = self._evaluate(run, tuples[code])
                    better = np.maximum if end is result.high else np.minimum
                    end[row] = better(end[row], value)
        return result

    def _evaluate(self, run: Rankings, labels: Floats) -> Floats:
        owner = self.owner
        lowest = {name: np.full(len(labels), owner.grades[name][0]) for name in owner.names}
        chosen = {owner.names[row]: labels[:, column] for column, row in enumerate(self.aspects)}
        judged = owner.complete({**lowest, **chosen})
        term = owner.measure.terms(judged)[self.number]
        return term.base.values(run.with_judgments(judged), term.target)
