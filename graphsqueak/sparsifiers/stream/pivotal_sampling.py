"""Ordered pivotal sampling: sample many edges in one pass, in the memory that they have.

Dependent rounding along tours takes longer than all other steps if edges are many, and another 25
bytes per edge. The pivotal method in a given order [Cha12] passes over the edges once. One edge
with an undecided probability a meets the next one, with probability b:

    a + b < 1:   one of the two is dropped, the other one goes on with a + b
    a + b >= 1:  one of the two is kept, the other one goes on with a + b - 1

at random, so that both expectations are preserved. Every stretch of consecutive edges then gets the
number of edges that it expects, up to one. Edges are sorted by one of their nodes, so that this
holds for the edges from every node to earlier nodes: all or most edges of a node with few edges.

The error compared with dependent rounding is 1 % larger on R-MAT graphs, 2 to 3 % on dense random
graphs and block models, 5 % on neighbor graphs; independent sampling is 5 to 10 % worse. On grids
it is 16 % larger, so that dependent rounding is used if degrees do not give the resistances.

Parts of the edges are fixed, and the edges that they leave undecided are sampled in the same way:
no result depends on the number of threads.

References
----------
[Cha12] Chauvet. On a characterization of ordered pivotal sampling. Bernoulli 18(4), 2012.
"""

import numba
import numpy as np

from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.sampling import find_scale_from_sums
from graphsqueak.sparsifiers.stream.coalesce import close_gaps
from graphsqueak.system.kernels import (
    STEPS_PER_EDGE,
    inline_njit,
    njit_cached,
    parallel_njit,
    run_kernel,
)

__all__ = ["pivotal_sample", "scale_for_edges", "select_in_place"]

# Parts of the edges, whatever the number of threads. Each leaves at most one edge undecided.
_N_PARTS = 64


def pivotal_sample(edges, resistance, scale, *, seed):
    """Sample edges in order with probabilities min(1, scale w r); forest edges always.

    The number of sampled edges is its expectation, up to one.

    Parameters
    ----------
    edges : SampledEdges
    resistance : ndarray
    scale : float
    seed : int

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> ones, none = np.ones(4), np.zeros(4, dtype=bool)
    >>> star = SampledEdges(np.zeros(4, int), np.arange(1, 5), ones, none)
    >>> chosen = pivotal_sample(star, ones, 0.5, seed=7)
    >>> select_in_place(star, ones, 0.5, chosen).weight
    array([2., 2.])
    """
    part = _parts(edges)
    chosen = np.empty(edges.n_edges, dtype=np.bool_)
    undecided = np.full(_N_PARTS, -1, dtype=np.int64)
    prob = np.zeros(_N_PARTS)
    run_kernel(
        _sample_parts,
        STEPS_PER_EDGE * edges.n_edges,
        part,
        edges.weight,
        edges.in_forest,
        resistance,
        scale,
        np.uint64(seed),
        chosen,
        undecided,
        prob,
    )
    _sample_undecided(undecided, prob, np.uint64(seed), chosen)
    return chosen


def select_in_place(edges, resistance, scale, chosen):
    """Move the chosen edges to the beginning of their columns, with weights w / p.

    Returns
    -------
    SampledEdges
        Views of the same memory.
    """
    part = _parts(edges)
    size = np.zeros_like(part)
    steps = STEPS_PER_EDGE * edges.n_edges
    run_kernel(_move_chosen, steps, part, *edges, resistance, scale, chosen, size)
    return edges.select(slice(0, close_gaps(edges, part, size)))


def scale_for_edges(edges, resistance, budget, *, with_forest=True):
    """Return the scale at which probabilities min(1, scale w r) sum to `budget`.

    As `sampling.find_scale`, without an array of leverages. `with_forest=False` leaves out forest
    edges.
    """
    part = _parts(edges)
    n_edges = edges.n_edges
    if not with_forest:
        n_edges -= np.count_nonzero(edges.in_forest)

    def count_and_sum(scale):
        n_certain = np.zeros(_N_PARTS, dtype=np.int64)
        total = np.zeros(_N_PARTS)
        run_kernel(
            _count_and_sum,
            edges.n_edges,
            part,
            edges.weight,
            edges.in_forest,
            resistance,
            with_forest,
            scale,
            n_certain,
            total,
        )
        return n_certain.sum(), total.sum()

    return find_scale_from_sums(count_and_sum, n_edges, budget)


def _parts(edges):
    return np.linspace(0, edges.n_edges, _N_PARTS + 1).astype(np.int64)


@parallel_njit
def _sample_parts(part, weight, in_forest, resistance, scale, seed, chosen, undecided, prob):
    """Sample within every part; write the edge left undecided, -1 for none, and its probability."""
    for p in numba.prange(part.size - 1):
        active = np.int64(-1)
        a = 0.0
        for e in range(part[p], part[p + 1]):
            b = scale * weight[e] * resistance[e]
            if in_forest[e] or b >= 1.0:
                chosen[e] = True
            elif active < 0:
                active = e
                a = b
            else:
                random = uniform(seed, np.uint64(e), ITEM_WORD)
                active, a = _decide_one(active, a, e, b, random, chosen)
        undecided[p] = active
        prob[p] = a


@inline_njit
def _decide_one(active, a, e, b, random, chosen):
    """Decide one of two edges; return the other one and its probability."""
    if a + b < 1.0:
        survivor, dropped = (active, e) if random * (a + b) < a else (e, active)
        chosen[dropped] = False
        return survivor, a + b
    kept, survivor = (active, e) if random * (2.0 - a - b) < 1.0 - b else (e, active)
    chosen[kept] = True
    return survivor, a + b - 1.0


@njit_cached
def _sample_undecided(undecided, prob, seed, chosen):
    """Sample among the edges that parts left undecided; the last one independently."""
    active = np.int64(-1)
    a = 0.0
    for p in range(undecided.size):
        if undecided[p] >= 0 and active < 0:
            active = undecided[p]
            a = prob[p]
        elif undecided[p] >= 0:
            random = uniform(seed, np.uint64(chosen.size + p), ITEM_WORD)
            active, a = _decide_one(active, a, undecided[p], prob[p], random, chosen)
    if active >= 0:
        chosen[active] = uniform(seed, np.uint64(chosen.size + undecided.size), ITEM_WORD) < a


@parallel_njit
def _move_chosen(part, tail, head, weight, in_forest, resistance, scale, chosen, size):
    """Move chosen edges to the beginning of every part; size[p + 1] of them are in part p."""
    for p in numba.prange(part.size - 1):
        slot = part[p]
        for e in range(part[p], part[p + 1]):
            if chosen[e]:
                prob = scale * weight[e] * resistance[e]
                is_certain = in_forest[e] or prob >= 1.0
                tail[slot] = tail[e]
                head[slot] = head[e]
                weight[slot] = weight[e] if is_certain else weight[e] / prob
                in_forest[slot] = in_forest[e]
                slot += 1
        size[p + 1] = slot - part[p]


@parallel_njit
def _count_and_sum(part, weight, in_forest, resistance, with_forest, scale, n_certain, total):
    """Count the edges with scale w r >= 1 and add w r of the others, in every part."""
    for p in numba.prange(part.size - 1):
        count = 0
        rest = 0.0
        for e in range(part[p], part[p + 1]):
            if with_forest or not in_forest[e]:
                leverage = np.float64(weight[e]) * resistance[e]
                if scale * leverage >= 1.0:
                    count += 1
                else:
                    rest += leverage
        n_certain[p] = count
        total[p] = rest
