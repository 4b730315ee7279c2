"""All eigenvalues of the pencil of two small Laplacians, whatever the spread of their weights.

A Cholesky factor of L_G loses digits in proportion to the condition number of L_G, which is the
ratio of the largest to the smallest cut: of two dense blocks joined by an edge of weight 1e-14
nothing is left of that edge. But the loss depends on the basis only [D89]. It is small in the basis
of clusters:

*Clusters.* Merge nodes along the edges of G, heaviest first, as in Kruskal's algorithm for the
maximum spanning tree. A merge along an edge of weight w puts the root b of the smaller cluster
below the root a of the larger one. The variable of the merge is y_b = x_b - x_a, so that x = T y,
where column b of T is the indicator of the smaller cluster. Then

- an edge of weight v between i and j involves only variables on the path from i to j, at most
  2 log2(n), whose merges have weights w >= v: the quotients v / w are at most 1;
- w y_b^2 <= n x' L_G x for a variable whose merge has weight w, since a path of edges that weigh
  at least w leads from a to b.

So T' L_G T, scaled to a unit diagonal, has a condition number that is bounded by the numbers of
nodes and edges, whatever the weights are. The entries of T' L T are total weights between clusters.
They are computed as sums of positive numbers and are accurate to rounding; weights are never
subtracted from each other. Edges of equal weight are merged in random order, so that clusters grow
evenly.

*Ridge.* L + ridge I is the Laplacian of the graph with one more node, which an edge of weight
`ridge` joins to every other node, grounded at that node.

*Error.* Let M_G and M_H be T' L_G T and T' L_H T, both scaled so that M_G has a unit diagonal.
Rounding changes the entries of M_G and of its factor by a small multiple of the unit roundoff u,
and those of M_H by lambda_max times that. All ratios change by at most

    error  =  8 n u |M_G^-1| lambda_max,

where n stands for the norm of a matrix of such changes, accumulated over n steps with random signs.
The largest error found in tests is a tenth of that.

References
----------
[D89] Demmel. On floating point errors in Cholesky. LAPACK Working Note 14, 1989.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from graphsqueak.system.kernels import njit_cached

__all__ = ["DenseRatios", "dense_ratios"]

_ROUNDING = 4 * np.finfo(np.float64).eps  # 8 u; the docstring derives the error
_MOST_LEVELS = 64  # of merges, the logarithm of more nodes than there can be


class DenseRatios(NamedTuple):
    """Ratios x' L_H x / x' L_G x, and vectors that have them.

    Attributes
    ----------
    values : ndarray
        Eigenvalues of L_H x = lambda L_G x, ascending, one per dimension of the range: the number
        of nodes minus the number of components.
    error : float
        How far each value may be from the true one; infinite if nothing is known.
    lowest, highest : ndarray of shape (n_nodes,)
        Eigenvectors of the first and of the last value.
    """

    values: np.ndarray
    error: float
    lowest: np.ndarray
    highest: np.ndarray


def dense_ratios(
    graph_laplacian: np.ndarray, sparsifier_laplacian: np.ndarray, ridge: float = 0.0
) -> DenseRatios:
    """Compute all ratios x' (L_H + ridge I) x / x' (L_G + ridge I) x.

    Parameters
    ----------
    graph_laplacian, sparsifier_laplacian : ndarray of shape (n, n)
        Of graphs with the same components, unless there is a ridge. The diagonals are not used.
    ridge : float
        Added to both diagonals.

    Returns
    -------
    DenseRatios

    Examples
    --------
    A triangle against its path of weights 3: every cut is between 1 and 3 times as heavy.

    >>> triangle = np.array([[2.0, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    >>> path = np.array([[3.0, -3, 0], [-3, 6, -3], [0, -3, 3]])
    >>> dense_ratios(triangle, path).values
    array([1., 3.])
    """
    n_nodes = len(graph_laplacian)
    if ridge > 0:
        graph_laplacian = _with_ground(graph_laplacian, ridge)
        sparsifier_laplacian = _with_ground(sparsifier_laplacian, ridge)
    above = _merged(graph_laplacian)
    variables = np.flatnonzero(above >= 0)
    nothing = np.zeros(n_nodes)
    if variables.size == 0:
        return DenseRatios(np.zeros(0), 0.0, nothing, nothing)
    square = np.ix_(variables, variables)
    form = _between_clusters(graph_laplacian, above)[square]
    scale = 1 / np.sqrt(np.diag(form))
    form = _scaled(form, scale)
    norm = np.abs(form).sum(axis=0).max()
    factor, n_failed = scipy.linalg.lapack.dpotrf(form, lower=1, overwrite_a=1)
    if n_failed:
        return DenseRatios(np.ones(variables.size), np.inf, nothing, nothing)
    half = scipy.linalg.solve_triangular(
        factor,
        _scaled(_between_clusters(sparsifier_laplacian, above)[square], scale),
        lower=True,
        overwrite_b=True,
    )
    whitened = scipy.linalg.solve_triangular(factor, half.T, lower=True, overwrite_b=True)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    ends = np.zeros((len(above), 2))
    ends[variables] = scale[:, None] * scipy.linalg.solve_triangular(
        factor, vectors[:, [0, -1]], lower=True, trans=1
    )
    lowest, highest = _on_nodes(ends, above)[:, :n_nodes]
    inverse_norm = _inverse_norm(factor, norm)
    error = float(_ROUNDING * variables.size * inverse_norm * values[-1])
    return DenseRatios(values, error, lowest, highest)


def _with_ground(laplacian, ridge):
    """The Laplacian of the graph with one more node, joined to all others; its diagonal is zero."""
    return np.pad(laplacian, (0, 1), constant_values=-ridge)


def _merged(laplacian):
    """The node below which each node was put when its cluster was merged, or -1 for a root."""
    weight = np.triu(-laplacian, 1)
    tail, head = np.nonzero(weight > 0)
    # a path whose edges came in order would become one star, of which few digits are known
    shuffled = np.random.default_rng(0).permutation(tail.size)
    heaviest_first = shuffled[np.argsort(-weight[tail, head][shuffled], kind="stable")]
    above = np.full(len(laplacian), -1)
    _merge(tail[heaviest_first], head[heaviest_first], above)
    return above


def _between_clusters(laplacian, above):
    """T' L T: the total weights between clusters, those that are disjoint with a minus sign."""
    depth = np.zeros(above.size, dtype=np.int64)
    form = np.zeros(laplacian.shape)
    _add_weights(laplacian, above, depth, form)
    return form


def _scaled(form, scale):
    return scale[:, None] * form * scale


def _on_nodes(variables, above):
    """x = T y for every column y, as rows: each variable is added to all nodes of its cluster."""
    x = variables.copy()
    ancestor = above.copy()
    while (ancestor >= 0).any():
        is_below = ancestor >= 0
        x[is_below] += variables[ancestor[is_below]]
        ancestor[is_below] = above[ancestor[is_below]]
    return x.T


def _inverse_norm(factor, norm):
    """The 1-norm of the inverse of a matrix with this lower factor and this 1-norm, estimated."""
    reciprocal, _ = scipy.linalg.lapack.dpocon(factor, norm, uplo="L")
    return 1 / (reciprocal * norm) if reciprocal > 0 else np.inf


@njit_cached
def _merge(tail, head, above):
    """Union by size, without path compression: no node is more than log2(n) merges deep."""
    size = np.ones(above.size, dtype=np.int64)
    for e in range(tail.size):
        a, b = tail[e], head[e]
        while above[a] >= 0:
            a = above[a]
        while above[b] >= 0:
            b = above[b]
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        above[b] = a
        size[a] += size[b]


@njit_cached
def _add_weights(laplacian, above, depth, form):
    """Add every edge to all pairs of clusters that contain one of its ends, but not both."""
    n_nodes = above.size
    for node in range(n_nodes):
        ancestor = above[node]
        while ancestor >= 0:
            depth[node] += 1
            ancestor = above[ancestor]
    cluster = np.empty(2 * _MOST_LEVELS, dtype=np.int64)
    sign = np.empty(2 * _MOST_LEVELS)
    for i in range(n_nodes):
        for j in range(i):
            weight = -laplacian[i, j]
            if weight <= 0:
                continue
            n_clusters = 0
            a, b = i, j
            while a != b:
                is_first = depth[a] >= depth[b]
                cluster[n_clusters] = a if is_first else b
                sign[n_clusters] = 1.0 if is_first else -1.0
                n_clusters += 1
                if is_first:
                    a = above[a]
                else:
                    b = above[b]
            for p in range(n_clusters):
                for q in range(n_clusters):
                    form[cluster[p], cluster[q]] += sign[p] * sign[q] * weight
