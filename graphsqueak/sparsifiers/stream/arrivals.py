"""What is done with every edge that arrives: cuts are weighed, and most edges dropped at once.

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

*Probes* are a check that costs nothing: eight random cuts. Every node gets one random byte, eight
signs. For the vector x of one of them, x' L x is four times the weight of the edges whose ends
differ in that bit, so adding up weights by the exclusive or of the two bytes, 256 sums in all,
gives all eight quadratic forms for one addition per edge. What the sparsifier makes of the same
eight vectors is an error that it has for certain: a lower bound of epsilon. The indicators of the
components, the other vectors that are known to matter, have x' L x = 0 on the graph; on the
sparsifier that is looked up in its components.

References
----------
[CLV17b] Calandriello, Lazaric, Valko. Efficient second-order online kernel learning with adaptive
         embedding. NeurIPS 2017.
"""

import warnings
from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.forest import join, roots, weak_cuts
from graphsqueak.randomness import ITEM_WORD, PROBE_SEED, random_bits, uniform
from graphsqueak.sampling import scale_for
from graphsqueak.system.kernels import compiled, run, shared, subroutine

__all__ = [
    "SHARE",
    "ArrivalFilter",
    "Favored",
    "Probes",
    "odd_change",
    "plain_ids",
    "warn_if_worse",
]

SHARE = 0.5  # of the budget; measured: more starves the rest, less loses labels' edges
_WORK = 20  # elementary steps per edge
_BLOCK = 256  # edges that go through the filter together
_CERTAIN = 1e30  # a boost that makes every p = 1
_N_PROBES = 8


class ArrivalFilter(NamedTuple):
    """By what arriving edges are sampled; all per node of the last shrink but the scale."""

    points: np.ndarray  # X, divided by sqrt(k)
    reach: np.ndarray  # 2 |X_u|^2
    near: np.ndarray  # 1 / d_u, and 1 / d_u + 2 |X_u|^2, infinite outside the largest component
    component: np.ndarray  # empty if there is only one
    scale: float  # c

    @classmethod
    def from_sketch(cls, sketch, component, scale=np.inf):
        """A filter from the embedding of the shrunken graph, that lets all pass at first."""
        points = sketch.points / np.float32(np.sqrt(sketch.points.shape[1]))
        several = component.size > 0 and (component != component[0]).any()
        component = component if several else component[:0]
        reach = 2 * np.einsum("uk,uk->u", points, points)
        near = np.empty((len(points), 2), np.float32)
        return cls(points, reach, near, component, float(scale)).refresh(sketch.degree)

    @property
    def main(self):
        """The largest component."""
        return np.bincount(self.component).argmax() if self.component.size else 0

    def to_arrays(self):
        """All of it by name, with finite numbers."""
        near = self.near.copy()
        near[:, 1] = np.where(near[:, 1] == np.inf, near[:, 0] + self.reach, near[:, 1])
        return self._replace(near=near)._asdict()

    @classmethod
    def from_arrays(cls, parts):
        """What `to_arrays` was called on."""
        known = cls(**parts | {"scale": float(parts["scale"])})
        if known.component.size:
            known.near[known.component != known.main, 1] = np.inf
        return known

    def refresh(self, degree):
        """The same filter with the stream's present degrees."""
        near = np.empty_like(self.near)
        _refresh(degree[: self.reach.size], self.reach, self.component, self.main, near)
        return self._replace(near=near)

    def leverages(self, tail, head, weight):
        """Leverages w r of a few edges; very large where there is no resistance."""
        known = (tail < len(self.near)) & (head < len(self.near))
        u, v = np.where(known, tail, 0), np.where(known, head, 0)
        step = self.points[u] - self.points[v]
        resistance = self.near[u, 0] + self.near[v, 0] + np.einsum("ek,ek->e", step, step)
        if self.component.size:
            known &= self.component[u] == self.component[v]
        return np.where(known, weight * resistance.astype(np.float64), _CERTAIN)

    def sample(self, tail, head, weight, *, seed, first, favored=None):
        """New weights of edges first, first + 1, ... of the stream; zero for what is dropped."""
        favors = (favored or Favored()).mask_and_boost
        own = (self.points, self.near, self.component, self.scale, *favors)
        key, out = (np.uint64(seed), np.uint64(first)), np.empty(tail.size)
        run(_sample_all, _WORK * tail.size, *own, tail, head, weight, *key, out)
        return out

    def sweeper(self, favored, seed):
        """A function from blocks of kept edges, and where they begin, to their new weights."""

        def sweep(edges, start):
            weight = self.sample(*edges[:3], seed=seed, first=start, favored=favored)
            np.copyto(weight, edges.weight, where=edges.pinned)
            return weight

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
        self.mask = np.concatenate([self.mask, more])

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
        scale = scale_for(leverage[chosen], self.share * budget)
        spent = np.minimum(1.0, scale * leverage[chosen]).sum() if scale < np.inf else n_chosen
        rest = scale_for(leverage[~chosen], max(budget - spent, 1.0))
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


class Probes:
    """Quadratic forms of eight random sign vectors, of all edges so far.

    >>> probes = Probes()
    >>> tail, head, weight = np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3)
    >>> probes.add(tail, head, weight, n_nodes=3)
    >>> probes.error(tail, head, 1.5 * weight, n_components=1)
    0.5
    """

    def __init__(self, table=None, n_nodes=0):
        self.table = np.zeros(2**_N_PROBES) if table is None else table
        self._signs = np.zeros(0, dtype=np.uint8)
        self._grow(n_nodes)

    def add(self, tail, head, weight, n_nodes):
        """Take in edges between nodes 0, ..., n_nodes - 1."""
        self._grow(n_nodes)
        _add_to_table(self._signs, tail, head, weight, self.table)

    def merge(self, others, n_nodes, *, same_nodes):
        """Probes of all streams; unknown (NaN) from then on if they number nodes differently."""
        table = sum((other.table for other in others), self.table)
        return Probes(table if same_nodes else np.full_like(self.table, np.nan), n_nodes)

    def error(self, tail, head, weight, n_components):
        """Largest relative error of a sparsifier over all probes, and infinite if it is in pieces.

        Parameters
        ----------
        tail, head, weight : ndarray
            Its edges.
        n_components : int
            Of the graph.
        """
        whole, sparse = _forms(self.table), _cut_weights(self._signs, tail, head, weight)
        joins = join(roots(self._signs.size), tail, head)
        if self._signs.size - np.count_nonzero(joins) != n_components:
            return np.inf
        error = np.abs(np.divide(sparse, whole, out=np.ones(_N_PROBES), where=whole != 0) - 1)
        return float(error.max())

    def _grow(self, n_nodes):
        known = self._signs.size
        if n_nodes > known:
            more = np.empty(n_nodes - known, dtype=np.uint8)
            _draw_signs(PROBE_SEED, known, more)
            self._signs = np.concatenate([self._signs, more])


def odd_change(before, after, n_nodes, sigmas):
    """Largest relative change of the weakest cuts by a shrink; 0 if it may be chance.

    Where resistances are right, a cut keeps at least as many edges as a node has on average.
    """
    sides = weak_cuts(*before[:3], n_nodes)
    old, new = (_cut_weights(sides, *edges[:3]) for edges in (before, after))
    change = np.abs(np.divide(new, old, out=np.ones_like(old), where=old > 0) - 1).max()
    by_chance = sigmas * np.sqrt(n_nodes / max(after.tail.size, 1))
    return float(change) if change > by_chance else 0.0


def warn_if_worse(predicted, error):
    """Warn of a sparsifier whose `error` on probes is larger than predicted."""
    if error > predicted:
        off = f"a cut of it is off by {error:.2g}"
        wrong = off if error < np.inf else "a component has fallen apart"
        warnings.warn(
            AccuracyWarning(
                f"the sparsifier is worse than predicted ({predicted:.2g}): {wrong}; keep more "
                "edges, and certify the result"
            ),
            stacklevel=3,
        )


def _cut_weights(sides, tail, head, weight):
    """Weights of eight cuts at once; bit k of a node's byte tells its side of cut k.

    >>> sides = np.array([0, 1, 3], dtype=np.uint8)
    >>> _cut_weights(sides, np.array([0, 1]), np.array([1, 2]), np.array([5.0, 2.0]))[:2]
    array([5., 2.])
    """
    table = np.zeros(2**_N_PROBES)
    _add_to_table(sides, tail, head, weight, table)
    return _forms(table)


def _forms(table):
    """x' L x / 4 of every probe."""
    bits = np.arange(table.size)
    return np.array([table[(bits >> k) & 1 == 1].sum() for k in range(_N_PROBES)])


@compiled
def _refresh(degree, reach, component, main, near):
    for u in range(degree.size):
        near[u, 0] = 1 / degree[u] if degree[u] > 0 else 0.0
        apart = component.size > 0 and component[u] != main
        near[u, 1] = np.inf if apart else near[u, 0] + reach[u]


@shared
def _sample_all(points, near, component, scale, favored, *rest):
    """New weights of edges: w if one is kept for sure, w / p or zero else.

    Blocks of edges go step by step, so that loads that wait for memory do not wait for coins, too.
    """
    boost, tail, head, weight, seed, first, out = rest
    for block in numba.prange((tail.size + _BLOCK - 1) // _BLOCK):
        start = block * _BLOCK
        stop = min(start + _BLOCK, tail.size)
        known = (points, near, component, scale, favored, boost)
        edges = (tail[start:stop], head[start:stop], weight[start:stop])
        _sample_block(known, edges, seed, first + np.uint64(start), out[start:stop])


@subroutine
def _sample_block(known, edges, seed, first, out):
    points, near, component, scale, favored, boost = known
    tail, head, weight = edges
    n_known, n_open = near.shape[0], 0
    sums = np.empty((3, tail.size), np.float32)  # of 1 / d, of the bounds, and with points
    times = np.empty(tail.size)
    is_open = np.empty(tail.size, dtype=np.int64)
    for e in range(tail.size):
        is_known = tail[e] < n_known and head[e] < n_known
        u, v = (tail[e], head[e]) if is_known else (0, 0)
        sums[0, e] = near[u, 0] + near[v, 0] if is_known else 1.0
        sums[1, e] = near[u, 1] + near[v, 1]
        times[e] = scale * weight[e] if is_known else np.inf
    if favored.size > 0:
        for e in range(tail.size):
            times[e] *= boost if favored[tail[e]] or favored[head[e]] else 1.0
    for e in range(tail.size):
        coin = uniform(seed, first + np.uint64(e), ITEM_WORD)
        certain = times[e] * sums[0, e] >= 1.0
        out[e] = weight[e] if certain else 0.0
        is_open[n_open] = e
        n_open += (not certain) and coin < times[e] * sums[1, e]
    for i in range(n_open):
        e = is_open[i]
        u, v = tail[e], head[e]
        apart = np.float32(0.0)
        for k in range(points.shape[1]):
            step = points[u, k] - points[v, k]
            apart += step * step
        sums[2, i] = sums[0, e] + apart
    for i in range(n_open):
        e = is_open[i]
        prob = times[e] * sums[2, i]
        if prob >= 1.0 or (sums[1, e] == np.inf and component[tail[e]] != component[head[e]]):
            out[e] = weight[e]
        elif uniform(seed, first + np.uint64(e), ITEM_WORD) < prob:
            out[e] = weight[e] / prob


@compiled
def _draw_signs(key, start, out):
    for i in range(out.size):
        bits = random_bits(key, np.uint64(start + i), np.uint64(0))
        out[i] = np.uint8(bits & np.uint64(255))


@compiled
def _add_to_table(signs, tail, head, weight, table):
    for e in range(tail.size):
        table[signs[tail[e]] ^ signs[head[e]]] += weight[e]
