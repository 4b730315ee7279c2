"""Exact resistances of all edges from a sparse factorization: grids, roads, meshes, trees.

Ground one node of every component and factor the remaining Laplacian in an order with little fill,
A = C D C^T with a unit lower triangular C. Selected inversion [T73] computes the entries of
Z = A^-1 where C is nonzero, from the last column to the first:

    Z_ji = - sum_k C_ki Z_kj,   j > i        Z_ii = 1 / D_i - sum_k C_ki Z_ki,

with sums over the rows k > i of column i. No other entries of the inverse are needed. Then
r(u, v) = Z_uu + Z_vv - 2 Z_uv, with entries of 0 for a grounded node.

The work is the sum of the squared column lengths: n^1.5 for a planar graph of n nodes, n^3 for an
expander. The bandwidth in reverse Cuthill-McKee order distinguishes the two: on a grid it is about
sqrt(n).

References
----------
[T73] Takahashi, Fagan, Chin. Formation of a sparse bus impedance matrix and its application to
      short circuit study. 8th PICA Conference, 1973.
"""

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.solvers.direct import factorize_symmetric
from graphsqueak.sparsifiers.resistance.exact import MAX_BLOCK_ENTRIES
from graphsqueak.system.kernels import njit_cached

# Root mean square bandwidth, in units of sqrt(n), of a graph that is nearly planar: 1 on grids,
# about sqrt(n) on expanders. Halved or doubled, grids and neighbor graphs in two and three
# dimensions are still factorized, and random graphs are not (4,000 to 4,900 nodes).
_MAX_BANDWIDTH = 4.0


def has_small_separators(graph: EdgeList) -> bool:
    """Return whether a factorization of the Laplacian is faster than a few dozen solves.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi, grid
    >>> gnm = erdos_renyi(2500, 20_000, random_state=7)
    >>> [has_small_separators(g.to_edge_list()) for g in (grid(50, 50), gnm)]
    [True, False]
    """
    n_nodes = graph.n_nodes
    # The factor of a planar graph has 1.3 to 2 n log2 n entries.
    if n_nodes * np.log2(n_nodes) > MAX_BLOCK_ENTRIES:
        return False
    adjacency = graph.to_scipy().tocsr()
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(adjacency, symmetric_mode=True)
    position = np.argsort(order)
    tail = position[graph.tail]
    head = position[graph.head]
    bandwidth = np.zeros(n_nodes)
    np.maximum.at(bandwidth, np.maximum(tail, head), np.abs(tail - head))
    return bool((bandwidth**2).sum() <= (_MAX_BANDWIDTH * n_nodes) ** 2)


def selected_resistances(
    graph: EdgeList, component: np.ndarray, tail: np.ndarray, head: np.ndarray
) -> np.ndarray | None:
    """Return the exact resistances of the edges of a graph; None if rounding errors are too large.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    component : ndarray
        Component number of each node.
    tail, head : ndarray
        Ends of edges of the graph, in any order.

    Examples
    --------
    >>> from graphsqueak.sources import cycle
    >>> graph = cycle(4).to_edge_list()
    >>> selected_resistances(graph, graph.components(), graph.tail, graph.head)
    array([0.75, 0.75, 0.75, 0.75])
    """
    # Grounding the node of largest degree keeps the entries of the inverse small.
    by_degree = np.argsort(-graph.degrees(), kind="stable")
    grounded = by_degree[np.unique(component[by_degree], return_index=True)[1]]
    kept = np.delete(np.arange(graph.n_nodes), grounded)
    matrix = graph.laplacian()[kept][:, kept].tocsc()
    factor = factorize_symmetric(matrix)
    # Different permutations mean that SuperLU pivoted: the factors are not symmetric.
    if not np.array_equal(factor.perm_r, factor.perm_c):
        return None
    lower = factor.L.tocsc()
    lower.sort_indices()
    inverse = lower.copy()
    _invert_selected(lower.indptr, lower.indices, lower.data, factor.U.diagonal(), inverse.data)
    # A row and a column of zeros for the grounded nodes.
    n_kept = kept.size
    inverse.resize((n_kept + 1, n_kept + 1))
    position = np.full(graph.n_nodes, n_kept)
    position[kept] = factor.perm_c
    tail = position[tail]
    head = position[head]
    diagonal = inverse.diagonal()
    between = inverse[np.maximum(tail, head), np.minimum(tail, head)]
    resistance = diagonal[tail] + diagonal[head] - 2 * between

    # Resistances are differences of diagonal entries: cancellation must leave half of the digits.
    eps = np.finfo(np.float64).eps
    is_accurate = eps * diagonal.max() <= np.sqrt(eps) * resistance.min(initial=np.inf)
    return resistance if is_accurate else None


@njit_cached
def _invert_selected(start, row, lower, diagonal, inverse):
    """Write the entries of the inverse where `lower` is nonzero.

    The diagonal is the first entry of every column.
    """
    n = diagonal.size
    # Entry of column i in each row, -1 if there is none.
    entry_in_row = np.full(n, -1)
    total = np.empty(n)
    for i in range(n - 1, -1, -1):
        first, end = start[i] + 1, start[i + 1]
        for a in range(first, end):
            entry_in_row[row[a]] = a
            total[a - first] = 0.0
        for a in range(first, end):
            # Column k = row[a] of Z. Only the lower triangle is stored, so each entry below the
            # diagonal counts for both of its rows.
            diagonal_entry = start[row[a]]
            total[a - first] += lower[a] * inverse[diagonal_entry]
            for e in range(diagonal_entry + 1, start[row[a] + 1]):
                b = entry_in_row[row[e]]
                if b >= 0:
                    total[a - first] += lower[b] * inverse[e]
                    total[b - first] += lower[a] * inverse[e]
        value = 1 / diagonal[i]
        for a in range(first, end):
            inverse[a] = -total[a - first]
            value += lower[a] * total[a - first]
            entry_in_row[row[a]] = -1
        inverse[start[i]] = value
