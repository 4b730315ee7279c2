"""What a stream may spend: edges, memory, and the parts of its method.

*Edges* are asked for directly, by accuracy, or as a share. A graph of mean degree d is at best
2 / sqrt(d) away from a dense one (Alon and Boppana), and the stream sparsifier comes close to that
limit on dense graphs, so n_edges edges on n nodes predict

    epsilon = 2 / sqrt(2 n_edges / n) = sqrt(2 n / n_edges).

*Memory* of a process with a stream is, at its peak, a shrink (measured, see `docs/scaling.md`),

    300 MiB + 500 bytes per node + 100 bytes per kept edge:

Python and its libraries with a batch of edges; degree, forest, id and its table, and the columns of
the solves; the kept edges, twice while those that are parallel are added up, and their matrix. A
state on its way is packed: 20 bytes per node, where ids are numbers, and 12 per kept edge.
"""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

from graphsqueak.errors import InputError
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "FEW",
    "SURELY_FEW",
    "Budget",
    "StreamOptions",
    "check_room",
    "edges_within",
    "held_bytes",
    "predicted_epsilon",
    "state_bytes",
    "stream_bytes",
]

SURELY_FEW, FEW = 1.5, 3.0  # edges a node: below, a subgraph is better, or may be
_MARGIN = 1.1  # more edges than the limit asks for
_BASE = 300 << 20
_PER_NODE = 500
_PER_EDGE = 100
_HELD_PER_NODE, _HELD_PER_EDGE = 900, 150
_ROOM_OF_MANY = 2.0
_TARGET_OF_MANY = 1.25


class Budget(NamedTuple):
    """Exactly one of the three is set.

    >>> Budget(n_edges=None, epsilon=0.5, keep=None)(n_nodes=1000, n_seen=10**6)
    8800
    """

    n_edges: int | None
    epsilon: float | None
    keep: float | None

    def __call__(self, n_nodes, n_seen):
        """Number of edges for what has been seen so far."""
        if self.n_edges is not None:
            return self.n_edges
        if self.epsilon is not None:
            return math.ceil(_MARGIN * 2 * n_nodes / self.epsilon**2)
        return max(math.ceil(self.keep * n_seen), 1)

    def during(self, n_nodes, n_seen, *, least):
        """The same while the stream goes on.

        The share of a beginning is a small number, and what is thinned to it does not come back
        when the stream turns out to be long: so a share is `least` edges at least.
        """
        budget = self(n_nodes, n_seen)
        return budget if self.keep is None else max(budget, least)

    def checked(self, source=None):
        """This budget, or an InputError; a share is refused of a `source` that is never built."""
        if self.keep is not None and hasattr(source, "multiply"):
            raise InputError(
                "keep (--keep) is a share of the edges, and those of a table of pairs are never "
                "made; give n_edges (--edges), some eight for each entity"
            )
        given = [name for name, value in self._asdict().items() if value is not None]
        if len(given) != 1:
            said = " and ".join(given) or "none"
            raise InputError(f"give exactly one of n_edges, epsilon and keep, not {said}")
        if self.n_edges is not None:
            check_count("n_edges", self.n_edges)
        elif self.epsilon is not None:
            check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        elif check_real("keep", self.keep, above=0.0) > 1:
            raise InputError(f"keep={self.keep} is a share of the edges, at most 1")
        return self


def predicted_epsilon(n_nodes, n_edges):
    """Accuracy of a sparsifier of a dense graph.

    >>> predicted_epsilon(1000, 8000)
    0.5
    """
    return math.sqrt(2 * n_nodes / n_edges) if n_edges else math.inf


@dataclass(frozen=True)
class StreamOptions:
    """Parts of the fast method; the defaults are what measured best.

    Parameters
    ----------
    filter_arrivals : bool
        Sample every edge when it arrives, by the resistances of the last shrink.
    n_copies : int
        Parts into which a new edge is cut, to be thinned apart. 1 is a Bernoulli coin per edge;
        the thesis has thousands of copies and a binomial draw.
    pin_forest : bool
        Never thin the edges that first joined two components: the sparsifier then has exactly
        the components of the graph.
    clamp : bool
        Keep sketched resistances between their degree bound and 1 / w.
    calibrate : bool
        At the end, scale the weights so that all degrees match the graph's own.
    keep_degrees : bool
        In the last shrink, thin by a rounding that keeps degrees instead of by independent coins
        (one copy only).
    n_probes, final_probes : int
        Right-hand sides of the sketch during the stream and in the last shrink.
    room, target : float
        Shrink when more than room * budget edges are kept, to target * budget.
    memory_limit : int, optional
        Bytes that a process with this stream may take, by `costs.stream_bytes`: where `room` would
        take more, shrink earlier. Not below the forest: that much is needed.
    chunk : int
        Edges between two looks at the room that is left.
    many_nodes : int
        From as many nodes on resistances are told by degrees where that is enough.
    many_edges : int
        From a budget of as many on, edges are kept in little memory: in single precision once some
        have been dropped, with less room, coalesced and thinned in place.
    least_share : int
        Edges that a share (`keep`) is taken to be at least while the stream goes on, since nobody
        knows how long it is.
    """

    filter_arrivals: bool = True
    n_copies: int = 1
    pin_forest: bool = True
    clamp: bool = True
    calibrate: bool = True
    keep_degrees: bool = True
    n_probes: int = 8
    final_probes: int = 16
    room: float = 3.0
    target: float = 1.5
    memory_limit: int | None = None
    chunk: int = 2**18
    many_nodes: int = 2**12
    many_edges: int = 2**20
    least_share: int = 2**19

    def __post_init__(self):
        for field in fields(self):
            if field.type is bool:
                check_choice(field.name, getattr(self, field.name), (True, False))
        if self.memory_limit is not None:
            check_count("memory_limit", self.memory_limit)
        check_count("chunk", self.chunk)
        check_count("many_nodes", self.many_nodes)
        check_count("many_edges", self.many_edges)
        check_count("least_share", self.least_share)
        check_count("n_copies", self.n_copies)
        check_count("n_probes", self.n_probes)
        check_count("final_probes", self.final_probes)
        check_real("target", self.target, least=1.0)
        check_real("room", self.room, above=self.target)

    def most_kept(self, budget: float, n_nodes: int) -> tuple[float, float]:
        """Edges beyond which to shrink, and how many to leave."""
        room, target = self.room, self.target
        if budget >= self.many_edges:
            room, target = min(room, _ROOM_OF_MANY), min(target, _TARGET_OF_MANY)
        most = room * budget
        if self.memory_limit is not None:
            most = min(most, edges_within(self.memory_limit, n_nodes))
        return most, min(target * budget, most / room * target)

    def bits(self, n_bits: int) -> int:
        """Digits of a rounding that keeps degrees, 0 for coins: only whole edges can be rounded."""
        return n_bits if self.keep_degrees and self.n_copies == 1 else 0


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
    graphsqueak.errors.InputError: 100,000,000 edges need 9.6 GiB ...; at most 6,854,272 ...
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


def held_bytes(n_nodes, n_edges):
    """Memory of a process that chooses a subgraph of a graph that it holds.

    >>> held_bytes(10**6, 3 * 10**6) >> 20
    1587
    """
    return _BASE + _HELD_PER_NODE * n_nodes + _HELD_PER_EDGE * n_edges


def state_bytes(n_nodes, n_kept):
    """Size of a packed state, about."""
    return 20 * n_nodes + 12 * n_kept
