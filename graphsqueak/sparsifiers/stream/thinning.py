"""Thin the kept edges to a scale or to a budget, and keep the degrees.

With theta = 1 / (c r), every part of an edge that weighs less than theta survives with probability
(its weight) / theta and then weighs theta. Parts are thinned by independent coins, or, where an
edge is one part, by a rounding that keeps every node's degree and has the same marginals.

*Rounding.* Given a probability p_e for every edge, draw a random subset in which edge e occurs with
probability exactly p_e, while nodes get nearly the number of edges they expect. Independent coins
leave the degrees noisy (standard deviation sqrt(d)), and it is those noisy degrees, not the
randomness as such, that keep a sampled graph from the best possible one: without them, a subset of
a dense graph with mean degree d is close to a random regular graph, whose Laplacian is within 2
sqrt(d - 1) / d of the original, the Alon-Boppana limit.

Write p_e in binary, k_e / 2^b, and clear the lowest bit of all edges at once: the edges whose bit
is set form a graph; walk along closed tours of it and send edges alternately up and down (k_e + 1
or k_e - 1), so that every node gains as much as it loses. A fair coin for each tour's first
direction keeps each expectation. After b rounds k_e is 0 or 2^b, in linear work: the dependent
rounding of [GKPS06] by Euler tours. Which edges of a node follow each other on a tour is drawn: in
the order of a list opposite ways make a pattern, and half of a complete graph errs by a third more.

Two things are left to chance. An odd tour sends one edge more up than down, or the reverse;
whenever one would add to what earlier ones left over, all of it is turned round, so that a round
changes the number of edges by less than one (and by symmetry every coin stays fair). And p_e is
first rounded to a multiple of 2^-b at random, which adds sum_e f_e (1 - f_e) / 4^b to the variance
of a node's number of edges, f_e the fraction of 2^b p_e: with b = 4 a node of a thousand edges at
p = 0.3 is off by 0.8 (standard deviation) where coins are off by 14.

*The last shrink.* During the stream a spanning forest is pinned at its own, light weights, which
wastes a slot per node. At the end the forest is thinned like every other edge, and a forest edge
comes back, at the weight it would have been given, only where the thinned graph fell apart, and
never heavier than the cut that it restores. By Foster's theorem every cut holds at least c edges in
expectation, so that coins leave a given cut empty with a probability of at most exp(-c), and the
rounding that keeps degrees much more seldom. What comes back adds P(empty) to the expected weight
of the cut, as a share, and P(empty) / p to that of the edge itself, p its probability of staying:
so little that below c = 4, where it would be more, the forest stays pinned.

References
----------
[GKPS06] Gandhi, Khuller, Parthasarathy, Srinivasan. Dependent rounding and its applications to
         approximation algorithms. J. ACM 53(3), 2006.
"""

import numba
import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.randomness import (
    ROUNDING_WORD,
    child_seed,
    random_bits,
    shuffle,
    uniform,
    uniforms,
)
from graphsqueak.sampling import find_scale
from graphsqueak.sparsifiers.stream.edges import LARGEST_INDEX
from graphsqueak.sparsifiers.stream.in_place import (
    choose_in_order,
    keep_chosen,
    scale_for_edges,
)
from graphsqueak.system.kernels import compiled, prefetch, run, shared, subroutine

__all__ = ["count_spread", "round_keeping_degrees", "thin_edges", "thin_to_budget"]

_WORK = 5  # elementary steps per edge
_WALKS = 32  # at most, at a time
_BLOCK = 2**20  # edges that are looked at together
_ENOUGH = 2**17  # edges by which the spread of a count is told
_TRIES = 2  # without a pinned forest
_SAFE_SCALE = 4.0  # c from which the forest need not be pinned in the last shrink


def thin_edges(edges, resistance, scale, n_nodes, *, seed, n_bits=0):
    """The edges that survive at this scale, reweighted; pinned edges as they are.

    `n_bits` is how finely probabilities are rounded; 0 is for independent coins.

    >>> from graphsqueak.sparsifiers.stream.edges import KeptEdges
    >>> one = np.ones(1)
    >>> light = KeptEdges(np.array([0]), np.array([1]), one, np.array([4]), np.array([False]))
    >>> thin_edges(light, one, 4.0, 2, seed=7).weight
    array([1.])
    """
    left = _copies_left(edges, resistance, scale, n_nodes, seed=seed, n_bits=n_bits)
    return _keep_copies(edges, resistance, scale, left)


def _probabilities(edges, resistance, scale):
    with np.errstate(over="ignore"):
        prob = edges.weight / edges.copies * resistance * scale
    prob[edges.pinned | (prob > 1.0)] = 1.0
    return prob


def _copies_left(edges, resistance, scale, n_nodes, *, seed, n_bits):
    """How many of the copies of every edge survive."""
    prob = _probabilities(edges, resistance, scale)
    if n_bits:
        ends = (edges.tail, edges.head)
        return round_keeping_degrees(*ends, prob, n_nodes, seed=seed, n_bits=n_bits)
    left, key = np.empty_like(edges.copies), np.uint64(child_seed(seed, 0))
    run(_toss, _WORK * left.size, edges.copies, prob, key, left)
    return left


def _keep_copies(edges, resistance, scale, left):
    """The edges of which copies are left, reweighted."""
    kept = np.flatnonzero(left)
    thin, copies = edges.select(kept), left[kept].astype(edges.copies.dtype)
    prob = _probabilities(thin, resistance[kept], scale)
    weight = (thin.weight / thin.copies * copies / prob).astype(thin.weight.dtype, copy=False)
    return thin._replace(weight=weight, copies=copies)


def thin_to_budget(
    edges, resistance, budget, n_nodes, *, seed, n_bits, pin_forest, bridge, in_order=False
):
    """The last shrink: at most `budget` edges, and the components of `edges` if `pin_forest`.

    The forest is thinned with the rest where that is safe, and stays pinned otherwise. Bridges of
    the forest, a mask, always stay. Edges are rounded, or drawn `in_order` where they are many, and
    then those that stay are moved together in the same memory. Returns the edges, and which of them
    are bridges.
    """
    leverage = None if in_order else edges.weight * resistance
    aim = budget - 1.0 if in_order else _aim(leverage, budget, n_bits)

    def scale_to(most, *, pinned=True):
        if in_order:
            return scale_for_edges(edges, resistance, most, pinned=pinned)
        return find_scale(leverage if pinned else leverage[~edges.pinned], most)

    def thinned(pinned, scale, key, *, rejoins=False):
        """The thinned edges, None if they are too many, and by how many."""
        own = edges._replace(pinned=pinned)
        if in_order:
            left = choose_in_order(own, resistance, scale, seed=child_seed(key, 0))
        else:
            left = _copies_left(own, resistance, scale, n_nodes, seed=key, n_bits=n_bits)
        lost, weight = _lost(left, edges, resistance, scale, n_nodes) if rejoins else ([], 1.0)
        left[lost] = edges.copies[lost]
        n_over = np.count_nonzero(left) - budget
        if n_over > 0:
            return None, n_over
        keep, told = keep_chosen if in_order else _keep_copies, resistance[lost]
        resistance[lost] = edges.copies[lost] / (scale * weight)
        thin = keep(own, resistance, scale, left)
        resistance[lost] = told
        return thin, 0

    scale = scale_to(aim)
    for _ in range(_TRIES if scale >= _SAFE_SCALE or not pin_forest else 0):
        thin, n_over = thinned(bridge, scale, seed, rejoins=pin_forest)
        if thin is not None:
            return thin, thin.pinned
        scale = scale_to(aim - 2 * n_over)  # more came back than there was room for
    n_pinned, attempt, thin = np.count_nonzero(edges.pinned), 0, None
    pinned_bridge = bridge[edges.pinned]
    while thin is None:
        scale = scale_to(max(aim - n_pinned, 0.0), pinned=False)
        key = child_seed(seed, attempt) if attempt else seed
        thin, n_over = thinned(edges.pinned, scale, key)
        aim -= 1 + n_over
        attempt += 1
    still_bridge = np.zeros_like(thin.pinned)
    still_bridge[thin.pinned] = pinned_bridge  # pinned edges all stay, in their order
    return thin, still_bridge


def _aim(leverage, budget, n_bits):
    """The expected number of edges for which hardly ever more than `budget` are kept."""
    step = 1 + leverage.size // _ENOUGH  # a sample tells the spread well enough
    prob = np.minimum(find_scale(leverage, budget) * leverage[::step], 1.0)
    return budget - 4 * np.sqrt(step) * count_spread(prob, n_bits=n_bits) - 1


def _lost(left, edges, resistance, scale, n_nodes):
    """Forest edges without which there are more components than before, and their new weights.

    `left` tells which edges stay.
    """
    parent = make_sets(n_nodes)
    blocks = [slice(start, start + _BLOCK) for start in range(0, left.size, _BLOCK)]
    for block in blocks:
        stay = np.flatnonzero(left[block])
        union_edges(parent, edges.tail[block][stay], edges.head[block][stay])
    piece, cut = find_all(parent), np.zeros(n_nodes)
    forest = np.flatnonzero(edges.pinned)
    lost = forest[union_edges(parent, edges.tail[forest], edges.head[forest])]
    for block in blocks if lost.size else ():
        ends = piece[edges.tail[block]], piece[edges.head[block]]
        across = np.flatnonzero(ends[0] != ends[1])
        for end in ends:
            np.add.at(cut, end[across], edges.weight[block][across])
    heaviest = np.minimum(cut[piece[edges.tail[lost]]], cut[piece[edges.head[lost]]])
    return lost, np.clip(1 / (scale * resistance[lost]), edges.weight[lost], heaviest)


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
    top, level = 2**n_bits, uniforms(seed, 0, prob.size)
    # prob to a multiple of 2^-b, up or down at random: unbiased, and too fine to disturb degrees
    level += prob * top
    level = level.astype(np.int8 if top < 128 else np.int32)
    order = shuffle(np.flatnonzero(level & (top - 1) != 0), seed)
    tail, head, open_level = tail[order], head[order], level[order]
    for bit in range(n_bits):
        odd = np.flatnonzero(open_level & (1 << bit) != 0)
        if odd.size:
            key = np.uint64(child_seed(seed, bit))
            kind = np.int32 if 2 * odd.size <= largest_index else np.int64
            way = _alternating(tail[odd], head[odd], n_nodes, key, kind)
            open_level[odd] += way * level.dtype.type(1 << bit)
    level[order] = open_level
    return level == top


def count_spread(prob, *, n_bits):
    """Standard deviation of how many edges are kept; `n_bits` is 0 for independent coins.

    Odd tours add less than one, which is not counted.

    >>> half = np.full(100, 0.5)
    >>> float(count_spread(half, n_bits=0)), float(count_spread(half, n_bits=3))
    (5.0, 0.0)
    """
    top = 2**n_bits
    fraction = (prob * top) % 1.0
    return np.sqrt((fraction * (1 - fraction)).sum()) / top


def _alternating(tail, head, n_nodes, seed, kind):
    """Directions, 1 for up and -1 for down, that alternate along closed tours of edges."""
    way, n_walks = np.zeros(tail.size, np.int8), min(_WALKS, 1 + tail.size // 1000)
    partner = np.empty((2 * tail.size, 1), kind)
    _pair_ends(tail, head, np.full(n_nodes, -1, kind), partner)
    walks = np.zeros((4, n_walks), np.int64), np.zeros((n_walks, 3), np.int64)
    _alternate(partner, seed, *walks[0], walks[1], way)
    return way


@shared
def _toss(copies, prob, seed, out):
    """How many of the copies of each edge survive a coin each."""
    for e in numba.prange(copies.size):
        n_left = 0
        for copy in range(copies[e]):
            n_left += uniform(seed, np.uint64(e), np.uint64(copy)) < prob[e]
        out[e] = n_left


@compiled
def _alternate(partner, seed, first, end, way, legs, n_steps, turn):
    """Walk along tours until every edge has its turn, 1 or -1 and not 0 any more.

    Stepping from the end of an edge to its partner, an end of another edge at the same node, and
    on to the far end of that one walks along a tour. Several walks go on in turn, since each spends
    its time waiting for memory; where two meet, one node may be off by two. `legs` tells how many
    ends of the first edge are still to be walked from.
    """
    n_walks, n_edges = n_steps.shape[0], turn.size  # steps from either end: 2 and 1 legs to go
    fresh = left_over = 0  # edges up minus edges down, of the walks that are done
    n_active = 1
    while n_active:
        n_active = 0
        for walk in range(n_walks):
            if legs[walk] == 0:
                while fresh < n_edges and turn[fresh] != 0:
                    fresh += 1
                if fresh == n_edges:
                    continue
                coin = random_bits(seed, np.uint64(fresh), ROUNDING_WORD) & np.uint64(1)
                turn[fresh] = way[walk] = 1 if coin else -1
                first[walk], end[walk], legs[walk] = fresh, 2 * fresh, 2
                n_steps[walk, 1] = n_steps[walk, 2] = 0
            n_active += 1
            near = np.uint64(partner[np.uint64(end[walk]), 0])
            edge = near >> np.uint64(1)
            if turn[edge] == 0:
                way[walk] = -way[walk]
                turn[edge] = way[walk]
                n_steps[walk, legs[walk]] += 1
                end[walk] = near ^ np.uint64(1)
                prefetch(partner, end[walk], 0)
                continue
            legs[walk] -= 1
            end[walk] = 2 * first[walk] + 1
            way[walk] = turn[first[walk]]
            if legs[walk] == 0 and (n_steps[walk, 1] + n_steps[walk, 2]) % 2 == 0:
                odd_one = way[walk] if n_steps[walk, 2] % 2 == 0 else -way[walk]
                if odd_one * left_over > 0:
                    _turn_round(first[walk], n_steps[walk], partner, turn)
                    odd_one = -odd_one
                left_over += odd_one


@subroutine
def _turn_round(first, n_steps, partner, turn):
    """Send every edge of a walk the other way."""
    turn[first] = -turn[first]
    for side in range(2):
        end = 2 * first + side
        for _ in range(n_steps[2 - side]):
            near = partner[end, 0]
            turn[near >> 1] = -turn[near >> 1]
            end = near ^ 1


@compiled
def _pair_ends(tail, head, single, partner):
    """Pair the ends of edges, 2 e and 2 e + 1 those of edge e: each with the next at its node.

    `single` holds the end at every node that has no partner yet, -1 for none. The last ends of
    nodes of odd degree are paired in order of the nodes: there is an even number of them.
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
