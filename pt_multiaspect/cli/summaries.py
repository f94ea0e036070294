"""The summaries of the commands, and the program that they make: all that its help requires.

`pt_multiaspect_shell` runs this file without importing the package, so it imports nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import click

NAME = "pt-multiaspect"

#: The summaries of the commands, in the order of the help; each is a function in a module of this
#: name.
SUMMARIES = {
    "evaluate": "Evaluate TREC run files.",
    "describe": "Describe judgments, runs and scales, and list oddities.",
    "explain": "Explain the value of one query, rank by rank.",
    "compare": "Compare two runs, query by query.",
    "report": "Write a report as one HTML file.",
    "answers": "Score judged answers, in a table or a report.",
    "correlate": "Correlate the system rankings of measures.",
    "weightings": "Show for which weights of the aspects one run is better than another.",
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
