"""A run joined with judgments, which is sorted once for all measures, and copies of its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import Memo, cached_property
from .._typing import Bools, Floats, Ints, Objects
from ..errors import number_of, warn_of_run
from ..kernels.hits import Hits, heads
from ..strings.order import Scores, inverse_permutation, positions, query_starts
from ..strings.pair_table import repeated_pairs
from ..strings.texts import Texts, Words
from .judgments import Judgments
from .run import Run


@dataclass(frozen=True, eq=False)
class Ranking(Hits):
    """The first ranks of a run: the input of a base."""

    run: Rankings

    @property
    def judgments(self) -> Judgments:
        """The judgments of the run."""
        return self.run.judgments

    @property
    def ties(self) -> Ints:
        """One number per retrieved document of the run, equal for tied documents of a query."""
        return self.run.levels

    def labels(self, column: str) -> Floats:
        """Return the labels of any column of the qrels, NaN where missing."""
        return self.judgments.labels(column)

    def frame(self) -> pd.DataFrame:
        """Return the whole run with decreasing integer scores, see `Rankings.frame_by_rank`."""
        return self.run.frame_by_rank()


ScoreType = type[np.float32] | type[np.float64]


class Rankings(Memo):
    """The rankings of one run for every judged query.

    As in trec_eval, documents are sorted by score (32-bit), descending; ties are broken by docno,
    descending. A document that occurs repeatedly for a query counts once, with its last score.

    Parameters
    ----------
    run : DataFrame, dict, iterable of namedtuples or Run
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
        source = Run.of(run)
        docnos = source.docnos
        scores = _round_scores(source, dtype)

        # Rows of judged queries only.
        common = judgments.query_positions(source.qids)
        n_common = int((common >= 0).sum())
        query = common[source.query]
        if n_common < len(source.qids):
            kept = query >= 0
            query = query[kept]
            scores = scores[kept]
            docnos = docnos.take(kept)

        # The last row of each repeated document. Rows of a query are mostly adjacent.
        row, keys = judgments.pairs.lookup(query, docnos)
        begins = heads(query)
        are_adjacent = len(begins) == n_common
        if are_adjacent:
            last = _last_occurrences(query, docnos, keys, begins)
        else:
            last = _last_occurrences(query, docnos, keys, None)
        if last is not None:
            query = query[last]
            scores = scores[last]
            docnos = docnos.take(last)
            row = row[last]
            begins = heads(query)

        n_ret = np.bincount(query, minlength=judgments.n_queries)
        position = positions(query, scores, docnos, n_ret, begins)
        hits = _judged_hits(judgments, query, row, position, n_ret)
        self._set_arrays(judgments, query, scores, position, hits, n_common)
        # Subclasses define these as properties.
        self.source = source
        self._docnos = docnos

    def _set_arrays(
        self,
        judgments: Judgments,
        query: Ints,
        scores: Scores,
        position: Ints,
        hits: Hits,
        n_common: int,
    ) -> None:
        """Set all attributes but `source` and `_docnos`, also for subclasses.

        Parameters
        ----------
        judgments : Judgments
            The judged pairs.
        query, scores : ndarray, shape (n_rows,)
            The query of each row, as a position among those of the judgments, and its score.
        position : ndarray of int, shape (n_rows,)
            The position of each row in the order by query and rank.
        hits : Hits
            The judged documents with their ranks.
        n_common : int
            The number of queries that the run and the qrels have in common.
        """
        self.judgments = judgments
        self.hits = hits
        self.n_common = n_common
        self._query = query
        self._scores = scores
        self._position = position

    @property
    def some_documents(self) -> list[str]:
        """Some documents retrieved for judged queries, for warnings."""
        first_rows = self._order[:3]
        return list(self._docnos.take(first_rows).decode())

    @property
    def scores(self) -> Scores:
        """The scores of the documents of judged queries, by query and rank."""
        return self._scores[self._order]

    @property
    def _order(self) -> Ints:
        """The rows in the order by query and rank."""
        return self.compute_once("order", lambda: inverse_permutation(self._position))

    def with_judgments(self, judgments: Judgments) -> Rankings:
        """Return the same rankings with other judgments of the same pairs."""
        result = copy(self)  # without the cached properties
        result.judgments = judgments
        return result

    def top(self, cutoff: int | None) -> Ranking:
        """Return the first `cutoff` ranks."""
        if cutoff is None:
            hits = self.hits
        else:
            hits = self.compute_once(("top", cutoff), lambda: self.hits.top(cutoff))
        return Ranking(
            hits.n_queries, hits.pool_query, hits.query, hits.rank, hits.row, hits.n_ret, self
        )

    def ranked_documents(self, query: int) -> tuple[Objects, Scores]:
        """Return the documents retrieved for a query and their scores, by rank."""
        n_ret = self.hits.n_ret
        end = int(np.cumsum(n_ret)[query])
        start = end - int(n_ret[query])
        rows = self._order[start:end]
        return self._docnos.take(rows).decode(), self._scores[rows]

    def documents(self, cutoff: int | None) -> tuple[Ints, Ints, Objects]:
        """Return the queries, ranks and names of the retrieved documents, down to the cutoff."""
        rows, rank = self._first_rows(cutoff)
        return self._query[rows], rank, self._docnos.take(rows).decode()

    def _first_rows(self, cutoff: int | None) -> tuple[Ints, Ints]:
        """Return the rows in the order by query and rank, down to the cutoff, and their ranks."""
        order = self._order
        start = query_starts(self.hits.n_ret)[self._query[order]]
        rank = np.arange(1, len(order) + 1) - start
        if cutoff is None:
            return order, rank
        kept = rank <= cutoff
        return order[kept], rank[kept]

    def cut(self, cutoff: int, judgments: Judgments | None = None) -> Rankings:
        """Return the rankings without documents below rank `cutoff`, also for other judgments."""
        kept, _ = self._first_rows(cutoff)
        queries, codes = np.unique(self._query[kept], return_inverse=True)
        qids = self.judgments.qids[queries]
        docnos = self._docnos.take(kept)
        scores = self._scores[kept]
        run = Run(qids, codes, docnos, scores.astype(np.float64))
        if judgments is None:
            judgments = self.judgments
        return Rankings(run, judgments, dtype=scores.dtype.type)

    @property
    def levels(self) -> Ints:
        """One number per retrieved document, equal for tied documents of a query."""
        return self.compute_once("levels", self._compute_levels)

    def _compute_levels(self) -> Ints:
        query = self._query[self._order]
        score = self._scores[self._order]
        differs = (query[1:] != query[:-1]) | (score[1:] != score[:-1])
        first_level = np.zeros(min(len(score), 1), dtype=np.intp)  # empty for an empty run
        return np.concatenate([first_level, np.cumsum(differs)])

    def frame_by_rank(self) -> pd.DataFrame:
        """Return the run as a frame whose scores count down to 1, for other libraries.

        Scores n - rank + 1 leave no ties, so that every back end sees the same ranking.
        """
        query, rank, docnos = self.documents(None)
        score = self.hits.n_ret[query] - rank + 1
        columns = {
            "query_id": self.judgments.qids[query],
            "doc_id": docnos,
            "score": score.astype(np.float64),
        }
        return pd.DataFrame(columns)


class TopicCopies:
    """Copies of some topics, copy by copy, with labels of their own.

    Parameters
    ----------
    original : Judgments
        The judged pairs.
    topics : ndarray of int, shape (n_topics,)
        Positions of topics, increasing.
    labels : mapping of str to ndarray, shape (n_copies, n_rows)
        The labels of each aspect, one row per copy and one column per element of `rows`.
    """

    def __init__(self, original: Judgments, topics: Ints, labels: Mapping[str, Floats]) -> None:
        self.topics = topics
        first_labels = next(iter(labels.values()))
        self.number = len(first_labels)
        #: The judged pairs of the topics.
        self.rows: Ints = np.flatnonzero(np.isin(original.pool_query, topics))
        topic_of_row = np.searchsorted(topics, original.pool_query[self.rows])
        #: The copies as judgments.
        self.judgments = original.with_copies(
            pairs=np.tile(self.rows, self.number),
            query=self.repeat(topic_of_row, len(topics)),
            qids=_qids_of_copies(original.qids[topics].tolist(), self.number),
            labels={name: values.ravel() for name, values in labels.items()},
        )

    def repeat(self, values: Ints, step: int) -> Ints:
        """Return integers once per copy, each copy `step` above the last."""
        offsets = step * np.arange(self.number)
        repeated = values + offsets[:, None]  # copies × values
        return np.asarray(repeated.ravel(), dtype=np.intp)

    def rankings(self, run: Rankings) -> Rankings:
        """Return the rankings of the copies, joined with their judgments."""
        return _CopiedRankings(self, run)


def _qids_of_copies(qids: Sequence[str], n_copies: int) -> Objects:
    """Return names of copied topics, whose alphabetical order is that of the copies."""
    names: list[str] = []
    for copy_number in range(n_copies):
        names += [f"{copy_number:09d}-{qid}" for qid in qids]
    return np.array(names, dtype=object)


class _CopiedRankings(Rankings):
    """The rankings of copies of topics.

    Documents are copied when they are read, which few measures do.
    """

    def __init__(self, copies: TopicCopies, original: Rankings) -> None:
        self._copies = copies
        self._original = original
        self.judgments = copies.judgments
        self.n_common = copies.judgments.n_queries
        topics = copies.topics
        hits = original.hits
        kept = np.flatnonzero(np.isin(hits.query, topics))
        topic = np.searchsorted(topics, hits.query[kept])
        row = np.searchsorted(copies.rows, hits.row[kept])
        self.hits = Hits(
            self.judgments.n_queries,
            self.judgments.pool_query,
            query=copies.repeat(topic, len(topics)),
            rank=np.tile(hits.rank[kept], copies.number),
            row=copies.repeat(row, len(copies.rows)),
            n_ret=np.tile(hits.n_ret[topics], copies.number),
        )

    @cached_property
    def _original_rows(self) -> Ints:
        """The rows of the original run, by query and rank."""
        order = self._original._order
        kept = np.isin(self._original._query[order], self._copies.topics)
        return np.tile(order[kept], self._copies.number)

    @cached_property
    def _query(self) -> Ints:
        return np.repeat(np.arange(self.judgments.n_queries), self.hits.n_ret)

    @cached_property
    def _scores(self) -> Scores:
        return self._original._scores[self._original_rows]

    @cached_property
    def _position(self) -> Ints:
        return np.arange(len(self._original_rows))

    @cached_property
    def _docnos(self) -> Texts:
        return self._original._docnos.take(self._original_rows)

    @cached_property
    def source(self) -> Run:
        """The copies as a run."""
        return Run(self.judgments.qids, self._query, self._docnos, self._scores.astype(np.float64))


def _judged_hits(judgments: Judgments, query: Ints, row: Ints, position: Ints, n_ret: Ints) -> Hits:
    """Return the judged documents by query and rank.

    The query of each retrieved document, its judged pair (or -1) and its position in the order by
    query and rank are in the order of the run.
    """
    judged = np.flatnonzero(row >= 0)
    judged_position = position[judged]
    is_sorted = not np.any(judged_position[1:] < judged_position[:-1])
    if not is_sorted:
        judged = judged[np.argsort(judged_position)]
    start = query_starts(n_ret)[query[judged]]
    rank = position[judged] - start + 1
    return Hits(judgments.n_queries, judgments.pool_query, query[judged], rank, row[judged], n_ret)


def _round_scores(run: Run, dtype: ScoreType) -> Scores:
    """Return the scores in the precision of comparisons."""
    with np.errstate(over="ignore"):
        # -0 and 0 are the same score, also if a small number is rounded to one of them.
        if dtype is np.float64:
            return run.score + np.float64(0)
        short = run.score.astype(np.float32) + np.float32(0)
    _warn_of_lost_precision(run.score, short, run.query, run.qids)
    return short


#: Minimum number of neighbours in a query to conclude that most scores are equal.
_MIN_PAIRS = 4


def _warn_of_lost_precision(
    values: Floats, short: NDArray[np.float32], codes: Ints, qids: Objects
) -> None:
    """Warn if most scores of a query differ, but are equal as 32-bit floats.

    Only adjacent rows are compared: if most scores are equal, so are most neighbours, in any order
    of rows.
    """
    same_query = codes[1:] == codes[:-1]
    differ = values[1:] != values[:-1]
    equal_as_short = short[1:] == short[:-1]
    lost = np.flatnonzero(equal_as_short & differ & same_query)
    if not len(lost):
        return
    n_pairs = np.bincount(codes, minlength=len(qids)) - 1
    n_lost = np.bincount(codes[lost], minlength=len(qids))
    is_affected = (n_pairs >= _MIN_PAIRS) & (2 * n_lost > n_pairs)
    lost = lost[is_affected[codes[lost]]]
    if not len(lost):
        return
    row = lost[0]
    qid = qids[codes[row]]
    first = float(values[row])
    second = float(values[row + 1])
    topics = number_of(int(is_affected.sum()), "topic")
    warn_of_run(
        f"most scores of {topics} are equal as 32-bit floats, as in trec_eval, "
        f"but differ, such as {first!r} and {second!r} of topic {qid}",
        "These documents are sorted by docno. Rescale the scores, for example by their "
        "logarithm, or use scores that count down by rank",
        key=f"{qid} {first} {second}",
        group="scores as 32-bit floats",
    )


def _last_occurrences(query: Ints, docnos: Texts, keys: Words, begins: Ints | None) -> Bools | None:
    """Return a mask of the last row of each query and document; None if all rows are."""
    repeated = repeated_pairs(query, docnos, keys, begins)
    if repeated is None:
        return None
    surplus = docnos.take(repeated)
    some = surplus.take(slice(3)).decode().tolist()
    rows = number_of(len(surplus), "surplus row")
    warn_of_run(
        f"repeated documents for a query, such as {some[0]} ({rows})",
        "Each document counts once, with its last score. Drop duplicates to choose which score "
        "counts",
        key=f"{len(surplus)} {some}",
        group="repeated documents",
    )
    return ~repeated
