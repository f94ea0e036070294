"""The command ``compare``: two runs, query by query."""

from __future__ import annotations

import sys

import click
import pandas as pd

from ..errors import MultiAspectError, choices
from ..evaluation import aggregate, evaluate
from .inputs import read_all_qrels, read_aspects, read_measures, read_runs
from .options import (
    ALPHA,
    Command,
    Requested,
    alpha_option,
    aspects_option,
    format_options,
    measure_option,
    qrels_option,
    test_option,
    topics_option,
)
from .significance import TESTS, tested
from .tables import Sheet, chosen_format, write

__all__ = ["command"]

#: The columns beside those of the runs.
_COLUMNS = ("measure", "qid", "difference", "wins", "losses", "ties", "p-value", "verdict")

_EXAMPLES = """\b
Examples:
  pt-multiaspect compare --qrels relevance=qrels.txt credibility=qcred.txt \\
    -m 'nDCG@10 TOMA@10' bm25.run new.run
  pt-multiaspect compare --qrels qrels.txt -m AP -q --top 10 bm25.run new.run
"""


@click.command("compare", cls=Command, short_help="Compare two runs, query by query.", epilog=_EXAMPLES)
@qrels_option
@measure_option()
@aspects_option
@topics_option
@click.option("-q", "--perquery", is_flag=True, help="Show each query instead, the largest differences first.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="With -q, show N queries per measure only.")
@test_option
@alpha_option
@format_options
@click.argument("runs", nargs=-1, metavar="RUN RUN", type=click.Path())
def command(
    qrels: tuple[str, ...],
    measures: Requested,
    aspects: str | None,
    topics: str | None,
    perquery: bool,
    top: int | None,
    test: str | None,
    alpha: float | None,
    format: str | None,
    output: str | None,
    runs: tuple[str, ...],
) -> None:
    """Compare the second RUN with the first.

    Shows the values of both, their difference (second minus first), on how many queries the second wins, loses
    and ties, and whether the difference is significant. Wins follow the direction of the measure.
    """
    if len(runs) != 2:
        raise click.UsageError(f"expected two runs, got {len(runs)}; give two files")
    format = chosen_format(format, output)
    if top is not None and not perquery:
        raise click.UsageError("--top requires -q")
    if perquery and (test is not None or alpha is not None):
        raise click.UsageError("--test and --alpha apply to means: omit them, or -q")
    judgments = read_all_qrels(qrels)
    parsed = read_measures(measures, read_aspects(aspects), judgments)
    named = read_runs(runs, qrels)
    if len(named) != 2:
        raise click.UsageError(f"expected two runs, got {len(named)}: {choices(named)}; give two files")
    values = evaluate(named, judgments, parsed, topics=topics, progress=sys.stderr.isatty())
    first, second = named
    taken = [name for name in named if name in _COLUMNS]
    if taken:
        raise MultiAspectError(
            f"the run name {taken[0]} is also a column of the table; name it, as in NAME={taken[0]}"
        )
    if perquery:
        write(_per_query(values, first, second, top), format, output)
    else:
        write(_means(values, first, second, test or "ttest", ALPHA if alpha is None else alpha), format, output)


def _means(values: pd.DataFrame, first: str, second: str, test: str, alpha: float) -> Sheet:
    """One row per measure."""
    _, described = TESTS[test]
    tests = tested(values, first, test, "none", alpha)
    means = aggregate(values).set_index("name")
    of_first, of_second = (means.loc[name, tests["measure"].tolist()].to_numpy(float) for name in (first, second))
    frame = pd.DataFrame(
        {
            "measure": tests["measure"],
            first: of_first,
            second: of_second,
            "difference": of_second - of_first,
            "wins": tests["wins"],
            "losses": tests["losses"],
            "ties": tests["ties"],
            "p-value": tests["p"],
            "verdict": tests["verdict"],
        }
    )
    sheet = Sheet.of(frame)
    at = sheet.head.index("p-value")
    for row, p in zip(sheet.rows, tests["p"], strict=True):
        row[at] = "<0.0001" if p < 0.0001 else row[at]
    note = f"{second} against {first}; verdict by a two-sided {described}, p < {alpha:g}, not corrected"
    sheet.notes.append(note)
    return sheet


def _per_query(values: pd.DataFrame, first: str, second: str, top: int | None) -> Sheet:
    """One row per measure and query, the largest differences first."""
    parts = []
    for measure, rows in values.groupby("measure", sort=False):
        wide = rows.pivot(index="qid", columns="name", values="value")[[first, second]]
        wide["difference"] = wide[second] - wide[first]
        wide = wide.sort_values("difference", key=lambda column: -column.abs(), kind="stable").reset_index()
        parts.append(wide.head(len(wide) if top is None else top).assign(measure=measure))
    frame = pd.concat(parts, ignore_index=True)[["measure", "qid", first, second, "difference"]]
    frame.columns.name = None
    return Sheet.of(frame)
