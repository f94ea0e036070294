"""Figures of values per topic, such as scores of answers, without runs and judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..analysis._frames import Direction, directions, matrix, rows_of_measures, select_measures
from ..answers.combining import is_combined
from ..aspects import Aspects
from ..collection.frames import as_pandas, is_frame
from ..evaluation import check_columns, interval_columns
from ..evaluation.aggregation import read_topic_groups
from ..evaluation.long_frames import COLUMNS, measures_by_label, read_long_frame
from ..evaluation.provenance import as_yaml, provenance_of_values
from ..integration.parsing import record_measures
from .figures import Figures, Options, check_baseline


def is_long_frame(runs: object) -> bool:
    """Return whether runs are values per topic, or the pair that ``pt.Experiment(perquery="both")`` returns."""
    frame = runs[1] if isinstance(runs, tuple) and len(runs) == 2 else runs
    return is_frame(frame) and set(COLUMNS) <= set(map(str, getattr(as_pandas(frame), "columns", ())))


def figures_of_values(
    values: object,
    measures: Any,
    human: object,
    baseline: str | None,
    options: Options,
    by: object,
    title: str,
    date: str,
    scales: Aspects | None,
) -> Figures:
    """Return the figures of values per topic."""
    several = measures is None or (isinstance(measures, Sequence | Mapping) and not isinstance(measures, str))
    perquery, given = select_measures(_read_values(values), measures if several else [measures])
    array, names, _, labels = matrix(perquery, as_given=True, least=1)
    directions(perquery, array, labels, given if isinstance(measures, Mapping) else {}, "report")
    words = {label: measure for label, measure in given.items() if isinstance(measure, Direction)}
    by_label = {**measures_by_label(perquery), **given, **dict.fromkeys(words)}
    perquery = perquery.reset_index(drop=True)
    record_measures(perquery, by_label)
    check_columns(labels, {label: interval_columns(label, options.ci) for label in labels})
    check_baseline(baseline, names)
    by_human = None
    if human is not None:
        by_human = rows_of_measures(_read_values(human), labels)
        record_measures(by_human, by_label)
    combined = [label for label, measure in by_label.items() if is_combined(measure)]
    main = labels[0] if measures is not None or not combined else combined[0]
    groups = {} if by is None else read_topic_groups(by, perquery)
    frames = {"values": perquery} | ({} if by_human is None else {"human values": by_human})
    record = provenance_of_values(
        {name: frame[COLUMNS] for name, frame in frames.items()},
        {label: str(measure or label) for label, measure in by_label.items()},
        scales,
    )
    return Figures(
        title, None, perquery, main, _aspects(by_label), baseline, options, groups, as_yaml(record), by_human,
        words, date, scales,
    )  # fmt: skip


def _read_values(values: object) -> pd.DataFrame:
    """Return values per topic, whose names are strings."""
    perquery = read_long_frame(values)
    return perquery.assign(**{column: perquery[column].map(str) for column in COLUMNS[:3]})


def _aspects(measures: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of each aspect: measures of one aspect, or criteria that the first mean combines, if any."""
    single = {label: measure for label, measure in measures.items() if getattr(measure, "one_aspect", None)}
    bases = [measure.bases.one for measure in single.values()]
    aspects: dict[str, str] = {}
    for (label, measure), base in zip(single.items(), bases, strict=True):
        if base == bases[0]:
            aspects.setdefault(measure.one_aspect, label)
    criteria = [label for label, measure in measures.items() if measure is None]
    means = [measure for measure in measures.values() if is_combined(measure)]
    if not aspects and means:
        aspects = {name: name for name in means[0].spec or criteria if name in criteria}
    return aspects
