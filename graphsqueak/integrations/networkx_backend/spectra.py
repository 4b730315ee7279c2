"""Eigenvalues and determinants of Laplacians: Fiedler's vector, its orders, spanning trees.

Of a small graph the whole Laplacian is diagonalized. On a larger one Lanczos looks for the smallest
eigenvalue beside that of the constants, which are moved out of its way; where it lies too near its
neighbors to be found so (long, thin graphs), Lanczos turns to L^+, with one solve a step.

References
----------
[F73] Fiedler. Algebraic connectivity of graphs. Czechoslovak Mathematical Journal 23, 1973.
"""

from typing import Any

import networkx as nx
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.csgraph import connected_components

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.integrations.networkx_backend.graph import BackendGraph
from graphsqueak.solvers.laplacian_solver import LaplacianSolver

__all__ = [
    "algebraic_connectivity",
    "fiedler_vector",
    "laplacian_spectrum",
    "number_of_spanning_trees",
    "spectral_bisection",
    "spectral_ordering",
]

_DENSE_NODES = 300
_RESTARTS = 12  # of Lanczos on L itself, with 40 vectors
_METHODS = ("tracemin_pcg", "tracemin_lu", "lanczos", "lobpcg", "tracemin")


def algebraic_connectivity(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> float:
    """The second smallest eigenvalue of the Laplacian [F73], as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    weight : str or None
        Edge attribute of the weights, of which absolute values are taken.
    normalized : bool
        Whether the Laplacian is the normalized one.
    tol : float
        Relative accuracy of the eigenvalue.
    method : str
        One of networkx's names; what is done here is the same for all.
    seed : numpy.random.RandomState
        Draws the start of the iteration.

    Examples
    --------
    >>> import networkx as nx
    >>> round(nx.algebraic_connectivity(nx.complete_graph(5), backend="graphsqueak"), 6)
    5.0
    """
    adjacency = _absolute(G, weight, method)
    if _components(adjacency)[0] > 1:
        return 0.0
    if len(G) == 2:
        return 2.0 if normalized else float(2 * adjacency.sum(axis=1)[0])
    return float(_fiedler(adjacency, normalized, tol, seed)[0])


def fiedler_vector(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> np.ndarray:
    """The eigenvector of the second smallest eigenvalue of the Laplacian [F73].

    Parameters
    ----------
    G : BackendGraph
    weight, normalized, tol, method, seed
        As of `algebraic_connectivity`.
    """
    adjacency = _absolute(G, weight, method)
    if _components(adjacency)[0] > 1:
        raise nx.NetworkXError("graph is not connected.")
    if len(G) == 2:
        return np.array([1.0, -1.0])
    return _fiedler(adjacency, normalized, tol, seed)[1]


def spectral_ordering(
    G: BackendGraph,
    weight: str | None = "weight",
    normalized: bool = False,
    tol: float = 1e-8,
    method: str = "tracemin_pcg",
    seed: Any = None,
) -> list:
    """The nodes of every component in the order of its Fiedler vector, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    weight, normalized, tol, method, seed
        As of `algebraic_connectivity`.
    """
    if len(G) == 0:
        raise nx.NetworkXError("graph is empty.")
    adjacency = _absolute(G, weight, method, fewest=1)
    n_components, component = _components(adjacency)
    order: list[int] = []
    for number in range(n_components):
        nodes = np.flatnonzero(component == number)
        if nodes.size > 2:
            part = adjacency[nodes][:, nodes]
            nodes = nodes[np.argsort(_fiedler(part, normalized, tol, seed)[1], kind="stable")]
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
    """The nodes where the Fiedler vector is negative, and the others.

    Parameters
    ----------
    G : BackendGraph
    weight : str or None
        Edge attribute of the weights, of which absolute values are taken.
    normalized : bool
        Whether the Laplacian is the normalized one.
    tol : float
        Relative accuracy of the eigenvalue.
    method : str
        One of networkx's names; what is done here is the same for all.
    seed : int or numpy.random.RandomState
        Draws the start of the iteration.
    """
    is_high = fiedler_vector(G, weight, normalized, tol, method, seed) >= 0
    low = {name for name, high in zip(G, is_high.tolist(), strict=True) if not high}
    return low, set(G) - low


def laplacian_spectrum(G: BackendGraph, weight: str | None = "weight") -> np.ndarray:
    """All eigenvalues of the Laplacian, ascending.

    Parameters
    ----------
    G : BackendGraph
    weight : str or None
        Edge attribute of the weights.
    """
    return scipy.linalg.eigvalsh(_laplacian(G.matrix(G.weights(weight))).toarray())


def number_of_spanning_trees(
    G: BackendGraph, *, root: Any = None, weight: str | None = None
) -> float:
    """The number of spanning trees, or the sum of their weights: a minor of the Laplacian.

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
    if G.n_parts() > 1:
        return 0
    laplacian = G.conductances(weight).laplacian().toarray()
    factor, info = scipy.linalg.lapack.dpotrf(laplacian[1:, 1:], lower=1)
    if info:
        raise NotImplementedError("weights are too far apart for a factorization")
    with np.errstate(over="ignore"):
        return float(np.exp(2 * np.log(factor.diagonal()).sum()))


def _absolute(G, weight, method, fewest=2):
    """Absolute weights as a matrix without loops and zeros."""
    if len(G) < fewest:
        raise nx.NetworkXError("graph has less than two nodes.")
    if method not in _METHODS:
        raise nx.NetworkXError(f"unknown method {method!r}.")
    matrix = G.matrix(np.abs(G.weights(weight)))
    matrix = (matrix - scipy.sparse.diags_array(matrix.diagonal())).tocsr()
    matrix.eliminate_zeros()
    return matrix


def _components(adjacency):
    return connected_components(adjacency, directed=False)


def _laplacian(adjacency):
    return (scipy.sparse.diags_array(adjacency.sum(axis=1)) - adjacency).tocsr()


def _fiedler(adjacency, normalized, tol, seed):
    """The second smallest eigenvalue of a connected graph's Laplacian, and its vector."""
    n_nodes, laplacian = adjacency.shape[0], _laplacian(adjacency)
    constant = np.ones(n_nodes)
    if normalized:
        constant = np.sqrt(adjacency.sum(axis=1))
        scale = scipy.sparse.diags_array(1 / constant)
        laplacian = (scale @ laplacian @ scale).tocsr()
    constant = constant / np.linalg.norm(constant)
    if n_nodes <= _DENSE_NODES:
        value, vector = scipy.linalg.eigh(laplacian.toarray(), subset_by_index=[1, 1])
        return value[0], _signed(vector[:, 0])
    rng = np.random.default_rng(seed.randint(2**31) if hasattr(seed, "randint") else seed)
    start = rng.normal(size=n_nodes)
    start -= constant * (constant @ start)
    largest = 2 * laplacian.diagonal().max()  # no eigenvalue is larger
    moved = scipy.sparse.linalg.LinearOperator(
        laplacian.shape,
        matvec=lambda x: laplacian @ x.ravel() + largest * constant * (constant @ x.ravel()),
        dtype=np.float64,
    )
    settings = {"v0": start, "tol": min(tol, 1e-8)}
    try:
        value, vector = scipy.sparse.linalg.eigsh(
            moved, 1, which="SA", ncv=40, maxiter=_RESTARTS, **settings
        )
    except scipy.sparse.linalg.ArpackNoConvergence:
        if normalized:
            raise NotImplementedError("the spectrum is too narrow at its end") from None
        upper = scipy.sparse.triu(adjacency, format="coo")
        edges = EdgeList.from_validated(upper.row, upper.col, upper.data, n_nodes)
        solver = LaplacianSolver(edges, tol=1e-10, random_state=rng)
        inverse = scipy.sparse.linalg.LinearOperator(
            laplacian.shape,
            matvec=lambda x: solver.solve(solver.centered(x.ravel())),
            dtype=np.float64,
        )
        value, vector = scipy.sparse.linalg.eigsh(inverse, 1, which="LA", **settings)
        value = 1 / value
    return value[0], _signed(vector[:, 0])


def _signed(vector):
    """The vector or its negative: what the first node has is not positive."""
    clear = np.flatnonzero(np.abs(vector) > 1e-9)
    return -vector if clear.size and vector[clear[0]] > 0 else vector
