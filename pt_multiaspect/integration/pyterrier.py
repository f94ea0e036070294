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
    if names is not None:  # it was filled before this package was imported
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
    lower = [column for column, measure in measures.items() if lower_is_better(measure)]
    if arguments.get("baseline") is not None:
        _warn_of_lower(
            lower,
            "baseline= counts a higher value as an improvement: read the column '+' as queries "
            "that got worse, and '-' as queries that improved",
        )
    is_table = arguments.get("perquery") is not True and arguments.get("dataframe") is not False
    if is_table and arguments.get("highlight") in ("bold", "color", "colour"):
        _warn_of_lower(lower, "highlight= marks the highest value, which is the worst")
    if arguments.get("perquery") is not True or arguments.get("save_dir") is not None:
        _check_topics(measures, arguments)
    result = call()
    has_values = arguments.get("perquery") is True or (
        isinstance(result, pd.DataFrame) and "qid" in result
    )
    if has_values:
        perquery = result
    else:
        perquery = getattr(result, "perquery", None)
    if isinstance(perquery, pd.DataFrame):
        record_measures(perquery, measures)  # for `aggregate` and others, as labels may be unknown
    return result


def _check_topics(
    measures: Mapping[str, ir_measures.Measure], arguments: Mapping[str, Any]
) -> None:
    """Check that all measures have values for the same topics, as `pt.Experiment` requires for averages."""
    restricted = [column for column, measure in measures.items() if reads_relevance_only(measure)]
    qrels, topics = arguments.get("qrels"), arguments.get("topics")
    is_mixed = 0 < len(restricted) < len(measures)
    if (
        not is_mixed
        or not isinstance(qrels, pd.DataFrame)
        or not {"qid", "label"} <= set(qrels.columns)
    ):
        return
    unlabelled = set(qrels["qid"]) - set(qrels.loc[qrels["label"].notna(), "qid"])
    if arguments.get("filter_by_topics") and isinstance(topics, pd.DataFrame):
        unlabelled &= set(topics["qid"])
    if unlabelled:
        raise MultiAspectError(
            "pt.Experiment averages all measures over the same topics, but the qrels have no label "
            f"of relevance in {number_of(len(unlabelled), 'topic')} "
            f"({choices(sorted(map(str, unlabelled))[:3])}), so {choices(restricted)} cannot be "
            f"computed there. Leave these topics out, as in {LABELLED_TOPICS}, or pass "
            "perquery=True"
        )


def grid_scan(call: Call) -> Any:
    """Call `pt.GridScan` with names that other processes also know."""
    metrics = call.arguments["metrics"]
    _by_column(metrics)
    several = isinstance(metrics, list | tuple)
    call.replace(
        "metrics", list(map(_carry_measure, metrics)) if several else _carry_measure(metrics)
    )
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
    names: dict[ir_measures.Measure, str] = {}
    aliases: dict[str, ir_measures.Measure] = {}
    for metric in metrics if isinstance(metrics, Collection) else ():
        members = find_measures(metric)
        for measure in members:
            if isinstance(metric, str) and len(members) == 1:
                names[measure] = str(metric)
            names.setdefault(measure, str(measure))
            if isinstance(metric, MeasureName):
                aliases.setdefault(str(metric), measure)
    for alias, measure in aliases.items():
        if names[measure] != alias:
            raise MultiAspectError(
                f"{measure} has the alias {alias!r} and is also given as {names[measure]!r}, but "
                "PyTerrier shows each measure in one column: give it once"
            )
    columns: dict[str, ir_measures.Measure] = {}
    for measure, name in names.items():
        earlier = columns.setdefault(name, measure)
        is_given = name in aliases or name != str(measure)
        if is_given and earlier != measure:
            raise MultiAspectError(
                f"two different measures have the name {name!r}; give them distinct aliases"
            )
    return columns


def _refuse_mapping(metrics: Mapping[Any, Any]) -> None:
    """Raise an error if the keys of a mapping, which PyTerrier takes for measures, are aliases of its values."""
    for label, metric in metrics.items():
        if find_measures(metric) not in ([], find_measures(label)):
            raise MultiAspectError(
                f"PyTerrier takes the keys of a mapping for measures, and {label!r} is an alias "
                f"here: give a list, as in [pt_multiaspect.alias({str(label)!r}, {metric!r})]"
            )


def _warn_of_lower(columns: Collection[str], problem: str) -> None:
    if columns:
        warn(
            f"{choices(columns)}: lower is better, but {problem}"
        )  # in every call, as directions may differ
