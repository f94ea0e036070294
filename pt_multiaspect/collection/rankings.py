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
        all_rows, n_common = _rows_of_judged_queries(source, judgments, dtype)
        rows, pool_row = _distinct_documents(all_rows, judgments, n_common)
        # The number of documents of each query, and the position of each one by query and rank.
        n_ret = np.bincount(rows.query, minlength=judgments.n_queries)
        position = positions(rows.query, rows.scores, rows.docnos, n_ret, rows.begins_of_blocks)
        hits = _judged_hits(judgments, rows.query, pool_row, position, n_ret)
        self._set_arrays(judgments, rows.query, rows.scores, position, hits, n_common)
        # Subclasses define these as properties.
        self.source = source
        self._docnos = rows.docnos

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
        # The copy has no cache, as in every `Memo`; what is cached may depend on judgments.
        result = copy(self)
        result.judgments = judgments
        return result

    def top(self, cutoff: int | None) -> Ranking:
        """Return the first `cutoff` ranks of each query, or all ranks for None."""
        hits = self.hits
        if cutoff is not None:
            # Several measures use the same cutoff.
            hits = self.compute_once(("top", cutoff), lambda: self.hits.top(cutoff))
        return Ranking(
            n_queries=hits.n_queries,
            pool_query=hits.pool_query,
            query=hits.query,
            rank=hits.rank,
            row=hits.row,
            n_ret=hits.n_ret,
            run=self,
        )

    def ranked_documents(self, query: int) -> tuple[Objects, Scores]:
        """Return the documents retrieved for a query and their scores, by rank."""
        n_ret = self.hits.n_ret
        begin = int(query_starts(n_ret)[query])
        end = begin + int(n_ret[query])
        rows = self._order[begin:end]
        docnos = self._docnos.take(rows).decode()
        return docnos, self._scores[rows]

    def documents(self, cutoff: int | None) -> tuple[Ints, Ints, Objects]:
        """Return the queries, ranks and names of the retrieved documents, by query and rank.

        Documents below rank `cutoff` are left out, unless it is None.
        """
        rows, rank = self._first_rows(cutoff)
        query = self._query[rows]
        docnos = self._docnos.take(rows).decode()
        return query, rank, docnos

    def _first_rows(self, cutoff: int | None) -> tuple[Ints, Ints]:
        """Return the rows in the order by query and rank, down to the cutoff, and their ranks."""
        rows = self._order
        query = self._query[rows]
        rows_before_query = query_starts(self.hits.n_ret)
        position = np.arange(1, len(rows) + 1)  # from 1, as ranks
        rank = position - rows_before_query[query]
        if cutoff is None:
            return rows, rank
        is_kept = rank <= cutoff
        return rows[is_kept], rank[is_kept]

    def cut(self, cutoff: int, judgments: Judgments | None = None) -> Rankings:
        """Return the rankings without documents below rank `cutoff`, also for other judgments."""
        if judgments is None:
            judgments = self.judgments
        rows, _ = self._first_rows(cutoff)
        # A run numbers its own queries from 0: 4, 4, 7 -> 0, 0, 1, the positions in 4, 7.
        queries, query_of_row = np.unique(self._query[rows], return_inverse=True)
        run = Run(
            qids=self.judgments.qids[queries],
            query=query_of_row,
            docnos=self._docnos.take(rows),
            score=self._scores[rows].astype(np.float64),  # a run has 64-bit scores
        )
        # New rankings compare scores with the precision of these: 32 or 64 bits.
        precision = self._scores.dtype.type
        return Rankings(run, judgments, dtype=precision)

    @property
    def levels(self) -> Ints:
        """One number per retrieved document, equal for tied documents of a query."""
        return self.compute_once("levels", self._compute_levels)

    def _compute_levels(self) -> Ints:
        """Return the number of the tie of each retrieved document, from 0, by query and rank."""
        query = self._query[self._order]
        score = self._scores[self._order]
        # A new tie begins where the query or the score is another one than before.
        has_new_query = query[1:] != query[:-1]
        has_new_score = score[1:] != score[:-1]
        later_levels = np.cumsum(has_new_query | has_new_score)
        n_first = min(len(score), 1)  # 0 for an empty run
        level_of_first = np.zeros(n_first, dtype=np.intp)
        return np.concatenate([level_of_first, later_levels])

    def frame_by_rank(self) -> pd.DataFrame:
        """Return the run as a frame whose scores count down to 1, for other libraries.

        Such scores leave no ties, so that every back end sees the same ranking.
        """
        query, rank, docnos = self.documents(None)
        n_ret = self.hits.n_ret[query]
        score = n_ret - rank + 1  # n_ret at rank 1, 1 at the last rank
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
        labels_of_first_aspect = next(iter(labels.values()))
        #: The number of copies.
        self.number = len(labels_of_first_aspect)
        is_of_topics = np.isin(original.pool_query, topics)
        #: The judged pairs of the topics.
        self.rows: Ints = np.flatnonzero(is_of_topics)

        # The copied judgments list all pairs of the first copy, then all pairs of the second copy,
        # and so on. Labels have one row per copy, so that this is their order when read by row.
        pair_of_copy = np.tile(self.rows, self.number)
        label_of_copy = {name: values.ravel() for name, values in labels.items()}
        # The topics are numbered on from copy to copy: 0, 1, then 2, 3 for two topics.
        topic_of_pair = self.topic_numbers(original.pool_query[self.rows])
        topic_of_copy = self.repeat(topic_of_pair, step=len(topics))
        qids = original.qids[topics].tolist()
        #: The copies as judgments.
        self.judgments = original.with_copies(
            pairs=pair_of_copy,
            query=topic_of_copy,
            qids=_qids_of_copies(qids, self.number),
            labels=label_of_copy,
        )

    def topic_numbers(self, topics: Ints) -> Ints:
        """Return the numbers of topics within a copy: their positions in `self.topics`."""
        return np.searchsorted(self.topics, topics)

    def pair_numbers(self, pairs: Ints) -> Ints:
        """Return the numbers of judged pairs within a copy: their positions in `self.rows`."""
        return np.searchsorted(self.rows, pairs)

    def repeat(self, values: Ints, step: int) -> Ints:
        """Return integers once per copy, each copy `step` above the last.

        For example, the numbers 0, 1 become 0, 1, 2, 3, 4, 5 for three copies and a `step` of 2.
        """
        copy_number = np.arange(self.number)
        offset = step * copy_number
        repeated = values + offset[:, None]  # shape (n_copies, n_values)
        return np.asarray(repeated.ravel(), dtype=np.intp)

    def rankings(self, run: Rankings) -> Rankings:
        """Return the rankings of the copies, joined with their judgments."""
        return _CopiedRankings(self, run)


def _qids_of_copies(qids: Sequence[str], n_copies: int) -> Objects:
    """Return names of copied topics, whose alphabetical order is that of the copies."""
    names: list[str] = []
    for copy_number in range(n_copies):
        prefix = f"{copy_number:09d}"  # leading zeros: 2 sorts before 10
        names += [f"{prefix}-{qid}" for qid in qids]
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
        is_of_topics = np.isin(original.hits.query, copies.topics)
        copied_hits = original.hits.select(is_of_topics)
        # Each copy has topics and judged pairs of its own: their numbers go on from copy to copy.
        topic_in_copy = copies.topic_numbers(copied_hits.query)
        topic = copies.repeat(topic_in_copy, step=len(copies.topics))
        pair_in_copy = copies.pair_numbers(copied_hits.row)
        pair = copies.repeat(pair_in_copy, step=len(copies.rows))
        # Ranks and lengths of rankings are the same in each copy.
        rank = np.tile(copied_hits.rank, copies.number)
        n_ret = np.tile(original.hits.n_ret[copies.topics], copies.number)
        self.hits = Hits(
            self.judgments.n_queries,
            self.judgments.pool_query,
            query=topic,
            rank=rank,
            row=pair,
            n_ret=n_ret,
        )

    @cached_property
    def _original_rows(self) -> Ints:
        """The rows of the original run that each row is a copy of, by copy, query and rank."""
        rows = self._original._order
        query = self._original._query[rows]
        is_of_topics = np.isin(query, self._copies.topics)
        return np.tile(rows[is_of_topics], self._copies.number)

    @cached_property
    def _query(self) -> Ints:
        """The query of each row."""
        queries = np.arange(self.judgments.n_queries)
        return np.repeat(queries, self.hits.n_ret)

    @cached_property
    def _scores(self) -> Scores:
        """The score of each row."""
        return self._original._scores[self._original_rows]

    @cached_property
    def _position(self) -> Ints:
        """The position of each row by query and rank, which are the order of the rows."""
        return np.arange(len(self._original_rows))

    @cached_property
    def _docnos(self) -> Texts:
        """The document of each row."""
        return self._original._docnos.take(self._original_rows)

    @cached_property
    def source(self) -> Run:
        """The copies as a run."""
        scores = self._scores.astype(np.float64)
        return Run(self.judgments.qids, self._query, self._docnos, scores)


@dataclass(frozen=True, eq=False)
class _RunRows:
    """Rows of a run: their queries (as positions in the judgments), documents and scores."""

    query: Ints
    docnos: Texts
    scores: Scores

    @cached_property
    def begins_of_blocks(self) -> Ints:
        """The first row of each block of adjacent rows of the same query."""
        return heads(self.query)

    def take(self, kept: Bools) -> _RunRows:
        """Return the rows of a mask."""
        return _RunRows(self.query[kept], self.docnos.take(kept), self.scores[kept])


def _judged_hits(
    judgments: Judgments, query: Ints, pool_row: Ints, position: Ints, n_ret: Ints
) -> Hits:
    """Return the judged documents by query and rank.

    Parameters
    ----------
    judgments : Judgments
        The judged pairs.
    query : ndarray of int, shape (n_rows,)
        The query of each row of the run.
    pool_row : ndarray of int, shape (n_rows,)
        The judged pair of each row, -1 if it is not judged.
    position : ndarray of int, shape (n_rows,)
        The position of each row in the order by query and rank.
    n_ret : ndarray of int, shape (n_queries,)
        The number of rows of each query.
    """
    rows = np.flatnonzero(pool_row >= 0)  # the judged ones
    is_sorted = np.all(np.diff(position[rows]) > 0)
    if not is_sorted:  # few runs are not
        by_position = np.argsort(position[rows])
        rows = rows[by_position]
    position_of_rank_1 = query_starts(n_ret)  # per query
    query_of_hit = query[rows]
    return Hits(
        judgments.n_queries,
        judgments.pool_query,
        query=query_of_hit,
        rank=position[rows] - position_of_rank_1[query_of_hit] + 1,
        row=pool_row[rows],
        n_ret=n_ret,
    )


def _round_scores(run: Run, dtype: ScoreType) -> Scores:
    """Return the scores in the precision of comparisons, with 0 instead of -0.

    Warns if 32-bit floats make many scores equal.
    """
    if dtype is np.float64:
        return run.score + np.float64(0)  # turns -0 into 0
    with np.errstate(over="ignore"):  # large scores become infinite
        short_scores = run.score.astype(np.float32)
    # Small negative scores have become -0.
    short_scores = short_scores + np.float32(0)
    _warn_of_lost_precision(run, short_scores)
    return short_scores


#: Minimum number of neighbours in a query to conclude that most scores are equal.
_MIN_PAIRS = 4


def _warn_of_lost_precision(run: Run, short_scores: NDArray[np.float32]) -> None:
    """Warn if most scores of a query differ, but are equal as 32-bit floats."""
    # Rows whose score differs from that of the next row as a 64-bit float only.
    lost = _rows_losing_difference(run, short_scores)
    if not len(lost):
        return
    affected_queries = np.flatnonzero(_is_most_lost(run, lost))
    if not len(affected_queries):
        return
    # The first row of these queries, and the row after it, are the example of the warning.
    is_of_affected = np.isin(run.query[lost], affected_queries)
    row = lost[is_of_affected][0]
    qid = run.qids[run.query[row]]
    first = float(run.score[row])
    second = float(run.score[row + 1])
    topics = number_of(len(affected_queries), "topic")
    warn_of_run(
        f"most scores of {topics} are equal as 32-bit floats, as in trec_eval, "
        f"but differ, such as {first!r} and {second!r} of topic {qid}",
        "These documents are sorted by docno. Rescale the scores, for example by their "
        "logarithm, or use scores that count down by rank",
        key=f"{qid} {first} {second}",
        group="scores as 32-bit floats",
    )


def _is_most_lost(run: Run, lost: Ints) -> Bools:
    """Return a mask of the queries of a run most of whose neighbouring scores became equal.

    `lost` are the rows whose score became equal to that of the next row.
    """
    n_queries = len(run.qids)
    n_rows = np.bincount(run.query, minlength=n_queries)
    n_lost = np.bincount(run.query[lost], minlength=n_queries)
    n_neighbours = n_rows - 1  # pairs of a row and the next one, per query
    has_enough_rows = n_neighbours >= _MIN_PAIRS
    loses_most = 2 * n_lost > n_neighbours
    is_most_lost: Bools = has_enough_rows & loses_most
    return is_most_lost


def _rows_losing_difference(run: Run, short_scores: NDArray[np.float32]) -> Ints:
    """Return the rows whose score differs from that of the next row, but not as a 32-bit float.

    Only rows of the same query are compared, and only neighbours: if most scores are equal, so are
    most neighbours, in any order of rows.
    """
    is_same_query = run.query[1:] == run.query[:-1]
    differs = run.score[1:] != run.score[:-1]
    is_equal_as_short = short_scores[1:] == short_scores[:-1]
    return np.flatnonzero(is_equal_as_short & differs & is_same_query)


def _rows_of_judged_queries(
    run: Run, judgments: Judgments, dtype: ScoreType
) -> tuple[_RunRows, int]:
    """Return the rows of a run whose query is judged, and the number of these queries."""
    scores = _round_scores(run, dtype)
    position_of_query = judgments.query_positions(run.qids)  # in the judgments, else -1
    rows = _RunRows(position_of_query[run.query], run.docnos, scores)
    n_judged_queries = int(np.count_nonzero(position_of_query >= 0))
    if n_judged_queries < len(run.qids):
        rows = rows.take(rows.query >= 0)
    return rows, n_judged_queries


def _distinct_documents(
    rows: _RunRows, judgments: Judgments, n_queries: int
) -> tuple[_RunRows, Ints]:
    """Return rows with distinct documents per query, and their judged pairs, -1 if not judged.

    Of a repeated document, the last row is kept. `rows` are those of judged queries, and
    `n_queries` is the number of these queries.
    """
    pair, hash_of_pair = judgments.pairs.lookup(rows.query, rows.docnos)
    is_last = _last_occurrences(rows, hash_of_pair, n_queries)
    if is_last is None:
        return rows, pair  # no document is repeated
    return rows.take(is_last), pair[is_last]


def _last_occurrences(rows: _RunRows, keys: Words, n_queries: int) -> Bools | None:
    """Return a mask of the last row of each query and document, and warn if others are left out.

    Parameters
    ----------
    rows : _RunRows
        The rows of judged queries.
    keys : ndarray of uint64, shape (n_rows,)
        A hash of the query and document of each row.
    n_queries : int
        The number of queries of the rows.

    Returns
    -------
    ndarray of bool, shape (n_rows,), or None
        None if no document is repeated.
    """
    # If each query has one block, as in most runs, each block can be searched alone: faster.
    begins_of_queries = None
    if len(rows.begins_of_blocks) == n_queries:
        begins_of_queries = rows.begins_of_blocks
    # A mask of the rows before another row of the same query and document.
    is_surplus = repeated_pairs(rows.query, rows.docnos, keys, begins_of_queries)
    if is_surplus is None:
        return None
    surplus = rows.docnos.take(is_surplus)
    n_surplus = len(surplus)
    examples = surplus.take(slice(3)).decode().tolist()
    surplus_rows = number_of(n_surplus, "surplus row")
    warn_of_run(
        f"repeated documents for a query, such as {examples[0]} ({surplus_rows})",
        "Each document counts once, with its last score. Drop duplicates to choose which score "
        "counts",
        key=f"{n_surplus} {examples}",  # a warning with the same key is issued only once
        group="repeated documents",
    )
    return ~is_surplus
