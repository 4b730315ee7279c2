"""Ids of a bipartite graph, distinguished by a prefix with their side: user:51 and item:51."""

import numpy as np

from graphsqueak.system.kernels import njit_cached


def prefix_ids(ends, text, names, *, kind):
    """Return the ids of both ends of edges as texts that start with the name of their side.

    Parameters
    ----------
    ends : ndarray
        (n, 2) integer ids, or (n, 4) start and stop of the source's and the target's text.
    text : ndarray of uint8 or None
        Text that contains the ids; None for integers.
    names : pair of str
        Names of the two sides.
    kind : {"int64", "uint64", "text"}
        Kind of ids; uint64 ids are passed as int64 with the same bits.

    Returns
    -------
    text : ndarray of uint8
        All prefixed ids, end to end.
    spans : ndarray of int, shape (n, 4)
        Start and stop of the source's and the target's id in `text`.

    Examples
    --------
    >>> text, spans = prefix_ids(np.array([[51, 51]]), None, ("user", "item"), kind="int64")
    >>> bytes(text), spans
    (b'user:51item:51', array([[ 0,  7,  7, 14]]))
    """
    if text is None:
        text, spans = _to_decimal(ends.view(np.uint64) if kind == "uint64" else ends)
    else:
        spans = ends.reshape(-1, 2)
    prefixes = [np.frombuffer(f"{name}:".encode(), dtype=np.uint8) for name in names]
    # Rows of spans alternate between sources and targets.
    sizes = spans[:, 1] - spans[:, 0]
    sizes[::2] += prefixes[0].size
    sizes[1::2] += prefixes[1].size
    stops = np.cumsum(sizes)
    starts = stops - sizes
    prefixed = np.empty(sizes.sum(), dtype=np.uint8)
    for side in range(2):
        _copy_with_prefix(spans[side::2], text, starts[side::2], prefixes[side], prefixed)
    return prefixed, np.column_stack([starts, stops]).reshape(-1, 4)


def side_names(columns):
    """Return the names of the two sides: those of their columns, else source and target.

    >>> side_names(("user", "item")), side_names((0, 1))
    (('user', 'item'), ('source', 'target'))
    """
    source, target = columns[:2]
    if isinstance(source, str) and isinstance(target, str) and source != target:
        return source, target
    return "source", "target"


def _to_decimal(ids):
    """Return the decimal digits of integers, end to end, and the start and stop of each."""
    import pyarrow as pa

    digits = pa.array(ids.ravel()).cast(pa.large_string())
    _, offset_buffer, text_buffer = digits.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[: ids.size + 1]
    text = np.frombuffer(text_buffer or b"", dtype=np.uint8)
    return text, np.column_stack([offsets[:-1], offsets[1:]])


@njit_cached
def _copy_with_prefix(spans, text, starts, prefix, prefixed):
    for row in range(starts.size):
        position = starts[row]
        for byte in prefix:
            prefixed[position] = byte
            position += 1
        for i in range(spans[row, 0], spans[row, 1]):
            prefixed[position] = text[i]
            position += 1
