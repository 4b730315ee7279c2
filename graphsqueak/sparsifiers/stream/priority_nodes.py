"""Nodes whose edges are oversampled.

Labelled nodes are often known before the stream begins, and their edges carry the most information.
Sampling an edge with a probability above its leverage is always valid: it stays unbiased and has
less variance. So edges at priority nodes have their resistance multiplied by an oversampling factor
b >= 1, and everything else is unchanged. The factor is chosen so that they use a fixed fraction of
the budget: infinite (p = 1) while all of them fit, proportional to their leverage beyond.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from graphsqueak.graph.forest import append_growable
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sampling import find_scale
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges

# A factor that makes every probability 1, yet does not overflow when multiplied by weights: the
# largest number of single precision.
LARGEST_OVERSAMPLING = float(np.finfo(np.float32).max)


@dataclass
class PriorityNodes:
    """Priority nodes of a stream, by number, and the oversampling factor of their edges.

    Parameters
    ----------
    mask : ndarray of bool, optional
        Whether each node has priority.
    fraction : float
        Fraction of the budget that their edges may use. With less, labelled nodes lose neighbors;
        with more, the rest of the graph loses edges.
    oversampling : float
        The current factor b.

    Examples
    --------
    >>> priority = PriorityNodes(np.array([True, False, False]), oversampling=2.0)
    >>> edges = SampledEdges(np.array([0, 1]), np.array([1, 2]), np.ones(2), np.zeros(2, bool))
    >>> priority.oversample(edges, np.ones(2), priority.oversampling)
    array([2., 1.])
    """

    mask: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    fraction: float = 0.5
    oversampling: float = 1.0

    def grow(self, n_nodes: int) -> None:
        """Add nodes without priority until there are `n_nodes`."""
        n_new = max(n_nodes - self.mask.size, 0)
        self.mask = append_growable(self.mask, np.zeros(n_new, dtype=np.bool_))

    def look_up(self, numbering: Numbering, n_nodes: int, wanted: Collection) -> None:
        """Add the nodes that are new in `numbering`; those among the `wanted` ids have priority."""
        start = self.mask.size
        if start >= n_nodes:
            return
        names: Iterable = range(start, n_nodes)
        if numbering.ids is not None:
            names = np.asarray(numbering.ids[start:n_nodes]).tolist()
        found = np.fromiter((name in wanted for name in names), np.bool_, n_nodes - start)
        self.mask = append_growable(self.mask, found)

    def touches(self, edges: SampledEdges) -> np.ndarray:
        """Return which edges have a priority node."""
        return self.mask[edges.tail] | self.mask[edges.head]

    def oversampling_for(self, edges: SampledEdges, resistance: np.ndarray, budget: float) -> float:
        """Return the factor at which edges at priority nodes use their fraction of the budget."""
        if not self.mask.any():
            return 1.0
        is_priority = self.touches(edges)
        leverage = edges.weight * resistance
        scale = find_scale(leverage[is_priority], self.fraction * budget)
        n_expected = np.minimum(1.0, scale * leverage[is_priority]).sum()
        scale_of_others = find_scale(leverage[~is_priority], max(budget - n_expected, 1.0))
        if scale_of_others == np.inf:
            return 1.0
        return min(max(scale / scale_of_others, 1.0), LARGEST_OVERSAMPLING)

    def oversample(self, edges: SampledEdges, scores: np.ndarray, factor: float) -> np.ndarray:
        """Return the scores of edges, those of edges at priority nodes times `factor`."""
        if factor == 1.0:
            return scores
        return np.where(self.touches(edges), scores * factor, scores)

    def active(self) -> tuple[np.ndarray, float]:
        """Return the mask and the factor; an empty mask if no edge is oversampled."""
        if self.oversampling > 1.0 and self.mask.any():
            return self.mask, self.oversampling
        return self.mask[:0], 1.0


def as_plain_ids(nodes: Iterable | None) -> frozenset | None:
    """Return node ids as plain Python integers and strings, which a checkpoint can store.

    >>> as_plain_ids(np.array([7, 7]))
    frozenset({7})
    """
    if nodes is None:
        return None
    return frozenset(node.item() if hasattr(node, "item") else node for node in nodes)
