"""The Pareto front of the values that rankings of the judged documents attain, and systems compared with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..._cached import cached_property
from ..._typing import Floats
from ..._validation import choice, count, fraction, real
from ...aspects import Aspects, AspectSpec, parse_aspects
from ...collection import Judgments
from ...collection.frames import as_pandas
from ...errors import MultiAspectError, choices, number_of, refuse_taken, warn_once
from ...evaluation.long_frames import COLUMNS, is_recorded, measures_by_label
from ...evaluation.topics import check_all_topics
from ...integration import parsing
from ...io.runs import join, named_runs
from ...kernels.pareto import names_of_dominating
from ...measures import Measure, On
from .._frames import matrix, rows_of_measures
from ..upper_bounds.upper_bound import sorted_judgments
from .enumeration import all_points
from .hull import Hull, Points, mean_points
from .supported import chain_of_means, linear_topics, refine_hull, supported_points

#: Default of `limit` by kind.
_LIMITS = {"supported": 300, "all": 50_000}

#: Tolerance for systems that exceed the front (rounding errors).
_ROUNDING = 1e-9

#: Columns that are not measures.
RESERVED = ("name", "qid", "supported", "gap", "dpfr", "nearest", "hypervolume", "attainable", "dominated_by")


def attainable_front(
    qrels: object,
    measures: parsing.Measures,
    *,
    aspects: object = None,
    kind: str = "supported",
    limit: int | None = None,
) -> AttainableFront:
    """Compute the best combinations of values of two or three measures that rankings attain.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable or Judgments
        Wide qrels, with one numeric column per aspect.
    measures : measure, str, sequence of these or mapping
        Two or three measures; a mapping is ``{label: measure}``. Or one single-aspect measure, such as
        ``"nDCG@10"``, to be evaluated on each of the `aspects`; the aspects are the labels then.
    aspects : Aspects, mapping, str or sequence of str, optional
        Two or three aspects for a single measure. With several measures, the scales of those that declare none.
    kind : {'supported', 'all'}, default 'supported'
        ``'supported'``: the corners of the hull of the values that mixtures of rankings attain, which are best
        for some weighted mean of the measures. ``'all'``: all values that no other ranking dominates, for small
        topics.
    limit : int, optional
        For ``'supported'``, except for two measures with equal discounts: the number of points per topic, 300 by
        default, at which refinement of the hull stops; `gap` bounds the error. For ``'all'``: the
        maximum number of (partial) rankings per topic, 50 000 by default.

    Returns
    -------
    AttainableFront
        With the data frames `points`, per topic, and `mean`, and the methods `systems` and `reference`.

    Raises
    ------
    MultiAspectError
        If there are fewer than two or more than three measures, a measure is not a weighted sum of sums over
        ranks (``'supported'``), or a topic has more rankings than `limit` (``'all'``).

    Notes
    -----
    The attainable values are those of the rankings of all judged documents of a topic. For measures that never
    decrease if documents are appended (nDCG, AP, TOMA, MM), no run exceeds them. For measures that unjudged or
    missing documents can improve, such as AWRF or ESL, runs can; `AttainableFront.systems` warns about this.

    ``'supported'`` requires weighted sums of bases that are sums over ranks, such as nDCG, RBP and CRP, and On,
    CAM and TOMA over these. With two measures of equal discounts, the order of documents by weighted gains
    changes only at the weights where two documents' gains are equal; one ranking between each two neighbouring
    weights gives all corners exactly. Otherwise (also for two measures and thousands of distinct documents), the
    hull is refined until no weighted sum gains anything, or it has `limit` points. `gap` is the maximum by which
    a weighted mean, with weights that sum to 1, exceeds that of the points; 0 if they are exact. Most
    non-dominated rankings are not supported: of those of four to seven documents, 19 to 77 % are below the hull,
    by up to .16.

    ``'all'`` finds every point: by dynamic programming with bounds for measures that are computed rank by rank
    (those of `upper_bound`), otherwise by evaluating every ranking of distinct documents. `gap` is 0 for topics.

    The *front of means* is the front of the means over topics, with a separate ranking for each topic: the
    attainable means are the Minkowski average of the topics' attainable values. Its supported points are the
    means of the topics' supported points at the same weights. For ``'all'``, every point of each topic is
    combined with every point of the others; if there are 10 000 non-dominated means or more (2000 for three
    measures), one of nearly equal ones is kept, and `gap` is the maximum by which the others are higher in some
    measure. As in means of systems, topics without a relevant document are included, with the value 0.

    Stability: provisional. New, without a published method to follow.

    References
    ----------
    Rampisela, Ruotsalo, Maistro, Lioma: Joint Evaluation of Fairness and Relevance in Recommender Systems with
    Pareto Frontier. WWW 2025. The distance there is ``dpfr`` of the mean, with ``kind='all'``. The published
    program cannot return the first point of the front as reference; this one can.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels = {"d1": (2, 0), "d2": (0, 2), "d3": (1, 1), "d4": (2, 1), "d5": (0, 0)}
    >>> qrels = {"q1": {d: {"relevance": r, "credibility": c} for d, (r, c) in labels.items()}}
    >>> front = ma.analysis.attainable_front(qrels, "nDCG", aspects={"relevance": 2, "credibility": 2})
    >>> front.points.round(3)
      qid  relevance  credibility  gap
    0  q1      1.000        0.754  0.0
    1  q1      0.894        0.882  0.0
    2  q1      0.697        1.000  0.0
    >>> run = {"q1": {"d1": 5.0, "d5": 4.0, "d2": 3.0, "d3": 2.0, "d4": 1.0}}
    >>> systems = front.systems({"mine": run})
    >>> systems[["name", "relevance", "credibility", "dpfr", "nearest", "relevance room"]].round(3)
       name  relevance  credibility   dpfr  nearest  relevance room
    0  mine      0.852        0.581  0.318    0.228           0.148
    >>> every = ma.analysis.attainable_front(qrels, "nDCG", aspects="relevance,credibility", kind="all")
    >>> every.points.head(3).round(3)
      qid  relevance  credibility  supported  gap
    0  q1      1.000        0.754       True  0.0
    1  q1      0.982        0.776      False  0.0
    2  q1      0.965        0.796      False  0.0
    """
    choice("kind", *_LIMITS)(kind)
    most = _LIMITS[kind] if limit is None else count("limit")(limit)
    judgments, labelled = sorted_judgments(qrels), _read_measures(measures, aspects)
    if not judgments.n_queries:
        raise MultiAspectError("expected qrels with at least one query, got none")
    for measure in labelled.values():
        for term in measure.terms(judgments):
            term.check_gains(f"the front of {measure}")
    refuse_taken(labelled, {*RESERVED, *(f"{label} room" for label in labelled)}, "a column of the result")
    signs = np.array([-1.0 if measure.lower_is_better else 1.0 for measure in labelled.values()])
    if kind == "supported":
        found = (supported_points(topic, most) for topic in linear_topics(labelled, judgments))
        lines = [_Line(Hull.of(points), gap) for points, gap in found]
    else:
        topics = all_points(list(labelled.values()), signs, judgments, most)
        lines = [_Line(Points(points), 0.0) for points in topics]
    return AttainableFront(kind, labelled, judgments, lines, signs, most)


@dataclass(frozen=True, eq=False)
class _Line:
    """The front of a topic or of the mean, with higher values better in each column."""

    shape: Hull | Points
    gap: float


@dataclass(frozen=True, eq=False)
class AttainableFront:
    """Result of `attainable_front`: the values that rankings attain on two or three measures.

    Attributes
    ----------
    kind : {'supported', 'all'}
        The front of mixtures of rankings, or of rankings.
    measures : dict of str to Measure
        The measures by label, as `pt_multiaspect.evaluate` takes them.
    judgments : Judgments
        The judged documents.

    Notes
    -----
    Stability: provisional. It is the result of `attainable_front`, which may change.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {
    ...     "q1": {"d1": {"relevance": 1, "credibility": 0}, "d2": {"relevance": 0, "credibility": 1}},
    ...     "q2": {"d1": {"relevance": 1, "credibility": 1}, "d2": {"relevance": 0, "credibility": 1}},
    ... }
    >>> front = ma.analysis.attainable_front(qrels, "nDCG", aspects={"relevance": 1, "credibility": 1})
    >>> front
    <AttainableFront (supported) of relevance, credibility: 3 points of 2 topics>
    >>> front.mean.round(3)
       relevance  credibility  gap
    0      1.000        0.815  0.0
    1      0.815        1.000  0.0
    >>> front.reference(0.5).round(3)
       relevance  credibility
    0      0.908        0.908
    """

    kind: str
    measures: dict[str, Measure]
    judgments: Judgments
    _topics: list[_Line]
    #: −1 for measures of which lower is better, else 1.
    _signs: Floats
    #: The number of points at which refinement of the mean of three measures stops.
    _limit: int

    def __repr__(self) -> str:
        n_points = sum(len(line.shape.points) for line in self._topics)
        return (
            f"<AttainableFront ({self.kind}) of {choices(self.measures)}: {number_of(n_points, 'point')} of "
            f"{number_of(len(self._topics), 'topic')}>"
        )

    @property
    def points(self) -> pd.DataFrame:
        """The points of each topic, from the best of the first measure on.

        Columns ``qid``, the labels of the measures and ``gap``; for ``kind='all'``, also ``supported``: whether the
        point is a corner of the hull, so that it is the only best one for some weights.
        """
        parts = [self._frame(line) for line in self._topics]
        table = pd.concat(parts, ignore_index=True)
        table.insert(0, "qid", np.repeat(self.judgments.qids, [len(part) for part in parts]))
        return table

    @property
    def mean(self) -> pd.DataFrame:
        """The points of the means over topics; columns as in `points`, without ``qid``."""
        return self._frame(self._mean)

    @cached_property
    def _mean(self) -> _Line:
        topics = [line.shape.points for line in self._topics]
        if self.kind == "all":
            points, gap = mean_points(topics)
            return _Line(Points(points), gap)
        gap = float(np.mean([line.gap for line in self._topics]))
        if len(self.measures) == 2:
            return _Line(Hull.of(chain_of_means(topics)), gap)

        def best(weights: Floats) -> Floats:
            values = [points[(points @ weights.T).argmax(axis=0)] for points in topics]
            return np.asarray(np.sum(values, axis=0) / len(topics), dtype=np.float64)

        points, remaining = refine_hull(best, len(self.measures), self._limit)
        return _Line(Hull.of(points), gap + remaining)

    def _values(self, points: Floats) -> pd.DataFrame:
        """Return points with higher values better as values of the measures."""
        return pd.DataFrame(points * self._signs + 0.0, columns=list(self.measures))

    def _frame(self, line: _Line) -> pd.DataFrame:
        table = self._values(line.shape.points)
        if isinstance(line.shape, Points):
            table["supported"] = line.shape.is_supported
        table["gap"] = line.gap
        return table

    def reference(self, alpha: float = 0.5, *, perquery: bool = False) -> pd.DataFrame:
        """Return the point at a fraction of the length of the front, the reference of `systems`.

        Parameters
        ----------
        alpha : float in [0, 1], default 0.5
            0 is the end with the best value of the first measure, 1 that of the second.
        perquery : bool, default False
            Whether to return the point of each topic, rather than that of the mean.

        Returns
        -------
        DataFrame
            One row, or one per topic with a column ``qid``, with one column per measure. For ``kind='supported'``,
            the point itself, which a mixture of rankings attains; for ``kind='all'``, the nearest attainable point.

        Raises
        ------
        MultiAspectError
            If there are three measures, or `alpha` is not between 0 and 1.
        """
        lines = self._topics if perquery else [self._mean]
        table = self._values(np.array([line.shape.point_at(self._alpha(alpha)) for line in lines]))
        if perquery:
            table.insert(0, "qid", self.judgments.qids)
        return table

    def _alpha(self, alpha: object) -> float:
        if len(self.measures) != 2:
            raise MultiAspectError(
                f"alpha: expected a front of two measures, got {len(self.measures)}: "
                f"{choices(self.measures)}; use the column `nearest` of `systems`"
            )
        return fraction("alpha")(alpha)

    def systems(
        self,
        runs: object,
        *,
        perquery: bool = False,
        alpha: float | None = None,
        worst: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Compare systems with the front and with each other.

        Parameters
        ----------
        runs : mapping of str to run, sequence of runs, run, or DataFrame
            Runs, as for `pt_multiaspect.evaluate`. Or its result for `measures`: a DataFrame with the columns
            ``name qid measure value``. Topics that are missing from a run count as empty rankings; topics without
            judgments are ignored.
        perquery : bool, default False
            Whether to compare on each topic. By default, means over topics are compared with the front of means.
        alpha : float in [0, 1], optional
            The position of the reference point along the front, 0.5 by default; only for two measures.
        worst : mapping of str to float, optional
            The corner of the hypervolume: for each measure, a value at most as good as those of all points and
            systems. By default, the end of the measure's range.

        Returns
        -------
        DataFrame
            One row per system, or per system and topic (column ``qid``), with the columns

            - one per measure: the values of the system,
            - ``dpfr``: the Euclidean distance to the `reference` point (two measures only),
            - ``nearest``: the Euclidean distance to the nearest point of the front,
            - ``<measure> room``: the maximum improvement on this measure by rankings that are at least as good on
              the others; never negative, also where lower is better,
            - ``hypervolume``: the product of the differences to the worst values, and ``attainable``: the volume
              that the front dominates,
            - ``dominated_by``: the names of the systems that are at least as good on all measures and better on
              one.

        Raises
        ------
        MultiAspectError
            If a run is invalid, a measure or topic is missing from the frame, a system has values that no ranking
            of the judged documents attains, or the worst value of a measure is infinite.

        Warns
        -----
        MultiAspectWarning
            If a system exceeds the front because a measure rewards unjudged documents, or missing documents;
            or if Euclidean distances mix measures without a common range.
        """
        names, values = _system_values(runs, self.measures, self.judgments)
        corner = self._worst(worst)
        self._warn_of_units()
        position = (0.5 if alpha is None else alpha) if len(self.measures) == 2 else alpha
        lines, topics = (self._topics, self.judgments.qids) if perquery else ([self._mean], [None])
        oriented = (values if perquery else values.mean(axis=1, keepdims=True)) * self._signs
        parts = []
        for index, (line, qid) in enumerate(zip(lines, topics, strict=True)):
            points = oriented[:, index]
            self._check_attainable(line, points, names, qid)
            table = pd.DataFrame({"name": names} if qid is None else {"name": names, "qid": qid})
            table = table.join(self._values(points))
            if position is not None:
                table["dpfr"] = np.linalg.norm(points - line.shape.point_at(self._alpha(position)), axis=1)
            table["nearest"] = line.shape.distance(points)
            table[[f"{label} room" for label in self.measures]] = line.shape.room(points)
            low = np.minimum(points.min(axis=0), line.shape.points.min(axis=0))
            if (low < corner - _ROUNDING).any():
                raise MultiAspectError(
                    f"worst: expected values at most as good as those of all points and systems, got {worst}, but "
                    f"there is {dict(zip(self.measures, (low * self._signs).tolist(), strict=True))}"
                )
            table["hypervolume"] = np.prod(np.maximum(points - corner, 0.0), axis=1)
            table["attainable"] = line.shape.volume(corner)
            table["dominated_by"] = pd.Series(names_of_dominating(points, names), dtype=object)
            parts.append(table)
        if not perquery:
            return parts[0]
        table = pd.concat(parts, ignore_index=True)
        order = np.arange(len(table)).reshape(len(self._topics), len(names)).T.ravel()
        return table.iloc[order].reset_index(drop=True)

    def _worst(self, worst: Mapping[str, float] | None) -> Floats:
        """Return the corner of the hypervolume, with higher values better."""
        if worst is not None and (not isinstance(worst, Mapping) or set(worst) != set(self.measures)):
            raise MultiAspectError(
                f"worst: expected a value of each measure ({choices(self.measures)}), got {worst}"
            )
        corner = np.empty(len(self.measures))
        for column, (label, measure) in enumerate(self.measures.items()):
            low, high = measure.range
            value = (high if measure.lower_is_better else low) if worst is None else worst[label]
            if worst is not None:
                value = real(f"worst of {label}", low=-np.inf, open_low=True)(value)
            if not np.isfinite(value):
                raise MultiAspectError(
                    f"the worst value of {label} is infinite; give finite ones, as in worst={{{label!r}: 100, …}}"
                )
            corner[column] = value * self._signs[column]
        return corner

    def _warn_of_units(self) -> None:
        """Warn about distances between values of measures with different or infinite ranges."""
        endless = [label for label, measure in self.measures.items() if not np.isfinite(measure.range).all()]
        if endless:
            warn_once(
                f"{choices(endless)} has no upper limit, so Euclidean distances to the front depend on its unit "
                "more than on the other measures; use a normalised measure, such as nDCG rather than DCG"
            )

    def _check_attainable(self, line: _Line, points: Floats, names: Sequence[object], qid: object) -> None:
        """Raise an error if systems exceed the front, or a warning if the measures allow it."""
        excess = line.shape.excess(points) - line.gap
        beyond = np.flatnonzero(excess > _ROUNDING)
        if not len(beyond):
            return
        system = int(beyond[np.argmax(excess[beyond])])
        values = dict(zip(self.measures, (points[system] * self._signs).tolist(), strict=True))
        unattained = (
            f"{names[system]} has {choices(f'{label} = {value:.4f}' for label, value in values.items())} "
            f"{'in the mean' if qid is None else f'on topic {qid}'}, which no ranking of all judged documents "
            "attains"
        )
        open_ones = [label for label, measure in self.measures.items() if not _is_closed(measure, self.judgments)]
        if not open_ones:
            raise MultiAspectError(
                f"{unattained}: expected values of the measures {choices(self.measures)} on the same qrels; "
                "evaluate the runs with the attribute `measures` of the front, or give the runs"
            )
        warn_once(
            f"{unattained}: {choices(open_ones)} can be better if unjudged documents are retrieved, or judged ones "
            "are not. The front is that of rankings of all judged documents; distances are to that",
            key=f"beyond the front: {choices(open_ones)}",
        )


def _is_closed(measure: Measure, judgments: Judgments) -> bool:
    """Return whether no run exceeds the rankings of the judged documents."""
    terms = measure.terms(judgments)
    return bool(terms) and measure.IS_INCREASING and not measure.lower_is_better and all(
        term.base.progression(term.target) is not None and not term.target.unjudged for term in terms
    )  # fmt: skip


def _read_measures(measures: Any, aspects: Any) -> dict[str, Measure]:
    """Return two or three measures of this package by label.

    Parameters
    ----------
    measures : measure, str, sequence of these or mapping
        The measures.
    aspects : Aspects, mapping, str or None
        The aspects of a single measure, or the scales of several that declare none.

    Raises
    ------
    MultiAspectError
        If there are fewer than two or more than three.
    """
    check_all_topics(measures, "a front has a point of all measures for each topic")
    labelled = parsing.parse_all(measures)
    if aspects is not None:
        spec = parse_aspects(aspects)
        if len(labelled) == 1:
            (measure,) = labelled.values()
            labelled = {name: _measure_on_aspect(measure, name, spec) for name in spec or ()}
        else:
            labelled = {label: _with_aspects(measure, spec) for label, measure in labelled.items()}
    if not 2 <= len(labelled) <= 3:
        remedy = (
            "; give aspects= to evaluate one measure on each of two or three aspects" if len(labelled) == 1 else ""
        )
        raise MultiAspectError(f"expected two or three measures, got {len(labelled)}: {choices(labelled)}{remedy}")
    result = {label: parsing.as_measure(measure) for label, measure in labelled.items()}
    for measure in result.values():
        measure.validate_params()
    return result


def _measure_on_aspect(measure: Any, aspect: str, spec: AspectSpec) -> Measure:
    """Return a single-aspect measure on one aspect."""
    if getattr(measure, "NOT_A_BASE", None) is not None:
        raise MultiAspectError(
            f"aspects: expected one single-aspect measure, such as nDCG, to evaluate on each aspect, or two or "
            f"three measures, got {measure} alone"
        )
    return On(aspect=aspect, base=measure, aspects=spec if isinstance(spec, Aspects) else None)


def _with_aspects(measure: Any, spec: AspectSpec) -> Any:
    """Return a measure with declared aspects, unless it declares its own."""
    if "aspects" not in measure.SUPPORTED_PARAMS:
        raise MultiAspectError(
            f"aspects: {measure} has no parameter aspects; declare them in each measure that has it, such as "
            "On(base='nDCG', aspects=...), instead"
        )
    return measure if measure["aspects"] is not None else measure(aspects=spec)


def _system_values(runs: Any, measures: Mapping[str, Measure], judgments: Judgments) -> tuple[list[Any], Floats]:
    """Return the names of systems, and their values, shape (n_systems, n_queries, n_measures).

    Parameters
    ----------
    runs : mapping of str to run, sequence of runs, run, or DataFrame
        Runs as for `pt_multiaspect.evaluate`, or a long frame ``name qid measure value`` with these measures.
    measures : mapping of str to Measure
        The measures by label.
    judgments : Judgments
        The judged documents.

    Raises
    ------
    MultiAspectError
        If a run is invalid, or the frame lacks a measure or a topic, or has a record of other measures.
    """
    runs = as_pandas(runs)
    if isinstance(runs, pd.DataFrame) and set(COLUMNS) <= set(runs.columns):
        return _frame_values(runs, measures, judgments)
    named = named_runs(runs)
    joined = (join(name, run, judgments) for name, run in named.items())
    values = [np.column_stack([measure.evaluate(rankings) for measure in measures.values()]) for rankings in joined]
    return list(named), np.array(values)


def _frame_values(
    perquery: pd.DataFrame, measures: Mapping[str, Measure], judgments: Judgments
) -> tuple[list[Any], Floats]:
    selected = rows_of_measures(perquery, list(measures))
    values, names, qids, _ = matrix(selected, as_given=True, least=1)
    _check_recorded(selected, measures)
    row_of = {str(qid): index for index, qid in enumerate(qids)}
    if set(row_of) != set(judgments.qids.tolist()):
        unshared = sorted(set(row_of) ^ set(judgments.qids.tolist()))
        raise MultiAspectError(
            f"expected the topics of the front ({judgments.n_queries}), got {len(row_of)}; only one of them has "
            f"{choices(unshared[:5])}. Evaluate on the same qrels"
        )
    topics = [row_of[qid] for qid in judgments.qids.tolist()]
    return names, values[:, topics]


def _check_recorded(perquery: pd.DataFrame, measures: Mapping[str, Measure]) -> None:
    """Check that the labels of a frame with a record refer to the measures of the front."""
    for label, measure in measures_by_label(perquery).items():
        if measure is None or not is_recorded(perquery, label):
            continue
        try:
            same = parsing.as_measure(measure) == measures[label]
        except MultiAspectError:  # not a measure of a front
            same = False
        if not same:
            raise MultiAspectError(
                f"expected values of {label} = {measures[label]}, as in the front, got {label} = {measure}. "
                "Evaluate with the measures of the front, as in pt_multiaspect.evaluate(runs, qrels, "
                "front.measures)"
            )
