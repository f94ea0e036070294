"""Aggregates over topics, groups of topics, seeds and folds, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
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
from ..kernels.mean_errors import TopicGroups, variance
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

#: The ends of the interval of a mean, from values, a confidence level, their range, clusters and
#: groups.
_INTERVALS: dict[str | None, Callable[..., tuple[float, float]]] = {
    "t": mean_interval,
    "bootstrap": lambda values, confidence, limits, clusters, groups: bootstrap_interval(
        values, confidence
    ),
}

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
    confidence = None
    if ci is not None:
        confidence = proportion("ci")(ci)
    interval = _INTERVALS[choice("ci_method", *_INTERVALS)(ci_method)]
    choice("mean", *_MEANS)(mean)
    perquery = read_long_frame(perquery)
    groups = None
    if by is not None:
        groups = read_topic_groups(by, perquery)
    clusters = None
    if confidence is not None or cluster is not None:
        clusters = read_clusters(cluster, perquery, groups)
    if macro and (weights is not None or over is not None):
        raise MultiAspectError("macro= gives all groups the same weight: omit weights= and over=")
    perquery = drop_missing(perquery, "aggregate")
    known = measures_by_label(perquery, measures)
    unit_scores = {label for label in known if is_unit_score(perquery, label)}
    bare = without_attrs(perquery)
    warn_of_unknown_labels(
        "aggregate", perquery, known, _labels_outside(bare), "values are averaged"
    )
    perquery = bare
    if confidence is not None and (weights is not None or over is not None):
        raise MultiAspectError(
            "ci= is defined for topics of equal weight and one value per topic: omit weights= and "
            "over="
        )
    if clusters is not None:
        _check_clusters_apply(clusters, confidence, ci_method)
    macro_mean = read_macro(macro, groups, clusters, known, ("ci_method", ci_method))
    weight = _read_weights(weights, perquery)
    _check_values_per_topic(perquery, over)
    limits = _limits_by_label(perquery, known, unit_scores)
    if mean != "arithmetic":
        _check_mean(mean, perquery, known, over)
        perquery = perquery.assign(value=_to_scale(perquery["value"].to_numpy(), mean))
        low, high = sorted(_to_scale(np.array([0.0, 1.0]), mean).tolist())
        limits = dict.fromkeys(limits, (low, high))
    ends = {
        label: partial(interval, confidence=confidence, limits=of_label)
        for label, of_label in limits.items()
    }
    names = list(perquery["name"].unique())
    options = _Options(names, known, mean, weight, over, confidence, ends, clusters, macro_mean)
    _check_labels(known, options, has_groups=groups is not None)
    _warn_of_other_topics(perquery)
    whole = _aggregate_topics(perquery, options, ALL)
    if groups is None:
        return whole
    return _add_groups(whole, perquery, groups, options)


@dataclass(frozen=True, eq=False)
class _Options:
    """The options of `aggregate`, the same for the topics of every group."""

    #: The names of the runs, and the measures by label.
    names: list[Any]
    known: Mapping[str, AnyMeasure | None]
    #: The mean whose scale the values are on, see `_to_scale`.
    mean: str
    #: The weights of the topics, if they differ.
    weight: Mapping[str, float] | None
    #: The column of seeds or folds, if there are several values per topic.
    over: str | None
    confidence: float | None
    #: By label, the ends of the interval of a mean, from values and clusters.
    ends: Mapping[str, Callable[..., tuple[float, float]]]
    #: The clusters of the topics, if they are not independent.
    clusters: Mapping[str, str] | None
    #: The mean over groups, if there is one.
    macro: MacroMean | None

    def added_columns(self, label: str) -> tuple[str, ...]:
        """Return the columns that are added for a measure."""
        if self.over is not None:
            return (f"{label} sd",)
        if self.confidence is None:
            return ()
        return interval_columns(label, self.confidence)


def _check_labels(
    known: Mapping[str, AnyMeasure | None], options: _Options, *, has_groups: bool
) -> None:
    """Check that no label of a measure is the name of another column of the result."""
    check_columns(known, {label: options.added_columns(label) for label in known})
    refuse_taken(known, ["name"], "the column of the runs")
    if has_groups:
        refuse_taken(known, ["group"], "the column of the groups")


def _add_groups(
    whole: pd.DataFrame, perquery: pd.DataFrame, groups: Mapping[str, str], options: _Options
) -> pd.DataFrame:
    """Return the aggregates of each group, then those of all topics, then macro means."""
    tables: list[pd.DataFrame] = []
    for group, topics in rows_by_group(perquery, groups):
        table = _aggregate_topics(topics, options, group)
        tables.append(table.assign(group=group))
    tables.append(whole.assign(group=ALL))
    if options.macro is not None:
        table = _aggregate_topics(perquery, options, MACRO)
        tables.append(table.assign(group=MACRO))
    return pd.concat(tables, ignore_index=True)[["group", *whole]]


def _aggregate_topics(topics: pd.DataFrame, options: _Options, group: str) -> pd.DataFrame:
    """Return one row per run with aggregates over the topics of a group, or macro means."""
    rows: dict[Any, dict[str, Any]] = {name: {"name": name} for name in options.names}
    for (name, label), values in topics.groupby(["name", "measure"], sort=False):
        rows[name].update(_aggregate_values(values, str(label), name, options, group))
    return pd.DataFrame(list(rows.values()))


def _aggregate_values(
    values: pd.DataFrame, label: str, name: object, options: _Options, group: str
) -> dict[str, float]:
    """Return the cells of one measure and run: the aggregate, and what `added_columns` adds."""
    measure = options.known[label]
    qids = values["qid"].tolist()
    weight = options.weight
    macro_groups = None
    if options.macro is not None and group == MACRO:
        macro_groups = options.macro.groups_of_topics(qids)
        if macro_groups is None:
            return {}
        weight = _equal_weights(macro_groups, qids)
    is_part = group not in (ALL, MACRO)
    subject = f"{label} of {name}"
    if is_part:
        subject += f" in the group {group}"
    parts = [values]
    if options.over is not None:
        by_repeat = values.groupby(options.over, sort=False, observed=True)
        parts = [part for _, part in by_repeat]
    with errors_of(subject):
        means = [_weighted_aggregate(measure, part, weight) for part in parts]
    cells = [_from_scale(mean, options.mean) for mean in means]
    if options.over is not None:
        cells = list(_mean_and_spread(cells))
    clusters = clusters_of_topics(options.clusters, qids)
    has_no_error = is_part and len(clusters) == 1
    if options.confidence is not None and not has_no_error:
        with errors_of(f"no interval for {subject}"):
            clusters = check_clusters(clusters)
            ends_of_mean = partial(options.ends[label], clusters=clusters, groups=macro_groups)
            ends = _interval(measure, values["value"].tolist(), ends_of_mean)
        # Reciprocals reverse the order of the ends.
        cells += sorted(_from_scale(end, options.mean) for end in ends)
    columns = (label, *options.added_columns(label))
    return dict(zip(columns, cells, strict=False))  # without an interval, there are fewer cells


def _equal_weights(groups: TopicGroups, qids: Sequence[object]) -> dict[str, float]:
    """Return the weights of topics with which groups count equally."""
    weights = np.empty(len(qids))
    for topics in groups.topics:
        weights[topics] = 1 / len(topics)
    return dict(zip(map(str, qids), weights.tolist(), strict=True))


def _check_clusters_apply(
    clusters: Mapping[str, str], confidence: float | None, ci_method: str
) -> None:
    """Check that clusters are given for t intervals, unless they are topics."""
    check_clusters_apply(clusters, confidence)
    if ci_method != "t" and are_clusters(clusters):
        raise MultiAspectError(
            f"ci_method={ci_method!r} is not defined for clusters, of which there are too few to "
            "draw from: use 't'"
        )


def _check_mean(
    mean: str,
    perquery: pd.DataFrame,
    known: Mapping[str, AnyMeasure | None],
    over: str | None,
) -> None:
    """Check that a geometric or harmonic mean is defined for all measures of a long frame.

    Parameters
    ----------
    mean : {'geometric', 'harmonic'}
        The mean.
    perquery : DataFrame
        The long frame.
    known : mapping of str to Measure or None
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
    for label, values in perquery.groupby("measure", sort=False)["value"]:
        measure = known[str(label)]
        remedy = (
            f"leave it out, as in perquery[perquery['measure'] != {str(label)!r}], or omit mean="
        )
        if not aggregate_is_mean(measure):
            raise MultiAspectError(f"mean={mean!r}: {label} is not averaged over topics; {remedy}")
        low, high = values.min(), values.max()
        stated = _stated_range(measure)
        if stated is not None and (stated[0] < 0 or stated[1] > 1):
            low, high = stated
        if low < -_ROUNDING or high > 1 + _ROUNDING:
            raise MultiAspectError(
                f"mean={mean!r}: expected measures between 0 and 1, got {label} from {low:g} to "
                f"{high:g}; {remedy}"
            )


def _to_scale(values: Floats, mean: str) -> Floats:
    """Return logarithms for a geometric mean, reciprocals for a harmonic mean, else the values."""
    if mean == "geometric":
        return np.asarray(np.log(np.maximum(values, _FLOOR)), dtype=np.float64)
    if mean == "harmonic":
        return np.asarray(1.0 / np.maximum(values, _FLOOR), dtype=np.float64)
    return values


def _from_scale(value: float, mean: str) -> float:
    """Return a value on the scale of `_to_scale`, such as a mean, on the scale of the measure."""
    if mean == "geometric":
        return math.exp(value)
    if mean == "harmonic":
        return 1.0 / value
    return value


def _labels_outside(perquery: pd.DataFrame) -> list[str]:
    """Return the labels of the measures that have values outside [0, 1]."""
    is_outside = ~perquery["value"].between(-_ROUNDING, 1 + _ROUNDING)
    return perquery.loc[is_outside, "measure"].astype(str).unique().tolist()


def check_one_value(perquery: pd.DataFrame) -> None:
    """Check that every run has one value of a measure per topic."""
    remedy = (
        "give each run its own name, do not evaluate parts of one run or topic separately, and "
        "use over= for seeds and folds"
    )
    check_distinct(perquery, remedy)


def _warn_of_other_topics(perquery: pd.DataFrame) -> None:
    """Warn if runs have values for different topics, as their means cannot be compared."""
    topics = perquery.groupby(["measure", "name"], sort=False)["qid"].agg(frozenset).reset_index()
    for label, run_topics in topics.groupby("measure", sort=False):
        names = run_topics["name"].tolist()
        qids_of_runs = run_topics["qid"].tolist()
        others = []
        for name, qids in zip(names, qids_of_runs, strict=True):
            if qids != qids_of_runs[0]:
                others.append(name)
        if others:
            warn_once(
                f"aggregate: {names[0]} and {others[0]} have values of {label} for different "
                "topics, so their means cannot be compared. Use pt_multiaspect.evaluate, which "
                "scores missing topics as empty rankings (for an evaluator, complete()), or keep "
                "the topics that all runs have",
                key=f"{label}: {names[0]}, {others[0]}",
                group="different topics",
            )
            return


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
    return f"{label} {100 * confidence:g}% low", f"{label} {100 * confidence:g}% high"


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
    added_names.update(*columns.values())
    refuse_taken(labels, added_names, "another column of the result")


def _check_values_per_topic(perquery: pd.DataFrame, over: object) -> None:
    """Check that a topic has one value of a measure and run, or one per seed or fold."""
    if over is None:
        check_one_value(perquery)
        return
    if not isinstance(over, str) or over not in perquery.columns or over in COLUMNS:
        raise MultiAspectError(
            f"over: expected a column of seeds or folds besides {choices(COLUMNS)}, got {over!r} "
            f"(columns: {choices(perquery.columns)})"
        )
    _check_repeats(perquery, over)


def _interval(
    measure: AnyMeasure | None,
    per_query: Sequence[float],
    ends: Callable[..., tuple[float, float]],
) -> list[float]:
    """Return the ends of the interval of an aggregate, a function of the mean over topics."""
    values = np.asarray(per_query, dtype=np.float64)
    if not np.isfinite(values).all():
        raise MultiAspectError("expected finite values on all topics")
    if len(values) < 2:
        raise MultiAspectError(
            f"expected at least two topics, got {len(values)}; evaluate more topics, or omit "
            f"{parameter('ci')}"
        )

    def aggregate_of_mean(mean: float) -> float:
        return aggregate_values(measure, [mean] * len(values))

    from_mean = aggregate_of_mean(float(values.mean()))
    from_values = aggregate_values(measure, values.tolist())
    if not math.isclose(from_mean, from_values, rel_tol=1e-9, abs_tol=1e-12):
        raise MultiAspectError("its aggregate is not a function of the mean over topics")
    return sorted(aggregate_of_mean(end) for end in ends(values))


def _limits_by_label(
    perquery: pd.DataFrame, known: Mapping[str, AnyMeasure | None], unit_scores: Set[str]
) -> dict[str, tuple[float, float]]:
    """Return the range of each measure or score; see `_limits`."""
    limits: dict[str, tuple[float, float]] = {}
    for label, values in perquery.groupby("measure")["value"]:
        limits[str(label)] = _limits(known[str(label)], values, str(label) in unit_scores)
    return limits


def _limits(
    measure: AnyMeasure | None, values: pd.Series[float], is_score: bool
) -> tuple[float, float]:
    """Return the range of a measure or score.

    It is infinite if it is unknown, or if values are not in it, such as percentages.
    """
    limits = _stated_range(measure)
    if limits is None and is_score and measure is None:
        limits = (0.0, 1.0)
    if limits is None:
        return -math.inf, math.inf
    low, high = limits
    if values.min() < low - _ROUNDING or values.max() > high + _ROUNDING:
        return -math.inf, math.inf
    return limits


def _stated_range(measure: AnyMeasure | None) -> tuple[float, float] | None:
    """Return the minimum and maximum that a measure states, None if it states none."""
    if supports(measure):
        own_range: tuple[float, float] = measure.range
        return own_range
    if measure is None:
        return None
    adapter = adapter_of(measure)
    if adapter is None:
        return None
    return adapter.RANGE


def _read_weights(weights: object, perquery: pd.DataFrame) -> dict[str, float] | None:
    """Check the weights of topics.

    Parameters
    ----------
    weights : mapping, Series or None
        The weight of each topic of the frame.
    perquery : DataFrame
        The long frame.

    Returns
    -------
    dict of str to float or None
        Non-negative weights by query id, None if none are given.
    """
    if weights is None:
        return None
    if not isinstance(weights, Mapping | pd.Series):
        raise MultiAspectError(
            f"weights: expected a mapping {{qid: weight}}, got {type(weights).__name__}"
        )
    pairs = [
        (str(qid), number(weight, f"the weight of topic {qid}")) for qid, weight in weights.items()
    ]
    result = dict(pairs)
    if len(result) < len(pairs):
        raise MultiAspectError("weights: expected one weight per topic, got several for some")
    negative = [qid for qid, weight in pairs if weight < 0]
    if negative:
        raise MultiAspectError(
            f"weights: expected weights of at least 0, got {result[negative[0]]:g} for "
            f"{negative[0]}"
        )
    for (name, label), group in perquery.groupby(["name", "measure"], sort=False):
        qids = set(map(str, group["qid"]))
        missing = sorted(qids - set(result))
        surplus = sorted(set(result) - qids)
        got = ""
        if missing:
            got += f", got none for {choices(missing[:5])} {tally(len(missing), 'topic')}"
        if surplus:
            got += (
                f", got weights for {choices(surplus[:5])} {tally(len(surplus), 'topic')}, which "
                "have no value"
            )
        if got:
            raise MultiAspectError(
                f"weights: expected one weight for each topic of {label} for {name}{got}"
            )
    return result


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
    total = math.fsum(topic_weights)
    if total == 0:
        raise MultiAspectError("expected at least one topic with a positive weight")
    mean = math.fsum(values) / len(values)
    from_values = aggregate_values(measure, values)
    from_mean = aggregate_values(measure, [mean])
    is_function_of_mean = math.isclose(from_values, from_mean, rel_tol=1e-9, abs_tol=1e-12)
    if np.isfinite(mean) and not is_function_of_mean:
        raise MultiAspectError(
            "weights are only defined for aggregates that are a function of the mean over topics"
        )
    weighted = zip(topic_weights, values, strict=True)
    products = [weight * value for weight, value in weighted if weight]
    weighted_mean = math.fsum(products) / total
    return aggregate_values(measure, [weighted_mean])


def _check_repeats(perquery: pd.DataFrame, over: str) -> None:
    """Check that all runs have the same seeds (on equal topics) or folds (on distinct topics)."""
    if perquery[over].isna().any():
        raise MultiAspectError(f"expected a value of {over} in every row, got missing ones")
    check_distinct(perquery, "keep one of them", [over])
    expected: set[Any] = set(perquery[over])
    if len(expected) < 2:
        raise MultiAspectError(
            f"expected at least two values of {over}, got {choices(expected)}; omit over="
        )
    for (name, label), group in perquery.groupby(["name", "measure"], sort=False):
        topics: dict[Hashable, frozenset[Any]] = {}
        for repeat, part in group.groupby(over, sort=False, observed=True):
            topics[repeat] = frozenset(part["qid"])
        missing = [str(repeat) for repeat in expected if repeat not in topics]
        if missing:
            raise MultiAspectError(
                f"expected the same values of {over} for all runs and measures, got no {label} of "
                f"{name} for {over} {choices(sorted(missing))}"
            )
        _check_seeds_or_folds(topics, over, name)


def _check_seeds_or_folds(
    topics: Mapping[Hashable, frozenset[Any]], over: str, name: object
) -> None:
    """Check that the topics of the repeats of one run are all the same, or all distinct."""
    distinct = set(topics.values())
    n_topics = sum(len(qids) for qids in topics.values())
    are_same = len(distinct) == 1
    are_distinct = n_topics == len(frozenset().union(*distinct))
    if are_same or are_distinct:
        return
    pairs = list(combinations(topics, 2))
    different = [pair for pair in pairs if topics[pair[0]] != topics[pair[1]]]
    overlapping = [pair for pair in different if topics[pair[0]] & topics[pair[1]]]
    if overlapping:
        first, second = overlapping[0]
        share = "share only some topics"
    else:
        first, second = different[0]
        share = "have different topics"
    raise MultiAspectError(
        f"expected each {over} to have the same topics (seeds), or distinct topics (folds), but "
        f"for {name}, {over} {first} and {second} {share}. Evaluate all of them on the same topics"
    )


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n − 1), which is NaN for a single value."""
    if len(values) == 1:
        return values[0], math.nan
    if max(values) == min(values):  # their deviations from the mean could be rounding errors
        return values[0], 0.0
    mean = math.fsum(values) / len(values)
    standard_deviation = np.sqrt(variance(np.array(values)))
    return mean, float(standard_deviation)
