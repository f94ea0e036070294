"""Measures in command-line syntax: several in one string, with aliases, and strings without quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import ir_measures

from ..bases.strings import with_quotes
from ..errors import MultiAspectError, refuse_none
from .parsing import parse, refuse_other_name

_CLOSING = {"(": ")", "[": "]", "{": "}"}

#: ``alias=measure``. In a measure, an = only occurs inside parentheses.
_LABELLED = re.compile(r"""(?:"([^"]*)"|'([^']*)'|([^()\[\]{}'"=]*?))\s*=\s*(.*)""", re.DOTALL)


def parse_list(texts: Iterable[str]) -> dict[str, ir_measures.Measure]:
    """Parse measures written for a command line.

    Parameters
    ----------
    texts : iterable of str
        Each text contains one or more measures, separated by whitespace or commas outside brackets
        and quotes. A measure may have an alias, as in ``CAM=CAM(base='AP')@10``, and the quotes of
        strings may be omitted, ``CAM(base=AP)``.

    Returns
    -------
    dict of str to ir_measures.Measure
        The measures by name, in the given order: the alias or else the text or, if quotes are
        missing there, the string form. Duplicates are dropped.

    Raises
    ------
    MultiAspectError
        If there is no measure, one cannot be parsed, brackets or quotes do not match, or an alias
        refers to several measures or is the name of a different measure.

    Examples
    --------
    >>> from pt_multiaspect.integration.measure_lists import parse_list
    >>> parse_list(["nDCG@10 map", "ours=CAM(base=AP)@10"])
    {'nDCG@10': nDCG@10, 'map': AP, 'ours': CAM(base='AP')@10}
    """
    labelled: dict[str, ir_measures.Measure] = {}
    for text in chain.from_iterable(map(split_measures, texts)):
        for label, measure in _parse_labelled(text):
            earlier = labelled.setdefault(label, measure)
            if earlier != measure or type(earlier) is not type(measure):
                raise MultiAspectError(
                    f"the alias {label!r} is given to two measures, {earlier} and {measure}; use "
                    "distinct aliases"
                )
    refuse_none(labelled, "measure, such as nDCG@10")
    return labelled


def split_measures(text: str) -> list[str]:
    """Split a text at whitespace and commas outside brackets and quotes.

    Parameters
    ----------
    text : str
        One or more measures.

    Returns
    -------
    list of str
        One string per measure. Whitespace around ``@`` and ``=`` does not separate, nor does a
        comma before a digit, as in ``P_5,10``.

    Raises
    ------
    MultiAspectError
        If brackets or quotes do not match.

    Examples
    --------
    >>> from pt_multiaspect.integration.measure_lists import split_measures
    >>> split_measures("nDCG@10, TOMA(aspects={'relevance': 2}) @ 10")
    ['nDCG@10', "TOMA(aspects={'relevance': 2})@10"]
    """
    parts = [""]
    open_brackets: list[str] = []
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[position - 1] != "\\" else quote
        elif character in "\"'":
            quote = character
        elif character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character in _CLOSING.values():
            if not open_brackets or open_brackets.pop() != character:
                raise MultiAspectError(
                    f"cannot read the measures {text!r}: unexpected {character!r}"
                )
        elif not open_brackets and character.isspace():
            before, after = parts[-1], text[position:].lstrip()
            if not before.endswith(("@", "=")) and not after.startswith(("@", "=")):
                parts.append("")
            continue
        elif (
            not open_brackets
            and character == ","
            and not text[position + 1 : position + 2].isdigit()
        ):
            parts.append("")  # in P_5,10, a comma separates cutoffs
            continue
        parts[-1] += character
    if quote or open_brackets:
        raise MultiAspectError(
            f"cannot read the measures {text!r}: expected {quote or open_brackets[-1]} at the end"
        )
    return [part for part in parts if part]


def _parse_labelled(text: str) -> Iterator[tuple[str, ir_measures.Measure]]:
    """Yield the measures of one text, with their aliases."""
    match = _LABELLED.fullmatch(text)
    if match is None:
        quoted = with_quotes(text)
        members = parse(quoted)
        as_written = quoted == text and len(members) == 1
        yield from ((text if as_written else str(member), member) for member in members)
        return
    *labels, rest = match.groups()
    label = next((label for label in labels if label), "").strip()
    if not (label and rest):
        raise MultiAspectError(f"expected alias=measure, as in CAM=CAM(base='AP')@10, got {text!r}")
    members = parse(with_quotes(rest))
    if len(members) > 1:
        raise MultiAspectError(
            f"expected one measure for the alias {label!r}, but {rest!r} expands to "
            f"{len(members)}, such as {members[0]}; give each of them an alias"
        )
    refuse_other_name(label, members[0])
    yield label, members[0]
