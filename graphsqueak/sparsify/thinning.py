"""Thin the kept edges to a scale: who stays, and with what weight.

With theta = 1 / (c r), every part of an edge that weighs less than theta survives with probability
(its weight) / theta and then weighs theta. Parts are thinned by independent coins, or, where an
edge is one part, by a rounding that keeps every node's degree and has the same marginals.
"""

import numba
import numpy as np

from graphsqueak.sampling import child_seed
from graphsqueak.sparsify.kept import Kept
from graphsqueak.sparsify.rounding import round_keeping_degrees

__all__ = ["thinned"]


def thinned(edges, resistance, scale, n_nodes, *, seed, n_bits):
    """The edges that survive at this scale, reweighted; pinned edges as they are.

    `n_bits` is how finely probabilities are rounded (see `rounding`); 0 is for independent coins.

    >>> from graphsqueak.sparsify.kept import Kept
    >>> one = np.ones(1)
    >>> light = Kept(np.array([0]), np.array([1]), one, np.array([4]), np.array([False]))
    >>> thinned(light, one, 4.0, 2, seed=7, n_bits=0).weight
    array([1.])
    """
    prob = np.empty(edges.tail.size)
    _probabilities(edges.weight, edges.copies, edges.pinned, resistance, scale, prob)
    if n_bits:
        ends = (edges.tail, edges.head)
        kept = round_keeping_degrees(*ends, prob, n_nodes, seed=seed, n_bits=n_bits)
        copies = kept.astype(edges.copies.dtype)
    else:
        rng = np.random.default_rng(child_seed(seed, 0))
        copies = rng.binomial(edges.copies, prob).astype(edges.copies.dtype)
    survivors = Kept(*(np.empty(np.count_nonzero(copies), column.dtype) for column in edges))
    _survive(edges, copies, prob, survivors)
    return survivors


@numba.njit(cache=True, nogil=True)
def _probabilities(weight, copies, pinned, resistance, scale, out):
    for e in range(weight.size):
        prob = weight[e] / copies[e] * resistance[e] * scale
        out[e] = 1.0 if pinned[e] or prob > 1.0 else prob


@numba.njit(cache=True, nogil=True)
def _survive(edges, copies, prob, survivors):
    """Copy the edges with copies left; each part now weighs its old weight / prob."""
    size = 0
    for e in range(copies.size):
        if copies[e] > 0:
            survivors.tail[size] = edges.tail[e]
            survivors.head[size] = edges.head[e]
            survivors.weight[size] = edges.weight[e] / edges.copies[e] * copies[e] / prob[e]
            survivors.copies[size] = copies[e]
            survivors.pinned[size] = edges.pinned[e]
            size += 1
