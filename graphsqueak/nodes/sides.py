"""Ids of two kinds of nodes, told apart by what is put before them: user:51 and item:51."""

import numpy as np

from graphsqueak.system.kernels import njit_cached

__all__ = ["prefix_ids", "side_names"]


def prefix_ids(ends, text, names, *, kind):
    """The ids of both ends of edges as texts that begin with the name of their side.

    Parameters
    ----------
    ends : ndarray
        (n, 2) of integer ids, or (n, 4) of start and stop of the source's and the target's text.
    text : ndarray of uint8 or None
        That holds them.
    names : pair of str
        Of the two sides.
    kind : {"int64", "uint64", "text"}
        What the ids are; uint64 ones come as int64 of the same bits.

    Returns
    -------
    text, spans : ndarray
        All texts, and (n, 4) of their starts and stops.

    Examples
    --------
    >>> text, spans = prefix_ids(np.array([[51, 51]]), None, ("user", "item"), kind="int64")
    >>> bytes(text), spans
    (b'user:51item:51', array([[ 0,  7,  7, 14]]))
    """
    if text is None:
        text, ends = _as_text(ends.view(np.uint64) if kind == "uint64" else ends)
    before = [np.frombuffer(f"{name}:".encode(), dtype=np.uint8) for name in names]
    sizes = np.column_stack(
        [ends[:, 1] - ends[:, 0] + before[0].size, ends[:, 3] - ends[:, 2] + before[1].size]
    )
    stops = np.cumsum(sizes.ravel()).reshape(-1, 2)
    starts = stops - sizes
    prefixed = np.empty(int(stops[-1, 1]) if len(stops) else 0, dtype=np.uint8)
    _copy(ends, text, starts, before[0], before[1], prefixed)
    return prefixed, np.column_stack([starts[:, 0], stops[:, 0], starts[:, 1], stops[:, 1]])


def side_names(columns):
    """What the ids of two sides begin with: the names of their columns, else source and target.

    >>> side_names(("user", "item")), side_names((0, 1))
    (('user', 'item'), ('source', 'target'))
    """
    source, target = columns[:2]
    if isinstance(source, str) and isinstance(target, str) and source != target:
        return source, target
    return "source", "target"


def _as_text(ends):
    """The decimal digits of integers, end to end, and where each begins and stops."""
    import pyarrow as pa

    digits = pa.array(ends.ravel()).cast(pa.large_string())
    offsets = np.frombuffer(digits.buffers()[1], dtype=np.int64)[: ends.size + 1]
    text = np.frombuffer(digits.buffers()[2] or b"", dtype=np.uint8)
    return text, np.column_stack([offsets[:-1], offsets[1:]]).reshape(-1, 4)


@njit_cached
def _copy(ends, text, starts, before, before_other, prefixed):
    for edge in range(ends.shape[0]):
        for side in range(2):
            name = before if side == 0 else before_other
            i = starts[edge, side]
            for k in range(name.size):
                prefixed[i + k] = name[k]
            i += name.size
            first = ends[edge, 2 * side]
            for k in range(ends[edge, 2 * side + 1] - first):
                prefixed[i + k] = text[first + k]
