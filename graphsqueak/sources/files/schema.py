"""Detect the schema of a text file of edges from its first lines.

The schema is inferred in the order of the steps below. Each step has its own list of rules, or its
own function, and can be replaced by an argument of the user.

1. separator (`fields.find_separator`)
       The first of tab, semicolon, comma, blanks that splits the sampled lines into the same
       number of fields, at least two, none of them empty.
2. header (`header.HEADER_RULES`)
       Whether the first line names the columns. A comment such as `# FromNodeId ToNodeId` names
       them as well.
3. columns (`columns.choose_columns`)
       By name if the header names them, else the first two and, as weight, the third.
4. ids (`_detect_id_kind`)
       Integers if all sampled ids are integers, written canonically and within 64 bits; else text.
       7.0 is the integer 7.

Tables that can be read in two ways are refused by the rules of `ambiguities.py`.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.files.ambiguities import (
    RULES_FOR_LINES,
    RULES_FOR_UNNAMED_COLUMNS,
    SampledLines,
    UnnamedColumns,
    refuse_ambiguities,
)
from graphsqueak.sources.files.column_names import find_ends
from graphsqueak.sources.files.columns import choose_columns
from graphsqueak.sources.files.contents import Content, contents_of
from graphsqueak.sources.files.fields import (
    find_fault,
    find_separator,
    is_number,
    refuse_unknown_separator,
    split_fields,
)
from graphsqueak.sources.files.header import FirstLine, has_header, lacks_name_of_row_names
from graphsqueak.sources.files.scan import scan_block

# Lines whose fields are compared one by one, in Python. Halved or doubled, no test file is read
# differently.
_N_SAMPLED_LINES = 200
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class TextSchema:
    """The inferred schema of a text file of edges: how its lines are read.

    Attributes
    ----------
    separator : str
        One character, or "" for runs of blanks.
    roles : tuple of {"source", "target", "weight", "time", "skip"}
        One per column.
    kind : {"int64", "uint64", "text"}
        Kind of the ids.
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
    names : tuple of str or None
        These names.
    are_distances : bool
        Whether weights are distances, which may not be zero.
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
        """Names, or positions, of source, target and weight."""
        found = (self.column_of(role) for role in ("source", "target", "weight"))
        return tuple(column for column in found if column is not None)

    def column_of(self, role):
        """Return the name, or the position, of the column of a role; None if there is none."""
        if role not in self.roles:
            return None
        position = self.roles.index(role)
        return self.names[position] if self.names else position

    def may_begin_with_count(self, options):
        """Whether the first line can be "n m", the number of nodes and edges, as well as an edge.

        Parameters
        ----------
        options : ReadOptions
        """
        is_pair = self.kind != "text" and len(self.roles) == 2
        return is_pair and not self.is_named and options.header == "auto"


class _Sample(NamedTuple):
    """The first lines of data, and the comments above them."""

    lines: list[bytes]
    start: int  # first byte of the first line
    line_number: int  # of the first line, from 1
    comments: list[bytes]


class _Header(NamedTuple):
    """Whether the first line is a header, and the names of the columns, if any."""

    is_first_line: bool
    names: list[str] | None
    is_named: bool


def detect_schema(sample, options, *, name, kind=None, names_before=()):
    """Infer the `TextSchema` of a file from `sample`, its first lines (bytes, whole lines).

    Parameters
    ----------
    sample : bytes
        The beginning of the file, up to a line end or the end of the file.
    options : ReadOptions
        What the user has set.
    name : str
        The file's name, for messages.
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if an earlier file of the same stream has decided it. Such a file may be a
        few lines long, and is not checked for ambiguities.
    names_before : tuple of str
        Columns of an earlier file of the same stream, if it had a header.

    Returns
    -------
    TextSchema or None
        None if the sample has no line of data.
    """
    first = _first_lines(sample, options.comments)
    if not first.lines:
        return None
    separator = options.delimiter
    if separator == "auto":
        separator = find_separator(first.lines)
    fields = [split_fields(line, separator) or [] for line in first.lines]
    try:
        if options.delimiter == "auto" and len(fields[0]) == 1:
            refuse_unknown_separator(first.lines)
        header = _detect_header(fields, first.comments, separator, options, names_before)
        roles = _detect_roles(fields, header, options, is_first_file=kind is None)
    except InputError as error:
        raise InputError(f"{name}, line {first.line_number}: ", error) from None
    start = first.start
    if header.is_first_line:
        start = sample.find(b"\n", start) + 1 or len(sample)
    schema = TextSchema(
        separator=separator,
        roles=roles,
        kind=kind or "int64",
        canonical=options.ids != "integer",
        comments=tuple(options.comments),
        start=start,
        first_line=first.line_number + header.is_first_line,
        is_named=header.is_named,
        names=header.names and tuple(header.names),
        are_distances=options.weights_are == "distance",
    )
    # Ambiguities were checked in an earlier file.
    if kind is not None:
        return schema
    text = np.frombuffer(bytearray(sample[start:].removesuffix(b"\n") + b"\n"), dtype=np.uint8)
    schema = replace(schema, kind=_detect_id_kind(text, schema, options.ids))
    lines = SampledLines(
        schema=schema,
        options=options,
        text=text,
        first_line=first.lines[0],
        first_comment=first.comments[0],
    )
    try:
        refuse_ambiguities(RULES_FOR_LINES, lines)
    except InputError as error:
        raise InputError(f"{name}: ", error) from None
    return schema


def _first_lines(sample, comments):
    """Return up to _N_SAMPLED_LINES lines of data, and the comments before them."""
    marks = tuple(mark.encode() for mark in comments)
    lines = []
    remarks = []
    first_start = first_number = number = 0
    offset = len(_BYTE_ORDER_MARK) if sample.startswith(_BYTE_ORDER_MARK) else 0
    while offset < len(sample) and len(lines) < _N_SAMPLED_LINES:
        stop = sample.find(b"\n", offset)
        stop = len(sample) if stop < 0 else stop
        line = sample[offset:stop].removesuffix(b"\r")
        number += 1
        text = line.lstrip(b" \t")
        if text.startswith(marks):
            # Comments below the first line of data do not name columns.
            if not lines:
                remarks.append(text[1:].strip())
        elif text:
            if not lines:
                first_start = offset
                first_number = number
            lines.append(line)
        offset = stop + 1
    # The schema looks at the first and the last comment.
    return _Sample(lines, first_start, first_number, remarks or [b""])


def _detect_header(fields, comments, separator, options, names_before):
    """Return the header of the sampled lines.

    R writes no name for the column of row names; an empty one is added to `fields`.
    """
    # The last comment above the data may name the columns: # FromNodeId ToNodeId.
    commented = _decoded(split_fields(comments[-1], separator) or [])
    is_commented = len(commented) == len(fields[0]) and find_ends(commented) is not None
    if options.header is not False and lacks_name_of_row_names(fields):
        fields[0] = [b"", *fields[0]]
    is_header = options.header
    if is_header == "auto":
        chosen = (*(options.columns or names_before), options.time)
        first = FirstLine(fields[0], below=fields[1:], chosen=chosen)
        is_header = not is_commented and has_header(first)
    names = commented if is_commented else None
    # A first line of numbers that the user calls a header counts nodes and edges.
    if is_header and (options.header == "auto" or not all(map(is_number, fields[0]))):
        names = _decoded(fields[0])
    return _Header(is_header, names, is_named=is_header or is_commented)


def _decoded(fields):
    return [field.decode("utf-8", "replace") for field in fields]


def _detect_roles(fields, header, options, *, is_first_file):
    """Return the role of each column, from the names and contents of the columns."""
    n_columns = len(fields[0])
    contents = contents_of(fields[header.is_first_line :], n_columns)
    if not is_first_file:
        # The first file has decided what the columns are; this one may be a few lines.
        contents = [c if c is Content.NOTHING else Content.TEXTS for c in contents]
    roles = choose_columns(
        n_columns,
        header.names,
        columns=options.columns,
        weighted=options.weighted,
        time=options.time,
        weights_are=options.weights_are,
        contents=contents,
    )
    # Three columns without names can be an edge and its weight, or many other things.
    is_inferred = options.columns is None and options.time is None
    if is_first_file and is_inferred and header.names is None and len(roles) == 3:
        rows = [row for row in fields if len(row) == len(roles)]
        weighted = options.weighted if options.weights_are is None else True
        columns = ([row[k] for row in rows] for k in range(3))
        refuse_ambiguities(RULES_FOR_UNNAMED_COLUMNS, UnnamedColumns(*columns, weighted))
    return roles


def _detect_id_kind(text, schema, ids):
    """Return the kind of the ids: the first kind of integers that no line contradicts, or text."""
    if ids == "text":
        return "text"
    # Hashes of 64 bits need uint64.
    for kind in ("int64", "uint64"):
        if not _refutes_ids(text, replace(schema, kind=kind)):
            return kind
    return "int64" if ids == "integer" else "text"


def _refutes_ids(block, schema):
    """Whether some line of the block has an id that is not of the schema's kind.

    Lines that are bad in another way are skipped, up to a limit.
    """
    for _ in range(_N_SAMPLED_LINES):
        scan = scan_block(block, schema, skip_bad=False)
        if scan.bad_line < 0:
            return False
        block = block[scan.bad_start :]
        stop = int(np.argmax(block == ord("\n")))
        topic, _ = find_fault(block[:stop].tobytes().removesuffix(b"\r"), schema)
        if topic == "id":
            return True
        # Another fault of this line is reported when it is read.
        block = block[stop + 1 :]
    return False
