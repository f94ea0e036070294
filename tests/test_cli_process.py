"""The program as a process: standard streams that are closed, and Ctrl-C."""

from __future__ import annotations

import json
import os
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


def test_output_to_a_closed_stream_fails(trec_files, monkeypatch, capsys):
    monkeypatch.chdir(trec_files)
    monkeypatch.setattr(sys, "stdout", None)
    assert main([*EVALUATE, "-o", "table.csv", "runs"]) == 0
    assert capsys.readouterr().err == ""
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
)
def test_closed_and_full_streams(trec_files, command, redirection, code, error):
    if "/dev/full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("requires /dev/full")
    shell = f'exec "$@" {redirection}'
    ended = subprocess.run(
        ["/bin/sh", "-c", shell, "sh", sys.executable, "-m", "pt_multiaspect", *command, "--format=json", "runs"],
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
    """Processes in the background of some shells ignore it."""
    package = tmp_path / "pt_multiaspect"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import os, signal\nos.kill(os.getpid(), "
        "signal.SIGINT)\nprint(signal.getsignal(signal.SIGINT).name)\n"
    )
    (package / "cli.py").write_text("def main():\n    return 3\n")
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "from pt_multiaspect_shell import main; sys.exit(main())"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ended = subprocess.run(
        [sys.executable, "-c", code, "evaluate"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "SIG_IGN\n", "")


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


def test_labels_that_are_not_utf_8_or_not_of_the_locale(cli, trec_files):
    odd, tau = os.fsdecode(b"caf\xe9"), "τ".encode().decode("ascii", "surrogateescape")
    for option in ("-m", "--suite", "--sort", "--baseline", "--aspects"):
        code, out, err = cli("evaluate", "-m", "AP", option, f"{odd}=AP", "runs")
        assert (code, out, err.count("\n"), "Traceback" in err) == (2, "", 1, False)
    code, out, err = cli("evaluate", "-m", f"{odd}=AP", "runs")
    assert "--measure: expected UTF-8, got 'caf\\udce9=AP'" in err
    code, out, err = cli(
        "evaluate", "-m", "AP", "runs", qrels=(f"{odd}=relevance.txt", "b=credibility.txt")
    )
    assert (code, out, err) == (
        2,
        "",
        "pt-multiaspect: error: --qrels: expected UTF-8, got 'caf\\udce9'\n",
    )
    code, out, err = cli("evaluate", "-m", f"{tau}=AP", "runs", "--sort", tau)
    assert (code, out.splitlines()[0], err) == (0, "name\tτ", "")


@pytest.mark.slow
def test_labels_in_a_locale_without_utf_8(trec_files):
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for label, code, out, err in (
        ("τ".encode(), 0, b"name\t?\n", b""),
        (b"caf\xe9", 2, b"", b"expected UTF-8"),
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "pt_multiaspect", *EVALUATE[:3], "-m", label + b"=AP", "runs"],
            capture_output=True, cwd=trec_files, env=os.environ | plain | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert ended.returncode == code, ended.stderr
        assert ended.stdout.startswith(out)
        assert err in ended.stderr
        assert b"Traceback" not in ended.stderr
