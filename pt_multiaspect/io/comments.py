"""Comments: lines that begin with #, which trec_eval skips in qrels and runs."""

from __future__ import annotations

import re

from ..errors import MultiAspectError, tally, warn_once
from .file_contents import Text
from .trec_lines import LineFormat, excerpt, is_line

_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)

#: The beginning of a line that is neither a comment nor blank.
_ROW = re.compile(rb"^[ \t\r]*[^ \t\r\n#]", re.MULTILINE)

#: The lines around the header of a run (Breuer et al. 2022).
_START = re.compile(rb"^# ?ir_metadata\.start[ \t\r]*\n", re.MULTILINE)
_END = re.compile(rb"^# ?ir_metadata\.end[ \t\r]*\n", re.MULTILINE)


def skip_leading_comments(text: Text) -> Text:
    """Return the text from the first line on that is no comment."""
    end = _end_of_leading_comments(text)
    if end:
        return text.rest(end)
    return text


def _end_of_leading_comments(text: Text) -> int:
    """Return the position of the first line that is no comment and not blank, else the end."""
    first = _ROW.search(text.data)
    if first is None:
        return len(text.data)
    return first.start()


def skip_comments(text: Text, layout: LineFormat) -> Text:
    """Return the text without comments; its lines keep their numbers.

    Parameters
    ----------
    text : Text
        The content of a file.
    layout : LineFormat
        The fields of its lines.

    Raises
    ------
    MultiAspectError
        If a comment is the header of ir_metadata, which belongs before the rows.

    Warns
    -----
    MultiAspectWarning
        If a line that begins with # has the fields of the layout, so that it may be none.
    """
    if b"#" not in text.data:
        return text
    comments = [match.span() for match in _COMMENT.finditer(text.data)]
    if not comments:
        return text
    _check_comments(text, comments, layout)
    pieces, end = [], 0
    for start, stop in comments:
        pieces.append(text.data[end:start])
        end = stop
    pieces.append(text.data[end:])
    without = Text(text.name, b"".join(pieces), text.n_before)
    n_blank = len(without.data) - len(without.data.lstrip(b"\n"))
    if n_blank:
        return without.rest(n_blank)
    return without


def _check_comments(text: Text, comments: list[tuple[int, int]], layout: LineFormat) -> None:
    """Warn of comments that may be lines; raise an error for a header of ir_metadata."""
    doubtful: list[int] = []
    for start, stop in comments:
        line = text.data[start:stop]
        if _START.match(line + b"\n") is not None:
            raise MultiAspectError(
                f"{text.name}:{text.line_number(start)}: expected the header of ir_metadata before "
                "the rows"
            )
        fields = line.split()
        if fields[0].strip(b"#") and is_line(fields, layout):
            doubtful.append(start)
    if doubtful:
        number = text.line_number(doubtful[0])
        line = text.data[doubtful[0] :].partition(b"\n")[0]
        warn_once(
            f"{text.name}:{number}: a line that begins with #, and has the fields `{layout}`, "
            f"{excerpt(line)}, is skipped as a comment {tally(len(doubtful), 'line')}, as "
            "trec_eval does. If it is none, rename the query; otherwise, write a blank after #"
        )


def split_metadata(text: Text) -> tuple[str | None, Text]:
    """Split a run into the YAML of its ir_metadata header (None without one) and its rows.

    Raises
    ------
    MultiAspectError
        If the header has no end.
    """
    if not text.data.startswith(b"#"):
        return None, text
    start = _START.search(text.data, 0, _end_of_leading_comments(text))
    if start is None:
        return None, text
    end = _END.search(text.data, start.end())
    if end is None:
        number = text.line_number(start.start())
        raise MultiAspectError(
            f"{text.name}:{number}: the header begins with # ir_metadata.start, but no line # "
            "ir_metadata.end follows"
        )
    header = text.data[start.end() : end.start()].decode()
    metadata = ""
    for line in header.splitlines():
        yaml = line.removeprefix("#").removeprefix(" ").rstrip()
        metadata += f"{yaml}\n"
    return metadata, text.rest(end.end())
