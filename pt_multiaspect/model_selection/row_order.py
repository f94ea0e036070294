"""Whether labels, predictions and features have their rows in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..collection.frames import to_pandas
from ..errors import MultiAspectError
from ..strings.identifiers import identifiers

__all__ = ["check_order", "named_queries"]


def check_order(reference: str, rows: object, **others: object) -> None:
    """Raise an error for pandas objects whose rows are the same but in another order: rows match by position.

    Objects in which a row has different queries, in an index level or column qid, are an error as well.

    Parameters
    ----------
    reference : str
        The name of `rows`, in the message.
    rows : object
        The labels.
    **others : object
        What has the same rows, by name.
    """
    index, queries = getattr(rows, "index", None), named_queries(rows)
    for name, other in others.items():
        its = getattr(other, "index", None)
        if isinstance(index, pd.Index) and isinstance(its, pd.Index) and _rearranged(index, its):
            remedy = (
                f"align them with {name}.reindex({reference}.index), or pass {name}.to_numpy()"
                if index.is_unique
                else f"sort the rows of both in the same way, or pass {name}.to_numpy() if they already are"
            )
            raise MultiAspectError(
                f"the index of {name} has the elements of the index of {reference} in a different order, but rows "
                f"are matched by position; {remedy}"
            )
        _check_same_queries(reference, queries, name, named_queries(other))


def _rearranged(index: pd.Index, other: pd.Index) -> bool:
    """Return whether two indexes have the same elements, equally often, in a different order."""
    if len(index) != len(other) or index.nlevels != other.nlevels or not len(index) or index.equals(other):
        return False
    codes = pd.factorize(index.append(other))[0] + 1  # missing elements are 0
    mine, its = codes[: len(index)], codes[len(index) :]
    return bool((mine != its).any()) and np.array_equal(np.sort(mine), np.sort(its))


def named_queries(source: object) -> NDArray[Any] | None:
    """Return the index level or column qid of a pandas object or frame."""
    frame = to_pandas(source)  # tables of PyArrow keep the index of pandas, too
    index = getattr(source if frame is None else frame, "index", None)
    if isinstance(index, pd.Index) and "qid" in index.names:
        return index.get_level_values("qid").to_numpy()
    return frame["qid"].to_numpy() if frame is not None and "qid" in frame.columns else None


def _check_same_queries(
    reference: str, queries: NDArray[Any] | None, name: str, others: NDArray[Any] | None
) -> None:
    """Raise an error if the rows of two objects have different queries."""
    if queries is None or others is None or queries.shape != others.shape or queries.ndim != 1:
        return
    mine, its = (identifiers(pd.Series(each, name="value"), "qid") for each in (queries, others))
    differing = np.flatnonzero(mine != its)
    if not len(differing):
        return
    pairs = set(zip(mine.tolist(), its.tolist(), strict=True))
    names, other_names = set(mine.tolist()), set(its.tolist())
    # Queries may be numbered in one of both, as XGBoost requires.
    if not names & other_names and len(pairs) == len(names) == len(other_names):
        return
    row = differing[0]
    raise MultiAspectError(
        f"expected {reference} and {name} to have the same qid in each row, got {mine[row]} and {its[row]} in row "
        f"{row} (counted from 0); rows are matched by position: sort the rows of both in the same way"
    )
