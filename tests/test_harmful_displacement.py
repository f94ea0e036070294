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


@given(ranked_degrees, degrees, st.integers(1, 12))
@examples(150)
def test_equals_the_definition(ranked: list[int | None], missing: list[int], cutoff: int) -> None:
    qrels, run, judged = collection(ranked, missing)
    if not judged or not ranked:
        return
    total = sum(degree > 0 for degree in judged)
    retrieved = [degree or 0 for degree in ranked]
    curve = ref.crp_curve(retrieved, judged, max(len(ranked), total, cutoff))
    assert value(CRP, qrels, run) == (curve[total - 1] if total else 0)
    assert value(CRP @ cutoff, qrels, run) == curve[cutoff - 1]
    assert value(nCRP, qrels, run) == pytest.approx(ref.ncrp(retrieved, judged), abs=1e-12)
    assert value(CRPRecovery, qrels, run) == pytest.approx(
        ref.crp_recovery(retrieved, judged), abs=1e-12
    )
    drawn = crp_curve(run, qrels, On(aspects=HARM))
    drawn = drawn[drawn["qid"] == "q"]
    length = max(len(ranked), total)
    assert drawn["crp"].tolist() == curve[:length]
    harmful = sorted(degree for degree in judged if degree < 0)[: length - total]
    relevant = sorted(degree for degree in judged if degree > 0)
    worst = [*harmful, *[0] * (length - total - len(harmful)), *relevant]
    assert drawn["worst"].tolist() == ref.crp_curve(worst, judged, length)
    balance = ref.crp_recovery(retrieved, judged)
    assert set(drawn["balance_point"].dropna()) == ({round(total / balance)} if balance else set())
    for measure in (CRP, CRP @ cutoff, nCRP, CRPRecovery):
        explained = on_harm(measure).explain(run, qrels, "q")
        assert explained.value == value(measure, qrels, run)
        assert explained.ranks["contribution"].sum() + explained.offset == pytest.approx(
            explained.value, abs=1e-9
        )


@given(st.lists(st.sampled_from(DEGREES), min_size=1, max_size=6))
@examples(60)
def test_the_ideal_ranking_is_at_0_and_harm_first_is_the_worst(judged: list[int]) -> None:
    ideal = sorted(judged, reverse=True)
    assert set(ref.crp_curve(ideal, judged, len(ideal) + 2)) <= {0}
    qrels, run, _ = collection(list(ideal), [])
    total = sum(degree > 0 for degree in judged)
    if total:
        assert [value(measure, qrels, run) for measure in (CRP, nCRP, CRPRecovery)] == [0, 1, 1]
        most_harmful = [degree for degree in sorted(judged) if degree < 0]
        qrels, run, _ = collection(
            [*most_harmful, *[None] * total], [degree for degree in judged if degree >= 0]
        )
        lowest = value(CRP, qrels, run)
        assert value(nCRP, qrels, run) == 0
        documents = [*judged, *[0] * total]
        orders = itertools.islice(itertools.permutations(documents, total), 500)
        assert all(ref.crp_curve(order, judged, total)[-1] >= lowest for order in orders)


def test_what_nobody_retrieves_changes_nothing_above_it() -> None:
    """A harmful document that no run retrieves leaves CRP as it is, at every rank."""
    run = {"q": {"a": 5.0, "x": 4.0, "b": 3.0, "y": 2.0, "c": 1.0}}
    without = {"q": {"a": 1, "b": 0, "c": 2}}
    with_harm = {"q": {**without["q"], "bad": -2}}
    for cutoff in range(1, 8):
        measure = on_harm(CRP @ cutoff)
        assert measure.calc_aggregate(with_harm, run) == measure.calc_aggregate(without, run)


def test_documents_without_a_label_are_not_harmful() -> None:
    """They are not relevant: above a harmful document, no mistake; in its place, half of one."""
    qrels = {"q": {"a": 1, "b": 0, "bad": -1}}
    first_rank = {docno: {"q": {docno: 1.0}} for docno in ("a", "b", "unknown", "bad")}
    values = {docno: on_harm(CRP).calc_aggregate(qrels, run) for docno, run in first_rank.items()}
    assert values == {"a": 0, "b": -1, "unknown": -1, "bad": -2}
    frame = pd.DataFrame(
        {
            "qid": "q",
            "docno": ["a", "b", "bad", "no"],
            "label": [1, 0, -1, 0],
            "trust": [2, np.nan, -1, np.nan],
        }
    )
    both = Aspects({"relevance": HARM["relevance"], "trust": HARM["relevance"]})
    run = {"q": {"b": 3.0, "no": 2.0, "a": 1.0}}
    # On trust, nothing is 0: bad has the ideal rank 2, and documents without a label any rank from
    # 2 on.
    assert (On(aspect="trust", base=CRP, aspects=both) @ 3).calc_aggregate(frame, run) == -1 + 0 + 2


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
