"""Figures of judgments and runs, and findings about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..collection.rankings import Rankings
from ..io.runs import run_of
from ..orders.registered import exponent_of
from . import alike
from .between import pair_tables
from .scales import Judged, aspect_table, label_counts

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
        row = {
            "name": name,
            "topics": rankings.n_common,
            "missed": judged.judgments.n_queries - rankings.n_common,
            "unjudged_topics": n_topics - rankings.n_common,
            "documents": int(rankings.hits.n_ret.sum()),
            "repeated": int(repeated.sum()),
            "tied": _tied_fraction(rankings),
        }
        rows.append(row)
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


#: The remedy of findings that no declaration resolves.
LOOK = "ma.describe(qrels).labels"


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures that the rules use."""

    judged: Judged
    per_aspect: pd.DataFrame
    labels: pd.DataFrame
    between: pd.DataFrame
    top_labels: pd.DataFrame
    retrieved: Retrieved
    measures: Mapping[str, Measure] = field(default_factory=dict)
    dependences: pd.DataFrame = field(default_factory=pd.DataFrame)
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, judged: Judged, retrieved: Retrieved, **others: Any) -> Figures:
        """Count everything."""
        labels = label_counts(judged)
        pairs, tops = pair_tables(judged)
        return cls(judged, aspect_table(judged), labels, pairs, tops, retrieved, **others)

    @property
    def noun(self) -> str:
        """The noun for what is judged."""
        return "document" if self.judged.answers is None else "answer"

    @property
    def n_topics(self) -> int:
        """The number of topics of the qrels."""
        return self.judged.judgments.n_queries

    @property
    def n_documents(self) -> int:
        """The number of judged documents."""
        return len(self.judged.judgments)

    def column(self, name: str) -> str:
        """Return the label column of an aspect, as code."""
        return f"qrels[{self.judged.columns.get(name, name)!r}]"


#: The remedy of disagreeing judges, which has a command.
AGREEMENT = "ma.analysis.judge_agreement(judged)"


@dataclass(frozen=True)
class Finding:
    """A finding, with its remedy."""

    severity: str
    aspects: str
    finding: str
    #: Code to paste if there are no changes.
    remedy: str = LOOK
    #: By aspect, the scale to declare instead, or None to leave the aspect out; empty if the present scales are to
    #: be declared.
    changes: Mapping[str, Aspect | None] | None = None


def declaration(aspects: Aspects) -> str:
    """Return declared scales as code."""
    return f"ma.Aspects({{{', '.join(f'{name!r}: {_scale(aspect)}' for name, aspect in aspects.items())}}})"


def _scale(aspect: Aspect) -> str:
    spec = aspect.to_spec()
    if isinstance(spec, int):
        return str(spec)
    grades = spec.pop("grades", None)
    plain = grades is not None and grades == list(range(len(grades)))
    first = [] if grades is None else [str(len(grades) - 1 if plain else grades)]
    return f"ma.Aspect({', '.join([*first, *(f'{key}={value!r}' for key, value in spec.items())])})"


def has_distance(measure: Measure) -> bool:
    """Return whether a measure is TOMA with a Minkowski distance, to which all aspects contribute."""
    if "distance" not in measure.SUPPORTED_PARAMS or measure["order"] is not None:
        return False
    return exponent_of(measure["distance"]) is not None
