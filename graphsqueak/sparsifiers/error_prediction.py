"""Predicted error of sampling, from the leverages of the edges.

Edge e, with weight w and leverage t = w r, is kept with probability p = min(1, c t) and reweighted
to w / p. The scale c makes the probabilities sum to the number of edges. Whitened by L_G^(-1/2), an
edge is a matrix of norm t, and its sampled multiple has a variance of
(1 / p - 1) t = max(1 / c - t, 0) times that matrix. For the indicator vector x of node u these
variances sum to

    V_u = sum_v (w_uv / d_u) max(1 / c - t_uv, 0).

A symmetric random matrix whose rows have variance V / 2 each way, with preserved degrees, has its
spectrum within 2 sqrt(V / 2) (semicircle law). So the error is

    eps = sqrt(2 V),

where V is the 99 % quantile over the nodes. On a dense graph this is 2 / sqrt(d) for the mean
degree d of the result. It is less if a large fraction of the edges is kept: edges with c t >= 1,
which are most edges of sparse graphs, are kept unchanged and add no error. Below c = 4 a spanning
forest is kept unchanged, and c is the scale of the other edges.

With few edges the error is that of single edges, whose leverage after sampling is 1 / c, nearly V.
So from eps = 1, where both formulas agree,

    eps = 2 V.

On the graphs of `benchmarks/bench_forecast.py` the measured error is 0.9 to 1.2 times the predicted
one if that is below 1, and mostly 0.5 to 2 times if it is larger.
"""

import math
from typing import NamedTuple

import numpy as np

from graphsqueak.graph.forest import add_degrees
from graphsqueak.sampling import find_scale
from graphsqueak.system.kernels import read_only_views

# Sampling scale c from which a spanning forest need not be kept in the final sample: a cut is empty
# with probability exp(-c), 2 % at 4.
MIN_SCALE_WITHOUT_FOREST = 4.0
# Quantile of V_u over the nodes: the maximum would depend on single nodes. With 2 or 0.5 % of the
# nodes above it instead of 1 %, predictions change by 0.5 %, and by 5 % on a grid.
_NODE_QUANTILE = 0.99
# More edges than this are subsampled, and V is their mean: an edge takes 50 bytes of memory. The
# size of the sample changes predictions by 0.1 %. The mean instead of the quantile lowers them, by
# 10 % on a graph with heavy-tailed degrees.
_MAX_EDGES = 2**22
# Error that is suggested if the error of a result is larger: any cut then has at least half of its
# weight. Two cuts change relative to each other by at most kappa = 3, (1 + error) / (1 - error),
# which preserves clusters. Only messages depend on it.
GOOD_ERROR = 0.5
# Points of a curve, from a spanning forest to all edges, and at most as many near epsilon. Each
# takes about 3 % of the time of a finalization without solves.
_N_CURVE_POINTS = 6


def sampling_error(edges, resistance, n_edges, *, n_nodes, n_seen=None):
    """Return the predicted error of sampling edges to `n_edges`.

    Parameters
    ----------
    edges : SampledEdges
    resistance : ndarray
        Resistance of every edge.
    n_edges, n_nodes : int
    n_seen : int, optional
        Number of edges of the stream, if the given edges are a sample of it. Edges that were
        dropped before are assumed to have had the mean leverage of all edges.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> graph = complete(100).to_edge_list()
    >>> edges = SampledEdges(graph.tail, graph.head, graph.weight, np.zeros(4950, dtype=bool))
    >>> round(sampling_error(edges, np.full(4950, 2 / 100), 990, n_nodes=100), 2)
    0.4
    """
    if edges.n_edges <= n_edges:
        return 0.0
    step = -(-edges.n_edges // _MAX_EDGES)
    tail, head, weight, in_forest = edges.select(slice(None, None, step))
    n_edges = n_edges / step
    leverage = np.minimum(weight * resistance[::step], 1.0)
    scale = find_scale(leverage, n_edges)
    is_sampled = np.ones(tail.size, dtype=np.bool_)
    if scale < MIN_SCALE_WITHOUT_FOREST:
        is_sampled = ~in_forest
        # At least half an edge: dropping the only edge outside a forest has an error.
        n_sampled = max(n_edges - np.count_nonzero(in_forest), 0.5)
        scale = find_scale(leverage[is_sampled], n_sampled)
    is_sampled &= leverage * scale < 1
    n_sampled = np.count_nonzero(is_sampled)
    if n_seen is not None and n_sampled:
        # Earlier sampling raised the leverage of the edges that are left.
        n_before = max(n_seen / step - (tail.size - n_sampled), n_sampled)
        leverage = np.minimum(leverage, leverage[is_sampled].sum() / n_before)
    variance = np.where(is_sampled, weight * np.maximum(1 / scale - leverage, 0.0), 0.0)
    if step > 1:
        return error_for_variance(float(variance.sum() / weight.sum()))
    summed_variance = np.zeros(n_nodes)
    degree = np.zeros(n_nodes)
    add_degrees(summed_variance, *read_only_views(tail, head, variance))
    add_degrees(degree, *read_only_views(tail, head, weight))
    has_edges = degree > 0
    node_variance = summed_variance[has_edges] / degree[has_edges]
    return error_for_variance(float(np.quantile(node_variance, _NODE_QUANTILE)))


def error_for_variance(variance: float) -> float:
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


def sampling_error_curve(edges, resistance, *, epsilon, n_nodes, n_seen=None, known=None):
    """Return `sampling_error` as a function of the number of edges.

    Parameters
    ----------
    edges, resistance, n_nodes, n_seen
        See `sampling_error`.
    epsilon : float
        The curve is exact near this error, and interpolated between a few points elsewhere.
    known : (int, float), optional
        A number of edges and its error, if only more edges are of interest: the curve begins there,
        and takes a quarter of the time. The number of edges for `epsilon` is mostly within 4 %.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> graph = complete(100).to_edge_list()
    >>> edges = SampledEdges(graph.tail, graph.head, graph.weight, np.zeros(4950, dtype=bool))
    >>> curve = sampling_error_curve(edges, np.full(4950, 2 / 100), epsilon=0.4, n_nodes=100)
    >>> curve.edges_for(0.4), curve.edges_for(0.0)
    (990, 4950)
    """

    def error_of(n_edges):
        return sampling_error(edges, resistance, n_edges, n_nodes=n_nodes, n_seen=n_seen)

    size = edges.n_edges
    fewest = min(np.count_nonzero(edges.in_forest) + 1, size)
    # Without earlier losses, all edges have no error. After them, all edges that are left have the
    # error of the sampling so far, and only the whole stream would have none.
    most = size if n_seen is None else max(size - 1, fewest)
    if known is None:
        n_steps = _N_CURVE_POINTS
        points = {n: error_of(n) for n in np.geomspace(fewest, most, _N_CURVE_POINTS)}
    else:
        n_steps = _N_CURVE_POINTS // 3
        points = dict([known]) | {most: error_of(most)}
    if n_seen is not None:
        points[max(n_seen, size)] = 0.0
    for _ in range(n_steps):
        # Secant steps towards epsilon.
        n_edges = _curve_through(points).edges_for(epsilon)
        if n_edges in points or not fewest <= n_edges <= most:
            break
        points[n_edges] = error_of(n_edges)
    return _curve_through(points)


def _curve_through(points):
    """Return the curve through points {number of edges: error}; errors never grow with edges."""
    n_edges = sorted(points)
    error = np.minimum.accumulate([points[n] for n in n_edges])
    return ErrorCurve(np.array(n_edges, dtype=np.float64), error)
