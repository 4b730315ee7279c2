"""Sketch of effective resistances from a few linear solves.

With L = B^T W B and a matrix Q of independent random signs, one row per edge and k columns,

    Y = B^T W^(1/2) Q,     Z = L^+ Y,     E |Z_u - Z_v|^2 / k = r(u, v).

This is the sketch of [SS11, Section 4], with relative standard deviation at most sqrt(2 / k).
One step of the random walk P = D^-1 A reduces the noise at no cost. From
L^+ = D^-1 + D^-1 A D^-1 + P L^+ P^T (on differences of nodes of one component),

    r(u, v) = (d_u + d_v - 2 w_uv) / (d_u d_v)  +  (P^T b)^T L^+ (P^T b),     b = 1_u - 1_v.

The first term is known exactly. Only the second term, which is smaller, has to be sketched: it is
E |X_u - X_v|^2 / k with X = P Z = Z - D^-1 Y. On a dense graph hardly any noise is left; on a path
the noise is halved.

Precision
---------
Nodes are embedded in single precision if that is accurate enough, otherwise in double precision.
With a rounding unit u, three quantities must be below (e / u)^2 for a relative error of e:

- the ratio of the largest to the smallest weight: beyond it, sqrt(w) of light edges is lost in the
  sums of a right-hand side;
- the sum of 1 / l_i (see below): rounding perturbs a coordinate sqrt(l_i) g_i of a right-hand side
  by u;
- the ratio of |X_u|^2 / k to the smallest resistance, which is at least 1 / max d: rounding moves
  X_u by u |X_u|, and this must be small compared with |X_u - X_v|.

Stopping criterion
------------------
A right-hand side y = B^T W^(1/2) q has an independent sign on every edge, and potentials x = A^+ y.
Let l_i be the eigenvalues of D^-1 A, where D is the diagonal of A. In the eigenvectors, y has the
coordinates sqrt(l_i) g_i and x has g_i / sqrt(l_i), with uncorrelated g_i of variance 1. An error
x - x' of energy e^2 = (x - x')^T A (x - x') changes the potential difference along an edge of
resistance r by at most e sqrt(r). So the solver must make the absolute energy of the error small.

The residual |y - A x'| does not bound this energy. Across a bottleneck l_i is tiny, and so is the
coordinate sqrt(l_i) g_i of y, although the potentials across it make its edges important. A
residual of 1e-5 |y| does not detect one edge of weight 0.001 between two communities of 60,000
nodes.

*Convergence probes* detect it. These are right-hand sides D^(1/2) g with standard normal g, solved
together with y. A step of conjugate gradients multiplies eigenvector i by the same p(l_i) in all
columns, so the residual r of a probe and the error of x' have the same size:

    E r^T D^-1 r = sum_i p(l_i)^2 = E (x - x')^T A (x - x').

All columns are iterated until the residuals of the probes, in this norm, are below e. A bottleneck
is missed if its coordinate is below e in all four probes: the probability is about (0.8 e)^4.

References
----------
[SS11] Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
       40(6), 2011.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import DTypeLike

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import random_bits
from graphsqueak.solvers.backend_choice import (
    JacobiWatch,
    choose_factorization,
    choose_first_backend,
)
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import inverse_or_zero
from graphsqueak.sparsifiers.resistance.bounds import cut_bounds, terms_of_degrees
from graphsqueak.system.kernels import njit_cached, parallel_njit, read_only_views, run_kernel

# Columns by which convergence and bottlenecks are detected: one of them may miss a bottleneck by
# chance. Halved, the error of streams changes by -6 to +2 %.
_N_CONVERGENCE_PROBES = 4
# Relative error of potential differences: small compared with the noise of 8 to 32 columns. With
# 0.001, the errors of resistances from 2,000 columns are the same to four digits. Halved or
# doubled, the error of streams changes by -3 to +2 %.
_SOLVE_ERROR = 0.05
# Mean of 1 / l_i above which a few columns are too noisy across the bottlenecks of the graph.
# Without bounds from cuts, the error of random cuts in circuits is 8 % larger at 1.13 edges per
# node. Halved or doubled, streams of grids, neighbor graphs and weakly linked blocks are the same.
_BOTTLENECK_MEAN_INVERSE_EIGENVALUE = 4.0


class ResistanceEmbedding(NamedTuple):
    """Embedding of the nodes of a graph whose squared distances sketch resistances.

    Attributes
    ----------
    points : ndarray of shape (n_nodes, k)
        The matrix X.
    degree : ndarray of shape (n_nodes,)
        Weighted degrees d, including the ridge.
    mean_inverse_eigenvalue : float
        Mean of 1 / l_i over the eigenvalues of D^-1 L: near 1 on expanders, large if the graph has
        bottlenecks.
    is_resolved : bool
        Whether the precision was high enough for all bottlenecks.
    """

    points: np.ndarray
    degree: np.ndarray
    mean_inverse_eigenvalue: float
    is_resolved: bool = True

    @property
    def has_bottlenecks(self) -> bool:
        """Whether a few columns are too noisy across the sparsest cuts of the graph."""
        return self.mean_inverse_eigenvalue > _BOTTLENECK_MEAN_INVERSE_EIGENVALUE


class Potentials(NamedTuple):
    """Solutions of random right-hand sides.

    Attributes
    ----------
    points : ndarray of shape (n_nodes, k)
        Solutions of the given right-hand sides.
    probe_solutions : ndarray of shape (n_nodes, 4)
        Solutions of the convergence probes.
    mean_inverse_eigenvalue : float
        Mean of 1 / l_i. The sum of 1 / l_i is the expectation of b^T x for a convergence probe b
        and its solution x.
    is_resolved : bool
        Whether the precision was high enough for all bottlenecks.
    """

    points: np.ndarray
    probe_solutions: np.ndarray
    mean_inverse_eigenvalue: float
    is_resolved: bool


def precise_embedding(
    graph: EdgeList,
    *,
    n_probes: int,
    seed: int,
    ridge: float = 0.0,
) -> ResistanceEmbedding:
    """Embed the nodes of `graph` in the precision that its resistances need.

    Parameters
    ----------
    graph, n_probes, seed, ridge
        See `embed`.

    Examples
    --------
    A triangle whose weights span twelve decades needs double precision:

    >>> from graphsqueak.graph import EdgeList
    >>> for heaviest in (1e6, 1e12):
    ...     weight = np.array([1.0, 1.0, heaviest])
    ...     triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=weight)
    ...     embedding = precise_embedding(triangle, n_probes=8, seed=7)
    ...     print(embedding.points.dtype)
    float32
    float64
    """
    limit = _largest_range(np.float32)
    lightest = graph.weight.min(initial=np.inf)
    if graph.weight.max(initial=0.0) <= limit * lightest:
        embedding = embed(graph, n_probes=n_probes, seed=seed, ridge=ridge)
        squared_length = np.einsum("uk,uk->u", embedding.points, embedding.points)
        in_resistances = squared_length.max(initial=0.0) * embedding.degree.max(initial=0.0)
        if embedding.is_resolved and in_resistances <= limit * n_probes:
            return embedding
    return embed(graph, n_probes=n_probes, seed=seed, ridge=ridge, dtype=np.float64)


def _largest_range(dtype):
    """Return the largest ratio of squared quantities that this precision resolves."""
    return (_SOLVE_ERROR / np.finfo(dtype).eps) ** 2


def embed(
    graph: EdgeList,
    *,
    n_probes: int,
    seed: int,
    ridge: float = 0.0,
    dtype: DTypeLike = np.float32,
) -> ResistanceEmbedding:
    """Embed the nodes of `graph` so that squared distances are the sketched part of r.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges (`simplified`).
    n_probes : int
        Number k of random sign vectors.
    seed : int
        Key of the counter-based signs. The sign of an edge depends only on the seed, its two nodes
        and the column, not on its index or the number of threads.
    ridge : float
        The resistances are those of L + ridge I. This adds a ground node that is joined to every
        node with weight `ridge`; degrees, bounds and sketch are those of the larger graph.
    dtype : numpy dtype
        Precision of the solves.

    Returns
    -------
    ResistanceEmbedding

    Examples
    --------
    A path of three nodes has r = 1 on both edges; half of it is known exactly:

    >>> from graphsqueak.sources.synthetic.closed_forms import path
    >>> graph = path(3).to_edge_list()
    >>> embedding = embed(graph, n_probes=4000, seed=90210)
    >>> squared_distances(embedding.points, graph.tail, graph.head).round(1)
    array([0.5, 0.5])
    """
    degree = graph.degrees() + ridge
    rhs: np.ndarray = np.zeros((graph.n_nodes, n_probes), dtype=dtype)
    if ridge > 0:
        # Random signs of the edges to the ground node.
        rng = np.random.default_rng(seed)
        rhs += np.sqrt(ridge) * rng.choice((-1.0, 1.0), size=rhs.shape)
    solver = LaplacianSolver(graph, ridge=ridge, random_state=seed)
    rows = solver.matrix
    n_steps = rows.weight.size * n_probes
    run_kernel(
        _add_random_rhs, n_steps, rows.start, rows.neighbor, rows.weight, np.uint64(seed), rhs
    )
    solved = solve_random_rhs(solver, rhs, seed=seed)

    # X = Z - D^-1 Y. An isolated node stays at the origin.
    points = solved.points
    points -= rhs * inverse_or_zero(degree)[:, None].astype(dtype)
    return ResistanceEmbedding(points, degree, solved.mean_inverse_eigenvalue, solved.is_resolved)


def solve_random_rhs(solver: LaplacianSolver, rhs: np.ndarray, *, seed: int) -> Potentials:
    """Solve A x = y for random y.

    The error of a potential difference along an edge is at most about 5 % of the square root of the
    edge's resistance.

    Parameters
    ----------
    solver : LaplacianSolver
        Solver of the graph with its ridge; its `tol` is not used.
    rhs : ndarray of shape (n_nodes, k)
        Right-hand sides B^T W^(1/2) q with random signs q of all edges, including those to the
        ground node (the ridge). The solve is done in their dtype.
    seed : int
        Seed of the convergence probes.

    Examples
    --------
    Two triangles joined by an edge of weight 1e-6. The potential difference is current / weight:

    >>> from graphsqueak.graph import EdgeList
    >>> tail, head = [0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3]
    >>> graph = EdgeList(tail=tail, head=head, weight=[1.0] * 6 + [1e-6])
    >>> rhs = np.array([[1e-3], [0.0], [0.0], [-1e-3], [0.0], [0.0]])
    >>> points = solve_random_rhs(LaplacianSolver(graph), rhs, seed=90210).points
    >>> (points[0] - points[3]).round(2)
    array([1000.])
    """
    rhs = solver.centered(rhs)
    n_nodes, n_columns = rhs.shape
    diagonal = solver.matrix.diagonal()
    # Convergence probes: D^(1/2) g with standard normal g.
    noise = np.random.default_rng(seed).standard_normal((n_nodes, _N_CONVERGENCE_PROBES))
    probes = solver.centered((np.sqrt(diagonal)[:, None] * noise).astype(rhs.dtype))
    block = np.concatenate([rhs, probes], axis=1)
    # The given right-hand sides have no target: the probes alone decide when to stop.
    target = np.repeat([-1.0, _SOLVE_ERROR], [n_columns, _N_CONVERGENCE_PROBES])
    solved = _solve_block(solver, block, target=target)
    points = np.ascontiguousarray(solved[:, :n_columns])
    probe_solutions = np.ascontiguousarray(solved[:, n_columns:])

    inverse_eigenvalue_sum = np.einsum("uk,uk->k", probes, probe_solutions).mean()
    return Potentials(
        points=points,
        probe_solutions=probe_solutions,
        mean_inverse_eigenvalue=float(inverse_eigenvalue_sum) / max(n_nodes, 1),
        is_resolved=bool(inverse_eigenvalue_sum <= _largest_range(rhs.dtype)),
    )


def _solve_block(solver, block, *, target):
    """Solve all columns, with Jacobi first if that may be enough, else with a factorization."""
    # The probes have residuals of about sqrt(n_nodes) at the start.
    n_digits = np.log10(np.sqrt(max(len(block), 1)) / _SOLVE_ERROR)
    size = solver.problem_size(block.shape[1], n_digits=n_digits)
    backend = choose_first_backend(size)
    watch = JacobiWatch(size) if backend == "jacobi" else None
    solved = _iterate(solver, backend, block, target, watch)
    if watch is not None and watch.has_stopped:
        solved = _iterate(solver, choose_factorization(size), block, target, None)
    return solved


def _iterate(solver, backend, block, target, watch):
    """Return the solutions of a block by the named backend."""
    matrix, order, precondition = solver.backend(backend)
    residual = block.copy() if order is None else block[order]
    solved = np.zeros_like(residual)
    conjugate_gradient(
        matrix.astype(block.dtype),
        residual,
        solved,
        precondition=precondition,
        target=target,
        max_iter=solver.max_iter,
        watch=watch,
        by_degree=True,
    )
    if order is not None:
        permuted = solved
        solved = np.empty_like(permuted)
        solved[order] = permuted
    return solver.centered(solved)


def squared_distances(points: np.ndarray, tail: np.ndarray, head: np.ndarray) -> np.ndarray:
    """Return |X_u - X_v|^2 / k for pairs of nodes, the sketched part of their resistances."""
    distance = np.empty(tail.size)
    run_kernel(_squared_distances, tail.size * points.shape[1], points, tail, head, distance)
    return distance


def sketch_resistances(
    embedding: ResistanceEmbedding, tail: np.ndarray, head: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the sketched resistances of all edges of the graph, clipped to their bounds.

    Parameters
    ----------
    embedding : ResistanceEmbedding
    tail, head, weight : ndarray
        All edges of the embedded graph.
    """
    resistance = np.empty(tail.size)
    n_steps = tail.size * embedding.points.shape[1]
    run_kernel(
        _clipped_resistances,
        n_steps,
        embedding.points,
        embedding.degree,
        *read_only_views(tail, head, weight),
        resistance,
    )
    if embedding.has_bottlenecks:
        # All edges of a bottleneck share the noise of the sketch there. The bounds have no noise.
        lower = cut_bounds(tail, head, weight, embedding.degree.size)
        np.maximum(resistance, lower, out=resistance)
    return resistance


@parallel_njit
def _add_random_rhs(start, neighbor, weight, seed, rhs):
    """Add Y = B^T W^(1/2) Q to `rhs`: each node sums over its own edges.

    One word of random bits, a function of the two nodes, holds the signs of 32 columns.
    """
    n_probes = rhs.shape[1]
    for u in numba.prange(start.size - 1):
        row = rhs[u]
        for e in range(start[u], start[u + 1]):
            v = neighbor[e]
            # Both ends use the same random bits, with opposite signs.
            entry = rhs.dtype.type(np.sqrt(weight[e]) if u < v else -np.sqrt(weight[e]))
            low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
            # 32 of the 64 random bits, so that the compiler vectorizes the inner loop.
            for first in range(0, n_probes, 32):
                signs = np.uint32(random_bits(seed + np.uint64(first), low, high))
                for k in range(min(32, n_probes - first)):
                    bit = np.int32((signs >> np.uint32(k)) & np.uint32(1))
                    row[first + k] += entry * np.float32(2 * bit - 1)


@njit_cached(inline="always")
def squared_distance(points, u, v):
    """Return |X_u - X_v|^2 / k."""
    total = 0.0
    for k in range(points.shape[1]):
        step = points[u, k] - points[v, k]
        total += step * step
    return total / points.shape[1]


@parallel_njit
def _squared_distances(points, tail, head, distance):
    for e in numba.prange(tail.size):
        distance[e] = squared_distance(points, tail[e], head[e])


@parallel_njit
def _clipped_resistances(points, degree, tail, head, weight, resistance):
    for e in numba.prange(tail.size):
        known, lower, upper = terms_of_degrees(degree[tail[e]], degree[head[e]], weight[e])
        r = known + squared_distance(points, tail[e], head[e])
        resistance[e] = min(max(r, lower), upper)
