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
from graphsqueak.system.kernels import STEPS_PER_EDGE, parallel_njit, run_kernel

__all__ = ["rescale_to_degrees"]

# Sinkhorn steps at most; the tolerance usually ends them earlier. Halved, the error of grids grows
# by 2 %; doubled, it falls by 3 %. Other graphs do not change.
_MAX_STEPS = 10
# Stop when the sum of |degree error| is below this fraction of the sum of degrees. Doubled, the
# error of random graphs grows by 2 %. Halved, it does not change.
_TOLERANCE = 3e-3
# Range of the scale of a node, [1 / 2, 2].
_LARGEST_SCALE = 2.0
# Fraction of all degrees below which the degrees of the free edges are rounding errors.
_ROUNDING = 1e-9
# Parts of the edges whose sums are separate, so that results do not depend on threads. Each needs
# a table of all nodes; graphs of a million nodes get half of them to save memory.
_N_PARTS = 4
_N_PARTS_LARGE = 2
_MIN_NODES_LARGE = 2**20


def rescale_to_degrees(edges, degrees, fixed=None, *, in_place=False):
    """Return the edges with weights whose total is that of `degrees` and whose degrees are close.

    Parameters
    ----------
    edges : SampledEdges
    degrees : ndarray
        Weighted degrees of the graph.
    fixed : ndarray of bool, optional
        Edges that keep their weights: bridges, whose weights are exact.
    in_place : bool
        Overwrite the weights, and expect edges sorted by head instead of tail.

    Returns
    -------
    SampledEdges

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> tail, head, weight = np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, 1.0, 2.0])
    >>> triangle = SampledEdges(tail, head, weight, np.zeros(3, dtype=bool))
    >>> rescale_to_degrees(triangle, np.array([2.0, 2.0, 2.0])).weight.round(1)
    array([1., 1., 1.])
    """
    all_degrees = degrees.sum()
    if fixed is None or not fixed.any():
        fixed = np.zeros(0, dtype=np.bool_)
    else:
        degrees = degrees.copy()
        add_degrees(degrees, edges.tail[fixed], edges.head[fixed], -edges.weight[fixed])
    free_degrees = degrees.sum()
    has_free_weight = free_degrees > _ROUNDING * all_degrees

    n_nodes = degrees.size
    n_parts = _N_PARTS if n_nodes < _MIN_NODES_LARGE else _N_PARTS_LARGE
    edge_part = np.linspace(0, edges.n_edges, n_parts + 1).astype(np.int64)
    node_part = np.linspace(0, n_nodes, _N_PARTS + 1).astype(np.int64)
    edge_steps = STEPS_PER_EDGE * edges.n_edges
    node_steps = STEPS_PER_EDGE * n_nodes
    # The loop below is fast if edges with the same first node follow each other.
    ends = (edges.head, edges.tail) if in_place else (edges.tail, edges.head)
    sums = np.empty((n_parts, n_nodes))
    part_total = np.empty(_N_PARTS)
    scale = np.ones(n_nodes)
    for step in range(_MAX_STEPS + 1):
        run_kernel(_sum_scaled, edge_steps, edge_part, *ends, edges.weight, fixed, scale, sums)
        run_kernel(_add_parts, node_steps, node_part, scale, sums, part_total)
        scaled_degrees = part_total.sum()
        factor = 1.0
        if has_free_weight and scaled_degrees > 0.0:
            factor = free_degrees / scaled_degrees
        # Alternating half steps (of logarithms) and whole steps are as close after six steps as
        # half steps alone after nine.
        is_half_step = step % 2 == 0
        run_kernel(
            _next_scale,
            node_steps,
            node_part,
            degrees,
            scale,
            factor,
            is_half_step,
            sums,
            part_total,
        )
        if step == _MAX_STEPS or part_total.sum() <= _TOLERANCE * free_degrees:
            break
        np.copyto(scale, sums[0])
    weight = edges.weight if in_place else edges.weight.copy()
    run_kernel(_multiply_weights, edge_steps, edge_part, *ends, fixed, scale, factor, weight)
    return edges._replace(weight=weight)


@parallel_njit
def _sum_scaled(part, node, other, weight, fixed, scale, sums):
    """Add w_uv s_v at u and w_uv s_u at v, for every part of the edges.

    Edges of one node mostly follow each other: its sum stays in a register until the next node.
    """
    for p in numba.prange(part.size - 1):
        part_sums = sums[p]
        part_sums[:] = 0.0
        u = node[part[p]] if part[p] < part[p + 1] else 0
        total = 0.0
        for e in range(part[p], part[p + 1]):
            if node[e] != u:
                part_sums[u] = total
                u = node[e]
                total = part_sums[u]
            if fixed.size == 0 or not fixed[e]:
                v = other[e]
                w = weight[e]
                total += w * scale[v]
                part_sums[v] += w * scale[u]
        part_sums[u] = total


@parallel_njit
def _add_parts(part, scale, sums, part_total):
    """Add the sums of all parts to the first one, and sum the degrees that the scales give."""
    for p in numba.prange(part.size - 1):
        part_total[p] = 0.0
        for u in range(part[p], part[p + 1]):
            for k in range(1, sums.shape[0]):
                sums[0, u] += sums[k, u]
            part_total[p] += scale[u] * sums[0, u]


@parallel_njit
def _next_scale(part, degrees, scale, factor, is_half_step, sums, part_error):
    """Write the next scales into sums[0], and the sum of |degree error| of the current ones."""
    for p in numba.prange(part.size - 1):
        part_error[p] = 0.0
        for u in range(part[p], part[p + 1]):
            weight_sum = factor * sums[0, u]
            part_error[p] += abs(scale[u] * weight_sum - degrees[u])
            goal = max(degrees[u], 0.0) / weight_sum if weight_sum > 0.0 else scale[u]
            goal = np.sqrt(scale[u] * goal) if is_half_step else goal
            sums[0, u] = min(max(goal, 1 / _LARGEST_SCALE), _LARGEST_SCALE)


@parallel_njit
def _multiply_weights(part, node, other, fixed, scale, factor, weight):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            if fixed.size == 0 or not fixed[e]:
                weight[e] *= factor * scale[node[e]] * scale[other[e]]
