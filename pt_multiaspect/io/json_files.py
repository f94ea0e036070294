"""JSON files of numbers by query and document: runs and qrels of pytrec_eval, ranx, BEIR and others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from .._typing import Floats, Ints, Objects
from ..errors import MultiAspectError, number_of, refuse_surrogates, shown
from .file_contents import Text

#: The beginning of a JSON object or array. A field of a TREC file would have to begin with such brackets.
_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*(\{\s*([\"}]|\Z)|\[\s*([\[\]{\"]|\Z))")

_NOT_BLANK = re.compile(r"[^ \t\r\n]")


def is_json(data: bytes) -> bool:
    """Return whether a file contains a JSON object or array."""
    return _JSON.match(data) is not None


@dataclass(frozen=True, eq=False)
class JsonTable:
    """Numbers by query and document, in the order of the file."""

    #: The distinct queries that have documents.
    qids: Objects
    #: The query of each row, as a position in `qids`.
    query: Ints
    docnos: Objects
    values: Floats


class RepeatedKey(dict[str, Any]):
    """An object in which keys are repeated, and one of these."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.key = Counter(key for key, _ in pairs).most_common(1)[0][0]


def json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or a `RepeatedKey`: its reader knows the query and the document."""
    content = dict(pairs)
    return content if len(content) == len(pairs) else RepeatedKey(pairs)


def read_json(text: Text) -> list[tuple[int, Any]]:
    """Return the JSON values of a file, one after the other, and the number of the line of each.

    Raises
    ------
    MultiAspectError
        If the file is not valid JSON.
    """
    content = text.data.decode()
    decoder = json.JSONDecoder(object_pairs_hook=json_object)
    values: list[tuple[int, Any]] = []
    start, end, line = 0, 0, 1
    try:
        while match := _NOT_BLANK.search(content, end):
            line += content.count("\n", start, match.start())
            start = match.start()
            value, end = decoder.raw_decode(content, start)
            values.append((line, value))
    except (ValueError, RecursionError) as error:  # also for integers of thousands of digits
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise MultiAspectError(f"{text.name}: not valid JSON, or an incomplete file: {reason}") from error
    return values


def read_json_table(text: Text, what: str = "score") -> JsonTable:
    """Read a file ``{qid: {docno: number}}``.

    Parameters
    ----------
    text : Text
        The content of the file.
    what : str, default 'score'
        The noun for a number in errors.

    Raises
    ------
    MultiAspectError
        If the file has another form or no document, a key is repeated, or a value is not a finite number.
    """
    values = read_json(text)
    if len(values) != 1:
        raise MultiAspectError(f"{text.name}: expected one JSON object, got {number_of(len(values), 'value')}")
    return json_table(text.name, values[0][1], what)


def json_table(name: str, content: Any, what: str = "score") -> JsonTable:
    """Return the table of an object ``{qid: {docno: number}}``, which `read_json` has read.

    The parameters and errors are those of `read_json_table`, with the `name` of the file or its part.
    """
    form = f"{{qid: {{docno: {what}}}}}"
    if not isinstance(content, Mapping):
        raise MultiAspectError(f"{name}: expected {form}, got {shown(content)}")
    if isinstance(content, RepeatedKey):
        raise MultiAspectError(f"{name}: expected each query once, got several entries of query {content.key}")
    for qid, documents in content.items():
        if not isinstance(documents, Mapping):
            raise MultiAspectError(f"{name}: expected {form}, got {shown(documents)} for query {qid}")
        if isinstance(documents, RepeatedKey):
            raise MultiAspectError(
                f"{name}: expected each document of a query once, got document {documents.key} several times for "
                f"query {qid}"
            )
    content = {qid: documents for qid, documents in content.items() if documents}
    docnos = list(chain.from_iterable(content.values()))
    if not docnos:
        raise MultiAspectError(f"{name}: expected {form} with at least one document, got none")
    numbers = list(chain.from_iterable(documents.values() for documents in content.values()))
    n_documents = [len(documents) for documents in content.values()]
    query = np.repeat(np.arange(len(content)), n_documents)
    values = _finite_numbers(numbers)
    if values is None:
        row = next(row for row, value in enumerate(numbers) if _finite_numbers([value]) is None)
        raise MultiAspectError(
            f"{name}: expected a finite number as {what}, got {shown(numbers[row])} (query "
            f"{list(content)[query[row]]}, document {docnos[row]})"
        )
    with refuse_surrogates(name):
        "\0".join(content).encode()
        "\0".join(docnos).encode()
    return JsonTable(np.array(list(content), dtype=object), query, np.array(docnos, dtype=object), values)


def _finite_numbers(numbers: list[Any]) -> Floats | None:
    """Return values as floats, or None if one of them is not a finite number; truth values and texts are not."""
    if not {*map(type, numbers)} <= {int, float}:
        return None
    try:
        values = np.array(numbers, dtype=np.float64)
    except OverflowError:
        return None
    return values if np.isfinite(values).all() else None
