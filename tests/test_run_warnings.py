"""Runs that have no topic or document of the qrels, repeat documents, or have scores that 32-bit floats confuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from ir_measures import nDCG

import pt_multiaspect as ma
from pt_multiaspect import CAM, Judgments, On
from pt_multiaspect.collection.rankings import Rankings

SCALES = {"relevance": 2, "trust": 1}
QRELS = pd.DataFrame(
    {
        "qid": ["q1"] * 6 + ["q2"] * 6,
        "docno": [f"{number:04}" for number in range(12)],
        "label": [2, 0, 1, 0, 0, 1] * 2,
        "trust": [0, 1, 1] * 4,
    }
)
RUN = QRELS[["qid", "docno"]].assign(score=-np.arange(12.0))
MEASURE = CAM(aspects=SCALES)


def caught_warnings(evaluate: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate()
    return [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, ma.MultiAspectWarning)
    ]


def by_ir_measures(run: Any, qrels: Any = QRELS) -> list[str]:
    return caught_warnings(lambda: MEASURE.calc_aggregate(qrels, run))


def by_evaluate(run: Any, qrels: Any = QRELS) -> list[str]:
    return caught_warnings(lambda: ma.evaluate(run, qrels, [MEASURE, nDCG], progress=False))


# --- ids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluate", [by_ir_measures, by_evaluate])
def test_a_run_without_any_judged_document_warns(evaluate: Callable[..., list[str]]) -> None:
    """Leading zeros were lost: every value was 0."""
    (message,) = evaluate(RUN.assign(docno=RUN["docno"].astype(int).astype(str)))
    assert "none of the 12 documents retrieved for 2 judged topics is judged" in message
    assert (
        "documents such as '0000', '0001', '0002', the run has documents such as '0', '1', '2'"
        in message
    )


def test_documents_of_other_topics_are_no_judged_documents() -> None:
    swapped = RUN.assign(qid=RUN["qid"].map({"q1": "q2", "q2": "q1"}))
    assert len(by_evaluate(swapped)) == 1


#: As RUN, with documents none of which is judged.
UNJUDGED_RUN = RUN.assign(docno=[f"x{number}" for number in range(12)])


@pytest.mark.parametrize("evaluate", [by_ir_measures, by_evaluate])
@pytest.mark.parametrize(
    ("run", "qrels"),
    [
        (UNJUDGED_RUN[:9], QRELS),  # too few rows to tell
        (UNJUDGED_RUN, QRELS[3:]),
        (pd.concat([UNJUDGED_RUN, RUN[11:]]), QRELS),
        (RUN[:1], QRELS),
    ],
    ids=["a small run", "few judgments", "one judged document", "one document"],
)
def test_small_and_ordinary_runs_do_not_warn(
    run: pd.DataFrame, qrels: pd.DataFrame, evaluate: Callable[..., list[str]]
) -> None:
    assert evaluate(run, qrels) == []


def test_an_empty_run_does_not_warn() -> None:
    assert by_ir_measures(RUN[:0]) == []


def by_experiment(runs: list[pd.DataFrame]) -> list[str]:
    topics = pd.DataFrame({"qid": ["q1", "q2"], "query": ["x", "y"]})
    systems = [pt.Transformer.from_df(run) for run in runs]
    return caught_warnings(lambda: pt.Experiment(systems, topics, QRELS, [MEASURE]))


def test_each_run_without_a_common_query_warns() -> None:
    """The second run passed unseen."""
    results = [by_ir_measures(RUN.assign(qid=f"z{number}")) for number in (1, 1, 2, 3, 4, 5)]
    assert list(map(len, results)) == [1] * 6
    assert "the qrels have queries such as q1, q2, the run has queries such as z1" in results[0][0]


def test_each_run_without_a_judged_document_warns() -> None:
    """Also the second of the same documents."""
    for prefix in "aabcde":
        run = RUN.assign(docno=[f"{prefix}{number}" for number in range(12)])
        assert len(by_ir_measures(run)) == 1


def test_runs_of_a_call_without_a_judged_document_warn() -> None:
    """Of six runs of one experiment, three are named, and the fourth message ends the list."""
    runs = [RUN.assign(docno=[f"{prefix}{n}" for n in range(12)]) for prefix in "aabcde"]
    messages = by_experiment(runs)
    assert len(messages) == 3 + 1
    assert "further cases are not reported" in messages[-1]


def test_each_run_with_repeated_documents_warns() -> None:
    """Evaluated one by one; the same repetition twice, and five different ones."""
    for position in (0, 0, 1, 2, 3, 4):
        repeated_row = RUN[position : position + 1]
        messages = by_ir_measures(pd.concat([RUN, repeated_row]))
        assert len(messages) == 1
        docno = repeated_row["docno"].item()  # 0000 to 0004
        assert f"such as {docno} (1 surplus row). Each" in messages[0]


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scores",
    [
        np.arange(12, 0, -1) * 1e-50,
        1 + np.arange(12, 0, -1) * 1e-12,
        np.arange(12, 0, -1) * 1e50,
        np.random.default_rng(0).permutation(12) * -1e-60,
        [f"{score}e-60" for score in range(12, 0, -1)],
    ],
    ids=["small", "close", "large", "shuffled", "text"],
)
def test_scores_that_32_bit_floats_do_not_tell_apart_warn(scores: Any) -> None:
    """All documents were tied, and ranked by docno."""
    run = RUN.assign(score=scores)
    (message,) = by_evaluate(run)
    assert "most scores of 2 topics are equal as 32-bit floats" in message
    assert "Rescale the scores" in message
    assert caught_warnings(lambda: Rankings(run, Judgments(QRELS), dtype=np.float64)) == []


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros(12),
        np.repeat([1e-50, 0.5, 2e-50], 4),
        np.arange(12) * 1e-30,
        1 + np.arange(12) * 1e-6,
        [1.0, 1.0 + 1e-12, 2, 3, 4, 5] * 2,
    ],
    ids=["ties", "few", "small", "close", "one pair"],
)
def test_scores_that_32_bit_floats_tell_apart_do_not_warn(scores: Any) -> None:
    assert by_evaluate(RUN.assign(score=scores)) == []
    assert by_evaluate(RUN[:4].assign(score=[1e-50, 2e-50, 3e-50, 4e-50])) == []  # too few to tell


@pytest.mark.parametrize(
    "scores",
    [
        pd.to_datetime(["2020-01-02", "2020-01-01"] * 6),
        pd.to_datetime(["2020-01-02", "2020-01-01"] * 6).to_period("D"),
        pd.to_timedelta(np.arange(12), "s"),
        np.arange(12) + 1j,
        np.array([1.0, 2 + 1j] * 6, dtype=object),
        np.array([pd.Timestamp(2020, 1, 1)] * 12, dtype=object),
    ],
    ids=["times", "periods", "durations", "complex", "complex objects", "objects"],
)
@pytest.mark.parametrize("evaluate", [by_ir_measures, by_evaluate])
def test_scores_that_are_no_real_numbers_are_errors(
    scores: Any, evaluate: Callable[..., list[str]]
) -> None:
    """They were ranked by nanoseconds and days, or by the real parts."""
    with pytest.raises(ma.MultiAspectError, match=r"invalid score .* expected a number"):
        evaluate(RUN.assign(score=scores))


def test_each_run_whose_scores_32_bit_floats_confuse_warns() -> None:
    """They are too small or too large, so that all of them are 0 or infinite. One run is evaluated twice."""
    for scale in (1e-50, 1e-50, 1e-51, 1e-52, 1e50):
        run = RUN.assign(score=np.arange(12) * scale)
        assert len(by_ir_measures(run)) == 1


def test_a_ranking_by_scores_that_32_bit_floats_confuse_is_that_by_docno() -> None:
    """All scores are 0 as 32-bit floats, and ties are ranked by docno, descending: d4 to d0."""
    qrels = {"q1": {"d0": 1, "d1": 0, "d2": 0, "d3": 0, "d4": 0}}
    run = {"q1": {"d0": 5e-50, "d1": 4e-50, "d2": 3e-50, "d3": 2e-50, "d4": 1e-50}}
    with pytest.warns(ma.MultiAspectWarning, match="32-bit"):
        value = On(base="RR").calc_aggregate(qrels, run)
    rank_of_d0 = 5
    assert value == 1 / rank_of_d0
