"""Exact effective resistances, from a dense inverse or from one solve per node or pair.

With G = L^+, r(u, v) = G_uu + G_vv - 2 G_uv. One dense inverse gives all pairs of a small graph.
On larger graphs every distinct pair, or every distinct node, takes one linear solve. All edges of
graphs with small separators are cheaper by a sparse factorization (`selected`).
"""

import numpy as np
import scipy.linalg

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.solvers.laplacian_solver import LaplacianSolver

# Entries of one block of right-hand sides, 128 MiB in double precision, and of the largest dense
# inverse, of 4,096 nodes: one solve per node takes five times as long (3,500 nodes: 5.7 s instead
# of 1.1 s with half the entries). With twice the entries and memory, 5,000 nodes take 3 s instead
# of 10 to 11 s.
MAX_BLOCK_ENTRIES = 2**24


def exact_resistances(
    graph: EdgeList,
    component: np.ndarray,
    tail: np.ndarray,
    head: np.ndarray,
    *,
    use_dense: bool,
) -> np.ndarray:
    """Return r(tail, head) for pairs of different nodes, each pair within one component.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges.
    component : ndarray
        Component number of each node.
    tail, head : ndarray
        Node pairs.
    use_dense : bool
        Whether to invert the Laplacian. If not, one system per pair or per node is solved.

    Examples
    --------
    >>> from graphsqueak.sources.synthetic.closed_forms import cycle
    >>> graph = cycle(4).to_edge_list()
    >>> tail, head = np.array([0, 0]), np.array([1, 2])
    >>> exact_resistances(graph, graph.components(), tail, head, use_dense=True)
    array([0.75, 1.  ])
    """
    if use_dense:
        return _invert_dense(graph, component, tail, head)
    nodes = np.union1d(tail, head)
    n_columns = max(MAX_BLOCK_ENTRIES // graph.n_nodes, 1)
    if tail.size <= nodes.size:
        return _solve_per_pair(graph, tail, head, n_columns)
    return _solve_per_node(graph, nodes, tail, head, n_columns)


def _invert_dense(graph, component, tail, head):
    """Invert L + sum over components of s 1 1^T / size, which equals L^+ on differences."""
    # The size of the other eigenvalues, so that the shift does not worsen the condition number.
    shift = graph.degrees().max() / np.bincount(component)[component]
    matrix = graph.laplacian().toarray()
    matrix += np.where(component[:, None] == component, shift, 0.0)
    factor = scipy.linalg.cholesky(matrix, overwrite_a=True, check_finite=False)
    # dpotri computes the upper triangle only.
    inverse, _ = scipy.linalg.lapack.dpotri(factor, overwrite_c=True)
    low = np.minimum(tail, head)
    high = np.maximum(tail, head)
    return inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]


def _solve_per_pair(graph, tail, head, n_columns):
    """Return the voltages between pairs when a unit current flows from one node to the other."""
    solver = LaplacianSolver(graph)
    pairs = EdgeList.from_validated(tail, head, np.ones(tail.size), graph.n_nodes)
    resistance = []
    for start in range(0, tail.size, n_columns):
        currents = pairs.part(start, start + n_columns).incidence().toarray().T
        resistance.append(np.einsum("uk,uk->k", currents, solver.solve(currents)))
    return np.concatenate(resistance)


def _solve_per_node(graph, nodes, tail, head, n_columns):
    """Return G_uu + G_vv - G_uv - G_vu with G = L^+, from blocks of its columns."""
    solver = LaplacianSolver(graph)
    resistance = np.zeros(tail.size)
    for start in range(0, nodes.size, n_columns):
        block = nodes[start : start + n_columns]
        unit_vectors = np.zeros((graph.n_nodes, block.size))
        unit_vectors[block, np.arange(block.size)] = 1
        green = solver.solve(solver.centered(unit_vectors))
        column_of_node = np.full(graph.n_nodes, -1)
        column_of_node[block] = np.arange(block.size)
        for source, sink in ((tail, head), (head, tail)):
            pairs = np.flatnonzero(column_of_node[source] >= 0)
            column = column_of_node[source[pairs]]
            resistance[pairs] += green[source[pairs], column] - green[sink[pairs], column]
    return resistance
