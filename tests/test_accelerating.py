"""`accelerate` gives what pytrec_eval gives, in the same order, and leaves the rest to it."""

from __future__ import annotations

import itertools
import sys
from contextlib import nullcontext
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import (
    AP,
    RR,
    Bpref,
    IPrec,
    Judged,
    NumRet,
    P,
    Qrel,
    R,
    Rprec,
    ScoredDoc,
    SetAP,
    SetF,
    SetP,
    SetR,
    Success,
    infAP,
    nDCG,
)
from strategies import examples

import pt_multiaspect as ma
from pt_multiaspect.collection import Judgments
from pt_multiaspect.integration import accelerating, provider

pytestmark = [
    pytest.mark.usefixtures("undo_acceleration"),
    *(
        pytest.mark.filterwarnings(f"ignore:.*{message}:pt_multiaspect.MultiAspectWarning")
        for message in ("none of the", "most scores of", "repeated documents")
    ),
]

ACCELERATED = [
    nDCG, nDCG @ 3, nDCG(dcg="log2") @ 2, AP, AP @ 2, AP(rel=2), P @ 1, P(rel=2) @ 3, R @ 2, R(rel=2) @ 3,
    RR, RR(rel=3), Rprec, Rprec(rel=2), Success @ 1, SetP, SetP(relative=True), SetR(rel=2), SetF,
    SetF(beta=2.0), SetAP,
]  # fmt: skip
LEFT = [
    Bpref, infAP, NumRet, IPrec @ 0.1, nDCG(judged_only=True) @ 3, P(judged_only=True) @ 2, nDCG(gains={1: 3}),
]  # fmt: skip
#: Of other providers.
ELSEWHERE = [RR @ 3, Judged @ 2]


def metrics(measures: list[Any], qrels: Any, run: Any) -> list[tuple[str, str, float]]:
    values = ir_measures.iter_calc(measures, qrels, run)
    return [(metric.query_id, str(metric.measure), float(metric.value)) for metric in values]


def check(measures: list[Any], qrels: Any, run: Any) -> None:
    """Compare both roads; qrels and runs are functions that give them, as iterators are read once."""
    plain = metrics(measures, qrels(), run())
    with ma.accelerate():
        fast = metrics(measures, qrels(), run())
    assert [row[:2] for row in fast] == [row[:2] for row in plain]
    np.testing.assert_allclose(
        [row[2] for row in fast], [row[2] for row in plain], rtol=0, atol=1e-12
    )


def rows_as(form: str, rows: list[tuple[Any, ...]], kind: type) -> Any:
    """The same rows as a function that gives a frame, a dict or an iterator of namedtuples."""
    if form == "iterator":
        return lambda: iter([kind(*row) for row in rows])
    if form == "dict":
        nested: dict[str, dict[str, Any]] = {}
        for qid, docno, value in rows:
            nested.setdefault(qid, {})[docno] = value
        return lambda: nested
    frame = pd.DataFrame(rows, columns=list(kind._fields[:3]))
    if form == "objects":
        frame = frame.astype({"query_id": object, "doc_id": object})
    elif form == "categories":
        frame = frame.astype({"query_id": "category", "doc_id": "category"})
    return lambda: frame


qids, docnos = (
    st.sampled_from(["q1", "q2", "q10", "é", "q"]),
    st.sampled_from(["d1", "d2", "d10", "d", "ß", "x" * 9]),
)
scores = st.sampled_from([1.0, 1.0, 0.5, -2.0, 0.0, -0.0, 1 + 1e-12, float("inf"), 1e300])
measure_lists = st.lists(
    st.sampled_from([*ACCELERATED, *LEFT, *ELSEWHERE]), min_size=1, max_size=8, unique_by=str
)


@examples(60)
@given(
    measure_lists,
    st.lists(st.tuples(qids, docnos, st.integers(-1, 3)), min_size=1, max_size=14),
    st.lists(st.tuples(qids, docnos, scores), min_size=1, max_size=14),
    st.sampled_from(["frame", "objects", "categories", "dict", "iterator"]),
)
def test_metrics_are_those_of_pytrec_eval(
    measures: list[Any],
    judged: list[tuple[str, str, int]],
    retrieved: list[tuple[str, str, float]],
    form: str,
) -> None:
    """With repetitions, ties, unknown queries and documents; pytrec_eval crashes where no label is at least 0."""
    final = {(qid, docno): label for qid, docno, label in judged}
    good = {qid for (qid, _), label in final.items() if label >= 0}
    judged = [row for row in judged if row[0] in good]
    if judged and not _are_confused(measures):
        check(measures, rows_as(form, judged, Qrel), rows_as(form, retrieved, ScoredDoc))


def _are_confused(measures: list[Any]) -> bool:
    """Return whether ir-measures computes some of these differently beside the others."""
    special = any(measure.params.keys() & {"gains", "judged_only"} for measure in measures)
    return (
        special
        and any(measure.NAME in ("nDCG", "NumRet") for measure in measures)
        and len(measures) > 1
    )


def world(n_queries: int = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    pairs = [(f"q{q}", f"d{d}") for q in range(n_queries) for d in range(20)]
    run = pd.DataFrame(pairs, columns=["query_id", "doc_id"]).assign(
        score=rng.normal(size=len(pairs)).round(1)
    )
    qrels = (
        run[["query_id", "doc_id"]].iloc[::3].assign(relevance=rng.integers(-1, 4, len(run[::3])))
    )
    return qrels, run


def test_the_original_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = world()
    kind = type(ir_measures.pytrec_eval.evaluator([AP], qrels))
    original = kind._iter_calc

    def call_original(self: Any, run: Any) -> Any:
        assert len(run) < 3, "the original evaluated the run"
        return original(self, run)

    monkeypatch.setattr(kind, "_iter_calc", call_original)
    with ma.accelerate():
        ir_measures.calc_aggregate(ACCELERATED, qrels, run)
        with pytest.raises(AssertionError, match="the original"):
            ir_measures.calc_aggregate([*ACCELERATED, Bpref], qrels, run)


@pytest.mark.filterwarnings("ignore:official is evaluated without gm_map")
@pytest.mark.every(3)
@pytest.mark.parametrize("perquery", [False, True])
@pytest.mark.parametrize(
    "names",
    [
        ["map", "ndcg_cut_5", "P.5", "bpref"],
        [nDCG @ 3, "AP", RR @ 5, ma.CAM(aspects={"relevance": 3}), "official"],
    ],
)
def test_an_experiment_is_the_same(perquery: bool, names: list[Any]) -> None:
    """Also the order of its columns and rows, with topics without results or judgments."""
    qrels, run = world(4)
    qrels, run = (
        frame.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
        for frame in (qrels, run)
    )
    runs = [run[run["qid"] != "q1"], run.assign(score=-run["score"]).iloc[::-1]]
    topics = pd.DataFrame({"qid": ["q0", "q1", "q2", "q9"], "query": "x"})
    tables = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="not found in qrels") if perquery else nullcontext():
            tables.append(
                pt.Experiment(
                    [frame.assign(rank=0) for frame in runs],
                    topics,
                    qrels,
                    names,
                    perquery=perquery,
                )
            )
        ma.accelerate()
    pd.testing.assert_frame_equal(*tables, rtol=0, atol=1e-12)


def test_frames_changed_in_place_give_the_changed_values() -> None:
    qrels, run = world()
    with ma.accelerate():
        before = ir_measures.calc_aggregate([AP], qrels, run)
        assert ir_measures.calc_aggregate([AP], qrels, run) == before
        qrels.loc[qrels.index[:5], "relevance"] = [0, 3, 0, 3, 0]
        run.loc[:, "score"] = run["score"].to_numpy()[::-1]
        changed = ir_measures.calc_aggregate([AP], qrels, run)
        qrels.loc[qrels.index[6], "doc_id"] = "another"
        again = ir_measures.calc_aggregate([AP], qrels, run)
    assert len({before[AP], changed[AP], again[AP]}) == 3
    assert again[AP] == pytest.approx(ir_measures.calc_aggregate([AP], qrels, run)[AP], abs=1e-12)


def test_an_evaluator_keeps_its_qrels() -> None:
    qrels, run = world()
    wanted = ir_measures.calc_aggregate([AP, Bpref], qrels, run)
    with ma.accelerate():
        evaluator = ir_measures.evaluator([AP, Bpref], qrels)
        qrels["relevance"] = 0
        for _ in range(2):
            assert evaluator.calc_aggregate(run) == pytest.approx(wanted, abs=1e-12)


def test_qrels_are_prepared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, run = world()
    made = []
    monkeypatch.setattr(accelerating, "_last", provider.LastJudgments())
    monkeypatch.setattr(provider, "Judgments", lambda frame: made.append(1) or Judgments(frame))
    with ma.accelerate():
        for measures in ([AP], [AP], [nDCG, P @ 1]):
            ir_measures.calc_aggregate(measures, qrels.copy(), run)
    assert len(made) == 1


def run_of(docnos: Any) -> pd.DataFrame:
    return pd.DataFrame({"query_id": "q", "doc_id": docnos, "score": 1.0})


#: By itself, pytrec_eval 0.5.11 frees memory that it does not own when it refuses qrels; Python
#: 3.14 crashes then.
frees_memory = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="pytrec_eval frees memory that it does not own"
)


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        pytest.param({"q": {"a": 1.0}}, {"q": {"a": 1.0}}, marks=frees_memory),
        ({"q": {"a": 1}}, {"q": {"a": "1.0"}}),
        ({"q": {"a": 1}}, {"q": {"a": None}}),
        pytest.param({1: {"a": 1}}, {1: {"a": 1.0}}, marks=frees_memory),
        ({"q": {"a": 1}}, {1: {"a": 1.0}}),
        pytest.param({"q": {1: 1}}, {"q": {1: 1.0}}, marks=frees_memory),
        ({"q": {"a": 1}}, [("q", "a", 1.0)]),
        ({"q": {"a": 1}}, pd.DataFrame({"qid": ["q"], "docno": ["a"], "score": [1.0]})),
        (pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1]}), {"q": {"a": 1.0}}),
        ({"q": {"a": 1}}, {"q": 3}),
        (7, {"q": {"a": 1.0}}),
        ({"q": {"a": 1}}, run_of(["a", None])),
        ({"q": {"a": 1}}, run_of(pd.array(["a", None], dtype="string"))),
        ({"q": {"a": 1}}, run_of(pd.Categorical(["a", None]))),
        ({"q": {"a": 1}}, run_of(pd.Categorical([1, 2]))),
    ],
)  # fmt: skip
def test_errors_stay_errors(qrels: Any, run: Any) -> None:
    with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever ir-measures raises
        metrics([AP], qrels, run)
    with ma.accelerate(), pytest.raises(type(plain.value)) as fast:
        metrics([AP], qrels, run)
    assert str(fast.value) == str(plain.value)


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({"q": {"a": True, "b": 0}}, {"q": {"a": 1.0}}),
        ({"q": {"a": 1}, "p": {}}, {"q": {"a": 1.0}}),
        ({"q": {"a": 1}, "p": {"a": 2}}, {"q": {"a": 1.0}, "p": {}}),
        ({"q": {"a": 1, "b": 2}}, {"q": {"a": 1, "b": True}}),
        ({"q": {"a": 1, "b": 2}}, {"q": {"a": 2, "b": 2**60}}),
        ({"q": {"a": 1}}, {}),
        ({"q": {"a": 1}}, pd.DataFrame([], columns=["query_id", "doc_id", "score"])),
        ([Qrel("q", "a", 1, "0"), Qrel("q", "a", 0, "0")], {"q": {"a": 1.0}}),
        ({"q": {"a": 1}}, pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [1.0, np.nan]})),
        ({"q": {"a": 1}}, pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": np.float32([1, 2])})),
        ({"q": {"a": 1}}, pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [1, 2]})),
        ({"q": {"a": 1}}, pd.DataFrame({"query_id": "q", "qid": "p", "doc_id": ["a", "b"], "score": [1, 2]})),
    ],
)  # fmt: skip
def test_odd_input_gives_the_same(qrels: Any, run: Any) -> None:
    check([AP, nDCG, Rprec], lambda: qrels, lambda: run)


def test_errors_of_ir_measures_are_avoided() -> None:
    """A query with negative labels only, on which pytrec_eval reads beyond its memory; gains of another nDCG."""
    run = {"q": {"a": 2.0, "b": 1.0}, "p": {"a": 2.0}}
    with ma.accelerate():
        values = metrics([AP, nDCG], {"q": {"a": -1, "b": -2}, "p": {"a": 1}}, run)
        assert dict.fromkeys(row[1:] for row in values if row[0] == "q") == {
            ("AP", 0.0): None,
            ("nDCG", 0.0): None,
        }
        assert ("q", "NumRet", 2) in metrics([*LEFT[4:6], NumRet, AP], {"q": {"a": 1}}, run)
        assert metrics([nDCG], {"q": {"a": 2**40}}, {"q": {"a": 1.0}}) == [("q", "nDCG", 1.0)]
        with_gains = metrics([nDCG, nDCG(gains={1: 9})], {"q": {"a": 2, "b": 1}}, run)
    assert {name: value for _, name, value in with_gains} == {
        "nDCG": 1.0,
        "nDCG(gains={1:9})": pytest.approx((2 + 9 / np.log2(3)) / (9 + 2 / np.log2(3))),
    }


def test_it_can_be_undone_and_repeated() -> None:
    providers = list(ir_measures.DefaultPipeline.providers)
    for _ in range(2):
        first = ma.accelerate()
        assert len(ir_measures.DefaultPipeline.providers) == len(providers) + 1
        with ma.accelerate() as inner:
            assert inner is not first
            assert len(ir_measures.DefaultPipeline.providers) == len(providers) + 1
        assert (
            len(ir_measures.DefaultPipeline.providers) == len(providers) + 1
        )  # it had begun before the block
        ma.accelerate().undo()
        assert ir_measures.DefaultPipeline.providers == providers
        first.undo()  # again
        with pytest.raises(KeyError), ma.accelerate():
            raise KeyError
        assert ir_measures.DefaultPipeline.providers == providers


def test_evaluate_and_the_measures_of_the_package_are_unaffected() -> None:
    qrels, run = world()
    measures = ["map", "bpref", "RR@3", ma.TOMA(aspects={"relevance": 3})]
    plain = ma.evaluate(run, qrels, measures, progress=False)
    with ma.accelerate():
        pd.testing.assert_frame_equal(ma.evaluate(run, qrels, measures, progress=False), plain)


def test_measures_of_several_levels_of_relevance_are_in_the_order_of_pytrec_eval() -> None:
    qrels, run = world()
    check([AP(rel=rel) for rel in (1, 2, 3)], lambda: qrels, lambda: run)


@pytest.mark.slow
def test_the_order_is_that_of_pytrec_eval_for_any_measures() -> None:
    qrels, run = world()
    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        for _ in range(8):
            chosen = [
                (ACCELERATED + LEFT[:-1])[n]
                for n in rng.permutation(len(ACCELERATED + LEFT) - 1)[:size]
            ]
            if not _are_confused(chosen):
                check(chosen, lambda: qrels, lambda: run)
    for first, second in itertools.pairwise([nDCG, nDCG(dcg="log2"), R @ 5, R(rel=1) @ 5]):
        with ma.accelerate():  # pytrec_eval confuses some of these
            rows = metrics([first, second], qrels, run)
        assert {name for _, name, _ in rows} == {str(first), str(second)}
