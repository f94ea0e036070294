"""Data frames of other libraries as qrels and runs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pt_multiaspect as ma
from pt_multiaspect import MM, Judgments, MultiAspectError
from pt_multiaspect.collection.frames import to_pandas
from pt_multiaspect.collection.rankings import Rankings

QRELS = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q1", "q2", "q2"],
        "docno": ["a", "b", "c", "a", "b"],
        "credibility": [0, 2, 1, 2, 0],
        "label": [2, 0, 1, 1, 0],
    }
)
RUN = pd.DataFrame(
    {"qid": ["q1", "q1", "q2", "q2"], "docno": ["b", "a", "b", "a"], "score": np.array([3, 1, 2, 1], np.float32)}
)


def evaluate(qrels: Any, run: Any) -> list[float]:
    return MM.evaluate(Rankings(run, Judgments(qrels))).tolist()


class TableLike:
    """What PyArrow's Table offers of what is asked for."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns = [frame[name] for name in frame]

    def __arrow_c_stream__(self) -> None:
        raise AssertionError("not needed")

    def to_pandas(self) -> pd.DataFrame:
        return self._frame


@pytest.mark.parametrize("convert", [pl.from_dict, TableLike])
def test_frames_of_other_libraries_are_read_with_their_names(convert: Any) -> None:
    qrels, run = (
        convert(frame) if convert is TableLike else pl.DataFrame({name: frame[name].to_numpy() for name in frame})
        for frame in (QRELS, RUN)
    )
    assert Judgments(qrels).label_names == ("relevance", "credibility")
    assert evaluate(qrels, run) == evaluate(QRELS, RUN)


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


@pytest.mark.parametrize("other", [[1], {"a": [1]}, np.ones((2, 2)), "text", pl.Series([1]), pd.Series([1]), None])
def test_what_is_no_frame_is_left_to_the_caller(other: object) -> None:
    assert to_pandas(other) is None


def test_lazy_frames_and_frames_that_cannot_be_converted_are_errors_with_the_remedy() -> None:
    lazy = pl.DataFrame({"qid": ["q1"]}).lazy()
    for read in (Judgments, lambda run: Rankings(run, Judgments(QRELS))):
        with pytest.raises(MultiAspectError, match=r"lazy polars\.LazyFrame: pass the result of \.collect\(\)"):
            read(lazy)

    class Foreign:
        columns = ("qid",)
        __dataframe__ = None

    with pytest.raises(MultiAspectError, match="convert it to a pandas DataFrame"):
        Judgments(Foreign())

    class Unable:
        columns = ("qid",)

        def to_pandas(self) -> pd.DataFrame:
            raise ModuleNotFoundError("No module named 'other'")

    with pytest.raises(MultiAspectError, match="cannot be converted to pandas: No module named 'other'"):
        Judgments(Unable())


def test_no_other_library_is_imported() -> None:
    code = "import sys, pt_multiaspect; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'pt_multiaspect.collection.frames'" in done.stdout
    assert "'polars'" not in done.stdout


def test_evaluate_takes_frames_of_polars() -> None:
    """Alone, in a list and by name; frames are iterable, but not lists of runs."""
    qrels = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "label": [0, 1]})
    run = pl.DataFrame({"qid": ["q1", "q1"], "docno": ["d1", "d2"], "score": [2.0, 1.0]})
    for runs, names in ((run, ["run 1"]), ([run, run], ["run 1", "run 2"]), ({"mine": run}, ["mine"])):
        table = ma.evaluate(runs, qrels, ["map", "bpref"], progress=False)
        assert table["name"].unique().tolist() == names
        assert table["value"].tolist() == [0.5, 0.0] * len(names)
    with pytest.raises(MultiAspectError, match=r"lazy polars\.LazyFrame"):
        ma.evaluate(run.lazy(), qrels, "map", progress=False)
