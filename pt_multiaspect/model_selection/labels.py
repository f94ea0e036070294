"""Aggregation of the labels of a document into one label, and conversion of arrays to judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from .._validation import choice
from ..aspects.aspects import Aspects, aspect_name
from ..aspects.parameter import parse_aspects
from ..collection.columns import DOCUMENT_COLUMNS, QUERY_COLUMNS
from ..collection.frames import in_memory, plain_column, to_pandas
from ..collection.judgments import Judgments
from ..collection.rankings import Rankings
from ..errors import MultiAspectError, choices
from ..measures import Measure
from ..strings.identifiers import identifiers
from .levels import cutoff_of, quantise
from .row_order import named_queries
from .targets import Target, gains, read_target

__all__ = ["LabelledRows", "aggregate_labels"]


def aggregate_labels(
    qrels: object, measure_or_order: Target, *, levels: int | None = None, missing: str = "error"
) -> pd.DataFrame:
    """Aggregate the labels of all aspects into one label per document, for training any ranker.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        Wide qrels with one numeric column per aspect.
    measure_or_order : measure, Order, DistanceOrder or str
        Defines the label. For TOMA, the weight of the document's class (the class index by default, see
        `weighting`). For On or the name of an aspect, the gains of that aspect. For an Order, its
        weights. For uRBP, uRBPgr, unDCG, uERR and NWCS, the gain that they sum. For CAM, its linear form
        Σ_a p_a g_a(d) / norm_a(q), where the norm is the ideal DCG@k for nDCG@k, the number of relevant
        documents for R, and 1 for DCG, P and RBP.
    levels : int, optional
        Maximum number of different labels, such as 31 for LightGBM and XGBoost in
        ``pt.ltr.apply_learned_model``. Labels are then integers from 0: the labels themselves if these are
        whole numbers below `levels`, else the levels of intervals of labels. The intervals minimise the loss
        of the measure when documents of a level are ranked randomly. Level 0 contains the label 0 only. By
        default, labels are not reduced.
    missing : {'error', 'lowest'}, default 'error'
        Whether a missing label (NaN) of an aspect raises an error or counts as the lowest grade, as in evaluation.

    Returns
    -------
    DataFrame
        Columns ``qid docno label`` with the rows of the qrels in the same order, and with their index if
        the qrels are a DataFrame. A pair judged twice with equal labels keeps both rows. Labels are
        integers if all are whole numbers. Negative weights of an Order are replaced with 0. ``attrs``
        contains the ``measure`` and whether the label is a ``surrogate``: sorting by it maximises CAM
        if all aspects have the same linear base with the same cutoff, but in general not CAM with other
        bases, MM, GAM, WHAM or uERR. With `levels`, ``attrs`` also contains the ``label_gain`` of each level
        (the mean of its labels), the ``cutoff`` of the measure, and the ``loss``: the fraction of the value of
        the ranking by label that is lost if documents of a level are ranked in the least favourable order.

    Raises
    ------
    MultiAspectError
        If `measure_or_order` does not define a label, the qrels lack one of its aspects or have missing labels, a
        pair is judged twice with different labels, or `levels` is less than 2.

    Notes
    -----
    The labels of CAM are fractions, which LightGBM's rankers do not accept: use `levels`, and create the ranker
    with the parameters returned by `lightgbm_params`. Levels depend on the qrels: aggregate the qrels of
    training and validation topics in a single call. XGBoost's rankers accept fractions with
    ``ndcg_exp_gain=False`` and do not require levels. `AspectRanker` converts labels for each learner.

    References
    ----------
    Maistro et al.: Principled Multi-Aspect Evaluation Measures of Rankings. CIKM 2021, §3 and §4.2.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> order = ma.TOMA(distance="manhattan", axes="gains", aspects={"relevance": 2, "credibility": 1})
    >>> ma.aggregate_labels(qrels, order)
      qid docno  label
    0  q1    d1      2
    1  q1    d2      2
    >>> ma.aggregate_labels(qrels, "CAM").round(3)
      qid docno  label
    0  q1    d1   0.38
    1  q1    d2   0.69
    >>> few = ma.aggregate_labels(qrels, "CAM", levels=31)
    >>> few["label"].tolist(), few.attrs["loss"]
    ([1, 2], 0.0)
    """
    frame = to_pandas(qrels)
    judgments = Judgments.of(qrels if frame is None else frame)
    measure = read_target(measure_or_order)
    if choice("missing", "error", "lowest")(missing) == "error":
        check_known(measure, judgments, "qrels")
    labels = gains(judgments, measure)
    attrs: dict[Any, Any] = {"measure": str(measure), "surrogate": measure.gain_is_surrogate(judgments)}
    if levels is not None:
        reduced = quantise(judgments, measure, labels, levels)
        labels = reduced.codes.astype(np.float64)
        attrs |= {"label_gain": reduced.gain, "loss": reduced.loss, "cutoff": cutoff_of(measure, judgments)}
    whole = bool((labels == np.floor(labels)).all()) and labels.max(initial=0.0) < 2**53
    result = pd.DataFrame(
        {
            "qid": judgments.of_rows(judgments.qids[judgments.pool_query]),
            "docno": judgments.of_rows(judgments.docnos),
            "label": judgments.of_rows(labels.astype(np.int64) if whole else labels),
        },
        index=None if frame is None else frame.index,
    )
    result.attrs = attrs
    return result


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
        Its aspect names the column of a single-column array.
    """

    def __init__(self, y: object, qid: object, aspects: object = None, measure: object = None) -> None:
        frame = label_frame(y, aspects, measure, several=False)
        queries = identifiers(pd.Series(check_length(qid, len(frame), "qid"), name="value"), "qid")
        width = len(str(max(len(frame) - 1, 0)))
        #: Zero-padded positions, so among tied predictions the later row ranks first.
        self.docnos = np.array([f"{row:0{width}d}" for row in range(len(frame))], dtype=object)
        self.qids = queries
        self.names = list(frame.columns)
        self.judgments = Judgments(
            pd.concat(
                [
                    pd.DataFrame({"query_id": queries, "doc_id": self.docnos}),
                    frame.reset_index(drop=True),
                ],
                axis=1,
            )
        )

    def __len__(self) -> int:
        return len(self.docnos)

    @property
    def group_sizes(self) -> list[int]:
        """The number of rows in each run of consecutive rows of one query."""
        begins = np.flatnonzero(np.append(True, self.qids[1:] != self.qids[:-1]))
        return [int(size) for size in np.diff(begins, append=len(self.qids))]

    def agree_with(self, labels: Floats, measure: Measure) -> bool:
        """Return whether `labels`, one per row, can be labels of these rows in this order.

        They can if a column, or the gain that `measure` sums, orders the rows in the same way. They cannot if
        they differ from one of these only by the order within queries, or by the order of all rows, where its
        values are distinctive, or rows with equal columns have different labels. Otherwise, within each query, the
        labels must be a function of the columns, or the columns a function of the labels.
        """
        if not len(self):
            return True
        query = pd.factorize(self.qids)[0]
        codes = _dense(labels)
        columns = [self.judgments.of_rows(self.judgments.labels(name)) for name in self.names]
        try:
            gain = measure.document_gain(self.judgments)
        except MultiAspectError:  # not defined, as for negative gains: the model learns other labels
            gain = None
        candidates = columns if gain is None else [*columns, self.judgments.of_rows(gain)]
        # Boosters keep labels as 32-bit floats.
        rounded = [each.astype(np.float32) for each in candidates]
        known = [_dense(each) for each in rounded]
        if any(np.array_equal(each, codes) for each in known):
            return True
        mixed = codes[np.lexsort((codes, query))]
        if any(np.array_equal(each[np.lexsort((each, query))], mixed) for each in known):
            return False
        if _reordered(labels.astype(np.float32), rounded):
            return False
        of_columns = np.column_stack([_dense(column) for column in columns])
        counts = np.bincount(codes)
        # A gain that is normalised by query is no function of the columns itself.
        same = [each for each in known if np.array_equal(np.bincount(each), counts)]
        if any(_is_function(each, of_columns) for each in same) and not _is_function(codes, of_columns):
            return False
        by_column = np.column_stack([query, of_columns])
        by_label = np.column_stack([query, codes])
        n_columns, n_labels = (len(np.unique(keys, axis=0)) for keys in (by_column, by_label))
        n_both = len(np.unique(np.column_stack([by_column, codes]), axis=0))
        return n_both in (n_columns, n_labels)

    def rankings(self, scores: object, rows: Ints | None = None) -> Rankings:
        """Return the rankings by the predictions of the given rows, by default of all rows."""
        qids, docnos = (self.qids, self.docnos) if rows is None else (self.qids[rows], self.docnos[rows])
        run = pd.DataFrame({"query_id": qids, "doc_id": docnos, "score": check_scores(scores, len(qids))})
        return Rankings(run, self.judgments, dtype=np.float64)

    def evaluate(self, measure: Measure, scores: object) -> float:
        """Return the aggregated value of a measure for predictions of the rows."""
        rankings = self.rankings(scores)
        if not len(self):
            raise MultiAspectError(f"expected at least one row to evaluate {measure}, got 0 rows")
        return aggregated(measure, measure.evaluate(rankings))


def aggregated(measure: Measure, values: Floats) -> float:
    """Aggregate values per query as the measure defines."""
    aggregator = measure.aggregator()
    for value in values.tolist():
        aggregator.add(value)
    return float(aggregator.result())


def check_known(measure: Measure, judgments: Judgments, where: str = "y", remedy: str = "") -> None:
    """Raise an error for missing labels of the aspects of a measure.

    Parameters
    ----------
    measure : Measure
        Only its aspects are checked.
    judgments : Judgments
        The labels.
    where : str
        What has no label, in the message.
    remedy : str
        Added to "pass missing='lowest'" in the message.
    """
    for view in measure.views(judgments):
        n_missing = int((~view.known).sum())
        if n_missing:
            raise MultiAspectError(
                f"{where} has no {view.name} label in {n_missing} of {len(judgments)} rows (NaN); drop these rows, "
                f"or pass missing='lowest'{remedy} to treat them as the lowest grade"
            )


def _dense(values: NDArray[Any]) -> NDArray[np.intp]:
    """Replace values by the index of their distinct values in ascending order."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


def _is_function(codes: NDArray[np.intp], columns: NDArray[np.intp]) -> bool:
    """Return whether rows with equal columns have equal codes, in whatever query they are."""
    both = np.column_stack([columns, codes])
    return len(np.unique(both, axis=0)) == len(np.unique(columns, axis=0))


def _reordered(labels: NDArray[np.float32], candidates: Sequence[NDArray[np.float32]]) -> bool:
    """Return whether the labels certainly are a candidate with its rows in another order.

    Labels of another meaning can have the same values by coincidence if these are few, ranks or quantiles: equal
    values prove it only if most are distinct, their gaps are not symmetric, and no other candidate has them.
    """
    ordered = np.sort(labels)
    distinct = np.unique(labels)
    gaps = np.diff(distinct)
    if len(distinct) < max(6, len(labels) / 2) or not np.isfinite(distinct).all():
        return False
    if np.allclose(gaps, gaps[::-1], rtol=1e-3, atol=0):
        return False
    same = [each for each in candidates if np.array_equal(np.sort(each), ordered)]
    return bool(same) and all(np.array_equal(each, same[0]) for each in same)


def unmasked(values: object) -> NDArray[Any]:
    """Return values as an array in which masked elements are NaN instead of what is under the mask."""
    values = plain_column(values)
    if isinstance(values, list | tuple) and any(isinstance(each, np.ma.MaskedArray) for each in values):
        values = np.ma.array(values)
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if not np.ma.is_masked(values):
        return np.asarray(values.data)
    dtype = np.result_type(values.dtype, np.float64) if values.dtype.kind in "biufc" else np.dtype(object)
    return np.asarray(np.ma.filled(values.astype(dtype), np.nan))


def check_length(values: object, n_rows: int, what: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional array of `n_rows` elements."""
    array = unmasked(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n_rows:
        raise MultiAspectError(
            f"{what}: expected one value for each of {n_rows} rows of y, got shape {array.shape}"
        )
    return array


def as_numbers(values: object, what: str) -> Floats:
    """Return values as floats, or raise an error that starts with `what`."""
    array = unmasked(values)
    if np.iscomplexobj(array):
        raise MultiAspectError(f"{what}: expected real numbers, got {array.dtype}; pass their real part or modulus")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"{what}: expected numbers: {error}") from None


def check_scores(scores: object, n_rows: int) -> Floats:
    """Return predictions as one number per row, without NaN."""
    array = unmasked(scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise MultiAspectError(
            f"predictions: expected one score for each of {n_rows} rows, got shape {array.shape}"
        )
    if len(array) != n_rows:
        raise MultiAspectError(f"expected {n_rows} predictions, one per row of y, got {len(array)}")
    values = as_numbers(array, "predictions")
    n_nan = int(np.isnan(values).sum())
    if n_nan:
        raise MultiAspectError(f"{n_nan} of {n_rows} predictions are NaN; expected numbers to rank by")
    return values


def label_frame(y: object, aspects: object = None, measure: object = None, *, several: bool = True) -> pd.DataFrame:
    """Return the labels as a frame with one column per aspect, named by y itself, `aspects` or `measure`.

    Unless `several`, the aspects of the measure name a single column only: `aspects` is required to name
    several columns of an array.
    """
    spec = parse_aspects(aspects)
    y = in_memory(y)
    frame = to_pandas(y)
    if frame is not None:
        frame = frame.copy(deep=False)
        for column in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS):
            if column in frame.columns:
                frame = frame.drop(columns=column)
        frame.columns = pd.Index([aspect_name(column) for column in frame.columns])
        missing = [name for name in spec or () if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"y has no column for the aspect {choices(missing)}; its columns are {choices(frame.columns)}"
            )
        return frame if spec is None else frame[list(spec)]
    array = unmasked(y)
    if np.iscomplexobj(array):
        raise MultiAspectError(f"Complex data not supported: expected real labels in y, got {array.dtype}")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise MultiAspectError(f"y: expected one column of labels per aspect, got {array.ndim} dimensions")
    declared = spec if spec is not None else _aspects_of(measure)
    if spec is None and not several and array.shape[1] == len(declared or ()) > 1:
        declared = None
    if declared is None:
        if array.shape[1] != 1:
            raise MultiAspectError(
                f"y has {array.shape[1]} columns without names; pass aspects=[...] with {array.shape[1]} names, "
                "or pass y as a DataFrame"
            )
        name = getattr(y, "name", None)  # of a series of pandas or Polars
        declared = (name,) if isinstance(name, str) and name else ("relevance",)
    names_ = [aspect_name(name) for name in declared]
    if len(names_) != array.shape[1]:
        raise MultiAspectError(
            f"y has {array.shape[1]} columns, but there are {len(names_)} aspects: {choices(names_)}"
        )
    return pd.DataFrame(array, columns=names_)


def _aspects_of(measure: object) -> Sequence[str] | Aspects | None:
    spec = getattr(measure, "spec", None)
    return spec if isinstance(spec, Aspects) else None


def find_qid(qid: object, X: object, y: object, column: str | None = None) -> NDArray[Any] | None:
    """Return the query of each row from `qid`, or from the index or a column of y or X."""
    if qid is not None:
        return unmasked(qid)
    if column is not None:
        features = to_pandas(X)
        if features is not None and column in features.columns:
            return features[column].to_numpy()
        available = type(X).__name__ if features is None else choices(features.columns)
        raise MultiAspectError(f"qid_column: expected a column of X, got {column!r}; X has: {available}")
    of_labels = named_queries(y)
    return named_queries(X) if of_labels is None else of_labels
