"""Number the union of the nodes of streams that were read separately.

Workers see different nodes and number them in order of appearance. They share no dictionary: a
mergeable summary contains the ids of its nodes, 8 bytes each or their text. A merge numbers the
union with one hash table, first the nodes of the first stream, then those that only the second has.
Each merge takes time linear in the nodes of its own inputs, without communication. Neighbors are
merged in order, so that the root numbers nodes by first appearance in the whole stream, as a single
pass would.

The alternatives are more expensive. A central dictionary needs 2 m requests over the network.
Hashing ids to numbers takes 64 bits per end, three to four times the memory of int32 ends for every
edge, and hashes can collide.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.numbering import ObjectIds, make_id_table, number_ids
from graphsqueak.nodes.text_ids import TextIds


def merge_ids(streams):
    """Return the ids of the nodes of all streams, and the numbers of each stream's nodes in them.

    Parameters
    ----------
    streams : list of (ids, n_nodes)
        ids is None if nodes are plain numbers.

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
    # Empty streams may have no ids yet.
    sources = [ids for ids, n_nodes in streams if n_nodes]
    has_ids = [ids is not None for ids in sources]
    if not any(has_ids):
        return None, [np.arange(n_nodes, dtype=np.int32) for _, n_nodes in streams]
    if not all(has_ids):
        raise InputError(
            "streams with ids and streams without cannot be merged; give all streams ids, or none"
        )
    table = make_id_table(sources)
    nodes = [
        number_ids(table, ids, 0, n_nodes).astype(np.int32) if n_nodes else np.zeros(0, np.int32)
        for ids, n_nodes in streams
    ]
    return np.asarray(table) if isinstance(table, ObjectIds) else table, nodes


def pack_ids(ids, n_nodes):
    """Return the first ids as a dict of arrays: integers, or UTF-8 text and the end of each id.

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
    # Ids of mixed types are stored as text.
    texts = [str(name).encode() for name in ids.tolist()]
    return {
        "ids_text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "ids_end": np.cumsum([len(text) for text in texts], dtype=np.int64),
    }


def unpack_ids(arrays):
    """Return the ids packed by `pack_ids`, from a dict that may contain other arrays.

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
