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

The environment variable GRAPHSQUEAK_MAX_EXPANSION replaces the factor 1000.
"""

import os
import struct

from graphsqueak.errors import InputError
from graphsqueak.system.memory import check_fits, readable_size

__all__ = [
    "EXPANSION_VARIABLE",
    "MIN_LIMIT_BYTES",
    "allowed_bytes",
    "check_announced",
    "check_arrow_sizes",
    "check_parquet_pages",
    "check_parquet_table",
    "refuse_bomb",
]

EXPANSION_VARIABLE = "GRAPHSQUEAK_MAX_EXPANSION"
# Any file may expand to this size, which every machine can hold in memory.
MIN_LIMIT_BYTES = 1 << 28
# Real lists of edges expand at most a few hundred times.
_DEFAULT_FACTOR = 1000.0
_BYTES_PER_VALUE = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12, "BYTE_ARRAY": 8}
_OTHER_BYTES_PER_VALUE = 8

# Arrow's encapsulated messages: flatbuffers of these kinds, see the Arrow columnar format.
_DICTIONARY_BATCH = 2
_RECORD_BATCH = 3
_CONTINUATION = 0xFFFFFFFF
_FILE_MAGIC = b"ARROW1"
# Offset, length of the metadata, length of the body.
_BLOCK = struct.Struct("<qi4xq")


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
    types = [file.schema.column(column).physical_type for column in range(len(file.schema))]
    n_bytes_per_row = sum(_BYTES_PER_VALUE.get(kind, _OTHER_BYTES_PER_VALUE) for kind in types)
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
        for position in _message_positions(file, n_stored):
            kind, n_announced = _announced_size(file, position)
            # Dictionaries stay in memory, record batches are read one at a time.
            if kind == _DICTIONARY_BATCH:
                n_dictionaries += n_announced
            check_announced(name, n_stored, n_dictionaries + n_announced)
    except (struct.error, IndexError):
        return
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        # A damaged offset leads before the beginning of the file.
        return


def _max_expansion():
    text = os.environ.get(EXPANSION_VARIABLE, "")
    if not text:
        return _DEFAULT_FACTOR
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    # NaN fails this comparison as well.
    if not factor >= 1:
        raise InputError(f"{EXPANSION_VARIABLE}={text!r} is not a factor of at least 1")
    return factor


def _row_groups(file):
    """Return the metadata of every row group."""
    # Column metadata are avoided: pyarrow aborts on them if the footer is damaged.
    metadata = file.metadata
    return [metadata.row_group(group) for group in range(metadata.num_row_groups)]


def _message_positions(file, n_stored):
    """Yield the positions of the messages of a file, from its footer, or of a stream."""
    file.seek(0)
    if file.read(len(_FILE_MAGIC)) != _FILE_MAGIC:
        position = 0
        while position is not None and position < n_stored:
            yield position
            position = _next_message(file, position)
        return
    file.seek(n_stored - len(_FILE_MAGIC) - 4)
    (n_footer,) = struct.unpack("<i", file.read(4))
    file.seek(n_stored - len(_FILE_MAGIC) - 4 - n_footer)
    footer = _Table.root(file.read(n_footer))
    # Fields 2 and 3 list the blocks of dictionaries and of record batches.
    for field in (2, 3):
        for block in footer.structs(field, _BLOCK):
            yield block[0]


def _next_message(file, position):
    metadata, body = _read_metadata(file, position)
    if metadata is None:
        return None
    return body + _Table.root(metadata).number(3, "<q")


def _announced_size(file, position):
    """Return the kind of a message and the decompressed bytes of its buffers."""
    metadata, body = _read_metadata(file, position)
    if metadata is None:
        return None, 0
    message = _Table.root(metadata)
    kind = message.number(1, "<B")
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return kind, 0
    batch = message.table(2)
    if kind == _DICTIONARY_BATCH:
        # A dictionary batch wraps a record batch.
        batch = batch.table(1)
    is_compressed = batch.table(3) is not None
    n_announced = 0
    for offset, length in batch.structs(2, struct.Struct("<qq")):
        if is_compressed and length >= 8:
            file.seek(body + offset)
            (n_decoded,) = struct.unpack("<q", file.read(8))
            # -1 marks a buffer that is not compressed.
            n_announced += length if n_decoded < 0 else n_decoded
        else:
            n_announced += length
    return kind, n_announced


def _read_metadata(file, position):
    """Return the metadata of a message, None at the end, and the position of its body."""
    file.seek(position)
    (size,) = struct.unpack("<I", file.read(4))
    # Arrow before 0.15 wrote messages without the continuation marker.
    if size == _CONTINUATION:
        (size,) = struct.unpack("<I", file.read(4))
        position += 4
    if size == 0:
        return None, position
    return file.read(size), position + 4 + size


class _Table:
    """Table of a flatbuffer, which begins at `position` of the buffer `data`."""

    def __init__(self, data, position):
        self._data = data
        self._position = position

    @classmethod
    def root(cls, data):
        return cls(data, struct.unpack_from("<I", data)[0])

    def _field(self, number):
        """Return the position of a field; None if it has its default."""
        # A table begins with the distance to its vtable: a size, the size of the table, and the
        # offset of every field, 0 for defaults.
        vtable = self._position - struct.unpack_from("<i", self._data, self._position)[0]
        (vtable_size,) = struct.unpack_from("<H", self._data, vtable)
        slot = 4 + 2 * number
        if slot + 2 > vtable_size:
            return None
        (offset,) = struct.unpack_from("<H", self._data, vtable + slot)
        return self._position + offset if offset else None

    def _target(self, number):
        field = self._field(number)
        return None if field is None else field + struct.unpack_from("<I", self._data, field)[0]

    def number(self, number, form):
        field = self._field(number)
        return 0 if field is None else struct.unpack_from(form, self._data, field)[0]

    def table(self, number):
        target = self._target(number)
        return None if target is None else _Table(self._data, target)

    def structs(self, number, form):
        target = self._target(number)
        if target is None:
            return
        (size,) = struct.unpack_from("<I", self._data, target)
        for index in range(size):
            yield form.unpack_from(self._data, target + 4 + index * form.size)
