"""A run joined with judgments: sorted once, shared by all measures."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from ..errors import MultiAspectError, choices, counted, number_of, warn_once
from ..kernels.hits import Hits
from .columns import as_floats, encode, fingerprints
from .inputs import run_columns
from .judgments import Judgments

__all__ = ["Ranking", "Rankings"]


@dataclass(frozen=True, eq=False)
class Ranking(Hits):
    """The first ranks of a run: what a base scores."""

    run: Rankings

    @property
    def judgments(self) -> Judgments:
        """The judged documents."""
        return self.run.judgments

    @property
    def ties(self) -> Ints:
        """A number per retrieved document of the whole run, the same for documents of a query with tied scores."""
        return self.run.levels

    def labels(self, column: str) -> Floats:
        """The labels of another column of the qrels, a float per judged document, NaN where missing."""
        return self.judgments.labels(column)

    def frame(self) -> pd.DataFrame:
        """The whole run as a frame whose scores count down, see `Rankings.rescored`."""
        return self.run.rescored()


ScoreType = type[np.float32] | type[np.float64]


Scores = NDArray[np.float32] | NDArray[np.float64]


class Rankings:
    """The rankings of one run for every judged query.

    As in trec_eval, documents are sorted by score (32-bit), descending; ties are broken by docno,
    descending. A document that occurs repeatedly for a query counts once, with its last score.

    Parameters
    ----------
    run : DataFrame, dict or iterable of namedtuples
        A DataFrame (of pandas, Polars, PyArrow) with ``qid docno score`` or ``query_id doc_id
        score``, a dict ``{qid: {docno: score}}``, or namedtuples with these fields.
    judgments : Judgments
        The judged pairs. Queries of the run without judgments are ignored.
    dtype : {numpy.float32, numpy.float64}, default numpy.float32
        Precision of score comparisons: that of trec_eval, or that of a model's predictions.

    Raises
    ------
    MultiAspectError
        If columns are missing or a score is not a number.
    """

    def __init__(self, run: object, judgments: Judgments, *, dtype: ScoreType = np.float32) -> None:
        self.judgments = judgments
        frame, query_ids, docnos = run_columns(run)
        codes, qids = encode(query_ids)
        scores = _scores(frame, docnos, codes, qids, dtype)
        position = judgments.queries_of(qids)
        #: How many queries the run and the qrels share, and how many rows the run has.
        self.n_common = int((position >= 0).sum())
        self.n_rows = len(frame)
        #: Some queries of the run, judged or not, for warnings.
        self.some_qids: list[str] = qids[:3].tolist()
        query = position[codes]
        if self.n_common < len(qids):
            kept = query >= 0
            query, scores, docnos = query[kept], scores[kept], docnos[kept]
        keys = fingerprints(query, docnos)
        last = _last_occurrences(query, docnos, keys)
        if last is not None:
            query, scores, docnos, keys = query[last], scores[last], docnos[last], keys[last]
        order = _ranking_order(query, scores, docnos)
        self._query: Ints = query[order]
        self._docnos = docnos[order]
        self._score = scores[order]
        n_ret = np.bincount(query, minlength=judgments.n_queries)
        self._rank: Ints = np.arange(len(order)) - (np.cumsum(n_ret) - n_ret)[self._query] + 1
        row = judgments.rows_of(self._query, self._docnos, keys[order])
        hits = np.flatnonzero(row >= 0)
        #: Where the judged documents stand.
        self.hits = Hits(
            n_queries=judgments.n_queries,
            pool_query=judgments.pool_query,
            query=self._query[hits],
            rank=self._rank[hits],
            row=row[hits],
            n_ret=n_ret,
        )
        self._cache: dict[Hashable, Any] = {}

    @property
    def some_documents(self) -> list[str]:
        """Some documents retrieved for judged queries, for warnings."""
        documents: list[str] = self._docnos[:3].tolist()
        return documents

    def shared(self, key: Hashable, make: Any) -> Any:
        """Return what `make` gives, made once per `key` for all measures of this run."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def top(self, cutoff: int | None) -> Ranking:
        """The first `cutoff` ranks."""
        hits: Hits = self.hits if cutoff is None else self.shared(("top", cutoff), lambda: self.hits.top(cutoff))
        return Ranking(hits.n_queries, hits.pool_query, hits.query, hits.rank, hits.row, hits.n_ret, self)

    def ranked(self, query: int) -> tuple[NDArray[np.object_], Scores]:
        """The documents retrieved for a query in the order of their ranks, and their scores."""
        end = int(np.cumsum(self.hits.n_ret)[query])
        of_query = slice(end - int(self.hits.n_ret[query]), end)
        return self._docnos[of_query], self._score[of_query]

    @property
    def levels(self) -> Ints:
        """A number per retrieved document, the same for documents of a query with tied scores."""

        def make() -> Ints:
            query, score = self._query, self._score
            begins = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
            return np.concatenate([np.zeros(min(len(self._score), 1), dtype=np.intp), np.cumsum(begins)])

        levels: Ints = self.shared("levels", make)
        return levels

    def rescored(self) -> pd.DataFrame:
        """The run as a frame whose scores count down to 1, for measures computed elsewhere.

        Scores n - rank + 1 leave no ties, so that every back end sees the same ranking.
        """
        return pd.DataFrame(
            {
                "query_id": self.judgments.qids[self._query],
                "doc_id": self._docnos,
                "score": (self.hits.n_ret[self._query] - self._rank + 1).astype(np.float64),
            }
        )


def _scores(
    frame: pd.DataFrame,
    docnos: NDArray[np.object_],
    codes: Ints,
    qids: NDArray[np.object_],
    dtype: ScoreType,
) -> Scores:
    if "score" not in frame.columns:
        raise MultiAspectError(f"run: expected a column score, got the columns {choices(frame.columns)}")
    column = frame["score"]
    values = as_floats(column)
    faulty = np.flatnonzero(np.isnan(values))
    if len(faulty):
        row, given = int(faulty[0]), column.iloc[int(faulty[0])]
        shown = repr(given) if isinstance(given, str) else given
        raise MultiAspectError(
            f"invalid score {shown} for document {docnos[row]}, query {qids[codes[row]]}: expected a number "
            f"{counted(len(faulty), 'row')}"
        )
    with np.errstate(over="ignore"):
        # -0 and 0 are the same score, also where a small number becomes one of them.
        if dtype is np.float64:
            return values + np.float64(0)
        short = values.astype(np.float32) + np.float32(0)
    _warn_of_lost_precision(values, short, codes, qids)
    return short


#: Minimum number of neighbours in a query to tell that most scores are equal.
_MIN_PAIRS = 4


def _warn_of_lost_precision(
    values: Floats, short: NDArray[np.float32], codes: Ints, qids: NDArray[np.object_]
) -> None:
    """Warn if most scores of a query differ, but are equal as 32-bit floats.

    Adjacent rows tell: runs are sorted, and where most scores are equal, most neighbours are in any order.
    """
    lost = np.flatnonzero((short[1:] == short[:-1]) & (values[1:] != values[:-1]) & (codes[1:] == codes[:-1]))
    if not len(lost):
        return
    pairs = np.bincount(codes, minlength=len(qids)) - 1
    mostly = (pairs >= _MIN_PAIRS) & (2 * np.bincount(codes[lost], minlength=len(qids)) > pairs)
    lost = lost[mostly[codes[lost]]]
    if len(lost):
        qid, one, other = qids[codes[lost[0]]], float(values[lost[0]]), float(values[lost[0] + 1])
        warn_once(
            f"most scores of {number_of(int(mostly.sum()), 'topic')} are equal as 32-bit floats, as in trec_eval, "
            f"but differ, such as {one!r} and {other!r} of topic {qid}: these documents are sorted by docno. "
            "Rescale the scores, for example by their logarithm, or use scores that count down by rank",
            key=f"{qid} {one} {other}",
            group="scores as 32-bit floats",
        )


def _last_occurrences(
    query: Ints, docnos: NDArray[np.object_], keys: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Return which rows are the last of their query and document; None if all are."""
    if not (np.diff(np.sort(keys)) == 0).any():
        return None
    kept = ~pd.DataFrame({"query": query, "docno": docnos}).duplicated(keep="last").to_numpy()
    dropped = len(kept) - int(kept.sum())
    if dropped:
        warn_once(
            f"a run has repeated documents for a query, such as {docnos[~kept][0]} "
            f"({number_of(dropped, 'surplus row')}): each document counts once, with its last score. Drop "
            "duplicates to choose which score counts",
            key=f"{dropped} {docnos[~kept][:3].tolist()}",
            group="repeated documents",
        )
    return kept


def _downwards(scores: Scores) -> NDArray[np.uint32]:
    """Numbers that increase as scores decrease, equal for equal scores."""
    if scores.dtype != np.float32:
        return np.unique(-scores, return_inverse=True)[1].astype(np.uint32)
    # The bits of the floats, in reverse order.
    bits = scores.view(np.uint32)
    return np.where(bits >> 31 == 1, bits, ~bits & np.uint32(0x7FFFFFFF))


def _ranking_order(query: Ints, scores: Scores, docnos: NDArray[np.object_]) -> Ints:
    """The order that sorts by query, score descending, docno descending."""
    downwards = _downwards(scores)
    keys = (query.astype(np.uint64) << np.uint64(32)) | downwards
    if (keys[1:] >= keys[:-1]).all():
        order = np.arange(len(keys))
    else:
        order = np.argsort(keys)
        keys = keys[order]
    same = keys[1:] == keys[:-1]
    if same.any():
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        codes, involved = pd.factorize(docnos[order[tied]])
        place = np.empty(len(involved), dtype=np.intp)
        place[np.argsort(involved)] = np.arange(len(involved))
        order[tied] = order[tied][np.lexsort((-place[codes], keys[tied]))]
    return order
