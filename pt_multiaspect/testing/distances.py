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
    # A function becomes a registered distance.
    if isinstance(distance, str | int | float):
        read = read_distance(distance)
    else:
        read = read_distance(RegisteredDistance("distance", distance))
    name = str(read)
    function = None
    if isinstance(read, RegisteredDistance):
        function = read.function
    n_aspects = count("n_aspects")(n_aspects)
    for tops in product((1, 2, 4), repeat=n_aspects):
        for axes in ("equal", "gains"):
            _check_classes(read, tops, axes)
            if function is not None:
                _check_rows(function, name, tops)


def _check_classes(
    distance: str | float | RegisteredDistance, tops: tuple[int, ...], axes: str
) -> None:
    """Raise an error if the distance gives no order of several classes, on scales 0..top."""
    aspects = {f"aspect{number}": top for number, top in enumerate(tops, start=1)}
    name = str(distance)
    with silence_warnings():
        try:
            n_classes = DistanceOrder(aspects, distance, axes=axes).n_classes
        except MultiAspectError as error:
            scales = f"scales 0..n of n = {tops}, axes={axes!r}"
            raise FailedCheckError(f"{error} ({scales})") from None
        except Exception as error:
            error_type = type(error).__name__
            raise FailedCheckError(
                f"distance {name!r} cannot be computed for {len(tops)} aspects: "
                f"{error_type}: {error}"
            ) from error
    if n_classes < 2:
        raise FailedCheckError(
            f"distance {name!r}: all tuples are equally far on the scales {tops}"
        )


def _check_rows(function: Distance, name: str, tops: tuple[int, ...]) -> None:
    """Raise an error if the distance of a tuple changes when computed again, or alone.

    The tuples are the gaps to the best grades, on scales 0..top that are scaled to [0, 1].
    """
    gaps_of_aspects = [np.arange(top + 1) / top for top in tops]
    rows = np.array(list(product(*gaps_of_aspects)))  # (n_tuples, n_aspects)
    # A function may change its argument, so each call gets a copy.
    together = np.asarray(function(rows.copy()))
    again = np.asarray(function(rows.copy()))
    if not np.array_equal(together, again):
        raise FailedCheckError(f"distance {name!r}: computed again, it has another value")
    for row, distance in zip(rows, together, strict=True):
        single_row = row[None].copy()  # (1, n_aspects)
        alone = np.asarray(function(single_row))
        has_one_value = alone.shape == (1,)
        if not has_one_value or not np.isclose(alone[0], distance, rtol=1e-12, atol=1e-12):
            raise FailedCheckError(
                f"distance {name!r}: a tuple has another distance alone than among others, {alone} "
                f"and {distance:g} at the gaps {row}; compute each row by itself"
            )
