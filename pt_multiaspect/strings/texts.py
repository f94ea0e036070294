"""Columns of strings as UTF-8 bytes in one buffer.

They are hashed, compared and sorted without an object per row.
"""

from __future__ import annotations

import math
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

_BYTES_PER_WORD = 8
#: Odd numbers that spread the bits of a word over all higher bits of the product. With only one of
#: them, regular ids of several words would have equal hashes.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_SPREAD_AGAIN = np.uint64(0xD6E8FEB86659FD93)
#: Half of the bits of a word.
_HALF_OF_BITS = np.uint64(32)
#: Masks that keep the first 0, 1, …, 8 bytes of a little-endian word.
_FIRST_BYTES: Words = np.array(
    [(1 << (8 * n_bytes)) - 1 for n_bytes in range(_BYTES_PER_WORD + 1)], dtype=np.uint64
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
        """Encode a column of identifiers, which are converted to strings.

        Raises
        ------
        MultiAspectError
            If an identifier is missing or contains a lone surrogate; `what` names the table.
        """
        texts = _encode_strings(column, what)
        if texts is not None:
            return texts
        # Some values are missing, which is an error, or are not strings.
        converted = identifiers(column, what)
        return cls.from_strings(converted)

    @classmethod
    def from_strings(cls, values: Objects) -> Texts:
        """Encode an array of strings; raise TypeError if one of the values is not a string."""
        content = _join_strings(values)  # such as b"d1\0d20\0"
        joined = np.frombuffer(content, dtype=np.uint8)
        ends = np.flatnonzero(joined == 0)
        if len(ends) == len(values):
            n_bytes_with_end = np.diff(ends, prepend=-1)
            size = n_bytes_with_end - 1
        else:
            # Some strings contain zero bytes, which look like ends of strings.
            size = np.array([len(value.encode()) for value in values.tolist()])
        start = _starts(size, gap=1)
        return cls(_with_padding(joined), start, size)

    @classmethod
    def from_buffer(cls, data: NDArray[np.uint8], offsets: NDArray[np.integer[Any]]) -> Texts:
        """Read adjacent strings in a buffer.

        Parameters
        ----------
        data : ndarray of uint8
            The bytes of the strings, perhaps with others before and after them.
        offsets : ndarray of int, shape (n_strings + 1,)
            The start of each string, and the end of the last one.
        """
        offsets = offsets.astype(np.int64)
        begin = offsets[0]
        end = offsets[-1]
        used = data[begin:end]
        start = offsets[:-1] - begin
        size = np.diff(offsets)
        return cls(_with_padding(used), start, size)

    @classmethod
    def from_bytes(cls, data: bytes, start: NDArray[np.int64], size: NDArray[np.int64]) -> Texts:
        """Read strings at increasing positions of a buffer, given their starts and sizes.

        The buffer is copied if there are too few bytes after the last string.
        """
        end = 0
        if len(start):
            end = int(start[-1] + size[-1])
        buffer = np.frombuffer(data, dtype=np.uint8)
        # Comparisons read whole words, also at the end of the last string.
        n_bytes_after = len(data) - end
        if n_bytes_after < _BYTES_PER_WORD:
            buffer = _with_padding(buffer)
        return cls(buffer, start, size)

    def take(self, index: Any) -> Texts:
        """Return the strings at `index`, on the same buffer."""
        return Texts(self.data, self.start[index], self.size[index])

    def decode(self) -> Objects:
        """Return the strings as Python strings."""
        data: bytes | memoryview = self.data.data
        # Slices of bytes are faster than those of memory. A few strings are not worth the copy.
        has_many_strings = len(self.data) < 100 * len(self)
        if has_many_strings:
            data = self.data.tobytes()
        starts = self.start.tolist()
        ends = (self.start + self.size).tolist()
        limits = zip(starts, ends, strict=True)
        strings = [str(data[start:end], "utf-8") for start, end in limits]
        return np.array(strings, dtype=object)

    def __len__(self) -> int:
        return len(self.start)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments of pickle, without the bytes of other strings in the buffer."""
        gap = self._gap()
        if gap is None:
            gap = 0
            data = self._bytes_without_gaps()
        else:
            begin = int(self.start[0])
            end = int(self.start[-1] + self.size[-1])
            data = self.data[begin:end]
        padded_data = _with_padding(data).tobytes()
        sizes = as_bytes(self.size)
        return _restore_texts, (padded_data, sizes, gap)

    def _gap(self) -> int | None:
        """Return the number of bytes after each string: 1, 0, or None if it is not constant.

        Strings from Python are separated by one byte, those from Arrow are adjacent.
        """
        if not len(self):
            return None
        offsets = self.start - self.start[0]
        for gap in (1, 0):
            if np.array_equal(offsets, _starts(self.size, gap)):
                return gap
        return None

    def _bytes_without_gaps(self) -> NDArray[np.uint8]:
        """Return the bytes of the strings, one string directly after the other."""
        new_start = _starts(self.size, gap=0)
        shift_of_string = self.start - new_start
        shift_of_byte = np.repeat(shift_of_string, self.size)
        new_positions = np.arange(len(shift_of_byte))
        return self.data[new_positions + shift_of_byte]

    # -- comparison ---------------------------------------------------------------------------

    @cached_property
    def _words(self) -> Words:
        """The words that begin at each byte of the buffer, as a view.

        A word is 8 bytes as one number, the first byte lowest.
        """
        n_words = len(self.data) - _BYTES_PER_WORD + 1
        one_byte_apart = (1,)  # words overlap: the next one begins at the next byte
        return np.ndarray((n_words,), dtype="<u8", buffer=self.data, strides=one_byte_apart)

    def _nth_words(self, index: int, rows: Any = slice(None)) -> Words:
        """Return word number `index` (from 0) of each string in `rows`, one per row.

        A word is 8 bytes as one number, the first byte lowest. Bytes after the end of a string
        are 0.
        """
        begin = _BYTES_PER_WORD * index
        start = self.start[rows] + begin
        n_bytes_left = self.size[rows] - begin
        fewest = n_bytes_left.min(initial=_BYTES_PER_WORD)
        most = n_bytes_left.max(initial=0)
        if fewest < 0:
            # Shorter strings have no such word. Read their first one instead, which is certainly in
            # the buffer; all its bytes are set to 0 below.
            is_shorter = n_bytes_left < 0
            start -= np.where(is_shorter, begin, 0)
            n_bytes_left = np.maximum(n_bytes_left, 0)
        words = self._words[start]

        # Words that end after their string are masked: its bytes are kept, and the others become 0.
        all_are_full = fewest >= _BYTES_PER_WORD
        have_equal_length = fewest == most  # as the ids of many collections
        if all_are_full:
            return np.asarray(words, dtype=np.uint64)
        if have_equal_length:
            words &= _FIRST_BYTES[fewest]
        else:
            n_bytes_kept = np.minimum(n_bytes_left, _BYTES_PER_WORD)
            words &= _FIRST_BYTES[n_bytes_kept]
        return np.asarray(words, dtype=np.uint64)

    @property
    def _n_words(self) -> int:
        """The number of words of the longest string."""
        longest = int(self.size.max(initial=0))
        return math.ceil(longest / _BYTES_PER_WORD)

    def hashes(self) -> Words:
        """Return a 64-bit hash of each string, which depends on its bytes only."""
        hashes = np.empty(len(self), dtype=np.uint64)
        for rows in _blocks(len(self), _BLOCK):
            hashes[rows] = self.take(rows)._hashes_of_block()
        return hashes

    def _hashes_of_block(self) -> Words:
        """Return the hash of each string: its size, with one word after the other mixed in."""
        hashes = self.size.astype(np.uint64) * _SPREAD
        # The strings that have the current word; hashes of shorter strings are complete.
        rows = _fast_index(self.size > 0)
        for index in range(self._n_words):
            combined = hashes[rows] ^ self._nth_words(index, rows)
            hashes[rows] = mix_bits(combined)
            n_bytes_read = _BYTES_PER_WORD * (index + 1)
            has_next_word = self.size[rows] > n_bytes_read
            if not has_next_word.all():
                row_numbers = np.arange(len(self))[rows]  # `rows` may be a slice
                rows = row_numbers[has_next_word]
        return hashes

    def equals(self, other: Texts) -> Bools:
        """Return a mask of the strings that equal the string of `other` at the same position."""
        is_equal = np.empty(len(self), dtype=np.bool_)
        for rows in _blocks(len(self), _BLOCK):
            block = self.take(rows)
            is_equal[rows] = block._equals_block(other.take(rows))
        return is_equal

    def _equals_block(self, other: Texts) -> Bools:
        """Return a mask of the strings that equal the string of `other`, word by word."""
        is_equal = np.asarray(self.size == other.size, dtype=np.bool_)
        for index in range(self._n_words):
            n_bytes_compared = _BYTES_PER_WORD * index
            has_word = self.size > n_bytes_compared
            is_undecided = is_equal & has_word
            if not is_undecided.any():
                break
            rows = _fast_index(is_undecided)
            words = self._nth_words(index, rows)
            other_words = other._nth_words(index, rows)
            is_equal[rows] = words == other_words
        return is_equal

    def codes(self) -> tuple[Ints, Texts]:
        """Return one code per string, numbered by first appearance, and the distinct strings."""
        # Rows of a query are mostly adjacent: only the first of equal neighbours is hashed.
        heads = self.heads()
        head_strings = self.take(heads)
        codes, _ = pd.factorize(head_strings.hashes())  # one code per hash
        first = _first_positions(codes)

        first_with_same_hash = head_strings.take(first[codes])
        is_same_string = head_strings.equals(first_with_same_hash)
        if not is_same_string.all():
            codes = _factorize(head_strings.decode())
            first = _first_positions(codes)

        n_equal_neighbours = np.diff(heads, append=len(self))
        code_per_string = np.repeat(codes.astype(np.intp, copy=False), n_equal_neighbours)
        distinct = head_strings.take(first)
        return code_per_string, distinct

    def heads(self) -> Ints:
        """Return the positions of the first string and of those that differ from the one before."""
        is_head = np.ones(len(self), dtype=np.bool_)
        for rows in _blocks(len(self) - 1, _BLOCK):
            # Blocks overlap by one string, which is compared with its neighbours on both sides.
            begin = rows.start
            end = rows.stop + 1
            block = self.take(slice(begin, end))
            is_head[begin + 1 : end] = block._differs_from_previous()
        return np.flatnonzero(is_head)

    def _differs_from_previous(self) -> Bools:
        """Return whether each string but the first differs from the one before it.

        Returns
        -------
        ndarray of bool, shape (n_strings - 1,)
        """
        size = self.size[1:]
        previous_size = self.size[:-1]
        differs: Bools = size != previous_size
        # The words that all strings have are read once per string, for both comparisons.
        shortest = int(self.size.min())
        n_common = max(1, shortest // _BYTES_PER_WORD)
        for index in range(min(n_common, self._n_words)):
            words = self._nth_words(index)
            word = words[1:]
            previous_word = words[:-1]
            differs |= word != previous_word
        # Further words are read only for pairs of neighbours that were equal so far.
        n_bytes_read = _BYTES_PER_WORD * n_common
        is_longer = size > n_bytes_read
        undecided = np.flatnonzero(~differs & is_longer)
        previous_strings = self.take(undecided)
        strings = self.take(undecided + 1)
        differs[undecided] = ~strings._equals_block(previous_strings)
        return differs

    def descending_order(self, group: Ints) -> Ints:
        """Return the order by `group`, then by string, descending; equal strings keep their order.

        Parameters
        ----------
        group : ndarray of int, shape (n_strings,)
            The group of each string.

        Returns
        -------
        ndarray of int, shape (n_strings,)
            The positions of the strings in this order.
        """
        # Sort by one word after the other, each time only the strings that are still tied.
        rank = _ranks_of_groups(group)
        tied = np.arange(len(self))
        n_words = self._n_words
        for index in range(n_words):
            if len(tied):
                # With the first byte highest, numbers are in the order of their bytes.
                words = self._nth_words(index, tied).byteswap()
                tied = _break_ties(rank, tied, words)
        # Only zero bytes at the end, which words do not distinguish from the end, are left.
        if len(tied):
            sizes = self.size[tied].astype(np.uint64)
            _break_ties(rank, tied, sizes)
        return np.argsort(rank, kind="stable")


def _encode_strings(column: pd.Series[Any], what: str) -> Texts | None:
    """Encode a column of strings; None if a value is missing or is not a string."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _encode_categories(column, what)
    if is_arrow(column):
        return _read_arrow(column)
    try:
        with refuse_surrogates(what):
            return Texts.from_strings(column.to_numpy(dtype=object))
    except TypeError:
        return None


def _encode_categories(column: pd.Series[Any], what: str) -> Texts | None:
    """Encode each category once; None if the column is empty or a value is missing."""
    codes = column.cat.codes.to_numpy()
    has_missing = codes.min(initial=0) < 0  # pandas gives missing values the code -1
    if has_missing or not len(codes):
        return None
    categories = pd.Series(column.cat.categories, name=column.name)
    texts = Texts.from_column(categories, what)
    return texts.take(codes)


def _ranks_of_groups(group: Ints) -> Ints:
    """Return, for each element, the number of elements of smaller groups."""
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(group), dtype=np.intp)
    rank[order] = firsts(group[order])
    return rank


def _break_ties(rank: Ints, tied: Ints, key: Words) -> Ints:
    """Break ties by a key, descending, and return the rows that are still tied.

    Parameters
    ----------
    rank : ndarray of int, shape (n_rows,)
        The rank of each row from 0, that of the first one for tied rows; changed in place.
    tied : ndarray of int, shape (n_tied,)
        The rows that share their rank with another row.
    key : ndarray of uint64, shape (n_tied,)
        The key of each tied row.
    """
    # Sort the tied rows by rank, and by key within a tie.
    descending_key = ~key
    order = np.lexsort((descending_key, rank[tied]))
    sorted_rows = tied[order]
    sorted_key = key[order]
    old_rank = rank[sorted_rows]

    # Number the new ties: rows with the same rank and key, which are adjacent now.
    has_new_rank = old_rank[1:] != old_rank[:-1]
    has_new_key = sorted_key[1:] != sorted_key[:-1]
    new_tie = np.append(0, np.cumsum(has_new_rank | has_new_key))

    # A row moves down by the rows of its old tie that come before its new tie.
    first_of_old_tie = firsts(old_rank)
    first_of_new_tie = firsts(new_tie)
    new_rank = old_rank + (first_of_new_tie - first_of_old_tie)
    rank[sorted_rows] = new_rank

    n_rows_at_rank = np.bincount(new_rank, minlength=len(rank))
    is_still_tied = n_rows_at_rank[new_rank] > 1
    return sorted_rows[is_still_tied]


def as_bytes(numbers: NDArray[np.integer[Any]]) -> tuple[bytes, str]:
    """Return non-negative integers as bytes, and their type: the arguments of `numpy.frombuffer`.

    The type is the smallest one that can store all numbers.
    """
    largest = int(numbers.max(initial=0))
    smallest_type = np.min_scalar_type(largest)
    content = numbers.astype(smallest_type).tobytes()
    return content, smallest_type.str


def _restore_texts(data: bytes, sizes: tuple[bytes, str], gap: int) -> Texts:
    """Return pickled strings; `sizes` is from `as_bytes`, `gap` the bytes after each string."""
    content, type_name = sizes
    size = np.frombuffer(content, type_name).astype(np.int64)
    start = _starts(size, gap)
    buffer = np.frombuffer(data, dtype=np.uint8)
    return Texts(buffer, start, size)


def _starts(size: NDArray[np.int64], gap: int) -> NDArray[np.int64]:
    """Return the starts of consecutive strings of these sizes, with `gap` bytes after each."""
    size_with_gap = size + gap
    next_start = np.cumsum(size_with_gap)
    start = next_start - size_with_gap
    return np.asarray(start, dtype=np.int64)


def _join_strings(values: Objects) -> bytes:
    """Return the bytes of strings, with a zero byte after each.

    TypeError is raised if one of them is not a string.
    """
    # Joining reads each string twice. The second time is from the processor's cache if few strings
    # are joined at once.
    parts = []
    for rows in _blocks(len(values), _JOINED):
        strings = values[rows].tolist()
        parts.append("\0".join(strings))
    parts.append("")  # for the zero byte after the last string
    return "\0".join(parts).encode()


def _with_padding(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return bytes followed by the zero bytes of one word."""
    zeros = np.zeros(_BYTES_PER_WORD, dtype=np.uint8)
    return np.concatenate([data, zeros])


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
    code_of: dict[str, int] = {}
    codes = []
    for value in values:
        next_code = len(code_of)
        codes.append(code_of.setdefault(value, next_code))
    return np.array(codes)


def _first_positions(codes: Ints) -> Ints:
    """Return the position of the first occurrence of each of the codes 0, 1, …."""
    n_codes = codes.max(initial=-1) + 1
    first = np.empty(n_codes, dtype=np.intp)
    # The last assignment to a code counts: with positions in reverse, that of its first occurrence.
    positions = np.arange(len(codes))
    first[codes[::-1]] = positions[::-1]
    return first


def mix_bits(values: Words) -> Words:
    """Spread every bit over all bits; different values remain different."""
    # A product spreads bits upwards only, so the upper half is combined with the lower half.
    values = values * _SPREAD
    values ^= values >> _HALF_OF_BITS
    values *= _SPREAD_AGAIN
    values ^= values >> _HALF_OF_BITS
    return values


def _read_arrow(column: pd.Series[Any]) -> Texts | None:
    """Read the buffers of a column of Arrow; None if it has missing values, or no strings."""
    arrow_column: Any = column.array.__arrow_array__()
    has_missing = arrow_column.null_count > 0
    has_strings = str(arrow_column.type) in ("string", "large_string", "string_view")
    if has_missing or not has_strings:
        return None
    if not len(arrow_column):
        return Texts.from_strings(np.zeros(0, dtype=object))
    chunk = _single_chunk(arrow_column.cast("large_string"))

    # Arrow stores 64-bit offsets of the strings (one more than there are strings) and their bytes.
    # A chunk may be a slice, whose offsets do not begin with the buffer.
    _, offsets_buffer, data_buffer = chunk.buffers()
    n_offsets = len(chunk) + 1
    bytes_before_slice = 8 * chunk.offset
    offsets = np.frombuffer(offsets_buffer, np.int64, n_offsets, bytes_before_slice)
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return Texts.from_buffer(data, offsets)


def _single_chunk(strings: Any) -> Any:
    """Return Arrow strings, an array or one in several chunks, as one array; they are not empty."""
    all_chunks = getattr(strings, "chunks", [strings])
    chunks = [chunk for chunk in all_chunks if len(chunk)]
    if len(chunks) == 1:
        return chunks[0]
    return strings.combine_chunks()
