"""The command ``compare``."""

from __future__ import annotations

from collections.abc import Sequence

import click
import numpy as np
import pandas as pd

from ..analysis import compare_with_baseline
from ..errors import MultiAspectError, choices
from ..evaluation import aggregate
from ..evaluation.long_frames import measures_by_label
from ..integration.aggregators import aggregate_is_mean
from . import options
from .options import ALPHA, option
from .tables import Sheet, format_value
from .verb import Inputs, verb

#: The columns besides those of the runs.
_COLUMNS = (
    "measure",
    "qid",
    "difference",
    "low",
    "high",
    "wins",
    "losses",
    "ties",
    "p-value",
    "verdict",
)


@verb(
    r"""
    Examples:
      pt-multiaspect compare --qrels relevance=qrels.txt credibility=qcred.txt \
        -m nDCG@10 'TOMA(gate=relevance)@10' bm25.run new.run
      pt-multiaspect compare --qrels qrels.txt -m AP -q --top 10 bm25.run new.run
    """,
    options.QRELS,
    *options.EVALUATION,
    option(
        "-q", "--perquery", is_flag=True, help="Show each query instead, largest differences first."
    ),
    option(
        "--top",
        type=click.IntRange(min=1),
        metavar="N",
        help="With -q, show only N queries per measure.",
    ),
    options.CLUSTER,
    options.OUTPUT,
    click.Argument(["runs"], nargs=-1, metavar="RUN RUN [MEASURE...]", type=click.Path()),
)
def compare(inputs: Inputs, perquery: bool, top: int | None, cluster: str | None) -> Sheet:
    """Compare the second RUN with the first.

    Shows the values of both runs, the second minus the first with its interval, the number of
    queries on which the second wins, loses and ties, and whether the difference is significant.
    Wins take into account whether higher or lower is better.
    """
    _check_options(inputs, perquery, top, cluster)
    names = list(inputs.runs)
    if len(names) != 2:
        raise click.UsageError(
            f"expected two runs, got {len(names)}: {choices(names)}; give two files"
        )
    for name in names:
        if name in _COLUMNS:
            raise MultiAspectError(
                f"the run name {name} is also a column of the table; name it, as in NAME={name}"
            )
    first, second = names
    values = inputs.evaluate()
    if perquery:
        return _topics_sheet(values, first, second, top)
    return _means_sheet(values, first, second, cluster)


def _check_options(inputs: Inputs, perquery: bool, top: int | None, cluster: str | None) -> None:
    """Raise an error if there are no runs, or for options that -q requires or excludes."""
    if not inputs.values["runs"]:
        raise click.UsageError("expected two runs, got none; give two files")
    if top is not None and not perquery:
        raise click.UsageError("--top requires -q")
    if cluster is not None and perquery:
        raise click.UsageError("--cluster: -q has no tests; omit it")


def _means_sheet(values: pd.DataFrame, first: str, second: str, cluster: str | None) -> Sheet:
    """Return the means of two runs and the test of their difference, one row per measure."""
    tests = compare_with_baseline(values, first, alpha=ALPHA, correction=None, cluster=cluster)
    labels = tests["measure"].tolist()
    means = aggregate(values).set_index("name")
    first_means = means.loc[first, labels].to_numpy(float)
    second_means = means.loc[second, labels].to_numpy(float)
    # Intervals are of differences of means, which other aggregates such as GMAP do not have.
    measures = measures_by_label(values)
    is_averaged = np.array([aggregate_is_mean(measures[label]) for label in labels], bool)
    frame = pd.DataFrame(
        {
            "measure": labels,
            first: first_means,
            second: second_means,
            "difference": second_means - first_means,
            "low": tests["low"].where(is_averaged),
            "high": tests["high"].where(is_averaged),
            "wins": tests["wins"],
            "losses": tests["losses"],
            "ties": tests["ties"],
            "p-value": tests["p"],
            "verdict": tests["verdict"],
        }
    )
    p_values = [_p_value_text(p) for p in tests["p"].tolist()]
    shown = frame.assign(**{"p-value": p_values})
    level = f"{100 * (1 - ALPHA):g} %"
    note = (
        f"{second} against {first}; {level} interval by Student’s t, verdict by a two-sided paired "
        f"t-test, p < {ALPHA:g}, not corrected"
    )
    return _sheet(frame, shown, first, second, [note])


def _p_value_text(p: float) -> str:
    """Return the readable form of a p-value, which is never 0."""
    if p < 0.0001:
        return "<0.0001"
    return format_value(p)


def _topics_sheet(values: pd.DataFrame, first: str, second: str, top: int | None) -> Sheet:
    """Return the values of two runs, one row per measure and topic, largest differences first.

    With `top`, each measure has at most so many rows.
    """
    parts = []
    for measure, rows in values.groupby("measure", sort=False):
        # One row per topic, one column per run.
        wide = rows.pivot(index="qid", columns="name", values="value")
        wide["difference"] = wide[second] - wide[first]
        # Negated, as sorting is ascending; topics with equal differences keep their order.
        negated_sizes = -wide["difference"].abs()
        sorted_topics = negated_sizes.sort_values(kind="stable").index
        wide = wide.loc[sorted_topics].reset_index()
        if top is not None:
            wide = wide.head(top)
        parts.append(wide.assign(measure=measure))
    frame = pd.concat(parts, ignore_index=True)
    frame = frame[["measure", "qid", first, second, "difference"]]
    frame.columns.name = None  # the pivot called the columns "name"
    # Programs and readers get the same columns.
    return _sheet(frame, shown=frame, first=first, second=second)


def _sheet(
    frame: pd.DataFrame, shown: pd.DataFrame, first: str, second: str, notes: Sequence[str] = ()
) -> Sheet:
    """Return the table of a comparison; readers see the names of the runs above the differences.

    Parameters
    ----------
    frame : DataFrame
        The columns for programs.
    shown : DataFrame
        The columns to be read.
    first, second : str
        The runs; differences are the second minus the first.
    notes : sequence of str
        The notes below the table.
    """
    head = f"{second} - {first}"
    readable = Sheet.of(shown.rename(columns={"difference": head}), notes)
    return Sheet(frame, readable.table)
