"""Cascade measures as bases: RR, ERR."""

from __future__ import annotations

import ir_measures
import numpy as np

from .._typing import Floats
from ..collection.rankings import Ranking
from ..kernels import ranked
from ..kernels.hits import Hits, positions
from ..kernels.progress import ERRProgress, Progression, RRProgress
from ..kernels.target import Target
from .adapters import Adapter, adapts

__all__ = ["ExpectedReciprocalRank", "ReciprocalRank"]


@adapts(ir_measures.RR)
class ReciprocalRank(Adapter):
    """Reciprocal rank: 1 / rank of the first relevant document."""

    BINARY = True
    SORTING_IS_OPTIMAL = True

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return ranked.reciprocal_rank(ranking, self.relevant(target))

    def progression(self, target: Target) -> Progression:
        return Progression(self.gain(target), lambda gain, totals, _: RRProgress(gain, self.cutoff, totals))

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        hit = np.flatnonzero(self.relevant(target)[ranking.row])
        first = hit[positions(ranking.query[hit]) == 0]
        contributions = np.zeros(len(ranking.row))
        contributions[first] = 1.0 / ranking.rank[first]
        return contributions


@adapts(ir_measures.ERR)
class ExpectedReciprocalRank(Adapter):
    """Expected reciprocal rank; the user stops at a document with probability (2^gain - 1) / 2^top."""

    NEEDS_TOP = True
    EXPONENTIATES = True
    SORTING_IS_OPTIMAL = True
    READS_UNJUDGED = True

    def _stop(self, target: Target) -> Floats:
        """The probability of stopping at each judged document; the last element is for unjudged documents."""
        return target.cached(
            "stop", lambda: ranked.stop_probability(np.append(target.gain, target.unjudged), target.top)
        )

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return ranked.err(ranking.dense() if target.unjudged else ranking, self._stop(target))

    def progression(self, target: Target) -> Progression:
        return Progression(self._stop(target)[:-1], lambda stop, totals, _: ERRProgress(stop, self.cutoff, totals))

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        return ranked.err_contributions(ranking.dense() if target.unjudged else ranking, self._stop(target))
