"""SimpleHFSClassifier: least squares on the smoothest functions of the graph."""

import numpy as np

from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.harmonic import reached_nodes
from graphsqueak.ssl.spectrum import smallest_eigenvectors
from graphsqueak.validation import check_count

__all__ = ["SimpleHFSClassifier"]


class SimpleHFSClassifier(GraphClassifier):
    """Simple-HFS: f = V lstsq(V_S, y_S), V the smoothest eigenvectors [JYLJH12], graph form.

    Parameters
    ----------
    n_components : int or "auto"
        Eigenvectors beside the constants, at most l - 1; "auto" is a quarter of the labels, at
        least one per class.
    unknown, affinity, n_neighbors, metric, random_state
        As of `HFSClassifier`.

    References
    ----------
    [JYLJH12] Ji, Yang, Lin, Jin, Han. A simple algorithm for semi-supervised learning with
              improved generalization error bound. ICML 2012.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0] + 8 * [-1] + [1]
    >>> SimpleHFSClassifier(n_components=1).fit(nx.path_graph(10), y).transduction_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        *,
        n_components="auto",
        unknown="prior",
        affinity="precomputed",
        n_neighbors=10,
        metric="euclidean",
        random_state=None,
    ):
        self.n_components = n_components
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.random_state = random_state

    def _scores(self, graph, labels):
        n_labels, n_classes = labels.nodes.size, labels.classes.size
        wanted = self.n_components
        if wanted == "auto":
            wanted = max(n_labels // 4, n_classes)
        reached = reached_nodes(graph, labels.nodes)
        component = graph.components()
        most = graph.n_nodes - int(component.max()) - 1
        wanted = min(check_count("n_components", wanted), max(n_labels - 1, 0), most)
        constants = np.unique(component[labels.nodes])
        basis = (component[:, None] == constants).astype(np.float64)
        basis /= np.sqrt(basis.sum(axis=0))
        if wanted:
            _, vectors = smallest_eigenvectors(graph, wanted, random_state=self.random_state)
            basis = np.column_stack([basis, vectors])
        weights = np.linalg.lstsq(basis[labels.nodes], labels.one_hot(), rcond=1e-10)[0]
        scores = basis @ weights
        scores -= scores.mean(axis=1, keepdims=True)
        scores[~reached] = 0.0
        return scores, reached
