"""The program ``pt-multiaspect`` until the package is imported, which takes a second."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

NAME = "pt-multiaspect"

#: The summaries of the commands, in the order of the help; each is a function of a module of `pt_multiaspect.cli`.
SUMMARIES = {
    "evaluate": "Evaluate TREC run files.",
    "describe": "Describe judgments, runs and scales, and list oddities.",
    "explain": "Explain the value of one query, rank by rank.",
    "compare": "Compare two runs, query by query.",
    "report": "Write a report as one HTML file.",
    "answers": "Score judged answers, in a table or a report.",
    "correlate": "Correlate the system rankings of measures.",
    "weightings": "Show for which weights of the aspects one run is better than another.",
    "axioms": "Search for counterexamples to properties of measures.",
    "robustness": "Show what the difference between runs depends on.",
    "plot": "Draw a figure of values per query.",
    "measures": "List the measures, or show the help of one.",
    "demo": "Evaluate and tune three rankers on the package's collection.",
    "datasets": "List the test collections, or write one to files.",
}

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


def build_program(kind: type[click.Group], commands: Iterable[click.Command], version: str) -> click.Group:
    """Return the program, a group of this class, with these commands."""
    from click import version_option

    program = kind(
        NAME,
        commands={str(command.name): command for command in commands},
        help="Evaluate rankings on several aspects of their documents.",
        epilog=_EPILOG,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
    return version_option(version, prog_name=NAME, message="%(prog)s %(version)s")(program)


def main() -> int:
    """Run the command-line interface; Ctrl-C while it is imported ends the process without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # it is ignored by processes in the background of some shells
        signal.signal(signal.SIGINT, _end)
    if sys.argv[1:] in (["-h"], ["--help"], ["help"]) and _show_help():
        return 0
    from pt_multiaspect.cli import main as run

    signal.signal(signal.SIGINT, handler)
    return run()


def _show_help() -> bool:
    """Print the help, which requires only the summaries of commands; return whether it could be printed."""
    import click

    if None in (sys.stdin, sys.stdout, sys.stderr):  # the package opens streams that are closed
        return False
    commands = [click.Command(name, short_help=summary) for name, summary in SUMMARIES.items()]
    program = build_program(click.Group, commands, version="")  # which is not printed
    try:
        program.main(["--help"], NAME, standalone_mode=False)
        sys.stdout.flush()
    except OSError:  # the package says why the output cannot be written
        return False
    return True


def _end(*_: object) -> None:
    """End the process at once, as modules that are being imported may turn exceptions into others."""
    os.write(2, b"\npt-multiaspect: error: interrupted\n")
    os._exit(1)
