"""Probes: eight random cuts, by which a stream and what is kept of it are compared for free.

Every node gets one random byte, eight signs. For the vector x of one of them, x' L x is four times
the weight of the edges whose ends differ in that bit, so adding up weights by the exclusive or of
the two bytes, 256 sums in all, gives all eight quadratic forms for one addition per edge. What the
sparsifier makes of the same eight vectors is an error that it has for certain: a lower bound of
epsilon. The indicators of the components, the other vectors that are known to matter, have
x' L x = 0 on the graph; on the sparsifier that is looked up in its components.
"""

import warnings
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.forest import append_growable, bottleneck_cuts, make_sets, union_edges
from graphsqueak.randomness import PROBE_SEED, random_bits
from graphsqueak.system.kernels import compiled, frozen

__all__ = ["Probes", "WeakCuts", "warn_if_worse"]

_N_PROBES = 8


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
        _add_to_table(self._signs, *frozen(tail, head, weight), self.table)

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
        joins = union_edges(make_sets(self._signs.size), tail, head)
        if self._signs.size - np.count_nonzero(joins) != n_components:
            return np.inf
        error = np.abs(np.divide(sparse, whole, out=np.ones(_N_PROBES), where=whole != 0) - 1)
        return float(error.max())

    def _grow(self, n_nodes):
        known = self._signs.size
        if n_nodes > known:
            more = np.empty(n_nodes - known, dtype=np.uint8)
            _draw_signs(PROBE_SEED, known, more)
            self._signs = append_growable(self._signs, more)


class WeakCuts(NamedTuple):
    """The weakest cuts of edges that are about to be thinned."""

    sides: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, edges, n_nodes):
        """Those of `edges`, which need not be kept; not `weighed` yet."""
        return cls(bottleneck_cuts(*edges[:3], n_nodes), np.zeros(_N_PROBES))

    def weighed(self, edges):
        """The same cuts with the weights that these edges give them."""
        return self._replace(weights=_cut_weights(self.sides, *edges[:3]))

    def odd_change(self, after, sigmas):
        """Largest relative change of the cuts by a shrink; 0 if it may be chance.

        Where resistances are right, a cut keeps at least as many edges as a node has on average.
        """
        old, new = self.weights, _cut_weights(self.sides, *after[:3])
        change = np.abs(np.divide(new, old, out=np.ones_like(old), where=old > 0) - 1).max()
        by_chance = sigmas * np.sqrt(self.sides.size / max(after.tail.size, 1))
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
    _add_to_table(sides, *frozen(tail, head, weight), table)
    return _forms(table)


def _forms(table):
    """x' L x / 4 of every probe."""
    bits = np.arange(table.size)
    return np.array([table[(bits >> k) & 1 == 1].sum() for k in range(_N_PROBES)])


@compiled
def _draw_signs(key, start, out):
    for i in range(out.size):
        bits = random_bits(key, np.uint64(start + i), np.uint64(0))
        out[i] = np.uint8(bits & np.uint64(255))


@compiled
def _add_to_table(signs, tail, head, weight, table):
    for e in range(tail.size):
        table[signs[tail[e]] ^ signs[head[e]]] += weight[e]
