"""Figures of judgments and runs, and findings about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from ir_measures import Measure

from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..orders.registered import exponent_of
from .between import pair_tables
from .retrieved import Retrieved
from .scales import Judged, aspect_table, label_counts

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
