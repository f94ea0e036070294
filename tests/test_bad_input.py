"""Invalid input: the error of each case states what was given, what was expected, and the alternatives."""
# ruff: noqa: E501 (a case a line)

from __future__ import annotations

import math
import re
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import AP, ERR, RBP, Metric, P, SetF, nDCG
from sklearn.linear_model import Ridge
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    GAM,
    MM,
    NGRE,
    NLRE,
    NWCS,
    RBU,
    TOMA,
    WHAM,
    Aspect,
    Aspects,
    DistanceOrder,
    Judgments,
    MultiAspectError,
    MultiAspectWarning,
    On,
    Order,
    uERR,
    unDCG,
)
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr
from pt_multiaspect.integration import parsing

QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q2"],
        "docno": ["d1", "d2", "d1", "d3"],
        "label": [2, 0, 1, 0],
        "credibility": [1, 0, 2, 1],
    }
)
RUN = pd.DataFrame(
    {"qid": ["q1", "q1", "q2"], "docno": ["d2", "d1", "d1"], "score": [2.0, 1.0, 1.0]}
)
BOTH = {"relevance": 2, "credibility": 2}


def evaluate(measure: Any, qrels: object = QRELS, run: object = RUN) -> list[Metric]:
    return list(ir_measures.iter_calc([measure], qrels, run))


def values(measure: Any, qrels: object = QRELS, run: object = RUN) -> dict[str, float]:
    return {metric.query_id: metric.value for metric in evaluate(measure, qrels, run)}


def refusal(call: Callable[[], object], *parts: str, clean: bool = True) -> str:
    """Assert that the call is refused, and that the message has the parts; return the message."""
    with pytest.raises(MultiAspectError) as caught:
        call()
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    for part in parts:
        assert part in message, message
    if clean:  # nothing of the machine's inside shows
        assert not re.search(
            r"object at 0x|np\.(float|int|str)\w*\(|<function|dtype|Traceback", message
        ), message
    return message


def catch_warning(call: Callable[[], object]) -> tuple[Any, str]:
    """Return the result of a call, and the text of its warnings besides that TOMA has no gate."""
    with pytest.warns(MultiAspectWarning) as caught:
        result = call()
    messages = {str(warning.message) for warning in caught}
    (message,) = (message for message in messages if not message.startswith("TOMA has no gate"))
    return result, message


def with_label(column: str, label: object, row: int = 1) -> pd.DataFrame:
    """The qrels with one label replaced."""
    frame = QRELS.astype({column: object})
    frame.loc[row, column] = label
    return frame


Case = tuple[str, Callable[[], object], list[str]]


def cases(*table: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("call", "parts"), [pytest.param(call, parts, id=name) for name, call, parts in table]
    )


# --- qrels ------------------------------------------------------------------------------------

MISSING = [
    "no column for the aspect readability",
    "expected aspects among relevance, credibility",
    "docno",
]


@cases(
    ("TOMA", lambda: evaluate(TOMA(aspects={"relevance": 2, "readability": 3})), MISSING),
    ("CAM", lambda: evaluate(CAM(aspects="relevance,readability")), MISSING),
    ("On", lambda: evaluate(On(aspect="readability")), MISSING),
    ("uRBP", lambda: evaluate(URBP(aspects=("readability",))), MISSING),
    ("NLRE", lambda: evaluate(NLRE(aspects=["readability", "relevance"])), MISSING),
    ("NWCS", lambda: evaluate(NWCS(aspects="readability")), MISSING),
    ("order", lambda: evaluate(TOMA(order=Order({(0, 0): 0}, ["relevance", "readability"]))), MISSING),
    ("several", lambda: evaluate(CAM(aspects="trust,readability,label")), ["trust, readability", "relevance, credibility"]),
    ("relevance", lambda: evaluate(URBP(aspects="label"), QRELS.drop(columns="label")), ["aspect relevance", "expected aspects among credibility "]),
    ("On by default", lambda: evaluate(On, QRELS.drop(columns="label")), ["aspect relevance", "expected aspects among credibility "]),
    ("dict of dicts", lambda: evaluate(CAM(aspects=BOTH), {"q1": {"d1": {"relevance": 1}}}), ["aspect credibility", "expected aspects among relevance "]),
    ("dict of numbers", lambda: evaluate(CAM(aspects=BOTH), {"q1": {"d1": 1}}), ["aspect credibility", "expected aspects among relevance "]),
    ("pt.Evaluate", lambda: pt.Evaluate(RUN, QRELS, [CAM(aspects="relevance,readability")]), [*MISSING[:2], "doc_id"]),
    ("string", lambda: pt.Evaluate(RUN, QRELS, ["CAM(aspects='relevance,readability')@10"]), [*MISSING[:2], "doc_id"]),
    ("beside others", lambda: pt.Evaluate(RUN, QRELS, ["map", nDCG, "On(aspect='readability')"]), [*MISSING[:2], "doc_id"]),
    ("no labels", lambda: evaluate(TOMA, QRELS[["qid", "docno"]]), ["expected a numeric label column", "label or relevance", "qid, docno"]),
    ("only words", lambda: evaluate(CAM, QRELS[["qid", "docno"]].assign(stance="pro")), ["expected a numeric label column", "stance"]),
    ("not among declared", lambda: evaluate(On(aspect="credibility", aspects={"relevance": 2})), ["aspect: expected one of the aspects (relevance), got credibility"]),
)  # fmt: skip
def test_missing_aspect(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


def test_a_missing_aspect_tells_the_names_that_were_declared() -> None:
    Aspects(BOTH, name="bad-input-declared")
    refusal(
        lambda: evaluate(TOMA(aspects="bad-input-decared")),
        "bad-input-decared",
        "bad-input-declared",
    )


NO_NUMBER = [
    "document d2, query q1",
    "expected a finite number",
    "expected a finite number, or NaN if unjudged",
]


@cases(
    ("word", lambda: evaluate(CAM(aspects=BOTH), with_label("credibility", "high")), ["invalid label 'high' in column credibility", *NO_NUMBER]),
    ("word, undeclared", lambda: evaluate(CAM, with_label("credibility", "high")), ["invalid label 'high' in column credibility", *NO_NUMBER]),
    ("label", lambda: evaluate(TOMA(aspects=BOTH), with_label("label", "2b")), ["invalid label '2b' in column label", *NO_NUMBER]),
    ("relevance", lambda: evaluate(On, with_label("label", "2b").rename(columns={"label": "relevance"})), ["invalid label '2b' in column relevance", *NO_NUMBER]),
    ("empty string", lambda: evaluate(CAM(aspects=BOTH), with_label("credibility", "")), ["invalid label '' in column credibility", *NO_NUMBER]),
    ("list", lambda: evaluate(CAM(aspects=BOTH), with_label("credibility", [1])), ["invalid label [1] in column credibility", *NO_NUMBER]),
    ("infinite", lambda: evaluate(CAM(aspects=BOTH), with_label("credibility", math.inf)), ["invalid label inf in column credibility", *NO_NUMBER]),
    ("all words", lambda: evaluate(CAM(aspects=BOTH), QRELS.assign(credibility="high")), ["'high'", "document d1, query q1"]),
    ("dict", lambda: evaluate(CAM, {"q1": {"d1": {"relevance": 1, "credibility": 1}, "d2": {"relevance": 0, "credibility": "x"}}}), ["invalid label 'x' in column credibility", *NO_NUMBER]),
    ("tuples", lambda: evaluate(CAM, {"q1": {"d1": (1, 1), "d2": (0, "x")}}), ["'x'", *NO_NUMBER]),
    ("pt.Evaluate", lambda: pt.Evaluate(RUN, with_label("credibility", "high"), [CAM]), ["invalid label 'high' in column credibility", *NO_NUMBER]),
    ("identifier", lambda: evaluate(CAM(aspects="relevance,qid")), ["'q1'", "expected a finite number"]),
)  # fmt: skip
def test_label_that_is_no_number(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


BY_ASPECT = {
    "relevance": {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1, "d3": 0}},
    "credibility": {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2, "d3": 1}},
}


@pytest.mark.parametrize("relevance", ["relevance", "label"])
def test_a_dict_of_aspects_is_read(relevance: str) -> None:
    """A dict of qrels by aspect is not mistaken for one of documents by query."""
    judged = {relevance: BY_ASPECT["relevance"], "credibility": BY_ASPECT["credibility"]}
    assert Judgments(judged).label_names == ("relevance", "credibility")
    assert values(CAM(aspects=BOTH), judged) == values(CAM(aspects=BOTH))

    only_relevance = {relevance: BY_ASPECT["relevance"]}
    assert Judgments(only_relevance).label_names == ("relevance",)


@pytest.mark.parametrize("relevance", ["relevance", "label"])
def test_aspects_may_judge_different_documents(relevance: str) -> None:
    """Four documents of two queries are judged on relevance; d2 and d9 of q1 on credibility."""
    judged = {
        relevance: {"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1, "d3": 0}},
        "credibility": {"q1": {"d2": 0, "d9": 1}},
    }
    judgments = Judgments(judged)
    assert judgments.qids.tolist() == ["q1", "q2"]
    n_documents = 5
    n_credible_known = 2
    n_missing = np.isnan(judgments.labels("credibility")).sum()
    assert n_missing == n_documents - n_credible_known


def test_aspects_without_relevance_are_not_taken_for_queries() -> None:
    """The remedy for a dict of aspects would mislead."""
    judged = {
        "q1": {"d1": {"trust": 1}, "d2": {"trust": 0}},
        "q2": {"d3": {"trust": 1}, "d4": {"trust": 0}},
    }
    with pytest.raises(MultiAspectError, match="aspect relevance") as error:
        ma.evaluate({"run": RUN}, judged, "map", progress=False)
    assert "first level" not in str(error.value)


def test_swapped_ids_of_qrels_are_named() -> None:
    swapped = pd.DataFrame({"qid": ["d1", "d2"], "docno": ["q1", "q1"], "relevance": [1, 0]})
    with pytest.raises(MultiAspectError, match="are query and document ids swapped") as error:
        ma.evaluate({"run": {"q1": {"d1": 1.0}}}, swapped, "map", progress=False)
    assert "dict" not in str(error.value)
    with pytest.raises(MultiAspectError, match="have no query in common") as error:
        ma.evaluate({"run": {"q9": {"d1": 1.0}}}, swapped, "map", progress=False)
    assert "swapped" not in str(error.value)


def test_a_query_may_be_named_relevance() -> None:
    for labels in (1, {"relevance": 1}, {"label": 1}):
        assert Judgments({"relevance": {"d1": labels}}).qids.tolist() == ["relevance"]


@cases(
    ("no documents", lambda: Judgments(BY_ASPECT | {"trust": {"q1": 1}}), ["{aspect: {qid: {docno: label}}}", "got 1 in 'trust'"]),
    ("no queries", lambda: Judgments(BY_ASPECT | {"trust": 1}), ["{aspect: {qid: {docno: label}}}", "got 1 in 'trust'"]),
    ("one level more", lambda: Judgments(BY_ASPECT | {"trust": {"q1": {"d1": {"x": 1}}}}), ["{aspect: {qid: {docno: label}}}", "in 'trust'"]),
    ("other aspects", lambda: ma.analysis.upper_bound({"a": BY_ASPECT["relevance"], "b": BY_ASPECT["credibility"]}, CAM(aspects={"a": 2, "b": 2})), ["aspect a, b", "Expected {qid: {docno: {aspect: label}}}"]),
    ("other aspects, a measure of relevance", lambda: ma.evaluate({"run": RUN}, {"a": BY_ASPECT["relevance"], "b": BY_ASPECT["credibility"]}, "map", progress=False), ["aspect relevance", "Expected {qid: {docno: {aspect: label}}}"]),
    ("other aspects, none named", lambda: ma.evaluate({"run": RUN}, {"a": BY_ASPECT["relevance"]}, CAM, progress=False), ["no query in common", "Expected {qid: {docno: {aspect: label}}}"]),
)  # fmt: skip
def test_a_dict_of_aspects_that_cannot_be_read(
    call: Callable[[], object], parts: list[str]
) -> None:
    refusal(call, *parts)


def test_missing_labels_are_no_error() -> None:
    for missing in (None, math.nan, pd.NA):
        result = values(CAM(base=AP, aspects=BOTH), with_label("credibility", missing, row=0))
        assert result == {"q1": 0.25, "q2": 0.75}  # nothing of q1 is credible


ABOVE = ["document d1, query q1", "relevance label 2", "above the top grade", "lowest first, 0, 1 "]
BETWEEN = [
    "document d1, query q1",
    "credibility label 1",
    "between two grades",
    "lowest first, 0, 2 ",
]


@cases(
    ("TOMA above", lambda: evaluate(TOMA(aspects={"relevance": 1, "credibility": 2})), ABOVE),
    ("uRBP above", lambda: evaluate(URBP(aspects={"relevance": 1, "credibility": 2})), ABOVE),
    ("On above", lambda: evaluate(On(aspects={"relevance": 1})), ABOVE),
    ("NLRE above", lambda: evaluate(NLRE(aspects={"relevance": 1})), ABOVE),
    ("order above", lambda: evaluate(TOMA(order=Order({(0,): 0, (1,): 1}, ["relevance"]))), ABOVE),
    ("between", lambda: evaluate(TOMA(aspects={"relevance": 2, "credibility": [0, 2]})), BETWEEN),
    ("counted", lambda: evaluate(TOMA(aspects={"relevance": 2, "credibility": [0, 2]})), ["(2 such labels in all)"]),
    ("fraction", lambda: evaluate(CAM(aspects=BOTH), with_label("credibility", 0.5)), ["credibility label 0.5", "between two grades"]),
    ("smaller is better", lambda: evaluate(NGRE(aspects={"credibility": Aspect([1, 2], greater_is_better=False)})), ["document d2, query q1", "credibility label 0", "above the top grade", "lowest first, 2, 1 "]),
    ("a named set", lambda: evaluate(CAM(aspects=Aspects({"relevance": 1}, name="bad-input-short"))), ABOVE),
)  # fmt: skip
def test_label_off_the_scale(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


def test_labels_below_the_scale_are_the_lowest_grade() -> None:
    below = with_label("credibility", -2).astype({"credibility": int})
    for measure in (CAM(aspects=BOTH), TOMA(aspects=BOTH), NLRE(aspects=BOTH), URBP(aspects=BOTH)):
        assert values(measure, below) == values(measure)


@cases(
    ("aspect", lambda: evaluate(TOMA, pd.concat([QRELS, QRELS[:1].assign(credibility=2)])), ["document d1, query q1", "expected one label in column credibility", "got 1 and 2", "1 such"]),
    ("label", lambda: evaluate(URBP(aspects=BOTH), pd.concat([QRELS, QRELS.assign(label=1)])), ["document d1, query q1", "expected one label in column label", "got 2 and 1", "3 such"]),
    ("missing", lambda: evaluate(CAM(aspects=BOTH), pd.concat([QRELS, QRELS[2:3].assign(credibility=np.nan)])), ["document d1, query q2", "expected one label", "got 2 and nan"]),
    ("ids of other types", lambda: evaluate(CAM(aspects=BOTH), pd.concat([QRELS.assign(qid=1, docno=["a", "b", "c", "d"]), QRELS[:1].assign(qid="1", docno="a", label=1)]), RUN[:1].assign(qid="1")), ["document a, query 1", "2 and 1"]),
)  # fmt: skip
def test_conflicting_judgments(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


def test_conflicts_in_other_aspects_do_not_matter() -> None:
    qrels = pd.concat([QRELS, QRELS.assign(credibility=0)])
    assert values(On(base=AP), qrels) == values(On(base=AP))


def test_equal_judgments_are_merged() -> None:
    for measure in (
        TOMA(aspects=BOTH),
        CAM(base=AP, aspects=BOTH),
        NWCS(aspects=BOTH),
        URBPgr(aspects=BOTH),
    ):
        assert values(measure, pd.concat([QRELS, QRELS, QRELS[:2]])) == values(measure)
    missing = with_label("credibility", None)
    assert values(CAM(aspects=BOTH), pd.concat([missing, missing])) == values(
        CAM(aspects=BOTH), missing
    )
    assert len(Judgments(pd.concat([QRELS, QRELS]))) == len(QRELS)


@cases(
    ("label and relevance", lambda: evaluate(TOMA(aspects=BOTH), QRELS.assign(relevance=1)), ["got label and relevance", "drop or rename", "credibility"]),
    ("label and relevance, not needed", lambda: evaluate(On(aspect="credibility"), QRELS.assign(relevance=1)), ["label", "relevance"]),
    ("label and relevance in a dict", lambda: evaluate(CAM, {"q": {"d": {"label": 1, "relevance": 1}}}), ["label", "relevance"]),
    ("label and relevance, pt.Evaluate", lambda: pt.Evaluate(RUN, QRELS.assign(relevance=1), [TOMA]), ["relevance"]),
    ("no document", lambda: evaluate(TOMA, QRELS.drop(columns="docno")), ["qrels", "docno or doc_id", "qid, label, credibility"]),
    ("no query", lambda: evaluate(TOMA, QRELS.drop(columns="qid")), ["qrels", "qid or query_id", "docno, label, credibility"]),
    ("two queries", lambda: evaluate(TOMA, QRELS.assign(query_id="q1")), ["qrels", "got qid and query_id"]),
    ("two documents", lambda: evaluate(TOMA, QRELS.assign(doc_id="d1")), ["qrels", "got docno and doc_id"]),
    ("a column twice", lambda: evaluate(TOMA, pd.concat([QRELS, QRELS["credibility"]], axis=1)), ["qrels", "distinct column names", "several credibility"]),
    ("a query without a name", lambda: evaluate(TOMA, QRELS.assign(qid=["q1", None, "q2", "q2"])), ["qrels", "qid", "row 1"]),
    ("a document without a name", lambda: evaluate(TOMA, QRELS.assign(docno=["d1", "d2", np.nan, "d3"])), ["qrels", "docno", "row 2"]),
    ("a number", lambda: Judgments(3), ["DataFrame", "dict {qid: {docno: labels}}", "namedtuples", "got int"]),
    ("a path", lambda: Judgments("qrels.txt"), ["got str", "read_qrels"]),
    ("plain tuples", lambda: Judgments([("q1", "d1", 1)]), ["namedtuples", "('q1', 'd1', 1)"]),
    ("a flat dict", lambda: Judgments({"q1": 1}), ["{qid: {docno: labels}}", "got 1 for query 'q1'"]),
    ("tuples of other lengths", lambda: Judgments({"q1": {"d1": (1, 2), "d2": (1,)}}), ["tuples", "expected label tuples of one length", "1, 2"]),
    ("numbers and tuples", lambda: Judgments({"q1": {"d1": 1, "d2": (1, 2)}}), ["single numbers", "expected labels of one kind"]),
    ("dicts and numbers", lambda: Judgments({"q1": {"d1": {"relevance": 1}, "d2": 1}}), ["dicts", "expected labels of one kind"]),
)  # fmt: skip
def test_qrels_that_are_none(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


# --- runs, and runs beside qrels --------------------------------------------------------------

DOCNOS = "{qid: {docno: -rank for rank, docno in enumerate(docnos)}}"
NAN = ["invalid score", "document d1, query q1", "expected a number", "(2 such rows in all)"]


@cases(
    ("NaN", lambda: evaluate(TOMA, QRELS, RUN.assign(score=[1, math.nan, math.nan])), ["nan", *NAN]),
    ("None", lambda: evaluate(TOMA, QRELS, RUN.assign(score=pd.Series([1, None, None], dtype=object))), NAN),
    ("NA", lambda: evaluate(TOMA, QRELS, RUN.assign(score=pd.Series([1, None, None], dtype="Float64"))), NAN),
    ("words", lambda: evaluate(TOMA, QRELS, RUN.assign(score=["1", "high", "high"])), ["'high'", *NAN]),
    ("dict", lambda: evaluate(TOMA, QRELS, {"q1": {"d1": None, "d2": math.nan}}), NAN),
    ("namedtuples", lambda: evaluate(TOMA, QRELS, [ir_measures.ScoredDoc("q1", "d1", math.nan), ir_measures.ScoredDoc("q1", "d2", math.nan)]), ["nan", *NAN]),
    ("of a query without judgments", lambda: evaluate(TOMA, QRELS, RUN.assign(qid=["q1", "q9", "q9"], score=[1, math.nan, math.nan])), ["query q9"]),
    ("pt.Evaluate", lambda: pt.Evaluate(RUN.assign(score=[1, math.nan, math.nan]), QRELS, [TOMA @ 10]), ["nan", *NAN]),
)  # fmt: skip
def test_score_that_is_no_number(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts, clean=False)


def test_a_score_in_a_message_is_a_number() -> None:
    refusal(lambda: evaluate(TOMA, QRELS, RUN.assign(score=math.nan)), "score nan")


def test_infinite_scores_are_scores() -> None:
    run = RUN.assign(score=[-math.inf, math.inf, 0])
    assert values(CAM(base=AP, aspects=BOTH), run=run) == values(
        CAM(base=AP, aspects=BOTH), run=RUN.assign(score=[0, 1, 0])
    )


@cases(
    ("no score", lambda: evaluate(TOMA, QRELS, RUN.drop(columns="score")), ["run", "column score", "qid, docno"]),
    ("no document", lambda: evaluate(TOMA, QRELS, RUN.drop(columns="docno")), ["run", "docno or doc_id", "qid, score"]),
    ("no query", lambda: evaluate(TOMA, QRELS, RUN.drop(columns="qid")), ["run", "qid or query_id", "docno, score"]),
    ("two queries", lambda: evaluate(TOMA, QRELS, RUN.assign(query_id="q1")), ["run", "got qid and query_id"]),
    ("a document without a name", lambda: evaluate(TOMA, QRELS, RUN.assign(docno=["d1", None, "d2"])), ["run", "docno", "row 1"]),
    ("a number", lambda: evaluate(TOMA, QRELS, 3), ["DataFrame", "{qid: {docno: score}}", "namedtuples", "got int"]),
    ("a path", lambda: evaluate(TOMA, QRELS, "run.txt"), ["got str", "read_run"]),
    ("plain tuples", lambda: evaluate(TOMA, QRELS, [("q1", "d1", 1.0)]), ["namedtuples", "('q1', 'd1', 1.0)"]),
    ("a list of documents", lambda: evaluate(TOMA, QRELS, {"q1": ["d1", "d2"]}), ["{qid: {docno: score}}", "got ['d1', 'd2'] for query 'q1'", DOCNOS]),
    ("docnos of one query", lambda: ma.evaluate({"a": ["d1", "d2"]}, QRELS, AP, progress=False), ["run a", "namedtuples", "'d1'", DOCNOS]),
    ("docnos of queries", lambda: ma.evaluate({"q1": {"a": ["d1"]}}, QRELS, AP, progress=False), ["invalid score ['d1']", DOCNOS]),
)  # fmt: skip
def test_runs_that_are_none(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


@pytest.mark.parametrize("column", ["qid", "docno", "score"])
def test_a_run_with_a_column_twice(column: str) -> None:
    refusal(lambda: evaluate(TOMA, QRELS, pd.concat([RUN, RUN[column]], axis=1)), "run", column)


@pytest.mark.parametrize("side", ["run", "qrels"])
def test_query_ids_of_other_types_are_compared_as_strings(side: str) -> None:
    """The topics q1 and q2 are called 1 and 2 in one frame, and '1' and '2' in the other."""
    qrels_of_numbers = QRELS.assign(qid=QRELS["qid"].map({"q1": 1, "q2": 2}))
    run_of_numbers = RUN.assign(qid=RUN["qid"].map({"q1": 1, "q2": 2}))
    qrels_of_strings = QRELS.assign(qid=QRELS["qid"].map({"q1": "1", "q2": "2"}))
    run_of_strings = RUN.assign(qid=RUN["qid"].map({"q1": "1", "q2": "2"}))
    qrels = qrels_of_numbers if side == "qrels" else qrels_of_strings
    run = run_of_numbers if side == "run" else run_of_strings
    assert qrels["qid"].dtype != run["qid"].dtype

    for measure in (TOMA(aspects=BOTH), CAM(base=AP, aspects=BOTH), On(base="Bpref")):
        named = values(measure, QRELS, RUN)
        expected = {"1": named["q1"], "2": named["q2"]}
        assert values(measure, qrels, run) == expected
        assert values(measure, qrels_of_numbers, run_of_numbers) == expected
        assert values(measure, qrels_of_strings, run_of_strings) == expected


def test_ids_in_dicts_are_compared_as_strings() -> None:
    """AP is 1 on relevance and 0 on credibility."""
    qrels = {1: {7: {"relevance": 1, "credibility": 0}}}
    run = {"1": {"7": 1.0}}
    assert values(CAM(base=AP, aspects=BOTH), qrels, run) == {"1": (1 + 0) / 2}


def test_no_query_in_common_warns_with_one_text() -> None:
    run = RUN.assign(qid="q9")
    measures = (TOMA(aspects=BOTH), CAM(aspects=BOTH), TOMA(aspects=BOTH) @ 10)
    results, message = catch_warning(lambda: [values(measure, run=run) for measure in measures])
    assert results == [{"q1": 0.0, "q2": 0.0}] * 3
    for part in (
        "the run and the qrels have no query in common",
        "empty ranking",
        "the same query ids",
    ):
        assert part in message


@no_warnings()
def test_an_empty_run_or_a_missing_query_does_not_warn() -> None:
    empty = [RUN[:0], {}, [], pd.DataFrame([], columns=["query_id", "doc_id", "score"]), {"q1": {}}]
    for run in empty:
        for measure in (
            TOMA(aspects=BOTH),
            CAM(base="Bpref", aspects=BOTH),
            NLRE(aspects=BOTH) @ 3,
        ):
            assert values(measure, run=run) == {"q1": 0.0, "q2": 0.0}
    assert values(TOMA(aspects=BOTH), run=RUN[RUN["qid"] == "q1"])["q2"] == 0
    assert values(TOMA(aspects=BOTH), run=RUN.assign(qid=["q1", "q1", "q9"]))["q2"] == 0


def test_repeated_documents_warn_with_their_number_and_the_last_score_wins() -> None:
    last = RUN.assign(score=[0.0, 5.0, 1.0])
    measures = (CAM(base=AP, aspects=BOTH), TOMA(aspects=BOTH))
    results, message = catch_warning(
        lambda: [values(measure, run=pd.concat([RUN, last])) for measure in measures]
    )
    assert results == [values(measure, run=last) for measure in measures]
    assert results != [values(measure) for measure in measures]
    for part in ("3 surplus rows", "repeated documents", "last score"):
        assert part in message


def test_a_warning_of_an_inferred_scale_says_what_and_how_to_declare_it() -> None:
    inferred, message = catch_warning(lambda: values(TOMA))
    for part in (
        "relevance 0, 1, 2",
        "credibility 0, 1, 2",
        "TOMA(aspects={'relevance': 2, 'credibility': 2})",
    ):
        assert part in message
    assert values(TOMA(aspects={"relevance": 2, "credibility": 2})) == inferred


FRACTIONS = QRELS.assign(credibility=[0.5, 0, 0.25, 0.5])


@pytest.mark.parametrize("measure", [CAM(base=AP), URBPgr, TOMA, URBP], ids=str)
def test_the_remedy_that_a_warning_names_works(measure: Any) -> None:
    measure = measure(aspects=["relevance", "credibility"])
    plain, message = catch_warning(lambda: values(measure, FRACTIONS))
    match = re.search(r"as in (.*\))", message)
    assert match
    declared = ir_measures.parse_measure(match[1])
    assert values(measure(aspects=declared["aspects"]), FRACTIONS) == plain


# --- parameters -------------------------------------------------------------------------------

DISTANCES = ["chebyshev, euclidean, manhattan", "p > 0", "Order"]
BASES = ["nDCG@10", "AP(rel=2)", "nearest names"]
WRONG_PARAMETERS: tuple[Case, ...] = (
    ("distance", lambda: TOMA(distance="cosine"), ["TOMA", "unknown distance 'cosine'", *DISTANCES]),
    ("distance 0", lambda: TOMA(distance=0), ["unknown distance 0", *DISTANCES]),
    ("distance -1", lambda: TOMA(distance=-1.5), ["unknown distance -1.5", *DISTANCES]),
    ("distance NaN", lambda: TOMA(distance=math.nan), ["unknown distance nan", *DISTANCES]),
    ("distance True", lambda: TOMA(distance=True), ["unknown distance True", *DISTANCES]),
    ("distance None", lambda: TOMA(distance=None), ["unknown distance None", *DISTANCES]),
    ("distance '3'", lambda: TOMA(distance="3"), ["unknown distance '3'", *DISTANCES]),
    ("distance, a function", lambda: TOMA(distance=lambda gaps: sum(gaps)), ["register_distance(name)", "Order.from_distance(aspects, function)"]),
    ("distance of an order", lambda: DistanceOrder(BOTH, "cosine"), ["unknown distance 'cosine'", *DISTANCES]),
    ("base", lambda: TOMA(base="nDGC"), ["TOMA", "unknown base 'nDGC'", *BASES]),
    ("base of CAM", lambda: CAM(base={"relevance": "nDCG", "credibility": "nDGC@3"}), ["CAM", "'nDGC@3'", *BASES]),
    ("base, malformed", lambda: MM(base="nDCG@"), ["MM", "cannot read the measure 'nDCG@'", "invalid syntax"]),
    ("base 3", lambda: On(base=3), ["On", "expected an ir-measures measure or its name as base", "got 3"]),
    ("base None", lambda: On(base=None), ["On", "expected an ir-measures measure or its name as base", "got None"]),
    ("base, a dict for TOMA", lambda: TOMA(base={"relevance": "AP"}), ["TOMA", "got {'relevance': 'AP'}"]),
    ("base, an empty dict", lambda: CAM(base={}), ["CAM", "expected at least one aspect in base"]),
    ("base of several aspects", lambda: CAM(base=TOMA @ 10), ["CAM", "must be a single-aspect measure", "TOMA@10", "multi-aspect"]),
    ("base of several aspects, a string", lambda: On(base="uRBP"), ["On", "must be a single-aspect measure", "uRBP", "multi-aspect"]),
    ("base parameter", lambda: CAM(base="AP(threshold=2)"), ["AP: expected parameters (cutoff, rel", "got threshold"]),
    ("base parameter's type", lambda: CAM(base="AP(rel='x')"), ["AP", "expected rel to be int, got 'x'"]),
    ("base parameter's choice", lambda: CAM(base="nDCG(dcg='ln')"), ["expected dcg to be", "log2", "exp-log2", "got 'ln'"]),
    ("base cutoff", lambda: CAM(base="nDCG@2.5"), ["nDCG", "expected cutoff to be int, got 2.5"]),
    ("gate", lambda: evaluate(TOMA(gate="correctness", aspects=BOTH)), ["gate: expected one of the evaluated aspects (relevance, credibility), got correctness"]),
    ("gate 3", lambda: TOMA(gate=3), ["TOMA", "got 3"]),
    ("gate and one aspect", lambda: evaluate(TOMA(gate="relevance", aspects="credibility")), ["gate: expected one of the evaluated aspects (credibility), got relevance", "Aspects({...}, name='credibility')"]),
    ("gate of an order", lambda: DistanceOrder(BOTH, gate="x"), ["gate: expected one of the evaluated aspects (relevance, credibility), got x"]),
    ("weighting", lambda: TOMA(weighting="linear"), ["TOMA", "weighting: expected one of 'classes', 'normalized', 'exponential', got 'linear'", "'classes', 'normalized', 'exponential'"]),
    ("weighting None", lambda: TOMA(weighting=None), ["weighting: expected", "got None", "'classes'"]),
    ("positives", lambda: TOMA(positives="half"), ["TOMA", "positives: expected one of 'nonzero', 'top-half', got 'half'", "'nonzero', 'top-half'"]),
    ("empty", lambda: GAM(empty="skip"), ["GAM", "empty: expected one of 'zero', 'drop', got 'skip'", "'zero', 'drop'"]),
    ("ideal", lambda: NWCS(ideal="both"), ["NWCS", "ideal: expected one of 'joint', 'separate', 'judged', got 'both'", "'joint', 'separate'"]),
    ("normalized", lambda: CAM(normalized="yes"), ["CAM", "normalized", "True or False", "'yes'"]),
    ("parameter of TOMA", lambda: TOMA(distances="euclidean"), ["TOMA: expected parameters", "got distances. Did you mean distance?", "base, distance, order, axes, weights, weighting, positives, gate, aspects, cutoff"]),
    ("parameter of MM", lambda: MM(normalized=True), ["MM: expected parameters", "got normalized", "base, weights, empty, aspects"]),
    ("parameter of uRBP", lambda: URBP(weights={"relevance": 1}), ["uRBP: expected parameters", "got weights", "p, aspects, cutoff"]),
    ("parameter in a string", lambda: ir_measures.parse_measure("NLRE(lambda_=1)"), ["NLRE: expected parameters", "got lambda_", "mu, nu"]),
    ("p 1", lambda: URBP(p=1), ["uRBP", "p: expected a number of at least 0 and below 1", "got 1"]),
    ("p -0.1", lambda: URBPgr(p=-0.1), ["uRBPgr", "at least 0 and below 1", "got -0.1"]),
    ("p, a string", lambda: URBP(p="0.8"), ["uRBP", "number", "'0.8'"]),
    ("s 0", lambda: unDCG(s=0), ["unDCG", "s: expected a number above 0", "got 0"]),
    ("s infinite", lambda: uERR(s=math.inf), ["uERR", "s: expected a number above 0", "inf"]),
    ("mu -1", lambda: NLRE(mu=-1), ["NLRE", "mu: expected a number of at least 0", "got -1"]),
    ("nu in mu", lambda: NGRE(mu={"relevance": -1}), ["NGRE", "at least 0", "got -1"]),
    ("mu and nu 0", lambda: NLRE(mu=0, nu=0), ["NLRE", "mu and nu", "0"]),
    ("mu twice", lambda: NLRE(mu={"relevance": 1}, nu=1), ["NLRE", "mu is a dict", "omit nu"]),
    ("mu of no aspect", lambda: evaluate(NLRE(mu={"trust": 1})), ["NLRE", "trust", "relevance, credibility"]),
    ("cutoff 0", lambda: TOMA @ 0, ["TOMA", "cutoff", "at least 1", "got 0"]),
    ("cutoff -1", lambda: NLRE @ -1, ["NLRE", "cutoff", "got -1"]),
    ("cutoff 2.5", lambda: NLRE @ 2.5, ["NLRE", "cutoff", "got 2.5"]),  # type: ignore[operator]
    ("cutoff, a string", lambda: ir_measures.parse_measure("uRBP@'x'"), ["uRBP", "cutoff", "'x'"]),
)  # fmt: skip


@cases(*WRONG_PARAMETERS)
def test_wrong_parameter(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("TOMA(distance='cosine')@10", ["unknown distance 'cosine'", *DISTANCES]),
        ("TOMA(base='nDGC')", ["unknown base 'nDGC'"]),
        ("CAM(base='nDCG@5')@10", ["10", "nDCG@5"]),
        ("nDGC@10", ["unknown measure 'nDGC'", "nearest names", "nDCG"]),
        ("TOMA('nDCG')", ["parameters must be given by name", "Name(parameter=value)@cutoff"]),
        ("TOMA(weights={'relevance': -1})", ["TOMA", "negative", "'relevance': -1"]),
        ("", ["''"]),
    ],
)
def test_wrong_string_in_pyterrier(text: str, parts: list[str]) -> None:
    refusal(lambda: parsing.parse(text), *parts)
    refusal(lambda: pt.Evaluate(RUN, QRELS, [text]), *parts)
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": "x"})
    refusal(lambda: pt.Experiment([RUN], topics, QRELS, ["map", text]), *parts)


def test_wrong_measure() -> None:
    refusal(lambda: parsing.parse(3), "expected a measure or a string", "got 3")  # type: ignore[arg-type]


WEIGHTED = [
    (CAM, "CAM"), (MM, "MM"), (GAM, "GAM"), (WHAM, "WHAM"), (TOMA, "TOMA"), (NWCS, "NWCS"), (RBU, "RBU"),
]  # fmt: skip


@pytest.mark.parametrize(("measure", "name"), WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        ({"relevance": 1, "credibility": -1}, ["negative", "'credibility': -1"]),
        ({"relevance": 0, "credibility": 0}, ["positive", "'relevance': 0"]),
        ({"relevance": math.nan}, ["relevance", "finite number", "nan"]),
        ({"relevance": "1"}, ["relevance", "number", "'1'"]),
        ([1, 2], ["mapping of aspect names to numbers", "[1, 2]"]),
        ({}, ["mapping of aspect names to numbers", "{}"]),
        ({"label": 1, "relevance": 1}, ["twice", "label, relevance"]),
    ],
    ids=repr,
)
def test_weights(measure: Any, name: str, weights: Any, parts: list[str]) -> None:
    """Weights that cannot be right for any aspects."""
    refusal(lambda: measure(weights=weights), name, *parts)


@pytest.mark.parametrize(("measure", "name"), WEIGHTED)
def test_weights_of_other_aspects(measure: Any, name: str) -> None:
    """Weights must be those of the aspects that are declared, or evaluated."""
    misspelt = measure(weights={"relevance": 1, "credibilty": 1})
    parts = ["unknown aspect: credibilty", "evaluated aspect (relevance, credibility)"]
    refusal(lambda: evaluate(misspelt), name, *parts)
    refusal(lambda: misspelt(aspects=BOTH), name, *parts)

    refusal(
        lambda: measure(weights={"relevance": 1}, aspects=BOTH),
        "got weights for relevance",
        "add a weight for credibility",
    )

    reason = "two aspects" if measure is WHAM else "unknown aspect: credibility"
    refusal(
        lambda: measure(weights={"relevance": 0, "credibility": 1}, aspects={"relevance": 2}),
        reason,
        "relevance",
    )


# --- aspects ----------------------------------------------------------------------------------


@cases(
    ("gains decrease", lambda: Aspect([0, 1, 2], gains=[0, 2, 1]), ["must be non-decreasing", "grades [0, 1, 2]", "have gains [0, 2, 1]"]),
    ("gains decrease, in a set", lambda: Aspects({"relevance": {"grades": [0, 1], "gains": [1, 0]}}), ["'relevance'", "must be non-decreasing", "[1, 0]"]),
    ("gains increase where less is better", lambda: Aspect([0, 1, 2], gains=[0, 1, 2], greater_is_better=False), ["must be non-decreasing", "from the lowest grade to the highest", "grades [2, 1, 0] have gains [2, 1, 0]"]),
    ("too few gains", lambda: Aspect([0, 1, 2], gains=[0, 1]), ["gains: expected 3 numbers, one per grade [0, 1, 2], got 2: [0, 1]"]),
    ("gains without grades", lambda: Aspect(gains=[0, 1]), ["gains are given one per grade", "declare the grades"]),
    ("probabilities without grades", lambda: Aspect(probabilities=[0, 1]), ["probabilities are given one per grade", "declare the grades"]),
    ("gain NaN", lambda: Aspect([0, 1], gains=[0, math.nan]), ["gains", "finite number", "nan"]),
    ("probabilities above 1", lambda: Aspect([0, 1, 2], probabilities=[0, 1, 2]), ["probabilities must be in [0, 1]", "got [0, 1, 2]", "gains=[…]"]),
    ("probabilities below 0", lambda: Aspect([0, 1], probabilities=[-0.1, 1]), ["probabilities must be in [0, 1]", "got [-0.1, 1]"]),
    ("too many probabilities", lambda: Aspect([0, 1], probabilities=[0, 0.5, 1]), ["probabilities: expected 2 numbers, one per grade [0, 1], got 3: [0, 0.5, 1]"]),
    ("unknown probabilities", lambda: Aspect([0, 1], probabilities="log"), ["probabilities: expected 'linear', 'identity' or one number per grade, got 'log'"]),
    ("linear gains", lambda: Aspect([0, 1], gains="linear"), ["gains: expected one number per grade, got 'linear'", "probabilities='linear'"]),
    ("identity as gains", lambda: Aspect(gains="identity"), ["gains: expected one number per grade, got 'identity'", "probabilities='identity'"]),
    ("identity as gains, in JSON", lambda: CAM(aspects='{"trust":{"gains":"identity"}}'), ["CAM", "'trust'", "probabilities='identity'"]),
    ("gains by grade", lambda: Aspect([0, 1, 2], gains={0: 0, 1: 3, 2: 5}), ["gains: expected a list of numbers, got {0: 0, 1: 3, 2: 5}", "in the order of the grades"]),
    ("probabilities by grade", lambda: Aspect([0, 1], probabilities={0: 0, 1: 0.8}), ["probabilities: expected a list of numbers, got {0: 0, 1: 0.8}", "in the order of the grades"]),
    ("another word as gains", lambda: Aspect([0, 1], gains="01"), ["gains", "sequence of numbers", "'01'"]),
    ("identity where less is better", lambda: Aspect(probabilities="identity", greater_is_better=False), ["probabilities='identity'", "greater_is_better=False"]),
    ("labels that are not probabilities", lambda: evaluate(URBPgr(aspects={"relevance": Aspect(probabilities="identity")})), ["relevance", "'identity'", "[0, 1]", "0 to 2"]),
    ("threshold above", lambda: Aspect([0, 1, 2], threshold=3), ["threshold must be a grade above the lowest (one of [1, 2]), got 3", "[0, 1, 2]"]),
    ("threshold between", lambda: Aspect([0, 1, 2], threshold=1.5), ["one of [1, 2]", "got 1.5", "[0, 1, 2]"]),
    ("threshold at the worst", lambda: Aspect([0, 1, 2], threshold=0), ["threshold must be a grade above the lowest", "one of [1, 2]", "got 0", "[0, 1, 2]"]),
    ("threshold at the worst, turned", lambda: Aspect([0, 1, 2], threshold=2, greater_is_better=False), ["one of [1, 0]", "got 2", "grades, lowest first: [2, 1, 0]"]),
    ("threshold off an inferred scale", lambda: evaluate(URBP(aspects={"relevance": Aspect(threshold=5)})), ["one of [1, 2]", "got 5", "[0, 1, 2]"]),
    ("grades that do not increase", lambda: Aspect([0, 2, 1]), ["expected increasing grades", "got [0, 2, 1]"]),
    ("grades twice", lambda: Aspect([0, 1, 1]), ["once", "[0, 1, 1]"]),
    ("no grades", lambda: Aspect([]), ["at least one grade"]),
    ("a negative top grade", lambda: Aspect(-1), ["expected a top grade from 0 to 1000000, got -1"]),
    ("grades that are words", lambda: Aspect(["low", "high"]), ["grades", "number", "'low'"]),
    ("grades in a string", lambda: Aspect("012"), ["grades", "numbers", "'012'"]),
    ("no aspects", lambda: Aspects({}), ["at least one aspect", "{}"]),
    ("a list", lambda: Aspects(["relevance"]), ["mapping", "['relevance']"]),
    ("relevance twice", lambda: Aspects({"label": 1, "relevance": 2}), ["'relevance'", "twice"]),
    ("an unknown key", lambda: Aspects({"relevance": {"grade": [0, 1]}}), ["'relevance'", "Aspect: expected parameters", "got grade. Did you mean grades?", "grades, gains, probabilities, threshold, greater_is_better, unjudged"]),
    ("a word for a scale", lambda: Aspects({"relevance": "high"}), ["'relevance'", "'high'", "top grade"]),
    ("no name", lambda: Aspects({"": 2}), ["non-empty string", "''"]),
    ("as a parameter", lambda: TOMA(aspects=3), ["TOMA", "Aspects object", "got 3"]),
    ("a column twice", lambda: CAM(aspects="relevance,label"), ["CAM", "distinct"]),
    ("broken JSON", lambda: CAM(aspects='{"relevance":'), ["CAM", "JSON"]),
    ("a name with a blank", lambda: Aspects(BOTH, name="my set"), ["letters", "'my set'"]),
    ("the name of an aspect of its own", lambda: Aspects(BOTH, name="credibility"), ["'credibility'", "column"]),
)  # fmt: skip
def test_wrong_aspects(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


def test_wham_is_of_two_aspects() -> None:
    shown = ["WHAM", "exactly two aspects", "MM", "WHAM(aspects='relevance,credibility')"]
    refusal(lambda: evaluate(WHAM(aspects="relevance")), *shown, "got 1: relevance")
    refusal(
        lambda: evaluate(WHAM, QRELS.assign(trust=1)),
        *shown,
        "got 3: relevance, credibility, trust",
    )
    weights = {"relevance": 1, "credibility": 1, "trust": 0}
    refusal(lambda: evaluate(WHAM(weights=weights), QRELS.assign(trust=1)), *shown, "got 3")


# --- combinations of parameters ---------------------------------------------------------------


class Counted(pt.Transformer):
    """A pipeline that tells how often it was run on topics."""

    def __init__(self) -> None:
        self.calls = 0

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        self.calls += len(inp) > 0
        return RUN[RUN["qid"].isin(inp["qid"])]


@pytest.mark.parametrize(
    "measure",
    [
        "TOMA(distance='cosine')",
        "nDGC@10",
        "CAM(base='P',aspects={'relevance': 2, 'credibility': 1})",
        "CAM(base='AP',normalized=True,aspects={'relevance': 2, 'credibility': 1})",
        "TOMA(base='nDCG(gains={1: 5})',aspects={'relevance': 2, 'credibility': 1})",
        "TOMA(base='ERR',weighting='exponential',aspects={'relevance': 2, 'credibility': 1})",
        "TOMA(gate='x',aspects={'relevance': 2, 'credibility': 1})",
        "CAM(weights={'relevance': 1},aspects={'relevance': 2, 'credibility': 1})",
        "WHAM(aspects='relevance')",
    ],
)
def test_parameters_are_refused_before_retrieval(measure: str) -> None:
    """Retrieval may take hours, and what is wrong is known from the parameters alone."""
    system = Counted()
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": "x"})
    with pytest.raises(MultiAspectError):
        pt.Experiment([system], topics, QRELS, ["map", measure])
    assert system.calls == 0


KERNELS = [
    "expected integer gains",
    "AP, ERR, Judged, nDCG, NumQ, NumRel, P",
    "weighting='classes'",
]


@cases(
    ("cutoffs of CAM", lambda: CAM(base=nDCG @ 5) @ 10, ["CAM@10", "cutoff 10", "nDCG@5", "on the measure or on the base"]),
    ("cutoffs of TOMA", lambda: TOMA(base="AP@3", cutoff=10), ["TOMA@10", "AP@3", "on the measure or on the base"]),
    ("cutoffs of On", lambda: On(base="P@3") @ 10, ["On@10", "P@3", "on the measure or on the base"]),
    ("cutoffs of one base", lambda: CAM(base={"relevance": "nDCG@5", "credibility": "AP"}) @ 10, ["CAM@10", "nDCG@5"]),
    ("cutoffs in a string", lambda: ir_measures.parse_measure("MM(base='nDCG@5')@10"), ["MM@10", "nDCG@5"]),
    ("no base accepts one", lambda: CAM(base=SetF) @ 10, ["CAM@10", "no base accepts one", "SetF"]),
    ("Rprec takes none", lambda: On(base="Rprec") @ 10, ["On@10", "no base accepts one", "Rprec"]),
    ("Compat takes none", lambda: TOMA(base="Compat(p=0.8)") @ 10, ["TOMA@10", "no base accepts one", "Compat(p=0.8)"]),
    ("no base of a dict takes one", lambda: CAM(base={"relevance": "SetF", "credibility": "Rprec"}) @ 5, ["CAM@5", "SetF", "Rprec"]),
    ("fractions under On", lambda: evaluate(On(aspect="credibility", base="Compat"), FRACTIONS), ["Compat", "0.5", *KERNELS]),
    ("fractions under CAM", lambda: evaluate(CAM(base="Compat(p=0.8)"), FRACTIONS), ["Compat(p=0.8)", "0.5", *KERNELS]),
    ("normalized under Compat", lambda: evaluate(TOMA(base="Compat", weighting="normalized", aspects=BOTH)), ["Compat", *KERNELS]),
    ("labels too great", lambda: evaluate(On(base="Compat"), QRELS.assign(label=[200_000, 0, 1, 0])), ["Compat", "200000"]),
    ("a scale too long to infer", lambda: evaluate(On(base=AP), QRELS.assign(label=[2_000_000, 0, 1, 0])), ["2000000", "declare the grades"]),
    ("gains under TOMA", lambda: evaluate(TOMA(base="nDCG(gains={1: 5})", aspects=BOTH)), ["nDCG(gains={1: 5})", "declare the gains of the aspects"]),
    ("gains under TOMA@k", lambda: evaluate(TOMA(base="nDCG(gains={1: 5})", aspects=BOTH) @ 3), ["gains", "declare the gains of the aspects"]),
    ("exponential twice", lambda: evaluate(TOMA(base="nDCG(dcg='exp-log2')", weighting="exponential", aspects=BOTH)), ["nDCG(dcg='exp-log2')", "already", "weighting='classes'", "weighting='exponential'"]),
    ("exponential ERR", lambda: evaluate(TOMA(base=ERR @ 10, weighting="exponential", aspects=BOTH)), ["ERR", "already", "weighting='classes'"]),
    ("normalized AP", lambda: evaluate(CAM(base=AP, normalized=True, aspects=BOTH)), ["normalized=True", "AP", "nDCG, P, R, Rprec, RBP"]),
    ("normalized RR", lambda: evaluate(CAM(base="RR@10", normalized=True, aspects=BOTH)), ["normalized=True", "RR@10", "nDCG, P, R, Rprec, RBP"]),
    ("normalized ERR for one aspect", lambda: evaluate(CAM(base={"relevance": "nDCG", "credibility": "ERR@5"}, normalized=True, aspects=BOTH)), ["normalized=True", "ERR@5", "nDCG, P, R, Rprec, RBP"]),
    ("normalized Compat", lambda: evaluate(CAM(base="Compat", normalized=True, aspects=BOTH)), ["normalized=True", "Compat"]),
    ("no base for an aspect", lambda: evaluate(CAM(base={"relevance": "nDCG"}, aspects=BOTH)), ["CAM", "bases for relevance", "add a base for credibility"]),
    ("a base for no aspect", lambda: evaluate(MM(base={"relevance": "nDCG", "credibility": "AP", "trust": "AP"}, aspects=BOTH)), ["MM", "trust", "relevance, credibility"]),
    ("a base no back end computes", lambda: evaluate(On(base="nDCG(dcg='exp-log2',judged_only=True)@3")), ["is computed by ir-measures", "ir-measures cannot compute"]),
)  # fmt: skip
def test_wrong_combination(call: Callable[[], object], parts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MultiAspectWarning)  # of inferred scales
        refusal(call, *parts)


@pytest.mark.parametrize(
    "measure",
    [
        CAM(base="P", aspects=BOTH),
        TOMA(base=P(rel=1), aspects=BOTH),
        MM(base={"relevance": "P", "credibility": "AP"}),
    ],
    ids=str,
)
def test_p_without_a_cutoff(measure: Any) -> None:
    for call in (
        lambda: evaluate(measure),
        lambda: pt.Evaluate(RUN, QRELS, [measure]),
        lambda: pt.Evaluate(RUN, QRELS, ["map", str(measure)]),
    ):
        with pytest.raises(MultiAspectError) as caught:
            call()
        for part in ("the base P", "@10", "cutoff"):
            assert part in str(caught.value)
    if "AP" not in str(measure):
        assert set(values(measure @ 2)) == {"q1", "q2"}


@pytest.mark.parametrize("base", ["P", "IPrec", "SDCG", "P(rel=2)"])
def test_a_base_without_a_required_parameter(base: str) -> None:
    refusal(lambda: evaluate(On(base=base)), "the base", "is incomplete: it requires")


@pytest.mark.parametrize(
    "base", [nDCG @ 0, nDCG @ -1, P @ 0, AP @ 0, RBP(p=1.5), RBP(p=-0.5), SetF(beta=-1.0)], ids=str
)
def test_a_base_with_a_parameter_out_of_range(base: Any) -> None:
    refusal(lambda: CAM(base=base), "CAM", base.NAME)


# --- classes and orders -----------------------------------------------------------------------


def wide(n_relevance: int, n_credibility: int) -> Aspects:
    """Scales with so many grades, whose Manhattan distances are all different: their product is the number of classes.

    A grade of credibility gains more than all those of relevance, as a digit of higher order does.
    """
    gains = [n_relevance * number for number in range(n_credibility)]
    return Aspects(
        {
            "relevance": Aspect(range(n_relevance)),
            "credibility": Aspect(range(n_credibility), gains=gains),
        }
    )


TOO_MANY = ["at most 1000000 classes", "weighting='normalized'", "positives='nonzero'"]


@pytest.mark.slow
def test_a_million_classes_are_the_most() -> None:
    million = DistanceOrder(wide(1000, 1000), "manhattan", axes="gains")
    assert million.n_classes == 10**6

    scales = wide(1000, 1001)
    refusal(lambda: DistanceOrder(scales, "manhattan", axes="gains").n_classes, *TOO_MANY)
    toma = TOMA(distance="manhattan", axes="gains", aspects=scales)
    refusal(lambda: evaluate(toma), *TOO_MANY)


@pytest.mark.slow
@pytest.mark.parametrize("base", ["nDCG", "AP"])
def test_normalised_weights_need_no_classes(base: str) -> None:
    """As the error advises."""
    toma = TOMA(
        base=base,
        distance="manhattan",
        axes="gains",
        weighting="normalized",
        aspects=wide(1000, 1001),
    )
    assert all(0 <= value <= 1 for value in values(toma).values())


@pytest.mark.slow
def test_the_top_half_needs_classes() -> None:
    """AP asks which documents are positive: those in the upper half of the classes."""
    toma = TOMA(
        base="AP", distance="manhattan", axes="gains", weighting="normalized",
        positives="top-half", aspects=wide(1000, 1001),
    )  # fmt: skip
    refusal(lambda: evaluate(toma), *TOO_MANY)


@pytest.mark.slow
def test_too_many_classes_are_found_out_in_little_memory() -> None:
    """The three scales have 999 · 1000 · 2000 ≈ 2·10⁹ tuples, all of different gains: the classes do not fit into 4 GB.

    The gains of a scale are multiples of the number of tuples of the scales before it.
    """
    pytest.importorskip("resource")
    code = """
        import resource
        four_gigabytes = 4 * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (four_gigabytes, four_gigabytes))
        from pt_multiaspect import Aspect, DistanceOrder, MultiAspectError
        scales = {
            "a": Aspect(range(999)),
            "b": Aspect(range(1000), gains=[999 * i for i in range(1000)]),
            "c": Aspect(range(2000), gains=[999 * 1000 * i for i in range(2000)]),
        }
        try:
            DistanceOrder(scales, "manhattan", axes="gains").n_classes
        except MultiAspectError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "weighting='normalized'" in done.stdout, done.stderr


VIOLATING = {(0, 0): 0, (1, 0): 3, (1, 1): 2, (2, 0): 1, (2, 1): 5}
NAMES = ["relevance", "credibility"]


@cases(
    ("violations", lambda: Order(VIOLATING, NAMES), ["partial order", "(1, 0) has weight 3, but (1, 1)", "2;", "(1, 0) has weight 3, but (2, 0)", "1.", "allow_violations=True"]),
    ("many violations", lambda: Order({(i,): 10 - i for i in range(10)}, ["relevance"]), ["(0,) has weight 10, but (1,)", "9;", "and 40 more"]),
    ("negative weights", lambda: Order({(0, 0): 0, (1, 0): -1}, NAMES), ["negative weights", "allow_violations=True"]),
    ("too short tuples", lambda: Order({(0, 0): 0, (1,): 1}, NAMES), ["tuples of 1, 2 labels", "tuples of 2 labels (relevance, credibility)"]),
    ("a tuple twice", lambda: Order([((0, 0), 0), ((0, 0), 1)], NAMES), ["distinct tuples of labels", "several (0, 0)"]),
    ("no tuples", lambda: Order({}, NAMES), ["at least one label tuple"]),
    ("weight NaN", lambda: Order({(0,): math.nan}, ["relevance"]), ["weight of (0,)", "finite number", "nan"]),
    ("a label that is not a grade", lambda: Order({(0, 0): 0, (3, 0): 1}, BOTH), ["expected a grade of relevance (0, 1, 2", "got 3"]),
    ("a string for aspects", lambda: Order({(0,): 0}, "relevance"), ["aspects with their scales", "'relevance'"]),
    ("with weights", lambda: TOMA(order=Order({(0,): 0}, ["relevance"]), weights={"relevance": 1}), ["Order", "omit weights"]),
    ("with a gate", lambda: TOMA(order=Order({(0,): 0}, ["relevance"]), gate="relevance"), ["Order", "omit gate"]),
    ("with other aspects", lambda: TOMA(order=Order({(0,): 0}, ["relevance"]), aspects="credibility"), ["relevance", "credibility"]),
    ("broken JSON", lambda: TOMA(order='{"weights": []}'), ["TOMA", '"aspects"', '"weights"']),
    ("a distance that decreases", lambda: Order.from_distance(BOTH, lambda gaps: abs(gaps[0] - 1) + gaps[1]), ["decreases when the gap of relevance increases", "ranks worse documents above better ones"]),
    ("a negative distance", lambda: Order.from_distance(BOTH, lambda gaps: -gaps[0]), ["expected finite numbers ≥ 0", "-1"]),
    ("axes of an order", lambda: DistanceOrder(BOTH, axes="same"), ["axes", "'equal', 'gains'", "got 'same'"]),
    ("axes of a measure", lambda: TOMA(axes="same"), ["TOMA", "axes", "equal", "gains", "'same'"]),
    ("a distance that is none", lambda: Order.from_distance(BOTH, lambda gaps: math.nan), ["distance at the gaps", "nan"]),
    ("a tuple that a distance order lacks", lambda: DistanceOrder(BOTH).classes([(3, 0)]), ["expected a grade of relevance (0, 1, 2", "got 3"]),
    ("too long a tuple", lambda: DistanceOrder(BOTH).classes([(1, 0, 1)]), ["expected 2 labels per tuple (relevance, credibility)", "got 3"]),
    ("no grades", lambda: DistanceOrder({"relevance": None}), ["grades"]),
    ("weights", lambda: DistanceOrder(BOTH, weights={"trust": 1}), ["unknown aspect: trust", "relevance, credibility"]),
)  # fmt: skip
def test_wrong_order(call: Callable[[], object], parts: list[str]) -> None:
    refusal(call, *parts)


def test_violations_are_allowed_on_purpose() -> None:
    order = Order({**VIOLATING, (0, 1): -2}, NAMES, allow_violations=True)
    assert order.weigh([(1, 0), (0, 1)]).tolist() == [3, -2]


def test_a_tuple_that_an_order_leaves_out() -> None:
    """The order has no (1, 1); the error lists the tuples that it has."""
    order = Order({(0, 0): 0, (1, 0): 1, (1, 2): 2, (2, 1): 3, (0, 1): 0}, NAMES)
    shown = ["(1, 1)", "relevance, credibility", "(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)"]
    refusal(lambda: order.weigh([(1, 1)]), *shown)

    # The third document has the labels (1, 1), or (1, 2), which the order has.
    with_tuple = QRELS.assign(label=[2, 0, 1, 0], credibility=[1, 0, 1, 1])
    refusal(lambda: evaluate(TOMA(order=order), with_tuple), *shown)
    without_tuple = QRELS.assign(label=[2, 0, 1, 0], credibility=[1, 0, 2, 1])
    assert set(values(TOMA(order=order), without_tuple)) == {"q1", "q2"}


def test_from_distance_names_no_parameter_it_lacks() -> None:
    message = refusal(lambda: Order.from_distance(BOTH, lambda gaps: abs(gaps[0] - 1)), "decreases")
    assert "allow_violations" not in message


@pytest.mark.parametrize("name", ["euclidean", "manhattan", "chebyshev"])
def test_an_order_has_no_distance_s_name(name: str) -> None:
    try:
        refusal(lambda: Order({(0,): 0, (1,): 1}, ["relevance"], name=name), name)
    finally:
        Order.registry._content.pop(name, None)


def test_a_set_is_not_named_label() -> None:
    try:
        refusal(lambda: Aspects({"relevance": 2}, name="label"), "label")
    finally:
        Aspects.registry._content.pop("label", None)


def test_every_refusal_is_a_value_error() -> None:
    assert issubclass(MultiAspectError, ValueError)
    assert issubclass(MultiAspectWarning, UserWarning)


# -- long input in messages
# ----------------------------------------------------------------------------------

_LONG = {
    "frame": pd.DataFrame(
        {"qid": ["q1"] * 200, "docno": [f"d{at}" for at in range(200)], "score": range(200)}
    ),
    "series": pd.Series(range(200)),
    "array": np.arange(200.0).reshape(2, 100),
    "dict": {"q1": {f"d{at}": float(at) for at in range(200)}},
    "list": [f"d{at}" for at in range(200)],
}
_ONE_RUN = {"q1": {"d1": 1.0, "d2": 0.5}}
_ONE_TOPIC = {
    "q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}}
}
_PERQUERY = ma.evaluate({"a": _ONE_RUN, "b": _ONE_RUN}, _ONE_TOPIC, "AP", progress=False)
_TAKE_LONG = {
    "explain": lambda value: ma.explain(value, _ONE_RUN, _ONE_TOPIC, "q1"),
    "topic": lambda value: ma.explain("AP", _ONE_RUN, _ONE_TOPIC, value),
    "depth": lambda value: ma.explain("AP", _ONE_RUN, _ONE_TOPIC, "q1", depth=value),
    "average_over": lambda value: ma.evaluate(
        _ONE_RUN, _ONE_TOPIC, "AP", average_over=value, progress=False
    ),
    "measure": lambda value: ma.analysis.upper_bound(_ONE_TOPIC, value),
    "base": lambda value: ma.CAM(base=value),
    "weights": lambda value: ma.CAM(weights={"relevance": value}),
    "aspect": lambda value: ma.On(aspect=value),
    "scales": lambda value: ma.Aspects(value),
    "scale": lambda value: ma.Aspect(gains=value, grades=3),
    "name": lambda value: ma.Aspects({"relevance": 1}, name=value),
    "p": lambda value: ma.uRBP(p=value),
    "cutoff": lambda value: ma.CAM @ value,
    "distance": lambda value: ma.TOMA(distance=value),
    "order": lambda value: ma.TOMA(order=value),
    "run": lambda value: ma.largest_differences(_PERQUERY, value, "b"),
    "label": lambda value: ma.largest_differences(_PERQUERY, "a", "b", value),
    "method": lambda value: ma.analysis.correlation(_PERQUERY, value),
    "suite": lambda value: ma.suite(value),
    "baseline": lambda value: ma.report(_ONE_RUN, _ONE_TOPIC, baseline=value, progress=False),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", list(_LONG))
@pytest.mark.parametrize("door", list(_TAKE_LONG))
def test_long_input_is_shortened_in_messages(door: str, kind: str) -> None:
    with pytest.raises(MultiAspectError) as caught:
        _TAKE_LONG[door](_LONG[kind])
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500, message


def test_swapped_arguments_of_explain_are_named() -> None:
    """``measure.explain`` takes the run first, `explain` the measure."""
    frame = _LONG["frame"]
    refusal(
        lambda: ma.explain(frame, _ONE_TOPIC, "q1", "AP"),
        "expected a measure or its name, got a DataFrame with the columns qid, docno, score",
        "as in explain(measure, run, qrels, qid)",
    )
    refusal(
        lambda: ma.explain("AP", _ONE_RUN, _ONE_TOPIC, frame),
        "got a DataFrame with the columns qid, docno, score",
    )


def test_of_many_choices_some_are_listed() -> None:
    runs = {f"run{at}": _ONE_RUN for at in range(100)}
    refusal(
        lambda: ma.report(runs, _ONE_TOPIC, baseline="bm25", progress=False),
        "run0, run1, run2",
        ", … (100 in total)",
    )
    refusal(
        lambda: ma.report(runs, _ONE_TOPIC, baseline="run1o", progress=False),
        "one of the runs (100 in total), got run1o. Did you mean run1?",
    )


# -- other objects than expected, at every door
# ----------------------------------------------------------------

_TABLE = pd.DataFrame([[1, 0.5, 0.1], [2, 0.4, 0.3]], columns=["alpha", "relevance", "trust"])
_TOPICS = pd.DataFrame([["q1", "q1"]], columns=["qid", "qid"])
_PAIR = [[1, 0], [0, 1]]
_SEVERAL = pd.DataFrame(
    [
        (name, qid, measure, value)
        for name in "ab"
        for qid in ("q1", "q2")
        for value, measure in enumerate(["AP", "nDCG", "RR"], ord(name) + int(qid[1]))
    ],
    columns=["name", "qid", "measure", "value"],
)
_RANKER = ma.AspectRanker(Ridge(), aspects=BOTH)


@cases(
    ("cite qrels", lambda: ma.cite(QRELS), ["expected measures, or a frame with a column measure", "qid, docno"]),
    ("curve of a frame", lambda: ma.crp_curve(_ONE_RUN, _ONE_TOPIC, RUN), ["expected a measure with one gain", "a DataFrame"]),
    ("a frame to read", lambda: ma.read_values(_PERQUERY), ["path: expected the path of a file of values", "a DataFrame"]),
    ("no labels to fill with", lambda: ma.fill_labels(_ONE_TOPIC, _ONE_RUN, QRELS[:0]), ["labels: expected at least one judgment"]),
    ("topics with a column twice", lambda: ma.evaluate(_ONE_RUN, _ONE_TOPIC, "AP", topics=_TOPICS, progress=False), ["topics: expected distinct column names", "qid"]),
    ("a list of runs as qrels", lambda: ma.evaluate([_ONE_RUN], [_LONG["dict"]], "AP", progress=False), ["qrels: expected an iterable of namedtuples"]),
    ("compare with a run", lambda: ma.explain("AP", _ONE_RUN, _ONE_TOPIC, "q1").compare(_ONE_RUN), ["compare: expected the explanation of another run", "'d1'"]),
    ("name of the column of queries", lambda: ma.ranking_score(_PAIR, [1, 2], measure="CAM", qid="qid"), ["qid: expected the query of each row", "'qid'"]),
    ("ragged labels", lambda: ma.ranking_score([[1], [1, 0]], [1, 2], measure="CAM", qid=["a", "a"]), ["expected rows of equal length"]),
    ("metrics a number", lambda: ma.pareto_front(_TABLE, 5), ["metrics: expected at least two", "got 5"]),
    ("metrics a list in a list", lambda: ma.pareto_front(_TABLE, [["relevance", "trust"]]), ["metrics: expected at least two"]),
    ("a misspelt metric", lambda: ma.pareto_front(_TABLE, ["relevance", "trsut"]), ["metrics: expected at least two", "Did you mean trust?"]),
    ("limits in a frame", lambda: ma.pareto_front(_TABLE, ["relevance", "trust"], choose="knee", at_least=_TABLE), ["at_least: expected a dict", "a DataFrame"]),
    ("baseline a number", lambda: ma.systems_table(_SEVERAL, baseline=1), ["baseline: expected names of systems (a, b)", "got 1"]),
    ("scales to read", lambda: Aspects.from_file({"relevance": 2}), ["path: expected the path of a JSON file of aspects", "'relevance'"]),
    ("order without weights", lambda: Order(None, ["relevance"]), ["weights: expected pairs of a label tuple and its weight", "got None"]),
    ("order without aspects", lambda: Order({(0,): 1}, None), ["expected aspects with their scales", "got None"]),
    ("name of an order a list", lambda: Order({(0,): 1}, ["relevance"], name=["mine"]), ["name", "['mine']"]),
    ("labels that are words", lambda: DistanceOrder(BOTH).classes([("high", "low")]), ["expected tuples of labels that are numbers (relevance, credibility)", "'high'"]),
    ("labels of a frame", lambda: DistanceOrder(BOTH).classes(QRELS), ["expected tuples of labels that are numbers", "a DataFrame"]),
    ("name of a distance", lambda: Order.from_distance(BOTH, "euclidean"), ["distance: expected a function of the gaps, got 'euclidean'", "DistanceOrder"]),
    ("no features", lambda: _RANKER.fit(None, _PAIR, qid=["a", "a"]), ["X: expected one row of features per document", "got None"]),
    ("a dict of features", lambda: _RANKER.fit({"bm25": [1, 2]}, _PAIR, qid=["a", "a"]), ["X: expected one row of features per document", "'bm25'"]),
    ("eval_set a number", lambda: _RANKER.fit([[1], [2]], _PAIR, qid=["a", "a"], eval_set=0.2), ["eval_set: expected a list of (X, y)", "got float"]),
    ("name of a measure to check", lambda: ma.testing.check_measure("TOMA"), ["expected a measure, a base or the class of one", "'TOMA'"]),
    ("seed of a check", lambda: ma.testing.check_measure(CAM, seed="x"), ["seed: expected a whole number", "'x'"]),
    ("aspects of a check", lambda: ma.testing.check_distance("euclidean", n_aspects=0), ["n_aspects: expected a whole number", "got 0"]),
    ("answers in a list", lambda: ma.orders.correctness(QRELS, ["yes"], {1: "yes"}, "label"), ["answers: expected a dict of the answer to each topic", "['yes']"]),
    ("codes in a list", lambda: ma.orders.correctness(QRELS, {"q1": "yes", "q2": "no"}, ["yes"], "label"), ["codes: expected a track", "['yes']"]),
    ("codes that are words", lambda: ma.orders.correctness(QRELS, {"q1": "yes", "q2": "no"}, {"yes": 1}, "label"), ["codes: expected a finite number", "'yes'"]),
    ("topics in a list", lambda: ma.evaluate(_ONE_RUN, _ONE_TOPIC, "AP", topics=["q1"], progress=False), ["topics: expected a DataFrame with a column qid", "['q1']"]),
    ("misnamed ids", lambda: ma.evaluate(_ONE_RUN, QRELS.rename(columns={"qid": "topic"}), "AP", progress=False), ["qrels: expected one column qid or query_id, got the columns topic, docno", "; rename it"]),
    ("documents for qrels", lambda: ma.evaluate(_ONE_RUN, pd.DataFrame({"docno": ["d1"], "text": ["a"]}), "AP", progress=False), ["qrels: expected one column qid", "These are documents", "columns=['qid', 'docno', 'label', 'credibility']"]),
    ("rows of documents for qrels", lambda: ma.evaluate(_ONE_RUN, [{"docno": "d1", "text": "a"}], "AP", progress=False), ["These are documents", "columns=['qid', 'docno', 'label', 'credibility']"]),
    ("documents for qrels in PyTerrier", lambda: pt.Experiment([], pd.DataFrame({"qid": ["q1"], "query": ["a"]}), pd.DataFrame({"docno": ["d1"], "text": ["a"]}), ["map"]), ["These are documents"]),
    ("a file of documents for qrels", lambda: ma.read_qrels(StringIO('{"_id": "d1", "text": "a"}\n{"_id": "d2", "text": "b"}')), ["These are documents"]),
    ("topics for qrels", lambda: ma.describe(pd.DataFrame({"qid": ["q1"], "query": ["a"]})), ["expected one column docno", "These are topics"]),
    ("weights in a list", lambda: CAM(weights=[0.5, 0.3, 0.2]), ["CAM: weights: expected a mapping of aspect names", "as in weights={'relevance': 0.5, 'credibility': 0.3, 'understandability': 0.2}"]),
    ("weights in a tuple", lambda: DistanceOrder(BOTH, weights=(2, 1)), ["as in weights={'relevance': 2, 'credibility': 1}"]),
    ("two files of qrels", lambda: ma.read_qrels("qrels/relevance.txt", "qrels/trust.txt"), ["read_qrels({'relevance': 'qrels/relevance.txt', 'trust': 'qrels/trust.txt'})"]),
    ("paths of qrels", lambda: ma.read_qrels(Path("a.txt"), Path("b.txt")), ["read_qrels({'relevance': 'a.txt', 'b': 'b.txt'})"]),
    ("the name of an aspect", lambda: ma.read_qrels("a.txt", "credibility"), ["expected a list of names", "write aspects=['credibility']"]),
    ("both names of an id", lambda: ma.evaluate(_ONE_RUN, QRELS.assign(query_id="q1"), "AP", progress=False), ["qrels: expected one column qid or query_id, got qid and query_id; drop one"]),
    ("misnamed criteria", lambda: ma.from_long(QRELS.rename(columns={"label": "aspect", "credibility": "value"})), ["expected a column criterion, got the columns qid, docno, aspect, value; rename one, or pass its name as criterion="]),
    ("texts in a list", lambda: ma.with_readability(QRELS, ["text"]), ["docs: expected a DataFrame with columns docno and text, got ['text']"]),
    ("labels to fill with", lambda: ma.robustness({"a": _ONE_RUN, "b": _ONE_RUN}, _ONE_TOPIC, "AP", labels="model"), ["labels: expected 'observed' or qrels, got 'model'"]),
    ("no curves", lambda: ma.plots.crp_over_ranks({}), ["curves: expected at least one curve"]),
    ("no correlations", lambda: ma.plots.correlation_heatmap(pd.DataFrame()), ["correlations: expected at least one measure"]),
)  # fmt: skip
def test_other_objects_than_expected(call: Callable[[], object], parts: list[str]) -> None:
    assert len(refusal(call, *parts, clean=False)) < 500


def test_metrics_are_read_as_text() -> None:
    table = _TABLE.set_axis([0, 1, 2], axis=1)
    assert ma.pareto_front(table, [1, 2])["on_front"].tolist() == [True, True]
