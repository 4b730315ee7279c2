"""Matrix Market files: the adjacency matrix of a graph, read and written.

The nodes are 1, ..., n of the size line, isolated ones included. In a `symmetric` file each entry
is an edge. A `general` file lists both directions of a symmetric matrix, so each entry counts
half; one that is not symmetric is an error. Entries on the diagonal are self-loops. Written files
are symmetric.
"""

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.edge_source import BYTES_PER_NODE, Chunk, Opened
from graphsqueak.sources.files.adjacency import SymmetryCheck, numbers_from_one
from graphsqueak.sources.files.schema import TextSchema
from graphsqueak.sources.files.text import row_start, scan_lines
from graphsqueak.system.expansion import check_announced

__all__ = ["MATRIX_MARKET", "read_matrix_market", "write_matrix_market"]

MATRIX_MARKET = b"%%MatrixMarket"
_PREAMBLE = 1 << 20


def read_matrix_market(stream, options):
    """Read a Matrix Market stream; see `read_text` for what is returned."""
    banner, size, start, first_line = _preamble(stream)
    has_values, is_general = _parse_banner(banner, stream.name)
    n_nodes, n_entries = _parse_size(size, stream.name, first_line - 1)
    place = f"{stream.name}, line {first_line - 1}: a graph of {n_nodes} nodes"
    check_announced(place, stream.n_stored, BYTES_PER_NODE * n_nodes)
    roles = ("source", "target", "weight") if has_values else ("source", "target")
    schema = TextSchema(
        "",
        roles,
        "int64",
        False,
        ("%",),
        start,
        first_line,
        are_distances=options.weights_are == "distance",
    )
    if options.weights_are == "distance" and not has_values:
        raise InputError(
            f"{stream.name} is a pattern without values; leave ", Parameter("weights_are"), " out"
        )
    chunks = _chunks(stream, schema, options, n_nodes, n_entries, is_general)
    columns = ("row", "column", "value")[: 2 + has_values]
    return Opened("int64", has_values or is_general, chunks, columns)


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

    number = numbers_from_one(edges)
    tail, head = number[edges.tail], number[edges.head]
    field = "real" if with_weights else "pattern"
    file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
    file.write(f"{edges.n_nodes} {edges.n_nodes} {edges.n_edges}\n".encode())
    columns = {"row": np.maximum(tail, head), "column": np.minimum(tail, head)}
    if with_weights:
        columns["weight"] = edges.weight
    file.write(pl.DataFrame(columns).write_csv(include_header=False, separator=" ").encode())


def _chunks(stream, schema, options, n_nodes, n_entries, is_general):
    check = SymmetryCheck()
    n_read = 0
    yield Chunk(np.zeros((0, 2), np.int64), _weight(None, 0, is_general), nodes=_range(n_nodes))
    for block in scan_lines(stream, schema, options):
        ends, weight = block.scan.ends, block.scan.weight
        outside = (ends < 1) | (ends > n_nodes)
        if outside.any():
            row = int(np.argmax(outside.any(axis=1)))
            text = block.text.tobytes()
            line = block.line_number + text.count(b"\n", 0, row_start(text, row, schema))
            raise InputError(
                f"{stream.name}, line {line}: entry ({ends[row, 0]}, {ends[row, 1]}) lies outside "
                f"the {n_nodes} x {n_nodes} matrix of the size line; correct one of them"
            )
        n_read += len(ends) + block.scan.n_bad
        if is_general:
            check.add(ends, np.ones(len(ends)) if weight is None else weight)
        yield Chunk(
            ends,
            _weight(weight, len(ends), is_general),
            n_bad_lines=block.scan.n_bad,
            fraction_read=block.fraction_read,
        )
    if n_read != n_entries:
        raise InputError(
            f"{stream.name} has {n_read} entries, its size line says {n_entries}; the file is "
            "truncated or the line wrong"
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


def _weight(weight, size, is_general):
    if not is_general:
        return weight
    return np.full(size, 0.5) if weight is None else weight / 2


def _range(n_nodes):
    return np.arange(1, n_nodes + 1)


def _preamble(stream):
    """Banner, size line, and where the entries begin: offset and line number."""
    sample = stream.peek(_PREAMBLE)
    offset, banner = 0, None
    for number, line in enumerate(sample.split(b"\n"), start=1):
        offset += len(line) + 1
        text = line.strip()
        if banner is None:
            banner = text
        elif text and not text.startswith(b"%"):
            return banner, text, offset, number + 1
    raise InputError(f"{stream.name} has no size line after its banner; it is truncated")


def _parse_banner(banner, name):
    words = banner.decode("latin-1").lower().split()[1:]
    remedy = "convert it, e.g. scipy.io.mmwrite(path, scipy.sparse.coo_array(A))"
    if len(words) != 4 or words[0] != "matrix":
        raise InputError(f"{name}, line 1: {banner.decode('latin-1')!r} is no banner of a matrix")
    _, layout, field, symmetry = words
    if layout != "coordinate":
        raise InputError(f"{name} is a dense ({layout}) Matrix Market file; {remedy}")
    if field not in ("pattern", "real", "integer", "double"):
        raise InputError(f"{name} has {field} entries; weights are real: {remedy}")
    if symmetry not in ("general", "symmetric"):
        raise InputError(f"{name} is {symmetry}; an undirected graph has a symmetric matrix")
    return field != "pattern", symmetry == "general"


def _parse_size(line, name, number):
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
