"""Write edges to a file, in the formats that `read_edges` reads.

The suffix determines the format: .tsv, .txt, .edges, .el (tab between columns), .csv, .parquet,
.arrow or .feather, .mtx (Matrix Market, symmetric), .graph or .metis. A second suffix .gz, .zst or
.bz2 compresses text. "-" is standard output, as .tsv. Text begins with a line that names the
columns, unless header=False. The user's own ids are written. A list of edges does not contain
isolated nodes; Matrix Market and METIS files do, but number the nodes 1, ..., n. GraphML, for Gephi
and similar programs, has names and attributes of the nodes; it is written but not read.

The file appears whole or not at all: it is written next to its path and renamed at the end.

Matrix Market and METIS are written by `matrix_market.py` and `metis.py`, which also read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import ids_between
from graphsqueak.sources.files.matrix_market import write_matrix_market
from graphsqueak.sources.files.metis import write_metis
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.system.atomic import STANDARD_OUTPUT, atomic_file
from graphsqueak.system.paths import is_remote, local_path, same_file
from graphsqueak.validation import check_choice, explain_keywords

_FORMATS = {
    **dict.fromkeys((".tsv", ".txt", ".edges", ".el"), "tsv"),
    ".csv": "csv",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".mtx": "mtx",
    **dict.fromkeys((".graph", ".metis"), "metis"),
    ".graphml": "graphml",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2"}
_SEPARATORS = {"tsv": "\t", "csv": ","}
# Ids that cannot be in a line of text.
_UNWRITABLE = r"[\n\r\x00]|^$"
# Ids that are not read back without quotes, apart from those with a separator.
_NEEDS_QUOTES = r'^[#%"\s\x{FEFF}]|\s$'


@explain_keywords()
def write_edges(
    graph: GraphLike,
    path: str | Path,
    *,
    weights: bool | str = "auto",
    header: bool = True,
) -> None:
    """Write edges to a file, in the format that its suffix determines.

    Parameters
    ----------
    graph : GraphLike
        A file or a source is written batch by batch, except as Matrix Market or METIS, whose first
        line is the number of edges, and as GraphML.
    path : str or Path
        An existing file is replaced, unless the graph is read from it. "-" is standard output, as
        .tsv.
    weights : bool or "auto"
        Whether to write weights. "auto" leaves them out if all are 1. Those of a pipe are always
        written, since it cannot be read twice.
    header : bool
        Whether .tsv and .csv begin with the names source, target (and weight).

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
    if isinstance(graph, str | Path) and not isinstance(path, str | Path):
        raise InputError("the graph comes first: call write_edges(graph, path)")
    edges = as_stream(graph)
    form, compression = format_of(path)
    _refuse_own_input(edges, path)
    if form in ("mtx", "metis", "graphml"):
        graph = edges if isinstance(edges, EdgeList) else edges.to_edge_list()
        _write_graph(graph, path, form, compression, weights)
        return
    if weights == "auto":
        if isinstance(edges, EdgeList):
            weights = _has_weights(edges)
        elif str(path) == STANDARD_OUTPUT or not edges.is_rereadable:
            # Neither can be started again when the first weight appears.
            weights = True
    try:
        _write_batches(edges, path, form, compression, weights=weights, header=header)
    except _FirstWeightError:
        # Start again: the temporary file without weights is discarded.
        _write_batches(edges, path, form, compression, weights=True, header=header)


def write_columns(
    columns: Mapping[str, ArrayLike] | Iterable[Mapping[str, ArrayLike]], path: str | Path
) -> None:
    """Write columns to a table file, in the format that its suffix determines.

    Parameters
    ----------
    columns : mapping of str to array, or iterable of such mappings
        Name and values of each column, all of one length. Several mappings have the same names, and
        are written one after the other.
    path : str or Path
        .tsv, .csv (also with .gz, .zst or .bz2), .parquet or .arrow. The file appears whole or not
        at all.

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
    parts = [columns] if isinstance(columns, Mapping) else columns
    with atomic_file(path, compression) as file, open_table(file, form) as write:
        for part in parts:
            frame = pl.DataFrame({name: _plain_values(column) for name, column in part.items()})
            write(frame.to_arrow())


def format_of(path):
    """Return the format and the compression that the suffix of a file determines.

    >>> format_of("edges.csv.gz")
    ('csv', 'gzip')
    """
    if str(path) == STANDARD_OUTPUT:
        return "tsv", None
    name = Path(path) if is_remote(path) else local_path(path)
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


def _refuse_own_input(edges, path):
    """Refuse to replace a file by edges that are read from it; devices cannot be replaced."""
    for part in edges.parts if isinstance(edges, FileSource) else ():
        if part.signature() is not None and same_file(part.path or part.name, path):
            raise InputError(f"{path} is what the edges are read from; write them elsewhere")


def _has_weights(edges):
    return bool((edges.weight != 1).any())


def _write_graph(edges, path, form, compression, weights):
    """Write a graph in memory, in a format that is not a table of edges."""
    if form == "graphml":
        _write_graphml(edges, path, compression)
        return
    write = write_matrix_market if form == "mtx" else write_metis
    with_weights = _has_weights(edges) if weights == "auto" else weights
    with atomic_file(path, compression) as file:
        write(file, edges, with_weights=with_weights)


def _write_graphml(edges, path, compression):
    """Write the edges with their weights, and the nodes with their attributes, by networkx."""
    import networkx as nx

    graph = edges.to_networkx()
    if len(set(map(str, graph))) < len(graph):
        raise InputError("two node ids are written the same (such as 1 and '1'); rename one")
    try:
        with atomic_file(path, compression) as file:
            nx.write_graphml_xml(graph, file)
    except (nx.NetworkXError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: GraphML holds numbers, texts and truth values of nodes, and nothing else "
            f"({error})"
        ) from None


class _FirstWeightError(Exception):
    """A batch has weights other than 1, after others were written without weights."""


def _write_batches(edges, path, form, compression, *, weights, header):
    """Write a table of edges, batch by batch."""
    names = _NodeNames(edges)
    with (
        atomic_file(path, compression) as file,
        open_table(file, form, header=header, of_edges=True) as write,
    ):
        batches = edges.batches()
        batch = next(batches, EdgeList.from_validated([], [], [], n_nodes=0))
        with_weights = _has_weights(batch) if weights == "auto" else weights
        while batch is not None:
            if not with_weights and weights == "auto" and _has_weights(batch):
                raise _FirstWeightError
            write(names.table(batch, with_weights=with_weights))
            batch = next(batches, None)


@contextmanager
def open_table(file, form, *, header=True, of_edges=False):
    """Yield a function that appends the rows of an Arrow table to a file.

    Parameters
    ----------
    file : binary file object
    form : {"tsv", "csv", "parquet", "arrow"}
    header : bool
        Whether the first line of a text names the columns.
    of_edges : bool
        Whether the columns source and target are ids, which `read_edges` must read unchanged.
    """
    append = None
    with ExitStack() as stack:

        def write(table):
            nonlocal append
            # The first table has the schema.
            if append is None and form in _SEPARATORS:
                append = _text_writer(file, table.schema, form, header=header, of_edges=of_edges)
            elif append is None:
                append = stack.enter_context(_arrow_writer(file, table.schema, form)).write_table
            append(table)

        yield write


def _arrow_writer(file, schema, form):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        return pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    return pa.ipc.new_file(file, schema, options=options)


def _text_writer(file, schema, form, *, header, of_edges, block_rows=100_000):
    """Return a function that writes rows as text, after the names of the columns.

    At most `block_rows` rows are converted at a time, to bound the memory. Halved or doubled, 1 M
    edges are written in the same time; with 10,000 rows it takes 10 % longer.
    """
    import polars as pl

    separator = _SEPARATORS[form]
    if header:
        file.write(pl.from_arrow(schema.empty_table()).write_csv(separator=separator).encode())

    def append(table):
        frame = pl.from_arrow(table)
        quote_style = _quote_style(frame) if of_edges else "necessary"
        # polars could write to the file, but its errors would not name the reason.
        for rows in frame.iter_slices(block_rows):
            text = rows.write_csv(
                include_header=False, separator=separator, quote_style=quote_style
            )
            file.write(text.encode())

    return append


def _quote_style(frame):
    """Return how polars quotes the ids of edges; refuse ids that cannot be in a line of text."""
    import polars as pl

    if frame.schema["source"] != pl.String:
        return "never"
    # Either all ids of these rows are quoted, or only those with a separator or a quote in them.
    ends = pl.concat([frame["source"], frame["target"]])
    unwritable = ends.filter(ends.str.contains(_UNWRITABLE))
    if len(unwritable):
        raise InputError(
            f"node id {unwritable[0]!r} cannot be written as text (it is empty or has a line end); "
            "write .parquet or .arrow"
        )
    return "non_numeric" if ends.str.contains(_NEEDS_QUOTES).any() else "necessary"


class _NodeNames:
    """The ids of the nodes so far, as NumPy integers or Arrow text, each converted once."""

    def __init__(self, edges):
        self._edges = edges
        self._ids = None

    def table(self, batch, *, with_weights):
        """Return source, target and, if wanted, weight of every edge of a batch."""
        import pyarrow as pa

        # Only the ids of nodes that are new in this batch are converted.
        n_known = 0 if self._ids is None else len(self._ids)
        new = _writable_ids(ids_between(self._edges.node_ids, n_known, batch.n_nodes))
        if self._ids is None:
            self._ids = new
        elif len(new):
            join = np.concatenate if isinstance(new, np.ndarray) else pa.concat_arrays
            self._ids = join([self._ids, new])
        columns = {"source": self._ids.take(batch.tail), "target": self._ids.take(batch.head)}
        if with_weights:
            columns["weight"] = batch.weight
        return pa.table(columns)


def _writable_ids(ids):
    """Return integer ids as they are, and others as Arrow text."""
    import pyarrow as pa

    if ids.dtype.kind in "iu":
        return ids
    names = [str(name) for name in ids.tolist()]
    # 1 and "1" would be one node when the file is read.
    if len(set(names)) < len(names):
        raise InputError("two node ids are written the same (such as 1 and '1'); rename one")
    return pa.array(names, type=pa.large_string())


def _plain_values(column):
    """Return objects and fixed-width text as Python strings, None for an empty cell."""
    column = np.asarray(column)
    if column.dtype.kind not in "OUT":
        return column
    return [None if value is None else str(value) for value in column.tolist()]
