"""Bases that are discounted sums of gains: nDCG, and rank-biased precision, binary and graded."""

from __future__ import annotations

from dataclasses import replace

import ir_measures
import numpy as np

from .._typing import Floats
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Geometric, Ideal, Linear, Log2
from ..kernels.hits import Hits
from ..kernels.target import Target
from .adapters import Adapter, adapts
from .base import Base, LinearBase
from .statements import Statements


@adapts(ir_measures.nDCG)
class NDCG(LinearBase, Adapter):
    """nDCG: DCG / DCG of the ideal ranking of all judged documents.

    ``gains`` replaces the gains of the labels it lists. Other labels keep the gains that the aspect
    declares or, without declared gains, have their label as gain, as in ir-measures.
    """

    SHORT_DESC = (
        "The gains of the documents, discounted by rank, divided by those of the best ranking."
    )

    @property
    def _exponentiates(self) -> bool:
        """Whether the gain is 2^label - 1."""
        return bool(self["dcg"] == "exp-log2")

    @property
    def _reads_labels(self) -> bool:
        """Whether ``gains`` maps labels to gains."""
        return "gains" in self.params

    def statements(self) -> Statements:
        """State what follows from the parameters ``dcg`` and ``gains``, and that gains may be negative."""
        return replace(
            super().statements(),
            exponentiates_gains=self._exponentiates,
            reads_labels=self._reads_labels,
            accepts_negative_gains=True,
        )

    @property
    def equals_original(self) -> bool:
        """Whether the gain is the label; with 2^label - 1, gdeval rounds values to five digits."""
        return not self._exponentiates

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, before it is exponentiated."""
        if self._reads_labels:
            return target.source.mapped_gains(self.params["gains"])
        return target.gain

    def linear(self, target: Target) -> Linear:
        """Return the linear form, whose norm is the DCG of the ideal ranking."""
        if self._reads_labels:
            target = target.with_gain(self.gain(target))
        if self._exponentiates:
            target = target.exponentiate()
        ideal = Ideal(Log2(), self.cutoff)
        return Linear(target, target.gain, Log2(), depth=self.cutoff, ideal=ideal)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return the values as sums over ranks, with gains and discounts."""
        result = super().breakdown(ranking, target)
        if not self._exponentiates:
            return result
        # Gains 2^g - 1 are divided by 2^(highest g of the query), so that none is too large for a
        # float. Explanations show them undivided where they are not.
        exponent = self.gain(target)
        highest = target.with_gain(exponent).highest  # shape (n_queries,)
        is_too_large = highest.max(initial=0.0) >= np.finfo(np.float64).maxexp / 2
        if is_too_large or result.norm is None:
            return result
        gain = np.append(np.exp2(exponent) - 1.0, 0.0)  # the last for unjudged documents
        norm = result.norm * np.exp2(highest)
        return replace(result, gain=gain[result.hits.row], norm=norm)

    def exponential(self) -> Base | None:
        """Return nDCG with the gain 2^g - 1."""
        if not self._exponentiates:
            return type(self)(self.measure(dcg="exp-log2"))
        return super().exponential()


@adapts(ir_measures.RBP)
class RankBiasedPrecision(LinearBase, Adapter):
    """RBP: (1 - p) Σ p^(k-1) over the ranks k of relevant documents (Moffat and Zobel 2008)."""

    SHORT_DESC = "The rate of relevant documents seen by a user who continues to the next rank with probability p."
    BINARY = True

    def statements(self) -> Statements:
        """State that a better label does not lower the value."""
        return replace(super().statements(), never_falls_with_labels=True)

    @property
    def equals_original(self) -> bool:
        """Whether there is a cutoff, or no explicit ``rel``."""
        # ir-measures cannot compute RBP without rel or with a cutoff; otherwise, ties are broken
        # differently.
        return "rel" not in self.params or self.cutoff is not None

    def linear(self, target: Target) -> Linear:
        """Return the linear form with a geometric discount."""
        return Linear(target, self.relevant(target), Geometric(self["p"]), depth=self.cutoff)


class GradedRBP(RankBiasedPrecision):
    """RBP with graded gains in [0, 1]."""

    BINARY = False

    def statements(self) -> Statements:
        """State that unjudged documents have a gain."""
        return replace(super().statements(), reads_unjudged=True)

    def linear(self, target: Target) -> Linear:
        """Return the linear form with a geometric discount, also of unjudged documents."""
        gain = np.asarray(target.gain, dtype=np.float64)
        discount = Geometric(self["p"])
        return Linear(target, gain, discount, depth=self.cutoff, unjudged=target.unjudged)
