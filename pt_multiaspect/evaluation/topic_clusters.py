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

#: Below it, t intervals are at least 1.3 times as wide as with many clusters.
_FEW_DEGREES_OF_FREEDOM = 5

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
    qids = dict.fromkeys(map(str, topics["qid"]))
    if isinstance(cluster, str) and cluster == "qid":
        return {qid: qid for qid in qids}
    pairs = given_pairs(cluster, topics, "cluster", "cluster")
    if pairs is None:
        # A parenthesis tells a pattern from the misspelt name of a column or file.
        if not isinstance(cluster, str) or "(" not in cluster:
            got = shown(cluster)
            columns = choices(topics.columns)
            raise MultiAspectError(
                "cluster: expected 'qid' (topics are independent), a column of clusters, a file of "
                "topics and clusters, a regular expression with one group in parentheses such as "
                f"(\\d+)_.*, or a mapping {{qid: cluster}}, got {got} (columns: {columns})"
            )
        pairs = _match_qids(_compile_pattern(cluster), qids)
    return one_group_per_topic(pairs, topics, "cluster", "cluster")


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a compiled regular expression, checked to have one group, which is the cluster."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise MultiAspectError(f"cluster: {pattern!r} is no regular expression: {error}") from None
    if compiled.groups != 1:
        raise MultiAspectError(
            "cluster: expected a regular expression with one group in parentheses, got "
            f"{compiled.groups} in {pattern!r}; write others as (?:...)"
        )
    return compiled


def _match_qids(pattern: re.Pattern[str], qids: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of query id and cluster, which the group of the pattern captures."""
    pairs: list[tuple[str, str]] = []
    without_cluster: list[str] = []
    for qid in qids:
        match = pattern.fullmatch(qid)
        if match is None or not match[1]:
            without_cluster.append(qid)
        else:
            pairs.append((qid, match[1]))
    if without_cluster:
        first_topics = choices(without_cluster[:5])
        total = tally(len(without_cluster), "topic")
        raise MultiAspectError(
            "cluster: expected a pattern that matches each whole query id, but "
            f"{pattern.pattern!r} finds no cluster for {first_topics} {total}"
        )
    return pairs


def check_clusters_apply(clusters: Mapping[str, str] | None, confidence: float | None) -> None:
    """Raise an error if clusters of several topics are given, but no intervals are computed."""
    if confidence is None and are_clusters(clusters):
        cluster_parameter = parameter("cluster")
        ci_parameter = parameter("ci")
        raise MultiAspectError(
            f"{cluster_parameter}: clusters affect intervals only: give {ci_parameter}, or omit it"
        )


def are_clusters(clusters: Mapping[str, str] | None) -> bool:
    """Return whether clusters are given, of which one has several topics."""
    if clusters is None:
        return False
    n_clusters = len(set(clusters.values()))
    n_topics = len(clusters)
    return n_clusters < n_topics


def clusters_of_topics(clusters: Mapping[str, str] | None, qids: Collection[object]) -> Clusters:
    """Return the clusters of topics in their order, the topics themselves if none are given.

    Parameters
    ----------
    clusters : mapping of str to str or None
        The cluster of each topic by query id.
    qids : collection
        The topics.
    """
    if clusters is None:
        return Clusters.independent(len(qids))
    labels: list[str] = []
    missing: list[str] = []
    for qid in map(str, qids):
        if qid in clusters:
            labels.append(clusters[qid])
        else:
            missing.append(qid)
    if missing:
        first_topics = choices(missing[:5])
        total = tally(len(missing), "topic")
        raise MultiAspectError(
            f"cluster: expected a cluster for each topic, got none for {first_topics} {total}"
        )
    return Clusters.from_labels(labels)


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
    if clusters.are_single_topics:
        return clusters
    if clusters.freedom < _FEW_DEGREES_OF_FREEDOM:
        topics = topics_in_words(clusters)
        warn_once(
            f"{topics} leave {clusters.freedom:.2g} degrees of freedom: intervals are at least 1.3 "
            "times as wide as with many clusters, and tests mislead where values are skewed. Judge "
            "topics of further clusters"
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
    if clusters.are_single_topics:
        return clusters
    if len(clusters) < _FEW_DRAWN:
        topics = topics_in_words(clusters)
        warn_once(
            f"{topics}: percentile intervals are too narrow, as they draw from fewer than "
            f"{_FEW_DRAWN} clusters. Judge topics of further clusters"
        )
    return clusters


def _refuse_one_cluster(clusters: Clusters) -> None:
    """Raise an error if all topics are in one cluster; a single topic is no cluster."""
    if clusters.are_single_topics:
        return
    if len(clusters) == 1:
        cluster_parameter = parameter("cluster")
        raise MultiAspectError(
            f"{cluster_parameter}: expected at least two clusters, got one of all "
            f"{clusters.n_topics} topics, which has no standard error"
        )


def topics_in_words(clusters: Clusters) -> str:
    """Return the numbers of topics and clusters: '96 topics in 12 clusters'."""
    topics = number_of(clusters.n_topics, "topic")
    if clusters.are_single_topics:
        return topics
    n_clusters = number_of(len(clusters), "cluster")
    return f"{topics} in {n_clusters}"


def clusters_in_words(clusters: Clusters, design_effects: Floats) -> str:
    """Return a note on clusters: sizes, degrees of freedom and design effects of pairs of systems.

    Parameters
    ----------
    clusters : Clusters
        The clusters of all topics.
    design_effects : ndarray of float, shape (n_pairs,)
        NaN where differences do not vary over topics.
    """
    topics = topics_in_words(clusters)
    low = int(clusters.sizes.min())
    high = int(clusters.sizes.max())
    sizes = f"{low} to {high}"
    if low == high:
        sizes = str(low)
    text = f"{topics} of {sizes}: {clusters.freedom:.3g} degrees of freedom"
    known_effects = design_effects[~np.isnan(design_effects)]
    if not known_effects.size:
        return text
    median = np.median(known_effects)
    text = f"{text}; design effect {median:.2g}"
    if known_effects.size == 1:
        return text
    return f"{text} (median over pairs)"
