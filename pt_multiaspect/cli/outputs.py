"""Directories of qrels files that commands write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from .._numbers import spell
from ..errors import MultiAspectError


def new_directory(folder: str) -> Path:
    """Return the path of a directory to write, after checking that nothing is in it."""
    path = Path(folder).expanduser()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise MultiAspectError(f"--output: expected a new or empty directory, got {folder}")
    return path


def qrels_lines(qrels: pd.DataFrame, aspect: str) -> Iterator[str]:
    """Return the labels of an aspect as lines of a TREC file, without those that are missing."""
    column = "label" if aspect == "relevance" and "label" in qrels.columns else aspect
    rows = qrels[["qid", "docno", column]].dropna().itertuples(index=False, name=None)
    for qid, docno, label in rows:
        if re.search(r"\s", f"{qid}{docno}"):
            raise MultiAspectError(
                f"--output: expected ids without blanks, which separate fields, got {docno!r} on topic {qid!r}"
            )
        yield f"{qid} 0 {docno} {spell(label)}\n"
