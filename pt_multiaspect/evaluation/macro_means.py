"""Macro means, in which groups of topics count equally, as given by `macro=`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import boolean
from ..errors import MultiAspectError, number_of, parameter, warn_once
from ..integration.aggregators import aggregate_is_sum
from ..kernels.mean_errors import TopicGroups

#: The name of the rows of macro means.
MACRO = "macro"

#: Of fewer drawn groups, intervals are wide, and tests mislead where the groups are skewed.
_FEW_DRAWN = 5


@dataclass(frozen=True, eq=False)
class MacroMean:
    """A mean over groups of topics that count equally."""

    #: The group of each topic, by query id.
    group_of: Mapping[str, str]
    #: Whether it is about a new draw of groups rather than about these.
    are_groups_drawn: bool

    def groups_of_topics(self, qids: Sequence[object]) -> TopicGroups | None:
        """Return the groups of topics in their order, None if a group has no topic."""
        names = np.array([self.group_of[str(qid)] for qid in qids], dtype=object)
        topics = [np.flatnonzero(names == name) for name in self.groups]
        if not all(map(len, topics)):
            return None
        return TopicGroups(topics, self.are_groups_drawn)

    @property
    def groups(self) -> list[str]:
        """The names of the groups."""
        return list(dict.fromkeys(self.group_of.values()))

    def in_words(self, *, has_error: bool) -> str:
        """Return what the mean is, and with a standard error also which groups it is about."""
        mean = f"{MACRO}: mean of {number_of(len(self.groups), 'group')}, which count equally"
        if not has_error:
            return f"{mean}."
        if self.are_groups_drawn:
            return f"{mean}, for a new draw of groups (for these groups is another question)."
        return f"{mean}, for these groups (for a new draw of groups is another question)."


def read_macro(
    macro: bool,
    by: Mapping[str, str] | None,
    clusters: Mapping[str, str] | None,
    measures: Mapping[str, Any],
    method: tuple[str, str] = ("test", "t"),
) -> MacroMean | None:
    """Return the macro mean, None if it is not requested.

    Parameters
    ----------
    macro : bool
        Whether it is requested.
    by : mapping of str to str or None
        The group of each topic.
    clusters : mapping of str to str or None
        The cluster of each topic, None if topics are independent.
    measures : mapping of str to Measure or None
        The measures by label.
    method : tuple of str
        The name of the parameter of the test or interval, and its value.

    Raises
    ------
    MultiAspectError
        If there are no groups, one is named 'macro', some clusters lie within groups and others
        contain groups, clusters cross groups, the aggregate of a measure is a sum, or the method is
        not 't'.

    Warns
    -----
    MultiAspectWarning
        If fewer than 5 groups were drawn.
    """
    if not boolean("macro")(macro):
        return None
    if by is None:
        raise MultiAspectError(
            f"{parameter('macro')}: expected groups of topics, got none; give {parameter('by')}"
        )
    if MACRO in by.values():
        raise MultiAspectError(
            f"by: the group {MACRO!r} has the name of the row of macro means; rename it"
        )
    if method[1] != "t":
        raise MultiAspectError(
            f"{parameter(*method)} is not defined for macro means: use "
            f"{parameter(method[0], 't')}, or omit {parameter('macro')}"
        )
    sums = [label for label, measure in measures.items() if aggregate_is_sum(measure)]
    if sums:
        raise MultiAspectError(
            f"{parameter('macro')}: {sums[0]} is a sum over topics, not a mean; leave it out, or "
            f"omit {parameter('macro')}"
        )
    if clusters is None:
        return MacroMean(by, are_groups_drawn=False)
    are_drawn = _are_groups_drawn(by, clusters)
    n_drawn = len({clusters[qid] for qid in by})
    if are_drawn and n_drawn < _FEW_DRAWN:
        warn_once(
            f"{parameter('macro')}: a new draw of groups is estimated from {n_drawn}, of which "
            "intervals are wide, and tests mislead where they are skewed. Add groups, or give "
            "clusters of topics within groups, for means of these groups"
        )
    return MacroMean(by, are_drawn)


def _are_groups_drawn(by: Mapping[str, str], clusters: Mapping[str, str]) -> bool:
    """Return whether clusters contain whole groups, rather than lie within them."""
    pairs = {(group, clusters[qid]) for qid, group in by.items()}
    group_in_several = _first_repeated(group for group, _ in pairs)
    if group_in_several is None:
        return True
    cluster_in_several = _first_repeated(cluster for _, cluster in pairs)
    if cluster_in_several is None:
        return False
    raise MultiAspectError(
        f"{parameter('macro')}: expected clusters that all lie within groups, or all contain whole "
        f"groups, but the cluster {cluster_in_several} has topics of several groups, and the group "
        f"{group_in_several} has topics of several clusters"
    )


def _first_repeated(names: Iterable[Hashable]) -> Hashable | None:
    """Return a name that occurs several times, the first in alphabetical order, or None."""
    seen: set[Hashable] = set()
    repeated: set[str] = set()
    for name in names:
        if name in seen:
            repeated.add(str(name))
        seen.add(name)
    return min(repeated, default=None)
