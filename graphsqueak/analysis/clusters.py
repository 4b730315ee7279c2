"""Clusters by eigenvectors, and how well each is cut off.

The rows of the k smallest eigenvectors of D^-1/2 L D^-1/2, those of the eigenvalue zero among them,
are scaled to length 1 and given to k-means [NJW02]. How many clusters there are is told by the gap:
k is where mu_k+1 - mu_k is largest. A cluster S is the better cut off, the smaller its conductance

    phi(S) = weight between S and the rest / total degree of the smaller of the two.

References
----------
[NJW02] Ng, Jordan, Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.
"""

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.embedding import per_root_degree
from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.errors import InputError
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real

__all__ = ["Clusters", "conductances", "spectral_clusters"]

_STARTS = 10  # of k-means
_MOST_POINTS = 50_000  # that k-means looks at; others join the nearest center


@dataclass(frozen=True)
class Clusters:
    """A cluster for every node.

    Attributes
    ----------
    labels : ndarray of shape (n_nodes,)
        0, 1, ..., the largest cluster first; -1 for nodes outside the large components.
    conductance : ndarray of shape (n_clusters,)
        Weight that leaves each cluster, over the total degree of the smaller side.
    values : ndarray
        Eigenvalues of the normalized Laplacian, ascending, a 0 for each large component.
    ids : ndarray of shape (n_nodes,)
        The user's own name of each node.
    low, high : ndarray of shape (n_clusters,), or None
        With a certificate: between them lies the conductance of the same nodes in the graph that
        was sparsified.
    """

    labels: np.ndarray = field(repr=False)
    conductance: np.ndarray
    values: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    low: np.ndarray | None = field(default=None, repr=False)
    high: np.ndarray | None = field(default=None, repr=False)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.labels, dtype=dtype, copy=copy)

    @property
    def n_clusters(self) -> int:
        """How many there are."""
        return self.conductance.size

    @property
    def gap(self) -> float:
        """mu_k+1 - mu_k: near 0, another number of clusters would do as well; NaN if not known."""
        k = self.n_clusters
        return float(self.values[k] - self.values[k - 1]) if self.values.size > k else float("nan")

    def rows(self) -> list[tuple]:
        """Number, size and conductance of every cluster; with a certificate, its two ends."""
        sizes = np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)
        ends = [] if self.low is None or self.high is None else [self.low, self.high]
        columns = zip(sizes, self.conductance, *ends, strict=True)
        return [(i, f"{n:,}", *(f"{x:.3g}" for x in row)) for i, (n, *row) in enumerate(columns)]

    def _header(self):
        proved = () if self.low is None else ("of the graph, at least", "at most")
        return ("cluster", "nodes", "conductance", *proved)

    def _caption(self):
        n_outside = int(np.count_nonzero(self.labels < 0))
        outside = f", {n_outside:,} nodes outside the large components" if n_outside else ""
        return f"{self.n_clusters} clusters, gap {self.gap:.3g}{outside}"

    def __str__(self):
        return f"{self._caption()}\n{text_table(self.rows(), header=self._header())}"

    def _repr_html_(self):
        return html_table(self.rows(), header=self._header(), caption=self._caption())


def spectral_clusters(
    graph: GraphLike,
    k: int | None = None,
    *,
    most: int = 10,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    tol: float = 1e-3,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Clusters:
    """Find clusters by the smallest eigenvectors of the normalized Laplacian.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        A file (`read_edges`) is read some times and never held.
    k : int, optional
        How many. Default: 2 to `most`, where the gap between eigenvalues is largest.
    most : int
        Largest number of clusters to choose, where k is not given.
    n_edges : int, optional
        Size of the sparsifier that helps where the graph is read. Default: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
    tol : float
        Relative residual of the eigenvectors.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Clusters
        The (at most k) largest components are clustered, of those that have at least a twentieth of
        the nodes of the largest; all other nodes are -1.

    Examples
    --------
    >>> from graphsqueak import sources
    >>> graph = sources.block_model(300, 9_000, n_blocks=3, random_state=7).to_edge_list()
    >>> found = spectral_clusters(graph, random_state=7)
    >>> found.n_clusters, [len(set(found.labels[block::3].tolist())) for block in range(3)]
    (3, [1, 1, 1])
    """
    most = check_count("k" if k is not None else "most", most if k is None else k, least=2)
    check_real("tol", tol, above=0.0, below=1.0)
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    inside = opened.large_components(most)
    component = np.unique(opened.components[inside], return_inverse=True)[1]
    n_parts = int(component.max(initial=-1)) + 1
    if np.count_nonzero(inside) < most + 1 or n_parts == 0:
        raise InputError(
            f"{most} clusters are too many for the {np.count_nonzero(inside)} nodes of the large "
            "components; ask for fewer"
        )
    values, vectors = opened.eigenpairs(
        max(most - n_parts + 1, 1), normalized=True, tol=tol, nodes=inside
    )
    values = np.concatenate([np.zeros(n_parts), values])
    if k is None:
        first = max(2, n_parts)
        k = first + int(np.argmax(np.diff(values[first - 1 :])[: max(most - first + 1, 1)]))
    weight = np.sqrt(opened.degrees[inside])
    constant = np.eye(n_parts)[component] * weight[:, None]
    constant /= np.linalg.norm(constant, axis=0)
    points = np.hstack([constant, vectors[inside]])[:, :k]
    points = per_root_degree(points, opened.degrees[inside])
    labels = np.full(opened.n_nodes, -1)
    labels[inside] = _k_means(points, k, opened.seed())
    found, low, high = conductances(opened, labels, k)
    return Clusters(labels, found, values, opened.held.ids, low, high)


def conductances(
    opened: OpenGraph, labels: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Conductance of every cluster, in one pass, and its two ends where there is a certificate."""
    leaving = np.zeros(n_clusters + 1)  # the last for nodes without a cluster, label -1
    for tail, head, weight in opened.batches("measuring clusters"):
        crossing = labels[tail] != labels[head]
        for ends in (tail, head):
            leaving += np.bincount(
                labels[ends[crossing]] % (n_clusters + 1), weight[crossing], n_clusters + 1
            )
    volume = np.bincount(labels % (n_clusters + 1), opened.degrees, n_clusters + 1)
    smaller = np.minimum(volume, opened.degrees.sum() - volume)[:n_clusters]
    found = np.divide(leaving[:-1], smaller, out=np.zeros(n_clusters), where=smaller > 0)
    if opened.certificate is None:
        return found, None, None
    low, high = opened.certificate.bounds_on(found, quantity="conductances")
    return found, low, np.minimum(high, 1.0)


def _k_means(points, k, seed):
    """Numbers of clusters, the largest first."""
    from sklearn.cluster import KMeans

    length = np.linalg.norm(points, axis=1, keepdims=True)
    points = points / np.where(length > 0, length, 1.0)
    rng = np.random.default_rng(seed)
    looked_at = points
    if len(points) > _MOST_POINTS:
        looked_at = points[rng.choice(len(points), _MOST_POINTS, replace=False)]
    means = KMeans(k, n_init=_STARTS, random_state=int(rng.integers(2**31))).fit(looked_at)
    labels = means.predict(points)
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    number = np.empty(k, dtype=np.int64)
    number[order] = np.arange(k)
    return number[labels]
