"""Rows of training data: labels and queries, on which measures evaluate predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from ir_measures import Measure as AnyMeasure

from .._typing import Floats, Ints, Objects
from .._validation import choice
from ..aspects import Aspects, AspectSpec, parse_aspects
from ..collection import Judgments
from ..errors import MultiAspectError, choices, warn, warn_once
from ..integration import parsing
from ..integration.aggregators import aggregate_values
from ..integration.parsing import MeasureLike
from ..integration.provider import supports
from ..kernels.forms import Linear
from ..measures import Measure, On
from ..measures.measure import inferred_views
from ..measures.toma import warn_of_missing_gates
from .arrays import check_length, check_scores, label_frame
from .queries import find_documents, query_codes
from .row_judgments import Pool, RowJudgments
from .row_rankings import RowRankings


class LabelledRows:
    """Rows of training data as a collection: a document per row, judged by the columns of y.

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
        Judgments of these and further documents, which define ideal rankings and numbers of
        relevant documents.
    documents : ndarray of str, optional
        The document of each row; by default, the index level or column docno of y.
    """

    def __init__(
        self,
        y: object,
        qid: object,
        aspects: object = None,
        measure: object = None,
        qrels: Judgments | None = None,
        documents: Objects | None = None,
    ) -> None:
        frame = label_frame(y, aspects, measure)
        n_rows = len(frame)
        query, qids = query_codes(check_length(qid, n_rows, "qid"))
        if documents is None:
            documents = find_documents(y=frame)
        else:
            check_length(documents, n_rows, "docno")
        #: The labels, one column per aspect, with row numbers as index.
        self.frame = frame.reset_index(drop=True)
        self.judgments = RowJudgments(self.frame, query, qids, documents)
        self._qrels = qrels
        #: The judged documents, if they are not those of the rows.
        self.pool: Pool | None = None
        if qrels is not None:
            self.pool = Pool.from_qrels(qrels, self.judgments)
        #: The aspects of the columns.
        self.names = list(frame.columns)

    def __len__(self) -> int:
        return len(self.judgments)

    @property
    def queries(self) -> Objects:
        """The query of each row."""
        query_of_pair = self.judgments.qids[self.judgments.pool_query]
        return self.judgments.row_values(query_of_pair)

    def take(self, kept: Ints) -> LabelledRows:
        """Return some rows, given by position, on the scales of all rows."""
        labels = self.frame.iloc[kept]
        queries = self.queries[kept]
        # Judgments are sorted by query: `row_values` brings them to the order of the rows.
        judgments = self.judgments
        documents = None
        if judgments.has_documents:
            document_of_row = judgments.row_values(judgments.docnos)
            documents = document_of_row[kept]
        part = LabelledRows(labels, queries, qrels=self._qrels, documents=documents)
        # Undeclared scales would otherwise follow from the labels of these rows alone.
        part.judgments.infer_scales_from(judgments)
        return part

    def share_scales(self, fitted: pd.DataFrame) -> None:
        """Infer undeclared scales from the labels of a fit, too."""
        all_labels = pd.concat([fitted, self.frame], ignore_index=True)
        self.judgments.infer_scales_from(_label_judgments(all_labels))

    def warn_of_further_grades(self, measure: Measure, fitted: pd.DataFrame) -> None:
        """Warn if an undeclared scale has grades that do not follow from the labels of a fit."""
        views = measure.views(self.judgments)
        has_fitted_aspects = all(view.name in fitted.columns for view in views)
        if not has_fitted_aspects:
            return
        fitted_scales = {}
        for view in measure.views(_label_judgments(fitted)):
            fitted_scales[view.name] = view.scale
        for view in inferred_views(measure, views):
            scale = view.scale
            fitted_scale = fitted_scales[view.name]
            if scale.grades.tolist() == fitted_scale.grades.tolist():
                continue
            warn_once(
                f"{measure.NAME}: the grades of {view.name} are {scale}, as inferred from these "
                f"labels and those of fit, which alone gave {fitted_scale}; the value cannot be "
                "compared with those on that scale, such as evals_result_. Declare the scales, "
                "as in aspects={…}",
                key=f"grades of {view.name} beyond {fitted_scale}: {scale}",
            )

    def rankings(self, scores: object) -> RowRankings:
        """Return the rankings by predictions of the rows."""
        return RowRankings(self.judgments, check_scores(scores, len(self)), self.pool)

    @staticmethod
    def values(measure: Measure, rankings: RowRankings) -> Floats:
        """Return the value of each query.

        With tied rows, it is the expected value over their orders if the measure is linear, else
        the value of one order.
        """
        warn_of_missing_gates([measure], rankings.judgments)
        if not rankings.tied.any():
            return measure.evaluate(rankings)
        judgments = rankings.judgments
        has_linear_terms = judgments.compute_once(
            ("linear", measure), lambda: _has_linear_terms(measure, judgments)
        )
        if has_linear_terms:
            return measure.evaluate(rankings.expectation)
        return measure.evaluate(rankings.break_ties(measure))

    def evaluate(self, measure: Measure, rankings: RowRankings, source: AnyMeasure) -> float:
        """Return the aggregate over queries of `source`, of which `bind` made the measure."""
        n_rows = len(self)
        if n_rows == 0:
            raise MultiAspectError(f"expected at least one row to evaluate {measure}, got 0 rows")
        query_values = self.values(measure, rankings)
        return aggregate_values(source, query_values.tolist())


def _label_judgments(labels: pd.DataFrame) -> RowJudgments:
    """Return labels as judgments of a single query, from which scales are inferred."""
    return LabelledRows(labels, np.zeros(len(labels), dtype=np.intp)).judgments


def _has_linear_terms(measure: Measure, judgments: Judgments) -> bool:
    """Return whether a measure is a weighted sum of bases that are discounted sums of gains."""
    if not measure.stated.is_weighted_sum:
        return False
    terms = measure.terms(judgments)
    for term in terms:
        form = term.base.additive(term.target)
        if not isinstance(form, Linear):
            return False
    return len(terms) > 0


def warn_if_constant(rankings: RowRankings, what: str) -> None:
    """Warn about predictions that are constant within queries, or that cannot differ within them.

    The message starts with `what`.
    """
    warn_of_single_rows(rankings.rows, what)
    if rankings.is_constant:
        warn(
            f"{what}: the predictions are equal within every query, so they rank nothing; the "
            "value is that of a random order. Check the features, the regularisation and the "
            "number of iterations"
        )


def warn_of_single_rows(rows: RowJudgments, what: str) -> None:
    """Warn about several queries of one row each; the message starts with `what`."""
    if rows.n_queries > 1 and rows.n_ret.max() == 1:
        warn(
            f"{what}: every query has one row, so there is nothing to rank; the value is the same "
            "for all predictions. Pass as qid the query of each row, not the number of the row"
        )


def check_known(
    missing: str, measure: Measure, judgments: Judgments, where: str = "y", remedy: str = ""
) -> None:
    """Raise an error for missing labels of a measure's aspects, unless `missing` is 'lowest'.

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
    parse_missing = choice("missing", "error", "lowest")
    if parse_missing(missing) == "lowest":
        return
    for view in measure.views(judgments):
        n_missing = int((~view.known).sum())
        if n_missing:
            raise MultiAspectError(
                f"{where} has no {view.name} label in {n_missing} of {len(judgments)} rows (NaN); "
                f"drop these rows, or pass missing='lowest'{remedy} to treat them as the lowest "
                "grade"
            )


class EvaluatedMeasure:
    """A measure with scales, qrels and the handling of missing labels for rows."""

    def __init__(
        self,
        measure: MeasureLike,
        aspects: object = None,
        missing: str = "error",
        qrels: object = None,
    ) -> None:
        self.aspects: AspectSpec = parse_aspects(aspects)
        self.missing = missing
        self.qrels: Judgments | None = None
        if qrels is not None:
            self.qrels = Judgments.of(qrels)
        #: The declared scales, if the aspects have any.
        self._scales: Aspects | None = None
        if isinstance(self.aspects, Aspects):
            self._scales = self.aspects
        self.measure = with_scales(parsing.parse_one(measure), self.aspects)
        # Invalid parameters raise their error at once, not when rows are scored. A measure of a
        # single aspect needs one for that, and any name serves.
        example = self._measure_on("relevance")
        example.validate_params()

    def _measure_on(self, aspect: str, scales: Aspects | None = None) -> Measure:
        """Return the measure itself, or for a single-aspect measure, the measure on an aspect."""
        # Only measures of this package have the method `on`.
        measure_on = getattr(self.measure, "on", None)
        if measure_on is None:
            return On(aspect=aspect, base=self.measure, aspects=scales)
        measure: Measure = measure_on(aspect, scales)
        return measure

    def rows(self, y: Any, qid: Any, documents: Objects | None = None) -> LabelledRows:
        """Return the rows of y."""
        return LabelledRows(y, qid, self.aspects, self.measure, self.qrels, documents)

    def bind(self, rows: LabelledRows) -> Measure:
        """Return the measure for the rows: itself, or if it has no aspects, the measure on one.

        That is the only column of the rows, or relevance. Raise an error if the rows lack its
        labels, or do not fit the qrels.
        """
        if len(rows.names) == 1:
            aspect = rows.names[0]
        else:
            aspect = "relevance"
        measure = self._measure_on(aspect, self._scales)
        is_on_aspect = measure is not self.measure  # else it has aspects itself
        if is_on_aspect and aspect not in rows.names:
            raise MultiAspectError(
                f"{self.measure} scores the aspect relevance, but y has the columns "
                f"{choices(rows.names)}; "
                f"choose one, as in On(aspect={rows.names[0]!r}, base={str(self.measure)!r})"
            )
        check_known(self.missing, measure, rows.judgments)
        rows.judgments.check_distinct()
        if rows.pool is not None:
            rows.pool.check_labels(rows.judgments, measure)
        return measure


def with_scales(measure: Any, aspects: AspectSpec) -> Any:
    """Return a measure with the declared scales of its aspects, unless it has scales itself."""
    if isinstance(aspects, Aspects) and supports(measure):
        return measure.declare(aspects)
    return measure
