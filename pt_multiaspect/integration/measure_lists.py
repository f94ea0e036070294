"""Measures in command-line syntax: several in a string, with aliases, and without quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import ir_measures

from ..bases.strings import with_quotes
from ..errors import MultiAspectError, refuse_none
from .parsing import parse, refuse_other_name

#: The closing bracket of each opening one.
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUOTES = ('"', "'")

#: The signs between parts of a measure, beside which there may be whitespace.
_SIGNS = ("@", "=")

#: ``alias=measure``. In a measure, an = only occurs inside parentheses.
_LABELLED = re.compile(
    r"""
    (?:
        "(?P<in_double>[^"]*)"
        | '(?P<in_single>[^']*)'
        | (?P<unquoted>[^()\[\]{}'"=]*?)
    )
    \s*=\s*
    (?P<measure>.*)
    """,
    re.VERBOSE | re.DOTALL,
)


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
    for text in texts:
        for part in split_measures(text):
            for label, measure in _parse_labelled(part):
                earlier = labelled.setdefault(label, measure)
                if earlier != measure or type(earlier) is not type(measure):
                    raise MultiAspectError(
                        f"the alias {label!r} is given to two measures, {earlier} and {measure}; "
                        "use distinct aliases"
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
    for position, is_outside in enumerate(_is_outside(text)):
        character = text[position]
        if not is_outside:
            parts[-1] += character
        elif _separates(text, position):
            parts.append("")
        elif not character.isspace():  # whitespace beside @ or = is left out
            parts[-1] += character
    return [part for part in parts if part]


def _separates(text: str, position: int) -> bool:
    """Return whether the character at `position`, outside brackets, separates two measures."""
    character = text[position]
    before = text[:position].rstrip()
    after = text[position + 1 :]
    if character == ",":
        is_within_measure = after[:1].isdigit()  # as in P_5,10
        return not is_within_measure
    if character.isspace():
        is_beside_sign = before.endswith(_SIGNS) or after.lstrip().startswith(_SIGNS)
        return not is_beside_sign
    return False


def _is_outside(text: str) -> list[bool]:
    """Return for each character of measures whether it is outside brackets and quotes.

    Raise an error if these do not match.
    """
    is_outside = []
    expected_brackets: list[str] = []  # closing ones, the innermost last
    expected_quote = ""
    for position, character in enumerate(text):
        is_outside.append(not expected_quote and not expected_brackets)
        if expected_quote:
            is_escaped = text[position - 1] == "\\"
            if character == expected_quote and not is_escaped:
                expected_quote = ""
        elif character in _QUOTES:
            expected_quote = character
        elif character in _CLOSING:
            expected_brackets.append(_CLOSING[character])
        elif character in _CLOSING.values():
            expected = ""
            if expected_brackets:
                expected = expected_brackets.pop()
            if character != expected:
                raise MultiAspectError(
                    f"cannot read the measures {text!r}: unexpected {character!r}"
                )
    if expected_quote or expected_brackets:
        missing = expected_quote or expected_brackets[-1]
        raise MultiAspectError(f"cannot read the measures {text!r}: expected {missing} at the end")
    return is_outside


def _parse_labelled(text: str) -> Iterator[tuple[str, ir_measures.Measure]]:
    """Yield the alias or name, and the measure, of each measure of a text."""
    labelled = _LABELLED.fullmatch(text)
    if labelled is None:
        yield from _parse_unlabelled(text)
        return
    label = labelled["in_double"] or labelled["in_single"] or labelled["unquoted"] or ""
    label = label.strip()
    measure_text = labelled["measure"]
    if not label or not measure_text:
        raise MultiAspectError(f"expected alias=measure, as in CAM=CAM(base='AP')@10, got {text!r}")
    members = parse(with_quotes(measure_text))
    first = members[0]
    n_members = len(members)
    if n_members > 1:
        raise MultiAspectError(
            f"expected one measure for the alias {label!r}, but {measure_text!r} expands to "
            f"{n_members}, such as {first}; give each of them an alias"
        )
    refuse_other_name(label, first)
    yield label, first


def _parse_unlabelled(text: str) -> Iterator[tuple[str, ir_measures.Measure]]:
    """Yield the name and the measure of each measure of a text without alias."""
    quoted = with_quotes(text)
    members = parse(quoted)
    if len(members) == 1 and quoted == text:
        # One measure without missing quotes: its name is the text.
        yield text, members[0]
        return
    for member in members:
        yield str(member), member
