"""What the script of a report reads: names, values, tests and rankings as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..errors import MultiAspectError
from ..evaluation.labels import recorded
from ..integration.aggregators import lower_aggregate_is_better, lower_is_better
from ..tables.heads import heads_of
from .figures import Options, ends, fronts, wide

if TYPE_CHECKING:
    from .build import Report

__all__ = ["as_script", "payload"]


def payload(report: Report, options: Options, ranked: dict[str, Any]) -> dict[str, Any]:
    """Collect the data of a page.

    Parameters
    ----------
    report : Report
        What was computed.
    options : Options
        How systems are compared.
    ranked : dict
        The rankings, see `rankings.ranked`.

    Returns
    -------
    dict
        Arrays are in the order of ``runs``, ``queries`` and ``measures``. Values have full precision; p-values have
        six significant digits, and verdicts follow from the p-values before rounding.
    """
    names, qids, labels, values = wide(report.perquery)
    if not np.isfinite(values).all():
        raise MultiAspectError("report: expected finite values, got NaN or infinity from one of the measures")
    known = recorded(report.perquery)
    aspects = {label: aspect for aspect, label in report.aspects.items()}
    heads = heads_of({label: known[label] for label in labels})
    measures = [
        {
            "label": head.label,
            "short": head.short,
            "aspect": aspects.get(head.label),
            "lower": lower_is_better(known[head.label]),
            "lowerMean": lower_aggregate_is_better(known[head.label]),
        }
        for head in heads
    ]
    table, compared = report.systems, report.comparisons
    return {
        "runs": names,
        "queries": qids,
        "measures": measures,
        "aspects": list(report.aspects),
        "means": [table[label].tolist() for label in labels],
        "ends": [ends(table, label, options.ci) for label in labels],
        "ci": options.ci,
        "values": values.tolist(),
        "baseline": None if report.baseline is None else names.index(report.baseline),
        "tests": None if compared is None else _tests(compared, names, labels, known, options.alpha),
        "fronts": {f"{x},{y}": rows for (x, y), rows in fronts(report.perquery, table, labels).items()},
        **ranked,
    }


def _tests(
    compared: pd.DataFrame, names: list[str], labels: list[str], known: dict[str, Any], alpha: float
) -> dict[str, Any]:
    """The p-value and the verdict of each system against each baseline: + better, - worse, . neither."""
    place = {name: row for row, name in enumerate(names)}
    p, verdicts = [], []
    by_measure = {str(label): rows for label, rows in compared.groupby("measure", sort=False)}
    for label in labels:
        rows = by_measure[label]
        against, of = (rows[column].map(place).to_numpy() for column in ("baseline", "name"))
        levels = np.ones((len(names), len(names)))
        levels[against, of] = rows["p"]
        signs = np.full(levels.shape, ".")
        gain = rows["difference"].to_numpy() * (-1 if lower_is_better(known[label]) else 1)
        found = rows["significant"].to_numpy(dtype=bool) & (gain != 0)
        signs[against[found], of[found]] = np.where(gain[found] > 0, "+", "-")
        p.append([[float(f"{level:.6g}") for level in row] for row in levels.tolist()])
        verdicts.append(["".join(row) for row in signs.tolist()])
    return {"alpha": alpha, "p": p, "verdicts": verdicts}


def as_script(data: dict[str, Any]) -> str:
    """Return JSON that can stand in a script element, whatever the names in it.

    Parameters
    ----------
    data : dict
        The data.

    Returns
    -------
    str
        ASCII without <, > and &, so that no name can end the element or open another.
    """
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
