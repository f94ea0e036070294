"""The command ``evaluate``."""

from __future__ import annotations

from dataclasses import replace

import click
import pandas as pd

from ..analysis.prediction_powered import estimates_table, prediction_powered
from ..errors import MultiAspectError, refuse_unknown
from ..evaluation import aggregate
from ..evaluation.labels import recorded
from ..evaluation.topics import TOPICS, check_average_over
from ..evaluation.value_files import FORMATS as VALUE_FORMATS
from ..evaluation.value_files import written_values
from ..integration.aggregators import lower_aggregate_is_better
from ..views import Sentence
from .inputs import pick_run
from .means import JUDGED, fractions_judged, means_sheet
from .options import (
    ASPECTS,
    AVERAGE_OVER,
    BY,
    HUMAN,
    JOBS,
    MEASURES,
    QRELS,
    RUNS,
    SIGNIFICANCE,
    STANCES,
    TABLE_OR_LINES,
    OutputDirectory,
    option,
)
from .tables import Sheet
from .verb import Incomplete, Inputs, verb

#: The confidence level of --ci.
CONFIDENCE = 0.95


@verb(
    "Evaluate TREC run files.",
    r"""
    Examples:
      pt-multiaspect evaluate qrels.txt runs/*.run -m nDCG@10 AP
      pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \
        -m nDCG@10 TOMA@10 --aspects scales.json runs/*.run
      pt-multiaspect evaluate --qrels qrels.txt -m map -q -o values.csv bm25.run
      pt-multiaspect evaluate --qrels qrels.txt -m map -q --format tot runs/*.run
      pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \
        -m 'CAM=CAM(base=AP)@10' --baseline bm25.run bm25.run new=runs/x7.run
      zcat big.run.gz | pt-multiaspect evaluate --qrels qrels.txt -m AP -
      pt-multiaspect evaluate --qrels qrels.txt -m AP --resume values runs/
      pt-multiaspect evaluate --qrels qrels.txt -m AP --by categories.txt runs/
      pt-multiaspect evaluate --qrels llm.txt --human few.txt -m AP runs

    Marks: * best value of a column, † significantly different from the baseline.
    """,
    QRELS,
    HUMAN,
    *MEASURES,
    STANCES,
    ASPECTS,
    AVERAGE_OVER,
    BY,
    option(
        "-q", "--perquery", is_flag=True, help="Show each query, and a row 'mean' with the aggregate of each run."
    ),
    option("--baseline", metavar="RUN", help="Test the differences between this run and the others."),
    *SIGNIFICANCE,
    option("--ci", is_flag=True, help="Show 95 % confidence intervals of the means (Student's t)."),
    option(
        "--judged",
        is_flag=True,
        help=f"Show the fraction of the first {JUDGED} documents that is judged, per aspect.",
    ),
    option("--sort", metavar="MEASURE", help="Sort the runs by a measure, best first, or by 'name'."),
    JOBS,
    option(
        "--on-error",
        type=click.Choice(["raise", "skip"]),
        default="raise",
        help="If a run cannot be read, stop (raise, the default), or skip it with a warning and exit with code 1.",
    ),
    option(
        "--resume",
        metavar="DIRECTORY",
        type=OutputDirectory("x.npz"),
        help="Write the values of each run to DIRECTORY as soon as it is evaluated. The same command "
        "continues where an earlier one stopped. Runs that have changed are evaluated again; all runs, if "
        "measures, scales or qrels have.",
    ),
    *TABLE_OR_LINES,
    RUNS,
)
def evaluate(
    inputs: Inputs,
    perquery: bool,
    baseline: str | None,
    ci: bool,
    judged: bool,
    sort: str | None,
    on_error: str,
    resume: str | None,
) -> object:
    """Evaluate TREC run files.

    A RUN is a file (plain or gzip), a directory, a pattern in quotes, or - for standard input. NAME=RUN
    names it in the table.
    """
    as_lines, by = inputs.format in VALUE_FORMATS, inputs.by
    query_options = ["-q"] * perquery + [f"--format {inputs.format}"] * as_lines
    mean_options = ["--ci"] * ci + ["--judged"] * judged + ["--by"] * (by is not None)
    for name in ["--baseline"] * (baseline is not None) + mean_options:
        if query_options:
            raise MultiAspectError(f"{name} applies to means: omit it, or {query_options[0]}")
    if judged and by is not None:
        raise MultiAspectError("--judged is over all topics: omit it, or --by")
    for name in [*query_options, *mean_options, *["--sort"] * (sort is not None), *inputs.tests_given]:
        if inputs.values["human"]:
            raise MultiAspectError(f"--human shows estimates with intervals: omit {name}, or --human")
    if inputs.values["human"] and check_average_over(inputs.values["average_over"], inputs.measures) != TOPICS[0]:
        raise MultiAspectError(
            "--human estimates means over all judged topics: which topics are positive depends on who judges; use "
            "--average-over judged"
        )
    if baseline is None and inputs.tests_given:
        raise MultiAspectError(f"{inputs.tests_given[0]} requires --baseline RUN")
    labels = list(inputs.measures)
    if baseline is not None:
        baseline = inputs.baseline = pick_run(baseline, list(inputs.runs), "--baseline")
        if len(inputs.runs) < 2:
            raise MultiAspectError(f"--baseline requires a run to compare with {baseline}, got no other")
    if sort is not None:
        refuse_unknown([sort], ["name", *labels], "name or one of the measures", "--sort")
    try:
        values = inputs.evaluate(errors=on_error, out=resume)
    except KeyboardInterrupt:
        if resume is None:
            raise
        raise click.ClickException(f"interrupted; the same command continues with the values in {resume}") from None
    if inputs.values["human"]:
        by_human = inputs.evaluate(inputs.human, errors=on_error)
        estimated = _estimates_sheet(by_human, values, baseline)
        return Incomplete(estimated) if values.attrs.get("skipped") else estimated
    if by is not None:  # with --average-over positive, some judged topics have no value
        valued = set(values["qid"])
        by = {qid: group for qid, group in by.items() if qid in valued}
    means = aggregate(values, ci=CONFIDENCE if ci else None, by=by)
    if sort is not None:
        ascending = sort == "name" or lower_aggregate_is_better(recorded(values)[sort])
        parts = [means] if by is None else [rows for _, rows in means.groupby("group", sort=False)]
        means = pd.concat(
            [rows.sort_values(sort, ascending=ascending, kind="stable") for rows in parts], ignore_index=True
        )
    if as_lines:
        sheet: Sheet | str = written_values(values if perquery else values.iloc[:0], means, inputs.format)
    elif perquery:
        sheet = _per_query(values, means, labels)
    else:
        runs = {name: inputs.runs[name] for name in means["name"].unique()}
        suite = inputs.requested.suite
        see = f"For how these values can differ from official ones, see 'pt-multiaspect measures --suites {suite}'."
        sheet = means_sheet(
            values,
            means,
            n_judged=inputs.qrels["qid"].nunique(),
            confidence=CONFIDENCE if ci else None,
            baseline=baseline,
            by=by,
            significance=inputs.significance,
            judged=fractions_judged(runs, inputs.qrels, inputs.aspects) if judged else {},
            advice=[] if suite is None else [see],
        )
    return Incomplete(sheet) if values.attrs.get("skipped") else sheet


def _estimates_sheet(human: pd.DataFrame, model: pd.DataFrame, baseline: str | None) -> Sheet:
    """Return the prediction-powered estimates, or with a baseline the differences from it."""
    powered = prediction_powered(human, model, baseline=baseline, ci=CONFIDENCE)
    frame = powered.table if powered.differences is None else powered.differences
    notes = powered.notes if baseline is None else [f"Differences from {baseline}.", *powered.notes]
    return Sheet(frame, replace(estimates_table(frame), notes=list(map(Sentence, notes))))


def _per_query(values: pd.DataFrame, means: pd.DataFrame, labels: list[str]) -> Sheet:
    """Return one row per run and query, and one with the aggregate of the run."""
    table = values.pivot(index=["name", "qid"], columns="measure", values="value")[labels].reset_index()
    aggregated = "mean"
    while (table["qid"] == aggregated).any():  # a query may have that name
        aggregated = f"({aggregated})"
    parts = []
    for row, name in enumerate(means["name"]):
        parts += [table[table["name"] == name], means.loc[[row], ["name", *labels]].assign(qid=aggregated)]
    frame = pd.concat(parts, ignore_index=True)[["name", "qid", *labels]]
    frame.columns.name = None
    return Sheet.of(frame)
