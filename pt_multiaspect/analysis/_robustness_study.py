"""The values that robustness examines, and the analyses of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import Aspects
from ..collection.judgments import Judgments
from ..errors import MultiAspectError, choices, refuse_single, refuse_unknown, silence_warnings
from ..evaluation.evaluating import evaluate
from ..evaluation.long_frames import labels_of_aspects, measures_by_label, read_named_values
from ..evaluation.topics import check_all_topics
from ..integration.aggregators import aggregate_is_mean, lower_is_better
from ..integration.declared import default_measures
from ..integration.parsing import as_measure, parse_all, short_label
from ..integration.variants import one_choice_variants
from ..io.runs import NamedRuns, as_repeatable, read_if_file
from ..measures.means import AspectMean
from ..measures.on import On
from ..measures.terms import BasedMeasure
from . import _robustness_rows as rows_of
from ._frames import Direction, rows_of_measures, select_measures
from ._robustness_rows import Rows
from .baseline import compare_with_baseline, read_baselines
from .detectable import detectable_difference
from .judges import judge_sensitivity
from .missing_labels import missing_labels
from .multiverse import multiverse
from .preferences import preference_agreement
from .weightings import measures_of_aspects, weightings

#: Relative tolerance for equal differences of means (rounding errors).
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Material:
    """The values that are examined, and the runs and qrels that they are of, if known."""

    perquery: pd.DataFrame
    label: str
    measure: Any
    #: The label of the measure of each aspect.
    aspects: Mapping[str, str]
    #: The labels of the variants, without the measure itself.
    variants: Sequence[str]
    runs: dict[str, object] | None = None
    qrels: Judgments | None = None

    @property
    def reported(self) -> dict[str, Any]:
        """The measure by its label."""
        return {self.label: self.measure}

    def rows(self, labels: Sequence[str]) -> pd.DataFrame:
        """Return the rows of the measure and of further labels."""
        return rows_of_measures(self.perquery, list(dict.fromkeys([self.label, *labels])))


def material_of_values(values: Any, measure: Any, variants: Any) -> Material:
    """Return the material of a frame of values."""
    perquery = read_named_values(values)
    if measure is None:
        measure = [str(perquery["measure"].iloc[0])] if len(perquery) else []
    chosen = measure if isinstance(measure, Mapping) else measure if isinstance(measure, list) else [measure]
    _, given = select_measures(perquery, chosen)
    label = _one([*map(str, chosen)])
    known = {**measures_by_label(perquery), **given}
    aspects = labels_of_aspects(
        {key: None if isinstance(found, Direction) else found for key, found in known.items()}
    )
    _check_mean(label, known[label])
    of_variants = [] if variants is None else [variants] if isinstance(variants, str) else list(map(str, variants))
    refuse_unknown(of_variants, known, "measures of the frame", "variants")
    of_aspects = aspects if label not in aspects.values() else {}
    return Material(perquery, label, known[label], of_aspects, [name for name in of_variants if name != label])


def material_of_runs(runs: Any, qrels: Any, measure: Any, variants: Any) -> Material:
    """Evaluate the measure, its aspects and its variants, each once."""
    check_all_topics(measure, "robustness compares the same topics by all variants")
    judgments = Judgments.of(qrels)
    named = {name: read_if_file(as_repeatable(run)) for name, run in NamedRuns.read(runs)}
    default = default_measures(judgments.label_names)
    given = dict([next(iter(default.items()))]) if measure is None else parse_all(measure)
    label = _one(list(given))
    reported = given[label]
    _check_mean(label, reported)
    names = _evaluated_aspects(reported, judgments)
    aspects = _measures_of_aspects(reported, judgments, names)
    others = one_choice_variants(reported, names) if variants is None else parse_all(variants)
    others = {key: variant for key, variant in others.items() if variant != reported}
    short = short_label(label, reported)
    label = label if short in others else short
    columns = {label: reported, **{str(part): part for part in aspects.values()}, **others}
    perquery = evaluate(named, judgments, columns, progress=False)
    labels = {name: str(part) for name, part in aspects.items()}
    return Material(perquery, label, reported, labels, list(others), named, judgments)


def _check_mean(label: str, measure: Any) -> None:
    """Check that values of topics are averaged: the differences that are examined are those of means."""
    if not aggregate_is_mean(None if isinstance(measure, Direction) else measure):
        raise MultiAspectError(
            f"measure: expected one whose values are averaged over topics, got {label}; use another, as AP for GMAP"
        )


def _one(labels: Sequence[str]) -> str:
    if len(labels) != 1:
        raise MultiAspectError(f"measure: expected one measure, got {choices(labels) or 'none'}")
    return labels[0]


def _evaluated_aspects(measure: Any, judgments: Judgments) -> list[str]:
    """Return the aspects that a measure evaluates."""
    try:
        return [view.name for view in as_measure(measure).views(judgments)]
    except MultiAspectError:  # of ir-measures' ERR, which has no equal here; `evaluate` reports other errors
        return []


def _measures_of_aspects(measure: Any, judgments: Judgments, names: Sequence[str]) -> dict[str, Any]:
    """Return the measure on each of several aspects: its base, or nDCG at its cutoff."""
    if len(names) < 2:
        return {}
    if isinstance(measure, AspectMean):
        return {part.one_aspect: part for part in measures_of_aspects(measure, judgments).values()}
    base = measure.bases.one.text if isinstance(measure, BasedMeasure) else f"nDCG@{measure.cutoff or 10}"
    scales = measure.spec if isinstance(measure.spec, Aspects) else None
    return {name: On(aspect=name, base=base, aspects=scales) for name in names}


@dataclass
class Study:
    """The pairs of runs that are examined, and the analyses of them.

    Each method returns the rows of a question, none if it cannot be answered; the reason is then in `left_out`.
    """

    material: Material
    baseline: str | None
    alpha: float
    correction: str | None
    power: float
    by: Any
    seed: int
    left_out: dict[str, str] = field(default_factory=dict)
    #: The results that rows come from, by the attribute of `Robustness`.
    results: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = self.material.rows([])
        self.names: list[str] = rows["name"].unique().tolist()
        refuse_single(self.names, "runs")
        #: The runs that others are compared with: all if the best is chosen, so that all pairs are a family.
        self.against = self.names if self.baseline is None else read_baselines(self.baseline, self.names)
        self.lower = lower_is_better(self.material.measure)
        means = rows.groupby("name", sort=False)["value"].mean() * (-1 if self.lower else 1)
        self.best = str(means.idxmax()) if self.baseline is None else None
        self._options = {"alpha": self.alpha, "correction": self.correction, "by": self.by}
        tests = self._tests(rows)
        planned = detectable_difference(rows, baseline=self.against, power=self.power, **self._options).pairs
        self.keys = [key for key in ("group", "a", "b") if key in tests]
        planned = planned[[*self.keys, "detectable"]]
        claims = tests.merge(planned, on=self.keys, how="left", validate="one_to_one")
        #: The tests of the pairs, with intervals, detectable differences and the sign that is claimed.
        self.claims = claims.assign(sign=np.sign(claims["difference"]) * (-1 if self.lower else 1))

    @property
    def n_family(self) -> int:
        """The number of pairs whose p-values are corrected together."""
        n_runs = len(self.names)
        return n_runs * (n_runs - 1) // 2 if self.baseline is None else n_runs - 1

    def _tests(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the tests of one measure, with the columns ``a b difference low high p``, all topics first."""
        tests = compare_with_baseline(rows, self.against, **self._options)
        tests = tests.rename(columns={"name": "a", "baseline": "b"})
        if self.best is not None:
            tests = tests[tests["a"] == self.best]
        keys = [key for key in ("group", "a", "b") if key in tests]
        return tests[[*keys, "measure", "difference", "low", "high", "p"]].reset_index(drop=True)

    def topics(self) -> Rows:
        """Return the rows of the tests."""
        return rows_of.topic_rows(self.claims, self.alpha, self.n_family, self.correction)

    def aspects(self) -> Rows:
        """Return the rows of the tests on each aspect."""
        if len(self.material.aspects) < 2:
            return self._leave_out("aspects", f"{self.material.label} has no values on several aspects")
        known = measures_by_label(self.material.perquery)
        parts = []
        for aspect, label in self.material.aspects.items():
            tests = self._tests(rows_of_measures(self.material.perquery, [label]))
            gain = tests["difference"] * (-1 if lower_is_better(known[label]) else 1)
            parts.append(tests.assign(aspect=aspect, gain=gain))
        return rows_of.aspect_rows(self.claims, pd.concat(parts, ignore_index=True), self.alpha)

    def weights(self) -> Rows:
        """Return the rows of weightings of a mean over aspects."""
        material = self.material
        if not isinstance(material.measure, AspectMean):
            return self._leave_out("weights", f"{material.label} is no mean over aspects")
        labels = list(material.aspects.values())
        if material.runs is None and len(labels) < 2:
            return self._leave_out(
                "weights", f"the values of the aspects that {material.label} combines are not given"
            )
        known = measures_by_label(material.perquery)
        are_criteria = all(known[label] is None for label in labels)
        options: dict[str, Any] = {
            "n_resamples": 1,
            "seed": self.seed,
            "runs": material.runs,
            "qrels": material.qrels,
        }
        try:
            found = weightings(
                material.rows(labels),
                material.measure,
                measures=dict.fromkeys(labels, "higher") if are_criteria else None,
                baseline=self.against,
                **options,
                **self._options,
            )
        except MultiAspectError as error:
            return self._leave_out("weights", str(error))
        both = self.claims.merge(found.pairs, on=self.keys)
        own, other = both["difference_x"] * (-1 if self.lower else 1), both["difference_y"]
        largest = float(material.rows([])["value"].abs().max())
        if ((own - other).abs() > _TOLERANCE * largest).any():
            return self._leave_out(
                "weights", f"the values of the aspects are not those that {material.label} combines"
            )
        self.results["weightings"] = found
        return rows_of.weight_rows(self.claims, found)

    def variants(self) -> Rows:
        """Return the rows of the variants."""
        material = self.material
        if not material.variants:
            reason = f"{material.label} has none" if material.runs else "values do not tell those of other measures"
            return self._leave_out("variants", reason)
        rows = material.rows(material.variants)
        found = multiverse(rows, baseline=self.against, reference=material.label, **self._options)
        self.results["multiverse"] = found
        return rows_of.variant_rows(self.claims, found, self.alpha)

    def of_labels(self, labels: Any) -> Rows:
        """Return the rows of missing labels."""
        material = self.material
        if material.runs is None:
            return self._leave_out("labels", "values do not tell which labels are missing")
        options: dict[str, Any] = {"baseline": self.best or self.baseline, "seed": self.seed, "labels": labels}
        try:
            found = missing_labels(material.runs, material.qrels, material.reported, **options)
        except MultiAspectError as error:
            return self._leave_out("labels", str(error))
        self.results["missing_labels"] = found
        return rows_of.label_rows(self.claims, found, self.lower)

    def of_judges(self, judges: Any) -> Rows:
        """Return the rows of the labels of each judge."""
        material = self.material
        if material.runs is None:
            return self._leave_out("judges", "values do not tell those by the labels of each judge")
        options: dict[str, Any] = {"resample": "judges", "n_resamples": 1, "seed": self.seed}
        with silence_warnings():  # of correlations, which are not shown
            found = judge_sensitivity(material.runs, judges, material.reported, **options)
        self.results["judges"] = found
        return rows_of.judge_rows(self.claims, found, self.lower)

    def of_preferences(self, preferences: Any) -> Rows:
        """Return the rows of the agreement with preferences of people."""
        options: dict[str, Any] = {"ci": 1 - self.alpha, "by": self.by, "seed": self.seed}
        found = self.results["preferences"] = preference_agreement(self.material.rows([]), preferences, **options)
        return rows_of.preference_rows(self.claims, found)

    def _leave_out(self, question: str, reason: str) -> Rows:
        """Return no rows of a question, after noting the reason."""
        self.left_out[question] = reason
        return []
