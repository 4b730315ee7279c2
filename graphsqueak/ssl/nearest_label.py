"""Baselines in which a node follows the closest one that is labeled.

1-NN takes the closest of the labeled nodes. SubSampling [C17, Section 4.4.3] labels some of the
nodes by harmonic functions first, and the others follow those.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.harmonic import harmonic_scores
from graphsqueak.validation import check_count

__all__ = ["NearestLabelClassifier", "SubsampledHFSClassifier"]


class NearestLabelClassifier(GraphClassifier):
    """1-NN, the baseline that uses no unlabeled node.

    On points, the closest labeled point. On a graph, the closest labeled node when an edge of
    weight w has length 1 / w.

    Parameters
    ----------
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors of new points, which their labels are averaged over.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Not used: nothing is random here.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, reached_, classes_, ids_
        As of `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> NearestLabelClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"]).transduction_[1]
    np.str_('a')
    """

    def __init__(
        self,
        *,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.random_state = random_state

    def _scores(self, graph, labels):
        nearest, reached = _closest(graph, labels.nodes, self._points())
        scores = labels.one_hot()[nearest] - 1 / labels.classes.size
        scores[~reached] = 0.0
        return scores, reached

    def _points(self):
        """The points and their metric, or None on a graph."""
        if self.affinity == "precomputed":
            return None
        return self._index._fit_X, self.metric


class SubsampledHFSClassifier(NearestLabelClassifier):
    """SubSampling of the thesis: HFS on the subgraph of `n_samples` nodes.

    The nodes are the labeled ones and others drawn uniformly. Every other node takes the label of
    the closest node that got one. Thinned so, a graph easily falls apart: that is what the baseline
    shows.

    Parameters
    ----------
    n_samples : int
        Nodes of the subgraph.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Seeds the draw of nodes, and the solver.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, reached_, classes_, ids_
        As of `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = ["a", -1, -1, -1, "b"]
    >>> SubsampledHFSClassifier(n_samples=5).fit(nx.path_graph(5), y).label_distributions_[1]
    array([0.75, 0.25])
    """

    def __init__(
        self,
        *,
        n_samples: int = 1000,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            unknown=unknown,
            affinity=affinity,
            n_neighbors=n_neighbors,
            metric=metric,
            random_state=random_state,
        )
        self.n_samples = n_samples

    def _scores(self, graph, labels):
        wanted = min(check_count("n_samples", self.n_samples), graph.n_nodes)
        rng = np.random.default_rng(self.random_state)
        others = np.setdiff1d(np.arange(graph.n_nodes), labels.nodes)
        n_more = max(wanted - labels.nodes.size, 0)
        more = rng.choice(others, min(n_more, others.size), replace=False)
        chosen = np.sort(np.concatenate([labels.nodes, more]))
        number = np.full(graph.n_nodes, -1)
        number[chosen] = np.arange(chosen.size)
        inside = (number[graph.tail] >= 0) & (number[graph.head] >= 0)
        ends = number[graph.tail[inside]], number[graph.head[inside]]
        part = EdgeList.from_clean(*ends, graph.weight[inside], chosen.size)
        shares = harmonic_scores(part, number[labels.nodes], labels.one_hot(), random_state=rng)
        known = np.isfinite(shares[:, 0])
        nearest, reached = _closest(graph, chosen[known], self._points())
        scores = shares[known][nearest] - 1 / labels.classes.size
        scores[~reached] = 0.0
        return scores, reached


def _closest(graph, chosen, points):
    """Index in `chosen` of the node closest to each node, and whether there is any.

    >>> from graphsqueak.graph import EdgeList
    >>> heavy = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 9.0, 9.0])
    >>> _closest(heavy, np.array([0, 3]), None)[0]
    array([0, 1, 1, 1])
    """
    if points is not None:
        from sklearn.neighbors import NearestNeighbors

        values, metric = points
        search = NearestNeighbors(n_neighbors=1, metric=metric).fit(values[chosen])
        nearest = search.kneighbors(values, return_distance=False).ravel()
        return nearest, np.ones(graph.n_nodes, dtype=bool)
    length = graph.to_scipy()
    length.data = 1 / length.data
    _, _, source = scipy.sparse.csgraph.dijkstra(
        length, directed=False, indices=chosen, min_only=True, return_predecessors=True
    )
    reached = source >= 0
    index_of = np.zeros(graph.n_nodes, dtype=np.int64)
    index_of[chosen] = np.arange(chosen.size)
    return np.where(reached, index_of[np.where(reached, source, 0)], 0), reached
