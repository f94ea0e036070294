"""`check_measure` and `check_distance`: they pass what is right, and catch planted lies."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import (
    AP,
    ERR,
    RBP,
    RR,
    Judged,
    NumQ,
    NumRel,
    P,
    R,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    Success,
    infAP,
    nDCG,
)
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import errors
from pt_multiaspect.bases import Base, Statements, precision
from pt_multiaspect.bases.adapters import ADAPTERS
from pt_multiaspect.kernels.progress import APProgress, Progression
from pt_multiaspect.testing import FailedCheckError, check_distance, check_measure

THEMES = {"themes": "relevance", "usability": "credibility"}
REQUIRED = {
    "RelativeRecall": {"expected": 2}, "RecallEffort": {"expected": 2}, "MDCU": THEMES, "nMDCU": THEMES,
    "MeanOf": {"measures": {"IRec": 1, "TOMA": 2, "CAM(base='AP')": 0.5}},
}  # fmt: skip
BASES = (nDCG, nDCG(dcg="exp-log2"), nDCG @ 3, P @ 1, P @ 2, R @ 2, Rprec, Success @ 2, SetP, SetP(relative=True),
         SetR, SetF, SetAP, AP, AP(rel=2), RR, ERR, RBP(p=0.5), Judged, Judged @ 2, NumRel, NumQ,
         infAP)  # fmt: skip


# -- what is right passes
# ----------------------------------------------------------------------------------


@pytest.mark.every(16)
@pytest.mark.parametrize("measure", ma.measures.ALL, ids=str)
def test_every_measure_of_the_package(measure: ma.Measure) -> None:
    check_measure(measure(**REQUIRED.get(measure.NAME, {})))


@pytest.mark.every(9)
@pytest.mark.parametrize(
    "measure",
    [
        ma.CAM(normalized=True, aspects={"relevance": 2, "credibility": 2}),
        ma.CAM(
            base={"relevance": "AP", "credibility": "RBP(p=0.5)"},
            empty="drop",
            aspects="relevance,credibility",
        ),
        ma.MM(
            base="AP",
            weights={"relevance": 3, "credibility": 1},
            aspects={"relevance": 2, "credibility": 2},
        ),
        ma.TOMA(weighting="exponential", base="P@2"),
        ma.TOMA(weighting="normalized", base="ERR", positives="top-half"),
        ma.TOMA(
            order=ma.Order(
                {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 4}, ["relevance", "credibility"]
            )
        ),
        ma.DCG(dcg="exp-log2"),
        ma.DCG(dcg="jarvelin"),
        ma.On(aspect="credibility", base="AP@2"),
        ma.IRec(weights={"relevance": 1, "credibility": 0}),
        ma.DnDCG(weights={"relevance": 0.1, "credibility": 0.3}),
        ma.DSharpnDCG(gamma=0.9, weights={"relevance": 1, "credibility": 3}),
        ma.Subtopics(base="ERR_IA", graded=True, weights={"relevance": 1, "credibility": 3}),
        ma.MeanOf({"MM": 2, "nDCG@2": 1}),
    ],
    ids=str,
)
def test_parameters(measure: Any) -> None:
    check_measure(measure)


@pytest.mark.every(14)
@pytest.mark.parametrize("measure", BASES, ids=str)
def test_every_base(measure: ir_measures.Measure) -> None:
    check_measure(measure)


def test_all_bases_are_among_them() -> None:
    assert set(ADAPTERS) <= {type(measure) for measure in BASES}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("measure", [ma.MM, ma.TOMA, ma.CRP, AP], ids=str)
def test_other_worlds(measure: Any, seed: int) -> None:
    check_measure(measure, seed=seed)


# -- planted lies
# -------------------------------------------------------------------------------------------


class Wrapped(ma.SingleAspectMeasure):
    """AP, whose statements subclasses change."""

    BINARY = True
    SUPPORTED_PARAMS = {"cutoff": ma.params.CUTOFF}

    def statements(self):
        return replace(super().statements(), sorting_is_optimal=True)

    @property
    def _ap(self) -> precision.AveragePrecision:
        return precision.AveragePrecision(AP if self.cutoff is None else AP @ self.cutoff)

    def score(self, ranking, target):
        return self._ap.score(ranking, target)

    def progression(self, target):
        return self._ap.progression(target)

    def contributions(self, ranking, target):
        return self._ap.contributions(ranking, target)


class LowRest(Wrapped):
    class Low(APProgress):
        def bound_of_rest(self, rank, counts):
            return 0.9 * super().bound_of_rest(rank, counts)

    def progression(self, target):
        return Progression(
            self.gain(target), lambda gain, totals, _: self.Low(gain, self.cutoff, totals)
        )


class WrongSteps(Wrapped):
    class High(APProgress):
        def step(self, rank, counts):
            return 1.1 * super().step(rank, counts)

    def progression(self, target):
        return Progression(
            self.gain(target), lambda gain, totals, _: self.High(gain, self.cutoff, totals)
        )


class MoreContributed(Wrapped):
    def contributions(self, ranking, target):
        return 1.01 * super().contributions(ranking, target)


class Fewer(Wrapped):
    def contributions(self, ranking, target):
        return super().contributions(ranking, target)[:-1]


class SortedCRP(type(ma.CRP)):
    def statements(self):
        return replace(super().statements(), sorting_is_optimal=True)


class NaN(Wrapped):
    def score(self, ranking, target):
        return self._ap.score(ranking, target) / (self.n_relevant(target) > 0)


class TooMany(Wrapped):
    def score(self, ranking, target):
        return np.append(self._ap.score(ranking, target), 0.0)


class Negated(Wrapped):
    RANGE = (-1.0, 0.0)

    def statements(self):
        return replace(super().statements(), sorting_is_optimal=False)

    def score(self, ranking, target):
        return -self._ap.score(ranking, target)

    progression = ma.SingleAspectMeasure.progression
    contributions = ma.SingleAspectMeasure.contributions


class ReadsGains(type(ma.DCG)):
    BINARY = True


class ReadsTheTop(ma.LinearMeasure):
    SUPPORTED_PARAMS = {}
    RANGE = (0.0, np.inf)

    def linear(self, target):
        return ma.forms.Linear(target, target.gain / target.top, ma.forms.Log2())


class Ordinal(type(ma.DCG)):
    def statements(self):
        return replace(super().statements(), is_ordinal=True)


class NormTooSmall(ma.LinearMeasure):
    """The ideal of the first rank only: values above 1 were cut off at 1, without a sign."""

    SUPPORTED_PARAMS = {}

    def linear(self, target):
        norm = target.best_sum(target.gain, ma.forms.Log2(), 1)
        return ma.forms.Linear(target, target.gain, ma.forms.Log2(), norm=norm)


class MagnitudeOfGains(ma.LinearMeasure):
    """Right for gains of at least 0; harmful documents would raise the value."""

    SUPPORTED_PARAMS = {}
    RANGE = (0.0, np.inf)

    def statements(self):
        return replace(super().statements(), accepts_negative_gains=True)

    def linear(self, target):
        return ma.forms.Linear(target, np.abs(target.gain), ma.forms.Log2())


class ConstantNorm(ma.LinearMeasure):
    SUPPORTED_PARAMS = {}

    def statements(self):
        return replace(super().statements(), has_constant_norm=True)

    def linear(self, target):
        norm = target.best_sum(target.gain, ma.forms.Log2()) + np.arange(target.n_queries)
        return ma.forms.Linear(target, target.gain, ma.forms.Log2(), norm=norm)


class OtherIdeal(ma.LinearMeasure):
    SUPPORTED_PARAMS = {}

    def linear(self, target):
        norm = target.best_sum(target.gain, ma.forms.Log2())
        ideal = ma.forms.Ideal(ma.forms.Flat())
        return ma.forms.Linear(target, target.gain, ma.forms.Log2(), norm=norm, ideal=ideal)


class APNeverFalls(Wrapped):
    def statements(self):
        return replace(super().statements(), never_falls_with_labels=True)


class PrefersLate(Wrapped):
    progression = ma.SingleAspectMeasure.progression
    contributions = ma.SingleAspectMeasure.contributions

    def statements(self):
        return replace(super().statements(), prefers_early=True, sorting_is_optimal=False)

    def score(self, ranking, target):
        return ranking.total(self.relevant(target)[ranking.row] * (1.0 - 1.0 / ranking.rank)) / 100


class Rising(ma.LinearMeasure):
    SUPPORTED_PARAMS = {}
    RANGE = (0.0, np.inf)

    def linear(self, target):
        return ma.forms.Linear(target, target.gain, np.sqrt)


class WrongWorth(type(ma.CRP)):
    def additive(self, target):
        form = super().additive(target)
        return replace(form, cutoff=1 if self.cutoff is None else None)


class WrongExponential(type(ma.DCG)):
    def exponential(self):
        return self


class OtherQueries(Wrapped):
    """The value depends on how many queries there are."""

    progression = ma.SingleAspectMeasure.progression
    contributions = ma.SingleAspectMeasure.contributions

    def score(self, ranking, target):
        return super().score(ranking, target) / target.n_queries


class IgnoresTheCutoff(ma.measures.DirectMeasure):
    SUPPORTED_PARAMS = {"aspects": ma.params.ASPECTS, "cutoff": ma.params.CUTOFF}

    def score(self, rankings, views):
        return np.minimum(rankings.top(None).n_ret / 10.0, 1.0)


class WrongSlope(type(ma.GAM)):
    def slope(self, values, weights):
        return 1.1 * super().slope(values, weights)


class NotConcave(type(ma.MM)):
    """The quadratic mean is convex: its slope gives no bound."""

    def combine(self, values, weights):
        return np.sqrt((weights * values**2).sum(axis=0))

    def slope(self, values, weights):
        return weights * values / self.combine(values, weights)


class NotHomogeneous(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), is_weighted_sum=False)

    def combine(self, values, weights):
        return (weights * values).sum(axis=0) ** 2

    def slope(self, values, weights):
        return weights * (weights * values).sum(axis=0)


class Falling(type(ma.MM)):
    slope = ma.Measure.slope

    def combine(self, values, weights):
        return 1.0 - values.max(axis=0)


class NotASum(type(ma.CAM)):
    def combine(self, values, weights):
        return values.max(axis=0)


class WrongLabel(type(ma.TOMA)):
    def document_gain(self, judgments):
        return super().document_gain(judgments).max() - super().document_gain(judgments)


class NegativeLabel(type(ma.TOMA)):
    def document_gain(self, judgments):
        return -super().document_gain(judgments)


class PrintsAnother(type(ma.DCG)):
    def __reduce__(self):
        return ma.DCG.__reduce__()


class OneTerm(type(ma.CAM)):
    def statements(self):
        stated = super().statements()
        return replace(stated, label_terms=lambda judgments: stated.label_terms(judgments)[:1])


class HeavierTerms(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), label_terms=self._heavier_terms)

    def _heavier_terms(self, judgments):
        return [replace(term, weight=2 * term.weight) for term in self.terms(judgments)]


class FirstAspectOnly(type(ma.NWCS)):
    def statements(self):
        stated = super().statements()
        return replace(stated, label_terms=lambda judgments: stated.label_terms(judgments)[:1])


class NoCutoff(type(ma.NWCS)):
    def statements(self):
        return replace(
            super().statements(), label_terms=ma.NWCS(aspects=self.spec).statements().label_terms
        )


class FixedCutoff(type(ma.NWCS)):
    def statements(self):
        return replace(
            super().statements(),
            label_terms=(ma.NWCS(aspects=self.spec) @ 2).statements().label_terms,
        )


class GainsOfOtherDocuments(type(ma.NWCS)):
    def statements(self):
        return replace(super().statements(), label_terms=self._terms_of_other_documents)

    def _terms_of_other_documents(self, judgments):
        (term,) = super().statements().label_terms(judgments)
        return [
            replace(
                term, target=term.target.with_gain(term.target.gain[::-1].copy(), term.target.top)
            )
        ]


class IdealOfJudged(type(ma.NWCS)):
    def statements(self):
        return replace(super().statements(), ideal_documents="judged")


class IdealOfRanks(type(ma.NWCS)):
    def statements(self):
        return replace(super().statements(), ideal_documents="ranks")


class IdealOfRetrieved(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), ideal_documents="retrieved")


class SeparateIdeals(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), ideal_documents="separate")


class MisspeltIdeal(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), ideal_documents="retreived")


class IdealIsNotSorted(ma.LinearMeasure):
    SUPPORTED_PARAMS = {}

    def linear(self, target):
        discount = ma.forms.Log2()
        first = np.searchsorted(target.query, target.query)
        ranked = target.gain * discount(np.arange(len(first)) - first + 1)
        norm = np.bincount(target.query, ranked, target.n_queries)
        return ma.forms.Linear(target, target.gain, discount, norm, ideal=ma.forms.Ideal(discount))


class BestDocumentsOnly(ma.JointMeasure):
    def statements(self):
        return replace(super().statements(), label_terms=self.terms)

    def base(self):
        return nDCG if self.cutoff is None else nDCG @ self.cutoff

    def joint(self, views):
        gain, query = np.sum([view.target.gain for view in views], axis=0), views[0].pool_query
        best = np.zeros(views[0].n_queries)
        np.maximum.at(best, query, gain)
        return ma.Joint(np.where(gain == best[query], gain, 0.0))


class WeightsOfLabels(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), label_terms=self.terms)


class DividedByTheBest(type(ma.CAM)):
    def statements(self):
        return replace(super().statements(), label_terms=self.terms)


class Incomplete(ma.SingleAspectMeasure):
    SUPPORTED_PARAMS = {}


class Raises(Wrapped):
    def score(self, ranking, target):
        raise ZeroDivisionError("division by zero")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("lie", "statement"),
    [
        (SortedCRP, "sorting_is_optimal: .*, but"),
        (LowRest, "`rest` is a bound"),
        (WrongSteps, "the steps sum to the value"),
        (MoreContributed, "`contributions` sum to the value"),
        (Fewer, "`contributions` has a number per document"),
        (NaN, "expected a finite number, got nan for query"),
        (TooMany, "must return one value per query"),
        (Negated, "lower_is_better is False"),
        (ReadsGains, "BINARY"),
        (ReadsTheTop, "needs_top"),
        (Ordinal, "is_ordinal"),
        (NormTooSmall, "a norm may be too small"),
        (ConstantNorm, "has_constant_norm"),
        (MagnitudeOfGains, "negative gains do not raise values"),
        (OtherIdeal, "`ideal` is the ideal ranking of the norm"),
        (APNeverFalls, "never_falls_with_labels: a better label never lowers"),
        (PrefersLate, "prefers_early: a relevant document further up"),
        (Rising, "does not increase with the rank"),
        (WrongWorth, "`additive`"),
        (WrongExponential, "`exponential`"),
        (OtherQueries, "the same value alone and among others"),
        (IgnoresTheCutoff, "below the cutoff"),
        (WrongSlope, "slope times value sums"),
        (NotConcave, "is concave"),
        (NotHomogeneous, "is homogeneous"),
        (Falling, "never_falls_with_terms"),
        (NotASum, "is_weighted_sum"),
        (WrongLabel, "sorting by `document_gain`"),
        (NegativeLabel, "`document_gain` is a number of at least 0"),
        (PrintsAnother, "pickled, it is the same measure|copied"),
        (Incomplete, "the class is complete: .*does not define score|Can't instantiate"),
        (Raises, "ZeroDivisionError: division by zero"),
        (OneTerm, "label_terms, ideal_documents='judged': extremes over missing labels"),
        (HeavierTerms, "label_terms, ideal_documents='judged': extremes over missing labels"),
        (
            FirstAspectOnly(ideal="separate"),
            "label_terms, ideal_documents='separate': extremes over missing labels",
        ),
        (NoCutoff, "label_terms, ideal_documents='retrieved': extremes over missing labels"),
        (FixedCutoff, "label_terms, ideal_documents='retrieved': extremes over missing labels"),
        (
            GainsOfOtherDocuments,
            "label_terms, ideal_documents='retrieved': extremes over missing labels",
        ),
        (IdealOfJudged, "label_terms, ideal_documents='judged': extremes over missing labels"),
        (IdealOfRanks, "label_terms, ideal_documents='ranks': extremes over missing labels"),
        (
            IdealOfRetrieved,
            "label_terms, ideal_documents='retrieved': extremes over missing labels",
        ),
        (SeparateIdeals, "label_terms, ideal_documents='separate': extremes over missing labels"),
        (MisspeltIdeal, "ideal_documents: expected one of 'judged', 'ranks', .*, got 'retreived'"),
        (IdealIsNotSorted, "label_terms, ideal_documents='judged': extremes over missing labels"),
        (BestDocumentsOnly, "label_terms, ideal_documents='judged': extremes over missing labels"),
        (
            WeightsOfLabels(empty="drop"),
            "label_terms, ideal_documents='judged': extremes over missing labels",
        ),
        (
            DividedByTheBest(normalized=True),
            "label_terms, ideal_documents='judged': extremes over missing labels",
        ),
    ],
)
def test_lies_are_caught(lie: type[ma.Measure] | ma.Measure, statement: str) -> None:
    with pytest.raises(FailedCheckError, match=statement) as caught:
        check_measure(lie)
    assert isinstance(caught.value, ma.MultiAspectError)
    assert isinstance(caught.value, AssertionError)
    assert str(caught.value).startswith(lie.NAME)


@pytest.mark.slow
def test_the_smallest_world_is_shown() -> None:
    """MoreContributed states contributions that are 1 % too large, which one or two documents show."""
    with pytest.raises(FailedCheckError, match=r"judged {'d1'") as caught:
        check_measure(MoreContributed)
    lines = str(caught.value).splitlines()
    (line,) = [line for line in lines if "contributions" in line]  # shows the collection
    assert "'d3'" not in line


@pytest.mark.slow
def test_a_bound_that_is_wrong_is_caught() -> None:
    with pytest.raises(
        FailedCheckError, match=r"no ranking exceeds the upper bound: .*the bound is"
    ):
        check_measure(SortedCRP)


def test_a_lambda_per_call_is_slow_and_gets_a_warning() -> None:
    class Lambda(ma.LinearMeasure):
        SUPPORTED_PARAMS = {}
        RANGE = (0.0, np.inf)

        def linear(self, target):
            return ma.forms.Linear(target, target.gain, lambda rank: 1.0 / rank)

    with pytest.warns(ma.MultiAspectWarning, match="cannot|are not equal"):
        check_measure(Lambda)


@pytest.mark.slow
def test_what_is_defined_in_a_function_is_not_pickled() -> None:
    """A class in a function cannot be pickled; check_measure does not ask for it."""

    class Local(type(ma.DCG)):
        """Cannot be imported by its name."""

    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(Local)
    check_measure(Local)


@pytest.mark.slow
def test_checking_a_measure_takes_seconds() -> None:
    start = time.process_time()
    check_measure(
        ma.MM, seed=5
    )  # the slowest, as its bounds are searched for; on worlds of its own
    assert time.process_time() - start < 5


def test_required_parameters_are_asked_for() -> None:
    with pytest.raises(
        ma.MultiAspectError, match="RelativeRecall is incomplete: it requires expected"
    ):
        check_measure(ma.RelativeRecall)
    with pytest.raises(ma.MultiAspectError, match="P is incomplete"):
        check_measure(P)


@no_warnings()
def test_checking_uses_up_no_warnings() -> None:
    """Warnings are given once: those of the small worlds must not count."""
    before = set(errors._given)
    check_measure(ma.CAM)
    assert errors._given == before


# -- distances
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["euclidean", "manhattan", "chebyshev", 3, 0.5])
@pytest.mark.parametrize("n_aspects", [1, 3])
def test_built_in_distances(distance: str | float, n_aspects: int) -> None:
    check_distance(distance, n_aspects=n_aspects)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        (lambda gaps: 9 - gaps.sum(axis=1), "decreases when the gap"),
        (lambda gaps: gaps.sum(axis=1) / (1 + gaps.sum()), "alone than among others"),
        (lambda gaps: gaps.sum(axis=1) + len(gaps), "alone than among others"),
        (lambda gaps: np.zeros(len(gaps)), "equally far"),
        (lambda gaps: gaps, "one number per tuple"),
        (lambda gaps: gaps[:, 5], "cannot be computed for 2 aspects: IndexError"),
        (
            lambda gaps: np.where(gaps[:, 0] > 0.9, np.nan, gaps.sum(axis=1)),
            "expected finite numbers ≥ 0, got nan",
        ),
        ("no-such-distance", "unknown distance"),
    ],
)
def test_wrong_distances(distance: Any, message: str) -> None:
    with pytest.raises(ma.MultiAspectError, match=message):
        check_distance(distance)


def test_a_distance_that_changes() -> None:
    calls = []

    def drifting(gaps):
        calls.append(None)
        return gaps.sum(axis=1) * len(calls)

    with pytest.raises(FailedCheckError, match="computed again"):
        check_distance(drifting)


# -- found by the checks
# ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "is_surrogate"), [("CRP", True), ("CoverageRatio", True), ("nDCG", False)]
)
@pytest.mark.parametrize("kind", [ma.On, ma.TOMA], ids=["On", "TOMA"])
def test_labels_that_sorting_does_not_maximise_say_so(
    kind: Any, base: str, is_surrogate: bool
) -> None:
    """Gains to learn from are surrogates if the ranking by gain does not have the highest value.

    CRP is such a base: the ranking of the grades 2, 1, 1 has the value 0, but 1, 1, 2 has 1.
    """
    qrels = {"q": {"a": {"relevance": 1}, "b": {"relevance": 2}, "c": {"relevance": 1}}}
    aspects = {"relevance": ma.Aspect([0, 1, 2], threshold=1)}
    measure = kind(base=base, aspects=aspects)
    assert measure.gain_is_surrogate(ma.Judgments(qrels)) is is_surrogate


@pytest.mark.parametrize("measure", [ma.RBU, ma.MDCU(themes=["theme"], usability=["relevance"])])
def test_labels_of_measures_with_diversity_or_effort_are_surrogates(measure: ma.Measure) -> None:
    qrels = {"q": {"a": {"relevance": 1, "theme": 0}, "b": {"relevance": 2, "theme": 1}}}
    assert measure.gain_is_surrogate(ma.Judgments(qrels))


# -- what is not stated is unknown
# ----------------------------------------------------------------------------


class Silent(type(ma.CAM)):
    """CAM, which states nothing."""

    def statements(self):
        return Statements()


ASPECTS = {"relevance": 2, "credibility": 2}
QRELS = {
    "q1": {
        "d1": {"relevance": 2, "credibility": 0},
        "d2": {"relevance": 1},
        "d3": {"relevance": 0, "credibility": 1},
    },
    "q2": {"d1": {"relevance": 1, "credibility": 2}, "d2": {"credibility": 1}},
}
RUNS = {
    "a": {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}},
    "b": {"q1": {"d3": 2.0, "d1": 1.0}, "q2": {"d1": 1.0}},
}


def test_fields_are_unknown_by_default() -> None:
    assert set(vars(Statements()).values()) == {None}
    assert ma.Measure.statements(ma.DCG) == Base.statements(ma.DCG) == Statements()


def test_a_measure_that_states_nothing_has_no_upper_bound() -> None:
    """A bound of another measure would be a wrong number."""
    assert ma.analysis.upper_bound(QRELS, ma.CAM(aspects=ASPECTS))["gap"].tolist() == [0, 0]
    with pytest.raises(ma.MultiAspectError, match="no upper bound is known"):
        ma.analysis.upper_bound(QRELS, Silent(aspects=ASPECTS), "search")


def test_intervals_of_a_measure_that_states_nothing_are_enumerated() -> None:
    columns = ["low", "high", "exact"]
    stated, silent = (
        ma.analysis.missing_labels(RUNS, QRELS, measure(base="AP", aspects=ASPECTS)).runs[columns]
        for measure in (ma.CAM, Silent)
    )
    np.testing.assert_allclose(
        silent.to_numpy(dtype=float), stated.to_numpy(dtype=float), atol=1e-12
    )
    assert stated["exact"].all()


def test_statements_are_computed_once() -> None:
    calls = []

    class Counted(type(ma.DCG)):
        def statements(self):
            calls.append(self)
            return super().statements()

    measure = Counted()
    for _ in range(3):
        measure.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})
    assert len(calls) == 1
