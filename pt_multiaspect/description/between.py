"""Pairs of aspects: overlap of judgments, rank correlation, and contributions to a distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from .._typing import Bools, Floats, Ints
from ..collection import AspectView
from ..kernels.hits import sums
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
    """Elements in groups, each with two codes x and y, counted by (group, x, y).

    A cell is one such triple that occurs; cells are sorted. All arrays have the shape (n_cells,).
    """

    group: Ints
    x: Ints
    y: Ints
    #: The number of elements of each cell.
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
        shape = (max(n_groups, 1), n_x, n_y)
        # The position of each element in a table of this shape, which is not built.
        position = np.ravel_multi_index((group, x, y), shape)
        position_of_cell, weight = np.unique(position, return_counts=True)
        group_of_cell, x_of_cell, y_of_cell = np.unravel_index(position_of_cell, shape)
        return cls(
            group=group_of_cell,
            x=x_of_cell,
            y=y_of_cell,
            weight=weight,
            n_groups=n_groups,
        )

    def transpose(self) -> Cells:
        """Return the same cells with x and y exchanged, sorted again."""
        # By group, then by y, then by x: `lexsort` takes the most important key last.
        order = np.lexsort((self.x, self.y, self.group))
        return Cells(
            group=self.group[order],
            x=self.y[order],
            y=self.x[order],
            weight=self.weight[order],
            n_groups=self.n_groups,
        )


def kendall(cells: Cells) -> Floats:
    """Return Kendall's τ-b of x and y within each group, NaN where one of them is constant.

    τ-b is (concordant - discordant) / √((pairs - ties of x) (pairs - ties of y)).
    """
    group = cells.group
    weight = cells.weight  # the number of elements with the same group, x and y
    n_groups = cells.n_groups
    # Numbers of pairs of elements per group, all of shape (n_groups,).
    group_size = sums(group, weight, n_groups)
    pairs = _n_pairs(group_size)
    ties_x = _tied_pairs(group, cells.x, weight, n_groups)
    ties_y = _tied_pairs(group, cells.y, weight, n_groups)
    ties_both = sums(group, _n_pairs(weight), n_groups)  # pairs within the same cell
    ties = ties_x + ties_y - ties_both  # on x, y or both
    # Elements are sorted by x, and those with the same x by y. So a pair is discordant if the
    # later one has the smaller y: such a pair is tied on neither.
    discordant = _inversions(group, cells.y, weight, n_groups)
    concordant = pairs - ties - discordant
    scale = np.sqrt(pairs - ties_x) * np.sqrt(pairs - ties_y)
    tau: Floats = np.full(n_groups, np.nan)
    np.divide(concordant - discordant, scale, out=tau, where=scale > 0)
    return tau


def _n_pairs(n_elements: Ints | Floats) -> Floats:
    """Return how many pairs so many elements have, element by element."""
    n_pairs = n_elements * (n_elements - 1) / 2
    return np.asarray(n_pairs, dtype=np.float64)


def _tied_pairs(group: Ints, code: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return the number of pairs of elements with the same code, per group.

    Elements are given in cells: `group` and `code` are those of the elements of each cell, and
    `weight` is their number. For example, 2 and 1 elements of the same code have 3 pairs.
    """
    cells = pd.DataFrame({"group": group, "code": code, "n_elements": weight})
    ties = cells.groupby(["group", "code"], as_index=False)["n_elements"].sum()
    pairs_of_tie = _n_pairs(ties["n_elements"].to_numpy())
    return sums(ties["group"].to_numpy(), pairs_of_tie, n_groups)


def _inversions(group: Ints, values: Ints, weight: Ints, n_groups: int) -> Floats:
    """Return, per group, the number of pairs whose earlier element has the larger value.

    Written in binary, two values have the same leading bits, then the larger one has a 1 and the
    smaller one a 0. So pairs are counted by this bit, among elements with the same leading bits:
    those in which a 1 comes before a 0. For example, 10, 01, 00 have two such pairs by the first
    bit, and one by the second bit, among the elements that begin with 0.

    Parameters
    ----------
    group, values, weight : ndarray of int, shape (n_cells,)
        The group, the value and the number of elements of each cell.
    n_groups : int
        The number of groups.
    """
    inversions = np.zeros(n_groups)
    n_bits = int(values.max(initial=0)).bit_length()
    block = group.astype(np.int64)  # a number for the group and the leading bits
    for bit in reversed(range(n_bits)):
        bit_value = (values >> bit) & 1  # 0 or 1
        pairs_of_cell = _ones_before_zeros(block, bit_value, weight)
        inversions += sums(group, pairs_of_cell, n_groups)
        block = 2 * block + bit_value  # the bit is now one of the leading bits
    return inversions


def _ones_before_zeros(block: Ints, bit_value: Ints, weight: Ints) -> Ints:
    """Return the number of pairs of a 1 and a later 0 in the same block, by the cell of the 0.

    For example, the bits 1, 1, 0, 1, 0 of one block have 0, 0, 2, 0, 3 such pairs if each cell has
    one element.

    Parameters
    ----------
    block, bit_value, weight : ndarray of int, shape (n_cells,)
        The block, the bit and the number of elements of each cell.
    """
    n_ones = pd.Series(weight * bit_value)
    n_ones_before = n_ones.groupby(block).cumsum().to_numpy()
    return np.where(bit_value == 0, weight * n_ones_before, 0)


def pair_tables(judged: Judged) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables: pairs of aspects, and their highest labels compared on other aspects."""
    pair_rows = []
    top_rows = []
    for first, second in combinations(judged.views, 2):
        is_on_both = first.known & second.known
        query = first.pool_query[is_on_both]
        first_grade = first.grade[is_on_both]
        second_grade = second.grade[is_on_both]
        cells = Cells.count(query, first_grade, second_grade, first.n_queries)
        pair_rows.append(_pair_row(first, second, cells))
        transposed_cells = cells.transpose()
        top_rows.append(top_label(first, second, cells))
        top_rows.append(top_label(second, first, transposed_cells))
    comparable_tops = [row for row in top_rows if row is not None]
    pairs = pd.DataFrame(pair_rows, columns=PAIR_COLUMNS)
    tops = pd.DataFrame(comparable_tops, columns=TOP_COLUMNS)
    return pairs, tops


def _pair_row(first: AspectView, second: AspectView, cells: Cells) -> dict[str, object]:
    """Return the row of two aspects in the table of pairs: their overlap and rank correlation."""
    n_first = int(first.known.sum())
    n_second = int(second.known.sum())
    n_both = int((first.known & second.known).sum())
    tau_of_topic = kendall(cells)
    defined = tau_of_topic[~np.isnan(tau_of_topic)]
    mean_tau = np.nan
    if len(defined):
        mean_tau = float(defined.mean())
    return {
        "first": first.name,
        "second": second.name,
        "both": n_both,
        "only_first": n_first - n_both,
        "only_second": n_second - n_both,
        "tau": mean_tau,
        "tau_error": float(standard_error(defined)),
        "topics": len(defined),
        "same": same_labels(first, second, cells),
    }


def same_labels(first: AspectView, second: AspectView, cells: Cells) -> str:
    """Return whether one aspect's labels are a copy of the other's: 'equal', 'recoded', or ''.

    `cells` count the grades of the documents that are judged on both, x of the first aspect.
    """
    is_on_both = first.known & second.known
    if not is_on_both.any():
        return ""
    if np.array_equal(first.label[is_on_both], second.label[is_on_both]):
        return "equal"
    # Recoded labels have pairs of grades that are one-to-one.
    pairs = pd.DataFrame({"x": cells.x, "y": cells.y})
    pairs = pairs.drop_duplicates()
    if pairs["x"].is_unique and pairs["y"].is_unique:
        return "recoded"
    return ""


def contingency(first: AspectView, second: AspectView) -> pd.DataFrame:
    """Count the documents of each pair of labels; a missing label is NaN.

    There is one row per label of the first aspect, and one column per label of the second.
    """
    # Missing labels, NaN, are the last of the distinct ones.
    first_labels, row_of_document = np.unique(first.label, return_inverse=True)
    second_labels, column_of_document = np.unique(second.label, return_inverse=True)
    n_rows = len(first_labels)
    n_columns = len(second_labels)
    # The cells of the table are numbered row by row.
    cell_of_document = row_of_document * n_columns + column_of_document
    counts = np.bincount(cell_of_document, minlength=n_rows * n_columns)
    return pd.DataFrame(
        counts.reshape(n_rows, n_columns),
        index=pd.Index(first_labels, name=first.name),
        columns=pd.Index(second_labels, name=second.name),
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
    largest_gap = gap.max(axis=0)  # shape (n_documents,)
    is_known = [view.known for view in views]
    is_judged = np.any(is_known, axis=0)  # on any aspect
    is_counted = is_judged & (largest_gap > 0)
    n_documents = int(is_counted.sum())
    if n_documents == 0:
        undefined = np.full(len(views), np.nan)
        return undefined, 0
    # Relative to the largest gap, so that no power overflows.
    relative_gap = gap[:, is_counted] / largest_gap[is_counted]
    if np.isinf(exponent):
        is_largest = relative_gap == 1.0
        power = is_largest.astype(np.float64)
    else:
        power = relative_gap**exponent
    share_of_document = power / power.sum(axis=0)  # shape (n_views, n_documents)
    return share_of_document.mean(axis=1), n_documents


def _gaps_to_best_tuple(
    views: Sequence[AspectView], axes: str, weights: Sequence[float] | None, gate: str | None
) -> Floats:
    """Return the weighted gap of each document to the highest grade, shape (n_views, n_documents).

    The parameters are those of `gap_shares`.
    """
    scales = [view.scale for view in views]
    gaps_of_aspects = gaps_to_best(scales, axes)  # one list per view, with the gap of each grade
    if not weights:
        weights = [1.0] * len(views)
    # Documents with the lowest grade on the gate count as having it on all aspects.
    is_shut = np.zeros(len(views[0].grade), dtype=np.bool_)
    for view in views:
        is_gate = view.name == gate
        if is_gate:
            is_shut = view.grade == 0
    rows = []
    for view, gaps, weight in zip(views, gaps_of_aspects, weights, strict=True):
        gap_of_grade = np.array(gaps, dtype=np.float64)
        grade = np.where(is_shut, 0, view.grade)  # shape (n_documents,)
        gap = gap_of_grade[grade]
        rows.append(weight * gap)
    return np.stack(rows)


def association(
    cells: Cells, x: Floats, y: Floats, kept: Bools | None = None
) -> tuple[float, float]:
    """Return the covariation of x and y within groups, and its standard error under permutation.

    The covariation is Σ(x - x̄)(y - ȳ) over all elements, where x̄ and ȳ are the means of their
    group. The error is that of permutations of y within groups.

    Parameters
    ----------
    cells : Cells
        The elements; only their groups and numbers are used.
    x, y : ndarray of float, shape (n_cells,)
        Two values of each cell.
    kept : ndarray of bool, shape (n_cells,), optional
        The cells to use; by default all.
    """
    group = cells.group
    n_groups = cells.n_groups
    weight = cells.weight
    if kept is not None:
        weight = np.where(kept, weight, 0)
    group_size = sums(group, weight, n_groups)  # shape (n_groups,)

    dx = _deviations(x, group, weight, group_size)
    dy = _deviations(y, group, weight, group_size)
    covariation = (weight * dx) @ dy
    # The sum of squared deviations of each group, shape (n_groups,).
    squares_x = weight * dx * dx
    squares_y = weight * dy * dy
    spread_x = sums(group, squares_x, n_groups)
    spread_y = sums(group, squares_y, n_groups)
    # The variance of the covariation of each group over all permutations of y is
    # Σ(x - x̄)² Σ(y - ȳ)² / (n - 1), as in Pitman's permutation test of a correlation.
    degrees_of_freedom = np.maximum(group_size - 1, 1)
    variance = spread_x * spread_y / degrees_of_freedom
    standard_error_of_sum = np.sqrt(variance.sum())
    return float(covariation), float(standard_error_of_sum)


def _deviations(values: Floats, group: Ints, weight: Ints, group_size: Ints | Floats) -> Floats:
    """Return the deviation of each cell's value from the mean of its group, shape (n_cells,).

    Parameters
    ----------
    values : ndarray of float, shape (n_cells,)
        The values.
    group, weight : ndarray of int, shape (n_cells,)
        The group and the number of elements of each cell.
    group_size : ndarray, shape (n_groups,)
        The number of elements of each group: the sum of their weights.
    """
    weighted_values = weight * values
    total = sums(group, weighted_values, len(group_size))
    mean = total / np.maximum(group_size, 1)  # groups may be empty
    deviation = values - mean[group]
    return np.asarray(deviation, dtype=np.float64)


def top_label(view: AspectView, other: AspectView, cells: Cells) -> dict[str, object] | None:
    """Compare the documents with the highest label of an aspect with the others, on another aspect.

    Parameters
    ----------
    view, other : AspectView
        The aspect of the label, and the aspect on which documents are compared.
    cells : Cells
        The numbers of documents, by topic and their grades x on `view` and y on `other`.

    Returns
    -------
    dict or None
        ``top`` and ``next``, the two highest labels; ``z``, the difference on the other aspect
        between the documents with the top label and all others, in standard errors; ``expected``,
        this difference if they continued the trend of the lower labels; ``z_next``, the difference
        from the documents with the next label. None for aspects with fewer than three labels, or
        very many.
    """
    used_grades = np.unique(cells.x)
    n_labels = len(used_grades)
    if n_labels < 3 or n_labels > _MOST_LABELS:
        return None
    top = int(used_grades[-1])
    next_to_top = int(used_grades[-2])
    is_top = cells.x == top
    is_next = cells.x == next_to_top
    top_indicator = is_top.astype(np.float64)
    other_grade = cells.y.astype(np.float64)

    # The difference between documents with the top label and all others, that which the lower
    # labels let expect, and the difference from the documents with the next label only.
    difference, error = association(cells, top_indicator, other_grade)
    expected_difference = _expected_difference(view, cells, is_top)
    has_top_or_next = is_top | is_next
    difference_to_next, error_to_next = association(
        cells, top_indicator, other_grade, kept=has_top_or_next
    )
    return {
        "aspect": view.name,
        "other": other.name,
        "top": view.scale.grades[top],
        "next": view.scale.grades[next_to_top],
        "z": _number_of_errors(difference, error),
        "expected": _number_of_errors(expected_difference, error),
        "z_next": _number_of_errors(difference_to_next, error_to_next),
    }


def _expected_difference(view: AspectView, cells: Cells, is_top: Bools) -> float:
    """Return how the top label would be associated with y if it continued the lower labels' trend.

    The trend is a regression of y on the gains of an aspect, over the elements below its top label.
    Return 0 if there is none. `is_top` is the mask of cells with the top label.
    """
    gains = view.scale.gains[cells.x]
    other_grade = cells.y.astype(np.float64)
    slope = _regression_slope(cells, gains, other_grade, kept=~is_top)
    if slope is None:
        return 0.0
    # On the trend, y is slope * gains. An association is a sum that is linear in y, so the slope
    # can be multiplied afterwards.
    top_indicator = is_top.astype(np.float64)  # 1 for the top label, else 0
    association_with_gains, _ = association(cells, top_indicator, gains)
    return slope * association_with_gains


def _regression_slope(cells: Cells, x: Floats, y: Floats, kept: Bools) -> float | None:
    """Return the slope of a regression of y on x within groups, None if x is constant.

    It is Σ(x - x̄)(y - ȳ) / Σ(x - x̄)², over the cells of the mask `kept`.
    """
    covariation, _ = association(cells, x, y, kept)
    variation, _ = association(cells, x, x, kept)
    if variation > 0:
        return covariation / variation
    return None


def _number_of_errors(difference: float, error: float) -> float:
    """Return a difference divided by its standard error; 0 if the error is 0."""
    if error > 0:
        return difference / error
    return 0.0
