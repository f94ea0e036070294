"""Figures of judgments, runs and measures, and findings about them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..aspects import Aspect, Aspects
from ..collection import AspectView, Judgments, Rankings
from ..collection.columns import KNOWN
from ..errors import MultiAspectError
from ..evaluation.plan import Plan
from ..integration.provider import supports
from ..io.runs import run_of
from ..measures import Measure, On
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
        n_topics, times = frame["query_id"].nunique(), np.bincount(rankings.levels)
        row = {
            "name": name,
            "topics": rankings.n_common,
            "missed": judged.judgments.n_queries - rankings.n_common,
            "unjudged_topics": n_topics - rankings.n_common,
            "documents": int(rankings.hits.n_ret.sum()),
            "repeated": int(repeated.sum()),
            "tied": float(times[times > 1].sum() / max(times.sum(), 1)),
        }
        rows.append(row)
        judged_at += [{"name": name, **row} for row in _judged_fractions(rankings, judged)]
        similar.append(alike.run_lookalikes(name, frame, judged.judgments))
    return Retrieved(
        pd.DataFrame(rows, columns=RUN_COLUMNS),
        pd.DataFrame(judged_at, columns=JUDGED_COLUMNS),
        pd.concat([alike.judged_lookalikes(judged.judgments), *similar], ignore_index=True),
    )


def _judged_fractions(rankings: Rankings, judged: Judged) -> list[dict[str, object]]:
    """Return the fraction of the first k ranks that is judged, per aspect, over the topics of the run."""
    answered = rankings.hits.n_ret > 0
    rows: list[dict[str, object]] = [{"aspect": view.name} for view in judged.views]
    for cutoff in CUTOFFS:
        top = rankings.top(cutoff)
        for view, row in zip(judged.views, rows, strict=True):
            n_judged = top.total(view.known[top.row].astype(np.float64))[answered]
            if answered.any():
                row[f"judged@{cutoff}"] = float((n_judged / top.n_ret[answered]).mean())
            else:
                row[f"judged@{cutoff}"] = np.nan
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
    measures: Mapping[str, ir_measures.Measure] = field(default_factory=dict)
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
    #: By aspect, the scale to declare instead, or None to leave the aspect out; empty if the
    #: present scales are to be declared.
    changes: Mapping[str, Aspect | None] | None = None
    #: The numbers behind the finding, which differ between aspects.
    numbers: str = ""


def declaration(aspects: Aspects) -> str:
    """Return declared scales as code."""
    return f"ma.Aspects({{{', '.join(f'{name!r}: {_scale(aspect)}' for name, aspect in aspects.items())}}})"


def _scale(aspect: Aspect) -> str:
    spec = aspect.to_spec()
    if isinstance(spec, int):
        return str(spec)
    grades = spec.pop("grades", None)
    plain = grades is not None and grades == list(range(len(grades)))
    if grades is None:
        first = []
    else:
        first = [str(len(grades) - 1 if plain else grades)]
    return f"ma.Aspect({', '.join([*first, *(f'{key}={value!r}' for key, value in spec.items())])})"


def has_distance(measure: ir_measures.Measure) -> bool:
    """Return whether a measure is TOMA with a Minkowski distance, to which all aspects contribute."""
    if "distance" not in measure.SUPPORTED_PARAMS or measure["order"] is not None:
        return False
    return exponent_of(measure["distance"]) is not None


PROPERTIES = ("scale", "threshold", "gains", "probabilities")
COLUMNS = ["measure", "aspect", "inferred", *PROPERTIES]

#: The probe: number of topics, documents per topic, and grades; longer scales are thinned out.
_TOPICS, _DOCUMENTS, _LONGEST = 30, 8, 21


def dependences(
    measures: Mapping[str, ir_measures.Measure], judged: Judged
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return which measures depend on which scales, and which cannot be computed.

    Returns
    -------
    table : DataFrame
        One row per measure and aspect that it evaluates: ``inferred`` tells whether the measure
        uses an inferred scale; the others tell whether its values change with a grade added at the
        top (``scale``), and with the ``threshold``, ``gains`` and ``probabilities``; None if
        unknown. Measures of ir-measures use plain labels and have no rows.
    refused : dict of str to str
        The errors by measure.
    """
    rows, refused = [], {}
    for label, measure in measures.items():
        try:  # on an empty run
            Plan(judged.given, {label: measure}).values(Rankings({}, judged.given))
        except MultiAspectError as error:
            refused[label] = str(error)
        if not supports(measure):
            continue
        try:
            measure.validate_params()
            views = measure.views(judged.judgments)
        except MultiAspectError:
            continue
        properties = _scale_dependences(measure, views)
        rows += [
            {"measure": label, "aspect": v.name, "inferred": v.inferred, **properties[v.name]}
            for v in views
        ]
    return pd.DataFrame(rows, columns=COLUMNS), refused


def _scale_dependences(
    measure: Measure, views: tuple[AspectView, ...]
) -> dict[str, dict[str, bool | None]]:
    """Return, by aspect, whether a measure depends on each property of its scale; None if unknown.

    The measure is evaluated on small random rankings, once with the original scales and once with
    each property changed. It does not depend on properties whose changes leave all values equal.
    """
    scales = {view.name: _thin_scale(view.aspect) for view in views}
    rankings = _probe(scales, random.Random(0))
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
    threshold = None
    if scale.threshold < len(scale):
        kept, threshold = np.union1d(kept, [scale.threshold]), scale.grades[scale.threshold]
    return _aspect(
        scale.grades[kept],
        scale.gains[kept],
        None if scale.identity else scale.probabilities[kept],
        threshold,
        scale.greater_is_better,
    )


def _aspect(
    grades: Floats, gains: Floats, probabilities: Floats | None, threshold: Any, upwards: bool
) -> Aspect:
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
    if scale.threshold < len(scale):
        threshold = grades[scale.threshold]
    else:
        threshold = None
    if what == "threshold":
        others = [grade for at, grade in enumerate(grades) if at > 0 and at != scale.threshold]
        if others:
            picked = {others[0], others[len(others) // 2], others[-1]}
        else:
            picked = set()
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
        on_line = np.allclose(
            probabilities, Aspect(grades.tolist(), greater_is_better=upwards).scale.probabilities
        )
        linear = Aspect(longer.tolist(), greater_is_better=upwards).scale.probabilities
        if on_line:
            probabilities = linear
        else:
            probabilities = np.append(probabilities, probabilities[-1])
    return [_aspect(longer, np.append(gains, gains[-1] + 1.0), probabilities, threshold, upwards)]


def _probe(scales: Mapping[str, Aspect], generator: random.Random) -> Rankings:
    """Return rankings with random judgments on the grades of the scales, and a few unjudged documents."""
    pairs = [
        (f"q{topic:02}", f"d{number}") for topic in range(_TOPICS) for number in range(_DOCUMENTS)
    ]
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id"])
    for name, aspect in scales.items():
        qrels[name] = generator.choices(aspect.scale.grades.tolist(), k=len(pairs))
    if KNOWN not in qrels:
        qrels[KNOWN] = generator.choices([0, 1], k=len(pairs))
    run = [(qid, docno, generator.random()) for qid, docno in pairs if generator.random() < 0.9]
    run += [(f"q{topic:02}", "unjudged", generator.random()) for topic in range(_TOPICS)]
    return Rankings(pd.DataFrame(run, columns=["query_id", "doc_id", "score"]), Judgments(qrels))
