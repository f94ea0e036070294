"""On one aspect the measures are what ir-measures computes on that column (MEASURES §1)."""

from __future__ import annotations

import importlib.util
import math
import shutil
from collections.abc import Iterable

import ir_measures
import pytest
from hypothesis import given
from ir_measures import (
    AP,
    ERR,
    RBP,
    RR,
    Bpref,
    Compat,
    IPrec,
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
)  # fmt: skip
from strategies import Collection, Run, collections, examples

from pt_multiaspect import CAM, GAM, MM, TOMA, Aspects, Measure, On

#: A run of other queries only is one of the things drawn.
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:the run and the qrels have no query:pt_multiaspect.MultiAspectWarning"
    ),
    pytest.mark.filterwarnings(
        "ignore:(the threshold of|no label of|every judged "
        "document):pt_multiaspect.MultiAspectWarning"
    ),
    pytest.mark.filterwarnings("ignore:.* has labels below:pt_multiaspect.MultiAspectWarning"),
    pytest.mark.filterwarnings("ignore:most scores of:pt_multiaspect.MultiAspectWarning"),
    pytest.mark.filterwarnings("ignore:rel=:pt_multiaspect.MultiAspectWarning"),
]

PYTREC_EVAL = (
    nDCG, nDCG @ 1, nDCG @ 3, nDCG @ 100, AP, AP @ 2, AP(rel=2), AP(rel=3) @ 3, P @ 1, P @ 5, P(rel=2) @ 3, R @ 3,
    R @ 10, RR, RR(rel=2), Rprec, Rprec(rel=2), Success @ 1, Success @ 3, Success(rel=2) @ 5, SetF, SetF(beta=0.5),
    SetF(beta=2.0), SetF(rel=2), SetP, SetP(rel=2), SetP(relative=True), SetR, SetR(rel=2), SetAP, SetAP(rel=2),
    Bpref, Bpref(rel=2), infAP, infAP(rel=2), IPrec @ 0.1,
)  # fmt: skip
#: What distinguishes junk from documents that are not relevant; only single aspects know junk
#: exactly.
KNOWS_JUNK = {"Bpref", "infAP"}
#: These are computed from another order of ties than trec_eval's.
RESCORED = (RR @ 1, RR @ 3, RR(rel=2) @ 5, Compat, Compat(p=0.8), Compat(p=0.5, normalize=False))
CWL_EVAL = (RBP(rel=1), RBP(rel=1, p=0.5), RBP(rel=2, p=0.95))
GDEVAL = (ERR @ 1, ERR @ 5, ERR @ 20, nDCG(dcg="exp-log2") @ 3, nDCG(dcg="exp-log2") @ 20)

FOUR = Aspects({"relevance": 4})
Values = dict[str, float]


def expected(
    bases: Iterable[ir_measures.Measure], collection: Collection, name: str, run: Run
) -> dict[str, Values]:
    """Return the values of ir-measures for each base and judged query, the default without a known label.

    infAP of an empty ranking is NaN in trec_eval, which never comes out here.
    """
    bases, column = list(bases), collection.column(name)
    values = {str(base): dict.fromkeys(collection.labels, float(base.DEFAULT)) for base in bases}
    if column:
        for metric in ir_measures.iter_calc(bases, column, run):
            if not math.isnan(metric.value):
                values[str(metric.measure)][metric.query_id] = metric.value
    return values


def variants(
    base: ir_measures.Measure, aspects: Aspects | str | None, *, several_distances: bool = True
) -> list[Measure]:
    """All measures that are `base` itself on one aspect."""
    singles = [measure(base=base, aspects=aspects) for measure in (TOMA, CAM, MM, GAM, On)]
    more = [CAM(base=str(base), aspects=aspects, weights={"relevance": 0.3}, empty="drop")]
    if several_distances:
        more += [
            TOMA(base=base, distance="manhattan", weights={"relevance": 0.3}, aspects=aspects),
            TOMA(base=base, distance="chebyshev", gate="relevance", aspects=aspects),
            TOMA(base=base, distance=2.5, aspects=aspects),
            TOMA(base=base, axes="gains", aspects=aspects),
        ]
        if base.NAME == "nDCG" and base.params.get("dcg") is None:
            more.append(TOMA(base=base, weighting="normalized", aspects=aspects))
    return singles + more


def check(
    cases: list[tuple[Measure, str]],
    values: dict[str, Values],
    collection: Collection,
    *,
    tolerance: float = 1e-9,
) -> None:
    """Compare every measure with the values its base has, query by query."""
    base_of = dict(cases)
    seen = set()
    for metric in ir_measures.iter_calc(list(base_of), collection.qrels, collection.run):
        wanted = values[base_of[metric.measure]][metric.query_id]
        assert metric.value == pytest.approx(wanted, abs=tolerance, rel=0), (
            metric.measure,
            metric.query_id,
        )
        seen.add((metric.measure, metric.query_id))
    assert seen == {(measure, qid) for measure in base_of for qid in collection.labels}


def cases_of(
    bases: Iterable[ir_measures.Measure],
    aspects: Aspects | str | None,
    *,
    several_distances: bool = True,
) -> list[tuple[Measure, str]]:
    return [
        (measure, str(base))
        for base in bases
        for measure in variants(base, aspects, several_distances=several_distances)
    ]


#: Bases with kernels; the others take a call of ir-measures each.
QUICK = tuple(base for base in PYTREC_EVAL if base.NAME not in {"Bpref", "infAP", "IPrec"})
SLOW = tuple(base for base in PYTREC_EVAL if base not in QUICK)
QUICK_CASES = cases_of(QUICK, FOUR)
SLOW_CASES = cases_of(SLOW, FOUR, several_distances=False)


@given(collections(max_aspects=1))
@examples(35)
def test_pytrec_eval(collection: Collection) -> None:
    values = expected(QUICK, collection, "relevance", collection.run)
    check(QUICK_CASES, values, collection)


@given(collections(max_aspects=1))
@examples(15)
def test_pytrec_eval_without_kernels(collection: Collection) -> None:
    values = expected(SLOW, collection, "relevance", collection.run)
    check(SLOW_CASES, values, collection)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pt_multiaspect.MultiAspectWarning")
@pytest.mark.parametrize("labels", [(0, 1), (0, 3), (0,), (0, 1, 2, 3, 4), (0, 2, 20)])
def test_pytrec_eval_on_inferred_scales(labels: tuple[int, ...]) -> None:
    """Without declared scales, too, measures of one aspect have the values of ir-measures."""
    bases = (*QUICK, *SLOW[:2])  # two of the slow ones are enough
    inferred_scales = None
    cases = cases_of(bases, inferred_scales)

    # Without junk only, on which pytrec_eval fails.
    @given(collections(max_aspects=1, grades=labels, junk=False))
    @examples(5)
    def compare_with_ir_measures(collection: Collection) -> None:
        values = expected(bases, collection, "relevance", collection.run)
        check(cases, values, collection)

    compare_with_ir_measures()


def rescored_run(collection: Collection) -> Run:
    """The run without ties, in the order of trec_eval, and without queries that retrieve nothing.

    For these, Compat of ir-measures would divide by zero.
    """
    return {qid: documents for qid, documents in collection.rescored().items() if documents}


@given(collections(max_aspects=1))
@examples(15)
def test_rescored(collection: Collection) -> None:
    """These measures of ir-measures break ties otherwise: theirs are the values of the run without ties."""
    values = expected(RESCORED, collection, "relevance", rescored_run(collection))
    cases = cases_of(RESCORED, FOUR, several_distances=False)
    check(cases, values, collection)


@pytest.mark.skipif(
    importlib.util.find_spec("cwl") is None, reason="cwl_eval, which serves RBP, is not installed"
)
@given(collections(max_aspects=1))
@examples(15)
def test_rescored_cwl_eval(collection: Collection) -> None:
    cases = cases_of(CWL_EVAL, FOUR)
    check(cases, expected(CWL_EVAL, collection, "relevance", collection.rescored()), collection)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs perl")
@given(collections(max_aspects=1))
@examples(10)
def test_rescored_gdeval(collection: Collection) -> None:
    """gdeval breaks ties otherwise, too, and prints five decimals."""
    values = expected(GDEVAL, collection, "relevance", rescored_run(collection))
    half_of_the_last_decimal = 5.1e-6  # and a bit, for exact halves
    check(cases_of(GDEVAL, FOUR), values, collection, tolerance=half_of_the_last_decimal)


@given(collections(max_aspects=1))
@examples(20)
def test_rbp_without_rel_counts_from_the_threshold(collection: Collection) -> None:
    """ir-measures computes no RBP without rel; here it means rel=1 (MEASURES §1, "Base measures")."""

    def values_of(base: ir_measures.Measure) -> dict[str, float]:
        measure = On(base=base, aspects=FOUR)
        metrics = measure.iter_calc(collection.qrels, collection.run)
        return {metric.query_id: metric.value for metric in metrics}

    assert values_of(RBP) == values_of(RBP(rel=1))
    assert values_of(RBP(p=0.5)) == values_of(RBP(rel=1, p=0.5))
    assert values_of(RBP @ 3) == values_of(RBP(rel=1) @ 3)


@pytest.mark.filterwarnings("ignore:.*none of the:pt_multiaspect.errors.MultiAspectWarning")
@given(collections(max_aspects=1))
@examples(25)
def test_gains_map_raw_labels(collection: Collection) -> None:
    """The gains of a base are by label; labels that they do not list gain themselves, as in ir-measures."""
    bases = []
    for gain_by_label in ({1: 4, 2: 5}, {0: 1, 4: 0}, {3: 1}):
        bases.append(nDCG(gains=gain_by_label))
        bases.append(nDCG(gains=gain_by_label) @ 2)
    values = expected(bases, collection, "relevance", collection.run)
    cases = []  # measures, with the name of the measure of ir-measures that they equal
    for base in bases:
        for measure in (On, CAM, GAM):
            cases.append((measure(base=base, aspects=FOUR), str(base)))
    check(cases, values, collection)


# -- more than one aspect
# ---------------------------------------------------------------------------

SINGLE_GRADE = [0, 3]


@pytest.mark.filterwarnings(
    "ignore:credibility has labels below its lowest grade"
)  # 0 where the one grade is 3
@pytest.mark.parametrize("grade", SINGLE_GRADE)
def test_toma_ignores_an_aspect_with_a_single_grade(grade: int) -> None:
    """If all documents have the same credibility, TOMA is the measure of relevance."""
    bases = [base for base in QUICK if base.NAME not in KNOWS_JUNK]
    aspects = Aspects({"relevance": 4, "credibility": [grade]})
    cases = []  # measures, with the name of the measure of ir-measures that they equal
    for base in bases:
        for distance in ("euclidean", "chebyshev", 0.5):
            cases.append((TOMA(base=base, distance=distance, aspects=aspects), str(base)))

    @given(collections(grades=[(0, 1, 2, 3, 4), (grade,)]))
    @examples(15)
    def compare_with_relevance(collection: Collection) -> None:
        values = expected(bases, collection, "relevance", collection.run)
        check(cases, values, collection)

    compare_with_relevance()


@given(collections(min_aspects=2))
@examples(15)
def test_equal_weights_are_no_weights(collection: Collection) -> None:
    aspects = Aspects(dict.fromkeys(collection.names, 4))
    plain = [
        measure(base=base, aspects=aspects)
        for base in ("nDCG", "AP", "SetF", "ERR@5")
        for measure in (TOMA, CAM, MM, GAM)
    ] + [TOMA(distance=distance, aspects=aspects) for distance in ("chebyshev", 3, 0.5)]
    for factor in (1, 2, 0.3):
        weighted = [measure(weights=dict.fromkeys(collection.names, factor)) for measure in plain]
        values: dict[tuple[object, str], float] = {}
        for metric in ir_measures.iter_calc([*plain, *weighted], collection.qrels, collection.run):
            values[metric.measure, metric.query_id] = metric.value
        for first, second in zip(plain, weighted, strict=True):
            for qid in collection.labels:
                assert values[first, qid] == pytest.approx(values[second, qid], abs=1e-12), (
                    first,
                    factor,
                )


@given(collections(min_aspects=2))
@examples(20)
def test_on_is_ir_measures_on_that_column(collection: Collection) -> None:
    aspects = Aspects(dict.fromkeys(collection.names, 4))
    for name in collection.names:
        values = expected(QUICK, collection, name, collection.run)
        for given_aspects in (aspects, Aspects({name: 4}), None):
            cases = [
                (On(aspect=name, base=base, aspects=given_aspects), str(base)) for base in QUICK
            ]
            check(cases, values, collection)


@given(collections(min_aspects=2))
@examples(15)
def test_on_another_column_without_kernels(collection: Collection) -> None:
    name = collection.names[-1]
    values = expected(SLOW, collection, name, collection.run)
    check([(On(aspect=name, base=base), str(base)) for base in SLOW], values, collection)


def weighted_means(values: list[float], weights: list[float]) -> dict[str, float]:
    """The arithmetic (CAM), harmonic (MM) and geometric (GAM) mean; those are 0 if a value is."""
    total = sum(weights)
    shares = [weight / total for weight in weights]
    pairs = list(zip(values, shares, strict=True))
    any_zero = 0 in values
    return {
        "CAM": sum(share * value for value, share in pairs),
        "MM": 0.0 if any_zero else 1 / sum(share / value for value, share in pairs),
        "GAM": math.prod(value**share for value, share in pairs),
    }


@given(collections(min_aspects=2))
@examples(20)
def test_means_of_what_ir_measures_gives(collection: Collection) -> None:
    """CAM, MM and GAM are the means of ir-measures' values on the columns."""
    names = collection.names
    aspects = Aspects(dict.fromkeys(names, 4))
    weights = {name: number for number, name in enumerate(names, start=1)}
    bases = (nDCG @ 3, AP, SetF(beta=2.0))
    of_columns = {name: expected(bases, collection, name, collection.run) for name in names}
    for base in bases:
        expected_means: dict[str, Values] = {"CAM": {}, "MM": {}, "GAM": {}}
        for qid in collection.labels:
            values = [of_columns[name][str(base)][qid] for name in names]
            for mean, value in weighted_means(values, list(weights.values())).items():
                expected_means[mean][qid] = value
        cases = [
            (measure(base=base, weights=weights, aspects=aspects), measure.NAME)
            for measure in (CAM, MM, GAM)
        ]
        check(cases, expected_means, collection)
