"""Figures of values per topic, such as scores of answers, without runs and judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis._frames import Direction, check_directions, matrix, rows_of_measures, select_measures
from ..aspects import Aspects
from ..aspects.parameter import parse_aspects
from ..errors import MultiAspectError, choices
from ..evaluation import check_columns, interval_columns
from ..evaluation.aggregation import read_topic_groups
from ..evaluation.long_frames import COLUMNS, is_combined, labels_of_aspects, measures_by_label, read_named_values
from ..evaluation.provenance import as_yaml, provenance_of_values
from ..integration.parsing import record_measures
from .figures import Figures, Options, check_baseline


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
