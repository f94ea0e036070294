"""The table of means of `evaluate`, for programs and readers."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from ..aspects import Aspects
from ..description.retrieved import run_figures
from ..description.scales import read_judged
from ..errors import MultiAspectError, choices, silenced
from ..evaluation import interval_columns
from ..evaluation.labels import recorded
from ..tables.content import Comparisons, column_heads, decimals_by_label, means_table
from ..views import Column, Row, Sentence, latex_of
from .significance import Significance
from .tables import DECIMALS, Sheet, format_value

#: The number of ranks that --judged considers.
JUDGED = 10


def fractions_judged(
    runs: Mapping[str, object], qrels: pd.DataFrame, aspects: Aspects | None
) -> dict[str, list[float]]:
    """Return the fraction of the first documents of each run that is judged, per aspect, over its queries."""
    with silenced():
        judged = run_figures(runs, read_judged(qrels, aspects)).judged_at
    return {
        f"judged@{JUDGED} {aspect}": rows.set_index("name")[f"judged@{JUDGED}"].reindex(list(runs)).tolist()
        for aspect, rows in judged.groupby("aspect", sort=False)
    }


def means_sheet(
    values: pd.DataFrame,
    means: pd.DataFrame,
    *,
    n_judged: int,
    confidence: float | None,
    baseline: str | None,
    by: Mapping[str, str] | None,
    significance: Significance,
    judged: Mapping[str, Sequence[float]],
    advice: Sequence[str],
) -> Sheet:
    """Return the table of means, with tests, intervals and notes.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    means : DataFrame
        The result of `pt_multiaspect.aggregate`, in the order of the output.
    n_judged : int
        The number of judged topics; a note states which means are over fewer.
    confidence : float or None
        The confidence level of the intervals in `means`, None without.
    baseline : str or None
        The run that the others are tested against.
    by : mapping of str to str or None
        The groups of topics, as in `means`.
    significance : Significance
        The test.
    judged : mapping of str to sequence of float
        The result of `fractions_judged`, in the order of `means`.
    advice : sequence of str
        Notes about the measures.
    """
    _check_new(judged, means, "--judged")
    known = recorded(values)
    heads = column_heads(known)
    comparisons = Comparisons.of(values, baseline, by, **significance.options)
    keys = ["name"] if by is None else ["group", "name"]
    columns: dict[str, Any] = {key: means[key] for key in keys}
    for label in known:
        ends = () if confidence is None else interval_columns(label, confidence)
        columns |= {column: means[column] for column in (label, *ends)}
        if comparisons is not None:
            tests = _test_columns(comparisons.tests, label, means.set_index(keys).index, significance.is_corrected)
            _check_new(tests, [*means, *judged], "--baseline")
            columns |= tests
    table = means_table(
        means,
        values,
        heads,
        decimals_by_label(DECIMALS, heads, known),
        ci=confidence,
        comparisons=comparisons,
        n_judged=n_judged,
    )
    notes = list(table.notes)
    if by is not None:
        topics = pd.Series(by).value_counts(sort=False)
        notes.append(Sentence(f"Topics: {choices(f'{group} {size}' for group, size in topics.items())}."))
        if baseline is not None and significance.correction != "none":
            both = "Comparisons in all groups are corrected together, those over all topics separately."
            notes.append(Sentence(both))
    if judged:
        fractions = zip(*judged.values(), strict=True)
        rows = [
            Row([*row.cells, *map(format_value, beside)])
            for row, beside in zip(table.all_rows(), fractions, strict=True)
        ]
        table = replace(table, columns=[*table.columns, *map(Column, judged)], rows=rows)
    shown = replace(table, notes=[*notes, *map(Sentence, advice)])
    frame = pd.DataFrame(columns | dict(judged))
    return Sheet(frame, shown, lambda: latex_of(replace(table, notes=notes), comments=advice))


def _test_columns(tests: pd.DataFrame, label: str, rows: pd.Index[Any], corrected: bool) -> dict[str, Any]:
    """Return the tests of a measure by run, in columns with the names of those of pt.Experiment."""
    by_run = tests[tests["measure"] == label].set_index(list(rows.names)).reindex(rows)
    columns = {
        "+": by_run["wins"].astype("Int64"),
        "-": by_run["losses"].astype("Int64"),
        "p-value": by_run["asl"],
        **({"p-value corrected": by_run["p"]} if corrected else {}),
        "reject": by_run["verdict"].fillna("") != "",
    }
    return {f"{label} {name}": column.array for name, column in columns.items()}


def _check_new(columns: Iterable[str], taken: Container[str], option: str) -> None:
    """Check that columns beside the means are not labels of measures."""
    for column in columns:
        if column in taken:
            raise MultiAspectError(f"{option}: {column!r} is the label of a measure; omit {option}, or relabel it")
