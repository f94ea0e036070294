"""Results of an evaluation in a report: values, their aggregates, and comparisons of systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    # One by one, as `aggregate` raises an error if a single measure has no interval.
    parts = []
    labels_without_interval = []
    for name, values in perquery.groupby("measure", sort=False):
        label = str(name)
        measure = measure_by_label[label]
        measures = None  # of a label without a measure, values are averaged
        if measure is not None:
            measures = {label: measure}
        try:
            part = aggregate(values, measures, ci=CI, **structure.options)
        except MultiAspectError:
            # Without intervals, and without the clusters, which have no effect on means.
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
    tests = _tests_of_groups(perquery, structure)
    is_over_all_topics = tests["group"] == ALL
    design_effects = tests.loc[is_over_all_topics, "design_effect"].to_numpy(dtype=np.float64)
    corrected = _correct_each_baseline(tests)
    comparisons = add_verdicts(corrected, lower)
    has_groups = structure.by is not None
    if not has_groups:
        comparisons = comparisons.drop(columns="group")
    return Tests(power, comparisons, correlations, design_effects)


def _tests_of_groups(perquery: pd.DataFrame, structure: TopicStructure) -> pd.DataFrame:
    """Return the tests of all pairs of systems, in both orders: each system as the baseline.

    P-values are not corrected. The column ``group`` has the group of topics; it is that of all
    topics if the structure has no groups.
    """
    names = perquery["name"].unique().tolist()
    tests = compare_with_levels(
        perquery, names, test=TEST, alpha=ALPHA, correction=None, **structure.options
    )
    tests = tests.astype({"baseline": str, "name": str})
    if structure.by is None:
        tests["group"] = ALL
    return tests


def _correct_each_baseline(tests: pd.DataFrame) -> pd.DataFrame:
    """Return tests with corrected p-values in the column ``p``, and what is significant.

    The column ``asl`` has the p-values before correction. Tests of one measure against one baseline
    are corrected together; those in groups, over all topics and of macro means are separate
    families. Groups of one topic or cluster, which have no p-values, are left out.
    """
    is_tested = tests["asl"].notna()
    tests = tests[is_tested]
    families = [family_of(group) for group in tests["group"].unique()]
    levels = tests.groupby(["measure", "baseline"], sort=False)["asl"]
    p = levels.transform(_correct_groups_of_measure, families=families)
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


def check_interval_columns(labels: Iterable[str]) -> None:
    """Raise an error if a label is the name of a column of the interval of another one."""
    measure_labels = list(labels)
    added_columns = {label: interval_columns(label, CI) for label in measure_labels}
    check_columns(measure_labels, added_columns)


class Columns(NamedTuple):
    """The measures that are columns of a report on runs."""

    #: Those that the user gave, by label.
    given: dict[str, ir_measures.Measure]
    #: These, followed by those of single aspects that are not among them.
    measures: dict[str, ir_measures.Measure]
    #: The label of the measure of each aspect alone.
    label_of_aspect: dict[str, str]


def read_columns(measures: Any, aspects: AspectSpec, judgments: Judgments) -> Columns:
    """Return the measures of a report, and one of each single aspect.

    Parameters
    ----------
    measures : measure, str, sequence of these, mapping or None
        As in `pt_multiaspect.evaluate`. By default those of `default_measures`.
    aspects : Aspects, tuple of str or None
        The scales of measures that declare none, or the columns of measures that name none.
    judgments : Judgments
        The judgments.

    """
    shown_aspects = list(judgments.label_names)
    if aspects is not None:
        shown_aspects = [view.name for view in judgments.views(aspects)]
    if measures is None:
        chosen = default_measures(shown_aspects)
    else:
        chosen = parse_all(measures)
    # Measures may also be of aspects that are not shown. If all are shown, their names are those
    # that are declared: the judgments have none if labels are in tuples.
    available_aspects = list(judgments.label_names)
    if len(shown_aspects) == len(available_aspects):
        available_aspects = shown_aspects
    given = with_aspects(chosen, aspects, available_aspects)

    all_measures = dict(given)
    label_of_aspect = {}
    for aspect in shown_aspects:
        on_aspect = {aspect: On(aspect=aspect, base=BASE)}
        measure = with_aspects(on_aspect, aspects, shown_aspects)[aspect]
        label = _label_of(measure, given)
        # Unless the measure is given, and has a column, it gets one.
        if label is None:
            label = _unused_label(f"{BASE} {aspect}", given)
            all_measures[label] = measure
        label_of_aspect[aspect] = label
    return Columns(given, all_measures, label_of_aspect)


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


def drop_copy(perquery: pd.DataFrame, columns: Columns) -> tuple[pd.DataFrame, dict[str, str]]:
    """Drop the measure of relevance alone, nDCG@10, if the user gave ir-measures' with its values.

    The report adds nDCG@10 of this package on each aspect. That of ir-measures is another measure,
    but has the same values on relevance, unless scales change the gains.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate`.
    columns : Columns
        Its measures.

    Returns
    -------
    perquery : DataFrame
        The frame without the added copy.
    label_of_aspect : dict of str to str
        The label of each aspect; that of relevance is the user's if there was a copy.
    """
    label_of_aspect = dict(columns.label_of_aspect)
    added_label = label_of_aspect.get("relevance")
    (base,) = parse_all(BASE).values()
    label_of_user = _label_of(base, columns.given)
    if label_of_user is None or added_label is None:
        return perquery, label_of_aspect
    if added_label in columns.given:  # the user gave that of this package, too
        return perquery, label_of_aspect
    is_of_user = perquery["measure"] == label_of_user
    is_added = perquery["measure"] == added_label
    values_of_user = perquery.loc[is_of_user, "value"].to_numpy()
    added_values = perquery.loc[is_added, "value"].to_numpy()
    if not np.array_equal(added_values, values_of_user):
        return perquery, label_of_aspect
    kept = perquery[~is_added].reset_index(drop=True)
    record_measures(kept, measures_by_label(kept))
    label_of_aspect["relevance"] = label_of_user
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
    measures_as_given = {label: selected.measures[label] for label in labels}
    main = main_measure(measures_as_given)
    # The main measure is the first column, which is seen on narrow screens.
    measure_by_label = {main: selected.measures[main], **selected.measures}
    rows = rows_of_measures(selected.perquery, list(measure_by_label))
    perquery = rows.reset_index(drop=True)
    record_measures(perquery, measure_by_label)
    check_interval_columns(labels)
    check_baseline(baseline, selected.names)
    values_by_human = None
    if human is not None:
        values_by_human = rows_of_measures(read_named_values(human), labels)
        record_measures(values_by_human, measure_by_label)
    return Results(
        title=title,
        description=None,
        perquery=perquery,
        main=main,
        aspects=labels_of_aspects(measure_by_label),
        baseline=baseline,
        structure=TopicStructure.read(perquery, measure_by_label, **topics),
        human=values_by_human,
        directions=selected.directions,
        date=date,
        scales=scales,
    )


class _SelectedValues(NamedTuple):
    """The values of the chosen measures, their systems and labels, and what is known of these."""

    perquery: pd.DataFrame
    names: list[Any]
    #: The labels in the order of the frame.
    labels: list[Any]
    #: The measure of each label, None if unknown.
    measures: dict[str, Any]
    #: The directions that are given for labels without a measure.
    directions: dict[str, Direction]


def _select_values(values: object, measures: Any) -> _SelectedValues:
    """Return the values of the measures to show; the parameters are those of `report`."""
    has_several = isinstance(measures, Sequence | Mapping) and not isinstance(measures, str)
    if measures is not None and not has_several:
        measures = [measures]
    perquery, given = select_measures(read_named_values(values), measures)
    array, names, _, labels = matrix(perquery, as_given=True, least=1)
    # By label, a measure or direction: what the user gave precedes what the frame records.
    recorded = measures_by_label(perquery)
    known = {**recorded, **given}
    # A list only selects labels, and says nothing of their directions. A mapping does.
    known_directions = recorded
    if isinstance(measures, Mapping):
        known_directions = known
    check_directions(perquery, array, labels, known_directions, "report")

    measure_by_label: dict[str, Any] = {}
    directions: dict[str, Direction] = {}
    for label, measure_or_direction in known.items():
        if isinstance(measure_or_direction, Direction):
            directions[label] = measure_or_direction
            measure_by_label[label] = None
        else:
            measure_by_label[label] = measure_or_direction
    return _SelectedValues(perquery, names, labels, measure_by_label, directions)
