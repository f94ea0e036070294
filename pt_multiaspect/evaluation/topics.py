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

#: All judged topics.
JUDGED = "judged"

#: The topics with a positive document.
POSITIVE = "positive"

#: The choices of topics.
TOPICS = (JUDGED, POSITIVE)


def check_average_over(average_over: object, measures: object) -> str:
    """Return the choice of topics, checked; by default that of a suite, else all judged topics."""
    if average_over is None:
        average_over = getattr(measures, "average_over", JUDGED)
    check = choice("average_over", *TOPICS)
    return str(check(average_over))


def check_all_topics(measures: object, purpose: str) -> None:
    """Raise an error for a suite over topics with a positive document.

    Parameters
    ----------
    measures : measures or suite
        What a user gave.
    purpose : str
        Why the caller evaluates all topics.
    """
    # Without a choice of the user (None), a suite determines its topics; measures that are no
    # suite are over all judged topics.
    topics = check_average_over(None, measures)
    if topics == JUDGED:
        return
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
    counted: dict[str, Bools] = {}
    for label, measure in labelled.items():
        if average_over == JUDGED:
            counted[label] = np.ones(judgments.n_queries, dtype=np.bool_)
        else:
            counted[label] = _topics_above_zero(label, measure, judgments)
    return counted


def _topics_above_zero(label: str, measure: ir_measures.Measure, judgments: Judgments) -> Bools:
    """Return a mask of the topics in which a document is positive for a measure.

    Parameters
    ----------
    label : str
        The label of the measure, for errors.
    measure : Measure
        A measure of this package or of ir-measures.
    judgments : Judgments
        The judged documents.

    Returns
    -------
    ndarray of bool, shape (n_queries,)
        At least one is True.
    """
    # The parameter as the user gave it, and as it always works, for errors.
    given = parameter("average_over", POSITIVE)
    alternative = parameter("average_over", JUDGED)
    try:
        if supports(measure):
            has_positive = _topics_with_positive_term(measure, judgments)
        else:
            has_positive = topics_with_positive(measure, judgments)
    except MissingAspectError as error:
        # The measure has no value on any topic, so the alternative would not help.
        raise MultiAspectError(f"{label}: {error}") from None
    except MultiAspectError as error:
        # The measure does not tell which documents are positive.
        raise MultiAspectError(f"{given}: {error}; use {alternative}") from None
    if not has_positive.any():
        raise MultiAspectError(
            f"{given}: no topic has a positive document for {label}, so it has no mean; "
            f"leave the measure out, or use {alternative}"
        )
    return has_positive


def _topics_with_positive_term(measure: Measure, judgments: Judgments) -> Bools:
    """Return a mask of the topics with a positive document for a measure of this package.

    In these, values can exceed 0.

    Returns
    -------
    ndarray of bool, shape (n_queries,)
    """
    terms = measure.terms(judgments)
    if not terms:
        raise MultiAspectError(f"{measure.NAME} does not tell which documents are positive")
    masks = [term.base.has_positive(term.target) for term in terms]
    has_positive = np.stack(masks)  # shape (n_terms, n_queries)
    # Some need a document in each term: help minus harm needs helpful and harmful documents.
    if measure.stated.every_term_counts:
        counts = has_positive.all(axis=0)
    else:
        counts = has_positive.any(axis=0)
    return np.asarray(counts, dtype=np.bool_)
