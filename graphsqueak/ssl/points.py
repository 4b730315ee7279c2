"""Points as a graph: each joined to its nearest neighbors.

The weight between a point i and its neighbor j at distance d_ij is exp(-c d_ij^2 / s_i^2), s_i the
distance to the furthest of i's neighbors: the scale adapts to the density. The distances to all
neighbors are nearly the same in high dimension, so that a fixed c would tell near from far in the
plane and nothing there; c is such that, in the median point, the nearest neighbor weighs twenty
times as much as the furthest. Both directions are averaged, a missing one counts as zero.
"""

import numpy as np
import scipy.sparse

from graphsqueak.graph.edge_list import EdgeList

__all__ = ["links_to_neighbors", "neighbor_graph"]

_CONTRAST = 20.0
_LEAST_SPREAD = 0.1


def neighbor_graph(points, *, n_neighbors, metric):
    """The weighted neighbor graph of `points`, and the fitted index of neighbors.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> graph, _ = neighbor_graph(line, n_neighbors=1, metric="euclidean")
    >>> graph.n_edges
    2
    """
    from sklearn.neighbors import NearestNeighbors

    n_points = points.shape[0]
    index = NearestNeighbors(n_neighbors=max(min(n_neighbors, n_points - 1), 1), metric=metric)
    index.fit(points)
    if n_points == 1:
        index.sharpness_ = 1.0
        return EdgeList.from_clean([], [], [], n_nodes=1), index
    distance, neighbor = index.kneighbors()
    index.sharpness_ = _sharpness(distance)
    half = _links(distance, neighbor, n_points, index.sharpness_)
    both = scipy.sparse.triu((half + half.T) / 2, format="coo")
    graph = EdgeList(tail=both.row, head=both.col, weight=both.data, n_nodes=n_points)
    return graph, index


def links_to_neighbors(points, index):
    """Weights (n_new, n_known) between new points and the nearest ones that are known."""
    distance, neighbor = index.kneighbors(points)
    return _links(distance, neighbor, index.n_samples_fit_, index.sharpness_)


def _sharpness(distance):
    """c of the module's first lines; bounded, for points that are all equally far."""
    nearest = _ratios(distance)[:, 0]
    return np.log(_CONTRAST) / max(1 - np.median(nearest**2), _LEAST_SPREAD)


def _ratios(distance):
    scale = distance.max(axis=1, keepdims=True)
    return np.divide(distance, scale, out=np.zeros_like(distance), where=scale > 0)


def _links(distance, neighbor, n_known, sharpness):
    weight = np.exp(-sharpness * _ratios(distance) ** 2)
    row = np.repeat(np.arange(len(distance)), distance.shape[1])
    shape = (len(distance), n_known)
    return scipy.sparse.coo_array((weight.ravel(), (row, neighbor.ravel())), shape=shape).tocsr()
