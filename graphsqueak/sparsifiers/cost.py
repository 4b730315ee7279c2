"""Estimate the time, memory and traffic of a merge tree from a sample of its input.

The first edges of a few parts are read, sparsified, merged and timed. With k parts and w workers,

    time     max(work / w, longest path), where work is k leaves and all merges
    memory   of `budget.stream_bytes` for the nodes and the edges of the largest merge
    traffic  the states that merges receive

The number of nodes is estimated from the nodes that two halves of the sample have in common
(Lincoln and Petersen). The estimate is too small if many nodes have few edges.
"""

import math
import time
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.files.reading import FileSource
from graphsqueak.sources.files.splitting import split
from graphsqueak.sources.graph_like import GraphLike, as_stream
from graphsqueak.sparsifiers.budget import Budget, StreamOptions, state_bytes, stream_bytes
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.trees.shapes import as_tree

__all__ = ["CostEstimate", "Rates", "cost_of_tree", "estimate_cost"]

# Parts that are sampled, and edges of each: reading them takes about two seconds.
_N_SAMPLED_PARTS = 4
_MAX_SAMPLED_EDGES = 500_000
# Fraction of the time of a merge that is not its resparsification.
_CONCATENATION_FRACTION = 0.3


class Rates(NamedTuple):
    """Measured speeds of one thread."""

    edges_per_second: float  # of a leaf, reading included
    merged_per_second: float  # kept edges that a merge takes in


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


def estimate_cost(
    graph: GraphLike,
    settings: dict[str, Any],
    *,
    tree: str | int | None = None,
    n_parts: int | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
) -> CostEstimate:
    """Estimate what the merge tree over a graph would cost, from a sample of its parts.

    Parameters
    ----------
    graph : files that `read_edges` opened, or a graph in memory
    settings : dict
        Arguments of the `StreamSparsifier`: n_edges, epsilon or keep, method, ridge.
    tree : {"guided", "balanced", "sequential"} or int, optional
        Shape of the tree, or how many states a merge takes. Default: guided.
    n_parts : int, optional
        About how many parts.
    workers : int, optional
    memory_limit : int, optional
        Bytes that a worker may take.

    Returns
    -------
    CostEstimate

    Examples
    --------
    >>> from graphsqueak.sources import erdos_renyi
    >>> graph = erdos_renyi(500, 40_000, random_state=7).to_edge_list()
    >>> plan = estimate_cost(graph, {"n_edges": 4000}, n_parts=8, workers=2)
    >>> plan.parts, plan.levels, plan.edges, plan.nodes
    (8, 3, 40000, 500)
    """
    pieces = split(as_stream(graph), n_parts)
    chosen = np.unique(np.linspace(0, len(pieces) - 1, _N_SAMPLED_PARTS).astype(int)).tolist()
    # The final sample costs what any resparsification does.
    options = StreamOptions(
        memory_limit=memory_limit,
        final_probes=8,
        rescale_to_degrees=False,
        dependent_rounding=False,
    )
    _warm_up(options)
    began = time.perf_counter()
    streams = []
    n_read = 0
    sampled_fraction = 0.0
    for number in chosen:
        stream = StreamSparsifier(**settings, options=options, random_state=number)
        for batch in islice(pieces[number], 1):
            part = batch.part(0, _MAX_SAMPLED_EDGES)
            stream.partial_fit(part)
            sampled_fraction += _sampled_fraction(pieces[number], part, batch)
        streams.append(stream)
        n_read += stream.n_edges_seen_
    seconds_of_reading = time.perf_counter() - began
    n_edges = round(n_read / max(sampled_fraction, 1e-9) * len(pieces))
    n_nodes = _estimate_nodes(streams, is_complete=n_read >= n_edges)
    began = time.perf_counter()
    if len(streams) > 1:
        streams[0].merge(*streams[1:]).sparsifier()
    seconds_of_merging = time.perf_counter() - began
    n_merged = sum(stream.n_kept_ for stream in streams)
    rates = Rates(
        edges_per_second=n_read / seconds_of_reading,
        merged_per_second=n_merged / max(seconds_of_merging, 1e-3),
    )
    budget = Budget(*(settings.get(name) for name in Budget._fields)).validate()
    return cost_of_tree(
        n_nodes,
        n_edges,
        budget(n_nodes, n_edges),
        len(pieces),
        rates,
        tree=tree or "guided",
        workers=workers or 1,
        memory_limit=memory_limit,
    )


def cost_of_tree(
    n_nodes: int,
    n_edges: int,
    n_kept: int,
    n_parts: int,
    rates: Rates,
    *,
    tree: str | int,
    workers: int,
    memory_limit: int | None = None,
) -> CostEstimate:
    """Estimate the cost of a merge tree over a graph of known size.

    >>> plan = cost_of_tree(10**6, 10**9, 10**7, 64, Rates(2e6, 1e6), tree="balanced", workers=8)
    >>> plan.levels, plan.moved_bytes // 10**9
    (6, 24)
    """
    shape = as_tree(tree, n_parts, allow_guided=True)
    high, low = StreamOptions(memory_limit=memory_limit).watermarks(n_kept, n_nodes)
    leaf_edges = n_edges / n_parts
    n_parts_of_node = shape.sizes()
    n_tree_nodes = shape.root + 1
    sampled = [leaf_edges if leaf_edges <= high else high / 2] * n_tree_nodes
    seconds = [leaf_edges / rates.edges_per_second] * n_tree_nodes
    path_seconds = list(seconds)
    moved_bytes = 0.0
    largest_merge = 0.0
    for node in shape.post_order():
        prior_node = shape.prior_node(node)
        if prior_node is not None:
            # A part that continues others samples each edge with probability low / (edges so far).
            continued = low * math.log1p(1 / n_parts_of_node[prior_node])
            sampled[node] = min(sampled[node], continued)
            path_seconds[node] += path_seconds[prior_node]
        children = shape.children(node)
        if not children:
            continue
        limit = high if memory_limit is None else high / len(children)
        received = sum(min(sampled[child], limit) for child in children)
        moved_bytes += sum(state_bytes(n_nodes, sampled[child]) for child in children)
        largest_merge = max(largest_merge, received)
        if received > high:
            resparsified = received
        else:
            resparsified = sum(sampled[child] for child in children if sampled[child] > limit)
        work = _CONCATENATION_FRACTION * received + (1 - _CONCATENATION_FRACTION) * resparsified
        seconds[node] = work / rates.merged_per_second
        path_seconds[node] = seconds[node] + max(path_seconds[child] for child in children)
        sampled[node] = received if received <= high else high / 2
    largest_sample = max(min(leaf_edges, high), largest_merge)
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


def _warm_up(options):
    """Compile or load all kernels before anything is timed."""
    rng = np.random.default_rng(0)
    tail, head = rng.integers(50, size=(2, 2_000))
    few = EdgeList(tail=tail, head=head)
    stream = StreamSparsifier(n_edges=200, options=options, random_state=0).partial_fit(few)
    stream.merge(stream).sparsifier()


def _sampled_fraction(piece, part, batch):
    """Return which fraction of its part a sample is."""
    if not isinstance(piece, FileSource):
        return part.n_edges / max(piece.n_edges, 1)
    fraction = piece.fraction_read if math.isfinite(piece.fraction_read) else 1.0
    return fraction * part.n_edges / max(batch.n_edges, 1)


def _estimate_nodes(streams, *, is_complete):
    """Estimate the number of nodes from samples of some parts.

    Parameters
    ----------
    streams : list of StreamSparsifier
    is_complete : bool
        Whether the samples are the whole graph.
    """
    half = len(streams) // 2
    merged = streams[0].merge(*streams[1:]) if len(streams) > 1 else streams[0]
    if is_complete or half == 0:
        return merged.n_nodes_
    first = streams[0].merge(*streams[1:half])
    second = streams[half].merge(*streams[half + 1 :])
    n_common = first.n_nodes_ + second.n_nodes_ - merged.n_nodes_
    estimate = round(first.n_nodes_ * second.n_nodes_ / max(n_common, 1))
    return max(merged.n_nodes_, estimate)
