"""What a stream may spend: edges, memory, and the parts of its method.

*Edges* are asked for directly, by accuracy, or as a share. A graph of mean degree d is at best
2 / sqrt(d) away from a dense one (Alon and Boppana), and the stream sparsifier comes close to that
limit on dense graphs, so n_edges edges on n nodes predict

    epsilon = 2 / sqrt(2 n_edges / n) = sqrt(2 n / n_edges).

*The error of sampling.* Edge e, of weight w and leverage t = w r, is kept with probability
p = min(1, c t) and then weighs w / p, where c makes the probabilities sum to the budget. Whitened
by L_G^(-1/2), edge e is a matrix of norm t, and its kept multiple has a variance of
(1 / p - 1) t = max(1 / c - t, 0) times that matrix. At node u, where x is 1 and 0 elsewhere, these
add up to

    V_u = sum_v (w_uv / d_u) max(1 / c - t_uv, 0).

A symmetric random matrix whose rows have the variance V / 2 each way, with degrees that are kept,
has its spectrum within 2 sqrt(V / 2) (the semicircle), so the error is

    eps = sqrt(2 V),

V taken where it is large, at the 99th of 100 nodes. On a dense graph this is 2 / sqrt(d) for the
mean degree d of the result, less where a good part of the edges is kept: edges with c t >= 1, of
sparse graphs most of them, stay as they are and add nothing. Below c = 4 a spanning forest is kept
as it is, and c is what the rest can have. With few edges the error is that of single ones, whose
leverage is 1 / c, nearly V, when they stay. So from eps = 1, where both are the same,

    eps = 2 V.

Over the graphs of `benchmarks/bench_forecast.py` the measured error is 0.9 to 1.2 times this below
1, and above 1 mostly 0.5 to 2 times.

*Memory* of a process with a stream is, at its peak, a shrink (measured, see `docs/scaling.md`),

    300 MiB + 500 bytes per node + 100 bytes per kept edge:

Python and its libraries with a batch of edges; degree, forest, id and its table, and the columns of
the solves; the kept edges, twice while those that are parallel are added up, and their matrix. A
state on its way is packed: 20 bytes per node, where ids are numbers, and 12 per kept edge.
"""

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.forest import add_degrees
from graphsqueak.sampling import scale_for
from graphsqueak.system.kernels import frozen
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "MIN_SCALE_WITHOUT_FOREST",
    "Budget",
    "ErrorCurve",
    "StreamOptions",
    "check_memory_limit",
    "edges_within",
    "error_for_variance",
    "in_memory_bytes",
    "predicted_epsilon",
    "sampling_error",
    "sampling_error_curve",
    "state_bytes",
    "stream_bytes",
]

_MARGIN = 1.1  # more edges than the limit asks for
_BASE = 300 << 20
_PER_NODE = 500
_PER_EDGE = 100
_HELD_PER_NODE, _HELD_PER_EDGE = 900, 150
# Watermarks for samples in which memory matters more than time.
_HIGH_WATERMARK_IN_PLACE = 2.0
_LOW_WATERMARK_IN_PLACE = 1.25
# Sampling scale c from which a spanning forest need not be kept in the final sample: a cut is empty
# with probability exp(-c), 2 % at 4.
MIN_SCALE_WITHOUT_FOREST = 4.0
_QUANTILE = 0.99
# The curve spans all edges down to this fraction of them: a stream holds at most three times the
# edges that a dense graph needs, and other graphs seldom need less than a tenth of those.
_CURVE_RANGE = 32
_CURVE_POINTS = 5
_CURVE_REFINEMENTS = 3  # secant steps; two leave the number of edges up to 3 % off
_MOST_LOOKED_AT, _ENOUGH = 2**22, 2**19  # edges; of more than the first, so many tell a mean


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

    def during_stream(self, n_nodes, n_seen, *, least):
        """The same while the stream goes on.

        The share of a beginning is a small number, and what is thinned to it does not come back
        when the stream turns out to be long: so a share is `least` edges at least.
        """
        budget = self(n_nodes, n_seen)
        return budget if self.keep is None else max(budget, least)

    def sample_source(self, source):
        """`source`; one that draws its edges from a larger graph, with as many as are needed."""
        is_known = self.n_edges is not None or self.epsilon is not None
        is_drawn = is_known and getattr(source, "is_implicit", False)
        return source.drawn_for(self) if is_drawn else source

    def validate(self, source=None):
        """This budget, or an InputError; a share is refused of a `source` that is never built."""
        if self.keep is not None and getattr(source, "is_implicit", False):
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
            raise InputError(
                f"keep={self.keep} is a fraction of the edges, at most 1; give 0.3 for 30 % of them"
            )
        return self


def predicted_epsilon(n_nodes, n_edges):
    """Accuracy of a sparsifier of a dense graph.

    >>> predicted_epsilon(1000, 8000)
    0.5
    """
    return math.sqrt(2 * n_nodes / n_edges) if n_edges else math.inf


def sampling_error(tail, head, weight, resistance, pinned, n_edges, *, n_nodes, n_seen=None):
    """The error to expect when edges are thinned to `n_edges`, see above.

    Of more than four million edges some are looked at, and V is their mean.

    Parameters
    ----------
    tail, head, weight, resistance : arrays
        The edges.
    pinned : array of bool
        A spanning forest of them.
    n_edges, n_nodes : int
    n_seen : int, optional
        Where the edges are what was kept of so many: those that were thinned before had about the
        mean leverage of all that were.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> graph = complete(100).to_edge_list()
    >>> ends = (graph.tail, graph.head, graph.weight)
    >>> resistance, pinned = np.full(4950, 2 / 100), np.zeros(4950, dtype=bool)
    >>> round(sampling_error(*ends, resistance, pinned, 990, n_nodes=100), 2)
    0.4
    """
    if tail.size <= n_edges:
        return 0.0
    step = 1 if tail.size <= _MOST_LOOKED_AT else tail.size // _ENOUGH
    some = slice(None, None, step)
    tail, head, weight, pinned = tail[some], head[some], weight[some], pinned[some]
    leverage, n_edges = np.minimum(weight * resistance[some], 1.0), n_edges / step
    scale = scale_for(leverage, n_edges)
    is_free = np.ones(tail.size, dtype=np.bool_)
    if scale < MIN_SCALE_WITHOUT_FOREST:
        is_free = ~pinned
        # Half an edge at least: dropping the only one beside a forest is not without error.
        scale = scale_for(leverage[is_free], max(n_edges - np.count_nonzero(pinned), 0.5))
    is_free &= leverage * scale < 1
    n_free = np.count_nonzero(is_free)
    if n_seen is not None and n_free:
        n_before = max(n_seen / step - (tail.size - n_free), n_free)
        leverage = np.minimum(leverage, leverage[is_free].sum() / n_before)
    loss = np.where(is_free, weight * np.maximum(1 / scale - leverage, 0.0), 0.0)
    if step > 1:
        return error_for_variance(float(loss.sum() / weight.sum()))
    lost, degree = np.zeros((2, n_nodes))
    add_degrees(lost, *frozen(tail, head, loss))
    add_degrees(degree, *frozen(tail, head, weight))
    local = lost[degree > 0] / degree[degree > 0]
    return error_for_variance(float(np.quantile(local, _QUANTILE)))


def error_for_variance(variance):
    """Return the error of sampling at a variance V: sqrt(2 V) up to 1, and 2 V above.

    >>> error_for_variance(0.125), error_for_variance(0.5), error_for_variance(2.0)
    (0.5, 1.0, 4.0)
    """
    return max(math.sqrt(2 * variance), 2 * variance)


def _variance_for_error(error):
    """Return the variance at which sampling has this error; the inverse of `error_for_variance`."""
    return np.minimum(np.square(error), error) / 2


class ErrorCurve(NamedTuple):
    """Predicted error of a sparsifier as a function of its number of edges.

    The variance V is linear in 1 / n_edges as long as no edge is kept with certainty, and close to
    it beyond, so values between the given points are interpolated linearly in these coordinates.

    Attributes
    ----------
    n_edges : ndarray
        Ascending; the last one may be infinite.
    error : ndarray
        Descending.

    Examples
    --------
    A dense graph, whose error is 1 / sqrt(n_edges) for any number of edges:

    >>> curve = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))
    >>> curve.error_at(25), curve.edges_for(0.1)
    (0.2, 100)
    """

    n_edges: np.ndarray
    error: np.ndarray

    def error_at(self, n_edges: float) -> float:
        """Return the predicted error of a sparsifier with `n_edges` edges."""
        variance = _variance_for_error(self.error)
        found = np.interp(1 / n_edges, 1 / self.n_edges[::-1], variance[::-1])
        return error_for_variance(float(found))

    def edges_for(self, epsilon: float) -> int:
        """Return the number of edges whose predicted error is `epsilon`."""
        variance = _variance_for_error(self.error)
        found = _variance_for_error(epsilon)
        inverse = np.interp(found, variance[::-1], 1 / self.n_edges[::-1])
        # Rounding in 1 / inverse must not turn a whole number of edges into the next one.
        return math.ceil(1 / inverse * (1 - 1e-12))


def sampling_error_curve(tail, head, weight, resistance, pinned, *, epsilon, n_nodes, n_seen=None):
    """Return `sampling_error` as a function of the number of edges.

    Parameters
    ----------
    tail, head, weight, resistance, pinned : arrays
    epsilon : float
        The curve is exact near this error, and interpolated between a few points elsewhere.
    n_nodes, n_seen : int
        As in `sampling_error`.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> graph = complete(100).to_edge_list()
    >>> ends = (graph.tail, graph.head, graph.weight)
    >>> resistance, pinned = np.full(4950, 2 / 100), np.zeros(4950, dtype=bool)
    >>> curve = sampling_error_curve(*ends, resistance, pinned, epsilon=0.4, n_nodes=100)
    >>> curve.edges_for(0.4), curve.edges_for(0.0)
    (990, 4950)
    """

    def error_of(n_edges):
        return sampling_error(
            tail, head, weight, resistance, pinned, n_edges, n_nodes=n_nodes, n_seen=n_seen
        )

    fewest = min(max(np.count_nonzero(pinned) + 1, tail.size / _CURVE_RANGE), tail.size)
    # Without earlier losses, all edges have no error. After them, all edges that are left have the
    # error of the sampling so far, and only the whole stream would have none.
    most = tail.size if n_seen is None else max(tail.size - 1, fewest)
    points = {n: error_of(n) for n in np.geomspace(fewest, most, _CURVE_POINTS)}
    if n_seen is not None:
        points[max(n_seen, tail.size)] = 0.0
    for _ in range(_CURVE_REFINEMENTS):
        n_edges = _curve_through(points).edges_for(epsilon)
        if fewest <= n_edges <= most:
            points[n_edges] = error_of(n_edges)
    return _curve_through(points)


def _curve_through(points):
    """Return the curve through points {number of edges: error}; errors never grow with edges."""
    n_edges = np.array(sorted(points), dtype=np.float64)
    error = np.array([points[n] for n in n_edges])
    return ErrorCurve(n_edges, np.minimum.accumulate(error))


@dataclass(frozen=True)
class StreamOptions:
    """Options of the practical method; parts can be switched off for study.

    Parameters
    ----------
    filter_arrivals : bool
        Sample every edge when it arrives, by the resistances of the last resparsification.
    keep_spanning_forest : bool
        Keep the edges that first joined two components, so that the sparsifier has the components
        of the graph.
    rescale_to_degrees : bool
        At the end, scale the weights so that total weight and degrees match those of the graph.
    dependent_rounding : bool
        In the final sample, use dependent rounding, which preserves degrees, instead of independent
        sampling.
    n_probes, final_probes : int
        Right-hand sides of the resistance sketch, during the stream and at the end.
    high_watermark, low_watermark : float
        Resparsify when the sample exceeds high_watermark * budget, to low_watermark * budget.
    memory_limit : int, optional
        Bytes that a process with this stream may take (`stream_bytes`). It lowers the high
        watermark, but not below a spanning forest.
    chunk_size : int
        Edges that are processed between two checks of the high watermark.
    degree_approx_min_nodes : int
        Number of nodes from which resistances are approximated from degrees if that is enough.
    inplace_min_edges : int
        Budget from which edges take little memory: single precision once some were dropped, lower
        watermarks, coalesced and sampled in place.
    min_budget : int
        Smallest budget that a fraction of the edges (`keep`) stands for while the stream goes on,
        since its length is not known.
    """

    filter_arrivals: bool = True
    keep_spanning_forest: bool = True
    rescale_to_degrees: bool = True
    dependent_rounding: bool = True
    n_probes: int = 8
    final_probes: int = 16
    high_watermark: float = 3.0
    low_watermark: float = 1.5
    memory_limit: int | None = None
    chunk_size: int = 2**18
    degree_approx_min_nodes: int = 2**12
    inplace_min_edges: int = 2**20
    min_budget: int = 2**19

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is bool:
                check_choice(field.name, value, (True, False))
            elif field.type is int:
                check_count(field.name, value)
        if self.memory_limit is not None:
            check_count("memory_limit", self.memory_limit)
        check_real("low_watermark", self.low_watermark, least=1.0)
        check_real("high_watermark", self.high_watermark, above=self.low_watermark)

    def watermarks(self, budget: float, n_nodes: int) -> tuple[float, float]:
        """Return the number of edges at which to resparsify, and the number to leave.

        >>> StreamOptions().watermarks(1000, n_nodes=100)
        (3000.0, 1500.0)
        """
        high = self.high_watermark
        low = self.low_watermark
        if budget >= self.inplace_min_edges:
            high = min(high, _HIGH_WATERMARK_IN_PLACE)
            low = min(low, _LOW_WATERMARK_IN_PLACE)
        most = high * budget
        if self.memory_limit is not None:
            most = min(most, edges_within(self.memory_limit, n_nodes))
        return most, min(low * budget, most / high * low)


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


def check_memory_limit(n_bytes, n_edges=None):
    """Return a memory limit in which a stream can begin, and keep the edges that are asked for.

    >>> check_memory_limit(2 * 10**9, n_edges=10**6)
    2000000000
    >>> check_memory_limit(10**9, n_edges=10**8)
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


def in_memory_bytes(n_nodes, n_edges):
    """Memory of a process that chooses a subgraph of a graph that it holds.

    >>> in_memory_bytes(10**6, 3 * 10**6) >> 20
    1587
    """
    return _BASE + _HELD_PER_NODE * n_nodes + _HELD_PER_EDGE * n_edges


def state_bytes(n_nodes, n_kept):
    """Size of a packed state, about."""
    return 20 * n_nodes + 12 * n_kept
