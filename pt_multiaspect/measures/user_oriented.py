"""User-oriented measures: the documents that a user knows, expects and examines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Bools, Floats
from .._validation import whole
from ..bases import Statements
from ..collection import Judgments, Ranking
from ..collection.columns import KNOWN
from ..errors import MultiAspectError
from ..kernels import relevance
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Flat, Linear
from ..kernels.hits import Hits, positions, ratio
from ..kernels.target import Target
from .parameters import CUTOFF, REL, Param
from .registry import register
from .single_aspect import LinearMeasure, SingleAspectMeasure


class _Korfhage(SingleAspectMeasure):
    """A measure of Korfhage's, which depends only on which documents are relevant."""

    CITATION = "Korfhage 1997"
    SOURCES = ("korfhage1997",)
    BINARY = True
    SUPPORTED_PARAMS = {"rel": REL, "cutoff": CUTOFF}


class _WithKnown(_Korfhage):
    """A measure that needs the documents known to the user."""

    @property
    def required_aspects(self) -> tuple[str, ...]:
        """Relevance and the column of known documents."""
        return (*super().required_aspects, KNOWN)

    def _known_documents(self, ranking: Ranking) -> Bools:
        """Return a mask of the judged documents that the user knows."""
        try:
            labels = ranking.labels(KNOWN)
        except MultiAspectError as error:
            raise MultiAspectError(
                f"{self.NAME} requires a qrels column {KNOWN} (1 for documents known to the user, "
                f"else 0); {error}"
            ) from None
        return np.asarray(np.nan_to_num(labels) > 0, dtype=np.bool_)

    def details(self, judgments: Judgments) -> dict[str, Floats]:
        """Return 1 for each document known to the user, else 0."""
        return {KNOWN: np.nan_to_num(judgments.labels(KNOWN))}


class _CoverageRatio(_WithKnown):
    """Coverage ratio: the fraction of the relevant documents known to the user that is retrieved.

    The qrels column ``known`` (0 or 1) marks the documents known to the user. Values are between 0
    and 1, and 0 if the user knows no relevant document.

    Parameters
    ----------
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        ``CoverageRatio @ k`` evaluates only the first k retrieved documents.

    References
    ----------
    As in Korfhage 1997: ``CoverageRatio``.

    Korfhage: Information Storage and Retrieval. Wiley, 1997.

    Examples
    --------
    >>> from pt_multiaspect import CoverageRatio
    >>> qrels = {"q1": {"d1": {"relevance": 1, "known": 1}, "d2": {"relevance": 1, "known": 1}}}
    >>> CoverageRatio.calc_aggregate(qrels, {"q1": {"d1": 1.0}})
    0.5
    >>> run = {"q1": {"d1": 1.0}}
    >>> explanation = CoverageRatio.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "known", "contribution"]].round(3)
      docno  known  contribution
    0    d1    1.0           0.5
    """

    PRETTY_NAME = "Coverage ratio"
    SHORT_DESC = "The fraction of the known relevant documents that is retrieved."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        wanted = self.relevant(target) & self._known_documents(ranking)
        return ratio(relevance.n_retrieved(ranking, wanted), target.total(wanted))


class _NoveltyRatio(_WithKnown):
    """Novelty ratio: the fraction of the relevant documents retrieved that is unknown to the user.

    The qrels column ``known`` (0 or 1) marks the documents known to the user. Values are between 0
    and 1, and 0 if no relevant document is retrieved.

    Parameters
    ----------
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        ``NoveltyRatio @ k`` evaluates only the first k retrieved documents.

    References
    ----------
    As in Korfhage 1997: ``NoveltyRatio``.

    Korfhage: Information Storage and Retrieval. Wiley, 1997.

    Examples
    --------
    >>> from pt_multiaspect import NoveltyRatio
    >>> qrels = {"q1": {"d1": {"relevance": 1, "known": 1}, "d2": {"relevance": 1, "known": 0}}}
    >>> NoveltyRatio.calc_aggregate(qrels, {"q1": {"d1": 1.0, "d2": 0.5}})
    0.5
    >>> run = {"q1": {"d1": 1.0, "d2": 0.5}}
    >>> explanation = NoveltyRatio.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "known", "contribution"]].round(3)
      docno  known  contribution
    0    d1    1.0           0.0
    1    d2    0.0           0.5
    """

    PRETTY_NAME = "Novelty ratio"
    SHORT_DESC = "The fraction of the relevant documents retrieved that is unknown to the user."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the fraction of the relevant documents retrieved that the user did not know."""
        relevant = self.relevant(target)
        is_new = ~self._known_documents(ranking)
        n_new = relevance.n_retrieved(ranking, relevant & is_new)
        n_relevant = relevance.n_retrieved(ranking, relevant)
        return ratio(n_new, n_relevant)


_EXPECTED = Param(
    whole("expected must be a whole number of documents", low=1, high=2**53),
    None,
    "the number of relevant documents the user expects",
    required=True,
)


class _RelativeRecall(_Korfhage, LinearMeasure):
    """Relative recall: relevant documents retrieved / relevant documents expected.

    Values are at least 0 and can exceed 1.

    Parameters
    ----------
    expected : int
        Number of relevant documents the user expects.
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        ``RelativeRecall(expected=n) @ k`` evaluates only the first k retrieved documents.

    References
    ----------
    As in Korfhage 1997: ``RelativeRecall(expected=5)``, for users who want five documents.

    Examples
    --------
    >>> from pt_multiaspect import RelativeRecall
    >>> RelativeRecall(expected=4).calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d1": 1.0}})
    0.25
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d1": 1.0}}
    >>> explanation = RelativeRecall(expected=4).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "contribution"]].round(3)
      docno  gain  contribution
    0    d1   1.0          0.25
    """

    PRETTY_NAME = "Relative recall"
    SHORT_DESC = "Relevant documents retrieved / relevant documents expected."
    RANGE = (0.0, np.inf)
    SUPPORTED_PARAMS = {"expected": _EXPECTED, "rel": REL, "cutoff": CUTOFF}

    def statements(self) -> Statements:
        return replace(super().statements(), has_constant_norm=True)

    def linear(self, target: Target) -> Linear:
        norm = np.full(target.n_queries, float(self["expected"]))
        return Linear(target, self.relevant(target), Flat(), norm=norm, depth=self.cutoff)


class _RecallEffort(_Korfhage):
    """Recall effort: relevant documents expected / documents examined until that many are found.

    Values are between 0 and 1 (higher is better), and 0 if the ranking has fewer relevant documents
    than expected.

    Parameters
    ----------
    expected : int
        Number of relevant documents the user expects.
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        ``RecallEffort(expected=n) @ k`` examines at most k documents.

    References
    ----------
    As in Korfhage 1997: ``RecallEffort(expected=5)``, for users who want five documents.

    Examples
    --------
    >>> from pt_multiaspect import RecallEffort
    >>> RecallEffort(expected=1).calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}}
    >>> explanation = RecallEffort(expected=1).explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "contribution"]].round(3)
      docno  contribution
    0    d2           0.0
    1    d1           0.5
    """

    PRETTY_NAME = "Recall effort"
    SHORT_DESC = "Relevant documents expected / documents examined until that many are found."
    SUPPORTED_PARAMS = {"expected": _EXPECTED, "rel": REL, "cutoff": CUTOFF}

    def statements(self) -> Statements:
        return replace(super().statements(), sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        n_expected = self["expected"]
        is_relevant = self.relevant(target)[ranking.row]
        relevant_hits = ranking.select(is_relevant)
        # Relevant documents of a query have the positions 0, 1, …: one more is found at each.
        n_found = positions(relevant_hits.query) + 1
        # The user stops at the document at which as many are found as expected. Its rank is the
        # number of documents examined. No other document counts.
        is_last_examined = n_found == n_expected
        expected_per_examined = n_expected / relevant_hits.rank
        effort = np.where(is_last_examined, expected_per_examined, 0.0)
        return relevant_hits.total(effort)  # the sum per query, of at most one document


class _Satisfaction(_Korfhage):
    """Satisfaction: the fraction of the retrieved documents that is relevant.

    Values are between 0 and 1, and 0 if nothing is retrieved.

    Parameters
    ----------
    rel : int, optional
        The lowest label that counts as relevant; the aspect's threshold by default.
    cutoff : int, optional
        ``Satisfaction @ k`` evaluates only the first k retrieved documents.

    References
    ----------
    As in Korfhage 1997: ``Satisfaction``.

    Examples
    --------
    >>> from pt_multiaspect import Satisfaction
    >>> Satisfaction.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}}
    >>> explanation = Satisfaction.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "contribution"]].round(3)
      docno  gain  contribution
    0    d2   0.0           0.0
    1    d1   1.0           0.5
    """

    PRETTY_NAME = "Satisfaction"
    SHORT_DESC = "The fraction of the retrieved documents that is relevant."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the number of relevant documents / number of documents, per query."""
        n_relevant = relevance.n_retrieved(ranking, self.relevant(target))
        n_retrieved = ranking.n_ret.astype(np.float64)
        return ratio(n_relevant, n_retrieved)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return 1 / number of retrieved documents at each relevant document, 0 elsewhere."""
        dense = ranking.dense()  # all retrieved documents, of which `ranking` has the judged ones
        is_relevant = self.relevant(target)[ranking.row]
        gain = ranking.spread(is_relevant)  # 1 or 0 for each document of `dense`
        contribution = gain / ranking.n_ret[dense.query]
        return Breakdown(dense, contribution, gain)


class _Frustration(_Satisfaction):
    """Frustration: the fraction of the retrieved documents that is not relevant.

    Frustration = 1 - Satisfaction. Values are between 0 and 1, and 1 if nothing is retrieved; lower
    is better.

    Parameters
    ----------
    rel, cutoff : as in Satisfaction
        See `Satisfaction`.

    References
    ----------
    As in Korfhage 1997: ``Frustration``.

    Examples
    --------
    >>> from pt_multiaspect import Frustration
    >>> Frustration.calc_aggregate({"q1": {"d1": 1}}, {"q1": {"d2": 2.0, "d1": 1.0}})
    0.5
    >>> qrels = {"q1": {"d1": 1}}
    >>> run = {"q1": {"d2": 2.0, "d1": 1.0}}
    >>> explanation = Frustration.explain(run, qrels, "q1")
    >>> explanation.ranks[["docno", "gain", "contribution"]].round(3)
      docno  gain  contribution
    0    d2   0.0           0.0
    1    d1   1.0          -0.5
    >>> round(explanation.offset, 3)
    1.0
    """

    PRETTY_NAME = "Frustration"
    SHORT_DESC = "The fraction of the retrieved documents that is not relevant (lower is better)."
    LOWER_IS_BETTER = True
    DEFAULT = 1.0

    def score(self, ranking: Ranking, target: Target) -> Floats:
        return 1.0 - super().score(ranking, target)

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return 1 - satisfaction: the offset 1, and the contributions to satisfaction negated."""
        satisfaction = super().breakdown(ranking, target)
        negated = 0.0 - satisfaction.contribution  # not -x, which prints 0 as -0
        offset = np.ones(ranking.n_queries)
        return replace(satisfaction, contribution=negated, offset=offset)


CoverageRatio = register(_CoverageRatio)
NoveltyRatio = register(_NoveltyRatio)
RelativeRecall = register(_RelativeRecall)
RecallEffort = register(_RecallEffort)
Satisfaction = register(_Satisfaction)
Frustration = register(_Frustration)
