"""The measures that we recommend for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..aspects import Aspects
from ..aspects.parameter import declared_aspects
from ..errors import MultiAspectError
from ..measures import CAM, MM, TOMA, On
from .definition import Suite

__all__ = ["multi_aspect"]

_CUTOFF = 10


def multi_aspect(aspects: Aspects | Mapping[str, Any] | str | None = None) -> Suite:
    """Return the suite of each aspect alone, three measures of all aspects, and the judged fraction."""
    if aspects is None:
        raise MultiAspectError(
            "suite('multi-aspect') requires aspects=, the label scales, as in aspects={'relevance': 2, "
            "'credibility': 3}"
        )
    declared = declared_aspects(aspects)
    if len(declared) < 2 or "relevance" not in declared:
        raise MultiAspectError(
            f"suite('multi-aspect'): expected relevance and at least one other aspect, got {', '.join(declared)}"
        )
    return Suite(
        "multi-aspect",
        "recommended for a paper: each aspect alone, all aspects together, and the judged fraction",
        {
            **{f"nDCG@10 {name}": On(aspect=name, base="nDCG", aspects=declared) @ _CUTOFF for name in declared},
            "CAM normalised": CAM(normalized=True, aspects=declared) @ _CUTOFF,
            "MM of the aspects": MM(aspects=declared) @ _CUTOFF,
            "TOMA, relevance as gate": TOMA(gate="relevance", aspects=declared) @ _CUTOFF,
            **{
                f"judged@10 {name}": On(aspect=name, base="Judged", aspects=declared) @ _CUTOFF for name in declared
            },
        },
        {name: f"as declared: {aspect!r}" for name, aspect in declared.items()},
        notes=(
            (
                "CAM divided by its maximum averages over aspects, MM emphasises the weakest aspect, and TOMA "
                "rewards documents that are good on all aspects. TOMA counts other aspects for relevant "
                "documents only; evaluate TOMA(aspects=...) where that is not intended."
            ),
            "Compare judged@10 between runs first: where it differs, measures differ regardless of the rankings.",
            "Report the declared scales with the values.",
        ),
    )
