"""Rows of training data (labels, queries, predictions) as judgments and rankings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._numbers import spell
from .._typing import Bools, Floats, Ints, Objects
from .._validation import choice
from ..aspects import Aspects, AspectSpec, parse_aspects
from ..collection import Judgments, Rankings, Run
from ..collection.columns import DOCUMENT_COLUMNS
from ..errors import MultiAspectError, choices, number_of, tally, warn, warn_once
from ..integration import parsing
from ..integration.aggregators import aggregate_values
from ..integration.parsing import MeasureLike
from ..integration.provider import supports
from ..kernels.forms import Linear
from ..kernels.hits import Hits, positions
from ..measures import Measure, On
from ..measures.measure import inferred_views
from ..strings.order import inverse_permutation
from ..strings.texts import Texts
from .arrays import check_length, check_scores, label_frame
from .queries import document_ids, query_codes


class RowJudgments(Judgments):
    """Judgments of one document per row.

    Parameters
    ----------
    frame : DataFrame
        One column of labels per aspect.
    query : ndarray of int, shape (n_rows,)
        The query of each row, as a position in `qids`.
    qids : ndarray of str
        The queries, sorted.
    documents : ndarray of str, optional
        The document of each row; by default, documents are named by row number.
    """

    def __init__(self, frame: pd.DataFrame, query: Ints, qids: Objects, documents: Objects | None = None) -> None:
        first = np.argsort(query, kind="stable")
        self._set_arrays(frame, qids, query, first, inverse_permutation(first), documents)
        #: Whether documents have names, which may be repeated.
        self.has_documents = documents is not None

    @cached_property
    def _earliest_pair(self) -> Ints:
        """The first of the judged pairs with the query and the document of each judged pair."""
        codes = pd.factorize(self.docnos)[0]
        pairs = self.pool_query * (codes.max(initial=0) + 1) + codes
        _, first, position = np.unique(pairs, return_index=True, return_inverse=True)
        return np.asarray(first[position.ravel()], dtype=np.intp)

    def _read_labels(self, name: str) -> Floats:
        labels = super()._read_labels(name)
        if self.has_documents:
            self._refuse_conflicts(name, labels, labels, self._earliest_pair)
        return labels

    def check_distinct(self) -> None:
        """Raise an error if a document has several rows for a query."""
        if not self.has_documents:
            return
        repeated = np.flatnonzero(self._earliest_pair != np.arange(len(self)))
        if len(repeated):
            raise MultiAspectError(
                f"expected one row per query and document to evaluate rankings, got several for "
                f"{self._pair_text(int(repeated[0]))} {tally(len(repeated), 'row')}; drop duplicates. Only "
                "the rows that fit learns from may be repeated: split before oversampling"
            )

    def pair_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value per row in the order of the judged pairs."""
        return values[self._first]

    @cached_property
    def tie_keys(self) -> Ints:
        """The position of each judged pair in a fixed random order, which breaks ties."""
        return np.random.default_rng(0).permutation(len(self))

    @cached_property
    def rank(self) -> Ints:
        """The ranks in any ranking of all rows, query by query."""
        return positions(self.pool_query) + 1

    @cached_property
    def n_ret(self) -> Ints:
        """The number of rows per query."""
        return np.bincount(self.pool_query, minlength=self.n_queries)


@dataclass(frozen=True, eq=False)
class Pool:
    """The judged documents of the queries of some rows, of which the rows are a part."""

    judgments: Judgments
    #: The position of each row among the judged documents, -1 if it is not one of them. Rows are sorted by query.
    position: Ints

    @classmethod
    def from_qrels(cls, qrels: Judgments, rows: RowJudgments) -> Pool:
        """Return the judged documents of the queries of the rows, on the scales of all qrels."""
        if not rows.has_documents:
            raise MultiAspectError("qrels= needs the docno of every row: add an index level or a column docno to y")
        position = qrels.query_positions(rows.qids)
        unknown = rows.qids[position < 0]
        if len(unknown):
            raise MultiAspectError(
                f"the qrels have no judgments for {len(unknown)} of {number_of(rows.n_queries, 'query')} of the "
                f"rows, such as {unknown[0]}; check that the query ids are spelt alike, or drop these rows"
            )
        kept = np.zeros(qrels.n_queries, dtype=np.bool_)
        kept[position] = True
        judgments = qrels.take_rows(np.flatnonzero(qrels.row_values(kept[qrels.pool_query])))
        judgments.infer_scales_from(qrels)
        rows.infer_scales_from(qrels)
        if not qrels._positional:
            judgments.label_names = rows.label_names
        return cls(judgments, judgments.pairs.lookup(rows.pool_query, Texts.from_strings(rows.docnos))[0])

    def check_labels(self, rows: RowJudgments, measure: Measure) -> None:
        """Raise an error if rows have other labels than the qrels.

        Missing labels, and labels below the lowest grade, are the lowest grade.
        """
        for view, judged in zip(measure.views(rows), measure.views(self.judgments), strict=True):
            lowest = judged.scale.grades[0]
            better = np.fmax if judged.scale.greater_is_better else np.fmin  # which ignore NaN
            known = np.append(better(judged.label, lowest), lowest)[self.position]
            labels = better(view.label, lowest)
            differing = np.flatnonzero(labels != known)
            if len(differing):
                row = int(differing[0])
                raise MultiAspectError(
                    f"expected y to have the labels of the qrels, got the {view.name} label {spell(labels[row])} "
                    f"for {rows._pair_text(row)}, which the qrels "
                    + ("do not judge" if self.position[row] < 0 else f"label {spell(known[row])}")
                    + f" {tally(len(differing), 'row')}; take the labels of the rows from the qrels"
                )


class RowRankings(Rankings):
    """The rankings of all rows by their predictions, compared as 64-bit floats.

    Tied rows are in a fixed random order, which does not depend on labels.

    Parameters
    ----------
    rows : RowJudgments
        The rows.
    scores : ndarray of float, shape (n_rows,)
        The predictions, in the order of the rows.
    pool : Pool, optional
        The judged documents, if they are not those of the rows.
    """

    #: Whether linear bases have their expected value over all orders of tied rows.
    _is_expectation = False

    def __init__(self, rows: RowJudgments, scores: Floats, pool: Pool | None = None) -> None:
        self.rows = rows
        scores = rows.pair_values(scores) + 0.0  # -0 and 0 are tied
        query = rows.pool_query
        #: The rows, query by query in the order of their ranks.
        self._ranked_rows: Ints = self._descending_order(scores)
        ranked = scores[self._ranked_rows]
        #: Whether each ranked row is tied with the next one.
        self.tied: Bools = (ranked[1:] == ranked[:-1]) & (query[1:] == query[:-1])
        self._break_ties()
        #: The rankings with all rows as hits.
        self._all_hits = Hits(rows.n_queries, query, query, rows.rank, self._ranked_rows, rows.n_ret)
        #: The position of each ranked row among the judged documents, -1 if it is not one of them.
        self._judged_rows: Ints = self._ranked_rows if pool is None else pool.position[self._ranked_rows]
        judgments: Judgments = rows
        hits = self._all_hits
        if pool is not None:
            judgments, known = pool.judgments, self._judged_rows >= 0
            hits = replace(hits.select(known), pool_query=judgments.pool_query, row=self._judged_rows[known])
        self._set_arrays(judgments, query, scores, inverse_permutation(self._ranked_rows), hits, rows.n_queries)

    def _break_ties(self) -> None:
        """Sort tied rows by their keys, whose drawing takes as long as the rest for a million rows."""
        if not self.tied.any():
            return
        tied = np.append(self.tied, False) | np.append(False, self.tied)
        group = np.cumsum(np.append(False, ~self.tied))[tied]
        rows = self._ranked_rows[tied]
        self._ranked_rows[tied] = rows[np.argsort(group * len(tied) + self.rows.tie_keys[rows])]

    def _descending_order(self, scores: Floats) -> Ints:
        """Return the stable order of the scores within queries, which are contiguous."""
        n_ret, rank = self.rows.n_ret, self.rows.rank
        width = int(n_ret.max(initial=0))
        if len(n_ret) * width > 4 * len(scores):
            return np.lexsort((-scores, self.rows.pool_query))
        # Sorting the rows of a matrix is faster than sorting by two keys.
        table = np.full((len(n_ret), width), np.inf)
        filled = np.arange(width) < n_ret[:, None]
        table[filled] = -scores
        order: Ints = np.argsort(table, axis=1, kind="stable")[filled]
        begins = np.arange(len(rank)) - rank + 1
        return order + begins

    @cached_property
    def _docnos(self) -> Texts:
        return Texts.from_strings(self.rows.docnos)

    @cached_property
    def source(self) -> Run:
        """The rows as a run."""
        return Run(self.rows.qids, self.rows.pool_query, self._docnos, np.asarray(self._scores, dtype=np.float64))

    @property
    def is_constant(self) -> bool:
        """Whether the predictions are equal in every query, and some query has two or more rows."""
        several = self.rows.n_ret.max(initial=0) > 1
        return bool(several and self.tied.sum() == len(self._ranked_rows) - np.count_nonzero(self.rows.n_ret))

    @cached_property
    def expectation(self) -> RowRankings:
        """The same rankings, with expected values of linear bases over tied rows."""
        result = copy(self)  # without the cached results
        result._is_expectation = True
        return result

    def compute_once(self, key: Any, make: Any) -> Any:
        """Return the result of `make`, or the expected value of a linear base."""
        if self._is_expectation and isinstance(key, tuple) and key[0] == "base":
            _, base, target = key
            return super().compute_once(key, lambda: self._expected_value(base, base.additive(target)))
        return super().compute_once(key, make)

    def _expected_value(self, base: Any, form: Linear) -> Floats:
        """Return the value of a linear form if tied rows have the mean of their gains."""
        group = np.cumsum(np.append(False, ~self.tied))
        gain = np.append(np.asarray(form.gain, dtype=np.float64), form.unjudged)[self._judged_rows]
        mean = np.bincount(group, weights=gain) / np.bincount(group)
        shared = np.empty(len(gain))
        shared[self._ranked_rows] = mean[group]
        values: Floats = np.minimum(replace(form, gain=shared, unjudged=0.0).values(self._all_hits), base.RANGE[1])
        return values


class LabelledRows:
    """Rows of training data as a collection: one document per row, with the columns of y as judgments.

    Parameters
    ----------
    y : DataFrame or array-like of shape (n_rows,) or (n_rows, n_aspects)
        One column of labels per aspect.
    qid : array-like of shape (n_rows,)
        The query of each row. Rows of a query need not be contiguous.
    aspects : Aspects, mapping, str, sequence of str, optional
        Names of the columns of an array, or the columns to select from a frame.
    measure : measure, optional
        The measure whose aspect is the name of the column of a single-column array.
    qrels : Judgments, optional
        Judgments of these and further documents, which define ideal rankings and numbers of relevant documents.
    """

    def __init__(
        self, y: object, qid: object, aspects: object = None, measure: object = None, qrels: Judgments | None = None
    ) -> None:
        frame = label_frame(y, aspects, measure)
        query, qids = query_codes(check_length(qid, len(frame), "qid"))
        #: The labels, one column per aspect, with row numbers as index.
        self.frame = frame.reset_index(drop=True)
        self.judgments = RowJudgments(self.frame, query, qids, document_ids(frame))
        self._qrels = qrels
        self.pool = None if qrels is None else Pool.from_qrels(qrels, self.judgments)
        self.names = list(frame.columns)

    def __len__(self) -> int:
        return len(self.judgments)

    @property
    def queries(self) -> Objects:
        """The query of each row."""
        return self.judgments.row_values(self.judgments.qids[self.judgments.pool_query])

    def take(self, kept: Ints) -> LabelledRows:
        """Return some rows, on the scales of all rows."""
        rows, frame = self.judgments, self.frame.iloc[kept]
        if rows.has_documents:
            documents = rows.row_values(rows.docnos)[kept]
            frame = frame.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))
        part = LabelledRows(frame, self.queries[kept], qrels=self._qrels)
        part.judgments.infer_scales_from(self.judgments)
        return part

    def share_scales(self, fitted: pd.DataFrame) -> None:
        """Infer undeclared scales from the labels of a fit, too."""
        self.judgments.infer_scales_from(_label_judgments(pd.concat([fitted, self.frame], ignore_index=True)))

    def warn_of_further_grades(self, measure: Measure, fitted: pd.DataFrame) -> None:
        """Warn if an undeclared scale of a measure has grades that do not follow from the labels of a fit."""
        views = measure.views(self.judgments)
        if not all(view.name in fitted.columns for view in views):
            return
        scales = {view.name: view.scale for view in measure.views(_label_judgments(fitted))}
        for view in inferred_views(measure, views):
            name, scale, before = view.name, view.scale, scales[view.name]
            if scale.grades.tolist() != before.grades.tolist():
                warn_once(
                    f"{measure.NAME}: the grades of {name} are {scale}, as inferred from these labels and those of "
                    f"fit, which alone gave {before}; the value cannot be compared with those on that scale, such "
                    "as evals_result_. Declare the scales, as in aspects={…}",
                    key=f"grades of {name} beyond {before}: {scale}",
                )

    def rankings(self, scores: object) -> RowRankings:
        """Return the rankings by predictions of the rows."""
        return RowRankings(self.judgments, check_scores(scores, len(self)), self.pool)

    @staticmethod
    def values(measure: Measure, rankings: RowRankings) -> Floats:
        """Return the value of each query: the expectation over ties if the measure is linear."""
        if rankings.tied.any():
            judgments = rankings.judgments
            if judgments.compute_once(("linear", measure), lambda: _has_linear_terms(measure, judgments)):
                rankings = rankings.expectation
        return measure.evaluate(rankings)

    def evaluate(self, measure: Measure, rankings: RowRankings) -> float:
        """Return the aggregate over queries."""
        if not len(self):
            raise MultiAspectError(f"expected at least one row to evaluate {measure}, got 0 rows")
        return aggregate_values(measure, self.values(measure, rankings).tolist())


def _label_judgments(labels: pd.DataFrame) -> RowJudgments:
    """Return labels as judgments of a single query, from which scales are inferred."""
    return LabelledRows(labels, np.zeros(len(labels), dtype=np.intp)).judgments


def _has_linear_terms(measure: Measure, judgments: Judgments) -> bool:
    """Return whether a measure is a weighted sum of bases that are discounted sums of gains."""
    terms = measure.terms(judgments) if measure.stated.is_weighted_sum else []
    return bool(terms) and all(isinstance(term.base.additive(term.target), Linear) for term in terms)


def warn_if_constant(rankings: RowRankings, what: str) -> None:
    """Warn about predictions that are constant within queries, or that cannot differ within them."""
    warn_of_single_rows(rankings.rows, what)
    if rankings.is_constant:
        warn(
            f"{what}: the predictions are equal within every query, so they rank nothing; the value is that of a "
            "random order. Check the features, the regularisation and the number of iterations"
        )


def warn_of_single_rows(rows: RowJudgments, what: str) -> None:
    """Warn about several queries of one row each."""
    if rows.n_queries > 1 and rows.n_ret.max() == 1:
        warn(
            f"{what}: every query has one row, so there is nothing to rank; the value is the same for all "
            "predictions. Pass as qid the query of each row, not the number of the row"
        )


def check_known(missing: str, measure: Measure, judgments: Judgments, where: str = "y", remedy: str = "") -> None:
    """Raise an error for missing labels of the aspects of a measure, unless `missing` is ``'lowest'``.

    Parameters
    ----------
    missing : {'error', 'lowest'}
        Whether missing labels are an error or count as the lowest grade.
    measure : Measure
        The measure whose aspects are checked.
    judgments : Judgments
        The labels.
    where : str
        The subject of the message, which lacks labels.
    remedy : str
        Text added to "pass missing='lowest'" in the message.
    """
    if choice("missing", "error", "lowest")(missing) == "lowest":
        return
    for view in measure.views(judgments):
        n_missing = int((~view.known).sum())
        if n_missing:
            raise MultiAspectError(
                f"{where} has no {view.name} label in {n_missing} of {len(judgments)} rows (NaN); drop these rows, "
                f"or pass missing='lowest'{remedy} to treat them as the lowest grade"
            )


class EvaluatedMeasure:
    """A measure with the scales, the qrels and the handling of missing labels for the rows that it evaluates."""

    def __init__(
        self, measure: MeasureLike, aspects: object = None, missing: str = "error", qrels: object = None
    ) -> None:
        self.aspects: AspectSpec = parse_aspects(aspects)
        self.missing = missing
        self.qrels = None if qrels is None else Judgments.of(qrels)
        self._scales = self.aspects if isinstance(self.aspects, Aspects) else None
        self.measure = with_scales(parsing.parse_one(measure), self.aspects)
        self._measure_on("relevance").validate_params()

    def _measure_on(self, aspect: str, scales: Aspects | None = None) -> Measure:
        """Return the measure itself, or for a single-aspect measure, the measure on an aspect."""
        on = getattr(self.measure, "on", None)  # a method of this package's measures
        measure: Measure = (
            On(aspect=aspect, base=self.measure, aspects=scales) if on is None else on(aspect, scales)
        )
        return measure

    def rows(self, y: Any, qid: Any) -> LabelledRows:
        """Return the rows of y."""
        return LabelledRows(y, qid, self.aspects, self.measure, self.qrels)

    def bind(self, rows: LabelledRows) -> Measure:
        """Return the measure itself, or a single-aspect measure on relevance or on the only column."""
        aspect = rows.names[0] if len(rows.names) == 1 else "relevance"
        measure = self._measure_on(aspect, self._scales)
        if measure is not self.measure and aspect not in rows.names:
            raise MultiAspectError(
                f"{self.measure} scores the aspect relevance, but y has the columns {choices(rows.names)}; "
                f"choose one, as in On(aspect={rows.names[0]!r}, base={str(self.measure)!r})"
            )
        check_known(self.missing, measure, rows.judgments)
        rows.judgments.check_distinct()
        if rows.pool is not None:
            rows.pool.check_labels(rows.judgments, measure)
        return measure


def with_scales(measure: Any, aspects: AspectSpec) -> Any:
    """Return a measure with the declared scales of its aspects, unless it has scales itself."""
    return measure.declare(aspects) if isinstance(aspects, Aspects) and supports(measure) else measure
