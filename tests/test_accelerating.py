"""`accelerate` gives what pytrec_eval gives, in the same order, and leaves the rest to it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
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

#: Measures that `accelerate` computes.
ACCELERATED = [
    nDCG, nDCG @ 3, nDCG(dcg="log2") @ 2, AP, AP @ 2, AP(rel=2), P @ 1, P(rel=2) @ 3, R @ 2, R(rel=2) @ 3,
    RR, RR(rel=3), Rprec, Rprec(rel=2), Success @ 1, SetP, SetP(relative=True), SetR(rel=2), SetF,
    SetF(beta=2.0), SetAP,
]  # fmt: skip
#: Measures that it leaves to pytrec_eval.
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
    """Also with documents that are judged or retrieved twice, ties, and unknown queries and documents."""
    # pytrec_eval crashes on queries without a label of at least 0; of repeated documents, the last
    # label counts.
    last_labels = {(qid, docno): label for qid, docno, label in judged}
    safe_qids = {qid for (qid, _), label in last_labels.items() if label >= 0}
    safe = [(qid, docno, label) for qid, docno, label in judged if qid in safe_qids]
    # ir-measures computes some measures wrongly beside others.
    if safe and not _are_confused(measures):
        check(measures, rows_as(form, safe, Qrel), rows_as(form, retrieved, ScoredDoc))


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
    """But for measures that are not accelerated, and a run of two queries that tells the order of measures."""
    qrels, run = world()
    evaluator_class = type(ir_measures.pytrec_eval.evaluator([AP], qrels))
    original = evaluator_class._iter_calc

    def refuse_the_run(self: Any, run: Any) -> Any:
        assert len(run) <= 2, "the original evaluated the run"
        return original(self, run)

    monkeypatch.setattr(evaluator_class, "_iter_calc", refuse_the_run)
    with ma.accelerate():
        ir_measures.calc_aggregate(ACCELERATED, qrels, run)
        with pytest.raises(AssertionError, match="the original"):
            ir_measures.calc_aggregate([*ACCELERATED, Bpref], qrels, run)


@pytest.mark.filterwarnings("ignore:official is evaluated without gm_map")
@pytest.mark.filterwarnings("ignore:.*not found in qrels:UserWarning")
@pytest.mark.every(3)
@pytest.mark.parametrize("perquery", [False, True])
@pytest.mark.parametrize(
    "measures",
    [
        ["map", "ndcg_cut_5", "P.5", "bpref"],
        [nDCG @ 3, "AP", RR @ 5, ma.CAM(aspects={"relevance": 3}), "official"],
    ],
    ids=["names of trec_eval", "objects and names"],
)
def test_an_experiment_is_the_same(perquery: bool, measures: list[Any]) -> None:
    """Also the order of its columns and rows, with topics without results or judgments."""
    qrels, run = world(4)  # q0 to q3
    qrels = qrels.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"})
    run = run.rename(columns={"query_id": "qid", "doc_id": "docno"}).assign(rank=0)
    without_q1 = run[run["qid"] != "q1"]
    reversed_run = run.assign(score=-run["score"]).iloc[::-1]
    topics = pd.DataFrame({"qid": ["q0", "q1", "q2", "q9"], "query": "x"})  # q9 is not judged

    def experiment() -> pd.DataFrame:
        return pt.Experiment([without_q1, reversed_run], topics, qrels, measures, perquery=perquery)

    plain = experiment()
    ma.accelerate()
    pd.testing.assert_frame_equal(experiment(), plain, rtol=0, atol=1e-12)


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


#: Of cases in which pytrec_eval crashes instead of raising an error.


#: By itself, pytrec_eval 0.5.11 frees memory that it does not own when it refuses qrels; Python
#: 3.14 crashes then.
frees_memory = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="pytrec_eval frees memory that it does not own"
)


SOUND_QRELS = {"q": {"a": 1}}
SOUND_RUN = {"q": {"a": 1.0}}


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        pytest.param({"q": {"a": 1.0}}, SOUND_RUN, marks=frees_memory, id="label 1.0"),
        pytest.param(SOUND_QRELS, {"q": {"a": "1.0"}}, id="score as text"),
        pytest.param(SOUND_QRELS, {"q": {"a": None}}, id="score None"),
        pytest.param({1: {"a": 1}}, {1: {"a": 1.0}}, marks=frees_memory, id="numbers as qids"),
        pytest.param(SOUND_QRELS, {1: {"a": 1.0}}, id="a number as qid of the run"),
        pytest.param({"q": {1: 1}}, {"q": {1: 1.0}}, marks=frees_memory, id="numbers as docnos"),
        pytest.param(SOUND_QRELS, [("q", "a", 1.0)], id="tuples without names"),
        pytest.param(
            SOUND_QRELS,
            pd.DataFrame({"qid": ["q"], "docno": ["a"], "score": [1.0]}),
            id="a run with the columns of PyTerrier",
        ),
        pytest.param(
            pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1]}),
            SOUND_RUN,
            id="qrels with the columns of PyTerrier",
        ),
        pytest.param(SOUND_QRELS, {"q": 3}, id="a number for documents"),
        pytest.param(7, SOUND_RUN, id="a number for qrels"),
        pytest.param(SOUND_QRELS, run_of(["a", None]), id="docno None"),
        pytest.param(SOUND_QRELS, run_of(pd.array(["a", None], dtype="string")), id="docno NA"),
        pytest.param(SOUND_QRELS, run_of(pd.Categorical(["a", None])), id="docno of no category"),
        pytest.param(SOUND_QRELS, run_of(pd.Categorical([1, 2])), id="categories of numbers"),
    ],
)
def test_errors_stay_errors(qrels: Any, run: Any) -> None:
    """What ir-measures refuses is refused with the same error."""
    with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever ir-measures raises
        metrics([AP], qrels, run)
    with ma.accelerate(), pytest.raises(type(plain.value)) as accelerated:
        metrics([AP], qrels, run)
    assert str(accelerated.value) == str(plain.value)


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


@pytest.fixture
def accelerated() -> Iterator[None]:
    with ma.accelerate():
        yield


@pytest.mark.usefixtures("accelerated")
def test_queries_with_negative_labels_only_have_value_0() -> None:
    """pytrec_eval reads beyond its memory for them."""
    qrels = {"q": {"a": -1, "b": -2}, "p": {"a": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}, "p": {"a": 2.0}}
    values_of_q = {
        (name, value) for qid, name, value in metrics([AP, nDCG], qrels, run) if qid == "q"
    }
    assert values_of_q == {("AP", 0.0), ("nDCG", 0.0)}


@pytest.mark.usefixtures("accelerated")
def test_retrieved_documents_are_counted_beside_measures_of_judged_ones() -> None:
    """ir-measures would count judged documents only."""
    judged_only = [nDCG(judged_only=True) @ 3, P(judged_only=True) @ 2]
    run = {"q": {"a": 2.0, "b": 1.0}}
    assert ("q", "NumRet", 2) in metrics([*judged_only, NumRet, AP], {"q": {"a": 1}}, run)


@pytest.mark.usefixtures("accelerated")
def test_labels_beyond_32_bits() -> None:
    assert metrics([nDCG], {"q": {"a": 2**40}}, {"q": {"a": 1.0}}) == [("q", "nDCG", 1.0)]


@pytest.mark.usefixtures("accelerated")
def test_gains_of_one_measure_are_not_those_of_another() -> None:
    qrels = {"q": {"a": 2, "b": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    values = metrics([nDCG, nDCG(gains={1: 9})], qrels, run)
    dcg_with_gains = 2 + 9 / np.log2(3)  # a has the gain 2, b has 9 instead of 1
    ideal_with_gains = 9 + 2 / np.log2(3)
    assert {name: value for _, name, value in values} == {
        "nDCG": 1.0,
        "nDCG(gains={1:9})": pytest.approx(dcg_with_gains / ideal_with_gains),
    }


def n_added_providers(before: list[Any]) -> int:
    return len(ir_measures.DefaultPipeline.providers) - len(before)


def test_it_can_be_undone_and_repeated() -> None:
    """However often it is called, ir-measures has one more provider, until any of the results undoes it."""
    before = list(ir_measures.DefaultPipeline.providers)
    for _ in range(2):
        first = ma.accelerate()
        assert n_added_providers(before) == 1
        second = ma.accelerate()
        assert n_added_providers(before) == 1
        second.undo()
        assert ir_measures.DefaultPipeline.providers == before
        first.undo()  # has no effect
        assert ir_measures.DefaultPipeline.providers == before


def test_a_block_leaves_an_acceleration_that_began_before_it() -> None:
    before = list(ir_measures.DefaultPipeline.providers)
    outer = ma.accelerate()
    with ma.accelerate() as inner:
        assert inner is not outer
        assert n_added_providers(before) == 1
    assert n_added_providers(before) == 1
    outer.undo()
    assert ir_measures.DefaultPipeline.providers == before


def test_a_block_that_raises_undoes_its_acceleration() -> None:
    before = list(ir_measures.DefaultPipeline.providers)
    with pytest.raises(KeyError), ma.accelerate():
        raise KeyError
    assert ir_measures.DefaultPipeline.providers == before


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
@pytest.mark.parametrize("size", [2, 5, 9])
def test_the_order_is_that_of_pytrec_eval_for_any_measures(size: int) -> None:
    """Eight random lists of so many measures."""
    qrels, run = world()
    rng = np.random.default_rng(size)
    candidates = [measure for measure in ACCELERATED + LEFT if "gains" not in measure.params]
    for _ in range(8):
        positions = rng.permutation(len(candidates))[:size]
        measures = [candidates[position] for position in positions]
        if not _are_confused(measures):
            check(measures, lambda: qrels, lambda: run)


@pytest.mark.slow
def test_measures_that_pytrec_eval_confuses_are_both_given() -> None:
    """Two that differ by a default that is given, such as nDCG and nDCG(dcg='log2')."""
    qrels, run = world()
    confused = [nDCG, nDCG(dcg="log2"), R @ 5, R(rel=1) @ 5]
    for first, second in itertools.pairwise(confused):
        with ma.accelerate():
            names = {name for _, name, _ in metrics([first, second], qrels, run)}
        assert names == {str(first), str(second)}
