"""Short labels of the columns of a table, and their measures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ir_measures

from ..aspects import Aspects
from ..errors import MultiAspectError, choices, refuse_unknown, shown
from ..integration.aggregators import lower_aggregate_is_better
from ..integration.parsing import parse


@dataclass(frozen=True)
class Head:
    """The head of a column."""

    #: The label of the measure in the frame.
    label: str
    #: The text in the table.
    short: str
    #: The measure, if `short` is not its name.
    meaning: str | None
    lower_is_better: bool
    #: The scales that the printed measure only names.
    scales: Aspects | None = None


def scales_of(heads: Sequence[Head]) -> list[Aspects]:
    """Return the distinct scales that printed measures only name."""
    return list(dict.fromkeys(head.scales for head in heads if head.scales is not None))


def heads_of(
    measures: Mapping[str, ir_measures.Measure | None], labels: Mapping[str, str] | None = None
) -> list[Head]:
    """Return the heads of columns.

    Parameters
    ----------
    measures : mapping of str to Measure or None
        The measures by label, None if unknown.
    labels : mapping of str to str, optional
        The heads of some of the labels. By default, labels that are printed measures are shortened to name and
        cutoff, and numbered if they are equal.

    Returns
    -------
    list of Head
        The heads, in the order of `measures`.

    Raises
    ------
    MultiAspectError
        If `labels` has a key that is not a label, a head that is not a text, or the same head twice.
    """
    chosen = {} if labels is None else dict(labels)
    refuse_unknown(chosen, measures, "labels of measures", "labels")
    wrong = [head for head in chosen.values() if not isinstance(head, str) or not head.strip()]
    if wrong:
        raise MultiAspectError(f"labels: expected non-empty strings as heads, got {shown(wrong[0])}")
    shorts = _distinct(
        {label: chosen.get(label) or _shortened(label, measure) for label, measure in measures.items()}, chosen
    )
    return [
        Head(
            label,
            shorts[label],
            _meaning(shorts[label], label, measure),
            lower_aggregate_is_better(measure),
            _named(measure),
        )
        for label, measure in measures.items()
    ]


def _shortened(label: str, measure: ir_measures.Measure | None) -> str:
    """Return the name and the cutoff of a printed measure; other labels are returned unchanged."""
    printed = re.fullmatch(r"(\w+)\(.*\)(@\d+)?", label, re.DOTALL)
    if printed is None or measure is None or label != str(measure):
        return label
    return printed[1] + (printed[2] or "")


def _distinct(shorts: dict[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return heads, numbered if they are equal; heads given by the user must be distinct."""
    result: dict[str, str] = {}
    for label, short in shorts.items():
        equal = [key for key, head in shorts.items() if head == short]
        if len(equal) > 1 and any(key in chosen for key in equal):
            raise MultiAspectError(f"labels: expected distinct heads, got {short!r} for {choices(equal)}")
        result[label] = short if len(equal) == 1 else f"{short} ({equal.index(label) + 1})"
    if len(set(result.values())) < len(result):  # another label looks like a numbered one
        return {label: chosen.get(label, label) for label in shorts}
    return result


def _meaning(short: str, label: str, measure: ir_measures.Measure | None) -> str | None:
    """Return the measure of a head, unless the head is its name."""
    if measure is None:
        return None if short == label else label
    if short == str(measure):
        return None
    try:
        named = parse(short)
    except MultiAspectError:
        named = []
    return None if named == [measure] else str(measure)


def _named(measure: ir_measures.Measure | None) -> Aspects | None:
    """Return the scales of a measure, if they have a name."""
    scales = getattr(measure, "params", {}).get("aspects")
    return scales if isinstance(scales, Aspects) and scales.name is not None else None
