"""The values that robustness examines: of a measure, its aspects and its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..aspects import Aspects
from ..collection import Judgments
from ..errors import MultiAspectError, choices, refuse_none, refuse_single, refuse_unknown
from ..evaluation import evaluate
from ..evaluation.long_frames import (
    find_labels,
    labels_of_aspects,
    measures_by_label,
    read_named_values,
)
from ..evaluation.topic_clusters import ClusterSpec, read_clusters
from ..evaluation.topics import check_all_topics
from ..integration.aggregators import aggregate_is_mean
from ..integration.declared import default_measures
from ..integration.parsing import as_measure, parse_all, short_label
from ..integration.variants import one_choice_variants
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, as_repeatable, read_if_file
from ..measures import AspectMean, On
from ..measures.terms import BasedMeasure
from ._value_matrices import Direction, ValuesByMeasure, rows_of_measures, select_measures
from ._weighted_values import measures_of_aspects


@dataclass(frozen=True)
class Material:
    """The values that are examined, and the runs and qrels that they are of, if known."""

    #: The mean of each run by the measure; the runs are in the order given.
    means: pd.Series[Any]
    values: ValuesByMeasure
    label: str
    measure: Any
    #: The label of the measure of each aspect; of several aspects or none.
    aspects: Mapping[str, str]
    #: The labels of the variants, without the measure itself.
    variants: Sequence[str]
    #: The cluster of each topic, by query id; None if topics are independent.
    clusters: Mapping[str, str] | None
    runs: dict[str, object] | None
    qrels: Judgments | None


def read_material(values: Any, measure: Any, variants: Any, cluster: ClusterSpec) -> Material:
    """Return the material of a frame of values.

    Parameters
    ----------
    values : DataFrame or path
        A long frame of per-query values.
    measure : measure, str, mapping or None
        The measure, by default the first one of the frame.
    variants : sequence of measures or str, mapping or None
        The variants.
    cluster : str, path, mapping or Series, optional
        The clusters of topics.
    """
    perquery = read_named_values(values)
    refuse_none(perquery, "row in the frame of values")
    if measure is None:
        first_labels = perquery["measure"].head(1)
        examined = first_labels.astype(str).tolist()
    else:
        examined = _as_list(measure)
    # Labels of a frame are only names. What they stand for is recorded with the frame, unless the
    # user says so by giving measures, or a mapping {label: measure}.
    measure_of_label = dict(measures_by_label(perquery))
    _, given_measure = select_measures(perquery, examined)
    label = _only_label(find_labels(perquery, examined))
    if isinstance(variants, Mapping):
        _, given_variants = select_measures(perquery, variants)
        measure_of_label.update(given_variants)
    measure_of_label.update(given_measure)
    _check_mean(label, measure_of_label[label])

    labels_of_variants = _labels_of_variants(perquery, variants)
    refuse_unknown(labels_of_variants, measure_of_label, "measures of the frame", "variants")
    other_labels = [variant for variant in labels_of_variants if variant != label]
    return _select_material(
        perquery,
        cluster,
        measure_of_label,
        label,
        aspects=_labels_of_aspects(measure_of_label, label),
        variants=other_labels,
    )


def _labels_of_variants(perquery: pd.DataFrame, variants: Any) -> list[str]:
    """Return the labels that variants have in a frame: of none, of one, or of several."""
    if variants is None:
        variants = []
    elif isinstance(variants, str):
        variants = [variants]
    return find_labels(perquery, variants)


def _as_list(measure: Any) -> Any:
    """Return a measure in a list; lists and mappings are returned unchanged."""
    if isinstance(measure, Mapping | list):
        return measure
    return [measure]


def _labels_of_aspects(measure_of_label: Mapping[str, Any], label: str) -> dict[str, str]:
    """Return the labels of the measures on one aspect, by aspect.

    The mapping is empty if there are no two such measures, or if the examined measure, whose label
    is `label`, is one of them: it combines no aspects.
    """
    measures: dict[str, Any] = {}
    for key, measure in measure_of_label.items():
        if isinstance(measure, Direction):
            # A label that was only declared as 'higher' or 'lower': its measure is not known, which
            # `labels_of_aspects` takes as None.
            measures[key] = None
        else:
            measures[key] = measure
    label_of_aspect = labels_of_aspects(measures)
    examines_one_aspect = label in label_of_aspect.values()
    if len(label_of_aspect) < 2 or examines_one_aspect:
        return {}
    return label_of_aspect


def evaluate_material(
    runs: Any, qrels: Any, measure: Any, variants: Any, topics: Any, cluster: ClusterSpec
) -> Material:
    """Evaluate the measure, its aspects and its variants, each once; each pipeline runs once."""
    check_all_topics(measure, "robustness compares the same topics by all variants")
    read_runs = NamedRuns.read(runs, topics, progress=False)
    judgments = select_topics(Judgments.of(qrels), read_runs.topics)
    run_by_name = {name: read_if_file(as_repeatable(run)) for name, run in read_runs}

    examined_by_label = _given_or_first_default(measure, judgments)
    full_label = _only_label(list(examined_by_label))
    examined = examined_by_label[full_label]
    _check_mean(full_label, examined)
    aspects = _evaluated_aspects(examined, judgments)
    measure_of_aspect = _measures_of_aspects(examined, judgments, aspects)
    other_variants = _other_variants(examined, variants, aspects)
    label = _label_beside(other_variants, full_label, examined)

    # All of them by label: a variant on one aspect, for example, is evaluated once.
    measure_of_label = {label: examined}
    label_of_aspect = {}
    for aspect, on_aspect in measure_of_aspect.items():
        label_on_aspect = str(on_aspect)
        label_of_aspect[aspect] = label_on_aspect
        measure_of_label[label_on_aspect] = on_aspect
    measure_of_label.update(other_variants)
    perquery = evaluate(run_by_name, judgments, measure_of_label, progress=False)
    return _select_material(
        perquery,
        cluster,
        measure_of_label,
        label,
        aspects=label_of_aspect,
        variants=list(other_variants),
        runs=run_by_name,
        qrels=judgments,
    )


def _other_variants(examined: Any, variants: Any, aspects: Sequence[str]) -> dict[str, Any]:
    """Return the variants by label, without the examined measure itself.

    By default, they differ from it in one choice each.
    """
    if variants is None:
        variant_of_label = one_choice_variants(examined, aspects)
    else:
        variant_of_label = parse_all(variants)
    return {label: variant for label, variant in variant_of_label.items() if variant != examined}


def _label_beside(variants: Mapping[str, Any], full_label: str, examined: Any) -> str:
    """Return the label of the examined measure: its short name, if no variant has this name."""
    label = short_label(full_label, examined)
    if label in variants:
        return full_label
    return label


def _given_or_first_default(measure: Any, judgments: Judgments) -> dict[str, Any]:
    """Return the given measure by its label; if None, the first default one of the judgments."""
    default = default_measures(judgments.label_names)
    if measure is not None:
        return parse_all(measure)
    first_label = next(iter(default))
    return {first_label: default[first_label]}


def _select_material(
    perquery: pd.DataFrame,
    cluster: ClusterSpec,
    known: Mapping[str, Any],
    label: str,
    aspects: Mapping[str, str],
    variants: Sequence[str],
    runs: dict[str, object] | None = None,
    qrels: Judgments | None = None,
) -> Material:
    """Read the values of the measure, its aspects and its variants once, and their clusters.

    `known` are measures by label; the other parameters are attributes of `Material`.
    """
    clusters = read_clusters(cluster, perquery)
    rows = rows_of_measures(perquery, [label])
    refuse_single(rows["name"].unique().tolist(), "runs")
    means = rows.groupby("name", sort=False)["value"].mean()
    all_labels = [label, *aspects.values(), *variants]
    measures = {key: known[key] for key in all_labels}
    return Material(
        means=means,
        values=ValuesByMeasure(perquery, measures),
        label=label,
        measure=known[label],
        aspects=aspects,
        variants=variants,
        clusters=clusters,
        runs=runs,
        qrels=qrels,
    )


def _check_mean(label: str, measure: Any) -> None:
    """Check that values of topics are averaged: differences of means are examined.

    A measure of which only the direction is known counts as averaged.
    """
    if isinstance(measure, Direction):
        measure = None
    if aggregate_is_mean(measure):
        return
    raise MultiAspectError(
        f"measure: expected one whose values are averaged over topics, got {label}; use another, "
        "such as AP"
    )


def _only_label(labels: Sequence[str]) -> str:
    """Return the label, after checking that there is one."""
    if len(labels) == 1:
        return labels[0]
    given = choices(labels) or "none"
    raise MultiAspectError(f"measure: expected one measure, got {given}")


def _evaluated_aspects(measure: Any, judgments: Judgments) -> list[str]:
    """Return the aspects that a measure evaluates; none if this package cannot evaluate it."""
    try:
        views = as_measure(measure).views(judgments)
    except MultiAspectError:
        # ERR of ir-measures, for example, has no equal here. `evaluate` reports other errors.
        return []
    return [view.name for view in views]


def _measures_of_aspects(
    measure: Any, judgments: Judgments, names: Sequence[str]
) -> dict[str, Any]:
    """Return the measure on each of several aspects: its base, or nDCG at its cutoff.

    Empty for a measure of one aspect.
    """
    if len(names) < 2:
        return {}
    if isinstance(measure, AspectMean):
        parts = measures_of_aspects(measure, judgments).values()
        return {part.one_aspect: part for part in parts}
    if isinstance(measure, BasedMeasure):
        base = measure.bases.one.text
    else:
        cutoff = measure.cutoff or 10
        base = f"nDCG@{cutoff}"
    scales = None
    if isinstance(measure.spec, Aspects):
        scales = measure.spec
    return {name: On(aspect=name, base=base, aspects=scales) for name in names}
