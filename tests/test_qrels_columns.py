"""Columns of qrels that are not labels, or not those that they seem to be."""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_datasets.datasets.clueweb12 import MisinfoQrel

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA
from pt_multiaspect.collection import columns

TOPICS = pd.DataFrame({"qid": ["q1", "q2"], "query": "a"})
QRELS = pd.DataFrame(
    {
        "qid": ["q1"] * 4 + ["q2"] * 4,
        "docno": list("abcd") * 2,
        "label": [2, 0, 1, 0] * 2,
        "trust": [0, 1, 1, 0] * 2,
    }
)
RUN = QRELS[["qid", "docno"]].assign(score=-np.arange(8.0), rank=0)


def by_experiment(qrels: pd.DataFrame, measure: Any) -> float:
    return float(pt.Experiment([RUN], TOPICS, qrels, [measure])[str(measure)].iloc[0])


def by_evaluate(qrels: Any, measure: Any) -> float:
    return float(ma.evaluate(RUN, qrels, measure, progress=False)["value"].mean())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 1], True),
        ([False, True], True),
        ([0.5, None], True),
        (["0", "1"], True),
        (["0", "1", "x"], True),
        (["0", "x"], True),  # a label that failed, not texts
        (["0", "x", "y"], False),
        ([None, None], False),
        (["x", 1], True),
        (["x", None], False),
        ([[0], [1]], False),
        ([(0,), (1,)], False),
        ([datetime.date(2024, 1, 1)], False),
    ],
    ids=str,
)
def test_columns_of_numbers(values: list[Any], expected: bool) -> None:
    assert columns.is_numeric(pd.Series(values)) is expected
    assert columns.is_numeric(pd.Series(values, dtype=object)) is expected


def test_complex_numbers_among_objects_are_no_labels() -> None:
    np.testing.assert_array_equal(
        columns.as_floats(pd.Series([1 + 2j, 2], dtype=object)), [np.nan, 2]
    )


def test_the_longest_scale_of_numbers_has_11_grades() -> None:
    """A column with more distinct values may be no aspect."""
    assert columns.doubt("trust", np.arange(11.0), ["trust"]) is None
    assert columns.doubt("trust", np.arange(12.0), ["trust"]) == "12 distinct values"


def test_the_longest_scale_of_texts_has_10() -> None:
    """A column with more distinct texts is no aspect; all of them are of one topic here, number 0."""
    texts = [f"grade {grade:02d}" for grade in range(11)]
    number_of_topic = np.zeros(11, dtype=np.intp)
    ten = pd.Series(texts[:10], name="trust")
    assert columns.texts_like_labels(ten, number_of_topic[:10]) == texts[:10]
    eleven = pd.Series(texts, name="trust")
    assert columns.texts_like_labels(eleven, number_of_topic) == []


def findings(qrels: Any, aspect: str) -> list[str]:
    table = ma.describe(qrels).findings
    return [str(text) for text in table.loc[table["aspects"] == aspect, "finding"]]


DOORS = [by_experiment, by_evaluate]


# --- columns that become aspects without a sign -----------------------------------------------------


@pytest.mark.parametrize("evaluate", DOORS)
@pytest.mark.parametrize("measure", [CAM, TOMA])
def test_codes_of_ir_datasets_are_doubted(evaluate: Any, measure: Any) -> None:
    """TREC Misinformation 2019, as ``pt.get_dataset(…).get_qrels()`` returns it, with codes as effectiveness."""
    codes = [3, -1, 1, 2] * 2
    records = []
    for row, code in zip(QRELS.itertuples(), codes, strict=True):
        credibility = 1
        records.append(MisinfoQrel(row.qid, row.docno, row.label, code, credibility))
    qrels = pd.DataFrame(records).rename(
        columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    )
    with pytest.warns(ma.MultiAspectWarning) as caught:
        evaluate(qrels, measure)
    messages = [str(warning.message) for warning in caught]
    (message,) = [message for message in messages if "selected" in message]
    assert "effectiveness (codes of categories: effective, inconclusive, ineffective" in message
    assert "aspects=['relevance', 'credibility']" in message


@pytest.mark.parametrize("evaluate", DOORS)
def test_columns_of_a_merge_are_doubted(evaluate: Any) -> None:
    other = QRELS.assign(label=QRELS["trust"])
    qrels = QRELS.drop(columns="trust").merge(other.drop(columns="trust"), on=["qid", "docno"])
    with pytest.warns(ma.MultiAspectWarning) as caught:
        evaluate(qrels, TOMA)
    (message,) = (str(warning.message) for warning in caught if "selected" in str(warning.message))
    assert (
        "label_x (from a merge of two columns named label: rename it), label_y (from a merge"
        in message
    )
    assert any("merge" in text for text in findings(qrels, "label_x, label_y"))


@pytest.mark.every(3)
@pytest.mark.parametrize("evaluate", DOORS)
@pytest.mark.parametrize("name", ["label.1", "label_x", "Relevance", "Trust", "trust ", "trust.1"])
def test_columns_named_like_another_are_doubted(evaluate: Any, name: str) -> None:
    """As pandas names a repeated head, or as heads are typed twice."""
    with pytest.warns(ma.MultiAspectWarning, match="its name .* (relevance|trust)"):
        evaluate(QRELS.assign(**{name: 1 - QRELS["trust"]}), CAM)


@pytest.mark.parametrize("trust", [[0, 1, 2, 99], [0, 1, 1, 99]])
def test_codes_far_above_the_grades_are_doubted(trust: list[int]) -> None:
    with pytest.warns(ma.MultiAspectWarning, match="99 is far above its other values"):
        by_evaluate(QRELS.assign(trust=trust * 2), CAM)
    by_evaluate(QRELS.assign(trust=[0, 1, 2, 9, 0, 1, 2, 9]), CAM)


def test_a_name_that_ends_like_one_of_a_merge_is_not_doubted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ma.Judgments(QRELS.rename(columns={"trust": "trust_x"})).views(None)


@pytest.mark.parametrize("n_topics", [1, 2])
def test_text_labels_warn_in_small_frames_too(n_topics: int) -> None:
    """Under ten rows, they were left out without a word."""
    qrels = QRELS[: 4 * n_topics].assign(correct=(["yes", "no"] * 4)[: 4 * n_topics])
    with pytest.warns(ma.MultiAspectWarning, match=r"column correct contains text \('no', 'yes'\)"):
        ma.evaluate(RUN[: 4 * n_topics], qrels, CAM(aspects=None), progress=False)
    (text,) = findings(qrels, "correct")
    assert "contains text" in text


# --- columns of lists, dicts and arrays --------------------------------------------------------------

CONTAINERS = {
    "lists": [["yes", "no"]] * 8,
    "lists of numbers": [[1, 2]] * 8,
    "dicts": [{"text": "yes"}] * 8,
    "arrays": [np.array(["yes"], dtype=object)] * 8,
    "some": [None, ["a"], None, ["b", "c"], *[None] * 4],
    "empty": [[]] * 8,
    "sets": [{"a"}] * 8,
}


@pytest.mark.every(3)
@pytest.mark.filterwarnings(
    "ignore:.*the label scales, which were inferred:pt_multiaspect.MultiAspectWarning"
)
@pytest.mark.parametrize("evaluate", DOORS)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_columns_of_containers_are_ignored(evaluate: Any, kind: str) -> None:
    """Gold answers of pyterrier_rag: "unhashable type"."""
    qrels = QRELS.assign(gold_answer=pd.Series(CONTAINERS[kind], dtype=object))
    assert evaluate(qrels, TOMA) == by_evaluate(QRELS, TOMA)
    assert ma.Judgments(qrels).label_names == ("relevance", "trust")
    assert findings(qrels, "gold_answer") == []


@pytest.mark.every(2)
@pytest.mark.filterwarnings(
    "ignore:.*the label scales, which were inferred:pt_multiaspect.MultiAspectWarning"
)
@pytest.mark.parametrize("kind", ["lists", "lists of numbers", "dicts", "some", "empty"])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_containers_in_frames_of_other_libraries(library: str, kind: str) -> None:
    columns = {
        **{column: QRELS[column].tolist() for column in QRELS},
        "gold_answer": CONTAINERS[kind],
    }
    module = pytest.importorskip(library)
    qrels = module.DataFrame(columns) if library == "polars" else module.table(columns)
    assert by_evaluate(qrels, TOMA) == by_evaluate(QRELS, TOMA)
    ma.describe(qrels)


def test_arrays_of_polars() -> None:
    polars = pytest.importorskip("polars")
    qrels = polars.DataFrame({c: QRELS[c].tolist() for c in QRELS}).with_columns(
        polars.Series("vector", [[1.0, 2.0]] * 8, dtype=polars.Array(polars.Float64, 2))
    )
    assert ma.Judgments(qrels).label_names == ("relevance", "trust")


@pytest.mark.parametrize("kind", ["lists", "lists of numbers", "dicts", "arrays", "some"])
def test_containers_as_an_aspect_are_refused(kind: str) -> None:
    qrels = QRELS.assign(gold_answer=pd.Series(CONTAINERS[kind], dtype=object))
    with pytest.raises(
        ma.MultiAspectError, match=r"invalid label .* in column gold_answer for document"
    ):
        ma.evaluate(RUN, qrels, ma.On(aspect="gold_answer"), progress=False)


# --- two columns of relevance -----------------------------------------------------------------------


def test_label_and_relevance_name_pyterriers_renaming() -> None:
    with pytest.raises(
        ma.MultiAspectError, match=r"PyTerrier renames label to relevance.*drop or rename one"
    ):
        ma.evaluate(RUN, QRELS.assign(relevance=1), CAM, progress=False)


def test_label_and_relevance_in_an_experiment() -> None:
    with pytest.raises(ma.MultiAspectError, match="PyTerrier renames label to relevance"):
        pt.Experiment([RUN], TOPICS, QRELS.assign(relevance=1), [CAM])
    with pytest.raises(ma.MultiAspectError, match="PyTerrier renames label to relevance"):
        ir_measures.calc_aggregate(
            [CAM], pt.model.to_ir_measures(QRELS.assign(relevance=1)), pt.model.to_ir_measures(RUN)
        )


def test_a_column_of_lists_does_not_count() -> None:
    scales = {"relevance": 2, "trust": 1}
    qrels = QRELS.assign(gold_answer=pd.Series([["yes", "no"]] * 8, dtype=object))
    values, expected = (
        ma.evaluate(RUN, frame, CAM(aspects=scales), progress=False) for frame in (qrels, QRELS)
    )
    pd.testing.assert_frame_equal(values, expected)
