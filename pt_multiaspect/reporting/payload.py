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
from ..collection import Judgments, Rankings
from ..errors import MultiAspectError, number_of, silence_warnings
from ..evaluation.macro_means import MACRO
from ..evaluation.topic_groups import ALL
from ..explanation.contributions import Contributions, Prefixes
from ..integration.parsing import as_measure
from ..io.runs import join
from ..tables.content import shown_marks
from .results import Results, interval_values, rows_of_group
from .settings import ALPHA, CI


def payload(
    results: Results, rankings: dict[str, Any], answers: list[list[dict[str, Any] | None]] | None
) -> dict[str, Any]:
    """Collect the data of a page.

    Parameters
    ----------
    results : Results
        The results.
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
    names, qids, values = results.by_measure()
    all_topics = list(range(len(qids)))
    baseline = None
    if results.baseline is not None:
        baseline = names.index(results.baseline)
    groups = []
    for group, topics in _topics_of_groups(results, qids).items():
        groups.append(_topics_payload(results, group, topics))
    return {
        "runs": names,
        "queries": qids,
        "texts": [results.texts.get(str(qid), "") for qid in qids],
        "measures": _measures_payload(results),
        "aspects": list(results.aspects),
        "ci": CI,
        "values": values.tolist(),
        "baseline": baseline,
        **_topics_payload(results, ALL, all_topics),
        "groups": groups,
        "depth": 0,
        "topics": all_topics,
        **rankings,
        "answers": answers,
    }


def _measures_payload(results: Results) -> list[dict[str, Any]]:
    """Return the names and directions of the measures, and the aspects that they are of."""
    aspects = {label: aspect for aspect, label in results.aspects.items()}
    measures = []
    for head in results.heads:
        measures.append(
            {
                "label": head.label,
                "short": head.short,
                "aspect": aspects.get(head.label),
                "lower": results.lower[head.label],
                "lowerMean": head.lower_is_better,
            }
        )
    return measures


def _topics_of_groups(results: Results, qids: list[str]) -> dict[str, list[int]]:
    """Return the positions of the topics of each group, and of all for macro means."""
    group_of = results.structure.by or {}
    topics: dict[str, list[int]] = {group: [] for group in group_of.values()}
    if topics:
        for position, qid in enumerate(qids):
            group = group_of[str(qid)]
            topics[group].append(position)
    if results.structure.macro is not None:
        topics[MACRO] = list(range(len(qids)))
    return topics


def _topics_payload(results: Results, group: str, topics: list[int]) -> dict[str, Any]:
    """Return the data that depend on the chosen topics: those of a group, or all topics."""
    table = rows_of_group(results.systems, group)
    labels = list(results.measures)
    means, marks, ends = [], [], []
    for head in results.heads:
        column = table[head.label]
        means.append(column.tolist())
        marks.append(shown_marks(column.to_numpy(np.float64), head.lower_is_better))
        ends.append(interval_values(table, head.label))
    size: int | str = len(topics)
    macro = results.structure.macro
    if macro is not None and group == MACRO and macro.groups:
        size = number_of(len(macro.groups), "group")
    powered = None
    if results.powered is not None and group == ALL:
        powered = _estimates_payload(results.powered, labels)
    tests = None
    if results.tests is not None:
        compared = rows_of_group(results.tests.comparisons, group)
        if not compared.empty:
            tests = _tests_payload(compared, table["name"].tolist(), labels, ALPHA)
    return {
        "group": group,
        "size": size,
        "shown": topics,
        "means": means,
        "marks": marks,
        "ends": ends,
        "powered": powered,
        "tests": tests,
    }


def _estimates_payload(
    powered: PredictionPowered, labels: list[str]
) -> list[list[list[float]] | None]:
    """Return the estimates and the ends of their intervals by measure.

    None for a measure without estimates.
    """
    result: list[list[list[float]] | None] = []
    for label in labels:
        rows = powered.table[powered.table["measure"].astype(str) == label]
        if rows.empty:
            result.append(None)
        else:
            estimates = rows[["estimate", "low", "high"]].to_numpy()
            result.append(estimates.T.tolist())
    return result


def _tests_payload(
    compared: pd.DataFrame, names: list[str], labels: list[str], alpha: float
) -> dict[str, Any]:
    """Return the p-value and the verdict of each system against each baseline.

    Verdicts are + better, - worse, . neither.
    """
    position = {name: row for row, name in enumerate(names)}
    p, verdicts = [], []
    for label in labels:
        rows = compared[compared["measure"] == label]
        baseline = rows["baseline"].map(position)
        system = rows["name"].map(position)
        levels = np.ones((len(names), len(names)))  # baselines × systems
        levels[baseline, system] = rows["p"]
        signs = np.full(levels.shape, ".")
        signs[baseline, system] = rows["verdict"].map({"better": "+", "worse": "-", "": "."})
        p.append([list(map(_six_digits, row)) for row in levels.tolist()])
        verdicts.append(["".join(row) for row in signs.tolist()])
    return {"alpha": alpha, "p": p, "verdicts": verdicts}


def _six_digits(level: float) -> float:
    return float(f"{level:.6g}")


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
    fewest = min(depth, _FEWEST_RANKS)
    fitting = min(depth, MOST_CONTRIBUTIONS // (per_rank * n_topics))
    depth = max(fewest, fitting)
    n_kept = min(n_topics, MOST_CONTRIBUTIONS // (per_rank * depth))
    n_kept = max(1, n_kept)
    spread = values.max(axis=1) - values.min(axis=1)  # measures × topics
    widest = spread.max(axis=1, keepdims=True)
    relative = np.divide(spread, widest, out=np.zeros_like(spread), where=widest > 0)
    by_spread = np.argsort(-relative.mean(axis=0), kind="stable")
    return depth, np.sort(by_spread[:n_kept])


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
    # The documents of each topic, numbered in the order of their first occurrence.
    documents: list[dict[str, int]] = [{} for _ in topics]
    parts: dict[str, list[Contributions]] = {label: [] for label in measures}
    reasons: dict[str, str] = {}
    ranks = []
    labels = []
    with silence_warnings():
        for name, run in runs.items():
            rankings = join(name, run, judgments)
            ranks.append(_ranks_payload(rankings, depth, topics, documents))
            prefixes = Prefixes(rankings, depth)
            for label in measures.keys() - reasons:
                try:
                    parts[label].append(Contributions.of(as_measure(measures[label]), prefixes))
                except MultiAspectError as error:
                    reasons[label] = str(error)
        for view in judgments.views(spec):
            labels.append(_labels_payload(documents, judgments, topics, view.label))
    contributions: list[Any] = []
    for row, label in enumerate(measures):
        if label in reasons:
            contributions.append(reasons[label])
        else:
            contributions.append(_contributions_payload(parts[label], values[row], topics))
    return {
        "depth": depth,
        "topics": topics.tolist(),
        "documents": list(map(list, documents)),
        "labels": labels,
        "ranks": ranks,
        "contributions": contributions,
    }


def _ranks_payload(
    rankings: Rankings, depth: int, topics: Ints, documents: list[dict[str, int]]
) -> list[list[int]]:
    """Return the first ranks of each topic as numbers of documents, and number the new ones."""
    positions = {topic: row for row, topic in enumerate(topics.tolist())}
    query, _, docnos = rankings.documents(depth)
    ranks: list[list[int]] = [[] for _ in topics]
    for topic, docno in zip(query.tolist(), docnos.tolist(), strict=True):
        row = positions.get(topic)
        if row is None:
            continue
        numbers = documents[row]
        ranks[row].append(numbers.setdefault(docno, len(numbers)))
    return ranks


def _labels_payload(
    documents: list[dict[str, int]], judgments: Judgments, topics: Ints, label: Floats
) -> list[list[float | int | None]]:
    """Return the labels of the documents of each topic, None for missing ones."""
    begins = np.searchsorted(judgments.pool_query, topics).tolist()
    ends = np.searchsorted(judgments.pool_query, topics + 1).tolist()
    result = []
    for numbers, begin, end in zip(documents, begins, ends, strict=True):
        docnos = judgments.docnos[begin:end].tolist()
        labels = label[begin:end].tolist()
        known = dict(zip(docnos, labels, strict=True))
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
    if marginal.all():
        result["marginal"] = True
    elif marginal.any():
        result["marginal"] = marginal.astype(int).tolist()
    tolerance = _TOLERANCE * np.maximum(1.0, np.abs(evaluated))
    differs = np.abs(value - evaluated) > tolerance
    explained = []
    for run, topic in np.argwhere(differs).tolist():
        explained.append([run, topic, float(value[run, topic])])
    if explained:
        result["explained"] = explained
    return result


def _decimals(ranks: Floats) -> int:
    """Return the number of decimals.

    It is four, more if the largest contribution is small, and fewer beyond all digits.
    """
    most = float(np.abs(ranks).max(initial=0.0))
    magnitude = 0
    if most > 0:
        magnitude = math.ceil(math.log10(most))
    if magnitude < 0:
        return min(_DIGITS - magnitude, _MOST_DIGITS)
    return min(_DIGITS, _MOST_DIGITS - magnitude)


def _drop_zeros(row: NDArray[np.int64]) -> list[int]:
    """Return numbers without trailing zeros."""
    nonzero = np.flatnonzero(row)
    if not len(nonzero):
        return []
    used: list[int] = row[: nonzero[-1] + 1].tolist()
    return used
