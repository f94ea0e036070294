"""The tables and notes of an explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Bools, Floats
from ..collection import AspectView
from ..errors import join_names, number_of
from ..kernels.breakdown import MARGINAL, STATED
from ..measures import Measure
from .contributions import Topic, TopicPart, last_rank

#: Columns of `ranks` that every explanation has.
NOT_LABELS = ("rank", "docno", "gain", "discount", "contribution", "running", "how", "note")

#: The increase of an aspect's value for which notes state the increase of the measure.
_STEP = 0.01


def ranks_frame(topic: Topic, parts: Sequence[TopicPart], offset: float) -> pd.DataFrame:
    """Return one row per rank, then one row for each contribution that belongs to no rank."""
    views = topic.measure.views(topic.judgments)
    numbers = {
        column: values_by_rank(topic, view.label) for column, view in label_columns(views).items()
    }
    if numbers:
        judged = ~np.all([np.isnan(label) for label in numbers.values()], axis=0)
    else:  # the measure reads no aspect
        judged = np.ones(len(topic), dtype=np.bool_)
    for name, values in topic.measure.details(topic.judgments).items():
        detail = values_by_rank(topic, np.asarray(values, dtype=np.float64))
        numbers[_free_name(name, numbers)] = np.where(judged, detail, np.nan)
    several = len(parts) > 1
    for part in parts:
        for name, values in part.columns.items():
            numbers[_free_name(f"{part.name} {name}" if several else name, numbers)] = values
    numbers["gain"], numbers["discount"] = _gain_and_discount(topic, parts)
    n_single = min(
        (part.n_single for part in parts if part.n_single is not None), default=len(topic)
    )
    for part in parts if several else ():
        numbers[_free_name(f"{part.name} part", numbers)] = part.contribution
    numbers["contribution"] = np.sum([part.contribution for part in parts], axis=0)
    rest = _rest(parts, n_single)
    rows = [[amounts.get(name, np.nan) for amounts in rest.values()] for name in numbers]
    columns = {
        name: np.append(values[:n_single], more)
        for (name, values), more in zip(numbers.items(), rows, strict=True)
    }
    ranks = [*range(1, n_single + 1), *[pd.NA] * len(rest)]
    docnos = [*topic.docnos[:n_single].tolist(), *[None] * len(rest)]
    frame = pd.DataFrame(
        {
            "rank": pd.array(ranks, dtype="Int64"),
            "docno": pd.Series(docnos, dtype=object),
            **columns,
        }
    )
    frame["running"] = offset + frame["contribution"].cumsum()
    frame["how"] = pd.Series(
        MARGINAL if any(part.how == MARGINAL for part in parts) else STATED,
        index=frame.index,
        dtype=object,
    )
    frame["note"] = pd.Series(
        [*_rank_notes(topic, judged)[:n_single], *rest], index=frame.index, dtype=object
    )
    return frame


def _rest(parts: Sequence[TopicPart], n_single: int) -> dict[str, dict[str, float]]:
    """Return the amounts that belong to no single rank, by description and column."""
    result: dict[str, dict[str, float]] = {}
    for part in parts:
        rest = dict(part.rest)
        if part.n_single is None and n_single < len(part.contribution):
            # If another part is known for the first ranks only, the further ranks of this one are
            # summed.
            together = next(
                text for limited in parts if limited.n_single == n_single for text in limited.rest
            )
            rest[together] = rest.get(together, 0.0) + float(part.contribution[n_single:].sum())
        for text, amount in rest.items():
            amounts = result.setdefault(text, {"contribution": 0.0})
            amounts["contribution"] += amount
            amounts[f"{part.name} part"] = amount
    return result


def _gain_and_discount(topic: Topic, parts: Sequence[TopicPart]) -> tuple[Floats, Floats]:
    """Return the gains and discounts of the base; for parts of equal discounts, the weighted sum of their gains."""
    unknown = np.full(len(topic), np.nan)
    gain, discount = parts[0].gain, parts[0].discount
    if len(parts) > 1:
        gain = np.zeros(len(topic))
        for part in parts:
            if part.gain is None or discount is None or not np.array_equal(discount, part.discount):  # type: ignore[arg-type]
                return unknown, unknown
            gain += part.slope * part.gain / (1.0 if part.norm is None else part.norm or np.inf)
    return unknown if gain is None else gain, unknown if discount is None else discount


def _rank_notes(topic: Topic, judged: Bools) -> list[str]:
    terms = topic.measure.terms(topic.judgments)
    if terms:
        cutoff = last_rank(terms)
    else:
        cutoff = topic.measure.params.get("cutoff")
    below = np.arange(len(topic)) >= (len(topic) if cutoff is None else cutoff)
    return [
        "; ".join(
            filter(None, ["" if is_judged else "unjudged", "below the cutoff" if is_below else ""])
        )
        for is_judged, is_below in zip(judged.tolist(), below.tolist(), strict=True)
    ]


def values_by_rank(topic: Topic, values: Floats) -> Floats:
    """Return values per judged pair at the rank of each document; NaN for unjudged documents."""
    return np.append(values, np.nan)[topic.rows]


def scale_positions(view: AspectView) -> Floats:
    """Return the position of each label on its scale, from 0 for the lowest to 1 for the highest grade."""
    return np.where(view.known, view.grade_index / max(1, len(view.scale) - 1), np.nan)


def label_columns(views: Sequence[AspectView]) -> dict[str, AspectView]:
    """Return the aspects by column name, distinct from the names of other columns."""
    return {f"{view.name} label" if view.name in NOT_LABELS else view.name: view for view in views}


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a column name that is not yet taken."""
    while name in taken or name in NOT_LABELS:
        name = f"{name} of the measure"
    return name


def aspects_frame(topic: Topic, parts: Sequence[TopicPart]) -> pd.DataFrame:
    """Return one row per term, with its value, its weight and its part in the value of the measure."""
    together = ", ".join(view.name for view in topic.measure.views(topic.judgments))
    terms = topic.measure.terms(topic.judgments)
    rows = [
        (part.name or together, part.value, part.weight, part.slope * part.value + 0.0)
        for part in parts
    ]
    if len(terms) > 1 and len(parts) == 1:  # the parts of the terms are unknown
        values = [term.base.values(topic.rankings, term.target)[topic.query] for term in terms]
        weights = [term.weight[topic.query] for term in terms]
        names = [term.name for term in terms]
        rows = [
            (*row, np.nan)
            for row in zip(names, map(float, values), map(float, weights), strict=True)
        ]
    return pd.DataFrame(rows, columns=["aspect", "value", "weight", "part"])


def swaps_frame(topic: Topic, parts: Sequence[TopicPart]) -> pd.DataFrame | None:
    """Return adjacent documents in the wrong order, most costly first; None for measures without such pairs."""
    (part, *others) = parts
    if part.swap_cost is None or others:
        return None
    lower = np.flatnonzero(part.swap_cost > 0)
    lower = lower[np.argsort(-part.swap_cost[lower], kind="stable")]
    columns = {
        "rank": lower,
        "docno": topic.docnos[lower - 1],
        "next_docno": topic.docnos[lower],
        **{name: values[lower] for name, values in part.columns.items()},
        "cost": part.swap_cost[lower],
    }
    return pd.DataFrame(columns)


def notes(
    topic: Topic, parts: Sequence[TopicPart], ranks: pd.DataFrame, aspects: pd.DataFrame, gain: str
) -> list[str]:
    """Return the notes; `gain` is the name of the column that shows the gain."""
    return [
        *_ranking(topic, ranks),
        *_contributions(topic, parts, gain),
        *_aspects(topic, parts, aspects),
    ]


def _ranking(topic: Topic, ranks: pd.DataFrame) -> Iterator[str]:
    if not len(topic):
        yield "The run retrieves nothing for the topic: an empty ranking."
    single = ranks[~ranks["note"].str.contains("below the cutoff") & ranks["rank"].notna()]
    unjudged = int(single["note"].str.contains("unjudged").sum())
    if unjudged:
        yield f"{unjudged} of the first {number_of(len(single), 'document')} {_is_or_are(unjudged)} unjudged."


def _contributions(topic: Topic, parts: Sequence[TopicPart], gain: str) -> Iterator[str]:
    if topic.measure.lower_is_better:
        yield "Lower values are better."
    (first, *others) = parts
    if first.norm == 0 and not others:
        yield "No judged document has a gain above 0, so the value is 0."
    elif first.gain is not None and first.discount is not None and not others:
        if first.norm is None or first.norm == 1:
            over = ""
        else:
            over = f" / {first.norm:.6g}"
        yield f"contribution = {gain} x discount{over}."
    if first.how == MARGINAL and first.swap_cost is not None:
        yield "Contributions are marginal: the errors that a rank adds to those at the ranks above."
    elif any(part.how == MARGINAL for part in parts):
        yield "Contributions are marginal: the value of the first k ranks minus that of the first k - 1."


def _aspects(topic: Topic, parts: Sequence[TopicPart], aspects: pd.DataFrame) -> Iterator[str]:
    measure = topic.measure
    counts = aspects[aspects["weight"] > 0]
    stated = measure.stated
    if len(counts) < 2 or stated.is_weighted_sum or not stated.never_falls_with_terms:
        return
    zero = counts.loc[counts["value"] == 0, "aspect"].tolist()
    if zero:
        because = f" is 0 because {join_names(zero)} {_is_or_are(len(zero))} 0."
        yield (
            f"{measure.NAME}{because}"
            if topic.value == 0
            else f"The value on {join_names(zero)} is 0."
        )
    elif aspects["part"].notna().all():
        yield from _weakest(measure, parts)
    else:
        yield f"The parts of the aspects are unknown, as {measure.NAME} has no `slope`."


def _weakest(measure: Measure, parts: Sequence[TopicPart]) -> Iterator[str]:
    """Yield a sentence on the aspect that the value depends on most, if it has the lowest value."""
    counting = [part for part in parts if part.weight > 0]
    weak = min(counting, key=lambda part: part.value)
    strong = max(counting, key=lambda part: part.value)
    if not np.isclose(weak.value, strong.value) and weak.slope > strong.slope:
        yield (
            f"The weaker aspect limits {measure.NAME}: {_STEP} more on {weak.name} (now "
            f"{weak.value:.4f}) adds "
            f"about {_STEP * weak.slope:.4f}, {_STEP} more on {strong.name} (now "
            f"{strong.value:.4f}) only "
            f"{_STEP * strong.slope:.4f}."
        )


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
