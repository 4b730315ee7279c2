"""Bernoulli filter that rejects most edges as they arrive.

The last resparsification left an embedding X of the nodes (n x k) and a sampling scale c. For a new
edge (u, v),

    r(u, v) = 1 / d_u + 1 / d_v + |X_u - X_v|^2

over-estimates its effective resistance, up to noise: resistances only decrease as edges are added
(Rayleigh monotonicity), and d are the current degrees. Keeping edge e of weight w with probability

    p_e = min(1, c w_e r_e)

and dividing its weight by p_e is therefore unbiased and never under-samples. This is the EXPAND
step of KORS [CLV17b].

Most look-ups of X are avoided by one number per node. Since |X_u - X_v|^2 <= 2 |X_u|^2 +
2 |X_v|^2, it bounds p_e from above, and edges whose random number is larger are rejected at once.

Nodes without an embedding (first seen after the last resparsification) and pairs of nodes that were
in different components then have p_e = 1.

References
----------
[CLV17b] Calandriello, Lazaric, Valko. Efficient second-order online kernel learning with adaptive
         embedding. NeurIPS 2017.
"""

from collections.abc import Callable
from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.sparsifiers.resistance.sketch import Embedding
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import LARGEST_OVERSAMPLING, PriorityNodes
from graphsqueak.system.kernels import (
    STEPS_PER_EDGE,
    inline_njit,
    njit_cached,
    parallel_njit,
    run_kernel,
)

__all__ = ["ArrivalFilter"]

# Edges that one thread takes at a time. Results do not depend on it.
_PART_EDGES = 2**14
# Edges that pass through the loops below together: their arrays (12 kB) stay in the L1 cache.
_BLOCK_EDGES = 256
# If the bounds reject fewer than one edge in four, later blocks of the part skip them.
_MAX_UNDECIDED_FRACTION = 0.75
_NO_EDGES = np.zeros(0, dtype=np.bool_)


class ArrivalFilter(NamedTuple):
    """Sampling probabilities of arriving edges, from the last resparsification.

    Attributes
    ----------
    points : ndarray of shape (n_known, k)
        The embedding X, divided by sqrt(k).
    dist_bound : ndarray of shape (n_known,)
        2 |X_u|^2.
    inv_degree : ndarray of shape (n_known,)
        1 / d_u, current when `refresh` was called.
    upper_bound : ndarray of shape (n_known,)
        1 / d_u + 2 |X_u|^2; infinite outside the largest component.
    component : ndarray of shape (n_known,) or (0,)
        Component of each node; empty if there is only one.
    scale : float
        The sampling scale c.
    """

    points: np.ndarray
    dist_bound: np.ndarray
    inv_degree: np.ndarray
    upper_bound: np.ndarray
    component: np.ndarray
    scale: float

    @classmethod
    def from_sketch(
        cls, sketch: Embedding, component: np.ndarray, scale: float = np.inf
    ) -> "ArrivalFilter":
        """Return the filter of an `Embedding`. With the default scale it keeps every edge."""
        points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
        is_connected = component.size == 0 or (component == component[0]).all()
        known = cls(
            points=points,
            dist_bound=2 * np.einsum("uk,uk->u", points, points),
            inv_degree=np.empty(len(points), dtype=np.float32),
            upper_bound=np.empty(len(points), dtype=np.float32),
            component=component[:0] if is_connected else component,
            scale=float(scale),
        )
        return known.refresh(sketch.degree)

    def refresh(self, degrees: np.ndarray) -> "ArrivalFilter":
        """Return the same filter with the current degrees."""
        inv_degree = np.empty_like(self.inv_degree)
        upper_bound = np.empty_like(self.upper_bound)
        largest = np.bincount(self.component).argmax() if self.component.size else 0
        _refresh_bounds(
            degrees[: self.dist_bound.size],
            self.dist_bound,
            self.component,
            largest,
            inv_degree,
            upper_bound,
        )
        return self._replace(inv_degree=inv_degree, upper_bound=upper_bound)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything that `from_arrays` needs, with finite numbers."""
        return {
            "points": self.points,
            "inv_degree": self.inv_degree,
            "component": self.component,
            "scale": np.array(self.scale),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "ArrivalFilter":
        """Return the filter on which `to_arrays` was called."""
        points = arrays["points"]
        inv_degree = arrays["inv_degree"]
        component = arrays["component"]
        dist_bound = 2 * np.einsum("uk,uk->u", points, points)
        upper_bound = inv_degree + dist_bound
        if component.size:
            upper_bound[component != np.bincount(component).argmax()] = np.inf
        return cls(
            points=points,
            dist_bound=dist_bound,
            inv_degree=inv_degree,
            upper_bound=upper_bound,
            component=component,
            scale=float(arrays["scale"]),
        )

    def leverages(self, edges: SampledEdges) -> np.ndarray:
        """Return the leverages w r of a few edges; a huge number if p = 1 for want of an r."""
        n_known = self.dist_bound.size
        is_known = (edges.tail < n_known) & (edges.head < n_known)
        u = np.where(is_known, edges.tail, 0)
        v = np.where(is_known, edges.head, 0)
        step = self.points[u] - self.points[v]
        resistance = self.inv_degree[u] + self.inv_degree[v] + np.einsum("ek,ek->e", step, step)
        if self.component.size:
            is_known &= self.component[u] == self.component[v]
        leverage = edges.weight * resistance.astype(np.float64)
        return np.where(is_known, leverage, LARGEST_OVERSAMPLING)

    def sample(
        self,
        tail: np.ndarray,
        head: np.ndarray,
        weight: np.ndarray,
        keep_always: np.ndarray = _NO_EDGES,
        *,
        seed: int,
        first_edge_index: int,
        priority: PriorityNodes | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sample edges independently.

        Parameters
        ----------
        tail, head, weight : ndarray
        keep_always : ndarray of bool, optional
            Edges that are kept with their weights; empty for none.
        seed : int
        first_edge_index : int
            Index of the first of these edges in the stream. The random number of an edge depends on
            the seed and its index only.
        priority : PriorityNodes, optional

        Returns
        -------
        index : ndarray of int32
            The edges that are kept.
        weight : ndarray of float64
            Their weights, w / p.
        """
        mask, oversampling = (PriorityNodes() if priority is None else priority).active()
        index = np.empty(tail.size, dtype=np.int32)
        new_weight = np.empty(tail.size)
        n_parts = -(-tail.size // _PART_EDGES)
        part_size = np.zeros(n_parts, dtype=np.int64)
        run_kernel(
            _sample_parts,
            STEPS_PER_EDGE * tail.size,
            (self.points, self.inv_degree, self.upper_bound, self.component, self.scale),
            (mask, oversampling),
            (tail, head, weight, keep_always),
            np.uint64(seed),
            np.uint64(first_edge_index),
            index,
            new_weight,
            part_size,
        )
        if n_parts == 0:
            return index, new_weight
        kept = [slice(p * _PART_EDGES, p * _PART_EDGES + part_size[p]) for p in range(n_parts)]
        return (
            np.concatenate([index[part] for part in kept]),
            np.concatenate([new_weight[part] for part in kept]),
        )

    def block_sampler(
        self, priority: PriorityNodes, seed: int
    ) -> Callable[[SampledEdges, int], SampledEdges]:
        """Return a function that filters blocks of edges, for `EdgeBuffer.replace_blocks`."""

        def sample_block(edges: SampledEdges, first: int) -> SampledEdges:
            index, weight = self.sample(
                edges.tail,
                edges.head,
                edges.weight,
                edges.in_forest,
                seed=seed,
                first_edge_index=first,
                priority=priority,
            )
            return edges.select(index)._replace(weight=weight)

        return sample_block


@njit_cached
def _refresh_bounds(degrees, dist_bound, component, largest, inv_degree, upper_bound):
    for u in range(degrees.size):
        inv_degree[u] = 1 / degrees[u] if degrees[u] > 0 else 0.0
        is_apart = component.size > 0 and component[u] != largest
        upper_bound[u] = np.inf if is_apart else inv_degree[u] + dist_bound[u]


@parallel_njit
def _sample_parts(known, priority, edges, seed, first, index, new_weight, part_size):
    """Sample every part of the edges and write the result where the part begins."""
    for part in numba.prange(part_size.size):
        _sample_part(known, priority, edges, part, seed, first, index, new_weight, part_size)


@inline_njit
def _sample_part(known, priority, edges, part, seed, first, index, new_weight, part_size):
    """Sample one part of the edges, block by block."""
    tail, head, weight, keep_always = edges
    end = min((part + 1) * _PART_EDGES, tail.size)
    # Arrays for one block: chosen edges, bounds, resistances, random numbers, c w, probabilities.
    chosen = np.empty(_BLOCK_EDGES, np.int32)
    singles = (np.empty(_BLOCK_EDGES, np.float32), np.empty(_BLOCK_EDGES, np.float32))
    doubles = (np.empty(_BLOCK_EDGES), np.empty(_BLOCK_EDGES), np.empty(_BLOCK_EDGES))
    n_written = part * _PART_EDGES
    is_bounded = True
    for start in range(part * _PART_EDGES, end, _BLOCK_EDGES):
        stop = min(start + _BLOCK_EDGES, end)
        block = (tail[start:stop], head[start:stop], weight[start:stop], keep_always[start:stop])
        n_undecided, n_kept = _sample_block(
            known,
            priority,
            block,
            seed,
            first + np.uint64(start),
            is_bounded,
            (chosen, *singles, *doubles),
            new_weight[n_written:],
        )
        is_bounded &= n_undecided <= _MAX_UNDECIDED_FRACTION * (stop - start)
        for i in range(n_kept):
            index[n_written + i] = start + chosen[i]
        n_written += n_kept
    part_size[part] = n_written - part * _PART_EDGES


@inline_njit
def _sample_block(known, priority, edges, seed, first, is_bounded, work, new_weight):
    """Sample one block; returns how many edges the bounds left undecided, and how many are kept.

    The loops have no branches and do one thing each: loads that wait for memory then do not wait
    for random numbers as well.
    """
    points, inv_degree, upper_bound, component, scale = known
    is_priority, oversampling = priority
    tail, head, weight, keep_always = edges
    chosen, bound, resistance, random, scaled_weight, prob = work
    for e in range(tail.size):
        random[e] = uniform(seed, first + np.uint64(e), ITEM_WORD)
    for e in range(tail.size):
        scaled_weight[e] = scale * weight[e]
    if is_priority.size > 0:
        for e in range(tail.size):
            is_oversampled = is_priority[tail[e]] or is_priority[head[e]]
            scaled_weight[e] *= oversampling if is_oversampled else 1.0
    for e in range(keep_always.size):
        # Below every probability.
        random[e] = -1.0 if keep_always[e] else random[e]

    # Edges that the bounds do not reject.
    n_undecided = tail.size
    for e in range(tail.size):
        chosen[e] = e
    if is_bounded:
        n_undecided = 0
        _add_bounds(upper_bound, tail, head, bound)
        for e in range(tail.size):
            chosen[n_undecided] = e
            n_undecided += random[e] < scaled_weight[e] * bound[e]

    # Their resistances; infinite if there is none, which makes p = 1.
    for i in range(n_undecided):
        e = np.uint64(chosen[i])
        if max(tail[e], head[e]) >= inv_degree.size:
            resistance[i] = np.inf
            continue
        u = np.uint64(tail[e])
        v = np.uint64(head[e])
        distance = np.float32(0.0)
        for k in range(points.shape[1]):
            step = points[u, k] - points[v, k]
            distance += step * step
        resistance[i] = inv_degree[u] + inv_degree[v] + distance
    if component.size > 0:
        for i in range(n_undecided):
            e = chosen[i]
            if resistance[i] < np.inf and component[tail[e]] != component[head[e]]:
                resistance[i] = np.inf

    n_kept = 0
    for i in range(n_undecided):
        e = np.uint64(chosen[i])
        chosen[n_kept] = e
        prob[n_kept] = scaled_weight[e] * resistance[i]
        n_kept += random[e] < prob[n_kept]
    for i in range(n_kept):
        e = np.uint64(chosen[i])
        new_weight[i] = weight[e] / min(prob[i], 1.0) if random[e] > 0.0 else weight[e]
    return n_undecided, n_kept


@inline_njit
def _add_bounds(upper_bound, tail, head, out):
    """Add the bounds of both ends; infinite if one of them has no embedding."""
    last = 0
    for e in range(tail.size):
        last = max(last, tail[e], head[e])
    if last < upper_bound.size:
        for e in range(tail.size):
            out[e] = upper_bound[np.uint64(tail[e])] + upper_bound[np.uint64(head[e])]
    else:
        for e in range(tail.size):
            is_known = tail[e] < upper_bound.size and head[e] < upper_bound.size
            out[e] = upper_bound[tail[e]] + upper_bound[head[e]] if is_known else np.inf
