"""Cliques of a one-mode projection: exact products with their sum, and sampled edges.

An attribute a of d entities joins each pair of them, with weight c_a w_i w_j. Let s be the sum of
its weights w. Its Laplacian L_a is applied in d steps, not in d^2 / 2:

    (L_a x)_i  =  c_a w_i (s x_i - t),      t = sum_j w_j x_j.

So the product with the Laplacian of the whole projection is one pass over the table.

A sparsifier reads edges. The edges of a small clique are listed. A large clique is sampled by m
random Hamiltonian cycles: a pair is on a cycle with probability 2 / (d - 1), so that edges of
weight

    c_a w_i w_j (d - 1) / (2 m)

have the Laplacian of the clique as their expectation. Each entity has 2 m of them, and their union
is a random regular graph, which is nearly an optimal sparsifier of its degree.

Number of cycles
----------------
Let D be the degrees of the projection. If attribute a is sampled with k_a edges per entity, its
error is a random matrix of mean zero whose entries have variance c^2 w_i^2 w_j^2 (d - 1) / k_a.
Scaled by D^(-1/2) from both sides, the variances of row i sum to

    V_i = sum_a (c_a w_i / D_i) w_i (d - 1) c_a (sum_j w_j^2 / D_j) / k_a.

All V_i equal 1 / k, as in a random graph of degree k, if k_a is k times the mean fraction of its
entities' degrees that attribute a contributes: c_a (d - 1) times the mean of 1 / D_j if all w are
1. The factor k is such that all attributes have the requested number of edges.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.randomness import CYCLE_WORD, random_bits
from graphsqueak.system.kernels import inline_njit, njit_cached, parallel_njit, run_kernel

# Partial sums of a product: fixed, so that the result does not depend on the number of threads. At
# most this many threads work at once, and each partial sum takes memory for a block of columns.
# Halved or doubled, so are both.
N_PARTIAL_SUMS = 4


class _Groups(NamedTuple):
    """What kernels need to know of `Cliques`."""

    starts: np.ndarray
    members: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    n_cycles: np.ndarray


class Cliques:
    """Entities by attribute: those of attribute a are members[starts[a] : starts[a + 1]].

    Parameters
    ----------
    starts, members : ndarray of int
    weight : ndarray of float
        Weight of every member; empty if all are 1.
    n_entities : int

    Attributes
    ----------
    sizes : ndarray of int
        Number of entities of every attribute.
    scale : ndarray of float
        c_a; zero for attributes without edges.
    n_cycles : ndarray of int
        Number of cycles sampled of every attribute; zero if its edges are listed.

    Examples
    --------
    Three entities with one attribute: a triangle.

    >>> cliques = Cliques(np.array([0, 3]), np.array([0, 1, 2], np.int32), np.zeros(0), 3)
    >>> cliques.set_scale("none")
    >>> cliques.n_edges
    3
    >>> cliques.multiply(np.array([[1.0], [0.0], [0.0]])).ravel()
    array([ 2., -1., -1.])
    """

    def __init__(self, starts, members, weight, n_entities):
        self.starts = starts
        self.members = members
        self.weight = weight
        self.n_entities = n_entities
        self.sizes = np.diff(starts)
        self.scale = np.zeros(self.sizes.size)
        self.n_cycles = np.zeros(self.sizes.size, dtype=np.int64)

    def set_scale(self, normalize, max_group_size=None):
        """Set c_a for all attributes.

        It is one over the mean weight of the members, divided by d - 1 ("size"), multiplied by
        log(n / d) ("idf"), or neither ("none").
        """
        # An attribute without members, or with weights that are all zero, has no edges.
        sizes = np.maximum(self.sizes, 1)
        sums = _weight_sums(self.starts, self.weight)
        self.scale = np.where(self.sizes > 1, sizes / np.where(sums > 0, sums, 1.0), 0.0)
        if normalize == "size":
            self.scale /= np.maximum(sizes - 1, 1)
        elif normalize == "idf":
            self.scale *= np.log(self.n_entities / sizes)
        if max_group_size is not None:
            self.scale[self.sizes > max_group_size] = 0.0

    @property
    def n_edges(self):
        """Number of edges of all cliques; two entities have one per shared attribute."""
        # Python integers, since the sum may exceed 64 bits.
        sizes = self.sizes[self.scale > 0].astype(object)
        return int((sizes * (sizes - 1) // 2).sum())

    def sample_at_degree(self, degree):
        """Sample degree / 2 cycles of every clique whose entities have more edges than that."""
        is_large = (self.sizes > degree + 1) & (self.scale > 0)
        self.n_cycles = np.where(is_large, degree // 2, 0)

    def sample_to_size(self, n_edges):
        """Sample cycles of at least `n_edges` edges, as in "Number of cycles" above.

        Every attribute has at least one cycle. If the cycles of an attribute would have all its
        edges, the edges are listed.

        >>> members = np.tile(np.arange(100, dtype=np.int32), 2)
        >>> cliques = Cliques(np.array([0, 100, 200]), members, np.zeros(0), 100)
        >>> cliques.set_scale("size")
        >>> cliques.sample_to_size(2000)
        >>> cliques.n_cycles
        array([10, 10])
        """
        sums = _weight_sums(self.starts, self.weight)
        fraction = _degree_fractions(self._groups(), sums, self.n_entities)
        # These cycles have as many edges as the clique.
        max_cycles = np.maximum(self.sizes // 2, 1)

        def sample(k):
            unrounded = np.minimum(k * fraction / 2, max_cycles)
            n_cycles = np.maximum(np.rint(unrounded), 1).astype(np.int64)
            is_large = (self.sizes > 2 * n_cycles + 1) & (self.scale > 0)
            self.n_cycles = np.where(is_large, n_cycles, 0)
            # Unrounded too: the first cycles of small attributes do not help the others.
            return min(self.n_sampled().sum(), unrounded @ self.sizes)

        # Bisection for k: ten halvings, to 0.1 % of its upper bound.
        low = 0.0
        high = max(2 * n_edges / max(self.n_entities, 1), 1.0)
        # If nothing is sampled, all edges are listed, and a larger k adds none.
        while sample(high) < n_edges and self.n_cycles.any():
            low = high
            high *= 2
        for _ in range(10):
            middle = (low + high) / 2
            if sample(middle) < n_edges:
                low = middle
            else:
                high = middle
        # At least `n_edges`, hence the upper end.
        sample(high)

    def n_sampled(self):
        """Return the number of edges that `edges` yields of every clique."""
        # Sizes are cut so that the product fits into 64 bits; larger cliques are always sampled.
        n_all = self.sizes * (np.minimum(self.sizes, 2**31) - 1) // 2
        n_sampled = np.where(self.n_cycles > 0, self.sizes * self.n_cycles, n_all)
        return np.where(self.scale > 0, n_sampled, 0)

    def edges(self, seed, *, block_size=2**18):
        """Yield blocks of edges: ends, shape (n, 2), and weights.

        A block has at most `block_size` edges, or a single cycle or clique if that has more.
        """
        n_sampled = self.n_sampled()
        # A piece is one cycle, or all edges of a clique that is listed.
        n_per_piece = n_sampled // np.maximum(self.n_cycles, 1)
        n_left = int(n_sampled.sum())
        largest_piece = int(n_per_piece.max(initial=0))
        attribute = 0
        cycle = 0
        while n_left > 0:
            capacity = max(min(block_size, n_left), largest_piece)
            ends = np.empty((capacity, 2), dtype=np.int64)
            weight = np.empty(capacity)
            attribute, cycle, n_filled = _fill_block(
                self._groups(), attribute, cycle, n_per_piece, np.uint64(seed), ends, weight
            )
            n_left -= n_filled
            yield ends[:n_filled], weight[:n_filled]

    def multiply(self, X, *, columns_per_block=8):
        """Return L X, L the Laplacian of all cliques, for X of shape (n_entities, K).

        A pass over the members multiplies `columns_per_block` columns. It bounds the memory of the
        partial sums to 4 x 8 numbers per entity; the result does not depend on it.
        """
        # Parts of about the same number of members, each of whole attributes.
        bounds = np.linspace(0, self.members.size, N_PARTIAL_SUMS + 1)
        attribute_bounds = np.searchsorted(self.starts, bounds)
        product = np.empty(X.shape)
        for begin in range(0, X.shape[1], columns_per_block):
            columns = slice(begin, begin + columns_per_block)
            block = np.ascontiguousarray(X[:, columns], dtype=np.float64)
            partial = np.zeros((N_PARTIAL_SUMS, *block.shape))
            work = self.members.size * block.shape[1]
            run_kernel(_add_products, work, self._groups(), attribute_bounds, block, partial)
            np.sum(partial, axis=0, out=product[:, columns])
        return product

    def components(self, *, block_size=2**18):
        """Return the smallest entity of the component of every entity.

        `block_size` members are joined at a time, to bound the memory.
        """
        # Joining all members to the first one gives the components of the clique.
        parent = make_sets(self.n_entities)
        for begin in range(0, self.members.size, block_size):
            position = np.arange(begin, min(begin + block_size, self.members.size))
            attribute = np.searchsorted(self.starts, position, side="right") - 1
            is_joined = self.scale[attribute] > 0
            first_member = self.members[self.starts[attribute[is_joined]]]
            union_edges(parent, first_member, self.members[position[is_joined]])
        return find_all(parent)

    def _groups(self):
        return _Groups(self.starts, self.members, self.weight, self.scale, self.n_cycles)


@inline_njit
def _weight_at(weight, k):
    return weight[k] if weight.size else 1.0


@inline_njit
def _append_edge(groups, i, j, c, ends, out, n_filled):
    """Write the edge of two members of an attribute; return the number of edges."""
    ends[n_filled, 0] = groups.members[i]
    ends[n_filled, 1] = groups.members[j]
    out[n_filled] = c * (_weight_at(groups.weight, i) * _weight_at(groups.weight, j))
    return n_filled + 1


@njit_cached
def _weight_sums(starts, weight):
    """Return the sum of the weights of every attribute."""
    sums = np.zeros(starts.size - 1)
    for a in range(sums.size):
        for k in range(starts[a], starts[a + 1]):
            sums[a] += _weight_at(weight, k)
    return sums


@njit_cached
def _degree_fractions(groups, sums, n_entities):
    """Return the mean fraction of the degrees of its entities that every attribute contributes."""
    starts, members, weight, scale, _ = groups
    # D_i = sum_a c_a w_i (s_a - w_i)
    degree = np.zeros(n_entities)
    for a in range(sums.size):
        for k in range(starts[a], starts[a + 1]):
            w = _weight_at(weight, k)
            degree[members[k]] += scale[a] * w * (sums[a] - w)

    # c_a (d - 1) (sum_i w_i^2 / s^2) sum_i w_i^2 / D_i, which is c_a (d - 1) mean(1 / D_i) if all w
    # are 1
    fraction = np.zeros(sums.size)
    for a in range(sums.size):
        if scale[a] == 0:
            continue
        squares = 0.0
        weighted = 0.0
        for k in range(starts[a], starts[a + 1]):
            w = _weight_at(weight, k)
            squares += w * w
            weighted += w * w / degree[members[k]]
        size = starts[a + 1] - starts[a]
        fraction[a] = scale[a] * (size - 1) * (squares / (sums[a] * sums[a])) * weighted
    return fraction


@njit_cached
def _fill_block(groups, attribute, cycle, n_per_piece, seed, ends, out):
    """Write whole cycles and cliques, beginning with this one, until the next does not fit.

    Returns the attribute and cycle of the next one, and the number of edges.
    """
    starts, _, _, scale, n_cycles = groups
    n_filled = 0
    order = np.empty(0, dtype=np.int32)
    while attribute < n_cycles.size:
        begin = starts[attribute]
        size = starts[attribute + 1] - begin
        c = scale[attribute]
        if n_filled + n_per_piece[attribute] > out.size:
            break
        # All edges of a small clique.
        if c > 0 and n_cycles[attribute] == 0:
            for i in range(begin, begin + size):
                for j in range(begin, i):
                    n_filled = _append_edge(groups, j, i, c, ends, out, n_filled)
        elif c > 0:
            # A pair is on a cycle with probability 2 / (d - 1).
            c *= (size - 1) / (2 * n_cycles[attribute])
            if order.size < size:
                order = np.empty(max(size, 2 * order.size), dtype=np.int32)
            # Keyed by attribute and cycle, so that the edges do not depend on the blocks.
            clique_seed = random_bits(seed, np.uint64(attribute), CYCLE_WORD)
            cycle_seed = random_bits(clique_seed, np.uint64(cycle), CYCLE_WORD)
            # The "inside-out" form of the Fisher-Yates shuffle.
            for i in range(size):
                bits = random_bits(cycle_seed, np.uint64(i), CYCLE_WORD)
                # A number below i + 1, by multiplication of the upper 32 bits instead of division.
                j = np.int64(((bits >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
                order[i] = order[j]
                order[j] = i
            # The cycle is closed: it begins at its last node.
            i = begin + order[size - 1]
            for k in range(size):
                j = begin + order[k]
                n_filled = _append_edge(groups, i, j, c, ends, out, n_filled)
                i = j
        cycle += 1
        if cycle >= n_cycles[attribute]:
            attribute += 1
            cycle = 0
    return attribute, cycle, n_filled


@parallel_njit
def _add_products(groups, attribute_bounds, X, partial):
    starts, members, weight, scale, _ = groups
    for part in numba.prange(attribute_bounds.size - 1):
        sums = partial[part]
        mean = np.empty(X.shape[1])
        total = np.empty(X.shape[1])
        for a in range(attribute_bounds[part], min(attribute_bounds[part + 1], starts.size - 1)):
            if scale[a] == 0:
                continue
            mean[:] = 0.0
            s = 0.0
            for k in range(starts[a], starts[a + 1]):
                w = _weight_at(weight, k)
                s += w
                for j in range(X.shape[1]):
                    mean[j] += w * X[members[k], j]
            # Subtract the mean first: s x_i - t would cancel if x is nearly constant.
            mean /= s
            total[:] = 0.0
            for k in range(starts[a], starts[a + 1]):
                w = _weight_at(weight, k)
                for j in range(X.shape[1]):
                    total[j] += w * (X[members[k], j] - mean[j])
            for k in range(starts[a], starts[a + 1]):
                w = scale[a] * _weight_at(weight, k)
                for j in range(X.shape[1]):
                    sums[members[k], j] += w * (s * (X[members[k], j] - mean[j]) - total[j])
