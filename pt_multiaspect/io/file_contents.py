"""Contents of files: read, decompressed, and checked to be text."""

from __future__ import annotations

import bz2
import io
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


class Line(NamedTuple):
    """A line of a file that is not blank."""

    #: The number of the line in the file.
    number: int
    content: bytes
    #: The parts of the content between white space.
    fields: list[bytes]


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

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[Line]:
        """Yield the lines that are not blank, of the whole text or from a position to another."""
        number = self.line_number(start)
        for content in self.data[start:end].split(b"\n"):
            fields = content.split()
            if fields:
                yield Line(number, content, fields)
            number += 1

    def starting_at(self, position: int) -> Text:
        """Return the text from a position on, which is the beginning of a line or the end."""
        data = self.data[position:]
        n_before = self.line_number(position) - 1
        if not data:
            data = b"\n"  # also an empty text ends in a newline
        return Text(self.name, data, n_before)

    def blocks(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of blocks of whole lines, of about `size` bytes each."""
        last = len(self.data) - 1
        begin = 0
        while begin <= last:
            # A block ends with the first newline after its size; the last byte is a newline.
            search_from = min(begin + size, last)
            end = self.data.find(b"\n", search_from) + 1
            yield begin, end
            begin = end


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
    _refuse_unread_format(name, data)
    for compression in _COMPRESSION_FORMATS:
        if data.startswith(compression.first_bytes):
            return Content(name, _decompress(name, data, compression))
    return Content(name, data)


def _refuse_unread_format(name: str, data: bytes) -> None:
    """Raise an error for formats that are known but not read; it says how to convert the file."""
    for unread in _UNREAD_FORMATS:
        if not data.startswith(unread.first_bytes):
            continue
        form = unread.name
        remedy = unread.remedy
        # Spreadsheets are ZIP files, or files of old versions of Office.
        if _is_spreadsheet(data):
            form = "of spreadsheets"
            remedy = "save it as CSV (UTF-8)"
        raise MultiAspectError(
            f"{name}: expected text or Parquet, plain or compressed by {COMPRESSIONS}, got a "
            f"file in the format {form}; {remedy}"
        )


def _is_spreadsheet(data: bytes) -> bool:
    """Return whether a file was saved by Excel, LibreOffice or Numbers."""
    return any(part in data for part in _SPREADSHEETS)


def read_head(path: str) -> bytes:
    """Return at least the first bytes of a file, nothing if it cannot be read, or not repeatedly.

    Only compressed files of JSON are decompressed, as this takes time.
    """
    # Anything else, such as a pipe, can be read only once.
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD)
        if _is_compressed(head) and ".json" in os.path.basename(path):
            return load(path).data
        return head
    except (OSError, MultiAspectError):
        return b""


def _is_compressed(data: bytes) -> bool:
    """Return whether a file begins like those of a compression that is read."""
    return any(data.startswith(compression.first_bytes) for compression in _COMPRESSION_FORMATS)


def as_text(name: str, data: bytes) -> Text:
    """Return the content of a file as text; raise an error if it is not UTF-8."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data.isascii():
        _check_encoding(name, data)
    if not data.endswith(b"\n"):
        data += b"\n"
    return Text(name, data)


def _check_encoding(name: str, data: bytes) -> None:
    """Raise an error for bytes that are not UTF-8, or that contain a byte order mark."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8_error(name, data, error.start) from error
    if _BYTE_ORDER_MARK in data:
        position = data.index(_BYTE_ORDER_MARK)
        line_number = data.count(b"\n", 0, position) + 1
        raise MultiAspectError(
            f"{name}:{line_number}: a byte order mark (U+FEFF) within the text, which would be "
            "part of an id; remove it (files that are joined may each start with one)"
        )


def _not_utf8_error(name: str, data: bytes, position: int) -> MultiAspectError:
    """Return the error for a file whose byte at a position is not UTF-8."""
    if data.startswith(_PARQUET):
        return MultiAspectError(
            f"{name}: expected text, got Parquet; write text: pandas.read_parquet(…).to_csv(…, "
            "index=False)"
        )
    line_number = data.count(b"\n", 0, position) + 1
    hexadecimal = f"0x{data[position]:02x}"
    return MultiAspectError(
        f"{name}:{line_number}: not UTF-8 text (byte {hexadecimal}); "
        f"expected text in UTF-8, plain or compressed by {COMPRESSIONS}"
    )


#: Limits of decompressed files: this many bytes, or this many times their size. TREC files expand 5
#: to 50 times.
_EXPANSION_BYTES = 1 << 28
_EXPANSION_FACTOR = 200


def expansion_limit(data: bytes) -> int:
    """Return the maximum number of bytes to which a file may expand."""
    return max(_EXPANSION_BYTES, _EXPANSION_FACTOR * len(data))


def expansion_fault(limit: int) -> str:
    """Return what a file does that expands to more bytes than the limit, for errors."""
    megabytes = limit >> 20
    return f"expands to more than {megabytes} MB, at least {_EXPANSION_FACTOR} times its size"


class _Compression(NamedTuple):
    """A form of compression."""

    name: str
    #: The first bytes of files.
    first_bytes: bytes
    #: Yields the decompressed content of a file piece by piece.
    decompress: Callable[[bytes], Iterator[bytes]]


def _decompress(name: str, data: bytes, compression: _Compression) -> bytes:
    """Return the decompressed content of a file.

    Raises
    ------
    MultiAspectError
        If the file is damaged or expands too much, or a package is missing.
    """
    limit = expansion_limit(data)
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in compression.decompress(data):
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                break
    except ImportError as error:
        raise MultiAspectError(
            f"{name}: reading {compression.name} files requires the package zstandard, which is "
            "part of the extra compressed: pip install 'pt-multiaspect[compressed]', or decompress "
            "the file"
        ) from error
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise MultiAspectError(f"{name}: a damaged {compression.name} file: {error}") from error
    if size > limit:
        fault = expansion_fault(limit)
        raise MultiAspectError(
            f"{name}: {fault}, unlike TREC files; to read it anyway, decompress it"
        )
    return b"".join(pieces)


def _gunzip(data: bytes) -> Iterator[bytes]:
    """Yield the content of a gzip file, which may have several members one after the other.

    This is faster than `gzip.GzipFile`: zlib itself reads the headers and verifies the checksums.
    """
    file = io.BytesIO(data)
    while file.tell() < len(data):
        member = zlib.decompressobj(wbits=_GZIP_WBITS)
        while not member.eof:
            # A piece that expands to more than a block is decompressed in part. The next part comes
            # from its tail, and the next piece only after this.
            piece = member.unconsumed_tail
            if not piece:
                piece = _read_piece(file, _PIECE, _ENDS_WITHIN)
            yield member.decompress(piece, _BLOCK)
        _go_to_next(file, data, member.unused_data, _GZIP)


def _read_piece(file: io.BytesIO, size: int, end_error: str) -> bytes:
    """Return the next bytes of a file, at most `size`; raise an error if it has ended."""
    piece = file.read(size)
    if not piece:
        raise EOFError(end_error)
    return piece


def _go_to_next(file: io.BytesIO, data: bytes, unused_data: bytes, first_bytes: bytes) -> None:
    """Go to the next member of a file, or to its end.

    Parameters
    ----------
    file : BytesIO
        The file, after the last piece that was read for a member.
    data : bytes
        The content of the file.
    unused_data : bytes
        The bytes of that piece that follow the member.
    first_bytes : bytes
        What members begin with.
    """
    end_of_member = file.tell() - len(unused_data)
    file.seek(_next_member(data, end_of_member, first_bytes))


def _next_member(data: bytes, end: int, first_bytes: bytes) -> int:
    """Return the start of the member after the one that ends at `end`, or the end of the file.

    Raises
    ------
    ValueError
        If other data than zeros and members follow.
    """
    start = end
    # A file may be filled with zeros at its end, as on tapes.
    if data[end : end + 1] == b"\0":
        after_zeros = data[end:].lstrip(b"\0")
        start = len(data) - len(after_zeros)
    is_end = start == len(data)
    if is_end or data.startswith(first_bytes, start):
        return start
    raise ValueError(
        f"other data follow the compressed ones, from byte {start + 1} of {len(data)}; remove "
        "them, or copy or download the file again"
    )


def _bunzip(data: bytes) -> Iterator[bytes]:
    # Not by bz2.BZ2File, which drops without a word what is no stream after the first one.
    return _decompress_streams(data, bz2.BZ2Decompressor, _BZIP2)


def _unxz(data: bytes) -> Iterator[bytes]:
    return _decompress_streams(data, lzma.LZMADecompressor, _XZ)


def _decompress_streams(
    data: bytes, decompressor: Callable[[], Any], first_bytes: bytes
) -> Iterator[bytes]:
    """Yield the content of a file of one or several streams, as those of pbzip2.

    Each stream begins with `first_bytes` and needs a new decompressor.
    """
    file = io.BytesIO(data)
    while file.tell() < len(data):
        stream = decompressor()
        while not stream.eof:
            # A piece that expands to more than a block is decompressed in part. The stream keeps
            # the rest, and needs no other input until it has returned all of it.
            if stream.needs_input:
                piece = _read_piece(file, _PIECE, _ENDS_WITHIN)
            else:
                piece = b""
            yield stream.decompress(piece, _BLOCK)
        _go_to_next(file, data, stream.unused_data, first_bytes)


def _unzstd(data: bytes) -> Iterator[bytes]:
    """Yield the content of a Zstandard file, which may have several frames one after the other."""
    import zstandard

    file = io.BytesIO(data)
    while file.tell() < len(data):
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            while not frame.eof:
                # Pieces are small, as zstandard has no limit of their expanded size. A block of
                # 128 kB is compressed to at least four bytes, so the size is bounded.
                piece = _read_piece(file, _ZSTD_PIECE, "the file ends within a frame")
                yield frame.decompress(piece)
        except zstandard.ZstdError as error:
            raise ValueError(error) from error
        # The last piece may contain the beginning of the next frame: it is read again.
        file.seek(-len(frame.unused_data), os.SEEK_CUR)


#: The first bytes of files and of their members.
_GZIP = b"\x1f\x8b"
_BZIP2 = b"BZh"
_XZ = b"\xfd7zXZ\0"
_ZSTD = b"\x28\xb5\x2f\xfd"

_PARQUET = b"PAR1"

#: The option of zlib for headers of gzip.
_GZIP_WBITS = 16 + zlib.MAX_WBITS


class _UnreadFormat(NamedTuple):
    """A format that is named in errors."""

    name: str
    first_bytes: bytes
    remedy: str


_UNREAD_FORMATS = (
    _UnreadFormat(
        "LZ4", b"\x04\x22\x4d\x18", "decompress it; ranx writes JSON by Run.save('run.json')"
    ),
    _UnreadFormat("ZIP", b"PK\x03\x04", "decompress it"),
    _UnreadFormat(
        "of old versions of Office", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as text"
    ),
    _UnreadFormat("Feather", b"FEA1", "write Parquet: pandas.read_feather(…).to_parquet(…)"),
    _UnreadFormat(
        "Arrow IPC (Feather)", b"ARROW1", "write Parquet: pandas.read_feather(…).to_parquet(…)"
    ),
    _UnreadFormat(
        "Arrow stream",
        b"\xff\xff\xff\xff",
        "write Parquet: pyarrow.ipc.open_stream(…).read_pandas().to_parquet(…)",
    ),
)

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

_COMPRESSION_FORMATS = (
    _Compression("gzip", _GZIP, _gunzip),
    _Compression("bzip2", _BZIP2, _bunzip),
    _Compression("xz", _XZ, _unxz),
    _Compression("Zstandard", _ZSTD, _unzstd),
)

#: The same in errors.
COMPRESSIONS = "gzip, bzip2, xz or Zstandard"


NO_SUCH_FILE = "no such file; check the path and the current directory"


def _read_bytes(source: Any) -> tuple[str, bytes]:
    """Return the name and the content of a file, which is given by its path or open."""
    if hasattr(source, "read"):
        name = _name_of_open_file(source)
    elif isinstance(source, str | os.PathLike):
        name = name_in_utf8(os.fsdecode(source))
    else:
        raise MultiAspectError(f"expected a path or an open file, got {type(source).__name__}")
    try:
        content = _read_content(source)
    except FileNotFoundError as error:
        raise MultiAspectError(f"{name}: {NO_SUCH_FILE}") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise MultiAspectError(f"{name}: cannot be read: {reason}") from error
    if isinstance(content, str):
        # Lone surrogates pass here: they are not UTF-8, and are reported as such.
        return name, content.encode("utf-8", "surrogatepass")
    return name, bytes(content)


def _name_of_open_file(file: Any) -> str:
    """Return the name of an open file for errors, such as ``<StringIO>`` if it has none."""
    name = getattr(file, "name", None)
    if isinstance(name, str):
        return name_in_utf8(name)
    return f"<{type(file).__name__}>"


def _read_content(source: Any) -> Any:
    """Return the text or bytes of a file, which is given by its path or open."""
    if hasattr(source, "read"):
        return source.read()
    path = os.path.expanduser(os.fsdecode(source))
    with open(path, "rb") as file:
        return file.read()
