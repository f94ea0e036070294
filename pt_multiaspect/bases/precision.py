"""Bases that count documents.

P, R, Rprec, Success, AP, Judged, SetP, SetR, SetF, SetAP, NumRel and NumQ.
"""

from __future__ import annotations

from dataclasses import replace

import ir_measures
import numpy as np

from .._typing import Floats
from ..collection import Ranking
from ..kernels import relevance
from ..kernels.forms import Flat, Ideal, Linear
from ..kernels.hits import Hits, positions, ratio
from ..kernels.progress import APProgress, Counts, Progress, Progression, SuccessProgress
from ..kernels.target import Target
from .adapters import Adapter, adapts
from .base import LinearBase
from .statements import Statements


class Counting(Adapter):
    """A measure of the ranks of the relevant documents, and of numbers of documents."""

    EQUALS_ORIGINAL = True
    BINARY = True


@adapts(ir_measures.P)
class Precision(LinearBase, Counting):
    """Precision: relevant documents in the first k ranks / k."""

    SHORT_DESC = "The fraction of the first k ranks that hold a relevant document."

    def statements(self) -> Statements:
        """State that a better label does not lower the value, which is divided by the cutoff."""
        return replace(super().statements(), never_falls_with_labels=True, has_constant_norm=True)

    def linear(self, target: Target) -> Linear:
        """Return the linear form, whose norm is the cutoff."""
        relevant = self.relevant(target)
        cutoff = float(self["cutoff"])
        norm = np.full(target.n_queries, cutoff)
        return Linear(target, relevant, Flat(), norm=norm, depth=self.cutoff)


@adapts(ir_measures.R)
class Recall(LinearBase, Counting):
    """Recall: relevant documents in the first k ranks / all relevant documents."""

    SHORT_DESC = "The fraction of the relevant documents that is in the first k ranks."

    def linear(self, target: Target) -> Linear:
        """Return the linear form, whose norm is the number of relevant documents."""
        relevant = self.relevant(target)
        n_relevant = self.n_relevant(target)
        discount = Flat()  # 1 at each rank
        # The norm is also the sum over an ideal ranking without cutoff, which holds all of them.
        ideal = Ideal(discount)
        return Linear(target, relevant, discount, norm=n_relevant, depth=self.cutoff, ideal=ideal)


@adapts(ir_measures.SetR)
class SetRecall(Recall):
    """Set recall: relevant documents retrieved / all relevant documents."""

    SHORT_DESC = "The fraction of the relevant documents that is retrieved."


@adapts(ir_measures.Rprec)
class RPrecision(LinearBase, Counting):
    """R-precision: relevant documents in the first R ranks / R, the number of all of them."""

    SHORT_DESC = (
        "The fraction of the first R ranks that hold a relevant document, for R relevant documents."
    )

    def statements(self) -> Statements:
        """State that a relevant document further up does not lower the value."""
        return replace(super().statements(), prefers_early=True)

    def linear(self, target: Target) -> Linear:
        """Return the linear form, whose norm and depth are the number of relevant documents."""
        relevant = self.relevant(target)
        n_relevant = self.n_relevant(target)
        return Linear(target, relevant, Flat(), norm=n_relevant, depth=n_relevant)


@adapts(ir_measures.Success)
class Success(Counting):
    """Success: 1 if there is a relevant document in the first k ranks, else 0."""

    SHORT_DESC = "1 if there is a relevant document in the first k ranks, else 0."

    def statements(self) -> Statements:
        """State that neither a better label nor a better document further up lowers the value."""
        return replace(super().statements(), never_falls_with_labels=True, sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        n_relevant = relevance.n_retrieved(ranking, self.relevant(target))
        return (n_relevant > 0).astype(np.float64)

    def progression(self, target: Target) -> Progression:
        """Return the measure computed rank by rank."""

        def begin(gain: Floats, totals: Counts, query: int) -> Progress:
            """Begin a query with documents of these gains; `totals` is the number of each."""
            return SuccessProgress(gain, self.cutoff, totals)

        return Progression(self.gain(target), begin)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return 1 at the first relevant document, 0 elsewhere."""
        return relevance.is_first(ranking, self.relevant(target)).astype(np.float64)


@adapts(ir_measures.SetP)
class SetPrecision(Counting):
    """Set precision: relevant documents retrieved / documents retrieved.

    With ``relative``, the denominator is at most the number of relevant documents.
    """

    SHORT_DESC = "The fraction of the retrieved documents that is relevant."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        n_relevant = relevance.n_retrieved(ranking, self.relevant(target))
        denominator = self._denominator(ranking, target)
        return ratio(n_relevant, denominator)

    def _denominator(self, ranking: Hits, target: Target) -> Floats:
        """Return the denominator per query."""
        n_ret = ranking.n_ret.astype(np.float64)
        if self["relative"]:
            return np.minimum(n_ret, self.n_relevant(target))
        return n_ret

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return 1 / denominator at each relevant document, 0 elsewhere."""
        is_relevant = self.relevant(target)[ranking.row]
        denominator = self._denominator(ranking, target)[ranking.query]
        return ratio(is_relevant.astype(np.float64), denominator)


class _OfSets(Counting):
    """A function of set precision and set recall."""

    def statements(self) -> Statements:
        """State that a relevant document further up does not lower the value."""
        return replace(super().statements(), prefers_early=True)

    def _precision_and_recall(self, ranking: Ranking, target: Target) -> tuple[Floats, Floats]:
        """Return set precision and set recall, each of shape (n_queries,)."""
        n_hits = relevance.n_retrieved(ranking, self.relevant(target))
        n_retrieved = ranking.n_ret.astype(np.float64)
        precision = ratio(n_hits, n_retrieved)
        recall = ratio(n_hits, self.n_relevant(target))
        return precision, recall


@adapts(ir_measures.SetF)
class SetF(_OfSets):
    """Weighted harmonic mean of set precision P and set recall R: (1 + β)PR / (R + βP)."""

    SHORT_DESC = "The weighted harmonic mean of set precision and set recall."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        precision, recall = self._precision_and_recall(ranking, target)
        # In trec_eval, β is the square of the usual one.
        beta = self["beta"]
        numerator = (1.0 + beta) * precision * recall
        denominator = recall + beta * precision
        return ratio(numerator, denominator)


@adapts(ir_measures.SetAP)
class SetAP(_OfSets):
    """Set precision times set recall."""

    SHORT_DESC = "Set precision times set recall."

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        precision, recall = self._precision_and_recall(ranking, target)
        return precision * recall


@adapts(ir_measures.AP)
class AveragePrecision(Counting):
    """Average precision: the sum of the precision at each relevant document / number of these."""

    SHORT_DESC = (
        "The mean of the precision at the rank of each relevant document, 0 for those not "
        "retrieved."
    )

    def statements(self) -> Statements:
        """State that a relevant document further up does not lower the value."""
        return replace(super().statements(), prefers_early=True, sorting_is_optimal=True)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        relevant = self.relevant(target)
        n_relevant = self.n_relevant(target)
        return relevance.average_precision(ranking, relevant, n_relevant)

    def progression(self, target: Target) -> Progression:
        """Return the measure computed rank by rank."""

        def begin(gain: Floats, totals: Counts, query: int) -> Progress:
            """Begin a query with documents of these gains; `totals` is the number of each."""
            return APProgress(gain, self.cutoff, totals)

        return Progression(self.gain(target), begin)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return precision / number of relevant documents at relevant documents, 0 elsewhere."""
        is_hit = self.relevant(target)[ranking.row]
        # At a relevant document, the number of relevant ones down to it, itself included; else 0.
        n_hits = np.zeros(len(is_hit))
        query_of_hits = ranking.query[is_hit]
        n_hits[is_hit] = positions(query_of_hits) + 1
        precision = n_hits / ranking.rank
        n_relevant = self.n_relevant(target)[ranking.query]
        return ratio(precision, n_relevant)


@adapts(ir_measures.Judged)
class Judged(Adapter):
    """Judged documents in the first k ranks / documents in these ranks, which may be fewer."""

    SHORT_DESC = "The fraction of the documents in the first k ranks that has labels."

    @property
    def reads_gains(self) -> bool:
        """False, as only the existence of labels matters."""
        return False

    def gain(self, target: Target) -> Floats:
        """Return 1 for each document with a label, 0 for documents without one."""
        return target.judged.astype(np.float64)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        # Of the documents in the qrels, some can lack a label.
        has_label = target.judged[ranking.row].astype(np.float64)  # 1 or 0
        n_labelled = ranking.total(has_label)
        n_retrieved = ranking.n_ret.astype(np.float64)
        return ratio(n_labelled, n_retrieved)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return 1 / number of retrieved documents at documents with a label, 0 elsewhere."""
        has_label = target.judged[ranking.row].astype(np.float64)  # 1 or 0
        n_retrieved = ranking.n_ret[ranking.query].astype(np.float64)
        return ratio(has_label, n_retrieved)

    @property
    def equals_original(self) -> bool:
        """Return whether there is no cutoff.

        With one, ir-measures breaks ties by docno, ascending.
        """
        return self.cutoff is None


@adapts(ir_measures.NumRel)
class NumRelevant(Counting):
    """The number of relevant documents, which does not depend on the ranking."""

    SHORT_DESC = "The number of relevant documents, retrieved or not."
    RANGE = (0.0, np.inf)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return the number of relevant documents of each query, also of those not in the run."""
        return self.n_relevant(target)


@adapts(ir_measures.NumQ)
class NumQueries(Adapter):
    """1 for each judged query, which does not depend on the ranking."""

    EQUALS_ORIGINAL = True
    SHORT_DESC = "1 for each topic with judged documents, so that the sum is the number of topics."

    @property
    def reads_gains(self) -> bool:
        """False, as only the existence of labels matters."""
        return False

    def gain(self, target: Target) -> Floats:
        """Return 1 for each document with a label, 0 for documents without one."""
        return target.judged.astype(np.float64)

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return 1 for each query with a judged document, also for those not in the run."""
        has_judged = target.total(target.judged) > 0
        return has_judged.astype(np.float64)
