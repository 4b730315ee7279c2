"""Exact resistances of all edges where a factorization is cheap: grids, roads, meshes, trees.

Ground a node of every component and factor what is left of L, in an order of little fill,
A = C D C^T with C lower triangular and of unit diagonal. The entries of Z = A^-1 where C has some,
and so all that resistances of edges need, follow from the last column to the first [T73]:

    Z_ji = - sum_k C_ki Z_kj,   j > i        Z_ii = 1 / D_i - sum_k C_ki Z_ki,

sums over the rows k > i of column i, without any other entry of the inverse. Then
r(u, v) = Z_uu + Z_vv - 2 Z_uv, entries at a grounded node being 0.

The work is the sum of the squares of the columns' lengths. A planar graph of n nodes needs n^1.5
steps, an expander n^3. Which one it is, the rows tell in the order of Cuthill and McKee: on a grid
their first entries are about sqrt(n) before the diagonal.

References
----------
[T73] Takahashi, Fagan, Chin. Formation of a sparse bus impedance matrix and its application to
      short circuit study. 8th PICA Conference, 1973.
"""

import numpy as np
import scipy.sparse.csgraph
import scipy.sparse.linalg

from graphsqueak.system.kernels import njit_cached

__all__ = ["has_small_separators", "selected_resistances"]

_MOST_NODES = 300_000
_MOST_EDGES = 4  # a node: beyond planar graphs, which have less than three
_WIDEST = 4.0  # times sqrt(n): the rows of a graph that is nearly planar
_ERROR = 1e-6  # of any resistance
_ROUNDINGS = 100  # by which entries of the inverse may be off
_MOST_WORK = 1e9  # steps with rows of any width: seconds


def has_small_separators(graph):
    """Whether a factorization of the Laplacian is quicker than a few dozen solves.

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
    if n_nodes > _MOST_NODES or graph.n_edges > _MOST_EDGES * n_nodes:
        return False
    adjacency = graph.to_scipy()
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(adjacency.tocsr(), symmetric_mode=True)
    position = np.empty(n_nodes, dtype=np.int64)
    position[order] = np.arange(n_nodes)
    reach = np.zeros(n_nodes, dtype=np.int64)
    ends = position[graph.tail], position[graph.head]
    np.maximum.at(reach, np.maximum(*ends), np.abs(ends[0] - ends[1]))
    work = (reach.astype(np.float64) ** 2).sum()
    return bool(work <= max(_MOST_WORK, (_WIDEST * n_nodes) ** 2))


def selected_resistances(graph, component, tail, head):
    """r(tail, head) of the edges of a graph, exactly, or None where rounding would show.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    component : ndarray
        Number of the component of each node.
    tail, head : ndarray
        Ends of edges, in any order.

    Examples
    --------
    >>> from graphsqueak.sources import cycle
    >>> graph = cycle(4).to_edge_list()
    >>> selected_resistances(graph, graph.components(), graph.tail, graph.head)
    array([0.75, 0.75, 0.75, 0.75])
    """
    by_degree = np.argsort(-graph.degrees(), kind="stable")
    grounded = by_degree[np.unique(component[by_degree], return_index=True)[1]]
    kept = np.delete(np.arange(graph.n_nodes), grounded)
    matrix = graph.laplacian()[kept][:, kept].tocsc()
    factor = scipy.sparse.linalg.splu(
        matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    if not np.array_equal(factor.perm_r, factor.perm_c):
        return None
    lower = factor.L.tocsc()
    lower.sort_indices()
    columns = (lower.indptr.astype(np.int64), lower.indices.astype(np.int64))
    inverse = np.empty(lower.data.size)
    _invert(*columns, lower.data, factor.U.diagonal(), inverse)
    position = np.full(graph.n_nodes, -1)
    position[kept] = factor.perm_c
    out = np.empty(tail.size)
    _differences(*columns, inverse, position[tail], position[head], out)
    largest = inverse[columns[0][:-1]].max(initial=0.0)
    is_clear = np.finfo(float).eps * _ROUNDINGS * largest <= _ERROR * out.min(initial=np.inf)
    return out if is_clear else None


@njit_cached
def _invert(start, row, lower, diagonal, inverse):
    """Entries of the inverse where `lower` has some; the diagonal is first in every column."""
    n = diagonal.size
    place = np.full(n, -1)
    total = np.empty(n)
    for i in range(n - 1, -1, -1):
        first, end = start[i] + 1, start[i + 1]
        for a in range(first, end):
            place[row[a]] = a
            total[a - first] = 0.0
        for a in range(first, end):
            own = start[row[a]]
            total[a - first] += lower[a] * inverse[own]
            for e in range(own + 1, start[row[a] + 1]):
                b = place[row[e]]
                if b >= 0:
                    total[a - first] += lower[b] * inverse[e]
                    total[b - first] += lower[a] * inverse[e]
        value = 1 / diagonal[i]
        for a in range(first, end):
            inverse[a] = -total[a - first]
            value += lower[a] * total[a - first]
            place[row[a]] = -1
        inverse[start[i]] = value


@njit_cached
def _differences(start, row, inverse, tail, head, out):
    """Z_uu + Z_vv - 2 Z_uv of every edge; a grounded node is -1."""
    for e in range(tail.size):
        low, high = min(tail[e], head[e]), max(tail[e], head[e])
        out[e] = inverse[start[high]] if high >= 0 else 0.0
        if low >= 0:
            own = start[low]
            where = own + np.searchsorted(row[own : start[low + 1]], high)
            out[e] += inverse[own] - 2 * inverse[where]
