"""Weights of cuts of all sizes, in a graph, in its sparsifier and in random edges.

A cut is the total weight between a group of nodes and all others. Half of the 64 groups are nodes
whose numbers follow one another. Nodes are numbered as they appear in the input, so that such a
group is often a neighborhood or a cluster, with a light cut. The other groups are random nodes.
Their sizes are those of a geometric progression from one node to half of all nodes. Groups do not
depend on the sparsifier: groups of nodes that it joins would favor random edges.

The graph is read once. Random edges are sampled independently in the same pass, each with
probability p and with weight w / p, so that they need no memory.
"""

from dataclasses import dataclass

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sparsifiers.stream.cut_probes import add_to_table, cut_sums
from graphsqueak.system.progress import Progress, reporter

# Groups of each kind. A table adds up eight cuts at a time, and a plot of twice as many points is
# as easy to read.
_N_GROUPS = 32


@dataclass(frozen=True)
class CutComparison:
    """Weights of the cuts that have an edge in the graph.

    Attributes
    ----------
    graph, sparsifier, random_edges : ndarray of shape (n_cuts,)
        Weight of every cut in the graph, in the sparsifier, and in about as many random edges.

    Examples
    --------
    >>> cuts = CutComparison(*np.array([[9.0, 40.0], [9.0, 38.0], [12.0, 41.0]]))
    >>> np.abs(cuts.sparsifier / cuts.graph - 1)
    array([0.  , 0.05])
    """

    graph: np.ndarray
    sparsifier: np.ndarray
    random_edges: np.ndarray


def compare_cuts(
    graph: EdgeSource | EdgeList,
    sparsifier: EdgeList,
    *,
    n_edges: int,
    seed: int,
    progress: Progress = False,
) -> CutComparison:
    """Return weights of cuts of all sizes, in one pass over the graph.

    Parameters
    ----------
    graph : EdgeSource or EdgeList
        Nodes are matched by id.
    sparsifier : EdgeList
        With all nodes of the graph.
    n_edges : int
        Number of edges of the graph. It determines the fraction that is sampled.
    seed : int
        Seed of the groups and of the random edges.
    progress : bool or callable

    Examples
    --------
    All edges are kept:

    >>> from graphsqueak.sources import complete
    >>> graph = complete(30).to_edge_list()
    >>> cuts = compare_cuts(graph, graph, n_edges=graph.n_edges, seed=7)
    >>> bool((cuts.sparsifier == cuts.graph).all() and (cuts.random_edges == cuts.graph).all())
    True
    """
    rng = np.random.default_rng(seed)
    sides = _draw_groups(sparsifier.n_nodes, rng)
    matching = NodeMatching(sparsifier)
    fraction = min(sparsifier.n_edges / max(n_edges, 1), 1.0)
    # Weights in the graph, in random edges and in the sparsifier, in tables of eight cuts each.
    tables = np.zeros((3, len(sides), 256))
    n_read = 0
    with reporter(progress, "comparing cuts") as report:
        for batch in graph.batches():
            tail, head = matching.ends(batch)
            is_sampled = rng.random(batch.n_edges) < fraction
            tail_sampled = tail[is_sampled]
            head_sampled = head[is_sampled]
            weight_sampled = batch.weight[is_sampled] / fraction
            for number, side in enumerate(sides):
                add_to_table(side, tail, head, batch.weight, tables[0, number])
                add_to_table(side, tail_sampled, head_sampled, weight_sampled, tables[1, number])
            n_read += batch.n_edges
            report(n_read, graph.fraction_read)
    for number, side in enumerate(sides):
        add_to_table(side, sparsifier.tail, sparsifier.head, sparsifier.weight, tables[2, number])
    weights, random_weights, found = (
        np.concatenate([cut_sums(table) for table in several]) for several in tables
    )
    has_edges = weights > 0
    return CutComparison(
        graph=weights[has_edges],
        sparsifier=found[has_edges],
        random_edges=random_weights[has_edges],
    )


def _draw_groups(n_nodes, rng):
    """Return an array of bytes per node for every eight groups; a bit is set for its members."""
    sizes = np.geomspace(1, max(n_nodes // 2, 1), _N_GROUPS).round().astype(np.int64)
    sides = np.zeros((2 * _N_GROUPS // 8, n_nodes), dtype=np.uint8)
    for number, size in enumerate(sizes.tolist()):
        start = int(rng.integers(n_nodes - size + 1))
        members = rng.choice(n_nodes, size, replace=False, shuffle=False)
        for group, nodes in ((2 * number, slice(start, start + size)), (2 * number + 1, members)):
            sides[group // 8, nodes] |= 1 << (group % 8)
    return sides
