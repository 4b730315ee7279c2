"""Compiled loops that read the fields of the lines of an edge file, by the rules of `fields`.

One pass over the bytes of a block, without a Python object per line or a copy of the text. Integer
ids are returned as numbers (7.0 as 7), text ids as (start, stop) within the block.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.sources.files.numerals import (
    MINUS,
    NEWLINE,
    ZERO,
    at,
    digit_at,
    next_line,
    read_decimal,
    read_integer,
)
from graphsqueak.system.kernels import inline_njit, njit_cached

_RETURN = ord("\r")
_SPACE = ord(" ")
_TAB = ord("\t")
_QUOTE = ord('"')
# Compiled code has the index of a role in place of its name.
_ROLES = ("skip", "source", "target", "weight", "time")
_SKIP = _ROLES.index("skip")
_WEIGHT = _ROLES.index("weight")
_TIME = _ROLES.index("time")


class Scan(NamedTuple):
    """The edges of one block of lines.

    Attributes
    ----------
    ends : ndarray of int, shape (n, 2) or (n, 4)
        Integer ids, or start and stop of the text of the source and of the target.
    weight : ndarray of float or None
    n_lines, n_bad : int
    bad_line : int
        Index of the first bad line in the block; -1 if there is none.
    bad_start : int
        The first byte of that line.
    time : ndarray of int, shape (n, 2), or None
        Start and stop of the text.
    """

    ends: np.ndarray
    weight: np.ndarray | None
    n_lines: int
    n_bad: int = 0
    bad_line: int = -1
    bad_start: int = -1
    time: np.ndarray | None = None

    def select(self, good):
        """Return the scan of some of its rows; the others are bad lines."""
        return self._replace(
            ends=self.ends[good],
            weight=None if self.weight is None else self.weight[good],
            time=None if self.time is None else self.time[good],
            n_bad=self.n_bad + int(np.count_nonzero(~good)),
        )


class _Rules(NamedTuple):
    """How compiled code reads a line."""

    # 0 for runs of blanks.
    separator: np.uint8
    # Per column, an index of _ROLES.
    roles: np.ndarray
    # Per byte, whether it begins a comment.
    is_comment: np.ndarray
    has_text_ids: bool
    is_unsigned: bool
    is_canonical: bool
    skip_bad: bool


class _Columns(NamedTuple):
    """Arrays that compiled code fills, a row per edge; weights and times may be empty."""

    ends: np.ndarray
    weight: np.ndarray
    # (edge, start, stop) of weights that are left to a library.
    long_weights: np.ndarray
    time: np.ndarray


def scan_block(block, schema, *, skip_bad):
    """Scan a block of whole lines.

    Parameters
    ----------
    block : ndarray of uint8
        Ends in a newline. Doubled quotes are resolved in place, so a block of text ids can be
        scanned only once.
    schema : TextSchema
        Separator, roles of the columns, kind of the ids.
    skip_bad : bool
        Continue after a bad line; otherwise the scan ends at the first one.

    Returns
    -------
    Scan
        uint64 ids are returned as the int64 of the same bits.
    """
    is_comment = np.zeros(256, dtype=np.bool_)
    is_comment[[ord(mark) for mark in schema.comments]] = True
    has_text_ids = schema.kind == "text"
    rules = _Rules(
        separator=np.uint8(ord(schema.separator) if schema.separator else 0),
        roles=np.array([_ROLES.index(role) for role in schema.roles], dtype=np.uint8),
        is_comment=is_comment,
        has_text_ids=has_text_ids,
        is_unsigned=schema.kind == "uint64",
        is_canonical=schema.canonical,
        skip_bad=skip_bad,
    )
    # Upper bounds, since the number of lines is unknown; untouched pages take no memory.
    max_edges = block.size // len("1 2\n") + 1
    max_weights = max_edges if "weight" in schema.roles else 0
    max_times = max_edges if "time" in schema.roles else 0
    columns = _Columns(
        ends=np.empty((max_edges, 4 if has_text_ids else 2), dtype=np.int64),
        weight=np.empty(max_weights),
        long_weights=np.empty((max_weights, 3), dtype=np.int64),
        time=np.empty((max_times, 2), dtype=np.int64),
    )
    are_pairs = schema.kind == "int64" and schema.roles == ("source", "target")
    i = n = 0
    if are_pairs:
        separator = int(rules.separator) or _SPACE
        i, n = _scan_plain_pairs(block, 0, separator, columns.ends, 0)
        # Most files are plain pairs of integers. Code for others is compiled when there is one.
        if i == block.size:
            return Scan(columns.ends[:n], None, n_lines=n)
    n, n_lines, n_bad, bad_line, bad_start, n_long = _scan_lines(
        block, i, n, are_pairs, rules, columns
    )
    # Weights that need more than one rounding are converted by Arrow, correctly rounded.
    if n_long:
        edge, start, stop = columns.long_weights[:n_long].T
        numbers = tokens_at(block, start, stop).cast("float64")
        columns.weight[edge] = numbers.to_numpy(zero_copy_only=False)
    return Scan(
        ends=columns.ends[:n],
        weight=columns.weight[:n] if max_weights else None,
        n_lines=n_lines,
        n_bad=n_bad,
        bad_line=bad_line,
        bad_start=bad_start,
        time=columns.time[:n] if max_times else None,
    )


def tokens_at(block, start, stop):
    """Return the texts block[start:stop] as an Arrow array."""
    import pyarrow as pa

    offsets = np.zeros(start.size + 1, dtype=np.int64)
    np.cumsum(stop - start, out=offsets[1:])
    text = np.empty(offsets[-1], dtype=np.uint8)
    _gather_tokens(block, start, stop, text)
    return pa.LargeStringArray.from_buffers(start.size, pa.py_buffer(offsets), pa.py_buffer(text))


@njit_cached
def _gather_tokens(block, start, stop, text):
    n = 0
    for token in range(start.size):
        for i in range(start[token], stop[token]):
            text[n] = at(block, i)
            n += 1


@njit_cached
def _scan_lines(block, i, n, are_pairs, rules, columns):
    """Scan the lines that begin at byte i, after n lines.

    This is one loop with all its branches: with the fields of a line read by an inlined function, a
    million lines took more than twice as long.

    Returns
    -------
    n, n_lines, n_bad, bad_line, bad_start, n_long : int
        The number of edges, fields of `Scan`, and the number of long weights.
    """
    separator = rules.separator
    n_lines = n
    n_bad = n_long = 0
    bad_line = bad_start = -1
    last = rules.roles.size - 1
    while i < block.size:
        # Most lines are plain. The loop below reads one other line, and then tries again.
        if are_pairs:
            n_before = n
            plain_separator = _SPACE if separator == 0 else separator
            i, n = _scan_plain_pairs(block, i, plain_separator, columns.ends, n)
            n_lines += n - n_before
            if i == block.size:
                break
        line_start = i
        n_lines += 1
        i = _skip_blanks(block, i, separator)
        is_return = at(block, i) == _RETURN and at(block, i + 1) == NEWLINE
        if at(block, i) == NEWLINE or is_return or rules.is_comment[at(block, i)]:
            i = next_line(block, i)
            continue
        good = True
        has_doubled_quotes = False
        has_long_weight = False
        for column in range(last + 1):
            i = _skip_blanks(block, i, separator)
            role = rules.roles[column]
            is_quoted = at(block, i) == _QUOTE
            if role == _WEIGHT:
                value, start, i, good = read_decimal(block, i + is_quoted)
                columns.weight[n] = value
                if value < 0:
                    has_long_weight = True
                    columns.long_weights[n_long, 0] = n
                    columns.long_weights[n_long, 1] = start
                    columns.long_weights[n_long, 2] = i
            elif role in (_SKIP, _TIME) or rules.has_text_ids:
                start, stop, i, good, is_doubled = _token(block, i, separator)
                # The token ends behind its quotes.
                is_quoted = False
                if role == _TIME:
                    columns.time[n, 0] = start
                    columns.time[n, 1] = stop
                elif role != _SKIP:
                    good = good and stop > start
                    has_doubled_quotes = has_doubled_quotes or is_doubled
                    columns.ends[n, 2 * role - 2] = start
                    columns.ends[n, 2 * role - 1] = stop
            else:
                number, i, good = read_integer(
                    block, i + is_quoted, rules.is_unsigned, rules.is_canonical
                )
                columns.ends[n, role - 1] = number
            if not good:
                break
            if is_quoted:
                good = at(block, i) == _QUOTE
                i += 1
            field_stop = i
            i = _skip_blanks(block, i, separator)
            # After the field: the line end, blanks, or the separator.
            if column == last:
                # In a function of its own, this takes 20 % of the time of the scan.
                i += at(block, i) == _RETURN and at(block, i + 1) == NEWLINE
                good = good and at(block, i) == NEWLINE
            elif separator == 0:
                good = good and i > field_stop
            else:
                good = good and at(block, i) == separator
                i += 1
            if not good:
                break
        if not good:
            # The next line overwrites the fields of this one.
            n_bad += 1
            if bad_line < 0:
                bad_line = n_lines - 1
                bad_start = line_start
            if not rules.skip_bad:
                break
            i = next_line(block, line_start)
            continue
        if has_doubled_quotes:
            columns.ends[n, 1] = _undouble(block, columns.ends[n, 0], columns.ends[n, 1])
            columns.ends[n, 3] = _undouble(block, columns.ends[n, 2], columns.ends[n, 3])
        n_long += has_long_weight
        n += 1
        i += 1
    return n, n_lines, n_bad, bad_line, bad_start, n_long


@njit_cached
def _scan_plain_pairs(block, i, separator, ends, n):
    """Scan lines of two canonical integers; return the start of the first other line, and n."""
    while i < block.size:
        line_start = i
        for column in range(2):
            is_negative = at(block, i) == MINUS
            i += is_negative
            first = i
            number = np.uint64(0)
            digit = digit_at(block, i)
            while digit < 10:
                number = number * np.uint64(10) + np.uint64(digit)
                i += 1
                digit = digit_at(block, i)
            n_digits = i - first
            i += column == 1 and at(block, i) == _RETURN
            if (
                n_digits == 0
                # 19 digits fit in uint64.
                or n_digits > 19
                or number >= np.uint64(1 << 63)
                # 007 and -0 are not canonical.
                or (at(block, first) == ZERO and n_digits + is_negative > 1)
                or at(block, i) != (separator if column == 0 else NEWLINE)
            ):
                return line_start, n
            ends[n, column] = -np.int64(number) if is_negative else np.int64(number)
            i += 1
        n += 1
    return i, n


@inline_njit
def _skip_blanks(block, i, separator):
    while at(block, i) == _SPACE or (at(block, i) == _TAB and separator != _TAB):
        i += 1
    return i


@inline_njit
def _token(block, i, separator):
    """Read one field of text.

    Returns
    -------
    start, stop : int
        The field, without quotes and blanks.
    i : int
        The index after it and after its closing quote.
    good : bool
        Whether its quotes match.
    is_doubled : bool
        Whether it contains doubled quotes.
    """
    if at(block, i) == _QUOTE:
        i += 1
        start = i
        is_doubled = False
        while at(block, i) != NEWLINE:
            if at(block, i) == _QUOTE:
                if at(block, i + 1) != _QUOTE:
                    return start, i, i + 1, True, is_doubled
                is_doubled = True
                i += 1
            i += 1
        return start, i, i, False, is_doubled
    start = i
    if separator == 0:
        while at(block, i) != _SPACE and at(block, i) != _TAB and at(block, i) != NEWLINE:
            i += 1
    else:
        while at(block, i) != separator and at(block, i) != NEWLINE:
            i += 1
    stop = i
    if at(block, i) == NEWLINE and stop > start and at(block, stop - 1) == _RETURN:
        stop -= 1
    i = stop
    while stop > start and (at(block, stop - 1) == _SPACE or at(block, stop - 1) == _TAB):
        stop -= 1
    return start, stop, i, True, False


@inline_njit
def _undouble(block, start, stop):
    """Replace "" by " within a quoted block[start:stop], in place; return its new stop."""
    if start == 0 or at(block, start - 1) != _QUOTE:
        return stop
    cursor = i = start
    while i < stop:
        block[cursor] = at(block, i)
        i += 1 + (at(block, i) == _QUOTE)
        cursor += 1
    return cursor
