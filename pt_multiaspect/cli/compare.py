"""The command ``compare``."""

from __future__ import annotations

from collections.abc import Sequence

import click
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
    if not inputs.values["runs"]:
        raise click.UsageError("expected two runs, got none; give two files")
    if top is not None and not perquery:
        raise click.UsageError("--top requires -q")
    if cluster is not None and perquery:
        raise click.UsageError("--cluster: -q has no tests; omit it")
    names = list(inputs.runs)
    if len(names) != 2:
        raise click.UsageError(
            f"expected two runs, got {len(names)}: {choices(names)}; give two files"
        )
    first, second = names
    taken = [name for name in names if name in _COLUMNS]
    if taken:
        raise MultiAspectError(
            f"the run name {taken[0]} is also a column of the table; name it, as in NAME={taken[0]}"
        )
    values = inputs.evaluate()
    if perquery:
        return _per_query(values, first, second, top)
    return _means(values, first, second, cluster)


def _means(values: pd.DataFrame, first: str, second: str, cluster: str | None) -> Sheet:
    """Return one row per measure."""
    tests = compare_with_baseline(values, first, alpha=ALPHA, correction=None, cluster=cluster)
    means = aggregate(values).set_index("name")
    before, after = (
        means.loc[name, tests["measure"].tolist()].to_numpy(float) for name in (first, second)
    )
    known = measures_by_label(values)
    averaged = tests["measure"].map(lambda label: aggregate_is_mean(known[label]))
    ends = {end: tests[end].where(averaged) for end in ("low", "high")}
    columns = {
        first: before,
        second: after,
        "difference": after - before,
        "p-value": tests["p"],
        **ends,
    }
    frame = pd.DataFrame(dict(tests.items()) | columns)[["measure", first, second, *_COLUMNS[2:]]]
    shown = frame.assign(
        **{"p-value": ["<0.0001" if p < 0.0001 else format_value(p) for p in tests["p"].tolist()]}
    )
    level = f"{100 * (1 - ALPHA):g} %"
    note = (
        f"{second} against {first}; {level} interval by Student’s t, verdict by a two-sided paired "
        f"t-test, p < {ALPHA:g}, not corrected"
    )
    return _sheet(frame, shown, first, second, [note])


def _per_query(values: pd.DataFrame, first: str, second: str, top: int | None) -> Sheet:
    """Return one row per measure and query, largest differences first."""
    parts = []
    for measure, rows in values.groupby("measure", sort=False):
        wide = rows.pivot(index="qid", columns="name", values="value")[[first, second]]
        wide["difference"] = wide[second] - wide[first]
        wide = wide.sort_values(
            "difference", key=lambda column: -column.abs(), kind="stable"
        ).reset_index()
        parts.append(wide.head(len(wide) if top is None else top).assign(measure=measure))
    frame = pd.concat(parts, ignore_index=True)[["measure", "qid", first, second, "difference"]]
    frame.columns.name = None
    return _sheet(frame, frame, first, second)


def _sheet(
    frame: pd.DataFrame, shown: pd.DataFrame, first: str, second: str, notes: Sequence[str] = ()
) -> Sheet:
    """Return the sheet of a comparison; in the readable form, the column of differences names the runs."""
    return Sheet(
        frame, Sheet.of(shown.rename(columns={"difference": f"{second} - {first}"}), notes).table
    )
