"""Intervals of the values of one measure over all completions of missing labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from ..kernels.hits import Hits, positions
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
        shape = (2, n_rows, n_topics)
        ends = np.full(shape, np.nan)
        is_exact = np.full(n_topics, exact)
        return cls(ends, is_exact)

    @property
    def unknown_topics(self) -> Bools:
        """A mask of the topics on which any row has an unknown end."""
        is_unknown = np.isnan(self.ends)  # 2 × rows × topics
        return np.asarray(is_unknown.any(axis=(0, 1)))

    def columns(self) -> dict[str, Any]:
        """Return the columns ``low high exact`` of a table, with one element per row of the ends.

        The first two are means of the ends over topics, and the third says whether they are
        attained. Means that are rounding errors become 0.
        """
        means = self.ends.mean(axis=2)  # 2 (low and high) × rows
        # Means are rounding errors if they are tiny compared with the values that are averaged.
        magnitudes = np.abs(self.ends)
        largest_of_topics = magnitudes.max(axis=0)  # rows × topics
        largest_error = ROUNDING * largest_of_topics.mean(axis=1)
        is_rounding_error = np.abs(means) <= largest_error
        means[is_rounding_error] = 0.0
        low, high = means
        # An end that is unknown on any topic makes the mean NaN.
        is_known = ~np.isnan(low)
        # Exactness is per topic, for all rows together: one of them makes all means inexact.
        is_exact_on_all_topics = self.exact.all()
        return {"low": low, "high": high, "exact": is_known & is_exact_on_all_topics}

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
        """Replace the extremes of one topic by those of its completions, rows × completions."""
        lowest = candidates.min(axis=1)
        highest = candidates.max(axis=1)
        self.ends[0, :, topic] = lowest
        self.ends[1, :, topic] = highest
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
        #: The runs of each pair, as positions in `rankings`.
        self.first = first
        self.second = second
        #: The aspects that the measure reads, with their scales and labels.
        self.views = measure.views(universe)
        self.names = [view.name for view in self.views]
        #: The grades of each aspect, from the lowest.
        self.grades = [view.scale.grades for view in self.views]
        lowest = [grades[0] for grades in self.grades]
        highest = [grades[-1] for grades in self.grades]
        #: The lowest and the highest grade of each aspect, aspects × 1, as columns beside labels.
        self.lowest = np.array(lowest)[:, None]
        self.highest = np.array(highest)[:, None]
        #: The labels, aspects × documents; NaN if missing.
        self.labels = np.stack([view.label for view in self.views])

    @cached_property
    def ideal_documents(self) -> str:
        """The documents of the ideal rankings; all judged ones if the measure states none.

        One of 'judged', 'ranks', 'retrieved' and 'separate'.
        """
        stated = self.measure.stated.ideal_documents
        if stated is None:
            return "judged"
        check_kind = choice("ideal_documents", "judged", "ranks", "retrieved", "separate")
        kind = check_kind(stated)
        return str(kind)

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
        universe = self.universe
        has_missing = self.missing.any(axis=0)  # per document
        topics = universe.pool_query[has_missing]
        n_documents = np.bincount(topics, minlength=universe.n_queries)
        return n_documents > 0

    def complete(self, labels: Floats) -> Judgments:
        """Return the universe with other labels, aspects × documents, on the same scales."""
        universe = self.universe
        rows = {}
        for name, labels_of_aspect in zip(self.names, labels, strict=True):
            rows[name] = universe.row_values(labels_of_aspect)
        return universe.with_labels(rows, scales=universe)

    def _values(self, judgments: Judgments) -> Floats:
        """Return the values by other judgments, runs × topics."""
        values = []
        for run in self.rankings:
            judged_run = run.with_judgments(judgments)
            values.append(self.measure.evaluate(judged_run))
        return np.stack(values)

    def values_of_copies(self, topics: Ints, labels: Floats) -> Floats:
        """Return the values of copies of topics, runs × copies × topics.

        The copies of a topic have the same rankings, but different labels.

        Parameters
        ----------
        topics : ndarray of int
            The topics, increasing.
        labels : ndarray, shape (n_copies, n_aspects, n_documents)
            The labels of their documents in each copy.
        """
        labels_by_aspect = {}
        for aspect, name in enumerate(self.names):
            labels_by_aspect[name] = labels[:, aspect]  # copies × documents
        copies = TopicCopies(self.universe, topics, labels_by_aspect)
        values_of_runs = []
        for run in self.rankings:
            copied_run = copies.rankings(run)
            values_of_run = self.measure.evaluate(copied_run)  # one per copied topic
            values_of_runs.append(values_of_run)
        values = np.stack(values_of_runs)
        n_runs = len(self.rankings)
        return values.reshape(n_runs, copies.number, len(topics))

    @cached_property
    def lowest_labels(self) -> Floats:
        """The labels with all missing ones at the lowest grade, aspects × documents."""
        is_missing = np.isnan(self.labels)
        return np.where(is_missing, self.lowest, self.labels)

    @cached_property
    def _lowest(self) -> Judgments:
        """The judgments with all missing labels at the lowest grade."""
        return self.complete(self.lowest_labels)

    @cached_property
    def _highest(self) -> Judgments:
        """The judgments with all missing labels at the highest grade."""
        is_missing = np.isnan(self.labels)
        highest_labels = np.where(is_missing, self.highest, self.labels)
        return self.complete(highest_labels)

    @cached_property
    def at_lowest(self) -> Floats:
        """The values with all missing labels at the lowest grade, runs × topics."""
        return self._values(self._lowest)

    # -- all measures
    # -----------------------------------------------------------------------------------

    def stated(self) -> tuple[Interval, Interval]:
        """Return the intervals of values and differences that the measure's statements imply.

        A measure states, for instance, that its value never falls with labels, or the terms that it
        combines. Where its statements imply no interval, the ends are NaN.
        """
        values = self._values_by_labels()
        differences = self._differences_by_labels()
        # Fill further topics from the terms, in place.
        if self._terms:
            divides_sums = self.ideal_documents == "separate"
            if divides_sums:  # Σ sum of a term / Σ ideal sum of a term
                self._divide_sums(values)
            else:  # each term is divided by an ideal of its own, if by any, and then combined
                self._combine(values, differences)
        return values, differences

    def _values_by_labels(self) -> Interval:
        """Return the intervals of values that follow from the lowest and the highest labels."""
        if self.measure.stated.never_falls_with_labels:
            highest = self._values(self._highest)
            ends = np.stack([self.at_lowest, highest])
            is_exact = np.ones(self.universe.n_queries, dtype=np.bool_)
            return Interval(ends, is_exact)
        return self._interval_of_complete_topics(self.at_lowest)

    def _differences_by_labels(self) -> Interval:
        """Return the intervals of differences of pairs on topics without missing labels."""
        # On these topics, the values at the lowest labels are the only possible values.
        lowest_of_first = self.at_lowest[self.first]  # pairs × topics
        lowest_of_second = self.at_lowest[self.second]
        difference = lowest_of_first - lowest_of_second
        return self._interval_of_complete_topics(difference)

    def _interval_of_complete_topics(self, numbers: Floats) -> Interval:
        """Return an interval whose two ends are the same numbers, rows × topics.

        They are NaN on topics with missing labels.
        """
        has_missing_labels = self.is_open  # per topic
        ends = np.stack([numbers, numbers])
        ends[:, :, has_missing_labels] = np.nan
        return Interval(ends, ~has_missing_labels)

    def compute(self) -> tuple[Interval, Interval]:
        """Return the intervals of the values, and of the differences of pairs.

        Prefer what the measure states; else enumerate; else bound differences by the values.
        """
        values, differences = self.stated()
        is_exact = values.exact & differences.exact
        is_to_enumerate = self.is_open & ~is_exact
        # These two fill the intervals in place.
        self.enumerate(is_to_enumerate, values, differences)
        self._bound_differences(values, differences)
        return values, differences

    def _bound_differences(self, values: Interval, differences: Interval) -> None:
        """Fill unknown differences with bounds from the values, and set rounding errors to 0.

        Both change the intervals of differences in place.
        """
        low, high = values.ends  # runs × topics each
        low_of_first = low[self.first]  # pairs × topics
        high_of_first = high[self.first]
        low_of_second = low[self.second]
        high_of_second = high[self.second]
        # No difference is lower than the first run at its lowest minus the second at its highest.
        lowest_difference = low_of_first - high_of_second
        highest_difference = high_of_first - low_of_second
        bounds = np.stack([lowest_difference, highest_difference])
        # The labels that are the best for one run need not be the worst for the other: bounds are
        # not exact.
        not_exact = np.zeros_like(differences.exact)
        differences.fill(differences.unknown_topics, bounds, not_exact)

        # Differences are rounding errors if they are tiny compared with the values of both runs.
        size_of_first = np.abs(high_of_first)
        size_of_second = np.abs(high_of_second)
        largest_error = ROUNDING * np.maximum(size_of_first, size_of_second)
        magnitudes = np.abs(differences.ends)
        is_rounding_error = magnitudes <= largest_error
        differences.ends[is_rounding_error] = 0.0

    def _divide_sums(self, values: Interval) -> None:
        """Fill the intervals of a measure that is Σ sum of a term / Σ ideal sum of a term.

        The ideal rankings are those of the retrieved documents. Topics with missing labels are
        filled, in place; their ends are attained.
        """
        open_topics = np.flatnonzero(self.is_open)
        for topic in open_topics.tolist():
            for run_index, run in enumerate(self.rankings):
                hits = run.hits
                is_of_topic = hits.query == topic
                retrieved = hits.row[is_of_topic]  # documents in the order of the ranking
                low_and_high = self._extremes_of_shared_ratio(retrieved)
                values.ends[:, run_index, topic] = low_and_high
        values.exact[self.is_open] = True

    def _extremes_of_shared_ratio(self, retrieved: Ints) -> Floats:
        """Return the lowest and the highest value of a ranking of documents, given in its order."""
        n_retrieved = len(retrieved)
        gains_of_terms = []
        for part in self._terms:
            gains = part.attainable_gains(retrieved, n_retrieved)
            gains_of_terms.append(gains)
        # All terms have the same discounts.
        discounts = gains_of_terms[0].discounts
        extremes = shared_ratios(discounts, gains_of_terms)
        # Rounding errors must not exceed the range of the measure.
        _, highest_value = self.measure.range
        return np.minimum(extremes, highest_value)

    def _combine(self, values: Interval, differences: Interval) -> None:
        """Fill the intervals of topics with separate missing labels from those of the terms.

        Labels are separate if none matters to several terms, so that all terms can be at their
        extremes together.
        """
        values_of_terms = []
        differences_of_terms = []
        for part in self._terms:
            values_of_term, differences_of_term = part.intervals()
            values_of_terms.append(values_of_term)
            differences_of_terms.append(differences_of_term)
        is_separate = self._has_separate_labels()
        stated = self.measure.stated
        # The lowest terms give the lowest value only if the value never falls with a term.
        if stated.never_falls_with_terms:
            self._combine_terms(values, values_of_terms, is_separate)
        # The difference of two weighted sums is the weighted sum of the terms' differences. Other
        # combinations, such as a harmonic mean, have no such rule.
        if stated.is_weighted_sum:
            self._combine_terms(differences, differences_of_terms, is_separate)

    def _has_separate_labels(self) -> Bools:
        """Return a mask of the topics with missing labels that each matter to one term only."""
        n_terms_of_label = np.zeros(self.missing.shape, dtype=np.intp)  # aspects × documents
        for part in self._terms:
            n_terms_of_label += self.missing & part.matters
        is_shared = n_terms_of_label > 1
        has_shared_label = is_shared.any(axis=0)  # per document
        topics_with_shared_label = self.universe.pool_query[has_shared_label]
        is_separate = self.is_open.copy()
        is_separate[topics_with_shared_label] = False
        return is_separate

    def _combine_terms(
        self, combined: Interval, intervals: Sequence[Interval | None], is_separate: Bools
    ) -> None:
        """Fill an interval, in place, with the combined ends of all terms, if all terms are known.

        Parameters
        ----------
        combined : Interval
            The interval of the measure, whose exact topics are kept.
        intervals : sequence of Interval or None
            The interval of each term, None if not known.
        is_separate : ndarray of bool, shape (n_topics,)
            A mask of the topics to fill.
        """
        ends_of_terms = []
        is_exact_for_terms = []
        for interval in intervals:
            if interval is None:
                return
            ends_of_terms.append(interval.ends)
            is_exact_for_terms.append(interval.exact)
        combined_ends = self._combine_ends(np.stack(ends_of_terms))
        is_exact = np.all(is_exact_for_terms, axis=0)
        is_filled = is_separate & ~combined.exact
        combined.fill(is_filled, combined_ends, is_exact)

    def _combine_ends(self, ends_of_terms: Floats) -> Floats:
        """Return the measure's ends, 2 × rows × topics, from terms × 2 × rows × topics.

        The lowest values of the terms are combined, and the highest ones.
        """
        weights = np.stack([part.term.weight for part in self._terms])  # terms × topics
        n_terms, n_ends, n_rows, n_topics = ends_of_terms.shape
        # `combine` takes values and their weights, both terms × values. The weights of all topics
        # are repeated for each end and row.
        values_of_terms = ends_of_terms.reshape(n_terms, -1)
        weights_of_terms = np.tile(weights, n_ends * n_rows)
        combined = self.measure.combine(values_of_terms, weights_of_terms)
        return combined.reshape(n_ends, n_rows, n_topics)

    @cached_property
    def _terms(self) -> list[_TermIntervals]:
        """The intervals of the terms; empty if none are stated, or one has too many label tuples."""
        terms: list[_TermIntervals] = []
        for number, term in enumerate(self.label_terms(self._lowest)):
            intervals = self._term_intervals(number, term)
            if intervals is None:
                return []
            terms.append(intervals)
        return terms

    def _term_intervals(self, number: int, term: Term) -> _TermIntervals | None:
        """Return the intervals of a term, None if it has too many label tuples.

        A term depends on the labels of each document, its label tuple. Documents with the same
        known labels, a *pattern* such as (2, missing), can have the same tuples: (2, 0), (2, 1), …
        """
        is_read = self._is_read_by(term)
        patterns, pattern_of_document = self._patterns(is_read)
        if self._number_of_tuples(patterns) > _MOST_TUPLES:
            return None
        return _TermIntervals(self, number, term, is_read, patterns, pattern_of_document)

    def _patterns(self, is_read: Bools) -> tuple[Floats, Ints]:
        """Return the distinct patterns of known labels, and the pattern of each document.

        In patterns, patterns × aspects, infinity is a missing label. Aspects that are not read have
        the lowest label everywhere, so that they make no two patterns different.
        """
        # NaN would not do for missing labels: `np.unique` takes each for another label.
        is_missing = np.isnan(self.labels)
        marked_labels = np.where(is_missing, np.inf, self.labels)
        read_labels = np.where(is_read[:, None], marked_labels, self.lowest)  # aspects × documents
        return _distinct_rows(read_labels.T)

    def _is_read_by(self, term: Term) -> Bools:
        """Return a mask of the aspects that a term reads."""
        n_aspects = len(self.names)
        if not term.aspects:  # a term that names no aspects reads all
            return np.ones(n_aspects, dtype=np.bool_)
        read_names = list(term.aspects)
        return np.isin(self.names, read_names)

    def _number_of_tuples(self, patterns: Floats) -> float:
        """Return the number of label tuples that some patterns of known labels allow together.

        Parameters
        ----------
        patterns : ndarray, patterns × aspects
            The known labels; infinity is a missing one.
        """
        n_grades = [float(len(grades)) for grades in self.grades]
        is_missing = np.isinf(patterns)
        n_labels = np.where(is_missing, n_grades, 1.0)
        n_tuples = n_labels.prod(axis=1)  # one per pattern; floats, as they may be huge
        return float(n_tuples.sum())

    def enumerate(self, is_chosen: Bools, values: Interval, differences: Interval) -> None:
        """Fill the extremes of the chosen topics, in place, by evaluating all their completions.

        A completion has a grade for each missing label. Topics that would take too long are left
        as they are.
        """
        n_left = MOST_OF_ALL  # the number of completions that may still be evaluated
        chosen_topics = np.flatnonzero(is_chosen)
        for topic in chosen_topics.tolist():
            documents = self.documents_of_topic(topic)
            is_missing = self.missing[:, documents]  # aspects × documents of the topic
            grades_of_missing = self._grades_of_missing(is_missing)
            n_completions = prod(map(len, grades_of_missing))
            has_few_completions = n_completions <= min(MOST_OF_TOPIC, n_left)
            n_retrieved = max(int(run.hits.n_ret[topic]) for run in self.rankings)
            has_few_rows = n_completions * n_retrieved <= _MOST_ROWS
            if has_few_completions and has_few_rows:
                n_left -= n_completions
                completions = list(product(*grades_of_missing))
                values_of_runs = self._values_of_completions(topic, np.array(completions))
                values_of_first = values_of_runs[self.first]  # pairs × completions
                values_of_second = values_of_runs[self.second]
                values.fill_topic(topic, values_of_runs)
                differences.fill_topic(topic, values_of_first - values_of_second)

    def _values_of_completions(self, topic: int, completions: Floats) -> Floats:
        """Return the values on a topic, runs × completions.

        `completions` are grades, completions × missing labels of the topic.
        """
        labels = self.fill_copies(self.documents_of_topic(topic), completions)
        values_of_topic = self.values_of_copies(np.array([topic]), labels)
        return values_of_topic[:, :, 0]  # of the only topic

    def fill_copies(self, documents: Ints, completions: Floats) -> Floats:
        """Return copies of the labels of some documents, with missing ones filled.

        Parameters
        ----------
        documents : ndarray of int
            Rows of the documents.
        completions : ndarray of float, copies × missing labels of these documents
            By aspect, and then by document.

        Returns
        -------
        ndarray of float, copies × aspects × documents
        """
        # Missing labels that do not matter remain at the lowest grade.
        lowest_labels = self.lowest_labels[:, documents]  # aspects × documents
        labels = np.repeat(lowest_labels[None], len(completions), axis=0)
        # The aspect and the document of each missing label, in the order of `completions`.
        is_missing = self.missing[:, documents]
        aspect, document = np.nonzero(is_missing)
        labels[:, aspect, document] = completions
        return labels

    def documents_of_topic(self, topic: int) -> Ints:
        """Return the indices of the documents of a topic in the universe, sorted by topic."""
        topic_of_document = self.universe.pool_query
        start, stop = np.searchsorted(topic_of_document, [topic, topic + 1])
        return np.arange(start, stop)

    def _grades_of_missing(self, is_missing: Bools) -> list[Floats]:
        """Return the possible grades of each missing label; the mask is aspects × documents."""
        aspect_of_label, _ = np.nonzero(is_missing)
        return [self.grades[aspect] for aspect in aspect_of_label]


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

    def is_retrieved(self, documents: Ints) -> Bools:
        """Return which of the documents each run retrieves, runs × documents."""
        discounts_of_runs = self.discounts[:-1, documents]  # without the empty ranking
        return discounts_of_runs > 0

    def split_retrieved(self, ideal: _SharedIdeal) -> tuple[Ints, Ints]:
        """Return the documents of an ideal ranking that any of its runs retrieves, and the others."""
        discounts = self.discounts[:, ideal.documents]
        is_retrieved = discounts[ideal.runs].any(axis=0)
        return ideal.documents[is_retrieved], ideal.documents[~is_retrieved]

    def rows_among(self, runs: Ints) -> Ints:
        """Return the positions of the pairs of these runs, and of those with the empty ranking."""
        is_included = np.zeros(len(self.discounts), dtype=np.bool_)
        is_included[runs] = True
        is_included[-1] = True  # the empty ranking
        has_first = is_included[self.first]  # per pair
        has_second = is_included[self.second]
        return np.flatnonzero(has_first & has_second)


@dataclass(frozen=True, eq=False)
class _ExtremesOfRows:
    """The extremes of the differences of some comparisons on one topic."""

    #: The positions of the comparisons.
    rows: Ints
    #: The lowest and the highest difference, 2 × rows.
    ends: Floats
    #: Whether both are attained, per row.
    is_exact: Bools


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
    pattern_of_document : ndarray of int, shape (n_documents,)
        The pattern of each document.
    """

    def __init__(
        self,
        owner: LabelIntervals,
        number: int,
        term: Term,
        is_read: Bools,
        patterns: Floats,
        pattern_of_document: Ints,
    ) -> None:
        self.owner = owner
        self.number = number
        self.term = term
        self.base = term.base
        self.is_read = is_read
        self.pattern_of_document = pattern_of_document
        #: The label tuples that documents can have, tuples × aspects, and the pattern of each.
        self.tuples, self.pattern_of_tuple = _tuples_of_patterns(patterns, owner.grades)
        #: The gain of each label tuple.
        self.gains = self._gains_of_tuples()

    @cached_property
    def levels(self) -> Floats:
        """The distinct gains of label tuples, and 0, increasing. A *level* is an index of these."""
        gains_and_zero = np.append(self.gains, 0.0)
        return np.unique(gains_and_zero)

    @cached_property
    def allowed(self) -> Bools:
        """A mask of the levels of gain that documents with each pattern can have, patterns × levels.

        A level is an index of `self.levels`, the distinct gains.
        """
        last_pattern = self.pattern_of_tuple[-1]  # patterns are numbered from 0, and sorted
        n_patterns = last_pattern + 1
        n_levels = len(self.levels)
        allowed = np.zeros((n_patterns, n_levels), dtype=np.bool_)
        level_of_tuple = np.searchsorted(self.levels, self.gains)
        # Each label tuple allows its level for its pattern.
        allowed[self.pattern_of_tuple, level_of_tuple] = True
        return allowed

    @cached_property
    def is_open(self) -> Bools:
        """A mask of the *open* documents, whose gain is not known."""
        n_levels_of_pattern = self.allowed.sum(axis=1)
        has_several_gains = n_levels_of_pattern > 1
        return np.asarray(has_several_gains[self.pattern_of_document])

    def _gains_of_tuples(self) -> Floats:
        """Return the gain of each label tuple (`self.tuples`), all in the same unit.

        A term gives the gains of judged documents, so that documents are labelled with the tuples.
        """
        judgments = self._judgments_of_tuples()
        target = self._term(judgments).target
        form = self.base.additive(target)
        # A base that is a weighted sum says what it adds up, such as 2^label − 1; of other bases,
        # only the gains that they are given are known.
        if isinstance(form, Linear):
            gain = form.gain
        else:
            gain = self.base.gain(target)
        return np.asarray(gain, dtype=np.float64)

    def _judgments_of_tuples(self) -> Judgments:
        """Return judgments of one topic that has a document for each label tuple (`self.tuples`).

        The documents are made: copies of the first document of the qrels, with other labels. All
        are in one topic, as gains need only be comparable within a topic.
        """
        n_tuples = len(self.tuples)
        # Of each copy, the number of the copied document and of its topic: 0, the first.
        copied_document = np.zeros(n_tuples, dtype=np.intp)
        topic_of_copy = np.zeros(n_tuples, dtype=np.intp)
        qids = np.array(["q"], dtype=object)  # the topic needs a name
        labels_by_aspect = dict(zip(self.owner.names, self.tuples.T, strict=True))
        universe = self.owner.universe
        return universe.with_copies(copied_document, topic_of_copy, qids, labels_by_aspect)

    def _term(self, judgments: Judgments) -> Term:
        """Return this term of the measure for other judgments."""
        terms = self.owner.label_terms(judgments)
        return terms[self.number]

    @property
    def matters(self) -> Bools:
        """A mask of the labels, aspects × documents: those read of documents with open gains."""
        is_read = self.is_read[:, None]  # aspects × 1
        return np.asarray(is_read & self.is_open)

    @cached_property
    def linear(self) -> Linear | None:
        """The base as a weighted sum of gains, divided by a norm; None if that does not apply.

        It applies if the extremes follow from the possible gains of each document alone.
        """
        form = self.base.additive(self.term.target)
        if not isinstance(form, Linear):
            return None
        # A cutoff per topic, such as the number of relevant documents, depends on labels.
        has_depth_per_topic = isinstance(form.depth, np.ndarray)
        # The functions that find extremes take gains from 0.
        has_negative_gains = (self.gains < 0).any()
        if has_depth_per_topic or has_negative_gains:
            return None
        if self._has_determined_norm(form):
            return form
        return None

    def _has_determined_norm(self, form: Linear) -> bool:
        """Return whether a weighted sum is divided by nothing that changes in unknown ways.

        Most norms depend on the labels in a way that gains do not tell.
        """
        is_not_divided = form.norm is None
        if is_not_divided:
            return True
        # The sum of an ideal ranking follows from the gains.
        has_ideal_norm = form.ideal is not None
        if has_ideal_norm:
            return True
        return bool(self.base.stated.has_constant_norm)

    def intervals(self) -> tuple[Interval | None, Interval | None]:
        """Return the intervals of the runs and of the pairs, None where they are not known.

        Pairs are only computed for weighted sums of gains, in measures that are weighted sums.
        """
        # nDCG, RBP, …: the extremes follow from the gains of each document.
        if self.linear is not None:
            return self._intervals_of_sums(self.linear)
        # Other bases have known extremes if relevant documents at better ranks never do harm.
        if not self.base.stated.prefers_early:
            return None, None
        # Bases that read ranks of relevant documents only, such as AP, need no evaluation of runs
        # for each number of relevant documents.
        if isinstance(self.base, Counting):
            return self._intervals_by_count(self.base), None
        return self._intervals_by_evaluation(), None

    # -- weighted sums of gains
    # -----------------------------------------------------------------------------------

    def _intervals_of_sums(self, form: Linear) -> tuple[Interval, Interval]:
        """Return the intervals of the runs' weighted sums, and of the differences of pairs.

        They are only filled for topics with missing labels; others are NaN.
        """
        comparisons = self._comparisons(form)
        ends, is_exact = self._extremes_of_comparisons(form, comparisons)
        # The first comparisons are of each run with an empty ranking, whose sum is 0: these
        # differences are the values of the runs. The comparisons of pairs of runs follow.
        n_runs = len(self.owner.rankings)
        run_rows = slice(0, n_runs)
        pair_rows = slice(n_runs, None)
        # Rounding errors must not exceed the range of the base.
        highest_value = self.base.RANGE[1]
        ends_of_values = np.minimum(ends[:, run_rows], highest_value)
        values = _interval_of_comparisons(ends_of_values, is_exact[run_rows])
        differences = _interval_of_comparisons(ends[:, pair_rows], is_exact[pair_rows])
        return values, differences

    def _extremes_of_comparisons(
        self, form: Linear, comparisons: _Comparisons
    ) -> tuple[Floats, Bools]:
        """Return the extremes of all comparisons, and whether they are attained.

        The extremes are 2 × comparisons × topics, the mask is comparisons × topics. Topics without
        missing labels are NaN.
        """
        n_comparisons = len(comparisons.first)
        n_topics = self.owner.universe.n_queries
        ends = np.full((2, n_comparisons, n_topics), np.nan)
        is_exact = np.zeros((n_comparisons, n_topics), dtype=np.bool_)
        open_topics = np.flatnonzero(self.owner.is_open)
        for topic in open_topics.tolist():
            ends_on_topic, is_exact_on_topic = self._extremes_on_topic(form, topic, comparisons)
            ends[:, :, topic] = ends_on_topic
            is_exact[:, topic] = is_exact_on_topic
        return ends, is_exact

    def _extremes_on_topic(
        self, form: Linear, topic: int, comparisons: _Comparisons
    ) -> tuple[Floats, Bools]:
        """Return the extremes of all comparisons on a topic, and whether they are attained.

        The extremes are 2 × comparisons. They are NaN for runs that are divided by different ideal
        rankings, and are not compared.
        """
        n_comparisons = len(comparisons.first)
        ends = np.full((2, n_comparisons), np.nan)
        is_exact = np.zeros(n_comparisons, dtype=np.bool_)
        documents = self.owner.documents_of_topic(topic)
        is_retrieved = comparisons.is_retrieved(documents)
        for ideal in self._shared_ideals(form, documents, is_retrieved):
            extremes = self._extremes_of_differences(form, topic, ideal, comparisons)
            ends[:, extremes.rows] = extremes.ends
            is_exact[extremes.rows] = extremes.is_exact
        return ends, is_exact

    def _comparisons(self, form: Linear) -> _Comparisons:
        """Return the comparison of each run with one that retrieves nothing, then those of pairs.

        The value of a run is its difference to a run that retrieves nothing. Pairs are only
        compared if the measure is a weighted sum.
        """
        owner = self.owner
        n_runs = len(owner.rankings)
        n_documents = len(owner.universe)
        empty_run = n_runs  # the last row of the discounts, which remains 0
        discounts = np.zeros((n_runs + 1, n_documents))
        for row, run in enumerate(owner.rankings):
            hits = run.hits
            discounts_of_hits = form.discounts(hits.rank, hits.query)
            discounts[row, hits.row] = discounts_of_hits
        first = np.arange(n_runs)
        second = np.full(n_runs, empty_run)
        if owner.measure.stated.is_weighted_sum:
            first = np.append(first, owner.first)
            second = np.append(second, owner.second)
        return _Comparisons(discounts, first, second)

    def _shared_ideals(
        self, form: Linear, documents: Ints, is_retrieved: Bools
    ) -> Iterable[_SharedIdeal]:
        """Return the distinct ideal rankings of a topic, with the runs that each belongs to.

        Which documents an ideal ranking has, the measure states in `ideal_documents`: all that are
        'judged', those that a run has 'retrieved', or as many judged ones as it has 'ranks'.

        Parameters
        ----------
        form : Linear
            The weighted sum.
        documents : ndarray of int
            All documents of the topic.
        is_retrieved : ndarray of bool, runs × documents
            Whether each run retrieves them.
        """
        kind = self.owner.ideal_documents
        if kind == "retrieved":
            return _ideals_of_retrieved(documents, is_retrieved)
        if kind == "ranks":
            return _ideals_of_ranks(documents, is_retrieved)
        # 'judged': one ideal for all runs, down to its own cutoff.
        all_runs = np.arange(len(is_retrieved))
        if form.ideal is None:
            # A sum that is not divided has no ideal, but all runs can be compared as well.
            return [_SharedIdeal(all_runs, documents, None)]
        return [_SharedIdeal(all_runs, documents, form.ideal.depth)]

    def _extremes_of_differences(
        self, form: Linear, topic: int, ideal: _SharedIdeal, comparisons: _Comparisons
    ) -> _ExtremesOfRows:
        """Return the extremes, on a topic, of the comparisons of runs that share an ideal ranking.

        A comparison is the difference of the weighted sums of two rankings: a sum of gains,
        weighted by the differences of discounts. Those with the empty ranking are included.
        """
        rows = comparisons.rows_among(ideal.runs)
        # The functions below take weights of the retrieved documents, and gains of these first.
        retrieved, others = comparisons.split_retrieved(ideal)
        discounts = comparisons.discounts[:, retrieved]
        all_documents = np.append(retrieved, others)
        gains = self.attainable_gains(all_documents, ideal.depth)
        # Rankings that are equal on the topic have the same differences, to be computed once.
        weights, difference_of_row = _distinct_differences(
            discounts, comparisons.first[rows], comparisons.second[rows]
        )
        if form.ideal is not None:
            extremes, is_exact = _extremes_of_ratios(weights, gains)
        else:
            extremes = _extremes_of_sums(form, topic, weights, gains)
            is_exact = np.ones(len(weights), dtype=np.bool_)
        # From distinct differences to the comparisons that have them.
        extremes_of_rows = extremes[:, difference_of_row]
        is_exact_for_rows = is_exact[difference_of_row]
        return _ExtremesOfRows(rows, extremes_of_rows, is_exact_for_rows)

    def attainable_gains(self, documents: Ints, depth: int | None) -> AttainableGains:
        """Return the gains that documents of a topic can have, with its ideal ranking's discounts.

        `depth` is that of the ideal ranking, None for all documents. A base without an ideal
        ranking has discounts of 0. `self.levels` are all possible gains, from 0;
        `self.allowed` says which of them documents with each pattern of known labels can have.
        """
        patterns = self.pattern_of_document[documents]
        allowed = self.allowed[patterns]  # documents × levels
        # Leave out levels that no document can have, but keep the first, which is 0.
        is_used: Bools = np.asarray(allowed.any(axis=0))
        is_used[0] = True
        used_levels = self.levels[is_used]
        allowed_of_used = allowed[:, is_used]
        discounts = self._ideal_discounts(len(documents), depth)
        return AttainableGains(used_levels, allowed_of_used, discounts)

    def _ideal_discounts(self, n_documents: int, depth: int | None) -> Floats:
        """Return the discounts of the ideal ranking of some documents, 0 below its depth.

        They are 0 if the base has no ideal ranking.
        """
        if self.linear is None or self.linear.ideal is None:
            return np.zeros(n_documents)
        rank = np.arange(1, n_documents + 1)
        discounts = self.linear.ideal.discount(rank)
        if depth is None:
            return discounts
        return np.where(rank <= depth, discounts, 0.0)

    @cached_property
    def _n_open(self) -> Ints:
        """The number of open documents, whose gain is not known, of each topic."""
        return self._number_by_topic(self.is_open)

    def _number_by_topic(self, is_counted: Bools) -> Ints:
        """Return the number of documents of each topic that a mask of documents selects."""
        universe = self.owner.universe
        topics = universe.pool_query[is_counted]
        number_of_topic = np.bincount(topics, minlength=universe.n_queries)
        return number_of_topic.astype(np.intp)

    # -- bases that prefer relevant documents early
    # -----------------------------------------------------------------------------------

    def _intervals_by_count(self, base: Counting) -> Interval:
        """Return the extremes of a base that depends on the relevant documents' ranks only.

        Documents are relevant if they have a gain. Those whose gain is not known (`self.is_open`)
        may be relevant.
        """
        runs = self.owner.rankings
        n_topics = self.owner.universe.n_queries
        open_topics = np.flatnonzero(self.owner.is_open)
        result = Interval.unknown(len(runs), n_topics, exact=True)
        for row, run in enumerate(runs):
            hits = self._possible_hits(run)
            for topic in open_topics.tolist():
                documents = self._possibly_relevant(run, hits, topic)
                low, high = extremes_by_number(base, documents)
                result.ends[0, row, topic] = low
                result.ends[1, row, topic] = high
        return result

    def _possible_hits(self, run: Rankings) -> Hits:
        """Return the judged documents that a run retrieves and that are or may be relevant."""
        may_be_relevant = self.is_open | self._has_known_gain  # per judged document
        retrieved = run.hits
        document_of_hit = retrieved.row
        return retrieved.select(may_be_relevant[document_of_hit])

    @cached_property
    def _has_known_gain(self) -> Bools:
        """A mask of the documents whose gain is known, and not 0."""
        # The gains that a document can have are levels, indices of the sorted `self.levels`.
        level_of_0 = np.searchsorted(self.levels, 0.0)
        can_be_0 = self.allowed[self.pattern_of_document, level_of_0]
        return np.asarray(~self.is_open & ~can_be_0)

    @cached_property
    def _n_relevant(self) -> Ints:
        """The number of documents of each topic that are relevant in any case."""
        return self._number_by_topic(self._has_known_gain)

    def _possibly_relevant(self, run: Rankings, hits: Hits, topic: int) -> RetrievedDocuments:
        """Return the documents of a topic that are or may be relevant, for a run.

        Parameters
        ----------
        run : Rankings
            The run.
        hits : Hits
            Of all topics, the retrieved documents that are or may be relevant, sorted by topic.
        topic : int
            The position of the topic.
        """
        next_topic = topic + 1
        start, stop = np.searchsorted(hits.query, [topic, next_topic])
        documents = hits.row[start:stop]
        # Each of them is open (perhaps relevant) or relevant; the others are not retrieved.
        is_open = self.is_open[documents]
        n_open_hits = int(is_open.sum())
        n_relevant_hits = len(documents) - n_open_hits
        # Of the whole topic, retrieved or not.
        n_open = int(self._n_open[topic])
        n_relevant = int(self._n_relevant[topic])
        return RetrievedDocuments(
            run=run,
            source=self.term.target.source,
            rank=hits.rank[start:stop],
            n_ret=int(hits.n_ret[topic]),
            is_open=is_open,
            n_relevant_others=n_relevant - n_relevant_hits,
            n_open_others=n_open - n_open_hits,
        )

    def _intervals_by_evaluation(self) -> Interval:
        """Return the extremes of a base that prefers relevant documents early, runs × topics."""
        runs = self.owner.rankings
        n_topics = self.owner.universe.n_queries
        result = Interval.unknown(len(runs), n_topics, exact=True)
        for run_index, run in enumerate(runs):
            lowest, highest = self._extremes_by_evaluation(run)
            result.ends[0, run_index] = lowest
            result.ends[1, run_index] = highest
        return result

    def _extremes_by_evaluation(self, run: Rankings) -> tuple[Floats, Floats]:
        """Return the lowest and the highest value of a run on each topic.

        Open documents are those whose relevance is not known. For each number of relevant ones
        among them, two cases are evaluated: the first ones in the ranking are relevant, which is
        best, or the last ones, which is worst.
        """
        documents = self._open_documents_by_rank(run)
        topics = self.owner.universe.pool_query[documents]
        # How many open documents of the same topic are above and below each.
        n_above = positions(topics)
        n_below = self._n_open[topics] - n_above - 1
        values = []
        largest_number = int(self._n_open.max(initial=0))
        for n_relevant in range(largest_number + 1):
            # In a topic with fewer open documents, all of them are relevant.
            first_documents = documents[n_above < n_relevant]
            last_documents = documents[n_below < n_relevant]
            values.append(self._values_by_relevant(run, first_documents))
            values.append(self._values_by_relevant(run, last_documents))
        return np.min(values, axis=0), np.max(values, axis=0)

    def _open_documents_by_rank(self, run: Rankings) -> Ints:
        """Return the documents whose gain is not known, by topic and then by rank in the run."""
        topic_of_document = self.owner.universe.pool_query
        # Documents that are not retrieved come after all others.
        last_rank = np.iinfo(np.intp).max
        n_documents = len(topic_of_document)
        rank = np.full(n_documents, last_rank)
        hits = run.hits
        rank[hits.row] = hits.rank
        documents = np.flatnonzero(self.is_open)
        ranks = rank[documents]
        topics = topic_of_document[documents]
        by_topic_and_rank = np.lexsort((ranks, topics))  # the last key first
        return documents[by_topic_and_rank]

    def _values_by_relevant(self, run: Rankings, relevant: Ints) -> Floats:
        """Return a run's value on each topic if, of the open documents, only these are relevant.

        `self.tuples` has label tuples, such as (2, 0); each document gets one that makes it
        relevant or not.
        """
        tuple_of_document = self._tuple_if_not_relevant.copy()
        tuple_of_document[relevant] = self._tuple_if_relevant[relevant]
        labels = self.tuples[tuple_of_document]  # documents × aspects
        judgments = self.owner.complete(labels.T)  # takes aspects × documents
        term = self._term(judgments)
        judged_run = run.with_judgments(judgments)
        return term.base.values(judged_run, term.target)

    @cached_property
    def _tuple_if_relevant(self) -> Ints:
        """The index of a relevant label tuple of each document, of any one if it has none."""
        return self._tuple_of_document(self.gains > 0)

    @cached_property
    def _tuple_if_not_relevant(self) -> Ints:
        """The index of a label tuple without gain of each document, of any one if it has none."""
        return self._tuple_of_document(self.gains <= 0)

    def _tuple_of_document(self, is_preferred: Bools) -> Ints:
        """Return the index of a preferred label tuple of each document, of any if it has none.

        Each label tuple belongs to a pattern of known labels, `self.pattern_of_tuple`, sorted: it
        is a possible tuple of the documents with this pattern, which all get the same one.

        Parameters
        ----------
        is_preferred : ndarray of bool, shape (n_tuples,)
            A mask of the label tuples.
        """
        # Begin with the first tuple of each pattern: if the patterns of five tuples are
        # [0, 0, 0, 1, 1], these are the tuples [0, 3].
        _, tuple_of_pattern = np.unique(self.pattern_of_tuple, return_index=True)
        # Put preferred ones in their place: if 1 is preferred, [1, 3]; of several, take the last.
        preferred_tuples = np.flatnonzero(is_preferred)
        pattern_of_preferred = self.pattern_of_tuple[preferred_tuples]
        tuple_of_pattern[pattern_of_preferred] = preferred_tuples
        return np.asarray(tuple_of_pattern[self.pattern_of_document])


def _interval_of_comparisons(ends: Floats, is_exact: Bools) -> Interval:
    """Return the interval of some comparisons; it is exact on topics where all of them are.

    The ends are 2 × comparisons × topics, the mask is comparisons × topics.
    """
    is_topic_exact = is_exact.all(axis=0)
    return Interval(ends, np.asarray(is_topic_exact))


def _ideals_of_retrieved(documents: Ints, is_retrieved: Bools) -> Iterator[_SharedIdeal]:
    """Yield the ideal rankings of the documents that runs retrieve, a mask runs × documents.

    Runs that retrieve the same documents share one.
    """
    for is_in_ideal in np.unique(is_retrieved, axis=0):
        has_same_documents = (is_retrieved == is_in_ideal).all(axis=1)
        runs = np.flatnonzero(has_same_documents)
        ideal_documents = documents[is_in_ideal]
        yield _SharedIdeal(runs, ideal_documents, len(ideal_documents))


def _ideals_of_ranks(documents: Ints, is_retrieved: Bools) -> Iterator[_SharedIdeal]:
    """Yield the ideal rankings of as many documents as a run retrieves, a mask runs × documents.

    Runs that retrieve the same number of documents share one.
    """
    n_retrieved = is_retrieved.sum(axis=1)
    for depth in np.unique(n_retrieved).tolist():
        runs = np.flatnonzero(n_retrieved == depth)
        yield _SharedIdeal(runs, documents, depth)


def _distinct_differences(discounts: Floats, first: Ints, second: Ints) -> tuple[Floats, Ints]:
    """Return the distinct differences of discounts between two rankings, and that of each pair.

    Parameters
    ----------
    discounts : ndarray, rankings × documents
    first, second : ndarray of int, shape (n_pairs,)
        The rankings of each pair, as rows of `discounts`.

    Returns
    -------
    differences : ndarray, distinct pairs × documents
    difference_of_pair : ndarray of int, shape (n_pairs,)
        The row of each pair in `differences`.
    """
    # Number the distinct rankings, so that pairs of equal rankings are equal pairs of numbers.
    distinct_discounts, number_of_ranking = _distinct_rows(discounts)
    number_of_first = number_of_ranking[first]
    number_of_second = number_of_ranking[second]
    pairs = np.stack([number_of_first, number_of_second], axis=1)
    distinct_pairs, difference_of_pair = _distinct_rows(pairs)
    discounts_of_first = distinct_discounts[distinct_pairs[:, 0]]
    discounts_of_second = distinct_discounts[distinct_pairs[:, 1]]
    return discounts_of_first - discounts_of_second, difference_of_pair


def _distinct_rows(table: Any) -> tuple[Any, Ints]:
    """Return the distinct rows of an array, sorted, and for each row the index of its own."""
    distinct_rows, index = np.unique(table, axis=0, return_inverse=True)
    return distinct_rows, index.reshape(-1)  # some versions of NumPy return a column


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
    # The lowest ratio is minus the highest ratio by negated weights. One call, which is faster than
    # two, finds the highest ratios by the negated weights and then by the weights.
    negated_then_own = np.concatenate([-weights, weights])
    highest_ratio, is_attained = highest_ratios(negated_then_own, gains)
    highest_by_negated, highest = np.split(highest_ratio, 2)
    is_lowest_attained, is_highest_attained = np.split(is_attained, 2)
    lowest = 0.0 - highest_by_negated  # a minus sign alone would give −0
    is_exact = is_lowest_attained & is_highest_attained
    return np.stack([lowest, highest]), is_exact


def _extremes_of_sums(form: Linear, topic: int, weights: Floats, gains: AttainableGains) -> Floats:
    """Return the extremes of weighted sums of gains with a constant norm, 2 × sums.

    `weights` are sums × weighted documents, which are the first ones of the gains.
    """
    n_weighted = weights.shape[1]
    lowest_level = gains.lowest[:n_weighted]  # the index of a gain in `levels`
    highest_level = gains.highest[:n_weighted]
    lowest_gain = gains.levels[lowest_level]
    highest_gain = gains.levels[highest_level]
    # A sum is lowest if documents with a negative weight have their highest gains.
    positive = np.maximum(weights, 0.0)
    negative = np.minimum(weights, 0.0)
    lowest = positive @ lowest_gain + negative @ highest_gain
    highest = positive @ highest_gain + negative @ lowest_gain
    extremes = np.stack([lowest, highest])
    norm = 1.0
    if form.norm is not None:
        norm = float(form.norm[topic])
    normalised = extremes / norm
    return normalised + 0.0  # turns −0 into 0


def _tuples_of_patterns(patterns: Floats, grades: Sequence[Floats]) -> tuple[Floats, Ints]:
    """Return the label tuples of documents with each pattern, and the number of their pattern.

    Those of the first pattern come first: with 2 and 3 tuples, their patterns are [0, 0, 1, 1, 1].

    Parameters
    ----------
    patterns : ndarray, patterns × aspects
        The known labels of documents; infinity is a missing label.
    grades : sequence of ndarray
        The grades of each aspect.
    """
    tuples = []
    pattern_of_tuple = []
    for number, pattern in enumerate(patterns.tolist()):
        tuples_of_pattern = _label_tuples(pattern, grades)
        tuples.append(tuples_of_pattern)
        pattern_of_tuple.append(np.full(len(tuples_of_pattern), number))
    return np.concatenate(tuples), np.concatenate(pattern_of_tuple)


def _label_tuples(pattern: Sequence[float], grades: Sequence[Floats]) -> Floats:
    """Return the label tuples of documents with a pattern of known labels, tuples × aspects.

    Infinity is a missing label, which can be each grade of its aspect: the pattern (2, ∞) has the
    tuples (2, 0) and (2, 1) if the grades of the second aspect are 0 and 1.
    """
    labels_of_aspect: list[Any] = []
    for label, grades_of_aspect in zip(pattern, grades, strict=True):
        is_missing = label == np.inf
        if is_missing:
            labels_of_aspect.append(grades_of_aspect)
        else:
            labels_of_aspect.append([label])
    tuples = list(product(*labels_of_aspect))
    return np.array(tuples)
