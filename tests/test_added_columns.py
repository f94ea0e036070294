"""Columns that pandas and others add to tables are no aspects: row indexes, and ids in another spelling."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from frame_forms import FORMS, As
from frame_world import write_file

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError, MultiAspectWarning

QIDS = [f"q{query}" for query in range(4) for _ in range(10)]
DOCNOS = [f"d{row % 10}" for row in range(40)]
RNG = np.random.default_rng(0)
QRELS = pd.DataFrame(
    {
        "qid": QIDS,
        "docno": DOCNOS,
        "label": RNG.integers(0, 3, 40),
        "credibility": RNG.integers(0, 2, 40),
    }
)
RELEVANCE = QRELS[["qid", "docno", "label"]]
RUN = pd.DataFrame({"qid": QIDS, "docno": DOCNOS, "score": RNG.random(40)})
CAM = ma.CAM @ 5

#: Columns that are no labels. The first ones have few values, as the parts of pd.concat.
ADDED = (
    "Unnamed: 0",
    "Unnamed: 0.1",
    "Unnamed: 12",
    "index",
    "Index",
    "level_0",
    "level_1",
    "__index_level_0__",
    "row_nr",
    "row_index",
    "rowid",
    "row_id",
    "row_number",
    "rowname",
    "rownames",
    "row.names",
    "rn",
    "...1",
    "X",
    "X.1",
    "X1",
    "V1",
    "Column1",
    "_c0",
    "__null_dask_index__",
    " index",
    "QID",
    "Qid",
    "Query_ID",
    "query-id",
    "Docno",
    "DocNo",
    "DOC_ID",
    "docID",
    "Iteration",
    "Q_ID",
)

#: Names that somebody gave to labels.
NAMED = (["x"], ["X1", "X2"], ["V1", "V2"], ["rows"], ["indexed"], ["x.1"])


def evaluate(qrels: Any, measure: Any = CAM) -> list[float]:
    return list(ma.evaluate({"a": RUN}, qrels, measure, progress=False)["value"])


@pytest.fixture(scope="module")
def expected() -> list[float]:
    return evaluate(QRELS)


def with_column(name: str, n_values: int = 10, frame: pd.DataFrame = QRELS) -> pd.DataFrame:
    added = np.arange(len(frame)) % n_values
    return frame.assign(**{name: added})[[name, *frame.columns]]


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("n_values", [1, 2, 10, 40])
def test_added_columns_are_left_out_with_a_warning(
    name: str, n_values: int, expected: list[float]
) -> None:
    qrels = with_column(name, n_values)
    with pytest.warns(MultiAspectWarning, match=rf"the column {name} .* left out") as caught:
        assert evaluate(qrels) == expected
    assert len(caught) == 1


@pytest.mark.parametrize("names", NAMED, ids="-".join)
def test_names_that_look_similar_are_aspects(names: list[str]) -> None:
    qrels = QRELS.assign(**dict.fromkeys(names, QRELS["credibility"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ma.Judgments(qrels).label_names == ("relevance", "credibility", *names)
        evaluate(qrels)


@pytest.mark.parametrize(
    "n_values", [2, 40], ids=["few values, as a label has", "a value for each row"]
)
def test_a_column_with_an_empty_name(n_values: int, expected: list[float]) -> None:
    """Polars and Arrow read the index that pandas wrote so."""
    with pytest.warns(MultiAspectWarning, match=r"the column \(without a name\) is left out"):
        assert evaluate(with_column("", n_values)) == expected
    described = str(ma.describe(with_column("", n_values)))
    assert "drop(columns='')" in described


def test_one_warning_names_all() -> None:
    qrels = with_column("Unnamed: 0", frame=with_column("QID", frame=with_column("level_0")))
    with pytest.warns(
        MultiAspectWarning, match="the columns Unnamed: 0, QID, level_0 .* left out"
    ) as caught:
        evaluate(qrels)
    assert len(caught) == 1


def test_the_index_of_pandas_that_was_saved_and_read(tmp_path: Path, expected: list[float]) -> None:
    """Parts of a table, one below the other: their index is 0 … 9 for each topic, as grades could be."""
    parts = pd.concat([part.reset_index(drop=True) for _, part in QRELS.groupby("qid")])
    path = tmp_path / "q.csv"
    parts.to_csv(path)
    with pytest.warns(MultiAspectWarning, match=r"Unnamed: 0 .* left out"):
        assert evaluate(pd.read_csv(path)) == expected
    with pytest.warns(
        MultiAspectWarning, match=r"q\.csv: the column \(without a name\) .* left out"
    ):
        qrels = ma.read_qrels(path)
    assert list(qrels.columns) == list(QRELS.columns)
    assert evaluate(qrels) == expected
    pd.read_csv(path).to_csv(path)
    with pytest.warns(
        MultiAspectWarning, match=r"q\.csv: the columns \(without a name\), Unnamed: 0 .* left out"
    ):
        assert evaluate(ma.read_qrels(path)) == expected


@pytest.mark.parametrize("name", ["index", "__index_level_0__", "QID"])
@pytest.mark.parametrize("form", FORMS)
def test_frames_of_other_libraries(form: As, name: str, expected: list[float]) -> None:
    with pytest.warns(MultiAspectWarning, match=f"the column {name} .* left out"):
        assert evaluate(form(with_column(name))) == expected


DOORS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "evaluate": lambda qrels: evaluate(qrels),
    "calc_aggregate": lambda qrels: CAM.calc_aggregate(
        qrels.rename(columns={"qid": "query_id", "docno": "doc_id", "label": "relevance"}), RUN.set_axis(
            ["query_id", "doc_id", "score"], axis=1
        )
    ),
    "upper_bound": lambda qrels: ma.analysis.upper_bound(qrels, CAM)["value"].tolist(),
    "explain": lambda qrels: str(ma.explain(CAM, RUN, qrels, "q1")),
    "ranking_score": lambda qrels: ma.ranking_score(
        qrels.drop(columns="docno"), RUN["score"].to_numpy(), measure=CAM
    ),
    "aggregate_labels": lambda qrels: ma.aggregate_labels(qrels, CAM).values["label"].tolist(),
    "metric_for": lambda qrels: ma.metric_for("lightgbm", CAM, qrels.drop(columns=["qid", "docno"]), QIDS)(
        QRELS["label"].to_numpy(), RUN["score"].to_numpy()
    )[1],
    "AspectRanker": lambda qrels: ma.AspectRanker(_linear(), target=CAM).fit(
        RUN[["score"]].to_numpy(), qrels.drop(columns=["qid", "docno"]), qid=QIDS
    ).estimator_.coef_.tolist(),
    "Parquet": lambda qrels: ma.read_qrels(_parquet(qrels)).to_dict("list"),
    "CSV": lambda qrels: ma.read_qrels(io.StringIO(qrels.to_csv(index=False))).to_dict("list"),
}  # fmt: skip


def _linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _parquet(frame: pd.DataFrame) -> io.BytesIO:
    pytest.importorskip("pyarrow")
    return io.BytesIO(frame.to_parquet(index=False))


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", "Docno"])
@pytest.mark.parametrize("door", DOORS)
def test_every_door(door: str, name: str) -> None:
    expected = DOORS[door](QRELS)
    with pytest.warns(MultiAspectWarning, match=rf"the column {name} .* left out"):
        assert DOORS[door](with_column(name)) == expected


def test_judgments_do_not_list_added_columns() -> None:
    assert ma.Judgments(with_column("Unnamed: 0")).label_names == ("relevance", "credibility")


def test_a_saved_index_in_a_file_of_beir() -> None:
    text = (
        QRELS[["qid", "docno", "label"]]
        .set_axis(["query-id", "corpus-id", "score"], axis=1)
        .to_csv(sep="\t")
    )
    with pytest.warns(MultiAspectWarning, match=r"the column \(without a name\) is left out"):
        qrels = ma.read_qrels(io.StringIO(text))
    assert list(qrels.columns) == ["qid", "docno", "label"]


def test_criteria_of_answers() -> None:
    rows = [
        (f"q{query}", system, grade)
        for query in range(6)
        for system, grade in (("a", 1), ("b", query % 2))
    ]
    judged = pd.DataFrame(rows, columns=["qid", "name", "correct"])
    expected = ma.answers.from_criteria(judged)
    added = with_column("Unnamed: 0", 2, judged)
    with pytest.warns(MultiAspectWarning, match="the column Unnamed: 0 .* left out"):
        read = ma.answers.from_criteria(added)
    pd.testing.assert_frame_equal(read, expected)


def test_the_findings_of_describe_are_about_labels_only() -> None:
    description = ma.describe(with_column("Unnamed: 0"))
    assert list(description.aspects) == ["relevance", "credibility"]
    assert "Unnamed: 0" in str(description)


#: Labels in a column that is called as pandas calls an index, and the same in one called effort.
LEVEL_0 = with_column("level_0", 3)
EFFORT = LEVEL_0.rename(columns={"level_0": "effort"})


def test_an_aspect_that_is_chosen_by_name_stays() -> None:
    """level_0 is no index if a measure names it."""
    cam = ma.CAM(aspects={"relevance": 2, "level_0": 2}) @ 5
    expected = ma.CAM(aspects={"relevance": 2, "effort": 2}) @ 5
    assert evaluate(LEVEL_0, cam) == evaluate(EFFORT, expected)

    on_level_0 = ma.On(aspect="level_0", base="nDCG@5")
    on_effort = ma.On(aspect="effort", base="nDCG@5")
    assert evaluate(LEVEL_0, on_level_0) == evaluate(EFFORT, on_effort)


def score_of(qrels: pd.DataFrame, **options: Any) -> float:
    """The ranking score of the run, with the labels of these qrels."""
    labels = qrels.drop(columns=["qid", "docno"])
    return ma.ranking_score(labels, RUN["score"], qid=QIDS, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"measure": ma.CAM(aspects={"relevance": 2, "level_0": 2})},
        {"measure": "CAM(aspects='relevance,level_0')"},
        {"measure": ma.CAM(aspects="relevance,level_0")},
        {"measure": "CAM", "aspects": ["relevance", "level_0"]},
    ],
    ids=["scales", "string", "names", "aspects="],
)
def test_an_aspect_that_is_chosen_by_name_stays_in_scores(options: dict[str, Any]) -> None:
    expected = score_of(EFFORT, measure=ma.CAM(aspects="relevance,effort"))
    assert score_of(LEVEL_0, **options) == expected


def test_an_aspect_that_is_chosen_by_name_is_read_from_files() -> None:
    columns = ["qid", "docno", "label", "level_0"]
    aspects = ["relevance", "level_0"]
    from_parquet = ma.read_qrels(_parquet(LEVEL_0), aspects=aspects)
    assert list(from_parquet.columns) == columns
    from_csv = ma.read_qrels(io.StringIO(LEVEL_0.to_csv(index=False)), aspects=aspects)
    assert list(from_csv.columns) == columns
    from_two = ma.read_qrels(
        {"relevance": RELEVANCE, "level_0": LEVEL_0[["qid", "docno", "level_0"]]}
    )
    assert list(from_two.columns) == columns


#: What is evaluated without a warning.
SILENT: dict[str, Callable[[], Any]] = {
    "measures of relevance": lambda: evaluate(with_column("Unnamed: 0"), "AP"),
    "selected aspects": lambda: evaluate(with_column("Unnamed: 0"), ma.CAM(aspects="relevance,credibility") @ 5),
    "the columns of ids": lambda: evaluate(QRELS.assign(iteration="0", query="words")),
    "a row index": lambda: evaluate(QRELS.set_axis(pd.Index(range(5, 45), name="index"))),
    "names that only contain the words": lambda: ma.Judgments(
        QRELS.assign(index_of_readability=1, levels=1, unnamed=1)
    ).label_names,
    "runs": lambda: ma.evaluate({"a": with_column("Unnamed: 0", frame=RUN)}, QRELS, "AP", progress=False),
    "files of runs": lambda: ma.read_run(io.StringIO(with_column("index", frame=RUN).to_csv())),
    "one file per aspect": lambda: ma.read_qrels({"relevance": io.StringIO(RELEVANCE.to_csv())}),
    "values": lambda: ma.aggregate(
        with_column("Unnamed: 0", frame=ma.evaluate({"a": RUN}, QRELS, "AP", progress=False))
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SILENT)
def test_silent_uses(case: str) -> None:
    SILENT[case]()


def test_ids_in_another_spelling_only_are_an_error() -> None:
    with pytest.raises(
        MultiAspectError, match="expected one column qid or query_id, got the columns QID, "
    ):
        ma.Judgments(QRELS.rename(columns={"qid": "QID"}))


def test_saved_indexes_are_no_features() -> None:
    features, labels = pd.DataFrame({"score": RUN["score"]}), QRELS["label"]
    for frame in (features, features.assign(__index_level_0__=range(40))):
        ranker = ma.AspectRanker(_linear(), target="relevance").fit(frame, labels, qid=QIDS)
        assert len(ranker.estimator_.coef_) == 1


def test_the_command_line(cli: Any, trec_files: Path) -> None:
    files = {aspect: trec_files / f"{aspect}.txt" for aspect in ("relevance", "credibility")}
    qrels = ma.read_qrels(files)
    write_file(trec_files / "plain.csv", qrels.to_csv(index=False))
    write_file(trec_files / "q.csv", qrels.to_csv())
    measure = "CAM(aspects={'relevance':2,'credibility':3})@5"
    arguments = ("evaluate", "-m", measure, "--format", "csv", "runs/alpha.run")
    code, expected, err = cli(*arguments, qrels=["plain.csv"])
    assert (code, err) == (0, "")
    code, out, err = cli(*arguments, qrels=["q.csv"])
    assert (code, out) == (0, expected)
    assert "q.csv: the column (without a name) is left out of the aspects" in err
