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
    transformer = getattr(sys.modules.get("pyterrier"), "Transformer", None)
    return transformer is not None and isinstance(run, transformer)


def read_topics(topics: Any) -> pd.DataFrame:
    """Return topics in the form of `pt.Experiment`, from a frame or a PyTerrier dataset.

    Raises
    ------
    MultiAspectError
        If they are not a data frame with a column ``qid``, or empty.
    """
    if isinstance(topics, str):
        raise MultiAspectError(
            f"topics: expected a DataFrame or a dataset of PyTerrier, got {shown(topics)}; read "
            "files with pt.io.read_topics, and get datasets with pt.get_dataset"
        )
    frame = to_pandas(topics.get_topics() if hasattr(topics, "get_topics") else topics)
    if frame is None:
        raise MultiAspectError(
            "topics: expected a DataFrame with a column qid, or a dataset of PyTerrier, got "
            f"{shown(topics)}"
        )
    check_distinct_columns(frame, "topics")
    if "qid" not in frame.columns or not len(frame):
        raise MultiAspectError(
            "topics: expected at least one row, and a column qid, got "
            f"{number_of(len(frame), 'row')} with the columns {choices(frame.columns)}"
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
    kept = pd.Index(judgments.qids).isin(qids)
    if not kept.any():
        raise MultiAspectError(
            "the topics and the qrels have no query in common: the topics have queries such as "
            f"{choices(qids[:3])}, the qrels have queries such as {choices(judgments.qids[:3])}. "
            "Check the query ids"
        )
    rows = np.flatnonzero(judgments.row_values(kept[judgments.pool_query]))
    return judgments.take_rows(rows)


def retrieve(name: str, pipeline: Any, topics: pd.DataFrame) -> pd.DataFrame:
    """Return the run of a pipeline.

    Raises
    ------
    MultiAspectError
        If it retrieves nothing, or lacks columns of a run.
    """
    run = as_frame(pipeline.transform(topics), f"the pipeline {name}")
    kinds = {"qid": QUERY_COLUMNS, "docno": DOCUMENT_COLUMNS, "score": ("score",)}
    missing = [column for column, names in kinds.items() if not set(names) & set(run.columns)]
    if missing:
        raise MultiAspectError(
            f"the pipeline {name}: expected the columns qid, docno and score in its results, got "
            "no "
            f"{' and no '.join(missing)} but {choices(run.columns)}" + answers_remedy(run.columns)
        )
    if not len(run):
        raise MultiAspectError(
            f"the pipeline {name} retrieves no document for {number_of(len(topics), 'topic')}"
        )
    return run


def progress_bar(total: int | None, show: bool) -> Any:
    """Return PyTerrier's progress bar of systems, shown in terminals and notebooks only."""
    from tqdm import tqdm

    bar = getattr(sys.modules.get("pyterrier"), "tqdm", tqdm)
    if_terminal = False if "notebook" in bar.__module__ else None
    return bar(total=total, desc="pipelines", unit="system", disable=if_terminal if show else True)
