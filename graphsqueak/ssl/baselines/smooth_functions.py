"""Baselines that fit the labels by a few smooth functions V of the nodes, f = V alpha.

Simple-HFS [JYLJH12] takes the smoothest eigenvectors of the graph and least squares at the labeled
nodes S, alpha = argmin ||V_S alpha - Y_S||^2.

EigFun [FWT09] replaces eigenvectors of the graph by eigenfunctions of the density, which is taken
as a product over the rotated coordinates. Per coordinate, with a histogram of b bins, they solve
the generalized problem

    (D~ - P W P) g = s P D^ g,      W_kl = exp(-(c_k - c_l)^2 / (2 sigma^2)),

with P the probabilities of the bins, c their centers, D~ the column sums of P W P and D^ those of
P W. The q functions of smallest s over all coordinates, interpolated at the points, are the basis
V, and

    (Sigma + V' Lambda V) alpha = V' Lambda Y,

with Sigma the diagonal matrix of s, and Lambda = 1000 at labeled nodes, 0 at others.

References
----------
[FWT09]   Fergus, Weiss, Torralba. Semi-supervised learning in gigantic image collections.
          NIPS 2009.
[JYLJH12] Ji, Yang, Lin, Jin, Han. A simple algorithm for semi-supervised learning with improved
          generalization error bound. ICML 2012.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from graphsqueak.errors import InputError, Parameter
from graphsqueak.outofcore.eigenpairs import smallest_eigenpairs
from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
from graphsqueak.solvers.eigenpairs import laplacian_eigenpairs
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.ssl.base import GraphClassifier
from graphsqueak.ssl.stable import labeled_components
from graphsqueak.validation import check_count, explain_keywords

__all__ = ["EigenfunctionClassifier", "SimpleHFSClassifier", "eigenfunctions"]


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class SimpleHFSClassifier(GraphClassifier):
    """Baseline classifier by least squares on the smoothest eigenvectors of the graph.

    Use it to compare Stable-HFS with a truncated spectral basis (Simple-HFS). If the graph does
    not fit in memory, give an edge budget: its eigenvectors are then computed in a few passes.

    Parameters
    ----------
    n_components : int or "auto"
        Number of eigenvectors in addition to the constants, at most l - 1. "auto" is a quarter of
        the labels, at least one per class.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    n_edges, epsilon, keep : optional, at most one
        Edge budget: only a sparsifier of this size is in memory, and the graph is read in a few
        passes to find its eigenvectors (`graphsqueak.smallest_eigenpairs`).
    random_state : int, Generator or None
        Seed of the computation of eigenvectors.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> import networkx as nx
    >>> y = [0] + 8 * [-1] + [1]
    >>> SimpleHFSClassifier(n_components=1).fit(nx.path_graph(10), y).transduction_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    n_components: int | str = "auto"
    n_edges: int | None = None
    epsilon: float | None = None
    keep: float | None = None

    def _read(self, X):
        """Return the graph, or a sparsifier with the same nodes and components."""
        budget = Budget(self.n_edges, self.epsilon, self.keep)
        self._source = None
        # Eigenvectors of a streamed graph.
        self._vectors = None
        if all(value is None for value in budget):
            return super()._read(X)
        if self.affinity != "precomputed":
            raise InputError(
                Parameter("n_edges"), ", epsilon and keep are for graphs, not for points"
            )
        self._source = rereadable(X)
        sparsifier = find_sparsifier(
            self._source,
            budget,
            sparsifier=None,
            random_state=self.random_state,
            progress=False,
        )
        return sparsifier.in_id_order()

    def _eigenvectors(self, graph, n_vectors):
        """Return eigenvectors of the graph in memory, or of the one that is streamed."""
        if self._source is not None:
            _, self._vectors = smallest_eigenpairs(
                self._source, n_vectors, sparsifier=graph, random_state=self.random_state
            )
            self._source = None
        # A fit without some labels takes fewer of the same vectors.
        if self._vectors is not None:
            return self._vectors[:, :n_vectors]
        _, vectors = laplacian_eigenpairs(graph, n_vectors, random_state=self.random_state)
        return vectors

    def _scores(self, graph, labels):
        n_labels = labels.nodes.size
        component = graph.components()
        n_vectors = self.n_components
        if n_vectors == "auto":
            n_vectors = max(n_labels // 4, labels.classes.size)
        n_nonconstant = graph.n_nodes - int(component.max()) - 1
        n_vectors = min(check_count("n_components", n_vectors), max(n_labels - 1, 0), n_nonconstant)
        # A constant function per component with a label.
        constants = np.unique(component[labels.nodes])
        basis = (component[:, None] == constants).astype(np.float64)
        basis /= np.sqrt(basis.sum(axis=0))
        if n_vectors:
            basis = np.column_stack([basis, self._eigenvectors(graph, n_vectors)])
        alpha = np.linalg.lstsq(basis[labels.nodes], labels.one_hot(), rcond=1e-10)[0]
        has_label = labeled_components(component, labels.nodes)[component]
        return _centered_rows(basis @ alpha, has_label), has_label


@explain_keywords()
@dataclass(kw_only=True, eq=False, repr=False)
class EigenfunctionClassifier(GraphClassifier):
    """Baseline classifier by eigenfunctions of the density of points.

    Use it to compare with a method for points whose time is linear in their number (EigFun). On a
    graph, the smoothest eigenvectors are the coordinates of its nodes.

    Parameters
    ----------
    n_components : int
        Number q of eigenfunctions.
    n_coordinates : int
        Number of eigenvectors that are coordinates if X is a graph.
    unknown : "prior" or a label
        Prediction in components without a label: the most frequent class, or for example -1.
    affinity : {"precomputed", "knn"}
        Whether X is a graph in any form that graphsqueak reads, or an array of points.
    n_neighbors : int
        Number of nearest neighbors that each point is joined to.
    metric : str
        Distance of points, by its name in scikit-learn.
    random_state : int, Generator or None
        Seed of the computation of eigenvectors if X is a graph.

    Attributes
    ----------
    transduction_, label_distributions_, scores_, has_label_in_component_, classes_, ids_
        As in `HFSClassifier`.

    Examples
    --------
    >>> X = np.concatenate([np.linspace(0, 1, 30), np.linspace(5, 6, 30)])[:, None]
    >>> y = [0] + 58 * [-1] + [1]
    >>> clf = EigenfunctionClassifier(n_components=1, affinity="knn").fit(X, y)
    >>> bool((clf.transduction_ == np.repeat([0, 1], 30)).all())
    True
    """

    n_components: int = 64
    n_coordinates: int = 16

    def _scores(self, graph, labels):
        check_count("n_components", self.n_components)
        check_count("n_coordinates", self.n_coordinates)
        if self.affinity == "knn":
            has_label = np.ones(graph.n_nodes, dtype=bool)
            points = self._points
            points = points.toarray() if hasattr(points, "toarray") else points
        else:
            component = graph.components()
            has_label = labeled_components(component, labels.nodes)[component]
            n_vectors = min(self.n_coordinates, max(graph.n_nodes - component.max() - 2, 1))
            values, points = laplacian_eigenpairs(graph, n_vectors, random_state=self.random_state)
            points = points / np.sqrt(np.maximum(values, np.finfo(float).tiny))
        basis, energy = eigenfunctions(points, self.n_components)
        labeled = basis[labels.nodes]
        # Sigma / Lambda + V_S' V_S, with Lambda = 1000 as in the authors' code.
        system = np.diag(energy) / 1000 + labeled.T @ labeled
        targets = 2 * labels.one_hot() - 1
        alpha = np.linalg.lstsq(system, labeled.T @ targets, rcond=1e-12)[0]
        return _centered_rows(basis @ alpha, has_label), has_label


def eigenfunctions(points, n_components, *, n_bins=50, max_coordinates=64):
    """Return the smoothest one-dimensional eigenfunctions at the points, and their s.

    Parameters
    ----------
    points : array of float, shape (n, d)
    n_components : int
        Largest number of functions.
    n_bins : int
        Number b of bins per coordinate; at most a tenth of the points, and at least 3.
    max_coordinates : int
        Number of principal components that are used.

    Returns
    -------
    columns : array of float, shape (n, q)
        Columns of unit length; a single column of zeros if all coordinates are constant.
    s : array of float, shape (q,)
    """
    found = []
    if len(points) >= 2 and points.shape[1]:
        centered = points - points.mean(axis=0)
        _, _, rotation = np.linalg.svd(centered, full_matrices=False)
        rotated = centered @ rotation[:max_coordinates].T
        n_bins = max(min(n_bins, len(points) // 10), 3)
        width = np.median(np.abs(rotated - np.median(rotated, axis=0))) or 1.0
        for coordinate in rotated.T:
            found += _coordinate_eigenfunctions(coordinate, n_bins, width)
    if not found:
        return np.zeros((len(points), 1)), np.ones(1)
    found = sorted(found, key=lambda pair: pair[0])[:n_components]
    columns = np.stack([column for _, column in found], axis=1)
    columns /= np.maximum(np.linalg.norm(columns, axis=0), np.finfo(float).tiny)
    return columns, np.array([value for value, _ in found])


def _coordinate_eigenfunctions(coordinate, n_bins, width):
    """Return pairs of s and the eigenfunction at the points; none for a constant coordinate."""
    counts, edges = np.histogram(coordinate, n_bins)
    if np.ptp(coordinate) == 0:
        return []
    center = (edges[:-1] + edges[1:]) / 2
    # The authors add a tenth to every bin.
    probability = counts / counts.sum() + 0.1
    probability /= probability.sum()
    affinity = np.exp(-((center[:, None] - center) ** 2) / (2 * width**2))
    weighted = probability[:, None] * affinity * probability
    smoothness = np.diag(weighted.sum(axis=0)) - weighted
    mass = probability * (probability[:, None] * affinity).sum(axis=0)
    values, vectors = scipy.linalg.eigh(smoothness, np.diag(mass))
    # Functions are not extrapolated to outliers.
    clipped = np.clip(coordinate, *np.percentile(coordinate, (2.5, 97.5)))
    return [
        (value, np.interp(clipped, center, vector))
        for value, vector in zip(values, vectors.T, strict=True)
        # The constant function has eigenvalue zero up to rounding.
        if value > 1e-10
    ]


def _centered_rows(scores, has_label):
    """Return scores whose rows sum to zero, and zero in components without a label."""
    scores -= scores.mean(axis=1, keepdims=True)
    scores[~has_label] = 0.0
    return scores
