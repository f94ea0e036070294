"""Confidence intervals of means, and the power of t-tests."""

from __future__ import annotations

import math

import numpy as np

from .._typing import Floats
from .mean_errors import Clusters, TopicGroups, estimate_means, standard_error, t_quantile

#: Number of bootstrap samples.
_SAMPLES = 10_000

#: Number of topics drawn at once (32 MB).
_CHUNK = 4_000_000


def bootstrap_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the percentile interval of the means of bootstrap samples.

    It does not depend on the order of the values.

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
    ordered = np.sort(values)
    rng = np.random.default_rng(0)
    size = max(1, _CHUNK // len(values))
    parts = []
    for start in range(0, _SAMPLES, size):
        n_samples = min(size, _SAMPLES - start)
        draws = rng.integers(len(values), size=(n_samples, len(values)))
        parts.append(ordered[draws].mean(axis=1))
    means = np.concatenate(parts)
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
    is_defined = ~np.isnan(samples).all(axis=0)
    known = np.where(is_defined, samples, 0.0)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.nanquantile(known, tails, axis=0)
    extended_low = np.fmin(low, estimate)
    extended_high = np.fmax(high, estimate)
    return np.where(is_defined, extended_low, np.nan), np.where(is_defined, extended_high, np.nan)


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
    mean = float(estimates.means)
    half = float(t_quantile(estimates.freedom, confidence) * estimates.errors)
    lowest = min(limits[0], float(values.min()))
    highest = max(limits[1], float(values.max()))
    return max(mean - half, lowest), min(mean + half, highest)


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
    critical_of_size = student.isf(alpha / 2, freedom)
    shift_of_effect = effect * np.sqrt(sizes)
    critical, shift = np.broadcast_arrays(critical_of_size, shift_of_effect)
    # SciPy's series do not converge for other values. There, the mean of the topics varies much
    # less than their standard deviation, whose distribution decides alone.
    is_usual = (critical < _LARGEST_CRITICAL) & (shift < 10 * critical)
    usual_shift = np.where(is_usual, shift, 1.0)
    usual_critical = np.where(is_usual, critical, 1.0)
    with np.errstate(divide="ignore"):  # in SciPy before 1.12, which returns the right value
        wrong_side = nct.cdf(-usual_critical, freedom, usual_shift)
        right_side = nct.sf(usual_critical, freedom, usual_shift)
    # The wrong side is NaN in the far tail, where it is 0.
    usual = right_side + np.where(np.isnan(wrong_side), 0.0, wrong_side)
    extreme = chdtr(freedom, freedom * (shift / critical) ** 2)
    power = np.where(is_usual, usual.clip(0, 1), extreme)
    return np.where(np.isnan(shift), np.nan, power)


def power_of_double_sampling(
    effects: Floats, unexplained: Floats, highest: Floats, n: int, n_topics: int, alpha: float
) -> Floats:
    """Return the probability that an interval from double sampling excludes 0.

    The interval is that of a regression estimate. Values H of n topics and labels L of all topics
    are drawn from normal distributions: the sums of squares, the slope and the difference between
    the labels' means, given which the probability is exact.

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

    rng = np.random.default_rng(0)
    n_further = n_topics - n
    error, gap = rng.standard_normal((2, _SAMPLES))
    # The sums of squares of the labels of the n topics, of those of the others, and of the errors.
    squares = 2 * rng.standard_gamma((n - 1) / 2, _SAMPLES)
    squares_of_further = 2 * rng.standard_gamma((n_further - 1) / 2, _SAMPLES)
    squares_of_errors = 2 * rng.standard_gamma((n - 2) / 2, _SAMPLES)
    # By how much the mean label of all topics differs from that of the n.
    distance = gap * math.sqrt(n_further / (n * n_topics))
    squares_between = n * n_topics / n_further * distance**2
    variance_of_labels = (squares + squares_of_further + squares_between) / (n_topics - 1)

    # The slope, its estimate and the one that is used, shape (m, n_samples).
    noise = unexplained[:, None]
    slope = np.sqrt(1 - noise**2)
    fitted = slope + noise * error / np.sqrt(squares)
    used = fitted.clip(0, highest[:, None])

    residual = (noise**2 * squares_of_errors + (fitted - used) ** 2 * squares) / (n - 2)
    variance_of_n = residual * (1 / n + distance**2 / squares)
    variance = variance_of_n + used**2 * variance_of_labels / n_topics
    half = stdtrit(n - 2, 1 - alpha / 2) * np.sqrt(variance)

    # The rest of the estimate varies independently of all these.
    estimate = effects[:, None] + (used - slope) * distance
    deviation = np.sqrt(noise**2 / n + slope**2 / n_topics)
    is_above = ndtr((estimate - half) / deviation)
    is_below = ndtr((-estimate - half) / deviation)
    found = is_above + is_below
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
    """Return the least number of topics, or clusters, with which each effect is found.

    It is at least 2.

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

    # The numbers by the normal distribution.
    is_known = ~np.isnan(effects)
    quantile = ndtri(1 - alpha / 2)
    quantiles = quantile + ndtri(power)
    normal = (quantiles / np.where(is_known, effects, 1.0)) ** 2
    enough = np.where(is_known, np.ceil(normal), 2.0).clip(min=2)
    is_large = enough > _LARGEST_SIZE
    normal_if_large = (quantiles / np.where(is_large, effects, 1.0)) ** 2
    approximate = np.ceil(normal_if_large + quantile**2 / (2 * freedom_ratio))

    # Numbers are doubled until they suffice.
    is_sought = is_known & ~is_large
    few: Floats = np.ones(len(effects))  # too few, or one less than the least
    enough = np.where(is_sought, enough, 2.0)
    found_power = power_of_t_test(effects, enough, alpha, freedom_ratio)
    is_short = is_sought & (found_power < power)
    while is_short.any():
        few = np.where(is_short, enough, few)
        enough = np.where(is_short, 2 * enough, enough)
        found_power = power_of_t_test(effects, enough, alpha, freedom_ratio)
        is_short = is_sought & (found_power < power)

    # Intervals are halved until they have one number.
    is_wide = enough - few > 1
    while (is_sought & is_wide).any():
        middle = np.where(is_wide, np.floor((few + enough) / 2), enough)
        suffices = power_of_t_test(effects, middle, alpha, freedom_ratio) >= power
        few = np.where(suffices, few, middle)
        enough = np.where(suffices, middle, enough)
        is_wide = enough - few > 1
    result_if_large = np.where(is_large, approximate, np.nan)
    return np.where(is_sought, enough, result_if_large)


def upper_deviation(
    deviation: Floats, n_clusters: int, confidence: float, freedom_ratio: float = 1.0
) -> Floats:
    """Return the upper confidence limit of standard deviations estimated from n clusters.

    The limit is one-sided. `freedom_ratio` is that of `power_of_t_test`.
    """
    from scipy.special import chdtri

    freedom = freedom_ratio * n_clusters - 1
    # chdtri inverts the upper tail.
    factor = math.sqrt(freedom / chdtri(freedom, confidence))
    return np.asarray(deviation * factor, dtype=np.float64)
