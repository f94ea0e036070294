"""Single-aspect measures as bases of the multi-aspect ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ir_measures import Measure

from ..aspects import aspect_name
from ..errors import MultiAspectError, choices
from ..judgments import AspectView
from ..kernels import ranked
from ..kernels.layout import Bools, Floats, Ints, Layout, discount, ratio
from ..kernels.target import Target
from ..rankings import Rankings
from .base import MultiAspectMeasure, SingleAspectMeasure, power_gain
from .elsewhere import by_ir_measures, first_fraction
from .strings import UnknownMeasureError, check_params, nearest, read_measure

__all__ = ["Base", "Bases", "LinearForm", "parse_bases"]

#: Labels beyond this make ir-measures' back ends allocate memory by the label.
_GREATEST_LABEL = 100_000


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A measure as Σ_rank discount(rank) · gain(document at rank), which `CAM` can maximise."""

    #: The gain of each judged document, normalised per query.
    gain: Floats
    #: What is normalised by; queries with 0 there are skipped.
    norm: Floats
    #: The discount at ranks (first argument) of queries (second argument).
    discount: Callable[[Ints, Ints], Floats]
    #: Equal for forms with equal discounts.
    key: Hashable


@dataclass(frozen=True)
class _Kernel:
    compute: Callable[[Measure, Layout, Target], Floats]
    #: Whether only positive documents count, and not how positive they are.
    binary: bool
    #: Whether it never falls when a better document is exchanged for a worse one further up.
    ordered: bool = True
    linear: Callable[[Measure, Target], LinearForm] | None = None


def _rel(measure: Measure) -> float | None:
    rel: float | None = measure.params.get("rel")
    return rel


def _cutoff(measure: Measure) -> int | None:
    cutoff: int | None = measure.params.get("cutoff")
    return cutoff


def _gained(measure: Measure, target: Target) -> Target:
    gains = measure.params.get("gains")
    if gains is None:
        return target
    assert target.regained is not None  # classes are refused by `check_on_classes`
    return target.with_gain(target.regained(gains))


def _is_exponential(measure: Measure, target: Target) -> bool:
    return bool(measure["dcg"] == "exp-log2")


def _ndcg(measure: Measure, layout: Layout, target: Target) -> Floats:
    target = _gained(measure, target)
    return ranked.ndcg(layout, target, _cutoff(measure), exponential=_is_exponential(measure, target))


def _ndcg_linear(measure: Measure, target: Target) -> LinearForm:
    target = _gained(measure, target)
    if _is_exponential(measure, target) or target.exponential:
        target = target.exponentiated
    cutoff = _cutoff(measure)
    norm = ranked.ideal_dcg(*target.ideal, target.n_queries, cutoff)
    return LinearForm(
        ratio(target.gain, norm[target.pool_query]),
        norm,
        lambda rank, query: np.where(_within(rank, cutoff), discount(rank), 0.0),
        ("log2", cutoff),
    )


def _within(rank: Ints, cutoff: int | None) -> Bools:
    return np.ones(len(rank), dtype=np.bool_) if cutoff is None else rank <= cutoff


def _ap(measure: Measure, layout: Layout, target: Target) -> Floats:
    rel = _rel(measure)
    return ranked.average_precision(layout, target.positives(rel), target.n_positive(rel), _cutoff(measure))


def _found(measure: Measure, layout: Layout, target: Target) -> Floats:
    return ranked.found(layout, target.positives(_rel(measure)), _cutoff(measure))


def _p(measure: Measure, layout: Layout, target: Target) -> Floats:
    return np.asarray(_found(measure, layout, target) / measure["cutoff"], dtype=np.float64)


def _top_linear(measure: Measure, target: Target, norm: Floats) -> LinearForm:
    cutoff = _cutoff(measure)
    return LinearForm(
        ratio(target.positives(_rel(measure)).astype(np.float64), norm[target.pool_query]),
        norm,
        lambda rank, query: _within(rank, cutoff).astype(np.float64),
        ("top", cutoff),
    )


def _p_linear(measure: Measure, target: Target) -> LinearForm:
    return _top_linear(measure, target, np.full(target.n_queries, float(measure["cutoff"])))


def _r(measure: Measure, layout: Layout, target: Target) -> Floats:
    return ratio(_found(measure, layout, target), target.n_positive(_rel(measure)))


def _r_linear(measure: Measure, target: Target) -> LinearForm:
    return _top_linear(measure, target, target.n_positive(_rel(measure)))


def _success(measure: Measure, layout: Layout, target: Target) -> Floats:
    return (_found(measure, layout, target) > 0).astype(np.float64)


def _rr(measure: Measure, layout: Layout, target: Target) -> Floats:
    return ranked.reciprocal_rank(layout, target.positives(_rel(measure)), _cutoff(measure))


def _rprec(measure: Measure, layout: Layout, target: Target) -> Floats:
    rel = _rel(measure)
    n_positive = target.n_positive(rel)
    return ratio(ranked.found_at_r(layout, target.positives(rel), n_positive), n_positive)


def _rprec_linear(measure: Measure, target: Target) -> LinearForm:
    rel = _rel(measure)
    norm = target.n_positive(rel)
    return LinearForm(
        ratio(target.positives(rel).astype(np.float64), norm[target.pool_query]),
        norm,
        lambda rank, query: (rank <= norm[query]).astype(np.float64),
        ("rprec", rel, id(target)),
    )


def _rbp(measure: Measure, layout: Layout, target: Target) -> Floats:
    return ranked.rbp(layout, target.positives(_rel(measure)), measure["p"], _cutoff(measure))


def _rbp_linear(measure: Measure, target: Target) -> LinearForm:
    p, cutoff = measure["p"], _cutoff(measure)
    return LinearForm(
        target.positives(_rel(measure)) * (1.0 - p),
        np.ones(target.n_queries),
        lambda rank, query: np.where(_within(rank, cutoff), p ** (rank - 1.0), 0.0),
        ("rbp", p, cutoff),
    )


def _err(measure: Measure, layout: Layout, target: Target) -> Floats:
    return ranked.err(layout, ranked.stop_probability(target.gain, target.top), _cutoff(measure))


def _set_precision(measure: Measure, layout: Layout, target: Target) -> Floats:
    relative = measure["relative"] if "relative" in measure.SUPPORTED_PARAMS else False
    n_ret = layout.n_ret.astype(np.float64)
    return ratio(
        _found(measure, layout, target),
        np.minimum(n_ret, target.n_positive(_rel(measure))) if relative else n_ret,
    )


def _set_f(measure: Measure, layout: Layout, target: Target) -> Floats:
    precision, recall, beta = (
        _set_precision(measure, layout, target),
        _r(measure, layout, target),
        measure["beta"],
    )
    return ratio((1.0 + beta) * precision * recall, recall + beta * precision)


def _set_ap(measure: Measure, layout: Layout, target: Target) -> Floats:
    return _set_precision(measure, layout, target) * _r(measure, layout, target)


_KERNELS: Mapping[str, _Kernel] = {
    "nDCG": _Kernel(_ndcg, binary=False, linear=_ndcg_linear),
    "AP": _Kernel(_ap, binary=True),
    "P": _Kernel(_p, binary=True, linear=_p_linear),
    "R": _Kernel(_r, binary=True, linear=_r_linear),
    "RR": _Kernel(_rr, binary=True),
    "Rprec": _Kernel(_rprec, binary=True, linear=_rprec_linear),
    "RBP": _Kernel(_rbp, binary=True, linear=_rbp_linear),
    "ERR": _Kernel(_err, binary=False),
    "Success": _Kernel(_success, binary=True),
    "SetP": _Kernel(_set_precision, binary=True, ordered=False),
    "SetR": _Kernel(_r, binary=True, linear=_r_linear),
    "SetF": _Kernel(_set_f, binary=True, ordered=False),
    "SetAP": _Kernel(_set_ap, binary=True, ordered=False),
}


def spell_measure(measure: Measure) -> str:
    """Print an ir-measures measure so that it parses back with everything given explicitly.

    Its own printed form drops an explicit ``rel`` that equals the default, which here means
    something else than none: it overrides the aspect's threshold.
    """
    params = {name: value for name, value in measure.params.items() if name != measure.AT_PARAM}
    kept = [
        f"{name}={value!r}"
        for name, value in sorted(params.items())
        if name == "rel" or value != measure.SUPPORTED_PARAMS[name].default
    ]
    inner = f"({','.join(kept)})" if kept else ""
    at = measure.params.get(measure.AT_PARAM)
    return f"{measure.NAME}{inner}{'' if at is None else f'@{at}'}"


class Base:
    """One single-aspect measure, computed by a kernel here or else by ir-measures."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.text = spell_measure(measure)
        self._kernel = _KERNELS.get(measure.NAME or "") if self._has_plain_params() else None

    def _has_plain_params(self) -> bool:
        rel = _rel(self.measure)
        return not self.measure.params.get("judged_only") and (rel is None or rel >= 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Base) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Base({self.text!r})"

    @property
    def accepts_cutoff(self) -> bool:
        """Whether the measure has a cutoff at all."""
        return "cutoff" in self.measure.SUPPORTED_PARAMS

    @property
    def cutoff(self) -> int | None:
        """The cutoff it has."""
        return _cutoff(self.measure)

    def at(self, cutoff: int | None) -> Base:
        """The same measure with another cutoff, or with none."""
        params = {name: value for name, value in self.measure.params.items() if name != "cutoff"}
        return Base(type(self.measure)(**params, **({} if cutoff is None else {"cutoff": cutoff})))

    def check_complete(self) -> None:
        """Refuse a measure that lacks a parameter it requires, such as P without a cutoff."""
        params = self.measure.SUPPORTED_PARAMS
        missing = [name for name, info in params.items() if info.required and name not in self.measure.params]
        if missing:
            example = f", as in {self.text}@10" if missing == ["cutoff"] else ""
            raise MultiAspectError(f"the base {self.text} is not complete: it needs {choices(missing)}{example}")

    def check_on_classes(self, *, exponential: bool) -> None:
        """Refuse to rank classes of label tuples by a measure that makes no sense of them."""
        if "gains" in self.measure.params:
            raise MultiAspectError(
                f"the base {self.text} maps raw labels to gains, but classes of label tuples are ranked; give the "
                "gains as values of the aspects"
            )
        if exponential and (self.measure.NAME == "ERR" or self.measure.params.get("dcg") == "exp-log2"):
            raise MultiAspectError(
                f"the base {self.text} exponentiates gains already, as weighting='exponential' does; take "
                "weighting='classes' with it"
            )

    @property
    def has_rel(self) -> bool:
        """Whether the measure counts documents from some label up."""
        if isinstance(self.measure, SingleAspectMeasure):
            return self.measure.BINARY
        return self._kernel.binary if self._kernel else "rel" in self.measure.SUPPORTED_PARAMS

    def depends_on_scale(self, view: AspectView) -> bool:
        """Whether inferring the scale of `view` from other judgments could change values."""
        if self.measure.NAME == "ERR":
            return True
        if not view.scale.greater_is_better:
            return True
        return view.scale.is_fractional and self.has_rel and _rel(self.measure) is None

    def values(self, rankings: Rankings, target: Target) -> Floats:
        """Evaluate a run, one value a query; computed once per run and target."""
        key = ("base", type(self.measure), self.text, target)  # define() may give one name to many classes
        values: Floats = rankings.shared(key, lambda: self._compute(rankings, target))
        return values

    def _compute(self, rankings: Rankings, target: Target) -> Floats:
        if isinstance(self.measure, SingleAspectMeasure):
            return self.measure.on_target(rankings, target)
        if self._kernel is not None:
            return self._kernel.compute(self.measure, rankings.layout, target)
        return _compute_elsewhere(self, rankings, target)

    def empty(self, target: Target) -> Bools:
        """Tell for which queries no judged document could ever score."""
        if self.has_rel:
            return np.asarray(target.n_positive(_rel(self.measure)) == 0, dtype=np.bool_)
        gained = target if self._kernel is None else _gained(self.measure, target)
        return np.asarray(gained.greatest == 0, dtype=np.bool_)

    def worth(self, target: Target) -> Floats | None:
        """Return what documents are sorted by for the greatest value, never negative; None if that is unknown."""
        if self._kernel is None or not self._kernel.ordered:
            return None
        if self._kernel.binary:
            return target.positives(_rel(self.measure)).astype(np.float64)
        return _gained(self.measure, target).gain

    def graded_gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, not normalised; of binary measures that of its grade."""
        gain = _gained(self.measure, target).gain if self._kernel is not None else target.gain
        if not target.exponential and self.measure.params.get("dcg") != "exp-log2":
            return gain
        return power_gain(gain, "the class" if target.exponential else "the gain", "choose another weighting")

    def gain_share(self, target: Target) -> tuple[Floats, Hashable]:
        """Return each judged document's gain over the norm of its query, and a key of the form.

        The norm is that of the measure: the ideal DCG of nDCG, the number of positive documents of R,
        1 for DCG, CG, P and RBP. Measures with equal keys are maximised together by sorting by the sum
        of the gains. Of a measure that is no sum of discount times gain the key is None, and the
        surrogate is that of R if it is binary, else that of nDCG.
        """
        own = self.measure.linear_gain(target) if isinstance(self.measure, SingleAspectMeasure) else None
        if own is not None:
            return own
        rel = _rel(self.measure)
        if self.is_linear:
            form = self.linear(target)
            constant = self.measure.NAME in ("P", "RBP")  # 1 / cutoff and 1 - p change no order
            gain = target.positives(rel).astype(np.float64) if constant else form.gain
            return gain, (self.measure.NAME, form.key)
        if self.has_rel:
            return ratio(target.positives(rel).astype(np.float64), target.n_positive(rel)[target.pool_query]), None
        norm = ranked.ideal_dcg(*target.ideal, target.n_queries, self.cutoff)
        return ratio(target.gain, norm[target.pool_query]), None

    def check_nonnegative(self, mean: str) -> None:
        """Refuse a measure whose values can be negative, of which `mean` makes nothing."""
        if isinstance(self.measure, SingleAspectMeasure) and self.measure.RANGE[0] < 0:
            raise MultiAspectError(f"{self.text} can be negative, and the {mean} mean of such values means nothing")

    @property
    def has_kernel(self) -> bool:
        """Whether it is computed here rather than by ir-measures."""
        return self._kernel is not None

    @property
    def is_linear(self) -> bool:
        """Whether the measure is a sum over ranks of discount times gain."""
        return self._kernel is not None and self._kernel.linear is not None

    def check_linear(self) -> None:
        """Refuse a measure that is no linear form: sorting documents does not maximise it."""
        if not self.is_linear:
            linear = choices(name for name, kernel in _KERNELS.items() if kernel.linear)
            raise MultiAspectError(
                f"normalized=True needs the best value any ranking can reach, which is known for {linear}; "
                f"{self.text} is no sum over ranks of discount times gain"
            )

    def linear(self, target: Target) -> LinearForm:
        """The measure as a linear form."""
        self.check_linear()
        assert self._kernel is not None
        assert self._kernel.linear is not None
        return self._kernel.linear(self.measure, target)


def _compute_elsewhere(base: Base, rankings: Rankings, target: Target) -> Floats:
    """Compute a base by ir-measures on single-aspect qrels and scores that count down."""
    measure = base.measure
    binarised = base.has_rel and ("rel" in measure.params or measure.SUPPORTED_PARAMS["rel"].default == 1)
    labels = target.signs if binarised else target.labels
    _check_labels(base, labels)
    if binarised:
        # Junk keeps its own negative label, as some measures tell it from what is not relevant.
        positive = target.positives(_rel(measure)) & ~np.isnan(labels)
        labels = np.where(positive, 1.0, np.minimum(labels, 0.0))
        measure = measure(rel=1)
    try:
        return by_ir_measures([measure], rankings.judgments, labels, rankings.rescored())[measure]
    except MultiAspectError as error:
        raise MultiAspectError(f"the base {base.text} has no kernel here, and {error}") from error


def _check_labels(base: Base, labels: Floats) -> None:
    fraction = first_fraction(labels)
    if fraction is not None:
        raise MultiAspectError(
            f"the base {base.text} is computed by ir-measures, which takes whole labels only, but there is "
            f"{fraction:g}; choose a base with a kernel of its own ({choices(_KERNELS)}), whole labels, "
            "or, under TOMA, weighting='classes'"
        )
    greatest = np.nanmax(labels, initial=0.0)
    if greatest > _GREATEST_LABEL:
        raise MultiAspectError(
            f"the base {base.text} is computed by ir-measures, whose back ends do not take labels as great as "
            f"{greatest:g}; under TOMA weighting='classes' gives smaller ones"
        )


# -- the parameter -----------------------------------------------------------------------------

Bases = Base | dict[str, Base]
"""One base for every aspect, or a base per aspect."""


def parse_base(base: object) -> Base:
    """Read a base given as a measure or as the name of one."""
    if isinstance(base, Base):
        return base
    if isinstance(base, str):
        try:
            base = read_measure(base)
        except UnknownMeasureError as error:
            raise MultiAspectError(
                f"unknown base {base!r}; the nearest names are {nearest(error.name)}; a base is a measure such as "
                "nDCG@10, AP(rel=2) or Compat(p=0.8)"
            ) from None
    if not isinstance(base, Measure):
        raise MultiAspectError(f"a base is an ir-measures measure or the name of one, not {base!r}")
    if isinstance(base, SingleAspectMeasure):
        if base.NO_BASE is not None:
            raise MultiAspectError(f"{base} cannot be a base: {base.NO_BASE}")
    elif isinstance(base, MultiAspectMeasure):
        raise MultiAspectError(f"a base measures one aspect; {base} is a multi-aspect measure itself")
    check_params(base, "the base ")
    return Base(base)


def parse_bases(base: object) -> Bases:
    """Read a base, or a dict of them per aspect."""
    if isinstance(base, Mapping):
        if not base:
            raise MultiAspectError("base as a dict needs a base per aspect")
        return {name: parse_base(each) for name, each in sorted((aspect_name(k), v) for k, v in base.items())}
    return parse_base(base)


def spell_bases(bases: Bases) -> Any:
    """Print bases as parameters."""
    return bases.text if isinstance(bases, Base) else {name: base.text for name, base in bases.items()}


def fill_cutoff(bases: Bases, cutoff: int | None, measure: str) -> Bases:
    """Give the outer cutoff to the bases that take one and have none.

    Raises
    ------
    MultiAspectError
        If a base has another cutoff already, or none takes one.
    """
    if cutoff is None:
        return bases
    each = [bases] if isinstance(bases, Base) else list(bases.values())
    unequal = [base.text for base in each if base.cutoff not in (None, cutoff)]
    if unequal:
        raise MultiAspectError(
            f"{measure}@{cutoff} has the cutoff {cutoff} but its base is {choices(unequal)}; give one cutoff, "
            "inside or outside"
        )
    if not any(base.accepts_cutoff for base in each):
        raise MultiAspectError(
            f"{measure}@{cutoff} has a cutoff but no base takes one: {choices(base.text for base in each)}"
        )
    if isinstance(bases, Base):
        return bases.at(cutoff)
    return {name: base.at(cutoff) if base.accepts_cutoff else base for name, base in bases.items()}
