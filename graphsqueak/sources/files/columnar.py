"""Read edges from Parquet and Arrow files (Feather, IPC file, IPC stream), and from tables."""

from functools import partial

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.edge_source import Chunk, Opened
from graphsqueak.sources.files.doubts import refuse_two_kinds
from graphsqueak.sources.files.fields import choose_columns
from graphsqueak.sources.times import arrow_times
from graphsqueak.system.kernels import map_ahead

__all__ = ["parquet_frame", "read_arrow", "read_parquet", "read_table"]


def read_parquet(path, name, options, *, kind=None, groups=None):
    """Read a Parquet file, or its row groups from `groups[0]` up to `groups[1]`.

    See `read_text` for what is returned.
    """
    import pyarrow.parquet as pq

    def tables(columns):
        # a buffer would grow with the file
        with pq.ParquetFile(_handle(path), pre_buffer=False) as file:
            chosen = range(file.num_row_groups) if groups is None else range(*groups)
            n_rows = max(1, sum(file.metadata.row_group(group).num_rows for group in chosen))
            n_read = 0
            for batch in file.iter_batches(
                options.block_rows, row_groups=list(chosen), columns=columns
            ):
                n_read += batch.num_rows
                yield batch, n_read / n_rows

    with _open(lambda: pq.ParquetFile(_handle(path)), name) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    return _read(schema, n_rows, tables, name, options, kind)


def parquet_frame(path):
    """A whole Parquet file as a polars frame; ArrowException, OSError or ValueError if broken.

    Polars panics over broken files where pyarrow complains.
    """
    import polars as pl
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table.validate(full=True)
    return pl.from_arrow(table.rename_columns(list(table.schema.names)))


def read_arrow(path, name, options, *, kind=None):
    """Read an Arrow IPC file or stream; see `read_text` for what is returned."""
    import pyarrow as pa

    def open_reader():
        source = _handle(path)
        # a file that is cut would take a memory map down with us
        source = pa.OSFile(str(path)) if source is path else pa.PythonFile(source, mode="r")
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        return pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    def tables(columns):
        reader = open_reader()
        is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        n_batches = reader.num_record_batches if is_file else None
        batches = map(reader.get_batch, range(n_batches)) if is_file else reader
        for n_read, whole in enumerate(batches, start=1):
            fraction = n_read / n_batches if is_file else np.nan
            for start in range(0, whole.num_rows, options.block_rows):
                yield whole.select(columns).slice(start, options.block_rows), fraction

    schema = _open(open_reader, name).schema
    return _read(schema, 1, tables, name, options, kind)


def read_table(part, options, *, kind=None):
    """Read a table that is no file, a `TablePart`; see `read_text` for what is returned."""

    def tables(columns):
        return part.batches(columns, options.block_rows)

    return _read(part.schema(), part.n_rows, tables, part.name, options, kind)


def _handle(path):
    """A path as it is; of a file at an address, which opens itself, a file object."""
    return path.handle() if hasattr(path, "handle") else path


def _open(opener, name):
    import pyarrow as pa

    try:
        return opener()
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} cannot be read: {reason}; it may be truncated") from None


def _read(schema, n_rows, tables, name, options, kind):
    try:
        chosen = {"columns": options.columns, "weighted": options.weighted, "time": options.time}
        roles = choose_columns(len(schema.names), schema.names, **chosen)
        if n_rows and kind is None and options.bipartite == "auto":
            _refuse_two_kinds(schema, roles, options.ids)
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: {error}") from None
    chosen = {role: schema.field(column) for column, role in enumerate(roles) if role != "skip"}
    if n_rows == 0:
        return Opened(None, False, iter(()))
    kind = kind or _id_kind(chosen, options.ids)
    _refuse_types(chosen, kind, name)
    names = [chosen[role].name for role in ("source", "target", "weight") if role in chosen]
    decimal = "1.0" if kind == "text" and all(map(_is_float, _end_types(chosen))) else None
    chunks = _chunks(tables, chosen, kind, name, options.on_bad_line)
    time = chosen["time"].name if "time" in chosen else None
    return Opened(kind, "weight" in chosen, chunks, tuple(names), decimal, time=time)


def _refuse_two_kinds(schema, roles, ids):
    """Numbers of two kinds of things; texts tell for themselves."""
    chosen = {role: schema.field(column) for column, role in enumerate(roles) if role != "skip"}
    if _id_kind(chosen, ids) != "text":
        refuse_two_kinds([chosen["source"].name, chosen["target"].name])


def _end_types(chosen):
    return [chosen["source"].type, chosen["target"].type]


def _is_float(held):
    import pyarrow as pa

    return pa.types.is_floating(held)


def _id_kind(chosen, ids):
    import pyarrow as pa

    types = _end_types(chosen)
    if ids == "text" or (ids == "auto" and not all(map(pa.types.is_integer, types))):
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
                f"{name}: column {field.name!r} ({role}) holds {field.type} where {wanted} are "
                "expected; cast it, or choose other columns (columns=)"
            )


def _chunks(tables, chosen, kind, name, on_bad_line):
    names = [field.name for field in chosen.values()]

    def work(drawn):
        """A chunk, what is wrong with some of its rows, and these as a table."""
        batch, fraction = drawn
        table = {}
        for role, field in chosen.items():
            try:
                table[role] = _convert(role, batch.column(field.name), kind)
            except InputError as error:
                raise InputError(f"{name}: column {field.name!r} ({role}) {error}") from None
        bad = _bad_rows(table, batch.num_rows, kind)
        if bad and on_bad_line == "error":
            return None, bad, table
        good = ~np.any(list(bad.values()), axis=0) if bad else None
        if bad:
            table = {role: _filter(column, good) for role, column in table.items()}
        weight = table["weight"].to_numpy(zero_copy_only=False) if "weight" in table else None
        time = table["time"].to_numpy(zero_copy_only=False) if "time" in table else None
        text, ends = _ends(table["source"], table["target"], kind)
        n_bad = int(np.count_nonzero(~good)) if bad else 0
        kept = np.flatnonzero(good) if bad else range(batch.num_rows)
        chunk = Chunk(ends, weight, text, None, n_bad, fraction, time, kept.__getitem__)
        return chunk, batch.num_rows, None

    first_row = 1
    for chunk, rows, table in map_ahead(work, _guard(_validate(tables(names)), name)):
        if chunk is None:
            fault, mask = min(rows.items(), key=lambda found: np.argmax(found[1]))
            row = int(np.argmax(mask))
            cells = ", ".join(str(column[row].as_py()) for column in table.values())
            raise InputError(f"{name}, row {first_row + row} ({cells}): {fault}")
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
        words = column.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(column.indices, words).dictionary_decode()
    return column.cast(pa.large_string()) if kind == "text" else column


def _whole_numbers(column, kind):
    """Floats as integers, or as the text that csv has: 1.0; an InputError where one is not whole.

    Beyond 2^53 floats skip integers, so that an id could be another one's.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.if_else(pc.is_nan(column), None, column).cast(pa.float64())
    large = pc.any(pc.greater(pc.abs(values), 2.0**53)).as_py()
    odd = pc.filter(values, pc.not_equal(values, pc.floor(values)))
    if large or len(odd):
        shown = pc.max(pc.abs(values)).as_py() if large else odd[0].as_py()
        raise InputError(
            f"holds {column.type} such as {shown!r} where integers, of at most 2^53 if written as "
            "decimals, are expected; cast it"
        )
    numbers = values.cast(pa.int64())
    if kind != "text":
        return numbers
    tail, nothing = (pa.scalar(text, pa.large_string()) for text in (".0", ""))
    return pc.binary_join_element_wise(numbers.cast(pa.large_string()), tail, nothing)


def _bad_rows(table, n_rows, kind):
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
        elif kind == "text":
            offsets = np.frombuffer(column.buffers()[1], dtype=np.int64)[column.offset :]
            bad[f"the {role} is an empty text"] = np.diff(offsets[: n_rows + 1]) == 0
        elif (kind == "uint64") != (str(column.type) == "uint64"):
            values = column.to_numpy()
            misfits = values > 2**63 - 1 if kind == "int64" else values < 0
            bad[f"the {role} does not fit the {kind} ids before it; give ids='text'"] = misfits
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
