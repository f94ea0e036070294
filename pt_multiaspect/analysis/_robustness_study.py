"""The values that robustness examines, the analyses of them, and their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..aspects import Aspects
from ..collection import Judgments
from ..errors import MultiAspectError, choices, number_of, refuse_single, refuse_unknown, silence_warnings
from ..evaluation import evaluate
from ..evaluation.long_frames import labels_of_aspects, measures_by_label, read_named_values
from ..evaluation.topic_groups import ALL
from ..evaluation.topics import check_all_topics
from ..integration.aggregators import aggregate_is_mean, lower_is_better
from ..integration.declared import default_measures
from ..integration.parsing import as_measure, parse_all, short_label
from ..integration.variants import one_choice_variants
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, as_repeatable, read_if_file
from ..kernels.intervals import half_width
from ..measures import AspectMean, On
from ..measures.terms import BasedMeasure
from ..views import decimals, percent
from ._frames import Direction, rows_of_measures, select_measures
from ._judged_runs import JudgedRuns, evaluate_by_judge
from ._pairs import read_baselines, rows_of_all
from .baseline import compare_with_baseline
from .missing_labels import missing_labels
from .multiverse import multiverse
from .power import detectable_difference
from .weightings import measures_of_aspects, weightings

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"

#: By question: the source of the row, and when the order holds and does not hold. It is undecided otherwise.
RULES = {
    "topics": ("a paired t-test over topics", "p is below alpha", ""),
    "aspects": (
        "the same test on each aspect",
        "the difference is significant, with the same sign, on all",
        "it is significant with the other sign on one",
    ),
    "weights": (
        "all weightings of the aspects, each equally likely",
        "the sign is the same and p is below alpha under 95 % of them",
        "the sign is the other one under more than 5 %",
    ),
    "variants": (
        "the measure and its variants",
        "the sign is the same and p is below alpha by 95 % of them (of fewer than ten: by all)",
        "the sign is the other one by more than 5 % (of fewer than ten: by one)",
    ),
    "labels": (
        "all values of the missing labels",
        "the sign is the same for all of them",
        "it is the other one for all of them, or that of the expected difference",
    ),
    "judges": ("the labels of each judge", "all give the same sign", "most give the other sign"),
}

#: The fraction of weightings, and of at least so many variants, that a conclusion needs.
_MOST, _FEW_VARIANTS = 0.95, 10

#: Differences of at most this, relative to the maximum, are rounding errors; a mean over aspects has more of them.
_ROUNDING, _TOLERANCE = 1e-12, 1e-9

#: The columns of numbers.
NUMBERS = ["difference", "low", "high", "p", "detectable", "same_sign", "significant"]

Rows = list[dict[str, Any]]

#: A function from a claim and its rows of a frame to the verdict, the evidence and numbers.
Judge = Callable[[Any, list[Any]], dict[str, Any]]


def verdict(holds: bool, fails: bool) -> str:
    """Return the verdict; what both holds and fails is undecided."""
    return UNDECIDED if holds == fails else HOLDS if holds else FAILS


def verdict_of_fractions(significant: float, other: float) -> str:
    """Return the verdict of weightings: the fractions with the same sign and p < alpha, and with the other sign."""
    return verdict(significant >= _MOST, other > 1 - _MOST)


def verdict_of_variants(n_significant: int, n_other: int, n_variants: int) -> str:
    """Return the verdict of variants, of which few must all agree."""
    if n_variants < _FEW_VARIANTS:
        return verdict(n_significant == n_variants, n_other > 0)
    return verdict_of_fractions(n_significant / n_variants, n_other / n_variants)


def verdict_of_labels(sign: float, low: float, high: float, expected: float) -> str:
    """Return the verdict of missing labels, from the interval of the difference and the expected one."""
    certain = float(low > 0) - float(high < 0)
    return verdict(certain == sign, certain == -sign or np.sign(expected) == -sign)


def verdict_of_judges(signs: Sequence[float], sign: float) -> str:
    """Return the verdict of judges, from the sign of the difference by the labels of each."""
    n_other = sum(own == -sign for own in signs)
    return verdict(all(own == sign for own in signs), n_other > len(signs) / 2)


def p_value(p: float) -> str:
    """Return a p-value with its relation."""
    return "p unknown" if np.isnan(p) else "p < 0.0001" if p < 0.0001 else f"p = {p:#.3g}"


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


def material_of_runs(runs: Any, qrels: Any, measure: Any, variants: Any, topics: Any = None) -> Material:
    """Evaluate the measure, its aspects and its variants, each once; each pipeline runs once."""
    check_all_topics(measure, "robustness compares the same topics by all variants")
    given_runs = NamedRuns.read(runs, topics, progress=False)
    judgments = select_topics(Judgments.of(qrels), given_runs.topics)
    named = {name: read_if_file(as_repeatable(run)) for name, run in given_runs}
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
            f"measure: expected one whose values are averaged over topics, got {label}; use another, such as AP"
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
        #: Values multiplied by it are higher-is-better.
        self.direction = -1 if self.lower else 1
        means = rows.groupby("name", sort=False)["value"].mean() * self.direction
        self.best = str(means.idxmax()) if self.baseline is None else None
        self._options: dict[str, Any] = {"alpha": self.alpha, "correction": self.correction, "by": self.by}
        tests = self._tests(rows)
        planned = detectable_difference(rows, baseline=self.against, power=self.power, **self._options).pairs
        self.keys = [key for key in ("group", "a", "b") if key in tests]
        planned = planned[[*self.keys, "detectable"]]
        claims = tests.merge(planned, on=self.keys, how="left", validate="one_to_one")
        #: The tests of the pairs, with intervals, detectable differences and the sign that is claimed.
        self.claims = claims.assign(sign=np.sign(claims["difference"]) * self.direction)

    def _tests(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the tests of one measure, with the columns ``a b difference low high p``, all topics first."""
        tests = compare_with_baseline(rows, self.against, **self._options)
        tests = tests.rename(columns={"name": "a", "baseline": "b"})
        if self.best is not None:
            tests = tests[tests["a"] == self.best]
        keys = [key for key in ("group", "a", "b") if key in tests]
        return tests[[*keys, "measure", "difference", "low", "high", "p"]].reset_index(drop=True)

    def _answer(self, question: str, frame: pd.DataFrame, judge: Judge) -> Rows:
        """Return one row per claim that the frame has rows of; rows without a group are those of all topics."""
        by_keys: dict[tuple[Any, ...], list[dict[Any, Any]]] = {}
        for row in frame.to_dict("records"):
            by_keys.setdefault(tuple(row.get(key, ALL) for key in self.keys), []).append(row)
        rows: Rows = []
        for claim in self.claims.to_dict("records"):
            pair: dict[str, Any] = {key: claim[key] for key in self.keys}
            if found := by_keys.get(tuple(pair.values())):
                answer = judge(claim, found)
                if answer["verdict"] and not claim["sign"]:
                    answer["verdict"] = UNDECIDED
                rows.append({**pair, "question": question, **answer})
        return rows

    def topics(self) -> Rows:
        """Return the rows of the tests of the claims themselves."""
        n_runs = len(self.names)
        n_family = n_runs * (n_runs - 1) // 2 if self.baseline is None else n_runs - 1
        n_groups = self.claims["group"].nunique() - 1 if "group" in self.claims else 1

        def judge(claim: Any, _: list[Any]) -> dict[str, Any]:
            columns = ["difference", "low", "high", "p", "detectable"]
            n_pairs = n_family if claim.get("group", ALL) == ALL else n_family * n_groups
            is_corrected = self.correction is not None and n_pairs > 1
            note = " (not corrected)" if is_corrected else ""
            pairs = f" ({str(self.correction).capitalize()}, {n_pairs} pairs)" if is_corrected else ""
            interval = f"[{decimals(claim['low'])}, {decimals(claim['high'])}]"
            evidence = (
                f"difference {decimals(claim['difference'])}, {100 * (1 - self.alpha):g} % interval "
                f"{interval}{note}, {p_value(claim['p'])}{pairs}"
            )
            if not np.isnan(claim["detectable"]):
                evidence += f"; detectable {decimals(claim['detectable'])}"
            holds = verdict(claim["p"] < self.alpha, False)
            return {"verdict": holds, "evidence": evidence, **{name: claim[name] for name in columns}}

        return self._answer("topics", self.claims, judge)

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

        def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
            gain = np.sign([row["gain"] for row in rows])
            significant = np.array([row["p"] < self.alpha for row in rows])
            same, other = gain == claim["sign"], gain == -claim["sign"]
            words = {1.0: "better", -1.0: "worse", 0.0: "equal"}
            evidence = [
                f"{'significantly ' if tested else ''}{words[float(sign)]} on {row['aspect']} ({p_value(row['p'])})"
                for row, sign, tested in zip(rows, gain, significant, strict=True)
            ]
            return {
                "verdict": verdict(bool((same & significant).all()), bool((other & significant).any())),
                "evidence": choices(evidence),
                "same_sign": same.mean(),
                "significant": (same & significant).mean(),
            }

        return self._answer("aspects", pd.concat(parts, ignore_index=True), judge)

    def weights(self) -> Rows:
        """Return the rows of weightings of a mean over aspects."""
        material = self.material
        if not isinstance(material.measure, AspectMean):
            return self._leave_out("weights", f"{material.label} is no mean over aspects")
        labels = list(material.aspects.values())
        if material.runs is None and len(labels) < 2:
            reason = f"the values of the aspects that {material.label} combines are not given"
            return self._leave_out("weights", reason)
        known = measures_by_label(material.perquery)
        are_criteria = all(known[label] is None for label in labels)
        try:
            found = weightings(
                material.rows(labels),
                material.measure,
                measures=dict.fromkeys(labels, "higher") if are_criteria else None,
                baseline=self.against,
                n_resamples=1,
                seed=self.seed,
                runs=material.runs,
                qrels=material.qrels,
                **self._options,
            )
        except MultiAspectError as error:
            return self._leave_out("weights", str(error))
        both = self.claims.merge(found.pairs, on=self.keys)
        own, other = both["difference_x"] * self.direction, both["difference_y"]
        largest = float(material.rows([])["value"].abs().max())
        if ((own - other).abs() > _TOLERANCE * largest).any():
            reason = f"the values of the aspects are not those that {material.label} combines"
            return self._leave_out("weights", reason)
        self.results["weightings"] = found

        def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
            (row,) = rows
            same, other = row["fraction"], row["fraction_lower"]
            if claim["sign"] < 0:
                same, other = other, same
            significant = row["fraction_significant"]
            evidence = f"{percent(same)} of weightings give the same sign, {percent(significant)} significantly"
            if row["reversal"]:
                evidence += f"; reversed by {row['reversal']}"
            holds = verdict_of_fractions(significant, other)
            return {"verdict": holds, "evidence": evidence, "same_sign": same, "significant": significant}

        return self._answer("weights", found.pairs, judge)

    def variants(self) -> Rows:
        """Return the rows of the variants with distinct values."""
        material = self.material
        if not material.variants:
            reason = f"{material.label} has none" if material.runs else "they are evaluated from runs and qrels"
            return self._leave_out("variants", reason)
        rows = material.rows(material.variants)
        found = multiverse(rows, baseline=self.against, reference=material.label, **self._options)
        self.results["multiverse"] = found

        def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
            signs = np.sign([row["difference"] for row in rows])
            significant = np.array([row["p"] < self.alpha for row in rows]) & (signs == claim["sign"])
            names = np.array([row["measure"] for row in rows], dtype=object)
            same, other = signs == claim["sign"], signs == -claim["sign"]
            evidence = f"{same.sum()} of {number_of(len(rows), 'measure')} give the same sign, "
            evidence += f"{significant.sum()} significantly"
            if other.any():
                evidence += f"; reversed by {choices(names[other])}"
            elif 0 < significant.sum() <= len(rows) / 2:
                evidence += f": {choices(names[significant])}"
            elif significant.any() and not significant.all():
                evidence += f"; not significant by {choices(names[~significant])}"
            return {
                "verdict": verdict_of_variants(int(significant.sum()), int(other.sum()), len(rows)),
                "evidence": evidence,
                "same_sign": same.mean(),
                "significant": significant.mean(),
            }

        return self._answer("variants", found.variants[found.variants["same_as"].isna()], judge)

    def of_labels(self, labels: Any) -> Rows:
        """Return the rows of missing labels."""
        material = self.material
        if material.runs is None:
            return self._leave_out("labels", "missing ones are found in runs and qrels")
        options: dict[str, Any] = {"baseline": self.best or self.baseline, "seed": self.seed, "labels": labels}
        try:
            found = missing_labels(material.runs, material.qrels, material.reported, **options)
        except MultiAspectError as error:
            return self._leave_out("labels", str(error))
        self.results["missing_labels"] = found
        # Its pairs may be the other way round.
        turned = found.pairs.rename(columns={"a": "b", "b": "a", "low": "high", "high": "low"})
        turned[["low", "high", "expected"]] *= -1
        both = pd.concat([found.pairs, turned], ignore_index=True)
        universe = found.universe.to_dict("records")
        missing = choices(f"{row['missing']} of {row['aspect']}" for row in universe if row["missing"])

        def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
            row = rows[0]
            low, high, expected = row["low"], row["high"], row["expected"]
            evidence = f"labels missing: {missing or 'none'}; difference in [{decimals(low)}, {decimals(high)}]"
            if not np.isnan(expected):
                evidence += f", expected {decimals(expected)}"
            holds = verdict_of_labels(claim["sign"] * self.direction, low, high, expected)
            return {"verdict": holds, "evidence": evidence, "low": low, "high": high, "difference": expected}

        return self._answer("labels", both, judge)

    def of_judges(self, judges: Any) -> Rows:
        """Return the rows of judges, from the means of the runs by the labels of each."""
        material = self.material
        if material.runs is None:
            return self._leave_out("judges", "their labels are evaluated with runs and qrels")
        with silence_warnings():
            found = evaluate_by_judge(material.runs, judges, material.reported)
        claims = rows_of_all(self.claims)
        parts = [_differences_by_judge(found, a, b, self.alpha) for a, b in claims[["a", "b"]].to_numpy()]
        by_judge = self.results["judges"] = pd.concat(parts, ignore_index=True)
        means = found.values.mean(axis=-1)
        zero = _ROUNDING * np.abs(means).max()

        def judge(claim: Any, rows: list[Any]) -> dict[str, Any]:
            differences = np.array([row["difference"] for row in rows])
            signs = np.sign(np.where(np.abs(differences) > zero, differences, 0.0)) * self.direction
            n_same = int((signs == claim["sign"]).sum())
            evidence = f"{n_same} of {number_of(len(signs), 'judge')} give the same sign"
            other = [row["judge"] for row, sign in zip(rows, signs, strict=True) if sign == -claim["sign"]]
            if other:
                evidence += f"; {choices(other)} {'gives' if len(other) == 1 else 'give'} the other"
            holds = verdict_of_judges(signs.tolist(), claim["sign"])
            return {"verdict": holds, "evidence": evidence, "same_sign": n_same / len(signs)}

        return self._answer("judges", by_judge, judge)

    def _leave_out(self, question: str, reason: str) -> Rows:
        """Return no rows of a question, after noting the reason."""
        self.left_out[question] = reason
        return []


def _differences_by_judge(judged: JudgedRuns, a: str, b: str, alpha: float) -> pd.DataFrame:
    """Return the difference of the means of two runs, and its t interval, by the labels of each judge."""
    row_a, row_b = judged.names.index(a), judged.names.index(b)
    means = judged.values.mean(axis=-1)
    difference = means[:, row_a] - means[:, row_b]
    half = half_width(judged.values[:, row_a] - judged.values[:, row_b], 1 - alpha)
    ends = {"low": difference - half, "high": difference + half}
    return pd.DataFrame({"a": a, "b": b, "judge": judged.judges, "difference": difference, **ends})
