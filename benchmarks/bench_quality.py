"""Accuracy at equal numbers of edges: the stream against batch samplers and peers.

    python benchmarks/bench_quality.py [--quick] [--json] [--seeds N] [--only NAME]

eps comes from all generalized eigenvalues of (L_H, L_G) up to 2,500 nodes; beyond, it is the lower
end of a certificate with a gap of at most 2 %. `limit` is 2 / sqrt(d) for the mean
degree d of the result: no unweighted regular graph does better on a dense one. Every figure is the
median over seeds. Compared at the same edges: `stream` (one pass, our default), `plain` (the same
without calibration), `coins` (without it and with independent coins), `thesis` (Algorithm 11 with
as many copies per node as edges are asked for), `batch` and `kors` (methods of `sparsify`), `exact
coins` (all resistances at once, exact up to 6,000 nodes and within 1 % beyond, a coin per edge),
`uniform` (rescaled), and, where they are installed and run, the sparsifiers of networkit (rescaled)
and PyGSP2.
"""

import argparse
import contextlib
import json
import statistics

import numpy as np
import scipy.linalg
import scipy.sparse
import zoo
from real_data import add_data_option, data_file, load_present

from graphsqueak import (
    EdgeList,
    StreamOptions,
    StreamSparsifier,
    certify,
    effective_resistance,
    sources,
    sparsify,
)
from graphsqueak.sampling import find_scale

SEED = 137_035
DENSE_NODES = 2500
DENSE = ("Erdos-Renyi", "block model", "Gaussian 900-NN")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller graphs, one seed")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    add_data_option(parser)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", action="append", help="a graph by its name; may be repeated")
    arguments = parser.parse_args()
    rows = []
    for name, graph in graphs(300 if arguments.quick else 2000):
        if arguments.only and name not in arguments.only:
            continue
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
        "facebook_combined": lambda: pairs_of("facebook_combined", "facebook_combined.txt", 1),
        "ca-GrQc": lambda: pairs_of("ca-GrQc", "CA-GrQc.txt", 4),
    }
    yield from load_present(files)
    yield from zoo.load(["ca-AstroPh"])


def pairs_of(folder, name, n_skipped):
    pairs = np.loadtxt(data_file(folder, name), dtype=np.int64, skiprows=n_skipped)
    _, nodes = np.unique(pairs, return_inverse=True)
    tail, head = nodes.reshape(-1, 2).T
    return EdgeList(tail=tail, head=head).simplified()


def orders(name, graph):
    shuffled = np.random.default_rng(SEED).permutation(graph.n_edges)
    yield "random", picked(graph, shuffled)
    if name in DENSE:
        yield "sorted", picked(graph, np.lexsort((graph.head, graph.tail)))


def picked(graph, order):
    return EdgeList.from_validated(
        graph.tail[order], graph.head[order], graph.weight[order], graph.n_nodes
    )


def budgets(name, graph):
    if name in DENSE and graph.n_nodes < 2000:
        return [8 * graph.n_nodes]
    if name in DENSE:
        return [8 * graph.n_nodes, 20 * graph.n_nodes, 40 * graph.n_nodes]
    distinct = graph.simplified().n_edges
    return [min(8 * graph.n_nodes, distinct // 2)]


def compare(measure, edges, n_edges, seeds):
    simple = edges.simplified()
    coins = StreamOptions(dependent_rounding=False, rescale_to_degrees=False)
    plain = StreamOptions(rescale_to_degrees=False)
    leverage = simple.weight * effective_resistance(simple, rtol=0.01)
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
    methods |= peers(simple, leverage, n_edges)
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
    stream = StreamSparsifier(method="kelner-levin", n_copies=n_copies, random_state=seed)
    return stream.partial_fit(edges).sparsifier()


def flipped(graph, score, n_edges, seed):
    """A coin per edge, with probability proportional to its score, capped at 1."""
    prob = np.minimum(find_scale(score, n_edges) * score, 1.0)
    kept = np.random.default_rng(seed).random(graph.n_edges) < prob
    weight = graph.weight[kept] / prob[kept]
    return EdgeList.from_validated(graph.tail[kept], graph.head[kept], weight, graph.n_nodes)


def peers(graph, leverage, n_edges):
    """The sparsifiers of networkit (rescaled to the total weight) and PyGSP2, where they run."""
    found = {}
    if graph.n_edges <= 150_000:
        with contextlib.suppress(ImportError):
            found |= networkit_peers(graph, n_edges)
    if graph.n_nodes <= 1000:  # beyond, its dense inverses take minutes
        with contextlib.suppress(ImportError):
            found |= pygsp_peer(graph, leverage, n_edges)
    return found


def networkit_peers(graph, n_edges):
    import networkit as nk

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
        return EdgeList.from_validated(ends[:, 0], ends[:, 1], kept, graph.n_nodes)

    return {
        "nk local degree": lambda seed: run(nk.sparsification.LocalDegreeSparsifier()),
        "nk forest fire": lambda seed: run(nk.sparsification.ForestFireSparsifier(0.6, 5.0)),
    }


def pygsp_peer(graph, leverage, n_edges):
    """Its epsilon sets the number of draws, 0.16 n ln n / eps^2: as many as keep n_edges edges."""
    from pygsp2 import graphs, reduction

    share = leverage / leverage.sum()
    few, many = n_edges, 1000 * n_edges
    while many > few + 1:
        draws = (few + many) // 2
        distinct = -np.expm1(draws * np.log1p(-share)).sum()
        few, many = (draws, many) if distinct < n_edges else (few, draws)
    epsilon = 0.4 * np.sqrt(graph.n_nodes * np.log(graph.n_nodes) / few)
    if not graph.n_nodes**-0.5 <= epsilon < 1:
        return {}
    whole = graphs.Graph(scipy.sparse.csr_matrix(graph.to_scipy()))

    def run(seed):
        try:
            with np.errstate(all="ignore"):
                small = reduction.graph_sparsify(whole, epsilon, seed=seed)
        except ValueError:  # resistances that it rounds to zero become weights that are no numbers
            return None
        return EdgeList.from_scipy(small.W)

    return {"PyGSP2": run}


class Pencil:
    """eps of any number of sparsifiers of one graph: exact, or bounded to 2 % when it is large."""

    def __init__(self, graph):
        self._graph, self._component = graph, graph.components()
        if graph.n_nodes > DENSE_NODES:
            return
        self._fill = (self._component[:, None] == self._component) * graph.degrees().mean()
        self._fill /= graph.n_nodes
        self._factor = scipy.linalg.cholesky(graph.laplacian().toarray() + self._fill, lower=True)

    def epsilon(self, sparsifier):
        """The exact eps; infinite if components differ, NaN if there is no result."""
        if sparsifier is None:
            return float("nan")
        if not np.array_equal(sparsifier.components(), self._component):
            return float("inf")
        if self._graph.n_nodes > DENSE_NODES:
            return certify(self._graph, sparsifier, random_state=SEED).epsilon_lower
        matrix = sparsifier.laplacian().toarray() + self._fill
        half = scipy.linalg.solve_triangular(self._factor, matrix, lower=True)
        pencil = scipy.linalg.solve_triangular(self._factor, half.T, lower=True)
        values = scipy.linalg.eigvalsh(pencil)
        return float(max(1 - values[0], values[-1] - 1))


def print_row(row, *, header):
    columns = [key for key in row if key not in ("graph", "order", "edges")]
    if header:
        print(f"{'graph':<20}{'order':<8}{'edges':>8}  " + "  ".join(columns))
    columns.remove("verdict")
    values = "  ".join(f"{key} {row[key]:.3f}" for key in columns) + f"  {row['verdict']}"
    print(f"{row['graph']:<20}{row['order']:<8}{row['edges']:>8}  {values}", flush=True)


if __name__ == "__main__":
    main()
