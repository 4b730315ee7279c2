"""Checkpoints: the whole state of a stream in one file, read without pickle and checked.

A checkpoint is an Arrow stream (`graphsqueak.system.packing`). Its metadata hold a checksum and a
JSON record: format, version, kind, settings, options, counters. Its single row holds

    tail, head, weight, in_forest       the sampled edges
    degrees, parent                     per node: exact degree, union-find
    cut_table                           weights of random cuts
    priority_mask                       nodes whose edges are oversampled, if any
    prefix_degrees                      per node: degree in the prefix of the stream, if any
    filter_*                            the arrival filter, if there is one
    sample_*                            copies and probabilities of the Kelner-Levin chain
    ids, or ids_text and ids_end        the user's ids: integers, or UTF-8 text and its ends

The checkpoint of a `TimedSparsifier` holds one such checkpoint per pane, and the ids once. Workers
of a merge tree exchange the same bytes.

The checksum detects damage, but not a file that was crafted. Compiled loops do not check indices,
so that an edge to a missing node would read memory of others. Every array is therefore checked for
its type, length and range of values, and every number for its name and type.
"""

import numbers as number_types
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import pack_ids, unpack_ids
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.stream.cut_probes import RandomCuts
from graphsqueak.system.atomic import is_file
from graphsqueak.system.packing import pack_bytes, unpack
from graphsqueak.system.remote import open_bytes, read_bytes

__all__ = [
    "FORMAT",
    "STREAM",
    "TIMED",
    "StreamParts",
    "TimedParts",
    "check_state",
    "is_checkpoint",
    "pack_stream",
    "pack_timed",
    "read_checkpoint",
    "unpack_stream",
    "unpack_timed",
]

FORMAT = "graphsqueak stream"
VERSION = 9
# Kinds of checkpoints.
STREAM = "stream"
TIMED = "timed"


class _Rule(NamedTuple):
    """Type, shape and range of an array.

    `kind` is "i" for integers, "f" for real numbers, "b" for booleans. Integers and real numbers
    have 32 or 64 bits, as compiled loops expect. `below` is a number or the name of a length.
    """

    kind: str
    shape: tuple
    least: float = -np.inf
    below: float | str = np.inf


# The smallest positive number: weights are not zero.
_TINY = 5e-324
# Bytes of the shortest number that compiled loops take.
_MIN_ITEM_BYTES = 4
# Names of lengths, and the array that defines each.
_LENGTHS = {
    "edges": "weight",
    "nodes": "degrees",
    "known": "filter_inv_degree",
}
_RULES = {
    "tail": _Rule("i", ("edges",), 0, "nodes"),
    "head": _Rule("i", ("edges",), 0, "nodes"),
    "weight": _Rule("f", ("edges",), _TINY),
    "in_forest": _Rule("b", ("edges",)),
    "degrees": _Rule("f", ("nodes",), 0.0),
    "parent": _Rule("i", ("nodes",), 0, "nodes"),
    "cut_table": _Rule("f", (256,)),
    "priority_mask": _Rule("b", ("nodes",)),
    "prefix_degrees": _Rule("f", (None,), 0.0),
    "filter_points": _Rule("f", ("known", None)),
    "filter_inv_degree": _Rule("f", ("known",), 0.0),
    "filter_component": _Rule("i", (None,)),
    "filter_scale": _Rule("f", (), 0.0),
    "sample_prob": _Rule("f", ("edges",), _TINY),
    "sample_copies": _Rule("i", ("edges",), 1),
}
_REQUIRED = {"tail", "head", "weight", "in_forest", "degrees", "parent", "cut_table"}
# All arrays of a group are there, or none.
_GROUPS = (
    {name for name in _RULES if name.startswith("filter_")},
    {name for name in _RULES if name.startswith("sample_")},
)
# NaN or infinity has a meaning in these.
_MAY_BE_INFINITE = {"cut_table", "filter_scale"}
_IDS = ("ids", "ids_text", "ids_end")


class StreamParts(NamedTuple):
    """Contents of the checkpoint of a `StreamSparsifier`."""

    stream: object
    engine: object
    numbering: Numbering
    cuts: RandomCuts
    note: dict


class TimedParts(NamedTuple):
    """Contents of the checkpoint of a `TimedSparsifier`; `panes` are checkpoints, as bytes."""

    stream: object
    counters: dict
    panes: dict[int, bytes]
    numbering: Numbering
    note: dict


def pack_stream(settings, options, engine, numbering, cuts, *, note):
    """Return the record and the arrays of a stream."""
    arrays, numbers = engine.to_arrays()
    record = {
        "format": FORMAT,
        "version": VERSION,
        "kind": STREAM,
        "settings": settings,
        "options": asdict(options),
        "numbers": numbers,
        "note": note,
    }
    ids = pack_ids(numbering.ids, engine.n_nodes)
    return record, arrays | {"cut_table": cuts.table} | ids


def pack_timed(settings, options, counters, panes, ids, *, note):
    """Return the record and the arrays of a stream with times.

    Parameters
    ----------
    settings : dict
    options : StreamOptions
    counters : dict
    panes : dict of (record, arrays)
        The packed stream of every pane, by its number.
    ids : object or None
    note : dict
    """
    record = {
        "format": FORMAT,
        "version": VERSION,
        "kind": TIMED,
        "settings": settings,
        "options": asdict(options),
        "counters": counters,
        "panes": sorted(panes),
        "note": note,
    }
    arrays = {
        f"pane_{number}": np.frombuffer(pack_bytes(*packed), np.uint8)
        for number, packed in panes.items()
    }
    return record, arrays | pack_ids(ids, counters["n_nodes"])


def is_checkpoint(path):
    """Return whether a file, on disk or remote, begins as a checkpoint does."""
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return FORMAT.encode() in file.read(1024)


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


def unpack_stream(record, arrays, name, make):
    """Return the contents of the checkpoint of a stream.

    Parameters
    ----------
    record, arrays
        Of `read_checkpoint`.
    name : str
        Name of the checkpoint, for messages.
    make : callable
        `make(**settings, options=options)` returns a stream and its engine.
    """
    try:
        options = StreamOptions(**record["options"])
        stream, engine = make(**record["settings"], options=options)
        check_state(arrays, record["numbers"], like=engine.to_arrays()[1])
        note = dict(record["note"])
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise _not_a_state(name, error) from None
    engine = engine.from_arrays(arrays, record["numbers"])
    cuts = RandomCuts(arrays["cut_table"], engine.n_nodes)
    return StreamParts(stream, engine, Numbering(unpack_ids(arrays)), cuts, note)


def unpack_timed(record, arrays, name, make):
    """Return the contents of the checkpoint of a stream with times; parameters as above."""
    try:
        stream = make(**record["settings"], options=StreamOptions(**record["options"]))
        counters = dict(record["counters"])
        note = dict(record["note"])
        pane_of_array = {f"pane_{int(number)}": int(number) for number in record["panes"]}
        has_late_panes = set(counters["late"]) <= set(pane_of_array.values())
        if arrays.keys() - _IDS != pane_of_array.keys() or not has_late_panes:
            raise InputError("its panes are not those of a stream")
        counts = {key: counters[key] for key in ("n_seen", "n_nodes", "n_too_old", "seed")}
        _check_numbers(counts, dict.fromkeys(counts, 0))
        checksums = dict(enumerate(counters["checksums"]))
        _check_numbers(checksums, dict.fromkeys(range(4), 0))
        if not np.isfinite([counters["latest"] or 0.0, counters["dropped_pane"] or 0.0]).all():
            raise InputError("a time is not finite")
        _check_ids(arrays, counters["n_nodes"])
        panes = {number: arrays[key].tobytes() for key, number in pane_of_array.items()}
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise _not_a_state(name, error) from None
    return TimedParts(stream, counters, panes, Numbering(unpack_ids(arrays)), note)


def check_state(arrays, numbers, *, like):
    """Raise an InputError if no stream could have written this state.

    Parameters
    ----------
    arrays : dict of ndarray
    numbers : dict
    like : dict
        Numbers of a new engine, with the same names and types.
    """
    for group in (_REQUIRED, *_GROUPS):
        missing = group - arrays.keys()
        if missing and (group is _REQUIRED or len(missing) < len(group)):
            raise InputError(f"the array {min(missing)} is missing")
    lengths = {length: arrays[name].size for length, name in _LENGTHS.items() if name in arrays}
    for name, array in arrays.items():
        if name in _RULES:
            _check_array(name, array, _RULES[name], lengths)
        elif name not in _IDS:
            raise InputError(f"the array {name} does not belong to a stream")
    if "prefix_degrees" in arrays and arrays["prefix_degrees"].size > lengths["nodes"]:
        raise InputError("the array prefix_degrees has a wrong length")
    if "known" in lengths:
        if lengths["known"] > lengths["nodes"]:
            raise InputError("the filter has nodes that the stream does not have")
        if arrays["filter_component"].size not in (0, lengths["known"]):
            raise InputError("the array filter_component has a wrong length")
    _check_ids(arrays, lengths["nodes"])
    _check_numbers(numbers, like)
    _check_forest(arrays["parent"], numbers["n_unions"])


def _not_a_state(name, error):
    return InputError(
        f"{name} is not the state of a stream ({error}); start the run again without it"
    )


def _check_array(name, array, rule, lengths):
    shape = tuple(lengths.get(length, length) for length in rule.shape)
    has_shape = len(shape) == array.ndim and all(
        length in (None, size) for length, size in zip(shape, array.shape, strict=True)
    )
    is_short = rule.kind in "if" and array.dtype.itemsize < _MIN_ITEM_BYTES
    if array.dtype.kind != rule.kind or is_short or not has_shape:
        raise InputError(f"the array {name} is {array.dtype} of shape {array.shape}")
    if rule.kind == "b" or array.size == 0:
        return
    if name in _MAY_BE_INFINITE:
        is_in_range = not (array < rule.least).any()
    else:
        # Extremes of an array with NaN are NaN, which fails both comparisons.
        below = lengths.get(rule.below, rule.below)
        is_in_range = array.min() >= rule.least and array.max() < below
    if not is_in_range:
        raise InputError(f"the array {name} has values out of range")


def _check_forest(parent, n_unions):
    """Roots are the smallest nodes of their trees, so that every path to a root ends."""
    node = np.arange(parent.size)
    if (parent > node).any() or np.count_nonzero(parent < node) != n_unions:
        raise InputError("the array parent is not a forest")


def _check_ids(arrays, n_nodes):
    if "ids" in arrays:
        ids = arrays["ids"]
        if ids.shape != (n_nodes,) or ids.dtype not in (np.int64, np.uint64):
            raise InputError(f"the array ids is {ids.dtype} of shape {ids.shape}")
        distinct = IntegerIds(ids.dtype)
        distinct.number(ids.view(np.int64))
        if len(distinct) < n_nodes:
            raise InputError("two nodes have the same id")
    if ("ids_end" in arrays) != ("ids_text" in arrays):
        raise InputError("half of the ids is missing")
    if "ids_end" in arrays:
        text = arrays["ids_text"]
        ends = arrays["ids_end"]
        if text.ndim != 1 or text.dtype != np.uint8 or ends.dtype != np.int64:
            raise InputError(f"the ids are {text.dtype} with ends of {ends.dtype}")
        lengths = np.diff(ends, prepend=0)
        if ends.shape != (n_nodes,) or (lengths < 0).any() or lengths.sum() != text.size:
            raise InputError("the ids do not fit their text")
        _check_text(text.tobytes(), ends)


def _check_text(text, ends):
    """Check that every id is UTF-8 by itself: none begins within a character."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the ids are not UTF-8") from None
    starts = ends[:-1][ends[:-1] < len(text)]
    # Bytes within a character have the bits 10xxxxxx.
    if (np.frombuffer(text, np.uint8)[starts] & 0xC0 == 0x80).any():
        raise InputError("the ids are not UTF-8")


def _check_numbers(numbers, like):
    if not isinstance(numbers, dict) or numbers.keys() != like.keys():
        raise InputError("its numbers are not those of a stream")
    for name, expected in like.items():
        value = numbers[name]
        if expected is None and value is None:
            continue
        if isinstance(expected, bool):
            if not isinstance(value, bool):
                raise InputError(f"the number {name} is {value!r}")
            continue
        is_integer = expected is None or isinstance(expected, int)
        expected_type = number_types.Integral if is_integer else number_types.Real
        is_number = isinstance(value, expected_type) and not isinstance(value, bool)
        least, below = (0, 2**64) if is_integer else (_TINY, np.inf)
        if not is_number or not (least <= value < below or value == expected):
            raise InputError(f"the number {name} is {value!r}")
