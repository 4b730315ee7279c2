"""Write a table of results: named columns of one length, as text, Parquet or Arrow."""

import numpy as np

from graphsqueak.sources.atomic import atomic_file
from graphsqueak.sources.writing import format_of
from graphsqueak.validation import InputError

__all__ = ["write_columns"]


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
    frame = pl.DataFrame({name: _plain(column) for name, column in columns.items()})
    with atomic_file(path, compression) as file:
        if form == "parquet":
            frame.write_parquet(file)
        elif form == "arrow":
            frame.write_ipc(file, compression="zstd")
        else:
            frame.write_csv(file, separator="\t" if form == "tsv" else ",")


def _plain(column):
    """Objects and fixed-width text as Python strings, numbers as they are."""
    column = np.asarray(column)
    return [str(value) for value in column.tolist()] if column.dtype.kind in "OUT" else column
