"""What is done with every edge that arrives: most are dropped at once, those at favored nodes stay.

*The filter.* The last shrink left an embedding X and a scale c. Resistances only fall as edges
arrive, so what it says of them is (up to noise) too large, and sampling a new edge of weight a at
once with

    p = min(1, c a r),     r = 1 / d_u + 1 / d_v + |X_u - X_v|^2,

keeps its expectation and leaves the later thinning valid: the EXPAND step of KORS [CLV17b]. The
degrees d are those of the stream so far, read when a chunk begins. Since
|X_u - X_v|^2 <= 2 |X_u|^2 + 2 |X_v|^2, one number per node decides most coins before X is
looked at. Nodes that the last shrink had not seen, or had seen in different components, have no
resistance: their edges are kept.

*Favored nodes.* Whoever knows before the stream which nodes carry labels wants their edges kept.
Sampling an edge with a probability above its leverage is always safe (it stays unbiased and only
gets less noisy), so favored edges have their resistance multiplied by a boost >= 1, and thinning
and filter go on as before. The boost fills the favored share of the budget: it is infinite (p = 1)
while all favored edges fit into that share, and proportional to their leverage beyond.

References
----------
[CLV17b] Calandriello, Lazaric, Valko. Efficient second-order online kernel learning with adaptive
         embedding. NeurIPS 2017.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.graph.forest import append_growable
from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.sampling import find_scale
from graphsqueak.system.kernels import compiled, run, shared, subroutine

__all__ = [
    "SHARE",
    "ArrivalFilter",
    "Favored",
    "plain_ids",
]

SHARE = 0.5  # of the budget; measured: more starves the rest, less loses labels' edges
_WORK = 5  # elementary steps per edge: chunks of a stream are not worth sharing, sweeps are
_PART = 2**14  # edges that a thread takes at a time
_BLOCK = 256  # edges that go through the filter together
_MOST_OPEN = 0.75  # of a block: where bounds decide less, those that follow do without
_CERTAIN = 1e30  # a boost that makes every p = 1
_NOTHING = np.zeros(0, np.bool_)


class ArrivalFilter(NamedTuple):
    """By what arriving edges are sampled; all per node of the last shrink but the scale."""

    points: np.ndarray  # X, divided by sqrt(k)
    reach: np.ndarray  # 2 |X_u|^2
    near: np.ndarray  # a row of 1 / d_u, and one of 1 / d_u + 2 |X_u|^2, infinite outside the
    # largest component
    component: np.ndarray  # empty if there is only one
    scale: float  # c

    @classmethod
    def from_sketch(cls, sketch, component, scale=np.inf):
        """A filter from the embedding of the shrunken graph, that lets all pass at first."""
        points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
        several = component.size > 0 and (component != component[0]).any()
        component = component if several else component[:0]
        reach = 2 * np.einsum("uk,uk->u", points, points)
        near = np.empty((2, len(points)), np.float32)
        return cls(points, reach, near, component, float(scale)).refresh(sketch.degree)

    @property
    def main(self):
        """The largest component."""
        return np.bincount(self.component).argmax() if self.component.size else 0

    def to_arrays(self):
        """All of it by name, with finite numbers; what is near as columns."""
        near, bound = self.near
        bound = np.where(bound == np.inf, near + self.reach, bound)
        return self._replace(near=np.column_stack([near, bound]))._asdict()

    @classmethod
    def from_arrays(cls, parts):
        """What `to_arrays` was called on."""
        near = np.ascontiguousarray(parts["near"].T)
        known = cls(**parts | {"near": near, "scale": float(parts["scale"])})
        if known.component.size:
            known.near[1, known.component != known.main] = np.inf
        return known

    def refresh(self, degree):
        """The same filter with the stream's present degrees."""
        near = np.empty_like(self.near)
        _refresh(degree[: self.reach.size], self.reach, self.component, self.main, near)
        return self._replace(near=near)

    def leverages(self, tail, head, weight):
        """Leverages w r of a few edges; very large where there is no resistance."""
        known = (tail < self.reach.size) & (head < self.reach.size)
        u, v = np.where(known, tail, 0), np.where(known, head, 0)
        step = self.points[u] - self.points[v]
        resistance = self.near[0, u] + self.near[0, v] + np.einsum("ek,ek->e", step, step)
        if self.component.size:
            known &= self.component[u] == self.component[v]
        return np.where(known, weight * resistance.astype(np.float64), _CERTAIN)

    def sample(self, tail, head, weight, pinned=_NOTHING, *, seed, first, favored=None):
        """Indices of the edges that stay, and their new weights; pinned ones stay as they are.

        The edges are numbers first, first + 1, ... of the stream.
        """
        favors = (favored or Favored()).mask_and_boost
        own = (self.points, self.near, self.component, self.scale, *favors)
        key, size = (np.uint64(seed), np.uint64(first)), np.zeros(-(-tail.size // _PART), np.int64)
        chosen, new = np.empty(tail.size, np.int32), np.empty(tail.size)
        edges = (tail, head, weight, pinned)
        run(_sample_all, _WORK * tail.size, *own, *edges, *key, chosen, new, size)
        parts = [slice(p * _PART, p * _PART + n_kept) for p, n_kept in enumerate(size)]
        return tuple(
            np.concatenate([column[part] for part in parts] or [column[:0]])
            for column in (chosen, new)
        )

    def sweeper(self, favored, seed):
        """A function from kept edges, of which the first has a number, to those that stay."""

        def sweep(edges, first):
            key = {"seed": seed, "first": first}
            index, weight = self.sample(*edges[:3], edges.pinned, **key, favored=favored)
            return edges.select(index)._replace(weight=weight)

        return sweep


class Favored:
    """The favored nodes of a stream, known by number, and the boost of their edges.

    >>> favored = Favored(np.array([True, False, False]), share=0.5)
    >>> favored.edges(np.array([0, 1]), np.array([1, 2]))
    array([ True, False])
    """

    def __init__(self, mask=None, *, share=SHARE):
        self.mask = np.zeros(0, dtype=np.bool_) if mask is None else mask
        self.share = share
        self.boost = 1.0

    def grow_to(self, n_nodes):
        """Nodes that nobody asked for are not favored."""
        if self.mask.size < n_nodes:
            self._append(np.zeros(n_nodes - self.mask.size, dtype=np.bool_))

    def look_up(self, numbering, n_nodes, wanted):
        """Learn which of the nodes new to `numbering` are among the `wanted` ids."""
        start = self.mask.size
        if start < n_nodes:
            ids = numbering.ids
            names = (
                range(start, n_nodes) if ids is None else np.asarray(ids[start:n_nodes]).tolist()
            )
            found = (name in wanted for name in names)
            self._append(np.fromiter(found, np.bool_, n_nodes - start))

    def _append(self, more):
        self.mask = append_growable(self.mask, more)

    def edges(self, tail, head):
        """Which edges touch a favored node."""
        return self.mask[tail] | self.mask[head]

    def boost_edges(self, edges, resistance, budget):
        """Resistances with those of favored edges raised to fill their share, and the boost."""
        if not self.mask.any():
            return resistance, 1.0
        chosen = self.edges(edges.tail, edges.head)
        n_chosen = np.count_nonzero(chosen)
        if n_chosen == 0:
            return resistance, 1.0
        leverage = edges.weight * resistance
        scale = find_scale(leverage[chosen], self.share * budget)
        spent = np.minimum(1.0, scale * leverage[chosen]).sum() if scale < np.inf else n_chosen
        rest = find_scale(leverage[~chosen], max(budget - spent, 1.0))
        boost = min(max(scale / rest, 1.0), _CERTAIN) if rest < np.inf else 1.0
        return np.where(chosen, resistance * boost, resistance), boost

    @property
    def mask_and_boost(self):
        """For the filter: an empty mask where nothing is favored."""
        if self.boost > 1.0 and self.mask.any():
            return self.mask, self.boost
        return self.mask[:0], 1.0


def plain_ids(nodes):
    """A set of plain ints and strings, which a checkpoint can hold; None for None.

    >>> plain_ids(np.array([7, 7]))
    frozenset({7})
    """
    if nodes is None:
        return None
    return frozenset(node.item() if hasattr(node, "item") else node for node in nodes)


@compiled
def _refresh(degree, reach, component, main, near):
    for u in range(degree.size):
        near[0, u] = 1 / degree[u] if degree[u] > 0 else 0.0
        apart = component.size > 0 and component[u] != main
        near[1, u] = np.inf if apart else near[0, u] + reach[u]


@shared
def _sample_all(points, near, component, scale, favored, *rest):
    """Choose edges of every part; new weights are w if one is kept for sure, w / p else.

    Blocks of edges go step by step, so that loads that wait for memory do not wait for coins, too.
    """
    boost, tail, head, weight, pinned, seed, first, chosen, new, size = rest
    for part in numba.prange(size.size):
        known = (points, near, component, scale, favored, boost)
        edges, out = (tail, head, weight, pinned), (chosen, new, size)
        _sample_part(known, edges, part, seed, first, out)


@subroutine
def _sample_part(known, edges, part, seed, first, out):
    """Write what stays of one part to where the part begins, and how many that are."""
    tail, head, weight, pinned = edges
    chosen, new, size = out
    at, end = part * _PART, min((part + 1) * _PART, tail.size)
    singles = (np.empty(_BLOCK, np.float32), np.empty(_BLOCK, np.float32))
    doubles = (np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK))
    desk = (np.empty(_BLOCK, np.int32), *singles, *doubles)  # arrays of a block's edges
    is_bounded = True
    for start in range(part * _PART, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        block = (tail[start:stop], head[start:stop], weight[start:stop], pinned[start:stop])
        number = first + np.uint64(start)
        n_open, n_kept = _sample_block(known, block, seed, number, is_bounded, desk, new[at:])
        is_bounded &= n_open <= _MOST_OPEN * (stop - start)
        for i in range(n_kept):
            chosen[at + i] = start + desk[0][i]
        at += n_kept
    size[part] = at - part * _PART


@subroutine
def _sample_block(known, edges, seed, first, is_bounded, desk, new):
    """Loops without branches: edges that may stay, then those that do, are written to `chosen`.

    All may if they are not bounded. A pinned edge has a coin below all probabilities. Returns how
    many may stay, and how many do.
    """
    points, near, component, scale, favored, boost = known
    tail, head, weight, pinned = edges
    chosen, bound, r, coin, times, prob = desk
    for e in range(tail.size):
        coin[e] = uniform(seed, first + np.uint64(e), ITEM_WORD)
    for e in range(tail.size):
        times[e] = scale * weight[e]
    if favored.size > 0:
        for e in range(tail.size):
            times[e] *= boost if favored[tail[e]] or favored[head[e]] else 1.0
    for e in range(pinned.size):
        coin[e] = -1.0 if pinned[e] else coin[e]
    n_kept, n_open = 0, tail.size
    for e in range(tail.size):
        chosen[e] = e
    if is_bounded:
        n_open = 0
        _bound_sums(near[1], tail, head, bound)
        for e in range(tail.size):
            chosen[n_open] = e
            n_open += coin[e] < times[e] * bound[e]
    for i in range(n_open):
        e = np.uint64(chosen[i])
        if max(tail[e], head[e]) >= near.shape[1]:
            r[i] = np.inf
            continue
        u, v = np.uint64(tail[e]), np.uint64(head[e])
        apart = np.float32(0.0)
        for k in range(points.shape[1]):
            step = points[u, k] - points[v, k]
            apart += step * step
        r[i] = near[0, u] + near[0, v] + apart
    if component.size > 0:
        for i in range(n_open):
            e = chosen[i]
            if r[i] < np.inf and component[tail[e]] != component[head[e]]:
                r[i] = np.inf
    for i in range(n_open):
        e = np.uint64(chosen[i])
        chosen[n_kept], prob[n_kept] = e, times[e] * r[i]
        n_kept += coin[e] < prob[n_kept]
    for i in range(n_kept):
        e = np.uint64(chosen[i])
        new[i] = weight[e] / min(prob[i], 1.0) if coin[e] > 0.0 else weight[e]
    return n_open, n_kept


@subroutine
def _bound_sums(bound, tail, head, out):
    """Sums of the bounds of both ends, infinite where one of them is not known."""
    last = 0
    for e in range(tail.size):
        last = max(last, tail[e], head[e])
    if last < bound.size:
        for e in range(tail.size):
            out[e] = bound[np.uint64(tail[e])] + bound[np.uint64(head[e])]
    else:
        for e in range(tail.size):
            is_known = tail[e] < bound.size and head[e] < bound.size
            out[e] = bound[tail[e]] + bound[head[e]] if is_known else np.inf
