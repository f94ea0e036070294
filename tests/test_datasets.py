"""Published collections by name: their labels and scales, downloads, and files that are not what was published."""

from __future__ import annotations

import functools
import gzip
import hashlib
import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from shared_data import golden, shared_path

import pt_multiaspect as ma
from pt_multiaspect import datasets
from pt_multiaspect.io import data_files
from pt_multiaspect.io.data_files import DATA_VARIABLE, DataFile, Repository, a66_fields

PUBLISHED = json.loads(
    (Path(datasets.__file__).parent / "published.json").read_text(encoding="utf-8")
)
LINES = b"q1 0 d1 2\nq1 0 d2 0\n"
FILE = DataFile(
    "small/qrels.txt",
    Repository("owner/name", "c" * 40),
    "final judgments/qrels.txt",
    hashlib.sha256(b"q1\t0\td1\t2\nq1\t0\td2\t0\n").hexdigest(),
)


# --- the collections -----------------------------------------------------------------------------------------


@pytest.fixture
def shared_folder(monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = shared_path("data")
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    return folder


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "pairs", "queries", "columns"),
    [
        ("clef-ehealth-2015", 8713, 66, ["qid", "docno", "label", "understandability"]),
        ("clef-ehealth-2018", 26025, 50, ["qid", "docno", "label", "understandability", "trust"]),
        ("a66", 500, 100, ["qid", "docno", "label", "credibility"]),
    ],
)
def test_labels_and_scales(
    shared_folder: Path, name: str, pairs: int, queries: int, columns: list[str]
) -> None:
    judged = datasets.load(name)
    assert list(judged.qrels.columns) == columns
    assert len(judged.qrels) == pairs
    assert judged.qrels["qid"].nunique() == queries
    assert not judged.qrels.duplicated(["qid", "docno"]).any()
    assert ma.Judgments(judged.qrels).label_names == tuple(judged.aspects)
    for aspect, scale in judged.aspects.items():
        labels = set(judged.qrels["label" if aspect == "relevance" else aspect])
        assert labels == set(scale.grades)
    assert judged.aspects == datasets.info(name).aspects


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("name", "files"),
    [
        (
            "clef-ehealth-2015",
            {"relevance": "clef2015/qrels.graded", "understandability": "clef2015/qread.graded"},
        ),
        (
            "clef-ehealth-2018",
            {
                "relevance": "clef2018/qrel",
                "understandability": "clef2018/qread",
                "trust": "clef2018/qtrust",
            },
        ),
    ],
)
def test_labels_are_those_that_read_qrels_reads(
    shared_folder: Path, name: str, files: dict[str, str]
) -> None:
    expected = ma.read_qrels(
        {aspect: shared_folder / f"{file}.txt.gz" for aspect, file in files.items()}
    )
    pd.testing.assert_frame_equal(datasets.load(name).qrels, expected, check_dtype=False)


@pytest.mark.slow
def test_scales_of_clef_2015_give_the_published_values(shared_folder: Path) -> None:
    figures = golden("clef2015_runs.json")["runs"]
    judged = datasets.load("clef-ehealth-2015")
    runs = pd.read_csv(
        shared_folder / "clef2015" / "runs.top100.tsv.gz",
        sep="\t",
        names=["name", "qid", "rank", "docno"],
        dtype={"qid": str},
    )
    name = "CUNI_EN_Run.2"
    run = runs[runs["name"] == name].assign(score=lambda rows: -rows["rank"].astype(float))
    for measure in (ma.uRBP, ma.uRBPgr):
        value = measure(p=0.8, aspects=judged.aspects).calc_aggregate(
            judged.qrels, run[["qid", "docno", "score"]]
        )
        assert value == pytest.approx(figures[name]["correct"][measure.NAME], abs=1e-4)


def test_a66_is_the_ranking_that_was_judged(shared_folder: Path) -> None:
    means = golden("a66.json")["means"]["all100"]
    judged = datasets.load("a66")
    values = {
        "ndcg": ma.On(aspect="relevance", base="nDCG", aspects=judged.aspects),
        "f1": ma.On(aspect="credibility", base="SetF", aspects=judged.aspects),
        "nlre_stable": ma.NLRE(aspects=judged.aspects),
    }
    for name, measure in values.items():
        assert measure.calc_aggregate(judged.qrels, judged.run) == pytest.approx(
            means[name], abs=1e-9
        ), name
    twice = judged.qrels[judged.qrels["qid"] == "9-5"]
    assert twice["docno"].tolist() == ["123", "123-again", "173", "219", "192"]
    assert twice["credibility"].tolist() == [3, 4, 4, 2, 4]


def test_a_code_that_is_no_grade_is_unjudged() -> None:
    known = datasets.info("clef-ehealth-2021")
    qrels = pd.DataFrame(
        [("q", "d1", 2, 2, 3), ("q", "d2", 1, 1, 2)],
        columns=["qid", "docno", "label", "readability", "credibility"],
    )
    run = {"q": {"d1": 2.0, "d2": 1.0}}
    p = ma.On(aspect="credibility", base="P@2", aspects=known.aspects)
    assert p.calc_aggregate(qrels, run) == 0.5  # 3 is not a grade above 2
    assert known.files == ()
    assert "clef-ehealth-2021" not in datasets.names()
    with pytest.raises(
        ma.MultiAspectError, match=r"checksum .*info\('clef-ehealth-2021'\).aspects"
    ):
        datasets.load("clef-ehealth-2021")


def test_what_is_known_is_shown() -> None:
    for name, entry in PUBLISHED.items():
        known = datasets.info(name)
        shown = " ".join(repr(known).split())
        assert max(map(len, repr(known).splitlines())) < 130  # the address of a commit
        assert all(
            part in shown for part in (known.licence, known.citation, known.source, *known.notes)
        )
        assert len(entry["commit"]) == 40
        assert bool(known.files) == (name in datasets.names())
        assert all(len(file["sha256"]) == 64 for file in entry.get("files", {}).values())
    assert len({datasets.info(name).source for name in datasets.names()}) == len(datasets.names())
    entry = PUBLISHED["clef-ehealth-2018"]
    file = DataFile(
        repository=Repository(entry["repository"], entry["commit"]), **entry["files"]["relevance"]
    )
    assert file.url == (
        "https://raw.githubusercontent.com/CLEFeHealth/CLEFeHealth2018IRtask/"
        "b60a08c4490b676f24d4dc1131dd5a3e40abad93/assessments/Final%20assessment/CLEF2018_qrel_20180914.txt"
    )


@pytest.mark.parametrize("function", [datasets.load, datasets.info])
@pytest.mark.parametrize("name", ["clef-ehealth-2016", 3, None, ["a66"]])
def test_unknown_names(function, name: object) -> None:
    with pytest.raises(ma.MultiAspectError, match=r"expected a collection .a66, clef-ehealth-2015"):
        function(name)


# --- files ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory, and no network."""
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    monkeypatch.setattr(data_files, "_SERVER", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def served_file(
    tmp_path_factory: pytest.TempPathFactory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The file as the server sends it."""
    root = tmp_path_factory.mktemp("server")
    path = root / FILE.repository.name / FILE.repository.commit / FILE.path
    path.parent.mkdir(parents=True)
    path.write_bytes(LINES)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(root))
    )
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setattr(data_files, "_SERVER", f"http://127.0.0.1:{server.server_port}")
    yield path
    server.shutdown()
    server.server_close()


def test_a_file_is_downloaded_once(
    served_file: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert FILE.read().data == LINES
    assert (folder / "small" / "qrels.txt").read_bytes() == LINES
    served_file.unlink()
    assert FILE.read().data == LINES
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "sent", [b"<html>log in to the network</html>\n", LINES.replace(b"2", b"1"), b"\xff\xfe", b""]
)
def test_a_wrong_download_is_refused_and_deleted(
    served_file: Path, folder: Path, sent: bytes
) -> None:
    served_file.write_bytes(sent)
    with pytest.raises(ma.MultiAspectError, match=r"qrels\.txt.*deleted"):
        FILE.read()
    served_file.write_bytes(LINES)
    assert FILE.read().data == LINES


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("qrels.txt", LINES),
        ("qrels.txt", LINES.replace(b" ", b"\t")),
        ("qrels.txt", LINES.replace(b"\n", b"\r\n")),
        ("qrels.txt", b"\xef\xbb\xbf" + LINES),
        ("qrels.txt.gz", gzip.compress(LINES, mtime=0)),
        ("qrels.txt", gzip.compress(LINES, mtime=0)),
    ],
)
def test_copies_of_the_same_judgments(folder: Path, name: str, content: bytes) -> None:
    (folder / "small").mkdir()
    (folder / "small" / name).write_bytes(content)
    assert [fields[3] for fields in FILE.rows(FILE.read())] == [b"2", b"0"]


@pytest.mark.parametrize(
    "content",
    [
        LINES.replace(b"d2 0", b"d2 1"),
        LINES + LINES,
        LINES[:10],
        b"",
        LINES.replace(b"\n", b" x\n"),
        b"".join(reversed(LINES.splitlines(keepends=True))),
        gzip.compress(LINES, mtime=0)[:-9],
        b"\xff",
    ],
)
def test_other_judgments_are_refused(folder: Path, content: bytes) -> None:
    path = folder / "small" / "qrels.txt"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ma.MultiAspectError, match=r"qrels\.txt:.*Delete"):
        FILE.read()
    assert path.exists()


def test_without_a_network_the_error_says_which_file_to_put_where(folder: Path) -> None:
    with pytest.raises(ma.MultiAspectError) as caught:
        FILE.read()
    message = str(caught.value)
    assert (
        f"127.0.0.1:9/owner/name/{'c' * 40}/final%20judgments/qrels.txt cannot be downloaded: "
        in message
    )
    assert f"Without a network, save the file as {folder / 'small' / 'qrels.txt'}" in message
    assert list(folder.rglob("*.txt")) == []
    with pytest.raises(ma.MultiAspectError, match=r"save the file as .*a66\.csv"):
        datasets.load("a66")


def test_a_file_that_the_server_does_not_have(served_file: Path) -> None:
    served_file.unlink()
    with pytest.raises(ma.MultiAspectError, match="cannot be downloaded: 404"):
        FILE.read()


def test_a_data_directory_that_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "typo"))
    with pytest.raises(
        ma.MultiAspectError, match=f"{DATA_VARIABLE}: expected an existing directory, got '.*typo'"
    ):
        FILE.read()


def test_without_pooch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"'pt-multiaspect\[data\]'.*PT_MULTIASPECT_DATA"):
        FILE.read()
    (folder / "small").mkdir()
    (folder / "small" / "qrels.txt").write_bytes(LINES)
    assert FILE.read().data == LINES
    monkeypatch.delenv(DATA_VARIABLE)
    with pytest.raises(ImportError, match="requires pooch"):
        FILE.read()


def test_by_default_files_are_in_the_users_cache(
    served_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pooch

    monkeypatch.delenv(DATA_VARIABLE)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)
    FILE.read()
    assert (tmp_path / "cache" / "pt_multiaspect" / "small" / "qrels.txt").is_file()


def test_separated_by_commas(folder: Path) -> None:
    """The published file has comments with commas; the copy has a header and no comments."""
    digest = hashlib.sha256(b"1\t2\t3\t4\t5\t6\n7\t8\t9\t0\t1\t2\n").hexdigest()
    file = DataFile("f.csv", FILE.repository, "f", digest, a66_fields)
    header = "assessor,query,rank,docno,relevance,credibility,x\n"
    for content in (
        "1,2,3,4,5,6,no, never\n7,8,9,0,1,2,’\n",
        f"{header}1,2,3,4,5,6\n7,8,9,0,1,2",
        "1,2,3,4,5,6,\r\n7,8,9,0,1,2,\r\n",
    ):
        (folder / "f.csv").write_text(content, encoding="utf-8", newline="")
        assert [b",".join(fields) for fields in a66_fields(file.read())] == [
            b"1,2,3,4,5,6",
            b"7,8,9,0,1,2",
        ]
