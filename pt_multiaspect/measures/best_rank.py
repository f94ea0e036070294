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
    # The best ranking for a single term is best for a measure that never falls when the term rises.
    if len(terms) == 1 and stated.never_falls_with_terms:
        term = terms[0]
        if term.base.stated.sorting_is_optimal:
            return best_alone(term, judgments)
    # Otherwise, it is only known for weighted sums of terms that are sums over ranks.
    forms = forms_of(terms)
    if not forms or not stated.is_weighted_sum:
        return None
    weights = [term.weight for term in terms]
    weighted_forms = list(zip(forms, weights, strict=True))
    return best_ranking(weighted_forms, judgments.pool_query, judgments.n_queries)


def best_alone(term: Term, judgments: Judgments) -> Ints | None:
    """Return the rank of each judged document in a best ranking for one term; None if unknown."""
    query = judgments.pool_query
    n_queries = judgments.n_queries
    form = term.base.additive(term.target)  # the base as a sum over ranks, if it is one
    if isinstance(form, Linear):
        # Sums of gain times discount are largest if documents are sorted by gain, unless the
        # discount increases: an error.
        form.check_sorting()
        gain = np.asarray(form.gain, dtype=np.float64)
        return ranks_within_queries(query, gain)
    if term.base.stated.sorting_is_optimal:
        gain = term.base.gain(term.target)
        return ranks_within_queries(query, gain)
    if form is not None:
        weight = np.ones(n_queries)
        return best_ranking([(form, weight)], query, n_queries)
    return None


def forms_of(terms: list[Term]) -> list[Additive] | None:
    """Return the terms as sums over ranks; None if a term has no such form."""
    forms: list[Additive] = []
    for term in terms:
        form = term.base.additive(term.target)
        if form is None:
            return None
        forms.append(form)
    return forms
