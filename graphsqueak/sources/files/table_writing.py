"""Write batches of edges as rows of a table: text, Parquet or Arrow."""

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["open_table"]

_UNWRITABLE = r"[\n\r\x00]|^$"  # in a line of text
_NEEDS_QUOTES = r'^[#%"\s\x{FEFF}]|\s$'  # beyond what holds the separator


def open_table(file, form, ids_between, *, with_weights):
    """A writer with methods write(batch) and close().

    Parameters
    ----------
    file : binary file object
        Where to write.
    form : {"tsv", "csv", "parquet", "arrow"}
        What to write.
    ids_between : callable
        ids_between(start, stop) are the ids of those nodes.
    with_weights : bool
        Whether to write the weights.
    """
    names = _Names(ids_between)
    if form in ("tsv", "csv"):
        return _TextTable(file, names, "\t" if form == "tsv" else ",", with_weights=with_weights)
    return _ArrowTable(file, names, form, with_weights=with_weights)


class _TextTable:
    def __init__(self, file, names, separator, *, with_weights):
        self._file, self._names = file, names
        self._separator, self._with_weights = separator, with_weights
        header = separator.join(["source", "target", "weight"][: 2 + with_weights])
        file.write(f"{'# ' if separator == chr(9) else ''}{header}\n".encode())

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
            self._writer = self._open(table.schema)
        self._writer.write_table(table)

    def _open(self, schema):
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._form == "parquet":
            return pq.ParquetWriter(self._file, schema, compression="zstd")
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        return pa.ipc.new_file(self._file, schema, options=options)

    def close(self):
        if self._writer is not None:
            self._writer.close()


class _Names:
    """The ids of the nodes so far, as NumPy integers or Arrow text, each converted once."""

    def __init__(self, ids_between):
        self._ids_between = ids_between
        self._ids = None
        self._n_known = 0

    def columns(self, batch, *, with_weights):
        """Source, target and, if wanted, weight of every edge of a batch."""
        if self._ids is None or batch.n_nodes > self._n_known:
            new = _plain(self._ids_between(self._n_known, batch.n_nodes))
            self._ids = new if self._ids is None else _joined(self._ids, new)
            self._n_known = batch.n_nodes
        columns = {"source": self._ids.take(batch.tail), "target": self._ids.take(batch.head)}
        return columns | ({"weight": batch.weight} if with_weights else {})


def _plain(ids):
    import pyarrow as pa

    if ids.dtype.kind in "iu":
        return ids
    names = [str(name) for name in ids.tolist()]
    if len(set(names)) < len(names):
        raise InputError("two node ids are written the same (such as 1 and '1'); rename one")
    return pa.array(names, type=pa.large_string())


def _joined(old, new):
    import pyarrow as pa

    return (
        np.concatenate([old, new]) if isinstance(old, np.ndarray) else pa.concat_arrays([old, new])
    )
