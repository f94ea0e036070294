"""The program as a process: standard streams that are closed, and Ctrl-C."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pt_multiaspect.cli import main

ROOT = Path(__file__).resolve().parent.parent
EVALUATE = ["evaluate", "--qrels", "relevance=relevance.txt", "-m", "AP"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and streams of POSIX")


def start(
    *arguments: str, paths: tuple[object, ...] = (ROOT,), **options: object
) -> subprocess.Popen[str]:
    """Start the program as its script does, in a process group of its own, where Ctrl-C is not ignored."""
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from pt_multiaspect_shell import main; sys.exit(main())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        text=True, start_new_session=True, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("stream", ["stdin", "stderr"])
def test_nothing_but_the_result_is_printed_without_another_stream(
    trec_files, monkeypatch, capsys, stream
):
    monkeypatch.chdir(trec_files)
    monkeypatch.setattr(sys, stream, None)
    assert main([*EVALUATE, "--format", "json", "runs"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "alpha"


def test_a_closed_stream_does_not_matter_to_output_to_a_file(trec_files, monkeypatch, capsys):
    monkeypatch.chdir(trec_files)
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it where the stream is closed
    assert main([*EVALUATE, "-o", "table.csv", "runs"]) == 0
    assert capsys.readouterr().err == ""


def test_output_to_a_closed_stream_fails(trec_files, monkeypatch, capsys):
    monkeypatch.chdir(trec_files)
    monkeypatch.setattr(sys, "stdout", None)
    assert main([*EVALUATE, "runs"]) == 1
    assert capsys.readouterr().err == "pt-multiaspect: error: output: Bad file descriptor\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "redirection", "code", "error"),
    [
        (EVALUATE, ">&-", 1, "pt-multiaspect: error: output: Bad file descriptor\n"),
        (EVALUATE, "2>&-", 0, ""),
        (EVALUATE, ">&- 2>&-", 1, ""),
        (EVALUATE, "<&-", 0, ""),
        ([*EVALUATE, "-m", "Nope"], "2>&-", 2, ""),
        (EVALUATE, "> /dev/full", 1, "pt-multiaspect: error: output: No space left on device\n"),
    ],
    ids=[
        "closed output",
        "closed errors",
        "closed output and errors",
        "closed input",
        "an error and closed errors",
        "a full device",
    ],
)
def test_closed_and_full_streams(trec_files, command, redirection, code, error):
    """The shell closes or redirects a stream, as in `pt-multiaspect … >&-`, which closes the output."""
    if "/dev/full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("requires /dev/full")
    line = [sys.executable, "-m", "pt_multiaspect", *command, "--format=json", "runs"]
    ended = subprocess.run(
        f"{shlex.join(line)} {redirection}", shell=True,
        capture_output=True, text=True, cwd=trec_files, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (code, error)
    if code == 0:
        assert json.loads(ended.stdout)
    else:
        assert ended.stdout == ""


def test_ctrl_c_during_imports_is_no_traceback(tmp_path):
    slow = tmp_path / "pt_multiaspect"
    slow.mkdir()
    (slow / "__init__.py").write_text(
        "import time\nprint('importing', flush=True)\ntime.sleep(60)\n"
    )
    process = start("evaluate", paths=(tmp_path, ROOT), cwd=tmp_path)
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "\npt-multiaspect: error: interrupted\n")
    assert process.returncode == 1


def test_an_ignored_ctrl_c_stays_ignored(tmp_path):
    """Some shells start processes in the background so that they ignore it.

    The script of the program catches it while the package is imported, unless it is ignored.
    """
    # A package in place of the real one that interrupts its own process when it is imported.
    package = tmp_path / "pt_multiaspect"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os, signal\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "print(signal.getsignal(signal.SIGINT).name)\n"
    )
    (package / "cli.py").write_text("def main():\n    return 3\n")
    # The program, in a process that ignores Ctrl-C.
    program = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from pt_multiaspect_shell import main\n"
        "sys.exit(main())\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ended = subprocess.run(
        [sys.executable, "-c", program, "evaluate"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert ended.returncode == 3  # that of main, which is reached
    assert ended.stdout == "SIG_IGN\n"
    assert ended.stderr == ""


def test_ctrl_c_is_one_line(trec_files, monkeypatch, capsys):
    def interrupt(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.chdir(trec_files)
    monkeypatch.setattr("pt_multiaspect.cli.verb.evaluate", interrupt)
    # Processes in the background of a shell ignore the signal.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main([*EVALUATE, "runs"]) == 1
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
    assert capsys.readouterr().err.strip() == "pt-multiaspect: error: interrupted"


#: "café" in Latin-1 as Python has it in `sys.argv`: its last byte is no UTF-8.
NOT_UTF_8 = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize("option", ["-m", "--suite", "--sort", "--baseline", "--aspects"])
def test_labels_that_are_not_utf_8_are_errors_of_one_line(cli, option):
    code, out, err = cli("evaluate", "-m", "AP", option, f"{NOT_UTF_8}=AP", "runs")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_errors_of_labels_that_are_not_utf_8_name_the_option(cli):
    _, _, err = cli("evaluate", "-m", f"{NOT_UTF_8}=AP", "runs")
    assert "--measure: expected UTF-8, got 'caf\\udce9=AP'" in err
    qrels = (f"{NOT_UTF_8}=relevance.txt", "b=credibility.txt")
    code, out, err = cli("evaluate", "-m", "AP", "runs", qrels=qrels)
    assert (code, out) == (2, "")
    assert err == "pt-multiaspect: error: --qrels: expected UTF-8, got 'caf\\udce9'\n"


def test_labels_that_are_not_of_the_locale(cli):
    """In a locale of ASCII, Python has the bytes of "τ" as two characters in `sys.argv`."""
    tau = "τ".encode().decode("ascii", "surrogateescape")
    code, out, err = cli("evaluate", "-m", f"{tau}=AP", "runs", "--sort", tau)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "name\tτ"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "code", "beginning_of_output", "part_of_error"),
    [
        ("τ".encode(), 0, b"name\t?\n", b""),  # the locale has no character for it
        (b"caf\xe9", 2, b"", b"expected UTF-8"),
    ],
    ids=["UTF-8", "Latin-1"],
)
def test_labels_in_a_locale_without_utf_8(
    trec_files, label, code, beginning_of_output, part_of_error
):
    """A label of a measure, as in -m "τ=AP", in a process whose locale has ASCII only."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    qrels = ["--qrels", "relevance=relevance.txt"]
    ended = subprocess.run(
        [sys.executable, "-m", "pt_multiaspect", "evaluate", *qrels, "-m", label + b"=AP", "runs"],
        capture_output=True, cwd=trec_files, env=os.environ | ascii_only | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert ended.returncode == code, ended.stderr
    assert ended.stdout.startswith(beginning_of_output)
    assert part_of_error in ended.stderr
    assert b"Traceback" not in ended.stderr
