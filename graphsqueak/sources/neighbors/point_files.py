"""Read points from csv, tsv, Parquet, npy or npz files with one row per point.

The columns of a table are coordinates, except a column id, node or name, which has the ids, and
columns label, class, target or truth, which are skipped. An npz file has a sparse matrix as saved
by scipy, or one dense array, which is the only one or called points or X, and maybe an array ids.
Nothing is unpickled.
"""

import zipfile

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.files.columnar import parquet_frame
from graphsqueak.sources.files.lakehouse import refuse_lakehouse
from graphsqueak.sources.files.plain_text import text_source
from graphsqueak.sources.tables import first_line
from graphsqueak.system.expansion import check_announced
from graphsqueak.system.paths import local_path

POINT_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".npy", ".npz")
_ID_NAMES = ("id", "node", "name")
_LABEL_NAMES = ("label", "class", "target", "truth")


def read_points(path):
    """Return points and their ids, None if the file has no ids.

    >>> from pathlib import Path
    >>> written = Path("line.csv").write_text("id,x,y,label\\na,0,1,ham\\nb,2,3,spam\\n")
    >>> read_points("line.csv")
    (array([[0., 1.], [2., 3.]]), array(['a', 'b'], dtype=object))
    """
    refuse_lakehouse(path)
    path = local_path(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; pass points as {', '.join(POINT_SUFFIXES)}")
    suffix = path.suffix.lower()
    if suffix not in POINT_SUFFIXES:
        raise InputError(f"{path.name!r} does not end in {', '.join(POINT_SUFFIXES)}")
    if suffix in (".npy", ".npz"):
        return _from_numpy(path)
    return _from_table(path, suffix)


def _from_numpy(path):
    try:
        # The sizes in a zip file are known before it is decompressed.
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as members:
                n_announced = sum(member.file_size for member in members.infolist())
            check_announced(path, path.stat().st_size, n_announced)
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded, None
        with loaded:
            ids = loaded.get("ids")
            return _load_matrix(loaded, path), ids
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} announces more than fits into memory: {error}") from None
    # zipfile, zlib, tokenize, struct and scipy raise errors of their own.
    except Exception as error:
        raise _unreadable(path, error) from None


def _unreadable(path, error):
    return InputError(
        f"{path} cannot be read as {path.suffix[1:]}: {first_line(error)}; it may be damaged"
    )


def _load_matrix(loaded, path):
    if "format" in loaded:
        from scipy.sparse import load_npz

        matrix = load_npz(path)
        # Other formats than CSR may announce any number of rows, for which CSR has an array.
        n_bytes_of_rows = np.dtype(np.int64).itemsize * matrix.shape[0]
        check_announced(path, path.stat().st_size, n_bytes_of_rows)
        matrix = matrix.tocsr()
        matrix.check_format(full_check=True)
        return matrix
    names = [name for name in ("points", "X") if name in loaded] or loaded.files
    if len(names) != 1:
        raise InputError(
            f"{path} has the arrays {', '.join(loaded.files)}; call the one with the points "
            "'points', or save a sparse matrix with scipy.sparse.save_npz"
        )
    return loaded[names[0]]


def _from_table(path, suffix):
    import polars as pl
    import pyarrow as pa

    try:
        is_parquet = suffix in (".parquet", ".pq")
        table = parquet_frame(path) if is_parquet else _read_text(path, suffix)
    except InputError:
        # Such as a decompression bomb, which is not a damaged file.
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from None
    # Names as they are, by their spelling in lower case.
    names = {name.strip().lower(): name for name in table.columns}
    id_name = next((names[name] for name in _ID_NAMES if name in names), None)
    skipped = {id_name, *(names.get(name) for name in _LABEL_NAMES)}
    coordinates = [name for name in table.columns if name not in skipped]
    ids = None
    if id_name is not None:
        _refuse_empty_cells(table[id_name], path)
        ids = table[id_name].to_numpy()
    for name in coordinates:
        if not (table[name].dtype.is_numeric() or table[name].dtype == pl.Boolean):
            raise InputError(
                f"{path}: column {name!r} has type {table[name].dtype}, not numbers; drop it, "
                "rename it to id if it has the ids, or give ",
                Parameter("layout", "csv"),
                " if the table has texts of mails",
            )
        _refuse_empty_cells(table[name], path)
    return table.select(coordinates).cast(pl.Float64).to_numpy(), ids


def _refuse_empty_cells(column, path):
    if column.null_count():
        row = column.is_null().arg_max()
        raise InputError(f"{path}: column {column.name!r} is empty in row {row + 1} of the data")


def _read_text(path, suffix):
    """Read a table; it has a header unless its first line is all numbers."""
    import polars as pl

    separator = "\t" if suffix == ".tsv" else ","
    # Bytes if the file is compressed or a pipe, else its path.
    source = text_source(path)
    if isinstance(source, bytes):
        first = source.partition(b"\n")[0].decode("utf-8", "replace")
    else:
        with path.open("rb") as file:
            first = file.readline().decode("utf-8", "replace")
    has_header = not all(_is_number(cell) for cell in first.split(separator))
    return pl.read_csv(source, separator=separator, has_header=has_header, infer_schema_length=None)


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
