"""A spanning forest that stays close to its graph: one of low stretch.

The stretch of an edge of weight w is w R_T, where R_T is the resistance of the forest's path
between its ends. With the forest as a preconditioner, the largest ratio x' L_G x / x' L_T x is at
most the total stretch, and the sum of all ratios equals it. Two forests are made, and the one of
less total stretch is taken:

*By clusters* [AKPW95, MPX13]. Every node u starts a search at the time s_u, the largest of all
random delays minus its own, which is exponential of mean 2 r; a node belongs to the search that
comes first, where an edge of weight w takes the time 1 / w. The trees of the searches join the
forest, each is made one node, parallel edges become the heaviest of them, r grows threefold, and
so on until nothing is left to join. No cluster is wider than a few r, and few edges lie across.
This is best where weights are alike, and the only good one on grids.

*By effective weight* [LYF22]. A forest of maximal weight, where an edge counts
w log(1 + d) / (b_u + b_v) for the number d of edges at its busier end and the distances b to the
busiest node, in edges. This is best where weights differ, or a few nodes have most of the edges.

References
----------
[AKPW95] Alon, Karp, Peleg, West. A graph-theoretic game and its application to the k-server
         problem. SIAM J. Computing 24(1), 1995.
[MPX13]  Miller, Peng, Xu. Parallel graph decompositions using random shifts. SPAA 2013.
[LYF22]  Liu, Yu, Feng. feGRASS: fast and effective graph spectral sparsification for scalable power
         grid analysis. IEEE Trans. Computer-Aided Design 41(3), 2022.
"""

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, make_sets, path_resistances, union_edges
from graphsqueak.randomness import RandomState

__all__ = ["low_stretch_forest"]

_DELAY = 2.0  # mean of the random delays, in radii
_GROWTH = 3.0  # of the radius from one round to the next
_FIRST = 0.25  # quantile of all lengths: the first radius


def low_stretch_forest(graph: EdgeList, *, random_state: RandomState = None) -> np.ndarray:
    """Mask of the edges of a spanning forest of low total stretch.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges (`simplified`).
    random_state : int, Generator or None

    Returns
    -------
    ndarray of bool

    Examples
    --------
    Of two triangles that share an edge, a forest with that edge has a total stretch of 3 + 2 + 2,
    one without it has more:

    >>> graph = EdgeList(tail=[0, 1, 2, 0, 2], head=[1, 2, 3, 3, 0])
    >>> in_forest = low_stretch_forest(graph, random_state=3)
    >>> int(in_forest.sum()), bool(in_forest[4])
    (3, True)
    """
    found = (_forest_by_clusters(graph, random_state), _forest_by_weight(graph))
    ends = (graph.tail, graph.head, graph.weight)
    total = [graph.weight @ path_resistances(*ends, mask, graph.n_nodes) for mask in found]
    return found[int(np.argmin(total))]


def _forest_by_weight(graph):
    n_nodes, weight = graph.n_nodes, graph.weight
    n_edges = np.bincount(graph.tail, minlength=n_nodes)
    n_edges += np.bincount(graph.head, minlength=n_nodes)
    _, component = np.unique(graph.components(), return_inverse=True)
    by_rank = np.lexsort((-n_edges, component))
    busiest = by_rank[np.flatnonzero(np.diff(component[by_rank], prepend=-1))]
    distance = dijkstra(graph.to_scipy(), unweighted=True, indices=busiest, min_only=True)
    most = np.maximum(n_edges[graph.tail], n_edges[graph.head])
    effective = weight * np.log1p(most) / (distance[graph.tail] + distance[graph.head])
    return _heaviest_forest(graph, effective)


def _heaviest_forest(graph, weight):
    order = np.argsort(-weight, kind="stable")
    mask = np.zeros(graph.n_edges, dtype=np.bool_)
    mask[order] = union_edges(make_sets(graph.n_nodes), graph.tail[order], graph.head[order])
    return mask


def _forest_by_clusters(graph, random_state):
    rng = np.random.default_rng(random_state)
    mask, cluster = np.zeros(graph.n_edges, dtype=np.bool_), np.arange(graph.n_nodes)
    left, length = np.arange(graph.n_edges), 1 / graph.weight
    radius = np.quantile(length, _FIRST) if left.size else 0.0
    while True:
        left, low, high = _shortest_between(left, length, cluster[graph.tail], cluster[graph.head])
        if not left.size:
            return mask
        radius = max(radius, length[left].min())
        n_clusters = int(cluster.max()) + 1
        used = _grow_clusters(low, high, length[left], n_clusters, radius, rng)
        mask[left[used]] = True
        parent = make_sets(n_clusters)
        union_edges(parent, low[used], high[used])
        _, number = np.unique(find_all(parent), return_inverse=True)
        cluster = number[cluster]
        radius *= _GROWTH


def _shortest_between(edges, length, tail, head):
    """Of the edges between two clusters the shortest one, and the clusters, the lower one first."""
    low, high = np.minimum(tail, head)[edges], np.maximum(tail, head)[edges]
    order = np.lexsort((length[edges], high, low))
    edges, low, high = edges[order], low[order], high[order]
    is_first = np.ones(edges.size, dtype=np.bool_)
    is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    is_first &= low != high
    return edges[is_first], low[is_first], high[is_first]


def _grow_clusters(low, high, length, n_clusters, radius, rng):
    """Indices of the edges by which searches with random delays reach their nodes.

    All start from one more node, `n_clusters`, at the distance of their delay.
    """
    delay = rng.exponential(_DELAY * radius, n_clusters)
    start = delay.max() - delay + 1e-9 * radius  # an edge of length zero would be none
    shape = (n_clusters + 1, n_clusters + 1)
    ends = (np.append(low, np.full(n_clusters, n_clusters)), np.append(high, np.arange(n_clusters)))
    network = scipy.sparse.csr_array((np.append(length, start), ends), shape=shape)
    _, before = dijkstra(network, directed=False, indices=n_clusters, return_predecessors=True)
    before = before[:-1]
    reached = np.flatnonzero(before != n_clusters)
    first, second = np.minimum(reached, before[reached]), np.maximum(reached, before[reached])
    return np.searchsorted(low * n_clusters + high, first * n_clusters + second)
