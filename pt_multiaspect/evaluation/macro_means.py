"""Macro means, in which groups of topics count equally, as given by `macro=`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Ints
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
        """Return the positions of the topics of each group in `qids`, None if a group has none."""
        group_of_topic = np.array([self.group_of[str(qid)] for qid in qids], dtype=object)
        positions_by_group: list[Ints] = []
        for group in self.groups:
            positions = np.flatnonzero(group_of_topic == group)
            if not len(positions):
                return None
            positions_by_group.append(positions)
        return TopicGroups(positions_by_group, self.are_groups_drawn)

    @property
    def groups(self) -> list[str]:
        """The names of the groups, in the order of their first topics."""
        return list(dict.fromkeys(self.group_of.values()))

    def in_words(self, *, has_error: bool) -> str:
        """Return a sentence on the mean, such as "macro: mean of 3 groups, which count equally.".

        Parameters
        ----------
        has_error : bool
            Whether there is a standard error. Then the sentence says which groups it is about.
        """
        groups = number_of(len(self.groups), "group")
        mean = f"{MACRO}: mean of {groups}, which count equally"
        if not has_error:
            return f"{mean}."
        if self.are_groups_drawn:
            population = "a new draw of groups"
            other_population = "these groups"
        else:
            population = "these groups"
            other_population = "a new draw of groups"
        return f"{mean}, for {population} (for {other_population} is another question)."


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
    is_requested = boolean("macro")(macro)
    if not is_requested:
        return None
    if by is None:
        macro_parameter = parameter("macro")
        by_parameter = parameter("by")
        raise MultiAspectError(
            f"{macro_parameter}: expected groups of topics, got none; give {by_parameter}"
        )
    if MACRO in by.values():
        raise MultiAspectError(
            f"by: the group {MACRO!r} has the name of the row of macro means; rename it"
        )
    method_name, test_or_interval = method
    if test_or_interval != "t":
        _refuse_method(method_name, test_or_interval)
    _refuse_sums(measures)
    if clusters is None:
        return MacroMean(by, are_groups_drawn=False)
    are_drawn = _are_groups_drawn(by, clusters)
    if are_drawn:
        _warn_of_few_drawn({clusters[qid] for qid in by})
    return MacroMean(by, are_drawn)


def _refuse_method(method_name: str, method: str) -> None:
    """Raise an error that tests and intervals of macro means are t tests and t intervals."""
    refused = parameter(method_name, method)
    defined = parameter(method_name, "t")
    macro_parameter = parameter("macro")
    raise MultiAspectError(
        f"{refused} is not defined for macro means: use {defined}, or omit {macro_parameter}"
    )


def _refuse_sums(measures: Mapping[str, Any]) -> None:
    """Raise an error if a measure is summed over topics, such as NumRet."""
    for label, measure in measures.items():
        if aggregate_is_sum(measure):
            macro_parameter = parameter("macro")
            raise MultiAspectError(
                f"{macro_parameter}: {label} is a sum over topics, not a mean; leave it out, or "
                f"omit {macro_parameter}"
            )


def _are_groups_drawn(by: Mapping[str, str], clusters: Mapping[str, str]) -> bool:
    """Return whether clusters contain whole groups, rather than lie within them.

    Parameters
    ----------
    by, clusters : mapping of str to str
        The group and the cluster of each topic.
    """
    cluster_of_topic = [clusters[qid] for qid in by]
    topics = pd.DataFrame({"group": list(by.values()), "cluster": cluster_of_topic})
    clusters_per_group = topics.groupby("group")["cluster"].nunique()
    divided_groups = clusters_per_group.index[clusters_per_group > 1]
    if divided_groups.empty:
        return True  # each group is within one cluster
    groups_per_cluster = topics.groupby("cluster")["group"].nunique()
    divided_clusters = groups_per_cluster.index[groups_per_cluster > 1]
    if divided_clusters.empty:
        return False  # each cluster is within one group
    divided_group = divided_groups[0]
    divided_cluster = divided_clusters[0]
    macro_parameter = parameter("macro")
    raise MultiAspectError(
        f"{macro_parameter}: expected clusters that all lie within groups, or all contain whole "
        f"groups, but the cluster {divided_cluster} has topics of several groups, and the group "
        f"{divided_group} has topics of several clusters"
    )


def _warn_of_few_drawn(drawn_clusters: Collection[str]) -> None:
    """Warn if a new draw of groups is estimated from few clusters of groups."""
    n_drawn = len(drawn_clusters)
    if n_drawn < _FEW_DRAWN:
        macro_parameter = parameter("macro")
        warn_once(
            f"{macro_parameter}: a new draw of groups is estimated from {n_drawn}, of which "
            "intervals are wide, and tests mislead where they are skewed. Add groups, or give "
            "clusters of topics within groups, for means of these groups"
        )
