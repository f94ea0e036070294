"""The base class of measures that are not functions of single-aspect measures."""

from __future__ import annotations

from .._typing import Floats
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from .measure import Measure


class DirectMeasure(Measure):
    """A measure that is not a function of single-aspect measures. Subclasses define `score`."""

    def _evaluate(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        return self.score(rankings, views)

    def score(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Floats:
        """Evaluate one run.

        Parameters
        ----------
        rankings : Rankings
            The run, joined with the judgments; ``rankings.top(self.cutoff)`` returns its first ranks.
        views : tuple of AspectView
            The aspects that the measure evaluates.

        Returns
        -------
        ndarray of float, shape (n_queries,)
            A finite value for every judged query, in the order of ``rankings.judgments.qids``.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define score")
