"""The command ``evaluate``."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import click
import pandas as pd

from ..analysis import prediction_powered
from ..analysis._significance import TESTS
from ..analysis.prediction_powered import estimates_table
from ..aspects import Aspects
from ..description.scales import read_judged
from ..description.statistics import run_statistics
from ..errors import MultiAspectError, errors_of, refuse_repeated, refuse_unknown, silence_warnings
from ..evaluation import aggregate, interval_columns
from ..evaluation.long_frames import find_label, measures_by_label
from ..evaluation.topic_structure import TopicStructure
from ..evaluation.topics import TOPICS, check_average_over
from ..evaluation.value_files import FORMATS as VALUE_FORMATS
from ..evaluation.value_files import format_values
from ..evaluation.value_tables import with_definitions
from ..integration.aggregators import aggregate_is_mean, lower_is_better
from ..tables.content import Comparisons, column_heads, decimals_by_label, means_table
from ..views import Column, Row, Sentence, Table, latex_of
from . import options
from .options import option, refuse_together
from .run_names import pick_baseline
from .tables import DECIMALS, FORMATS, Sheet, format_value
from .verb import Inputs, verb

#: The number of ranks that --judged considers.
JUDGED = 10

#: The error for an option that estimates from human labels exclude.
HUMAN_EXCLUDES = "--human shows estimates with intervals: omit {}, or {}"

#: The confidence level of --ci.
CONFIDENCE = 0.95


@verb(
    r"""
    Examples:
      pt-multiaspect evaluate qrels.txt runs/*.run nDCG@10 AP
      pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \
        -m nDCG@10 'TOMA(gate=relevance)@10' --aspects scales.json runs/*.run
      pt-multiaspect evaluate --qrels qrels.txt -m map -q -o values.csv bm25.run
      pt-multiaspect evaluate --qrels qrels.txt -m map -q --format tot runs/*.run
      pt-multiaspect evaluate --qrels relevance=qrels.txt credibility=qcred.txt \
        -m 'CAM=CAM(base=AP)@10' --baseline bm25.run bm25.run new=runs/x7.run
      zcat big.run.gz | pt-multiaspect evaluate --qrels qrels.txt -m AP -
      pt-multiaspect evaluate --qrels qrels.txt -m AP --by categories.txt runs/
      pt-multiaspect evaluate --qrels llm.txt --human few.txt -m AP runs

    Marks: * best value of a column, † significantly different from the baseline.
    """,
    options.QRELS,
    options.HUMAN,
    *options.EVALUATION,
    options.BY,
    options.MACRO,
    options.CLUSTER,
    option("-q", "--perquery", is_flag=True, help="Show each query instead of the means."),
    option(
        "--baseline", metavar="RUN", help="Test the differences between this run and the others."
    ),
    option("--test", type=click.Choice(TESTS), help="The paired test, two-sided. Default: t."),
    option(
        "--correction",
        type=click.Choice(options.CORRECTIONS),
        help="The correction for testing several runs, per measure. Default: holm.",
    ),
    options.MARGIN,
    options.INTERVAL,
    option(
        "--judged",
        is_flag=True,
        help=f"Show the fraction of the first {JUDGED} documents that is judged, per aspect.",
    ),
    option(
        "--sort", metavar="MEASURE", help="Sort the runs by a measure, best first, or by 'name'."
    ),
    option(
        "--format",
        type=click.Choice([*FORMATS, *VALUE_FORMATS]),
        help=f"The format to print. {', '.join(VALUE_FORMATS)} are lines for other tools: aggregates or, with -q, "
        "topics. Default: table in a terminal, tsv elsewhere.",
    ),
    options.NOTES_BELOW,
    options.OUTPUT,
    options.RUNS,
)
def evaluate(
    inputs: Inputs,
    perquery: bool,
    baseline: str | None,
    test: str | None,
    correction: str | None,
    margin: tuple[str, ...],
    interval: str,
    judged: bool,
    sort: str | None,
    notes: str,
) -> object:
    """Evaluate TREC run files."""
    tests = {
        "--test": test is not None,
        "--correction": correction is not None,
        "--margin": bool(margin),
    }
    check_interval(interval, baseline)
    _check_options(inputs, perquery, baseline, tests, interval, judged, sort)
    if interval != "mean" and baseline is None and not inputs.values["human"]:
        check_clusters_apply(inputs.clusters)
    margins = read_margin(margin)
    if baseline is not None:
        baseline = pick_baseline(baseline, inputs.runs)
        if len(inputs.runs) < 2:
            raise MultiAspectError(
                f"--baseline requires a run to compare with {baseline}, got no other"
            )
    if sort is not None:
        sort = _column_to_sort_by(sort, inputs)
    values = inputs.evaluate()
    if inputs.values["human"]:
        return estimates_sheet(inputs.evaluate(inputs.human), values, baseline, inputs.clusters)
    structure = inputs.structure_of(values, test or "t")
    means = aggregate_topics(values, interval, structure)
    if sort is not None:
        ascending = sort == "name" or bool(lower_is_better(measures_by_label(values)[sort]))
        means = _sort_within_groups(means, sort, ascending)
    if inputs.format in VALUE_FORMATS:
        with errors_of(f"--format {inputs.format}"):
            return format_values(values if perquery else values.iloc[:0], means, inputs.format)
    if perquery:
        return per_query_sheet(values, means["name"])
    runs = {name: inputs.runs[name] for name in means["name"].unique()}
    suite = inputs.requested.suite
    see = f"How official values can differ: pt-multiaspect measures --suites {suite}"
    return means_sheet(
        values,
        means,
        inputs.qrels["qid"].nunique(),
        interval=interval,
        baseline=baseline,
        test=test or "t",
        correction=None if correction == "none" else correction or "holm",
        margin=margins,
        structure=structure,
        judged=_judged_fractions(runs, inputs.qrels, inputs.aspects) if judged else {},
        advice=[] if suite is None else [see],
        notes=notes,
    )


def _column_to_sort_by(text: str, inputs: Inputs) -> str:
    """Return the column that --sort names: the names of the runs, or a measure."""
    column = text
    if text != "name":
        column = find_label(inputs.measures, text)
    columns = ["name", *inputs.measures]
    refuse_unknown([column], columns, "name or one of the measures", "--sort")
    return column


def _sort_within_groups(means: pd.DataFrame, column: str, ascending: bool) -> pd.DataFrame:
    """Return the means sorted by a column, within each group of topics if there are any."""
    parts = [means]
    if "group" in means:
        parts = [rows for _, rows in means.groupby("group", sort=False)]
    sorted_parts = [rows.sort_values(column, ascending=ascending, kind="stable") for rows in parts]
    return pd.concat(sorted_parts, ignore_index=True)


def check_interval(interval: str, baseline: str | None) -> None:
    """Raise an error for intervals of differences from no run."""
    refuse_together(
        {"--interval difference": interval == "difference"},
        {"": baseline is None},
        "{} requires --baseline RUN",
    )


def check_clusters_apply(clusters: Mapping[str, str] | None) -> None:
    """Raise an error for --cluster without tests and intervals."""
    if clusters is not None:
        TopicStructure(clusters=clusters).check_clusters_apply(
            list(clusters), "--baseline RUN or --interval mean"
        )


def read_margin(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Return the margin, or those of measures, of the option --margin."""
    if not texts:
        return None
    pairs = [text.rpartition("=") for text in texts]
    numbers = [_read_number(value) for *_, value in pairs]
    labels = [label for label, *_ in pairs]
    if labels == [""]:
        return numbers[0]
    if "" in labels:
        raise MultiAspectError("--margin: expected one number, or MEASURE=NUMBER for each measure")
    refuse_repeated(labels, "measures", "--margin")
    return dict(zip(labels, numbers, strict=True))


def _read_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MultiAspectError(f"--margin: expected a number above 0, got {text!r}") from None


def aggregate_topics(
    values: pd.DataFrame, interval: str, structure: TopicStructure
) -> pd.DataFrame:
    """Return the means of the runs, with their intervals if these are shown."""
    if interval == "mean":
        return aggregate(values, ci=CONFIDENCE, **structure.options)
    return aggregate(values, **structure.options_of_means)


def _check_options(
    inputs: Inputs,
    perquery: bool,
    baseline: str | None,
    tests: Mapping[str, bool],
    interval: str,
    judged: bool,
    sort: str | None,
) -> None:
    """Raise an error for options that exclude or require others."""
    has_groups = {"--by": inputs.by is not None}
    refuse_together(
        {"--macro": inputs.values["macro"]}, {"": inputs.by is None}, "{} requires --by FILE"
    )
    per_query = {"-q": perquery, f"--format {inputs.format}": inputs.format in VALUE_FORMATS}
    of_means = {f"--interval {interval}": interval != "none", "--judged": judged, **has_groups}
    has_clusters = {"--cluster": inputs.values["cluster"] is not None}
    means_only = {"--baseline": baseline is not None, **of_means, **has_clusters}
    refuse_together(means_only, per_query, "{} applies to means: omit it, or {}")
    refuse_together({"--judged": judged}, has_groups, "{} is over all topics: omit it, or {}")
    without_human = {**per_query, **of_means, "--sort": sort is not None, **tests}
    refuse_together(without_human, {"--human": bool(inputs.values["human"])}, HUMAN_EXCLUDES)
    if (
        inputs.values["human"]
        and check_average_over(inputs.values["average_over"], inputs.measures) != TOPICS[0]
    ):
        raise MultiAspectError(
            "--human estimates means over all judged topics: which topics are positive depends on "
            "who judges; use --average-over judged"
        )
    refuse_together(tests, {"": baseline is None}, "{} requires --baseline RUN")


def estimates_sheet(
    human: pd.DataFrame,
    model: pd.DataFrame,
    baseline: str | None,
    clusters: Mapping[str, str] | None,
) -> Sheet:
    """Return the prediction-powered estimates, or with a baseline the differences from it."""
    powered = prediction_powered(human, model, baseline=baseline, ci=CONFIDENCE, cluster=clusters)
    frame = powered.table if powered.differences is None else powered.differences
    if baseline is None:
        notes = powered.notes
    else:
        notes = [f"Differences from {baseline}.", *powered.notes]
    return Sheet(frame, replace(estimates_table(frame), notes=list(map(Sentence, notes))))


def per_query_sheet(values: pd.DataFrame, names: Iterable[str]) -> Sheet:
    """Return the values of topics, run by run: one row per value, and a table with one column per measure.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    names : iterable of str
        The runs, in the order of the rows.
    """
    by_run = dict(list(values.groupby("name", sort=False)))
    frame = pd.concat([by_run[name] for name in names], ignore_index=True)
    frame.attrs = values.attrs
    labels = values["measure"].unique().tolist()
    wide = values.pivot(index=["name", "qid"], columns="measure", values="value")[
        labels
    ].reset_index()
    rows_by_run = dict(list(wide.groupby("name", sort=False)))
    shown = pd.concat([rows_by_run[name] for name in names], ignore_index=True)
    return Sheet(with_definitions(frame), Sheet.of(shown).table)


def _judged_fractions(
    runs: Mapping[str, object], qrels: pd.DataFrame, aspects: Aspects | None
) -> dict[str, list[float]]:
    """Return the fraction of the first documents of each run that is judged, per aspect, over its queries."""
    with silence_warnings():
        judged = run_statistics(runs, read_judged(qrels, aspects)).judged_at
    return {
        f"judged@{JUDGED} {aspect}": rows.set_index("name")[f"judged@{JUDGED}"]
        .reindex(list(runs))
        .tolist()
        for aspect, rows in judged.groupby("aspect", sort=False)
    }


def means_sheet(
    values: pd.DataFrame,
    means: pd.DataFrame,
    n_judged: int,
    *,
    interval: str,
    baseline: str | None,
    test: str = "t",
    correction: str | None = "holm",
    margin: float | Mapping[str, float] | None = None,
    structure: TopicStructure,
    judged: Mapping[str, Sequence[float]] = MappingProxyType({}),
    advice: Sequence[str] = (),
    notes: str = "short",
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
    interval : {'none', 'difference', 'mean'}
        The intervals to show; `means` contain those of means.
    baseline : str or None
        The run that the others are tested against.
    test : str
        The test, as for `compare_with_baseline`.
    correction : str or None
        The correction for several runs.
    margin : float or mapping of str to float, optional
        As for `systems_table`.
    structure : TopicStructure
        The groups of topics, as in `means`, and their clusters.
    judged : mapping of str to sequence of float
        The result of `_judged_fractions`, in the order of `means`.
    advice : sequence of str
        Notes about the measures, which LaTeX has as comments.
    notes : {'short', 'full'}
        As for `systems_table`.
    """
    _check_new(judged, means, "--judged")
    known = measures_by_label(values)
    heads = column_heads(known)
    comparisons = Comparisons.of(
        values, baseline, structure, test, correction, options.ALPHA, margin
    )
    if structure.by is None:
        keys = ["name"]
    else:
        keys = ["group", "name"]
    columns: dict[str, Any] = {key: means[key] for key in keys}
    for label in known:
        ends = interval_columns(label, CONFIDENCE) if interval == "mean" else ()
        columns |= {column: means[column] for column in (label, *ends)}
        if comparisons is not None:
            corrected = (
                correction is not None and test != "tukey"
            )  # which corrects for all pairs itself
            averaged = aggregate_is_mean(known[label])
            tests = _test_columns(
                comparisons.tests, label, means.set_index(keys).index, corrected, averaged
            )
            _check_new(tests, [*means, *judged], "--baseline")
            columns |= tests
    table = partial(
        means_table,
        means,
        values,
        heads,
        decimals_by_label(DECIMALS, heads, known),
        interval=interval,
        level=CONFIDENCE,
        comparisons=comparisons,
        n_judged=n_judged,
        structure=structure,
        notes=notes,
    )
    shown = _with_fractions(table(advice=advice), judged)
    frame = pd.DataFrame(columns | dict(judged))
    return Sheet(frame, shown, lambda: latex_of(_with_fractions(table(), judged), comments=advice))


def _with_fractions(table: Table, judged: Mapping[str, Sequence[float]]) -> Table:
    """Return the table with columns of judged fractions, if any."""
    if not judged:
        return table
    fractions = zip(*judged.values(), strict=True)
    rows = [
        Row([*row.cells, *map(format_value, beside)])
        for row, beside in zip(table.all_rows(), fractions, strict=True)
    ]
    return replace(table, columns=[*table.columns, *map(Column, judged)], rows=rows)


def _test_columns(
    tests: pd.DataFrame, label: str, rows: pd.Index[Any], corrected: bool, averaged: bool
) -> dict[str, Any]:
    """Return the tests of a measure by run, in columns with the names of those of pt.Experiment.

    If values are averaged, the difference and its interval precede them.
    """
    by_run = tests[tests["measure"] == label].set_index(list(rows.names)).reindex(rows)
    interval = {"difference": "difference", "difference low": "low", "difference high": "high"}
    columns = {
        **({name: by_run[column] for name, column in interval.items()} if averaged else {}),
        "+": by_run["wins"].astype("Int64"),
        "-": by_run["losses"].astype("Int64"),
        "p-value": by_run["asl"],
        **({"p-value corrected": by_run["p"]} if corrected else {}),
        "reject": by_run["verdict"].fillna("") != "",
        **{name: by_run[column] for name, column in _OF_MARGIN.items() if column in by_run},
    }
    return {f"{label} {name}": column.array for name, column in columns.items()}


#: The columns of margins, which are those of `compare_with_baseline`.
_OF_MARGIN = {
    "p-value not worse": "p_not_worse",
    "p-value equivalent": "p_equivalent",
    "margin low": "margin_low",
    "margin high": "margin_high",
}


def _check_new(columns: Iterable[str], taken: Container[str], option: str) -> None:
    """Check that columns beside the means are not names of measures."""
    for column in columns:
        if column in taken:
            raise MultiAspectError(
                f"{option}: {column!r} is the name of a measure; omit {option}, or give it an alias"
            )
