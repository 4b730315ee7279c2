"""The cliques of a table of pairs: every attribute joins all its entities with each other.

`Cliques` holds the entities of attribute a end to end, d_a of them with weights w and sum s. Of two
entities i and j the attribute makes an edge of weight c_a w_i w_j, and of all its edges together
the Laplacian

    (L_a x)_i  =  c_a w_i (s x_i - t),      t = sum_j w_j x_j,

which takes d_a steps, not d_a^2 / 2: a product with the whole graph is one pass over the pairs.

A sparsifier wants edges. A small clique is written out. Of a large one m random cycles through all
its entities are drawn: each pair is on a cycle with probability 2 / (d - 1), so that edges of
weight c w_i w_j (d - 1) / (2 m) have the clique's Laplacian as their mean, and 2 m edges at every
entity, as many as the best graphs of that degree.

*How many cycles.* With D the degrees of the whole graph, what is drawn of attribute a, at k_a edges
an entity, is off by a matrix of mean zero whose entries have the variance
c^2 w_i^2 w_j^2 (d - 1) / k_a. Whitened by D^(-1/2), a row of it adds up to

    V_i = sum_a (c_a w_i / D_i) w_i (d - 1) c_a (sum_j w_j^2 / D_j) / k_a.

All V_i are 1 / k, those of a random graph of degree k, where k_a is k times the share that the
attribute has of its entities' degrees, on average: c_a (d - 1) times the mean of 1 / D_j if all w
are 1. k is such that all attributes together have as many edges as are asked for, rounded to whole
cycles, one at least, and unrounded, too: the first cycles of light attributes do not help others.
"""

import numba
import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.randomness import CYCLE_WORD, random_bits
from graphsqueak.system.kernels import njit_cached, parallel_njit, run_kernel

__all__ = ["Cliques"]

_EDGES_AT_ONCE = 1 << 18
_ATTRIBUTES_AT_ONCE = 1 << 16
_N_PARTS = 4  # of a product, added up apart from each other
_COLUMNS_AT_ONCE = 8
_HALVINGS = 10  # of what is not known of k


class Cliques:
    """Entities by attribute: those of attribute a are members[starts[a] : starts[a + 1]].

    Parameters
    ----------
    starts, members : ndarray of int
    weight : ndarray of float
        Of every member; empty if all are 1.
    n_entities : int

    Attributes
    ----------
    sizes : ndarray of int
        Entities of every attribute.
    strength : ndarray of float
        c_a; zero for attributes that make no edge.
    n_cycles : ndarray of int
        Drawn of every attribute; zero for those that are written out.
    """

    def __init__(self, starts, members, weight, n_entities):
        self.starts, self.members, self.weight = starts, members, weight
        self.n_entities, self.sizes = n_entities, np.diff(starts)
        self.strength = np.zeros(self.sizes.size)
        self.n_cycles = np.zeros(self.sizes.size, dtype=np.int64)

    def weigh(self, normalize, max_size=None):
        """Set c_a: one over the mean weight of its members, over d - 1 or times log(n / d).

        >>> from graphsqueak.sources.pairs.pair_log import PairLog
        >>> table = PairLog()
        >>> table.write(np.array([[0, 0], [1, 0], [2, 0]]), None)
        >>> cliques = table.group(3, 1)
        >>> cliques.weigh("size")
        >>> cliques.strength
        array([0.5])
        """
        sizes, sums = np.maximum(self.sizes, 1), self.sizes.astype(np.float64)
        if self.weight.size:
            _add_weights(self.starts, self.weight, sums)
        self.strength = np.where(self.sizes > 1, sizes / np.where(sums > 0, sums, 1.0), 0.0)
        if normalize == "size":
            self.strength /= np.maximum(sizes - 1, 1)
        elif normalize == "idf":
            self.strength *= np.log(self.n_entities / sizes)
        if max_size is not None:
            self.strength[self.sizes > max_size] = 0.0

    @property
    def n_edges(self):
        """Edges of all cliques; two entities that share several attributes have as many."""
        sizes = self.sizes[self.strength > 0].astype(object)
        return int((sizes * (sizes - 1) // 2).sum())

    def draw_cycles(self, degree):
        """Draw degree / 2 cycles of the cliques in which entities have more than `degree` edges."""
        is_large = (self.sizes > degree + 1) & (self.strength > 0)
        self.n_cycles = np.where(is_large, degree // 2, 0)

    def draw_edges(self, n_edges):
        """Draw cycles of so many edges or more, of every attribute by its share of the degrees.

        One cycle at least; where an attribute has no more edges than that, they are written out.

        >>> from graphsqueak.sources.pairs.pair_log import PairLog
        >>> table = PairLog()
        >>> table.write(np.column_stack([np.arange(200) % 100, np.arange(200) // 100]), None)
        >>> cliques = table.group(100, 2)
        >>> cliques.weigh("size")
        >>> cliques.draw_edges(2000)
        >>> cliques.n_cycles
        array([10, 10])
        """
        degrees, share = np.zeros(self.n_entities), np.zeros(self.sizes.size)
        _add_shares(self.starts, self.members, self.weight, self.strength, degrees, share)
        most = np.maximum(self.sizes // 2, 1)  # as many cycles have all edges

        def drawn_at(degree):
            wanted = np.minimum(degree * share / 2, most)
            n_cycles = np.maximum(np.rint(wanted), 1).astype(np.int64)
            is_large = (self.sizes > 2 * n_cycles + 1) & (self.strength > 0)
            self.n_cycles = np.where(is_large, n_cycles, 0)
            return min(self.n_drawn().sum(), wanted @ self.sizes)

        low, high = 0.0, max(2 * n_edges / max(self.n_entities, 1), 1.0)
        while drawn_at(high) < n_edges and self.n_cycles.any():
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            degree = (low + high) / 2
            low, high = (degree, high) if drawn_at(degree) < n_edges else (low, degree)
        drawn_at(high)

    def n_drawn(self):
        """Edges that `edges` makes of every clique."""
        all_pairs = self.sizes * (np.minimum(self.sizes, 2**31) - 1) // 2
        n_drawn = np.where(self.n_cycles > 0, self.sizes * self.n_cycles, all_pairs)
        return np.where(self.strength > 0, n_drawn, 0)

    def edges(self, seed):
        """Yield ends (n, 2) and weights of the edges that stand for the cliques."""
        n_drawn = self.n_drawn()
        stops, clique = np.cumsum(n_drawn), 0
        while clique < self.sizes.size:
            begin = int(stops[clique] - n_drawn[clique])
            stop = int(np.searchsorted(stops, begin + _EDGES_AT_ONCE, side="right"))
            if stop > clique:
                yield self._draw(clique, stop, 0, -1, int(stops[stop - 1]) - begin, seed)
            else:
                stop = clique + 1
                for cycle in range(max(int(self.n_cycles[clique]), 1)):
                    size = n_drawn[clique] // max(self.n_cycles[clique], 1)
                    yield self._draw(clique, stop, cycle, cycle + 1, int(size), seed)
            clique = stop

    def _draw(self, clique, stop, first, last, n_edges, seed):
        ends, weight = np.empty((n_edges, 2), dtype=np.int64), np.empty(n_edges)
        table = (self.starts, self.members, self.weight, self.strength, self.n_cycles)
        _draw(clique, stop, first, last, *table, np.uint64(seed), ends, weight)
        return ends, weight

    def multiply(self, X):
        """L X for the graph of all cliques, X of shape (n_entities, K).

        >>> from graphsqueak.sources.pairs.pair_log import PairLog
        >>> table = PairLog()
        >>> table.write(np.array([[0, 0], [1, 0], [2, 0]]), None)
        >>> cliques = table.group(3, 1)
        >>> cliques.weigh("none")
        >>> cliques.multiply(np.array([[1.0], [0.0], [0.0]])).ravel()
        array([ 2., -1., -1.])
        """
        bounds = np.searchsorted(self.starts, np.linspace(0, self.members.size, _N_PARTS + 1))
        table = (self.starts, self.members, self.weight, self.strength)
        product = np.empty(X.shape)
        for begin in range(0, X.shape[1], _COLUMNS_AT_ONCE):
            some = np.s_[:, begin : begin + _COLUMNS_AT_ONCE]
            block = np.ascontiguousarray(X[some], dtype=np.float64)
            partial = np.zeros((_N_PARTS, *block.shape))
            run_kernel(
                _add_products, self.members.size * block.shape[1], bounds, *table, block, partial
            )
            np.sum(partial, axis=0, out=product[some])
        return product

    def components(self):
        """The smallest entity of each one's component."""
        parent = make_sets(self.n_entities)
        for begin in range(0, self.sizes.size, _ATTRIBUTES_AT_ONCE):
            some = np.arange(begin, min(begin + _ATTRIBUTES_AT_ONCE, self.sizes.size))
            members = self.members[self.starts[some[0]] : self.starts[some[-1] + 1]]
            of = np.repeat(some, self.sizes[some])
            joined = self.strength[of] > 0
            union_edges(parent, self.members[self.starts[of[joined]]], members[joined])
        return find_all(parent)


@njit_cached
def _add_weights(starts, weight, sums):
    for a in range(starts.size - 1):
        sums[a] = weight[starts[a] : starts[a + 1]].sum()


@njit_cached
def _add_shares(starts, members, weight, strength, degrees, share):
    """Degrees of the whole graph, then how much of those of its entities an attribute makes."""
    for a in range(starts.size - 1):
        begin, stop, s = starts[a], starts[a + 1], 0.0
        for k in range(begin, stop):
            s += weight[k] if weight.size else 1.0
        for k in range(begin, stop):
            w = weight[k] if weight.size else 1.0
            degrees[members[k]] += strength[a] * w * (s - w)
    for a in range(starts.size - 1):
        begin, stop, s, squares, parts = starts[a], starts[a + 1], 0.0, 0.0, 0.0
        if strength[a] == 0:
            continue
        for k in range(begin, stop):
            w = weight[k] if weight.size else 1.0
            s += w
            squares += w * w
            parts += w * w / degrees[members[k]]
        share[a] = strength[a] * (stop - begin - 1) * (squares / (s * s)) * parts


@njit_cached
def _draw(clique, stop, first, last, starts, members, weight, strength, n_cycles, seed, ends, out):
    """Edges of cliques up to `stop`; cycles `first` to `last`, all of them if that is -1."""
    size = 0
    order = np.empty(0, dtype=np.int32)
    for a in range(clique, stop):
        begin, d, c = starts[a], starts[a + 1] - starts[a], strength[a]
        if c == 0:
            continue
        if n_cycles[a] == 0:
            for i in range(begin, begin + d):
                for j in range(begin, i):
                    ends[size, 0], ends[size, 1] = members[j], members[i]
                    out[size] = c * (weight[i] * weight[j] if weight.size else 1.0)
                    size += 1
            continue
        if order.size < d:
            order = np.empty(max(d, 2 * order.size), dtype=np.int32)
        c *= (d - 1) / (2 * n_cycles[a])
        clique_seed = random_bits(seed, np.uint64(a), CYCLE_WORD)
        for cycle in range(first, n_cycles[a] if last < 0 else last):
            cycle_seed = random_bits(clique_seed, np.uint64(cycle), CYCLE_WORD)
            for i in range(d):  # a random order of the members, from the inside out
                bits = random_bits(cycle_seed, np.uint64(i), CYCLE_WORD)
                j = np.int64(((bits >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
                order[i] = order[j]
                order[j] = i
            i = begin + order[d - 1]
            for k in range(d):
                j = begin + order[k]
                ends[size, 0], ends[size, 1] = members[i], members[j]
                out[size] = c * (weight[i] * weight[j] if weight.size else 1.0)
                size += 1
                i = j


@parallel_njit
def _add_products(bounds, starts, members, weight, strength, X, partial):
    for part in numba.prange(bounds.size - 1):
        sums = partial[part]
        mean, total = np.empty(X.shape[1]), np.empty(X.shape[1])
        for a in range(bounds[part], min(bounds[part + 1], starts.size - 1)):
            c = strength[a]
            if c == 0:
                continue
            mean[:] = 0.0
            s = 0.0
            for k in range(starts[a], starts[a + 1]):
                w = weight[k] if weight.size else 1.0
                s += w
                for j in range(X.shape[1]):
                    mean[j] += w * X[members[k], j]
            # differences to the mean first: a constant that all members share costs no digits
            mean /= s
            total[:] = 0.0
            for k in range(starts[a], starts[a + 1]):
                w = weight[k] if weight.size else 1.0
                for j in range(X.shape[1]):
                    total[j] += w * (X[members[k], j] - mean[j])
            for k in range(starts[a], starts[a + 1]):
                w = c * (weight[k] if weight.size else 1.0)
                for j in range(X.shape[1]):
                    sums[members[k], j] += w * (s * (X[members[k], j] - mean[j]) - total[j])
