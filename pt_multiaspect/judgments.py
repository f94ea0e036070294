"""Qrels with any number of label columns, joined to runs by one fast look-up."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from numbers import Number
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ._typing import Bools, Floats, Ints
from .aspects import Aspect, Aspects, AspectSpec, Scale, aspect_name, infer_grades, spell
from .errors import MultiAspectError, choices, counted, warn_once
from .frames import to_pandas
from .kernels.target import Target

__all__ = ["AspectView", "Judgments"]

QUERY_COLUMNS = ("qid", "query_id")
DOCUMENT_COLUMNS = ("docno", "doc_id")
#: Columns that identify a judgment, so that they can be no aspects.
IDENTIFIERS = (*QUERY_COLUMNS, *DOCUMENT_COLUMNS, "docid", "query", "iteration", "iter", "Q0", "q0")
#: Tells the documents a user knows already; an aspect only if it is asked for.
KNOWN = "known"

_CREDIBILITY, _MISSPELT = "credibility", "redibility"

T = TypeVar("T")


def id_column(frame: pd.DataFrame, candidates: Sequence[str], what: str) -> pd.Series[Any]:
    """Return the one column of `frame` among `candidates`."""
    present = [column for column in candidates if column in frame.columns]
    if len(present) != 1:
        found = f"both {' and '.join(present)}" if present else f"the columns {choices(frame.columns)}"
        raise MultiAspectError(f"{what} must have one column {' or '.join(candidates)}; there are {found}")
    return frame[present[0]]


def check_distinct_columns(frame: pd.DataFrame, what: str) -> None:
    """Refuse a frame that has a column twice."""
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise MultiAspectError(f"{what} must not have several columns of one name: {choices(twice)}")


def identifiers(column: pd.Series[Any], what: str) -> NDArray[np.object_]:
    """Return a column of identifiers as strings, as which they are compared, as in PyTerrier."""
    values = column.to_numpy(dtype=object)
    kind = pd.api.types.infer_dtype(values, skipna=False)
    if kind in ("string", "empty"):
        return values
    missing = pd.isna(values)
    if missing.any():
        raise MultiAspectError(f"{what} has no {column.name} in row {int(np.argmax(missing))}")
    return np.array([str(value) for value in values.tolist()], dtype=object)


def encode(values: NDArray[np.object_]) -> tuple[Ints, NDArray[np.object_]]:
    """Factorise strings: a code per element, and the distinct strings."""
    # Rows of a query mostly stand together, and comparing neighbours is faster than hashing.
    heads = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.zeros(0, int)
    codes, distinct = pd.factorize(values[heads])
    return np.repeat(codes, np.diff(heads, append=len(values))), np.asarray(distinct, dtype=object)


def fingerprints(query: Ints, docnos: NDArray[np.object_]) -> NDArray[np.int64]:
    """A 64-bit key per (query, document), equal for equal pairs and close for those of a query.

    Different pairs may, rarely, share a key. Keys are of this process, as hashes of strings are.
    """
    hashes = np.fromiter(map(hash, docnos.tolist()), dtype=np.int64, count=len(docnos))
    return (query.astype(np.int64) << 40) | ((hashes >> 24) & ((1 << 40) - 1))


def _is_numeric(column: pd.Series[Any]) -> bool:
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return True
    if getattr(column.dtype, "kind", "O") not in "OU":
        return False
    values = pd.Series(column[column.notna()], dtype=object)
    # One number among other things is a faulty label column rather than none.
    if any(isinstance(value, Number) and not isinstance(value, Enum) for value in values):
        return True
    # Numbers that were read as text are labels all the same; the first rows rule most texts out.
    parts = (values.iloc[:10], values) if len(values) else ()
    return bool(parts) and all(pd.to_numeric(part, errors="coerce").notna().all() for part in parts)


def as_floats(column: pd.Series[Any]) -> Floats:
    """Return a column as floats, NaN where it has no number, infinity for integers beyond the floats."""
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    try:
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        huge = column.map(lambda value: isinstance(value, int) and abs(value) > sys.float_info.max)
        return as_floats(column.where(~huge, np.inf))
    return np.asarray(values, dtype=np.float64)


def _numbers(column: pd.Series[Any]) -> Floats:
    """Return a column of labels as floats, NaN where it has no number.

    Floats of 16 and 32 bits are read as the decimals they print as: 0.1 in 32 bits is not 0.1 in 64.
    """
    own_type: Any = getattr(column.dtype, "numpy_dtype", column.dtype)
    if getattr(own_type, "kind", "O") == "f" and own_type.itemsize < 8:
        given: Any = column.to_numpy(dtype=own_type, na_value=np.nan)
        distinct, place = np.unique(given, return_inverse=True)
        return np.asarray([float(str(value)) for value in distinct], dtype=np.float64)[place]
    if column.dtype == object:
        short = (np.float16, np.float32)
        column = column.map(lambda value: float(str(value)) if isinstance(value, short) else value)
    return as_floats(column)


#: Columns that seldom hold labels, whatever their values.
_UNLIKELY = re.compile(
    r"(assessor|annotator|judge|worker|user|session|topic)(_?(id|no|nr|number|name))?|"
    r"(.*_)?id|index|timestamp|time|date|year|rank|score|fold|price",
    re.IGNORECASE,
).fullmatch
#: The number of grades of the longest usual scale, 0 to 10.
_USUAL_GRADES = 11


def doubt(name: str, labels: Floats) -> str | None:
    """Say why a column is hardly one of labels, if there is a reason."""
    if _UNLIKELY(name):
        return "by its name"
    distinct = np.unique(labels[~np.isnan(labels)])
    if (distinct != np.floor(distinct)).any():
        return "values that are not whole numbers"
    return f"{len(distinct)} distinct values" if len(distinct) > _USUAL_GRADES else None


def _shortened(items: Sequence[str]) -> str:
    """Write out up to ten of `items`."""
    return ", ".join(items) if len(items) <= 10 else ", ".join([*items[:10], "…"])


#: A scale of so many grades, or such a fraction of positive documents, makes the default threshold doubtful.
_LONG_SCALE, _MOSTLY = 6, 0.85
#: The fraction of positive documents is only looked at in pools of this size.
_MIN_POOL = 10


@dataclass(frozen=True, eq=False)
class AspectView:
    """One aspect of all judged documents, coded on its scale."""

    name: str
    #: The aspect with its grades, given or inferred.
    aspect: Aspect
    #: Whether the scale had to be inferred.
    inferred: bool
    n_queries: int
    pool_query: Ints
    #: The labels as given, NaN where this aspect is not judged or the label says so.
    label: Floats
    #: Grade indices, 0 for the worst grade, below it, and where not judged.
    grade: Ints

    @property
    def scale(self) -> Scale:
        """The aspect's scale as arrays."""
        return self.aspect.scale

    @cached_property
    def known(self) -> Bools:
        """Which documents have a label."""
        return ~np.isnan(self.label)

    @cached_property
    def positive(self) -> Bools:
        """Which documents reach the threshold."""
        return self.known & (self.grade >= self.scale.threshold)

    @cached_property
    def other_reading(self) -> Aspect | None:
        """The aspect on a scale that starts at 1, if it was inferred from 0 but no label is 0."""
        if not self.inferred or self.scale.identity or self.scale.is_fractional:
            return None
        distinct = np.unique(self.label[self.known])
        if len(distinct) < 2 or distinct[0] <= 0 or self.aspect.threshold is not None:
            return None
        return Aspect(
            range(1, len(self.scale)),
            greater_is_better=self.aspect.greater_is_better,
            unjudged=self.aspect.unjudged,
        )

    def check_threshold(self) -> None:
        """Warn if the default threshold, which a measure reads, hardly separates the documents."""
        if self._threshold_warning is not None:
            warn_once(self._threshold_warning, key=str(self.scale), group=f"threshold: {self.name}")

    @cached_property
    def _threshold_warning(self) -> str | None:
        n_judged, n_grades = int(self.known.sum()), len(self.scale)
        if self.aspect.threshold is not None or n_grades <= 2 or not n_judged:
            return None
        fraction = float(self.positive.sum()) / n_judged
        what = (
            f"the threshold of {self.name} is not declared, so every grade above the lowest is positive: "
            f"{fraction:.0%} of the judged documents ({n_judged}), on the scale {self.scale}"
        )
        if self.other_reading is not None:
            return (
                f"{what}. No label is 0. If the scale starts at 1, declare {self.name}: {self.other_reading!r}; "
                f"if it starts at 0, {self.name}: {self._with_threshold(1)}"
            )
        if n_grades < _LONG_SCALE and (fraction < _MOSTLY or n_judged < _MIN_POOL):
            return None
        return f"{what}. Declare the lowest positive grade, as in {self._with_threshold(n_grades // 2)}"

    def _with_threshold(self, index: int) -> str:
        """How the aspect is declared with the grade at `index` as threshold."""
        grade, spec = float(self.scale.grades[index]), self.aspect.to_spec()
        if isinstance(spec, int):
            return f"Aspect({spec}, threshold={spell(grade)})"
        if len(self.scale) > _USUAL_GRADES:
            return f"Aspect(…, threshold={spell(grade)})"
        return repr(Aspect(**{**spec, "threshold": grade}))

    @cached_property
    def probability(self) -> Floats:
        """P of the gain family, with one element more at the end for unjudged documents."""
        if not self.scale.identity:
            return np.asarray(self.scale.gains[np.append(self.grade, 0)], dtype=np.float64)
        worst = self.scale.grades[0]
        labels = np.append(np.where(self.known, np.maximum(self.label, worst), worst), worst)
        if labels.min() < 0 or labels.max() > 1:
            raise MultiAspectError(
                f"{self.name} has gains='identity', so its labels must be probabilities in [0, 1]; "
                f"they go from {spell(float(labels.min()))} to {spell(float(labels.max()))}"
            )
        return labels

    @cached_property
    def top_probability(self) -> float:
        """The greatest P the scale has."""
        return 1.0 if self.scale.identity else float(self.scale.gains.max())

    def at_least(self, rel: float) -> Bools:
        """Which documents have at least the label `rel`, in the scale's direction."""
        with np.errstate(invalid="ignore"):
            return np.asarray(
                self.label >= rel if self.scale.greater_is_better else self.label <= rel, dtype=np.bool_
            )

    @cached_property
    def junk(self) -> Floats:
        """0 for an ordinary label, the distance below the worst grade or 0 of a junk label, NaN without a label."""
        upwards = self.label if self.scale.greater_is_better else self.scale.grades[0] - self.label
        return np.minimum(upwards, 0.0)

    def mapped(self, gains: Mapping[float, float]) -> Floats:
        """The labels themselves, at least 0, with some of them replaced by other gains."""
        gain = np.nan_to_num(self.label)
        for label, value in gains.items():
            gain[self.label == label] = value
        return np.maximum(gain, 0.0)

    @cached_property
    def target(self) -> Target:
        """This aspect as a base measure sees it."""
        values = np.maximum(self.scale.values, 0.0)
        return Target(
            n_queries=self.n_queries,
            query=self.pool_query,
            gain=np.where(self.known, values[self.grade], 0.0),
            top=float(values[-1]),
            source=self,
            bottom=float(values[0]),
        )


class Judgments:
    """The judgments of a collection, ready to be joined with any number of runs.

    Built once from wide qrels and used for all runs and measures.

    Parameters
    ----------
    qrels : DataFrame, dict or iterable of namedtuples
        One row a judged (query, document) with a numeric column per aspect: a DataFrame (of pandas,
        Polars, PyArrow) with ``qid docno label …`` or ``query_id doc_id relevance …``; a dict ``{qid: {docno:
        label}}`` whose labels are numbers, tuples, namedtuples or dicts; or namedtuples such
        as those of ir_datasets. A missing label is NaN or None.

    Raises
    ------
    MultiAspectError
        If columns are missing or ambiguous, or a pair is judged twice with different labels.

    Examples
    --------
    >>> judgments = Judgments({"q1": {"d1": {"relevance": 2, "credibility": 1}, "d2": {"relevance": 0}}})
    >>> judgments.label_names
    ('relevance', 'credibility')
    >>> len(judgments)
    2
    """

    def __init__(self, qrels: object) -> None:
        frame, self._positional = _as_frame(qrels)
        if frame is qrels:
            # Labels are read later, when the caller may have sorted or changed the frame.
            frame = frame.copy()
        check_distinct_columns(frame, "qrels")
        query_column = id_column(frame, QUERY_COLUMNS, "qrels")
        document_column = id_column(frame, DOCUMENT_COLUMNS, "qrels")
        if "label" in frame.columns and "relevance" in frame.columns:
            raise MultiAspectError(
                "qrels have both a column label and a column relevance; both mean the aspect relevance: "
                f"drop or rename one (columns: {choices(frame.columns)})"
            )
        query, qids = encode(identifiers(query_column, "qrels"))
        docnos = identifiers(document_column, "qrels")
        document, _ = encode(docnos)
        by_name = np.argsort(qids)
        rank_of = np.empty(len(qids), dtype=np.intp)
        rank_of[by_name] = np.arange(len(qids))
        #: The queries in the order of their names, to which all values are aligned.
        self.qids: NDArray[np.object_] = qids[by_name]
        self._query_index = pd.Index(self.qids, dtype=object)
        pairs = rank_of[query] * (document.max(initial=0) + 1) + document
        # Rows of the frame that repeat a pair are merged.
        _, self._first, self._pair = np.unique(pairs, return_index=True, return_inverse=True)
        #: The query and the document of each judged pair, sorted by query.
        self.pool_query: Ints = rank_of[query[self._first]]
        self.docnos: NDArray[np.object_] = docnos[self._first]
        self._frame = frame
        self._labels: dict[str, Floats] = {}
        self._cache: dict[Hashable, Any] = {}
        names: list[str] = []
        for column in frame.columns:
            if isinstance(column, str) and column not in (*IDENTIFIERS, KNOWN):
                relevance = aspect_name(column) == "relevance"
                if relevance or _is_numeric(frame[column]):
                    names.insert(0, "relevance") if relevance else names.append(self._aspect_of(column))
        #: The aspects that are evaluated when a measure names none.
        self.label_names: tuple[str, ...] = tuple(names)

    def __len__(self) -> int:
        """The number of judged (query, document) pairs."""
        return len(self.docnos)

    def __repr__(self) -> str:
        return (
            f"<Judgments: {len(self.qids)} queries, {len(self)} documents judged for {choices(self.label_names)}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}

    @classmethod
    def of(cls, qrels: object) -> Judgments:
        """Return `qrels` if they are Judgments already, else build them."""
        return qrels if isinstance(qrels, Judgments) else cls(qrels)

    def in_order(self) -> Judgments:
        """Return the same judgments with the documents of a query in the order of their names."""
        place = np.empty(len(self), dtype=np.intp)
        place[np.lexsort((pd.factorize(self.docnos, sort=True)[0], self.pool_query))] = np.arange(len(self))
        # With all rows of a pair that is judged more than once, lest labels that differ pass unseen.
        ordered = Judgments(self._frame.iloc[np.argsort(place[self._pair], kind="stable")])
        ordered._positional = self._positional
        return ordered

    @property
    def n_queries(self) -> int:
        """The number of queries that have judgments."""
        return len(self.qids)

    def of_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Spread values of judged pairs over the rows of the qrels, in the order they came in."""
        return np.asarray(values[self._pair])

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gives, made once per `key` for all measures and runs."""
        if key not in self._cache:
            self._cache[key] = make()
        result: T = self._cache[key]
        return result

    def queries_of(self, qids: NDArray[np.object_]) -> Ints:
        """The position of each of `qids` among the judged queries, -1 for others."""
        return np.asarray(self._query_index.get_indexer(pd.Index(qids, dtype=object)), dtype=np.intp)

    @property
    def _sorted_fingerprints(self) -> tuple[NDArray[np.int64], Ints]:
        """The keys of the judged pairs in increasing order with an end mark, and their rows."""

        def make() -> tuple[NDArray[np.int64], Ints]:
            keys = fingerprints(self.pool_query, self.docnos)
            order = np.argsort(keys)
            return np.append(keys[order], np.iinfo(np.int64).max), order

        return self.cached("fingerprints", make)

    def rows_of(self, query: Ints, docnos: NDArray[np.object_], keys: NDArray[np.int64]) -> Ints:
        """The judged pair of each (query, document), -1 where it is not judged.

        Parameters
        ----------
        query, docnos, keys : ndarray of shape (n,)
            Positions of the queries, documents, and their `fingerprints`.
        """
        known, row_of = self._sorted_fingerprints
        place = np.searchsorted(known, keys)
        rows = np.full(len(keys), -1, dtype=np.intp)
        candidates = np.flatnonzero(known[place] == keys)
        while len(candidates):
            row = row_of[np.minimum(place[candidates], len(row_of) - 1)]
            same = (self.docnos[row] == docnos[candidates]) & (self.pool_query[row] == query[candidates])
            rows[candidates[same]] = row[same]
            # Another pair with the same key: look at the next one.
            candidates = candidates[~same]
            place[candidates] += 1
            candidates = candidates[known[place[candidates]] == keys[candidates]]
        return rows

    # -- labels -----------------------------------------------------------------------------

    def labels(self, name: str) -> Floats:
        """Return the labels of one aspect as given, a float per judged pair, NaN where missing."""
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def _aspect_of(self, column: str) -> str:
        """The aspect a column holds: ir_datasets has qrels whose credibility is misspelt."""
        return _CREDIBILITY if column == _MISSPELT and _CREDIBILITY not in self._frame.columns else column

    def _column_of(self, name: str) -> str | None:
        candidates = {"relevance": ("label", "relevance"), _CREDIBILITY: (_CREDIBILITY, _MISSPELT)}.get(
            name, (name,)
        )
        return next((column for column in candidates if column in self._frame.columns), None)

    def _read_labels(self, name: str) -> Floats:
        column_name = self._column_of(name)
        if column_name is None:
            raise self._missing([name])
        if column_name == _MISSPELT and name == _CREDIBILITY:
            warn_once(
                f"the column {_MISSPELT} of the qrels is read as {_CREDIBILITY}. Rename it, as in "
                f"qrels.rename(columns={{{_MISSPELT!r}: {_CREDIBILITY!r}}})"
            )
        column = self._frame[column_name]
        if getattr(column.dtype, "kind", "O") in "mMc":
            raise MultiAspectError(f"the column {column_name} has the type {column.dtype}; labels are numbers")
        values = _numbers(column)
        faulty = np.flatnonzero((np.isnan(values) & column.notna().to_numpy()) | np.isinf(values))
        if len(faulty):
            row, given = int(faulty[0]), column.iloc[int(faulty[0])]
            shown = "an integer beyond 1.8e308" if isinstance(given, int) else repr(given)
            raise MultiAspectError(
                f"{self._where(self._pair[row])} has the {column_name} {shown}, which is no "
                "finite number; labels are numbers, missing ones NaN"
            )
        result = values[self._first]
        other = result[self._pair]
        conflicts = np.flatnonzero((values != other) & ~(np.isnan(values) & np.isnan(other)))
        if len(conflicts):
            row = int(conflicts[0])
            raise MultiAspectError(
                f"{self._where(self._pair[row])} is judged more than once, with the {column_name} "
                f"{spell(float(other[row]))} and {spell(float(values[row]))} {counted(len(conflicts), 'row')}"
            )
        return result

    def _where(self, row: int) -> str:
        return f"document {self.docnos[row]} of query {self.qids[self.pool_query[row]]}"

    def _missing(self, missing: Sequence[str]) -> MultiAspectError:
        registered = choices(Aspects.registry)
        return MultiAspectError(
            f"the qrels have no column for the aspect {choices(missing)}; the aspects there are: "
            f"{choices(self.label_names)} (columns: {choices(self._frame.columns)}; named sets of "
            f"aspects: {registered})"
        )

    # -- aspects ----------------------------------------------------------------------------

    def views(self, spec: AspectSpec) -> tuple[AspectView, ...]:
        """Return the aspects a measure asks for, coded on their declared or inferred scales.

        Parameters
        ----------
        spec : Aspects, tuple of str or None
            Declared scales, columns by name, or None for all label columns.

        Raises
        ------
        MultiAspectError
            If a column is missing (the message lists those there are), a label is no number,
            or lies above or between declared grades.
        """
        return self.cached(("views", spec), lambda: self._make_views(spec))

    def _make_views(self, spec: AspectSpec) -> tuple[AspectView, ...]:
        names = self.label_names if spec is None else tuple(spec)
        columns: Mapping[str, str] = {name: name for name in names}
        if self._positional and len(names) == len(self.label_names) and spec is not None:
            columns = dict(zip(names, self.label_names, strict=True))
        missing = [name for name in names if self._column_of(columns[name]) is None]
        if missing:
            raise self._missing(missing)
        if not names:
            raise MultiAspectError(
                "the qrels have no numeric label column; give at least label or relevance "
                f"(columns: {choices(self._frame.columns)})"
            )
        if spec is None:
            self._check_columns(names)
        declared = spec if isinstance(spec, Aspects) else {}
        return tuple(self._view(name, columns[name], declared.get(name)) for name in names)

    def _check_columns(self, names: Sequence[str]) -> None:
        """Warn of columns that are evaluated as aspects, unasked, but hardly hold labels."""
        doubts = {name: doubt(name, self.labels(name)) for name in names if name != "relevance"}
        doubtful = [name for name in names if doubts.get(name)]
        if doubtful:
            likely = [name for name in names if name not in doubtful] or list(names)
            warn_once(
                "no aspects were selected, so every numeric column of the qrels is an aspect, including some that "
                f"hardly hold labels: {choices(f'{name} ({doubts[name]})' for name in doubtful)}. Select the "
                f"aspects, as in aspects={likely!r}, or declare their scales",
                key=f"columns: {choices(map(repr, doubtful))}",
            )

    def view(self, name: str, spec: AspectSpec) -> AspectView:
        """Return one aspect by name, on the scale `spec` declares for it, if it does."""
        name = aspect_name(name)
        if spec is None:
            return self.views((name,))[0]
        if name not in spec:
            raise MultiAspectError(f"the aspect {name} is not among the aspects given: {choices(spec)}")
        return next(view for view in self.views(spec) if view.name == name)

    def _view(self, name: str, column: str, aspect: Aspect | None) -> AspectView:
        return self.cached(("view", name, column, aspect), lambda: self._make_view(name, column, aspect))

    def _make_view(self, name: str, column: str, aspect: Aspect | None) -> AspectView:
        labels = self.labels(column)
        aspect = aspect or Aspect()
        if aspect.unjudged:
            labels = np.where(np.isin(labels, aspect.unjudged), np.nan, labels)
        inferred = aspect.grades is None
        if inferred:
            aspect = aspect.with_grades(infer_grades(labels, identity=aspect.gains == "identity"))
        return AspectView(
            name=name,
            aspect=aspect,
            inferred=inferred,
            n_queries=self.n_queries,
            pool_query=self.pool_query,
            label=labels,
            grade=self._grade(name, labels, aspect.scale),
        )

    def _grade(self, name: str, labels: Floats, scale: Scale) -> Ints:
        # TREC marks junk by -1 and -2; any other label below the scale is hardly meant as the lowest grade.
        below = labels < scale.grades[0] if scale.greater_is_better else labels > scale.grades[0]
        codes = np.unique(labels[below & ((labels >= 0) | (labels < -2))])
        if len(codes):
            listed = [spell(code) for code in codes.tolist()]
            warn_once(
                f"{name} has labels below its lowest grade {spell(float(scale.grades[0]))}, which are evaluated as "
                f"that grade: {_shortened(listed)}. If they mean 'not judged', declare "
                f"Aspect(unjudged=[{_shortened(listed)}]); if they are codes of another kind, map them to grades",
                key=f"{scale}: {','.join(listed)}",
                group=f"codes: {name}",
            )
        index, wrong = scale.positions(labels)
        if len(wrong):
            row = int(wrong[0])
            sign = 1.0 if scale.greater_is_better else -1.0
            above = sign * labels[row] > sign * scale.grades[-1]
            raise MultiAspectError(
                f"{self._where(row)} has the {name} label {spell(float(labels[row]))}, which is "
                f"{'above the top grade' if above else 'between two grades'}; the grades, worst first, are {scale} "
                f"{counted(len(wrong), 'label')}; declare a code that means 'not judged' by Aspect(unjudged=[…])"
            )
        return index


def _as_frame(qrels: object) -> tuple[pd.DataFrame, bool]:
    """Turn qrels into a frame; also tell whether its label columns have positions but no names."""
    frame = to_pandas(qrels)
    if frame is not None:
        return frame, False
    if isinstance(qrels, Mapping):
        return _frame_of_mapping(qrels)
    if isinstance(qrels, Iterable) and not isinstance(qrels, str | bytes):
        rows = list(qrels)
        fields = next((row._fields for row in rows if hasattr(row, "_fields")), None)
        if not rows:
            return pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []}), False
        if fields is not None and all(getattr(row, "_fields", None) == fields for row in rows):
            return pd.DataFrame(rows, columns=list(fields)), False
        raise MultiAspectError(
            f"an iterable of qrels holds namedtuples with the same fields throughout, not {rows[0]!r} …"
        )
    raise MultiAspectError(
        "qrels are a DataFrame, a dict {qid: {docno: labels}}, an iterable of namedtuples or Judgments, "
        f"not {type(qrels).__name__}; files are read by read_qrels"
    )


def _frame_of_mapping(qrels: Mapping[Any, Any]) -> tuple[pd.DataFrame, bool]:
    ids: list[tuple[Any, Any]] = []
    labels: list[Any] = []
    for qid, documents in qrels.items():
        if not isinstance(documents, Mapping):
            raise MultiAspectError(
                f"qrels as a dict are {{qid: {{docno: labels}}}}; query {qid!r} has {documents!r}"
            )
        for docno, label in documents.items():
            ids.append((qid, docno))
            labels.append(label)
    frame = pd.DataFrame(ids, columns=["query_id", "doc_id"])
    first = labels[0] if labels else 0
    if isinstance(first, Mapping):
        if not all(isinstance(label, Mapping) for label in labels):
            raise MultiAspectError("some labels of the qrels are dicts and some are not")
        return frame.join(pd.DataFrame(labels)), False
    if isinstance(first, tuple | list):
        lengths = {len(label) if isinstance(label, tuple | list) else 1 for label in labels}
        if lengths != {len(first)}:
            raise MultiAspectError(f"label tuples of the qrels differ in length: {choices(sorted(lengths))}")
        fields = getattr(first, "_fields", None)
        names = fields or ["relevance", *(f"aspect_{index}" for index in range(2, len(first) + 1))]
        return frame.join(pd.DataFrame([tuple(label) for label in labels], columns=list(names))), fields is None
    if any(isinstance(label, Mapping | tuple | list) for label in labels):
        raise MultiAspectError("some labels of the qrels are single numbers and some are not")
    return frame.assign(relevance=labels), False
