"""What measures state for explanations of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.views import AspectView
from ..io.swapped import asks_whether_swapped
from ..kernels.breakdown import Breakdown

if TYPE_CHECKING:
    from .explanation import Explanation
    from .measure import Measure

__all__ = ["Explainable"]


class Explainable:
    """A measure whose value of a topic can be explained."""

    @asks_whether_swapped("run")
    def explain(self, run: object, qrels: object, qid: object, *, depth: int = 100) -> Explanation:
        """Explain the value of one topic, rank by rank.

        Parameters
        ----------
        run : DataFrame, dict, iterable of namedtuples or path
            One run, as in `pt_multiaspect.evaluate`; ``{name: run}`` names it.
        qrels : DataFrame, dict, iterable or Judgments
            Wide qrels, with one numeric column per aspect. Scales that are not declared are inferred from all
            topics, as in evaluation.
        qid : str
            The topic.
        depth : int, default 100
            Number of ranks with a row of their own if contributions are marginal; see `Explanation`.

        Returns
        -------
        Explanation
            The contribution of each retrieved document. The contributions and the offset sum to the value.

        Raises
        ------
        MultiAspectError
            If the topic is not in the qrels, the input is invalid, or the contributions that the measure or its
            base states do not sum to its value.

        Examples
        --------
        >>> from pt_multiaspect import TOMA
        >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
        >>> measure = TOMA(aspects={"relevance": 2, "credibility": 1}) @ 10
        >>> explanation = measure.explain({"q1": {"d1": 2.0, "new": 1.5, "d2": 1.0}}, qrels, "q1")
        >>> explanation.ranks[["rank", "docno", "class", "gain", "contribution", "note"]].round(3)
           rank docno  class  gain  contribution      note
        0     1    d1    2.0   2.0         0.469
        1     2   new    NaN   0.0         0.000  unjudged
        2     3    d2    3.0   3.0         0.352
        """
        from .explanation import explain

        return explain(cast("Measure", self), run, qrels, qid, depth=depth)

    def details(self, judgments: Judgments) -> Mapping[str, Any]:
        """Return what the measure computes from the labels of each judged document, for explanations.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        mapping of str to ndarray, shape (n_pool,)
            Empty by default. Gains need not be included.
        """
        return {}

    def distinctions(self, judgments: Judgments) -> list[Any]:
        """Return what the measure reads of each judged document.

        Rankings have the same value if they differ only in documents for which all of it is equal. The default is
        right for measures that read the labels of their aspects and `details`.

        Parameters
        ----------
        judgments : Judgments
            The judged documents.

        Returns
        -------
        list of ndarray, shape (n_pool,)
            Numbers or texts.
        """
        views = cast("Measure", self).views(judgments)
        return [*(view.label for view in views), *self.details(judgments).values()]

    def _breakdown(self, rankings: Rankings, views: tuple[AspectView, ...]) -> Breakdown | None:
        """Return the values as sums over ranks, for measures without terms; None if unknown."""
        return None
