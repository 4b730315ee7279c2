"""Estimate the time, memory and traffic of a merge tree from a sample of its input.

The first edges of the first and the last part are read, sparsified, merged and timed. With k parts
and w workers,

    time     max(work / w, longest path), where work is k leaves and all merges
    memory   of `budget.stream_bytes` for the nodes and the edges of the largest merge
    traffic  the states that merges receive

The number of nodes is estimated from the nodes that both samples have in common (Lincoln and
Petersen). The estimate is too small if many nodes have few edges.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import NamedTuple

import numpy as np

from graphsqueak.sources.files.splitting import split
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sources.synthetic.closed_forms import complete
from graphsqueak.sparsifiers.budget import StreamOptions, state_bytes, stream_bytes
from graphsqueak.sparsifiers.config import SparsifyConfig
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.trees.shapes import as_tree


class CostEstimate(NamedTuple):
    """Estimated cost of a merge tree."""

    parts: int
    tree: str
    levels: int
    workers: int
    nodes: int
    edges: int
    edges_kept: int
    seconds: float
    seconds_of_a_leaf: float
    seconds_of_the_last_merge: float
    memory_per_worker_bytes: int
    moved_bytes: int
    result_bytes: int


def estimate_cost(graph: GraphLike, config: SparsifyConfig) -> CostEstimate:
    """Estimate what the merge tree over a graph would cost, from a sample of its parts.

    Parameters
    ----------
    graph : files that `read_edges` opened, or a graph in memory
    config : SparsifyConfig
        Budget, shape of the tree, number of parts and of workers, and memory limit.

    Returns
    -------
    CostEstimate

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> graph = erdos_renyi(500, 40_000, random_state=7).to_edge_list()
    >>> cost = estimate_cost(graph, SparsifyConfig(n_edges=4000, workers=2, n_parts=8))
    >>> cost.parts, cost.levels, cost.edges, cost.nodes
    (8, 3, 40000, 500)
    """
    pieces = split(as_stream(graph), config.n_parts)
    new_stream = partial(
        StreamSparsifier, **config.stream_settings(), options=config.options, random_state=0
    )
    # Kernels are compiled, or loaded, before anything is timed.
    warm_up = StreamSparsifier(n_edges=200, options=config.options).partial_fit(complete(64))
    warm_up.merge(warm_up).sparsifier()
    began = time.perf_counter()
    streams = []
    sampled_fraction = 0.0
    for piece in (pieces[0], pieces[-1]):
        streams.append(new_stream().partial_fit(next(piece.batches())))
        # NaN is unknown: it is assumed that all was read.
        sampled_fraction += float(np.nan_to_num(piece.fraction_read, nan=1.0))
    first, second = streams
    merged = first.merge(second)
    merged.sparsifier()
    seconds = time.perf_counter() - began
    n_read = merged.n_edges_seen_
    n_merged = first.n_kept_ + second.n_kept_
    n_edges = round(n_read / sampled_fraction * len(pieces))
    n_nodes = merged.n_nodes_
    if n_read < n_edges:
        # If both sets of nodes are random, the fraction of the first one that lies in the second
        # one is the fraction of all nodes that the second one has.
        n_common = first.n_nodes_ + second.n_nodes_ - n_nodes
        estimate = round(first.n_nodes_ * second.n_nodes_ / max(n_common, 1))
        n_nodes = max(n_nodes, estimate)
    return cost_of_tree(
        n_nodes,
        n_edges,
        config.budget(n_nodes, n_edges),
        len(pieces),
        edges_per_second=(n_read + n_merged) / seconds,
        tree=config.tree_shape,
        workers=config.workers or 1,
        memory_limit=config.memory_limit,
    )


def cost_of_tree(
    n_nodes: int,
    n_edges: int,
    n_kept: int,
    n_parts: int,
    *,
    edges_per_second: float,
    tree: str | int,
    workers: int,
    memory_limit: int | None = None,
) -> CostEstimate:
    """Estimate the cost of a merge tree over a graph of known size.

    One thread reads or merges `edges_per_second` edges.

    >>> cost = cost_of_tree(
    ...     10**6, 10**9, 10**7, 64, edges_per_second=1e6, tree="balanced", workers=8
    ... )
    >>> cost.levels, cost.moved_bytes // 10**9
    (6, 24)
    """
    shape = as_tree(tree, n_parts, allow_guided=True)
    high, low = StreamOptions(memory_limit=memory_limit).watermarks(n_kept, n_nodes)
    leaf_edges = n_edges / n_parts
    n_parts_of_node = shape.sizes()
    # At worst, a leaf ends just before it would have resparsified.
    sampled = [min(leaf_edges, high)] * shape.n_nodes
    seconds = [leaf_edges / edges_per_second] * shape.n_nodes
    path_seconds = list(seconds)
    moved_bytes = 0.0
    largest_sample = sampled[0]
    for node in shape.post_order():
        prior_node = shape.prior_node(node)
        if prior_node is not None:
            # A part that continues others samples each edge with probability low / (edges so far).
            continued = low * math.log1p(1 / n_parts_of_node[prior_node])
            sampled[node] = min(sampled[node], continued)
            path_seconds[node] += path_seconds[prior_node]
        children = shape.children(node)
        if children:
            received = sum(sampled[child] for child in children)
            moved_bytes += state_bytes(len(children) * n_nodes, received)
            seconds[node] = received / edges_per_second
            path_seconds[node] = seconds[node] + max(path_seconds[child] for child in children)
            # With a memory limit, states are resparsified before a merge exceeds it.
            in_memory = received if memory_limit is None else min(received, high)
            largest_sample = max(largest_sample, in_memory)
            sampled[node] = received if received <= high else low
    return CostEstimate(
        parts=n_parts,
        tree=str(tree),
        levels=shape.heights()[-1],
        workers=workers,
        nodes=n_nodes,
        edges=n_edges,
        edges_kept=min(n_kept, n_edges),
        seconds=max(sum(seconds) / workers, path_seconds[-1]),
        seconds_of_a_leaf=seconds[0],
        seconds_of_the_last_merge=seconds[-1] if shape.merges else 0.0,
        memory_per_worker_bytes=int(stream_bytes(n_nodes, largest_sample)),
        moved_bytes=int(moved_bytes),
        result_bytes=state_bytes(n_nodes, n_kept),
    )
