"""Qrels whose missing labels are filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from .._validation import count, random_seed
from ..aspects import Aspects, parse_aspects
from ..collection import Judgments
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
    if depth is None:
        cutoff = None
    else:
        cutoff = count("depth")(depth)
    seed = random_seed(seed)
    model = parse_labels(labels)
    judgments = Judgments.of(qrels)
    judged_views = judgments.views(parse_aspects(aspects))
    named = NamedRuns.read(runs)
    named.check_files()
    rankings = [join(name, run, judgments) for name, run in named]
    universe = join_universe(judgments, judged_views, rankings, cutoff)
    scales = Aspects({view.name: view.aspect for view in judged_views})
    views = universe.views(scales)
    # Both have the shape (n_aspects, n_documents).
    missing = np.stack([~view.known for view in views])
    complete = np.stack([view.label for view in views])
    draws = draw_labels(model, universe, views, missing, seed, np.zeros(1, dtype=np.intp))
    complete[missing] = draws[0]
    query = universe.row_values(universe.pool_query)
    docnos = universe.row_values(universe.docnos)
    frame = pd.DataFrame({"qid": universe.qids[query], "docno": docnos})
    source = "observed"
    if model is not None:
        source = "labels"
    record: dict[str, Mapping[str, Any]] = {}
    for view, aspect_labels in zip(views, complete, strict=True):
        column = view.name
        if column == "relevance" and "label" in judgments.columns:
            column = "label"
        frame[column] = universe.row_values(aspect_labels)
        n_missing = int(np.isnan(aspect_labels).sum())
        n_filled = int((~view.known).sum()) - n_missing
        record[view.name] = {"filled": n_filled, "missing": n_missing, "by": source}
    known_columns = ("query_id", "doc_id", *record)
    further = [column for column in universe.columns if column not in known_columns]
    frame = frame.join(universe.rows(further))
    by_topic_and_document = np.lexsort((docnos, query))
    frame = frame.iloc[by_topic_and_document].reset_index(drop=True)
    frame.attrs[FILLED] = record
    return frame
