"""Checkpoints of a streamed solve: the preconditioner and the state between two passes.

A checkpoint is an Arrow stream (`graphsqueak.system.packing`) with a JSON record and the arrays

    tail, head, weight                     the sparsifier
    ids, or ids_text and ids_end           its ids, unless they are 0, ..., n_nodes - 1
    x, residual, direction, image, gram    the iteration, if one has begun

It is written to a temporary file and renamed, so that an interruption leaves the old or the new
checkpoint. It is read without pickle, and arrays of a wrong shape raise an error.
"""

import hashlib
import os
import warnings
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter, SavingWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.union import pack_ids, unpack_ids
from graphsqueak.system.atomic import atomic_file, hold_signals
from graphsqueak.system.packing import pack, unpack
from graphsqueak.system.remote import read_bytes

# The layout above. Files of other layouts are rejected.
FORMAT = "graphsqueak solve 2"
# Arrays with one row per node.
_BLOCKS = ("x", "residual", "direction", "image")
_IDS = ("ids", "ids_text", "ids_end")


class Saved(NamedTuple):
    """Content of a checkpoint.

    `settings` belong to the solver. `numbers` and `arrays` belong to the iteration; `arrays` is
    empty if none has begun.
    """

    sparsifier: EdgeList
    settings: dict[str, Any]
    numbers: dict[str, Any]
    arrays: dict[str, np.ndarray]


def save(path: str | os.PathLike, saved: Saved) -> None:
    """Write a checkpoint atomically.

    An error becomes a warning, because a full disk must not end a run that can continue.
    """
    edges = saved.sparsifier
    record = {
        "format": FORMAT,
        "n_nodes": edges.n_nodes,
        "settings": saved.settings,
        "numbers": saved.numbers,
    }
    columns = {"tail": edges.tail, "head": edges.head, "weight": edges.weight}
    ids = pack_ids(edges.node_ids, edges.n_nodes)
    try:
        with hold_signals(), atomic_file(path) as file:
            pack(file, record, columns | ids | saved.arrays)
    except InputError as error:
        warnings.warn(SavingWarning("no checkpoint: ", error), stacklevel=5)


def load(path: str | os.PathLike, settings: dict[str, Any]) -> Saved:
    """Read a checkpoint; raise an InputError if it is invalid or has other settings.

    Parameters
    ----------
    path : path
    settings : dict
        Expected settings; a `seed` of None matches any seed.
    """
    saved = _read(path)
    known = {name: saved.settings.get(name) for name in settings}
    if settings["seed"] is None:
        settings = settings | {"seed": known["seed"]}
    if known != settings:
        raise InputError(
            f"{path} was written with other options or another ",
            Parameter("random_state"),
            "; resume with the same, or give another path",
        )
    return saved


def _read(path):
    try:
        record, arrays = unpack(read_bytes(path), path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; check the path") from None
    except InputError as error:
        raise InputError(
            f"{path} is not a complete checkpoint ({error}); start again without resume"
        ) from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(
            f"{path} is not a checkpoint of a streamed solve of this version; give another path, "
            "or start again without resume"
        )
    try:
        n_nodes = record["n_nodes"]
        ids = {name: arrays.pop(name) for name in _IDS if name in arrays}
        sparsifier = EdgeList(
            tail=arrays.pop("tail"),
            head=arrays.pop("head"),
            weight=arrays.pop("weight"),
            n_nodes=n_nodes,
            ids=unpack_ids(ids),
        )
        _check_blocks(arrays, n_nodes)
        settings = dict(record["settings"])
        numbers = dict(record["numbers"])
        wanted = {"x", "residual", "direction"} if "name" in numbers else set()
        if not wanted <= arrays.keys() or not {"n_passes", "backend"} <= numbers.keys():
            raise InputError("a part of it is missing")
        return Saved(sparsifier, settings, numbers, arrays)
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} holds no state of a solve ({error}); start again without resume"
        ) from None


def _check_blocks(arrays, n_nodes):
    for name, array in arrays.items():
        fits = array.dtype == np.float64 and array.ndim == 2
        rows = n_nodes if name in _BLOCKS else array.shape[-1]
        if not fits or len(array) != rows or not np.isfinite(array).all():
            raise InputError(f"the array {name} is {array.dtype} of shape {array.shape}")


def digest(*arrays: np.ndarray) -> str:
    """Return a hash of the shapes and values of arrays, which identifies a system of equations.

    >>> digest(np.zeros(2)) == digest(np.zeros(2)), digest(np.zeros(2)) == digest(np.zeros(3))
    (True, False)
    """
    found = hashlib.sha256()
    for array in arrays:
        found.update(repr(array.shape).encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
