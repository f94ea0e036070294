"""Figures of a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import DiscriminativePower, PredictionPowered, correlation, discriminative_power, prediction_powered
from ..analysis._frames import Direction, matrix, rows_of_measures
from ..analysis._significance import correct_groups
from ..analysis.baseline import add_verdicts
from ..aspects import Aspects
from ..description import Description
from ..errors import MultiAspectError, number_of, refuse_unknown, silence_warnings
from ..evaluation import aggregate, interval_columns
from ..evaluation.aggregation import ALL, rows_by_group
from ..evaluation.long_frames import measures_by_label
from ..integration.aggregators import aggregate_is_mean, lower_is_better
from ..kernels.pareto import is_on_front
from ..tables.content import column_heads

#: The minimum number of systems of a heat map of correlations: of fewer, they take few values.
FEWEST_OF_HEAT_MAPS = 5


@dataclass(frozen=True)
class Options:
    """Options of the comparison of systems; see `report`."""

    ci: float
    test: str
    correction: str | None
    alpha: float
    n_resamples: int
    seed: int

    @property
    def family_correction(self) -> str | None:
        """The correction of the comparisons with one baseline; 'tukey' itself corrects for all pairs."""
        return None if self.test == "tukey" and self.correction == "holm" else self.correction


def check_baseline(baseline: str | None, names: Collection[str]) -> None:
    """Raise an error for a baseline that is not among the systems, or the only one."""
    if baseline is None:
        return
    refuse_unknown([baseline], names, "one of the runs", "baseline")
    if len(names) == 1:
        raise MultiAspectError(f"baseline: expected systems to compare with {baseline}, got no other one; omit it")


@dataclass(frozen=True, eq=False)
class Tests:
    """The comparisons of all pairs of systems."""

    power: DiscriminativePower
    #: The result of `compare_with_baseline` for each system as the baseline, without groups of one topic.
    comparisons: pd.DataFrame
    correlations: pd.DataFrame


@dataclass(eq=False)
class Figures:
    """The figures of a report, computed from the values per query."""

    title: str
    #: The description of judgments and runs, None for values without judgments.
    description: Description | None
    perquery: pd.DataFrame
    #: The label of the measure that the summary is about.
    main: str
    #: The label of the measure of each aspect alone.
    aspects: Mapping[str, str]
    baseline: str | None
    options: Options
    #: The group of each topic; empty if there are no groups.
    groups: Mapping[str, str]
    #: Versions, digests of the input, scales and measures, as YAML.
    provenance: str
    #: The values by human judgments, None without human judgments.
    human: pd.DataFrame | None = None
    #: The directions of labels that do not name a measure.
    directions: Mapping[str, Direction] = field(default_factory=dict)
    date: str = ""
    #: The label scales of criteria, for values without judgments.
    scales: Aspects | None = None

    def __post_init__(self) -> None:
        perquery = self.perquery
        known = measures_by_label(perquery)
        #: The measures by label, None if unknown.
        self.measures: dict[str, Any] = {label: known[label] for label in map(str, perquery["measure"].unique())}
        #: Whether lower values of a topic are better, by label.
        self.lower: dict[str, bool] = {
            label: lower_is_better(self.directions.get(label, measure)) for label, measure in self.measures.items()
        }
        self.heads = column_heads({**self.measures, **self.directions})
        #: The aggregates, with intervals if they are defined, also for groups; the omissions, with reasons.
        self.systems, self.notes = _aggregate_measures(perquery, self.options.ci, self.groups)
        n_systems, n_topics = (perquery[column].nunique() for column in ("name", "qid"))
        #: None with fewer than two systems or topics.
        self.tests: Tests | None = None
        if min(n_systems, n_topics) >= 2:
            self.tests = _compare_all_pairs(perquery, self.options, self.groups, self.lower)
        else:
            few = "systems" if n_systems < 2 else "topics"
            self.notes.append(f"Tests, correlations and discriminative power require at least two {few}.")
        #: The estimates from human judgments and the labels of the report, None without human judgments.
        self.powered = None if self.human is None else self._estimates(self.human)
        several = list(self.aspects.values())
        systems = rows_of_group(self.systems)
        rows = self._front_rows(systems, several) if len(several) > 1 else []
        #: The systems that no other system dominates on the aspects.
        self.not_dominated: list[str] = systems["name"].iloc[rows].tolist()

    def _estimates(self, human: pd.DataFrame) -> PredictionPowered:
        """Return the estimates of the measures that are averaged over topics."""
        means = [label for label, measure in self.measures.items() if aggregate_is_mean(measure)]
        averaged = [rows_of_measures(values, means) for values in (human, self.perquery)]
        powered = prediction_powered(*averaged, baseline=self.baseline, ci=self.options.ci)
        n_human, n_topics = powered.table["n_human"].max(), self.perquery["qid"].nunique()
        self.notes.append(
            f"Estimates combine human judgments of {n_human} topics and the model's labels of {n_topics}, with "
            f"{100 * self.options.ci:g} % prediction-powered intervals. The human topics are assumed to be a "
            "random sample of all topics."
        )
        self.notes.append("The summary, values, tests and marks are based on the model's labels.")
        return powered

    def fronts(self, table: pd.DataFrame) -> dict[tuple[int, int], list[int]]:
        """Return the rows of the systems that no other system dominates, by the positions of two measures.

        Parameters
        ----------
        table : DataFrame
            The aggregates.
        """
        labels = list(self.measures)
        pairs = combinations(range(len(labels)), 2)
        return {pair: self._front_rows(table, [labels[column] for column in pair]) for pair in pairs}

    def _front_rows(self, table: pd.DataFrame, labels: list[str]) -> list[int]:
        """Return the rows of the systems that no other system dominates on several measures."""
        lower = {head.label: head.lower_is_better for head in self.heads}
        gains = [table[label].to_numpy() * (-1.0 if lower[label] else 1.0) for label in labels]
        return np.flatnonzero(is_on_front(np.column_stack(gains))).tolist()

    @property
    def counts(self) -> list[str]:
        """The numbers of systems, topics and measures, in words."""
        counts = {"system": "name", "topic": "qid", "measure": "measure"}
        return [number_of(self.perquery[column].nunique(), noun) for noun, column in counts.items()]


def rows_of_group(table: pd.DataFrame, group: str = ALL) -> pd.DataFrame:
    """Return the rows of a group of topics; all rows of a table without groups."""
    return table[table["group"] == group] if "group" in table else table


def values_by_measure(perquery: pd.DataFrame) -> tuple[list[str], list[str], list[str], Floats]:
    """Return systems, topics and measures in the order of the frame, and the values by measure, system, topic."""
    values, names, qids, labels = matrix(perquery, as_given=True, least=1)
    return names, qids, labels, values.transpose(2, 0, 1)


def _aggregate_measures(
    perquery: pd.DataFrame, ci: float, groups: Mapping[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the aggregates, with intervals if they are defined, and the reasons if they are not."""
    known = measures_by_label(perquery)
    parts, notes = [], []
    for label, values in perquery.groupby("measure", sort=False):
        measures = {str(label): known[str(label)]} if known[str(label)] is not None else None
        try:
            part = aggregate(values, measures, ci=ci, by=groups or None)
        except MultiAspectError as error:
            part = aggregate(values, measures, by=groups or None)
            notes.append(str(error))
        parts.append(part.set_index(["group", "name"] if groups else "name"))
    table = pd.concat(parts, axis=1).reset_index()
    return table, notes


def _compare_all_pairs(
    perquery: pd.DataFrame, options: Options, groups: Mapping[str, str], lower: Mapping[str, bool]
) -> Tests:
    """Compare all pairs of at least two systems, and the measures on them."""

    def power_on(topics: pd.DataFrame) -> DiscriminativePower:
        return discriminative_power(
            topics, options.test, n_resamples=options.n_resamples, alpha=options.alpha, seed=options.seed
        )

    power = power_on(perquery)
    with silence_warnings():  # undefined correlations are shown as such
        words = {label: "lower" if is_lower else "higher" for label, is_lower in lower.items()}
        correlations = correlation(perquery, measures=words)
    names = list(map(str, perquery["name"].unique()))
    comparisons = _compare_with_each({ALL: power.pairs}, names, options)
    pairs = {
        group: power_on(topics).pairs
        for group, topics in rows_by_group(perquery, groups)
        if topics["qid"].nunique() > 1
    }
    if pairs:
        comparisons = pd.concat([_compare_with_each(pairs, names, options), comparisons], ignore_index=True)
    comparisons = add_verdicts(comparisons, lower)
    return Tests(power, comparisons if groups else comparisons.drop(columns="group"), correlations)


def _compare_with_each(pairs: Mapping[str, pd.DataFrame], names: list[str], options: Options) -> pd.DataFrame:
    """Return the comparisons with each system as the only baseline, given the levels of pairs by group."""
    tests = pd.concat(
        [
            compared[["measure", "asl"]].assign(
                group=group,
                baseline=compared[baseline].map(str),
                name=compared[name].map(str),
                difference=sign * compared["difference"] + 0.0,  # a minus b
            )
            for group, compared in pairs.items()
            for name, baseline, sign in (("a", "b", 1.0), ("b", "a", -1.0))
        ],
        ignore_index=True,
    )
    position = {name: row for row, name in enumerate(names)}
    places: list[Any] = [tests[side].map(position).to_numpy() for side in ("name", "baseline")]
    places += [pd.factorize(tests[key])[0] for key in ("measure", "group")]
    tests = tests.iloc[np.lexsort(places)].reset_index(drop=True)

    def correct(asl: pd.Series[float]) -> Floats:
        levels = np.asarray(asl, dtype=np.float64).reshape(len(pairs), -1)
        return correct_groups(levels, options.test, options.correction, options.alpha).ravel()

    tests["p"] = tests.groupby(["measure", "baseline"], sort=False)["asl"].transform(correct)
    tests["significant"] = tests["p"] < options.alpha
    return tests[["group", "measure", "baseline", "name", "difference", "asl", "p", "significant"]]


def interval_values(table: pd.DataFrame, label: str, ci: float) -> tuple[list[float], list[float]] | None:
    """Return the lower and upper ends of the intervals of a measure, or None."""
    low, high = interval_columns(label, ci)
    return (table[low].tolist(), table[high].tolist()) if low in table and table[low].notna().all() else None
