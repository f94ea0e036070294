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
    >>> ma.aggregate(ma.evaluate({"mine": run}, qrels, "map", progress=False), mean="geometric").round(4)
       name     map
    0  mine  0.0032
    >>> half = {"q1": {"d1": 1.0}, "q2": {"d0": 2.0, "d1": 1.0}}
    >>> ma.aggregate(ma.evaluate({"mine": half}, qrels, "map", progress=False), ci=0.5).round(3)
       name   map  map 50% low  map 50% high
    0  mine  0.75          0.5           1.0
    >>> ma.aggregate(ma.evaluate({"mine": run}, qrels, "map", progress=False), weights={"q1": 3, "q2": 1})
       name   map
    0  mine  0.75
    >>> seeds = [ma.evaluate({"mine": each}, qrels, "map", progress=False) for each in (run, half)]
    >>> repeated = pd.concat([frame.assign(seed=seed) for seed, frame in enumerate(seeds)])
    >>> ma.aggregate(repeated, over="seed").round(3)
       name    map  map sd
    0  mine  0.625   0.177
    >>> ma.aggregate(seeds[1], by={"q1": "short", "q2": "long"})
       group  name   map
    0  short  mine  1.00
    1   long  mine  0.50
    2    all  mine  0.75
    """
    if ci is None:
        confidence = None
    else:
        confidence = proportion("ci")(ci)
    interval = _INTERVALS[choice("ci_method", *_INTERVALS)(ci_method)]
    choice("mean", *_MEANS)(mean)
    perquery = read_long_frame(perquery)
    if by is None:
        groups = None
    else:
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
    if weights is None:
        weight = None
    else:
        weight = _read_weights(weights, perquery)
    if over is None:
        check_one_value(perquery)
    else:
        _check_over(perquery, over)
    limits = _limits_by_label(perquery, known, unit_scores)
    if mean != "arithmetic":
        _check_mean(mean, perquery, known, over)
        perquery = perquery.assign(value=_to_scale(perquery["value"].to_numpy(), mean))
        low, high = sorted(_to_scale(np.array([0.0, 1.0]), mean).tolist())
        limits = dict.fromkeys(limits, (low, high))
    ends = {
        label: partial(interval, confidence=confidence, limits=limits[label]) for label in limits
    }
    names = list(perquery["name"].unique())
    options = _Options(names, known, mean, weight, over, confidence, ends, clusters, macro_mean)
    check_columns(known, {label: options.added_columns(label) for label in known})
    refuse_taken(known, ["name"], "the column of the runs")
    refuse_taken(known, [] if groups is None else ["group"], "the column of the groups")
    _warn_of_other_topics(perquery)
    whole = _aggregate_topics(perquery, options, ALL)
    if groups is None:
        return whole
    parts = rows_by_group(perquery, groups)
    tables = [
        _aggregate_topics(topics, options, group).assign(group=group) for group, topics in parts
    ]
    tables.append(whole.assign(group=ALL))
    if macro_mean is not None:
        tables.append(_aggregate_topics(perquery, options, MACRO).assign(group=MACRO))
    return pd.concat(tables, ignore_index=True)[["group", *whole]]


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


def _aggregate_topics(topics: pd.DataFrame, options: _Options, group: str) -> pd.DataFrame:
    """Return one row per run with aggregates over the topics of a group, or macro means."""
    if group in (ALL, MACRO):
        within = ""
    else:
        within = f" in the group {group}"
    over = options.over
    rows = {name: {"name": name} for name in options.names}
    for (name, label), values in topics.groupby(["name", "measure"], sort=False):
        label, qids = str(label), values["qid"].tolist()
        measure, added, weight, groups = (
            options.known[label],
            options.added_columns(label),
            options.weight,
            None,
        )
        if options.macro is not None and group == MACRO:
            groups = options.macro.groups_of_topics(qids)
            if groups is None:
                continue
            weight = _equal_weights(groups, qids)
        if over is None:
            parts = [values]
        else:
            parts = [part for _, part in values.groupby(over, sort=False, observed=True)]
        with errors_of(f"{label} of {name}{within}"):
            means = [_weighted_aggregate(measure, part, weight) for part in parts]
        aggregates = [_from_scale(mean, options.mean) for mean in means]
        if over is None:
            cells = [aggregates[0]]
        else:
            cells = [*_mean_and_spread(aggregates)]
        clusters = clusters_of_topics(options.clusters, qids)
        if options.confidence is not None and (group in (ALL, MACRO) or len(clusters) > 1):
            with errors_of(f"no interval for {label} of {name}{within}"):
                ends_of_mean = partial(
                    options.ends[label], clusters=check_clusters(clusters), groups=groups
                )
                ends = _interval(measure, values["value"].tolist(), ends_of_mean)
            cells += sorted(
                _from_scale(end, options.mean) for end in ends
            )  # reciprocals reverse their order
        rows[name].update(
            zip((label, *added), cells, strict=False)
        )  # no interval for a single cluster
    return pd.DataFrame(list(rows.values()))


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
    remedy = "give each run its own name, do not evaluate parts of one run or topic separately, and use over= for seeds"
    check_distinct(perquery, f"{remedy} and folds")


def _warn_of_other_topics(perquery: pd.DataFrame) -> None:
    """Warn if runs have values for different topics, as their means cannot be compared."""
    topics = perquery.groupby(["measure", "name"], sort=False)["qid"].agg(frozenset).reset_index()
    for label, run_topics in topics.groupby("measure", sort=False):
        names, sets = run_topics["name"].tolist(), run_topics["qid"].tolist()
        others = [name for name, qids in zip(names, sets, strict=True) if qids != sets[0]]
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
    refuse_taken(
        labels,
        {name for added in columns.values() for name in added},
        "another column of the result",
    )


def _check_over(perquery: pd.DataFrame, over: object) -> None:
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

    from_mean, plain = (
        aggregate_of_mean(float(values.mean())),
        aggregate_values(measure, values.tolist()),
    )
    if not math.isclose(from_mean, plain, rel_tol=1e-9, abs_tol=1e-12):
        raise MultiAspectError("its aggregate is not a function of the mean over topics")
    return sorted(map(aggregate_of_mean, ends(values)))


def _limits_by_label(
    perquery: pd.DataFrame, known: Mapping[str, AnyMeasure | None], unit_scores: Set[str]
) -> dict[str, tuple[float, float]]:
    """Return the range of each measure or score; see `_limits`."""
    by_label = {str(label): values for label, values in perquery.groupby("measure")["value"]}
    return {
        label: _limits(known[label], values, label in unit_scores)
        for label, values in by_label.items()
    }


def _limits(
    measure: AnyMeasure | None, values: pd.Series[float], is_score: bool
) -> tuple[float, float]:
    """Return the range of a measure or score.

    It is infinite if it is unknown, or if values are not in it, such as percentages.
    """
    if is_score and measure is None:
        low, high = (0.0, 1.0)
    else:
        low, high = (-math.inf, math.inf)
    stated = _stated_range(measure)
    if stated is not None:
        low, high = stated
    if values.min() < low - _ROUNDING or values.max() > high + _ROUNDING:
        return (-math.inf, math.inf)
    return low, high


def _stated_range(measure: AnyMeasure | None) -> tuple[float, float] | None:
    """Return the minimum and maximum that a measure states, None if it states none."""
    if supports(measure):
        own_range: tuple[float, float] = measure.range
        return own_range
    if measure is None:
        adapter = None
    else:
        adapter = adapter_of(measure)
    return None if adapter is None else adapter.RANGE


def _read_weights(weights: object, perquery: pd.DataFrame) -> dict[str, float]:
    """Check the weights of topics.

    Parameters
    ----------
    weights : mapping or Series
        The weight of each topic of the frame.
    perquery : DataFrame
        The long frame.

    Returns
    -------
    dict of str to float
        Non-negative weights by query id.
    """
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
        missing, surplus = sorted(qids - set(result)), sorted(set(result) - qids)
        if missing or surplus:
            raise MultiAspectError(
                f"weights: expected one weight for each topic of {label} for {name}"
                + (f", got none for {choices(missing[:5])} {tally(len(missing), 'topic')}" if missing else "")
                + (f", got weights for {choices(surplus[:5])} {tally(len(surplus), 'topic')}, "
                   "which have no value" if surplus else "")
            )  # fmt: skip
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
    plain, from_mean = aggregate_values(measure, values), aggregate_values(measure, [mean])
    if np.isfinite(mean) and not math.isclose(plain, from_mean, rel_tol=1e-9, abs_tol=1e-12):
        raise MultiAspectError(
            "weights are only defined for aggregates that are a function of the mean over topics"
        )
    products = [
        weight * value for weight, value in zip(topic_weights, values, strict=True) if weight
    ]
    return aggregate_values(measure, [math.fsum(products) / total])


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
        topics: dict[Hashable, frozenset[Any]] = {
            repeat: frozenset(part["qid"])
            for repeat, part in group.groupby(over, sort=False, observed=True)
        }
        missing = [str(repeat) for repeat in expected if repeat not in topics]
        if missing:
            raise MultiAspectError(
                f"expected the same values of {over} for all runs and measures, got no {label} of "
                f"{name} for {over} {choices(sorted(missing))}"
            )
        distinct = set(topics.values())
        if len(distinct) > 1 and sum(map(len, topics.values())) > len(frozenset().union(*distinct)):
            different = (
                pair for pair in combinations(topics, 2) if topics[pair[0]] != topics[pair[1]]
            )
            first, second = max(different, key=lambda pair: bool(topics[pair[0]] & topics[pair[1]]))
            share = (
                "share only some topics"
                if topics[first] & topics[second]
                else "have different topics"
            )
            raise MultiAspectError(
                f"expected each {over} to have the same topics (seeds), or distinct topics "
                f"(folds), but for {name}, {over} {first} and {second} {share}. Evaluate all of "
                "them on the same topics"
            )


def _mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n − 1), which is NaN for a single value."""
    if len(values) == 1:
        return values[0], math.nan
    if max(values) == min(values):  # their deviations from the mean could be rounding errors
        return values[0], 0.0
    return math.fsum(values) / len(values), float(np.sqrt(variance(np.array(values))))
