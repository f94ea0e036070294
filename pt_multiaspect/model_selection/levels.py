"""Training labels with few levels, for learners that accept few integer labels only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._typing import Floats, Ints
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..errors import MultiAspectError
from ..kernels.forms import Linear, Log2
from ..kernels.hits import ranked, ratio, sums
from ..measures import Measure

__all__ = ["Levels", "cutoff_of", "discounted_gain", "label_values", "lightgbm_params", "quantise"]

#: The optimal levels are unions of at most this many intervals of labels.
_MOST_INTERVALS = 256

#: Ranks below the cutoff have this fraction of their discount, so that some levels remain for documents there.
_BELOW_CUTOFF = 0.01

#: LightGBM has no discounts for lower ranks.
_LIGHTGBM_MAX_POSITION = 10_000

#: LightGBM's documentation recommends to train on slightly more ranks than the measure has.
_MORE_RANKS = 3


def cutoff_of(measure: Measure, judgments: Judgments) -> int | None:
    """Return the last rank that counts on any aspect, or None if all ranks count."""
    depths = [term.base.depth for term in measure.terms(judgments)] or [measure.cutoff]
    known = [depth for depth in depths if depth is not None]
    return max(known) if len(known) == len(depths) else None


def discounted_gain(judgments: Judgments, measure: Measure, label: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the value of each judged document at discount 1, and the discounts in the ranking by label.

    If the measure is not a discounted sum of gains, these are those of nDCG of the labels.

    Returns
    -------
    gain, discount, everywhere : ndarray of float, shape (n_pool,)
        The last one is the discount without a cutoff.
    """
    query = judgments.pool_query
    rank = ranked(query, label)
    terms = measure.terms(judgments)
    forms = [term.base.additive(term.target) for term in terms]
    linear = [form for form in forms if isinstance(form, Linear)]
    if linear and len(linear) == len(forms) and all(form.is_ranked_like(linear[0]) for form in linear):
        shares = [term.weight[query] * form.normalised_gain for term, form in zip(terms, linear, strict=True)]
        gain = np.asarray(np.sum(shares, axis=0), dtype=np.float64)
        return gain, linear[0].discounts(rank, query), linear[0].discount(rank)
    everywhere = Log2()(rank)
    cutoff = cutoff_of(measure, judgments)
    discount = everywhere if cutoff is None else np.where(rank <= cutoff, everywhere, 0.0)
    ideal = sums(query, label * discount, judgments.n_queries)
    return ratio(label, ideal[query]), discount, everywhere


def label_values(judgments: Judgments, measure: Measure, label: Floats) -> Floats:
    """Return the labels, multiplied in each query such that the maximum is its document's value at discount 1."""
    gain, _, _ = discounted_gain(judgments, measure, label)
    largest = np.zeros((2, judgments.n_queries))
    for row, values in zip(largest, (gain, label), strict=True):
        np.maximum.at(row, judgments.pool_query, values)
    return label * ratio(largest[0], largest[1])[judgments.pool_query]


@dataclass(frozen=True, eq=False)
class Levels:
    """Labels with few levels.

    Attributes
    ----------
    codes : ndarray of int, shape (n_pool,)
        The level of each judged document. Documents with the label 0 have level 0.
    gain : list of float
        The gain of each level, strictly increasing from 0: the mean label of its documents.
    loss : float
        The fraction of the value of the ranking by label that a ranking by level loses, if documents of
        a level are ranked in the least favourable order, by ascending label.
    """

    codes: Ints
    gain: list[float]
    loss: float


def quantise(judgments: Judgments, measure: Measure, label: Floats, levels: object) -> Levels:
    """Reduce labels to few levels, with the least loss of the measure.

    A level is an interval of labels. Its loss is the expected loss of Σ discount · gain if its documents are
    ranked randomly. This is a sum over levels, so the best intervals are found by dynamic programming.
    """
    if isinstance(levels, bool) or not isinstance(levels, int | np.integer) or levels < 2:
        raise MultiAspectError(f"levels: expected a whole number of at least 2, got {levels!r}")
    if (label == np.floor(label)).all() and label.max(initial=0.0) < levels:
        codes = label.astype(np.int64)
        return Levels(codes, np.arange(codes.max(initial=0) + 1, dtype=np.float64).tolist(), 0.0)
    values, place = np.unique(label, return_inverse=True)
    has_zero = values[0] == 0
    n_positive = len(values) - int(has_zero)
    interval = np.maximum(np.arange(len(values)) - int(has_zero), 0)
    if n_positive > levels - 1:
        gain, discount, everywhere = discounted_gain(judgments, measure, label)
        positive = label > 0
        cost = discount + _BELOW_CUTOFF * everywhere
        of_document = place[positive] - int(has_zero)
        mass = np.bincount(of_document, weights=cost[positive]).astype(np.float64)
        fine = _equal_shares(mass, max(_MOST_INTERVALS, levels - 1))
        level = _best_levels(
            judgments.pool_query[positive], fine[of_document], gain[positive], cost[positive], levels - 1
        )
        interval = level[fine][interval]
    code_of_value = np.where(values == 0, 0, interval + 1)
    codes = code_of_value[place]
    number = np.bincount(codes)
    gains = ratio(np.bincount(codes, weights=label).astype(np.float64), number.astype(np.float64))
    return Levels(codes, [float(each) for each in gains], _loss(judgments, measure, label, codes))


def _equal_shares(mass: Floats, most: int) -> Ints:
    """Assign consecutive values to at most `most` intervals of similar mass."""
    if len(mass) <= most:
        return np.arange(len(mass))
    # Half by number, so that values with little mass are divided as well.
    share = mass / mass.sum() + 1 / len(mass)
    return np.unique(((np.cumsum(share) - share / 2) / 2 * most).astype(np.intp), return_inverse=True)[1].ravel()


def _best_levels(query: Ints, interval: Ints, gain: Floats, discount: Floats, levels: int) -> Ints:
    """Return the level of each interval, from 0, with the least expected loss over all queries."""
    n_intervals = int(interval.max()) + 1
    if n_intervals <= levels:
        return np.arange(n_intervals)
    queries, row = np.unique(query, return_inverse=True)
    cell = row * n_intervals + interval

    def cumulated(weights: Floats | None) -> Floats:
        total = np.bincount(cell, weights=weights, minlength=len(queries) * n_intervals)
        by_query = np.cumsum(total.reshape(len(queries), n_intervals), axis=1, dtype=np.float64)
        return np.hstack([np.zeros((len(queries), 1)), by_query])

    number, gains, discounts, products = map(cumulated, (None, gain, discount, gain * discount))
    # loss[a, b]: of the intervals a, ..., b - 1 as one level.
    loss = np.full((n_intervals + 1, n_intervals + 1), np.inf)
    for first in range(n_intervals):
        n, g, d, gd = (sum_[:, first + 1 :] - sum_[:, [first]] for sum_ in (number, gains, discounts, products))
        loss[first, first + 1 :] = np.maximum(gd - g * d / np.maximum(n, 1.0), 0.0).sum(axis=0)
    least = loss[0]
    begins = []
    for _ in range(levels - 1):
        total = least[:, None] + loss
        begins.append(total.argmin(axis=0))
        least = total.min(axis=0)
    level, end = np.empty(n_intervals, dtype=np.intp), n_intervals
    for number_, begin in zip(range(levels - 1, 0, -1), reversed(begins), strict=True):
        level[begin[end] : end] = number_
        end = int(begin[end])
    level[:end] = 0
    return level


def _loss(judgments: Judgments, measure: Measure, label: Floats, codes: Ints) -> float:
    """The fraction of the value of the ranking by label that the least favourable ranking by level loses."""
    query = judgments.pool_query
    rankings = [ranked(query, label), ranked(query, codes.astype(np.float64), -label)]
    best, value = (
        float(measure.evaluate(Rankings(_run(judgments, rank), judgments, dtype=np.float64)).sum())
        for rank in rankings
    )
    return 1 - value / best if best > 0 and value != best else 0.0


def _run(judgments: Judgments, rank: Ints) -> pd.DataFrame:
    qids = judgments.qids[judgments.pool_query]
    return pd.DataFrame({"qid": qids, "docno": judgments.docnos, "score": -rank.astype(np.float64)})


def lightgbm_params(labels: pd.DataFrame) -> dict[str, Any]:
    """Return the parameters with which LightGBM's lambdarank learns labels with few levels as their gains.

    Parameters
    ----------
    labels : DataFrame
        The result of ``aggregate_labels(qrels, measure, levels=...)``.

    Returns
    -------
    dict
        ``label_gain``, the gain of each level, and ``lambdarank_truncation_level``: 3 ranks more than the
        cutoff of the measure, as LightGBM's documentation recommends, or 10000, LightGBM's maximum, for
        measures without cutoff.

    Raises
    ------
    MultiAspectError
        If `labels` is not the result of `aggregate_labels` with `levels`. Its ``attrs`` are lost when frames
        are merged.

    Notes
    -----
    Without ``label_gain``, LightGBM uses the gains 2^level - 1 and learns another measure. `AspectRanker`
    sets ``label_gain`` itself and does not require levels.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> measure = ma.CAM(base="DCG", aspects={"relevance": 2, "credibility": 1}) @ 10
    >>> ma.lightgbm_params(ma.aggregate_labels(qrels, measure, levels=31))
    {'label_gain': [0.0, 1.0], 'lambdarank_truncation_level': 13}
    """
    attrs = getattr(labels, "attrs", {})
    if "label_gain" not in attrs:
        raise MultiAspectError(
            "expected the result of aggregate_labels(qrels, measure, levels=31), whose attrs contain label_gain, "
            f"got {type(labels).__name__}; attrs are lost when frames are merged: pass the frame as returned"
        )
    cutoff = attrs["cutoff"]
    level = _LIGHTGBM_MAX_POSITION if cutoff is None else cutoff + _MORE_RANKS
    return {"label_gain": list(attrs["label_gain"]), "lambdarank_truncation_level": level}
