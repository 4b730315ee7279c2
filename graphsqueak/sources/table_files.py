"""Tables of any size: rows in batches from a file, and a column of predictions into one.

.csv, .tsv and .parquet, with named columns. Compare `columnar`, for edges, and `point_files`, for
points that are held.
"""

from contextlib import ExitStack, contextmanager

from graphsqueak.errors import InputError
from graphsqueak.sources.files.columnar import open_parquet
from graphsqueak.sources.files.lakehouse import refuse_lakehouse
from graphsqueak.sources.files.writing import format_of
from graphsqueak.system.atomic import atomic_file
from graphsqueak.system.expansion import check_parquet_pages

__all__ = ["table_batches", "table_writer"]


def table_batches(path, size):
    """Data frames of at most `size` rows, and what share of the file lies behind each."""
    import polars as pl
    import pyarrow as pa
    import pyarrow.csv

    refuse_lakehouse(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; give a table as .csv, .tsv or .parquet")
    form = path.suffix.lower()
    try:
        with ExitStack() as opened:
            if form in (".parquet", ".pq"):
                file = opened.enter_context(open_parquet(path))
                check_parquet_pages(file, path, path.stat().st_size)
                total = max(file.metadata.num_rows, 1)
                parts = file.iter_batches(batch_size=size)
            elif form in (".csv", ".tsv"):
                parse = pyarrow.csv.ParseOptions(delimiter="\t" if form == ".tsv" else ",")
                text = opened.enter_context(path.open("rb"))
                parts, total = pyarrow.csv.open_csv(text, parse_options=parse), None
            else:
                raise InputError(f"{path.name!r} does not end in .csv, .tsv or .parquet")
            done, left = 0, None
            for part in parts:
                frame = pl.from_arrow(pa.table(part) if isinstance(part, dict) else part)
                left = frame if left is None else pl.concat([left, frame])
                while len(left) >= size:
                    done += size
                    yield left[:size], done / total if total else float("nan")
                    left = left[size:]
            if left is not None and len(left):
                yield left, 1.0
    except (pa.ArrowException, OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read: {reason}; it may be damaged") from None


@contextmanager
def table_writer(path):
    """A function that appends predictions to a table, which is there at the end, or not at all."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    form, compression = format_of(path)
    if form not in ("csv", "tsv", "parquet"):
        raise InputError(f"{path}: predictions are written as .csv, .tsv or .parquet")
    with atomic_file(path, compression) as file, ExitStack() as stack:
        opened = []

        def write(values):
            table = pa.table({"prediction": pa.array(values.tolist())})
            if not opened:
                if form == "parquet":
                    made = pyarrow.parquet.ParquetWriter(
                        file, table.schema, write_page_checksum=True
                    )
                else:
                    made = pyarrow.csv.CSVWriter(file, table.schema)
                opened.append(stack.enter_context(made))
            opened[0].write_table(table)

        yield write
