"""The commands ``correlate``, ``bounds`` and ``axioms``: what measures tell, and what they can reach."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

import click
import ir_measures
import pandas as pd

from ..analysis import axioms as axiom_checks
from ..analysis import correlation, upper_bound
from ..collection import Judgments
from ..errors import choices, warn
from ..evaluation import evaluate
from ..evaluation.topics import check_topics, counted_topics
from ..integration.aggregators import lower_is_better
from ..suites import Suite
from .inputs import read_all_qrels, read_aspects, read_measures, read_runs, refusals
from .options import (
    Command,
    Requested,
    aspects_option,
    format_options,
    jobs_option,
    measure_option,
    qrels_option,
    runs_argument,
    topics_option,
)
from .tables import Sheet, chosen_format, write

__all__ = ["axioms", "bounds", "correlate"]

_CORRELATE = """\b
Examples:
  pt-multiaspect correlate --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'nDCG@10 CAM@10 TOMA@10' runs
  pt-multiaspect correlate --qrels qrels.txt -m 'AP nDCG RR' --method tau_ap \\
    --ci -o correlations.csv 'runs/*.run'
"""


@click.command(cls=Command, short_help="Correlate the system rankings of measures.", epilog=_CORRELATE)
@qrels_option
@measure_option()
@aspects_option
@topics_option
@click.option(
    "--method",
    type=click.Choice(["kendall", "tau_ap", "spearman", "rbo"]),
    default="kendall",
    help="Default: kendall. The measure of a row is the reference, which matters for tau_ap.",
)
@click.option(
    "--by",
    type=click.Choice(["mean", "query"]),
    default="mean",
    help="Rank the systems by their means (default), or on each query, and average the correlations.",
)
@click.option("--ci", is_flag=True, help="Show 95 % bootstrap intervals, with one row per pair of measures.")
@jobs_option
@format_options
@runs_argument()
def correlate(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    topics: str | None,
    method: str,
    by: str,
    ci: bool,
    jobs: int,
    format: str | None,
    output: str | None,
    runs: tuple[str, ...],
) -> None:
    """Correlate the rankings of the runs by the measures."""
    format = chosen_format(format, output)
    judgments = read_all_qrels(qrels)
    parsed = read_measures(measures, read_aspects(aspects), judgments)
    if len(parsed) < 2:
        raise click.UsageError(f"expected at least two measures, got only {next(iter(parsed))}")
    named = read_runs(runs, qrels)
    values = evaluate(named, judgments, parsed, topics=topics, n_jobs=jobs, progress=sys.stderr.isatty())
    found = correlation(values, method, by, ci=0.95 if ci else None)
    if not ci:
        found = found.rename_axis("measure").reset_index()
    write(Sheet.of(found), format, output)


_BOUNDS = """\b
Examples:
  pt-multiaspect bounds --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'CAM@10 MM@10' --aspects scales.json
  pt-multiaspect bounds --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m CAM -q -o bounds.csv
"""


@click.command(cls=Command, short_help="Show the maximum values that rankings can reach.", epilog=_BOUNDS)
@qrels_option
@measure_option()
@aspects_option
@topics_option
@click.option("-q", "--perquery", is_flag=True, help="Show each query.")
@click.option(
    "--strategy",
    type=click.Choice(["auto", "exact", "search", "recursive", "sum", "squares", "max"]),
    default="auto",
    help="How the best ranking is found; see pt_multiaspect.analysis.upper_bound. Default: auto.",
)
@format_options
def bounds(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    topics: str | None,
    perquery: bool,
    strategy: str,
    format: str | None,
    output: str | None,
) -> None:
    """Show the maximum values that rankings can reach on these judgments.

    The value is that of the best ranking found; no ranking exceeds the bound. They are equal where the maximum
    is known. Means are over the queries.
    """
    format = chosen_format(format, output)
    judgments = read_all_qrels(qrels)
    parsed = read_measures(measures, read_aspects(aspects), judgments)
    if measures.suite is not None:
        parsed = _with_upper_bounds(parsed)
    found = pd.concat(
        [upper_bound(judgments, measure, strategy).assign(measure=label) for label, measure in parsed.items()],
        ignore_index=True,
    )[["measure", "qid", "strategy", "value", "bound", "gap"]]
    read = Judgments.of(judgments)
    counted = counted_topics(parsed, read, check_topics(topics, parsed))
    kept = {(label, qid) for label, counts in counted.items() for qid in read.qids[counts]}
    found = found[[pair in kept for pair in zip(found["measure"], found["qid"], strict=True)]]
    if not perquery:
        by_measure = found.groupby("measure", sort=False)
        found = pd.DataFrame(
            {
                "measure": list(parsed),
                "strategy": by_measure["strategy"].first().tolist(),
                "queries": by_measure.size().tolist(),
                "mean value": by_measure["value"].mean().tolist(),
                "mean bound": by_measure["bound"].mean().tolist(),
                "minimum bound": by_measure["bound"].min().tolist(),
                "maximum gap": by_measure["gap"].max().tolist(),
            }
        )
    write(Sheet.of(found), format, output)


def _with_upper_bounds(measures: Mapping[str, ir_measures.Measure]) -> Mapping[str, ir_measures.Measure]:
    """Return the measures of a suite for which higher is better; the others have no upper bound to reach."""
    lower = [label for label, measure in measures.items() if lower_is_better(measure)]
    if not lower or not isinstance(measures, Suite):
        return measures
    warn(f"left out, as lower is better: {choices(lower)}")
    return replace(measures, measures={key: each for key, each in measures.items() if key not in lower})


_AXIOMS = """\b
Examples:
  pt-multiaspect axioms -m 'TOMA CAM MM'
  pt-multiaspect axioms -m 'CAM(base=AP)' --property '1 attainable' --examples
"""


@click.command(cls=Command, short_help="Search for counterexamples to properties of measures.", epilog=_AXIOMS)
@measure_option()
@aspects_option
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=click.Choice(list(axiom_checks.PROPERTIES)),
    metavar="PROPERTY",
    help=f"May be repeated; by default all of: {', '.join(axiom_checks.PROPERTIES)}.",
)
@click.option(
    "--trials", type=int, default=10_000, metavar="N", help="Maximum trials per property. Default: 10000."
)
@click.option("--documents", type=int, default=5, metavar="N", help="Maximum documents per world, 1-6. Default: 5.")
@click.option("--seed", type=int, default=0, metavar="N", help="Seed of the sampled worlds. Default: 0.")
@click.option("--examples", is_flag=True, help="Show the smallest counterexample or tie of each instead.")
@format_options
def axioms(
    measures: Requested,
    aspects: str | None,
    properties: tuple[str, ...],
    trials: int,
    documents: int,
    seed: int,
    examples: bool,
    format: str | None,
    output: str | None,
) -> int:
    """Search small worlds for counterexamples to properties that measures are expected to have.

    'holds' means that no counterexample was found, which is not a proof. By default, there are two aspects with
    the grades 0-2. csv, tsv and json have one row per measure and property, with numbers of trials and reasons.
    """
    format = chosen_format(format, output)
    if examples and (output is not None or format not in ("table", "tsv")):
        raise click.UsageError("--examples are text: omit --format and --output")
    scales = read_aspects(aspects)
    given = {} if scales is None else {"aspects": scales}
    found = axiom_checks.check(
        read_measures(measures, None if measures.suite is None else scales),
        properties=list(properties) or None,
        trials=trials,
        seed=seed,
        documents=documents,
        **given,
    )
    if examples:
        shown = [found.example(measure, name) for measure in found.table.index for name in found.table.columns]
        click.echo("\n\n".join(str(example) for example in shown if example is not None) or "none found")
        return refusals(found.refused)
    verdicts = found.table.rename_axis("measure").reset_index()
    sheet = Sheet.of(verdicts, [found.title(), *found.reasons()])
    write(Sheet(found.results, sheet.head, sheet.rows, sheet.notes), format, output)
    return refusals(found.refused)
