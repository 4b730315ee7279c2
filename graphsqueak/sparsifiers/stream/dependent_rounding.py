"""Degree-preserving dependent rounding: sample edges so that nodes get the degrees they expect.

Given a probability p_e for every edge, draw a random subset in which edge e occurs with probability
exactly p_e, while the number of edges at every node stays close to its expectation. Independent
sampling leaves degrees with a standard deviation of sqrt(d). It is these noisy degrees that keep a
sampled graph from the best possible one. Without them, a sample of a dense graph with mean degree d
is close to a random regular graph, whose Laplacian is within 2 sqrt(d - 1) / d of the original, the
Alon-Boppana limit.

Write p_e in binary as k_e / 2^b and clear the lowest bit of all edges at once. The edges whose bit
is set form a graph. Walk along closed tours of it and change k_e alternately by +1 and -1, so that
every node gains as much as it loses. Fair random signs of the first edges of tours preserve
expectations. After b rounds k_e is 0 or 2^b, in linear time. This is the dependent rounding of
[GKPS06] by Euler tours. The order in which the edges of a node follow each other is random: the
order of a list would leave patterns, and half of a complete graph would have a third more error.

Two sources of noise remain:

* A tour of odd length has one more edge up than down, or the reverse. A tour therefore begins with
  the sign of which there are fewer so far, and with a random one if there are as many. By symmetry
  every sign stays fair.
* p_e is first rounded at random to a multiple of 2^-b. That adds sum_e f_e (1 - f_e) / 4^b to the
  variance of a degree, where f_e is the fractional part of 2^b p_e. With b = 4, a node with a
  thousand edges at p = 0.3 has a standard deviation of 0.8; independent sampling has 14.

References
----------
[GKPS06] Gandhi, Khuller, Parthasarathy, Srinivasan. Dependent rounding and its applications to
         approximation algorithms. J. ACM 53(3), 2006.
"""

import numpy as np
from scipy.sparse import get_index_dtype

from graphsqueak.randomness import ROUNDING_WORD, child_seed, random_bits, shuffle, uniforms
from graphsqueak.system.kernels import njit_cached, prefetch

# Binary digits b of the probabilities. With 2 the error changes by -2 to +3 %, with 4 by -2 to
# +1 %. With 8 it changes by -4 to +1 %, and the run takes up to 14 % longer (noise: about 8 %).
N_BITS = 3
# Edges per tour that is walked at the same time: every step waits for memory, and other walks use
# that time. A single walk takes up to three times as long for a million edges. Walks that meet
# disturb a node: four walks for 350 nodes at 1.2 edges per node have 4 % more error. Halved or
# doubled, times differ by up to 13 %, about the noise of the measurement.
_EDGES_PER_WALK = 2**14


def dependent_rounding(tail, head, prob, n_nodes, *, seed, n_bits=N_BITS):
    """Draw a random subset of edges with given probabilities and nearly no noise in the degrees.

    Parameters
    ----------
    tail, head : ndarray of int
    prob : ndarray of float in [0, 1]
    n_nodes : int
    seed : int
    n_bits : int
        Binary digits b of the probabilities.

    Returns
    -------
    ndarray of bool
        Whether each edge is in the subset.

    Examples
    --------
    Every second edge of an even cycle, whatever the random sign:

    >>> tail, head = np.arange(6), (np.arange(6) + 1) % 6
    >>> kept = dependent_rounding(tail, head, np.full(6, 0.5), 6, seed=90210)
    >>> (np.bincount(tail[kept], minlength=6) + np.bincount(head[kept], minlength=6)).tolist()
    [1, 1, 1, 1, 1, 1]
    """
    top = 2**n_bits
    # Round prob up or down to a multiple of 2^-b at random, which is unbiased.
    level = uniforms(seed, 0, prob.size)
    level += prob * top
    level = level.astype(np.int8 if top < 128 else np.int32)
    order = shuffle(np.flatnonzero(level & (top - 1) != 0), seed)
    open_tail = tail[order]
    open_head = head[order]
    open_level = level[order]
    for bit in range(n_bits):
        odd = np.flatnonzero(open_level & (1 << bit) != 0)
        if odd.size == 0:
            continue
        sign = _alternating_signs(
            open_tail[odd],
            open_head[odd],
            n_nodes,
            seed=np.uint64(child_seed(seed, bit)),
        )
        open_level[odd] += sign * level.dtype.type(1 << bit)
    level[order] = open_level
    return level == top


def count_std(prob, *, n_bits):
    """Return the standard deviation of the number of edges; `n_bits=0` is independent sampling.

    The few tours of odd length are not included.

    >>> half = np.full(100, 0.5)
    >>> float(count_std(half, n_bits=0)), float(count_std(half, n_bits=3))
    (5.0, 0.0)
    """
    top = 2**n_bits
    fraction = (prob * top) % 1.0
    return np.sqrt((fraction * (1 - fraction)).sum()) / top


def _alternating_signs(tail, head, n_nodes, *, seed):
    """Return signs, 1 for up and -1 for down, that alternate along closed tours of the edges."""
    index_dtype = get_index_dtype(maxval=2 * tail.size)
    partner = np.empty((2 * tail.size, 1), dtype=index_dtype)
    _pair_ends(tail, head, np.full(n_nodes, -1, dtype=index_dtype), partner)
    n_walks = 1 + tail.size // _EDGES_PER_WALK
    first, end, direction, n_ends = np.zeros((4, n_walks), dtype=np.int64)
    sign = np.zeros(tail.size, dtype=np.int8)
    _alternate(partner, seed, first, end, direction, n_ends, sign)
    return sign


@njit_cached
def _alternate(partner, seed, first, end, direction, n_ends, sign):
    """Walk along tours until every edge has a sign, 1 or -1.

    Stepping from the end of an edge to its partner, an end of another edge at the same node, and on
    to the far end of that edge walks along a tour. Several walks take turns, since each spends its
    time waiting for memory. If two walks meet, one node may be off by two. `n_ends` is the number
    of ends of the first edge that are still to be walked from.
    """
    next_edge = 0
    excess = 0  # edges up minus edges down
    n_active = 1
    while n_active:
        n_active = 0
        for walk in range(first.size):
            if n_ends[walk] == 0:
                while next_edge < sign.size and sign[next_edge] != 0:
                    next_edge += 1
                if next_edge == sign.size:
                    continue
                bit = random_bits(seed, np.uint64(next_edge), ROUNDING_WORD) & np.uint64(1)
                direction[walk] = -np.sign(excess) if excess else 2 * np.int64(bit) - 1
                sign[next_edge] = direction[walk]
                excess += direction[walk]
                first[walk] = next_edge
                end[walk] = 2 * next_edge
                n_ends[walk] = 2
            n_active += 1
            near_end = np.uint64(partner[np.uint64(end[walk]), 0])
            edge = near_end >> np.uint64(1)
            if sign[edge] == 0:
                direction[walk] = -direction[walk]
                sign[edge] = direction[walk]
                excess += direction[walk]
                end[walk] = near_end ^ np.uint64(1)
                prefetch(partner, end[walk], 0)
            else:
                # Back at an edge with a sign: go on from the other end of the first edge.
                n_ends[walk] -= 1
                end[walk] = 2 * first[walk] + 1
                direction[walk] = sign[first[walk]]


@njit_cached
def _pair_ends(tail, head, single, partner):
    """Pair the ends of edges, 2 e and 2 e + 1 for edge e, each with the next one at its node.

    `single` is the end at every node that has no partner yet, -1 for none. The last ends of nodes
    of odd degree are paired in order of the nodes: there is an even number of them.
    """
    for e in range(tail.size):
        for side in range(2):
            u = np.uint64(tail[e] if side == 0 else head[e])
            other = single[u]
            single[u] = 2 * e + side if other < 0 else -1
            if other >= 0:
                partner[np.uint64(other), 0] = 2 * e + side
                partner[2 * e + side, 0] = other
    other = single.dtype.type(-1)
    for end in single:
        if end >= 0 and other >= 0:
            partner[end, 0], partner[other, 0] = other, end
            other = single.dtype.type(-1)
        elif end >= 0:
            other = end
