"""Limit on the decoded size of a file, against decompression bombs: one rule for every reader.

A small file can announce, or decompress to, any size. A file of n bytes may expand to

    max(256 MiB, 1000 n)

bytes. Compression makes lists of edges 5 to 20 times smaller, and lists with repeated edges some
hundred times. The limit applies to

    compressed text        all of it, counted while it is decompressed
    Parquet pages, npz     the sizes that the file announces
    texts in Parquet       all of them, counted while they are decoded
    Arrow batches          the announced size of each one
    tables kept in memory  (labels, points) rows times width, as the file announces them
    Matrix Market, METIS   the announced number of nodes

Numbers in a stream of Parquet batches do not count: a column of equal weights expands without
limit, and at most a batch of it is in memory. Tables kept in memory must also fit there.

The environment variable GRAPHSQUEAK_MAX_EXPANSION replaces the factor 1000. With half of it, the
margin to lists with repeated edges is small; with twice as much, a bomb takes twice the memory.
"""

import struct
from enum import IntEnum

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.environment import number_from_environment
from graphsqueak.system.memory import check_fits, readable_size

EXPANSION_VARIABLE = "GRAPHSQUEAK_MAX_EXPANSION"
# Bytes to which any file may expand: every machine can hold them in memory. Halved or doubled, the
# limit of files below 512 kB changes with it.
MIN_LIMIT_BYTES = 1 << 28
# Arrow's encapsulated messages begin with this marker, see the Arrow columnar format.
_CONTINUATION = b"\xff\xff\xff\xff"
_FILE_MAGIC = b"ARROW1"
# Offset, length of the metadata, length of the body.
_BLOCK = struct.Struct("<qi4xq")
# Offset and length.
_BUFFER = struct.Struct("<qq")


class _MessageKind(IntEnum):
    """Messages of Arrow that have data."""

    DICTIONARY_BATCH = 2
    RECORD_BATCH = 3


def allowed_bytes(n_stored, *, min_limit=MIN_LIMIT_BYTES):
    """Return the largest allowed decoded size of a file of `n_stored` bytes."""
    return max(min_limit, _max_expansion() * n_stored)


def refuse_bomb(name, n_stored, n_decoded, *, min_limit=MIN_LIMIT_BYTES):
    """Raise an InputError if a file of `n_stored` bytes expands too much.

    >>> refuse_bomb("edges.gz", 10**6, 10**8)
    >>> refuse_bomb("edges.gz", 10**6, 10**10)
    Traceback (most recent call last):
    graphsqueak.errors.InputError: edges.gz expands from 976.6 KiB to more than 953.7 MiB, ...
    """
    limit = allowed_bytes(n_stored, min_limit=min_limit)
    if n_decoded > limit:
        raise InputError(
            f"{name} expands from {readable_size(n_stored)} to more than "
            f"{readable_size(int(limit))}, like a decompression bomb; if you trust the file, "
            f"raise the limit with the environment variable {EXPANSION_VARIABLE} (a factor, now "
            f"{_max_expansion():g})"
        )


def check_announced(name, n_stored, n_announced):
    """Raise an InputError if announced data exceed the limit or the available memory."""
    refuse_bomb(name, n_stored, n_announced)
    check_fits(n_announced, name)


def check_parquet_pages(file, name, n_stored):
    """Check the decompressed size of all pages, from the footer of an open ParquetFile."""
    refuse_bomb(name, n_stored, sum(group.total_byte_size for group in _row_groups(file)))


def check_parquet_table(file, name, n_stored):
    """Check the size of an open ParquetFile that will be in memory as a whole."""
    # A value takes at most 8 bytes in memory; texts count as pages.
    n_bytes_per_row = np.dtype(np.float64).itemsize * len(file.schema)
    n_announced = 0
    for group in _row_groups(file):
        n_announced += max(group.num_rows * n_bytes_per_row, group.total_byte_size)
    check_announced(name, n_stored, n_announced)


def check_arrow_sizes(file, name, n_stored):
    """Check the announced sizes of the batches of an Arrow file or stream.

    Compressed buffers begin with their size before compression, and Arrow would allocate it.
    Invalid messages are ignored here; Arrow reports them.

    Parameters
    ----------
    file : binary file object
        Seekable; its position changes.
    name : str
    n_stored : int
        Size of the file.
    """
    n_dictionaries = 0
    try:
        for metadata, body in _messages(file, n_stored):
            kind, n_announced = _announced_size(file, metadata, body)
            # Dictionaries stay in memory, record batches are read one at a time.
            if kind == _MessageKind.DICTIONARY_BATCH:
                n_dictionaries += n_announced
            check_announced(name, n_stored, n_dictionaries + n_announced)
    except InputError:
        raise
    # A damaged offset may lead out of the file (ValueError), or be missing (TypeError).
    except (struct.error, IndexError, ValueError, TypeError):
        return


def _max_expansion():
    """Return the decoded bytes per stored byte: 1000, or the environment variable."""
    return number_from_environment(
        EXPANSION_VARIABLE, 1000.0, least=1.0, meaning="a factor of at least 1"
    )


def _row_groups(file):
    """Return the metadata of every row group."""
    # Column metadata are avoided: pyarrow aborts on them if the footer is damaged.
    metadata = file.metadata
    return [metadata.row_group(group) for group in range(metadata.num_row_groups)]


def _messages(file, n_stored):
    """Yield the metadata of each message, a flatbuffer, and the position of its body."""
    file.seek(0)
    if file.read(len(_FILE_MAGIC)) == _FILE_MAGIC:
        file.seek(n_stored - len(_FILE_MAGIC) - 4)
        n_footer = _number(file.read(4), 0)
        file.seek(n_stored - len(_FILE_MAGIC) - 4 - n_footer)
        footer = file.read(n_footer)
        # Fields 2 and 3 list the blocks of dictionaries and of record batches.
        for field in (2, 3):
            for position, _, _ in _structs(footer, _target(footer, 0), field, _BLOCK):
                yield _read_metadata(file, position)
        return
    position = 0
    while position < n_stored:
        metadata, body = _read_metadata(file, position)
        if not metadata:
            return
        yield metadata, body
        n_bytes = _field(metadata, _target(metadata, 0), 3)
        position = body if n_bytes is None else body + _number(metadata, n_bytes, "<q")


def _read_metadata(file, position):
    """Return the metadata of a message, empty at the end, and the position of its body."""
    file.seek(position)
    size = file.read(4)
    # Arrow before 0.15 wrote messages without the continuation marker.
    if size == _CONTINUATION:
        size = file.read(4)
    return file.read(_number(size, 0)), file.tell()


def _announced_size(file, metadata, body):
    """Return the kind of a message and the decompressed bytes of its buffers."""
    message = _target(metadata, 0)
    kind_field = _field(metadata, message, 1)
    kind = 0 if kind_field is None else metadata[kind_field]
    if kind not in list(_MessageKind):
        return kind, 0
    batch = _target(metadata, _field(metadata, message, 2))
    if kind == _MessageKind.DICTIONARY_BATCH:
        # A dictionary batch wraps a record batch.
        batch = _target(metadata, _field(metadata, batch, 1))
    is_compressed = _field(metadata, batch, 3) is not None
    n_announced = 0
    for offset, length in _structs(metadata, batch, 2, _BUFFER):
        n_decoded = -1
        if is_compressed and length >= 8:
            file.seek(body + offset)
            n_decoded = _number(file.read(8), 0, "<q")
        # -1 marks a buffer that is not compressed.
        n_announced += length if n_decoded < 0 else n_decoded
    return kind, n_announced


# Flatbuffers. A reference is a distance from its own position. A table begins with the distance to
# its vtable: a size, the size of the table, and the offset of every field, 0 for defaults.


def _number(data, position, form="<I"):
    return struct.unpack_from(form, data, position)[0]


def _target(data, position):
    """Return the position to which a reference points."""
    return position + _number(data, position)


def _field(data, table, number):
    """Return the position of a field of a table; None if it has its default."""
    vtable = table - _number(data, table, "<i")
    slot = 4 + 2 * number
    if slot + 2 > _number(data, vtable, "<H"):
        return None
    offset = _number(data, vtable + slot, "<H")
    return table + offset if offset else None


def _structs(data, table, number, form):
    """Return the structs of a field that is a vector of them."""
    field = _field(data, table, number)
    if field is None:
        return []
    vector = _target(data, field)
    first = vector + 4
    return form.iter_unpack(data[first : first + _number(data, vector) * form.size])
