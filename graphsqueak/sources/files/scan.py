"""Compiled loops that read the lines of an edge file, by the rules of `fields`.

One pass over the bytes of a block: no Python object per line, no copy of the text. Integer ids come
out as numbers (7.0 as 7), text ids as (start, stop) within the block.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.sources.files.numerals import at, read_decimal, read_integer
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["Scan", "scan_block", "tokens_at"]

_NEWLINE = ord("\n")
_RETURN = ord("\r")
_SPACE = ord(" ")
_TAB = ord("\t")
_QUOTE = ord('"')
_ROLES = ("skip", "source", "target", "weight", "time")
_SKIP = _ROLES.index("skip")
_WEIGHT = _ROLES.index("weight")
_TIME = _ROLES.index("time")


class Scan(NamedTuple):
    """The edges of one block of lines."""

    ends: np.ndarray  # (n, 2) integers, or (n, 4): start, stop of the source, then of the target
    weight: np.ndarray | None
    n_lines: int
    n_bad: int
    bad_line: int  # index of the first bad line in the block, -1 if none
    bad_start: int  # its first byte
    time: np.ndarray | None = None  # (n, 2): start, stop of its text


class _Rules(NamedTuple):
    """How compiled code reads a line."""

    separator: np.uint8  # 0 for runs of blanks
    roles: np.ndarray  # of each column, an index of _ROLES
    is_comment: np.ndarray  # for each byte
    has_text_ids: bool
    is_unsigned: bool
    is_canonical: bool
    skip_bad: bool


class _Columns(NamedTuple):
    """What compiled code fills: a row per edge; weights and times are empty if there are none."""

    ends: np.ndarray
    weight: np.ndarray
    hard: np.ndarray  # (edge, start, stop) of weights that a library must convert
    time: np.ndarray


def scan_block(block, schema, *, skip_bad):
    """Scan a block of whole lines.

    Parameters
    ----------
    block : ndarray of uint8
        Ends in a newline. Doubled quotes are resolved in place, so a block is scanned once.
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
    capacity = block.size // len("1 2\n") + 1
    n_weights = capacity if "weight" in schema.roles else 0
    columns = _Columns(
        ends=np.empty((capacity, 4 if has_text_ids else 2), dtype=np.int64),
        weight=np.empty(n_weights),
        hard=np.empty((n_weights, 3), dtype=np.int64),
        time=np.empty((capacity if "time" in schema.roles else 0, 2), dtype=np.int64),
    )
    n, n_lines, n_bad, bad_line, bad_start, n_hard = _scan_bytes(block, rules, columns)
    if n_hard:
        edge, start, stop = columns.hard[:n_hard].T
        numbers = tokens_at(block, start, stop).cast("float64")
        columns.weight[edge] = numbers.to_numpy(zero_copy_only=False)
    return Scan(
        ends=columns.ends[:n],
        weight=columns.weight[:n] if columns.weight.size else None,
        n_lines=n_lines,
        n_bad=n_bad,
        bad_line=bad_line,
        bad_start=bad_start,
        time=columns.time[:n] if columns.time.size else None,
    )


def tokens_at(block, start, stop):
    """The texts block[start:stop] as an Arrow array."""
    import pyarrow as pa

    offsets = np.zeros(start.size + 1, dtype=np.int64)
    np.cumsum(stop - start, out=offsets[1:])
    text = np.empty(offsets[-1], dtype=np.uint8)
    _gather_tokens(block, start, stop, text)
    return pa.LargeStringArray.from_buffers(start.size, pa.py_buffer(offsets), pa.py_buffer(text))


def _scan_bytes(block, rules, columns):
    """Fill the columns; returns the numbers of edges, lines, bad lines, the first bad one, ...

    Most files are plain pairs of integers; code for the others is compiled when there is one.
    """
    has_integers = not rules.has_text_ids and not rules.is_unsigned
    are_pairs = has_integers and [_ROLES[role] for role in rules.roles] == ["source", "target"]
    i = n = 0
    if are_pairs:
        separator = int(rules.separator) or _SPACE
        i, n = _plain_pairs(block, 0, separator, columns.ends, 0)
        if i == block.size:
            return n, n, 0, -1, -1, 0
    return _scan_lines(
        block,
        i,
        n,
        rules.separator,
        are_pairs,
        rules.roles,
        rules.is_comment,
        rules.has_text_ids,
        rules.is_unsigned,
        rules.is_canonical,
        rules.skip_bad,
        *columns,
    )


@njit_cached
def _gather_tokens(block, start, stop, text):
    n = 0
    for token in range(start.size):
        for i in range(start[token], stop[token]):
            text[n] = at(block, i)
            n += 1


@njit_cached
def _scan_lines(block, i, n, separator, pairs, roles, is_comment, is_text, *rest):
    """Read on at byte i, with n lines read before.

    One loop, with all its branches: with the fields of a line read by an inlined function, a
    million lines took more than twice as long.
    """
    unsigned, canonical, skip_bad, ends, weight, hard, time = rest
    n_lines = n
    n_bad = n_hard = 0
    bad_line = bad_start = -1
    last = roles.size - 1
    while i < block.size:
        if pairs:
            before = n
            i, n = _plain_pairs(block, i, _SPACE if separator == 0 else separator, ends, n)
            n_lines += n - before
            if i == block.size:
                break
        line_start = i
        doubled = False
        n_lines += 1
        i = _skip_blanks(block, i, separator)
        if at(block, i) == _NEWLINE or (at(block, i) == _RETURN and at(block, i + 1) == _NEWLINE):
            i = _next_line(block, i)
            continue
        if is_comment[at(block, i)]:
            i = _next_line(block, i)
            continue
        good = True
        weighs_hard = False
        for column in range(last + 1):
            i = _skip_blanks(block, i, separator)
            role = roles[column]
            quoted = at(block, i) == _QUOTE
            if role == _WEIGHT:
                value, start, i, good = read_decimal(block, i + quoted)
                weight[n] = value
                if value < 0:
                    weighs_hard = True
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = n, start, i
            elif role in (_SKIP, _TIME) or is_text:
                start, stop, i, good, has_double = _token(block, i, separator)
                quoted = False
                if role == _TIME:
                    time[n, 0], time[n, 1] = start, stop
                elif role != _SKIP:
                    good = good and stop > start
                    doubled = doubled or has_double
                    ends[n, 2 * role - 2], ends[n, 2 * role - 1] = start, stop
            else:
                number, i, good = read_integer(block, i + quoted, unsigned, canonical)
                ends[n, role - 1] = number
            if not good:
                break
            if quoted:
                good = at(block, i) == _QUOTE
                i += 1
            before = i
            i = _skip_blanks(block, i, separator)
            if column == last:
                i += at(block, i) == _RETURN and at(block, i + 1) == _NEWLINE
                good = good and at(block, i) == _NEWLINE
            elif separator == 0:
                good = good and i > before
            else:
                good = good and at(block, i) == separator
                i += 1
            if not good:
                break
        if not good:
            n_bad += 1
            if bad_line < 0:
                bad_line = n_lines - 1
                bad_start = line_start
            if not skip_bad:
                break
            i = _next_line(block, line_start)
            continue
        if doubled:
            ends[n, 1] = _undouble(block, ends[n, 0], ends[n, 1])
            ends[n, 3] = _undouble(block, ends[n, 2], ends[n, 3])
        n_hard += weighs_hard
        n += 1
        i += 1
    return n, n_lines, n_bad, bad_line, bad_start, n_hard


@njit_cached
def _plain_pairs(block, i, separator, ends, n):
    """Read lines of two plain integers with nothing else; returns where the first other begins."""
    while i < block.size:
        line_start = i
        for column in range(2):
            negative = at(block, i) == 45
            i += negative
            first = i
            number = np.uint64(0)
            digit = np.uint8(at(block, i) - np.uint8(48))
            while digit < 10:
                number = number * np.uint64(10) + np.uint64(digit)
                i += 1
                digit = np.uint8(at(block, i) - np.uint8(48))
            n_digits = i - first
            i += column == 1 and at(block, i) == _RETURN
            if (
                n_digits == 0
                or n_digits > 19
                or number >= np.uint64(1 << 63)
                or (at(block, first) == 48 and n_digits + negative > 1)
                or at(block, i) != (separator if column == 0 else _NEWLINE)
            ):
                return line_start, n
            ends[n, column] = -np.int64(number) if negative else np.int64(number)
            i += 1
        n += 1
    return i, n


@inline_njit
def _skip_blanks(block, i, separator):
    while at(block, i) == _SPACE or (at(block, i) == _TAB and separator != _TAB):
        i += 1
    return i


@inline_njit
def _next_line(block, i):
    while at(block, i) != _NEWLINE:
        i += 1
    return i + 1


@inline_njit
def _token(block, i, separator):
    """(start, stop, index after it, whether its quotes match, whether it holds doubled quotes)."""
    if at(block, i) == _QUOTE:
        i += 1
        start = i
        doubled = False
        while at(block, i) != _NEWLINE:
            if at(block, i) == _QUOTE:
                if at(block, i + 1) != _QUOTE:
                    return start, i, i + 1, True, doubled
                doubled = True
                i += 1
            i += 1
        return start, i, i, False, doubled
    start = i
    if separator == 0:
        while at(block, i) != _SPACE and at(block, i) != _TAB and at(block, i) != _NEWLINE:
            i += 1
    else:
        while at(block, i) != separator and at(block, i) != _NEWLINE:
            i += 1
    stop = i
    if at(block, i) == _NEWLINE and stop > start and at(block, stop - 1) == _RETURN:
        stop -= 1
    i = stop
    while stop > start and (at(block, stop - 1) == _SPACE or at(block, stop - 1) == _TAB):
        stop -= 1
    return start, stop, i, True, False


@inline_njit
def _undouble(block, start, stop):
    """Turn "" into one quote within a quoted block[start:stop], in place; returns its new stop."""
    if start == 0 or at(block, start - 1) != _QUOTE:
        return stop
    cursor = i = start
    while i < stop:
        block[cursor] = at(block, i)
        i += 1 + (at(block, i) == _QUOTE)
        cursor += 1
    return cursor
