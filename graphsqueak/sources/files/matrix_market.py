"""Matrix Market files: the adjacency matrix of a graph, read and written.

The nodes are 1, ..., n of the size line, isolated ones included. In a `symmetric` file each entry
is an edge. A `general` file lists both directions of a symmetric matrix, so each entry counts
half; one that is not symmetric is an error. Entries on the diagonal are self-loops. Written files
are symmetric.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import BYTES_PER_NODE, Chunk, Opened
from graphsqueak.sources.files.adjacency import (
    SymmetryCheck,
    announced_nodes,
    header_line,
    numbers_from_one,
)
from graphsqueak.sources.files.schema import TextSchema
from graphsqueak.sources.files.text import scan_lines
from graphsqueak.system.expansion import check_announced

MATRIX_MARKET = b"%%MatrixMarket"


def read_matrix_market(stream, options):
    """Read a Matrix Market stream; see `read_text` for what is returned."""
    header = _read_header(stream)
    place = f"{stream.name}, line {header.line_number}: a graph of {header.n_nodes} nodes"
    check_announced(place, stream.n_stored, BYTES_PER_NODE * header.n_nodes)
    are_distances = options.weights_are == "distance"
    if are_distances and not header.has_values:
        raise InputError(
            f"{stream.name} is a pattern without values; leave ", Parameter("weights_are"), " out"
        )
    # Below the size line, the file is a text file of edges.
    schema = TextSchema(
        separator="",
        roles=("source", "target", "weight")[: 2 + header.has_values],
        kind="int64",
        canonical=False,
        comments=("%",),
        start=header.n_bytes,
        first_line=header.line_number + 1,
        are_distances=are_distances,
    )
    return Opened(
        "int64",
        header.has_values or header.is_general,
        _chunks(stream, header, schema, options),
        ("row", "column", "value")[: 2 + header.has_values],
    )


def write_matrix_market(file, edges, *, with_weights):
    """Write a symmetric coordinate matrix, each edge once in the lower triangle.

    >>> import io
    >>> from graphsqueak.graph import EdgeList
    >>> file = io.BytesIO()
    >>> write_matrix_market(file, EdgeList(tail=[0], head=[1]), with_weights=False)
    >>> print(file.getvalue().decode().strip())
    %%MatrixMarket matrix coordinate pattern symmetric
    2 2 1
    2 1
    """
    import polars as pl

    # Entry (i, j) with i > j is in the lower triangle.
    number = numbers_from_one(edges)
    tail = number[edges.tail]
    head = number[edges.head]
    field = "real" if with_weights else "pattern"
    file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
    file.write(f"{edges.n_nodes} {edges.n_nodes} {edges.n_edges}\n".encode())
    columns = {"row": np.maximum(tail, head), "column": np.minimum(tail, head)}
    if with_weights:
        columns["weight"] = edges.weight
    file.write(pl.DataFrame(columns).write_csv(include_header=False, separator=" ").encode())


class _Header(NamedTuple):
    """The banner and the size line."""

    has_values: bool
    is_general: bool
    n_nodes: int
    n_entries: int
    # Number of the size line.
    line_number: int
    # Bytes up to the end of the size line.
    n_bytes: int


def _chunks(stream, header, schema, options):
    n_nodes = header.n_nodes
    check = SymmetryCheck()
    n_read = 0
    yield announced_nodes(n_nodes)
    for block in scan_lines(stream, schema, options):
        ends = block.scan.ends
        weight = block.scan.weight
        is_outside = ((ends < 1) | (ends > n_nodes)).any(axis=1)
        if is_outside.any():
            row = int(np.argmax(is_outside))
            raise InputError(
                f"{block.place(row)}: entry ({ends[row, 0]}, {ends[row, 1]}) "
                f"lies outside the {n_nodes} x {n_nodes} matrix of the size line; correct one of "
                "them"
            )
        # Skipped lines are entries as well.
        n_read += len(ends) + block.scan.n_bad
        if header.is_general:
            weight = np.ones(len(ends)) if weight is None else weight
            check.add(ends, weight)
            # Each entry is half an edge.
            weight = weight / 2
        yield Chunk(
            ends,
            weight,
            n_bad_lines=block.scan.n_bad,
            fraction_read=block.fraction_read,
        )
    if n_read != header.n_entries:
        raise InputError(
            f"{stream.name} has {n_read} entries, its size line says {header.n_entries}; the file "
            "is truncated or the line wrong"
        )
    if not check.holds:
        raise InputError(
            f"{stream.name} is a general matrix and not symmetric; write (A + A.T) / 2, "
            "or read every entry as an edge: ",
            Parameter("format", "text"),
            ", ",
            Parameter("header", True),
            ", ",
            Parameter("columns", (0, 1)),
            " or (0, 1, 2)",
        )


def _read_header(stream):
    """Read the banner, and the size line below its comments."""
    line, number, n_bytes = header_line(stream)
    if not line:
        raise InputError(f"{stream.name} has no size line after its banner; it is truncated")
    # The banner is a comment itself.
    banner = stream.peek(0).partition(b"\n")[0].strip()
    has_values, is_general = _parse_banner(banner, stream.name)
    n_nodes, n_entries = _parse_size(line, stream.name, number)
    return _Header(has_values, is_general, n_nodes, n_entries, number, n_bytes)


def _parse_banner(banner, name):
    """Return whether the entries have values, and whether both directions of an edge are listed."""
    words = banner.decode("latin-1").lower().split()[1:]
    remedy = "convert it, e.g. scipy.io.mmwrite(path, scipy.sparse.coo_array(A))"
    if len(words) != 4 or words[0] != "matrix":
        shown = banner.decode("latin-1")
        raise InputError(f"{name}, line 1: {shown!r} is not the banner of a matrix")
    # %%MatrixMarket matrix coordinate real symmetric
    _, layout, field, symmetry = words
    if layout != "coordinate":
        raise InputError(f"{name} is a dense ({layout}) Matrix Market file; {remedy}")
    if field not in ("pattern", "real", "integer", "double"):
        raise InputError(f"{name} has {field} entries; weights are real: {remedy}")
    if symmetry not in ("general", "symmetric"):
        raise InputError(f"{name} is {symmetry}; an undirected graph has a symmetric matrix")
    return field != "pattern", symmetry == "general"


def _parse_size(line, name, number):
    """Return the number of nodes and of entries."""
    fields = line.split()
    if len(fields) != 3 or not all(field.isdigit() for field in fields):
        raise InputError(
            f"{name}, line {number}: {line.decode('latin-1')!r} is not a size line, "
            "'rows columns entries'"
        )
    n_rows, n_columns, n_entries = map(int, fields)
    if n_rows != n_columns:
        raise InputError(
            f"{name} is a {n_rows} x {n_columns} matrix; an adjacency matrix is square"
        )
    return n_rows, n_entries
