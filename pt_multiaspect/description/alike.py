"""Identifiers that look alike but differ, so that they do not join."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import Ints
from ..collection.judgments import Judgments

Strings = NDArray[np.object_]

_ZEROS = re.compile(r"^(\D*)0+(?=\d)")
_FLOAT = re.compile(r"^(\d+)\.0+$")

#: Differences between identifiers that look alike, each with the method call that removes it from a column.
_MENDS = (
    (lambda text: "".join(text.split()), r'.str.replace(r"\s+", "", regex=True)'),
    (str.casefold, ".str.casefold()"),
    (lambda text: _FLOAT.sub(r"\1", text), r'.str.replace(r"\.0+$", "", regex=True)'),
    (lambda text: _ZEROS.sub(r"\1", text), r'.str.replace(r"^(\D*)0+(?=\d)", r"\1", regex=True)'),
)


def plain(text: str) -> str:
    """Remove blanks, case, leading zeros and decimal points of an identifier."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\ufeff", "").replace("\u200b", "")
    text = "".join(text.split()).casefold()
    if text.endswith("0"):
        text = _FLOAT.sub(r"\1", text)
    return _ZEROS.sub(r"\1", text) if "0" in text else text


def mend(first: str, second: str) -> str:
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


def plain_ids(texts: Sequence[str]) -> list[str]:
    """Apply `plain` to many identifiers, if possible at once."""
    blob = "\n".join(texts)
    if not blob.isascii() or blob.count("\n") != len(texts) - 1:
        return [plain(text) for text in texts]
    blob = re.sub(r"[^\S\n]+", "", blob.casefold())
    result = blob.split("\n")
    # Removing zeros and decimal points changes the length, so it is not needed if all lengths are equal.
    if len(set(map(len, result))) > 1:
        blob = re.sub(r"(?m)^(\d+)\.0+$", r"\1", blob)
        result = re.sub(r"(?m)^([^\d\n]*)0+(?=\d)", r"\1", blob).split("\n")
    return result


def _codes(texts: Strings) -> Ints:
    """Return one code per identifier, the same for those that look alike."""
    return np.asarray(pd.factorize(np.array(plain_ids(texts.tolist()), dtype=object))[0], dtype=np.intp)


def in_judgments(judgments: Judgments) -> pd.DataFrame:
    """Return the queries of the qrels, and the documents of one query, that look alike.

    Columns: ``where`` ('qrels'), ``what`` ('qid' or 'docno'), ``first``, ``second`` (an example) and ``count``.
    """
    rows = []
    qids = pd.DataFrame({"id": judgments.qids, "plain": _codes(judgments.qids)})
    rows += _repeated(qids, ["plain"], "qid")
    code, distinct = pd.factorize(judgments.docnos)
    plain_code = _codes(np.asarray(distinct, dtype=object))
    if plain_code.max(initial=-1) + 1 < len(distinct):
        documents = pd.DataFrame({"query": judgments.pool_query, "plain": plain_code[code], "id": judgments.docnos})
        rows += _repeated(documents, ["query", "plain"], "docno")
    return _table(rows)


def _repeated(table: pd.DataFrame, keys: list[str], what: str) -> list[tuple[str, str, str, str, int]]:
    again = table.duplicated(keys, keep=False)
    if not again.any():
        return []
    table = table[again]
    row = table.iloc[0]
    same = table[(table[keys] == row[keys]).all(axis=1)]["id"].tolist()
    return [("qrels", what, same[0], same[1], len(table) - table.groupby(keys).ngroups)]


def in_run(name: str, run: pd.DataFrame, judgments: Judgments) -> pd.DataFrame:
    """Return queries and documents of a run that look like judged ones; columns as `in_judgments`."""
    rows = []
    query_code, qids = pd.factorize(run["query_id"].to_numpy(dtype=object))
    position = judgments.query_positions(np.asarray(qids, dtype=object))
    judged_as = dict(zip(map(plain, judgments.qids.tolist()), judgments.qids.tolist(), strict=True))
    strangers = [qid for qid, at in zip(qids.tolist(), position.tolist(), strict=True) if at < 0]
    alike = [(qid, judged_as[plain(qid)]) for qid in strangers if plain(qid) in judged_as]
    if alike:
        rows.append((name, "qid", *alike[0], len(alike)))
    query = position[query_code]
    documents = pd.DataFrame({"query": query, "docno": run["doc_id"].to_numpy(dtype=object)})[query >= 0]
    known = pd.DataFrame({"query": judgments.pool_query, "docno": judgments.docnos})
    both = pd.concat([known, documents.drop_duplicates()], ignore_index=True)
    in_qrels = np.arange(len(both)) < len(known)
    code, distinct = pd.factorize(both["docno"].to_numpy(dtype=object))
    both["plain"] = _codes(np.asarray(distinct, dtype=object))[code]
    if both["plain"].max() + 1 == len(distinct):
        return _table(rows)
    unjudged = ~in_qrels & ~both.duplicated(["query", "docno"]).to_numpy()
    pairs = both[unjudged].merge(both[in_qrels], on=["query", "plain"], suffixes=("", "_judged"))
    if len(pairs):
        count = len(pairs.drop_duplicates(["query", "docno"]))
        rows.append((name, "docno", pairs["docno"].iloc[0], pairs["docno_judged"].iloc[0], count))
    return _table(rows)


def _table(rows: list[tuple[str, str, str, str, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["where", "what", "first", "second", "count"])
