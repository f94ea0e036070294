"""Topics that count for each measure."""

from __future__ import annotations

from collections.abc import Mapping

import ir_measures
import numpy as np

from .._typing import Bools
from .._validation import choice
from ..bases.standard import topics_with_positive
from ..collection import Judgments
from ..collection.judgments import MissingAspectError
from ..errors import MultiAspectError, in_shell, parameter
from ..integration.provider import supports
from ..measures import Measure

#: The choices of topics: all judged ones, or those with a positive document.
TOPICS = ("judged", "positive")

_check = choice("average_over", *TOPICS)


def check_average_over(average_over: object, measures: object) -> str:
    """Return the choice of topics; by default, that of a suite, else all judged topics."""
    return str(
        _check(
            getattr(measures, "average_over", TOPICS[0]) if average_over is None else average_over
        )
    )


def check_all_topics(measures: object, purpose: str) -> None:
    """Raise an error for a suite over topics with a positive document.

    The caller evaluates all topics.
    """
    if check_average_over(None, measures) != TOPICS[0]:
        remedy = "pass dict(suite) to evaluate its measures over all judged topics"
        if in_shell():
            remedy = "'pt-multiaspect evaluate' evaluates it"
        raise MultiAspectError(
            f"expected measures over all judged topics, as {purpose}, got a suite over the topics "
            f"with a positive document; {remedy}"
        )


def counted_topics(
    labelled: Mapping[str, ir_measures.Measure], judgments: Judgments, average_over: str
) -> dict[str, Bools]:
    """Return masks of the judged topics that count for each measure.

    Parameters
    ----------
    labelled : mapping of str to ir_measures.Measure
        The measures by label.
    judgments : Judgments
        The judged documents.
    average_over : {'judged', 'positive'}
        All judged topics, or those in which some judged document is positive for the measure.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_queries,)

    Raises
    ------
    MultiAspectError
        If a measure does not tell which documents are positive, or no topic counts for a measure.
    """
    if average_over == TOPICS[0]:
        return {label: np.ones(judgments.n_queries, dtype=np.bool_) for label in labelled}
    judged, positive = (parameter("average_over", topics) for topics in TOPICS)
    counted = {}
    for label, measure in labelled.items():
        try:
            if supports(measure):
                counted[label] = _topics_with_positive(measure, judgments)
            else:
                counted[label] = topics_with_positive(measure, judgments)
        except MissingAspectError as error:  # the measure has no value on any topic
            raise MultiAspectError(f"{label}: {error}") from None
        except MultiAspectError as error:
            raise MultiAspectError(f"{positive}: {error}; use {judged}") from None
        if not counted[label].any():
            raise MultiAspectError(
                f"{positive}: no topic has a positive document for {label}, so it has no mean; "
                f"leave the measure out, or use {judged}"
            )
    return counted


def _topics_with_positive(measure: Measure, judgments: Judgments) -> Bools:
    """Return a mask of the queries that have a positive document, so that values can exceed 0."""
    terms = measure.terms(judgments)
    if not terms:
        raise MultiAspectError(f"{measure.NAME} does not tell which documents are positive")
    # Shape (n_terms, n_queries).
    has_positive = np.stack([term.base.has_positive(term.target) for term in terms])
    if measure.stated.every_term_counts:
        return np.asarray(has_positive.all(axis=0), dtype=np.bool_)
    return np.asarray(has_positive.any(axis=0), dtype=np.bool_)
