"""The shape of a text file of edges: guessed from its beginning, and read block by block.

What is guessed, and how (each can be set instead):

separator
    The first of tab, semicolon, comma, blanks that splits the sampled lines into the same number
    of fields, two at least, none of them empty.
header
    The first line is a header if it names a source and a target column (`source,target`,
    `src,dst`, `from_stop,to_stop`, ...), or two columns by words that are known (`user,item`), or
    if it is the only one whose ids are no numbers, or hold no digit, or if it holds no number and
    one of three or more columns holds nothing else below.
    A comment such as `# FromNodeId ToNodeId` names the columns too. A first line of two integers is
    an edge, unless it fits as a count of the nodes and lines that follow: then header=True, which
    skips it, or header=False must be given. A line with one name fewer than columns is a header of
    R, whose first column has no name.
columns
    By name if the header names them, else the first two and, as weight, the third. Four or more
    columns without names, or a third one whose name does not speak of weights, must be chosen. A
    first column without a name under a header is an index and skipped.
ids
    Integers if the sampled ones all are, canonically written and within 64 bits; else text. 7.0 is
    the integer 7.

What can be taken in two ways is asked about (`doubts.py`).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.files.doubts import (
    contents_of,
    known_names,
    refuse_bipartite_comment,
    refuse_doubtful_columns,
    refuse_strange_header,
    refuse_times,
    refuse_two_kinds,
    refuse_two_spellings,
)
from graphsqueak.sources.files.fields import (
    choose_columns,
    find_fault,
    find_separator,
    is_number,
    names_columns,
    refuse_unknown_separator,
    split_fields,
)
from graphsqueak.sources.files.scan import gather_tokens, scan_bytes
from graphsqueak.sources.files.suggestions import Content

__all__ = ["Dialect", "Scan", "detect_dialect", "scan_block", "tokens_at"]

_N_LINES = 200  # lines looked at one by one
_ROLES = {"skip": 0, "source": 1, "target": 2, "weight": 3, "time": 4}
_FEW_LINES = 3  # from which a habit of the ids can be told
_SHORTEST_LINE = 4  # bytes: "1 2\n"
_MISSING = (b"", b"na", b"n/a", b"nan", b"null", b"none", b"-", b"?")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Dialect:
    """The shape of a text file of edges.

    Attributes
    ----------
    separator : str, one character, or "" for runs of blanks
    roles : tuple of {"source", "target", "weight", "time", "skip"}
        One per column.
    kind : {"int64", "uint64", "text"}, what the ids are
    canonical : bool
        Whether integers such as 007 and +7 are refused.
    comments : tuple of str
        Characters that begin a comment line.
    start : int
        Bytes before the first line of data (byte order mark, header).
    first_line : int
        Number of that line, counted from 1.
    is_named : bool
        Whether a header or a comment names the columns.
    names : tuple of those names, or None
    are_distances : bool
        Whether weights are distances, none of which may be zero.
    """

    separator: str
    roles: tuple
    kind: str
    canonical: bool
    comments: tuple
    start: int
    first_line: int
    is_named: bool = True
    names: tuple | None = None
    are_distances: bool = False

    @property
    def columns(self):
        """Names, or numbers, of source, target and weight."""
        named = {role: self.names[k] if self.names else k for k, role in enumerate(self.roles)}
        return tuple(named[role] for role in ("source", "target", "weight") if role in named)


class Scan(NamedTuple):
    """What one block of lines holds."""

    ends: np.ndarray  # (n, 2) integers, or (n, 4): start, stop of the source, then of the target
    weight: np.ndarray | None
    n_lines: int
    n_bad: int
    bad_line: int  # index of the first bad line in the block, -1 if none
    bad_start: int  # its first byte
    time: np.ndarray | None = None  # (n, 2): start, stop of its text


def detect_dialect(sample, options, *, name, kind=None, names_before=()):
    """Guess the `Dialect` of a file from `sample`, its first lines (bytes, whole lines).

    Parameters
    ----------
    sample : bytes
        The beginning of the file, up to a line end or the end of the file.
    options : ReadOptions
        What the user has set.
    name : str
        The file's name, for messages.
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if it is known already.
    names_before : tuple of str
        Of the columns of an earlier file of the same stream, if it had a header.

    Returns
    -------
    Dialect or None
        None if the sample holds no line of data.
    """
    offset = len(_BOM) if sample.startswith(_BOM) else 0
    rows, comments = _first_rows(sample, offset, options.comments)
    if not rows:
        return None
    lines = [line for _, _, line in rows]
    separator = find_separator(lines) if options.delimiter == "auto" else options.delimiter
    fields = [split_fields(line, separator) or [] for line in lines]
    commented = [
        field.decode("utf-8", "replace") for field in split_fields(comments[-1], separator) or []
    ]
    named_above = len(commented) == len(fields[0]) and names_columns(commented)
    is_header = options.header
    names = None
    try:
        if options.delimiter == "auto" and len(fields[0]) == 1:
            refuse_unknown_separator(lines)
        if options.header is not False and _lacks_name_of_row_names(fields):
            fields[0] = [b"", *fields[0]]
        if is_header == "auto":
            given = (*(options.columns or names_before), options.time)
            is_header = not named_above and _has_header(fields, given)
        if is_header and (options.header == "auto" or not all(map(is_number, fields[0]))):
            names = [field.decode("utf-8", "replace") for field in fields[0]]
        elif named_above:
            names = commented
        n_columns = len(fields[0])
        contents = contents_of(fields[is_header:], n_columns)
        if kind is not None:
            # What the columns are was settled by the first file; this one may be a few lines.
            contents = [c if c is Content.NOTHING else Content.TEXTS for c in contents]
        roles = choose_columns(
            n_columns,
            names,
            columns=options.columns,
            weighted=options.weighted,
            time=options.time,
            weights_are=options.weights_are,
            contents=contents,
        )
        is_guess = options.columns is None and options.time is None
        if kind is None and names is None and len(roles) == 3 and is_guess:
            weighted = options.weighted if options.weights_are is None else True
            refuse_doubtful_columns(fields, roles, weighted=weighted)
    except InputError as error:
        raise InputError(f"{name}, line {rows[0][1]}: ", error) from None
    start, first_line, _ = rows[0]
    if is_header:
        start, first_line = sample.find(b"\n", start) + 1 or len(sample), first_line + 1
    dialect = Dialect(
        separator,
        roles,
        "int64",
        options.ids != "integer",
        tuple(options.comments),
        start,
        first_line,
        is_named=is_header or named_above,
        names=names and tuple(names),
        are_distances=options.weights_are == "distance",
    )
    dialect = replace(dialect, kind=kind or _id_kind(sample[start:], dialect, options.ids))
    if kind is None:
        try:
            _refuse_doubts(sample[start:], lines[0], comments[0], dialect, options)
        except InputError as error:
            raise InputError(f"{name}: ", error) from None
    return dialect


def scan_block(block, dialect, *, skip_bad):
    """Scan a block of whole lines.

    Parameters
    ----------
    block : ndarray of uint8
        Ends in a newline. Doubled quotes are resolved in place.
    dialect : Dialect
        Separator, roles of the columns, kind of the ids.
    skip_bad : bool
        Go on after a bad line; otherwise the scan ends at the first one.

    Returns
    -------
    Scan
        uint64 ids are returned as the int64 of the same bits.
    """
    is_text = dialect.kind == "text"
    roles = np.array([_ROLES[role] for role in dialect.roles], dtype=np.uint8)
    capacity = block.size // _SHORTEST_LINE + 1
    ends = np.empty((capacity, 4 if is_text else 2), dtype=np.int64)
    weight = np.empty(capacity if "weight" in dialect.roles else 0)
    hard = np.empty((weight.size, 3), dtype=np.int64)
    time = np.empty((capacity if "time" in dialect.roles else 0, 2), dtype=np.int64)
    is_comment = np.zeros(256, dtype=np.bool_)
    is_comment[[ord(mark) for mark in dialect.comments]] = True
    separator = ord(dialect.separator) if dialect.separator else 0
    n, n_lines, n_bad, bad_line, bad_start, n_hard = scan_bytes(
        block,
        np.uint8(separator),
        roles,
        is_comment,
        is_text,
        dialect.kind == "uint64",
        dialect.canonical,
        skip_bad,
        ends,
        weight,
        hard,
        time,
    )
    if n_hard:
        edge, start, stop = hard[:n_hard].T
        weight[edge] = tokens_at(block, start, stop).cast("float64").to_numpy(zero_copy_only=False)
    weight, time = (column[:n] if column.size else None for column in (weight, time))
    return Scan(ends[:n], weight, n_lines, n_bad, bad_line, bad_start, time)


def tokens_at(block, start, stop):
    """The texts block[start:stop] as an Arrow array."""
    import pyarrow as pa

    offsets = np.zeros(start.size + 1, dtype=np.int64)
    np.cumsum(stop - start, out=offsets[1:])
    text = np.empty(offsets[-1], dtype=np.uint8)
    gather_tokens(block, start, stop, text)
    return pa.LargeStringArray.from_buffers(start.size, pa.py_buffer(offsets), pa.py_buffer(text))


def _first_rows(sample, offset, comments):
    """Up to _N_LINES lines of data as (start, line number, bytes), and the comments before them."""
    marks = tuple(mark.encode() for mark in comments)
    rows = []
    remarks = []
    number = 0
    while offset < len(sample) and len(rows) < _N_LINES:
        stop = sample.find(b"\n", offset)
        stop = len(sample) if stop < 0 else stop
        line = sample[offset:stop].removesuffix(b"\r")
        number += 1
        text = line.lstrip(b" \t")
        if text.startswith(marks):
            if not rows:
                remarks.append(text[1:].strip())
        elif text:
            rows.append((offset, number, line))
        offset = stop + 1
    return rows, remarks or [b""]


def _has_header(fields, columns):
    """Whether the first of the sampled lines names the columns, some of which may be chosen."""
    first, rest = fields[0], fields[1:]
    names = [field.decode("utf-8", "replace") for field in first]
    chosen = [column for column in columns or () if isinstance(column, str)]
    if chosen and set(chosen) <= set(names):
        return True
    again = next((field for row in rest for field in row if field in first), None)
    if names_columns(names):
        is_ours = names[:2] == ["source", "target"]  # as `write_edges` begins a file
        if again is not None and not is_number(again) and not is_ours:
            raise InputError(
                f"the first line, {', '.join(names)}, may name the columns or be an edge, "
                f"since {again.decode('utf-8', 'replace')!r} occurs below; give ",
                Parameter("header", True),
                " or ",
                Parameter("header", False),
            )
        return True
    if not any(map(is_number, first)) and again is None and known_names(names):
        return True
    if not rest or len(first) < 2:
        return False
    if not first[0] and all(row and row[0] for row in rest):
        return True  # an index, which nobody has named
    if not any(map(is_number, first[:2])) and _all_ends(rest, is_number):
        return True
    if len(rest) >= _FEW_LINES and not any(map(_has_digit, first[:2])):
        if _all_ends(rest, _has_digit):
            return True
    elif len(rest) >= _FEW_LINES and first == [b"%d" % k for k in range(len(first))]:
        return _all_ends(rest, lambda field: not is_number(field))
    if len(first) < 3 or any(len(row) != len(first) for row in rest):
        return False
    # A line with a number, or without a value, is an edge whose weight is missing.
    if any(is_number(field) or field.lower() in _MISSING for field in first):
        return False
    return any(all(is_number(row[column]) for row in rest) for column in range(len(first)))


def _lacks_name_of_row_names(fields):
    """Whether the first line has a name for all columns but the first, as R writes a data frame."""
    first, rest = fields[0], fields[1:]
    is_shorter = bool(rest) and all(len(row) == len(first) + 1 for row in rest)
    return is_shorter and len(first) > 1 and not any(map(is_number, first))


def _all_ends(rows, test):
    return all(len(row) >= 2 and test(row[0]) and test(row[1]) for row in rows)


def _has_digit(field):
    return any(48 <= byte < 58 for byte in field)


def _refuse_doubts(data, line, first_comment, dialect, options):
    """Ask about what the sample leaves open."""
    text = np.frombuffer(bytearray(data + b"\n"), dtype=np.uint8)
    guesses_weight = options.weighted == "auto" and options.columns is None
    guesses_weight &= options.weights_are is None
    if guesses_weight and not dialect.is_named and "weight" in dialect.roles:
        refuse_times(scan_block(text, dialect, skip_bad=True).weight)
    if dialect.kind == "text" and options.header == "auto" and not dialect.is_named:
        refuse_strange_header(line, text, scan_block(text, dialect, skip_bad=True).ends)
    if dialect.kind == "text" and options.ids == "auto":
        spans = scan_block(text, dialect, skip_bad=True).ends.reshape(-1, 2)
        refuse_two_spellings(tokens_at(text, *spans.T))
    if dialect.kind != "text" and options.bipartite == "auto":
        refuse_bipartite_comment(first_comment)
        if dialect.names:
            refuse_two_kinds(dialect.columns[:2])


def _id_kind(data, dialect, ids):
    """Integer kinds are tried first; a line that fails for another reason speaks for neither."""
    if ids == "text":
        return "text"
    whole = data if data.endswith(b"\n") else data + b"\n"
    block = np.frombuffer(bytearray(whole), dtype=np.uint8)
    for kind in ("int64", "uint64"):
        trial = replace(dialect, kind=kind)
        if not _refutes_ids(block, trial):
            return kind
    return "int64" if ids == "integer" else "text"


def _refutes_ids(block, dialect):
    """Whether some line of the block holds an id that the dialect's kind cannot.

    Lines that are bad in another way are passed over; after many of them the answer is no.
    """
    for _ in range(_N_LINES):
        scan = scan_block(block, dialect, skip_bad=False)
        if scan.bad_line < 0:
            return False
        block = block[scan.bad_start :]
        stop = int(np.argmax(block == ord("\n")))
        topic, _ = find_fault(block[:stop].tobytes().removesuffix(b"\r"), dialect)
        if topic == "id":
            return True
        block = block[stop + 1 :]
    return False
