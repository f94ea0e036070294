"""Aggregates over topics, also of unequal weight, and over seeds or folds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure

from .._numbers import number
from ..errors import MultiAspectError, choices, counted
from ..integration.aggregators import aggregated
from .long_frames import check_distinct


def read_weights(weights: object, perquery: pd.DataFrame) -> dict[str, float]:
    """Check the weights of topics.

    Parameters
    ----------
    weights : mapping or Series
        The weight of each topic of the frame.
    perquery : DataFrame
        The long frame.

    Returns
    -------
    dict of str to float
        Non-negative weights by query id.
    """
    if not isinstance(weights, Mapping | pd.Series):
        raise MultiAspectError(f"weights: expected a mapping {{qid: weight}}, got {type(weights).__name__}")
    pairs = [(str(qid), number(weight, f"the weight of topic {qid}")) for qid, weight in weights.items()]
    result = dict(pairs)
    if len(result) < len(pairs):
        raise MultiAspectError("weights: expected one weight per topic, got several for some")
    negative = [qid for qid, weight in pairs if weight < 0]
    if negative:
        raise MultiAspectError(
            f"weights: expected weights of at least 0, got {result[negative[0]]:g} for {negative[0]}"
        )
    for (name, label), group in perquery.groupby(["name", "measure"], sort=False):
        qids = set(map(str, group["qid"]))
        missing, surplus = sorted(qids - set(result)), sorted(set(result) - qids)
        if missing or surplus:
            raise MultiAspectError(
                f"weights: expected one weight for each topic of {label} for {name}"
                + (f", got none for {choices(missing[:5])} {counted(len(missing), 'topic')}" if missing else "")
                + (f", got weights for {choices(surplus[:5])} {counted(len(surplus), 'topic')}, "
                   "which have no value" if surplus else "")
            )  # fmt: skip
    return result


def over_topics(measure: Measure | None, topics: pd.DataFrame, weights: Mapping[str, float] | None) -> float:
    """Return the aggregate of a measure over the topics of one run, seed or fold, which may have weights.

    Raises
    ------
    MultiAspectError
        If the weights sum to 0, or if the aggregate is not a function of the mean over topics, such as a sum.
    """
    values = topics["value"].tolist()
    if weights is None:
        return aggregated(measure, values)
    of_topics = [weights[str(qid)] for qid in topics["qid"]]
    total = math.fsum(of_topics)
    if total == 0:
        raise MultiAspectError("expected at least one topic with a positive weight")
    mean = math.fsum(values) / len(values)
    plain, at_mean = aggregated(measure, values), aggregated(measure, [mean])
    if np.isfinite(mean) and not math.isclose(plain, at_mean, rel_tol=1e-9, abs_tol=1e-12):
        raise MultiAspectError(
            "weights are only defined for aggregates that are a function of the mean over topics"
        )
    products = [weight * value for weight, value in zip(of_topics, values, strict=True) if weight]
    return aggregated(measure, [math.fsum(products) / total])


def check_repeats(perquery: pd.DataFrame, over: str) -> None:
    """Check that all runs have the same seeds (on the same topics) or the same folds (on distinct topics)."""
    if perquery[over].isna().any():
        raise MultiAspectError(f"expected a value of {over} in every row, got missing ones")
    check_distinct(perquery, ["name", "measure", "qid", over], "keep one of them")
    expected: set[Any] = set(perquery[over])
    if len(expected) < 2:
        raise MultiAspectError(f"expected at least two values of {over}, got {choices(expected)}; omit over=")
    for (name, label), group in perquery.groupby(["name", "measure"], sort=False):
        topics: dict[Hashable, frozenset[Any]] = {
            repeat: frozenset(part["qid"]) for repeat, part in group.groupby(over, sort=False, observed=True)
        }
        missing = [str(repeat) for repeat in expected if repeat not in topics]
        if missing:
            raise MultiAspectError(
                f"expected the same values of {over} for all runs and measures, got no {label} of {name} for "
                f"{over} {choices(sorted(missing))}"
            )
        distinct = set(topics.values())
        if len(distinct) > 1 and sum(map(len, topics.values())) > len(frozenset().union(*distinct)):
            first, second = next(
                (first, second) for first in topics for second in topics
                if topics[first] & topics[second] and topics[first] != topics[second]
            )  # fmt: skip
            raise MultiAspectError(
                f"expected each {over} to have the same topics (seeds), or distinct topics (folds), but for "
                f"{name}, {over} {first} and {second} share only some topics. Evaluate all of them on the same "
                "topics"
            )


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (with n − 1) of values; for a single value, the latter is NaN."""
    if len(values) == 1:
        return values[0], math.nan
    if max(values) == min(values):  # their deviations from the mean could be rounding errors
        return values[0], 0.0
    return math.fsum(values) / len(values), float(np.std(values, ddof=1))
