"""One topic of a run: its ranking, the values of its prefixes, and its best ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._typing import Floats, Ints, Objects
from ..collection.judgments import Judgments, numbered_names
from ..collection.rankings import Rankings
from ..errors import MultiAspectError
from ..kernels.best_ranking import is_by_sorting
from ..kernels.hits import positions
from ..measures.best_rank import best_rank, forms_of, ranks_by_keys
from .contributions import Evaluation

if TYPE_CHECKING:
    from ..measures.measure import Measure

#: Maximum number of judged documents in collections on which prefixes of a ranking are evaluated at once.
_MOST_JUDGED = 200_000
#: Above this number of judged documents, the assignment of documents to ranks takes too much memory.
_MOST_ASSIGNED = 2000


@dataclass(frozen=True, eq=False)
class Topic:
    """A ranking of one topic, and the judgments it is evaluated on."""

    measure: Measure
    #: The judgments of this topic alone, or of all topics if the value depends on others.
    judgments: Judgments
    #: The position of the topic among the judgments.
    query: int
    qid: str
    run: str
    #: The retrieved documents in the order of their ranks, with their scores.
    docnos: Objects
    scores: NDArray[Any]
    #: Maximum number of ranks with a separate marginal contribution.
    depth: int

    def __len__(self) -> int:
        return len(self.docnos)

    def as_only_topic(self) -> Topic:
        """Return the topic with judgments of this topic only, on the same scales."""
        return replace(self, judgments=self.judgments.repeat_query(self.query, 1), query=0)

    @cached_property
    def rankings(self) -> Rankings:
        """The ranking, joined with the judgments."""
        return self._join(self.judgments, [self.judgments.qids[self.query]], [len(self)])

    @cached_property
    def values(self) -> Floats:
        """The values of the measure on all topics of the judgments."""
        return self.measure.evaluate(self.rankings)

    @property
    def value(self) -> float:
        """The value of the measure."""
        return float(self.values[self.query])

    @cached_property
    def rows(self) -> Ints:
        """The judged pair of each retrieved document, -1 for unjudged documents."""
        rows = np.full(len(self), -1, dtype=np.intp)
        rows[self.rankings.hits.rank - 1] = self.rankings.hits.row
        return rows

    def prefix_values(self, evaluate: Evaluation, n_ranks: int) -> Floats:
        """Evaluate the first 0 to `n_ranks` ranks of the ranking.

        Parameters
        ----------
        evaluate : callable
            Returns values of shape (n_outputs, n_queries) for judgments and a run.
        n_ranks : int
            Maximum number of ranks.

        Returns
        -------
        ndarray of float, shape (n_outputs, n_queries, n_ranks + 1)
            Computed on collections of limited size that repeat the topic.
        """
        if self.judgments.n_queries > 1:
            qids = [self.judgments.qids[self.query]]
            runs = [self._join(self.judgments, qids, [length]) for length in range(n_ranks + 1)]
            return np.stack([evaluate(self.judgments, run) for run in runs], axis=-1)
        at_once = max(1, _MOST_JUDGED // max(len(self.judgments), 1))
        parts = []
        for start in range(0, n_ranks + 1, at_once):
            lengths = list(range(start, min(start + at_once, n_ranks + 1)))
            judgments = self.judgments.repeat_query(self.query, len(lengths))
            parts.append(evaluate(judgments, self._join(judgments, numbered_names(len(lengths)), lengths)))
        return np.concatenate(parts, axis=1)[:, None]

    def best(self) -> Topic | None:
        """Return the topic with a best ranking of all judged documents; None if none is known."""
        rank = self._best_rank()
        if rank is None:
            return None
        rows = np.flatnonzero(self.judgments.pool_query == self.query)
        rows = rows[np.argsort(rank[rows])]
        scores = np.arange(len(rows), 0, -1, dtype=np.float64)
        best = replace(self, docnos=self.judgments.docnos[rows], scores=scores, run="ideal")
        # With gains of unjudged documents, a run can exceed every ranking of judged documents.
        return best if best.value >= self.value - 1e-9 * max(1.0, abs(self.value)) else None

    def _best_rank(self) -> Ints | None:
        measure, judgments = self.measure, self.judgments
        if measure.lower_is_better:
            return None
        terms = measure.terms(judgments)
        if not terms:
            gain = measure.document_gain(judgments)
            if gain is None or measure.gain_is_surrogate(judgments):
                return None
            return ranks_by_keys(judgments, gain[None])
        forms = forms_of(terms)
        sorts = len(terms) == 1 and terms[0].base.SORTING_IS_OPTIMAL
        if forms and not sorts and not is_by_sorting(forms) and len(judgments) > _MOST_ASSIGNED:
            return None
        try:
            return best_rank(measure, judgments)
        except MultiAspectError:  # if discounts increase, for example
            return None

    def _join(self, judgments: Judgments, qids: Sequence[str], lengths: list[int]) -> Rankings:
        """Return the first ranks of the ranking as runs for queries of the judgments."""
        query = np.repeat(np.arange(len(lengths)), lengths)
        position = positions(query)
        run = {
            "query_id": np.array(qids, dtype=object)[query],
            "doc_id": self.docnos[position],
            "score": self.scores[position],
        }
        return Rankings(pd.DataFrame(run), judgments)
