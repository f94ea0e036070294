"""The slow and readable reference implementation the package is compared with.

Written from the papers and the specification, one function a formula, one query at a time, in pure
Python: no NumPy, no pandas, nothing from ``pt_multiaspect``. Sources are named as

* "Lioma": Lioma, Simonsen, Larsen, "Evaluation Measures for Relevance and Credibility in Ranked
  Lists" (ICTIR 2017);
* "Zuccon": Zuccon, "Understandability Biased Evaluation for Information Retrieval" (ECIR 2016);
* "Maistro": Maistro et al., "Principled Multi-Aspect Evaluation Measures of Rankings" (CIKM 2021);
* "Sakai and Song": Sakai, Song, "Evaluating Diversified Search Results Using Per-intent Graded
  Relevance" (SIGIR 2011);
* "Amigó": Amigó, Spina, Carrillo-de-Albornoz, "An Axiomatic Analysis of Diversity Evaluation
  Metrics" (SIGIR 2018);
* "trec_eval": the C source of the measure of that name; "gdeval": gdeval.pl of the TREC Web track;
* "MEASURES §n": the project's own specification of conventions and edge cases.

Data of one query: a run ``{docno: score}``; judgments ``{docno: {aspect: label or None}}``; the
aspects ``{name: RefAspect}``. A document that is missing, or whose label is None or NaN, is
unjudged on that aspect.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Number = int | float | Fraction
Label = int | float | None
Labels = Mapping[str, Label]
Judgments = Mapping[str, Labels]
Run = Mapping[str, float]
Params = Mapping[str, Any]


# -----------------------------------------------------------------------------------------------------------
# Common ground: rankings, aspects, labels
# -----------------------------------------------------------------------------------------------------------


def as_float32(score: float) -> float:
    """The score rounded to single precision, as pytrec_eval stores it (MEASURES §1, "Ranking")."""
    if math.isnan(score):
        raise ValueError("a score is NaN")
    try:
        return struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return math.copysign(math.inf, score)


def ranking(run: Run) -> list[str]:
    """Documents by float32 score descending, ties by docno descending as strings (MEASURES §1, "Ranking")."""
    return sorted(run, key=lambda docno: (as_float32(run[docno]), docno), reverse=True)


@dataclass(frozen=True)
class RefAspect:
    """The scale of one aspect, its grades from worst to best (MEASURES §1, "Aspect").

    ``probabilities`` is None for ``'identity'``: the label itself is the probability and there are
    no grades. ``threshold`` is None where no grade is above the lowest: no label is positive then.
    """

    grades: list[Number]
    gains: list[Number]
    probabilities: list[Number] | None
    threshold: Number | None
    greater_is_better: bool = True
    #: Whether gains below 0 were declared; grades below 0 alone are TREC's codes of junk.
    signed: bool = False


Aspects = Mapping[str, RefAspect]


def exactly(number: Number) -> Fraction:
    """The decimal a float prints as, or the fraction it is nearest to, so that 0.3 - 0.2 is 0.1."""
    near = Fraction(number).limit_denominator(10**6)
    return near if float(near) == number else Fraction(str(number))


def difference(a: Number, b: Number) -> Number:
    """a - b without the rounding of floats."""
    return float(exactly(a) - exactly(b))


def ref_aspect(
    grades: Sequence[Number],
    gains: Sequence[Number] | None = None,
    probabilities: Sequence[Number] | None = None,
    threshold: Number | None = None,
    greater_is_better: bool = True,
) -> RefAspect:
    """An aspect with the defaults of MEASURES §1, "Aspect"; gains and probabilities follow the grades as listed.

    * gains: the grades; where small labels are good, ``worst - label``;
    * probabilities: linear in the label, from 0 at the lowest grade to 1 at the top; 0 for one
      single grade;
    * threshold: the second grade.
    """
    order = sorted(range(len(grades)), key=lambda i: grades[i], reverse=not greater_is_better)
    worst_to_best = [grades[i] for i in order]
    worst, best = worst_to_best[0], worst_to_best[-1]
    if gains is not None:
        the_gains = [gains[i] for i in order]
    elif greater_is_better:
        the_gains = list(worst_to_best)
    else:
        the_gains = [difference(worst, grade) for grade in worst_to_best]
    for lower, higher in itertools.pairwise(the_gains):
        if lower > higher:
            raise ValueError(f"gains decrease along the grades: {the_gains}")
    if probabilities is not None:
        the_probabilities = [probabilities[i] for i in order]
    elif worst == best:
        the_probabilities = [0.0]
    else:
        the_probabilities = [
            float(exactly(difference(grade, worst)) / exactly(difference(best, worst)))
            for grade in worst_to_best
        ]
    if threshold is None and len(worst_to_best) > 1:
        threshold = worst_to_best[1]
    signed = gains is not None and min(gains) < 0
    return RefAspect(
        worst_to_best, the_gains, the_probabilities, threshold, greater_is_better, signed
    )


def identity_aspect(threshold: Number | None = None) -> RefAspect:
    """A column of probabilities, ``probabilities='identity'``, for the gain family (MEASURES §1, "Aspect")."""
    return RefAspect(grades=[], gains=[], probabilities=None, threshold=threshold)


def inferred_aspect(labels: Iterable[Label], greater_is_better: bool = True) -> RefAspect:
    """The scale of an undeclared aspect, from all labels of the collection (MEASURES §1, "Scale").

    Integers 0..max when all non-negative labels are whole numbers, else the sorted distinct labels.
    """
    judged = [label for label in labels if not is_unjudged(label)]
    not_negative = [label for label in judged if label >= 0]
    if all(float(label).is_integer() for label in not_negative):
        top = int(max(not_negative, default=0))
        return ref_aspect(list(range(top + 1)), greater_is_better=greater_is_better)
    return ref_aspect(sorted(set(judged)), greater_is_better=greater_is_better)


def is_unjudged(label: Label) -> bool:
    """None and NaN (MEASURES §1, "Labels")."""
    return label is None or label != label


def label_of(judgments: Judgments, docno: str, name: str) -> Label:
    """The label of a document on an aspect, None if it is unjudged (MEASURES §1, "Labels")."""
    label = judgments.get(docno, {}).get(name)
    return None if is_unjudged(label) else label


def judged_documents(judgments: Judgments, names: Iterable[str]) -> list[str]:
    """The documents that have a label on at least one of these aspects."""
    names = list(names)
    return [
        doc
        for doc in judgments
        if any(label_of(judgments, doc, name) is not None for name in names)
    ]


def grade_index(aspect: RefAspect, label: Label) -> int:
    """The place of a label on its scale, 0 the lowest grade (MEASURES §1, "Labels").

    Unjudged and below the lowest grade are the lowest grade; above the top or between two grades is
    an error.
    """
    if label is None:
        return 0
    if label in aspect.grades:
        return aspect.grades.index(label)
    lowest = aspect.grades[0]
    if label < lowest if aspect.greater_is_better else label > lowest:
        return 0
    raise ValueError(f"label {label} is not on the scale {aspect.grades}")


def gain_of(
    aspect: RefAspect, label: Label, gains: Mapping[Number, Number] | None = None
) -> Number:
    """Return the gain of nDCG-like bases: g_a(label), 0 if unjudged (MEASURES §1, "Labels" and "Aspect").

    It is negative only if the aspect declares negative gains.

    ``gains`` is that of ir-measures' ``nDCG(gains=...)``: it maps the raw label and overrides the
    aspect's gains.
    """
    if label is None:
        return 0
    if gains is not None:
        return max(gains.get(label, label), 0)
    gain = aspect.gains[grade_index(aspect, label)]
    return gain if aspect.signed else max(gain, 0)


def probability_of(aspect: RefAspect, label: Label) -> Number:
    """The factor P_a(label) of the gain family; unjudged as the lowest grade (MEASURES §1, "Aspect")."""
    if aspect.probabilities is None:
        return 0 if label is None else label
    return aspect.probabilities[grade_index(aspect, label)]


def top_probability(aspect: RefAspect) -> Number:
    """The probability of the top grade; 1 for a probability column."""
    return 1 if aspect.probabilities is None else aspect.probabilities[-1]


def is_positive(aspect: RefAspect, label: Label, rel: Number | None = None) -> bool:
    """Return whether a label is positive for a binary base: at ``rel`` if given, else at the aspect's threshold.

    Never for an unjudged document, as in trec_eval, whatever the threshold (MEASURES §1, "Aspect").
    """
    bound = aspect.threshold if rel is None else rel
    if label is None or bound is None:
        return False
    grade = label if aspect.probabilities is None else aspect.grades[grade_index(aspect, label)]
    return grade >= bound if aspect.greater_is_better else grade <= bound


def proportions(names: Sequence[str], weights: Mapping[str, Number] | None) -> dict[str, float]:
    """The p_a: not negative, normalised to sum 1, equal by default (MEASURES §3)."""
    raw = {name: 1 if weights is None else weights[name] for name in names}
    if any(weight < 0 for weight in raw.values()):
        raise ValueError(f"a weight is negative: {raw}")
    total = sum(raw.values())
    if total == 0:
        raise ValueError("all weights are zero")
    return {name: float(weight / total) for name, weight in raw.items()}


# -----------------------------------------------------------------------------------------------------------
# Base measures, as trec_eval and gdeval compute them
# -----------------------------------------------------------------------------------------------------------


def first(items: Sequence[Any], cutoff: int | None) -> Sequence[Any]:
    """The first ``cutoff`` ranks; all of them without a cutoff."""
    return items if cutoff is None else items[:cutoff]


def dcg(gains: Sequence[Number]) -> float:
    """Sum of gain / log2(rank + 1) (trec_eval ndcg)."""
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def exponential_gain(value: Number, top: Number) -> float:
    """(2^value - 1) / 2^top, written so that a large top does not overflow."""
    return 2.0 ** (value - top) - 2.0 ** (-top)


def ndcg(
    ranked: Sequence[Number],
    judged: Sequence[Number],
    variant: str = "log2",
    cutoff: int | None = None,
) -> float:
    """DCG over the DCG of all judged documents in the best order, both cut at the cutoff; 0 if that is 0.

    'log2' is trec_eval's ndcg and ndcg_cut, gain = value; 'exp-log2' is gdeval's nDCG, gain =
    2^value - 1.
    """
    if variant == "exp-log2":
        top = max([0, *judged])
        ranked = [exponential_gain(value, top) for value in ranked]
        judged = [exponential_gain(value, top) for value in judged]
    elif variant != "log2":
        raise ValueError(f"unknown dcg variant {variant}")
    ideal = dcg(first(sorted((max(gain, 0) for gain in judged), reverse=True), cutoff))
    return dcg(first(ranked, cutoff)) / ideal if ideal > 0 else 0.0


def normalised_gain(ranked: Sequence[Number], judged: Sequence[Number]) -> float:
    """trec_eval's G: Σ gain / log2(2 + cost - gains so far) / Σ gain of the judged, as in m_G.c.

    The cost of a rank is the gain of the ideal ranking there, but at least 1.
    """
    if sum(judged) <= 0:
        return 0.0
    ideal = sorted(judged, reverse=True)
    retrieved = cost = total = 0.0
    for rank, gain in enumerate(ranked):
        retrieved += gain
        cost += max(ideal[rank], 1) if rank < len(ideal) else 1
        total += gain / math.log2(2 + cost - retrieved)
    return total / sum(judged)


def average_precision(flags: Sequence[bool], positives: int, cutoff: int | None = None) -> float:
    """Precision at each positive document within the cutoff, over all positives (trec_eval map, map_cut)."""
    hits, total = 0, 0.0
    for rank, flag in enumerate(first(flags, cutoff), start=1):
        if flag:
            hits += 1
            total += hits / rank
    return total / positives if positives > 0 else 0.0


def precision_at(flags: Sequence[bool], cutoff: int) -> float:
    """Positives among the first k ranks, over k even when fewer were retrieved (trec_eval P)."""
    return sum(flags[:cutoff]) / cutoff


def recall_at(flags: Sequence[bool], positives: int, cutoff: int) -> float:
    """Positives among the first k ranks, over all positives (trec_eval recall)."""
    return sum(flags[:cutoff]) / positives if positives > 0 else 0.0


def reciprocal_rank(flags: Sequence[bool], cutoff: int | None = None) -> float:
    """1 / rank of the first positive document, 0 if none is within the cutoff (trec_eval recip_rank)."""
    for rank, flag in enumerate(first(flags, cutoff), start=1):
        if flag:
            return 1 / rank
    return 0.0


def r_precision(flags: Sequence[bool], positives: int) -> float:
    """Precision at R, the number of positives (trec_eval Rprec)."""
    return sum(flags[:positives]) / positives if positives > 0 else 0.0


def rank_biased_precision(
    flags: Sequence[bool], p: float = 0.8, cutoff: int | None = None
) -> float:
    """(1-p) * sum over ranks of p^(rank-1) * flag (Zuccon Eq. 3)."""
    return (1 - p) * sum(
        p ** (rank - 1) * flag for rank, flag in enumerate(first(flags, cutoff), start=1)
    )


def cascade(chances: Sequence[float]) -> float:
    """Sum over ranks of R_k / k * product of (1 - R_i) of the ranks above (gdeval err)."""
    total, still_looking = 0.0, 1.0
    for rank, chance in enumerate(chances, start=1):
        total += still_looking * chance / rank
        still_looking *= 1 - chance
    return total


def expected_reciprocal_rank(
    ranked: Sequence[Number], top: Number, cutoff: int | None = None
) -> float:
    """The cascade with R = (2^value - 1) / 2^top; gdeval has top = 4, here the scale's top (MEASURES §1)."""
    return cascade([exponential_gain(value, top) for value in first(ranked, cutoff)])


def success_at(flags: Sequence[bool], cutoff: int) -> float:
    """1 if a positive document is among the first k ranks (trec_eval success)."""
    return 1.0 if any(flags[:cutoff]) else 0.0


def set_precision(flags: Sequence[bool], positives: int, relative: bool = False) -> float:
    """Positives among the retrieved, over the retrieved (trec_eval set_P), or relative to the most that was
    possible: over min(retrieved, positives) (trec_eval set_relative_P)."""
    possible = min(len(flags), positives) if relative else len(flags)
    return sum(flags) / possible if possible > 0 else 0.0


def set_recall(flags: Sequence[bool], positives: int) -> float:
    """Positives among the retrieved, over all positives (trec_eval set_recall)."""
    return sum(flags) / positives if positives > 0 else 0.0


def set_f(flags: Sequence[bool], positives: int, beta: float = 1.0) -> float:
    """(1+beta) P R / (R + beta P), beta not squared (trec_eval set_F; MEASURES §1, "Base measures")."""
    p, r = set_precision(flags, positives), set_recall(flags, positives)
    return (1 + beta) * p * r / (r + beta * p) if p > 0 and r > 0 else 0.0


def set_average_precision(flags: Sequence[bool], positives: int) -> float:
    """Set precision times set recall (trec_eval set_map)."""
    return set_precision(flags, positives) * set_recall(flags, positives)


def rank_biased_overlap(ranked: Sequence[str], ideal: Sequence[str], p: float) -> float:
    """Sum over k = 1, ..., 1000 of p^(k-1) |first k of both| / k (MEASURES §8)."""
    return sum(p ** (k - 1) * len(set(ranked[:k]) & set(ideal[:k])) / k for k in range(1, 1001))


def compatibility(run: Run, weights: Mapping[str, Number], p: float) -> float:
    """Overlap with the documents of positive weight, best first, ties in the run's order, over that of these with
    themselves (MEASURES §8)."""
    ranked = ranking(run)
    at = {docno: rank for rank, docno in enumerate(ranked)}
    positive = [docno for docno in weights if weights[docno] > 0]
    ideal = sorted(positive, key=lambda docno: (-weights[docno], at.get(docno, len(ranked))))
    best = rank_biased_overlap(ideal, ideal, p)
    return rank_biased_overlap(ranked, ideal, p) / best if best > 0 else 0.0


@dataclass(frozen=True)
class RefColumn:
    """The input of a base measure for one query: one label per document, of an aspect or aggregated."""

    ranked: list[Number]  # graded value by rank, unjudged 0
    judged: list[Number]  # graded values of the judged documents
    top: Number  # the graded value of the best label of the scale
    flags: list[bool]  # positive or not, by rank
    positives: int  # positive documents among the judged

    def is_empty_for(self, base: str) -> bool:
        """Return whether no document of the query has a gain for this base."""
        if base in GRADED_BASES:
            return not any(value > 0 for value in self.judged)
        return self.positives == 0


GRADED_BASES = ("nDCG", "CG", "DCG", "G", "ERR")

BASES: dict[str, Callable[..., float]] = {
    "nDCG": lambda c, dcg="log2", cutoff=None: ndcg(c.ranked, c.judged, dcg, cutoff),
    "CG": lambda c, cutoff=None: sum(first(c.ranked, cutoff)),
    "DCG": lambda c, cutoff=None: dcg(first(c.ranked, cutoff)),
    "G": lambda c: normalised_gain(c.ranked, c.judged),
    "ERR": lambda c, cutoff=None: expected_reciprocal_rank(c.ranked, c.top, cutoff),
    "AP": lambda c, cutoff=None: average_precision(c.flags, c.positives, cutoff),
    "P": lambda c, cutoff: precision_at(c.flags, cutoff),
    "R": lambda c, cutoff: recall_at(c.flags, c.positives, cutoff),
    "RR": lambda c, cutoff=None: reciprocal_rank(c.flags, cutoff),
    "Rprec": lambda c: r_precision(c.flags, c.positives),
    "RBP": lambda c, p=0.8, cutoff=None: rank_biased_precision(c.flags, p, cutoff),
    "Success": lambda c, cutoff: success_at(c.flags, cutoff),
    "SetP": lambda c, relative=False: set_precision(c.flags, c.positives, relative),
    "SetR": lambda c: set_recall(c.flags, c.positives),
    "SetF": lambda c, beta=1.0: set_f(c.flags, c.positives, beta),
    "SetAP": lambda c: set_average_precision(c.flags, c.positives),
}


def evaluate_base(base: str, params: Params | None, column: RefColumn) -> float:
    """A base measure, named and parametrised as in ir-measures, on one column.

    ``rel`` and ``gains`` have already had their effect when the column was made.
    """
    rest = {key: value for key, value in (params or {}).items() if key not in ("rel", "gains")}
    return float(BASES[base](column, **rest))


def aspect_column(
    ranked: Sequence[str],
    judgments: Judgments,
    name: str,
    aspect: RefAspect,
    params: Params | None = None,
) -> RefColumn:
    """The column of one aspect (MEASURES §1)."""
    rel, gains = (params or {}).get("rel"), (params or {}).get("gains")
    retrieved = [label_of(judgments, doc, name) for doc in ranked]
    judged = [label_of(judgments, doc, name) for doc in judged_documents(judgments, [name])]
    return RefColumn(
        ranked=[gain_of(aspect, label, gains) for label in retrieved],
        judged=[gain_of(aspect, label, gains) for label in judged],
        top=aspect.gains[-1],
        flags=[is_positive(aspect, label, rel) for label in retrieved],
        positives=sum(is_positive(aspect, label, rel) for label in judged),
    )


def on(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    name: str,
    base: str = "nDCG",
    params: Params | None = None,
) -> float:
    """``On(aspect, base)``: the plain single-aspect measure (MEASURES §1)."""
    return evaluate_base(
        base, params, aspect_column(ranking(run), judgments, name, aspects[name], params)
    )


# -----------------------------------------------------------------------------------------------------------
# Label aggregation: TOMA
# -----------------------------------------------------------------------------------------------------------


def exact(number: Number) -> Fraction:
    """The number as the fraction it is nearest to, else as the decimal it prints as (MEASURES §2.3)."""
    return number if isinstance(number, Fraction) else exactly(number)


def order_of(distance: str | Number) -> Number:
    """The Minkowski order of a named or numeric distance; infinity is Chebyshev (MEASURES §2.2)."""
    named = {"manhattan": 1, "euclidean": 2, "chebyshev": math.inf}
    p = named[distance] if isinstance(distance, str) else distance
    if not p > 0:
        raise ValueError(f"the order of a distance must be positive, not {distance}")
    return int(p) if p != math.inf and p == int(p) else p


@dataclass(frozen=True)
class RefOrder:
    """The distance order on the tuples of grades (Maistro Eq. 2 and 3)."""

    index: dict[tuple[Number, ...], int]  # class of the tuple, 0 the farthest
    n_classes: int  # K
    distances: dict[tuple[Number, ...], float]  # Dist to the best tuple
    normalized: dict[tuple[Number, ...], float]  # 1 - d / d_max


def is_impossible(grades: Sequence[Number], aspects: Aspects, gate: str | None) -> bool:
    """The gate aspect has its lowest grade while another is higher (Maistro §3.4; MEASURES §2.4)."""
    if gate is None:
        return False
    lowest = {
        name: grade == aspect.grades[0]
        for grade, (name, aspect) in zip(grades, aspects.items(), strict=True)
    }
    return lowest[gate] and not all(lowest.values())


def toma_classes(
    aspects: Aspects,
    distance: str | Number = "euclidean",
    weights: Mapping[str, Number] | None = None,
    gate: str | None = None,
    axes: str = "equal",
) -> RefOrder:
    """Classes of equal distance to the best tuple, over all possible tuples of the scales.

    Equal axes: the gains of every aspect are mapped to [0, 1] first (MEASURES §2.1; Maistro §3.4).

    Manhattan, Euclidean, Chebyshev and integer p compare exact p-th powers of the distance; another
    p compares floating-point sums, equal within 1e-13 * d_max^p (Maistro §3.2; MEASURES §2.1-2.4).
    """
    p = order_of(distance)
    if any(weight < 0 for weight in (weights or {}).values()):
        raise ValueError("a weight is negative")

    powers: dict[tuple[Number, ...], Number] = {}  # d^p, or d for Chebyshev
    for grades in itertools.product(*(aspect.grades for aspect in aspects.values())):
        if is_impossible(grades, aspects, gate):
            continue
        gaps = []
        for grade, (name, aspect) in zip(grades, aspects.items(), strict=True):
            value = aspect.gains[aspect.grades.index(grade)]
            weight = exact((weights or {}).get(name, 1))
            lowest, top = exact(aspect.gains[0]), exact(aspect.gains[-1])
            gap = top - exact(value)
            if axes == "equal":
                gap = gap / (top - lowest) if top > lowest else Fraction(0)
            gaps.append(weight * gap)
        if p == math.inf:
            powers[grades] = max(gaps)
        elif isinstance(p, int):
            powers[grades] = sum(gap**p for gap in gaps)
        else:
            powers[grades] = math.fsum(float(gap) ** float(p) for gap in gaps)

    largest = max(powers.values())
    tolerance = 0 if isinstance(p, int) or p == math.inf else 1e-13 * largest

    index, current, previous = {}, -1, None
    for grades in sorted(powers, key=lambda grades: powers[grades], reverse=True):
        if previous is None or previous - powers[grades] > tolerance:
            current += 1
        previous = powers[grades]
        index[grades] = current

    root = 1.0 if p == math.inf else 1.0 / float(p)
    distances = {grades: float(power) ** root for grades, power in powers.items()}
    normalized = {
        grades: 1 - float(power / largest) ** root if largest > 0 else 0.0
        for grades, power in powers.items()
    }
    return RefOrder(index, current + 1, distances, normalized)


def toma_tuple(
    judgments: Judgments, docno: str, aspects: Aspects, gate: str | None
) -> tuple[Number, ...]:
    """The tuple of grades of a document: unjudged and junk labels are the lowest grade; what the gate makes
    impossible is the worst tuple (MEASURES §1, "Labels", and §2.4)."""
    grades = tuple(
        aspect.grades[grade_index(aspect, label_of(judgments, docno, name))]
        for name, aspect in aspects.items()
    )
    if is_impossible(grades, aspects, gate):
        return tuple(aspect.grades[0] for aspect in aspects.values())
    return grades


def toma_column(
    ranked: Sequence[str],
    judgments: Judgments,
    aspects: Aspects,
    base: str = "nDCG",
    params: Params | None = None,
    distance: str | Number = "euclidean",
    weights: Mapping[str, Number] | None = None,
    weighting: str = "classes",
    positives: str = "nonzero",
    gate: str | None = None,
    axes: str = "equal",
) -> RefColumn:
    """The aggregated labels W of one query (Maistro §3.3; MEASURES §2.3-2.5)."""
    if "gains" in (params or {}):
        raise ValueError("nDCG(gains=...) is an error under TOMA")
    order = toma_classes(aspects, distance, weights, gate, axes)
    judged = judged_documents(judgments, aspects)
    tuples = {doc: toma_tuple(judgments, doc, aspects, gate) for doc in {*ranked, *judged}}
    classes = {doc: order.index[tuples[doc]] for doc in tuples}

    if weighting == "classes":
        weight: dict[str, Number] = dict(classes)
        top: Number = order.n_classes - 1
    elif weighting == "normalized":
        weight = {doc: order.normalized[tuples[doc]] for doc in tuples}
        top = 1.0 if order.n_classes > 1 else 0.0
    elif weighting == "exponential":
        # nDCG does not feel a common factor: 2^-(largest judged index) keeps it from overflowing.
        scaled = base == "nDCG" and (params or {}).get("dcg", "log2") == "log2"
        scale = 2 ** max((classes[doc] for doc in judged), default=0) if scaled else 1
        weight = {doc: Fraction(2 ** classes[doc] - 1, scale) for doc in tuples}
        top = Fraction(2 ** (order.n_classes - 1) - 1, scale)
    else:
        raise ValueError(f"unknown weighting {weighting}")

    bound = (params or {}).get("rel")
    if bound is None and positives == "nonzero":
        bound = 1
    elif bound is None and positives == "top-half":
        bound = max(1, order.n_classes // 2)
    elif bound is None:
        raise ValueError(f"unknown positives {positives}")

    return RefColumn(
        ranked=[weight[doc] for doc in ranked],
        judged=[weight[doc] for doc in judged],
        top=top,
        flags=[doc in judged and classes[doc] >= bound for doc in ranked],
        positives=sum(classes[doc] >= bound for doc in judged),
    )


def toma(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: str = "nDCG",
    params: Params | None = None,
    distance: str | Number = "euclidean",
    weights: Mapping[str, Number] | None = None,
    weighting: str = "classes",
    positives: str = "nonzero",
    gate: str | None = None,
    axes: str = "equal",
) -> float:
    """TOMA: the base measure on the aggregated labels (Maistro §3.3, step 3); ``rel`` is a class index."""
    column = toma_column(
        ranking(run),
        judgments,
        aspects,
        base,
        params,
        distance,
        weights,
        weighting,
        positives,
        gate,
        axes,
    )
    return evaluate_base(base, params, column)


# -----------------------------------------------------------------------------------------------------------
# Score aggregation: CAM, MM, WHAM, GAM
# -----------------------------------------------------------------------------------------------------------

Base = str | Mapping[str, str | tuple[str, Params]]


def scores_by_aspect(
    ranked: Sequence[str],
    judgments: Judgments,
    aspects: Aspects,
    base: Base,
    params: Params | None,
    weights: Mapping[str, Number] | None,
    empty: str,
) -> list[tuple[float, float]]:
    """Pairs (p_a, mu_a) of the aspects that count; p_a sums to 1 (MEASURES §3).

    ``base`` is one name for all aspects (with ``params``) or a dict {aspect: name or (name,
    params)}.
    An aspect with nothing to reward has mu_a = 0, or is left out with ``empty='drop'``.
    """
    p = proportions(list(aspects), weights)
    pairs = []
    for name, aspect in aspects.items():
        if isinstance(base, str):
            the_base, the_params = base, params
        else:
            chosen = base[name]
            the_base, the_params = (chosen, params) if isinstance(chosen, str) else chosen
        if p[name] == 0:
            continue
        column = aspect_column(ranked, judgments, name, aspect, the_params)
        if empty == "drop" and column.is_empty_for(the_base):
            continue
        pairs.append((p[name], evaluate_base(the_base, the_params, column)))
    total = sum(p_a for p_a, _ in pairs)
    return [(p_a / total, mu) for p_a, mu in pairs]


def arithmetic(pairs: Sequence[tuple[float, float]]) -> float:
    """sum p_a mu_a (Maistro Eq. 5; Lioma Eq. 12)."""
    return sum(p * mu for p, mu in pairs)


def harmonic(pairs: Sequence[tuple[float, float]]) -> float:
    """sum p_a / sum (p_a / mu_a), 0 if any mu_a is 0 (Maistro Eq. 6 and §4.2, "Problem 1"; Lioma Eq. 13)."""
    if not pairs or any(mu == 0 for _, mu in pairs):
        return 0.0
    return sum(p for p, _ in pairs) / sum(p / mu for p, mu in pairs)


def geometric(pairs: Sequence[tuple[float, float]]) -> float:
    """product mu_a^p_a, 0 if any mu_a is 0 (Lioma §5.3, "Similar definitions"; MEASURES §3)."""
    if not pairs:
        return 0.0
    return math.prod(mu**p for p, mu in pairs)


def cam(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: Base = "nDCG",
    params: Params | None = None,
    weights: Mapping[str, Number] | None = None,
    empty: str = "zero",
    normalized: bool = False,
) -> float:
    """CAM (Maistro Eq. 5); ``normalized`` divides by the best CAM of any ranking of the judged documents,
    found by trying them all: small n only (MEASURES §3)."""
    score = arithmetic(
        scores_by_aspect(ranking(run), judgments, aspects, base, params, weights, empty)
    )
    if not normalized:
        return score
    best = best_cam(judgments, aspects, base, params, weights, empty)
    return score / best if best > 0 else 0.0


def best_cam(
    judgments: Judgments,
    aspects: Aspects,
    base: Base = "nDCG",
    params: Params | None = None,
    weights: Mapping[str, Number] | None = None,
    empty: str = "zero",
) -> float:
    """The best CAM over all permutations of the judged documents, by brute force (MEASURES §3)."""
    return max(
        arithmetic(scores_by_aspect(permutation, judgments, aspects, base, params, weights, empty))
        for permutation in itertools.permutations(judged_documents(judgments, aspects))
    )


def mm(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: Base = "nDCG",
    params: Params | None = None,
    weights: Mapping[str, Number] | None = None,
    empty: str = "zero",
) -> float:
    """MM (Maistro Eq. 6)."""
    return harmonic(
        scores_by_aspect(ranking(run), judgments, aspects, base, params, weights, empty)
    )


def wham(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: Base = "nDCG",
    params: Params | None = None,
    weights: Mapping[str, Number] | None = None,
    empty: str = "zero",
) -> float:
    """WHAM (Lioma Eq. 13): MM for exactly two aspects."""
    if len(aspects) != 2:
        raise ValueError(f"WHAM takes two aspects, not {len(aspects)}")
    return mm(run, judgments, aspects, base, params, weights, empty)


def gam(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: Base = "nDCG",
    params: Params | None = None,
    weights: Mapping[str, Number] | None = None,
    empty: str = "zero",
) -> float:
    """GAM: the weighted geometric mean (MEASURES §3)."""
    return geometric(
        scores_by_aspect(ranking(run), judgments, aspects, base, params, weights, empty)
    )


# -----------------------------------------------------------------------------------------------------------
# Displacement: CRP
# -----------------------------------------------------------------------------------------------------------


def ideal_interval(degree: int, judged: Sequence[int]) -> tuple[int, float]:
    """Return the first and last rank of a degree in the ideal ranking of the judged documents (Angelini, Eq. 2-3).

    Degrees above 0 are relevant, 0 is not relevant, or not judged; those below 0 are harmful.
    Documents that are not judged have no rank in the ideal ranking, so that no degree from 0 down
    ends.
    """
    better = sum(other > degree for other in judged)
    if degree <= 0:
        return better + 1, math.inf
    return better + 1, better + judged.count(degree)


def relative_position(rank: int, degree: int, judged: Sequence[int]) -> float:
    """The distance of a rank to the ideal ranks of a degree, negative if it is too high (Angelini, Eq. 4)."""
    first_rank, last_rank = ideal_interval(degree, judged)
    if rank < first_rank:
        return rank - first_rank
    if rank > last_rank:
        return rank - last_rank
    return 0


def crp_curve(ranked: Sequence[int], judged: Sequence[int], length: int) -> list[float]:
    """Return CRP at each rank (Angelini, Eq. 5); ranks that the ranking does not fill are not relevant."""
    padded = [*ranked, *[0] * length][:length]
    positions = [relative_position(rank, degree, judged) for rank, degree in enumerate(padded, 1)]
    return list(itertools.accumulate(positions))


def ncrp(ranked: Sequence[int], judged: Sequence[int]) -> float:
    """Return 1 - CRP at R / the lowest CRP at R, within 0 and 1, where the most harmful documents come first."""
    total = sum(degree > 0 for degree in judged)
    if not total:
        return 0.0
    worst = crp_curve(sorted(degree for degree in judged if degree < 0), judged, total)[-1]
    return min(1.0, 1 - crp_curve(ranked, judged, total)[-1] / worst)


def crp_recovery(ranked: Sequence[int], judged: Sequence[int]) -> float:
    """Return R / the first retrieved rank from R on at which CRP is at least 0; 0 if there is none."""
    total = sum(degree > 0 for degree in judged)
    for rank in range(max(total, 1), len(ranked) + 1):
        if total and crp_curve(ranked, judged, rank)[-1] >= 0:
            return total / rank
    return 0.0


# -----------------------------------------------------------------------------------------------------------
# Gain aggregation: uRBP, uRBPgr, unDCG, uERR, NWCS
# -----------------------------------------------------------------------------------------------------------


def probability_product(judgments: Judgments, docno: str, aspects: Aspects) -> float:
    """P(D_1, ..., D_n | d): the product of the aspects' probabilities (Zuccon Eq. 2)."""
    return math.prod(
        float(probability_of(aspect, label_of(judgments, docno, name)))
        for name, aspect in aspects.items()
    )


def urbp(
    run: Run, judgments: Judgments, aspects: Aspects, p: float = 0.8, cutoff: int | None = None
) -> float:
    """uRBP with binary probabilities, 1 at the threshold of the aspect (Zuccon Eq. 4; MEASURES §4)."""
    total = 0.0
    for k, doc in enumerate(first(ranking(run), cutoff), start=1):
        gain = math.prod(
            is_positive(aspect, label_of(judgments, doc, name)) for name, aspect in aspects.items()
        )
        total += p ** (k - 1) * gain
    return (1 - p) * total


def urbpgr(
    run: Run, judgments: Judgments, aspects: Aspects, p: float = 0.8, cutoff: int | None = None
) -> float:
    """uRBPgr: uRBP with the aspects' probabilities (Zuccon Eq. 4 and §4.1, last paragraph)."""
    total = 0.0
    for k, doc in enumerate(first(ranking(run), cutoff), start=1):
        total += p ** (k - 1) * probability_product(judgments, doc, aspects)
    return (1 - p) * total


def undcg(
    run: Run, judgments: Judgments, aspects: Aspects, s: float = 1, cutoff: int | None = None
) -> float:
    """DCG of 2^{sP} - 1 over that of all judged documents, best first (Zuccon §3, Eq. 2; MEASURES §4)."""
    ranked = [2 ** (s * probability_product(judgments, doc, aspects)) - 1 for doc in ranking(run)]
    judged = [
        2 ** (s * probability_product(judgments, doc, aspects)) - 1
        for doc in judged_documents(judgments, aspects)
    ]
    ideal = dcg(first(sorted(judged, reverse=True), cutoff))
    return dcg(first(ranked, cutoff)) / ideal if ideal > 0 else 0.0


def uerr(
    run: Run, judgments: Judgments, aspects: Aspects, s: float = 1, cutoff: int | None = None
) -> float:
    """The cascade with R = (2^{sP} - 1) / 2^{s Pmax}, Pmax the product of the top probabilities (Zuccon §3, Eq. 2;
    MEASURES §4). P is 0 for a document that is not judged on every aspect."""
    largest = math.prod(float(top_probability(aspect)) for aspect in aspects.values())

    def product(doc: str) -> float:
        is_judged = all(label_of(judgments, doc, name) is not None for name in aspects)
        return probability_product(judgments, doc, aspects) if is_judged else 0.0

    chances = [
        (2 ** (s * product(doc)) - 1) / 2 ** (s * largest) for doc in first(ranking(run), cutoff)
    ]
    return cascade(chances)


def nwcs(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    weights: Mapping[str, Number] | None = None,
    ideal: str = "joint",
    cutoff: int | None = None,
) -> float:
    """NWCS (Lioma Eq. 10 and 11): WCS over that of an ideal ranking of the same retrieved documents, of the
    first k with a cutoff. 'joint': the best single ranking; 'separate': the best for each aspect;
    'judged': the best single ranking of judged documents, then unjudged ones, as long as the run
    (MEASURES §4)."""
    p = proportions(list(aspects), weights)
    retrieved = first(ranking(run), cutoff)
    z = {
        name: [float(gain_of(aspect, label_of(judgments, doc, name))) for doc in retrieved]
        for name, aspect in aspects.items()
    }

    def weighted_cumulative_score(gains: Sequence[float]) -> float:
        return sum(gain / math.log2(1 + i) for i, gain in enumerate(gains, start=1))

    joint = [sum(p[name] * z[name][i] for name in aspects) for i in range(len(retrieved))]
    score = weighted_cumulative_score(joint)
    if ideal == "joint":
        best = weighted_cumulative_score(sorted(joint, reverse=True))
    elif ideal == "separate":
        best = sum(
            p[name] * weighted_cumulative_score(sorted(z[name], reverse=True)) for name in aspects
        )
    elif ideal == "judged":

        def worth(doc: str) -> float:
            labels = {name: label_of(judgments, doc, name) for name in aspects}
            return sum(
                p[name] * float(gain_of(aspect, labels[name])) for name, aspect in aspects.items()
            )

        pool = judged_documents(judgments, aspects)
        best = weighted_cumulative_score(sorted(map(worth, pool), reverse=True)[: len(retrieved)])
    else:
        raise ValueError(f"unknown ideal {ideal}")
    return score / best if best != 0 else 0.0


# -----------------------------------------------------------------------------------------------------------
# Rank errors: NLRE, NGRE
# -----------------------------------------------------------------------------------------------------------


def monus(a: int, b: int) -> int:
    """a - b, but 0 where a <= b (Lioma Eq. 1)."""
    return a - b if a > b else 0


def ideal_positions(
    retrieved: Sequence[str], judgments: Judgments, name: str, aspect: RefAspect
) -> list[int]:
    """R_{D_i}: by input rank, the position in the ideal ranking by this aspect of the same documents, ties
    kept in input order (Lioma §4; MEASURES §5)."""
    grades = {doc: grade_index(aspect, label_of(judgments, doc, name)) for doc in retrieved}
    ideal = sorted(retrieved, key=lambda doc: -grades[doc])  # a stable sort
    return [ideal.index(doc) + 1 for doc in retrieved]


def errors(positions: Sequence[int]) -> list[int]:
    """epsilon_i = R_{D_i} monus R_{D_{i+1}}, i = 1..n-1 (Lioma Eq. 2 and 3)."""
    return [monus(upper, lower) for upper, lower in itertools.pairwise(positions)]


def lre(positions: Sequence[Sequence[int]], constants: Sequence[float]) -> float:
    """Local rank error of the ideal positions: terms prod(mu_a + eps_a) - prod(mu_a) (Lioma Eq. 4)."""
    epsilon = [errors(aspect) for aspect in positions]
    total = 0.0
    for i in range(1, len(positions[0])):
        factors = [mu + eps[i - 1] for mu, eps in zip(constants, epsilon, strict=True)]
        total += (math.prod(factors) - math.prod(constants)) / math.log2(1 + i)
    return total


def gre(positions: Sequence[Sequence[int]], constants: Sequence[float]) -> float:
    """Global rank error (Lioma Eq. 7): prod(1 + mu_a * sum of eps_a / log2(1 + i)) - 1."""
    factors = []
    for mu, aspect in zip(constants, positions, strict=True):
        factors.append(
            1 + mu * sum(eps / math.log2(1 + i) for i, eps in enumerate(errors(aspect), start=1))
        )
    return math.prod(factors) - 1


def c_lre(n: int, constants: Sequence[float]) -> float:
    """C_LRE (Lioma Eq. 6), j up to floor(n/2 - 1) inclusive; for any number of aspects (MEASURES §5)."""
    total = 0.0
    for j in range(math.floor(n / 2 - 1) + 1):
        m = n - 2 * j - 1
        total += (math.prod(mu + m for mu in constants) - math.prod(constants)) / (
            1 + math.log2(1 + j)
        )
    return total


def c_gre(n: int, constants: Sequence[float]) -> float:
    """C_GRE (Lioma Eq. 9), for any number of aspects (MEASURES §5)."""
    s = sum((n - 2 * j - 1) / (1 + math.log2(1 + j)) for j in range(math.floor(n / 2 - 1) + 1))
    return math.prod(1 + mu * s for mu in constants) - 1


def rank_error_constants(
    names: Sequence[str], mu: float | Mapping[str, float], nu: float
) -> list[float]:
    """mu and nu for the first two aspects, .5 for further ones; or mu: {aspect: constant} (MEASURES §5)."""
    if isinstance(mu, Mapping):
        constants = [mu.get(name, 0.5) for name in names]
    else:
        constants = [mu, nu, *[0.5] * len(names)][: len(names)]
    if min(constants) < 0 or sum(constants) == 0:
        raise ValueError(f"the constants must not be negative, nor all zero: {constants}")
    return constants


def normalised_rank_error(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    mu: float | Mapping[str, float],
    nu: float,
    cutoff: int | None,
    error: Callable[[Sequence[Sequence[int]], Sequence[float]], float],
    largest: Callable[[int, Sequence[float]], float],
) -> float:
    """1 - error / C (Lioma Eq. 5 and 8); one document gives 1, none gives 0 (MEASURES §5)."""
    constants = rank_error_constants(list(aspects), mu, nu)
    retrieved = first(ranking(run), cutoff)
    if len(retrieved) == 0:
        return 0.0
    if len(retrieved) == 1:
        return 1.0
    positions = [
        ideal_positions(retrieved, judgments, name, aspect) for name, aspect in aspects.items()
    ]
    value = 1 - error(positions, constants) / largest(len(retrieved), constants)
    return min(1.0, max(0.0, value))


def nlre(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    mu: float | Mapping[str, float] = 0.5,
    nu: float = 0.5,
    cutoff: int | None = None,
) -> float:
    """NLRE (Lioma Eq. 5)."""
    return normalised_rank_error(run, judgments, aspects, mu, nu, cutoff, lre, c_lre)


def ngre(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    mu: float | Mapping[str, float] = 0.5,
    nu: float = 0.5,
    cutoff: int | None = None,
) -> float:
    """NGRE (Lioma Eq. 8)."""
    return normalised_rank_error(run, judgments, aspects, mu, nu, cutoff, gre, c_gre)


def largest_rank_error(
    error: Callable[[Sequence[Sequence[int]], Sequence[float]], float],
    n: int,
    constants: Sequence[float],
    same_order: bool = False,
) -> float:
    """The true maximum of ``lre`` or ``gre`` by brute force: over every combination of one permutation an
    aspect, or, with ``same_order``, over those that all aspects share. (n!)^aspects: small n
    only."""
    permutations = list(itertools.permutations(range(1, n + 1)))
    if same_order:
        return max(error([order] * len(constants), constants) for order in permutations)
    return max(
        error(orders, constants)
        for orders in itertools.product(permutations, repeat=len(constants))
    )


# -----------------------------------------------------------------------------------------------------------
# Redundancy and effort: RBU
# -----------------------------------------------------------------------------------------------------------


def rbu(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    p: float = 0.99,
    effort: float = 0.05,
    weights: Mapping[str, Number] | None = None,
    cutoff: int | None = None,
) -> float:
    """RBU (Amigó; MEASURES §10): what a document adds on each aspect, less the effort, rank by rank."""
    share = proportions(list(aspects), weights)
    unsatisfied = dict.fromkeys(aspects, 1.0)
    total = 0.0
    for i, doc in enumerate(first(ranking(run), cutoff), start=1):
        added = 0.0
        for name, aspect in aspects.items():
            chance = exponential_gain(
                gain_of(aspect, label_of(judgments, doc, name)), aspect.gains[-1]
            )
            added += share[name] * chance * unsatisfied[name]
            unsatisfied[name] *= 1 - chance
        total += (1 - p) * p ** (i - 1) * (added - effort)
    return total


# -----------------------------------------------------------------------------------------------------------
# Themes and usability: MDCU, nMDCU
# -----------------------------------------------------------------------------------------------------------


def mdcu_of_list(
    documents: Sequence[str],
    judgments: Judgments,
    aspects: Aspects,
    themes: Sequence[str],
    usability: Sequence[str],
    overlap: float = 2,
) -> float:
    """MDCU of documents in this order (Järvelin and Sormunen; MEASURES §10)."""
    cumulated = dict.fromkeys(themes, 0.0)
    total = 0.0
    for doc in documents:
        reduced = {}
        for theme in themes:
            gain = float(gain_of(aspects[theme], label_of(judgments, doc, theme)))
            covered = cumulated[theme]
            reduced[theme] = gain / max(1, math.log(covered, overlap)) if covered > 0 else gain
        usable = math.prod(
            float(gain_of(aspects[name], label_of(judgments, doc, name))) for name in usability
        )
        total += usable * sum(reduced.values())
        for theme in themes:
            cumulated[theme] += reduced[theme]
    return total


def mdcu(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    themes: Sequence[str],
    usability: Sequence[str],
    overlap: float = 2,
    cutoff: int | None = None,
) -> float:
    """MDCU of the first ranks of a run."""
    return mdcu_of_list(first(ranking(run), cutoff), judgments, aspects, themes, usability, overlap)


def greedy_mdcu_list(
    judgments: Judgments,
    aspects: Aspects,
    themes: Sequence[str],
    usability: Sequence[str],
    overlap: float = 2,
    cutoff: int | None = None,
) -> list[str]:
    """The greedy ideal: next the document that adds most; of equals, that with the larger usability, then with
    the larger gain on the first theme, and so on (the docstring of nMDCU)."""

    def gains(doc: str, names: Sequence[str]) -> list[float]:
        return [float(gain_of(aspects[name], label_of(judgments, doc, name))) for name in names]

    ranked: list[str] = []
    rest = list(judgments)
    while rest and (cutoff is None or len(ranked) < cutoff):
        so_far = mdcu_of_list(ranked, judgments, aspects, themes, usability, overlap)

        def useful(doc: str, so_far: float = so_far) -> tuple[object, ...]:
            added = (
                mdcu_of_list([*ranked, doc], judgments, aspects, themes, usability, overlap)
                - so_far
            )
            return round(added, 9), math.prod(gains(doc, usability)), gains(doc, themes)

        best = max(rest, key=useful)
        ranked.append(best)
        rest.remove(best)
    return ranked


def nmdcu(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    themes: Sequence[str],
    usability: Sequence[str],
    overlap: float = 2,
    cutoff: int | None = None,
) -> float:
    """MDCU over that of the greedy ideal; 0 if that is 0."""
    ideal = greedy_mdcu_list(judgments, aspects, themes, usability, overlap, cutoff)
    best = mdcu_of_list(ideal, judgments, aspects, themes, usability, overlap)
    return (
        mdcu(run, judgments, aspects, themes, usability, overlap, cutoff) / best
        if best > 0
        else 0.0
    )


# -----------------------------------------------------------------------------------------------------------
# Aspects as subtopics: the measures of ndeval
# -----------------------------------------------------------------------------------------------------------


def subtopics_of(
    judgments: Judgments, aspects: Aspects, doc: str, rel: Number | None = None
) -> list[str]:
    """The aspects on which the document is positive."""
    return [
        name
        for name, aspect in aspects.items()
        if is_positive(aspect, label_of(judgments, doc, name), rel)
    ]


def novel_gains(subtopics: Sequence[Sequence[str]], alpha: float) -> list[float]:
    """The gain at each rank: Σ (1 - alpha)^(times the subtopic was seen above)."""
    seen: dict[str, int] = {}
    gains = []
    for here in subtopics:
        gains.append(sum((1 - alpha) ** seen.get(name, 0) for name in here))
        for name in here:
            seen[name] = seen.get(name, 0) + 1
    return gains


def greedy_subtopics(
    judgments: Judgments, aspects: Aspects, alpha: float, rel: Number | None
) -> list[list[str]]:
    """ndeval's ideal: next the document with the largest gain, of equals the one with the last docno."""
    rest = {doc: subtopics_of(judgments, aspects, doc, rel) for doc in judgments}
    ranked: list[list[str]] = []
    while rest:
        best = max(
            rest, key=lambda doc: (round(novel_gains([*ranked, rest[doc]], alpha)[-1], 9), doc)
        )
        ranked.append(rest.pop(best))
    return ranked


def intent_aware(
    run: Run,
    judgments: Judgments,
    aspects: Aspects,
    base: str,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: Number | None = None,
    cutoff: int | None = None,
) -> float:
    """The measures of ndeval, by the names of ir-measures (MEASURES §10); 0 without a subtopic."""
    ranked = [subtopics_of(judgments, aspects, doc, rel) for doc in first(ranking(run), cutoff)]
    ideal = greedy_subtopics(judgments, aspects, alpha, rel)
    occurring = [name for name in aspects if any(name in here for here in ideal)]
    if not occurring:
        return 0.0
    discounts: dict[str, Callable[[int], float]] = {
        "DCG": lambda rank: 1 / math.log2(rank + 1),
        "ERR_IA": lambda rank: 1 / rank,
        "NRBP": lambda rank: beta ** (rank - 1),
    }

    def sum_gains(subtopics: Sequence[Sequence[str]]) -> float:
        discount = next(discounts[name] for name in discounts if base.endswith(name))
        return sum(
            gain * discount(rank)
            for rank, gain in enumerate(novel_gains(subtopics, alpha), start=1)
        )

    if base in ("alpha_nDCG", "nERR_IA", "nNRBP"):
        return sum_gains(ranked) / sum_gains(first(ideal, cutoff))
    if base in ("alpha_DCG", "ERR_IA"):
        return sum_gains(ranked) / sum_gains([occurring] * cutoff)
    if base == "NRBP":
        return sum_gains(ranked) * (1 - (1 - alpha) * beta) / len(occurring)
    if base == "StRecall":
        return sum(any(name in here for here in ranked) for name in occurring) / len(occurring)
    flags = {name: [name in here for here in ranked] for name in occurring}
    if base == "P_IA":
        return sum(sum(marks) / cutoff for marks in flags.values()) / len(occurring)
    positives = {name: sum(name in here for here in ideal) for name in occurring}
    return sum(average_precision(flags[name], positives[name]) for name in occurring) / len(
        occurring
    )


# -----------------------------------------------------------------------------------------------------------
# Aspects as intents with probabilities and grades (Sakai and Song; MEASURES §14)
# -----------------------------------------------------------------------------------------------------------


def intents_of(aspects: Aspects, weights: Mapping[str, Number] | None) -> dict[str, Fraction]:
    """The exact probability of each intent; an aspect of weight 0 is not an intent."""
    raw = {name: exactly(1 if weights is None else weights[name]) for name in aspects}
    return {name: weight / sum(raw.values()) for name, weight in raw.items() if weight}


def intent_recall(
    run: Run, judgments: Judgments, aspects: Aspects, weights: Any = None, cutoff: int | None = None
) -> float:
    """I-rec: intents with a positive document, over all intents."""
    intents, docs = intents_of(aspects, weights), first(ranking(run), cutoff)
    covered = [
        any(is_positive(aspects[name], label_of(judgments, doc, name)) for doc in docs)
        for name in intents
    ]
    return sum(covered) / len(covered)


def d_ndcg(
    run: Run, judgments: Judgments, aspects: Aspects, weights: Any = None, cutoff: int | None = None
) -> float:
    """D-nDCG: nDCG of the global gains Σ P g."""

    def global_gain(doc: str) -> float:
        return float(
            sum(
                share * exactly(gain_of(aspects[name], label_of(judgments, doc, name)))
                for name, share in intents_of(aspects, weights).items()
            )
        )

    return ndcg(
        [global_gain(doc) for doc in ranking(run)],
        [global_gain(doc) for doc in judgments],
        cutoff=cutoff,
    )


def graded_err_ia(
    run: Run, judgments: Judgments, aspects: Aspects, weights: Any = None, cutoff: int | None = None
) -> float:
    """Graded ERR-IA: Σ P ERR, where users stop with the probability g / (g_max + 1); undivided."""
    total = 0.0
    for name, share in intents_of(aspects, weights).items():
        aspect = aspects[name]
        gains = [
            gain_of(aspect, label_of(judgments, doc, name)) for doc in first(ranking(run), cutoff)
        ]
        total += float(share) * cascade(
            [float(gain) / (1 + float(max(aspect.gains[-1], 0))) for gain in gains]
        )
    return total


# -----------------------------------------------------------------------------------------------------------
# Prediction-powered intervals (MEASURES §13)
# -----------------------------------------------------------------------------------------------------------


def mean_of(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def squares(values: Sequence[float]) -> float:
    """The sum of squared deviations from the mean."""
    mean = mean_of(values)
    return math.fsum((value - mean) ** 2 for value in values)


def slope_of_labels(human: Sequence[float], labels: Sequence[float]) -> float:
    """The slope b of the regression of human values on labels, from 0 to 1."""
    if len(set(human)) == 1 or len(set(labels)) == 1:
        return 0.0
    means, pairs = (mean_of(human), mean_of(labels)), zip(human, labels, strict=True)
    slope = math.fsum((value - means[0]) * (label - means[1]) for value, label in pairs) / squares(
        labels
    )
    return min(max(slope, 0.0), 1.0)


def doubly_sampled(
    human: Sequence[float], labels: Sequence[float], further: Sequence[float]
) -> tuple[float, float, int]:
    """The regression estimate of the mean by double sampling, its variance, and the degrees of freedom."""
    n, n_further = len(human), len(further)
    if not further or len(set(labels)) == 1:
        return mean_of(human), squares(human) / (n - 1) / n, n - 1
    slope, k = slope_of_labels(human, labels), n_further / (n + n_further)
    distance = mean_of(further) - mean_of(labels)
    residual = residual_of_labels(human, labels)
    every = [*labels, *further]
    variance = residual * (1 / n + (k * distance) ** 2 / squares(labels))
    variance += slope**2 * squares(every) / (len(every) - 1) / len(every)
    return mean_of(human) + slope * k * distance, variance, n - 2


def residual_of_labels(human: Sequence[float], labels: Sequence[float]) -> float:
    """The variance of the human values that the labels leave unexplained."""
    slope = slope_of_labels(human, labels)
    residuals = [value - slope * label for value, label in zip(human, labels, strict=True)]
    return squares(residuals) / (len(human) - (1 if len(set(labels)) == 1 else 2))


def planned_variance(variance: float, residual: float, n: int, n_topics: int) -> float:
    """The variance of the regression estimate that is to be expected with n of the topics judged by people."""
    left = min(residual / variance, 1.0)
    k = (n_topics - n) / n_topics
    return variance / n * (left * (1 + k / (n - 3)) + (1 - left) * (1 - k))


def holm(levels: Sequence[float]) -> list[float]:
    """The k-th lowest of n levels times n - k + 1, at least those before it."""
    result, highest = [0.0] * len(levels), 0.0
    for k, position in enumerate(sorted(range(len(levels)), key=levels.__getitem__)):
        highest = max(highest, min(1.0, levels[position] * (len(levels) - k)))
        result[position] = highest
    return result
