"""PyTerrier pipelines in place of runs, and their topics, without importing PyTerrier."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd

from ..collection import Judgments
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    QUERY_COLUMNS,
    answers_remedy,
    check_distinct_columns,
)
from ..collection.other_libraries import as_frame, to_pandas
from ..errors import MultiAspectError, choices, number_of, shown
from ..strings.identifiers import identifiers


def is_pipeline(run: object) -> bool:
    """Return whether an object is a PyTerrier transformer, without importing PyTerrier."""
    # Without PyTerrier in sys.modules, no object can be one of its transformers.
    pyterrier = sys.modules.get("pyterrier")
    transformer = getattr(pyterrier, "Transformer", None)
    if transformer is None:
        return False
    return isinstance(run, transformer)


def read_topics(topics: Any) -> pd.DataFrame:
    """Return topics in the form of `pt.Experiment`, from a frame or a PyTerrier dataset.

    Raises
    ------
    MultiAspectError
        If they are not a data frame with a column ``qid``, or empty.
    """
    if isinstance(topics, str):
        got = shown(topics)
        raise MultiAspectError(
            f"topics: expected a DataFrame or a dataset of PyTerrier, got {got}; read "
            "files with pt.io.read_topics, and get datasets with pt.get_dataset"
        )
    is_dataset = hasattr(topics, "get_topics")
    if is_dataset:
        frame = to_pandas(topics.get_topics())
    else:
        frame = to_pandas(topics)
    if frame is None:
        got = shown(topics)
        raise MultiAspectError(
            f"topics: expected a DataFrame with a column qid, or a dataset of PyTerrier, got {got}"
        )
    check_distinct_columns(frame, "topics")
    if "qid" not in frame.columns or not len(frame):
        n_rows = number_of(len(frame), "row")
        names = choices(frame.columns)
        raise MultiAspectError(
            f"topics: expected at least one row, and a column qid, got {n_rows} with the columns "
            f"{names}"
        )
    return frame


def select_topics(judgments: Judgments, topics: pd.DataFrame | None) -> Judgments:
    """Return the judgments of some topics, as `pt.Experiment` evaluates them.

    Parameters
    ----------
    judgments : Judgments
        The judgments.
    topics : DataFrame or None
        The topics, in a column ``qid``; None for all.

    Returns
    -------
    Judgments
        Their scales are inferred from the judgments of these topics.

    Raises
    ------
    MultiAspectError
        If no topic is judged.
    """
    if topics is None:
        return judgments
    qids = identifiers(topics["qid"], "topics")
    query_is_selected = pd.Index(judgments.qids).isin(qids)  # (n_queries,)
    if not query_is_selected.any():
        examples = choices(qids[:3])
        judged_examples = choices(judgments.qids[:3])
        raise MultiAspectError(
            "the topics and the qrels have no query in common: the topics have queries such as "
            f"{examples}, the qrels have queries such as {judged_examples}. Check the query ids"
        )
    pair_is_selected = query_is_selected[judgments.pool_query]  # one per judged pair
    row_is_selected = judgments.row_values(pair_is_selected)  # one per row of the qrels
    rows = np.flatnonzero(row_is_selected)
    return judgments.take_rows(rows)


def retrieve(name: str, pipeline: Any, topics: pd.DataFrame) -> pd.DataFrame:
    """Return the run of a pipeline.

    Raises
    ------
    MultiAspectError
        If it retrieves nothing, or lacks columns of a run.
    """
    results = pipeline.transform(topics)
    run = as_frame(results, f"the pipeline {name}")
    missing: list[str] = []
    if set(QUERY_COLUMNS).isdisjoint(run.columns):
        missing.append("qid")
    if set(DOCUMENT_COLUMNS).isdisjoint(run.columns):
        missing.append("docno")
    if "score" not in run.columns:
        missing.append("score")
    if missing:
        lacking = " and no ".join(missing)
        present = choices(run.columns)
        remedy = answers_remedy(run.columns)
        raise MultiAspectError(
            f"the pipeline {name}: expected the columns qid, docno and score in its results, got "
            f"no {lacking} but {present}{remedy}"
        )
    if not len(run):
        n_topics = number_of(len(topics), "topic")
        raise MultiAspectError(f"the pipeline {name} retrieves no document for {n_topics}")
    return run


def progress_bar(total: int | None, show: bool) -> Any:
    """Return PyTerrier's progress bar of systems, shown in terminals and notebooks only.

    `total` is the number of systems, None if unknown.
    """
    from tqdm import tqdm

    pyterrier = sys.modules.get("pyterrier")
    bar = getattr(pyterrier, "tqdm", tqdm)
    is_notebook = "notebook" in bar.__module__
    disable: bool | None
    if not show:
        disable = True
    elif is_notebook:
        disable = False
    else:
        disable = None  # tqdm then asks whether this is a terminal
    return bar(total=total, desc="pipelines", unit="system", disable=disable)
