"""Pipelines of PyTerrier in place of runs, with topics as in pt.Experiment."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import ir_measures
import pandas as pd
import pyterrier as pt
import pytest
from door_world import (
    CAM_10,
    FIRST,
    QRELS,
    SCORES,
    SYSTEM_NAMES,
    SYSTEMS,
    TOMA_10,
    TOPICS,
    run_python,
)

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError
from pt_multiaspect.io.pipelines import select_topics

MEASURES = [CAM_10, TOMA_10, ma.CAM(base="AP"), ir_measures.nDCG @ 10, ir_measures.AP]
NAMED = dict(zip(SYSTEM_NAMES, SYSTEMS, strict=True))


class Counted(pt.Transformer):
    """A pipeline that counts how often it runs."""

    def __init__(self, pipeline: pt.Transformer) -> None:
        self.pipeline, self.times = pipeline, 0

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        self.times += 1
        return self.pipeline(inp)

    def __repr__(self) -> str:
        return "Counted()"


class WithTopics:
    """The interface of a dataset of PyTerrier."""

    def get_topics(self) -> pd.DataFrame:
        return TOPICS


def assert_as_experiment(values: pd.DataFrame, topics: pd.DataFrame = TOPICS) -> None:
    expected = pt.Experiment(
        SYSTEMS, topics, QRELS, MEASURES, names=SYSTEM_NAMES, perquery=True
    ).dropna()
    keys = ["name", "qid", "measure"]
    result, wanted = (frame.set_index(keys)["value"].sort_index() for frame in (values, expected))
    assert result.index.tolist() == wanted.index.tolist()
    assert (result - wanted).abs().max() < 1e-12


@pytest.mark.parametrize("topics", [TOPICS, WithTopics()])
def test_values_are_those_of_an_experiment(topics) -> None:
    assert_as_experiment(ma.evaluate(NAMED, QRELS, MEASURES, topics=topics))


def test_robustness_of_pipelines_is_that_of_their_runs() -> None:
    some = TOPICS[TOPICS["qid"].isin(["q1", "q2"])]
    runs = {name: system.transform(some) for name, system in NAMED.items()}
    found = ma.robustness(NAMED, QRELS, CAM_10, topics=some)
    pd.testing.assert_frame_equal(
        found.table, ma.robustness(runs, QRELS, CAM_10, topics=some).table
    )
    judged = QRELS[QRELS["qid"].isin(some["qid"])]
    pd.testing.assert_frame_equal(found.table, ma.robustness(runs, judged, CAM_10).table)


@pytest.mark.every(3)
@pytest.mark.parametrize("form", ["frame", "judgments", "dict", "tuples"])
def test_only_the_judgments_of_the_topics_count(form) -> None:
    """Also for inferred scales, whose highest grades may be on other topics only."""
    some_topics = TOPICS[TOPICS["qid"].isin(["q1", "q2"])]
    ir_names = QRELS.rename(columns={"label": "relevance"})
    qrels: Any = QRELS
    if form == "judgments":
        qrels = ma.Judgments(QRELS)
    elif form == "dict":
        qrels = {}
        for row in ir_names.to_dict("records"):
            qid, docno = row.pop("qid"), row.pop("docno")
            qrels.setdefault(qid, {})[docno] = row  # the labels by aspect
    elif form == "tuples":
        qrels = ir_names.itertuples(index=False)
    values = ma.evaluate(NAMED, qrels, MEASURES, topics=some_topics)
    assert sorted(set(values["qid"])) == ["q1", "q2"]
    assert_as_experiment(values, some_topics)


def test_columns_without_names_stay_without() -> None:
    """Labels in tuples have no names; declared aspects name them by position, also if topics are chosen."""
    qrels = {"q1": {"d1": (1, 0), "d2": (0, 2)}, "q2": {"d1": (0, 1)}}
    of_q1 = {"q1": {"d1": (1, 0), "d2": (0, 2)}}
    topics = pd.DataFrame({"qid": ["q1"], "query": ["a"]})
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [2.0, 1.0]})
    measure = ma.CAM(base="AP", aspects={"rel": 1, "cred": 2})

    pipeline = pt.Transformer.from_df(run)
    result = ma.evaluate({"run": pipeline}, qrels, measure, topics=topics)

    expected = ma.evaluate({"run": run}, of_q1, measure)
    assert result["value"].tolist() == expected["value"].tolist()


def test_names_are_those_of_an_experiment() -> None:
    table = pt.Experiment([FIRST, SYSTEMS[1]], TOPICS, QRELS, [CAM_10])
    values = ma.evaluate([FIRST, SYSTEMS[1]], QRELS, CAM_10, topics=TOPICS)
    assert ma.aggregate(values)["name"].tolist() == table["name"].tolist()
    composed = SYSTEMS[1]  # an iterable of its transformers
    assert set(ma.evaluate(composed, QRELS, CAM_10, topics=TOPICS)["name"]) == {str(composed)}


def test_runs_and_pipelines_together_also_of_a_generator() -> None:
    def pairs() -> Iterator[tuple[str, Any]]:
        for name, system in NAMED.items():
            yield name, system.transform(TOPICS) if name == "more" else system

    assert_as_experiment(ma.evaluate(dict(pairs()), QRELS, MEASURES, topics=TOPICS))
    assert_as_experiment(ma.evaluate(pairs(), QRELS, MEASURES, topics=TOPICS))


def test_each_pipeline_runs_once_per_call() -> None:
    counted = {name: Counted(system) for name, system in NAMED.items()}
    calls = {
        "evaluate": lambda: ma.evaluate(counted, QRELS, MEASURES, topics=TOPICS),
        "report": lambda: ma.report(counted, QRELS, "CAM@10", topics=TOPICS, progress=False),
        "describe": lambda: ma.describe(QRELS, runs=counted, topics=TOPICS),
        "robustness": lambda: ma.robustness(counted, QRELS, CAM_10, topics=TOPICS),
    }
    for times, call in enumerate(calls.values(), 1):
        call()
        assert [pipeline.times for pipeline in counted.values()] == [times] * len(counted)
    ma.explain(CAM_10, counted["first"], QRELS, "q1", topics=TOPICS)
    assert counted["first"].times == len(calls) + 1


def test_qrels_are_read_before_pipelines_run() -> None:
    counted, faulty = Counted(FIRST), QRELS.drop(columns="docno")
    calls: list[Callable[[], object]] = [
        lambda: ma.evaluate(counted, faulty, CAM_10, topics=TOPICS),
        lambda: ma.report(counted, faulty, CAM_10, topics=TOPICS, progress=False),
        lambda: ma.describe(faulty, runs=counted, topics=TOPICS),
        lambda: ma.explain(CAM_10, counted, faulty, "q1", topics=TOPICS),
    ]
    for call in calls:
        with pytest.raises(MultiAspectError, match="docno"):
            call()
    assert counted.times == 0


@pytest.mark.slow
def test_reports_of_pipelines_are_those_of_their_runs() -> None:
    topics = TOPICS[:3]
    qrels = QRELS[QRELS["qid"].isin(topics["qid"])]
    runs = {name: pipeline.transform(topics) for name, pipeline in NAMED.items()}
    of_pipelines = ma.report(NAMED, QRELS, "CAM@10", topics=topics, progress=False)
    of_runs = ma.report(runs, qrels, "CAM@10", progress=False)
    pd.testing.assert_frame_equal(of_pipelines.perquery, of_runs.perquery)
    assert str(of_pipelines.description) == str(of_runs.description)


@pytest.mark.slow
def test_descriptions_and_explanations_of_pipelines_are_those_of_their_runs() -> None:
    topics = TOPICS[:3]
    qrels = QRELS[QRELS["qid"].isin(topics["qid"])]
    runs = {name: pipeline.transform(topics) for name, pipeline in NAMED.items()}
    description = ma.describe(QRELS, runs=NAMED, topics=topics)
    assert str(description) == str(ma.describe(qrels, runs=runs))
    name = SYSTEM_NAMES[1]
    explanation = ma.explain(CAM_10, {name: NAMED[name]}, QRELS, "q1", topics=topics)
    assert str(explanation) == str(ma.explain(CAM_10, {name: runs[name]}, qrels, "q1"))


def test_topics_select_the_judgments_that_are_described_without_runs() -> None:
    some = TOPICS[:3]
    assert str(ma.describe(QRELS, topics=some)) == str(
        ma.describe(QRELS[QRELS["qid"].isin(some["qid"])])
    )


CALLS = {
    "evaluate": lambda runs, **topics: ma.evaluate(runs, QRELS, CAM_10, **topics),
    "report": lambda runs, **topics: ma.report(runs, QRELS, CAM_10, progress=False, **topics),
    "describe": lambda runs, **topics: ma.describe(QRELS, runs=runs, **topics),
    "explain": lambda runs, **topics: ma.explain(CAM_10, runs, QRELS, "q1", **topics),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("runs", "topics", "message"),
    [
        (FIRST, None, r"the pipeline .* requires topics: pass topics=\.\.\., as in pt.Experiment, or its run"),
        ({"mine": FIRST}, None, "the pipeline mine requires topics"),
        (FIRST, "topics.txt", "topics: expected a DataFrame or a dataset of PyTerrier, got 'topics.txt'; "),
        (FIRST, ["q1"], "topics: expected a DataFrame with a column qid, or a dataset"),
        (FIRST, TOPICS.rename(columns={"qid": "id"}), "topics: expected at least one row, and a column qid"),
        (FIRST, TOPICS[:0], "topics: expected at least one row, and a column qid, got 0 rows"),
        (FIRST, TOPICS.assign(qid="x"), "no query in common: .* such as x, x, x, "),
        (
            {"mine": pt.apply.generic(lambda topics: topics)},
            TOPICS,
            ("the pipeline mine: expected the columns qid, docno and score .* got no docno and no "
            "score but"),
        ),
        ({"mine": pt.apply.generic(lambda _: SCORES[:0])}, TOPICS, "the pipeline mine retrieves no document"),
    ],
)  # fmt: skip
def test_errors_are_one_line(call, runs, topics, message) -> None:
    with pytest.raises(MultiAspectError, match=message) as caught:
        call(runs, **({} if topics is None else {"topics": topics}))
    assert "\n" not in str(caught.value)


def test_names_are_checked_before_a_pipeline_runs() -> None:
    counted = Counted(FIRST)
    with pytest.raises(MultiAspectError, match=r"expected distinct names, got.*Counted\(\)"):
        ma.evaluate([counted, counted], QRELS, CAM_10, topics=TOPICS)
    assert counted.times == 0


def test_runs_are_evaluated_on_the_topics_that_are_given() -> None:
    """As `pt.Experiment` does, also if no system is a pipeline."""
    some = TOPICS[:3]
    run = FIRST.transform(TOPICS)
    table = pt.Experiment([run], some, QRELS, [CAM_10], names=["mine"])
    for runs in ({"mine": run}, (pair for pair in [("mine", run)])):
        values = ma.evaluate(runs, QRELS, CAM_10, topics=some)
        assert set(values["qid"]) == set(some["qid"])
        assert values["value"].mean() == pytest.approx(table[str(CAM_10)][0], abs=1e-12)
    explanation = ma.explain(CAM_10, run, QRELS, "q1", topics=some)
    assert explanation.value == values.set_index("qid")["value"]["q1"]


def test_functions_without_topics_name_the_run() -> None:
    values = ma.evaluate(NAMED, QRELS, [CAM_10, TOMA_10], topics=TOPICS)
    with pytest.raises(MultiAspectError, match=r"its run, pipeline\.transform\(topics\)"):
        ma.analysis.zero_aspect_documents(values, NAMED, QRELS)


def test_errors_of_pipelines_are_their_own() -> None:
    def fails(_: pd.DataFrame) -> pd.DataFrame:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ma.evaluate(pt.apply.generic(fails), QRELS, CAM_10, topics=TOPICS)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "options", "shown"), [
    (Terminal, {}, True), (Terminal, {"progress": False}, False), (io.StringIO, {}, False),
])  # fmt: skip
def test_progress_is_shown_in_a_terminal(monkeypatch, stream, options, shown) -> None:
    monkeypatch.setattr("sys.stderr", stream())
    ma.evaluate(NAMED, QRELS, CAM_10, topics=TOPICS, **options)
    import sys

    text = sys.stderr.getvalue()
    assert ("pipelines: 100%" in text and "4/4" in text) is shown
    assert shown or not text


@pytest.mark.slow
def test_pyterrier_is_not_imported() -> None:
    code = """
    import json, sys
    import pt_multiaspect as ma
    qrels = {"q1": {"d1": {"relevance": 1}}}
    ma.evaluate({"a": {"q1": {"d1": 1.0}}}, qrels, "AP", progress=False)
    ma.describe(qrels, runs={"a": {"q1": {"d1": 1.0}}})
    print(json.dumps("pyterrier" in sys.modules))
    """
    assert run_python(code) is False


def test_thousands_of_topics_are_selected_in_no_time() -> None:
    """Each topic was compared with each other one, which took more than ten seconds."""
    qids = [f"q{number}" for number in range(30_000)]
    judgments = ma.Judgments(pd.DataFrame({"qid": qids, "docno": "d1", "label": 1}))
    begin = time.perf_counter()
    assert select_topics(judgments, pd.DataFrame({"qid": qids[1:]})).qids.tolist() == sorted(
        qids[1:]
    )
    assert time.perf_counter() - begin < 4
