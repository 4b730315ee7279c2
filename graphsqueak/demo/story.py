"""The demo's story, in the order in which it happens to somebody who is given a dense graph.

The graph is a file. Held as a matrix it would take 24 bytes an edge. It is read once, and a
twentieth of the edges is kept; read again, that twentieth is certified; two more reads make the
labels those of the whole graph, which is held here, once, only to see that. The mails are laid out
by the second and third eigenvectors of the walk D^-1 A, on the graph and on its sparsifier.
"""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphsqueak import datasets
from graphsqueak.demo.study import FEW_NEIGHBORS, KEEP, PASSES, neighbor_count
from graphsqueak.graph import EdgeList
from graphsqueak.sources import neighbor_edges, read_edges, write_edges
from graphsqueak.sparsifiers import Certificate, certify
from graphsqueak.sparsifiers.sparsify import sparsify
from graphsqueak.ssl import SparseHFSClassifier, StableHFSClassifier, UnreachedWarning
from graphsqueak.system.progress import Progress

__all__ = [
    "BYTES_PER_EDGE",
    "Clusters",
    "DenseFile",
    "Labeled",
    "Small",
    "draw_clusters",
    "label_both",
    "make_small",
]

BYTES_PER_EDGE = 24  # of a scipy matrix: a number of 8 bytes and an index of 4, both ways
_N_LABELS = 100
_STEPS = 12  # reads of the certificate: 0.239 is proved; 18 prove 0.233, in half as much time again


@dataclass(frozen=True)
class DenseFile:
    """A graph on disk, and the mails that it joins.

    Attributes
    ----------
    path : Path
    mails : Points
    n_neighbors, n_edges : int
    """

    path: Path
    mails: datasets.Points
    n_neighbors: int
    n_edges: int

    @classmethod
    def write(
        cls, mails: datasets.Points, path: Path, *, progress: Progress = False
    ) -> "DenseFile":
        """Join every mail to a sixth of all others and write the edges."""
        k = neighbor_count(mails)
        source = neighbor_edges(mails.points, k, ids=mails.ids, progress=progress)
        write_edges(source, path)
        return cls(path, mails, k, source.n_edges_read)

    @property
    def given(self) -> np.ndarray:
        """Which mails have a label: a hundred of them, in even steps."""
        n = len(self.mails.labels)
        return np.arange(n) % (n // _N_LABELS) == 0


@dataclass(frozen=True)
class Small:
    """A twentieth of the edges, the seconds of the read, and what is proved about it."""

    sparsifier: EdgeList
    seconds: float
    certificate: Certificate


@dataclass(frozen=True)
class Labeled:
    """Labels of the mails without one, by three ways.

    Attributes
    ----------
    exact, reread, few : float
        Accuracy of all edges held, of a twentieth and three reads, of a graph of 10 neighbors.
    n_given, n_asked, n_different : int
        Mails with a label, mails without, and those that the first two decide differently.
    n_few : int
        Edges of the graph of 10 neighbors.
    seconds : float
        Of the three reads.
    whole : EdgeList
        The graph itself.
    is_spam : ndarray of bool
        What the three reads say of each of its nodes.
    """

    exact: float
    reread: float
    few: float
    n_given: int
    n_asked: int
    n_different: int
    n_few: int
    seconds: float
    whole: EdgeList
    is_spam: np.ndarray


@dataclass(frozen=True)
class Clusters:
    """Two coordinates of every mail, on the graph and on the sparsifier, and which are spam."""

    before: np.ndarray
    after: np.ndarray
    is_spam: np.ndarray


def make_small(dense: DenseFile, *, seed: int | None, progress: Progress = False) -> Small:
    """Read the file once, keep a twentieth, and certify it."""
    began = time.perf_counter()
    kept = sparsify(read_edges(dense.path), keep=KEEP, random_state=seed, progress=progress)
    seconds = time.perf_counter() - began
    certificate = certify(
        read_edges(dense.path), kept, steps=_STEPS, random_state=seed, progress=progress
    )
    return Small(kept, seconds, certificate)


def label_both(dense: DenseFile, *, seed: int | None, progress: Progress = False) -> Labeled:
    """Label from a hundred mails: on the whole graph, with three reads, on few neighbors."""
    mails = dense.mails
    truth = dict(zip(mails.ids.tolist(), mails.labels.tolist(), strict=True))
    y = {name: truth[name] for name in mails.ids[dense.given].tolist()}
    whole = read_edges(dense.path).to_edge_list()
    few = neighbor_edges(mails.points, FEW_NEIGHBORS, ids=mails.ids).to_edge_list()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreachedWarning)  # a mail without a word
        exact = StableHFSClassifier(random_state=seed).fit(whole, y)
        began = time.perf_counter()
        reread = SparseHFSClassifier(
            keep=KEEP, max_passes=PASSES, random_state=seed, progress=progress
        )
        reread.fit(read_edges(dense.path), y)
        seconds = time.perf_counter() - began
        chosen = StableHFSClassifier(random_state=seed).fit(few, y)
    answers = [dict(zip(m.ids_.tolist(), m.transduction_, strict=True)) for m in (exact, reread)]
    asked = [name for name in answers[0] if name not in y]
    return Labeled(
        exact=_accuracy(exact, truth, y),
        reread=_accuracy(reread, truth, y),
        few=_accuracy(chosen, truth, y),
        n_given=len(y),
        n_asked=len(asked),
        n_different=sum(answers[0][name] != answers[1][name] for name in asked),
        n_few=few.n_edges,
        seconds=seconds,
        whole=whole,
        is_spam=np.array([answers[1][name] == 1 for name in whole.ids.tolist()]),
    )


def draw_clusters(labeled: Labeled, sparsifier: EdgeList) -> Clusters:
    """Lay out the nodes by eigenvectors of both graphs; the second turned towards the first."""
    from scipy.linalg import orthogonal_procrustes

    before, after = _spread(labeled.whole), _spread(sparsifier)
    row = {name: number for number, name in enumerate(sparsifier.ids.tolist())}
    after = after[[row[name] for name in labeled.whole.ids.tolist()]]
    turn, _ = orthogonal_procrustes(after, before)
    return Clusters(before, after @ turn, labeled.is_spam)


def _accuracy(model, truth, y):
    pairs = zip(model.ids_.tolist(), model.transduction_.tolist(), strict=True)
    return float(np.mean([truth[name] == label for name, label in pairs if name not in y]))


def _spread(graph):
    """Second and third eigenvectors of the walk, of unit variance."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import eigsh

    adjacency = graph.to_scipy().astype(np.float64)
    scale = 1 / np.sqrt(np.maximum(graph.degrees(), np.finfo(float).tiny))
    walk = diags_array(scale) @ adjacency @ diags_array(scale)
    start = np.random.default_rng(0).random(graph.n_nodes)
    values, vectors = eigsh(walk, k=3, which="LA", v0=start, tol=1e-4)
    places = vectors[:, np.argsort(-values)[1:]] * scale[:, None]
    return places / places.std(axis=0)
