"""Tables that are in memory or come batch by batch: Arrow streams and data frames.

Anything with `__arrow_c_stream__` is one: pyarrow's tables and readers of record batches, polars
and pandas frames, DuckDB relations. So are polars' lazy frames, which are computed by their
streaming engine, and pyarrow's data sets, whose columns are chosen before a file is opened. None is
copied as a whole: columns are picked first, and rows are converted some at a time.

A table can be read again and again, a reader of record batches once. What is computed anew in each
pass, a query, could give its rows in another order; nodes would be other nodes then. So a query is
held to the order of its first pass (`SameEachTime`).

The packages are imported when one of their objects is at hand, not before.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphsqueak.errors import InputError

__all__ = ["SameEachTime", "TablePart", "is_table", "table_columns"]

_AHEAD = 2**16  # rows of a batch of a scan


def is_table(thing: Any) -> bool:
    """Whether this is a table in a form that is read here.

    >>> import pyarrow as pa
    >>> is_table(pa.table({"source": [0]})), is_table([(0, 1)])
    (True, False)
    """
    return hasattr(thing, "__arrow_c_stream__") or _library(thing) is not None


def table_columns(table: Any) -> dict[str, list]:
    """All columns of a small table, by name, as lists of Python objects.

    >>> import pyarrow as pa
    >>> table_columns(pa.table({"node": ["ann"], "label": [1]}))
    {'node': ['ann'], 'label': [1]}
    """
    part = TablePart(table)
    names = list(part.schema().names)
    columns: dict[str, list] = {name: [] for name in names}
    for batch, _ in part.batches(names, 1 << 16):
        for name, column in zip(names, batch.columns, strict=True):
            columns[name] += column.to_pylist()
    return columns


class TablePart:
    """A table as a part of a stream of edges, beside the files of `graphsqueak.sources.files`.

    Parameters
    ----------
    table : any table

    Attributes
    ----------
    name : str
        For messages: what it is.
    is_rereadable : bool
        Whether it can be read again and again.
    is_query : bool
        Whether every pass computes it anew.
    n_rows : int
        0 only if it is known to be empty.

    Examples
    --------
    >>> import pyarrow as pa
    >>> part = TablePart(pa.table({"source": [0, 1, 2], "target": [1, 2, 0]}))
    >>> part.name, [batch.num_rows for batch, share in part.batches(["source"], 2)]
    ('the pyarrow Table', [2, 1])
    """

    path = file = span = text_schema = remote = None  # of parts that are files
    spent = "has been read already, and can be read once; make a table of it"

    def __init__(self, table: Any) -> None:
        package = type(table).__module__.partition(".")[0].lstrip("_")
        self.name = f"the {package} {type(table).__name__}"
        self._opened = _LIBRARIES[_library(table) or "arrow"](table, self.name)
        self.is_rereadable, self.is_query = self._opened.is_rereadable, self._opened.is_query
        self.n_rows = 1 if self._opened.n_rows is None else self._opened.n_rows

    def signature(self) -> None:
        """Nothing: only files on disk have one."""

    @contextmanager
    def open(self) -> Iterator["TablePart"]:
        """Itself, as files are opened."""
        yield self

    def schema(self) -> Any:
        """Names and types of the columns: a pyarrow Schema."""
        return self._opened.schema

    def batches(self, columns: list[str], n_rows: int) -> Iterator[tuple[Any, float]]:
        """Record batches of at most `n_rows` rows, and the share of the table behind each."""
        import pyarrow as pa

        total, n_read = self._opened.n_rows, 0
        try:
            for whole in self._opened.batches(columns, n_rows):
                for start in range(0, whole.num_rows, n_rows):
                    batch = whole.select(columns).slice(start, n_rows)
                    n_read += batch.num_rows
                    yield batch, n_read / total if total else float("nan")
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"{self.name} cannot be read: {reason}; cast its columns") from None


class SameEachTime:
    """Holds the passes over a query to the edges, and their order, of the first one."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, int]] = []
        self._is_known = False

    def check(self, batches: Any) -> Iterator[Any]:
        """The same batches of edges; an InputError at the first that differs from before."""
        n_batches = 0
        for batch in batches:
            print_ = (zlib.crc32(batch.tail), zlib.crc32(batch.head, zlib.crc32(batch.weight)))
            if not self._is_known:
                self._seen.append(print_)
            elif n_batches >= len(self._seen) or self._seen[n_batches] != print_:
                raise _changed()
            n_batches += 1
            yield batch
        if n_batches < len(self._seen):
            raise _changed()
        self._is_known = True


class _Opened(NamedTuple):
    """What is known of a table: `batches(columns, n_rows)` are record batches, of any length."""

    schema: Any
    n_rows: int | None
    batches: Callable
    is_rereadable: bool = True
    is_query: bool = False


def _library(thing):
    """Which of the libraries below has to be asked in its own words; None for Arrow's."""
    package, name = type(thing).__module__.partition(".")[0], type(thing).__name__
    if package == "polars" and name == "LazyFrame":
        return "lazy"
    if package == "pandas" and name == "DataFrame":
        return "pandas"
    if package.lstrip("_") == "duckdb" and hasattr(thing, "limit"):
        return "duckdb"
    return "dataset" if package == "pyarrow" and hasattr(thing, "scanner") else None


def _open_arrow(table, name):
    import pyarrow as pa

    try:
        reader = pa.RecordBatchReader.from_stream(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{name} is no table of edges: {reason}") from None
    if not hasattr(table, "__len__") and not hasattr(table, "num_rows"):
        return _Opened(reader.schema, None, lambda columns, n_rows: reader, False)
    can_select = type(table).__module__.partition(".")[0] in ("pyarrow", "polars")

    def batches(columns, n_rows):
        # what is chosen before is not converted
        return pa.RecordBatchReader.from_stream(table.select(columns) if can_select else table)

    n_rows = len(table) if hasattr(table, "__len__") else table.num_rows
    return _Opened(reader.schema, n_rows, batches)


def _open_duckdb(relation, name):
    import pyarrow as pa

    def batches(columns, n_rows):
        with pa.RecordBatchReader.from_stream(relation) as reader:  # one at a time may be open
            yield from reader

    with pa.RecordBatchReader.from_stream(relation.limit(0)) as reader:
        return _Opened(reader.schema, None, batches, True, True)


def _open_lazy(frame, name):
    import polars as pl

    schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema

    def batches(columns, n_rows):
        chosen = frame.select(columns)
        if hasattr(chosen, "collect_batches"):
            parts = chosen.collect_batches(chunk_size=n_rows, maintain_order=True)
        else:
            parts = _slices(chosen, n_rows)
        for part in parts:
            yield from part.to_arrow().to_batches()

    return _Opened(schema, None, batches, True, True)


def _slices(frame, n_rows):
    """Of a polars without `collect_batches`."""
    start = 0
    while len(part := frame.slice(start, n_rows).collect(engine="streaming")):
        yield part
        start += n_rows


def _open_pandas(frame, name):
    import pyarrow as pa

    try:
        schema = pa.Schema.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{name} has a column that Arrow cannot hold: {reason}") from None

    def batches(columns, n_rows):
        chosen = pa.schema([schema.field(column) for column in columns])
        place = [schema.names.index(column) for column in columns]
        for start in range(0, len(frame), n_rows):
            rows = frame.iloc[start : start + n_rows]
            values = [
                pa.Array.from_pandas(rows.iloc[:, column], type=schema.types[column])
                for column in place
            ]
            yield pa.record_batch(values, schema=chosen)

    return _Opened(schema, len(frame), batches)


def _open_dataset(dataset, name):
    from pyarrow import dataset as datasets
    from pyarrow.fs import LocalFileSystem

    # a scan runs ahead of its reader by some batches, so these are small, and not by whole files
    options = {"batch_readahead": 2, "fragment_readahead": 1}
    is_parquet = isinstance(getattr(dataset, "format", None), datasets.ParquetFileFormat)
    if is_parquet:
        is_local = isinstance(dataset.filesystem, LocalFileSystem)
        options["fragment_scan_options"] = datasets.ParquetFragmentScanOptions(
            pre_buffer=not is_local, page_checksum_verification=True
        )

    def batches(columns, n_rows):
        return dataset.scanner(
            columns=columns, batch_size=min(n_rows, _AHEAD), **options
        ).to_reader()

    return _Opened(dataset.schema, None, batches)


_LIBRARIES: dict[str, Callable] = {
    "arrow": _open_arrow,
    "duckdb": _open_duckdb,
    "lazy": _open_lazy,
    "pandas": _open_pandas,
    "dataset": _open_dataset,
}


def _changed():
    return InputError(
        "the query gives other edges, or another order of them, when it is run again, and nodes "
        "are numbered in order: sort it, or collect it into a table first"
    )
