"""The best rankings of measures, if they are known without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._typing import Ints
from ..bases import Term
from ..collection import Judgments
from ..kernels.best_ranking import best_ranking
from ..kernels.forms import Additive, Linear
from ..kernels.hits import ranks_within_queries

if TYPE_CHECKING:
    from .measure import Measure


def best_rank(measure: Measure, judgments: Judgments) -> Ints | None:
    """Return the rank of each judged document in a best ranking; None if unknown."""
    terms = measure.terms(judgments)
    stated = measure.stated
    # If the measure never falls when its only term rises, both have the same best ranking.
    rises_with_one_term = len(terms) == 1 and stated.never_falls_with_terms
    if rises_with_one_term:
        (term,) = terms
        if term.base.stated.sorting_is_optimal:
            return best_alone(term, judgments)
    # Otherwise, it is known for weighted sums of sums over ranks.
    forms = forms_of(terms)
    if not stated.is_weighted_sum or not forms:
        return None
    weights = [term.weight for term in terms]
    weighted_forms = list(zip(forms, weights, strict=True))
    return best_ranking(weighted_forms, judgments.pool_query, judgments.n_queries)


def best_alone(term: Term, judgments: Judgments) -> Ints | None:
    """Return the rank of each judged document in a best ranking for one term; None if unknown."""
    query, n_queries = judgments.pool_query, judgments.n_queries
    form = term.base.additive(term.target)
    if isinstance(form, Linear):
        # A sum of gain times discount is largest if documents are sorted by gain.
        form.check_sorting()
        gain = np.asarray(form.gain, dtype=np.float64)
        return ranks_within_queries(query, gain)
    if term.base.stated.sorting_is_optimal:
        gain = term.base.gain(term.target)
        return ranks_within_queries(query, gain)
    if form is None:
        return None
    weight = np.ones(n_queries)
    return best_ranking([(form, weight)], query, n_queries)


def forms_of(terms: list[Term]) -> list[Additive] | None:
    """Return the terms as sums over ranks; None if a term has no such form."""
    forms: list[Additive] = []
    for term in terms:
        form = term.base.additive(term.target)
        if form is None:
            return None
        forms.append(form)
    return forms
