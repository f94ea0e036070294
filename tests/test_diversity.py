"""Diversity measures of ir-measures, which take the iteration of qrels for subtopics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import ERR_IA, NRBP, P_IA, StRecall, alpha_DCG, alpha_nDCG, nDCG, nNRBP

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning

#: In q1, d1 belongs to both subtopics, d2 to the first, d3 to the second; q2 judges d4 for both.
ROWS = [
    ("q1", "d1", 1, "1"),
    ("q1", "d1", 1, "2"),
    ("q1", "d2", 1, "1"),
    ("q1", "d2", 0, "2"),
    ("q1", "d3", 2, "2"),
    ("q2", "d4", 1, "1"),
    ("q2", "d4", 0, "2"),
    ("q2", "d5", 1, "2"),
]
LONG = pd.DataFrame(ROWS, columns=["query_id", "doc_id", "relevance", "iteration"])
RUN = {"q1": {"d2": 3.0, "d1": 2.0, "d3": 1.0}, "q2": {"d9": 2.0, "d5": 1.0}}
MEASURES = [
    alpha_nDCG @ 20,
    alpha_nDCG(alpha=0.2) @ 20,
    alpha_nDCG(rel=2) @ 5,
    alpha_DCG @ 10,
    ERR_IA @ 10,
    ir_measures.nERR_IA @ 10,
    NRBP,
    nNRBP(beta=0.8),
    ir_measures.AP_IA,
    P_IA @ 3,
    StRecall @ 1,
]
WIDE = {"q1": {"d1": {"relevance": 1, "credibility": 1}, "d2": {"relevance": 1, "credibility": 0}}}


class _Evaluator:
    """A back end that computes the fraction of subtopics at the first rank, for machines without pyndeval."""

    def __init__(self, measures: Iterable[Any], qrels: pd.DataFrame) -> None:
        self.measures, self.qrels = list(measures), qrels

    def iter_calc(self, run: pd.DataFrame) -> Iterator[ir_measures.Metric]:
        for measure in self.measures:
            for qid, judged in self.qrels[self.qrels["relevance"] >= measure["rel"]].groupby(
                "query_id"
            ):
                retrieved = (
                    run[run["query_id"] == qid]
                    .sort_values("score", ascending=False)["doc_id"]
                    .iloc[:1]
                )
                covered = judged["iteration"][judged["doc_id"].isin(retrieved)].nunique()
                yield ir_measures.Metric(qid, measure, covered / judged["iteration"].nunique())


@pytest.fixture
def strecall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ir_measures, "evaluator", _Evaluator)


def evaluate_run(qrels: Any, measures: Any, **options: Any) -> list[float]:
    return ma.evaluate({"mine": RUN}, qrels, measures, progress=False, **options)["value"].tolist()


@pytest.fixture
def pyndeval() -> ModuleType:
    return pytest.importorskip(
        "pyndeval", reason="the diversity measures of ir-measures require pyndeval"
    )


@pytest.mark.usefixtures("pyndeval")
def test_values_are_those_of_ir_measures() -> None:
    """One by one, as ir-measures computes only one α of several in one call."""
    table = ma.evaluate({"mine": RUN}, LONG, MEASURES, progress=False)
    values = {(row.measure, row.qid): row.value for row in table.itertuples()}
    for measure in MEASURES:
        for metric in ir_measures.iter_calc([measure], LONG, RUN):
            assert values[str(measure), metric.query_id] == metric.value, measure
    assert len(values) == 2 * len(MEASURES)
    assert values["ERR_IA@10", "q1"] < 1


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "qrels",
    [
        LONG,
        LONG.rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"}),
        LONG.rename(columns={"iteration": "subtopic"}),
        LONG.rename(columns={"iteration": "subtopic_id"}).astype({"subtopic_id": int}),
        LONG.assign(iteration=LONG["iteration"].astype("category")),
        LONG.sample(frac=1, random_state=0),
        [ir_measures.Qrel(*row) for row in ROWS],
        pd.concat([LONG, LONG]),
        pd.concat([LONG, LONG.iloc[:1].assign(relevance=np.nan, iteration="3")]),
    ],
    ids=[
        "frame",
        "pyterrier",
        "subtopic",
        "numbers",
        "category",
        "order",
        "namedtuples",
        "repeated",
        "missing",
    ],
)
@pytest.mark.usefixtures("strecall")
def test_subtopics_reach_the_back_end(qrels: Any) -> None:
    """The first document of q1, d2, has subtopic 1 of 1 and 2, with label 1; that of q2 has none."""
    assert evaluate_run(qrels, StRecall @ 1) == [1 / 2, 0.0]
    # Subtopic 2 of q1 alone has a label of at least 2, by another document.
    assert evaluate_run(qrels, StRecall(rel=2) @ 1) == [0.0, 0.0]


@pytest.mark.usefixtures("strecall")
def test_other_roads() -> None:
    assert evaluate_run(LONG, StRecall @ 1, average_over="positive") == [0.5, 0.0]
    with_q3 = pd.concat(
        [LONG, pd.DataFrame([("q3", "d1", 0, "1"), ("q3", "d1", 0, "2")], columns=LONG.columns)]
    )
    assert evaluate_run(with_q3, StRecall @ 1, average_over="positive") == [0.5, 0.0]
    runs = pd.DataFrame({"name": "mine", "qid": ["q1"], "docno": ["d2"], "score": 1.0})
    assert ma.evaluator(LONG, StRecall @ 1)(runs)["value"].tolist() == [0.5, 0.0]


@pytest.mark.usefixtures("strecall")
def test_values_do_not_depend_on_the_order_of_rows() -> None:
    """Of documents with equal scores, the last docno ranks first, as in trec_eval."""
    rows = [("q1", "d1", 1, "1"), ("q1", "d1", 1, "2"), ("q1", "d2", 1, "1"), ("q1", "d2", 0, "2")]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label", "subtopic"])
    for documents in (["d1", "d2"], ["d2", "d1"]):
        run = pd.DataFrame({"qid": "q1", "docno": documents, "score": 1.0})
        assert ma.evaluate(run, qrels, StRecall @ 1, progress=False)["value"].tolist() == [0.5]


@pytest.mark.usefixtures("strecall")
def test_pools_of_any_size() -> None:
    """A topic of nine documents, large enough for checks that labels are no scores, is evaluated too.

    Documents with an even number have subtopic 2, the others subtopic 1.
    """
    rows = []
    for number in range(9):
        has_subtopic_1 = number % 2
        rows.append(("q1", f"d{number}", has_subtopic_1, "1"))
        rows.append(("q1", f"d{number}", 1 - has_subtopic_1, "2"))
    qrels = pd.DataFrame(rows, columns=LONG.columns)
    # The first document of the run, d2, has one of the two subtopics.
    assert evaluate_run(qrels, StRecall @ 1) == [1 / 2]


@pytest.mark.usefixtures("strecall")
def test_a_repeated_evaluation_notices_other_subtopics() -> None:
    """Judgments of the same documents and labels are not taken for those of before."""
    assert evaluate_run(LONG, StRecall @ 1) == [1 / 2, 0.0]
    # The document d3 of q1 now has a subtopic of its own, the third of q1.
    subtopics_of_q1 = ["1", "2", "1", "2", "3"]
    subtopics_of_q2 = ["1", "2", "2"]
    other = LONG.assign(iteration=subtopics_of_q1 + subtopics_of_q2)
    assert evaluate_run(other, StRecall @ 1) == [pytest.approx(1 / 3), 0.0]


def test_qrels_without_subtopics_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyndeval prints a line, and computes all of them with one subtopic."""
    monkeypatch.setattr(ir_measures, "evaluator", lambda *args: pytest.fail("reached ir-measures"))
    without = LONG.drop(columns="iteration").drop_duplicates(["query_id", "doc_id"])
    for qrels in (WIDE, without):
        for measure in MEASURES:
            with pytest.raises(MultiAspectError, match=r"expected qrels.*subtopics") as error:
                evaluate_run(qrels, measure)
            assert f"use Subtopics(base='{measure}')" in str(error.value)
    for iteration in ("0", "Q0", ["1"] * 5 + ["2"] * 3):  # one per query
        with pytest.raises(MultiAspectError, match="got one value of iteration"):
            evaluate_run(LONG.assign(iteration=iteration, relevance=1), "alpha_nDCG@20")
    with pytest.raises(MultiAspectError, match=r"expected qrels.*subtopics"):
        ma.evaluator(without, "alpha_nDCG@20")


def test_a_back_end_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def evaluator(measures: Any, qrels: Any) -> Any:
        raise ValueError("Unsupported measures: pip install ir-measures[pyndeval]")

    monkeypatch.setattr(ir_measures, "evaluator", evaluator)
    with pytest.raises(
        MultiAspectError, match=r"ir-measures cannot compute alpha_nDCG@5: .*pyndeval"
    ):
        ma.evaluate({"run": RUN}, LONG, [alpha_nDCG @ 5], progress=False)


@pytest.mark.usefixtures("strecall")
def test_an_iteration_that_may_be_a_round_of_judging_is_reported() -> None:
    """It may if no document has two; a column named subtopic leaves no doubt."""
    one_per_document = LONG.drop_duplicates(["query_id", "doc_id"])
    with pytest.warns(MultiAspectWarning, match="two values of iteration"):
        evaluate_run(one_per_document, StRecall @ 1)
    evaluate_run(one_per_document.rename(columns={"iteration": "subtopic"}), StRecall @ 1)


@pytest.mark.usefixtures("strecall")
def test_iterations_beside_several_aspects_are_reported() -> None:
    """Judgments by subtopic have one column of labels, so that the iteration may be something else."""
    with pytest.warns(MultiAspectWarning, match="columns relevance, credibility"):
        evaluate_run(LONG.assign(credibility=1), StRecall @ 1)


def test_invalid_judgments_by_subtopic() -> None:
    twice = pd.concat([LONG, LONG.iloc[:1].assign(relevance=0)])
    cases = [
        (
            twice,
            StRecall @ 1,
            "expected one label for document d1, subtopic 1 of query q1, got 1, 0",
        ),
        (LONG.assign(relevance=0.5), StRecall @ 1, "expected integer labels, got 0.5"),
        (
            LONG.astype({"relevance": object}).replace(2, "x"),
            StRecall @ 1,
            "invalid label 'x' for document d3",
        ),
        (LONG.assign(iteration=None), StRecall @ 1, "expected a iteration in every row"),
        (
            LONG.assign(subtopic="1"),
            StRecall @ 1,
            "one column of subtopics, got iteration, subtopic; drop others",
        ),
        (LONG, StRecall, "StRecall requires a cutoff, as in StRecall@20"),
    ]
    for qrels, measure, message in cases:
        with pytest.raises(MultiAspectError, match=message):
            evaluate_run(qrels, measure)


def test_other_measures_on_judgments_by_subtopic() -> None:
    """A document has a label per subtopic, so that nDCG does not know which to take."""
    with pytest.raises(MultiAspectError, match="iteration contains subtopics, from_subtopics"):
        evaluate_run(LONG, [nDCG @ 10, alpha_nDCG @ 20])


def test_a_column_of_subtopics_is_no_aspect() -> None:
    """Though it has numbers as labels do."""
    qrels = pd.DataFrame(
        {
            "query_id": "q1",
            "doc_id": ["d1", "d2", "d3"],
            "relevance": [1, 1, 2],
            "subtopic": [1, 1, 2],
        }
    )
    assert ma.Judgments(qrels).label_names == ("relevance",)


def test_one_aspect_has_no_subtopics() -> None:
    """On one aspect, every document belongs to the same subtopic."""
    for make in (
        lambda: ma.On(base="alpha_nDCG@20"),
        lambda: ma.CAM(base=alpha_nDCG @ 20),
        lambda: ma.CAM(base={"relevance": "nDCG", "credibility": "ERR_IA@5"}),
        lambda: ma.model_selection.ranking_scorer(alpha_nDCG @ 20),
        lambda: ma.analysis.upper_bound(WIDE, alpha_nDCG @ 20),
        lambda: ma.explain(alpha_nDCG @ 20, RUN, WIDE, "q1"),
    ):
        with pytest.raises(MultiAspectError, match=r"use Subtopics\(base='|Use Subtopics\(base='"):
            make()
    assert ma.Subtopics(base="alpha_nDCG@20") == ma.Subtopics @ 20


@pytest.mark.slow
def test_parquet_files_keep_subtopics(strecall: None, tmp_path: Any) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    path = tmp_path / "qrels.parquet"
    for column in ("iteration", "subtopic", "subtopic_id"):
        long = LONG.rename(columns={"iteration": column})
        polars.DataFrame(long.to_dict("list")).write_parquet(path)
        read = ma.read_qrels(path)
        assert read.columns.tolist() == ["qid", "docno", "label", column]
        assert len(read) == len(LONG)
        assert evaluate_run(read, StRecall @ 1) == [0.5, 0.0]
        with pytest.raises(MultiAspectError, match=f"If the column {column} contains subtopics"):
            evaluate_run(read, nDCG @ 10)
    # An iteration that says nothing is left out, as before.
    polars.DataFrame(LONG.assign(iteration="0", relevance=1).to_dict("list")).write_parquet(path)
    assert ma.read_qrels(path).columns.tolist() == ["qid", "docno", "label"]
    polars.DataFrame(pd.concat([LONG, LONG.assign(relevance=0)]).to_dict("list")).write_parquet(
        path
    )
    with pytest.raises(MultiAspectError, match=r"expected one row.*q1, document d1, got different"):
        ma.read_qrels(path)
