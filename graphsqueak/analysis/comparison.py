"""What users look at, on the graph and on its sparsifier side by side.

Epsilon bounds the worst case. Cuts, resistances, eigenvalues and the order of PageRank are what
people compute, and are mostly far better than the worst case.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.stats

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.eigenpairs import smallest_eigenpairs
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.validation import check_count

__all__ = ["Comparison", "compare"]

_DAMPING, _PAGERANK_STEPS = 0.85, 100


@dataclass(frozen=True)
class Comparison:
    """Quantities of a graph and of its sparsifier.

    Attributes
    ----------
    pairs : dict
        For each name two arrays, one value per cut, pair of nodes, eigenvalue or node: on the graph
        and on the sparsifier.
    rank_correlation : float
        Spearman's, of the two orders by PageRank; NaN where all nodes rank alike.
    top_overlap : float
        Share of the 100 (or a tenth of the) nodes of highest PageRank that both agree on.
    brackets : dict
        With a certificate: for cuts, resistances and eigenvalues two arrays between which the
        graph's values are proved to lie, from those of the sparsifier alone.
    """

    pairs: dict = field(repr=False)
    rank_correlation: float
    top_overlap: float
    brackets: dict = field(default_factory=dict, repr=False)

    def rows(self) -> list[tuple[str, float, float]]:
        """Name, median and largest relative error of every quantity."""
        rows = []
        for name, (whole, sparse) in self.pairs.items():
            error = np.abs(sparse / whole - 1)
            rows.append((name, float(np.median(error)), float(error.max())))
        return rows

    def __str__(self):
        lines = [f"{'relative error':<22} {'median':>9} {'largest':>9}"]
        lines += [f"{name:<22} {middle:>9.2%} {most:>9.2%}" for name, middle, most in self.rows()]
        lines.append(f"{'PageRank order':<22} rank correlation {self.rank_correlation:.4f}, ")
        lines[-1] += f"{self.top_overlap:.0%} of the top nodes agree"
        for name, (low, high) in self.brackets.items():
            sparse = self.pairs[name][1]
            span = f"{(low / sparse).min():.3g} to {(high / sparse).max():.3g}"
            lines.append(f"{name:<22} proved: the graph's are {span} times the sparsifier's")
        return "\n".join(lines)

    def _repr_html_(self):
        from graphsqueak.report.table import html_table

        rows = [(name, f"{middle:.2%}", f"{most:.2%}") for name, middle, most in self.rows()]
        rows.append(("PageRank order", f"{self.rank_correlation:.4f}", f"{self.top_overlap:.0%}"))
        return html_table(rows, header=("relative error", "median", "largest"))

    def plot(self) -> Any:
        """One panel per quantity: the sparsifier's value against the graph's."""
        from graphsqueak.report.figure import side_by_side

        return side_by_side(self.pairs)


def compare(
    graph: GraphLike,
    sparsifier: GraphLike,
    *,
    n_samples: int = 100,
    n_eigenvalues: int = 20,
    certificate: Certificate | None = None,
    random_state: RandomState = None,
) -> Comparison:
    """Compare what is computed on `sparsifier` with what is computed on `graph`.

    Parameters
    ----------
    graph, sparsifier : any graph
        Both are held in memory; nodes are matched by id.
    n_samples : int
        Random cuts, and random pairs of nodes for effective resistances.
    n_eigenvalues : int
        Smallest positive eigenvalues of both Laplacians. The signs of the graph's eigenvectors are
        its cluster cuts.
    certificate : Certificate, optional
        Of `sparsifier`, without a ridge; it brackets cuts, resistances and eigenvalues. Default:
        the one that `sparsifier` carries, if it does.
    random_state : int, Generator or None

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from graphsqueak.sources import barbell
    >>> graph = barbell(8).to_edge_list()
    >>> double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    >>> print(compare(graph, double, random_state=3))
    relative error            median   largest
    random cuts              100.00%   100.00%
    cluster cuts             100.00%   100.00%
    resistances               50.00%    50.00%
    eigenvalues              100.00%   100.00%
    PageRank                   0.00%     0.00%
    PageRank order         rank correlation 1.0000, 100% of the top nodes agree
    """
    check_count("n_samples", n_samples)
    check_count("n_eigenvalues", n_eigenvalues)
    rng = np.random.default_rng(random_state)
    whole, given = as_edge_list(graph), as_edge_list(sparsifier)
    sparse = _on_nodes_of(whole, given)
    both = (whole, sparse)
    values, vectors = smallest_eigenpairs(whole, n_eigenvalues, random_state=rng)
    others, _ = smallest_eigenpairs(sparse, n_eigenvalues, random_state=rng)
    halves = rng.random((whole.n_nodes, n_samples)) < 0.5
    nodes = _random_pairs(whole, n_samples, rng)
    ranks = [_pagerank(graph) for graph in both]
    top = [set(np.argsort(-rank)[: min(100, max(1, rank.size // 10))]) for rank in ranks]
    pairs = {
        "random cuts": [_cuts(graph, halves) for graph in both],
        "cluster cuts": [_cuts(graph, vectors > 0) for graph in both],
        "resistances": [effective_resistance(graph, nodes, method="exact") for graph in both],
        "eigenvalues": [values, others],
        "PageRank": ranks,
    }
    pairs = {name: pair for name, pair in pairs.items() if pair[0].size}
    known = given.certificate if certificate is None else certificate
    return Comparison(
        pairs=pairs,
        rank_correlation=_rank_correlation(*ranks),
        top_overlap=len(top[0] & top[1]) / len(top[0]),
        brackets={} if known is None or known.ridge else _brackets(pairs, known),
    )


def _brackets(pairs, certificate):
    kinds = {name: name.split()[-1] for name in pairs if name != "PageRank"}
    return {name: certificate.brackets(pairs[name][1], of=kind) for name, kind in kinds.items()}


def _on_nodes_of(whole, sparse):
    """The sparsifier in the numbering of the graph."""
    tail, head = NodeMatching(whole).ends(sparse)
    return EdgeList.from_clean(tail, head, sparse.weight, whole.n_nodes, whole.own_ids)


def _cuts(graph, sides):
    """Weight between the two sides, one column each."""
    crossing = sides[graph.tail] != sides[graph.head]
    return graph.weight @ crossing


def _random_pairs(graph, n_pairs, rng):
    """Pairs of different nodes of one component."""
    component = graph.components()
    order = np.argsort(component, kind="stable")
    size = np.bincount(component)
    begin = np.cumsum(size) - size
    first = rng.choice(np.flatnonzero(size[component] > 1), n_pairs)
    own = component[first]
    shift = rng.integers(1, size[own])
    rank = np.empty(graph.n_nodes, dtype=np.int64)
    rank[order] = np.arange(graph.n_nodes)
    second = order[begin[own] + (rank[first] - begin[own] + shift) % size[own]]
    return np.column_stack([first, second])


def _rank_correlation(first, second):
    """Spearman's coefficient; NaN where all nodes rank alike."""
    if min(np.ptp(first) / first.max(), np.ptp(second) / second.max()) < 1e-9:
        return float("nan")
    return float(scipy.stats.spearmanr(first, second).statistic)


def _pagerank(graph):
    """Stationary distribution of a walk along weights that starts afresh now and then."""
    adjacency, degree = graph.to_scipy(), graph.degrees()
    step = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    rank = np.full(graph.n_nodes, 1 / graph.n_nodes)
    for _ in range(_PAGERANK_STEPS):
        rank = _DAMPING * (adjacency @ (rank * step))
        rank += (1 - rank.sum()) / graph.n_nodes
    return rank
