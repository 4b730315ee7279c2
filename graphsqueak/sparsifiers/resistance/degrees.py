"""Resistances from degrees, if a coarse sparsifier of the graph shows that they are accurate.

On a graph without bottlenecks r(u, v) is close to 1 / d_u + 1 / d_v. By Foster's theorem this holds
on average: sum_e w_e (1 / d_u + 1 / d_v) = n, and the true leverages sum to n minus the number of
components. Two tests check whether it holds for every edge.

*Size of the sketched part.* In r = (d_u + d_v - 2 w) / (d_u d_v) + rest (see `sketch`), the rests
have a total leverage of 2 sum_e w_e^2 / (d_u d_v) - 1. It is small if nodes have many neighbors.

*Coarse sparsifier.* A spanning forest and about six other edges per node, sampled by their degrees,
are a coarse sparsifier. Solving on it costs a fraction of solving on the graph. A convergence probe
b = D^(1/2) g of `sketch` has the solution x = L^+ b with

    E (x_u - x_v)^2 = sum_i (v_i(u) - v_i(v))^2 / l_i^2.

This is about 1 / d_u + 1 / d_v if no eigenvalue l_i of D^-1 L is small, and much larger, r / l,
across a cut with a small eigenvalue l. The first part is noise of the two nodes themselves. The
mean X = D^-1 A x over the neighbors of a node has 1 / l_i - 1 in place of 1 / l_i, and hardly any
of this noise. If |X_u - X_v|^2 is larger than noise explains, 10 % of it is added to the
resistance. This is more than enough, since the resistance is at most 1 / w. If the graph has
bottlenecks, degrees are not used. If few edges per node are kept, X = x: the noise then makes
sampling slightly more uniform, which preserves chains of nodes.

*Later graphs of a stream.* Resistances only decrease as edges are added. Degrees are always
current, and the leverages from them sum to n as long as the points of an earlier sketch add little.
So their sum shows whether these points are still valid (`leverages_fit`). On R-MAT graphs the sum
is 1.05 n when the graph has doubled.

*Accuracy.* If degrees are used, the leverage-weighted root mean square error of 1 / d_u + 1 / d_v
is a few percent: 0.4 on random graphs of mean degree 40 and 2.9 of 10, 3.9 and 7.8 on R-MAT graphs
of 46 and 20, 1.0 on neighbor graphs in three dimensions.
"""

import numba
import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import aligned_like, inverse_or_zero, multiply
from graphsqueak.sparsifiers.resistance.sketch import (
    ResistanceEmbedding,
    solve_random_rhs,
    squared_distance,
)
from graphsqueak.system.kernels import (
    parallel_njit,
    read_only_views,
    run_kernel,
)

# The figures below are leverage-weighted errors of resistances on a neighbor graph (30 neighbors,
# two dimensions), 4.5 % with the values given. Random graphs, block models and heavy-tailed
# graphs have 0.8 to 2.2 %, with no change unless noted.
#
# Edges per node that the coarse sparsifier samples. Halved 10.6 %, and 1.2 to 2.8 % on the other
# graphs; doubled 3.7 %.
_EDGES_PER_NODE = 6.0
# Fraction of |X_u - X_v|^2 that is added to the resistance. Halved 3.6 %, doubled 6.2 %.
_ADDED_FRACTION = 0.1
# |X_u - X_v|^2 below this multiple of 1 / d_u + 1 / d_v is noise. Four columns of noise exceed it
# on one of 2,000 edges. Halved 5.6 %, doubled 3.9 %. Without it, the error of streams on grids is
# 5 % larger.
_NOISE_FACTOR = 5.0
# Sum of all leverages, relative to Foster's theorem, up to which degrees determine resistances well
# enough. If a tolerance of 5 % replaces that of 10 %, random graphs of mean degree 20 are solved;
# with 20 %, the same graphs use degrees.
FOSTER_TOLERANCE = 1.1


def degree_sketch(edges, degrees, *, seed, ridge=0.0, is_averaged=True):
    """Return an embedding that corrects resistances from degrees; None if they are inaccurate.

    Parameters
    ----------
    edges : SampledEdges
        All edges; some may be parallel.
    degrees : ndarray
        Weighted degrees, including the ridge.
    seed : int
    ridge : float
        See `embed`.
    is_averaged : bool
        Whether points are averaged over neighbors. If not, they contain the noise of single nodes,
        and resistances are overestimated.

    Returns
    -------
    ResistanceEmbedding or None
        To be passed to `degree_resistances`.

    Examples
    --------
    In the complete graph of 100 nodes all resistances are 2 / 100:

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> graph = complete(100).to_edge_list()
    >>> edges = SampledEdges(graph.tail, graph.head, graph.weight, in_forest=graph.tail == 0)
    >>> degrees = np.full(100, 99.0)
    >>> points = degree_sketch(edges, degrees, seed=7).points / 2
    >>> float(degree_resistances(points, degrees, *edges[:3]).mean().round(3))
    0.02
    """
    inv_degree = inverse_or_zero(degrees).astype(np.float32)
    tail, head, weight, _ = edges
    # 2 sum_e w_e^2 / (d_u d_v)
    sketched_leverage = 2 * np.dot(weight * inv_degree[tail], weight * inv_degree[head])
    if sketched_leverage > (FOSTER_TOLERANCE - 1) * degrees.size:
        return None

    coarse = coarse_sparsifier(edges, inv_degree, edges_per_node=_EDGES_PER_NODE, seed=seed)
    solver = LaplacianSolver(coarse, ridge=ridge, random_state=seed)
    # The solver has a matrix of its own: the edges would only add to the peak memory of a stream.
    del coarse

    # Only the convergence probes are solved.
    no_columns = np.zeros((solver.matrix.n_nodes, 0), np.float32)
    solved = solve_random_rhs(solver, no_columns, seed=seed)
    points = solved.probe_solutions
    if is_averaged:
        points = _neighbor_means(solver.matrix, points)
    points = np.float32(np.sqrt(_ADDED_FRACTION)) * points
    embedding = ResistanceEmbedding(
        points, degrees, solved.mean_inverse_eigenvalue, solved.is_resolved
    )
    if embedding.has_bottlenecks or not embedding.is_resolved:
        return None
    return embedding


def degree_resistances(points, degrees, tail, head, weight):
    """Return the resistances of edges from degrees, corrected by the points of `degree_sketch`.

    Parameters
    ----------
    points : ndarray of shape (n_known, k)
        Points of the sketch, divided by sqrt(k). It may cover only the first nodes.
    degrees : ndarray
        Current degrees.
    tail, head, weight : ndarray
        The edges. Parallel edges are not added up.

    Returns
    -------
    ndarray
        In the precision of the weights, and at most 1 / w. It is 1 / w for nodes without a point.
    """
    resistance = np.empty(tail.size, weight.dtype)
    # Both numbers of a node in one cache line: 1 / d_u, and a bound on |X_u - X_v|^2 for any v.
    node_terms = np.zeros((degrees.size, 2), np.float32)
    node_terms[:, 0] = inverse_or_zero(degrees)
    node_terms[: len(points), 1] = 2 * np.einsum("uk,uk->u", points, points)
    run_kernel(
        _corrected_resistances,
        tail.size,
        *read_only_views(tail, head, weight),
        node_terms,
        points,
        resistance,
    )
    return resistance


def leverages_fit(resistance, weight, n_nodes):
    """Return whether the leverages of all edges sum to at most Foster's value, with a tolerance.

    A larger sum means that resistances are those of an earlier graph with fewer edges.

    >>> leverages_fit(np.full(6, 0.5), np.ones(6), 4), leverages_fit(np.ones(6), np.ones(6), 4)
    (True, False)
    """
    total = np.einsum("e,e->", resistance, weight, dtype=np.float64)
    return bool(total <= FOSTER_TOLERANCE * n_nodes)


def _neighbor_means(rows, points):
    """Return D^-1 A x, the mean of every node's neighbors, without the noise of the node itself."""
    product = aligned_like(points)
    multiply(rows.astype(points.dtype), points, product)
    # D^-1 A = I - D^-1 L
    return points - product * inverse_or_zero(rows.diagonal()).astype(np.float32)[:, None]


def coarse_sparsifier(edges, inv_degree, *, edges_per_node, seed):
    """Return a spanning forest and a sample of the other edges.

    Parameters
    ----------
    edges : SampledEdges
    inv_degree : ndarray
        1 / weighted degree.
    edges_per_node : float
        Edges to sample per node.
    seed : int
    """
    is_kept = np.empty(edges.n_edges, dtype=np.bool_)
    run_kernel(
        _sample_by_degrees,
        edges.n_edges,
        *read_only_views(*edges[:3]),
        inv_degree,
        edges_per_node,
        np.uint64(seed),
        is_kept,
    )
    tail, head, weight, in_forest = edges.select(np.flatnonzero(is_kept | edges.in_forest))
    weight = weight.astype(np.float64)
    probability = np.minimum(edges_per_node * weight * (inv_degree[tail] + inv_degree[head]), 1.0)
    probability[in_forest] = 1.0
    return EdgeList.from_validated(tail, head, weight / probability, inv_degree.size)


@parallel_njit
def _sample_by_degrees(tail, head, weight, inv_degree, scale, seed, sampled):
    """Sample edges with probabilities scale * w * (1 / d_u + 1 / d_v)."""
    for e in numba.prange(tail.size):
        probability = scale * weight[e] * (inv_degree[tail[e]] + inv_degree[head[e]])
        sampled[e] = uniform(seed, np.uint64(e), ITEM_WORD) < probability


@parallel_njit
def _corrected_resistances(tail, head, weight, node_terms, points, resistance):
    n_known = points.shape[0]
    for e in numba.prange(tail.size):
        u, v = tail[e], head[e]
        if u >= n_known or v >= n_known:
            resistance[e] = 1 / weight[e]
            continue
        r = node_terms[u, 0] + node_terms[v, 0]
        noise = _NOISE_FACTOR * _ADDED_FRACTION * r
        # The bound of each node shows for most edges that the points need not be read.
        if node_terms[u, 1] + node_terms[v, 1] > noise:
            distance = points.shape[1] * squared_distance(points, u, v)
            if distance > noise:
                r += distance
        resistance[e] = min(r, 1 / weight[e])
