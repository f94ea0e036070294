"""Properties of scales that a measure depends on, found by changing them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..aspects.aspect import Aspect
from ..aspects.aspects import Aspects
from ..collection.columns import KNOWN
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..errors import MultiAspectError
from ..evaluation.plan import Plan
from ..integration.provider import supports
from ..measures import Measure, On
from .scales import Judged

PROPERTIES = ("scale", "threshold", "gains", "probabilities")
COLUMNS = ["measure", "aspect", "inferred", *PROPERTIES]

#: The probe: number of topics, documents per topic, and grades; longer scales are thinned out.
_TOPICS, _DOCUMENTS, _LONGEST = 30, 8, 21


def dependences(measures: Mapping[str, ir_measures.Measure], judged: Judged) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return which measures depend on which scales, and which cannot be computed.

    Returns
    -------
    table : DataFrame
        One row per measure and aspect that it evaluates: ``inferred`` tells whether the measure uses an inferred
        scale; the others tell whether its values change with a grade added at the top (``scale``), and with the
        ``threshold``, ``gains`` and ``probabilities``; None if unknown. Measures of ir-measures use plain labels
        and have no rows.
    refused : dict of str to str
        The errors by measure.
    """
    rows, refused = [], {}
    for label, measure in measures.items():
        error = _refusal(label, measure, judged.given)
        if error is not None:
            refused[label] = error
        if not supports(measure):
            continue
        try:
            measure.validate_params()
            views = measure.views(judged.judgments)
        except MultiAspectError:
            continue
        properties = _scale_dependences(measure, views)
        rows += [{"measure": label, "aspect": v.name, "inferred": v.inferred, **properties[v.name]} for v in views]
    return pd.DataFrame(rows, columns=COLUMNS), refused


def _refusal(label: str, measure: ir_measures.Measure, judgments: Judgments) -> str | None:
    """Return the error of a measure that cannot be computed on judgments, found with an empty run."""
    try:
        Plan(judgments, {label: measure}).values(Rankings({}, judgments))
    except MultiAspectError as error:
        return str(error)
    return None


def _scale_dependences(measure: Measure, views: tuple[AspectView, ...]) -> dict[str, dict[str, bool | None]]:
    """Return, by aspect, whether a measure depends on each property of its scale; None if unknown.

    The measure is evaluated on small random rankings, once with the original scales and once with each property
    changed. It does not depend on properties whose changes leave all values equal.
    """
    scales = {view.name: _thin_scale(view.aspect) for view in views}
    generator = random.Random(0)
    rankings = _probe(scales, generator)
    reference = _values(measure, scales, rankings)
    result: dict[str, dict[str, bool | None]] = {}
    for name, aspect in scales.items():
        result[name] = {}
        for changed in PROPERTIES:
            variants = [{**scales, name: variant} for variant in _variants(aspect, changed)]
            values = [_values(measure, variant, rankings) for variant in variants]
            result[name][changed] = _is_affected(reference, values)
    return result


def _is_affected(reference: Floats | None, changed: list[Floats | None]) -> bool | None:
    """Return whether any of the changed values differ; None if this is unknown."""
    values = [result for result in changed if result is not None]
    if reference is not None and any(np.abs(reference - result).max() > 1e-12 for result in values):
        return True
    return False if reference is not None and len(values) == len(changed) else None


def _values(measure: Measure, scales: Mapping[str, Aspect], rankings: Rankings) -> Floats | None:
    """Return the values of the measure on `scales`; None if it rejects them."""
    aspects = Aspects(scales)
    try:
        if measure.accepts_aspects:
            return measure(aspects=aspects).evaluate(rankings)
        return On(base=measure, aspects=aspects).evaluate(rankings)
    except MultiAspectError:
        return None


def _thin_scale(aspect: Aspect) -> Aspect:
    """Return the aspect with its grades, gains, probabilities and threshold, at most `_LONGEST` grades."""
    scale = aspect.scale
    kept = np.unique(np.linspace(0, len(scale) - 1, min(len(scale), _LONGEST)).astype(int))
    if scale.threshold < len(scale):
        kept = np.union1d(kept, [scale.threshold])
    return _aspect(
        scale.grades[kept],
        scale.gains[kept],
        None if scale.identity else scale.probabilities[kept],
        scale.grades[scale.threshold] if scale.threshold < len(scale) else None,
        scale.greater_is_better,
    )


def _aspect(grades: Floats, gains: Floats, probabilities: Floats | None, threshold: Any, upwards: bool) -> Aspect:
    return Aspect(
        grades.tolist(),
        # Grades below 0 count as 0; as declared gains, they would be those of harmful documents.
        gains=None if np.array_equal(gains, grades) else gains.tolist(),
        probabilities="identity" if probabilities is None else probabilities.tolist(),
        threshold=None if threshold is None else float(threshold),
        greater_is_better=upwards,
    )


def _variants(aspect: Aspect, what: str) -> list[Aspect]:
    """Return the aspect with one property changed, in all ways that may have an effect."""
    scale = aspect.scale
    grades, gains, upwards = scale.grades, scale.gains, scale.greater_is_better
    probabilities = None if scale.identity else scale.probabilities
    threshold = grades[scale.threshold] if scale.threshold < len(scale) else None
    if what == "threshold":
        others = [grade for at, grade in enumerate(grades) if at > 0 and at != scale.threshold]
        picked = {others[0], others[len(others) // 2], others[-1]} if others else set()
        return [_aspect(grades, gains, probabilities, grade, upwards) for grade in sorted(picked)]
    if what == "gains":
        # A non-linear change, so that neither ratios nor differences are kept.
        span = (gains[-1] - gains[0]) or 1.0
        bent = gains + span * np.linspace(0.1, 1.7, len(gains)) ** 3
        return [_aspect(grades, bent, probabilities, threshold, upwards)]
    if what == "probabilities":
        if probabilities is None:
            return []
        return [_aspect(grades, gains, probabilities**2 * 0.9 + 0.05, threshold, upwards)]
    longer = np.append(grades, grades[-1] + (1.0 if upwards else -1.0))
    if probabilities is not None:
        on_line = np.allclose(probabilities, Aspect(grades.tolist(), greater_is_better=upwards).scale.probabilities)
        linear = Aspect(longer.tolist(), greater_is_better=upwards).scale.probabilities
        probabilities = linear if on_line else np.append(probabilities, probabilities[-1])
    return [_aspect(longer, np.append(gains, gains[-1] + 1.0), probabilities, threshold, upwards)]


def _probe(scales: Mapping[str, Aspect], generator: random.Random) -> Rankings:
    """Return rankings with random judgments on the grades of the scales, and a few unjudged documents."""
    pairs = [(f"q{topic:02}", f"d{number}") for topic in range(_TOPICS) for number in range(_DOCUMENTS)]
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id"])
    for name, aspect in scales.items():
        qrels[name] = generator.choices(aspect.scale.grades.tolist(), k=len(pairs))
    if KNOWN not in qrels:
        qrels[KNOWN] = generator.choices([0, 1], k=len(pairs))
    run = [(qid, docno, generator.random()) for qid, docno in pairs if generator.random() < 0.9]
    run += [(f"q{topic:02}", "unjudged", generator.random()) for topic in range(_TOPICS)]
    return Rankings(pd.DataFrame(run, columns=["query_id", "doc_id", "score"]), Judgments(qrels))
