"""Cascade measures as bases: RR, ERR, and the terms of RBU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import ir_measures
import numpy as np

from .._typing import Floats, Ints
from ..collection import Ranking
from ..kernels import relevance
from ..kernels.breakdown import Breakdown
from ..kernels.forms import Geometric, Reciprocal
from ..kernels.hits import Hits
from ..kernels.progress import CascadeProgress, Counts, Progress, Progression, RRProgress
from ..kernels.target import Target
from .adapters import Adapter, adapts
from .base import Base
from .statements import Statements


@adapts(ir_measures.RR)
class ReciprocalRank(Adapter):
    """Reciprocal rank: 1 / rank of the first relevant document."""

    SHORT_DESC = "1 divided by the rank of the first relevant document, 0 if there is none."
    BINARY = True

    def statements(self) -> Statements:
        """State that neither a better label nor a better document further up lowers the value."""
        return replace(super().statements(), never_falls_with_labels=True, sorting_is_optimal=True)

    @property
    def equals_original(self) -> bool:
        """Return whether there is no cutoff; with one, ir-measures breaks ties as MS MARCO does."""
        return self.cutoff is None

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings."""
        return ranking.total(self.contributions(ranking, target))

    def progression(self, target: Target) -> Progression:
        """Return the measure computed rank by rank."""

        def begin(gain: Floats, totals: Counts, query: int) -> Progress:
            """Begin a query with documents of these gains; `totals` is the number of each.

            All queries are computed alike, whichever `query` is.
            """
            return RRProgress(gain, self.cutoff, totals)

        return Progression(self.gain(target), begin)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return 1 / rank at the first relevant document, 0 elsewhere."""
        return relevance.is_first(ranking, self.relevant(target)) / ranking.rank


def _stop(target: Target) -> Floats:
    """Return the probability of stopping at each judged document, and last at an unjudged one."""

    def compute_stop() -> Floats:
        gain = np.append(target.gain, target.unjudged)
        return relevance.stop_probability(gain, target.top)

    return target.compute_once("stop", compute_stop)


class _Cascade(Base):
    """Σ_k discount(k) · probability of stopping at rank k, for a non-increasing discount."""

    discount: Callable[[Ints], Floats]

    def statements(self) -> Statements:
        """State that labels, sorting and the maximum gain of the scale matter as for ERR."""
        return replace(
            super().statements(),
            never_falls_with_labels=True,
            sorting_is_optimal=True,
            needs_top=True,
        )

    def stop(self, target: Target) -> Floats:
        """Return the probability of stopping at each judged document that the user reaches."""
        stop_of_all = _stop(target)  # last at an unjudged document
        return stop_of_all[:-1]

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Evaluate rankings.

        Users stop at judged documents and, if `target.unjudged`, the gain of unjudged documents, is
        not 0, also at these. `ranking` has the judged ones of the retrieved documents.
        """
        hits: Hits = ranking
        users_stop_at_unjudged = target.unjudged != 0
        if users_stop_at_unjudged:
            hits = ranking.dense()  # all retrieved documents
        return hits.total(self.contributions(hits, target))

    def progression(self, target: Target) -> Progression:
        """Return the measure computed rank by rank."""

        def begin(stop: Floats, totals: Counts, query: int) -> Progress:
            """Begin a query, where users stop at documents with these probabilities.

            Documents of equal probability are of one type; `totals` is their number per type. All
            queries are computed alike, whichever `query` is.
            """
            return CascadeProgress(stop, self.cutoff, totals, self.discount)

        return Progression(self.stop(target), begin)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return the discounted probability of stopping at each document."""
        chance = relevance.stopping_chance(ranking, self.stop(target))
        return chance * self.discount(ranking.rank)


@adapts(ir_measures.ERR)
class ExpectedReciprocalRank(_Cascade, Adapter):
    """Expected reciprocal rank: the probability of stopping is (2^gain - 1) / 2^top."""

    SHORT_DESC = (
        "The mean of 1 divided by the rank where a user stops, which good documents make likely."
    )
    discount = Reciprocal()
    # EQUALS_ORIGINAL stays False: gdeval's highest grade is 4, and its values are rounded to five
    # digits.

    def statements(self) -> Statements:
        """State that gains are exponentiated, also those of unjudged documents."""
        return replace(super().statements(), exponentiates_gains=True, reads_unjudged=True)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return the probability of stopping at each rank, divided by the rank."""
        if target.unjudged:  # users also stop at documents without judgments
            ranking = ranking.dense()
        return relevance.err_contributions(ranking, _stop(target))

    def breakdown(self, ranking: Hits, target: Target) -> Breakdown:
        """Return the values as sums over all retrieved documents, with the column "stop".

        It has the probability that a user who reaches a document stops there.
        """
        dense = ranking.dense()  # with unjudged documents, whose row is after the last judged one
        gain_of_row = np.append(target.gain, target.unjudged)
        stop_of_row = _stop(target)  # its last element is that of unjudged documents, too
        contributions = relevance.err_contributions(dense, stop_of_row)
        columns = {"stop": stop_of_row[dense.row]}
        return Breakdown(dense, contributions, gain_of_row[dense.row], columns=columns)


def linear_stop(target: Target) -> Floats:
    """Return the probability gain / (1 + maximum gain) of stopping at each judged document."""
    return target.compute_once("linear stop", lambda: target.gain / (1.0 + target.top))


class _Term(Base):
    """A base that is not a measure by itself, of at most one parameter besides the cutoff."""

    SUPPORTED_PARAMS: ClassVar[dict[str, Any]] = {
        "cutoff": ir_measures.ParamInfo(dtype=int, desc="ranking cutoff")
    }

    def __init__(self, **params: Any) -> None:
        self.params = params

    @property
    def text(self) -> str:
        """The name with the parameter, and the cutoff if there is one."""
        (name,) = self.params.keys() - {"cutoff"}
        text = f"{self.NAME}({name}={self.params[name]})"
        if self.cutoff is None:
            return text
        return f"{text}@{self.cutoff}"

    def at(self, cutoff: int | None) -> _Term:
        return type(self)(**{**self.params, "cutoff": cutoff})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.params == getattr(other, "params", None)

    def __hash__(self) -> int:
        return hash((type(self), *self.params.values()))


class LinearStopping(_Cascade, _Term):
    """ERR as NTCIREVAL computes it: the probability of stopping is gain / (1 + maximum gain)."""

    NAME = "LinearStopping"
    discount = Reciprocal()

    def __init__(self, cutoff: int | None) -> None:
        super().__init__(cutoff=cutoff)

    @property
    def text(self) -> str:
        """The name of the term."""
        if self.cutoff is None:
            return self.NAME
        return f"{self.NAME}@{self.cutoff}"

    def stop(self, target: Target) -> Floats:
        """Return gain / (1 + maximum gain) of each judged document."""
        return linear_stop(target)


class _RankBiased(_Term):
    """A term with the discount (1 - p) p^(k-1) at rank k."""

    discount: Callable[[Ints], Floats]

    def __init__(self, p: float, cutoff: int | None) -> None:
        super().__init__(p=p, cutoff=cutoff)
        self.discount = Geometric(p)


class RankBiasedStopping(_RankBiased, _Cascade):
    """(1 - p) Σ_k p^(k-1) · probability of stopping at rank k, where the user stops as in ERR."""

    NAME = "RankBiasedStopping"

    def statements(self) -> Statements:
        """State that gains are exponentiated."""
        return replace(super().statements(), exponentiates_gains=True)


class Effort(_RankBiased):
    """-(1 - p) Σ_k p^(k-1) over all retrieved documents: what examining them costs the user."""

    NAME = "Effort"
    RANGE = (-1.0, 0.0)
    reads_gains = False

    def statements(self) -> Statements:
        """State that labels do not lower the value."""
        return replace(super().statements(), never_falls_with_labels=True)

    @property
    def text(self) -> str:
        """The name of the term for errors of bounds."""
        return "the effort of RBU (bounds are known for effort=0)"

    def score(self, ranking: Ranking, target: Target) -> Floats:
        """Return minus the effort of each query, which depends on the number of ranks only."""
        p = float(self.params["p"])
        # Each rank k costs (1 - p) p^(k-1). Over n ranks, this geometric series sums to 1 - p^n.
        power = np.power(p, ranking.n_ret)
        return np.asarray(power - 1.0, dtype=np.float64)

    def contributions(self, ranking: Hits, target: Target) -> Floats:
        """Return the negative discount of each retrieved document."""
        return -self.discount(ranking.dense().rank)
