"""Checkpoints: the whole state of a stream in one file, read back without pickle and checked.

A checkpoint is an Arrow stream (`graphsqueak.system.packing`) whose metadata hold a JSON record
(format, version, settings, options, counters) and a checksum, and whose single row holds

    tail, head, weight, copies, pinned      the kept edges
    degree, parent                          per node: exact degree, union-find
    base                                    per node: degree in what a guide has seen, if any
    probe_table                             weights of random cuts
    favored, boost                          favored nodes and the boost of their edges, if any
    filter_*                                the arrival filter of the last shrink, if there is one
    sample_*                                copies and probabilities of the thesis' method
    ids, or ids_text and ids_end            the user's ids: integers, or UTF-8 text and its ends

It is written beside its path and renamed, so that a stop never leaves half of one. What travels
between the workers of a merge tree is the same stream of bytes. Versions 4, which had other names
for some arrays, and 5, which held copies in 32 bits, are still read. A stream with times
(`window`) is of version 7: a state of version 6 for each of its buckets, and the ids once.

A checksum finds damage, not a file that was made wrong. Compiled loops trust their arrays: an edge
to a node that is not there would be read from memory that is not ours. So every array is checked
for its kind, its length and the range of its values, and every number for its name and kind.
"""

import numbers as kinds_of_numbers
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.nodes.union import pack_ids, unpack_ids
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.stream.probes import Probes
from graphsqueak.system.atomic import is_file
from graphsqueak.system.packing import pack_bytes, unpack
from graphsqueak.system.remote import open_bytes, read_bytes

__all__ = [
    "FORMAT",
    "RING",
    "check_state",
    "collect_ring",
    "collect_state",
    "is_checkpoint",
    "read_state",
    "restore_ring",
    "restore_state",
]

FORMAT = "graphsqueak stream"
VERSION = 6
RING = 7  # the version of a stream with times, which holds states of version 6
_READABLE = (4, 5, 6, RING)
_RENAMED = {"favoured": "favored", "judge": "filter"}  # since version 4
_MARK = FORMAT.encode()


class _Rule(NamedTuple):
    """An array of a kind ("i" whole, "f" real, "b" boolean), its shape, least <= values < below.

    Whole and real numbers have 32 or 64 bits: no compiled loop takes halves. Copies ("iu") may be
    bytes.
    """

    kind: str
    shape: tuple
    least: float = -np.inf
    below: float | str = np.inf  # a number, or the length of that name


_LENGTHS = {"edges": "weight", "nodes": "degree", "known": "filter_reach", "items": "sample_prob"}
_RULES = {
    "tail": _Rule("i", ("edges",), 0, "nodes"),
    "head": _Rule("i", ("edges",), 0, "nodes"),
    "weight": _Rule("f", ("edges",), 5e-324),
    "copies": _Rule("iu", ("edges",), 1),
    "pinned": _Rule("b", ("edges",)),
    "degree": _Rule("f", ("nodes",), 0.0),
    "parent": _Rule("i", ("nodes",), 0, "nodes"),
    "base": _Rule("f", (None,), 0.0),
    "probe_table": _Rule("f", (256,)),
    "favored": _Rule("b", ("nodes",)),
    "boost": _Rule("f", (), 1.0),
    "filter_points": _Rule("f", ("known", None)),
    "filter_reach": _Rule("f", ("known",), 0.0),
    "filter_near": _Rule("f", ("known", 2), 0.0),
    "filter_component": _Rule("i", (None,)),
    "filter_scale": _Rule("f", (), 0.0),
    "sample_index": _Rule("i", ("items",), 0, "edges"),
    "sample_prob": _Rule("f", ("items",), 5e-324),
    "sample_copies": _Rule("i", ("items",), 1),
}
_ALWAYS = {"tail", "head", "weight", "degree", "parent", "probe_table"}
_TOGETHER = (
    {name for name in _RULES if name.startswith("filter_")},
    {name for name in _RULES if name.startswith("sample_")},
    {"copies", "pinned"},
    {"favored", "boost"},
)
_MAY_BE_ODD = {"probe_table", "boost", "filter_scale"}  # NaN or infinite means something there
_IDS = ("ids", "ids_text", "ids_end")
_SHORTEST = 4  # bytes of a number


def collect_state(settings, options, engine, numbering, probes, *, note):
    """Record and arrays of a stream."""
    arrays, numbers = engine.state()
    record = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings,
        "options": asdict(options),
        "numbers": numbers,
        "note": note,
    }
    ids = pack_ids(numbering.ids, engine.n_nodes)
    return record, arrays | {"probe_table": probes.table} | ids


def read_state(data, name):
    """Record and arrays of a checkpoint: of its bytes, or, where they are None, of a file."""
    try:
        data = read_bytes(name) if data is None else data
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        reason = "does not exist" if gone else f"cannot be read: {error.strerror}"
        raise InputError(f"{name} {reason}; check the path of the checkpoint") from None
    try:
        record, arrays = unpack(data, name)
    except InputError as error:
        raise InputError(
            f"{name} is no complete checkpoint ({error}); start the run again without it"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{name} is not a checkpoint of graphsqueak sparsify")
    if record.get("version") not in _READABLE:
        raise InputError(
            f"{name} is a checkpoint of version {record.get('version')}, this program reads "
            f"{_READABLE[0]} to {_READABLE[-1]}; start the run again, or use the program that "
            "wrote it"
        )
    return record, arrays


def restore_state(record, arrays, name, make):
    """Make the stream of a state, by make(options=, **settings), and restore its engine.

    Returns
    -------
    stream, numbering, probes, note
    """
    try:
        arrays = _rename_keys(arrays)
        record["settings"] = _rename_keys(record["settings"])
        options = StreamOptions(**record["options"])
        stream, engine = make(**record["settings"], options=options)
        wanted = engine.state()[1]
        record["numbers"] = {**_since(wanted), **record["numbers"]}
        check_state(arrays, record["numbers"], wanted=wanted)
        note = dict(record["note"])
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds no state of a stream ({error}); start the run again without it"
        ) from None
    engine.restore((arrays, record["numbers"]))
    probes = Probes(arrays["probe_table"], engine.n_nodes)
    return stream, Numbering(unpack_ids(arrays)), probes, note


def collect_ring(settings, options, ring, states, ids, *, note):
    """Record and arrays of a stream with times: numbers of it, states of its buckets, its ids."""
    record = {
        "format": FORMAT,
        "version": RING,
        "settings": settings,
        "options": asdict(options),
        "ring": ring | {"buckets": sorted(states)},
        "note": note,
    }
    packed = {
        f"bucket_{number}": np.frombuffer(pack_bytes(*state), np.uint8)
        for number, state in states.items()
    }
    return record, packed | pack_ids(ids, ring["n_nodes"])


def restore_ring(record, arrays, name, make):
    """Make the stream of such a state, by make(options=, **settings).

    Returns
    -------
    stream, ring, states, numbering, note
        `states` are the bytes of each bucket, by its number.
    """
    try:
        stream = make(**record["settings"], options=StreamOptions(**record["options"]))
        ring, note = dict(record["ring"]), dict(record["note"])
        keys = {f"bucket_{int(number)}": int(number) for number in ring.pop("buckets")}
        if arrays.keys() - _IDS != keys.keys() or not set(ring["late"]) <= set(keys.values()):
            raise InputError("its buckets are not those of a stream")
        counts = {key: ring[key] for key in ("n_seen", "n_nodes", "n_too_old", "seed")}
        _check_numbers(counts, dict.fromkeys(counts, 0))
        checks = dict(enumerate(ring["checksums"]))
        _check_numbers(checks, dict.fromkeys(range(4), 0))
        if not all(np.isfinite([ring["latest"] or 0.0, ring["gone"] or 0.0])):
            raise InputError("a time is not finite")
        _check_ids(arrays, ring["n_nodes"])
        states = {number: arrays[key].tobytes() for key, number in keys.items()}
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name} holds no state of a stream ({error}); start the run again without it"
        ) from None
    return stream, ring, states, Numbering(unpack_ids(arrays)), note


def _since(wanted):
    """Numbers that older checkpoints do not have, where they are wanted."""
    new = {"cut_error": 0.0, "n_by_degrees": 0, "n_before": 0, "leads": 0}
    return {name: value for name, value in new.items() if name in wanted}


def _rename_keys(fields):
    """The present names of arrays and settings: judge_scale is filter_scale."""
    fields = dict(fields)
    for name in list(fields):
        first, _, rest = name.partition("_")
        if first in _RENAMED:
            fields["_".join(filter(None, (_RENAMED[first], rest)))] = fields.pop(name)
    return fields


def is_checkpoint(path):
    """Whether a file, on disk or at an address, begins as a checkpoint does; no pipe is touched."""
    if not is_file(path):
        return False
    with open_bytes(path) as file:
        return _MARK in file.read(1024)


def check_state(arrays, numbers, *, wanted):
    """Refuse a state that no stream could have written; `wanted` are the numbers of its engine."""
    for names in (_ALWAYS, *_TOGETHER):
        missing = names - arrays.keys()
        if missing and (names is _ALWAYS or len(missing) < len(names)):
            raise InputError(f"the array {min(missing)} is missing")
    sizes = {size: arrays[name].size for size, name in _LENGTHS.items() if name in arrays}
    for name, array in arrays.items():
        if name in _RULES:
            _check_array(name, array, _RULES[name], sizes)
        elif name not in _IDS:
            raise InputError(f"the array {name} belongs to no stream")
    if "base" in arrays and arrays["base"].size > sizes["nodes"]:
        raise InputError("the array base has a wrong length")
    if "filter_reach" in arrays:
        if sizes["known"] > sizes["nodes"]:
            raise InputError("the filter knows nodes that are not there")
        if arrays["filter_component"].size not in (0, sizes["known"]):
            raise InputError("the array filter_component has a wrong length")
    _check_ids(arrays, sizes["nodes"])
    _check_numbers(numbers, wanted)
    _check_forest(arrays["parent"], numbers["n_joins"])


def _check_array(name, array, rule, sizes):
    shape = tuple(sizes.get(length, length) for length in rule.shape)
    fits = len(shape) == array.ndim and all(
        length in (None, held) for length, held in zip(shape, array.shape, strict=True)
    )
    too_short = rule.kind in "if" and array.dtype.itemsize < _SHORTEST
    if array.dtype.kind not in rule.kind or too_short or not fits:
        raise InputError(f"the array {name} is {array.dtype} of shape {array.shape}")
    if rule.kind == "b" or array.size == 0:
        return
    if name in _MAY_BE_ODD:
        is_good = not (array < rule.least).any()
    else:  # an extreme is not a number where a value is not
        below = sizes.get(rule.below, rule.below)
        is_good = array.min() >= rule.least and array.max() < below
    if not is_good:
        raise InputError(f"the array {name} holds values out of their range")


def _check_forest(parent, n_joins):
    """Roots are the smallest nodes of their trees, so that every way up ends."""
    node = np.arange(parent.size)
    if (parent > node).any() or np.count_nonzero(parent < node) != n_joins:
        raise InputError("the array parent is no forest")


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
        text, ends = arrays["ids_text"], arrays["ids_end"]
        if text.ndim != 1 or text.dtype != np.uint8 or ends.dtype != np.int64:
            raise InputError(f"the ids are {text.dtype} with ends of {ends.dtype}")
        steps = np.diff(ends, prepend=0)
        if ends.shape != (n_nodes,) or (steps < 0).any() or steps.sum() != text.size:
            raise InputError("the ids do not fit their text")
        _check_text(text.tobytes(), ends)


def _check_text(text, ends):
    """Every id is UTF-8 by itself: none begins within a character."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the ids are not UTF-8") from None
    starts = ends[:-1][ends[:-1] < len(text)]
    if (np.frombuffer(text, np.uint8)[starts] & 0xC0 == 0x80).any():
        raise InputError("the ids are not UTF-8")


def _check_numbers(numbers, wanted):
    if not isinstance(numbers, dict) or numbers.keys() != wanted.keys():
        raise InputError("its numbers are not those of a stream")
    for name, like in wanted.items():
        value, whole = numbers[name], isinstance(like, int)
        if like is None and value is None:
            continue
        kind = kinds_of_numbers.Integral if whole or like is None else kinds_of_numbers.Real
        least, below = (0, 2**64) if whole else (5e-324, np.inf)
        good = isinstance(value, kind) and not isinstance(value, bool)
        if not good or not (least <= value < below or value == like):
            raise InputError(f"the number {name} is {value!r}")
