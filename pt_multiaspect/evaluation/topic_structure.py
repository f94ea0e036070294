"""Groups and clusters of topics, as the tables of systems and reports take them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd

from ..errors import MultiAspectError, parameter
from ..kernels.mean_errors import Clusters
from .macro_means import MacroMean, read_macro
from .topic_clusters import ClusterSpec, clusters_of_topics, read_clusters
from .topic_groups import read_topic_groups


@dataclass(frozen=True, eq=False)
class TopicStructure:
    """Groups and clusters of topics, and the mean over the groups."""

    #: The group of each topic by query id, if there are groups.
    by: Mapping[str, str] | None = None
    #: The cluster of each topic by query id, if clusters are given.
    clusters: Mapping[str, str] | None = None
    #: The mean in which groups count equally, if it is requested.
    macro: MacroMean | None = None

    @classmethod
    def read(
        cls,
        topics: pd.DataFrame,
        measures: Mapping[str, Any],
        *,
        by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
        macro: bool = False,
        cluster: ClusterSpec = None,
        test: str = "t",
    ) -> TopicStructure:
        """Return the groups, clusters and macro mean that a user gave.

        Parameters
        ----------
        topics : DataFrame
            A long frame, or another frame with a column ``qid``.
        measures : mapping of str to Measure or None
            The measures by label.
        by, macro, cluster, test
            The parameters of `compare_with_baseline`.
        """
        groups = None
        if by is not None:
            groups = read_topic_groups(by, topics)
        clusters = None
        if cluster is not None:
            clusters = read_clusters(cluster, topics, groups)
        macro_mean = read_macro(macro, groups, clusters, measures, ("test", test))
        return cls(groups, clusters, macro_mean)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters of `compare_with_baseline`."""
        return {**self.options_of_means, "cluster": self.clusters}

    @property
    def options_of_means(self) -> dict[str, Any]:
        """The parameters of `aggregate` without intervals."""
        return {"by": self.by, "macro": self.macro is not None}

    def clusters_of(self, qids: Collection[object]) -> Clusters:
        """Return the clusters of topics in their order, the topics themselves if none are given."""
        return clusters_of_topics(self.clusters, qids)

    def check_clusters_apply(self, qids: Collection[object], remedy: str) -> None:
        """Raise an error if topics are clustered; callers have neither tests nor intervals.

        Parameters
        ----------
        qids : collection
            The topics.
        remedy : str
            The parameters that would give a test or an interval.
        """
        clusters = self.clusters_of(qids)
        if clusters.are_single_topics:
            return
        cluster_parameter = parameter("cluster")
        raise MultiAspectError(
            f"{cluster_parameter}: clusters affect tests and intervals only: give {remedy}, or "
            "omit it"
        )
