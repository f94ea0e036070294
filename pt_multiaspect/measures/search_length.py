"""Expected search length: ESL."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .._validation import count
from ..collection import Ranking
from ..kernels.relevance import expected_search_length
from ..kernels.target import Target
from .parameters import REL, Param
from .registry import register
from .single_aspect import SingleAspectMeasure


class _ESL(SingleAspectMeasure):
    """Expected search length: non-relevant documents seen before `wanted` relevant ones.

    Documents with tied scores form a level, whose documents are seen in random order. The expected
    search length is j + i·s / (r + 1), where j is the number of non-relevant documents in the
    levels above, and the last level that has to be searched has i non-relevant and r relevant
    documents, of which s are still wanted. Judged documents that were not retrieved form one last
    level. Values are at least 0 and have no upper limit; lower is better. Note that `pt.GridSearch`
    maximises; `ranking_scorer` negates the values.

    Parameters
    ----------
    wanted : int, default 1
        Number of relevant documents wanted. If a query has fewer, all of them are wanted; if it has
        none, all non-relevant documents are seen.
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.

    References
    ----------
    As in Cooper 1968: ``ESL(wanted=1)``, the default, for users who want one document.

    Cooper: Expected Search Length. American Documentation 19(1), 1968.

    Examples
    --------
    >>> from pt_multiaspect import ESL
    >>> ESL.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 1.0, "d1": 1.0, "d3": 1.0}})
    1.0
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d2": 1.0, "d1": 1.0, "d3": 1.0}}
    >>> explanation = ESL.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "contribution"]].round(3)
      docno  contribution
    0    d3           1.0
    1    d2           1.0
    2    d1          -1.0
    """

    PRETTY_NAME = "Expected search length"
    SHORT_DESC = (
        "Expected number of non-relevant documents seen before the wanted relevant ones "
        "(lower is better)."
    )
    CITATION = "Cooper 1968"
    SOURCES = ("cooper1968",)
    RANGE = (0.0, np.inf)
    BINARY = True
    LOWER_IS_BETTER = True
    SUPPORTED_PARAMS = {
        "wanted": Param(
            count("wanted", low=1, high=2**53), 1, "the number of relevant documents wanted"
        ),
        "rel": REL,
    }

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the expected number of documents above the wanted one, over orders of ties."""
        relevant = self.relevant(target)
        n_relevant = self.n_relevant(target)
        return expected_search_length(
            ranking.ties, ranking, relevant, target, n_relevant, self["wanted"]
        )


ESL = register(_ESL)
