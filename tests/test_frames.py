"""Data frames of other libraries, and data that must be converted first."""

from __future__ import annotations

import datetime
import decimal
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from frame_forms import FORMS, As, Convertible, Stream, Tensor, as_polars, pa
from frame_world import LONG, MEASURE, QID, QRELS, RUNS, SCORE, TABLE, Y

import pt_multiaspect as ma
from pt_multiaspect import MM, Judgments, MultiAspectError, MultiAspectWarning
from pt_multiaspect.collection.other_libraries import as_pandas, is_frame, to_pandas
from pt_multiaspect.collection.rankings import Rankings

WIDE = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q1", "q2", "q2"],
        "docno": ["a", "b", "c", "a", "b"],
        "credibility": [0, 2, 1, 2, 0],
        "label": [2, 0, 1, 1, 0],
    }
)
RUN = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q2"],
        "docno": ["b", "a", "b", "a"],
        "score": np.array([3, 1, 2, 1], np.float32),
    }
)


def evaluate(qrels: Any, run: Any) -> list[float]:
    return MM.evaluate(Rankings(run, Judgments(qrels))).tolist()


class TableLike:
    """The part of PyArrow's Table that is required."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns = [frame[name] for name in frame]

    def __arrow_c_stream__(self) -> None:
        raise AssertionError("not needed")

    def to_pandas(self) -> pd.DataFrame:
        return self._frame


def as_polars_frame(frame: pd.DataFrame) -> pl.DataFrame:
    return pl.DataFrame({name: frame[name].to_numpy() for name in frame})


@pytest.mark.parametrize("convert", [as_polars_frame, TableLike])
def test_frames_of_other_libraries_are_read_with_their_names(convert: Any) -> None:
    qrels, run = convert(WIDE), convert(RUN)
    assert Judgments(qrels).label_names == ("relevance", "credibility")
    assert evaluate(qrels, run) == evaluate(WIDE, RUN)


def test_columns_keep_names_types_and_missing_values() -> None:
    frame = to_pandas(
        pl.DataFrame(
            {
                "qid": ["q1", None],
                "label": [1, None],
                "known": [True, False],
                "half": pl.Series([0.1, 0.2], dtype=pl.Float32),
            }
        )
    )
    assert frame is not None
    assert list(frame.columns) == ["qid", "label", "known", "half"]
    assert frame["qid"].isna().tolist() == [False, True]
    assert frame["label"].isna().tolist() == [False, True]
    assert frame["known"].dtype == bool
    assert frame["half"].dtype == np.float32


@pytest.mark.parametrize(
    "other", [[1], {"a": [1]}, np.ones((2, 2)), "text", pl.Series([1]), pd.Series([1]), None]
)
def test_what_is_no_frame_is_left_to_the_caller(other: object) -> None:
    assert to_pandas(other) is None


def test_lazy_frames_and_frames_that_cannot_be_converted_are_errors_with_the_remedy() -> None:
    lazy = pl.DataFrame({"qid": ["q1"]}).lazy()
    for read in (Judgments, lambda run: Rankings(run, Judgments(WIDE))):
        with pytest.raises(
            MultiAspectError, match=r"lazy polars\.LazyFrame: pass the result of \.collect\(\)"
        ):
            read(lazy)

    class Wrong:
        columns = ("qid",)

        def to_pandas(self) -> list[str]:
            return ["qid"]

    with pytest.raises(MultiAspectError, match="convert it to a pandas DataFrame"):
        Judgments(Wrong())

    class Unable:
        columns = ("qid",)

        def to_pandas(self) -> pd.DataFrame:
            raise ModuleNotFoundError("No module named 'other'")

    with pytest.raises(
        MultiAspectError, match="cannot be converted to pandas: No module named 'other'"
    ):
        Judgments(Unable())


@pytest.mark.slow
def test_no_other_library_is_imported() -> None:
    code = "import sys, pt_multiaspect; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'pt_multiaspect.collection.other_libraries'" in done.stdout
    assert "'polars'" not in done.stdout


def test_evaluate_takes_frames_of_polars() -> None:
    """Alone, in a list and by name; frames are iterable, but not lists of runs."""
    qrels = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "label": [0, 1]})
    run = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [2.0, 1.0]})
    for runs, names in (
        (run, ["run 1"]),
        ([run, run], ["run 1", "run 2"]),
        ({"mine": run}, ["mine"]),
    ):
        table = ma.evaluate(runs, qrels, ["map", "bpref"], progress=False)
        assert table["name"].unique().tolist() == names
        assert table["value"].tolist() == [0.5, 0.0] * len(names)
    with pytest.raises(MultiAspectError, match=r"lazy polars\.LazyFrame"):
        ma.evaluate(run.lazy(), qrels, "map", progress=False)


# --- Other data ---------------------------------------------------------------------------------


class Interchange:
    """Offers its data by the interchange protocol."""

    columns = ("qid",)
    __dataframe__ = None


class Ranx:
    """Qrels or a run, as of ranx."""

    def to_dataframe(self) -> None:
        raise AssertionError("expected not to be read")


#: Data that must be converted first, and the conversion that the error names.
OTHER = {
    "a stream": (
        Stream,
        r"frame_forms\.Stream: convert it first, for instance by pyarrow\.table\(data\)",
    ),
    "the interchange protocol": (Interchange, r"Interchange: convert it first"),
    "ranx": (Ranx, r"Ranx: pass the result of \.to_dataframe\(\)"),
}


@pytest.mark.parametrize("form", OTHER)
def test_data_of_other_libraries_name_their_conversion(form: str) -> None:
    make, remedy = OTHER[form]
    message = rf"expected a data frame of pandas, Polars or PyArrow, got .*{remedy}"
    for call in (
        lambda data: ma.Judgments(data),
        lambda data: ma.evaluate({"a": RUNS["a"]}, data, MEASURE, progress=False),
        lambda data: ma.evaluate({"a": data}, QRELS, MEASURE, progress=False),
        lambda data: ma.evaluate([data], QRELS, MEASURE, progress=False),
        lambda data: ma.evaluate(data, QRELS, MEASURE, progress=False),
        lambda data: ma.read_run(data),
        lambda data: ma.read_qrels(data),
        lambda data: ma.describe(data),
        lambda data: ma.from_long(data),
        lambda data: ma.aggregate(data),
        lambda data: ma.ranking_score(data, SCORE, measure="CAM", qid=QID),
    ):
        with pytest.raises(MultiAspectError, match=message):
            call(make())


@pytest.mark.skipif(pa is None, reason="requires PyArrow")
def test_the_conversion_of_a_reader_of_pyarrow() -> None:
    expected = ma.evaluate(RUNS["a"], QRELS, MEASURE, progress=False)
    reader = pa.Table.from_pandas(RUNS["a"], preserve_index=False).to_reader(max_chunksize=4)
    for runs in (reader, [reader], {"run 1": reader}):
        with pytest.raises(
            MultiAspectError, match=r"got pyarrow\.RecordBatchReader: convert it first"
        ):
            ma.evaluate(runs, QRELS, MEASURE, progress=False)
    run = pa.table(reader).to_pandas()
    pd.testing.assert_frame_equal(ma.evaluate(run, QRELS, MEASURE, progress=False), expected)
    batch = pa.Table.from_pandas(RUNS["a"], preserve_index=False).to_batches()[0]
    pd.testing.assert_frame_equal(ma.evaluate(batch, QRELS, MEASURE, progress=False), expected)


def test_tensors_and_structured_arrays_name_their_conversion() -> None:
    y, qid = Y.to_numpy(), np.asarray(QID)
    structured = np.array(
        [tuple(row) for row in y], dtype=[("relevance", int), ("credibility", float)]
    )
    aspects = ma.Aspects({"relevance": 2, "credibility": 2})
    tensor = r"got frame_forms\.Tensor: pass the result of \.detach\(\)\.cpu\(\)\.numpy\(\)"
    for form, remedy in (
        (Tensor, tensor),
        (lambda values: [Tensor(values)], tensor),
        (lambda values: structured, r"got a structured array: pass pd\.DataFrame\(…\) of it"),
    ):
        for call in (
            lambda form: ma.ranking_score(form(y), SCORE, measure="CAM", qid=qid, aspects=aspects),
            lambda form: ma.ranking_score(y, form(SCORE), measure="CAM", qid=qid, aspects=aspects),
            lambda form: ma.ranking_score(y, SCORE, measure="CAM", qid=form(qid), aspects=aspects),
            lambda form: ma.aggregate_labels(form(y), "CAM", qid=qid, aspects=aspects),
            lambda form: ma.metric_for("lightgbm", "CAM", y, form(qid), aspects=aspects),
            lambda form: next(ma.RepeatedQueryKFold(2, 1).split(y, groups=form(qid))),
        ):
            with pytest.raises(
                MultiAspectError, match=f"expected an array or a data frame, {remedy}"
            ):
                call(form)


@pytest.mark.parametrize("form", FORMS[:2])
def test_a_single_column_is_no_frame(form: As) -> None:
    column = form(pd.Series([1.0, 2.0], name="label"))
    assert not is_frame(column)
    assert to_pandas(column) is None
    with pytest.raises(MultiAspectError, match=r"expected a DataFrame|expected an iterable"):
        ma.Judgments(column)


def test_repeated_names_of_columns_are_an_error() -> None:
    class Twice:
        columns = ("qid", "qid")

        def iter_columns(self) -> Any:
            return iter([pl.Series(["q1"]), pl.Series(["q1"])])

    with pytest.raises(MultiAspectError, match=r"expected distinct.*got several qid"):
        ma.Judgments(Twice())
    if pa is not None:
        twice = pa.Table.from_arrays([pa.array(["q1"])] * 2, names=["qid", "qid"])
        with pytest.raises(MultiAspectError, match=r"expected distinct.*got several qid"):
            ma.Judgments(twice)


@pytest.mark.parametrize("form", [lambda data: data, *FORMS])
def test_where_pandas_saved_a_row_index_is_no_aspect(form: As) -> None:
    """A Parquet file of a selection of rows has such a column in any other library."""
    saved = QRELS.assign(__index_level_0__=range(len(QRELS)))
    assert ma.Judgments(form(saved)).label_names == ("relevance", "credibility")
    labels = Y.assign(__index_level_0__=range(len(Y)))
    expected = ma.ranking_score(Y, SCORE, measure="CAM", qid=QID)
    with pytest.warns(MultiAspectWarning, match=r"the column __index_level_0__ is left out"):
        assert ma.ranking_score(form(labels), SCORE, measure="CAM", qid=QID) == expected


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_nothing_is_no_aspect(form: As) -> None:
    assert ma.Judgments(form(QRELS.assign(note=None))).label_names == ("relevance", "credibility")


def as_decimals(column: pd.Series) -> list[decimal.Decimal]:
    """Return six decimals of each number, as SQL reads 0.5."""
    return [decimal.Decimal(f"{number:.6f}") for number in column]


@pytest.mark.every(2)
@pytest.mark.parametrize("form", FORMS)
def test_decimals_are_labels_and_scores(form: As) -> None:
    qrels = form(QRELS.assign(label=as_decimals(QRELS["label"])))
    assert ma.Judgments(qrels).labels("relevance").tolist() == QRELS["label"].tolist()
    run = form(RUNS["a"].assign(score=as_decimals(RUNS["a"]["score"])))
    values = ma.evaluate(run, QRELS, MEASURE, progress=False)["value"]
    expected = ma.evaluate(RUNS["a"], QRELS, MEASURE, progress=False)["value"]
    assert values.tolist() == expected.tolist()


@pytest.mark.every(2)
@pytest.mark.parametrize("form", FORMS)
def test_decimals_are_values(form: As) -> None:
    decimals = as_decimals(LONG["value"])
    with_decimals = form(LONG.assign(value=decimals))
    keys = {column: LONG[column].tolist() for column in ("name", "qid", "measure")}
    with_floats = pd.DataFrame({**keys, "value": [float(value) for value in decimals]})
    pd.testing.assert_frame_equal(ma.aggregate(with_decimals), ma.aggregate(with_floats))


@pytest.mark.every(2)
@pytest.mark.parametrize("form", FORMS)
def test_times_are_no_labels(form: As) -> None:
    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
    with pytest.raises(MultiAspectError, match="invalid label Timestamp"):
        ma.Judgments(form(QRELS.assign(label=noon))).labels("relevance")


@pytest.mark.skipif(pa is None, reason="requires PyArrow")
def test_missing_decimals_of_arrow_are_missing() -> None:
    """pandas reads no column of them as numbers."""
    labels = [None, *(decimal.Decimal(f"{label}.0") for label in QRELS["label"][1:])]
    column = pd.Series(labels, QRELS.index, dtype=pd.ArrowDtype(pa.decimal128(3, 1)))
    read = ma.Judgments(QRELS.assign(label=column)).labels("relevance")
    assert np.isnan(read[0])
    assert read[1:].tolist() == QRELS["label"].tolist()[1:]


@pytest.mark.skipif(pa is None, reason="requires PyArrow")
def test_missing_labels_of_dictionary_encoded_columns_are_missing() -> None:
    """The column has a code per row and a list of values; NumPy reads a missing code as the last value."""
    labels = pa.chunked_array([pa.array([0, 1, None, 1] * 3).dictionary_encode()])
    settings = {"measure": "AP", "qid": QID, "aspects": {"relevance": 1}}
    with pytest.raises(MultiAspectError, match=r"3 of 12 rows \(NaN\)"):
        ma.ranking_score(labels, SCORE, **settings)
    expected = ma.ranking_score([0, 1, 0, 1] * 3, SCORE, **settings)
    for form in (labels, labels.chunk(0), pa.table({"relevance": labels})):
        assert ma.ranking_score(form, SCORE, **settings, missing="lowest") == expected


@pytest.mark.skipif(pa is None, reason="requires PyArrow")
def test_missing_queries_of_dictionary_encoded_columns_are_errors() -> None:
    qids = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", None, "f"]
    encoded = pa.chunked_array([pa.array(qids).dictionary_encode()])
    with pytest.raises(MultiAspectError, match="got none in row 10"):
        ma.ranking_score(Y, SCORE, measure="CAM", qid=encoded)


@pytest.mark.parametrize("method", ["toPandas", "collect", "compute"])
def test_frames_that_are_not_in_memory_name_the_method_that_computes_them(method: str) -> None:
    lazy = type("Lazy", (), {"columns": ["qid"], method: lambda self: None})()
    for call in (ma.Judgments, lambda run: ma.evaluate(run, QRELS, MEASURE, progress=False)):
        with pytest.raises(
            MultiAspectError, match=rf"lazy .*Lazy: pass the result of \.{method}\(\)"
        ):
            call(lazy)


@pytest.mark.parametrize("form", FORMS[:1])
def test_the_name_of_a_column_names_its_aspect(form: As) -> None:
    labels = form(pd.Series([0, 1] * 6, name="credibility"))
    assert ma.ranking_score(labels, SCORE, measure="CAM(aspects='credibility')", qid=QID) > 0


def test_results_of_an_evaluator_are_frames_of_the_same_library() -> None:
    evaluator = ma.evaluator(QRELS, MEASURE)
    assert isinstance(evaluator(Convertible(TABLE)), pd.DataFrame)
    assert isinstance(evaluator(as_polars(TABLE)), pl.DataFrame)
    assert as_pandas(5) == 5


@pytest.mark.slow
def test_polars_is_not_imported_for_other_input() -> None:
    code = (
        "import sys, pandas as pd, pt_multiaspect as ma\n"
        "ma.evaluate({'q': {'d': 1.0}}, pd.DataFrame({'qid': ['q'], 'docno': ['d'], 'label': "
        "[1]}), 'AP', "
        "progress=False)\nprint('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_qrels_of_which_ir_measures_makes_columns_name_the_remedy() -> None:
    expected = MEASURE.calc_aggregate(QRELS, RUNS["a"])
    assert MEASURE.calc_aggregate(QRELS, as_polars(RUNS["a"])) == expected
    with pytest.raises(MultiAspectError, match=r"got columns.*pandas"):
        MEASURE.calc_aggregate(as_polars(QRELS), RUNS["a"])


@pytest.mark.parametrize("values", [["a", 0.5], [[1], 0.5]])
def test_values_that_are_no_numbers_are_an_error(values: list[Any]) -> None:
    long = pd.DataFrame({"name": "a", "qid": ["q1", "q2"], "measure": "AP", "value": values})
    with pytest.raises(MultiAspectError, match=r"expected numbers.*column value"):
        ma.aggregate(long)


@pytest.mark.parametrize("form", FORMS)
def test_ids_of_bytes_are_those_of_text(form: As) -> None:
    """Some tools write strings to Parquet files as bytes; the ids were "b'd1'"."""
    byte_qrels = QRELS.assign(
        docno=[docno.encode() for docno in QRELS["docno"]], note=[b"\xff"] * len(QRELS)
    )
    assert ma.Judgments(form(byte_qrels)).docnos.tolist() == ma.Judgments(QRELS).docnos.tolist()
    run = RUNS["a"].assign(qid=[qid.encode() for qid in RUNS["a"]["qid"]])
    expected = ma.evaluate(RUNS["a"], QRELS, MEASURE, progress=False)
    pd.testing.assert_frame_equal(
        ma.evaluate(form(run), form(byte_qrels), MEASURE, progress=False), expected
    )
    converted = to_pandas(form(byte_qrels))
    assert converted is not None
    assert converted["note"].iloc[0] == b"\xff"


@pytest.mark.skipif(pa is None, reason="requires PyArrow")
def test_queries_in_the_index_of_a_table_of_pyarrow() -> None:
    indexed = Y.set_index(pd.Index(QID, name="qid"))
    assert ma.ranking_score(
        pa.Table.from_pandas(indexed), SCORE, measure=MEASURE
    ) == ma.ranking_score(indexed, SCORE.to_numpy(), measure=MEASURE)
