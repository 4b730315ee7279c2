"""Thin the kept edges to a scale: who stays, and with what weight.

With theta = 1 / (c r), every part of an edge that weighs less than theta survives with probability
(its weight) / theta and then weighs theta. Parts are thinned by independent coins, or, where an
edge is one part, by a rounding that keeps every node's degree and has the same marginals.
"""

import numba
import numpy as np

from graphsqueak.sampling import child_seed, uniform
from graphsqueak.solvers.threads import run
from graphsqueak.sparsify.kept import Kept
from graphsqueak.sparsify.rounding import round_keeping_degrees

__all__ = ["thinned"]

_STEPS = 5  # elementary steps per edge
_N_PARTS = 64  # in which survivors are copied, whatever the threads


def thinned(edges, resistance, scale, n_nodes, *, seed, n_bits=0):
    """The edges that survive at this scale, reweighted; pinned edges as they are.

    `n_bits` is how finely probabilities are rounded (see `rounding`); 0 is for independent coins.

    >>> from graphsqueak.sparsify.kept import Kept
    >>> one = np.ones(1)
    >>> light = Kept(np.array([0]), np.array([1]), one, np.array([4]), np.array([False]))
    >>> thinned(light, one, 4.0, 2, seed=7).weight
    array([1.])
    """
    n_edges = edges.tail.size
    prob, copies = np.empty(n_edges), np.empty(n_edges, edges.copies.dtype)
    parts = (edges.weight, edges.copies, edges.pinned, resistance)
    run(_probabilities, _STEPS * n_edges, *parts, scale, prob)
    if n_bits:
        ends = (edges.tail, edges.head)
        copies[:] = round_keeping_degrees(*ends, prob, n_nodes, seed=seed, n_bits=n_bits)
    else:
        run(_toss, _STEPS * n_edges, edges.copies, prob, np.uint64(child_seed(seed, 0)), copies)
    part = np.linspace(0, n_edges, _N_PARTS + 1).astype(np.int64)
    size = np.zeros(_N_PARTS + 1, dtype=np.int64)
    run(_count, n_edges, copies, part, size)
    first = np.cumsum(size)
    survivors = Kept(*(np.empty(first[-1], column.dtype) for column in edges))
    run(_survive, _STEPS * n_edges, *edges, copies, prob, part, first, *survivors)
    return survivors


@numba.njit(cache=True, nogil=True, parallel=True)
def _probabilities(weight, copies, pinned, resistance, scale, out):
    for e in numba.prange(weight.size):
        prob = weight[e] / copies[e] * resistance[e] * scale
        out[e] = 1.0 if pinned[e] or prob > 1.0 else prob


@numba.njit(cache=True, nogil=True, parallel=True)
def _toss(copies, prob, seed, out):
    """How many of the copies of each edge survive a coin each."""
    for e in numba.prange(copies.size):
        n_left = 0
        for copy in range(copies[e]):
            n_left += uniform(seed, np.uint64(e), np.uint64(copy)) < prob[e]
        out[e] = n_left


@numba.njit(cache=True, nogil=True, parallel=True)
def _count(copies, part, size):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            size[p + 1] += copies[e] > 0


@numba.njit(cache=True, nogil=True, parallel=True)
def _survive(tail, head, weight, parts, pinned, copies, prob, part, first, *survivors):
    """Copy the edges with copies left; each part now weighs its old weight / prob."""
    new_tail, new_head, new_weight, new_copies, new_pinned = survivors
    for p in numba.prange(part.size - 1):
        place = first[p]
        for e in range(part[p], part[p + 1]):
            if copies[e] > 0:
                new_tail[place], new_head[place] = tail[e], head[e]
                new_weight[place] = weight[e] / parts[e] * copies[e] / prob[e]
                new_copies[place], new_pinned[place] = copies[e], pinned[e]
                place += 1
