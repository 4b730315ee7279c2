"""Checkpoints: the whole state of a stream in one file, read without pickle and checked.

A checkpoint is an Arrow stream (`graphsqueak.system.packing`). Its metadata hold a checksum and a
JSON record: format, version, kind, settings, options, seed, counters, and the numbers of every
pane. A `StreamSparsifier` has one pane, number 0. The single row of the stream holds

    ids, or ids_text and ids_end        the user's ids: integers, or UTF-8 text and its ends

and for every pane, with its number and an underscore before the names,

    tail, head, weight, in_forest       the sampled edges
    degrees, square_sums, parent        per node: sums of weights and squares, union-find
    cut_table                           weights of random cuts
    priority_mask                       per node: whether its edges are oversampled
    prefix_degrees                      per node: degree in the prefix of the stream, or empty
    filter_*                            the arrival filter, if there is one
    sample_*                            copies and probabilities of the Kelner-Levin chain

Workers of a merge tree exchange the same bytes.

The checksum detects damage, but not a file that was crafted. Compiled loops do not check indices,
so that an edge to a missing node would read memory of others. Every array is therefore checked for
its type, length and range of values, and every number for its name and type.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.atomic import is_file
from graphsqueak.system.packing import unpack
from graphsqueak.system.remote import open_bytes, read_bytes

FORMAT = "graphsqueak stream"
# Version of the format; checkpoints of other versions are refused.
VERSION = 12
# Kinds of checkpoints.
STREAM = "stream"
TIMED = "timed"
# Types of numbers that compiled loops take.
_INTEGER = (np.int32, np.int64)
_REAL = (np.float32, np.float64)
_BOOLEAN = (np.bool_,)
_LARGEST = np.finfo(np.float64).max
# Weights are not zero.
_SMALLEST = np.finfo(np.float64).smallest_subnormal


class _Rule(NamedTuple):
    """Types, length and range of an array.

    A length is a number, a name of `_LENGTHS`, or None for any. `most` may be such a name, for
    indices. Without `least`, values are not checked.
    """

    dtypes: tuple
    length: int | str | None
    least: float | None = None
    most: float | str = _LARGEST
    n_dimensions: int = 1


# Names of lengths, and the array that defines each.
_LENGTHS = {
    "edges": "weight",
    "nodes": "degrees",
    "known": "filter_inv_degree",
}
_RULES = {
    "tail": _Rule(_INTEGER, "edges", 0, "nodes"),
    "head": _Rule(_INTEGER, "edges", 0, "nodes"),
    "weight": _Rule(_REAL, "edges", _SMALLEST),
    "in_forest": _Rule(_BOOLEAN, "edges"),
    "degrees": _Rule(_REAL, "nodes", 0.0),
    # Empty if all weights are 1.
    "square_sums": _Rule(_REAL, None, 0.0),
    "parent": _Rule(_INTEGER, "nodes", 0, "nodes"),
    # NaN after a merge of streams that numbered nodes differently.
    "cut_table": _Rule(_REAL, 256),
    "priority_mask": _Rule(_BOOLEAN, "nodes"),
    "prefix_degrees": _Rule(_REAL, None, 0.0),
    "filter_points": _Rule(_REAL, "known", -_LARGEST, n_dimensions=2),
    "filter_inv_degree": _Rule(_REAL, "known", 0.0),
    "filter_component": _Rule(_INTEGER, None),
    # Infinite if the filter keeps all edges.
    "filter_scale": _Rule(_REAL, None, 0.0, np.inf, n_dimensions=0),
    "filter_edges_per_node": _Rule(_REAL, None, 0.0, np.inf, n_dimensions=0),
    "filter_is_from_degrees": _Rule(_BOOLEAN, None, n_dimensions=0),
    "sample_prob": _Rule(_REAL, "edges", _SMALLEST),
    "sample_copies": _Rule(_INTEGER, "edges", 1),
}


def is_checkpoint(path):
    """Return whether a file, on disk or remote, begins as a checkpoint does."""
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        # An Arrow stream begins with a marker and the size of its schema, which holds the record.
        marker = file.read(4)
        size = int.from_bytes(file.read(4), "little")
        return marker == b"\xff\xff\xff\xff" and FORMAT.encode() in file.read(size)


def read_checkpoint(name, data=None):
    """Return the record and the arrays of a checkpoint.

    Parameters
    ----------
    name : path
        The file, or what to call the data in messages.
    data : bytes, optional
        Its contents. Default: read the file.
    """
    try:
        data = read_bytes(name) if data is None else data
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        reason = "does not exist" if is_missing else f"cannot be read: {error.strerror}"
        raise InputError(f"{name} {reason}; check the path of the checkpoint") from None
    try:
        record, arrays = unpack(data, name)
    except InputError as error:
        raise InputError(
            f"{name} is not a complete checkpoint ({error}); start the run again without it"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{name} is not a checkpoint of graphsqueak sparsify")
    version = record.get("version")
    if version != VERSION:
        raise InputError(
            f"{name} is a checkpoint of version {version}, this program reads version {VERSION}; "
            "start the run again, or use the program that wrote it"
        )
    return record, arrays


def check_state(arrays, numbers, *, like):
    """Raise an InputError or a KeyError if no stream could have written this state.

    Parameters
    ----------
    arrays : dict of ndarray
    numbers : dict
    like : dict
        Numbers of a new engine, with the same names and types.
    """
    check_numbers(numbers, like)
    lengths = {length: arrays[name].size for length, name in _LENGTHS.items() if name in arrays}
    for name, array in arrays.items():
        if name not in _RULES:
            raise InputError(f"the array {name} does not belong to a stream")
        _check_array(name, array, _RULES[name], lengths)
    n_known = lengths.get("known", 0)
    if max(n_known, arrays["prefix_degrees"].size) > lengths["nodes"]:
        raise InputError("the filter has nodes that the stream does not have")
    for name, length in (("filter_component", n_known), ("square_sums", lengths["nodes"])):
        if name in arrays and arrays[name].size not in (0, length):
            raise InputError(f"the array {name} has a wrong length")
    # Roots are the smallest nodes of their trees, so that every path to a root ends.
    parent = arrays["parent"]
    node = np.arange(parent.size)
    if (parent > node).any() or np.count_nonzero(parent < node) != numbers["n_unions"]:
        raise InputError("the array parent is not a forest")


def _check_array(name, array, rule, lengths):
    length = lengths.get(rule.length, rule.length)
    has_shape = array.ndim == rule.n_dimensions and (length is None or len(array) == length)
    if array.dtype not in rule.dtypes or not has_shape:
        raise InputError(f"the array {name} is {array.dtype} of shape {array.shape}")
    if rule.least is None or array.size == 0:
        return
    most = lengths[rule.most] - 1 if isinstance(rule.most, str) else rule.most
    # Extremes of an array with NaN are NaN, which fails both comparisons.
    if not (array.min() >= rule.least and array.max() <= most):
        raise InputError(f"the array {name} has values out of range")


def check_ids(arrays, n_nodes):
    """Raise an InputError or another error unless the arrays are the ids of `n_nodes` nodes."""
    import pyarrow as pa

    others = arrays.keys() - {"ids", "ids_text", "ids_end"}
    if others:
        raise InputError(f"the array {min(others)} does not belong to a stream")
    if "ids" in arrays:
        ids = arrays["ids"]
        if ids.shape != (n_nodes,) or ids.dtype not in (np.int64, np.uint64):
            raise InputError(f"the array ids is {ids.dtype} of shape {ids.shape}")
        if np.unique(ids).size < n_nodes:
            raise InputError("two nodes have the same id")
    if "ids_text" in arrays:
        text = arrays["ids_text"]
        ends = arrays["ids_end"]
        if text.ndim != 1 or text.dtype != np.uint8 or ends.dtype != np.int64:
            raise InputError(f"the ids are {text.dtype} with ends of {ends.dtype}")
        if ends.shape != (n_nodes,) or ends[-1:].sum() != text.size:
            raise InputError("the ids do not fit their text")
        # Arrow checks that ends do not decrease and that every id is UTF-8 by itself.
        offsets = pa.py_buffer(np.append(0, ends))
        texts = pa.LargeStringArray.from_buffers(n_nodes, offsets, pa.py_buffer(text))
        texts.validate(full=True)


def check_numbers(numbers, like):
    """Raise an InputError unless numbers have the names and types of those of a new stream."""
    if not isinstance(numbers, dict) or numbers.keys() != like.keys():
        raise InputError("its numbers are not those of a stream")
    for name, expected in like.items():
        value = numbers[name]
        if isinstance(expected, float):
            # Only times may be negative, and begin so: at minus infinity.
            is_valid = type(value) in (int, float) and (
                value == expected or (np.isfinite(value) and (value > 0 or expected < 0))
            )
        else:
            is_valid = type(value) is type(expected) and 0 <= value < 2**64
        if not is_valid:
            raise InputError(f"the number {name} is {value!r}")
