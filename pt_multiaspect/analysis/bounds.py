"""The best value any ranking of the judged documents can reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
from ir_measures import Measure

from ..errors import MultiAspectError, choices
from ..integration import parsing
from ..judgments import Judgments
from ..kernels.layout import Floats, Ints, positions
from ..measures import CAM
from ..measures.base import MultiAspectMeasure
from ..measures.optimum import best_sum
from ..measures.score_aggregation import ScoreAggregation
from ..measures.single import Term
from ..rankings import Rankings
from ._frames import check_choice, check_count
from ._search import Mean, can_search, search

__all__ = ["attainable", "ideal_values", "upper_bound"]

STRATEGIES = ("auto", "exact", "search", "recursive", "sum", "squares", "max")

#: Of the paper: sort documents by one number of their labels.
_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sum": lambda values: values.sum(axis=0),
    "squares": lambda values: (values**2).sum(axis=0),
    "max": lambda values: values.max(axis=0),
}

#: With more aspects, the recursive strategy has too many orders of preference (720 of six).
_MOST_ASPECTS = 6

#: Values and bounds this close are equal.
_TOLERANCE = 1e-9


def upper_bound(
    qrels: object,
    measure: Measure | str,
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
    judgments, one = _judgments(qrels), _read(measure)
    if strategy == "auto":
        strategy = "exact" if _is_exact(one) else "search"
    if strategy == "exact":
        value = bound = _exact(one, judgments)
    elif strategy == "search":
        value, bound = _search(one, judgments, width, rounds)
    else:
        paper = _ideal_rankings(one, judgments)
        ranks = [rank for name, rank in paper if (name if name in _SCORES else "recursive") == strategy]
        value = np.max([_evaluate(one, judgments, rank) for rank in ranks], axis=0)
        bound = _separate_bound(one, judgments)
    bound = np.where(bound - value < _TOLERANCE, value, bound)
    return pd.DataFrame(
        {
            "qid": judgments.qids,
            "strategy": strategy,
            "value": value,
            "bound": bound,
            "gap": bound - value,
        }
    )


def ideal_values(qrels: object, measure: Measure | str) -> pd.DataFrame:
    """Evaluate the rankings that the paper takes for ideal, to show how far they are from 1 and apart.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect.
    measure : measure or str
        Any measure of this package, of at most six aspects; one of ir-measures is taken on relevance.

    Returns
    -------
    DataFrame
        Columns ``qid strategy value``, for each judged query a row per order of preference among
        the aspects, such as ``relevance > credibility``, and one each for 'sum', 'squares' and 'max';
        see `upper_bound`.

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
    judgments, one = _judgments(qrels), _read(measure)
    paper = _ideal_rankings(one, judgments)
    values = np.stack([_evaluate(one, judgments, rank) for _, rank in paper])
    return pd.DataFrame(
        {
            "qid": np.repeat(judgments.qids, len(paper)),
            "strategy": [name for name, _ in paper] * judgments.n_queries,
            "value": values.T.ravel(),
        }
    )


def attainable(
    qrels: object,
    measures: Measure | str | Sequence[Measure | str] | Mapping[str, Measure | str],
    *,
    width: int = 1000,
    rounds: int = 20,
) -> pd.DataFrame:
    """Tell for which share of the topics some ranking scores 1.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, a numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        As of `upper_bound`; a mapping is ``{label: measure}``.
    width, rounds : int
        As of `upper_bound`.

    Returns
    -------
    DataFrame
        A row per measure: ``measure``; ``n_queries``, how many are judged; the fractions of them in [0, 1]
        on which 1 is ``attainable``, ``unattainable``, and ``undecided`` as the search left a gap; and
        ``minimum``, the smallest of the best values found.

    Raises
    ------
    MultiAspectError
        If the qrels have no query, no measure is given, or `upper_bound` raises it.

    Notes
    -----
    A topic without a positive label on some aspect counts like any other: its best CAM is below 1 and
    its best MM 0, unless ``empty='drop'``.

    References
    ----------
    Maistro et al., CIKM 2021, §4.2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}},
    ...     "q2": {"d1": {"relevance": 1, "credibility": 1}},
    ... }
    >>> aspects = {"relevance": 1, "credibility": 1}
    >>> shares = ma.analysis.attainable(qrels, [ma.CAM(aspects=aspects), "nDCG"])
    >>> shares[["n_queries", "attainable", "unattainable", "undecided", "minimum"]].round(3)
       n_queries  attainable  unattainable  undecided  minimum
    0          2         0.5           0.5        0.0    0.815
    1          2         1.0           0.0        0.0    1.000
    """
    judgments = Judgments.of(qrels)
    if not judgments.n_queries:
        raise MultiAspectError("the qrels have no query")
    rows = []
    for label, measure in parsing.parse_all(measures).items():
        best = upper_bound(judgments, measure, width=width, rounds=rounds)
        reached, possible = best["value"] >= 1 - _TOLERANCE, best["bound"] >= 1 - _TOLERANCE
        rows.append(
            {
                "measure": label,
                "n_queries": len(best),
                "attainable": reached.mean(),
                "unattainable": (~possible).mean(),
                "undecided": (possible & ~reached).mean(),
                "minimum": best["value"].min(),
            }
        )
    return pd.DataFrame(rows)


def _judgments(qrels: object) -> Judgments:
    """Judgments in an order of their own, so that of equally good rankings the same one is found."""
    return Judgments.of(qrels).in_order()


def _read(measure: Measure | str) -> MultiAspectMeasure:
    """One measure of this package."""
    members = parsing.parse(measure)
    if len(members) != 1:
        raise MultiAspectError(f"{measure!r} stands for several measures: {choices(members)}; give one")
    one = parsing.as_measure(members[0])
    one.validate_params()
    if one.lower_is_better:
        raise MultiAspectError(f"small values of {one} are good, so there is no use in its upper bound")
    return one


def _is_exact(measure: MultiAspectMeasure) -> bool:
    """Whether the best ranking is known, if it can be found at all."""
    if isinstance(measure, type(CAM)):
        return all(base.is_linear for base in measure.each_base())
    return not isinstance(measure, ScoreAggregation)


def _exact(measure: MultiAspectMeasure, judgments: Judgments) -> Floats:
    """The value of the best ranking."""
    if not _is_exact(measure):
        _check_known(measure.terms(judgments))
        raise MultiAspectError(
            f"the best ranking by {measure} is not known exactly: it is for CAM over linear bases (nDCG, RBP, P, "
            f"R, SetR, Rprec) and for measures of one number a document; take strategy='search'"
        )
    if isinstance(measure, ScoreAggregation):
        forms = [(term.base.linear(term.target), term.weight) for term in measure.terms(judgments)]
        rank = best_sum(forms, judgments.pool_query, judgments.n_queries).rank
    else:
        rank = _by_worth(measure.worth(judgments), str(measure), judgments)
    return _evaluate(measure, judgments, rank)


_KNOWN = (
    "bounds are known for CAM, MM, WHAM, GAM, On and TOMA over nDCG, RBP, P, R, SetR, Rprec, AP, RR, ERR and "
    "Success, and for uRBP, uRBPgr, unDCG and uERR"
)


def _check_known(terms: list[Term]) -> None:
    unknown = dict.fromkeys(term.base.text for term in terms if not can_search(term.base))
    if unknown:
        raise _unknown(choices(unknown))


def _unknown(measures: str) -> MultiAspectError:
    return MultiAspectError(f"it is not known which ranking is the best by {measures}; {_KNOWN}")


def _by_worth(worth: Floats | None, measure: str, judgments: Judgments) -> Ints:
    """The best ranking by what each document is worth to a measure."""
    if worth is None:
        raise _unknown(measure)
    return _sorted(judgments, worth[None])


def _best_alone(term: Term, judgments: Judgments) -> Ints:
    """The best ranking by one term."""
    return _by_worth(term.base.worth(term.target), term.base.text, judgments)


def _sorted(judgments: Judgments, keys: Floats) -> Ints:
    """The rank of each judged document when they are sorted by keys (rows), the first foremost, downwards."""
    query = judgments.pool_query
    order = np.lexsort((*-keys[::-1], query))
    rank = np.empty(len(query), dtype=np.intp)
    rank[order] = positions(query) + 1
    return rank


def _rankings(judgments: Judgments, rank: Ints) -> Rankings:
    run = {"qid": judgments.qids[judgments.pool_query], "doc_id": judgments.docnos, "score": -rank}
    return Rankings(pd.DataFrame(run), judgments)


def _evaluate(measure: MultiAspectMeasure, judgments: Judgments, rank: Ints) -> Floats:
    return measure.evaluate(_rankings(judgments, rank))


def _ideal_rankings(measure: MultiAspectMeasure, judgments: Judgments) -> list[tuple[str, Ints]]:
    """The paper's strategies: names, and the rank each gives the judged documents."""
    views = measure.views(judgments)
    if len(views) > _MOST_ASPECTS:
        raise MultiAspectError(
            f"the recursive strategy tries all orders of preference among aspects, which is done for up to "
            f"{_MOST_ASPECTS}; {measure.NAME} has {len(views)}: {choices(view.name for view in views)}"
        )
    values = np.stack([view.scale.values[view.grade] for view in views])
    rankings = [
        (" > ".join(views[place].name for place in order), _sorted(judgments, values[list(order)]))
        for order in permutations(range(len(views)))
    ]
    for name, score in _SCORES.items():
        rankings.append((name, _sorted(judgments, np.concatenate([score(values)[None], values]))))
    return rankings


def _separate_bound(measure: MultiAspectMeasure, judgments: Judgments) -> Floats:
    """What the measure would be if every term had its best value at once."""
    if not isinstance(measure, ScoreAggregation):
        return _exact(measure, judgments)
    terms = measure.terms(judgments)
    rankings = [_rankings(judgments, _best_alone(term, judgments)) for term in terms]
    best = np.stack([term.base.values(each, term.target) for term, each in zip(terms, rankings, strict=True)])
    bound = measure.combine(best, np.stack([term.weight for term in terms]))
    return np.where(bound > 0, 1.0, 0.0) if measure.params.get("normalized") else bound


class _Candidates:
    """The values of the rankings tried so far, and the best of each query."""

    def __init__(self, measure: ScoreAggregation, judgments: Judgments, terms: list[Term]) -> None:
        self._measure, self._judgments, self._terms = measure, judgments, terms
        self._weights = np.stack([term.weight for term in terms])
        self.values: list[Floats] = []
        self.value = np.full(judgments.n_queries, -np.inf)

    def add(self, rank: Ints) -> None:
        """Take in a ranking."""
        rankings = _rankings(self._judgments, rank)
        values = np.stack([term.base.values(rankings, term.target) for term in self._terms])
        self.value = np.maximum(self.value, self._measure.combine(values, self._weights))
        self.values.append(values)

    def best_by(self, weights: Floats) -> tuple[Floats, Floats]:
        """The values of the terms that have the greatest weighted sum, and that sum."""
        sums = np.array([(weights * values).sum(axis=0) for values in self.values])
        best = sums.argmax(axis=0)
        queries = np.arange(len(best))
        return np.stack(self.values)[best, :, queries].T, sums[best, queries]


def _search(measure: MultiAspectMeasure, judgments: Judgments, width: int, rounds: int) -> tuple[Floats, Floats]:
    """The best value found, and what no ranking can exceed."""
    if not isinstance(measure, ScoreAggregation):
        raise MultiAspectError(f"there is nothing to search for by {measure}; take strategy='exact'")
    if measure.params.get("normalized"):
        raise MultiAspectError(f"the best ranking by {measure} is known; take strategy='exact'")
    terms = measure.terms(judgments)
    _check_known(terms)
    candidates = _Candidates(measure, judgments, terms)
    for term in terms:
        candidates.add(_best_alone(term, judgments))
    each = list(candidates.values)
    if len(measure.views(judgments)) < _MOST_ASPECTS:
        for _, rank in _ideal_rankings(measure, judgments):
            candidates.add(rank)
    weights = np.stack([term.weight for term in terms])
    best_alone = np.stack([values[place] for place, values in enumerate(each)])
    bound = measure.combine(best_alone, weights)
    if isinstance(measure, type(CAM)):
        found = search(terms, judgments.pool_query, candidates.value, width)
        candidates.add(found.rank)
        return candidates.value, np.minimum(bound, found.bound)
    point = np.mean(each, axis=0)

    def slope() -> Floats:
        """That at the point; where no ranking scores above 0, nothing is to be found."""
        return np.where(bound > 0, measure.slope(np.where(point > 0, point, 1.0), weights), 0.0)

    for _ in range(rounds):
        values, limit = _best_weighted(terms, slope(), judgments, candidates, width)
        bound = np.where(bound > 0, np.minimum(bound, limit), bound)
        if (bound - candidates.value < _TOLERANCE).all():
            break
        point = _towards(measure, point, values, weights)
    if (bound - candidates.value >= _TOLERANCE).any():
        mean = Mean(measure.combine, slope(), bound)
        found = search(terms, judgments.pool_query, candidates.value, width, mean=mean)
        candidates.add(found.rank)
        bound = np.minimum(bound, found.bound)
    return candidates.value, np.maximum(bound, candidates.value)


def _best_weighted(
    terms: list[Term], slope: Floats, judgments: Judgments, candidates: _Candidates, width: int
) -> tuple[Floats, Floats]:
    """Maximise Σ slope · term: the values of the terms there, and what no ranking can exceed."""
    query = judgments.pool_query
    if all(term.base.is_linear for term in terms):
        forms = [(term.base.linear(term.target), weight) for term, weight in zip(terms, slope, strict=True)]
        best = best_sum(forms, query, judgments.n_queries)
        candidates.add(best.rank)
        return candidates.best_by(slope)[0], best.value
    weighted = [replace(term, weight=weight) for term, weight in zip(terms, slope, strict=True)]
    found = search(weighted, query, candidates.best_by(slope)[1], width)
    candidates.add(found.rank)
    return candidates.best_by(slope)[0], found.bound


def _towards(measure: ScoreAggregation, point: Floats, values: Floats, weights: Floats) -> Floats:
    """The best point on the way from one to the other."""
    steps = np.linspace(0.0, 1.0, 65)
    ways = [(1 - step) * point + step * values for step in steps]
    best = np.argmax([measure.combine(way, weights) for way in ways], axis=0)
    step = steps[best]
    return np.asarray((1 - step) * point + step * values, dtype=np.float64)
