"""Standard errors of means over topics, their degrees of freedom, and their t-test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Floats, Ints
from .rounding import TOLERANCE, remove_rounding_errors


@dataclass(frozen=True, eq=False)
class Clusters:
    """Topics that were drawn together, such as the turns of a conversation."""

    #: The cluster of each topic. Clusters are numbered in the order of their first topics.
    cluster: Ints
    #: The number of topics of each cluster.
    sizes: Ints

    @classmethod
    def from_labels(cls, labels: Sequence[Any] | Ints) -> Clusters:
        """Return the clusters of topics, given the label of each topic's cluster."""
        number: dict[Any, int] = {}
        cluster = [number.setdefault(label, len(number)) for label in labels]
        return cls(np.array(cluster, dtype=np.intp), np.bincount(cluster).astype(np.intp))

    @classmethod
    def independent(cls, n_topics: int) -> Clusters:
        """Return one cluster per topic."""
        return cls(np.arange(n_topics), np.ones(n_topics, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def n_topics(self) -> int:
        """The number of topics."""
        return len(self.cluster)

    @property
    def are_single_topics(self) -> bool:
        """Return whether each cluster is one topic, so that topics are independent."""
        return len(self) == self.n_topics

    @property
    def mean_size(self) -> float:
        """The mean number of topics of a cluster."""
        return self.n_topics / len(self)

    @cached_property
    def has_equal_sizes(self) -> bool:
        """Return whether all clusters have the same number of topics."""
        return bool((self.sizes == self.sizes[0]).all())

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of standard errors, NaN for a single cluster.

        They are those of Bell and McCaffrey.
        """
        n_clusters = len(self)
        if n_clusters < 2:
            return math.nan
        if self.has_equal_sizes:
            return float(n_clusters - 1)
        share = self.sizes / self.n_topics
        own = (share**2 * (1 - 2 * share) / (1 - share) ** 2).sum()
        common = (share**2 / (1 - share)).sum()
        freedom = 1 / (own + common**2)
        return float(np.clip(freedom, 1, n_clusters - 1))

    @property
    def freedom_ratio(self) -> float:
        """The degrees of freedom plus 1, per cluster: 1 for clusters of equal sizes."""
        return (self.freedom + 1) / len(self)

    def take(self, topics: Ints) -> Clusters:
        """Return the clusters of some of the topics, which are given by position."""
        return Clusters.from_labels(self.cluster[topics].tolist())

    def sums(self, values: Floats) -> Floats:
        """Return the sums over the topics of each cluster, … × clusters, of values, … × topics."""
        if self.are_single_topics:
            return values
        order = np.argsort(self.cluster, kind="stable")
        by_cluster = values[..., order]
        starts = np.cumsum(self.sizes) - self.sizes
        return np.asarray(np.add.reduceat(by_cluster, starts, axis=-1))


@dataclass(frozen=True, eq=False)
class TopicGroups:
    """Groups of topics, such as collections, that count equally in a macro mean."""

    #: The positions of the topics of each group.
    topics: Sequence[Ints]
    #: Whether the mean is that of further groups, of which these were drawn, rather than that of
    #: these groups.
    are_drawn: bool

    @property
    def first_topics(self) -> Ints:
        """The position of one topic of each group."""
        return np.array([topics[0] for topics in self.topics], dtype=np.intp)


@dataclass(frozen=True, eq=False)
class MeanEstimates:
    """Means with their standard errors, which are NaN where clusters are too few."""

    means: Floats
    errors: Floats
    #: The degrees of freedom of the standard errors.
    freedom: Floats | float


def estimate_means(
    values: Floats,
    clusters: Clusters | None = None,
    largest: Floats | float | None = None,
    groups: TopicGroups | None = None,
) -> MeanEstimates:
    """Return means over topics, or macro means over groups of topics, with their standard errors.

    Parameters
    ----------
    values : ndarray of float, shape (..., n_topics)
        The values of each mean.
    clusters, largest
        As for `variance`.
    groups : TopicGroups, optional
        Groups that count equally. By default, topics count equally.
    """
    if clusters is None:
        clusters = Clusters.independent(values.shape[-1])
    if groups is None:
        errors = standard_error(values, clusters, largest)
        return MeanEstimates(values.mean(axis=-1), errors, clusters.freedom)
    if largest is None:
        largest = np.abs(values).max(axis=-1)
    group_means = [values[..., topics].mean(axis=-1) for topics in groups.topics]
    by_group = np.stack(group_means, axis=-1)
    if groups.are_drawn:
        return estimate_means(by_group, clusters.take(groups.first_topics), largest)
    return _estimate_mean_of_strata(values, by_group, clusters, largest, groups)


def _estimate_mean_of_strata(
    values: Floats,
    by_group: Floats,
    clusters: Clusters,
    largest: Floats | float,
    groups: TopicGroups,
) -> MeanEstimates:
    """Return the means of the given groups, from each of which clusters of topics were drawn.

    The degrees of freedom are those of Welch and Satterthwaite.
    """
    squared_errors_of_groups = []
    freedoms_of_groups = []
    for topics in groups.topics:
        group_clusters = clusters.take(topics)
        group_variance = variance(values[..., topics], group_clusters, largest)
        squared_errors_of_groups.append(group_variance / len(group_clusters))
        freedoms_of_groups.append(group_clusters.freedom)
    squared_errors = np.stack(squared_errors_of_groups, axis=-1)  # (..., n_groups)
    freedoms = np.array(freedoms_of_groups)
    total = squared_errors.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = squared_errors / total[..., None]
        freedom = 1 / (share**2 / freedoms).sum(axis=-1)
    freedom = np.where(total == 0, freedoms.sum(), freedom)
    errors = np.sqrt(total) / len(groups.topics)
    return MeanEstimates(by_group.mean(axis=-1), errors, freedom)


def variance(
    values: Floats, clusters: Clusters | None = None, largest: Floats | float | None = None
) -> Floats:
    """Return the squared standard error of the mean times the number of clusters.

    It is that of the values if topics are independent, that of the clusters' means if these have
    equal sizes, and otherwise that of the CR2 estimator.

    Parameters
    ----------
    values : ndarray of float, shape (..., n_topics)
        The values of each mean over topics.
    clusters : Clusters, optional
        Topics that belong together. By default, topics are independent.
    largest : float or ndarray of float, shape (...), optional
        The absolute value relative to which deviations from the mean are rounding errors. By
        default, the largest of the values.

    Returns
    -------
    ndarray of float, shape (...)
        0 if all deviations from the mean are rounding errors, NaN for a single cluster.

    References
    ----------
    Bell, McCaffrey: Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
    Samples. Survey Methodology 28 (2002).
    """
    if clusters is None:
        clusters = Clusters.independent(values.shape[-1])
    n_clusters = len(clusters)
    if n_clusters < 2:
        return np.full(values.shape[:-1], np.nan)
    if largest is None:
        largest = np.abs(values).max(axis=-1)
    means, deviations = _cluster_means(values, clusters)
    if clusters.has_equal_sizes:
        result = means.var(axis=-1, ddof=1)
    else:
        share = clusters.sizes / clusters.n_topics
        squared_error = (share**2 * deviations**2 / (1 - share)).sum(axis=-1)
        result = n_clusters * squared_error
    largest_deviation = np.abs(deviations).max(axis=-1)
    is_constant = largest_deviation <= TOLERANCE * np.asarray(largest)
    return np.where(is_constant, 0.0, result)


def _cluster_means(values: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Return the mean of each cluster, … × clusters, and its deviation from that of all topics."""
    means = clusters.sums(values) / clusters.sizes
    if clusters.has_equal_sizes:
        mean_over_topics = means.mean(axis=-1, keepdims=True)
    else:
        mean_over_topics = values.mean(axis=-1, keepdims=True)
    return means, means - mean_over_topics


def mean_covariances(values: Floats, clusters: Clusters, largest: Floats) -> Floats:
    """Return the covariances of means over the same topics, by the estimator of `variance`.

    Parameters
    ----------
    values : ndarray of float, shape (..., n_means, n_topics)
        The values of each mean.
    clusters : Clusters
        The clusters of the topics, at least two.
    largest : ndarray of float, shape (..., n_means)
        The absolute value relative to which deviations from the mean are rounding errors.

    Returns
    -------
    ndarray of float, shape (..., n_means, n_means)
        The squared standard errors of the means are on the diagonal.
    """
    _, deviations = _cluster_means(values, clusters)
    deviations = remove_rounding_errors(deviations, largest[..., None])
    n_clusters = len(clusters)
    if clusters.has_equal_sizes:
        products = deviations @ deviations.swapaxes(-1, -2)
        return np.asarray(products / ((n_clusters - 1) * n_clusters))
    share = clusters.sizes / clusters.n_topics
    scaled = deviations * share / np.sqrt(1 - share)
    return np.asarray(scaled @ scaled.swapaxes(-1, -2))


def standard_error(
    values: Floats, clusters: Clusters | None = None, largest: Floats | float | None = None
) -> Floats:
    """Return the standard errors of means over topics; see `variance`."""
    if clusters is None:
        n_clusters = values.shape[-1]
    else:
        n_clusters = len(clusters)
    deviation = np.sqrt(variance(values, clusters, largest))
    return np.asarray(deviation / math.sqrt(n_clusters))


def design_effect(values: Floats, clusters: Clusters) -> Floats:
    """Return how many times the squared standard errors are those of independent topics.

    The result is NaN if these are 0.
    """
    squared_error = variance(values, clusters) / len(clusters)
    of_independent = variance(values) / clusters.n_topics
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(of_independent == 0, np.nan, squared_error / of_independent)


def t_quantile(freedom: Floats | float, confidence: float) -> Floats:
    """Return the quantile of Student's t distribution that confidence intervals extend to."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, (1 + confidence) / 2), dtype=np.float64)


def t_levels(means: Floats, errors: Floats, freedom: Floats | float) -> Floats:
    """Return the two-sided levels of t-tests.

    A level is 1 where the mean is 0, else 0 where its standard error is.

    Parameters
    ----------
    means : ndarray of float
        Means over topics, 0 where they are rounding errors.
    errors : ndarray of float
        Their standard errors.
    freedom : float or ndarray of float
        The degrees of freedom of the standard errors.
    """
    from scipy.stats import t as student

    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(means == 0, 0.0, np.abs(means) / errors)
    return np.asarray(2 * student.sf(statistic, freedom))


def one_sided_t_levels(means: Floats, errors: Floats, freedom: Floats | float) -> Floats:
    """Return the levels of t-tests whether means are above 0.

    Where the standard error is 0, the level is 0 if the mean is above 0, else 1. The parameters are
    those of `t_levels`.
    """
    from scipy.stats import t as student

    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where((errors == 0) & (means == 0), -np.inf, means / errors)
    return np.asarray(student.sf(statistic, freedom))
