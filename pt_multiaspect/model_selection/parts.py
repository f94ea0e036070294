"""Parts of training data: the training set and the evaluation sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._typing import Ints, Objects
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
        """The query of each row, or the number of the row."""
        if self.query is None:
            return self.codes.astype(str).astype(object)
        return self.qids[self.query]

    @property
    def offset(self) -> NDArray[Any] | None:
        """The predictions that training starts from, if any."""
        offsets = [np.asarray(self.values[name]) for name in OFFSETS if name in self.values]
        if offsets:
            return offsets[0]
        return None

    def take(self, rows: Ints) -> Part:
        """Return some rows in the given order."""
        return replace(
            self,
            X=_safe_indexing(self.X, rows),
            labels=self.labels.iloc[rows],
            query=None if self.query is None else self.query[rows],
            values={name: _safe_indexing(values, rows) for name, values in self.values.items()},
        )

    def by_query(self) -> Part:
        """Return the rows with those of each query together."""
        codes = self.codes
        if (np.diff(codes) >= 0).all():
            return self
        return self.take(np.argsort(codes, kind="stable"))


def values_of_rows(fit_params: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """Return the arguments of fit that have one value per row, as scikit-learn's searches recognise them.

    Arguments about features may have as many values by chance.
    """
    values = {}
    for name, value in fit_params.items():
        if name in LIBRARY_OPTIONS or name.startswith("feature_"):
            continue
        if _is_array(value) and _num_samples(value) == n_rows:
            values[name] = value
    return values


def _is_array(value: Any) -> bool:
    """Return whether a value has a length, other than text and mappings."""
    if isinstance(value, str | Mapping):
        return False
    shape = getattr(value, "shape", None)
    if shape is None:
        return hasattr(value, "__len__")
    return len(shape) > 0


def read_evaluation_sets(given: Any) -> list[tuple[Any, Any, Any]]:
    """Return X, y and qid (or None) of each evaluation set."""
    if given is None:
        return []
    is_single = isinstance(given, tuple) and not all(
        isinstance(part, tuple | list) for part in given
    )
    sets = []
    for part in [given] if is_single or not isinstance(given, Iterable) else given:
        if not isinstance(part, tuple | list) or len(part) not in (2, 3):
            raise MultiAspectError(
                "eval_set: expected a list of (X, y) or (X, y, qid) with one column of labels per "
                f"aspect in y, got {type(part).__name__}"
            )
        X, y, qid = (*part, None)[:3]
        sets.append((X, y, qid))
    return sets


def warn_of_shared_queries(train: Part, sets: list[Part]) -> None:
    """Warn about queries in the training set and in the evaluation set by which training stops, the last one."""
    if not sets:
        return
    train_queries, last_queries = (
        set() if part.query is None else set(part.names.tolist()) for part in (train, sets[-1])
    )
    shared = sorted(train_queries & last_queries)
    if shared:
        warn(
            f"{number_of(len(shared), 'query')}, such as {shared[0]}, in the training set and in "
            "the evaluation set by which training stops: early stopping will be too late. Split by "
            "query, or pass eval_fraction"
        )


def split_queries(part: Part, fraction: float, seed: int) -> tuple[Part, Part]:
    """Return the training set and a random fraction of its queries, which are held out."""
    if part.query is None:
        raise MultiAspectError(f"eval_fraction holds out whole queries: pass qid, or {ADD_QID}")
    queries = np.unique(part.query)
    if len(queries) < 2:
        raise MultiAspectError(f"eval_fraction: expected at least two queries, got {len(queries)}")
    n_held = min(max(round(fraction * len(queries)), 1), len(queries) - 1)
    held = np.isin(part.query, np.random.default_rng(seed).permutation(queries)[:n_held])
    return part.take(np.flatnonzero(~held)), part.take(np.flatnonzero(held))


def fit_values(estimator: Any, part: Part) -> dict[str, Any]:
    """Return the queries and other values of the rows, as the fit method of an estimator expects them."""
    values = dict(part.values)
    parameter = query_parameter(estimator)
    if parameter is None:
        return values
    if parameter == "group":
        values[parameter] = np.bincount(part.codes)
    else:
        values[parameter] = part.codes
    if "sample_weight" in values and boosting_library(estimator) == "xgboost":
        n_queries = len(np.unique(part.codes))
        values["sample_weight"] = weight_per_query(values["sample_weight"], part.codes, n_queries)
    return values


def join_labels(parts: list[Part], target: Measure, missing: str) -> LabelledRows:
    """Return the labels of all parts. They are aggregated together, so they have the same scales.

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
    for index, part in enumerate(parts[1:]):
        if sorted(part.labels.columns) != sorted(columns):
            raise MultiAspectError(
                f"eval_set[{index}]: expected y with the columns of the training set "
                f"({choices(columns)}), got {choices(part.labels.columns)}"
            )
    frame = pd.concat([part.labels[columns] for part in parts], ignore_index=True)
    documents = [find_documents(y=part.labels) for part in parts]
    if any(docnos is not None for docnos in documents):
        filled: list[Any] = []
        for part, docnos in zip(parts, documents, strict=True):
            row_numbers = np.arange(len(part.labels))
            filled.append(row_numbers if docnos is None else docnos)
        frame.index = pd.Index(np.concatenate(filled), name="docno")
    queries = [part.names for part in parts]
    if len(parts) > 1:  # a single part keeps the names of its queries for messages
        queries = [f"{index} " + names for index, names in enumerate(queries)]
    joined = LabelledRows(frame, np.concatenate(queries))
    check_known(missing, target, joined.judgments, remedy=" to AspectRanker")
    views = target.views(joined.judgments)
    for view in views:
        has_signs = {-1, 0, 1} <= set(view.label[view.known].tolist())
        if view.name == "relevance" and view.inferred and has_signs:
            warn(
                f"{view.name} has the labels -1, 0 and 1 on a scale that is not declared: if -1 "
                "means not judged, declare it, as in Aspect(grades=[0, 1], unjudged=[-1]); it is "
                "learnt as a grade"
            )
    if len(views) == 1 and target.spec is None and target.accepts_aspects and len(columns) == 1:
        target._check_views(views)
    return joined


def labelled_rows(sets: list[Part], joined: LabelledRows) -> list[LabelledRows]:
    """Return the labels of evaluation sets, on the scales of the labels of all parts."""
    labelled = [LabelledRows(part.labels, part.names) for part in sets]
    for rows in labelled:
        rows.judgments.infer_scales_from(joined.judgments)
    return labelled
