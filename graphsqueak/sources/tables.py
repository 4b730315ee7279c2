"""Tables of other libraries as parts of an edge stream: Arrow streams, data frames and queries.

Every object with `__arrow_c_stream__` is a table: tables and readers of pyarrow, data frames of
polars and pandas, relations of DuckDB. So are lazy frames of polars, which are collected by the
streaming engine, and data sets of pyarrow. No table is copied as a whole: columns are selected
first, and rows are converted batch by batch.

A query is computed again in every pass. If it returned its rows in another order, nodes would have
other numbers, so this is an error (`RepeatedStreamCheck`).

The other libraries are imported only if one of their objects is passed.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphsqueak.errors import InputError


def is_table(thing: Any) -> bool:
    """Return whether this is a table in a supported form.

    >>> import pyarrow as pa
    >>> is_table(pa.table({"source": [0]})), is_table([(0, 1)])
    (True, False)
    """
    return hasattr(thing, "__arrow_c_stream__") or _opener(thing) is not _open_arrow


def table_columns(table: Any) -> dict[str, list]:
    """Return all columns of a small table, by name, as lists of Python objects.

    >>> import pyarrow as pa
    >>> table_columns(pa.table({"node": ["ann"], "label": [1]}))
    {'node': ['ann'], 'label': [1]}
    """
    part = TablePart(table)
    names = list(part.schema().names)
    columns: dict[str, list] = {name: [] for name in names}
    for batch, _ in part.batches(names, 2**16):
        for name, column in zip(names, batch.columns, strict=True):
            columns[name] += column.to_pylist()
    return columns


def first_line(error: BaseException) -> str:
    """Return the first line of the message of another library.

    >>> first_line(ValueError("bad type\\nTraceback ..."))
    'bad type'
    """
    return str(error).split("\n")[0]


class TablePart:
    """A table as a part of a stream of edges, like the files of `graphsqueak.sources.files`.

    Parameters
    ----------
    table : any table

    Attributes
    ----------
    name : str
        Library and type, for messages.
    is_rereadable : bool
        Whether it can be read more than once.
    is_query : bool
        Whether every pass computes it again.
    n_rows : int
        0 only if it is known to be empty.

    Examples
    --------
    >>> import pyarrow as pa
    >>> part = TablePart(pa.table({"source": [0, 1, 2], "target": [1, 2, 0]}))
    >>> part.name, [batch.num_rows for batch, fraction in part.batches(["source"], 2)]
    ('the pyarrow Table', [2, 1])
    """

    # Attributes of parts that are files.
    path = None
    file = None
    span = None
    text_schema = None
    remote = None
    spent = "has been read already, and can be read once; make a table of it"

    def __init__(self, table: Any) -> None:
        package = type(table).__module__.partition(".")[0].lstrip("_")
        self.name = f"the {package} {type(table).__name__}"
        self._opened = _opener(table)(table, self.name)
        self.is_rereadable = self._opened.is_rereadable
        self.is_query = self._opened.is_query
        self.n_rows = 1 if self._opened.n_rows is None else self._opened.n_rows

    def signature(self) -> None:
        """Return None: only files on disk have a signature."""

    @contextmanager
    def open(self) -> Iterator["TablePart"]:
        """Return this part, as files are opened."""
        yield self

    def schema(self) -> Any:
        """Return names and types of the columns, a pyarrow Schema."""
        return self._opened.schema

    def batches(self, columns: list[str], n_rows: int) -> Iterator[tuple[Any, float]]:
        """Yield record batches of at most `n_rows` rows, and the fraction of the table read."""
        import pyarrow as pa

        n_total = self._opened.n_rows
        n_read = 0
        try:
            for block in self._opened.batches(columns, n_rows):
                for start in range(0, block.num_rows, n_rows):
                    batch = block.select(columns).slice(start, n_rows)
                    n_read += batch.num_rows
                    yield batch, n_read / n_total if n_total else float("nan")
        except pa.ArrowException as error:
            raise InputError(
                f"{self.name} cannot be read: {first_line(error)}; cast its columns"
            ) from None


class RepeatedStreamCheck:
    """Check that every pass over a query has the edges of the first pass, in the same order."""

    def __init__(self) -> None:
        # Checksums of the batches of the first complete pass.
        self._first_pass: list[int] | None = None

    def check(self, batches: Any) -> Iterator[Any]:
        """Yield the batches; raise an InputError at the first that differs."""
        known = self._first_pass
        checksums: list[int] = []
        for batch in batches:
            checksum = 0
            for array in (batch.tail, batch.head, batch.weight):
                checksum = zlib.crc32(array, checksum)
            if known is not None and known[len(checksums) : len(checksums) + 1] != [checksum]:
                raise _changed()
            checksums.append(checksum)
            yield batch
        if known not in (None, checksums):
            raise _changed()
        self._first_pass = checksums


def _changed():
    return InputError(
        "the query gives other edges, or another order of them, when it is run again, and nodes "
        "are numbered in order: sort it, or collect it into a table first"
    )


class _Opened(NamedTuple):
    """Schema and size of a table; `batches(columns, n_rows)` returns its record batches.

    The batches may have any length, and more columns.
    """

    schema: Any
    n_rows: int | None
    batches: Callable
    is_rereadable: bool = True
    is_query: bool = False


def _opener(thing):
    """Return the function that opens a table: Arrow's, unless its library needs another one."""
    package = type(thing).__module__.partition(".")[0].lstrip("_")
    name = type(thing).__name__
    if package == "polars" and name == "LazyFrame":
        return _open_lazy
    if package == "pandas" and name == "DataFrame":
        return _open_pandas
    if package == "duckdb" and hasattr(thing, "limit"):
        return _open_duckdb
    if package == "pyarrow" and hasattr(thing, "scanner"):
        return _open_dataset
    return _open_arrow


def _open_arrow(table, name):
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{name} is not a table of edges: {first_line(error)}") from None
    if not hasattr(table, "__len__") and not hasattr(table, "num_rows"):
        return _Opened(reader.schema, None, lambda columns, n_rows: reader, is_rereadable=False)
    # Other libraries convert all their columns.
    can_select = type(table).__module__.partition(".")[0] in ("pyarrow", "polars")

    def batches(columns, n_rows):
        # Columns that are not selected are not converted.
        return pa.RecordBatchReader.from_stream(table.select(columns) if can_select else table)

    n_rows = len(table) if hasattr(table, "__len__") else table.num_rows
    return _Opened(reader.schema, n_rows, batches)


def _open_duckdb(relation, name):
    import pyarrow as pa

    def batches(columns, n_rows):
        # Closed at the end: a connection has one open result.
        with pa.RecordBatchReader.from_stream(relation) as reader:
            yield from reader

    with pa.RecordBatchReader.from_stream(relation.limit(0)) as reader:
        return _Opened(reader.schema, None, batches, is_query=True)


def _open_lazy(frame, name):
    import polars as pl

    # The schema of an empty frame: nothing is computed.
    schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema

    def batches(columns, n_rows):
        selected = frame.select(columns)
        if hasattr(selected, "collect_batches"):
            frames = selected.collect_batches(chunk_size=n_rows, maintain_order=True)
        else:
            frames = _slices(selected, n_rows)
        for one in frames:
            yield from one.to_arrow().to_batches()

    return _Opened(schema, None, batches, is_query=True)


def _slices(frame, n_rows):
    """Yield slices of a lazy frame, for versions of polars without `collect_batches`."""
    start = 0
    while len(part := frame.slice(start, n_rows).collect(engine="streaming")):
        yield part
        start += n_rows


def _open_pandas(frame, name):
    import pyarrow as pa

    try:
        schema = pa.Schema.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"{name} has a column that Arrow cannot hold: {first_line(error)}"
        ) from None

    def batches(columns, n_rows):
        selected = pa.schema([schema.field(column) for column in columns])
        position = [schema.names.index(column) for column in columns]
        for start in range(0, len(frame), n_rows):
            rows = frame.iloc[start : start + n_rows]
            arrays = [pa.Array.from_pandas(rows.iloc[:, k], type=schema.types[k]) for k in position]
            yield pa.record_batch(arrays, schema=selected)

    return _Opened(schema, len(frame), batches)


def _open_dataset(dataset, name):
    from pyarrow import dataset as datasets
    from pyarrow.fs import LocalFileSystem

    # A scan buffers the batches that it reads ahead: so few, and of one file at a time.
    options = {"batch_readahead": 2, "fragment_readahead": 1}
    if isinstance(getattr(dataset, "format", None), datasets.ParquetFileFormat):
        is_local = isinstance(dataset.filesystem, LocalFileSystem)
        options["fragment_scan_options"] = datasets.ParquetFragmentScanOptions(
            pre_buffer=not is_local, page_checksum_verification=True
        )

    def batches(columns, n_rows):
        return dataset.scanner(columns=columns, batch_size=n_rows, **options).to_reader()

    return _Opened(dataset.schema, None, batches)
