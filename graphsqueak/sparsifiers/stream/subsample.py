"""Sample edges by their leverage scores, to a scale or to a number of edges.

Edge e of weight w and effective resistance r stays with probability p = min(1, c w r) and then has
weight w / p. This is the SHRINK step of [C17, Algorithm 11] with one copy per edge. Edges are drawn
independently, or by one of the methods that keep degrees (`dependent_rounding`,
`pivotal_sampling`), which have the same probabilities.

*The final sample.* During the stream a spanning forest is kept with probability 1, at its own,
light weights, which wastes one edge per node. At the end the forest is sampled like all other
edges. A forest edge is restored only if the sample lost a component without it, at the weight that
it would have been given, but never heavier than the cut that it restores. By Foster's theorem every
cut has at least c edges in expectation, so that independent sampling leaves a given cut empty with
probability at most exp(-c), and dependent rounding much less often. Restored edges add P(empty) to
the relative weight of the cut, and P(empty) / p to that of the edge. Below c = 4 this would be more
than 2 %, and the forest is kept with probability 1.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 4.3.
"""

from itertools import pairwise

import numba
import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.randomness import child_seed, uniforms
from graphsqueak.sampling import find_scale
from graphsqueak.sparsifiers.error_prediction import MIN_SCALE_WITHOUT_FOREST
from graphsqueak.sparsifiers.stream.coalesce import close_gaps
from graphsqueak.sparsifiers.stream.cut_probes import N_STD_BY_CHANCE
from graphsqueak.sparsifiers.stream.dependent_rounding import (
    N_BITS,
    count_std,
    dependent_rounding,
)
from graphsqueak.sparsifiers.stream.pivotal_sampling import pivotal_sample
from graphsqueak.system.kernels import (
    N_PARTS,
    parallel_njit,
    parts,
    run_kernel,
)


def sample_edges(edges, leverage, scale, *, seed):
    """Sample edges independently with probabilities min(1, scale leverage); forest edges always.

    Parameters
    ----------
    edges : SampledEdges
        Overwritten.
    leverage : ndarray
    scale : float
    seed : int

    Returns
    -------
    SampledEdges
        Views of the beginning of the same memory, with weights w / p.

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> one = SampledEdges(np.array([0]), np.array([1]), np.ones(1), np.array([False]))
    >>> sample_edges(one, np.ones(1), 4.0, seed=7).weight
    array([1.])
    """
    prob = _probabilities(leverage, edges.in_forest, scale)
    chosen = uniforms(seed, 0, prob.size) < prob
    return _select(edges, leverage, edges.in_forest, scale, chosen)


def sample_to_budget(edges, leverage, budget, n_nodes, *, bridge, method, seed):
    """Sample at most `budget` edges, with the components of all edges.

    Parameters
    ----------
    edges : SampledEdges
        Without parallel edges; overwritten.
    leverage : ndarray
        Weight times effective resistance; overwritten.
    budget, n_nodes : int
    bridge : ndarray of bool
        Forest edges that are bridges of the graph; they are kept with their weights.
    method : {"rounding", "pivotal", "independent"}
        How edges are drawn: by dependent rounding, by ordered pivotal sampling, which needs less
        memory, or independently.
    seed : int

    Returns
    -------
    sampled : SampledEdges
        Views of the beginning of the same memory.
    bridge : ndarray of bool
        Which of them are bridges.
    """
    if method == "pivotal":
        # Each part leaves at most one edge undecided.
        n_expected = budget - N_PARTS
    else:
        prob = _probabilities(leverage, bridge, find_scale(leverage, budget))
        n_bits = N_BITS if method == "rounding" else 0
        n_expected = budget - 1 - N_STD_BY_CHANCE * count_std(prob, n_bits=n_bits)
    is_certain = bridge
    attempt = 0
    while True:
        scale = find_scale(leverage, n_expected)
        if scale < MIN_SCALE_WITHOUT_FOREST and is_certain is bridge:
            # The forest is kept with probability 1, and other edges share the rest of the budget.
            is_certain = edges.in_forest
            leverage[is_certain] = 0.0
            n_expected -= np.count_nonzero(is_certain)
            continue
        seed_of_attempt = child_seed(seed, attempt)
        if method == "pivotal":
            chosen = pivotal_sample(leverage, is_certain, scale, seed=seed_of_attempt)
        else:
            prob = _probabilities(leverage, is_certain, scale)
            # Without digits, every edge is rounded by itself: independent sampling.
            chosen = dependent_rounding(
                edges.tail, edges.head, prob, n_nodes, seed=seed_of_attempt, n_bits=n_bits
            )
        if is_certain is bridge:
            # The forest was sampled like all other edges: restore components that were lost.
            restored, weight = _edges_to_restore(chosen, edges, leverage, scale, n_nodes)
            chosen[restored] = True
        n_excess = np.count_nonzero(chosen) - budget
        if n_excess <= 0:
            break
        n_expected -= 2 * n_excess
        attempt += 1
    if is_certain is bridge:
        # With this leverage, w / p is the new weight of a restored edge.
        leverage[restored] = edges.weight[restored] / (scale * weight)
    return _select(edges, leverage, is_certain, scale, chosen), bridge[chosen]


def _probabilities(leverage, is_certain, scale):
    with np.errstate(over="ignore"):
        prob = np.minimum(scale * leverage, 1.0)
    prob[is_certain] = 1.0
    return prob


def _select(edges, leverage, is_certain, scale, chosen):
    """Move the chosen edges to the beginning of their columns, with weights w / p."""
    part = parts(edges.n_edges)
    size = np.zeros_like(part)
    run_kernel(
        _move_chosen,
        edges.n_edges,
        part,
        *edges,
        leverage,
        is_certain,
        scale,
        chosen,
        size,
    )
    return edges.select(slice(0, close_gaps(edges, part, size)))


def _edges_to_restore(chosen, edges, leverage, scale, n_nodes):
    """Return forest edges without which the sample loses a component, and their new weights."""
    parent = make_sets(n_nodes)
    # In blocks, to bound temporary memory.
    blocks = [slice(start, stop) for start, stop in pairwise(parts(chosen.size))]
    for block in blocks:
        kept = np.flatnonzero(chosen[block])
        union_edges(parent, edges.tail[block][kept], edges.head[block][kept])
    piece = find_all(parent)
    forest = np.flatnonzero(edges.in_forest)
    restored = forest[union_edges(parent, edges.tail[forest], edges.head[forest])]

    # The weight of all edges that leave each piece bounds the weight of a restored edge: across a
    # light cut, estimated resistances can be too small by many orders of magnitude.
    cut_weight = np.zeros(n_nodes)
    if restored.size:
        for block in blocks:
            tail_piece = piece[edges.tail[block]]
            head_piece = piece[edges.head[block]]
            crossing = np.flatnonzero(tail_piece != head_piece)
            for end in (tail_piece, head_piece):
                np.add.at(cut_weight, end[crossing], edges.weight[block][crossing])
    largest = np.minimum(
        cut_weight[piece[edges.tail[restored]]], cut_weight[piece[edges.head[restored]]]
    )
    own_weight = edges.weight[restored]
    weight = np.clip(own_weight / (scale * leverage[restored]), own_weight, largest)
    return restored, weight


@parallel_njit
def _move_chosen(part, tail, head, weight, in_forest, leverage, is_certain, scale, chosen, size):
    """Move chosen edges to the beginning of every part; size[p + 1] of them are in part p."""
    for p in numba.prange(part.size - 1):
        slot = part[p]
        for e in range(part[p], part[p + 1]):
            if chosen[e]:
                prob = 1.0 if is_certain[e] else min(scale * leverage[e], 1.0)
                tail[slot] = tail[e]
                head[slot] = head[e]
                weight[slot] = weight[e] / prob
                in_forest[slot] = in_forest[e]
                slot += 1
        size[p + 1] = slot - part[p]
