"""The start of the shell: help, version and completion, answered without importing the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from pt_multiaspect.cli import main
from pt_multiaspect.cli.options import Command
from pt_multiaspect.cli.program import program
from pt_multiaspect_commands import COMMANDS, SUMMARIES, answer_alone

ROOT = Path(__file__).resolve().parent.parent
ALONE = [
    [],
    ["--help"],
    ["-h"],
    ["help"],
    ["--version"],
    ["completion", "bash"],
    ["completion", "zsh"],
    ["completion", "fish"],
]
#: What scripts for completion set for the first word: all words, and the number of the last one (in fish, itself).
FIRST_WORD = {
    "bash": {"COMP_WORDS": "pt-multiaspect d", "COMP_CWORD": "1"},
    "zsh": {"COMP_WORDS": "pt-multiaspect d", "COMP_CWORD": "1"},
    "fish": {"COMP_WORDS": "pt-multiaspect d", "COMP_CWORD": "d"},
}


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


@pytest.mark.parametrize("arguments", ALONE, ids=" ".join)
def test_the_answer_is_that_of_the_full_program(arguments, capsys):
    code = main(arguments)
    expected = capsys.readouterr()
    assert expected.out + expected.err
    assert (answer_alone(arguments), capsys.readouterr()) == (code, expected)


@pytest.mark.parametrize("arguments", ALONE, ids=" ".join)
def test_the_package_is_not_imported(arguments):
    printed, is_imported = run_program(*arguments)
    assert printed
    assert not is_imported


@pytest.mark.parametrize("shell", FIRST_WORD)
def test_the_name_of_a_command_is_completed_without_the_package(shell):
    variables = {"_PT_MULTIASPECT_COMPLETE": f"{shell}_complete", **FIRST_WORD[shell]}
    printed, is_imported = run_program(**variables)
    assert [name for name in SUMMARIES if name in re.split(r"[\s,]", printed)] == ["describe", "demo", "datasets"]
    assert not is_imported


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["evaluate", "--help"], {}),
        (["help", "evaluate"], {}),
        (["completion", "csh"], {}),
        (["completion"], {}),
        (["--help", "evaluate"], {}),
        (["--verbose"], {}),
        (
            [],
            {
                "_PT_MULTIASPECT_COMPLETE": "bash_complete",
                "COMP_WORDS": "pt-multiaspect measures TO",
                "COMP_CWORD": "2",
            },
        ),
    ],
)
def test_the_rest_is_left_to_the_full_program(arguments, variables, capsys, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert answer_alone(arguments) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_closed_streams_are_left_to_the_full_program(monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    assert answer_alone(["--help"]) is None


def test_every_command_is_listed_with_its_module():
    folder = ROOT / "pt_multiaspect" / "cli"
    modules = {path.stem: import_module(f"pt_multiaspect.cli.{path.stem}") for path in folder.glob("[!_]*.py")}
    defined = {
        (module, value.name)
        for module, content in modules.items()
        for value in vars(content).values()
        if isinstance(value, Command)
    }
    assert defined == {(module, name) for module, names in COMMANDS.items() for name in names}
    assert {name: command.short_help for name, command in program.commands.items()} == SUMMARIES


def test_help_of_the_program_keeps_the_lines_of_its_examples(capsys):
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    example = lines.index("  Start with your own files:")
    assert lines[example + 2 : example + 4] == [
        "    pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\",
        "      -m nDCG@10 'TOMA(gate=relevance)@10' bm25.run other.run",
    ]
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
