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
from ..kernels.hits import Hits, positions, ranks_within_queries
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
    def _runs_by_length(self) -> list[Rankings]:
        """The first 0, 1, … ranks of all topics, each as a run."""
        return [self.rankings.cut(length) for length in range(self.depth + 1)]

    def prefix_values(self, evaluate: Evaluation, n_ranks: int) -> Floats:
        """Return the values of the first 0 to `n_ranks` ranks of all topics.

        The shape is (n_outputs, n_queries, n_ranks + 1).
        """
        values = []
        for prefix in self._runs_by_length[: n_ranks + 1]:
            values.append(evaluate(prefix.judgments, prefix))  # (n_outputs, n_queries)
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
        # `_join` takes several copies of the ranking, each with a query and a number of first ranks.
        return self._join(self.judgments, [qid], lengths=[all_ranks])

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
        # Blocks of prefixes are evaluated at once. Each prefix needs a copy of the judgments, which
        # limits the size of blocks.
        n_judged = max(len(self.judgments), 1)
        n_in_block = max(1, _MOST_JUDGED // n_judged)
        blocks = []
        for start in range(0, n_ranks + 1, n_in_block):
            end = min(start + n_in_block, n_ranks + 1)
            blocks.append(self._evaluate_prefixes(evaluate, range(start, end)))
        values = np.concatenate(blocks, axis=1)  # (n_outputs, n_ranks + 1)
        return np.expand_dims(values, axis=1)  # the topic is the only query

    def _evaluate_prefixes(self, evaluate: Evaluation, lengths: Sequence[int]) -> Floats:
        """Evaluate the first ranks of the ranking for several numbers of ranks at once.

        The topic is copied: each copy is a query, whose ranking is one prefix. The shape is
        (n_outputs, n_lengths).
        """
        n_copies = len(lengths)
        judgments = self.judgments.repeat_query(self.query, n_copies)
        qids = numbered_names(n_copies)
        prefixes = self._join(judgments, qids, lengths)
        return evaluate(judgments, prefixes)

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
            return self._rank_by_gain()
        # The best assignment of documents to ranks is not searched for among very many documents.
        is_too_slow = self._requires_assignment(terms) and len(judgments) > _MOST_ASSIGNED
        if is_too_slow:
            return None
        try:
            return best_rank(measure, judgments)
        except MultiAspectError:  # if discounts increase, for example
            return None

    def _rank_by_gain(self) -> Ints | None:
        """Return the rank of each judged document, sorted by the gains of the measure.

        None if this is not known to be a best ranking: if the measure has no gains per document, or
        they are a surrogate, which need not give a best ranking.
        """
        gain = self.measure.document_gain(self.judgments)
        if gain is None or self.measure.gain_is_surrogate(self.judgments):
            return None
        return ranks_within_queries(self.judgments.pool_query, gain)

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

    def _join(self, judgments: Judgments, qids: Sequence[str], lengths: Sequence[int]) -> Rankings:
        """Return a run of the queries `qids`, each with as many first ranks as its length.

        All of them are ranks of this topic's ranking; `judgments` are those of the queries.
        """
        # The rows of the run. For the lengths 1 and 2: query [0, 1, 1], position [0, 0, 1].
        query = np.repeat(np.arange(len(lengths)), lengths)
        position = positions(query)  # counts from 0 in each query
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

    def values_or_none(self, values_of_hits: Floats | None, otherwise: float) -> Floats | None:
        """Return `values`, or None if those of the hits are None, as they are not known."""
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
        """Return the contributions at the `n` ranks of one topic.

        Contributions, offset and rest, which sum to the value of the term, are multiplied by the
        slope, so that they sum to its part in the value of the measure. All else, such as gains,
        is that of the term.
        """
        breakdown = self.breakdown
        is_of_topic = breakdown.hits.query == query
        rank = breakdown.hits.rank[is_of_topic]
        ranks = _Ranks(n, is_of_topic, rank)
        columns = {}
        for name, values in breakdown.columns.items():
            columns[name] = ranks.values(values, np.nan)
        contribution = ranks.values(breakdown.contribution, 0.0)
        offset = _value_of_query(breakdown.offset, query) or 0.0
        rest = self._rest(query, n, offset)
        slope = float(self.slope[query])
        rest_of_measure = {text: slope * amount for text, amount in rest.items()}
        return TopicPart(
            name=self.name,
            value=float(self.value[query]),
            weight=float(self.weight[query]),
            slope=slope,
            contribution=slope * contribution + 0.0,  # no -0
            offset=slope * offset,
            rest=rest_of_measure,
            how=breakdown.how,
            n_single=self._n_single(n),
            gain=ranks.values_or_none(breakdown.gain, np.nan),
            discount=ranks.values_or_none(breakdown.discount, 0.0),
            norm=_value_of_query(breakdown.norm, query),
            columns=columns,
            swap_cost=ranks.values_or_none(breakdown.swap_cost, 0.0),
        )

    def amounts_by_rank(self, depth: int) -> Floats:
        """Return what the first ranks add to the measure, shape (n_queries, depth).

        It is 0 at ranks without a document.
        """
        hits = self.breakdown.hits
        is_shown = hits.rank <= depth
        query = hits.query[is_shown]
        column = hits.rank[is_shown] - 1  # columns begin with rank 1
        contribution = self.breakdown.contribution[is_shown]
        amounts = np.zeros((len(self.value), depth))
        # Contributions to the term, times its slope, are contributions to the measure.
        amounts[query, column] = self.slope[query] * contribution
        return amounts

    def _last_contributing_rank(self, n: int) -> int:
        """Return the last of the first `n` ranks that can contribute: `n`, or the cutoff above it."""
        if self.cutoff is None:
            return n
        return min(n, self.cutoff)

    def _n_single(self, n: int) -> int | None:
        """Return how many of the first `n` ranks have separate contributions.

        None if all ranks that can contribute have them. This is so if contributions are stated.
        Those that are differences of the values of prefixes are computed down to the rank
        `self.n_ranks` only: the ranks below, down to the cutoff, have one amount together.
        """
        if self.n_ranks is None:  # contributions are stated
            return None
        if self._last_contributing_rank(n) <= self.n_ranks:
            return None
        return self.n_ranks

    def _rest(self, query: int, n: int, offset: float) -> dict[str, float]:
        """Return the amounts of one topic with `n` ranks that belong to no rank, by description.

        They are in units of the term, like `offset`, which is another such amount.
        """
        rest = {}
        # What the breakdown states. Amounts that are very small, also relative to the offset, are
        # errors of rounding.
        rounding_error = tolerance(offset, _NOTHING)
        for text, amounts in self.breakdown.rest.items():
            amount = float(amounts[query])
            if abs(amount) > rounding_error:
                rest[text] = amount
        # What the ranks without separate contributions add together, if there are some.
        n_single = self._n_single(n)
        if n_single is not None and self.further is not None:
            first_rank = n_single + 1
            last_rank = self._last_contributing_rank(n)
            text = _text_of_ranks(first_rank, last_rank)
            rest[text] = float(self.further[query])
        return rest


def _value_of_query(values: Floats | None, query: int) -> float | None:
    """Return the value of one query; None if there are no values."""
    if values is None:
        return None
    return float(values[query])


def _text_of_ranks(first: int, last: int) -> str:
    """Return the description of a range of ranks."""
    if first == last:
        return f"rank {last}"
    return f"ranks {first} to {last}"


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

    def with_queries(self) -> list[tuple[Part, Bools]]:
        """Return each part with a mask of the queries whose value it is a part of.

        These are the queries of `is_whole` for the measure as one part, the others for each term.
        """
        is_split = ~self.is_whole
        parts_and_queries = [(part, is_split) for part in self.terms]
        if self.whole is not None:
            parts_and_queries.append((self.whole, self.is_whole))
        return parts_and_queries

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
    values = _values_of_terms(terms, rankings)
    weights = np.stack([term.weight for term in terms])
    slopes = _gradient(measure, values, weights, value)

    # A query has one part per term or, if its gradient is unknown (NaN), the measure as one part.
    is_whole: Bools = np.asarray(np.isnan(slopes).any(axis=0))
    whole = None
    if is_whole.any():
        whole = _whole(measure, run, value)
    parts = []
    if not is_whole.all():
        parts_of_terms = _split_terms(measure, run, terms, values)
        parts = _with_slopes(parts_of_terms, terms, slopes)
    return Parts(value, parts, whole, is_whole)


def _values_of_terms(terms: Sequence[Term], rankings: Rankings) -> Floats:
    """Return the value of each term for each query, shape (n_terms, n_queries)."""
    values = [term.base.values(rankings, term.target) for term in terms]
    return np.stack(values)


def _with_slopes(parts: Sequence[Part], terms: Sequence[Term], slopes: Floats) -> list[Part]:
    """Return the parts of terms with the names, weights and slopes of these.

    `slopes` are those of the measure, shape (n_terms, n_queries).
    """
    named = []
    for part, term, slope in zip(parts, terms, slopes, strict=True):
        named.append(replace(part, name=term.name, weight=term.weight, slope=slope))
    return named


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
    """Return the contributions that the base of a term states; None if it states none.

    The part is of the term, as if this were the measure: its weight and slope are 1.
    """
    evaluated_ranks = rankings.top(term.base.depth)  # down to the cutoff of the base
    stated = term.base.breakdown(evaluated_ranks, term.target)
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
        """Return the values of the marginal terms of the measure, for the first ranks of the run.

        The shape is (n_marginal, n_queries). Terms belong to judgments. Those of the prefix may be
        copies of the judgments of one topic, so terms are made for these.
        """
        terms_of_prefix = measure.terms(judgments)
        marginal_terms_of_prefix = [terms_of_prefix[index] for index in marginal]
        return _values_of_terms(marginal_terms_of_prefix, prefix)

    marginal_terms = [terms[index] for index in marginal]
    cutoff = last_rank(marginal_terms)
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
    """Return the gradient of the measure at the values of the terms, if it splits the value.

    It does if slopes times values sum to the value, as they do for homogeneous measures (Euler's
    theorem). For queries for which they do not, or the gradient is unknown, it is NaN. Values and
    weights of the terms, and the result, have the shape (n_terms, n_queries).
    """
    slope = _slope(measure, values, weights, measure_values)
    if slope is None:
        return np.full(values.shape, np.nan)
    total = (slope * values).sum(axis=0)
    difference = np.abs(total - measure_values)
    is_sum = difference <= tolerance(measure_values)
    return np.where(is_sum, slope, np.nan)


def _slope(
    measure: Measure, values: Floats, weights: Floats, measure_values: Floats
) -> Floats | None:
    """Return the slope of the measure in each term, None if it is unknown.

    A term of value 0 may have an infinite slope. As it contributes nothing, 0 stands for it.
    """
    with np.errstate(all="ignore"):
        slope = measure.slope(values, weights)
        if slope is None:
            return None
        slope = np.where(np.isfinite(slope), slope, 0.0)
        if measure.params.get("normalized"):
            # `slope` and `combine` are those of the mean before it is normalised.
            mean = measure.combine(values, weights)
            slope = slope * _normalising_factor(mean, measure_values)
    return slope


def _normalising_factor(mean: Floats, normalised: Floats) -> Floats:
    """Return by what the mean of each query is multiplied to normalise it; 1 if it is 0."""
    return np.where(mean != 0, normalised / mean, 1.0)


def _whole(measure: Measure, run: Prefixes | Topic, value: Floats) -> Part:
    """Return the measure as one part, by the values of the first ranks.

    `_differences` is for several outputs, such as terms. Here, the measure is the only one: arrays
    of shape (n_queries,) become (1, n_queries).
    """

    def evaluate(judgments: Judgments, prefix: Rankings) -> Floats:
        """Return the values of the measure for the first ranks, shape (1, n_queries).

        The judgments are also in `prefix`, where the measure finds them.
        """
        return np.stack([measure.evaluate(prefix)])

    cutoff = measure.params.get("cutoff")
    (part,) = _differences(run, evaluate, cutoff, values=np.stack([value]))
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
    n_ranks = _n_compared_ranks(run, cutoff)
    hits = run.rankings.top(n_ranks).dense()  # all retrieved documents, also unjudged ones
    # The outputs for the first 0, 1, …, n_ranks ranks: (n_outputs, n_queries, n_ranks + 1).
    prefix_values = run.prefix_values(evaluate, n_ranks)
    for prefix_values_of_output, value in zip(prefix_values, values, strict=True):
        breakdown = _break_down_by_prefixes(hits, prefix_values_of_output)
        value_of_longest_prefix = prefix_values_of_output[:, -1]
        ones = np.ones(len(value))  # the weight and the slope of an output that is the measure
        yield Part(
            breakdown,
            value=value,
            weight=ones,
            slope=ones,
            n_ranks=n_ranks,
            cutoff=cutoff,
            further=value - value_of_longest_prefix,
        )


def _n_compared_ranks(run: Prefixes | Topic, cutoff: int | None) -> int:
    """Return the length of the longest prefix: that of the longest ranking, or of what is shown.

    `run.depth` is the number of ranks that are shown. Ranks below the cutoff add nothing.
    """
    n_retrieved = run.rankings.hits.n_ret.max(initial=0)
    n_ranks = min(run.depth, int(n_retrieved))
    if cutoff is not None:
        n_ranks = min(n_ranks, cutoff)
    return n_ranks


def _break_down_by_prefixes(hits: Hits, prefix_values: Floats) -> Breakdown:
    """Return the values of rankings, with what each rank adds to the value of the ranks above it.

    `prefix_values` are the values of the first 0, 1, … ranks, shape (n_queries, n_ranks + 1). The
    values [.1, .5, .7] have the offset .1, and the contributions .4 of rank 1 and .2 of rank 2.
    """
    value_of_empty_ranking = prefix_values[:, 0]
    differences = np.diff(prefix_values, axis=1)
    column = hits.rank - 1  # the first difference is that of rank 1
    contribution = differences[hits.query, column]
    return Breakdown(hits, contribution, offset=value_of_empty_ranking, how=MARGINAL)


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
        n_queries = len(value)
        offset = np.zeros(n_queries)
        ranks = np.zeros((n_queries, run.depth))
        is_marginal = np.zeros(n_queries, dtype=np.bool_)
        for part, has_part in parts.with_queries():  # the mask of the queries that have the part
            amounts = part.amounts_by_rank(run.depth)
            ranks[has_part] += amounts[has_part]
            if part.breakdown.offset is not None:
                part_offset = part.slope * part.breakdown.offset
                offset[has_part] += part_offset[has_part]
            if part.breakdown.how == MARGINAL:
                is_marginal[has_part] = True
        # Adding 0 makes -0 to 0.
        return cls(value, ranks + 0.0, offset + 0.0, is_marginal)
