"""Measures in PyTerrier: their names and directions.

PyTerrier parses names with `ir_measures.parse_trec_measure`, which accepts trec_eval names only,
and assumes that higher values are better. The module ``pt_multiaspect_pyterrier``, next to this
package, is PyTerrier's entry point and replaces these functions by the ones defined here.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

import ir_measures
import pandas as pd

import pt_multiaspect_pyterrier
from pt_multiaspect_pyterrier import Call

from ..collection.columns import (
    DOCUMENT_COLUMNS,
    LABELLED_TOPICS,
    QUERY_COLUMNS,
    check_id_column,
    documents_remedy,
)
from ..errors import MultiAspectError, choices, number_of, warn
from ..measures import ALL
from .aggregators import lower_is_better
from .parsing import MeasureName, find_measures, parse, record_measures
from .provider import reads_relevance_only

__all__ = ["experiment", "grid_scan", "grid_search", "install", "parse", "uninstall"]


def install() -> None:
    """Patch PyTerrier to accept ir-measures names. Repeated calls have no effect.

    Examples
    --------
    This is called when the package is imported:

    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.install()
    """
    pt_multiaspect_pyterrier.install()
    names = sys.modules.get("pyterrier.measures")
    # PyTerrier may have filled this module before this package was imported.
    if names is not None:
        for measure in ALL:
            vars(names).setdefault(measure.NAME, measure)


def uninstall() -> None:
    """Undo `install`, except for functions that another package has wrapped in the meantime.

    Examples
    --------
    >>> import ir_measures
    >>> from pt_multiaspect.integration import pyterrier
    >>> pyterrier.uninstall()
    >>> ir_measures.parse_trec_measure("TOMA@10")
    Traceback (most recent call last):
    ValueError: unkonwn measure TOMA@10
    >>> pyterrier.install()
    """
    pt_multiaspect_pyterrier.uninstall()


def experiment(call: Call) -> Any:
    """Call `pt.Experiment`, and record its measures in the table of values per query.

    Raises
    ------
    MultiAspectError
        If `pt.Experiment` is to average values, and some measures have none for topics without a
        label of relevance.

    Warns
    -----
    MultiAspectWarning
        If `baseline` or `highlight` treat higher values of a lower-is-better measure as better.
    """
    arguments = call.arguments
    measures = _by_column(arguments["eval_metrics"])
    _refuse_other_frames(arguments.get("qrels"))

    # Means are returned, as a table or a dict, unless only values per query are asked for.
    returns_means = arguments.get("perquery") is not True
    returns_table_of_means = returns_means and arguments.get("dataframe") is not False
    _warn_of_directions(measures, arguments, returns_means=returns_table_of_means)
    # A directory of results always has means.
    saves_means = arguments.get("save_dir") is not None
    if returns_means or saves_means:
        _check_topics(measures, arguments)

    result = call()
    perquery = _perquery_of(result)
    if perquery is not None:
        # The record tells `aggregate` and others which measures the labels name.
        record_measures(perquery, measures)
    return result


def _perquery_of(result: Any) -> pd.DataFrame | None:
    """Return the table of values per query in a result of `pt.Experiment`, None if it has none."""
    table: Any = result
    if not isinstance(result, pd.DataFrame):
        # With perquery="both", the result is a named tuple of the means and the values per query.
        table = getattr(result, "perquery", None)
    if isinstance(table, pd.DataFrame) and "qid" in table:
        return table
    return None


def _refuse_other_frames(qrels: object) -> None:
    """Raise an error if qrels are a frame of documents or topics."""
    if not isinstance(qrels, pd.DataFrame):
        return
    # There is such a remedy only for frames of documents or topics.
    remedy = documents_remedy(qrels.columns)
    if remedy:
        # One of these columns is missing: its check raises an error with the remedy.
        check_id_column(qrels, QUERY_COLUMNS, "qrels")
        check_id_column(qrels, DOCUMENT_COLUMNS, "qrels")


def _warn_of_directions(
    measures: Mapping[str, ir_measures.Measure],
    arguments: Mapping[str, Any],
    *,
    returns_means: bool,
) -> None:
    """Warn if `pt.Experiment` treats higher values of a lower-is-better measure as better.

    Parameters
    ----------
    measures : mapping of str to Measure
        The measures by column.
    arguments : mapping
        The arguments of `pt.Experiment`.
    returns_means : bool
        Whether it returns a table of means, in which it can highlight values.
    """
    columns = [column for column, measure in measures.items() if lower_is_better(measure)]
    if arguments.get("baseline") is not None:
        _warn_of_lower(
            columns,
            "baseline= counts a higher value as an improvement: read the column '+' as queries "
            "that got worse, and '-' as queries that improved",
        )
    if returns_means and arguments.get("highlight") in ("bold", "color", "colour"):
        _warn_of_lower(columns, "highlight= marks the highest value, which is the worst")


def _check_topics(
    measures: Mapping[str, ir_measures.Measure], arguments: Mapping[str, Any]
) -> None:
    """Check that all measures have values for the same topics, which `pt.Experiment` averages."""
    qrels = arguments.get("qrels")
    topics = arguments.get("topics")
    if not isinstance(qrels, pd.DataFrame) or not {"qid", "label"} <= set(qrels.columns):
        return
    of_relevance = [column for column, measure in measures.items() if reads_relevance_only(measure)]
    # Measures of one kind have values for the same topics.
    has_both_kinds = 0 < len(of_relevance) < len(measures)
    if not has_both_kinds:
        return
    has_label = qrels["label"].notna()
    unlabelled = set(qrels["qid"]) - set(qrels.loc[has_label, "qid"])
    if arguments.get("filter_by_topics") and isinstance(topics, pd.DataFrame):
        unlabelled &= set(topics["qid"])
    if unlabelled:
        n_topics = number_of(len(unlabelled), "topic")
        examples = choices(sorted(map(str, unlabelled))[:3])
        raise MultiAspectError(
            "pt.Experiment averages all measures over the same topics, but the qrels have no label "
            f"of relevance in {n_topics} ({examples}), so {choices(of_relevance)} cannot be "
            f"computed there. Leave these topics out, as in {LABELLED_TOPICS}, or pass "
            "perquery=True"
        )


def grid_scan(call: Call) -> Any:
    """Call `pt.GridScan` with names of measures that carry the measures.

    With ``jobs=2``, it evaluates in other processes, which know neither the aliases nor the scales
    that this one has declared.
    """
    metrics = call.arguments["metrics"]
    # For its errors about names of several measures only.
    _by_column(metrics)
    if isinstance(metrics, list | tuple):
        call.replace("metrics", list(map(_carry_measure, metrics)))
    else:
        call.replace("metrics", _carry_measure(metrics))
    return call()


def grid_search(call: Call) -> Any:
    """Call `pt.GridSearch` or `pt.KFoldGridSearch` with a name that other processes also know.

    Warns
    -----
    MultiAspectWarning
        If lower values of the measure are better.
    """
    metric = _carry_measure(call.arguments["metric"])
    call.replace("metric", metric)
    if isinstance(metric, MeasureName) and lower_is_better(metric.measure):
        _warn_of_lower(
            [metric],
            f"pt.{call.name} selects the highest value, which is the worst; select the lowest from "
            "the table of pt.GridScan",
        )
    return call()


def _carry_measure(metric: object) -> object:
    """Return a measure as a string, its name, with the measure as an attribute.

    PyTerrier uses the name as a key, and sends it to worker processes. Anything but a single
    measure is returned unchanged, for PyTerrier to reject or expand.
    """
    measures = find_measures(metric)
    if len(measures) != 1:
        return metric
    return MeasureName(measures[0], str(metric))


def _by_column(metrics: object) -> dict[str, ir_measures.Measure]:
    """Return the measures of `pt.Experiment` by the name of their column.

    PyTerrier shows a measure in one column, under the last name by which it is given. An alias of
    two measures is an error, and so are two aliases of one, of which only one would be shown.
    """
    if isinstance(metrics, Mapping):
        _refuse_mapping(metrics)
    if not isinstance(metrics, Collection):
        return {}
    column_of_measure = _column_of_each_measure(metrics)
    aliases: set[str] = set()
    for metric in metrics:
        if isinstance(metric, MeasureName):
            _check_alias(metric, column_of_measure)
            aliases.add(str(metric))

    measure_of_column: dict[str, ir_measures.Measure] = {}
    for measure, column in column_of_measure.items():
        if column not in measure_of_column:
            measure_of_column[column] = measure
            continue
        # Another measure has the same name. Measures may be printed alike: the evaluator warns of
        # this. An alias, or another name that the user gave, is an error.
        is_printed_form = column == str(measure) and column not in aliases
        if not is_printed_form:
            raise MultiAspectError(
                f"two different measures have the name {column!r}; give them distinct aliases"
            )
    return measure_of_column


def _column_of_each_measure(metrics: Collection[Any]) -> dict[ir_measures.Measure, str]:
    """Return the name of the column of each measure: the last string, else its printed form."""
    columns: dict[ir_measures.Measure, str] = {}
    for metric in metrics:
        members = find_measures(metric)
        # The name of a family, such as P, is none of its members.
        is_family = len(members) > 1
        is_name = isinstance(metric, str) and not is_family
        for measure in members:
            if is_name:
                columns[measure] = str(metric)
            elif measure not in columns:
                columns[measure] = str(measure)
    return columns


def _check_alias(alias: MeasureName, column_of_measure: Mapping[ir_measures.Measure, str]) -> None:
    """Raise an error if the measure of an alias has its column under another name."""
    name = str(alias)
    column = column_of_measure[alias.measure]
    if column != name:
        raise MultiAspectError(
            f"{alias.measure} has the alias {name!r} and is also given as {column!r}, but "
            "PyTerrier shows each measure in one column: give it once"
        )


def _refuse_mapping(metrics: Mapping[Any, Any]) -> None:
    """Raise an error for a mapping of aliases, as PyTerrier takes its keys for measures."""
    for label, metric in metrics.items():
        measures = find_measures(metric)
        is_alias = len(measures) > 0 and measures != find_measures(label)
        if is_alias:
            name = str(label)
            raise MultiAspectError(
                f"PyTerrier takes the keys of a mapping for measures, and {label!r} is an alias "
                f"here: give a list, as in [pt_multiaspect.alias({name!r}, {metric!r})]"
            )


def _warn_of_lower(columns: Collection[str], problem: str) -> None:
    """Warn in every call, as directions may differ, if there are lower-is-better columns."""
    if columns:
        names = choices(columns)
        warn(f"{names}: lower is better, but {problem}")
