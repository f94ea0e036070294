"""Provenance: headers of runs in the format of ir_metadata, and the record of an evaluation."""

from __future__ import annotations

import gzip
import hashlib
import html
import re
from io import BytesIO, StringIO

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import pt_multiaspect as ma
from pt_multiaspect.io.trec_files import load_run

#: As the metadata module of repro_eval writes it, with a blank at the end of each line.
METADATA = {"schema-version": 0.1, "tag": "bm25", "method": {"retrieval": [{"name": "bm25", "b": 0.4}]}}
HEADER = "# ir_metadata.start\n" + "".join(
    f"# {line} \n" for line in yaml.safe_dump(METADATA, sort_keys=False).splitlines()
)
HEADER += "# ir_metadata.end\n"
LINES = "q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 1.5 bm25\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_run_is_read_without_its_header(end):
    headed, plain = (text.replace("\n", end) for text in (HEADER + LINES, LINES))
    result, expected = ma.read_run(StringIO(headed)), ma.read_run(StringIO(plain))
    pd.testing.assert_frame_equal(result, expected)
    assert yaml.safe_load(result.attrs["ir_metadata"]) == METADATA
    assert "ir_metadata" not in expected.attrs
    for source in (headed.encode(), gzip.compress(headed.encode()), b"\xef\xbb\xbf" + headed.encode()):
        assert ma.read_run(BytesIO(source)).equals(expected)
        pd.testing.assert_frame_equal(
            load_run(BytesIO(source)).to_pandas(), load_run(StringIO(plain)).to_pandas(), check_exact=True
        )


def test_runs_with_a_header_are_evaluated(tmp_path):
    (tmp_path / "with.run").write_text(HEADER + LINES)
    (tmp_path / "without.run").write_text(LINES)
    values = ma.evaluate(tmp_path, {"q1": {"d1": 0, "d2": 1}}, ["AP", "nDCG"], progress=False)
    run_values = [rows["value"].tolist() for _, rows in values.groupby("name")]
    assert run_values[0] == run_values[1]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (HEADER + LINES + "q1 Q0 d3 3\n", f"x.run:{HEADER.count(chr(10)) + 3}: expected 6 fields"),
        (HEADER + LINES + "q1 Q0 d\0 3 1 a\n", f"x.run:{HEADER.count(chr(10)) + 3}: binary data"),
        (
            HEADER.replace("# ir_metadata.end\n", "") + LINES,
            "x.run:1: the header",
        ),
        (HEADER, "x.run: the file is empty"),
        (HEADER.removesuffix("\n"), "x.run: the file is empty"),
        ("# a comment\n" + LINES, "x.run:1: expected 6 fields"),
        (LINES + HEADER, "x.run:3: expected 6 fields"),
    ],
)
def test_faulty_headers(tmp_path, text, part):
    path = tmp_path / "x.run"
    path.write_text(text)
    for read in (ma.read_run, load_run):
        with pytest.raises(ma.MultiAspectError) as raised:
            read(path)
        assert part in str(raised.value)
        assert "\n" not in str(raised.value)


# -- what ran ---------------------------------------------------------------------------------------


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record(path) -> dict:
    return yaml.safe_load(path.with_name(f"{path.name}.ir_metadata.yml").read_text(encoding="utf-8"))


@pytest.mark.every(3)
@pytest.mark.parametrize("format", ["csv", "tex", "tot", "parquet"])
def test_beside_each_table_is_what_ran(cli, trec_files, format):
    alpha = trec_files / "runs" / "alpha.run"
    alpha.write_text(HEADER + alpha.read_text())
    output = trec_files / f"x.{format}"
    more = ["--format", format] if format == "tot" else ["--baseline", "beta", "--test", "permutation"]
    measures = ["-m", "nDCG@10", "best=CAM(base=AP)@3", "--aspects", "scales.json"]
    code, _, _ = cli(
        "evaluate",
        "-o",
        str(output),
        *measures,
        *more,
        "runs/alpha.run",
        "new=runs/beta.run" if format == "tot" else "runs/beta.run",
    )
    assert code == 0
    result = record(output)
    own = result["pt_multiaspect"]
    scales = ma.Aspects.from_file("scales.json")
    best = str(ma.CAM(base="AP", aspects=scales) @ 3)
    assert own["measures"] == {"nDCG@10": "nDCG@10", "best": best}
    assert result["research goal"]["evaluation"]["reported measures"] == ["nDCG@10", best]
    (used,) = own["scales"]
    assert used["measures"] == ["best"]
    assert {name: used["aspects"][name] for name in scales} == {name: scales[name].to_spec() for name in scales}
    assert "inferred" not in used
    assert own["qrels"] == {
        aspect: {"file": f"{aspect}.txt", "sha256": digest(trec_files / f"{aspect}.txt")}
        for aspect in ("relevance", "credibility")
    }
    second = "new" if format == "tot" else "beta.run"
    assert list(own["runs"]) == ["alpha.run", second]
    assert own["runs"][second] == {"file": "beta.run", "sha256": digest(trec_files / "runs" / "beta.run")}
    assert own["runs"]["alpha.run"]["sha256"] == digest(alpha)
    assert yaml.safe_load(own["runs"]["alpha.run"]["ir_metadata"]) == METADATA
    libraries = result["platform"]["software"]["libraries"]["python"]
    assert f"numpy=={np.__version__}" in libraries
    assert result["data"]["test collection"]["qrels"] == ["relevance.txt", "credibility.txt"]
    assert result["implementation"]["executable"]["cmd"].startswith("pt-multiaspect evaluate --qrels relevance=")
    if format != "tot":
        goal = result["research goal"]["evaluation"]
        assert goal["baseline"] == ["beta.run"]
        assert goal["significance test"][0]["correction method"] == "holm"
        assert "permutation" in goal["significance test"][0]["name"]


def test_inferred_scales_are_said_to_be_inferred(cli, trec_files):
    code, out, err = cli("evaluate", "-m", "CAM@3", "-o", "x.csv", "runs")
    assert (code, out) == (0, "")
    assert err.endswith("pt-multiaspect: wrote versions, digests, scales and measures to x.csv.ir_metadata.yml\n")
    (scales,) = record(trec_files / "x.csv")["pt_multiaspect"]["scales"]
    assert scales == {
        "measures": ["CAM@3"],
        "aspects": {"relevance": 2, "credibility": 3},
        "inferred": ["relevance", "credibility"],
    }


def test_runs_that_are_skipped_are_not_what_ran(cli, trec_files):
    (trec_files / "runs" / "bad.run").write_text("nothing\n")
    code, _, _ = cli("evaluate", "-m", "AP", "--on-error", "skip", "-o", "x.csv", "runs")
    assert code == 1
    assert sorted(record(trec_files / "x.csv")["pt_multiaspect"]["runs"]) == [
        "alpha.run", "beta.run", "delta.run", "gamma.run",
    ]  # fmt: skip


def test_nothing_is_written_beside_devices_and_printed_tables(cli, trec_files):
    before = {path.name for path in trec_files.iterdir()}
    assert cli("evaluate", "-m", "AP", "--format", "csv", "-o", "/dev/null", "runs")[0] == 0
    code, _, err = cli("evaluate", "-m", "AP", "runs")
    assert code == 0
    assert "ir_metadata" not in err
    assert {path.name for path in trec_files.iterdir()} == before


def test_runs_in_memory_have_a_digest_of_their_content(cli, trec_files, monkeypatch):
    from pt_multiaspect.evaluation.provenance import provenance

    qrels = ma.read_qrels("relevance.txt")
    judgments = ma.Judgments(qrels)
    run = ma.read_run("runs/alpha.run")
    frames = [run, run.convert_dtypes(), run.drop(columns=["rank", "name"]), run.astype({"docno": "category"})]
    result = [
        provenance({"a": frame}, {"relevance": judgments}, judgments, {})["pt_multiaspect"] for frame in frames
    ]
    assert len({entry["runs"]["a"]["digest"] for entry in result}) == 1
    changed = provenance({"a": run.assign(score=0.0)}, {"relevance": judgments}, judgments, {})["pt_multiaspect"]
    assert changed["runs"] != result[0]["runs"]
    assert changed["qrels"] == result[0]["qrels"]
    assert (
        result[0]["qrels"]["relevance"]["digest"]
        == provenance({}, {"x": ma.Judgments(qrels.astype({"label": float}))}, judgments, {})["pt_multiaspect"][
            "qrels"
        ]["x"]["digest"]
    )


def record_of(report) -> dict:
    pytest.importorskip("vl_convert")
    page = html.unescape(report.to_html())
    return yaml.safe_load(re.search(r"<summary>Provenance.*?<pre>(.*?)</pre>", page, re.DOTALL)[1])


@pytest.mark.slow
def test_a_report_says_what_ran(cli, trec_files):
    report = ma.report(
        "runs", ma.read_qrels({"relevance": "relevance.txt", "credibility": "credibility.txt"}), "CAM@3",
        aspects="scales.json", baseline="beta.run", progress=False,
    )  # fmt: skip
    result = record_of(report)
    assert result["pt_multiaspect"]["runs"]["alpha.run"]["sha256"] == digest(trec_files / "runs" / "alpha.run")
    assert result["research goal"]["evaluation"]["baseline"] == ["beta.run"]
    assert str(trec_files) not in str(result)


scalars = st.text() | st.floats(allow_nan=False) | st.integers() | st.booleans() | st.none()


@given(
    st.dictionaries(
        st.text(),
        st.recursive(
            scalars, lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3), max_leaves=8
        ),
        min_size=1,
    )
)
def test_yaml_reads_what_is_written(content):
    from pt_multiaspect.evaluation.provenance import as_yaml

    assert yaml.safe_load(as_yaml(content)) == content


@pytest.mark.parametrize("text", ["\x85", "a\udcff b", "α: b\n# c\n", "yes", "1:30", " "])
def test_hard_words_are_read_as_written(text):
    from pt_multiaspect.evaluation.provenance import as_yaml

    assert yaml.safe_load(as_yaml({text: [text], "α": text})) == {text: [text], "α": text}


@pytest.mark.parametrize("name", ["1e3", "1E-3", "+1e3", "-.5e3", "1.e3", "12e03", "0o17"])
def test_names_are_no_numbers_in_yaml_1_2(name):
    """PyYAML reads YAML 1.1, in which these are strings, and left their quotes out."""
    from pt_multiaspect.evaluation.provenance import as_yaml

    written = as_yaml({name: [name], "numbers": [1000.0, 1e22, 1e-7, 15]})
    scalars = [token for token in yaml.scan(written) if isinstance(token, yaml.ScalarToken)]
    assert [token.plain for token in scalars if token.value == name] == [False, False]
    assert sum(token.plain for token in scalars) == 5


def test_human_judgments_are_recorded_beside_those_of_a_model(cli, trec_files):
    lines = (trec_files / "relevance.txt").read_text().splitlines()
    (trec_files / "few.txt").write_text(
        "\n".join(line for line in lines if line.split()[0] in ("q0", "q1", "q2", "q3", "q4"))
    )
    arguments = ("-m", "AP", "--human", "few.txt", "-o", "x.csv", "runs")
    code, _, err = cli("evaluate", *arguments, qrels=("relevance.txt",))
    assert code == 0, err
    files = {"relevance": "relevance.txt", "human relevance": "few.txt"}
    assert record(trec_files / "x.csv")["pt_multiaspect"]["qrels"] == {
        aspect: {"file": name, "sha256": digest(trec_files / name)} for aspect, name in files.items()
    }
    model, human = (ma.read_qrels(name) for name in ("relevance.txt", "few.txt"))
    report_record = record_of(ma.report("runs", model, "AP", human=human, progress=False))
    assert list(report_record["pt_multiaspect"]["qrels"]) == list(files)
