"""The command ``explain``: the value of one query, rank by rank."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import MultiAspectError, choices
from ..explanation import explain
from .inputs import read_all_qrels, read_aspects, read_measures, read_runs
from .options import Command, OutputFile, Requested, aspects_option, measure_option, qrels_option
from .tables import Sheet, write, write_text

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  pt-multiaspect explain --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m TOMA@10 --aspects scales.json --query q1 bm25.run
  pt-multiaspect explain --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m CAM@10 --query q1 -o q1.html bm25.run
"""

#: The formats of files, and of what is printed.
_SUFFIXES = {".txt": "text", ".html": "html", ".csv": "csv", ".tsv": "tsv", ".json": "json"}


@click.command("explain", cls=Command, short_help="Explain the value of one query, rank by rank.", epilog=_EXAMPLES)
@qrels_option
@measure_option()
@aspects_option
@click.option("--query", "qid", required=True, metavar="QID", help="The query.")
@click.option(
    "--format",
    type=click.Choice(["text", "html", "csv", "tsv", "json"]),
    help="csv, tsv and json are the ranks in full precision. Default: text.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="Write to a file, in the format of its suffix: .txt, .html, .csv, .tsv or .json.",
)
@click.argument("run", metavar="RUN", type=click.Path())
def command(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    qid: str,
    format: str | None,
    output: str | None,
    run: str,
) -> None:
    """Explain the value of a measure for one query of a run, rank by rank.

    Shows the labels of each document, what the measure made of them, and how much each rank contributes.
    """
    kind = _kind(format, output)
    judgments = read_all_qrels(qrels)
    parsed = read_measures(measures, read_aspects(aspects), judgments)
    if len(parsed) > 1:
        hint = "" if measures.suite is None else "; choose one of the suite with -m LABEL"
        raise click.UsageError(f"expected one measure, got {len(parsed)}: {choices(parsed)}{hint}")
    named = read_runs([run], qrels)
    if len(named) > 1:
        raise click.UsageError(f"expected one run, got {len(named)}: {choices(named)}")
    ((label, measure),) = parsed.items()
    found = explain(measure, named, judgments, qid, label=label)
    if kind in ("text", "html"):
        text = str(found) if kind == "text" else found.to_html()
        write_text(text, output)
    else:
        write(Sheet.of(found.ranks), kind, output)


def _kind(format: str | None, output: str | None) -> str:
    if format is not None or output is None:
        return format or "text"
    suffix = Path(output).suffix.lower()
    if suffix not in _SUFFIXES:
        raise MultiAspectError(f"--output: expected a file that ends in {choices(_SUFFIXES)}, got {output}")
    return _SUFFIXES[suffix]
