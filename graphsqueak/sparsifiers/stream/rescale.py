"""Rescale the weights of a sample to the exact degrees of the graph (Sinkhorn's problem).

A stream counts every node's weighted degree exactly, in one number per node. With one scale s_u per
node and one factor c for the graph,

    w_uv  ->  c s_u s_v w_uv,     c s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's matrix scaling; a few damped steps bring the degrees close. Scales stay within
[1/2, 2]: on sparse graphs no exact solution may exist, and further steps would drive weights to 0.
A hub whose few edges lead to nodes of small degree then stays below its degree. In every step c is
set so that the total weight is that of the graph, which moves the range of the scales: nodes at its
lower end come out above their degree by what the hubs lack. If all degrees can be met, c is 1.

Without c, 4 to 25 % of the total weight is lost at 1.1 to 1.7 edges per node. A single factor on
all weights after the last step would meet the total as well, with up to twice the median error of
the degrees.
"""

import numba
import numpy as np

from graphsqueak.graph.forest import add_degrees
from graphsqueak.system.kernels import (
    N_PARTS,
    parallel_njit,
    parts,
    run_kernel,
)

# Sinkhorn steps at most; the tolerance usually ends them earlier. Halved, the error of grids grows
# by 2 %; doubled, it falls by 3 %. Other graphs do not change.
_MAX_STEPS = 10
# Stop when the sum of |degree error| is below this fraction of the sum of degrees. Doubled, the
# error of random graphs grows by 2 %. Halved, it does not change.
_TOLERANCE = 3e-3
# Range of the scale of a node, [1 / 2, 2]. At 4 edges per node or more, a range of sqrt(2) or 4
# changes errors by less than 0.2 %; on a neighbor graph with 2.4, by -3 and +2 %. On a graph with
# heavy-tailed degrees and 1.5, the error is 5 % larger with sqrt(2) and 8 % smaller with 4, where
# light weights come closer to 0.
_LARGEST_SCALE = 2.0


def rescale_to_degrees(edges, degrees, fixed):
    """Rescale weights in place: their total becomes that of `degrees`, and all degrees are close.

    Parameters
    ----------
    edges : SampledEdges
        Sorted by head, which makes the loops fast. The weights are overwritten.
    degrees : ndarray
        Weighted degrees of the graph.
    fixed : ndarray of bool
        Edges that keep their weights: bridges, whose weights are exact.

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> tail, head, weight = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 2.0, 1.0])
    >>> no_bridge = np.zeros(3, dtype=bool)
    >>> rescale_to_degrees(SampledEdges(tail, head, weight, no_bridge), np.full(3, 2.0), no_bridge)
    >>> weight.round(1)
    array([1., 1., 1.])
    """
    all_degrees = degrees.sum()
    degrees = degrees.copy()
    add_degrees(degrees, edges.tail[fixed], edges.head[fixed], -edges.weight[fixed])
    free_degrees = degrees.sum()
    # If all edges are fixed, rounding errors are left, half of the digits at most.
    has_free_weight = free_degrees > np.sqrt(np.finfo(np.float64).eps) * all_degrees

    part = parts(edges.n_edges)
    scale = np.ones(degrees.size)
    # Parts of the edges have separate sums, so that results do not depend on threads.
    sums = np.empty((N_PARTS, degrees.size))
    for step in range(_MAX_STEPS + 1):
        run_kernel(_sum_scaled, edges.n_edges, part, *edges[:3], fixed, scale, sums)
        weight_sum = sums.sum(axis=0)
        scaled_degrees = (scale * weight_sum).sum()
        factor = 1.0
        if has_free_weight and scaled_degrees > 0.0:
            factor = free_degrees / scaled_degrees
        weight_sum *= factor
        error = np.abs(scale * weight_sum - degrees).sum()
        if step == _MAX_STEPS or error <= _TOLERANCE * free_degrees:
            break
        goal = scale.copy()
        np.divide(degrees, weight_sum, out=goal, where=weight_sum > 0.0)
        # Alternating half steps (of logarithms) and whole steps are as close after six steps as
        # half steps alone after nine.
        if step % 2 == 0:
            goal = np.sqrt(scale * np.maximum(goal, 0.0))
        scale = np.clip(goal, 1 / _LARGEST_SCALE, _LARGEST_SCALE)
    run_kernel(_multiply_weights, edges.n_edges, part, *edges[:3], fixed, scale, factor)


@parallel_njit
def _sum_scaled(part, tail, head, weight, fixed, scale, sums):
    """Add w_uv s_v at u and w_uv s_u at v, for every part of the edges.

    Edges are sorted by head, whose sum stays in a register until the next one.
    """
    for p in numba.prange(part.size - 1):
        part_sums = sums[p]
        part_sums[:] = 0.0
        u = head[part[p]] if part[p] < part[p + 1] else 0
        total = 0.0
        for e in range(part[p], part[p + 1]):
            if head[e] != u:
                part_sums[u] = total
                u = head[e]
                total = part_sums[u]
            if not fixed[e]:
                v = tail[e]
                w = weight[e]
                total += w * scale[v]
                part_sums[v] += w * scale[u]
        part_sums[u] = total


@parallel_njit
def _multiply_weights(part, tail, head, weight, fixed, scale, factor):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            if not fixed[e]:
                weight[e] *= factor * scale[tail[e]] * scale[head[e]]
