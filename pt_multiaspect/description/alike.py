"""Identifiers that look alike but differ, so that they do not join."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd

from .._typing import Ints, Objects
from ..collection import Judgments

_ZEROS = re.compile(r"^(\D*)0+(?=\d)")
_FLOAT = re.compile(r"^(\d+)\.0+$")

#: Differences between identifiers that look alike, each with the method call that removes it from a
#: column.
_MENDS = (
    (lambda text: "".join(text.split()), r'.str.replace(r"\s+", "", regex=True)'),
    (str.casefold, ".str.casefold()"),
    (lambda text: _FLOAT.sub(r"\1", text), r'.str.replace(r"\.0+$", "", regex=True)'),
    (lambda text: _ZEROS.sub(r"\1", text), r'.str.replace(r"^(\D*)0+(?=\d)", r"\1", regex=True)'),
)


def simplify(text: str) -> str:
    """Remove blanks, case, leading zeros and decimal points of an identifier."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\ufeff", "").replace("\u200b", "")
    for change, _ in _MENDS:
        text = change(text)
    return text


def mending_calls(first: str, second: str) -> str:
    """Return the method calls on a string column that make two similar identifiers equal."""
    calls = ""
    for change, call in _MENDS:
        changed = change(first), change(second)
        if changed != (first, second):
            first, second = changed
            calls += call
            if first == second:
                return calls
    return ".str.normalize('NFKC')" + calls


def simplify_all(texts: Sequence[str]) -> list[str]:
    """Return strings that are equal where those of `simplify` are, if possible at once."""
    joined = "\n".join(texts)
    n_separators = len(texts) - 1
    if not joined.isascii() or joined.count("\n") != n_separators:
        return [simplify(text) for text in texts]
    joined = joined.casefold()
    joined = re.sub(r"[^\S\n]+", "", joined)
    simplified = joined.split("\n")
    # Removing zeros changes the length: not needed if all are equal, unless decimals balance zeros
    # (1.0, 001).
    lengths = set(map(len, simplified))
    if len(lengths) == 1 and ".0" not in joined:
        return simplified
    joined = re.sub(r"(?m)^(\d+)\.0+$", r"\1", joined)
    joined = re.sub(r"(?m)^([^\d\n]*)0+(?=\d)", r"\1", joined)
    return joined.split("\n")


def _codes(texts: Objects) -> Ints:
    """Return one code per identifier, the same for those that look alike."""
    simplified = np.array(simplify_all(texts.tolist()), dtype=object)
    codes, _ = pd.factorize(simplified)
    return np.asarray(codes, dtype=np.intp)


def judged_lookalikes(judgments: Judgments) -> pd.DataFrame:
    """Return the queries of the qrels, and the documents of one query, that look alike.

    Columns: ``where`` ('qrels'), ``what`` ('qid' or 'docno'), ``first``, ``second`` (an example)
    and ``count``.
    """
    queries = pd.DataFrame({"id": judgments.qids, "plain": _codes(judgments.qids)})
    rows = _first_lookalikes(queries, ["plain"], "qid")
    code, distinct = pd.factorize(judgments.docnos)
    plain_code = _codes(np.asarray(distinct, dtype=object))
    n_plain = plain_code.max(initial=-1) + 1
    if n_plain < len(distinct):
        documents = pd.DataFrame(
            {"query": judgments.pool_query, "plain": plain_code[code], "id": judgments.docnos}
        )
        rows += _first_lookalikes(documents, ["query", "plain"], "docno")
    return _table(rows)


def _first_lookalikes(
    ids: pd.DataFrame, within: list[str], kind: str
) -> list[tuple[str, str, str, str, int]]:
    """Return one row with two ids of a group that look alike, and the number of further ones.

    There is no row if no ids look alike.
    """
    ids = ids[ids.duplicated(within, keep=False)]
    if not len(ids):
        return []
    first_group = ids.iloc[0][within]
    is_in_first_group = (ids[within] == first_group).all(axis=1)
    first, second = ids.loc[is_in_first_group, "id"].iloc[:2]
    n_further = len(ids) - ids.groupby(within).ngroups
    return [("qrels", kind, first, second, n_further)]


def run_lookalikes(name: str, run: pd.DataFrame, judgments: Judgments) -> pd.DataFrame:
    """Return queries and documents of a run that look like judged ones.

    The columns are those of `judged_lookalikes`.
    """
    query_code, qids = pd.factorize(run["query_id"].to_numpy(dtype=object))
    position = judgments.query_positions(np.asarray(qids, dtype=object))
    rows = _lookalike_queries(name, qids[position < 0].tolist(), judgments)
    query = position[query_code]
    documents = pd.DataFrame({"query": query, "docno": run["doc_id"].to_numpy(dtype=object)})
    rows += _lookalike_documents(name, documents[query >= 0], judgments)
    return _table(rows)


def _lookalike_queries(
    name: str, unjudged: list[str], judgments: Judgments
) -> list[tuple[str, str, str, str, int]]:
    """Return one row if unjudged queries of a run look like judged ones."""
    judged_as = {simplify(qid): qid for qid in judgments.qids.tolist()}
    pairs = []
    for qid in unjudged:
        plain = simplify(qid)
        if plain in judged_as:
            pairs.append((qid, judged_as[plain]))
    if not pairs:
        return []
    first, second = pairs[0]
    return [(name, "qid", first, second, len(pairs))]


def _lookalike_documents(
    name: str, retrieved: pd.DataFrame, judgments: Judgments
) -> list[tuple[str, str, str, str, int]]:
    """Return one row if unjudged documents of a run look like judged ones of the same query."""
    known = pd.DataFrame({"query": judgments.pool_query, "docno": judgments.docnos})
    both = pd.concat([known, retrieved.drop_duplicates()], ignore_index=True)
    in_qrels = np.arange(len(both)) < len(known)
    code, distinct = pd.factorize(both["docno"].to_numpy(dtype=object))
    plain_code = _codes(np.asarray(distinct, dtype=object))
    both["plain"] = plain_code[code]
    if both["plain"].max() + 1 == len(distinct):  # no two documents look alike
        return []
    is_repeated = both.duplicated(["query", "docno"]).to_numpy()
    unjudged = both[~in_qrels & ~is_repeated]
    pairs = unjudged.merge(both[in_qrels], on=["query", "plain"], suffixes=("", "_judged"))
    if not len(pairs):
        return []
    first = pairs["docno"].iloc[0]
    second = pairs["docno_judged"].iloc[0]
    n_documents = len(pairs.drop_duplicates(["query", "docno"]))
    return [(name, "docno", first, second, n_documents)]


def _table(rows: list[tuple[str, str, str, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["where", "what", "first", "second", "count"])
