"""Judgments: qrels with any number of label columns, ready to be joined with runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import Memo
from .._numbers import spell
from .._typing import Bools, Floats, Ints, Objects
from ..aspects import Aspect, Aspects, AspectSpec, Scale, aspect_name
from ..aspects.aspect import infer_grades, number_codes, text_codes, unjudged_codes
from ..errors import (
    SWAPPED,
    MultiAspectError,
    choices,
    did_you_mean,
    in_shell,
    number_of,
    parameter,
    refuse_unknown,
    tally,
    warn_once,
)
from ..strings.identifiers import identifiers
from ..strings.order import inverse_permutation
from ..strings.pair_table import PairTable
from ..strings.texts import Texts
from .columns import (
    BOOLEANS,
    BY_SUBTOPIC,
    DOCUMENT_COLUMNS,
    KNOWN,
    NOT_ASPECTS,
    QUERY_COLUMNS,
    SUBTOPIC_COLUMNS,
    added_columns,
    check_distinct_columns,
    doubt,
    grade_booleans,
    id_column,
    is_boolean,
    is_numeric,
    join_some,
    read_labels,
    text_remedy,
    texts_like_labels,
    warn_of_added_columns,
    without_missing,
)
from .qrels_forms import BY_QUERY, qrels_frame
from .views import AspectView

#: An aspect whose column is misspelt in some qrels of ir_datasets.
_CREDIBILITY, _MISSPELT = "credibility", "redibility"


def numbered_names(times: int) -> list[str]:
    """Return query names whose alphabetical order is that of their numbers."""
    return [f"{number:09d}" for number in range(times)]


class MissingAspectError(MultiAspectError):
    """The qrels have no column for an aspect."""


class Judgments(Memo):
    """The judgments of a collection, ready to be joined with any number of runs.

    They are built once from wide qrels and used for all runs and measures.

    Parameters
    ----------
    qrels : DataFrame, dict or iterable of namedtuples
        One row per judged (query, document) with one numeric column per aspect: a DataFrame (of
        pandas, Polars or PyArrow, or anything with columns and ``to_pandas()``) with ``qid docno
        label …``, ``query_id doc_id relevance …`` or, with whole numbers as in BEIR and MTEB,
        ``query-id corpus-id score …``; a dict ``{qid: {docno: label}}`` whose labels are numbers,
        tuples, namedtuples or dicts; a dict ``{aspect: {qid: {docno: label}}}`` with relevance
        among the aspects; or namedtuples such as those of ir_datasets. A missing label is NaN or
        None.

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
        frame, positional = qrels_frame(qrels)
        if frame is qrels:
            # Labels are read later, when the caller may have sorted or changed the frame.
            frame = frame.copy()
        _refuse_two_relevance_columns(frame)
        check_distinct_columns(frame, "qrels")
        query_column = id_column(frame, QUERY_COLUMNS, "qrels")
        document_column = id_column(frame, DOCUMENT_COLUMNS, "qrels")
        query, distinct = Texts.from_column(query_column, "qrels").codes()
        qids = distinct.decode()
        docnos = identifiers(document_column, "qrels")
        document, _ = Texts.from_strings(docnos).codes()
        by_name = np.argsort(qids)
        query = inverse_permutation(by_name)[query]
        # Rows of the frame that repeat a pair are merged.
        code = query * (document.max(initial=0) + 1) + document
        _, first, pair = np.unique(code, return_index=True, return_inverse=True)
        self._set_arrays(frame, qids[by_name], query, first, pair, docnos, positional=positional)
        self._refuse_runs(frame)

    def _refuse_runs(self, frame: pd.DataFrame) -> None:
        """Raise an error if the only columns of numbers are those of a run."""
        names = self.label_names
        if "score" in names and set(names) <= {"score", "rank"}:
            raise MultiAspectError(
                "qrels: expected a numeric label column, such as label or relevance, got the "
                f"columns of a run: {choices(frame.columns)}. {SWAPPED}"
            )

    def _set_arrays(
        self,
        frame: pd.DataFrame,
        qids: Objects,
        query: Ints,
        first: Ints,
        pair: Ints,
        docnos: Objects | None,
        *,
        positional: bool = False,
    ) -> None:
        """Set all attributes: the constructor from arrays, which subclasses call.

        Parameters
        ----------
        frame : DataFrame
            The columns of labels. Each row is a judgment.
        qids : ndarray of str, shape (n_queries,)
            The queries, sorted.
        query : ndarray of int, shape (n_rows,)
            The query of each row, as a position in `qids`.
        first : ndarray of int, shape (n_pairs,)
            The first row of each judged pair. Pairs are sorted by query.
        pair : ndarray of int, shape (n_rows,)
            The judged pair of each row.
        docnos : ndarray of str, shape (n_rows,), optional
            The document of each row. By default, documents are named by row number.
        positional : bool, default False
            Whether the columns of labels have no names.
        """
        self._frame = frame
        self._first = first
        self._pair = pair
        self._positional = positional
        self._row_docnos = docnos
        #: The queries, sorted by name; all results are in this order.
        self.qids: Objects = qids
        self._query_index = pd.Index(qids, dtype=object)
        #: The query of each judged pair, non-decreasing.
        self.pool_query: Ints = query[first]
        self._labels: dict[str, Floats] = {}
        #: Which labels of columns with truth values are such.
        self._booleans: dict[str, Bools] = {}
        #: The judgments from which undeclared scales are inferred, if not these.
        self._origin: Judgments | None = None
        #: The aspects of measures that do not name any.
        self.label_names: tuple[str, ...] = self._aspect_names()

    @property
    def docnos(self) -> Objects:
        """The document of each judged pair."""
        return self.compute_once("docnos", self._docno_of_pair)

    def _docno_of_pair(self) -> Objects:
        if self._row_docnos is None:
            return self._first.astype(str).astype(object)
        return self._row_docnos[self._first]

    def __len__(self) -> int:
        """Return the number of judged (query, document) pairs."""
        return len(self._first)

    def __repr__(self) -> str:
        queries = number_of(len(self.qids), "query")
        documents = number_of(len(self), "document")
        return f"<Judgments: {queries}, {documents} judged for {choices(self.label_names)}>"

    @classmethod
    def of(cls, qrels: object) -> Judgments:
        """Return `qrels` if they are Judgments, else build Judgments from them."""
        if isinstance(qrels, Judgments):
            return qrels
        return cls(qrels)

    def is_of(self, frame: pd.DataFrame) -> bool:
        """Return whether these are the judgments of a frame in its present state.

        Parameters
        ----------
        frame : DataFrame
            Qrels.

        Returns
        -------
        bool
            Also False for a frame with the same judgments in another form.
        """
        try:
            return self._frame.equals(frame)
        except ValueError:  # pandas 2 cannot compare arrays within lists
            return False

    def take_rows(self, rows: Ints) -> Judgments:
        """Return the judgments of some rows, whose scales are inferred from these alone.

        Parameters
        ----------
        rows : ndarray of int
            The positions of the rows, in the order of `row_values`; the order of documents follows
            from theirs.

        Returns
        -------
        Judgments
            New judgments.
        """
        result = Judgments(self._frame.iloc[rows])
        result._positional = self._positional
        result.label_names = self.label_names
        return result

    def repeat_query(self, query: int, times: int) -> Judgments:
        """Return judgments of `times` queries, each with the documents and scales of one query.

        Parameters
        ----------
        query : int
            Position of the query.
        times : int
            Number of queries of the result.

        Returns
        -------
        Judgments
            Judgments whose queries are sorted by number and whose documents are sorted by name.
        """
        rows = np.flatnonzero(self.pool_query[self._pair] == query)
        docnos = self.docnos[self._pair[rows]]
        rows = rows[np.argsort(docnos, kind="stable")]
        frame = self._frame.iloc[np.tile(rows, times)].reset_index(drop=True)
        column = id_column(frame, QUERY_COLUMNS, "qrels").name
        qids = np.array(numbered_names(times), dtype=object)
        frame[column] = np.repeat(qids, len(rows))
        result = Judgments(frame)
        result._origin = self
        result._positional = self._positional
        result.label_names = self.label_names
        return result

    def with_copies(
        self, pairs: Ints, query: Ints, qids: Objects, labels: Mapping[str, Floats]
    ) -> Judgments:
        """Return copies of judged pairs as judgments of other queries, with other labels.

        Parameters
        ----------
        pairs : ndarray of int, shape (n_copies,)
            The judged pair of each copy.
        query : ndarray of int, shape (n_copies,)
            The query of each copy, as a position in `qids`, non-decreasing.
        qids : ndarray of str
            The queries, sorted.
        labels : mapping of str to ndarray, shape (n_copies,)
            The labels of each aspect.

        Returns
        -------
        Judgments
            The judgments, on the scales of these.
        """
        row = np.arange(len(pairs))  # each copy is a row and a judged pair
        frame = self._frame.iloc[self._first[pairs]]
        docnos = self.docnos[pairs]
        result = copy(self)
        result._set_arrays(frame, qids, query, row, row, docnos, positional=self._positional)
        return result.with_labels(labels, scales=self)

    def with_documents(
        self, query: Ints, docnos: Objects, labels: Mapping[str, Floats]
    ) -> Judgments:
        """Return judgments of further documents, too, which have no values in any column.

        Parameters
        ----------
        query : ndarray of int, shape (n_documents,)
            The query of each document, as a position in `qids`.
        docnos : ndarray of str, shape (n_documents,)
            Documents, which may be repeated or judged.
        labels : mapping of str to ndarray, shape (n_pairs,)
            The labels of aspects of the judged pairs, which replace those of the columns.

        Returns
        -------
        Judgments
            The judgments, with the same queries, and without columns of ids.
        """
        replaced = {*NOT_ASPECTS, *map(self._aspect_column, labels)}
        named = [column for column in self._frame.columns if isinstance(column, str)]
        kept = [column for column in named if column not in replaced]
        judged = self._frame.iloc[self._first][kept]
        judged = judged.reset_index(drop=True)
        judged = judged.assign(**labels)
        # Judged pairs first, then the further documents.
        query = np.concatenate([self.pool_query, query])
        docnos = np.concatenate([self.docnos, docnos])
        frame = judged.reindex(np.arange(len(query)))
        frame = frame.assign(query_id=self.qids[query], doc_id=docnos)
        repeated = frame.duplicated(["query_id", "doc_id"])
        frame = frame[~repeated].reset_index(drop=True)
        return Judgments(frame)

    def infer_scales_from(self, judgments: Judgments) -> None:
        """Infer undeclared scales from the labels of other judgments instead of these.

        Parameters
        ----------
        judgments : Judgments
            The other judgments.
        """
        self._origin = judgments

    @property
    def n_queries(self) -> int:
        """The number of queries with judgments."""
        return len(self.qids)

    def rows(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return columns of the qrels as they were given, in the order of `row_values`.

        Parameters
        ----------
        columns : sequence of str
            The names of the columns.

        Returns
        -------
        DataFrame
            One row per row of the qrels, numbered from 0.
        """
        return self._frame[[*columns]].reset_index(drop=True)

    @property
    def columns(self) -> list[str]:
        """The columns of the qrels."""
        return [str(column) for column in self._frame.columns]

    def row_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Map values per judged pair to the rows of the qrels, in their original order."""
        return np.asarray(values[self._pair])

    def with_labels(self, labels: Mapping[str, NDArray[Any]], scales: Judgments) -> Judgments:
        """Return judgments of the same pairs with other labels, for joined rankings.

        Parameters
        ----------
        labels : mapping of str to ndarray
            The labels of each aspect, one per row of the qrels these judgments were built from, NaN
            if missing.
        scales : Judgments
            The judgments from which undeclared scales are inferred.

        Returns
        -------
        Judgments
            The judgments, with an empty cache.
        """
        result = copy(self)  # without the cached properties
        result._labels = {}
        for name, values in labels.items():
            label_of_row = np.asarray(values, np.float64)
            result._labels[name] = label_of_row[self._first]
        result._booleans = {}
        result.infer_scales_from(scales)
        return result

    def query_positions(self, qids: Objects) -> Ints:
        """Return the position of each of `qids` among the judged queries, or -1."""
        wanted = pd.Index(qids, dtype=object)
        return np.asarray(self._query_index.get_indexer(wanted), dtype=np.intp)

    @property
    def pairs(self) -> PairTable:
        """The judged pairs as a hash table."""
        return self.compute_once("pairs", self._hash_pairs)

    def _hash_pairs(self) -> PairTable:
        return PairTable(self.pool_query, Texts.from_strings(self.docnos))

    # -- labels -----------------------------------------------------------------------------

    def labels(self, name: str) -> Floats:
        """Return the labels of one aspect as given, one float per judged pair, NaN if missing."""
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def _aspect_names(self) -> tuple[str, ...]:
        """Return the aspects of the columns, relevance first."""
        names: list[str] = []
        for column in self._possible_aspects:
            if aspect_name(column) == "relevance":
                names.insert(0, "relevance")
            elif not is_numeric(self._frame[column]):
                continue
            elif column == _MISSPELT and _CREDIBILITY not in self._frame.columns:
                names.append(_CREDIBILITY)
            else:
                names.append(column)
        return tuple(names)

    @property
    def _possible_aspects(self) -> list[str]:
        """The columns that neither identify a judgment or row nor mark known documents."""
        names = [column for column in self._frame.columns if isinstance(column, str)]
        left_out = (*NOT_ASPECTS, KNOWN, *self._added_columns())
        return [column for column in names if column not in left_out]

    def _added_columns(self) -> list[str]:
        """Return the columns with row indexes and ids, which are aspects only if selected."""
        return added_columns(self._frame.columns)

    def _aspect_column(self, name: str) -> str | None:
        """Return the column of an aspect, or None."""
        candidates: tuple[str, ...] = (name,)
        if name == "relevance":
            candidates = ("label", "relevance")
        elif name == _CREDIBILITY:
            candidates = (_CREDIBILITY, _MISSPELT)
        for column in candidates:
            if column in self._frame.columns:
                return column
        return None

    def _read_labels(self, name: str, missing: Sequence[str] = ()) -> Floats:
        """Return the labels of a column, NaN for texts that mean that there is no label."""
        column_name = self._aspect_column(name)
        if column_name is None:
            raise self._missing_aspect_error([name])
        if column_name == _MISSPELT and name == _CREDIBILITY:
            warn_once(
                f"the column {_MISSPELT} of the qrels is read as {_CREDIBILITY}. Rename it, as in "
                f"qrels.rename(columns={{{_MISSPELT!r}: {_CREDIBILITY!r}}})"
            )
        column = self._frame[column_name]
        if missing:
            column = without_missing(column, missing)
        values = read_labels(column)
        self._refuse_invalid(column, values)
        labels = values[self._first]
        booleans = is_boolean(column)
        if booleans.any():
            self._booleans[name] = booleans[self._first]
        self._refuse_conflicts(column_name, values, labels, self._pair)
        return labels

    def _refuse_invalid(self, column: pd.Series[Any], values: Floats) -> None:
        """Raise an error if a cell of a column is no finite number, although it is not missing."""
        is_no_number = np.isnan(values) & column.notna().to_numpy()
        faulty = np.flatnonzero(is_no_number | np.isinf(values))
        if not len(faulty):
            return
        row = int(faulty[0])
        value = column.iloc[row]
        if isinstance(value, int):
            shown = "an integer beyond 1.8e308"
        else:
            shown = repr(value)
        if isinstance(value, str):
            remedy = f". If it means 'not judged', declare {unjudged_codes(shown)}"
        else:
            remedy = ""
        raise MultiAspectError(
            f"invalid label {shown} in column {column.name} for "
            f"{self._pair_text(self._pair[row])}: expected a finite number, or NaN if unjudged"
            f"{remedy}"
        )

    def _refuse_conflicts(self, column: str, values: Floats, labels: Floats, pair: Ints) -> None:
        """Raise an error if the value of a row is not the label of its judged pair."""
        kept = labels[pair]
        are_missing = np.isnan(values) & np.isnan(kept)
        conflicts = np.flatnonzero((values != kept) & ~are_missing)
        if not len(conflicts):
            return
        row = int(conflicts[0])
        present = [name for name in SUBTOPIC_COLUMNS if name in self._frame.columns]
        if present:
            remedy = f". If the column {present[0]} contains subtopics, {BY_SUBTOPIC}"
        else:
            remedy = ""
        raise MultiAspectError(
            f"expected one label in column {column} for {self._pair_text(pair[row])}, got "
            f"{spell(float(kept[row]))} and {spell(float(values[row]))} "
            f"{tally(len(conflicts), 'row')}{remedy}"
        )

    def _pair_text(self, row: int) -> str:
        return f"document {self.docnos[row]}, query {self.qids[self.pool_query[row]]}"

    @property
    def text_columns(self) -> dict[str, list[str]]:
        """The columns of text that may be labels, with their distinct texts."""
        return self.compute_once("text columns", self._find_text_columns)

    def _find_text_columns(self) -> dict[str, list[str]]:
        query_of_row = self.pool_query[self._pair]
        texts_by_column: dict[str, list[str]] = {}
        for column in self._possible_aspects:
            if aspect_name(column) in self.label_names:
                continue
            texts = texts_like_labels(self._frame[column], query_of_row)
            if texts:
                texts_by_column[column] = texts
        return texts_by_column

    def _missing_aspect_error(self, missing: Sequence[str]) -> MultiAspectError:
        from multiprocessing import current_process

        if in_shell():
            others = f", or a further {parameter('qrels')} ASPECT=FILE"
        else:
            columns = choices(self._frame.columns)
            names_of_sets = choices(Aspects.registry)
            others = f" (columns: {columns}; named sets of aspects: {names_of_sets})"
        known = [*self.label_names, *Aspects.registry]
        message = (
            f"the qrels have no column for the aspect {choices(missing)}; expected aspects among "
            f"{choices(self.label_names)}{others}{did_you_mean(missing, known)}"
        )
        if "correctness" in missing and "supportiveness" in self.label_names:
            message += (
                ". orders.correctness (on the command line, --stances FILE) computes it from "
                "supportiveness and the stances of the topics"
            )
        if current_process().name != "MainProcess":
            message += (
                ". A set of aspects that another process named is unknown to this worker process: "
                "pass the measure itself rather than its name"
            )
        if "relevance" in missing and "score" in self.label_names:
            message += f". {SWAPPED}"
        are_queries = {*missing} <= {*self.qids}
        if are_queries or ("relevance" in missing and self._are_documents_queries()):
            message += f". {BY_QUERY}"
        return MissingAspectError(message)

    def _are_documents_queries(self) -> bool:
        """Return whether most documents are judged for most queries, as in a dict of aspects."""
        if self.columns[:2] != ["query_id", "doc_id"]:
            return False
        n_possible = self.n_queries * len({*self.docnos})
        return 2 * len(self) > n_possible

    # -- aspects ----------------------------------------------------------------------------

    def views(self, spec: AspectSpec) -> tuple[AspectView, ...]:
        """Return the aspects of a measure, coded on their declared or inferred scales.

        Parameters
        ----------
        spec : Aspects, tuple of str or None
            Declared scales, columns by name, or None for all label columns.

        Raises
        ------
        MultiAspectError
            If a column is missing (the message lists the existing ones), or a label is not a number
            or is above or between declared grades.
        """
        # Equal specifications may differ in whether the grades were listed, on which a warning
        # depends.
        if isinstance(spec, Aspects):
            by_top = spec.by_top
        else:
            by_top = ()
        return self.compute_once(("views", spec, by_top), lambda: self._make_views(spec))

    def _make_views(self, spec: AspectSpec) -> tuple[AspectView, ...]:
        if spec is None:
            names = self.label_names
        else:
            names = tuple(spec)
        columns: Mapping[str, str] = {name: name for name in names}
        if self._positional and len(names) == len(self.label_names) and spec is not None:
            columns = dict(zip(names, self.label_names, strict=True))
        missing = [name for name in names if self._aspect_column(columns[name]) is None]
        if missing:
            raise self._missing_aspect_error(missing)
        if not names:
            remedy = ""
            for column, texts in self.text_columns.items():
                remedy += f". {text_remedy(column, texts)}"
            raise MultiAspectError(
                "qrels: expected a numeric label column, such as label or relevance, got the "
                f"columns {choices(self._frame.columns)}{remedy}"
            )
        if spec is None:
            self._check_columns(names)
        views = []
        for name in names:
            if isinstance(spec, Aspects):
                declared = spec.get(name)
            else:
                declared = None
            views.append(self._view(name, columns[name], declared))
        return tuple(views)

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns of a run; warn of columns that are left out or unlikely to be labels."""
        if "score" in names and "rank" in names and "relevance" not in names:
            others = [name for name in names if name not in ("score", "rank")]
            raise MultiAspectError(
                "qrels: expected label columns, got score and rank, columns of a run, among the "
                f"columns {choices(self._frame.columns)}. Select the aspects{_selection(others)}. "
                f"{SWAPPED}"
            )
        added = self._added_columns()
        if added:
            warn_of_added_columns(added, "qrels", _selection(names))
        for column, texts in self.text_columns.items():
            warn_once(
                f"the qrels column {column} contains text ({choices(map(repr, texts))}), so it is "
                f"not evaluated as an aspect. {text_remedy(column, texts)}; otherwise, select the "
                f"aspects{_selection(names)}",
                key=f"text in {column}",
            )
        doubts: dict[str, str] = {}
        for name in names:
            if name == "relevance":
                continue
            reason = doubt(name, self.labels(name), names)
            if reason:
                doubts[name] = reason
        if doubts:
            likely = [name for name in names if name not in doubts] or list(names)
            reasons = choices(f"{name} ({reason})" for name, reason in doubts.items())
            warn_once(
                "no aspects were selected, so every numeric column of the qrels is an aspect, "
                f"including some that are unlikely to contain labels: {reasons}. "
                f"Select the aspects{_selection(likely)}, or declare their scales",
                key=f"columns: {choices(map(repr, doubts))}",
            )

    def view(self, name: str, spec: AspectSpec) -> AspectView:
        """Return one aspect by name, on the scale that `spec` declares, if any."""
        name = aspect_name(name)
        if spec is None:
            return self.views((name,))[0]
        refuse_unknown([name], spec, "one of the aspects")
        views = {view.name: view for view in self.views(spec)}
        return views[name]

    def _view(self, name: str, column: str, aspect: Aspect | None) -> AspectView:
        key = ("view", name, column, aspect, aspect is not None and aspect.by_top)
        return self.compute_once(key, lambda: self._make_view(name, column, aspect))

    def _make_view(self, name: str, column: str, aspect: Aspect | None) -> AspectView:
        if aspect is None:
            aspect = Aspect()
        labels = self._graded_labels(name, column, aspect)
        if aspect.unjudged:
            labels = np.where(np.isin(labels, number_codes(aspect)), np.nan, labels)
        inferred = aspect.grades is None
        if inferred and self._origin is not None:
            aspect = self._origin._view(name, column, aspect).aspect
        elif inferred:
            is_identity = aspect.probabilities == "identity"
            grades = infer_grades(labels, name, identity=is_identity)
            aspect = aspect.with_grades(grades)
        grade_index = self._grade_index(name, labels, aspect.scale)
        return AspectView(
            name, aspect, inferred, self.n_queries, self.pool_query, labels, grade_index
        )

    def _graded_labels(self, name: str, column: str, aspect: Aspect) -> Floats:
        """Return the labels of an aspect, with truth values as two grades."""
        texts = text_codes(aspect)
        is_read = column in self._labels or not texts
        if is_read:
            labels = self.labels(column)
        else:
            labels = self._read_labels(column, texts)
        if column not in self._booleans:
            return labels
        if aspect.grades is None:
            grades = None
        else:
            grades = aspect.scale.grades
        labels, wrong = grade_booleans(labels, self._booleans[column], grades)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise MultiAspectError(
                f"invalid {name} label {bool(labels[row])} for {self._pair_text(row)}: {BOOLEANS} "
                f"{tally(int(wrong.sum()), 'label')}"
            )
        return labels

    def _grade_index(self, name: str, labels: Floats, scale: Scale) -> Ints:
        """Return the grade of each label; raise an error for labels that are not grades."""
        index, wrong = scale.positions(labels)
        if not len(wrong):
            return index
        row = int(wrong[0])
        label = spell(float(labels[row]))
        top = scale.grades[-1]
        if scale.greater_is_better:
            is_above = labels[row] > top
        else:
            is_above = labels[row] < top
        if is_above:
            position = "above the top grade"
            certain = f"{spell(top)} is its top grade"
        else:
            position = "between two grades"
            certain = "no grade is missing"
        listed = join_some(list(map(spell, np.unique(labels[wrong]).tolist())))
        raise MultiAspectError(
            f"invalid {name} label {label} for {self._pair_text(row)}, {position}: expected one of "
            f"the grades, lowest first, {scale} {tally(len(wrong), 'label')}. Check first that "
            f"these are the labels of {name}, not of another file or column, and that {certain}: "
            f"{listed} may belong to the grades. Declare them as codes that mean 'not judged', "
            f"{unjudged_codes('…')}, only if they are not grades"
        )


def _refuse_two_relevance_columns(frame: pd.DataFrame) -> None:
    """Raise an error for qrels with the columns label and relevance, or with relevance twice."""
    columns = [column for column in frame.columns if column in ("label", "relevance")]
    if len(columns) > 1 and "relevance" in columns:
        raise MultiAspectError(
            f"qrels: expected one column for the aspect relevance, got {' and '.join(columns)}, "
            "which both mean it: PyTerrier renames label to relevance. Before the evaluation, "
            f"drop or rename one (columns: {choices(frame.columns)})"
        )


def _selection(names: Iterable[str]) -> str:
    """Return how to select aspects, for messages."""
    if in_shell():
        return f" by their files in {parameter('qrels')}"
    return f", as in {parameter('aspects', list(names))}"
