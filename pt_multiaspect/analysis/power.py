"""The power of tests: systems that they tell apart, and differences and topics to plan with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import choice, count, proportion
from ..collection.other_libraries import as_pandas
from ..errors import MultiAspectError, number_of, parameter
from ..evaluation.long_frames import read_long_frame
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    clusters_of_topics,
    read_clusters,
    topics_in_words,
)
from ..kernels.intervals import detectable_effect, topics_needed, upper_deviation
from ..kernels.mean_errors import Clusters, variance
from ..views import Block, Sentence, View, fixed_point, percent, records_table
from ._pairs import Pairs, pairs_of_runs
from ._significance import (
    CORRECTIONS,
    clusters_note,
    corrector,
    largest_of_pairs,
    paired_test,
    topic_differences,
    unordered_pairs,
)
from ._value_matrices import matrix, read_differences, select_measures

#: The confidence of the upper limit of standard deviations with which numbers of topics are
#: planned.
CONFIDENCE = 0.8


@dataclass(frozen=True, repr=False)
class DetectableDifference(View):
    """Result of `detectable_difference`.

    Attributes
    ----------
    table : DataFrame
        One row per measure: ``measure``; ``n_topics``, those that are planned with; ``n_pairs``,
        and ``n_equal``, the number of these whose differences do not vary over topics; ``alpha``,
        the level at which each pair is tested; ``median`` and ``high``, the median and the 90 %
        quantile over the other pairs of the minimum detectable difference.
    pairs : DataFrame
        One row per measure and pair of runs: ``measure a b``; ``n_topics``, those at hand; ``sd``,
        the standard deviation of the differences; ``detectable``, the minimum detectable difference
        of means, NaN if differences do not vary. With ``difference=``, also ``difference``;
        ``n_needed``, the least number of topics with which it is detected; and ``n_needed_high``,
        that for the upper 80 % confidence limit of the standard deviation. With ``cluster=``, both
        tables have ``n_clusters``, ``sd`` is that of clusters, and clusters are needed.
    power, alpha : float
        As given.
    correction : str or None
        As given.

    Examples
    --------
    See `detectable_difference`.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    power: float
    alpha: float
    correction: str | None
    _clusters: str = ""

    @property
    def notes(self) -> list[str]:
        """The assumptions, and how to read the numbers, in sentences."""
        corrected = ""
        if self.correction is not None:
            corrected = " divided by the number of pairs of a measure"
        meaning = (
            f"Differences that a two-sided paired t-test at the level {self.alpha:g}{corrected} "
            f"finds with the probability {self.power:g}. Smaller ones can be found, too, less "
            "often. Differences are in the units of their measure: they do not rank measures."
        )
        assumptions = (
            "Assumed: topics are drawn from those of interest, the standard deviation of the "
            "differences stays as observed, and the number of topics is fixed in advance. Adding "
            "topics until p is below the level is another test, which finds differences that do "
            "not exist far more often."
        )
        notes = [meaning, assumptions]
        if self._clusters:
            notes.append(f"{self._clusters}.")
        n_equal = int(self.table["n_equal"].sum())
        if n_equal:
            pairs = number_of(n_equal, "pair")
            notes.append(f"{pairs} left out, whose differences do not vary over topics.")
        if "n_needed" in self.pairs:
            units = self._units
            notes.append(
                f"{units.capitalize()} needed: by the standard deviation, and by its upper "
                f"80 % confidence limit, as that of few {units} is uncertain."
            )
        return notes

    @property
    def _units(self) -> str:
        """Name the unit that is planned: topics, or clusters of topics."""
        if "n_clusters" in self.pairs:
            return "clusters"
        return "topics"

    def _title(self) -> str:
        return "Detectable differences"

    def _content(self) -> list[Block]:
        """Return the table, a sentence on its columns and the notes."""
        units = self._units
        # The columns of the table: the column of the frame, or a function of its row.
        cells: dict[str, Any] = {
            "topics": "n_topics",
            units: f"n_{units}",
            "pairs": "n_pairs",
            "median": "median",
            "90 %": "high",
        }
        about = (
            "median, 90 %: quantiles over the pairs of runs, for a run that is still to be built."
        )
        table = self.table
        has_difference_to_detect = "n_needed" in self.pairs
        if has_difference_to_detect:
            table = self._table_with_needed()
            needed = "needed"
            if units == "clusters":
                needed = "clusters needed"
            cells["difference"] = "difference"
            cells[needed] = _needed_text
            cells["up to"] = _most_needed_text
            about += (
                f" {needed}, up to: medians over the pairs of the {units} needed for the "
                "difference."
            )
        blocks: list[Block] = [records_table(table, ["measure"], cells), Sentence(about)]
        blocks += [Sentence(note) for note in self.notes]
        return blocks

    def _table_with_needed(self) -> pd.DataFrame:
        """Return the table with the medians over pairs of the numbers of topics needed."""
        columns = ["difference", "n_needed", "n_needed_high"]
        # The number is NaN for pairs whose differences do not vary.
        known = self.pairs.dropna(subset=["n_needed"])
        medians = known.groupby("measure")[columns].median()
        return self.table.merge(medians, how="left", left_on="measure", right_index=True)


def _needed_text(row: Mapping[Any, Any]) -> str:
    """Return the number of topics needed, rounded up."""
    return fixed_point(np.ceil(row["n_needed"]), 0)


def _most_needed_text(row: Mapping[Any, Any]) -> str:
    """Return the number of topics needed for the upper limit of the deviation, rounded up."""
    return fixed_point(np.ceil(row["n_needed_high"]), 0)


def detectable_difference(
    perquery: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    difference: float | Mapping[str, float] | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    correction: str | None = "holm",
    n_topics: int | None = None,
    measures: Sequence[ir_measures.Measure | str]
    | Mapping[str, ir_measures.Measure | str]
    | None = None,
    cluster: ClusterSpec = None,
) -> DetectableDifference:
    """Compute which differences between runs can be detected, and how many topics that needs.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return: a pilot, or earlier runs on the collection.
    baseline : str or sequence of str, optional
        The runs that others are compared with; by default, all pairs of runs are compared.
    difference : float or dict of str to float, optional
        The difference of means to detect, above 0, or one per measure; then the topics needed for
        it are computed.
    power : float in (0, 1), default 0.8
        The probability of detecting a difference, above `alpha`.
    alpha : float in (0, 1), default 0.05
        The significance level of the two-sided paired t-test.
    correction : {'holm', 'bonferroni', 'fdr_bh', None}, default 'holm'
        The correction of the planned tests, as for `compare_with_baseline`. Any but None is planned
        at alpha divided by the number of pairs of a measure.
    n_topics : int, optional
        The number of topics to plan with, at least 2; by default, those at hand. With `cluster`,
        clusters must have one size, and this is a multiple of it.
    measures : sequence of measures or str, or mapping of str to measure or str, optional
        Measures of the frame; all by default.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
        Then clusters like these are planned, not topics.

    Returns
    -------
    DetectableDifference
        ``table`` has one row per measure, ``pairs`` one per measure and pair of runs.

    Raises
    ------
    MultiAspectError
        If there are fewer than two runs or topics, systems have different topics, a value is
        missing or not finite, or a parameter is unknown or out of range. With `cluster`, if a topic
        has no cluster or several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If clusters leave fewer than 5 degrees of freedom; if none are given, but query ids look
        like those of groups (``106_1``, ``106_2``).

    See Also
    --------
    compare_with_baseline : Test the differences of an experiment.

    Notes
    -----
    The power is that of the noncentral t distribution of n − 1 degrees of freedom and the shift
    d·√n / s, with s the standard deviation of the per-topic differences of the pair. The minimum
    detectable difference is the d of the given power. With Holm's correction some tests are easier
    than planned: the true power is higher.

    Standard deviations of few topics are uncertain. With pilots of ten topics, whose differences
    are drawn from a normal distribution with a mean of .2 to .8 standard deviations, a planned
    power of .8 is .74 to .76 on average, and below .6 in 17 to 22 % of pilots; with the upper limit
    of the standard deviation, .89 and 4 to 5 %, for 1.6 times as many topics.

    With `cluster`, n is the number of clusters, s / √n is the CR2 estimate of the standard error,
    and ν + 1 degrees of freedom by Bell and McCaffrey grow with n. Clusters of other sizes cannot
    be planned: that would require the correlation of the topics of a cluster, which few clusters
    estimate badly.

    There is no "achieved power" of an observed difference: it is a function of the p-value.

    Stability: provisional. New.

    References
    ----------
    Webber, Moffat, Zobel: Statistical Power in Retrieval Experimentation. CIKM 2008.
    Sakai: Topic set size design. Information Retrieval Journal 19 (2016). It plans with the
    variance of unpaired values, for 1.1 to 2.5 times as many topics.

    Examples
    --------
    >>> import pandas as pd
    >>> perquery = pd.DataFrame({"qid": ["q0", "q1", "q2", "q3"], "measure": "AP"})
    >>> a = perquery.assign(name="a", value=[0.5, 0.7, 0.1, 0.9])
    >>> b = perquery.assign(name="b", value=[0.4, 0.4, 0.2, 0.4])
    >>> perquery = pd.concat([a, b])
    >>> planned = detectable_difference(perquery, difference=0.2)
    >>> columns = ["measure", "a", "b", "sd", "detectable", "n_needed", "n_needed_high"]
    >>> planned.pairs[columns].round(3)
      measure  a  b     sd  detectable  n_needed  n_needed_high
    0      AP  a  b  0.258       0.549      16.0           42.0
    """
    power = proportion("power")(power)
    alpha = proportion("alpha")(alpha)
    _check_power(power, alpha)
    choice("correction", None, *CORRECTIONS)(correction)
    if n_topics is not None:
        n_topics = count("n_topics", low=2)(n_topics)
    frame = read_long_frame(perquery)
    cluster_of_topic = read_clusters(cluster, frame)
    rows, _ = select_measures(frame, measures)
    values, names, qids, labels = matrix(rows)
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, qids))
    difference_by_label = read_differences(difference, list(map(str, labels)), "difference")

    names_in_order = frame["name"].unique().tolist()
    pairs = pairs_of_runs(names, names_in_order, baseline)
    # Two baselines are compared in both orders, by one test: the row of one of its pairs stands for
    # it.
    row_of_test, _ = unordered_pairs(pairs)
    level = planned_level(alpha, correction, len(row_of_test))
    observed_sizes = _sizes(clusters, clusters.n_topics)
    planned_sizes = observed_sizes
    if n_topics is not None:
        planned_sizes = _sizes(clusters, n_topics)
    plan = _Plan(planned_sizes, power, level, clusters)

    deviations = deviations_of_differences(values, pairs, clusters)  # (n_pairs, n_measures)
    rows_of_measures = []
    tables_of_pairs = []
    for column, label in enumerate(labels):
        deviation_of_pairs = deviations[:, column]
        deviation_of_tests = deviation_of_pairs[row_of_test]
        statistics_of_measure = plan.statistics(deviation_of_tests)
        rows_of_measures.append({"measure": label, **statistics_of_measure})
        # The deviations of the pairs are those on the observed topics.
        keys = {"measure": label, **pairs.columns, **observed_sizes}
        statistics_of_pairs = plan.statistics_of_pairs(deviation_of_pairs)
        if difference_by_label is not None:
            difference_to_detect = difference_by_label[str(label)]
            needed = plan.needed(deviation_of_pairs, difference_to_detect)
            statistics_of_pairs.update(needed)
        tables_of_pairs.append(pd.DataFrame(keys | statistics_of_pairs))
    return DetectableDifference(
        pd.DataFrame(rows_of_measures),
        pd.concat(tables_of_pairs, ignore_index=True),
        power,
        alpha,
        correction,
        clusters_note(values, pairs, clusters),
    )


def _check_power(power: float, alpha: float) -> None:
    """Raise an error unless the power is above alpha, which a test without any effect reaches."""
    if power <= alpha:
        raise MultiAspectError(
            f"power: expected a probability above alpha={alpha:g}, got {power:g}"
        )


class _Plan:
    """Paired t-tests that are planned, with a number of topics or clusters, a power and a level."""

    def __init__(
        self, sizes: dict[str, int], power: float, level: float, clusters: Clusters
    ) -> None:
        self._sizes = sizes
        self._power = power
        self._level = level
        self._n_observed = len(clusters)
        #: The degrees of freedom plus 1, per cluster or topic: less than 1 if clusters have unequal
        #: sizes. It is assumed to remain the same for other numbers.
        self._freedom_ratio = clusters.freedom_ratio
        # Clusters are planned if there are any, else topics.
        n_units = sizes.get("n_clusters", sizes["n_topics"])
        #: The detectable difference in standard deviations.
        self._effect = detectable_effect(n_units, power, level, self._freedom_ratio)

    def statistics(self, deviation: Floats) -> dict[str, float]:
        """Return the columns of one measure, from the standard deviations of its pairs.

        Those of pairs whose differences do not vary over topics are NaN. `self._effect` is the
        detectable difference in standard deviations.
        """
        varying = deviation[~np.isnan(deviation)]
        n_equal = len(deviation) - len(varying)
        median = np.nan
        high = np.nan
        if len(varying):
            detectable_differences = self._effect * varying
            median, high = np.quantile(detectable_differences, [0.5, 0.9])
        return {
            **self._sizes,
            "n_pairs": len(deviation),
            "n_equal": n_equal,
            "alpha": self._level,
            "median": median,
            "high": high,
        }

    def statistics_of_pairs(self, deviation: Floats) -> dict[str, Any]:
        """Return the standard deviations of pairs, and the differences that can be detected."""
        return {"sd": deviation, "detectable": self._effect * deviation}

    def needed(self, deviation: Floats, difference: float) -> dict[str, Any]:
        """Return the difference to detect, and the numbers of topics or clusters that it needs."""
        high_deviation = upper_deviation(
            deviation, self._n_observed, CONFIDENCE, self._freedom_ratio
        )
        return {
            "difference": difference,
            "n_needed": self._n_needed(difference / deviation),
            "n_needed_high": self._n_needed(difference / high_deviation),
        }

    def _n_needed(self, effects: Floats) -> Floats:
        """Return the numbers of topics or clusters for effects in standard deviations."""
        return topics_needed(effects, self._power, self._level, self._freedom_ratio)


def _sizes(clusters: Clusters, n_topics: int) -> dict[str, int]:
    """Return the number of topics, and that of clusters like the given ones if there are any.

    The keys are the columns ``n_topics`` and ``n_clusters``.
    """
    if clusters.are_single_topics:
        return {"n_topics": n_topics}
    has_given_size = n_topics == clusters.n_topics
    if has_given_size:
        return {"n_topics": n_topics, "n_clusters": len(clusters)}

    # Another number of topics needs clusters of one size: others cannot be planned.
    size = _common_size(clusters)
    if n_topics % size or n_topics < 2 * size:
        raise MultiAspectError(
            f"{parameter('n_topics')}: expected a multiple of the size of the clusters, {size}, of "
            f"at least {2 * size}, got {n_topics}"
        )
    return {"n_topics": n_topics, "n_clusters": n_topics // size}


def _common_size(clusters: Clusters) -> int:
    """Return the size of all clusters, or raise an error if they have different sizes."""
    if clusters.has_equal_sizes:
        return int(clusters.sizes[0])
    smallest = clusters.sizes.min()
    largest = clusters.sizes.max()
    raise MultiAspectError(
        f"{parameter('n_topics')}: expected clusters of one size, got sizes from {smallest} to "
        f"{largest}; omit it"
    )


def deviations_of_differences(
    values: Floats, pairs: Pairs, clusters: Clusters | None = None
) -> Floats:
    """Return the standard deviations of differences over topics, pairs × measures.

    They are NaN where differences do not vary. With clusters, they are the standard errors of the
    means, times the square root of the number of clusters.
    """
    differences = topic_differences(values, pairs)  # (n_pairs, n_topics, n_measures)
    topics_last = np.ascontiguousarray(differences.swapaxes(1, 2))
    # Deviations are rounding errors or not by the size of the values, not of the differences.
    largest = largest_of_pairs(values, pairs.first, pairs.second)
    deviations = np.sqrt(variance(topics_last, clusters, largest))
    return np.where(deviations == 0, np.nan, deviations)


def planned_level(alpha: float, correction: str | None, n_pairs: int) -> float:
    """Return the level at which each test is planned: alpha, or with a correction alpha / n_pairs.

    Other corrections than Bonferroni's reject at least as often: the plan is on the safe side.
    """
    if correction is None:
        return alpha
    return alpha / n_pairs


@dataclass(frozen=True, repr=False)
class DiscriminativePower(View):
    """Result of `discriminative_power`.

    It prints as text of at most 80 columns and is shown as HTML in notebooks.

    Attributes
    ----------
    table : DataFrame
        One row per measure, most discriminative first: ``measure``; ``power``, the fraction of
        pairs of systems that differ significantly; ``n_discriminated`` and ``n_pairs``, the numbers
        of such pairs and of all pairs; ``required_difference``, the estimated difference of means
        required for significance.
    pairs : DataFrame
        One row per measure and pair of systems: ``measure``; ``a`` and ``b``, sorted by name;
        ``difference``, the mean of a minus the mean of b; ``asl``, the achieved significance level;
        ``p``, the same after the correction; ``discriminated``, whether p is below alpha.
    alpha : float
        The significance level.
    test, correction : str
        The test and the correction (None if not corrected).

    Examples
    --------
    See `discriminative_power`.
    """

    table: pd.DataFrame
    pairs: pd.DataFrame
    alpha: float
    test: str
    correction: str | None
    _topics: str = ""

    def curve(self) -> pd.DataFrame:
        """Return the curves of achieved significance levels.

        Returns
        -------
        DataFrame
            Columns ``measure rank a b asl``: the pairs of each measure by significance level,
            highest first. The closer a curve is to the axes, the more discriminative the measure.
        """
        # Measures keep their order; the last key of `lexsort` is the first one to sort by.
        measure_codes, _ = pd.factorize(self.pairs["measure"])
        decreasing_levels = -self.pairs["asl"]
        order = np.lexsort((decreasing_levels, measure_codes))
        curve = self.pairs.iloc[order].reset_index(drop=True)
        pairs_of_measure = curve.groupby("measure", sort=False)
        curve["rank"] = pairs_of_measure.cumcount() + 1
        return curve.loc[:, ["measure", "rank", "a", "b", "asl"]]

    def _title(self) -> str:
        return "Discriminative power"

    def _content(self) -> list[Block]:
        """Return a sentence with the parameters of the test, the table and a note on it."""
        parameters = f"test={self.test!r}, alpha={self.alpha:g}"
        if self.correction:
            parameters += f", correction={self.correction!r}"
        parameters_and_topics = f"{parameters}{self._topics}"
        # The columns of the table: the column of the frame, or a function of its row.
        cells: dict[str, Any] = {
            "power": _power_in_percent,
            "pairs": _discriminated_pairs_in_words,
            "required difference": "required_difference",
        }
        about = f"Pairs of systems that differ significantly: {parameters_and_topics}."
        required = (
            "The required difference of means is in the units of the measure. It is found with "
            "probability one half: see detectable_difference."
        )
        table = records_table(self.table, ["measure"], cells)
        return [Sentence(about), table, Sentence(required)]


def _power_in_percent(row: Mapping[Any, Any]) -> str:
    """Return the discriminative power of a measure in percent."""
    return percent(row["power"])


def _discriminated_pairs_in_words(row: Mapping[Any, Any]) -> str:
    """Return how many of the pairs a measure discriminates, such as '3 of 10'."""
    n_discriminated = row["n_discriminated"]
    n_pairs = row["n_pairs"]
    return f"{n_discriminated} of {n_pairs}"


def discriminative_power(
    perquery: Any,
    test: str = "bootstrap",
    *,
    n_resamples: int = 10_000,
    alpha: float = 0.05,
    correction: str | None = None,
    seed: int = 0,
    cluster: ClusterSpec = None,
) -> DiscriminativePower:
    """Compute the fraction of pairs of systems that differ significantly under each measure.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return.
    test : {'bootstrap', 'permutation', 't', 'tukey'}, default 'bootstrap'
        The paired two-sided test of means over topics; see Notes.
    n_resamples : int, default 10_000
        Number of resamples, at least 1 / alpha. Not used by the test 't'.
    alpha : float in (0, 1), default 0.05
        The significance level: pairs with a level below it are discriminated.
    correction : {'holm', 'bonferroni', 'fdr_bh', None}, optional
        Correction for multiple testing, as for `compare_with_baseline`. The pairs of one measure
        form a family. Not available for 'tukey', which corrects for the number of pairs itself.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.

    Returns
    -------
    DiscriminativePower
        ``table`` contains the power in [0, 1] and the required difference of each measure,
        ``pairs`` the level of every pair, and ``curve()`` returns the curves of achieved
        significance levels.

    Raises
    ------
    MultiAspectError
        If there are fewer than two systems or topics, a value is NaN, a measure is missing for some
        systems, systems have different topics, rows are duplicated, `n_resamples` is too small for
        `alpha`, or a parameter is out of range. With `cluster`, if a topic has no cluster or
        several, or all topics are in one.

    Warns
    -----
    MultiAspectWarning
        If clusters leave fewer than 5 degrees of freedom, or are too few for the test 'permutation'
        to be significant; if none are given, but query ids look like those of groups (``106_1``,
        ``106_2``).

    Notes
    -----
    All pairs and all measures share the same resamples, so that measures are comparable. Let z be
    the per-topic differences of a pair of systems.

    - 'bootstrap': Sakai's paired test. The differences z are shifted to mean 0, and topics are
      drawn with replacement. The level is the fraction of samples whose studentised mean is at
      least as far from 0 as that of z. If all differences in a sample are equal, its studentised
      mean is 0 if they are 0, and infinite otherwise.
    - 'permutation': the signs of z are flipped at random. The level is (1 + number of samples whose
      mean is at least as far from 0) / (1 + n_resamples).
    - 't': Student's paired t-test.
    - 'tukey': randomised Tukey HSD. The scores of each topic are permuted among all systems. The
      level is (1 + number of samples whose range of means is at least the difference of the pair) /
      (1 + n_resamples). It controls the family-wise error rate over all pairs and is therefore much
      stricter than the other tests.

    With `cluster`, 't' uses CR2 standard errors of the mean over topics, and the other tests
    resample the sums over the topics of each cluster; see `compare_with_baseline`.

    Systems with equal scores on all topics are never discriminated (their level is 1). A pair with
    the same non-zero difference on all topics has no variance; 'bootstrap' and 't' discriminate it.

    The required difference of a pair is the smallest difference of means that would have been
    significant. For the bootstrap, it is the mean difference of the sample whose studentised mean
    is the ⌈n_resamples·alpha⌉-th farthest from 0. As in Sakai's papers, the required difference of
    a measure is the maximum over all pairs. Corrections do not affect it. It is found with
    probability one half; for the difference found with probability .8, see `detectable_difference`.
    It is in the units of the measure: compare it only between measures with similar ranges.

    High discriminative power does not imply validity: a measure may separate systems consistently
    by an irrelevant property.

    References
    ----------
    Sakai: Evaluating Evaluation Metrics based on the Bootstrap. SIGIR 2006.
    Sakai: Evaluating Information Retrieval Metrics Based on Bootstrap Hypothesis Tests.
    IPSJ Digital Courier 3 (2007).
    Carterette: Multiple Testing in Statistical Analysis of Systems-Based Information Retrieval
    Experiments. TOIS 30 (2012).
    Phipson, Smyth: Permutation P-values Should Never Be Zero. SAGMB 9 (2010).

    Examples
    --------
    >>> import pandas as pd
    >>> perquery = pd.DataFrame({"qid": ["q0", "q1", "q2", "q3", "q4"], "measure": "AP"})
    >>> a = perquery.assign(name="a", value=[0.7, 0.9, 0.6, 0.8, 0.7])
    >>> b = perquery.assign(name="b", value=[0.7, 0.8, 0.7, 0.8, 0.7])
    >>> c = perquery.assign(name="c", value=[0.1, 0.2, 0.1, 0.2, 0.0])
    >>> perquery = pd.concat([a, b, c])
    >>> power = discriminative_power(perquery, n_resamples=1000, test="t")
    >>> power.table.round(4)
      measure   power  n_discriminated  n_pairs  required_difference
    0      AP  0.6667                2        3               0.1039
    >>> power.curve().round(4)
      measure  rank  a  b     asl
    0      AP     1  a  b  1.0000
    1      AP     2  a  c  0.0001
    2      AP     3  b  c  0.0000
    """
    alpha = proportion("alpha")(alpha)
    correct = corrector(test, correction)
    perquery = as_pandas(perquery)
    values, names, qids, measures = matrix(perquery)
    cluster_of_topic = read_clusters(cluster, perquery)
    clusters = check_clusters(clusters_of_topics(cluster_of_topic, qids))
    test_pairs = paired_test(
        values, test, n_resamples=n_resamples, alpha=alpha, seed=seed, clusters=clusters
    )

    first, second = np.triu_indices(len(names), 1)  # all pairs, each once
    systems = np.array(names, dtype=object)
    n_pairs = len(first)
    rows = []
    tables_of_pairs = []
    for column, measure in enumerate(measures):
        tests = test_pairs(column, first, second)
        p = correct(tests.levels)
        is_discriminated = p < alpha
        table_of_pairs = pd.DataFrame(
            {"measure": measure, "a": systems[first], "b": systems[second]}
        )
        table_of_pairs["difference"] = tests.means
        table_of_pairs["asl"] = tests.levels
        table_of_pairs["p"] = p
        table_of_pairs["discriminated"] = is_discriminated
        tables_of_pairs.append(table_of_pairs)
        n_discriminated = int(is_discriminated.sum())
        row = {
            "measure": measure,
            "power": n_discriminated / n_pairs,
            "n_discriminated": n_discriminated,
            "n_pairs": n_pairs,
            "required_difference": tests.required_difference,
        }
        rows.append(row)

    table = pd.DataFrame(rows)
    table = table.sort_values("power", ascending=False, kind="stable", ignore_index=True)
    topics = ""
    if not clusters.are_single_topics:
        topics = f", {topics_in_words(clusters)}"
    return DiscriminativePower(
        table=table,
        pairs=pd.concat(tables_of_pairs, ignore_index=True),
        alpha=alpha,
        test=test,
        correction=correction,
        _topics=topics,
    )
