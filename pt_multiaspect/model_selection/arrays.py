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
    if _has_masked_rows(values):
        values = np.ma.array(values)
    if np.ma.is_masked(values):
        return _fill_with_nan(np.ma.asarray(values))
    try:
        return np.asarray(values)
    except ValueError:  # lists of different lengths
        raise MultiAspectError(
            "expected rows of equal length, got rows of different lengths"
        ) from None


def _fill_with_nan(masked: Any) -> NDArray[Any]:
    """Return a masked array as an array with NaN in place of masked elements.

    Integers and booleans, which have no NaN, become floats; other kinds, such as texts, objects.
    """
    is_numeric = masked.dtype.kind in "biufc"
    if is_numeric:
        dtype = np.result_type(masked.dtype, np.float64)
    else:
        dtype = np.dtype(object)
    filled = np.ma.filled(masked.astype(dtype), np.nan)
    return np.asarray(filled)


def _has_masked_rows(values: object) -> bool:
    """Return whether values are a list or tuple with masked arrays, whose masks NumPy drops."""
    if not isinstance(values, list | tuple):
        return False
    return any(isinstance(row, np.ma.MaskedArray) for row in values)


def flatten_column(values: object) -> NDArray[Any]:
    """Return values as an array, without the second dimension if that is a single column."""
    array = fill_masked(values)
    if array.ndim == 2 and array.shape[1] == 1:
        return array[:, 0]
    return array


def check_length(values: object, n_rows: int, what: str) -> NDArray[Any]:
    """Return values as an array of shape (n_rows,), or raise an error that starts with `what`."""
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
    """Return predictions as floats of shape (n_rows,), or raise an error, also for NaN."""
    column = check_length(scores, n_rows, "predictions")
    numbers = as_numbers(column, "predictions")
    n_nan = int(np.isnan(numbers).sum())
    if n_nan:
        raise MultiAspectError(
            f"{n_nan} of {n_rows} predictions are NaN; expected numbers to rank by"
        )
    return numbers


def weight_per_query(weights: object, query: Ints, n_queries: int) -> Floats:
    """Return the weight of each query, which all of its rows must have; 0 for queries without rows.

    Parameters
    ----------
    weights : array-like of shape (n_rows,)
        The weight of each row.
    query : ndarray of int, shape (n_rows,)
        The query of each row, from 0.
    n_queries : int
        The number of queries.
    """
    row_weights = as_numbers(weights, "sample_weight")
    # Each query gets the weight of one of its rows; the other rows are compared with it.
    query_weights = np.zeros(n_queries)
    query_weights[query] = row_weights
    is_varying = row_weights != query_weights[query]
    n_varying = np.count_nonzero(is_varying)
    if n_varying:
        raise MultiAspectError(
            "expected sample_weight to be constant within queries, as there is one weight per "
            f"query; it varies in {n_varying} rows"
        )
    return query_weights


def label_frame(
    y: object, aspects: object = None, measure: Any = None, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the labels as a frame: one column per aspect, the index of y or its column docno.

    Parameters
    ----------
    y : DataFrame, Series or array-like of shape (n_rows,) or (n_rows, n_aspects)
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
    n_columns = array.shape[1]
    names = _column_names(y, n_columns, declared, measure, columns)
    index = None
    if isinstance(y, pd.Series):  # an array of one column, which has an index
        index = y.index
    return pd.DataFrame(array, columns=names, index=index)


def _select_labels(frame: pd.DataFrame, declared: AspectSpec, measure: Any) -> pd.DataFrame:
    """Return the columns of the declared or all aspects; one of documents becomes the index."""
    document_columns = [name for name in DOCUMENT_COLUMNS if name in frame.columns]
    query_columns = [name for name in QUERY_COLUMNS if name in frame.columns]
    labels = frame.drop(columns=[*query_columns, *document_columns])
    labels.columns = pd.Index([aspect_name(column) for column in labels.columns])
    if declared is None:
        labels = _drop_added_columns(labels, measure)
    else:
        labels = _select_aspects(labels, list(declared))
    if not document_columns:
        return labels
    documents = frame[document_columns[0]]
    return labels.set_axis(pd.Index(documents, name=DOCUMENT_COLUMNS[0]))


def _select_aspects(labels: pd.DataFrame, aspects: list[str]) -> pd.DataFrame:
    """Return the columns of the aspects, or raise an error if an aspect has no column."""
    missing = [name for name in aspects if name not in labels.columns]
    if missing:
        raise MultiAspectError(
            f"y has no column for the aspect {choices(missing)}; its columns are "
            f"{choices(labels.columns)}"
        )
    return labels[aspects]


def _drop_added_columns(frame: pd.DataFrame, measure: Any) -> pd.DataFrame:
    """Return labels without row indexes and ids, unless the measure names them as aspects.

    Warn if the measure evaluates all columns, as someone may have meant them.
    """
    required: Sequence[str] = ()
    evaluates_all_columns = measure is None
    if supports(measure):
        required = measure.required_aspects
        evaluates_all_columns = measure.is_multi_aspect and measure.spec is None
    added = [name for name in added_columns(frame.columns) if name not in required]
    labels = frame.drop(columns=added)
    if added and evaluates_all_columns:
        remedy = parameter("aspects", list(labels.columns))
        warn_of_added_columns(added, "y", f", as in {remedy}")
    return labels


def _label_array(y: object) -> NDArray[Any]:
    """Return labels that are no frame as an array of shape (n_rows, n_columns)."""
    if isinstance(y, Mapping):
        raise MultiAspectError(
            "y: expected an array or a frame of labels, got a dict; pass pd.DataFrame(y)"
        )
    is_sparse = hasattr(y, "toarray")
    if is_sparse:
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
    if declared is not None:
        names = list(declared)
    elif len(columns) == n_columns:
        names = list(columns)
    else:
        names = _default_names(y, n_columns, measure)
    aspects = [aspect_name(name) for name in names]
    if len(aspects) != n_columns:
        remedy = ""
        if n_columns == 1:
            remedy = (
                ". pt.ltr passes the column label alone: train on aggregate_labels(qrels, measure)"
            )
        raise MultiAspectError(
            f"y has {number_of(n_columns, 'column')}, but there are {len(aspects)} aspects: "
            f"{choices(aspects)}{remedy}"
        )
    return aspects


def _default_names(y: object, n_columns: int, measure: Any) -> list[str]:
    """Return the aspects of the columns of an array that are not declared.

    For a single column, they are those of the measure, or the name of the column. Several columns
    cannot be named: if the measure has another number of aspects, these are returned, for the error
    that the caller raises about the number.
    """
    measure_aspects = _aspects_of_measure(measure)
    if n_columns == 1:
        if measure_aspects:
            return measure_aspects
        return [_single_column_name(y, measure)]
    if measure_aspects and len(measure_aspects) != n_columns:
        return measure_aspects
    # The order of the aspects of a measure need not be that of the columns.
    raise MultiAspectError(
        f"y has {n_columns} columns without names; pass aspects=[...] with {n_columns} "
        "names, or pass y as a DataFrame (RFE, RFECV and BaggingRegressor make arrays of "
        "data frames: there, pass aspects)"
    )


def _aspects_of_measure(measure: Any) -> list[str]:
    """Return the aspects that a measure of several ones declares; none for other measures."""
    spec = getattr(measure, "spec", None)
    if isinstance(spec, Aspects):
        return list(spec)
    return []


def _single_column_name(y: object, measure: Any) -> str:
    """Return the name of a series, else the aspect of the measure, else relevance."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and name:
        return name
    has_aspect = "aspect" in getattr(measure, "SUPPORTED_PARAMS", ())
    if has_aspect:
        aspect: str = measure["aspect"]
        return aspect
    return "relevance"
