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

import numba
import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.randomness import child_seed, uniform
from graphsqueak.sampling import find_scale
from graphsqueak.sparsifiers.error_prediction import MIN_SCALE_WITHOUT_FOREST
from graphsqueak.sparsifiers.stream.dependent_rounding import count_std, dependent_rounding
from graphsqueak.sparsifiers.stream.pivotal_sampling import (
    pivotal_sample,
    scale_for_edges,
    select_in_place,
)
from graphsqueak.system.kernels import STEPS_PER_EDGE, parallel_njit, run_kernel

__all__ = ["sample_edges", "sample_to_budget"]

# Edges that are looked at together, to bound temporary memory.
_BLOCK_EDGES = 2**20
# The expected number of edges stays this many standard deviations below the budget. At 4 one sample
# in 30,000 has too many edges and is drawn again; at 2 it would be one in 40. Halved or doubled,
# the error changes by at most 4 % in either direction.
_N_STD_BELOW_BUDGET = 4
# Attempts to sample the forest as well, before it is kept, which always succeeds.
_MAX_ATTEMPTS = 2


def sample_edges(edges, resistance, scale, *, seed):
    """Sample edges independently with probabilities min(1, scale w r); forest edges always.

    Parameters
    ----------
    edges : SampledEdges
    resistance : ndarray
    scale : float
    seed : int

    Returns
    -------
    SampledEdges

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> one = SampledEdges(np.array([0]), np.array([1]), np.ones(1), np.array([False]))
    >>> sample_edges(one, np.ones(1), 4.0, seed=7).weight
    array([1.])
    """
    prob = _probabilities(edges, resistance, scale)
    chosen = _sample_independently(prob, seed)
    return _select(edges, resistance, scale, chosen)


def sample_to_budget(
    edges, resistance, budget, n_nodes, *, bridge, keep_spanning_forest, n_bits, in_place, seed
):
    """Sample at most `budget` edges.

    Parameters
    ----------
    edges : SampledEdges
        Without parallel edges.
    resistance : ndarray
        Their effective resistances; may be overwritten.
    budget, n_nodes : int
    bridge : ndarray of bool
        Forest edges that are bridges of the graph; they are kept with their weights.
    keep_spanning_forest : bool
        Whether the sample must have the components of `edges`.
    n_bits : int
        Digits of dependent rounding; 0 for independent sampling.
    in_place : bool
        Use pivotal sampling and the memory of `edges`.
    seed : int

    Returns
    -------
    sampled : SampledEdges
    bridge : ndarray of bool
        Which of them are bridges.
    """
    if in_place:
        method = _PivotalMethod(edges, resistance)
    else:
        method = _RoundingMethod(edges, resistance, n_nodes, n_bits)
    n_expected = method.expected_count(budget)

    # The forest is sampled like all other edges, and restored where components would be lost.
    scale = method.scale(n_expected)
    if scale >= MIN_SCALE_WITHOUT_FOREST or not keep_spanning_forest:
        for _ in range(_MAX_ATTEMPTS):
            chosen = method.draw(bridge, scale, seed)
            restored = np.zeros(0, dtype=np.int64)
            weight = np.zeros(0)
            if keep_spanning_forest:
                restored, weight = _edges_to_restore(chosen, edges, resistance, scale, n_nodes)
                chosen[restored] = True
            n_excess = np.count_nonzero(chosen) - budget
            if n_excess <= 0:
                # With this resistance, w / p is the new weight of a restored edge.
                resistance[restored] = 1 / (scale * weight)
                sampled = method.select(bridge, scale, chosen)
                return sampled, sampled.in_forest
            # More edges were restored than the margin allows.
            scale = method.scale(n_expected - 2 * n_excess)

    # The forest is kept with probability 1, and the other edges share the rest of the budget.
    n_forest = np.count_nonzero(edges.in_forest)
    forest_bridge = bridge[edges.in_forest]
    attempt = 0
    while True:
        scale = method.scale(max(n_expected - n_forest, 0.0), with_forest=False)
        chosen = method.draw(edges.in_forest, scale, child_seed(seed, attempt) if attempt else seed)
        n_excess = np.count_nonzero(chosen) - budget
        if n_excess <= 0:
            break
        n_expected -= 1 + n_excess
        attempt += 1
    sampled = method.select(edges.in_forest, scale, chosen)
    sampled_bridge = np.zeros_like(sampled.in_forest)
    # All edges of the forest are in the sample, in their order.
    sampled_bridge[sampled.in_forest] = forest_bridge
    return sampled, sampled_bridge


class _RoundingMethod:
    """Dependent rounding, or independent sampling with n_bits = 0, into new arrays."""

    def __init__(self, edges, resistance, n_nodes, n_bits):
        self._edges = edges
        self._resistance = resistance
        self._leverage = edges.weight * resistance
        self._n_nodes = n_nodes
        self._n_bits = n_bits

    def expected_count(self, budget):
        """Return the expected number of edges at which more than `budget` are hardly ever drawn."""
        scale = find_scale(self._leverage, budget)
        prob = np.minimum(scale * self._leverage, 1.0)
        std = count_std(prob, n_bits=self._n_bits)
        return budget - _N_STD_BELOW_BUDGET * std - 1

    def scale(self, n_edges, *, with_forest=True):
        """Return the scale at which `n_edges` edges are expected."""
        leverage = self._leverage if with_forest else self._leverage[~self._edges.in_forest]
        return find_scale(leverage, n_edges)

    def draw(self, keep_always, scale, seed):
        """Return a random mask of edges."""
        edges = self._edges._replace(in_forest=keep_always)
        prob = _probabilities(edges, self._resistance, scale)
        if self._n_bits == 0:
            return _sample_independently(prob, seed)
        return dependent_rounding(
            edges.tail, edges.head, prob, self._n_nodes, seed=seed, n_bits=self._n_bits
        )

    def select(self, keep_always, scale, chosen):
        """Return the chosen edges, reweighted."""
        edges = self._edges._replace(in_forest=keep_always)
        return _select(edges, self._resistance, scale, chosen)


class _PivotalMethod:
    """Ordered pivotal sampling, in the memory of the edges."""

    def __init__(self, edges, resistance):
        self._edges = edges
        self._resistance = resistance

    def expected_count(self, budget):
        # The number of edges is its expectation, up to one.
        return budget - 1.0

    def scale(self, n_edges, *, with_forest=True):
        return scale_for_edges(self._edges, self._resistance, n_edges, with_forest=with_forest)

    def draw(self, keep_always, scale, seed):
        edges = self._edges._replace(in_forest=keep_always)
        return pivotal_sample(edges, self._resistance, scale, seed=child_seed(seed, 0))

    def select(self, keep_always, scale, chosen):
        edges = self._edges._replace(in_forest=keep_always)
        return select_in_place(edges, self._resistance, scale, chosen)


def _probabilities(edges, resistance, scale):
    with np.errstate(over="ignore"):
        prob = edges.weight * resistance * scale
    prob[edges.in_forest | (prob > 1.0)] = 1.0
    return prob


def _sample_independently(prob, seed):
    chosen = np.empty(prob.size, dtype=np.bool_)
    run_kernel(_compare, STEPS_PER_EDGE * prob.size, prob, np.uint64(child_seed(seed, 0)), chosen)
    return chosen


def _select(edges, resistance, scale, chosen):
    """Return the chosen edges with weights w / p."""
    index = np.flatnonzero(chosen)
    sampled = edges.select(index)
    prob = _probabilities(sampled, resistance[index], scale)
    weight = (sampled.weight / prob).astype(sampled.weight.dtype, copy=False)
    return sampled._replace(weight=weight)


def _edges_to_restore(chosen, edges, resistance, scale, n_nodes):
    """Return forest edges without which the sample loses a component, and their new weights."""
    parent = make_sets(n_nodes)
    blocks = [slice(start, start + _BLOCK_EDGES) for start in range(0, chosen.size, _BLOCK_EDGES)]
    for block in blocks:
        kept = np.flatnonzero(chosen[block])
        union_edges(parent, edges.tail[block][kept], edges.head[block][kept])
    piece = find_all(parent)
    forest = np.flatnonzero(edges.in_forest)
    restored = forest[union_edges(parent, edges.tail[forest], edges.head[forest])]

    # The weight of all edges that leave each piece bounds the weight of a restored edge.
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
    weight = np.clip(1 / (scale * resistance[restored]), edges.weight[restored], largest)
    return restored, weight


@parallel_njit
def _compare(prob, seed, chosen):
    for e in numba.prange(prob.size):
        chosen[e] = uniform(seed, np.uint64(e), np.uint64(0)) < prob[e]
