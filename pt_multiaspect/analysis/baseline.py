"""Significance tests of systems against baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from .._validation import proportion
from ..errors import MultiAspectError, errors_of, parameter
from ..evaluation.long_frames import measures_by_label, read_long_frame
from ..evaluation.macro_means import MACRO, MacroMean, read_macro
from ..evaluation.topic_clusters import (
    ClusterSpec,
    check_clusters,
    clusters_of_topics,
    read_clusters,
)
from ..evaluation.topic_groups import ALL, read_topic_groups
from ..integration.aggregators import lower_is_better
from ..kernels.mean_errors import Clusters, TopicGroups
from ._pairs import Pairs, pairs_of_runs
from ._significance import (
    ALPHA,
    PairTests,
    check_correction,
    correct_groups,
    corrector,
    family_of,
    interval_alpha,
    paired_test,
    unordered_pairs,
)
from ._value_matrices import by_measure, matrix, read_differences, topics_differ

#: Intervals of margins have the confidence level 1 − 2α.
_HIGHEST_ALPHA = 0.5

#: Columns from which the command line makes notes: the confidence level of each interval, the
#: degrees of freedom, and how many times the squared standard error is that of independent topics.
_COLUMNS_FOR_NOTES = ["confidence", "freedom", "design_effect"]


def compare_with_baseline(
    perquery: Any,
    baseline: str | Sequence[str],
    test: str = "t",
    *,
    alpha: float = 0.05,
    correction: str | None = "holm",
    n_resamples: int = 10_000,
    seed: int = 0,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    macro: bool = False,
    cluster: ClusterSpec = None,
    margin: float | Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Test the differences between systems and one or several baselines for significance.

    Parameters
    ----------
    perquery : DataFrame
        Columns ``name qid measure value``, as `pt_multiaspect.evaluate` and
        ``pt.Experiment(perquery=True)`` return.
    baseline : str or sequence of str
        The names of the baselines.
    test : {'t', 'bootstrap', 'permutation', 'tukey'}, default 't'
        The paired two-sided test of means over topics; see `discriminative_power`. 'tukey' compares
        all systems with each other, and therefore corrects for all pairs.
    alpha : float in (0, 1), default 0.05
        The significance level.
    correction : {'holm', 'bonferroni', 'fdr_bh', None}, default 'holm'
        Correction for multiple testing: Holm's, Bonferroni's, or that of the false discovery rate
        by Benjamini and Hochberg. The comparisons of one measure, with all baselines, form a
        family. The default does not apply to 'tukey', which corrects for the number of pairs
        itself.
    n_resamples : int, default 10_000
        Number of resamples, at least 1 / alpha. Not used by the test 't'.
    seed : int, default 0
        Random seed. The same seed gives the same result, regardless of the order of rows.
    by : str, path, mapping or Series, optional
        Groups of topics, as for `aggregate`, which are tested separately.
    macro : bool, default False
        Whether to add rows of the group ``macro``, in which groups count equally, as for
        `aggregate`; for the test 't'.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, as for `aggregate`.
    margin : float or dict of str to float, optional
        The difference of means, above 0, that is too small to matter, or one per measure: test
        whether systems are not worse than the baseline by as much, and equivalent to it within the
        margin; for the test 't'.

    Returns
    -------
    DataFrame
        One row per measure, baseline and other system, in the order of the frame: ``measure``,
        ``baseline``, ``name``; ``difference``, the mean of the system minus the mean of the
        baseline, in the units of the measure; ``low`` and ``high``, the ends of its interval,
        corrected like the tests (see Notes); ``asl``, the achieved significance level; ``p``, the
        same after the correction; ``significant``, whether p is below alpha; ``wins``, ``losses``
        and ``ties``, the numbers of topics on which the system is better than, worse than and equal
        to the baseline; ``verdict``, 'better' or 'worse' if the difference is significant, else ''.
        Lower is better for measures such as ESL; if a label names no known measure, higher values
        are counted as wins, and the verdict is 'higher' or 'lower'. With `by`, these for each group
        of topics and then for all topics, whose group is ``all``, with ``group`` as the first
        column. ``low``, ``high``, ``asl`` and ``p`` are NaN in groups of one topic, or of one
        cluster. With `margin`, further ``p_not_worse`` and ``p_equivalent``, which are corrected
        like p, and ``margin_low`` and ``margin_high``, the ends of an interval of the difference.

    Raises
    ------
    MultiAspectError
        If a baseline is not a system of the frame or is given twice, systems have different topics,
        or a parameter is out of range. With `by`, if a topic has no group or several, a group is
        named 'all', or a topic has no value. With `cluster`, if a topic has no cluster or several,
        or all topics are in one. With `macro`, as for `aggregate`. With `margin`, if the test is
        not 't', or alpha is not below .5.

    Warns
    -----
    MultiAspectWarning
        If clusters leave fewer than 5 degrees of freedom, or are too few for the test 'permutation'
        to be significant; if none are given, but query ids look like those of groups (``106_1``,
        ``106_2``). With `macro`, if clusters contain whole groups, but are fewer than 5.

    Notes
    -----
    The tests compare arithmetic means of the per-query values.
    A comparison of two baselines is tested once and listed for each of them.

    Intervals are Student's t intervals, of the test 'tukey' those of the studentised range. In a
    family of m tests, their confidence level is 1 − α/m with 'holm' and 'bonferroni': with
    probability 1 − α, all of them contain the difference. With 'fdr_bh' and R significant tests (at
    least 1), it is 1 − R·α/m: of the intervals of significant differences, the expected fraction
    that does not contain the difference is at most α. By the t-test, a difference whose interval
    excludes 0 is always significant; with 'holm', some others are, too. Without correction, the
    level is 1 − α.

    With `by`, the comparisons of one measure in all groups together form a family, so that tests
    become stricter with the number of groups. 'tukey' corrects within each group, and its levels
    are multiplied by the number of groups, unless `correction` is None. The comparisons over all
    topics remain a separate family, and are the same as without `by`. A difference that is
    significant in one group and not in another does not show that the groups differ.

    With `margin` M, a system is not worse if the one-sided t-test rejects that its difference is −M
    or lower (of measures for which lower is better, M or higher), and equivalent if this holds for
    both, with the same standard error and degrees of freedom as p. Both families are those of p;
    two baselines are compared in both directions. The confidence level of the interval is 1 − 2α,
    in families of m tests 1 − 2α/m, with 'fdr_bh' 1 − 2R·α/m of R equivalent systems (at least 1):
    if the interval is between −M and M, the systems are equivalent; with 'holm', some others are,
    too. A difference that is not significant does not show that systems are equivalent.

    With `macro`, the differences of the group ``macro`` are those of means over groups, and form
    another family. They are tested for these groups if there are no clusters or they lie within
    groups, and for a new draw of groups if clusters contain whole groups; see `aggregate`.

    With `cluster`, the differences are those of means over topics, as without it. Standard errors
    are the CR2 estimates, with the degrees of freedom of Bell and McCaffrey; the tests other than
    't' resample the sums over the topics of each cluster. ``wins``, ``losses`` and ``ties`` count
    topics.

    References
    ----------
    Smucker, Allan, Carterette: A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation. CIKM 2007.
    Fuhr: Some Common Mistakes in IR Evaluation, and How They Can Be Avoided. SIGIR Forum 51 (2017).

    Bell, McCaffrey: Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
    Samples. Survey Methodology 28 (2002).

    Schuirmann: A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and
    Biopharmaceutics 15 (1987).

    Benjamini, Yekutieli: False Discovery Rate-Adjusted Multiple Confidence Intervals for Selected
    Parameters. Journal of the American Statistical Association 100 (2005).

    Examples
    --------
    >>> import pandas as pd
    >>> perquery = pd.DataFrame({"qid": ["q0", "q1", "q2", "q3", "q4"], "measure": "AP"})
    >>> a = perquery.assign(name="a", value=[0.7, 0.9, 0.6, 0.8, 0.7])
    >>> b = perquery.assign(name="b", value=[0.7, 0.8, 0.7, 0.8, 0.7])
    >>> c = perquery.assign(name="c", value=[0.1, 0.2, 0.1, 0.2, 0.0])
    >>> perquery = pd.concat([a, b, c])
    >>> found = compare_with_baseline(perquery, "a")
    >>> found[["baseline", "name", "difference", "asl", "p", "significant"]].round(4)
      baseline name  difference     asl       p  significant
    0        a    b        0.00  1.0000  1.0000        False
    1        a    c       -0.62  0.0001  0.0002         True
    >>> found[["name", "wins", "losses", "ties", "verdict"]]
      name  wins  losses  ties verdict
    0    b     1       1     3
    1    c     0       5     0   worse
    >>> groups = {"q0": "short", "q1": "short", "q2": "short", "q3": "long", "q4": "long"}
    >>> found = compare_with_baseline(perquery, "a", by=groups)
    >>> found.loc[found["name"] == "c", ["group", "difference", "asl", "p"]].round(4)
       group  difference     asl       p
    1  short       -0.60  0.0091  0.0365
    3   long       -0.65  0.0489  0.1466
    5    all       -0.62  0.0001  0.0002
    """
    tests = compare_with_levels(
        perquery,
        baseline,
        test=test,
        alpha=alpha,
        correction=correction,
        n_resamples=n_resamples,
        seed=seed,
        by=by,
        macro=macro,
        cluster=cluster,
        margin=margin,
    )
    # The command line has notes on degrees of freedom and the like; users need no columns of these.
    return tests.drop(columns=_COLUMNS_FOR_NOTES)


def compare_with_levels(
    perquery: Any,
    baseline: str | Sequence[str],
    *,
    test: str,
    alpha: float,
    correction: str | None,
    n_resamples: int = 10_000,
    seed: int = 0,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    macro: bool = False,
    cluster: ClusterSpec = None,
    margin: float | Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """Return the result of `compare_with_baseline` with further columns, on how tests were made.

    These are ``confidence freedom design_effect``.
    """
    alpha = proportion("alpha")(alpha)
    _check_given_correction(test, correction)
    perquery = read_long_frame(perquery)
    groups = None
    if by is not None:
        groups = read_topic_groups(by, perquery)
    clusters = read_clusters(cluster, perquery, groups)
    macro_mean = read_macro(
        macro,
        groups,
        clusters,
        measures=measures_by_label(perquery),
        method=("test", test),  # named in errors, as macro means have the test 't' only
    )
    comparison = _Comparison(
        baseline=baseline,
        groups=groups,
        macro=macro_mean,
        clusters=clusters,
        margins=_read_margins(margin, perquery, test, alpha),
        lower_is_better=_directions(perquery),
        correction=correction,
        alpha=alpha,
        test=test,
        n_resamples=n_resamples,
        seed=seed,
    )
    tests = comparison.compare_measures(perquery)
    if groups is None:
        tests = tests.drop(columns="group")
    else:
        tests = _sort_groups(tests, groups)
    return add_verdicts(tests, comparison.lower_is_better)


def _check_given_correction(test: str, correction: str | None) -> None:
    """Check that a correction is known, and that the test can have it.

    The test 'tukey' corrects for the number of pairs itself: `check_correction` refuses all
    corrections beside it. But 'holm' is the default, which users of 'tukey' need not change.
    """
    is_tukey_with_default = test == "tukey" and correction == "holm"
    if not is_tukey_with_default:
        check_correction(test, correction)


def _sort_groups(tests: pd.DataFrame, group_of_topic: Mapping[str, str]) -> pd.DataFrame:
    """Return the tests by group: in the order given, then all topics and macro means."""
    groups = dict.fromkeys(group_of_topic.values())
    in_order = [*groups, ALL, MACRO]
    position_of_group = {group: position for position, group in enumerate(in_order)}
    position_of_test = tests["group"].map(position_of_group)
    by_position = position_of_test.argsort(kind="stable")
    sorted_tests = tests.iloc[by_position]
    return sorted_tests.reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class _Comparison:
    """The baselines, and how systems are compared with them."""

    baseline: str | Sequence[str]
    #: The group of each topic; None if topics are not grouped.
    groups: Mapping[str, str] | None
    macro: MacroMean | None
    #: The cluster of each topic; None if topics are independent.
    clusters: Mapping[str, str] | None
    #: The margin of each measure.
    margins: Mapping[str, float] | None
    #: Whether lower is better for each measure, None if unknown.
    lower_is_better: Mapping[str, bool | None]
    correction: str | None
    #: The significance level.
    alpha: float
    test: str
    n_resamples: int
    seed: int

    def compare_measures(self, perquery: pd.DataFrame) -> pd.DataFrame:
        """Return the tests of all measures of a long frame, by measure and group of topics."""
        if not topics_differ(perquery):
            tables = self._compare(perquery)
            return pd.concat(tables, ignore_index=True)
        # The measures have values of different topics: each is tested on its own.
        tables = []
        for measure, rows in by_measure(perquery):
            with errors_of(measure):
                tables += self._compare(rows)
        return pd.concat(tables, ignore_index=True)

    def _compare(self, rows: pd.DataFrame) -> list[pd.DataFrame]:
        """Return the tests of measures with the same topics: a table per measure and group."""
        values, names, qids, measures = matrix(rows)
        names_in_order = rows["name"].unique().tolist()
        pairs = pairs_of_runs(names, names_in_order, self.baseline)
        # Two baselines are compared in both orders: one test serves both.
        tested = _TestedPairs(pairs)
        prepared_tests = self._prepare_tests(values, qids)
        tables = []
        for column, measure in enumerate(measures):
            tests_by_group = {}
            for group, test_pairs in prepared_tests.items():
                tests_by_group[group] = test_pairs(column, tested.first, tested.second)
            tables += self._tables_of_measure(measure, pairs, tested, tests_by_group)
        return tables

    def _prepare_tests(
        self, values: Floats, qids: list[Any]
    ) -> dict[str, Callable[[int, Ints, Ints], PairTests]]:
        """Return, for each group of topics, a function that tests pairs of systems on these.

        It takes the position of a measure and those of the first and second system of each pair.
        All topics are a group, too, and so are macro means if wanted; groups without topics are
        omitted. `values` has the shape systems × topics × measures.
        """
        clusters = check_clusters(clusters_of_topics(self.clusters, qids))
        prepared = {}
        for group, topics in _topics_by_group(self.groups, qids):
            if len(topics) > 0:
                clusters_of_group = _clusters_of_group(clusters, topics)
                prepared[group] = self._prepare_test(values[:, topics], clusters_of_group)
        equal_groups = None
        if self.macro is not None:
            equal_groups = self.macro.groups_of_topics(qids)
        if equal_groups is not None:
            prepared[MACRO] = self._prepare_test(values, clusters, equal_groups)
        return prepared

    def _prepare_test(
        self, values: Floats, clusters: Clusters, groups: TopicGroups | None = None
    ) -> Callable[[int, Ints, Ints], PairTests]:
        """Return the function that tests pairs of systems on some topics; see `paired_test`."""
        return paired_test(
            values,
            self.test,
            n_resamples=self.n_resamples,
            alpha=self.alpha,
            seed=self.seed,
            clusters=clusters,
            groups=groups,
        )

    def _tables_of_measure(
        self,
        measure: Any,
        pairs: Pairs,
        tested: _TestedPairs,
        tests_by_group: Mapping[str, PairTests],
    ) -> list[pd.DataFrame]:
        """Return the tests of each pair under one measure, one table per group of topics."""
        families = [family_of(group) for group in tests_by_group]
        # Levels are corrected for the number of tests in all groups of a family.
        all_tests = list(tests_by_group.values())
        levels = np.stack([tests.levels for tests in all_tests])  # groups × tests
        corrected, interval_levels = correct_groups(
            levels, families, self.test, self.correction, self.alpha
        )
        is_lower_better = bool(self.lower_is_better[str(measure)])
        margin_columns = self._margin_columns(str(measure), tested, all_tests, families)
        tables = []
        for row, (group, tests) in enumerate(tests_by_group.items()):
            statistics = _columns_of_tests(
                tested,
                tests,
                corrected[row],
                interval_levels[row],
                self.alpha,
                is_lower_better,
                margin_columns[row],
            )
            columns = {
                "group": group,
                "measure": measure,
                "baseline": pairs.columns["b"],
                "name": pairs.columns["a"],
                **statistics,
            }
            tables.append(pd.DataFrame(columns))
        return tables

    def _margin_columns(
        self,
        measure: str,
        tested: _TestedPairs,
        tests_by_group: Sequence[PairTests],
        families: Sequence[str],
    ) -> list[dict[str, Floats]]:
        """Return the columns on the margin of a measure, by group of topics; none without margins.

        `families` are those of the groups, in which levels are corrected.
        """
        if self.margins is None:
            return [{}] * len(tests_by_group)
        margin = _Margin(
            margin=self.margins[measure],
            lower_is_better=bool(self.lower_is_better[measure]),
            families=families,
            correction=self.correction,
            alpha=self.alpha,
        )
        return margin.columns(tested, tests_by_group)


def _clusters_of_group(clusters: Clusters, topics: Ints) -> Clusters:
    """Return the clusters of the topics of a group, and warn if they are few.

    A group may be in a single cluster, which `check_clusters` would refuse: it has means, and NaN
    for all that needs more.
    """
    clusters_of_group = clusters.take(topics)
    if len(clusters_of_group) == 1:
        return clusters_of_group
    return check_clusters(clusters_of_group)


def _columns_of_tests(
    tested: _TestedPairs,
    tests: PairTests,
    corrected: Floats,
    interval_level: float,
    alpha: float,
    is_lower_better: bool,
    margin_columns: dict[str, Floats],
) -> dict[str, Any]:
    """Return the statistics of each pair in one group of topics.

    Parameters
    ----------
    tested : _TestedPairs
        The pairs.
    tests : PairTests
        The tests of distinct pairs.
    corrected : ndarray
        The corrected levels of these tests.
    interval_level : float
        One minus the confidence level of the intervals.
    alpha : float
        The significance level.
    is_lower_better : bool
        Whether lower values of the measure are better.
    margin_columns : dict of str to ndarray
        The columns on the margin.
    """
    p = corrected[tested.test_of_pair]
    freedom = np.broadcast_to(tests.freedom, tests.means.shape)
    design_effects = tests.design_effects()
    return {
        **tested.mean_and_interval(tests, interval_level),
        "asl": tests.levels[tested.test_of_pair],
        "p": p,
        "significant": p < alpha,
        **tested.outcomes(tests.differences, lower_is_better=is_lower_better),
        **margin_columns,
        "confidence": 1 - interval_level,
        "freedom": freedom[tested.test_of_pair],
        "design_effect": design_effects[tested.test_of_pair],
    }


def _read_margins(
    margin: float | Mapping[str, float] | None, perquery: pd.DataFrame, test: str, alpha: float
) -> dict[str, float] | None:
    """Return the margin of each measure, None if none is given."""
    labels = [str(measure) for measure in perquery["measure"].unique()]
    margins = read_differences(margin, labels, "margin")
    if margins is None:
        return None
    if test != "t":
        raise MultiAspectError(
            f"{parameter('margin')} is defined for {parameter('test', 't')}, got "
            f"{parameter('test', test)}"
        )
    if alpha >= _HIGHEST_ALPHA:
        raise MultiAspectError(
            f"{parameter('margin')}: expected alpha below {_HIGHEST_ALPHA:g}, as one-sided tests "
            f"are, got {alpha:g}"
        )
    return margins


@dataclass(frozen=True)
class _Margin:
    """The margin of a measure, and how its tests are corrected."""

    margin: float
    lower_is_better: bool
    #: The family of each group of topics.
    families: Sequence[str]
    correction: str | None
    alpha: float

    def columns(
        self, tested: _TestedPairs, tests_by_group: Sequence[PairTests]
    ) -> list[dict[str, Floats]]:
        """Return the ``p_not_worse p_equivalent margin_low margin_high`` of each pair, by group."""
        equivalent = [self._levels_equivalent(tests) for tests in tests_by_group]
        not_worse = [self._levels_not_worse(tested, tests) for tests in tests_by_group]
        # A pair and its reverse are equivalent together: they are one test, and count as one for
        # the correction. But each may be not worse by itself: these levels are one per pair.
        p_equivalent_of_tests, alphas = self._correct(equivalent)
        p_not_worse, _ = self._correct(not_worse)
        columns_by_group = []
        for group, tests in enumerate(tests_by_group):
            p_equivalent = p_equivalent_of_tests[group]
            # Two one-sided tests at α have an interval of confidence level 1 − 2α.
            interval = tested.mean_and_interval(tests, 2 * alphas[group])
            columns = {
                "p_not_worse": p_not_worse[group],
                "p_equivalent": p_equivalent[tested.test_of_pair],
                "margin_low": interval["low"],
                "margin_high": interval["high"],
            }
            columns_by_group.append(columns)
        return columns_by_group

    def _levels_equivalent(self, tests: PairTests) -> Floats:
        """Return the level of "the difference is between −margin and margin", one per test."""
        above, below = tests.margin_levels(self.margin)
        # It must be above the one and below the other: the larger level counts.
        return np.maximum(above, below)

    def _levels_not_worse(self, tested: _TestedPairs, tests: PairTests) -> Floats:
        """Return the level of "the first system is not worse than the second", one per pair.

        A pair and its reverse have one test, of the difference of the first system of the *test*
        minus its second: `tested.test_of_pair` is the test of each pair.
        """
        # The levels of "this difference is above −margin" and of "it is below margin".
        above, below = tests.margin_levels(self.margin)
        if self.lower_is_better:
            first_is_not_worse = below
            second_is_not_worse = above
        else:
            first_is_not_worse = above
            second_is_not_worse = below
        # The first system of a reversed pair is the second one of its test.
        is_reversed = tested.sign < 0
        return np.where(
            is_reversed,
            second_is_not_worse[tested.test_of_pair],
            first_is_not_worse[tested.test_of_pair],
        )

    def _correct(self, levels: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the corrected levels and α of one-sided intervals, by group."""
        levels_by_group = np.stack(levels)
        return correct_groups(levels_by_group, self.families, "t", self.correction, self.alpha)


def t_test_pairs(
    values: Floats, pairs: Pairs, correction: str | None, clusters: Clusters | None = None
) -> dict[str, Floats]:
    """Return the ``difference low high p confidence`` of each pair by paired t-tests.

    The significance level is `ALPHA`.

    Parameters
    ----------
    values : ndarray, systems × topics × 1
        The values of one measure.
    pairs : Pairs
        The pairs, which form a family.
    correction : {'holm', None}
        The correction for multiple testing.
    clusters : Clusters, optional
        Topics that belong together.
    """
    # A pair and its reverse have one test.
    tested = _TestedPairs(pairs)
    # The test 't' draws no resamples.
    test_pairs = paired_test(values, "t", n_resamples=1, alpha=ALPHA, seed=0, clusters=clusters)
    measure = 0  # the only one
    tests = test_pairs(measure, tested.first, tested.second)
    correct = corrector("t", correction)
    p_of_test = correct(tests.levels)
    alpha = interval_alpha(p_of_test, correction, ALPHA)
    # From tests to pairs.
    columns = tested.mean_and_interval(tests, alpha)
    columns["p"] = p_of_test[tested.test_of_pair]
    columns["confidence"] = np.full(len(pairs), 1 - alpha)
    return columns


class _TestedPairs:
    """The tests of pairs of systems, one for a pair and its reverse."""

    def __init__(self, pairs: Pairs) -> None:
        # Which pairs have the same systems: for the pairs (2, 0), (0, 2), (2, 1), there are two
        # tests, of which the pairs 0 and 2 are examples, and the tests of the pairs are [0, 0, 1].
        example_of_test, test_of_pair = unordered_pairs(pairs)
        first_of_example = pairs.first[example_of_test]
        second_of_example = pairs.second[example_of_test]
        #: The systems of each test, the one with the lower number first: [0, 1] and [2, 2].
        self.first = np.minimum(first_of_example, second_of_example)
        self.second = np.maximum(first_of_example, second_of_example)
        #: The test of each pair, a position in `first` and `second`.
        self.test_of_pair = test_of_pair
        #: Of each pair: 1 if its systems are in the order of its test, else −1.
        is_in_order = pairs.first < pairs.second
        self.sign = np.where(is_in_order, 1.0, -1.0)

    def mean_and_interval(self, tests: PairTests, alpha: float) -> dict[str, Floats]:
        """Return the ``difference low high`` of each pair.

        The confidence level of the intervals is 1 − alpha. `self.test_of_pair` is the position of
        the test of each pair in `tests`, and `self.sign` is −1 for a pair in the other order.
        """
        half_width_of_test = tests.half_widths(alpha)
        half_width = half_width_of_test[self.test_of_pair]
        tested_difference = tests.means[self.test_of_pair]
        difference = self.sign * tested_difference + 0.0  # −0.0 + 0.0 is 0.0
        low = difference - half_width
        high = difference + half_width
        return {"difference": difference, "low": low, "high": high}

    def outcomes(self, differences: Floats, *, lower_is_better: bool) -> dict[str, Ints]:
        """Return the ``wins losses ties`` of each pair: its numbers of topics.

        `differences` are tests × topics.
        """
        tested_differences = differences[self.test_of_pair]  # pairs × topics
        gains = tested_differences * self.sign[:, None]
        if lower_is_better:
            gains = -gains
        return {
            "wins": (gains > 0).sum(axis=1),
            "losses": (gains < 0).sum(axis=1),
            "ties": (gains == 0).sum(axis=1),
        }


def _topics_by_group(
    group_of_topic: Mapping[str, str] | None, qids: list[Any]
) -> Iterator[tuple[str, Ints]]:
    """Yield each group of topics, and the positions of its topics; all topics last."""
    if group_of_topic is not None:
        groups = [group_of_topic[str(qid)] for qid in qids]
        group_of_position = np.array(groups, dtype=object)
        for group in dict.fromkeys(group_of_topic.values()):
            yield group, np.flatnonzero(group_of_position == group)
    yield ALL, np.arange(len(qids))


def _directions(perquery: pd.DataFrame) -> dict[str, bool | None]:
    """Return whether lower is better for each label, None for labels of unknown measures."""
    directions: dict[str, bool | None] = {}
    for label, measure in measures_by_label(perquery).items():
        if measure is None:
            directions[label] = None
        else:
            directions[label] = lower_is_better(measure)
    return directions


def add_verdicts(tests: pd.DataFrame, lower: Mapping[str, bool | None]) -> pd.DataFrame:
    """Return the tests with their verdicts, given whether lower is better for each label."""
    verdicts = []
    rows = zip(tests["measure"], tests["difference"], tests["significant"], strict=True)
    for measure, difference, is_significant in rows:
        if is_significant and difference != 0:
            is_lower_better = lower[str(measure)]
            verdicts.append(_verdict(difference, is_lower_better))
        else:
            verdicts.append("")
    return tests.assign(verdict=pd.Series(verdicts, tests.index, dtype=object))


def _verdict(difference: float, is_lower_better: bool | None) -> str:
    """Return the verdict of a significant difference: which value, or system, is better.

    `is_lower_better` is None if the direction is unknown.
    """
    is_lower = difference < 0
    if is_lower_better is None:
        if is_lower:
            return "lower"
        return "higher"
    if is_lower == is_lower_better:
        return "better"
    return "worse"
