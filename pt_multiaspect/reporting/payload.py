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
    data: dict[str, Any] = {
        "runs": names,
        "queries": qids,
        "texts": [results.texts.get(str(qid), "") for qid in qids],
        "measures": _measures_payload(results),
        "aspects": list(results.aspects),
        "ci": CI,
        "values": values.tolist(),
        "baseline": baseline,
    }
    # What the page shows first is of all topics; that of a group replaces it when it is chosen.
    data.update(_topics_payload(results, ALL, all_topics))
    data["groups"] = []
    for group, topics in _topics_of_groups(results, qids).items():
        data["groups"].append(_topics_payload(results, group, topics))
    # Rankings have a depth and topics of their own, which replace these.
    data["depth"] = 0
    data["topics"] = all_topics
    data.update(rankings)
    data["answers"] = answers
    return data


def _measures_payload(results: Results) -> list[dict[str, Any]]:
    """Return the names, directions and aspects of the measures.

    The aspect is None for measures that are not of one aspect alone. ``lower`` is whether lower
    values of a topic are better, ``lowerMean`` whether lower aggregates are.
    """
    aspect_by_label = {label: aspect for aspect, label in results.aspects.items()}
    measures = []
    for head in results.heads:
        measures.append(
            {
                "label": head.label,
                "short": head.short,
                "aspect": aspect_by_label.get(head.label),
                "lower": results.lower[head.label],
                "lowerMean": head.lower_is_better,
            }
        )
    return measures


def _topics_of_groups(results: Results, qids: list[str]) -> dict[str, list[int]]:
    """Return the positions of the topics of each group, and of all for macro means."""
    topics_by_group: dict[str, list[int]] = {}
    group_by_qid = results.structure.by
    if group_by_qid:
        # Groups are in the order in which they are given.
        for group in group_by_qid.values():
            topics_by_group[group] = []
        for position, qid in enumerate(qids):
            group = group_by_qid[str(qid)]
            topics_by_group[group].append(position)
    if results.structure.macro is not None:
        topics_by_group[MACRO] = list(range(len(qids)))
    return topics_by_group


def _topics_payload(results: Results, group: str, topics: list[int]) -> dict[str, Any]:
    """Return the data that depend on the chosen topics: those of a group, or all topics.

    Arrays are by measure, then by system.
    """
    table = rows_of_group(results.systems, group)
    means = []
    marks = []
    intervals = []
    for head in results.heads:
        column = table[head.label]
        values = column.to_numpy(np.float64)
        means.append(column.tolist())
        marks.append(shown_marks(values, head.lower_is_better))
        intervals.append(interval_values(table, head.label))
    labels = list(results.measures)
    estimates = None
    if results.powered is not None and group == ALL:  # there are none of groups
        estimates = _estimates_payload(results.powered, labels)
    tests = None
    if results.tests is not None:
        comparisons = rows_of_group(results.tests.comparisons, group)
        if not comparisons.empty:
            names = table["name"].tolist()
            tests = _tests_payload(comparisons, names, labels, ALPHA)
    return {
        "group": group,
        "size": _size_of_group(results, group, len(topics)),
        "shown": topics,
        "means": means,
        "marks": marks,
        "ends": intervals,
        "powered": estimates,
        "tests": tests,
    }


def _size_of_group(results: Results, group: str, n_topics: int) -> int | str:
    """Return how many items means are over: the number of topics of a group, or of all topics.

    Macro means are over groups: then it is a text such as "3 groups".
    """
    macro = results.structure.macro
    if macro is not None and group == MACRO:
        n_groups = len(macro.groups)
        return number_of(n_groups, "group")
    return n_topics


def _estimates_payload(
    powered: PredictionPowered, labels: list[str]
) -> list[list[list[float]] | None]:
    """Return the estimates, and the lower and upper ends of their intervals, by measure.

    None for a measure without estimates.
    """
    estimates: list[list[list[float]] | None] = []
    names_of_measures = powered.table["measure"].astype(str)
    for label in labels:
        rows = powered.table[names_of_measures == label]
        if rows.empty:
            estimates.append(None)
        else:
            of_measure = [rows[column].tolist() for column in ("estimate", "low", "high")]
            estimates.append(of_measure)
    return estimates


def _tests_payload(
    comparisons: pd.DataFrame, names: list[str], labels: list[str], alpha: float
) -> dict[str, Any]:
    """Return the p-value and the verdict of each system against each baseline.

    Returns
    -------
    dict
        ``alpha``; ``p`` by measure, baseline and system, 1 without a test; and ``verdicts`` by
        measure and baseline, texts with a sign per system: + better, - worse, . neither.
    """
    row_by_name = {name: row for row, name in enumerate(names)}
    sign_by_verdict = {"better": "+", "worse": "-", "": "."}
    shape = (len(names), len(names))  # baselines × systems
    p_by_measure = []
    verdicts_by_measure = []
    for label in labels:
        tests = comparisons[comparisons["measure"] == label]
        baselines = tests["baseline"].map(row_by_name)
        systems = tests["name"].map(row_by_name)

        p = np.ones(shape)
        p[baselines, systems] = tests["p"]
        rounded_p = []
        for p_of_baseline in p.tolist():
            rounded_p.append(list(map(_six_digits, p_of_baseline)))
        p_by_measure.append(rounded_p)

        signs = np.full(shape, ".")
        signs[baselines, systems] = tests["verdict"].map(sign_by_verdict)
        verdicts_of_baselines = []
        for signs_of_baseline in signs.tolist():
            verdicts_of_baselines.append("".join(signs_of_baseline))
        verdicts_by_measure.append(verdicts_of_baselines)
    return {"alpha": alpha, "p": p_by_measure, "verdicts": verdicts_by_measure}


def _six_digits(level: float) -> float:
    """Return a p-value with six significant digits, which suffice to print it."""
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
    # These signs are in strings only, where JSON allows escapes.
    for sign, escape in (("<", r"\u003c"), (">", r"\u003e"), ("&", r"\u0026")):
        text = text.replace(sign, escape)
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
    # Each measure has one contribution per run, topic and rank. As many ranks as fit, but at least
    # the minimum.
    n_per_rank = n_measures * n_runs * n_topics
    n_fitting_ranks = MOST_CONTRIBUTIONS // n_per_rank
    chosen_depth = min(depth, max(n_fitting_ranks, _FEWEST_RANKS))
    # With these, as many topics as fit, but at least one.
    n_per_topic = n_measures * n_runs * chosen_depth
    n_fitting_topics = max(1, MOST_CONTRIBUTIONS // n_per_topic)
    differences = _relative_differences(values)
    topics_by_difference = np.argsort(-differences, kind="stable")  # largest first
    chosen_topics = topics_by_difference[:n_fitting_topics]
    return chosen_depth, np.sort(chosen_topics)


def _relative_differences(values: Floats) -> Floats:
    """Return how much runs differ on each topic, in the mean of the measures, from 0 to 1.

    The range of the runs on a topic is divided by the largest range of the measure.

    Parameters
    ----------
    values : ndarray of float, shape (n_measures, n_runs, n_topics)
        The values.
    """
    ranges = values.max(axis=1) - values.min(axis=1)  # measures × topics
    largest = ranges.max(axis=1, keepdims=True)  # measures × 1
    # It is 0 for a measure on which all runs are equal, which has no differences.
    differs = largest > 0
    relative = np.divide(ranges, largest, out=np.zeros_like(ranges), where=differs)
    mean_of_measures: Floats = relative.mean(axis=0)
    return mean_of_measures


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
    # Each run adds the documents that no run before it retrieves, with their numbers, and its
    # contributions to each measure.
    documents: list[dict[str, int]] = [{} for _ in topics]
    contributions_by_label: dict[str, list[Contributions] | str] = {}
    for label in measures:
        contributions_by_label[label] = []
    ranks = []
    labels = []
    with silence_warnings():
        for name, run in runs.items():
            rankings = join(name, run, judgments)
            ranks.append(_ranks_payload(rankings, depth, topics, documents))
            prefixes = Prefixes(rankings, depth)
            _add_contributions(contributions_by_label, measures, prefixes)
        for view in judgments.views(spec):
            labels.append(_labels_payload(documents, judgments, topics, view.label))
    contributions: list[Any] = []
    for row, label in enumerate(measures):
        contributions_of_runs = contributions_by_label[label]
        payload = _contributions_or_reason(contributions_of_runs, values[row], topics)
        contributions.append(payload)
    return {
        "depth": depth,
        "topics": topics.tolist(),
        "documents": list(map(list, documents)),
        "labels": labels,
        "ranks": ranks,
        "contributions": contributions,
    }


def _contributions_or_reason(
    runs: list[Contributions] | str, values: Floats, topics: Ints
) -> dict[str, Any] | str:
    """Return the contributions to one measure as JSON, or the reason why there are none.

    The parameters are those of `_contributions_payload`; `runs` may be the reason.
    """
    if isinstance(runs, str):
        return runs
    return _contributions_payload(runs, values, topics)


def _add_contributions(
    contributions_by_label: dict[str, list[Contributions] | str],
    measures: Mapping[str, ir_measures.Measure],
    prefixes: Prefixes,
) -> None:
    """Add the contributions of a run to those of the runs before it, by measure.

    If there are none, the reason takes the place of the contributions of all runs.
    """
    for label, measure in measures.items():
        of_runs = contributions_by_label[label]
        if isinstance(of_runs, str):
            continue
        try:
            of_run = Contributions.of(as_measure(measure), prefixes)
        except MultiAspectError as error:
            contributions_by_label[label] = str(error)
        else:
            of_runs.append(of_run)


def _ranks_payload(
    rankings: Rankings, depth: int, topics: Ints, documents: list[dict[str, int]]
) -> list[list[int]]:
    """Return the first ranks of a run on each topic, as numbers of documents.

    Parameters
    ----------
    rankings : Rankings
        The run.
    depth : int
        The number of ranks.
    topics : ndarray of int
        The positions of the topics.
    documents : list of dict of str to int
        For each topic the number of each known document, to which new ones are added.
    """
    row_by_topic = {topic: row for row, topic in enumerate(topics.tolist())}
    topic_of_document, _, docnos = rankings.documents(depth)
    ranks: list[list[int]] = [[] for _ in topics]
    # The documents are in the order of the ranking.
    for topic, docno in zip(topic_of_document.tolist(), docnos.tolist(), strict=True):
        is_shown = topic in row_by_topic
        if not is_shown:
            continue
        row = row_by_topic[topic]
        number_of_docno = documents[row]
        if docno not in number_of_docno:
            number_of_docno[docno] = len(number_of_docno)
        ranks[row].append(number_of_docno[docno])
    return ranks


def _labels_payload(
    documents: list[dict[str, int]], judgments: Judgments, topics: Ints, labels: Floats
) -> list[list[float | int | None]]:
    """Return the labels of the documents of each topic on an aspect, None for missing ones.

    Parameters
    ----------
    documents : list of dict of str to int
        For each topic the number of each document.
    judgments : Judgments
        The judged documents, sorted by topic.
    topics : ndarray of int
        The positions of the topics.
    labels : ndarray of float, shape (n_judged,)
        The label of each judged document, NaN for missing ones.
    """
    # The judged documents of each topic are together: where they begin, and where they end.
    begins = np.searchsorted(judgments.pool_query, topics, side="left").tolist()
    ends = np.searchsorted(judgments.pool_query, topics, side="right").tolist()
    labels_by_topic = []
    for begin, end, number_of_docno in zip(begins, ends, documents, strict=True):
        judged_docnos = judgments.docnos[begin:end].tolist()
        judged_labels = labels[begin:end].tolist()
        label_by_docno = dict(zip(judged_docnos, judged_labels, strict=True))
        shown_docnos = list(number_of_docno)  # in the order of their numbers
        shown_labels = []
        for docno in shown_docnos:
            label = label_by_docno.get(docno, math.nan)
            shown_labels.append(_json_label(label))
        labels_by_topic.append(shown_labels)
    return labels_by_topic


def _json_label(label: float) -> float | int | None:
    """Return a label as JSON has it: None for NaN, and whole numbers without decimals."""
    if math.isnan(label):
        return None
    if label == int(label):
        return int(label)
    return label


def _contributions_payload(
    runs: list[Contributions], values: Floats, topics: Ints
) -> dict[str, Any]:
    """Return the contributions to one measure.

    Parameters
    ----------
    runs : list of Contributions
        The contributions of each run on all topics.
    values : ndarray of float, shape (n_runs, n_topics)
        The values of the measure.
    topics : ndarray of int
        The positions of the shown topics.

    Returns
    -------
    dict
        ``decimals``; ``ranks``, the contributions by run and topic, in units of 10^-decimals;
        ``offset`` by run and topic, if there is one; ``marginal``, True if all contributions are
        marginal, or 1 or 0 by run and topic if some are; ``explained``, the explained values [run,
        topic, value] that differ from the evaluated ones, as ir-measures rounds some measures.
    """
    contributions = np.stack([run.ranks[topics] for run in runs])  # runs × topics × ranks
    decimals = _number_of_decimals(contributions)
    units = np.rint(contributions * 10.0**decimals).astype(np.int64)
    ranks = []
    for units_of_run in units:
        ranks.append(list(map(_drop_trailing_zeros, units_of_run)))
    result: dict[str, Any] = {"decimals": decimals, "ranks": ranks}
    offset = np.stack([run.offset[topics] for run in runs])  # runs × topics, as those below
    if offset.any():
        result["offset"] = offset.tolist()
    is_marginal = np.stack([run.marginal[topics] for run in runs])
    if is_marginal.all():
        result["marginal"] = True
    elif is_marginal.any():
        result["marginal"] = is_marginal.astype(int).tolist()
    explained = np.stack([run.value[topics] for run in runs])
    differing = _differing_values(explained, values[:, topics])
    if differing:
        result["explained"] = differing
    return result


def _differing_values(explained: Floats, evaluated: Floats) -> list[list[Any]]:
    """Return the run, topic and value of each explained value that differs from the evaluated one.

    Both arrays are of shape (n_runs, n_topics).
    """
    # Small values are compared absolutely, large ones relatively.
    size = np.maximum(1.0, np.abs(evaluated))
    tolerance = _TOLERANCE * size
    difference = np.abs(explained - evaluated)
    differing = []
    for run, topic in np.argwhere(difference > tolerance).tolist():
        value = float(explained[run, topic])
        differing.append([run, topic, value])
    return differing


def _number_of_decimals(contributions: Floats) -> int:
    """Return the number of decimals with which contributions to a measure are written.

    It is four, more if the largest contribution is small, and fewer beyond all digits of a float.
    """
    largest = float(np.abs(contributions).max(initial=0.0))
    if largest == 0:
        return _DIGITS
    exponent = math.ceil(math.log10(largest))
    if exponent < 0:  # such as -2 for 0.005, which has 2 zeros after the point
        n_zeros = -exponent
        return min(n_zeros + _DIGITS, _MOST_DIGITS)
    n_whole_digits = exponent  # such as 3 for 500
    return min(_DIGITS, _MOST_DIGITS - n_whole_digits)


def _drop_trailing_zeros(row: NDArray[np.int64]) -> list[int]:
    """Return numbers without trailing zeros."""
    nonzero = np.flatnonzero(row)
    if len(nonzero) == 0:
        return []
    last_nonzero = nonzero[-1]
    kept: list[int] = row[: last_nonzero + 1].tolist()
    return kept
