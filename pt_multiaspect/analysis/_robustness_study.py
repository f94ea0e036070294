"""Claims about pairs of runs, and the questions that robustness puts to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
from ._pairs import Pairs, joint_level, make_pairs, pairs_of_runs, share
from ._robustness_material import Material
from ._significance import (
    ALPHA,
    clusters_note,
    mean_differences,
    mean_over_topics,
    n_unordered_pairs,
    signs_of_means,
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
from .missing_labels import MissingLabels, check_measure, compare_completions, has_inferred_scales
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
        has_order = self.claim.sign != 0
        if has_order:
            verdict = self.verdict
        else:
            verdict = UNDECIDED  # equal runs have no order that could hold
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
        #: Why a question is not answered, by question.
        self.left_out: dict[str, str] = {}
        #: A sentence for readers on a question that applies, but is not answered, by question.
        self.unanswered: dict[str, str] = {}
        #: The results that answers come from, by the attribute of `Robustness`.
        self.results: dict[str, Any] = {}
        #: Whether lower is better.
        self.lower = lower_is_better(material.measure)
        # The values of the measure; they are negated if lower is better.
        oriented = material.values.select([material.label])
        self.values = oriented.values
        self.qids = oriented.qids
        self.clusters = self._clusters_of(oriented.qids)
        self.in_order = material.means.index.tolist()
        #: The pairs of the family, those of the claims first.
        self.pairs = self._family_of_pairs(oriented, baseline)
        #: The number of tests of the family: a pair and its reverse are one test.
        self.n_tests = n_unordered_pairs(self.pairs)
        if baseline is None:
            # The best run is compared with each other run.
            n_runs = len(self.in_order)
            n_claims = n_runs - 1
        else:
            n_claims = len(self.pairs)
        # Claims are about values in the units of the measure: undo the negation.
        original_values = oriented.values * oriented.signs
        self.claims = self._make_claims(original_values, n_claims)

    def _family_of_pairs(self, read: OrientedValues, baseline: str | None) -> Pairs:
        """Return the pairs with the baseline, or else those of the best run, then all others."""
        if baseline is not None:
            return pairs_of_runs(read.names, self.in_order, baseline)
        best = self._best_run(read)
        others = [name for name in self.in_order if name != best]
        pairs_of_best = [(best, other) for other in others]
        further_pairs = combinations(others, 2)
        return make_pairs(read.names, [*pairs_of_best, *further_pairs])

    def _clusters_of(self, qids: Collection[object]) -> Clusters:
        """Return the clusters of some topics."""
        return check_clusters(clusters_of_topics(self.material.clusters, qids))

    def _best_run(self, read: OrientedValues) -> Any:
        """Return the name of the run that none beats; of equal ones, the first in the table.

        `read` has the values of a single measure, higher is better.
        """
        means = mean_over_topics(read.values)
        signs = signs_of_means(means, read.values)  # runs × other runs × measures
        signs_by_measure = signs[:, :, 0]
        is_other_better = signs_by_measure < 0
        is_beaten = is_other_better.any(axis=1)
        best_rows = np.flatnonzero(~is_beaten)
        best_names = [read.names[row] for row in best_rows]
        return min(best_names, key=self.in_order.index)

    def _make_claims(self, values: Floats, n_claims: int) -> list[Claim]:
        """Test all pairs, and return the first ones as claims.

        `values` are runs × topics × 1, in the units of the measure.
        """
        clusters = self.clusters
        tests = t_test_pairs(values, self.pairs, self.correction, clusters)
        level = planned_level(ALPHA, self.correction, self.n_tests)
        deviations = deviations_of_differences(values, self.pairs, clusters)  # pairs × 1
        effect = detectable_effect(len(clusters), POWER, level, clusters.freedom_ratio)
        detectable = effect * deviations[:, 0]
        names = self.pairs.columns
        signs = np.sign(tests["difference"])
        # A positive sign means that the first run is better.
        if self.lower:
            signs = signs * -1
        claims = []
        for row in range(n_claims):
            claim = Claim(
                a=names["a"][row],
                b=names["b"][row],
                difference=tests["difference"][row],
                low=tests["low"][row],
                high=tests["high"][row],
                p=tests["p"][row],
                confidence=tests["confidence"][row],
                detectable=detectable[row],
                sign=signs[row],
            )
            claims.append(claim)
        return claims

    @property
    def clusters_note(self) -> str:
        """A note on the clusters of topics; empty without clusters."""
        return clusters_note(self.values, self.pairs, self.clusters)

    def topics(self) -> list[Answer]:
        """Answer whether the tests of the claims are significant."""
        answers = []
        for claim in self.claims:
            is_significant = claim.p < ALPHA
            verdict = verdict_of(holds=is_significant, fails=False)
            evidence = self._evidence_of_test(claim)
            numbers = {
                "difference": claim.difference,
                "low": claim.low,
                "high": claim.high,
                "p": claim.p,
                "detectable": claim.detectable,
            }
            answers.append(Answer(claim, "topics", verdict, evidence, numbers))
        return answers

    def _evidence_of_test(self, claim: Claim) -> str:
        """Return the evidence of the test of a claim: its difference, interval and p."""
        difference = decimals(claim.difference)
        level = level_text(claim.confidence)
        interval = f"[{decimals(claim.low)}, {decimals(claim.high)}]"
        p = p_value(claim.p)
        # Say what the interval and p are corrected for.
        if self.correction is not None and self.n_tests > 1:
            joint = joint_level(CI, self.n_tests)
            interval += f" ({joint})"
            correction = self.correction.capitalize()
            p += f" ({correction}, {self.n_tests} pairs)"
        evidence = f"difference {difference}, {level} interval {interval}, {p}"
        if not np.isnan(claim.detectable):
            evidence += f"; detectable {decimals(claim.detectable)}"
        if not self.clusters.are_single_topics:
            evidence += f"; {topics_in_words(self.clusters)}"
        return evidence

    def aspects(self) -> list[Answer]:
        """Answer whether the tests on each aspect agree."""
        material = self.material
        if not material.aspects:
            return self._leave_out("aspects", f"{material.label} has no values on several aspects")
        differences_by_aspect = []
        levels_by_aspect = []
        for label in material.aspects.values():
            read = material.values.select([label])
            clusters = self._clusters_of(read.qids)
            tests = t_test_pairs(read.values, self.pairs, self.correction, clusters)
            differences_by_aspect.append(tests["difference"])
            levels_by_aspect.append(tests["p"])
        signs = np.sign(differences_by_aspect)  # aspects × pairs
        p = np.array(levels_by_aspect)
        answers = []
        # The first pairs are those of the claims.
        for pair, claim in enumerate(self.claims):
            signs_of_pair = signs[:, pair]
            p_of_pair = p[:, pair]
            answers.append(self._answer_of_aspects(claim, signs_of_pair, p_of_pair))
        return answers

    def _answer_of_aspects(self, claim: Claim, signs: Floats, p: Floats) -> Answer:
        """Return the answer, given the sign of the difference and p on each aspect."""
        is_significant = p < ALPHA
        is_same = signs == claim.sign
        is_other = signs == -claim.sign
        evidence = []
        for row, aspect in enumerate(self.material.aspects):
            word = _WORDS[signs[row]]
            level = p_value(p[row])
            text = f"{word} on {aspect} ({level})"
            if is_significant[row]:
                text = f"significantly {text}"
            evidence.append(text)
        confirms = is_same & is_significant
        contradicts = is_other & is_significant
        holds = bool(confirms.all())
        fails = bool(contradicts.any())
        numbers = {"same_sign": is_same.mean(), "significant": confirms.mean()}
        return Answer(claim, "aspects", verdict_of(holds, fails), choices(evidence), numbers)

    def weights(self) -> list[Answer]:
        """Answer whether the order holds under other weights of a mean over aspects."""
        mean = self.material.measure
        label = self.material.label
        if not isinstance(mean, AspectMean):
            return self._leave_out("weights", f"{label} is no mean over aspects")
        if not self.material.aspects:
            has_runs = self.material.runs is not None
            if has_runs:  # several aspects would have been evaluated
                return self._leave_out("weights", f"{label} has one aspect")
            return self._leave_untried(
                f"the values of the aspects that {label} combines are not given"
            )
        try:
            weighted, qids = self._weighted_values(mean)
        except MultiAspectError as error:
            return self._leave_out("weights", str(error), "Other weights could not be tried.")
        if not self._are_combined(weighted):
            return self._leave_untried(
                f"the values of the aspects are not those that {label} combines"
            )
        return self._answers_of_weightings(mean, weighted, qids)

    def _answers_of_weightings(
        self, mean: AspectMean, weighted: WeightedValues, qids: list[Any]
    ) -> list[Answer]:
        """Return the answers from the values of the mean under many weightings."""
        clusters = self._clusters_of(qids)
        weightings = compare_weightings(
            mean, weighted, self.pairs, clusters, _N_RESAMPLES, SEED, self.correction
        )
        self.results["weightings"] = weightings
        # The first pairs are those of the claims.
        rows = weightings.pairs.head(len(self.claims)).to_dict("records")
        answers = []
        for claim, row in zip(self.claims, rows, strict=True):
            answers.append(self._answer_of_weightings(claim, row, weighted.sampled))
        return answers

    def _leave_untried(self, reason: str) -> list[Answer]:
        """Return no answers on weights, after noting for readers why others were not tried."""
        return self._leave_out("weights", reason, f"Other weights could not be tried, as {reason}.")

    def _are_combined(self, weighted: WeightedValues) -> bool:
        """Return whether the aspects, under the weights of the measure, give its values."""
        by_aspects = mean_differences(weighted.declared, self.pairs)  # pairs × 1
        by_measure = mean_differences(self.values, self.pairs)
        largest_value = np.abs(self.values).max()
        deviations = np.abs(by_aspects - by_measure)
        is_different = deviations > _TOLERANCE * largest_value
        return not is_different.any()

    def _answer_of_weightings(
        self, claim: Claim, row: Mapping[Any, Any], sampled: Floats | None
    ) -> Answer:
        """Return the answer, given the row of the pair in `Weightings.pairs`.

        `sampled` are the values under sampled weightings, systems × topics × weightings.
        """
        significant = row["fraction_significant"]
        # The row tells how often the first run is better, and how often it is worse.
        if claim.sign < 0:
            same = row["fraction_lower"]
            other = row["fraction"]
        else:
            same = row["fraction"]
            other = row["fraction_lower"]
        weightings = "weightings"
        if sampled is not None:
            n_weightings = sampled.shape[2]
            weightings = f"{n_weightings} sampled weightings"
        percent_same = percent(same, MOST)
        percent_significant = percent(significant, MOST)
        evidence = f"{percent_same} of {weightings} give the same sign, "
        evidence += f"{percent_significant} significantly"
        if self.correction == "holm" and len(self.pairs) > 1:
            evidence += " (Holm)"
        if row["reversal"]:
            reversal = row["reversal"]
            evidence += f"; reversed by {reversal}"
        verdict = verdict_of_fractions(significant, other)
        numbers = {"same_sign": same, "significant": significant}
        return Answer(claim, "weights", verdict, evidence, numbers)

    def _weighted_values(self, mean: AspectMean) -> tuple[WeightedValues, list[Any]]:
        """Return the values of the mean under many weightings, and their topics."""
        material = self.material
        names = self.pairs.names
        if reads_rankings(mean):
            weighted = evaluate_weightings(
                mean, names, self.qids, None, SEED, material.runs, material.qrels
            )
            return weighted, self.qids
        # Other means combine the values of the aspects, which the material has.
        label_of_aspect = self._labels_to_combine(mean)
        labels = list(label_of_aspect.values())
        read = material.values.select(labels, "robustness")
        weighted = combine_aspects(mean, read.values, names, list(label_of_aspect), None, SEED)
        return weighted, read.qids

    def _labels_to_combine(self, mean: AspectMean) -> dict[str, str]:
        """Return the label of the values on each aspect, after checking that a mean combines them.

        The values may also be of criteria by which answers were judged: no measure is known for
        their labels.
        """
        labels = list(self.material.aspects.values())
        measure_of_label = self.material.values.known
        is_unknown = [measure_of_label[label] is None for label in labels]
        if all(is_unknown):
            mean.check_criteria(labels)
            return {label: label for label in labels}
        all_labels = [self.material.label, *labels]
        return find_labels_of_aspects(
            mean, {label: measure_of_label[label] for label in all_labels}
        )

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
        multiverse = compare_variants(
            read, self.in_order, self.pairs, clusters, material.label, ALPHA, self.correction, CI
        )
        self.results["multiverse"] = multiverse

        # Variants with the values of an earlier one do not count.
        is_distinct = np.array([label not in multiverse.same_as for label in labels])
        names = np.array(labels, dtype=object)[is_distinct]
        # The table has one row per pair and variant, in this order.
        shape = (len(self.pairs), len(labels))
        differences = multiverse.variants["difference"].to_numpy().reshape(shape)
        p = multiverse.variants["p"].to_numpy().reshape(shape)
        signs = np.sign(differences[:, is_distinct])
        is_significant = p[:, is_distinct] < ALPHA
        answers = []
        # The first pairs are those of the claims.
        for pair, claim in enumerate(self.claims):
            significance_of_pair = is_significant[pair]
            answers.append(_answer_of_variants(claim, names, signs[pair], significance_of_pair))
        return answers

    def missing_labels(self, model: Judgments | None) -> list[Answer]:
        """Answer whether the order holds for all values of the missing labels."""
        material = self.material
        if material.runs is None or material.qrels is None:
            return self._leave_out("labels", "missing ones are found in runs and qrels")
        try:
            intervals = self._compare_completions(material.runs, material.qrels, model)
        except MultiAspectError as error:
            sentence = "Other values of missing labels could not be tried"
            if has_inferred_scales(material.measure, material.qrels):
                sentence += ", as the label scales are not declared"
            return self._leave_out("labels", str(error), f"{sentence}.")
        self.results["missing_labels"] = intervals
        missing = _missing_by_aspect(intervals.universe)
        rows = intervals.pairs.to_dict("records")
        answers = []
        for claim, row in zip(self.claims, rows, strict=True):
            answers.append(_answer_of_labels(claim, missing, row, lower_is_better=self.lower))
        return answers

    def _compare_completions(
        self, runs: Mapping[Any, Any], qrels: Judgments, model: Judgments | None
    ) -> MissingLabels:
        """Return the intervals of the claims' differences over all values of missing labels."""
        material = self.material
        pairs_of_claims = [(claim.a, claim.b) for claim in self.claims]
        pairs = make_pairs(list(runs), pairs_of_claims)
        measure = check_measure(material.label, material.measure, qrels)
        joined = {name: join(name, run, qrels) for name, run in runs.items()}
        by_label = {material.label: measure}
        return compare_completions(
            by_label, qrels, joined, pairs, _N_SAMPLES, SEED, model, material.clusters
        )

    def judges(self, judges: object) -> list[Answer]:
        """Answer whether the order holds by the labels of each judge."""
        material = self.material
        if material.runs is None:
            return self._leave_out("judges", "their labels are evaluated with runs and qrels")
        with silence_warnings():
            judged = evaluate_by_judge(material.runs, judges, {material.label: material.measure})
        clusters = clusters_of_topics(material.clusters, judged.qids)
        answers = []
        tables = []
        for claim in self.claims:
            table = _differences_by_judge(claim, judged, clusters)
            tables.append(table)
            signs = np.sign(table["difference"].to_numpy())
            if self.lower:
                signs = -signs
            answers.append(_answer_of_judges(claim, judged, signs))
        self.results["judges"] = pd.concat(tables, ignore_index=True)
        return answers

    def _leave_out(self, question: str, reason: str, for_readers: str = "") -> list[Answer]:
        """Note why a question is not answered, and return no answers.

        If the question applies, `for_readers` is the sentence that says so in a report.
        """
        self.left_out[question] = reason
        if for_readers:
            self.unanswered[question] = for_readers
        return []


def _differences_by_judge(claim: Claim, judged: JudgedRuns, clusters: Clusters) -> pd.DataFrame:
    """Return the difference of two runs, and its interval, by the labels of each judge."""
    row_of_a = judged.names.index(claim.a)
    row_of_b = judged.names.index(claim.b)
    values_of_a = judged.values[:, row_of_a]  # judges × topics
    values_of_b = judged.values[:, row_of_b]
    means = judged.values.mean(axis=-1)  # judges × runs
    raw_differences = means[:, row_of_a] - means[:, row_of_b]
    magnitudes = np.abs(judged.values[:, [row_of_a, row_of_b]])  # judges × 2 × topics
    largest_of_judge = magnitudes.max(axis=(1, 2))
    differences = remove_rounding_errors(raw_differences, largest_of_judge)
    half = half_width(values_of_a - values_of_b, CI, clusters)
    columns = {
        "a": claim.a,
        "b": claim.b,
        "judge": judged.judges,
        "difference": differences,
        "low": differences - half,
        "high": differences + half,
    }
    return pd.DataFrame(columns)


def _answer_of_variants(claim: Claim, names: Any, signs: Floats, is_significant: Bools) -> Answer:
    """Return the answer of the variants with distinct values.

    `names`, `signs` and `is_significant` have one element per variant.
    """
    is_same = signs == claim.sign
    is_other = signs == -claim.sign
    confirms = is_significant & is_same
    n_variants = len(names)
    n_confirming = int(confirms.sum())
    n_other = int(is_other.sum())
    share_same = share(int(is_same.sum()), n_variants, "measure", "gives", "give")
    evidence = f"{share_same} the same sign, {n_confirming} significantly"
    if n_other > 0:
        contradicting = choices(names[is_other])
        evidence += f"; reversed by {contradicting}"
    else:
        evidence += _names_of_minority(names, confirms)
    verdict = verdict_of_variants(n_confirming, n_other, n_variants)
    numbers = {"same_sign": is_same.mean(), "significant": confirms.mean()}
    return Answer(claim, "variants", verdict, evidence, numbers)


def _names_of_minority(names: Any, confirms: Bools) -> str:
    """Return the names of the variants that confirm a claim or, if these are more, of the others.

    It is put after a number of significant ones: "2 significantly: AP, RR", or "4 significantly;
    not significant by AP". The text is empty if all variants confirm the claim, or none.
    """
    n_confirming = int(confirms.sum())
    if n_confirming == 0 or n_confirming == len(names):
        return ""
    if n_confirming <= len(names) / 2:
        confirming = choices(names[confirms])
        return f": {confirming}"
    not_confirming = choices(names[~confirms])
    return f"; not significant by {not_confirming}"


def _missing_by_aspect(universe: pd.DataFrame) -> str:
    """Return the number of missing labels by aspect, given `MissingLabels.universe`."""
    numbers = []
    for row in universe.to_dict("records"):
        n_missing = row["missing"]
        aspect = row["aspect"]
        if n_missing > 0:
            numbers.append(f"{n_missing} of {aspect}")
    return choices(numbers) or "none"


def _answer_of_labels(
    claim: Claim, missing: str, row: Mapping[Any, Any], *, lower_is_better: bool
) -> Answer:
    """Return the answer of missing labels, given the row of the pair in `MissingLabels.pairs`.

    `missing` is the text of `_missing_by_aspect`.
    """
    low = row["low"]
    high = row["high"]
    expected = row["expected"]
    evidence = f"labels missing: {missing}"
    evidence += _evidence_of_completions(low, high, expected)
    # The interval is that of the values, in the units of the measure.
    if lower_is_better:
        sign_of_values = -claim.sign
    else:
        sign_of_values = claim.sign
    verdict = verdict_of_labels(sign_of_values, low, high, expected)
    numbers = {"low": low, "high": high, "difference": expected}
    return Answer(claim, "labels", verdict, evidence, numbers)


def _evidence_of_completions(low: float, high: float, expected: float) -> str:
    """Return the interval of a difference and its expected value, as far as they are not NaN."""
    interval = f"[{decimals(low)}, {decimals(high)}]"
    has_interval = not np.isnan(low)
    has_expected = not np.isnan(expected)
    if has_interval and has_expected:
        return f"; difference in {interval}, expected {decimals(expected)}"
    if has_interval:
        return f"; difference in {interval}"
    if has_expected:
        return f"; expected difference {decimals(expected)}"
    return ""


def _answer_of_judges(claim: Claim, judged: JudgedRuns, signs: Floats) -> Answer:
    """Return the answer of the judges, given the sign of the difference by the labels of each.

    The labels of a judge who labelled few documents on a criterion are mostly those of others, so
    such a judge decides nothing.
    """
    least_labelled = _LEAST_LABELLED * judged.n_documents  # per criterion
    has_enough = judged.n_labelled >= least_labelled  # judges × criteria
    decides = has_enough.all(axis=1)
    deciding_signs = signs[decides]
    is_same = deciding_signs == claim.sign
    fraction_same = np.nan
    if len(is_same) > 0:
        fraction_same = is_same.mean()
    # A single judge is no evidence of agreement.
    verdict = UNDECIDED
    if len(is_same) >= 2:
        verdict = verdict_of_judges(deciding_signs.tolist(), claim.sign)
    evidence = _evidence_of_judges(claim, judged, signs, np.asarray(decides))
    return Answer(claim, "judges", verdict, evidence, {"same_sign": fraction_same})


def _evidence_of_judges(claim: Claim, judged: JudgedRuns, signs: Floats, decides: Bools) -> str:
    """Return which judges agree with a claim, and how many documents they labelled.

    `signs` are those of the difference by each judge, and the mask `decides` is that of the judges
    who labelled enough documents to count.
    """
    names = np.array(judged.judges, dtype=object)
    is_same = signs == claim.sign
    is_opposed = signs == -claim.sign
    opposed = names[decides & is_opposed]
    undecided = names[~decides]
    n_same = int((decides & is_same).sum())
    n_deciding = int(decides.sum())
    share_same = share(n_same, n_deciding, "judge", "gives", "give")
    evidence = f"{share_same} the same sign"
    if len(opposed) > 0:
        verb = _verb(len(opposed), "gives", "give")
        evidence += f"; {choices(opposed)} {verb} the other"
    evidence += f"; {_labelled_documents(judged)}"
    if len(undecided) > 0:
        verb = _verb(len(undecided), "decides", "decide")
        evidence += f", so {choices(undecided)} {verb} nothing"
    return evidence


def _verb(number: int, singular: str, plural: str) -> str:
    """Return the form of a verb for a number of judges."""
    if number == 1:
        return singular
    return plural


def _labelled_documents(judged: JudgedRuns) -> str:
    """Return how many documents each judge labelled, by criterion if these numbers differ.

    Criteria with the same numbers are named together.
    """
    # One row per criterion: the number of each judge, and that of all judged documents.
    counts = pd.DataFrame(judged.n_labelled.T, index=judged.criteria)
    counts["any"] = judged.n_documents
    # Group the criteria whose rows are equal: by all columns.
    columns = list(counts.columns)
    groups = counts.groupby(columns, sort=False)
    texts = []
    for _, rows in groups:
        *n_by_judge, n_documents = rows.iloc[0].tolist()  # the same in all rows of the group
        on_criteria = ""
        if len(groups) > 1:
            on_criteria = f" on {choices(list(rows.index))}"
        texts.append(_numbers_of_judges(judged.judges, n_documents, n_by_judge, on_criteria))
    return "; ".join(texts)


def _numbers_of_judges(
    judges: Sequence[str], n_documents: int, n_labelled: Sequence[int], on_criteria: str
) -> str:
    """Return how many of the documents each judge labelled.

    Parameters
    ----------
    judges : sequence of str
        The judges.
    n_documents : int
        The number of documents that any judge labelled.
    n_labelled : sequence of int
        The number that each judge labelled.
    on_criteria : str
        The criteria that the numbers are about, such as " on 'accuracy'", or an empty text.
    """
    has_each_all = set(n_labelled) == {n_documents}
    if has_each_all:
        return f"each labelled all {n_documents} documents{on_criteria}"
    number_by_judge = []
    for judge, number in zip(judges, n_labelled, strict=True):
        number_by_judge.append(f"{judge} {number}")
    documents = number_of(n_documents, "document")
    numbers = choices(number_by_judge)
    return f"labelled of {documents}{on_criteria}: {numbers}"
