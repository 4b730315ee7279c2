"""Harmonic functions: every node without a label is the weighted mean of its neighbors [ZGL03].

With the nodes split into labeled S and unlabeled U, and W = W_US the weights between them,

    L_UU f_U = W Y,      f_S = Y.

L_UU is the Laplacian of the graph inside U plus the diagonal of its weights to S: a Laplacian with
a ridge, which is what `LaplacianSolver` solves. It is singular exactly on the components
without a label, where nothing can be said; they are left out.

With few labels nearly every node is nearly a constant mixture, and one class takes all. Class mass
normalization rescales class c by q_c / sum_U f_c, q_c = (n_c + 1) / (l + C), so that the classes
share the nodes as they share the labels [ZGL03, Section 4].

Two baselines are here, too, in which a node follows the closest one that is labeled. 1-NN takes the
closest of the labeled nodes. SubSampling [C17, Section 4.4.3] labels some of the nodes by harmonic
functions first, and the others follow those.

References
----------
[ZGL03] Zhu, Ghahramani, Lafferty. Semi-supervised learning using Gaussian fields and harmonic
        functions. ICML 2003.
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017.
"""

import numpy as np
import scipy.sparse.csgraph

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers import LaplacianSolver
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.stable import labeled_components
from graphsqueak.validation import check_count

__all__ = [
    "HFSClassifier",
    "NearestLabelClassifier",
    "SubsampledHFSClassifier",
    "harmonic_scores",
]


class HFSClassifier(GraphClassifier):
    """Harmonic function solution: L_UU f_U = W_US Y, and the largest column wins.

    With few labels one class takes nearly all nodes. Class mass normalization mends that;
    Stable-HFS is the better answer to the same problem.

    Parameters
    ----------
    class_mass : bool
        Rescale the classes so that they share the nodes as they share the labels.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    tol : float
        Relative residual of the solves.
    random_state : int, Generator or None
        Seeds the solver.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A label for every node.
    label_distributions_, scores_ : ndarray (n_nodes, C)
        Shares of the classes, uniform where no label reaches, and the scores that they come from.
    has_label_in_component_ : ndarray of bool
        Whether a label lies in the node's component.
    homophily_, homophily_error_ : float
        Correlation of the classes of neighbors, by labeled nodes one and two steps apart, and its
        standard error: 1 where neighbors always agree, 0 where they do as often as strangers, of
        which there is a warning. On a sparsifier it is that of the edges held.
    classes_, ids_ : ndarray
        All labels, sorted, and the ids of the nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> clf = HFSClassifier().fit(nx.path_graph(5), ["a", -1, -1, -1, "b"])
    >>> clf.label_distributions_[1]
    array([0.75, 0.25])
    >>> clf.transduction_[[1, 3]]
    array(['a', 'b'], dtype='<U21')
    """

    def __init__(
        self,
        *,
        class_mass: bool = False,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.class_mass = class_mass
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.tol, self.random_state = tol, random_state

    def _scores(self, graph, labels):
        shares = harmonic_scores(
            graph, labels.nodes, labels.one_hot(), tol=self.tol, random_state=self.random_state
        )
        reached = np.isfinite(shares[:, 0])
        shares[~reached] = 1 / labels.classes.size
        if self.class_mass:
            shares = _normalize_masses(shares, reached, labels)
        return shares - 1 / labels.classes.size, reached


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
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
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
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
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
        part = EdgeList.from_validated(*ends, graph.weight[inside], chosen.size)
        shares = harmonic_scores(part, number[labels.nodes], labels.one_hot(), random_state=rng)
        known = np.isfinite(shares[:, 0])
        nearest, reached = _closest(graph, chosen[known], self._points())
        scores = shares[known][nearest] - 1 / labels.classes.size
        scores[~reached] = 0.0
        return scores, reached


def harmonic_scores(graph, labeled, targets, *, tol=1e-8, random_state=None):
    """The harmonic extension of `targets` (l, C) to all nodes; NaN where no label reaches.

    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> harmonic_scores(path, np.array([0, 3]), np.array([[0.0], [3.0]])).ravel()
    array([0., 1., 2., 3.])
    """
    scores = np.full((graph.n_nodes, targets.shape[1]), np.nan)
    scores[labeled] = targets
    component = graph.components()
    is_inner = labeled_components(component, labeled)[component]  # U
    is_inner[labeled] = False
    inner = np.flatnonzero(is_inner)
    if inner.size == 0:
        return scores
    number = np.empty(graph.n_nodes, dtype=np.int64)  # of each node, in U or in S
    number[inner], number[labeled] = np.arange(inner.size), np.arange(labeled.size)
    inside = is_inner[graph.tail] & is_inner[graph.head]
    within = EdgeList.from_validated(
        number[graph.tail[inside]], number[graph.head[inside]], graph.weight[inside], inner.size
    )
    crossing = is_inner[graph.tail] != is_inner[graph.head]
    low, high = graph.tail[crossing], graph.head[crossing]
    unlabeled = np.where(is_inner[low], low, high)
    cross = scipy.sparse.coo_array(  # W_US
        (graph.weight[crossing], (number[unlabeled], number[low + high - unlabeled])),
        shape=(inner.size, labeled.size),
    ).tocsr()
    ridge = np.asarray(cross.sum(axis=1)).ravel()
    solver = LaplacianSolver(within, ridge=ridge, tol=tol, random_state=random_state)
    scores[inner] = solver.solve(cross @ targets)
    return scores


def _normalize_masses(shares, reached, labels):
    """Class mass normalization, rows scaled to sum to one again."""
    unlabeled = reached.copy()
    unlabeled[labels.nodes] = False
    counts = np.bincount(labels.code, minlength=labels.classes.size)
    mass = shares[unlabeled].sum(axis=0)
    wanted = (counts + 1) / (counts.sum() + counts.size)
    scaled = shares * np.divide(wanted, mass, out=np.ones_like(mass), where=mass > 0)
    return scaled / scaled.sum(axis=1, keepdims=True)


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
