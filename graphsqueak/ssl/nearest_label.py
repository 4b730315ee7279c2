"""NearestLabelClassifier: the label of the closest labeled node (1-NN)."""

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.ssl.base import GraphClassifier

__all__ = ["NearestLabelClassifier", "closest"]


class NearestLabelClassifier(GraphClassifier):
    """1-NN, the baseline that uses no unlabeled node.

    On points, the closest labeled point. On a graph, the closest labeled node when an edge of
    weight w has length 1 / w.

    Parameters
    ----------
    unknown, affinity, n_neighbors, metric, random_state
        As of `HFSClassifier`. (n_neighbors is for new points only, nothing here is random.)

    Examples
    --------
    >>> import networkx as nx
    >>> NearestLabelClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"]).transduction_[1]
    np.str_('a')
    """

    def __init__(
        self,
        *,
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        random_state=None,
    ):
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.random_state = random_state

    def _scores(self, graph, labels):
        nearest, reached = closest(graph, labels.nodes, self._points())
        scores = labels.one_hot()[nearest] - 1 / labels.classes.size
        scores[~reached] = 0.0
        return scores, reached

    def _points(self):
        """The points and their metric, or None on a graph."""
        if self.affinity == "precomputed":
            return None
        return self._index._fit_X, self.metric


def closest(graph, chosen, points):
    """Place among `chosen` of the node closest to each node, and whether there is any.

    >>> from graphsqueak.graph import EdgeList
    >>> heavy = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 9.0, 9.0])
    >>> closest(heavy, np.array([0, 3]), None)[0]
    array([0, 1, 1, 1])
    """
    if points is not None:
        from sklearn.neighbors import NearestNeighbors

        values, metric = points
        index = NearestNeighbors(n_neighbors=1, metric=metric).fit(values[chosen])
        nearest = index.kneighbors(values, return_distance=False).ravel()
        return nearest, np.ones(graph.n_nodes, dtype=bool)
    length = graph.to_scipy()
    length.data = 1 / length.data
    _, _, source = scipy.sparse.csgraph.dijkstra(
        length, directed=False, indices=chosen, min_only=True, return_predecessors=True
    )
    reached = source >= 0
    place = np.zeros(graph.n_nodes, dtype=np.int64)
    place[chosen] = np.arange(chosen.size)
    return np.where(reached, place[np.where(reached, source, 0)], 0), reached
