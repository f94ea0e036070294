"""Paired tests of the differences between systems, and corrections for multiple testing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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

        They are Student's or, if more than two systems are compared, Tukey's. `self.errors` are the
        standard errors of the means of differences.
        """
        confidence = 1 - alpha
        if self.n_compared == 2:
            quantile = t_quantile(self.freedom, confidence)
        else:
            # The studentised range is in units of the standard error of one system's mean, which
            # is that of a difference of two means, divided by √2.
            range_quantile = _range_quantile(self.n_compared, self.clusters.freedom, confidence)
            quantile = np.array(range_quantile / math.sqrt(2))
        return np.asarray(quantile * self.errors)

    def margin_levels(self, margin: float) -> tuple[Floats, Floats]:
        """Return the levels of one-sided t-tests that means are above −margin, and below margin."""
        distance_from_lower = self.means + margin  # above 0 if the mean is above −margin
        distance_to_upper = margin - self.means  # above 0 if the mean is below margin
        levels_above = self._one_sided(distance_from_lower)
        levels_below = self._one_sided(distance_to_upper)
        return levels_above, levels_below

    def _one_sided(self, distances: Floats) -> Floats:
        """Return the levels of one-sided t-tests that distances are above 0."""
        is_rounding_error = np.abs(distances) <= self.zero
        clean_distances = np.where(is_rounding_error, 0.0, distances)
        return one_sided_t_levels(clean_distances, self.errors, self.freedom)

    def design_effects(self) -> Floats:
        """Return how many times the squared standard errors are those of independent topics."""
        return design_effect(self.differences, self.clusters)


@cache
def _range_quantile(n_systems: int, freedom: float, confidence: float) -> float:
    """Return the quantile of the studentised range, NaN for NaN degrees of freedom."""
    from scipy.stats import studentized_range

    quantile = studentized_range.ppf(confidence, n_systems, freedom)
    return float(quantile)


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
    if test != "t":
        _check_enough_resamples(n_resamples, alpha)
    if clusters is None:
        clusters = Clusters.independent(values.shape[1])
    if test == "permutation":
        _warn_of_few_signs(clusters, alpha)
    rng = np.random.default_rng(seed)
    resamples = _draw_resamples(test, values, clusters, n_resamples, rng)
    return _PairedTest(values, test, alpha, clusters, groups, resamples)


def _check_enough_resamples(n_resamples: int, alpha: float) -> None:
    """Check that there are 1 / alpha resamples, as fewer have no level of alpha."""
    # A product with alpha that should be 1 may be just below it.
    nearly_one = 1 - 1e-9
    if n_resamples * alpha >= nearly_one:
        return
    n_required = math.ceil(nearly_one / alpha)
    raise MultiAspectError(
        f"n_resamples: expected at least {n_required} (1 / alpha) for alpha={alpha:g}, got "
        f"{n_resamples}"
    )


@dataclass(frozen=True, eq=False)
class _PairedTest:
    """A paired test of systems, with the resamples that all pairs share."""

    #: systems × topics × measures.
    values: Floats
    test: str
    alpha: float
    clusters: Clusters
    groups: TopicGroups | None
    #: What `_draw_resamples` returned.
    resamples: npt.NDArray[Any]

    def __call__(self, measure: int, first: Ints, second: Ints) -> PairTests:
        """Return the tests of pairs, given the indices of the measure and of both systems."""
        values = self.values[:, :, measure]  # systems × topics
        # Differences are rounding errors if they are tiny compared with the values of both systems.
        largest_value = largest_of_pairs(values, first, second)
        largest_error = TOLERANCE * largest_value
        raw_differences = values[first] - values[second]  # pairs × topics
        differences = remove_rounding_errors(raw_differences, largest_value[:, None])
        estimates = self._estimate_means(differences, largest_value)
        levels, required = self._levels(measure, differences, estimates, largest_error)
        return PairTests(
            differences=differences,
            means=estimates.means,
            errors=estimates.errors,
            freedom=estimates.freedom,
            zero=largest_error,
            clusters=self.clusters,
            levels=levels.clip(0, 1),
            required_difference=required,
            n_compared=self._n_compared,
        )

    def _estimate_means(self, differences: Floats, largest_value: Floats) -> MeanEstimates:
        """Return the means of the differences of pairs (pairs × topics), with standard errors.

        Means that are tiny compared with the largest value of the pair become 0: differences of
        topics may cancel out but for rounding errors.
        """
        estimates = estimate_means(differences, self.clusters, largest_value, self.groups)
        means = remove_rounding_errors(estimates.means, largest_value)
        return replace(estimates, means=means)

    @property
    def _n_compared(self) -> int:
        """The number of systems that the test compares with each other: 2, but by 'tukey' all."""
        is_tested = len(self.clusters) > 1
        if is_tested and self.test == "tukey":
            return len(self.values)
        return 2

    def _levels(
        self, measure: int, differences: Floats, estimates: MeanEstimates, largest_error: Floats
    ) -> tuple[Floats, float]:
        """Return the level of each pair, and the difference of means required for significance.

        Both are NaN for a single cluster of topics.

        Parameters
        ----------
        measure : int
            The index of the measure.
        differences : ndarray, pairs × topics
        estimates : MeanEstimates
            The means of the differences, with standard errors.
        largest_error : ndarray, one per pair
            The maximum difference that is a rounding error.
        """
        if len(self.clusters) < 2:
            # Without a standard error, there is no test.
            no_levels = np.full(len(differences), np.nan)
            return no_levels, np.nan
        if self.test == "t":
            return _t(estimates, self.alpha)
        means = estimates.means
        if self.test == "tukey":
            # Only these resamples depend on the measure; the others draw clusters or signs.
            ranges_of_measure = self.resamples[measure]
            return _tukey(means, largest_error, ranges_of_measure, self.alpha)
        clusters = self.clusters
        resamples = self.resamples
        if self.test == "bootstrap":
            return _bootstrap(differences, means, largest_error, clusters, resamples, self.alpha)
        return _permutation(differences, means, largest_error, clusters, resamples, self.alpha)


def _draw_resamples(
    test: str, values: Floats, clusters: Clusters, n_resamples: int, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Return the resamples of a test.

    Those of 'bootstrap' are the counts of clusters, and those of 'permutation' their signs, both
    clusters × n_resamples; those of 'tukey' are ranges of means, measures × n_resamples. The test
    't' has none.
    """
    if test == "t":
        return np.zeros(0)
    if test == "bootstrap":
        return resample_counts(len(clusters), n_resamples, rng)
    if test == "permutation":
        shape = (n_resamples, len(clusters))
        bits = rng.integers(2, size=shape, dtype=np.int8)
        signs = 2 * bits - 1  # −1 or 1
        return signs.T
    return permuted_ranges(values, clusters, n_resamples, rng)


def _warn_of_few_signs(clusters: Clusters, alpha: float) -> None:
    """Warn if no difference can be significant, as too few clusters have signs to flip.

    Single topics need no warning.
    """
    if clusters.are_single_topics:
        return
    # At best, 2 of 2ⁿ combinations of signs are as extreme: the observed one and its opposite.
    n_clusters = len(clusters)
    lowest_level = 2.0 ** (1 - n_clusters)
    if lowest_level < alpha:
        return
    permutation = parameter("test", "permutation")
    remedy = parameter("test", "t")
    warn_once(
        f"{permutation}: the lowest level of {n_clusters} clusters is {lowest_level:g}, not below "
        f"alpha={alpha:g}: use {remedy}, or judge topics of further clusters"
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
    magnitudes = np.abs(values)
    largest = magnitudes.max(axis=1, initial=0.0)  # systems × …
    largest_of_first = largest[first]
    largest_of_second = largest[second]
    return np.asarray(np.maximum(largest_of_first, largest_of_second))


def topic_differences(values: Floats, pairs: Pairs) -> Floats:
    """Return the differences of pairs of systems on each topic, pairs × topics × measures."""
    first = pairs.first
    second = pairs.second
    largest = largest_of_pairs(values, first, second)  # pairs × measures
    differences = values[first] - values[second]
    largest_of_all_topics = largest[:, None]  # pairs × 1 × measures
    return remove_rounding_errors(differences, largest_of_all_topics)


def sum_over_topics(values: Floats) -> Floats:
    """Return the sums over topics, systems × measures, of values systems × topics × measures.

    Topics are added one after the other, so that the sum of a measure does not depend on others
    beside it.
    """
    # NumPy adds one by one along the first axis only: along others, it groups the values.
    topics_first = np.ascontiguousarray(values.swapaxes(0, 1))
    sums = topics_first.sum(axis=0)
    return np.asarray(sums)


def mean_over_topics(values: Floats) -> Floats:
    """Return the means over topics, systems × measures; see `sum_over_topics`."""
    n_topics = values.shape[1]
    sums = sum_over_topics(values)
    return np.asarray(sums / n_topics)


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
    differences = topic_differences(values, pairs)  # pairs × topics × measures
    rows_of_distinct, _ = unordered_pairs(pairs)
    distinct_differences = differences[rows_of_distinct]
    by_measure = distinct_differences.swapaxes(1, 2)  # pairs × measures × topics
    effect = design_effect(by_measure, clusters)
    return clusters_in_words(clusters, effect)


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
    means_of_systems = means[..., :, None, :]  # … × systems × 1 × measures
    means_of_others = means[..., None, :, :]  # … × 1 × systems × measures
    raw_differences = means_of_systems - means_of_others
    # Differences are 0 if they are small compared with the largest value of both systems.
    largest = np.abs(values).max(axis=1, initial=0.0)  # systems × measures
    largest_of_systems = largest[:, None, :]  # systems × 1 × measures
    largest_of_others = largest[None, :, :]  # 1 × systems × measures
    largest_of_both = np.maximum(largest_of_systems, largest_of_others)
    differences = remove_rounding_errors(raw_differences, largest_of_both)
    return np.sign(differences)


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
        clusters = Clusters.independent(values.shape[1])
    n_measures = values.shape[2]
    levels = np.full((len(pairs), n_measures), np.nan)
    if len(clusters) < 2:
        return levels
    # The test 't' draws no resamples, so that their number and seed do not matter.
    test_pairs = paired_test(values, "t", n_resamples=1, alpha=ALPHA, seed=0, clusters=clusters)
    # A pair and its reverse are one test: (a, b), (b, a), (a, c) are the tests [0, 0, 1].
    row_of_test, test_of_pair = unordered_pairs(pairs)
    first_of_test = pairs.first[row_of_test]
    second_of_test = pairs.second[row_of_test]
    for measure in range(n_measures):
        tests = test_pairs(measure, first_of_test, second_of_test)
        level_of_test = correct(tests.levels)
        levels[:, measure] = level_of_test[test_of_pair]
    return levels


def unordered_pairs(pairs: Pairs) -> tuple[Ints, Ints]:
    """Find the pairs of the same systems in any order.

    Returns
    -------
    rows_of_distinct : ndarray of int
        The rows of the distinct unordered pairs.
    position : ndarray of int, shape (n_pairs,)
        The position of each pair in `rows_of_distinct`.
    """
    lower = np.minimum(pairs.first, pairs.second)
    higher = np.maximum(pairs.first, pairs.second)
    # One code per unordered pair.
    n_systems = higher.max(initial=0) + 1
    code = lower * n_systems + higher
    _, rows_of_distinct, position = np.unique(code, return_index=True, return_inverse=True)
    return rows_of_distinct, position


def n_unordered_pairs(pairs: Pairs) -> int:
    """Return the number of distinct pairs, in which a pair and its reverse count once."""
    rows_of_distinct, _ = unordered_pairs(pairs)
    return len(rows_of_distinct)


def check_correction(test: str, correction: str | None) -> None:
    """Raise an error if a correction is unknown, or is given for 'tukey'."""
    if correction is None:
        return
    if test == "tukey":
        raise MultiAspectError(
            f"{parameter('test', 'tukey')} corrects for the number of pairs itself: omit "
            f"{parameter('correction', correction)}"
        )
    check_known = choice("correction", None, *CORRECTIONS)
    check_known(correction)


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
        return _bonferroni
    if correction == "holm":
        return _holm
    if correction == "fdr_bh":
        return _benjamini_hochberg
    return _uncorrected


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
    if correction is None or n_tests == 0:
        return alpha
    if correction in ("bonferroni", "holm"):
        return alpha / n_tests
    # 'fdr_bh': as in the paper, for the number of rejected hypotheses, or 1 if there are none.
    n_significant = int((p < alpha).sum())
    n_rejected = max(1, n_significant)
    return n_rejected * alpha / n_tests


def correct_groups(
    levels: Floats, families: Sequence[str], test: str, correction: str | None, alpha: float
) -> tuple[Floats, Floats]:
    """Correct the levels of a measure in groups of topics, over all topics, and of macro means.

    Each family of rows is corrected by itself. The test 'tukey' corrects for the pairs within a
    row, so that its levels are only corrected for the number of rows.

    Parameters
    ----------
    levels : ndarray, rows × comparisons
        The levels of each group, over all topics, or of macro means; NaN where there are too few
        topics for a test.
    families : sequence of str
        The family of each row: all groups form one, see `family_of`.
    test : str
        The test that the levels are from.
    correction : str or None
        The correction, as for `corrector`; for 'tukey', None or its default, 'holm'.
    alpha : float in (0, 1)
        The significance level.

    Returns
    -------
    corrected : ndarray, rows × comparisons
        The corrected levels; NaN where the levels are.
    alphas : ndarray, one per row
        One minus the confidence level of intervals.
    """
    corrected = np.full(levels.shape, np.nan)
    alphas = np.full(len(levels), np.nan)
    has_levels = ~np.isnan(levels).any(axis=1)
    family_of_row = np.array(families)
    for name in dict.fromkeys(families):  # each family once
        is_of_family = family_of_row == name
        rows = has_levels & is_of_family
        family = levels[rows]  # the family's rows × comparisons
        if family.size == 0:
            continue
        if test == "tukey":
            corrected[rows], alphas[rows] = _correct_tukey(family, correction, alpha)
        else:
            correct = corrector(test, correction)
            # Correctors take a flat list of levels.
            flat_corrected = correct(family.ravel())
            corrected[rows] = flat_corrected.reshape(family.shape)
            alphas[rows] = interval_alpha(flat_corrected, correction, alpha)
    return corrected, alphas


def _correct_tukey(family: Floats, correction: str | None, alpha: float) -> tuple[Floats, float]:
    """Correct the levels of 'tukey', and alpha, for the number of groups by Bonferroni's method.

    The test itself has corrected the levels, groups × comparisons, for the comparisons of a group.
    """
    if correction is None:
        return family, alpha
    n_groups = len(family)
    multiplied = family * n_groups
    return multiplied.clip(max=1), alpha / n_groups


def family_of(group: str) -> str:
    """Return the family of a group's tests.

    All groups form one, and all topics and macro means one each.
    """
    if group in (ALL, MACRO):
        return group
    return "groups"


def _uncorrected(levels: Floats) -> Floats:
    """Return the levels unchanged."""
    return levels


def _bonferroni(levels: Floats) -> Floats:
    """Apply Bonferroni's correction: n levels are multiplied by n."""
    multiplied = levels * len(levels)
    return multiplied.clip(max=1)


def _benjamini_hochberg(levels: Floats) -> Floats:
    """Apply Benjamini and Hochberg's correction.

    The k-th lowest of n levels is divided by k / n; the order of levels is kept.
    """
    n_tests = len(levels)
    from_lowest = np.argsort(levels, kind="stable")  # the indices of the levels
    k = np.arange(1, n_tests + 1)
    fraction = k / n_tests
    divided = levels[from_lowest] / fraction
    # A level may have become higher than one after it: each is the minimum from there to the end.
    minima_from_end = np.minimum.accumulate(divided[::-1])
    corrected = np.empty(n_tests)
    corrected[from_lowest] = minima_from_end[::-1]
    return corrected.clip(max=1)


def _holm(levels: Floats) -> Floats:
    """Apply Holm's correction.

    The k-th lowest of n levels is multiplied by n − k + 1; the order of levels is kept.
    """
    n_tests = len(levels)
    from_lowest = np.argsort(levels, kind="stable")  # the indices of the levels
    factor = np.arange(n_tests, 0, -1)  # n for the lowest level, 1 for the highest
    multiplied = levels[from_lowest] * factor
    # A higher level may have become lower than the levels before it: keep the order.
    corrected_from_lowest = np.maximum.accumulate(multiplied)
    corrected = np.empty(n_tests)
    corrected[from_lowest] = corrected_from_lowest
    return corrected.clip(max=1)


def resample_counts(
    n_topics: int, n_resamples: int, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Draw topics (or clusters) with replacement, and return how often each was drawn.

    The counts have the shape (n_topics, n_resamples).
    """
    counts = np.empty((n_topics, n_resamples), dtype=np.uint16)
    # Draw as many resamples at a time as memory allows, each of `n_topics` topics.
    for draws in slices(n_resamples, n_topics):
        n_draws = draws.stop - draws.start
        drawn_topics = rng.integers(n_topics, size=(n_draws, n_topics))
        counts_by_draw = _count_by_row(drawn_topics)
        counts[:, draws] = counts_by_draw.T
    return counts


def _count_by_row(numbers: Ints) -> Ints:
    """Count the numbers 0, 1, … in each row of a table; they are less than the number of columns.

    The rows [0, 0, 2] and [1, 1, 1] have the counts [2, 0, 1] and [0, 3, 0].
    """
    n_rows, n_columns = numbers.shape
    # `bincount` counts one list: in the second row, the numbers become 3, 4, 5, and so on.
    first_number_of_row = np.arange(n_rows) * n_columns
    distinct_numbers = first_number_of_row[:, None] + numbers
    counts = np.bincount(distinct_numbers.ravel(), minlength=numbers.size)
    return counts.reshape(n_rows, n_columns)


def resample_weights(clusters: Clusters, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw clusters with replacement, and return the weights of topics in means.

    The weights have the shape (n_topics, n_resamples), and add up to 1 in each resample.
    """
    counts = resample_topics(clusters, n_resamples, rng)
    n_drawn = counts.sum(axis=0)
    weights = counts / n_drawn
    return np.asarray(weights, dtype=np.float64)


def resample_topics(
    clusters: Clusters, n_resamples: int, rng: np.random.Generator
) -> npt.NDArray[np.uint16]:
    """Draw clusters with replacement, and return the counts of topics, topics × n_resamples."""
    counts_of_clusters = resample_counts(len(clusters), n_resamples, rng)
    return counts_of_clusters[clusters.cluster]


def permuted_ranges(
    values: Floats, clusters: Clusters, n_resamples: int, rng: np.random.Generator
) -> Floats:
    """Permute the systems on each cluster, and return ranges of means, measures × n_resamples.

    The range is the highest mean of a system minus the lowest one. The topics of a cluster keep
    their values together, so that only sums over clusters are permuted.
    """
    n_systems, _, n_measures = values.shape
    n_clusters = len(clusters)
    sums_of_measures = []
    for measure in range(n_measures):
        sums = clusters.sums(values[:, :, measure])  # systems × clusters
        sums_of_measures.append(np.ascontiguousarray(sums.T))
    ranges = np.empty((n_measures, n_resamples))
    # Of each draw, there are up to 16 arrays of this size at a time.
    size_of_draw = n_clusters * n_systems
    for draws in slices(n_resamples, 16 * size_of_draw):
        n_draws = draws.stop - draws.start
        shape = (n_draws, n_clusters, n_systems)
        in_order = np.broadcast_to(np.arange(n_systems), shape)
        permuted_systems = rng.permuted(in_order, axis=2)
        for measure, sums in enumerate(sums_of_measures):
            permuted_sums = _permute_columns(sums, permuted_systems)
            ranges[measure, draws] = _ranges_of_means(permuted_sums, clusters.mean_size)
    return ranges


def _ranges_of_means(sums: Floats, mean_size: float) -> Floats:
    """Return the highest minus the lowest mean of a system, one range per draw.

    Parameters
    ----------
    sums : ndarray, draws × clusters × systems
        The sums over the topics of each cluster.
    mean_size : float
        The mean number of topics of a cluster.
    """
    mean_sums = sums.mean(axis=1)  # per cluster, draws × systems
    means = mean_sums / mean_size  # per topic
    highest = means.max(axis=1)
    lowest = means.min(axis=1)
    return np.asarray(highest - lowest)


def _permute_columns(sums: Floats, permuted_systems: Ints) -> Floats:
    """Return the sums of the systems in the order that each draw has on each cluster.

    Parameters
    ----------
    sums : ndarray, clusters × systems
    permuted_systems : ndarray of int, draws × clusters × systems

    Returns
    -------
    ndarray, draws × clusters × systems
    """
    n_clusters, n_systems = sums.shape
    # One index per cell is faster than a cluster and a system.
    first_cell_of_cluster = np.arange(n_clusters) * n_systems
    cells = first_cell_of_cluster[:, None] + permuted_systems
    sum_of_cell = sums.ravel()
    return np.asarray(sum_of_cell[cells])


def slices(n_rows: int, width: int, max_size: int | None = None) -> list[slice]:
    """Split rows of `width` numbers into parts of at most `max_size` numbers, but at least a row.

    The maximum size is `_CHUNK` by default.
    """
    if max_size is None:
        max_size = _CHUNK
    n_numbers = max(width, 1)
    n_rows_of_part = max(1, max_size // n_numbers)
    parts = []
    for start in range(0, n_rows, n_rows_of_part):
        stop = min(start + n_rows_of_part, n_rows)
        parts.append(slice(start, stop))
    return parts


def _multiply(sums: Floats, drawn: npt.NDArray[Any], out: Floats) -> None:
    """Write the sums of all resamples, rows × n_resamples, to `out`.

    They are the product of `sums`, rows × clusters, and `drawn`, clusters × n_resamples: small
    integers, of which only a part at a time becomes floats.
    """
    n_clusters, n_resamples = drawn.shape
    for draws in slices(n_resamples, n_clusters):
        part = drawn[:, draws].astype(np.float64)
        out[:, draws] = sums @ part


def _bootstrap(
    differences: Floats,
    means: Floats,
    largest_error: Floats,
    clusters: Clusters,
    counts: npt.NDArray[np.uint16],
    alpha: float,
) -> tuple[Floats, float]:
    """Return the levels by Sakai's test of the sums over clusters, and the required difference.

    The level of a pair is the fraction of bootstrap samples with at least its |t|, drawn as if the
    mean difference was 0. They are compared by u = X² / (n Q), where X is the sum of n numbers and
    Q that of their squares: it has the order of |t|, as t² = (n − 1) u / (1 − u). Unlike t, u needs
    no variance, which would be the difference of nearly equal numbers.

    Parameters
    ----------
    differences : ndarray, pairs × topics
    means : ndarray, one per pair
        The mean differences.
    largest_error : ndarray, one per pair
        The maximum difference that is a rounding error.
    clusters : Clusters
        The clusters of the topics, which are resampled.
    counts : ndarray of int, clusters × samples
        How often each cluster was drawn.
    alpha : float
        The significance level.
    """
    n_pairs = len(differences)
    n_clusters, n_resamples = counts.shape
    sums = clusters.sums(differences)  # pairs × clusters
    observed_x = clusters.n_topics * means
    observed_q = (sums**2).sum(axis=1)
    observed_u = _squared_cosine(observed_x, observed_q, n_clusters)
    lowest_u = observed_u - TOLERANCE  # samples that are equal but for rounding errors count
    # Samples are drawn from sums whose mean is 0.
    shifted = _shift_to_zero(sums, means, largest_error, clusters)
    # Of samples that are sorted upwards, the lowest significant one is at this index.
    position = n_resamples - _number_significant(n_resamples, alpha)
    levels = np.empty(n_pairs)
    required = np.empty(n_pairs)
    for part, x, u in _bootstrap_samples(shifted, counts):
        is_beyond = u >= lowest_u[part, None]
        levels[part] = is_beyond.sum(axis=1) / n_resamples
        # The required mean difference is that of the least extreme sample that is significant.
        critical_x = _x_at_position(x, u, position)
        required[part] = np.abs(critical_x) / clusters.n_topics
    return levels, float(required.max())


def _bootstrap_samples(
    sums: Floats, counts: npt.NDArray[np.uint16]
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield a part of the pairs at a time, with X and u of their samples, pairs × samples.

    X is the sum of the numbers that were drawn, and u = X² / (n Q), where Q is the sum of their
    squares. Both are overwritten by the next part.

    Parameters
    ----------
    sums : ndarray, pairs × clusters
        The numbers to draw.
    counts : ndarray of int, clusters × samples
        How often each was drawn.
    """
    n_clusters, n_resamples = counts.shape
    parts = slices(len(sums), n_resamples)
    # All parts use the same memory. The first part is the largest.
    shape = (parts[0].stop, n_resamples)
    memory_of_x = np.empty(shape)
    memory_of_q = np.empty(shape)
    for part in parts:
        size = part.stop - part.start
        x = memory_of_x[:size]
        q = memory_of_q[:size]
        sums_of_part = sums[part]
        _multiply(sums_of_part, counts, out=x)
        _multiply(sums_of_part**2, counts, out=q)
        u = _squared_cosine(x, q, n_clusters)
        yield part, x, u


def _x_at_position(x: Floats, u: Floats, position: int) -> Floats:
    """Return X of the sample that is at a position if samples are sorted by u, one per pair.

    `x` and `u` are pairs × samples.
    """
    # `argpartition` puts the right sample at this position, without sorting the others.
    order = np.argpartition(u, position, axis=1)
    sample_of_pair = order[:, position]
    pairs = np.arange(len(x))
    return np.asarray(x[pairs, sample_of_pair])


def _number_significant(n_samples: int, alpha: float) -> int:
    """Return how many samples are significant: of 1000 samples, 50 at α = 0.05."""
    rounding_error = 1e-9  # 0.07 * 100 is just above 7
    return math.ceil(n_samples * alpha - rounding_error)


def _shift_to_zero(
    sums: Floats, means: Floats, largest_error: Floats, clusters: Clusters
) -> Floats:
    """Return sums over clusters (pairs × clusters), shifted so that their mean is 0.

    Parameters
    ----------
    sums : ndarray, pairs × clusters
    means : ndarray, one per pair
        The mean differences over topics.
    largest_error : ndarray, one per pair
        The maximum difference on a topic that is a rounding error.
    clusters : Clusters
        The clusters of the topics.
    """
    # The bootstrap draws sums of clusters, whatever their sizes: subtract the mean of these, which
    # is the mean over topics times the mean number of topics in a cluster.
    mean_of_sums = clusters.mean_size * means
    shifted = sums - mean_of_sums[:, None]
    # The rounding errors of the topics of a cluster add up.
    largest_error_of_sum = largest_error[:, None] * clusters.sizes
    is_rounding_error = np.abs(shifted) <= largest_error_of_sum
    shifted[is_rounding_error] = 0.0
    return shifted


def _squared_cosine(sums: Floats, squares: Floats, n: int) -> Floats:
    """Return X² / (n Q) of sums X and sums of squares Q of n numbers, and 0 where Q is 0.

    It is in [0, 1], and 1 if the numbers are equal. To save memory, the result overwrites the
    squares.
    """
    result = squares
    result *= n  # n Q
    # Where Q is 0, X is 0, too: divide 0 by any positive number.
    smallest_positive = np.finfo(np.float64).tiny
    np.maximum(result, smallest_positive, out=result)
    np.divide(sums, result, out=result)  # X / (n Q)
    result *= sums
    return result


def _critical_position(n_resamples: int, alpha: float) -> int:
    """Return the index of the lowest significant value, if resamples are sorted upwards.

    The observed value counts as one more sample, and is significant: of 999 resamples and this one,
    50 are significant at α = 0.05, so that 49 resamples are, those from index 950 on. If no
    resample can be significant, it is the last index.
    """
    n_significant_resamples = _number_significant(n_resamples + 1, alpha) - 1
    if n_significant_resamples == 0:
        return n_resamples - 1
    return n_resamples - n_significant_resamples


def _permutation(
    differences: Floats,
    means: Floats,
    largest_error: Floats,
    clusters: Clusters,
    signs: npt.NDArray[np.int8],
    alpha: float,
) -> tuple[Floats, float]:
    """Return the levels by flipping signs of sums over clusters, and the required difference.

    The level of a pair is the fraction of samples whose mean difference is at least as far from 0
    as the observed one, which counts as a sample, too.

    Parameters
    ----------
    differences : ndarray, pairs × topics
    means : ndarray, one per pair
        The mean differences.
    largest_error : ndarray, one per pair
        The maximum difference that is a rounding error.
    clusters : Clusters
        The clusters of the topics, whose signs are flipped together.
    signs : ndarray of int, clusters × samples
        −1 or 1.
    alpha : float
        The significance level.
    """
    n_pairs = len(differences)
    n_resamples = signs.shape[1]
    sums = clusters.sums(differences)  # pairs × clusters
    # Instead of means, totals over all topics are compared, which need no division. Those that are
    # equal to the observed one but for rounding errors count as at least as far from 0.
    lowest_means = np.abs(means) - largest_error
    lowest_totals = clusters.n_topics * lowest_means
    position = _critical_position(n_resamples, alpha)
    levels = np.empty(n_pairs)
    required_totals = np.empty(n_pairs)
    for part, totals in _permutation_samples(sums, signs):
        is_beyond = totals >= lowest_totals[part, None]
        n_beyond = 1 + is_beyond.sum(axis=1)  # 1 for the observed total
        levels[part] = n_beyond / (1 + n_resamples)
        # The lowest significant total is at this position if totals are sorted. `partition` puts
        # the right one there, in place, without sorting the others.
        totals.partition(position, axis=1)
        required_totals[part] = totals[:, position]
    required = required_totals / clusters.n_topics
    return levels, float(required.max())


def _permutation_samples(
    sums: Floats, signs: npt.NDArray[np.int8]
) -> Iterator[tuple[slice, Floats]]:
    """Yield a part of the pairs at a time, with the absolute totals of samples, pairs × samples.

    A total is the sum over all clusters, with the signs of the sample. The totals are overwritten
    by the next part.

    Parameters
    ----------
    sums : ndarray, pairs × clusters
    signs : ndarray of int, clusters × samples
        −1 or 1.
    """
    n_resamples = signs.shape[1]
    parts = slices(len(sums), n_resamples)
    # All parts use the same memory. The first part is the largest.
    memory = np.empty((parts[0].stop, n_resamples))
    for part in parts:
        size = part.stop - part.start
        totals = memory[:size]
        _multiply(sums[part], signs, out=totals)
        np.abs(totals, out=totals)
        yield part, totals


def _t(estimates: MeanEstimates, alpha: float) -> tuple[Floats, float]:
    """Return the levels of two-sided t-tests, and the largest required difference of a pair."""
    from scipy.stats import t as student

    errors = estimates.errors
    freedom = estimates.freedom
    levels = t_levels(estimates.means, errors, freedom)
    quantile = student.isf(alpha / 2, freedom)
    required = quantile * errors
    largest_required = required.max(initial=0.0)
    return levels, float(largest_required)


def _tukey(
    means: Floats, largest_error: Floats, ranges: Floats, alpha: float
) -> tuple[Floats, float]:
    """Return the levels by the ranges of permuted systems, and the required difference.

    The level of a pair is the fraction of samples whose range, the highest minus the lowest mean of
    a system, is at least its mean difference. The observed difference counts as a sample, too.

    Parameters
    ----------
    means, largest_error : ndarray, one per pair
        The mean differences, and the maximum difference that is a rounding error.
    ranges : ndarray, one per sample
    alpha : float
        The significance level.
    """
    n_resamples = len(ranges)
    sorted_ranges = np.sort(ranges)
    # Ranges that are equal to the difference but for rounding errors count as at least as large.
    lowest_ranges = np.abs(means) - largest_error
    n_below = np.searchsorted(sorted_ranges, lowest_ranges, side="left")
    n_beyond = n_resamples - n_below
    levels = (n_beyond + 1) / (n_resamples + 1)  # 1 for the observed difference
    # The required difference is the lowest range that is significant.
    position = _critical_position(n_resamples, alpha)
    required = sorted_ranges[position]
    return levels, float(required)
