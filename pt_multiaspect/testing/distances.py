"""Checks of distances."""

from __future__ import annotations

from itertools import product

import numpy as np

from .._validation import count
from ..errors import MultiAspectError, silence_warnings
from ..orders.distance import DistanceOrder
from ..orders.registered import Distance, RegisteredDistance
from ..orders.registered import check_distance as read_distance
from .measures import FailedCheckError


def check_distance(distance: str | float | Distance, *, n_aspects: int = 2) -> None:
    """Check a distance on scales of several lengths.

    For every tuple of labels, a distance must be a finite number of at least 0. It must not
    decrease when a gap increases, nor depend on other tuples, nor change when computed again. The
    best tuple must be nearer than the lowest.

    Parameters
    ----------
    distance : str, float or callable
        The name of a distance, the exponent of a Minkowski distance, or a function as for
        `register_distance`.
    n_aspects : int, default 2
        Number of aspects.

    Raises
    ------
    FailedCheckError
        If the distance fails; the message lists the violations.

    Examples
    --------
    >>> from pt_multiaspect.testing import check_distance
    >>> check_distance("euclidean")
    >>> check_distance(lambda gaps: gaps.max(axis=1) + gaps.sum(axis=1), n_aspects=3)
    >>> check_distance(lambda gaps: gaps.sum(axis=1) / (1 + gaps.max()))
    Traceback (most recent call last):
    pt_multiaspect.testing.measures.FailedCheckError: distance 'distance': a tuple has another distance alone ...
    """
    if isinstance(distance, str | int | float):
        name = distance
    else:
        name = RegisteredDistance("distance", distance)
    read = read_distance(name)
    function = read.function if isinstance(read, RegisteredDistance) else None
    for tops in product((1, 2, 4), repeat=count("n_aspects")(n_aspects)):
        aspects = {f"aspect{index + 1}": top for index, top in enumerate(tops)}
        for axes in ("equal", "gains"):
            with silence_warnings():
                try:
                    n_classes = DistanceOrder(aspects, read, axes=axes).n_classes
                except MultiAspectError as error:
                    raise FailedCheckError(
                        f"{error} (scales 0..n of n = {tops}, axes={axes!r})"
                    ) from None
                except Exception as error:
                    raise FailedCheckError(
                        f"distance {str(read)!r} cannot be computed for {n_aspects} aspects: "
                        f"{type(error).__name__}: {error}"
                    ) from error
            if n_classes < 2:
                raise FailedCheckError(
                    f"distance {str(read)!r}: all tuples are equally far on the scales {tops}"
                )
            if function is not None:
                _check_rows(function, str(read), tops)


def _check_rows(function: Distance, name: str, tops: tuple[int, ...]) -> None:
    rows = np.array(list(product(*(np.arange(top + 1) / top for top in tops))))
    together, again = np.asarray(function(rows.copy())), np.asarray(function(rows.copy()))
    if not np.array_equal(together, again):
        raise FailedCheckError(f"distance {name!r}: computed again, it has another value")
    for row, distance in zip(rows, together, strict=True):
        alone = np.asarray(function(row[None].copy()))
        if alone.shape != (1,) or not np.isclose(alone[0], distance, rtol=1e-12, atol=1e-12):
            raise FailedCheckError(
                f"distance {name!r}: a tuple has another distance alone than among others, {alone} "
                f"and {distance:g} at the gaps {row}; compute each row by itself"
            )
