"""Spectral embedding: nodes as points, from the eigenvectors of the smallest eigenvalues.

With L x = mu D x and 0 < mu_1 <= ... <= mu_k, D the weighted degrees, node u is the point
(x_1(u), ..., x_k(u)). Well-connected nodes are close to each other: x_1 is the smoothest function
on the graph that is not constant. Columns are scaled such that x'D x = 1'D 1, so that 1 is a
typical coordinate. Without normalization, D is the identity, and x'x = 1.

A certificate of a sparsifier H of G, lambda_min <= x'L_H x / x'L_G x <= lambda_max for all x, gives
bounds on the eigenvalues of G. With kappa = lambda_max / lambda_min,

    mu_H / kappa <= mu_G <= kappa mu_H                             normalized: degrees are cuts
    lambda_H / lambda_max <= lambda_G <= lambda_H / lambda_min     not normalized
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.analyzed_graph import AnalyzedGraph
from graphsqueak.analysis.results import TableResult, bound_columns, bound_names
from graphsqueak.errors import InputError, Parameter
from graphsqueak.randomness import RandomState
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real, explain_keywords


@dataclass(frozen=True)
class SpectralEmbedding(TableResult):
    """Points of `spectral_embedding`. `numpy.asarray` returns `points`.

    As a data frame (`to_pandas`, `to_polars`) it has the columns node, x1, x2, ...

    Attributes
    ----------
    points : ndarray of shape (n_nodes, n_components)
        One row per node.
    values : ndarray of shape (n_components,)
        Eigenvalues in ascending order.
    ids : ndarray of shape (n_nodes,)
        Id of each node.
    lower, upper : ndarray of shape (n_components,), or None
        Bounds on the eigenvalues of the graph that was sparsified, if there is a certificate.
    """

    _array = "points"

    points: np.ndarray = field(repr=False)
    values: np.ndarray
    ids: np.ndarray = field(repr=False)
    lower: np.ndarray | None = field(default=None, repr=False)
    upper: np.ndarray | None = field(default=None, repr=False)

    def rows(self) -> list[tuple]:
        """Return number, eigenvalue and bounds of each column."""
        columns = zip(self.values, *bound_columns(self.lower, self.upper), strict=True)
        return [(i + 1, *(f"{x:.4g}" for x in row)) for i, row in enumerate(columns)]

    def _columns(self):
        coordinates = {f"x{i + 1}": column for i, column in enumerate(self.points.T)}
        return {"node": self.ids, **coordinates}

    def _header(self):
        return ("column", "eigenvalue", *bound_names(self.lower))

    def _caption(self):
        n_nodes, k = self.points.shape
        return f"{n_nodes:,} nodes as points of {k} coordinates"


@explain_keywords()
def spectral_embedding(
    graph: GraphLike,
    n_components: int = 2,
    *,
    normalized: bool = True,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    tol: float = 1e-3,
    random_state: RandomState = None,
    progress: Progress = False,
) -> SpectralEmbedding:
    """Embed the nodes by the eigenvectors of the smallest positive eigenvalues of the Laplacian.

    Use it to get coordinates for plots, nearest neighbors or other learning methods. To group the
    nodes, use `spectral_clusters`.

    Parameters
    ----------
    graph : GraphLike
        A file is streamed in several passes. Each component has its own coordinates,
        which are zero on the other components.
    n_components : int
        Number of coordinates.
    normalized : bool
        Solve L x = mu D x, with D the weighted degrees, as spectral clustering does. Otherwise
        L x = lambda x.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    tol : float
        Relative residual of each eigenpair. The error of the points is about `tol` times the
        eigenvalue divided by the gap to the next eigenvalue.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    SpectralEmbedding

    Examples
    --------
    Two triangles joined by an edge are on different sides of 0:

    >>> from graphsqueak import EdgeList
    >>> graph = EdgeList(tail=[0, 1, 2, 3, 4, 5, 0], head=[1, 2, 0, 4, 5, 3, 3])
    >>> embedding = spectral_embedding(graph, 1)
    >>> np.sign(embedding.points[:, 0] * embedding.points[0, 0])
    array([ 1.,  1.,  1., -1., -1., -1.])
    """
    check_count("n_components", n_components)
    check_real("tol", tol, above=0.0, below=1.0)
    analyzed = AnalyzedGraph(graph, n_edges, sparsifier, random_state, progress)
    # Every connected component has an eigenvalue 0.
    n_zero = int(analyzed.components.max(initial=-1)) + 1
    n_positive = analyzed.n_nodes - n_zero
    if n_components > n_positive:
        raise InputError(
            Parameter("n_components", n_components),
            f" is more than the {n_positive} positive eigenvalues of this graph",
        )
    values, vectors = analyzed.eigenpairs(n_components, normalized=normalized, tol=tol)
    # Normalized eigenvalues are ratios of cuts and degrees, as conductances are.
    lower, upper = analyzed.bounds_on(values, "conductances" if normalized else "eigenvalues")
    if normalized:
        vectors = scale_by_degree(vectors, analyzed.degrees)
    return SpectralEmbedding(fix_signs(vectors), values, analyzed.ids, lower, upper)


def scale_by_degree(vectors: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Return D^-1/2 y times the root of the total degree, and 0 at isolated nodes.

    It maps eigenvectors of D^-1/2 L D^-1/2 to solutions of L x = mu D x with x'D x = 1'D 1.

    >>> scale_by_degree(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 1.0, 0.0])).ravel().round(3)
    array([1.414, 2.828, 0.   ])
    """
    root = np.full(degree.size, np.inf)
    root[degree > 0] = np.sqrt(degree[degree > 0] / degree.sum())
    return vectors / root[:, None]


def fix_signs(vectors: np.ndarray) -> np.ndarray:
    """Return the columns with the sign that makes their largest entry positive.

    >>> fix_signs(np.array([[1.0, 2.0], [-3.0, 1.0]]))
    array([[-1.,  2.],
           [ 3.,  1.]])
    """
    if not vectors.size:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
