"""Probabilities of understanding a document, from its readability."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .._numbers import number
from .._typing import Floats
from .._validation import choice
from ..errors import MultiAspectError, tally
from .inputs import kind

Model: TypeAlias = Literal["arctan", "step"]


MODELS: dict[str, Callable[[Floats, float], Floats]] = {
    "arctan": lambda scores, threshold: 0.5 - np.arctan(scores - threshold) / np.pi,
    "step": lambda scores, threshold: (scores < threshold).astype(np.float64),
}


def understandability(scores: npt.ArrayLike, model: Model = "arctan", threshold: float = 15) -> Floats:
    """Convert readability scores to the probability that a user understands the document.

    Parameters
    ----------
    scores : array-like of any shape
        Readability scores; higher scores mean harder texts.
    model : {'arctan', 'step'}, default 'arctan'
        Probability of understanding as a function of the score x and the threshold t, from §5.1 of Zuccon (2016).
        ``'step'``: P = 1 if x < t, otherwise 0. ``'arctan'``: P = 1/2 − arctan(x − t)/π, which decreases
        smoothly with x and is 1/2 at x = t.
    threshold : number > 0, default 15
        The score up to which the user understands a text. The paper uses 10, 15 and 20 for FOG: texts
        below 10 are understood by almost everybody, texts above 15 or 20 by fewer readers.

    Returns
    -------
    ndarray
        The probabilities P(U|d), in the shape of `scores`.

    Raises
    ------
    MultiAspectError
        If a score is NaN or not a number, the threshold is not a finite number above 0, or the model
        is unknown.

    Notes
    -----
    As in the paper's experiments, the arctan model is not divided by its integral over the scores. Otherwise
    the probability of a document would depend on the other documents.

    References
    ----------
    G. Zuccon. Understandability biased evaluation for information retrieval. ECIR 2016.

    Examples
    --------
    >>> from pt_multiaspect.readability import understandability
    >>> understandability([14, 15, 16])
    array([0.75, 0.5 , 0.25])
    >>> understandability([14, 15, 16], model="step")
    array([1., 0., 0.])
    """
    choice("model", *MODELS)(model)
    limit = check_threshold(threshold)
    return np.asarray(MODELS[model](_check_scores(scores), limit), dtype=np.float64)


def check_threshold(threshold: object) -> float:
    """Return a threshold as a float, after checking that it is above 0."""
    limit = number(threshold, "threshold")
    if limit <= 0:
        raise MultiAspectError(f"threshold: expected a number above 0, got {threshold!r}")
    return limit


def _check_scores(scores: npt.ArrayLike) -> Floats:
    try:
        values = np.asarray(scores)
    except ValueError as error:
        raise MultiAspectError(f"scores: expected an array of numbers: {error}") from error
    if values.dtype.kind == "O":
        wrong = [value for value in values.flat if not isinstance(value, Real) and not _is_missing(value)]
        if wrong:
            raise MultiAspectError(f"scores: expected numbers, got a value {kind(wrong[0])}")
        values = np.array([np.nan if _is_missing(value) else value for value in values.flat]).reshape(values.shape)
    elif values.dtype.kind not in "iuf":
        raise MultiAspectError(f"scores: expected numbers, got dtype {values.dtype}")
    values = values.astype(np.float64)
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise MultiAspectError(
            f"scores: expected no NaN, got one at position {missing[0]} {tally(len(missing), 'score')}"
        )
    return values


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA
