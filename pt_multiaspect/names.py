"""String names where PyTerrier reads them.

`pt.Experiment`, `pt.GridScan` and `pt.GridSearch` read strings by
`ir_measures.parse_trec_measure`, which knows the names of trec_eval only. Here it learns to fall
back on the names of ir-measures, so that ``"nDCG@10"`` and ``"TOMA@10"`` work beside ``"map"``. It
also knows the names of the TREC Health Misinformation tracks' evaluator, `TRACK_NAMES`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any

import ir_measures
from ir_measures import Measure

from .errors import MultiAspectError, choices
from .measures import ALL, CAM, NLRE, NWCS

__all__ = ["TRACK_NAMES", "install", "parse", "parse_all", "uninstall"]

#: Marks a function that reads ir-measures names too, and holds the one that does not.
_MARK = "trec_names_only"

#: The names of the official evaluator of the TREC Health Misinformation tracks, an extension of trec_eval.
TRACK_NAMES: dict[str, Measure] = {
    "nlre": NLRE,
    "cam": CAM(base="nDCG"),
    "cam_map": CAM(base="AP"),
    "nwcs": NWCS(ideal="judged"),
}

_trec_names: Callable[[str], list[Measure]] = getattr(
    ir_measures.parse_trec_measure, _MARK, ir_measures.parse_trec_measure
)


@wraps(_trec_names)
def _parse_any_name(measure: str) -> list[Measure]:
    if measure in TRACK_NAMES:
        return [TRACK_NAMES[measure]]
    try:
        return _trec_names(measure)
    except ValueError as error:
        unknown_to_trec_eval = error
    try:
        parsed = ir_measures.parse_measure(measure)
    except MultiAspectError:
        raise
    except (ValueError, NameError, KeyError, TypeError, AttributeError) as error:
        known = sorted(ir_measures.measures.registry)
        similar = get_close_matches(re.split(r"[^\w]", measure, maxsplit=1)[0], known, n=3)
        raise MultiAspectError(
            f"{measure!r} is neither a trec_eval name ({unknown_to_trec_eval}) nor one of ir-measures ({error})"
            + (f"; did you mean {' or '.join(similar)}?" if similar else "")
            + f" Measures there are: {choices(known)}"
        ) from None
    unknown = [name for name in parsed.params if name not in parsed.SUPPORTED_PARAMS]
    if unknown:
        raise MultiAspectError(
            f"{parsed.NAME} has no parameter {choices(unknown)}; it has {choices(parsed.SUPPORTED_PARAMS)}"
        )
    return [parsed]


setattr(_parse_any_name, _MARK, _trec_names)


def parse(measure: Measure | str) -> list[Measure]:
    """Read a measure given as an object, a trec_eval name or an ir-measures name.

    Parameters
    ----------
    measure : ir_measures.Measure or str
        Such as ``nDCG @ 10``, ``"map"``, ``"nDCG@10"`` or ``"TOMA(distance='manhattan')@10"``.

    Returns
    -------
    list of ir_measures.Measure
        One measure, or the members of a trec_eval family such as ``"P"``.

    Raises
    ------
    MultiAspectError
        If there is no such measure, or its parameters are not possible.

    Examples
    --------
    >>> from pt_multiaspect import names
    >>> names.parse("TOMA(distance=1)@10")
    [TOMA(distance='manhattan')@10]
    """
    if isinstance(measure, Measure):
        return [measure]
    if not isinstance(measure, str):
        raise MultiAspectError(f"a measure is an ir-measures measure or a string, not {measure!r}")
    return _parse_any_name(measure)


def parse_all(measures: object) -> dict[str, Measure]:
    """Read one measure or several, by the names they go by: strings keep the user's.

    Parameters
    ----------
    measures : measure, str or iterable of these
        As `parse` takes them. One that is there twice counts once.

    Returns
    -------
    dict of str to ir_measures.Measure

    Raises
    ------
    MultiAspectError
        If there is none, or one cannot be read.

    Examples
    --------
    >>> from pt_multiaspect import names
    >>> names.parse_all(["map", "TOMA(distance=1)@10"])
    {'map': AP, 'TOMA(distance=1)@10': TOMA(distance='manhattan')@10}
    """
    several = isinstance(measures, Iterable) and not isinstance(measures, str)
    given: Iterable[Any] = measures if several else [measures]  # type: ignore[assignment]
    labelled: dict[str, Measure] = {}
    for measure in given:
        members = parse(measure)
        for member in members:
            label = measure if isinstance(measure, str) and len(members) == 1 else str(member)
            labelled.setdefault(label, member)
    if not labelled:
        raise MultiAspectError("no measure was given")
    return labelled


def install() -> None:
    """Let PyTerrier read ir-measures names; doing so again changes nothing."""
    if not hasattr(ir_measures.parse_trec_measure, _MARK):
        ir_measures.parse_trec_measure = _parse_any_name
    loaded: Any = sys.modules.get("pyterrier.measures")
    if loaded is not None:  # pt.measures was filled before this package was imported
        for measure in ALL:
            if not hasattr(loaded, measure.NAME):
                setattr(loaded, measure.NAME, measure)


def uninstall() -> None:
    """Take `install` back, unless another package has wrapped the function since."""
    if ir_measures.parse_trec_measure is _parse_any_name:
        ir_measures.parse_trec_measure = _trec_names
