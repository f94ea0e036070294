"""Pairs of aspects: overlap of judgments, rank correlation, and contributions to a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..collection import AspectView
from ..kernels.hits import running_sum, sums
from ..kernels.mean_errors import standard_error
from ..orders.tuple_order import gaps_to_best
from .scales import Judged

#: Maximum number of labels of an aspect whose highest label is compared with others.
_MOST_LABELS = 200

PAIR_COLUMNS = [
    "first",
    "second",
    "both",
    "only_first",
    "only_second",
    "tau",
    "tau_error",
    "topics",
    "same",
]
TOP_COLUMNS = ["aspect", "other", "top", "next", "z", "expected", "z_next"]


@dataclass(frozen=True, eq=False)
class Cells:
    """Elements with two codes in groups: the distinct (group, x, y), sorted, with their numbers."""

    group: Ints
    x: Ints
    y: Ints
    weight: Ints
    n_groups: int

    @classmethod
    def count(cls, group: Ints, x: Ints, y: Ints, n_groups: int) -> Cells:
        """Count elements.

        Parameters
        ----------
        group, x, y : ndarray of int, shape (n,)
            The group, from 0 to ``n_groups - 1``, and two non-negative codes of each element.
        n_groups : int
            The number of groups.
        """
        n_x = int(x.max(initial=0)) + 1
        n_y = int(y.max(initial=0)) + 1
        keys = (group.astype(np.int64) * n_x + x) * n_y + y
        cell, weight = np.unique(keys, return_counts=True)
        return cls(
            group=cell // (n_x * n_y),
            x=cell // n_y % n_x,
            y=cell % n_y,
            weight=weight,
            n_groups=n_groups,
        )

    def transpose(self) -> Cells:
        """Return the same cells with x and y exchanged."""
        order = np.lexsort((self.x, self.y, self.group))
        return Cells(
            group=self.group[order],
            x=self.y[order],
            y=self.x[order],
            weight=self.weight[order],
            n_groups=self.n_groups,
        )


def kendall(cells: Cells) -> Floats:
    """Return Kendall's τ-b of x and y within each group, NaN where one of them is constant."""
    group, weight, n_groups = cells.group, cells.weight, cells.n_groups
    # All of shape (n_groups,).
    total = _pairs(sums(group, weight, n_groups))
    ties_x = _tied_pairs(group, cells.x, weight, n_groups)
    ties_y = _tied_pairs(group, cells.y, weight, n_groups)
    ties_both = sums(group, _pairs(weight), n_groups)
    discordant = _inversions(group, cells.y, weight, n_groups)
    concordant_less_discordant = total - ties_x - ties_y + ties_both - 2 * discordant
    scale = np.sqrt(total - ties_x) * np.sqrt(total - ties_y)
    tau: Floats = np.full(n_groups, np.nan)
    np.divide(concordant_less_discordant, scale, out=tau, where=scale > 0)
    return tau


def _pairs(counts: Ints | Floats) -> Floats:
    """Return the numbers of pairs of so many elements."""
    return np.asarray(counts * (counts - 1) / 2, dtype=np.float64)


def _tied_pairs(group: Ints, code: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return the number of pairs of elements with the same code, per group."""
    n_codes = int(code.max(initial=0)) + 1
    keys = group.astype(np.int64) * n_codes + code
    tie, tie_of_cell = np.unique(keys, return_inverse=True)
    tie_size = sums(tie_of_cell.reshape(-1), weight, len(tie))
    return sums(tie // n_codes, _pairs(tie_size), n_groups)


def _inversions(group: Ints, values: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return the weight of the pairs whose earlier element has the larger value, per group.

    Bits are compared from the highest to the lowest. Elements with equal higher bits form a block,
    in which each 0 is paired with the ones before it.
    """
    result = np.zeros(n_groups)
    block = group.astype(np.int64)
    n_bits = int(values.max(initial=0)).bit_length()
    for bit in reversed(range(n_bits)):
        order = np.argsort(block, kind="stable")
        block = block[order]
        values = values[order]
        weight = weight[order]
        group = group[order]
        is_one = (values >> bit) & 1
        weight_of_ones = weight * is_one
        ones_before = running_sum(weight_of_ones, block) - weight_of_ones
        inverted = np.where(is_one == 0, weight * ones_before, 0)
        result += sums(group, inverted, n_groups)
        block = block * 2 + is_one
    return result


def pair_tables(judged: Judged) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tables of pairs of aspects, and of their highest labels compared on other aspects."""
    pair_rows = []
    top_rows = []
    for first, second in combinations(judged.views, 2):
        both = first.known & second.known
        cells = Cells.count(
            first.pool_query[both], first.grade[both], second.grade[both], first.n_queries
        )
        pair_rows.append(_pair_row(first, second, cells))
        top_rows.append(top_label(first, second, cells))
        top_rows.append(top_label(second, first, cells.transpose()))
    comparable_tops = [row for row in top_rows if row is not None]
    return (
        pd.DataFrame(pair_rows, columns=PAIR_COLUMNS),
        pd.DataFrame(comparable_tops, columns=TOP_COLUMNS),
    )


def _pair_row(first: AspectView, second: AspectView, cells: Cells) -> dict[str, object]:
    """Return the overlap and the rank correlation of two aspects."""
    n_both = int((first.known & second.known).sum())
    taus = kendall(cells)
    defined = taus[~np.isnan(taus)]
    if len(defined):
        mean_tau = float(defined.mean())
    else:
        mean_tau = np.nan
    return {
        "first": first.name,
        "second": second.name,
        "both": n_both,
        "only_first": int(first.known.sum()) - n_both,
        "only_second": int(second.known.sum()) - n_both,
        "tau": mean_tau,
        "tau_error": float(standard_error(defined)),
        "topics": len(defined),
        "same": same_labels(first, second, cells),
    }


def same_labels(first: AspectView, second: AspectView, cells: Cells) -> str:
    """Return whether one aspect's labels are a copy of the other's: 'equal', 'recoded', or ''."""
    both = first.known & second.known
    if not both.any():
        return ""
    if np.array_equal(first.label[both], second.label[both]):
        return "equal"
    pairs = pd.DataFrame({"x": cells.x, "y": cells.y})
    pairs = pairs.drop_duplicates()
    if pairs["x"].is_unique and pairs["y"].is_unique:
        return "recoded"
    return ""


def contingency(first: AspectView, second: AspectView) -> pd.DataFrame:
    """Count the documents of each pair of labels; a missing label is NaN."""
    rows, row = np.unique(first.label, return_inverse=True)  # NaN is last
    columns, column = np.unique(second.label, return_inverse=True)
    shape = (len(rows), len(columns))
    cell = row * len(columns) + column
    counts = np.bincount(cell, minlength=len(rows) * len(columns))
    return pd.DataFrame(
        counts.reshape(shape),
        index=pd.Index(rows, name=first.name),
        columns=pd.Index(columns, name=second.name),
    )


def gap_shares(
    views: Sequence[AspectView],
    *,
    axes: str,
    exponent: float = 2.0,
    weights: Sequence[float] | None = None,
    gate: str | None = None,
) -> tuple[Floats, int]:
    """Return the fraction of TOMA's distance to the best tuple that each aspect contributes.

    Parameters
    ----------
    views : sequence of AspectView
        The aspects.
    axes : {'equal', 'gains'}
        Whether the gains of each aspect are used as they are or rescaled to 0..1 ('equal').
    exponent : float, default 2
        The exponent of the Minkowski distance, infinite for the Chebyshev distance.
    weights : sequence of float, optional
        The factor of the axis of each aspect.
    gate : str, optional
        Documents with the lowest grade on this aspect count as the lowest tuple.

    Returns
    -------
    shares : ndarray of float, shape (n_views,)
        The mean over documents of gap_a^p / Σ gap^p; NaN if no document is counted.
    n_documents : int
        The number of documents: those judged on any aspect that are not at distance 0.
    """
    gap = _gaps_to_best_tuple(views, axes, weights, gate)  # shape (n_views, n_documents)
    largest = gap.max(axis=0)
    is_judged = np.any([view.known for view in views], axis=0)
    is_counted = is_judged & (largest > 0)
    n_documents = int(is_counted.sum())
    if not n_documents:
        return np.full(len(views), np.nan), 0
    # Relative to the largest gap, so that no power overflows.
    relative = gap[:, is_counted] / largest[is_counted]
    if np.isinf(exponent):
        power = (relative == 1.0).astype(np.float64)
    else:
        power = relative**exponent
    shares = power / power.sum(axis=0)
    return shares.mean(axis=1), n_documents


def _gaps_to_best_tuple(
    views: Sequence[AspectView], axes: str, weights: Sequence[float] | None, gate: str | None
) -> Floats:
    """Return the gap of each document to the highest grade, shape (n_views, n_documents)."""
    gaps_of_grades = gaps_to_best([view.scale for view in views], axes)
    weights = weights or [1.0] * len(views)
    is_shut = np.zeros(len(views[0].grade), dtype=np.bool_)
    for view in views:
        if view.name == gate:
            is_shut = view.grade == 0
    gaps = []
    for view, gap_of_grade, weight in zip(views, gaps_of_grades, weights, strict=True):
        grade = np.where(is_shut, 0, view.grade)
        gaps.append(weight * np.array(gap_of_grade, dtype=np.float64)[grade])
    return np.stack(gaps)


def association(
    cells: Cells, x: Floats, y: Floats, kept: Bools | None = None
) -> tuple[float, float]:
    """Return Σ(x - x̄)(y - ȳ) of the cells within groups, and its error under permutation."""
    group, weight, n_groups = cells.group, cells.weight, cells.n_groups
    if kept is not None:
        weight = np.where(kept, weight, 0)
    size = sums(group, weight, n_groups)  # shape (n_groups,), as the spreads

    def center(values: Floats) -> Floats:
        mean = sums(group, weight * values, n_groups) / np.maximum(size, 1)
        return np.asarray(values - mean[group], dtype=np.float64)

    dx = center(x)
    dy = center(y)
    spread_x = sums(group, weight * dx * dx, n_groups)
    spread_y = sums(group, weight * dy * dy, n_groups)
    covariation = (weight * dx) @ dy
    variance = spread_x * spread_y / np.maximum(size - 1, 1)
    return float(covariation), float(np.sqrt(variance.sum()))


def top_label(view: AspectView, other: AspectView, cells: Cells) -> dict[str, object] | None:
    """Compare the documents with the highest label of an aspect with the others, on another aspect.

    Returns
    -------
    dict or None
        ``top`` and ``next``, the two highest labels; ``z``, the difference on the other aspect
        between the documents with the top label and all others, in standard errors; ``expected``,
        this difference if they continued the trend of the lower labels; ``z_next``, the difference
        from the documents with the next label. None for aspects with fewer than three labels, or
        very many.
    """
    used = np.unique(cells.x)
    if not 3 <= len(used) <= _MOST_LABELS:
        return None
    top = int(used[-1])
    next_ = int(used[-2])
    is_top = cells.x == top
    is_next = cells.x == next_
    top_indicator = is_top.astype(np.float64)
    gains = view.scale.gains[cells.x]
    other_grade = cells.y.astype(np.float64)
    # The slope of the other aspect over the gains, below the top label.
    trend, _ = association(cells, gains, other_grade, ~is_top)
    spread, _ = association(cells, gains, gains, ~is_top)
    # The top label against all others, and against the next one.
    effect, error = association(cells, top_indicator, other_grade)
    reach, _ = association(cells, top_indicator, gains)
    step, step_error = association(cells, top_indicator, other_grade, is_top | is_next)
    z = z_expected = z_next = 0.0
    if error > 0:
        z = effect / error
    if error > 0 and spread > 0:
        z_expected = trend / spread * reach / error
    if step_error > 0:
        z_next = step / step_error
    return {
        "aspect": view.name,
        "other": other.name,
        "top": view.scale.grades[top],
        "next": view.scale.grades[next_],
        "z": z,
        "expected": z_expected,
        "z_next": z_next,
    }
