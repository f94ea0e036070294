"""Label scales in words, for the legends of tables and reports."""

from __future__ import annotations

from collections.abc import Mapping

from .._numbers import spell, spell_all
from .aspect import Aspect


def in_words(aspects: Mapping[str, Aspect]) -> str:
    """Return the grades of each aspect, lowest first, and the settings that differ from the defaults.

    Examples
    --------
    >>> in_words({"relevance": Aspect(1), "understandability": Aspect(3, threshold=2)})
    'relevance 0, 1; understandability 0, 1, 2, 3 (positive from 2)'
    """
    return "; ".join(f"{name} {_scale(aspect)}" for name, aspect in aspects.items())


def _scale(aspect: Aspect) -> str:
    """Return one scale in words. With two grades, only one threshold is possible, so it is omitted."""
    scale = None if aspect.grades is None else aspect.scale
    remarks = [] if aspect.greater_is_better else ["lower is better"]
    if scale is not None and len(scale) > 2:
        remarks.append(f"positive from {spell(float(scale.grades[scale.threshold]))}")
    elif scale is None and aspect.threshold is not None:
        remarks.append(f"positive from {spell(aspect.threshold)}")
    spec = aspect.to_spec()
    settings = {} if isinstance(spec, int) else spec
    if "gains" in settings:
        remarks.append(f"gains {spell_all(aspect.gains or ())}")
    if aspect.probabilities == "identity":
        remarks.append("labels are probabilities")
    elif "probabilities" in settings and not isinstance(aspect.probabilities, str):
        remarks.append(f"probabilities {spell_all(aspect.probabilities)}")
    if aspect.unjudged:
        remarks.append(f"not judged: {spell_all(aspect.unjudged)}")
    return ("inferred" if scale is None else str(scale)) + (f" ({'; '.join(remarks)})" if remarks else "")
