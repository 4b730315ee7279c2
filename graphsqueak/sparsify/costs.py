"""What a stream costs: memory of its process and bytes of its state.

    memory = 300 MiB + 500 bytes per node + 100 bytes per kept edge,

measured at the peak, a shrink (`docs/scaling.md`): Python and its libraries with a batch of edges;
degree, forest, id and its table, and the columns of the solves; the kept edges, twice while those
that are parallel are added up, and their matrix. A state on its way is packed: 20 bytes per node,
where ids are numbers, and 12 per kept edge.
"""

__all__ = ["edges_within", "state_bytes", "stream_bytes"]

_BASE = 300 << 20
_PER_NODE = 500
_PER_EDGE = 100


def stream_bytes(n_nodes, n_kept):
    """Memory of a process that holds a stream.

    >>> stream_bytes(10**6, 3 * 10**6) >> 20
    1062
    """
    return _BASE + _PER_NODE * n_nodes + _PER_EDGE * n_kept


def edges_within(n_bytes, n_nodes):
    """How many edges a stream may keep in that much memory, at least as many as a forest has.

    >>> edges_within(stream_bytes(1000, 5000), 1000)
    5000
    """
    return max((n_bytes - stream_bytes(n_nodes, 0)) // _PER_EDGE, n_nodes)


def state_bytes(n_nodes, n_kept):
    """Size of a packed state, about."""
    return 20 * n_nodes + 12 * n_kept
