"""The command ``evaluate``: a table of runs and measures."""

from __future__ import annotations

import sys

import click
import pandas as pd

from .._rendering import printable
from ..errors import MultiAspectError, choices, did_you_mean
from ..evaluation import aggregate, evaluate
from ..evaluation.labels import recorded
from ..integration.aggregators import lower_aggregate_is_better
from .inputs import pick_run, read_all_qrels, read_aspects, read_measures, read_runs
from .means import JUDGED, BaselineTest, Means
from .options import (
    ALPHA,
    Command,
    OutputDirectory,
    Requested,
    alpha_option,
    aspects_option,
    format_options,
    jobs_option,
    measure_option,
    qrels_option,
    runs_argument,
    test_option,
    topics_option,
)
from .significance import CORRECTIONS
from .tables import Sheet, chosen_format, write, write_text

__all__ = ["command"]

#: The confidence level of --ci.
CONFIDENCE = 0.95

_EXAMPLES = """\b
Examples:
  pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'nDCG@10 TOMA@10' --aspects scales.json runs/*.run
  pt-multiaspect evaluate --qrels qrels.txt -m map -q -o values.csv bm25.run
  pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'CAM=CAM(base=AP)@10' --baseline bm25.run bm25.run new=runs/x7.run
  zcat big.run.gz | pt-multiaspect evaluate --qrels qrels.txt -m AP -
  pt-multiaspect evaluate --qrels qrels.txt -m AP --resume values runs/

\b
Marks: + significantly better, - significantly worse than the baseline.
"""


@click.command("evaluate", cls=Command, short_help="Evaluate TREC run files.", epilog=_EXAMPLES)
@qrels_option
@measure_option()
@aspects_option
@topics_option
@click.option(
    "-q", "--perquery", is_flag=True, help="Show each query, and a row 'mean' with the aggregate of each run."
)
@click.option("--baseline", metavar="RUN", help="Test the differences between this run and the others.")
@test_option
@click.option(
    "--correction", type=click.Choice(CORRECTIONS), help="For testing several runs, per measure. Default: holm."
)
@alpha_option
@click.option("--ci", is_flag=True, help="Show 95 % confidence intervals of the means (Student's t).")
@click.option(
    "--judged", is_flag=True, help=f"Show the fraction of the first {JUDGED} documents that is judged, per aspect."
)
@click.option("--sort", metavar="MEASURE", help="Sort the runs by a measure, best first, or by 'name'.")
@jobs_option
@click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    help="If a run cannot be read: stop, or skip it with a warning and exit with code 1. Default: raise.",
)
@click.option(
    "--resume",
    metavar="DIRECTORY",
    type=OutputDirectory("x.npz"),
    help="Write the values of each run to DIRECTORY as soon as it is evaluated. The same command "
    "continues where an earlier one stopped. Runs that have changed are evaluated again; all runs, if measures, "
    "scales or qrels have.",
)
@format_options
@runs_argument()
def command(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    topics: str | None,
    perquery: bool,
    baseline: str | None,
    test: str | None,
    correction: str | None,
    alpha: float | None,
    ci: bool,
    judged: bool,
    sort: str | None,
    jobs: int,
    on_error: str,
    resume: str | None,
    format: str | None,
    output: str | None,
    runs: tuple[str, ...],
) -> int:
    """Evaluate TREC run files.

    A RUN is a file (plain or gzip), a directory, a pattern in quotes, or - for standard input. NAME=RUN
    names it in the table.
    """
    format = chosen_format(format, output)
    _check(
        perquery,
        baseline,
        {"--baseline": baseline is not None, "--ci": ci, "--judged": judged},
        {"--test": test, "--correction": correction, "--alpha": alpha},
    )
    scales = read_aspects(aspects)
    judgments = read_all_qrels(qrels)
    parsed = read_measures(measures, scales, judgments)
    named = read_runs(runs, qrels)
    compared = None if baseline is None else pick_run(baseline, list(named), "--baseline")
    if compared is not None and len(named) < 2:
        raise MultiAspectError(f"--baseline requires a run to compare with {compared}, got no other")
    if sort is not None and sort != "name" and sort not in parsed:
        raise MultiAspectError(
            f"--sort: expected name or one of the measures ({choices(parsed)}), got {sort!r}"
            + did_you_mean([sort], ["name", *parsed])
        )
    try:
        values = evaluate(
            named,
            judgments,
            parsed,
            topics=topics,
            n_jobs=jobs,
            progress=sys.stderr.isatty(),
            errors=on_error,
            out=resume,
        )
    except KeyboardInterrupt:
        if resume is None:
            raise
        raise click.ClickException(f"interrupted; the same command continues with the values in {resume}") from None
    table = _sorted(aggregate(values, ci=CONFIDENCE if ci else None), values, sort)
    if perquery:
        write(_per_query(values, table, list(parsed)), format, output)
    else:
        n_judged = judgments["qid"].nunique()
        means = Means(values, table, list(parsed), n_judged, CONFIDENCE if ci else None)
        if measures.suite is not None:
            means.tell_suite(measures.suite)
        if judged:
            means.add_judged({name: named[name] for name in table["name"]}, judgments, scales)
        comparison = None
        if compared is not None:
            comparison = BaselineTest(
                compared, test or "ttest", correction or "holm", ALPHA if alpha is None else alpha
            )
        if format == "tex":
            write_text(printable(means.latex(comparison)), output)
        else:
            write(means.sheet(comparison), format, output)
    return 1 if values.attrs.get("skipped") else 0


def _check(perquery: bool, baseline: str | None, of_means: dict[str, bool], of_tests: dict[str, object]) -> None:
    """Refuse options that would have no effect."""
    given = [option for option, value in of_means.items() if value]
    if perquery and given:
        raise MultiAspectError(f"{given[0]} applies to means: omit it, or -q")
    given = [option for option, value in of_tests.items() if value is not None]
    if baseline is None and given:
        raise MultiAspectError(f"{given[0]} requires --baseline RUN")


def _sorted(table: pd.DataFrame, values: pd.DataFrame, by: str | None) -> pd.DataFrame:
    if by is None:
        return table
    is_better_low = by != "name" and lower_aggregate_is_better(recorded(values)[by])
    ascending = by == "name" or is_better_low
    return table.sort_values(by, ascending=ascending, kind="stable", ignore_index=True)


def _per_query(values: pd.DataFrame, means: pd.DataFrame, labels: list[str]) -> Sheet:
    """One row per run and query, and one with the aggregate of the run."""
    table = values.pivot(index=["name", "qid"], columns="measure", values="value")[labels].reset_index()
    aggregated = "mean"
    while (table["qid"] == aggregated).any():  # a query of that name
        aggregated = f"({aggregated})"
    parts = []
    for at, name in enumerate(means["name"]):
        parts += [table[table["name"] == name], means.loc[[at], ["name", *labels]].assign(qid=aggregated)]
    frame = pd.concat(parts, ignore_index=True)[["name", "qid", *labels]]
    frame.columns.name = None
    return Sheet.of(frame)
