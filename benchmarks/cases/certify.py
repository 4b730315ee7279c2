"""Certify the worst-case error of a sparsifier."""

import warnings
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import scipy.linalg
import scipy.sparse.linalg

from benchmarks import graphs
from benchmarks.runner import OURS, Run, case
from graphsqueak import (
    AccuracyWarning,
    StreamSparsifier,
    certify,
    read_edges,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.run import certify_and_search

EPSILON = 0.5
EDGES_KEPT_PER_NODE = 8
EDGES_PER_NODE_ON_DISK = 200
EDGES_KEPT_PER_NODE_ON_DISK = 40
SHORT_NODES = 500
FULL_NODES = 2000
# A dense eigenvalue problem takes O(n^3) time.
MAX_DENSE_NODES = 5000
SHORT = ("Erdos-Renyi", "barbell", "Chung-Lu")
FULL = (*graphs.DENSE, *graphs.SOCIAL, "4elt", "wing", "minnesota")


@case("certify", short=SHORT, full=FULL)
def in_memory(run: Run, name: str) -> None:
    """Compute the error of a sparsifier with 8 edges per node, or half of the edges."""
    graph = _load(run, name)
    n_edges = min(EDGES_KEPT_PER_NODE * graph.n_nodes, graph.simplified().n_edges // 2)
    sparsifier = _sparsify(graph, n_edges, run.seed)
    contenders = {OURS: partial(_bounds, graph, sparsifier, run.seed)}
    if graph.n_nodes <= MAX_DENSE_NODES:
        contenders["scipy eigh, dense"] = partial(_dense_error, graph, sparsifier)
    contenders["scipy lobpcg"] = partial(_lobpcg_error, graph, sparsifier, run.seed)
    for contender, (lower, upper) in run.time(contenders).items():
        run.record(contender, "lower bound of epsilon", lower, unit="")
        run.record(contender, "upper bound of epsilon", upper, unit="")


@case("certify", short=(2_000_000,), full=(2_000_000, 20_000_000))
def on_disk(run: Run, n_edges: int) -> None:
    """Certify a graph in a Parquet file to a gap of 2 %; the baseline only scans the file."""
    n_nodes = n_edges // EDGES_PER_NODE_ON_DISK
    path = run.folder / "edges.parquet"
    write_edges(sources.erdos_renyi(n_nodes, n_edges, random_state=run.seed), path)
    edges = read_edges(path)
    sparsifier = _sparsify(edges, EDGES_KEPT_PER_NODE_ON_DISK * n_nodes, run.seed)
    contenders = {
        OURS: partial(certify, edges, sparsifier, random_state=run.seed),
        "graphsqueak, one pass without work": partial(_scan, edges),
        "pyarrow, one pass without work": partial(_scan_arrow, path),
    }
    found = run.time(contenders, n_rounds=1)[OURS]
    run.record(OURS, "lower bound of epsilon", found.epsilon_lower, unit="")
    run.record(OURS, "upper bound of epsilon", found.epsilon_upper, unit="")
    run.record(OURS, "passes", found.passes, unit="")
    run.record(OURS, "steps", found.steps, unit="")


@case("certify", short=SHORT, full=FULL)
def search(run: Run, name: str) -> None:
    """Find and certify a sparsifier with epsilon = 0.5, next to one with 10 % fewer edges.

    The second should miss epsilon: otherwise the search keeps too many edges.
    """
    graph = _load(run, name)
    found = run.time({OURS: partial(_search, graph, run.seed)}, n_rounds=1)[OURS]
    n_kept = found.sparsifier.n_edges
    fewer = _sparsify(graph, int(n_kept / 1.1), run.seed)
    contender = "1.1 times fewer edges"
    run.record(OURS, "upper bound of epsilon", found.certificate.epsilon_upper, unit="")
    bound = certify(graph, fewer, random_state=run.seed).epsilon_upper
    run.record(contender, "upper bound of epsilon", bound, unit="")
    run.record(OURS, "edges kept", n_kept, unit="")
    run.record("bound of dense graphs, 8 n", "edges kept", 8 * graph.n_nodes, unit="")
    run.record(OURS, "runs", found.n_runs, unit="")


def _load(run, name):
    if name in graphs.DENSE:
        return graphs.DENSE[name](FULL_NODES if run.is_full else SHORT_NODES)
    return graphs.GRAPHS[name]()


def _sparsify(graph, n_edges, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return sparsify(graph, n_edges=n_edges, method="stream", random_state=seed)


def _search(graph, seed):
    stream = StreamSparsifier(epsilon=EPSILON, random_state=seed).partial_fit(graph)
    config = SparsifyConfig(epsilon=EPSILON, random_state=seed)
    return certify_and_search(graph, stream, stream.sparsifier(consume=True), config)


def _bounds(graph, sparsifier, seed):
    found = certify(graph, sparsifier, random_state=seed)
    return found.epsilon_lower, found.epsilon_upper


def _grounded(graph):
    """Return the Laplacian without the first node of every component, which is invertible."""
    first_nodes = np.unique(graph.components(), return_index=True)[1]
    kept = np.delete(np.arange(graph.n_nodes), first_nodes)
    return graph.laplacian().tocsr()[kept][:, kept]


def _dense_error(graph, sparsifier):
    """Return the exact error; grounding does not change the nonzero eigenvalues of the pencil."""
    sparse = _grounded(sparsifier).toarray()
    values = scipy.linalg.eigh(sparse, _grounded(graph).toarray(), eigvals_only=True)
    error = max(1 - values[0], values[-1] - 1)
    return error, error


def _lobpcg_error(graph, sparsifier, seed):
    """Return a lower bound of the error: lobpcg has no upper one."""
    whole = _grounded(graph)
    sparse = _grounded(sparsifier)
    factor = scipy.sparse.linalg.splu(sparse.tocsc(), permc_spec="MMD_AT_PLUS_A")
    inverse = scipy.sparse.linalg.LinearOperator(whole.shape, matvec=factor.solve, dtype=float)
    errors = []
    for is_largest in (False, True):
        start = np.random.default_rng(seed).standard_normal((whole.shape[0], 3))
        with warnings.catch_warnings():
            # lobpcg warns if it has not converged; the bound holds in any case.
            warnings.simplefilter("ignore", UserWarning)
            values, _ = scipy.sparse.linalg.lobpcg(
                whole, start, B=sparse, M=inverse, largest=is_largest, maxiter=100, tol=1e-3
            )
        errors += [abs(1 / value - 1) for value in values]
    return max(errors), float("inf")


def _scan(edges):
    for _ in edges:
        pass


def _scan_arrow(path):
    for _ in pq.ParquetFile(path).iter_batches(batch_size=2**20):
        pass
