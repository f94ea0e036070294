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
        """Return an interval whose ends are NaN, to be filled."""
        ends = np.full((2, n_rows, n_topics), np.nan)
        is_exact = np.full(n_topics, exact)
        return cls(ends, is_exact)

    def columns(self) -> dict[str, Any]:
        """Return the columns ``low high exact``: the means of the ends over topics, one per row.

        Means that are rounding errors become 0.
        """
        largest_of_topic = np.abs(self.ends).max(axis=0)  # rows × topics
        size = largest_of_topic.mean(axis=1)
        means = self.ends.mean(axis=2)  # 2 × rows
        is_rounding_error = np.abs(means) <= ROUNDING * size
        low, high = np.where(is_rounding_error, 0.0, means)
        is_known = ~np.isnan(low)
        exact = self.exact.all() & is_known
        return {"low": low, "high": high, "exact": exact}

    def fill(self, is_filled: Bools, ends: Floats, exact: Bools) -> None:
        """Replace the ends of some topics, and whether they are exact.

        Parameters
        ----------
        is_filled : ndarray of bool, shape (n_topics,)
            A mask of the topics.
        ends : ndarray, 2 × rows × topics
            The ends of all topics, of which the others are not used.
        exact : ndarray of bool, shape (n_topics,)
            Whether the ends are attained.
        """
        self.ends[..., is_filled] = ends[..., is_filled]
        self.exact[is_filled] = exact[is_filled]

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
        #: The grades of each aspect, from the lowest.
        self.grades = [view.scale.grades for view in self.views]
        #: The lowest and the highest grade, aspects × 1.
        self.lowest = np.array([[grades[0]] for grades in self.grades])
        self.highest = np.array([[grades[-1]] for grades in self.grades])
        #: The labels, aspects × documents; NaN if missing.
        self.labels = np.stack([view.label for view in self.views])

    @cached_property
    def ideal_documents(self) -> str:
        """The documents of the ideal rankings; all judged ones if the measure states none."""
        stated = self.measure.stated.ideal_documents
        if stated is None:
            return "judged"
        check = choice("ideal_documents", "judged", "ranks", "retrieved", "separate")
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

        Those of documents that a gate excludes do not matter.
        """
        is_missing = np.isnan(self.labels)
        if not self._terms:
            return is_missing
        matters_to_term = [part.matters for part in self._terms]
        matters = np.any(matters_to_term, axis=0)
        return np.asarray(is_missing & matters)

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
        """Return the intervals of values and differences that the measure's statements imply.

        The ends of other topics are NaN.
        """
        n_topics = self.universe.n_queries
        values = Interval.unknown(len(self.rankings), n_topics)
        differences = Interval.unknown(len(self.first), n_topics)
        self._fill_by_labels(values, differences)
        if not self._terms:
            return values, differences
        if self.ideal_documents == "separate":
            self._divide_sums(values)
        else:
            self._combine(values, differences)
        return values, differences

    def _fill_by_labels(self, values: Interval, differences: Interval) -> None:
        """Fill the ends that follow from the values of the lowest and of the highest labels."""
        has_all_labels = ~self.is_open
        is_exact = np.ones(len(has_all_labels), dtype=np.bool_)
        lowest = self.at_lowest  # runs × topics
        # Without missing labels, there is one value, which is both ends.
        difference = lowest[self.first] - lowest[self.second]
        differences.fill(has_all_labels, np.stack([difference, difference]), is_exact)
        if not self.measure.stated.never_falls_with_labels:
            values.fill(has_all_labels, np.stack([lowest, lowest]), is_exact)
            return
        highest_labels = np.where(np.isnan(self.labels), self.highest, self.labels)
        highest = self._values(self.complete(highest_labels))
        all_topics = np.ones_like(has_all_labels)
        values.fill(all_topics, np.stack([lowest, highest]), is_exact)

    def compute(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values and of the differences."""
        values, differences = self.stated()
        is_exact = values.exact & differences.exact
        self.enumerate(self.is_open & ~is_exact, values, differences)
        self._bound_differences(values, differences)
        return values, differences

    def _bound_differences(self, values: Interval, differences: Interval) -> None:
        """Fill unknown differences with bounds from the values, and set rounding errors to 0."""
        low, high = values.ends  # runs × topics each
        low_of_first = low[self.first]
        low_of_second = low[self.second]
        high_of_first = high[self.first]
        high_of_second = high[self.second]
        # The labels that are the best for one run need not be the worst for the other: not exact.
        lowest = low_of_first - high_of_second
        highest = high_of_first - low_of_second
        has_unknown_ends = np.isnan(differences.ends[0]).any(axis=0)
        needs_bounds = ~differences.exact & has_unknown_ends
        not_exact = np.zeros_like(differences.exact)
        differences.fill(needs_bounds, np.stack([lowest, highest]), not_exact)
        size = np.maximum(np.abs(high_of_first), np.abs(high_of_second))
        is_rounding_error = np.abs(differences.ends) <= ROUNDING * size
        differences.ends[is_rounding_error] = 0.0

    def _divide_sums(self, values: Interval) -> None:
        """Fill the intervals of sums over terms, divided by the sum of the terms' ideals.

        The ideal rankings are those of the retrieved documents.
        """
        _, highest_value = self.measure.range
        for topic in np.flatnonzero(self.is_open).tolist():
            for row, run in enumerate(self.rankings):
                is_of_topic = run.hits.query == topic
                documents = run.hits.row[is_of_topic]
                gains = []
                for part in self._terms:
                    gains.append(part.attainable_gains(documents, len(documents)))
                discounts = gains[0].discounts  # the same ones for all terms
                low_and_high = shared_ratios(discounts, gains)
                values.ends[:, row, topic] = np.minimum(low_and_high, highest_value)
        values.exact[self.is_open] = True

    def _combine(self, values: Interval, differences: Interval) -> None:
        """Fill topics whose missing labels are separate with the combined intervals of the terms.

        Labels are separate if none matters to several terms, so that all terms can be at their
        extremes together.
        """
        missing_by_term = [self.missing & part.matters for part in self._terms]
        n_terms_of_label = np.sum(missing_by_term, axis=0)  # aspects × documents
        has_shared_label = (n_terms_of_label > 1).any(axis=0)
        is_separate = self.is_open.copy()
        is_separate[self.universe.pool_query[has_shared_label]] = False
        values_of_terms = []
        differences_of_terms = []
        for part in self._terms:
            values_of_term, differences_of_term = part.intervals()
            values_of_terms.append(values_of_term)
            differences_of_terms.append(differences_of_term)
        # A difference of combined values is that of the terms only if they are added.
        if self.measure.stated.never_falls_with_terms:
            self._combine_terms(values, values_of_terms, is_separate)
        if self.measure.stated.is_weighted_sum:
            self._combine_terms(differences, differences_of_terms, is_separate)

    def _combine_terms(
        self, combined: Interval, intervals: Sequence[Interval | None], is_separate: Bools
    ) -> None:
        """Fill an interval with the combined ends of all terms, if all terms are known.

        Parameters
        ----------
        combined : Interval
            The interval of the measure, whose exact topics are kept.
        intervals : sequence of Interval or None
            The interval of each term, None if not known.
        is_separate : ndarray of bool, shape (n_topics,)
            A mask of the topics to fill.
        """
        known = [interval for interval in intervals if interval is not None]
        if len(known) < len(intervals):
            return
        weights = np.stack([part.term.weight for part in self._terms])  # terms × topics
        ends = np.stack([interval.ends for interval in known])  # terms × 2 × rows × topics
        n_terms, _, n_rows, _ = ends.shape
        # `combine` takes terms × values: here, a value per end, row and topic.
        flat_ends = ends.reshape(n_terms, -1)
        flat_weights = np.tile(weights, 2 * n_rows)
        flat_combined = self.measure.combine(flat_ends, flat_weights)
        combined_ends = flat_combined.reshape(ends.shape[1:])
        is_exact = np.all([interval.exact for interval in known], axis=0)
        is_filled = is_separate & ~combined.exact
        combined.fill(is_filled, combined_ends, is_exact)

    @cached_property
    def _terms(self) -> list[_TermIntervals]:
        """The intervals of the terms; empty if none are stated, or one has too many label tuples."""
        terms: list[_TermIntervals] = []
        is_missing = np.isnan(self.labels)
        # Infinity marks missing labels, as `np.unique` takes each NaN for another label.
        marked_labels = np.where(is_missing, np.inf, self.labels)
        for number, term in enumerate(self.label_terms(self._lowest)):
            names = term.aspects or self.names  # a term without aspects reads all
            is_read = np.array([name in names for name in self.names])
            # Aspects that the term does not read have one label, so that they add no patterns.
            labels = np.where(is_read[:, None], marked_labels, self.lowest)
            patterns, pattern = np.unique(labels.T, axis=0, return_inverse=True)
            if self._number_of_tuples(patterns) > _MOST_TUPLES:
                return []
            pattern_of_document = pattern.reshape(-1)
            terms.append(_TermIntervals(self, number, term, is_read, patterns, pattern_of_document))
        return terms

    def _number_of_tuples(self, patterns: Floats) -> float:
        """Return the number of label tuples that some patterns of known labels allow together.

        Parameters
        ----------
        patterns : ndarray, patterns × aspects
            The known labels; infinity is a missing one.
        """
        n_grades = [float(len(grades)) for grades in self.grades]
        n_labels = np.where(np.isinf(patterns), n_grades, 1.0)
        n_tuples = n_labels.prod(axis=1)  # one per pattern; floats, as they may be huge
        return float(n_tuples.sum())

    def enumerate(self, is_chosen: Bools, values: Interval, differences: Interval) -> None:
        """Evaluate all completions of the chosen topics that have few, and fill their extremes."""
        n_enumerated = 0
        for topic in np.flatnonzero(is_chosen).tolist():
            rows = np.flatnonzero(self.universe.pool_query == topic)
            missing = self.missing[:, rows]  # aspects × documents of the topic
            aspects, _ = np.nonzero(missing)
            grades_of_missing = [self.grades[aspect] for aspect in aspects]
            n_completions = prod(map(len, grades_of_missing))
            # Skip topics that would take too long.
            n_allowed = min(MOST_OF_TOPIC, MOST_OF_ALL - n_enumerated)
            n_ranked = max(int(run.hits.n_ret[topic]) for run in self.rankings)
            n_rows = n_completions * n_ranked
            if n_completions > n_allowed or n_rows > _MOST_ROWS:
                continue
            n_enumerated += n_completions
            # completions × aspects × documents
            labels = np.repeat(self.lowest_labels[None, :, rows], n_completions, axis=0)
            labels[:, missing] = list(product(*grades_of_missing))
            values_of_topic = self.values_of_copies(np.array([topic]), labels)
            values_of_runs = values_of_topic[:, :, 0]  # runs × completions
            values.fill_topic(topic, values_of_runs)
            differences_of_pairs = values_of_runs[self.first] - values_of_runs[self.second]
            differences.fill_topic(topic, differences_of_pairs)


@dataclass(frozen=True, eq=False)
class _SharedIdeal:
    """Runs that share an ideal ranking of one topic."""

    #: The positions of the runs.
    runs: Ints
    #: The documents of the ideal ranking, and its depth.
    documents: Ints
    depth: int | None


@dataclass(frozen=True, eq=False)
class _Comparisons:
    """Pairs of rankings, and the discounts by which their weighted sums differ."""

    #: rankings × documents; 0 for documents that a ranking does not retrieve. The last ranking
    #: retrieves nothing.
    discounts: Floats
    #: The rankings of each pair.
    first: Ints
    second: Ints


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
        tuples_of_pattern = [_label_tuples(known, owner.grades) for known in patterns.tolist()]
        #: The label tuples of documents with the first pattern, then with the second, and so on.
        self.tuples = np.concatenate(tuples_of_pattern)
        n_tuples = [len(tuples) for tuples in tuples_of_pattern]
        self.pattern_of_tuple = np.repeat(np.arange(len(patterns)), n_tuples)
        #: The gain of each tuple.
        self.gains = self._gains_of_tuples()
        #: The distinct gains, and 0, increasing.
        self.levels = np.unique(np.append(self.gains, 0.0))
        #: A mask of the levels that documents with each pattern can have, patterns × levels.
        self.allowed = np.zeros((len(patterns), len(self.levels)), dtype=np.bool_)
        level_of_tuple = np.searchsorted(self.levels, self.gains)
        self.allowed[self.pattern_of_tuple, level_of_tuple] = True
        #: A mask of the documents whose gain is not known.
        has_several_gains = self.allowed.sum(axis=1) > 1
        self.is_open = has_several_gains[pattern]

    def _gains_of_tuples(self) -> Floats:
        """Return the gain of each label tuple, all in the same unit."""
        universe = self.owner.universe
        # All tuples are documents of one topic, so that their gains have the same unit.
        first_document = np.zeros(len(self.tuples), dtype=np.intp)
        first_topic = np.zeros(len(self.tuples), dtype=np.intp)
        qids = np.array(["q"], dtype=object)
        labels = dict(zip(self.owner.names, self.tuples.T, strict=True))
        judgments = universe.with_copies(first_document, first_topic, qids, labels)
        target = self._term(judgments).target
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
        """The base as a weighted sum of gains; None if gains do not determine its extremes."""
        form = self.base.additive(self.term.target)
        if not isinstance(form, Linear):
            return None
        has_depth_per_topic = isinstance(form.depth, np.ndarray)
        has_negative_gains = (self.gains < 0).any()
        if has_depth_per_topic or has_negative_gains:
            return None
        # A norm that is neither that of an ideal ranking nor constant changes with the labels.
        has_other_norm = form.ideal is None and form.norm is not None
        if has_other_norm and not self.base.stated.has_constant_norm:
            return None
        return form

    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """Return the intervals of the runs and of the pairs, None where they are not known.

        Pairs are only computed if the measure is a weighted sum.
        """
        if self.linear is not None:
            return self._intervals_of_sums(self.linear)
        if not self.base.stated.prefers_early:
            return None, None
        if isinstance(self.base, Counting):
            return self._by_count(self.base), None
        return self._by_number(), None

    # -- weighted sums of gains
    # -----------------------------------------------------------------------------------

    def _intervals_of_sums(self, form: Linear) -> tuple[Interval, Interval]:
        """Return the intervals of the runs' weighted sums, and of the differences of pairs."""
        owner = self.owner
        n_runs = len(owner.rankings)
        n_topics = owner.universe.n_queries
        comparisons = self._comparisons(form)
        n_comparisons = len(comparisons.first)
        ends = np.full((2, n_comparisons, n_topics), np.nan)
        exact = np.zeros((n_comparisons, n_topics), dtype=np.bool_)
        # Documents are sorted by topic.
        starts = np.searchsorted(owner.universe.pool_query, np.arange(n_topics + 1))
        for topic in np.flatnonzero(owner.is_open).tolist():
            documents = np.arange(starts[topic], starts[topic + 1])
            is_hit = comparisons.discounts[:n_runs, documents] > 0
            for ideal in self._shared_ideals(form, documents, is_hit):
                rows, extremes, is_exact = self._extremes_of_differences(
                    form, topic, ideal, comparisons
                )
                ends[:, rows, topic] = extremes
                exact[rows, topic] = is_exact
        ends_of_runs = ends[:, :n_runs]  # a view, of which rounding errors above the range are cut
        np.minimum(ends_of_runs, self.base.RANGE[1], out=ends_of_runs)
        is_exact_for_runs = np.logical_and.reduce(exact[:n_runs])
        is_exact_for_pairs = np.logical_and.reduce(exact[n_runs:])
        values = Interval(ends_of_runs, is_exact_for_runs)
        differences = Interval(ends[:, n_runs:], is_exact_for_pairs)
        return values, differences

    def _comparisons(self, form: Linear) -> _Comparisons:
        """Return the comparison of each run with one that retrieves nothing, then those of pairs.

        The value of a run is its difference to a run that retrieves nothing. Pairs are only
        compared if the measure is a weighted sum.
        """
        owner = self.owner
        n_runs = len(owner.rankings)
        discounts = np.zeros((n_runs + 1, len(owner.universe)))
        for row, run in enumerate(owner.rankings):
            discounts[row, run.hits.row] = form.discounts(run.hits.rank, run.hits.query)
        runs = np.arange(n_runs)
        empty_run = np.full(n_runs, n_runs)  # the last row of the discounts
        if not owner.measure.stated.is_weighted_sum:
            return _Comparisons(discounts, runs, empty_run)
        first = np.append(runs, owner.first)
        second = np.append(empty_run, owner.second)
        return _Comparisons(discounts, first, second)

    def _shared_ideals(
        self, form: Linear, documents: Ints, is_hit: Bools
    ) -> Iterator[_SharedIdeal]:
        """Yield the distinct ideal rankings of a topic, with the runs that each belongs to.

        Parameters
        ----------
        form : Linear
            The weighted sum.
        documents : ndarray of int
            All documents of the topic.
        is_hit : ndarray of bool, runs × documents
            Whether each run retrieves them.
        """
        kind = self.owner.ideal_documents
        if kind == "judged":
            all_runs = np.arange(len(is_hit))
            if form.ideal is None:
                depth = None
            else:
                depth = form.ideal.depth
            yield _SharedIdeal(all_runs, documents, depth)
            return
        # Runs with as many hits, or with the same hits, have the same ideal.
        n_hits = is_hit.sum(axis=1)
        keys: Ints | Bools = is_hit
        if kind == "ranks":
            keys = n_hits[:, None]
        for key in np.unique(keys, axis=0):
            has_key = (keys == key).all(axis=1)
            runs = np.flatnonzero(has_key)
            first_run = runs[0]
            if kind == "retrieved":
                ideal_documents = documents[is_hit[first_run]]
            else:
                ideal_documents = documents
            yield _SharedIdeal(runs, ideal_documents, int(n_hits[first_run]))

    def _extremes_of_differences(
        self, form: Linear, topic: int, ideal: _SharedIdeal, comparisons: _Comparisons
    ) -> tuple[Ints, Floats, Bools]:
        """Return the comparisons of runs with this ideal, and the extremes of their differences.

        Returns
        -------
        rows : ndarray of int, shape (n_rows,)
            The positions of these comparisons.
        extremes : ndarray, 2 × n_rows
        is_exact : ndarray of bool, shape (n_rows,)
            Whether the extremes are attained.
        """
        n_rankings = len(comparisons.discounts)
        empty_run = n_rankings - 1  # which has every ideal
        rankings = np.append(ideal.runs, empty_run)
        discounts = comparisons.discounts[np.ix_(rankings, ideal.documents)]
        has_weight = discounts.any(axis=0)
        # Rankings with the same discounts have the same differences, which are computed once.
        distinct, number = np.unique(discounts[:, has_weight], axis=0, return_inverse=True)
        number_of_ranking = np.full(n_rankings, -1)  # −1: with another ideal
        number_of_ranking[rankings] = number.reshape(-1)
        number_of_first = number_of_ranking[comparisons.first]
        number_of_second = number_of_ranking[comparisons.second]
        has_ideal = (number_of_first >= 0) & (number_of_second >= 0)
        rows = np.flatnonzero(has_ideal)
        # One code per pair of numbers.
        n_distinct = len(distinct)
        codes = number_of_first[rows] * n_distinct + number_of_second[rows]
        code, position = np.unique(codes, return_inverse=True)
        first, second = np.divmod(code, n_distinct)
        weights = distinct[first] - distinct[second]  # differences × documents with a weight
        with_weight = ideal.documents[has_weight]
        without_weight = ideal.documents[~has_weight]
        documents = np.append(with_weight, without_weight)
        gains = self.attainable_gains(documents, ideal.depth)
        if form.ideal is not None:
            extremes, is_exact = _extremes_of_ratios(weights, gains)
        else:
            extremes = _extremes_of_sums(form, topic, weights, gains)
            is_exact = np.ones(len(weights), dtype=np.bool_)
        return rows, extremes[:, position], is_exact[position]

    def attainable_gains(self, documents: Ints, depth: int | None) -> AttainableGains:
        """Return the gains of documents of a topic, and the discounts of its ideal ranking.

        The depth is that of the ideal ranking, None for all documents.
        """
        allowed = self.allowed[self.pattern[documents]]  # documents × levels
        # Leave out levels that no document can have, but keep the first, which is 0.
        is_used: Bools = np.asarray(allowed.any(axis=0))
        is_used[0] = True
        levels = self.levels[is_used]
        allowed = allowed[:, is_used]
        n_documents = len(documents)
        if self.linear is None or self.linear.ideal is None:
            return AttainableGains(levels, allowed, np.zeros(n_documents))
        rank = np.arange(1, n_documents + 1)
        if depth is None:
            depth = n_documents
        discounts = np.where(rank <= depth, self.linear.ideal.discount(rank), 0.0)
        return AttainableGains(levels, allowed, discounts)

    # -- bases that prefer relevant documents early
    # -----------------------------------------------------------------------------------

    def _by_count(self, base: Counting) -> Interval:
        """Return the extremes of a base that depends on the relevant documents' ranks only."""
        owner = self.owner
        n_topics = owner.universe.n_queries
        query = owner.universe.pool_query
        can_be_without_gain = self.allowed[self.pattern, 0]
        is_relevant = ~can_be_without_gain & ~self.is_open  # whose label is known
        may_be_relevant = is_relevant | self.is_open
        n_relevant = np.bincount(query[is_relevant], minlength=n_topics)
        n_open = np.bincount(query[self.is_open], minlength=n_topics)
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for row, run in enumerate(owner.rankings):
            hits = run.hits.select(may_be_relevant[run.hits.row])
            is_open = self.is_open[hits.row]
            # Hits are sorted by topic.
            starts = np.searchsorted(hits.query, np.arange(n_topics + 1))
            for topic in np.flatnonzero(owner.is_open).tolist():
                hits_of_topic = slice(starts[topic], starts[topic + 1])
                is_open_hit = is_open[hits_of_topic]
                n_open_hits = int(is_open_hit.sum())
                n_relevant_hits = len(is_open_hit) - n_open_hits
                documents = RetrievedDocuments(
                    run=run,
                    source=self.term.target.source,
                    rank=hits.rank[hits_of_topic],
                    n_ret=int(hits.n_ret[topic]),
                    is_open=is_open_hit,
                    n_relevant_others=int(n_relevant[topic]) - n_relevant_hits,
                    n_open_others=int(n_open[topic]) - n_open_hits,
                )
                result.ends[:, row, topic] = extremes_by_number(base, documents)
        return result

    def _by_number(self) -> Interval:
        """Return the extremes of a base that prefers relevant documents early.

        For each number of relevant documents among those without labels, two cases are evaluated:
        the first of these in the ranking are relevant, or the last ones.
        """
        owner = self.owner
        query = owner.universe.pool_query
        n_topics = owner.universe.n_queries
        opened = np.flatnonzero(self.is_open)
        n_open = np.bincount(query[opened], minlength=n_topics)
        highest_number = int(n_open.max(initial=0))
        result = Interval.unknown(len(owner.rankings), n_topics, exact=True)
        for row, run in enumerate(owner.rankings):
            low, high = result.ends[:, row]  # views, which are filled
            # Documents that are not retrieved come after all others.
            rank = np.full(len(query), np.iinfo(np.intp).max)
            rank[run.hits.row] = run.hits.rank
            by_topic_and_rank = np.lexsort((rank[opened], query[opened]))
            documents = opened[by_topic_and_rank]
            topic = query[documents]
            n_above = positions(topic)  # open documents of the topic above each document
            n_below = n_open[topic] - n_above - 1
            for number in range(highest_number + 1):
                for n_before in (n_above, n_below):
                    is_relevant = n_before < number
                    values = self._values_by_relevant(run, documents[is_relevant])
                    # Values that are NaN are no extremes.
                    np.fmin(low, values, out=low)
                    np.fmax(high, values, out=high)
        return result

    def _values_by_relevant(self, run: Rankings, relevant: Ints) -> Floats:
        """Return the value of each topic if, of the documents without labels, these are relevant."""
        relevant_tuple, other_tuple = self._tuples_of_documents
        tuple_of_document = other_tuple.copy()
        tuple_of_document[relevant] = relevant_tuple[relevant]
        labels = self.tuples[tuple_of_document]  # documents × aspects
        judgments = self.owner.complete(labels.T)
        term = self._term(judgments)
        judged_run = run.with_judgments(judgments)
        return term.base.values(judged_run, term.target)

    @cached_property
    def _tuples_of_documents(self) -> tuple[Ints, Ints]:
        """A relevant label tuple of each document, and one that is not relevant.

        Both are the same for documents that have only one kind.
        """
        patterns = np.arange(len(self.allowed))
        first_tuple = np.searchsorted(self.pattern_of_tuple, patterns)
        relevant_tuples = np.flatnonzero(self.gains > 0)
        other_tuples = np.flatnonzero(self.gains <= 0)
        # The first tuple remains for patterns without a tuple of the kind.
        relevant_tuple = first_tuple.copy()
        relevant_tuple[self.pattern_of_tuple[relevant_tuples]] = relevant_tuples
        other_tuple = first_tuple.copy()
        other_tuple[self.pattern_of_tuple[other_tuples]] = other_tuples
        return relevant_tuple[self.pattern], other_tuple[self.pattern]


def _extremes_of_ratios(weights: Floats, gains: AttainableGains) -> tuple[Floats, Bools]:
    """Return the extremes of weighted sums of gains that are divided by that of the ideal ranking.

    Parameters
    ----------
    weights : ndarray, sums × weighted documents
    gains : AttainableGains
        The gains of the weighted documents, then of others, which matter to the ideal only.

    Returns
    -------
    extremes : ndarray, 2 × sums
    is_exact : ndarray of bool, shape (n_sums,)
        Whether both extremes are attained.
    """
    # The lowest ratio is minus the highest one with negative weights.
    both_signs = np.concatenate([-weights, weights])
    maxima, is_maximum = highest_ratios(both_signs, gains)
    highest_of_negative, highest = maxima.reshape(2, -1)
    lowest = 0.0 - highest_of_negative  # no negative zeros
    exact_lowest, exact_highest = is_maximum.reshape(2, -1)
    return np.stack([lowest, highest]), np.logical_and(exact_lowest, exact_highest)


def _extremes_of_sums(form: Linear, topic: int, weights: Floats, gains: AttainableGains) -> Floats:
    """Return the extremes of weighted sums of gains with a constant norm, 2 × sums.

    `weights` are sums × weighted documents, which are the first ones of the gains.
    """
    n_weighted = weights.shape[1]
    lowest_gain = gains.levels[gains.lowest[:n_weighted]]
    highest_gain = gains.levels[gains.highest[:n_weighted]]
    # Documents with a negative weight have the opposite gain at each extreme.
    positive = np.maximum(weights, 0.0)
    negative = np.minimum(weights, 0.0)
    lowest = positive @ lowest_gain + negative @ highest_gain
    highest = positive @ highest_gain + negative @ lowest_gain
    if form.norm is None:
        norm = 1.0
    else:
        norm = float(form.norm[topic])
    return np.stack([lowest, highest]) / norm + 0.0  # no negative zeros


def _label_tuples(known: Sequence[float], grades: Sequence[Floats]) -> Floats:
    """Return the label tuples of documents with a pattern of known labels, tuples × aspects.

    Infinity is a missing label, which can be each grade of its aspect.
    """
    labels_of_aspect: list[Any] = []
    for label, grades_of_aspect in zip(known, grades, strict=True):
        is_missing = label == np.inf
        if is_missing:
            labels_of_aspect.append(grades_of_aspect)
        else:
            labels_of_aspect.append([label])
    return np.array(list(product(*labels_of_aspect)))
