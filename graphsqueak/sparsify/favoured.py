"""Nodes whose edges matter more: a share of the budget is theirs.

Whoever knows before the stream which nodes carry labels wants their edges kept. Sampling an edge
with a probability above its leverage is always safe (it stays unbiased and only gets less noisy),
so favoured edges have their resistance multiplied by a boost >= 1, and thinning and filter go on as
before. The boost is what fills the favoured share of the budget: infinite, that is p = 1, while all
favoured edges fit into it, and proportional to their leverage beyond.
"""

import numba
import numpy as np

from graphsqueak.sparsify.arrival import judged
from graphsqueak.sparsify.scoring import scale_for

__all__ = ["Favoured"]

SHARE = 0.5  # measured: more starves the rest of the graph, less loses labels' edges
_CERTAIN = 1e30


class Favoured:
    """The favoured nodes of a stream, known by number, and the boost of their edges.

    >>> favoured = Favoured(np.array([True, False, False]), share=0.5)
    >>> favoured.edges(np.array([0, 1]), np.array([1, 2]))
    array([ True, False])
    """

    def __init__(self, mask=None, *, share=SHARE):
        self.mask = np.zeros(0, dtype=np.bool_) if mask is None else mask
        self.share = share
        self.boost = 1.0

    def grow(self, more):
        """Append what is known of further nodes, a boolean each."""
        self.mask = np.concatenate([self.mask, more])

    def meet(self, numbering, n_nodes, wanted):
        """Learn which of the nodes new to `numbering` are among the `wanted` ids."""
        start = self.mask.size
        if start < n_nodes:
            ids = numbering.ids
            names = (
                range(start, n_nodes) if ids is None else np.asarray(ids[start:n_nodes]).tolist()
            )
            self.grow(np.fromiter((name in wanted for name in names), np.bool_, n_nodes - start))

    def edges(self, tail, head):
        """Which edges touch a favoured node."""
        return self.mask[tail] | self.mask[head]

    def boosted(self, edges, resistance, budget):
        """Resistances with those of favoured edges raised to fill their share, and the boost."""
        chosen = self.edges(edges.tail, edges.head)
        n_chosen = np.count_nonzero(chosen)
        if n_chosen == 0:
            return resistance, 1.0
        leverage = edges.weight * resistance
        scale = scale_for(leverage[chosen], self.share * budget)
        spent = np.minimum(1.0, scale * leverage[chosen]).sum() if scale < np.inf else n_chosen
        rest = scale_for(leverage[~chosen], max(budget - spent, 1.0))
        boost = min(max(scale / rest, 1.0), _CERTAIN) if rest < np.inf else 1.0
        return np.where(chosen, resistance * boost, resistance), boost

    def refilter(self, judge, tail, head, weight, new, *, seed, first):
        """Judge favoured arrivals again, with the boost: their entries of `new` are replaced."""
        if self.boost > 1.0 and self.mask.any():
            parts = (judge.points, judge.near, judge.component, judge.scale * self.boost)
            ends = (self.mask, tail, head, weight)
            _refilter(*parts, *ends, np.uint64(seed), np.uint64(first), new)


@numba.njit(cache=True, nogil=True)
def _refilter(points, near, component, scale, favoured, tail, head, weight, seed, first, out):
    for e in range(tail.size):
        if favoured[tail[e]] or favoured[head[e]]:
            ends, key = (tail[e], head[e]), (seed, first + np.uint64(e))
            out[e] = judged(points, near, component, scale, ends, weight[e], key)
