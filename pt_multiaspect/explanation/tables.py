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
    labels = _labels_by_rank(topic)
    is_unjudged = np.zeros(len(topic), dtype=np.bool_)
    if labels:  # the measure reads an aspect
        lacks_label = [np.isnan(label) for label in labels.values()]
        is_unjudged = np.all(lacks_label, axis=0)
    numbers = dict(labels)  # the columns of numbers, with one value per rank
    _add_details(numbers, topic, parts, is_unjudged)
    _add_amounts(numbers, topic, parts)

    # Ranks below the first `n_single` have no rows of their own. Their sum is in the rest: the rows
    # below those of the ranks, by their description.
    n_single = _n_single_ranks(topic, parts)
    rest = _rest(parts, n_single)
    frame = _rows_of_ranks_and_rest(topic, numbers, n_single, rest)
    frame["running"] = offset + frame["contribution"].cumsum()
    how = _how_contributions_are_known(parts)
    frame["how"] = pd.Series(how, index=frame.index, dtype=object)
    notes_on_ranks = _rank_notes(topic, is_unjudged)[:n_single]
    descriptions = list(rest)
    notes = [*notes_on_ranks, *descriptions]  # one per row
    frame["note"] = pd.Series(notes, index=frame.index, dtype=object)
    return frame


def _how_contributions_are_known(parts: Sequence[TopicPart]) -> str:
    """Return whether the contributions are stated, or marginal, as they are if one part's are."""
    if any(part.how == MARGINAL for part in parts):
        return MARGINAL
    return STATED


def _n_single_ranks(topic: Topic, parts: Sequence[TopicPart]) -> int:
    """Return how many first ranks have a contribution of their own to all parts."""
    n_single = len(topic)
    for part in parts:
        if part.n_single is not None:  # below these, the part has one amount for all ranks
            n_single = min(n_single, part.n_single)
    return n_single


def _labels_by_rank(topic: Topic) -> dict[str, Floats]:
    """Return the labels of the retrieved documents, NaN where unjudged, by the name of a column."""
    views = topic.measure.views(topic.judgments)
    labels = {}
    for column, view in label_columns(views).items():
        labels[column] = values_by_rank(topic, view.label)
    return labels


def _rows_of_ranks_and_rest(
    topic: Topic, numbers: dict[str, Floats], n_rows: int, rest: dict[str, dict[str, float]]
) -> pd.DataFrame:
    """Return the first `n_rows` ranks, then a row without rank and document per amount of `rest`.

    `numbers` has the values of all ranks by column. `rest` has, by description, the amounts of a
    row by column.
    """
    n_rest = len(rest)
    no_ranks = [pd.NA] * n_rest
    no_docnos = [None] * n_rest
    ranks = [*range(1, n_rows + 1), *no_ranks]
    ranked_docnos = topic.docnos[:n_rows].tolist()
    docnos = [*ranked_docnos, *no_docnos]
    columns: dict[str, Any] = {
        "rank": pd.array(ranks, dtype="Int64"),
        "docno": pd.Series(docnos, dtype=object),
    }
    for name, values in numbers.items():
        # Columns such as labels have no amounts.
        rest_values = [amounts.get(name, np.nan) for amounts in rest.values()]
        rank_values = values[:n_rows]
        columns[name] = np.append(rank_values, rest_values)
    return pd.DataFrame(columns)


def _add_details(
    numbers: dict[str, Floats], topic: Topic, parts: Sequence[TopicPart], is_unjudged: Bools
) -> None:
    """Add the columns that the measure or its bases compute from the labels."""
    details = topic.measure.details(topic.judgments)
    for name, values in details.items():
        detail_of_document = np.asarray(values, dtype=np.float64)
        detail = values_by_rank(topic, detail_of_document)
        column = _free_name(name, numbers)
        numbers[column] = np.where(is_unjudged, np.nan, detail)
    for part in parts:
        for name, values in part.columns.items():
            full_name = name
            if len(parts) > 1:
                full_name = f"{part.name} {name}"
            column = _free_name(full_name, numbers)
            numbers[column] = values


def _add_amounts(numbers: dict[str, Floats], topic: Topic, parts: Sequence[TopicPart]) -> None:
    """Add the gain, the discount and the contribution, of several parts also those of each."""
    gain, discount = _gain_and_discount(topic, parts)
    numbers["gain"] = gain
    numbers["discount"] = discount
    contributions = [part.contribution for part in parts]
    if len(parts) > 1:
        for part in parts:
            name = f"{part.name} part"
            column = _free_name(name, numbers)
            numbers[column] = part.contribution
    numbers["contribution"] = np.sum(contributions, axis=0)


def _rest(parts: Sequence[TopicPart], n_rows: int) -> dict[str, dict[str, float]]:
    """Return the rows of amounts that belong to no rank: by description, their amounts by column.

    `n_rows` is the number of first ranks that have a row. Amounts of parts with the same
    description are in one row, with their sum.
    """
    rows: dict[str, dict[str, float]] = {}
    for part in parts:
        amounts = _amounts_without_rank(part, parts, n_rows)
        for description, amount in amounts.items():
            if description not in rows:
                rows[description] = {"contribution": 0.0}
            row = rows[description]
            row["contribution"] += amount
            row[f"{part.name} part"] = amount
    return rows


def _amounts_without_rank(
    part: TopicPart, parts: Sequence[TopicPart], n_rows: int
) -> dict[str, float]:
    """Return the amounts of a part that belong to none of the first `n_rows` ranks.

    There are further ranks if one of the parts has only one amount for all of them. A part with an
    amount for each of them (`n_single` is None) then gets their sum.
    """
    amounts = dict(part.rest)
    further = part.contribution[n_rows:]
    if part.n_single is None and len(further):
        description = _text_of_further_ranks(parts, n_rows)
        stated_amount = amounts.get(description, 0.0)
        amounts[description] = stated_amount + float(further.sum())
    return amounts


def _text_of_further_ranks(parts: Sequence[TopicPart], n_rows: int) -> str:
    """Return the description of the ranks below `n_rows`, such as "ranks 101 to 1000".

    At least one of the parts has one amount for all of these ranks together, the only one in its
    `rest`, whose key is the description.
    """
    has_one_amount = [part.n_single == n_rows for part in parts]
    first_with_one_amount = parts[has_one_amount.index(True)]
    (description,) = first_with_one_amount.rest
    return description


def _gain_and_discount(topic: Topic, parts: Sequence[TopicPart]) -> tuple[Floats, Floats]:
    """Return the gains and discounts of the base at each rank; NaN where they are unknown.

    For several parts of equal discounts, the gain is the weighted sum of their gains.
    """
    first = parts[0]
    gain = first.gain
    discount = first.discount
    if len(parts) > 1:
        gain = _sum_of_gains(parts)
        if gain is None:
            discount = None
    unknown = np.full(len(topic), np.nan)
    if gain is None:
        gain = unknown
    if discount is None:
        discount = unknown
    return gain, discount


def _sum_of_gains(parts: Sequence[TopicPart]) -> Floats | None:
    """Return the sum of the normalised gains of the parts, weighted by their slopes.

    Times the discount, it is the contribution. None if a part has no gain or discount, or the
    discounts differ.
    """
    first = parts[0]
    gain = np.zeros(len(first.contribution))
    for part in parts:
        if part.gain is None or part.discount is None or first.discount is None:
            return None
        if not np.array_equal(first.discount, part.discount):
            return None
        norm = 1.0
        if part.norm is not None:
            norm = part.norm
        if norm == 0:
            norm = np.inf  # no document has a gain
        gain += part.slope * part.gain / norm
    return gain


def _rank_notes(topic: Topic, is_unjudged: Bools) -> list[str]:
    """Return the note of each rank."""
    terms = topic.measure.terms(topic.judgments)
    if terms:
        cutoff = last_rank(terms)
    else:
        cutoff = topic.measure.params.get("cutoff")
    if cutoff is None:
        cutoff = len(topic)
    rank_notes = []
    for rank, unjudged in enumerate(is_unjudged.tolist(), 1):
        remarks = []
        if unjudged:
            remarks.append("unjudged")
        if rank > cutoff:
            remarks.append("below the cutoff")
        rank_notes.append("; ".join(remarks))
    return rank_notes


def values_by_rank(topic: Topic, values: Floats) -> Floats:
    """Return values per judged pair at the rank of each document; NaN for unjudged documents."""
    # The row of an unjudged document is -1: that of the NaN behind the values.
    values_and_nan = np.append(values, np.nan)
    return values_and_nan[topic.rows]


def scale_positions(view: AspectView) -> Floats:
    """Return the position of each label on its scale, from 0 (lowest grade) to 1 (highest)."""
    highest_index = max(1, len(view.scale) - 1)
    position = view.grade_index / highest_index
    return np.where(view.known, position, np.nan)


def label_columns(views: Sequence[AspectView]) -> dict[str, AspectView]:
    """Return the aspects by column name, distinct from the names of other columns."""
    columns = {}
    for view in views:
        name = view.name
        if name in NOT_LABELS:
            name = f"{name} label"
        columns[name] = view
    return columns


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a column name that is not yet taken."""
    while name in taken or name in NOT_LABELS:
        name = f"{name} of the measure"
    return name


def aspects_frame(topic: Topic, parts: Sequence[TopicPart]) -> pd.DataFrame:
    """Return one row per term: its value, its weight and its part in the value of the measure."""
    terms = topic.measure.terms(topic.judgments)
    rows: list[tuple[str, float, float, float]] = []
    # Without a known gradient, a measure of several terms is one part: those of terms are unknown.
    parts_are_unknown = len(terms) > 1 and len(parts) == 1
    if parts_are_unknown:
        for term in terms:
            values = term.base.values(topic.rankings, term.target)
            value = float(values[topic.query])
            weight = float(term.weight[topic.query])
            rows.append((term.name, value, weight, np.nan))
    else:
        views = topic.measure.views(topic.judgments)
        aspects = [view.name for view in views]
        for part in parts:
            # The measure as one part is named after all of its aspects.
            name = part.name or ", ".join(aspects)
            # The measure is split into terms only if slope times value sums to its value.
            amount = part.slope * part.value
            amount += 0.0  # no -0
            rows.append((name, part.value, part.weight, amount))
    return pd.DataFrame(rows, columns=["aspect", "value", "weight", "part"])


def swaps_frame(topic: Topic, parts: Sequence[TopicPart]) -> pd.DataFrame | None:
    """Return adjacent documents in the wrong order, most costly first.

    None for measures without such pairs.
    """
    if len(parts) > 1:
        return None
    (part,) = parts
    if part.swap_cost is None:
        return None
    # The cost of a pair is at the rank of its lower document. Positions count from 0.
    lower_by_rank = np.flatnonzero(part.swap_cost > 0)
    costs = part.swap_cost[lower_by_rank]
    most_costly_first = np.argsort(-costs, kind="stable")
    lower = lower_by_rank[most_costly_first]
    upper = lower - 1
    errors = {name: values[lower] for name, values in part.columns.items()}
    columns = {
        "rank": upper + 1,
        "docno": topic.docnos[upper],
        "next_docno": topic.docnos[lower],
        **errors,
        "cost": part.swap_cost[lower],
    }
    return pd.DataFrame(columns)


def notes(
    topic: Topic, parts: Sequence[TopicPart], ranks: pd.DataFrame, aspects: pd.DataFrame, gain: str
) -> list[str]:
    """Return the notes; `gain` is the name of the column that shows the gain."""
    return [
        *_ranking_notes(topic, ranks),
        *_contribution_notes(topic, parts, gain),
        *_aspect_notes(topic, parts, aspects),
    ]


def _ranking_notes(topic: Topic, ranks: pd.DataFrame) -> Iterator[str]:
    """Yield what the ranking lacks."""
    if not len(topic):
        yield "The run retrieves nothing for the topic: an empty ranking."
    is_below = ranks["note"].str.contains("below the cutoff")
    is_rank = ranks["rank"].notna()
    counting = ranks[is_rank & ~is_below]
    is_unjudged = counting["note"].str.contains("unjudged")
    n_unjudged = int(is_unjudged.sum())
    if n_unjudged:
        documents = number_of(len(counting), "document")
        yield f"{n_unjudged} of the first {documents} {_is_or_are(n_unjudged)} unjudged."


def _contribution_notes(topic: Topic, parts: Sequence[TopicPart], gain: str) -> Iterator[str]:
    """Yield how to read values and contributions."""
    if topic.measure.lower_is_better:
        yield "Lower values are better."
    first = parts[0]
    is_single = len(parts) == 1
    # Only the rank errors (LRE, GRE) have costs of swaps.
    has_errors = first.swap_cost is not None
    if is_single and first.norm == 0:
        yield "No judged document has a gain above 0, so the value is 0."
    elif is_single and first.gain is not None and first.discount is not None:
        over = ""
        if first.norm is not None and first.norm != 1:
            over = f" / {first.norm:.6g}"
        yield f"contribution = {gain} x discount{over}."
    if first.how == MARGINAL and has_errors:
        yield "Contributions are marginal: the errors that a rank adds to those at the ranks above."
    elif any(part.how == MARGINAL for part in parts):
        yield (
            "Contributions are marginal: the value of the first k ranks minus that of the first "
            "k - 1."
        )


def _aspect_notes(topic: Topic, parts: Sequence[TopicPart], aspects: pd.DataFrame) -> Iterator[str]:
    """Yield which aspect limits a mean of aspects.

    `aspects` has a row per aspect, with its value, and its part in the value of the mean.
    """
    measure = topic.measure
    stated = measure.stated
    weighted = aspects[aspects["weight"] > 0]
    # In a weighted sum, the value on one aspect does not limit what the others add.
    is_limited_by_aspects = stated.never_falls_with_terms and not stated.is_weighted_sum
    if len(weighted) < 2 or not is_limited_by_aspects:
        return
    is_zero = weighted["value"] == 0
    if is_zero.any():
        zero = weighted.loc[is_zero, "aspect"].tolist()
        names = join_names(zero)
        if topic.value == 0:
            yield f"{measure.NAME} is 0 because {names} {_is_or_are(len(zero))} 0."
        else:
            yield f"The value on {names} is 0."
        return
    # Parts follow from the derivative of the mean, the method `slope`, if its class has one.
    if aspects["part"].isna().any():
        yield f"The parts of the aspects are unknown, as {measure.NAME} has no `slope`."
        return
    yield from _weakest(measure, parts)


def _weakest(measure: Measure, parts: Sequence[TopicPart]) -> Iterator[str]:
    """Yield a sentence on the aspect with the lowest value, if the value depends on it most."""
    weighted = [part for part in parts if part.weight > 0]
    weak = min(weighted, key=lambda part: part.value)
    strong = max(weighted, key=lambda part: part.value)
    is_weaker = not np.isclose(weak.value, strong.value)
    if is_weaker and weak.slope > strong.slope:
        increase_by_weak = _STEP * weak.slope
        increase_by_strong = _STEP * strong.slope
        yield (
            f"The weaker aspect limits {measure.NAME}: {_STEP} more on {weak.name} (now "
            f"{weak.value:.4f}) adds about {increase_by_weak:.4f}, {_STEP} more on "
            f"{strong.name} (now {strong.value:.4f}) only {increase_by_strong:.4f}."
        )


def _is_or_are(number: int) -> str:
    """Return the verb for a number of things."""
    if number == 1:
        return "is"
    return "are"
