"""Steps of the demo on a dense graph that is a file.

1. write      the neighbor graph of the mails, 4.2 million edges; a matrix needs 24 bytes per edge
2. sparsify   one pass over the file keeps 5 % of the edges; another pass measures their error
3. compare    cuts of the graph, of the sparsifier and of as many random edges, in one more pass
4. label      in three passes, with 5 % of the edges in memory; for comparison with all edges in
              memory, on the sparsifier, on random edges, and on a graph of 10 neighbors per mail
5. lay out    the mails by the second and third eigenvectors of D^-1 A, on the graph, on its
              sparsifier and on random edges, aligned by Procrustes' method
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
from graphsqueak.sparsifiers import (
    Certificate,
    CutComparison,
    certify,
    compare_cuts,
    uniform_sparsifier,
)
from graphsqueak.ssl import SparseHFSClassifier, StableHFSClassifier, UnreachedWarning
from graphsqueak.system.progress import Progress

__all__ = [
    "KEEP",
    "MAX_PASSES",
    "N_NEIGHBORS_CHOSEN",
    "DenseGraph",
    "Labeled",
    "Labeling",
    "Layout",
    "Sparsified",
    "label_in_several_ways",
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
    """A sparsifier, the file that it is written to, the seconds of its pass, and its errors."""

    sparsifier: EdgeList
    path: Path
    seconds: float
    certificate: Certificate
    cuts: CutComparison


@dataclass(frozen=True)
class Labeling:
    """How the mails without a known label are labeled in one way.

    Attributes
    ----------
    n_edges : int
        Edges in memory.
    accuracy : float
    n_different : int
        Labels that differ from those with all edges in memory.
    """

    n_edges: int
    accuracy: float
    n_different: int


@dataclass(frozen=True)
class Labeled:
    """Labels of the mails in several ways.

    Attributes
    ----------
    exact, three_passes, sparsifier, random_edges, few_neighbors : Labeling
        With all edges in memory, with 5 % of them and three passes, on the sparsifier, on as many
        random edges, and on a graph of few neighbors.
    n_known, n_predicted : int
        Mails with a known label, and mails without one.
    seconds : float
        Time of the three passes.
    graph, random_graph : EdgeList
        The dense graph, and random edges of it, with the nodes in the same order.
    is_spam : ndarray of bool
        Labels of its nodes after three passes.
    """

    exact: Labeling
    three_passes: Labeling
    sparsifier: Labeling
    random_edges: Labeling
    few_neighbors: Labeling
    n_known: int
    n_predicted: int
    seconds: float
    graph: EdgeList
    random_graph: EdgeList
    is_spam: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Two coordinates of every mail on three graphs, and its label.

    Attributes
    ----------
    on_graph, on_sparsifier, on_random_edges : ndarray (n, 2)
        Centered and of norm 1. The last two are aligned with the first.
    similarity_of_sparsifier, similarity_of_random_edges : float
        Inner product with the coordinates on the graph, which is 1 if they are equal.
    is_spam : ndarray of bool (n,)
    """

    on_graph: np.ndarray
    on_sparsifier: np.ndarray
    on_random_edges: np.ndarray
    similarity_of_sparsifier: float
    similarity_of_random_edges: float
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
    dense: DenseGraph, path: Path, *, seed: int, progress: Progress = False
) -> Sparsified:
    """Keep 5 % of the edges in one pass over the file, write them, and measure their errors."""
    began = time.perf_counter()
    sparsifier = sparsify(read_edges(dense.path), keep=KEEP, random_state=seed, progress=progress)
    seconds = time.perf_counter() - began
    write_edges(sparsifier, path)
    certificate = certify(read_edges(dense.path), sparsifier, random_state=seed, progress=progress)
    cuts = compare_cuts(
        read_edges(dense.path), sparsifier, n_edges=dense.n_edges, seed=seed, progress=progress
    )
    return Sparsified(sparsifier, path, seconds, certificate, cuts)


def label_in_several_ways(
    dense: DenseGraph, sparsifier: EdgeList, *, seed: int, progress: Progress = False
) -> Labeled:
    """Label the mails from the known labels: with all edges, and with few of them in four ways."""
    mails = dense.mails
    truth = dict(zip(mails.ids.tolist(), mails.labels.tolist(), strict=True))
    known = {name: truth[name] for name in mails.ids[dense.is_labeled].tolist()}
    graph = read_edges(dense.path).to_edge_list()
    random_graph = uniform_sparsifier(graph, sparsifier.n_edges, seed=seed)
    few_edges = neighbor_edges(mails.points, N_NEIGHBORS_CHOSEN, ids=mails.ids).to_edge_list()

    def labels_in_memory(edges):
        return _labels(StableHFSClassifier(random_state=seed).fit(edges, known))

    with warnings.catch_warnings():
        # A mail without a word has no neighbors.
        warnings.simplefilter("ignore", UnreachedWarning)
        exact = labels_in_memory(graph)
        on_sparsifier = labels_in_memory(sparsifier)
        on_random_edges = labels_in_memory(random_graph)
        on_few_edges = labels_in_memory(few_edges)
        sparse_hfs = SparseHFSClassifier(
            keep=KEEP, max_passes=MAX_PASSES, random_state=seed, progress=progress
        )
        began = time.perf_counter()
        sparse_hfs.fit(read_edges(dense.path), known)
        seconds = time.perf_counter() - began
    three_passes = _labels(sparse_hfs)
    predicted = exact.keys() - known

    def labeling(labels, n_edges):
        return Labeling(
            n_edges=n_edges,
            accuracy=float(
                np.mean([truth[name] == labels[name] for name in labels.keys() - known])
            ),
            n_different=sum(exact[name] != labels[name] for name in predicted),
        )

    return Labeled(
        exact=labeling(exact, graph.n_edges),
        three_passes=labeling(three_passes, sparse_hfs.n_edges_used_),
        sparsifier=labeling(on_sparsifier, sparsifier.n_edges),
        random_edges=labeling(on_random_edges, random_graph.n_edges),
        few_neighbors=labeling(on_few_edges, few_edges.n_edges),
        n_known=len(known),
        n_predicted=len(predicted),
        seconds=seconds,
        graph=graph,
        random_graph=random_graph,
        is_spam=np.array([three_passes[name] == 1 for name in graph.ids.tolist()]),
    )


def lay_out(labeled: Labeled, sparsifier: EdgeList) -> Layout:
    """Lay out the nodes by eigenvectors of three graphs, two of them aligned with the first."""
    on_graph = _spectral_layout(labeled.graph)
    row = {name: number for number, name in enumerate(sparsifier.ids.tolist())}
    # Files number the nodes in order of appearance.
    order = [row[name] for name in labeled.graph.ids.tolist()]
    on_sparsifier, similarity = _align(_spectral_layout(sparsifier)[order], on_graph)
    on_random, random_similarity = _align(_spectral_layout(labeled.random_graph), on_graph)
    return Layout(
        on_graph=on_graph,
        on_sparsifier=on_sparsifier,
        on_random_edges=on_random,
        similarity_of_sparsifier=similarity,
        similarity_of_random_edges=random_similarity,
        is_spam=labeled.is_spam,
    )


def _align(places, target):
    """Return `places` rotated as close to `target` as possible, and their inner product."""
    from scipy.linalg import orthogonal_procrustes

    # Signs of eigenvectors are arbitrary, and close ones may be rotated.
    rotation, similarity = orthogonal_procrustes(places, target)
    return places @ rotation, float(similarity)


def _labels(model):
    return dict(zip(model.ids_.tolist(), model.transduction_.tolist(), strict=True))


def _spectral_layout(graph):
    """Return the second and third eigenvectors of D^-1 A as columns, centered and of norm 1."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    # D^-1 A has the eigenvectors of D^-1/2 A D^-1/2, which is symmetric, times D^-1/2.
    degrees = graph.degrees()
    # Random edges may leave a node without edges, which is laid out at the center.
    scale = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    symmetric = diags_array(scale) @ graph.to_scipy().astype(np.float64) @ diags_array(scale)
    start = np.random.default_rng(0).random(graph.n_nodes)
    values, vectors = eigsh(symmetric, k=3, which="LA", v0=start, tol=1e-4)
    places = vectors[:, np.argsort(-values)[1:]] * scale[:, None]
    centered = places - places.mean(axis=0)
    # Both coordinates have the same weight.
    return centered / (np.linalg.norm(centered, axis=0) * np.sqrt(2))
