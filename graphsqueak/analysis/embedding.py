"""Nodes as points: the eigenvectors of the smallest eigenvalues of a Laplacian.

With L x = mu D x and 0 < mu_1 <= ... <= mu_k, D the weighted degrees, node u is the point
(x_1(u), ..., x_k(u)); columns are such that x'D x = 1'D 1, so that 1 is a usual coordinate. Plain,
D is I, and x'x = 1. Nodes that are well joined lie near each other: x_1 is the smoothest function
on the graph that is not constant.

A certificate of a sparsifier H of G, all ratios x'L_H x / x'L_G x in [lambda_min, lambda_max],
brackets what was computed on H: with kappa = lambda_max / lambda_min,

    mu_H / kappa <= mu_G <= kappa mu_H                         degrees are cuts, too
    lambda_H / lambda_max <= lambda_G <= lambda_H / lambda_min     plain
"""

from dataclasses import dataclass, field

import numpy as np

from graphsqueak.analysis.open_graph import OpenGraph
from graphsqueak.errors import InputError, Parameter
from graphsqueak.randomness import RandomState
from graphsqueak.report.table import html_table, text_table
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.system.progress import Progress
from graphsqueak.validation import check_count, check_real

__all__ = ["Embedding", "spectral_embedding"]


@dataclass(frozen=True)
class Embedding:
    """Nodes as points.

    Attributes
    ----------
    points : ndarray of shape (n_nodes, k)
        A row for every node. It is also what `numpy.asarray` makes of the embedding.
    values : ndarray of shape (k,)
        The eigenvalues, ascending.
    ids : ndarray of shape (n_nodes,)
        The user's own name of each node.
    low, high : ndarray of shape (k,), or None
        With a certificate: between them lie the eigenvalues of the graph that was sparsified.
    """

    points: np.ndarray = field(repr=False)
    values: np.ndarray
    ids: np.ndarray = field(repr=False)
    low: np.ndarray | None = field(default=None, repr=False)
    high: np.ndarray | None = field(default=None, repr=False)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.points, dtype=dtype, copy=copy)

    def rows(self) -> list[tuple]:
        """Number, eigenvalue and, with a certificate, the two ends of each column."""
        ends = [] if self.low is None or self.high is None else [self.low, self.high]
        columns = zip(self.values, *ends, strict=True)
        return [(i + 1, *(f"{x:.4g}" for x in row)) for i, row in enumerate(columns)]

    def _header(self):
        proved = () if self.low is None else ("of the graph, at least", "at most")
        return ("column", "eigenvalue", *proved)

    def __str__(self):
        n_nodes, k = self.points.shape
        table = text_table(self.rows(), header=self._header())
        return f"{n_nodes:,} nodes as points of {k} coordinates\n{table}"

    def _repr_html_(self):
        n_nodes, k = self.points.shape
        caption = f"{n_nodes:,} nodes as points of {k} coordinates"
        return html_table(self.rows(), header=self._header(), caption=caption)


def spectral_embedding(
    graph: GraphLike,
    k: int = 2,
    *,
    normalized: bool = True,
    n_edges: int | None = None,
    sparsifier: GraphLike | None = None,
    tol: float = 1e-3,
    random_state: RandomState = None,
    progress: Progress = False,
) -> Embedding:
    """Place nodes by the eigenvectors of the k smallest positive eigenvalues of the Laplacian.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        A file (`read_edges`) is read some times and never held. Of several components each has
        coordinates of its own, and zeros in the others.
    k : int
        Coordinates of a point.
    normalized : bool
        By L x = mu D x, D the weighted degrees, which is what clusters are found by; otherwise by
        L x = lambda x.
    n_edges : int, optional
        Size of the sparsifier that helps where the graph is read. Default: for epsilon = 0.5.
    sparsifier : EdgeList or any graph, optional
        One that is there already, with the ids of the graph.
    tol : float
        Relative residual of each pair. The error of the points is about `tol` times the eigenvalue
        over its distance to the next one that is not wanted.
    random_state : int, Generator or None
    progress : bool or callable

    Returns
    -------
    Embedding

    Examples
    --------
    Two triangles joined by an edge lie on either side of 0:

    >>> from graphsqueak import EdgeList
    >>> graph = EdgeList(tail=[0, 1, 2, 3, 4, 5, 0], head=[1, 2, 0, 4, 5, 3, 3])
    >>> embedding = spectral_embedding(graph, 1)
    >>> np.sign(embedding.points[:, 0] * embedding.points[0, 0])
    array([ 1.,  1.,  1., -1., -1., -1.])
    """
    check_count("k", k)
    check_real("tol", tol, above=0.0, below=1.0)
    opened = OpenGraph(graph, n_edges, sparsifier, random_state, progress)
    n_there = opened.n_nodes - int(opened.components.max(initial=-1)) - 1
    if k > n_there:
        raise InputError(
            Parameter("k", k), f" is more than the {n_there} positive eigenvalues of this graph"
        )
    values, vectors = opened.eigenpairs(k, normalized=normalized, tol=tol)
    low, high = eigenvalue_brackets(values, opened.certificate, normalized=normalized)
    if normalized:
        vectors = per_root_degree(vectors, opened.degrees)
    return Embedding(steady_signs(vectors), values, opened.held.ids, low, high)


def eigenvalue_brackets(
    values: np.ndarray, certificate: Certificate | None, *, normalized: bool
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Between what the eigenvalues of the graph lie, or twice None without a certificate."""
    if certificate is None:
        return None, None
    return certificate.bounds_on(values, quantity="conductances" if normalized else "eigenvalues")


def per_root_degree(vectors: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """D^-1/2 y times the root of the total degree, 0 at isolated nodes: 1 is the usual size."""
    root = np.where(degree > 0, np.sqrt(degree / max(degree.sum(), 1e-300)), np.inf)
    return vectors / root[:, None]


def steady_signs(vectors: np.ndarray) -> np.ndarray:
    """Each column with that sign for which its largest entry is positive."""
    if not vectors.size:
        return vectors
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)
