"""Values as sums of contributions of ranks, for one topic of a run or for all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
            Computed on collections of limited size that repeat the topic.
        """
        if self.judgments.n_queries > 1:
            return Prefixes(self.rankings, n_ranks).prefix_values(evaluate, n_ranks)
        n_judged = max(len(self.judgments), 1)
        n_at_once = max(1, _MOST_JUDGED // n_judged)
        parts = []
        for start in range(0, n_ranks + 1, n_at_once):
            end = min(start + n_at_once, n_ranks + 1)
            lengths = list(range(start, end))
            judgments = self.judgments.repeat_query(self.query, len(lengths))
            prefixes = self._join(judgments, numbered_names(len(lengths)), lengths)
            parts.append(evaluate(judgments, prefixes))  # shape (n_outputs, n_lengths)
        values = np.concatenate(parts, axis=1)
        return values[:, None]

    def best(self) -> Topic | None:
        """Return the topic with a best ranking of all judged documents; None if none is known."""
        rank = self._best_rank()
        if rank is None:
            return None
        rows = np.flatnonzero(self.judgments.pool_query == self.query)
        rows_by_rank = rows[np.argsort(rank[rows])]
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
            gain = measure.document_gain(judgments)
            if gain is None or measure.gain_is_surrogate(judgments):
                return None
            return ranks_within_queries(judgments.pool_query, gain)
        # Sorting is fast. Otherwise an assignment problem is solved, too slowly for many documents.
        forms = forms_of(terms)
        base_sorts = len(terms) == 1 and terms[0].base.stated.sorting_is_optimal
        is_assignment = forms and not base_sorts and not is_by_sorting(forms)
        if is_assignment and len(judgments) > _MOST_ASSIGNED:
            return None
        try:
            return best_rank(measure, judgments)
        except MultiAspectError:  # if discounts increase, for example
            return None

    def _join(self, judgments: Judgments, qids: Sequence[str], lengths: list[int]) -> Rankings:
        """Return the first ranks of the ranking as runs for queries of the judgments."""
        query = np.repeat(np.arange(len(lengths)), lengths)
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
        slope = float(self.slope[query])
        is_hit = breakdown.hits.query == query
        position = breakdown.hits.rank[is_hit] - 1  # in arrays by rank, which begin with rank 1

        def by_rank(values: Floats, otherwise: float) -> Floats:
            """Return values of hits as one per rank; `otherwise` at ranks without a hit."""
            result = np.full(n, otherwise)
            result[position] = values[is_hit]
            return result

        gain = discount = swap_cost = norm = None
        if breakdown.gain is not None:
            gain = by_rank(breakdown.gain, np.nan)
        if breakdown.discount is not None:
            discount = by_rank(breakdown.discount, 0.0)
        if breakdown.swap_cost is not None:
            swap_cost = by_rank(breakdown.swap_cost, 0.0)
        if breakdown.norm is not None:
            norm = float(breakdown.norm[query])
        offset = 0.0
        if breakdown.offset is not None:
            offset = float(breakdown.offset[query])
        n_single = self._n_single(n)
        rest = self._rest(query, n, offset)
        return TopicPart(
            name=self.name,
            value=float(self.value[query]),
            weight=float(self.weight[query]),
            slope=slope,
            contribution=slope * by_rank(breakdown.contribution, 0.0) + 0.0,  # no -0
            offset=slope * offset,
            rest={text: slope * amount for text, amount in rest.items()},
            how=breakdown.how,
            n_single=n_single,
            gain=gain,
            discount=discount,
            norm=norm,
            columns={name: by_rank(values, np.nan) for name, values in breakdown.columns.items()},
            swap_cost=swap_cost,
        )

    def _n_reached(self, n: int) -> int:
        """Return how many of the first `n` ranks can contribute."""
        if self.cutoff is None:
            return n
        return min(n, self.cutoff)

    def _n_single(self, n: int) -> int | None:
        """Return the number of ranks that are compared; None if these are all that contribute."""
        if self.n_ranks is None or self.n_ranks >= self._n_reached(n):
            return None
        return self.n_ranks

    def _rest(self, query: int, n: int, offset: float) -> dict[str, float]:
        """Return the amounts that belong to no rank of one topic, by their description."""
        rest = {}
        for text, amounts in self.breakdown.rest.items():
            amount = float(amounts[query])
            if abs(amount) > tolerance(offset, _NOTHING):
                rest[text] = amount
        n_single = self._n_single(n)
        if n_single is not None and self.further is not None:
            first = n_single + 1
            last = self._n_reached(n)
            text = f"ranks {first} to {last}"
            if first == last:
                text = f"rank {last}"
            further = self.further[query]
            rest[text] = float(further)
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
    # Shape (n_terms, n_queries).
    values = np.stack([term.base.values(rankings, term.target) for term in terms])
    weights = np.stack([term.weight for term in terms])
    slopes = _gradient(measure, values, weights, value)
    is_unknown: Bools = np.asarray(np.isnan(slopes).any(axis=0))
    whole = None
    if is_unknown.any():
        whole = _whole(measure, run, value)
    if is_unknown.all():
        return Parts(value, [], whole, is_unknown)
    parts = []
    for index, term_part in enumerate(_split_terms(measure, run, terms, values)):
        name = terms[index].name
        part = replace(term_part, weight=weights[index], slope=slopes[index], name=name)
        parts.append(part)
    return Parts(value, parts, whole, is_unknown)


def _split_whole(measure: Measure, run: Prefixes | Topic, value: Floats) -> Parts:
    """Split the values of a measure without terms."""
    n_queries = len(value)
    ones = np.ones(n_queries)
    everywhere = np.ones(n_queries, dtype=np.bool_)
    rankings = run.rankings
    judgments = rankings.judgments
    stated = measure._breakdown(rankings, measure.views(judgments))
    if stated is None:
        whole = _whole(measure, run, value)
    else:
        _check_sum(stated, value, str(measure), judgments)
        whole = Part(stated, value, ones, ones)
    return Parts(value, [], whole, everywhere)


def _split_terms(
    measure: Measure, run: Prefixes | Topic, terms: list[Term], values: Floats
) -> list[Part]:
    """Split the values of each term, whose weights and slopes are not yet set."""
    rankings = run.rankings
    judgments = rankings.judgments
    ones = np.ones(values.shape[1])
    parts: dict[int, Part] = {}  # by the position of the term
    for index, term in enumerate(terms):
        ranking = rankings.top(term.base.depth)
        stated = term.base.breakdown(ranking, term.target)
        if stated is not None:
            _check_sum(stated, values[index], f"the base {term.base.text}", judgments)
            parts[index] = Part(stated, values[index], ones, ones)
    marginal = [index for index in range(len(terms)) if index not in parts]

    def evaluate(repeated: Judgments, prefix: Rankings) -> Floats:
        """Return the values of the terms that do not state their contributions."""
        repeated_terms = terms
        if repeated is not judgments:
            repeated_terms = measure.terms(repeated)
        marginal_terms = [repeated_terms[index] for index in marginal]
        return np.stack([term.base.values(prefix, term.target) for term in marginal_terms])

    if marginal:
        cutoff = last_rank([terms[index] for index in marginal])
        differences = _differences(run, evaluate, cutoff, values[marginal])
        parts.update(zip(marginal, differences, strict=True))
    return [parts[index] for index in range(len(terms))]


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
        combined = measure.combine(values, weights)
        if measure.params.get("normalized"):
            # A normalised value is the combination times a factor of the query.
            normalization = np.where(combined != 0, measure_values / combined, 1.0)
            slope = slope * normalization
    total = (slope * values).sum(axis=0)
    is_known = np.abs(total - measure_values) <= tolerance(measure_values)
    return np.where(is_known, slope, np.nan)


def _whole(measure: Measure, run: Prefixes | Topic, value: Floats) -> Part:
    """Return the measure as one part, by the values of the first ranks."""

    def evaluate(_: Judgments, prefix: Rankings) -> Floats:
        return measure.evaluate(prefix)[None]

    cutoff = measure.params.get("cutoff")
    (part,) = _differences(run, evaluate, cutoff, value[None])
    return part


def _differences(
    run: Prefixes | Topic, evaluate: Evaluation, cutoff: int | None, values: Floats
) -> Iterator[Part]:
    """Yield the differences of the values of the first k and k - 1 ranks, for each output."""
    n_retrieved = run.rankings.hits.n_ret.max(initial=0)
    n_ranks = min(run.depth, int(n_retrieved))
    if cutoff is not None:
        n_ranks = min(n_ranks, cutoff)
    hits = run.rankings.top(n_ranks).dense()
    prefix_values = run.prefix_values(evaluate, n_ranks)  # (n_outputs, n_queries, n_ranks + 1)
    for output_values, value in zip(prefix_values, values, strict=True):
        of_empty_ranking = output_values[:, 0]
        of_all_prefixes = output_values[:, -1]
        # The column k - 1 is the difference between the values of the first k and k - 1 ranks.
        differences = np.diff(output_values, axis=1)
        contribution = differences[hits.query, hits.rank - 1]
        ones = np.ones(len(value))
        yield Part(
            Breakdown(hits, contribution, offset=of_empty_ranking, how=MARGINAL),
            value=value,
            weight=ones,
            slope=ones,
            n_ranks=n_ranks,
            cutoff=cutoff,
            further=value - of_all_prefixes,
        )


def tolerance(value: Any, relative: float = _TOLERANCE) -> Any:
    """Return the tolerance for sums with the expected value or values `value`."""
    return relative * np.maximum(1.0, np.abs(value))


def _check_sum(breakdown: Breakdown, value: Floats, what: str, judgments: Judgments) -> None:
    """Raise an error if stated contributions do not sum to the values."""
    total = breakdown.values()
    wrong = np.flatnonzero(np.abs(total - value) > tolerance(value))
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
        parts = split_value(measure, run, measure.evaluate(run.rankings))
        n_queries = len(parts.value)
        # Each part with a mask of the queries to which it applies: the terms, or the whole measure.
        applicable = [(part, ~parts.is_whole) for part in parts.terms]
        if parts.whole is not None:
            applicable.append((parts.whole, parts.is_whole))
        offset = np.zeros(n_queries)
        ranks = np.zeros((n_queries, run.depth))
        is_marginal = np.zeros(n_queries, dtype=np.bool_)
        for part, applies in applicable:
            breakdown = part.breakdown
            hits = breakdown.hits
            is_shown = applies[hits.query] & (hits.rank <= run.depth)
            query = hits.query[is_shown]
            position = hits.rank[is_shown] - 1  # columns begin with rank 1
            contribution = breakdown.contribution[is_shown]
            ranks[query, position] += part.slope[query] * contribution
            if breakdown.offset is not None:
                part_offset = part.slope * breakdown.offset
                offset += np.where(applies, part_offset, 0.0)
            if breakdown.how == MARGINAL:
                is_marginal |= applies
        # Without -0.
        return cls(parts.value, ranks + 0.0, offset + 0.0, is_marginal)
