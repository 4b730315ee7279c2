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
Rounding moves X_u and X_v by about e = 6e-8 of their length. This matters if a heavy edge brings
two points close together far from the origin: |X_u - X_v|^2 then has an error of
2 |X_u - X_v| e + e^2. It does not matter if the degree bounds already determine the resistance.

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
from graphsqueak.sparsifiers.resistance.bounds import cut_bounds, degree_bound, resistance_bounds
from graphsqueak.system.kernels import njit_cached, parallel_njit, read_only_views, run_kernel

__all__ = [
    "Embedding",
    "Potentials",
    "embed",
    "precise_embedding",
    "sketch_parts",
    "sketch_resistances",
    "solve_random_rhs",
    "squared_distance",
]

_N_CONVERGENCE_PROBES = 4
# Conjugate gradients with a factorization converge in tens of iterations; this ends broken runs.
_MAX_ITER = 2000
# Relative error of potential differences: small compared with the noise of 8 to 32 columns.
_DEFAULT_ERROR = 0.05
# Rounding to single precision perturbs a coordinate sqrt(l_i) g_i of a right-hand side by its unit
# u. All bottlenecks are resolved if sum_i 1 / l_i is below (error / 5 u)^2, rounded up here.
_MAX_INVERSE_EIGENVALUE_SUM_IN_SINGLE = 1e11
# Mean of 1 / l_i above which a few columns are too noisy across the bottlenecks of the graph.
_BOTTLENECK_MEAN_INVERSE_EIGENVALUE = 4.0
# Largest ratio of weights w in single precision: beyond it, sqrt(w) of light edges is lost in the
# rounding of heavy ones.
_MAX_WEIGHT_RATIO_IN_SINGLE = 1e10
# Relative error of a resistance that rounding may cause: small compared with the noise.
_MAX_ROUNDING_ERROR = 0.1


class Embedding(NamedTuple):
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
        Mean of 1 / l_i. The sum of 1 / l_i is the expectation of x^T D x for a solution x, and
        that of b^T x for a probe b and its solution x; the larger estimate is used.
    is_resolved : bool
        Whether the precision was high enough for all bottlenecks.
    """

    points: np.ndarray
    probe_solutions: np.ndarray
    mean_inverse_eigenvalue: float
    is_resolved: bool


def precise_embedding(
    graph: EdgeList,
    tail: np.ndarray,
    head: np.ndarray,
    weight: np.ndarray,
    *,
    n_probes: int,
    seed: int,
    ridge: float = 0.0,
    error: float = _DEFAULT_ERROR,
) -> Embedding:
    """Embed the nodes of `graph` in the precision that the resistances of the given pairs need.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    tail, head : ndarray
        Node pairs.
    weight : ndarray
        Weight of the edge between each pair, 0 if there is none.
    n_probes, seed, ridge, error
        See `embed`.

    Examples
    --------
    A triangle whose weights span twelve decades needs double precision:

    >>> from graphsqueak.graph import EdgeList
    >>> for heaviest in (1e6, 1e12):
    ...     weight = np.array([1.0, 1.0, heaviest])
    ...     triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=weight)
    ...     embedding = precise_embedding(
    ...         triangle, triangle.tail, triangle.head, weight, n_probes=8, seed=7
    ...     )
    ...     print(embedding.points.dtype)
    float32
    float64
    """
    lightest = graph.weight.min(initial=np.inf)
    if graph.weight.max(initial=0.0) <= _MAX_WEIGHT_RATIO_IN_SINGLE * lightest:
        embedding = embed(graph, n_probes=n_probes, seed=seed, ridge=ridge, error=error)
        if embedding.is_resolved and not _has_rounding_errors(embedding, tail, head, weight):
            return embedding
    return embed(graph, n_probes=n_probes, seed=seed, ridge=ridge, error=error, dtype=np.float64)


def embed(
    graph: EdgeList,
    *,
    n_probes: int,
    seed: int,
    ridge: float = 0.0,
    error: float = _DEFAULT_ERROR,
    dtype: DTypeLike = np.float32,
) -> Embedding:
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
    error : float
        Relative error of the solves, for the potential difference of every edge.
    dtype : numpy dtype
        Precision of the solves.

    Returns
    -------
    Embedding

    Examples
    --------
    A path of three nodes has r = 1 on both edges; half of it is known exactly:

    >>> from graphsqueak.sources.synthetic.closed_forms import path
    >>> graph = path(3).to_edge_list()
    >>> embedding = embed(graph, n_probes=4000, seed=90210)
    >>> known, sketched = sketch_parts(embedding, graph.tail, graph.head, graph.weight)
    >>> known, sketched.round(1)
    (array([0.5, 0.5]), array([0.5, 0.5]))
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
    solved = solve_random_rhs(solver, rhs, seed=seed, error=error)

    # X = Z - D^-1 Y. An isolated node stays at the origin.
    points = solved.points
    inv_degree = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    points -= rhs * inv_degree[:, None].astype(dtype)
    return Embedding(points, degree, solved.mean_inverse_eigenvalue, solved.is_resolved)


def solve_random_rhs(
    solver: LaplacianSolver, rhs: np.ndarray, *, seed: int, error: float = _DEFAULT_ERROR
) -> Potentials:
    """Solve A x = y for random y, until the error has an energy of `error`^2.

    Parameters
    ----------
    solver : LaplacianSolver
        Solver of the graph with its ridge; its `tol` is not used.
    rhs : ndarray of shape (n_nodes, k)
        Right-hand sides B^T W^(1/2) q with random signs q of all edges, including those to the
        ground node (the ridge). The solve is done in their dtype.
    seed : int
        Seed of the convergence probes.
    error : float
        Bound on the error of a potential difference along an edge, relative to the square root of
        the edge's resistance.

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
    probes = _convergence_probes(solver, diagonal, dtype=rhs.dtype, seed=seed)
    block = np.concatenate([rhs, probes], axis=1)
    # The given right-hand sides have no target: the probes alone decide when to stop.
    target = np.repeat([-1.0, error], [n_columns, _N_CONVERGENCE_PROBES])
    solved = _solve_block(solver, block, target=target, error=error)
    points = np.ascontiguousarray(solved[:, :n_columns])
    probe_solutions = np.ascontiguousarray(solved[:, n_columns:])

    inverse_eigenvalue_sum = np.einsum("uk,uk->k", probes, probe_solutions).mean()
    if n_columns:
        from_points = np.einsum("uk,uk,u->k", points, points, diagonal).mean()
        inverse_eigenvalue_sum = max(inverse_eigenvalue_sum, from_points)
    is_resolved = (
        rhs.dtype == np.float64 or inverse_eigenvalue_sum <= _MAX_INVERSE_EIGENVALUE_SUM_IN_SINGLE
    )
    return Potentials(
        points=points,
        probe_solutions=probe_solutions,
        mean_inverse_eigenvalue=float(inverse_eigenvalue_sum) / max(n_nodes, 1),
        is_resolved=bool(is_resolved),
    )


def _convergence_probes(solver, diagonal, *, dtype, seed):
    """Return the right-hand sides D^(1/2) g with standard normal g."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((diagonal.size, _N_CONVERGENCE_PROBES))
    return solver.centered((np.sqrt(diagonal)[:, None] * noise).astype(dtype))


def _solve_block(solver, block, *, target, error):
    """Solve all columns, with Jacobi first if that may be enough, else with a factorization."""
    # The probes have residuals of about sqrt(n_nodes) at the start, and `error` at the end.
    n_digits = np.log10(np.sqrt(max(len(block), 1)) / error)
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
        max_iter=_MAX_ITER,
        watch=watch,
        by_degree=True,
    )
    if order is not None:
        permuted = solved
        solved = np.empty_like(permuted)
        solved[order] = permuted
    return solver.centered(solved)


def sketch_parts(
    embedding: Embedding, tail: np.ndarray, head: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exactly known and the sketched part of r(tail, head).

    Parameters
    ----------
    embedding : Embedding
    tail, head : ndarray
        Node pairs.
    weight : ndarray
        Weight of the edge between each pair, 0 if there is none.
    """
    known = np.empty(tail.size)
    sketched = np.empty(tail.size)
    n_steps = tail.size * embedding.points.shape[1]
    run_kernel(
        _resistance_parts,
        n_steps,
        embedding.points,
        embedding.degree,
        tail,
        head,
        weight,
        known,
        sketched,
    )
    return known, sketched


def sketch_resistances(
    embedding: Embedding, tail: np.ndarray, head: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the sketched resistances of all edges of the graph, clipped to their bounds.

    Parameters
    ----------
    embedding : Embedding
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


def _has_rounding_errors(embedding, tail, head, weight):
    """Return whether rounding to single precision changes some resistance noticeably."""
    # `rounding` is the squared rounding error of a point, in units of r.
    rounding = np.einsum("uk,uk->u", embedding.points, embedding.points, dtype=np.float64)
    unit = float(np.finfo(np.float32).eps) / 2
    rounding *= unit**2 / embedding.points.shape[1]
    # No resistance is below 1 / max degree. If e is at most a fifth of the allowed error squared
    # times r, then e + 2 sqrt(r e) is at most the allowed error times r.
    least_resistance = 1 / embedding.degree.max(initial=1.0)
    if 2 * rounding.max(initial=0.0) <= _MAX_ROUNDING_ERROR**2 / 5 * least_resistance:
        return False
    known, sketched = sketch_parts(embedding, tail, head, weight)
    error = rounding[tail] + rounding[head]
    error += 2 * np.sqrt(sketched * error)
    lower, upper = resistance_bounds(embedding.degree[tail], embedding.degree[head], weight)
    # Resistances are clipped to their bounds: between close bounds no error is left.
    depends_on_sketch = upper > (1 + _MAX_ROUNDING_ERROR) * lower
    is_accurate = error <= _MAX_ROUNDING_ERROR * (known + sketched)
    return bool((depends_on_sketch & ~is_accurate).any())


@parallel_njit
def _add_random_rhs(start, neighbor, weight, seed, rhs):
    """Add Y = B^T W^(1/2) Q to `rhs`: each node sums over its own edges.

    One word of random bits, a function of the two nodes, holds the signs of 64 columns.
    """
    n_probes = rhs.shape[1]
    for u in numba.prange(start.size - 1):
        row = rhs[u]
        for e in range(start[u], start[u + 1]):
            v = neighbor[e]
            # Both ends use the same random bits, with opposite signs.
            entry = rhs.dtype.type(np.sqrt(weight[e]) if u < v else -np.sqrt(weight[e]))
            low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
            for word in range((n_probes + 63) // 64):
                bits = random_bits(seed + np.uint64(word), low, high)
                # Halves of 32 bits, so that the compiler vectorizes the inner loop.
                for half in range(2):
                    first = 64 * word + 32 * half
                    signs = np.uint32(bits >> np.uint64(32 * half))
                    for k in range(min(32, n_probes - first)):
                        bit = np.int32((signs >> np.uint32(k)) & np.uint32(1))
                        row[first + k] += entry * np.float32(2 * bit - 1)


@njit_cached(inline="always")
def _known_part(d_u, d_v, w):
    """Return (d_u + d_v - 2 w) / (d_u d_v), without overflow."""
    return 1 / d_u + 1 / d_v - 2 * (w / d_u) / d_v


@njit_cached(inline="always")
def squared_distance(points, u, v):
    """Return |X_u - X_v|^2 / k."""
    total = 0.0
    for k in range(points.shape[1]):
        step = points[u, k] - points[v, k]
        total += step * step
    return total / points.shape[1]


@parallel_njit
def _resistance_parts(points, degree, tail, head, weight, known, sketched):
    for e in numba.prange(tail.size):
        known[e] = _known_part(degree[tail[e]], degree[head[e]], weight[e])
        sketched[e] = squared_distance(points, tail[e], head[e])


@parallel_njit
def _clipped_resistances(points, degree, tail, head, weight, resistance):
    for e in numba.prange(tail.size):
        d_u, d_v = degree[tail[e]], degree[head[e]]
        r = _known_part(d_u, d_v, weight[e]) + squared_distance(points, tail[e], head[e])
        lower, upper = degree_bound(d_u, d_v, weight[e])
        resistance[e] = min(max(r, lower), upper)
