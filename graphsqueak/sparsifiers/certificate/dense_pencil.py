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
import scipy.sparse

from graphsqueak.graph.forest import make_sets, union_edges
from graphsqueak.sparsifiers.certificate.forest_norm import ROUNDING_UNIT


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
    clusters, roots = _merge_clusters(graph_laplacian)
    n_ratios = len(roots)
    no_vector = np.zeros(n_nodes)
    if n_ratios == 0:
        return DenseRatios(np.zeros(0), 0.0, no_vector, no_vector)
    graph_form = _cluster_form(graph_laplacian, clusters, roots)
    sparsifier_form = _cluster_form(sparsifier_laplacian, clusters, roots)
    # A unit diagonal makes the condition number independent of the range of the weights.
    scale = 1 / np.sqrt(np.diag(graph_form))
    graph_form *= scale[:, None] * scale
    sparsifier_form *= scale[:, None] * scale
    norm = np.abs(graph_form).sum(axis=0).max()
    factor, failure = scipy.linalg.lapack.dpotrf(graph_form, lower=1)
    if failure:
        return DenseRatios(np.ones(n_ratios), np.inf, no_vector, no_vector)
    reciprocal_condition, _ = scipy.linalg.lapack.dpocon(factor, norm, uplo="L")
    values, vectors = scipy.linalg.eigh(
        sparsifier_form, graph_form, overwrite_a=True, overwrite_b=True
    )
    # x = T y for the variables y of the two extreme ratios.
    lowest, highest = (scale * vectors[:, [0, -1]].T) @ clusters[:, :n_nodes]
    error = np.inf
    if reciprocal_condition > 0:
        error = float(ROUNDING_UNIT * n_ratios * values[-1] / (reciprocal_condition * norm))
    return DenseRatios(values, error, lowest, highest)


def _with_ground(laplacian, ridge):
    """Add a node that is joined to all others; its diagonal is zero, because it is not used."""
    return np.pad(laplacian, (0, 1), constant_values=-ridge)


def _merge_clusters(laplacian):
    """Merge along a maximum spanning forest.

    Returns
    -------
    clusters : ndarray of bool, shape (n_merges, n_nodes)
        The nodes of the smaller cluster of every merge, the columns of T.
    roots : list of int
        The roots of these clusters.
    """
    weight = np.triu(-laplacian, 1)
    tail, head = np.nonzero(weight > 0)
    # A path merged in the order of its edges would become a star, with a larger condition number.
    shuffled = np.random.default_rng(0).permutation(tail.size)
    heaviest_first = shuffled[np.argsort(-weight[tail, head][shuffled], kind="stable")]
    tail = tail[heaviest_first]
    head = head[heaviest_first]
    n_nodes = len(laplacian)
    forest = np.flatnonzero(union_edges(make_sets(n_nodes), tail, head))
    clusters = np.zeros((forest.size, n_nodes), dtype=np.bool_)
    roots = []
    root_of_node = np.arange(n_nodes)
    for cluster, edge in zip(clusters, forest, strict=True):
        sides = [root_of_node == root_of_node[end] for end in (head[edge], tail[edge])]
        smaller, larger = sorted(sides, key=np.count_nonzero)
        cluster[:] = smaller
        roots.append(root_of_node[smaller][0])
        root_of_node[smaller] = root_of_node[larger][0]
    return clusters, roots


def _cluster_form(laplacian, clusters, roots):
    """Return T' L T: total weights between clusters, negative if the clusters are disjoint."""
    weight = -laplacian
    np.fill_diagonal(weight, 0)
    indicators = scipy.sparse.csr_array(clusters, dtype=np.float64)
    weight_to_node = indicators @ weight
    form = -(indicators @ weight_to_node.T)
    # Of two nested clusters, only edges from the inner one to nodes outside the outer one count. A
    # cluster contains another one if it contains its root.
    for inner, root in enumerate(roots):
        outer = np.flatnonzero(clusters[:, root])
        weight_leaving = ~clusters[outer] @ weight_to_node[inner]
        form[inner, outer] = weight_leaving
        form[outer, inner] = weight_leaving
    return form
