"""Effective resistances of all edges from a few linear solves.

With L = B^T W B and a matrix Q of independent random signs, one row per edge and k columns,

    Y = B^T W^(1/2) Q,     Z = L^+ Y,     E |Z_u - Z_v|^2 / k = r(u, v),

which is the sketch of [SS11, Section 4], of relative standard deviation at most sqrt(2 / k).
One step of the random walk P = D^-1 A lowers that noise for nothing. From
L^+ = D^-1 + D^-1 A D^-1 + P L^+ P^T (on differences of nodes of one component),

    r(u, v) = (d_u + d_v - 2 w_uv) / (d_u d_v)  +  (P^T b)^T L^+ (P^T b),     b = 1_u - 1_v,

where the first term is known exactly and only the second, which is smaller, has to be sketched:
it is E |X_u - X_v|^2 / k with X = P Z = Z - D^-1 Y. On a dense graph nearly nothing is left to
chance; on a path the noise is halved.

Nodes are embedded in single precision where that is enough, in double precision where it is not.
Two points X_u, X_v are each off by about 6e-8 of their length, which matters where a heavy edge
brings them close together far from the origin: |X_u - X_v|^2 is then off by 2 |X_u - X_v| e + e^2.
Where the degrees alone settle the resistance, that does not count.

References
----------
[SS11] Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
       40(6), 2011.
"""

import warnings
from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.randomness import random_bits
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.system.threads import run

__all__ = [
    "Embedding",
    "embed",
    "precise_embedding",
    "resistance_bounds",
    "sketch_parts",
    "sketch_resistances",
]

_ENOUGH = 1e-4  # relative residual that still makes a useful sketch
_FINE_TOL = 1e-8  # of solves in double precision
_SINGLE = 6e-8  # rounding of single precision
_SINGLE_SPAN = 1e10  # of weights w: beyond it flows sqrt(w) drown in the rounding of others
_BLUR = 0.1  # relative error of a resistance, small beside that of few probes


class Embedding(NamedTuple):
    """Points X (n_nodes, k) and weighted degrees d of a graph: all that a sketch remembers."""

    points: np.ndarray
    degree: np.ndarray


def embed(graph, *, n_probes, seed, ridge=0.0, tol=1e-6, dtype=np.float32):
    """Embed the nodes of `graph` so that squared distances are what is left to sketch of r.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges (`simplified`).
    n_probes : int
        Number k of random sign vectors.
    seed : int
        Key of the counter-based signs: the sign of an edge depends on (seed, its two nodes,
        column) only, not on its index, nor on threads.
    ridge : float
        For r(gamma), with L + gamma I in place of L: a ground node joined to every node by weight
        gamma, so that degrees, bounds and sketch are those of the larger graph.
    tol : float
        Relative residual of the solves. It has to be small: the flow across the bridge of two large
        cliques is a tiny share of Y, and all of the resistance of the bridge.

    Returns
    -------
    Embedding

    Examples
    --------
    A path of three nodes has r = 1 on both edges; half of it is known beforehand:

    >>> from graphsqueak.sources.synthetic.closed_forms import path
    >>> graph = path(3).to_edge_list()
    >>> sketch = embed(graph, n_probes=4000, seed=90210)
    >>> known, left = sketch_parts(sketch, graph.tail, graph.head, graph.weight)
    >>> known, left.round(1)
    (array([0.5, 0.5]), array([0.5, 0.5]))
    """
    degree = graph.degrees() + ridge
    rhs = np.zeros((graph.n_nodes, n_probes), dtype=dtype)
    if ridge > 0:
        rng = np.random.default_rng(seed)
        rhs += np.sqrt(ridge) * rng.choice((-1.0, 1.0), size=rhs.shape)
    solver = LaplacianSolver(graph, ridge=ridge, tol=tol, random_state=seed)
    rows = solver.rows
    work = rows.weight.size * n_probes
    run(_random_flows, work, rows.start, rows.neighbor, rows.weight, np.uint64(seed), rhs)
    points = _solve(solver, rhs)
    scale = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    points -= rhs * scale[:, None].astype(dtype)
    return Embedding(points, degree)


def sketch_parts(sketch, tail, head, weight):
    """The exactly known and the sketched part of r(tail, head), nodes joined by `weight`."""
    known, left = np.empty(tail.size), np.empty(tail.size)
    work = tail.size * sketch.points.shape[1]
    run(_parts, work, *sketch, tail, head, weight, known, left)
    return known, left


def sketch_resistances(sketch, tail, head, weight, *, clamp):
    """r(tail, head), kept within its bounds if `clamp`."""
    out = np.empty(tail.size)
    work = tail.size * sketch.points.shape[1]
    run(_resistances, work, *sketch, tail, head, weight, clamp, out)
    return out


def resistance_bounds(degree_tail, degree_head, weight):
    """Bounds on r(u, v) from the degrees and the (summed) weight w between the two nodes.

    Shorting all other nodes together lowers r, deleting all other edges raises it:
    (d_u + d_v - 2 w) / (d_u d_v - w^2) <= r <= 1 / w.

    >>> resistance_bounds(np.array([2.0]), np.array([2.0]), np.array([1.0]))  # a triangle: 2/3
    (array([0.66666667]), array([1.]))
    """
    lower, upper = np.empty(weight.size), np.empty(weight.size)
    _bounds(degree_tail, degree_head, weight, lower, upper)
    return lower, upper


def _solve(solver, rhs):
    """Solve as far as rounding allows; warn only if that is too little for a sketch.

    Flows sum to zero; heavy ones that cancel leave rounding behind, which is taken away.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        points = solver.solve(solver.centered(rhs))
    for warning in caught:
        if solver.residual_ > _ENOUGH:
            warnings.warn(warning.message, stacklevel=3)
    return points


def precise_embedding(graph, tail, head, weight, *, n_probes, seed, ridge=0.0, tol):
    """The embedding of `graph` (see `embed`) by which to tell the resistances of some pairs.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    tail, head, weight : arrays
        The pairs, and the weight of the edge between each, 0 where there is none.
    n_probes, seed, ridge
        Arguments of `embed`.
    tol : float
        Of the solves in single precision.

    Examples
    --------
    A triangle whose weights span twelve digits is too much for single precision:

    >>> from graphsqueak.graph import EdgeList
    >>> for heaviest in (1e6, 1e12):
    ...     weight = np.array([1.0, 1.0, heaviest])
    ...     triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=weight)
    ...     ends = (triangle.tail, triangle.head, weight)
    ...     print(precise_embedding(triangle, *ends, tol=1e-6, n_probes=8, seed=7).points.dtype)
    float32
    float64
    """
    if graph.weight.max(initial=0.0) <= _SINGLE_SPAN * graph.weight.min(initial=np.inf):
        sketch = embed(graph, n_probes=n_probes, seed=seed, ridge=ridge, tol=tol)
        if not _is_blurred(sketch, tail, head, weight):
            return sketch
    return embed(graph, n_probes=n_probes, seed=seed, ridge=ridge, tol=_FINE_TOL, dtype=np.float64)


def _is_blurred(sketch, tail, head, weight):
    """Whether rounding to single precision shows in some resistance."""
    length = np.einsum("uk,uk->u", sketch.points, sketch.points, dtype=np.float64)
    length *= _SINGLE**2 / sketch.points.shape[1]
    least = 1 / sketch.degree.max(initial=1.0)  # no resistance is smaller
    if 2 * length.max(initial=0.0) <= _BLUR**2 / 5 * least:  # then e + 2 sqrt(r e) <= _BLUR r
        return False
    known, left = sketch_parts(sketch, tail, head, weight)
    error = length[tail] + length[head]
    error += 2 * np.sqrt(left * error)
    lower, upper = resistance_bounds(sketch.degree[tail], sketch.degree[head], weight)
    open_to_doubt = upper > (1 + _BLUR) * lower
    return bool((open_to_doubt & ~(error <= _BLUR * (known + left))).any())


@numba.njit(cache=True, nogil=True, parallel=True)
def _random_flows(start, neighbor, weight, seed, rhs):
    """Add Y = B^T W^(1/2) Q to `rhs`: each node gathers the flows of its edges.

    One word of random bits, a function of the two nodes, holds the signs of 64 columns.
    """
    n_probes = rhs.shape[1]
    for u in numba.prange(start.size - 1):
        own = rhs[u]
        for e in range(start[u], start[u + 1]):
            v = neighbor[e]
            flow = rhs.dtype.type(np.sqrt(weight[e]) if u < v else -np.sqrt(weight[e]))
            low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
            for word in range((n_probes + 63) // 64):
                bits = random_bits(seed + np.uint64(word), low, high)
                for half in range(2):
                    first = 64 * word + 32 * half
                    signs = np.uint32(bits >> np.uint64(32 * half))
                    for k in range(min(32, n_probes - first)):
                        bit = np.int32((signs >> np.uint32(k)) & np.uint32(1))
                        own[first + k] += flow * np.float32(2 * bit - 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _known(d_u, d_v, w):
    return 1 / d_u + 1 / d_v - 2 * (w / d_u) / d_v


@numba.njit(cache=True, nogil=True, inline="always")
def _left(points, u, v):
    total = 0.0
    for k in range(points.shape[1]):
        step = points[u, k] - points[v, k]
        total += step * step
    return total / points.shape[1]


@numba.njit(cache=True, nogil=True, inline="always")
def _bound(d_u, d_v, w):
    """Lower and upper bound, in units of w: (x + y - 2) / (x y - 1) cannot overflow."""
    if w == 0.0:
        return 1 / d_u + 1 / d_v, np.inf
    x, y = d_u / w, d_v / w
    if x * y <= 1 + 1e-12:  # the edge is a component by itself
        return 1 / w, 1 / w
    return min((x + y - 2) / (x * y - 1), 1.0) / w, 1 / w


@numba.njit(cache=True, nogil=True)
def _bounds(degree_tail, degree_head, weight, lower, upper):
    for e in range(weight.size):
        lower[e], upper[e] = _bound(degree_tail[e], degree_head[e], weight[e])


@numba.njit(cache=True, nogil=True, parallel=True)
def _parts(points, degree, tail, head, weight, known, left):
    for e in numba.prange(tail.size):
        known[e] = _known(degree[tail[e]], degree[head[e]], weight[e])
        left[e] = _left(points, tail[e], head[e])


@numba.njit(cache=True, nogil=True, parallel=True)
def _resistances(points, degree, tail, head, weight, clamp, out):
    for e in numba.prange(tail.size):
        d_u, d_v, w = degree[tail[e]], degree[head[e]], weight[e]
        r = _known(d_u, d_v, w) + _left(points, tail[e], head[e])
        if clamp:
            lower, upper = _bound(d_u, d_v, w)
            r = min(max(r, lower), upper)
        out[e] = r
