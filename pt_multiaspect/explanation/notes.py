"""Notes of explanations, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..errors import join_names, number_of
from ..kernels.breakdown import MARGINAL
from .contributions import TopicPart
from .topic import Topic

if TYPE_CHECKING:
    from ..measures.measure import Measure

#: The increase of an aspect's value for which notes state the increase of the measure.
_STEP = 0.01


def notes(
    topic: Topic, parts: Sequence[TopicPart], ranks: pd.DataFrame, aspects: pd.DataFrame, gain: str
) -> list[str]:
    """Return the notes; `gain` is the name of the column that shows the gain."""
    return [*_ranking(topic, ranks), *_contributions(topic, parts, gain), *_aspects(topic, parts, aspects)]


def _ranking(topic: Topic, ranks: pd.DataFrame) -> Iterator[str]:
    if not len(topic):
        yield "The run retrieves nothing for the topic: an empty ranking."
    single = ranks[~ranks["note"].str.contains("below the cutoff") & ranks["rank"].notna()]
    unjudged = int(single["note"].str.contains("unjudged").sum())
    if unjudged:
        yield f"{unjudged} of the first {number_of(len(single), 'document')} {_is_or_are(unjudged)} unjudged."


def _contributions(topic: Topic, parts: Sequence[TopicPart], gain: str) -> Iterator[str]:
    measure = topic.measure
    if measure.lower_is_better:
        yield "Lower values are better."
    (first, *others) = parts
    if first.norm == 0 and not others:
        yield "No judged document has a gain above 0, so the value is 0."
    elif first.gain is not None and first.discount is not None and not others:
        over = "" if first.norm is None or first.norm == 1 else f" / {first.norm:.6g}"
        yield f"contribution = {gain} x discount{over}."
    if first.how == MARGINAL and first.swap_cost is not None:
        yield "Contributions are marginal: the errors that a rank adds to those at the ranks above."
    elif any(part.how == MARGINAL for part in parts):
        yield "Contributions are marginal: the value of the first k ranks minus that of the first k - 1."


def _aspects(topic: Topic, parts: Sequence[TopicPart], aspects: pd.DataFrame) -> Iterator[str]:
    measure = topic.measure
    counts = aspects[aspects["weight"] > 0]
    if len(counts) < 2 or measure.IS_WEIGHTED_SUM or not measure.IS_INCREASING:
        return
    zero = counts.loc[counts["value"] == 0, "aspect"].tolist()
    if zero:
        because = f" is 0 because {join_names(zero)} {_is_or_are(len(zero))} 0."
        yield f"{measure.NAME}{because}" if topic.value == 0 else f"The value on {join_names(zero)} is 0."
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
            f"The weaker aspect limits {measure.NAME}: {_STEP} more on {weak.name} (now {weak.value:.4f}) adds "
            f"about {_STEP * weak.slope:.4f}, {_STEP} more on {strong.name} (now {strong.value:.4f}) only "
            f"{_STEP * strong.slope:.4f}."
        )


def _is_or_are(number: int) -> str:
    return "is" if number == 1 else "are"
