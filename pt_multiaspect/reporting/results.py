"""Results of an evaluation in a report: values, their aggregates, and comparisons of systems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
from ..integration.parsing import parse_all, parse_to_compute, record_measures
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

    It is the first of several aspects, else the first.
    """
    for label, measure in measures.items():
        if getattr(measure, "is_multi_aspect", False):
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
        perquery = self.perquery
        #: The measures by label, None if unknown.
        self.measures: dict[str, Any] = measures_by_label(perquery)
        #: Whether lower values of a topic are better, by label.
        self.lower: dict[str, bool] = {}
        for label, measure in self.measures.items():
            self.lower[label] = lower_is_better(self.directions.get(label, measure))
        self.heads = column_heads({**self.measures, **self.directions})
        #: The aggregates, with intervals if they are defined, also for groups; the omissions.
        self.systems, self.notes = _aggregate_measures(perquery, self.structure)
        #: The aggregates over all topics.
        self.overall = rows_of_group(self.systems)
        qids = perquery["qid"].unique().tolist()
        self.clusters = check_clusters(self.structure.clusters_of(qids))
        n_systems = perquery["name"].nunique()
        #: None with fewer than two systems or topics.
        self.tests: Tests | None = None
        if n_systems >= 2 and len(qids) >= 2:
            self.tests = _compare_all_pairs(perquery, self.structure, self.lower)
            self.notes += self._notes_on_topics(self.tests)
        elif len(qids) >= 2:
            self.notes.append(
                "Tests, correlations and discriminative power require at least two systems."
            )
        else:
            self.notes.append(
                "Intervals, tests, correlations and discriminative power require at least two "
                "topics."
            )
        #: The estimates from human judgments and the labels of the report, None without human
        #: judgments.
        self.powered: PredictionPowered | None = None
        if self.human is not None:
            self.powered = self._estimates(self.human)

    def _notes_on_topics(self, tests: Tests) -> Iterator[str]:
        """Yield what clusters do to tests, and what macro means are about."""
        if not self.clusters.are_single_topics:
            yield f"{clusters_in_words(self.clusters, tests.design_effects)}."
        if self.structure.macro is not None:
            yield self.structure.macro.in_words(has_error=True)

    def _estimates(self, human: pd.DataFrame) -> PredictionPowered:
        """Return the estimates of the measures that are averaged over topics."""
        means = [label for label, measure in self.measures.items() if aggregate_is_mean(measure)]
        powered = prediction_powered(
            rows_of_measures(human, means),
            rows_of_measures(self.perquery, means),
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
        values, names, qids, _ = matrix(self.perquery, as_given=True, least=1)
        return names, qids, values.transpose(2, 0, 1)

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
    """Return the aggregates, with intervals if they are defined, and a note on the others."""
    known = measures_by_label(perquery)
    if structure.by is None:
        keys = ["name"]
    else:
        keys = ["group", "name"]
    parts = []
    without_interval = []
    for name, values in perquery.groupby("measure", sort=False):
        label = str(name)
        measures = None
        if known[label] is not None:
            measures = {label: known[label]}
        try:
            part = aggregate(values, measures, ci=CI, **structure.options)
        except MultiAspectError:
            part = aggregate(values, measures, **structure.options_of_means)
            without_interval.append(label)
        parts.append(part.set_index(keys))
    table = pd.concat(parts, axis=1).reset_index()
    notes = []
    if without_interval and perquery["qid"].nunique() >= 2:  # else it is said of tests, too
        notes.append(f"No interval is known for {join_names(without_interval)}.")
    return table, notes


def _compare_all_pairs(
    perquery: pd.DataFrame, structure: TopicStructure, lower: Mapping[str, bool]
) -> Tests:
    """Compare all pairs of at least two systems, and the measures on them."""
    power = discriminative_power(perquery, TEST, alpha=ALPHA, cluster=structure.clusters)
    words = {label: "lower" if is_lower else "higher" for label, is_lower in lower.items()}
    with silence_warnings():  # undefined correlations are shown as such
        correlations = correlation(perquery, measures=words)
    names = perquery["name"].unique().tolist()
    tests = compare_with_levels(
        perquery, names, test=TEST, alpha=ALPHA, correction=None, **structure.options
    )
    tests = tests.astype({"baseline": str, "name": str})
    if structure.by is None:
        tests["group"] = ALL
    effects = tests.loc[tests["group"] == ALL, "design_effect"].to_numpy(dtype=np.float64)
    corrected = _correct_each_baseline(tests[tests["asl"].notna()])
    comparisons = add_verdicts(corrected, lower)
    if structure.by is None:
        comparisons = comparisons.drop(columns="group")
    return Tests(power, comparisons, correlations, effects)


def _correct_each_baseline(tests: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with all systems, corrected for those with the same baseline."""
    families = [family_of(group) for group in tests["group"].unique()]

    def correct(asl: pd.Series[float]) -> Floats:
        levels = np.asarray(asl, dtype=np.float64).reshape(len(families), -1)
        corrected, _ = correct_groups(levels, families, TEST, CORRECTION, ALPHA)
        return corrected.ravel()

    p = tests.groupby(["measure", "baseline"], sort=False)["asl"].transform(correct)
    columns = ["group", "measure", "baseline", "name", "difference", "asl", "p", "significant"]
    corrected = tests.assign(p=p, significant=p < ALPHA)
    return corrected[columns].reset_index(drop=True)


def interval_values(table: pd.DataFrame, label: str) -> tuple[list[float], list[float]] | None:
    """Return the lower and upper ends of the intervals of a measure, or None."""
    low, high = interval_columns(label, CI)
    if low in table and table[low].notna().all():
        return (table[low].tolist(), table[high].tolist())
    return None


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
    if aspects is None:
        chosen = judged
    else:
        chosen = [view.name for view in judgments.views(aspects)]
    # Columns without names, as in tuples, are named after the aspects.
    if len(chosen) == len(judged):
        names = chosen
    else:
        names = judged
    if measures is None:
        given = default_measures(chosen)
    else:
        given = parse_to_compute(measures)
    given = with_aspects(given, aspects, names)
    columns = dict(given)
    labels = {}
    for name in chosen:
        single = with_aspects({name: On(aspect=name, base=BASE)}, aspects, chosen)[name]
        label = _label_of(single, given)
        if label is None:
            label = f"{BASE} {name}"
            while label in given:
                label += " (aspect)"
            columns[label] = single
        labels[name] = label
    return given, columns, labels


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
    (measure,) = parse_all(BASE).values()
    twin = _label_of(measure, given)
    own = labels.get("relevance")
    if twin is None or own is None or own in given:
        return perquery, dict(labels)
    own_values = perquery.loc[perquery["measure"] == own, "value"].to_numpy()
    twin_values = perquery.loc[perquery["measure"] == twin, "value"].to_numpy()
    if not np.array_equal(own_values, twin_values):
        return perquery, dict(labels)
    kept = perquery[perquery["measure"] != own].reset_index(drop=True)
    record_measures(kept, measures_by_label(kept))
    return kept, {**labels, "relevance": twin}


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
    """Return the results of values per topic, given the parameters of `TopicStructure.read`."""
    scales = parse_aspects(aspects)
    if not isinstance(scales, Aspects | None):
        raise MultiAspectError(
            f"aspects: expected the scales of the criteria, got names: {choices(scales)}"
        )
    if isinstance(measures, str) or not isinstance(measures, Sequence | Mapping | None):
        measures = [measures]
    perquery, given = select_measures(read_named_values(values), measures)
    array, names, _, labels = matrix(perquery, as_given=True, least=1)
    recorded = measures_by_label(perquery)
    known = recorded
    if isinstance(measures, Mapping):
        known = {**recorded, **given}
    check_directions(perquery, array, labels, known, "report")
    words = {label: measure for label, measure in given.items() if isinstance(measure, Direction)}
    by_label = {**recorded, **given, **dict.fromkeys(words)}
    main = main_measure({label: by_label[label] for label in labels})
    # The main measure is the first column, which is seen on narrow screens.
    by_label = {main: by_label[main], **by_label}
    perquery = rows_of_measures(perquery, list(by_label)).reset_index(drop=True)
    record_measures(perquery, by_label)
    check_columns(labels, {label: interval_columns(label, CI) for label in labels})
    check_baseline(baseline, names)
    by_human = None
    if human is not None:
        by_human = rows_of_measures(read_named_values(human), labels)
        record_measures(by_human, by_label)
    return Results(
        title=title,
        description=None,
        perquery=perquery,
        main=main,
        aspects=labels_of_aspects(by_label),
        baseline=baseline,
        structure=TopicStructure.read(perquery, by_label, **topics),
        human=by_human,
        directions=words,
        date=date,
        scales=scales,
    )
