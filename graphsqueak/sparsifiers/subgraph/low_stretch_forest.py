"""Spanning forest of low stretch.

The stretch of an edge of weight w is w R_T, where R_T is the resistance of the path in the forest
between its ends. With the forest as a preconditioner, the ratios x' L_G x / x' L_T x sum to the
total stretch, so that none is larger. Two forests are built, and the one with the smaller total
stretch is returned:

*Clusters* [AKPW95, MPX13]. Every node u starts a search at time s_u: the largest of all random
delays, minus its own. Delays are exponential with mean r. An edge of weight w takes the time
1 / w, and a node belongs to the search that reaches it first. The search trees are added to the
forest, each is contracted to a node, and of parallel edges the heaviest remains. Then r doubles,
until no edges are left. No cluster is wider than a few r, and few edges lie between
clusters. This forest is the better one if weights are similar, and the only good one on grids.

*Effective weight* [LYF22]. A maximum spanning forest for the weights
w log(1 + d) / (b_u + b_v), where d is the larger number of edges at the two ends, and b is the
distance in edges to the node with the most edges. This forest is the better one if weights differ,
or if a few nodes have most of the edges.

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


def low_stretch_forest(graph: EdgeList, *, random_state: RandomState = None) -> np.ndarray:
    """Return the mask of a spanning forest of low total stretch.

    Parameters
    ----------
    graph : EdgeList
        Without parallel edges (`simplified`).
    random_state : int, Generator or None

    Returns
    -------
    ndarray of bool
        Which edges are in the forest.

    Examples
    --------
    If two triangles share an edge, a forest with that edge has a total stretch of 3 + 2 + 2, and
    one without it has more:

    >>> graph = EdgeList(tail=[0, 1, 2, 0, 2], head=[1, 2, 3, 3, 0])
    >>> in_forest = low_stretch_forest(graph, random_state=3)
    >>> int(in_forest.sum()), bool(in_forest[4])
    (3, True)
    """
    by_clusters = cluster_forest(graph, random_state=random_state)
    by_weight = effective_weight_forest(graph)
    if total_stretch(graph, by_clusters) <= total_stretch(graph, by_weight):
        return by_clusters
    return by_weight


def total_stretch(graph: EdgeList, in_forest: np.ndarray) -> float:
    """Return the sum of w R_T over all edges of `graph`."""
    resistance = path_resistances(graph.tail, graph.head, graph.weight, in_forest, graph.n_nodes)
    return graph.weight @ resistance


def effective_weight_forest(graph: EdgeList) -> np.ndarray:
    """Return the mask of the maximum spanning forest for the effective weights of [LYF22]."""
    n_edges = np.bincount(graph.tail, minlength=graph.n_nodes)
    n_edges += np.bincount(graph.head, minlength=graph.n_nodes)
    component = graph.components()
    # The node with the most edges comes first in each component.
    by_component = np.lexsort((-n_edges, component))
    is_first = np.diff(component[by_component], prepend=-1) != 0
    distance = dijkstra(
        graph.to_scipy(), unweighted=True, indices=by_component[is_first], min_only=True
    )
    most_edges = np.maximum(n_edges[graph.tail], n_edges[graph.head])
    effective_weight = graph.weight * np.log1p(most_edges)
    effective_weight /= distance[graph.tail] + distance[graph.head]
    order = np.argsort(-effective_weight, kind="stable")
    in_forest = np.zeros(graph.n_edges, dtype=np.bool_)
    in_forest[order] = union_edges(make_sets(graph.n_nodes), graph.tail[order], graph.head[order])
    return in_forest


def cluster_forest(graph: EdgeList, *, random_state: RandomState = None) -> np.ndarray:
    """Return the mask of the forest of contracted clusters of [AKPW95]."""
    rng = np.random.default_rng(random_state)
    in_forest = np.zeros(graph.n_edges, dtype=np.bool_)
    cluster = np.arange(graph.n_nodes)
    length = 1 / graph.weight
    remaining = np.arange(graph.n_edges)
    # The first clusters use the shorter quarter of the edges.
    radius = np.quantile(length, 0.25) if remaining.size else 0.0
    while True:
        remaining, low, high = _shortest_between_clusters(
            remaining, length, cluster[graph.tail], cluster[graph.head]
        )
        if not remaining.size:
            return in_forest
        # Smaller radii would join nothing.
        radius = max(radius, length[remaining].min())
        n_clusters = int(cluster.max()) + 1
        in_tree = _grow_clusters(
            low, high, length[remaining], n_clusters=n_clusters, radius=radius, rng=rng
        )
        in_forest[remaining[in_tree]] = True
        parent = make_sets(n_clusters)
        union_edges(parent, low[in_tree], high[in_tree])
        _, number = np.unique(find_all(parent), return_inverse=True)
        cluster = number[cluster]
        radius *= 2


def _shortest_between_clusters(edges, length, tail, head):
    """Return the shortest edge between each pair of clusters, and the two clusters, ordered."""
    low = np.minimum(tail, head)[edges]
    high = np.maximum(tail, head)[edges]
    order = np.lexsort((length[edges], high, low))
    edges, low, high = edges[order], low[order], high[order]
    is_shortest = np.ones(edges.size, dtype=np.bool_)
    is_shortest[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    is_shortest &= low != high
    return edges[is_shortest], low[is_shortest], high[is_shortest]


def _grow_clusters(low, high, length, *, n_clusters, radius, rng):
    """Return the indices of the edges by which searches with random delays reach their nodes.

    All searches start from an additional node, `n_clusters`, whose edges have the length of the
    starting times.
    """
    delay = rng.exponential(radius, n_clusters)
    # A sparse matrix has no entries of zero, so that all starting times must be positive.
    start = delay.max() - delay + 1e-9 * radius
    source = np.full(n_clusters, n_clusters)
    rows = np.concatenate([low, source])
    columns = np.concatenate([high, np.arange(n_clusters)])
    network = scipy.sparse.csr_array(
        (np.concatenate([length, start]), (rows, columns)),
        shape=(n_clusters + 1, n_clusters + 1),
    )
    _, predecessor = dijkstra(network, directed=False, indices=n_clusters, return_predecessors=True)
    predecessor = predecessor[:-1]
    reached = np.flatnonzero(predecessor != n_clusters)
    first = np.minimum(reached, predecessor[reached])
    second = np.maximum(reached, predecessor[reached])
    # Edges are sorted by their two clusters.
    return np.searchsorted(low * n_clusters + high, first * n_clusters + second)
