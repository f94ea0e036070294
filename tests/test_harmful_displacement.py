"""CRP with harmful documents: degrees below 0 rank below documents that are not relevant."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
import reference as ref
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    CRP,
    Aspect,
    Aspects,
    CRPRecovery,
    MultiAspectWarning,
    On,
    crp_curve,
    nCRP,
)
from pt_multiaspect.analysis import upper_bound

DEGREES = [-2, -1, 0, 1, 2]
HARM = Aspects({"relevance": Aspect(DEGREES, gains=DEGREES, threshold=1)})


def on_harm(measure: Any) -> ma.Measure:
    return On(base=measure, aspects=HARM)


def collection(
    ranked: list[int | None], missing: list[int]
) -> tuple[dict[str, Any], dict[str, Any], list[int]]:
    """Return qrels, a run with documents of these degrees (None is not judged), and the degrees of the judged."""
    documents = {f"r{rank:02d}": degree for rank, degree in enumerate(ranked)}
    rest = {f"m{number:02d}": degree for number, degree in enumerate(missing)}
    judged = {
        docno: degree for docno, degree in {**documents, **rest}.items() if degree is not None
    }
    run = {"q": {docno: -float(rank) for rank, docno in enumerate(documents)}}
    return {"q": judged, "other": {"x": -1, "y": 1}}, run, list(judged.values())


def value(measure: Any, qrels: Any, run: Any) -> float:
    values = ir_measures.iter_calc([on_harm(measure)], qrels, run)
    return next(metric.value for metric in values if metric.query_id == "q")


ranked_degrees = st.lists(st.sampled_from([*DEGREES, None]), max_size=8)
degrees = st.lists(st.sampled_from(DEGREES), max_size=5)


def count_relevant(judged: list[int]) -> int:
    """R, the recall base: the number of documents with a degree above 0."""
    return sum(degree > 0 for degree in judged)


@given(ranked_degrees, degrees, st.integers(1, 12))
@examples(150)
def test_equals_the_definition(ranked: list[int | None], missing: list[int], cutoff: int) -> None:
    """Values equal those of the reference, and contributions of explanations add up to them."""
    qrels, run, judged = collection(ranked, missing)
    if not judged or not ranked:
        return
    total = count_relevant(judged)
    retrieved = [degree or 0 for degree in ranked]  # unjudged documents count as not relevant
    curve = ref.crp_curve(retrieved, judged, max(len(ranked), total, cutoff))
    crp_at_r = curve[total - 1] if total else 0

    assert value(CRP, qrels, run) == crp_at_r
    assert value(CRP @ cutoff, qrels, run) == curve[cutoff - 1]
    assert value(nCRP, qrels, run) == pytest.approx(ref.ncrp(retrieved, judged), abs=1e-12)
    recovery = ref.crp_recovery(retrieved, judged)
    assert value(CRPRecovery, qrels, run) == pytest.approx(recovery, abs=1e-12)

    for measure in (CRP, CRP @ cutoff, nCRP, CRPRecovery):
        explained = on_harm(measure).explain(run, qrels, "q")
        assert explained.value == value(measure, qrels, run)
        sum_of_contributions = explained.ranks["contribution"].sum() + explained.offset
        assert sum_of_contributions == pytest.approx(explained.value, abs=1e-9)


@given(ranked_degrees, degrees)
@examples(150)
def test_curves_equal_the_definition(ranked: list[int | None], missing: list[int]) -> None:
    """`crp_curve` gives the curve, its lowest possible course and its balance point."""
    qrels, run, judged = collection(ranked, missing)
    if not judged or not ranked:
        return
    total = count_relevant(judged)
    retrieved = [degree or 0 for degree in ranked]  # unjudged documents count as not relevant
    length = max(len(ranked), total)

    table = crp_curve(run, qrels, On(aspects=HARM))
    table = table[table["qid"] == "q"]

    assert table["crp"].tolist() == ref.crp_curve(retrieved, judged, length)
    # The worst ranking has the most harmful documents first and the R relevant ones last.
    relevant = sorted(degree for degree in judged if degree > 0)
    harmful = sorted(degree for degree in judged if degree < 0)[: length - total]
    n_neutral = length - len(harmful) - len(relevant)
    worst_ranking = harmful + [0] * n_neutral + relevant
    assert table["worst"].tolist() == ref.crp_curve(worst_ranking, judged, length)

    recovery = ref.crp_recovery(retrieved, judged)  # R / balance point, or 0 if there is none
    expected_balance_points = {round(total / recovery)} if recovery else set()
    assert set(table["balance_point"].dropna()) == expected_balance_points


@given(st.lists(st.sampled_from(DEGREES), min_size=1, max_size=6))
@examples(60)
def test_the_ideal_ranking_is_at_0(judged: list[int]) -> None:
    """The best documents first: CRP is 0 at every rank, also beyond the last document."""
    ideal = sorted(judged, reverse=True)
    assert set(ref.crp_curve(ideal, judged, len(ideal) + 2)) <= {0}

    if count_relevant(judged):
        qrels, run, _ = collection(list(ideal), [])
        assert value(CRP, qrels, run) == 0
        assert value(nCRP, qrels, run) == 1
        assert value(CRPRecovery, qrels, run) == 1


@given(st.lists(st.sampled_from(DEGREES), min_size=1, max_size=6))
@examples(60)
def test_harmful_documents_first_are_the_worst_ranking(judged: list[int]) -> None:
    """The most harmful documents first, then unjudged ones: CRP at rank R is the lowest of all rankings."""
    total = count_relevant(judged)
    if total == 0:
        return
    harmful = [degree for degree in sorted(judged) if degree < 0]
    others = [degree for degree in judged if degree >= 0]
    unjudged = [None] * total

    qrels, run, _ = collection([*harmful, *unjudged], missing=others)
    lowest = value(CRP, qrels, run)
    assert value(nCRP, qrels, run) == 0

    retrievable = [*judged, *[0] * total]  # with unjudged documents, as many as ranks count
    rankings = itertools.permutations(retrievable, total)
    for ranking in itertools.islice(rankings, 500):
        crp_at_r = ref.crp_curve(ranking, judged, total)[-1]
        assert crp_at_r >= lowest


def test_what_nobody_retrieves_changes_nothing_above_it() -> None:
    """A harmful document that no run retrieves leaves CRP as it is, at every rank."""
    run = {"q": {"a": 5.0, "x": 4.0, "b": 3.0, "y": 2.0, "c": 1.0}}
    without = {"q": {"a": 1, "b": 0, "c": 2}}
    with_harm = {"q": {**without["q"], "bad": -2}}
    for cutoff in range(1, 8):
        measure = on_harm(CRP @ cutoff)
        assert measure.calc_aggregate(with_harm, run) == measure.calc_aggregate(without, run)


def test_documents_without_a_label_are_not_harmful() -> None:
    """They count as not relevant: at rank 1, a smaller mistake than a harmful document."""
    qrels = {"q": {"a": 1, "b": 0, "bad": -1}}  # the ideal ranking: a, b, bad

    def crp_of(docno: str) -> float:
        """CRP at rank R = 1 of a run that retrieves this document only."""
        return on_harm(CRP).calc_aggregate(qrels, {"q": {docno: 1.0}})

    assert crp_of("a") == 0
    assert crp_of("b") == -1  # one rank too high
    assert crp_of("unknown") == -1
    assert crp_of("bad") == -2  # two ranks too high


def test_missing_labels_of_an_aspect_are_not_harmful() -> None:
    """On trust, a is positive and bad is harmful: the ideal ranking is a, bad. The others have no label.

    No document has the label 0, so a document without a label may be at any rank from 2 on.
    """
    qrels = pd.DataFrame(
        [
            ("q", "a", 1, 2),
            ("q", "b", 0, np.nan),
            ("q", "bad", -1, -1),
            ("q", "no", 0, np.nan),
        ],
        columns=["qid", "docno", "label", "trust"],
    )
    run = {"q": {"b": 3.0, "no": 2.0, "a": 1.0}}
    both = Aspects({"relevance": HARM["relevance"], "trust": HARM["relevance"]})
    measure = On(aspect="trust", base=CRP, aspects=both) @ 3
    # b is one rank too high, no is in place, a is two ranks too low.
    assert measure.calc_aggregate(qrels, run) == -1 + 0 + 2


def test_upper_bounds_are_those_of_brute_force() -> None:
    labels = {"a": (2, -1), "b": (-1, 2), "c": (0, 1), "d": (1, 0)}
    qrels = {"q": {docno: {"relevance": r, "trust": t} for docno, (r, t) in labels.items()}}
    both = Aspects({"relevance": HARM["relevance"], "trust": HARM["relevance"]})
    runs = {
        "".join(order): {"q": {docno: -float(rank) for rank, docno in enumerate(order)}}
        for order in itertools.permutations(labels)
    }
    for measure in (
        CAM(base=CRP, aspects=both),
        CAM(base=CRP, aspects=both) @ 3,
        On(base=nCRP, aspects=both),
    ):
        values = ma.evaluate(runs, qrels, measure, progress=False)["value"]
        bound = upper_bound(qrels, measure)
        assert bound[["value", "gap"]].iloc[0].tolist() == pytest.approx([values.max(), 0])
    assert CAM(base=nCRP, aspects=both).range == (0, 1)


def test_labels_below_0_without_gains_are_said() -> None:
    """Kind: degrees that are read as another one without a word."""
    qrels = pd.DataFrame({"qid": "q", "docno": list("abc"), "label": [1, 0, -1]})
    run = pd.DataFrame({"qid": "q", "docno": list("cab"), "score": [3.0, 2.0, 1.0]})
    topics = pd.DataFrame({"qid": ["q"], "query": ["x"]})
    plain, grades = Aspects({"relevance": 1}), Aspects({"relevance": Aspect([-1, 0, 1])})
    message = r"below 0 \(-1\), which measures of displacement take as .* gains=\[-1, 0, 1\]"
    for aspects in (None, plain, grades):
        for measure in ("CRP", "nCRP", "CRPRecovery"):
            with pytest.warns(MultiAspectWarning, match=message):
                ma.evaluate({"run": run}, qrels, On(base=measure, aspects=aspects), progress=False)
    with pytest.warns(MultiAspectWarning, match=message):
        pt.Experiment([pt.Transformer.from_df(run)], topics, qrels, [CRP @ 2])
    with pytest.warns(MultiAspectWarning, match=message):
        crp_curve(run, qrels)
    silent = (
        HARM["relevance"],
        Aspect(1, unjudged=[-1]),
        Aspect([-1, 0, 1], gains=[0, 0, 1], threshold=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for aspect in silent:
            ma.evaluate(
                {"run": run}, qrels, On(base="CRP", aspects={"relevance": aspect}), progress=False
            )
        ma.evaluate({"run": run}, qrels, ["nDCG", "AP"], progress=False)  # TREC's junk
