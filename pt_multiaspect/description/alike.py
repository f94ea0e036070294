"""Identifiers that look alike but differ, so that they do not join."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from .._typing import Ints, Objects
from ..collection import Judgments

#: Zeros before a digit, as in '007' and 'q01', and what is before them.
_LEADING_ZEROS = re.compile(r"^(\D*)0+(?=\d)")
_LEADING_ZEROS_OF_LINE = re.compile(r"^([^\d\n]*)0+(?=\d)", re.MULTILINE)

#: The zeros of a whole number that was read as a float, as in '12.0', and what is before them.
_DECIMAL_ZEROS = re.compile(r"^(\d+)\.0+$")
_DECIMAL_ZEROS_OF_LINE = re.compile(r"^(\d+)\.0+$", re.MULTILINE)

#: Blanks within a line.
_BLANKS_OF_LINE = re.compile(r"[^\S\n]+")


class _Difference(NamedTuple):
    """A difference between identifiers that look alike."""

    #: Returns an identifier without it.
    remove: Callable[[str], str]
    #: The method call that removes it from a column of identifiers, as code.
    call: str


@dataclass(frozen=True)
class _Lookalikes:
    """Identifiers that look alike: one row of the tables of this module."""

    #: The name of a run, or 'qrels'.
    where: str
    #: 'qid' or 'docno'.
    what: str
    #: An example of two identifiers that look alike.
    first: str
    second: str
    count: int


def _remove_blanks(text: str) -> str:
    """Return a text without blanks."""
    return "".join(text.split())


def _remove_decimal_zeros(text: str) -> str:
    """Return '12' for '12.0'; other texts are unchanged."""
    return _DECIMAL_ZEROS.sub(r"\1", text)


def _remove_leading_zeros(text: str) -> str:
    """Return '7' for '007' and 'q1' for 'q01'; texts without leading zeros are unchanged."""
    return _LEADING_ZEROS.sub(r"\1", text)


#: The differences in the order in which they are removed.
_DIFFERENCES = (
    _Difference(_remove_blanks, r'.str.replace(r"\s+", "", regex=True)'),
    _Difference(str.casefold, ".str.casefold()"),
    _Difference(_remove_decimal_zeros, r'.str.replace(r"\.0+$", "", regex=True)'),
    _Difference(_remove_leading_zeros, r'.str.replace(r"^(\D*)0+(?=\d)", r"\1", regex=True)'),
)


def simplify(text: str) -> str:
    """Return an identifier in the form that all identifiers that look like it have.

    It has no blanks, capitals, leading zeros and decimal zeros, such as 'q1' for 'Q 01'.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        # Invisible characters: a byte order mark and a blank of width 0.
        text = text.replace("\ufeff", "")
        text = text.replace("\u200b", "")
    for difference in _DIFFERENCES:
        text = difference.remove(text)
    return text


def mending_calls(first: str, second: str) -> str:
    """Return the method calls, as code, that make two ids equal that look alike.

    They are calls on a column of strings, such as ``.str.casefold()`` for 'Q1' and 'q1'.
    """
    calls = ""
    for difference in _DIFFERENCES:
        changed_first = difference.remove(first)
        changed_second = difference.remove(second)
        is_changed = changed_first != first or changed_second != second
        if is_changed:
            calls += difference.call
        first = changed_first
        second = changed_second
        if first == second:
            return calls
    # The ids differ in other characters than those of ASCII.
    return f".str.normalize('NFKC'){calls}"


def simplify_all(texts: Sequence[str]) -> list[str]:
    """Return a simplified form of each identifier, faster than by calls of `simplify`.

    Two forms are equal if and only if those of `simplify` are. Leading zeros may be kept, if ids
    cannot look alike because of them.
    """
    # The identifiers as the lines of one text, which is changed at once.
    lines = "\n".join(texts)
    has_line_breaks_in_ids = lines.count("\n") != len(texts) - 1
    if has_line_breaks_in_ids or not lines.isascii():
        return list(map(simplify, texts))
    lower_case = lines.casefold()
    without_blanks = _BLANKS_OF_LINE.sub("", lower_case)
    ids_without_blanks = without_blanks.split("\n")
    if not _may_differ_in_zeros(ids_without_blanks, without_blanks):
        return ids_without_blanks  # to remove zeros takes most of the time
    without_decimal_zeros = _DECIMAL_ZEROS_OF_LINE.sub(r"\1", without_blanks)
    simplified = _LEADING_ZEROS_OF_LINE.sub(r"\1", without_decimal_zeros)
    return simplified.split("\n")


def _may_differ_in_zeros(ids: Sequence[str], lines: str) -> bool:
    """Return whether some identifiers may be equal without their leading and decimal zeros.

    Different ids such as q1 and q01 then have different lengths. Only with decimal zeros can they
    have the same length, as 1.0 and 001. `lines` is the text with an identifier per line.
    """
    lengths = set(map(len, ids))
    has_decimal_zeros = ".0" in lines
    return len(lengths) > 1 or has_decimal_zeros


def _codes_of_lookalikes(ids: Objects) -> Ints | None:
    """Return one integer per row, shape (n_rows,), equal for ids that are equal or look alike.

    Return None if no two different ids look alike.
    """
    id_of_row, distinct_ids = pd.factorize(ids)
    simplified_ids = simplify_all(distinct_ids.tolist())
    simplified = np.array(simplified_ids, dtype=object)
    code_of_id, distinct_simplified = pd.factorize(simplified)
    if len(distinct_simplified) == len(distinct_ids):
        return None
    return np.asarray(code_of_id[id_of_row], dtype=np.intp)


def judged_lookalikes(judgments: Judgments) -> pd.DataFrame:
    """Return the queries of the qrels that look alike, and the documents of one query that do.

    The table has at most one row for queries and one for documents. Columns: ``where`` ('qrels'),
    ``what`` ('qid' or 'docno'), ``first``, ``second`` (an example) and ``count``.
    """
    rows = []
    query_codes = _codes_of_lookalikes(judgments.qids)
    if query_codes is not None:
        queries = pd.DataFrame({"id": judgments.qids, "code": query_codes})
        rows += _first_lookalikes(queries, ["code"], "qid")
    document_codes = _codes_of_lookalikes(judgments.docnos)
    if document_codes is not None:
        columns = {
            "id": judgments.docnos,
            "query": judgments.pool_query,
            "code": document_codes,
        }
        documents = pd.DataFrame(columns)
        rows += _first_lookalikes(documents, ["query", "code"], "docno")
    return _lookalikes_table(rows)


def _first_lookalikes(ids: pd.DataFrame, group_columns: list[str], kind: str) -> list[_Lookalikes]:
    """Return one row about the ids of the qrels that look alike; empty if there are none.

    Parameters
    ----------
    ids : DataFrame
        The column ``id`` with distinct ids in each group, and the columns of groups.
    group_columns : list of str
        The columns that are equal for ids that look alike.
    kind : str
        'qid' or 'docno'.
    """
    has_lookalikes = ids.duplicated(group_columns, keep=False)
    lookalikes = ids[has_lookalikes]
    if lookalikes.empty:
        return []
    first_group = lookalikes[group_columns].iloc[0]
    is_in_first_group = (lookalikes[group_columns] == first_group).all(axis=1)
    ids_of_first_group = lookalikes.loc[is_in_first_group, "id"].tolist()
    first = ids_of_first_group[0]
    second = ids_of_first_group[1]
    # In each group, one id is right, and the others look like it.
    n_groups = lookalikes.groupby(group_columns).ngroups
    n_further = len(lookalikes) - n_groups
    return [_Lookalikes("qrels", kind, first, second, n_further)]


def run_lookalikes(name: str, run: pd.DataFrame, judgments: Judgments) -> pd.DataFrame:
    """Return queries and documents of a run that look like judged ones.

    The columns are those of `judged_lookalikes`, with the name of the run in ``where``.
    """
    run_qids = run["query_id"].to_numpy(dtype=object)
    run_docnos = run["doc_id"].to_numpy(dtype=object)
    qid_of_row, distinct_qids = pd.factorize(run_qids)
    # The positions of the queries in the qrels, -1 for unjudged queries.
    position_of_qid = judgments.query_positions(np.asarray(distinct_qids, dtype=object))
    is_unjudged = position_of_qid < 0
    unjudged_qids = distinct_qids[is_unjudged].tolist()
    query_rows = _lookalike_queries(name, unjudged_qids, judgments)

    query_of_row = position_of_qid[qid_of_row]
    documents = pd.DataFrame({"query": query_of_row, "docno": run_docnos})
    has_judged_query = query_of_row >= 0
    documents_of_judged_queries = documents[has_judged_query]
    document_rows = _lookalike_documents(name, documents_of_judged_queries, judgments)
    return _lookalikes_table(query_rows + document_rows)


def _lookalike_queries(
    name: str, unjudged_qids: list[str], judgments: Judgments
) -> list[_Lookalikes]:
    """Return one row about the unjudged queries of a run that look like judged ones, if any."""
    judged_qids = {simplify(qid): qid for qid in judgments.qids.tolist()}  # by simplified id
    lookalikes = [qid for qid in unjudged_qids if simplify(qid) in judged_qids]
    if not lookalikes:
        return []
    first = lookalikes[0]
    judged_qid = judged_qids[simplify(first)]
    return [_Lookalikes(name, "qid", first, judged_qid, len(lookalikes))]


def _lookalike_documents(
    name: str, retrieved: pd.DataFrame, judgments: Judgments
) -> list[_Lookalikes]:
    """Return one row about unjudged documents that look like judged ones of their query, if any.

    `retrieved` are the documents of a run: the columns ``query``, its position in the qrels, and
    ``docno``.
    """
    judged = pd.DataFrame({"query": judgments.pool_query, "docno": judgments.docnos})
    # The judged pairs of query and document, then the retrieved ones that are not among them: of
    # equal rows, the first one is kept.
    both = pd.concat([judged, retrieved])
    pairs = both.drop_duplicates(["query", "docno"], ignore_index=True)
    codes = _codes_of_lookalikes(pairs["docno"].to_numpy(dtype=object))
    if codes is None:
        return []
    pairs["code"] = codes  # equal for documents that look alike
    judged_pairs = pairs.iloc[: len(judged)]
    unjudged_pairs = pairs.iloc[len(judged) :]
    lookalikes = unjudged_pairs.merge(judged_pairs, on=["query", "code"], suffixes=("", "_judged"))
    if lookalikes.empty:
        return []
    first = lookalikes["docno"].iloc[0]
    judged_docno = lookalikes["docno_judged"].iloc[0]
    # A document may look like several judged ones.
    documents = lookalikes.drop_duplicates(["query", "docno"])
    return [_Lookalikes(name, "docno", first, judged_docno, len(documents))]


def _lookalikes_table(rows: list[_Lookalikes]) -> pd.DataFrame:
    """Return rows as a table with the columns ``where what first second count``."""
    return pd.DataFrame(rows, columns=["where", "what", "first", "second", "count"])
