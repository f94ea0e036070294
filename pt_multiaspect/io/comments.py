"""Comments: lines that begin with #, which trec_eval skips in qrels and runs."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import MultiAspectError, tally, warn_once
from .file_contents import Text
from .trec_lines import LineFormat, excerpt, is_line

#: A comment without its newline.
_COMMENT = re.compile(rb"^[ \t]*#.*$", re.MULTILINE)

#: The beginning of a line that is neither a comment nor blank.
_ROW = re.compile(rb"^[ \t\r]*[^ \t\r\n#]", re.MULTILINE)

#: The lines around the ir_metadata header of a run (Breuer et al. 2022).
_HEADER_START = re.compile(rb"^# ?ir_metadata\.start[ \t\r]*\n", re.MULTILINE)
_HEADER_END = re.compile(rb"^# ?ir_metadata\.end[ \t\r]*\n", re.MULTILINE)


def skip_leading_comments(text: Text) -> Text:
    """Return the text from the first line on that is no comment."""
    end = _end_of_leading_comments(text)
    if end == 0:
        return text
    return text.starting_at(end)


def _end_of_leading_comments(text: Text) -> int:
    """Return the position of the first line that is no comment and not blank, else the end."""
    first_row = _ROW.search(text.data)
    if first_row is None:
        return len(text.data)
    return first_row.start()


class _Span(NamedTuple):
    """The first position of a comment, and the position after it."""

    start: int
    end: int


def skip_comments(text: Text, layout: LineFormat) -> Text:
    """Return the text with blank lines in place of comments, so that lines keep their numbers.

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
    comments = [_Span(*match.span()) for match in _COMMENT.finditer(text.data)]
    if not comments:
        return text
    _check_comments(text, comments, layout)
    # What is between comments. The newline of a comment is not part of its span, and stays.
    pieces_between: list[bytes] = []
    end_of_previous = 0
    for comment in comments:
        pieces_between.append(text.data[end_of_previous : comment.start])
        end_of_previous = comment.end
    pieces_between.append(text.data[end_of_previous:])
    # `n_before` is the number of lines that were left out before the text, for line numbers.
    without_comments = Text(text.name, b"".join(pieces_between), text.n_before)
    # Readers look at the first line, which must not be blank.
    return _skip_leading_newlines(without_comments)


def _skip_leading_newlines(text: Text) -> Text:
    """Return the text from the first line on that is not empty."""
    after_newlines = text.data.lstrip(b"\n")
    n_newlines = len(text.data) - len(after_newlines)
    if n_newlines == 0:
        return text
    return text.starting_at(n_newlines)


def _check_comments(text: Text, comments: list[_Span], layout: LineFormat) -> None:
    """Warn of comments that may be lines; raise an error for a header of ir_metadata."""
    possible_lines: list[_Span] = []
    for comment in comments:
        content = text.data[comment.start : comment.end]
        if _HEADER_START.match(content + b"\n") is not None:
            line_number = text.line_number(comment.start)
            raise MultiAspectError(
                f"{text.name}:{line_number}: expected the header of ir_metadata before the rows"
            )
        # A query id may begin with #. A first field of # alone begins a comment.
        fields = content.split()
        begins_with_word = fields[0].strip(b"#") != b""
        if begins_with_word and is_line(fields, layout):
            possible_lines.append(comment)
    if possible_lines:
        _warn_of_possible_lines(text, possible_lines, layout)


def _warn_of_possible_lines(text: Text, comments: list[_Span], layout: LineFormat) -> None:
    """Warn that comments which have the fields of a line are skipped."""
    first = comments[0]
    line_number = text.line_number(first.start)
    content = excerpt(text.data[first.start : first.end])
    how_often = tally(len(comments), "line")
    warn_once(
        f"{text.name}:{line_number}: a line that begins with #, and has the fields `{layout}`, "
        f"{content}, is skipped as a comment {how_often}, as "
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
    # A header is one of the comments before the rows.
    start = _HEADER_START.search(text.data, 0, _end_of_leading_comments(text))
    if start is None:
        return None, text
    end = _HEADER_END.search(text.data, start.end())
    if end is None:
        line_number = text.line_number(start.start())
        raise MultiAspectError(
            f"{text.name}:{line_number}: the header begins with # ir_metadata.start, but no line # "
            "ir_metadata.end follows"
        )
    header = text.data[start.end() : end.start()].decode()
    rows = text.starting_at(end.end())
    return _uncomment(header), rows


def _uncomment(header: str) -> str:
    """Return the lines of a header without their ``# ``."""
    content = ""
    for line in header.splitlines():
        uncommented = line.removeprefix("#").removeprefix(" ").rstrip()
        content += f"{uncommented}\n"
    return content
