"""Approximate Gaussian elimination of a graph, one node after the other.

Eliminating node i from A = L + diag(ridge) leaves a clique between its neighbors. The edge between
neighbors j and k has weight v_j v_k / W. Here v are the weights of the edges of i, and
W = sum(v) + excess_i. [KS16] samples a random tree with the expectation of the clique:

- Sort the edges by weight, and let S_j be the sum of the weights after j.
- Join neighbor j to one later neighbor k, drawn with probability v_k / S_j, by an edge of weight
  v_j S_j / W.

The number of edges never grows. Nodes with one or two neighbors are eliminated exactly, and
therefore trees, paths and cycles as well.

The result is a factorization A ~ (I - F) P (I - F)^T. Column i of F has the entries v_j / W at the
neighbors j, and P is the diagonal matrix of the W. Nodes are eliminated in order of (nearly)
minimum degree [GKS23].

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

# Marks the end of a list, and a node without a slot.
NONE = np.uint32(2**32 - 1)
ONE = np.uint32(1)
# Increment of the splitmix64 counter.
COUNTER_STEP = np.uint64(0x9E3779B97F4A7C15)


class Elimination(NamedTuple):
    """Factor A ~ (I - F) P (I - F)^T of an elimination.

    Column c belongs to node order[c]. Its entries in start[c] : start[c + 1] are `fraction`, at the
    nodes `target`. `pivot` is the diagonal of P, zero for the last node of a singular component.
    """

    order: np.ndarray
    start: np.ndarray
    target: np.ndarray
    fraction: np.ndarray
    pivot: np.ndarray


def eliminate(matrix, *, seed):
    """Eliminate every node of a `CSRLaplacian`; `seed` is a 64-bit integer.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> path = EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, 3.0])
    >>> steps = eliminate(build_laplacian(path, np.zeros(3)), seed=90210)
    >>> steps.order.tolist(), steps.pivot.tolist()
    ([0, 1, 2], [1.0, 3.0, 0.0])
    """
    link, value, head, degree = _link_edges(matrix.start, matrix.neighbor, matrix.weight)
    excess = matrix.ridge.copy()
    return Elimination(*_eliminate(link, value, head, degree, excess, np.uint64(seed)))


@njit_cached
def _link_edges(start, neighbor, weight):
    """Return one linked list of edges per node.

    Edge e is a pair of list elements, 2e and 2e + 1, one in the list of each end. Element x leads
    to the node link[x, 0] and is followed by link[x, 1]. The other end of its edge is x ^ 1.
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
            # Each edge appears in two rows; it is linked once.
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
    first, before, after, bucket = _fill_buckets(degree)
    order = np.empty(n_nodes, dtype=np.uint32)
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    target = np.empty(link.shape[0] + n_nodes, dtype=np.uint32)
    fraction = np.empty(target.size)
    pivot = np.empty(n_nodes)
    # Scratch arrays: the edges of the current node, and the sums of the weights after each.
    slot = np.full(n_nodes, NONE, dtype=np.uint32)
    element = np.empty(n_nodes, dtype=np.uint32)
    weight = np.empty(n_nodes)
    spare_element = np.empty_like(element)
    spare_weight = np.empty_like(weight)
    later = np.empty(n_nodes + 1)
    low = 0
    total = 0
    for c in range(n_nodes):
        # Take a node of (nearly) minimum degree.
        while first[low] == NONE:
            low += 1
        i = first[low]
        _remove(first, before, after, i, low)
        order[c] = i
        size = _gather(link, value, head[i], slot, element, weight, degree)
        _sort(weight, element, size, spare_weight, spare_element)
        _sum_from_the_end(weight, size, later)
        pivot[c] = later[0] + excess[i]
        if total + size > target.size:
            target = _enlarge(target, total + size)
            fraction = _enlarge(fraction, total + size)
        for s in range(size):
            x = element[s]
            j = link[x, 0]
            share = weight[s] / pivot[c]
            target[total] = j
            fraction[total] = share
            total += 1
            excess[j] += share * excess[i]
            if s == size - 1:
                # The heaviest neighbor has no later one: its edge is deleted.
                value[x >> ONE] = 0.0
                degree[j] -= 1
            else:
                # The edge of i to j becomes an edge of j to a later neighbor k.
                counter += COUNTER_STEP
                t = _draw(later, s + 1, size, _uniform(counter))
                k = link[element[t], 0]
                value[x >> ONE] = share * later[s + 1]
                link[x ^ ONE, 0] = k
                link[x, 1] = head[k]
                head[k] = x
                degree[k] += 1
        for j in target[start[c] : total]:
            _move(first, before, after, bucket, j, degree[j])
            low = min(low, bucket[j])
        start[c + 1] = total
    return order, start, target[:total].copy(), fraction[:total].copy(), pivot


@inline_njit
def _gather(link, value, x, slot, element, weight, degree):
    """Collect the edges of the list that begins at x, with parallel edges merged."""
    size = 0
    while x != NONE:
        j = link[x, 0]
        # Deleted and merged edges have weight zero.
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
def _sort(key, item, size, spare_key, spare_item):
    """Sort the first `size` keys, with their items, by merging runs of 1, 2, 4, ... keys.

    The sort is stable, so that the result does not depend on how ties are broken. numpy's sort
    allocates memory, which takes longer than sorting the few neighbors of most nodes.
    """
    width = 1
    while width < size:
        for start in range(0, size, 2 * width):
            middle = min(start + width, size)
            end = min(start + 2 * width, size)
            left = start
            right = middle
            for s in range(start, end):
                if left < middle and (right == end or key[left] <= key[right]):
                    spare_key[s] = key[left]
                    spare_item[s] = item[left]
                    left += 1
                else:
                    spare_key[s] = key[right]
                    spare_item[s] = item[right]
                    right += 1
        for s in range(size):
            key[s] = spare_key[s]
            item[s] = spare_item[s]
        width *= 2


@inline_njit
def _sum_from_the_end(weight, size, later):
    """Set later[s] to the sum of weight[s:size]."""
    later[size] = 0.0
    for s in range(size - 1, -1, -1):
        later[s] = later[s + 1] + weight[s]


@inline_njit
def _draw(later, low, high, uniform):
    """Return the last t in [low, high) whose tail sum later[t] exceeds uniform * later[low]."""
    goal = uniform * later[low]
    count = high - low
    # Binary search without a branch on the comparison, which processors cannot predict.
    while count > 1:
        half = count >> 1
        low = low + half if later[low + half] > goal else low
        count -= half
    return low


@inline_njit
def _uniform(counter):
    """Return the splitmix64 hash of a counter, as a number in [0, 1)."""
    return np.float64(mix64(counter) >> np.uint64(11)) * 2.0**-53


@inline_njit
def _enlarge(array, min_size):
    """Return a copy with a capacity of twice `min_size` entries."""
    larger = np.empty(2 * min_size, dtype=array.dtype)
    larger[: array.size] = array
    return larger


@inline_njit
def _fill_buckets(degree):
    """Return doubly linked lists of the nodes of each degree."""
    # With S the sum of all degrees, less than sqrt(S) nodes have larger degrees than sqrt(S). They
    # share the last bucket, so that the hub of a star need not change its bucket at every step.
    first = np.full(int(np.sqrt(degree.sum())) + 2, NONE, dtype=np.uint32)
    before = np.empty(degree.size, dtype=np.uint32)
    after = np.empty(degree.size, dtype=np.uint32)
    bucket = np.minimum(degree, first.size - 1)
    for i in range(degree.size - 1, -1, -1):
        _insert(first, before, after, i, bucket[i])
    return first, before, after, bucket


@inline_njit
def _move(first, before, after, bucket, i, degree):
    """Move node i to the bucket of its new degree."""
    new = min(degree, first.size - 1)
    if new != bucket[i]:
        _remove(first, before, after, i, bucket[i])
        _insert(first, before, after, i, new)
        bucket[i] = new


@inline_njit
def _insert(first, before, after, i, bucket):
    before[i] = NONE
    after[i] = first[bucket]
    if first[bucket] != NONE:
        before[first[bucket]] = i
    first[bucket] = i


@inline_njit
def _remove(first, before, after, i, bucket):
    if before[i] != NONE:
        after[before[i]] = after[i]
    else:
        first[bucket] = after[i]
    if after[i] != NONE:
        before[after[i]] = before[i]
