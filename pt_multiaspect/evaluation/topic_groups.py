"""Groups of topics, as given by a column, a mapping, a Series or a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any

import pandas as pd
from pandas.api.types import is_scalar

from ..errors import (
    MultiAspectError,
    choices,
    errors_of,
    parameter,
    refuse_unknown,
    shown,
    tally,
    warn_once,
)
from ..io.file_contents import as_text, load
from .long_frames import COLUMNS

#: The name of the rows of all topics.
ALL = "all"


def read_topic_groups(by: object, topics: pd.DataFrame) -> dict[str, str]:
    """Return the group of each topic.

    Parameters
    ----------
    by : str, path, mapping or Series
        A further column of the frame, or groups by query id, also in a file: lines of a query id,
        white space and the name of its group, which may contain blanks.
    topics : DataFrame
        A long frame, or another frame with a column ``qid``.

    Returns
    -------
    dict of str to str
        Groups by query id, in the given order.

    Raises
    ------
    MultiAspectError
        If a topic has no group or several, a group is named 'all', a topic is unknown, or groups
        are numbers and text that reads as one of them.

    Warns
    -----
    MultiAspectWarning
        If every topic is a group of its own.
    """
    pairs = given_pairs(by, topics, "by", "group")
    if pairs is None:
        raise MultiAspectError(
            "by: expected a column of groups, a mapping {qid: group}, a Series or a file of topics "
            f"and groups, got {shown(by)} (columns: {choices(topics.columns)})"
        )
    groups = one_group_per_topic(pairs, topics, "by", "group")
    if ALL in groups.values():
        raise MultiAspectError(
            f"by: the group {ALL!r} has the name of the row of all topics; rename it"
        )
    _warn_of_single_topics(groups)
    return groups


def _warn_of_single_topics(groups: Mapping[str, str]) -> None:
    """Warn if every topic is a group of its own, as if the texts of topics were given as groups."""
    n_groups = len(set(groups.values()))
    if n_groups == len(groups) > 1:
        qid, group = next(iter(groups.items()))
        warn_once(
            f"each of the {n_groups} topics is a group of its own, such as {shown(group)} of "
            f"{qid}; give several topics the same group in {parameter('by')}"
        )


def given_pairs(
    given: object, topics: pd.DataFrame, what: str, noun: str
) -> Iterable[tuple[Any, Any]] | None:
    """Return pairs of query id and group from a mapping, Series, column or file, else None.

    Parameters
    ----------
    given : object
        What a user gave.
    topics : DataFrame
        A frame with a column ``qid``, and perhaps one of groups.
    what, noun : str
        The name of the parameter, at the beginning of errors, and what a topic has.
    """
    if isinstance(given, Mapping | pd.Series):
        return given.items()
    if isinstance(given, str) and given in topics.columns and given not in COLUMNS:
        return zip(topics["qid"], topics[given], strict=True)
    if isinstance(given, PathLike):
        return read_topic_names(given, what, noun)
    if isinstance(given, str) and os.path.isfile(os.path.expanduser(given)):
        return read_topic_names(given, what, noun)
    return None


def one_group_per_topic(
    pairs: Iterable[tuple[Any, Any]], topics: pd.DataFrame, what: str, noun: str
) -> dict[str, str]:
    """Return the group of each topic, checked to have one; see `given_pairs`."""
    groups: dict[str, str] = {}
    distinct_pairs = list(dict.fromkeys(_read_pairs(pairs, what, noun)))
    distinct_groups = dict.fromkeys(group for _, group in distinct_pairs if group is not None)
    _check_group_types(distinct_groups, what, noun)
    for qid, value in distinct_pairs:
        group = ""
        if value is not None:
            group = _name_of_group(value).strip()
        if groups.setdefault(qid, group) != group:
            raise MultiAspectError(
                f"{what}: expected one {noun} per topic, got {groups[qid]} and {group} for {qid}"
            )
    qids = dict.fromkeys(map(str, topics["qid"]))
    refuse_unknown(groups, qids, "topics that have values", what)
    missing = [qid for qid in qids if not groups.get(qid)]
    if missing:
        raise MultiAspectError(
            f"{what}: expected a {noun} for each topic, got none for {choices(missing[:5])} "
            f"{tally(len(missing), 'topic')}; give them one, such as 'other'"
        )
    return groups


def _read_pairs(
    pairs: Iterable[tuple[Any, Any]], what: str, noun: str
) -> Iterator[tuple[str, Any]]:
    """Yield the name of each topic and its group, which is None if it is missing."""
    for qid, group in pairs:
        if not is_scalar(group):
            raise MultiAspectError(
                f"{what}: expected a mapping {{qid: {noun}}} of names, got {shown(group)} for {qid}"
            )
        if pd.isna(group):
            yield str(qid), None
        else:
            yield str(qid), group


def read_topic_names(path: str | PathLike[str], what: str, noun: str) -> Iterator[tuple[str, str]]:
    """Yield the query id and the name of each line of a file, such as that of the topic's group.

    Parameters
    ----------
    path : str or path
        The file.
    what, noun : str
        The beginning of errors, and what is named.
    """
    with errors_of(what):
        text = as_text(*load(path))
    for line_number, line, fields in text.lines():
        if len(fields) < 2:
            raise MultiAspectError(
                f"{what}: {text.name}:{line_number}: expected a query id, a blank and the name of "
                f"its {noun}, got {shown(line.decode())}"
            )
        qid, group = line.decode().split(maxsplit=1)
        yield qid, group


def rows_by_group(
    perquery: pd.DataFrame, groups: Mapping[str, str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each group of topics and its rows of a long frame."""
    group = perquery["qid"].map(str).map(groups)
    for name in dict.fromkeys(groups.values()):
        yield name, perquery[group == name]


def _name_of_group(group: object) -> str:
    """Return the name of a group; numbers that are equal have one name."""
    if not isinstance(group, Real) or isinstance(group, Integral):
        return str(group)
    number = float(group)
    if number.is_integer():
        return str(int(number))
    return str(group)


def _check_group_types(groups: Iterable[object], what: str, noun: str) -> None:
    """Raise an error if text reads as a group that is given as a number, or as another value.

    Parameters
    ----------
    groups : iterable of object
        The distinct groups, as given.
    what, noun : str
        The parameter, at the beginning of the error, and what a topic has.
    """
    others: dict[str, object] = {}
    texts: dict[str, str] = {}
    for group in groups:
        if isinstance(group, str):
            texts.setdefault(_name_of_text(group), group)
        else:
            others.setdefault(_name_of_group(group), group)
    for name, text in texts.items():
        if name in others:
            raise MultiAspectError(
                f"{what}: expected names of {noun}s of one type, got {others[name]} and the text "
                f"{text!r}; convert them to one type, as by astype(str)"
            )


def _name_of_text(text: str) -> str:
    try:
        return _name_of_group(float(text))
    except ValueError:
        return text.strip()
