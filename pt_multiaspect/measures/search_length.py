"""Expected search length."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .._validation import whole
from ..collection.rankings import Ranking
from ..kernels.search_length import expected_search_length
from ..kernels.target import Target
from .parameters import REL, Param
from .single_aspect import SingleAspectMeasure

__all__ = ["ESL"]


class _ESL(SingleAspectMeasure):
    """Expected search length: the non-relevant documents a user sees before `wanted` relevant ones.

    Documents with tied scores form a level, and the user looks at a level in any order: with j
    non-relevant documents in the levels before, and i of them beside r relevant ones in the level
    in which the s-th of these suffices, j + i·s / (r + 1) are expected. Judged documents that were
    not retrieved form one last level. Lower is better, so mind `pt.GridSearch`, which maximises;
    `ranking_scorer` turns the sign.

    Parameters
    ----------
    wanted : int, default 1
        How many relevant documents the user wants, at most as many as there are; without any, all
        non-relevant documents are seen.
    rel : int, optional
        The least label that counts as relevant.

    References
    ----------
    Cooper: Expected Search Length. American Documentation 19(1), 1968.

    Examples
    --------
    >>> from pt_multiaspect import ESL
    >>> ESL.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 1.0, "d1": 1.0, "d3": 1.0}})
    1.0
    """

    __name__ = "ESL"
    NAME = __name__
    PRETTY_NAME = "Expected search length"
    SHORT_DESC = (
        "Non-relevant documents seen before the wanted relevant ones, expected over ties (lower is better)."
    )
    CITATION = "Cooper 1968"
    RANGE = (0.0, np.inf)
    BINARY = True
    LOWER_IS_BETTER = True
    SUPPORTED_PARAMS = {
        "wanted": Param(
            whole("wanted is a whole number of documents", low=1, high=2**53),
            1,
            "how many relevant documents the user wants",
        ),
        "rel": REL,
    }

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return expected_search_length(
            ranking.ties, ranking, self.relevant(target), target, self.n_relevant(target), self["wanted"]
        )


ESL = _ESL()
