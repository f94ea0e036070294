"""Judged: the fraction of retrieved documents that are judged."""

from __future__ import annotations

import ir_measures
import numpy as np

from .._typing import Floats
from ..collection.rankings import Ranking
from ..kernels.hits import Hits, ratio
from ..kernels.target import Target
from .adapters import Adapter, adapts


@adapts(ir_measures.Judged)
class Judged(Adapter):
    """Judged documents in the first k ranks / documents in these ranks (fewer than k if fewer are retrieved)."""

    @property
    def reads_gains(self) -> bool:
        """Return False, as only the existence of labels matters."""
        return False

    def gain(self, target: Target) -> Floats:
        """Return 1 for each document with a label, 0 for documents without one."""
        return target.judged.astype(np.float64)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        return ratio(ranking.total(self.gain(target)[ranking.row]), ranking.n_ret.astype(np.float64))

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return 1 / number of retrieved documents at each judged document."""
        return ratio(self.gain(target)[ranking.row], ranking.n_ret[ranking.query].astype(np.float64))

    @property
    def equals_original(self) -> bool:
        """Return whether there is no cutoff; with one, ir-measures breaks ties by docno, ascending."""
        return self.cutoff is None
