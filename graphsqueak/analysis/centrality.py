"""Which nodes and edges matter: PageRank, electrical closeness, spanning-edge centrality.

*PageRank* x of a walk along weights that starts afresh with probability 1 - a is
x = a A D^-1 x + (1 - a)/n. With y = D^-1 x that is a Laplacian with a ridge,

    (L + (1 - a)/a D) y = (1 - a)/(a n) 1,

some ten steps of conjugate gradients, or passes over a file, instead of a hundred of the walk.

*Electrical closeness* of u in a component of n nodes: (n - 1) / sum_v r(u, v), r the effective
resistance. With p = diag(L^+) the sum is n p_u + sum p. Like resistances
(`sparsifiers.resistance.sketch`), p is known exactly up to a part that is sketched with random
flows y and potentials L^+ y: with K = D^-1 + D^-1 A D^-1 and X = L^+ Y - D^-1 Y, centered,

    p_u = K_uu - 2/n (K 1)_u + 1'K 1 / n^2 + E X_u^2,

of relative standard deviation at most sqrt(2 / k) for k flows, and much less on dense graphs, where
the sketched part is small. Two numbers of the whole graph follow,

    Kirchhoff   sum over pairs of r(u, v) = n sum p
    Kemeny      sum_i 1 / mu_i = sum_u d_u p_u - d'L^+ d / sum d     steps to a node drawn by degree

*Spanning-edge centrality* of an edge is w r, the share of all spanning trees, by weight, that use
it.
"""

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.outofcore.resistances import effective_resistance, random_potentials
from graphsqueak.outofcore.streamed_solver import StreamedSolver
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sparsifiers.resistance.selected import has_small_separators
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["Ranking", "rank"]

_PILOT_PROBES = 32
_COLUMNS = 256  # at once
_SIGMAS = 6  # of a sketch, by which brackets are widened
_UNITS = {"pagerank": "PageRank", "closeness": "1 / mean resistance", "spanning": "share of trees"}


@dataclass(frozen=True)
class Ranking:
    """A score for every node or edge.

    Attributes
    ----------
    by : str
        What ranks: "pagerank", "closeness" or "spanning".
    scores : ndarray
        One for each node or, of "spanning", for each edge, in their order.
    ids : ndarray of shape (n_nodes,)
        The user's own name of each node.
    edges : ndarray of shape (n_edges, 2), or None
        The two nodes of each edge, where edges are ranked.
    error : float
        Mean relative standard deviation of a score; 0 where they were solved for.
    low, high : ndarray or None
        Of closeness, with a certificate: between them lie those of the graph that was sparsified.
    kirchhoff, kemeny : float
        Of closeness: the sum of all resistances, and the mean number of steps in which a walk meets
        a node drawn by its degree. Infinite for a graph of several components; else NaN.
    """

    by: str
    scores: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    edges: np.ndarray | None = field(default=None, repr=False)
    error: float = 0.0
    low: np.ndarray | None = field(default=None, repr=False)
    high: np.ndarray | None = field(default=None, repr=False)
    kirchhoff: float = float("nan")
    kemeny: float = float("nan")

    def __array__(self, dtype=None, copy=None):
        return np.array(self.scores, dtype=dtype, copy=copy)

    def top(self, n: int = 10) -> list[tuple]:
        """The first n: names of nodes, or pairs of them, with their scores.

        Parameters
        ----------
        n : int
        """
        first = np.argsort(-self.scores, kind="stable")[: check_count("n", n)]
        if self.edges is None:
            names = self.ids[first].tolist()
        else:
            names = [tuple(pair) for pair in self.ids[self.edges[first]].tolist()]
        return list(zip(names, self.scores[first].tolist(), strict=True))

    def rows(self) -> list[tuple]:
        """The first ten, as text; with brackets, if there are some."""
        first = np.argsort(-self.scores, kind="stable")[:10]
        rows = [(name, f"{score:.4g}") for name, score in self.top(10)]
        if self.low is None or self.high is None:
            return rows
        ends = zip(self.low[first], self.high[first], strict=True)
        return [(*row, f"{a:.4g} to {b:.4g}") for row, (a, b) in zip(rows, ends, strict=True)]

    def _header(self):
        what = "node" if self.edges is None else "edge"
        return (what, _UNITS[self.by], *([] if self.low is None else ["in the graph"]))

    def _caption(self):
        what = "nodes" if self.edges is None else "edges"
        parts = [f"{self.scores.size:,} {what} by {self.by}"]
        if self.error:
            parts.append(f"each within about {self.error:.1%}")
        if self.by == "closeness":
            parts.append(f"Kirchhoff {self.kirchhoff:.5g}, Kemeny {self.kemeny:.5g}")
        return "; ".join(parts)

    def __str__(self):
        return f"{self._caption()}\n{text_table(self.rows(), header=self._header())}"

    def _repr_html_(self):
        return html_table(self.rows(), header=self._header(), caption=self._caption())


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
    """Score nodes by PageRank or electrical closeness, or edges by how many trees need them.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        A file (`read_edges`) is read some times and never held.
    by : {"pagerank", "closeness", "spanning"}
    damping : float
        Of PageRank: the probability that the walk goes on.
    rtol : float
        Mean relative error that a sketch of closeness or of edges may have; up to 1,000 nodes in
        memory all is solved for, and on grids, roads, meshes and trees so are all edges.
    n_probes : int, optional
        Solves of the sketch. Default: as many as `rtol` needs, told by a pilot of 32.
    n_edges : int, optional
        Size of the sparsifier that helps where the graph is read. Default: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Ranking
        PageRank sums to 1. An isolated node has closeness 0.

    Examples
    --------
    The center of a star of four: resistances 1 to the center, 2 between leaves.

    >>> from graphsqueak.sources import star
    >>> graph = star(4).to_edge_list()
    >>> found = rank(graph, "closeness")
    >>> found.scores, found.kirchhoff
    (array([1. , 0.6, 0.6, 0.6]), 9.0)
    >>> rank(graph, "spanning").scores, rank(graph).top(1)[0][0]
    (array([1., 1., 1.]), 0)
    """
    check_choice("by", by, tuple(_UNITS))
    check_real("damping", damping, above=0.0, below=1.0)
    check_real("rtol", rtol, above=0.0)
    if n_probes is not None:
        check_count("n_probes", n_probes)
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    if by == "pagerank":
        return Ranking(by, _pagerank(opened, damping), opened.held.ids)
    if by == "spanning":
        return _spanning(opened, rtol, n_probes)
    return _closeness(opened, rtol, n_probes, progress)


def _pagerank(opened, damping, tol=1e-8):
    n, degree = opened.n_nodes, opened.degrees
    if n == 0:
        return np.zeros(0)
    unit = degree.max() or 1.0  # right-hand sides and ridge of one size
    solver = opened.solver(tol=tol, ridge=(1 - damping) / damping * degree)
    joined = degree > 0
    x = np.full(n, 1.0)
    if joined.any():
        solved = degree * solver.solve(joined * unit) / unit
        x = np.where(joined, solved / damping, 1.0)
    return x / x.sum()


def _spanning(opened, rtol, n_probes):
    options = {"rtol": rtol, "n_probes": n_probes, "random_state": opened.seed()}
    if opened.is_read:
        options |= {"sparsifier": opened.held, "progress": opened.progress}
    resistance = effective_resistance(opened.source, **options)
    batches = list(opened.batches())
    weight = np.concatenate([weight for _, _, weight in batches])
    ends = np.concatenate([np.column_stack([tail, head]) for tail, head, _ in batches])
    is_exact = not opened.is_read and n_probes is None
    is_exact &= opened.n_nodes <= MAX_DENSE_NODES or has_small_separators(opened.simple)
    scores = np.minimum(weight * resistance, 1.0)
    return Ranking("spanning", scores, opened.held.ids, ends, 0.0 if is_exact else rtol)


def _closeness(opened, rtol, n_probes, progress):
    size = np.bincount(opened.components, minlength=1)[opened.components]
    solver = opened.solver(tol=1e-10 if opened.n_nodes <= MAX_DENSE_NODES else 1e-6)
    if not opened.is_read and n_probes is None and opened.n_nodes <= MAX_DENSE_NODES:
        diagonal, error = _solved_diagonal(solver, size), np.zeros(opened.n_nodes)
    else:
        with reporter(progress, "sketching", unit="probes") as tell:
            diagonal, error = _sketched_diagonal(opened, solver, size, rtol, n_probes, tell)
    far = size * diagonal + np.bincount(opened.components, diagonal)[opened.components]
    scores = np.divide(size - 1, far, out=np.zeros(far.size), where=far > 0)
    low = high = None
    if opened.certificate is not None:
        # resistances, and so closeness upside down, lie between those times the two lambdas
        low, high = opened.certificate.bounds_on(scores, quantity="cuts")
        low, high = low / (1 + _SIGMAS * error), high * (1 + _SIGMAS * error)
    kirchhoff = kemeny = float("inf")
    if size.size and size[0] == opened.n_nodes:
        degree = opened.degrees
        across = degree @ solver.solve(degree - degree.mean()) if opened.n_nodes > 1 else 0.0
        kirchhoff = float(opened.n_nodes * diagonal.sum())
        kemeny = float(degree @ diagonal - across / max(degree.sum(), 1e-300))
    return Ranking(
        "closeness",
        scores,
        opened.held.ids,
        error=float(error.mean()) if error.size else 0.0,
        low=low,
        high=high,
        kirchhoff=kirchhoff,
        kemeny=kemeny,
    )


def _solved_diagonal(solver, size):
    """diag(L^+), a block of its columns at a time."""
    diagonal = np.zeros(size.size)
    for first in range(0, size.size, _COLUMNS):
        nodes = np.arange(first, min(first + _COLUMNS, size.size))
        unit = np.zeros((size.size, nodes.size))
        unit[nodes, nodes - first] = 1.0
        diagonal[nodes] = solver.solve(solver.centered(unit))[nodes, nodes - first]
    return diagonal


def _sketched_diagonal(opened, solver, size, rtol, n_probes, tell):
    """diag(L^+), and its relative standard deviation at every node."""
    degree, component = opened.degrees, opened.components
    inverse = np.divide(1.0, degree, out=np.zeros(degree.size), where=degree > 0)
    once = inverse.copy()  # K 1
    for tail, head, weight in opened.batches():
        once += inverse * np.bincount(tail, weight * inverse[head], degree.size)
        once += inverse * np.bincount(head, weight * inverse[tail], degree.size)
    known = inverse - 2 * once / size + np.bincount(component, once)[component] / size**2
    left, n_done, n_wanted = np.zeros(degree.size), 0, n_probes
    while n_wanted is None or n_done < n_wanted:
        wanted = _PILOT_PROBES if n_wanted is None else n_wanted - n_done
        for points in _centered_blocks(opened, solver, wanted, inverse, component, rtol):
            step = points.shape[1]
            left += ((points**2).mean(axis=1) - left) * step / (n_done + step)
            n_done += step
            tell(n_done, n_done / (n_wanted or np.nan), "")
        share = np.divide(left, known + left, out=np.zeros_like(left), where=known + left > 0)
        if n_wanted is None:
            n_wanted = int(np.ceil(2 * (share**2).mean() / rtol**2))
    return np.maximum(known + left, 0.0), share * np.sqrt(2 / n_done)


def _centered_blocks(opened, solver, n_probes, inverse, component, rtol):
    """X = L^+ Y - D^-1 Y of some random flows, less its mean over every component."""
    if isinstance(solver, StreamedSolver):
        rng = np.random.default_rng(opened.seed())
        for flows, points in random_potentials(opened.laplacian, solver, n_probes, rtol, rng):
            yield _centered(points - inverse[:, None] * flows, component)
        return
    simple = opened.simple
    for first in range(0, n_probes, _COLUMNS):
        few = min(_COLUMNS, n_probes - first)
        sketch = precise_embedding(simple, n_probes=few, seed=opened.seed())
        yield _centered(sketch.points.astype(np.float64), component)


def _centered(points, component):
    if component.max(initial=0) == 0:
        return points - points.mean(axis=0)
    count = np.bincount(component)
    sums = np.column_stack([np.bincount(component, column) for column in points.T])
    return points - (sums / count[:, None])[component]
