"""Command-line interface: evaluate run files, list the measures, show a demonstration."""

from __future__ import annotations

import argparse
import io
import json
import sys
import warnings
from collections.abc import Sequence
from textwrap import fill

from . import __version__
from .collection.trec_files import read_qrels
from .errors import MultiAspectError, MultiAspectWarning
from .evaluation import aggregate, evaluate
from .measures import ALL, Param

__all__ = ["main"]

_EXAMPLE = """\
example:
  pt-multiaspect evaluate --qrels relevance=qrels.txt understandability=qread.txt \\
    --measure nDCG@10 --measure "TOMA(aspects={'relevance': 2, 'understandability': 3})@10" \\
    bm25.run reranked.run.gz
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pt-multiaspect", description="Evaluate rankings on several aspects of their documents."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser(
        "evaluate",
        help="evaluate TREC run files",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument(
        "--qrels",
        nargs="+",
        action="extend",
        required=True,
        metavar="ASPECT=FILE",
        help="one TREC qrels file per aspect (plain or .gz, .bz2, .zst); a single FILE without ASPECT contains "
        "relevance",
    )
    run.add_argument(
        "--measure",
        action="append",
        required=True,
        metavar="MEASURE",
        help="an ir-measures or trec_eval name; may be repeated ('pt-multiaspect measures' lists the measures "
        "of this package)",
    )
    run.add_argument("--perquery", action="store_true", help="print one line per query instead of the means")
    run.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: table")
    run.add_argument("--jobs", type=int, default=1, metavar="N", help="number of processes (default: 1)")
    run.add_argument("runs", nargs="+", metavar="RUN", help="a TREC run file, plain or .gz, .bz2, .zst")
    commands.add_parser("measures", help="list the measures and their parameters")
    commands.add_parser("demo", help="demonstrate the package on a small test collection")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command-line interface.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments. By default, the arguments of the process.

    Returns
    -------
    int
        The exit code: 0, or 2 if the input is invalid.
    """
    arguments = _parser().parse_args(argv)
    # A cp1252 console cannot show τ: print a question mark instead of raising (stderr never raises).
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", MultiAspectWarning)
            warnings.showwarning = _show_warning
            if arguments.command == "evaluate":
                _evaluate(arguments)
            elif arguments.command == "measures":
                print(list_measures())
            else:
                from .demo import run_demo

                run_demo()
    except MultiAspectError as error:
        print(f"pt-multiaspect: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        sys.stderr.close()
    return 0


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, MultiAspectWarning):
        print(f"pt-multiaspect: warning: {message}", file=sys.stderr)


def _qrels_files(given: Sequence[str]) -> dict[str, str]:
    if len(given) == 1 and "=" not in given[0]:
        return {"relevance": given[0]}
    files: dict[str, str] = {}
    for item in given:
        aspect, separator, path = item.partition("=")
        if not (separator and aspect and path):
            raise MultiAspectError(
                f"--qrels: expected ASPECT=FILE for every aspect, got {item!r}; if this is a run, put the runs "
                "after another option or after --"
            )
        if aspect in files:
            raise MultiAspectError(
                f"--qrels: expected one file for the aspect {aspect}, got two: {files[aspect]} and {path}"
            )
        files[aspect] = path
    return files


def _evaluate(arguments: argparse.Namespace) -> None:
    qrels = read_qrels(_qrels_files(arguments.qrels))
    perquery = evaluate(
        arguments.runs, qrels, arguments.measure, n_jobs=arguments.jobs, progress=sys.stderr.isatty()
    )
    if arguments.perquery:
        measures = list(perquery["measure"].unique())
        table = perquery.pivot(index=["name", "qid"], columns="measure", values="value")[measures].reset_index()
        order = {name: position for position, name in enumerate(perquery["name"].unique())}
        table = table.sort_values("name", key=lambda column: column.map(order), kind="stable")
    else:
        table = aggregate(perquery)
    if arguments.format == "csv":
        table.to_csv(sys.stdout, index=False)
    elif arguments.format == "json":
        print(json.dumps(table.to_dict("records"), indent=2))  # pandas would round to 15 digits
    else:
        print(table.to_string(index=False, float_format=lambda value: f"{value:.4f}"))


def _describe(name: str, param: Param) -> str:
    if name == "cutoff":
        return "@k  ranking cutoff"
    value = "... (required)" if param.required else repr(param.spell(param.default))
    return f"{name}={value}  {param.desc}"


def list_measures() -> str:
    """Return a text that lists the measures with a description, their source and their parameters."""
    entries = []
    for measure in ALL:
        parameters = [
            fill(
                _describe(name, param),
                width=100,
                initial_indent="    ",
                subsequent_indent="        ",
            )
            for name, param in measure.SUPPORTED_PARAMS.items()
        ]
        entries.append(
            "\n".join([f"{measure.NAME}  {measure.SHORT_DESC}", f"    ({measure.CITATION})", *parameters])
        )
    return "\n\n".join([*entries, "All measures of ir-measures can be used as well, also as a base."])
