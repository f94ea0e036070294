"""The commands of ``pt-multiaspect``, their summaries, and what is answered without importing the package."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

NAME = "pt-multiaspect"

#: The summaries of the commands, by the module of `pt_multiaspect.cli` that defines them.
COMMANDS = {
    "evaluate": {"evaluate": "Evaluate TREC run files."},
    "describe": {"describe": "Describe judgments, runs and scales, and list oddities."},
    "explain": {"explain": "Explain the value of one query, rank by rank."},
    "compare": {"compare": "Compare two runs, query by query."},
    "report": {"report": "Write a report as one HTML file."},
    "answers": {"answers": "Score judged answers, in a table or a report."},
    "analyses": {
        "correlate": "Correlate the system rankings of measures.",
        "weightings": "Show for which weights of the aspects one run is better than another.",
        "bounds": "Show the maximum attainable values.",
        "axioms": "Search for counterexamples to properties of measures.",
    },
    "robustness": {"robustness": "Show what the difference between runs depends on."},
    "fill": {"fill": "Fill missing labels of qrels."},
    "plot": {"plot": "Draw a figure of values per query."},
    "catalogue": {
        "measures": "List the measures, or show the help of one.",
        "demo": "Evaluate and tune three rankers on the package's collection.",
        "datasets": "List the test collections, or write one to files.",
        "completion": "Print the script for completion in a shell.",
    },
}
SUMMARIES = {name: summary for module in COMMANDS.values() for name, summary in module.items()}

#: The variable that the scripts for completion set.
_COMPLETE = f"_{NAME}_COMPLETE".replace("-", "_").upper()

_EPILOG = """
\b
Start with your own files:
  pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt
  pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m nDCG@10 'TOMA(gate=relevance)@10' bm25.run other.run
or with files to try: pt-multiaspect datasets health --output health

\b
'pt-multiaspect help COMMAND' shows the options and examples of a command.

\b
Exit codes: 0 success, 1 results are incomplete or could not be written,
2 invalid arguments or input.
"""


class _Group(click.Group):
    """A group of commands that suggests the nearest one for an unknown name."""

    #: The function that inserts the options of further values, as -m before each further measure.
    insert_options: Callable[[list[str]], list[str]] | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, where ``help COMMAND`` is ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:2], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or raise an error if it is unknown."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            known = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"unknown command {args[0]!r}; {known}", ctx)
        return super().resolve_command(ctx, args)


def build_program(
    commands: Iterable[click.Command], insert_options: Callable[[list[str]], list[str]] | None = None
) -> click.Group:
    """Return the program with these commands, which insert the options of further values."""
    program = _Group(
        NAME,
        commands={str(command.name): command for command in commands},
        help="Evaluate rankings on several aspects of their documents.",
        epilog=_EPILOG,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
    program.insert_options = insert_options
    version = runpy.run_path(str(Path(__file__).with_name("pt_multiaspect") / "_version.py"))["__version__"]
    return click.version_option(version, prog_name=NAME, message="%(prog)s %(version)s")(program)


def answer_alone(arguments: Sequence[str]) -> int | None:
    """Answer what requires only the names and summaries of commands.

    Parameters
    ----------
    arguments : sequence of str
        The arguments of the process.

    Returns
    -------
    int or None
        The exit code; None, without any output, if the package has to be imported.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):  # the package opens streams that are closed
        return None
    program = build_program(click.Command(name, short_help=summary) for name, summary in SUMMARIES.items())
    instruction = os.environ.get(_COMPLETE)
    if instruction:
        return _complete_command(program, instruction)
    try:
        match arguments:
            case []:
                click.echo(f"{NAME}: error: missing command (see '{NAME} --help')", err=True)
                return 2
            case ["-h" | "--help" | "--version" | "help"]:
                program.main(list(arguments), NAME, standalone_mode=False)
            case ["completion", ("bash" | "zsh" | "fish") as shell]:
                click.echo(completion_script(shell), nl=False)
            case _:
                return None
        sys.stdout.flush()
    except OSError:  # the package says why the output cannot be written
        return None
    return 0


def _complete_command(program: click.Group, instruction: str) -> int | None:
    """Answer a script for completion if the name of a command is completed."""
    kind = get_completion_class(instruction.partition("_")[0])
    if kind is None or kind(program, {}, NAME, _COMPLETE).get_completion_args()[0]:
        return None
    return shell_complete(program, {}, NAME, _COMPLETE, instruction)


def completion_script(shell: str) -> str:
    """Return the script for completion in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None  # ensured by the callers
    return kind(click.Command(NAME), {}, NAME, _COMPLETE).source()


class _Complete(ShellComplete):
    """Completion where one -m has several values, of which all but the first may also be runs."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return measures after the first one of -m, if some begin like this, or else what Click returns."""
        insert_options = self.cli.insert_options if isinstance(self.cli, _Group) else None
        if args and incomplete and insert_options is not None:
            before = insert_options([*args, "AP"])[-2:][0]  # the inserted -m if a further measure may follow
            if before in ("-m", "--measure") and args[-1] != before:
                measures = super().get_completions([*args, before], incomplete)
                if measures:
                    return measures
        return super().get_completions(args, incomplete)


class _Bash(_Complete, BashComplete):
    """Completion in bash, which splits words at = and replaces only what follows it."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the completions of the last word, without what precedes its =."""
        words: list[str] = []
        for word in [*args, incomplete]:
            if words and (word == "=" or words[-1].endswith("=")):
                words[-1] += word
            else:
                words.append(word)
        *args, whole = words
        items = super().get_completions(args, whole)
        kept = whole.removesuffix(incomplete.removeprefix("="))
        for item in items:
            item.value = item.value.removeprefix(kept)
        return items


class _Zsh(_Complete, ZshComplete):
    """Completion in zsh, also of files after =."""

    source_template = ZshComplete.source_template.replace(
        "_path_files -f", "_path_files -f || { compset -P '*=' && _path_files -f }"
    )


class _Fish(_Complete, FishComplete):
    """Completion in fish, also of files after =."""

    source_template = FishComplete.source_template.replace(
        "__fish_complete_path $metadata[2];",
        """set -l aspect (string match -r '^.*=' -- $metadata[2]);
            for path in (__fish_complete_path (string replace -r '^.*=' '' -- $metadata[2]));
                echo "$aspect$path";
            end;""",
    )


for _kind in (_Bash, _Zsh, _Fish):
    add_completion_class(_kind)
