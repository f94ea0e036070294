"""Values of runs per topic as files: those of `evaluate`, and the formats of other tools."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from .._numbers import read_json
from .._typing import Bools, Floats, Objects
from ..collection.frames import as_frame
from ..collection.judged_answers import is_judged_answers
from ..errors import MultiAspectError, choices, number_of, refuse_surrogates, refuse_taken, refuse_unknown, shown
from ..integration.parsing import record_measures
from ..io.file_contents import Text, as_text, load
from ..io.json_files import is_json
from ..io.table_files import first_line, read_arrow, read_delimited
from ..io.trec_lines import excerpt
from ..strings.identifiers import identifiers
from .long_frames import COLUMNS, KEYS, check_distinct
from .provenance import recorded_measures
from .store import read_directory

#: The fields of a line, by format. Only JSON lines may contain names with blanks.
_FIELDS = {
    "trec_eval": ("measure", "qid", "value"),
    "tot": ("name", "measure", "qid", "value"),
    "ir_measures": ("name", "qid", "measure", "value"),
}

#: The keys of JSON lines: those that are written, those of ir_measures, and those of long frames.
_KEYS = {
    "name": ("run_id", "name"),
    "qid": ("topic_id", "query_id", "qid"),
    "measure": ("measure",),
    "value": ("value",),
}

FORMATS = (*_FIELDS, "jsonl")

#: The topic of lines that contain aggregates, and a line of trec_eval that names the run.
_ALL, _RUNID = "all", "runid"

#: A line number, the line, and its fields.
_Row: TypeAlias = tuple[int, bytes, dict[str, Any]]


def read_values(
    path: str | os.PathLike[str], *, format: str | None = None, name: str | None = None
) -> pd.DataFrame:
    r"""Read values per topic: those that `evaluate` has written to a directory, or a file of another tool.

    Parameters
    ----------
    path : path
        The directory given as ``out=``; with `format`, a file, plain or compressed.
    format : {'trec_eval', 'tot', 'ir_measures', 'jsonl'}, optional
        The format of the file, whose fields are separated by blanks or tabs: ``measure topic value``, as printed by
        ``trec_eval -q``; ``run measure topic value``; ``run topic measure value``, or without the run, as
        printed by ``ir_measures --by_query``; or one JSON object per line with the keys ``run_id topic_id measure
        value`` (or ``name``; ``query_id`` or ``qid``), the run optional. It is not guessed, as several have the
        same number of fields. Lines of the topic ``all`` contain aggregates and are skipped.
    name : str, optional
        The name of the run, if the lines lack it. By default that in trec_eval's line ``runid``, or the file's.

    Returns
    -------
    DataFrame
        Columns ``name qid measure value``, as returned by `evaluate`. From a directory, the runs are sorted by the
        names of their files, and ``attrs["measures"]`` contains the measures by label. From a file, the rows are in
        its order, and a label is the measure that it names, if any; see `aggregate`. From a table, rows are in the
        order of `evaluate`; the last row of each run, the aggregate ``mean``, is left out, as are topics without a
        value; and the measures are those in the file ``.ir_metadata.yml`` beside it, if it was written with
        this table. A long frame that ``to_csv`` or ``pt.Experiment(save_dir=…)`` (``perquery.csv``) has written
        is returned as it was, ids and further columns as text.

    Raises
    ------
    MultiAspectError
        If the directory contains no values, values of several evaluations (while another process writes to it), or
        several values of a run. If a line of a file is malformed, the file contains only aggregates, or several
        values of a measure for a topic. If a table has been sorted, so that its aggregates cannot be told from
        topics, or has only means.

    Warns
    -----
    MultiAspectWarning
        For each file of a directory that is damaged, which is left out. If the file beside a table was not
        written with it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pt_multiaspect as ma
    >>> qrels, runs = {"q1": {"d1": 0, "d2": 1}}, {"mine": {"q1": {"d1": 2.0, "d2": 1.0}}}
    >>> directory = tempfile.mkdtemp()
    >>> done = ma.evaluate(runs, qrels, ["map", "P@1"], progress=False, out=directory, collect=False)
    >>> ma.read_values(directory)
       name qid measure  value
    0  mine  q1     map    0.5
    1  mine  q1     P@1    0.0

    >>> file = Path(directory) / "bm25.eval"
    >>> _ = file.write_text("map\tq1\t0.5000\nmap\tq2\t0.2500\nrunid\tall\tbm25\nmap\tall\t0.3750\n")
    >>> ma.read_values(file, format="trec_eval")
       name qid measure  value
    0  bm25  q1     map   0.50
    1  bm25  q2     map   0.25
    """
    if format is None:
        if name is not None:
            raise MultiAspectError(f"name: expected None without format=, got {name!r}: {path} names its runs")
        is_open, is_path = hasattr(path, "read"), isinstance(path, str | os.PathLike)
        if not is_open and not is_path:
            raise MultiAspectError(f"path: expected the path of a file or a directory of values, got {shown(path)}")
        is_table = is_open or os.path.isfile(os.path.expanduser(path))
        return _read_table(path) if is_table else read_directory(path)
    refuse_unknown([format], FORMATS, "a format", "format")
    text = as_text(*load(path))
    lines = list(_json_rows(text) if format == "jsonl" else _split_rows(text, format))
    if not lines:
        raise MultiAspectError(f"{text.name}: the file is empty; expected {_layout(format)}")
    rows = pd.DataFrame({column: [row[column] for *_, row in lines] for column in lines[0][2]}, dtype=object)
    if "name" in rows and name is not None:
        raise MultiAspectError(f"name: expected None, as the lines of {text.name} name their runs, got {name!r}")
    is_topic, is_all = rows["qid"] != _ALL, rows["measure"] == _ALL
    if is_topic.all() and is_all.any():
        number, line, _ = lines[int(is_all.argmax())]
        raise MultiAspectError(
            f"{text.name}:{number}: expected {_layout(format)}, got the measure all: {excerpt(line)}; use "
            "another format="
        )
    if not is_topic.any():
        raise MultiAspectError(
            f"{text.name}: expected values of topics, got only aggregates (topic all); write the file with the "
            "option -q of trec_eval, ir_measures or pt-multiaspect"
        )
    if "name" not in rows:
        with refuse_surrogates("name"):
            (name or "").encode()
        rows["name"] = name or _run_name(text, rows) or Path(text.name).name
    texts = {column: rows.loc[is_topic, column].to_numpy(dtype=object) for column in KEYS}
    values = [_value(text, *line) for line, counts in zip(lines, is_topic, strict=True) if counts]
    result = pd.DataFrame({**texts, "value": values})
    check_distinct(result, f"leave out all but one in {text.name}")
    return result


def _split_rows(text: Text, format: str) -> Iterator[_Row]:
    """Yield the lines of a format whose fields are separated by blanks or tabs."""
    fields = _FIELDS[format]
    for position, (number, line, values) in enumerate(text.lines()):
        if position == 0 and format == "ir_measures" and len(values) == len(fields) - 1:
            fields = fields[1:]
        if len(values) != len(fields):
            aggregates = "; aggregates have no topic, --by_query prints values of topics"
            raise MultiAspectError(
                f"{text.name}:{number}: expected {_layout(format)}, got {len(values)} fields: {excerpt(line)}"
                + (aggregates if format == "ir_measures" and len(values) == 2 else "")
            )
        yield number, line, dict(zip(fields, (field.decode() for field in values), strict=True))


def _json_rows(text: Text) -> Iterator[_Row]:
    """Yield the lines of JSON."""
    keys: dict[str, str] = {}
    for number, line, _ in text.lines():
        item = read_json(line.decode(), f"{text.name}:{number}")
        if not keys and isinstance(item, dict):
            keys = {
                column: key
                for column, known in _KEYS.items()
                if (key := next(filter(item.__contains__, known), ""))
            }
        complete = isinstance(item, dict) and {*keys} >= {*COLUMNS[1:]} and item.keys() >= {*keys.values()}
        row = {column: item[key] for column, key in keys.items()} if complete else {}
        names = [row.get(column) for column in COLUMNS[:3] if column in row]
        if not complete or any(isinstance(value, bool) or not isinstance(value, str | int) for value in names):
            raise MultiAspectError(
                f"{text.name}:{number}: expected {_layout('jsonl')}, got {excerpt(line)}"
                + (", other keys than in lines before" if isinstance(item, dict) and keys and not complete else "")
            )
        yield number, line, {column: value if column == "value" else str(value) for column, value in row.items()}


def _layout(format: str) -> str:
    if format == "jsonl":
        return "JSON objects with the keys run_id, topic_id, measure and value"
    optional = " (or without the run)" if format == "ir_measures" else ""
    words = {"name": "run", "qid": "topic"}
    return f"lines `{' '.join(words.get(field, field) for field in _FIELDS[format])}`{optional}"


def _run_name(text: Text, rows: pd.DataFrame) -> str:
    """Return the run that a line of trec_eval names, or an empty string."""
    named = set(rows.loc[rows["measure"] == _RUNID, "value"])
    if len(named) > 1:
        raise MultiAspectError(
            f"{text.name}: expected the values of one run, got those of {choices(sorted(named))}; divide the file"
        )
    return next(iter(named), "")


def _value(text: Text, number: int, line: bytes, row: dict[str, Any]) -> float:
    """Return the value of a line."""
    result = _number(row["value"])
    if result is None:
        raise MultiAspectError(
            f"{text.name}:{number}: expected a number as value, got {shown(row['value'])} (topic {row['qid']}): "
            f"{excerpt(line)}"
        )
    return result


def _number(value: object) -> float | None:
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


def _read_table(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a table with one row per run and topic, and one column per measure."""
    name, data = load(path)
    table = read_arrow(name, data)
    frame = as_frame(table, name) if table is not None else _text_table(as_text(name, data))
    if {*COLUMNS} <= {*frame.columns}:
        return _long_table(path, name, frame)
    labels, names, qids, cells = _columns(name, frame)
    digest = _digest(labels, names, qids, cells)
    is_topic = ~_are_aggregates(name, names, qids)
    values, names, qids = cells[:, is_topic], names[is_topic], qids[is_topic]
    columns, rows = np.nonzero(~np.isnan(values))
    order = np.argsort(pd.factorize(names)[0][rows], kind="stable")  # as `evaluate`: by run, measure and topic
    columns, rows = columns[order], rows[order]
    measures = np.array(labels, dtype=object)[columns]
    texts = {"name": names[rows], "qid": qids[rows], "measure": measures}
    result = pd.DataFrame({**texts, "value": values[columns, rows]})
    check_distinct(result, f"leave out all but one in {name}")
    if not hasattr(path, "read"):
        record_measures(result, recorded_measures(os.fspath(path), labels, digest))
    return result


def _long_table(path: Any, name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the long frame in a file: its four columns, and further ones as they are."""
    others = [column for column in frame.columns if column not in COLUMNS]
    texts = {column: identifiers(frame[column], name) for column in KEYS}
    values = np.array(_cells(name, frame["value"], texts["qid"]), dtype=np.float64)
    result = pd.DataFrame({**texts, "value": values, **frame[others]})
    check_distinct(result, f"leave out all but one in {name}", others)
    if not hasattr(path, "read"):  # a record belongs to an earlier table
        recorded_measures(os.fspath(path), pd.unique(texts["measure"]).tolist(), "")
    return result


def _columns(name: str, frame: pd.DataFrame) -> tuple[list[str], Objects, Objects, Floats]:
    """Return the measures of a table, its names and topics, and the values by measure and row."""
    labels = [str(column) for column in frame.columns if column not in ("name", "qid")]
    if len(labels) != len(frame.columns) - 2 or not labels or not len(frame):
        remedy = "read lines with their format="
        if "name" not in frame.columns and is_judged_answers(frame.columns):
            remedy = "score judged answers with 'pt-multiaspect answers -q', or the functions of answers"
        raise MultiAspectError(
            f"{name}: expected rows with the columns name and qid and one per measure, which 'pt-multiaspect "
            f"evaluate -q' writes as csv, tsv, json or parquet, got {number_of(len(frame), 'row')} with "
            f"{choices(frame.columns)}; {remedy}"
        )
    names, qids = (identifiers(frame[column], name) for column in ("name", "qid"))
    return labels, names, qids, np.array([_cells(name, frame[label], qids) for label in labels])


def table_digest(frame: pd.DataFrame) -> str | None:
    """Return the digest of a table by which its record is known, or None if `read_values` does not read it."""
    try:
        return _digest(*_columns("table", frame))
    except (MultiAspectError, KeyError):
        return None


def _digest(labels: list[str], names: Objects, qids: Objects, cells: Floats) -> str:
    """Return a digest of the content of a table, the same for all its formats and versions of packages."""
    text = json.dumps([labels, names.tolist(), qids.tolist()])
    values = np.where(np.isnan(cells), math.nan, cells).astype("<f8")  # NaN has several forms
    return hashlib.sha256(text.encode() + values.tobytes()).hexdigest()


def _text_table(text: Text) -> pd.DataFrame:
    """Return the cells of a csv, tsv or json file; of an empty frame, if it is another file."""
    if not is_json(text.data):
        return read_delimited(text, "\t" if "\t" in first_line(text) else ",", drop_index=True)
    rows = read_json(text.data.decode(), text.name)
    if not isinstance(rows, list) or not all(
        isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows
    ):
        raise MultiAspectError(f"{text.name}: expected a list of JSON objects with the same keys, got others")
    return pd.DataFrame(rows, dtype=object)


def _are_aggregates(name: str, names: Objects, qids: Objects) -> Bools:
    """Return a mask of the aggregates: the last row of each run, if it is mean (``(mean)`` beside such a topic)."""
    is_last = ~pd.Series(names).duplicated(keep="last").to_numpy()
    may_be = np.array([re.fullmatch(r"\(*mean\)*", qid) is not None for qid in qids])
    if not may_be.any():
        return may_be
    if len({*qids[is_last]}) > 1 or not may_be[is_last].all():
        raise MultiAspectError(
            f"{name}: expected the row {qids[may_be][0]} last among those of each run, as written, to tell "
            "aggregates from topics; restore the order, or write the file again"
        )
    if len({*names[~is_last]}) < is_last.sum():
        raise MultiAspectError(
            f"{name}: expected values of topics, got only the aggregate of "
            f"{choices({*names} - {*names[~is_last]})}; write the file again"
        )
    return is_last


def _cells(name: str, column: pd.Series[Any], qids: Objects) -> list[float]:
    """Return the values of a measure, NaN where a cell is empty."""
    values = []
    for qid, cell in zip(qids, column.tolist(), strict=True):
        is_empty = cell is None or cell is pd.NA or cell == "" or cell != cell
        value = math.nan if is_empty else _number(cell)
        if value is None or (math.isnan(value) and not is_empty):
            raise MultiAspectError(
                f"{name}: expected a number in the column {column.name}, got {shown(cell)} (topic {qid})"
            )
        values.append(value)
    return values


def format_values(values: pd.DataFrame, means: pd.DataFrame, format: str) -> str:
    """Write values in the format of another tool: per run, the values of topics, then the aggregates (topic all).

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
        If lines could not be read back correctly: a name contains blanks, a topic has the name ``all``, or there
        are several runs in trec_eval's format, which does not name them.
    """
    labels = list(means.columns[1:])
    if (values["qid"] == _ALL).any():
        raise MultiAspectError(
            f"format {format}: expected topics with other names than all, which denotes aggregates; use csv"
        )
    if format == "trec_eval":
        refuse_taken(labels, (_RUNID, "num_q"), "a line of trec_eval")
        if len(means) > 1:
            raise MultiAspectError(
                f"format trec_eval: expected one run, as no line names it, got {choices(means['name'])}; use tot"
            )
    if format != "jsonl":
        _refuse_blanks(format, "a name", means["name"], "name the run, as in NAME=RUN")
        _refuse_blanks(format, "a label", labels, "label the measure, as in -m LABEL=MEASURE")
        _refuse_blanks(format, "the topic", values["qid"].unique(), "use jsonl")
    by_run = dict(list(values.groupby("name", sort=False)))
    keys = [key for key, *_ in _KEYS.values()]
    order = [COLUMNS.index(field) for field in _FIELDS.get(format, ())]
    lines = []
    for name, *aggregates in means.itertuples(index=False, name=None):
        rows = by_run.get(name, values.iloc[:0])
        topic_rows = zip(rows["qid"], rows["measure"], rows["value"].tolist(), strict=True)
        run_rows = [(_ALL, label, float(value)) for label, value in zip(labels, aggregates, strict=True)]
        if format == "trec_eval":
            run_rows.insert(0, (_ALL, _RUNID, name))
        for row in (*topic_rows, *run_rows):
            cells = (name, *row)
            if format == "jsonl":
                lines.append(json.dumps(dict(zip(keys, cells, strict=True))))
            else:
                lines.append("\t".join(str(cells[position]) for position in order))
    return "".join(f"{line}\n" for line in lines)


def _refuse_blanks(format: str, what: str, names: Iterable[str], remedy: str) -> None:
    for name in names:
        if not name or re.search(r"\s", name):
            raise MultiAspectError(
                f"format {format}: expected {what} without blanks, which separate fields, got {name!r}; {remedy}"
            )
