"""Parts of training data: the training set and the evaluation sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._typing import Ints, Objects
from ..collection import AspectView
from ..errors import MultiAspectError, choices, number_of, warn
from ..measures import Measure
from .arrays import weight_per_query
from .boosters import LIBRARY_OPTIONS, OFFSETS, boosting_library, query_parameter
from .queries import ADD_QID, find_documents
from .rows import LabelledRows, check_known


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of the training set or of an evaluation set."""

    X: Any
    labels: pd.DataFrame
    #: The queries of the rows as positions in `qids`; None without queries.
    query: Ints | None
    qids: Objects
    #: Further arguments of fit with one value per row, such as sample_weight.
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def codes(self) -> Ints:
        """The queries, numbered by first occurrence, or the numbers of the rows."""
        if self.query is None:
            return np.arange(len(self.labels))
        return pd.factorize(self.query)[0]

    @property
    def names(self) -> Objects:
        """The query of each row, or the number of the row as text."""
        if self.query is None:
            # Each row is a query of its own: the codes are the numbers of the rows.
            row_numbers = self.codes
            return row_numbers.astype(str).astype(object)
        return self.qids[self.query]

    @property
    def offset(self) -> NDArray[Any] | None:
        """The predictions that training starts from, one per row, or None."""
        for name in OFFSETS:
            if name in self.values:
                return np.asarray(self.values[name])
        return None

    def take(self, rows: Ints) -> Part:
        """Return some rows, given by position, in the given order."""
        query = self.query
        if query is not None:
            query = query[rows]
        values = {name: _safe_indexing(array, rows) for name, array in self.values.items()}
        X = _safe_indexing(self.X, rows)
        return replace(self, X=X, labels=self.labels.iloc[rows], query=query, values=values)

    def by_query(self) -> Part:
        """Return the rows with those of each query together, as libraries expect them."""
        # Codes number the queries by their first rows: 0 0 1 2 2 are together, 0 1 0 2 2 are not.
        codes = self.codes
        are_together = pd.Index(codes).is_monotonic_increasing
        if are_together:
            return self
        return self.take(np.argsort(codes, kind="stable"))


def values_of_rows(fit_params: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the arguments of fit with one value per row, as scikit-learn recognises them."""
    values = {}
    for name, value in fit_params.items():
        # These may have as many values as there are rows by chance.
        is_of_features = name in LIBRARY_OPTIONS or name.startswith("feature_")
        if is_of_features or not _is_array(value):
            continue
        if _num_samples(value) == n_rows:
            values[name] = value
    return values


def _is_array(value: Any) -> bool:
    """Return whether a value has elements to count, and is neither text nor a mapping."""
    if isinstance(value, str | Mapping):
        return False
    shape = getattr(value, "shape", None)
    if shape is None:
        return hasattr(value, "__len__")
    return len(shape) > 0  # arrays of no dimension have no length


class EvaluationSet(NamedTuple):
    """An evaluation set as it is passed to `fit`."""

    X: Any
    y: Any
    qid: Any = None


def read_evaluation_sets(given: Any) -> list[EvaluationSet]:
    """Return the evaluation sets, given as one (X, y) or (X, y, qid) or as several of them."""
    if given is None:
        return []
    sets = []
    for part in _list_parts(given):
        is_set = isinstance(part, tuple | list) and len(part) in (2, 3)
        if not is_set:
            raise MultiAspectError(
                "eval_set: expected a list of (X, y) or (X, y, qid) with one column of labels per "
                f"aspect in y, got {type(part).__name__}"
            )
        sets.append(EvaluationSet(*part))
    return sets


def _list_parts(given: Any) -> Iterable[Any]:
    """Return the parts of an argument `eval_set`, which may be a single evaluation set."""
    if not isinstance(given, Iterable):
        return [given]
    if not isinstance(given, tuple):
        return given
    # A tuple is a set itself unless its elements are sets, that is, tuples or lists.
    has_sets = all(isinstance(element, tuple | list) for element in given)
    if has_sets:
        return given
    return [given]


def warn_of_shared_queries(train: Part, sets: list[Part]) -> None:
    """Warn about queries of the training set in the last evaluation set, by which it stops."""
    if not sets:
        return
    last = sets[-1]
    if train.query is None or last.query is None:
        return
    shared = sorted(set(train.names.tolist()) & set(last.names.tolist()))
    if shared:
        queries = number_of(len(shared), "query")
        warn(
            f"{queries}, such as {shared[0]}, in the training set and in "
            "the evaluation set by which training stops: early stopping will be too late. Split by "
            "query, or pass eval_fraction"
        )


def split_queries(part: Part, fraction: float, seed: int) -> tuple[Part, Part]:
    """Return the rows of a training set, and those of a random fraction of the queries."""
    if part.query is None:
        raise MultiAspectError(f"eval_fraction holds out whole queries: pass qid, or {ADD_QID}")
    queries = np.unique(part.query)
    n_queries = len(queries)
    if n_queries < 2:
        raise MultiAspectError(f"eval_fraction: expected at least two queries, got {n_queries}")
    # Both sets have at least one query.
    rounded = round(fraction * n_queries)
    n_held_out = int(np.clip(rounded, 1, n_queries - 1))
    shuffled = np.random.default_rng(seed).permutation(queries)
    is_held_out = np.isin(part.query, shuffled[:n_held_out])
    train = part.take(np.flatnonzero(~is_held_out))
    held_out = part.take(np.flatnonzero(is_held_out))
    return train, held_out


def fit_values(estimator: Any, part: Part) -> dict[str, Any]:
    """Return the queries and other values of the rows, as the estimator's fit expects them.

    The rows of each query are together.
    """
    values = dict(part.values)
    parameter = query_parameter(estimator)
    if parameter is None:
        return values
    query = part.codes  # (n_rows,), from 0
    if parameter == "group":
        values[parameter] = np.bincount(query)  # the number of rows of each query
    else:
        values[parameter] = query
    # XGBoost expects one weight per query, other libraries one per row.
    if "sample_weight" in values and boosting_library(estimator) == "xgboost":
        n_queries = len(np.unique(query))
        row_weights = values["sample_weight"]
        values["sample_weight"] = weight_per_query(row_weights, query, n_queries)
    return values


def join_labels(parts: list[Part], target: Measure, missing: str) -> LabelledRows:
    """Return the labels of all parts, whose undeclared scales follow from all of them.

    Parameters
    ----------
    parts : list of Part
        The training set and the evaluation sets.
    target : Measure
        The measure whose aspects are learnt.
    missing : {'error', 'lowest'}
        Whether missing labels of these aspects are an error.
    """
    columns = list(parts[0].labels.columns)
    _check_columns(parts, columns)
    frame = pd.concat([part.labels[columns] for part in parts], ignore_index=True)
    documents = _join_documents(parts)
    if documents is not None:
        frame.index = pd.Index(documents, name="docno")
    joined = LabelledRows(frame, _join_query_names(parts))
    check_known(missing, target, joined.judgments, remedy=" to AspectRanker")
    views = target.views(joined.judgments)  # one per aspect of the target
    for view in views:
        _warn_of_unjudged_labels(view)
    # Measures of several aspects that declare none are learnt on all columns. They warn if there is
    # only one.
    learns_all_columns = target.accepts_aspects and target.spec is None
    has_single_column = len(columns) == 1
    if learns_all_columns and has_single_column:
        target._check_views(views)
    return joined


def _check_columns(parts: list[Part], columns: list[str]) -> None:
    """Raise an error if an evaluation set has other columns of labels than the training set."""
    for index, part in enumerate(parts[1:]):
        if sorted(part.labels.columns) != sorted(columns):
            raise MultiAspectError(
                f"eval_set[{index}]: expected y with the columns of the training set "
                f"({choices(columns)}), got {choices(part.labels.columns)}"
            )


def _join_documents(parts: list[Part]) -> NDArray[Any] | None:
    """Return the documents of the rows of all parts, or None if no part names them.

    The documents of a part that does not name them are the numbers of its rows.
    """
    joined: list[Any] = []
    have_names = False
    for part in parts:
        documents = find_documents(y=part.labels)
        if documents is None:
            joined.append(np.arange(len(part.labels)))
        else:
            joined.append(documents)
            have_names = True
    if not have_names:
        return None
    return np.concatenate(joined)


def _join_query_names(parts: list[Part]) -> NDArray[Any]:
    """Return the query of each row of all parts, as names that differ between parts.

    A single part keeps the names of its queries, for messages.
    """
    if len(parts) == 1:
        return parts[0].names
    names = []
    for index, part in enumerate(parts):
        prefix = f"{index} "
        names.append(prefix + part.names)
    return np.concatenate(names)


def _warn_of_unjudged_labels(view: AspectView) -> None:
    """Warn if relevance has the labels -1, 0 and 1 on an inferred scale.

    The label -1 may mean not judged.
    """
    if view.name != "relevance" or not view.inferred:
        return
    labels = set(view.label[view.known].tolist())
    if labels >= {-1, 0, 1}:
        warn(
            f"{view.name} has the labels -1, 0 and 1 on a scale that is not declared: if -1 "
            "means not judged, declare it, as in Aspect(grades=[0, 1], unjudged=[-1]); it is "
            "learnt as a grade"
        )


def labelled_rows(sets: list[Part], joined: LabelledRows) -> list[LabelledRows]:
    """Return the labels of evaluation sets, on the scales of the labels of all parts."""
    labelled = [LabelledRows(part.labels, part.names) for part in sets]
    for rows in labelled:
        rows.judgments.infer_scales_from(joined.judgments)
    return labelled
