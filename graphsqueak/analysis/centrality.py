"""Centrality of nodes and edges: PageRank, electrical closeness, spanning-edge centrality.

*PageRank* x of a random walk along weights, which restarts at a random node with probability 1 - a,
satisfies x = a A D^-1 x + (1 - a)/n. With y = D^-1 x this is a Laplacian system with a ridge,

    (L + (1 - a)/a D) y = (1 - a)/(a n) 1,

which takes about ten iterations of conjugate gradients, or passes over a file, instead of a hundred
steps of the walk.

*Electrical closeness* of u in a component of n nodes is (n - 1) / sum_v r(u, v), with r the
effective resistance. With p = diag(L^+) the sum is n p_u + sum p. On large graphs, p is known
exactly up to a part that is sketched, as for resistances (`sparsifiers.resistance.sketch`). With
random right-hand sides Y, K = D^-1 + D^-1 A D^-1, and X = L^+ Y - D^-1 Y, centered,

    p_u = K_uu - 2/n (K 1)_u + 1'K 1 / n^2 + E X_u^2.

The relative standard deviation is at most sqrt(2 / k) for k columns, and much smaller on dense
graphs, where the sketched part is small. Two numbers of the whole graph follow:

    Kirchhoff index     sum over pairs of r(u, v) = n sum p
    Kemeny's constant   sum_i 1 / mu_i = sum_u d_u p_u - d'L^+ d / sum d

Kemeny's constant is the mean number of steps of a random walk to a node that is drawn with
probability proportional to its degree.

*Spanning-edge centrality* of an edge is w r, the fraction of spanning trees, by weight, that
contain it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph
from graphsqueak.analysis.results import TableResult, bound_columns, bound_names
from graphsqueak.outofcore.resistances import (
    MAX_COLUMNS,
    effective_resistance,
    random_potentials,
)
from graphsqueak.outofcore.streamed_solver import StreamedSolver
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES, project_out_constants
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sparsifiers.resistance.effective import N_PILOT_PROBES
from graphsqueak.sparsifiers.resistance.selected import has_small_separators
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, check_real, explain_keywords

# Standard deviations of a sketch by which bounds are widened, so that all nodes are covered: chance
# exceeds them at one node of 500 million. Halved, at three nodes of 1,000; doubled, the part of the
# bounds that is due to the sketch is twice as wide.
N_SIGMAS = 6
SCORE_NAMES = {
    "pagerank": "PageRank",
    "closeness": "1 / mean resistance",
    "spanning": "fraction of trees",
}


@dataclass(frozen=True)
class Ranking(TableResult):
    """Scores of `rank`. `numpy.asarray` returns `scores`.

    As a data frame (`to_pandas`, `to_polars`) it has the columns node and score, or source, target
    and score if edges are ranked, and the bounds if there are any.

    Attributes
    ----------
    by : str
        "pagerank", "closeness" or "spanning".
    scores : ndarray
        One score per node or, for "spanning", per edge, in their order.
    ids : ndarray of shape (n_nodes,)
        Id of each node.
    edges : ndarray of shape (n_edges, 2), or None
        The two nodes of each edge, if edges are ranked.
    error : float
        Mean relative standard deviation of a score; 0 if the scores are exact.
    lower, upper : ndarray or None
        Bounds on the closeness in the graph that was sparsified, if there is a certificate.
    kirchhoff, kemeny : float
        Kirchhoff index and Kemeny's constant, for "closeness"; infinite if there are several
        components. NaN for other scores.
    """

    _array = "scores"

    by: str
    scores: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    edges: np.ndarray | None = field(default=None, repr=False)
    error: float = 0.0
    lower: np.ndarray | None = field(default=None, repr=False)
    upper: np.ndarray | None = field(default=None, repr=False)
    kirchhoff: float = float("nan")
    kemeny: float = float("nan")

    def top(self, n: int = 10) -> list[tuple]:
        """Return the ids of the n nodes, or pairs of ids of the n edges, with the highest scores.

        Parameters
        ----------
        n : int

        Returns
        -------
        list of (id, score)
        """
        first = self._order()[: check_count("n", n)]
        return list(zip(self._names(first), self.scores[first].tolist(), strict=True))

    def rows(self) -> list[tuple]:
        """Return id, score and bounds of the ten highest scores."""
        first = self._order()[:10]
        columns = [self.scores, *bound_columns(self.lower, self.upper)]
        cells = [[f"{x:.4g}" for x in column[first]] for column in columns]
        return list(zip(self._names(first), *cells, strict=True))

    def _columns(self):
        if self.edges is None:
            columns = {"node": self.ids, "score": self.scores}
        else:
            source, target = self.ids[self.edges].T
            columns = {"source": source, "target": target, "score": self.scores}
        bounds = bound_columns(self.lower, self.upper)
        return columns | dict(zip(("lower", "upper"), bounds, strict=False))

    def _order(self):
        return np.argsort(-self.scores, kind="stable")

    def _names(self, selected):
        if self.edges is None:
            return self.ids[selected].tolist()
        return [tuple(pair) for pair in self.ids[self.edges[selected]].tolist()]

    def _header(self):
        kind = "node" if self.edges is None else "edge"
        return (kind, SCORE_NAMES[self.by], *bound_names(self.lower))

    def _caption(self):
        kind = "nodes" if self.edges is None else "edges"
        parts = [f"{self.scores.size:,} {kind} by {self.by}"]
        if self.error:
            parts.append(f"each within about {self.error:.1%}")
        if self.by == "closeness":
            parts.append(f"Kirchhoff {self.kirchhoff:.5g}, Kemeny {self.kemeny:.5g}")
        return "; ".join(parts)


@explain_keywords()
def rank(
    graph: GraphLike,
    by: str = "pagerank",
    *,
    damping: float = 0.85,
    rtol: float = 0.05,
    n_probes: int | None = None,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Ranking:
    """Rank nodes by PageRank or electrical closeness, or edges by spanning-edge centrality.

    Use "pagerank" for importance by links, "closeness" for nodes that are well connected to all
    others, and "spanning" for edges that are hard to replace, such as bridges.

    Parameters
    ----------
    graph : GraphLike
        A file is streamed in several passes.
    by : {"pagerank", "closeness", "spanning"}
    damping : float
        PageRank only: probability that the walk does not restart.
    rtol : float
        Mean relative error of "closeness" and "spanning" if they are sketched. Results are exact
        for up to 1,000 nodes in memory, and "spanning" also on grids, roads, meshes and trees.
    n_probes : int, optional
        Number of right-hand sides of the sketch. Default: the number needed for `rtol`, estimated
        from the first 32.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Ranking
        PageRank sums to 1. An isolated node has closeness 0.

    Examples
    --------
    A star with a center and three leaves. Resistances are 1 from the center, 2 between leaves:

    >>> from graphsqueak.sources import star
    >>> graph = star(4).to_edge_list()
    >>> found = rank(graph, "closeness")
    >>> found.scores, found.kirchhoff
    (array([1. , 0.6, 0.6, 0.6]), 9.0)
    >>> rank(graph, "spanning").scores, rank(graph).top(1)[0][0]
    (array([1., 1., 1.]), 0)
    """
    check_choice("by", by, tuple(SCORE_NAMES))
    check_real("damping", damping, above=0.0, below=1.0)
    check_real("rtol", rtol, above=0.0)
    if n_probes is not None:
        check_count("n_probes", n_probes)
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    if by == "pagerank":
        return Ranking(by, _pagerank(analyzed, damping), analyzed.ids)
    if by == "spanning":
        return _rank_edges(analyzed, rtol, n_probes)
    return _rank_by_closeness(analyzed, rtol, n_probes)


def _pagerank(graph, damping):
    n_nodes = graph.n_nodes
    degree = graph.degrees
    if n_nodes == 0:
        return np.zeros(0)
    # Right-hand sides of the size of the ridge, so that neither is rounded to zero.
    unit = degree.max() or 1.0
    solver = graph.solver(tol=1e-8, ridge=(1 - damping) / damping * degree)
    has_edges = degree > 0
    # A walk at an isolated node restarts there, with score 1 before normalization.
    x = np.ones(n_nodes)
    if has_edges.any():
        solution = degree * solver.solve(has_edges * unit) / unit
        x[has_edges] = solution[has_edges] / damping
    return x / x.sum()


def _rank_edges(graph, rtol, n_probes):
    resistance = effective_resistance(
        graph.source,
        rtol=rtol,
        n_probes=n_probes,
        sparsifier=graph.in_memory if graph.is_streamed else None,
        random_state=graph.new_seed(),
        progress=graph.progress,
    )
    batches = list(graph.batches("reading edges"))
    weight = np.concatenate([weight for _, _, weight in batches])
    ends = np.concatenate([np.column_stack([tail, head]) for tail, head, _ in batches])
    is_exact = _is_solved(graph, n_probes)
    # A sparse factorization gives all edges of graphs with small separators.
    if not is_exact and not graph.is_streamed and n_probes is None:
        is_exact = has_small_separators(graph.in_memory.simplified())
    # A sketch may exceed the probability 1 of a bridge.
    scores = np.minimum(weight * resistance, 1.0)
    return Ranking("spanning", scores, graph.ids, ends, error=0.0 if is_exact else rtol)


def _rank_by_closeness(graph, rtol, n_probes):
    # Number of nodes of the component of each node.
    size = np.bincount(graph.components, minlength=1)[graph.components]
    # Small graphs are solved to rounding.
    solver = graph.solver(tol=1e-10 if graph.n_nodes <= MAX_DENSE_NODES else 1e-6)
    if _is_solved(graph, n_probes):
        diagonal = inverse_diagonal(solver, graph.n_nodes)
        error = np.zeros(graph.n_nodes)
    else:
        diagonal, error = _sketch_inverse_diagonal(graph, solver, size, rtol, n_probes)
    # sum_v r(u, v) = n p_u + sum p over the component of u
    total = np.bincount(graph.components, diagonal)[graph.components]
    resistance_sum = size * diagonal + total
    scores = np.zeros(size.size)
    np.divide(size - 1, resistance_sum, out=scores, where=resistance_sum > 0)
    # Closeness is the inverse of a resistance, and has the bounds of cuts.
    lower, upper = graph.bounds_on(scores, "cuts")
    if lower is not None and upper is not None:
        lower = lower / (1 + N_SIGMAS * error)
        upper = upper * (1 + N_SIGMAS * error)
    kirchhoff = float("inf")
    kemeny = float("inf")
    if size.size and size[0] == graph.n_nodes:
        degree = graph.degrees
        # The equations of the module docstring; a single node has no walks.
        kirchhoff = float(graph.n_nodes * diagonal.sum())
        kemeny = 0.0
        if graph.n_nodes > 1:
            potential = solver.solve(degree - degree.mean())
            kemeny = float(degree @ diagonal - degree @ potential / degree.sum())
    return Ranking(
        "closeness",
        scores,
        graph.ids,
        error=float(error.mean()) if error.size else 0.0,
        lower=lower,
        upper=upper,
        kirchhoff=kirchhoff,
        kemeny=kemeny,
    )


def _is_solved(graph, n_probes):
    """Return whether the graph is so small that resistances are exact."""
    return not graph.is_streamed and n_probes is None and graph.n_nodes <= MAX_DENSE_NODES


def inverse_diagonal(solver: LaplacianSolver, n_nodes: int) -> np.ndarray:
    """Return diag(L^+) by one solve per node.

    >>> from graphsqueak.graph import EdgeList
    >>> inverse_diagonal(LaplacianSolver(EdgeList(tail=[0], head=[1])), 2)
    array([0.25, 0.25])
    """
    diagonal = np.zeros(n_nodes)
    for first in range(0, n_nodes, MAX_COLUMNS):
        nodes = np.arange(first, min(first + MAX_COLUMNS, n_nodes))
        column = nodes - first
        unit_vectors = np.zeros((n_nodes, nodes.size))
        unit_vectors[nodes, column] = 1.0
        diagonal[nodes] = solver.solve(solver.centered(unit_vectors))[nodes, column]
    return diagonal


def _sketch_inverse_diagonal(graph, solver, size, rtol, n_probes):
    """Return diag(L^+), and its relative standard deviation at each node."""
    degree = graph.degrees
    component = graph.components
    inverse = np.divide(1.0, degree, out=np.zeros(degree.size), where=degree > 0)
    # K 1, in one pass
    row_sum = inverse.copy()
    for tail, head, weight in graph.batches("summing weights"):
        row_sum += inverse * np.bincount(tail, weight * inverse[head], degree.size)
        row_sum += inverse * np.bincount(head, weight * inverse[tail], degree.size)
    total = np.bincount(component, row_sum)[component]
    known = inverse - 2 * row_sum / size + total / size**2
    sketched = np.zeros(degree.size)
    n_done = 0
    n_needed = n_probes
    with reporter(graph.progress, "sketching", unit="probes") as report:
        while n_needed is None or n_done < n_needed:
            n_columns = N_PILOT_PROBES if n_needed is None else n_needed - n_done
            for points in _random_points(graph, solver, n_columns, inverse, rtol):
                width = points.shape[1]
                # Running mean over all columns.
                n_done += width
                sketched += ((points**2).mean(axis=1) - sketched) * width / n_done
                report(n_done, n_done / (n_needed or np.nan), "")
            whole = known + sketched
            fraction = np.divide(sketched, whole, out=np.zeros_like(whole), where=whole > 0)
            # Only the sketched fraction has noise, of relative variance 2 / k.
            if n_needed is None:
                n_needed = int(np.ceil(2 * (fraction**2).mean() / rtol**2))
    return np.maximum(known + sketched, 0.0), fraction * np.sqrt(2 / n_done)


def _random_points(graph, solver, n_probes, inverse, rtol):
    """Yield blocks of X = L^+ Y - D^-1 Y, minus their mean over every component."""
    ones = np.ones(graph.n_nodes)
    if isinstance(solver, StreamedSolver):
        rng = np.random.default_rng(graph.new_seed())
        for rhs, potentials in random_potentials(graph.laplacian, solver, n_probes, rtol, rng):
            points = potentials - inverse[:, None] * rhs
            yield project_out_constants(points, graph.components, ones)
        return
    simple = graph.in_memory.simplified()
    for first in range(0, n_probes, MAX_COLUMNS):
        n_columns = min(MAX_COLUMNS, n_probes - first)
        embedding = precise_embedding(simple, n_probes=n_columns, seed=graph.new_seed())
        points = embedding.points.astype(np.float64)
        yield project_out_constants(points, graph.components, ones)
