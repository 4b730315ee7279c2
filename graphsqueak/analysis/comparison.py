"""What users look at, on the graph, on its sparsifier and on as many edges drawn uniformly.

Epsilon bounds the worst case. Cuts, resistances, eigenvalues, PageRank and clusters are what people
compute, and are mostly far better than the worst case. Whether a sparsifier was worth its while is
told by what random edges, which cost nothing, would have kept: on dense graphs without weak cuts
that is as much, and then it is said.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.stats

from graphsqueak.analysis.centrality import rank
from graphsqueak.analysis.community import agreement_of_runs, default_runs, described_runs
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.solvers.eigenpairs import smallest_eigenpairs
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.baselines import uniform_sparsifier
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count

__all__ = ["Comparison", "compare"]

_KEPT, _ROUGHLY = 0.1, 0.35  # median relative errors
_SAME = 1.5  # errors within this factor, and within an AMI of 0.05, are as good
_SAME_AMI = 0.05
_TOL = 1e-4  # relative residuals; eigenvalues are off by about the square
_CLUSTERS = "clusters (AMI)"


@dataclass(frozen=True)
class Comparison:
    """Quantities of a graph, of its sparsifier, and of as many edges drawn uniformly.

    Attributes
    ----------
    pairs : dict
        For each name two arrays, one value per cut, pair of nodes, eigenvalue, node or run: on the
        graph and on the sparsifier.
    uniform : dict
        By the same names, the values on the uniform edges; empty where not asked for.
    n_edges : tuple of int
        Of the graph, of the sparsifier and of the uniform edges.
    rank_correlation : float
        Spearman's, of the two orders by PageRank; NaN where all nodes rank alike.
    top_overlap : float
        Share of the 100 (or a tenth of the) nodes of highest PageRank that both agree on.
    agreement : dict
        Of communities, mean adjusted mutual information over runs: of the graph with itself
        ("again"), with those of the "sparsifier" and of the "uniform" edges. Empty where left out.
    brackets : dict
        With a certificate: for cuts, resistances and eigenvalues two arrays between which the
        graph's values are proved to lie, from those of the sparsifier alone.
    clusters_by : str
        By which method and how often communities were found, or why not.
    """

    pairs: dict = field(repr=False)
    rank_correlation: float
    top_overlap: float
    brackets: dict = field(default_factory=dict, repr=False)
    uniform: dict = field(default_factory=dict, repr=False)
    n_edges: tuple = ()
    agreement: dict = field(default_factory=dict)
    clusters_by: str = ""

    def rows(self) -> list[tuple[str, float, float, float, str]]:
        """Name, median and largest relative error, the median one of uniform edges, and a verdict.

        Of clusters the first two are the agreement (AMI) of the graph with the sparsifier and with
        itself.
        """
        rows = []
        for name, (whole, sparse) in self.pairs.items():
            error = _relative(whole, sparse)
            median = float(np.median(error))
            other = float("nan")
            if name in self.uniform:
                other = float(np.median(_relative(whole, self.uniform[name])))
            rows.append((name, median, float(error.max()), other, _verdict(median, other)))
        if self.agreement:
            own, other = self.agreement["sparsifier"], self.agreement.get("uniform", float("nan"))
            said = _cluster_verdict(self.agreement["again"], own, other)
            rows.append((_CLUSTERS, own, self.agreement["again"], other, said))
        return rows

    def _cells(self):
        for name, middle, most, other, said in self.rows():
            if name == _CLUSTERS:
                found = [f"{value:.2f}" for value in (middle, most, other)]
                found[1] = f"itself {found[1]}"
            else:
                found = [_percent(value) for value in (middle, most, other)]
            yield (name, found[0], found[1], "" if np.isnan(other) else found[2], said)

    def _header(self):
        return ("relative error", "median", "largest", "uniform's", "verdict")

    def _notes(self):
        ranked = f"PageRank order: rank correlation {self.rank_correlation:.4f}, "
        notes = [f"{ranked}{self.top_overlap:.0%} of the top nodes agree"]
        if self.n_edges:
            whole, sparse, *other = (f"{n:,}" for n in self.n_edges)
            drawn = f" and {other[0]} uniform ones" if other else ""
            notes.insert(0, f"{whole} edges beside {sparse} of the sparsifier{drawn}")
        if self.clusters_by:
            notes.append(f"clusters {self.clusters_by}")
        for name, (low, high) in self.brackets.items():
            sparse = self.pairs[name][1]
            span = f"{(low / sparse).min():.3g} to {(high / sparse).max():.3g}"
            notes.append(f"{name:<22} proved: the graph's are {span} times the sparsifier's")
        return notes

    def __str__(self):
        cells = [(*row[:4], f" {row[4]}") for row in self._cells()]
        width = max(len(row[4]) for row in cells)
        cells = [(*row[:4], row[4].ljust(width)) for row in cells]
        table = text_table(cells, header=(*self._header()[:4], " verdict".ljust(width)))
        lines = [line.rstrip() for line in table.splitlines()]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self):
        caption = "; ".join(note for note in self._notes() if "proved" not in note)
        return html_table(self._cells(), header=self._header(), caption=caption, words=True)

    def plot(self) -> Any:
        """One panel per quantity: how many times the graph's value the others have."""
        from graphsqueak.report.figure import side_by_side

        more = {"brackets": self.brackets, "agreement": self.agreement}
        return side_by_side(self.pairs, uniform=self.uniform, **more)


def compare(
    graph: GraphLike,
    sparsifier: GraphLike,
    *,
    n_samples: int = 100,
    n_eigenvalues: int = 20,
    n_runs: int | None = None,
    uniform: bool = True,
    certificate: Certificate | None = None,
    random_state: RandomState = None,
    progress: Progress = False,
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
    n_runs : int, optional
        Runs of Leiden's method (Louvain's, without igraph) on each graph, whose communities are
        compared; 0 leaves them out. Default: 3 up to 2,000,000 edges. Louvain's takes many
        times as long: 3 up to 20,000 edges, 1 up to 100,000. Beyond, 0.
    uniform : bool
        Beside them, as many edges of the graph as the sparsifier has, drawn uniformly.
    certificate : Certificate, optional
        Of `sparsifier`, without a ridge; it brackets cuts, resistances and eigenvalues. Default:
        the one that `sparsifier` carries, if it does.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from graphsqueak.sources import barbell
    >>> graph = barbell(8).to_edge_list()
    >>> double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    >>> print(compare(graph, double, uniform=False, n_runs=0, random_state=3))
    relative error  median  largest  uniform's   verdict
    random cuts       100%     100%              lost
    cluster cuts      100%     100%              lost
    resistances        50%      50%              lost
    eigenvalues       100%     100%              lost
    PageRank            0%       0%              kept
    57 edges beside 57 of the sparsifier
    PageRank order: rank correlation 1.0000, 100% of the top nodes agree
    """
    check_count("n_samples", n_samples)
    check_count("n_eigenvalues", n_eigenvalues)
    rng = np.random.default_rng(random_state)
    whole, given = as_edge_list(graph), as_edge_list(sparsifier)
    graphs = [whole, _on_nodes_of(whole, given)]
    if uniform:
        seed = int(rng.integers(2**63))
        graphs.append(uniform_sparsifier(whole, max(given.n_edges, 1), seed=seed))
    by_default = n_runs is None
    n_runs = default_runs(whole) if n_runs is None else check_count("n_runs", n_runs, least=0)
    values, vectors = smallest_eigenpairs(whole, n_eigenvalues, tol=_TOL, random_state=rng)
    sides = {"random cuts": rng.random((whole.n_nodes, n_samples)) < 0.5}
    sides["cluster cuts"] = vectors > 0
    nodes = _random_pairs(whole, n_samples, rng)
    found = []
    with reporter(progress, "comparing", unit="graphs") as tell:
        for number, one in enumerate(graphs):
            found.append(_measured(one, sides, nodes, values.size, whole, rng))
            tell(number + 1, (number + 1) / (len(graphs) + bool(n_runs)))
        agreement, runs = agreement_of_runs(graphs, n_runs, rng)
    for own, more in zip(found, runs, strict=False):
        own |= more
    ranks = [own["PageRank"] for own in found]
    top = [set(np.argsort(-one)[: min(100, max(1, one.size // 10))]) for one in ranks]
    seen = {name: found[0][name] > 0 for name in found[0]}  # nothing to compare where it is 0
    names = [name for name in found[0] if seen[name].any()]
    pairs = {name: [own[name][seen[name]] for own in found[:2]] for name in names}
    known = given.certificate if certificate is None else certificate
    return Comparison(
        pairs=pairs,
        rank_correlation=_rank_correlation(*ranks[:2]),
        top_overlap=len(top[0] & top[1]) / max(len(top[0]), 1),
        brackets={} if known is None or known.ridge else _brackets(pairs, known),
        uniform={name: found[2][name][seen[name]] for name in names} if uniform else {},
        n_edges=tuple(one.n_edges for one in graphs),
        agreement=agreement,
        clusters_by=described_runs(n_runs) if agreement or by_default else "",
    )


def _measured(graph, sides, nodes, n_values, whole, rng):
    """All quantities of one graph, on the nodes of `whole`."""
    found = {name: _cuts(graph, side) for name, side in sides.items()}
    found["resistances"] = effective_resistance(graph, nodes, method="exact")
    n_more = int(graph.components().max(initial=-1)) - int(whole.components().max(initial=-1))
    values, _ = smallest_eigenpairs(graph, n_values, tol=_TOL, random_state=rng)
    zeros = np.zeros(max(n_more, 0) + n_values)  # of components that the graph does not have
    found["eigenvalues"] = np.concatenate([zeros[: max(n_more, 0)], values, zeros])[:n_values]
    found["PageRank"] = rank(graph).scores
    return found


def _relative(whole, sparse):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(sparse / whole - 1), nan=np.inf, posinf=np.inf)


def _percent(value):
    if not np.isfinite(value):
        return "cut off"
    return f"{value:.2g} times" if value > 9.995 else f"{100 * value:.3g}%"


def _verdict(error, other):
    """Whether a quantity is kept, and whether uniform edges keep it as well."""
    said = "kept" if error <= _KEPT else "roughly kept" if error <= _ROUGHLY else "lost"
    if np.isnan(other):
        return said
    least = _KEPT / 10  # smaller errors than this are all the same
    ratio = max(other, least) / max(error, least)
    if 1 / _SAME <= ratio <= _SAME:
        return f"{said}; uniform is as good"
    if ratio < 1:
        return f"{said}; uniform is better"
    worse = f"errs {ratio:.1f} times as much" if np.isfinite(ratio) else "cuts some off"
    return f"{said}; uniform {worse}"


def _cluster_verdict(again, own, other):
    said = "kept" if own >= again - _SAME_AMI else "roughly kept" if own >= 0.7 * again else "lost"
    if again < 0.5:
        said = "hardly any to keep"
    if np.isnan(other):
        return said
    if abs(other - own) <= _SAME_AMI:
        return f"{said}; uniform is as good"
    return f"{said}; uniform is {'better' if other > own else 'worse'}"


def _brackets(pairs, certificate):
    kinds = {name: name.split()[-1] for name in pairs}
    kinds = {n: kind for n, kind in kinds.items() if kind in ("cuts", "resistances", "eigenvalues")}
    return {
        name: certificate.bounds_on(pairs[name][1], quantity=kind) for name, kind in kinds.items()
    }


def _on_nodes_of(whole, sparse):
    """The sparsifier in the numbering of the graph."""
    tail, head = NodeMatching(whole).ends(sparse)
    return EdgeList.from_validated(tail, head, sparse.weight, whole.n_nodes, whole.node_ids)


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
