"""Serialization of arrays and a small record as one Arrow stream, for workers and checkpoints.

The stream has one row. Each array is a column: a list of its values in memory order. The metadata
of the schema hold the record, as JSON, and the shapes. Booleans take a bit, and buffers are
compressed with LZ4. After the end of the stream, which Arrow ignores, come its length and its
CRC-32. Both are checked before anything is read. Nothing is pickled.

`pack_state` serializes an object of this package with everything that it refers to: numbers, texts,
arrays, random generators, lists, tuples, dictionaries and further objects of this package.
`unpack_state` creates objects of classes of this package only and calls none of their code. It does
not check their contents, so a state is for the program that wrote it.
"""

import importlib
import io
import json
import struct
import zlib

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.expansion import check_arrow_sizes

_PACKAGE = __name__.partition(".")[0]
_RECORD = b"record"
_SHAPES = b"shapes"
# Magic bytes, length of the stream, its CRC-32.
_TRAILER = struct.Struct("<8sQI")
_MAGIC = b"squeaked"


def pack(file, record, arrays):
    """Write a record and named arrays to a binary file."""
    import pyarrow as pa

    shapes = {}
    columns = {}
    for name, array in arrays.items():
        shapes[name] = list(np.shape(array))
        values = pa.array(np.ascontiguousarray(array).reshape(-1))
        # A column with one row: a list of all values.
        offsets = pa.array([0, len(values)], pa.int64())
        columns[name] = pa.LargeListArray.from_arrays(offsets, values)
    metadata = {_RECORD: json.dumps(record), _SHAPES: json.dumps(shapes)}
    batch = pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    checked = _ChecksumWriter(file)
    sink = pa.PythonFile(checked, mode="w")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    file.write(_TRAILER.pack(_MAGIC, checked.n_bytes, checked.crc32))


def pack_bytes(record, arrays):
    """Return a record and named arrays, serialized.

    >>> record, arrays = unpack(pack_bytes({"seed": 7}, {"pair": np.array([[1, 2]])}), "here")
    >>> record, arrays["pair"]
    ({'seed': 7}, array([[1, 2]]))
    """
    file = io.BytesIO()
    pack(file, record, arrays)
    return file.getvalue()


def unpack(data, name):
    """Return the record and the arrays of serialized bytes; errors mention `name`."""
    import pyarrow as pa

    body = memoryview(data)[: -_TRAILER.size]
    trailer = data[-_TRAILER.size :]
    if len(data) < _TRAILER.size or trailer[: len(_MAGIC)] != _MAGIC:
        raise InputError(f"{name} does not end as it should: truncated, or another kind of file")
    if trailer != _TRAILER.pack(_MAGIC, len(body), zlib.crc32(body)):
        raise InputError(f"{name} is damaged: its checksum is wrong")
    # A checksum protects against damage, not against a file made to exhaust memory.
    check_arrow_sizes(io.BytesIO(data), name, len(body))
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batch = reader.read_next_batch()
            batch.validate(full=True)
        record = json.loads(batch.schema.metadata[_RECORD])
        shapes = json.loads(batch.schema.metadata[_SHAPES])
        arrays = {name: _to_array(batch.column(name), shape) for name, shape in shapes.items()}
    except Exception as error:  # a valid checksum says nothing about the content
        reason = str(error).split("\n")[0]
        raise InputError(f"{name} was not written by this program: {reason}") from None
    return record, arrays


def pack_state(file, record, value):
    """Write a record and an object, with everything that it refers to, to a binary file.

    >>> file = io.BytesIO()
    >>> pack_state(file, {"format": "numbers"}, {"pair": (1, np.eye(2)), "none": None})
    >>> unpack_state(file.getvalue(), "here")
    ({'format': 'numbers'}, {'pair': (1, array([[1., 0.], [0., 1.]])), 'none': None})
    """
    flat = _Flattener()
    root = flat.add(value)
    pack(file, {**record, "root": root, "parts": flat.parts}, flat.arrays)


def unpack_state(data, name):
    """Return the record and the object of serialized bytes; errors mention `name`."""
    record, arrays = unpack(data, name)
    try:
        root = record.pop("root")
        parts = record.pop("parts")
        return record, _Rebuilder(parts, arrays).get(root)
    except Exception as error:  # a valid checksum says nothing about the content
        raise InputError(f"{name} was not written by this program: {error!r}") from None


class _Flattener:
    """Converter of an object to a list of parts that refer to each other by number.

    A part is a list of a kind and its contents. Arrays are stored separately, by part number.
    """

    def __init__(self):
        self.parts = []
        self.arrays = {}
        # Number and object by id. Python reuses the ids of objects that are freed: none is freed.
        self._numbered = {}

    def add(self, value):
        """Add an object, once, with everything that it refers to; return the number of its part."""
        if id(value) not in self._numbered:
            number = len(self.parts)
            self._numbered[id(value)] = (number, value)
            # The number is taken before the contents are added, which may refer to this object.
            self.parts.append(None)
            self.parts[number] = self._part(value, number)
        return self._numbered[id(value)][0]

    def _part(self, value, number):
        if value is None or isinstance(value, bool | int | float | str):
            return ["plain", value]
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iufb":
            self.arrays[f"array_{number}"] = value
            fortran = value.flags.f_contiguous and not value.flags.c_contiguous
            return ["array", bool(fortran)]
        if isinstance(value, np.ndarray) and value.dtype.kind == "U":
            return ["texts", value.tolist()]
        # Other generators than numpy's default fall through to the error.
        if isinstance(value, np.random.Generator):
            state = value.bit_generator.state
            if state["bit_generator"] == "PCG64":
                return ["generator", state]
        kind = type(value)
        # Keys of any type are allowed, so a dictionary is stored as a list of pairs.
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
            f"{value!r} cannot be saved; use numbers, texts and arrays only, and kernels by their "
            "names"
        )


class _Rebuilder:
    """Converter of the parts of a `_Flattener` back to objects."""

    def __init__(self, parts, arrays):
        self._parts = parts
        self._arrays = arrays
        self._objects = {}

    def get(self, number):
        """Return the object of a part."""
        if number not in self._objects:
            kind, *rest = self._parts[number]
            self._objects[number] = self._make(number, kind, rest)
        return self._objects[number]

    def _make(self, number, kind, rest):
        if kind == "plain":
            return rest[0]
        if kind == "array":
            array = self._arrays[f"array_{number}"]
            if array.ndim == 0:
                # An array without dimensions was a scalar of numpy.
                return array[()]
            return np.asfortranarray(array) if rest[0] else array
        if kind == "texts":
            return np.array(rest[0])
        if kind == "generator":
            # The state of the new generator is replaced at once.
            generator = np.random.Generator(np.random.PCG64())
            generator.bit_generator.state = rest[0]
            return generator
        if kind == "dict":
            return {self.get(key): self.get(item) for key, item in rest[0]}
        if kind in ("list", "tuple"):
            items = [self.get(item) for item in rest[0]]
            return tuple(items) if kind == "tuple" else items
        module, name, contents = rest
        cls = _class_of(module, name)
        # `__new__` and `__init__` of the class are not called: no code runs on behalf of the file.
        if kind == "named":
            return tuple.__new__(cls, [self.get(item) for item in contents])
        # The object is stored before its attributes are made, which may refer to it.
        self._objects[number] = value = object.__new__(cls)
        vars(value).update({key: self.get(item) for key, item in contents.items()})
        return value


def _class_of(module, name):
    """Return a class of this package by name; nothing else may be imported or created."""
    if module.partition(".")[0] != _PACKAGE:
        raise ValueError(f"a class of {module}")
    cls = getattr(importlib.import_module(module), name)
    if not isinstance(cls, type) or cls.__module__ != module:
        raise TypeError(f"{module}.{name} is not a class")
    return cls


def _to_array(column, shape):
    array = np.array(column.values.to_numpy(zero_copy_only=False))
    if array.dtype.kind not in "iufb":
        raise TypeError(f"an array of {array.dtype}")
    return array.reshape(shape)


class _ChecksumWriter:
    """Output file that adds up the length and the CRC-32 of what is written."""

    closed = False

    def __init__(self, file):
        self._file = file
        self.n_bytes = 0
        self.crc32 = 0

    def write(self, piece):
        self._file.write(piece)
        self.n_bytes += len(piece)
        self.crc32 = zlib.crc32(piece, self.crc32)

    def flush(self):
        pass

    def close(self):
        pass
