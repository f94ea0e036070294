"""Measures of ir-measures on wide qrels in which some pairs lack a label of relevance."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from frame_world import as_ir_measures
from ir_measures import (
    AP,
    ERR,
    RBP,
    RR,
    Accuracy,
    Bpref,
    Compat,
    Judged,
    NumQ,
    NumRel,
    P,
    infAP,
    nDCG,
)

import pt_multiaspect as ma

RELEVANCE = "1 0 d1 2\n1 0 d2 0\n1 0 d4 1\n2 0 d1 1\n2 0 d5 -1\n3 0 d2 0\n3 0 d3 1"
TRUST = "1 0 d1 1\n1 0 d3 1\n2 0 d1 0\n2 0 d5 1\n2 0 d9 1\n3 0 d2 1"
#: The same with a topic that has no label of relevance.
OTHER_TOPIC = f"{TRUST}\n4 0 d1 1"
SCALES = {"relevance": 2, "trust": 1}
CAM_10 = ma.CAM(aspects=SCALES) @ 10
RUN = pd.DataFrame(
    {
        "qid": list("1111223344"),
        "docno": ["d3", "d1", "d2", "d4", "d9", "d1", "d7", "d3", "d1", "d2"],
        "score": [5.0, 4, 3, 2, 3, 2, 9, 8, 1, 0.5],
    }
).assign(rank=0)
TOPICS = pd.DataFrame({"qid": ["1", "2", "3", "4"], "query": "a"})
#: Of pytrec_eval, of all other providers, and those that tell judged from unjudged documents or
#: count topics.
MEASURES = [
    nDCG @ 10, AP, P @ 2, Bpref, infAP, NumRel, NumQ, Judged @ 3, RR @ 3, Compat, ERR @ 5, nDCG(dcg="exp-log2") @ 5,
    RBP(rel=1), Accuracy, nDCG(judged_only=True) @ 3, nDCG(gains={1: 3}),
]  # fmt: skip
BY_NAME = {str(measure): measure for measure in MEASURES}


pytestmark = pytest.mark.usefixtures("undo_acceleration")


def read(trust: str = TRUST) -> pd.DataFrame:
    return ma.read_qrels(
        {"relevance": io.StringIO(RELEVANCE), "trust": io.StringIO(trust)}, check=False
    )


#: The file of relevance alone.
ALONE = ma.read_qrels(io.StringIO(RELEVANCE))


def aggregate_values(measures: list[Any], qrels: pd.DataFrame) -> dict[str, float]:
    values = ir_measures.calc_aggregate(measures, as_ir_measures(qrels), as_ir_measures(RUN))
    return {str(measure): value for measure, value in values.items()}


EXPECTED = {name: aggregate_values([measure], ALONE)[name] for name, measure in BY_NAME.items()}
#: Those that ir-measures computes alike alone and beside others.
TOGETHER = [
    measure
    for measure in MEASURES
    if measure not in (Accuracy, nDCG(gains={1: 3}), nDCG(judged_only=True) @ 3)
]


def test_read_qrels_gives_missing_labels() -> None:
    assert read()["label"].dtype == np.float64
    assert ALONE["label"].dtype == np.int64


@pytest.mark.every(6)
@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("trust", [TRUST, OTHER_TOPIC])
@pytest.mark.parametrize("name", BY_NAME)
def test_values_are_those_of_the_relevance_file_alone(
    name: str, trust: str, accelerated: bool
) -> None:
    if accelerated:
        ma.accelerate()
    assert aggregate_values([BY_NAME[name]], read(trust)) == pytest.approx(
        {name: EXPECTED[name]}, abs=1e-12
    )


@pytest.mark.parametrize("accelerated", [False, True])
def test_they_are_beside_measures_of_several_aspects(accelerated: bool) -> None:
    if accelerated:
        ma.accelerate()
    qrels = read()
    values = aggregate_values([*TOGETHER, CAM_10], qrels)
    expected = {
        **{str(measure): EXPECTED[str(measure)] for measure in TOGETHER},
        **aggregate_values([CAM_10], qrels),
    }
    assert values == pytest.approx(expected, abs=1e-12)
    assert min(values.values()) > 0


def test_experiment_evaluate_and_grid_search() -> None:
    qrels, measures = read(), [nDCG @ 10, CAM_10]
    (table,) = pt.Experiment([RUN], TOPICS, qrels, measures).to_dict("records")
    expected = aggregate_values([CAM_10], qrels)[str(CAM_10)]
    assert table["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)
    assert table[str(CAM_10)] == pytest.approx(expected, abs=1e-12)
    values = pt.Evaluate(RUN, qrels, measures)
    assert values["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)
    assert values[str(CAM_10)] == pytest.approx(expected, abs=1e-12)
    system = Scaled()
    score, _ = pt.GridSearch(
        system,
        {system: {"weight": [1.0, 2.0]}},
        TOPICS,
        qrels,
        metric="nDCG@10",
        return_type="best_setting",
    )
    assert score == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)


class Scaled(pt.Transformer):
    weight = 1.0

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        run = RUN[RUN["qid"].isin(topics["qid"])]
        return run.assign(score=run["score"] * self.weight)


def test_batches() -> None:
    system = pt.Transformer.from_df(RUN)
    (table,) = pt.Experiment(
        [system], TOPICS[:3], read(), [nDCG @ 10, CAM_10], batch_size=1
    ).to_dict("records")
    assert table["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)


def test_topics_of_another_aspect_have_no_value_per_query_and_are_named() -> None:
    """A measure of ir-measures has no value there, so the means are over different topics."""
    with pytest.warns(ma.MultiAspectWarning, match=r"relevance in 1 topic \(4\)") as caught:
        values = aggregate_values([nDCG @ 10, CAM_10], read(OTHER_TOPIC))
    assert values["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)
    assert "nDCG@10" in str(caught[0].message)
    with pytest.warns(ma.MultiAspectWarning, match=r"relevance in 1 topic \(4\)"):
        per_query = pt.Experiment(
            [RUN], TOPICS, read(OTHER_TOPIC), [nDCG @ 10, CAM_10], perquery=True
        )
    counts = per_query["measure"].value_counts()
    assert counts["nDCG@10"] == 3
    assert counts[str(CAM_10)] == 4


@pytest.mark.parametrize(("qid", "label"), [("qid", "label"), ("query_id", "relevance")])
def test_the_remedy_works_for_the_columns_of_pyterrier_and_of_ir_measures(
    qid: str, label: str
) -> None:
    """Topics 1 to 3 have labels of relevance, topic 4 has none; the warning has code to leave it out."""
    qrels = read(OTHER_TOPIC)
    run = RUN.rename(columns={"qid": "query_id", "docno": "doc_id"})
    with pytest.warns(ma.MultiAspectWarning, match="Leave these topics out") as caught:
        ir_measures.calc_aggregate([nDCG @ 10, CAM_10], rename_columns(qrels), run)
    message = str(caught[0].message)
    assert "(query_id and relevance, where the columns are named so)" in message

    # As in: … as in qrels[qrels['label'].…] (query_id and relevance, where …)
    code = re.search(r"as in (.*?) \(", message)[1]
    code = code.replace("'qid'", repr(qid)).replace("'label'", repr(label))
    renamed = qrels.rename(columns={"qid": qid, "docno": "doc_id", "label": label})
    labelled = eval(code, {"qrels": renamed})
    assert sorted(labelled[qid].unique()) == ["1", "2", "3"]


def rename_columns(qrels: pd.DataFrame) -> pd.DataFrame:
    """Return qrels with the names of ir-measures."""
    return qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"})


@pytest.mark.parametrize(
    "options",
    [{}, {"perquery": "both"}, {"dataframe": False}, {"baseline": 0}, {"batch_size": 2}],
    ids=str,
)
def test_an_experiment_requires_values_on_the_same_topics(options: dict[str, Any]) -> None:
    """PyTerrier's own function ends in a KeyError, or leaves columns out."""
    text = r"no label of relevance in 1 topic \(4\), so nDCG@10 cannot be computed.* as in qrels.* perquery=True"
    with pytest.raises(ma.MultiAspectError, match=text):
        pt.Experiment(
            [RUN, RUN], TOPICS, read(OTHER_TOPIC), [nDCG @ 10, CAM_10], names=["a", "b"], **options
        )


@pytest.mark.parametrize("left_out_of", ["topics", "qrels"])
def test_an_experiment_averages_where_topics_agree(left_out_of: str) -> None:
    """If topic 4, which has no label of relevance, is left out, all measures have the same topics."""
    qrels = read(OTHER_TOPIC)
    labelled = qrels[qrels["qid"] != "4"]
    if left_out_of == "topics":
        table = pt.Experiment([RUN], TOPICS.head(3), qrels, [nDCG @ 10, CAM_10])
    else:
        table = pt.Experiment([RUN], TOPICS, labelled, [nDCG @ 10, CAM_10])
    (means,) = table.to_dict("records")
    assert means["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)
    expected = aggregate_values([CAM_10], labelled)[str(CAM_10)]
    assert means[str(CAM_10)] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", [nDCG @ 10, CAM_10], ids=["nDCG", "CAM"])
def test_an_experiment_averages_one_measure(measure: Any) -> None:
    qrels = read(OTHER_TOPIC)
    (means,) = pt.Experiment([RUN], TOPICS, qrels, [measure]).to_dict("records")
    expected = aggregate_values([measure], qrels)[str(measure)]
    assert means[str(measure)] == pytest.approx(expected, abs=1e-12)


def test_an_experiment_saves_no_means_over_different_topics(tmp_path: Path) -> None:
    """Also for per-query values, the means are saved."""
    options = {"names": ["a"], "perquery": True, "save_dir": str(tmp_path)}
    with pytest.raises(ma.MultiAspectError, match="no label of relevance"):
        pt.Experiment([RUN], TOPICS, read(OTHER_TOPIC), [nDCG @ 10, CAM_10], **options)


@pytest.fixture
def qrels_of_pytrec_eval(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The qrels that pytrec_eval is given, call by call."""
    given: list[Any] = []
    make_evaluator = ir_measures.pytrec_eval._evaluator

    def record(measures: Any, qrels: Any) -> Any:
        given.append(qrels)
        return make_evaluator(measures, qrels)

    monkeypatch.setattr(ir_measures.pytrec_eval, "_evaluator", record)
    return given


def test_columns_of_integers_are_left_alone(qrels_of_pytrec_eval: list[Any]) -> None:
    """Nothing changes for others, not even the order of the columns of pt.Experiment."""
    qrels = as_ir_measures(ALONE)
    ir_measures.calc_aggregate([nDCG], qrels, as_ir_measures(RUN))
    assert qrels_of_pytrec_eval[0] is qrels


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "Int64"])
def test_types_of_labels(dtype: str) -> None:
    qrels = read().astype({"label": dtype})
    values = aggregate_values([nDCG @ 10, Judged @ 3], qrels)
    assert values == pytest.approx({name: EXPECTED[name] for name in values}, abs=1e-12)


def test_labels_that_are_objects() -> None:
    qrels = read()
    labels = [None if pd.isna(label) else int(label) for label in qrels["label"]]
    qrels["label"] = pd.Series(labels, index=qrels.index, dtype=object)
    values = aggregate_values([nDCG @ 10, Judged @ 3], qrels)
    assert values == pytest.approx({name: EXPECTED[name] for name in values}, abs=1e-12)


def test_whole_numbers_as_floats() -> None:
    """Labels as of a merge that found all of them."""
    assert aggregate_values([nDCG @ 10], ALONE.astype({"label": float})) == pytest.approx(
        {"nDCG@10": EXPECTED["nDCG@10"]}, abs=1e-12
    )


@pytest.mark.parametrize("label", [0.5, np.inf])
def test_fractional_labels_are_refused_with_the_remedy(label: float) -> None:
    qrels = read()
    qrels.loc[0, "label"] = label
    with pytest.raises(
        ma.MultiAspectError, match=rf"nDCG@10 .*integer labels, got {label}.*On\(base='nDCG@10'\)"
    ):
        aggregate_values([nDCG @ 10, CAM_10], qrels)


def test_other_measures_take_fractional_labels() -> None:
    fractional = ALONE.assign(label=ALONE["label"].clip(0) + 0.5)
    for measure in (Compat, ma.On(base="nDCG")):
        (value,) = aggregate_values([measure], fractional).values()
        assert 0 < value <= 1


def test_user_defined_measures_see_all_rows() -> None:
    """Also those without a label of relevance, and all columns."""
    numbers_of_trust_labels: list[int] = []

    def count_rows(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
        numbers_of_trust_labels.append(int(qrels["trust"].notna().sum()))
        return float(len(qrels))

    measure = ir_measures.define_byquery(count_rows, name="Rows")
    values = aggregate_values([measure, nDCG @ 10], read())
    # Topic 1 has d1 to d4, topic 2 d1, d5 and d9, topic 3 d2 and d3; topic 4 has a run only.
    assert values["Rows"] == np.mean([4, 3, 2, 0])
    assert values["nDCG@10"] == pytest.approx(EXPECTED["nDCG@10"], abs=1e-12)
    assert sum(numbers_of_trust_labels) == 6  # all that TRUST has


def test_no_label_of_relevance_at_all() -> None:
    qrels = read().assign(label=np.nan)
    values = ir_measures.calc_aggregate(
        [ma.On(aspect="trust", base="AP")], as_ir_measures(qrels), as_ir_measures(RUN)
    )
    assert 0 < next(iter(values.values())) <= 1


def test_topics_with_negative_labels_only_reach_pytrec_eval_as_zeros(
    qrels_of_pytrec_eval: list[Any],
) -> None:
    """It reads beyond its memory on them."""
    qrels = read()
    is_topic_2 = (qrels["qid"] == "2") & qrels["label"].notna()
    qrels.loc[is_topic_2, "label"] = -2
    aggregate_values([nDCG @ 10], qrels)
    highest_labels = qrels_of_pytrec_eval[0].groupby("query_id")["relevance"].max()
    assert highest_labels.to_dict() == {"1": 2, "2": 0, "3": 1}
