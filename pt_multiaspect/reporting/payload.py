"""The data of a report's script: names, values, tests and rankings as JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from ..analysis import PredictionPowered
from ..evaluation.topic_groups import ALL
from ..integration.aggregators import lower_aggregate_is_better, lower_is_better
from ..tables.content import best_marks
from .figures import Figures, fronts, interval_values, rows_of_group, values_by_measure


def payload(figures: Figures, rankings: dict[str, Any]) -> dict[str, Any]:
    """Collect the data of a page.

    Parameters
    ----------
    figures : Figures
        The figures.
    rankings : dict
        The result of `rankings_payload`.

    Returns
    -------
    dict
        The data. Arrays are in the order of ``runs``, ``queries`` and ``measures``. Values have full precision;
        p-values have six significant digits, and verdicts follow from the p-values before rounding.
    """
    names, qids, _, values = values_by_measure(figures.perquery)
    known, options = figures.measures, figures.options
    aspects = {label: aspect for aspect, label in figures.aspects.items()}
    measures = [
        {
            "label": head.label,
            "short": head.short,
            "aspect": aspects.get(head.label),
            "lower": lower_is_better(known[head.label]),
            "lowerMean": lower_aggregate_is_better(known[head.label]),
        }
        for head in figures.heads
    ]
    number_of_topic = {str(qid): number for number, qid in enumerate(qids)}
    members: dict[str, list[int]] = {group: [] for group in figures.groups.values()}
    for qid, group in figures.groups.items():
        members[group].append(number_of_topic[qid])
    return {
        "runs": names,
        "queries": qids,
        "measures": measures,
        "aspects": list(figures.aspects),
        "ci": options.ci,
        "values": values.tolist(),
        "baseline": None if figures.baseline is None else names.index(figures.baseline),
        **_topics_payload(figures, ALL, list(range(len(qids)))),
        "groups": [_topics_payload(figures, group, sorted(topics)) for group, topics in members.items()],
        **rankings,
    }


def _topics_payload(figures: Figures, group: str, topics: list[int]) -> dict[str, Any]:
    """Return the data that depend on the chosen topics: those of a group, or all topics."""
    table = rows_of_group(figures.systems, group)
    compared = None if figures.tests is None else rows_of_group(figures.tests.comparisons, group)
    names, known, options = table["name"].tolist(), figures.measures, figures.options
    means = [table[label].tolist() for label in known]
    return {
        "group": group,
        "shown": topics,
        "means": means,
        "marks": [
            best_marks(np.array(column, dtype=np.float64), head.lower_is_better)
            for column, head in zip(means, figures.heads, strict=True)
        ],
        "ends": [interval_values(table, label, options.ci) for label in known],
        "powered": None
        if figures.powered is None or group != ALL
        else _estimates_payload(figures.powered, list(known)),
        "tests": None
        if compared is None or compared.empty
        else _tests_payload(compared, names, list(known), options.alpha),
        "fronts": {f"{x},{y}": rows for (x, y), rows in fronts(figures.perquery, table, list(known)).items()},
    }


def _estimates_payload(powered: PredictionPowered, labels: list[str]) -> list[list[list[float]] | None]:
    """Return the estimates and the ends of their intervals by measure, None for a measure without estimates."""
    by_label = {str(label): rows for label, rows in powered.table.groupby("measure", sort=False)}
    columns = ["estimate", "low", "high"]
    return [by_label[label][columns].to_numpy().T.tolist() if label in by_label else None for label in labels]


def _tests_payload(compared: pd.DataFrame, names: list[str], labels: list[str], alpha: float) -> dict[str, Any]:
    """Return the p-value and the verdict of each system against each baseline: + better, - worse, . neither."""
    rows_by_name = {name: row for row, name in enumerate(names)}
    p, verdicts = [], []
    by_measure = {str(label): rows for label, rows in compared.groupby("measure", sort=False)}
    for label in labels:
        rows = by_measure[label]
        baselines, systems = (rows[column].map(rows_by_name).to_numpy() for column in ("baseline", "name"))
        levels = np.ones((len(names), len(names)))
        levels[baselines, systems] = rows["p"]
        signs = np.full(levels.shape, ".")
        signs[baselines, systems] = rows["verdict"].map({"better": "+", "worse": "-", "": "."})
        p.append([[float(f"{level:.6g}") for level in row] for row in levels.tolist()])
        verdicts.append(["".join(row) for row in signs.tolist()])
    return {"alpha": alpha, "p": p, "verdicts": verdicts}


def as_script(data: dict[str, Any]) -> str:
    """Return JSON that is safe in a script element, regardless of the names in it.

    Parameters
    ----------
    data : dict
        The data.

    Returns
    -------
    str
        ASCII without <, > and &, so that names can neither end the element nor open another.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
