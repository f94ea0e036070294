"""Confidence intervals of means, and the power of t-tests."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Floats
from .mean_errors import Clusters, TopicGroups, estimate_means, standard_error, t_quantile

#: Number of bootstrap samples, and of topics drawn at once (32 MB).
_SAMPLES, _CHUNK = 10_000, 4_000_000


def bootstrap_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of the means of bootstrap samples, independent of the order of the values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two values.
    confidence : float in (0, 1)
        The confidence level.

    Returns
    -------
    low, high : float
        The ends of the interval.
    """
    ordered, rng = np.sort(values), np.random.default_rng(0)
    size = max(1, _CHUNK // len(values))
    sizes = [min(size, _SAMPLES - start) for start in range(0, _SAMPLES, size)]
    draws = (rng.integers(len(values), size=(n_samples, len(values))) for n_samples in sizes)
    means = np.concatenate([ordered[draw].mean(axis=1) for draw in draws])
    low, high = percentile_interval(means, confidence, values.mean())
    # Means of equal values may differ from them by rounding.
    low, high = np.clip([low, high], ordered[0], ordered[-1])
    return float(low), float(high)


def percentile_interval(
    samples: Floats, confidence: float, estimate: Floats | float
) -> tuple[Floats, Floats]:
    """Return the ends of percentile intervals of a statistic.

    Resampling adds noise, so that most samples of a statistic such as a correlation may be on one
    side of its estimate. The interval is extended to contain it.

    Parameters
    ----------
    samples : ndarray of float, shape (n_samples, ...)
        The statistic of each sample, NaN where it is undefined.
    confidence : float in (0, 1)
        The confidence level.
    estimate : ndarray of float, shape (...)
        The statistic of the data.

    Returns
    -------
    low, high : ndarray of float, shape (...)
        The ends; NaN if the statistic is undefined for all samples.
    """
    defined = ~np.isnan(samples).all(axis=0)
    known = np.where(defined, samples, 0.0)
    low, high = np.nanquantile(known, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.where(defined, np.fmin(low, estimate), np.nan), np.where(
        defined, np.fmax(high, estimate), np.nan
    )


def half_width(
    values: Floats,
    confidence: float,
    clusters: Clusters | None = None,
    largest: Floats | float | None = None,
) -> Floats:
    """Return half the width of Student's t interval of means.

    Parameters
    ----------
    values : ndarray of float, shape (..., n)
        The values of each mean.
    confidence : float in (0, 1)
        The confidence level.
    clusters, largest
        As for `variance`.

    Returns
    -------
    ndarray of float, shape (...)
        The t quantile times the standard error of the mean; 0 if all values are equal, NaN for a
        single cluster.
    """
    if clusters is None:
        freedom = values.shape[-1] - 1
    else:
        freedom = clusters.freedom
    error = standard_error(values, clusters, largest)
    return np.asarray(t_quantile(freedom, confidence) * error)


def mean_interval(
    values: Floats,
    confidence: float,
    limits: tuple[float, float],
    clusters: Clusters | None = None,
    groups: TopicGroups | None = None,
) -> tuple[float, float]:
    """Return Student's t interval of the mean, limited to the range of the values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two values.
    confidence : float in (0, 1)
        The confidence level.
    limits : tuple of float
        Minimum and maximum possible value; extended to the values themselves if these are outside.
    clusters : Clusters, optional
        Topics that belong together, of at least two clusters. By default, topics are independent.
    groups : TopicGroups, optional
        Groups of topics that count equally. By default, topics count equally.

    Returns
    -------
    low, high : float
        The ends of the interval; NaN if clusters are too few in a group.
    """
    estimates = estimate_means(values, clusters, groups=groups)
    mean, half = (
        float(estimates.means),
        float(t_quantile(estimates.freedom, confidence) * estimates.errors),
    )
    low, high = min(limits[0], float(values.min())), max(limits[1], float(values.max()))
    return max(mean - half, low), min(mean + half, high)


#: Above it, of levels far below .01 with two to four topics, the noncentral t distribution is
#: approximated.
_LARGEST_CRITICAL = 1e4


def power_of_t_test(
    effect: Floats, n_clusters: Floats, alpha: float, freedom_ratio: float = 1.0
) -> Floats:
    """Return the probability that the two-sided paired t-test is significant.

    Parameters
    ----------
    effect : ndarray of float
        The absolute difference of means over the square root of the `variance` of the differences.
    n_clusters : ndarray
        The number of clusters, at least 2; that of topics if these are independent.
    alpha : float in (0, 1)
        The significance level.
    freedom_ratio : float, default 1.0
        The number of degrees of freedom plus 1, per cluster; less than 1 for clusters of different
        sizes.
    """
    from scipy.special import chdtr
    from scipy.stats import nct
    from scipy.stats import t as student

    sizes = np.asarray(n_clusters, dtype=np.float64)
    freedom = np.maximum(freedom_ratio * sizes - 1, 1)
    critical, shift = np.broadcast_arrays(student.isf(alpha / 2, freedom), effect * np.sqrt(sizes))
    # SciPy's series do not converge for other values. There, the mean of the topics varies much
    # less than their standard deviation, whose distribution decides alone.
    is_usual = (critical < _LARGEST_CRITICAL) & (shift < 10 * critical)
    usual, quantile = np.where(is_usual, shift, 1.0), np.where(is_usual, critical, 1.0)
    with np.errstate(divide="ignore"):  # in SciPy before 1.12, which returns the right value
        wrong = nct.cdf(-quantile, freedom, usual)  # NaN in the far tail, where it is 0
        power = nct.sf(quantile, freedom, usual) + np.where(np.isnan(wrong), 0.0, wrong)
    extreme = chdtr(freedom, freedom * (shift / critical) ** 2)
    return np.where(np.isnan(shift), np.nan, np.where(is_usual, power.clip(0, 1), extreme))


def power_of_double_sampling(
    effects: Floats, unexplained: Floats, highest: Floats, n: int, n_topics: int, alpha: float
) -> Floats:
    """Return the probability that the interval of a regression estimate from double sampling excludes 0.

    Values H of n topics and labels L of all topics are drawn from normal distributions: the sums of
    squares, the slope and the difference between the labels' means, given which the probability is
    exact.

    Parameters
    ----------
    effects : ndarray of float, shape (m,)
        The mean of H, over its standard deviation.
    unexplained : ndarray of float, shape (m,)
        √(1 − ρ²), of the correlation ρ of H and L.
    highest : ndarray of float, shape (m,)
        The highest slope that is used, in standard deviations of H per standard deviation of L; the
        lowest is 0.
    n, n_topics : int
        The numbers of topics, 3 ≤ n < n_topics.
    alpha : float in (0, 1)
        One minus the confidence level.

    Returns
    -------
    ndarray of float, shape (m,)
        In [0, 1], with a standard error of some .002.
    """
    from scipy.special import ndtr, stdtrit

    rng, n_further = np.random.default_rng(0), n_topics - n
    error, gap = rng.standard_normal((2, _SAMPLES))
    spread, of_further, of_errors = (
        2 * rng.standard_gamma(freedom / 2, _SAMPLES) for freedom in (n - 1, n_further - 1, n - 2)
    )
    # By how much the mean label of all topics differs from that of the n.
    distance = gap * math.sqrt(n_further / (n * n_topics))
    variance_of_labels = (spread + of_further + n * n_topics / n_further * distance**2) / (
        n_topics - 1
    )
    noise, slope = unexplained[:, None], np.sqrt(1 - unexplained[:, None] ** 2)
    fitted = slope + noise * error / np.sqrt(spread)
    used = fitted.clip(0, highest[:, None])
    residual = (noise**2 * of_errors + (fitted - used) ** 2 * spread) / (n - 2)
    variance = residual * (1 / n + distance**2 / spread) + used**2 * variance_of_labels / n_topics
    half = stdtrit(n - 2, 1 - alpha / 2) * np.sqrt(variance)
    # The rest of the estimate varies independently of all these.
    estimate, deviation = (
        effects[:, None] + (used - slope) * distance,
        np.sqrt(noise**2 / n + slope**2 / n_topics),
    )
    found = ndtr((estimate - half) / deviation) + ndtr((-estimate - half) / deviation)
    return np.asarray(found.mean(axis=1))


def detectable_effect(
    n_clusters: int, power: float, alpha: float, freedom_ratio: float = 1.0
) -> float:
    """Return the effect that the paired t-test finds with a probability, `power`, above alpha.

    The other parameters are those of `power_of_t_test`.
    """
    from scipy.optimize import brentq

    def excess(effect: float) -> float:
        found = power_of_t_test(np.array(effect), np.array(n_clusters), alpha, freedom_ratio)
        return float(found) - power

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-14, rtol=1e-12))


#: Above it, numbers of topics follow from the normal distribution, as SciPy's noncentral t is not
#: exact enough.
_LARGEST_SIZE = 1e7


def topics_needed(
    effects: Floats, power: float, alpha: float, freedom_ratio: float = 1.0
) -> Floats:
    """Return the least number of topics, or clusters, at least 2, with which each effect is found with a power.

    Parameters
    ----------
    effects : ndarray of float, shape (n,)
        Effects above 0, or NaN.
    power, alpha : float in (0, 1)
        The probability, and the significance level.
    freedom_ratio : float, default 1.0
        As for `power_of_t_test`.

    Returns
    -------
    ndarray of float, shape (n,)
        Whole numbers; NaN where the effect is.
    """
    from scipy.special import ndtri

    known = ~np.isnan(effects)
    few: Floats = np.ones(len(effects))  # too few, or one less than the least
    quantiles = ndtri(1 - alpha / 2) + ndtri(power)
    enough = np.where(known, np.ceil((quantiles / np.where(known, effects, 1.0)) ** 2), 2.0).clip(
        min=2
    )
    is_large = enough > _LARGEST_SIZE
    normal = (quantiles / np.where(is_large, effects, 1.0)) ** 2
    approximate = np.ceil(normal + ndtri(1 - alpha / 2) ** 2 / (2 * freedom_ratio))
    known &= ~is_large
    enough = np.where(known, enough, 2.0)
    while (short := known & (power_of_t_test(effects, enough, alpha, freedom_ratio) < power)).any():
        few, enough = np.where(short, enough, few), np.where(short, 2 * enough, enough)
    while (known & (enough - few > 1)).any():
        middle = np.where(enough - few > 1, np.floor((few + enough) / 2), enough)
        suffices = power_of_t_test(effects, middle, alpha, freedom_ratio) >= power
        few, enough = np.where(suffices, few, middle), np.where(suffices, middle, enough)
    return np.where(known, enough, np.where(is_large, approximate, np.nan))


def upper_deviation(
    deviation: Floats, n_clusters: int, confidence: float, freedom_ratio: float = 1.0
) -> Floats:
    """Return the one-sided upper confidence limit of standard deviations that were estimated from n clusters.

    `freedom_ratio` is that of `power_of_t_test`.
    """
    from scipy.special import chdtri

    freedom = freedom_ratio * n_clusters - 1
    # chdtri inverts the upper tail.
    return np.asarray(
        deviation * math.sqrt(freedom / chdtri(freedom, confidence)), dtype=np.float64
    )
