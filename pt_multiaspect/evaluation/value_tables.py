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
    record = read_record(perquery)
    definition_of_name: dict[str, str] = {}
    for name in table["measure"].unique():
        definition = record.get(name)
        if definition is not None and definition != name:
            definition_of_name[name] = str(definition)
    if not definition_of_name:
        return table
    definitions = [definition_of_name.get(name) for name in table["measure"]]
    column = pd.Series(definitions, index=table.index, dtype=object)
    return table.assign(**{DEFINITION: column})


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
    columns: dict[str, Any] = {}
    for column in KEYS:
        columns[column] = identifiers(frame[column], title)
    columns["value"] = _values(title, frame["value"], columns["qid"])
    result = pd.DataFrame(columns)
    check_distinct(result, f"leave out all but one in {title}")
    if DEFINITION in frame.columns:
        record_measures(result, _definitions(title, columns["measure"], frame[DEFINITION]))
    return result


def _text_table(text: Text) -> pd.DataFrame:
    """Return the cells of a csv, tsv or json file."""
    if is_json(text.data):
        rows = read_json(text.data.decode(), text.name)
        if not _are_objects_with_same_keys(rows):
            raise MultiAspectError(
                f"{text.name}: expected a list of JSON objects with the same keys, got others"
            )
        return pd.DataFrame(rows, dtype=object)
    separator = ","
    if "\t" in first_line(text):
        separator = "\t"
    table = read_delimited(text, separator)
    # `to_csv` writes the row numbers of pandas into a column without a name.
    return table.drop(columns=NO_NAME, errors="ignore")


def _are_objects_with_same_keys(rows: object) -> bool:
    """Return whether a value of JSON is a list of objects that have the same keys."""
    if not isinstance(rows, list):
        return False
    are_objects = all(isinstance(row, dict) for row in rows)
    if not are_objects:
        return False
    return all(row.keys() == rows[0].keys() for row in rows)


def _check_columns(title: str, frame: pd.DataFrame) -> None:
    """Raise an error for a table without rows, or without the columns of a long frame."""
    has_columns = set(COLUMNS) <= set(frame.columns)
    if has_columns and len(frame):
        return
    expected = choices(COLUMNS)
    n_rows = number_of(len(frame), "row")
    columns = choices(frame.columns)
    remedy = _remedy_for_columns(frame.columns)
    raise MultiAspectError(
        f"{title}: expected rows with the columns {expected}, which 'pt-multiaspect evaluate -q' "
        f"writes as csv, tsv, json or parquet, got {n_rows} with {columns}; {remedy}"
    )


def _remedy_for_columns(columns: pd.Index[Any]) -> str:
    """Return what to do with a table that is not a long frame, judging by its columns."""
    if "name" not in columns and is_judged_answers(columns):
        return "score judged answers with 'pt-multiaspect answers -q', or the functions of answers"
    # Such a table may have one column per measure.
    if {"name", "qid"} < set(columns):
        return (
            'write one row per value, as melt(["name", "qid"], var_name="measure") of pandas '
            "returns them"
        )
    if in_shell():
        return "read lines with their format, as in tot=FILE"
    return "read lines with their format="


def _values(title: str, column: pd.Series[Any], qids: Objects) -> Floats:
    """Return the numbers in the column value, NaN where a cell is empty.

    Parameters
    ----------
    title : str
        The name of the file, for errors.
    column : Series
        The cells.
    qids : ndarray of str
        The topic of each cell, for errors.
    """
    values: list[float] = []
    for qid, cell in zip(qids, column.tolist(), strict=True):
        if _is_empty(cell):
            values.append(math.nan)
            continue
        value = read_number(cell)
        if value is None or math.isnan(value):
            got = shown(cell)
            raise MultiAspectError(
                f"{title}: expected a number in the column value, got {got} (topic {qid})"
            )
        values.append(value)
    return np.array(values, dtype=np.float64)


def _is_empty(cell: object) -> bool:
    """Return whether a cell has no content; NaN is the one value that differs from itself."""
    return cell is None or cell is pd.NA or cell == "" or cell != cell


def read_number(value: object) -> float | None:
    """Return a cell as a float, or None if it does not represent a number as floats do.

    Infinite numbers and NaN may be written as texts, such as "inf".
    """
    if isinstance(value, bool):
        return None
    try:
        text = str(value)
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    # Python reads 1_000 as a thousand.
    if "_" in text:
        return None
    # Python reads numbers that are too large, such as 1e999, as infinite.
    is_too_large = not math.isfinite(number) and re.search(r"\d", text) is not None
    if is_too_large:
        return None
    return number


def _definitions(title: str, names: Objects, column: pd.Series[Any]) -> dict[str, str]:
    """Return the definition of each name of a measure that has one.

    Parameters
    ----------
    title : str
        The name of the file, for errors.
    names : ndarray of str, shape (n_rows,)
        The name of the measure in each row.
    column : Series, shape (n_rows,)
        The definition in each row; an empty cell says that the name is that of its measure.

    Raises
    ------
    MultiAspectError
        If a name has several definitions, or one that is not a measure.
    """
    # All cells of a name must agree. An empty one agrees with the name itself.
    definition_of_name: dict[str, str] = {}
    names_with_cell: set[str] = set()
    rows = zip(names.tolist(), column.tolist(), strict=True)
    distinct_rows = dict.fromkeys(rows)
    for name, cell in distinct_rows:
        definition = name
        if not _is_empty(cell):
            definition = str(cell)
            names_with_cell.add(name)
        earlier = definition_of_name.setdefault(name, definition)
        if earlier != definition:
            raise MultiAspectError(
                f"{title}: expected one definition of the measure {name}, got {earlier} and "
                f"{definition}; rename one of the two"
            )

    # Names whose cells are all empty have no definition.
    definitions: dict[str, str] = {}
    for name, definition in definition_of_name.items():
        if name in names_with_cell:
            _check_definition(title, name, definition)
            definitions[name] = definition
    return definitions


def _check_definition(title: str, name: str, definition: str) -> None:
    """Raise an error if a definition is not a measure.

    Parameters
    ----------
    title, name : str
        The file and the name of the measure, for errors.
    definition : str
        What should be a measure.
    """
    if definition == UNIT_SCORE:
        return
    try:
        parse_one(definition)
    except MultiAspectError as error:
        # A measure of a user may not be registered here.
        if is_unknown_measure(error):
            return
        raise MultiAspectError(
            f"{title}: expected a measure as the definition of {name}, got {definition!r}: "
            f"{error}. Correct it, or leave its cells empty"
        ) from error
