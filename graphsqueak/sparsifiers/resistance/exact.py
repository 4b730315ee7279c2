"""Exact effective resistances: one dense inverse, or one solve per distinct node or pair."""

import numpy as np
import scipy.linalg

from graphsqueak.solvers import LaplacianSolver

__all__ = ["exact_resistances"]

_DENSE_NODES = 6000  # up to here (290 MB) one dense inverse is the quickest exact answer
_CHUNK_BYTES = 2**27  # of one block of right-hand sides


def exact_resistances(graph, component, tail, head):
    """r(tail, head) for pairs of different nodes, each pair within one component.

    >>> from graphsqueak.sources.synthetic.closed_forms import cycle
    >>> graph = cycle(4).to_edge_list()
    >>> exact_resistances(graph, graph.components(), np.array([0, 0]), np.array([1, 2]))
    array([0.75, 1.  ])
    """
    if graph.n_nodes <= _DENSE_NODES:
        return _dense(graph, component, tail, head)
    nodes = np.union1d(tail, head)
    if tail.size <= nodes.size:
        return _one_solve_per_pair(graph, tail, head)
    return _one_solve_per_node(graph, component, nodes, tail, head)


def _dense(graph, component, tail, head):
    """Invert L + sum over components of s 1 1^T / size, which equals L^+ on differences."""
    size = np.bincount(component)
    scale = graph.degrees().max()
    matrix = graph.laplacian().toarray()
    for label in np.flatnonzero(size > 1):
        members = np.flatnonzero(component == label)
        matrix[np.ix_(members, members)] += scale / members.size
    alone = np.flatnonzero(size[component] == 1)
    matrix[alone, alone] = scale
    factor = scipy.linalg.cholesky(matrix, overwrite_a=True, check_finite=False)
    inverse, _ = scipy.linalg.lapack.dpotri(factor, overwrite_c=True)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    return inverse[low, low] + inverse[high, high] - 2 * inverse[low, high]


def _one_solve_per_pair(graph, tail, head):
    solver = LaplacianSolver(graph, tol=1e-10)
    resistance = np.empty(tail.size)
    for chunk in _chunks(tail.size, graph.n_nodes):
        column = np.arange(tail[chunk].size)
        rhs = np.zeros((graph.n_nodes, column.size))
        rhs[tail[chunk], column] += 1
        rhs[head[chunk], column] -= 1
        voltage = solver.solve(rhs)
        resistance[chunk] = voltage[tail[chunk], column] - voltage[head[chunk], column]
    return resistance


def _one_solve_per_node(graph, component, nodes, tail, head):
    """r = G_uu + G_vv - G_uv - G_vu with G = L^+, a chunk of its columns at a time."""
    solver = LaplacianSolver(graph, tol=1e-10)
    size = np.bincount(component)
    resistance = np.zeros(tail.size)
    place = np.full(graph.n_nodes, -1)
    for chunk in _chunks(nodes.size, graph.n_nodes):
        label = component[nodes[chunk]]
        column = np.arange(label.size)
        rhs = np.where(component[:, None] == label, -1 / size[label], 0.0)
        rhs[nodes[chunk], column] += 1
        green = solver.solve(rhs)
        place[nodes[chunk]] = column
        for near, far in ((tail, head), (head, tail)):
            here = np.flatnonzero(place[near] >= 0)
            source = place[near[here]]
            resistance[here] += green[near[here], source] - green[far[here], source]
        place[nodes[chunk]] = -1
    return resistance


def _chunks(n_columns, n_nodes):
    step = max(_CHUNK_BYTES // (8 * n_nodes), 1)
    return [slice(start, start + step) for start in range(0, n_columns, step)]
