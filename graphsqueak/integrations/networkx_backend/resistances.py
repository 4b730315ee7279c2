"""Resistance distance, effective graph resistance and Kemeny's constant.

With L the Laplacian of conductances and L^+ its pseudo-inverse,

    resistance of u and v      L^+_uu + L^+_vv - 2 L^+_uv
    effective graph resistance n trace(L^+)
    Kemeny's constant          trace of the pseudo-inverse of the normalized Laplacian

On graphs of up to MAX_INVERSE_NODES, L^+ is computed by a dense Cholesky factorization: with J the
matrix of ones and any s > 0, (L + s J / n)^-1 = L^+ + J / (s n). On larger graphs its entries are
solved for.
"""

from typing import Any

import networkx as nx
import numpy as np
import scipy.linalg.lapack
import scipy.sparse

from graphsqueak.analysis.centrality import inverse_diagonal
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.integrations.networkx_backend.graph import BackendGraph
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance.effective import resistances_in_memory
from graphsqueak.validation import check_choice

# Largest dense inverse: 0.3 GB of memory. Halved or doubled, a quarter or four times as much.
MAX_INVERSE_NODES = 6000


def resistance_distance(
    G: BackendGraph,
    nodeA: Any = None,
    nodeB: Any = None,
    weight: str | None = None,
    invert_weight: bool = True,
    *,
    method: str = "exact",
    tol: float = 1e-10,
) -> float | dict:
    """Return the resistance between two nodes, from one to all, or between all pairs.

    Parameters
    ----------
    G : BackendGraph
    nodeA, nodeB : node, optional
    weight : str, optional
        Edge attribute of the weights. Default: every edge has resistance 1.
    invert_weight : bool
        Whether weights are resistances.
    method : {"exact", "sketch"}
        "sketch" has errors of some percent; it is only used from one node to all.
    tol : float
        Relative residual of the linear solves.

    Examples
    --------
    >>> import networkx as nx
    >>> nx.resistance_distance(nx.cycle_graph(4), 0, 2, backend="graphsqueak")
    1.0
    """
    check_choice("method", method, ("exact", "sketch"))
    _check_connected(G, "Graph G must be strongly connected.")
    for letter, node in (("A", nodeA), ("B", nodeB)):
        if node is not None and node not in G:
            raise nx.NetworkXError(f"Node {letter} is not in graph G.")
    edges = G.conductances(weight, invert=invert_weight)
    if nodeA is not None and nodeB is not None:
        return _pair_resistance(edges, G.number(nodeA), G.number(nodeB), tol)
    source = nodeA if nodeA is not None else nodeB
    if source is not None:
        resistance = _resistances_from(edges, G.number(source), method, tol)
        return G.by_name(resistance)
    inverse = pseudo_inverse(edges.laplacian())
    # In the memory of the inverse, which may be large.
    diagonal = inverse.diagonal().copy()
    inverse *= -2
    inverse += diagonal
    inverse += diagonal[:, None]
    np.fill_diagonal(inverse, 0.0)
    return {name: G.by_name(row) for name, row in zip(G, inverse, strict=True)}


def _pair_resistance(edges, source, sink, tol):
    if source == sink:
        return 0.0
    current = np.zeros(edges.n_nodes)
    current[source] = 1.0
    current[sink] = -1.0
    return float(current @ LaplacianSolver(edges, tol=tol, random_state=0).solve(current))


def _resistances_from(edges, source, method, tol):
    if method == "sketch":
        # A sketch of one pair takes as long as that of all pairs.
        pairs = [(source, node) for node in range(edges.n_nodes)]
        return resistances_in_memory(edges, pairs, method="sketch", random_state=0)
    # Centered, as right-hand sides of a singular system must be.
    unit_vector = np.full(edges.n_nodes, -1 / edges.n_nodes)
    unit_vector[source] += 1
    row = LaplacianSolver(edges, tol=tol, random_state=0).solve(unit_vector)
    diagonal = laplacian_inverse_diagonal(edges, tol=tol)
    resistances = diagonal + diagonal[source] - 2 * row
    resistances[source] = 0.0
    return resistances


def effective_graph_resistance(
    G: BackendGraph, weight: str | None = None, invert_weight: bool = True
) -> float:
    """Return the sum of the resistances of all pairs of nodes, infinite if G is not connected.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        Edge attribute of the weights.
    invert_weight : bool
        Whether weights are resistances.
    """
    if len(G) and G.n_components() > 1:
        return float("inf")
    _check_connected(G, "Graph G must be connected.")
    edges = G.conductances(weight, invert=invert_weight)
    return float(len(G) * laplacian_inverse_diagonal(edges, tol=1e-10).sum())


def kemeny_constant(G: BackendGraph, *, weight: str | None = None) -> float:
    """Return the mean time of a random walk to a node of its stationary distribution.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        Edge attribute of the weights.
    """
    _check_connected(G, "Graph G must be connected.")
    weights = G.weights(weight)
    if (weights < 0).any():
        raise nx.NetworkXError("The weights of graph G must be nonnegative.")
    if (weights == 0).any() or len(G) > MAX_INVERSE_NODES:
        raise NotImplementedError(
            f"weights must be positive, and nodes at most {MAX_INVERSE_NODES:,}"
        )
    if len(G) == 1:
        return 0.0
    # A loop is an entry of the diagonal, and counts once.
    adjacency = G.matrix(weights)
    root = np.sqrt(adjacency.sum(axis=1))
    scale = scipy.sparse.diags_array(1 / root)
    matrix = np.eye(len(G)) - (scale @ adjacency @ scale).toarray()
    # The eigenvalue 0, of D^1/2 1, becomes 1, and is subtracted from the trace.
    stationary = root / np.linalg.norm(root)
    matrix += np.outer(stationary, stationary)
    return float(_dense_inverse_diagonal(matrix).sum() - 1)


def _check_connected(G, message):
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    if G.n_components() > 1:
        raise nx.NetworkXError(message)


def pseudo_inverse(laplacian: scipy.sparse.csr_array) -> np.ndarray:
    """Return the dense L^+ of a connected graph.

    >>> from graphsqueak.graph import EdgeList
    >>> 2 * pseudo_inverse(EdgeList(tail=[0], head=[1]).laplacian())
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    matrix, excess = _shift(laplacian)
    lower, info = scipy.linalg.lapack.dpotri(cholesky_factor(matrix), lower=1, overwrite_c=1)
    _check_info(info)
    # dpotri computes the lower triangle only.
    diagonal = lower.diagonal().copy()
    lower += lower.T
    np.fill_diagonal(lower, diagonal)
    lower -= excess
    return lower


def laplacian_inverse_diagonal(edges: EdgeList, *, tol: float) -> np.ndarray:
    """Return the diagonal of L^+ of a connected graph; `tol` is used for large graphs only."""
    if edges.n_nodes > MAX_INVERSE_NODES:
        solver = LaplacianSolver(edges, tol=tol, random_state=0)
        return inverse_diagonal(solver, edges.n_nodes)
    matrix, excess = _shift(edges.laplacian())
    return _dense_inverse_diagonal(matrix) - excess


def cholesky_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor; `matrix` is overwritten."""
    # The transpose of a symmetric matrix in C order is in the order of LAPACK, without a copy.
    factor, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    _check_info(info)
    return factor


def _dense_inverse_diagonal(matrix):
    """Return the diagonal of the inverse: squared column norms of the inverse of the factor."""
    inverse, info = scipy.linalg.lapack.dtrtri(cholesky_factor(matrix), lower=1, overwrite_c=1)
    _check_info(info)
    return np.einsum("ij,ij->j", inverse, inverse)


def _shift(laplacian):
    """Return L + s J / n as an array, and 1 / (s n), the excess of its inverse over L^+."""
    n_nodes = laplacian.shape[0]
    # The size of the other eigenvalues, so that the condition number does not grow.
    scale = float(laplacian.diagonal().mean()) or 1.0
    return laplacian.toarray() + scale / n_nodes, 1 / (scale * n_nodes)


def _check_info(info):
    if info:
        raise NotImplementedError("the weights span too many magnitudes for a factorization")
