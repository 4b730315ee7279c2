"""Spectral clustering, and the conductance of each cluster.

The rows of the k smallest eigenvectors of D^-1/2 L D^-1/2, including those of the eigenvalue zero,
are scaled to length 1 and clustered by k-means [NJW02]. If k is not given, it is chosen by the
largest gap mu_{k+1} - mu_k between eigenvalues. The conductance of a cluster S,

    phi(S) = weight between S and the rest / total degree of the smaller of the two,

is small if S is well separated.

References
----------
[NJW02] Ng, Jordan, Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph
from graphsqueak.analysis.embedding import scale_by_degree
from graphsqueak.analysis.results import TableResult, bound_columns, bound_names
from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.frames import FRAME_NAMES
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real, explain_keywords

# Points from which k-means finds its centers; the others join the nearest center. It bounds the
# time of k-means on large graphs. Halved or doubled, so is that time.
MAX_KMEANS_POINTS = 50_000


@dataclass(frozen=True)
class Clusters(TableResult):
    """Result of `spectral_clusters`. `numpy.asarray` returns `labels`.

    As a data frame (`to_pandas`, `to_polars`) it has the columns node and cluster.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        Cluster 0, 1, ... of each node, the largest cluster first; -1 outside the large components.
    conductance : ndarray of shape (n_clusters,)
        Weight that leaves each cluster, divided by the total degree of the smaller side.
    values : ndarray
        Eigenvalues of the normalized Laplacian in ascending order, with one 0 per large component.
    ids : ndarray of shape (n_nodes,)
        Id of each node.
    lower, upper : ndarray of shape (n_clusters,), or None
        Bounds on the conductance of the same nodes in the graph that was sparsified, if there is a
        certificate.
    """

    _other_names = FRAME_NAMES | {"labels_": "labels", "n_clusters_": "n_clusters"}
    _array = "labels"

    labels: np.ndarray = field(repr=False)
    conductance: np.ndarray
    values: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    lower: np.ndarray | None = field(default=None, repr=False)
    upper: np.ndarray | None = field(default=None, repr=False)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.conductance.size

    @property
    def gap(self) -> float:
        """mu_{k+1} - mu_k, near 0 if another number of clusters fits as well; NaN if unknown."""
        k = self.n_clusters
        return float(self.values[k] - self.values[k - 1]) if self.values.size > k else float("nan")

    def rows(self) -> list[tuple]:
        """Return number, size, conductance and bounds of each cluster."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)
        bounds = bound_columns(self.lower, self.upper)
        columns = zip(sizes, self.conductance, *bounds, strict=True)
        return [(i, f"{n:,}", *(f"{x:.3g}" for x in row)) for i, (n, *row) in enumerate(columns)]

    def _columns(self):
        return {"node": self.ids, "cluster": self.labels}

    def _header(self):
        return ("cluster", "nodes", "conductance", *bound_names(self.lower))

    def _caption(self):
        n_outside = np.count_nonzero(self.labels < 0)
        outside = f", {n_outside:,} nodes outside the large components" if n_outside else ""
        return f"{self.n_clusters} clusters, gap {self.gap:.3g}{outside}"


@explain_keywords()
def spectral_clusters(
    graph: GraphLike,
    n_clusters: int | None = None,
    *,
    max_clusters: int = 10,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    tol: float = 1e-3,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Clusters:
    """Cluster the nodes by the smallest eigenvectors of the normalized Laplacian.

    Use it for a few clusters of similar size with few edges between them. For many groups of
    different sizes, use `communities`.

    Parameters
    ----------
    graph : GraphLike
        A file is streamed in several passes.
    n_clusters : int, optional
        Number of clusters. Default: from 2 to `max_clusters`, where the gap between eigenvalues is
        largest.
    max_clusters : int
        Largest number of clusters to choose from if `n_clusters` is not given.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    tol : float
        Relative residual of the eigenvectors.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Clusters
        Only the (at most n_clusters) largest components are clustered, if they have at least 1/20
        of the nodes of the largest one. All other nodes have the label -1.

    Examples
    --------
    >>> from graphsqueak.sources import block_model
    >>> graph = block_model(300, 9_000, n_blocks=3, random_state=7).to_edge_list()
    >>> clusters = spectral_clusters(graph, random_state=7)
    >>> clusters.n_clusters, [len(set(clusters.labels[b::3].tolist())) for b in range(3)]
    (3, [1, 1, 1])
    """
    if n_clusters is None:
        limit = check_count("max_clusters", max_clusters, least=2)
    else:
        limit = check_count("n_clusters", n_clusters, least=2)
    check_real("tol", tol, above=0.0, below=1.0)
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    is_inside = analyzed.large_components(limit)
    n_inside = np.count_nonzero(is_inside)
    component = np.unique(analyzed.components[is_inside], return_inverse=True)[1]
    n_components = int(component.max(initial=-1)) + 1
    if n_inside < limit + 1:
        raise InputError(
            f"{limit} clusters are too many for the {n_inside} nodes of the large components; ask "
            "for fewer"
        )
    # One more eigenvalue than clusters, for the gap after the last one.
    n_pairs = max(limit - n_components + 1, 1)
    values, vectors = analyzed.eigenpairs(n_pairs, normalized=True, tol=tol, nodes=is_inside)
    # Every component has an eigenvalue 0.
    values = np.concatenate([np.zeros(n_components), values])
    if n_clusters is None:
        # Components are not joined, so that there are at least as many clusters.
        min_clusters = max(2, n_components)
        gaps = np.diff(values[min_clusters - 1 :])[: max(limit - min_clusters + 1, 1)]
        n_clusters = min_clusters + int(np.argmax(gaps))
    # Eigenvectors of the eigenvalue zero: D^1/2 1 on each component.
    degree = analyzed.degrees[is_inside]
    constants = np.eye(n_components)[component] * np.sqrt(degree)[:, None]
    constants /= np.linalg.norm(constants, axis=0)
    points = np.hstack([constants, vectors[is_inside]])[:, :n_clusters]
    labels = np.full(analyzed.n_nodes, -1)
    labels[is_inside] = _k_means(scale_by_degree(points, degree), n_clusters, analyzed.new_seed())
    conductance = _conductances(analyzed, labels, n_clusters)
    lower, upper = analyzed.bounds_on(conductance, "conductances", largest=1.0)
    return Clusters(labels, conductance, values, analyzed.ids, lower, upper)


def _conductances(graph, labels, n_clusters):
    """Return the conductance of each cluster, in one pass over the edges."""
    # Nodes without a cluster are group n_clusters.
    group = np.where(labels < 0, n_clusters, labels)
    leaving = np.zeros(n_clusters + 1)
    for tail, head, weight in graph.batches("measuring clusters"):
        is_cut = group[tail] != group[head]
        # An edge between clusters leaves both of them.
        leaving += np.bincount(group[tail[is_cut]], weight[is_cut], n_clusters + 1)
        leaving += np.bincount(group[head[is_cut]], weight[is_cut], n_clusters + 1)
    volume = np.bincount(group, graph.degrees, n_clusters + 1)
    smaller = np.minimum(volume, graph.degrees.sum() - volume)[:n_clusters]
    return np.divide(leaving[:-1], smaller, out=np.zeros(n_clusters), where=smaller > 0)


def _k_means(points, k, seed):
    """Return the cluster of each row, after scaling rows to length 1."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import normalize

    points = normalize(points)
    rng = np.random.default_rng(seed)
    sample = points
    if len(points) > MAX_KMEANS_POINTS:
        sample = points[rng.choice(len(points), MAX_KMEANS_POINTS, replace=False)]
    means = KMeans(k, n_init=10, random_state=int(rng.integers(2**31))).fit(sample)
    return number_by_size(means.predict(points), n_groups=k)


def number_by_size(labels: np.ndarray, *, n_groups: int = 0) -> np.ndarray:
    """Return the labels renumbered from the largest group to the smallest.

    >>> number_by_size(np.array([0, 1, 1, 2, 2, 2]))
    array([2, 1, 1, 0, 0, 0])
    """
    order = np.argsort(-np.bincount(labels, minlength=n_groups), kind="stable")
    return np.argsort(order)[labels]
