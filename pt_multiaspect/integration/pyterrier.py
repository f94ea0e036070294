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
    qrels = arguments.get("qrels")
    if isinstance(qrels, pd.DataFrame) and documents_remedy(qrels.columns):
        check_id_column(qrels, QUERY_COLUMNS, "qrels")
        check_id_column(qrels, DOCUMENT_COLUMNS, "qrels")
    returns_values = arguments.get("perquery") is True
    returns_dict = arguments.get("dataframe") is False
    _warn_of_directions(measures, arguments, returns_means=not (returns_values or returns_dict))
    saves_means = arguments.get("save_dir") is not None
    if saves_means or not returns_values:
        _check_topics(measures, arguments)
    result = call()
    # The values are the result, or an attribute of the table of means.
    if returns_values or (isinstance(result, pd.DataFrame) and "qid" in result):
        perquery = result
    else:
        perquery = getattr(result, "perquery", None)
    # For `aggregate` and others, which may not know the labels.
    if isinstance(perquery, pd.DataFrame):
        record_measures(perquery, measures)
    return result


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
    """Check that all measures have values for the same topics, as `pt.Experiment` requires for averages."""
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
    """Call `pt.GridScan` with names that other processes also know."""
    metrics = call.arguments["metrics"]
    # Raises an error about ambiguous names.
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
    """Return the name of a measure that carries the measure; PyTerrier uses it as a key and sends it to workers.

    Anything but a single measure is returned unchanged, for PyTerrier to reject or expand.
    """
    measures = find_measures(metric)
    if len(measures) == 1:
        return MeasureName(measures[0], str(metric))
    return metric


def _by_column(metrics: object) -> dict[str, ir_measures.Measure]:
    """Return the measures of `pt.Experiment` by the name of their column: the last unambiguous string.

    An alias of two measures is an error, and so are two aliases of one, as PyTerrier would show
    only one of them.
    """
    if isinstance(metrics, Mapping):
        _refuse_mapping(metrics)
    if not isinstance(metrics, Collection):
        return {}
    column_of: dict[ir_measures.Measure, str] = {}
    measure_of_alias: dict[str, ir_measures.Measure] = {}
    for metric in metrics:
        members = find_measures(metric)
        is_family = len(members) > 1
        for measure in members:
            if isinstance(metric, str) and not is_family:
                column_of[measure] = str(metric)
            else:
                column_of.setdefault(measure, str(measure))
            if isinstance(metric, MeasureName):
                measure_of_alias.setdefault(str(metric), measure)
    for alias, measure in measure_of_alias.items():
        column = column_of[measure]
        if column != alias:
            raise MultiAspectError(
                f"{measure} has the alias {alias!r} and is also given as {column!r}, but "
                "PyTerrier shows each measure in one column: give it once"
            )
    columns: dict[str, ir_measures.Measure] = {}
    for measure, name in column_of.items():
        earlier = columns.setdefault(name, measure)
        # Different measures can be printed alike, of which the evaluator warns.
        is_users_name = name in measure_of_alias or name != str(measure)
        if is_users_name and earlier != measure:
            raise MultiAspectError(
                f"two different measures have the name {name!r}; give them distinct aliases"
            )
    return columns


def _refuse_mapping(metrics: Mapping[Any, Any]) -> None:
    """Raise an error if the keys of a mapping, which PyTerrier takes for measures, are aliases of its values."""
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
