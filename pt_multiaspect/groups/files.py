"""Files of groups of documents: tables of memberships, and JSON with their target."""

from __future__ import annotations

import csv
import io
import re
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from .._numbers import read_json
from ..collection.columns import DOCUMENT_COLUMNS, as_floats
from ..errors import MultiAspectError, choices, errors_of
from ..io.file_contents import load

#: The suffixes of tables, with their separators.
_TABLES = {".csv": ",", ".tsv": "\t"}

#: The second suffixes of compressed tables; the form of compression is detected by content.
_COMPRESSED = (".gz", ".bz2", ".zst")

_KEYS = ("dimensions", "target", "name")


def groups_in_file(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the dimensions, the target and the name of groups that a file declares.

    Parameters
    ----------
    path : str or path
        See `Groups.from_file`.

    Returns
    -------
    dict
        The parameters of `Groups`.

    Raises
    ------
    MultiAspectError
        If the file cannot be read, or lacks required keys or columns.
    """
    file = Path(path).expanduser()
    suffix = _suffix(file)
    name = file.name.partition(".")[0]
    named = {"name": name} if re.fullmatch(r"[A-Za-z][\w\-]*", name) else {}
    if suffix in _TABLES:
        return {"dimensions": _table(file), **named}
    if suffix != ".json":
        raise MultiAspectError(f"expected a file of groups that ends in {choices([*_TABLES, '.json'])}")
    content = read_json(_text(file), "a file of groups")
    if not isinstance(content, dict) or "dimensions" not in content or set(content) - set(_KEYS):
        got = choices(content) if isinstance(content, dict) else type(content).__name__
        raise MultiAspectError(
            f"expected a JSON object with the keys dimensions and, optionally, target and name, got {got}"
        )
    dimensions = content["dimensions"]
    if not isinstance(dimensions, dict):
        raise MultiAspectError(f"dimensions: expected a JSON object, got {type(dimensions).__name__}")
    read = {
        dimension: _one_dimension(file.parent / members) if isinstance(members, str) else members
        for dimension, members in dimensions.items()
    }
    return {**named, **content, "dimensions": read}


def _suffix(file: Path) -> str:
    """Return the suffix of a file, without that of its compression."""
    return (file.with_suffix("") if file.suffix.lower() in _COMPRESSED else file).suffix.lower()


def _content(file: Path) -> bytes:
    try:
        return load(file)[1]
    except MultiAspectError as error:  # the caller names the file
        raise MultiAspectError(str(error).removeprefix(f"{file}: ")) from None


def _text(file: Path) -> str:
    try:
        return _content(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MultiAspectError(f"the file cannot be read: {error}") from None


def _read(file: Path) -> pd.DataFrame:
    """Read a table of memberships: a document, a group and, optionally, a share and a dimension per row."""
    suffix = _suffix(file)
    if suffix not in _TABLES:
        raise MultiAspectError(f"expected a table of memberships that ends in {choices(_TABLES)}")
    content = _content(file)
    if b'"' in content:
        _check_quotes(content, _TABLES[suffix])
    try:
        frame = pd.read_csv(
            io.BytesIO(content), sep=_TABLES[suffix], dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )
    except ValueError as error:  # also parser and Unicode errors
        raise MultiAspectError(f"the file cannot be read: {error}") from None
    if b"\0" in content:  # the reader would end fields there
        raise MultiAspectError("expected text, got binary data (a NUL byte)")
    if not isinstance(frame.index, pd.RangeIndex):
        raise MultiAspectError("expected as many fields in each row as in the header, got more")
    documents = [column for column in DOCUMENT_COLUMNS if column in frame.columns]
    if not documents or "group" not in frame.columns:
        raise MultiAspectError(
            f"expected a header with the columns docno and group and, optionally, share and "
            f"dimension, got {choices(frame.columns)}"
        )
    for column in (documents[0], "group", "dimension"):
        if column in frame.columns and (frame[column].str.strip() == "").any():
            row = int((frame[column].str.strip() == "").to_numpy().argmax())
            raise MultiAspectError(
                f"expected a {column} in every row, got none in row {row + 1}; leave out documents of "
                "unknown groups"
            )
    if "share" in frame.columns:
        shares = as_floats(frame["share"])
        wrong = frame["share"][pd.isna(shares)]
        if len(wrong):
            raise MultiAspectError(f"expected numbers as shares, got {wrong.iloc[0]!r}")
        frame["share"] = shares
    return frame


def _check_quotes(content: bytes, separator: str) -> None:
    """Raise an error for a quoted field that continues in the next line, as identifiers never do."""
    rows = csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline=""), delimiter=separator)
    end = 0
    try:
        for _ in rows:
            if rows.line_num > end + 1:
                break
            end = rows.line_num
        else:
            return
    except csv.Error:  # a field of more than 100 kB
        pass
    raise MultiAspectError(
        f"expected the quoted fields of a row to end in its line, got one that continues after line {end + 1}; "
        'write quotes within a field twice and quote the field, as in """a""", or leave them out'
    )


def _one_dimension(file: Path) -> pd.DataFrame:
    """Read the memberships of one dimension from a table; errors start with the name of its file."""
    with errors_of(file.name):
        frame = _read(file)
        if "dimension" in frame.columns:
            raise MultiAspectError("expected a table of one dimension, got a column dimension; drop it")
    return frame


def _table(file: Path) -> dict[str, pd.DataFrame]:
    """Return the memberships by dimension; without a column dimension, its name is group."""
    frame = _read(file)
    if "dimension" not in frame.columns:
        return {"group": frame}
    return {
        str(dimension): rows.drop(columns="dimension") for dimension, rows in frame.groupby("dimension", sort=False)
    }
