"""Accuracy at equal numbers of edges: the stream against batch samplers and peers.

    python benchmarks/bench_quality.py [--quick] [--json] [--seeds N]

eps comes from the extreme generalised eigenvalues of (L_H, L_G): all of them up to 2,500 nodes, by
Lanczos with a dense factor of L_G (to 1e-3 of eps) beyond. `limit` is 2 / sqrt(d) for the mean
degree d of the result: no unweighted regular graph does better on a dense one. Every figure is the
median over seeds. Compared at the same edges: `stream` (one pass, our default), `plain` (the same
without calibration), `coins` (without it and with independent coins), `thesis` (Algorithm 11 with
as many copies per node as edges are asked for), `batch` and `kors` (methods of `sparsify`), `exact
coins` (all exact resistances at once, a coin per edge), `uniform` (rescaled), and, where it is
installed, the sparsifiers of networkit (rescaled).
"""

import argparse
import gzip
import json
import statistics
import sys
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak import (
    EdgeList,
    StreamOptions,
    StreamSparsifier,
    effective_resistance,
    sources,
    sparsify,
)
from graphsqueak.sparsify.scoring import scale_for

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SEED = 137_035
DENSE_NODES = 2500
DENSE = ("Erdos-Renyi", "block model", "Gaussian 900-NN")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs, one seed")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for name, graph in graphs(300 if arguments.quick else 2000):
        measure = Pencil(graph)
        for order, edges in orders(name, graph):
            for n_edges in budgets(name, graph):
                seeds = range(SEED, SEED + (1 if arguments.quick else arguments.seeds))
                row = {"graph": name, "order": order, "edges": n_edges}
                row |= compare(measure, edges, n_edges, seeds)
                rows.append(row)
                if not arguments.json:
                    print_row(row, header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "quality", "rows": rows}))


def graphs(n):
    """Name and graph; real ones only where their files are."""
    m = n * n // 2
    yield "Erdos-Renyi", sources.erdos_renyi(n, m, random_state=SEED).to_edge_list()
    yield "block model", sources.block_model(n, m, random_state=SEED).to_edge_list()
    near = sources.gaussian_neighbors(n, 9 * n // 20, random_state=SEED)
    yield "Gaussian 900-NN", near.to_edge_list()
    yield "barbell", sources.barbell(n // 2).to_edge_list()
    plain = sources.erdos_renyi(n, m // 8, random_state=SEED + 1).to_edge_list()
    heavy = np.random.default_rng(SEED).lognormal(sigma=2.0, size=plain.n_edges)
    yield "lognormal weights", EdgeList(tail=plain.tail, head=plain.head, weight=heavy, n_nodes=n)
    yield "Chung-Lu", sources.chung_lu(n, m // 5, random_state=SEED).to_edge_list()
    side = int(n**0.5)
    yield (
        "grid and far edges",
        sources.small_world(side, side, 25 * n, random_state=SEED).to_edge_list(),
    )
    if n >= 2000:
        yield from real_graphs()


def real_graphs():
    files = {
        "facebook_combined": ("facebook_combined/facebook_combined.txt", 1, None),
        "ca-GrQc": ("ca-GrQc/CA-GrQc.txt", 4, None),
    }
    for name, (file, skip, delimiter) in files.items():
        if not (DATA / file).exists():
            print(f"{name}: left out, its file is not there", file=sys.stderr)
            continue
        opened = gzip.open if file.endswith(".gz") else open
        with opened(DATA / file, "rt") as lines:
            pairs = np.loadtxt(lines, dtype=np.int64, skiprows=skip, delimiter=delimiter)
        _, nodes = np.unique(pairs, return_inverse=True)
        tail, head = nodes.reshape(-1, 2).T
        yield name, EdgeList(tail=tail, head=head).simplified()


def orders(name, graph):
    shuffled = np.random.default_rng(SEED).permutation(graph.n_edges)
    yield "random", picked(graph, shuffled)
    if name in DENSE:
        yield "sorted", picked(graph, np.lexsort((graph.head, graph.tail)))


def picked(graph, order):
    return EdgeList.from_clean(
        graph.tail[order], graph.head[order], graph.weight[order], graph.n_nodes
    )


def budgets(name, graph):
    if name in DENSE:
        return [8 * graph.n_nodes, 20 * graph.n_nodes, 40 * graph.n_nodes]
    distinct = graph.simplified().n_edges
    return [min(8 * graph.n_nodes, distinct // 2)]


def compare(measure, edges, n_edges, seeds):
    simple = edges.simplified()
    coins = StreamOptions(keep_degrees=False, calibrate=False)
    plain = StreamOptions(calibrate=False)
    leverage = simple.weight * effective_resistance(simple, method="exact")
    methods = {
        "stream": lambda seed: sparsify(edges, n_edges=n_edges, random_state=seed),
        "plain": lambda seed: sparsify(edges, n_edges=n_edges, options=plain, random_state=seed),
        "coins": lambda seed: sparsify(edges, n_edges=n_edges, options=coins, random_state=seed),
        "thesis": lambda seed: thesis(edges, n_edges, seed),
        "batch": lambda seed: sparsify(simple, n_edges=n_edges, method="batch", random_state=seed),
        "kors": lambda seed: sparsify(edges, n_edges=n_edges, method="kors", random_state=seed),
        "exact coins": lambda seed: flipped(simple, leverage, n_edges, seed),
        "uniform": lambda seed: flipped(simple, np.ones(simple.n_edges), n_edges, seed),
    }
    methods |= peers(simple, n_edges)
    row = {"limit": 2 / np.sqrt(2 * n_edges / edges.n_nodes)}
    kept = []
    for name, make in methods.items():
        results = [make(seed) for seed in seeds]
        row[name] = statistics.median(measure.epsilon(result) for result in results)
        if name == "stream":
            kept = [result.n_edges / n_edges for result in results]
    row |= {"ratio": row["stream"] / row["limit"], "kept": min(kept), "most": max(kept)}
    return row | {"verdict": verdict(row, methods)}


def verdict(row, methods):
    """Whether ours is connected, within its budget and no worse than anything compared."""
    worse = [name for name in methods if row[name] < row["stream"]]
    if not np.isfinite(row["stream"]):
        return "disconnected"
    if row["kept"] < 0.9 or row["most"] > 1.0:
        return "outside the budget"
    return f"behind {', '.join(worse)}" if worse else "best"


def thesis(edges, n_edges, seed):
    n_copies = max(n_edges // edges.n_nodes, 1)
    stream = StreamSparsifier(method="thesis", n_copies=n_copies, random_state=seed)
    return stream.partial_fit(edges).sparsifier()


def flipped(graph, score, n_edges, seed):
    """A coin per edge, with probability proportional to its score, capped at 1."""
    prob = np.minimum(scale_for(score, n_edges) * score, 1.0)
    kept = np.random.default_rng(seed).random(graph.n_edges) < prob
    weight = graph.weight[kept] / prob[kept]
    return EdgeList.from_clean(graph.tail[kept], graph.head[kept], weight, graph.n_nodes)


def peers(graph, n_edges):
    """networkit's random and local-degree sparsifiers, rescaled to the total weight."""
    try:
        import networkit as nk
    except ImportError:
        return {}
    if graph.n_edges > 150_000:
        return {}
    g = nk.Graph(graph.n_nodes)
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        g.addEdge(u, v)
    g.indexEdges()
    weight = {}
    for u, v, w in zip(graph.tail.tolist(), graph.head.tolist(), graph.weight, strict=True):
        weight[u, v] = weight[v, u] = w

    def run(method):
        small = method.getSparsifiedGraphOfSize(g, n_edges / graph.n_edges)
        ends = np.array(list(small.iterEdges()))
        kept = np.array([weight[u, v] for u, v in ends.tolist()])
        kept *= graph.weight.sum() / kept.sum()
        return EdgeList.from_clean(ends[:, 0], ends[:, 1], kept, graph.n_nodes)

    return {
        "nk local degree": lambda seed: run(nk.sparsification.LocalDegreeSparsifier()),
        "nk forest fire": lambda seed: run(nk.sparsification.ForestFireSparsifier(0.6, 5.0)),
    }


class Pencil:
    """L_G^(-1/2) once, then eps of any number of graphs on the same nodes."""

    def __init__(self, graph):
        self._component = graph.components()
        self._fill = (self._component[:, None] == self._component) * graph.degrees().mean()
        self._fill /= graph.n_nodes
        self._factor = scipy.linalg.cholesky(graph.laplacian().toarray() + self._fill, lower=True)

    def epsilon(self, sparsifier):
        """The exact eps; infinite if components differ."""
        if not np.array_equal(sparsifier.components(), self._component):
            return float("inf")
        if len(self._component) > DENSE_NODES:
            return self._by_lanczos(scipy.sparse.csr_array(sparsifier.laplacian()))
        matrix = sparsifier.laplacian().toarray() + self._fill
        half = scipy.linalg.solve_triangular(self._factor, matrix, lower=True)
        pencil = scipy.linalg.solve_triangular(self._factor, half.T, lower=True)
        values = scipy.linalg.eigvalsh(pencil)
        return float(max(1 - values[0], values[-1] - 1))

    def _by_lanczos(self, laplacian):
        def whitened(x):
            half = scipy.linalg.solve_triangular(self._factor, x, lower=True, trans=1)
            product = laplacian @ half + self._fill @ half
            return scipy.linalg.solve_triangular(self._factor, product, lower=True)

        shape, start = self._factor.shape, np.random.default_rng(SEED).normal(size=len(self._fill))
        operator = scipy.sparse.linalg.LinearOperator(shape, matvec=whitened, dtype=np.float64)
        values = scipy.sparse.linalg.eigsh(
            operator, k=2, which="BE", v0=start, tol=1e-3, ncv=40, return_eigenvectors=False
        )
        return float(max(1 - values.min(), values.max() - 1))


def print_row(row, *, header):
    columns = [key for key in row if key not in ("graph", "order", "edges")]
    if header:
        print(f"{'graph':<20}{'order':<8}{'edges':>8}  " + "  ".join(columns))
    columns.remove("verdict")
    values = "  ".join(f"{key} {row[key]:.3f}" for key in columns) + f"  {row['verdict']}"
    print(f"{row['graph']:<20}{row['order']:<8}{row['edges']:>8}  {values}", flush=True)


if __name__ == "__main__":
    main()
