"""Write edges to a file, in the formats that `read_edges` reads.

The name says the format: .tsv, .txt, .edges, .el (tab between columns, the names in a comment),
.csv (the names in a header), .parquet, .arrow or .feather, .mtx (Matrix Market, symmetric), .graph
or .metis; .gz, .zst or .bz2 behind a text format compresses it. The user's own ids are written. A
list of edges does not name isolated nodes; Matrix Market and METIS do, but number the nodes 1..n.

The file appears whole or not at all: it is written beside its place and moved there at the end.

Write a graph as a Matrix Market or METIS file, whose nodes are 1, ..., n.
"""

from contextlib import closing
from pathlib import Path

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.table_writing import open_table
from graphsqueak.system.atomic import atomic_file
from graphsqueak.validation import check_choice

__all__ = ["format_of", "write_columns", "write_edges"]

_FORMATS = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".edges": "tsv",
    ".el": "tsv",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".mtx": "mtx",
    ".graph": "metis",
    ".metis": "metis",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2"}
_ROWS = 1 << 18


def write_edges(edges, path, *, weights="auto"):
    """Write edges to `path`, whose name says the format.

    Parameters
    ----------
    edges : EdgeList or EdgeSource
        A source is written batch by batch, except as Matrix Market or METIS, whose first line
        counts the edges.
    path : str or Path
        Replaced if it exists.
    weights : bool or "auto"
        Whether to write weights. "auto" leaves them out if all are 1; those of a pipe are written
        in any case, since it cannot be looked at twice.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "path.csv"
    >>> write_edges(EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")]), path)
    >>> print(path.read_text().strip())
    source,target
    ann,bob
    bob,cy
    """
    check_choice("weights", weights, (True, False, "auto"))
    if not isinstance(edges, EdgeList | EdgeSource):
        raise InputError(
            f"edges is a {type(edges).__name__}; give an EdgeList or what read_edges returns"
        )
    form, compression = format_of(path)
    if form in ("mtx", "metis"):
        edges = edges if isinstance(edges, EdgeList) else edges.to_edge_list()
        write = write_matrix_market if form == "mtx" else write_metis
        with atomic_file(path, compression) as file:
            write(file, edges, with_weights=_wants(weights, edges))
        return
    if weights == "auto" and not getattr(edges, "is_rereadable", True):
        weights = True
    try:
        _write_table(edges, path, form, compression, weights)
    except _WeightsAfterAll:
        _write_table(edges, path, form, compression, True)


class _WeightsAfterAll(Exception):  # noqa: N818 - a signal, not an error
    """A batch has weights other than 1 where the first one had none."""


def _write_table(edges, path, form, compression, weights):
    ids_between = getattr(edges, "ids_between", lambda start, stop: edges.ids[start:stop])
    with atomic_file(path, compression) as file:
        batches = iter(edges)
        first = next(batches, EdgeList.from_clean([], [], [], n_nodes=0))
        decided = _wants(weights, first)
        with closing(open_table(file, form, ids_between, with_weights=decided)) as table:
            table.write(first)
            for batch in batches:
                if not decided and _wants(weights, batch):
                    raise _WeightsAfterAll
                table.write(batch)


def _wants(weights, edges):
    return bool((edges.weight != 1).any()) if weights == "auto" else weights


def format_of(path):
    """Format and compression that a file name asks for."""
    name = Path(path)
    compression = _COMPRESSIONS.get(name.suffix.lower())
    suffix = Path(name.stem).suffix if compression else name.suffix
    form = _FORMATS.get(suffix.lower())
    if form is None:
        raise InputError(
            f"the name {name.name!r} does not say the format; end it in "
            f"{', '.join(_FORMATS)}, the text formats also in {', '.join(_COMPRESSIONS)} after that"
        )
    if compression and form in ("parquet", "arrow"):
        raise InputError(
            f"{name.name!r}: {form} files are compressed inside; leave {name.suffix} away"
        )
    return form, compression


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
    number = _numbers(edges)
    tail, head = number[edges.tail], number[edges.head]
    field = "real" if with_weights else "pattern"
    file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
    file.write(f"{edges.n_nodes} {edges.n_nodes} {edges.n_edges}\n".encode())
    columns = {"row": np.maximum(tail, head), "column": np.minimum(tail, head)}
    if with_weights:
        columns["weight"] = edges.weight
    _write_rows(file, columns)


def write_metis(file, edges, *, with_weights):
    """Write a METIS graph, parallel edges summed; its weights must be whole numbers."""
    number = _numbers(edges)
    simple = edges.simplified()
    weight = simple.weight
    if with_weights and ((weight != np.round(weight)) | (weight > 2**53)).any():
        value = weight[np.argmax((weight != np.round(weight)) | (weight > 2**53))]
        raise InputError(
            f"METIS files hold whole-numbered weights, not {value:g}; write .mtx, .tsv or .parquet"
        )
    file.write(f"{edges.n_nodes} {simple.n_edges}{' 001' * with_weights}\n".encode())
    ends = np.concatenate([number[simple.tail], number[simple.head]])
    others = np.concatenate([number[simple.head], number[simple.tail]])
    order = np.lexsort((others, ends))
    words = others[order].astype(str)
    if with_weights:
        both = np.concatenate([weight, weight])[order].astype(np.int64).astype(str)
        words = np.char.add(np.char.add(words, " "), both)
    words = words.tolist()
    stops = np.cumsum(np.bincount(ends, minlength=edges.n_nodes + 1))
    for first in range(0, edges.n_nodes, _ROWS):
        last = min(first + _ROWS, edges.n_nodes)
        lines = (
            " ".join(words[stops[node] : stops[node + 1]]) + "\n" for node in range(first, last)
        )
        file.write("".join(lines).encode())


def _numbers(edges):
    """The number 1, ..., n of each node: its id where the ids are these numbers, else one more."""
    ids = edges.ids
    counted = np.arange(edges.n_nodes)
    if ids.dtype.kind in "iu":
        if np.array_equal(np.sort(ids), counted + 1):
            return ids.astype(np.int64)
        if np.array_equal(ids, counted):
            return counted + 1
    raise InputError(
        "Matrix Market and METIS files number nodes 1, ..., n and cannot hold other ids such as "
        f"{ids[0]!r}; write .tsv, .csv, .parquet or .arrow"
    )


def _write_rows(file, columns):
    import polars as pl

    file.write(pl.DataFrame(columns).write_csv(include_header=False, separator=" ").encode())


def write_columns(columns, path):
    """Write columns to `path`, whose name says the format; whole or not at all.

    Parameters
    ----------
    columns : dict of str to array
    path : str or Path
        .tsv, .csv (also .gz, .zst, .bz2 behind them), .parquet or .arrow.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "table.csv"
    >>> write_columns({"node": np.array(["ann", "bob"]), "label": np.array([1, 0])}, path)
    >>> path.read_text()
    'node,label\\nann,1\\nbob,0\\n'
    """
    import polars as pl

    form, compression = format_of(path)
    if form not in ("tsv", "csv", "parquet", "arrow"):
        raise InputError(f"{path}: a table cannot be written as {form}; use .tsv, .csv or .parquet")
    frame = pl.DataFrame({name: _plain_values(column) for name, column in columns.items()})
    with atomic_file(path, compression) as file:
        if form == "parquet":
            frame.write_parquet(file)
        elif form == "arrow":
            frame.write_ipc(file, compression="zstd")
        else:
            frame.write_csv(file, separator="\t" if form == "tsv" else ",")


def _plain_values(column):
    """Objects and fixed-width text as Python strings, numbers as they are."""
    column = np.asarray(column)
    return [str(value) for value in column.tolist()] if column.dtype.kind in "OUT" else column
