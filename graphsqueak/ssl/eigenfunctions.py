"""Baselines that fit the labels by a few smooth functions.

Simple-HFS [JYLJH12] takes the smoothest eigenvectors of the graph, V, and least squares,
f = V lstsq(V_S, y_S).

EigFun [FWT09] replaces eigenvectors of the graph by eigenfunctions of the density, taken as a
product over the rotated coordinates: per coordinate a histogram of b bins, and the generalized
problem

    (D~ - P W P) g = s P D^ g,      W_kl = exp(-(c_k - c_l)^2 / (2 sigma^2)),

with P the bin probabilities, D~ the column sums of P W P and D^ those of P W. The q functions of
smallest s over all coordinates, interpolated at the points, are the basis V, and

    (Sigma + V' Lambda V) alpha = V' Lambda y,     f = V alpha.

References
----------
[FWT09]   Fergus, Weiss, Torralba. Semi-supervised learning in gigantic image collections.
          NIPS 2009.
[JYLJH12] Ji, Yang, Lin, Jin, Han. A simple algorithm for semi-supervised learning with improved
          generalization error bound. ICML 2012.
"""

import numpy as np
import scipy.linalg

from graphsqueak.errors import InputError, Parameter
from graphsqueak.outofcore.eigenpairs import smallest_eigenpairs as read_eigenpairs
from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
from graphsqueak.randomness import RandomState
from graphsqueak.solvers import smallest_eigenpairs
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.stable import labeled_components
from graphsqueak.validation import check_count

__all__ = ["EigenfunctionClassifier", "SimpleHFSClassifier", "eigenfunctions"]

_MOST_BINS = 50
_SMOOTHING = 0.1  # added to every normalized bin, as the authors do
_CONSTANT = 1e-10
_LABEL_WEIGHT = 1000.0
_MOST_COORDINATES = 64
_CLIP = (2.5, 97.5)  # percentiles beyond which points count as being there


class SimpleHFSClassifier(GraphClassifier):
    """Simple-HFS: f = V lstsq(V_S, y_S), V the smoothest eigenvectors in the form for graphs.

    Parameters
    ----------
    n_components : int or "auto"
        Eigenvectors beside the constants, at most l - 1; "auto" is a quarter of the labels, at
        least one per class.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    n_edges, epsilon, keep : optional, at most one
        Do not hold the graph, but a sparsifier of that size, and read the graph some times to find
        its eigenvectors (`graphsqueak.smallest_eigenpairs`).
    random_state : int, Generator or None
        Seeds the search for eigenvectors.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As of `HFSClassifier`.

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
        n_components: int | str = "auto",
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        n_edges: int | None = None,
        epsilon: float | None = None,
        keep: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.n_edges, self.epsilon, self.keep = n_edges, epsilon, keep
        self.random_state = random_state

    def _read(self, X):
        """The graph, or the sparsifier that stands for its nodes and components."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        self._source = self._vectors = None
        if all(value is None for value in budget):
            return super()._read(X)
        if self.affinity != "precomputed":
            raise InputError(
                Parameter("n_edges"), ", epsilon and keep are for graphs, not for points"
            )
        self._source = rereadable(X)
        kept = find_sparsifier(self._source, budget, None, self.random_state, False)
        return kept.in_id_order()

    def _eigenvectors(self, graph, n_vectors):
        """Of the graph that is held, or of the one that is read: once, then without it."""
        if self._source is not None:
            how = {"sparsifier": graph, "random_state": self.random_state}
            self._vectors = read_eigenpairs(self._source, n_vectors, **how)[1]
            self._source = None
        if self._vectors is not None:  # a fit without some labels wants fewer
            return self._vectors[:, :n_vectors]
        return smallest_eigenpairs(graph, n_vectors, random_state=self.random_state)[1]

    def _scores(self, graph, labels):
        n_labels, n_classes = labels.nodes.size, labels.classes.size
        wanted = self.n_components
        if wanted == "auto":
            wanted = max(n_labels // 4, n_classes)
        component = graph.components()
        reached = labeled_components(component, labels.nodes)[component]
        most = graph.n_nodes - int(component.max()) - 1
        wanted = min(check_count("n_components", wanted), max(n_labels - 1, 0), most)
        constants = np.unique(component[labels.nodes])
        basis = (component[:, None] == constants).astype(np.float64)
        basis /= np.sqrt(basis.sum(axis=0))
        if wanted:
            basis = np.column_stack([basis, self._eigenvectors(graph, wanted)])
        weights = np.linalg.lstsq(basis[labels.nodes], labels.one_hot(), rcond=1e-10)[0]
        scores = basis @ weights
        scores -= scores.mean(axis=1, keepdims=True)
        scores[~reached] = 0.0
        return scores, reached


class EigenfunctionClassifier(GraphClassifier):
    """EigFun, with b = 50 bins.

    Meant for points. On a graph, the smoothest eigenvectors take their place.

    Parameters
    ----------
    n_components : int
        Number q of eigenfunctions.
    n_coordinates : int
        Eigenvectors that stand for points where X is a graph.
    unknown : "prior" or a label
        Prediction where no label reaches: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Seeds the search for eigenvectors, where X is a graph.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As of `HFSClassifier`.

    Examples
    --------
    >>> X = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])[:, None]
    >>> y = [0] + 58 * [-1] + [1]
    >>> clf = EigenfunctionClassifier(n_components=1, affinity="knn").fit(X, y)
    >>> bool((clf.transduction_ == np.repeat([0, 1], 30)).all())
    True
    """

    def __init__(
        self,
        *,
        n_components: int = 64,
        n_coordinates: int = 16,
        unknown: object = "prior",
        affinity: str = "precomputed",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_components, self.n_coordinates = n_components, n_coordinates
        self.unknown = unknown
        self.affinity, self.n_neighbors, self.metric = affinity, n_neighbors, metric
        self.random_state = random_state

    def _scores(self, graph, labels):
        check_count("n_components", self.n_components)
        check_count("n_coordinates", self.n_coordinates)
        reached = np.ones(graph.n_nodes, dtype=bool)
        if self.affinity == "knn":
            points = self._index._fit_X
            points = points.toarray() if hasattr(points, "toarray") else points
        else:
            component = graph.components()
            reached = labeled_components(component, labels.nodes)[component]
            n_vectors = min(self.n_coordinates, max(graph.n_nodes - component.max() - 2, 1))
            values, points = smallest_eigenpairs(graph, n_vectors, random_state=self.random_state)
            points = points / np.sqrt(np.maximum(values, np.finfo(float).tiny))
        basis, energy = eigenfunctions(points, self.n_components)
        signs = 2 * labels.one_hot() - 1
        known = basis[labels.nodes]
        system = np.diag(energy) + _LABEL_WEIGHT * known.T @ known
        weights = np.linalg.lstsq(system, _LABEL_WEIGHT * known.T @ signs, rcond=1e-12)[0]
        scores = basis @ weights
        scores -= scores.mean(axis=1, keepdims=True)
        scores[~reached] = 0.0
        return scores, reached


def eigenfunctions(points, n_components):
    """The smoothest one-dimensional eigenfunctions at the points, unit columns, and their s."""
    if min(points.shape) == 0 or len(points) < 2:
        return np.zeros((len(points), 1)), np.ones(1)
    centered = points - points.mean(axis=0)
    _, _, rotation = np.linalg.svd(centered, full_matrices=False)
    rotated = centered @ rotation[:_MOST_COORDINATES].T
    n_bins = max(min(_MOST_BINS, len(points) // 10), 3)
    width = np.median(np.abs(rotated - np.median(rotated, axis=0))) or 1.0
    found = []
    for coordinate in rotated.T:
        found += _coordinate_eigenfunctions(coordinate, n_bins, width)
    found.sort(key=lambda pair: pair[0])
    found = found[:n_components]
    if not found:
        return np.zeros((len(points), 1)), np.ones(1)
    columns = np.stack([column for _, column in found], axis=1)
    columns /= np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    return columns, np.array([value for value, _ in found])


def _coordinate_eigenfunctions(coordinate, n_bins, width):
    counts, edges = np.histogram(coordinate, n_bins)
    if edges[0] == edges[-1] or np.ptp(coordinate) == 0:
        return []
    center = (edges[:-1] + edges[1:]) / 2
    share = counts / counts.sum() + _SMOOTHING
    share /= share.sum()
    near = np.exp(-((center[:, None] - center) ** 2) / (2 * width**2))
    weighted = share[:, None] * near * share
    smooth = np.diag(weighted.sum(axis=0)) - weighted
    mass = share * (share[:, None] * near).sum(axis=0)
    values, vectors = scipy.linalg.eigh(smooth, np.diag(mass))
    clipped = np.clip(coordinate, *np.percentile(coordinate, _CLIP))
    return [
        (value, np.interp(clipped, center, vector))
        for value, vector in zip(values, vectors.T, strict=True)
        if value > _CONSTANT
    ]
