"""Topics whose ids look nested, such as the turns of conversations or the variants of questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from ..errors import in_shell, number_of, parameter, warn_once

#: The characters that separate the parts of a qid.
_SEPARATORS = "_-./:#|~@+"

#: A head, a separator and a short number or letter (106_1, 9-1/q2, 31.b), or a digit and a letter
#: (12a).
_SHORT_TAIL = re.compile(
    rf"""
    (?P<head>.+)
    [{re.escape(_SEPARATORS)}]
    (?:
        (?:q|t|v|p|turn|var|part)?  # question, turn, variant, part
        (?P<number>[0-9]{{1,3}})
        | (?P<letter>[a-z])
    )
    |
    (?P<stem>.*[0-9])
    (?P<variant>[a-h])
    """,
    re.IGNORECASE | re.VERBOSE,
)

#: The topics of CLEF eHealth (101002), whose first three digits are the head.
_SIX_DIGITS = re.compile(r"(?P<head>[0-9]{3})(?P<number>[0-9]{3})")

#: A date such as 2021-03, news_2021_q1 or 2021.12.31.
_DATE = re.compile(
    r"""
    (?:.*[^0-9])?                                  # perhaps a prefix
    (?:19|20)[0-9]{2}                              # a year
    [-_./]
    (?:
        q[1-4]                                     # a quarter
        | [0-9]{1,2}                               # a month or another number
        | (?:0?[1-9]|1[0-2])                       # a month and a day
          [-_./]
          (?:0?[1-9]|[12][0-9]|3[01])
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)

#: The patterns of groups of qids without separators.
_PATTERNS_WITHOUT_SEPARATOR = (
    r"(\d{3})\d{3}",  # 101002 is in the group 101
    r"(\d+)[A-Za-z]",  # 12a is in the group 12
    r"(.+)[A-Za-z]",  # q12a is in the group q12
)

#: Larger groups on average are no turns or variants.
_MOST_PER_HEAD = 30


@dataclass(frozen=True, eq=False)
class NestedTopics:
    """Topics whose ids look nested."""

    #: The group of each topic, by qid.
    groups: pd.Series

    def __str__(self) -> str:
        """Return "4 topics look like 2 groups (1_1, 1_2, …)", with two topics of a group."""
        n_topics = len(self.groups)
        groups = number_of(self.groups.nunique(), "group")
        has_sibling = self.groups.duplicated(keep=False)
        first_group = self.groups[has_sibling].iloc[0]
        is_in_group = self.groups == first_group
        first, second = self.groups.index[is_in_group][:2]
        return f"{n_topics} topics look like {groups} ({first}, {second}, …)"

    @property
    def pattern(self) -> str | None:
        """A regular expression whose one group is the group of topics; None if none fits."""
        for pattern in _patterns(self.groups):
            if _captures_groups(pattern, self.groups):
                return pattern
        return None


def nested_topics(
    qids: Iterable[object], by: Mapping[str, str] | None = None
) -> NestedTopics | None:
    """Return the outermost groups that qids suggest, or None if they do not look nested.

    Parameters
    ----------
    qids : iterable of object
        Query ids; repeated ones count once.
    by : mapping of str to str, optional
        Groups of the topics that are tested separately. A level of the ids that divides the topics
        in the same way is passed over: within such a group, all topics would be one cluster.
    """
    from_innermost = nested_levels(qids)
    for groups in reversed(from_innermost):
        if by is None:
            return NestedTopics(groups)
        topics = groups.index.to_series()
        tested_groups = topics.map(by)
        if not _is_same_partition(groups, tested_groups):
            return NestedTopics(groups)
    return None


def nested_levels(qids: Iterable[object]) -> list[pd.Series]:
    """Return the groups that qids suggest, by qid, from the innermost level to the outermost.

    The topic 1_2_3 is in the group 1_2 of the innermost level, and 1 of the outermost.
    """
    topics = list(dict.fromkeys(map(str, qids)))
    levels: list[pd.Series] = []
    group_of_topic = pd.Series(topics, index=topics, dtype=object)  # at first, each is its own
    while True:
        # The next level groups the groups: 1_2_3 and 1_2_4 are in 1_2, which is in 1.
        groups = pd.Series(group_of_topic.unique(), dtype=object)
        outer_groups = _find_heads(groups)  # in the same order, None if names suggest none
        if outer_groups is None:
            return levels
        outer_group_of = dict(zip(groups, outer_groups, strict=True))
        group_of_topic = group_of_topic.map(outer_group_of).astype(object)
        levels.append(group_of_topic)


def _find_heads(ids: pd.Series) -> pd.Series | None:
    """Return the head of each of distinct ids, or None if they do not look nested.

    The head of 106_1 is 106. An id that has no head is its own.
    """
    parts = _split_nested_ids(ids)
    if parts is None or _are_dates(ids):
        return None
    heads = parts["head"].reindex(ids.index)
    return heads.fillna(ids)


def _split_nested_ids(ids: pd.Series) -> pd.DataFrame | None:
    """Return the head and the number of ids as `_split_ids`, or None if they do not look nested."""
    n_ids = len(ids)
    parts = _split_ids(ids, _SHORT_TAIL)
    if _is_nested(parts, n_ids):
        return parts
    parts = _split_ids(ids, _SIX_DIGITS)
    if _is_nested(parts, n_ids) and _is_numbered_as_clef(parts):
        return parts
    return None


def _split_ids(ids: pd.Series, pattern: re.Pattern[str]) -> pd.DataFrame:
    """Return the columns head and number of the ids that match a pattern, with their index."""
    matches = ids.map(pattern.fullmatch)
    matches = matches.dropna()
    rows = [_head_and_number(match) for match in matches]
    columns = ["head", "number"]
    return pd.DataFrame(rows, index=matches.index, columns=columns)


def _head_and_number(match: re.Match[str]) -> tuple[str, int]:
    """Return the head of an id and the number at its end: 106 and 3 of 106_3, 106_c and 106c.

    Parameters
    ----------
    match : Match
        The parts of the id by name: ``head`` and ``number`` of 106_3, ``head`` and ``letter`` of
        106_c, or ``stem`` and ``variant`` of 106c. The others are None.
    """
    parts = match.groupdict()
    head = parts["head"]
    if head is None:
        head = parts["stem"]
    digits = parts["number"]
    if digits is not None:
        return head, int(digits)
    letter = parts["letter"]
    if letter is None:
        letter = parts["variant"]
    letters_before = ord(letter.lower()) - ord("a")
    return head, letters_before + 1  # a is 1


def _is_nested(parts: pd.DataFrame, n_topics: int) -> bool:
    """Return whether ids look nested by their heads and numbers, such as 31 and 4 in 31_4.

    Parameters
    ----------
    parts : DataFrame
        The columns head and number of the ids that have them.
    n_topics : int
        The number of all ids.
    """
    heads = parts.groupby("head")["number"].agg(["size", "min", "max"])
    if len(heads) < 3:
        return False
    most_have_a_head = len(parts) / n_topics >= 0.9
    groups_are_small = heads["size"].mean() <= _MOST_PER_HEAD
    shared_heads = heads[heads["size"] > 1]
    n_siblings = shared_heads["size"].sum()
    half_have_siblings = n_siblings / n_topics >= 0.5
    starts_low = shared_heads["min"] <= 3
    most_start_low = starts_low.mean() >= 0.8

    # Numbers of turns and variants have few gaps.
    span = shared_heads["max"] - shared_heads["min"] + 1
    numbers_per_id = span / shared_heads["size"]
    are_dense = numbers_per_id.median() <= 3
    return bool(
        most_have_a_head
        and groups_are_small
        and half_have_siblings
        and most_start_low
        and are_dense
    )


def _is_numbered_as_clef(parts: pd.DataFrame) -> bool:
    """Return whether ids are numbered as in CLEF eHealth, such as 101002 (head 101, number 2).

    They have at least five heads. The lowest number of all is at most 3, the highest at most 20.
    """
    has_many_heads = parts["head"].nunique() >= 5
    first_number = parts["number"].min()
    last_number = parts["number"].max()
    return bool(has_many_heads and first_number <= 3 and last_number <= 20)


def _are_dates(ids: pd.Series) -> bool:
    """Return whether at least half of the ids are dates."""
    is_date = ids.map(_DATE.fullmatch).notna()  # no match is None
    return bool(2 * is_date.sum() >= len(ids))


def _is_same_partition(groups: pd.Series, by: pd.Series) -> bool:
    """Return whether two series of names divide the same topics in the same way."""
    pairs = pd.DataFrame({"group": groups, "by": by})
    distinct_pairs = pairs.drop_duplicates()
    # Each name of one has exactly one name of the other.
    return distinct_pairs["group"].is_unique and distinct_pairs["by"].is_unique


def warn_of_nested_topics(qids: Iterable[object], by: Mapping[str, str] | None = None) -> None:
    """Warn that topics which look nested are treated as independent; see `nested_topics`."""
    nested = nested_topics(qids, by)
    if nested is None:
        return
    dependent = cluster_argument(nested)
    independent = parameter("cluster", "qid")
    warn_once(
        f"{nested} and are treated as independent: pass {dependent}, or {independent} if they are"
    )


def cluster_argument(nested: NestedTopics) -> str:
    """Return how to give the parameter ``cluster``: as a pattern if one fits, else by topic."""
    pattern = nested.pattern
    if pattern is None:
        if in_shell():
            return parameter("cluster", "FILE")
        return "cluster={qid: group}"
    if in_shell():
        return parameter("cluster", pattern)
    return f'cluster=r"{pattern}"'


def _patterns(groups: pd.Series) -> Iterator[str]:
    """Yield patterns that may match whole qids and capture their groups, the plainest first.

    Parameters
    ----------
    groups : Series of str
        The group of each topic, by qid.
    """
    separators = _separators_after_groups(groups)  # one or several characters, such as "_-"
    if not separators:
        yield from _PATTERNS_WITHOUT_SEPARATOR
        return
    # `separator` matches one separator, `part` what is between two of them.
    characters = _as_character_class(separators)
    part = f"[^{characters}]+"
    if len(separators) > 1:
        separator = f"[{characters}]"
    elif separators in (".", "|", "+"):
        separator = rf"\{separators}"  # it has another meaning in patterns
    else:
        separator = separators
    yield rf"(\d+){separator}.*"  # 12 of 12_a_b
    yield rf"({part}){separator}.*"  # q12 of q12_a_b
    yield rf"(.+){separator}{part}"  # q12_a of q12_a_b
    yield rf"({part})(?:{separator}.*)?"  # q12 of q12_a_b, and of q12 itself


def _separators_after_groups(groups: pd.Series) -> str:
    """Return the separators that follow the groups of qids, such as "_" after 12 in 12_3."""
    next_characters: set[str] = set()
    for qid, group in groups.items():
        tail = str(qid).removeprefix(group)
        next_characters.add(tail[:1])
    return "".join(mark for mark in _SEPARATORS if mark in next_characters)


def _as_character_class(separators: str) -> str:
    """Return separators in an order in which brackets of a regular expression may contain them."""
    # Only at the end of a class, a hyphen is no range.
    if "-" in separators:
        return separators.replace("-", "") + "-"
    return separators


def _captures_groups(pattern: str, groups: pd.Series) -> bool:
    """Return whether a pattern matches each whole qid and captures its group."""
    for qid, group in groups.items():
        match = re.fullmatch(pattern, str(qid))
        if match is None or match[1] != group:
            return False
    return True
