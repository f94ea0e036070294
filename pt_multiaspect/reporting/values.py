"""The measures and values of a report: given or default measures, one per aspect, and values without runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from ..analysis._frames import Direction, check_directions, matrix, rows_of_measures, select_measures
from ..aspects import Aspects
from ..aspects.parameter import AspectSpec, parse_aspects
from ..collection.judgments import Judgments
from ..errors import MultiAspectError, choices, errors_of
from ..evaluation import check_columns, interval_columns
from ..evaluation.aggregation import read_topic_groups
from ..evaluation.long_frames import COLUMNS, is_combined, labels_of_aspects, measures_by_label, read_named_values
from ..evaluation.provenance import as_yaml, provenance_of_values
from ..integration.declared import default_measures, with_aspects
from ..integration.parsing import parse_all, record_measures
from ..measures import On
from .figures import Figures, Options, check_baseline


def read_columns(
    measures: Any, base: Any, aspects: AspectSpec, judgments: Judgments
) -> tuple[dict[str, ir_measures.Measure], dict[str, ir_measures.Measure], dict[str, str]]:
    """Return the measures of a report, with those of the single aspects.

    Parameters
    ----------
    measures : measure, str, sequence of these, mapping or None
        As in `pt_multiaspect.evaluate`. By default those of `default_measures`.
    base : measure or str
        The measure of single aspects.
    aspects : Aspects, tuple of str or None
        The scales of measures that declare none, or the columns of measures that name none.
    judgments : Judgments
        The judgments.

    Returns
    -------
    given, columns, labels
        The measures that are given by label, these followed by those of aspects, and the label of each aspect.
    """
    judged = list(judgments.label_names)
    # Columns without names, as in tuples, are named after the aspects.
    chosen = judged if aspects is None else [view.name for view in judgments.views(aspects)]
    names = chosen if len(chosen) == len(judged) else judged
    given = default_measures(chosen) if measures is None else parse_all(measures)
    given = with_aspects(given, aspects, names)
    columns, labels = dict(given), {}
    for name in chosen:
        with errors_of("base"):
            single = with_aspects({name: On(aspect=name, base=base)}, aspects, chosen)[name]
        label = next((label for label, measure in given.items() if measure == single), None)
        if label is None:
            label = f"{base} {name}"
            while label in given:
                label += " (aspect)"
            columns[label] = single
        labels[name] = label
    return given, columns, labels


def drop_copies(
    perquery: pd.DataFrame, labels: Mapping[str, str], base: Any, given: Mapping[str, ir_measures.Measure]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Drop the base on relevance if the same measure of ir-measures is also given and has the same values.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate`.
    labels : mapping of str to str
        The label of each aspect.
    base : measure or str
        The measure of single aspects.
    given : mapping of str to Measure
        The given measures.

    Returns
    -------
    perquery, labels
        The frame and the labels without the copy.
    """
    (measure,) = parse_all(base).values()
    twin = next((label for label, candidate in given.items() if candidate == measure), None)
    own = labels.get("relevance")
    if twin is None or own is None or own in given:
        return perquery, dict(labels)
    values, copies = (perquery.loc[perquery["measure"] == label, "value"].to_numpy() for label in (own, twin))
    if not np.array_equal(values, copies):
        return perquery, dict(labels)
    kept = perquery[perquery["measure"] != own].reset_index(drop=True)
    record_measures(kept, measures_by_label(kept))
    return kept, {**labels, "relevance": twin}


def figures_of_values(
    values: object,
    measures: Any,
    human: object,
    baseline: str | None,
    options: Options,
    by: object,
    title: str,
    date: str,
    aspects: object,
) -> Figures:
    """Return the figures of values per topic."""
    scales = parse_aspects(aspects)
    if not isinstance(scales, Aspects | None):
        raise MultiAspectError(f"aspects: expected the scales of the criteria, got names: {choices(scales)}")
    several = measures is None or (isinstance(measures, Sequence | Mapping) and not isinstance(measures, str))
    perquery, given = select_measures(read_named_values(values), measures if several else [measures])
    array, names, _, labels = matrix(perquery, as_given=True, least=1)
    recorded = measures_by_label(perquery)
    known = {**recorded, **given} if isinstance(measures, Mapping) else recorded
    check_directions(perquery, array, labels, known, "report")
    words = {label: measure for label, measure in given.items() if isinstance(measure, Direction)}
    by_label = {**recorded, **given, **dict.fromkeys(words)}
    combined = [label for label, measure in by_label.items() if is_combined(measure)]
    main = labels[0] if measures is not None or not combined else combined[0]
    by_label = {main: by_label[main], **by_label}  # the first column, which is seen on narrow screens
    perquery = rows_of_measures(perquery, list(by_label)).reset_index(drop=True)
    record_measures(perquery, by_label)
    check_columns(labels, {label: interval_columns(label, options.ci) for label in labels})
    check_baseline(baseline, names)
    by_human = None
    if human is not None:
        by_human = rows_of_measures(read_named_values(human), labels)
        record_measures(by_human, by_label)
    groups = {} if by is None else read_topic_groups(by, perquery)
    frames = {"values": perquery} | ({} if by_human is None else {"human values": by_human})
    record = provenance_of_values(
        {name: frame[COLUMNS] for name, frame in frames.items()},
        {label: str(measure or label) for label, measure in by_label.items()},
        scales,
    )
    aspects = labels_of_aspects(by_label)
    return Figures(
        title, None, perquery, main, aspects, baseline, options, groups, as_yaml(record), by_human,
        words, date, scales,
    )  # fmt: skip
