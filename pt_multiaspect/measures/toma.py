"""Closeness to the best labels: TOMA, a base measure on the classes of a total order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._cached import cached_property
from .._numbers import spell
from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..aspects import Aspects, AspectSpec, Scale
from ..bases import Base, Statements, Term
from ..collection import AspectView, Judgments
from ..errors import MultiAspectError, choices, warn_once
from ..kernels.target import Target
from ..orders import TupleOrder
from ..orders.distance import DistanceOrder
from ..orders.order import parse_order, spell_order
from ..orders.registered import check_distance
from ..orders.tuple_order import AXES, grade_values
from .joint import Joint, JointMeasure, JointSource
from .measure import Measure, warn_if_inferred
from .parameters import COMMON, GATE, Param, base_param, weights_param
from .registry import register
from .terms import BasedMeasure, declared_scales, graded_gain, power_gain

#: Tolerance for the difference between the value of a criterion and that of a grade.
_ROUNDING = 1e-9


def _grades(values: Floats, name: str, scale: Scale) -> Ints:
    """Return the index of the grade of each answer on a criterion, given the values of answers.

    The value of a grade is its gain, rescaled from 0 for the lowest grade to 1 for the top one.
    """
    value_of_grade = grade_values(scale)  # in increasing order
    gaps = np.diff(value_of_grade)
    if (gaps < 2 * _ROUNDING).any():  # a value may be that of two grades
        raise MultiAspectError(f"expected distinct gains for the grades of {name}, got equal ones")
    # The value of each answer must be that of the nearest grade.
    distance_to_grades = np.abs(values[:, np.newaxis] - value_of_grade)  # answers × grades
    nearest: Ints = distance_to_grades.argmin(axis=1)
    distance = distance_to_grades.min(axis=1)
    is_between_grades = distance > _ROUNDING
    if is_between_grades.any():
        expected = choices(map(spell, value_of_grade.tolist()))
        first_between = float(values[is_between_grades][0])
        found = spell(first_between)
        raise MultiAspectError(
            f"expected values of {name} that are those of its grades ({scale}), {expected}, got "
            f"{found}; convert grades with from_criteria"
        )
    return nearest


def _lowest_closeness(order: TupleOrder) -> float:
    """Return the closeness of the tuple of all lowest grades, 0 if its weight is not positive.

    Closeness is the weight divided by that of the best tuple, `top_weight`. For 0, this is not
    computed, as all classes of tuples must be counted for it.
    """
    if order.worst_weight <= 0:
        return 0.0
    return order.worst_weight / order.top_weight


def _powers(target: Target, base: Base) -> Target:
    """Return a target of the gains 2^g - 1, for a base without a form of its own for these."""
    with np.errstate(over="ignore"):  # infinite gains are an error below
        gain = np.exp2(target.gain) - 1.0
    if not np.isfinite(gain).all():
        largest = target.gain.max()
        raise MultiAspectError(
            f"the gain 2^{largest:g} - 1 is too large for the base {base.text}; use "
            "another weighting than 'exponential', or a base that rescales gains, such as nDCG"
        )
    # The highest and the lowest possible gain g of a target may be those of no document, so they may
    # be too large, too. They are limited to 1023, the largest whole g for which 2^g is a float.
    top, bottom = np.minimum([target.top, target.bottom], 1023.0)
    top_power = float(np.exp2(top) - 1.0)
    bottom_power = float(np.exp2(bottom) - 1.0)
    with_powers = target.with_gain(gain, top_power)
    return replace(with_powers, bottom=bottom_power)


#: The parameters that place label tuples and order them by distance.
_EMBEDDING = ("distance", "axes", "weights", "gate")

#: The aspect that is the gate in most search tasks.
_PRECONDITION = "relevance"


@dataclass(frozen=True, eq=False)
class _Classes(JointSource):
    """The source of a target whose labels are classes; the classes are built on demand."""

    order: TupleOrder
    grades: Ints
    top_half: bool

    @cached_property
    def _class_index(self) -> Ints:
        return self.order.class_index(self.grades)

    @cached_property
    def positive(self) -> Bools:
        """A mask of the relevant documents: those above the lowest class, or in the upper half."""
        if not self.top_half:
            return self.order.above_worst(self.grades)
        first_of_upper_half = max(1, self.order.n_classes // 2)
        return np.asarray(self._class_index >= first_of_upper_half, dtype=np.bool_)

    def at_least(self, rel: float) -> Bools:
        return np.asarray(self._class_index >= rel, dtype=np.bool_)

    def check_rel(self, rel: float) -> None:
        """Warn if no class is as high as `rel`, probably meant as a grade."""
        top = self.order.n_classes - 1
        if rel > top:
            warn_once(
                f"rel={spell(rel)} of the base is above {top}, the highest class index: no "
                "document is relevant. Under TOMA, rel is a class index, not a grade; without rel, "
                "all classes above 0 are relevant",
                group="rel of TOMA",
            )


class _TOMA(JointMeasure, BasedMeasure):
    """Total order multi-aspect evaluation: a base measure on classes of label tuples.

    The labels of a document, one per aspect, are embedded as a point. Label tuples at the same
    distance from the best tuple form a class; classes are numbered from 0 (the largest distance)
    up, and the base measure is evaluated with the class index as label. Values are in the range of
    the base; with nDCG they are between 0 and 1, and 1 is always attainable unless all judged
    documents are in class 0.

    In most search tasks, other aspects only matter for relevant documents. This is not the default:
    use ``TOMA(gate='relevance')`` (see Notes).

    Parameters
    ----------
    base : ir_measures.Measure or str, default 'nDCG'
        The single-aspect measure. An explicit ``rel`` is compared with class indices.
    distance : {'euclidean', 'manhattan', 'chebyshev'}, float > 0 or str, default 'euclidean'
        Distance from the best tuple. A number is the exponent of a Minkowski distance; other names
        are distances registered with `register_distance`.
    order : Order or str, optional
        An explicit `Order` of label tuples, or its name. It replaces `distance`, `axes`, `weights`
        and `gate`.
    axes : {'equal', 'gains'}, default 'equal'
        Lengths of the axes. ``'equal'`` scales the gains of each aspect to [0, 1], so that all
        aspects are equally important unless `weights` differ. ``'gains'`` uses the original gains,
        as in the paper's experiments (one unit per grade): aspects with longer scales are more
        important.
    weights : dict of str to float, optional
        Factors by which the axes are stretched; 1 by default.
    weighting : {'classes', 'normalized', 'exponential'}, default 'classes'
        The gain that graded bases use: the class index, 1 - distance / maximum distance, or
        2^index - 1. Binary bases always use the class index.
    positives : {'nonzero', 'top-half'}, default 'nonzero'
        The classes that binary bases count as relevant: all classes above 0, or the upper half of
        the K classes (index ≥ max(1, ⌊K/2⌋)).
    gate : str, optional
        A precondition for the other aspects, usually ``'relevance'``. Documents with the lowest
        grade on this aspect are assigned to the lowest class, regardless of their other labels;
        tuples that combine this grade with a higher grade of another aspect are not classes. By
        default, there is no gate.
    aspects : Aspects, mapping or str, optional
        The aspects and their scales; by default, every label column, on inferred scales.
    cutoff : int, optional
        Cutoff of the base: ``TOMA @ k`` is ``TOMA(base=base @ k)``.

    Notes
    -----
    **Gate.** Without a gate, a non-relevant document with high grades on all other aspects ranks
    above many relevant documents. In most search tasks this is not intended: use
    ``TOMA(gate='relevance')``.

    **Condensed rankings.** ``base=nDCG(judged_only=True)`` keeps each document that is judged on
    any aspect, and its other aspects count as lowest, whereas CAM condenses the ranking for each
    aspect separately.

    **Axes.** Distances depend on the lengths of the axes. With ``axes='gains'`` on relevance 0-2,
    understandability 0-10 and trust 0-10, a non-relevant document labelled (0, 10, 10) is in class
    119 of the classes 0 to 123, above (2, 8, 8) in class 116; with equal axes, the latter is far
    better.
    On the 36 runs of CLEF eHealth 2018, which has these scales, Kendall's τ between CAM and TOMA
    over nDCG is .85 with ``axes='gains'`` (.63 over ``nDCG@10``) and .99 with equal axes (.97): the
    lengths of the scales account for most of the difference between the two measures. The notebook
    ``notebooks/03_which_measure.ipynb`` compares them over ``nDCG@10``.

    **Scales.** Classes are formed from *all* tuples of the scales, observed or not. Declare the
    scales if the qrels are evaluated in parts (batches, folds). On one aspect, TOMA over nDCG
    equals nDCG if and only if the class weights are proportional to the gains: grades 0, 1, 3 have
    the class indices 0, 1, 2.

    **Unjudged documents.** Documents that are unjudged or junk (negative labels) on every aspect
    are treated as such by bases that distinguish them from non-relevant documents, such as Bpref
    and infAP.

    References
    ----------
    As in Maistro et al. 2021, Table 3: ``TOMA(axes='gains', positives='top-half',
    gate='relevance')``. One of its values is an example. The defaults differ: equal axes, all
    classes above 0 positive, and no gate.

    Maistro, Lima, Simonsen, Lioma: Principled Multi-Aspect Evaluation Measures of Rankings.
    CIKM 2021, §3.

    Examples
    --------
    >>> from pt_multiaspect import TOMA
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> measure = TOMA(distance="manhattan", aspects={"relevance": 2, "credibility": 1}) @ 10
    >>> round(measure.calc_aggregate(qrels, run), 3)
    0.913
    >>> print(measure)
    TOMA(distance='manhattan',aspects={'relevance': 2, 'credibility': 1})@10
    >>> explanation = measure.explain(run, qrels, "q1")
    >>> columns = ["docno", "class", "distance", "gain", "discount", "contribution"]
    >>> explanation.ranks[columns].round(3)
      docno  class  distance  gain  discount  contribution
    0    d1    2.0       1.0   2.0     1.000         0.469
    1    d2    3.0       0.5   3.0     0.631         0.444

    The first row of Table 3 of Maistro et al., who print .9367 for Euclidean distance over nDCG:

    >>> from pt_multiaspect import Aspect
    >>> scales = {"relevance": 3, "correctness": Aspect(2, gains=[0, 1.5, 3])}
    >>> labels = {
    ...     "d1": {"relevance": 1, "correctness": 2},
    ...     "d2": {"relevance": 3, "correctness": 1},
    ...     "d3": {"relevance": 3, "correctness": 0},
    ... }
    >>> ranking = {"d1": 3.0, "d2": 2.0, "d3": 1.0}
    >>> printed = TOMA(axes="gains", positives="top-half", gate="relevance", aspects=scales)
    >>> round(printed.calc_aggregate({"q1": labels}, {"q1": ranking}), 4)
    0.9367
    """

    PRETTY_NAME = "Total order multi-aspect evaluation"
    SHORT_DESC = (
        "How near each document's labels come to the best ones on all aspects, discounted by rank, "
        "divided by that of the best ranking (if the base is nDCG)."
    )
    CRITERIA_DESC = "How near the labels of an answer come to the best ones on all criteria."
    CITATION = "Maistro et al. 2021, §3"
    SOURCES = ("maistro2021",)
    SUPPORTED_PARAMS = {
        "base": base_param("the measure evaluated on the classes"),
        "distance": Param(
            check_distance,
            "euclidean",
            "the distance of tuples: euclidean, manhattan, chebyshev, a Minkowski exponent, or a "
            "registered one",
        ),
        "order": Param(
            parse_order,
            None,
            "an explicit Order, or its name; replaces distance, axes, weights and gate",
            spell=spell_order,
        ),
        "axes": Param(
            choice("axes", *AXES),
            "equal",
            "the lengths of the axes: equal, or gains, where longer scales are more important",
        ),
        "weights": weights_param("factors by which the axes are stretched; 1 by default"),
        "weighting": Param(
            choice("weighting", "classes", "normalized", "exponential"),
            "classes",
            "the gain: classes (their index), normalized (1 - distance), exponential (2^index - 1)",
        ),
        "positives": Param(
            choice("positives", "nonzero", "top-half"),
            "nonzero",
            "the classes that binary bases count as relevant: nonzero, top-half",
        ),
        "gate": GATE,
        **COMMON,
    }

    def _check(self) -> None:
        """Set the base, or raise an error if it or an explicit order does not match parameters."""
        super()._check()
        base = self.bases.one
        if base.stated.reads_labels:
            raise MultiAspectError(
                f"the base {base.text} maps raw labels to gains, but TOMA evaluates classes of "
                "label tuples; declare the gains of the aspects instead"
            )
        self._base = base
        self._needs_powers = False
        if self["weighting"] == "exponential":
            # The gains are 2^g - 1. Some bases, as nDCG, have a variant that computes them from g,
            # so that they cannot overflow. For others, `terms` computes them.
            variant = base.exponential()
            if variant is None:
                self._needs_powers = True
            else:
                self._base = variant
        if self["order"] is not None:
            self._check_order(self["order"])

    def _check_order(self, order: TupleOrder) -> None:
        """Raise an error for parameters that an explicit order replaces, and for other aspects."""
        defaults = {name: self.SUPPORTED_PARAMS[name].default for name in _EMBEDDING}
        redundant = [name for name, default in defaults.items() if self[name] != default]
        if redundant:
            raise MultiAspectError(
                f"TOMA: an Order replaces {choices(_EMBEDDING)}; omit {choices(redundant)}"
            )
        aspects = self["aspects"]
        if aspects is not None and sorted(aspects) != sorted(order.names):
            raise MultiAspectError(
                f"TOMA: expected the aspects of the order, {choices(order.names)}, got "
                f"{choices(aspects)}"
            )

    @property
    def lower_is_better(self) -> bool:
        """Return whether lower is better: as for the base, or the opposite for an order of harm."""
        order = self["order"]
        base_direction = super().lower_is_better
        if order is not None and order.lower_is_better:
            return not base_direction
        return base_direction

    @property
    def spec(self) -> AspectSpec:
        """The evaluated aspects: those of the explicit order, if given."""
        if self["order"] is None:
            spec: AspectSpec = self["aspects"]
        else:
            spec = self["order"].aspects
        return spec

    def declare(self, spec: AspectSpec, option: str = "aspects") -> Measure:
        """Return the measure with declared scales, or as it is if its order declares them."""
        if self["order"] is None:
            return super().declare(spec, option)
        return self

    def statements(self) -> Statements:
        """State that gains depend on the labels only, and whether a better label is never worse."""
        never_falls = self._base.stated.never_falls_with_labels
        order = self["order"]
        if order is not None and (order.allow_violations or order.lower_is_better):
            never_falls = False  # a better label may be in a lower class
        return replace(
            super().statements(), label_terms=self.terms, never_falls_with_labels=never_falls
        )

    def order(self, aspects: Aspects | Mapping[str, Any]) -> TupleOrder:
        """Return the order of the label tuples.

        Parameters
        ----------
        aspects : Aspects or mapping
            The scales, with declared grades; used if the order is defined by a distance.

        Returns
        -------
        TupleOrder
            The explicit order, if given, else the order by distance.
        """
        explicit: TupleOrder | None = self["order"]
        if explicit is not None:
            return explicit
        return DistanceOrder(aspects, **{name: self[name] for name in _EMBEDDING})

    def of_criteria(self, values: Mapping[str, Floats]) -> Floats:
        """Return the closeness of single answers to the best grades, from their criteria.

        Parameters
        ----------
        values : mapping of str to ndarray of float, shape (n_answers,)
            The values of each criterion: gains of grades, rescaled from 0 for the lowest grade to 1
            for the best.

        Returns
        -------
        ndarray of float, shape (n_answers,)
            The closeness 1 - distance / maximum distance, or the relative weight of an explicit
            order.

        Raises
        ------
        MultiAspectError
            If the scales are not declared, a value is not that of a grade, or a parameter is given
            that is defined for rankings only.
        """
        # An answer has no ranking, and its gain is its closeness.
        self._refuse_of_rankings(("base", "positives", "cutoff"))
        if self["weighting"] == "exponential":
            raise MultiAspectError("the closeness of an answer is normalized; omit weighting=")
        scales = self._scales_of_criteria(list(values))
        order = self.order(scales)
        grades: list[Ints] = []  # of each criterion, shape (n_answers,)
        for name, scale in zip(order.names, order.scales, strict=True):
            grades.append(_grades(values[name], name, scale))
        grade_tuples = np.stack(grades, axis=1)  # shape (n_answers, n_criteria)
        return order.closeness(grade_tuples)

    def _scales_of_criteria(self, names: Sequence[str]) -> Aspects:
        """Return the declared scales, or raise an error if a criterion has none with grades."""
        scales = dict(declared_scales(self.spec))
        undeclared = [name for name in names if name not in scales or scales[name].grades is None]
        if undeclared:
            example = {undeclared[0]: [1, 2, 3, 4, 5]}
            raise MultiAspectError(
                f"expected declared scales, as in TOMA(aspects={example!r}), got no grades of "
                f"{choices(undeclared)}"
            )
        return Aspects(scales)

    def _lifting_aspects(self, judgments: Judgments) -> list[str]:
        """Return the aspects that lift documents of the lowest relevance above the lowest class.

        With Chebyshev distance on equal axes there are none, so that it needs no gate.
        """
        key = ("lifting aspects", self)
        return judgments.compute_once(key, lambda: self._find_lifting_aspects(judgments))

    def _find_lifting_aspects(self, judgments: Judgments) -> list[str]:
        """Return the aspects by which documents have a gain although they are not relevant.

        There are none without the aspect relevance.
        """
        views = self.views(judgments)
        names = [view.name for view in views]
        if _PRECONDITION not in names:
            return []
        order, grades = self._order_and_tuples(views)  # grades: (n_documents, n_aspects)
        relevance = names.index(_PRECONDITION)
        is_irrelevant = grades[:, relevance] == 0  # the lowest grade
        has_gain = order.above_worst(grades)
        grades_of_lifted = grades[is_irrelevant & has_gain]
        # The aspects on which some of these documents have more than the lowest grade.
        lifts = (grades_of_lifted > 0).any(axis=0)  # shape (n_aspects,)
        lifting_aspects = np.flatnonzero(lifts).tolist()
        return [names[aspect] for aspect in lifting_aspects]

    def base(self) -> Base:
        """Return the base that evaluates the classes or their weights."""
        return self._base

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the base on the gains g as the only term.

        The gains are 2^g - 1 if weights are exponential, `self._needs_powers`, unless the base
        computes these itself.
        """
        (term,) = super().terms(judgments)
        if not self._needs_powers:
            return [term]
        target = term.target
        with_powers = target.compute_once("2^g - 1", lambda: _powers(target, self._base))
        return [replace(term, target=with_powers)]

    def joint(self, views: tuple[AspectView, ...]) -> Joint:
        """Return the class index of each document, or its closeness if normalized.

        Weights of an explicit order take the place of class indices. Negative ones count as 0.
        """
        order, grades = self._order_and_tuples(views)
        # `top` and `bottom` are the gains of the best tuple, and of the tuple of all lowest grades.
        if self["weighting"] == "normalized":
            weights = order.closeness(grades)
            top = 1.0
            bottom = _lowest_closeness(order)
        else:
            weights = order.weights(grades)
            top = max(order.top_weight, 0.0)
            bottom = max(order.worst_weight, 0.0)
        is_judged = np.any([view.known for view in views], axis=0)  # on some aspect
        non_negative = np.maximum(weights, 0.0)
        gain = np.where(is_judged, non_negative, 0.0)
        # The classes tell bases which documents are relevant.
        is_top_half = self["positives"] == "top-half"
        classes = _Classes(views, gain, order, grades, is_top_half)
        return Joint(gain, top, classes, bottom=bottom)

    def _order_and_tuples(self, views: Sequence[AspectView]) -> tuple[TupleOrder, Ints]:
        """Return the order, and the grades of each document, of shape (n_documents, n_aspects)."""
        scales = {view.name: view.aspect for view in views}
        order = self.order(Aspects(scales))
        grades = np.stack([view.grade for view in views], axis=1)
        return order, grades

    def details(self, judgments: Judgments) -> dict[str, Floats]:
        """Return the class of each document, and its distance or weight."""
        views = self.views(judgments)
        order, grades = self._order_and_tuples(views)
        return order.described(grades)

    def document_gain(self, judgments: Judgments) -> Floats:
        """Return the gain of the class of each document, for use as a training label."""
        order = self["order"]
        if order is not None and order.lower_is_better:
            raise MultiAspectError(
                f"lower is better for the order {spell_order(order)}, so its weights are not "
                "labels to train on; use another order"
            )
        warn_if_inferred(self, self.views(judgments))
        gain = graded_gain(self.bases.one, self.target(judgments))
        if self["weighting"] != "exponential":
            return gain
        return power_gain(gain, "the class", "choose another weighting")

    def gain_is_surrogate(self, judgments: Judgments) -> bool:
        return not self._base.stated.sorting_is_optimal


def warn_of_missing_gates(measures: Iterable[object], judgments: Judgments) -> None:
    """Warn once if TOMA has no gate, and documents that are not relevant have other labels.

    There is no warning if TOMA with a gate is among the measures, as both are shown then.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        The measures that are evaluated together.
    judgments : Judgments
        The judged documents.
    """
    by_distance: list[_TOMA] = []
    for measure in measures:
        for part in (measure, *_members(measure)):
            if isinstance(part, _TOMA) and part["order"] is None:
                by_distance.append(part)
    if any(toma["gate"] is not None for toma in by_distance):
        return
    for toma in by_distance:
        others = toma._lifting_aspects(judgments)
        if others:
            aspects = choices(others)
            with_gate = _text_with_gate(toma)
            warn_once(
                f"{toma.NAME} has no gate, so that documents that are not relevant gain from "
                f"their labels of {aspects}. If these matter for relevant documents only, "
                f"use {with_gate}",
                key="TOMA without a gate",
            )


def _text_with_gate(toma: _TOMA) -> str:
    """Return TOMA with the gate that is advised, relevance, as text.

    "…" stands for its other parameters, except for the cutoff, which is written, and the aspects.
    """
    further = ""
    if toma.params.keys() - {"cutoff", "aspects"}:
        further = ", …"
    cutoff = ""
    if "cutoff" in toma.params:
        cutoff = f"@{toma.params['cutoff']}"
    return f"TOMA(gate={_PRECONDITION!r}{further}){cutoff}"


def _members(measure: object) -> list[object]:
    """Return the measures of which a measure is a mean."""
    return [member for member, _ in getattr(measure, "members", ())]


TOMA = register(_TOMA)
