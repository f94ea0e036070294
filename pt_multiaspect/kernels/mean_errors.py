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
        number_of_label: dict[Any, int] = {}
        numbers = []
        for label in labels:
            # Clusters are numbered from 0, in the order of their first topics.
            if label not in number_of_label:
                number_of_label[label] = len(number_of_label)
            numbers.append(number_of_label[label])
        cluster = np.array(numbers, dtype=np.intp)
        sizes = np.bincount(cluster).astype(np.intp)
        return cls(cluster, sizes)

    @classmethod
    def independent(cls, n_topics: int) -> Clusters:
        """Return one cluster per topic."""
        cluster = np.arange(n_topics)
        sizes = np.ones(n_topics, dtype=np.intp)
        return cls(cluster, sizes)

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
        first_size = self.sizes[0]
        return bool((self.sizes == first_size).all())

    @cached_property
    def freedom(self) -> float:
        """The degrees of freedom of standard errors, NaN for a single cluster.

        For clusters of unequal sizes, they are those of Bell and McCaffrey, 1 / Σ_gh m_gh², over
        all pairs of clusters g and h. The CR2 estimator is a quadratic form with the matrix m. For
        the fractions s of the topics in the clusters, it has m_gg = s_g on its diagonal, and
        elsewhere m_gh = -s_g s_h / √((1 - s_g) (1 - s_h)).
        """
        n_clusters = len(self)
        if n_clusters < 2:
            return math.nan
        if self.has_equal_sizes:
            return float(n_clusters - 1)
        share = self.sizes / self.n_topics
        freedom = 1 / _sum_of_squares_of_cr2(share)
        # It is in this range, but for rounding errors.
        return float(np.clip(freedom, 1, n_clusters - 1))

    @property
    def freedom_ratio(self) -> float:
        """The degrees of freedom plus 1, per cluster: 1 for clusters of equal sizes."""
        return (self.freedom + 1) / len(self)

    def take(self, topics: Ints) -> Clusters:
        """Return the clusters of some of the topics, which are given by position."""
        labels = self.cluster[topics]
        return Clusters.from_labels(labels.tolist())

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each cluster.

        The values have the shape (..., n_topics), the sums (..., n_clusters).
        """
        if self.are_single_topics:
            return values
        # `reduceat` sums adjacent values, so the topics of a cluster are put side by side.
        order = np.argsort(self.cluster, kind="stable")
        values_by_cluster = values[..., order]
        ends = np.cumsum(self.sizes)
        starts = ends - self.sizes
        cluster_sums = np.add.reduceat(values_by_cluster, starts, axis=-1)
        return np.asarray(cluster_sums)


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
        first_topics = [topics[0] for topics in self.topics]
        return np.array(first_topics, dtype=np.intp)


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
        As for `variance`: topics that belong together, and the absolute value relative to which
        deviations from a mean are rounding errors.
    groups : TopicGroups, optional
        Groups that count equally. By default, topics count equally.
    """
    if clusters is None:
        clusters = Clusters.independent(values.shape[-1])
    if groups is None:
        return _estimate_means_of_topics(values, clusters, largest)
    if largest is None:
        largest = np.abs(values).max(axis=-1)
    means_by_group = _means_by_group(values, groups)
    if groups.are_drawn:
        # Groups are the sample: each counts like a topic, in the cluster of its topics.
        clusters_of_groups = clusters.take(groups.first_topics)
        return _estimate_means_of_topics(means_by_group, clusters_of_groups, largest)
    # The groups are all that there are, and topics were drawn from each: groups are strata.
    return _estimate_mean_of_strata(values, means_by_group, clusters, largest, groups)


def _estimate_means_of_topics(
    values: Floats, clusters: Clusters, largest: Floats | float | None
) -> MeanEstimates:
    """Return means in which topics count equally; the parameters are those of `variance`."""
    means = values.mean(axis=-1)
    errors = standard_error(values, clusters, largest)
    return MeanEstimates(means, errors, clusters.freedom)


def _means_by_group(values: Floats, groups: TopicGroups) -> Floats:
    """Return the mean of the values in each group of topics, shape (..., n_groups)."""
    means = []
    for topics in groups.topics:
        values_of_group = values[..., topics]
        means.append(values_of_group.mean(axis=-1))
    return np.stack(means, axis=-1)


def _estimate_mean_of_strata(
    values: Floats,
    means_by_group: Floats,
    clusters: Clusters,
    largest: Floats | float,
    groups: TopicGroups,
) -> MeanEstimates:
    """Return the means of the given groups, from each of which clusters of topics were drawn.

    The parameters are those of `estimate_means`, and the mean of each group. The mean of k groups
    is the sum of their means / k; the squared error of a sum is the sum of the squared errors.
    """
    squared_error_by_group = []
    freedom_by_group = []
    for topics in groups.topics:
        group_clusters = clusters.take(topics)
        values_of_group = values[..., topics]
        group_variance = variance(values_of_group, group_clusters, largest)
        squared_error_by_group.append(group_variance / len(group_clusters))
        freedom_by_group.append(group_clusters.freedom)
    squared_errors = np.stack(squared_error_by_group, axis=-1)  # (..., n_groups)
    freedom = _welch_satterthwaite(squared_errors, np.array(freedom_by_group))

    means = means_by_group.mean(axis=-1)
    error_of_sum = np.sqrt(squared_errors.sum(axis=-1))
    errors = error_of_sum / len(groups.topics)
    return MeanEstimates(means, errors, freedom)


def _welch_satterthwaite(squared_errors: Floats, freedoms: Floats) -> Floats:
    """Return the degrees of freedom of a sum, (Σ e)² / Σ (e² / f), by Welch and Satterthwaite.

    Parameters
    ----------
    squared_errors : ndarray of float, shape (..., n_groups)
        The squared standard errors e of the terms.
    freedoms : ndarray of float, shape (n_groups,)
        Their degrees of freedom f.

    Returns
    -------
    ndarray of float, shape (...)
        If all errors are 0, the sum of the degrees of freedom.
    """
    total = squared_errors.sum(axis=-1)
    # The square of a small error could be rounded to 0. With the shares e / Σ e, the formula is
    # 1 / Σ (share² / f).
    with np.errstate(divide="ignore", invalid="ignore"):
        share = squared_errors / total[..., None]
        terms = share**2 / freedoms
        freedom = 1 / terms.sum(axis=-1)
    has_no_error = total == 0
    freedom_or_sum = np.where(has_no_error, freedoms.sum(), freedom)
    return np.asarray(freedom_or_sum, dtype=np.float64)


def variance(
    values: Floats, clusters: Clusters | None = None, largest: Floats | float | None = None
) -> Floats:
    """Return the squared standard error of the mean times the number of clusters.

    For independent topics, that is the variance of the values, and for clusters of equal sizes that
    of the clusters' means. Otherwise, the squared error is estimated by the CR2 estimator,
    Σ s² d² / (1 - s), for clusters with the fraction s of the topics and the deviation d of their
    mean from that of all topics.

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
    means, deviations = _cluster_means(values, clusters)  # (..., n_clusters)
    if clusters.has_equal_sizes:
        estimate = means.var(axis=-1, ddof=1)
    else:
        squared_error = _cr2_squared_error(deviations, clusters)
        estimate = n_clusters * squared_error
    # The variance of equal values is exactly 0, also if they differ by rounding.
    if largest is None:
        largest = np.abs(values).max(axis=-1)
    largest_rounding_error = TOLERANCE * np.asarray(largest)
    largest_deviation = np.abs(deviations).max(axis=-1)
    is_constant = largest_deviation <= largest_rounding_error
    return np.where(is_constant, 0.0, estimate)


def _cr2_squared_error(deviations: Floats, clusters: Clusters) -> Floats:
    """Return the CR2 estimate of the squared error of a mean, Σ s² d² / (1 - s).

    `deviations` has the deviation d of each cluster's mean, shape (..., n_clusters).
    """
    share = clusters.sizes / clusters.n_topics  # the fraction s of the topics
    terms = share**2 * deviations**2 / (1 - share)
    return np.asarray(terms.sum(axis=-1))


def _sum_of_squares_of_cr2(share: Floats) -> float:
    """Return Σ_gh m_gh² of the CR2 estimator, for clusters with the fractions s of the topics.

    Its matrix m has m_gg = s_g and m_gh = -s_g s_h / √((1 - s_g) (1 - s_h)).
    """
    # With f = s² / (1 - s), m_gh² is f_g f_h outside the diagonal, and m_gg² is s_g², not f_g². So
    # the sum is that of all f_g f_h, which is (Σ f)², and that of s² - f² over the diagonal. The
    # latter is s² ((1 - s)² - s²) / (1 - s)² = s² (1 - 2 s) / (1 - s)².
    factors = share**2 / (1 - share)
    factor_sum = factors.sum()
    squared_rest = (1 - share) ** 2
    differences_on_diagonal = share**2 * (1 - 2 * share) / squared_rest
    return float(differences_on_diagonal.sum() + factor_sum**2)


def _cluster_means(values: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """Return the mean of each cluster, and its deviation from the mean of all topics.

    The values have the shape (..., n_topics), both results (..., n_clusters).
    """
    means = clusters.sums(values) / clusters.sizes
    if clusters.has_equal_sizes:
        # The mean of the clusters' means is that of all topics. It is the one that `means.var`
        # subtracts, too: rounding is the same.
        mean_over_topics = means.mean(axis=-1, keepdims=True)
    else:
        mean_over_topics = values.mean(axis=-1, keepdims=True)
    deviations = means - mean_over_topics
    return means, deviations


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
    _, rounded_deviations = _cluster_means(values, clusters)  # (..., n_means, n_clusters)
    deviations = remove_rounding_errors(rounded_deviations, largest[..., None])
    n_clusters = len(clusters)
    if clusters.has_equal_sizes:
        # The covariance of n clusters' means, Σ d d' / (n - 1), divided by n.
        divisor = (n_clusters - 1) * n_clusters
        return _sums_of_products(deviations) / divisor
    # The CR2 estimator, Σ s² d d' / (1 - s) for clusters with the fraction s of the topics: the
    # factor s / √(1 - s) of both deviations gives s² / (1 - s).
    share = clusters.sizes / clusters.n_topics
    root_of_rest = np.sqrt(1 - share)
    scaled_deviations = deviations * share / root_of_rest
    return _sums_of_products(scaled_deviations)


def _sums_of_products(deviations: Floats) -> Floats:
    """Return Σ d d' over the clusters for each pair of means, shape (..., n_means, n_means)."""
    transposed = deviations.swapaxes(-1, -2)
    sums_of_products = deviations @ transposed
    return np.asarray(sums_of_products, dtype=np.float64)


def standard_error(
    values: Floats, clusters: Clusters | None = None, largest: Floats | float | None = None
) -> Floats:
    """Return the standard errors of means over topics; see `variance`."""
    if clusters is None:
        n_clusters = values.shape[-1]
    else:
        n_clusters = len(clusters)
    squared_deviation = variance(values, clusters, largest)
    deviation = np.sqrt(squared_deviation)
    return np.asarray(deviation / math.sqrt(n_clusters))


def design_effect(values: Floats, clusters: Clusters) -> Floats:
    """Return how many times the squared standard errors are those of independent topics.

    The result is NaN if these are 0.
    """
    squared_error = variance(values, clusters) / len(clusters)
    independent_squared_error = variance(values) / clusters.n_topics
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = squared_error / independent_squared_error
    return np.where(independent_squared_error == 0, np.nan, effect)


def t_quantile(freedom: Floats | float, confidence: float) -> Floats:
    """Return the number of standard errors to which a confidence interval extends on each side.

    It is a quantile of Student's t distribution.
    """
    from scipy.special import stdtrit

    # The interval leaves (1 - confidence) / 2 on each side.
    probability_below = (1 + confidence) / 2
    quantile = stdtrit(freedom, probability_below)
    return np.asarray(quantile, dtype=np.float64)


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

    # A standard error of 0 gives an infinite statistic, or NaN if the mean is 0, too.
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.abs(means) / errors
    statistic = np.where(means == 0, 0.0, statistic)
    one_sided_levels = student.sf(statistic, freedom)
    return np.asarray(2 * one_sided_levels)


def one_sided_t_levels(means: Floats, errors: Floats, freedom: Floats | float) -> Floats:
    """Return the levels of t-tests whether means are above 0.

    Where the standard error is 0, the level is 0 if the mean is above 0, else 1. The parameters are
    those of `t_levels`.
    """
    from scipy.stats import t as student

    # A standard error of 0 gives an infinite statistic, of the sign of the mean.
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = means / errors
    # Values that are all 0 are not above 0: the statistic -inf has the level 1.
    is_constant_zero = (errors == 0) & (means == 0)
    statistic = np.where(is_constant_zero, -np.inf, statistic)
    levels = student.sf(statistic, freedom)
    return np.asarray(levels)
