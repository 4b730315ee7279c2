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

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.solvers.matrix import inverse_or_zero
from graphsqueak.sparsifiers.resistance.sketch import ResistanceEmbedding
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.sparsifiers.stream.priority_nodes import LARGEST_OVERSAMPLING, PriorityNodes
from graphsqueak.system.kernels import (
    N_PARTS,
    inline_njit,
    parallel_njit,
    parts,
    run_kernel,
)

# Edges that pass through the loops of `_sample_block` together: their arrays (7 kB) stay in the L1
# cache. One edge after the other takes twice as long; half or twice as many differ by less than the
# noise of 10 %.
_BLOCK_EDGES = 256


class ArrivalFilter(NamedTuple):
    """Sampling probabilities of arriving edges, from the last resparsification.

    Attributes
    ----------
    points : ndarray of shape (n_known, k)
        The embedding X, divided by sqrt(k).
    dist_bound : ndarray of shape (n_known,)
        2 |X_u|^2; infinite outside the largest component.
    inv_degree : ndarray of shape (n_known,)
        1 / d_u, current when `refresh` was called.
    upper_bound : ndarray of shape (n_known,)
        The sum of `inv_degree` and `dist_bound`.
    component : ndarray of shape (n_known,) or (0,)
        Component of each node; empty if there is only one.
    scale : float
        The sampling scale c.
    edges_per_node : float
        Budget per node for which the scale was chosen.
    is_from_degrees : bool
        Whether the filter was made from degrees, not by solves.
    """

    points: np.ndarray
    dist_bound: np.ndarray
    inv_degree: np.ndarray
    upper_bound: np.ndarray
    component: np.ndarray
    scale: float
    edges_per_node: float
    is_from_degrees: bool

    @classmethod
    def from_sketch(
        cls,
        sketch: ResistanceEmbedding,
        component: np.ndarray,
        *,
        scale: float = np.inf,
        edges_per_node: float = np.inf,
        is_from_degrees: bool = False,
    ) -> "ArrivalFilter":
        """Return the filter of an embedding. With the default scale it keeps every edge."""
        is_connected = component.size == 0 or (component == component[0]).all()
        return cls._build(
            points=sketch.points / np.float32(np.sqrt(sketch.points.shape[1])),
            inv_degree=inverse_or_zero(sketch.degree).astype(np.float32),
            component=component[:0] if is_connected else component,
            scale=scale,
            edges_per_node=edges_per_node,
            is_from_degrees=is_from_degrees,
        )

    @classmethod
    def _build(cls, points, inv_degree, component, scale, edges_per_node, is_from_degrees):
        """Return a filter with the bounds that follow from the other attributes."""
        dist_bound = 2 * np.einsum("uk,uk->u", points, points)
        if component.size:
            dist_bound[component != np.bincount(component).argmax()] = np.inf
        return cls(
            points=points,
            dist_bound=dist_bound,
            inv_degree=inv_degree,
            upper_bound=inv_degree + dist_bound,
            component=component,
            scale=float(scale),
            edges_per_node=float(edges_per_node),
            is_from_degrees=bool(is_from_degrees),
        )

    def refresh(self, degrees: np.ndarray) -> "ArrivalFilter":
        """Return the same filter with the current degrees."""
        inv_degree = inverse_or_zero(degrees[: self.dist_bound.size]).astype(np.float32)
        return self._replace(inv_degree=inv_degree, upper_bound=inv_degree + self.dist_bound)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything that `from_arrays` needs, with finite numbers."""
        return {name: np.asarray(getattr(self, name)) for name in _STORED}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> "ArrivalFilter":
        """Return the filter on which `to_arrays` was called."""
        return cls._build(*(arrays[name] for name in _STORED))

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

    def sample_edges(
        self, edges: SampledEdges, first_edge_index: int, *, seed: int, priority: PriorityNodes
    ) -> SampledEdges:
        """Sample edges independently, those of the forest with probability 1.

        Parameters
        ----------
        edges : SampledEdges
        first_edge_index : int
            Index of the first of these edges in the stream. The random number of an edge depends on
            the seed and its index only.
        seed : int
        priority : PriorityNodes

        Returns
        -------
        SampledEdges
            The edges that are kept, with weights w / p in double precision.
        """
        index = np.empty(edges.n_edges, dtype=np.int32)
        new_weight = np.empty(edges.n_edges)
        part = parts(edges.n_edges)
        size = np.zeros(N_PARTS, dtype=np.int64)
        run_kernel(
            _sample_parts,
            edges.n_edges,
            part,
            (self.points, self.inv_degree, self.upper_bound, self.component, self.scale),
            priority.active(),
            # Mostly no edge is in the forest, which saves a loop.
            (*edges[:3], edges.in_forest if edges.in_forest.any() else edges.in_forest[:0]),
            np.uint64(seed),
            np.uint64(first_edge_index),
            index,
            new_weight,
            size,
        )
        kept = np.concatenate([np.arange(a, a + n) for a, n in zip(part[:-1], size, strict=True)])
        return edges.select(index[kept])._replace(weight=new_weight[kept])


# Arguments of `ArrivalFilter._build`.
_STORED = ("points", "inv_degree", "component", "scale", "edges_per_node", "is_from_degrees")


@parallel_njit
def _sample_parts(part, known, priority, edges, seed, first, index, new_weight, size):
    """Sample every part of the edges, block by block, and write the result where it begins."""
    tail, head, weight, keep_always = edges
    for p in numba.prange(part.size - 1):
        # Arrays for one block: random numbers, c w, resistances, undecided edges.
        work = (
            np.empty(_BLOCK_EDGES),
            np.empty(_BLOCK_EDGES),
            np.empty(_BLOCK_EDGES, np.float32),
            np.empty(_BLOCK_EDGES, np.int32),
        )
        end = part[p]
        for a in range(part[p], part[p + 1], _BLOCK_EDGES):
            b = min(a + _BLOCK_EDGES, part[p + 1])
            block = (tail[a:b], head[a:b], weight[a:b], keep_always[a:b])
            n_kept = _sample_block(
                known,
                priority,
                block,
                seed,
                first + np.uint64(a),
                work,
                index[end:],
                new_weight[end:],
            )
            for i in range(end, end + n_kept):
                index[i] += a
            end += n_kept
        size[p] = end - part[p]


@inline_njit
def _sample_block(known, priority, edges, seed, first, work, index, new_weight):
    """Sample one block, write the kept edges and their weights, and return how many there are.

    The loops do one thing each: loads that wait for memory then do not wait for random numbers as
    well. Unsigned indices save the test for negative ones.
    """
    points, inv_degree, upper_bound, component, scale = known
    is_priority, oversampling = priority
    tail, head, weight, keep_always = edges
    random, scaled_weight, resistance, undecided = work
    for e in range(tail.size):
        random[e] = uniform(seed, first + np.uint64(e), ITEM_WORD)
    for e in range(keep_always.size):
        if keep_always[e]:
            # Below every probability.
            random[e] = -1.0
    for e in range(tail.size):
        scaled_weight[e] = scale * weight[e]
    if is_priority.size > 0:
        for e in range(tail.size):
            if is_priority[tail[e]] or is_priority[head[e]]:
                scaled_weight[e] *= oversampling

    # Edges that the bounds do not reject.
    n_undecided = 0
    for e in range(tail.size):
        u = np.uint64(tail[e])
        v = np.uint64(head[e])
        is_known = max(u, v) < upper_bound.size
        bound = upper_bound[u] + upper_bound[v] if is_known else np.float32(np.inf)
        undecided[n_undecided] = e
        n_undecided += random[e] < scaled_weight[e] * bound

    # Their resistances; infinite if there is none, which makes p = 1.
    for i in range(n_undecided):
        u = np.uint64(tail[np.uint64(undecided[i])])
        v = np.uint64(head[np.uint64(undecided[i])])
        resistance[i] = np.inf
        if max(u, v) < inv_degree.size and (component.size == 0 or component[u] == component[v]):
            distance = np.float32(0.0)
            for k in range(points.shape[1]):
                step = points[u, k] - points[v, k]
                distance += step * step
            resistance[i] = inv_degree[u] + inv_degree[v] + distance

    n_kept = 0
    for i in range(n_undecided):
        e = np.uint64(undecided[i])
        prob = scaled_weight[e] * resistance[i]
        if random[e] < prob:
            index[n_kept] = e
            new_weight[n_kept] = weight[e] if random[e] < 0.0 else weight[e] / min(prob, 1.0)
            n_kept += 1
    return n_kept
