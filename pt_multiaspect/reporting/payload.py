"""The data of a report's script as JSON: names, values, tests and rankings.

Documents of a topic are listed once, and ranks refer to them by position. Contributions are
integers: multiples of a power of ten per measure, with either the four decimals of values or the
four highest digits. Trailing zeros are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from ..analysis.prediction_powered import PredictionPowered
from ..aspects import AspectSpec
from ..collection import Judgments
from ..errors import MultiAspectError, number_of, silence_warnings
from ..evaluation.macro_means import MACRO
from ..evaluation.topic_groups import ALL
from ..explanation.contributions import Contributions, Prefixes
from ..integration.parsing import as_measure
from ..io.runs import join
from ..tables.content import shown_marks
from .results import Figures, interval_values, rows_of_group
from .settings import ALPHA, CI


def payload(
    figures: Figures, rankings: dict[str, Any], answers: list[list[dict[str, Any] | None]] | None
) -> dict[str, Any]:
    """Collect the data of a page.

    Parameters
    ----------
    figures : Figures
        The figures.
    rankings : dict
        The result of `rankings_payload`; empty for values without rankings.
    answers : list or None
        The result of `answers_payload`.

    Returns
    -------
    dict
        The data. Arrays are in the order of ``runs``, ``queries`` and ``measures``. Values have
        full precision; p-values have six significant digits, and verdicts follow from the p-values
        before rounding.
    """
    names, qids, values = figures.by_measure()
    aspects = {label: aspect for aspect, label in figures.aspects.items()}
    measures = [
        {
            "label": head.label,
            "short": head.short,
            "aspect": aspects.get(head.label),
            "lower": figures.lower[head.label],
            "lowerMean": head.lower_is_better,
        }
        for head in figures.heads
    ]
    group_of = figures.structure.by or {}
    members: dict[str, list[int]] = {group: [] for group in group_of.values()}
    for number, qid in enumerate(qids if members else []):
        members[group_of[str(qid)]].append(number)
    if figures.structure.macro is not None:
        members[MACRO] = list(range(len(qids)))
    return {
        "runs": names,
        "queries": qids,
        "texts": [figures.texts.get(str(qid), "") for qid in qids],
        "measures": measures,
        "aspects": list(figures.aspects),
        "ci": CI,
        "values": values.tolist(),
        "baseline": None if figures.baseline is None else names.index(figures.baseline),
        **_topics_payload(figures, ALL, list(range(len(qids)))),
        "groups": [_topics_payload(figures, group, topics) for group, topics in members.items()],
        "depth": 0,
        "topics": list(range(len(qids))),
        **rankings,
        "answers": answers,
    }


def _topics_payload(figures: Figures, group: str, topics: list[int]) -> dict[str, Any]:
    """Return the data that depend on the chosen topics: those of a group, or all topics."""
    table = rows_of_group(figures.systems, group)
    if figures.tests is None:
        compared = None
    else:
        compared = rows_of_group(figures.tests.comparisons, group)
    names, known = table["name"].tolist(), figures.measures
    means = [table[label].tolist() for label in known]
    if figures.structure.macro is not None and group == MACRO:
        groups = figures.structure.macro.groups
    else:
        groups = []
    return {
        "group": group,
        "size": number_of(len(groups), "group") if groups else len(topics),
        "shown": topics,
        "means": means,
        "marks": [
            shown_marks(np.array(column, dtype=np.float64), head.lower_is_better)
            for column, head in zip(means, figures.heads, strict=True)
        ],
        "ends": [interval_values(table, label) for label in known],
        "powered": None
        if figures.powered is None or group != ALL
        else _estimates_payload(figures.powered, list(known)),
        "tests": None
        if compared is None or compared.empty
        else _tests_payload(compared, names, list(known), ALPHA),
    }


def _estimates_payload(
    powered: PredictionPowered, labels: list[str]
) -> list[list[list[float]] | None]:
    """Return the estimates and the ends of their intervals by measure, None for a measure without estimates."""
    by_label = {str(label): rows for label, rows in powered.table.groupby("measure", sort=False)}
    columns = ["estimate", "low", "high"]
    return [
        by_label[label][columns].to_numpy().T.tolist() if label in by_label else None
        for label in labels
    ]


def _tests_payload(
    compared: pd.DataFrame, names: list[str], labels: list[str], alpha: float
) -> dict[str, Any]:
    """Return the p-value and the verdict of each system against each baseline: + better, - worse, . neither."""
    position = {name: row for row, name in enumerate(names)}
    p, verdicts = [], []
    for label in labels:
        rows = compared[compared["measure"] == label]
        pairs = tuple(rows[side].map(position) for side in ("baseline", "name"))
        levels = np.ones((len(names), len(names)))
        levels[pairs] = rows["p"]
        signs = np.full(levels.shape, ".")
        signs[pairs] = rows["verdict"].map({"better": "+", "worse": "-", "": "."})
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


#: Maximum number of contributions in a report, about 1 MB; they grow fastest.
MOST_CONTRIBUTIONS = 400_000

#: Minimum number of ranks; ranks are left out before topics.
_FEWEST_RANKS = 5

#: Contributions have this many decimals, like values, or significant digits, relative to the
#: largest of their measure.
_DIGITS = 4

#: Significant digits of floats.
_MOST_DIGITS = 15

#: Relative tolerance for equal values (rounding errors).
_TOLERANCE = 1e-9


def choose_extent(values: Floats, depth: int) -> tuple[int, Ints]:
    """Choose ranks and topics so that the contributions are at most `MOST_CONTRIBUTIONS`.

    Parameters
    ----------
    values : ndarray of float, shape (n_measures, n_runs, n_topics)
        The values.
    depth : int
        Maximum number of ranks.

    Returns
    -------
    depth : int
        The number of ranks.
    topics : ndarray of int
        The positions of the topics. If there is not enough space for all topics, those with the
        largest differences, relative to the range of the measure, are chosen.
    """
    n_measures, n_runs, n_topics = values.shape
    per_rank = n_measures * n_runs
    depth = max(min(depth, _FEWEST_RANKS), min(depth, MOST_CONTRIBUTIONS // (per_rank * n_topics)))
    n_kept = max(1, min(n_topics, MOST_CONTRIBUTIONS // (per_rank * depth)))
    spread = values.max(axis=1) - values.min(axis=1)
    most = spread.max(axis=1, keepdims=True)
    relative = np.divide(spread, most, out=np.zeros_like(spread), where=most > 0).mean(axis=0)
    return depth, np.sort(np.argsort(-relative, kind="stable")[:n_kept])


def rankings_payload(
    runs: Mapping[str, object],
    judgments: Judgments,
    spec: AspectSpec,
    measures: Mapping[str, ir_measures.Measure],
    values: Floats,
    depth: int,
) -> dict[str, Any]:
    """Return the first ranks of the runs, their labels and contributions, as JSON.

    Parameters
    ----------
    runs : mapping of str to run
        The evaluated runs.
    judgments : Judgments
        The judged documents.
    spec : Aspects, tuple of str or None
        The aspects whose labels are shown.
    measures : mapping of str to Measure
        The measures by label.
    values : ndarray of float, shape (n_measures, n_runs, n_topics)
        The values of the measures.
    depth : int
        Maximum number of ranks.

    Returns
    -------
    dict
        ``depth``; ``topics``, the positions of those included; ``documents`` by topic; ``labels``
        by aspect and topic, None if unjudged; ``ranks`` by run and topic, positions of documents;
        and ``contributions``, per measure a dict or the reason why there are none.
    """
    depth, topics = choose_extent(values, depth)
    with silence_warnings():
        reasons: dict[str, str] = {}
        # The documents of each topic, numbered in the order of their first occurrence.
        documents: list[dict[str, int]] = [{} for _ in topics]
        parts: dict[str, list[Contributions]] = {label: [] for label in measures}
        ranks, positions = [], {topic: row for row, topic in enumerate(topics.tolist())}
        for name, run in runs.items():
            rankings = join(name, run, judgments)
            query, _, docnos = rankings.documents(depth)
            by_topic: list[list[int]] = [[] for _ in topics]
            for topic, docno in zip(query.tolist(), docnos.tolist(), strict=True):
                if topic in positions:
                    numbers = documents[positions[topic]]
                    by_topic[positions[topic]].append(numbers.setdefault(docno, len(numbers)))
            ranks.append(by_topic)
            prefixes = Prefixes(rankings, depth)
            for label in measures.keys() - reasons:
                try:
                    parts[label].append(Contributions.of(as_measure(measures[label]), prefixes))
                except MultiAspectError as error:
                    reasons[label] = str(error)
        labels = [
            _labels_payload(documents, judgments, topics, view.label)
            for view in judgments.views(spec)
        ]
    return {
        "depth": depth,
        "topics": topics.tolist(),
        "documents": list(map(list, documents)),
        "labels": labels,
        "ranks": ranks,
        "contributions": [
            reasons[label]
            if label in reasons
            else _contributions_payload(parts[label], values[row], topics)
            for row, label in enumerate(measures)
        ],
    }


def _labels_payload(
    documents: list[dict[str, int]], judgments: Judgments, topics: Ints, label: Floats
) -> list[list[float | int | None]]:
    """Return the labels of the documents of each topic, None for missing ones."""
    begins = np.searchsorted(judgments.pool_query, [topics, topics + 1])
    result = []
    for numbers, begin, end in zip(documents, *begins.tolist(), strict=True):
        known = dict(
            zip(judgments.docnos[begin:end].tolist(), label[begin:end].tolist(), strict=True)
        )
        result.append([_json_label(known.get(docno, math.nan)) for docno in numbers])
    return result


def _json_label(label: float) -> float | int | None:
    """Return a label as JSON writes it."""
    if math.isnan(label):
        return None
    if label == int(label):
        return int(label)
    return label


def _contributions_payload(
    runs: list[Contributions], values: Floats, topics: Ints
) -> dict[str, Any]:
    """Return the contributions to one measure.

    Returns
    -------
    dict
        ``decimals``; ``ranks`` by run and topic, in units of 10^-decimals; ``offset`` and
        ``marginal`` by run and topic if there are any; ``explained``, the explained values [run,
        topic, value] that differ from the evaluated ones, as ir-measures rounds some measures.
    """
    ranks = np.stack([run.ranks[topics] for run in runs])
    offset = np.stack([run.offset[topics] for run in runs])
    marginal = np.stack([run.marginal[topics] for run in runs])
    value = np.stack([run.value[topics] for run in runs])
    evaluated = values[:, topics]
    decimals = _decimals(ranks)
    units = np.rint(ranks * 10.0**decimals).astype(np.int64)
    result: dict[str, Any] = {
        "decimals": decimals,
        "ranks": [list(map(_drop_zeros, rows)) for rows in units],
    }
    if offset.any():
        result["offset"] = offset.tolist()
    if marginal.any():
        if marginal.all():
            result["marginal"] = True
        else:
            result["marginal"] = marginal.astype(int).tolist()
    differs = np.abs(value - evaluated) > _TOLERANCE * np.maximum(1.0, np.abs(evaluated))
    if differs.any():
        result["explained"] = [
            [run, topic, float(value[run, topic])] for run, topic in np.argwhere(differs).tolist()
        ]
    return result


def _decimals(ranks: Floats) -> int:
    """Return the number of decimals: four, more if the largest contribution is small, fewer beyond all digits."""
    most = float(np.abs(ranks).max(initial=0.0))
    if most == 0:
        size = 0
    else:
        size = math.ceil(math.log10(most))
    return min(_DIGITS - min(size, 0), _MOST_DIGITS - max(size, 0))


def _drop_zeros(row: NDArray[np.int64]) -> list[int]:
    """Return numbers without trailing zeros."""
    used = np.flatnonzero(row)
    if len(used):
        result: list[int] = row[: used[-1] + 1].tolist()
    else:
        result = []
    return result
