"""Approximate Gaussian elimination of a graph, one node after the other.

Eliminating node i from A = L + diag(ridge) leaves a clique between its neighbors, of weight
v_j v_k / W between j and k, where v are the weights of its edges and W = sum(v) + excess_i.
[KS16] draws a random tree instead of the clique, with the same expectation: with the edges sorted
by weight and S_j the sum of those after j, neighbor j is joined to one later neighbor k, drawn
with probability v_k / S_j, by an edge of weight v_j S_j / W. The number of edges never grows, and
nodes of one or two neighbors are eliminated exactly: so are trees, paths and cycles.

The result is a factorization A ~ (I - F) P (I - F)^T: column i of F has the entries v_j / W at the
neighbors j, and P is the diagonal of the W. Nodes are taken by (nearly) least degree [GKS23].

References
----------
[KS16]  Kyng, Sachdeva. Approximate Gaussian elimination for Laplacians. FOCS 2016.
[GKS23] Gao, Kyng, Spielman. Robust and practical solution of Laplacian equations by approximate
        elimination. arXiv 2303.00709.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["Elimination", "eliminate"]

NONE = np.uint32(2**32 - 1)  # the end of a list
ONE = np.uint32(1)
MOST_RANKED = 100  # up to here counting smaller keys, a vector loop, sorts faster than moving them


class Elimination(NamedTuple):
    """Column c belongs to node order[c]: entries `fraction` at the nodes `target`, in
    start[c] : start[c + 1]; `pivot` is its W, zero for the last node of a singular component."""

    order: np.ndarray
    start: np.ndarray
    target: np.ndarray
    fraction: np.ndarray
    pivot: np.ndarray


def eliminate(rows, *, seed):
    """Eliminate every node of `rows`; `seed` (a 64-bit integer) decides the draws.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 3.0]), np.zeros(3))
    >>> steps = eliminate(rows, seed=90210)
    >>> steps.order.tolist(), steps.pivot.tolist()
    ([0, 1, 2], [1.0, 3.0, 0.0])
    """
    link, value, head, degree = _link_edges(rows.start, rows.neighbor, rows.weight)
    return Elimination(*_eliminate(link, value, head, degree, rows.ridge.copy(), np.uint64(seed)))


@njit_cached
def _link_edges(start, neighbor, weight):
    """One linked list of edges per node.

    Edge e is a pair of list elements, 2e and 2e + 1, one in the list of each end: element x
    leads to the node link[x, 0], is followed by link[x, 1], and its other end is element x ^ 1.
    """
    n_nodes = start.size - 1
    link = np.empty((neighbor.size, 2), dtype=np.uint32)
    value = np.empty(neighbor.size // 2)
    head = np.full(n_nodes, NONE, dtype=np.uint32)
    degree = np.zeros(n_nodes, dtype=np.int32)
    x = 0
    for i in range(n_nodes):
        for e in range(start[i], start[i + 1]):
            j = np.int64(neighbor[e])
            if j > i:
                value[x >> 1] = weight[e]
                for node, other in ((i, j), (j, i)):
                    link[x, 0] = other
                    link[x, 1] = head[node]
                    head[node] = x
                    degree[node] += 1
                    x += 1
    return link, value, head, degree


@njit_cached
def _eliminate(link, value, head, degree, excess, counter):
    n_nodes = head.size
    first, before, after, key = _fill_buckets(degree)
    order = np.empty(n_nodes, dtype=np.uint32)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    target = np.empty(link.shape[0] + n_nodes, dtype=np.uint32)
    fraction = np.empty(target.size)
    pivot = np.empty(n_nodes)
    slot = np.full(n_nodes, NONE, dtype=np.uint32)
    element = np.empty(n_nodes, dtype=np.uint32)
    weight = np.empty(n_nodes)
    spare_weight, spare_element = np.empty(MOST_RANKED), np.empty(MOST_RANKED, dtype=np.uint32)
    later = np.empty(n_nodes + 1)
    low = total = 0
    for c in range(n_nodes):
        while first[low] == NONE:
            low += 1
        i = first[low]
        _unlink(first, before, after, i, low)
        order[c] = i
        size = _gather(link, value, head[i], slot, element, weight, degree)
        if size <= MOST_RANKED:
            _rank_sort(weight, element, size, spare_weight, spare_element)
        else:
            _shell_sort(weight, element, size)
        later[size] = 0.0
        for s in range(size - 1, -1, -1):
            later[s] = later[s + 1] + weight[s]
        pivot[c] = later[0] + excess[i]
        if total + size > target.size:
            target = _longer(target, total + size)
            fraction = _longer(fraction, total + size)
        for s in range(size):
            x = element[s]
            j = link[x, 0]
            share = weight[s] / pivot[c]
            target[total] = j
            fraction[total] = share
            total += 1
            excess[j] += share * excess[i]
            if s == size - 1:
                value[x >> ONE] = 0.0
                degree[j] -= 1
            else:
                counter += np.uint64(0x9E3779B97F4A7C15)
                t = _draw(later, s + 1, size, _uniform(counter))
                k = link[element[t], 0]
                value[x >> ONE] = share * later[s + 1]
                link[x ^ ONE, 0] = k
                link[x, 1] = head[k]
                head[k] = x
                degree[k] += 1
        for j in target[start[c] : total]:
            new = min(degree[j], first.size - 1)
            if new != key[j]:
                _unlink(first, before, after, j, key[j])
                _link(first, before, after, j, new)
                key[j] = new
                low = min(low, new)
        start[c + 1] = total
    return order, start, target[:total].copy(), fraction[:total].copy(), pivot


@inline_njit
def _gather(link, value, x, slot, element, weight, degree):
    """Collect the living edges of the list that begins at x, parallel ones merged."""
    size = 0
    while x != NONE:
        j = link[x, 0]
        if value[x >> ONE] > 0:
            if slot[j] != NONE:
                weight[slot[j]] += value[x >> ONE]
                value[x >> ONE] = 0.0
                degree[j] -= 1
            else:
                slot[j] = size
                element[size] = x
                weight[size] = value[x >> ONE]
                size += 1
        x = link[x, 1]
    for s in range(size):
        slot[link[element[s], 0]] = NONE
    return size


@inline_njit
def _draw(later, low, high, uniform):
    """The last t in low, ..., high - 1 whose tail sum later[t] exceeds uniform * later[low]."""
    goal = uniform * later[low]
    count = high - low
    while count > 1:  # without a branch on the comparison, which no processor can foresee
        half = count >> 1
        low = low + half if later[low + half] > goal else low
        count -= half
    return low


@inline_njit
def _uniform(counter):
    """The splitmix64 hash of a counter, as a number in [0, 1)."""
    return np.float64(mix64(counter) >> np.uint64(11)) * 2.0**-53


@inline_njit
def _rank_sort(key, item, size, spare_key, spare_item):
    """Sort the first `size` keys, items alongside: each moves to the number of keys before it."""
    for s in range(size):
        spare_key[s], spare_item[s] = key[s], item[s]
    for s in range(size):
        own = spare_key[s]
        rank = 0
        for t in range(s):
            rank += spare_key[t] <= own
        for t in range(s, size):
            rank += spare_key[t] < own
        key[rank], item[rank] = own, spare_item[s]


@inline_njit
def _shell_sort(key, item, size):
    """Shell sort of the first `size` keys, items alongside."""
    gap = 1
    while gap < size // 9:
        gap = 3 * gap + 1
    while gap > 0:
        for s in range(gap, size):
            k, v = key[s], item[s]
            t = s - gap
            while t >= 0 and key[t] > k:
                key[t + gap], item[t + gap] = key[t], item[t]
                t -= gap
            key[t + gap], item[t + gap] = k, v
        gap //= 3


@inline_njit
def _longer(array, least):
    longer = np.empty(2 * least, dtype=array.dtype)
    for i in range(array.size):
        longer[i] = array[i]
    return longer


@inline_njit
def _fill_buckets(degree):
    """Doubly linked lists of the nodes of each degree; the last one holds all larger degrees."""
    first = np.full(min(degree.size, 1000) + 2, NONE, dtype=np.uint32)
    before = np.empty(degree.size, dtype=np.uint32)
    after = np.empty(degree.size, dtype=np.uint32)
    key = np.minimum(degree, first.size - 1)
    for i in range(degree.size - 1, -1, -1):
        _link(first, before, after, i, key[i])
    return first, before, after, key


@inline_njit
def _link(first, before, after, i, key):
    before[i], after[i] = NONE, first[key]
    if first[key] != NONE:
        before[first[key]] = i
    first[key] = i


@inline_njit
def _unlink(first, before, after, i, key):
    if before[i] != NONE:
        after[before[i]] = after[i]
    else:
        first[key] = after[i]
    if after[i] != NONE:
        before[after[i]] = before[i]
