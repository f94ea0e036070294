"""Measures as users give them: objects, names of ir-measures or trec_eval, several of these, and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ir_measures
from ir_measures import ERR, RBP

from ..bases.strings import check_params, read_measure
from ..errors import MultiAspectError, choices
from ..measures import CAM, NLRE, NWCS, Measure, On
from .provider import supports

__all__ = ["TRACK_NAMES", "TREC_NAMES_ONLY", "as_measure", "parse", "parse_all", "trec_names"]

#: Marks a function that reads ir-measures names too, and holds the one that does not.
TREC_NAMES_ONLY = "trec_names_only"

#: The names of the official evaluator of the TREC Health Misinformation tracks, an extension of trec_eval.
TRACK_NAMES: dict[str, ir_measures.Measure] = {
    "nlre": NLRE,
    "cam": CAM(base="nDCG"),
    "cam_map": CAM(base="AP"),
    "nwcs": NWCS(ideal="judged"),
}

#: Reads the names of trec_eval, and no others.
trec_names: Callable[[str], list[ir_measures.Measure]] = getattr(
    ir_measures.parse_trec_measure, TREC_NAMES_ONLY, ir_measures.parse_trec_measure
)


def parse(measure: ir_measures.Measure | str) -> list[ir_measures.Measure]:
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
    >>> from pt_multiaspect.integration.parsing import parse
    >>> parse("TOMA(distance=1)@10")
    [TOMA(distance='manhattan')@10]
    """
    if hasattr(measure, "SUPPORTED_PARAMS"):
        check_params(measure)
        return [measure]
    if not isinstance(measure, str):
        raise MultiAspectError(
            f"expected a measure or a string such as 'nDCG@10' or 'map', got {measure!r} ({type(measure).__name__})"
        )
    if measure in TRACK_NAMES:
        return [TRACK_NAMES[measure]]
    _check_trec_name(measure)
    try:
        return trec_names(measure)
    except ValueError as error:
        unsupported = "not yet supported" in str(error)
    try:
        return [read_measure(measure)]
    except MultiAspectError:
        if unsupported:
            raise MultiAspectError(f"ir-measures does not support trec_eval's measure {measure!r}") from None
        raise


def _check_trec_name(text: str) -> None:
    """Refuse a trec_eval name with something after it, such as ``ndcg_cut_10@5``, which ir-measures ignores."""
    import pytrec_eval

    known = sorted(pytrec_eval.supported_measures, key=len, reverse=True)
    start = re.match(rf"(?:{'|'.join(map(re.escape, known))})[._]\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*", text)
    if start is not None and start.end() < len(text):
        raise MultiAspectError(
            f"cannot read the measure {text[:80]!r}: {text[start.end() :][:20]!r} follows trec_eval's name "
            f"{start.group()[:80]!r}"
        )


def parse_all(measures: object) -> dict[str, ir_measures.Measure]:
    """Read one measure or several, by the labels they go by.

    Parameters
    ----------
    measures : measure, str, iterable of these, or mapping of str to measure or str
        Measures as `parse` takes them; one that is there twice counts once. A mapping is
        ``{label: measure}``. Otherwise strings are their own labels, and objects go by what they print.

    Returns
    -------
    dict of str to ir_measures.Measure

    Raises
    ------
    MultiAspectError
        If no measure is given, one cannot be read, or a label stands for several measures.

    Examples
    --------
    >>> from pt_multiaspect.integration.parsing import parse_all
    >>> parse_all(["map", "TOMA(distance=1)@10"])
    {'map': AP, 'TOMA(distance=1)@10': TOMA(distance='manhattan')@10}
    >>> parse_all({"ours": "TOMA(distance=1)@10"})
    {'ours': TOMA(distance='manhattan')@10}
    """
    labelled: dict[str, ir_measures.Measure] = {}
    if isinstance(measures, Mapping):
        for label, measure in measures.items():
            if not isinstance(label, str):
                raise MultiAspectError(
                    f"a mapping of measures is {{label: measure}} with strings as labels, got {label!r} as a label"
                )
            members = parse(measure)
            if len(members) > 1:
                raise MultiAspectError(
                    f"{label!r} is the label of one measure, but {measure!r} stands for {len(members)}: "
                    f"{choices(members[:3])}, …; give each a label of its own"
                )
            labelled[label] = members[0]
    else:
        several = isinstance(measures, Iterable) and not isinstance(measures, str)
        given: Iterable[Any] = measures if several else [measures]  # type: ignore[assignment]
        for measure in given:
            members = parse(measure)
            for member in members:
                label = measure if isinstance(measure, str) and len(members) == 1 else str(member)
                other = labelled.setdefault(label, member)
                if other != member or type(other) is not type(member):
                    raise MultiAspectError(
                        f"two different measures go by {label!r}; give labels, {{'one': ..., 'other': ...}}"
                    )
    if not labelled:
        raise MultiAspectError("no measure was given")
    return labelled


def as_measure(measure: ir_measures.Measure) -> Measure:
    """Give any measure the methods of this package's measures.

    Parameters
    ----------
    measure : ir_measures.Measure
        A measure of this package, which is returned as it is, or any other.

    Returns
    -------
    Measure
        `On` relevance of another measure, with the same values as by ir-measures. Those that count documents
        from relevance 1 on do so whatever threshold the aspect declares.

    Raises
    ------
    MultiAspectError
        If `On` has other values than ir-measures: RBP without ``rel``, and ERR.

    Examples
    --------
    >>> from ir_measures import AP
    >>> from pt_multiaspect.integration.parsing import as_measure
    >>> as_measure(AP @ 10)
    On(base='AP(rel=1)')@10
    """
    if supports(measure):
        return measure
    if isinstance(measure, type(ERR)):
        raise MultiAspectError(
            f"{measure} takes 4 as the highest grade in ir-measures, but the highest grade of "
            f"the aspect as a base; give On(base={str(measure)!r}) for the latter"
        )
    if isinstance(measure, type(RBP)) and "rel" not in measure.params:
        raise MultiAspectError(
            f"{measure} is graded in ir-measures, but binary as a base; say from which relevance on documents "
            "count, as in RBP(rel=1)"
        )
    rel = measure.SUPPORTED_PARAMS.get("rel")
    if rel is not None and "rel" not in measure.params and rel.default == 1:
        measure = measure(rel=1)
    return On(base=measure)
