"""Everything a report shows, computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from ..analysis import (
    DiscriminativePower,
    PredictionPowered,
    correlation,
    discriminative_power,
    prediction_powered,
)
from ..analysis._frames import matrix, of_measures
from ..analysis._significance import corrector
from ..description import Description
from ..errors import MultiAspectError, number_of, silenced
from ..evaluation import aggregate, interval_columns
from ..evaluation.labels import recorded
from ..integration.aggregators import aggregate_is_mean, lower_aggregate_is_better
from ..kernels.pareto import on_front
from ..tables.heads import Head, heads_of

__all__ = ["Figures", "Options", "Tests", "ends", "fronts", "wide"]


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
        """The correction of the comparisons with one baseline; 'tukey' corrects for all pairs itself."""
        return None if self.test == "tukey" and self.correction == "holm" else self.correction


@dataclass(frozen=True, eq=False)
class Tests:
    """The comparisons of all pairs of systems."""

    power: DiscriminativePower
    #: As `compare_with_baseline` returns, with each system as the baseline.
    comparisons: pd.DataFrame
    correlations: pd.DataFrame


@dataclass(eq=False)
class Figures:
    """The figures of a report, computed from the values per query."""

    title: str
    description: Description
    perquery: pd.DataFrame
    #: The label of the measure of each aspect alone.
    aspects: Mapping[str, str]
    baseline: str | None
    options: Options
    #: Versions, digests of the input, scales and measures, as YAML.
    provenance: str
    #: The values by human judgments, None if all judgments are of one kind.
    human: pd.DataFrame | None = None
    #: The measures by label.
    measures: dict[str, Any] = field(init=False)
    heads: list[Head] = field(init=False)
    #: The aggregates, with intervals where there are any.
    systems: pd.DataFrame = field(init=False)
    #: What the page leaves out, and why.
    notes: list[str] = field(init=False)
    #: None if there are fewer than two systems or topics.
    tests: Tests | None = field(init=False, default=None)
    #: The systems that no other dominates on the aspects.
    not_dominated: list[str] = field(init=False)
    #: The estimates from human judgments and the labels of the report, None without human judgments.
    powered: PredictionPowered | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        perquery = self.perquery
        known = recorded(perquery)
        self.measures = {label: known[label] for label in map(str, perquery["measure"].unique())}
        self.heads = heads_of(self.measures)
        self.systems, self.notes = _systems_table(perquery, self.options.ci)
        n_systems, n_topics = (perquery[column].nunique() for column in ("name", "qid"))
        if min(n_systems, n_topics) >= 2:
            self.tests = _tests_of(perquery, self.options)
        else:
            few = "systems" if n_systems < 2 else "topics"
            self.notes.append(f"Tests, correlations and discriminative power require at least two {few}.")
        if self.human is not None:
            self.powered = self._powered(self.human)
        several = list(self.aspects.values())
        rows = _non_dominated(perquery, self.systems, several) if len(several) > 1 else []
        self.not_dominated = self.systems["name"].iloc[rows].tolist()

    def _powered(self, human: pd.DataFrame) -> PredictionPowered:
        """Return the estimates of the measures that are averaged over topics."""
        means = [label for label, measure in self.measures.items() if aggregate_is_mean(measure)]
        of_means = [of_measures(values, means) for values in (human, self.perquery)]
        powered = prediction_powered(*of_means, baseline=self.baseline, ci=self.options.ci)
        self.notes += [powered.notes[0], "Tests and their marks compare values by the model's judgments."]
        return powered

    @property
    def counts(self) -> list[str]:
        """The numbers of systems, topics and measures, in words."""
        counts = {"system": "name", "topic": "qid", "measure": "measure"}
        return [number_of(self.perquery[column].nunique(), noun) for noun, column in counts.items()]


def wide(perquery: pd.DataFrame) -> tuple[list[str], list[str], list[str], Floats]:
    """Return systems, topics and measures in the order of the frame, and the values by measure, system, topic."""
    values, names, qids, labels = matrix(perquery, as_given=True, least=1)
    return names, qids, labels, values.transpose(2, 0, 1)


def _systems_table(perquery: pd.DataFrame, ci: float) -> tuple[pd.DataFrame, list[str]]:
    """Return the aggregates with intervals where there are any, and why there are none elsewhere."""
    known = recorded(perquery)
    parts, notes = [], []
    for label, of_measure in perquery.groupby("measure", sort=False):
        measures = {str(label): known[str(label)]} if known[str(label)] is not None else None
        try:
            part = aggregate(of_measure, measures, ci=ci)
        except MultiAspectError as error:
            part = aggregate(of_measure, measures)
            notes.append(str(error))
        parts.append(part.set_index("name"))
    table = pd.concat(parts, axis=1).reset_index()
    return table, notes


def _tests_of(perquery: pd.DataFrame, options: Options) -> Tests:
    """Compare all pairs of at least two systems, and the measures on them."""
    power = discriminative_power(
        perquery, options.test, n_resamples=options.n_resamples, alpha=options.alpha, seed=options.seed
    )
    with silenced():  # undefined correlations are shown as such
        correlations = correlation(perquery)
    names = list(map(str, perquery["name"].unique()))
    return Tests(power, _with_each_baseline(power.pairs, names, options), correlations)


def _with_each_baseline(pairs: pd.DataFrame, names: list[str], options: Options) -> pd.DataFrame:
    """Return the comparisons with each system as the only baseline, whose levels are those of the pairs."""
    correct = corrector(options.test, options.family_correction, options.alpha)
    rows_by_name = {name: row for row, name in enumerate(names)}
    parts = []
    for measure, of_measure in pairs.groupby("measure", sort=False):
        first, second = (of_measure[side].map(str).map(rows_by_name).to_numpy() for side in "ab")
        difference, level = np.zeros((len(names), len(names))), np.ones((len(names), len(names)))
        difference[second, first] = of_measure["difference"] + 0.0  # a minus b, where b is the baseline
        difference[first, second] = -of_measure["difference"] + 0.0
        level[first, second] = level[second, first] = of_measure["asl"]
        for against, baseline in enumerate(names):
            others = np.flatnonzero(np.arange(len(names)) != against)
            asl = level[against, others]
            p = correct(asl)
            rows: dict[str, Any] = {
                "measure": measure,
                "baseline": baseline,
                "name": [names[row] for row in others],
                "difference": difference[against, others],
                "asl": asl,
                "p": p,
                "significant": p < options.alpha,
            }
            parts.append(pd.DataFrame(rows))
    return pd.concat(parts, ignore_index=True)


def fronts(perquery: pd.DataFrame, table: pd.DataFrame, labels: list[str]) -> dict[tuple[int, int], list[int]]:
    """Return the systems that no other dominates on two measures, by the positions of the measures.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate`.
    table : DataFrame
        The aggregates.
    labels : list of str
        The measures.

    Returns
    -------
    dict of (int, int) to list of int
        Rows of the table, for each pair of measures.
    """
    return {
        pair: _non_dominated(perquery, table, [labels[column] for column in pair])
        for pair in combinations(range(len(labels)), 2)
    }


def _non_dominated(perquery: pd.DataFrame, table: pd.DataFrame, labels: list[str]) -> list[int]:
    """Return the rows of the systems that no other dominates on several measures, each in its direction."""
    known = recorded(perquery)
    gains = {
        str(column): table[label].to_numpy() * (-1.0 if lower_aggregate_is_better(known[label]) else 1.0)
        for column, label in enumerate(labels)
    }
    return np.flatnonzero(on_front(np.column_stack(list(gains.values())))).tolist()


def ends(table: pd.DataFrame, label: str, ci: float) -> tuple[list[float], list[float]] | None:
    """Return the lower and upper ends of the intervals of a measure, if it has any."""
    low, high = interval_columns(label, ci)
    return (table[low].tolist(), table[high].tolist()) if low in table else None
