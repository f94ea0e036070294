"""Claims about pairs of runs, and the questions that robustness puts to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats
from ..collection import Judgments
from ..errors import MultiAspectError, choices, number_of, silence_warnings
from ..evaluation.topic_clusters import check_clusters, clusters_of_topics, topics_in_words
from ..integration.aggregators import lower_is_better
from ..io.runs import join
from ..kernels.intervals import detectable_effect, half_width
from ..kernels.mean_errors import Clusters
from ..kernels.rounding import remove_rounding_errors
from ..measures import AspectMean
from ..views import decimals, level_text, percent
from ._judged_runs import JudgedRuns, evaluate_by_judge
from ._pairs import joint_level, make_pairs, pairs_of_runs, share
from ._robustness_material import Material
from ._significance import (
    ALPHA,
    clusters_note,
    mean_differences,
    mean_over_topics,
    signs_of_means,
    unordered_pairs,
)
from ._value_matrices import OrientedValues
from ._verdicts import (
    MOST,
    UNDECIDED,
    p_value,
    verdict_of,
    verdict_of_fractions,
    verdict_of_judges,
    verdict_of_labels,
    verdict_of_variants,
)
from ._weighted_values import (
    WeightedValues,
    combine_aspects,
    evaluate_weightings,
    find_labels_of_aspects,
    reads_rankings,
)
from .baseline import t_test_pairs
from .missing_labels import check_measure, compare_completions, has_inferred_scales
from .multiverse import compare_variants
from .power import deviations_of_differences, planned_level
from .weightings import compare_weightings

#: The confidence level of intervals of differences.
CI = 1 - ALPHA

#: The probability of finding the detectable difference.
POWER = 0.8

#: The random seed.
SEED = 0

#: The number of draws of missing labels.
_N_SAMPLES = 100

#: The number of bootstrap samples of the topics.
_N_RESAMPLES = 1000

#: Values of a mean over aspects that differ by at most this, relative to the maximum, are equal.
_TOLERANCE = 1e-9

#: A judge who labelled a smaller fraction of the documents decides nothing.
_LEAST_LABELLED = 0.5

_WORDS = {1.0: "better", -1.0: "worse", 0.0: "equal"}


@dataclass(frozen=True)
class Claim:
    """The observed difference between two runs, whose sign is examined."""

    a: Any
    b: Any
    #: The mean of a minus that of b, its t interval and the corrected p.
    difference: float
    low: float
    high: float
    p: float
    #: The confidence level of the interval.
    confidence: float
    #: The minimum detectable difference.
    detectable: float
    #: 1 if a is better, −1 if it is worse, 0 if both are equal.
    sign: float


@dataclass(frozen=True)
class Answer:
    """The answer to a question about a claim: a row of the table."""

    claim: Claim
    question: str
    verdict: str
    evidence: str
    #: The numbers of the row; others are NaN.
    numbers: Mapping[str, float]

    def row(self) -> dict[str, Any]:
        """Return the row of the table."""
        verdict = self.verdict if self.claim.sign else UNDECIDED
        return {
            "a": self.claim.a,
            "b": self.claim.b,
            "question": self.question,
            "verdict": verdict,
            "evidence": self.evidence,
            **self.numbers,
        }


class Study:
    """The claims, and the questions that are put to them.

    Each method answers a question for every claim, or returns nothing if it cannot be answered; the
    reason is then in `left_out`, and a sentence for readers in `unanswered` if the question
    applies.

    Parameters
    ----------
    material : Material
        The values.
    baseline : str or None
        The run that the others are compared with. By default, the best run is compared with each
        other, and all pairs form a family, as the best was chosen among them.
    correction : {'holm', None}
        The correction for the pairs of the family.
    """

    def __init__(self, material: Material, baseline: str | None, correction: str | None) -> None:
        self.material = material
        self.correction = correction
        self.left_out: dict[str, str] = {}
        self.unanswered: dict[str, str] = {}
        #: The results that answers come from, by the attribute of `Robustness`.
        self.results: dict[str, Any] = {}
        self.lower = lower_is_better(material.measure)
        read = material.values.select([material.label])
        self.values, self.qids = read.values, read.qids
        self.clusters = self._clusters_of(read.qids)
        self.in_order = material.means.index.tolist()
        if baseline is None:
            best = self._best_run(read)
            others = [name for name in self.in_order if name != best]
            of_best = [(best, other) for other in others]
            #: The pairs of the family, those of the claims first.
            self.pairs = make_pairs(read.names, [*of_best, *combinations(others, 2)])
            n_claims = len(of_best)
        else:
            self.pairs = pairs_of_runs(read.names, self.in_order, baseline)
            n_claims = len(self.pairs)
        #: The number of tests of the family.
        self.n_tests = len(unordered_pairs(self.pairs)[0])
        self.claims = self._make_claims(read.values * read.signs, n_claims)

    def _clusters_of(self, qids: Collection[object]) -> Clusters:
        """Return the clusters of some topics."""
        return check_clusters(clusters_of_topics(self.material.clusters, qids))

    def _best_run(self, read: OrientedValues) -> Any:
        """Return the best run, of equal ones the first."""
        signs = signs_of_means(mean_over_topics(read.values), read.values)[:, :, 0]
        is_beaten = np.asarray((signs < 0).any(axis=1))
        best = {name for name, beaten in zip(read.names, is_beaten, strict=True) if not beaten}
        return next(name for name in self.in_order if name in best)

    def _make_claims(self, values: Floats, n_claims: int) -> list[Claim]:
        """Test the pairs, given the values in the units of the measure."""
        clusters = self.clusters
        tests = t_test_pairs(values, self.pairs, self.correction, clusters)
        level = planned_level(ALPHA, self.correction, self.n_tests)
        deviations = deviations_of_differences(values, self.pairs, clusters)[:, 0]
        detectable = (
            detectable_effect(len(clusters), POWER, level, clusters.freedom_ratio) * deviations
        )
        signs = np.sign(tests["difference"]) * (-1 if self.lower else 1)
        columns = self.pairs.columns
        return [
            Claim(
                columns["a"][row],
                columns["b"][row],
                tests["difference"][row],
                tests["low"][row],
                tests["high"][row],
                tests["p"][row],
                tests["confidence"][row],
                detectable[row],
                signs[row],
            )
            for row in range(n_claims)
        ]

    @property
    def clusters_note(self) -> str:
        """A note on the clusters of topics; empty without clusters."""
        return clusters_note(self.values, self.pairs, self.clusters)

    def topics(self) -> list[Answer]:
        """Answer whether the tests of the claims are significant."""
        is_corrected = self.correction is not None and self.n_tests > 1
        if is_corrected:
            joint = f" ({joint_level(CI, self.n_tests)})"
        else:
            joint = ""
        if is_corrected:
            family = f" ({str(self.correction).capitalize()}, {self.n_tests} pairs)"
        else:
            family = ""
        answers = []
        for claim in self.claims:
            interval = f"[{decimals(claim.low)}, {decimals(claim.high)}]"
            evidence = f"difference {decimals(claim.difference)}, {level_text(claim.confidence)} interval {interval}"
            evidence += f"{joint}, {p_value(claim.p)}{family}"
            if not np.isnan(claim.detectable):
                evidence += f"; detectable {decimals(claim.detectable)}"
            if not self.clusters.are_single_topics:
                evidence += f"; {topics_in_words(self.clusters)}"
            numbers = {
                "difference": claim.difference,
                "low": claim.low,
                "high": claim.high,
                "p": claim.p,
                "detectable": claim.detectable,
            }
            answers.append(
                Answer(claim, "topics", verdict_of(claim.p < ALPHA, False), evidence, numbers)
            )
        return answers

    def aspects(self) -> list[Answer]:
        """Answer whether the tests on each aspect agree."""
        material = self.material
        if not material.aspects:
            return self._leave_out("aspects", f"{material.label} has no values on several aspects")
        tests = []
        for label in material.aspects.values():
            read = material.values.select([label])
            tests.append(
                t_test_pairs(read.values, self.pairs, self.correction, self._clusters_of(read.qids))
            )
        signs = np.sign([test["difference"] for test in tests])  # aspects × pairs
        p = np.array([test["p"] for test in tests])
        return [
            self._answer_of_aspects(claim, signs[:, row], p[:, row])
            for row, claim in enumerate(self.claims)
        ]

    def _answer_of_aspects(self, claim: Claim, signs: Floats, p: Floats) -> Answer:
        """Return the answer, given the sign and p on each aspect."""
        is_significant = p < ALPHA
        same, other = signs == claim.sign, signs == -claim.sign
        evidence = []
        for row, aspect in enumerate(self.material.aspects):
            significantly = "significantly " if is_significant[row] else ""
            evidence.append(f"{significantly}{_WORDS[signs[row]]} on {aspect} ({p_value(p[row])})")
        found = verdict_of(
            bool((same & is_significant).all()), bool((other & is_significant).any())
        )
        numbers = {"same_sign": same.mean(), "significant": (same & is_significant).mean()}
        return Answer(claim, "aspects", found, choices(evidence), numbers)

    def weights(self) -> list[Answer]:
        """Answer whether the order holds under other weights of a mean over aspects."""
        material, mean = self.material, self.material.measure
        if not isinstance(mean, AspectMean):
            return self._leave_out("weights", f"{material.label} is no mean over aspects")
        if not material.aspects:
            if material.runs is not None:
                return self._leave_out("weights", f"{material.label} has one aspect")
            reason = f"the values of the aspects that {material.label} combines are not given"
            return self._leave_out(
                "weights", reason, f"Other weights could not be tried, as {reason}."
            )
        try:
            weighted, qids = self._weighted_values(mean)
        except MultiAspectError as error:
            return self._leave_out("weights", str(error), "Other weights could not be tried.")
        declared, own = (
            mean_differences(weighted.declared, self.pairs),
            mean_differences(self.values, self.pairs),
        )
        if (np.abs(declared - own) > _TOLERANCE * np.abs(self.values).max()).any():
            reason = f"the values of the aspects are not those that {material.label} combines"
            return self._leave_out(
                "weights", reason, f"Other weights could not be tried, as {reason}."
            )
        clusters = self._clusters_of(qids)
        found = compare_weightings(
            mean, weighted, self.pairs, clusters, _N_RESAMPLES, SEED, self.correction
        )
        self.results["weightings"] = found
        rows = found.pairs.head(len(self.claims)).to_dict("records")
        if weighted.sampled is None:
            sampled = ""
        else:
            sampled = f"{weighted.sampled.shape[2]} sampled "
        answers = []
        for claim, row in zip(self.claims, rows, strict=True):
            same, other = row["fraction"], row["fraction_lower"]
            if claim.sign < 0:
                same, other = other, same
            significant = row["fraction_significant"]
            family = " (Holm)" if self.correction == "holm" and len(self.pairs) > 1 else ""
            evidence = f"{percent(same, MOST)} of {sampled}weightings give the same sign, "
            evidence += f"{percent(significant, MOST)} significantly{family}"
            if row["reversal"]:
                evidence += f"; reversed by {row['reversal']}"
            numbers = {"same_sign": same, "significant": significant}
            answers.append(
                Answer(
                    claim, "weights", verdict_of_fractions(significant, other), evidence, numbers
                )
            )
        return answers

    def _weighted_values(self, mean: AspectMean) -> tuple[WeightedValues, list[Any]]:
        """Return the values of the mean under many weightings, and their topics."""
        material, names = self.material, self.pairs.names
        if reads_rankings(mean):
            weighted = evaluate_weightings(
                mean, names, self.qids, None, SEED, material.runs, material.qrels
            )
            return weighted, self.qids
        labels = list(material.aspects.values())
        known = {label: material.values.known[label] for label in [material.label, *labels]}
        if all(known[label] is None for label in labels):  # criteria of answers
            mean.check_criteria(labels)
            read, aspects = material.values.select(labels), labels
        else:
            by_aspect = find_labels_of_aspects(mean, known)
            read, aspects = (
                material.values.select(list(by_aspect.values()), "robustness"),
                list(by_aspect),
            )
        return combine_aspects(mean, read.values, names, aspects, None, SEED), read.qids

    def variants(self) -> list[Answer]:
        """Answer whether the order holds by the variants with distinct values."""
        material = self.material
        if not material.variants:
            if material.runs:
                reason = f"{material.label} has none"
            else:
                reason = "they are evaluated from runs and qrels"
            return self._leave_out("variants", reason)
        labels = list(dict.fromkeys([material.label, *material.variants]))
        read = material.values.select(labels, "robustness")
        clusters = self._clusters_of(read.qids)
        found = compare_variants(
            read, self.in_order, self.pairs, clusters, material.label, ALPHA, self.correction, CI
        )
        self.results["multiverse"] = found
        is_distinct = np.array([label not in found.same_as for label in labels])
        shape = (len(self.pairs), len(labels))
        signs = np.sign(found.variants["difference"].to_numpy().reshape(shape))[:, is_distinct]
        p = found.variants["p"].to_numpy().reshape(shape)[:, is_distinct]
        names = np.array(labels, dtype=object)[is_distinct]
        return [
            _answer_of_variants(claim, names, signs[row], p[row] < ALPHA)
            for row, claim in enumerate(self.claims)
        ]

    def missing_labels(self, model: Judgments | None) -> list[Answer]:
        """Answer whether the order holds for all values of the missing labels."""
        material = self.material
        if material.runs is None or material.qrels is None:
            return self._leave_out("labels", "missing ones are found in runs and qrels")
        names = list(material.runs)
        pairs = make_pairs(names, [(claim.a, claim.b) for claim in self.claims])
        try:
            measure = check_measure(material.label, material.measure, material.qrels)
            joined = {name: join(name, run, material.qrels) for name, run in material.runs.items()}
            evaluated = {material.label: measure}
            found = compare_completions(
                evaluated, material.qrels, joined, pairs, _N_SAMPLES, SEED, model, material.clusters
            )
        except MultiAspectError as error:
            sentence = "Other values of missing labels could not be tried."
            if has_inferred_scales(material.measure, material.qrels):
                sentence = "Other values of missing labels could not be tried, as the label scales are not declared."
            return self._leave_out("labels", str(error), sentence)
        self.results["missing_labels"] = found
        universe = found.universe.to_dict("records")
        missing = choices(
            f"{row['missing']} of {row['aspect']}" for row in universe if row["missing"]
        )
        answers = []
        for claim, row in zip(self.claims, found.pairs.to_dict("records"), strict=True):
            low, high, expected = row["low"], row["high"], row["expected"]
            evidence = f"labels missing: {missing or 'none'}"
            if not np.isnan(low):
                evidence += f"; difference in [{decimals(low)}, {decimals(high)}]"
            if not np.isnan(expected):
                separator = "; expected difference" if np.isnan(low) else ", expected"
                evidence += f"{separator} {decimals(expected)}"
            if self.lower:
                sign = -claim.sign
            else:
                sign = claim.sign
            numbers = {"low": low, "high": high, "difference": expected}
            answers.append(
                Answer(
                    claim, "labels", verdict_of_labels(sign, low, high, expected), evidence, numbers
                )
            )
        return answers

    def judges(self, judges: object) -> list[Answer]:
        """Answer whether the order holds by the labels of each judge."""
        material = self.material
        if material.runs is None:
            return self._leave_out("judges", "their labels are evaluated with runs and qrels")
        with silence_warnings():
            judged = evaluate_by_judge(material.runs, judges, {material.label: material.measure})
        clusters = clusters_of_topics(material.clusters, judged.qids)
        means = judged.values.mean(axis=-1)  # judges × runs
        answers, parts = [], []
        for claim in self.claims:
            a, b = judged.names.index(claim.a), judged.names.index(claim.b)
            largest = np.abs(judged.values[:, [a, b]]).max(axis=(1, 2))
            differences = remove_rounding_errors(means[:, a] - means[:, b], largest)
            half = half_width(judged.values[:, a] - judged.values[:, b], CI, clusters)
            ends = {"low": differences - half, "high": differences + half}
            columns = {
                "a": claim.a,
                "b": claim.b,
                "judge": judged.judges,
                "difference": differences,
                **ends,
            }
            parts.append(pd.DataFrame(columns))
            if self.lower:
                signs = -np.sign(differences)
            else:
                signs = np.sign(differences)
            answers.append(_answer_of_judges(claim, judged, signs))
        self.results["judges"] = pd.concat(parts, ignore_index=True)
        return answers

    def _leave_out(self, question: str, reason: str, sentence: str = "") -> list[Answer]:
        """Return no answers to a question, after noting the reason and, if the question applies, a sentence."""
        self.left_out[question] = reason
        if sentence:
            self.unanswered[question] = sentence
        return []


def _answer_of_variants(claim: Claim, names: Any, signs: Floats, is_significant: Bools) -> Answer:
    """Return the answer of the variants with distinct values."""
    same, other = signs == claim.sign, signs == -claim.sign
    significant = is_significant & same
    n_significant = int(significant.sum())
    evidence = share(int(same.sum()), len(names), "measure", "gives", "give") + " the same sign, "
    evidence += f"{n_significant} significantly"
    if other.any():
        evidence += f"; reversed by {choices(names[other])}"
    elif 0 < n_significant <= len(names) / 2:
        evidence += f": {choices(names[significant])}"
    elif significant.any() and not significant.all():
        evidence += f"; not significant by {choices(names[~significant])}"
    found = verdict_of_variants(n_significant, int(other.sum()), len(names))
    return Answer(
        claim,
        "variants",
        found,
        evidence,
        {"same_sign": same.mean(), "significant": significant.mean()},
    )


def _answer_of_judges(claim: Claim, judged: JudgedRuns, signs: Floats) -> Answer:
    """Return the answer of the judges, given the sign of the difference by the labels of each.

    The labels of a judge who labelled few documents on a criterion are mostly those of others, so
    such a judge decides nothing.
    """
    names = np.array(judged.judges, dtype=object)
    decides = (judged.n_labelled >= _LEAST_LABELLED * judged.n_documents).all(axis=1)
    n_deciding = int(decides.sum())
    n_same = int((signs[decides] == claim.sign).sum())
    evidence = share(n_same, n_deciding, "judge", "gives", "give") + " the same sign"
    others = names[decides & (signs == -claim.sign)]
    if len(others):
        evidence += f"; {choices(others)} {'gives' if len(others) == 1 else 'give'} the other"
    evidence += f"; {_labelled_documents(judged)}"
    if n_deciding < len(names):
        verb = "decides" if len(names) - n_deciding == 1 else "decide"
        evidence += f", so {choices(names[~decides])} {verb} nothing"
    if n_deciding < 2:
        found = UNDECIDED
    else:
        found = verdict_of_judges(signs[decides].tolist(), claim.sign)
    if n_deciding:
        same_sign = n_same / n_deciding
    else:
        same_sign = np.nan
    return Answer(claim, "judges", found, evidence, {"same_sign": same_sign})


def _labelled_documents(judged: JudgedRuns) -> str:
    """Return how many documents each judge labelled, by criterion if these numbers differ."""
    criteria: dict[tuple[int, ...], list[str]] = {}
    for name, n_documents, counts in zip(
        judged.criteria, judged.n_documents, judged.n_labelled.T, strict=True
    ):
        criteria.setdefault((n_documents, *counts), []).append(name)
    texts = []
    for (n_documents, *counts), names in criteria.items():
        if len(criteria) > 1:
            on = f" on {choices(names)}"
        else:
            on = ""
        if set(counts) == {n_documents}:
            texts.append(f"each labelled all {n_documents} documents{on}")
            continue
        by_judge = [f"{judge} {count}" for judge, count in zip(judged.judges, counts, strict=True)]
        texts.append(f"labelled of {number_of(n_documents, 'document')}{on}: {choices(by_judge)}")
    return "; ".join(texts)
