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


def material_of_values(values: Any, measure: Any, variants: Any, cluster: ClusterSpec) -> Material:
    """Return the material of a frame of values."""
    perquery = read_named_values(values)
    refuse_none(perquery, "row in the frame of values")
    if measure is None:
        if len(perquery):
            measure = [str(perquery["measure"].iloc[0])]
        else:
            measure = []
    if isinstance(measure, Mapping | list):
        chosen = measure
    else:
        chosen = [measure]
    _, given = select_measures(perquery, chosen)
    label = _one(find_labels(perquery, chosen))
    if isinstance(variants, Mapping):
        _, declared = select_measures(perquery, variants)
    else:
        _, declared = (None, {})
    known = {**measures_by_label(perquery), **declared, **given}
    without_directions = {
        key: None if isinstance(found, Direction) else found for key, found in known.items()
    }
    aspects = labels_of_aspects(without_directions)
    if label in aspects.values() or len(aspects) < 2:
        aspects = {}
    _check_mean(label, known[label])
    if variants is None:
        variants = []
    elif isinstance(variants, str):
        variants = [variants]
    others = find_labels(perquery, variants)
    refuse_unknown(others, known, "measures of the frame", "variants")
    others = [other for other in others if other != label]
    return _material(perquery, cluster, known, label, aspects, others)


def material_of_runs(
    runs: Any, qrels: Any, measure: Any, variants: Any, topics: Any, cluster: ClusterSpec
) -> Material:
    """Evaluate the measure, its aspects and its variants, each once; each pipeline runs once."""
    check_all_topics(measure, "robustness compares the same topics by all variants")
    given_runs = NamedRuns.read(runs, topics, progress=False)
    judgments = select_topics(Judgments.of(qrels), given_runs.topics)
    named = {name: read_if_file(as_repeatable(run)) for name, run in given_runs}
    default = default_measures(judgments.label_names)
    if measure is None:
        given = dict([next(iter(default.items()))])
    else:
        given = parse_all(measure)
    label = _one(list(given))
    reported = given[label]
    _check_mean(label, reported)
    names = _evaluated_aspects(reported, judgments)
    aspects = _measures_of_aspects(reported, judgments, names)
    if variants is None:
        others = one_choice_variants(reported, names)
    else:
        others = parse_all(variants)
    others = {key: variant for key, variant in others.items() if variant != reported}
    short = short_label(label, reported)
    label = label if short in others else short
    columns = {label: reported, **{str(part): part for part in aspects.values()}, **others}
    perquery = evaluate(named, judgments, columns, progress=False)
    labels = {name: str(part) for name, part in aspects.items()}
    return _material(perquery, cluster, columns, label, labels, list(others), named, judgments)


def _material(
    perquery: pd.DataFrame,
    cluster: ClusterSpec,
    known: Mapping[str, Any],
    label: str,
    aspects: Mapping[str, str],
    variants: Sequence[str],
    runs: dict[str, object] | None = None,
    qrels: Judgments | None = None,
) -> Material:
    """Read the values of the measure, its aspects and its variants once, and their clusters."""
    clusters = read_clusters(cluster, perquery)
    rows = rows_of_measures(perquery, [label])
    refuse_single(rows["name"].unique().tolist(), "runs")
    means = rows.groupby("name", sort=False)["value"].mean()
    labels = list(dict.fromkeys([label, *aspects.values(), *variants]))
    values = ValuesByMeasure(perquery, {name: known[name] for name in labels})
    return Material(means, values, label, known[label], aspects, variants, clusters, runs, qrels)


def _check_mean(label: str, measure: Any) -> None:
    """Check that values of topics are averaged: differences of means are examined."""
    if not aggregate_is_mean(None if isinstance(measure, Direction) else measure):
        raise MultiAspectError(
            f"measure: expected one whose values are averaged over topics, got {label}; use "
            "another, such as AP"
        )


def _one(labels: Sequence[str]) -> str:
    if len(labels) != 1:
        raise MultiAspectError(f"measure: expected one measure, got {choices(labels) or 'none'}")
    return labels[0]


def _evaluated_aspects(measure: Any, judgments: Judgments) -> list[str]:
    """Return the aspects that a measure evaluates."""
    try:
        return [view.name for view in as_measure(measure).views(judgments)]
    except MultiAspectError:
        # Of ir-measures' ERR, which has no equal here; `evaluate` reports other errors.
        return []


def _measures_of_aspects(
    measure: Any, judgments: Judgments, names: Sequence[str]
) -> dict[str, Any]:
    """Return the measure on each of several aspects: its base, or nDCG at its cutoff."""
    if len(names) < 2:
        return {}
    if isinstance(measure, AspectMean):
        return {part.one_aspect: part for part in measures_of_aspects(measure, judgments).values()}
    if isinstance(measure, BasedMeasure):
        base = measure.bases.one.text
    else:
        base = f"nDCG@{measure.cutoff or 10}"
    scales = measure.spec if isinstance(measure.spec, Aspects) else None
    return {name: On(aspect=name, base=base, aspects=scales) for name in names}
