"""Qrels whose missing labels are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats
from .._validation import count, random_seed
from ..aspects import Aspects, parse_aspects
from ..collection import AspectView, Judgments
from ..collection.label_draws import draw_labels, join_universe, parse_labels
from ..io.runs import NamedRuns, join

#: The key of the record in ``attrs`` of filled qrels.
FILLED = "filled"


def fill_labels(
    qrels: Any,
    runs: Any,
    labels: Any = "observed",
    aspects: object = None,
    depth: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Fill the labels that judged and retrieved documents lack, to evaluate them with any tool.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels with one numeric column per aspect; see `Judgments`.
    runs : mapping of str to run, iterable of runs or (name, run) pairs, or run
        As for `pt_multiaspect.evaluate`.
    labels : 'observed', DataFrame, dict, iterable or Judgments, default 'observed'
        ``'observed'``: all missing labels of a document are those of one donor, a document of the
        qrels with labels on all aspects, and with the same labels where this one has some (or, if
        there is none, on the same sides of the thresholds). With the probability n / (n + 5), n the
        number of donors in the topic, it is one of these, else one of those in all topics. Qrels,
        such as judgments of a model: their labels; what they lack remains missing.
    aspects : Aspects, mapping, str or sequence of str, optional
        The aspects and their scales, as for measures. By default, all numeric columns.
    depth : int, optional
        The number of documents of each run and topic that are filled; all by default.
    seed : int, default 0
        Random seed. The label of a document depends on it, the topic and the document only, not on
        runs or rows.

    Returns
    -------
    DataFrame
        Columns ``qid docno``, the labels, and further columns of the qrels, such as ``known``, as
        they are: all judged documents, whose labels are unchanged except that codes for "not
        judged" are filled, too, and the first `depth` documents of each run. ``attrs["filled"]``
        contains the number of filled and of remaining missing labels of each aspect, and by what
        they were filled.

    Raises
    ------
    MultiAspectError
        If a document has no donor, or the input is invalid.

    Notes
    -----
    Drawn labels are one guess: evaluate several seeds, and see
    `pt_multiaspect.analysis.missing_labels` for what is possible. They are no substitute where
    labels are missing for a reason, such as credibility that was judged for relevant documents
    only.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> judged = {"d1": {"relevance": 2, "trust": 1}, "d2": {"relevance": 0, "trust": 0}}
    >>> qrels = {"q1": {**judged, "d3": {"relevance": 2}}}
    >>> filled = ma.fill_labels(qrels, {"q1": {"d3": 2.0, "d1": 1.0}})
    >>> filled
      qid docno  relevance  trust
    0  q1    d1        2.0    1.0
    1  q1    d2        0.0    0.0
    2  q1    d3        2.0    1.0
    >>> filled.attrs["filled"]["trust"]
    {'filled': 1, 'missing': 0, 'by': 'observed'}
    """
    cutoff = None
    if depth is not None:
        check_depth = count("depth")
        cutoff = check_depth(depth)
    seed = random_seed(seed)
    model = parse_labels(labels)
    judgments = Judgments.of(qrels)
    judged_views = judgments.views(parse_aspects(aspects))
    named_runs = NamedRuns.read(runs)
    named_runs.check_files()
    rankings = [join(name, run, judgments) for name, run in named_runs]

    # All judged and retrieved documents, and their labels on each aspect. The scales are those of
    # the qrels: documents without labels do not change what is inferred.
    universe = join_universe(judgments, judged_views, rankings, cutoff)
    scales = Aspects({view.name: view.aspect for view in judged_views})
    views = universe.views(scales)
    filled_labels = _fill_missing(model, universe, views, seed)

    source = "labels"
    if model is None:
        source = "observed"
    label_columns: dict[str, Floats] = {}
    record: dict[str, Mapping[str, Any]] = {}
    for view, labels_of_aspect in zip(views, filled_labels, strict=True):
        column = _column_of_aspect(view.name, judgments)
        label_columns[column] = labels_of_aspect
        record[view.name] = _count_filled(view, labels_of_aspect, source)
    ids_and_aspects = ("query_id", "doc_id", *scales)
    further_columns = [column for column in universe.columns if column not in ids_and_aspects]
    frame = _frame_of_labels(universe, label_columns, further_columns)
    frame.attrs[FILLED] = record
    return frame


def _count_filled(view: AspectView, labels: Floats, source: str) -> dict[str, Any]:
    """Return the record of an aspect: the numbers of filled and of missing labels, and the source.

    `view` has the labels before, and `labels` those after missing ones were filled.
    """
    n_missing_before = int((~view.known).sum())
    n_missing = int(np.isnan(labels).sum())
    return {"filled": n_missing_before - n_missing, "missing": n_missing, "by": source}


def _frame_of_labels(
    universe: Judgments, label_columns: Mapping[str, Floats], further_columns: Sequence[str]
) -> pd.DataFrame:
    """Return one row per document, sorted by topic and document.

    Parameters
    ----------
    universe : Judgments
        The documents.
    label_columns : mapping of str to ndarray of float, each of shape (n_documents,)
        The labels by column, after qid and docno.
    further_columns : sequence of str
        The columns of the universe that follow.
    """
    # `row_values` brings values of documents, as judgments store them, into the order of the rows
    # of the user's qrels, in which further columns are.
    query = universe.row_values(universe.pool_query)
    docnos = universe.row_values(universe.docnos)
    frame = pd.DataFrame({"qid": universe.qids[query], "docno": docnos})
    for column, labels in label_columns.items():
        frame[column] = universe.row_values(labels)
    frame = frame.join(universe.rows(further_columns))
    by_topic_and_document = np.lexsort((docnos, query))  # the last key comes first
    return frame.iloc[by_topic_and_document].reset_index(drop=True)


def _fill_missing(
    model: Judgments | None, universe: Judgments, views: Sequence[AspectView], seed: int
) -> Floats:
    """Return the labels of all documents, those that are missing from a model or by one draw.

    Parameters
    ----------
    model : Judgments or None
        The labels that are given; None for draws from documents of the qrels.
    universe : Judgments
        The judged and the retrieved documents.
    views : sequence of AspectView
        The labels on each aspect.
    seed : int
        The seed of the draw.

    Returns
    -------
    ndarray of float, shape (n_aspects, n_documents)
        NaN where the model has no label either.
    """
    is_missing = np.stack([~view.known for view in views])  # aspects × documents
    labels = np.stack([view.label for view in views])
    draw_0 = np.array([0])
    drawn_labels = draw_labels(model, universe, views, is_missing, seed, draw_0)
    labels[is_missing] = drawn_labels[0]
    return labels


def _column_of_aspect(aspect: str, judgments: Judgments) -> str:
    """Return the column of an aspect in the qrels, which may call relevance ``label``."""
    if aspect == "relevance" and "label" in judgments.columns:
        return "label"
    return aspect
