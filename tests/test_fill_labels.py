"""Qrels whose missing labels are filled: donors, keys of random numbers, labels of models and errors."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

import pt_multiaspect as ma
from pt_multiaspect import MultiAspectError

SCALES = {"relevance": 2, "trust": 3}


def draw_qrels(n_topics: int = 6, n_documents: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "qid": np.repeat([f"q{number}" for number in range(n_topics)], n_documents),
            "docno": [f"d{number}" for number in range(n_documents)] * n_topics,
            "label": rng.integers(0, 3, n_topics * n_documents).astype(float),
        }
    )
    frame["trust"] = frame["label"] + rng.integers(0, 2, len(frame))
    lost = rng.random((len(frame), 2)) < 0.3
    return frame.mask(np.column_stack([np.zeros((len(frame), 2), dtype=bool), lost]))


def run_on(qrels: pd.DataFrame, *documents: str) -> dict[str, dict[str, float]]:
    return {qid: {docno: -float(rank) for rank, docno in enumerate(documents)} for qid in qrels["qid"].unique()}


QRELS = draw_qrels()
RUNS = {"a": run_on(QRELS, "d1", "new", "other"), "b": run_on(QRELS, "other", "d3")}


def by_pair(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(["qid", "docno"]).sort_index()


def test_judged_labels_are_kept_and_all_others_are_filled() -> None:
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES)
    assert filled.columns.tolist() == ["qid", "docno", "label", "trust"]
    judged = by_pair(QRELS)
    compared = by_pair(filled).loc[judged.index]
    pd.testing.assert_frame_equal(compared.where(judged.notna()), judged)
    assert filled.notna().all(axis=None)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"new", "other"}
    holes = QRELS[["label", "trust"]].isna().sum() + 12
    assert filled.attrs["filled"] == {
        name: {"filled": number, "missing": 0, "by": "observed"}
        for name, number in zip(["relevance", "trust"], holes.tolist(), strict=True)
    }


def test_labels_come_from_donors_with_the_same_known_labels() -> None:
    donors = {tuple(row) for row in QRELS.dropna()[["label", "trust"]].to_numpy()}
    drawn = {tuple(row) for row in ma.fill_labels(QRELS, RUNS, aspects=SCALES)[["label", "trust"]].to_numpy()}
    assert drawn <= donors


def test_donors_of_the_topic_are_drawn_more_often() -> None:
    rows = [("q1", f"d{n}", 2.0, 1.0) for n in range(15)] + [("q2", f"d{n}", 0.0, 0.0) for n in range(15)]
    holes = [("q1", f"x{n}", np.nan, np.nan) for n in range(2000)]
    qrels = pd.DataFrame([*rows, *holes], columns=["qid", "docno", "relevance", "trust"])
    filled = ma.fill_labels(qrels, {"a": {"q1": {"d0": 1.0}}}, aspects=SCALES)
    share = (filled["relevance"][filled["docno"].str.startswith("x")] == 2).mean()
    assert share == pytest.approx(15 / 20 + 5 / 20 / 2, abs=0.03)


def test_a_label_depends_on_its_seed_topic_and_document_only() -> None:
    first = by_pair(ma.fill_labels(QRELS, RUNS, aspects=SCALES))
    shuffled = ma.fill_labels(QRELS.sample(frac=1, random_state=1), {"b": RUNS["b"]}, aspects=SCALES)
    again = by_pair(shuffled)
    pd.testing.assert_frame_equal(first.loc[again.index], again)
    others = by_pair(ma.fill_labels(QRELS, RUNS, aspects=SCALES, seed=1))
    assert not first.equals(others)


def test_further_columns_are_kept() -> None:
    qrels = QRELS.assign(known=QRELS["label"].isna().to_numpy(), note=np.arange(len(QRELS)).astype(str))
    filled = by_pair(ma.fill_labels(qrels.sample(frac=1, random_state=2), RUNS, aspects=SCALES))
    assert filled.columns.tolist() == ["label", "trust", "known", "note"]
    judged = by_pair(qrels)[["known", "note"]]
    pd.testing.assert_frame_equal(filled.loc[judged.index, ["known", "note"]], judged, check_dtype=False)
    assert filled.loc[~filled.index.isin(judged.index), ["known", "note"]].isna().all(axis=None)
    values = ma.evaluate(RUNS, filled.reset_index(), ma.On(base="NoveltyRatio", aspects={"relevance": 2}))
    assert values["value"].max() > 0


def test_depth_leaves_out_documents_further_down() -> None:
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES, depth=1)
    assert set(filled["docno"]) - set(QRELS["docno"]) == {"other"}


def test_labels_of_a_model_fill_what_they_have() -> None:
    model = pd.DataFrame({"qid": ["q0", "q1"], "docno": ["new", "new"], "relevance": [2, 1], "trust": [3, np.nan]})
    filled = by_pair(ma.fill_labels(QRELS, RUNS, model, aspects=SCALES))
    assert filled.loc[("q0", "new")].tolist() == [2.0, 3.0]
    assert filled.loc[("q1", "new"), "label"] == 1.0
    record = filled.attrs["filled"]
    assert (record["relevance"]["filled"], record["trust"]["filled"]) == (2, 1)
    assert record["trust"]["missing"] == filled["trust"].isna().sum()


def test_without_an_equal_donor_the_side_of_the_threshold_counts() -> None:
    qrels = {"q": {"d1": {"relevance": 1, "trust": 3}, "d2": {"relevance": 0, "trust": 0}, "d3": {"relevance": 2}}}
    filled = ma.fill_labels(qrels, {"a": {"q": {"d1": 1.0}}}, aspects=SCALES)
    assert filled.set_index("docno").loc["d3"].tolist() == ["q", 2.0, 3.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "from which to draw trust, got none for document d2 of topic q.*gate="),
        ({"labels": "mean"}, "expected 'observed' or qrels"),
        ({"depth": 0}, "depth"),
        ({"seed": 1.5}, "seed"),
        ({"labels": {"q": {"d2": {"trust": 7}}}}, "labels: invalid trust label 7"),
        (
            {"labels": {"q": {"d2": {"clarity": 1}}}},
            "labels: expected a column of relevance",
        ),
    ],
)
def test_errors(options: dict[str, Any], message: str) -> None:
    judged = {"q": {"d1": {"relevance": 1, "trust": 3}, "d2": {"relevance": 0}}}
    with pytest.raises(MultiAspectError, match=message):
        ma.fill_labels(judged, {"a": {"q": {"d1": 1.0}}}, aspects=SCALES, **options)


# -- the command -----------------------------------------------------------------------------------------------

NAMES = {"relevance": "relevance.txt", "credibility": "partly.txt"}
ARGUMENTS = tuple(f"{name}={file}" for name, file in NAMES.items())


@pytest.fixture
def partly_judged(trec_files: Path) -> Path:
    """Qrels where every third label of credibility is missing, and those of a model, which has some of them."""
    lines = (trec_files / "credibility.txt").read_text().splitlines()
    (trec_files / "partly.txt").write_text("\n".join(line for row, line in enumerate(lines) if row % 3))
    (trec_files / "model.txt").write_text("\n".join(lines[:20]))
    return trec_files


def written(folder: str) -> dict[str, dict[str, Any]]:
    """What the records beside the files say, of the content of these."""
    records = {}
    for file in sorted(Path(folder).glob("*.qrels")):
        record = yaml.safe_load(Path(f"{file}.ir_metadata.yml").read_text())
        assert record["pt_multiaspect"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        records[file.stem] = record
    return records


def test_the_command_writes_what_the_function_returns(cli: Any, partly_judged: Path) -> None:
    options = ("--no-check", "--aspects", "scales.json", "--depth", "3", "--seed", "7")
    code, out, err = cli("fill", *options, "-o", "filled", "runs", qrels=ARGUMENTS)
    runs = {path.name: path for path in sorted(Path("runs").iterdir())}
    qrels = ma.read_qrels(NAMES, check=False)
    filled = ma.fill_labels(qrels, runs, aspects=ma.Aspects.from_file("scales.json"), depth=3, seed=7)
    number = filled.attrs["filled"]["credibility"]["filled"]
    assert (code, err) == (0, "")
    assert out == (
        "wrote filled/relevance.qrels: 0 labels filled, 0 missing\n"
        f"wrote filled/credibility.qrels: {number} labels filled, 0 missing\n"
    )
    again = ma.read_qrels({name: f"filled/{name}.qrels" for name in NAMES})
    pd.testing.assert_frame_equal(by_pair(again), by_pair(filled), check_dtype=False)
    for aspect, record in written("filled").items():
        assert record["pt_multiaspect"]["filled"] == filled.attrs["filled"][aspect]
        assert set(record["pt_multiaspect"]["qrels"]) == set(NAMES)
        assert set(record["pt_multiaspect"]["runs"]) == set(runs)
        assert record["implementation"]["executable"]["cmd"].endswith("--depth 3 --seed 7 -o filled runs")


def test_documents_that_users_know_are_no_aspect_to_fill(cli: Any, partly_judged: Path) -> None:
    Path("known.txt").write_text("q0 0 d1 1\n")
    files = (*ARGUMENTS, "known=known.txt")
    code, _, err = cli("fill", "--no-check", "--aspects", "scales.json", "-o", "filled", "runs", qrels=files)
    assert (code, err) == (0, "")
    assert sorted(path.stem for path in Path("filled").glob("*.qrels")) == sorted(NAMES)


def test_labels_of_a_model_are_written_and_the_rest_left_out(cli: Any, partly_judged: Path) -> None:
    labels = ("--labels", "credibility=model.txt")
    code, out, _ = cli("fill", "--no-check", *labels, "-o", "filled", "runs", qrels=ARGUMENTS)
    assert code == 0
    assert out.endswith("wrote filled/credibility.qrels: 7 labels filled, 9 missing\n")
    assert len(Path("filled/credibility.qrels").read_text().splitlines()) == 48 - 9
    record = written("filled")["credibility"]["pt_multiaspect"]
    assert record["filled"] == {"filled": 7, "missing": 9, "by": "labels"}
    assert record["qrels"]["labels credibility"]["file"] == "model.txt"


def test_the_provenance_of_values_says_what_was_filled(cli: Any, partly_judged: Path) -> None:
    assert cli("fill", "--no-check", "-o", "filled", "runs", qrels=ARGUMENTS)[0] == 0
    files = [f"{name}=filled/{name}.qrels" for name in NAMES]

    def recorded() -> dict[str, Any]:
        assert cli("evaluate", "-m", "CAM", "-o", "table.csv", "runs", qrels=files)[0] == 0
        qrels = yaml.safe_load(Path("table.csv.ir_metadata.yml").read_text())["pt_multiaspect"]["qrels"]
        return {name: entry.get("filled") for name, entry in qrels.items()}

    assert recorded() == {
        "relevance": {"filled": 0, "missing": 0, "by": "observed"},
        "credibility": {"filled": 16, "missing": 0, "by": "observed"},
    }
    with open("filled/credibility.qrels", "a") as file:  # the record is that of another file then
        file.write("q0 0 more 1\n")
    files.append("--no-check")
    assert recorded()["credibility"] is None


def test_ids_with_blanks_and_aspects_that_are_no_file_names_are_refused(cli: Any, partly_judged: Path) -> None:
    """Before anything is written, as other tools could not read it, or it would lie elsewhere."""
    Path("blank.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td 0\t1\nq0\td1\t0\n")
    Path("blank.json").write_text('{"q0": {"d 0": 2.0, "d1": 1.0}}')
    code, _, err = cli("fill", "-o", "filled", "blank.json", qrels=("relevance=blank.tsv",))
    assert code == 2
    assert "--output: expected ids without blanks, which separate fields, got 'd 0' on topic 'q0'" in err
    for aspect in ("../evil", "a/b"):
        code, _, err = cli("fill", "--no-check", "-o", "filled", "runs", qrels=(f"{aspect}=relevance.txt",))
        assert code == 2
        assert f"--qrels: expected an aspect that a file can be named after, got {aspect!r}" in err
    assert not Path("filled").exists()


@pytest.mark.slow
def test_the_provenance_of_a_report_says_what_was_filled() -> None:
    pytest.importorskip("jinja2")
    filled = ma.fill_labels(QRELS, RUNS, aspects=SCALES)
    other = pd.DataFrame(filled.to_dict("list"))  # without the record
    pages = [ma.report(RUNS, qrels, ma.CAM(aspects=SCALES) @ 3).to_html() for qrels in (filled, other)]
    assert ["by: observed" in page for page in pages] == [True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("runs",), "missing --output: give the directory to write"),
        (("-o", "runs", "runs"), "--output: "),
        (("-o", "filled", "--depth", "0", "runs"), "--depth: "),
        (("-o", "filled", "--labels", "credibility=nothing.txt", "runs"), "--labels: no such file: nothing.txt"),
        (("-o", "filled", "--labels", "clarity=model.txt", "runs"), "--labels: expected a column of relevance"),
        (("-o", "filled"), "missing RUN: give run files"),
    ],
)
def test_mistakes(cli: Any, partly_judged: Path, options: tuple[str, ...], message: str) -> None:
    code, out, err = cli("fill", "--no-check", *options, qrels=ARGUMENTS)
    assert (code, out) == (2, "")
    assert message in err
    assert not Path("filled").exists()


def test_without_donors_the_option_is_the_remedy(cli: Any, partly_judged: Path) -> None:
    (partly_judged / "partly.txt").write_text("q0 0 d00 1\n")
    (partly_judged / "relevance.txt").write_text("q0 0 d01 1\n")
    code, _, err = cli("fill", "--no-check", "-o", "filled", "runs", qrels=ARGUMENTS)
    assert code == 2
    assert "otherwise, give judgments of a model with --labels" in err
