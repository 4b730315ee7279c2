"""All eigenvalues of the pencil of two small Laplacians, for weights of any range.

A Cholesky factor of L_G loses digits in proportion to the condition number of L_G, the ratio of the
largest to the smallest cut. If an edge of weight 1e-14 joins two dense blocks, its cut is lost
completely. The loss depends on the basis [D89]. It is small in a basis of clusters:

*Clusters.* Merge nodes along the edges of G, heaviest first, as in Kruskal's algorithm for the
maximum spanning tree. A merge along an edge of weight w makes the root b of the smaller cluster a
child of the root a of the larger one. The variable of the merge is y_b = x_b - x_a. Then x = T y,
where column b of T is the indicator of the smaller cluster, and

- an edge of weight v between i and j depends only on variables on the path from i to j. There are
  at most 2 log2(n) of them. Their merges have weights w >= v, so that the quotients v / w are at
  most 1;
- w y_b^2 <= n x' L_G x for the variable of a merge of weight w, because a path of edges of weight w
  or more connects a and b.

Therefore T' L_G T, scaled to a unit diagonal, has a condition number that depends only on the
numbers of nodes and edges. The entries of T' L T are total weights between clusters. They are sums
of positive numbers, without cancellation, and accurate to rounding. Edges of equal weight are
merged in random order, so that clusters grow evenly.

*Ridge.* L + ridge I is the Laplacian of the graph with one more node, grounded at that node. An
edge of weight `ridge` joins it to every other node.

*Error.* Let M_G and M_H be T' L_G T and T' L_H T, both scaled so that M_G has a unit diagonal.
Rounding changes the entries of M_G and of its factor by a small multiple of the unit roundoff u,
and those of M_H by lambda_max times that. All ratios change by at most

    error  =  8 n u |M_G^-1| lambda_max,

where n stands for the norm of a matrix of such changes, accumulated over n steps with random signs.
The largest error observed in tests is 10 % of that.

References
----------
[D89] Demmel. On floating point errors in Cholesky. LAPACK Working Note 14, 1989.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from graphsqueak.sparsifiers.certificate.forest_norm import ROUNDING_UNIT
from graphsqueak.system.kernels import njit_cached

__all__ = ["DenseRatios", "dense_ratios"]


class DenseRatios(NamedTuple):
    """Ratios x' L_H x / x' L_G x, and the vectors of the extreme ones.

    Attributes
    ----------
    values : ndarray
        Eigenvalues of L_H x = lambda L_G x, ascending. Their number is the number of nodes minus
        the number of components.
    error : float
        Bound on the error of each value; infinite if the factorization failed.
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
        Laplacians of graphs with the same components, unless there is a ridge. The diagonals are
        not used.
    ridge : float
        Added to both diagonals.

    Returns
    -------
    DenseRatios

    Examples
    --------
    The sparsifier of a triangle is a path of weights 3. Its cuts are 1 to 3 times as large.

    >>> triangle = np.array([[2.0, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    >>> path = np.array([[3.0, -3, 0], [-3, 6, -3], [0, -3, 3]])
    >>> dense_ratios(triangle, path).values
    array([1., 3.])
    """
    n_nodes = len(graph_laplacian)
    if ridge > 0:
        graph_laplacian = _with_ground(graph_laplacian, ridge)
        sparsifier_laplacian = _with_ground(sparsifier_laplacian, ridge)
    parent = _merge_clusters(graph_laplacian)
    variables = np.flatnonzero(parent >= 0)
    no_vector = np.zeros(n_nodes)
    if variables.size == 0:
        return DenseRatios(np.zeros(0), 0.0, no_vector, no_vector)
    square = np.ix_(variables, variables)
    graph_form = _cluster_weights(graph_laplacian, parent)[square]
    # A unit diagonal makes the condition number independent of the range of the weights.
    scale = 1 / np.sqrt(np.diag(graph_form))
    graph_form = _scale_form(graph_form, scale)
    sparsifier_form = _scale_form(_cluster_weights(sparsifier_laplacian, parent)[square], scale)
    norm = np.abs(graph_form).sum(axis=0).max()
    factor, failure = scipy.linalg.lapack.dpotrf(graph_form, lower=1, overwrite_a=1)
    if failure:
        return DenseRatios(np.ones(variables.size), np.inf, no_vector, no_vector)
    half = scipy.linalg.solve_triangular(factor, sparsifier_form, lower=True, overwrite_b=True)
    whitened = scipy.linalg.solve_triangular(factor, half.T, lower=True, overwrite_b=True)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    extreme = np.zeros((len(parent), 2))
    extreme[variables] = scale[:, None] * scipy.linalg.solve_triangular(
        factor, vectors[:, [0, -1]], lower=True, trans=1
    )
    lowest, highest = _expand_to_nodes(extreme, parent)[:, :n_nodes]
    inverse_norm = _estimate_inverse_norm(factor, norm)
    error = float(ROUNDING_UNIT * variables.size * inverse_norm * values[-1])
    return DenseRatios(values, error, lowest, highest)


def _with_ground(laplacian, ridge):
    """Add a node that is joined to all others; its diagonal is zero, because it is not used."""
    return np.pad(laplacian, (0, 1), constant_values=-ridge)


def _merge_clusters(laplacian):
    """Return the node to which each node was attached in its merge, or -1 for a root."""
    weight = np.triu(-laplacian, 1)
    tail, head = np.nonzero(weight > 0)
    # A path merged in the order of its edges would become a star, with a larger condition number.
    shuffled = np.random.default_rng(0).permutation(tail.size)
    heaviest_first = shuffled[np.argsort(-weight[tail, head][shuffled], kind="stable")]
    parent = np.full(len(laplacian), -1)
    _merge_by_size(tail[heaviest_first], head[heaviest_first], parent)
    return parent


def _cluster_weights(laplacian, parent):
    """Return T' L T: total weights between clusters, negative if the clusters are disjoint."""
    depth = np.zeros(parent.size, dtype=np.int64)
    form = np.zeros(laplacian.shape)
    _add_weights(laplacian, parent, depth, form)
    return form


def _scale_form(form, scale):
    return scale[:, None] * form * scale


def _expand_to_nodes(variables, parent):
    """Return x = T y for every column y, as rows: each variable is added to all its nodes."""
    x = variables.copy()
    ancestor = parent.copy()
    while (ancestor >= 0).any():
        has_ancestor = ancestor >= 0
        x[has_ancestor] += variables[ancestor[has_ancestor]]
        ancestor[has_ancestor] = parent[ancestor[has_ancestor]]
    return x.T


def _estimate_inverse_norm(factor, norm):
    """Estimate the 1-norm of the inverse of a matrix from its lower factor and its 1-norm."""
    reciprocal, _ = scipy.linalg.lapack.dpocon(factor, norm, uplo="L")
    return 1 / (reciprocal * norm) if reciprocal > 0 else np.inf


@njit_cached
def _merge_by_size(tail, head, parent):
    """Merge by size without path compression: no node is deeper than log2(n)."""
    size = np.ones(parent.size, dtype=np.int64)
    for e in range(tail.size):
        a = tail[e]
        b = head[e]
        while parent[a] >= 0:
            a = parent[a]
        while parent[b] >= 0:
            b = parent[b]
        if a == b:
            continue
        if size[a] < size[b]:
            a, b = b, a
        parent[b] = a
        size[a] += size[b]


@njit_cached
def _add_weights(laplacian, parent, depth, form):
    """Add every edge to all pairs of clusters that contain exactly one of its ends."""
    n_nodes = parent.size
    for node in range(n_nodes):
        ancestor = parent[node]
        while ancestor >= 0:
            depth[node] += 1
            ancestor = parent[ancestor]
    # The path between two nodes has at most as many clusters as both are deep.
    cluster = np.empty(2 * depth.max(), dtype=np.int64)
    sign = np.empty(cluster.size)
    for i in range(n_nodes):
        for j in range(i):
            weight = -laplacian[i, j]
            if weight <= 0:
                continue
            # Clusters with one end are those below the lowest common ancestor of both ends.
            n_clusters = 0
            a = i
            b = j
            while a != b:
                is_first = depth[a] >= depth[b]
                cluster[n_clusters] = a if is_first else b
                sign[n_clusters] = 1.0 if is_first else -1.0
                n_clusters += 1
                if is_first:
                    a = parent[a]
                else:
                    b = parent[b]
            for p in range(n_clusters):
                for q in range(n_clusters):
                    form[cluster[p], cluster[q]] += sign[p] * sign[q] * weight
