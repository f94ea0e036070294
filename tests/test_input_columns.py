"""Measures whose functions read columns of runs and qrels that they name, as those of pyterrier_rag."""

from __future__ import annotations

from typing import Any

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from frame_world import evaluate_in_processes

import pt_multiaspect as ma


def exact_match(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    return float(
        run["qanswer"].iloc[0] in {answer for answers in qrels["gold_answer"] for answer in answers}
    )


def answer_length(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    return float(run["qanswer"].str.len().sum() + len(qrels) / 10)


EM = ir_measures.define_byquery(
    exact_match, name="EM", support_cutoff=False, run_inputs=["query_id", "qanswer"],
    qrel_inputs=["query_id", "gold_answer"],
)  # fmt: skip
LENGTH = ir_measures.define_byquery(
    answer_length, name="Length", run_inputs=["query_id", "qanswer"]
)
TOPICS = pd.DataFrame({"qid": ["q1", "q2", "q3"], "query": "a"})
QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q3"],
        "docno": ["d1", "d2", "d1", "d1"],
        "label": [1, 0, 1, 1],
        "gold_answer": pd.Series(
            [["Paris"], ["paris", "Paris, France"], ["42"], ["no"]], dtype=object
        ),
    }
)
RUN = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q3"],
        "docno": ["d2", "d9", "d1", "d1"],
        "score": [2.0, 1, 1, 1],
        "rank": 0,
        "qanswer": ["paris", "Rome", "41", "no"],
    }
)
OTHER = RUN.assign(qanswer=["Paris", "x", "42", "yes!"])
RUNS = {"one": RUN, "two": OTHER}
MEASURES = [EM, LENGTH, LENGTH @ 1, ir_measures.AP]


def by_experiment(measures: list[Any] = MEASURES) -> dict[tuple[str, str, str], float]:
    table = pt.Experiment(RUNS, TOPICS, QRELS, measures, perquery=True)
    return {
        tuple(row[:3]): row[3]
        for row in table[["name", "qid", "measure", "value"]].to_numpy().tolist()
    }


def by_evaluate(runs: Any, qrels: Any = QRELS) -> dict[tuple[str, str, str], float]:
    table = ma.evaluate(runs, qrels, MEASURES, progress=False)
    return {tuple(row[:3]): row[3] for row in table.to_numpy().tolist()}


def test_values_are_those_of_an_experiment() -> None:
    """They ended in KeyError: 'qanswer'."""
    expected = by_experiment()
    assert by_evaluate(RUNS) == expected
    assert expected["one", "q1", "EM"] == 1
    assert expected["two", "q3", "EM"] == 0


def test_frames_of_polars_and_files(tmp_path: Any) -> None:
    polars = pytest.importorskip("polars")
    frames = {name: polars.DataFrame(run.to_dict("list")) for name, run in RUNS.items()}
    qrels = polars.DataFrame(QRELS.to_dict("list"))
    expected = by_evaluate(RUNS)
    assert by_evaluate(frames, qrels) == expected
    for name, run in frames.items():
        run.write_parquet(tmp_path / f"{name}.parquet")
    files = {name: str(tmp_path / f"{name}.parquet") for name in RUNS}
    assert by_evaluate(files) == expected


@pytest.mark.slow
def test_evaluators_pass_them_too() -> None:
    evaluator = ma.evaluator(QRELS, MEASURES)
    table = evaluator(pd.concat([run.assign(name=name) for name, run in RUNS.items()]))
    assert {tuple(row[:3]): row[3] for row in table.to_numpy().tolist()} == by_evaluate(RUNS)
    table = evaluate_in_processes(RUNS, QRELS, MEASURES)
    assert {tuple(row[:3]): row[3] for row in table.to_numpy().tolist()} == by_evaluate(RUNS)


def test_runs_without_the_column_are_refused(tmp_path: Any) -> None:
    (tmp_path / "c.run").write_text("q1 Q0 d1 1 2 c\n")
    for run in (RUN.drop(columns="qanswer"), str(tmp_path / "c.run"), {"q1": {"d1": 1.0}}):
        with pytest.raises(
            ma.MultiAspectError, match=r"run one: expected the column qanswer, .*, got the columns"
        ):
            ma.evaluate({"one": run}, QRELS, MEASURES, progress=False)


def test_qrels_without_the_column_are_refused() -> None:
    with pytest.raises(
        ma.MultiAspectError, match=r"EM: expected columns of the qrels .*, got gold_answer"
    ):
        ma.evaluate(RUNS, QRELS.drop(columns="gold_answer"), MEASURES, progress=False)


def test_qrels_without_relevance() -> None:
    table = ma.evaluate(RUNS, QRELS.drop(columns="label"), EM, progress=False)
    expected = {key: value for key, value in by_experiment().items() if key[2] == "EM"}
    assert {tuple(row[:3]): row[3] for row in table.to_numpy().tolist()} == expected


def test_all_rows_of_the_qrels_are_passed() -> None:
    """Also repeated pairs, and those without a label of relevance; EM is whether the answer is a gold one."""
    # The run answers "paris", "41" and "no".
    gold_answers = [["Paris"], ["paris"], ["42"], ["41"], ["no"]]
    qrels = pd.DataFrame(
        {
            "qid": ["q1", "q1", "q2", "q2", "q3"],
            "docno": ["d1", "d2", "d1", "d1", "d1"],
            "label": [1, 0, 1, 1, None],
            "gold_answer": pd.Series(gold_answers, dtype=object),
        }
    )
    by_evaluate = ma.evaluate(RUN, qrels, EM, progress=False)
    by_experiment = pt.Experiment([RUN], TOPICS, qrels, [EM], perquery=True)
    assert by_evaluate["value"].tolist() == [1, 1, 1]
    assert by_experiment["value"].tolist() == [1, 1, 1]


def test_a_function_that_does_not_name_its_columns() -> None:
    unnamed = ir_measures.define_byquery(exact_match, name="Unnamed")
    with pytest.raises(
        ma.MultiAspectError, match=r"Unnamed.*no column 'qanswer'.*run_inputs=.*qrel_inputs="
    ):
        ma.evaluate(RUN, QRELS, unnamed, progress=False)
