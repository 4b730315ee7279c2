"""Cut an input into pieces of about the same size, each a stream that can be read on any machine.

A piece is some files of a folder or glob, some row groups of a Parquet file, or a range of bytes of
a plain text file that begins and ends with a line, on disk or at an address. What only the first
lines of an input show (separator, columns, kind of ids, weights) is detected once, here, and passed
to every piece. The pieces depend only on the input and on `n_parts`.
"""

import io
from dataclasses import replace
from itertools import pairwise

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.inflating import PIECE_BYTES
from graphsqueak.sources.files.reading import FileSource, detect_format
from graphsqueak.sources.files.scan import scan_block
from graphsqueak.sources.files.text import ambiguous_count_error, detect_text_schema

# Pieces of an input from 128 MiB to 4 GiB: enough for the cores of one machine. Not
# measured: with half as many, some of 16 cores are idle; with twice as many, more is merged.
_N_PARTS = 16
# Bytes of the smallest and of the largest piece. A smaller one costs more to start than to read; a
# larger one takes long to repeat if a worker fails. Not measured: they only change the number of
# pieces.
_PIECE_LIMITS = (1 << 23, 1 << 28)


def split(
    source: EdgeList | EdgeSource, n_parts: int | None = None
) -> list[EdgeList] | list[FileSource]:
    """Cut a graph into pieces, in order, which together contain each edge once.

    Parameters
    ----------
    source : EdgeSource of files, or EdgeList
        What `read_edges` returns, or a graph in memory.
    n_parts : int, optional
        Approximate number of pieces. A file that cannot be cut, such as compressed text, stays
        whole. Default: 16, but pieces of at least 8 MiB and at most 256 MiB.

    Examples
    --------
    >>> [piece.n_edges for piece in split(EdgeList(tail=[0, 1, 2], head=[1, 2, 3]), 2)]
    [1, 2]
    """
    if isinstance(source, EdgeList):
        n_bytes = source.tail.nbytes + source.head.nbytes + source.weight.nbytes
        n_parts = n_parts or _default_n_parts(n_bytes)
        # The parts are views of the arrays.
        cuts = np.linspace(0, source.n_edges, n_parts + 1).astype(np.int64).tolist()
        return [source.part(*cut) for cut in pairwise(cuts)]
    if not isinstance(source, FileSource) or not source.is_rereadable:
        raise InputError(
            "only files and graphs in memory can be cut into parts, and a pipe cannot; write the "
            "edges to files first"
        )
    if not source.is_materialized:
        raise InputError(
            "an entity-attribute table is grouped by attribute and cannot be cut into parts; its "
            "sampled edges are few: omit workers, scheduler and tree"
        )
    if source.options.duplicates != "sum":
        raise InputError(
            Parameter("duplicates", source.options.duplicates),
            " needs the input in one piece; leave workers, scheduler and tree away",
        )
    if not all(part.path or part.remote for part in source.parts):
        raise InputError(
            "a table cannot be cut into parts; write it to files first, or hold its edges: "
            "read_edges(...).to_edge_list()"
        )
    # Pieces of one size: large files are cut, and small ones joined to groups.
    schema = source.detect_schema()
    sizes = [part.n_bytes() for part in source.parts]
    piece_size = max(sum(sizes) / (n_parts or _default_n_parts(sum(sizes))), 1)
    groups = []
    # Bytes by which the last group is smaller than a piece.
    n_free = 0.0
    for part, n_bytes in zip(source.parts, sizes, strict=True):
        if part.path is not None:
            # Workers may have another working directory.
            part = replace(part, path=part.path.resolve())
        pieces = _cut(part, round(n_bytes / piece_size), source.options, schema)
        # A file that was cut shares no piece with others.
        if len(pieces) > 1:
            groups += [[piece] for piece in pieces]
            n_free = 0.0
        elif n_bytes > n_free:
            groups.append(pieces)
            n_free = piece_size - n_bytes
        else:
            groups[-1] += pieces
            n_free -= n_bytes
    return [
        FileSource(group, source.options, batch_size=source.batch_size, schema=schema)
        for group in groups
    ]


def unread(piece: EdgeList | EdgeSource) -> EdgeList | EdgeSource:
    """Return a piece without the ids and samples that a pass over it has collected.

    Such a piece is small to send to a worker.

    Parameters
    ----------
    piece : EdgeList or EdgeSource
        Other than the pieces of `split`, it is returned as it is.
    """
    if type(piece) is not FileSource or not piece.is_rereadable:
        return piece
    schema = piece.detect_schema()
    return FileSource(piece.parts, piece.options, batch_size=piece.batch_size, schema=schema)


def _default_n_parts(n_bytes):
    smallest, largest = _PIECE_LIMITS
    at_most = n_bytes // smallest
    at_least = max(-(-n_bytes // largest), 1)
    return max(min(_N_PARTS, at_most), at_least)


def _cut(part, n_pieces, options, schema):
    """Return `n_pieces` parts of one file, or the file if it cannot be cut."""
    if n_pieces < 2:
        return [part]
    with part.open() as stream:
        form = detect_format(stream, part, options)
        if form == "text" and not stream.is_compressed:
            text_schema = detect_text_schema(stream, options, schema.kind, schema.columns)
            if text_schema is None:
                return [part]
            if text_schema.may_begin_with_count(options):
                # A piece cannot check it: it does not see all lines.
                _refuse_count(stream.peek(0), part, text_schema)
            return _cut_text(part, n_pieces, text_schema)
    return _cut_parquet(part, n_pieces) if form == "parquet" else [part]


def _cut_parquet(part, n_pieces):
    import pyarrow.parquet as pq

    with part.open_raw() as raw, pq.ParquetFile(raw) as file:
        n_groups = file.num_row_groups
    return [
        replace(part, name=f"{part.name}, row groups {start} to {stop - 1}", span=(start, stop))
        for start, stop in pairwise(_even_cuts(n_groups, n_pieces))
    ]


def _cut_text(part, n_pieces, schema):
    """Return ranges of bytes, moved to the next line ends; only the first skips a header."""
    n_bytes = part.n_bytes()
    cuts = _even_cuts(n_bytes, n_pieces)
    with part.open_raw() as raw:
        ends = [_next_line(raw, offset) for offset in cuts[1:-1]]
    return [
        replace(
            part,
            name=f"{part.name}, bytes {start:,} to {stop:,}",
            span=(start, stop),
            # Line numbers in messages count from the start of the piece.
            text_schema=schema if start == 0 else replace(schema, start=0, first_line=1),
        )
        for start, stop in pairwise(np.unique([0, *ends, n_bytes]).tolist())
    ]


def _even_cuts(size, n_pieces):
    """Return the ends of pieces of equal size, from 0 to `size`."""
    return np.unique(np.linspace(0, size, n_pieces + 1).astype(np.int64)).tolist()


def _next_line(raw, offset):
    """Return the start of the first line that begins at `offset` or later."""
    raw.seek(offset - 1)
    # A raw file would read single bytes. The buffer must not close it.
    file = io.BufferedReader(raw, PIECE_BYTES)
    file.readline()
    position = file.tell()
    file.detach()
    return position


def _refuse_count(sample, part, schema):
    """Raise an InputError if the first line may count the nodes and lines of a file."""
    lines = sample[schema.start : sample.rfind(b"\n") + 1]
    ends = scan_block(np.frombuffer(bytearray(lines), np.uint8), schema, skip_bad=True).ends
    if len(ends) < 2:
        return
    n_nodes, n_lines = ends[0].tolist()
    # The sample stands for the whole file.
    expected = part.n_bytes() * len(ends) / len(lines)
    if expected / 2 < n_lines < 2 * expected and ends[1:].max() <= n_nodes:
        raise ambiguous_count_error(part.name, n_nodes, n_lines)
