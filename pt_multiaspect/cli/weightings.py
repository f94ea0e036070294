"""The command ``weightings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ..analysis import weightings as compute_weightings
from ..analysis._weighted_values import measures_of_aspects
from . import options
from .input_files import pick_measures
from .options import option
from .run_names import pick_baseline
from .tables import Sheet
from .verb import Inputs, verb


@verb(
    r"""
    Examples:
      pt-multiaspect weightings --qrels relevance=qrels.txt trust=trust.txt \
        -m CAM@10 --aspects scales.json runs
      pt-multiaspect weightings --qrels relevance=qrels.txt trust=trust.txt \
        -m 'MM(base=AP)' --at-least relevance=0.5 -o weightings.csv runs
      pt-multiaspect weightings --values tot=values.txt -m accuracy -m fluency
    """,
    options.QRELS,
    *options.OPTIONAL_MEASURES,
    options.ASPECTS,
    options.VALUES,
    option(
        "--baseline",
        metavar="RUN",
        help="Compare the others with this run. Default: compare all pairs.",
    ),
    option(
        "--at-least",
        multiple=True,
        metavar="ASPECT=WEIGHT",
        help="The least weight of an aspect. May be repeated.",
    ),
    options.CLUSTER,
    options.OUTPUT,
    options.OPTIONAL_RUNS,
)
def weightings(
    inputs: Inputs, baseline: str | None, at_least: tuple[str, ...], cluster: str | None
) -> object:
    """Show for which weights of the aspects one run is better.

    All weights are equally likely. -m is one mean over the aspects, such as CAM@10, or several
    measures to weight. Shows the fraction of all weights under which the first run of each pair is
    better, that under which it is significantly so, and the least change of weights that reverses
    the order.

    Tables for programs also have fraction_lower, the fraction of all weights under which the first
    run is worse, and uir, the unanimous improvement ratio (n_better - n_worse) / n_topics, of the
    topics on which the first run (or the second) is at least as good on every aspect and better on
    one.
    """
    values = inputs.given_values
    # What is weighted: measures of a file of values, several measures, or the aspects of one mean,
    # which requires the runs and the qrels.
    mean = None
    kept: Sequence[str] | Mapping[str, Any] | None = None
    runs = None
    qrels = None
    if values is not None:
        kept = pick_measures(inputs.requested.texts, values)
    elif not inputs.requested:
        raise click.UsageError("missing measures: give -m MEASURE, or --values FILE")
    elif len(inputs.measures) > 1:
        values = inputs.evaluate()
        kept = list(inputs.measures)
    else:
        (mean,) = inputs.measures.values()
        # Other weights of the mean require the values of its base on each aspect.
        measures = measures_of_aspects(mean, inputs.qrels)
        inputs.measures = dict(inputs.measures) | measures
        values = inputs.evaluate()
        runs = inputs.runs
        qrels = inputs.qrels
    if inputs.values["runs"]:
        names = inputs.runs
    else:
        names = dict.fromkeys(values["name"])
    result = compute_weightings(
        values,
        mean,
        measures=kept,
        baseline=pick_baseline(baseline, names),
        at_least=_read_weights(at_least),
        runs=runs,
        qrels=qrels,
        cluster=cluster,
    )
    if inputs.format == "table":
        return result
    return Sheet(result.pairs, result._as_table())


def _read_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the values of --at-least: the least weight of aspects, each given as ASPECT=WEIGHT."""
    weights = {}
    for text in texts:
        aspect, _, weight = text.rpartition("=")
        try:
            weights[aspect] = float(weight)
        except ValueError:
            raise click.UsageError(f"--at-least: expected ASPECT=WEIGHT, got {text!r}") from None
    return weights
