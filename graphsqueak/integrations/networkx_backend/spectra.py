"""Spectra of Laplacians: the Fiedler vector, orderings and cuts from it, and spanning trees.

Fiedler vectors are those of `graphsqueak.solvers.eigenpairs`. Spanning trees are counted by a minor
of the Laplacian (Kirchhoff's theorem).

References
----------
[F73] Fiedler. Algebraic connectivity of graphs. Czechoslovak Mathematical Journal 23, 1973.
"""

from typing import Any

import networkx as nx
import numpy as np
import scipy.linalg
import scipy.sparse

from graphsqueak.analysis.analyzed_graph import induced_subgraph
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.integrations.networkx_backend.graph import BackendGraph
from graphsqueak.integrations.networkx_backend.resistances import cholesky_factor
from graphsqueak.solvers.eigenpairs import laplacian_eigenpairs

METHODS = ("tracemin_pcg", "tracemin_lu", "lanczos", "lobpcg", "tracemin")


def algebraic_connectivity(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> float:
    """Return the second smallest eigenvalue of the Laplacian [F73].

    Parameters
    ----------
    G : BackendGraph
    weight : str or None
        Edge attribute of the weights; their absolute values are used.
    normalized : bool
        Use the normalized Laplacian.
    tol : float
        Relative residual of the eigenpair; at most 1e-8 is used.
    method : str
        A method of networkx. All give the same result here.
    seed : int or numpy.random.RandomState
        Seed of the start of the iteration.

    Examples
    --------
    >>> import networkx as nx
    >>> round(nx.algebraic_connectivity(nx.complete_graph(5), backend="graphsqueak"), 6)
    5.0
    """
    edges = _absolute_edges(G, weight, method)
    if edges.components().any():
        return 0.0
    return float(_fiedler_pair(edges, normalized, tol, seed)[0])


def fiedler_vector(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> np.ndarray:
    """Return the eigenvector of the second smallest eigenvalue of the Laplacian [F73].

    Parameters
    ----------
    G : BackendGraph
    weight, normalized, tol, method, seed
        As in `algebraic_connectivity`.
    """
    edges = _absolute_edges(G, weight, method)
    if edges.components().any():
        raise nx.NetworkXError("graph is not connected.")
    # networkx has this vector without a scale for two nodes.
    return np.array([1.0, -1.0]) if len(G) == 2 else _fiedler_pair(edges, normalized, tol, seed)[1]


def spectral_ordering(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> list:
    """Return the nodes of every component in the order of its Fiedler vector.

    Parameters
    ----------
    G : BackendGraph
    weight, normalized, tol, method, seed
        As in `algebraic_connectivity`.
    """
    if len(G) == 0:
        raise nx.NetworkXError("graph is empty.")
    edges = _absolute_edges(G, weight, method, min_nodes=1)
    component = edges.components()
    order: list[int] = []
    for number in range(component.max() + 1):
        nodes = np.flatnonzero(component == number)
        if nodes.size > 2:
            part = induced_subgraph(edges, nodes)
            vector = _fiedler_pair(part, normalized, tol, seed)[1]
            nodes = nodes[np.argsort(vector, kind="stable")]
        order += nodes.tolist()
    return [G.names[node] for node in order]


def spectral_bisection(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> tuple[set, set]:
    """Return the nodes where the Fiedler vector is negative, and the others.

    Parameters
    ----------
    G : BackendGraph
    weight, normalized, tol, method, seed
        As in `algebraic_connectivity`.
    """
    vector = fiedler_vector(G, weight, normalized, tol, method, seed)
    negative = {name for name, entry in zip(G, vector, strict=True) if entry < 0}
    return negative, set(G) - negative


def laplacian_spectrum(G: BackendGraph, weight: str | None = "weight") -> np.ndarray:
    """Return all eigenvalues of the Laplacian in ascending order.

    Parameters
    ----------
    G : BackendGraph
    weight : str or None
        Edge attribute of the weights.
    """
    adjacency = G.matrix(G.weights(weight))
    laplacian = scipy.sparse.diags_array(adjacency.sum(axis=1)) - adjacency
    return scipy.linalg.eigvalsh(laplacian.toarray())


def number_of_spanning_trees(
    G: BackendGraph, *, root: Any = None, weight: str | None = None
) -> float:
    """Return the number of spanning trees, or the sum of their weights.

    Parameters
    ----------
    G : BackendGraph
    root : node
        Not used: the graph is undirected.
    weight : str, optional
        Edge attribute of the weights, whose product is the weight of a tree.

    Examples
    --------
    Cayley's formula gives n^(n-2):

    >>> import networkx as nx
    >>> round(nx.number_of_spanning_trees(nx.complete_graph(5), backend="graphsqueak"))
    125
    """
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Graph G must contain at least one node.")
    if G.n_components() > 1:
        return 0
    laplacian = G.conductances(weight).laplacian().toarray()
    # Kirchhoff's theorem: the determinant without one row and column.
    factor = cholesky_factor(np.ascontiguousarray(laplacian[1:, 1:]))
    with np.errstate(over="ignore"):
        return float(np.exp(2 * np.log(factor.diagonal()).sum()))


def _absolute_edges(G, weight, method, min_nodes=2):
    """Return the edges with absolute weights, without loops and zeros."""
    if len(G) < min_nodes:
        raise nx.NetworkXError("graph has less than two nodes.")
    if method not in METHODS:
        raise nx.NetworkXError(f"unknown method {method!r}.")
    upper = scipy.sparse.triu(G.matrix(np.abs(G.weights(weight))), k=1, format="coo")
    upper.eliminate_zeros()
    return EdgeList.from_validated(upper.row, upper.col, upper.data, len(G))


def _fiedler_pair(edges, normalized, tol, seed):
    """Return the second smallest eigenvalue of a connected graph, and its vector."""
    # networkx passes a numpy RandomState, and its tests count on its state.
    if isinstance(seed, np.random.RandomState):
        seed = seed.randint(2**31)
    values, vectors = laplacian_eigenpairs(
        edges, 1, normalized=normalized, tol=min(tol, 1e-8), random_state=seed
    )
    vector = vectors[:, 0]
    # The first entry that is not zero is negative.
    nonzero = vector[np.abs(vector) > 1e-9]
    return values[0], -vector if nonzero[0] > 0 else vector
