"""The README matches the package. It runs as a doctest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import pt_multiaspect as ma
from pt_multiaspect.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands_of_readme(program: str) -> list[list[str]]:
    r"""Return the arguments of each line that begins with the program, as a shell reads them.

    Long ones are continued: "pt-multiaspect evaluate \" and "  --qrels qrels.txt".
    """
    lines = README.replace("\\\n", " ").splitlines()
    commands = [shlex.split(line) for line in lines if line.startswith(f"{program} ")]
    return [arguments for _, *arguments in commands]


def test_the_table_and_the_sentence_of_the_readme_are_those_of_its_commands(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    commands = commands_of_readme(".venv/bin/pt-multiaspect")
    assert len(commands) == 2
    for arguments in commands:
        if arguments[0] == "evaluate":
            arguments += ["--format", "table"]  # as on a terminal
        assert main(arguments) == 0
    printed = capsys.readouterr().out.splitlines()
    table, *_ = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    assert len(table.splitlines()) == 5
    for line in table.splitlines():
        assert line in printed
    scales = ma.Aspects.from_file("health/scales.json")
    runs = {name: f"health/runs/{name}.run" for name in ("words", "characters", "readable")}
    qrels = ma.read_qrels({aspect: f"health/{aspect}.qrels" for aspect in scales})
    measure = {"TOMA": ma.TOMA(aspects=scales, gate="relevance") @ 5}
    (sentence,) = re.findall(r"^> (.*)$", README, re.MULTILINE)
    assert sentence in ma.robustness(runs, qrels, measure, baseline="words").summary


@pytest.mark.parametrize("end", ["&& .venv/bin/pt-multiaspect demo", "&& .venv/bin/pytest"])
def test_ci_runs_the_readme_s_commands(end):
    command = next(line for line in README.splitlines() if line.endswith(end))
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert command in map(str.strip, lines)


def test_the_command_line_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """With the files that it names, each command prints something or writes the file of its option -o."""
    commands = commands_of_readme("pt-multiaspect")
    assert len(commands) > 1
    monkeypatch.chdir(tmp_path)
    for name in ("qrels.txt", "qcred.txt"):
        Path(name).write_text("1 0 d1 1\n1 0 d2 0\n2 0 d1 2\n")
    for name in ("bm25.run", "other.run"):
        Path(name).write_text("1 Q0 d1 1 9 x\n2 Q0 d1 1 8 x\n")
    for arguments in commands:
        assert main(arguments) == 0, capsys.readouterr().err
        printed = capsys.readouterr().out
        if not printed:
            path = arguments[arguments.index("-o") + 1]
            assert Path(path).is_file()


def test_the_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_the_readme_fits_a_screen_and_a_half():
    """The README has at most a hundred lines."""
    assert len(README.splitlines()) <= 100
