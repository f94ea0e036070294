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
from .options import option, refuse_together, refuse_without
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
        help=f"The format to print. {', '.join(VALUE_FORMATS)} are lines for other tools: "
        "aggregates or, with -q, "
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
    # Options that exclude or require others are refused before runs are read.
    test_options = {
        "--test": test is not None,
        "--correction": correction is not None,
        "--margin": bool(margin),
    }
    check_interval(interval, baseline)
    _check_options(inputs, perquery, baseline, test_options, interval, judged, sort)
    margins = read_margin(margin)
    # Names of runs and measures are checked before the runs are evaluated.
    if baseline is not None:
        baseline = _baseline_of_several(baseline, inputs.runs)
    if sort is not None:
        sort = _column_to_sort_by(sort, inputs)
    values = inputs.evaluate()
    # The output: estimates from two sets of qrels, lines for other tools, or a table of values of
    # topics or of means.
    has_human = bool(inputs.values["human"])
    if has_human:
        human_values = inputs.evaluate(inputs.human)
        return estimates_sheet(human_values, values, baseline, inputs.clusters)
    structure = inputs.structure_of(values, test or "t")
    means = aggregate_topics(values, interval, structure)
    if sort is not None:
        means = _sort_within_groups(means, sort, values)
    if inputs.format in VALUE_FORMATS:
        return _value_lines(values, means, inputs.format, perquery)
    if perquery:
        return per_query_sheet(values, means["name"])
    fractions: dict[str, list[float]] = {}
    if judged:
        fractions = _judged_fractions(inputs, means["name"].unique())
    return means_sheet(
        values,
        means,
        inputs.qrels["qid"].nunique(),
        interval=interval,
        baseline=baseline,
        test=test or "t",
        correction=_correction_in_python(correction),
        margin=margins,
        structure=structure,
        judged=fractions,
        advice=_suite_advice(inputs.requested.suite),
        notes=notes,
    )


def _baseline_of_several(text: str, runs: Mapping[str, object]) -> str | None:
    """Return the name of the baseline, which must not be the only run."""
    baseline = pick_baseline(text, runs)
    if len(runs) < 2:
        raise MultiAspectError(
            f"--baseline requires a run to compare with {baseline}, got no other"
        )
    return baseline


def _correction_in_python(correction: str | None) -> str | None:
    """Return the parameter for a value of --correction: None for 'none', 'holm' by default."""
    if correction is None:
        return "holm"
    if correction == "none":
        return None
    return correction


def _suite_advice(suite: str | None) -> list[str]:
    """Return the notes on a suite; none without one."""
    if suite is None:
        return []
    return [f"How official values can differ: pt-multiaspect measures --suites {suite}"]


def _value_lines(values: pd.DataFrame, means: pd.DataFrame, format: str, perquery: bool) -> str:
    """Return lines for other tools: the means, and with -q also the values of topics."""
    topic_values = values
    if not perquery:
        topic_values = values.iloc[:0]
    with errors_of(f"--format {format}"):
        return format_values(topic_values, means, format)


def _column_to_sort_by(text: str, inputs: Inputs) -> str:
    """Return the column that --sort names: the names of the runs, or a measure."""
    if text == "name":
        return text
    column = find_label(inputs.measures, text)
    refuse_unknown([column], ["name", *inputs.measures], "name or one of the measures", "--sort")
    return column


def _sort_within_groups(means: pd.DataFrame, column: str, values: pd.DataFrame) -> pd.DataFrame:
    """Return the means, best first or by name, within each group of topics if there are any.

    Parameters
    ----------
    means : DataFrame
        One row per run, or per group and run.
    column : str
        'name' or the label of a measure.
    values : DataFrame
        The values of topics, which record the measures.
    """
    if column == "name":
        ascending = True
    else:
        measure = measures_by_label(values)[column]
        ascending = bool(lower_is_better(measure))
    if "group" in means:
        groups = [rows for _, rows in means.groupby("group", sort=False)]
    else:
        groups = [means]
    sorted_groups = []
    for rows in groups:
        sorted_groups.append(rows.sort_values(column, ascending=ascending, kind="stable"))
    return pd.concat(sorted_groups, ignore_index=True)


def check_interval(interval: str, baseline: str | None) -> None:
    """Raise an error for intervals of differences from no run."""
    options_of_differences = {"--interval difference": interval == "difference"}
    refuse_without(options_of_differences, "--baseline RUN", is_given=baseline is not None)


def refuse_unused_clusters(clusters: Mapping[str, str] | None) -> None:
    """Raise an error for clusters of several topics, as nothing is computed from clusters.

    Only tests and intervals are. `clusters` is the cluster of each topic, None without --cluster.
    """
    if clusters is None:
        return
    topics = list(clusters)
    structure = TopicStructure(clusters=clusters)
    remedy = "--baseline RUN or --interval mean"
    structure.check_clusters_apply(topics, remedy)


def read_margin(texts: Sequence[str]) -> float | dict[str, float] | None:
    """Return the values of --margin: one number, or numbers by measure; None if it is not given.

    A text is ``NUMBER`` or ``MEASURE=NUMBER``.
    """
    if not texts:
        return None
    labels: list[str] = []  # '' for a number alone
    margins: dict[str, float] = {}
    for text in texts:
        label, _, number = text.rpartition("=")
        labels.append(label)
        margins[label] = _read_number(number)
    if labels == [""]:
        return margins[""]
    if "" in labels:
        raise MultiAspectError("--margin: expected one number, or MEASURE=NUMBER for each measure")
    refuse_repeated(labels, "measures", "--margin")
    return margins


def _read_number(text: str) -> float:
    """Return the number of a --margin."""
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
    test_options: Mapping[str, bool],
    interval: str,
    judged: bool,
    sort: str | None,
) -> None:
    """Raise an error for options that exclude or require others, or have no effect.

    `test_options` tells of each option of tests whether it is given, as the mappings below do.
    """
    has_groups = inputs.by is not None
    has_human = bool(inputs.values["human"])
    has_baseline = baseline is not None
    # Options by what they are for, and whether each of them is given.
    options_of_values = {
        "-q": perquery,
        f"--format {inputs.format}": inputs.format in VALUE_FORMATS,
    }
    options_of_means = {
        f"--interval {interval}": interval != "none",
        "--judged": judged,
        "--by": has_groups,
    }

    refuse_without({"--macro": inputs.values["macro"]}, "--by FILE", is_given=has_groups)
    # Values of topics are neither averaged nor tested.
    no_options_of_values = {
        "--baseline": has_baseline,
        **options_of_means,
        "--cluster": inputs.values["cluster"] is not None,
    }
    message = "{} applies to means: omit it, or {}"
    refuse_together(no_options_of_values, options_of_values, message)
    # Fractions of judged documents are not computed for groups.
    message = "{} is over all topics: omit it, or {}"
    refuse_together({"--judged": judged}, {"--by": has_groups}, message)
    # Estimates from human labels are no values of topics, and have intervals of their own.
    no_options_of_estimates = {
        **options_of_values,
        **options_of_means,
        "--sort": sort is not None,
        **test_options,
    }
    refuse_together(no_options_of_estimates, {"--human": has_human}, HUMAN_EXCLUDES)
    if has_human:
        _check_topics_of_estimates(inputs)
    refuse_without(test_options, "--baseline RUN", is_given=has_baseline)
    # Clusters affect estimates, intervals and tests.
    uses_clusters = has_human or interval == "mean" or has_baseline
    if not uses_clusters:
        refuse_unused_clusters(inputs.clusters)


def _check_topics_of_estimates(inputs: Inputs) -> None:
    """Raise an error for estimates unless means are over all judged topics."""
    topics = check_average_over(inputs.values["average_over"], inputs.measures)
    all_judged = TOPICS[0]
    if topics != all_judged:
        raise MultiAspectError(
            "--human estimates means over all judged topics: which topics are positive depends on "
            "who judges; use --average-over judged"
        )


def estimates_sheet(
    human: pd.DataFrame,
    model: pd.DataFrame,
    baseline: str | None,
    clusters: Mapping[str, str] | None,
) -> Sheet:
    """Return the prediction-powered estimates, or with a baseline the differences from it."""
    powered = prediction_powered(human, model, baseline=baseline, ci=CONFIDENCE, cluster=clusters)
    if powered.differences is None:
        estimates = powered.table
    else:
        estimates = powered.differences
    notes = [Sentence(note) for note in powered.notes]
    if baseline is not None:
        notes.insert(0, Sentence(f"Differences from {baseline}."))
    return Sheet(estimates, replace(estimates_table(estimates), notes=notes))


def per_query_sheet(values: pd.DataFrame, names: Iterable[str]) -> Sheet:
    """Return the values of topics, run by run.

    Programs get one row per value; the table to be read has one column per measure.

    Parameters
    ----------
    values : DataFrame
        The result of `pt_multiaspect.evaluate`.
    names : iterable of str
        The runs, in the order of the rows.
    """
    long = _rows_by_run(values, names)
    long.attrs = values.attrs  # the record of the measures
    # One row per run and topic, one column per measure, in the order of the measures.
    labels = values["measure"].unique().tolist()
    wide = values.pivot(index=["name", "qid"], columns="measure", values="value")
    wide = wide[labels].reset_index()
    table = Sheet.of(_rows_by_run(wide, names)).table
    return Sheet(with_definitions(long), table)


def _rows_by_run(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Return the rows of a frame run by run, in the order of their names."""
    rows_by_run = {}
    for name, rows in frame.groupby("name", sort=False):
        rows_by_run[name] = rows
    return pd.concat([rows_by_run[name] for name in names], ignore_index=True)


def _judged_fractions(inputs: Inputs, names: Iterable[str]) -> dict[str, list[float]]:
    """Return the columns of --judged: which fraction of the first documents of each run is judged.

    There is one column per aspect, with means over the topics of the run.
    """
    runs = {name: inputs.runs[name] for name in names}
    with silence_warnings():
        judgments = read_judged(inputs.qrels, inputs.aspects)
        fractions = run_statistics(runs, judgments).judged_at
    head = f"judged@{JUDGED}"
    columns = {}
    for aspect, rows in fractions.groupby("aspect", sort=False):
        fraction_by_run = rows.set_index("name")[head]
        columns[f"{head} {aspect}"] = fraction_by_run.reindex(list(runs)).tolist()
    return columns


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
    measures = measures_by_label(values)
    heads = column_heads(measures)
    decimals = decimals_by_label(DECIMALS, heads, measures)
    comparisons = Comparisons.of(
        values, baseline, structure, test, correction, options.ALPHA, margin
    )
    # The table but for its notes about the measures.
    make_table = partial(
        means_table,
        means,
        values,
        heads,
        decimals,
        interval=interval,
        level=CONFIDENCE,
        comparisons=comparisons,
        n_judged=n_judged,
        structure=structure,
        notes=notes,
    )
    table = _with_fractions(make_table(advice=advice), judged)

    def latex() -> str:
        table_without_advice = _with_fractions(make_table(advice=()), judged)
        return latex_of(table_without_advice, comments=advice)

    columns = _columns_for_programs(means, measures, structure, interval, comparisons, judged)
    return Sheet(pd.DataFrame(columns), table, latex)


def _columns_for_programs(
    means: pd.DataFrame,
    measures: Mapping[str, Any],
    structure: TopicStructure,
    interval: str,
    comparisons: Comparisons | None,
    judged: Mapping[str, Sequence[float]],
) -> dict[str, Any]:
    """Return the columns of the table for programs: means, intervals and tests of each measure.

    Parameters
    ----------
    means : DataFrame
        One row per run, or per group of topics and run.
    measures : mapping of str to Measure or None
        The measures by label.
    structure : TopicStructure
        The groups of topics.
    interval : {'none', 'difference', 'mean'}
        The intervals to show.
    comparisons : Comparisons or None
        The tests against the baseline.
    judged : mapping of str to sequence of float
        Further columns: the result of `_judged_fractions`.
    """
    if structure.by is None:
        keys = ["name"]
    else:
        keys = ["group", "name"]
    columns: dict[str, Any] = {key: means[key] for key in keys}
    rows = means.set_index(keys).index
    for label, measure in measures.items():
        columns[label] = means[label]
        if interval == "mean":
            for head in interval_columns(label, CONFIDENCE):
                columns[head] = means[head]
        if comparisons is not None:
            averaged = aggregate_is_mean(measure)
            tests = _test_columns(comparisons, label, rows, averaged)
            _check_new(tests, [*means, *judged], "--baseline")
            columns |= tests
    return columns | dict(judged)


def _with_fractions(table: Table, judged: Mapping[str, Sequence[float]]) -> Table:
    """Return the table with columns of judged fractions, if any."""
    if not judged:
        return table
    rows = []
    for position, row in enumerate(table.all_rows()):
        fractions = [format_value(column[position]) for column in judged.values()]
        rows.append(Row([*row.cells, *fractions]))
    columns = [*table.columns, *map(Column, judged)]
    return replace(table, columns=columns, rows=rows)


def _test_columns(
    comparisons: Comparisons, label: str, rows: pd.Index[Any], averaged: bool
) -> dict[str, Any]:
    """Return the tests of a measure, in columns with the names of those of pt.Experiment.

    Parameters
    ----------
    comparisons : Comparisons
        The tests against the baseline.
    label : str
        The measure, which is the first word of each name: ``AP p-value``.
    rows : Index
        The rows of the table: names of runs, or groups of topics and names.
    averaged : bool
        Whether values are averaged, so that there are a difference and its interval.
    """
    is_of_measure = comparisons.tests["measure"] == label
    tests = comparisons.tests[is_of_measure]
    # In the order of the rows; the row of the baseline, which has no test, is empty.
    tests = tests.set_index(list(rows.names)).reindex(rows)
    tests["wins"] = tests["wins"].astype("Int64")
    tests["losses"] = tests["losses"].astype("Int64")
    # Only significant differences have a verdict.
    tests["reject"] = tests["verdict"].fillna("") != ""

    # The column of `tests` by its head in the table. "asl" is the achieved significance level of
    # each test by itself, and "p" is corrected for the number of tests.
    columns: dict[str, str] = {}
    if averaged:
        columns |= {"difference": "difference", "difference low": "low", "difference high": "high"}
    columns |= {"+": "wins", "-": "losses", "p-value": "asl"}
    if _has_corrected_p_values(comparisons):
        columns["p-value corrected"] = "p"
    columns["reject"] = "reject"
    has_margin = "margin_low" in tests
    if has_margin:
        columns |= _MARGIN_COLUMNS
    return {f"{label} {head}": tests[column].array for head, column in columns.items()}


def _has_corrected_p_values(comparisons: Comparisons) -> bool:
    """Return whether p-values are corrected for the number of runs, in a column of their own.

    Those of Tukey's test account for all pairs of runs already.
    """
    if comparisons.test == "tukey":
        return False
    return comparisons.correction is not None


#: The columns of tests against a margin by their heads; tests without a margin lack them.
_MARGIN_COLUMNS = {
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
