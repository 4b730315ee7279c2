"""Compiled loops that read the lines of an edge file, by the rules of `fields`.

One pass over the bytes of a block: no Python object per line, no copy of the text. Integer ids come
out as numbers (7.0 as 7), text ids as (start, stop) within the block.
"""

import numpy as np

from graphsqueak.sources.files.numerals import at, read_decimal, read_integer
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["gather_tokens", "scan_bytes"]

_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE = 10, 13, 32, 9, 34


def scan_bytes(block, separator, roles, is_comment, is_text, unsigned, *rest):
    """Fill `ends`, `weight` and, for weights that need a library, `hard` (edge, start, stop).

    Times, of role 4, are left to a library: `time` gets start and stop of their texts.

    Most files are plain pairs of integers; code for the others is compiled when there is one.
    """
    i = n = 0
    pairs = roles.tolist() == [1, 2] and not is_text and not unsigned
    if pairs:
        ends = rest[2]
        i, n = _plain_pairs(block, 0, _SPACE if separator == 0 else int(separator), ends, 0)
        if i == block.size:
            return n, n, 0, -1, -1, 0
    return _scan(block, i, n, separator, pairs, roles, is_comment, is_text, unsigned, *rest)


@njit_cached
def gather_tokens(block, start, stop, text):
    n = 0
    for token in range(start.size):
        for i in range(start[token], stop[token]):
            text[n] = at(block, i)
            n += 1


@njit_cached
def _scan(block, i, n, separator, pairs, roles, is_comment, is_text, *rest):
    """Read on at byte i, with n lines read before."""
    unsigned, canonical, skip_bad, ends, weight, hard, time = rest
    n_lines, n_bad, n_hard = n, 0, 0
    bad_line = bad_start = -1
    last = roles.size - 1
    while i < block.size:
        if pairs:
            before = n
            i, n = _plain_pairs(block, i, _SPACE if separator == 0 else separator, ends, n)
            n_lines += n - before
            if i == block.size:
                break
        line_start, doubled = i, False
        n_lines += 1
        i = _skip_blanks(block, i, separator)
        if at(block, i) == _NEWLINE or (at(block, i) == _RETURN and at(block, i + 1) == _NEWLINE):
            i = _next_line(block, i)
            continue
        if is_comment[at(block, i)]:
            i = _next_line(block, i)
            continue
        good, weighs_hard = True, False
        for column in range(last + 1):
            i = _skip_blanks(block, i, separator)
            role = roles[column]
            quoted = at(block, i) == _QUOTE
            if role == 3:
                value, start, i, good = read_decimal(block, i + quoted)
                weight[n] = value
                if value < 0:
                    weighs_hard = True
                    hard[n_hard, 0], hard[n_hard, 1], hard[n_hard, 2] = n, start, i
            elif role == 0 or role == 4 or is_text:
                start, stop, i, good, has_double = _token(block, i, separator)
                quoted = False
                if role == 4:
                    time[n, 0], time[n, 1] = start, stop
                elif role != 0:
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
                bad_line, bad_start = n_lines - 1, line_start
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
        start, doubled = i + 1, False
        i += 1
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
