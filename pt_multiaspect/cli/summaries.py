"""The summaries of the commands, and the program that they make: all that its help requires.

`pt_multiaspect_shell` runs this file without importing the package, so it imports nothing of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import click

NAME = "pt-multiaspect"


def read_summaries(folder: Path) -> dict[str, str]:
    """Return the summary of each command: the first line of its docstring.

    A command is a decorated function with the name of its file. Files are read, not imported.
    """
    summaries = {}
    for file in sorted(folder.glob("*.py")):
        module = ast.parse(file.read_text(encoding="utf-8"))
        functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
        for function in functions:
            if function.name == file.stem and function.decorator_list:
                docstring = ast.get_docstring(function) or ""
                summaries[file.stem] = docstring.partition("\n")[0]
    return summaries


#: The summaries of the commands, in the order of the help.
SUMMARIES = read_summaries(Path(__file__).parent)

_EPILOG = """
\b
Start with your own files:
  pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt
  pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m nDCG@10 'TOMA(gate=relevance)@10' bm25.run other.run
or with files to try: pt-multiaspect datasets health --output health

\b
Files, measures and scales are given in the same way to all commands:
  --qrels FILE                 TREC qrels with relevance, also compressed
  --qrels ASPECT=FILE ...      one file per aspect; - is standard input
  --qrels ASPECT,ASPECT=FILE   one file with several label columns
  RUN ...                      run files, directories, patterns in quotes, or
                               - for standard input; NAME=RUN names a run
  -m MEASURE ...               names of ir-measures, trec_eval or ours, which
                               'pt-multiaspect measures' lists, or
                               ALIAS=NAME; without -m, they follow the runs
  --aspects FILE|JSON          the label scales, as in '{"relevance": 2,
                               "effort": {"grades": 10, "threshold": 5}}';
                               'pt-multiaspect describe --write-aspects FILE'
                               writes them
  -o FILE                      the suffix of the file decides the format

\b
'pt-multiaspect help COMMAND' shows the options and examples of a command.

\b
Exit codes: 0 success, 1 results are incomplete or could not be written,
2 invalid arguments or input.
"""


def build_program(
    kind: type[click.Group], commands: Iterable[click.Command], version: str
) -> click.Group:
    """Return the program, a group of this class, with these commands."""
    program = kind(
        NAME,
        commands={str(command.name): command for command in commands},
        help="Evaluate rankings on several aspects of their documents.",
        epilog=_EPILOG,
        no_args_is_help=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    )
    return click.version_option(version, prog_name=NAME, message="%(prog)s %(version)s")(program)
