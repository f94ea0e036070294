"""Values of runs per topic as files: tables, and lines in the formats of other tools."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .._numbers import read_json
from ..errors import (
    MultiAspectError,
    choices,
    refuse_surrogates,
    refuse_taken,
    refuse_unknown,
    shown,
)
from ..io.file_contents import Text, as_text, load
from ..io.trec_lines import excerpt
from .long_frames import KEYS, check_distinct
from .value_tables import read_number, read_table

#: The columns of lines whose fields are separated by blanks or tabs, by format.
_COLUMNS_OF_FORMAT = {
    "trec_eval": ("measure", "qid", "value"),
    "tot": ("name", "measure", "qid", "value"),
    "ir_measures": ("name", "qid", "measure", "value"),
    "ranking": ("qid", "Q0", "name", "rank", "value", "measure"),
}

#: The columns of lines of ir_measures that evaluate a single run.
_COLUMNS_WITHOUT_RUN = ("qid", "measure", "value")

#: What is written into the columns of a ranking that no value needs, as AutoJudge does.
_UNUSED_CELLS = {"Q0": "Q0", "rank": 0}

#: The key of each column in JSON lines that are written.
_KEY_OF_COLUMN = {"name": "run_id", "qid": "topic_id", "measure": "measure", "value": "value"}

#: The column of each key in JSON lines that are read, which may also be written by ir_measures, or
#: contain the columns of long frames.
_COLUMN_OF_KEY = {
    "run_id": "name",
    "name": "name",
    "topic_id": "qid",
    "query_id": "qid",
    "qid": "qid",
    "measure": "measure",
    "value": "value",
}

#: The topic of lines that contain aggregates.
_ALL_TOPICS = "all"

#: The measure of the line of trec_eval whose value is the name of the run.
_RUN_NAME = "runid"

#: The measure of trec_eval whose values are texts, the relevance of the first documents: relstring
#: or relstring_20.
_RELSTRING = re.compile(r"relstring(_\d+)?")


class _Line(NamedTuple):
    """A line of a file of values."""

    #: The file and line number, for errors.
    place: str
    content: bytes
    #: By column, those of `COLUMNS` and others.
    cells: dict[str, Any]


@dataclass(frozen=True)
class Format:
    """A format of lines with one value each."""

    #: The form of the lines, in errors.
    layout: str
    #: Yields the lines of a file of this layout.
    read: Callable[[Text, str], Iterator[_Line]]


def _read_trec_eval(text: Text, layout: str) -> Iterator[_Line]:
    """Yield the lines of ``trec_eval -q``, except those of relstring, whose values are texts."""
    columns = _COLUMNS_OF_FORMAT["trec_eval"]
    for line in _read_fields(text, layout, columns=columns):
        measure = line.cells["measure"]
        is_relstring = _RELSTRING.fullmatch(measure) is not None
        if not is_relstring:
            yield line


def _read_ir_measures(text: Text, layout: str) -> Iterator[_Line]:
    """Yield the lines of ``ir_measures --by_query``, which name the run if there are several."""
    columns: tuple[str, ...] = ()
    for number, content, fields in text.lines():
        place = f"{text.name}:{number}"
        if len(fields) == 2:
            got = excerpt(content)
            raise MultiAspectError(
                f"{place}: expected {layout}, got 2 fields: {got}; aggregates have no topic, "
                "--by_query prints values of topics"
            )
        # All lines have the columns of the first one.
        if not columns:
            columns = _COLUMNS_OF_FORMAT["ir_measures"]
            if len(fields) == len(_COLUMNS_WITHOUT_RUN):
                columns = _COLUMNS_WITHOUT_RUN
        cells = _cells_by_column(columns, fields, place, content, layout)
        yield _Line(place, content, cells)


def _read_fields(text: Text, layout: str, *, columns: tuple[str, ...]) -> Iterator[_Line]:
    """Yield lines that all have the same columns."""
    for number, content, fields in text.lines():
        place = f"{text.name}:{number}"
        cells = _cells_by_column(columns, fields, place, content, layout)
        yield _Line(place, content, cells)


def _cells_by_column(
    columns: tuple[str, ...], fields: list[bytes], place: str, content: bytes, layout: str
) -> dict[str, str]:
    """Return the fields of a line as texts by column, or raise an error for another number."""
    if len(fields) != len(columns):
        n_fields = len(fields)
        got = excerpt(content)
        raise MultiAspectError(f"{place}: expected {layout}, got {n_fields} fields: {got}")
    texts = [field.decode() for field in fields]
    return dict(zip(columns, texts, strict=True))


def _read_jsonl(text: Text, layout: str) -> Iterator[_Line]:
    """Yield lines of JSON objects, which all have the keys of the first one."""
    key_of_column: dict[str, str] = {}
    for number, content, _ in text.lines():
        place = f"{text.name}:{number}"
        item = read_json(content.decode(), place)
        unexpected = f"{place}: expected {layout}, got {excerpt(content)}"
        if not isinstance(item, dict):
            raise MultiAspectError(unexpected)
        if not key_of_column:
            key_of_column = _known_keys(item)
        if not key_of_column.keys() >= {"qid", "measure", "value"}:
            raise MultiAspectError(unexpected)
        if not item.keys() >= set(key_of_column.values()):
            raise MultiAspectError(f"{unexpected}, other keys than in lines before")
        cells: dict[str, Any] = {}
        for column, key in key_of_column.items():
            cell = item[key]
            if column in KEYS:
                if not _is_name(cell):
                    raise MultiAspectError(unexpected)
                cell = str(cell)
            cells[column] = cell
        yield _Line(place, content, cells)


def _known_keys(item: dict[str, Any]) -> dict[str, str]:
    """Return the key of each column of a long frame that a JSON object has."""
    key_of_column: dict[str, str] = {}
    for key, column in _COLUMN_OF_KEY.items():
        if key in item:
            # Of several keys of a column, the first one counts.
            key_of_column.setdefault(column, key)
    return key_of_column


def _is_name(cell: object) -> bool:
    """Return whether a value of JSON is a text or an integer, such as the number of a topic."""
    if isinstance(cell, bool):
        return False
    return isinstance(cell, str | int)


#: The formats that `read_values` reads and `format_values` writes, by name.
FORMATS = {
    "trec_eval": Format("lines `measure topic value`", _read_trec_eval),
    "tot": Format(
        "lines `run measure topic value`", partial(_read_fields, columns=_COLUMNS_OF_FORMAT["tot"])
    ),
    "ir_measures": Format(
        "lines `run topic measure value` (or without the run)", _read_ir_measures
    ),
    "ranking": Format(
        "lines `topic Q0 run rank value measure`",
        partial(_read_fields, columns=_COLUMNS_OF_FORMAT["ranking"]),
    ),
    "jsonl": Format("JSON objects with the keys run_id, topic_id, measure and value", _read_jsonl),
}


def read_values(
    path: str | os.PathLike[str], *, format: str | None = None, name: str | None = None
) -> pd.DataFrame:
    r"""Read values per topic from a file: a table, or lines of another tool.

    Parameters
    ----------
    path : path
        The file, plain or compressed.
    format : {'trec_eval', 'tot', 'ir_measures', 'ranking', 'jsonl'}, optional
        The format of lines, whose fields are separated by blanks or tabs: ``measure topic value``,
        as printed by ``trec_eval -q``; ``run measure topic value``; ``run topic measure value``, or
        without the run, as printed by ``ir_measures --by_query``; AutoJudge's ``topic Q0 run rank
        value measure``, whose ranks are not read; or one JSON object per line with the keys
        ``run_id topic_id measure value`` (or ``name``; ``query_id`` or ``qid``), the run optional.
        It is not guessed, as several have the same number of fields. Lines of the topic ``all``
        contain aggregates and are skipped, as are those of trec_eval's ``relstring``, whose values
        are texts. By default, the file is a table in CSV, TSV, JSON or Parquet, with the columns
        ``name qid measure value``: what ``pt-multiaspect evaluate -q``, ``to_csv``, ``to_parquet``
        or ``pt.Experiment(save_dir=…)`` (``perquery.csv``) has written.
    name : str, optional
        The name of the run, if the lines lack it. By default that in trec_eval's line ``runid``, or
        the file's.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as returned by `evaluate`, with the rows in the order of
        the file. Ids are text. A label is the measure that it names, if any; see `aggregate`. If a
        table has a column ``definition``, ``attrs["measures"]`` contains the measures that it
        defines, by label.

    Raises
    ------
    MultiAspectError
        If a line or a cell is malformed, the file contains only aggregates, or several values of a
        measure for a topic. If a label of a table has several definitions, or one that is not a
        measure. Measures that are not registered here, such as user-defined ones, are kept as text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pt_multiaspect as ma
    >>> directory = Path(tempfile.mkdtemp())
    >>> table = directory / "values.csv"
    >>> _ = table.write_text("name,qid,measure,value,definition\nmine,q1,cost,3.0,ESL(wanted=2)\n")
    >>> values = ma.read_values(table)
    >>> values
       name qid measure  value
    0  mine  q1    cost    3.0
    >>> values.attrs["measures"]
    {'cost': 'ESL(wanted=2)'}

    >>> lines = directory / "bm25.eval"
    >>> rows = ["map\tq1\t0.5000", "map\tq2\t0.2500", "runid\tall\tbm25", "map\tall\t0.3750"]
    >>> _ = lines.write_text("\n".join(rows))
    >>> ma.read_values(lines, format="trec_eval")
       name qid measure  value
    0  bm25  q1     map   0.50
    1  bm25  q2     map   0.25
    """
    if format is not None:
        refuse_unknown([format], FORMATS, "a format", "format")
        return _read_lines(as_text(*load(path)), format, name)
    if name is not None:
        raise MultiAspectError(
            f"name: expected None without format=, got {name!r}: {path} names its runs"
        )
    if not hasattr(path, "read") and not isinstance(path, str | os.PathLike):
        raise MultiAspectError(f"path: expected the path of a file of values, got {shown(path)}")
    return read_table(path)


def _read_lines(text: Text, format: str, name: str | None) -> pd.DataFrame:
    """Return the long frame of a file of lines, without aggregates.

    Parameters
    ----------
    text : Text
        The file.
    format : str
        One of `FORMATS`.
    name : str or None
        The name of the run, if the lines lack it.
    """
    layout = FORMATS[format].layout
    lines = list(FORMATS[format].read(text, layout))
    if not lines:
        raise MultiAspectError(f"{text.name}: the file is empty; expected {layout}")
    columns = list(lines[0].cells)
    rows = pd.DataFrame([line.cells for line in lines], columns=columns, dtype=object)
    has_names = "name" in columns
    if has_names and name is not None:
        raise MultiAspectError(
            f"name: expected None, as the lines of {text.name} name their runs, got {name!r}"
        )
    _check_topics(text, lines, rows, layout)
    if not has_names:
        rows["name"] = _name_of_run(text, rows, name)

    # Lines of the topic all contain aggregates.
    is_topic = rows["qid"] != _ALL_TOPICS
    values: list[float] = []
    for row in np.flatnonzero(is_topic):
        values.append(_value(lines[row]))
    cells: dict[str, Any] = {}
    for column in KEYS:
        cells[column] = rows.loc[is_topic, column].to_numpy(dtype=object)
    cells["value"] = values
    result = pd.DataFrame(cells)
    check_distinct(result, f"leave out all but one in {text.name}")
    return result


def _check_topics(text: Text, lines: list[_Line], rows: pd.DataFrame, layout: str) -> None:
    """Raise an error if no line has a topic, or if topics and measures seem to be swapped."""
    is_aggregate = rows["qid"] == _ALL_TOPICS
    if is_aggregate.all():
        raise MultiAspectError(
            f"{text.name}: expected values of topics, got only aggregates (topic all); write the "
            "file with the option -q of trec_eval, ir_measures or pt-multiaspect"
        )
    is_measure_all = rows["measure"] == _ALL_TOPICS
    if is_measure_all.any() and not is_aggregate.any():
        first_row = int(is_measure_all.argmax())
        line = lines[first_row]
        got = excerpt(line.content)
        raise MultiAspectError(
            f"{line.place}: expected {layout}, got the measure all: {got}; name another format"
        )


def _name_of_run(text: Text, rows: pd.DataFrame, name: str | None) -> str:
    """Return the given name of a run, else that in a line of trec_eval, else that of the file."""
    if name:
        with refuse_surrogates("name"):
            name.encode()
        return name
    is_run_name = rows["measure"] == _RUN_NAME
    run_names = sorted(set(rows.loc[is_run_name, "value"]))
    if len(run_names) > 1:
        got = choices(run_names)
        raise MultiAspectError(
            f"{text.name}: expected the values of one run, got those of {got}; divide the file"
        )
    if run_names and run_names[0]:
        return str(run_names[0])
    return Path(text.name).name


def _value(line: _Line) -> float:
    """Return the value of a line as a number."""
    cell = line.cells["value"]
    value = read_number(cell)
    if value is None:
        qid = line.cells["qid"]
        got = shown(cell)
        content = excerpt(line.content)
        raise MultiAspectError(
            f"{line.place}: expected a number as value, got {got} (topic {qid}): {content}"
        )
    return value


def format_values(values: pd.DataFrame, means: pd.DataFrame, format: str) -> str:
    """Write values in the format of another tool.

    Per run, the values of topics come first, then the aggregates (topic all).

    Parameters
    ----------
    values : DataFrame
        The result of `evaluate`, or some of its rows.
    means : DataFrame
        The result of `aggregate`, whose runs are written in its order.
    format : str
        One of `FORMATS`.

    Returns
    -------
    str
        The lines, with numbers in full precision.

    Raises
    ------
    MultiAspectError
        If lines could not be read back correctly: a name contains blanks, a topic has the name
        ``all``, or there are several runs in trec_eval's format, which does not name them.
    """
    labels = list(means.columns[1:])
    _check_names(values, means, labels, format)
    values_by_run = dict(list(values.groupby("name", sort=False)))
    no_values = values.iloc[:0]
    lines: list[str] = []
    for run, *aggregates in means.itertuples(index=False, name=None):
        values_of_run = values_by_run.get(run, no_values)
        aggregate_of_label = dict(zip(labels, aggregates, strict=True))
        for cells in _cells_of_run(run, values_of_run, aggregate_of_label, format):
            line = _format_line(cells, format)
            lines.append(f"{line}\n")
    return "".join(lines)


def _cells_of_run(
    run: str, values: pd.DataFrame, aggregates: Mapping[str, float], format: str
) -> Iterator[dict[str, Any]]:
    """Yield the cells of each line of a run by column: values of topics, then aggregates.

    Parameters
    ----------
    run : str
        The name of the run.
    values : DataFrame
        The rows of the run in a long frame.
    aggregates : mapping of str to float
        The aggregates of the run by the label of the measure.
    format : str
        One of `FORMATS`.
    """
    numbers = values["value"].tolist()
    for qid, measure, value in zip(values["qid"], values["measure"], numbers, strict=True):
        yield {"name": run, "qid": qid, "measure": measure, "value": value}
    if format == "trec_eval":
        yield {"name": run, "qid": _ALL_TOPICS, "measure": _RUN_NAME, "value": run}
    for label, aggregate in aggregates.items():
        yield {"name": run, "qid": _ALL_TOPICS, "measure": label, "value": float(aggregate)}


def _format_line(cells: dict[str, Any], format: str) -> str:
    """Return a line with the cells of a value, given by column."""
    if format == "jsonl":
        item = {_KEY_OF_COLUMN[column]: cell for column, cell in cells.items()}
        return json.dumps(item)
    all_cells = cells | _UNUSED_CELLS
    fields = [str(all_cells[column]) for column in _COLUMNS_OF_FORMAT[format]]
    return "\t".join(fields)


def _check_names(values: pd.DataFrame, means: pd.DataFrame, labels: list[str], format: str) -> None:
    """Raise an error for names of topics, runs or measures that could not be read from lines."""
    qids = values["qid"]
    runs = means["name"]
    if (qids == _ALL_TOPICS).any():
        raise MultiAspectError(
            "expected topics with other names than all, which denotes aggregates; use csv"
        )
    if format == "trec_eval":
        refuse_taken(labels, (_RUN_NAME, "num_q"), "a line of trec_eval")
        if len(means) > 1:
            got = choices(runs)
            raise MultiAspectError(f"expected one run, as no line names it, got {got}; use tot")
    # JSON quotes names.
    if format != "jsonl":
        _refuse_blanks("a name", runs, "name the run, as in NAME=RUN")
        _refuse_blanks("the name of a measure", labels, "give it an alias, as in -m ALIAS=MEASURE")
        _refuse_blanks("the topic", qids.unique(), "use jsonl")


def _refuse_blanks(noun: str, names: Iterable[str], remedy: str) -> None:
    """Raise an error with a remedy for a name that is empty or contains white space."""
    for name in names:
        has_blank = re.search(r"\s", name) is not None
        if has_blank or not name:
            raise MultiAspectError(
                f"expected {noun} without blanks, which separate fields, got {name!r}; {remedy}"
            )
