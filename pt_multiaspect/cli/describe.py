"""The command ``describe``: what is in the judgments and runs."""

from __future__ import annotations

from pathlib import Path

import click

from .._rendering import printable
from ..description import describe
from ..errors import MultiAspectError, choices
from .inputs import read_all_qrels, read_aspects, read_measures, read_runs, refusals
from .options import Command, OutputFile, Requested, aspects_option, measure_option, qrels_option, runs_argument
from .tables import write_text
from .wording import tell

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt
  pt-multiaspect describe --qrels relevance=qrels.txt credibility=qcred.txt \\
    --write-aspects scales.json
  pt-multiaspect describe --qrels qrels.txt -m 'AP TOMA' -o report.html runs
"""


@click.command(
    "describe", cls=Command, short_help="Describe judgments, runs and scales, and list oddities.", epilog=_EXAMPLES
)
@qrels_option
@aspects_option
@measure_option(required=False)
@click.option(
    "--contingency", nargs=2, metavar="ASPECT ASPECT", help="Count the documents of each pair of labels instead."
)
@click.option(
    "--write-aspects",
    metavar="FILE",
    type=OutputFile(),
    help="Write the label scales, as the findings propose to declare them, to a JSON file, to check, edit and use "
    "as --aspects.",
)
@click.option(
    "-o", "--output", metavar="FILE", type=OutputFile(), help="Write the report to a file, .html or .txt."
)
@runs_argument(required=False)
def command(
    qrels: tuple[str, ...],
    aspects: str | None,
    measures: Requested,
    contingency: tuple[str, str] | None,
    write_aspects: str | None,
    output: str | None,
    runs: tuple[str, ...],
) -> int:
    """Describe judgments, runs and label scales, and list what is odd about them.

    Shows the labels of each aspect, the agreement between aspects, and how much of the runs is judged. With
    measures, shows which of them depend on which scale.
    """
    suffix = None if output is None else Path(output).suffix.lower()
    if suffix not in (None, ".html", ".txt"):
        raise MultiAspectError(f"--output: expected a file that ends in .html or .txt, got {output}")
    scales = read_aspects(aspects)
    judgments = read_all_qrels(qrels)
    found = describe(
        judgments,
        scales,
        runs=read_runs(runs, qrels) if runs else None,
        measures=read_measures(measures, scales, judgments) if measures else None,
    )
    found.in_shell = True
    if write_aspects is not None:
        found.proposed.to_file(write_aspects)
        left_out = [name for name in found.aspects if name not in found.proposed]
        without = f" without {choices(left_out)}" if left_out else ""
        tell(f"wrote the scales to {write_aspects}{without}; check them before use")
    if contingency:
        text = printable(found.contingency(*contingency).to_string())
    else:
        text = found.to_html() if suffix == ".html" else str(found)
    write_text(text, output)
    return refusals(found.refused)
