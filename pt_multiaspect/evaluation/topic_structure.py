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
        """Return what the parameters of these names give, as for `compare_with_baseline`.

        Parameters
        ----------
        topics : DataFrame
            A long frame, or another frame with a column ``qid``.
        measures : mapping of str to Measure or None
            The measures by label.
        by, macro, cluster, test
            What a user gave.
        """
        if by is None:
            groups = None
        else:
            groups = read_topic_groups(by, topics)
        if cluster is None:
            clusters = None
        else:
            clusters = read_clusters(cluster, topics, groups)
        return cls(groups, clusters, read_macro(macro, groups, clusters, measures, ("test", test)))

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
        """Raise an error for clusters where there is neither a test nor an interval.

        Parameters
        ----------
        qids : collection
            The topics.
        remedy : str
            Which parameters give one.
        """
        if not self.clusters_of(qids).are_single_topics:
            raise MultiAspectError(
                f"{parameter('cluster')}: clusters affect tests and intervals only: give {remedy}, "
                "or omit it"
            )
