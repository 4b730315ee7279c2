"""Arrays and a small record as one plain Arrow stream: what travels between workers and onto disk.

The stream holds one row; each array is a column, a list of its values (in the order of memory), and
the schema's metadata hold the record as JSON and the shapes. Booleans take a bit, and buffers are
compressed with LZ4. After the end of the stream, where Arrow does not look, come its length and a
CRC-32 of it, which are checked before anything is believed. Nothing is pickled.

`pack_state` writes an object of ours with all that it holds: numbers, texts, arrays, random
generators, lists, tuples, dictionaries and further objects of ours, each once. Reading it makes
objects of classes of this package only and calls none of their code; what it fills them with is
believed, so a state is for those who wrote it.
"""

import importlib
import io
import json
import struct
import zlib

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.expansion import check_arrow_sizes

__all__ = ["pack", "pack_bytes", "pack_state", "unpack", "unpack_state"]

_PACKAGE = __name__.partition(".")[0]
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
    check_arrow_sizes(io.BytesIO(data), name, len(body))
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        record, shapes = (json.loads(batch.schema.metadata[key]) for key in (_RECORD, _SHAPES))
        return record, {name: _array(batch.column(name), shape) for name, shape in shapes.items()}
    except _MADE_WRONG as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} was not written by this program: {reason}") from None


def pack_state(file, record, value):
    """Write a record and an object, with all that it holds, to a binary file.

    >>> file = io.BytesIO()
    >>> pack_state(file, {"format": "numbers"}, {"pair": (1, np.eye(2)), "none": None})
    >>> unpack_state(file.getvalue(), "here")
    ({'format': 'numbers'}, {'pair': (1, array([[1., 0.], [0., 1.]])), 'none': None})
    """
    flat = _Flattened()
    root = flat.add(value)
    pack(file, {**record, "root": root, "parts": flat.parts}, flat.arrays)


def unpack_state(data, name):
    """The record and the object that were written, from bytes; `name` is for messages."""
    record, arrays = unpack(data, name)
    try:
        root, parts = record.pop("root"), record.pop("parts")
        return record, _Rebuilt(parts, arrays).get(root)
    except (*_MADE_WRONG, IndexError, ImportError) as error:
        raise InputError(f"{name} was not written by this program: {error!r}") from None


class _Flattened:
    """Parts, numbered: each says its kind and, by their numbers, what it holds."""

    def __init__(self):
        self.parts, self.arrays, self._number, self._alive = [], {}, {}, []

    def add(self, value):
        """The number of a part, which stands for one object wherever it is held."""
        if id(value) not in self._number:
            self._number[id(value)] = number = len(self.parts)
            self._alive.append(value)  # so that no other object gets its id
            self.parts.append(None)
            self.parts[number] = self._part(value, number)
        return self._number[id(value)]

    def _part(self, value, number):
        if value is None or isinstance(value, bool | int | float | str):
            return ["plain", value]
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iufb":
            self.arrays[f"array_{number}"] = value
            fortran = value.flags.f_contiguous and not value.flags.c_contiguous
            return ["array", isinstance(value, np.generic), bool(fortran)]
        if isinstance(value, np.ndarray) and value.dtype.kind == "U":
            return ["texts", value.tolist()]
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            if state["bit_generator"] == "PCG64":
                return ["generator", state]
        kind = type(value)
        if kind is dict:
            return ["dict", [[self.add(key), self.add(item)] for key, item in value.items()]]
        if kind in (list, tuple):
            return [kind.__name__, [self.add(item) for item in value]]
        if kind.__module__.partition(".")[0] == _PACKAGE:
            name = [kind.__module__, kind.__qualname__]
            if isinstance(value, tuple):
                return ["named", *name, [self.add(item) for item in value]]
            return ["object", *name, {key: self.add(item) for key, item in vars(value).items()}]
        raise InputError(
            f"{value!r} cannot be saved; a state holds numbers, texts and arrays, and kernels by "
            "their names"
        )


class _Rebuilt:
    """Objects from parts."""

    def __init__(self, parts, arrays):
        self._parts, self._arrays, self._made = parts, arrays, {}

    def get(self, number):
        """The object of a part."""
        if number not in self._made:
            kind, *rest = self._parts[number]
            self._made[number] = self._make(number, kind, rest)
        return self._made[number]

    def _make(self, number, kind, rest):
        if kind == "plain":
            return rest[0]
        if kind == "array":
            array = self._arrays[f"array_{number}"]
            return array[()] if rest[0] else np.asfortranarray(array) if rest[1] else array
        if kind == "texts":
            return np.array(rest[0])
        if kind == "generator":
            generator = np.random.Generator(np.random.PCG64())
            generator.bit_generator.state = rest[0]
            return generator
        if kind == "dict":
            return {self.get(key): self.get(item) for key, item in rest[0]}
        if kind in ("list", "tuple"):
            items = [self.get(item) for item in rest[0]]
            return tuple(items) if kind == "tuple" else items
        module, name, held = rest
        made = _class_of(module, name)
        if kind == "named":
            return tuple.__new__(made, [self.get(item) for item in held])
        self._made[number] = value = object.__new__(made)
        vars(value).update({key: self.get(item) for key, item in held.items()})
        return value


def _class_of(module, name):
    if module.partition(".")[0] != _PACKAGE:
        raise ValueError(f"a class of {module}")
    found = getattr(importlib.import_module(module), name)
    if not isinstance(found, type) or found.__module__ != module:
        raise TypeError(f"{module}.{name} is no class")
    return found


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
