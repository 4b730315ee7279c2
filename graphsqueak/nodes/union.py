"""The nodes of streams that were read apart, numbered as one where the streams are merged.

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
from graphsqueak.nodes.numbering import ObjectIds, make_id_table, number_ids
from graphsqueak.nodes.text_ids import TextIds

__all__ = ["merge_ids", "pack_ids", "unpack_ids"]


def merge_ids(streams):
    """Ids of the nodes of all streams, and the number of each stream's nodes among them.

    Parameters
    ----------
    streams : list of (ids, n_nodes)
        ids is None where nodes are plain numbers.

    Returns
    -------
    ids : IntegerIds, TextIds, ndarray of object, or None
    nodes : list of ndarray of int32
        For each stream, the number in the union of each of its nodes.

    Examples
    --------
    >>> ids, nodes = merge_ids([(np.array([7, 3]), 2), (np.array([5, 7]), 2)])
    >>> np.asarray(ids), nodes[1]
    (array([7, 3, 5]), array([2, 0], dtype=int32))
    """
    named = [ids is not None for ids, n_nodes in streams if n_nodes]
    if not any(named):
        return None, [np.arange(n_nodes, dtype=np.int32) for _, n_nodes in streams]
    if not all(named):
        raise InputError("streams with ids and streams without cannot be merged")
    known = make_id_table([ids for ids, n_nodes in streams if n_nodes])
    nodes = [
        number_ids(known, ids, 0, n_nodes).astype(np.int32) if n_nodes else np.zeros(0, np.int32)
        for ids, n_nodes in streams
    ]
    return (np.asarray(known) if isinstance(known, ObjectIds) else known), nodes


def pack_ids(ids, n_nodes):
    """The first ids as arrays of numbers: integers as they are, others as UTF-8 text and its ends.

    >>> pack_ids(np.array(["bob", "cy"], dtype=object), 2)["ids_end"]
    array([3, 5])
    """
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
    ids.number_packed(arrays["ids_text"], arrays["ids_end"])
    return ids
