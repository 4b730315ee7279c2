"""Quantities of a graph, of its sparsifier, and of as many uniformly sampled edges.

Epsilon bounds the worst case. The cuts, resistances, eigenvalues, PageRank and clusters that users
compute are usually much more accurate. Uniform sampling, which takes no computation, is the
baseline: on dense graphs without bottlenecks it is as good as a sparsifier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.stats

from graphsqueak.analysis.analyzed_graph import on_nodes_of
from graphsqueak.analysis.centrality import rank
from graphsqueak.analysis.community import compare_communities, default_n_runs, describe_runs
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.solvers.eigenpairs import laplacian_eigenpairs
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.baselines import uniform_sparsifier
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.resistance.effective import resistances_in_memory
from graphsqueak.system.frames import ArrowExport
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count

__all__ = ["Comparison", "compare"]

# Largest median relative errors of the verdicts "kept" and "roughly kept". Errors below a tenth of
# the first count as equal. These are definitions, not tuning constants.
KEPT_ERROR = 0.1
ROUGHLY_KEPT_ERROR = 0.35
# Uniform edges are as good if their error is within this factor.
EQUAL_ERROR_RATIO = 1.5
# Relative residual of eigenvectors. The relative error of eigenvalues is about its square.
EIGENPAIR_TOL = 1e-4
CLUSTER_ROW = "clusters (AMI)"


@dataclass(frozen=True)
class Comparison(ArrowExport):
    """Result of `compare`.

    As a data frame (`to_pandas`, `to_polars`) it has a row per quantity, as described in `rows`.

    Attributes
    ----------
    values : dict
        For each quantity two arrays, on the graph and on the sparsifier, with one value per cut,
        pair of nodes, eigenvalue, node or run.
    rank_correlation : float
        Spearman's correlation of the PageRank of the two graphs; NaN if all nodes have the same
        rank.
    top_overlap : float
        Fraction of the 100 (or 10 % of the) nodes with the highest PageRank that both have.
    bounds : dict
        For cuts, resistances and eigenvalues, lower and upper bounds on the values of the graph,
        from those of the sparsifier and its certificate. Empty without a certificate.
    uniform : dict
        The values on uniformly sampled edges; empty with `uniform=False`.
    n_edges : tuple of int
        Number of edges of the graph, of the sparsifier and of the uniform sample.
    agreement : dict
        Mean adjusted mutual information between communities of the "graph" and those of another
        run on it, of the "sparsifier" and of "uniform" edges. Empty without communities.
    communities_by : str
        Method and number of runs for communities, or why there are none.
    """

    values: dict = field(repr=False)
    rank_correlation: float
    top_overlap: float
    bounds: dict = field(default_factory=dict, repr=False)
    uniform: dict = field(default_factory=dict, repr=False)
    n_edges: tuple = ()
    agreement: dict = field(default_factory=dict)
    communities_by: str = ""

    def rows(self) -> list[tuple[str, float, float, float, str]]:
        """Return quantity, median and largest error, median error of uniform edges, and verdict.

        In the row of clusters, the numbers are the agreement (AMI) of the graph with the
        sparsifier, with itself and with uniform edges.
        """
        rows = []
        for name, (expected, found) in self.values.items():
            error = _relative_error(expected, found)
            median = float(np.median(error))
            baseline = float("nan")
            if name in self.uniform:
                baseline = float(np.median(_relative_error(expected, self.uniform[name])))
            rows.append((name, median, float(error.max()), baseline, _verdict(median, baseline)))
        if self.agreement:
            ami = self.agreement["sparsifier"]
            ami_graph = self.agreement["graph"]
            ami_uniform = self.agreement.get("uniform", float("nan"))
            # The error is the loss relative to a second run on the graph. Labels of runs that do
            # not agree with each other cannot be kept.
            verdict = _verdict(1 - ami / ami_graph, 1 - ami_uniform / ami_graph)
            if ami_graph < 0.5:
                verdict = "no stable clusters"
            rows.append((CLUSTER_ROW, ami, ami_graph, ami_uniform, verdict))
        return rows

    def _columns(self):
        names = ("quantity", "median_error", "largest_error", "uniform_median_error", "verdict")
        return dict(zip(names, map(np.array, zip(*self.rows(), strict=True)), strict=True))

    def _cells(self):
        cells = []
        for name, *numbers, verdict in self.rows():
            if name == CLUSTER_ROW:
                shown = [f"{number:.2f}" for number in numbers]
                shown[1] = f"itself {shown[1]}"
            else:
                shown = [_format_error(number) for number in numbers]
            if np.isnan(numbers[2]):
                shown[2] = ""
            cells.append((name, *shown, verdict))
        return cells

    def _header(self):
        return ("relative error", "median", "largest", "uniform", "verdict")

    def _notes(self):
        notes = []
        if self.n_edges:
            names = ("graph", "sparsifier", "uniform sample")
            counts = zip(names, self.n_edges, strict=False)
            notes.append("edges: " + ", ".join(f"{name} {n:,}" for name, n in counts))
        notes.append(
            f"PageRank order: rank correlation {self.rank_correlation:.4f}, "
            f"{self.top_overlap:.0%} of the top nodes agree"
        )
        if self.communities_by:
            notes.append(f"clusters {self.communities_by}")
        return notes

    def __str__(self) -> str:
        # Verdicts are aligned to the left, numbers to the right.
        cells = [(*row[:4], f" {row[4]}") for row in self._cells()]
        width = max(len(row[4]) for row in cells)
        padded = [(*row[:4], row[4].ljust(width)) for row in cells]
        header = (*self._header()[:4], " verdict".ljust(width))
        lines = [line.rstrip() for line in text_table(padded, header=header).splitlines()]
        lines += self._notes()
        for name, (lower, upper) in self.bounds.items():
            found = self.values[name][1]
            ratios = f"{(lower / found).min():.3g} to {(upper / found).max():.3g}"
            lines.append(f"{name:<22} proved: the graph has {ratios} times the sparsifier's values")
        return "\n".join(lines)

    def _repr_html_(self):
        caption = "; ".join(self._notes())
        return html_table(self._cells(), header=self._header(), caption=caption, words=True)

    def plot(self) -> Any:
        """Plot one panel per quantity: the ratio of values to those of the graph."""
        from graphsqueak.report.figure import side_by_side

        return side_by_side(
            self.values, uniform=self.uniform, bounds=self.bounds, agreement=self.agreement
        )


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
    """Compare quantities of `sparsifier` with those of `graph`.

    Use it to check whether a sparsifier is accurate enough for a task, and better than uniform
    sampling.

    Parameters
    ----------
    graph, sparsifier : any graph
        Both are loaded into memory; nodes are matched by id.
    n_samples : int
        Number of random cuts, and of random pairs of nodes for effective resistances.
    n_eigenvalues : int
        Number of the smallest positive eigenvalues of the Laplacians. The signs of the eigenvectors
        of the graph are its cluster cuts.
    n_runs : int, optional
        Number of runs of the Leiden method (Louvain without igraph) on each graph, whose
        communities are compared; 0 for none. Default: 3, or 0 for graphs with more than 2,000,000
        edges (20,000 with Louvain, which is slower).
    uniform : bool
        Compare with as many uniformly sampled edges of the graph.
    certificate : Certificate, optional
        Certificate of `sparsifier`, without a ridge, for bounds on cuts, resistances and
        eigenvalues. Default: the one of `sparsifier`, if it has one.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from graphsqueak import EdgeList
    >>> from graphsqueak.sources import barbell
    >>> graph = barbell(8).to_edge_list()
    >>> double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    >>> print(compare(graph, double, uniform=False, n_runs=0, random_state=3))
    relative error  median  largest  uniform   verdict
    random cuts       100%     100%            lost
    cluster cuts      100%     100%            lost
    resistances        50%      50%            lost
    eigenvalues       100%     100%            lost
    PageRank            0%       0%            kept
    edges: graph 57, sparsifier 57
    PageRank order: rank correlation 1.0000, 100% of the top nodes agree
    """
    check_count("n_samples", n_samples)
    check_count("n_eigenvalues", n_eigenvalues)
    rng = np.random.default_rng(random_state)
    whole = as_edge_list(graph)
    sparse = as_edge_list(sparsifier)
    graphs = [whole, on_nodes_of(whole, sparse)]
    if uniform:
        seed = int(rng.integers(2**63))
        # The baseline has as many edges as the sparsifier.
        graphs.append(uniform_sparsifier(whole, max(sparse.n_edges, 1), seed=seed))
    is_default = n_runs is None
    n_runs = default_n_runs(whole) if n_runs is None else check_count("n_runs", n_runs, least=0)
    _, vectors = laplacian_eigenpairs(whole, n_eigenvalues, tol=EIGENPAIR_TOL, random_state=rng)
    sides = {
        "random cuts": rng.random((whole.n_nodes, n_samples)) < 0.5,
        "cluster cuts": vectors > 0,
    }
    node_pairs = _random_pairs(whole, n_samples, rng)
    measured = []
    agreement = {}
    with reporter(progress, "comparing", unit="graphs") as report:
        for i, one in enumerate(graphs):
            n_eigenvalues = vectors.shape[1]
            measured.append(_measure(one, whole, sides, node_pairs, n_eigenvalues, rng))
            report(i + 1, (i + 1) / (len(graphs) + bool(n_runs)))
        if n_runs and whole.n_edges:
            ami, conductances = compare_communities(graphs, n_runs, rng)
            agreement = dict(zip(("graph", "sparsifier", "uniform"), ami, strict=False))
            for quantities, conductance in zip(measured, conductances, strict=True):
                quantities["conductance of clusters"] = conductance
    # A relative error is not defined if the value of the graph is 0.
    is_positive = {name: values > 0 for name, values in measured[0].items()}
    selected = [
        {name: values[is_positive[name]] for name, values in one.items() if is_positive[name].any()}
        for one in measured
    ]
    # Ranks are compared on all nodes.
    page_ranks = [one["PageRank"] for one in measured]
    n_top = min(100, max(1, whole.n_nodes // 10))
    top, top_sparse = (set(np.argsort(-scores)[:n_top]) for scores in page_ranks[:2])
    if certificate is None:
        certificate = sparse.certificate
    has_bounds = certificate is not None and not certificate.ridge
    return Comparison(
        values={name: [selected[0][name], selected[1][name]] for name in selected[0]},
        rank_correlation=_rank_correlation(*page_ranks[:2]),
        top_overlap=len(top & top_sparse) / max(len(top), 1),
        bounds=_bounds(selected[1], certificate) if has_bounds else {},
        uniform=selected[2] if uniform else {},
        n_edges=tuple(one.n_edges for one in graphs),
        agreement=agreement,
        communities_by=describe_runs(n_runs) if agreement or is_default else "",
    )


def _measure(graph, whole, sides, node_pairs, n_eigenvalues, rng):
    """Return the quantities of a graph on the nodes of `whole`."""
    quantities = {
        # The weight between the two sides, one column per cut.
        name: graph.weight @ (side[graph.tail] != side[graph.head])
        for name, side in sides.items()
    }
    quantities["resistances"] = resistances_in_memory(graph, node_pairs, method="exact")
    values, _ = laplacian_eigenpairs(graph, n_eigenvalues, tol=EIGENPAIR_TOL, random_state=rng)
    # A component that the whole graph does not have replaces a positive eigenvalue by 0.
    n_new = graph.components().max(initial=-1) - whole.components().max(initial=-1)
    values = np.concatenate([np.zeros(max(n_new, 0)), values, np.zeros(n_eigenvalues)])
    quantities["eigenvalues"] = values[:n_eigenvalues]
    quantities["PageRank"] = rank(graph).scores
    return quantities


def _relative_error(expected, found):
    # Infinite resistances of disconnected nodes have an infinite error.
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(np.abs(found / expected - 1), nan=np.inf, posinf=np.inf)


def _format_error(error):
    if not np.isfinite(error):
        return "cut off"
    return f"{error:.2g} times" if error > 9.995 else f"{100 * error:.3g}%"


def _verdict(error, uniform_error):
    """Describe whether a quantity is kept, and whether uniform edges are as good."""
    grade = "lost"
    if error <= ROUGHLY_KEPT_ERROR:
        grade = "kept" if error <= KEPT_ERROR else "roughly kept"
    if np.isnan(uniform_error):
        return grade
    ratio = max(uniform_error, KEPT_ERROR / 10) / max(error, KEPT_ERROR / 10)
    if 1 / EQUAL_ERROR_RATIO <= ratio <= EQUAL_ERROR_RATIO:
        return f"{grade}; uniform is as good"
    if ratio < 1:
        return f"{grade}; uniform is better"
    worse = f"has {ratio:.1f} times the error" if np.isfinite(ratio) else "disconnects nodes"
    return f"{grade}; uniform {worse}"


def _bounds(found, certificate):
    """Bound the quantities of the graph that the certificate bounds."""
    quantities = {"cuts", "resistances", "eigenvalues"}
    return {
        name: certificate.bounds_on(found[name], quantity=name.split()[-1])
        for name in found
        if name.split()[-1] in quantities
    }


def _random_pairs(graph, n_pairs, rng):
    """Return random pairs of different nodes, each pair within one component."""
    component = graph.components()
    size = np.bincount(component)
    # The nodes of a component are contiguous in `order`, from `start` on.
    order = np.argsort(component, kind="stable")
    start = np.cumsum(size) - size
    position = np.argsort(order)
    first = rng.choice(np.flatnonzero(size[component] > 1), n_pairs)
    group = component[first]
    # The second node is another one of the component: a nonzero shift, modulo its size.
    shift = rng.integers(1, size[group])
    second = order[start[group] + (position[first] - start[group] + shift) % size[group]]
    return np.column_stack([first, second])


def _rank_correlation(first, second):
    """Return Spearman's coefficient; NaN if all nodes of one graph have the same score."""
    if min(np.ptp(first) / first.max(), np.ptp(second) / second.max()) < 1e-9:
        return float("nan")
    return float(scipy.stats.spearmanr(first, second).statistic)
