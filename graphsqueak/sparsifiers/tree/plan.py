"""What a merge tree over an input would cost, from a sample of it: nothing is run.

The first edges of a few parts are read, streamed and merged, and timed. With k parts, w workers,

    time    = max(work / w, longest path),     work = k leaf + sum of merges,
    memory  = that of `costs` for the nodes and the room of the largest merge,
    traffic = the states that merges take in.

How many nodes there are is estimated from how many of those in one half of the sample the other
half has, too (Lincoln and Petersen): too few where many nodes are seldom met. Say how many there
are if you know.
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

_N_SAMPLES = 4  # parts that are looked into
_SAMPLE = 500_000  # edges of each
_WITHOUT_SHRINK = 0.3  # share of a merge's time that is not its shrink


class Rates(NamedTuple):
    """Measured speeds of one thread."""

    edges_per_second: float  # of a leaf, reading included
    merged_per_second: float  # kept edges that a merge takes in


class CostEstimate(NamedTuple):
    """What is expected; all of it estimated."""

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
    chosen = np.unique(np.linspace(0, len(pieces) - 1, _N_SAMPLES).astype(int)).tolist()
    # The final sample costs what any resparsification does.
    options = StreamOptions(
        memory_limit=memory_limit,
        final_probes=8,
        rescale_to_degrees=False,
        dependent_rounding=False,
    )
    _warm_up(options)
    began, streams, n_read, share = time.perf_counter(), [], 0, 0.0
    for number in chosen:
        stream = StreamSparsifier(**settings, options=options, random_state=number)
        for batch in islice(pieces[number], 1):
            part = batch.part(0, _SAMPLE)
            stream.partial_fit(part)
            share += _share(pieces[number], part, batch)
        streams.append(stream)
        n_read += stream.n_edges_seen_
    reading = time.perf_counter() - began
    n_edges = round(n_read / max(share, 1e-9) * len(pieces))
    n_nodes = _n_nodes(streams, n_read >= n_edges)
    began = time.perf_counter()
    if len(streams) > 1:
        streams[0].merge(*streams[1:]).sparsifier()
    merging = time.perf_counter() - began
    rates = Rates(n_read / reading, sum(s.n_kept_ for s in streams) / max(merging, 1e-3))
    budget = Budget(*(settings.get(name) for name in Budget._fields)).checked()
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
    shape = as_tree(tree, n_parts, may_guide=True)
    heights = shape.heights()
    most, target = StreamOptions(memory_limit=memory_limit).watermarks(n_kept, n_nodes)
    leaf_edges, sizes = n_edges / n_parts, shape.sizes()
    holds = [leaf_edges if leaf_edges <= most else most / 2] * (shape.root + 1)
    seconds = [leaf_edges / rates.edges_per_second] * (shape.root + 1)
    path, moved, most_merged = list(seconds), 0.0, 0.0
    for node in shape.post_order():
        merged, guide = shape.children(node), shape.guide(node)
        if guide is not None:  # it keeps target / (edges so far) of every edge
            holds[node] = min(holds[node], target * math.log1p(1 / sizes[guide]))
            path[node] += path[guide]
        if not merged:
            continue
        fits = most if memory_limit is None else most / len(merged)
        taken = sum(min(holds[child], fits) for child in merged)
        moved += sum(state_bytes(n_nodes, holds[child]) for child in merged)
        most_merged = max(most_merged, taken)
        thinned = taken if taken > most else sum(holds[n] for n in merged if holds[n] > fits)
        work = _WITHOUT_SHRINK * taken + (1 - _WITHOUT_SHRINK) * thinned
        seconds[node] = work / rates.merged_per_second
        path[node] = seconds[node] + max(path[child] for child in merged)
        holds[node] = taken if taken <= most else most / 2
    held = max(min(leaf_edges, most), most_merged)
    return CostEstimate(
        parts=n_parts,
        tree=str(tree),
        levels=heights[-1],
        workers=workers,
        nodes=n_nodes,
        edges=n_edges,
        edges_kept=min(n_kept, n_edges),
        seconds=max(sum(seconds) / workers, path[-1]),
        seconds_of_a_leaf=seconds[0],
        seconds_of_the_last_merge=seconds[-1] if shape.merges else 0.0,
        memory_per_worker_bytes=int(stream_bytes(n_nodes, held)),
        moved_bytes=int(moved),
        result_bytes=state_bytes(n_nodes, n_kept),
    )


def _warm_up(options):
    """Load what is compiled before anything is timed."""
    rng = np.random.default_rng(0)
    ends = rng.integers(50, size=(2, 2_000))
    few = EdgeList(tail=ends[0], head=ends[1])
    stream = StreamSparsifier(n_edges=200, options=options, random_state=0).partial_fit(few)
    stream.merge(stream).sparsifier()


def _share(piece, part, batch):
    """Which share of its piece a sample is."""
    if not isinstance(piece, FileSource):
        return part.n_edges / max(piece.n_edges, 1)
    fraction = piece.fraction_read if math.isfinite(piece.fraction_read) else 1.0
    return fraction * part.n_edges / max(batch.n_edges, 1)


def _n_nodes(streams, is_all):
    """Nodes of the whole, from samples of its parts."""
    half = len(streams) // 2
    merged = streams[0].merge(*streams[1:]) if len(streams) > 1 else streams[0]
    if is_all or half == 0:
        return merged.n_nodes_
    first, second = streams[0].merge(*streams[1:half]), streams[half].merge(*streams[half + 1 :])
    common = first.n_nodes_ + second.n_nodes_ - merged.n_nodes_
    return max(merged.n_nodes_, round(first.n_nodes_ * second.n_nodes_ / max(common, 1)))
