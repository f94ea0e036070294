"""Statistics of judgments, runs and measures, and findings about them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd

from .._typing import Floats
from ..aspects import Aspect, Aspects, Scale
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
    """The statistics of all runs."""

    runs: pd.DataFrame
    judged_at: pd.DataFrame
    alike: pd.DataFrame


def run_statistics(runs: Mapping[str, object], judged: Judged) -> Retrieved:
    """Compute the statistics of each of `runs`."""
    rows = []
    judged_at = []
    lookalikes = [alike.judged_lookalikes(judged.judgments)]
    for name, run in runs.items():
        frame = run_of(name, run).to_pandas()
        is_repeated = frame.duplicated(["query_id", "doc_id"], keep="last")
        rankings = Rankings(frame[~is_repeated], judged.judgments)
        rows.append(_run_row(name, frame, int(is_repeated.sum()), rankings))
        for fractions in _judged_fractions(rankings, judged):
            judged_at.append({"name": name, **fractions})
        lookalikes.append(alike.run_lookalikes(name, frame, judged.judgments))
    return Retrieved(
        runs=pd.DataFrame(rows, columns=RUN_COLUMNS),
        judged_at=pd.DataFrame(judged_at, columns=JUDGED_COLUMNS),
        alike=pd.concat(lookalikes, ignore_index=True),
    )


def _run_row(
    name: str, frame: pd.DataFrame, n_repeated: int, rankings: Rankings
) -> dict[str, object]:
    """Return the numbers of topics and documents of a run, and its fraction of tied scores."""
    n_topics = frame["query_id"].nunique()
    n_judged_topics = rankings.judgments.n_queries
    documents_per_level = np.bincount(rankings.levels)
    n_tied = documents_per_level[documents_per_level > 1].sum()
    n_scored = max(documents_per_level.sum(), 1)
    return {
        "name": name,
        "topics": rankings.n_common,
        "missed": n_judged_topics - rankings.n_common,
        "unjudged_topics": n_topics - rankings.n_common,
        "documents": int(rankings.hits.n_ret.sum()),
        "repeated": n_repeated,
        "tied": float(n_tied / n_scored),
    }


def _judged_fractions(rankings: Rankings, judged: Judged) -> list[dict[str, object]]:
    """Return the mean fraction of the first k ranks that is judged, per aspect.

    The mean is over the topics of the run.
    """
    is_answered = rankings.hits.n_ret > 0  # shape (n_topics,)
    rows: list[dict[str, object]] = [{"aspect": view.name} for view in judged.views]
    for cutoff in CUTOFFS:
        top = rankings.top(cutoff)
        n_retrieved = top.n_ret[is_answered]
        for view, row in zip(judged.views, rows, strict=True):
            is_known = view.known[top.row].astype(np.float64)
            n_judged = top.total(is_known)[is_answered]
            if is_answered.any():
                row[f"judged@{cutoff}"] = float((n_judged / n_retrieved).mean())
            else:
                row[f"judged@{cutoff}"] = np.nan
    return rows


#: The remedy of findings that no declaration resolves.
LOOK = "ma.describe(qrels).labels"


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics that the rules use."""

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
    def of(cls, judged: Judged, retrieved: Retrieved, **others: Any) -> Statistics:
        """Count labels, judged documents and pairs of aspects."""
        between, top_labels = pair_tables(judged)
        return cls(
            judged=judged,
            per_aspect=aspect_table(judged),
            labels=label_counts(judged),
            between=between,
            top_labels=top_labels,
            retrieved=retrieved,
            **others,
        )

    @property
    def noun(self) -> str:
        """The noun for what is judged."""
        if self.judged.answers is None:
            return "document"
        return "answer"

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
        column = self.judged.columns.get(name, name)
        return f"qrels[{column!r}]"


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
    scales = [f"{name!r}: {_scale(aspect)}" for name, aspect in aspects.items()]
    return f"ma.Aspects({{{', '.join(scales)}}})"


def _scale(aspect: Aspect) -> str:
    """Return the declaration of one aspect as code."""
    spec = aspect.to_spec()
    if isinstance(spec, int):
        return str(spec)
    arguments = []
    grades = spec.pop("grades", None)
    if grades is not None:
        is_plain = grades == list(range(len(grades)))
        if is_plain:
            arguments.append(str(len(grades) - 1))
        else:
            arguments.append(str(grades))
    for key, value in spec.items():
        arguments.append(f"{key}={value!r}")
    return f"ma.Aspect({', '.join(arguments)})"


def has_distance(measure: ir_measures.Measure) -> bool:
    """Return whether a measure is TOMA with a Minkowski distance, which reads all aspects."""
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
    rows = []
    refused = {}
    for label, measure in measures.items():
        try:
            empty_run = Rankings({}, judged.given)
            Plan(judged.given, {label: measure}).values(empty_run)
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
        for view in views:
            row = {"measure": label, "aspect": view.name, "inferred": view.inferred}
            rows.append({**row, **properties[view.name]})
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
            values = []
            for variant in _variants(aspect, changed):
                changed_scales = {**scales, name: variant}
                values.append(_values(measure, changed_scales, rankings))
            result[name][changed] = _is_affected(reference, values)
    return result


def _is_affected(reference: Floats | None, changed: list[Floats | None]) -> bool | None:
    """Return whether any of the changed values differ; None if this is unknown."""
    if reference is None:
        return None
    known = [values for values in changed if values is not None]
    for values in known:
        if np.abs(reference - values).max() > 1e-12:
            return True
    if len(known) < len(changed):
        return None
    return False


def _values(measure: Measure, scales: Mapping[str, Aspect], rankings: Rankings) -> Floats | None:
    """Return the values of the measure on `scales`; None if it rejects them."""
    aspects = Aspects(scales)
    try:
        if measure.accepts_aspects:
            return measure(aspects=aspects).evaluate(rankings)
        return On(base=measure, aspects=aspects).evaluate(rankings)
    except MultiAspectError:
        return None


class _ScaleParts(NamedTuple):
    """The parts of an aspect, to be changed singly."""

    grades: Floats
    gains: Floats
    #: None if labels are probabilities.
    probabilities: Floats | None
    #: None if no grade is positive.
    threshold: float | None
    greater_is_better: bool

    @classmethod
    def of(cls, scale: Scale) -> _ScaleParts:
        """Return the parts of a scale."""
        probabilities = None
        if not scale.identity:
            probabilities = scale.probabilities
        threshold = None
        if scale.threshold < len(scale):
            threshold = scale.grades[scale.threshold]
        return cls(scale.grades, scale.gains, probabilities, threshold, scale.greater_is_better)

    def to_aspect(self) -> Aspect:
        """Return the aspect that declares the parts."""
        # Grades below 0 count as 0; as declared gains, they would be those of harmful documents.
        gains = None
        if not np.array_equal(self.gains, self.grades):
            gains = self.gains.tolist()
        probabilities: Any = "identity"
        if self.probabilities is not None:
            probabilities = self.probabilities.tolist()
        threshold = None
        if self.threshold is not None:
            threshold = float(self.threshold)
        return Aspect(
            self.grades.tolist(),
            gains=gains,
            probabilities=probabilities,
            threshold=threshold,
            greater_is_better=self.greater_is_better,
        )


def _thin_scale(aspect: Aspect) -> Aspect:
    """Return the aspect with at most `_LONGEST` of its grades, and with the one of its threshold."""
    scale = aspect.scale
    n_kept = min(len(scale), _LONGEST)
    kept = np.unique(np.linspace(0, len(scale) - 1, n_kept).astype(int))
    if scale.threshold < len(scale):
        kept = np.union1d(kept, [scale.threshold])
    parts = _ScaleParts.of(scale)
    probabilities = parts.probabilities
    if probabilities is not None:
        probabilities = probabilities[kept]
    thinned = parts._replace(
        grades=parts.grades[kept], gains=parts.gains[kept], probabilities=probabilities
    )
    return thinned.to_aspect()


def _variants(aspect: Aspect, changed: str) -> list[Aspect]:
    """Return the aspect with one property changed, in all ways that may have an effect."""
    parts = _ScaleParts.of(aspect.scale)
    if changed == "threshold":
        thresholds = _other_thresholds(aspect.scale)
        return [parts._replace(threshold=grade).to_aspect() for grade in thresholds]
    if changed == "gains":
        # A non-linear change, so that neither ratios nor differences are kept.
        gains = parts.gains
        span = (gains[-1] - gains[0]) or 1.0
        bent = gains + span * np.linspace(0.1, 1.7, len(gains)) ** 3
        return [parts._replace(gains=bent).to_aspect()]
    if changed == "probabilities":
        if parts.probabilities is None:
            return []
        bent = parts.probabilities**2 * 0.9 + 0.05
        return [parts._replace(probabilities=bent).to_aspect()]
    return [_extend(parts).to_aspect()]


def _other_thresholds(scale: Scale) -> list[float]:
    """Return the lowest, middle and highest grade that may be the threshold instead, sorted."""
    others = []
    for position, grade in enumerate(scale.grades):
        if position > 0 and position != scale.threshold:
            others.append(grade)
    if not others:
        return []
    return sorted({others[0], others[len(others) // 2], others[-1]})


def _extend(parts: _ScaleParts) -> _ScaleParts:
    """Return the scale with a grade added at the top."""
    upwards = parts.greater_is_better
    step = 1.0 if upwards else -1.0
    grades = np.append(parts.grades, parts.grades[-1] + step)
    gains = np.append(parts.gains, parts.gains[-1] + 1.0)
    probabilities = parts.probabilities
    if probabilities is not None:
        if np.allclose(probabilities, _linear_probabilities(parts.grades, upwards)):
            probabilities = _linear_probabilities(grades, upwards)
        else:
            probabilities = np.append(probabilities, probabilities[-1])
    return parts._replace(grades=grades, gains=gains, probabilities=probabilities)


def _linear_probabilities(grades: Floats, greater_is_better: bool) -> Floats:
    """Return the default probabilities of grades."""
    aspect = Aspect(grades.tolist(), greater_is_better=greater_is_better)
    return aspect.scale.probabilities


def _probe(scales: Mapping[str, Aspect], generator: random.Random) -> Rankings:
    """Return rankings with random judgments on the grades of the scales.

    A few of the retrieved documents are unjudged.
    """
    qids = [f"q{topic:02}" for topic in range(_TOPICS)]
    docnos = [f"d{number}" for number in range(_DOCUMENTS)]
    pairs = list(product(qids, docnos))
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id"])
    for name, aspect in scales.items():
        grades = aspect.scale.grades.tolist()
        qrels[name] = generator.choices(grades, k=len(pairs))
    if KNOWN not in qrels:
        qrels[KNOWN] = generator.choices([0, 1], k=len(pairs))
    rows = []
    for qid, docno in pairs:
        if generator.random() < 0.9:
            rows.append((qid, docno, generator.random()))
    for qid in qids:
        rows.append((qid, "unjudged", generator.random()))
    run = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    return Rankings(run, Judgments(qrels))
