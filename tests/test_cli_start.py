"""The start of the shell: help, answered without importing the package, and completion."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import pt_multiaspect_shell
from pt_multiaspect.cli import main
from pt_multiaspect.cli.options import Command
from pt_multiaspect.cli.program import program
from pt_multiaspect.cli.summaries import SUMMARIES

ROOT = Path(__file__).resolve().parent.parent
HELP = [["--help"], ["-h"], ["help"]]


def run_program(*arguments: str, **variables: str) -> tuple[str, bool]:
    """Return what the program prints, and whether it imports the package."""
    code = (
        "import sys; from pt_multiaspect_shell import main; main(); "
        "sys.exit(3 if 'pt_multiaspect' in sys.modules else 0)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
    )
    assert ended.returncode in (0, 3)
    return ended.stdout + ended.stderr, ended.returncode == 3


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_is_that_of_the_full_program_without_importing_it(arguments, capsys):
    assert main(arguments) == 0
    printed, is_imported = run_program(*arguments)
    assert printed == capsys.readouterr().out
    assert not is_imported


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_streams_are_left_to_the_full_program(monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    assert not pt_multiaspect_shell.show_help()


def test_a_missing_command(capsys):
    assert main([]) == 2
    assert (
        capsys.readouterr().err
        == "pt-multiaspect: error: missing command (see 'pt-multiaspect --help')\n"
    )


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"pt-multiaspect \d+\.\d+\.\S+\n", capsys.readouterr().out)


def test_every_command_is_listed_and_has_a_module_with_its_name():
    folder = ROOT / "pt_multiaspect" / "cli"
    modules = {
        path.stem: import_module(f"pt_multiaspect.cli.{path.stem}")
        for path in folder.glob("[!_]*.py")
    }
    defined = {
        (module, value.name)
        for module, content in modules.items()
        for value in vars(content).values()
        if isinstance(value, Command)
    }
    assert defined == {(name, name) for name in SUMMARIES}
    assert {name: command.short_help for name, command in program.commands.items()} == SUMMARIES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_for_completion(shell):
    if shell == "bash":
        version = subprocess.run(
            ["bash", "--version"], capture_output=True, text=True, check=False
        ).stdout
        if not re.search(r"version [5-9]|version 4\.[4-9]", version):
            pytest.skip("Click requires bash 4.4")
    script, _ = run_program(_PT_MULTIASPECT_COMPLETE=f"{shell}_source")
    assert "_PT_MULTIASPECT_COMPLETE" in script


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("d", ["datasets", "demo", "describe"]),
        ("evaluate --ba", ["--baseline"]),
        ("evaluate -m TO", ["TOMA"]),
        ("plot -m TO", ["TOMA"]),
        ("measures NW", ["NWCS"]),
        ("evaluate --suite tou", ["touche-2021"]),
        ("evaluate --format j", ["json", "jsonl"]),
        ("evaluate --qrels rel", ["file"]),
        ("evaluate --qrels relevance = rel", ["file"]),  # bash splits words at =
        ("evaluate -m AP ru", ["file"]),
        ("evaluate --nothing ru", ["file"]),
    ],
)
def test_completion(monkeypatch, capsys, words, proposed):
    words = f"pt-multiaspect {words}"
    monkeypatch.setenv("_PT_MULTIASPECT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    kinds_and_values = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert [value if kind == "plain" else kind for kind, value in kinds_and_values] == proposed


def test_help_of_the_program_keeps_the_lines_of_its_examples(capsys):
    """Examples are indented below their title, and can be pasted."""
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    title = lines.index("  Start with your own files:")
    _empty, first_line, second_line = lines[title + 1 : title + 4]
    assert (first_line, second_line) == (
        "    pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\",
        "      -m nDCG@10 'TOMA(gate=relevance)@10' bm25.run other.run",
    )
    # Click's mark of paragraphs whose lines are kept, which it does not print.
    assert not any(r"\b" in line for line in lines)


@pytest.mark.parametrize("name", SUMMARIES)
def test_help_of_a_command_is_what_it_prints_itself(name, capsys):
    printed = []
    for arguments in (["help", name], [name, "--help"]):
        assert main(arguments) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert f"Usage: pt-multiaspect {name}" in printed[0]


def test_help_of_an_unknown_command(capsys):
    assert main(["help", "evalute"]) == 2
    assert "unknown command 'evalute'; did you mean evaluate?" in capsys.readouterr().err


def test_help_is_short():
    """Two screens for the longest one, and options that a person can take in."""
    printed, _ = run_program("evaluate", "--help", COLUMNS="80")
    assert len(printed.splitlines()) <= 100
    options = {
        name: sum(isinstance(param, click.Option) for param in command.params)
        for name, command in program.commands.items()
    }
    assert max(options.values()) == options["evaluate"] <= 22
    assert sum(options.values()) <= 130
