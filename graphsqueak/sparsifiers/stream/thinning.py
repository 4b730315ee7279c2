"""Thin the kept edges to a scale or to a budget, and keep the degrees.

With theta = 1 / (c r), every part of an edge that weighs less than theta survives with probability
(its weight) / theta and then weighs theta. Parts are thinned by independent coins, or, where an
edge is one part, by a rounding that keeps every node's degree and has the same marginals.

*Rounding.* Given a probability p_e for every edge, draw a random subset in which edge e occurs with
probability exactly p_e and every node has its expected number of edges, up to one or two.
Independent coins leave the degrees noisy (standard deviation sqrt(d)), and it is those noisy
degrees, not the randomness as such, that keep a sampled graph from the best possible one: without
them, a subset of a dense graph with mean degree d is close to a random regular graph, whose
Laplacian is within 2 sqrt(d - 1) / d of the original, the Alon-Boppana limit.

Write p_e in binary, k_e / 2^b, and clear the lowest bit of all edges at once: the edges whose bit
is set form a graph; walk along closed tours of it and send edges alternately up and down
(k_e + 1 or k_e - 1), so that every node gains as much as it loses. A fair coin for each tour's
first direction makes each edge's expectation stay. After b rounds k_e is 0 or 2^b. The work is
linear in the number of edges. This is the dependent rounding of [GKPS06] with the pairing by
Euler tours in place of one alternating path at a time.

*The last shrink.* During the stream a spanning forest is pinned at its own, light weights, which
wastes a slot per node. At the end the forest is thinned like every other edge, and a forest edge
comes back, at the weight it would have been given, only where the thinned graph fell apart. By
Foster's theorem every cut holds at least c edges in expectation, so that this happens with a
probability of at most about exp(-c) per cut; below c = 4 the forest stays pinned.

*Calibration.* A stream knows every node's weighted degree exactly, in one number per node. With
scales s,

    w_uv  ->  s_u s_v w_uv,     s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's problem; a few damped steps bring the degrees close. The scales stay within [1/2, 2]:
on sparse graphs the exact solution may not exist, and chasing it drives weights to zero.

References
----------
[GKPS06] Gandhi, Khuller, Parthasarathy, Srinivasan. Dependent rounding and its applications to
         approximation algorithms. J. ACM 53(3), 2006.
"""

import numba
import numpy as np

from graphsqueak.graph.forest import join, roots
from graphsqueak.randomness import WALK_WORD, child_seed, random_bits, uniform, uniforms
from graphsqueak.sampling import scale_for
from graphsqueak.sparsifiers.stream.edges import LARGEST_INDEX, KeptEdges
from graphsqueak.system.threads import run

__all__ = ["calibrate", "count_spread", "round_keeping_degrees", "thin_edges", "thin_to_budget"]

_WORK = 5  # elementary steps per edge
_N_PARTS = 64  # in which survivors are copied, whatever the threads
_WALKS = 32  # at most, at a time
_SAFE_SCALE = 4.0  # c from which the forest need not be pinned in the last shrink
_CALIBRATION_STEPS = 10
_CALIBRATION_PARTS = 4  # of the edges, summed apart: no result depends on the number of threads
_LARGEST_FACTOR = 2.0  # by which calibration scales a node


def thin_edges(edges, resistance, scale, n_nodes, *, seed, n_bits=0):
    """The edges that survive at this scale, reweighted; pinned edges as they are.

    `n_bits` is how finely probabilities are rounded; 0 is for independent coins.

    >>> from graphsqueak.sparsifiers.stream.edges import KeptEdges
    >>> one = np.ones(1)
    >>> light = KeptEdges(np.array([0]), np.array([1]), one, np.array([4]), np.array([False]))
    >>> thin_edges(light, one, 4.0, 2, seed=7).weight
    array([1.])
    """
    n_edges = edges.tail.size
    prob, copies = np.empty(n_edges), np.empty(n_edges, edges.copies.dtype)
    parts = (edges.weight, edges.copies, edges.pinned, resistance)
    run(_probabilities, _WORK * n_edges, *parts, scale, prob)
    if n_bits:
        ends = (edges.tail, edges.head)
        copies[:] = round_keeping_degrees(*ends, prob, n_nodes, seed=seed, n_bits=n_bits)
    else:
        run(_toss, _WORK * n_edges, edges.copies, prob, np.uint64(child_seed(seed, 0)), copies)
    part = np.linspace(0, n_edges, _N_PARTS + 1).astype(np.int64)
    size = np.zeros(_N_PARTS + 1, dtype=np.int64)
    run(_count, n_edges, copies, part, size)
    first = np.cumsum(size)
    survivors = KeptEdges(*(np.empty(first[-1], column.dtype) for column in edges))
    run(_survive, _WORK * n_edges, *edges, copies, prob, part, first, *survivors)
    return survivors


def thin_to_budget(edges, resistance, budget, n_nodes, *, seed, n_bits, pin_forest):
    """The last shrink: at most `budget` edges, and the components of `edges` if `pin_forest`.

    The forest is thinned with the rest where that is safe, and stays pinned otherwise.
    """
    spread = np.sqrt(budget)
    if n_bits:
        spread = count_spread(edges.tail.size, budget, n_bits=n_bits)
    aim = budget - 4 * spread
    leverage = edges.weight * resistance
    scale = scale_for(leverage, aim)
    if scale >= _SAFE_SCALE or not pin_forest:
        free = edges._replace(pinned=np.zeros_like(edges.pinned))
        thin = thin_edges(free, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)
        if pin_forest:
            thin = _rejoin(thin, edges, resistance, scale, n_nodes)
        if thin.tail.size <= budget:
            return thin
    n_pinned = np.count_nonzero(edges.pinned)
    scale = scale_for(leverage[~edges.pinned], max(aim - n_pinned, 0.0))
    return thin_edges(edges, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)


def _rejoin(thin, edges, resistance, scale, n_nodes):
    """Add the forest edges without which `thin` has more components than `edges`."""
    parent = roots(n_nodes)
    join(parent, thin.tail, thin.head)
    forest = np.flatnonzero(edges.pinned)
    lost = forest[join(parent, edges.tail[forest], edges.head[forest])]
    back = edges.select(lost)
    back = back._replace(weight=np.maximum(back.weight, 1 / (scale * resistance[lost])))
    return KeptEdges(*map(np.concatenate, zip(thin, back, strict=True)))


def round_keeping_degrees(
    tail, head, prob, n_nodes, *, seed, n_bits=3, largest_index=LARGEST_INDEX
):
    """Draw the subset; returns a boolean mask.

    Parameters
    ----------
    tail, head : array of int
        Ends of the edges.
    prob : array of float in [0, 1]
        Probability of each edge.
    n_nodes : int
    seed : int
    n_bits : int
        Binary digits b of the probabilities; with more of them degrees are kept more closely.
    largest_index : int
        Slots beyond it are numbered in 64 bits.

    Examples
    --------
    Every second edge of an even cycle, whichever way the coin falls:

    >>> tail, head = np.arange(6), (np.arange(6) + 1) % 6
    >>> kept = round_keeping_degrees(tail, head, np.full(6, 0.5), 6, seed=90210)
    >>> (np.bincount(tail[kept], minlength=6) + np.bincount(head[kept], minlength=6)).tolist()
    [1, 1, 1, 1, 1, 1]
    """
    top = 2**n_bits
    # prob to a multiple of 2^-b, up or down at random: unbiased, and too fine to disturb degrees
    level = np.floor(prob * top + uniforms(seed, 0, prob.size)).astype(np.int32)
    for bit in range(n_bits):
        odd = np.flatnonzero(level & (1 << bit))
        if odd.size:
            key = np.uint64(child_seed(seed, bit))
            index = np.empty(0, np.int32 if 2 * odd.size <= largest_index else np.int64)
            up = _alternate(tail[odd], head[odd], n_nodes, key, index)
            level[odd] += np.where(up, 1 << bit, -(1 << bit)).astype(np.int32)
    return level == top


def count_spread(n_edges, expected, *, n_bits=3):
    """Bound on the standard deviation of how many of `n_edges` are kept, `expected` on average.

    Only the first step, to multiples of 2^-b, changes the sum: a variance of f (1 - f) / 4^b each,
    where the fractions f add up to at most 2^b times what is expected.
    """
    top = 2**n_bits
    return 1 + np.sqrt(min(n_edges / 4, expected * top)) / top


def calibrate(edges, degree):
    """The same edges with weights whose degrees are close to `degree`.

    >>> ends, weight = (np.array([0, 1, 2]), np.array([1, 2, 0])), np.array([1.0, 1.0, 2.0])
    >>> triangle = KeptEdges(*ends, weight, np.ones(3, int), np.zeros(3, bool))
    >>> calibrate(triangle, np.array([2.0, 2.0, 2.0])).weight.round(2)
    array([1., 1., 1.])
    """
    part = np.linspace(0, edges.tail.size, _CALIBRATION_PARTS + 1).astype(np.int64)
    sums = np.empty((_CALIBRATION_PARTS, degree.size))
    columns, scale = (edges.tail, edges.head, edges.weight), np.ones(degree.size)
    for _ in range(_CALIBRATION_STEPS):
        run(_degrees, _WORK * edges.tail.size, part, *columns, scale, sums)
        own = sums.sum(axis=0)
        ratio = np.divide(degree * scale, own, out=np.ones_like(own), where=own > 0)
        scale = np.clip(np.sqrt(ratio), 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
    return edges._replace(weight=edges.weight * scale[edges.tail] * scale[edges.head])


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
        at = first[p]
        for e in range(part[p], part[p + 1]):
            if copies[e] > 0:
                new_tail[at], new_head[at] = tail[e], head[e]
                new_weight[at] = weight[e] / parts[e] * copies[e] / prob[e]
                new_copies[at], new_pinned[at] = copies[e], pinned[e]
                at += 1


@numba.njit(cache=True, nogil=True)
def _alternate(tail, head, n_nodes, seed, index):
    """Directions (up or not) that alternate along closed tours of edges.

    The edges at a node are paired, each with the next in the node's list; stepping from an edge to
    its partner at its far end walks along a tour. Several walks go on in turn, since each spends
    its time waiting for memory; where two meet, one node may be off by two.
    """
    slot, edge_at = _half_edges(tail, head, n_nodes, index)
    turn = np.zeros(tail.size, dtype=np.int8)  # 0: not walked yet, 1: up, -1: down
    n_walks = min(_WALKS, 1 + tail.size // 1000)
    first = np.zeros(n_walks, dtype=np.int64)
    cursor = np.zeros(n_walks, dtype=np.int64)
    way = np.zeros(n_walks, dtype=np.int8)
    legs = np.zeros(n_walks, dtype=np.int8)  # ends of the first edge still to be walked from
    fresh = 0
    n_active = 1
    while n_active:
        n_active = 0
        for walk in range(n_walks):
            if legs[walk] == 0:
                while fresh < tail.size and turn[fresh] != 0:
                    fresh += 1
                if fresh == tail.size:
                    continue
                coin = random_bits(seed, np.uint64(fresh), WALK_WORD) & np.uint64(1)
                turn[fresh] = way[walk] = 1 if coin else -1
                first[walk], legs[walk] = fresh, 2
                cursor[walk] = slot[2 * fresh]
            n_active += 1
            edge = edge_at[cursor[walk] ^ 1]
            if turn[edge] == 0:
                way[walk] = -way[walk]
                turn[edge] = way[walk]
                cursor[walk] = slot[2 * edge] + slot[2 * edge + 1] - (cursor[walk] ^ 1)
            else:
                legs[walk] -= 1
                cursor[walk] = slot[2 * first[walk] + 1]
                way[walk] = turn[first[walk]]
    return turn > 0


@numba.njit(cache=True, nogil=True)
def _half_edges(tail, head, n_nodes, index):
    """Slots of the two ends of every edge; slots 2i and 2i + 1 are partners.

    Each node has an even number of slots of its own. The last edge of a node of odd degree is
    paired with that of the next such node: there is an even number of them. `index` is empty and
    says of which type slots are.
    """
    degree = np.zeros(n_nodes, dtype=np.int64)
    for e in range(tail.size):
        degree[tail[e]] += 1
        degree[head[e]] += 1
    following = np.empty(n_nodes, dtype=np.int64)  # next slot of a node
    stop = np.empty(n_nodes, dtype=np.int64)  # behind its own slots
    end = 0
    for u in range(n_nodes):
        following[u] = end
        end += degree[u] // 2 * 2
        stop[u] = end
    edge_at = np.empty(2 * tail.size, dtype=index.dtype)
    slot = np.empty(2 * tail.size, dtype=index.dtype)
    for e in range(tail.size):
        for side in range(2):
            u = tail[e] if side == 0 else head[e]
            if following[u] < stop[u]:
                at = following[u]
                following[u] += 1
            else:
                at = end
                end += 1
            slot[2 * e + side] = at
            edge_at[at] = e
    return slot, edge_at


@numba.njit(cache=True, nogil=True, parallel=True)
def _degrees(part, tail, head, weight, scale, sums):
    """Sums of w_uv s_v at u and of w_uv s_u at v, for each part of the edges."""
    for p in numba.prange(part.size - 1):
        own = sums[p]
        own[:] = 0.0
        for e in range(part[p], part[p + 1]):
            u, v, w = tail[e], head[e], weight[e]
            own[u] += w * scale[v]
            own[v] += w * scale[u]
