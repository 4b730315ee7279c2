"""Read edges from Parquet and Arrow files (Feather, IPC file, IPC stream), and from tables.

Pages of a Parquet file may have checksums, and those of our own files do; they are verified. The
footer has none: it is checked that the rows of its row groups add up. Arrow files have none.
"""

import io
import os
from contextlib import contextmanager
from functools import partial

import numpy as np

from graphsqueak.errors import InputError, Message, Parameter
from graphsqueak.sources.edge_source import Chunk, Opened
from graphsqueak.sources.files.ambiguities import two_entities_error
from graphsqueak.sources.files.columns import choose_columns
from graphsqueak.sources.files.contents import Content
from graphsqueak.sources.files.fields import SMALLEST_DISTANCE
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

__all__ = ["open_parquet", "parquet_frame", "read_arrow", "read_parquet", "read_table"]


# Bits of the integers that a float type holds without gaps.
_MANTISSA_BITS = {"halffloat": 11, "float": 24, "double": 53}

_MAX_TEXT_BYTES = 1 << 26  # of a batch, of which some are in memory at a time


def read_parquet(path, name, options, *, kind=None, groups=None):
    """Read a Parquet file, or its row groups from `groups[0]` up to `groups[1]`.

    See `read_text` for what is returned.
    """

    def tables(columns):
        with open_parquet(path) as file:
            chosen = range(file.num_row_groups) if groups is None else range(*groups)
            n_rows = max(1, sum(file.metadata.row_group(group).num_rows for group in chosen))
            n_read = 0
            for batch in _bounded_batches(file, path, name, columns, list(chosen), options):
                n_read += batch.num_rows
                yield batch, n_read / n_rows

    with _explain_opening(name), open_parquet(path) as file:
        check_parquet_pages(file, name, _stored_bytes(path))
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    return _read(schema, n_rows, tables, name, options, kind)


@contextmanager
def open_parquet(path, *, read_dictionary=None):
    """Open a Parquet file whose checksums are verified while it is read.

    `path` may be a path, a file object, or a file at an address. Columns of `read_dictionary` stay
    encoded.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _handle(path) as place:
        file = pq.ParquetFile(
            place,
            # with the default pre_buffer=True, memory would grow with the file
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=read_dictionary,
        )
        with file:
            metadata = file.metadata
            groups = range(metadata.num_row_groups)
            n_rows = sum(metadata.row_group(group).num_rows for group in groups)
            if n_rows != metadata.num_rows:
                raise pa.ArrowInvalid(f"its row groups have {n_rows} rows, not {metadata.num_rows}")
            yield file


def _bounded_batches(file, path, name, columns, groups, options):
    """Record batches of at most `block_rows` rows, and of at most 64 MiB of text.

    A text that many rows share is stored once. So batches of a row group have fewer rows if its
    texts are long, and all texts count towards the limit of `graphsqueak.system.expansion`.
    """
    texts = [column for column in columns if _is_text(file.schema_arrow.field(column).type)]
    if not texts:
        yield from file.iter_batches(options.block_rows, row_groups=groups, columns=columns)
        return
    n_stored = _stored_bytes(path)
    n_decoded = 0
    for group in groups:
        longest = max(_longest_shared_text(path, texts, group), 1)
        refuse_bomb(name, n_stored, longest)
        n_rows = min(options.block_rows, max(_MAX_TEXT_BYTES // longest, 1))
        for batch in file.iter_batches(n_rows, row_groups=[group], columns=columns):
            n_decoded += sum(batch.column(column).nbytes for column in texts)
            refuse_bomb(name, n_stored, n_decoded)
            yield batch


def _longest_shared_text(path, columns, group):
    """Bytes of the longest text in the dictionaries of the columns of a row group, added up."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with open_parquet(path, read_dictionary=columns) as file:
        first_row = next(file.iter_batches(1, row_groups=[group], columns=columns), None)
    n_bytes = 0
    for column in [] if first_row is None else first_row.columns:
        if pa.types.is_dictionary(column.type):
            n_bytes += pc.max(pc.binary_length(column.dictionary)).as_py() or 0
    return n_bytes


def parquet_frame(path):
    """A whole Parquet file as a polars frame; ArrowException, OSError or ValueError if broken.

    An InputError if it expands too much, see `graphsqueak.system.expansion`.

    Polars panics over broken files where pyarrow complains.
    """
    import polars as pl

    n_stored = _stored_bytes(path)
    name = "the table" if isinstance(path, io.BytesIO) else path
    if name is path and not os.path.isfile(path):
        raise OSError(f"{path} is a pipe or device; Parquet must lie on disk: save it first")
    with open_parquet(path) as file:
        check_parquet_table(file, name, n_stored)
        schema = file.schema_arrow
    texts = [field.name for field in schema if _is_text(field.type)]
    # Texts stay in dictionaries until it is known how many bytes they take.
    with open_parquet(path, read_dictionary=texts) as file:
        table = file.read()
    table.validate(full=True)
    n_decoded = sum(_text_bytes(chunk) for column in table.columns for chunk in column.chunks)
    refuse_bomb(name, n_stored, n_decoded)
    table = table.cast(schema)
    return pl.from_arrow(table.rename_columns(list(table.schema.names)))


def _text_bytes(column):
    """Bytes of the texts of a column once each row has its own copy; 0 if it is stored so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_shared = pa.types.is_dictionary(column.type) and _is_text(column.type.value_type)
    if not is_shared or not len(column):
        return 0
    lengths = pc.binary_length(column.dictionary).to_numpy(zero_copy_only=False)
    indices = column.indices.drop_null().to_numpy(zero_copy_only=False)
    n_uses = np.bincount(indices, minlength=lengths.size)
    return int(np.dot(n_uses, np.nan_to_num(lengths)))


def _is_text(held):
    import pyarrow as pa

    return pa.types.is_string(held) or pa.types.is_large_string(held)


def _stored_bytes(path):
    """Size of a file on disk, at an address, or in memory."""
    if isinstance(path, io.BytesIO):
        return path.getbuffer().nbytes
    return path.n_bytes() if hasattr(path, "n_bytes") else os.stat(path).st_size


def read_arrow(path, name, options, *, kind=None):
    """Read an Arrow IPC file or stream; see `read_text` for what is returned."""
    import pyarrow as pa

    @contextmanager
    def open_reader():
        with _handle(path) as place:
            # a file that is cut while it is read would end the process with a memory map
            source = pa.OSFile(str(place)) if place is path else pa.PythonFile(place, mode="r")
            is_file = source.read(6) == b"ARROW1"
            source.seek(0)
            yield pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    def tables(columns):
        with path.handle() if hasattr(path, "handle") else open(path, "rb") as file:
            check_arrow_sizes(file, name, _stored_bytes(path))
        with open_reader() as reader:
            is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
            n_batches = reader.num_record_batches if is_file else None
            batches = map(reader.get_batch, range(n_batches)) if is_file else reader
            for n_read, whole in enumerate(batches, start=1):
                fraction = n_read / n_batches if is_file else np.nan
                for start in range(0, whole.num_rows, options.block_rows):
                    yield whole.select(columns).slice(start, options.block_rows), fraction

    with _explain_opening(name), open_reader() as reader:
        schema = reader.schema
    return _read(schema, 1, tables, name, options, kind)


def read_table(part, options, *, kind=None):
    """Read a table that is no file, a `TablePart`; see `read_text` for what is returned."""

    def tables(columns):
        return part.batches(columns, options.block_rows)

    return _read(part.schema(), part.n_rows, tables, part.name, options, kind)


@contextmanager
def _handle(path):
    """What Arrow can open: a path, or a file object if it is at an address or not UTF-8."""
    if hasattr(path, "handle"):
        with path.handle() as file:
            yield file
    elif isinstance(path, str | os.PathLike) and not is_utf8(path):
        with open(path, "rb") as file:
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
        reason = str(error).split("\n")[0]
        raise InputError(
            f"{name} cannot be read: {reason}; it may be damaged or truncated"
        ) from None


def _read(schema, n_rows, tables, name, options, kind):
    try:
        roles = choose_columns(
            len(schema.names),
            schema.names,
            columns=options.columns,
            weighted=options.weighted,
            time=options.time,
            weights_are=options.weights_are,
            contents=[_content(held) for held in schema.types],
        )
        if n_rows and kind is None and options.bipartite == "auto":
            _refuse_two_kinds(schema, roles, options.ids)
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: ", error) from None
    chosen = {role: schema.field(column) for column, role in enumerate(roles) if role != "skip"}
    if n_rows == 0:
        return Opened(None, False, iter(()))
    kind = kind or _id_kind(chosen, options.ids)
    _refuse_types(chosen, kind, name)
    names = [chosen[role].name for role in ("source", "target", "weight") if role in chosen]
    chunks = _chunks(tables, chosen, kind, name, options)
    time = chosen["time"].name if "time" in chosen else None
    return Opened(kind, "weight" in chosen, chunks, tuple(names), time=time)


def _refuse_two_kinds(schema, roles, ids):
    """Numbers of two kinds of things; texts tell for themselves."""
    chosen = {role: schema.field(column) for column, role in enumerate(roles) if role != "skip"}
    error = two_entities_error([chosen["source"].name, chosen["target"].name])
    if error is not None and _id_kind(chosen, ids) != "text":
        raise error


def _content(held):
    """What a column of an Arrow type holds, as far as its type shows it."""
    import pyarrow as pa

    if pa.types.is_timestamp(held) or pa.types.is_date(held):
        return Content.TIMES
    if pa.types.is_floating(held) or pa.types.is_decimal(held):
        return Content.FRACTIONS
    is_text = pa.types.is_string(held) or pa.types.is_large_string(held)
    is_text |= pa.types.is_string_view(held) or pa.types.is_dictionary(held)
    if is_text:
        return Content.TEXTS
    return Content.INTEGERS if pa.types.is_integer(held) else Content.OTHER


def _end_types(chosen):
    return [chosen["source"].type, chosen["target"].type]


def _is_float(held):
    import pyarrow as pa

    return pa.types.is_floating(held)


def _id_kind(chosen, ids):
    import pyarrow as pa

    types = _end_types(chosen)
    are_numbers = all(pa.types.is_integer(held) or _is_float(held) for held in types)
    if ids == "text" or (ids == "auto" and not are_numbers):
        return "text"
    return "uint64" if any(map(pa.types.is_uint64, types)) else "int64"


def _refuse_types(chosen, kind, name):
    import pyarrow as pa

    for role, field in chosen.items():
        held = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = any(
            test(held)
            for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        )
        is_number = pa.types.is_integer(held) or pa.types.is_floating(held)
        if role == "time":
            is_date = pa.types.is_timestamp(held) or pa.types.is_date(held)
            wanted, fits = "numbers, dates or timestamps", is_text or is_number or is_date
        elif role == "weight":
            wanted, fits = "numbers", is_number or pa.types.is_decimal(held)
        elif kind == "text":
            wanted, fits = "texts or integers", is_text or is_number
        else:
            wanted, fits = "integers", is_number
        if not fits:
            raise InputError(
                f"{name}: column {field.name!r} ({role}) holds {field.type} where "
                f"{wanted} are expected; cast it, or choose other columns (",
                Parameter("columns"),
                ")",
            )


def _chunks(tables, chosen, kind, name, options):
    names = [field.name for field in chosen.values()]
    are_distances = options.weights_are == "distance"

    def work(drawn):
        """A chunk, what is wrong with some of its rows, and these as a table."""
        batch, fraction = drawn
        table = {}
        for role, field in chosen.items():
            try:
                table[role] = _convert(role, batch.column(field.name), kind)
            except InputError as error:
                raise InputError(f"{name}: column {field.name!r} ({role}) ", error) from None
        bad = _bad_rows(table, batch.num_rows, kind, are_distances=are_distances)
        if bad and options.on_bad_line == "error":
            return None, bad, table
        good = ~np.any(list(bad.values()), axis=0) if bad else None
        if bad:
            table = {role: _filter(column, good) for role, column in table.items()}
        weight = table["weight"].to_numpy(zero_copy_only=False) if "weight" in table else None
        if are_distances:
            weight = 1 / weight
        time = table["time"].to_numpy(zero_copy_only=False) if "time" in table else None
        text, ends = _ends(table["source"], table["target"], kind)
        n_bad = int(np.count_nonzero(~good)) if bad else 0
        kept = np.flatnonzero(good) if bad else range(batch.num_rows)
        chunk = Chunk(
            ends,
            weight,
            text,
            n_bad_lines=n_bad,
            fraction_read=fraction,
            time=time,
            where=kept.__getitem__,
            has_dates=time is not None and are_dates(batch.column(chosen["time"].name)),
        )
        return chunk, batch.num_rows, None

    first_row = 1
    for chunk, rows, table in prefetch_map(work, _guard(_validate(tables(names)), name)):
        if chunk is None:
            fault, mask = min(rows.items(), key=lambda found: np.argmax(found[1]))
            row = int(np.argmax(mask))
            cells = ", ".join(str(column[row].as_py()) for column in table.values())
            raise InputError(f"{name}, row {first_row + row} ({cells}): ", fault)
        yield chunk._replace(where=partial(_where, name, first_row, chunk.where))
        first_row += rows


def _where(name, first, kept, row):
    return f"{name}, row {first + int(kept(row))}"


def _validate(batches):
    """The same; ArrowInvalid where a text is not UTF-8 or an offset leads nowhere."""
    for batch, fraction in batches:
        batch.validate(full=True)
        yield batch, fraction


def _guard(batches, name):
    """Turn what Arrow says about broken data into one line that names the file."""
    import pyarrow as pa

    try:
        yield from batches
    except MemoryError as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} needs more memory than there is: {reason}") from None
    except TimeoutError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} is damaged: {reason}; copy or download it again") from None


def _convert(role, column, kind):
    import pyarrow as pa

    if role == "time":
        return pa.array(arrow_times(column), from_pandas=True)  # NaN becomes null
    if role == "weight":
        return column.cast(pa.float64())
    if _is_float(column.type):
        return _whole_numbers(column, kind)
    if isinstance(column, pa.DictionaryArray):
        if _text_bytes(column) > MIN_LIMIT_BYTES:
            raise InputError(
                f"holds more than {readable_size(MIN_LIMIT_BYTES)} of text in {len(column):,} rows "
                "once its dictionary is decoded, like a decompression bomb; shorten the ids"
            )
        words = column.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(column.indices, words).dictionary_decode()
    return column.cast(pa.large_string()) if kind == "text" else column


def _whole_numbers(column, kind):
    """Floats as integers, or as their digits; an InputError if one is not whole or may be rounded.

    Beyond 2^53 (2^24 in single precision) floats skip integers, and an id may be another one's.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.if_else(pc.is_nan(column), None, column).cast(pa.float64())
    n_bits = _MANTISSA_BITS[str(column.type)]
    is_rounded = pc.greater(pc.abs(values), 2.0**n_bits)
    is_odd = pc.not_equal(values, pc.floor(values))
    bad = pc.filter(values, pc.or_(is_rounded, is_odd))
    if len(bad):
        raise InputError(
            f"holds {column.type} such as {bad[0].as_py()!r} where integers, or whole numbers up "
            f"to 2^{n_bits}, are expected; cast it to integers or to text"
        )
    numbers = values.cast(pa.int64())
    return numbers.cast(pa.large_string()) if kind == "text" else numbers


def _bad_rows(table, n_rows, kind, *, are_distances):
    """What is wrong with some rows, each with a mask of them."""
    bad = {}
    for role, column in table.items():
        if column.null_count:
            said = "is empty" if role != "time" else "is empty, or neither number nor date"
            bad[f"the {role} {said}"] = column.is_null().to_numpy(zero_copy_only=False)
        elif role == "time":
            continue
        elif role == "weight":
            weight = column.to_numpy()
            bad["the weight is not finite, or negative"] = ~((weight >= 0) & (weight < np.inf))
            if are_distances:
                bad["the distance is zero, and the weight of an edge is 1 / distance"] = (
                    weight < SMALLEST_DISTANCE
                )
        elif kind == "text":
            offsets = np.frombuffer(column.buffers()[1], dtype=np.int64)[column.offset :]
            bad[f"the {role} is an empty text"] = np.diff(offsets[: n_rows + 1]) == 0
        elif (kind == "uint64") != (str(column.type) == "uint64"):
            values = column.to_numpy()
            misfits = values > 2**63 - 1 if kind == "int64" else values < 0
            fault = Message(
                f"the {role} does not fit the {kind} ids before it; give ", Parameter("ids", "text")
            )
            bad[fault] = misfits
    return {fault: rows for fault, rows in bad.items() if rows.any()}


def _filter(column, good):
    import pyarrow as pa

    return column.filter(pa.array(good))


def _ends(source, target, kind):
    """Integers as they are, texts as one array of bytes and their (start, stop) in it."""
    if kind != "text":
        ends = np.empty((2, len(source)), dtype=np.int64)
        for own, column in zip(ends, (source, target), strict=True):
            own.view(kind)[:] = column.to_numpy(zero_copy_only=False)
        return None, ends.T
    texts, spans, shift = [], [], 0
    for column in (source, target):
        offsets = np.frombuffer(column.buffers()[1], dtype=np.int64)
        offsets = offsets[column.offset : column.offset + len(column) + 1]
        text = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)
        texts.append(text[offsets[0] : offsets[-1]])
        spans += [offsets[:-1] - offsets[0] + shift, offsets[1:] - offsets[0] + shift]
        shift += texts[-1].size
    return np.concatenate(texts), np.column_stack(spans)
