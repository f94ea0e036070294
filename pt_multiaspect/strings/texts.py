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
        # A zero byte ends each string: "d1" and "d20" are b"d1\0d20\0", with zeros at 2 and 6.
        content = _join_strings(values)
        joined = np.frombuffer(content, dtype=np.uint8)
        zeros = np.flatnonzero(joined == 0)
        have_zero_bytes = len(zeros) > len(values)
        if have_zero_bytes:
            # Some zero bytes belong to strings.
            sizes = [len(value.encode()) for value in values.tolist()]
            size = np.array(sizes)
        else:
            n_bytes_with_zero = np.diff(zeros, prepend=-1)
            size = n_bytes_with_zero - 1
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
            size_of_last = size[-1]
            end = int(start[-1] + size_of_last)
        buffer = np.frombuffer(data, dtype=np.uint8)
        # Comparisons read whole words, also at the end of the last string.
        n_bytes_after = len(data) - end
        if n_bytes_after < _BYTES_PER_WORD:
            buffer = _with_padding(buffer)
        return cls(buffer, start, size)

    def take(self, index: Any) -> Texts:
        """Return the strings at `index`, on the same buffer."""
        start = self.start[index]
        size = self.size[index]
        return Texts(self.data, start, size)

    def decode(self) -> Objects:
        """Return the strings as Python strings."""
        starts = self.start.tolist()
        ends = (self.start + self.size).tolist()
        limits = zip(starts, ends, strict=True)
        # Slices of a `bytes` object are faster than those of the array's memory. But it is a copy
        # of the whole buffer, which pays only if the strings are a large part of it.
        buffer: bytes | memoryview = self.data.data
        n_bytes = len(self.data)
        uses_large_part = n_bytes < 100 * len(self)
        if uses_large_part:
            buffer = self.data.tobytes()
        strings = [str(buffer[start:end], "utf-8") for start, end in limits]
        return np.array(strings, dtype=object)

    def __len__(self) -> int:
        return len(self.start)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how pickle restores the strings: a function, and its arguments.

        These are a buffer, the size of each string, and the number of bytes between two strings in
        the buffer (the gap): the strings stand one after the other, so that their starts follow.
        """
        gap = self._gap()
        if gap is None:
            content = self._bytes_without_gaps()
            gap = 0
        else:
            content = self._bytes_from_first_to_last()
        # Each buffer goes on after its last string, so that whole words of 8 bytes can be read.
        buffer = _with_padding(content).tobytes()
        sizes = as_bytes(self.size)
        return _restore_texts, (buffer, sizes, gap)

    def _bytes_from_first_to_last(self) -> NDArray[np.uint8]:
        """Return the part of the buffer from the first string to the end of the last one."""
        begin = self.start[0]
        start_of_last = self.start[-1]
        end = start_of_last + self.size[-1]
        return self.data[begin:end]

    def _gap(self) -> int | None:
        """Return the number of bytes between each string and the next one in the buffer.

        It is 1 for strings from Python and 0 for those from Arrow; None for a selection of strings,
        which is scattered over the buffer, and for no strings.
        """
        if not len(self):
            return None
        offsets = self.start - self.start[0]
        for gap in (1, 0):
            offsets_with_gap = _starts(self.size, gap)
            if np.array_equal(offsets, offsets_with_gap):
                return gap
        return None

    def _bytes_without_gaps(self) -> NDArray[np.uint8]:
        """Return the bytes of the strings, one string directly after the other.

        `self.start` and `self.size` are the start of each string in the buffer and its length.
        """
        # A string moves as a whole: each of its bytes by as many positions as its start. Strings of
        # 2 bytes at 3 and 7 get the starts 0 and 2: they move by 3 and 5, from [3, 4, 7, 8] to
        # [0, 1, 2, 3].
        new_start = _starts(self.size, gap=0)
        shift_of_string = self.start - new_start
        shift_of_byte = np.repeat(shift_of_string, self.size)
        new_position = np.arange(len(shift_of_byte))
        old_position = new_position + shift_of_byte
        return self.data[old_position]

    # -- comparison ---------------------------------------------------------------------------

    @cached_property
    def _words(self) -> Words:
        """The words that begin at each byte of the buffer, as a view of it.

        A word is 8 bytes as one number, the first byte lowest. Words overlap: word 0 has the bytes
        0 to 7, word 1 the bytes 1 to 8.
        """
        # A matrix with one row of 8 bytes per word. A view as numbers (unsigned, 8 bytes, little
        # endian) turns each row into a single element.
        bytes_of_words = np.lib.stride_tricks.sliding_window_view(self.data, _BYTES_PER_WORD)
        words = bytes_of_words.view("<u8")  # (n_words, 1)
        return words[:, 0]

    def _nth_words(self, index: int, rows: Any = slice(None)) -> Words:
        """Return word number `index` (from 0) of each string in `rows`, one per row.

        A word is 8 bytes as one number, the first byte lowest. Bytes after the end of a string
        are 0. `self._words` has the words that begin at each byte of the buffer.
        """
        n_bytes_before = _BYTES_PER_WORD * index
        start = self.start[rows]
        position = start + n_bytes_before
        n_bytes_left = self.size[rows] - n_bytes_before
        shortest = n_bytes_left.min(initial=_BYTES_PER_WORD)
        # Some strings end before this word, which could be beyond the end of the buffer: any other
        # word is read instead, and all its bytes are cleared.
        if shortest < 0:
            has_ended = n_bytes_left < 0
            position = np.where(has_ended, start, position)
            n_bytes_left = np.where(has_ended, 0, n_bytes_left)
        words = np.asarray(self._words[position], dtype=np.uint64)
        if shortest < _BYTES_PER_WORD:
            _clear_bytes_after_end(words, n_bytes_left)
        return words

    @property
    def _n_words(self) -> int:
        """The number of words of the longest string."""
        longest = int(self.size.max(initial=0))
        return math.ceil(longest / _BYTES_PER_WORD)

    def hashes(self) -> Words:
        """Return a 64-bit hash of each string, which depends on its bytes only."""
        hashes = np.empty(len(self), dtype=np.uint64)
        for rows in _blocks(len(self), _BLOCK):
            block = self.take(rows)
            hashes[rows] = block._hashes_of_block()
        return hashes

    def _hashes_of_block(self) -> Words:
        """Return the hash of each string: its size, with one word after the other mixed in.

        A word is 8 bytes as one number.
        """
        size = self.size.astype(np.uint64)
        hashes = size * _SPREAD
        for index in range(self._n_words):
            # Hashes of strings that have ended are complete.
            n_bytes_before = _BYTES_PER_WORD * index
            has_word = self.size > n_bytes_before
            rows = _fast_index(has_word)
            words = self._nth_words(index, rows)
            hash_so_far = hashes[rows]
            combined = hash_so_far ^ words
            hashes[rows] = mix_bits(combined)
        return hashes

    def equals(self, other: Texts) -> Bools:
        """Return a mask of the strings that equal the string of `other` at the same position."""
        is_equal = np.empty(len(self), dtype=np.bool_)
        for rows in _blocks(len(self), _BLOCK):
            block = self.take(rows)
            other_block = other.take(rows)
            is_equal[rows] = block._equals_block(other_block)
        return is_equal

    def _equals_block(self, other: Texts) -> Bools:
        """Return a mask of the strings that equal the string of `other`, word by word.

        A word is 8 bytes as one number. Strings of the same size are equal until a word differs.
        """
        has_same_size = self.size == other.size
        is_equal_so_far = np.asarray(has_same_size, dtype=np.bool_)
        for index in range(self._n_words):
            n_bytes_compared = _BYTES_PER_WORD * index
            has_further_bytes = self.size > n_bytes_compared
            is_undecided = is_equal_so_far & has_further_bytes
            if not is_undecided.any():
                return is_equal_so_far
            rows = _fast_index(is_undecided)
            word = self._nth_words(index, rows)
            other_word = other._nth_words(index, rows)
            is_equal_so_far[rows] = word == other_word
        return is_equal_so_far

    def codes(self) -> tuple[Ints, Texts]:
        """Return one code per string, numbered by first appearance, and the distinct strings."""
        # Rows of a query are mostly adjacent: only the first of equal neighbours gets a code, which
        # is repeated for the others.
        heads = self.heads()
        head_strings = self.take(heads)
        head_codes, first = head_strings._codes_by_hash()
        n_equal_neighbours = np.diff(heads, append=len(self))
        codes = np.repeat(head_codes, n_equal_neighbours)
        distinct = head_strings.take(first)
        return codes, distinct

    def _codes_by_hash(self) -> tuple[Ints, Ints]:
        """Return one code per string, numbered by first appearance.

        Returns
        -------
        codes : ndarray of int, shape (n_strings,)
            Equal for equal strings.
        first : ndarray of int, shape (n_codes,)
            The position of the first string with each code.
        """
        hashes = self.hashes()
        codes, _ = pd.factorize(hashes)
        first = _first_positions(codes)
        # Rarely, different strings have the same hash, and so the same code. Then a string differs
        # from the first one of its code, and the strings themselves are numbered.
        position_of_first = first[codes]
        first_of_code = self.take(position_of_first)
        equals_first = self.equals(first_of_code)
        if not equals_first.all():
            codes = _factorize(self.decode())
            first = _first_positions(codes)
        return codes.astype(np.intp, copy=False), first

    def heads(self) -> Ints:
        """Return the positions of the first string and of those that differ from the one before."""
        is_head = np.ones(len(self), dtype=np.bool_)
        for begin in range(1, len(self), _BLOCK):
            end = begin + _BLOCK
            rows_and_previous = slice(begin - 1, end)
            strings_and_previous = self.take(rows_and_previous)
            is_head[begin:end] = strings_and_previous._differs_from_previous()
        return np.flatnonzero(is_head)

    def _differs_from_previous(self) -> Bools:
        """Return whether each string but the first differs from the one before it.

        Returns
        -------
        ndarray of bool, shape (n_strings - 1,)
        """
        size = self.size[1:]
        differs: Bools = size != self.size[:-1]
        # Compare the first words (8 bytes as one number) of all strings; each word is read once, as
        # that of a string and of the previous one. Bytes after the end of a string are read as 0.
        n_words_of_shortest = int(self.size.min()) // _BYTES_PER_WORD
        n_first_words = max(1, n_words_of_shortest)
        for index in range(min(n_first_words, self._n_words)):
            words = self._nth_words(index)
            differs |= words[1:] != words[:-1]

        # Then compare, in pairs, the strings that are equal so far and go on after these words.
        n_bytes_compared = _BYTES_PER_WORD * n_first_words
        goes_on = size > n_bytes_compared
        is_undecided = ~differs & goes_on
        previous = np.flatnonzero(is_undecided)
        previous_strings = self.take(previous)
        strings = self.take(previous + 1)
        differs[is_undecided] = ~strings._equals_block(previous_strings)
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
        # All strings of a group are tied at first. Ties are broken by the first word (8 bytes as
        # one number) of each string, then by the second one, and so on.
        all_rows = np.arange(len(self))
        ranking = _TiedRanking(_ranks_of_groups(group), tied=all_rows)
        for index in range(self._n_words):
            if ranking.has_ties:
                words = self._nth_words(index, ranking.tied)
                # The first byte, which decides first, becomes the highest one of the number.
                first_byte_highest = words.byteswap()
                ranking.break_ties(first_byte_highest)
        # Bytes after the end of a string were read as 0: "a" and "a\0" are still tied, and the
        # longer one is first.
        if ranking.has_ties:
            sizes = self.size[ranking.tied]
            ranking.break_ties(sizes.astype(np.uint64))
        return np.argsort(ranking.rank, kind="stable")


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
    """Return the number of elements of smaller groups, per element: [5, 2, 5] -> [1, 0, 1]."""
    order = np.argsort(group, kind="stable")
    sorted_group = group[order]
    # In sorted order, elements of smaller groups come before the first element of a group.
    n_smaller = firsts(sorted_group)  # the position of that element, for each element
    rank = np.empty(len(group), dtype=np.intp)
    rank[order] = n_smaller
    return rank


@dataclass
class _TiedRanking:
    """A ranking of rows in which some rows share a rank."""

    #: The rank of each row, from 0; tied rows have that of the first of them.
    rank: Ints
    #: The rows that may share their rank with another row.
    tied: Ints

    @property
    def has_ties(self) -> bool:
        """Return whether rows may be tied."""
        return len(self.tied) > 0

    def break_ties(self, key: Words) -> None:
        """Rank the tied rows by `key`, one number per tied row, in decreasing order."""
        # Sort by rank, then by decreasing key: inverted bits sort numbers downwards.
        descending_key = ~key
        rank_of_tied = self.rank[self.tied]
        order = np.lexsort((descending_key, rank_of_tied))
        sorted_rows = self.tied[order]
        old_rank = self.rank[sorted_rows]
        tie = _number_ties(old_rank, key[order])
        # A rank increases by the number of rows of the same old rank with a higher key, which are
        # before it: rows with the rank 4 and the keys 9, 7, 7 get the ranks 4, 5, 5. `firsts` is
        # the position of the first row of a rank or tie: here, 0, 0, 0 and 0, 1, 1.
        first_of_rank = firsts(old_rank)
        first_of_tie = firsts(tie)
        n_higher_keys = first_of_tie - first_of_rank
        new_rank = old_rank + n_higher_keys
        self.rank[sorted_rows] = new_rank
        # Rows are still tied if their rank occurs several times.
        n_rows_at_rank = np.bincount(new_rank)
        is_still_tied = n_rows_at_rank[new_rank] > 1
        self.tied = sorted_rows[is_still_tied]


def _number_ties(rank: Ints, key: Words) -> Ints:
    """Return a number per row that is equal for the same rank and key, which must be adjacent."""
    previous_rank = rank[:-1]
    has_new_rank = rank[1:] != previous_rank
    previous_key = key[:-1]
    has_new_key = key[1:] != previous_key
    begins_tie = has_new_rank | has_new_key  # element i is for row i + 1
    tie_of_later_rows = np.cumsum(begins_tie)
    return np.append(0, tie_of_later_rows)


def _clear_bytes_after_end(words: Words, n_bytes_left: NDArray[np.int64]) -> None:
    """Set the bytes of words that are after the end of their string to 0, in place.

    `n_bytes_left` is the number of bytes from the beginning of the word to the end of the string.
    """
    n_bytes_of_first = n_bytes_left[0]
    if (n_bytes_left == n_bytes_of_first).all():
        # Ids of a collection often have the same length: one mask for all is faster.
        words &= _FIRST_BYTES[n_bytes_of_first]
        return
    n_bytes_kept = np.minimum(n_bytes_left, _BYTES_PER_WORD)
    words &= _FIRST_BYTES[n_bytes_kept]


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
    numbers = np.frombuffer(content, type_name)
    size = numbers.astype(np.int64)
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
    # `join` reads each string twice, first for its length. A few strings at once are still in the
    # processor's cache the second time.
    parts = []
    for rows in _blocks(len(values), _JOINED):
        strings = values[rows].tolist()
        parts.append("\0".join(strings))
    # `join` writes zeros only between parts: an empty part at the end gives the last zero.
    parts.append("")
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
    codes_in_reverse = codes[::-1]
    first[codes_in_reverse] = positions[::-1]
    return first


def mix_bits(values: Words) -> Words:
    """Return each number with every bit spread over all bits; different numbers stay different.

    Both operations can be undone: a product with an odd number, modulo 2^64, and an exclusive or
    with the upper half, which itself stays as it is.
    """
    values = values * _SPREAD
    # A product spreads bits upwards only, so the upper half is mixed into the lower half.
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
    # Strings are stored in chunks. A chunk can be a slice of a longer array: `chunk.offset` is the
    # number of its strings before the slice, which are in the buffers, too.
    chunk = _single_chunk(arrow_column.cast("large_string"))
    # The offsets in the bytes at which each string begins, and the last one ends, are integers of 8
    # bytes.
    _, offsets_buffer, data_buffer = chunk.buffers()
    n_offsets_before = chunk.offset
    n_offsets = len(chunk) + 1
    offsets = np.frombuffer(
        offsets_buffer, dtype=np.int64, count=n_offsets, offset=8 * n_offsets_before
    )
    data = np.frombuffer(data_buffer or b"", dtype=np.uint8)
    return Texts.from_buffer(data, offsets)


def _single_chunk(strings: Any) -> Any:
    """Return Arrow strings, an array or one in several chunks, as one array; they are not empty."""
    all_chunks = getattr(strings, "chunks", [strings])
    chunks = [chunk for chunk in all_chunks if len(chunk)]
    if len(chunks) == 1:
        return chunks[0]
    return strings.combine_chunks()
