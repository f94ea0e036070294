"""Labels, predictions and weights as arrays and frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Floats, Ints
from ..aspects import Aspects, AspectSpec, aspect_name, parse_aspects
from ..collection.columns import (
    DOCUMENT_COLUMNS,
    QUERY_COLUMNS,
    added_columns,
    warn_of_added_columns,
)
from ..collection.other_libraries import plain_column, to_pandas
from ..errors import MultiAspectError, choices, number_of, parameter
from ..integration.provider import supports


def fill_masked(values: object) -> NDArray[Any]:
    """Return values as an array in which masked elements are NaN."""
    values = plain_column(values)
    if isinstance(values, list | tuple) and any(
        isinstance(value, np.ma.MaskedArray) for value in values
    ):
        values = np.ma.array(values)
    if not np.ma.is_masked(values):
        try:
            return np.asarray(values)
        except ValueError:  # lists of different lengths
            raise MultiAspectError(
                "expected rows of equal length, got rows of different lengths"
            ) from None
    masked: Any = np.ma.asarray(values)
    if masked.dtype.kind in "biufc":
        dtype = np.result_type(masked.dtype, np.float64)
    else:
        dtype = np.dtype(object)
    return np.asarray(np.ma.filled(masked.astype(dtype), np.nan))


def flatten_column(values: object) -> NDArray[Any]:
    """Return values as an array, which has one dimension if they are a single column."""
    array = fill_masked(values)
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    return array


def check_length(values: object, n_rows: int, what: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional array of `n_rows` elements."""
    array = flatten_column(values)
    if array.ndim != 1 or len(array) != n_rows:
        raise MultiAspectError(
            f"{what}: expected one value for each of {n_rows} rows, got shape {array.shape}"
        )
    return array


def as_numbers(values: object, what: str) -> Floats:
    """Return values as floats, or raise an error that starts with `what`."""
    array = fill_masked(values)
    if np.iscomplexobj(array):
        raise MultiAspectError(
            f"{what}: expected real numbers, got {array.dtype}; pass their real part or modulus"
        )
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise MultiAspectError(f"{what}: expected numbers: {error}") from None


def check_scores(scores: object, n_rows: int) -> Floats:
    """Return predictions as one number per row, without NaN."""
    values = as_numbers(check_length(scores, n_rows, "predictions"), "predictions")
    n_nan = int(np.isnan(values).sum())
    if n_nan:
        raise MultiAspectError(
            f"{n_nan} of {n_rows} predictions are NaN; expected numbers to rank by"
        )
    return values


def weight_per_query(weights: object, query: Ints, n_queries: int) -> Floats:
    """Return the weight of each query, given those of its rows, which are equal; 0 for queries without rows."""
    numbers = as_numbers(weights, "sample_weight")
    query_weights = np.zeros(n_queries)
    query_weights[query] = numbers
    n_varying = np.count_nonzero(query_weights[query] != numbers)
    if n_varying:
        raise MultiAspectError(
            "expected sample_weight to be constant within queries, as there is one weight per "
            f"query; it varies in {n_varying} rows"
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
    frame = to_pandas(y)
    if frame is not None:
        return _select_labels(frame, declared, measure)
    array = _label_array(y)
    names = _column_names(y, array.shape[1], declared, measure, columns)
    return pd.DataFrame(array, columns=names, index=y.index if isinstance(y, pd.Series) else None)


def _select_labels(frame: pd.DataFrame, declared: AspectSpec, measure: Any) -> pd.DataFrame:
    """Return the columns of the declared aspects, or of all; a column of documents becomes the index."""
    documents = next((frame[name] for name in DOCUMENT_COLUMNS if name in frame.columns), None)
    frame = frame.drop(
        columns=[name for name in (*QUERY_COLUMNS, *DOCUMENT_COLUMNS) if name in frame.columns]
    )
    frame.columns = pd.Index([aspect_name(column) for column in frame.columns])
    missing = [name for name in declared or () if name not in frame.columns]
    if missing:
        raise MultiAspectError(
            f"y has no column for the aspect {choices(missing)}; its columns are "
            f"{choices(frame.columns)}"
        )
    if declared is None:
        labels = _drop_added_columns(frame, measure)
    else:
        labels = frame[list(declared)]
    if documents is None:
        return labels
    return labels.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))


def _drop_added_columns(frame: pd.DataFrame, measure: Any) -> pd.DataFrame:
    """Return labels without row indexes and ids, unless the measure names them as aspects."""
    required: Sequence[str] = ()
    evaluates_all = measure is None
    if supports(measure):
        required = measure.required_aspects
        evaluates_all = measure.is_multi_aspect and measure.spec is None
    added = [name for name in added_columns(frame.columns) if name not in required]
    labels = frame.drop(columns=added)
    if added and evaluates_all:
        warn_of_added_columns(added, "y", f", as in {parameter('aspects', list(labels.columns))}")
    return labels


def _label_array(y: object) -> NDArray[Any]:
    """Return labels that are no frame as an array of two dimensions."""
    if isinstance(y, Mapping):
        raise MultiAspectError(
            "y: expected an array or a frame of labels, got a dict; pass pd.DataFrame(y)"
        )
    if hasattr(y, "toarray"):
        raise MultiAspectError(
            "y: expected an array or a frame of labels, got a sparse one; pass y.toarray()"
        )
    array = fill_masked(y)
    if np.iscomplexobj(array):
        raise MultiAspectError(
            f"Complex data not supported: expected real labels in y, got {array.dtype}"
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise MultiAspectError(
            f"y: expected one column of labels per aspect, got {array.ndim} dimensions"
        )
    return array


def _column_names(
    y: object, n_columns: int, declared: AspectSpec, measure: Any, columns: Sequence[str]
) -> list[str]:
    """Return the aspects of the columns of an array; the parameters are those of `label_frame`."""
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
                if "aspect" in getattr(measure, "SUPPORTED_PARAMS", ()):
                    name = measure["aspect"]
                else:
                    name = "relevance"
            declared = (name,)
        else:
            raise MultiAspectError(
                f"y has {n_columns} columns without names; pass aspects=[...] with {n_columns} "
                "names, or pass y as a DataFrame (RFE, RFECV and BaggingRegressor make arrays of "
                "data frames: there, pass aspects)"
            )
    names = [aspect_name(name) for name in declared]
    if len(names) != n_columns:
        remedy = ". pt.ltr passes the column label alone: train on aggregate_labels(qrels, measure)"
        raise MultiAspectError(
            f"y has {number_of(n_columns, 'column')}, but there are {len(names)} aspects: "
            f"{choices(names)}" + (remedy if n_columns == 1 else "")
        )
    return names
