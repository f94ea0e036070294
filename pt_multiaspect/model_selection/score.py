"""Scores of predictions in the style of ``sklearn.metrics``."""

from __future__ import annotations

import ir_measures
import numpy as np
import pandas as pd
from ir_measures.measures import MeanAgg
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .._validation import choice
from ..collection.frames import in_memory
from ..errors import MultiAspectError
from .labels import LabelledRows, aggregated, as_numbers, check_known, check_length, find_qid
from .row_order import check_order
from .scorer import RankingScorer

__all__ = ["ranking_score"]


def ranking_score(
    y_true: object,
    y_score: object,
    *,
    measure: ir_measures.Measure | str,
    qid: object = None,
    aspects: object = None,
    sample_weight: object = None,
    missing: str = "error",
    per_query: bool = False,
) -> float | pd.Series[float]:
    """Evaluate the rankings given by predictions with a measure.

    Parameters
    ----------
    y_true : DataFrame or array-like of shape (n_rows,) or (n_rows, n_aspects)
        One row per (query, document) pair, in any order, with one column of labels per aspect. Data frames may
        be of pandas, Polars or PyArrow.
    y_score : array-like of shape (n_rows,)
        The predictions. Higher scores rank first. Among tied predictions, the later row ranks first.
    measure : ir_measures.Measure or str
        A multi-aspect measure, or a single-aspect measure, which is computed on the column ``relevance`` (or
        ``label``) of y_true, or on its only column.
    qid : array-like of shape (n_rows,), optional
        The query of each row, as strings or numbers. By default, the index level or column ``qid`` of y_true.
    aspects : Aspects, mapping, str or sequence of str, optional
        Names (and scales) of the columns of an array, or the columns to select from a frame.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the queries for the mean, constant within each query.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) raises an error or counts as the lowest grade.
    per_query : bool, default False
        Whether to return the value of each query instead of the aggregate.

    Returns
    -------
    float or Series of float
        The value of the measure, aggregated over queries as the measure defines (the mean for most), or the
        values of the queries, with the query ids as strings in the index, sorted. For lower-is-better measures
        such as ESL, lower values are better, whereas `ranking_scorer` negates them.

    Raises
    ------
    MultiAspectError
        If no query ids are given, lengths differ, labels are missing or masked, predictions are NaN, masked or
        complex, weights vary within a query, the indexes of pandas objects have the same elements in a different
        order, or their rows have different queries in an index level or column qid.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> labels, qid = [[2, 0], [0, 2], [1, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> predictions, aspects = [0.3, 0.1, 0.2, 0.9], {"relevance": 2, "credibility": 2}
    >>> round(ma.ranking_score(labels, predictions, qid=qid, measure="CAM@10", aspects=aspects), 4)
    0.7232
    >>> ma.ranking_score(labels, predictions, qid=qid, measure="CAM@10", aspects=aspects, per_query=True).round(4)
    a    0.8155
    b    0.6309
    Name: CAM(aspects={'relevance': 2, 'credibility': 2})@10, dtype: float64
    """
    choice("missing", "error", "lowest")(missing)
    scorer = RankingScorer(measure, aspects, "predict")
    y_true, y_score, qid, sample_weight = map(in_memory, (y_true, y_score, qid, sample_weight))
    check_order("y_true", y_true, y_score=y_score, qid=qid, sample_weight=sample_weight)
    queries = find_qid(qid, None, y_true)
    if queries is None:
        raise MultiAspectError(
            "ranking_score needs the query of every row: pass qid, or add an index level or a column qid to y_true"
        )
    rows = LabelledRows(y_true, queries, scorer.aspects, scorer.measure)
    if not len(rows):
        raise MultiAspectError(f"expected at least one row to evaluate {scorer.measure}, got 0 rows")
    on_rows = scorer.measure_on(rows)
    if missing == "error":
        check_known(on_rows, rows.judgments)
    values = on_rows.evaluate(rows.rankings(y_score))
    if per_query:
        if sample_weight is not None:
            raise MultiAspectError("sample_weight has no effect on the values of single queries; omit it")
        return pd.Series(values, index=rows.judgments.qids, name=str(scorer.measure))
    if sample_weight is None:
        return aggregated(on_rows, values)
    weights = _query_weights(check_length(sample_weight, len(rows), "sample_weight"), rows)
    if not isinstance(on_rows.aggregator(), MeanAgg):
        raise MultiAspectError(f"sample_weight: {scorer.measure} is not a mean over queries; omit the weights")
    return float((weights * values).sum() / weights.sum())


def _query_weights(given: NDArray[np.generic], rows: LabelledRows) -> Floats:
    """Return the weight of each query, in the order of the judged queries."""
    weights = as_numbers(given, "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise MultiAspectError("sample_weight: expected finite, non-negative weights that are not all 0")
    query: Ints = rows.judgments.queries_of(rows.qids)
    of_query = np.zeros(rows.judgments.n_queries)
    of_query[query] = weights
    varying = np.flatnonzero(of_query[query] != weights)
    if len(varying):
        raise MultiAspectError(
            "expected sample_weight to be constant within queries, as values are averaged over queries; it varies "
            f"in the query {rows.qids[varying[0]]}"
        )
    return of_query
