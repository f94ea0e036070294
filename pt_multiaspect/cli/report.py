"""The command ``report``."""

from __future__ import annotations

import sys

import click

from .. import reporting
from ..evaluation.topics import TOPICS
from ..integration.declared import check_aspects
from . import options
from .inputs import judged_aspects, pick_baseline
from .options import option, output
from .verb import Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect report --qrels relevance=qrels.txt credibility=qcred.txt \
        -o report.html runs/*.run
      pt-multiaspect report --qrels relevance=qrels.txt credibility=qcred.txt \
        -m 'TOMA(gate=relevance)@10' CAM@10 --aspects scales.json \
        --baseline bm25.run -o report.html runs
    """,
    options.QRELS,
    options.HUMAN,
    *options.OPTIONAL_MEASURES,
    options.STANCES,
    options.ASPECTS,
    options.AVERAGE_OVER,
    option(
        "--base", default="nDCG@10", metavar="MEASURE", help="The measure of each aspect alone. Default: nDCG@10."
    ),
    option("--baseline", metavar="RUN", help="The run that the others are tested against when the page opens."),
    *options.SIGNIFICANCE,
    option(
        "--depth",
        type=click.IntRange(min=1),
        default=10,
        metavar="N",
        help="Number of ranks shown per ranking. Default: 10.",
    ),
    options.BY,
    option("--title", default="Multi-aspect evaluation", metavar="TEXT", help="The title of the page."),
    output({".html": "html", ".htm": "html"}, "The file to write, .html.", required=True),
    options.RUNS,
)
def report(inputs: Inputs, base: str, baseline: str | None, depth: int, title: str) -> None:
    """Evaluate runs, and write a report as one HTML file.

    It shows the judgments, a table of systems to sort and filter, plots of the aspects against each other,
    correlations and discriminative power of the measures, and any two rankings of a query side by side. The default
    measures are TOMA@10 (with the gate relevance, if there is this aspect), CAM@10 and MM@10, or AP and RR for a
    single aspect.
    """
    if inputs.aspects is not None:
        check_aspects(inputs.aspects, judged_aspects(inputs.qrels), "--aspects")
    qrels, runs = inputs.qrels, inputs.runs
    if inputs.values["average_over"] == TOPICS[1]:
        raise click.UsageError("--average-over: a report compares measures on the same topics, the judged ones")
    measures = inputs.measures if inputs.requested else None
    if measures is not None and inputs.values["average_over"] is not None:
        measures = dict(measures)  # not the topics of the suite
    reporting.report(
        runs,
        qrels,
        measures,
        aspects=inputs.aspects,
        human=inputs.human if inputs.values["human"] else None,
        base=base,
        baseline=pick_baseline(baseline, list(runs)),
        **inputs.significance.options,
        depth=depth,
        by=inputs.by,
        title=title,
        progress=sys.stderr.isatty(),
        path=inputs.values["output"],
    )
