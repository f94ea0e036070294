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
    >>> labels = {"d1": {"relevance": 2, "credibility": 1}, "d2": {"relevance": 0}}
    >>> judgments = Judgments({"q1": labels})
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
        query, qids = _sorted_queries(query_column)

        # Several rows may judge the same pair of a query and a document.
        docnos = identifiers(document_column, "qrels")
        first_row, pair_of_row = _number_pairs(query, docnos)
        self._set_arrays(frame, qids, query, first_row, pair_of_row, docnos, positional=positional)
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
        first_row: Ints,
        pair_of_row: Ints,
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
        first_row : ndarray of int, shape (n_pairs,)
            The first row of each judged pair. Pairs are sorted by query.
        pair_of_row : ndarray of int, shape (n_rows,)
            The judged pair of each row.
        docnos : ndarray of str, shape (n_rows,), optional
            The document of each row. By default, documents are named by row number.
        positional : bool, default False
            Whether the columns of labels have no names.
        """
        self._frame = frame
        self._first_row = first_row
        self._pair_of_row = pair_of_row
        self._positional = positional
        self._row_docnos = docnos
        #: The queries, sorted by name; all results are in this order.
        self.qids: Objects = qids
        self._query_index = pd.Index(qids, dtype=object)
        #: The query of each judged pair, non-decreasing.
        self.pool_query: Ints = query[first_row]
        #: The labels of each aspect that was read, one per judged pair.
        self._labels: dict[str, Floats] = {}
        #: For columns with truth values, a mask of the labels that are such.
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
        """Return the document of each judged pair: that of its first row, `self._first_row`."""
        if self._row_docnos is None:
            # Rows without ids are documents of their own, named by their numbers.
            row_numbers = self._first_row.astype(str)
            return row_numbers.astype(object)
        return self._row_docnos[self._first_row]

    def __len__(self) -> int:
        """Return the number of judged (query, document) pairs."""
        return len(self._first_row)

    def __repr__(self) -> str:
        queries = number_of(len(self.qids), "query")
        documents = number_of(len(self), "document")
        aspects = choices(self.label_names)
        return f"<Judgments: {queries}, {documents} judged for {aspects}>"

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
        return self._with_rows(self._frame.iloc[rows])

    def _with_rows(self, frame: pd.DataFrame) -> Judgments:
        """Return the judgments of a frame with the columns and aspects of these.

        A column of labels remains an aspect if all labels in the frame are missing, and columns
        that have no names here have none in the result.
        """
        result = Judgments(frame)
        result.label_names = self.label_names
        result._positional = self._positional
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
        frame = self._rows_by_docno(query)
        n_rows = len(frame)
        # All rows of the first copy, then all rows of the second one.
        repeated_rows = np.tile(np.arange(n_rows), times)
        repeated = frame.iloc[repeated_rows].reset_index(drop=True)
        # The rows of each copy have a query of their own, in the column of queries.
        qids = np.array(numbered_names(times), dtype=object)
        old_queries = id_column(repeated, QUERY_COLUMNS, "qrels")
        repeated[old_queries.name] = np.repeat(qids, n_rows)
        result = self._with_rows(repeated)
        result.infer_scales_from(self)
        return result

    def _rows_by_docno(self, query: int) -> pd.DataFrame:
        """Return the rows of the qrels about one query, sorted by document."""
        query_of_row = self.row_values(self.pool_query)
        rows = np.flatnonzero(query_of_row == query)
        pairs = self._pair_of_row[rows]
        docno_of_row = self.docnos[pairs]
        by_docno = np.argsort(docno_of_row, kind="stable")
        return self._frame.iloc[rows[by_docno]]

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
            The judgments, whose undeclared scales are inferred from the labels of these.
        """
        # A pair may have several rows, but its copy has one: that of the first row.
        copied_rows = self._first_row[pairs]
        number = np.arange(len(pairs))
        result = copy(self)
        result._set_arrays(
            frame=self._frame.iloc[copied_rows],
            qids=qids,
            query=query,
            first_row=number,  # the first row of the copied pair i is row i,
            pair_of_row=number,  # and row i belongs to pair i
            docnos=self.docnos[pairs],
            positional=self._positional,
        )
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
            The judgments, with the same queries, and the ids in the columns query_id and doc_id.
        """
        judged = self._other_columns(labels).assign(**labels)  # one row per judged pair
        all_queries = np.concatenate([self.pool_query, query])
        all_docnos = np.concatenate([self.docnos, docnos])
        # The rows after those of judged pairs are the further documents: missing values only.
        all_rows = np.arange(len(all_queries))
        frame = judged.reindex(all_rows)
        frame = frame.assign(query_id=self.qids[all_queries], doc_id=all_docnos)
        # Of a document that is judged or given twice, the first row is kept: the judged one.
        is_repeated = frame.duplicated(["query_id", "doc_id"])
        distinct = frame[~is_repeated].reset_index(drop=True)
        return Judgments(distinct)

    def _other_columns(self, labels: Iterable[str]) -> pd.DataFrame:
        """Return the columns without ids and without the aspects `labels`, one row per pair."""
        left_out: set[str | None] = set(NOT_ASPECTS)
        for name in labels:
            left_out.add(self._aspect_column(name))
        named = [column for column in self._frame.columns if isinstance(column, str)]
        kept = [column for column in named if column not in left_out]
        first_rows = self._frame.iloc[self._first_row]
        return first_rows[kept].reset_index(drop=True)

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
        return np.asarray(values[self._pair_of_row])

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
        result = copy(self)  # leaves out what `compute_once` has cached
        result._booleans = {}  # the new labels are numbers, not truth values
        result._labels = {}
        for name, values in labels.items():
            label_of_row = np.asarray(values, np.float64)
            # The label of a judged pair is that of its first row.
            result._labels[name] = label_of_row[self._first_row]
        result.infer_scales_from(scales)
        return result

    def query_positions(self, qids: Objects) -> Ints:
        """Return the position of each of `qids` among the judged queries, or -1."""
        wanted = pd.Index(qids, dtype=object)
        positions = self._query_index.get_indexer(wanted)
        return np.asarray(positions, dtype=np.intp)

    @property
    def pairs(self) -> PairTable:
        """The judged pairs as a hash table."""
        return self.compute_once("pairs", self._hash_pairs)

    def _share_pairs(self, judgments: Judgments) -> None:
        """Use the hash table `pairs` of other judgments of the same pairs."""
        table = judgments.pairs
        self.compute_once("pairs", lambda: table)  # from now on, `pairs` finds this table

    def _hash_pairs(self) -> PairTable:
        """Return the hash table of the judged pairs."""
        docnos = Texts.from_strings(self.docnos)
        return PairTable(self.pool_query, docnos)

    # -- labels -----------------------------------------------------------------------------

    def labels(self, name: str) -> Floats:
        """Return the labels of one aspect as given, one float per judged pair, NaN if missing."""
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def _aspect_names(self) -> tuple[str, ...]:
        """Return the aspects of the columns, relevance first."""
        has_credibility = _CREDIBILITY in self._frame.columns
        has_relevance = False
        others: list[str] = []
        for column in self._possible_aspects:
            if aspect_name(column) == "relevance":
                has_relevance = True
                continue
            if not is_numeric(self._frame[column]):
                continue
            is_misspelt = column == _MISSPELT and not has_credibility
            if is_misspelt:
                others.append(_CREDIBILITY)
            else:
                others.append(column)
        if has_relevance:
            return ("relevance", *others)
        return tuple(others)

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
        """Return the labels of an aspect, one per judged pair, and note which are truth values.

        Parameters
        ----------
        name : str
            The aspect.
        missing : sequence of str
            Texts that mean that there is no label, which are read as NaN.

        Raises
        ------
        MultiAspectError
            If there is no such column, a label is no finite number, or rows of the same pair have
            different labels.
        """
        column_name = self._aspect_column(name)
        if column_name is None:
            raise self._missing_aspect_error([name])
        if name == _CREDIBILITY and column_name == _MISSPELT:
            warn_once(
                f"the column {_MISSPELT} of the qrels is read as {_CREDIBILITY}. Rename it, as in "
                f"qrels.rename(columns={{{_MISSPELT!r}: {_CREDIBILITY!r}}})"
            )
        column = self._frame[column_name]
        if missing:
            column = without_missing(column, missing)
        label_of_row = read_labels(column)
        self._refuse_invalid(column, label_of_row)
        # A judged pair has the label of its first row; its other rows must have the same label.
        label_of_pair = label_of_row[self._first_row]
        is_truth_value = is_boolean(column)
        if is_truth_value.any():
            self._booleans[name] = is_truth_value[self._first_row]
        self._refuse_conflicts(column_name, label_of_row, label_of_pair, self._pair_of_row)
        return label_of_pair

    def _refuse_invalid(self, column: pd.Series[Any], label_of_row: Floats) -> None:
        """Raise an error if a cell of a column is no finite number, although it is not missing.

        `label_of_row` is the column as floats.
        """
        is_present = column.notna().to_numpy()
        is_no_number = np.isnan(label_of_row) & is_present
        invalid = np.flatnonzero(is_no_number | np.isinf(label_of_row))
        if not len(invalid):
            return
        row = int(invalid[0])
        value = column.iloc[row]
        if isinstance(value, int):
            # Of integers, only those that no float represents are invalid: they are too long.
            shown = "an integer beyond 1.8e308"
        else:
            shown = repr(value)
        remedy = ""
        if isinstance(value, str):
            remedy = f". If it means 'not judged', declare {unjudged_codes(shown)}"
        pair = self._pair_text(self._pair_of_row[row])
        raise MultiAspectError(
            f"invalid label {shown} in column {column.name} for {pair}: expected a finite number, "
            f"or NaN if unjudged{remedy}"
        )

    def _refuse_conflicts(
        self, column: str, row_labels: Floats, pair_labels: Floats, pair: Ints
    ) -> None:
        """Raise an error if a row has another label than its judged pair.

        Parameters
        ----------
        column : str
            The name of the column, for the error.
        row_labels : ndarray of float, shape (n_rows,)
            The label of each row.
        pair_labels : ndarray of float, shape (n_pairs,)
            The label of each pair, that of its first row.
        pair : ndarray of int, shape (n_rows,)
            The judged pair of each row.
        """
        expected_labels = pair_labels[pair]  # one per row
        are_both_missing = np.isnan(row_labels) & np.isnan(expected_labels)
        is_equal = (row_labels == expected_labels) | are_both_missing
        conflicts = np.flatnonzero(~is_equal)
        if not len(conflicts):
            return
        # The first conflict is the example of the error.
        row = int(conflicts[0])
        document = self._pair_text(pair[row])
        label = spell(float(expected_labels[row]))
        other_label = spell(float(row_labels[row]))
        number_of_rows = tally(len(conflicts), "row")
        remedy = ""
        subtopic_columns = [name for name in SUBTOPIC_COLUMNS if name in self._frame.columns]
        if subtopic_columns:
            remedy = f". If the column {subtopic_columns[0]} contains subtopics, {BY_SUBTOPIC}"
        raise MultiAspectError(
            f"expected one label in column {column} for {document}, got {label} and {other_label} "
            f"{number_of_rows}{remedy}"
        )

    def _pair_text(self, pair: int) -> str:
        """Return the document and the query of a judged pair, for errors."""
        document = self.docnos[pair]
        query = self.qids[self.pool_query[pair]]
        return f"document {document}, query {query}"

    @property
    def text_columns(self) -> dict[str, list[str]]:
        """The columns of text that may be labels, with their distinct texts."""
        return self.compute_once("text columns", self._find_text_columns)

    def _find_text_columns(self) -> dict[str, list[str]]:
        """Return the distinct texts of each column that is no aspect but may contain labels."""
        query_of_row = self.pool_query[self._pair_of_row]
        texts_by_column: dict[str, list[str]] = {}
        for column in self._possible_aspects:
            is_aspect = aspect_name(column) in self.label_names
            if is_aspect:
                continue
            texts = texts_like_labels(self._frame[column], query_of_row)
            if texts:
                texts_by_column[column] = texts
        return texts_by_column

    def _missing_aspect_error(self, missing: Sequence[str]) -> MultiAspectError:
        """Return the error for aspects without a column, with the likely remedies."""
        aspects = choices(self.label_names)
        if in_shell():
            others = f", or a further {parameter('qrels')} ASPECT=FILE"
        else:
            columns = choices(self._frame.columns)
            names_of_sets = choices(Aspects.registry)
            others = f" (columns: {columns}; named sets of aspects: {names_of_sets})"
        known = [*self.label_names, *Aspects.registry]
        suggestion = did_you_mean(missing, known)
        remedies = self._remedies_for_missing(missing)
        return MissingAspectError(
            f"the qrels have no column for the aspect {choices(missing)}; expected aspects among "
            f"{aspects}{others}{suggestion}{remedies}"
        )

    def _remedies_for_missing(self, missing: Sequence[str]) -> str:
        """Return sentences with likely remedies if qrels have no columns for the aspects `missing`.

        `self.label_names` are the aspects of the qrels, `self.qids` their queries.
        """
        from multiprocessing import current_process

        remedies = ""
        if "correctness" in missing and "supportiveness" in self.label_names:
            remedies += (
                ". orders.correctness (on the command line, --stances FILE) computes it from "
                "supportiveness and the stances of the topics"
            )
        is_worker_process = current_process().name != "MainProcess"
        if is_worker_process:
            remedies += (
                ". A set of aspects that another process named is unknown to this worker process: "
                "pass the measure itself rather than its name"
            )
        lacks_relevance = "relevance" in missing
        if lacks_relevance and "score" in self.label_names:
            remedies += f". {SWAPPED}"
        if self._may_be_by_aspect(missing):
            remedies += f". {BY_QUERY}"
        return remedies

    def _may_be_by_aspect(self, missing: Sequence[str]) -> bool:
        """Return whether the qrels may be from a dict {aspect: {qid: {docno: label}}}.

        If it has no relevance, it was read as {qid: {docno: {aspect: label}}}: its aspects became
        queries, its queries documents. `missing` are the aspects that were not found.
        """
        are_missing_aspects_queries = set(self.qids).issuperset(missing)
        if are_missing_aspects_queries:
            return True
        is_from_dict = self.columns[:2] == ["query_id", "doc_id"]
        if not is_from_dict or "relevance" not in missing:
            return False
        # In such a dict, most queries have labels on most aspects. In usual qrels, documents are
        # judged for few queries.
        n_documents = len(set(self.docnos))
        n_possible_pairs = self.n_queries * n_documents
        return len(self) > n_possible_pairs / 2

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
        # Equal specifications may differ in which scales are declared by their top grade alone,
        # rather than by a list of grades. A warning depends on it, so the cache does, too.
        declared_by_top: tuple[str, ...] = ()
        if isinstance(spec, Aspects):
            declared_by_top = spec.by_top
        key = ("views", spec, declared_by_top)
        return self.compute_once(key, lambda: self._make_views(spec))

    def _make_views(self, spec: AspectSpec) -> tuple[AspectView, ...]:
        """Return the aspects of a measure; see `views`."""
        if spec is None:
            names = self.label_names
        else:
            names = tuple(spec)
        columns = self._column_by_aspect(names)
        missing = [name for name in names if self._aspect_column(columns[name]) is None]
        if missing:
            raise self._missing_aspect_error(missing)
        if not names:
            raise self._no_labels_error()
        if spec is None:
            self._check_columns(names)
        views = []
        for name in names:
            declared = None
            if isinstance(spec, Aspects):
                declared = spec.get(name)
            views.append(self._view(name, columns[name], declared))
        return tuple(views)

    def _column_by_aspect(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return the name of the column of each aspect.

        Labels that are tuples have no names: the aspects of a measure name them, in their order.
        """
        is_named_by_position = self._positional and len(names) == len(self.label_names)
        if is_named_by_position:
            return dict(zip(names, self.label_names, strict=True))
        return {name: name for name in names}

    def _no_labels_error(self) -> MultiAspectError:
        """Return the error for qrels without any column of labels."""
        columns = choices(self._frame.columns)
        remedy = ""
        for column, texts in self.text_columns.items():
            remedy += f". {text_remedy(column, texts)}"
        return MultiAspectError(
            "qrels: expected a numeric label column, such as label or relevance, got the "
            f"columns {columns}{remedy}"
        )

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns of a run; warn of columns that are left out or unlikely to be labels.

        `names` are the aspects if none are selected.
        """
        has_columns_of_run = "score" in names and "rank" in names
        if has_columns_of_run and "relevance" not in names:
            others = [name for name in names if name not in ("score", "rank")]
            raise MultiAspectError(
                "qrels: expected label columns, got score and rank, columns of a run, among the "
                f"columns {choices(self._frame.columns)}. Select the aspects{_selection(others)}. "
                f"{SWAPPED}"
            )
        added = self._added_columns()
        if added:
            warn_of_added_columns(added, "qrels", _selection(names))
        self._warn_of_texts(names)
        self._warn_of_doubtful_columns(names)

    def _warn_of_texts(self, names: Sequence[str]) -> None:
        """Warn of columns of text that may be labels; `names` are the aspects."""
        selection = _selection(names)
        for column, texts in self.text_columns.items():
            listed = choices(map(repr, texts))
            remedy = text_remedy(column, texts)
            warn_once(
                f"the qrels column {column} contains text ({listed}), so it is "
                f"not evaluated as an aspect. {remedy}; otherwise, select the "
                f"aspects{selection}",
                key=f"text in {column}",
            )

    def _warn_of_doubtful_columns(self, names: Sequence[str]) -> None:
        """Warn of aspects, other than relevance, that are unlikely to contain labels."""
        doubts: dict[str, str] = {}
        for name in names:
            if name == "relevance":
                continue
            reason = doubt(name, self.labels(name), names)
            if reason:
                doubts[name] = reason
        if not doubts:
            return
        likely = [name for name in names if name not in doubts] or list(names)
        reasons = choices(f"{name} ({reason})" for name, reason in doubts.items())
        doubtful = choices(map(repr, doubts))
        warn_once(
            "no aspects were selected, so every numeric column of the qrels is an aspect, "
            f"including some that are unlikely to contain labels: {reasons}. "
            f"Select the aspects{_selection(likely)}, or declare their scales",
            key=f"columns: {doubtful}",
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
        """Return an aspect of a column, on the scale that `aspect` declares, if any; cached."""
        # Aspect(2) equals Aspect([0, 1, 2]), but warnings differ for a scale that is declared by
        # its top grade alone, so these are cached apart.
        is_declared_by_top = aspect is not None and aspect.by_top
        key = ("view", name, column, aspect, is_declared_by_top)
        return self.compute_once(key, lambda: self._make_view(name, column, aspect))

    def _make_view(self, name: str, column: str, aspect: Aspect | None) -> AspectView:
        """Return an aspect of a column; its scale is inferred unless `aspect` declares grades."""
        declared = aspect
        if declared is None:
            declared = Aspect()
        labels = self._graded_labels(name, column, declared)
        if declared.unjudged:
            is_unjudged = np.isin(labels, number_codes(declared))
            labels = np.where(is_unjudged, np.nan, labels)

        has_grades = declared.grades is not None
        if has_grades:
            complete = declared
        else:
            complete = self._with_inferred_grades(name, column, declared, labels)
        return AspectView(
            name=name,
            aspect=complete,
            inferred=not has_grades,
            n_queries=self.n_queries,
            pool_query=self.pool_query,
            label=labels,
            grade_index=self._grade_index(name, labels, complete.scale),
        )

    def _with_inferred_grades(
        self, name: str, column: str, aspect: Aspect, labels: Floats
    ) -> Aspect:
        """Return the aspect with the grades that are inferred from labels.

        If these judgments are part of others, `self._origin`, the grades are those of the whole, so
        that all parts have the same scale.
        """
        if self._origin is not None:
            view_of_whole = self._origin._view(name, column, aspect)
            return view_of_whole.aspect
        has_identity = aspect.probabilities == "identity"
        grades = infer_grades(labels, name, identity=has_identity)
        return aspect.with_grades(grades)

    def _graded_labels(self, name: str, column: str, aspect: Aspect) -> Floats:
        """Return the labels of an aspect, one per judged pair, with truth values as two grades."""
        labels = self._numeric_labels(column, aspect)
        # A mask of the labels that are true or false; None if the column has no such labels.
        is_truth_value = self._booleans.get(column)
        if is_truth_value is None:
            return labels
        # Without declared grades, truth values are the grades 0 and 1.
        declared_grades = None
        if aspect.grades is not None:
            declared_grades = aspect.scale.grades
        graded, is_wrong = grade_booleans(labels, is_truth_value, declared_grades)
        if not is_wrong.any():
            return graded
        # The error shows the first label that cannot be graded.
        first = np.flatnonzero(is_wrong)[0]
        truth_value = bool(labels[first])
        pair = self._pair_text(first)
        number = tally(int(is_wrong.sum()), "label")
        raise MultiAspectError(
            f"invalid {name} label {truth_value} for {pair}: {BOOLEANS} {number}"
        )

    def _numeric_labels(self, column: str, aspect: Aspect) -> Floats:
        """Return the labels of a column as numbers, NaN for codes such as 'n/a' of an aspect."""
        texts_of_unjudged = text_codes(aspect)
        if not texts_of_unjudged:
            return self.labels(column)
        is_read = column in self._labels  # read before, or given as numbers
        if is_read:
            return self.labels(column)
        return self._read_labels(column, texts_of_unjudged)

    def _grade_index(self, name: str, labels: Floats, scale: Scale) -> Ints:
        """Return the grade index of each label; refuse labels above or between the grades.

        NaN and labels below the lowest grade count as the lowest grade.
        """
        index, wrong = scale.positions(labels)  # `wrong` are the positions of labels to refuse
        if not len(wrong):
            return index
        wrong_label = float(labels[wrong[0]])
        top_grade = float(scale.grades[-1])
        if scale.greater_is_better:
            is_above_top = wrong_label > top_grade
        else:
            is_above_top = wrong_label < top_grade
        if is_above_top:
            position = "above the top grade"
            to_check = f"{spell(top_grade)} is its top grade"
        else:
            position = "between two grades"
            to_check = "no grade is missing"
        label = spell(wrong_label)
        pair = self._pair_text(wrong[0])
        number = tally(len(wrong), "label")
        distinct = np.unique(labels[wrong]).tolist()
        listed = join_some(list(map(spell, distinct)))
        raise MultiAspectError(
            f"invalid {name} label {label} for {pair}, {position}: expected one of "
            f"the grades, lowest first, {scale} {number}. Check first that "
            f"these are the labels of {name}, not of another file or column, and that {to_check}: "
            f"{listed} may belong to the grades. Declare them as codes that mean 'not judged', "
            f"{unjudged_codes('…')}, only if they are not grades"
        )


def _sorted_queries(column: pd.Series[Any]) -> tuple[Ints, Objects]:
    """Return the query of each row of a column of ids, as a position, and the sorted queries."""
    # Codes are numbers of queries in the order of first appearance.
    code_of_row, distinct_queries = Texts.from_column(column, "qrels").codes()
    qids_by_code = distinct_queries.decode()
    sorted_codes = np.argsort(qids_by_code)  # by name
    position_of_code = inverse_permutation(sorted_codes)  # [2, 0, 1] -> [1, 2, 0]
    query_of_row = position_of_code[code_of_row]
    return query_of_row, qids_by_code[sorted_codes]


def _number_pairs(query: Ints, docnos: Objects) -> tuple[Ints, Ints]:
    """Return the first row of each distinct pair of query and document, and the pair of each row.

    Pairs are numbered by query. Four rows of one query with the documents a, b, a, c give
    [0, 1, 3] and [0, 1, 0, 2].
    """
    document, _ = Texts.from_strings(docnos).codes()
    n_documents = document.max(initial=0) + 1
    code_of_row = query * n_documents + document  # one integer per pair, sorted by query
    _, first_row, pair_of_row = np.unique(code_of_row, return_index=True, return_inverse=True)
    return first_row, pair_of_row


def _refuse_two_relevance_columns(frame: pd.DataFrame) -> None:
    """Raise an error for qrels with the columns label and relevance, or with relevance twice."""
    columns = [column for column in frame.columns if column in ("label", "relevance")]
    if len(columns) > 1 and "relevance" in columns:
        got = " and ".join(columns)
        raise MultiAspectError(
            f"qrels: expected one column for the aspect relevance, got {got}, "
            "which both mean it: PyTerrier renames label to relevance. Before the evaluation, "
            f"drop or rename one (columns: {choices(frame.columns)})"
        )


def _selection(names: Iterable[str]) -> str:
    """Return how to select aspects, for messages."""
    if in_shell():
        return f" by their files in {parameter('qrels')}"
    aspects = parameter("aspects", list(names))
    return f", as in {aspects}"
