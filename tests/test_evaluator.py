"""Runs evaluated as parts of a table."""

from __future__ import annotations

import inspect
import pickle
import shutil
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from frame_world import random_qrels

import pt_multiaspect as ma
from pt_multiaspect import CAM, TOMA, Aspects, Judgments, MultiAspectError, evaluate, evaluator

#: The expected values are those of `evaluate`, which unlike evaluators sees that topics are
#: missing.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*no documents for:pt_multiaspect.MultiAspectWarning"
)

SCALES = Aspects({"relevance": 2, "credibility": 2})
MEASURES = {
    "ours": TOMA(gate="relevance", aspects=SCALES) @ 5,
    "CAM": CAM(aspects=SCALES) @ 5,
    "nDCG@5": "nDCG@5",
    "RR@5": "RR@5",
}


@pytest.fixture(scope="module")
def qrels() -> pd.DataFrame:
    return random_qrels(5)


@pytest.fixture(scope="module")
def runs(qrels) -> pd.DataFrame:
    """Four runs, the first of which lacks two judged queries; one has a query that is not judged."""
    parts = []
    for seed, name in enumerate(["b", "a", "c", "d"]):
        some = qrels.sample(frac=0.7, random_state=seed)[["qid", "docno"]]
        some = some[~some["qid"].isin(["q0", "q3"] if name == "b" else [])]
        some = some.replace({"qid": {"q4": "unjudged"}}) if name == "a" else some
        parts.append(
            some.assign(name=name, score=np.random.default_rng(seed).normal(size=len(some)))
        )
    return pd.concat(parts, ignore_index=True)[["name", "qid", "docno", "score"]].sample(
        frac=1, random_state=1
    )


@pytest.fixture(scope="module")
def expected(qrels, runs) -> pd.DataFrame:
    return evaluate(dict(list(runs.groupby("name"))), qrels, MEASURES, progress=False)


@pytest.fixture(params=["run", "query"])
def ev(request, qrels) -> ma.evaluation.Evaluator:
    return evaluator(qrels, MEASURES, by=request.param)


def keys_of(ev: Any) -> list[str]:
    return ["name"] if "by run" in repr(ev) else ["name", "qid"]


def check(ev: Any, values: Any, expected: pd.DataFrame) -> None:
    """Check the collected results, and that those by query leave out what is in no part."""
    complete = ev.complete(values)
    pd.testing.assert_frame_equal(complete, expected, check_exact=True)
    pd.testing.assert_frame_equal(ma.aggregate(complete), ma.aggregate(expected), check_exact=True)
    n_left_out = 0 if keys_of(ev) == ["name"] else 3 * len(MEASURES)
    numbers = np.array(values["value"], dtype=float)
    assert np.count_nonzero(~np.isnan(numbers)) == len(expected) - n_left_out


# -- pandas and Polars -----------------------------------------------------------------------------


@pytest.mark.every(2)
def test_groups_of_pandas(ev, runs, expected):
    parts = [ev(part) for _, part in runs.groupby(keys_of(ev))]
    check(ev, pd.concat(parts, ignore_index=True), expected)
    check(ev, ev(runs), expected)  # all runs in one frame
    assert ev(runs)["name"].drop_duplicates().tolist() == runs["name"].drop_duplicates().tolist()


@pytest.mark.every(2)
def test_groups_of_polars(ev, runs, expected):
    frame = pl.DataFrame({name: runs[name].to_list() for name in runs})
    result = frame.group_by(*keys_of(ev)).map_groups(ev)
    assert result.schema == {
        "name": pl.String,
        "qid": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
    }
    check(ev, result, expected)
    assert ev(frame.clear()).schema == result.schema


def test_groups_of_pandas_without_their_column(qrels, runs, expected):
    """Since pandas 3, `apply` leaves out the column by which rows are grouped: a group is named after its run."""
    ev = evaluator(qrels, MEASURES)
    check(ev, runs.groupby("name").apply(ev), expected)
    renamed = runs.rename(columns={"name": "system"})
    check(ev, renamed.groupby("system").apply(ev), expected)


def test_groups_of_queries_of_pandas_without_their_column(qrels, runs, expected):
    by_query = evaluator(qrels, MEASURES, by="query")
    run_c = runs[runs["name"] == "c"]
    values = run_c.groupby("qid").apply(by_query)
    complete = by_query.complete(values)
    expected_of_c = expected[expected["name"] == "c"].reset_index(drop=True)
    pd.testing.assert_frame_equal(complete, expected_of_c, check_exact=True)


@pytest.mark.skipif(
    int(pd.__version__.partition(".")[0]) < 3, reason="apply passes the columns of groups"
)
def test_two_columns_of_groups_are_unknown(qrels, runs):
    by_query = evaluator(qrels, MEASURES, by="query")
    with pytest.raises(
        MultiAspectError, match=r"column name.*use \[ev\(part\) for _, part in table.groupby"
    ):
        runs.groupby(["name", "qid"]).apply(by_query)


def test_tables_of_pyarrow(ev, runs, expected):
    pyarrow = pytest.importorskip("pyarrow")
    result = ev(pyarrow.table({name: runs[name].tolist() for name in runs}))
    assert isinstance(result, pyarrow.Table)
    check(ev, result, expected)


def test_the_function_can_be_sent(ev, runs):
    restored = pickle.loads(pickle.dumps(ev))
    pd.testing.assert_frame_equal(restored(runs), ev(runs), check_exact=True)
    again = pickle.loads(pickle.dumps(restored))
    assert again._plan is restored._plan  # the judgments are restored once per process
    pd.testing.assert_frame_equal(
        restored.complete(ev(runs)), ev.complete(ev(runs)), check_exact=True
    )


def test_what_engines_ask_for(ev, runs):
    assert ev.schema == "name string, qid string, measure string, value double"
    assert ev.__name__ == "evaluator"
    assert inspect.getfullargspec(ev).args == ["frame"]
    assert inspect.getfullargspec(pickle.loads(pickle.dumps(ev))).args == ["frame"]
    for empty in (ev(runs.iloc[:0]), ev.meta):
        assert len(empty) == 0
        pd.testing.assert_series_equal(empty.dtypes, ev(runs).dtypes)


def test_a_part_without_judged_queries(qrels, runs):
    part = runs[(runs["name"] == "a") & (runs["qid"] == "unjudged")]
    assert len(part)
    by_query = evaluator(qrels, MEASURES, by="query")
    values = by_query(part)
    assert values["qid"].unique().tolist() == ["unjudged"]
    assert values["measure"].tolist() == list(MEASURES)
    assert values["value"].isna().all()
    pd.testing.assert_series_equal(values.dtypes, by_query.meta.dtypes)
    with pytest.raises(MultiAspectError, match="run a and the qrels have no query in common"):
        evaluator(qrels, MEASURES)(part)


def test_ids_of_ir_measures_and_numbers_as_names(qrels, runs):
    renamed = runs.rename(columns={"qid": "query_id", "docno": "doc_id"}).replace(
        {"name": dict(zip("abcd", range(4), strict=True))}
    )
    renamed["name"] = renamed["name"].astype(int)
    result = evaluator(qrels, MEASURES)(renamed)
    assert sorted(result["name"].unique()) == ["0", "1", "2", "3"]


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("measures", ["AP", [CAM(aspects=SCALES)], {"x": "AP"}, CAM, ["AP", "P@5"]])
def test_swapped_arguments(qrels, measures):
    for form in (qrels, Judgments(qrels), {"q1": {"d1": {"relevance": 1}}}):
        with pytest.raises(MultiAspectError, match=r"expected the qrels first, .*: swap them"):
            evaluator(measures, form)
        evaluator(form, "AP")


def test_scales_are_declared_for_parts_by_query(qrels):
    with pytest.raises(
        MultiAspectError,
        match=r"TOMA.*expected declared scales with by='query'.*ones for relevance",
    ):
        evaluator(qrels, [TOMA, "AP"], by="query")
    evaluator(qrels, [TOMA(aspects=SCALES), "AP"], by="query")
    with pytest.raises(MultiAspectError, match=r"by: expected one of 'run', 'query', got 'topic'"):
        evaluator(qrels, "AP", by="topic")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda runs: runs.drop(columns="name"), "expected a column name with the run of each row"),
        (lambda runs: runs.drop(columns="score"), "expected a column score"),
        (lambda runs: runs.assign(name=runs["name"].where(runs["name"] != "a")), "runs.*name"),
        (lambda runs: runs.assign(score=np.nan), "invalid score nan"),
        (lambda runs: runs.to_dict("records"), "expected a data frame with the columns name"),
    ],
)
def test_invalid_parts(ev, runs, change, message):
    with pytest.raises(MultiAspectError, match=message):
        ev(change(runs))


def test_parts_of_one_run_are_noticed(qrels, runs):
    """Each half gives values for all queries, the means of which would look plausible."""
    ev = evaluator(qrels, MEASURES)
    run = runs[runs["name"] == "c"]
    halves = pd.concat([ev(run.iloc[::2]), ev(run.iloc[1::2])], ignore_index=True)
    with pytest.raises(
        MultiAspectError, match=r"expected one.*ours for c on topic q0, got several"
    ):
        ev.complete(halves)
    with pytest.raises(
        MultiAspectError, match=r"expected one.*ours for c on topic q0, got several"
    ):
        ma.aggregate(halves)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("by", "change", "message"),
    [
        pytest.param(
            "run",
            lambda result: result[result["qid"] != "q1"],
            "expected values for every judged query, got none for run a",
            id="a query",
        ),
        pytest.param(
            "query",
            lambda result: result.iloc[1:],
            "expected a value of every measure, got none of ours",
            id="the value of a measure, ours",
        ),
        pytest.param(
            "run",
            lambda result: result[result["name"] != "c"],
            r"expected values of every run, got none of c \(1 such run",
            id="a run",
        ),
        pytest.param(
            "run",
            lambda result: result.replace({"name": {"c": "x"}}),
            r"values of the runs .*, got x",
            id="the name of a run",
        ),
        pytest.param(
            "run",
            lambda result: result.replace({"qid": {"q1": "x"}}),
            r"values of the queries .*, got x",
            id="the id of a query",
        ),
        pytest.param(
            "run",
            lambda result: result.replace({"measure": {"CAM": "x"}}),
            r"values of the measures .*, got x",
            id="the name of a measure",
        ),
        pytest.param(
            "query",
            lambda result: result.assign(value=np.nan),
            "expected numbers, got missing values",
            id="all numbers",
        ),
        pytest.param(
            "query",
            lambda result: result.iloc[:0],
            "expected values of every run, got none of a, b, c",  # and one more
            id="all rows",
        ),
        pytest.param(
            "run",
            lambda result: result.drop(columns="value"),
            "expected the results of the parts",
            id="the column of values",
        ),
    ],
)
def test_what_is_lost_is_noticed(qrels, runs, by, change, message):
    """Between the evaluation of the parts and `complete`, of the four runs a to d."""
    ev = evaluator(qrels, MEASURES, by=by)
    result = ev(runs)
    with pytest.raises(MultiAspectError, match=message):
        ev.complete(change(result), names=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    "wrong", [None, "values.csv", pd.DataFrame({"name": ["a"], "qid": ["q0"]})], ids=str
)
def test_what_is_no_result_is_refused(qrels, wrong):
    with pytest.raises(
        MultiAspectError, match="expected the results of the parts, with the columns name, qid, "
    ):
        evaluator(qrels, MEASURES).complete(wrong)


def test_topics_without_a_positive_document_count():
    """As for `evaluate`, where the user can leave them out."""
    qrels = pd.DataFrame(
        {"qid": ["q0", "q1"], "docno": ["d0", "d0"], "relevance": [1, 0], "credibility": [1, 0]}
    )
    run = qrels[["qid", "docno"]].assign(name="a", score=1.0)
    ev = evaluator(qrels, {"CAM": CAM(aspects={"relevance": 1, "credibility": 1}) @ 5})
    assert ev.complete(ev(run))["value"].tolist() == [1, 0]


def test_completed_runs_are_in_the_order_of_their_names(qrels, runs):
    ev = evaluator(qrels, MEASURES, by="query")
    names = ["d", "b", "a", "c"]
    assert ev.complete(ev(runs), names=names)["name"].drop_duplicates().tolist() == names
    with pytest.raises(MultiAspectError, match="expected values of at least one run"):
        ev.complete(ev.meta)


@pytest.mark.slow
def test_queries_in_no_part_are_empty_rankings(qrels, runs):
    """Also for measures that other programs compute, and those whose value is not 0 then."""
    gdeval = ["ERR@5"] if shutil.which("perl") else []
    measures = [*gdeval, "NumRet", "Judged@5", "SetP", ma.ESL(wanted=1), ma.CRP]
    ev = evaluator(qrels, measures, by="query")
    result = ev.complete(ev(runs))
    whole = evaluate(dict(list(runs.groupby("name"))), qrels, measures, progress=False)
    pd.testing.assert_frame_equal(result, whole, check_exact=True)


def parts_by_query(ev: Any, runs: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([ev(part) for _, part in runs.groupby(["name", "qid"])], ignore_index=True)


def message_of(function: Any) -> str:
    with pytest.raises(MultiAspectError) as caught:
        function()
    return str(caught.value)


@pytest.mark.parametrize("names", [None, ["a", "b", "c", "d"]])
def test_a_run_whose_ids_match_nothing_is_an_error(qrels, runs, names):
    """The queries of run c are called "topic q1" instead of "q1": the error is that of `evaluate`."""
    is_c = runs["name"] == "c"
    runs = runs.assign(qid=runs["qid"].mask(is_c, "topic " + runs["qid"]))
    message_of_evaluate = message_of(
        lambda: evaluate(dict(list(runs.groupby("name"))), qrels, MEASURES, progress=False)
    )
    # The whole run is at hand there, and examples of its ids follow.
    beginning, _the_run_has, _examples = message_of_evaluate.partition("the run has")
    assert "run c and the qrels have no query in common" in beginning
    ev = evaluator(qrels, MEASURES, by="query")

    values_of_parts = parts_by_query(ev, runs).sample(frac=1, random_state=0)
    assert message_of(lambda: ev.complete(values_of_parts, names=names)).startswith(beginning)

    values_of_all = ev(runs)
    assert message_of(lambda: ev.complete(values_of_all, names=names)).startswith(beginning)

    polars_runs = pl.DataFrame({column: runs[column].to_list() for column in runs})
    values_of_polars = polars_runs.group_by("name", "qid").map_groups(ev)
    message = message_of(lambda: ev.complete(values_of_polars, names=names))
    assert "run c and the qrels" in message


def warnings_of(function: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in caught if warning.category is ma.MultiAspectWarning]


def test_topics_that_runs_lack_are_named_as_in_evaluate(qrels, runs):
    """Of five topics, three are called Q1 instead of q1 and so on in the runs c and d."""
    renamed = runs["qid"].replace({"q1": "Q1", "q2": "Q2", "q3": "Q3"})
    is_c_or_d = runs["name"].isin(["c", "d"])
    runs = runs.assign(qid=runs["qid"].mask(is_c_or_d, renamed))
    (warning,) = warnings_of(
        lambda: evaluate(dict(list(runs.groupby("name"))), qrels, MEASURES, progress=False)
    )
    assert "run c: no documents for 3 of 5 judged topics, such as q1; and 1 more run" in warning

    ev = evaluator(qrels, MEASURES, by="query")
    result = parts_by_query(ev, runs)
    # In every call.
    assert warnings_of(lambda: ev.complete(result)) == [warning]
    assert warnings_of(lambda: ev.complete(result)) == [warning]


def test_complete_runs_are_silent(qrels, runs):
    runs = runs[runs["name"].isin(["c", "d"])]
    extra = runs.iloc[:3].assign(qid="not judged")
    for by in ("run", "query"):
        ev = evaluator(qrels, MEASURES, by=by)
        assert warnings_of(lambda ev=ev: ev.complete(ev(pd.concat([runs, extra])))) == []
    ev = evaluator(qrels, MEASURES, by="query")
    assert warnings_of(lambda: ev.complete(parts_by_query(ev, pd.concat([runs, extra])))) == []
