"""Confidence intervals of means, and the power of t-tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Bools, Floats
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
    sorted_values = np.sort(values)
    rng = np.random.default_rng(0)
    # All samples at once could take too much memory.
    samples_at_once = max(1, _CHUNK // len(values))
    parts = []
    for n_drawn in range(0, _SAMPLES, samples_at_once):
        n_samples = min(samples_at_once, _SAMPLES - n_drawn)
        shape = (n_samples, len(values))
        draws = rng.integers(len(values), size=shape)
        samples = sorted_values[draws]
        parts.append(samples.mean(axis=1))
    means = np.concatenate(parts)
    mean = values.mean()
    low, high = percentile_interval(means, confidence, mean)

    # Means of equal values may differ from them by rounding.
    lowest = sorted_values[0]
    highest = sorted_values[-1]
    low, high = np.clip([low, high], lowest, highest)
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
    is_undefined = np.isnan(samples).all(axis=0)
    # `nanquantile` warns of samples that are all NaN.
    samples_without_warning = np.where(is_undefined, 0.0, samples)
    lower = (1 - confidence) / 2
    upper = (1 + confidence) / 2
    quantiles = [lower, upper]
    low, high = np.nanquantile(samples_without_warning, quantiles, axis=0)

    # The minimum and the maximum ignore an estimate that is NaN.
    low = np.fmin(low, estimate)
    high = np.fmax(high, estimate)
    low = np.where(is_undefined, np.nan, low)
    high = np.where(is_undefined, np.nan, high)
    return low, high


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
    quantile = t_quantile(freedom, confidence)
    return np.asarray(quantile * error)


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
    quantile = t_quantile(estimates.freedom, confidence)
    half = float(quantile * estimates.errors)

    lower_limit, upper_limit = limits
    lowest = min(lower_limit, float(values.min()))
    highest = max(upper_limit, float(values.max()))
    low = max(mean - half, lowest)
    high = min(mean + half, highest)
    return low, high


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
    from scipy.stats import t as student

    # The statistic t has a noncentral t distribution, with this shift. The test is significant if t
    # is outside the interval ±critical.
    sizes = np.asarray(n_clusters, dtype=np.float64)
    freedom_of_size = freedom_ratio * sizes - 1
    freedom = np.maximum(freedom_of_size, 1)
    critical = student.isf(alpha / 2, freedom)
    shift = effect * np.sqrt(sizes)
    freedom, critical, shift = np.broadcast_arrays(freedom, critical, shift)

    # SciPy's series for this distribution converge for usual numbers only. Others, and NaN, are
    # left to an approximation.
    has_usual_critical = critical < _LARGEST_CRITICAL
    has_usual_shift = shift < 10 * critical
    usual = has_usual_critical & has_usual_shift
    extreme = ~usual
    power = np.empty(shift.shape)
    power[usual] = _noncentral_t_tails(critical[usual], freedom[usual], shift[usual])
    power[extreme] = _power_of_extremes(critical[extreme], freedom[extreme], shift[extreme])
    return power


def _power_of_extremes(critical: Floats, freedom: Floats, shift: Floats) -> Floats:
    """Return the approximate power of t-tests with very large critical values or shifts.

    `shift` is the statistic t if mean and standard deviation are estimated without error; the test
    is significant if t is above `critical`. The power is NaN for a shift of NaN.
    """
    from scipy.special import chdtr

    # The mean varies much less than the standard deviation, and is taken as known. An estimate of
    # r times the true standard deviation gives t = shift / r, so the test is significant if r is
    # less than shift / critical.
    largest_r = shift / critical
    # The textbook distribution of r: freedom · r² is chi-square. `chdtr` is its distribution
    # function.
    largest_chi_square = freedom * largest_r**2
    power = chdtr(freedom, largest_chi_square)
    return np.asarray(power, dtype=np.float64)


def _noncentral_t_tails(critical: Floats, freedom: Floats, shift: Floats) -> Floats:
    """Return the probability that noncentral t variables are outside the interval ±critical.

    `freedom` and `shift` are the parameters of their distributions.
    """
    from scipy.stats import nct

    with np.errstate(divide="ignore"):  # in SciPy before 1.12, which returns the right value
        below = nct.cdf(-critical, freedom, shift)
        above = nct.sf(critical, freedom, shift)
    # SciPy returns NaN in the far tail, where the probability is 0.
    is_in_far_tail = np.isnan(below)
    below = np.where(is_in_far_tail, 0.0, below)
    tails = above + below
    probability = tails.clip(0, 1)
    return np.asarray(probability, dtype=np.float64)


def power_of_double_sampling(
    effects: Floats, unexplained: Floats, highest: Floats, n: int, n_topics: int, alpha: float
) -> Floats:
    """Return the probability that an interval from double sampling excludes 0.

    The interval is that of a regression estimate from values H of n topics and labels L of all
    topics, with normal distributions. The estimate is the mean of H plus the slope times the
    distance of two means of L: that of all topics minus that of the n topics.

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
    # The model is H = effect + slope · L + noise · error, where L and errors are standard normal.
    # Given the regression on n topics, the power is known exactly. It is averaged over draws of
    # what the regression depends on: the error of its slope, the labels, and the residuals.
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(_SAMPLES)  # for the error of the slope
    labels = _draw_labels(n, n_topics, rng)
    chi_square = _draw_chi_square(n - 2, rng)  # for the sum of squared residuals
    noise = unexplained[:, None]  # rows are effects, columns are draws: (m, _SAMPLES)
    slope = np.sqrt(1 - noise**2)  # ρ
    regressions = _draw_regressions(slope, noise, highest[:, None], normal, chi_square, labels)
    variance = _variance_of_estimates(regressions, labels, n, n_topics)
    half_interval = _half_interval(variance, n - 2, alpha)

    # The estimate has a normal distribution: the mean of n errors and that of all L still vary.
    slope_bias = regressions.slope - slope
    bias = slope_bias * labels.distance
    mean_of_estimate = effects[:, None] + bias
    variance_of_errors = noise**2 / n
    variance_of_mean_label = slope**2 / n_topics
    deviation_of_estimate = np.sqrt(variance_of_errors + variance_of_mean_label)
    power = _probability_outside(half_interval, mean_of_estimate, deviation_of_estimate)
    mean_power = power.mean(axis=1)
    return np.asarray(mean_power)


class _RegressionDraws(NamedTuple):
    """Draws of regressions on n topics, shape (m, _SAMPLES)."""

    #: The slope that is used, within its limits.
    slope: Floats
    #: The sum of squared residuals with this slope.
    squared_residuals: Floats


def _draw_regressions(
    slope: Floats,
    noise: Floats,
    highest: Floats,
    normal: Floats,
    chi_square: Floats,
    labels: _LabelDraws,
) -> _RegressionDraws:
    """Return regressions from draws of a normal and a chi-square variable, and of the labels.

    `slope` and `noise` are those of the model, `highest` is the highest slope that is used; they
    have the shape (m, 1).
    """
    # The textbook error of a fitted slope: noise / √(sum of squares of the labels).
    root_of_squares = np.sqrt(labels.squares)
    slope_error = noise * normal / root_of_squares
    fitted_slope = slope + slope_error
    used_slope = fitted_slope.clip(0, highest)
    # The sum of squared residuals is minimal for the fitted slope; another one adds to it.
    least_squares = noise**2 * chi_square
    difference = fitted_slope - used_slope
    added_squares = difference**2 * labels.squares
    return _RegressionDraws(used_slope, least_squares + added_squares)


def _half_interval(variance: Floats, freedom: int, alpha: float) -> Floats:
    """Return half the width of Student's t intervals, from variances of the estimates."""
    from scipy.special import stdtrit

    quantile = stdtrit(freedom, 1 - alpha / 2)
    error = np.sqrt(variance)
    half_interval = quantile * error
    return np.asarray(half_interval, dtype=np.float64)


def _probability_outside(limit: Floats, mean: Floats, deviation: Floats) -> Floats:
    """Return the probability that normal variables are outside the interval ±limit."""
    from scipy.special import ndtr

    distance_above = (mean - limit) / deviation
    probability_above = ndtr(distance_above)
    distance_below = (-mean - limit) / deviation
    probability_below = ndtr(distance_below)
    probability = probability_above + probability_below
    return np.asarray(probability, dtype=np.float64)


def _variance_of_estimates(
    regressions: _RegressionDraws, labels: _LabelDraws, n: int, n_topics: int
) -> Floats:
    """Return the estimated variances of regression estimates, shape (m, _SAMPLES).

    An estimate is a prediction of a regression on n topics, at the mean label of all topics.

    Parameters
    ----------
    regressions : _RegressionDraws
        The `slope` of each regression, and its sum of `squared_residuals`.
    labels : _LabelDraws
        Statistics of the labels: the sum of `squares` of those of the n topics, the `distance` of
        their mean from that of all topics, and the `variance` of all labels.
    n, n_topics : int
        The number of topics with values, and of all topics.
    """
    # The textbook variance of a prediction at a distance d from the mean label of the regression:
    # residual variance · (1 / n + d² / sum of squares).
    residual_variance = regressions.squared_residuals / (n - 2)
    relative_distance = labels.distance**2 / labels.squares
    factor = 1 / n + relative_distance
    variance_of_regression = residual_variance * factor
    # The mean label of all topics varies, too: slope² · variance of a label / number of topics.
    explained_variance = regressions.slope**2 * labels.variance
    variance_of_labels = explained_variance / n_topics
    return variance_of_regression + variance_of_labels


class _LabelDraws(NamedTuple):
    """Draws of what the labels of topics contribute to a regression estimate."""

    #: The sum of squares of the labels of the n topics with values.
    squares: Floats
    #: By how much the mean label of all topics exceeds that of the n topics.
    distance: Floats
    #: The variance of the labels of all topics.
    variance: Floats


def _draw_labels(n: int, n_topics: int, rng: np.random.Generator) -> _LabelDraws:
    """Draw statistics of standard normal labels of n topics and of `n_topics` - n further ones.

    The labels themselves are not drawn: means and sums of squares of normal samples are
    independent, with normal and chi-square distributions.
    """
    n_further = n_topics - n
    # The distance d of the mean of all labels from that of n of them: its variance is
    # 1 / n - 1 / n_topics, or n_further / (n · n_topics).
    variance_of_distance = n_further / (n * n_topics)
    deviation_of_distance = math.sqrt(variance_of_distance)
    distance = rng.standard_normal(_SAMPLES) * deviation_of_distance
    squares = _draw_chi_square(n - 1, rng)
    squares_of_further = _draw_chi_square(n_further - 1, rng)

    # As in an analysis of variance, the sum of squares of all labels is that within the two groups
    # of topics, and that between them, which is d² over its variance.
    factor_between = n * n_topics / n_further
    squares_between = factor_between * distance**2
    squares_of_all = squares + squares_of_further + squares_between
    variance = squares_of_all / (n_topics - 1)
    return _LabelDraws(squares, distance, variance)


def _draw_chi_square(freedom: int, rng: np.random.Generator) -> Floats:
    """Draw sums of squares of `freedom` independent standard normal variables."""
    return 2 * rng.standard_gamma(freedom / 2, _SAMPLES)


def detectable_effect(
    n_clusters: int, power: float, alpha: float, freedom_ratio: float = 1.0
) -> float:
    """Return the effect that the paired t-test detects with the probability `power`.

    The power is above alpha; the other parameters are those of `power_of_t_test`.
    """
    from scipy.optimize import brentq

    def excess_power(effect: float) -> float:
        """Return the power for an effect, minus the one that is sought: 0 at the solution."""
        effects = np.array(effect)
        sizes = np.array(n_clusters)
        achieved = power_of_t_test(effects, sizes, alpha, freedom_ratio)
        return float(achieved) - power

    # The root is between 0 and the first effect that suffices.
    sufficient = 1.0
    while excess_power(sufficient) < 0:
        sufficient *= 2
    root = brentq(excess_power, 0.0, sufficient, xtol=1e-14, rtol=1e-12)
    return float(root)


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

    # The textbook number for the normal distribution, ((z of alpha + z of power) / effect)².
    z_of_alpha = ndtri(1 - alpha / 2)
    z_of_power = ndtri(power)
    sum_of_z = z_of_alpha + z_of_power
    normal_sizes = (sum_of_z / effects) ** 2
    # The t distribution needs more. Numbers up to a limit are searched, from the normal one up.
    start = np.ceil(normal_sizes).clip(min=2)
    is_searched = start <= _LARGEST_SIZE  # False for NaN
    # For larger ones, (z of alpha)² / 2 more topics are needed, and more than that if clusters have
    # different sizes, with a freedom ratio below 1.
    n_more = z_of_alpha**2 / (2 * freedom_ratio)
    sizes = np.ceil(normal_sizes + n_more)
    sizes[is_searched] = _search_sizes(
        effects[is_searched], start[is_searched], power, alpha, freedom_ratio
    )
    return np.asarray(sizes, dtype=np.float64)


def _search_sizes(
    effects: Floats, start: Floats, power: float, alpha: float, freedom_ratio: float
) -> Floats:
    """Return the least number of clusters with which each effect is found, from `start` up.

    The parameters are those of `topics_needed`; `start` has one number per effect, at least 2.
    """
    if not len(effects):
        return start

    def suffices(n_clusters: Floats) -> Bools:
        achieved = power_of_t_test(effects, n_clusters, alpha, freedom_ratio)
        is_enough = achieved >= power
        return np.asarray(is_enough, dtype=np.bool_)

    return _least_sizes(start, suffices)


def _least_sizes(start: Floats, suffices: Callable[[Floats], Bools]) -> Floats:
    """Return the least whole numbers that suffice, by bisection of all elements at once.

    Parameters
    ----------
    start : ndarray of float, shape (n,)
        The first numbers to try, at least 2.
    suffices : callable
        Returns which of n numbers suffice. All numbers above one that suffices do, too.
    """
    too_few, enough = _bracket_sizes(start, suffices)
    # The least number is above `too_few`, and not above `enough`: it is found where these are
    # neighbours.
    while (enough - too_few > 1).any():
        midpoint = (too_few + enough) / 2
        # Rounded up, it is `enough` itself for neighbours, for which nothing changes any more.
        middle = np.ceil(midpoint)
        is_enough = suffices(middle)
        enough = np.where(is_enough, middle, enough)
        too_few = np.where(is_enough, too_few, middle)
    return enough


def _bracket_sizes(start: Floats, suffices: Callable[[Floats], Bools]) -> tuple[Floats, Floats]:
    """Return numbers that are too few, and larger ones that suffice; as for `_least_sizes`."""
    too_few: Floats = np.ones(len(start))  # 1 is never tried: numbers are at least 2
    enough = start
    is_short = ~suffices(enough)
    # Double the numbers that do not suffice, and remember them.
    while is_short.any():
        too_few = np.where(is_short, enough, too_few)
        doubled = 2 * enough
        enough = np.where(is_short, doubled, enough)
        is_short = ~suffices(enough)
    return too_few, enough


def upper_deviation(
    deviation: Floats, n_clusters: int, confidence: float, freedom_ratio: float = 1.0
) -> Floats:
    """Return the upper confidence limit of standard deviations estimated from n clusters.

    The limit is one-sided: the textbook limit estimate · √(freedom / quantile), with the quantile
    of the chi-square distribution that is exceeded with the probability `confidence`.
    `freedom_ratio` is that of `power_of_t_test`.
    """
    from scipy.special import chdtri

    freedom = freedom_ratio * n_clusters - 1
    quantile = chdtri(freedom, confidence)
    factor = math.sqrt(freedom / quantile)
    limit = deviation * factor
    return np.asarray(limit, dtype=np.float64)
