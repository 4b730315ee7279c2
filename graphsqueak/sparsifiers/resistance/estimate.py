"""Effective resistances of all edges of a graph, by the cheapest method that is accurate enough.

    degrees   r is close to 1 / d_u + 1 / d_v on graphs without bottlenecks. The module `degrees`
              tests this on a coarse sparsifier, and corrects single edges.
    sketch    If the test fails, a few linear systems are solved (module `sketch`).

The choice is made only here. Resparsification, finalization and forecasts use it.
"""

from functools import cached_property

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
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

__all__ = [
    "DEGREE_APPROX_MIN_NODES",
    "ResistanceEstimate",
    "estimate",
    "resistances_if_current",
]

# Below this number of nodes a sketch takes milliseconds, and degrees are not tried.
DEGREE_APPROX_MIN_NODES = 2**12


class ResistanceEstimate:
    """Estimated resistances of the edges of a graph.

    Parameters
    ----------
    embedding : ResistanceEmbedding
        Embedding of the nodes.
    is_from_degrees : bool
        Whether resistances follow from degrees. If not, they are sketched.
    degrees : ndarray
        Weighted degrees, including the ridge.
    tail, head, weight : ndarray
        The edges.

    Attributes
    ----------
    resistance : ndarray
        Resistance of every edge, computed when it is first used.
    """

    def __init__(
        self,
        embedding: ResistanceEmbedding,
        *,
        is_from_degrees: bool,
        degrees: np.ndarray,
        tail: np.ndarray,
        head: np.ndarray,
        weight: np.ndarray,
    ) -> None:
        self.embedding = embedding
        self.is_from_degrees = is_from_degrees
        self._degrees = degrees
        self._edges = (tail, head, weight)

    @cached_property
    def resistance(self) -> np.ndarray:
        """Resistance of every edge."""
        tail, head, weight = self._edges
        if not self.is_from_degrees:
            return sketch_resistances(self.embedding, tail, head, weight)
        points = self.embedding.points
        # `degree_resistances` takes points as the arrival filter stores them.
        points = points / np.float32(np.sqrt(points.shape[1]))
        return degree_resistances(points, self._degrees, tail, head, weight)


def estimate(
    tail,
    head,
    weight,
    in_forest,
    degrees,
    *,
    n_probes,
    seed,
    ridge=0.0,
    is_averaged=True,
    min_nodes=DEGREE_APPROX_MIN_NODES,
):
    """Estimate the resistances of all edges of a graph, from degrees or by a sketch.

    Parameters
    ----------
    tail, head, weight : ndarray
        The edges, without parallel edges.
    in_forest : ndarray of bool
        Mask of a spanning forest.
    degrees : ndarray
        Weighted degrees of the graph, including the ridge.
    n_probes : int
        Number of right-hand sides of the sketch.
    seed : int
        Seed of the sample of edges and of the right-hand sides.
    ridge : float
        Resistances are those of L + ridge I.
    is_averaged : bool
        See `degree_sketch`.
    min_nodes : int
        Smallest number of nodes for which degrees are tried.

    Returns
    -------
    ResistanceEstimate

    Examples
    --------
    In the complete graph of 100 nodes all resistances are 2 / 100:

    >>> from graphsqueak.sources import complete
    >>> graph = complete(100).to_edge_list()
    >>> in_forest = graph.tail == 0
    >>> found = estimate(
    ...     graph.tail, graph.head, graph.weight, in_forest, graph.degrees(), n_probes=8, seed=7
    ... )
    >>> float(found.resistance.mean().round(3)), found.is_from_degrees
    (0.02, False)
    """
    embedding = None
    if degrees.size >= min_nodes:
        embedding = degree_sketch(
            tail,
            head,
            weight,
            in_forest,
            degrees,
            seed=seed,
            ridge=ridge,
            is_averaged=is_averaged,
        )
    is_from_degrees = embedding is not None
    if embedding is None:
        graph = EdgeList.from_validated(tail, head, weight, degrees.size)
        embedding = precise_embedding(graph, n_probes=n_probes, seed=seed, ridge=ridge)
    return ResistanceEstimate(
        embedding,
        is_from_degrees=is_from_degrees,
        degrees=degrees,
        tail=tail,
        head=head,
        weight=weight,
    )


def resistances_if_current(points, degrees, tail, head, weight):
    """Return resistances from current degrees and earlier points; None if the points are outdated.

    Parameters
    ----------
    points : ndarray
        Points of an earlier estimate from degrees, divided by sqrt(k).
    degrees, tail, head, weight : ndarray
        Degrees and edges of the current graph.
    """
    resistance = degree_resistances(points, degrees, tail, head, weight)
    return resistance if leverages_fit(resistance, weight, degrees.size) else None
