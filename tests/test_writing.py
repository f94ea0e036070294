"""Files are written as a whole or not at all, by whatever writes them."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pytest

import pt_multiaspect as ma

ROOT = Path(__file__).resolve().parent.parent
posix = pytest.mark.skipif(os.name != "posix", reason="no such files")
unprivileged = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere"
)


#: What is written, and its text.
SCALES = ma.Aspects({"relevance": 2})
TEXT = '{\n  "version": 1,\n  "aspects": {\n    "relevance": 2\n  }\n}\n'


class _FullDisk:
    """A file on a disk that is full after a few bytes."""

    def __init__(self, file: IO[Any]) -> None:
        self._file = file

    def __enter__(self) -> _FullDisk:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        self._file.write(data[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_full_disk(path: Any, mode: str = "r", *others: Any, **options: Any) -> Any:
        file = io.open(path, mode, *others, **options)  # noqa: SIM115, UP020
        return _FullDisk(file) if set(mode) & set("wxa") else file

    monkeypatch.setattr("builtins.open", open_full_disk)


EVALUATE = ("evaluate", "-m", "AP", "runs")
#: What the command line writes, by the file.
COMMANDS: dict[str, tuple[str, ...]] = {
    "table.csv": (*EVALUATE, "-o"),
    "table.json": (*EVALUATE, "-q", "-o"),
    "table.tex": (*EVALUATE, "-o"),
    "table.parquet": (*EVALUATE, "-o"),
    "page.html": ("report", "-m", "AP", "runs", "-o"),
    "explanation.csv": ("explain", "-m", "CAM", "--query", "q1", "runs/beta.run", "-o"),
    "description.html": ("describe", "runs", "-o"),
    "written.json": ("describe", "--write-aspects"),
}


@pytest.mark.every(6)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_leaves_the_earlier_file(
    name: str, cli: Callable[..., Any], trec_files: Path, request: pytest.FixtureRequest
) -> None:
    """A command that replaces a file leaves it as it was, and no other file behind, if the disk is full."""
    command = (*COMMANDS[name], name)
    file = trec_files / name
    # Of files with content, describe --write-aspects replaces scales only.
    earlier = "" if name == "written.json" else "earlier"

    # With space on the disk, the file is replaced.
    file.write_text(earlier)
    code, _, error = cli(*command)
    assert code == 0, error
    assert file.read_text(errors="replace") != earlier

    file.write_text(earlier)
    names_before = sorted(os.listdir(trec_files))
    request.getfixturevalue("full_disk")
    code, _, error = cli(*command)
    assert code == 1
    last_line = error.splitlines()[-1]
    assert last_line == f"pt-multiaspect: error: {name}: No space left on device"
    assert file.read_text() == earlier
    assert sorted(os.listdir(trec_files)) == names_before


def test_python_writes_as_the_command_line_does(tmp_path: Path, full_disk: None) -> None:
    qrels = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "label": [1, 0]})
    run = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "score": [1.0, 2.0]})
    writers: dict[str, Callable[[Path], object]] = {
        "scales.json": ma.Aspects({"relevance": 2}).to_file,
        "explanation.html": ma.explain("AP", run, qrels, "q1").to_html,
        "description.html": ma.describe(qrels).to_html,
    }
    for name, write in writers.items():
        path = tmp_path / name
        path.write_text("earlier")
        with pytest.raises(OSError, match="No space left on device") as raised:
            write(path)
        assert raised.value.filename == str(path)
        assert path.read_text() == "earlier"
    assert sorted(os.listdir(tmp_path)) == sorted(writers)


@posix
def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    file, link, dangling = tmp_path / "file", tmp_path / "link", tmp_path / "dangling"
    file.write_text("earlier")
    file.chmod(0o640)
    link.symlink_to("file")
    SCALES.to_file(link)
    assert link.is_symlink()
    assert file.read_text() == TEXT
    assert file.stat().st_mode & 0o777 == 0o640
    dangling.symlink_to("new")
    SCALES.to_file(str(dangling))
    assert (tmp_path / "new").read_text() == TEXT
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o666 & ~umask
    assert sorted(os.listdir(tmp_path)) == ["dangling", "file", "link", "new"]


@unprivileged
def test_files_that_may_not_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("earlier")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        SCALES.to_file(file)
    file.chmod(0o644)
    tmp_path.chmod(0o555)  # nothing can be written beside it
    with pytest.warns(ma.MultiAspectWarning, match="written in place"):
        SCALES.to_file(file)
    tmp_path.chmod(0o755)
    assert file.read_text() == TEXT


@pytest.fixture
def folder_in_dev() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no such directory")
@pytest.mark.parametrize("is_linked", [False, True], ids=["file", "link"])
def test_regular_files_in_dev_are_replaced(
    folder_in_dev: Path, tmp_path: Path, request: pytest.FixtureRequest, is_linked: bool
) -> None:
    """Devices are written in place; a regular file beside them is replaced by a new one, also by a link."""
    file = folder_in_dev / "file"
    file.write_text("earlier")
    path = file
    if is_linked:
        path = tmp_path / "link"
        path.symlink_to(file)

    earlier_inode = file.stat().st_ino
    SCALES.to_file(path)
    assert file.read_text() == TEXT
    assert file.stat().st_ino != earlier_inode  # another file

    request.getfixturevalue("full_disk")
    with pytest.raises(OSError, match="No space left"):
        ma.Aspects({"trust": 1}).to_file(path)
    assert file.read_text() == TEXT
    assert os.listdir(folder_in_dev) == ["file"]


@posix
def test_open_files_are_written_in_place(tmp_path: Path) -> None:
    """What must stay: /dev/stdout > file, /dev/fd/3, and links to them."""
    file, link = tmp_path / "file", tmp_path / "link"
    with open(file, "w") as opened:
        link.symlink_to(f"/dev/fd/{opened.fileno()}")
        inode = file.stat().st_ino
        for path in (f"/dev/fd/{opened.fileno()}", link):
            SCALES.to_file(path)
            assert (file.read_text(), file.stat().st_ino) == (TEXT, inode)


@posix
def test_where_nothing_can_be_renamed_files_are_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a single file that is mounted into a container."""

    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    (tmp_path / "file").write_text("earlier")
    monkeypatch.setattr(os, "replace", busy)
    with pytest.warns(
        ma.MultiAspectWarning, match="file: its directory .* written in place: .* lost"
    ):
        SCALES.to_file(tmp_path / "file")
    assert (tmp_path / "file").read_text() == TEXT
    with pytest.raises(OSError, match="busy"):
        SCALES.to_file(tmp_path / "new")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.slow
@posix
def test_pipes_and_standard_output_are_written_in_place(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    SCALES.to_file(pipe)
    reader.join(timeout=60)
    assert texts == [TEXT]
    assert os.listdir(tmp_path) == ["pipe"]
    SCALES.to_file(os.devnull)
    code = "import pt_multiaspect as ma; ma.Aspects({'relevance': 2}).to_file('/dev/stdout')"
    with open(tmp_path / "out", "w+") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, cwd=ROOT)
        out.seek(0)
        assert out.read() == TEXT
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == TEXT


@posix
def test_names_that_are_no_utf8_are_written_as_they_are(tmp_path: Path) -> None:
    ma.Aspects({os.fsdecode(b"run\xff"): 2}).to_file(tmp_path / "file")
    assert b'"run\xff"' in (tmp_path / "file").read_bytes()
