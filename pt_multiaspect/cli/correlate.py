"""The command ``correlate``."""

from __future__ import annotations

import click

from ..analysis import correlation
from ..analysis.correlation import METHODS
from ..errors import warn
from . import options
from .options import option
from .tables import Sheet
from .verb import Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect correlate --qrels relevance=qrels.txt credibility=qcred.txt \
        -m nDCG@10 CAM@10 'TOMA(gate=relevance)@10' runs
      pt-multiaspect correlate --qrels qrels.txt -m AP nDCG RR --method tau_ap \
        --ci -o correlations.csv 'runs/*.run'
    """,
    options.QRELS,
    *options.EVALUATION,
    option(
        "--method",
        type=click.Choice(METHODS),
        default="kendall",
        help="Default: kendall. The reference is the measure of the row (relevant for tau_ap and "
        "tau_gap).",
    ),
    option(
        "--rank-by",
        type=click.Choice(["mean", "query"]),
        default="mean",
        help="Rank the systems by their means (default), or per query and average the "
        "correlations.",
    ),
    option(
        "--top",
        type=click.IntRange(min=2),
        metavar="N",
        help="Correlate only the N best runs by the measure of the row, and those tied with the "
        "last of them.",
    ),
    option(
        "--ci",
        is_flag=True,
        help="Show 95 % bootstrap intervals, with one row per pair of measures.",
    ),
    options.CLUSTER,
    options.OUTPUT,
    options.RUNS,
)
def correlate(
    inputs: Inputs, method: str, rank_by: str, top: int | None, ci: bool, cluster: str | None
) -> Sheet:
    """Correlate the rankings of the runs by the measures."""
    labels = list(inputs.measures)
    if len(labels) < 2:
        raise click.UsageError(f"expected at least two measures, got only {labels[0]}")
    if top is not None and rank_by == "query":
        raise click.UsageError("--top applies to means: omit it, or --rank-by query")
    if ci:
        level = 0.95
    else:
        level = None
    values = inputs.evaluate()
    correlations = correlation(values, method, rank_by, top=top, ci=level, cluster=cluster)
    # Rank-biased overlap, and means over queries, also have other values.
    is_one_or_minus_one = rank_by == "mean" and method != "rbo"
    if is_one_or_minus_one and len(inputs.runs) == 2:
        warn(
            "the order of two runs is the same or reversed, so that correlations are 1 or -1; give "
            "more runs"
        )
    if ci:
        return Sheet.of(correlations)
    matrix = correlations.rename_axis("measure").reset_index()
    return Sheet.of(matrix)
