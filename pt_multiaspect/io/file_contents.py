"""Contents of files: read, decompressed, and checked to be text."""

from __future__ import annotations

import bz2
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, TypeAlias

from ..errors import MultiAspectError

#: Bytes decompressed at once.
_BLOCK = 1 << 22

#: Number of bytes by which `read_head` recognises a file.
_HEAD = 1 << 12


class Content(NamedTuple):
    """The content of a file, decompressed, and its name."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Text:
    """The bytes of a file, which are valid UTF-8 and end in a newline."""

    name: str
    data: bytes
    #: Number of lines of the file before this text.
    n_before: int = 0

    def line_number(self, position: int) -> int:
        """Return the line number in the file at a position of the data."""
        return self.n_before + self.data.count(b"\n", 0, position) + 1

    def lines(
        self, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Yield number, line and fields of every line that is not blank."""
        for number, line in enumerate(self.data[start:end].split(b"\n"), self.line_number(start)):
            if fields := line.split():
                yield number, line, fields

    def rest(self, end: int) -> Text:
        """Return the text from a position on, the beginning of a line."""
        return Text(self.name, self.data[end:] or b"\n", self.line_number(end) - 1)

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of blocks of whole lines, of about `size` bytes each."""
        start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", min(start + size, len(self.data) - 1)) + 1
            yield start, end
            start = end


Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes] | Content


def name_in_utf8(name: str) -> str:
    """Return the name of a file in a printable form, also if it is not UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode()


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def load(source: Source) -> Content:
    """Return the content of a file, decompressed, and its name."""
    if isinstance(source, Content):
        return source
    name, data = _read_bytes(source)
    return _content(name, data)


def _content(name: str, data: bytes) -> Content:
    for form, (magic, remedy) in _UNREAD.items():
        if data.startswith(magic):
            if _is_spreadsheet(data):
                form, remedy = "of spreadsheets", "save it as CSV (UTF-8)"
            raise MultiAspectError(
                f"{name}: expected text or Parquet, plain or compressed by {COMPRESSIONS}, got a "
                f"file in the format {form}; {remedy}"
            )
    for form, (magic, decompress) in _COMPRESSED.items():
        if data.startswith(magic):
            return Content(name, _decompress(name, data, form, decompress))
    return Content(name, data)


def _is_spreadsheet(data: bytes) -> bool:
    """Return whether a file was saved by Excel, LibreOffice or Numbers."""
    return any(part in data for part in _SPREADSHEETS)


def read_head(path: str) -> bytes:
    """Return at least the first bytes of a file, nothing if it cannot be read, or not repeatedly.

    Only compressed files of JSON are decompressed, as this takes time.
    """
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        is_compressed = head.startswith(tuple(magic for magic, _ in _COMPRESSED.values()))
        if is_compressed and ".json" in os.path.basename(path):
            return load(path).data
        return head
    except (OSError, MultiAspectError):
        return b""


def as_text(name: str, data: bytes) -> Text:
    """Return the content of a file as text; raise an error if it is not UTF-8."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data.isascii():
        _check_encoding(name, data)
    return Text(name, data if data.endswith(b"\n") else data + b"\n")


def _check_encoding(name: str, data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data.startswith(_PARQUET):
            raise MultiAspectError(
                f"{name}: expected text, got Parquet; write text: pandas.read_parquet(…).to_csv(…, "
                "index=False)"
            ) from error
        line = data.count(b"\n", 0, error.start) + 1
        raise MultiAspectError(
            f"{name}:{line}: not UTF-8 text (byte 0x{data[error.start]:02x}); "
            f"expected text in UTF-8, plain or compressed by {COMPRESSIONS}"
        ) from error
    if _BYTE_ORDER_MARK in data:
        line = data.count(b"\n", 0, data.index(_BYTE_ORDER_MARK)) + 1
        raise MultiAspectError(
            f"{name}:{line}: a byte order mark (U+FEFF) within the text, which would be part of an "
            "id; remove it (files that are joined may each start with one)"
        )


#: Limits of decompressed files: this many bytes, or this many times their size. TREC files expand 5
#: to 50 times.
_EXPANSION_BYTES, _EXPANSION_FACTOR = 1 << 28, 200


def most_bytes(data: bytes) -> int:
    """Return the maximum number of bytes to which a file may expand."""
    return max(_EXPANSION_BYTES, _EXPANSION_FACTOR * len(data))


def expansion(most: int) -> str:
    """Return what a file does that expands to more bytes, for errors."""
    return f"expands to more than {most >> 20} MB, at least {_EXPANSION_FACTOR} times its size"


def _decompress(
    name: str, data: bytes, form: str, parts: Callable[[bytes], Iterator[bytes]]
) -> bytes:
    most = most_bytes(data)
    pieces, size = [], 0
    try:
        for piece in parts(data):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                break
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading {form} files requires the package zstandard, which is part of the "
            "extra compressed: pip install 'pt-multiaspect[compressed]', or decompress the file"
        ) from error
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise MultiAspectError(f"{name}: a damaged {form} file: {error}") from error
    if size > most:
        raise MultiAspectError(
            f"{name}: {expansion(most)}, unlike TREC files; to read it anyway, decompress it"
        )
    return b"".join(pieces)


def _gunzip(data: bytes) -> Iterator[bytes]:
    # Faster than gzip.GzipFile: the library itself reads the headers and verifies the checksums.
    view, start = memoryview(data), 0
    while start < len(data):  # a file may have several members
        member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not member.eof:
            if start == len(data):
                raise EOFError(_ENDS_WITHIN)
            piece = view[start : start + _PIECE]
            yield member.decompress(piece, _BLOCK)
            start += len(piece) - len(member.unconsumed_tail)
        start = _start_of_next(data, start - len(member.unused_data), _GZIP)


def _start_of_next(data: bytes, start: int, magic: bytes) -> int:
    """Return the start of the next member at or after a position, past zeros, or the end.

    Raises
    ------
    ValueError
        If there are other data.
    """
    if data[start : start + 1] == b"\0":
        start = len(data) - len(data[start:].lstrip(b"\0"))
    if start < len(data) and not data.startswith(magic, start):
        raise ValueError(
            f"other data follow the compressed ones, from byte {start + 1} of {len(data)}; remove "
            "them, or copy or download the file again"
        )
    return start


def _bunzip(data: bytes) -> Iterator[bytes]:
    # Not by bz2.BZ2File, which drops without a word what is no stream after the first one.
    return _decompress_streams(data, bz2.BZ2Decompressor, _BZIP2)


def _unxz(data: bytes) -> Iterator[bytes]:
    return _decompress_streams(data, lzma.LZMADecompressor, _XZ)


def _decompress_streams(
    data: bytes, decompressor: Callable[[], Any], magic: bytes
) -> Iterator[bytes]:
    """Yield the content of a file of several streams, each of which begins with the same bytes."""
    view, start = memoryview(data), 0
    while start < len(data):  # a file may have several streams, as those of pbzip2
        stream = decompressor()
        while not stream.eof:
            if start == len(data) and stream.needs_input:
                raise EOFError(_ENDS_WITHIN)
            piece = view[start : start + _PIECE] if stream.needs_input else b""
            yield stream.decompress(piece, _BLOCK)
            start += len(piece)
        start = _start_of_next(data, start - len(stream.unused_data), magic)


def _unzstd(data: bytes) -> Iterator[bytes]:
    import zstandard

    while data:  # a file may have several frames
        frame = zstandard.ZstdDecompressor().decompressobj()
        start = 0
        try:
            # A block of 128 kB is compressed to at least four bytes, so the expanded size of a
            # piece is bounded.
            while not frame.eof and start < len(data):
                yield frame.decompress(data[start : start + _ZSTD_PIECE])
                start += _ZSTD_PIECE
        except zstandard.ZstdError as error:
            raise ValueError(error) from error
        if not frame.eof:
            raise EOFError("the file ends within a frame")
        data = frame.unused_data + data[start:]


#: The first bytes of files and of their members.
_GZIP, _BZIP2, _XZ = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0"

_PARQUET = b"PAR1"

#: Forms that are named in errors: their first bytes, and the remedy.
_UNREAD = {
    "LZ4": (b"\x04\x22\x4d\x18", "decompress it; ranx writes JSON by Run.save('run.json')"),
    "ZIP": (b"PK\x03\x04", "decompress it"),
    "of old versions of Office": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as text"),
    "Feather": (b"FEA1", "write Parquet: pandas.read_feather(…).to_parquet(…)"),
    "Arrow IPC (Feather)": (b"ARROW1", "write Parquet: pandas.read_feather(…).to_parquet(…)"),
    "Arrow stream": (
        b"\xff\xff\xff\xff",
        "write Parquet: pyarrow.ipc.open_stream(…).read_pandas().to_parquet(…)",
    ),
}

#: Names of parts of spreadsheets: .xlsx, .ods, .numbers and .xls.
_SPREADSHEETS = (
    b"xl/workbook",
    b"application/vnd.oasis.opendocument.spreadsheet",
    b"Index/CalculationEngine",
    "Workbook".encode("utf-16-le"),
)

_ENDS_WITHIN = "the file ends within a member; copy or download it again"

#: Number of bytes that are decompressed at once.
_PIECE = 1 << 16
_ZSTD_PIECE = 1 << 8

#: Forms of compression: the first bytes of files, and functions that decompress them piece by
#: piece.
_COMPRESSED: dict[str, tuple[bytes, Callable[[bytes], Iterator[bytes]]]] = {
    "gzip": (_GZIP, _gunzip),
    "bzip2": (_BZIP2, _bunzip),
    "xz": (_XZ, _unxz),
    "Zstandard": (b"\x28\xb5\x2f\xfd", _unzstd),
}

#: The same in errors.
COMPRESSIONS = "gzip, bzip2, xz or Zstandard"


NO_SUCH_FILE = "no such file; check the path and the current directory"


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_bytes(source: Any) -> tuple[str, bytes]:
    path = ""
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        if isinstance(name, str):
            name = name_in_utf8(name)
        else:
            name = f"<{type(source).__name__}>"
    elif isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        name = name_in_utf8(path)
    else:
        raise MultiAspectError(f"expected a path or an open file, got {type(source).__name__}")
    try:
        if hasattr(source, "read"):
            content = source.read()
        else:
            content = _read_file(os.path.expanduser(path))
    except FileNotFoundError as error:
        raise MultiAspectError(f"{name}: {NO_SUCH_FILE}") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise MultiAspectError(f"{name}: cannot be read: {reason}") from error
    # Lone surrogates pass here: they are not UTF-8, and are reported as such.
    return name, content.encode("utf-8", "surrogatepass") if isinstance(content, str) else bytes(
        content
    )
