"""From several labels of a document to one, and from arrays of rows to judgments and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..aspects import Aspects, aspect_name, parse_aspects
from ..errors import MultiAspectError, choices
from ..integration import parsing
from ..judgments import DOCUMENT_COLUMNS, QUERY_COLUMNS, Judgments, identifiers
from ..kernels.layout import Floats
from ..measures import CAM, TOMA, MultiAspectMeasure, On
from ..orders import DistanceOrder, Order
from ..orders.order import weights_of
from ..rankings import Rankings

__all__ = ["LabelledRows", "aggregate_labels"]

Target = MultiAspectMeasure | Order | DistanceOrder | str


def read_target(target: object) -> MultiAspectMeasure:
    """Return the measure a training target is given by: a measure, its name, an order or an aspect."""
    if isinstance(target, Order):
        return TOMA(order=target)
    if isinstance(target, DistanceOrder):
        same = {name: getattr(target, name) for name in ("distance", "axes", "gate", "aspects")}
        return TOMA(**same, weights=target.aspect_weights)
    if isinstance(target, str) and target.isidentifier() and target not in ir_measures.measures.registry:
        return On(aspect=target)
    measure = parsing.parse(target)[0] if isinstance(target, str) else target
    if isinstance(measure, type(TOMA) | type(CAM) | type(On)):
        return measure
    raise MultiAspectError(
        "labels are aggregated by TOMA (the weights of its classes), by CAM (the weighted sum of values), by On "
        f"or the name of one aspect, or by an Order; not by {target!r}"
    )


def gains(judgments: Judgments, measure: MultiAspectMeasure) -> Floats:
    """Return the gain of each judged document under `measure`: what its base measure sums.

    TOMA gives the weights of its classes, On the values of one aspect, CAM the weighted sum
    of the values of all.
    """
    if isinstance(measure, type(TOMA)):
        measure.warn_if_inferred(measure.views(judgments), lambda view: True)
        target = measure.target(judgments)
        if not target.exponential:
            return target.gain
        if target.gain.max(initial=0.0) >= np.finfo(np.float64).maxexp:
            raise MultiAspectError(
                f"the class {target.gain.max():g} would weigh 2^{target.gain.max():g} - 1, too large for a "
                "label; use another weighting than 'exponential'"
            )
        return np.asarray(np.exp2(target.gain) - 1.0, dtype=np.float64)
    if isinstance(measure, type(On)):
        return judgments.view(measure["aspect"], measure["aspects"]).target.gain
    views = measure.views(judgments)
    weights = weights_of(measure["weights"], [view.name for view in views])
    return np.asarray(
        np.sum([weight * view.target.gain for weight, view in zip(weights, views, strict=True)], axis=0),
        dtype=np.float64,
    )


def aggregate_labels(qrels: object, measure_or_order: Target) -> pd.DataFrame:
    """Return qrels with one label, aggregated from all aspects, to train any ranker on.

    Parameters
    ----------
    qrels : DataFrame, dict, iterable of namedtuples or Judgments
        Wide qrels, a numeric column per aspect.
    measure_or_order : TOMA, CAM, On, Order, DistanceOrder or str
        TOMA gives the weight of a document's class (the class index, unless its `weighting` says
        otherwise), CAM the weighted sum Σ p_a g_a of the aspects' values (weights as given, 1
        by default), On or the name of an aspect that aspect's values, an Order its weights.

    Returns
    -------
    DataFrame
        Columns ``qid docno label``, a row per judged pair, sorted by query. Labels are integers
        if all are whole numbers. Negative weights of an Order become 0.

    Raises
    ------
    MultiAspectError
        If the argument aggregates no labels, or the qrels do not have its aspects.

    Examples
    --------
    >>> import pt_multiaspect as ma
    >>> qrels = {"q1": {"d1": {"relevance": 2, "credibility": 0}, "d2": {"relevance": 1, "credibility": 1}}}
    >>> order = ma.TOMA(distance="manhattan", axes="gains", aspects={"relevance": 2, "credibility": 1})
    >>> ma.aggregate_labels(qrels, order)
      qid docno  label
    0  q1    d1      2
    1  q1    d2      2
    """
    judgments = Judgments.of(qrels)
    labels = gains(judgments, read_target(measure_or_order))
    whole = bool((labels == np.floor(labels)).all()) and labels.max(initial=0.0) < 2**53
    return pd.DataFrame(
        {
            "qid": judgments.qids[judgments.pool_query],
            "docno": judgments.docnos,
            "label": labels.astype(np.int64) if whole else labels,
        }
    )


class LabelledRows:
    """Rows of training data as a collection: a document per row, judged for the columns of y.

    Parameters
    ----------
    y : DataFrame or array-like of shape (n_rows,) or (n_rows, n_aspects)
        A column of labels per aspect.
    qid : array-like of shape (n_rows,)
        The query of each row; rows of a query need not stand together.
    aspects : Aspects, mapping, str, sequence of str, optional
        Names the columns of an array, and selects those of a frame.
    """

    def __init__(self, y: object, qid: object, aspects: object = None, measure: object = None) -> None:
        frame = label_frame(y, aspects, measure)
        queries = identifiers(pd.Series(check_length(qid, len(frame), "qid"), name="value"), "qid")
        width = len(str(max(len(frame) - 1, 0)))
        #: Zero-padded positions, so that of tied predictions the later row ranks first.
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
        """How many rows follow each other for one query."""
        begins = np.flatnonzero(np.append(True, self.qids[1:] != self.qids[:-1]))
        return [int(size) for size in np.diff(begins, append=len(self.qids))]

    def run(self, scores: Floats) -> pd.DataFrame:
        """Return the ranking that `scores`, one a row, give."""
        return pd.DataFrame({"query_id": self.qids, "doc_id": self.docnos, "score": scores})

    def evaluate(self, measure: MultiAspectMeasure, scores: object) -> float:
        """Return the aggregated value of a measure for predictions of the rows."""
        values = check_scores(scores, len(self))
        if not len(self):
            raise MultiAspectError(f"there are 0 rows to evaluate {measure} on")
        aggregator = measure.aggregator()
        for value in measure.evaluate(Rankings(self.run(values), self.judgments)).tolist():
            aggregator.add(value)
        return float(aggregator.result())


def check_length(values: object, n_rows: int, what: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional array of `n_rows` elements."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n_rows:
        raise MultiAspectError(f"{what} has the shape {array.shape}, but there are {n_rows} rows of y")
    return array


def check_scores(scores: object, n_rows: int) -> Floats:
    """Return predictions as one finite number a row."""
    array = np.asarray(scores)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise MultiAspectError(
            f"predictions have the shape {array.shape}; a ranking needs one score for each of {n_rows} rows"
        )
    if len(array) != n_rows:
        raise MultiAspectError(f"{len(array)} predictions for {n_rows} rows of y")
    values = array.astype(np.float64)
    n_nan = int(np.isnan(values).sum())
    if n_nan:
        raise MultiAspectError(f"{n_nan} of {n_rows} predictions are NaN, so they give no ranking")
    return values


def label_frame(y: object, aspects: object = None, measure: object = None) -> pd.DataFrame:
    """Return the labels as a frame with a column per aspect, named by itself, `aspects` or `measure`."""
    spec = parse_aspects(aspects)
    if isinstance(y, pd.DataFrame):
        frame = y.copy(deep=False)
        for column in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS):
            if column in frame.columns:
                frame = frame.drop(columns=column)
        frame.columns = pd.Index([aspect_name(column) for column in frame.columns])
        missing = [name for name in spec or () if name not in frame.columns]
        if missing:
            raise MultiAspectError(
                f"y has no column for the aspect {choices(missing)}; it has {choices(frame.columns)}"
            )
        return frame if spec is None else frame[list(spec)]
    array = np.asarray(y)
    if np.iscomplexobj(array):
        raise MultiAspectError(f"Complex data not supported: y has the type {array.dtype}; labels are numbers")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise MultiAspectError(f"y has {array.ndim} dimensions; it needs a column of labels per aspect")
    declared = spec if spec is not None else _aspects_of(measure)
    if declared is None:
        if array.shape[1] != 1:
            raise MultiAspectError(
                f"y has {array.shape[1]} columns without names; give aspects=[...] with {array.shape[1]} names, "
                "or y as a DataFrame"
            )
        declared = (y.name,) if isinstance(y, pd.Series) and isinstance(y.name, str) else ("relevance",)
    names_ = [aspect_name(name) for name in declared]
    if len(names_) != array.shape[1]:
        raise MultiAspectError(
            f"y has {array.shape[1]} columns, but there are {len(names_)} aspects: {choices(names_)}"
        )
    return pd.DataFrame(array, columns=names_)


def _aspects_of(measure: object) -> Sequence[str] | Aspects | None:
    if not isinstance(measure, MultiAspectMeasure):
        return None
    return measure.spec if isinstance(measure.spec, Aspects) else None


def find_qid(qid: object, X: object, y: object, column: str | None = None) -> NDArray[Any] | None:
    """Find the query of each row: as given, or in the index or a column of y or X."""
    if qid is not None:
        return np.asarray(qid)
    if column is not None:
        if isinstance(X, pd.DataFrame) and column in X.columns:
            return X[column].to_numpy()
        available = choices(X.columns) if isinstance(X, pd.DataFrame) else type(X).__name__
        raise MultiAspectError(f"qid_column is {column!r}, but X has no such column: {available}")
    for source in (y, X):
        index = getattr(source, "index", None)
        if isinstance(index, pd.Index) and "qid" in index.names:
            return index.get_level_values("qid").to_numpy()
    for source in (y, X):
        if isinstance(source, pd.DataFrame) and "qid" in source.columns:
            return source["qid"].to_numpy()
    return None
