"""Centralities of current flow, and of random walks that current describes.

With R_uv the resistance of two nodes and C = L^+,

    closeness      1 / sum_w R_vw  =  1 / (n C_vv + trace C)            [BF05]
    betweenness    the current through a node, summed over all pairs (s, t) of source and sink: for
                   an edge e = {u, v} that is sum over pairs of w_e |F_s - F_t|, F = C_u - C_v, and
                   of sorted values sum_k (2k - n + 1) F_(k)            [BF05]
    second order   the standard deviation of return times of a walk that steps along edges, each
                   with probability w / d, d the largest degree: its hitting times are resistances.

References
----------
[BF05] Brandes, Fleischer. Centrality measures based on current flow. STACS 2005.
"""

from random import Random
from typing import Any

import networkx as nx
import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.integrations.networkx_backend.graph import BackendGraph
from graphsqueak.integrations.networkx_backend.resistances import (
    DENSE_NODES,
    diagonal_of_inverse,
    pseudo_inverse,
)
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.validation import check_choice

__all__ = [
    "approximate_current_flow_betweenness_centrality",
    "current_flow_betweenness_centrality",
    "current_flow_closeness_centrality",
    "second_order_centrality",
]

_ENTRIES = 1 << 23  # of a block: 64 MB
_PROBES = 512  # standard deviation of a sketched entry: sqrt(2 / probes), 6 %


def current_flow_closeness_centrality(
    G: BackendGraph,
    weight: str | None = None,
    dtype: Any = float,
    solver: str = "lu",
    *,
    method: str = "exact",
    tol: float = 1e-10,
) -> dict:
    """Current-flow closeness, which is information centrality, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    weight : str, optional
        Edge attribute of the conductances.
    dtype, solver
        Not used.
    method : {"exact", "sketch"}
        A sketch is within some percent, and answers for many nodes.
    tol : float
        Relative residual of the solves.

    Examples
    --------
    >>> import networkx as nx
    >>> nx.current_flow_closeness_centrality(nx.cycle_graph(4), backend="graphsqueak")[0]
    0.4
    """
    check_choice("method", method, ("exact", "sketch"))
    edges = _connected(G, weight)
    if len(G) == 1:
        raise ZeroDivisionError("a single node is close to nothing")  # as networkx does
    diagonal = _sketched(edges) if method == "sketch" else diagonal_of_inverse(edges, tol=tol)
    return dict(zip(G, (1 / (len(G) * diagonal + diagonal.sum())).tolist(), strict=True))


def current_flow_betweenness_centrality(
    G: BackendGraph,
    normalized: bool = True,
    weight: str | None = None,
    dtype: Any = float,
    solver: str = "full",
) -> dict:
    """Current-flow betweenness of the nodes, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    normalized : bool
        Whether to divide by the number of pairs of other nodes.
    weight : str, optional
        Edge attribute of the conductances.
    dtype, solver
        Not used.
    """
    edges = _connected(G, weight)
    n = len(G)
    if n > DENSE_NODES:
        raise NotImplementedError("exact betweenness of so many nodes takes too much memory")
    if n < 3:
        raise NotImplementedError("no node lies between fewer than three")
    inverse = pseudo_inverse(edges.laplacian())
    steps, through = 2.0 * np.arange(n) - n + 1, np.zeros(n)
    size = max(_ENTRIES // n, 1)
    for start in range(0, edges.n_edges, size):
        part = edges.part(start, start + size)
        flow = inverse[part.tail] - inverse[part.head]
        flow.sort(axis=1)
        amount = part.weight * (flow @ steps)
        through += np.bincount(part.tail, amount, n) + np.bincount(part.head, amount, n)
    through = through / 2 - (n - 1) / 2  # what begins or ends in a node does not count
    scale = 2 / ((n - 1) * (n - 2)) if normalized else 1.0
    return dict(zip(G, (scale * through).tolist(), strict=True))


def approximate_current_flow_betweenness_centrality(
    G: BackendGraph,
    normalized: bool = True,
    weight: str | None = None,
    dtype: Any = float,
    solver: str = "full",
    epsilon: float = 0.5,
    kmax: int = 10000,
    seed: Random | None = None,
    *,
    sample_weight: float = 1,
    tol: float = 1e-8,
) -> dict:
    """Current-flow betweenness within epsilon, from pairs that are drawn, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    normalized : bool
        Whether to divide by the number of pairs of other nodes.
    weight : str, optional
        Edge attribute of the conductances.
    dtype, solver
        Not used.
    epsilon : float
        Absolute error.
    kmax : int
        Most pairs that may be drawn.
    seed : random.Random
        Draws them; another order of nodes makes them other pairs than networkx's.
    sample_weight : float
        Pairs are this many times as many.
    tol : float
        Relative residual of the solves.
    """
    edges = _connected(G, weight)
    n = len(G)
    if n < 3:
        return dict.fromkeys(G, 0.0)
    if epsilon <= 0:
        raise nx.NetworkXError(f"Epsilon must be positive. Got {epsilon=}.")
    if sample_weight <= 0:
        raise nx.NetworkXError(f"Sample weight must be positive. Got {sample_weight=}.")
    n_pairs = (n - 1.0) * (n - 2.0)
    share = n * (n - 1) / n_pairs
    k = int(sample_weight * np.ceil((share / epsilon) ** 2 * np.log(n)))
    if k > kmax:
        message = f"Number random pairs k>kmax ({k}>{kmax}) "
        raise nx.NetworkXError(message, "Increase kmax or epsilon")
    draw = Random() if seed is None else seed
    pairs = np.array([draw.sample(range(n), 2) for _ in range(k)])
    solve = LaplacianSolver(edges, tol=tol, random_state=0).solve
    ends = abs(edges.incidence()).T.tocsr()
    through, size = np.zeros(n), max(_ENTRIES // max(edges.n_edges, n), 1)
    for start in range(0, k, size):
        chosen = pairs[start : start + size]
        column = np.arange(len(chosen))
        currents = np.zeros((n, len(chosen)))
        currents[chosen[:, 0], column], currents[chosen[:, 1], column] = 1.0, -1.0
        potential = solve(currents)
        flow = edges.weight[:, None] * np.abs(potential[edges.tail] - potential[edges.head])
        inside = ends @ flow
        inside[chosen[:, 0], column] = inside[chosen[:, 1], column] = 0.0
        through += inside.sum(axis=1)
    scale = share / (2 * k) * (1.0 if normalized else n_pairs / 2)
    return dict(zip(G, (scale * through).tolist(), strict=True))


def second_order_centrality(G: BackendGraph, weight: str = "weight") -> dict:
    """The standard deviation of return times to each node, as networkx has it.

    Parameters
    ----------
    G : BackendGraph
    weight : str
        Edge attribute of the weights: "weight".
    """
    n = len(G)
    if n == 0:
        raise nx.NetworkXException("Empty graph.")
    if G.n_parts() > 1:
        raise nx.NetworkXException("Non connected graph.")
    values = G.weights(weight)
    if (values < 0).any():
        raise nx.NetworkXException("Graph has negative edge weights.")
    if G.matrix(values).diagonal().any() or n == 1:
        raise NotImplementedError("graphs without loops are walked on here")
    edges = G.conductances(weight)
    largest = edges.degrees().max()
    sums = largest * n**2 * diagonal_of_inverse(edges, tol=1e-10) + n  # of times to reach a node
    return dict(zip(G, np.sqrt(2 * sums - n * (n + 1)).tolist(), strict=True))


def _connected(G: BackendGraph, weight: str | None) -> EdgeList:
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if G.n_parts() > 1:
        raise nx.NetworkXError("Graph not connected.")
    return G.conductances(weight)


def _sketched(edges):
    """The diagonal of L^+: the lengths of its rows in random directions of the edges."""
    solver, rng = LaplacianSolver(edges, tol=1e-4, random_state=0), np.random.default_rng(0)
    incidence, sums = edges.incidence().T.tocsr(), np.zeros(edges.n_nodes)
    for _ in range(_PROBES // 64):
        signs = rng.choice([-1.0, 1.0], (edges.n_edges, 64)) * np.sqrt(edges.weight)[:, None]
        sums += (solver.solve(incidence @ signs) ** 2).sum(axis=1)
    return sums / _PROBES
