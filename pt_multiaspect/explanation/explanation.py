"""The functions `explain` and `largest_differences`, which finds topics to explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._validation import count
from ..bases.base import is_measure
from ..collection import AspectView, Judgments, Rankings
from ..errors import (
    MultiAspectError,
    agree,
    choices,
    number_of,
    refuse_unknown,
    shown,
    silence_warnings,
    warn_once,
)
from ..evaluation import evaluate
from ..evaluation.long_frames import find_labels, read_long_frame
from ..explanation_view import Explanation, detail_columns, gain_name
from ..integration.parsing import MeasureLike, as_measure, parse_one
from ..io.pipelines import select_topics
from ..io.runs import NamedRuns, join
from ..strings.identifiers import identifiers
from .contributions import Topic, split_value, tolerance
from .tables import (
    aspects_frame,
    label_columns,
    notes,
    ranks_frame,
    scale_positions,
    swaps_frame,
    values_by_rank,
)


def explain(
    measure: MeasureLike,
    run: object,
    qrels: object,
    qid: object,
    *,
    topics: object = None,
    depth: int = 100,
    label: str | None = None,
) -> Explanation:
    """Explain the value of any measure for one topic, rank by rank.

    Parameters
    ----------
    measure : measure or str
        A measure of this package or of ir-measures, or the name of one. Measures of ir-measures
        evaluate relevance.
    run : DataFrame, dict, iterable of namedtuples, path or pipeline
        One run, as in `evaluate`; ``{name: run}`` names it.
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    qid : str
        The topic.
    topics : DataFrame or dataset of PyTerrier, optional
        The topics that a pipeline runs on, as in `evaluate`.
    depth : int, default 100
        Number of ranks with a separate row if contributions are marginal; see `Explanation`.
    label : str, optional
        The title; by default, the measure as given.

    Returns
    -------
    Explanation
        The contribution of each retrieved document. The contributions and the offset sum to the
        value that `evaluate` returns.

    Raises
    ------
    MultiAspectError
        If the measure is unknown, the topic is not in the qrels, or the input is invalid.

    Warns
    -----
    MultiAspectWarning
        If the value of the topic in ir-measures is different, as it rounds nDCG(dcg='exp-log2')@k.

    See Also
    --------
    largest_differences : The topics on which two runs differ most.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> d1 = {"relevance": 2, "credibility": 0}
    >>> d2 = {"relevance": 1, "credibility": 1}
    >>> qrels = {"q1": {"d1": d1, "d2": d2}}
    >>> bm25 = {"q1": {"new": 3.0, "d2": 2.0, "d1": 1.0}}
    >>> print(ma.explain("nDCG@10", {"bm25": bm25}, qrels, "q1"))
    nDCG@10
    -------
    topic q1, bm25: 0.6199
    <BLANKLINE>
    rank  docno  relevance  gain  discount  contribution  running
       1  new            -     0    1.0000        0.0000   0.0000  unjudged
       2  d2             1     1    0.6309        0.2398   0.2398
       3  d1             2     2    0.5000        0.3801   0.6199
    <BLANKLINE>
    A best ranking has 1.0000 (0.3801 more). Largest shortfalls by rank
    -------------------------------------------------------------------
    rank  docno  contribution  in a best ranking  contribution  shortfall
       1  new          0.0000  d1                       0.7602     0.7602
    <BLANKLINE>
    1 of the first 3 documents is unjudged.
    contribution = gain x discount / 2.63093.
    """
    depth = count("depth")(depth)
    if not isinstance(measure, str) and not is_measure(measure):
        raise MultiAspectError(
            f"expected a measure or its name, got {shown(measure)}; give the measure first, as in "
            "explain(measure, run, qrels, qid)"
        )
    parsed = parse_one(measure)
    # A measure of ir-measures is explained by the corresponding one of this package.
    explained = as_measure(parsed)
    explained.validate_params()
    runs = NamedRuns.read(run, topics)
    judgments = select_topics(Judgments.of(qrels), runs.topics)
    named_runs = dict(runs)
    if len(named_runs) > 1:
        raise MultiAspectError(
            f"expected one run to explain, got {len(named_runs)}: {choices(named_runs)}"
        )
    ((name, source),) = named_runs.items()
    rankings = join(name, source, judgments)
    query = _query_position(judgments, qid)
    docnos, scores = rankings.ranked_documents(query)
    run_name = name
    if name == "run 1":  # the default name
        run_name = "run"
    topic = Topic(
        measure=explained,
        judgments=judgments,
        query=query,
        qid=judgments.qids[query],
        run=run_name,
        docnos=docnos,
        scores=scores,
        depth=depth,
    )
    if label is None:
        label = str(measure)
    # This gives the warnings of an evaluation. What follows evaluates the topic again and again,
    # without the other topics if it can, and would repeat them.
    value = topic.value
    with silence_warnings():
        explained_topic = _drop_other_topics(topic)
        explanation = _explain_topic(explained_topic, value, label)
    is_of_ir_measures = explained is not parsed
    if is_of_ir_measures:
        _compare_with_evaluation(explanation, parsed, rankings)
    return explanation


def _query_position(judgments: Judgments, qid: object) -> int:
    """Return the position of a judged query, given as text or as a number.

    Raises
    ------
    MultiAspectError
        If there is no such query, also if `qid` is no text or number.
    """
    name = qid
    if np.isscalar(qid):
        # Read it like a column of qids, so that the number 1 is the query '1'.
        column = pd.Series([qid], name="qid")
        (name,) = identifiers(column, "qid")
    refuse_unknown([name], judgments.qids, "a topic of the qrels", "qid")
    names = np.array([name], dtype=object)
    (position,) = judgments.query_positions(names)
    return int(position)


def _drop_other_topics(topic: Topic) -> Topic:
    """Return the topic on the judgments of this topic only, on which evaluations are faster.

    A measure may depend on other topics, contrary to the rules: then return it as it is.
    """
    # `repeat_query` returns judgments of nothing but copies of a query: here of one, the query 0.
    judgments_of_topic = topic.judgments.repeat_query(topic.query, 1)
    alone = replace(topic, judgments=judgments_of_topic, query=0)
    difference = abs(alone.value - topic.value)
    depends_on_others = difference > tolerance(topic.value, 1e-12)
    if depends_on_others:
        return topic
    return alone


def _explain_topic(topic: Topic, value: float, label: str) -> Explanation:
    """Return the explanation of a topic whose value is known."""
    measure = topic.measure
    all_parts = split_value(measure, topic, topic.values)
    parts = all_parts.topic_parts(topic.query, len(topic))
    offset = float(sum(part.offset for part in parts))
    ranks = ranks_frame(topic, parts, offset)
    aspects = aspects_frame(topic, parts)
    # The notes refer to the column of `ranks` that shows the gain.
    views = label_columns(measure.views(topic.judgments))
    details = detail_columns(ranks, views)
    gain = gain_name(ranks, details)
    return Explanation(
        partial(_explain_best, topic, label),
        measure=measure,
        label=label,
        qid=topic.qid,
        run=topic.run,
        value=value,
        offset=offset,
        ranks=ranks,
        aspects=aspects,
        swaps=swaps_frame(topic, parts),
        notes=notes(topic, parts, ranks, aspects, gain),
        judged=_labels_of_topic(topic, views),
        scales={column: view.aspect for column, view in views.items()},
        grade_positions=_grade_positions(topic, views),
        retrieved=topic.docnos.tolist(),
    )


def _grade_positions(topic: Topic, views: Mapping[str, AspectView]) -> pd.DataFrame:
    """Return the positions of labels on their scales, as in `Explanation.grade_positions`."""
    positions = {}
    for column, view in views.items():
        positions[column] = values_by_rank(topic, scale_positions(view))
    return pd.DataFrame(positions)


def _explain_best(topic: Topic, label: str) -> Explanation | None:
    """Return the explanation of a best ranking of all judged documents, or None if unknown."""
    with silence_warnings():
        best = topic.best()
        if best is None:
            return None
        return _explain_topic(best, best.value, label)


def _compare_with_evaluation(
    explanation: Explanation, measure: ir_measures.Measure, rankings: Rankings
) -> None:
    """Warn if the value of the topic in ir-measures differs from the explained one."""
    runs = {explanation.run: rankings.source}
    with silence_warnings():
        perquery = evaluate(runs, rankings.judgments, measure, progress=False)
    values = perquery.set_index("qid")["value"]
    value = float(values[explanation.qid])
    if abs(value - explanation.value) > tolerance(value):
        warn_once(
            f"{measure} of topic {explanation.qid} is {value:.9g} in ir-measures, which rounds it; "
            f"the explained value is {explanation.value:.9g}",
            key=f"{measure} {explanation.qid} {value}",
            group="explained values",
        )


def _labels_of_topic(topic: Topic, views: Mapping[str, AspectView]) -> pd.DataFrame:
    """Return the labels of the judged documents of a topic, with one column per aspect.

    The index has the documents; those without any label are left out.
    """
    judgments = topic.judgments
    is_of_topic = judgments.pool_query == topic.query
    labels = {}
    for column, view in views.items():
        labels[column] = view.label[is_of_topic]
    frame = pd.DataFrame(labels, index=judgments.docnos[is_of_topic])
    return frame.dropna(how="all")


def largest_differences(
    perquery: Any, a: str, b: str, measure: MeasureLike | None = None, *, n: int = 10
) -> pd.DataFrame:
    """Return the topics on which two runs differ most.

    Parameters
    ----------
    perquery : DataFrame
        The result of `evaluate` or ``pt.Experiment(perquery=True)``, with the columns ``name qid
        measure value``.
    a, b : str
        The names of the runs.
    measure : measure or str, optional
        The measure, or its label in the frame. Not required if the frame has one measure only.
    n : int, default 10
        Maximum number of topics.

    Returns
    -------
    DataFrame
        ``qid measure value_a value_b difference``, where the difference is the value of `a` minus
        that of `b`. The largest absolute differences come first, ties in the order of the topics.

    Raises
    ------
    MultiAspectError
        If a run or the measure is not in the frame, several measures are in it and none is given, a
        run has several values for a topic, a column is missing, a name is empty, or a value is not
        a number or is missing.

    Warns
    -----
    MultiAspectWarning
        If a topic has a value for one of the runs only; it is left out.

    See Also
    --------
    explain : The contributions of documents on such a topic; `Explanation.compare` compares runs.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1}}, "q2": {"d1": {"relevance": 1}}}
    >>> runs = {
    ...     "bm25": {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}},
    ...     "dense": {"q1": {"d1": 1.0}, "q2": {"new": 2.0, "d1": 1.0}},
    ... }
    >>> perquery = ma.evaluate(runs, qrels, "map", progress=False)
    >>> ma.largest_differences(perquery, "bm25", "dense", n=1)
      qid measure  value_a  value_b  difference
    0  q2     map      1.0      0.5         0.5
    """
    n = count("n")(n)
    perquery = read_long_frame(perquery)
    label = _measure_label(perquery, measure)
    labels = perquery["measure"].astype(str)
    measure_rows = perquery[labels == label]
    values_a = _run_values(measure_rows, a, label)
    values_b = _run_values(measure_rows, b, label)
    left_out = values_a.index.symmetric_difference(values_b.index)
    if len(left_out):
        has_or_have = agree(len(left_out), len(left_out), "has", "have")
        is_or_are = agree(len(left_out), len(left_out), "is", "are")
        warn_once(
            f"{number_of(len(left_out), 'topic')} {has_or_have} a value of {label} for only one of "
            f"the runs {a} and {b} and {is_or_are} left out, such as {choices(left_out[:3])}. "
            "Evaluate both runs on the same qrels",
            key=f"{a} {b} {label} {len(left_out)}",
            group="topics of one run",
        )
    both = pd.concat([values_a, values_b], axis=1, keys=["value_a", "value_b"], join="inner")
    difference = both["value_a"] - both["value_b"]
    both = both.assign(measure=label, difference=difference)
    size = difference.abs().to_numpy()
    largest_first = np.argsort(-size, kind="stable")
    table = both.iloc[largest_first[:n]]
    table = table.rename_axis("qid").reset_index()
    return table[["qid", "measure", "value_a", "value_b", "difference"]]


def _measure_label(perquery: pd.DataFrame, measure: MeasureLike | None) -> str:
    """Return the label of the measure in a long frame; None stands for its only measure."""
    labels = [str(label) for label in perquery["measure"].unique()]
    expected = "one of the measures of the frame"
    if measure is not None:
        (label,) = find_labels(perquery, [measure])
        refuse_unknown([label], labels, expected, "measure")
        return str(label)
    if len(labels) != 1:
        # An error that lists the measures, and says that None was given.
        refuse_unknown([None], labels, expected, "measure")
    return labels[0]


def _run_values(measure_rows: pd.DataFrame, name: str, label: str) -> pd.Series[float]:
    """Return the values of one run by topic."""
    names = measure_rows["name"].astype(str)
    refuse_unknown([str(name)], names.unique(), "one of the runs of the frame", "run")
    run_rows = measure_rows[names == str(name)]
    is_repeated = run_rows["qid"].duplicated()
    if is_repeated.any():
        repeated = run_rows["qid"][is_repeated]
        raise MultiAspectError(
            f"expected one value of {label} per topic of {name}, got several for {repeated.iloc[0]}"
        )
    is_missing = run_rows["value"].isna()
    missing = run_rows["qid"][is_missing]
    if len(missing):  # they would be sorted last, as the smallest differences
        raise MultiAspectError(
            f"expected a value of {label} per topic of {name}, got none for "
            f"{choices(missing[:3])}. Evaluate the run on these topics, or leave them out"
        )
    return run_rows.set_index("qid")["value"]
