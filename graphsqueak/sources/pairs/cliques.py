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
"""

import tempfile
import weakref

import numba
import numpy as np

from graphsqueak.graph.forest import join, labels, roots
from graphsqueak.randomness import CYCLE_WORD, random_bits
from graphsqueak.system.kernels import compiled, run, shared

__all__ = ["Cliques", "PairLog"]

_HELD_PAIRS = 1 << 25  # beyond, they are kept in a file
_NOTHING = np.zeros(0)
_EDGES_AT_ONCE = 1 << 18
_ATTRIBUTES_AT_ONCE = 1 << 16
_N_PARTS = 4  # of a product, added up apart from each other


class PairLog:
    """Numbered pairs as they come, then by attribute; in a temporary file if they are many.

    Parameters
    ----------
    most_held : int
        Pairs up to which no file is needed.

    Examples
    --------
    >>> log = PairLog()
    >>> log.write(np.array([[0, 0], [1, 0], [0, 1], [1, 0]]), None)
    >>> cliques = log.group(2, 2)
    >>> cliques.sizes, cliques.members
    (array([2, 1]), array([0, 1, 0], dtype=int32))
    """

    def __init__(self, most_held=_HELD_PAIRS):
        self._most_held, self.n_pairs = most_held, 0
        self._columns = [_Column(np.int32), _Column(np.int32), _Column(np.float64)]

    def write(self, pairs, weight):
        """Take pairs (n, 2) of an entity and an attribute, by number."""
        columns = (pairs[:, 0], pairs[:, 1]) if weight is None else (*pairs.T, weight)
        self.n_pairs += len(pairs)
        for column, values in zip(self._columns, columns, strict=False):
            column.write(values, in_file=self.n_pairs > self._most_held)

    def group(self, n_entities, n_attributes):
        """The `Cliques`; a pair listed twice counts once, or with the sum of its weights."""
        sizes = np.zeros(n_attributes, dtype=np.int64)
        for attribute in self._columns[1].blocks():
            sizes += np.bincount(attribute, minlength=n_attributes)
        cursor = np.concatenate([[0], np.cumsum(sizes)])
        members = self._columns[0].empty(self.n_pairs)
        is_weighted = self._columns[2].size > 0
        weight = self._columns[2].empty(self.n_pairs) if is_weighted else _NOTHING
        blocks = (column.blocks() for column in self._columns[: 2 + is_weighted])
        for block in zip(*blocks, strict=True):
            _scatter(*block[:2], block[2] if is_weighted else _NOTHING, cursor, members, weight)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        n_left = _merge_repeats(starts, members, weight, np.full(n_entities, -1))
        return Cliques(starts, members[:n_left], weight[:n_left], n_entities)


class _Column:
    """Numbers of one type, written block by block and read in the same blocks."""

    def __init__(self, dtype):
        self._dtype, self._held, self._file, self._sizes = dtype, [], None, []
        self.size = 0

    def write(self, values, *, in_file):
        values = values.astype(self._dtype)
        self.size += values.size
        self._sizes.append(values.size)
        if not in_file:
            self._held.append(values)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
            weakref.finalize(self, self._file.close)
            for block in self._held:
                block.tofile(self._file)
            self._held = []
        values.tofile(self._file)

    def blocks(self):
        if self._file is None:
            yield from self._held
            return
        self._file.seek(0)
        for size in self._sizes:
            yield np.fromfile(self._file, dtype=self._dtype, count=size)

    def empty(self, size):
        """Room for all of them, in a file if they are in one."""
        if self._file is None:
            return np.empty(size, dtype=self._dtype)
        with tempfile.TemporaryFile() as file:
            return np.memmap(file, dtype=self._dtype, mode="w+", shape=(size,))


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

        >>> table = PairLog()
        >>> table.write(np.array([[0, 0], [1, 0], [2, 0]]), None)
        >>> cliques = table.group(3, 1)
        >>> cliques.weigh("none")
        >>> cliques.multiply(np.array([[1.0], [0.0], [0.0]])).ravel()
        array([ 2., -1., -1.])
        """
        X = np.ascontiguousarray(X, dtype=np.float64)
        partial = np.zeros((_N_PARTS, *X.shape))
        bounds = np.searchsorted(self.starts, np.linspace(0, self.members.size, _N_PARTS + 1))
        table = (self.starts, self.members, self.weight, self.strength)
        run(_add_products, self.members.size * X.shape[1], bounds, *table, X, partial)
        return partial.sum(axis=0)

    def components(self):
        """The smallest entity of each one's component."""
        parent = roots(self.n_entities)
        for begin in range(0, self.sizes.size, _ATTRIBUTES_AT_ONCE):
            some = np.arange(begin, min(begin + _ATTRIBUTES_AT_ONCE, self.sizes.size))
            members = self.members[self.starts[some[0]] : self.starts[some[-1] + 1]]
            of = np.repeat(some, self.sizes[some])
            joined = self.strength[of] > 0
            join(parent, self.members[self.starts[of[joined]]], members[joined])
        return labels(parent)


@compiled
def _scatter(entity, attribute, weight, cursor, members, weights):
    """Put every pair at the cursor of its attribute."""
    for k in range(entity.size):
        at = cursor[attribute[k]]
        members[at] = entity[k]
        if weight.size:
            weights[at] = weight[k]
        cursor[attribute[k]] += 1


@compiled
def _merge_repeats(starts, members, weight, seen):
    """Keep every member of an attribute once; `seen` holds where each entity was last put."""
    n_left = 0
    for a in range(starts.size - 1):
        begin, first = starts[a], n_left
        starts[a] = first
        for k in range(begin, starts[a + 1]):
            before = seen[members[k]]
            if before >= first:
                if weight.size:
                    weight[before] += weight[k]
                continue
            seen[members[k]] = n_left
            members[n_left] = members[k]
            if weight.size:
                weight[n_left] = weight[k]
            n_left += 1
    starts[-1] = n_left
    return n_left


@compiled
def _add_weights(starts, weight, sums):
    for a in range(starts.size - 1):
        sums[a] = weight[starts[a] : starts[a + 1]].sum()


@compiled
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


@shared
def _add_products(bounds, starts, members, weight, strength, X, partial):
    for part in numba.prange(bounds.size - 1):
        sums, total = partial[part], np.empty(X.shape[1])
        for a in range(bounds[part], min(bounds[part + 1], starts.size - 1)):
            c = strength[a]
            if c == 0:
                continue
            total[:] = 0.0
            s = 0.0
            for k in range(starts[a], starts[a + 1]):
                w = weight[k] if weight.size else 1.0
                s += w
                for j in range(X.shape[1]):
                    total[j] += w * X[members[k], j]
            for k in range(starts[a], starts[a + 1]):
                w = c * (weight[k] if weight.size else 1.0)
                for j in range(X.shape[1]):
                    sums[members[k], j] += w * (s * X[members[k], j] - total[j])
