"""The command ``report``."""

from __future__ import annotations

import sys

from .. import reporting
from ..integration.declared import check_aspects
from . import options
from .input_files import judged_aspects
from .messages import tell_written
from .options import option, output
from .run_names import pick_baseline
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
    option(
        "--baseline",
        metavar="RUN",
        help="The run that the others are tested against when the page opens.",
    ),
    options.BY,
    options.MACRO,
    options.CLUSTER,
    options.TOPIC_TEXTS,
    option(
        "--title", default="Multi-aspect evaluation", metavar="TEXT", help="The title of the page."
    ),
    output({".html": "html", ".htm": "html"}, "The file to write, .html.", required=True),
    options.RUNS,
)
def report(inputs: Inputs, baseline: str | None, title: str) -> None:
    """Evaluate runs, and write a report as one HTML file.

    It shows the judgments, a table of systems to sort and filter, plots of the aspects against each
    other, correlations and discriminative power of the measures, and any two rankings of a query
    side by side. The default measures are TOMA@10 (with the gate relevance, if there is this
    aspect), CAM@10 and MM@10, or AP and RR for a single aspect.
    """
    if inputs.aspects is not None:
        check_aspects(inputs.aspects, judged_aspects(inputs.qrels), "--aspects")
    qrels = inputs.qrels
    runs = inputs.runs
    measures = None
    if inputs.requested:
        measures = inputs.measures
    human = None
    if inputs.values["human"]:
        human = inputs.human
    output = inputs.values["output"]
    reporting.report(
        runs,
        qrels,
        measures,
        topics=inputs.topics,
        aspects=inputs.aspects,
        human=human,
        baseline=pick_baseline(baseline, runs),
        by=inputs.by,
        macro=inputs.values["macro"],
        cluster=inputs.clusters,
        title=title,
        progress=sys.stderr.isatty(),
        path=output,
    )
    tell_written(output)
