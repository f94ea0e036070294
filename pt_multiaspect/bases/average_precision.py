"""Average precision as a base."""

from __future__ import annotations

import ir_measures
import numpy as np

from .._typing import Floats
from ..collection.rankings import Ranking
from ..kernels import relevance
from ..kernels.hits import Hits, positions, ratio
from ..kernels.progress import APProgress, Progression
from ..kernels.target import Target
from .adapters import Adapter, adapts


@adapts(ir_measures.AP)
class AveragePrecision(Adapter):
    """Average precision: the sum of the precision at each relevant document / number of relevant documents."""

    EQUALS_ORIGINAL = True
    BINARY = True
    SORTING_IS_OPTIMAL = True

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        return relevance.average_precision(ranking, self.relevant(target), self.n_relevant(target))

    def progression(self, target: Target) -> Progression:
        """Return the measure computed rank by rank."""
        return Progression(self.gain(target), lambda gain, totals, _: APProgress(gain, self.cutoff, totals))

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return precision / number of relevant documents at each relevant document, 0 elsewhere."""
        hit = self.relevant(target)[ranking.row]
        n_hits = np.zeros(len(hit))
        n_hits[hit] = positions(ranking.query[hit]) + 1
        return ratio(n_hits / ranking.rank, self.n_relevant(target)[ranking.query])
