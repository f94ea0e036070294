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
    """Compute the statistics of each of `runs`, by name."""
    run_rows = []
    fraction_rows = []
    lookalike_tables = [alike.judged_lookalikes(judged.judgments)]
    for name, run in runs.items():
        frame = run_of(name, run).to_pandas()
        # As in an evaluation, the last score of a repeated document counts.
        is_repeated = frame.duplicated(["query_id", "doc_id"], keep="last")
        n_repeated = int(is_repeated.sum())
        rankings = Rankings(frame[~is_repeated], judged.judgments)
        run_rows.append(_run_row(name, frame, n_repeated, rankings))
        for fractions in _judged_fractions(rankings, judged):
            fraction_rows.append({"name": name, **fractions})
        lookalike_tables.append(alike.run_lookalikes(name, frame, judged.judgments))
    return Retrieved(
        runs=pd.DataFrame(run_rows, columns=RUN_COLUMNS),
        judged_at=pd.DataFrame(fraction_rows, columns=JUDGED_COLUMNS),
        alike=pd.concat(lookalike_tables, ignore_index=True),
    )


def _run_row(
    name: str, frame: pd.DataFrame, n_repeated: int, rankings: Rankings
) -> dict[str, object]:
    """Return the row of a run: its numbers of topics and documents, and fraction of tied scores.

    Parameters
    ----------
    name : str
        The name of the run.
    frame : DataFrame
        The run, with repeated documents.
    n_repeated : int
        The number of repeated documents.
    rankings : Rankings
        The run without them, on the topics of the qrels.
    """
    n_topics_of_run = frame["query_id"].nunique()
    n_topics_of_qrels = rankings.judgments.n_queries
    n_common = rankings.n_common
    # A level is a set of documents of a topic with the same score.
    documents_per_level = np.bincount(rankings.levels)
    is_tie = documents_per_level > 1
    n_tied = documents_per_level[is_tie].sum()
    n_scored = max(documents_per_level.sum(), 1)
    return {
        "name": name,
        "topics": n_common,
        "missed": n_topics_of_qrels - n_common,
        "unjudged_topics": n_topics_of_run - n_common,
        "documents": int(rankings.hits.n_ret.sum()),
        "repeated": n_repeated,
        "tied": float(n_tied / n_scored),
    }


def _judged_fractions(rankings: Rankings, judged: Judged) -> list[dict[str, object]]:
    """Return the mean fraction of the first k ranks that is judged, one dict per aspect.

    The mean is over the topics of the run. Each dict has the keys ``aspect`` and ``judged@k``.
    """
    n_retrieved = rankings.hits.n_ret  # shape (n_topics,)
    is_answered = n_retrieved > 0
    rows: list[dict[str, object]] = [{"aspect": view.name} for view in judged.views]
    for cutoff in CUTOFFS:
        top = rankings.top(cutoff)
        n_at_top = top.n_ret[is_answered]  # shape (n_answered,), as the fractions
        for view, row in zip(judged.views, rows, strict=True):
            # 1 or 0 for each document at the top that is judged on any aspect.
            is_known = view.known[top.row].astype(np.float64)
            n_judged = top.total(is_known)[is_answered]
            mean_fraction = np.nan
            if is_answered.any():
                fractions = n_judged / n_at_top
                mean_fraction = float(fractions.mean())
            row[f"judged@{cutoff}"] = mean_fraction
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
        """Return a column of the qrels as code: 'qid', 'docno', 'relevance' or another aspect."""
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
    """Return declared scales as code, such as ``ma.Aspects({'relevance': 2})``."""
    items = []
    for name, aspect in aspects.items():
        scale = _scale(aspect)
        items.append(f"{name!r}: {scale}")
    scales = "{" + ", ".join(items) + "}"
    return f"ma.Aspects({scales})"


def _scale(aspect: Aspect) -> str:
    """Return the declaration of one aspect as code: ``2``, or a call of ``ma.Aspect``."""
    spec = aspect.to_spec()
    if isinstance(spec, int):  # the top grade alone
        return str(spec)
    arguments = []
    grades = spec.pop("grades", None)
    if grades is not None:
        top = len(grades) - 1
        grades_up_to_top = list(range(len(grades)))
        if grades == grades_up_to_top:
            arguments.append(str(top))
        else:
            arguments.append(str(grades))
    for parameter, value in spec.items():
        arguments.append(f"{parameter}={value!r}")
    listed = ", ".join(arguments)
    return f"ma.Aspect({listed})"


def has_distance(measure: ir_measures.Measure) -> bool:
    """Return whether a measure is TOMA with a Minkowski distance, which reads all aspects."""
    is_toma = "distance" in measure.SUPPORTED_PARAMS
    if not is_toma:
        return False
    # An order of tuples takes the place of the distance.
    has_order = measure["order"] is not None
    if has_order:
        return False
    exponent = exponent_of(measure["distance"])
    return exponent is not None  # a Minkowski distance


PROPERTIES = ("scale", "threshold", "gains", "probabilities")
COLUMNS = ["measure", "aspect", "inferred", *PROPERTIES]

#: The numbers of topics, and of judged documents per topic, of random rankings.
_N_TOPICS = 30
_N_DOCUMENTS = 8

#: The maximum number of grades in random rankings.
_MOST_GRADES = 21


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
        error = _error_of_measure(label, measure, judged)
        if error is not None:
            refused[label] = error
        # A measure may be refused because of labels, although its scales are known.
        views = _views_of_measure(measure, judged)
        if views is None:
            continue
        dependences_by_aspect = _scale_dependences(measure, views)
        for view in views:
            row = {"measure": label, "aspect": view.name, "inferred": view.inferred}
            row.update(dependences_by_aspect[view.name])
            rows.append(row)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table, refused


def _error_of_measure(label: str, measure: ir_measures.Measure, judged: Judged) -> str | None:
    """Return the text of the error that a measure raises on the judgments, or None."""
    try:
        empty_run = Rankings({}, judged.given)
        plan = Plan(judged.given, {label: measure})
        plan.values(empty_run)
    except MultiAspectError as error:
        return str(error)
    return None


def _views_of_measure(
    measure: ir_measures.Measure, judged: Judged
) -> tuple[AspectView, ...] | None:
    """Return the aspects that a measure evaluates, or None.

    There are none for measures of ir-measures, and for parameters that are not valid.
    """
    if not supports(measure):
        return None
    try:
        measure.validate_params()
        return measure.views(judged.judgments)
    except MultiAspectError:
        return None


def _scale_dependences(
    measure: Measure, views: tuple[AspectView, ...]
) -> dict[str, dict[str, bool | None]]:
    """Return, by aspect, whether a measure depends on each property of its scale; None if unknown.

    The measure is evaluated on small random rankings, once with the original scales and once with
    each property changed. It does not depend on properties whose changes leave all values equal.
    """
    scales = {view.name: _thin_scale(view.aspect) for view in views}
    rankings = _random_rankings(scales, random.Random(0))
    original_values = _values(measure, scales, rankings)
    dependences_by_aspect = {}
    for name, aspect in scales.items():
        depends: dict[str, bool | None] = {}
        for scale_property in PROPERTIES:
            changed_values = []
            for changed_aspect in _variants(aspect, scale_property):
                changed_scales = {**scales, name: changed_aspect}
                changed_values.append(_values(measure, changed_scales, rankings))
            depends[scale_property] = _is_affected(original_values, changed_values)
        dependences_by_aspect[name] = depends
    return dependences_by_aspect


def _is_affected(original: Floats | None, changed: list[Floats | None]) -> bool | None:
    """Return whether any of the changed values differ from the original; None if this is unknown.

    Values are None if the measure rejects a scale.
    """
    if original is None:
        return None
    has_unknown = False
    for values in changed:
        if values is None:
            has_unknown = True
            continue
        difference = np.abs(original - values)
        if difference.max() > 1e-12:
            return True
    if has_unknown:
        return None
    return False


def _values(measure: Measure, scales: Mapping[str, Aspect], rankings: Rankings) -> Floats | None:
    """Return the values of the measure on `scales`, shape (n_topics,); None if it rejects them."""
    aspects = Aspects(scales)
    try:
        if measure.accepts_aspects:
            return measure(aspects=aspects).evaluate(rankings)
        # A measure of a single aspect takes no scales: `On` evaluates it on relevance, by default,
        # with the scale of relevance among `aspects`.
        on_relevance = On(base=measure, aspects=aspects)
        return on_relevance.evaluate(rankings)
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
        """Return the parts of a scale; those that it does not have are None."""
        # On the scale 'identity', labels are their own probabilities.
        probabilities = None
        if not scale.identity:
            probabilities = scale.probabilities
        threshold = None
        has_threshold = scale.threshold < len(scale)
        if has_threshold:
            threshold = scale.grades[scale.threshold]
        return cls(
            grades=scale.grades,
            gains=scale.gains,
            probabilities=probabilities,
            threshold=threshold,
            greater_is_better=scale.greater_is_better,
        )

    def to_aspect(self) -> Aspect:
        """Return the aspect that declares the parts."""
        # Gains that are the grades are not declared: grades below 0 count as 0, but as declared
        # gains, they would be those of harmful documents.
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
    """Return the aspect with at most `_MOST_GRADES` of its grades and that of its threshold."""
    scale = aspect.scale
    n_grades = len(scale)
    n_kept = min(n_grades, _MOST_GRADES)
    # Evenly spread positions, from the lowest to the highest grade.
    evenly_spread = np.linspace(0, n_grades - 1, n_kept).astype(int)
    kept = np.unique(evenly_spread)
    has_threshold = scale.threshold < n_grades  # the position of a grade, else n_grades
    if has_threshold:
        kept = np.union1d(kept, [scale.threshold])
    parts = _ScaleParts.of(scale)
    kept_probabilities = None
    if parts.probabilities is not None:
        kept_probabilities = parts.probabilities[kept]
    thin_parts = parts._replace(
        grades=parts.grades[kept],
        gains=parts.gains[kept],
        probabilities=kept_probabilities,
    )
    return thin_parts.to_aspect()


def _variants(aspect: Aspect, scale_property: str) -> list[Aspect]:
    """Return the aspect with one of `PROPERTIES` changed, in all ways that may have an effect.

    The effect is whether the values of a measure differ, so that any change will do.
    """
    parts = _ScaleParts.of(aspect.scale)
    if scale_property == "scale":
        return [_add_top_grade(parts).to_aspect()]
    if scale_property == "threshold":
        thresholds = _other_thresholds(aspect.scale)
        return [parts._replace(threshold=threshold).to_aspect() for threshold in thresholds]
    if scale_property == "gains":
        changed_gains = _bend(parts.gains)
        return [parts._replace(gains=changed_gains).to_aspect()]
    # Probabilities, if the scale has other ones than its labels.
    if parts.probabilities is None:
        return []
    changed_probabilities = _change_probabilities(parts.probabilities)
    return [parts._replace(probabilities=changed_probabilities).to_aspect()]


def _change_probabilities(probabilities: Floats) -> Floats:
    """Return other increasing probabilities, neither 0 nor 1: [0, 0.5, 1] -> [0.05, 0.275, 0.95].

    Any others would do.
    """
    changed: Floats = probabilities**2 * 0.9 + 0.05
    return changed


def _bend(gains: Floats) -> Floats:
    """Return other increasing gains, changed so that neither ratios nor differences are kept."""
    span = gains[-1] - gains[0]
    if span == 0:
        span = 1.0  # all gains are equal
    # Any increases that grow from grade to grade by different amounts; here, from about 0 to 5
    # times the span.
    increase = np.linspace(0.1, 1.7, len(gains)) ** 3
    bent: Floats = gains + span * increase
    return bent


def _other_thresholds(scale: Scale) -> list[float]:
    """Return the lowest, middle and highest grade that may be the threshold instead, sorted."""
    others = []
    # Any grade but the lowest can be a threshold.
    for position in range(1, len(scale.grades)):
        is_present_threshold = position == scale.threshold
        if not is_present_threshold:
            others.append(scale.grades[position])
    if not others:
        return []
    middle = others[len(others) // 2]
    distinct = {others[0], middle, others[-1]}
    return sorted(distinct)


def _add_top_grade(parts: _ScaleParts) -> _ScaleParts:
    """Return the scale with a grade added at the top, whose gain is one more than the highest."""
    greater_is_better = parts.greater_is_better
    step = 1.0
    if not greater_is_better:
        step = -1.0
    grades = np.append(parts.grades, parts.grades[-1] + step)
    gains = np.append(parts.gains, parts.gains[-1] + 1.0)
    probabilities = parts.probabilities
    if probabilities is not None:
        # Default probabilities change with the length of the scale; declared ones are continued.
        default = _default_probabilities(parts.grades, greater_is_better)
        if np.allclose(probabilities, default):
            probabilities = _default_probabilities(grades, greater_is_better)
        else:
            probabilities = np.append(probabilities, probabilities[-1])
    return parts._replace(grades=grades, gains=gains, probabilities=probabilities)


def _default_probabilities(grades: Floats, greater_is_better: bool) -> Floats:
    """Return the probabilities of grades for which none are declared."""
    aspect = Aspect(grades.tolist(), greater_is_better=greater_is_better)
    return aspect.scale.probabilities


def _random_rankings(scales: Mapping[str, Aspect], generator: random.Random) -> Rankings:
    """Return rankings with random scores and random judgments on the grades of the scales.

    Each topic has a few judged documents, most of which are retrieved, and one unjudged document.
    """
    qids = [f"q{number:02}" for number in range(_N_TOPICS)]
    docnos = [f"d{number}" for number in range(_N_DOCUMENTS)]
    pairs = list(product(qids, docnos))
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id"])
    for name, aspect in scales.items():
        grades = aspect.scale.grades.tolist()
        qrels[name] = generator.choices(grades, k=len(pairs))
    # Some measures need the documents that the user knows.
    if KNOWN not in qrels:
        qrels[KNOWN] = generator.choices([0, 1], k=len(pairs))
    retrieved = []
    for qid, docno in pairs:
        is_retrieved = generator.random() < 0.9
        if is_retrieved:
            score = generator.random()
            retrieved.append((qid, docno, score))
    for qid in qids:
        score = generator.random()
        retrieved.append((qid, "unjudged", score))
    run = pd.DataFrame(retrieved, columns=["query_id", "doc_id", "score"])
    return Rankings(run, Judgments(qrels))
