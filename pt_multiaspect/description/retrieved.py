"""Figures of runs: topics, judged documents at the top, ties and repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..collection.rankings import Rankings
from ..io.runs import run_of
from . import alike
from .scales import Judged

#: The cutoffs at which judged documents are counted.
CUTOFFS = (5, 10, 20)

RUN_COLUMNS = ["name", "topics", "missed", "unjudged_topics", "documents", "repeated", "tied"]
JUDGED_COLUMNS = ["name", "aspect", *(f"judged@{cutoff}" for cutoff in CUTOFFS)]


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The figures of all runs."""

    runs: pd.DataFrame
    judged_at: pd.DataFrame
    alike: pd.DataFrame


def run_figures(runs: Mapping[str, object], judged: Judged) -> Retrieved:
    """Compute the figures of each of `runs`."""
    rows, judged_at, similar = [], [], []
    for name, run in runs.items():
        frame = run_of(name, run).to_pandas()
        repeated = frame.duplicated(["query_id", "doc_id"], keep="last")
        rankings = Rankings(frame[~repeated], judged.judgments)
        n_topics = frame["query_id"].nunique()
        rows.append(
            {
                "name": name,
                "topics": rankings.n_common,
                "missed": judged.judgments.n_queries - rankings.n_common,
                "unjudged_topics": n_topics - rankings.n_common,
                "documents": int(rankings.hits.n_ret.sum()),
                "repeated": int(repeated.sum()),
                "tied": _tied_fraction(rankings),
            }
        )
        judged_at += [{"name": name, **row} for row in _judged_fractions(rankings, judged)]
        similar.append(alike.run_lookalikes(name, frame, judged.judgments))
    return Retrieved(
        pd.DataFrame(rows, columns=RUN_COLUMNS),
        pd.DataFrame(judged_at, columns=JUDGED_COLUMNS),
        pd.concat([alike.judged_lookalikes(judged.judgments), *similar], ignore_index=True),
    )


def _tied_fraction(rankings: Rankings) -> float:
    """Return the fraction of documents that share their score with another document of the topic."""
    levels = rankings.levels
    if not len(levels):
        return 0.0
    times = np.bincount(levels)
    return float(times[times > 1].sum() / len(levels))


def _judged_fractions(rankings: Rankings, judged: Judged) -> list[dict[str, object]]:
    """Return the fraction of the first k ranks that is judged, per aspect, over the topics of the run."""
    answered = rankings.hits.n_ret > 0
    rows: list[dict[str, object]] = [{"aspect": view.name} for view in judged.views]
    for cutoff in CUTOFFS:
        top = rankings.top(cutoff)
        for view, row in zip(judged.views, rows, strict=True):
            n_judged = top.total(view.known[top.row].astype(np.float64))[answered]
            row[f"judged@{cutoff}"] = float((n_judged / top.n_ret[answered]).mean()) if answered.any() else np.nan
    return rows
