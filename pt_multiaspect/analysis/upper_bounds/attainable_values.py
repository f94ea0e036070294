"""Maximum attainable values of a measure per query, and ideal rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import ir_measures
import numpy as np
import pandas as pd

from ..._typing import Floats, Ints
from ..._validation import choice, count
from ...bases import Term
from ...collection import Judgments, Rankings
from ...errors import MultiAspectError, choices
from ...integration import parsing
from ...kernels.best_ranking import best_ranking
from ...kernels.forms import Additive, Linear
from ...kernels.hits import Hits, ranks_within_queries
from ...measures import Measure
from ...measures.best_rank import best_alone, best_rank, forms_of
from .beam_search import Mean, search

#: Strategies of the paper that sort documents by a score of their gains.
SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sum": lambda values: values.sum(axis=0),
    "squares": lambda values: (values**2).sum(axis=0),
    "max": lambda values: values.max(axis=0),
}

#: Maximum number of aspects for the recursive strategy: six have 720 orders of preference.
MOST_ASPECTS = 6


def sorted_judgments(qrels: object) -> Judgments:
    """Return the judgments of qrels, sorted by query and docno.

    The choice among equally good rankings is therefore independent of the order of rows.
    """
    judgments = Judgments.of(qrels)
    docno_codes, _ = pd.factorize(judgments.docnos, sort=True)
    # All rows of a pair that is judged more than once are kept, to detect conflicting labels.
    docno_of_row = judgments.row_values(docno_codes)
    query_of_row = judgments.row_values(judgments.pool_query)
    order = np.lexsort((docno_of_row, query_of_row))
    return judgments.take_rows(order)


def read_measure(measure: ir_measures.Measure | str) -> Measure:
    """Return one measure of this package."""
    checked = parsing.as_measure(parsing.parse_one(measure))
    checked.validate_params()
    if checked.lower_is_better:
        raise MultiAspectError(
            f"upper_bound is undefined for lower-is-better measures such as {checked}"
        )
    return checked


def rankings_at(judgments: Judgments, rank: Ints) -> Rankings:
    """Return the run with each judged document at the given rank."""
    columns = {
        "qid": judgments.qids[judgments.pool_query],
        "docno": judgments.docnos,
        "score": -rank,  # rank 1 has the highest score
    }
    return Rankings(pd.DataFrame(columns), judgments)


def evaluate_at(measure: Measure, judgments: Judgments, rank: Ints) -> Floats:
    """Return the values of a measure for the given ranks of the judged documents."""
    return measure.evaluate(rankings_at(judgments, rank))


def ideal_rankings(measure: Measure, judgments: Judgments) -> list[tuple[str, Ints]]:
    """Return the names of the paper's rankings, and the rank of each judged document in them.

    There is one ranking per order of preference of the aspects, such as 'a > b', and one per score
    of `SCORES`.
    """
    views = measure.views(judgments)
    if len(views) > MOST_ASPECTS:
        names = choices(view.name for view in views)
        raise MultiAspectError(
            "strategy='recursive' tries all orders of the aspects: expected at most "
            f"{MOST_ASPECTS} aspects, got {len(views)} for {measure.NAME}: {names}"
        )
    query = judgments.pool_query
    gains = np.stack([view.scale.gains[view.grade] for view in views])  # (n_aspects, n_pool)
    rankings = []
    for preference in permutations(range(len(views))):
        name = " > ".join(views[aspect].name for aspect in preference)
        # Documents are sorted by the first aspect, ties by the second, and so on.
        preferred_gains = gains[list(preference)]
        rankings.append((name, ranks_within_queries(query, *preferred_gains)))
    for name, score in SCORES.items():
        score_of_documents = score(gains)
        rankings.append((name, ranks_within_queries(query, score_of_documents, *gains)))
    return rankings


STRATEGIES = ("auto", "exact", "search", "recursive", "sum", "squares", "max")

#: Tolerance for equal values and bounds.
TOLERANCE = 1e-9


def upper_bound(
    qrels: object,
    measure: ir_measures.Measure | str,
    strategy: str = "auto",
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Compute the maximum attainable value of a measure for each query.

    For CAM and MM, it is often below 1 and differs between topics, because no ranking is ideal for
    all aspects at once.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measure : measure or str
        CAM, MM, WHAM or GAM over nDCG, RBP, P, R, SetR, Rprec, AP, RR, ERR and Success, with or
        without cutoffs; On or TOMA over one of these; uRBP, uRBPgr, unDCG or uERR. ir-measures
        measures evaluate relevance.
    strategy : {'auto', 'exact', 'search', 'recursive', 'sum', 'squares', 'max'}, default 'auto'
        The choice of rankings (see Notes). 'auto' is 'exact' if possible, else 'search'.
    width : int, default 1000
        Beam width of the search: number of partial rankings kept per rank (fewer for topics with
        many distinct label tuples). Larger values take longer and tighten the bound.
    rounds : int, default 20
        Maximum number of Frank-Wolfe iterations in the search for MM, WHAM and GAM.

    Returns
    -------
    DataFrame
        One row per judged query, with columns ``qid strategy value bound gap``: the strategy that
        found the ranking ('exact', 'search', 'recursive', …); the value of the best ranking found;
        an upper bound for all rankings; and bound - value, which is 0 if the value is proven to be
        the maximum.

    Raises
    ------
    MultiAspectError
        If the strategy is unknown or does not apply to the measure, lower is better for the
        measure, or no upper bound is known for it.

    Notes
    -----
    Rankings contain all judged documents, as these measures never decrease if documents are
    appended. If the lowest grades have probabilities above 0, unjudged documents contribute to
    uRBPgr: the bound includes the contribution of any number of them below the judged ones.

    - 'exact': measures with one gain per document (On, TOMA, uRBP, uRBPgr, unDCG, uERR) are
      maximised by sorting documents by that gain. CAM over linear bases (nDCG, RBP, P, R, SetR,
      Rprec), which are discounted sums of gains, is maximised by sorting documents by the weighted
      sum of their normalised gains if all discounts are equal, else by solving an assignment
      problem.
    - 'search': a beam search builds rankings from rank 1 down and keeps the `width` partial
      rankings with the highest upper bounds; the maximum bound of the others bounds the result. MM,
      WHAM and GAM are concave and bounded by their tangents, which are weighted sums: the search
      repeatedly maximises a tangent and moves to a better point (the Frank-Wolfe method). With two
      aspects, or few documents, it usually leaves no gap.
    - 'recursive' sorts by one aspect, ties by the next aspect and so on; the best of all orders of
      preference is returned. 'sum', 'squares' and 'max' sort by the sum of a document's gains, the
      sum of their squares, or their maximum. These are the paper's estimates of the maximum, not
      bounds. Ties, which the paper does not specify, are broken by the aspects in their order.
      `bound` is then the value of the measure if each aspect had its own best ranking.

    References
    ----------
    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021, §4.2, "Estimating CAM and MM Upper Bound".
    Jaggi: Revisiting Frank-Wolfe: Projection-Free Sparse Convex Optimization. ICML 2013.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels = {"d1": (1, 2), "d2": (3, 1), "d3": (3, 0)}
    >>> qrels = {"q1": {d: {"relevance": r, "correctness": c} for d, (r, c) in labels.items()}}
    >>> measure = ma.CAM(base="nDCG", aspects={"relevance": 3, "correctness": 2})
    >>> ma.analysis.upper_bound(qrels, measure).round(4)
      qid strategy   value   bound  gap
    0       q1    exact  0.9073  0.9073  0.0
    >>> ma.analysis.upper_bound(qrels, measure, "squares").round(4)
      qid strategy   value  bound     gap
    0       q1  squares  0.8801    1.0  0.1199
    """
    choice("strategy", *STRATEGIES)(strategy)
    width = count("width")(width)
    rounds = count("rounds")(rounds)
    judgments = sorted_judgments(qrels)
    checked = read_measure(measure)
    _check_gains(checked, judgments)
    if strategy == "auto":
        strategy = _best_strategy(checked, judgments)

    if strategy == "exact":
        value = _exact(checked, judgments)
        bound = value
    elif strategy == "search":
        value, bound = _search(checked, judgments, width, rounds)
    else:
        value = _best_ideal_value(checked, judgments, strategy)
        bound = _separate_bound(checked, judgments)
    bound = bound + _unjudged_contribution(checked, judgments)
    # Sums in different orders are rounded differently: a tiny gap is none.
    is_proven = bound - value < TOLERANCE
    bound = np.where(is_proven, value, bound)

    columns = {
        "qid": judgments.qids,
        "strategy": strategy,
        "value": value,
        "bound": bound,
        "gap": bound - value,
    }
    result = pd.DataFrame(columns)
    parsing.record_measures(result, {str(measure): checked})
    return result


def _check_gains(measure: Measure, judgments: Judgments) -> None:
    """Raise an error if a base adds up gains, and negative ones are declared."""
    for term in measure.terms(judgments):
        # Bases that read only the order of gains, such as CRP, have a rank for harmful documents.
        adds_up_gains = not term.base.stated.is_ordinal
        if adds_up_gains:
            term.check_gains(f"the upper bound of {measure}")


def _best_strategy(measure: Measure, judgments: Judgments) -> str:
    """Return 'search' if a measure has terms but no known best ranking, else 'exact'.

    Terms are the base measures, with weights, that the measure is a mean of.
    """
    # The search places documents by the gains of terms: without terms, only 'exact' is left, which
    # raises an error if the best ranking is not known.
    if not measure.terms(judgments):
        return "exact"
    if best_rank(measure, judgments) is None:
        return "search"
    return "exact"


def _best_ideal_value(measure: Measure, judgments: Judgments, strategy: str) -> Floats:
    """Return the best value of each query by the rankings of one of the paper's strategies."""
    values = []
    for name, rank in ideal_rankings(measure, judgments):
        if name in SCORES:
            strategy_of_ranking = name
        else:
            strategy_of_ranking = "recursive"  # an order of preference, such as 'a > b'
        if strategy_of_ranking == strategy:
            values.append(evaluate_at(measure, judgments, rank))
    return np.asarray(np.max(values, axis=0))


def _exact(measure: Measure, judgments: Judgments) -> Floats:
    """Return the value of the best ranking of each query, or raise an error if it is not known."""
    rank = best_rank(measure, judgments)
    if rank is None:
        _check_known(measure, measure.terms(judgments))
        raise MultiAspectError(
            "strategy='exact' requires a weighted sum of bases that are sums over ranks, such as "
            f"nDCG, or a measure with one gain per document, such as TOMA, got {measure}; use "
            "strategy='search'"
        )
    return evaluate_at(measure, judgments, rank)


def _unjudged_contribution(measure: Measure, judgments: Judgments) -> Floats:
    """Return how much unjudged documents below all judged ones can add to the value of each query.

    It is 0 unless the lowest grade has a gain.
    """
    contribution = np.zeros(judgments.n_queries)
    for term in measure.terms(judgments):
        form = term.base.additive(term.target)
        # Only linear bases give unjudged documents a gain.
        if isinstance(form, Linear):
            value_of_unjudged = form.beyond()
            contribution += term.weight * value_of_unjudged
    # Contributions to the terms can be added up only in a weighted sum.
    if contribution.any() and not measure.stated.is_weighted_sum:
        raise _unknown(f"{measure} with gains of unjudged documents")
    return contribution


def _check_known(measure: Measure, terms: list[Term]) -> None:
    """Raise an error if no bound is known for a measure."""
    if not terms:
        raise _unknown(str(measure))
    unknown: dict[str, None] = {}
    for term in terms:
        if term.base.progression(term.target) is None:
            unknown[term.base.text] = None
    if unknown:
        raise _unknown(choices(unknown))


def _unknown(measures: str) -> MultiAspectError:
    """Return the error for measures or bases without a known upper bound."""
    return MultiAspectError(
        f"no upper bound is known for {measures}: expected a measure whose bases are computed rank "
        "by rank, such as nDCG, AP or ERR (they define `progression`), and whose value never falls "
        "if that of a base rises; or a weighted sum of bases that are sums over ranks, such as CRP "
        "(they define `additive`)"
    )


def _best_alone(term: Term, judgments: Judgments) -> Ints:
    """Return the rank of each judged document in the best ranking for a single term."""
    rank = best_alone(term, judgments)
    if rank is None:
        raise _unknown(term.base.text)
    return rank


def _separate_bound(measure: Measure, judgments: Judgments) -> Floats:
    """Return the value of the measure, by query, if each term had its own best ranking.

    A term is a base measure on one aspect. No ranking can be the best for all terms at once, so
    that this is an upper bound of the measure.
    """
    terms = measure.terms(judgments)
    if len(terms) <= 1:
        # The best ranking for a single term is that for the measure.
        return _exact(measure, judgments)
    if not measure.stated.never_falls_with_terms:
        # With lower values of the terms, the measure might be higher: they imply no bound.
        return _exact(measure, judgments)
    best_values = []
    for term in terms:
        best_ranking_of_term = rankings_at(judgments, _best_alone(term, judgments))
        best_values.append(term.base.values(best_ranking_of_term, term.target))
    values = np.stack(best_values)  # (n_terms, n_queries)
    weights = np.stack([term.weight for term in terms])
    bound = measure.combine(values, weights)
    is_normalised = measure.params.get("normalized")
    if not is_normalised:
        return bound
    # The measure divides each value by the best attainable one: the best ranking has the value 1.
    # But if no ranking has a value above 0, the measure is 0.
    can_be_positive = bound > 0
    return np.where(can_be_positive, 1.0, 0.0)


def _search(
    measure: Measure, judgments: Judgments, width: int, rounds: int
) -> tuple[Floats, Floats]:
    """Return the best value that a search finds for each query, and an upper bound of all values.

    `width` and `rounds` are those of `upper_bound`.
    """
    terms = measure.terms(judgments)
    _check_searchable(measure, terms)
    # Evaluate rankings that are known beforehand, and remember the best value of each query.
    candidates = _Candidates(measure, judgments, width)
    values_by_ranking = _add_best_alone(candidates, terms, judgments)
    # The orders of preference of more aspects are too many.
    if len(measure.views(judgments)) < MOST_ASPECTS:
        for _, rank in ideal_rankings(measure, judgments):
            candidates.add(rank)

    # No ranking is better than if each term had the value of its own best ranking.
    best_values = []  # (n_terms, n_queries)
    for term, values_of_best_ranking in enumerate(values_by_ranking):
        best_values.append(values_of_best_ranking[term])
    separate_bound = measure.combine(np.stack(best_values), candidates.weights)

    if measure.stated.is_weighted_sum:
        # A beam search maximises the sum itself, and has another bound.
        bound_of_search = candidates.search(terms, candidates.value)
        return candidates.value, np.minimum(separate_bound, bound_of_search)
    bound = separate_bound
    if _has_slopes(measure, candidates.weights):
        # Other means are maximised by their tangents, from between the best rankings of the terms.
        start = values_by_ranking.mean(axis=0)
        bound = candidates.improve(separate_bound, start, rounds)
    # Rounding errors must not put the bound below an attained value.
    return candidates.value, np.maximum(bound, candidates.value)


def _has_slopes(measure: Measure, weights: Floats) -> bool:
    """Return whether a measure defines its slopes in the terms: if so, it does at any point."""
    any_point = np.ones_like(weights)
    return measure.slope(any_point, weights) is not None


def _add_best_alone(candidates: _Candidates, terms: list[Term], judgments: Judgments) -> Floats:
    """Add the best ranking for each term alone to the candidates, and return its values.

    Element [i, j] has the value of term j by the best ranking for term i, by query.
    """
    values = []
    for term in terms:
        rank = _best_alone(term, judgments)
        values.append(candidates.add(rank))
    return np.stack(values)


def _check_searchable(measure: Measure, terms: list[Term]) -> None:
    """Raise an error if the search does not apply to a measure with these terms."""
    if not measure.stated.never_falls_with_terms:
        raise _unknown(str(measure))
    # Values are divided by those of the best ranking, which must be known for that.
    is_normalised = measure.params.get("normalized")
    if is_normalised:
        raise MultiAspectError(
            f"strategy='search' does not apply to {measure}, whose best ranking is known; use "
            "strategy='exact'"
        )
    _check_known(measure, terms)


class _Candidates:
    """The values of the rankings evaluated so far, and the best value of each query."""

    def __init__(self, measure: Measure, judgments: Judgments, width: int) -> None:
        self._measure = measure
        self._judgments = judgments
        #: The width of beam searches.
        self._width = width
        #: The measure's terms: base measures, each on one aspect, with a weight.
        self._terms = measure.terms(judgments)
        #: The weights of the terms, shape (n_terms, n_queries).
        self.weights = np.stack([term.weight for term in self._terms])
        #: The values of the terms, shape (n_terms, n_queries), of each ranking.
        self._values: list[Floats] = []
        #: The best value of each query; below all values before the first ranking is added.
        self.value = np.full(judgments.n_queries, -np.inf)

    def add(self, rank: Ints) -> Floats:
        """Add a ranking, and return the values of its terms, shape (n_terms, n_queries).

        `rank` is the rank of each judged document.
        """
        rankings = rankings_at(self._judgments, rank)
        values_of_terms = []
        for term in self._terms:
            values_of_terms.append(term.base.values(rankings, term.target))
        values = np.stack(values_of_terms)
        self._values.append(values)
        combined = self._measure.combine(values, self.weights)
        self.value = np.maximum(self.value, combined)
        return values

    def search(self, terms: list[Term], floor: Floats, mean: Mean | None = None) -> Floats:
        """Add the best ranking that a beam search finds, and return the upper bound of each query.

        Values up to `floor`, one per query, are not searched for.
        """
        query = self._judgments.pool_query
        rank, bound = search(terms, query, floor, self._width, mean=mean)
        self.add(rank)
        return bound

    def improve(self, bound: Floats, point: Floats, rounds: int) -> Floats:
        """Maximise a concave mean by the Frank-Wolfe method, and return an upper bound.

        A concave mean is at most its tangent at any point. Each round maximises the tangent, a
        weighted sum of the terms, which gives an upper bound and a ranking, and then moves the
        point towards the values of that ranking. Rankings found are added to the candidates.

        Parameters
        ----------
        bound : ndarray of float, shape (n_queries,)
            The best known upper bound.
        point : ndarray of float, shape (n_terms, n_queries)
            Initial values of the terms, in the convex hull of the attainable values.
        rounds : int
            As in `upper_bound`.
        """
        for _ in range(rounds):
            slope = self._slope(point, bound)
            best_values, tangent_bound = self._maximise(slope)
            lower_bound = np.minimum(bound, tangent_bound)
            # A bound of 0 cannot be lowered, and there is no tangent.
            bound = np.where(bound > 0, lower_bound, bound)
            if self._is_solved(bound):
                return bound
            point = self._best_between(point, best_values)
        # Also without any round, the bound may be attained already.
        if self._is_solved(bound):
            return bound
        return self._search_mean(bound, point)

    def _search_mean(self, bound: Floats, point: Floats) -> Floats:
        """Search for the best ranking by the mean itself, and return the lower upper bound.

        Tangents leave a gap where no single ranking has the best point. The search drops partial
        rankings by the tangent at the given point. Parameters are those of `improve`.
        """
        slope = self._slope(point, bound)
        mean = Mean(self._measure.combine, slope, bound)
        bound_of_search = self.search(self._terms, self.value, mean)
        return np.minimum(bound, bound_of_search)

    def _is_solved(self, bound: Floats) -> bool:
        """Return whether the best values found reach their upper bounds on all queries."""
        gap = bound - self.value
        return bool((gap < TOLERANCE).all())

    def _best_between(self, start: Floats, end: Floats) -> Floats:
        """Return the point with the highest mean, by query, of a grid from one point to another.

        Points are values of the terms, shape (n_terms, n_queries).
        """
        # The position between the points: 0 is the start, 1 the end.
        positions = np.linspace(0.0, 1.0, 65)
        means = []  # (n_positions, n_queries)
        for position in positions:
            between = (1 - position) * start + position * end
            means.append(self._measure.combine(between, self.weights))
        index_of_best = np.argmax(means, axis=0)
        best_position = positions[index_of_best]  # (n_queries,)
        best: Floats = (1 - best_position) * start + best_position * end
        return best

    def _slope(self, point: Floats, bound: Floats) -> Floats:
        """Return the slopes of the mean in each term at a point, shape (n_terms, n_queries).

        They are 0 for queries whose upper bound is 0, which need no search.
        """
        # The means are concave, so that the tangent at any point is an upper bound. One such as the
        # harmonic mean has an infinite slope where a value is 0: take the tangent at 1 there.
        positive_point = np.where(point > 0, point, 1.0)
        slope = self._measure.slope(positive_point, self.weights)
        finite_slope = np.asarray(slope, dtype=np.float64)
        needs_search = bound > 0
        return np.where(needs_search, finite_slope, 0.0)

    def _maximise(self, slope: Floats) -> tuple[Floats, Floats]:
        """Find a ranking with a high Σ slope · term, by query, and add it to the candidates.

        Parameters
        ----------
        slope : ndarray of float, shape (n_terms, n_queries)
            The slopes of the mean, which are the weights of its tangent.

        Returns
        -------
        values : ndarray of float, shape (n_terms, n_queries)
            The values of the terms by the candidate with the highest sum: the ranking found, or an
            earlier one.
        bound : ndarray of float, shape (n_queries,)
            An upper bound of the sum for all rankings.
        """
        forms = forms_of(self._terms)
        if forms is None:
            bound = self._search_weighted_sum(slope)
        else:
            # All terms are sums over ranks. The best ranking for their weighted sum is known.
            bound = self._add_best_of_sum(forms, slope)
        best_values, _ = self._best_for_weights(slope)
        return best_values, bound

    def _add_best_of_sum(self, forms: list[Additive], slope: Floats) -> Floats:
        """Add the ranking with the maximum of Σ slope · term, and return that maximum by query.

        The terms are sums over ranks, of the given forms.
        """
        query = self._judgments.pool_query
        n_queries = self._judgments.n_queries
        weighted_forms = list(zip(forms, slope, strict=True))
        rank = best_ranking(weighted_forms, query, n_queries)
        self.add(rank)

        # All judged documents are in the ranking.
        documents = np.arange(len(rank))
        hits = Hits.of_rows(n_queries, query, documents, rank)
        weighted_values = []
        for form, slope_of_term in weighted_forms:
            weighted_values.append(slope_of_term * form.values(hits))
        return np.asarray(np.sum(weighted_values, axis=0))

    def _search_weighted_sum(self, slope: Floats) -> Floats:
        """Add the ranking that a beam search finds, and return a bound of Σ slope · term."""
        weighted_terms = []
        for term, slope_of_term in zip(self._terms, slope, strict=True):
            weighted_terms.append(replace(term, weight=slope_of_term))
        # Only higher sums than those of the candidates so far are searched for.
        _, highest_sum = self._best_for_weights(slope)
        return self.search(weighted_terms, highest_sum)

    def _best_for_weights(self, weights: Floats) -> tuple[Floats, Floats]:
        """Choose the candidate with the maximum weighted sum of the terms for each query.

        Parameters
        ----------
        weights : ndarray of float, shape (n_terms, n_queries)

        Returns
        -------
        best_values : ndarray of float, shape (n_terms, n_queries)
            The values of the terms by the chosen candidates.
        highest_sums : ndarray of float, shape (n_queries,)
            Their weighted sums.
        """
        best_values = np.zeros_like(weights)
        highest_sums = np.full(weights.shape[1], -np.inf)
        for values in self._values:
            weighted_values = weights * values
            sums = weighted_values.sum(axis=0)
            is_higher = sums > highest_sums  # by query
            best_values = np.where(is_higher, values, best_values)
            highest_sums = np.where(is_higher, sums, highest_sums)
        return best_values, highest_sums


def attainable(
    qrels: object,
    measures: parsing.Measures,
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Compute the fraction of topics with a ranking of value 1.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        As in `upper_bound`; a mapping is ``{alias: measure}``.
    width, rounds : int
        As in `upper_bound`.

    Returns
    -------
    DataFrame
        One row per measure, with columns ``measure``; ``n_queries``, the number of judged queries;
        the fractions of queries, in [0, 1], on which 1 is ``attainable``, ``unattainable`` or
        ``undecided`` (the search left a gap); and ``minimum``, the minimum over queries of the best
        value found.

    Raises
    ------
    MultiAspectError
        If the qrels are empty, no measure is given, or `upper_bound` raises an error.

    Notes
    -----
    Topics without positive labels on some aspect are included: their maximum CAM is below 1 and
    their maximum MM is 0, unless ``empty='drop'``.

    References
    ----------
    Maistro et al., CIKM 2021, §4.2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {
    ...         "d1": {"relevance": 1, "credibility": 0},
    ...         "d2": {"relevance": 0, "credibility": 1},
    ...     },
    ...     "q2": {"d1": {"relevance": 1, "credibility": 1}},
    ... }
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> table = ma.analysis.attainable(qrels, [ma.CAM(aspects=aspects), "nDCG"])
    >>> table[["n_queries", "attainable", "unattainable", "undecided", "minimum"]].round(3)
       n_queries  attainable  unattainable  undecided  minimum
    0          2         0.5           0.5        0.0    0.815
    1          2         1.0           0.0        0.0    1.000
    """
    judgments = Judgments.of(qrels)
    if not judgments.n_queries:
        raise MultiAspectError("expected qrels with at least one query, got none")
    rows = []
    for label, measure in parsing.parse_all(measures).items():
        bounds = upper_bound(judgments, measure, width=width, rounds=rounds)
        is_attained = bounds["value"] >= 1 - TOLERANCE
        is_possible = bounds["bound"] >= 1 - TOLERANCE
        is_undecided = is_possible & ~is_attained
        row = {
            "measure": label,
            "n_queries": len(bounds),
            "attainable": is_attained.mean(),
            "unattainable": (~is_possible).mean(),
            "undecided": is_undecided.mean(),
            "minimum": bounds["value"].min(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def ideal_values(qrels: object, measure: ir_measures.Measure | str) -> pd.DataFrame:
    """Evaluate the rankings that Maistro et al. consider ideal.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measure : measure or str
        A measure of this package, with at most six aspects. ir-measures measures evaluate
        relevance.

    Returns
    -------
    DataFrame
        Columns ``qid strategy value``. For each judged query, there is one row for each order of
        preference of the aspects, such as ``relevance > credibility``, and one row each for 'sum',
        'squares' and 'max' (see `upper_bound`).

    Raises
    ------
    MultiAspectError
        If there are more than six aspects.

    References
    ----------
    Maistro et al., CIKM 2021, §4.2 and Fig. 2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels = {"d1": (1, 2), "d2": (3, 1), "d3": (3, 0)}
    >>> qrels = {"q1": {d: {"relevance": r, "correctness": c} for d, (r, c) in labels.items()}}
    >>> measure = ma.CAM(base="nDCG", aspects={"relevance": 3, "correctness": 2})
    >>> ma.analysis.ideal_values(qrels, measure).round(4)
      qid                 strategy   value
    0       q1  relevance > correctness  0.8801
    1       q1  correctness > relevance  0.9073
    2       q1                      sum  0.8801
    3       q1                  squares  0.8801
    4       q1                      max  0.8801
    """
    judgments = sorted_judgments(qrels)
    checked = read_measure(measure)
    names = []
    values = []
    for name, rank in ideal_rankings(checked, judgments):
        names.append(name)
        values.append(evaluate_at(checked, judgments, rank))
    values_by_query = np.stack(values, axis=1)  # (n_queries, n_rankings)
    columns = {
        "qid": np.repeat(judgments.qids, len(names)),
        "strategy": names * judgments.n_queries,
        "value": values_by_query.ravel(),
    }
    result = pd.DataFrame(columns)
    parsing.record_measures(result, {str(measure): checked})
    return result
