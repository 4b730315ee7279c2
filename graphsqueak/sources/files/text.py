"""Read a text file of edges, one per line, block by block.

Lines are cut into blocks (`line_blocks`), and each block is scanned by compiled code
(`scan.scan_block`) by the schema that the first lines show (`detect_text_schema`). Rules that
compiled code does not check are applied to the scanned rows: ids are UTF-8, distances are not zero,
and times can be read. `ScannedBlock` holds the result.
"""

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import Chunk, Opened
from graphsqueak.sources.files.column_names import is_index_name
from graphsqueak.sources.files.fields import SMALLEST_DISTANCE, find_fault, is_utf8
from graphsqueak.sources.files.foreign import refuse_binary, refuse_foreign
from graphsqueak.sources.files.inflating import PIECE_BYTES
from graphsqueak.sources.files.scan import Scan, scan_block, tokens_at
from graphsqueak.sources.files.schema import TextSchema, detect_schema
from graphsqueak.sources.times import are_dates, parse_times
from graphsqueak.system.kernels import prefetch_map
from graphsqueak.validation import check_choice

# Bytes of the longest line, and of the comments before the first line of data, that are kept in
# memory. Binary files without zero bytes are refused here. Halved or doubled, so is that memory.
_MAX_LINE_BYTES = 1 << 26
_AUTO = (True, False, "auto")
_CHOICES = {
    "header": _AUTO,
    "weighted": _AUTO,
    "bipartite": _AUTO,
    "ids": ("auto", "integer", "text"),
    "on_bad_line": ("error", "skip"),
    "format": ("auto", "text", "parquet", "arrow", "mtx", "metis"),
    "duplicates": ("sum", "first", "error"),
}


@dataclass(frozen=True)
class ReadOptions:
    """Options of the user about a file; "auto" is detected.

    `block_bytes` of a text file, or `block_rows` of a Parquet or Arrow file, are decoded at a time.
    """

    delimiter: str
    header: bool | str
    weighted: bool | str
    columns: Sequence[int | str] | None
    ids: str
    comments: tuple
    on_bad_line: str
    format: str
    bipartite: bool | str = "auto"
    duplicates: str = "sum"
    time: int | str | None = None
    allowed_lateness: float = 0.0
    weights_are: str | None = None
    times_in_seconds: bool = False
    block_bytes: int = 1 << 21
    block_rows: int = 1 << 17

    def __post_init__(self):
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        if self.weights_are is not None:
            check_choice("weights_are", self.weights_are, ("similarity", "distance"))


class ScannedBlock(NamedTuple):
    """A block of lines and the edges in it.

    Attributes
    ----------
    text : ndarray of uint8
    schema : TextSchema
    scan : Scan
        Weights are inverted if they are distances.
    fraction_read : float
        Fraction of the file up to the end of the block.
    time : ndarray of float or None
    has_dates : bool
        Whether times were written as dates.
    name : str
        Name of the file.
    line_number : int
        Number of the first line in the file, from 1.
    """

    text: np.ndarray
    schema: TextSchema
    scan: Scan
    fraction_read: float
    time: np.ndarray | None = None
    has_dates: bool = False
    name: str = ""
    line_number: int = 1

    def place(self, row):
        """Return the file and the number of the line of an edge."""
        index = _line_index(self.text, self.schema, self.scan, row)
        return f"{self.name}, line {self.line_number + index}"


def read_text(stream, options, *, kind=None, schema=None, names_before=()):
    """Read the lines of a stream.

    Parameters
    ----------
    stream : ByteStream
        At its beginning.
    options : ReadOptions
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if an earlier file of the same input has decided it.
    schema : TextSchema, optional
        Schema of a piece of a file, detected at the beginning of that file.
    names_before : tuple of str
        Columns of an earlier file of the same input, if it had a header.

    Returns
    -------
    Opened
        Its kind is None for a file without a line of data.
    """
    is_whole_file = schema is None
    if is_whole_file:
        refuse_foreign(stream)
        schema = detect_text_schema(stream, options, kind, names_before)
    if schema is None:
        return Opened(None, False, iter(()))
    remarks = () if schema.is_named else ("no header",)
    if schema.names and options.columns is None and is_index_name(schema.names[0], 0):
        remarks += ("the index column skipped",)
    may_begin_with_count = is_whole_file and schema.may_begin_with_count(options)
    return Opened(
        schema.kind,
        "weight" in schema.roles,
        _chunks(stream, schema, options, may_begin_with_count=may_begin_with_count),
        schema.columns,
        remarks,
        time=schema.column_of("time"),
    )


def detect_text_schema(stream, options, kind=None, names_before=()):
    """Return the `TextSchema` of a stream at its beginning; None if it has no line of data."""
    # The first piece of the file is enough, unless it is all comments.
    size = PIECE_BYTES
    while True:
        sample = stream.peek(size)
        refuse_binary(sample, stream.name)
        is_whole = len(sample) < size
        whole_lines = sample if is_whole else sample[: sample.rfind(b"\n") + 1] or sample
        schema = detect_schema(
            whole_lines, options, name=stream.name, kind=kind, names_before=names_before
        )
        if schema is not None or is_whole or size >= _MAX_LINE_BYTES:
            return schema
        size *= 4


def line_blocks(stream, *, skip=0, size=1 << 23):
    """Cut a stream into arrays of about `size` bytes that end with a newline.

    The cuts depend on the bytes alone, not on the pieces in which they arrive. A missing newline at
    the end is added. The first `skip` bytes are left out.

    >>> import io
    >>> from graphsqueak.sources.files.parts import ByteStream
    >>> stream = ByteStream(io.BytesIO(b"1 2 3 4"), name="x")
    >>> [bytes(block) for block in line_blocks(stream, skip=4)]
    [b'3 4\\n']
    """
    buffer = bytearray()
    for piece in stream:
        buffer += piece
        if skip:
            n_dropped = min(skip, len(buffer))
            del buffer[:n_dropped]
            skip -= n_dropped
        while len(buffer) >= size:
            stop = buffer.rfind(b"\n", 0, size) + 1 or buffer.find(b"\n", size) + 1
            if stop == 0:
                break
            # The array keeps the old buffer; the rest of the bytes is copied to a new one.
            block = buffer
            buffer = block[stop:]
            yield np.frombuffer(block, dtype=np.uint8)[:stop]
        if len(buffer) > _MAX_LINE_BYTES:
            raise InputError(
                f"{stream.name} has a line of more than {_MAX_LINE_BYTES >> 20} MiB; it does not "
                "look like a list of edges"
            )
    if buffer:
        if not buffer.endswith(b"\n"):
            buffer += b"\n"
        yield np.frombuffer(buffer, dtype=np.uint8)


def scan_lines(stream, schema, options):
    """Yield a `ScannedBlock` per block of lines; a bad line that is not skipped is an error."""
    skip_bad = options.on_bad_line == "skip"
    texts = line_blocks(stream, skip=schema.start, size=options.block_bytes)
    items = ((text, stream.fraction_read) for text in texts)
    line_number = schema.first_line
    # Decompression takes place in the thread that draws the items.
    n_spare = 0 if stream.is_compressed else 1
    scan_item = partial(_scan_item, schema=schema, skip_bad=skip_bad)
    for block in prefetch_map(scan_item, items, n_spare=n_spare):
        scan = block.scan
        if scan.bad_line >= 0 and not skip_bad:
            line = block.text.tobytes().split(b"\n")[scan.bad_line].removesuffix(b"\r")
            _, fault = find_fault(line, schema)
            raise InputError(f"{stream.name}, line {line_number + scan.bad_line}: ", fault)
        yield block._replace(name=stream.name, line_number=line_number)
        line_number += scan.n_lines


def _scan_item(item, schema, *, skip_bad):
    """Scan a block of lines, and check what compiled code does not check."""
    text, fraction_read = item
    scan = scan_block(text, schema, skip_bad=skip_bad)
    time = None
    has_dates = False
    good = np.ones(len(scan.ends), dtype=np.bool_)
    # Comments may hold any bytes.
    if schema.kind == "text" and text.max() >= 128 and not is_utf8(text):
        are_utf8 = [is_utf8(text[a:b]) and is_utf8(text[c:d]) for a, b, c, d in scan.ends]
        good &= np.array(are_utf8, dtype=np.bool_)
    if schema.are_distances:
        good &= scan.weight >= SMALLEST_DISTANCE
    if scan.time is not None:
        tokens = tokens_at(text, *scan.time.T)
        time = parse_times(tokens)
        has_dates = are_dates(tokens)
        good &= ~np.isnan(time)
    if not good.all():
        if not skip_bad:
            bad_line = _line_index(text, schema, scan, int(np.argmin(good)))
            return ScannedBlock(text, schema, scan._replace(bad_line=bad_line), fraction_read)
        scan = scan.select(good)
        time = None if time is None else time[good]
    if schema.are_distances:
        scan = scan._replace(weight=1 / scan.weight)
    return ScannedBlock(text, schema, scan, fraction_read, time, has_dates)


def _line_index(text, schema, scan, row):
    """Return the index, from 0, of the line of an edge of a scanned block."""
    if schema.kind == "text":
        start = scan.ends[row, 0]
    elif scan.time is not None:
        start = scan.time[row, 0]
    else:
        # The places of integers are not recorded. The first lines with more than `row` edges are
        # found by bisection; this is needed for error messages only.
        stops = np.flatnonzero(text == ord("\n")) + 1
        return bisect.bisect_right(
            stops, row, key=lambda stop: len(scan_block(text[:stop], schema, skip_bad=True).ends)
        )
    return int(np.count_nonzero(text[:start] == ord("\n")))


def _chunks(stream, schema, options, *, may_begin_with_count):
    # The first line is "n m" if m lines follow, and no id in them exceeds n.
    first = None
    n_following = 0
    for block in scan_lines(stream, schema, options):
        ends = block.scan.ends
        if may_begin_with_count and len(ends):
            if first is None:
                first = ends[0].tolist()
                ends = ends[1:]
            n_following += len(ends)
            may_begin_with_count = n_following <= first[1] and ends.max(initial=0) <= first[0]
        yield Chunk(
            block.scan.ends,
            block.scan.weight,
            text=block.text if schema.kind == "text" else None,
            n_bad_lines=block.scan.n_bad,
            fraction_read=block.fraction_read,
            time=block.time,
            has_dates=block.has_dates,
            where=block.place,
        )
    if may_begin_with_count and first and n_following == first[1] > 0:
        raise ambiguous_count_error(stream.name, *first)


def ambiguous_count_error(name, n_nodes, n_lines):
    """Return the error about a first line that is an edge, or counts nodes and lines."""
    return InputError(
        f"{name}: its first line, '{n_nodes} {n_lines}', may be an edge or count the nodes and "
        "edges that follow; give ",
        Parameter("header", True),
        " to skip it, ",
        Parameter("header", False),
        " to keep it",
    )
