"""Thin the kept edges to a scale: who stays, and with what weight.

With theta = 1 / (c r), every part of an edge that weighs less than theta survives with probability
(its weight) / theta and then weighs theta. Parts are thinned by independent coins, or, where an
edge is one part, by a rounding that keeps every node's degree and has the same marginals.
"""

import numpy as np

from graphsqueak.sampling import child_seed
from graphsqueak.sparsify.rounding import round_keeping_degrees

__all__ = ["thinned"]


def thinned(edges, resistance, scale, n_nodes, *, seed, keep_degrees):
    """The edges that survive at this scale, reweighted; pinned edges as they are.

    >>> from graphsqueak.sparsify.kept import Kept
    >>> one = np.ones(1)
    >>> light = Kept(np.array([0]), np.array([1]), one, np.array([4]), np.array([False]))
    >>> thinned(light, one, 4.0, 2, seed=7, keep_degrees=False).weight
    array([1.])
    """
    part = edges.weight / edges.copies
    prob = np.where(edges.pinned, 1.0, np.minimum(part * resistance * scale, 1.0))
    if keep_degrees:
        kept = round_keeping_degrees(edges.tail, edges.head, prob, n_nodes, seed=seed)
        copies = kept.astype(edges.copies.dtype)
    else:
        rng = np.random.default_rng(child_seed(seed, 0))
        copies = rng.binomial(edges.copies, prob).astype(edges.copies.dtype)
    alive = copies > 0
    weight = (part * copies)[alive] / prob[alive]
    return edges._replace(copies=copies).select(alive)._replace(weight=weight)
