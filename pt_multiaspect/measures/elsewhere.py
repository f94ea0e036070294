"""The road to ir-measures for measures that have no kernel here."""

from __future__ import annotations

from collections.abc import Iterable
from subprocess import CalledProcessError

import ir_measures
import numpy as np
import pandas as pd
from ir_measures import Measure
from numpy.typing import NDArray

from ..errors import MultiAspectError, choices
from ..judgments import Judgments
from ..kernels.layout import Floats, Ints

__all__ = ["by_ir_measures", "first_fraction"]


def first_fraction(labels: Floats) -> float | None:
    """The first label that is no whole number, of which ir-measures' back ends make nothing; NaN is passed over."""
    fractional = labels[(labels != np.floor(labels)) & ~np.isnan(labels)]
    return float(fractional[0]) if len(fractional) else None


def by_ir_measures(
    measures: Iterable[Measure], judgments: Judgments, labels: Floats, run: pd.DataFrame
) -> dict[Measure, Floats]:
    """Compute measures on single-aspect labels.

    Parameters
    ----------
    measures : iterable of ir_measures.Measure
        Measures of ir-measures.
    judgments : Judgments
        The judged pairs.
    labels : ndarray of float, shape (n_pairs,)
        Whole numbers, NaN where a pair is not judged.
    run : DataFrame
        Columns ``query_id doc_id score``.

    Returns
    -------
    dict of Measure to ndarray of float, shape (n_queries,)
        Never NaN: what ir-measures leaves out or has as NaN is the measure's default.

    Raises
    ------
    MultiAspectError
        If ir-measures cannot compute one of them.
    """
    judged = np.flatnonzero(~np.isnan(labels))
    labels = _without_junk_only_queries(labels, judgments.pool_query, judgments.n_queries)
    qrels = pd.DataFrame(
        {
            "query_id": _numbered(judgments.pool_query[judged]),
            "doc_id": judgments.docnos[judged],
            "relevance": labels[judged].astype(np.int64),
        }
    )
    query = judgments.queries_of(run["query_id"].to_numpy(dtype=object))
    run = run[query >= 0].assign(query_id=_numbered(query[query >= 0]))
    measures = sorted(measures, key=str)
    values = {measure: np.full(judgments.n_queries, float(measure.DEFAULT)) for measure in measures}
    # Together, a plain nDCG may be computed with the gains of an nDCG(gains=...): ir-measures
    # puts it into whichever call of pytrec_eval a set happens to have first.
    groups = [[measure] for measure in measures if "gains" in measure.params]
    groups.append([measure for measure in measures if "gains" not in measure.params])
    try:
        for group in filter(None, groups):
            for metric in ir_measures.iter_calc(group, qrels, run):
                if not np.isnan(metric.value):
                    values[metric.measure][int(metric.query_id) - 1] = metric.value
    except (ValueError, RuntimeError, AssertionError, NameError, CalledProcessError) as error:
        raise MultiAspectError(f"ir-measures cannot compute {choices(measures)}: {error}") from error
    return values


def _numbered(query: Ints) -> NDArray[np.object_]:
    """Queries by numbers from 1: gdeval breaks down on other names."""
    return (query + 1).astype(str).astype(object)


def _without_junk_only_queries(labels: Floats, query: Ints, n_queries: int) -> Floats:
    """Raise the labels of queries that have none from 0 up to 0: on those pytrec_eval reads beyond its memory.

    Nothing can count in such a query either way.
    """
    best = np.full(n_queries, -np.inf)
    np.maximum.at(best, query, np.nan_to_num(labels, nan=-np.inf))
    return np.where(best[query] < 0, np.maximum(labels, 0.0), labels)
