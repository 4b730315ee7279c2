"""Write edges to a file, in the formats that `read_edges` reads.

The name says the format: .tsv, .txt, .edges, .el (tab between columns), .csv, .parquet, .arrow or
.feather, .mtx (Matrix Market, symmetric), .graph or .metis; .gz, .zst or .bz2 behind a text format
compresses it; "-" is standard output, as .tsv. Text begins with a line that names the columns,
unless header=False. The user's own ids are written. A list of edges does not name isolated nodes;
Matrix Market and METIS do, but number the nodes 1..n. GraphML, for Gephi and its kin, has names and
attributes of the nodes; it is written, not read.

The file appears whole or not at all: it is written beside its path and moved there at the end.

Matrix Market and METIS are written by `matrix_market.py` and `metis.py`, which read them too.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.files.matrix_market import write_matrix_market
from graphsqueak.sources.files.metis import write_metis
from graphsqueak.system.atomic import STANDARD_OUTPUT, atomic_file
from graphsqueak.system.paths import is_remote, local_path, same_file
from graphsqueak.validation import check_choice

__all__ = ["format_of", "write_columns", "write_edges"]

_FORMATS = {
    **dict.fromkeys((".tsv", ".txt", ".edges", ".el"), "tsv"),
    ".csv": "csv",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    ".mtx": "mtx",
    **dict.fromkeys((".graph", ".metis"), "metis"),
    ".graphml": "graphml",
}
_ROWS = 100_000  # of a table that are text at once
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bzip2"}
_UNWRITABLE = r"[\n\r\x00]|^$"  # in a line of text
_NEEDS_QUOTES = r'^[#%"\s\x{FEFF}]|\s$'  # beyond what holds the separator


def write_edges(
    edges: EdgeList | EdgeSource,
    path: str | Path,
    *,
    weights: bool | str = "auto",
    header: bool = True,
) -> None:
    """Write edges to `path`, whose name says the format.

    Parameters
    ----------
    edges : EdgeList or EdgeSource
        A source is written batch by batch, except as Matrix Market or METIS, whose first line
        counts the edges.
    path : str or Path
        Replaced if it exists, but not if `edges` are read from it. "-" is standard output, as .tsv.
    weights : bool or "auto"
        Whether to write weights. "auto" leaves them out if all are 1; those of a pipe are written
        in any case, since it cannot be looked at twice.
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
    if not isinstance(edges, EdgeList | EdgeSource):
        raise InputError(
            f"edges is a {type(edges).__name__}; give an EdgeList or what read_edges returns"
        )
    form, compression = format_of(path)
    _refuse_own_input(edges, path)
    if form in ("mtx", "metis"):
        edges = edges if isinstance(edges, EdgeList) else edges.to_edge_list()
        write = write_matrix_market if form == "mtx" else write_metis
        with atomic_file(path, compression) as file:
            write(file, edges, with_weights=_wants(weights, edges))
        return
    if form == "graphml":
        _write_graphml(edges if isinstance(edges, EdgeList) else edges.to_edge_list(), path)
        return
    if weights == "auto" and (str(path) == STANDARD_OUTPUT or not edges.is_rereadable):
        weights = not isinstance(edges, EdgeList) or _wants(weights, edges)
    try:
        _write_table(edges, path, form, compression, weights, header)
    except _WeightsAfterAll:
        _write_table(edges, path, form, compression, True, header)


def write_columns(
    columns: Mapping[str, ArrayLike] | Iterable[Mapping[str, ArrayLike]], path: str | Path
) -> None:
    """Write columns to `path`, whose name says the format; whole or not at all.

    Parameters
    ----------
    columns : mapping of str to array, or several
        Name and values of each column, all of one length. Of several, with the same names, one is
        held at a time.
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
    with atomic_file(path, compression) as file, ExitStack() as closing_later:
        writer = None
        for part in [columns] if isinstance(columns, Mapping) else columns:
            frame = pl.DataFrame({name: _plain_values(column) for name, column in part.items()})
            if form in ("tsv", "csv"):
                separator = "\t" if form == "tsv" else ","
                if writer is None:
                    file.write(frame.clear().write_csv(separator=separator).encode())
                writer = file
                for rows in frame.iter_slices(_ROWS):  # not by polars, whose errors have no reason
                    text = rows.write_csv(separator=separator, include_header=False)
                    file.write(text.encode())
                continue
            table = frame.to_arrow()
            if writer is None:
                writer = closing_later.enter_context(_open_arrow(file, form, table.schema))
            writer.write_table(table)


def format_of(path):
    """Format and compression that a file name asks for."""
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


def _write_graphml(edges, path):
    """By networkx, with what is known of the nodes, and weights in any case."""
    import networkx as nx

    graph = edges.to_networkx()
    if len(set(map(str, graph))) < len(graph):
        raise InputError("two node ids are written the same (such as 1 and '1'); rename one")
    try:
        with atomic_file(path, format_of(path)[1]) as file:
            nx.write_graphml_xml(graph, file)
    except (nx.NetworkXError, TypeError, KeyError) as error:
        raise InputError(
            f"{path}: GraphML holds numbers, texts and truth values of nodes, and nothing else "
            f"({error})"
        ) from None


class _WeightsAfterAll(Exception):  # noqa: N818 - a signal, not an error
    """A batch has weights other than 1 where the first one had none."""


def _refuse_own_input(edges, path):
    """Refuse to replace a file by edges that are read from it; devices cannot be replaced."""
    for part in getattr(edges, "parts", ()):
        if part.signature() is not None and same_file(part.path or part.name, path):
            raise InputError(f"{path} is what the edges are read from; write them elsewhere")


def _write_table(edges, path, form, compression, weights, header):
    ids_between = getattr(edges, "ids_between", lambda start, stop: edges.ids[start:stop])
    with atomic_file(path, compression) as file:
        batches = iter(edges)
        first = next(batches, EdgeList.from_validated([], [], [], n_nodes=0))
        decided = _wants(weights, first)
        with closing(_open_table(file, form, ids_between, decided, header)) as table:
            table.write(first)
            for batch in batches:
                if not decided and _wants(weights, batch):
                    raise _WeightsAfterAll
                table.write(batch)


def _wants(weights, edges):
    return bool((edges.weight != 1).any()) if weights == "auto" else weights


def _open_table(file, form, ids_between, with_weights, header):
    """A writer of rows with methods write(batch) and close().

    ids_between(start, stop) are the ids of those nodes.
    """
    names = _Names(ids_between)
    if form in ("tsv", "csv"):
        table = _TextTable(file, names, "\t" if form == "tsv" else ",", with_weights=with_weights)
        if header:
            table.write_header()
        return table
    return _ArrowTable(file, names, form, with_weights=with_weights)


class _TextTable:
    def __init__(self, file, names, separator, *, with_weights):
        self._file, self._names = file, names
        self._separator, self._with_weights = separator, with_weights

    def write_header(self):
        names = ["source", "target", "weight"][: 2 + self._with_weights]
        self._file.write(f"{self._separator.join(names)}\n".encode())

    def write(self, batch):
        import polars as pl

        frame = pl.DataFrame(self._names.columns(batch, with_weights=self._with_weights))
        style = "never"
        if frame.schema["source"] == pl.String:
            style = self._quoting(frame)
        self._file.write(
            frame.write_csv(
                include_header=False, separator=self._separator, quote_style=style
            ).encode()
        )

    def _quoting(self, frame):
        import polars as pl

        ends = pl.concat([frame["source"], frame["target"]])
        broken = ends.filter(ends.str.contains(_UNWRITABLE))
        if len(broken):
            raise InputError(
                f"node id {broken[0]!r} cannot be written as text (it is empty or has a line end); "
                "write .parquet or .arrow"
            )
        return "non_numeric" if ends.str.contains(_NEEDS_QUOTES).any() else "necessary"

    def close(self):
        pass


class _ArrowTable:
    def __init__(self, file, names, form, *, with_weights):
        self._file, self._names = file, names
        self._form, self._with_weights = form, with_weights
        self._writer = None

    def write(self, batch):
        import pyarrow as pa

        table = pa.table(self._names.columns(batch, with_weights=self._with_weights))
        if self._writer is None:
            self._writer = _open_arrow(self._file, self._form, table.schema)
        self._writer.write_table(table)

    def close(self):
        if self._writer is not None:
            self._writer.close()


def _open_arrow(file, form, schema):
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "parquet":
        return pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True)
    return pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))


class _Names:
    """The ids of the nodes so far, as NumPy integers or Arrow text, each converted once."""

    def __init__(self, ids_between):
        self._ids_between = ids_between
        self._ids = None
        self._n_known = 0

    def columns(self, batch, *, with_weights):
        """Source, target and, if wanted, weight of every edge of a batch."""
        if self._ids is None or batch.n_nodes > self._n_known:
            new = _writable_ids(self._ids_between(self._n_known, batch.n_nodes))
            self._ids = new if self._ids is None else _concatenate(self._ids, new)
            self._n_known = batch.n_nodes
        columns = {"source": self._ids.take(batch.tail), "target": self._ids.take(batch.head)}
        return columns | ({"weight": batch.weight} if with_weights else {})


def _writable_ids(ids):
    import pyarrow as pa

    if ids.dtype.kind in "iu":
        return ids
    names = [str(name) for name in ids.tolist()]
    if len(set(names)) < len(names):
        raise InputError("two node ids are written the same (such as 1 and '1'); rename one")
    return pa.array(names, type=pa.large_string())


def _concatenate(old, new):
    import pyarrow as pa

    return (
        np.concatenate([old, new]) if isinstance(old, np.ndarray) else pa.concat_arrays([old, new])
    )


def _plain_values(column):
    """Objects and fixed-width text as Python strings, None for an empty cell, numbers as given."""
    column = np.asarray(column)
    if column.dtype.kind not in "OUT":
        return column
    return [None if value is None else str(value) for value in column.tolist()]
