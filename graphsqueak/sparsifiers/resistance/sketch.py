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

*How far to solve.* A random flow has an independent sign on every edge, y = B^T W^(1/2) q, and its
potentials are x = A^+ y. In the eigenvectors of D^-1 A, with eigenvalues l_i and D the diagonal of
A, the flow has the coordinates sqrt(l_i) g_i and the potentials g_i / sqrt(l_i), where the g_i are
uncorrelated and of variance 1. An error x - x' of energy e^2 = (x - x')^T A (x - x') changes the
potential difference along an edge of resistance r by at most e sqrt(r): so it is the energy that
has to be small, and not a share of it, which is n, but e itself.

The residual |y - A x'| does not tell. Across a weak cut l_i is tiny, and so is all of the flow
there is, sqrt(l_i) g_i, while the potentials across it are what makes its edges important: a
residual of 1e-5 |y| does not see the one edge of weight 0.001 that joins two communities of 60,000.
*Guards* see it: right-hand sides D^(1/2) g of white noise g, solved beside the flows. After the
same steps of conjugate gradients, which multiply eigenvector i by p(l_i), the residual of a guard
and the error of a flow are alike,

    E r^T D^-1 r = sum_i p(l_i)^2 = E (x - x')^T A (x - x'),

so everybody goes on until the guards' residuals, measured like this, are below e. A cut that all
four guards miss has white noise below e in each: a chance of about (0.8 e)^4.

References
----------
[SS11] Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
       40(6), 2011.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.randomness import random_bits
from graphsqueak.solvers.conjugate_gradient import conjugate_gradient
from graphsqueak.solvers.costs import cheapest, first_choice, jacobi_limit
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance.bounds import cut_bounds, degree_bound, resistance_bounds
from graphsqueak.system.kernels import compiled, frozen, run, shared

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

_N_GUARDS = 4
_MAX_ITER = 2000
_LEAST_STEPS = 30  # of Jacobi, before a factorization is tried
_RESOLVED = {np.dtype(np.float32): 1e11, np.dtype(np.float64): 1e28}  # of the sum in `Potentials`
_WEAK = 4.0  # mean_inverse_eigenvalue from which the cuts are looked at
_ERROR = 0.05  # of potential differences, small beside the noise of few probes
_SINGLE = 6e-8  # rounding of single precision
_SINGLE_SPAN = 1e10  # of weights w: beyond it flows sqrt(w) drown in the rounding of others
_BLUR = 0.1  # relative error of a resistance, small beside that of few probes


class Embedding(NamedTuple):
    """Points X (n_nodes, k) and weighted degrees d of a graph: all that a sketch remembers.

    `mean_inverse_eigenvalue` is the mean of 1 / l_i over the eigenvalues of D^-1 L: near 1 on expanders, large where
    the graph has weak cuts.
    """

    points: np.ndarray
    degree: np.ndarray
    mean_inverse_eigenvalue: float

    @property
    def has_bottlenecks(self):
        """Whether some cuts are so weak that a few signs tell little about them."""
        return self.mean_inverse_eigenvalue > _WEAK


def embed(graph, *, n_probes, seed, ridge=0.0, error=_ERROR, dtype=np.float32):
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
    error : float
        Relative error of the solves, of every edge's potential difference (`solve_random_rhs`).

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
    return _embed(graph, n_probes, seed, ridge, error, dtype)[0]


def _embed(graph, n_probes, seed, ridge, error, dtype):
    """The embedding, and whether rounding left the weakest cut its flow."""
    degree = graph.degrees() + ridge
    rhs = np.zeros((graph.n_nodes, n_probes), dtype=dtype)
    if ridge > 0:
        rng = np.random.default_rng(seed)
        rhs += np.sqrt(ridge) * rng.choice((-1.0, 1.0), size=rhs.shape)
    solver = LaplacianSolver(graph, ridge=ridge, random_state=seed)
    rows = solver.rows
    work = rows.weight.size * n_probes
    run(_random_flows, work, rows.start, rows.neighbor, rows.weight, np.uint64(seed), rhs)
    points, _, mean_inverse_eigenvalue, resolved = solve_random_rhs(
        solver, rhs, seed=seed, error=error
    )
    scale = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    points -= rhs * scale[:, None].astype(dtype)
    return Embedding(points, degree, mean_inverse_eigenvalue), resolved


def sketch_parts(sketch, tail, head, weight):
    """The exactly known and the sketched part of r(tail, head), nodes joined by `weight`."""
    known, left = np.empty(tail.size), np.empty(tail.size)
    work = tail.size * sketch.points.shape[1]
    run(_parts, work, sketch.points, sketch.degree, tail, head, weight, known, left)
    return known, left


def sketch_resistances(sketch, tail, head, weight):
    """Resistances of all edges of the graph, kept within their bounds.

    The bounds are those of the degrees, and those of the cuts where some of these are weak.
    """
    out = np.empty(tail.size)
    known, columns = (sketch.points, sketch.degree), frozen(tail, head, weight)
    run(_resistances, tail.size * sketch.points.shape[1], *known, *columns, out)
    if sketch.has_bottlenecks:
        np.maximum(out, cut_bounds(tail, head, weight, sketch.degree.size), out=out)
    return out


class Potentials(NamedTuple):
    """Potentials of flows, and what they tell of the weakest cuts.

    The mean of |x|^2 in the norm of D is sum_i 1 / l_i, and so is that of b . x of the guards, b
    their right-hand sides; `mean_inverse_eigenvalue` is the larger one per node. Rounding blurs a
    flow sqrt(l_i) g_i by its unit u, so the cuts are `resolved` if the sum is below (e / 5 u)^2.
    """

    points: np.ndarray
    guards: np.ndarray  # potentials of white noise
    mean_inverse_eigenvalue: float
    resolved: bool


def solve_random_rhs(
    solver: LaplacianSolver, flows: np.ndarray, *, seed: int, error: float = 0.05
) -> Potentials:
    """Potentials of random flows with an error of energy `error`^2, in the dtype of the flows.

    Parameters
    ----------
    solver : LaplacianSolver
        Of the graph with its ridge; its `tol` is not used.
    flows : ndarray of shape (n_nodes, K)
        Random flows along all edges of the graph, those to the ground (the ridge) among them.
    seed : int
        Of the guards.
    error : float
        At most about as large is the relative error of any potential difference along an edge,
        compared with the root of the edge's resistance.

    Examples
    --------
    Two triangles joined by an edge of weight 1e-6: the potential differs by its flow / weight.

    >>> from graphsqueak.graph import EdgeList
    >>> tail, head = [0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3]
    >>> graph = EdgeList(tail=tail, head=head, weight=[1.0] * 6 + [1e-6])
    >>> flow = np.array([[1e-3], [0.0], [0.0], [-1e-3], [0.0], [0.0]])
    >>> points = solve_random_rhs(LaplacianSolver(graph), flow, seed=90210).points
    >>> (points[0] - points[3]).round(2)
    array([1000.])
    """
    flows = solver.centered(flows)
    n_nodes, n_columns = flows.shape
    diagonal = solver.rows.diagonal()
    rng = np.random.default_rng(seed)
    white = np.sqrt(diagonal)[:, None] * rng.standard_normal((n_nodes, _N_GUARDS))
    guards, white = solver.centered(white.astype(flows.dtype)), None  # not kept for the solve
    block = np.concatenate([flows, guards], axis=1)
    target = np.repeat([-1.0, error], [n_columns, _N_GUARDS])
    shape = solver.shape(block.shape[1], digits=np.log10(np.sqrt(max(n_nodes, 1)) / error))
    name, most = first_choice(shape), _MAX_ITER
    if name == "jacobi":
        most = max(int(jacobi_limit(shape)), _LEAST_STEPS)
    points, n_steps = _iterate(solver, name, block, target, most)
    if name == "jacobi" and n_steps == most:
        points, n_steps = _iterate(solver, cheapest(shape)[0], block, target, _MAX_ITER)
    points, told = (np.ascontiguousarray(x) for x in np.split(points, [n_columns], axis=1))
    length = np.einsum("uk,uk->k", guards, told).mean()
    if n_columns:
        length = max(length, np.einsum("uk,uk,u->k", points, points, diagonal).mean())
    mean_inverse_eigenvalue = float(length) / max(n_nodes, 1)
    return Potentials(points, told, mean_inverse_eigenvalue, bool(length <= _RESOLVED[flows.dtype]))


def _iterate(solver, name, block, target, max_iter):
    """Potentials of a block by the named backend, and the steps they took."""
    rows, order, precondition = solver.backend(name)
    r = block.copy() if order is None else block[order]
    step = np.zeros_like(r)
    how_far = {"target": target, "max_iter": max_iter, "by_degree": True}
    rows = rows.astype(block.dtype)
    n_steps = conjugate_gradient(rows, r, step, precondition=precondition, **how_far)
    points = np.empty_like(step)
    points[slice(None) if order is None else order] = step
    return solver.centered(points), n_steps


def precise_embedding(graph, tail, head, weight, *, n_probes, seed, ridge=0.0, error=_ERROR):
    """The embedding of `graph` (see `embed`) by which to tell the resistances of some pairs.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    tail, head, weight : arrays
        The pairs, and the weight of the edge between each, 0 where there is none.
    n_probes, seed, ridge, error
        Arguments of `embed`.

    Examples
    --------
    A triangle whose weights span twelve digits is too much for single precision:

    >>> from graphsqueak.graph import EdgeList
    >>> for heaviest in (1e6, 1e12):
    ...     weight = np.array([1.0, 1.0, heaviest])
    ...     triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0], weight=weight)
    ...     ends = (triangle.tail, triangle.head, weight)
    ...     print(precise_embedding(triangle, *ends, n_probes=8, seed=7).points.dtype)
    float32
    float64
    """
    if graph.weight.max(initial=0.0) <= _SINGLE_SPAN * graph.weight.min(initial=np.inf):
        sketch, resolved = _embed(graph, n_probes, seed, ridge, error, np.float32)
        if resolved and not _is_blurred(sketch, tail, head, weight):
            return sketch
    return _embed(graph, n_probes, seed, ridge, error, np.float64)[0]


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


@shared
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


@compiled(inline="always")
def _known(d_u, d_v, w):
    return 1 / d_u + 1 / d_v - 2 * (w / d_u) / d_v


@compiled(inline="always")
def squared_distance(points, u, v):
    total = 0.0
    for k in range(points.shape[1]):
        step = points[u, k] - points[v, k]
        total += step * step
    return total / points.shape[1]


@shared
def _parts(points, degree, tail, head, weight, known, left):
    for e in numba.prange(tail.size):
        known[e] = _known(degree[tail[e]], degree[head[e]], weight[e])
        left[e] = squared_distance(points, tail[e], head[e])


@shared
def _resistances(points, degree, tail, head, weight, out):
    for e in numba.prange(tail.size):
        d_u, d_v, w = degree[tail[e]], degree[head[e]], weight[e]
        r = _known(d_u, d_v, w) + squared_distance(points, tail[e], head[e])
        lower, upper = degree_bound(d_u, d_v, w)
        out[e] = min(max(r, lower), upper)
