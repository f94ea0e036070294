"""Parquet files, and frames of Polars and PyArrow, give what TREC files and frames of pandas give."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning
from pt_multiaspect.collection import Judgments, Rankings
from pt_multiaspect.collection import run as run_module
from pt_multiaspect.collection.run import Run

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

MEASURES = [
    "nDCG@5",
    "AP",
    "bpref",
    "RR@3",
    ma.CAM(aspects={"relevance": 2, "credibility": 3}),
    ma.TOMA,
]
MEASURES[-1] = ma.TOMA(aspects={"relevance": 2, "credibility": 3}) @ 4


def world() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ids of varying length, ties, a query without judgments, and documents without."""
    rng = np.random.default_rng(0)
    pairs = [(f"{q}", f"{'é' * (q % 3)}clueweb-{d**3}") for q in (9, 10, 2, 33) for d in range(12)]
    run = pd.DataFrame(pairs, columns=["qid", "docno"]).assign(score=rng.integers(0, 6, 48) / 4)
    qrels = run[run["qid"] != "33"][::2][["qid", "docno"]].reset_index(drop=True)
    return qrels.assign(label=rng.integers(0, 3, 18), credibility=rng.integers(0, 4, 18)), run


QRELS, RUN = world()


def lines() -> bytes:
    rows = zip(RUN["qid"], RUN["docno"], RUN["score"].tolist(), strict=True)
    return "".join(
        f"{qid} Q0 {docno} {rank} {score!r} tag\n" for rank, (qid, docno, score) in enumerate(rows)
    ).encode()


def polars_of(frame: pd.DataFrame) -> Any:
    return pl.DataFrame({column: frame[column].tolist() for column in frame})


def pyarrow_of(frame: pd.DataFrame) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({column: frame[column].tolist() for column in frame})


def file_of(form: str, frame: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    table = polars_of(frame)
    if form == "parquet":
        table.write_parquet(content)
    elif form == "parquet of pandas":
        pytest.importorskip("pyarrow")
        frame.to_parquet(content)
    return content.getvalue()


def zstd(data: bytes) -> bytes:
    compressed: bytes = pytest.importorskip("zstandard").ZstdCompressor().compress(data)
    return compressed


PARQUET = ("parquet", "parquet of pandas")
RUNS: dict[str, Callable[[], Any]] = {
    "polars": lambda: polars_of(RUN),
    "polars, names of ir-measures": lambda: polars_of(RUN).rename(
        {"qid": "query_id", "docno": "doc_id"}
    ),
    "polars, categorical": lambda: polars_of(RUN).with_columns(
        pl.col("qid", "docno").cast(pl.Categorical)
    ),
    "polars, numbers": lambda: polars_of(RUN).with_columns(pl.col("qid").cast(pl.Int32)),
    "polars, 32 bits": lambda: polars_of(RUN).with_columns(pl.col("score").cast(pl.Float32)),
    "polars, slices": lambda: pl.concat([polars_of(RUN)[:20], polars_of(RUN)[20:]], rechunk=False),
    "pyarrow": lambda: pyarrow_of(RUN),
    "read already": lambda: Run.of(RUN),
    **{f"file, {form}": lambda form=form: file_of(form, RUN) for form in PARQUET},
    "file, parquet.gz": lambda: gzip.compress(file_of("parquet", RUN)),
    "file, lines": lines,
    "file, lines.gz": lambda: gzip.compress(lines()),
    "file, lines.bz2": lambda: bz2.compress(lines()),
    "file, lines.xz": lambda: lzma.compress(lines()),
    "file, lines.zst": lambda: zstd(lines()),
}


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    return ma.evaluate({"run": RUN}, QRELS, MEASURES, progress=False)


@pytest.mark.every(3)
@pytest.mark.parametrize("form", RUNS)
def test_runs(form: str, expected: pd.DataFrame, tmp_path: Path) -> None:
    run = RUNS[form]()
    if form.startswith("file"):
        (tmp_path / "run").write_bytes(run)
        run = str(tmp_path / "run")
        read = ma.read_run(run)
        assert read["qid"].tolist() == RUN["qid"].tolist()
        assert read["docno"].tolist() == RUN["docno"].tolist()
        assert read["score"].tolist() == RUN["score"].tolist()
        pd.testing.assert_frame_equal(
            ma.evaluate({"run": read}, QRELS, MEASURES, progress=False), expected
        )
    pd.testing.assert_frame_equal(
        ma.evaluate({"run": run}, QRELS, MEASURES, progress=False), expected
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("form", ["polars", "pyarrow", *PARQUET])
def test_qrels(form: str, expected: pd.DataFrame, tmp_path: Path) -> None:
    if form in PARQUET:
        (tmp_path / "qrels").write_bytes(file_of(form, QRELS))
        qrels: Any = ma.read_qrels(tmp_path / "qrels")
        pd.testing.assert_frame_equal(
            qrels, QRELS.astype({"qid": qrels["qid"].dtype, "docno": qrels["docno"].dtype})
        )
    else:
        qrels = (polars_of if form == "polars" else pyarrow_of)(QRELS)
    pd.testing.assert_frame_equal(
        ma.evaluate({"run": RUN}, qrels, MEASURES, progress=False), expected
    )


def test_files_are_read_without_polars(
    monkeypatch: pytest.MonkeyPatch, expected: pd.DataFrame
) -> None:
    run, qrels = (io.BytesIO(file_of("parquet", frame)) for frame in (RUN, QRELS))
    monkeypatch.setitem(sys.modules, "polars", None)
    values = ma.evaluate({"run": ma.read_run(run)}, ma.read_qrels(qrels), MEASURES, progress=False)
    pd.testing.assert_frame_equal(values, expected)


def test_without_pyarrow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MultiAspectError, match=r"PyArrow, .*pt-multiaspect\[parquet\]"):
        ma.read_run(io.BytesIO(b"PAR1" + bytes(20) + b"PAR1"))


def parquet(columns: dict[str, Any]) -> io.BytesIO:
    content = io.BytesIO()
    pl.DataFrame(columns).write_parquet(content)
    content.seek(0)
    return content


IDS = {"qid": ["q1", "q1", "q2"], "docno": ["a", "b", "a"]}


def test_columns_of_qrels_files() -> None:
    two = {**IDS, "relevance": [1, 0, 2], "trust": [0.5, None, 1.0], "text": ["x", "y", "z"]}
    qrels = ma.read_qrels(parquet(two))
    assert list(qrels.columns) == ["qid", "docno", "label", "trust", "text"]
    assert qrels["label"].dtype == np.int64
    assert qrels["trust"].isna().tolist() == [False, True, False]
    assert list(ma.read_qrels(parquet(two), aspects=["trust"]).columns) == ["qid", "docno", "trust"]
    table = ma.read_qrels(
        {
            "relevance": parquet({**IDS, "label": [1, 0, 2]}),
            "trust": parquet({**IDS, "label": [3, 1, 2]}),
        }
    )
    assert table[["label", "trust"]].to_numpy().tolist() == [[1, 3], [0, 1], [2, 2]]
    with pytest.warns(MultiAspectWarning, match="the column __index_level_0__ is left out"):
        index = ma.read_qrels(parquet({**IDS, "label": [1, 0, 2], "__index_level_0__": [4, 8, 9]}))
    assert list(index.columns) == ["qid", "docno", "label"]
    repeated = ma.read_qrels(
        parquet({"qid": ["q1"] * 3, "docno": ["a", "b", "a"], "label": [1, 0, 1]})
    )
    assert repeated["docno"].tolist() == ["a", "b"]
    numbers = ma.read_qrels(parquet({"qid": [1, 2], "docno": [10, 11], "label": [True, False]}))
    assert numbers.to_numpy().tolist() == [["1", "10", 1], ["2", "11", 0]]


def test_other_columns_of_run_files_are_kept() -> None:
    run = ma.read_run(
        parquet(
            {
                "query": ["x", "y", "z"],
                "score": [2, 1, 3],
                **IDS,
                "name": ["t"] * 3,
                "rank": [0, 1, 0],
            }
        )
    )
    assert list(run.columns) == ["qid", "docno", "rank", "score", "name", "query"]
    assert run["score"].dtype == np.float64


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (ma.read_run, {**IDS, "score": [1.0, None, 2.0]}, "invalid score nan for document b, query q1"),
        (ma.read_run, {**IDS, "score": ["x", "1", "2"]}, "invalid score 'x' for document a, query q1"),
        (ma.read_run, {**IDS, "label": [1, 2, 3]}, "expected a column score, got the columns qid, docno, label"),
        (ma.read_run, {"qid": ["q", None], "docno": ["a", "b"], "score": [1.0, 2.0]}, "expected a qid in every"),
        (ma.read_run, {"qid": [], "docno": [], "score": []}, "the file is empty"),
        (ma.read_qrels, {"qid": [], "docno": [], "label": []}, "the file is empty"),
        (ma.read_qrels, {**IDS}, "expected label columns, .*got the columns qid, docno"),
        (ma.read_qrels, {**IDS, "label": [1, 2, 3], "relevance": [1, 2, 3]}, "at most one of them"),
        (ma.read_qrels, {**IDS, "label": [1.0, float("inf"), 3.0]}, r"label: expected a finite .*got inf .*b.$"),
        (ma.read_qrels, {"qid": ["q"] * 2, "docno": ["a"] * 2, "label": [1, 2]}, "one row for query q, document a"),
        (ma.read_qrels, {"docno": ["a"] * 2, "label": [1, 2]}, "expected one column qid or query_id"),
        (lambda file: ma.read_qrels(file, ["trust", "relevance"]), {**IDS, "label": [1, 2, 3]}, "the aspect trust"),
    ],
)  # fmt: skip
def test_errors_name_the_file(read: Any, content: dict[str, Any], message: str) -> None:
    with pytest.raises(MultiAspectError, match=f"<BytesIO>: .*{message}"):
        read(parquet(content))


def test_damaged_files() -> None:
    content = parquet({**IDS, "score": [1.0, 2.0, 3.0]}).getvalue()
    with pytest.raises(MultiAspectError, match="<BytesIO>: a damaged Parquet file"):
        ma.read_run(io.BytesIO(content[:-30]))


@pytest.mark.parametrize("compression", ["none", "snappy"])
def test_flipped_bits_of_a_parquet_file_with_checksums_are_not_read(compression: str) -> None:
    """A bit is flipped in each byte of the pages, which have checksums; the footer after them has none.

    The file is read as it was (the bit had no meaning), or it is an error.
    """
    parquet_writer = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet_writer.write_table(
        pyarrow_of(RUN), file, write_page_checksum=True, compression=compression
    )
    content = file.getvalue()
    expected = ma.read_run(io.BytesIO(content))
    # A file ends with the footer, its length in four bytes, and PAR1, with which it also begins.
    length_of_footer = int.from_bytes(content[-8:-4], "little")
    begin_of_footer = len(content) - 8 - length_of_footer

    errors = []
    for position in range(4, begin_of_footer):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8  # another bit in each byte
        try:
            read = ma.read_run(io.BytesIO(bytes(damaged)))
        except MultiAspectError as error:
            errors.append(str(error))
            continue
        pd.testing.assert_frame_equal(read, expected)
    assert len(errors) > begin_of_footer / 2
    for error in errors:
        assert error.startswith("<BytesIO>: a damaged Parquet file: ")


def damage_bytes(chance: random.Random, content: bytes) -> bytes:
    """A file with some bits turned, bytes replaced or left out, mostly behind those by which its form is known."""
    data = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        position = chance.randrange(chance.choice([0, 6]), len(data))
        how = chance.randrange(5)
        if how == 0:
            data[position] ^= 1 << chance.randrange(8)
        elif how == 1:
            data[position] = chance.choice([0, 127, 128, 255])
        elif how == 2:
            data[position : position + 4] = chance.randbytes(4)
        elif how == 3:
            del data[position : position + chance.randrange(1, 40)]
        else:
            data[position:position] = data[position - 9 : position]
    return bytes(data)


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def content_of_form(form: str, text: bytes, frame: pd.DataFrame) -> bytes:
    """A file with the text, as it is or compressed, or a Parquet file with the same rows."""
    if form == "lines":
        return text
    if form in COMPRESS:
        return COMPRESS[form](text)
    return file_of(form, frame)


@pytest.mark.every(3)
@pytest.mark.parametrize("form", ["lines", "gz", "bz2", "xz", "zst", "parquet"])
def test_spoilt_files_give_a_value_or_one_line(form: str) -> None:
    """Of 80 damaged runs and qrels, none ends in another error than one line of the package."""
    judgments = [
        f"{qid} 0 {docno} {number % 3}\n"
        for number, (qid, docno, _score) in enumerate(RUN.itertuples(index=False))
    ]
    run = content_of_form(form, lines(), RUN)
    qrels = content_of_form(form, "".join(judgments).encode(), QRELS)
    errors: set[str] = set()
    for read, content in ((ma.read_run, run), (ma.read_qrels, qrels)):
        for seed in range(80):
            damaged = damage_bytes(random.Random(f"{form} {seed}"), content)
            try:
                read(io.BytesIO(damaged))
            except MultiAspectError as error:
                errors.add(str(error))
    assert errors
    for error in errors:
        assert error.startswith("<BytesIO>")
        assert "\n" not in error


def test_frames_of_polars_are_read_without_python_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of pandas, whose ids are Python strings, are read by `_frame`, which Polars does not need."""
    expected = Rankings(RUN, Judgments(QRELS)).frame_by_rank()
    run = polars_of(RUN)
    monkeypatch.setattr(run_module, "_frame", None)
    frame = Rankings(run, Judgments(QRELS)).frame_by_rank()
    pd.testing.assert_frame_equal(frame, expected)


@pytest.mark.parametrize(
    "columns",
    [
        {**IDS, "score": [1.0, None, 2.0]},
        {**IDS, "score": [1.0, float("nan"), 2.0]},
        {**IDS, "score": ["1", "b", "2"]},
        {"qid": ["q1", None, "q2"], "docno": ["a", "b", "a"], "score": [1, 2, 3]},
        {"qid": ["q1", "q1", "q2"], "docno": ["a", None, "a"], "score": [1, 2, 3]},
        {**IDS, "query_id": ["q", "q", "q"], "score": [1, 2, 3]},
        {**IDS},
    ],
)
def test_errors_about_frames_of_polars_are_those_about_frames_of_pandas(
    columns: dict[str, Any],
) -> None:
    with pytest.raises(MultiAspectError) as polars_error:
        Rankings(pl.DataFrame(columns), Judgments(QRELS))
    with pytest.raises(MultiAspectError) as pandas_error:
        Rankings(pd.DataFrame(columns), Judgments(QRELS))
    assert str(polars_error.value).replace("None", "nan") == str(pandas_error.value).replace(
        "None", "nan"
    )


def test_a_frame_of_polars_as_a_frame_of_pandas() -> None:
    frame = Run.of(polars_of(RUN)).to_pandas()
    assert frame.to_numpy().tolist() == RUN.to_numpy().tolist()


@pytest.mark.parametrize("convert", [polars_of, pyarrow_of])
def test_scorers_take_labels_and_features_of_other_libraries(
    convert: Callable[[pd.DataFrame], Any],
) -> None:
    from sklearn.linear_model import LinearRegression

    features = pd.DataFrame({"one": [3.0, 1.0, 2.0, 0.0, 5.0], "two": [0.0, 1.0, 1.0, 0.5, 2.0]})
    labels = pd.DataFrame({"label": [2, 0, 1, 1, 0], "credibility": [3, 1, 0, 2, 2]})
    qid = ["a", "a", "a", "b", "b"]
    model = LinearRegression().fit(features.to_numpy(), labels["label"])
    scorer = ma.ranking_scorer(ma.CAM(aspects={"relevance": 2, "credibility": 3}))
    wanted = scorer(model, features.to_numpy(), labels, qid=qid)
    assert scorer(model, features.to_numpy(), convert(labels), qid=qid) == wanted
    named = LinearRegression().fit(features, labels["label"])
    if convert is polars_of:  # scikit-learn reads frames of Polars
        assert scorer(named, convert(features), convert(labels), qid=qid) == wanted


def test_columns_of_polars() -> None:
    values = ["b", "b", "a", "", "é", "b"]
    table = Run.of(pl.DataFrame({"qid": values, "docno": values, "score": range(6)}))
    assert table.qids[table.query].tolist() == values
    assert len(set(table.qids)) == len(table.qids)
    assert table.docnos.decode().tolist() == values


@pytest.mark.parametrize(
    ("form", "remedy"),
    [
        (
            "feather",
            r"Arrow IPC \(Feather\); write Parquet: pandas\.read_feather\(…\)\.to_parquet\(…\)",
        ),
        (
            "stream",
            (
                r"Arrow stream; write Parquet: "
                r"pyarrow\.ipc\.open_stream\(…\)\.read_pandas\(\)\.to_parquet\(…\)"
            ),
        ),
        ("feather 1", r"Feather; write Parquet: pandas\.read_feather\(…\)\.to_parquet\(…\)"),
        ("lz4", r"LZ4; decompress it; ranx writes JSON by Run\.save\('run\.json'\)"),
        ("zip", r"ZIP; decompress it"),
    ],
)
def test_files_in_other_formats_name_the_remedy(form: str, remedy: str, tmp_path: Path) -> None:
    ipc, feather = pytest.importorskip("pyarrow.ipc"), pytest.importorskip("pyarrow.feather")
    path = tmp_path / "file"
    if form == "feather":
        feather.write_feather(pyarrow_of(RUN), str(path))
    elif form == "stream":
        table = pyarrow_of(RUN)
        with ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    else:
        magic = {"feather 1": b"FEA1", "lz4": b"\x04\x22\x4d\x18", "zip": b"PK\x03\x04"}[form]
        path.write_bytes(magic + bytes(20))
    message = f"file: expected text or Parquet, .* got a file in the format {remedy}"
    for read in (
        lambda: ma.read_run(path),
        lambda: ma.read_qrels(path),
        lambda: ma.evaluate({"a": path}, QRELS, ["AP"], progress=False),
        lambda: ma.read_values(path),
    ):
        with pytest.raises(MultiAspectError, match=message):
            read()


class HuggingFace:
    """A dataset, as of Hugging Face."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.to_pandas = frame.copy
        self.column_names = [*frame.columns]


def test_datasets_of_hugging_face(tmp_path: Path) -> None:
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [1.5, 0.2]})
    labels = pd.DataFrame({"query-id": ["q1", "q1"], "corpus-id": ["d1", "d2"], "score": [0, 1]})
    for runs in ({"x": HuggingFace(run)}, [HuggingFace(run)], HuggingFace(run)):
        assert ma.evaluate(runs, HuggingFace(labels), ["AP"])["value"].tolist() == [0.5]
    splits = type("DatasetDict", (dict,), {})(test=HuggingFace(labels))
    with pytest.raises(
        MultiAspectError,
        match=r"got a DatasetDict of test: pass one of them, such as qrels\['test'\]",
    ):
        ma.evaluate({"x": run}, splits, ["AP"])


def test_qrels_and_runs_with_the_columns_of_ranx(tmp_path: Path) -> None:
    columns = ["q_id", "doc_id", "score"]
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [1.5, 0.2]})
    labels = pd.DataFrame({"query-id": ["q1", "q1"], "corpus-id": ["d1", "d2"], "score": [0, 1]})
    run_of_ranx, labels_of_ranx = run.set_axis(columns, axis=1), labels.set_axis(columns, axis=1)
    assert ma.evaluate({"x": run_of_ranx}, labels_of_ranx, ["AP"])["value"].tolist() == [0.5]
    labels_of_ranx.to_parquet(tmp_path / "qrels.parquet", index=False)
    assert ma.read_qrels(tmp_path / "qrels.parquet")["label"].tolist() == [0, 1]
    with pytest.raises(MultiAspectError, match=r"expected whole numbers as labels, got 1\.5"):
        ma.evaluate({"x": labels}, run_of_ranx, ["AP"])


def test_readers_take_frames() -> None:
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [1.5, 0.2]})
    labels = pd.DataFrame({"query-id": ["q1", "q1"], "corpus-id": ["d1", "d2"], "score": [0, 1]})
    for convert in (HuggingFace, pd.DataFrame, polars_of, pyarrow_of):
        pd.testing.assert_frame_equal(ma.read_run(convert(run)), run, check_dtype=False)
        qrels = ma.read_qrels(convert(labels))
        assert qrels.to_dict("list") == {
            "qid": ["q1", "q1"],
            "docno": ["d1", "d2"],
            "label": [0, 1],
        }
    both = ma.read_qrels(
        {"relevance": HuggingFace(labels), "trust": HuggingFace(labels.assign(score=[3, 1]))}
    )
    assert both["trust"].tolist() == [3, 1]
    with pytest.raises(MultiAspectError, match=r"^HuggingFace: expected a column score, .* docno$"):
        ma.read_run(HuggingFace(run.drop(columns="score")))


class DatasetDict(dict[str, Any]):
    """The splits of a dataset of Hugging Face; its name is part of the errors."""


RUN_IN_SPLITS = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [1.5, 0.2]})
SPLITS = DatasetDict(test=HuggingFace(RUN_IN_SPLITS))


@pytest.mark.parametrize(
    ("runs", "name"),
    [
        ({"x": SPLITS}, "x"),
        ({"y": RUN, "x": SPLITS}, "x"),
        ({"x": SPLITS, "y": RUN}, "x"),
        ([SPLITS], "1"),
    ],
    ids=["alone", "last", "first", "in a list"],
)
def test_a_dict_of_splits_as_one_of_the_runs(runs: Any, name: str) -> None:
    """Of a run that is in splits, the error says to pass one of these."""
    message = (
        rf"^run {name}: expected a run, got a DatasetDict of test: "
        r"pass one of them, such as run\['test'\]$"
    )
    with pytest.raises(MultiAspectError, match=message):
        ma.evaluate(runs, QRELS, ["AP"])


def test_a_dict_of_splits_as_a_run_or_qrels() -> None:
    message = r"got a DatasetDict of test: pass one of them, such as run\['test'\]$"
    with pytest.raises(MultiAspectError, match=message):
        ma.read_run(SPLITS)
    message = r"got a DatasetDict of test: pass one of them, such as qrels\['test'\]$"
    with pytest.raises(MultiAspectError, match=message):
        ma.read_qrels(SPLITS)


def _small_file_of_a_large_table(path: Path, n_rows: int) -> None:
    """Write a file of .1 MB; n_rows of 300 characters each."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet_writer = pytest.importorskip("pyarrow.parquet")
    part = {"qid": ["q1"] * n_rows, "docno": ["x" * 300] * n_rows, "label": [1] * n_rows}
    parquet_writer.write_table(pyarrow.table(part), path, compression="zstd")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
@pytest.mark.parametrize("command", [["describe", "--qrels"], ["evaluate", "-m", "AP", "--qrels"]])
def test_files_that_expand_beyond_the_memory_are_refused_in_one_line(
    command: list[str], tmp_path: Path
) -> None:
    """Kind: a file of .1 MB that expands to 600 MB. The process was aborted, or the file was called damaged."""
    path = tmp_path / "qrels.parquet"
    _small_file_of_a_large_table(path, 2_000_000)
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 1 a\n")
    runs = [str(tmp_path / "run.txt")] if command[0] == "evaluate" else []
    arguments = [*command, f"relevance={path}", *runs]
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (3 << 30,) * 2); "
        f"from pt_multiaspect.cli.program import main; sys.exit(main({arguments!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert (
        "qrels.parquet: expands to more than 256 MB, at least 200 times its size, unlike runs and "
        "judgments" in line
    )


def test_a_lack_of_memory_is_not_told_to_be_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet({**IDS, "score": [1.0, 2.0, 3.0]})

    def fail(*arguments: Any, **options: Any) -> None:
        raise MemoryError("realloc of size 1 failed")

    monkeypatch.setattr("pyarrow.parquet.ParquetFile", fail)
    with pytest.raises(
        MultiAspectError, match="<BytesIO>: there is not enough memory to read the file; split it"
    ):
        ma.read_run(content)
