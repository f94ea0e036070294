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
        got = shown(by)
        columns = choices(topics.columns)
        raise MultiAspectError(
            "by: expected a column of groups, a mapping {qid: group}, a Series or a file of topics "
            f"and groups, got {got} (columns: {columns})"
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
    n_topics = len(groups)
    if n_topics < 2 or n_groups < n_topics:
        return
    first_topic = next(iter(groups))
    first_group = shown(groups[first_topic])
    by_parameter = parameter("by")
    warn_once(
        f"each of the {n_groups} topics is a group of its own, such as {first_group} of "
        f"{first_topic}; give several topics the same group in {by_parameter}"
    )


def given_pairs(
    given: object, topics: pd.DataFrame, parameter_name: str, noun: str
) -> Iterable[tuple[Any, Any]] | None:
    """Return pairs of query id and group from a mapping, Series, column or file, else None.

    Parameters
    ----------
    given : object
        What a user gave.
    topics : DataFrame
        A frame with a column ``qid``, and perhaps one of groups.
    parameter_name : str
        The name of the parameter, for errors.
    noun : str
        What a topic has, such as "group", for errors.
    """
    if isinstance(given, Mapping | pd.Series):
        return given.items()
    if isinstance(given, PathLike):
        return read_topic_names(given, parameter_name, noun)
    if not isinstance(given, str):
        return None
    is_further_column = given in topics.columns and given not in COLUMNS
    if is_further_column:
        return zip(topics["qid"], topics[given], strict=True)
    path = os.path.expanduser(given)
    if os.path.isfile(path):
        return read_topic_names(given, parameter_name, noun)
    return None


def one_group_per_topic(
    pairs: Iterable[tuple[Any, Any]], topics: pd.DataFrame, parameter_name: str, noun: str
) -> dict[str, str]:
    """Return the name of the group of each topic by query id, checked to be one per topic.

    Parameters
    ----------
    pairs : iterable of tuple
        Pairs of query id and group, as returned by `given_pairs`.
    topics : DataFrame
        A frame with a column ``qid``, whose topics need groups.
    parameter_name, noun : str
        As for `given_pairs`.
    """
    checked_pairs = _check_pairs(pairs, parameter_name, noun)
    distinct_pairs = list(dict.fromkeys(checked_pairs))
    _check_group_types(distinct_pairs, parameter_name, noun)
    groups: dict[str, str] = {}
    for qid, raw_group in distinct_pairs:
        group = ""
        if raw_group is not None:
            group = _name_of_group(raw_group).strip()
        earlier = groups.setdefault(qid, group)
        if earlier != group:
            raise MultiAspectError(
                f"{parameter_name}: expected one {noun} per topic, got {earlier} and {group} for "
                f"{qid}"
            )
    qids = dict.fromkeys(map(str, topics["qid"]))
    refuse_unknown(groups, qids, "topics that have values", parameter_name)
    missing = [qid for qid in qids if not groups.get(qid)]
    if missing:
        first_topics = choices(missing[:5])
        total = tally(len(missing), "topic")
        raise MultiAspectError(
            f"{parameter_name}: expected a {noun} for each topic, got none for {first_topics} "
            f"{total}; give them one, such as 'other'"
        )
    return groups


def _check_pairs(
    pairs: Iterable[tuple[Any, Any]], parameter_name: str, noun: str
) -> Iterator[tuple[str, Any]]:
    """Yield pairs of query id and group, checked to be a single value; None if it is missing."""
    for qid, group in pairs:
        if not is_scalar(group):
            got = shown(group)
            raise MultiAspectError(
                f"{parameter_name}: expected a mapping {{qid: {noun}}} of names, got {got} for "
                f"{qid}"
            )
        if pd.isna(group):
            yield str(qid), None
        else:
            yield str(qid), group


def _check_group_types(pairs: Iterable[tuple[str, object]], parameter_name: str, noun: str) -> None:
    """Raise an error if some groups are numbers, and others are texts that read as these.

    They would get the same name, such as 1 and "1.0".

    Parameters
    ----------
    pairs : iterable of tuple
        Query ids and groups, None if missing.
    parameter_name, noun : str
        As for `given_pairs`.
    """
    value_by_name: dict[str, object] = {}
    text_by_name: dict[str, str] = {}
    for _, group in pairs:
        if isinstance(group, str):
            text_by_name.setdefault(_name_of_text(group), group)
        elif group is not None:
            value_by_name.setdefault(_name_of_group(group), group)
    for name, text in text_by_name.items():
        if name in value_by_name:
            value = value_by_name[name]
            raise MultiAspectError(
                f"{parameter_name}: expected names of {noun}s of one type, got {value} and the "
                f"text {text!r}; convert them to one type, as by astype(str)"
            )


def _name_of_text(text: str) -> str:
    """Return the name of the number that a text represents, or else the text without margins."""
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return _name_of_group(number)


def _name_of_group(group: object) -> str:
    """Return the name of a group: that of an integer also for a float of equal value."""
    if isinstance(group, Real) and not isinstance(group, Integral):
        number = float(group)
        if number.is_integer():
            return str(int(number))
    return str(group)


def read_topic_names(
    path: str | PathLike[str], parameter_name: str, noun: str
) -> Iterator[tuple[str, str]]:
    """Yield the query id and the name of each line of a file, such as that of the topic's group.

    Parameters
    ----------
    path : str or path
        The file.
    parameter_name, noun : str
        The beginning of errors, and what is named.
    """
    with errors_of(parameter_name):
        text = as_text(*load(path))
    for line_number, line, fields in text.lines():
        if len(fields) < 2:
            got = shown(line.decode())
            raise MultiAspectError(
                f"{parameter_name}: {text.name}:{line_number}: expected a query id, a blank and "
                f"the name of its {noun}, got {got}"
            )
        # Names may contain blanks.
        qid, name = line.decode().split(maxsplit=1)
        yield qid, name


def rows_by_group(
    perquery: pd.DataFrame, groups: Mapping[str, str]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each group of topics and its rows of a long frame.

    Parameters
    ----------
    perquery : DataFrame
        The long frame.
    groups : mapping of str to str
        The group of each topic by query id.
    """
    qids = perquery["qid"].map(str)
    group_of_row = qids.map(groups)
    for group in dict.fromkeys(groups.values()):
        yield group, perquery[group_of_row == group]
