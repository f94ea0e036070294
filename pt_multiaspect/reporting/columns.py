"""The measures of a report: the given or default ones, and one measure per aspect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from ..aspects.parameter import AspectSpec
from ..collection.judgments import Judgments
from ..errors import errors_of
from ..evaluation.long_frames import measures_by_label
from ..integration.declared import default_measures, with_aspects
from ..integration.parsing import parse_all, record_measures
from ..measures import On


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
    return given, *add_aspect_measures(given, base, aspects, chosen)


def add_aspect_measures(
    measures: Mapping[str, ir_measures.Measure], base: Any, aspects: AspectSpec, names: list[str]
) -> tuple[dict[str, ir_measures.Measure], dict[str, str]]:
    """Add the base on each aspect, unless it is one of the measures.

    Parameters
    ----------
    measures : mapping of str to Measure
        The measures by label.
    base : measure or str
        The measure of single aspects.
    aspects : Aspects, tuple of str or None
        The declared scales.
    names : list of str
        The aspects.

    Returns
    -------
    measures, labels
        The measures, followed by those of aspects, and the label of each aspect.
    """
    added: dict[str, ir_measures.Measure] = {}
    labels: dict[str, str] = {}
    for name in names:
        with errors_of("base"):
            single = with_aspects({name: On(aspect=name, base=base)}, aspects, names)[name]
        given = [label for label, measure in measures.items() if measure == single]
        label = given[0] if given else f"{base} {name}"
        while label in measures and not given:
            label += " (aspect)"
        if not given:
            added[label] = single
        labels[name] = label
    return {**measures, **added}, labels


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
    known = {
        label: measure
        for label, measure in measures_by_label(perquery).items()
        if label != own and measure is not None
    }
    kept = perquery[perquery["measure"] != own].reset_index(drop=True)
    record_measures(kept, known)
    return kept, {**labels, "relevance": twin}
