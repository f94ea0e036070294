"""The README matches the package. It runs as a doctest."""

from __future__ import annotations

import io
import re
import runpy
import shlex
from pathlib import Path

import pytest

from pt_multiaspect.cli import main
from pt_multiaspect.demo import run_demo

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_demonstration_prints_what_the_readme_shows():
    stream = io.StringIO()
    run_demo(stream)
    printed = stream.getvalue().splitlines()
    shown = re.search(r"```text\n(.*?)```", README, re.DOTALL).group(1).splitlines()
    assert len(shown) > 5
    assert [line for line in shown if line and line not in printed] == []


@pytest.mark.slow
def test_the_picture_is_described_as_it_is_drawn():
    pytest.importorskip("matplotlib")
    picture = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    description = picture["describe"](picture["tuned_runs"]())
    for page in ("README.md", "docs/index.md"):
        assert f"![{description}](" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("end", ["&& .venv/bin/pt-multiaspect demo", "&& .venv/bin/pytest"])
def test_ci_runs_the_readme_s_commands(end):
    command = next(line for line in README.splitlines() if line.endswith(end))
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert command in map(str.strip, lines)


def test_the_command_line_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """As a shell reads it, with the files it names."""
    commands = re.findall(r"^pt-multiaspect (?:[^\n]*\\\n)*[^\n]*", README, re.MULTILINE)
    assert len(commands) > 1
    monkeypatch.chdir(tmp_path)
    for name in ("qrels.txt", "qcred.txt"):
        Path(name).write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n")
    for name in ("bm25.run", "other.run"):
        Path(name).write_text("1 Q0 d1 1 9 x\n2 Q0 d1 1 8 x\n")
    for command in commands:
        arguments = shlex.split(command.replace("\\\n", " "))[1:]
        assert main(arguments) == 0, capsys.readouterr().err
        written = Path(arguments[arguments.index("-o") + 1]).is_file() if "-o" in arguments else False
        assert capsys.readouterr().out or written


def test_the_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_readme_fits_a_screen_and_a_half():
    """The README has at most a hundred lines."""
    assert len(README.splitlines()) <= 100
