"""All that was counted, as rules look at it, and code for their remedies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from ir_measures import Measure

from .._typing import Floats, Ints
from ..aspects.aspect import Aspect
from ..collection.views import AspectView
from ..orders.registered import exponent_of
from .retrieved import Retrieved
from .scales import Judged, used_labels


@dataclass(frozen=True, eq=False)
class Figures:
    """All that was counted: what rules look at."""

    judged: Judged
    per_aspect: pd.DataFrame
    labels: pd.DataFrame
    between: pd.DataFrame
    top_labels: pd.DataFrame
    retrieved: Retrieved
    measures: Mapping[str, Measure] = field(default_factory=dict)
    dependences: pd.DataFrame = field(default_factory=pd.DataFrame)
    refused: Mapping[str, str] = field(default_factory=dict)

    def declaration(self, changed: Mapping[str, str] | None = None, without: str | None = None) -> str:
        """The scales as code, some of them replaced by other code, one left out if there are others."""
        if len(self.judged.views) == 1:
            without = None
        return f"ma.Aspects({{{', '.join(self._declared(changed or {}, without))}}})"

    def _declared(self, changed: Mapping[str, str], without: str | None) -> Iterator[str]:
        for view in self.judged.views:
            if view.name != without:
                yield f"{view.name!r}: {changed.get(view.name) or scale_code(view.aspect)}"

    def used(self, view: AspectView) -> tuple[Floats, Ints]:
        """The labels of an aspect in increasing order, and how many documents have each."""
        return used_labels(self.labels, view.name)

    def column(self, name: str) -> str:
        """The label column of an aspect, as code."""
        return f"qrels[{self.judged.columns.get(name, name)!r}]"


@dataclass(frozen=True)
class Finding:
    severity: str
    aspects: str
    finding: str
    remedy: str


def scale_code(aspect: Aspect) -> str:
    """An aspect as code that makes it."""
    spec = aspect.to_spec()
    if isinstance(spec, int):
        return str(spec)
    grades = spec.pop("grades", None)
    plain = grades is not None and grades == list(range(len(grades)))
    first = [] if grades is None else [str(len(grades) - 1 if plain else grades)]
    return f"ma.Aspect({', '.join([*first, *(f'{key}={value!r}' for key, value in spec.items())])})"


def scale_code_with(aspect: Aspect, **changes: Any) -> str:
    """An aspect with some of its declaration changed, as code."""
    spec = aspect.to_spec()
    declared = {"grades": spec} if isinstance(spec, int) else spec
    return scale_code(Aspect(**{**declared, **changes}))


def unjudged_code(view: AspectView, codes: Sequence[float], grades: Sequence[float] | None) -> str:
    """An aspect for which some labels mean that a document is not judged, as code."""
    aspect = Aspect(list(grades or ()), unjudged=[*view.aspect.unjudged, *codes], **direction(view))
    return scale_code(aspect)


def percent(share: float) -> str:
    """A fraction in per cent, never 0 or 100 unless it is."""
    text = f"{100 * share:.1f}"
    if (text == "0.0" and share > 0) or (text == "100.0" and share < 1):
        text = f"{100 * share:.3g}" if share < 0.5 else f"{100 - 100 * (1 - share):.6g}"
    return f"{text} %"


def direction(view: AspectView) -> dict[str, Any]:
    return {} if view.scale.greater_is_better else {"greater_is_better": False}


def has_distance(measure: Measure) -> bool:
    """Whether a measure is a TOMA by a Minkowski distance, to which each aspect adds its part."""
    if "distance" not in measure.SUPPORTED_PARAMS or measure["order"] is not None:
        return False
    return exponent_of(measure["distance"]) is not None
