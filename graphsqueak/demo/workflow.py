"""Steps of the demo on a dense graph that is a file.

1. write      the neighbor graph of the mails, 4.2 million edges; a matrix needs 24 bytes per edge
2. sparsify   one pass over the file keeps 5 % of the edges; more passes certify them
3. label      in three passes, with 5 % of the edges in memory; for comparison with all edges in
              memory, and on a graph of 10 neighbors per mail
4. lay out    the mails by the second and third eigenvectors of D^-1 A, on the graph and on its
              sparsifier
"""

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from graphsqueak import sparsify
from graphsqueak.datasets import Points, load_spam
from graphsqueak.graph import EdgeList
from graphsqueak.sources import neighbor_edges, read_edges, write_edges
from graphsqueak.sparsifiers import Certificate, certify
from graphsqueak.ssl import SparseHFSClassifier, StableHFSClassifier, UnreachedWarning
from graphsqueak.system.progress import Progress

__all__ = [
    "KEEP",
    "MAX_PASSES",
    "N_NEIGHBORS_CHOSEN",
    "DenseGraph",
    "Labeled",
    "Layout",
    "Sparsified",
    "label_in_three_ways",
    "lay_out",
    "load_mails",
    "n_neighbors_dense",
    "sparsify_and_certify",
]

# Settings of the demo: fraction of the edges in memory, passes over the file, and neighbors per
# mail of a graph that needs no sparsifier.
KEEP = 0.05
MAX_PASSES = 3
N_NEIGHBORS_CHOSEN = 10


@dataclass(frozen=True)
class DenseGraph:
    """A neighbor graph on disk, and the mails that are its nodes.

    Attributes
    ----------
    path : Path
    mails : Points
    n_neighbors, n_edges : int
    """

    path: Path
    mails: Points
    n_neighbors: int
    n_edges: int

    @classmethod
    def write(cls, mails: Points, path: Path, *, progress: Progress = False) -> "DenseGraph":
        """Join every mail to a sixth of all others and write the edges."""
        n_neighbors = n_neighbors_dense(mails)
        source = neighbor_edges(mails.points, n_neighbors, ids=mails.ids, progress=progress)
        write_edges(source, path)
        return cls(path, mails, n_neighbors, source.n_edges_read)

    @property
    def is_labeled(self) -> np.ndarray:
        """Which mails have a known label: 100 or a few more, evenly spaced."""
        n_mails = len(self.mails.labels)
        return np.arange(n_mails) % (n_mails // 100) == 0


@dataclass(frozen=True)
class Sparsified:
    """A sparsifier, the seconds of its pass, and its certificate."""

    sparsifier: EdgeList
    seconds: float
    certificate: Certificate


@dataclass(frozen=True)
class Labeled:
    """Labels of the mails in three ways.

    Attributes
    ----------
    accuracy_exact, accuracy_sparse, accuracy_chosen : float
        Accuracy with all edges in memory, with 5 % of them and three passes, and on a graph of few
        neighbors.
    n_known, n_predicted, n_different : int
        Mails with a known label, mails without one, and those of them with different labels in the
        first two ways.
    n_edges_chosen : int
        Edges of the graph of few neighbors.
    seconds : float
        Time of the three passes.
    graph : EdgeList
        The dense graph.
    is_spam : ndarray of bool
        Labels of its nodes after three passes.
    """

    accuracy_exact: float
    accuracy_sparse: float
    accuracy_chosen: float
    n_known: int
    n_predicted: int
    n_different: int
    n_edges_chosen: int
    seconds: float
    graph: EdgeList
    is_spam: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Two coordinates of every mail, on the graph and on its sparsifier, and its label."""

    on_graph: np.ndarray
    on_sparsifier: np.ndarray
    is_spam: np.ndarray


def load_mails(*, quick: bool = False) -> Points:
    """Return the shipped mails, or every eighth of them.

    >>> load_mails(quick=True).labels.size
    735
    """
    mails = load_spam()
    step = 8 if quick else 1
    return replace(
        mails,
        points=mails.points[::step],
        labels=mails.labels[::step],
        ids=mails.ids[::step],
    )


def n_neighbors_dense(mails: Points) -> int:
    """Return the number of neighbors per mail in the dense graph: a sixth of all mails."""
    return len(mails.labels) // 6


def sparsify_and_certify(
    dense: DenseGraph, *, seed: int | None, progress: Progress = False
) -> Sparsified:
    """Keep 5 % of the edges in one pass over the file, and certify them in 12 more.

    With 12 passes the certificate proves an error of at most 0.239; with 18 passes, 0.233.
    """
    began = time.perf_counter()
    sparsifier = sparsify(read_edges(dense.path), keep=KEEP, random_state=seed, progress=progress)
    seconds = time.perf_counter() - began
    certificate = certify(
        read_edges(dense.path), sparsifier, steps=12, random_state=seed, progress=progress
    )
    return Sparsified(sparsifier, seconds, certificate)


def label_in_three_ways(
    dense: DenseGraph, *, seed: int | None, progress: Progress = False
) -> Labeled:
    """Label the mails from the known labels: exactly, in three passes, and with few neighbors."""
    mails = dense.mails
    truth = dict(zip(mails.ids.tolist(), mails.labels.tolist(), strict=True))
    known = {name: truth[name] for name in mails.ids[dense.is_labeled].tolist()}
    graph = read_edges(dense.path).to_edge_list()
    few_edges = neighbor_edges(mails.points, N_NEIGHBORS_CHOSEN, ids=mails.ids).to_edge_list()
    with warnings.catch_warnings():
        # A mail without a word has no neighbors.
        warnings.simplefilter("ignore", UnreachedWarning)
        exact = _labels(StableHFSClassifier(random_state=seed).fit(graph, known))
        chosen = _labels(StableHFSClassifier(random_state=seed).fit(few_edges, known))
        sparse_hfs = SparseHFSClassifier(
            keep=KEEP, max_passes=MAX_PASSES, random_state=seed, progress=progress
        )
        began = time.perf_counter()
        sparse_hfs.fit(read_edges(dense.path), known)
        seconds = time.perf_counter() - began
    sparse = _labels(sparse_hfs)

    def accuracy(labels):
        return float(np.mean([truth[name] == labels[name] for name in labels.keys() - known]))

    predicted = exact.keys() - known
    return Labeled(
        accuracy_exact=accuracy(exact),
        accuracy_sparse=accuracy(sparse),
        accuracy_chosen=accuracy(chosen),
        n_known=len(known),
        n_predicted=len(predicted),
        n_different=sum(exact[name] != sparse[name] for name in predicted),
        n_edges_chosen=few_edges.n_edges,
        seconds=seconds,
        graph=graph,
        is_spam=np.array([sparse[name] == 1 for name in graph.ids.tolist()]),
    )


def lay_out(labeled: Labeled, sparsifier: EdgeList) -> Layout:
    """Lay out the nodes by eigenvectors of both graphs, the sparsifier rotated onto the graph."""
    from scipy.linalg import orthogonal_procrustes

    on_graph = _spectral_layout(labeled.graph)
    row = {name: number for number, name in enumerate(sparsifier.ids.tolist())}
    # Files number the nodes in order of appearance.
    order = [row[name] for name in labeled.graph.ids.tolist()]
    on_sparsifier = _spectral_layout(sparsifier)[order]
    # Signs of eigenvectors are arbitrary, and close ones may be rotated.
    rotation, _ = orthogonal_procrustes(on_sparsifier, on_graph)
    return Layout(on_graph, on_sparsifier @ rotation, labeled.is_spam)


def _labels(model):
    return dict(zip(model.ids_.tolist(), model.transduction_.tolist(), strict=True))


def _spectral_layout(graph):
    """Return the second and third eigenvectors of D^-1 A, scaled to unit variance."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    # D^-1 A has the eigenvectors of D^-1/2 A D^-1/2, which is symmetric, times D^-1/2.
    scale = 1 / np.sqrt(np.maximum(graph.degrees(), np.finfo(float).tiny))
    symmetric = diags_array(scale) @ graph.to_scipy().astype(np.float64) @ diags_array(scale)
    start = np.random.default_rng(0).random(graph.n_nodes)
    values, vectors = eigsh(symmetric, k=3, which="LA", v0=start, tol=1e-4)
    places = vectors[:, np.argsort(-values)[1:]] * scale[:, None]
    return places / places.std(axis=0)
