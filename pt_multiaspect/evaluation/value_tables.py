"""Tables of values: long frames in files, with the definitions of their names."""

from __future__ import annotations

import math
import os
import re
from typing import Any

import numpy as np
import pandas as pd

from .._numbers import read_json
from .._typing import Floats, Objects
from ..bases.strings import is_unknown_measure
from ..collection.columns import NO_NAME
from ..collection.judged_answers import is_judged_answers
from ..collection.other_libraries import as_frame
from ..errors import MultiAspectError, choices, in_shell, number_of, shown
from ..integration.parsing import UNIT_SCORE, parse_one, read_record, record_measures
from ..io.delimited_files import first_line, read_delimited
from ..io.file_contents import Text, as_text, load
from ..io.json_files import is_json
from ..io.table_files import read_parquet
from ..strings.identifiers import identifiers
from .long_frames import COLUMNS, KEYS, check_distinct

#: The column with the text of the measure that a name refers to.
DEFINITION = "definition"


def with_definitions(perquery: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of a long frame, and definitions if a name is not that of its measure."""
    table = perquery[COLUMNS]
    names = table["measure"].unique()
    record = read_record(perquery)
    definitions: dict[str, str] = {}
    for name in names:
        text = record.get(name)
        if text is not None and text != name:
            definitions[name] = str(text)
    if not definitions:
        return table
    column = [definitions.get(name) for name in table["measure"]]
    return table.assign(**{DEFINITION: pd.Series(column, index=table.index, dtype=object)})


def read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a long frame from a file, and record the measures that its definitions name.

    Parameters
    ----------
    path : path or open file
        The file, plain or compressed.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``.

    Raises
    ------
    MultiAspectError
        If a column is missing, a cell is not a name or a number, a value is given twice, or a name
        has several definitions or one that is not a measure.
    """
    title, data = load(path)
    table = read_parquet(title, data)
    if table is not None:
        frame = as_frame(table, title)
    else:
        frame = _text_table(as_text(title, data))
    _check_columns(title, frame)
    names = {column: identifiers(frame[column], title) for column in KEYS}
    result = pd.DataFrame({**names, "value": _values(title, frame["value"], names["qid"])})
    check_distinct(result, f"leave out all but one in {title}")
    if DEFINITION in frame.columns:
        record_measures(result, _definitions(title, names["measure"], frame[DEFINITION]))
    return result


def _text_table(text: Text) -> pd.DataFrame:
    """Return the cells of a csv, tsv or json file; of an empty frame, if it is another file."""
    if not is_json(text.data):
        separator = ","
        if "\t" in first_line(text):
            separator = "\t"
        return read_delimited(text, separator).drop(columns=NO_NAME, errors="ignore")
    rows = read_json(text.data.decode(), text.name)
    if not _are_objects_with_same_keys(rows):
        raise MultiAspectError(
            f"{text.name}: expected a list of JSON objects with the same keys, got others"
        )
    return pd.DataFrame(rows, dtype=object)


def _are_objects_with_same_keys(rows: object) -> bool:
    if not isinstance(rows, list):
        return False
    return all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows)


def _check_columns(title: str, frame: pd.DataFrame) -> None:
    """Raise an error for a table without rows, or without the columns of a long frame."""
    if {*COLUMNS} <= {*frame.columns} and len(frame):
        return
    remedy = "read lines with their format="
    if in_shell():
        remedy = "read lines with their format, as in tot=FILE"
    if "name" not in frame.columns and is_judged_answers(frame.columns):
        remedy = (
            "score judged answers with 'pt-multiaspect answers -q', or the functions of answers"
        )
    elif {"name", "qid"} < {*frame.columns}:
        remedy = (
            'write one row per value, as melt(["name", "qid"], var_name="measure") of pandas '
            "returns them"
        )
    raise MultiAspectError(
        f"{title}: expected rows with the columns {choices(COLUMNS)}, which 'pt-multiaspect "
        f"evaluate -q' writes as csv, tsv, json or parquet, got {number_of(len(frame), 'row')} "
        f"with {choices(frame.columns)}; {remedy}"
    )


def _values(title: str, column: pd.Series[Any], qids: Objects) -> Floats:
    """Return the values of a column, NaN where a cell is empty."""
    values: list[float] = []
    for qid, cell in zip(qids, column.tolist(), strict=True):
        if _is_empty(cell):
            values.append(math.nan)
            continue
        value = read_number(cell)
        if value is None or math.isnan(value):
            raise MultiAspectError(
                f"{title}: expected a number in the column value, got {shown(cell)} (topic {qid})"
            )
        values.append(value)
    return np.array(values, dtype=np.float64)


def _is_empty(cell: object) -> bool:
    """Return whether a cell has no content; NaN is the one value that differs from itself."""
    return cell is None or cell is pd.NA or cell == "" or cell != cell


def read_number(value: object) -> float | None:
    """Return a value as a float, or None if it is not a number."""
    try:
        # float() also reads True and 1_000, and numbers that are too large as infinite.
        if not isinstance(value, bool) and "_" not in str(value):
            result = float(value)  # type: ignore[arg-type]
            if math.isfinite(result) or not re.search(r"\d", str(value)):
                return result
    except (TypeError, ValueError, OverflowError):
        pass
    return None


def _definitions(title: str, names: Objects, column: pd.Series[Any]) -> dict[str, str]:
    """Return the definitions of names; a name without one is its own.

    Raises
    ------
    MultiAspectError
        If a name has several definitions, or one that is not a measure.
    """
    definitions: dict[str, str] = {}
    defined = set()
    for name, cell in dict.fromkeys(zip(names.tolist(), column.tolist(), strict=True)):
        if _is_empty(cell):
            definition = name
        else:
            definition = str(cell)
        earlier = definitions.setdefault(name, definition)
        if earlier != definition:
            raise MultiAspectError(
                f"{title}: expected one definition of the measure {name}, got {earlier} and "
                f"{definition}; rename one of the two"
            )
        if not _is_empty(cell):
            defined.add(name)
    for name in defined:
        _check_definition(title, name, definitions[name])
    return {name: definition for name, definition in definitions.items() if name in defined}


def _check_definition(title: str, name: str, definition: str) -> None:
    """Raise an error if a definition is not a measure.

    One of an unknown class, such as a user's, may be one.
    """
    if definition == UNIT_SCORE:
        return
    try:
        parse_one(definition)
    except MultiAspectError as error:
        if not is_unknown_measure(error):
            raise MultiAspectError(
                f"{title}: expected a measure as the definition of {name}, got {definition!r}: "
                f"{error}. Correct it, or leave its cells empty"
            ) from error
