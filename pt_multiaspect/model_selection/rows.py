"""Rows of training data (labels, queries, predictions) as judgments and rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._numbers import spell
from .._typing import Bools, Floats, Ints
from .._validation import choice
from ..aspects.aspects import Aspects, aspect_name
from ..aspects.parameter import AspectSpec, parse_aspects
from ..collection.columns import DOCUMENT_COLUMNS, QUERY_COLUMNS
from ..collection.frames import materialise, plain_column, to_pandas
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..collection.run import Run
from ..errors import MultiAspectError, choices, number_of, tally, warn, warn_once
from ..integration import parsing
from ..integration.aggregators import aggregate_values
from ..integration.provider import supports
from ..kernels.forms import Linear
from ..kernels.hits import Hits, positions
from ..measures import Measure, On
from ..strings.identifiers import identifiers
from ..strings.order import inverse_permutation
from ..strings.texts import Texts

#: The remedy for rows without queries, after "pass qid, or".
ADD_QID = "add an index level or a column qid to y or X"


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

    def __init__(
        self,
        frame: pd.DataFrame,
        query: Ints,
        qids: NDArray[np.object_],
        documents: NDArray[np.object_] | None = None,
    ) -> None:
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
        judgments = qrels.select_queries(kept)
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
        scores = np.asarray(self._scores, dtype=np.float64)
        return Run(self.rows.qids, self.rows.pool_query, self._docnos, scores)

    @property
    def is_constant(self) -> bool:
        """Whether the predictions are equal in every query, and some query has two or more rows."""
        several = self.rows.n_ret.max(initial=0) > 1
        return bool(several and self.tied.sum() == len(self._ranked_rows) - np.count_nonzero(self.rows.n_ret))

    @cached_property
    def expectation(self) -> RowRankings:
        """The same rankings, with expected values of linear bases over tied rows."""
        result = copy(self)  # without the cached results
        result.__dict__.pop("expectation", None)
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
        self,
        y: object,
        qid: object,
        aspects: object = None,
        measure: object = None,
        qrels: Judgments | None = None,
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
    def queries(self) -> NDArray[np.object_]:
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
        for view in measure.inferred_views(views):
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
    terms = measure.terms(judgments) if measure.IS_WEIGHTED_SUM else []
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
        self,
        measure: ir_measures.Measure | str,
        aspects: object = None,
        missing: str = "error",
        qrels: object = None,
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


# -- arrays ------------------------------------------------------------------------------------------


def fill_masked(values: object) -> NDArray[Any]:
    """Return values as an array in which masked elements are NaN."""
    values = plain_column(values)
    if isinstance(values, list | tuple) and any(isinstance(value, np.ma.MaskedArray) for value in values):
        values = np.ma.array(values)
    if not np.ma.is_masked(values):
        return np.asarray(values)
    masked: Any = np.ma.asarray(values)
    dtype = np.result_type(masked.dtype, np.float64) if masked.dtype.kind in "biufc" else np.dtype(object)
    return np.asarray(np.ma.filled(masked.astype(dtype), np.nan))


def _flatten_column(values: object) -> NDArray[Any]:
    """Return values as an array, which has one dimension if they are a single column."""
    array = fill_masked(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_length(values: object, n_rows: int, what: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional array of `n_rows` elements."""
    array = _flatten_column(values)
    if array.ndim != 1 or len(array) != n_rows:
        raise MultiAspectError(f"{what}: expected one value for each of {n_rows} rows, got shape {array.shape}")
    return array


def as_numbers(values: object, what: str) -> Floats:
    """Return values as floats, or raise an error that starts with `what`."""
    array = fill_masked(values)
    if np.iscomplexobj(array):
        raise MultiAspectError(f"{what}: expected real numbers, got {array.dtype}; pass their real part or modulus")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"{what}: expected numbers: {error}") from None


def check_scores(scores: object, n_rows: int) -> Floats:
    """Return predictions as one number per row, without NaN."""
    values = as_numbers(check_length(scores, n_rows, "predictions"), "predictions")
    n_nan = int(np.isnan(values).sum())
    if n_nan:
        raise MultiAspectError(f"{n_nan} of {n_rows} predictions are NaN; expected numbers to rank by")
    return values


def weight_per_query(weights: object, query: Ints, n_queries: int) -> Floats:
    """Return the weight of each query, given those of its rows, which are equal; 0 for queries without rows."""
    numbers = as_numbers(weights, "sample_weight")
    query_weights = np.zeros(n_queries)
    query_weights[query] = numbers
    n_varying = np.count_nonzero(query_weights[query] != numbers)
    if n_varying:
        raise MultiAspectError(
            "expected sample_weight to be constant within queries, as there is one weight per query; it varies in "
            f"{n_varying} rows"
        )
    return query_weights


def label_frame(
    y: object, aspects: object = None, measure: Any = None, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the labels as a frame with one column per aspect, and the index of y or its column docno.

    Parameters
    ----------
    y : DataFrame or array-like of shape (n_rows,) or (n_rows, n_aspects)
        One column of labels per aspect.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names of the columns of an array, or the columns to select from a frame.
    measure : measure, optional
        The measure whose aspect is the name of a single column without a name.
    columns : sequence of str, optional
        Names of the columns of an array with as many columns, unless `aspects` are given.
    """
    declared = parse_aspects(aspects)
    y = materialise(y)
    frame = to_pandas(y)
    if frame is not None:
        documents = next((frame[name] for name in DOCUMENT_COLUMNS if name in frame.columns), None)
        frame = frame.drop(columns=[name for name in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS) if name in frame.columns])
        frame.columns = pd.Index([aspect_name(column) for column in frame.columns])
        missing = [name for name in declared or () if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"y has no column for the aspect {choices(missing)}; its columns are {choices(frame.columns)}"
            )
        if declared is not None:
            frame = frame[list(declared)]
        return frame if documents is None else frame.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))
    if isinstance(y, Mapping):
        raise MultiAspectError("y: expected an array or a frame of labels, got a dict; pass pd.DataFrame(y)")
    if hasattr(y, "toarray"):
        raise MultiAspectError("y: expected an array or a frame of labels, got a sparse one; pass y.toarray()")
    array = fill_masked(y)
    if np.iscomplexobj(array):
        raise MultiAspectError(f"Complex data not supported: expected real labels in y, got {array.dtype}")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise MultiAspectError(f"y: expected one column of labels per aspect, got {array.ndim} dimensions")
    n_columns = array.shape[1]
    if declared is None and len(columns) == n_columns:
        declared = tuple(columns)
    if declared is None:
        spec = getattr(measure, "spec", None)
        # The order of the aspects of a measure is not that of several columns.
        if isinstance(spec, Aspects) and (n_columns == 1 or n_columns != len(spec)):
            declared = spec
        elif n_columns == 1:
            name = getattr(y, "name", None)  # of a series of pandas or Polars
            if not isinstance(name, str) or not name:
                name = measure["aspect"] if "aspect" in getattr(measure, "SUPPORTED_PARAMS", ()) else "relevance"
            declared = (name,)
        else:
            raise MultiAspectError(
                f"y has {n_columns} columns without names; pass aspects=[...] with {n_columns} names, or pass y as "
                "a DataFrame (RFE, RFECV and BaggingRegressor make arrays of data frames: there, pass aspects)"
            )
    names = [aspect_name(name) for name in declared]
    if len(names) != n_columns:
        remedy = ". pt.ltr passes the column label alone: train on aggregate_labels(qrels, measure)"
        raise MultiAspectError(
            f"y has {number_of(n_columns, 'column')}, but there are {len(names)} aspects: {choices(names)}"
            + (remedy if n_columns == 1 else "")
        )
    return pd.DataFrame(array, columns=names, index=y.index if isinstance(y, pd.Series) else None)


# -- queries -----------------------------------------------------------------------------------------


def query_codes(queries: NDArray[Any]) -> tuple[Ints, NDArray[np.object_]]:
    """Return the query of each row as a position in the sorted names of the queries, and these names."""
    codes, distinct = pd.factorize(queries)
    if (codes < 0).any():
        identifiers(pd.Series(queries, name="value"), "qid")  # raises the error
    names = identifiers(pd.Series(distinct, name="value"), "qid")
    sorted_codes, sorted_names = pd.factorize(names, sort=True)
    return sorted_codes[codes], np.asarray(sorted_names, dtype=object)


def rows_per_query(queries: NDArray[Any]) -> dict[str, int]:
    """Return the number of rows of each query."""
    codes, names = query_codes(queries)
    return dict(zip(names.tolist(), np.bincount(codes).tolist(), strict=True))


def require_queries(
    owner: str, y: object, X: object, qid: object, reference: str = "y", how: str = "qid", **others: object
) -> NDArray[Any]:
    """Return the query of each row, or raise an error that starts with `owner`; see `find_queries`."""
    queries = find_queries(y, X, qid, reference, **others)
    if queries is None:
        raise MultiAspectError(f"{owner} needs the query of every row: pass {how}, or {ADD_QID}")
    return queries


def find_queries(y: object, X: object, qid: object, reference: str = "y", **others: object) -> NDArray[Any] | None:
    """Return the query of each row from `qid`, or from the index or a column qid (query_id) of y, or qid of X.

    Parameters
    ----------
    y, X, qid : object
        The labels, features and queries.
    reference : str, default 'y'
        The name of `y`, in messages.
    **others : object
        Objects with the same rows, by name.

    Raises
    ------
    MultiAspectError
        If pandas objects have the same rows in another order, or a row has several queries.
    """
    sources = {reference: y, "X": X, "qid": qid, **others}
    queries = {name: _level_or_column(rows, "qid") for name, rows in sources.items()}
    if queries[reference] is None:  # as in qrels, where X may have a feature of this name
        queries[reference] = _level_or_column(y, *QUERY_COLUMNS)
    for (first, source), (name, rows) in combinations(sources.items(), 2):
        if _is_rearranged(getattr(source, "index", None), getattr(rows, "index", None)):
            raise MultiAspectError(
                f"the index of {name} has the elements of the index of {first} in a different order, but rows "
                "are matched by position; sort the rows of both in the same way, or pass "
                f"{name}.to_numpy() if they already are"
            )
        _check_same_queries(first, queries[first], name, queries[name])
    known = [named for named in (queries[reference], queries["X"]) if named is not None]
    if qid is None:
        return known[0] if known else None
    passed = _flatten_column(qid)
    for named in known:
        _check_same_queries("the index", named, "qid", passed)
    return passed


def _is_rearranged(index: object, other: object) -> bool:
    """Return whether two pandas indexes have the same elements, with equal counts, in a different order."""
    if not isinstance(index, pd.Index) or not isinstance(other, pd.Index):
        return False
    if len(index) != len(other) or index.nlevels != other.nlevels or not len(index) or index.equals(other):
        return False
    codes = pd.factorize(index.append(other))[0] + 1  # missing elements are 0
    first, second = codes[: len(index)], codes[len(index) :]
    return bool((first != second).any()) and np.array_equal(np.sort(first), np.sort(second))


def document_ids(source: object) -> NDArray[np.object_] | None:
    """Return the index level or column docno of a pandas object or frame, as strings."""
    values = _level_or_column(source, *DOCUMENT_COLUMNS)
    return None if values is None else identifiers(pd.Series(values, name=DOCUMENT_COLUMNS[0]), "y")


def _level_or_column(source: object, *names: str) -> NDArray[Any] | None:
    """Return the index level or the column of a pandas object or frame with one of the names."""
    frame = to_pandas(source)  # PyArrow tables also keep the pandas index
    index = getattr(source if frame is None else frame, "index", None)
    for name in names:
        if isinstance(index, pd.Index) and name in index.names:
            return index.get_level_values(name).to_numpy()
        if frame is not None and name in frame.columns:
            return frame[name].to_numpy()
    return None


def _check_same_queries(
    reference: str, queries: NDArray[Any] | None, name: str, others: NDArray[Any] | None
) -> None:
    """Raise an error if the rows of two objects have different queries."""
    if queries is None or others is None or queries.shape != others.shape or queries.ndim != 1:
        return
    if pd.isna(queries).any() or pd.isna(others).any():
        return  # reported when the queries are read
    (codes, names), (other_codes, other_names) = query_codes(queries), query_codes(others)
    differing = np.flatnonzero(names[codes] != other_names[other_codes])
    if not len(differing):
        return
    n_pairs = len(np.unique(codes * len(other_names) + other_codes))
    # Queries may be numbered in one of the two, as XGBoost requires.
    if not set(names) & set(other_names) and n_pairs == len(names) == len(other_names):
        return
    row = differing[0]
    raise MultiAspectError(
        f"expected {reference} and {name} to have the same qid in each row, got {names[codes[row]]} and "
        f"{other_names[other_codes[row]]} in row {row} (counted from 0); rows are matched by position: sort the "
        "rows of both in the same way"
    )
