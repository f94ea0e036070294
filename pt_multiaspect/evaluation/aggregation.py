"""Aggregates over topics, groups of topics, seeds and folds, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure as AnyMeasure

from .._numbers import number
from .._typing import Floats
from .._validation import choice, proportion
from ..bases.adapters import adapter_of
from ..errors import MultiAspectError, choices, errors_of, parameter, refuse_taken, tally, warn_once
from ..integration.aggregators import aggregate_is_mean, aggregate_values
from ..integration.parsing import Measures
from ..integration.provider import supports
from ..kernels.intervals import bootstrap_interval, mean_interval
from ..kernels.mean_errors import Clusters, TopicGroups, variance
from .long_frames import (
    COLUMNS,
    check_distinct,
    drop_missing,
    is_unit_score,
    measures_by_label,
    read_long_frame,
    warn_of_unknown_labels,
    without_attrs,
)
from .macro_means import MACRO, MacroMean, read_macro
from .topic_clusters import (
    ClusterSpec,
    are_clusters,
    check_clusters,
    check_clusters_apply,
    clusters_of_topics,
    read_clusters,
)
from .topic_groups import ALL, read_topic_groups, rows_by_group

#: The methods of intervals.
_INTERVAL_METHODS = ("t", "bootstrap")

#: The means over topics.
_MEANS = ("arithmetic", "geometric", "harmonic")

#: The value that lower ones count as in geometric and harmonic means, as in trec_eval.
_FLOOR = 1e-5

#: Tolerance for values that rounding moves out of the range of a measure.
_ROUNDING = 1e-6


def aggregate(
    perquery: Any,
    measures: Measures | None = None,
    *,
    mean: str = "arithmetic",
    ci: float | None = None,
    ci_method: str = "t",
    weights: Mapping[str, float] | pd.Series[Any] | None = None,
    over: str | None = None,
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None = None,
    macro: bool = False,
    cluster: ClusterSpec = None,
) -> pd.DataFrame:
    r"""Aggregate a long frame over queries, with one row per run and one column per measure.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``, or the pair that
        ``pt.Experiment(perquery="both")`` returns.
    measures : measure, str, sequence of these or mapping, optional
        The measures of the frame, as for `evaluate`. By default, the measures recorded by
        `evaluate` in ``perquery.attrs["measures"]``; see Notes.
    mean : {'arithmetic', 'geometric', 'harmonic'}, default 'arithmetic'
        The mean over topics. Geometric and harmonic means are defined for measures in [0, 1];
        values below 1e-5 count as 1e-5. The geometric mean of AP is GMAP, as trec_eval computes it.
    ci : float in (0, 1), optional
        Confidence level of intervals over topics, such as 0.95. No intervals by default.
    ci_method : {'t', 'bootstrap'}, default 't'
        Student's t intervals, or percentile intervals of the means of 10,000 bootstrap samples of
        the topics.
    weights : mapping or Series, optional
        The non-negative weight of each topic, by query id. By default, topics have equal weights.
    over : str, optional
        A further column of the frame that contains seeds or folds. Values are aggregated per seed
        or fold, then averaged.
    by : str, path, mapping or Series, optional
        Groups of topics: a further column of the frame, or the group of each topic by query id,
        also in a file with lines of a query id, white space and the name of its group. By default,
        one row per run over all topics.
    macro : bool, default False
        Whether to add rows of the group ``macro``: the means over groups, which count equally, such
        as several collections. See Notes.
    cluster : str, path, mapping or Series, optional
        Topics that were drawn together, such as the turns of a conversation, which intervals take
        into account: a further column of the frame, the cluster of each topic by query id, also in
        a file as for `by`, or a regular expression of which each whole query id must match, and
        whose only group is the cluster, such as ``r"(\d+)_.*"``. ``"qid"`` says that topics are
        independent.

    Returns
    -------
    DataFrame
        Columns ``name`` and the labels of the measures, with runs and measures in the order of the
        frame. The aggregate is the mean, or the sum for counts such as NumRet. With `ci`, each
        measure is followed by the ends of its interval, as in ``nDCG@10``, ``nDCG@10 95% low``,
        ``nDCG@10 95% high``. With `over`, each measure is followed by the standard deviation of its
        aggregates over seeds or folds, as in ``nDCG@10``, ``nDCG@10 sd``.

    Raises
    ------
    MultiAspectError
        If a column is missing, a name is empty or a value is not a number, `measures` lacks a
        measure of the frame, or a run has several values of a measure for a topic. With `ci`, also
        if a run has fewer than two topics, a value is not finite, or the aggregate of a measure is
        not a function of the mean over topics. With `weights`, if they are not given for exactly
        the topics of each run, or the aggregate is a sum. With `over`, if runs have different seeds
        or folds, or if the topics of two seeds or folds are neither the same nor distinct. If `ci`
        is combined with `weights` or `over`. If a geometric or harmonic `mean` is combined with
        `over`, or a measure is a sum of counts or not in [0, 1]. With `by`, if a topic has no group
        or several, a group is named 'all', or a topic has no value. With `cluster`, if there is no
        `ci`, a topic has no cluster or several, all topics are in one, or `ci_method` is
        'bootstrap'. With `macro`, if there is no `by`, but `weights`, `over` or `ci_method`
        'bootstrap', a group is named 'macro', an aggregate is a sum, or some clusters lie within
        groups and others do not.

    Warns
    -----
    MultiAspectWarning
        If a recorded measure can no longer be parsed, or a label without a record names no measure
        and values leave [0, 1], so that its values are averaged; if runs have different topics; if
        values are NaN, as PyTerrier's for topics without judgments: these are left out. If clusters
        leave fewer than 5 degrees of freedom; if none are given for intervals, but query ids look
        like those of groups (``106_1``, ``106_2``). With `macro`, if clusters contain whole groups,
        but are fewer than 5.

    Notes
    -----
    The record is kept when pandas selects, sorts, copies or pickles the frame, and when frames with
    equal records are concatenated. Parquet files restore it as text. It is lost in CSV files, by
    ``DataFrame.merge`` and when frames with different measures are concatenated. Without a record,
    a label that is the name of a measure is aggregated as that measure, and the values of any other
    label are averaged: pass `measures` if this is not intended.

    Intervals are Student's t intervals of the mean over topics, as recommended for IR experiments:
    with the 25 to 50 topics of usual collections, their coverage is closer to the confidence level
    than that of percentile bootstrap intervals, which are too narrow for few topics, and they need
    no seed (that of ``'bootstrap'`` is fixed). They are limited to the range of the measure if it
    is known. The interval of a geometric mean is that of the mean of the logarithms, transformed
    back like the mean; that of a harmonic mean is computed from the reciprocals in the same way.
    The intervals of single systems do not show whether two systems differ: topics are paired, see
    `analysis.compare_with_baseline`. If all values of a run are equal, its interval has width 0.

    With `weights` w, the mean is Σ w·v / Σ w, that of the logarithms or reciprocals v for geometric
    and harmonic means. With `over`, the result is the mean of the aggregates, so that folds of
    different sizes count equally, and weights apply within a fold. The standard deviation (with n −
    1) shows how much seeds or folds differ, not how much the value would differ on other topics.

    With `by`, the topics of each group are aggregated like a separate frame: `weights` apply within
    the group, and with `over`, the mean is over the seeds or folds that have topics of the group. A
    group of one topic has no interval, and a group within one fold has no standard deviation (NaN).
    The arithmetic mean over all topics is the mean of the groups, weighted by their numbers of
    topics (with `weights`, by the sums of their weights); with `over`, this holds for seeds, but
    not for folds.
    Intervals are not corrected for the number of groups; `analysis.compare_with_baseline` corrects
    its tests.

    With `cluster`, means are the same, and the standard errors of their t intervals are the CR2
    estimates, with the degrees of freedom of Bell and McCaffrey, one less than the number of
    clusters of equal sizes. A group of topics of one cluster has no interval.

    With `macro`, the interval is about these groups if there are no clusters or they lie within
    groups: its squared standard error is the mean of those of the groups, divided by their number,
    with the degrees of freedom of Welch and Satterthwaite. It is about a new draw of groups if
    clusters contain whole groups, as with the same `by` and `cluster`: Student's t interval of the
    means of the groups. These are two questions, and the second interval is mostly much wider. A
    macro mean of these groups has no interval if one of them has a single topic or cluster, and no
    value for a measure without values in a group.

    Stability: provisional in `by`, `macro`, `cluster`. How groups of topics are given, and their
    rows, may change.

    References
    ----------
    Sakai: Laboratory Experiments in Information Retrieval: Sample Sizes, Effect Sizes, and
    Statistical Power. Springer 2018.

    Robertson: On GMAP, and other transformations. CIKM 2006.

    Bell, McCaffrey: Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
    Samples. Survey Methodology 28 (2002).

    Examples
    --------
    >>> import pandas as pd
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    >>> run = {"q1": {"d1": 1.0}}
    >>> ma.aggregate(ma.evaluate({"mine": run}, qrels, "map", progress=False))
       name  map
    0  mine  0.5
    >>> values = ma.evaluate({"mine": run}, qrels, "map", progress=False)
    >>> ma.aggregate(values, mean="geometric").round(4)
       name     map
    0  mine  0.0032
    >>> half = {"q1": {"d1": 1.0}, "q2": {"d0": 2.0, "d1": 1.0}}
    >>> ma.aggregate(ma.evaluate({"mine": half}, qrels, "map", progress=False), ci=0.5).round(3)
       name   map  map 50% low  map 50% high
    0  mine  0.75          0.5           1.0
    >>> ma.aggregate(values, weights={"q1": 3, "q2": 1})
       name   map
    0  mine  0.75
    >>> seeds = [ma.evaluate({"mine": each}, qrels, "map", progress=False) for each in (run, half)]
    >>> repeated = pd.concat([frame.assign(seed=seed) for seed, frame in enumerate(seeds)])
    >>> ma.aggregate(repeated, over="seed").round(3)
       name    map  map sd
    0  mine  0.625   0.177
    >>> ma.aggregate(seeds[1], by={"q1": "short", "q2": "short"})
       group  name   map
    0  short  mine  0.75
    1    all  mine  0.75
    """
    confidence = _check_options(ci, ci_method, mean)
    has_intervals = confidence is not None
    if weights is not None or over is not None:
        _refuse_weights_and_repeats(macro, has_intervals)

    # The values, the groups and clusters of their topics, and their measures.
    perquery = read_long_frame(perquery)
    groups, clusters = _read_groups_and_clusters(by, cluster, perquery, has_intervals)
    perquery = drop_missing(perquery, "aggregate")
    measure_by_label = measures_by_label(perquery, measures)
    unit_scores = _labels_of_unit_scores(perquery, measure_by_label)
    _warn_of_unknown_ranges(perquery, measure_by_label)
    # The frame's record of measures has been read. pandas would copy it in every operation.
    perquery = without_attrs(perquery)

    # The options that depend on topics and measures.
    if clusters is not None:
        _check_clusters_apply(clusters, confidence, ci_method)
    interval_method = ("ci_method", ci_method)  # its parameter and value, for errors
    macro_mean = read_macro(macro, groups, clusters, measure_by_label, interval_method)
    topic_weights = _read_weights(weights, perquery)
    _check_values_per_topic(perquery, over)

    # The limits of intervals. A geometric or harmonic mean is the arithmetic mean of logarithms or
    # reciprocals, converted back: from here on, values and limits are on that scale.
    ranges = _ranges_by_label(perquery, measure_by_label, unit_scores)
    if mean != "arithmetic":
        _check_mean(mean, perquery, measure_by_label, over)
        perquery = perquery.assign(value=_to_scale(perquery["value"].to_numpy(), mean))
        ranges = dict.fromkeys(ranges, _unit_range_on_scale(mean))
    intervals = None
    if confidence is not None:
        intervals = _Intervals(confidence, ci_method, ranges, clusters)
    names = list(perquery["name"].unique())
    options = _Options(names, measure_by_label, mean, topic_weights, over, intervals, macro_mean)
    _check_labels(measure_by_label, options, has_groups=groups is not None)
    _warn_of_other_topics(perquery)

    over_all_topics = _aggregate_topics(perquery, options, ALL)
    if groups is None:
        return over_all_topics
    return _add_groups(over_all_topics, perquery, groups, options)


@dataclass(frozen=True, eq=False)
class _Intervals:
    """The method by which `aggregate` computes intervals of means over topics."""

    #: The confidence level.
    confidence: float
    #: One of `_INTERVAL_METHODS`.
    method: str
    #: The minimum and maximum of each measure, by label.
    ranges: Mapping[str, tuple[float, float]]
    #: The cluster of each topic by query id, None if topics are independent.
    clusters: Mapping[str, str] | None


@dataclass(frozen=True, eq=False)
class _Options:
    """The options of `aggregate`, the same for the topics of every group."""

    #: The names of the runs.
    names: list[Any]
    #: The measures by label, None if unknown.
    measures: Mapping[str, AnyMeasure | None]
    #: The mean whose scale the values are on, see `_to_scale`.
    mean: str
    #: The weights of the topics by query id, None if they are equal.
    weights: Mapping[str, float] | None
    #: The column of seeds or folds, None if there is one value per topic.
    over: str | None
    #: The options of intervals, None if they are not requested.
    intervals: _Intervals | None
    #: The mean over groups, None if it is not requested.
    macro: MacroMean | None

    def added_columns(self, label: str) -> tuple[str, ...]:
        """Return the names of the columns that follow the one of a measure."""
        if self.over is not None:
            return (f"{label} sd",)
        if self.intervals is not None:
            return interval_columns(label, self.intervals.confidence)
        return ()


def _check_options(ci: float | None, ci_method: str, mean: str) -> float | None:
    """Check options of `aggregate`, and return the confidence level, None without intervals."""
    confidence = None
    if ci is not None:
        check_confidence = proportion("ci")
        confidence = check_confidence(ci)
    check_method = choice("ci_method", *_INTERVAL_METHODS)
    check_method(ci_method)
    check_mean = choice("mean", *_MEANS)
    check_mean(mean)
    return confidence


def _refuse_weights_and_repeats(macro: bool, has_intervals: bool) -> None:
    """Raise an error for macro means or intervals: there are weights, or several seeds or folds."""
    if macro:
        raise MultiAspectError("macro= gives all groups the same weight: omit weights= and over=")
    if has_intervals:
        raise MultiAspectError(
            "ci= is defined for topics of equal weight and one value per topic: omit weights= and "
            "over="
        )


def _read_groups_and_clusters(
    by: str | PathLike[str] | Mapping[str, object] | pd.Series[Any] | None,
    cluster: ClusterSpec,
    perquery: pd.DataFrame,
    has_intervals: bool,
) -> tuple[dict[str, str] | None, dict[str, str] | None]:
    """Return the group and the cluster of each topic by query id, each None if there are none.

    `by` and `cluster` are the parameters of `aggregate`.
    """
    groups = None
    if by is not None:
        groups = read_topic_groups(by, perquery)
    clusters = None
    # Without intervals, clusters are read only to check what was given.
    if has_intervals or cluster is not None:
        clusters = read_clusters(cluster, perquery, groups)
    return groups, clusters


def _labels_of_unit_scores(
    perquery: pd.DataFrame, measure_by_label: Mapping[str, AnyMeasure | None]
) -> set[str]:
    """Return the labels that the frame records as scores in [0, 1] of no measure."""
    return {label for label in measure_by_label if is_unit_score(perquery, label)}


def _warn_of_unknown_ranges(
    perquery: pd.DataFrame, measure_by_label: Mapping[str, AnyMeasure | None]
) -> None:
    """Warn of labels that name no measure, and have values outside [0, 1].

    Such values may be counts, whose aggregate would be a sum.
    """
    # The frame has a record of its measures, which the warning reads. pandas would copy it in each
    # operation, so that values are looked up in a frame without it.
    without_record = without_attrs(perquery)
    labels = _labels_outside(without_record)
    warn_of_unknown_labels("aggregate", perquery, measure_by_label, labels, "values are averaged")


def _labels_outside(perquery: pd.DataFrame) -> list[str]:
    """Return the labels of the measures that have values outside [0, 1]."""
    is_inside = perquery["value"].between(-_ROUNDING, 1 + _ROUNDING)
    labels = perquery.loc[~is_inside, "measure"]
    distinct_labels = labels.astype(str).unique()
    return distinct_labels.tolist()


def _check_clusters_apply(
    clusters: Mapping[str, str], confidence: float | None, ci_method: str
) -> None:
    """Raise an error for clusters of several topics, unless there are t intervals."""
    check_clusters_apply(clusters, confidence)
    if ci_method != "t" and are_clusters(clusters):
        raise MultiAspectError(
            f"ci_method={ci_method!r} is not defined for clusters, of which there are too few to "
            "draw from: use 't'"
        )


def _read_weights(weights: object, perquery: pd.DataFrame) -> dict[str, float] | None:
    """Return the weights of topics by query id, checked; None if none are given.

    Parameters
    ----------
    weights : mapping, Series or None
        The weight of each topic of the frame.
    perquery : DataFrame
        The long frame.
    """
    if weights is None:
        return None
    if not isinstance(weights, Mapping | pd.Series):
        type_name = type(weights).__name__
        raise MultiAspectError(f"weights: expected a mapping {{qid: weight}}, got {type_name}")
    weight_of_topic: dict[str, float] = {}
    for qid, weight in weights.items():
        weight_of_topic[str(qid)] = number(weight, f"the weight of topic {qid}")
    if len(weight_of_topic) < len(weights):
        raise MultiAspectError("weights: expected one weight per topic, got several for some")
    for qid, weight in weight_of_topic.items():
        if weight < 0:
            raise MultiAspectError(
                f"weights: expected weights of at least 0, got {weight:g} for {qid}"
            )
    _check_topics_of_weights(weight_of_topic, perquery)
    return weight_of_topic


def _check_topics_of_weights(weights: Mapping[str, float], perquery: pd.DataFrame) -> None:
    """Raise an error unless weights are given for exactly the topics of each run and measure."""
    topics_with_weight = set(weights)
    for (name, label), rows in perquery.groupby(["name", "measure"], sort=False):
        topics_with_value = set(rows["qid"].map(str))
        without_weight = sorted(topics_with_value - topics_with_weight)
        without_value = sorted(topics_with_weight - topics_with_value)
        got = ""
        if without_weight:
            first_topics = choices(without_weight[:5])
            total = tally(len(without_weight), "topic")
            got += f", got none for {first_topics} {total}"
        if without_value:
            first_topics = choices(without_value[:5])
            total = tally(len(without_value), "topic")
            got += f", got weights for {first_topics} {total}, which have no value"
        if got:
            raise MultiAspectError(
                f"weights: expected one weight for each topic of {label} for {name}{got}"
            )


def _check_values_per_topic(perquery: pd.DataFrame, over: object) -> None:
    """Check that a topic has one value of a measure and run, or one per seed or fold."""
    if over is None:
        check_one_value(perquery)
        return
    is_further_column = isinstance(over, str) and over in perquery.columns and over not in COLUMNS
    if not is_further_column:
        own_columns = choices(COLUMNS)
        columns = choices(perquery.columns)
        raise MultiAspectError(
            f"over: expected a column of seeds or folds besides {own_columns}, got {over!r} "
            f"(columns: {columns})"
        )
    _check_repeats(perquery, str(over))


def check_one_value(perquery: pd.DataFrame) -> None:
    """Check that every run has one value of a measure per topic."""
    remedy = (
        "give each run its own name, do not evaluate parts of one run or topic separately, and "
        "use over= for seeds and folds"
    )
    check_distinct(perquery, remedy)


def _check_repeats(perquery: pd.DataFrame, over: str) -> None:
    """Check that all runs have the same seeds (on equal topics) or folds (on distinct topics).

    Parameters
    ----------
    perquery : DataFrame
        The long frame.
    over : str
        Its column of seeds or folds.
    """
    if perquery[over].isna().any():
        raise MultiAspectError(f"expected a value of {over} in every row, got missing ones")
    check_distinct(perquery, "keep one of them", [over])
    repeats: set[Any] = set(perquery[over])
    if len(repeats) < 2:
        got = choices(repeats)
        raise MultiAspectError(f"expected at least two values of {over}, got {got}; omit over=")
    for (name, label), rows in perquery.groupby(["name", "measure"], sort=False):
        topics_of_repeat: dict[Hashable, frozenset[Any]] = {}
        for repeat, part in rows.groupby(over, sort=False, observed=True):
            topics_of_repeat[repeat] = frozenset(part["qid"])
        missing = repeats.difference(topics_of_repeat)
        if missing:
            missing_names = choices(sorted(map(str, missing)))
            raise MultiAspectError(
                f"expected the same values of {over} for all runs and measures, got no {label} of "
                f"{name} for {over} {missing_names}"
            )
        _check_seeds_or_folds(topics_of_repeat, over, name)


def _check_seeds_or_folds(
    topics_of_repeat: Mapping[Hashable, frozenset[Any]], over: str, name: object
) -> None:
    """Check that the topics of a run's repeats are all the same (seeds), or all distinct (folds).

    Parameters
    ----------
    topics_of_repeat : mapping of seed or fold to frozenset
        The topics of each repeat.
    over, name : str
        The column of the repeats, and the run.
    """
    topic_sets = list(topics_of_repeat.values())
    are_same = all(topics == topic_sets[0] for topics in topic_sets)
    n_topics = sum(map(len, topic_sets))
    n_different_topics = len(frozenset().union(*topic_sets))
    are_distinct = n_topics == n_different_topics
    if are_same or are_distinct:
        return

    # Name two repeats in the error: two that overlap, if there are any.
    different: list[tuple[Hashable, Hashable]] = []
    overlapping: list[tuple[Hashable, Hashable]] = []
    for first, second in combinations(topics_of_repeat, 2):
        first_topics = topics_of_repeat[first]
        second_topics = topics_of_repeat[second]
        if first_topics == second_topics:
            continue
        different.append((first, second))
        if first_topics & second_topics:
            overlapping.append((first, second))
    if overlapping:
        first, second = overlapping[0]
        fault = "share only some topics"
    else:
        first, second = different[0]
        fault = "have different topics"
    raise MultiAspectError(
        f"expected each {over} to have the same topics (seeds), or distinct topics (folds), but "
        f"for {name}, {over} {first} and {second} {fault}. Evaluate all of them on the same topics"
    )


def _ranges_by_label(
    perquery: pd.DataFrame, measure_by_label: Mapping[str, AnyMeasure | None], unit_scores: Set[str]
) -> dict[str, tuple[float, float]]:
    """Return the minimum and maximum of each measure or score; see `_range_of_values`."""
    ranges: dict[str, tuple[float, float]] = {}
    for raw_label, values in perquery.groupby("measure")["value"]:
        label = str(raw_label)
        is_score = label in unit_scores
        ranges[label] = _range_of_values(measure_by_label[label], values, is_score)
    return ranges


def _range_of_values(
    measure: AnyMeasure | None, values: pd.Series[float], is_score: bool
) -> tuple[float, float]:
    """Return the minimum and maximum of a measure, or of scores in [0, 1].

    They are infinite if they are unknown, or if values exceed them, such as percentages.
    """
    unlimited = (-math.inf, math.inf)
    stated = _stated_range(measure)
    if measure is None and is_score:
        stated = (0.0, 1.0)
    if stated is None:
        return unlimited
    low, high = stated
    if values.min() < low - _ROUNDING or values.max() > high + _ROUNDING:
        return unlimited
    return stated


def _stated_range(measure: AnyMeasure | None) -> tuple[float, float] | None:
    """Return the minimum and maximum that a measure states, None if it states none."""
    if measure is None:
        return None
    if supports(measure):
        own_range: tuple[float, float] = measure.range
        return own_range
    adapter = adapter_of(measure)
    if adapter is None:
        return None
    return adapter.RANGE


def _check_mean(
    mean: str,
    perquery: pd.DataFrame,
    measure_by_label: Mapping[str, AnyMeasure | None],
    over: str | None,
) -> None:
    """Check that a geometric or harmonic mean is defined for all measures of a long frame.

    Parameters
    ----------
    mean : {'geometric', 'harmonic'}
        The mean.
    perquery : DataFrame
        The long frame.
    measure_by_label : mapping of str to Measure or None
        The measures by label.
    over : str or None
        The column of seeds or folds.

    Raises
    ------
    MultiAspectError
        If there are seeds or folds, a measure is a sum, or its range or values exceed [0, 1].
    """
    if over is not None:
        raise MultiAspectError(
            f"mean={mean!r} is not defined for means over seeds or folds: omit over=, and "
            f"aggregate each {over} separately"
        )
    for raw_label, values in perquery.groupby("measure", sort=False)["value"]:
        label = str(raw_label)
        measure = measure_by_label[label]
        remedy = f"leave it out, as in perquery[perquery['measure'] != {label!r}], or omit mean="
        if not aggregate_is_mean(measure):
            raise MultiAspectError(f"mean={mean!r}: {label} is not averaged over topics; {remedy}")
        range_beyond_unit = _range_beyond_unit(measure, values)
        if range_beyond_unit is not None:
            low, high = range_beyond_unit
            raise MultiAspectError(
                f"mean={mean!r}: expected measures between 0 and 1, got {label} from {low:g} to "
                f"{high:g}; {remedy}"
            )


def _range_beyond_unit(
    measure: AnyMeasure | None, values: pd.Series[float]
) -> tuple[float, float] | None:
    """Return a range that exceeds [0, 1]; None if neither that of a measure nor its values do.

    A measure may state its range. Values may exceed it all the same, such as percentages.
    """
    stated = _stated_range(measure)
    observed = (values.min(), values.max())
    for values_range in (stated, observed):
        if values_range is None:
            continue
        low, high = values_range
        if low < -_ROUNDING or high > 1 + _ROUNDING:
            return values_range
    return None


def _to_scale(values: Floats, mean: str) -> Floats:
    """Return logarithms for a geometric mean, reciprocals for a harmonic mean, else the values."""
    if mean == "arithmetic":
        return values
    # A value of 0 has no logarithm and no reciprocal.
    positive_values = np.maximum(values, _FLOOR)
    if mean == "geometric":
        return np.asarray(np.log(positive_values), dtype=np.float64)
    return np.asarray(1.0 / positive_values, dtype=np.float64)


def _from_scale(value: float, mean: str) -> float:
    """Return a value on the scale of `_to_scale`, such as a mean, on the scale of the measure."""
    if mean == "geometric":
        return math.exp(value)
    if mean == "harmonic":
        return 1.0 / value
    return value


def _unit_range_on_scale(mean: str) -> tuple[float, float]:
    """Return the minimum and maximum of values in [0, 1] on the scale of a mean.

    That is the scale of logarithms or of reciprocals. The latter reverse the order: the minimum is
    the reciprocal of 1.
    """
    unit_ends = np.array([0.0, 1.0])
    ends = _to_scale(unit_ends, mean)
    low = ends.min()
    high = ends.max()
    return float(low), float(high)


def _check_labels(
    measure_by_label: Mapping[str, AnyMeasure | None], options: _Options, *, has_groups: bool
) -> None:
    """Check that no label of a measure is the name of another column of the result."""
    columns_of_label: dict[str, tuple[str, ...]] = {}
    for label in measure_by_label:
        columns_of_label[label] = options.added_columns(label)
    check_columns(measure_by_label, columns_of_label)
    refuse_taken(measure_by_label, ["name"], "the column of the runs")
    if has_groups:
        refuse_taken(measure_by_label, ["group"], "the column of the groups")


def check_columns(labels: Iterable[str], columns: Mapping[str, tuple[str, ...]]) -> None:
    """Check that no label is the name of an added column.

    Parameters
    ----------
    labels : iterable of str
        The labels of the measures.
    columns : mapping of str to tuple of str
        The columns that are added for each measure.

    Raises
    ------
    MultiAspectError
        If a label is the name of an added column.
    """
    added_names: set[str] = set()
    for names in columns.values():
        added_names.update(names)
    refuse_taken(labels, added_names, "another column of the result")


def interval_columns(label: str, confidence: float) -> tuple[str, str]:
    """Return the names of the columns that `aggregate` adds for a measure with intervals.

    Parameters
    ----------
    label : str
        The label of the measure.
    confidence : float in (0, 1)
        The confidence level.

    Returns
    -------
    low, high : str
        The names of the columns.
    """
    percentage = 100 * confidence
    interval = f"{label} {percentage:g}%"
    return f"{interval} low", f"{interval} high"


def _warn_of_other_topics(perquery: pd.DataFrame) -> None:
    """Warn if runs have values for different topics, as their means cannot be compared."""
    topics_of_runs = perquery.groupby(["measure", "name"], sort=False)["qid"].agg(frozenset)
    for label, topics_by_run in topics_of_runs.groupby(level="measure", sort=False):
        names = topics_by_run.index.get_level_values("name")
        first_topics = topics_by_run.iloc[0]
        for name, topics in zip(names, topics_by_run, strict=True):
            if topics != first_topics:
                # One warning is enough: usually, the other measures have the same cause.
                _warn_of_two_runs(label, names[0], name)
                return


def _warn_of_two_runs(label: object, first_name: object, second_name: object) -> None:
    """Warn that two runs have values of a measure for different topics."""
    warn_once(
        f"aggregate: {first_name} and {second_name} have values of {label} for different "
        "topics, so their means cannot be compared. Use pt_multiaspect.evaluate, which "
        "scores missing topics as empty rankings (for an evaluator, complete()), or keep "
        "the topics that all runs have",
        key=f"{label}: {first_name}, {second_name}",
        group="different topics",
    )


def _add_groups(
    over_all_topics: pd.DataFrame,
    perquery: pd.DataFrame,
    groups: Mapping[str, str],
    options: _Options,
) -> pd.DataFrame:
    """Return the aggregates of each group, then those over all topics, then macro means."""
    tables: list[pd.DataFrame] = []
    for group, topics in rows_by_group(perquery, groups):
        table = _aggregate_topics(topics, options, group)
        tables.append(table.assign(group=group))
    tables.append(over_all_topics.assign(group=ALL))
    if options.macro is not None:
        table = _aggregate_topics(perquery, options, MACRO)
        tables.append(table.assign(group=MACRO))
    columns = ["group", *over_all_topics.columns]
    return pd.concat(tables, ignore_index=True)[columns]


def _aggregate_topics(topics: pd.DataFrame, options: _Options, group: str) -> pd.DataFrame:
    """Return one row per run with aggregates over the topics of a group, or macro means.

    Parameters
    ----------
    topics : DataFrame
        The rows of the long frame for these topics.
    options : _Options
        The options of `aggregate`.
    group : str
        The name of the group, `ALL`, or `MACRO` for macro means.
    """
    rows: dict[Any, dict[str, Any]] = {}
    for name in options.names:
        rows[name] = {"name": name}
    for (name, label), values in topics.groupby(["name", "measure"], sort=False):
        cells = _aggregate_values(values, str(label), name, options, group)
        rows[name].update(cells)
    return pd.DataFrame(list(rows.values()))


def _aggregate_values(
    values: pd.DataFrame, label: str, name: object, options: _Options, group: str
) -> dict[str, float]:
    """Return the cells of one measure in the row of one run, by column.

    These are the aggregate, and its standard deviation or the ends of its interval.

    Parameters
    ----------
    values : DataFrame
        The rows of the run and measure in the long frame.
    label, name : str
        The measure and the run.
    options : _Options
        The options of `aggregate`.
    group : str
        As for `_aggregate_topics`.
    """
    subject = f"{label} of {name}"  # for errors
    # The row of means over groups.
    if options.macro is not None and group == MACRO:
        return _aggregate_groups(values, label, options.macro, options, subject)
    # The row of one group, or of all topics: as means over seeds or folds, or over topics.
    is_one_group = group != ALL
    if is_one_group:
        subject += f" in the group {group}"
    if options.over is not None:
        return _aggregate_repeats(values, label, options.over, options, subject)
    return _aggregate_over_topics(values, label, is_one_group, options, subject)


def _aggregate_over_topics(
    values: pd.DataFrame, label: str, is_one_group: bool, options: _Options, subject: str
) -> dict[str, float]:
    """Return the mean over topics and the ends of its interval, by column.

    `is_one_group` is whether the topics are one of several groups; for the other parameters, see
    `_aggregate_values`.
    """
    mean = _aggregate_cell(values, label, options.weights, options, subject)
    if options.intervals is None:
        return mean
    # A group of one topic or cluster has no interval; for all topics, this is an error.
    clusters = clusters_of_topics(options.intervals.clusters, values["qid"].tolist())
    if is_one_group and len(clusters) == 1:
        return mean
    ends = _interval_cells(values, label, clusters, None, options, subject)
    return {**mean, **ends}


def _aggregate_groups(
    values: pd.DataFrame, label: str, macro: MacroMean, options: _Options, subject: str
) -> dict[str, float]:
    """Return the macro mean and the ends of its interval, by column; see `_aggregate_values`.

    There are none without a value in each of the groups of `macro`.
    """
    qids = values["qid"].tolist()
    groups = macro.groups_of_topics(qids)
    if groups is None:
        return {}
    mean = _aggregate_cell(values, label, _equal_weights(groups, qids), options, subject)
    if options.intervals is None:
        return mean
    clusters = clusters_of_topics(options.intervals.clusters, qids)
    ends = _interval_cells(values, label, clusters, groups, options, subject)
    return {**mean, **ends}


def _aggregate_cell(
    values: pd.DataFrame,
    label: str,
    weights: Mapping[str, float] | None,
    options: _Options,
    subject: str,
) -> dict[str, float]:
    """Return the aggregate of one measure for one run, by its column; see `_aggregate_values`."""
    with errors_of(subject):
        aggregate_on_scale = _weighted_aggregate(options.measures[label], values, weights)
    return {label: _from_scale(aggregate_on_scale, options.mean)}


def _interval_cells(
    values: pd.DataFrame,
    label: str,
    clusters: Clusters,
    groups: TopicGroups | None,
    options: _Options,
    subject: str,
) -> dict[str, float]:
    """Return the ends of the interval of one measure for one run, by column.

    `clusters` are those of the topics, and `groups` those of a macro mean; for the other
    parameters, see `_aggregate_values`.
    """
    assert options.intervals is not None
    measure = options.measures[label]
    with errors_of(f"no interval for {subject}"):
        ends_on_scale = _interval(measure, label, values, clusters, groups, options.intervals)
    # Reciprocals reverse the order of the ends.
    low, high = sorted(_from_scale(end, options.mean) for end in ends_on_scale)
    low_column, high_column = options.added_columns(label)
    return {low_column: low, high_column: high}


def _aggregate_repeats(
    values: pd.DataFrame, label: str, over: str, options: _Options, subject: str
) -> dict[str, float]:
    """Return the mean and standard deviation of the aggregates of all seeds or folds, by column.

    Parameters
    ----------
    values : DataFrame
        The rows of a run and measure in the long frame.
    label, over : str
        The measure, and the column of seeds or folds.
    options : _Options
        The options of `aggregate`.
    subject : str
        The beginning of errors.
    """
    measure = options.measures[label]
    aggregates: list[float] = []
    with errors_of(subject):
        for _, repeat in values.groupby(over, sort=False, observed=True):
            aggregates.append(_weighted_aggregate(measure, repeat, options.weights))
    mean, standard_deviation = _mean_and_spread(aggregates)
    (spread_column,) = options.added_columns(label)
    return {label: mean, spread_column: standard_deviation}


def _equal_weights(groups: TopicGroups, qids: Sequence[object]) -> dict[str, float]:
    """Return the weights of topics by query id with which all groups have the same total weight.

    Parameters
    ----------
    groups : TopicGroups
        The positions of the topics of each group.
    qids : sequence of object
        The query ids of all topics.
    """
    weight_of_topic: dict[str, float] = {}
    for positions in groups.topics:
        weight = 1 / len(positions)
        for position in positions:
            qid = str(qids[position])
            weight_of_topic[qid] = weight
    return weight_of_topic


def _weighted_aggregate(
    measure: AnyMeasure | None, topics: pd.DataFrame, weights: Mapping[str, float] | None
) -> float:
    """Return the aggregate over the topics of one run, seed or fold, which may have weights.

    Raises
    ------
    MultiAspectError
        If the weights sum to 0, or if the aggregate is not a function of the mean over topics, such
        as a sum.
    """
    values = topics["value"].tolist()
    if weights is None:
        return aggregate_values(measure, values)
    topic_weights = [weights[str(qid)] for qid in topics["qid"]]
    total_weight = math.fsum(topic_weights)
    if total_weight == 0:
        raise MultiAspectError("expected at least one topic with a positive weight")
    _check_function_of_mean(measure, values)
    products: list[float] = []
    for weight, value in zip(topic_weights, values, strict=True):
        # Infinite values of topics that do not count would give NaN.
        if weight > 0:
            products.append(weight * value)
    weighted_mean = math.fsum(products) / total_weight
    return aggregate_values(measure, [weighted_mean])


def _check_function_of_mean(measure: AnyMeasure | None, values: list[float]) -> None:
    """Raise an error unless the aggregate of values is a function of their plain mean.

    Only such a function can be applied to a weighted mean instead.
    """
    mean = math.fsum(values) / len(values)
    from_values = aggregate_values(measure, values)
    # A single topic with the mean value.
    from_mean = aggregate_values(measure, [mean])
    is_function_of_mean = math.isclose(from_values, from_mean, rel_tol=1e-9, abs_tol=1e-12)
    if np.isfinite(mean) and not is_function_of_mean:
        raise MultiAspectError(
            "weights are only defined for aggregates that are a function of the mean over topics"
        )


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n − 1), NaN for a single value."""
    if len(values) == 1:
        return values[0], math.nan
    # The rounded mean of equal values may differ from them, and they would seem to vary.
    are_equal = max(values) == min(values)
    if are_equal:
        return values[0], 0.0
    mean = math.fsum(values) / len(values)
    standard_deviation = np.sqrt(variance(np.array(values)))
    return mean, float(standard_deviation)


def _interval(
    measure: AnyMeasure | None,
    label: str,
    topics: pd.DataFrame,
    clusters: Clusters,
    groups: TopicGroups | None,
    intervals: _Intervals,
) -> list[float]:
    """Return the lower and upper end of the interval of a measure's aggregate for one run.

    Parameters
    ----------
    measure, label : Measure and str
        The measure.
    topics : DataFrame
        The rows of the run and measure, one per topic.
    clusters : Clusters
        The clusters of these topics.
    groups : TopicGroups or None
        The groups of a macro mean.
    intervals : _Intervals
        The options of intervals.

    Raises
    ------
    MultiAspectError
        If values do not suffice, or the aggregate is not a function of the mean over topics.
    """
    check_clusters(clusters)
    values = topics["value"].to_numpy(dtype=np.float64)
    n_topics = len(values)
    if not np.isfinite(values).all():
        raise MultiAspectError("expected finite values on all topics")
    if n_topics < 2:
        remedy = parameter("ci")
        raise MultiAspectError(
            f"expected at least two topics, got {n_topics}; evaluate more topics, or omit {remedy}"
        )
    _check_aggregate_of_mean(measure, values)
    if intervals.method == "bootstrap":  # which `aggregate` refuses for clusters and macro means
        ends_of_mean = bootstrap_interval(values, intervals.confidence)
    else:
        limits = intervals.ranges[label]
        ends_of_mean = mean_interval(values, intervals.confidence, limits, clusters, groups)
    # An aggregate that is a function of the mean has the interval between these values of it.
    ends = [_aggregate_of_mean(measure, end, n_topics) for end in ends_of_mean]
    return sorted(ends)  # the function may decrease


def _check_aggregate_of_mean(measure: AnyMeasure | None, values: Floats) -> None:
    """Raise an error if the aggregate of a measure is not a function of the mean over topics.

    A sum is one: the number of topics times the mean.
    """
    mean = float(values.mean())
    aggregate_of_mean = _aggregate_of_mean(measure, mean, len(values))
    aggregate_of_values = aggregate_values(measure, values.tolist())
    is_function_of_mean = math.isclose(
        aggregate_of_mean, aggregate_of_values, rel_tol=1e-9, abs_tol=1e-12
    )
    if not is_function_of_mean:
        raise MultiAspectError("its aggregate is not a function of the mean over topics")


def _aggregate_of_mean(measure: AnyMeasure | None, mean: float, n_topics: int) -> float:
    """Return the aggregate of a measure if every topic has the mean as its value."""
    return aggregate_values(measure, [mean] * n_topics)
