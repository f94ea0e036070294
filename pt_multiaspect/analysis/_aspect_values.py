"""The measures of single aspects in a long frame, and weightings of the aspects."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..aspects.aspects import Aspects
from ..errors import MultiAspectError, choices, shown
from ..evaluation.long_frames import measures_by_label
from ..integration.parsing import parse_one
from ..measures.means import CAM, AspectMean
from ._frames import directions, matrix, select_measures

#: Number of sampled weightings.
N_SAMPLED = 4096


def simplex_points(n_points: int, n_aspects: int, seed: int) -> Floats:
    """Return weightings that are spread evenly over the simplex: a scrambled Sobol sequence of the given seed.

    Parameters
    ----------
    n_points : int
        The number of weightings, a power of 2.
    n_aspects : int
        The number of aspects, at least 2.
    seed : int
        Random seed.

    Returns
    -------
    ndarray of float, shape (n_points, n_aspects)
        Weights of at least 0 that sum to 1.
    """
    from scipy.stats import qmc

    draws = qmc.Sobol(n_aspects - 1, seed=seed).random_base2(int(n_points).bit_length() - 1)
    # The gaps between sorted uniform numbers are uniform on the simplex.
    return np.diff(np.sort(draws, axis=1), axis=1, prepend=0.0, append=1.0)


def read_mean(measure: ir_measures.Measure | str | None) -> AspectMean:
    mean = CAM if measure is None else parse_one(measure)
    if not isinstance(mean, AspectMean):
        raise MultiAspectError(
            f"measure: expected a mean over aspects, such as CAM, MM, WHAM or GAM, got {shown(mean)}"
        )
    return mean


def read_aspects(
    frame: pd.DataFrame, mean: AspectMean, measures: object, function: str
) -> tuple[Floats, list[Any], list[Any], list[str]]:
    """Return the values of the aspects that a mean combines, systems × topics × aspects, and what the axes are.

    Parameters
    ----------
    frame : DataFrame
        The long frame.
    mean : AspectMean
        The mean.
    measures : object
        The parameter of `weightings`.
    function : str
        The name of the caller, for the warning.

    Returns
    -------
    values, names, qids, aspects : ndarray, list, list, list
        Higher values are better.
    """
    rows, by_label, aspects = rows_of_aspects(frame, mean, measures)
    values, names, qids, labels = matrix(rows)
    values = values * directions(rows, values, labels, by_label, function)
    return values, names, qids, aspects


def rows_of_aspects(
    frame: pd.DataFrame, mean: AspectMean, measures: object
) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Return the rows of the measures of the aspects, measures or directions by label, and the aspects."""
    if measures is not None:
        rows, by_label = select_measures(frame, measures)
        aspects = [str(label) for label in rows["measure"].unique()]
        mean.check_criteria(aspects)
        return rows, by_label, aspects
    known: dict[str, Any] = {
        label: on for label, on in measures_by_label(frame).items() if getattr(on, "one_aspect", None) is not None
    }
    if "base" in mean.params or mean.cutoff is not None:
        known = {label: on for label, on in known.items() if on.bases.one == mean.bases.of(on.one_aspect)}
    if mean.spec:
        known = {label: on for label, on in known.items() if _is_declared(on, mean)}
    aspects = [on.one_aspect for on in known.values()]
    bases = {on.bases.one.text for on in known.values()}
    labels = frame["measure"].map(str).unique()
    if len(aspects) < 2 or len(set(aspects)) < len(aspects) or ("base" not in mean.params and len(bases) > 1):
        raise MultiAspectError(
            "expected one measure per aspect, such as On(aspect='credibility', base='nDCG@10'), with the base and "
            f"the scales of {mean}, got {choices(labels)}; name those of the aspects by measures=[...]"
        )
    return select_measures(frame, list(known))[0], {}, aspects


def _is_declared(on: Any, mean: AspectMean) -> bool:
    """Return whether a mean contains the aspect of a measure, and with the same scale if it declares one."""
    spec = mean.spec or ()
    if not isinstance(spec, Aspects):
        return on.one_aspect in spec
    return on.one_aspect in spec and isinstance(on.spec, Aspects) and on.spec[on.one_aspect] == spec[on.one_aspect]
