"""Ids with NUL characters: before version 3.1, pandas takes those for equal that differ after one only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

MEASURE = ma.CAM(aspects={"relevance": 1}, base="AP")
#: Whether pandas takes ids that differ after NUL only for one.
ENDS_STRINGS_AT_NUL = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


def _collection(column: str, mark: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Qrels and a run whose ids in a column differ after `mark` only; with equal labels, as others are an error."""
    qrels = pd.DataFrame(
        {"qid": list("xxxyyy"), "docno": list("abcabc"), "label": [1, 1, 0, 1, 1, 0]}
    )
    run = pd.DataFrame({"qid": list("xxyy"), "docno": list("bcca"), "score": [4.0, 3.0, 2.0, 1.0]})
    qrels, run = (
        frame.assign(**{column: [f"same{mark}{text}" for text in frame[column]]})
        for frame in (qrels, run)
    )
    return qrels.astype({column: object}), run.astype({column: object})


def _categories(column: Any) -> Any:
    return pd.Categorical(column.tolist(), pd.Index(list(dict.fromkeys(column)), dtype=object))


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "objects": lambda frame: frame,
    "strings": lambda frame: frame.astype({"qid": "string[python]", "docno": "string[python]"}),
    "categories": lambda frame: frame.assign(
        qid=_categories(frame["qid"]), docno=_categories(frame["docno"])
    ),
    "polars": lambda frame: pl.DataFrame({name: frame[name].tolist() for name in frame}),
}

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "evaluate": lambda run, qrels: ma.evaluate(run, qrels, [MEASURE, "AP"], progress=False)[
        "value"
    ].tolist(),
    "ir-measures": lambda run, qrels: sorted(
        metric.value for metric in MEASURE.iter_calc(qrels, run)
    ),
    "describe": lambda run, qrels: (
        ma.describe(qrels, runs=run).runs[["topics", "documents", "repeated"]].to_dict()
    ),
    "aggregate_labels": lambda run, qrels: (
        ma.aggregate_labels(qrels, MEASURE).values["label"].tolist()
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("form", FORMS)
def test_ids_with_nul_are_told_apart_or_refused(column: str, call: str, form: str) -> None:
    """Results are those of the same ids with another character, or pandas cannot tell the ids apart."""
    if call == "ir-measures" and form == "polars":
        pytest.skip("ir-measures does not read frames of Polars")
    nul_qrels, nul_run = _collection(column, "\0")  # ids as "same\0a" and "same\0b"
    dash_qrels, dash_run = _collection(column, "-")  # ids as "same-a" and "same-b"
    in_form, result_of = FORMS[form], CALLS[call]
    if ENDS_STRINGS_AT_NUL:
        message = rf"ids without NUL.* pandas 3\.1 or newer.* column {column}"
        with pytest.raises(MultiAspectError, match=message):
            result_of(in_form(nul_run), in_form(nul_qrels))
    else:
        result = result_of(in_form(nul_run), in_form(nul_qrels))
        assert result == result_of(dash_run, dash_qrels)


@pytest.mark.skipif(not ENDS_STRINGS_AT_NUL, reason="pandas tells ids with NUL characters apart")
@pytest.mark.every(3)
@pytest.mark.parametrize("column", ["qid", "docno"])
@pytest.mark.parametrize("call", ["evaluate", "ir-measures", "describe"])  # those that take runs
@pytest.mark.parametrize("form", ["objects", "strings", "categories"])
def test_ids_of_runs_with_nul_are_refused_beside_qrels_without(
    column: str, call: str, form: str
) -> None:
    _, nul_run = _collection(column, "\0")
    dash_qrels, _ = _collection(column, "-")
    run = FORMS[form](nul_run)
    with pytest.raises(MultiAspectError, match=r"run( \w+)?: expected ids without NUL"):
        CALLS[call](run, dash_qrels)


def test_names_of_runs_have_no_nul() -> None:
    qrels, run = _collection("docno", "-")
    with pytest.raises(
        MultiAspectError, match=r"names of runs without NUL characters, got 'a\\x00b'"
    ):
        ma.evaluate({"a": run, "a\0b": run}, qrels, MEASURE, progress=False)


def test_queries_of_a_polars_run_are_told_apart() -> None:
    """Its queries are bytes; as objects, pandas before 3.1 would count both rows for the query a."""
    qrels = pd.DataFrame({"qid": ["a", "b"], "docno": ["d", "d"], "label": [1, 0]})
    run = pl.DataFrame({"qid": ["a", "a\0"], "docno": ["d", "x"], "score": [1.0, 2.0]})
    assert ma.evaluate(run, qrels, "P@1", progress=False)["value"].tolist() == [1, 0]
