"""Values as sums of contributions of ranks, for one topic of a run or for all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._typing import Bools, Floats, Ints, Objects
from ..bases import Term
from ..collection import Judgments, Rankings
from ..collection.judgments import numbered_names
from ..errors import MultiAspectError
from ..kernels.best_ranking import is_by_sorting
from ..kernels.breakdown import MARGINAL, Breakdown
from ..kernels.hits import positions, ranks_within_queries
from ..measures import Measure
from ..measures.best_rank import best_rank, forms_of

#: Relative tolerance for the sum of contributions.
_TOLERANCE = 1e-9

#: Tolerance below which amounts that belong to no rank are left out, relative to the offset.
_NOTHING = 1e-13

#: Maximum number of judged documents in collections on which prefixes of a ranking are evaluated at
#: once.
_MOST_JUDGED = 200_000

#: Above this number of judged documents, the assignment of documents to ranks takes too much
#: memory.
_MOST_ASSIGNED = 2000

#: A function that computes values of shape (n_outputs, n_queries).
Evaluation = Callable[[Judgments, Rankings], Floats]


class Prefixes:
    """A run, and its prefixes as separate runs, shared by all measures.

    Parameters
    ----------
    rankings : Rankings
        The run.
    depth : int
        Number of ranks.
    """

    def __init__(self, rankings: Rankings, depth: int) -> None:
        self.rankings = rankings
        self.depth = depth

    @cached_property
    def _runs(self) -> list[Rankings]:
        return [self.rankings.cut(length) for length in range(self.depth + 1)]

    def prefix_values(self, evaluate: Evaluation, n_ranks: int) -> Floats:
        """Return the values of the first 0 to `n_ranks` ranks.

        The shape is (n_outputs, n_queries, n_ranks + 1).
        """
        runs = self._runs[: n_ranks + 1]
        values = [evaluate(run.judgments, run) for run in runs]
        return np.stack(values, axis=-1)


@dataclass(frozen=True, eq=False)
class Topic:
    """A ranking of one topic, and the judgments it is evaluated on."""

    measure: Measure
    #: The judgments of this topic alone, or of all topics if the value depends on others.
    judgments: Judgments
    #: The position of the topic among the judgments.
    query: int
    qid: str
    run: str
    #: The retrieved documents in the order of their ranks, with their scores.
    docnos: Objects
    scores: NDArray[Any]
    #: Maximum number of ranks with a separate marginal contribution.
    depth: int

    def __len__(self) -> int:
        return len(self.docnos)

    @cached_property
    def rankings(self) -> Rankings:
        """The ranking, joined with the judgments."""
        qid = self.judgments.qids[self.query]
        all_ranks = len(self)
        return self._join(self.judgments, [qid], [all_ranks])

    @cached_property
    def values(self) -> Floats:
        """The values of the measure on all topics of the judgments."""
        return self.measure.evaluate(self.rankings)

    @property
    def value(self) -> float:
        """The value of the measure."""
        return float(self.values[self.query])

    @cached_property
    def rows(self) -> Ints:
        """The judged pair of each retrieved document, -1 for unjudged documents."""
        hits = self.rankings.hits
        rows = np.full(len(self), -1, dtype=np.intp)
        rows[hits.rank - 1] = hits.row
        return rows

    def prefix_values(self, evaluate: Evaluation, n_ranks: int) -> Floats:
        """Evaluate the first 0 to `n_ranks` ranks of the ranking.

        Parameters
        ----------
        evaluate : callable
            Returns values of shape (n_outputs, n_queries) for judgments and a run.
        n_ranks : int
            Maximum number of ranks.

        Returns
        -------
        ndarray of float, shape (n_outputs, n_queries, n_ranks + 1)
        """
        if self.judgments.n_queries > 1:
            # The value depends on other topics, so each prefix is evaluated among all of them.
            return Prefixes(self.rankings, n_ranks).prefix_values(evaluate, n_ranks)
        # To evaluate many prefixes at once, the topic is repeated, and each prefix is the run of
        # one copy. The number of copies is limited, as all of them are in memory.
        n_judged = max(len(self.judgments), 1)
        n_copies = max(1, _MOST_JUDGED // n_judged)
        values_of_blocks = []
        for start in range(0, n_ranks + 1, n_copies):
            end = min(start + n_copies, n_ranks + 1)
            lengths = list(range(start, end))
            n_lengths = len(lengths)
            judgments = self.judgments.repeat_query(self.query, n_lengths)
            prefixes = self._join(judgments, numbered_names(n_lengths), lengths)
            values_of_blocks.append(evaluate(judgments, prefixes))  # (n_outputs, n_lengths)
        values = np.concatenate(values_of_blocks, axis=1)  # (n_outputs, n_ranks + 1)
        return values[:, np.newaxis, :]  # of one query

    def best(self) -> Topic | None:
        """Return the topic with a best ranking of all judged documents; None if none is known."""
        rank = self._best_rank()
        if rank is None:
            return None
        rows = np.flatnonzero(self.judgments.pool_query == self.query)
        order = np.argsort(rank[rows])
        rows_by_rank = rows[order]
        docnos = self.judgments.docnos[rows_by_rank]
        scores = np.arange(len(rows), 0, -1, dtype=np.float64)  # decreasing, n to 1
        best = replace(self, docnos=docnos, scores=scores, run="ideal")
        # With gains of unjudged documents, a run can exceed every ranking of judged documents.
        rounding = 1e-9 * max(1.0, abs(self.value))
        is_at_least_as_good = best.value >= self.value - rounding
        if is_at_least_as_good:
            return best
        return None

    def _best_rank(self) -> Ints | None:
        """Return the rank of each judged document in a best ranking; None if none is known."""
        measure = self.measure
        judgments = self.judgments
        if measure.lower_is_better:
            return None
        terms = measure.terms(judgments)
        if not terms:
            # Sorting by the gains of documents is best, unless they only stand for unknown ones.
            gain = measure.document_gain(judgments)
            if gain is None or measure.gain_is_surrogate(judgments):
                return None
            return ranks_within_queries(judgments.pool_query, gain)
        if self._requires_assignment(terms) and len(judgments) > _MOST_ASSIGNED:
            return None
        try:
            return best_rank(measure, judgments)
        except MultiAspectError:  # if discounts increase, for example
            return None

    def _requires_assignment(self, terms: list[Term]) -> bool:
        """Return whether a best ranking is found by an assignment of documents to ranks.

        It is too slow for many documents. Sorting is fast: it is best for one term whose base says
        so, and for several ones with the same discounts.
        """
        forms = forms_of(terms)  # the terms as sums over ranks; none if some are no sums
        if not forms:
            return False
        if len(terms) == 1 and terms[0].base.stated.sorting_is_optimal:
            return False
        return not is_by_sorting(forms)

    def _join(self, judgments: Judgments, qids: Sequence[str], lengths: list[int]) -> Rankings:
        """Return the first ranks of the ranking as runs for queries of the judgments."""
        all_queries = np.arange(len(lengths))
        query = np.repeat(all_queries, lengths)
        position = positions(query)
        run = {
            "query_id": np.array(qids, dtype=object)[query],
            "doc_id": self.docnos[position],
            "score": self.scores[position],
        }
        return Rankings(pd.DataFrame(run), judgments)


@dataclass(frozen=True, eq=False)
class TopicPart:
    """The contributions of one term at the ranks of one topic."""

    #: The name of the aspect; empty for all aspects together.
    name: str
    #: The value of the term, its weight, and the derivative of the measure with respect to the
    #: value.
    value: float
    weight: float
    slope: float
    #: The contributions in units of the measure, one per rank.
    contribution: Floats
    offset: float
    #: Contributions that belong to no rank, by their description.
    rest: Mapping[str, float]
    how: str
    #: Ranks below this one are combined in `rest`.
    n_single: int | None
    gain: Floats | None
    discount: Floats | None
    norm: float | None
    columns: Mapping[str, Floats]
    swap_cost: Floats | None


class _Ranks(NamedTuple):
    """The ranks of one topic, and which hits of all topics are at them."""

    n: int
    is_of_topic: Bools
    #: The rank of each hit of the topic, from 1.
    rank: Ints

    def values(self, values_of_hits: Floats, otherwise: float) -> Floats:
        """Return one value per rank: that of the hit, `otherwise` at ranks without a hit.

        `values_of_hits` are of the hits of all topics, of which `self.is_of_topic` is the mask of
        this one's, and `self.rank` their ranks.
        """
        result = np.full(self.n, otherwise)
        position = self.rank - 1  # rank 1 is the first element
        result[position] = values_of_hits[self.is_of_topic]
        return result

    def known_values(self, values_of_hits: Floats | None, otherwise: float) -> Floats | None:
        """Return `values`, or None if those of the hits are None."""
        if values_of_hits is None:
            return None
        return self.values(values_of_hits, otherwise)


@dataclass(frozen=True, eq=False)
class Part:
    """The contributions of one term of a measure, or of the whole measure, for all topics.

    All but the breakdown have the shape (n_queries,).
    """

    breakdown: Breakdown
    value: Floats
    weight: Floats
    slope: Floats
    name: str = ""
    #: If contributions are differences of the values of prefixes: the number of ranks compared, the
    #: last rank that can contribute, and the amount that further ranks contribute together.
    n_ranks: int | None = None
    cutoff: int | None = None
    further: Floats | None = None

    def topic_part(self, query: int, n: int) -> TopicPart:
        """Return the contributions at the `n` ranks of one topic."""
        breakdown = self.breakdown
        is_of_topic = breakdown.hits.query == query
        rank = breakdown.hits.rank[is_of_topic]
        ranks = _Ranks(n, is_of_topic, rank)
        offset = 0.0
        if breakdown.offset is not None:
            offset = float(breakdown.offset[query])
        norm = None
        if breakdown.norm is not None:
            norm = float(breakdown.norm[query])
        # Amounts of the term, times its slope, are amounts of the measure.
        slope = float(self.slope[query])
        contribution = slope * ranks.values(breakdown.contribution, 0.0)
        rest = {}
        for text, amount in self._rest(query, n, offset).items():
            rest[text] = slope * amount
        columns = {}
        for name, values in breakdown.columns.items():
            columns[name] = ranks.values(values, np.nan)
        return TopicPart(
            name=self.name,
            value=float(self.value[query]),
            weight=float(self.weight[query]),
            slope=slope,
            contribution=contribution + 0.0,  # no -0
            offset=slope * offset,
            rest=rest,
            how=breakdown.how,
            n_single=self._n_single(n),
            gain=ranks.known_values(breakdown.gain, np.nan),
            discount=ranks.known_values(breakdown.discount, 0.0),
            norm=norm,
            columns=columns,
            swap_cost=ranks.known_values(breakdown.swap_cost, 0.0),
        )

    def _n_reached(self, n: int) -> int:
        """Return how many of the first `n` ranks can contribute."""
        if self.cutoff is None:
            return n
        return min(n, self.cutoff)

    def _n_single(self, n: int) -> int | None:
        """Return how many of the first `n` ranks have separate contributions; None for all.

        `self.n_ranks` is the number of ranks that were compared, if contributions are differences.
        The ranks below these that can contribute are combined.
        """
        if self.n_ranks is None:
            return None
        are_combined = self.n_ranks < self._n_reached(n)
        if are_combined:
            return self.n_ranks
        return None

    def _rest(self, query: int, n: int, offset: float) -> dict[str, float]:
        """Return the amounts that belong to no rank of one topic, by their description.

        They are those that the breakdown states, and that of the ranks without a separate
        contribution. Both are in units of the term, like `offset`.
        """
        rest = {}
        negligible = tolerance(offset, _NOTHING)
        for text, amounts in self.breakdown.rest.items():
            amount = float(amounts[query])
            if abs(amount) > negligible:
                rest[text] = amount
        n_single = self._n_single(n)
        if n_single is not None and self.further is not None:
            first = n_single + 1
            last = self._n_reached(n)
            text = f"ranks {first} to {last}"
            if first == last:
                text = f"rank {last}"
            rest[text] = float(self.further[query])
        return rest


@dataclass(frozen=True, eq=False)
class Parts:
    """The values of a measure as sums of parts."""

    #: The value of the measure; shape (n_queries,).
    value: Floats
    #: One part per term.
    terms: list[Part]
    #: The measure as one part, where it has no terms or its gradient is unknown.
    whole: Part | None
    #: Whether `whole` applies; shape (n_queries,).
    is_whole: Bools

    def topic_parts(self, query: int, n: int) -> list[TopicPart]:
        """Return the parts of one topic with `n` ranks, whose contributions sum to its value."""
        parts = self.terms
        if self.whole is not None and self.is_whole[query]:
            parts = [self.whole]
        return [part.topic_part(query, n) for part in parts]


def split_value(measure: Measure, run: Prefixes | Topic, value: Floats) -> Parts:
    """Split the values of a measure into contributions of ranks.

    They are split by term where the gradient is known.

    Parameters
    ----------
    measure : Measure
        The measure.
    run : Prefixes or Topic
        The run, joined with the judgments.
    value : ndarray of float, shape (n_queries,)
        The values of the run.

    Returns
    -------
    Parts
        Contributions are those that the measure or its bases state, else differences of the values
        of the first k and k - 1 ranks.

    Raises
    ------
    MultiAspectError
        If the contributions that the measure or a base states do not sum to its value.
    """
    rankings = run.rankings
    terms = measure.terms(rankings.judgments)
    if not terms:
        return _split_whole(measure, run, value)
    # Arrays of shape (n_terms, n_queries).
    values = np.stack([term.base.values(rankings, term.target) for term in terms])
    weights = np.stack([term.weight for term in terms])
    slopes = _gradient(measure, values, weights, value)

    # For queries without a known gradient, the measure is one part.
    is_whole: Bools = np.asarray(np.isnan(slopes).any(axis=0))
    whole = None
    if is_whole.any():
        whole = _whole(measure, run, value)
    if is_whole.all():
        return Parts(value, [], whole, is_whole)
    # For the others, there is one part per term.
    parts = []
    for index, term_part in enumerate(_split_terms(measure, run, terms, values)):
        name = terms[index].name
        part = replace(
            term_part,
            weight=weights[index],
            slope=slopes[index],
            name=name,
        )
        parts.append(part)
    return Parts(value, parts, whole, is_whole)


def _split_whole(measure: Measure, run: Prefixes | Topic, value: Floats) -> Parts:
    """Split the values of a measure without terms: it is one part, for all queries."""
    rankings = run.rankings
    judgments = rankings.judgments
    stated = measure._breakdown(rankings, measure.views(judgments))
    if stated is None:
        whole = _whole(measure, run, value)
    else:
        _check_sum(stated, value, str(measure), judgments)
        ones = np.ones(len(value))  # the part is the measure: its weight and slope are 1
        whole = Part(stated, value, weight=ones, slope=ones)
    is_whole = np.ones(len(value), dtype=np.bool_)
    return Parts(value, [], whole, is_whole)


def _split_terms(
    measure: Measure, run: Prefixes | Topic, terms: list[Term], values: Floats
) -> list[Part]:
    """Split the values of each term, whose weights and slopes are not yet set.

    `values` has the shape (n_terms, n_queries).
    """
    parts: dict[int, Part] = {}  # by the position of the term
    marginal = []  # the positions of terms whose base does not state contributions
    for index, term in enumerate(terms):
        stated = _stated_part(term, run.rankings, values[index])
        if stated is None:
            marginal.append(index)
        else:
            parts[index] = stated
    if marginal:
        marginal_parts = _marginal_parts(measure, run, terms, marginal, values)
        parts.update(zip(marginal, marginal_parts, strict=True))
    return [parts[index] for index in range(len(terms))]


def _stated_part(term: Term, rankings: Rankings, value: Floats) -> Part | None:
    """Return the contributions that the base of a term states; None if it states none."""
    counted_ranks = rankings.top(term.base.depth)
    stated = term.base.breakdown(counted_ranks, term.target)
    if stated is None:
        return None
    _check_sum(stated, value, f"the base {term.base.text}", rankings.judgments)
    ones = np.ones(len(value))
    return Part(stated, value, weight=ones, slope=ones)


def _marginal_parts(
    measure: Measure, run: Prefixes | Topic, terms: list[Term], marginal: list[int], values: Floats
) -> Iterator[Part]:
    """Return the marginal contributions of the terms at the positions `marginal`.

    The other parameters are those of `_split_terms`.
    """

    def evaluate(judgments: Judgments, prefix: Rankings) -> Floats:
        """Return the values of the marginal terms, shape (n_marginal, n_queries)."""
        # Terms depend on judgments: they are computed anew for those of a repeated topic.
        terms_of_judgments = terms
        if judgments is not run.rankings.judgments:
            terms_of_judgments = measure.terms(judgments)
        marginal_terms = [terms_of_judgments[index] for index in marginal]
        return np.stack([term.base.values(prefix, term.target) for term in marginal_terms])

    cutoff = last_rank([terms[index] for index in marginal])
    return _differences(run, evaluate, cutoff, values[marginal])


def last_rank(terms: list[Term]) -> int | None:
    """Return the last rank that can contribute to one of the terms; None if some have no cutoff."""
    last = 0
    for term in terms:
        if term.base.depth is None:
            return None
        last = max(last, term.base.depth)
    return last


def _gradient(measure: Measure, values: Floats, weights: Floats, measure_values: Floats) -> Floats:
    """Return the gradient of the measure at the values of the terms.

    Its product with the values is the value of the measure. Values and weights of the terms, and
    the result, have the shape (n_terms, n_queries). The gradient is NaN where it is unknown, or the
    measure is not homogeneous.
    """
    with np.errstate(all="ignore"):
        slope = measure.slope(values, weights)
        if slope is None:
            return np.full(values.shape, np.nan)
        # A term of value 0 may have an infinite slope; it contributes 0.
        slope = np.where(np.isfinite(slope), slope, 0.0)
        if measure.params.get("normalized"):
            # The slope is that of the combination of the terms. The normalised value is this
            # combination times a factor of the query, and so is its slope.
            combined = measure.combine(values, weights)
            ratio = measure_values / combined
            factor = np.where(combined != 0, ratio, 1.0)
            slope = slope * factor
    # Of homogeneous measures, slopes times values sum to the value (Euler's theorem). Where they do
    # not, the slopes do not split the value.
    total = (slope * values).sum(axis=0)
    difference = np.abs(total - measure_values)
    is_known = difference <= tolerance(measure_values)
    return np.where(is_known, slope, np.nan)


def _whole(measure: Measure, run: Prefixes | Topic, value: Floats) -> Part:
    """Return the measure as one part, by the values of the first ranks."""

    def evaluate(_: Judgments, prefix: Rankings) -> Floats:
        """Return the values of the measure, which reads the judgments from the rankings."""
        values = measure.evaluate(prefix)
        return values[np.newaxis]  # one output, shape (1, n_queries)

    cutoff = measure.params.get("cutoff")
    (part,) = _differences(run, evaluate, cutoff, value[np.newaxis])
    return part


def _differences(
    run: Prefixes | Topic, evaluate: Evaluation, cutoff: int | None, values: Floats
) -> Iterator[Part]:
    """Yield the differences of the values of the first k and k - 1 ranks, for each output.

    Parameters
    ----------
    run : Prefixes or Topic
        The run.
    evaluate : callable
        Returns outputs, such as the values of several terms, of shape (n_outputs, n_queries).
    cutoff : int, optional
        The last rank that can contribute.
    values : ndarray of float, shape (n_outputs, n_queries)
        The outputs for the whole rankings.
    """
    n_retrieved = run.rankings.hits.n_ret.max(initial=0)
    n_ranks = min(run.depth, int(n_retrieved))
    if cutoff is not None:
        n_ranks = min(n_ranks, cutoff)
    hits = run.rankings.top(n_ranks).dense()  # all retrieved documents, also unjudged ones
    prefix_values = run.prefix_values(evaluate, n_ranks)  # (n_outputs, n_queries, n_ranks + 1)
    for output_values, value in zip(prefix_values, values, strict=True):
        # Columns have the values of the first 0, 1, … ranks. So column k - 1 of the differences is
        # the contribution of rank k.
        differences = np.diff(output_values, axis=1)
        column = hits.rank - 1
        contribution = differences[hits.query, column]
        of_empty_ranking = output_values[:, 0]
        of_longest_prefix = output_values[:, -1]
        ones = np.ones(len(value))  # weights and slopes, unless the output is one of several terms
        yield Part(
            Breakdown(hits, contribution, offset=of_empty_ranking, how=MARGINAL),
            value=value,
            weight=ones,
            slope=ones,
            n_ranks=n_ranks,
            cutoff=cutoff,
            further=value - of_longest_prefix,
        )


def tolerance(value: Any, relative: float = _TOLERANCE) -> Any:
    """Return the tolerance for sums with the expected value or values `value`."""
    return relative * np.maximum(1.0, np.abs(value))


def _check_sum(breakdown: Breakdown, value: Floats, what: str, judgments: Judgments) -> None:
    """Raise an error if stated contributions do not sum to the values."""
    total = breakdown.values()
    difference = np.abs(total - value)
    wrong = np.flatnonzero(difference > tolerance(value))
    if len(wrong):
        query = wrong[0]
        raise MultiAspectError(
            f"the contributions of {what} sum to {total[query]:.6g} for topic "
            f"{judgments.qids[query]}, expected its value, {value[query]:.6g}. Correct its "
            "contributions; pt_multiaspect.testing.check_measure checks them"
        )


@dataclass(frozen=True, eq=False)
class Contributions:
    """The contributions of the first ranks, as in `Explanation.ranks`, for all topics of a run."""

    #: The value of the measure; shape (n_queries,).
    value: Floats
    #: Shape (n_queries, depth); 0 where fewer documents are retrieved. Further ranks, and amounts
    #: that belong to no single rank, contribute the rest of the value.
    ranks: Floats
    #: The part of the value that does not depend on the retrieved documents; shape (n_queries,).
    offset: Floats
    #: Whether contributions are marginal; shape (n_queries,).
    marginal: Bools

    @classmethod
    def of(cls, measure: Measure, run: Prefixes | Topic) -> Contributions:
        """Compute the contributions of `Measure.explain` at the first ranks, for all topics."""
        value = measure.evaluate(run.rankings)
        parts = split_value(measure, run, value)
        n_queries = len(parts.value)
        # Some queries are split into all terms, the others have the measure as one part. Each part
        # is listed with the mask of its queries.
        parts_and_queries = [(part, ~parts.is_whole) for part in parts.terms]
        if parts.whole is not None:
            parts_and_queries.append((parts.whole, parts.is_whole))
        offset = np.zeros(n_queries)
        ranks = np.zeros((n_queries, run.depth))
        is_marginal = np.zeros(n_queries, dtype=np.bool_)
        for part, applies in parts_and_queries:
            breakdown = part.breakdown
            hits = breakdown.hits
            has_column = hits.rank <= run.depth
            is_shown = applies[hits.query] & has_column
            query = hits.query[is_shown]
            column = hits.rank[is_shown] - 1  # columns begin with rank 1
            # Amounts of a term, times its slope, are amounts of the measure.
            contribution = breakdown.contribution[is_shown]
            slope = part.slope[query]
            ranks[query, column] += slope * contribution
            if breakdown.offset is not None:
                part_offset = part.slope * breakdown.offset
                offset += np.where(applies, part_offset, 0.0)
            if breakdown.how == MARGINAL:
                is_marginal |= applies
        # Adding 0 makes -0 to 0.
        return cls(parts.value, ranks + 0.0, offset + 0.0, is_marginal)
