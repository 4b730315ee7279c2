"""Baselines in which a node takes the label of the closest labeled node.

1-NN takes the closest of the labeled nodes. SubSampling [C17, Section 4.4.3] labels a random sample
of the nodes by harmonic functions on their subgraph, and the others take the label of the closest
one. An edge of weight w has length 1 / w; points have the distance of their metric.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.harmonic import harmonic_scores, induced_subgraph
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["NearestLabelClassifier", "SubsampledHFSClassifier"]


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class NearestLabelClassifier(GraphClassifier):
    """Baseline classifier that ignores unlabeled nodes: the label of the closest labeled node.

    Use it to measure what semi-supervised learning adds (1-NN). On points it is the closest
    labeled point. On a graph it is the closest labeled node if an edge of weight w has length
    1 / w.

    Parameters
    ----------
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of neighbors of a new point, whose labels are averaged.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Not used: nothing is random here.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> NearestLabelClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"]).transduction_[1]
    np.str_('a')
    """

    def _scores(self, graph, labels):
        return self._scores_of_nearest(graph, labels.nodes, labels.one_hot())

    def _scores_of_nearest(self, graph, candidates, distributions):
        """Return the centered distribution of the candidate closest to each node, if any is."""
        if self.affinity == "precomputed":
            nearest, is_reached = _nearest_on_graph(graph, candidates)
        else:
            nearest = _nearest_point(self._points, candidates, self.metric)
            is_reached = np.ones(graph.n_nodes, dtype=bool)
        scores = distributions[nearest] - 1 / distributions.shape[1]
        scores[~is_reached] = 0.0
        return scores, is_reached


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class SubsampledHFSClassifier(NearestLabelClassifier):
    """Baseline classifier that saves memory by dropping nodes: HFS on a random subgraph.

    Use it to compare spectral sparsification, which drops edges, with dropping nodes (SubSampling
    in the thesis). The subgraph has the labeled nodes and others drawn uniformly. All other nodes
    take the label of the closest node that has one. A sampled subgraph is often disconnected,
    which is the weakness of this baseline.

    Parameters
    ----------
    n_samples : int
        Number of nodes of the subgraph.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Seed of the sampled nodes and of the solver.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = ["a", -1, -1, -1, "b"]
    >>> SubsampledHFSClassifier(n_samples=5).fit(nx.path_graph(5), y).label_distributions_[1]
    array([0.75, 0.25])
    """

    n_samples: int = 1000

    def _scores(self, graph, labels):
        n_samples = min(check_count("n_samples", self.n_samples), graph.n_nodes)
        rng = np.random.default_rng(self.random_state)
        unlabeled = np.setdiff1d(np.arange(graph.n_nodes), labels.nodes)
        n_unlabeled = min(max(n_samples - labels.nodes.size, 0), unlabeled.size)
        # The labeled nodes are always in the subgraph.
        drawn = rng.choice(unlabeled, n_unlabeled, replace=False)
        sampled = np.sort(np.concatenate([labels.nodes, drawn]))

        subgraph, number = induced_subgraph(graph, sampled)
        harmonic = harmonic_scores(
            subgraph, number[labels.nodes], labels.one_hot(), random_state=rng
        )
        # Pieces of the subgraph without a label have no score.
        has_score = np.isfinite(harmonic[:, 0])
        return self._scores_of_nearest(graph, sampled[has_score], harmonic[has_score])


def _nearest_point(points, candidates, metric):
    """Return the index in `candidates` of the point closest to each point."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=1, metric=metric).fit(points[candidates])
    return search.kneighbors(points, return_distance=False).ravel()


def _nearest_on_graph(graph, candidates):
    """Return the index in `candidates` of the node closest to each node, and whether one is.

    >>> from graphsqueak.graph import EdgeList
    >>> heavy = EdgeList(tail=[0, 1, 2], head=[1, 2, 3], weight=[1.0, 9.0, 9.0])
    >>> _nearest_on_graph(heavy, np.array([0, 3]))[0]
    array([0, 1, 1, 1])
    """
    # Similar nodes are close.
    length = graph.to_scipy()
    length.data = 1 / length.data
    _, _, source = scipy.sparse.csgraph.dijkstra(
        length, directed=False, indices=candidates, min_only=True, return_predecessors=True
    )
    is_reached = source >= 0
    index = np.zeros(graph.n_nodes, dtype=np.int64)
    index[candidates] = np.arange(candidates.size)
    return np.where(is_reached, index[np.where(is_reached, source, 0)], 0), is_reached
