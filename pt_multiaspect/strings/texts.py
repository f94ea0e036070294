"""Columns of strings as UTF-8 bytes in one buffer.

They are hashed, compared and sorted without an object per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._cached import cached_property
from .._typing import Bools, Ints, Objects
from ..errors import refuse_surrogates
from ..kernels.hits import firsts
from .identifiers import identifiers, is_arrow

Words = NDArray[np.uint64]

#: Bytes per word.
_WIDTH = 8
#: Odd numbers that spread the bits of a word over all higher bits of the product. With only one of
#: them, regular ids of several words would have equal hashes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
#: Masks that keep the first 0, 1, …, 8 bytes of a little-endian word.
_FIRST_BYTES: Words = np.array(
    [(1 << (8 * n_bytes)) - 1 for n_bytes in range(_WIDTH + 1)], dtype=np.uint64
)


#: Strings hashed, compared or joined at once, so that they and intermediate arrays stay in the
#: processor's cache.
_BLOCK = 1 << 14
_JOINED = 1 << 11


@dataclass(frozen=True, eq=False)
class Texts:
    """Strings as UTF-8 bytes in one buffer.

    The order of the bytes is that of the characters, and that of trec_eval.
    """

    #: The bytes of all strings, followed by at least 8 other bytes.
    data: NDArray[np.uint8]
    #: The start and the number of bytes of each string.
    start: NDArray[np.int64]
    size: NDArray[np.int64]

    # -- construction -------------------------------------------------------------------------

    @classmethod
    def from_column(cls, column: pd.Series[Any], what: str) -> Texts:
        """Read a column of identifiers, which are converted to strings.

        Raises
        ------
        MultiAspectError
            If an identifier is missing or contains a lone surrogate; `what` names the table.
        """
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy()
            if len(codes) and codes.min() >= 0:
                categories = pd.Series(column.cat.categories, name=column.name)
                return cls.from_column(categories, what).take(codes)
        elif is_arrow(column):
            texts = _read_arrow(column)
            if texts is not None:
                return texts
        else:
            try:
                with refuse_surrogates(what):
                    return cls.from_strings(column.to_numpy(dtype=object))
            except TypeError:
                pass  # some values are not strings
        return cls.from_strings(identifiers(column, what))

    @classmethod
    def from_strings(cls, values: Objects) -> Texts:
        """Encode an array of strings; raise TypeError if one of the values is not a string."""
        content = _join_strings(values)
        data = _with_padding(np.frombuffer(content, dtype=np.uint8))
        ends = np.flatnonzero(data[: len(content)] == 0)
        size = np.diff(ends, prepend=-1) - 1
        # A zero byte within a string cannot be distinguished from its end.
        if len(ends) > len(values):
            size = np.array([len(value.encode()) for value in values.tolist()])
        return cls(data, _starts(size, 1), size)

    @classmethod
    def from_buffer(cls, data: NDArray[np.uint8], offsets: NDArray[np.integer[Any]]) -> Texts:
        """Read consecutive strings in a buffer, given their `offsets`."""
        bounds = offsets.astype(np.int64)
        used = data[bounds[0] : bounds[-1]]
        return cls(_with_padding(used), bounds[:-1] - bounds[0], np.diff(bounds))

    @classmethod
    def from_bytes(cls, data: bytes, start: NDArray[np.int64], size: NDArray[np.int64]) -> Texts:
        """Read consecutive strings in a buffer.

        It is copied if there are too few bytes after the last one.
        """
        if len(start):
            end = int(start[-1] + size[-1])
        else:
            end = 0
        buffer = np.frombuffer(data, dtype=np.uint8)
        if len(data) - end < _WIDTH:
            buffer = _with_padding(buffer)
        return cls(buffer, start, size)

    def take(self, index: Any) -> Texts:
        """Return the strings at `index`, on the same buffer."""
        return Texts(self.data, self.start[index], self.size[index])

    def decode(self) -> Objects:
        """Return the strings as Python strings."""
        # Slices of bytes are faster than those of memory, but a copy is too slow for few strings.
        data: bytes | memoryview = self.data.data
        if len(self.data) < 100 * len(self):
            data = self.data.tobytes()
        ends = self.start + self.size
        limits = zip(self.start.tolist(), ends.tolist(), strict=True)
        strings = [str(data[start:end], "utf-8") for start, end in limits]
        return np.array(strings, dtype=object)

    def __len__(self) -> int:
        return len(self.start)

    def __reduce__(self) -> tuple[Any, ...]:
        # The bytes of other strings are left out, and sizes of short strings take one byte.
        for gap in (1, 0):  # the distance between Python strings and between Arrow strings
            start = _starts(self.size, gap)
            if len(self) and np.array_equal(self.start - self.start[0], start):
                first = int(self.start[0])
                length = int(start[-1] + self.size[-1])
                data = self.data[first : first + length]
                break
        else:
            position = np.repeat(self.start - start, self.size)
            data = self.data[position + np.arange(len(position))]
        return _restore_texts, (_with_padding(data).tobytes(), as_bytes(self.size), gap)

    # -- comparison ---------------------------------------------------------------------------

    @cached_property
    def _words(self) -> Words:
        """The 8 bytes from each position of the buffer on, as one number (a view)."""
        n_positions = len(self.data) - _WIDTH + 1
        return np.ndarray((n_positions,), dtype="<u8", buffer=self.data, strides=(1,))

    def _word(self, index: int, rows: Any = slice(None)) -> Words:
        """Return the bytes from 8 · index on, the first one lowest; 0 beyond a string's end."""
        begin = _WIDTH * index
        rest = self.size[rows] - begin
        start = self.start[rows] + begin
        shortest = rest.min(initial=_WIDTH)
        longest = rest.max(initial=0)
        if shortest < 0:
            # Beyond its end, a string is read at its start, which is in the buffer.
            start -= np.where(rest < 0, begin, 0)
            rest = np.maximum(rest, 0)
        words = self._words[start]
        if shortest < _WIDTH:
            if shortest == longest:  # ids of a collection often have the same length
                words &= _FIRST_BYTES[shortest]
            else:
                words &= _FIRST_BYTES[np.minimum(rest, _WIDTH)]
        return np.asarray(words, dtype=np.uint64)

    @property
    def _n_words(self) -> int:
        return -(-int(self.size.max(initial=0)) // _WIDTH)

    def hashes(self) -> Words:
        """Return a 64-bit hash of each string, which depends on its bytes only."""
        hashed = np.empty(len(self), dtype=np.uint64)
        for rows in _blocks(len(self), _BLOCK):
            hashed[rows] = self.take(rows)._hashes()
        return hashed

    def _hashes(self) -> Words:
        hashed = self.size.astype(np.uint64) * _SPREAD
        active = _fast_index(self.size > 0)
        for index in range(self._n_words):
            combined = hashed[active] ^ self._word(index, active)
            hashed[active] = mix_bits(combined)
            # Hashes of shorter strings remain unchanged.
            longer = self.size[active] > _WIDTH * (index + 1)
            if not longer.all():
                active = np.arange(len(self))[active][longer]
        return hashed

    def equals(self, other: Texts) -> Bools:
        """Return a mask of the strings that equal the string of `other` at the same position."""
        same = np.empty(len(self), dtype=np.bool_)
        for rows in _blocks(len(self), _BLOCK):
            same[rows] = self.take(rows)._equals(other.take(rows))
        return same

    def _equals(self, other: Texts) -> Bools:
        same = np.asarray(self.size == other.size, dtype=np.bool_)
        for index in range(self._n_words):
            undecided = same & (self.size > _WIDTH * index)
            if not undecided.any():
                break
            active = _fast_index(undecided)
            same[active] = self._word(index, active) == other._word(index, active)
        return same

    def codes(self) -> tuple[Ints, Texts]:
        """Return one code per string, numbered by first appearance, and the distinct strings."""
        # Rows of a query are mostly adjacent, and comparing neighbours is faster than hashing.
        heads = self.heads()
        head_strings = self.take(heads)
        codes, _ = pd.factorize(head_strings.hashes())
        first = _first_positions(codes)
        has_own_hash = head_strings.equals(head_strings.take(first[codes]))
        if not has_own_hash.all():  # two strings have the same hash
            codes = _factorize(head_strings.decode())
            first = _first_positions(codes)
        sizes = np.diff(heads, append=len(self))
        code_per_string = np.repeat(codes.astype(np.intp, copy=False), sizes)
        return code_per_string, head_strings.take(first)

    def heads(self) -> Ints:
        """Return the positions of the first string and of those that differ from the one before."""
        changes = np.ones(len(self), dtype=np.bool_)
        for rows in _blocks(len(self) - 1, _BLOCK):
            neighbours = self.take(slice(rows.start, rows.stop + 1))
            changed = neighbours.size[1:] != neighbours.size[:-1]
            # The words that all strings have are read once, the others only where they may matter.
            n_common = max(1, int(neighbours.size.min()) // _WIDTH)
            for index in range(min(n_common, neighbours._n_words)):
                word = neighbours._word(index)
                changed |= word[1:] != word[:-1]
            rest = np.flatnonzero(~changed & (neighbours.size[1:] > _WIDTH * n_common))
            changed[rest] = ~neighbours.take(rest + 1)._equals(neighbours.take(rest))
            changes[rows.start + 1 : rows.stop + 1] = changed
        return np.flatnonzero(changes)

    def descending_order(self, group: Ints) -> Ints:
        """Return the order by `group`, then by string, descending."""
        order = np.argsort(group, kind="stable")
        # The rank of each string is that of the first string that has not yet been distinguished
        # from it.
        rank = np.empty(len(self), dtype=np.intp)
        rank[order] = firsts(group[order])
        active = np.arange(len(self))
        n_words = self._n_words
        for word in range(n_words + 1):
            if not len(active):
                break
            # The size comes last, for strings that end in zero bytes.
            if word < n_words:
                key = self._word(word, active).byteswap()
            else:
                key = self.size[active].astype(np.uint64)
            by_key = np.lexsort((~key, rank[active]))
            active = active[by_key]
            key = key[by_key]
            ranks = rank[active]
            is_new = (ranks[1:] != ranks[:-1]) | (key[1:] != key[:-1])
            number = np.append(0, np.cumsum(is_new))
            rank[active] += firsts(number) - firsts(ranks)
            new_ranks = rank[active]
            n_strings = np.bincount(new_ranks, minlength=len(self))
            is_undecided = n_strings[new_ranks] > 1
            active = active[is_undecided]
        return np.argsort(rank, kind="stable")


def as_bytes(numbers: NDArray[np.integer[Any]]) -> tuple[bytes, str]:
    """Return the parameters of `numpy.frombuffer` for non-negative integers, in few bytes."""
    kind = np.min_scalar_type(int(numbers.max(initial=0)))
    return numbers.astype(kind).tobytes(), kind.str


def _restore_texts(data: bytes, sizes: tuple[bytes, str], gap: int) -> Texts:
    size = np.frombuffer(*sizes).astype(np.int64)
    return Texts(np.frombuffer(data, dtype=np.uint8), _starts(size, gap), size)


def _starts(size: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
    """Return the starts of consecutive strings of these sizes, with `gap` bytes after each."""
    step = size + gap
    return np.asarray(np.cumsum(step) - step, dtype=np.int64)


def _join_strings(values: Objects) -> bytes:
    """Return the bytes of strings, with a zero byte after each.

    TypeError is raised if one of them is not a string.
    """
    # Joining is the only step in Python. It reads each string twice; the second time from the
    # cache, if few are joined at once.
    parts = []
    for rows in _blocks(len(values), _JOINED):
        strings = values[rows].tolist()
        parts.append("\0".join(strings))
    parts.append("")
    return "\0".join(parts).encode()


def _with_padding(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return bytes followed by the zero bytes of one word."""
    return np.concatenate([data, np.zeros(_WIDTH, dtype=np.uint8)])


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Return slices of consecutive rows, `size` at once."""
    return (slice(begin, begin + size) for begin in range(0, n_rows, size))


def _fast_index(mask: Bools) -> Any:
    """Return an index of the True values, in the fastest form if all are True."""
    if mask.all():
        return slice(None)
    return np.flatnonzero(mask)


def _factorize(values: Objects) -> Ints:
    """Return one code per string, numbered by first appearance."""
    code: dict[str, int] = {}
    codes = [code.setdefault(value, len(code)) for value in values]
    return np.array(codes)


def _first_positions(codes: Ints) -> Ints:
    """Return the position of the first occurrence of each code."""
    first = np.empty(codes.max(initial=-1) + 1, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]  # for equal codes, the last assignment counts
    return first


def mix_bits(values: Words) -> Words:
    """Spread every bit over all bits; different values remain different."""
    values = values * _SPREAD
    values ^= values >> _HALF
    values *= _MIX
    values ^= values >> _HALF
    return values


def _read_arrow(column: pd.Series[Any]) -> Texts | None:
    """Read the buffers of a column of Arrow strings; None if values are missing or others."""
    chunked: Any = column.array.__arrow_array__()
    if chunked.null_count:
        return None
    if str(chunked.type) not in ("string", "large_string", "string_view"):
        return None
    if not len(chunked):
        return Texts.from_strings(np.zeros(0, dtype=object))
    array = chunked.cast("large_string")
    chunks = [chunk for chunk in getattr(array, "chunks", [array]) if len(chunk)]
    if len(chunks) == 1:
        chunk = chunks[0]
    else:
        chunk = array.combine_chunks()
    _, offsets, data = chunk.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(chunk) + 1, 8 * chunk.offset)
    return Texts.from_buffer(np.frombuffer(data or b"", dtype=np.uint8), bounds)
