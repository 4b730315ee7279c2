"""Cuts by which a sparsifier is compared with the graph at no cost.

*Random cuts.* Every node gets one random byte, the signs of eight vectors x. For each of them
x' L x is four times the weight of the edges whose ends differ in that bit. Adding up weights by the
exclusive or of the two bytes, in 256 sums, gives all eight quadratic forms for one addition per
edge. Their relative error in a sparsifier is a lower bound of epsilon. If components differ, the
indicator of a component has x' L x = 0 in the graph only, and the error is infinite.

*Bottleneck cuts.* The cuts at the lightest edges of a heavy spanning forest are where a sparsifier
that lost something lost most.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphsqueak.errors import AccuracyWarning
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import append_growable, bottleneck_cuts, make_sets, union_edges
from graphsqueak.randomness import PROBE_SEED, random_bits
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.system.kernels import njit_cached, read_only_views

_N_CUTS = np.iinfo(np.uint8).bits
# Standard deviations that chance exceeds once in 30,000 samples. A bottleneck cut is reported if it
# changed by more. The expected number of edges of the final sample is as far below the budget:
# halved or doubled, the error changes by at most 4 % in either direction.
N_STD_BY_CHANCE = 4


class RandomCuts:
    """Weights of eight random cuts, of all edges so far.

    Parameters
    ----------
    table : ndarray of shape (256,), optional
        Weight of the edges by the exclusive or of the bytes of their ends.
    n_nodes : int

    Examples
    --------
    >>> cuts = RandomCuts()
    >>> tail, head, weight = np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3)
    >>> cuts.add(tail, head, weight, n_nodes=3)
    >>> heavier = SampledEdges(tail, head, 1.5 * weight, in_forest=np.zeros(3, dtype=bool))
    >>> cuts.error(heavier, n_components=1)
    0.5
    """

    def __init__(self, table: np.ndarray | None = None, n_nodes: int = 0) -> None:
        self.table = np.zeros(2**_N_CUTS) if table is None else table
        self._signs = np.zeros(0, dtype=np.uint8)
        self._grow(n_nodes)

    def add(self, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> None:
        """Add edges between nodes 0, ..., n_nodes - 1."""
        self._grow(n_nodes)
        add_to_table(self._signs, tail, head, weight, self.table)

    def scaled(self, factor: float) -> "RandomCuts":
        """Return the cuts of the same edges with all weights times `factor`."""
        return RandomCuts(factor * self.table, self._signs.size)

    @classmethod
    def merge(
        cls, several: Sequence["RandomCuts"], n_nodes: int, *, same_nodes: bool
    ) -> "RandomCuts":
        """Return the cuts of all edges; unknown (NaN) if nodes are numbered differently."""
        table = np.sum([cuts.table for cuts in several], axis=0)
        return cls(table if same_nodes else np.full_like(table, np.nan), n_nodes)

    def error(self, edges: SampledEdges, n_components: int) -> float:
        """Return the largest relative error of a sparsifier over all cuts.

        Parameters
        ----------
        edges : SampledEdges
            Edges of the sparsifier.
        n_components : int
            Components of the graph. The error is infinite if the sparsifier has others.
        """
        n_nodes = self._signs.size
        n_unions = np.count_nonzero(union_edges(make_sets(n_nodes), edges.tail, edges.head))
        if n_nodes - n_unions != n_components:
            return np.inf
        return float(self.relative_errors(edges).max(initial=0.0))

    def relative_errors(self, edges: SampledEdges | EdgeList) -> np.ndarray:
        """Return the relative error of every cut that has an edge in the graph."""
        expected = cut_sums(self.table)
        found = _cut_weights(self._signs, edges)
        has_edges = expected != 0
        return np.abs(found[has_edges] / expected[has_edges] - 1)

    def _grow(self, n_nodes):
        n_known = self._signs.size
        if n_nodes > n_known:
            more = np.empty(n_nodes - n_known, dtype=np.uint8)
            _draw_signs(PROBE_SEED, n_known, more)
            self._signs = append_growable(self._signs, more)


class BottleneckCuts(NamedTuple):
    """Eight cuts at the lightest edges of a heavy spanning forest.

    Attributes
    ----------
    sides : ndarray of uint8
        Bit k of a node is its side of cut k.
    weights : ndarray of shape (8,)
        Weights of the cuts.
    """

    sides: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, edges: SampledEdges, n_nodes: int) -> "BottleneckCuts":
        """Return the cuts of a graph."""
        sides = bottleneck_cuts(edges.tail, edges.head, edges.weight, n_nodes)
        return cls(sides, _cut_weights(sides, edges))

    def significant_change(self, sampled: SampledEdges) -> float:
        """Return the largest relative change of a cut by sampling; 0 if it may be chance.

        If resistances are right, a cut keeps at least as many edges as a node has on average.
        """
        before = self.weights
        after = _cut_weights(self.sides, sampled)
        ratio = np.divide(after, before, out=np.ones_like(before), where=before > 0)
        change = np.abs(ratio - 1).max()
        by_chance = N_STD_BY_CHANCE * np.sqrt(self.sides.size / max(sampled.n_edges, 1))
        return float(change) if change > by_chance else 0.0


def warn_if_worse(predicted: float, error: float) -> None:
    """Warn about a sparsifier whose error on the cuts is larger than predicted."""
    if error <= predicted:
        return
    problem = f"a cut is off by {error:.2g}" if error < np.inf else "a component was split"
    warnings.warn(
        AccuracyWarning(
            f"the sparsifier is worse than predicted ({predicted:.2g}): {problem}; keep more "
            "edges, and certify the result"
        ),
        stacklevel=4,
    )


def _cut_weights(sides, edges):
    """Return the weights of eight cuts; bit k of a node's byte is its side of cut k."""
    table = np.zeros(2**_N_CUTS)
    add_to_table(sides, edges.tail, edges.head, edges.weight, table)
    return cut_sums(table)


def add_to_table(
    sides: np.ndarray, tail: np.ndarray, head: np.ndarray, weight: np.ndarray, table: np.ndarray
) -> None:
    """Add the weights of edges to `table`, by the exclusive or of the bytes of their ends."""
    _add_to_table(sides, *read_only_views(tail, head, weight), table)


def cut_sums(table: np.ndarray) -> np.ndarray:
    """Return the weights of eight cuts: x' L x / 4 for every sign vector x.

    Examples
    --------
    One edge of weight 3, whose ends are on two sides of the second cut:

    >>> table = np.zeros(256)
    >>> add_to_table(np.array([0, 2], dtype=np.uint8), *np.array([[0], [1], [3]]), table)
    >>> cut_sums(table)[:3]
    array([0., 3., 0.])
    """
    byte = np.arange(table.size)
    return np.array([table[(byte >> k) & 1 == 1].sum() for k in range(_N_CUTS)])


@njit_cached
def _draw_signs(key, start, out):
    for i in range(out.size):
        bits = random_bits(key, np.uint64(start + i), np.uint64(0))
        out[i] = np.uint8(bits & np.uint64(255))


@njit_cached
def _add_to_table(signs, tail, head, weight, table):
    for e in range(tail.size):
        table[signs[tail[e]] ^ signs[head[e]]] += weight[e]
