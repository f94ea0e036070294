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
        """Return whether the gain is 2^label - 1."""
        return bool(self["dcg"] == "exp-log2")

    @property
    def _maps_labels(self) -> bool:
        """Return whether the parameter ``gains`` maps labels to gains."""
        return "gains" in self.params

    def statements(self) -> Statements:
        """State what follows from ``dcg`` and ``gains``, and that gains may be negative."""
        return replace(
            super().statements(),
            exponentiates_gains=self._exponentiates,
            reads_labels=self._maps_labels,
            accepts_negative_gains=True,
        )

    @property
    def equals_original(self) -> bool:
        """Return whether the gain is the label.

        With 2^label - 1, ir-measures calls gdeval, which rounds values to five digits.
        """
        return not self._exponentiates

    def gain(self, target: Target) -> Floats:
        """Return the gain of each judged document, before it is exponentiated."""
        if self._maps_labels:
            return target.source.mapped_gains(self.params["gains"])
        return target.gain

    def linear(self, target: Target) -> Linear:
        """Return the linear form, whose norm is the DCG of the ideal ranking."""
        evaluated = target
        if self._maps_labels:
            gain = self.gain(target)
            evaluated = evaluated.with_gain(gain)
        if self._exponentiates:  # the labels, or the gains that replace them
            evaluated = evaluated.exponentiate()
        discount = Log2()
        ideal = Ideal(discount, self.cutoff)
        return Linear(evaluated, evaluated.gain, discount, depth=self.cutoff, ideal=ideal)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return the values as sums over ranks, with gains, discounts and the ideal DCG.

        The gains 2^g - 1 may be too large for a float. So `linear`, by which values are computed,
        divides them and the ideal DCG by the same power of 2. Here both are restored, for users to
        see.
        """
        breakdown = super().breakdown(ranking, target)
        if self._exponentiates:  # the gain is 2^g - 1
            return self._restore_gains(breakdown, target)
        return breakdown

    def _restore_gains(self, breakdown: Breakdown, target: Target) -> Breakdown:
        """Return the breakdown with the gains 2^g - 1, and the ideal DCG of these as its norm.

        In `breakdown`, both are divided by 2^h for the highest g of the query, h. They stay divided
        if 2^h is too large for a float, or nearly. The contributions, gain times discount / norm,
        are the same.
        """
        if breakdown.norm is None:
            return breakdown
        exponent = self.gain(target)  # g of each judged document
        highest = target.with_gain(exponent).highest  # h of each query
        # The largest float is about 2^1024. Half of this exponent leaves room for sums of gains.
        safe_exponent = np.finfo(np.float64).maxexp / 2
        if highest.max(initial=0.0) >= safe_exponent:
            return breakdown
        gain = np.exp2(exponent) - 1.0
        # Unjudged documents have the row after the last judged one, and no gain.
        gain_of_row = np.append(gain, 0.0)
        gain_of_hits = gain_of_row[breakdown.hits.row]
        norm = breakdown.norm * np.exp2(highest)
        return replace(breakdown, gain=gain_of_hits, norm=norm)

    def exponential(self) -> Base | None:
        """Return nDCG with the gain 2^g - 1, or raise an error if it has this gain already."""
        if self._exponentiates:
            return super().exponential()  # which raises the error
        measure = self.measure(dcg="exp-log2")
        return type(self)(measure)


@adapts(ir_measures.RBP)
class RankBiasedPrecision(LinearBase, Adapter):
    """RBP: (1 - p) Σ p^(k-1) over the ranks k of relevant documents (Moffat and Zobel 2008)."""

    SHORT_DESC = (
        "The rate of relevant documents seen by a user who continues to the next rank with "
        "probability p."
    )
    BINARY = True

    def statements(self) -> Statements:
        """State that a better label does not lower the value."""
        return replace(super().statements(), never_falls_with_labels=True)

    @property
    def equals_original(self) -> bool:
        """Return whether no value differs from that of ir-measures.

        ir-measures computes RBP only with ``rel`` and without a cutoff, and then breaks ties in
        another way. In the other cases it raises an error, so there is no value that could differ.
        """
        has_other_values = "rel" in self.params and self.cutoff is None
        return not has_other_values

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
