"""Paired tests of the differences between systems, and corrections for multiple testing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Floats, Ints
from .._validation import choice, count, random_seed
from ..errors import MultiAspectError, parameter, warn_once
from ..evaluation.macro_means import MACRO
from ..evaluation.topic_clusters import clusters_in_words
from ..evaluation.topic_groups import ALL
from ..kernels.mean_errors import (
    Clusters,
    MeanEstimates,
    TopicGroups,
    design_effect,
    estimate_means,
    one_sided_t_levels,
    t_levels,
    t_quantile,
)
from ..kernels.rounding import TOLERANCE, remove_rounding_errors
from ._pairs import Pairs

#: The significance level of analyses that have no parameter for it.
ALPHA = 0.05

TESTS = ("bootstrap", "permutation", "t", "tukey")

CORRECTIONS = ("bonferroni", "fdr_bh", "holm")

#: Maximum size of a temporary array (32 MB).
_CHUNK = 4_000_000


@dataclass(frozen=True, eq=False)
class PairTests:
    """Tests of pairs of systems under one measure.

    All but differences and means is NaN for a single cluster.
    """

    #: pairs × topics; 0 where they are rounding errors, like their means.
    differences: Floats
    means: Floats
    #: The standard errors of the means.
    errors: Floats
    #: Their degrees of freedom.
    freedom: Floats | float
    #: The maximum difference that is a rounding error.
    zero: Floats
    #: The clusters of the topics.
    clusters: Clusters
    #: The levels of the test.
    levels: Floats
    #: The maximum difference of means required for significance.
    required_difference: float
    #: The number of systems that the test compares with each other: 2, but by 'tukey' all.
    n_compared: int

    def half_widths(self, alpha: float) -> Floats:
        """Return half the widths of the intervals of the means with confidence level 1 − alpha.

        They are Student's, or those of the studentised range if more than two systems are compared.
        """
        if self.n_compared == 2:
            quantile = t_quantile(self.freedom, 1 - alpha)
        else:
            width = _range_quantile(self.n_compared, self.clusters.freedom, 1 - alpha)
            quantile = np.array(width / math.sqrt(2))
        return np.asarray(quantile * self.errors)

    def margin_levels(self, margin: float) -> tuple[Floats, Floats]:
        """Return the levels of one-sided t-tests that means are above −margin, and below margin."""
        return self._one_sided(margin + self.means), self._one_sided(margin - self.means)

    def _one_sided(self, distances: Floats) -> Floats:
        """Return the levels of one-sided t-tests that distances are above 0."""
        is_zero = np.abs(distances) <= self.zero
        distances = np.where(is_zero, 0.0, distances)
        return one_sided_t_levels(distances, self.errors, self.freedom)

    def design_effects(self) -> Floats:
        """Return how many times the squared standard errors are those of independent topics."""
        return design_effect(self.differences, self.clusters)


@cache
def _range_quantile(n_systems: int, freedom: float, confidence: float) -> float:
    """Return the quantile of the studentised range, NaN for NaN degrees of freedom."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(confidence, n_systems, freedom))


def paired_test(
    values: Floats,
    test: str,
    *,
    n_resamples: int,
    alpha: float,
    seed: int,
    clusters: Clusters | None = None,
    groups: TopicGroups | None = None,
) -> Callable[[int, Ints, Ints], PairTests]:
    """Prepare a paired two-sided test of systems, with resamples that are drawn once.

    Parameters
    ----------
    values : ndarray, systems × topics × measures
        The per-topic values.
    test : {'bootstrap', 'permutation', 't', 'tukey'}
        The test; see `discriminative_power`.
    n_resamples : int
        Number of resamples, at least 1 / alpha. Not used by the test 't'.
    alpha : float in (0, 1)
        The significance level.
    seed : int
        Random seed.
    clusters : Clusters, optional
        Topics that belong together. By default, topics are independent.
    groups : TopicGroups, optional
        Groups of topics that count equally, for the test 't'. By default, topics count equally.

    Returns
    -------
    callable
        Takes the index of a measure and the indices of the first and second systems of pairs, and
        returns `PairTests`.

    Raises
    ------
    MultiAspectError
        If a parameter is out of range.
    """
    choice("test", *TESTS)(test)
    n_resamples = count("n_resamples")(n_resamples)
    seed = random_seed(seed)
    if test != "t" and n_resamples * alpha < 1 - 1e-9:
        least = math.ceil((1 - 1e-9) / alpha)
        raise MultiAspectError(
            f"n_resamples: expected at least {least} (1 / alpha) for alpha={alpha:g}, got "
            f"{n_resamples}"
        )
    if clusters is None:
        clusters = Clusters.independent(values.shape[1])
    if test == "permutation":
        _warn_of_few_signs(clusters, alpha)
    rng = np.random.default_rng(seed)
    judge = _judge(test, values, clusters, n_resamples, alpha, rng)
    if test == "tukey":
        n_compared = len(values)
    else:
        n_compared = 2

    def test_pairs(measure: int, first: Ints, second: Ints) -> PairTests:
        largest = largest_of_pairs(values[:, :, measure], first, second)
        raw = values[first, :, measure] - values[second, :, measure]
        differences = remove_rounding_errors(raw, largest[:, None])
        estimates = estimate_means(differences, clusters, largest, groups)
        means = remove_rounding_errors(estimates.means, largest)
        estimates = replace(estimates, means=means)
        zero = TOLERANCE * largest
        tests = PairTests(
            differences,
            means,
            estimates.errors,
            estimates.freedom,
            zero,
            clusters,
            levels=np.full(len(first), np.nan),
            required_difference=np.nan,
            n_compared=2,
        )
        if len(clusters) < 2:
            return tests
        levels, required = judge(measure, differences, estimates, zero)
        return replace(
            tests,
            levels=levels.clip(0, 1),
            required_difference=required,
            n_compared=n_compared,
        )

    return test_pairs


def _warn_of_few_signs(clusters: Clusters, alpha: float) -> None:
    """Warn if no difference can be significant, as too few clusters have signs to flip."""
    lowest = 2.0 ** (1 - len(clusters))
    if lowest >= alpha and not clusters.are_single_topics:
        warn_once(
            f"{parameter('test', 'permutation')}: the lowest level of {len(clusters)} clusters is "
            f"{lowest:g}, not below alpha={alpha:g}: use {parameter('test', 't')}, or judge topics "
            "of further clusters"
        )


def largest_of_pairs(values: Floats, first: Ints, second: Ints) -> Floats:
    """Return the largest absolute value of both systems of each pair, by which zeros are decided.

    Parameters
    ----------
    values : ndarray, systems × topics × …
        The per-topic values.
    first, second : ndarray of int, shape (n_pairs,)
        The systems of the pairs.

    Returns
    -------
    ndarray, pairs × …
        To pass to `remove_rounding_errors`.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)
    return np.asarray(np.maximum(largest[first], largest[second]))


def topic_differences(values: Floats, pairs: Pairs) -> Floats:
    """Return the differences of pairs of systems on each topic, pairs × topics × measures."""
    largest = largest_of_pairs(values, pairs.first, pairs.second)
    differences = values[pairs.first] - values[pairs.second]
    return remove_rounding_errors(differences, largest[:, None])


def sum_over_topics(values: Floats) -> Floats:
    """Return the sums over topics, systems × measures.

    Topics are added one after the other, so that the sum of a measure does not depend on others
    beside it.
    """
    by_topic = np.ascontiguousarray(values.swapaxes(0, 1))
    return np.asarray(by_topic.sum(axis=0))


def mean_over_topics(values: Floats) -> Floats:
    """Return the means over topics, systems × measures; see `sum_over_topics`."""
    return np.asarray(sum_over_topics(values) / values.shape[1])


def clusters_note(values: Floats, pairs: Pairs, clusters: Clusters) -> str:
    """Return the sizes of clusters, and the median design effect over pairs and measures.

    The text is empty for single topics.

    Parameters
    ----------
    values : ndarray, systems × topics × measures
        The per-topic values.
    pairs : Pairs
        The pairs of systems.
    clusters : Clusters
        Topics that belong together.
    """
    if clusters.are_single_topics:
        return ""
    once, _ = unordered_pairs(pairs)
    differences = topic_differences(values, pairs)[once]
    by_measure = differences.swapaxes(1, 2)  # pairs × measures × topics
    return clusters_in_words(clusters, design_effect(by_measure, clusters))


def mean_differences(values: Floats, pairs: Pairs) -> Floats:
    """Return the differences of the means of pairs of systems, pairs × measures."""
    means = mean_over_topics(values)
    largest = largest_of_pairs(values, pairs.first, pairs.second)
    differences = means[pairs.first] - means[pairs.second]
    return remove_rounding_errors(differences, largest)


def signs_of_means(means: Floats, values: Floats) -> Floats:
    """Return the signs of the differences of means, … × systems × other systems × measures.

    Parameters
    ----------
    means : ndarray, … × systems × measures
        The means, perhaps of several samples of topics.
    values : ndarray, systems × topics × measures
        The per-topic values.
    """
    largest = np.abs(values).max(axis=1, initial=0.0)  # systems × measures
    largest_of_both = np.maximum(largest[:, None], largest[None])
    differences = means[..., :, None, :] - means[..., None, :, :]
    return np.sign(remove_rounding_errors(differences, largest_of_both))


def t_test_levels(
    values: Floats,
    pairs: Pairs,
    correct: Callable[[Floats], Floats],
    clusters: Clusters | None = None,
) -> Floats:
    """Return the levels of paired t-tests, pairs × measures, NaN for a single cluster of topics.

    Parameters
    ----------
    values : ndarray, systems × topics × measures
        The per-topic values.
    pairs : Pairs
        The pairs of systems.
    correct : callable
        The `corrector`; all pairs under one measure form a family, in which a pair and its reverse
        count once.
    clusters : Clusters, optional
        Topics that belong together.
    """
    if clusters is None:
        n_clusters = values.shape[1]
    else:
        n_clusters = len(clusters)
    n_measures = values.shape[2]
    levels = np.full((len(pairs), n_measures), np.nan)
    if n_clusters < 2:
        return levels
    test_pairs = paired_test(values, "t", n_resamples=1, alpha=0.05, seed=0, clusters=clusters)
    once, pair = unordered_pairs(pairs)
    for measure in range(n_measures):
        tests = test_pairs(measure, pairs.first[once], pairs.second[once])
        levels[:, measure] = correct(tests.levels)[pair]
    return levels


def unordered_pairs(pairs: Pairs) -> tuple[Ints, Ints]:
    """Return the rows of the distinct unordered pairs, and the position of each pair among them."""
    low = np.minimum(pairs.first, pairs.second)
    high = np.maximum(pairs.first, pairs.second)
    n_systems = high.max(initial=0) + 1
    code = low * n_systems + high
    _, once, pair = np.unique(code, return_index=True, return_inverse=True)
    return once, pair


def check_correction(test: str, correction: str | None) -> None:
    """Raise an error if a correction is unknown, or is given for 'tukey'."""
    if correction is None:
        return
    if test == "tukey":
        raise MultiAspectError(
            f"{parameter('test', 'tukey')} corrects for the number of pairs itself: omit "
            f"{parameter('correction', correction)}"
        )
    choice("correction", None, *CORRECTIONS)(correction)


def corrector(test: str, correction: str | None) -> Callable[[Floats], Floats]:
    """Return the function that corrects the levels of a family of tests.

    Parameters
    ----------
    test : str
        The test; 'tukey' itself corrects for the number of pairs.
    correction : {'bonferroni', 'fdr_bh', 'holm', None}
        The correction.

    Returns
    -------
    callable
        Maps levels to corrected levels.

    Raises
    ------
    MultiAspectError
        If the correction is unknown, or is given for 'tukey'.
    """
    check_correction(test, correction)
    if correction == "bonferroni":
        return lambda levels: (levels * len(levels)).clip(max=1)
    if correction == "holm":
        return _holm
    if correction == "fdr_bh":
        return _benjamini_hochberg
    return lambda levels: levels


def interval_alpha(p: Floats, correction: str | None, alpha: float) -> float:
    """Return one minus the confidence level of the intervals of a family of tests.

    Intervals are simultaneous by Bonferroni's inequality with 'bonferroni' and 'holm', so that one
    that excludes 0 always has a p below alpha. With 'fdr_bh', they have the false coverage rate
    alpha.

    Parameters
    ----------
    p : ndarray of float
        The corrected levels of the family.
    correction : {'bonferroni', 'fdr_bh', 'holm', None}
        The correction.
    alpha : float in (0, 1)
        The significance level.

    References
    ----------
    Benjamini, Yekutieli: False Discovery Rate-Adjusted Multiple Confidence Intervals for Selected
    Parameters. Journal of the American Statistical Association 100 (2005).
    """
    n_tests = p.size
    if correction is None or not n_tests:
        return alpha
    if correction != "fdr_bh":
        return alpha / n_tests
    n_rejected = max(1, int((p < alpha).sum()))
    return n_rejected * alpha / n_tests


def correct_groups(
    levels: Floats, families: Sequence[str], test: str, correction: str | None, alpha: float
) -> tuple[Floats, Floats]:
    """Correct the levels of a measure in groups of topics, over all topics, and of macro means.

    Parameters
    ----------
    levels : ndarray, rows × comparisons
        The levels of each group, over all topics, or of macro means; NaN where there are too few
        topics for a test.
    families : sequence of str
        The family of each row: all groups form one, see `family_of`.
    test, correction, alpha
        As for `corrector` and `interval_alpha`, except for 'tukey' with 'holm', its default: levels
        are multiplied by the number of groups, as the test itself corrects only for the pairs
        within a group.

    Returns
    -------
    corrected : ndarray, rows × comparisons
        The corrected levels.
    alphas : ndarray, one per row
        One minus the confidence level of intervals.
    """
    corrected = np.full(levels.shape, np.nan)
    alphas = np.full(len(levels), np.nan)
    is_tested = ~np.isnan(levels).any(axis=1)
    for name in dict.fromkeys(families):
        rows = is_tested & (np.array(families) == name)
        family = levels[rows]
        if not family.size:
            continue
        if test == "tukey":
            if correction is None:
                n_groups = 1
            else:
                n_groups = len(family)
            corrected[rows] = (family * n_groups).clip(max=1)
            alphas[rows] = alpha / n_groups
        else:
            correct = corrector(test, correction)
            corrected[rows] = correct(family.ravel()).reshape(family.shape)
            alphas[rows] = interval_alpha(corrected[rows], correction, alpha)
    return corrected, alphas


def family_of(group: str) -> str:
    """Return the family of a group's tests.

    All groups form one, and all topics and macro means one each.
    """
    if group in (ALL, MACRO):
        return group
    return "groups"


def _benjamini_hochberg(levels: Floats) -> Floats:
    """Apply Benjamini and Hochberg's correction.

    The k-th lowest of n levels is multiplied by n / k; the order of levels is kept.
    """
    n_tests = len(levels)
    descending = np.argsort(-levels, kind="stable")
    share = np.arange(n_tests, 0, -1) / n_tests  # k / n
    multiplied = levels[descending] / share
    corrected = np.empty(n_tests)
    corrected[descending] = np.minimum.accumulate(multiplied)
    return corrected.clip(max=1)


def _holm(levels: Floats) -> Floats:
    """Apply Holm's correction.

    The k-th lowest of n levels is multiplied by n − k + 1; the order of levels is kept.
    """
    n_tests = len(levels)
    ascending = np.argsort(levels, kind="stable")
    multiplied = levels[ascending] * np.arange(n_tests, 0, -1)
    corrected = np.empty(n_tests)
    corrected[ascending] = np.maximum.accumulate(multiplied)
    return corrected.clip(max=1)


def _judge(
    test: str,
    values: Floats,
    clusters: Clusters,
    n_resamples: int,
    alpha: float,
    rng: np.random.Generator,
) -> Callable[[int, Floats, MeanEstimates, Floats], tuple[Floats, float]]:
    """Return the function that computes levels and the required difference for one measure.

    It takes the index of the measure, the differences (pairs × topics), their means, and the
    maximum difference of each pair that counts as 0. Resamples are drawn only once.
    """
    if test == "t":
        return lambda _, differences, estimates, zero: _t(estimates, alpha)
    if test == "bootstrap":
        counts = resample_counts(len(clusters), n_resamples, rng)
        return lambda _, differences, estimates, zero: _bootstrap(
            differences, estimates.means, zero, clusters, counts, alpha
        )
    if test == "permutation":
        bits = rng.integers(2, size=(n_resamples, len(clusters)), dtype=np.int8)
        signs = (2 * bits - 1).T  # clusters × n_resamples
        return lambda _, differences, estimates, zero: _permutation(
            differences, estimates.means, zero, clusters, signs, alpha
        )
    ranges = permuted_ranges(values, clusters, n_resamples, rng)
    return lambda measure, differences, estimates, zero: _tukey(
        estimates.means, zero, ranges[measure], alpha
    )


def resample_counts(
    n_topics: int, n_resamples: int, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Draw topics, or clusters, with replacement, and return their counts, topics × n_resamples."""
    counts = np.empty((n_topics, n_resamples), dtype=np.uint16)
    for draws in slices(n_resamples, n_topics):
        n_draws = draws.stop - draws.start
        topics = rng.integers(n_topics, size=(n_draws, n_topics))
        cells = topics + np.arange(n_draws)[:, None] * n_topics
        by_cell = np.bincount(cells.ravel(), minlength=n_draws * n_topics)
        counts[:, draws] = by_cell.reshape(n_draws, n_topics).T
    return counts


def resample_weights(clusters: Clusters, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw clusters with replacement, and return topics' weights in means, topics × n_resamples."""
    counts = resample_topics(clusters, n_resamples, rng)
    return np.asarray(counts / counts.sum(axis=0), dtype=np.float64)


def resample_topics(
    clusters: Clusters, n_resamples: int, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Draw clusters with replacement, and return the counts of topics, topics × n_resamples."""
    counts = resample_counts(len(clusters), n_resamples, rng)
    return counts[clusters.cluster]


def permuted_ranges(
    values: Floats, clusters: Clusters, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Permute the systems on each cluster, and return ranges of means, measures × n_resamples."""
    n_systems, _, n_measures = values.shape
    n_clusters = len(clusters)
    ranges = np.empty((n_measures, n_resamples))
    scores = []  # of each measure: clusters × systems, flattened
    for measure in range(n_measures):
        by_system = clusters.sums(values[:, :, measure])
        scores.append(np.ascontiguousarray(by_system.T).ravel())
    first_cell = np.arange(n_clusters)[:, None] * n_systems
    for draws in slices(n_resamples, 16 * n_clusters * n_systems):
        shape = (draws.stop - draws.start, n_clusters, n_systems)
        in_order = np.broadcast_to(np.arange(n_systems), shape)
        cells = rng.permuted(in_order, axis=2) + first_cell
        for measure in range(n_measures):
            means = scores[measure][cells].mean(axis=1) / clusters.mean_size
            ranges[measure, draws] = means.max(axis=1) - means.min(axis=1)
    return ranges


def slices(length: int, width: int, most: int = _CHUNK) -> list[slice]:
    """Split rows of `width` numbers into parts of at most `most` numbers, but at least a row."""
    size = max(1, most // max(width, 1))
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _product(rows: Floats, drawn: npt.NDArray[Any], out: Floats) -> None:
    """Compute a matrix product with an array of small integers, converted to floats in parts."""
    for draws in slices(drawn.shape[1], drawn.shape[0]):
        part = drawn[:, draws].astype(np.float64)
        out[:, draws] = rows @ part


def _bootstrap(
    differences: Floats,
    means: Floats,
    zero: Floats,
    clusters: Clusters,
    drawn: npt.NDArray[np.uint16],
    alpha: float,
) -> tuple[Floats, float]:
    """Return the levels by Sakai's test of the sums over clusters, and the required difference.

    For the sum X of n numbers and the sum Q of their squares, u = X² / (n Q) is in [0, 1] and t² =
    (n − 1) u / (1 − u). Thus, u orders samples as |t| does, but without a variance, which would be
    the difference of nearly equal numbers.
    """
    n_pairs = len(differences)
    n_clusters, n_resamples = drawn.shape
    sums = clusters.sums(differences)  # pairs × clusters
    totals = clusters.n_topics * means
    observed = _squared_cosine(totals, (sums**2).sum(axis=1), n_clusters)
    shifted = sums - (clusters.mean_size * means)[:, None]
    is_zero = np.abs(shifted) <= zero[:, None] * clusters.sizes
    shifted[is_zero] = 0.0
    has_equal_sums = ~shifted.any(axis=1) & sums.any(axis=1)  # the same sum in all clusters
    observed[has_equal_sums] = np.inf
    n_beyond = math.ceil(n_resamples * alpha - 1e-9)
    position = n_resamples - n_beyond  # of the critical sample, in ascending order
    levels = np.empty(n_pairs)
    required = np.empty(n_pairs)
    parts = slices(n_pairs, n_resamples)
    largest_part = parts[0].stop
    all_x = np.empty((largest_part, n_resamples))
    all_u = np.empty((largest_part, n_resamples))
    for part in parts:
        size = part.stop - part.start
        x = all_x[:size]
        u = all_u[:size]
        _product(shifted[part], drawn, x)
        _product(shifted[part] ** 2, drawn, u)
        _squared_cosine(x, u, n_clusters)
        is_beyond = u >= observed[part, None] - TOLERANCE
        levels[part] = is_beyond.sum(axis=1) / n_resamples
        critical = np.argpartition(u, position, axis=1)[:, position]
        required[part] = np.abs(x[np.arange(size), critical]) / clusters.n_topics
    return levels, float(required.max())


def _squared_cosine(sums: Floats, squares: Floats, n: int) -> Floats:
    """Return X² / (n Q), and 0 where Q is 0, in the array of the squares Q."""
    squares *= n
    np.maximum(squares, np.finfo(np.float64).tiny, out=squares)
    np.divide(sums, squares, out=squares)
    squares *= sums
    return squares


def _critical_position(n_resamples: int, alpha: float) -> int:
    """Return the index of the critical sample in ascending order.

    The observed value counts as a sample.
    """
    n_beyond = math.ceil((n_resamples + 1) * alpha - 1e-9)
    return min(n_resamples - n_beyond + 1, n_resamples - 1)


def _permutation(
    differences: Floats,
    means: Floats,
    zero: Floats,
    clusters: Clusters,
    drawn: npt.NDArray[np.int8],
    alpha: float,
) -> tuple[Floats, float]:
    """Return the levels by flipping signs of sums over clusters, and the required difference."""
    n_pairs = len(differences)
    n_resamples = drawn.shape[1]
    sums = clusters.sums(differences)  # pairs × clusters
    observed = clusters.n_topics * (np.abs(means) - zero)
    position = _critical_position(n_resamples, alpha)
    levels = np.empty(n_pairs)
    required = np.empty(n_pairs)
    parts = slices(n_pairs, n_resamples)
    flipped = np.empty((parts[0].stop, n_resamples))
    for part in parts:
        size = part.stop - part.start
        x = flipped[:size]
        _product(sums[part], drawn, x)
        np.abs(x, out=x)
        n_beyond = (x >= observed[part, None]).sum(axis=1)
        levels[part] = (1 + n_beyond) / (1 + n_resamples)
        x.partition(position, axis=1)
        required[part] = x[:, position] / clusters.n_topics
    return levels, float(required.max())


def _t(estimates: MeanEstimates, alpha: float) -> tuple[Floats, float]:
    """Return the levels of t-tests, and the required difference."""
    from scipy.stats import t as student

    levels = t_levels(estimates.means, estimates.errors, estimates.freedom)
    quantile = student.isf(alpha / 2, estimates.freedom)
    required = quantile * estimates.errors
    return levels, float(required.max(initial=0.0))


def _tukey(means: Floats, zero: Floats, ranges: Floats, alpha: float) -> tuple[Floats, float]:
    """Return the levels by the ranges of permuted systems, and the required difference."""
    n_resamples = len(ranges)
    ascending = np.sort(ranges)
    observed = np.abs(means) - zero
    n_below = np.searchsorted(ascending, observed, side="left")
    levels = (1 + n_resamples - n_below) / (1 + n_resamples)
    required = ascending[_critical_position(n_resamples, alpha)]
    return levels, float(required)
