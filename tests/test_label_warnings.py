"""Labels that may be read differently than they are meant: scales, thresholds, codes, columns and names."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from frame_world import one_topic
from hypothesis import given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, nDCG
from sklearn.linear_model import Ridge
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import (
    CAM,
    CRP,
    ESL,
    TOMA,
    Aspect,
    Aspects,
    Judgments,
    MultiAspectError,
    On,
    nCRP,
    unDCG,
)
from pt_multiaspect import uRBP as URBP
from pt_multiaspect import uRBPgr as URBPgr
from pt_multiaspect.analysis.upper_bounds.attainable_values import sorted_judgments
from pt_multiaspect.aspects.aspect import infer_grades
from pt_multiaspect.aspects.parameter import parse_aspects
from pt_multiaspect.cli import main
from pt_multiaspect.collection.rankings import Rankings
from pt_multiaspect.datasets import load_health

Warned = ma.MultiAspectWarning


def run_of(qrels: pd.DataFrame) -> pd.DataFrame:
    return qrels[["qid", "docno"]].assign(score=-np.arange(len(qrels), dtype=float))


def value(measure: Any, qrels: pd.DataFrame) -> float:
    (score,) = measure.evaluate(Rankings(run_of(qrels), Judgments(qrels)))
    return float(score)


def value_and_warnings(measure: Any, qrels: pd.DataFrame) -> tuple[float, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score = value(measure, qrels)
    return score, [
        str(warning.message) for warning in caught if issubclass(warning.category, Warned)
    ]


def warned_by(call: Any) -> list[str]:
    """Return the messages of the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ma.MultiAspectWarning)
    ]


MIXED = [0, 2, 1, 0, 1, 0, 0, 2, 0, 1, 0, 0]


# --- scales that were inferred -----------------------------------------------------------------


def test_the_lowest_label_of_a_scale_without_zero_is_named() -> None:
    """It is not the lowest grade of the scale, and need not be 1."""
    for lowest in (1, 2):
        qrels = one_topic(label=MIXED, trust=[lowest + n % 2 for n in range(12)])
        (message,) = value_and_warnings(On(aspect="trust", base="AP"), qrels)[1]
        assert f"every judged document is positive and {lowest} has a positive gain" in message


def test_each_call_warns_of_its_scales() -> None:
    first, second = (
        one_topic(label=MIXED, trust=[0, 1] * 6),
        one_topic(label=MIXED, trust=[0, 3] * 6),
    )
    assert "trust 0, 1" in value_and_warnings(TOMA, first)[1][0]
    assert len(value_and_warnings(TOMA @ 5, first)[1]) == 1
    (message,) = value_and_warnings(TOMA, second)[1]
    assert "trust 0, 1, 2, 3" in message
    assert (
        value(TOMA(aspects={"relevance": 2, "trust": 1}), first)
        == value_and_warnings(TOMA, first)[0]
    )


def test_after_three_scales_of_the_same_aspects_in_a_call_there_is_one_last_warning() -> None:
    """Experiments with batch_size=1 show measures one topic, with its own inferred scale of trust, at a time."""
    top_grades_of_trust = [1, 2, 3, 4, 5, 6, 1]
    topics = []
    for number, top in enumerate(top_grades_of_trust):
        topic = one_topic(label=MIXED, trust=[0, top] * 6)
        topics.append(topic.assign(qid=f"q{number}"))
    qrels = pd.concat(topics, ignore_index=True)
    system = pt.Transformer.from_df(run_of(qrels))
    queries = pd.DataFrame({"qid": qrels["qid"].unique(), "query": "x"})
    gated = TOMA(gate="relevance")

    messages = warned_by(lambda: pt.Experiment([system], queries, qrels, [gated], batch_size=1))

    *first_three, last = messages
    assert len(first_three) == 3
    assert not any("further cases are not reported" in message for message in first_three)
    assert "further cases are not reported" in last


@pytest.mark.parametrize(
    "measure",
    [
        On(base=AP),
        CAM(base=AP, aspects="label"),
        URBP(aspects="label"),
        On(base=RR),
        ESL,
        On(base=P @ 3),
    ],
)
def test_scales_that_start_at_1_warn_with_the_other_reading(measure: Any) -> None:
    """Is the lowest label, 1, not relevant (grades 1 to 4), or relevant (grades 0 to 4)?"""
    qrels = one_topic(label=[1, 4, 1, 2, 3, 1])
    _, (message,) = value_and_warnings(measure, qrels)
    assert "Aspect(grades=[1, 2, 3, 4])" in message
    assert "Aspect(4, threshold=1)" in message


def test_both_readings_of_scales_that_start_at_1() -> None:
    """The documents are ranked in this order."""
    qrels = one_topic(label=[1, 4, 1, 2, 3, 1])

    undeclared, _messages = value_and_warnings(On(base=AP), qrels)
    from_0 = On(base=AP, aspects={"relevance": Aspect(4, threshold=1)})
    assert undeclared == value(from_0, qrels) == 1.0  # all are relevant

    from_1 = On(base=AP, aspects={"relevance": Aspect(grades=[1, 2, 3, 4])})
    ap = (1 / 2 + 2 / 4 + 3 / 5) / 3  # ranks 2, 4 and 5 are relevant
    assert value(from_1, qrels) == pytest.approx(ap)


@pytest.mark.parametrize("measure", [TOMA(distance="manhattan"), URBPgr, unDCG])
def test_the_scale_warning_does_not_suggest_the_wrong_scale(measure: Any) -> None:
    """Such as: declare ... as in TOMA(..., "grades":[1,2,3,4], ...). Or, if 0 is a grade, declare ..."""
    qrels = one_topic(label=[1, 4, 1, 2, 3, 1], trust=[1, 2, 0, 0, 1, 2])
    _, (message,) = value_and_warnings(measure, qrels)
    _before, _as_in, after = message.partition("as in ")
    example = after.split(". ")[0]
    assert '"grades":[1,2,3,4]' in example
    assert "if 0 is a grade, declare Aspect(grades=[0, 1, 2, 3, 4])" in message


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 1, 4], [-1, 1, 2], [np.nan, 3, 3]])
def test_positives_only_and_scales_with_a_zero_are_ordinary(labels: list[float]) -> None:
    value(On(base=AP, aspects=None), one_topic(label=labels))


@pytest.mark.parametrize(
    "measure",
    [
        On(base=AP),
        CAM(base=AP, aspects="label"),
        URBP(aspects="label"),
        ESL,
        ma.Satisfaction,
        ma.RecallEffort(expected=1),
    ],
)
def test_the_lowest_of_fractional_labels_is_a_matter_of_the_qrels(measure: Any) -> None:
    """It is what binary measures count as not relevant, and other qrels may have a lower one."""
    _, (message,) = value_and_warnings(measure, one_topic(label=[0.5, 1, 0.25, 0.75]))
    assert "inferred from these qrels: relevance 0.25, 0.5, 0.75, 1." in message


@pytest.mark.parametrize(
    "measure", [On(base=nDCG), CAM(aspects="label"), On(base=AP(rel=2)), nCRP, CRP]
)
@no_warnings()
def test_measures_that_do_not_read_the_lowest_grade_are_silent(measure: Any) -> None:
    value(measure, one_topic(label=[1, 4, 1, 2, 3, 1]))


def test_inferred_probabilities_start_at_0() -> None:
    """Labels that are probabilities have the grade 0, although it does not occur; other labels have not."""
    labels = np.array([0.5, 0.9, np.nan])
    assert infer_grades(labels, "trust", identity=True) == (0, 0.5, 0.9)
    assert infer_grades(labels, "trust", identity=False) == (0.5, 0.9)


def test_probabilities_start_at_0_whatever_the_labels() -> None:
    """TOMA's farthest tuple has the probability 0, not the lowest one seen, here .25."""
    qrels = one_topic(label=[1, 0, 2], trust=[0.25, 0.5, 1])

    def toma_of(trust: Aspect) -> float:
        aspects = Aspects({"relevance": 2, "trust": trust})
        measure = TOMA(weighting="normalized", distance="manhattan", aspects=aspects)
        score, _messages = value_and_warnings(measure, qrels)
        return score

    inferred = toma_of(Aspect(probabilities="identity"))
    from_0 = toma_of(Aspect([0, 0.25, 0.5, 1], probabilities="identity"))
    assert inferred == from_0
    from_lowest_seen = toma_of(Aspect([0.25, 0.5, 1], gains=[0.25, 0.5, 1]))
    assert inferred != from_lowest_seen


# --- columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("assessor", [1, 2] * 6, "by its name"),
        ("Judge_ID", [1, 2] * 6, "by its name"),
        ("timestamp", [1, 2] * 6, "by its name"),
        ("cost", [0.5, 3] * 6, "not whole numbers"),
        ("cost", list(range(12)), "12 distinct values"),
    ],
)
def test_columns_that_hardly_hold_labels_warn_unless_selected(
    column: str, values: list[Any], reason: str
) -> None:
    qrels = one_topic(label=MIXED, trust=[0, 1] * 6).assign(**{column: values})
    score, messages = value_and_warnings(CAM, qrels)
    assert score != value(CAM(aspects=["relevance", "trust"]), qrels)
    (message,) = messages
    assert f"{column} (" in message
    assert reason in message
    assert "aspects=['relevance', 'trust']" in message
    assert value(CAM(aspects=["relevance", "trust", column]), qrels) == score


@no_warnings()
def test_likely_columns_are_taken_silently() -> None:
    """The column label may have any values; another one up to 11 different whole numbers, as 0 to 10."""
    many_labels = [float(number) for number in range(100)]
    eleven_labels = [number % 11 for number in range(100)]
    value(CAM, one_topic(label=many_labels, trust_score=eleven_labels))


def test_a_misspelt_column_is_read_as_credibility_with_a_notice() -> None:
    qrels = one_topic(label=MIXED, redibility=[0, 1] * 6)
    judgments = Judgments(qrels)
    assert judgments.label_names == ("relevance", "credibility")
    with pytest.warns(Warned, match=r"redibility .* read as credibility"):
        labels = judgments.labels("credibility")
    assert labels.tolist() == [0, 1] * 6
    both = Judgments(qrels.assign(credibility=1))
    assert both.label_names == ("relevance", "redibility", "credibility")
    assert both.labels("credibility").tolist() == [1] * 12
    assert Judgments(qrels).labels("redibility").tolist() == [0, 1] * 6


# --- thresholds ---------------------------------------------------------------------------------

LONG = one_topic(label=MIXED, understandability=[5, 10, 1, 0, 2, 9, 8, 7, 3, 4, 6, 1])
BINARY = {"relevance": 2, "understandability": 10}


@pytest.mark.parametrize(
    "measure",
    [
        URBP(aspects=BINARY),
        CAM(base="AP", aspects=BINARY),
        On(aspect="understandability", base=P @ 5, aspects=BINARY),
        CAM(base={"relevance": "nDCG", "understandability": "SetF"}, aspects=BINARY),
        On(aspect="understandability", base="ESL(wanted=6)", aspects=BINARY),
        On(aspect="understandability", base="Bpref", aspects=BINARY),
    ],
    ids=str,
)
def test_a_default_threshold_on_a_long_scale_warns(measure: Any) -> None:
    score, (message,) = value_and_warnings(measure, LONG)
    assert "understandability" in message
    assert "92% of 12 judged documents" in message
    assert "Aspect(10, threshold=5)" in message
    declared = {"relevance": 2, "understandability": Aspect(10, threshold=5)}
    assert value(measure(aspects=declared), LONG) != score
    meant = Aspects({"relevance": 2, "understandability": Aspect(10, threshold=1)})
    assert value(measure(aspects=meant), LONG) == score
    assert value(ir_measures.parse_measure(str(measure(aspects=meant))), LONG) == score


@pytest.mark.parametrize(
    "measure",
    [
        CAM(aspects=BINARY),
        TOMA(base="AP", aspects=BINARY),
        CAM(base={"relevance": "AP(rel=2)", "understandability": "AP(rel=5)"}, aspects=BINARY),
        unDCG(aspects=BINARY),
        On(aspect="relevance", base="AP", aspects=BINARY),
    ],
    ids=str,
)
@no_warnings()
def test_measures_that_do_not_read_the_threshold_do_not_warn(measure: Any) -> None:
    value(measure, LONG)


def test_a_pool_that_is_almost_all_positive_warns_except_on_two_grades() -> None:
    qrels = one_topic(label=[2, 1, 2, 1, 2, 1, 2, 1, 2, 0])
    assert "90% of 10 judged documents" in value_and_warnings(On(base=AP), qrels)[1][0]
    with no_warnings():
        value(On(base=AP), qrels.assign(label=[1] * 9 + [0]))
        value(On(base=AP), qrels.assign(label=[2, 1, 2, 1, 2, 1, 2, 1, 0, 0]))
        value(On(base=AP, aspects={"relevance": Aspect(2, threshold=2)}), qrels)


@no_warnings()
def test_no_threshold_warning_on_the_demo() -> None:
    for view in Judgments(load_health().qrels).views(None):
        view.check_threshold()


# --- codes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "labels", "code", "lowest"),
    [
        pytest.param(Aspect([1, 2, 3]), [0, 3, 1, 2, 1], 0, 1, id="declared scale"),
        pytest.param(None, [-3, 3, 0, 2, 0], -3, 0, id="inferred scale"),
    ],
)
def test_codes_below_a_scale_warn(
    scale: Aspect | None, labels: list[int], code: int, lowest: int
) -> None:
    """A label below the lowest grade may mean that the document was not judged."""
    aspects = None if scale is None else {"relevance": scale}
    _, (message,) = value_and_warnings(On(base=AP, aspects=aspects), one_topic(label=labels))
    assert f"relevance has labels below its lowest grade {lowest}" in message
    assert f"Aspect(unjudged=[{code}])" in message


def test_codes_beyond_a_reversed_scale_warn() -> None:
    """If lower labels are better, the lowest grade is the largest number, 2, and 7 is beyond it."""
    scale = {"relevance": Aspect([0, 1, 2], greater_is_better=False)}
    qrels = one_topic(label=[7, 0, 1, 2, 2])
    _, (message,) = value_and_warnings(On(base=AP, aspects=scale), qrels)
    assert "lowest grade 2" in message


PREFERENCE_MEASURES = pytest.mark.parametrize(
    "measure", [ma.HelpfulCompat, ma.HarmfulCompat, ma.HelpfulMinusHarmful]
)


@PREFERENCE_MEASURES
def test_preference_codes_are_not_grades(measure: Any) -> None:
    """These measures read the labels themselves, down to -3; others read grades, and warn on the same qrels."""
    qrels = one_topic(label=[-3, 3, 0, 2, -1])
    rankings = Rankings(run_of(qrels), Judgments(qrels))

    assert warned_by(lambda: measure.evaluate(rankings)) == []

    messages = warned_by(lambda: On(base=AP).evaluate(rankings))
    assert any("Aspect(unjudged=[-3])" in message for message in messages)


@PREFERENCE_MEASURES
def test_preference_measures_of_an_order_read_its_labels_only(measure: Any) -> None:
    """The order has the labels 0, 1 and 2: -5 is none."""
    order = ma.Order({(0,): -1, (1,): 0, (2,): 1}, ["relevance"], allow_violations=True)
    qrels = one_topic(label=[-5, 2, 0, 1, 1])
    _, (message,) = value_and_warnings(measure(order=order), qrels)
    assert "Aspect(unjudged=[-5])" in message


def test_probabilities_below_a_scale_warn() -> None:
    aspects = {"relevance": Aspect([0.2, 0.5, 1], probabilities="identity")}
    score, (message,) = value_and_warnings(
        ma.uRBPgr(aspects=aspects), one_topic(label=[0.1, 1, 0.5])
    )
    assert "relevance has labels below its lowest grade 0.2" in message
    assert score == value(ma.uRBPgr(aspects=aspects), one_topic(label=[0.2, 1, 0.5]))


def test_a_column_of_times_is_named() -> None:
    qrels = one_topic(label=[0, 2, 1], judged_at=[1_700_000_000, 1_700_000_060, 1_700_000_120])
    with pytest.raises(MultiAspectError, match=r"judged_at: expected.*1000000 .*got 1700000120"):
        ma.CAM.evaluate(Rankings(run_of(qrels), Judgments(qrels)))


NOT_JUDGED = pd.DataFrame(
    [
        ("q", f"d{number}", label, trust)
        for number, (label, trust) in enumerate([(2, -1), (1, 0), (0, 1), (1, -1)])
    ],
    columns=["qid", "docno", "label", "trust"],
)


def test_codes_of_aspects_that_are_not_declared_are_said_at_all_doors(
    tmp_path: Path, capsys: Any
) -> None:
    """Kind: labels below 0 on an aspect that nothing declares. Only AspectRanker told of them."""
    run = run_of(NOT_JUDGED)
    topics = pd.DataFrame({"qid": ["q"], "query": ["x"]})
    table = NOT_JUDGED.set_axis(["query_id", "doc_id", "relevance", "trust"], axis=1)
    ranked = run.set_axis(["query_id", "doc_id", "score"], axis=1)
    labels = NOT_JUDGED[["label", "trust"]].rename(columns={"label": "relevance"})
    measure = ma.CAM(base="AP")
    doors = {
        "Experiment": lambda: pt.Experiment(
            [pt.Transformer.from_df(run)], topics, NOT_JUDGED, [measure]
        ),
        "evaluate": lambda: ma.evaluate({"run": run}, NOT_JUDGED, measure, progress=False),
        "iter_calc": lambda: list(ir_measures.iter_calc([measure], table, ranked)),
        "upper_bound": lambda: ma.analysis.upper_bound(NOT_JUDGED, measure),
        "ranking_score": lambda: ma.ranking_score(
            labels, [3, 2, 1, 0], measure=measure, qid=NOT_JUDGED["qid"]
        ),
        "fit": lambda: ma.AspectRanker(Ridge()).fit(labels, labels, qid=NOT_JUDGED["qid"]),
    }
    for name, door in doors.items():
        told = [message for message in warned_by(door) if "-1" in message]
        assert len(told) == 1, (name, told)
        assert told[0].startswith("trust has labels below its lowest grade 0")
        assert "unjudged=[-1]" in told[0]
    findings = ma.describe(NOT_JUDGED).findings
    assert (
        findings.loc[findings["aspects"] == "trust", "finding"]
        .str.contains("labels below .* -1")
        .any()
    )


@pytest.mark.parametrize("command", ["evaluate", "describe"])
def test_codes_of_aspects_that_are_not_declared_are_said_in_the_shell(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for aspect, column in (("relevance", "label"), ("trust", "trust")):
        rows = NOT_JUDGED[["qid", "docno", column]].to_numpy()
        Path(f"{aspect}.txt").write_text(
            "".join(f"{qid} 0 {docno} {label}\n" for qid, docno, label in rows)
        )
    rows = run_of(NOT_JUDGED).to_numpy()
    Path("a.run").write_text(
        "".join(f"{qid} Q0 {docno} 1 {score} tag\n" for qid, docno, score in rows)
    )
    arguments = ["a.run", "-m", "CAM(base=AP)"] if command == "evaluate" else []
    assert main([command, *arguments, "--qrels", "relevance=relevance.txt", "trust=trust.txt"]) == 0
    printed = capsys.readouterr()
    text = " ".join((printed.out + printed.err).split())
    assert (
        "trust has labels below its lowest grade 0, which are evaluated as that grade: -1" in text
    )


@pytest.mark.parametrize(
    ("qrels", "measure"),
    [
        (NOT_JUDGED, CAM(base="AP", aspects={"relevance": 2, "trust": Aspect(1, unjudged=[-1])})),
        (NOT_JUDGED, CAM(base="AP", aspects={"relevance": 2, "trust": 1})),
        (NOT_JUDGED.assign(label=[-2, 1, 0, -1]).drop(columns="trust"), AP),
        (NOT_JUDGED.assign(label=[-2, 1, 0, -1]).drop(columns="trust"), On(base="nDCG")),
    ],
)
def test_codes_that_are_declared_or_of_trec_are_silent(qrels: pd.DataFrame, measure: Any) -> None:
    run = run_of(NOT_JUDGED)
    assert warned_by(lambda: ma.evaluate({"run": run}, qrels, measure, progress=False)) == []


def test_junk_is_ordinary() -> None:
    assert value(On(base=AP), one_topic(label=[-1, 2, 0, -2, 1])) == pytest.approx(
        (1 / 2 + 2 / 5) / 2
    )


def test_codes_that_mean_not_judged() -> None:
    qrels = one_topic(label=[3, 2, 0, 1, 3])
    coded = Aspect(2, unjudged=[3])
    missing = qrels.assign(label=qrels["label"].where(qrels["label"] < 3))
    for base in ("nDCG", "AP", "Bpref", "CRP"):
        measure = On(base=base, aspects={"relevance": coded})
        assert value(measure, qrels) == value(On(base=base, aspects={"relevance": 2}), missing)
        assert value(ir_measures.parse_measure(str(measure)), qrels) == value(measure, qrels)
    assert (
        value_and_warnings(TOMA(aspects={"relevance": Aspect(unjudged=[3])}), qrels)[0]
        == value_and_warnings(TOMA, missing)[0]
    )
    with pytest.raises(MultiAspectError, match=r"above the top grade.*Aspect\(unjudged="):
        value(On(aspects={"relevance": 2}), qrels)


def test_unjudged_codes_belong_to_the_aspect() -> None:
    coded = Aspect(2, unjudged=(9, 3, 3))
    assert repr(coded) == "Aspect(grades=[0, 1, 2], unjudged=[3, 9])"
    assert eval(repr(coded)) == coded == Aspect.from_spec(coded.to_spec())
    assert coded != Aspect(2)
    assert hash(coded) != hash(Aspect(2))
    aspects = Aspects({"trust": coded})
    assert Aspects(json.loads(aspects.to_json())) == aspects
    assert "(not judged: 3, 9)" in aspects._repr_html_()
    assert Aspect(unjudged=[3]).with_grades([0, 1]).unjudged == (3,)
    with pytest.raises(MultiAspectError, match="must not be grades, got 2 as both"):
        Aspect(2, unjudged=[2])
    with pytest.raises(MultiAspectError, match="unjudged: expected"):
        Aspect(2, unjudged=3)  # type: ignore[arg-type]


# --- frames -------------------------------------------------------------------------------------


def test_changing_the_qrels_afterwards_changes_nothing() -> None:
    """Evaluators and judgments, also those that upper bounds sort, keep the labels that they were given."""
    qrels = one_topic(label=[2, 1, 0, 0, 1, 0], trust=[0, 1, 0, 1, 1, 0])
    run = run_of(qrels)
    expected = value(CAM, qrels)
    evaluator = ir_measures.evaluator([CAM], qrels)
    judgments = Judgments(qrels)
    judgments_by_name = sorted_judgments(qrels)

    qrels.iloc[:] = qrels.sort_values("label").to_numpy()  # other documents in each row
    qrels["trust"] = 0
    qrels.loc[qrels["docno"] == "d000", "label"] = 0
    assert value(CAM, qrels) != expected

    assert evaluator.calc_aggregate(run) == {CAM: expected}
    assert CAM.evaluate(Rankings(run, judgments)).tolist() == [expected]
    assert CAM.evaluate(Rankings(run, judgments_by_name)).tolist() == [expected]


@pytest.mark.parametrize("kind", ["float16", "float32", "Float32"])
def test_short_floats_are_the_decimals_they_print_as(kind: str) -> None:
    trust = [0.1, 0.7, 0.3, 0.9, 1.0, 0.0]
    qrels = one_topic(label=[0, 1, 2, 0, 1, 2], trust=trust)
    short = qrels.assign(
        trust=pd.array(trust, dtype="Float32") if kind == "Float32" else np.array(trust, kind)
    )
    assert Judgments(short).labels("trust").tolist() == trust
    aspects = {"relevance": 2, "trust": Aspect([k / 10 for k in range(11)])}
    measure = TOMA(distance="manhattan", aspects=aspects)
    assert value(measure, short) == value(measure, qrels)
    objects = short.assign(trust=pd.Series([np.float32(label) for label in trust], dtype=object))
    assert Judgments(objects).labels("trust").tolist() == trust
    missing = short.assign(trust=short["trust"].where(short["label"] > 0))
    assert np.isnan(Judgments(missing).labels("trust")).tolist() == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "kind", ["bool", "boolean", "Int8", "bool[pyarrow]", "int64[pyarrow]", "double[pyarrow]"]
)
def test_booleans_and_numbers_of_any_kind_are_labels(kind: str) -> None:
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    qrels = one_topic(label=[0, 1], trust=pd.Series([True, False]).astype(kind))
    assert Judgments(qrels).label_names == ("relevance", "trust")
    assert Judgments(qrels).labels("trust").tolist() == [1, 0]


# --- names --------------------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: bool(name.strip()) and name != "label")


ODD_NAMES = st.sampled_from(["a,b", " a", "{", "[a]", '"a"', "a", "b", "relevance"])


@given(st.lists(NAMES | ODD_NAMES, min_size=1, unique=True))
def test_printed_forms_of_names_parse_back(names: list[str]) -> None:
    for measure in (
        URBP(aspects=names),
        TOMA(aspects=dict.fromkeys(names, 2)),
        CAM(aspects={names[0]: [0, 2]}),
    ):
        assert ir_measures.parse_measure(str(measure)) == measure
        assert tuple(ir_measures.parse_measure(str(measure)).spec) == tuple(measure.spec)


def test_names_with_commas_and_names_of_sets_stay_apart() -> None:
    assert URBP(aspects=["a,b"]) != URBP(aspects=["a", "b"])
    assert URBP(aspects=[" a"]) != URBP(aspects=["a"])
    column = URBP(aspects=["silent-set"])
    named = URBP(aspects=Aspects({"a": 1}, name="silent-set"))
    assert column != named
    assert str(named) == "uRBP(aspects='silent-set')"
    assert ir_measures.parse_measure(str(column)).spec == ("silent-set",)
    assert URBP(aspects=["silent-set"]) == column
    assert (
        str(URBP(aspects=["relevance", "ease of reading"]))
        == "uRBP(aspects='relevance,ease of reading')"
    )


# --- JSON and huge numbers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": [0, 1' + "0" * 400 + "]}",
        '{"a": [0, 1' + "0" * 5000 + "]}",
        '{"a": 1, "a": 2}',
        '{"a": 1',
        '["a", 1]',
        '["a", "a"]',
        "[]",
    ],
    ids=lambda spec: spec[:12],
)
def test_faulty_json_is_refused(spec: str) -> None:
    with pytest.raises(MultiAspectError):
        parse_aspects(spec)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Aspect([0, 10**400]),
        lambda: Aspect(10**400),
        lambda: Aspect(10**9),
        lambda: Aspect([0, 1], gains=[0, 10**400]),
        lambda: TOMA(weights={"a": 10**400}),
        lambda: CAM(weights={"a": 10**400}),
        lambda: value(CAM, one_topic(label=pd.Series([0, 10**400], dtype=object))),
        lambda: value(CAM, one_topic(label=["0", "1e999"])),
        lambda: Judgments({"q": {"d": 10**400}}).labels("relevance"),
    ],
)
def test_integers_beyond_the_floats_are_refused(make: Any) -> None:
    with pytest.raises(MultiAspectError):
        make()


@pytest.mark.parametrize("faulty", ["?", "", "1,5"])
def test_a_label_column_of_text_with_one_that_is_no_number_is_an_error(faulty: str) -> None:
    """The column was left out, so that CAM was that of relevance alone."""
    qrels = one_topic(label=["2", "0", "1"], credibility=["0", "1", faulty])
    with pytest.raises(MultiAspectError, match=r"invalid label .* in column credibility"):
        value(CAM, qrels)
    stances = one_topic(label=["2", "0", "1"], stance=["pro", "con", "1"])
    assert Judgments(stances).label_names == ("relevance",)
    assert value(On, stances) == value(On, one_topic(label=[2, 0, 1]))


def test_gains_by_label_must_be_complete_if_lower_labels_are_better() -> None:
    """The labels left out were gains themselves, so that the worst documents were the ideal."""
    qrels = one_topic(label=[0, 1, 2])
    turned = {"relevance": Aspect([0, 1, 2], greater_is_better=False)}
    with pytest.raises(MultiAspectError, match=r"expected a gain.*got none for 0, 1"):
        value(On(base="nDCG(gains={2: 3})", aspects=turned), qrels)
    by_hand = value(On(base="nDCG(gains={0: 2, 1: 1, 2: 0})", aspects=turned), qrels)
    assert by_hand == pytest.approx(value(On(base="nDCG", aspects=turned), qrels))


@pytest.mark.parametrize("measure", [ma.MM, ma.GAM, ma.WHAM])
def test_means_that_are_0_if_one_value_is_need_higher_to_be_better(measure: Any) -> None:
    """ESL 0 on one aspect, the best value, made the mean 0 whatever the other aspect."""
    with pytest.raises(MultiAspectError, match=r"0 is the best.*ESL"):
        measure(base="ESL")


# --- scales that are declared by their top grade alone --------------------------------------------

#: 30 labels, of which none is 0.
FROM_ONE = [1, 4, 1, 2, 3, 1, 5, 2, 1, 3] * 3


def scaled_measures(declared: Any) -> list[Any]:
    """Measures that depend on the lowest grade of relevance."""
    aspects = Aspects({"relevance": declared, "trust": 1})
    return [
        TOMA(aspects=aspects),
        CAM(base=AP, aspects=aspects),
        On(base=P @ 3, aspects={"relevance": declared}),
        unDCG(aspects=aspects),
    ]


@pytest.mark.parametrize("measure", scaled_measures(5))
def test_a_scale_declared_by_its_top_grade_that_starts_at_1_warns(measure: Any) -> None:
    qrels = one_topic(label=FROM_ONE, trust=[0, 1, 0] * 10)
    _, (message,) = value_and_warnings(measure, qrels)
    assert "no label of relevance is 0, but the scale is declared by its top grade alone" in message
    assert "Aspect(grades=[1, 2, 3, 4, 5])" in message
    assert "Aspect(grades=[0, 1, 2, 3, 4, 5])" in message


def trust_labels(relevance_labels: list[int]) -> list[int]:
    """As many labels of trust, which begin 0, 1, 0."""
    return ([0, 1, 0] * len(relevance_labels))[: len(relevance_labels)]


@pytest.mark.parametrize(
    "declared", [[1, 2, 3, 4, 5], Aspect(5, threshold=3)], ids=["grades", "threshold"]
)
@no_warnings()
def test_scales_that_are_meant_are_silent(declared: Any) -> None:
    """No label is 0, but the grades or the threshold are declared."""
    qrels = one_topic(label=FROM_ONE, trust=trust_labels(FROM_ONE))
    for measure in scaled_measures(declared):
        value(measure, qrels)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(FROM_ONE[:29], id="fewer than 30 labels tell nothing"),
        pytest.param([0, *FROM_ONE], id="a label is 0"),
        pytest.param([5, 3, 2, 2, 3, 4, 2, 5, 3, 2] * 3, id="no label is 1 either"),
    ],
)
@no_warnings()
def test_scales_declared_by_their_top_grade_are_silent(labels: list[int]) -> None:
    """By TOMA, as other measures also warn of the default threshold, which is another finding."""
    qrels = one_topic(label=labels, trust=trust_labels(labels))
    value(TOMA(aspects=Aspects({"relevance": 5, "trust": 1})), qrels)


def test_listed_grades_are_meant_whatever_was_declared_before(tmp_path: Any) -> None:
    """The scale of listed grades equals that of the top grade alone, but only the latter warns.

    Pickled or read from a file, the listed grades are still listed.
    """
    listed = Aspects({"relevance": [0, 1, 2, 3, 4, 5], "trust": 1})
    by_top_grade = Aspects({"relevance": 5, "trust": 1})
    assert listed == by_top_grade
    qrels = one_topic(label=FROM_ONE, trust=trust_labels(FROM_ONE))
    rankings = Rankings(run_of(qrels), Judgments(qrels))
    with pytest.warns(Warned, match="top grade alone"):
        expected = TOMA(aspects=by_top_grade).evaluate(rankings)

    listed.to_file(tmp_path / "scales.json")
    unpickled = pickle.loads(pickle.dumps(listed))
    for aspects in (listed, unpickled, Aspects.from_file(tmp_path / "scales.json")):
        measure = pickle.loads(pickle.dumps(TOMA(aspects=aspects)))
        with no_warnings():
            # With a cutoff beyond all ranks it is another measure, of which no warning was given.
            values = (measure @ 1000).evaluate(rankings)
        assert values.tolist() == expected.tolist()


def test_pickled_scales_know_that_they_were_declared_by_their_top_grade() -> None:
    by_top_grade = Aspects({"relevance": 5, "trust": 1})
    unpickled = pickle.loads(pickle.dumps(by_top_grade))
    assert unpickled.by_top == ("relevance", "trust")


@pytest.mark.parametrize(
    "measure",
    [
        CAM(aspects={"relevance": 5, "trust": 1}),
        On(base=nDCG, aspects={"relevance": 5}),
        nCRP,
    ],
)
@no_warnings()
def test_measures_that_do_not_read_the_lowest_grade_do_not_doubt_a_declared_scale(
    measure: Any,
) -> None:
    """No label of relevance is 0, but the lowest grade gains nothing anyway."""
    value(measure, one_topic(label=FROM_ONE, trust=trust_labels(FROM_ONE)))


@no_warnings()
def test_qrels_of_relevant_documents_only_do_not_doubt_a_declared_scale() -> None:
    """Documents that are not relevant need not be in qrels: no label of relevance is 0."""
    qrels = one_topic(label=[1, 2, 1, 3] * 10, trust=[0, 1] * 20)
    value(TOMA(aspects={"relevance": 3, "trust": 1}), qrels)

    ones = one_topic(label=[1] * 40)
    value(On(base=nDCG, aspects={"relevance": 1}), ones)
    value(TOMA(aspects={"relevance": 1}), ones)


def test_qrels_without_the_lowest_grade_of_another_aspect_doubt_its_scale() -> None:
    """Of the relevant and other documents, none has the label 0 of trust."""
    qrels = one_topic(label=[0, 1] * 20, trust=[1, 2, 1, 3] * 10)
    _, messages = value_and_warnings(TOMA(aspects={"relevance": 1, "trust": 3}), qrels)
    assert "no label of trust is 0" in messages[0]
