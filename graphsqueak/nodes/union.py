"""Which node is which across streams that were read apart: ids, matched where streams are merged.

Workers see different nodes and number them as they come. There is no common dictionary to ask: a
state carries the ids of its nodes, 8 bytes each or their text, and a merge numbers the union with
one hash table, the first stream's nodes before those that only the second has. Each merge touches
the nodes of its own inputs, on its own worker, in linear time; nobody waits for anybody else. And
since neighbors are merged in order, the root numbers nodes by their first appearance in the whole
stream, as one pass would.

The alternatives cost more: a central dictionary is asked 2 m times over the network; hashing ids to
numbers needs 64 bits per end, three to four times the bytes of int32 ends, wherever edges are
held, and can collide.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.text_ids import TextIds

__all__ = ["pack_ids", "united_ids", "unpack_ids"]


def united_ids(streams):
    """Ids of the nodes of all streams, and where each one's nodes are among them.

    Parameters
    ----------
    streams : list of (ids, n_nodes)
        ids is None where nodes are plain numbers.

    Examples
    --------
    >>> ids, places = united_ids([(np.array([7, 3]), 2), (np.array([5, 7]), 2)])
    >>> np.asarray(ids), places[1]
    (array([7, 3, 5]), array([2, 0], dtype=int32))
    """
    named = [ids is not None for ids, n_nodes in streams if n_nodes]
    if not any(named):
        return None, [np.arange(n_nodes, dtype=np.int32) for _, n_nodes in streams]
    if not all(named):
        raise InputError("streams with ids and streams without cannot be merged")
    present = [ids for ids, n_nodes in streams if n_nodes]
    if all(isinstance(ids, TextIds) for ids in present):
        known = TextIds()
        number = _number_text
    else:
        arrays = [np.asarray(ids) for ids in present]
        kinds = {array.dtype for array in arrays}
        if len(kinds) == 1 and arrays[0].dtype in (np.int64, np.uint64):
            known, number = IntegerIds(arrays[0].dtype), _number_integers
        else:
            known, number = {}, _number_objects
    places = [
        number(known, ids, n_nodes).astype(np.int32) if n_nodes else np.zeros(0, np.int32)
        for ids, n_nodes in streams
    ]
    if isinstance(known, dict):
        names = np.empty(len(known), dtype=object)
        names[:] = list(known)
        return names, places
    return known, places


def _number_text(known, ids, n_nodes):
    return known.place(*ids.buffers(n_nodes))


def _number_integers(known, ids, n_nodes):
    return known.number(np.asarray(ids)[:n_nodes].view(np.int64))


def _number_objects(known, ids, n_nodes):
    names = np.asarray(ids)[:n_nodes].tolist()
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def pack_ids(ids, n_nodes):
    """Ids as arrays of numbers: integers as they are, anything else as UTF-8 text and its ends."""
    if ids is None:
        return {}
    if isinstance(ids, TextIds):
        text, ends = ids.buffers(n_nodes)
        return {"ids_text": text, "ids_end": ends}
    ids = np.asarray(ids)[:n_nodes]
    if ids.dtype.kind in "iu":
        return {"ids": ids}
    texts = [str(name).encode() for name in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {"ids_text": np.frombuffer(b"".join(texts), dtype=np.uint8), "ids_end": ends}


def unpack_ids(arrays):
    """What `pack_ids` was given, of a dict that may hold other arrays too.

    >>> np.asarray(unpack_ids(pack_ids(np.array(["bob", "cy"], dtype=object), 2)))
    array(['bob', 'cy'], dtype=object)
    """
    if "ids" in arrays:
        return arrays["ids"]
    if "ids_end" not in arrays:
        return None
    ids = TextIds()
    ids.place(arrays["ids_text"], arrays["ids_end"])
    return ids
