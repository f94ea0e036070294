"""Aspects and bases that do not fit the labels or each other: rel, gains, misspelt names, columns of text."""

from __future__ import annotations

import warnings
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from frame_world import one_topic
from ir_measures import AP, nDCG
from strategies import no_warnings

import pt_multiaspect as ma
from pt_multiaspect import CAM, MM, TOMA, Aspect, Aspects, Judgments, MultiAspectError, On
from pt_multiaspect.bases import as_base
from pt_multiaspect.collection.rankings import Rankings

Warned = ma.MultiAspectWarning

LABELS = [0, 3, 1, 0, 2, 0, 0, 3, 0, 1, 0, 0]
TRUST = [0, 1, 2, 1] * 3
SCALES = {"relevance": 3, "trust": 2}


def value_and_warnings(measure: Any, qrels: pd.DataFrame) -> tuple[float, list[str]]:
    run = qrels[["qid", "docno"]].assign(score=-np.arange(len(qrels), dtype=float))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (value,) = measure.evaluate(Rankings(run, Judgments(qrels)))
    return float(value), [
        str(warning.message) for warning in caught if issubclass(warning.category, Warned)
    ]


BOTH = one_topic(label=LABELS, trust=TRUST)


def test_a_label_of_relevance_far_above_the_others_warns() -> None:
    """A code such as 99 made a scale of 100 grades; other aspects were said to be doubtful."""
    coded = one_topic(label=[*LABELS[:-1], 99])
    _, messages = value_and_warnings(TOMA(base=nDCG), coded)
    assert any("the label 99 of relevance is far above" in message for message in messages)
    assert "Aspect(unjudged=[99])" in "".join(messages)
    assert value_and_warnings(TOMA(base=nDCG, aspects={"relevance": 99}), coded)[1] == []
    assert (
        value_and_warnings(
            TOMA(base=nDCG, aspects={"relevance": Aspect([0, 1, 2, 3], unjudged=[99])}), coded
        )[1]
        == []
    )


# --- an explicit rel that no grade reaches -------------------------------------------------------


def test_a_rel_above_the_top_grade_of_an_aspect_warns() -> None:
    """No document is positive on trust, whose grades end at 2, so CAM cannot exceed 1/2."""
    measure = CAM(base="AP(rel=3)", aspects=SCALES)  # relevance 0 to 3, trust 0 to 2

    value, (message,) = value_and_warnings(measure, BOTH)

    of_relevance, _ = value_and_warnings(On(base="AP(rel=3)"), BOTH)
    assert value == pytest.approx((of_relevance + 0) / 2)
    assert "rel=3 is above 2, the top grade of trust" in message
    assert "base={'trust': 'AP(rel=2)', …}" in message
    _, messages = value_and_warnings(measure(normalized=False), BOTH)
    assert messages == [message]


@pytest.mark.parametrize(
    "measure",
    [
        CAM(base={"relevance": "AP(rel=3)", "trust": "AP(rel=2)"}, aspects=SCALES),
        CAM(base="AP(rel=3)", weights={"relevance": 1, "trust": 0}, aspects=SCALES),
    ],
    ids=["a base per aspect", "no weight"],
)
def test_a_rel_that_fits_each_aspect_with_a_weight_does_not_warn(measure: Any) -> None:
    # The top grades are 3 for relevance and 2 for trust.
    _, messages = value_and_warnings(measure, BOTH)
    assert messages == []


def test_a_rel_above_a_fractional_top_grade_warns() -> None:
    qrels = BOTH.assign(trust=[0, 1, 2.5, 1] * 3)
    measure = MM(base="P(rel=3)@5", aspects={"relevance": 3, "trust": [0, 1, 2.5]})
    value, (message,) = value_and_warnings(measure, qrels)
    assert value == 0  # the harmonic mean, as P of trust is 0
    assert "rel=3 is above 2.5" in message


def test_a_rel_above_the_highest_label_of_an_inferred_scale_warns() -> None:
    (message,) = value_and_warnings(CAM(base="AP(rel=3)"), BOTH)[1]
    assert "rel=3 is above 2, the highest label of trust" in message
    assert "If the scale of trust is longer, declare it" in message
    assert value_and_warnings(CAM(base="AP(rel=3)"), BOTH[:9])[1] == []  # too few labels to tell


def test_a_rel_beyond_a_turned_scale_warns() -> None:
    """If lower grades are better, 1 is the top grade of 1 to 3, and no grade is as good as 0."""
    turned = Aspects({"relevance": 3, "trust": Aspect([1, 2, 3], greater_is_better=False)})
    qrels = one_topic(label=LABELS, trust=[1, 2, 3, 3] * 3)
    base = {"relevance": "AP(rel=1)", "trust": "SetP(rel=0)"}
    _, (message,) = value_and_warnings(CAM(base=base, aspects=turned), qrels)
    assert "rel=0 is below 1, the top grade of trust" in message


def test_a_rel_above_all_aspects_warns_of_each() -> None:
    value, messages = value_and_warnings(CAM(base="AP(rel=4)", aspects=SCALES), BOTH)
    assert value == 0
    assert [message.partition(":")[0] for message in messages] == [
        "rel=4 is above 3, the top grade of relevance",
        "rel=4 is above 2, the top grade of trust",
    ]
    assert len(value_and_warnings(On(aspect="trust", base=AP(rel=3), aspects=SCALES), BOTH)[1]) == 1


def test_a_rel_above_the_classes_of_toma_warns() -> None:
    measure = TOMA(distance="manhattan", axes="gains", aspects=SCALES)  # classes 0 to 5
    value, (message,) = value_and_warnings(measure(base="AP(rel=6)"), BOTH)
    assert value == 0
    assert "rel=6 of the base is above 5, the highest class index" in message
    assert value_and_warnings(measure(base="AP(rel=5)"), BOTH)[1] == []
    assert any(
        "rel=99 of the base is above" in text
        for text in value_and_warnings(TOMA(base="AP(rel=99)"), BOTH)[1]
    )


# --- aspects that nobody judged, or that are alone ----------------------------------------------


@pytest.mark.parametrize("aspects", [None, {"relevance": 3, "trust": 2}])
def test_an_aspect_without_any_label_warns(aspects: Any) -> None:
    """CAM was half of what it is on the other aspect."""
    value, (message, *_) = value_and_warnings(CAM(aspects=aspects), BOTH.assign(trust=np.nan))
    assert value == pytest.approx(value_and_warnings(CAM(aspects="relevance"), BOTH)[0] / 2)
    assert "all labels of trust are missing (12 documents)" in message


def test_an_aspect_with_codes_of_unjudged_documents_only_warns() -> None:
    coded = {"relevance": 3, "trust": Aspect(1, unjudged=[2])}
    (message,) = value_and_warnings(CAM(aspects=coded), BOTH.assign(trust=2))[1]
    assert "all labels of trust are missing" in message


@no_warnings()
def test_a_query_without_a_label_of_an_aspect_is_ordinary() -> None:
    labelled = BOTH  # q1, with labels of relevance and trust
    without_trust = BOTH.assign(qid="q2", trust=np.nan)
    qrels = pd.concat([labelled, without_trust])
    run = qrels[["qid", "docno"]].assign(score=1.0)
    CAM(aspects=SCALES).calc_aggregate(qrels, run)


@no_warnings()
def test_few_documents_without_a_label_of_an_aspect_are_ordinary() -> None:
    """Fewer than ten documents may be a part of the qrels, such as a batch."""
    five_documents = BOTH.assign(trust=np.nan).head(5)
    CAM(aspects=SCALES).calc_aggregate(five_documents, RUN)


@pytest.mark.parametrize("measure", [CAM, MM, TOMA, ma.uRBP, ma.NLRE, ma.NWCS, ma.unDCG], ids=str)
def test_a_multi_aspect_measure_of_a_single_column_warns(measure: Any) -> None:
    value, messages = value_and_warnings(measure, BOTH[["qid", "docno", "label"]])
    assert any(
        f"{measure.NAME} combines several aspects, but the qrels have one" in message
        for message in messages
    )
    selected = measure(aspects="relevance")
    assert f"as in {selected}" in "".join(messages)
    assert value_and_warnings(selected, BOTH)[0] == value
    assert not any(
        "several aspects" in message for message in value_and_warnings(selected, BOTH)[1]
    )


def test_single_aspect_measures_of_a_single_column_are_ordinary() -> None:
    for measure in (On, On(base=AP), ma.DCG, ma.CRP, ma.HelpfulCompat):
        assert value_and_warnings(measure, BOTH[["qid", "docno", "label"]])[1] == []


# --- labels below a scale -----------------------------------------------------------------------


@pytest.mark.parametrize("code", [-0.5, -1.5, -0.001])
def test_fractions_between_the_codes_of_junk_warn(code: float) -> None:
    """Only -1 and -2 are codes; these were the lowest grade without a sign."""
    qrels = one_topic(label=[code, 2, 0, -1, -2, 1])
    (message,) = value_and_warnings(On(aspects={"relevance": 2}), qrels)[1]
    assert (
        f"relevance has labels below its lowest grade 0, which are evaluated as that grade: {code}."
        in message
    )
    assert f"Aspect(unjudged=[{code}])" in message


# --- bases --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        {"relevance": "nDCG", "trust": "NumRet(rel=1)"},
        {"relevance": "CG", "trust": "P@5"},
        {"relevance": "DCG", "trust": "CG"},
        {"relevance": "NumRelRet", "trust": "NumRel"},
    ],
)
def test_averaging_bases_on_different_scales_warns(base: Any) -> None:
    measure = CAM(base=base, aspects=SCALES)
    value, (message,) = value_and_warnings(measure, BOTH)
    assert value > 1
    assert "CAM averages bases on different scales" in message
    assert "have no maximum and may dominate" in message
    assert measure.range[1] == np.inf
    balanced = measure(weights={"relevance": 1, "trust": 1})
    assert value_and_warnings(balanced, BOTH) == (value, [])


@pytest.mark.parametrize(
    "base", ["DCG", {"relevance": "DCG@5", "trust": "DCG@10"}, "NumRelRet", "nCRP"]
)
def test_averaging_one_base_without_a_maximum_is_ordinary(base: Any) -> None:
    assert value_and_warnings(CAM(base=base, aspects=SCALES), BOTH)[1] == []
    assert (
        value_and_warnings(CAM(base={"relevance": "nDCG", "trust": "P@5"}, aspects=SCALES), BOTH)[1]
        == []
    )


GAIN_OF_3 = "nDCG(gains={3: 10})"  # a base that says only that grade 3 has the gain 10


def ndcg_by_scale(base: str, scale: Any, qrels: pd.DataFrame = BOTH) -> float:
    """nDCG of relevance with a declared scale, on a topic with the labels 0 to 3."""
    value, _ = value_and_warnings(On(base=base, aspects={"relevance": scale}), qrels)
    return value


def test_gains_of_a_base_come_before_declared_gains() -> None:
    value = ndcg_by_scale(GAIN_OF_3, Aspect(3, gains=[0, 1, 3, 7]))
    expected = ndcg_by_scale("nDCG", Aspect(3, gains=[0, 1, 3, 10]))
    assert value == pytest.approx(expected, abs=1e-15)


def test_declared_gains_come_before_labels() -> None:
    """A grade that the base does not list has the declared gain; here 2 has the gain 3."""
    with_declared_gains = ndcg_by_scale(GAIN_OF_3, Aspect(3, gains=[0, 1, 3, 7]))
    without, _ = value_and_warnings(On(base=GAIN_OF_3), BOTH)
    assert with_declared_gains != without


def test_without_declared_gains_labels_are_gains_as_in_ir_measures() -> None:
    value = ndcg_by_scale(GAIN_OF_3, 3)
    qrels = BOTH[["qid", "docno", "label"]].set_axis(["query_id", "doc_id", "relevance"], axis=1)
    run = {"q1": {docno: -float(rank) for rank, docno in enumerate(BOTH["docno"])}}
    assert value == pytest.approx(nDCG(gains={3: 10}).calc_aggregate(qrels, run))


def test_gains_of_a_base_are_by_grade_where_lower_grades_are_better() -> None:
    value = ndcg_by_scale(GAIN_OF_3, Aspect([0, 1, 2, 3], gains=[0, 1, 3, 7]))
    turned_scale = Aspect([0, 1, 2, 3], gains=[7, 3, 1, 0], greater_is_better=False)
    turned_labels = BOTH.assign(label=3 - BOTH["label"])
    assert ndcg_by_scale("nDCG(gains={0: 10})", turned_scale, turned_labels) == value


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: value_and_warnings(On(aspect="trusst"), BOTH),
        lambda: On(aspect="trusst", aspects=SCALES),
        lambda: value_and_warnings(CAM(aspects="relevance,Trust"), BOTH),
        lambda: CAM(weights={"relevance": 1, "trsut": 1}, aspects=SCALES),
        lambda: value_and_warnings(TOMA(weights={"relevance": 1, "rust": 1}), BOTH),
        lambda: CAM(base={"relevance": "AP", "thrust": "AP"}, aspects=SCALES),
        lambda: TOMA(gate="truts", aspects=SCALES),
        lambda: Judgments(BOTH).view("trust_", ma.Aspects(SCALES)),
    ],
)
def test_a_misspelt_aspect_is_answered_with_the_one_that_is_meant(make: Any) -> None:
    with pytest.raises(MultiAspectError, match=r"Did you mean trust\?"):
        make()


def test_no_name_is_suggested_for_one_that_is_unlike_all() -> None:
    with pytest.raises(MultiAspectError) as raised:
        value_and_warnings(On(aspect="readability"), BOTH)
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("measure", "columns"),
    [
        (CAM, ["relevance"]),
        (CAM(aspects="relevance,trust"), ["relevance", "trust"]),
        (On(aspect="trust"), ["trust"]),
        (CAM(base={"relevance": "AP", "trust": "AP"}), ["relevance", "trust"]),
        (TOMA(weights={"relevance": 1, "trust": 2}), ["relevance", "trust"]),
        (ma.CoverageRatio, ["relevance", "known"]),
    ],
    ids=str,
)
def test_the_columns_that_a_measure_requires(measure: Any, columns: list[str]) -> None:
    """Only relevance was reported where `aspects` was not given."""
    from pt_multiaspect.integration.provider import MultiAspectProvider

    assert MultiAspectProvider().qrel_inputs([measure]) == ["query_id", "doc_id", *columns]


# --- columns of text, and runs in place of qrels ------------------------------------------------

ANSWERS = ["no", "yes", "yes"] * 4


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_a_column_of_text_that_may_be_labels_warns(kind: str) -> None:
    """It was left out without a sign."""
    qrels = one_topic(label=LABELS, correct=pd.Series(ANSWERS).astype(kind), trust=TRUST)
    value, messages = value_and_warnings(CAM(aspects=None), qrels)
    (message,) = messages
    assert "the qrels column correct contains text ('no', 'yes'), so it is not evaluated" in message
    assert "qrels['correct'].map({'no': 0, 'yes': 1})" in message
    assert "aspects=['relevance', 'trust']" in message
    assert value_and_warnings(CAM(aspects="relevance,trust"), qrels) == (value, [])
    description = ma.describe(qrels)
    (row,) = description.findings[description.findings["aspects"] == "correct"].to_dict("records")
    assert (row["severity"], row["remedy"]) == (
        "warning",
        "qrels['correct'] = qrels['correct'].map({'no': 0, 'yes': 1})",
    )
    assert ma.describe(qrels, "relevance,trust").findings["aspects"].tolist().count("correct") == 0
    with pytest.raises(MultiAspectError, match=r"numeric label column.*qrels\['correct'\].map"):
        value_and_warnings(CAM, qrels[["qid", "docno", "correct"]])


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("text", ANSWERS),
        ("title", ANSWERS),
        ("language", ["en", "de", "en"] * 4),
        ("assessor", ["A", "B", "C"] * 4),
        ("iteration", ["0", "Q0", "0"] * 4),
        ("origin", ["pool"] * 12),
        ("heading", [f"heading {number}" for number in range(12)]),
        ("mixed", [("a",), "b", None] * 4),
    ],
)
def test_ordinary_columns_of_text_do_not_warn(column: str, texts: list[Any]) -> None:
    assert (
        value_and_warnings(CAM, one_topic(label=LABELS, trust=TRUST).assign(**{column: texts}))[1]
        == []
    )


@no_warnings()
def test_text_about_queries_does_not_warn() -> None:
    """A column of texts, here the topic and its stance, is no aspect if it is constant on each query."""
    topic = one_topic(label=LABELS, trust=TRUST)
    first = topic.assign(qid="q1", topic="flu", stance="for")
    second = topic.assign(qid="q2", topic="measles", stance="against")
    qrels = pd.concat([first, second])
    run = qrels[["qid", "docno"]].assign(score=range(len(qrels)))
    assert CAM.calc_aggregate(qrels, run) > 0


RUN = BOTH[["qid", "docno"]].assign(score=1.0)


@pytest.mark.parametrize(
    "runs",
    [RUN, {"mine": RUN}, {"q1": {"d000": 1.0}}, {"mine": {"q1": {"d000": 1}}}, [RUN, RUN]],
    ids=["frame", "named", "dict", "named dict", "list"],
)
def test_describe_with_runs_in_place_of_aspects(runs: Any) -> None:
    with pytest.raises(MultiAspectError, match=r"got runs; pass runs by keyword.*runs=runs"):
        ma.describe(BOTH, runs)


def test_aspects_are_not_taken_for_runs() -> None:
    for aspects in (
        SCALES,
        {"relevance": {"threshold": 1}, "trust": None},
        {"relevance": [0, 1, 2, 3]},
        ["trust"],
    ):
        ma.describe(BOTH, aspects)


@pytest.mark.parametrize("run", [RUN, RUN.assign(rank=range(12), query="text"), {"mine": RUN}])
def test_runs_in_place_of_qrels(run: Any) -> None:
    """The scores were labels."""
    for use in (
        ma.describe,
        Judgments,
        lambda frame: ma.evaluate(BOTH, frame, CAM, progress=False),
    ):
        with pytest.raises(MultiAspectError, match="Are the qrels and the runs swapped"):
            use(run)


# --- checks of measures ---------------------------------------------------------------------------


def test_a_base_with_a_maximum_gain_is_checked_up_to_that() -> None:
    """The check used the gain 3, which a measure of ir-measures with max_rel=2 refuses."""
    pytest.importorskip("cwl", reason="cwl_eval, which computes SDCG, is not installed")
    from pt_multiaspect.testing.bases import SCALES as CHECKED
    from pt_multiaspect.testing.bases import base_failures
    from pt_multiaspect.testing.worlds import worlds

    base = as_base(ir_measures.SDCG(max_rel=2) @ 2)
    assert base.statements().max_gain == 2
    for world in worlds(CHECKED, 0)[:4]:
        assert list(base_failures(base, world)) == []
