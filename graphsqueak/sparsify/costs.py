"""What a stream costs: memory of its process and bytes of its state.

    memory = 300 MiB + 500 bytes per node + 100 bytes per kept edge,

measured at the peak, a shrink (`docs/scaling.md`): Python and its libraries with a batch of edges;
degree, forest, id and its table, and the columns of the solves; the kept edges, twice while those
that are parallel are added up, and their matrix. A state on its way is packed: 20 bytes per node,
where ids are numbers, and 12 per kept edge.
"""

import re

from graphsqueak.validation import InputError

__all__ = ["check_room", "edges_within", "size_in_bytes", "state_bytes", "stream_bytes"]

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


def check_room(n_bytes, n_edges=None):
    """Return a memory limit in which a stream can begin, and keep the edges that are asked for.

    >>> check_room(2 * 10**9, n_edges=10**6)
    2000000000
    >>> check_room(10**9, n_edges=10**8)
    Traceback (most recent call last):
    graphsqueak.validation.InputError: 100,000,000 edges need 9.6 GiB ...; at most 6,854,272 ...
    """
    if n_bytes < 2 * _BASE:
        raise InputError(
            f"{n_bytes / 2**20:,.0f} MiB of memory are too little; at least {2 * _BASE >> 20} MiB "
            "are needed to begin"
        )
    if n_edges is not None and stream_bytes(0, n_edges) > n_bytes:
        raise InputError(
            f"{n_edges:,} edges need {stream_bytes(0, n_edges) / 2**30:.1f} GiB of memory and more "
            f"for the nodes; at most {edges_within(n_bytes, 0):,} fit into what is allowed: ask "
            "for fewer edges or allow more memory"
        )
    return n_bytes


def size_in_bytes(text):
    """A size as people write it; a number alone counts GiB.

    >>> size_in_bytes("2GB"), size_in_bytes("512 MiB"), size_in_bytes("1.5")
    (2000000000, 536870912, 1610612736)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?)?\s*", text.lower())
    if match is None:
        raise InputError(f"{text!r} is no size of memory; write it as 2GB or 512MiB")
    number, letter, binary = match.groups()
    base = 1000 if letter and not binary else 1024
    return int(float(number) * base ** ("kmgt".index(letter or "g") + 1))


def state_bytes(n_nodes, n_kept):
    """Size of a packed state, about."""
    return 20 * n_nodes + 12 * n_kept
