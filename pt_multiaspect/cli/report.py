"""The command ``report``: an experiment as one page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..errors import MultiAspectError
from ..integration.declared import check_aspects
from ..reporting import report
from .inputs import judged_aspects, pick_run, read_all_qrels, read_aspects, read_measures, read_runs
from .options import (
    ALPHA,
    Command,
    OutputFile,
    Requested,
    alpha_option,
    aspects_option,
    jobs_option,
    measure_option,
    qrels_option,
    runs_argument,
    test_option,
)
from .significance import CORRECTIONS, TESTS

__all__ = ["command"]

_EXAMPLES = """\b
Examples:
  pt-multiaspect report --qrels relevance=qrels.txt credibility=qcred.txt \\
    -o report.html runs/*.run
  pt-multiaspect report --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'TOMA@10 CAM@10' --aspects scales.json --baseline bm25.run \\
    -o report.html runs
"""


@click.command("report", cls=Command, short_help="Write a report to look at, one HTML file.", epilog=_EXAMPLES)
@qrels_option
@measure_option(required=False)
@aspects_option
@click.option(
    "--base", default="nDCG@10", metavar="MEASURE", help="The measure of each aspect alone. Default: nDCG@10."
)
@click.option("--baseline", metavar="RUN", help="The run that others are tested against when the page opens.")
@test_option
@click.option(
    "--correction", type=click.Choice(CORRECTIONS), help="For testing several runs, per measure. Default: holm."
)
@alpha_option
@click.option(
    "--depth", type=click.IntRange(min=1), default=10, metavar="N", help="Ranks shown of each ranking. Default: 10."
)
@click.option("--title", default="Multi-aspect evaluation", metavar="TEXT", help="The title of the page.")
@jobs_option
@click.option("-o", "--output", required=True, metavar="FILE", type=OutputFile(), help="The file to write, .html.")
@runs_argument()
def command(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    base: str,
    baseline: str | None,
    test: str | None,
    correction: str | None,
    alpha: float | None,
    depth: int,
    title: str,
    jobs: int,
    output: str,
    runs: tuple[str, ...],
) -> None:
    """Evaluate runs, and write a report to look at and to send: one HTML file.

    It shows the judgments, a table of systems to sort and filter, the aspects against each other, correlations
    and discriminative power of the measures, and the rankings of any two runs for a query, side by side. By
    default with TOMA@10, CAM@10 and MM@10, or AP and RR for a single aspect.
    """
    if Path(output).suffix.lower() not in (".html", ".htm"):
        raise MultiAspectError(f"--output: expected a file that ends in .html, got {output}")
    scales = read_aspects(aspects)
    judgments = read_all_qrels(qrels)
    if scales is not None:
        check_aspects(scales, judged_aspects(judgments), "--aspects")
    named = read_runs(runs, qrels)
    report(
        named,
        judgments,
        read_measures(measures, scales, judgments) if measures else None,
        aspects=scales,
        base=base,
        baseline=None if baseline is None else pick_run(baseline, list(named), "--baseline"),
        test=TESTS[test or "ttest"][0],
        correction=None if correction == "none" else correction or "holm",
        alpha=ALPHA if alpha is None else alpha,
        depth=depth,
        title=title,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
        path=output,
    )
