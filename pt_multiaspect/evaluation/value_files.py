"""Values of runs per topic as files: tables, and lines in the formats of other tools."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

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
from .long_frames import COLUMNS, KEYS, check_distinct
from .value_tables import read_number, read_table

#: The columns of lines whose fields are separated by blanks or tabs, by format.
_FIELDS = {
    "trec_eval": ("measure", "qid", "value"),
    "tot": ("name", "measure", "qid", "value"),
    "ir_measures": ("name", "qid", "measure", "value"),
    "ranking": ("qid", "Q0", "name", "rank", "value", "measure"),
}

#: What is written into the columns of a ranking that no value needs, as AutoJudge does.
_UNUSED = {"Q0": "Q0", "rank": 0}

#: The keys of JSON lines: those that are written, those of ir_measures, and those of long frames.
_KEYS = {
    "name": ("run_id", "name"),
    "qid": ("topic_id", "query_id", "qid"),
    "measure": ("measure",),
    "value": ("value",),
}

#: The topic of lines that contain aggregates, and a line of trec_eval that names the run.
_ALL, _RUNID = "all", "runid"

#: The measure of trec_eval whose values are texts: the relevance of the first documents.
_RELSTRING = re.compile(r"relstring(_\d+)?")

#: A line number, the line, and its fields by column.
_Row: TypeAlias = tuple[int, bytes, dict[str, Any]]


@dataclass(frozen=True)
class Format:
    """A format of lines with one value each."""

    #: The form of the lines, in errors.
    layout: str
    #: Yields the lines of a file of this layout.
    read: Callable[[Text, str], Iterator[_Row]]


def _read_trec_eval(text: Text, layout: str) -> Iterator[_Row]:
    """Yield the lines of ``trec_eval -q``, except those whose values are texts."""
    for number, line, row in _read_fields(text, layout, columns=_FIELDS["trec_eval"]):
        if not _RELSTRING.fullmatch(row["measure"]):
            yield number, line, row


def _read_ir_measures(text: Text, layout: str) -> Iterator[_Row]:
    """Yield the lines of ``ir_measures --by_query``, which name the run if there are several."""
    columns: tuple[str, ...] = ()
    for number, line, fields in text.lines():
        if len(fields) == 2:
            raise MultiAspectError(
                f"{text.name}:{number}: expected {layout}, got 2 fields: {excerpt(line)}; "
                "aggregates have no topic, --by_query prints values of topics"
            )
        if not columns:
            columns = _FIELDS["ir_measures"]
            if len(fields) == len(columns) - 1:
                columns = columns[1:]
        yield number, line, _by_column(columns, fields, f"{text.name}:{number}", line, layout)


def _read_fields(text: Text, layout: str, *, columns: tuple[str, ...]) -> Iterator[_Row]:
    """Yield lines that all have the same columns."""
    for number, line, fields in text.lines():
        yield number, line, _by_column(columns, fields, f"{text.name}:{number}", line, layout)


def _by_column(
    columns: tuple[str, ...], fields: list[bytes], place: str, line: bytes, layout: str
) -> dict[str, str]:
    """Return the fields of a line by column."""
    if len(fields) != len(columns):
        raise MultiAspectError(
            f"{place}: expected {layout}, got {len(fields)} fields: {excerpt(line)}"
        )
    texts = [field.decode() for field in fields]
    return dict(zip(columns, texts, strict=True))


def _read_jsonl(text: Text, layout: str) -> Iterator[_Row]:
    """Yield lines of JSON objects, which all have the keys of the first one."""
    keys: dict[str, str] = {}
    for number, line, _ in text.lines():
        item = read_json(line.decode(), f"{text.name}:{number}")
        if not keys and isinstance(item, dict):
            keys = _known_keys(item)
        got = f"{text.name}:{number}: expected {layout}, got {excerpt(line)}"
        if not isinstance(item, dict) or not {*COLUMNS[1:]} <= {*keys}:
            raise MultiAspectError(got)
        if not {*keys.values()} <= item.keys():
            raise MultiAspectError(f"{got}, other keys than in lines before")
        row = {column: item[key] for column, key in keys.items()}
        for column in KEYS:
            if column not in row:
                continue
            name = row[column]
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise MultiAspectError(got)
            row[column] = str(name)
        yield number, line, row


def _known_keys(item: dict[str, Any]) -> dict[str, str]:
    """Return the key of each column in a JSON object, as far as it has one."""
    keys: dict[str, str] = {}
    for column, known in _KEYS.items():
        for key in known:
            if key in item:
                keys.setdefault(column, key)
    return keys


#: The formats that `read_values` reads and `format_values` writes, by name.
FORMATS = {
    "trec_eval": Format("lines `measure topic value`", _read_trec_eval),
    "tot": Format("lines `run measure topic value`", partial(_read_fields, columns=_FIELDS["tot"])),
    "ir_measures": Format(
        "lines `run topic measure value` (or without the run)", _read_ir_measures
    ),
    "ranking": Format(
        "lines `topic Q0 run rank value measure`", partial(_read_fields, columns=_FIELDS["ranking"])
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
    """Return the values of topics in a file of lines."""
    layout = FORMATS[format].layout
    lines = list(FORMATS[format].read(text, layout))
    if not lines:
        raise MultiAspectError(f"{text.name}: the file is empty; expected {layout}")
    names = list(lines[0][2])
    records = [row for *_, row in lines]
    rows = pd.DataFrame(records, columns=names, dtype=object)
    if "name" in rows and name is not None:
        raise MultiAspectError(
            f"name: expected None, as the lines of {text.name} name their runs, got {name!r}"
        )
    is_topic = rows["qid"] != _ALL
    is_all = rows["measure"] == _ALL
    if is_topic.all() and is_all.any():
        number, line, _ = lines[int(is_all.argmax())]
        raise MultiAspectError(
            f"{text.name}:{number}: expected {layout}, got the measure all: {excerpt(line)}; name "
            "another format"
        )
    if not is_topic.any():
        raise MultiAspectError(
            f"{text.name}: expected values of topics, got only aggregates (topic all); write the "
            "file with the option -q of trec_eval, ir_measures or pt-multiaspect"
        )
    if "name" not in rows:
        with refuse_surrogates("name"):
            (name or "").encode()
        rows["name"] = name or _run_name(text, rows) or Path(text.name).name
    lines_of_topics = [lines[row] for row in np.flatnonzero(is_topic)]
    columns: dict[str, Any] = {}
    for column in KEYS:
        columns[column] = rows.loc[is_topic, column].to_numpy(dtype=object)
    columns["value"] = [_value(text, *line) for line in lines_of_topics]
    result = pd.DataFrame(columns)
    check_distinct(result, f"leave out all but one in {text.name}")
    return result


def _run_name(text: Text, rows: pd.DataFrame) -> str:
    """Return the run that a line of trec_eval names, or an empty string."""
    names = sorted(set(rows.loc[rows["measure"] == _RUNID, "value"]))
    if len(names) > 1:
        raise MultiAspectError(
            f"{text.name}: expected the values of one run, got those of {choices(names)}; "
            "divide the file"
        )
    if not names:
        return ""
    name: str = names[0]
    return name


def _value(text: Text, number: int, line: bytes, row: dict[str, Any]) -> float:
    """Return the value of a line."""
    result = read_number(row["value"])
    if result is None:
        raise MultiAspectError(
            f"{text.name}:{number}: expected a number as value, got {shown(row['value'])} (topic "
            f"{row['qid']}): {excerpt(line)}"
        )
    return result


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
    rows_of_run = dict(list(values.groupby("name", sort=False)))
    lines: list[str] = []
    for name, *aggregates in means.itertuples(index=False, name=None):
        rows = rows_of_run.get(name, values.iloc[:0])
        cells = list(zip(rows["qid"], rows["measure"], rows["value"].tolist(), strict=True))
        if format == "trec_eval":
            cells.append((_ALL, _RUNID, name))
        for label, aggregate in zip(labels, aggregates, strict=True):
            cells.append((_ALL, label, float(aggregate)))
        for qid, measure, value in cells:
            row = {"name": name, "qid": qid, "measure": measure, "value": value}
            lines.append(_format_row(row, format))
    return "".join(f"{line}\n" for line in lines)


def _format_row(row: dict[str, Any], format: str) -> str:
    """Return the line of a value."""
    if format == "jsonl":
        return json.dumps({_KEYS[column][0]: cell for column, cell in row.items()})
    fields: dict[str, Any] = {**row, **_UNUSED}
    return "\t".join(str(fields[column]) for column in _FIELDS[format])


def _check_names(values: pd.DataFrame, means: pd.DataFrame, labels: list[str], format: str) -> None:
    """Raise an error for names that could not be read back from lines."""
    if (values["qid"] == _ALL).any():
        raise MultiAspectError(
            "expected topics with other names than all, which denotes aggregates; use csv"
        )
    if format == "trec_eval":
        refuse_taken(labels, (_RUNID, "num_q"), "a line of trec_eval")
        if len(means) > 1:
            raise MultiAspectError(
                f"expected one run, as no line names it, got {choices(means['name'])}; use tot"
            )
    if format != "jsonl":
        _refuse_blanks("a name", means["name"], "name the run, as in NAME=RUN")
        _refuse_blanks("the name of a measure", labels, "give it an alias, as in -m ALIAS=MEASURE")
        _refuse_blanks("the topic", values["qid"].unique(), "use jsonl")


def _refuse_blanks(what: str, names: Iterable[str], remedy: str) -> None:
    for name in names:
        if not name or re.search(r"\s", name):
            raise MultiAspectError(
                f"expected {what} without blanks, which separate fields, got {name!r}; {remedy}"
            )
