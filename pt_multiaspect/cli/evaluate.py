"""The command ``evaluate``: a table of runs and measures."""

from __future__ import annotations

import sys

import click
import numpy as np
import pandas as pd

from ..aspects import Aspects
from ..description.retrieved import retrieved
from ..description.scales import read
from ..errors import MultiAspectError, choices, silenced
from ..evaluation import aggregate, evaluate, interval_columns
from ..integration.labels import lower_aggregate_is_better, recorded
from ..tables import to_latex
from .inputs import pick_run, read_all_qrels, read_aspects, read_measures, read_runs
from .options import (
    ALPHA,
    Command,
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
from .significance import CORRECTIONS, TESTS, tested
from .tables import DECIMALS, REQUIRED, Sheet, chosen_format, number, write, write_text

__all__ = ["command"]

#: How many of the first ranks --judged looks at.
JUDGED = 10

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
    type=click.Path(file_okay=False),
    help="Write the values of each run to DIRECTORY (Parquet) as soon as it is evaluated. The same command "
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
    if sort is not None and sort != "name" and sort not in parsed:
        raise MultiAspectError(f"--sort: expected name or one of the measures ({choices(parsed)}), got {sort!r}")
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
    topics_differ = values.groupby("measure")["qid"].agg(frozenset).nunique() > 1
    if format == "tex" and not perquery and not judged and not topics_differ:
        place = {name: at for at, name in enumerate(table["name"])}
        text = to_latex(
            values.sort_values("name", key=lambda column: column.map(place), kind="stable"),
            baseline=compared,
            test=TESTS[test or "ttest"][0],
            correction=None if correction == "none" else correction or "holm",
            alpha=ALPHA if alpha is None else alpha,
            ci=CONFIDENCE if ci else None,
            interval="ends",
            decimals=DECIMALS,
        )
        write_text(f"{REQUIRED}\n{text}", output)
        return 1 if values.attrs.get("skipped") else 0
    if perquery:
        sheet = _per_query(values, table, list(parsed))
    else:
        means = _Means(values, table, list(parsed))
        means.tell_topics(judgments["qid"].nunique())
        if measures.suite is not None:
            means.tell_suite(measures.suite)
        if compared is not None:
            means.compare(compared, test or "ttest", correction or "holm", ALPHA if alpha is None else alpha)
        if judged:
            means.add_judged({name: named[name] for name in table["name"]}, judgments, scales)
        sheet = means.sheet()
    write(sheet, format, output)
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


class _Means:
    """The table of means: columns for programs, and cells for people."""

    def __init__(self, values: pd.DataFrame, table: pd.DataFrame, labels: list[str]) -> None:
        self._values = values
        self._table = table
        self._labels = labels
        self._names: list[str] = table["name"].tolist()
        self._columns = {
            label: [column for column in table if column in (label, *interval_columns(label, CONFIDENCE))]
            for label in labels
        }
        self._marks = {label: [""] * len(table) for label in labels}
        self._others: list[str] = []
        self._notes: list[str] = []

    def compare(self, baseline: str, test: str, correction: str, alpha: float) -> None:
        """Add the tests against the baseline, with the column names of pt.Experiment."""
        _, described = TESTS[test]
        is_corrected = correction != "none"
        tests = tested(self._values, baseline, test, correction, alpha)
        marks = {"better": "+", "worse": "-", "": " "}
        for label, rows in tests.groupby("measure", sort=False):
            of_run = rows.set_index("name").reindex(self._names)
            verdict = of_run["verdict"].fillna("")
            added = {
                f"{label} +": of_run["wins"].astype("Int64"),
                f"{label} -": of_run["losses"].astype("Int64"),
                f"{label} p-value": of_run["asl"],
            }
            if is_corrected:
                added[f"{label} p-value corrected"] = of_run["p"]
            added[f"{label} reject"] = verdict != ""
            for column, cells in added.items():
                if column in self._table:
                    raise MultiAspectError(f"--baseline: {column!r} is the label of a measure; use another label")
                self._table[column] = cells.array
            self._columns[str(label)] += list(added)
            self._marks[str(label)] = [marks[each] for each in verdict]
        corrected = f", correction: {correction}" if is_corrected else ""
        self._notes.append(f"+ better, - worse than {baseline} (two-sided {described}, p < {alpha:g}{corrected})")

    def tell_topics(self, n_judged: int) -> None:
        """Add how many topics each mean is over, where some are left out."""
        counts = self._values.groupby("measure", sort=False)["qid"].nunique()
        if (counts < n_judged).any():
            each = ", ".join(f"{label} {count}" for label, count in counts.items())
            self._notes.append(f"means over the topics with a positive document, of {n_judged} judged: {each}")

    def tell_suite(self, name: str) -> None:
        """Refer to what is to be known of a suite."""
        self._notes.append(
            f"for how these values can differ from official ones, see 'pt-multiaspect measures --suites {name}'"
        )

    def add_judged(self, runs: dict[str, object], qrels: pd.DataFrame, aspects: Aspects | None) -> None:
        """Add how many of the first documents are judged, over the queries that the run has."""
        with silenced():
            found = retrieved(runs, read(qrels, aspects)).judged_at
        for aspect, rows in found.groupby("aspect", sort=False):
            column = f"judged@{JUDGED} {aspect}"
            self._table[column] = rows.set_index("name")[f"judged@{JUDGED}"].reindex(self._names).to_numpy()
            self._others.append(column)

    def sheet(self) -> Sheet:
        """Return the table."""
        order = ["name", *(column for label in self._labels for column in self._columns[label]), *self._others]
        known = recorded(self._values)
        shown: dict[str, list[str]] = {"name": self._names}
        bold = set()
        for at, label in enumerate(self._labels, 1):
            values = self._table[label]
            shown[label] = [
                f"{number(value)}{mark}" for value, mark in zip(values, self._marks[label], strict=True)
            ]
            low, high = interval_columns(label, CONFIDENCE)
            if low in self._table:
                ends = zip(self._table[low], self._table[high], strict=True)
                shown[label] = [
                    f"{cell} [{number(start)}, {number(end)}]"
                    for cell, (start, end) in zip(shown[label], ends, strict=True)
                ]
            best = values.min() if lower_aggregate_is_better(known[label]) else values.max()
            bold |= {(row, at) for row in np.flatnonzero(values == best).tolist()}
        shown |= {column: [number(value) for value in self._table[column]] for column in self._others}
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        return Sheet(self._table[order], list(shown), rows, self._notes, frozenset(bold))
