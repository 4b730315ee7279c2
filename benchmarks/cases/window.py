"""Sparsify a sliding window, or with decay, next to a fresh run on exactly its edges."""

import statistics

import numpy as np

from benchmarks.cases.quality import Pencil
from benchmarks.runner import OURS, Run, case
from graphsqueak import (
    EdgeList,
    StreamOptions,
    StreamSparsifier,
    TimedEdges,
    TimedSparsifier,
    sources,
)

N_SEEDS = 5
SHORT_NODES = 200
FULL_NODES = 1000
WINDOW = 1000.0
# After three windows all panes have been filled twice.
N_WINDOWS = 3
EDGES_PER_NODE_AND_WINDOW = 150
EDGES_PER_NODE = (8, 20)
EDGES_PER_UPDATE = 4096
SEED = 40_503
# The number of kept edges is checked as often, relative to the budget, as for a large graph.
OPTIONS = StreamOptions(chunk_size=2**11)
ALL_GRAPHS = (
    "Erdos-Renyi",
    "block model",
    "Chung-Lu",
    "neighbors, repeated",
    "lognormal weights",
    "moving communities",
)


@case("window", short=("Erdos-Renyi", "moving communities"), full=ALL_GRAPHS)
def sliding(run: Run, name: str) -> None:
    """Sparsify a sliding window of 16 panes."""
    _measure(run, name, {"window": WINDOW})


@case("window", short=("Erdos-Renyi", "moving communities"), full=ALL_GRAPHS)
def decay(run: Run, name: str) -> None:
    """Sparsify with weights that decay with a half-life of an eighth of the window."""
    _measure(run, name, {"half_life": WINDOW / 8})


def _measure(run, name, forgetting):
    n_nodes = FULL_NODES if run.is_full else SHORT_NODES
    edges = GRAPHS[name](n_nodes)
    for per_node in EDGES_PER_NODE:
        budget = per_node * n_nodes
        n_seeds = N_SEEDS if run.is_full else 1
        found = [_errors(edges, budget, forgetting, run.seed + k) for k in range(n_seeds)]
        fresh, ours, largest = (statistics.median(values) for values in zip(*found, strict=True))
        quantity = f"epsilon at {per_node} edges per node"
        run.record(OURS, quantity, ours, unit="")
        run.record("fresh run", quantity, fresh, unit="")
        quantity = f"edges in memory, in budgets, at {per_node} edges per node"
        run.record(OURS, quantity, largest / budget, unit="")


def _errors(edges, budget, forgetting, seed):
    """Return the errors of a fresh run and of ours, and the most edges in memory."""
    stream = TimedSparsifier(n_edges=budget, options=OPTIONS, random_state=seed, **forgetting)
    largest = 0
    for start in range(0, edges.n_edges, EDGES_PER_UPDATE):
        stream.partial_fit(edges.part(start, start + EDGES_PER_UPDATE))
        largest = max(largest, stream.n_kept_)
    ours = stream.sparsifier()
    since, _ = stream.span_
    weight = edges.weight
    if "half_life" in forgetting:
        weight = weight * np.exp2((edges.time - edges.time.max()) / forgetting["half_life"])
    is_covered = edges.time >= since
    covered = EdgeList(
        tail=edges.tail[is_covered],
        head=edges.head[is_covered],
        weight=weight[is_covered],
        n_nodes=edges.n_nodes,
    )
    fresh = StreamSparsifier(n_edges=budget, options=OPTIONS, random_state=seed)
    pencil = Pencil(covered)
    errors = [pencil.epsilon(one) for one in (fresh.partial_fit(covered).sparsifier(), ours)]
    return *errors, largest


def _n_edges(n_nodes):
    return N_WINDOWS * EDGES_PER_NODE_AND_WINDOW * n_nodes


def _with_times(source):
    """Return the edges in random order, at uniform times."""
    rng = np.random.default_rng(SEED + 2)
    edges = sources.as_edge_list(source)
    order = rng.permutation(edges.n_edges)
    return TimedEdges(
        tail=edges.tail[order],
        head=edges.head[order],
        weight=edges.weight[order],
        time=np.sort(rng.uniform(0, N_WINDOWS * WINDOW, edges.n_edges)),
        n_nodes=edges.n_nodes,
    )


def _repeated_neighbors(n_nodes):
    near = sources.gaussian_neighbors(n_nodes, n_nodes // 4, random_state=SEED).to_edge_list()
    again = np.random.default_rng(SEED).integers(near.n_edges, size=_n_edges(n_nodes))
    return EdgeList(tail=near.tail[again], head=near.head[again], weight=near.weight[again])


def _lognormal_weights(n_nodes):
    n_edges = _n_edges(n_nodes)
    plain = sources.erdos_renyi(n_nodes, n_edges, random_state=SEED + 1).to_edge_list()
    weight = np.random.default_rng(SEED).lognormal(sigma=2.0, size=plain.n_edges)
    return EdgeList(tail=plain.tail, head=plain.head, weight=weight)


def _moving_communities(n_nodes):
    """Return edges, most of them within a fifth of the nodes, which moves around a circle."""
    rng = np.random.default_rng(SEED + 3)
    n_edges = _n_edges(n_nodes)
    time = np.sort(rng.uniform(0, N_WINDOWS * WINDOW, n_edges))
    center = (time / WINDOW * n_nodes).astype(np.int64)
    spread = np.where(rng.random(n_edges) < 0.9, n_nodes // 5, n_nodes)
    tail = (center + (rng.random(n_edges) * spread).astype(np.int64)) % n_nodes
    head = (center + (rng.random(n_edges) * spread).astype(np.int64)) % n_nodes
    return TimedEdges(tail=tail, head=head, time=time, n_nodes=n_nodes)


GRAPHS = {
    "Erdos-Renyi": lambda n: _with_times(sources.erdos_renyi(n, _n_edges(n), random_state=SEED)),
    "block model": lambda n: _with_times(sources.block_model(n, _n_edges(n), random_state=SEED)),
    "Chung-Lu": lambda n: _with_times(sources.chung_lu(n, _n_edges(n), random_state=SEED)),
    "neighbors, repeated": lambda n: _with_times(_repeated_neighbors(n)),
    "lognormal weights": lambda n: _with_times(_lognormal_weights(n)),
    "moving communities": _moving_communities,
}
