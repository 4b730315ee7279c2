"""Which method makes a sparsifier of few edges: the stream, or the best subgraph.

Below one and a half edges a node the subgraph has the smaller kappa on every kind of graph that was
tried, most often by far; from three on the stream has, whose edges stand for others by their
weights. Between them, on graphs of uneven degrees sooner, on meshes later, it changes: there both
are made, and the one with the smaller kappa stays. Then its epsilon is the smaller one, too: that
of the subgraph is (kappa - 1) / (kappa + 1), and no interval of the same kappa has less. Where the
stream's would be about 1 or more, all its weights get the factor that makes it least.
"""

import warnings
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import Step, child_seed
from graphsqueak.sources.graph_like import GraphLike, as_edge_list
from graphsqueak.sparsifiers.budget import SURELY_FEW
from graphsqueak.sparsifiers.plan import RunPlan
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.sparsifiers.subgraph.subgraph import best_subgraph, largest_ratio
from graphsqueak.system.progress import reporter

__all__ = ["OfFew", "sparsifier_of_few"]

_HEAVY = 1.9  # a largest ratio found from which weights get a factor


class OfFew(NamedTuple):
    """A sparsifier, None where the stream's is to be taken, and how it came about.

    `epsilon` is the error to expect, None where the stream knows, and `factor` what all weights
    were multiplied by.
    """

    sparsifier: EdgeList | None
    method: str
    epsilon: float | None = None
    factor: float = 1.0


def sparsifier_of_few(source: GraphLike, stream: StreamSparsifier, plan: RunPlan) -> OfFew:
    """The sparsifier of few edges of a plan that `takes_a_subgraph`.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        Read once more, and held.
    stream : StreamSparsifier
        That has seen all of it.
    plan : RunPlan

    Examples
    --------
    >>> from graphsqueak.sources import grid
    >>> stream = StreamSparsifier(n_edges=440).partial_fit(grid(20, 20))  # of 400 nodes
    >>> plan = RunPlan(n_edges=440, random_state=7)
    >>> sparsifier_of_few(grid(20, 20), stream, plan).method
    'subgraph'
    """
    per_node = stream.budget_ / max(stream.n_nodes_, 1)
    with reporter(plan.progress, "reading again, for few edges"):
        graph = as_edge_list(source).simplified()
    seed = int(np.random.default_rng(plan.random_state).integers(2**63))
    with reporter(plan.progress, "choosing a subgraph"):
        chosen, epsilon = best_subgraph(graph, stream.budget_, seed=seed)
        if plan.method == "subgraph" or per_node < SURELY_FEW or chosen.n_edges == graph.n_edges:
            return OfFew(chosen, "subgraph", epsilon, 1 + epsilon)
        key = child_seed(seed, Step.LAST)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", AccuracyWarning)
            thinned = stream.sparsifier()
        least = 1 / largest_ratio(graph, thinned, seed=key)
        most = largest_ratio(thinned, graph, seed=key)
    if (1 + epsilon) / (1 - epsilon) <= most / least:
        return OfFew(chosen, "subgraph", epsilon, 1 + epsilon)
    if most < _HEAVY:
        for each in caught:
            warnings.warn(each.message, stacklevel=2)
        return OfFew(thinned, "fast")
    factor = 2 / (least + most)
    ends = (thinned.tail, thinned.head, thinned.weight * factor)
    scaled = EdgeList.from_clean(*ends, graph.n_nodes, graph.own_ids)
    return OfFew(scaled, "fast", (most - least) / (most + least), factor)
