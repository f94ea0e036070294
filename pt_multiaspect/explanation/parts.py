"""Contributions of the terms of a measure at each rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Floats
from ..bases import Term
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..errors import MultiAspectError
from ..kernels.breakdown import MARGINAL, STATED, Breakdown

if TYPE_CHECKING:
    from ..measures.measure import Measure
    from .topic import Topic

#: Relative tolerance for the sum of contributions.
_TOLERANCE = 1e-9
#: Tolerance below which amounts that belong to no rank are left out, relative to the offset.
_NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Part:
    """The contributions of one term at the ranks of one topic."""

    #: The name of the aspect; empty for all aspects together.
    name: str
    #: The value of the term, its weight, and the derivative of the measure with respect to the value.
    value: float
    weight: float
    slope: float
    #: The contributions in units of the measure, one per rank.
    contribution: Floats
    offset: float = 0.0
    #: Contributions that belong to no rank, by their description.
    rest: Mapping[str, float] = field(default_factory=dict)
    how: str = STATED
    #: Ranks below this one are combined in `rest`.
    n_single: int | None = None
    gain: Floats | None = None
    discount: Floats | None = None
    norm: float | None = None
    columns: Mapping[str, Floats] = field(default_factory=dict)
    swap_cost: Floats | None = None

    def scaled(self, slope: float) -> Part:
        """Return the part with its contributions multiplied by `slope`."""
        return replace(
            self,
            slope=slope,
            contribution=slope * self.contribution + 0.0,  # no -0
            offset=slope * self.offset,
            rest={text: slope * amount for text, amount in self.rest.items()},
        )

    @property
    def total(self) -> float:
        """Return the sum of all contributions and the offset."""
        return float(self.contribution.sum()) + self.offset + sum(self.rest.values())


def tolerance(value: Any, relative: float = _TOLERANCE) -> Any:
    """Return the tolerance for sums with the expected value or values `value`."""
    return relative * np.maximum(1.0, np.abs(value))


def wrong_sum(what: str, total: float, value: float, qid: str) -> MultiAspectError:
    """Return the error for contributions that do not sum to the value."""
    return MultiAspectError(
        f"the contributions of {what} sum to {total:.6g} for topic {qid}, expected its value, {value:.6g}. Correct "
        "its contributions; pt_multiaspect.testing.check_measure checks them"
    )


def parts_of(topic: Topic) -> list[Part]:
    """Return the parts of the value of the topic, which sum to it.

    There is one part per term if the gradient of the measure is known, else one part.
    """
    measure, terms = topic.measure, topic.measure.terms(topic.judgments)
    if not terms:
        views = measure.views(topic.judgments)
        stated = measure._breakdown(topic.rankings, views)
        return [_whole(topic) if stated is None else _checked(topic, _stated(topic, stated), str(measure))]
    values = [float(term.base.values(topic.rankings, term.target)[topic.query]) for term in terms]
    weights = [float(term.weight[topic.query]) for term in terms]
    slopes = gradient(measure, np.array(values)[:, None], np.array(weights)[:, None], np.array([topic.value]))
    if np.isnan(slopes).any():
        return [_whole(topic)]
    parts = _of_terms(topic, terms, values)
    return [
        replace(part.scaled(slope), weight=weight)
        for part, weight, slope in zip(parts, weights, slopes[:, 0].tolist(), strict=True)
    ]


def gradient(measure: Measure, values: Floats, weights: Floats, of_measure: Floats) -> Floats:
    """Return the gradient at the values of the terms, whose product with the values is the value of the measure.

    Values and weights of the terms, and the result, have the shape (n_terms, n_queries). The gradient is NaN where
    it is unknown, or the measure is not homogeneous.
    """
    with np.errstate(all="ignore"):
        slope = measure.slope(values, weights)
        if slope is None:
            return np.full(values.shape, np.nan)
        # A term of value 0 may have an infinite slope; it contributes 0.
        slope = np.where(np.isfinite(slope), slope, 0.0)
        combined = measure.combine(values, weights)
        if measure.params.get("normalized"):
            slope = slope * np.where(combined != 0, of_measure / combined, 1.0)
    known = np.abs((slope * values).sum(axis=0) - of_measure) <= tolerance(of_measure)
    return np.where(known, slope, np.nan)


def _of_terms(topic: Topic, terms: list[Term], values: list[float]) -> list[Part]:
    """Return the parts of the terms, in units of their bases."""
    parts: dict[int, Part] = {}
    unknown = []
    for index, (term, value) in enumerate(zip(terms, values, strict=True)):
        stated = term.base.breakdown(topic.rankings.top(term.base.depth), term.target)
        if stated is None:
            unknown.append(index)
        else:
            part = replace(_stated(topic, stated), name=term.name, value=value)
            parts[index] = _checked(topic, part, f"the base {term.base.text}")

    def evaluate(judgments: Judgments, rankings: Rankings) -> Floats:
        repeated = topic.measure.terms(judgments)
        return np.stack([repeated[index].base.values(rankings, repeated[index].target) for index in unknown])

    if unknown:
        depths = [terms[index].base.depth for index in unknown]
        marginal = _marginal(topic, evaluate, depths, [values[index] for index in unknown])
        for index, part in zip(unknown, marginal, strict=True):
            parts[index] = replace(part, name=terms[index].name)
    return [parts[index] for index in range(len(terms))]


def _whole(topic: Topic) -> Part:
    """Return the measure as one part, by the values of the first ranks."""

    def evaluate(judgments: Judgments, rankings: Rankings) -> Floats:
        return topic.measure.evaluate(rankings)[None]

    measure = topic.measure
    cutoff = measure.params.get("cutoff")
    (part,) = _marginal(topic, evaluate, [cutoff], [topic.value])
    return part


def _marginal(
    topic: Topic,
    evaluate: Callable[[Judgments, Rankings], Floats],
    depths: Sequence[int | None],
    values: Sequence[float],
) -> list[Part]:
    """Return parts whose contributions are the differences of the values of the first k and k - 1 ranks."""
    n = len(topic)
    reached = n if None in depths else min(n, max(depth for depth in depths if depth is not None))
    n_single = min(reached, topic.depth)
    values_of_prefixes = topic.prefix_values(evaluate, np.arange(n_single + 1))
    parts = []
    for of_prefixes, value in zip(values_of_prefixes, values, strict=True):
        contribution = np.zeros(n)
        contribution[:n_single] = np.diff(of_prefixes)
        left = value - float(of_prefixes[-1])
        parts.append(
            Part(
                name="",
                value=value,
                weight=1.0,
                slope=1.0,
                contribution=contribution,
                offset=float(of_prefixes[0]),
                rest={_together(n_single, reached): left} if n_single < reached else {},
                how=MARGINAL,
                n_single=n_single if n_single < reached else None,
            )
        )
    return parts


def _together(n_single: int, n: int) -> str:
    return f"rank {n}" if n == n_single + 1 else f"ranks {n_single + 1} to {n}"


def _stated(topic: Topic, breakdown: Breakdown) -> Part:
    """Return one topic of a breakdown as a part."""
    query, n = topic.query, len(topic)
    of_query = breakdown.hits.query == query
    position = breakdown.hits.rank[of_query] - 1

    def at_ranks(values: Floats, otherwise: float) -> Floats:
        result = np.full(n, otherwise)
        result[position] = values[of_query]
        return result

    def of(values: Floats | None) -> float | None:
        return None if values is None else float(values[query])

    offset = of(breakdown.offset) or 0.0
    rest = {text: float(values[query]) for text, values in breakdown.rest.items()}
    return Part(
        name="",
        value=topic.value,
        weight=1.0,
        slope=1.0,
        contribution=at_ranks(breakdown.contribution, 0.0),
        offset=offset,
        rest={text: amount for text, amount in rest.items() if abs(amount) > tolerance(offset, _NOTHING)},
        how=breakdown.how,
        gain=None if breakdown.gain is None else at_ranks(breakdown.gain, np.nan),
        discount=None if breakdown.discount is None else at_ranks(breakdown.discount, 0.0),
        norm=of(breakdown.norm),
        columns={name: at_ranks(values, np.nan) for name, values in breakdown.columns.items()},
        swap_cost=None if breakdown.swap_cost is None else at_ranks(breakdown.swap_cost, 0.0),
    )


def _checked(topic: Topic, part: Part, what: str) -> Part:
    """Return the part after checking that its contributions sum to its value."""
    if abs(part.total - part.value) > tolerance(part.value):
        raise wrong_sum(what, part.total, part.value, topic.qid)
    return part
