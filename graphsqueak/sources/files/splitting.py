"""Cut an input into pieces of about the same size, each a stream that can be read anywhere.

A piece is some files of a folder or glob, or some row groups of a Parquet file, or a range of bytes
of a plain text file that begins and ends with a line, on disk or at an address. What only the
first lines of an input tell (separator, columns, kind of ids, weights or none) is found once, here,
and handed to every piece. The pieces depend on the input and on `n_parts` alone, not on who is
going to read them.
"""

import os
from dataclasses import replace
from itertools import pairwise

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.reading import FileSource, detect_format
from graphsqueak.sources.files.text import doubtful_count_error, first_look

__all__ = ["split", "unread"]

_N_PARTS = 16  # pieces of a middling input
_LEAST, _MOST = 1 << 23, 1 << 28  # bytes of a piece, unless n_parts says otherwise
_EDGE = 16  # bytes of an edge in memory
_LOOK = 1 << 16


def split(
    source: EdgeList | EdgeSource, n_parts: int | None = None
) -> list[EdgeList] | list[FileSource]:
    """Pieces of a graph, in order; together they hold each edge once.

    Parameters
    ----------
    source : EdgeSource of files, or EdgeList
        What `read_edges` gives, or a graph in memory.
    n_parts : int, optional
        About how many; a file that cannot be cut, compressed text for one, stays whole. Default:
        16, but pieces of 8 MiB at least and 256 MiB at most, so that a large input has more.

    Examples
    --------
    >>> [piece.n_edges for piece in split(EdgeList(tail=[0, 1, 2], head=[1, 2, 3]), 2)]
    [1, 2]
    """
    if isinstance(source, EdgeList):
        n_parts = n_parts or _count(_EDGE * source.n_edges)
        cuts = np.linspace(0, source.n_edges, n_parts + 1).astype(np.int64).tolist()
        return [source.part(*cut) for cut in pairwise(cuts)]
    if not isinstance(source, FileSource) or not source.is_rereadable:
        raise InputError(
            "only files and graphs in memory can be cut into parts, and a pipe cannot; write the "
            "edges to files first"
        )
    if not source.is_materialized:
        raise InputError(
            "pairs are held by attribute, not read in parts, and what is drawn of them is little "
            "more than a sparsifier keeps: workers would have nothing to share; leave workers, "
            "scheduler and tree away"
        )
    if source.options.duplicates == "once":
        raise InputError(
            Parameter("duplicates", "once"),
            " needs the input in one piece; leave workers, scheduler and tree away",
        )
    if not all(part.path or part.remote for part in source.parts):
        raise InputError(
            "a table cannot be cut into parts; write it to files first, or hold its edges: "
            "read_edges(...).to_edge_list()"
        )
    settled = source.settle()
    sizes = [part.n_bytes() for part in source.parts]
    size = max(sum(sizes) / (n_parts or _count(sum(sizes))), 1)
    groups, room = [], 0.0
    for part, n_bytes in zip(source.parts, sizes, strict=True):
        part = part if part.path is None else replace(part, path=part.path.resolve())
        pieces = _cut(part, round(n_bytes / size), source.options, settled)
        if len(pieces) > 1 or n_bytes > room:
            groups += [[piece] for piece in pieces]
            room = size - n_bytes if len(pieces) == 1 else 0.0
        else:
            groups[-1] += pieces
            room -= n_bytes
    return [
        FileSource(group, source.options, batch_size=source.batch_size, settled=settled)
        for group in groups
    ]


def unread(piece: EdgeList | EdgeSource) -> EdgeList | EdgeSource:
    """A piece to be sent to others, without what a pass over it has found here.

    Parameters
    ----------
    piece : EdgeList or EdgeSource
        Those that do not come from `split` stay as they are.
    """
    if type(piece) is not FileSource or not piece.is_rereadable:
        return piece
    how = {"batch_size": piece.batch_size, "settled": piece.settle()}
    return FileSource(piece.parts, piece.options, **how)


def _count(n_bytes):
    return max(min(_N_PARTS, n_bytes // _LEAST), -(-n_bytes // _MOST), 1)


def _cut(part, n_pieces, options, settled):
    """One file as `n_pieces` parts, or as one where it cannot be cut."""
    if n_pieces < 2:
        return [part]
    with part.open() as stream:
        form = detect_format(stream, part, options)
        if form == "text" and not stream.is_compressed:
            schema = first_look(stream, options, settled.kind, settled.columns)
            return [part] if schema is None else _cut_text(part, n_pieces, options, schema)
    return _cut_parquet(part, n_pieces) if form == "parquet" else [part]


def _cut_parquet(part, n_pieces):
    import pyarrow.parquet as pq

    with part.open_raw() as raw, pq.ParquetFile(raw) as file:
        n_groups = file.num_row_groups
    cuts = np.unique(np.linspace(0, n_groups, n_pieces + 1).astype(np.int64)).tolist()
    return [
        replace(part, name=f"{part.name}, row groups {start} to {stop - 1}", span=(start, stop))
        for start, stop in pairwise(cuts)
    ]


def _cut_text(part, n_pieces, options, schema):
    """Ranges of bytes, moved to the next line ends; only the first skips a header."""
    n_bytes = part.n_bytes()
    with part.open_raw() as file:
        if options.header == "auto" and not schema.is_named and schema.kind != "text":
            _refuse_doubt(file, part.name, n_bytes, schema)
        wanted = np.linspace(0, n_bytes, n_pieces + 1).astype(np.int64).tolist()[1:-1]
        ends = [_next_line(file, offset, n_bytes) for offset in wanted]
    cuts = np.unique([0, *ends, n_bytes]).tolist()
    return [
        replace(
            part,
            name=f"{part.name}, bytes {start:,} to {stop:,}",
            span=(start, stop),
            text_schema=schema if start == 0 else replace(schema, start=0, first_line=1),
        )
        for start, stop in pairwise(cuts)
    ]


def _next_line(file, offset, n_bytes):
    """Where the first line begins that begins at `offset` or after."""
    file.seek(offset - 1, os.SEEK_SET)
    while piece := file.read(_LOOK):
        found = piece.find(b"\n")
        if found >= 0:
            return file.tell() - len(piece) + found + 1
    return n_bytes


def _refuse_doubt(file, name, n_bytes, schema):
    """Refuse a first line that could count the nodes and lines that follow: no piece sees all."""
    lines = file.read(_LOOK)[schema.start :].split(b"\n")[:-1]
    rows = [
        line.replace(schema.separator.encode() or b" ", b" ").split()
        for line in lines
        if not line.lstrip().startswith(tuple(mark.encode() for mark in schema.comments))
    ]
    if len(schema.roles) != 2 or len(rows) < 2 or not all(len(row) == 2 for row in rows):
        return
    first, *rest = ([int(cell) for cell in row] for row in rows if row[0].isdigit())
    expected = n_bytes * len(lines) / max(sum(map(len, lines)) + len(lines), 1)
    if expected / 2 < first[1] < 2 * expected and max(map(max, rest), default=0) <= first[0]:
        raise doubtful_count_error(name, f"{first[0]} {first[1]}")
