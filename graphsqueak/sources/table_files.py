"""Tables of any size in files: rows in batches, and a column of predictions that is written.

.csv, .tsv and .parquet, with named columns. For edges see `files.columnar`, for points in memory
`neighbors.point_files`.
"""

from contextlib import contextmanager

from graphsqueak.errors import InputError
from graphsqueak.sources.files.columnar import open_parquet
from graphsqueak.sources.files.lakehouse import refuse_lakehouse
from graphsqueak.sources.files.writing import format_of, open_table
from graphsqueak.sources.tables import first_line
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.expansion import check_parquet_pages


def table_batches(path, size):
    """Yield data frames of `size` rows, the last one smaller, each with the fraction read.

    Parameters
    ----------
    path : Path
    size : int

    Yields
    ------
    frame : polars.DataFrame
    fraction_read : float
        Fraction of the table up to the end of the frame; NaN if the number of rows is unknown.
    """
    import polars as pl
    import pyarrow as pa

    refuse_lakehouse(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a table as .csv, .tsv or .parquet")
    try:
        with _open_batches(path, size) as (batches, n_rows):
            n_read = 0
            rest = None
            for batch in batches:
                frame = pl.from_arrow(pa.Table.from_batches([batch]))
                rest = frame if rest is None else pl.concat([rest, frame])
                while len(rest) >= size:
                    n_read += size
                    yield rest[:size], n_read / n_rows
                    rest = rest[size:]
            if rest is not None and len(rest):
                yield rest, 1.0
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}; it may be damaged") from None


@contextmanager
def _open_batches(path, size):
    """Yield record batches of any length, and the number of rows, NaN if unknown."""
    import pyarrow.csv

    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        with open_parquet(path) as file:
            check_parquet_pages(file, path, path.stat().st_size)
            yield file.iter_batches(batch_size=size), max(file.metadata.num_rows, 1)
    elif suffix in (".csv", ".tsv"):
        options = pyarrow.csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",")
        with path.open("rb") as text:
            yield pyarrow.csv.open_csv(text, parse_options=options), float("nan")
    else:
        raise InputError(f"{path.name!r} does not end in .csv, .tsv or .parquet")


@contextmanager
def table_writer(path):
    """Yield a function that appends predictions to a table, which appears whole or not at all.

    Parameters
    ----------
    path : str or Path
        .csv or .tsv, also compressed, or .parquet.
    """
    import pyarrow as pa

    form, compression = format_of(path)
    if form not in ("csv", "tsv", "parquet"):
        raise InputError(f"{path}: predictions are written as .csv, .tsv or .parquet")
    with atomic_file(path, compression) as file, open_table(file, form) as write:
        yield lambda values: write(pa.table({"prediction": pa.array(values.tolist())}))
