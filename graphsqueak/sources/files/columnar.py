"""Read edges from Parquet and Arrow files (Feather, IPC file, IPC stream), and from tables.

A table is read in record batches of the chosen columns. Each batch is checked by Arrow, its columns
are converted to ids, weights and times (`_convert`), bad rows are found (`_faults_of`) and, unless
they are an error, dropped. The result is a `Chunk`.

Pages of a Parquet file may have checksums, and those of our own files do; they are verified. The
footer has none: it is checked that the rows of its row groups add up. Arrow files have none.
"""

import io
import os
import re
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.sources.edge_source import Chunk, Opened
from graphsqueak.sources.files.ambiguities import refuse_two_entities
from graphsqueak.sources.files.columns import choose_columns
from graphsqueak.sources.files.contents import Content
from graphsqueak.sources.files.fields import SMALLEST_DISTANCE
from graphsqueak.sources.tables import first_line
from graphsqueak.sources.times import are_dates, arrow_times
from graphsqueak.system.expansion import (
    MIN_LIMIT_BYTES,
    check_arrow_sizes,
    check_parquet_pages,
    check_parquet_table,
    refuse_bomb,
)
from graphsqueak.system.kernels import prefetch_map
from graphsqueak.system.memory import readable_size
from graphsqueak.system.paths import is_utf8

# Names of Arrow types, by category.
_CATEGORY = re.compile(
    r"(?P<integer>u?int\d)|(?P<float>halffloat|float|double)|(?P<decimal>decimal)"
    r"|(?P<date>timestamp|date)|(?P<text>string|large_string)|(?P<dictionary>dictionary)"
)
# What a column may hold, by role or by the kind of the ids: in words, and the categories.
_INTEGERS = ("integers", ("integer", "float"))
_EXPECTED = {
    "time": ("numbers, dates or timestamps", ("text", "integer", "float", "date")),
    "weight": ("numbers", ("integer", "float", "decimal")),
    "text": ("texts or integers", ("text", "integer", "float")),
}
# Bits of the integers that a float type holds without gaps.
_MANTISSA_BITS = {"halffloat": 11, "float": 24, "double": 53}


def read_parquet(path, name, options, *, kind=None, row_groups=None):
    """Read a Parquet file.

    Parameters
    ----------
    path : Path or RemoteFile
    name : str
        For messages.
    options : ReadOptions
    kind : {"int64", "uint64", "text"}, optional
        Kind of the ids, if an earlier file of the same input has decided it.
    row_groups : tuple of int, optional
        Start and stop of the row groups to read. Default: all.

    Returns
    -------
    Opened
    """

    def record_batches(columns):
        with open_parquet(path) as file:
            groups = range(*row_groups) if row_groups else range(file.num_row_groups)
            n_rows = max(1, _n_rows(file, groups))
            n_read = 0
            batches = _bounded_batches(file, path, name, columns, groups, options.block_rows)
            for batch in batches:
                n_read += batch.num_rows
                yield batch, n_read / n_rows

    with _explain_opening(name), open_parquet(path) as file:
        check_parquet_pages(file, name, _stored_bytes(path))
        schema = file.schema_arrow
        is_empty = file.metadata.num_rows == 0
    return _open(schema, record_batches, name, options, kind, is_empty=is_empty)


def read_arrow(path, name, options, *, kind=None):
    """Read an Arrow IPC file or stream; see `read_parquet`."""
    import pyarrow as pa

    def record_batches(columns):
        with _open_bytes(path) as file:
            check_arrow_sizes(file, name, _stored_bytes(path))
            reader = _ipc_reader(file)
            # A stream does not know its number of batches.
            n_batches = np.nan
            batches = reader
            if isinstance(reader, pa.ipc.RecordBatchFileReader):
                n_batches = reader.num_record_batches
                batches = map(reader.get_batch, range(n_batches))
            for n_read, whole in enumerate(batches, start=1):
                for start in range(0, whole.num_rows, options.block_rows):
                    part = whole.select(columns).slice(start, options.block_rows)
                    yield part, n_read / n_batches

    with _explain_opening(name), _open_bytes(path) as file:
        schema = _ipc_reader(file).schema
    return _open(schema, record_batches, name, options, kind)


def _ipc_reader(file):
    import pyarrow as pa

    file.seek(0)
    # A stream of record batches has no magic bytes.
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    # With a memory map, a file that is cut while it is read would end the process.
    source = pa.PythonFile(file, mode="r")
    return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)


def read_table(part, options, *, kind=None):
    """Read a `TablePart`; see `read_parquet`."""
    record_batches = partial(part.batches, n_rows=options.block_rows)
    is_empty = part.n_rows == 0
    return _open(part.schema(), record_batches, part.name, options, kind, is_empty=is_empty)


# Parquet files


@contextmanager
def open_parquet(path, *, read_dictionary=None):
    """Open a Parquet file whose checksums are verified while it is read.

    Parameters
    ----------
    path : path, binary file object or RemoteFile
    read_dictionary : list of str, optional
        Columns that stay dictionary-encoded.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _open_for_arrow(path) as place:
        file = pq.ParquetFile(
            place,
            # With the default pre_buffer=True, memory would grow with the file.
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=read_dictionary,
        )
        with file:
            n_rows = _n_rows(file, range(file.num_row_groups))
            if n_rows != file.metadata.num_rows:
                raise pa.ArrowInvalid(
                    f"its row groups have {n_rows} rows, not {file.metadata.num_rows}"
                )
            yield file


def parquet_frame(path, *, block_rows=1 << 17):
    """Read a whole Parquet file as a polars frame.

    Parameters
    ----------
    path : path, BytesIO or RemoteFile
    block_rows : int
        Rows that are decoded at a time, to stop early if the file expands too much.

    Raises
    ------
    ArrowException, OSError or ValueError
        If the file is broken. It is read by pyarrow since polars panics over broken files.
    InputError
        If it expands too much, see `graphsqueak.system.expansion`.
    """
    import polars as pl
    import pyarrow as pa

    n_stored = _stored_bytes(path)
    name = "the table" if isinstance(path, io.BytesIO) else path
    if name is path and not os.path.isfile(path):
        raise OSError(f"{path} is a pipe or device; Parquet must lie on disk: save it first")
    with open_parquet(path) as file:
        check_parquet_table(file, name, n_stored)
        schema = file.schema_arrow
        groups = range(file.num_row_groups)
        batches = [*_bounded_batches(file, path, name, schema.names, groups, block_rows)]
    table = pa.Table.from_batches(batches, schema)
    table.validate(full=True)
    return pl.from_arrow(table)


def _n_rows(file, row_groups):
    return sum(file.metadata.row_group(group).num_rows for group in row_groups)


def _bounded_batches(
    file, path, name, columns, row_groups, block_rows, *, block_text_bytes=1 << 26
):
    """Yield record batches of at most `block_rows` rows and `block_text_bytes` of text.

    A few batches are in memory at a time. With half or twice the bytes, a file with ids of 2 kB
    takes 27 % less or 17 % more memory, and the same time.

    A text that occurs in many rows is stored once. So batches of a row group have fewer rows if its
    texts are long, and all texts count towards the limit of `graphsqueak.system.expansion`.
    """
    texts = [
        field.name
        for field in file.schema_arrow
        if field.name in columns and _category(field.type) == "text"
    ]
    if not texts:
        groups = list(row_groups)
        yield from file.iter_batches(block_rows, row_groups=groups, columns=columns)
        return
    n_stored = _stored_bytes(path)
    n_decoded = 0
    # A row group has its own dictionaries.
    for group in row_groups:
        longest = max(_longest_shared_text(path, texts, group), 1)
        refuse_bomb(name, n_stored, longest)
        n_rows = min(block_rows, max(block_text_bytes // longest, 1))
        for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
            n_decoded += sum(column.nbytes for column in batch if _category(column.type) == "text")
            refuse_bomb(name, n_stored, n_decoded)
            yield batch


def _longest_shared_text(path, columns, row_group):
    """Return the bytes of the longest text in the dictionary of each column, added up."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # The first row comes with the whole dictionary of each column.
    with open_parquet(path, read_dictionary=columns) as file:
        first_row = next(file.iter_batches(1, row_groups=[row_group], columns=columns), None)
    n_bytes = 0
    for column in [] if first_row is None else first_row.columns:
        if pa.types.is_dictionary(column.type):
            n_bytes += pc.max(pc.binary_length(column.dictionary)).as_py() or 0
    return n_bytes


# Opening


def _stored_bytes(path):
    """Return the size of a file on disk, at an address, or in memory."""
    if isinstance(path, io.BytesIO):
        return path.getbuffer().nbytes
    return path.n_bytes() if hasattr(path, "n_bytes") else os.stat(path).st_size


def _open_bytes(path):
    """Open a file on disk or at an address."""
    return path.handle() if hasattr(path, "handle") else open(path, "rb")


@contextmanager
def _open_for_arrow(path):
    """Yield what Arrow can open: a path, or a file object if it is at an address or not UTF-8."""
    is_unusual = isinstance(path, str | os.PathLike) and not is_utf8(path)
    if is_unusual or hasattr(path, "handle"):
        with _open_bytes(path) as file:
            yield file
    else:
        yield path


@contextmanager
def _explain_opening(name):
    """Turn the errors of Arrow about a file that it cannot open into one line that names it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{name} cannot be read: {first_line(error)}; it may be damaged or truncated"
        ) from None


def _explain_damage(batches, name):
    """Validate record batches, and number their rows from 1.

    Errors about broken data become one line that names the file.
    """
    import pyarrow as pa

    first_row = 1
    try:
        for batch, fraction_read in batches:
            # ArrowInvalid if a text is not UTF-8 or an offset is out of range.
            batch.validate(full=True)
            yield batch, fraction_read, first_row
            first_row += batch.num_rows
    except MemoryError as error:
        raise InputError(f"{name} needs more memory than there is: {first_line(error)}") from None
    except TimeoutError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{name} is damaged: {first_line(error)}; copy or download it again"
        ) from None


# Choosing columns


class _EdgeColumns(NamedTuple):
    """The chosen columns of a table, and how they are read."""

    name: str
    # The Arrow field of each role.
    fields: dict[str, Any]
    kind: str
    options: Any


def _open(schema, record_batches, name, options, kind, *, is_empty=False):
    """Choose columns, and return an `Opened`.

    Parameters
    ----------
    schema : pyarrow.Schema
    record_batches : callable
        record_batches(names of columns) yields record batches, each with the fraction of the table
        up to its end.
    """
    try:
        roles = choose_columns(
            len(schema.names),
            schema.names,
            columns=options.columns,
            weighted=options.weighted,
            time=options.time,
            weights_are=options.weights_are,
            contents=[_CONTENTS[_category(arrow_type)] for arrow_type in schema.types],
        )
        fields = {role: schema.field(k) for k, role in enumerate(roles) if role != "skip"}
        detected_kind = _id_kind(fields, options.ids)
        may_be_ambiguous = kind is None and not is_empty and options.bipartite == "auto"
        # Texts of two kinds of nodes differ by themselves.
        if may_be_ambiguous and detected_kind != "text":
            refuse_two_entities([fields["source"].name, fields["target"].name])
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: ", error) from None
    if is_empty:
        return Opened(None, False, iter(()))
    columns = _EdgeColumns(name, fields, kind or detected_kind, options)
    _refuse_types(columns)
    return Opened(
        columns.kind,
        "weight" in fields,
        _chunks(record_batches, columns),
        tuple(fields[role].name for role in ("source", "target", "weight") if role in fields),
        time=fields["time"].name if "time" in fields else None,
    )


def _category(arrow_type):
    """Return the category of an Arrow type; None if no column of edges can have it."""
    found = _CATEGORY.match(str(arrow_type))
    return found and found.lastgroup


_CONTENTS = {
    "integer": Content.INTEGERS,
    "float": Content.FRACTIONS,
    "decimal": Content.FRACTIONS,
    "date": Content.TIMES,
    "text": Content.TEXTS,
    "dictionary": Content.TEXTS,
    None: Content.OTHER,
}


def _id_kind(fields, ids):
    types = [str(fields[role].type) for role in ("source", "target")]
    categories = {_category(fields[role].type) for role in ("source", "target")}
    if ids == "text" or (ids == "auto" and not categories <= {"integer", "float"}):
        return "text"
    return "uint64" if "uint64" in types else "int64"


def _refuse_types(columns):
    """Raise an InputError about a column whose type its role cannot have."""
    import pyarrow as pa

    for role, field in columns.fields.items():
        held = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        wanted, categories = _EXPECTED.get(role) or _EXPECTED.get(columns.kind, _INTEGERS)
        if _category(held) not in categories:
            raise InputError(
                f"{columns.name}: column {field.name!r} ({role}) holds {field.type} where "
                f"{wanted} are expected; cast it, or choose other columns (",
                Parameter("columns"),
                ")",
            )


# Rows


def _chunks(record_batches, columns):
    names = [field.name for field in columns.fields.values()]
    batches = _explain_damage(record_batches(names), columns.name)
    return prefetch_map(partial(_read_rows, columns=columns), batches)


def _place(name, first_row, kept, row):
    return f"{name}, row {first_row + int(kept[row])}"


def _read_rows(item, columns):
    """Convert a record batch, with its fraction of the table and its first row, to a `Chunk`."""
    batch, fraction_read, first_row = item
    options = columns.options
    table = {}
    for role, field in columns.fields.items():
        try:
            table[role] = _convert(role, batch.column(field.name), columns.kind)
        except InputError as error:
            raise InputError(f"{columns.name}: column {field.name!r} ({role}) ", error) from None
    are_distances = options.weights_are == "distance"
    # Bad rows are an error, or are dropped.
    faults = [
        (fault, mask)
        for role, column in table.items()
        for fault, mask in _faults_of(role, column, columns.kind, are_distances=are_distances)
        if mask.any()
    ]
    if faults and options.on_bad_line == "error":
        # The fault of the first bad row.
        fault, mask = min(faults, key=lambda found: np.argmax(found[1]))
        row = int(np.argmax(mask))
        cells = ", ".join(str(column[row].as_py()) for column in table.values())
        raise InputError(f"{columns.name}, row {first_row + row} ({cells}): ", fault)
    kept = range(batch.num_rows)
    if faults:
        good = ~np.any([mask for _, mask in faults], axis=0)
        kept = np.flatnonzero(good)
        table = {role: column.filter(good) for role, column in table.items()}
    text, ends = _ends(table["source"], table["target"], columns.kind)
    weight = _to_numpy(table.get("weight"))
    time = _to_numpy(table.get("time"))
    return Chunk(
        ends,
        1 / weight if are_distances else weight,
        text,
        n_bad_lines=batch.num_rows - len(kept),
        fraction_read=fraction_read,
        time=time,
        where=partial(_place, columns.name, first_row, kept),
        has_dates=time is not None and are_dates(batch.column(columns.fields["time"].name)),
    )


def _to_numpy(column):
    return None if column is None else column.to_numpy(zero_copy_only=False)


def _convert(role, column, kind):
    """Return the column of a role in the type in which it is used; raise an InputError."""
    import pyarrow as pa

    category = _category(column.type)
    if role == "time":
        # NaN becomes null.
        return pa.array(arrow_times(column), from_pandas=True)
    if role == "weight":
        return column.cast(pa.float64())
    if category == "float":
        return _whole_numbers(column, kind)
    if category == "dictionary":
        words = column.dictionary.cast(pa.large_string())
        column = pa.DictionaryArray.from_arrays(column.indices, words)
        if _text_bytes(column) > MIN_LIMIT_BYTES:
            raise InputError(
                f"holds more than {readable_size(MIN_LIMIT_BYTES)} of text in {len(column):,} rows "
                "once its dictionary is decoded, like a decompression bomb; shorten the ids"
            )
        return column.dictionary_decode()
    return column.cast(pa.large_string()) if kind == "text" else column


def _text_bytes(column):
    """Return the bytes of a dictionary of texts once each row has its copy; 0 for other columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_dictionary = pa.types.is_dictionary(column.type)
    if not is_dictionary or _category(column.type.value_type) != "text" or not len(column):
        return 0
    lengths = pc.binary_length(column.dictionary).to_numpy(zero_copy_only=False)
    indices = column.indices.drop_null().to_numpy(zero_copy_only=False)
    n_uses = np.bincount(indices, minlength=lengths.size)
    return int(np.dot(n_uses, np.nan_to_num(lengths)))


def _whole_numbers(column, kind):
    """Return floats as integers, or as their digits.

    Beyond 2^53 (2^24 in single precision) floats skip integers, and an id may be that of another
    node. An InputError is raised if a float is not whole or may be rounded.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.if_else(pc.is_nan(column), None, column).cast(pa.float64())
    n_bits = _MANTISSA_BITS[str(column.type)]
    is_rounded = pc.greater(pc.abs(values), 2.0**n_bits)
    is_fraction = pc.not_equal(values, pc.floor(values))
    bad = pc.filter(values, pc.or_(is_rounded, is_fraction))
    if len(bad):
        raise InputError(
            f"holds {column.type} such as {bad[0].as_py()!r} where integers, or whole numbers up "
            f"to 2^{n_bits}, are expected; cast it to integers or to text"
        )
    # Whole and exact, so nothing is lost; text ids get their digits without a point.
    numbers = values.cast(pa.int64())
    return numbers.cast(pa.large_string()) if kind == "text" else numbers


def _faults_of(role, column, kind, *, are_distances):
    """Yield what can be wrong with a converted column, each with a mask of the rows."""
    empty = "is empty, or neither number nor date" if role == "time" else "is empty"
    if column.null_count:
        yield f"the {role} {empty}", _to_numpy(column.is_null())
    if role == "time":
        return
    if role == "weight":
        weight = _to_numpy(column)
        # Written such that NaN is a fault.
        yield "the weight is not finite, or negative", ~((weight >= 0) & (weight < np.inf))
        if are_distances:
            fault = "the distance is zero, and the weight of an edge is 1 / distance"
            yield fault, weight < SMALLEST_DISTANCE
    elif kind == "text":
        yield f"the {role} is an empty text", np.diff(_offsets(column)) == 0
    elif (kind == "uint64") != (str(column.type) == "uint64"):
        values = _to_numpy(column.fill_null(0))
        fault = Message(
            f"the {role} does not fit the {kind} ids before it; give ", Parameter("ids", "text")
        )
        yield fault, values > 2**63 - 1 if kind == "int64" else values < 0


def _offsets(column):
    """Return the offsets of the texts of a column in its buffer."""
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int64)
    return offsets[column.offset : column.offset + len(column) + 1]


def _ends(source, target, kind):
    """Return the ids of both ends as a `Chunk` has them: text or None, and ends."""
    if kind != "text":
        # uint64 ids are stored as the int64 of the same bits.
        ends = np.empty((2, len(source)), dtype=np.int64)
        ends[0].view(kind)[:] = _to_numpy(source)
        ends[1].view(kind)[:] = _to_numpy(target)
        return None, ends.T
    texts = []
    spans = []
    n_bytes = 0
    for column in (source, target):
        offsets = _offsets(column)
        text = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)
        texts.append(text[offsets[0] : offsets[-1]])
        # Texts of the sources come first.
        offsets = offsets - offsets[0] + n_bytes
        spans += [offsets[:-1], offsets[1:]]
        n_bytes += texts[-1].size
    return np.concatenate(texts), np.column_stack(spans)
