"""Measures of generated answers beside measures of the retrieval, as of pipelines of pyterrier_rag."""

from __future__ import annotations

import importlib
import pickle
import re
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from frame_world import evaluate_in_processes
from ir_measures import AP, nDCG

import pt_multiaspect as ma
from pt_multiaspect import Judgments


def golds(qrels: pd.DataFrame) -> list[str]:
    """The gold answers of a topic, in lists or one in each row."""
    cells = qrels["gold_answer"]
    return [answer for cell in cells for answer in ([cell] if isinstance(cell, str) else cell)]


def exact_match(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    return float(run["qanswer"].iloc[0] in golds(qrels))


def word_overlap(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    """F1 of words, the highest over the gold answers."""
    words = set(run["qanswer"].iloc[0].split())
    return max(
        2 * len(words & set(gold.split())) / (len(words) + len(gold.split()))
        for gold in golds(qrels)
    )


def length(qrels: pd.DataFrame, run: pd.DataFrame) -> int:
    return len(run["qanswer"].iloc[0])


def row_score(qrels: pd.DataFrame, run: pd.DataFrame) -> float:
    """Like ROUGE of pyterrier_rag."""
    assert len(qrels) == 1
    assert len(run) == 1
    return exact_match(qrels, run)


def define_measure(function: Callable[..., float], name: str, *columns: str) -> Any:
    return ir_measures.define_byquery(
        function, name=name, support_cutoff=False, run_inputs=["qanswer"], qrel_inputs=list(columns)
    )


EM, F1, ROUGE = (
    define_measure(function, name, "gold_answer")
    for function, name in ((exact_match, "EM"), (word_overlap, "F1"), (row_score, "ROUGE"))
)
LENGTH = define_measure(length, "AnswerLen")
SCALES = ma.Aspects({"relevance": 2, "credibility": 1})
CAM, TOMA = ma.CAM(aspects=SCALES) @ 5, ma.TOMA(aspects=SCALES) @ 5
OF_ANSWERS = [EM, F1, LENGTH]
OF_RANKINGS = [nDCG @ 5, AP, CAM, TOMA, ma.MM(base="AP", aspects=SCALES)]
MEASURES = [*OF_ANSWERS, *OF_RANKINGS]

TOPICS = pd.DataFrame(
    {"qid": ["q1", "q2", "q3", "q4"], "query": ["when", "how many", "how old", "who"]}
)
QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q3", "q3", "q4"],
        "docno": ["d1", "d2", "d1", "d1", "d3", "d4"],
        "label": [2, 1, 1, 0, 2, 1],
        "credibility": [0, 1, 1, 1, 0, 1],
    }
)
GOLD = pd.DataFrame(
    {
        "qid": ["q1", "q2", "q3", "q4"],
        "gold_answer": [["in 1998", "1998"], ["42"], ["7", "7 years"], ["11"]],
    }
)
RANKINGS = pd.DataFrame(
    [("q1", "d2", 3.0), ("q1", "d1", 2.0), ("q2", "d9", 1.0), ("q3", "d3", 2.0), ("q3", "d1", 1.0)],
    columns=["qid", "docno", "score"],
)
LAST_TWO = RANKINGS.assign(score=[2.0, 3.0, 1.0, 1.0, 2.0])
#: No document was retrieved for q4, so that there is no answer.
ANSWERS = {
    "one": {"q1": "1998", "q2": "41", "q3": "7 long years"},
    "two": {"q1": "in May 1998", "q2": "42", "q3": ""},
}
#: By hand. F1 of "7 long years" and "7 years" is 2 · 2 / (3 + 2).
BY_HAND = {
    "one": {"EM": [1, 0, 0, 0], "F1": [1, 0, 0.8, 0], "AnswerLen": [4, 2, 12, 0]},
    "two": {"EM": [0, 1, 0, 0], "F1": [0.8, 1, 0, 0], "AnswerLen": [11, 2, 0, 0]},
}


class Retriever(pt.Transformer):
    def __init__(self, rankings: pd.DataFrame) -> None:
        self.rankings = rankings

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return inp.merge(self.rankings, on="qid").assign(rank=0)


class Reader(pt.Transformer):
    """Adds the answer to each row of the ranking."""

    def __init__(self, answers: str = "one") -> None:
        self.answers = answers

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return inp.assign(qanswer=inp["qid"].map(ANSWERS[self.answers]).astype(object))


class AloneReader(Reader):
    """Returns one row per topic, as readers of pyterrier_rag do."""

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        return super().transform(inp)[["qid", "query", "qanswer"]].drop_duplicates("qid")


PIPELINES = {
    "one": Retriever(RANKINGS) >> Reader("one"),
    "two": Retriever(LAST_TWO) >> Reader("two"),
}
RUNS = {name: pipeline(TOPICS) for name, pipeline in PIPELINES.items()}
ALONE = (Retriever(RANKINGS) >> AloneReader())(TOPICS)


def cells(make: Callable[[list[str]], Any]) -> pd.DataFrame:
    """Qrels with the gold answers of the topic in each row."""
    column = pd.Series([make(answers) for answers in GOLD["gold_answer"]], dtype=object)
    return QRELS.merge(GOLD.assign(gold_answer=column), on="qid", how="left")


EXPLODED = QRELS.merge(GOLD.explode("gold_answer"), on="qid", how="left")
LISTS = cells(list)
FORMS = {
    "lists": LISTS,
    "arrays": cells(lambda answers: np.array(answers, dtype=object)),
    "tuples": cells(tuple),
    "a row for each": EXPLODED,
    "categories": EXPLODED.assign(gold_answer=EXPLODED["gold_answer"].astype("category")),
}
AS_FORMS = pytest.mark.parametrize("qrels", FORMS.values(), ids=list(FORMS))

Values = dict[tuple[str, str, str], float]


def values_of(table: pd.DataFrame) -> Values:
    return {
        tuple(row[:3]): row[3]
        for row in table[["name", "qid", "measure", "value"]].to_numpy().tolist()
    }


@pytest.fixture(scope="module")
def expected() -> Values:
    """Each measure alone: those of answers by hand, of rankings on judgments and runs that know no answers."""
    values = {
        (name, qid, measure): float(value)
        for name, by_measure in BY_HAND.items()
        for measure, by_topic in by_measure.items()
        for qid, value in zip(TOPICS["qid"], by_topic, strict=True)
    }
    qrels = pt.model.to_ir_measures(QRELS)
    for name, rankings in (("one", RANKINGS), ("two", LAST_TWO)):
        run = pt.model.to_ir_measures(rankings)
        for measure in OF_RANKINGS:
            for metric in ir_measures.iter_calc([measure], qrels, run):
                values[name, metric.query_id, str(measure)] = metric.value
    assert len(values) == 2 * 4 * len(MEASURES)
    return values


# --- the right numbers ------------------------------------------------------------------------


@pytest.mark.every(8)
@AS_FORMS
@pytest.mark.parametrize(
    "options",
    [{}, {"batch_size": 2}, {"plan": "tree"}, {"filter_by_qrels": True}],
    ids=["", "batches", "tree", "filtered"],
)
def test_one_experiment(options: dict[str, Any], qrels: pd.DataFrame, expected: Values) -> None:
    def experiment(systems: list[Any]) -> Values:
        return values_of(
            pt.Experiment(
                systems, TOPICS, qrels, MEASURES, names=list(RUNS), perquery=True, **options
            )
        )

    assert experiment(list(PIPELINES.values())) == expected
    if not options:
        assert experiment(list(RUNS.values())) == expected
        with ma.accelerate():
            assert experiment(list(PIPELINES.values())) == pytest.approx(expected, abs=1e-12)


@pytest.mark.every(6)
@AS_FORMS
def test_evaluate(qrels: pd.DataFrame, expected: Values) -> None:
    assert values_of(ma.evaluate(RUNS, qrels, MEASURES, progress=False)) == pytest.approx(
        expected, abs=1e-12
    )
    pipeline_values = ma.evaluate(PIPELINES, qrels, MEASURES, topics=TOPICS)
    assert values_of(pipeline_values) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lists", "a row for each"])
def test_evaluate_in_processes(form: str, expected: Values) -> None:
    table = evaluate_in_processes(RUNS, FORMS[form], MEASURES)
    assert values_of(table) == pytest.approx(expected, abs=1e-12)


def test_answers_in_columns_of_arrow(expected: Values) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    strings = pd.ArrowDtype(pyarrow.list_(pyarrow.string()))
    qrels = LISTS.assign(gold_answer=LISTS["gold_answer"].astype(strings))
    table = pt.Experiment(
        list(RUNS.values()), TOPICS, qrels, MEASURES, names=list(RUNS), perquery=True
    )
    assert values_of(table) == expected


def test_tables_define_no_measure_by_itself() -> None:
    """The notes said EM: EM, of a measure that no name stands for."""
    values = ma.evaluate(RUNS, LISTS, [EM, ma.alias("exact", EM), CAM], progress=False)
    notes = str(ma.systems_table(values, notes="full"))
    assert "EM: EM" not in notes
    assert "exact: EM" in notes
    assert re.search(r"CAM@5: [^:]*: CAM\(", notes)


# --- what answers are not ---------------------------------------------------------------------


@pytest.mark.every(5)
@pytest.mark.parametrize("column", ["gold_answer", "gold_answers", "golden_answers", "qanswer"])
@pytest.mark.parametrize(
    "answers", [["1998", "42", "7", "11"], [1, 0, 1, 0], ["yes", "no", "yes", "no"]]
)
def test_answers_are_no_aspect(column: str, answers: list[Any]) -> None:
    """Numbers, also as text, were: CAM without `aspects` averaged over them."""
    qrels = QRELS.assign(
        **{column: QRELS["qid"].map(dict(zip(TOPICS["qid"], answers, strict=True)))}
    )
    assert Judgments(qrels).label_names == ("relevance", "credibility")
    judged = [ma.CAM(base="AP"), ma.MM(base="AP", aspects=SCALES)]
    table = pt.Experiment(
        list(RUNS.values()), TOPICS, qrels, judged, names=list(RUNS), perquery=True
    )
    plain = pt.Experiment(
        list(RUNS.values()), TOPICS, QRELS, judged, names=list(RUNS), perquery=True
    )
    assert values_of(table) == values_of(plain)


def test_answers_are_no_criterion() -> None:
    """An answer of "1" was the value 1 of a criterion qanswer."""
    judged = pd.DataFrame(
        {"qid": ["q1"], "name": ["mine"], "qanswer": ["1"], "gold_answer": ["1"], "faithful": [0.5]}
    )
    assert ma.answers.from_criteria(judged)["measure"].tolist() == ["faithful"]


@pytest.mark.parametrize("form", ["lists", "a row for each"])
def test_judgments_of_files_have_no_answers(form: str, tmp_path: Any) -> None:
    pytest.importorskip("pyarrow")
    FORMS[form].to_parquet(tmp_path / "qrels.parquet")
    read = ma.read_qrels(str(tmp_path / "qrels.parquet"))
    pd.testing.assert_frame_equal(read, QRELS, check_dtype=False)


@pytest.mark.parametrize(
    "cell", [lambda: [np.array(["a", "b"])], lambda: {"answers": np.array(["a", "b"])}]
)
def test_columns_that_pandas_cannot_compare(cell: Callable[[], Any]) -> None:
    """The second experiment ended in an error of NumPy, before pandas 3."""
    for _ in range(2):
        qrels = QRELS.assign(details=pd.Series([cell() for _ in range(len(QRELS))], dtype=object))
        table = pt.Experiment(list(RUNS.values()), TOPICS, qrels, [CAM], perquery=True)
        assert len(table) == 8


# --- other processes --------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [EM, ma.alias("exact", EM)], ids=["measure", "label"])
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_grid_searches(jobs: int, metric: Any) -> None:
    """Also with two jobs, although the class of EM, which a function defines, cannot be pickled."""
    reader = Reader()
    pipeline, grid = Retriever(RANKINGS) >> reader, {reader: {"answers": ["one", "two"]}}
    value, setting = pt.GridSearch(
        pipeline, grid, TOPICS[:2], LISTS, metric=metric, jobs=jobs, return_type="best_setting"
    )
    # The answers "one" match on q1 alone, those of "two" on neither; q3 and q4 of the qrels count 0.
    assert value == (1 + 0 + 0 + 0) / 4
    ((_, parameter, best_option),) = setting
    assert (parameter, best_option) == ("answers", "one")
    scan = pt.GridScan(pipeline, grid, TOPICS, LISTS, metrics=[F1, CAM], jobs=jobs)
    f1_of_one = (1 + 0 + 0.8 + 0) / 4
    f1_of_two = (0.8 + 1 + 0 + 0) / 4
    assert scan["F1"].tolist() == pytest.approx([f1_of_one, f1_of_two])


def test_tables_are_pickled(tmp_path: Any) -> None:
    """Although the class of a measure that a function defines cannot be pickled."""
    table = pt.Experiment([RUNS["one"]], TOPICS, LISTS, [EM, ma.alias("exact", F1)], perquery=True)
    table.to_pickle(tmp_path / "values.pkl")
    restored = pd.read_pickle(tmp_path / "values.pkl")
    assert ma.aggregate(restored).equals(ma.aggregate(table))


def test_aliases_of_measures_of_answers_are_pickled() -> None:
    alias = pickle.loads(pickle.dumps(ma.alias("exact", EM)))
    qrels = pt.model.to_ir_measures(LISTS[LISTS["qid"] == "q1"])
    run = pt.model.to_ir_measures(RUNS["one"][RUNS["one"]["qid"] == "q1"])
    (metric,) = ir_measures.iter_calc([alias.measure], qrels, run)
    assert (metric.query_id, metric.value) == ("q1", 1)  # the answer "1998" is a gold one


# --- errors with a remedy ---------------------------------------------------------------------

NO_DOCNO = r"Answers have no docno.*ranking\.merge\(answers\[\['qid', 'qanswer'\]\].*pt_multiaspect\.answers"


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda: pt.Experiment([ALONE], TOPICS, LISTS, [EM, CAM]),
        lambda: pt.Experiment([ALONE], TOPICS, LISTS, [EM, nDCG @ 5]),
        lambda: pt.Experiment([Retriever(RANKINGS) >> AloneReader()], TOPICS, LISTS, MEASURES, batch_size=2),
        lambda: pt.Evaluate(ALONE, LISTS, [nDCG @ 5, EM]),
        lambda: ma.evaluate(ALONE, LISTS, [EM, CAM], progress=False),
        lambda: ma.evaluate(ALONE, LISTS, EM, progress=False),
        lambda: ma.evaluate(Retriever(RANKINGS) >> AloneReader(), LISTS, CAM, topics=TOPICS),
        lambda: ma.explain(CAM, ALONE, LISTS, "q1"),
        lambda: ma.describe(LISTS, runs={"mine": ALONE}),
        lambda: ma.report({"mine": ALONE}, LISTS, [CAM], progress=False),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Experiment Pipeline Validation|The following pipelines")
def test_answers_without_documents(evaluate: Callable[[], Any]) -> None:
    with pytest.raises(ma.MultiAspectError, match=NO_DOCNO):
        evaluate()


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda: pt.Experiment([RUNS["one"]], TOPICS, GOLD, [EM, CAM]),
        lambda: pt.Experiment([RUNS["one"]], TOPICS, GOLD, [EM, nDCG @ 5]),
        lambda: ma.evaluate(RUNS, GOLD, [EM, CAM], progress=False),
    ],
)
def test_gold_answers_without_documents(evaluate: Callable[[], Any]) -> None:
    remedy = r"qrels: .*qrels\.merge\(answers, on='qid', how='left'\)"
    with pytest.raises(ma.MultiAspectError, match=remedy):
        evaluate()


@pytest.mark.parametrize("accelerated", [False, True])
def test_answers_alone_need_no_documents(accelerated: bool, expected: Values) -> None:
    """ALONE has one row per topic, and GOLD the gold answers; their values join those of rankings."""
    with ma.accelerate() if accelerated else nullcontext():
        answers = pt.Experiment(
            [ALONE], TOPICS, GOLD, [*OF_ANSWERS, ROUGE], names=["one"], perquery=True
        )
    rankings = ma.evaluate({"one": RUNS["one"]}, QRELS, OF_RANKINGS, progress=False)
    values = values_of(pd.concat([answers, rankings], ignore_index=True))
    expected_of_one = {key: value for key, value in expected.items() if key[0] == "one"}
    # ROUGE here is exact match of single rows.
    for qid, value in zip(TOPICS["qid"], BY_HAND["one"]["EM"], strict=True):
        expected_of_one["one", qid, "ROUGE"] = value
    assert values == pytest.approx(expected_of_one, abs=1e-12)


def test_functions_that_fail() -> None:
    """The error named all measures, and not what was raised."""
    with pytest.raises(
        ma.MultiAspectError,
        match=r"(?s)of ROUGE raised AssertionError.*all rows of a topic.*Experiment",
    ):
        ma.evaluate(RUNS, LISTS, [*MEASURES, ROUGE], progress=False)
    missing = QRELS.merge(GOLD[:2], on="qid", how="left")
    with pytest.raises(
        ma.MultiAspectError, match=r"of EM raised TypeError: 'float' object.*missing"
    ):
        ma.evaluate(RUNS, missing, [EM, nDCG], progress=False)
    upper = define_measure(lambda qrels, run: float(run["qanswer"].iloc[0].isupper()), "Upper")
    with pytest.raises(ma.MultiAspectError, match=r"of Upper raised AttributeError: .*missing"):
        ma.evaluate(RUNS["one"].assign(qanswer=np.nan), LISTS, upper, progress=False)


# --- pyterrier_rag itself ---------------------------------------------------------------------


@pytest.fixture
def rag() -> ModuleType:
    """The measures of the extra `rag`, which CI does not install, as it requires PyTorch."""
    pytest.importorskip("pyterrier_rag")
    return importlib.import_module("pyterrier_rag.measures")


def test_measures_of_pyterrier_rag(rag: ModuleType, expected: Values) -> None:
    measures = [rag.EM, rag.F1, rag.AnswerLen, *OF_RANKINGS]
    systems = list(PIPELINES.values())
    table = pt.Experiment(systems, TOPICS, EXPLODED, measures, names=list(RUNS), perquery=True)
    assert values_of(table) == pytest.approx(expected)
    table = ma.evaluate(RUNS, EXPLODED, measures, progress=False)
    assert values_of(table) == pytest.approx(expected)


def test_measures_of_pyterrier_rag_in_grid_searches(rag: ModuleType) -> None:
    """On q1, the answer of "one" is a gold one."""
    reader = Reader()
    pipeline, grid = Retriever(RANKINGS) >> reader, {reader: {"answers": ["two", "one"]}}
    _, setting = pt.GridSearch(
        pipeline, grid, TOPICS[:1], EXPLODED, metric=rag.EM, jobs=2, return_type="best_setting"
    )
    ((_, _, best_option),) = setting
    assert best_option == "one"


def test_measures_of_pyterrier_rag_on_answers_alone(rag: ModuleType) -> None:
    metrics = [rag.ROUGE1F, rag.AnswerLen]
    table = pt.Experiment([ALONE], TOPICS, GOLD, metrics, names=["one"], perquery=True)
    # Of "7 long years" against "7", the first of the gold answers: precision 1/3, recall 1.
    f1 = 2 * (1 / 3) * 1 / (1 / 3 + 1)
    assert values_of(table)["one", "q3", "ROUGE1F"] == pytest.approx(f1)


def test_errors_of_measures_of_pyterrier_rag_name_the_measure(rag: ModuleType) -> None:
    """They want one row per topic (ROUGE1F), or one gold answer per row (EM)."""
    with pytest.raises(
        ma.MultiAspectError, match=r"of ROUGE1F raised AssertionError.*one row each.*pt.Experiment"
    ):
        ma.evaluate(RUNS, LISTS, [rag.ROUGE1F], progress=False)
    with pytest.raises(ma.MultiAspectError, match=r"of EM raised AttributeError: 'list'"):
        ma.evaluate(RUNS, LISTS, [rag.EM], progress=False)
