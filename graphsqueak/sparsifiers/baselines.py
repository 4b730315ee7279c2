"""Samplers to compare with, for graphs that fit in memory: batch, uniform and insertion only.

All are unbiased: an edge kept with probability p weighs w / p.
"""

import math

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import child_seed
from graphsqueak.sampling import find_scale, subsample_weights
from graphsqueak.sparsifiers.resistance.effective import effective_resistance
from graphsqueak.sparsifiers.resistance.sketch import embed
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter

__all__ = ["batch_sparsifier", "kors_sparsifier", "uniform_sparsifier"]

_KORS_PROBES = 16


def batch_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """One estimate of all resistances, one coin per edge [SS11, with coins for draws].

    Keeps each edge with probability min(1, c w r), where c makes the expected number of edges
    `n_edges`.

    >>> from graphsqueak.sources import complete
    >>> H = batch_sparsifier(complete(50).to_edge_list(), 400, seed=7)
    >>> bool(abs(H.n_edges - 400) < 6 * 20)
    True
    """
    graph = graph.simplified()
    resistance = effective_resistance(graph, random_state=seed)
    return _coins(graph, graph.weight * resistance, n_edges, seed)


def uniform_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Every edge with the same probability; disconnects what hangs by few edges."""
    graph = graph.simplified()
    return _coins(graph, np.ones(graph.n_edges), n_edges, seed)


def kors_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Insertion only: an edge is sampled once, by what has been kept of the edges before it.

    Online row sampling with the filter of the stream, and no shrink. Early edges have large
    resistances and stay for ever, so that the number of kept edges is only roughly `n_edges`:
    c = n_edges / (n (1 + ln(m / n))).
    """
    scale = n_edges / (graph.n_nodes * (1 + math.log(max(graph.n_edges / graph.n_nodes, 1))))
    kept = graph.part(0, max(min(n_edges, graph.n_edges) // 2, 1))
    start, number = kept.n_edges, 0
    while start < graph.n_edges:
        batch = graph.part(start, 2 * start)
        simple = kept.simplified()
        sketch = embed(simple, n_probes=_KORS_PROBES, seed=child_seed(seed, number) >> 1)
        arrivals = ArrivalFilter.from_sketch(sketch, simple.components(), scale)
        alive, weight = arrivals.sample(
            batch.tail, batch.head, batch.weight, seed=seed, first_edge_index=start
        )
        kept = EdgeList.from_validated(
            np.concatenate([kept.tail, batch.tail[alive]]),
            np.concatenate([kept.head, batch.head[alive]]),
            np.concatenate([kept.weight, weight]),
            graph.n_nodes,
            graph.node_ids,
        )
        start, number = start + batch.n_edges, number + 1
    return kept.simplified()


def _coins(graph, score, n_edges, seed):
    scale = find_scale(score, n_edges)
    if not np.isfinite(scale):
        return graph
    rng = np.random.default_rng(seed)
    weight = subsample_weights(graph.weight, graph.weight / np.minimum(scale * score, 1.0), rng=rng)
    kept = weight > 0
    return EdgeList.from_validated(
        graph.tail[kept], graph.head[kept], weight[kept], graph.n_nodes, graph.node_ids
    )
