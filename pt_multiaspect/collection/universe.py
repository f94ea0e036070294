"""The documents of a topic: those of the qrels, and those that runs retrieve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .judgments import Judgments
from .rankings import Rankings
from .views import AspectView


def join_universe(
    judgments: Judgments, views: Sequence[AspectView], rankings: Sequence[Rankings], cutoff: int | None
) -> Judgments:
    """Return judgments of all documents of the qrels and of the runs, without labels where there are none.

    Parameters
    ----------
    judgments : Judgments
        The qrels.
    views : sequence of AspectView
        The aspects to keep, whose codes that mean "not judged" become missing labels.
    rankings : sequence of Rankings
        The runs.
    cutoff : int, optional
        The last rank whose documents are added.

    Returns
    -------
    Judgments
        The judgments, with the same queries.
    """
    retrieved = [run.documents(cutoff) for run in rankings]
    query = np.concatenate([judgments.pool_query, *(part[0] for part in retrieved)])
    pairs = pd.DataFrame(
        {
            "query_id": judgments.qids[query],
            "doc_id": np.concatenate([judgments.docnos, *(part[2] for part in retrieved)]),
        }
    )
    unlabelled = np.full(len(pairs) - len(judgments), np.nan)
    labels = {view.name: np.concatenate([view.label, unlabelled]) for view in views}
    once = ~pairs.duplicated()  # the qrels come first
    return Judgments(pairs.assign(**labels)[once].reset_index(drop=True))
