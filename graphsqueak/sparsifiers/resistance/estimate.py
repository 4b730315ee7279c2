"""Effective resistances of all edges of a graph, by the cheapest method that is accurate enough.

    degrees   r is close to 1 / d_u + 1 / d_v on graphs without bottlenecks. The module `degrees`
              tests this on a coarse sparsifier, and corrects single edges.
    sketch    If the test fails, a few linear systems are solved (module `sketch`).

The choice is made only here. Resparsification, finalization and forecasts use it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphsqueak.sparsifiers.resistance.degrees import (
    degree_resistances,
    degree_sketch,
    leverages_fit,
)
from graphsqueak.sparsifiers.resistance.sketch import (
    ResistanceEmbedding,
    precise_embedding,
    sketch_resistances,
)


@dataclass(frozen=True)
class ResistanceEstimate:
    """Estimated resistances of the edges of a graph.

    Parameters
    ----------
    edges : SampledEdges
    degrees : ndarray
        Weighted degrees, including the ridge.
    embedding : ResistanceEmbedding
        Embedding of the nodes.
    is_from_degrees : bool
        Whether resistances follow from degrees. If not, they are sketched.
    """

    edges: Any
    degrees: np.ndarray
    embedding: ResistanceEmbedding
    is_from_degrees: bool

    @cached_property
    def resistance(self) -> np.ndarray:
        """Resistance of every edge, computed when it is first used."""
        tail, head, weight, _ = self.edges
        if not self.is_from_degrees:
            return sketch_resistances(self.embedding, tail, head, weight)
        points = self.embedding.points
        # `degree_resistances` takes points as the arrival filter stores them.
        points = points / np.float32(np.sqrt(points.shape[1]))
        return degree_resistances(points, self.degrees, tail, head, weight)


def estimate(
    edges,
    degrees,
    *,
    n_probes,
    min_nodes,
    seed,
    ridge=0.0,
    is_averaged=True,
):
    """Estimate the resistances of all edges of a graph, from degrees or by a sketch.

    Parameters
    ----------
    edges : SampledEdges
        Without parallel edges.
    degrees : ndarray
        Weighted degrees of the graph, including the ridge.
    n_probes : int
        Number of right-hand sides of the sketch.
    min_nodes : int
        Smallest number of nodes for which degrees are tried.
    seed : int
        Seed of the sample of edges and of the right-hand sides.
    ridge : float
        Resistances are those of L + ridge I.
    is_averaged : bool
        See `degree_sketch`.

    Returns
    -------
    ResistanceEstimate

    Examples
    --------
    In the complete graph of 100 nodes all resistances are 2 / 100:

    >>> from graphsqueak.sources import complete
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> graph = complete(100).to_edge_list()
    >>> edges = SampledEdges(graph.tail, graph.head, graph.weight, in_forest=graph.tail == 0)
    >>> found = estimate(edges, graph.degrees(), n_probes=8, min_nodes=2000, seed=7)
    >>> float(found.resistance.mean().round(3)), found.is_from_degrees
    (0.02, False)
    """
    embedding = None
    if degrees.size >= min_nodes:
        embedding = degree_sketch(edges, degrees, seed=seed, ridge=ridge, is_averaged=is_averaged)
    if embedding is not None:
        return ResistanceEstimate(edges, degrees, embedding, is_from_degrees=True)
    graph = edges.to_edge_list(degrees.size)
    embedding = precise_embedding(graph, n_probes=n_probes, seed=seed, ridge=ridge)
    return ResistanceEstimate(edges, degrees, embedding, is_from_degrees=False)


def resistances_if_current(edges, degrees, points):
    """Return resistances from current degrees and earlier points; None if the points are outdated.

    Parameters
    ----------
    edges : SampledEdges
        Edges of the current graph.
    degrees : ndarray
        Their degrees.
    points : ndarray
        Points of an earlier estimate from degrees, divided by sqrt(k).
    """
    resistance = degree_resistances(points, degrees, edges.tail, edges.head, edges.weight)
    return resistance if leverages_fit(resistance, edges.weight, degrees.size) else None
