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
    if (
        len(terms) == 1
        and stated.never_falls_with_terms
        and terms[0].base.stated.sorting_is_optimal
    ):
        return best_alone(terms[0], judgments)
    forms = forms_of(terms)
    if not stated.is_weighted_sum or not forms:
        return None
    weighted = [(form, term.weight) for form, term in zip(forms, terms, strict=True)]
    return best_ranking(weighted, judgments.pool_query, judgments.n_queries)


def best_alone(term: Term, judgments: Judgments) -> Ints | None:
    """Return the ranks of documents in a best ranking for a single term; None if unknown."""
    form = term.base.additive(term.target)
    if isinstance(form, Linear):
        form.check_sorting()
        return ranks_within_queries(judgments.pool_query, np.asarray(form.gain, dtype=np.float64))
    if term.base.stated.sorting_is_optimal:
        return ranks_within_queries(judgments.pool_query, term.base.gain(term.target))
    if form is None:
        return None
    return best_ranking(
        [(form, np.ones(judgments.n_queries))], judgments.pool_query, judgments.n_queries
    )


def forms_of(terms: list[Term]) -> list[Additive] | None:
    """Return the terms as sums over ranks; None if a term has no such form."""
    forms = [term.base.additive(term.target) for term in terms]
    known = [form for form in forms if form is not None]
    return known if len(known) == len(forms) else None
