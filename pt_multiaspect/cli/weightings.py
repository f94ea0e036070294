"""The command ``weightings``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
import pandas as pd

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
    values, weighted = _values_to_weight(inputs)
    runs: Iterable[str]
    if inputs.values["runs"]:
        runs = inputs.runs  # with their files, by which --baseline may give one
    else:
        runs = values["name"].unique().tolist()
    result = compute_weightings(
        values,
        baseline=pick_baseline(baseline, runs),
        at_least=_read_weights(at_least),
        cluster=cluster,
        **weighted,
    )
    if inputs.format == "table":
        return result
    return Sheet(result.pairs, result._as_table())


def _values_to_weight(inputs: Inputs) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return values per query, and the arguments that tell what of them is weighted.

    That is measures of a file of values, several measures, or the aspects of one mean.
    """
    given_values = inputs.given_values
    if given_values is not None:
        return given_values, {"measures": pick_measures(inputs.requested.texts, given_values)}
    if not inputs.requested:
        raise click.UsageError("missing measures: give -m MEASURE, or --values FILE")
    if len(inputs.measures) > 1:
        return inputs.evaluate(), {"measures": list(inputs.measures)}
    (mean,) = inputs.measures.values()
    # Other weights of the mean require the values of its base on each aspect.
    inputs.measures = dict(inputs.measures) | measures_of_aspects(mean, inputs.qrels)
    weighted = {"measure": mean, "runs": inputs.runs, "qrels": inputs.qrels}
    return inputs.evaluate(), weighted


def _read_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the values of --at-least: the least weight of aspects, each given as ASPECT=WEIGHT."""
    weights = {}
    for text in texts:
        # Without "=", the aspect is "", which is none of the measure's.
        aspect, _, weight = text.rpartition("=")
        try:
            weights[aspect] = float(weight)
        except ValueError:
            raise click.UsageError(f"--at-least: expected ASPECT=WEIGHT, got {text!r}") from None
    return weights
