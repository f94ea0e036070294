"""Reading judgments and runs from TREC files, with errors that name the file and the line."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from .errors import MultiAspectError, choices, warn_once
from .judgments import IDENTIFIERS

__all__ = ["read_qrels", "read_run"]

Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]
Floats: TypeAlias = npt.NDArray[np.float64]

_BLOCK = 1 << 22  # bytes split at once: bounds the memory that the short-lived pieces take


def read_qrels(
    source: Source | Mapping[str, Source], aspects: Sequence[str] | None = None, *, check: bool = True
) -> pd.DataFrame:
    """Read judgments of one or several aspects into one wide frame.

    Parameters
    ----------
    source : path, open file, or mapping of aspect name to path or open file
        A mapping gives one TREC qrels file (``qid iteration docno label``) for
        each aspect. A single file has one label column for each of `aspects`.
        Fields are separated by blanks or tabs; gzip is recognised by content,
        text is UTF-8, blank lines are skipped. A label written ``nan`` counts
        as missing.
    aspects : sequence of str, optional
        The label columns of a single file, from left to right; by default the
        one column ``relevance``. Not to be given with a mapping, which names
        the aspects itself.
    check : bool, default True
        Whether to check that the files of a mapping belong together. Each file is compared with that of
        relevance, or else with the first one.

    Returns
    -------
    pandas.DataFrame
        The columns ``qid``, ``docno`` and one an aspect, in the order given.
        The aspect ``relevance`` has PyTerrier's name ``label``, the others
        keep their names. Ids are strings. A label column is int64 when it is
        complete and all whole numbers, otherwise float64. Rows stand in the
        order in which their pairs first appear. Files may judge different
        pairs: what is missing is NaN. A judgment given twice with equal
        labels counts once.

    Raises
    ------
    MultiAspectError
        For a file that is missing, empty or not text; for a malformed line,
        a label that is not a finite number, or conflicting labels of one
        pair (with the line numbers); for names that cannot be aspects; for files
        that have no query, or no (query, document) pair, in common.

    Warns
    -----
    MultiAspectWarning
        If a file judges less than 95 % of the pairs above the lowest relevance grade, or
        less than 95 % of its pairs are judged on relevance: the pairs that lack a label count
        as the lowest grade. A file that judges only relevant documents is not reported.

    See Also
    --------
    read_run : Read a system's run.

    Examples
    --------
    >>> from io import StringIO
    >>> from pt_multiaspect.io import read_qrels
    >>> topical, plain = StringIO("q1 0 d1 2\\nq1 0 d2 0"), StringIO("q1 0 d1 3")
    >>> read_qrels({"relevance": topical, "understandability": plain})
      qid docno  label  understandability
    0  q1    d1      2                3.0
    1  q1    d2      0                NaN

    >>> read_qrels(StringIO("q1 0 d1 2 0"), aspects=["relevance", "understandability"])
      qid docno  label  understandability
    0  q1    d1      2                  0
    """
    if isinstance(source, Mapping):
        if aspects is not None:
            raise MultiAspectError(
                "aspects= names the label columns of a single file, but a mapping was given, "
                f"which names them itself: {choices(source)}"
            )
        columns = _label_columns(source)
        files = [_read_labels(source[aspect], {aspect: columns[aspect]}) for aspect in columns]
        if check:
            _check_files([_AspectFile(aspect, *file) for aspect, file in zip(columns, files, strict=True)])
        frames = [frame for _, frame in files]
    else:
        columns = _label_columns(["relevance"] if aspects is None else aspects)
        frames = [_read_labels(source, columns)[1]]
    qrels = frames[0] if len(frames) == 1 else _join(frames)
    for column in columns.values():
        labels = qrels[column].to_numpy()
        if np.all(_is_whole(labels)):
            qrels[column] = labels.astype(np.int64)
    return qrels


def read_run(source: Source) -> pd.DataFrame:
    """Read a run in TREC format, ready to be a system in ``pt.Experiment``.

    Parameters
    ----------
    source : path or open file
        Lines ``qid Q0 docno rank score tag``, separated by blanks or tabs;
        gzip is recognised by content, text is UTF-8, blank lines are skipped.

    Returns
    -------
    pandas.DataFrame
        The columns ``qid docno rank score name`` that ``pt.io.read_results``
        gives, in the file's order. Ids and ``name`` (the tag) are strings,
        ``rank`` is int64 and ``score`` float64. The rank is the file's own:
        evaluation orders by score.

    Raises
    ------
    MultiAspectError
        For a file that is missing, empty or not text, and for a malformed
        line: wrong number of fields, a rank that is not a whole number, a
        score that is no number or is ``nan``.

    See Also
    --------
    read_qrels : Read the judgments.

    Examples
    --------
    >>> from io import StringIO
    >>> from pt_multiaspect.io import read_run
    >>> read_run(StringIO("q1 Q0 d7 1 12.5 bm25\\nq1 Q0 d3 2 1e-3 bm25"))
      qid docno  rank   score  name
    0  q1    d7     1  12.500  bm25
    1  q1    d3     2   0.001  bm25
    """
    rows = _parse(_load(source), _RUN).astype({"rank": np.int64})
    return rows[["qid", "docno", "rank", "score", "name"]]


# --- what a line looks like ---------------------------------------------------------------


def _is_whole(values: Floats) -> npt.NDArray[np.bool_]:
    # Beyond 2**53 neighbouring integers share a float64, so "whole" would mean nothing.
    whole: npt.NDArray[np.bool_] = (np.abs(values) <= 2.0**53) & (np.floor(values) == values)
    return whole


@dataclass(frozen=True)
class _Number:
    """What a numeric field may hold."""

    expected: str
    accepts: Callable[[Floats], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class _Layout:
    """The fields of a line: `ids` and `numbers` by position, all others are passed over."""

    fields: tuple[str, ...]
    ids: Mapping[int, str]
    numbers: Mapping[int, tuple[str, _Number]]
    hint: str = ""

    def __str__(self) -> str:
        return " ".join(self.fields)


_LABEL = _Number("a finite number (or nan for no judgment)", lambda values: ~np.isinf(values))
_RUN = _Layout(
    fields=("qid", "Q0", "docno", "rank", "score", "tag"),
    ids={0: "qid", 2: "docno", 5: "name"},
    numbers={
        3: ("rank", _Number("a whole number", _is_whole)),
        4: ("score", _Number("a number other than nan", lambda values: ~np.isnan(values))),
    },
)


def _label_columns(aspects: Iterable[str]) -> dict[str, str]:
    """Give each aspect its column, or say why the names cannot be used."""
    if isinstance(aspects, str) or not isinstance(aspects, Iterable):
        raise MultiAspectError(f"aspects: expected a list of names, got {aspects!r}")
    columns: dict[str, str] = {}
    for aspect in aspects:
        if not isinstance(aspect, str) or not aspect.strip():
            raise MultiAspectError(f"aspects: a name is a non-empty string, got {aspect!r}")
        if aspect in IDENTIFIERS:
            raise MultiAspectError(
                f"aspects: {aspect!r} identifies a judgment and cannot name an aspect; "
                f"taken are {choices(IDENTIFIERS)}"
            )
        column = "label" if aspect == "relevance" else aspect
        if column in columns.values():
            first = next(name for name, taken in columns.items() if taken == column)
            raise MultiAspectError(f"aspects: {first!r} and {aspect!r} both become the column {column!r}")
        columns[aspect] = column
    if not columns:
        raise MultiAspectError("aspects: none given; expected at least one name, such as 'relevance'")
    return columns


# --- from file to columns -----------------------------------------------------------------


@dataclass(frozen=True)
class _Text:
    """A file's bytes, known to be UTF-8 without NUL, ending in a newline."""

    name: str
    data: bytes

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Give number, line and fields of every line that is not blank."""
        first = self.data.count(b"\n", 0, start) + 1
        for number, line in enumerate(self.data[start:end].split(b"\n"), first):
            if fields := line.split():
                yield number, line, fields

    def blocks(self) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", min(start + _BLOCK, len(self.data) - 1)) + 1
            yield start, end
            start = end


def _load(source: Source) -> _Text:
    name, data = _read_bytes(source)
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise MultiAspectError(f"{name}: a damaged gzip file: {error}") from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MultiAspectError(
            f"{name}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x}); "
            "expected a TREC file in UTF-8, plain or gzip"
        ) from error
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise MultiAspectError(
            f"{name}:{line}: binary data (a NUL byte); expected a TREC file in UTF-8, plain or gzip"
        )
    return _Text(name, data if data.endswith(b"\n") else data + b"\n")


def _read_bytes(source: Any) -> tuple[str, bytes]:
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        name = name if isinstance(name, str) else f"<{type(source).__name__}>"
    elif isinstance(source, str | os.PathLike):
        name = os.fsdecode(source)
    else:
        raise MultiAspectError(f"expected a path or an open file, got {type(source).__name__}")
    try:
        if hasattr(source, "read"):
            content = source.read()
        else:
            with open(os.path.expanduser(name), "rb") as file:
                content = file.read()
    except FileNotFoundError as error:
        raise MultiAspectError(f"{name}: no such file") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise MultiAspectError(f"{name}: cannot be read: {reason}") from error
    # A lone surrogate is let through here: it is no UTF-8 either, and is reported as such.
    return name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(content)


class _Strings(dict[bytes, str]):
    """Decodes ids, giving the same object for the same id."""

    def __missing__(self, key: bytes) -> str:
        self[key] = text = key.decode("utf-8")
        return text


def _parse(text: _Text, layout: _Layout) -> pd.DataFrame:
    # Python's own split and float: as fast here as pandas.read_csv, the same in every
    # version of pandas, and without its readings of "NA", "True", quotes and short lines.
    strings = _Strings()
    ids: dict[str, list[str]] = {column: [] for column in layout.ids.values()}
    numbers: dict[str, list[Floats]] = {column: [] for column, _ in layout.numbers.values()}
    for start, end in text.blocks():
        fields, values = _split_block(text, layout, start, end)
        for position, column in layout.ids.items():
            ids[column].extend(map(strings.__getitem__, fields[position]))
        for column, converted in values.items():
            numbers[column].append(converted)
    if not ids["qid"]:
        raise MultiAspectError(f"{text.name}: the file is empty; expected lines `{layout}`")
    return pd.DataFrame({**ids, **{column: np.concatenate(parts) for column, parts in numbers.items()}})


def _split_block(text: _Text, layout: _Layout, start: int, end: int) -> tuple[list[list[bytes]], dict[str, Floats]]:
    """Split whole lines into columns, and raise for the first malformed line."""
    width = len(layout.fields)
    rows = text.data.count(b"\n", start, end)
    # NUL does not occur in the data, so it can mark the ends of lines among the fields: one
    # split then serves the whole block, and the marks show whether all lines are as they should.
    pieces = text.data[start:end].replace(b"\n", b" \0 ").split()
    if len(pieces) == rows * (width + 1) and pieces[width :: width + 1] == [b"\0"] * rows:
        fields = [pieces[position :: width + 1] for position in range(width)]
        values = _convert(fields, layout)
        if values is not None:
            return fields, values
    good = []
    for number, line, found in text.lines(start, end):
        _check_line(text.name, number, line, found, layout)
        good.append(found)
    fields = [list(column) for column in zip(*good, strict=True)] or [[] for _ in range(width)]
    values = _convert(fields, layout)
    assert values is not None  # every line has just been checked by the same rule
    return fields, values


def _convert(fields: Sequence[Sequence[bytes]], layout: _Layout) -> dict[str, Floats] | None:
    """Convert the numeric columns, or give None if some value is not acceptable."""
    values = {}
    for position, (column, number) in layout.numbers.items():
        converted = _floats(fields[position], number)
        if converted is None:
            return None
        values[column] = converted
    return values


def _floats(fields: Sequence[bytes], number: _Number) -> Floats | None:
    try:
        values = np.fromiter(map(float, fields), np.float64, len(fields))
    except ValueError:
        return None
    # float() also reads Python's 1_000, which no other tool takes for a number.
    return None if b"_" in b"".join(fields) or not np.all(number.accepts(values)) else values


def _check_line(name: str, number: int, line: bytes, found: list[bytes], layout: _Layout) -> None:
    width = len(layout.fields)
    if len(found) != width:
        hint = layout.hint if len(found) > width else ""
        raise MultiAspectError(
            f"{name}:{number}: {len(found)} {'field' if len(found) == 1 else 'fields'} "
            f"where {width} were expected ({layout}): {_excerpt(line)}{hint}"
        )
    for position, (column, kind) in layout.numbers.items():
        if _floats([found[position]], kind) is None:
            raise MultiAspectError(
                f"{name}:{number}: {column} is {_excerpt(found[position])} where {kind.expected} was "
                f"expected (query {_excerpt(found[0])}, document {_excerpt(found[2])}): {_excerpt(line)}"
            )


def _excerpt(piece: bytes, limit: int = 80) -> str:
    text = piece.decode("utf-8").strip()
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


# --- judgments ----------------------------------------------------------------------------


#: Below this fraction of common pairs, two files are unlikely to judge the same pool.
_MOST_PAIRS = 0.95


@dataclass(frozen=True, eq=False)
class _AspectFile:
    """The judgments of one file on one aspect."""

    aspect: str
    name: str
    frame: pd.DataFrame

    def __str__(self) -> str:
        return f"{self.name} ({self.aspect})"

    @property
    def judged(self) -> pd.DataFrame:
        """The rows that have a label."""
        return self.frame[self.frame.iloc[:, 2].notna()]

    def samples(self, columns: Sequence[str]) -> str:
        """The first ids of the file."""
        rows = self.judged[list(columns)].drop_duplicates().head(3)
        return choices("/".join(row) for row in rows.itertuples(index=False)) + (" …" if len(rows) == 3 else "")


def _check_files(files: Sequence[_AspectFile]) -> None:
    """Refuse files that judge other pairs than the one of relevance (or the first); warn if many differ."""
    first = next((file for file in files if file.aspect in ("relevance", "label")), files[0])
    for other in files:
        if other is not first:
            _check_common(first, other)


def _check_common(first: _AspectFile, other: _AspectFile) -> None:
    rows = pd.concat([file.judged[["qid", "docno"]] for file in (first, other)], ignore_index=True)
    queries, pairs = _codes(rows)
    size = len(first.judged)
    for codes, columns, what in ((queries, ["qid"], "query"), (pairs, ["qid", "docno"], "(query, document) pair")):
        if not np.isin(codes[size:], codes[:size]).any():
            raise MultiAspectError(
                f"{first} and {other} have no {what} in common: {first.samples(columns)} against "
                f"{other.samples(columns)}. Check that the files are of the same collection and spell the ids "
                "alike, or pass check=False to read them all the same"
            )
    labels = first.judged.iloc[:, 2].to_numpy()
    distinct = np.unique(np.maximum(labels, 0))
    # A file of positives alone has one label, which is above the lowest grade.
    lowest = distinct[0] if len(distinct) > 1 else 0.0
    mine, others = pairs[:size], pairs[size:]
    for common, judge, whose, aspect in (
        (np.isin(mine[labels > lowest], others), other, f"above the lowest grade of {first}", other),
        (np.isin(others, mine), first, f"of {other}", first),
    ):
        if len(common) and common.mean() < _MOST_PAIRS:
            warn_once(
                f"{judge} judges only {int(common.sum())} of the {len(common)} pairs ({common.mean():.0%}) {whose}"
                f"; the others count as the lowest grade of {aspect.aspect}. Check that the files are of the same "
                "collection and spell the ids alike, or pass check=False if they are"
            )


def _read_labels(source: Source, columns: Mapping[str, str]) -> tuple[str, pd.DataFrame]:
    """Read the name and the rows of a file with a label column for each aspect; labels stay float64."""
    layout = _Layout(
        fields=("qid", "iteration", "docno", *(["label"] if len(columns) == 1 else columns)),
        ids={0: "qid", 2: "docno"},
        numbers={position: (aspect, _LABEL) for position, aspect in enumerate(columns, 3)},
        hint="; name the label columns of one file by aspects=[…]" if len(columns) == 1 else "",
    )
    text = _load(source)
    rows = _parse(text, layout)
    pair = ["qid", "docno"]
    if rows.duplicated(pair).any():
        rows = rows.drop_duplicates()
        conflicting = rows.duplicated(pair)
        if conflicting.any():
            _refuse_conflict(text, rows, int(rows.index[conflicting][0]), list(columns))
        rows = rows.reset_index(drop=True)
    return text.name, rows.rename(columns=dict(columns))


def _refuse_conflict(text: _Text, rows: pd.DataFrame, second: int, aspects: list[str]) -> None:
    qid, docno = rows.at[second, "qid"], rows.at[second, "docno"]
    first = int(rows.index[(rows["qid"] == qid) & (rows["docno"] == docno)][0])
    position = 3 + next(
        place for place, aspect in enumerate(aspects) if rows[aspect].loc[[first, second]].nunique(dropna=False) > 1
    )
    # Only now are line numbers needed; rows are the lines that are not blank.
    lines = [line for row, line in enumerate(text.lines()) if row in (first, second)]
    (number, _, fields), (later, _, later_fields) = lines
    raise MultiAspectError(
        f"{text.name}:{later}: {aspects[position - 3]} of query {_excerpt(fields[0])}, document "
        f"{_excerpt(fields[2])} is {later_fields[position].decode()} here and "
        f"{fields[position].decode()} on line {number}"
    )


def _codes(pairs: pd.DataFrame) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give equal queries, and equal pairs of query and document, equal numbers."""
    queries = pd.factorize(pairs["qid"])[0].astype(np.int64)
    documents = pd.factorize(pairs["docno"])[0]
    return queries, queries * (int(documents.max(initial=0)) + 1) + documents


def _join(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Join on (qid, docno), keeping every pair, in order of first appearance."""
    # By integer codes: pandas' outer merge sorts by the keys, and takes several times as long.
    pairs = pd.concat([frame[["qid", "docno"]] for frame in frames], ignore_index=True)
    codes, distinct = pd.factorize(_codes(pairs)[1])
    columns: dict[str, Floats] = {}
    start = 0
    for frame in frames:
        mine = codes[start : start + len(frame)]
        start += len(frame)
        for column in frame.columns[2:]:
            columns[column] = np.full(len(distinct), np.nan)
            columns[column][mine] = frame[column].to_numpy()
    joined = pairs.loc[~pd.Series(codes).duplicated()].reset_index(drop=True)
    return joined.assign(**columns)
