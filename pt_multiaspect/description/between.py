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
        n_x, n_y = int(x.max(initial=0)) + 1, int(y.max(initial=0)) + 1
        keys = (group.astype(np.int64) * n_x + x) * n_y + y
        cell, weight = np.unique(keys, return_counts=True)
        return cls(cell // (n_x * n_y), cell // n_y % n_x, cell % n_y, weight, n_groups)

    def transpose(self) -> Cells:
        """Return the same cells with x and y exchanged."""
        order = np.lexsort((self.x, self.y, self.group))
        return Cells(
            self.group[order], self.y[order], self.x[order], self.weight[order], self.n_groups
        )


def kendall(cells: Cells) -> Floats:
    """Return Kendall's τ-b of x and y within each group, NaN where one of them is constant."""
    n_groups, weight = cells.n_groups, cells.weight
    total = _pairs(sums(cells.group, weight, n_groups))
    ties_x = _tied_pairs(cells.group, cells.x, weight, n_groups)
    ties_y = _tied_pairs(cells.group, cells.y, weight, n_groups)
    ties_both = sums(cells.group, _pairs(weight), n_groups)
    discordant = _inversions(cells.group, cells.y, weight, n_groups)
    difference = total - ties_x - ties_y + ties_both - 2 * discordant
    scale = np.sqrt(total - ties_x) * np.sqrt(total - ties_y)
    result: Floats = np.divide(difference, scale, out=np.full(n_groups, np.nan), where=scale > 0)
    return result


def _pairs(counts: Ints | Floats) -> Floats:
    return np.asarray(counts * (counts - 1) / 2, dtype=np.float64)


def _tied_pairs(group: Ints, code: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return the number of pairs of elements with the same code, per group."""
    n_codes = int(code.max(initial=0)) + 1
    level, element = np.unique(group.astype(np.int64) * n_codes + code, return_inverse=True)
    return sums(level // n_codes, _pairs(sums(element.reshape(-1), weight, len(level))), n_groups)


def _inversions(group: Ints, values: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return the weight of the pairs whose earlier element has the larger value, per group.

    Bits are compared from the highest to the lowest. Elements with equal higher bits form a block,
    in which each 0 is paired with the ones before it.
    """
    result = np.zeros(n_groups)
    block = group.astype(np.int64)
    for bit in range(int(values.max(initial=0)).bit_length() - 1, -1, -1):
        order = np.argsort(block, kind="stable")
        block, values, weight, group = block[order], values[order], weight[order], group[order]
        bits = (values >> bit) & 1
        before = running_sum(weight * bits, block) - weight * bits
        result += sums(group, np.where(bits == 0, weight * before, 0), n_groups)
        block = block * 2 + bits
    return result


def pair_tables(judged: Judged) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return tables of pairs of aspects, and of their highest labels compared on other aspects."""
    rows, tops = [], []
    for first, second in combinations(judged.views, 2):
        both = first.known & second.known
        cells = Cells.count(
            first.pool_query[both], first.grade[both], second.grade[both], first.n_queries
        )
        taus = kendall(cells)
        defined = taus[~np.isnan(taus)]
        n_both = int(both.sum())
        row = {
            "first": first.name,
            "second": second.name,
            "both": n_both,
            "only_first": int(first.known.sum()) - n_both,
            "only_second": int(second.known.sum()) - n_both,
            "tau": float(defined.mean()) if len(defined) else np.nan,
            "tau_error": float(standard_error(defined)),
            "topics": len(defined),
            "same": same_labels(first, second, cells),
        }
        rows.append(row)
        tops += [top_label(first, second, cells), top_label(second, first, cells.transpose())]
    top_rows = [row for row in tops if row]
    return pd.DataFrame(rows, columns=PAIR_COLUMNS), pd.DataFrame(top_rows, columns=TOP_COLUMNS)


def same_labels(first: AspectView, second: AspectView, cells: Cells) -> str:
    """Return whether one aspect's labels are a copy of the other's: 'equal', 'recoded', or ''."""
    both = first.known & second.known
    if not both.any():
        return ""
    if np.array_equal(first.label[both], second.label[both]):
        return "equal"
    pairs = pd.DataFrame({"x": cells.x, "y": cells.y}).drop_duplicates()
    return "recoded" if pairs["x"].is_unique and pairs["y"].is_unique else ""


def contingency(first: AspectView, second: AspectView) -> pd.DataFrame:
    """Count the documents of each pair of labels; a missing label is NaN."""
    rows, row = np.unique(first.label, return_inverse=True)  # NaN is last
    columns, column = np.unique(second.label, return_inverse=True)
    counts = np.bincount(row * len(columns) + column, minlength=len(rows) * len(columns))
    return pd.DataFrame(
        counts.reshape(len(rows), len(columns)),
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
    per_grade = gaps_to_best([view.scale for view in views], axes)
    shut = np.zeros(len(views[0].grade), dtype=np.bool_)
    if gate is not None:
        shut = next(view.grade for view in views if view.name == gate) == 0
    gaps = [
        weight * np.array(gap_of, dtype=np.float64)[np.where(shut, 0, view.grade)]
        for view, gap_of, weight in zip(
            views, per_grade, weights or [1.0] * len(views), strict=True
        )
    ]
    gap = np.stack(gaps)
    largest = gap.max(axis=0)
    counted = np.any([view.known for view in views], axis=0) & (largest > 0)
    relative = gap[:, counted] / largest[counted]
    if np.isinf(exponent):
        power = (relative == 1.0).astype(np.float64)
    else:
        power = relative**exponent
    shares = power / power.sum(axis=0)
    n_documents = int(counted.sum())
    return (shares.mean(axis=1) if n_documents else np.full(len(views), np.nan)), n_documents


def association(
    cells: Cells, x: Floats, y: Floats, kept: Bools | None = None
) -> tuple[float, float]:
    """Return Σ(x - x̄)(y - ȳ) of the cells within groups, and its error under permutation."""
    if kept is None:
        weight = cells.weight
    else:
        weight = np.where(kept, cells.weight, 0)
    size = sums(cells.group, weight, cells.n_groups)

    def center(values: Floats) -> Floats:
        mean = sums(cells.group, weight * values, cells.n_groups) / np.maximum(size, 1)
        return np.asarray(values - mean[cells.group], dtype=np.float64)

    dx, dy = center(x), center(y)
    spread_x, spread_y = (sums(cells.group, weight * d * d, cells.n_groups) for d in (dx, dy))
    return float((weight * dx) @ dy), float(
        np.sqrt((spread_x * spread_y / np.maximum(size - 1, 1)).sum())
    )


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
    top, next_ = int(used[-1]), int(used[-2])
    is_top, values, level = cells.x == top, view.scale.gains[cells.x], cells.y.astype(np.float64)
    marked = is_top.astype(np.float64)
    trend, _ = association(cells, values, level, ~is_top)
    spread, _ = association(cells, values, values, ~is_top)
    effect, error = association(cells, marked, level)
    reach, _ = association(cells, marked, values)
    step, step_error = association(cells, marked, level, is_top | (cells.x == next_))
    return {
        "aspect": view.name,
        "other": other.name,
        "top": view.scale.grades[top],
        "next": view.scale.grades[next_],
        "z": effect / error if error > 0 else 0.0,
        "expected": trend / spread * reach / error if error > 0 and spread > 0 else 0.0,
        "z_next": step / step_error if step_error > 0 else 0.0,
    }
