"""Intents: I-rec, D-nDCG and D♯-nDCG, with probabilities and graded labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import ir_measures
import numpy as np

from .._numbers import exact
from .._typing import Bools, Floats
from .._validation import fraction
from ..bases import Base, Term, as_base
from ..collection import AspectView, Judgments, Rankings
from ..errors import choices, number_of, warn_once
from .joint import Joint, JointMeasure
from .mean_of import MeasureMean
from .measure import Measure, warn_if_inferred
from .parameters import ASPECTS, COMMON, CUTOFF, Param, weights_param
from .registry import register
from .terms import TermMean, base_depends_on
from .weights import has_weight, weighted_views

PROBABILITIES = weights_param(
    "the probability of each intent (aspect), normalised to sum to 1; equal by default; 0 omits an "
    "aspect"
)


def warn_of_missing_intents(measure: Measure, views: Sequence[AspectView]) -> None:
    """Warn about topics without any label of an intent, which the measure nevertheless counts."""
    intents = [view for view, _ in weighted_views(measure["weights"], views)]
    lacking: list[str] = []
    for name, n_lacking in _topics_without_labels(intents).items():
        if n_lacking:
            topics = number_of(n_lacking, "topic")
            lacking.append(f"{name} in {topics}")
    if lacking:
        missing = choices(lacking)
        warn_once(
            f"the qrels have no label of {missing}: {measure.NAME} counts such an intent as one "
            "without relevant documents. Evaluate topics with other intents by a measure that "
            "selects them by its parameter aspects",
            key=missing,
            group=f"intents of {measure.NAME}",
        )


class _OfIntents(Measure):
    """A measure of intents with probabilities."""

    CITATION = "Sakai and Song 2011"
    SOURCES = ("sakai2011",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "weights": PROBABILITIES,
        "aspects": ASPECTS,
        "cutoff": CUTOFF,
    }


class _IRec(_OfIntents, TermMean):
    """Intent recall: the fraction of the intents that have a relevant document in the ranking.

    The aspects are the intents (subtopics, nuggets) of a topic. I-rec@k is the number of aspects on
    which a document in the first k ranks reaches the threshold, divided by the number of all
    intents, including those without relevant documents. Values are between 0 and 1.

    Parameters
    ----------
    weights : dict of str to float, optional
        The probabilities of the intents. Aspects with probability 0 are not intents; all others
        have equal weight.
    aspects : Aspects, mapping or str, optional
        The intents, their scales and thresholds; by default, every label column.
    cutoff : int, optional
        ``IRec @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    All topics have the same intents: those of the measure. If the intents of topics differ,
    evaluate the topics of each set of intents separately. ``Subtopics(base="StRecall")`` is the
    same measure over the intents that have relevant documents.

    References
    ----------
    As in Sakai and Song 2011: ``IRec @ 10``.

    Sakai and Song: Evaluating Diversified Search Results Using Per-intent Graded Relevance. SIGIR
    2011. Zhai, Cohen, Lafferty: Beyond Independent Relevance. SIGIR 2003 (as subtopic recall).

    Examples
    --------
    >>> from pt_multiaspect import IRec
    >>> labels = {"d1": (2, 0, 0), "d2": (1, 1, 0), "d3": (0, 0, 0)}
    >>> intents = ("buy", "repair", "sell")
    >>> qrels = {"q1": {docno: dict(zip(intents, grades)) for docno, grades in labels.items()}}
    >>> run = {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}}
    >>> measure = IRec(aspects={"buy": 2, "repair": 1, "sell": 1})
    >>> round(measure.calc_aggregate(qrels, run), 4)
    0.6667
    >>> columns = ["docno", "buy part", "repair part", "contribution"]
    >>> measure.explain(run, qrels, "q1").ranks[columns].round(4)
      docno  buy part  repair part  contribution
    0    d1    0.3333       0.0000        0.3333
    1    d3    0.0000       0.0000        0.0000
    2    d2    0.0000       0.3333        0.3333
    """

    PRETTY_NAME = "Intent recall (I-rec)"
    SHORT_DESC = (
        "The fraction of the intents (aspects) that have a relevant document in the ranking."
    )

    @property
    def _success(self) -> Base:
        return as_base(ir_measures.Success).at(self.cutoff)

    def depends_on(self, view: AspectView) -> bool:
        return has_weight(self["weights"], view) and base_depends_on(self._success, view)

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return success on each intent."""
        views = self.views(judgments)
        intents = weighted_views(self["weights"], views)
        equal_share = 1.0 / len(intents)  # probabilities do not matter
        weight = np.full(judgments.n_queries, equal_share)
        return [Term(self._success, view.target, weight, view.name) for view, _ in intents]

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the fraction of intents with a relevant document in the ranking."""
        warn_of_missing_intents(self, views)
        terms = self.terms(rankings.judgments)
        success = [term.base.values(rankings, term.target) for term in terms]
        # Count first, and divide then, so that all of n intents are exactly 1.
        n_covered = np.sum(success, axis=0)
        fraction_covered = n_covered / len(terms)
        return np.asarray(fraction_covered, dtype=np.float64)


def _topics_without_labels(intents: Sequence[AspectView]) -> dict[str, int]:
    """Return, by intent, the number of evaluated topics in which no document has its label."""
    has_label: dict[str, Bools] = {}  # per intent, a mask of the topics
    for view in intents:
        topic_of_label = view.pool_query[view.known]
        n_labels = np.bincount(topic_of_label, minlength=view.n_queries)
        has_label[view.name] = n_labels > 0
    # Topics without labels of any intent are not evaluated.
    masks = list(has_label.values())
    is_evaluated = np.any(masks, axis=0)
    n_lacking: dict[str, int] = {}
    for name, topics_with_label in has_label.items():
        is_lacking = is_evaluated & ~topics_with_label
        n_lacking[name] = int(is_lacking.sum())
    return n_lacking


class _GlobalGains(NamedTuple):
    """The sums over the intents of probability times gain, Σ P g."""

    #: That of each judged document.
    of_documents: Floats
    #: Those of the lowest, and of the highest, grade on all intents.
    lowest: float
    highest: float


def _global_gains(views: Sequence[AspectView], weights: Sequence[float]) -> _GlobalGains:
    """Return the global gains; `views` are the intents, and `weights` their probabilities."""
    gains_by_intent = _exact_gains(views, weights)
    # Add integers, the gains times a common denominator, and divide at the end: sums of floats
    # that should be equal could differ by rounding.
    denominator = _common_denominator(gains_by_intent)
    integer_type = _integer_type(gains_by_intent, denominator)
    n_documents = len(views[0].label)
    document_sums = np.zeros(n_documents, dtype=integer_type)
    lowest_and_highest_sum = np.zeros(2, dtype=integer_type)
    for view, gains in zip(views, gains_by_intent, strict=True):
        integers = [int(gain * denominator) for gain in gains]  # of grades, from lowest to highest
        gain_of_grade = np.array(integers, dtype=integer_type)
        gain_of_document = gain_of_grade[view.grade]
        document_sums += np.where(view.known, gain_of_document, 0)  # unjudged: no gain
        lowest_and_highest_sum += gain_of_grade[[0, -1]]
    of_documents = np.asarray(document_sums / denominator, dtype=np.float64)
    lowest, highest = np.asarray(lowest_and_highest_sum / denominator, dtype=np.float64)
    return _GlobalGains(of_documents, lowest, highest)


def _integer_type(gains_by_intent: Sequence[Sequence[Fraction]], denominator: int) -> Any:
    """Return the data type for sums of gains times the denominator, which are integers.

    Python's integers (object) have no limits, but are slower than those of NumPy.
    """
    largest_gain = sum(max(gains) for gains in gains_by_intent)
    largest_sum = int(largest_gain * denominator)
    # NumPy converts sums and denominator to floats to divide them; these represent all integers
    # below 2^53.
    largest_integer = max(largest_sum, denominator)
    if largest_integer >= 2**53:
        return object
    return np.int64


def _common_denominator(gains_by_intent: Sequence[Sequence[Fraction]]) -> int:
    """Return the smallest number by which all gains become integers."""
    denominators: set[int] = set()
    for gains in gains_by_intent:
        denominators.update(gain.denominator for gain in gains)
    return math.lcm(*denominators)


def _exact_gains(views: Sequence[AspectView], weights: Sequence[float]) -> list[list[Fraction]]:
    """Return, per intent, the gain of each grade times the probability of the intent.

    Probabilities are weights divided by their sum. Negative gains count as 0.
    """
    total_weight = sum(map(exact, weights))
    gains_by_intent: list[list[Fraction]] = []
    for view, weight in zip(views, weights, strict=True):
        probability = exact(weight) / total_weight
        non_negative = np.maximum(view.scale.gains, 0.0)
        gains_by_intent.append([probability * exact(gain) for gain in non_negative.tolist()])
    return gains_by_intent


class _DnDCG(_OfIntents, JointMeasure):
    """D-nDCG: nDCG of the global gains of documents, the means of their gains on the intents.

    The aspects are the intents of a topic. The global gain of a document is Σ_i P(i) g_i(d), where
    P(i) is the probability of intent i, and g_i the gain of the document's grade on it. D-nDCG is
    nDCG over these gains; the ideal ranking sorts all judged documents by them. Values are between
    0 and 1.

    Parameters
    ----------
    weights : dict of str to float, optional
        The probabilities P(i), normalised to sum to 1; equal by default. Intents of probability 0
        are ignored.
    aspects : Aspects, mapping or str, optional
        The intents, their scales and gains; by default, every label column.
    cutoff : int, optional
        ``DnDCG @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    Documents that are not judged on an intent have the gain 0 on it. NTCIREVAL prints this value as
    MSnDCG@k. With one intent, D-nDCG is nDCG. Equal global gains are recognised exactly: .1 · 3
    equals .3 · 1.

    References
    ----------
    As in Sakai and Song 2011: ``DnDCG @ 10``.

    Sakai and Song: Evaluating Diversified Search Results Using Per-intent Graded Relevance. SIGIR
    2011.

    Examples
    --------
    >>> from pt_multiaspect import DnDCG
    >>> labels = {"d1": (2, 0), "d2": (1, 1), "d3": (0, 3)}
    >>> qrels = {"q1": {d: {"buy": buy, "repair": repair} for d, (buy, repair) in labels.items()}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> measure = DnDCG(weights={"buy": 0.75, "repair": 0.25}, aspects={"buy": 3, "repair": 3})
    >>> round(measure.calc_aggregate(qrels, {"q1": {"d3": 3.0, "d1": 2.0, "d2": 1.0}}), 4)
    0.8765
    >>> explanation = measure.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "discount", "contribution"]].round(4)
      docno  gain  discount  contribution
    0    d1  1.50    1.0000        0.5986
    1    d2  1.00    0.6309        0.2518
    2    d3  0.75    0.5000        0.1496
    """

    PRETTY_NAME = "D-nDCG"
    SHORT_DESC = "nDCG of the gains on the intents (aspects), weighted by their probabilities."

    def base(self) -> Base:
        return as_base(ir_measures.nDCG).at(self.cutoff)

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        """Return the global gains of the documents."""
        intents = [view for view, _ in weighted_views(self["weights"], views)]
        for view in intents:
            view.check_gains(self.NAME)
        if self["weights"]:
            weights = [self["weights"][view.name] for view in intents]
        else:
            weights = [1] * len(intents)  # equal ones
        gains = _global_gains(intents, weights)
        return Joint(gains.of_documents, top=gains.highest, bottom=gains.lowest)

    def depends_on(self, view: AspectView) -> bool:
        """Return whether the aspect is an intent, whose gains nDCG reads."""
        if not has_weight(self["weights"], view):
            return False
        return base_depends_on(as_base(ir_measures.nDCG), view)

    def document_gain(self, judgments: Judgments) -> Floats:
        warn_if_inferred(self, self.views(judgments))
        return self.target(judgments).gain


class _DSharpnDCG(_OfIntents, MeasureMean):
    """D♯-nDCG: the mean γ I-rec + (1 - γ) D-nDCG of diversity and relevance.

    The aspects are the intents of a topic; see `IRec` and `DnDCG`. Values are between 0 and 1. The
    maximum attainable value of a topic can be below 1, as there may be no ranking that is ideal for
    both.

    Parameters
    ----------
    gamma : float in [0, 1], default 0.5
        The weight γ of I-rec.
    weights : dict of str to float, optional
        The probabilities of the intents, normalised to sum to 1; equal by default. An aspect of
        probability 0 is not an intent.
    aspects : Aspects, mapping or str, optional
        The intents, their scales, gains and thresholds; by default, every label column.
    cutoff : int, optional
        ``DSharpnDCG @ k`` evaluates only the first k retrieved documents.

    Notes
    -----
    D♯-nDCG is ``MeanOf({IRec: gamma, DnDCG: 1 - gamma})``. Other D♯ measures are means of other
    measures.

    References
    ----------
    As in Sakai and Song 2011: ``DSharpnDCG(gamma=0.5) @ 10``, with the default weight of I-rec.

    Sakai and Song: Evaluating Diversified Search Results Using Per-intent Graded Relevance. SIGIR
    2011.

    Examples
    --------
    >>> from pt_multiaspect import DSharpnDCG
    >>> labels = {"d1": (2, 0), "d2": (1, 1), "d3": (0, 3)}
    >>> qrels = {"q1": {d: {"buy": buy, "repair": repair} for d, (buy, repair) in labels.items()}}
    >>> run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
    >>> measure = DSharpnDCG(aspects={"buy": 3, "repair": 3})
    >>> round((measure @ 1).calc_aggregate(qrels, run), 4)  # (½ + ⅔) / 2
    0.5833
    >>> parts = ["IRec buy part", "IRec repair part", "DnDCG part", "contribution"]
    >>> measure.explain(run, qrels, "q1").ranks[["docno", *parts]].round(4)
      docno  IRec buy part  IRec repair part  DnDCG part  contribution
    0    d1           0.25              0.00      0.1900        0.4400
    1    d2           0.00              0.25      0.1199        0.3699
    2    d3           0.00              0.00      0.1425        0.1425
    """

    PRETTY_NAME = "D♯-nDCG"
    SHORT_DESC = (
        "The weighted mean of I-rec and D-nDCG: of the diversity and the relevance of a ranking."
    )
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "gamma": Param(fraction("gamma"), 0.5, "the weight of I-rec, from 0 to 1"),
        "weights": PROBABILITIES,
        **COMMON,
    }

    def _check(self) -> None:
        """Set the members, I-rec and D-nDCG, but one of weight 0."""
        shared = {name: self[name] for name in ("weights", "aspects", "cutoff")}
        gamma = self["gamma"]
        diversity = IRec(**shared)
        relevance = DnDCG(**shared)
        weighted = [(diversity, gamma), (relevance, 1 - gamma)]
        self.members = tuple((member, weight) for member, weight in weighted if weight)


IRec = register(_IRec)
DnDCG = register(_DnDCG)
DSharpnDCG = register(_DSharpnDCG)
