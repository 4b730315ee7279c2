"""Resistance distances and what is summed of them.

With L the Laplacian of conductances and L^+ its pseudo-inverse,

    resistance of u and v      L^+_uu + L^+_vv - 2 L^+_uv
    effective graph resistance n trace(L^+)
    Kemeny's constant          trace of the pseudo-inverse of the normalized Laplacian.

L^+ is found by a Cholesky factorization: (L + s J / n)^-1 = L^+ + J / (s n), J the matrix of ones.
"""

from typing import Any

import networkx as nx
import numpy as np
import scipy.linalg.lapack
import scipy.sparse

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.integrations.networkx_backend.graph import BackendGraph
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.validation import check_choice

__all__ = [
    "DENSE_NODES",
    "diagonal_of_inverse",
    "effective_graph_resistance",
    "kemeny_constant",
    "pseudo_inverse",
    "resistance_distance",
]

DENSE_NODES = 6000  # up to here L^+ is held, in 0.3 GB
_BLOCK = 128


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
    """The resistance between two nodes, from one to all, or of all pairs, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    nodeA, nodeB : node, optional
    weight : str, optional
        Edge attribute of the weights. Default: every edge has resistance 1.
    invert_weight : bool
        Whether weights are resistances.
    method : {"exact", "sketch"}
        A sketch answers from one node to all within some percent.
    tol : float
        Relative residual of the solves.

    Examples
    --------
    >>> import networkx as nx
    >>> nx.resistance_distance(nx.cycle_graph(4), 0, 2, backend="graphsqueak")
    1.0
    """
    check_choice("method", method, ("exact", "sketch"))
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    if G.n_parts() > 1:
        raise nx.NetworkXError("Graph G must be strongly connected.")
    for letter, node in (("A", nodeA), ("B", nodeB)):
        if node is not None and node not in G:
            raise nx.NetworkXError(f"Node {letter} is not in graph G.")
    edges = G.conductances(weight, invert=invert_weight)
    if nodeA is not None and nodeB is not None:
        return _of_pair(edges, G.number(nodeA), G.number(nodeB), tol)
    start = nodeA if nodeA is not None else nodeB
    if start is not None:
        return dict(zip(G, _from_one(edges, G.number(start), method, tol).tolist(), strict=True))
    inverse = pseudo_inverse(edges.laplacian())
    diagonal = inverse.diagonal().copy()
    inverse *= -2
    inverse += diagonal
    inverse += diagonal[:, None]
    np.fill_diagonal(inverse, 0.0)
    return {
        name: dict(zip(G, row.tolist(), strict=True)) for name, row in zip(G, inverse, strict=True)
    }


def _of_pair(edges, start, end, tol):
    if start == end:
        return 0.0
    current = np.zeros(edges.n_nodes)
    current[[start, end]] = 1.0, -1.0
    return float(current @ LaplacianSolver(edges, tol=tol, random_state=0).solve(current))


def _from_one(edges, start, method, tol):
    if method == "sketch":
        pairs = [(start, node) for node in range(edges.n_nodes)]
        return effective_resistance(edges, pairs, method="sketch", random_state=0)
    current = np.full(edges.n_nodes, -1 / edges.n_nodes)
    current[start] += 1
    if edges.n_nodes <= DENSE_NODES:
        inverse = pseudo_inverse(edges.laplacian())
        diagonal, row = inverse.diagonal(), inverse[start]
    else:
        diagonal = diagonal_of_inverse(edges, tol=tol)
        row = LaplacianSolver(edges, tol=tol, random_state=0).solve(current)
    resistances = diagonal + diagonal[start] - 2 * row
    resistances[start] = 0.0
    return resistances


def effective_graph_resistance(
    G: BackendGraph, weight: str | None = None, invert_weight: bool = True
) -> float:
    """The sum of the resistances of all pairs of nodes, infinite where G is not connected.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        Edge attribute of the weights.
    invert_weight : bool
        Whether weights are resistances.
    """
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    if G.n_parts() > 1:
        return float("inf")
    edges = G.conductances(weight, invert=invert_weight)
    return float(len(G) * diagonal_of_inverse(edges, tol=1e-10).sum())


def kemeny_constant(G: BackendGraph, *, weight: str | None = None) -> float:
    """The mean time of a random walk to a node drawn from its stationary distribution.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        Edge attribute of the weights.
    """
    if len(G) == 0:
        raise nx.NetworkXError("Graph G must contain at least one node.")
    if G.n_parts() > 1:
        raise nx.NetworkXError("Graph G must be connected.")
    values = G.weights(weight)
    if (values < 0).any():
        raise nx.NetworkXError("The weights of graph G must be nonnegative.")
    if (values == 0).any() or len(G) > DENSE_NODES:
        raise NotImplementedError("weights are positive here, and nodes not too many")
    if len(G) == 1:
        return 0.0
    adjacency = G.matrix(values)  # a loop stays in place, and counts once
    scale = 1 / np.sqrt(adjacency.sum(axis=1))
    scaled = scipy.sparse.diags_array(scale)
    laplacian = np.eye(len(G)) - (scaled @ adjacency @ scaled).toarray()
    stationary = 1 / scale
    stationary /= np.linalg.norm(stationary)
    return float(_inverse(laplacian + np.outer(stationary, stationary)).trace() - 1)


def pseudo_inverse(laplacian: scipy.sparse.csr_array) -> np.ndarray:
    """L^+ of a connected graph, dense.

    >>> from graphsqueak.graph import EdgeList
    >>> 2 * pseudo_inverse(EdgeList(tail=[0], head=[1]).laplacian())
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    matrix, shift = _shifted(laplacian)
    inverse = _inverse(matrix)
    inverse -= shift
    return inverse


def _shifted(laplacian):
    """L + s J / n as an array, and the entries 1 / (s n) by which its inverse differs from L^+."""
    n_nodes = laplacian.shape[0]
    scale = float(laplacian.diagonal().mean()) or 1.0
    return laplacian.toarray() + scale / n_nodes, 1 / (scale * n_nodes)


def _refuse():
    raise NotImplementedError("weights are too far apart for a factorization")


def _factor(matrix):
    """The lower Cholesky factor, zero above its diagonal."""
    factor, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    return factor if info == 0 else _refuse()


def _inverse(matrix):
    lower, info = scipy.linalg.lapack.dpotri(_factor(matrix), lower=1, overwrite_c=1)
    if info:
        _refuse()
    diagonal = lower.diagonal().copy()
    lower += lower.T
    np.fill_diagonal(lower, diagonal)
    return lower


def diagonal_of_inverse(edges: EdgeList, *, tol: float) -> np.ndarray:
    """The diagonal of L^+ of a connected graph; where it is large, by a solve for every node."""
    n_nodes = edges.n_nodes
    if n_nodes <= DENSE_NODES:  # rows of the factor's inverse have the diagonal as lengths
        matrix, shift = _shifted(edges.laplacian())
        half, info = scipy.linalg.lapack.dtrtri(_factor(matrix), lower=1, overwrite_c=1)
        return np.einsum("ij,ij->j", half, half) - shift if info == 0 else _refuse()
    solver, diagonal = LaplacianSolver(edges, tol=tol, random_state=0), np.empty(n_nodes)
    for start in range(0, n_nodes, _BLOCK):
        nodes = np.arange(start, min(start + _BLOCK, n_nodes))
        sides = np.full((n_nodes, nodes.size), -1 / n_nodes)
        sides[nodes, nodes - start] += 1
        diagonal[nodes] = solver.solve(sides)[nodes, nodes - start]
    return diagonal
