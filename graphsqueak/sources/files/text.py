"""Read a text file of edges, one line each, block by block."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import Chunk, Opened
from graphsqueak.sources.files.column_names import is_index_name
from graphsqueak.sources.files.fields import (
    SMALLEST_DISTANCE,
    find_fault,
    is_utf8,
)
from graphsqueak.sources.files.scan import Scan, scan_block, tokens_at
from graphsqueak.sources.files.schema import BYTE_ORDER_MARK, detect_schema
from graphsqueak.sources.times import are_dates, parse_times
from graphsqueak.system.kernels import prefetch_map

__all__ = [
    "ReadOptions",
    "ScannedBlock",
    "doubtful_count_error",
    "first_look",
    "line_blocks",
    "read_text",
    "row_start",
    "scan_lines",
]

_SAMPLE = 1 << 20
_LONGEST_PREAMBLE = _LONGEST_LINE = 1 << 26
_NEWLINE = "\n"
_FOREIGN = {
    ".graphml": ("GraphML", "read_graphml"),
    ".gexf": ("GEXF", "read_gexf"),
    ".gml": ("GML", "read_gml"),
    ".net": ("a Pajek file", "read_pajek"),
}


@dataclass(frozen=True)
class ReadOptions:
    """What the user has set about a file, where "auto" is for the reader to find out.

    `block_bytes` of text or `block_rows` of a Parquet or Arrow file are decoded at a time.
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


class ScannedBlock(NamedTuple):
    """Lines of a file, what they hold, the number of the first, and how far the file is read."""

    text: np.ndarray
    scan: Scan
    line_number: int
    fraction_read: float
    time: np.ndarray | None = None
    has_dates: bool = False


def read_text(stream, options, *, kind=None, schema=None, names_before=()):
    """Read the lines of `stream`.

    Parameters
    ----------
    stream : ByteStream
        At its beginning.
    options : ReadOptions
        What the user has set.
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if earlier files of the same stream have settled it.
    schema : TextSchema, optional
        Of a piece of a file, whose beginning says what it is.
    names_before : tuple of str
        Of the columns of an earlier file of the same stream, if it had a header.

    Returns
    -------
    Opened
        Its kind is None for a file without a line of data.
    """
    if schema is None:
        _refuse_foreign(stream)
    doubts = schema is None and options.header == "auto"
    if schema is None:
        schema = first_look(stream, options, kind, names_before)
    if schema is None:
        return Opened(None, False, iter(()))
    doubts &= schema.kind != "text" and len(schema.roles) == 2 and not schema.is_named
    remarks = () if schema.is_named else ("no header",)
    if schema.names and options.columns is None and is_index_name(schema.names[0], 0):
        remarks += ("the index column skipped",)
    return Opened(
        schema.kind,
        "weight" in schema.roles,
        _chunks(stream, schema, options, doubts),
        schema.columns,
        remarks,
        time=next((name for name, role in _named_roles(schema) if role == "time"), None),
    )


def _named_roles(schema):
    names = schema.names or range(len(schema.roles))
    return zip(names, schema.roles, strict=True)


def line_blocks(stream, *, skip=0, size=1 << 23):
    """Cut a stream into arrays of about `size` bytes that end with a newline.

    The cuts depend on the bytes alone, not on the pieces they come in. A missing newline at the
    end is added; the first `skip` bytes are left out.

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
            dropped = min(skip, len(buffer))
            del buffer[:dropped]
            skip -= dropped
        while len(buffer) >= size:
            cut = buffer.rfind(b"\n", 0, size) + 1 or buffer.find(b"\n", size) + 1
            if cut == 0:
                break
            block, buffer = buffer, buffer[cut:]
            yield np.frombuffer(block, dtype=np.uint8)[:cut]
        if len(buffer) > _LONGEST_LINE:
            raise InputError(
                f"{stream.name} has a line of more than {_LONGEST_LINE >> 20} MiB; it does not "
                "look like a list of edges"
            )
    if buffer:
        if not buffer.endswith(b"\n"):
            buffer += b"\n"
        yield np.frombuffer(buffer, dtype=np.uint8)


def first_look(stream, options, kind=None, names_before=()):
    """The `TextSchema` of a stream at its beginning; None if it holds no line of data."""
    size = _SAMPLE
    while True:
        sample = stream.peek(size)
        _refuse_binary(sample, stream.name)
        is_whole = len(sample) < size
        whole_lines = sample if is_whole else sample[: sample.rfind(b"\n") + 1] or sample
        schema = detect_schema(
            whole_lines, options, name=stream.name, kind=kind, names_before=names_before
        )
        if schema is not None or is_whole or size >= _LONGEST_PREAMBLE:
            return schema
        size *= 4


def _refuse_foreign(stream):
    """Say of another kind of file what it is, and how to make edges of it."""
    name = stream.name
    form, reader = _FOREIGN.get(Path(name.lower()).suffix, (None, None))
    if reader is not None:
        raise InputError(
            f"{name} is {form}, which is not read; in Python, convert it: write_edges(EdgeList"
            f".from_networkx(networkx.Graph(networkx.{reader}({name!r}))), 'edges.tsv')"
        )
    begins = stream.peek(_SAMPLE)[:1000].lstrip().lower()
    if re.search(rb"^p (edge|col|sp|max|cut) +\d+ +\d+ *\r?$", begins, re.MULTILINE):
        raise InputError(
            f"{name} is a DIMACS file, which is not read; pass its edges alone: "
            f"grep '^[ae] ' {shlex.quote(name)} | cut -d ' ' -f 2- | graphsqueak info -"
        )
    if begins.removeprefix(BYTE_ORDER_MARK).startswith(b"sep="):
        raise InputError(
            f"{name} begins with a line for Excel, 'sep='; remove it: "
            f"tail -n +2 {shlex.quote(name)} | graphsqueak info -"
        )
    if begins.startswith((b"<!doctype html", b"<html")):
        raise InputError(f"{name} is a page of HTML, not a list of edges; download the file itself")
    if begins.startswith(b"<?xml"):
        raise InputError(f"{name} is XML, which is not read; write a line 'source,target' per edge")
    if Path(name.lower()).suffix in (".json", ".jsonl") or begins.startswith((b"{", b"[")):
        raise InputError(
            f"{name} is JSON, which is not read; write a line 'source,target' per edge, e.g. with "
            "jq -r '.links[] | [.source, .target] | @csv'"
        )


def _refuse_binary(sample, name):
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name} is UTF-16 text; convert it to UTF-8 (iconv -f utf-16 -t utf-8)")
    if b"\0" in sample:
        raise InputError(
            f"{name} is neither text nor a known format (Parquet, Arrow, gzip, zstd, bzip2); "
            "convert it to one of these"
        )
    if b"\r" in sample and b"\n" not in sample:
        raise InputError(
            f"{name} ends its lines with carriage returns alone; convert them (tr '\\r' '\\n')"
        )


def _chunks(stream, schema, options, doubts):
    doubt = _CountDoubt() if doubts else None
    for block in scan_lines(stream, schema, options):
        if doubt and not doubt.remains(block.scan.ends):
            doubt = None
        yield Chunk(
            block.scan.ends,
            block.scan.weight,
            text=block.text if schema.kind == "text" else None,
            n_bad_lines=block.scan.n_bad,
            fraction_read=block.fraction_read,
            time=block.time,
            has_dates=block.has_dates,
            where=partial(_where, stream.name, block),
        )
    if doubt and doubt.is_exact:
        raise doubtful_count_error(stream.name, f"{doubt.n_nodes} {doubt.n_lines}")


def doubtful_count_error(name, line):
    """What to say of a first line that may count nodes and lines."""
    return InputError(
        f"{name}: its first line, '{line}', may be an edge or count the nodes and "
        "edges that follow; give ",
        Parameter("header", True),
        " to skip it, ",
        Parameter("header", False),
        " to keep it",
    )


class _CountDoubt:
    """Whether the first line could be "n m": m lines follow, and no id in them exceeds n."""

    def __init__(self):
        self.n_nodes = None
        self.n_lines = self._n_seen = 0

    def remains(self, ends):
        """Take the next lines; False once the first line cannot be a count."""
        if self.n_nodes is None and len(ends):
            self.n_nodes, self.n_lines = ends[0].tolist()
            ends = ends[1:]
        self._n_seen += len(ends)
        return self._n_seen <= self.n_lines and ends.max(initial=0) <= (self.n_nodes or 0)

    @property
    def is_exact(self):
        return self._n_seen == self.n_lines > 0


def scan_lines(stream, schema, options):
    """Yield a `ScannedBlock` after the other; a bad line that is not skipped is an error."""
    skip_bad = options.on_bad_line == "skip"

    def work(drawn):
        text, fraction = drawn
        scan = scan_block(text, schema, skip_bad=skip_bad)
        if schema.kind == "text" and text.max() >= 128:
            scan = _without_broken_text(text, scan, skip_bad=skip_bad)
        if schema.are_distances and scan.weight is not None:
            scan = _without_zero_distances(text, scan, schema, skip_bad=skip_bad)
        time = None
        has_dates = False
        if scan.time is not None:
            tokens = tokens_at(text, *scan.time.T)
            time = parse_times(tokens)
            has_dates = are_dates(tokens)
            good = ~np.isnan(time)
            scan, time = _without_bad(text, scan, good, scan.time[:, 0], skip_bad), time[good]
        return text, scan, fraction, time, has_dates

    texts = line_blocks(stream, skip=schema.start, size=options.block_bytes)
    blocks = ((text, stream.fraction_read) for text in texts)
    line_number = schema.first_line
    n_spare = 0 if stream.is_compressed else 1  # inflating takes a thread as well
    for text, scan, fraction, time, has_dates in prefetch_map(work, blocks, n_spare=n_spare):
        if scan.bad_line >= 0 and not skip_bad:
            line = text[scan.bad_start :].tobytes().partition(b"\n")[0].removesuffix(b"\r")
            _, fault = find_fault(line, schema)
            raise InputError(f"{stream.name}, line {line_number + scan.bad_line}: ", fault)
        yield ScannedBlock(text, scan, line_number, fraction, time, has_dates)
        line_number += scan.n_lines


def _without_broken_text(text, scan, *, skip_bad):
    """Treat lines whose ids are not UTF-8 as bad; comments may hold any bytes."""
    if is_utf8(text):
        return scan
    good = np.array([is_utf8(text[a:b]) and is_utf8(text[c:d]) for a, b, c, d in scan.ends])
    return _without_bad(text, scan, good, scan.ends[:, 0], skip_bad)


def _without_zero_distances(text, scan, schema, *, skip_bad):
    """Treat lines of distance zero as bad, and turn the other distances into weights."""
    good = scan.weight >= SMALLEST_DISTANCE
    if not good.all() and not skip_bad:
        row = int(np.argmin(good))
        start = (
            row_start(text.tobytes(), row, schema) if scan.ends.shape[1] == 2 else scan.ends[row, 0]
        )
        return _with_bad_line(text, scan, start)
    scan = _without_bad(text, scan, good, None, skip_bad)
    return scan._replace(weight=1 / scan.weight)


def row_start(text, row, schema):
    """The first byte of the line of `text` that holds the `row`-th good line of data, from 0."""
    marks = tuple(mark.encode() for mark in schema.comments)
    any_distance = replace(schema, are_distances=False)
    start = 0
    for line in text.split(b"\n"):
        stripped = line.strip()
        is_data = stripped and not stripped.startswith(marks)
        if is_data and find_fault(line.removesuffix(b"\r"), any_distance) is None:
            if row == 0:
                return start
            row -= 1
        start += len(line) + 1
    raise IndexError(row)


def _with_bad_line(text, scan, start):
    """The scan with the line that holds byte `start` as its first bad one."""
    before = text[:start].tobytes()
    return scan._replace(bad_line=before.count(b"\n"), bad_start=before.rfind(b"\n") + 1)


def _without_bad(text, scan, good, starts, skip_bad):
    """The scan without rows that are not good, or with the first of them as its bad line.

    `starts` are the first bytes of something in every row.
    """
    if good.all():
        return scan
    if skip_bad:
        kept = {"ends": scan.ends[good], "n_bad": scan.n_bad + int(np.count_nonzero(~good))}
        more = {"weight": scan.weight, "time": scan.time}
        kept |= {name: column[good] for name, column in more.items() if column is not None}
        return scan._replace(**kept)
    return _with_bad_line(text, scan, starts[np.argmin(good)])


def _where(name, block, row):
    """In which line of a file a row of a block is."""
    before = block.text[: block.scan.time[row, 0]]
    return f"{name}, line {block.line_number + np.count_nonzero(before == ord(_NEWLINE))}"
