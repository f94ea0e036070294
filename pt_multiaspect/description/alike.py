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
    blob = "\n".join(texts)
    if not blob.isascii() or blob.count("\n") != len(texts) - 1:
        return [simplify(text) for text in texts]
    blob = re.sub(r"[^\S\n]+", "", blob.casefold())
    result = blob.split("\n")
    # Removing zeros changes the length: not needed if all are equal, unless decimals balance zeros
    # (1.0, 001).
    if len(set(map(len, result))) > 1 or ".0" in blob:
        blob = re.sub(r"(?m)^(\d+)\.0+$", r"\1", blob)
        result = re.sub(r"(?m)^([^\d\n]*)0+(?=\d)", r"\1", blob).split("\n")
    return result


def _codes(texts: Objects) -> Ints:
    """Return one code per identifier, the same for those that look alike."""
    return np.asarray(
        pd.factorize(np.array(simplify_all(texts.tolist()), dtype=object))[0], dtype=np.intp
    )


def judged_lookalikes(judgments: Judgments) -> pd.DataFrame:
    """Return the queries of the qrels, and the documents of one query, that look alike.

    Columns: ``where`` ('qrels'), ``what`` ('qid' or 'docno'), ``first``, ``second`` (an example)
    and ``count``.
    """
    qids = pd.DataFrame({"id": judgments.qids, "plain": _codes(judgments.qids)})
    rows = _first_lookalikes(qids, ["plain"], "qid")
    code, distinct = pd.factorize(judgments.docnos)
    plain_code = _codes(np.asarray(distinct, dtype=object))
    if plain_code.max(initial=-1) + 1 < len(distinct):
        documents = pd.DataFrame(
            {"query": judgments.pool_query, "plain": plain_code[code], "id": judgments.docnos}
        )
        rows += _first_lookalikes(documents, ["query", "plain"], "docno")
    return _table(rows)


def _first_lookalikes(
    ids: pd.DataFrame, within: list[str], kind: str
) -> list[tuple[str, str, str, str, int]]:
    """Return one row with two ids of a group that look alike, and the number of further ones, if there are any."""
    ids = ids[ids.duplicated(within, keep=False)]
    if not len(ids):
        return []
    first, second = ids[(ids[within] == ids.iloc[0][within]).all(axis=1)]["id"].iloc[:2]
    return [("qrels", kind, first, second, len(ids) - ids.groupby(within).ngroups)]


def run_lookalikes(name: str, run: pd.DataFrame, judgments: Judgments) -> pd.DataFrame:
    """Return queries and documents of a run that look like judged ones; columns as `judged_lookalikes`."""
    rows = []
    query_code, qids = pd.factorize(run["query_id"].to_numpy(dtype=object))
    position = judgments.query_positions(np.asarray(qids, dtype=object))
    judged_as = {simplify(qid): qid for qid in judgments.qids.tolist()}
    strangers = qids[position < 0].tolist()
    alike = [(qid, judged_as[simplify(qid)]) for qid in strangers if simplify(qid) in judged_as]
    if alike:
        rows.append((name, "qid", *alike[0], len(alike)))
    query = position[query_code]
    documents = pd.DataFrame({"query": query, "docno": run["doc_id"].to_numpy(dtype=object)})[
        query >= 0
    ]
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
