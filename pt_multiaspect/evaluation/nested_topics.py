"""Topics whose ids look nested, such as the turns of conversations or the variants of questions."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from ..errors import in_shell, number_of, parameter, warn_once

#: The characters that separate the parts of a qid.
_SEPARATORS = "_-./:#|~@+"

#: A head, a separator and a short number or letter (106_1, 9-1/q2, 31.b), or a digit and a letter
#: (12a).
_SHORT_TAIL = re.compile(
    rf"(?P<head>.+)[{re.escape(_SEPARATORS)}]"
    r"(?:(?:q|t|v|p|turn|var|part)?(?P<number>[0-9]{1,3})|(?P<letter>[a-z]))"
    r"|(?P<stem>.*[0-9])(?P<variant>[a-h])",
    re.IGNORECASE,
)

#: The topics of CLEF eHealth, whose first three digits are the head.
_SIX_DIGITS = re.compile(r"(?P<head>[0-9]{3})(?P<number>[0-9]{3})")

#: A year with a month, quarter or number, or a day, perhaps after a prefix.
_DATE = re.compile(
    r"(?:.*[^0-9])?(?:19|20)[0-9]{2}[-_./]"
    r"(?:q[1-4]|[0-9]{1,2}|(?:0?[1-9]|1[0-2])[-_./](?:0?[1-9]|[12][0-9]|3[01]))",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class NestedTopics:
    """Topics whose ids look nested."""

    #: The group of each topic, by qid.
    groups: pd.Series

    def __str__(self) -> str:
        """Return the numbers of topics and groups, with two topics of a group."""
        has_several = self.groups.duplicated(keep=False)
        first_group = self.groups[has_several].iloc[0]
        first, second = self.groups.index[self.groups == first_group][:2]
        groups = number_of(self.groups.nunique(), "group")
        return f"{len(self.groups)} topics look like {groups} ({first}, {second}, …)"

    @property
    def pattern(self) -> str | None:
        """A regular expression whose one group is the group of topics; None if none fits."""
        for pattern in _patterns(self.groups):
            if all(_is_group(pattern, qid, group) for qid, group in self.groups.items()):
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
        Groups of the topics that are tested separately. They are no clusters of their topics.
    """
    for groups in reversed(nested_levels(qids)):
        if by is None or not _is_same_partition(groups, groups.index.to_series().map(by)):
            return NestedTopics(groups)
    return None


def warn_of_nested_topics(qids: Iterable[object], by: Mapping[str, str] | None = None) -> None:
    """Warn that topics which look nested are treated as independent; see `nested_topics`."""
    nested = nested_topics(qids, by)
    if nested is None:
        return
    independent = parameter("cluster", "qid")
    warn_once(
        f"{nested} and are treated as independent: pass {cluster_argument(nested)}, or "
        f"{independent} if they are"
    )


def cluster_argument(nested: NestedTopics) -> str:
    """Return the parameter ``cluster``: a pattern if one fits, else a mapping or a file."""
    pattern = nested.pattern
    if in_shell():
        return parameter("cluster", pattern or "FILE")
    if pattern is None:
        return "cluster={qid: group}"
    return f'cluster=r"{pattern}"'


def nested_levels(qids: Iterable[object]) -> list[pd.Series]:
    """Return the groups that qids suggest, by qid, from the innermost level to the outermost."""
    topics = list(dict.fromkeys(map(str, qids)))
    groups = pd.Series(topics, index=topics, dtype=object)
    levels: list[pd.Series] = []
    while True:
        codes, names = pd.factorize(groups)
        heads = _find_heads(pd.Series(names, dtype=object))
        if heads is None:
            return levels
        groups = pd.Series(heads.to_numpy()[codes], index=topics, dtype=object)
        levels.append(groups)


def _find_heads(ids: pd.Series) -> pd.Series | None:
    """Return the head of each of distinct ids, or None if they do not look nested.

    The head of an id that has no other is the id itself.
    """
    parts = _split_ids(ids, _SHORT_TAIL)
    if not _is_nested(parts, len(ids)):
        parts = _split_ids(ids, _SIX_DIGITS)
        if not _is_nested(parts, len(ids)) or not _is_numbered_as_clef(parts):
            return None
    if _are_dates(ids):
        return None
    return parts["head"].reindex(ids.index).fillna(ids)


def _split_ids(ids: pd.Series, pattern: re.Pattern[str]) -> pd.DataFrame:
    """Return the head and the number of each id that matches a pattern."""
    matches = ids.map(pattern.fullmatch).dropna()
    rows = [_head_and_number(match) for match in matches]
    return pd.DataFrame(rows, index=matches.index, columns=["head", "number"])


def _head_and_number(match: re.Match[str]) -> tuple[str, int]:
    """Return the head of an id and the number at its end; letters are counted from a."""
    parts = match.groupdict()
    head = parts["head"] or parts["stem"]
    if parts["number"]:
        return head, int(parts["number"])
    letter = parts["letter"] or parts["variant"]
    return head, ord(letter.lower()) - ord("a") + 1


def _is_nested(parts: pd.DataFrame, n_topics: int) -> bool:
    """Return whether ids look nested by their heads and numbers."""
    heads = parts.groupby("head")["number"].agg(["size", "min", "max"])
    several = heads[heads["size"] > 1]  # heads with several ids
    if 10 * len(parts) < 9 * n_topics:  # most ids have a head
        return False
    if len(heads) < 3:
        return False
    if 2 * several["size"].sum() < n_topics:  # half of the ids have a sibling
        return False
    if not heads["size"].mean() <= 30:
        return False
    n_low_starts = (several["min"] <= 3).sum()
    if 10 * n_low_starts < 8 * len(several):
        return False
    span = several["max"] - several["min"] + 1
    numbers_per_id = span / several["size"]
    return bool(numbers_per_id.median() <= 3)


def _is_numbered_as_clef(parts: pd.DataFrame) -> bool:
    """Return whether at least five heads have numbers from at most 3 to at most 20."""
    n_heads = parts["head"].nunique()
    number = parts["number"]
    return bool(n_heads >= 5 and number.min() <= 3 and number.max() <= 20)


def _are_dates(ids: pd.Series) -> bool:
    n_dates = ids.map(_DATE.fullmatch).count()
    return bool(2 * n_dates >= len(ids))


def _is_same_partition(groups: pd.Series, by: pd.Series) -> bool:
    pairs = pd.DataFrame({"group": groups, "by": by})
    pairs = pairs.drop_duplicates()
    return pairs["group"].is_unique and pairs["by"].is_unique


def _is_group(pattern: str, qid: Hashable, group: str) -> bool:
    """Return whether a pattern matches a whole qid and captures its group."""
    match = re.fullmatch(pattern, str(qid))
    return match is not None and match[1] == group


def _patterns(groups: pd.Series) -> Iterator[str]:
    """Yield patterns that may match qids and capture their groups, the plainest first."""
    next_characters: set[str] = set()
    for qid, group in groups.items():
        rest = str(qid)[len(group) :]
        next_characters.add(rest[:1])
    separators = "".join(mark for mark in _SEPARATORS if mark in next_characters)
    if not separators:
        yield r"(\d{3})\d{3}"
        yield r"(\d+)[A-Za-z]"
        yield r"(.+)[A-Za-z]"
        return
    listed = separators.replace("-", "")
    if "-" in separators:
        listed += "-"  # at the end of a class, a hyphen is no range
    separator = f"[{listed}]"
    if len(separators) == 1:
        if separators in ".|+":
            separator = re.escape(separators)
        else:
            separator = separators
    yield rf"(\d+){separator}.*"
    yield rf"([^{listed}]+){separator}.*"
    yield rf"(.+){separator}[^{listed}]+"
    yield rf"([^{listed}]+)(?:{separator}.*)?"
