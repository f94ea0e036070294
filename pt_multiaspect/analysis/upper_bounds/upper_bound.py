"""The best value any ranking of the judged documents can reach."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd

from ..._typing import Floats, Ints
from ...bases import Term
from ...collection.judgments import Judgments
from ...errors import MultiAspectError, choices
from ...kernels.best_ranking import best_ranking
from ...measures import Measure
from .._frames import check_choice, check_count
from .beam_search import search
from .frank_wolfe import Candidates, best_of_mean, forms_of
from .rankings import (
    MOST_ASPECTS,
    SCORES,
    evaluate_at,
    ideal_rankings,
    judgments_of,
    measure_of,
    rankings_at,
    sorted_by,
)

__all__ = ["upper_bound"]

STRATEGIES = ("auto", "exact", "search", "recursive", "sum", "squares", "max")

#: Values and bounds this close are equal.
TOLERANCE = 1e-9


def upper_bound(
    qrels: object,
    measure: ir_measures.Measure | str,
    strategy: str = "auto",
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Find the best value that any ranking of the judged documents can reach.

    For CAM and MM it is often below 1, and different from topic to topic, because no ranking is the
    best by all aspects at once.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect.
    measure : measure or str
        CAM, MM, WHAM or GAM over nDCG, RBP, P, R, SetR, Rprec, AP, RR, ERR and Success, each with its
        cutoff; On or TOMA over one of them; uRBP, uRBPgr, unDCG or uERR. A measure of
        ir-measures is taken on the aspect relevance.
    strategy : {'auto', 'exact', 'search', 'recursive', 'sum', 'squares', 'max'}, default 'auto'
        How rankings are chosen; see Notes. 'auto' is 'exact' where that is possible, else 'search'.
    width : int, default 1000
        Of the search: how many beginnings of rankings are kept at each rank, fewer where documents are
        of very many kinds. More take longer and leave smaller gaps.
    rounds : int, default 20
        Of the search for MM, WHAM and GAM: how often weights are adapted.

    Returns
    -------
    DataFrame
        A row per judged query, columns ``qid strategy value bound gap``: how the ranking was
        found ('exact', 'search', 'recursive', …); the value of the best ranking found, which is
        really reached by it; what no ranking can exceed; and the difference of both, which is 0 where
        the value is proven to be the best.

    Raises
    ------
    MultiAspectError
        If the strategy is unknown or not possible for the measure, small values of the measure are
        good, or the measure cannot have an upper bound found.

    Notes
    -----
    Rankings are of judged documents; with these measures, more documents never score less.

    - 'exact': measures of one number a document (On, TOMA, uRBP and its kind) are best when
      documents are sorted by it. CAM over linear bases (nDCG, RBP, P, R, SetR, Rprec), which are sums over
      ranks of a discount times a gain, is best when documents are sorted by the weighted sum of
      their normalised gains, if discounts are the same, and else by assigning documents to ranks.
    - 'search': rankings are built from the top, `width` beginnings at a time, those first that could
      still come to most; the bound is the most that a beginning left aside could have come to. MM, WHAM
      and GAM, moreover, are nowhere above weighted sums that touch them: the best ranking by such a sum is
      found, then by the sum that touches at a better place, and so on (the Frank-Wolfe method). With two
      aspects, or few documents, the search mostly leaves no gap.
    - 'recursive' sorts by one aspect, ties by the next and so on; the best of all orders of
      preference counts. 'sum', 'squares' and 'max' sort by the sum of a document's values, of their
      squares, or by the greatest. These are the paper's estimates, and no bounds. Ties,
      on which the paper is silent, are broken by the aspects in their order. `bound` then is what
      comes of the best value on each aspect by itself.

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
    check_choice("strategy", strategy, STRATEGIES)
    width, rounds = check_count("width", width), check_count("rounds", rounds)
    judgments, one = judgments_of(qrels), measure_of(measure)
    if strategy == "auto":
        is_searched = one.terms(judgments) and _best_rank(one, judgments) is None
        strategy = "search" if is_searched else "exact"
    if strategy == "exact":
        value = bound = _exact(one, judgments)
    elif strategy == "search":
        value, bound = _search(one, judgments, width, rounds)
    else:
        paper = ideal_rankings(one, judgments)
        ranks = [rank for name, rank in paper if (name if name in SCORES else "recursive") == strategy]
        value = np.max([evaluate_at(one, judgments, rank) for rank in ranks], axis=0)
        bound = _separate_bound(one, judgments)
    bound = np.where(bound - value < TOLERANCE, value, bound)
    return pd.DataFrame(
        {
            "qid": judgments.qids,
            "strategy": strategy,
            "value": value,
            "bound": bound,
            "gap": bound - value,
        }
    )


def _best_rank(measure: Measure, judgments: Judgments) -> Ints | None:
    """The rank each judged document has in a best ranking; None if that is not known."""
    terms = measure.terms(judgments)
    if len(terms) == 1 and terms[0].base.SORTING_IS_OPTIMAL and measure.IS_INCREASING:
        return _best_alone(terms[0], judgments)
    forms = forms_of(terms)
    if not measure.IS_WEIGHTED_SUM or not forms:
        return None
    weighted = [(form, term.weight) for form, term in zip(forms, terms, strict=True)]
    return best_ranking(weighted, judgments.pool_query, judgments.n_queries)


def _exact(measure: Measure, judgments: Judgments) -> Floats:
    """The value of the best ranking."""
    rank = _best_rank(measure, judgments)
    if rank is None:
        _check_known(measure, measure.terms(judgments))
        raise MultiAspectError(
            f"the best ranking by {measure} is not known exactly: it is for weighted sums of bases that are sums "
            "over ranks (nDCG, DCG, RBP, P, R, SetR, Rprec, CRP) and for measures of one number a document; take "
            "strategy='search'"
        )
    return evaluate_at(measure, judgments, rank)


def _check_known(measure: Measure, terms: list[Term]) -> None:
    """Refuse a measure of which no bound is known."""
    unknown = dict.fromkeys(term.base.text for term in terms if term.base.progression(term.target) is None)
    if unknown or not terms:
        raise _unknown(choices(unknown) if unknown else str(measure))


def _unknown(measures: str) -> MultiAspectError:
    return MultiAspectError(
        f"it is not known which ranking is the best by {measures}; bounds are known for CAM, MM, WHAM and GAM over "
        "nDCG, DCG, CG, RBP, P, R, SetR, Rprec, AP, RR, ERR and Success, for CAM over CRP, and for measures of one "
        "number a document, such as On, TOMA, uRBP, uRBPgr, unDCG and uERR, over these"
    )


def _best_alone(term: Term, judgments: Judgments) -> Ints:
    """The best ranking by one term."""
    if term.base.SORTING_IS_OPTIMAL:
        return sorted_by(judgments, term.base.gain(term.target)[None])
    form = term.base.additive(term.target)
    if form is None:
        raise _unknown(term.base.text)
    return best_ranking([(form, np.ones(judgments.n_queries))], judgments.pool_query, judgments.n_queries)


def _separate_bound(measure: Measure, judgments: Judgments) -> Floats:
    """What the measure would be if every term had its best value at once."""
    terms = measure.terms(judgments)
    if len(terms) <= 1 or not measure.IS_INCREASING:
        return _exact(measure, judgments)
    rankings = [rankings_at(judgments, _best_alone(term, judgments)) for term in terms]
    best = np.stack([term.base.values(each, term.target) for term, each in zip(terms, rankings, strict=True)])
    bound = measure.combine(best, np.stack([term.weight for term in terms]))
    return np.where(bound > 0, 1.0, 0.0) if measure.params.get("normalized") else bound


def _search(measure: Measure, judgments: Judgments, width: int, rounds: int) -> tuple[Floats, Floats]:
    """The best value found, and what no ranking can exceed."""
    terms = measure.terms(judgments)
    if not measure.IS_INCREASING:
        raise _unknown(str(measure))
    if measure.params.get("normalized"):
        raise MultiAspectError(f"the best ranking by {measure} is known; take strategy='exact'")
    _check_known(measure, terms)
    candidates = Candidates(measure, judgments, terms)
    for term in terms:
        candidates.add(_best_alone(term, judgments))
    each = list(candidates.values)
    if len(measure.views(judgments)) < MOST_ASPECTS:
        for _, rank in ideal_rankings(measure, judgments):
            candidates.add(rank)
    weights = np.stack([term.weight for term in terms])
    best_alone = np.stack([values[place] for place, values in enumerate(each)])
    bound = measure.combine(best_alone, weights)
    if measure.IS_WEIGHTED_SUM:
        found = search(terms, judgments.pool_query, candidates.value, width)
        candidates.add(found.rank)
        return candidates.value, np.minimum(bound, found.bound)
    if measure.slope(np.ones_like(best_alone), weights) is not None:
        bound = best_of_mean(
            measure,
            judgments,
            candidates,
            bound=bound,
            point=np.mean(each, axis=0),
            width=width,
            rounds=rounds,
            tolerance=TOLERANCE,
        )
    return candidates.value, np.maximum(bound, candidates.value)
