"""The commands ``correlate``, ``weightings``, ``bounds`` and ``axioms``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
import ir_measures
import pandas as pd

from ..analysis import axioms as axiom_checks
from ..analysis import correlation, upper_bound
from ..analysis import weightings as compute_weightings
from ..analysis.weightings import measures_of_aspects
from ..collection import Judgments
from ..errors import choices, warn
from ..evaluation.topics import check_average_over, counted_topics
from ..integration.aggregators import lower_is_better
from ..suites import Suite
from . import options
from .inputs import pick_baseline, pick_measures, read_measures
from .options import option
from .tables import Sheet
from .verb import Incomplete, Inputs, verb


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
        type=click.Choice(["kendall", "tau_ap", "tau_gap", "spearman", "rbo"]),
        default="kendall",
        help="Default: kendall. The reference is the measure of the row (relevant for tau_ap and tau_gap).",
    ),
    option(
        "--rank-by",
        type=click.Choice(["mean", "query"]),
        default="mean",
        help="Rank the systems by their means (default), or per query and average the correlations.",
    ),
    option(
        "--top",
        type=click.IntRange(min=2),
        metavar="N",
        help="Correlate only the N best runs by the measure of the row, and those tied with the last of them.",
    ),
    option("--ci", is_flag=True, help="Show 95 % bootstrap intervals, with one row per pair of measures."),
    options.JOBS,
    *options.TABLE,
    options.RUNS,
)
def correlate(inputs: Inputs, method: str, rank_by: str, top: int | None, ci: bool) -> Sheet:
    """Correlate the rankings of the runs by the measures."""
    if len(inputs.measures) < 2:
        raise click.UsageError(f"expected at least two measures, got only {next(iter(inputs.measures))}")
    if top is not None and rank_by == "query":
        raise click.UsageError("--top applies to means: omit it, or --rank-by query")
    correlations = correlation(inputs.evaluate(), method, rank_by, top=top, ci=0.95 if ci else None)
    if len(inputs.runs) == 2 and rank_by == "mean" and method != "rbo":
        warn("the order of two runs is the same or reversed, so that correlations are 1 or -1; give more runs")
    return Sheet.of(correlations if ci else correlations.rename_axis("measure").reset_index())


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
    options.AVERAGE_OVER,
    options.VALUES,
    option("--baseline", metavar="RUN", help="Compare the others with this run. Default: compare all pairs."),
    option(
        "--at-least", multiple=True, metavar="ASPECT=WEIGHT", help="The least weight of an aspect. May be repeated."
    ),
    option("--correction", type=click.Choice(["none", "holm"]), help="Within each weighting. Default: none."),
    options.SIGNIFICANCE[2],
    options.BY,
    options.JOBS,
    *options.TABLE,
    options.OPTIONAL_RUNS,
)
def weightings(inputs: Inputs, baseline: str | None, at_least: tuple[str, ...]) -> object:
    """Show for which weights of the aspects one run is better than another.

    All weights are equally likely. -m is one mean over the aspects, such as CAM@10, or several measures to weight.
    Shows the fraction of all weights under which the first run of each pair is better, that under which it is
    significantly so, and the least change of weights that reverses the order.
    """
    mean, values = None, inputs.given_values
    kept: Sequence[str] | Mapping[str, Any] | None = None
    if values is not None:
        kept = pick_measures(inputs.requested.texts, values)
    elif not inputs.requested:
        raise click.UsageError("missing measures: give -m MEASURE, or --values FILE")
    elif len(inputs.measures) > 1:
        values, kept = inputs.evaluate(), list(inputs.measures)
    else:
        (mean,) = inputs.measures.values()
        inputs.measures = dict(inputs.measures) | measures_of_aspects(mean, inputs.qrels)
        values = inputs.evaluate()
    result = compute_weightings(
        values,
        mean,
        measures=kept,
        baseline=pick_baseline(baseline, values["name"].unique().tolist()),
        at_least=_read_weights(at_least),
        alpha=inputs.significance.alpha,
        correction=None if inputs.values["correction"] == "none" else inputs.values["correction"],
        by=inputs.values["topic_groups"],
        runs=None if mean is None else inputs.runs,
        qrels=None if mean is None else inputs.qrels,
    )
    return result if inputs.format == "table" else Sheet.of(result.pairs)


def _read_weights(texts: Sequence[str]) -> dict[str, float]:
    """Return the weights of aspects."""
    weights = {}
    for text in texts:
        aspect, _, weight = text.rpartition("=")
        try:
            weights[aspect] = float(weight)
        except ValueError:
            raise click.UsageError(f"--at-least: expected ASPECT=WEIGHT, got {text!r}") from None
    return weights


@verb(
    r"""
    Examples:
      pt-multiaspect bounds --qrels relevance=qrels.txt credibility=qcred.txt \
        -m CAM@10 MM@10 --aspects scales.json
      pt-multiaspect bounds --qrels relevance=qrels.txt credibility=qcred.txt \
        -m CAM -q -o bounds.csv
    """,
    options.QRELS_ONLY,
    *options.EVALUATION,
    option("-q", "--perquery", is_flag=True, help="Show each query."),
    option(
        "--strategy",
        type=click.Choice(["auto", "exact", "search", "recursive", "sum", "squares", "max"]),
        default="auto",
        help="The method of finding the best ranking; see pt_multiaspect.analysis.upper_bound. Default: auto.",
    ),
    *options.TABLE,
)
def bounds(inputs: Inputs, perquery: bool, strategy: str) -> Sheet:
    """Show the maximum values that rankings can attain on these judgments.

    The value is that of the best ranking found; no ranking exceeds the bound. Both are equal where the maximum
    is known. Means are over the queries.
    """
    measures = inputs.measures if inputs.requested.suite is None else _with_upper_bounds(inputs.measures)
    frame = pd.concat(
        [upper_bound(inputs.qrels, measure, strategy).assign(measure=label) for label, measure in measures.items()],
        ignore_index=True,
    )[["measure", "qid", "strategy", "value", "bound", "gap"]]
    judgments = Judgments.of(inputs.qrels)
    counted = counted_topics(measures, judgments, check_average_over(inputs.values["average_over"], measures))
    kept = {(label, qid) for label, counts in counted.items() for qid in judgments.qids[counts]}
    frame = frame[[pair in kept for pair in zip(frame["measure"], frame["qid"], strict=True)]]
    if perquery:
        return Sheet.of(frame)
    columns = {
        "strategy": ("strategy", "first"),
        "queries": ("value", "size"),
        "mean value": ("value", "mean"),
        "mean bound": ("bound", "mean"),
        "minimum bound": ("bound", "min"),
        "maximum gap": ("gap", "max"),
    }
    return Sheet.of(frame.groupby("measure", sort=False).agg(**columns).reset_index())


def _with_upper_bounds(measures: Mapping[str, ir_measures.Measure]) -> Mapping[str, ir_measures.Measure]:
    """Return the measures of a suite for which higher is better; the others have no upper bound."""
    lower = [label for label, measure in measures.items() if lower_is_better(measure)]
    if not lower or not isinstance(measures, Suite):
        return measures
    warn(f"left out, as lower is better: {choices(lower)}")
    return replace(measures, measures={key: measure for key, measure in measures.items() if key not in lower})


@verb(
    """
    Examples:
      pt-multiaspect axioms -m TOMA CAM MM
      pt-multiaspect axioms -m 'CAM(base=AP)' --property '1 attainable' --examples
    """,
    *options.MEASURES,
    options.ASPECTS,
    option(
        "--property",
        "properties",
        multiple=True,
        type=click.Choice(list(axiom_checks.PROPERTIES)),
        metavar="PROPERTY",
        help=f"May be repeated; by default all of: {', '.join(axiom_checks.PROPERTIES)}.",
    ),
    option("--trials", type=int, default=10_000, metavar="N", help="Maximum trials per property. Default: 10000."),
    option("--documents", type=int, default=5, metavar="N", help="Maximum documents per world, 1-6. Default: 5."),
    option("--seed", type=int, default=0, metavar="N", help="Seed of the sampled worlds. Default: 0."),
    option("--examples", is_flag=True, help="Show the smallest counterexample or tie of each property instead."),
    *options.TABLE,
)
def axioms(
    inputs: Inputs, properties: tuple[str, ...], trials: int, documents: int, seed: int, examples: bool
) -> object:
    """Search small worlds for counterexamples to properties that measures are expected to have.

    'holds' means that no counterexample was found, which is not a proof. By default, there are two aspects with
    the grades 0-2. csv, tsv and json have one row per measure and property, with numbers of trials and reasons.
    """
    if examples and (inputs.values["output"] is not None or inputs.format not in ("table", "tsv")):
        raise click.UsageError("--examples prints text only: omit --format and --output")
    scales = inputs.aspects
    check = axiom_checks.check(
        read_measures(inputs.requested, None if inputs.requested.suite is None else scales),
        properties=list(properties) or None,
        trials=trials,
        seed=seed,
        documents=documents,
        **({} if scales is None else {"aspects": scales}),
    )
    if examples:
        shown = [check.example(measure, name) for measure in check.table.index for name in check.table.columns]
        text = "\n\n".join(str(example) for example in shown if example is not None) or "none found"
        return Incomplete.with_errors(text, check.refused)
    verdicts = Sheet.of(check.table.rename_axis("measure").reset_index(), [check.title(), *check.reasons()])
    return Incomplete.with_errors(Sheet(check.results, verdicts.table), check.refused)
