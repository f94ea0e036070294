"""Clusters of topics that were drawn together, as given by `cluster=`, and notes on them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from .._typing import Floats
from ..errors import MultiAspectError, choices, number_of, parameter, shown, tally, warn_once
from ..kernels.mean_errors import Clusters
from .nested_topics import warn_of_nested_topics
from .topic_groups import given_pairs, one_group_per_topic

#: What `cluster=` accepts.
ClusterSpec: TypeAlias = "str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None"

#: Below these degrees of freedom, t intervals are at least 1.3 times as wide as with many clusters.
_FEW = 5

#: Percentile intervals of fewer clusters are too narrow.
_FEW_DRAWN = 30


def read_clusters(
    cluster: ClusterSpec, topics: pd.DataFrame, by: Mapping[str, str] | None = None
) -> dict[str, str] | None:
    r"""Return the cluster of each topic by query id, None if none are given.

    Parameters
    ----------
    cluster : str, path, mapping, Series or None
        ``"qid"``, for topics that are independent, a further column of the frame, clusters by query
        id, also in a file, or a regular expression with one group that matches each query id, such
        as ``r"(\d+)_.*"``.
    topics : DataFrame
        A long frame, or another frame with a column ``qid``.
    by : mapping of str to str, optional
        The groups of topics that are tested separately, by query id.

    Raises
    ------
    MultiAspectError
        If `cluster` is none of these, or a topic has no cluster or several.

    Warns
    -----
    MultiAspectWarning
        If no clusters are given, but the query ids look nested.
    """
    if cluster is None:
        warn_of_nested_topics(topics["qid"], by)
        return None
    if isinstance(cluster, str) and cluster == "qid":
        return {qid: qid for qid in map(str, topics["qid"])}
    pairs = given_pairs(cluster, topics, "cluster", "cluster")
    if pairs is None:
        if not isinstance(cluster, str) or "(" not in cluster:
            raise MultiAspectError(
                "cluster: expected 'qid' (topics are independent), a column of clusters, a file of "
                "topics and clusters, a regular expression with one group in parentheses such as "
                f"(\\d+)_.*, or a mapping {{qid: cluster}}, got {shown(cluster)} (columns: "
                f"{choices(topics.columns)})"
            )
        pairs = _match_qids(cluster, dict.fromkeys(map(str, topics["qid"])))
    return one_group_per_topic(pairs, topics, "cluster", "cluster")


def _match_qids(pattern: str, qids: Iterable[str]) -> list[tuple[str, str]]:
    """Return the query ids and their clusters, which the group of a regular expression finds."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise MultiAspectError(f"cluster: {pattern!r} is no regular expression: {error}") from None
    if compiled.groups != 1:
        raise MultiAspectError(
            "cluster: expected a regular expression with one group in parentheses, got "
            f"{compiled.groups} in {pattern!r}; write others as (?:...)"
        )
    clusters: list[tuple[str, str]] = []
    missing: list[str] = []
    for qid in qids:
        match = compiled.fullmatch(qid)
        if match is None or not match[1]:
            missing.append(qid)
        else:
            clusters.append((qid, match[1]))
    if missing:
        raise MultiAspectError(
            f"cluster: expected a pattern that matches each whole query id, but {pattern!r} finds "
            f"no cluster for {choices(missing[:5])} {tally(len(missing), 'topic')}"
        )
    return clusters


def check_clusters_apply(clusters: Mapping[str, str] | None, confidence: float | None) -> None:
    """Raise an error if clusters of several topics are given, but no intervals are computed."""
    if confidence is None and are_clusters(clusters):
        raise MultiAspectError(
            f"{parameter('cluster')}: clusters affect intervals only: give {parameter('ci')}, or "
            "omit it"
        )


def are_clusters(clusters: Mapping[str, str] | None) -> bool:
    """Return whether clusters are given, of which one has several topics."""
    return clusters is not None and len(set(clusters.values())) < len(clusters)


def clusters_of_topics(clusters: Mapping[str, str] | None, qids: Collection[object]) -> Clusters:
    """Return the clusters of topics in their order, the topics themselves if none are given."""
    if clusters is None:
        return Clusters.independent(len(qids))
    topics = list(map(str, qids))
    missing = [qid for qid in topics if qid not in clusters]
    if missing:
        raise MultiAspectError(
            f"cluster: expected a cluster for each topic, got none for {choices(missing[:5])} "
            f"{tally(len(missing), 'topic')}"
        )
    return Clusters.from_labels([clusters[qid] for qid in topics])


def check_clusters(clusters: Clusters) -> Clusters:
    """Return the clusters of all topics of an analysis, checked to suffice for a test.

    Raises
    ------
    MultiAspectError
        If all topics are in one cluster.

    Warns
    -----
    MultiAspectWarning
        If standard errors have fewer than 5 degrees of freedom.
    """
    _refuse_one_cluster(clusters)
    if not clusters.are_single_topics and clusters.freedom < _FEW:
        warn_once(
            f"{topics_in_words(clusters)} leave {clusters.freedom:.2g} degrees of freedom: "
            "intervals are at least 1.3 times as wide as with many clusters, and tests mislead "
            "where values are skewed. Judge topics of further clusters"
        )
    return clusters


def check_drawn_clusters(clusters: Clusters) -> Clusters:
    """Return the clusters of all topics, after checking that they suffice for percentile intervals.

    Raises
    ------
    MultiAspectError
        If all topics are in one cluster.

    Warns
    -----
    MultiAspectWarning
        If there are fewer than 30 clusters to draw from.
    """
    _refuse_one_cluster(clusters)
    if not clusters.are_single_topics and len(clusters) < _FEW_DRAWN:
        warn_once(
            f"{topics_in_words(clusters)}: percentile intervals are too narrow, as they draw from "
            f"fewer than {_FEW_DRAWN} clusters. Judge topics of further clusters"
        )
    return clusters


def _refuse_one_cluster(clusters: Clusters) -> None:
    if len(clusters) < 2 and not clusters.are_single_topics:
        raise MultiAspectError(
            f"{parameter('cluster')}: expected at least two clusters, got one of all "
            f"{clusters.n_topics} topics, which has no standard error"
        )


def topics_in_words(clusters: Clusters) -> str:
    """Return the numbers of topics and clusters: '96 topics in 12 clusters'."""
    topics = number_of(clusters.n_topics, "topic")
    if clusters.are_single_topics:
        return topics
    return f"{topics} in {number_of(len(clusters), 'cluster')}"


def clusters_in_words(clusters: Clusters, design_effects: Floats) -> str:
    """Return a note on clusters: sizes, degrees of freedom, median of the design effects of pairs.

    Design effects are NaN where differences do not vary over topics.
    """
    low = int(clusters.sizes.min())
    high = int(clusters.sizes.max())
    if low == high:
        sizes = f"{low}"
    else:
        sizes = f"{low} to {high}"
    text = f"{topics_in_words(clusters)} of {sizes}: {clusters.freedom:.3g} degrees of freedom"
    known = design_effects[~np.isnan(design_effects)]
    if not known.size:
        return text
    text += f"; design effect {np.median(known):.2g}"
    if known.size == 1:
        return text
    return f"{text} (median over pairs)"
