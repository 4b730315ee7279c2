"""Baseline samplers for graphs in memory: batch, uniform and insertion-only sampling.

All are unbiased: an edge that is kept with probability p gets the weight w / p.

References
----------
[SS11]   Spielman, Srivastava. Graph sparsification by effective resistances. SIAM J. Computing
         40(6), 2011.
[CMP16]  Cohen, Musco, Pachocki. Online row sampling. APPROX 2016.
"""

import math

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import child_seed
from graphsqueak.sampling import find_scale, subsample_weights
from graphsqueak.sparsifiers.budget import StreamOptions
from graphsqueak.sparsifiers.resistance.effective import resistances_in_memory
from graphsqueak.sparsifiers.resistance.sketch import embed
from graphsqueak.sparsifiers.stream.arrival_filter import ArrivalFilter
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import PriorityNodes


def batch_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Sample edges by their effective resistances [SS11], independently of each other.

    Every edge is kept with probability min(1, c w r), where c makes the expected number of edges
    `n_edges`.

    >>> from graphsqueak.sources import complete
    >>> H = batch_sparsifier(complete(50).to_edge_list(), 400, seed=7)
    >>> bool(abs(H.n_edges - 400) < 6 * 20)
    True
    """
    graph = graph.simplified()
    resistance = resistances_in_memory(graph, random_state=seed)
    return _sample_by_scores(graph, graph.weight * resistance, n_edges, seed)


def uniform_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Sample all edges with the same probability. Sparse cuts may lose all their edges."""
    graph = graph.simplified()
    return _sample_by_scores(graph, np.ones(graph.n_edges), n_edges, seed)


def kors_sparsifier(graph: EdgeList, n_edges: int, *, seed: int) -> EdgeList:
    """Sample every edge once, by the edges that were kept before it (KORS on edges).

    This is online row sampling [CMP16] with the arrival filter of the stream and without
    resparsification. Early edges have large resistances and are never dropped. The number of kept
    edges is therefore only roughly `n_edges`, with c = n_edges / (n (1 + ln(m / n))).
    """
    scale = n_edges / (graph.n_nodes * (1 + math.log(max(graph.n_edges / graph.n_nodes, 1))))
    edges = SampledEdges.without_forest(graph.tail, graph.head, graph.weight)
    start = max(min(n_edges, graph.n_edges) // 2, 1)
    kept = edges.select(slice(0, start))
    number = 0
    while start < graph.n_edges:
        # The filter is rebuilt whenever the number of edges has doubled.
        simple = kept.to_edge_list(graph.n_nodes).simplified()
        embedding = embed(
            simple, n_probes=StreamOptions().final_probes, seed=child_seed(seed, number) >> 1
        )
        arrivals = ArrivalFilter.from_sketch(embedding, simple.components(), scale=scale)
        batch = edges.select(slice(start, 2 * start))
        sampled = arrivals.sample_edges(batch, start, seed=seed, priority=PriorityNodes())
        kept = SampledEdges(*map(np.concatenate, zip(kept, sampled, strict=True)))
        start *= 2
        number += 1
    return kept.to_edge_list(graph.n_nodes, graph.node_ids).simplified()


def _sample_by_scores(graph, score, n_edges, seed):
    """Sample edges independently, with probabilities proportional to their scores."""
    scale = find_scale(score, n_edges)
    if not np.isfinite(scale):
        return graph
    rng = np.random.default_rng(seed)
    weight = subsample_weights(graph.weight, graph.weight / np.minimum(scale * score, 1.0), rng=rng)
    kept = weight > 0
    return EdgeList.from_validated(
        graph.tail[kept], graph.head[kept], weight[kept], graph.n_nodes, graph.node_ids
    )
