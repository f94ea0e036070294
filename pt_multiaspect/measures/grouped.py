"""Measures of groups of documents: their parameter, and their target distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..aspects.parameter import AspectSpec
from ..collection.judgments import Judgments
from ..collection.views import AspectView
from ..errors import MultiAspectError, choices, shown, warn_once
from ..groups.groups import Groups
from ..kernels.hits import sums
from .direct import DirectMeasure
from .parameters import Param


def _parse_groups(groups: object) -> Groups:
    if isinstance(groups, Groups):
        return groups
    registered = Groups.registry.get(groups.strip()) if isinstance(groups, str) else None
    if registered is None:
        known = choices(Groups.registry) or "none"
        raise MultiAspectError(
            f"groups: expected Groups or the name of declared groups ({known}), got {shown(groups)}; declare them "
            "as in Groups({'gender': {docno: group}}, name='authors')"
        )
    return registered


GROUPS = Param(
    _parse_groups,
    None,
    "the groups: Groups or their name",
    spell=lambda groups: groups and groups.name,
    required=True,
)


def warn_if_none(groups: Groups, n_retrieved: int, n_members: int) -> None:
    """Warn if no document of a run belongs to a group, for example because docnos are spelled differently."""
    if n_retrieved and not n_members:
        warn_once(
            f"no retrieved document belongs to a group of {groups.name}, so every query has the value of "
            "unknown groups. Check the docnos of the groups and of the run"
        )


def _relevant_target(groups: Groups, judgments: Judgments, view: AspectView, dimension: int | None) -> Floats:
    """Return the mean membership of the relevant documents of each query, as a distribution.

    The distribution is over the combinations of groups, or over the groups of one dimension. Documents without
    memberships in it are left out.
    """
    relevant = np.flatnonzero(view.target.relevant(None))
    query, docnos = judgments.pool_query[relevant], judgments.docnos[relevant]
    if dimension is None:
        (row, cell, share), n_cells, what = groups.cells(docnos), groups.n_cells, "a group"
    else:
        dimension_groups = groups.dimensions[dimension]
        (row, cell, share), n_cells = (
            dimension_groups.expand(docnos, np.arange(len(docnos))),
            len(dimension_groups.groups),
        )
        what = f"a group of {dimension_groups.name}"
    rows = sums(query[row] * n_cells + cell, share, judgments.n_queries * n_cells).reshape(-1, n_cells)
    total = rows.sum(axis=1, keepdims=True)
    without = judgments.qids[np.flatnonzero(total[:, 0] == 0)].tolist()
    if without:
        raise MultiAspectError(
            f"no relevant document of {choices(without[:10])} belongs to {what}, so there is no target "
            "distribution; declare one, Groups(..., target=...), or leave the queries out"
        )
    return np.asarray(rows / total, dtype=np.float64)


class GroupMeasure(DirectMeasure):
    """A measure of groups of documents."""

    @property
    def spec(self) -> AspectSpec:
        """The declared aspects, or relevance."""
        declared: AspectSpec = self.params.get("aspects")
        return declared or ("relevance",)

    def depends_on(self, view: AspectView) -> bool:
        """Return True, as every aspect that the measure reads affects the values."""
        return True

    @property
    def _groups(self) -> Groups:
        self.validate_params()
        groups: Groups = self["groups"]
        return groups

    def distinctions(self, judgments: Judgments) -> list[Any]:
        """Return the labels and the shares of the groups of each judged document.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        list of ndarray, shape (n_pool,)
            One array per label column that the measure reads, and one per group.
        """
        shares = []
        for dimension in self._groups.dimensions:
            row, group, share = dimension.expand(judgments.docnos, np.arange(len(judgments)))
            n_groups = len(dimension.groups)
            shares += list(sums(row * n_groups + group, share, len(judgments) * n_groups).reshape(-1, n_groups).T)
        return [*super().distinctions(judgments), *shares]

    def _target(self, judgments: Judgments, dimension: int | None = None) -> Floats:
        """Return the target distribution of each query over the cells, or over the groups of one dimension.

        A declared target is summed over the other dimensions. Otherwise, the target of each dimension is that of
        the relevant documents with a membership in it, which may lack memberships in other dimensions.
        """
        return judgments.cached(
            ("target", self._groups, self.spec, dimension), lambda: self._make_target(judgments, dimension)
        )

    def _make_target(self, judgments: Judgments, dimension: int | None) -> Floats:
        groups = self._groups
        if not groups.has_target:
            return _relevant_target(groups, judgments, judgments.view("relevance", self.spec), dimension)
        target = groups.target(judgments.original_qids.tolist())
        if dimension is None:
            return target
        other_axes = tuple(axis + 1 for axis in range(len(groups.dimensions)) if axis != dimension)
        by_group = target.reshape(-1, *(len(part.groups) for part in groups.dimensions)).sum(axis=other_axes)
        return np.asarray(by_group, dtype=np.float64)
