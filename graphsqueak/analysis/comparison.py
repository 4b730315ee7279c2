"""Quantities of a graph, of its sparsifier, and of as many uniformly sampled edges.

Epsilon bounds the worst case. The cuts, resistances, eigenvalues, PageRank and clusters that users
compute are usually much more accurate. Uniform sampling, which takes no computation, is the
baseline: on dense graphs without bottlenecks it is as good as a sparsifier.

Quantities are computed in the order of their usefulness for the time that they take: random cuts,
PageRank, resistances, communities, eigenvalues with the cluster cuts. Each is computed in blocks,
and a block has the same pairs, runs or eigenvalues of all graphs. A block is begun if time is left,
and a block that was begun is finished.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from graphsqueak.analysis.analyzed_graph import on_nodes_of
from graphsqueak.analysis.centrality import rank
from graphsqueak.analysis.community import best_method, compare_communities
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.solvers.eigenpairs import laplacian_eigenpairs
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.baselines import uniform_sparsifier
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.sparsifiers.typical_error import (
    ACCURATE_ERROR,
    EQUAL_ERROR_RATIO,
    ROUGHLY_ACCURATE_ERROR,
)
from graphsqueak.system.frames import FRAME_NAMES, ArrowExport
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count, check_real, explain_keywords

# Relative residual of eigenvectors. An eigenvalue is within 1 % of each computed one, which is a
# tenth of ACCURATE_ERROR; its error is usually the square. Halved or doubled: the time changes by
# 10 % (collaboration and social networks).
EIGENPAIR_TOL = 1e-2
# Relative residual of potentials. The relative error of a resistance is at most its square times
# d / lambda_2, with d the degrees and lambda_2 the smallest positive eigenvalue: 0.04 % on a grid
# of 300 x 300 nodes. Halved or doubled: one or two iterations more or less.
RESISTANCE_TOL = 1e-4
# Node pairs per block. With half as many, the potentials of 100 pairs take 1.1 times as long; with
# twice as many, a block takes twice as long.
PAIRS_PER_BLOCK = 20
# Eigenvalues of the first block; a second block computes all of them. Halved or doubled: the first
# block takes 0.6 and 2 times as long.
FIRST_EIGENVALUES = 5
# Predicted seconds per edge of the graph and per node pair, run or eigenvalue, on one core: rounded
# up from a geometric graph, a grid and a collaboration network of 170,000 to 200,000 edges. A block
# whose predicted time exceeds the time limit is not begun, whatever the clock says. With the
# default limit, these are blocks of pairs above 3,000,000 edges, runs above 1,000,000 (20,000 with
# the Louvain method), 5 eigenvalues above 1,500,000 and 20 above 375,000. Halved or doubled: so are
# these numbers of edges.
SECONDS_PER_EDGE = {"resistances": 5e-7, "leiden": 3e-5, "louvain": 1.5e-3, "eigenvalues": 4e-6}
# Rows of the table, in this order.
ROWS = ("random cuts", "cluster cuts", "resistances", "eigenvalues", "PageRank")
CONDUCTANCE_ROW = "conductance of clusters"
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
        Method and number of runs for communities. Empty without communities.
    left_out : tuple of str
        What was left out or sampled more coarsely to end within `max_seconds`, in words. Empty if
        everything was computed.
    """

    _other_names = FRAME_NAMES | {"summary": "print(comparison)"}

    values: dict = field(repr=False)
    rank_correlation: float
    top_overlap: float
    bounds: dict = field(default_factory=dict, repr=False)
    uniform: dict = field(default_factory=dict, repr=False)
    n_edges: tuple = ()
    agreement: dict = field(default_factory=dict)
    communities_by: str = ""
    left_out: tuple = ()

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
        if self.left_out:
            notes.append(
                f"time limit: {'; '.join(self.left_out)}; set max_seconds=None to compute all"
            )
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


@explain_keywords()
def compare(
    graph: GraphLike,
    sparsifier: GraphLike,
    *,
    n_samples: int = 100,
    n_eigenvalues: int = 20,
    n_runs: int = 3,
    uniform: bool = True,
    max_seconds: float | None = 30.0,
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
    n_runs : int
        Number of runs of the Leiden method (Louvain without igraph) on each graph, whose
        communities are compared; 0 for none.
    uniform : bool
        Compare with as many uniformly sampled edges of the graph.
    max_seconds : float, optional
        Time after which no further block of pairs, runs or eigenvalues is begun. The block in
        progress is finished. Random cuts and PageRank are always computed. Blocks whose predicted
        time exceeds the limit are left out. The result depends on the clock only if the limit is
        reached, and `left_out` lists what is missing. None: no limit.
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
    >>> print(compare(graph, double, uniform=False, n_runs=0, max_seconds=None, random_state=3))
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
    check_count("n_runs", n_runs, least=0)
    limit = np.inf if max_seconds is None else check_real("max_seconds", max_seconds, above=0.0)
    start = time.monotonic()
    rng = np.random.default_rng(random_state)
    whole = as_edge_list(graph)
    sparse = as_edge_list(sparsifier)
    graphs = [whole, on_nodes_of(whole, sparse)]
    if uniform:
        seed = int(rng.integers(2**63))
        # The baseline has as many edges as the sparsifier.
        graphs.append(uniform_sparsifier(whole, max(sparse.n_edges, 1), seed=seed))
    sides = rng.random((whole.n_nodes, n_samples)) < 0.5
    measured = {
        "random cuts": _cut_weights(graphs, sides),
        "PageRank": np.stack([rank(one).scores for one in graphs]),
    }
    left_out = _measure(
        measured,
        _quantities(graphs, n_samples, n_eigenvalues, n_runs, rng),
        n_edges=whole.n_edges,
        limit=limit,
        deadline=start + limit,
        progress=progress,
    )
    agreement_of_runs = measured.pop(CLUSTER_ROW, None)
    selected = _with_defined_errors(measured)
    # Ranks are compared on all nodes.
    page_ranks = measured["PageRank"]
    n_top = min(100, max(1, whole.n_nodes // 10))
    top, top_sparse = (set(np.argsort(-scores)[:n_top]) for scores in page_ranks[:2])
    if certificate is None:
        certificate = sparse.certificate
    has_bounds = certificate is not None and not certificate.ridge
    found = {name: values[1] for name, values in selected.items()}
    agreement, communities_by = _describe_agreement(agreement_of_runs)
    return Comparison(
        values={name: [values[0], values[1]] for name, values in selected.items()},
        rank_correlation=_rank_correlation(*page_ranks[:2]),
        top_overlap=len(top & top_sparse) / max(len(top), 1),
        bounds=_bounds(found, certificate) if has_bounds else {},
        uniform={name: values[2] for name, values in selected.items()} if uniform else {},
        n_edges=tuple(one.n_edges for one in graphs),
        agreement=agreement,
        communities_by=communities_by,
        left_out=left_out,
    )


def _with_defined_errors(measured):
    """Return the rows of the table, where the value of the graph is positive.

    A relative error is not defined if that value is 0.
    """
    selected = {}
    for name in (*ROWS, CONDUCTANCE_ROW):
        values = measured.get(name)
        if values is not None and (values[0] > 0).any():
            selected[name] = values[:, values[0] > 0]
    return selected


def _describe_agreement(runs):
    """Return the mean agreement of communities per graph, and how they were found."""
    if runs is None:
        return {}, ""
    n_done = runs.shape[1]
    times = "once" if n_done == 1 else f"{n_done} times"
    names = ("graph", "sparsifier", "uniform")
    agreement = dict(zip(names, runs.mean(axis=1).tolist(), strict=False))
    return agreement, f"by {best_method().capitalize()}'s method, {times} on each graph"


class _Quantity(NamedTuple):
    """A quantity, and how its blocks are computed.

    `blocks` yields the number of finished items and the values: for each name an array with a row
    per graph. `block_sizes` are the numbers of items per block, and `work` is the key of
    `SECONDS_PER_EDGE`.
    """

    items: str
    n_items: int
    block_sizes: list[int]
    blocks: Iterator
    work: str


def _quantities(graphs, n_samples, n_eigenvalues, n_runs, rng):
    """Return the quantities with a time limit, in the order in which they are computed."""
    whole = graphs[0]
    node_pairs = _random_pairs(whole, n_samples, rng)
    pair_blocks = np.split(node_pairs, range(PAIRS_PER_BLOCK, len(node_pairs), PAIRS_PER_BLOCK))
    n_runs = n_runs if whole.n_edges else 0
    n_positive = whole.n_nodes - int(whole.components().max(initial=-1)) - 1
    n_pairs = min(n_eigenvalues, n_positive)
    counts = sorted({min(FIRST_EIGENVALUES, n_pairs), n_pairs})
    # The same seed for all graphs, so that equal graphs have equal values.
    solver_seed, eigen_seed = rng.integers(2**63, size=2).tolist()
    return [
        _Quantity(
            "resistances of node pairs",
            len(node_pairs),
            [len(block) for block in pair_blocks],
            _resistances(graphs, pair_blocks, solver_seed),
            "resistances",
        ),
        _Quantity(
            "runs for communities",
            n_runs,
            [1] * n_runs,
            _communities(graphs, n_runs, rng),
            best_method(),
        ),
        _Quantity(
            "eigenvalues and cluster cuts",
            n_pairs,
            counts,
            _eigenvalues(graphs, counts, eigen_seed),
            "eigenvalues",
        ),
    ]


def _measure(measured, quantities, *, n_edges, limit, deadline, progress):
    """Add the quantities to `measured`, and return what the time limit left out."""
    left_out = []
    # Nothing is computed of a quantity without items, such as pairs of a graph without edges.
    quantities = [quantity for quantity in quantities if quantity.n_items]
    time_used = 0.0
    with reporter(progress, "comparing", unit="quantities") as report:
        for i, quantity in enumerate(quantities):
            n_done = 0
            report(i, max(i / len(quantities), time_used), quantity.items)
            for size in quantity.block_sizes:
                predicted = n_edges * size * SECONDS_PER_EDGE[quantity.work]
                if predicted > limit or (now := time.monotonic()) > deadline:
                    break
                n_done, values = next(quantity.blocks)
                measured |= values
                # The work ends when everything is computed or when the time is over.
                time_used = 1.0 - (deadline - now) / limit if limit < np.inf else 0.0
                fraction = (i + n_done / quantity.n_items) / len(quantities)
                report(i, max(fraction, time_used), quantity.items)
            if n_done < quantity.n_items:
                counted = f"{n_done} of {quantity.n_items} {quantity.items}"
                left_out.append(counted if n_done else f"no {quantity.items}")
        report(len(quantities), 1.0)
    return tuple(left_out)


def _resistances(graphs, pair_blocks, seed):
    """Yield the effective resistances of the pairs, by one solver per graph."""
    # A solver that expects all blocks may choose an exact factorization, which takes longer than
    # the first block (sparsifier of a grid of 90,000 nodes: 9 s instead of 2 s).
    solvers = [LaplacianSolver(one, tol=RESISTANCE_TOL, random_state=seed) for one in graphs]
    values = np.empty((len(graphs), 0))
    for block in pair_blocks:
        found = [_pair_resistances(solver, *block.T) for solver in solvers]
        values = np.column_stack([values, found])
        yield values.shape[1], {"resistances": values}


def _pair_resistances(solver, u, v):
    """Return the voltages between pairs when a unit current flows from one node to the other."""
    resistance = np.full(u.size, np.inf)
    is_finite = solver.component[u] == solver.component[v]
    if is_finite.any():
        column = np.arange(np.count_nonzero(is_finite))
        current = np.zeros((solver.matrix.n_nodes, column.size))
        current[u[is_finite], column] = 1.0
        current[v[is_finite], column] = -1.0
        potential = solver.solve(current)
        resistance[is_finite] = potential[u[is_finite], column] - potential[v[is_finite], column]
    return resistance


def _communities(graphs, n_runs, rng):
    """Yield the agreement and the conductance of communities, one run of all graphs per block."""
    for agreement, conductance in compare_communities(graphs, n_runs, rng):
        yield agreement.shape[1], {CLUSTER_ROW: agreement, CONDUCTANCE_ROW: conductance}


def _eigenvalues(graphs, counts, seed):
    """Yield the smallest positive eigenvalues, and the cuts by the signs of the eigenvectors."""
    n_components = [int(one.components().max(initial=-1)) + 1 for one in graphs]
    for k in counts:
        values = np.zeros((len(graphs), k))
        for i, one in enumerate(graphs):
            found, vectors = laplacian_eigenpairs(one, k, tol=EIGENPAIR_TOL, random_state=seed)
            if i == 0:
                sides = vectors > 0
            # A component that the whole graph does not have replaces a positive eigenvalue by 0.
            n_new = max(n_components[i] - n_components[0], 0)
            kept = found[: max(k - n_new, 0)]
            values[i, n_new : n_new + kept.size] = kept
        yield k, {"eigenvalues": values, "cluster cuts": _cut_weights(graphs, sides)}


def _cut_weights(graphs: list[EdgeList], sides: np.ndarray) -> np.ndarray:
    """Return the weight between the two sides, a row per graph and a column per cut."""
    # x'L x is four times the weight of the cut if x is 1 on one side and -1 on the other.
    x = np.where(sides, 1.0, -1.0)
    return np.stack([np.einsum("uk,uk->k", x, one.laplacian() @ x) / 4 for one in graphs])


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
    if error <= ROUGHLY_ACCURATE_ERROR:
        grade = "kept" if error <= ACCURATE_ERROR else "roughly kept"
    if np.isnan(uniform_error):
        return grade
    least = ACCURATE_ERROR / 10
    ratio = max(uniform_error, least) / max(error, least)
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
    if not graph.n_edges:
        return np.empty((0, 2), dtype=np.int64)
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
