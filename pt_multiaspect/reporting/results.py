"""Results of an evaluation in a report: values, their aggregates, and comparisons of systems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import correlation, discriminative_power, prediction_powered
from ..analysis._significance import correct_groups, family_of
from ..analysis._value_matrices import (
    Direction,
    check_directions,
    matrix,
    rows_of_measures,
    select_measures,
)
from ..analysis.baseline import add_verdicts, compare_with_levels
from ..analysis.power import DiscriminativePower
from ..analysis.prediction_powered import PredictionPowered
from ..aspects import Aspects, AspectSpec, parse_aspects
from ..collection import Judgments
from ..description import Description
from ..errors import (
    MultiAspectError,
    choices,
    join_names,
    number_of,
    refuse_unknown,
    silence_warnings,
)
from ..evaluation import aggregate, check_columns, interval_columns
from ..evaluation.long_frames import labels_of_aspects, measures_by_label, read_named_values
from ..evaluation.topic_clusters import check_clusters, clusters_in_words
from ..evaluation.topic_groups import ALL
from ..evaluation.topic_structure import TopicStructure
from ..integration.aggregators import aggregate_is_mean, lower_is_better
from ..integration.declared import default_measures, with_aspects
from ..integration.parsing import parse_all, record_measures
from ..measures import On
from ..tables.content import column_heads
from .settings import ALPHA, BASE, CI, CORRECTION, TEST

#: The minimum number of systems of a heat map of correlations: of fewer, they take few values.
FEWEST_OF_HEAT_MAPS = 5


def check_baseline(baseline: str | None, names: Collection[str]) -> None:
    """Raise an error for a baseline that is not among the systems, or the only one."""
    if baseline is None:
        return
    refuse_unknown([baseline], names, "one of the runs", "baseline")
    if len(names) == 1:
        raise MultiAspectError(
            f"baseline: expected systems to compare with {baseline}, got no other one; omit it"
        )


def main_measure(measures: Mapping[str, Any]) -> str:
    """Return the label of the measure that the summary is about.

    It is the first measure of several aspects; without one, the first measure.
    """
    for label, measure in measures.items():
        # Measures of ir-measures, and unknown ones (None), lack the attribute.
        is_multi_aspect = getattr(measure, "is_multi_aspect", False)
        if is_multi_aspect:
            return label
    return next(iter(measures))


@dataclass(frozen=True, eq=False)
class Tests:
    """The comparisons of all pairs of systems."""

    power: DiscriminativePower
    #: The result of `compare_with_baseline` for each system as the baseline, without groups of one
    #: cluster.
    comparisons: pd.DataFrame
    correlations: pd.DataFrame
    #: The design effect of each comparison over all topics.
    design_effects: Floats


@dataclass(eq=False)
class Results:
    """The results of an evaluation, computed from the values per query."""

    title: str
    #: The description of judgments and runs, None for values without judgments.
    description: Description | None
    perquery: pd.DataFrame
    #: The label of the measure that the summary is about.
    main: str
    #: The label of the measure of each aspect alone.
    aspects: Mapping[str, str]
    baseline: str | None
    #: The groups and clusters of topics.
    structure: TopicStructure
    #: The values by human judgments, None without human judgments.
    human: pd.DataFrame | None = None
    #: The directions of labels that do not name a measure.
    directions: Mapping[str, Direction] = field(default_factory=dict)
    date: str = ""
    #: The label scales of criteria, for values without judgments.
    scales: Aspects | None = None
    #: The texts of topics that are known.
    texts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Compute the aggregates, tests and estimates of the values."""
        perquery = self.perquery
        #: The measures by label, None if unknown.
        self.measures: dict[str, Any] = measures_by_label(perquery)
        #: Whether lower values of a topic are better, by label.
        self.lower: dict[str, bool] = {}
        for label, measure in self.measures.items():
            direction_or_measure = self.directions.get(label, measure)
            self.lower[label] = lower_is_better(direction_or_measure)
        # Labels that name no measure have only a direction.
        measures_and_directions = {**self.measures, **self.directions}
        self.heads = column_heads(measures_and_directions)
        #: The aggregates of all topics and of groups, with intervals if they are defined.
        self.systems: pd.DataFrame
        #: Sentences on what the tables show and omit.
        self.notes: list[str]
        self.systems, self.notes = _aggregate_measures(perquery, self.structure)
        #: The aggregates over all topics.
        self.overall = rows_of_group(self.systems)
        qids = perquery["qid"].unique().tolist()
        clusters = self.structure.clusters_of(qids)
        self.clusters = check_clusters(clusters)
        #: None with fewer than two systems or topics.
        self.tests = self._compare_systems(len(qids))
        #: The estimates from human judgments and the labels of the report, None without human
        #: judgments.
        self.powered: PredictionPowered | None = None
        if self.human is not None:
            self.powered = self._estimate_means(self.human)

    def _compare_systems(self, n_topics: int) -> Tests | None:
        """Return the comparisons of all pairs, None if there are too few systems or topics.

        A note says what they are based on, or why there are none.
        """
        if n_topics < 2:
            self.notes.append(
                "Intervals, tests, correlations and discriminative power require at least two "
                "topics."
            )
            return None
        n_systems = self.perquery["name"].nunique()
        if n_systems < 2:
            self.notes.append(
                "Tests, correlations and discriminative power require at least two systems."
            )
            return None
        tests = _compare_all_pairs(self.perquery, self.structure, self.lower)
        self.notes += self._notes_on_topics(tests)
        return tests

    def _notes_on_topics(self, tests: Tests) -> Iterator[str]:
        """Yield what clusters of topics do to tests, and what macro means are about."""
        if not self.clusters.are_single_topics:
            sentence = clusters_in_words(self.clusters, tests.design_effects)
            yield f"{sentence}."
        if self.structure.macro is not None:
            yield self.structure.macro.in_words(has_error=True)

    def _estimate_means(self, human: pd.DataFrame) -> PredictionPowered:
        """Return the estimates of the measures that are averaged over topics, and note them.

        `human` are the values by human judgments.
        """
        labels = [label for label, measure in self.measures.items() if aggregate_is_mean(measure)]
        powered = prediction_powered(
            rows_of_measures(human, labels),
            rows_of_measures(self.perquery, labels),
            baseline=self.baseline,
            ci=CI,
            cluster=self.structure.clusters,
        )
        n_human = powered.table["n_human"].max()
        n_topics = self.perquery["qid"].nunique()
        self.notes.append(
            f"Estimates combine human judgments of {n_human} topics and the model's labels of "
            f"{n_topics}, with {100 * CI:g} % prediction-powered intervals. The human topics are "
            "assumed to be a random sample of all topics."
        )
        self.notes.append("The summary, values, tests and marks are based on the model's labels.")
        return powered

    def by_measure(self) -> tuple[list[str], list[str], Floats]:
        """Return the systems, the topics, and the values by measure, system and topic.

        Systems and topics are in the order of the frame.
        """
        # Values are systems × topics × measures; one system and one topic suffice.
        values, names, qids, _ = matrix(self.perquery, as_given=True, least=1)
        values_by_measure = np.moveaxis(values, 2, 0)
        return names, qids, values_by_measure

    @property
    def counts(self) -> list[str]:
        """The numbers of systems, topics and measures, in words."""
        n_distinct = self.perquery[["name", "qid", "measure"]].nunique()
        return [
            number_of(n_distinct["name"], "system"),
            number_of(n_distinct["qid"], "topic"),
            number_of(n_distinct["measure"], "measure"),
        ]


def rows_of_group(table: pd.DataFrame, group: str = ALL) -> pd.DataFrame:
    """Return the rows of a group of topics; all rows of a table without groups."""
    if "group" in table:
        return table[table["group"] == group]
    return table


def _aggregate_measures(
    perquery: pd.DataFrame, structure: TopicStructure
) -> tuple[pd.DataFrame, list[str]]:
    """Return the aggregates, with intervals if they are defined, and notes on the others.

    The frame has one row per system (and group of topics, if there are groups).
    """
    measure_by_label = measures_by_label(perquery)
    keys = ["name"]
    if structure.by is not None:
        keys = ["group", "name"]
    parts = []
    labels_without_interval = []
    for name, values in perquery.groupby("measure", sort=False):
        label = str(name)
        measures = None
        if measure_by_label[label] is not None:
            measures = {label: measure_by_label[label]}
        try:
            part = aggregate(values, measures, ci=CI, **structure.options)
        except MultiAspectError:  # no interval is defined for its aggregate
            part = aggregate(values, measures, **structure.options_of_means)
            labels_without_interval.append(label)
        parts.append(part.set_index(keys))
    table = pd.concat(parts, axis=1).reset_index()
    notes = []
    # With one topic, another note says that intervals require two.
    has_several_topics = perquery["qid"].nunique() >= 2
    if labels_without_interval and has_several_topics:
        labels = join_names(labels_without_interval)
        notes.append(f"No interval is known for {labels}.")
    return table, notes


def _compare_all_pairs(
    perquery: pd.DataFrame, structure: TopicStructure, lower: Mapping[str, bool]
) -> Tests:
    """Compare all pairs of at least two systems, and the measures on them.

    Parameters
    ----------
    perquery : DataFrame
        The values per topic.
    structure : TopicStructure
        The groups and clusters of topics.
    lower : mapping of str to bool
        Whether lower values are better, by label.
    """
    power = discriminative_power(perquery, TEST, alpha=ALPHA, cluster=structure.clusters)
    directions = {}
    for label, is_lower in lower.items():
        if is_lower:
            directions[label] = "lower"
        else:
            directions[label] = "higher"
    with silence_warnings():  # undefined correlations are shown as such
        correlations = correlation(perquery, measures=directions)
    # Each system is the baseline of all others.
    names = perquery["name"].unique().tolist()
    tests = compare_with_levels(
        perquery, names, test=TEST, alpha=ALPHA, correction=None, **structure.options
    )
    tests = tests.astype({"baseline": str, "name": str})
    has_groups = structure.by is not None
    if not has_groups:
        tests["group"] = ALL
    is_over_all_topics = tests["group"] == ALL
    effects = tests.loc[is_over_all_topics, "design_effect"].to_numpy(dtype=np.float64)
    is_tested = tests["asl"].notna()
    corrected = _correct_each_baseline(tests[is_tested])
    comparisons = add_verdicts(corrected, lower)
    if not has_groups:
        comparisons = comparisons.drop(columns="group")
    return Tests(power, comparisons, correlations, effects)


def _correct_each_baseline(tests: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with all systems, corrected for those with the same baseline.

    The p-values before correction are in the column ``asl``. Groups of topics that are families of
    their own are corrected separately.
    """
    families = [family_of(group) for group in tests["group"].unique()]
    correct = partial(_correct_groups_of_measure, families=families)
    by_baseline = tests.groupby(["measure", "baseline"], sort=False)
    p = by_baseline["asl"].transform(correct)
    corrected = tests.assign(p=p, significant=p < ALPHA)
    columns = ["group", "measure", "baseline", "name", "difference", "asl", "p", "significant"]
    return corrected[columns].reset_index(drop=True)


def _correct_groups_of_measure(asl: pd.Series[float], families: list[str]) -> Floats:
    """Return the corrected p-values of a measure and a baseline.

    Parameters
    ----------
    asl : Series of float
        The p-values before correction: those of all systems in the first group, and so on.
    families : list of str
        The family of each group.
    """
    levels = np.asarray(asl, dtype=np.float64)
    levels_by_group = levels.reshape(len(families), -1)  # groups × systems
    corrected, _ = correct_groups(levels_by_group, families, TEST, CORRECTION, ALPHA)
    return corrected.ravel()


def interval_values(table: pd.DataFrame, label: str) -> tuple[list[float], list[float]] | None:
    """Return the lower and upper ends of the intervals of a measure, None if one is unknown."""
    low, high = interval_columns(label, CI)
    if low not in table:
        return None
    has_all_intervals = table[low].notna().all()
    if not has_all_intervals:
        return None
    return table[low].tolist(), table[high].tolist()


def read_columns(
    measures: Any, aspects: AspectSpec, judgments: Judgments
) -> tuple[dict[str, ir_measures.Measure], dict[str, ir_measures.Measure], dict[str, str]]:
    """Return the measures of a report, with those of the single aspects.

    Parameters
    ----------
    measures : measure, str, sequence of these, mapping or None
        As in `pt_multiaspect.evaluate`. By default those of `default_measures`.
    aspects : Aspects, tuple of str or None
        The scales of measures that declare none, or the columns of measures that name none.
    judgments : Judgments
        The judgments.

    Returns
    -------
    given, columns, labels
        The measures that are given by label, these followed by those of aspects, and the label of
        each aspect.
    """
    judged = list(judgments.label_names)
    chosen = judged
    if aspects is not None:
        chosen = [view.name for view in judgments.views(aspects)]
    # Columns without names, as in tuples, are named after the aspects.
    names = judged
    if len(chosen) == len(judged):
        names = chosen
    if measures is None:
        measures_without_scales = default_measures(chosen)
    else:
        measures_without_scales = parse_all(measures)
    given = with_aspects(measures_without_scales, aspects, names)

    columns = dict(given)
    labels = {}
    for name in chosen:
        measure_of_name = with_aspects({name: On(aspect=name, base=BASE)}, aspects, chosen)
        measure = measure_of_name[name]
        label = _label_of(measure, given)
        # A measure that is given already has a column.
        if label is None:
            label = _unused_label(f"{BASE} {name}", given)
            columns[label] = measure
        labels[name] = label
    return given, columns, labels


def _unused_label(label: str, measures: Mapping[str, ir_measures.Measure]) -> str:
    """Return a label, followed by "(aspect)" as often as other measures have it."""
    while label in measures:
        label += " (aspect)"
    return label


def _label_of(
    measure: ir_measures.Measure, measures: Mapping[str, ir_measures.Measure]
) -> str | None:
    """Return the label of a measure, None if it is not among the measures."""
    for label, known in measures.items():
        if known == measure:
            return label
    return None


def drop_copies(
    perquery: pd.DataFrame, labels: Mapping[str, str], given: Mapping[str, ir_measures.Measure]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Drop the base on relevance if the same measure of ir-measures is given and has its values.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate`.
    labels : mapping of str to str
        The label of each aspect.
    given : mapping of str to Measure
        The given measures.

    Returns
    -------
    perquery, labels
        The frame and the labels without the copy.
    """
    label_of_aspect = dict(labels)
    (base,) = parse_all(BASE).values()
    label_of_base = _label_of(base, given)
    label_of_relevance = labels.get("relevance")
    if label_of_base is None or label_of_relevance is None:
        return perquery, label_of_aspect
    if label_of_relevance in given:  # it is shown, as it was asked for
        return perquery, label_of_aspect
    is_base = perquery["measure"] == label_of_base
    is_relevance = perquery["measure"] == label_of_relevance
    values_of_base = perquery.loc[is_base, "value"].to_numpy()
    values_of_relevance = perquery.loc[is_relevance, "value"].to_numpy()
    is_copy = np.array_equal(values_of_relevance, values_of_base)
    if not is_copy:
        return perquery, label_of_aspect
    kept = perquery[~is_relevance].reset_index(drop=True)
    record_measures(kept, measures_by_label(kept))
    # The column of the base now stands for relevance.
    label_of_aspect["relevance"] = label_of_base
    return kept, label_of_aspect


def results_of_values(
    values: object,
    measures: Any,
    human: object,
    baseline: str | None,
    topics: Mapping[str, Any],
    title: str,
    date: str,
    aspects: object,
) -> Results:
    """Return the results of values per topic.

    Parameters
    ----------
    values, measures, human, baseline, title, aspects
        As for `report`.
    topics : mapping of str to object
        The parameters of `TopicStructure.read`: ``by``, ``macro`` and ``cluster``.
    date : str
        The date of the report.
    """
    scales = parse_aspects(aspects)
    if not isinstance(scales, Aspects | None):
        raise MultiAspectError(
            f"aspects: expected the scales of the criteria, got names: {choices(scales)}"
        )
    selected = _select_values(values, measures)
    labels = selected.labels
    by_label = selected.by_label
    main = main_measure({label: by_label[label] for label in labels})
    # The main measure is the first column, which is seen on narrow screens.
    by_label = {main: by_label[main], **by_label}
    perquery = rows_of_measures(selected.perquery, list(by_label)).reset_index(drop=True)
    record_measures(perquery, by_label)
    check_columns(labels, {label: interval_columns(label, CI) for label in labels})
    check_baseline(baseline, selected.names)
    values_by_human = None
    if human is not None:
        values_by_human = rows_of_measures(read_named_values(human), labels)
        record_measures(values_by_human, by_label)
    return Results(
        title=title,
        description=None,
        perquery=perquery,
        main=main,
        aspects=labels_of_aspects(by_label),
        baseline=baseline,
        structure=TopicStructure.read(perquery, by_label, **topics),
        human=values_by_human,
        directions=selected.directions,
        date=date,
        scales=scales,
    )


class _SelectedValues(NamedTuple):
    """The values of the chosen measures, their systems and labels, and what is known of these."""

    perquery: pd.DataFrame
    names: list[Any]
    labels: list[Any]
    #: The measure of each label, None if unknown.
    by_label: dict[str, Any]
    #: The directions that are given for labels without a measure.
    directions: dict[str, Direction]


def _select_values(values: object, measures: Any) -> _SelectedValues:
    """Return the values of the measures to show; the parameters are those of `report`."""
    is_one_measure = isinstance(measures, str) or not isinstance(
        measures, Sequence | Mapping | None
    )
    if is_one_measure:
        measures = [measures]
    perquery, given = select_measures(read_named_values(values), measures)
    array, names, _, labels = matrix(perquery, as_given=True, least=1)
    recorded = measures_by_label(perquery)
    # Only a mapping tells what labels refer to, and thus the directions of unknown ones.
    known = recorded
    if isinstance(measures, Mapping):
        known = {**recorded, **given}
    check_directions(perquery, array, labels, known, "report")
    by_label = {**recorded, **given}
    directions = {}
    for label, measure in given.items():
        if isinstance(measure, Direction):
            directions[label] = measure
            by_label[label] = None
    return _SelectedValues(perquery, names, labels, by_label, directions)
