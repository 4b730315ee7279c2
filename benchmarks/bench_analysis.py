"""Embeddings and centralities, beside scikit-learn, scikit-network, networkit: time and error.

    python benchmarks/bench_analysis.py [--quick] [--json] [--only NAME] [--nodes N]
                                        [--centrality N] [--limit SECONDS]

*embedding*: 9 eigenvectors of the normalized Laplacian of a block model of 10 blocks and 10 edges a
node. The error is the sine of the largest angle to the exact space. scikit-learn has two solvers
that end on such a graph ("arpack" factorizes it): with the default tolerance, which is coarse on
large graphs, and with one that reaches the error of ours.
*file*: the same from a Parquet file of 400 edges a node, read and never held; passes are counted.
*closeness*: electrical closeness; the error is the mean relative one against solves of some nodes.
*spanning*: spanning-edge centrality of all edges, likewise; networkit by solves, and by drawing
trees.
*pagerank*: largest relative error against 300 steps of the walk.

Graphs of the last two: random, small world, grid, block model, R-MAT (its largest component) and
geometric (points of the plane that are near), --centrality nodes each.

A dash is a peer that is not installed, or was stopped after --limit seconds. Seconds of processor
time, one thread for all: other work on the machine does not count.
"""

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
import warnings
from pathlib import Path
from queue import Empty

import numba
import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.spatial
from threadpoolctl import threadpool_limits

from graphsqueak import (
    EdgeList,
    analysis,
    effective_resistance,
    read_edges,
    smallest_eigenpairs,
    sources,
    write_edges,
)
from graphsqueak.solvers import LaplacianSolver

SEED = 271_828
BLOCKS = 10
SIZES = {}  # what the command line asks for
LIMIT = 120  # seconds of processor time for a peer
RMAT = (0.57, 0.19, 0.19)  # chances of three quarters of the matrix
CHECKED = 64  # nodes and edges whose exact value is solved for


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 nodes for the embedding")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--only", action="append", choices=STUDIES, help="may be repeated")
    parser.add_argument("--nodes", type=int, help="of the embedding. Default: 200,000")
    parser.add_argument("--centrality", type=int, default=5_000, help="nodes. Default: 5,000")
    parser.add_argument("--limit", type=int, default=LIMIT, help="processor seconds of a peer")
    arguments = parser.parse_args()
    SIZES.update(centrality=arguments.centrality, limit=arguments.limit)
    n_nodes = arguments.nodes or (20_000 if arguments.quick else 200_000)
    numba.set_num_threads(1)
    threadpool_limits(1)
    rows = []
    for study in arguments.only or STUDIES:
        for row in STUDIES[study](n_nodes, arguments.quick):
            rows.append({"study": study} | row)
            if not arguments.json:
                print_row(rows[-1], header=len(rows) == 1)
    if arguments.json:
        print(json.dumps({"benchmark": "analysis", "rows": rows}))


def clocked(function, *arguments, **options):
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*arguments, **options)
    return result, time.process_time() - began


def row(graph, method, seconds, error, note=""):
    size = {"graph": graph, "method": method}
    return size | {"seconds": seconds, "error": error, "note": note}


def embedding(n_nodes, quick):
    k = BLOCKS - 1
    graph = blocks(n_nodes, 10 * n_nodes).to_edge_list()
    root = np.sqrt(graph.degrees())[:, None]
    _, exact = smallest_eigenpairs(graph, k, normalized=True, tol=1e-9, random_state=SEED)
    name = f"blocks, {n_nodes:,}"

    def error(points):
        basis = np.linalg.qr(root * np.asarray(points))[0]
        return float(np.sin(scipy.linalg.subspace_angles(exact, basis).max()))

    small = blocks(2_000, 20_000).to_edge_list()
    analysis.spectral_embedding(small, 2, random_state=SEED)  # compiles
    for tol in (1e-2, 1e-3):
        found, seconds = clocked(analysis.spectral_embedding, graph, k, tol=tol, random_state=SEED)
        yield row(name, "ours", seconds, error(found), f"tol {tol:g}")
    adjacency = graph.to_scipy()
    yield from sklearn_embeddings(name, adjacency, k, error, quick)
    try:
        from sknetwork.embedding import Spectral
    except ImportError:
        return
    spectral = Spectral(k, normalized=False)
    _, seconds = clocked(spectral.fit, scipy.sparse.csr_matrix(adjacency))
    yield row(name, "scikit-network", seconds, error(spectral.embedding_ / 1.0))


def sklearn_embeddings(name, adjacency, k, error, quick):
    from sklearn.manifold import spectral_embedding

    n_nodes = adjacency.shape[0]
    tries = [("lobpcg", "auto"), ("lobpcg", 2e-4), ("amg", "auto")]
    for solver, tol in tries if n_nodes <= 100_000 else tries[:2]:
        options = {"n_components": k, "eigen_solver": solver, "eigen_tol": tol}
        points, seconds = clocked(spectral_embedding, adjacency, **options, random_state=SEED)
        yield row(name, f"scikit-learn {solver}", seconds, error(points), f"tol {tol}")


class Counted(sources.EdgeSource):
    """A source that counts how often it is read."""

    def __init__(self, edges):
        super().__init__()
        self.edges = edges
        self.n_begun = 0

    def _batches(self):
        self.n_begun += 1
        yield from self.edges.batches()


def file(n_nodes, quick):
    n_nodes = 10_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        write_edges(blocks(n_nodes, 400 * n_nodes), path)
        source = Counted(read_edges(path))
        options = {"n_edges": 10 * n_nodes, "random_state": SEED}
        found, seconds = clocked(analysis.spectral_embedding, source, BLOCKS - 1, **options)
        block = source.ids % BLOCKS
        middle = np.array([found.points[block == b].mean(axis=0) for b in range(BLOCKS)])
        share = ((found.points - middle[block]) ** 2).sum() / (found.points**2).sum()
    note = f"{source.n_begun} passes; error: share of the points' spread that is not their blocks'"
    yield row(f"file, {400 * n_nodes:,} edges", "ours", seconds, float(share), note)


def closeness(n_nodes, quick):
    for name, graph in centrality_graphs(quick):
        nodes = np.random.default_rng(SEED).choice(graph.n_nodes, CHECKED, replace=False)
        exact = exact_diagonal(graph, nodes)
        small = sources.erdos_renyi(1_200, 9_000, random_state=SEED).to_edge_list()
        analysis.rank(small, "closeness", random_state=SEED)  # compiles
        found, seconds = clocked(analysis.rank, graph, "closeness", random_state=SEED)
        mean = found.kirchhoff / graph.n_nodes / graph.n_nodes  # of diag(L^+)
        diagonal = (graph.n_nodes - 1) / found.scores[nodes] / graph.n_nodes - mean
        yield row(name, "ours", seconds, mean_error(diagonal, exact), "mean of diag(L^+)")
        for method, eps in (("networkit eps 0.1", 0.1), ("networkit eps 0.3", 0.3)):
            diagonal, seconds = in_time(networkit_diagonal, graph, eps)
            error = None if diagonal is None else mean_error(diagonal[nodes], exact)
            yield row(name, method, seconds, error)


def spanning(n_nodes, quick):
    for small in (sources.grid(40, 30), sources.erdos_renyi(1_200, 9_000, random_state=SEED)):
        analysis.rank(small.to_edge_list(), "spanning", random_state=SEED)  # compiles
    for name, graph in centrality_graphs(quick):
        edges = np.random.default_rng(SEED).choice(graph.n_edges, CHECKED, replace=False)
        pairs = np.column_stack([graph.tail, graph.head])[edges]
        exact = effective_resistance(graph, pairs, method="exact")
        found, seconds = clocked(analysis.rank, graph, "spanning", random_state=SEED)
        yield row(name, "ours", seconds, mean_error(found.scores[edges], exact))
        for peer, eps in (
            (networkit_spanning, 0.1),
            (networkit_trees, 0.1),
            (networkit_trees, 0.03),
        ):
            scores, seconds = in_time(peer, graph, eps)
            error = None if scores is None else mean_error(scores[edges], exact)
            by = "solves" if peer is networkit_spanning else "drawing trees"
            yield row(name, f"networkit {eps:g}", seconds, error, by)


def pagerank(n_nodes, quick):
    graph = sources.chung_lu(n_nodes, 10 * n_nodes, random_state=SEED).to_edge_list()
    adjacency, degree = graph.to_scipy(), graph.degrees()
    step = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
    exact = np.full(graph.n_nodes, 1 / graph.n_nodes)
    for _ in range(300):
        exact = 0.85 * (adjacency @ (exact * step))
        exact += (1 - exact.sum()) / graph.n_nodes
    name = f"heavy tail, {n_nodes:,}"
    joined = degree > 0  # others are treated differently

    def error(scores):
        share = scores[joined] / scores[joined].sum() * exact[joined].sum()
        return float(np.abs(share / exact[joined] - 1).max())

    found, seconds = clocked(analysis.rank, graph, random_state=SEED)
    yield row(name, "ours", seconds, error(found.scores))
    try:
        from sknetwork.ranking import PageRank
    except ImportError:
        return
    for tol in (1e-6, 1e-10):
        solver = PageRank(n_iter=100, tol=tol)
        scores, seconds = clocked(solver.fit_predict, scipy.sparse.csr_matrix(adjacency))
        yield row(name, "scikit-network", seconds, error(scores), f"tol {tol:g}")


def blocks(n_nodes, n_edges):
    return sources.block_model(n_nodes, n_edges, n_blocks=BLOCKS, random_state=SEED)


def centrality_graphs(quick):
    """Connected and unweighted, as networkit wants them."""
    n = 1_000 if quick else SIZES["centrality"]
    side = round(n**0.5)
    found = {
        "random": sources.erdos_renyi(n, 10 * n, random_state=SEED),
        "small world": sources.small_world(side, side, 2 * n, random_state=SEED),
        "grid": sources.grid(side, side),
        "blocks": blocks(n, 10 * n),
        "R-MAT": rmat(n, 10 * n),
        "geometric": near_points(n),
    }
    for name, source in found.items():
        graph = source.to_edge_list() if hasattr(source, "to_edge_list") else source
        matrix = graph.simplified().to_scipy()
        component = scipy.sparse.csgraph.connected_components(matrix)[1]
        inside = np.flatnonzero(component == np.bincount(component).argmax())
        upper = scipy.sparse.triu(matrix[inside][:, inside], 1).tocoo()
        ends = upper.row.astype(np.int64), upper.col.astype(np.int64)
        graph = EdgeList.from_validated(*ends, np.ones(upper.nnz), inside.size)
        yield f"{name}, {graph.n_nodes:,}", graph


def rmat(n_nodes, n_edges):
    """A recursive matrix: every bit of both ends by the same uneven chances."""
    scale = int(np.ceil(np.log2(n_nodes)))
    rng, limits = np.random.default_rng(SEED), np.cumsum(RMAT)
    quarter = np.searchsorted(limits, rng.random((n_edges, scale)))
    powers = 1 << np.arange(scale)
    return EdgeList(tail=(quarter // 2) @ powers, head=(quarter % 2) @ powers, n_nodes=1 << scale)


def near_points(n_nodes):
    """Points of the unit square, joined where they are near: about 20 neighbors each."""
    points = np.random.default_rng(SEED).random((n_nodes, 2))
    radius = (20 / np.pi / n_nodes) ** 0.5
    pairs = scipy.spatial.cKDTree(points).query_pairs(radius, output_type="ndarray")
    return EdgeList(tail=pairs[:, 0], head=pairs[:, 1], n_nodes=n_nodes)


def exact_diagonal(graph, nodes):
    solver = LaplacianSolver(graph, tol=1e-10)
    unit = np.zeros((graph.n_nodes, nodes.size))
    unit[nodes, np.arange(nodes.size)] = 1.0
    return solver.solve(solver.centered(unit))[nodes, np.arange(nodes.size)]


def mean_error(found, exact):
    return float(np.abs(found / exact - 1).mean())


def in_time(function, *arguments):
    """What a peer returns, of a process of its own that is stopped when it takes too long."""
    queue = multiprocessing.Queue()
    job = multiprocessing.Process(target=lambda: queue.put(function(*arguments)))
    job.start()
    while True:
        try:
            return queue.get(timeout=1)
        except Empty:
            if not job.is_alive():
                return None, None


def networkit_diagonal(graph, eps):
    nk, plain = networkit_graph(graph)
    if nk is None:
        return None, None
    algorithm = nk.centrality.ApproxElectricalCloseness(plain, eps)
    _, seconds = clocked(algorithm.run)
    return np.array(algorithm.getDiagonal()), seconds


def networkit_spanning(graph, tol):
    """By solves."""
    return networkit_edges(graph, "SpanningEdgeCentrality", "runApproximation", tol)


def networkit_trees(graph, eps):
    """By trees that are drawn."""
    return networkit_edges(graph, "ApproxSpanningEdge", "run", eps)


def networkit_edges(graph, kind, method, accuracy):
    nk, plain = networkit_graph(graph)
    if nk is None:
        return None, None
    plain.indexEdges()
    algorithm = getattr(nk.centrality, kind)(plain, accuracy)
    _, seconds = clocked(getattr(algorithm, method))
    scores = np.array(algorithm.scores())
    ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
    return scores[[plain.edgeId(u, v) for u, v in ends]], seconds


def networkit_graph(graph):
    try:
        import networkit as nk
    except ImportError:
        return None, None
    nk.setNumberOfThreads(1)
    nk.setSeed(SEED, False)
    plain = nk.Graph(graph.n_nodes)
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        plain.addEdge(u, v)
    last = int(time.process_time()) + 1 + SIZES["limit"]  # imports and the graph do not count
    resource.setrlimit(resource.RLIMIT_CPU, (last, last))
    return nk, plain


STUDIES = {
    "embedding": embedding,
    "file": file,
    "closeness": closeness,
    "spanning": spanning,
    "pagerank": pagerank,
}


def print_row(row, *, header):
    if header:
        print(f"{'study':<10} {'graph':<24} {'method':<20} {'seconds':>8} {'error':>9}  note")
    seconds = "-" if row["seconds"] is None else f"{row['seconds']:.3g}"
    error = "-" if row["error"] is None else f"{row['error']:.2g}"
    print(
        f"{row['study']:<10} {row['graph']:<24} {row['method']:<20} {seconds:>8} {error:>9}  "
        f"{row['note']}",
        flush=True,
    )


if __name__ == "__main__":
    main()
