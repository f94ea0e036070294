"""Means of measures: MeanOf, and the base class of measures that are such means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import ir_measures
import numpy as np
from ir_measures.measures.base import MeanAgg

from .._numbers import number
from .._typing import Floats
from ..aspects import Aspects, AspectSpec
from ..bases import Term
from ..bases.base import is_measure
from ..bases.strings import check_params, read_measure
from ..collection import AspectView, Judgments, Rankings
from ..errors import MultiAspectError, choices, refuse_repeated, shown
from .measure import Measure
from .on import measure_on_relevance
from .parameters import COMMON, Param
from .registry import register
from .terms import TermMean, warn_of_units

#: The maximum length of printed forms in explanations; members with longer ones are named by their
#: class.
_LONGEST = 30


class MeasureMean(TermMean):
    """A weighted mean of measures. Subclasses set `members` in `_check`."""

    #: The measures and their weights, which are positive and need not sum to 1.
    members: tuple[tuple[Measure, float], ...] = ()

    def validate_params(self) -> None:
        """Raise an error if a parameter of the mean or of a member is missing."""
        super().validate_params()
        for member, _ in self.members:
            member.validate_params()

    @property
    def lower_is_better(self) -> bool:
        """Return whether lower is better for the members, which agree."""
        return any(member.lower_is_better for member, _ in self.members)

    @property
    def range(self) -> tuple[float, float]:
        """The weighted means of the minima and of the maxima of the members."""
        if not self.members:
            return self.RANGE
        weighted_minima: list[float] = []
        weighted_maxima: list[float] = []
        for member, weight in self.members:
            minimum, maximum = member.range
            weighted_minima.append(weight * minimum)
            weighted_maxima.append(weight * maximum)
        low = self._mean(weighted_minima)
        high = self._mean(weighted_maxima)
        return float(low), float(high)

    def _mean(self, weighted: Iterable[Any]) -> Any:
        """Return Σ w v / Σ w from the products w v, so that a mean of ones is exactly 1."""
        total_weight = sum(weight for _, weight in self.members)
        return sum(weighted) / total_weight

    @property
    def spec(self) -> AspectSpec:
        """The aspects that the members select, with their scales if members declare them.

        None if a member selects no aspects, and so evaluates all label columns. If members declare
        different scales of an aspect, it is that of the first one. If the first member that selects
        an aspect declares no scale of it, only the names are returned.
        """
        scale_of_name: dict[str, Any] = {}  # None for a name without a scale
        for member, _ in self.members:
            selection = member.selection
            if selection is None:
                return None
            for name in selection:
                if name not in scale_of_name:
                    scale_of_name[name] = _declared_scale(selection, name)
        if not scale_of_name:
            return None
        lacks_scale = None in scale_of_name.values()
        if lacks_scale:
            return tuple(scale_of_name)
        return Aspects(scale_of_name)

    @property
    def required_aspects(self) -> tuple[str, ...]:
        """The label columns that the members require."""
        names: dict[str, None] = {}
        for member, _ in self.members:
            names.update(dict.fromkeys(member.required_aspects))
        return tuple(names)

    def views(self, judgments: Judgments) -> tuple[AspectView, ...]:
        """Return the aspects of the members; of several scales of an aspect, an inferred one."""
        self.validate_params()
        views: dict[str, AspectView] = {}
        for member, _ in self.members:
            for view in member.views(judgments):
                if view.name not in views or view.inferred:
                    views[view.name] = view
        return tuple(views.values())

    def depends_on(self, view: AspectView) -> bool:
        """Return whether a member that does not declare the aspect depends on its scale."""
        for member, _ in self.members:
            spec = member.selection
            if isinstance(spec, Aspects):
                continue
            is_evaluated = spec is None or view.name in spec
            if is_evaluated and member.depends_on(view):
                return True
        return False

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the weighted mean of the values of the members."""
        judgments = rankings.judgments
        weighted_values: list[Floats] = []
        for member, weight in self.members:
            views_of_member = member.views(judgments)
            values = member._evaluate(rankings, views_of_member)
            weighted_values.append(weight * values)
        mean = self._mean(weighted_values)
        return np.asarray(mean, dtype=np.float64)

    def _names(self) -> list[str]:
        """Return a name for each member."""
        return [member.NAME for member, _ in self.members]

    def terms(self, judgments: Judgments) -> list[Term]:
        """Return the weighted terms of all members; empty if a member is no weighted sum."""
        return judgments.compute_once(("terms", self), lambda: self._make_terms(judgments))

    def _make_terms(self, judgments: Judgments) -> list[Term]:
        """Return the terms of the members, with their weights in the mean; see `terms`."""
        terms: list[Term] = []
        total_weight = sum(weight for _, weight in self.members)
        for member_name, (member, weight) in zip(self._names(), self.members, strict=True):
            member_terms = member.terms(judgments)
            # The mean is a sum of terms only if each member is one. Normalised members are not.
            is_sum_of_terms = member_terms and member.stated.is_weighted_sum
            is_normalised = member.params.get("normalized")
            if is_normalised or not is_sum_of_terms:
                return []
            share = weight / total_weight
            for term in member_terms:
                name = f"{member_name} {term.name}".strip()
                weight_in_mean = term.weight * share
                terms.append(replace(term, weight=weight_in_mean, name=name))
        return terms


def _declared_scale(selection: AspectSpec, name: str) -> Any:
    """Return the scale of an aspect in a selection; None if this has names without scales."""
    if isinstance(selection, Aspects):
        return selection[name]
    return None


@dataclass(frozen=True)
class _Weighted:
    """Measures and their weights, as given."""

    measures: tuple[tuple[ir_measures.Measure, float], ...]

    def spelled(self) -> dict[str, float]:
        """Return the printed form; ir-measures reads dicts, but no lists."""
        return {str(measure): weight for measure, weight in self.measures}


def _parse(measures: object) -> _Weighted | None:
    """Return the measures and their weights, 1 by default; None if none are given."""
    if measures is None or isinstance(measures, _Weighted):
        return measures
    weighted: list[tuple[ir_measures.Measure, float]] = []
    for measure, weight in _pairs_with_weights(measures):
        measure_read = _read(measure)
        weight_read = _read_weight(measure, weight)
        weighted.append((measure_read, weight_read))
    names = [str(measure) for measure, _ in weighted]
    refuse_repeated(names, "measures", "measures")
    if not any(weight for _, weight in weighted):
        raise MultiAspectError(
            f"measures: expected at least one with a positive weight, got {shown(measures)}"
        )
    return _Weighted(tuple(weighted))


def _pairs_with_weights(measures: object) -> list[tuple[object, object]]:
    """Return the items of a dict, or the elements of a list with weight 1; neither is checked."""
    if isinstance(measures, Mapping):
        return list(measures.items())
    if isinstance(measures, Sequence) and not isinstance(measures, str):
        return [(measure, 1) for measure in measures]
    raise MultiAspectError(
        "measures: expected a list of measures, or a dict of measures and weights, as in "
        f"{{'nDCG@10': 2, 'RR': 1}}, got {shown(measures)}"
    )


def _read_weight(measure: object, weight: object) -> float:
    """Return the weight of a measure, or raise an error unless it is a number of at least 0."""
    value = number(weight, f"the weight of {measure}")
    if value < 0:
        raise MultiAspectError(
            f"the weight of {measure}: expected a number of at least 0, got {value}"
        )
    return value


def _read(measure: object) -> ir_measures.Measure:
    """Return a measure from an object or a string, checked to be aggregated by the mean."""
    if isinstance(measure, str):
        read: Any = read_measure(measure)
    else:
        read = measure
    if not is_measure(read):
        raise MultiAspectError(f"measures: expected measures or their names, got {shown(measure)}")
    if not isinstance(read.aggregator(), MeanAgg):
        raise MultiAspectError(
            f"measures: {read} is not aggregated by the mean over topics, so its mean with others "
            "is undefined; average measures that are, such as AP"
        )
    return check_params(read)


class _MeanOf(MeasureMean):
    """The weighted arithmetic mean of measures: Σ_m w_m m / Σ_m w_m.

    The members are any measures whose aggregate over topics is a mean, of this package or of
    ir-measures, including other means. Either higher values are better for all of them, or lower
    values. Values are between the weighted means of the minima and of the maxima of the members.

    Parameters
    ----------
    measures : dict of measure to float, or sequence of measures
        The members with their weights w_m ≥ 0, or members of equal weight, as objects or strings.
        The parameter can be given by position: ``MeanOf({"IRec": 1, "nDCG": 2})``. Members of
        weight 0 are ignored. Measures of ir-measures evaluate relevance, as with `On`.
    aspects : Aspects, mapping or str, optional
        The aspects and their scales, for members that declare none.
    cutoff : int, optional
        Cutoff of the members that accept one and have none: ``MeanOf([...]) @ k``. Members with a
        different cutoff are an error.

    Notes
    -----
    `explain` and `pt_multiaspect.analysis.upper_bound` treat the mean as the sum of the terms of
    its members if all of them are weighted sums of single-aspect measures, such as CAM, On, TOMA or
    DnDCG. Other means, such as those with MM, have no known upper bound, and their contributions
    are marginal.

    References
    ----------
    As in Sakai and Song 2011, whose D♯-nDCG it is: ``MeanOf({'IRec': 1, 'DnDCG': 1}) @ 10``.

    Sakai and Song: Evaluating Diversified Search Results Using Per-intent Graded Relevance. SIGIR
    2011 (whose D♯ measures are means of two measures).

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 1, "credibility": 0},
    ...                 "d2": {"relevance": 1, "credibility": 1}}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0}}
    >>> ap, rr = "On(aspect='relevance',base='AP')", "On(aspect='credibility',base='RR')"
    >>> mean = ma.MeanOf({ap: 3, rr: 1})
    >>> mean.calc_aggregate(qrels, run)  # (3 · 1 + 1 · ½) / 4
    0.875
    >>> ma.MeanOf(["nDCG", ma.CAM(base="AP")]) @ 10
    MeanOf(measures={'nDCG': 1, "CAM(base='AP')": 1})@10
    >>> mean.explain(run, qrels, "q1").ranks[["docno", "contribution", "running"]].round(3)
      docno  contribution  running
    0    d1         0.375    0.375
    1    d2         0.500    0.875
    """

    PRETTY_NAME = "Mean of measures"
    SHORT_DESC = "The weighted arithmetic mean of measures."
    CITATION = "Sakai and Song 2011"
    SOURCES = ("sakai2011",)
    SUPPORTED_PARAMS: ClassVar[dict[str, Param]] = {
        "measures": Param(
            _parse,
            None,
            "the measures: a list, or a dict of measures and weights",
            spell=lambda measures: measures and measures.spelled(),
            required=True,
        ),
        **COMMON,
    }

    def __init__(self, *args: Any, **params: Any) -> None:
        """Set the parameters; `measures` is the only one that may be given by position."""
        has_measures_by_position = len(args) == 1 and "measures" not in params
        if has_measures_by_position:
            (measures,) = args
            super().__init__(measures=measures, **params)
        else:
            super().__init__(*args, **params)  # an error, if there are any `args`

    def _check(self) -> None:
        """Set the members, or raise an error if they do not agree with each other or a cutoff."""
        if self["measures"] is None:  # a required parameter, which is checked on use
            return
        weighted = self._weighted_measures()
        members = [self._read_member(measure) for measure, _ in weighted]
        self._check_members(members)
        weights = [weight for _, weight in weighted]
        sum_overflows = not np.isfinite(sum(weights))
        if sum_overflows:
            largest = max(weights)
            weights = [weight / largest for weight in weights]
        self.members = tuple(zip(members, weights, strict=True))

    def _check_members(self, members: Sequence[Measure]) -> None:
        """Raise an error if no member accepts the cutoff, or if lower is better for some only."""
        cutoff = self["cutoff"]
        accepting = [member for member in members if member.accepts_cutoff]
        if cutoff is not None and not accepting:
            texts = choices(measure for measure, _ in self._weighted_measures())
            raise MultiAspectError(f"@{cutoff} is a cutoff, but no member accepts one: {texts}")
        lower = [str(member) for member in members if member.lower_is_better]
        have_both_directions = 0 < len(lower) < len(members)
        if have_both_directions:
            names = choices(lower)
            raise MultiAspectError(
                f"lower is better for {names}, and higher for other members; average "
                "measures that agree"
            )

    def _weighted_measures(self) -> list[tuple[ir_measures.Measure, float]]:
        """Return the measures of positive weight, and their weights, as given."""
        return [(measure, weight) for measure, weight in self["measures"].measures if weight]

    def _read_member(self, measure: ir_measures.Measure) -> Measure:
        """Return a member with the aspects and the cutoff of the mean, unless it has its own."""
        cutoff = self["cutoff"]
        member = measure_on_relevance(measure).declare(self["aspects"])
        if cutoff is None or not member.accepts_cutoff or member.cutoff == cutoff:
            return member
        if member.cutoff is not None:
            raise MultiAspectError(
                f"{self.NAME}@{cutoff} has the cutoff {cutoff}, but its member is {measure}; set "
                "one cutoff, on the mean or on the member"
            )
        return member(cutoff=cutoff)

    @property
    def accepts_cutoff(self) -> bool:
        """Return whether a member accepts a cutoff."""
        return any(member.accepts_cutoff for member, _ in self.members)

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts for a member, or None."""
        cutoffs: list[int] = []
        for member, _ in self.members:
            if member.cutoff is None:  # all ranks count for this member
                return None
            cutoffs.append(member.cutoff)
        return max(cutoffs, default=None)

    def _names(self) -> list[str]:
        """Return the printed form of each member, or the name of its class if that is too long.

        Names are distinct: a name that two members share is not used.
        """
        class_names = super()._names()
        names: list[str] = []
        for (measure, _), class_name in zip(self._weighted_measures(), class_names, strict=True):
            text = str(measure)
            is_distinct = class_names.count(class_name) == 1
            if len(text) > _LONGEST and is_distinct:
                names.append(class_name)
            else:
                names.append(text)
        return names

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Return the mean; warn if members of equal weight have different units."""
        distinct_weights = {weight for _, weight in self.members}
        if len(distinct_weights) == 1:
            parts = []
            for name, (member, _) in zip(self._names(), self.members, strict=True):
                parts.append((name, member.NAME, member.range))
            warn_of_units(self.NAME, "measures", parts)
        return super()._evaluate(rankings, views)


MeanOf = register(_MeanOf)
