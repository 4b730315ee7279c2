"""Arrays and a small record as one plain Arrow stream: what travels between workers and onto disk.

The stream holds one row; each array is a column, a list of its values (in the order of memory), and
the schema's metadata hold the record as JSON and the shapes. Booleans take a bit, and buffers are
compressed with LZ4. After the end of the stream, where Arrow does not look, come its length and a
CRC-32 of it, which are checked before anything is believed. Nothing is pickled.
"""

import io
import json
import struct
import zlib

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["pack", "pack_bytes", "unpack"]

_RECORD, _SHAPES = b"record", b"shapes"
_TRAILER = struct.Struct("<8sQI")  # mark, length of the stream, its CRC-32
_MARK = b"squeaked"
# of bytes with a right checksum and a wrong content: Arrow's errors are OSError and ValueError
_MADE_WRONG = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    MemoryError,
    StopIteration,
    NotImplementedError,
    RecursionError,
)


def pack(file, record, arrays):
    """Write a record and named arrays to a binary file."""
    import pyarrow as pa

    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    shapes = {name: list(array.shape) for name, array in arrays.items()}
    columns = {}
    for name, array in arrays.items():
        values = pa.array(np.ascontiguousarray(array).reshape(-1))
        ends = pa.array([0, len(values)], pa.int64())
        columns[name] = pa.LargeListArray.from_arrays(ends, values)
    metadata = {_RECORD: json.dumps(record), _SHAPES: json.dumps(shapes)}
    batch = pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    counted = _Counted(file)
    sink = pa.PythonFile(counted, mode="w")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    file.write(_TRAILER.pack(_MARK, counted.length, counted.check))


def pack_bytes(record, arrays):
    """Pack a record and named arrays into bytes.

    >>> record, arrays = unpack(pack_bytes({"seed": 7}, {"pair": np.array([[1, 2]])}), "here")
    >>> record, arrays["pair"]
    ({'seed': 7}, array([[1, 2]]))
    """
    file = io.BytesIO()
    pack(file, record, arrays)
    return file.getvalue()


def unpack(data, name):
    """Record and arrays of what was packed, from bytes; `name` is for messages."""
    import pyarrow as pa

    body = memoryview(data)[: -_TRAILER.size]
    if len(data) < _TRAILER.size or data[-_TRAILER.size :][:8] != _MARK:
        raise InputError(f"{name} does not end as it should: truncated, or another kind of file")
    if _TRAILER.unpack(data[-_TRAILER.size :]) != (_MARK, len(body), zlib.crc32(body)):
        raise InputError(f"{name} is damaged: its checksum is wrong")
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        record, shapes = (json.loads(batch.schema.metadata[key]) for key in (_RECORD, _SHAPES))
        return record, {name: _array(batch.column(name), shape) for name, shape in shapes.items()}
    except _MADE_WRONG as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} was not written by this program: {reason}") from None


def _array(column, shape):
    array = np.array(column.values.to_numpy(zero_copy_only=False))
    if array.dtype.kind not in "iufb":
        raise TypeError(f"an array of {array.dtype}")
    return array.reshape(shape)


class _Counted:
    """A file for writing that knows the length and the checksum of what went through."""

    closed = False

    def __init__(self, file):
        self._file, self.length, self.check = file, 0, 0

    def write(self, piece):
        self._file.write(piece)
        self.length += len(piece)
        self.check = zlib.crc32(piece, self.check)

    def flush(self):
        pass

    def close(self):
        pass
