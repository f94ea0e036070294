"""`evaluate` computes most measures of ir-measures itself, with the same values."""

from __future__ import annotations

import itertools
import math
import pickle
import re
import shutil
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from ir_measures import (
    AP,
    BPM,
    ERR,
    INST,
    NERR8,
    RBP,
    RR,
    SDCG,
    Accuracy,
    Bpref,
    Compat,
    IPrec,
    NumQ,
    NumRet,
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
from strategies import Collection, collections, examples

from pt_multiaspect import MultiAspectError, On, evaluate
from pt_multiaspect.bases import adapters
from pt_multiaspect.bases.adapters import Adapter, adapts
from pt_multiaspect.bases.delegated import IrMeasures
from pt_multiaspect.bases.standard import StandardMeasures, standard_base
from pt_multiaspect.collection import Judgments

#: Of drawn runs some find nothing, and some scores differ as 64-bit floats only.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:.*{message}:pt_multiaspect.MultiAspectWarning")
    for message in ("none of the", "most scores of")
]

OURS = [
    nDCG, nDCG @ 1, nDCG @ 3, nDCG @ 1000, nDCG(gains={1: 3, 2: 1, 3: 0}), nDCG(gains={0: 2, 4: -1}) @ 2,
    AP, AP @ 2, AP(rel=2), AP(rel=3) @ 4, P @ 1, P @ 5, P(rel=2) @ 3, R @ 1, R @ 10, R(rel=2) @ 3, RR, RR(rel=3),
    Rprec, Rprec(rel=2), Success @ 1, Success(rel=2) @ 3, SetP, SetP(rel=2), SetP(relative=True), SetR,
    SetR(rel=2), SetF, SetF(beta=0.0), SetF(beta=2.0, rel=2), SetAP, SetAP(rel=2),
]  # fmt: skip
THEIRS = [
    RR @ 3, Bpref, infAP, IPrec @ 0.1, nDCG(judged_only=True) @ 3, AP(judged_only=True), P(judged_only=True) @ 2,
]  # fmt: skip


def originals(collection: Collection, measures: list) -> dict[tuple[str, str], float]:
    """Return the values of ir-measures on the labels of relevance, with the default for missing ones."""
    qrels = collection.column("relevance")
    values = {
        (str(original), qid): float(original.DEFAULT)
        for original in measures
        for qid in collection.labels
    }
    for measure in (
        measures if qrels else []
    ):  # one by one: together, a plain nDCG may get the gains of another
        # Of RR@k, ir-measures breaks ties otherwise.
        run = collection.rescored() if measure == RR @ 3 else collection.run
        for metric in ir_measures.iter_calc([measure], qrels, run):
            if not math.isnan(metric.value):
                values[str(metric.measure), metric.query_id] = metric.value
    return values


@examples(35)
@given(collections(max_aspects=1, max_queries=4, max_judged=8, max_retrieved=9))
def test_values_are_those_of_ir_measures(collection: Collection) -> None:
    """Ties, negative and missing labels, missing and further queries, empty rankings."""
    if not any(collection.run.get(qid) for qid in collection.labels):
        return  # such runs are refused
    table = evaluate(
        {"run": collection.run_frame}, collection.qrels, [*OURS, *THEIRS], progress=False
    )
    wanted = originals(collection, [*OURS, *THEIRS])
    got = dict(zip(zip(table["measure"], table["qid"], strict=True), table["value"], strict=True))
    assert got == pytest.approx(wanted, abs=1e-12, rel=0)


def test_the_original_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IrMeasures, "values", None)
    evaluate({"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 0, "b": 1, "c": 3}}, OURS, progress=False)


@pytest.mark.parametrize(
    "measure", [*THEIRS, ERR @ 10, nDCG(dcg="exp-log2") @ 10, nDCG(dcg="exp-log2"), P(rel=0) @ 2]
)
def test_other_definitions_stay_with_the_original(measure: ir_measures.Measure) -> None:
    assert standard_base(measure) is None


def test_a_measure_of_another_class_stays_with_the_original() -> None:
    class Mine(type(P)):
        pass

    assert standard_base(Mine(cutoff=3)) is None


def test_the_original_is_prepared_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bpref is left to ir-measures, whose evaluator is made once for the six runs; values are as without it."""
    qrels_q1 = {"a": 1, "b": 0, "c": 2}
    qrels = {"q1": qrels_q1, "q2": {"a": 0, "d": 1}}
    runs = {}
    for first, second, third in itertools.permutations("abc"):
        runs[first + second + third] = {"q1": {first: 3.0, second: 2.0, third: 1.0}}
    calls = []
    original = ir_measures.evaluator

    def record_call(*arguments: Any) -> Any:
        calls.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(ir_measures, "evaluator", record_call)
    table = evaluate(runs, qrels, [Bpref, RR @ 2, "map"], progress=False)
    assert len(calls) == 1

    monkeypatch.undo()
    for name, run in runs.items():
        values = table[table["name"] == name].set_index(["measure", "qid"])["value"]
        assert values["Bpref", "q1"] == Bpref.calc_aggregate({"q1": qrels_q1}, run)
        assert values["RR@2", "q1"] == (RR @ 2).calc_aggregate({"q1": qrels_q1}, run)
        assert values["map", "q1"] == AP.calc_aggregate({"q1": qrels_q1}, run)
        # No run retrieves anything for q2.
        assert values["Bpref", "q2"] == values["map", "q2"] == 0


def test_labels_and_gains_that_ir_measures_cannot_hold() -> None:
    """pytrec_eval wraps around at 2^31, and allocates memory proportional to the highest label."""
    run = {"q": {"a": 2.0, "b": 1.0}}
    ideal = 2.0**40 + 1 / np.log2(3)
    (value,) = evaluate(run, {"q": {"a": 1, "b": 2**40}}, [nDCG], progress=False)["value"]
    assert value == pytest.approx((1 + 2.0**40 / np.log2(3)) / ideal, rel=1e-12)
    (value,) = evaluate(run, {"q": {"a": 1, "b": 2}}, [nDCG(gains={2: 2**40})], progress=False)[
        "value"
    ]
    assert value == pytest.approx((1 + 2.0**40 / np.log2(3)) / ideal, rel=1e-12)


@pytest.mark.parametrize(
    ("measure", "label", "limit"),
    [
        ("ERR@10", 5, 4),
        ("nDCG(dcg='exp-log2')@10", 5, 4),
        ("infAP", 3_000_000_000, 10_000_000),  # pytrec_eval ended the process
        ("Bpref", 10**19, 10_000_000),
        ("Compat", 10**19, 10**18),
    ],
)
def test_labels_that_programs_of_ir_measures_cannot_read(
    measure: str, label: int, limit: int, capfd: Any
) -> None:
    """Kind: what a program of ir-measures cannot read. It was "Command ['perl', …] returned … exit status 25"."""
    qrels = pd.DataFrame(
        {"qid": ["q", "q", "r"], "docno": ["a", "b", "c"], "label": np.array([1, 0, label], float)}
    )
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"c": 1.0}}
    with pytest.raises(MultiAspectError) as caught:
        evaluate(run, qrels, [measure, "AP", "RR@10"], progress=False)
    for part in (
        f"computes {measure} for labels of at most {limit}",
        f"got {label:g} for document c, query r; ",
    ):
        assert part in str(caught.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("measure", ["ERR@10", "nDCG(dcg='exp-log2')@10"])
def test_the_remedy_for_larger_labels_works(measure: str) -> None:
    """gdeval has labels up to 4 only: the error on a larger one names a measure that takes it."""
    run = {"q": {"a": 2.0, "b": 1.0}}
    with pytest.raises(MultiAspectError) as caught:
        evaluate(run, {"q": {"a": 5, "b": 0}}, [measure], progress=False)
    remedy = re.search(r"use (On\(.*\)), which", str(caught.value))[1]
    declared = ir_measures.parse_measure(remedy)(aspects={"relevance": 5})
    table = evaluate(run, {"q": {"a": 5, "b": 0}}, [declared], progress=False)
    assert table["value"].item() > 0.9


@pytest.mark.parametrize("measure", ["ERR@10", "nDCG(dcg='exp-log2')@10"])
def test_labels_up_to_4_and_below_0_are_those_of_gdeval(measure: str) -> None:
    run = {"q": {"a": 2.0, "b": 1.0}}
    table = evaluate(run, {"q": {"a": 4, "b": -2}}, [measure], progress=False)
    assert table["value"].item() > 0.9


@pytest.mark.parametrize(
    ("extra_judgments", "extra_scores"),
    [
        pytest.param({"c d": 1}, {}, id="in the qrels"),
        pytest.param({}, {"c d": 1.0}, id="in the run"),
    ],
)
def test_ids_that_a_program_would_divide(
    extra_judgments: dict[str, int], extra_scores: dict[str, float]
) -> None:
    """gdeval, which computes ERR@10, takes a blank for the end of an id; other measures have no such limit."""
    qrels = {"q": {"a": 2, "b": 0, **extra_judgments}}
    run = {"q": {"b": 1.0, "a": 2.0, **extra_scores}}
    message = r"ids of documents without blanks, got 'c d'; use On"
    with pytest.raises(MultiAspectError, match=message):
        evaluate(run, qrels, ["ERR@10"], progress=False)
    assert len(evaluate(run, qrels, ["RR@10", "AP", "Bpref"], progress=False)) == 3


def test_whatever_ir_measures_raises_names_measure_and_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kind: errors of any class. Only the measure that fails is named, not those computed together with it."""
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"c": 1.0}}
    qrels = {"q": {"a": 1, "b": 0}, "r": {"c": 1}}
    expected = r"^query r: ir-measures cannot compute Accuracy: float division by zero; leave the measure out"
    with pytest.raises(MultiAspectError, match=expected):
        evaluate(run, qrels, ["Bpref", "Accuracy", "Compat"], progress=False)
    for error in (
        KeyError("missing"),
        OSError("no such program: perl"),
        AttributeError("ast.Num"),
        IndexError(),
    ):

        def fail(self: Any, run: Any, error: Exception = error) -> Any:
            raise error

        monkeypatch.setattr("ir_measures.providers.compat_provider.CompatEvaluator.iter_calc", fail)
        cause = str(error) or "IndexError"
        with pytest.raises(
            MultiAspectError, match=f"cannot compute Compat: {cause}; leave"
        ) as caught:
            evaluate(run, qrels, ["Bpref", "Compat"], progress=False)
        assert caught.value.__cause__ is error
    monkeypatch.setattr(
        "ir_measures.providers.compat_provider.CompatEvaluator.iter_calc", lambda *_: memory_error()
    )
    with pytest.raises(MemoryError):
        evaluate(run, qrels, ["Compat"], progress=False)


def memory_error() -> None:
    raise MemoryError


def test_fractional_labels_are_refused_before_runs_are_read() -> None:
    with pytest.raises(MultiAspectError, match=r"integer.*got 0.5; use On\(base"):
        evaluate({"mine": "not a run"}.items(), {"q": {"a": 0.5}}, [P @ 5], progress=False)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (P, "P requires the parameter cutoff, as in P@10"),
        ("Precision", "P requires the parameter cutoff, as in P@10"),
        ("IPrec", r"IPrec requires the parameter recall, as in IPrec\(recall=...\)"),
        (SDCG @ 5, r"SDCG requires the parameter max_rel, as in SDCG\(max_rel=...\)@10"),
        ("SDCG", r"SDCG requires the parameter cutoff, max_rel, as in SDCG\(max_rel=...\)@10"),
    ],
)
def test_required_parameters_of_measures_of_ir_measures(measure: object, message: str) -> None:
    with pytest.raises(MultiAspectError, match=message):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, [measure], progress=False)


def test_what_is_sent_to_workers() -> None:
    judgments = Judgments({"q": {"a": 1, "b": 0}})
    standard = StandardMeasures([P @ 1, Bpref], judgments, judgments.labels("relevance"))
    small = len(pickle.dumps(standard))
    from pt_multiaspect.collection import Rankings

    frame = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    values = standard.values(Rankings(frame, judgments), lambda: frame)
    assert len(pickle.dumps(standard)) == small
    again = pickle.loads(pickle.dumps(standard)).values(Rankings(frame, judgments), lambda: frame)
    assert {measure: value.tolist() for measure, value in again.items()} == {
        P @ 1: [1.0],
        Bpref: [1.0],
    }
    assert {measure: value.tolist() for measure, value in values.items()} == {
        P @ 1: [1.0],
        Bpref: [1.0],
    }


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        # Only the topic with the label 1 has a gain above 0.
        ({0: 1, 1: 2}, {"labels -1 and -2": 0, "label 1": 1, "labels -1": 0}),
        # All topics have one.
        ({-1: 3, 1: 2}, {"labels -1 and -2": 1, "label 1": 1, "labels -1": 1}),
    ],
    ids=["positive labels", "negative labels"],
)
def test_gains_are_mapped_before_queries_without_a_gain_are_left_out(gains, expected):
    """pytrec_eval must not see a query whose gains are all negative, as it would read out of bounds."""
    qrels = {
        "labels -1 and -2": {"d1": -1, "d2": -2},
        "label 1": {"d1": 1},
        "labels -1": {"d1": -1, "d2": -1},
    }
    run = {qid: {"d1": 2.0, "d2": 1.0} for qid in qrels}
    measure = ir_measures.nDCG(gains=gains, judged_only=True)
    values = evaluate(run, qrels, measure, progress=False).set_index("qid")["value"]
    assert values.to_dict() == pytest.approx(expected)


def test_measures_beside_measures_of_judged_documents_count_all():
    """NumRet counts both retrieved documents, although only b is judged.

    In one evaluator of ir-measures, it would count judged ones only beside measures with
    judged_only, depending on the order of a set.
    """
    run = {"q": {"a": 2.0, "b": 1.0}}
    qrels = {"q": {"b": 1}}
    judged_measures = [
        P(judged_only=True) @ 2,
        AP(judged_only=True),
        nDCG(judged_only=True) @ 3,
        SetP(judged_only=True),
    ]
    lists_of_measures = [[*judged_measures, NumQ, infAP, NumRet]]
    for measure in judged_measures:
        lists_of_measures.append([NumRet, measure])
        lists_of_measures.append([measure, NumRet, Bpref])

    for measures in lists_of_measures:
        table = evaluate(run, qrels, measures, progress=False)
        values = table.set_index("measure")["value"]
        assert values["NumRet"] == 2
        for measure in measures:
            if measure in judged_measures:
                assert values[str(measure)] == measure.calc_aggregate(qrels, run)


def test_functions_of_users_see_their_topics() -> None:
    qrels = {str(number): {"d": 1} for number in range(1, 13)}
    run = {qid: {"d": 1.0} for qid in qrels}
    own = ir_measures.define_byquery(
        lambda judged, _: float(judged["query_id"].iloc[0]), name="own"
    )
    values = evaluate({"a": run}, qrels, [own, ir_measures.ERR @ 1], progress=False)
    result = values[values["measure"] == "own"].set_index("qid")["value"].to_dict()
    assert result == {qid: float(qid) for qid in qrels}


def test_functions_of_one_name_are_refused() -> None:
    first, second = (
        ir_measures.define_byquery(lambda qrels, run, value=value: value, name="own")
        for value in (1.0, 2.0)
    )
    with pytest.raises(MultiAspectError, match=r"two functions.*own.*name="):
        evaluate(
            {"a": {"q": {"d": 1.0}}}, {"q": {"d": 1}}, {"one": first, "two": second}, progress=False
        )


def test_adapters_replace_nothing_that_they_do_not_state_to_equal(monkeypatch):
    """A user's base for Bpref is used in `On`, and does not change the values of Bpref itself, which is 1 here."""

    class Quarter(Adapter):
        """Wrong on purpose."""

        def score(self, ranking, target):
            return np.full(target.n_queries, 0.25)

    # A copy of the registry, so that other tests do not get this base.
    monkeypatch.setattr(adapters, "ADAPTERS", dict(adapters.ADAPTERS))
    register_quarter = adapts(ir_measures.Bpref)
    register_quarter(Quarter)

    qrels = {"q1": {"d1": {"relevance": 1}, "d2": {"relevance": 0}}}
    run = {"q1": {"d1": 2.0, "d2": 1.0}}
    measures = {"itself": "Bpref", "base": On(base="Bpref")}
    values = evaluate(run, qrels, measures, progress=False).set_index("measure")["value"]
    assert values["itself"] == 1.0
    assert values["base"] == 0.25


def tied_run(order: tuple[str, ...], scores: dict[str, float]) -> pd.DataFrame:
    rows = [("q", document, scores[document]) for document in order]
    return pd.DataFrame(rows, columns=["qid", "docno", "score"])


TIED = [
    RBP(rel=1), RBP(rel=1, p=0.5), Compat, Compat(p=0.5), Accuracy, Accuracy @ 2, RR @ 2, SDCG(max_rel=2) @ 2,
    INST(max_rel=2), BPM(max_rel=2) @ 3, NERR8(max_rel=2) @ 3, P(judged_only=True) @ 1,
    Bpref, IPrec @ 0.5, AP, nDCG @ 2,
]  # fmt: skip
if shutil.which("perl"):
    TIED += [ERR @ 2, nDCG(dcg="exp-log2") @ 2]


LABELS_OF_TIES = {"a": 2, "b": 0, "c": 1, "d": 1}
QRELS_OF_TIES = pd.DataFrame(
    {"qid": "q", "docno": list(LABELS_OF_TIES), "label": LABELS_OF_TIES.values()}
)
#: a, b and c tie.
TIED_SCORES = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}
#: The same ranking without ties: documents with equal scores are by docno, descending.
UNTIED_SCORES = {"c": 4.0, "b": 3.0, "a": 2.0, "d": 1.0}


def values_of_ties(measures: list[Any], order: str, scores: dict[str, float]) -> list[float]:
    """The values of a run with its rows in this order."""
    run = tied_run(tuple(order), scores)
    return evaluate(run, QRELS_OF_TIES, measures, progress=False)["value"].tolist()


@pytest.mark.slow
def test_values_do_not_depend_on_the_order_of_rows() -> None:
    """Other tools keep the order of rows, or go by docnos ascending, where scores tie."""
    expected = values_of_ties(TIED, "cbad", UNTIED_SCORES)
    for order in itertools.permutations(TIED_SCORES):
        assert values_of_ties(TIED, "".join(order), TIED_SCORES) == expected, order


@pytest.mark.slow
def test_bases_have_the_same_values_on_ties() -> None:
    """As bases of `On`, except those that it does not accept, and ERR, which has another highest grade there."""
    bases = [
        measure
        for measure in TIED
        if not measure.params.get("judged_only") and measure.NAME != "ERR"
    ]
    expected = values_of_ties(bases, "cbad", UNTIED_SCORES)
    on_relevance = [On(base=base, aspects={"relevance": 2}) for base in bases]
    assert values_of_ties(on_relevance, "dabc", TIED_SCORES) == pytest.approx(expected, abs=1e-5)


def test_rows_of_a_topic_need_not_be_contiguous() -> None:
    """Without ties, too, cwl_eval reads only one of the blocks of rows of a topic."""
    run = pd.DataFrame(
        {"qid": list("qqqrrr"), "docno": list("abcabc"), "score": [6.0, 4.0, 2.0, 5.0, 3.0, 1.0]}
    )
    qrels = pd.DataFrame({"qid": list("qqrr"), "docno": list("acbc"), "label": [2, 1, 1, 2]})
    expected = evaluate(run, qrels, TIED, progress=False)["value"].tolist()
    assert (
        evaluate(run.sort_values("score"), qrels, TIED, progress=False)["value"].tolist()
        == expected
    )
    rbp = RBP(rel=1).calc_aggregate(
        qrels.set_axis(["query_id", "doc_id", "relevance"], axis=1),
        run.set_axis(["query_id", "doc_id", "score"], axis=1),
    )
    assert evaluate(run[::-1], qrels, RBP(rel=1), progress=False)["value"].mean() == pytest.approx(
        rbp
    )


def test_functions_of_users_see_the_scores_of_the_run() -> None:
    qrels = {"q": {"a": 1, "b": 0}}
    run = pd.DataFrame({"qid": "q", "docno": ["b", "a"], "score": [0.25, 0.5]})
    own = ir_measures.define_byquery(
        lambda _, run: float(run["score"].sum()), name="OwnSum", support_cutoff=False
    )
    values = evaluate(run, qrels, {"sum": own, "RBP": RBP(rel=1), "AP": AP}, progress=False)
    assert values["value"].tolist() == [
        0.75,
        RBP(rel=1).calc_aggregate(qrels, {"q": {"a": 2.0, "b": 1.0}}),
        1.0,
    ]
