"""Labeled graphs and points for the benchmarks of classifiers; real ones only where they are."""

import gzip

import numpy as np
import scipy.sparse
from real_data import data_file
from sklearn.neighbors import kneighbors_graph

from graphsqueak.datasets import load_spam
from graphsqueak.sources import neighbor_edges

SEED = 52_361


def neighbors(points, k):
    half = kneighbors_graph(points, k)
    return half.maximum(half.T).tocsr()


def blobs(n):
    rng = np.random.default_rng(SEED)
    truth = (np.arange(n) >= 3 * n // 10).astype(int)
    points = rng.normal(size=(n, 2)) + np.outer(truth, [2.5, 0.0])
    order = rng.permutation(n)
    return points[order], truth[order]


def polblogs():
    z = np.load(data_file("polblogs", "polblogs.npz"))
    parts = (z["adj_data"], z["adj_indices"], z["adj_indptr"])
    half = scipy.sparse.csr_matrix(parts, shape=z["adj_shape"]).astype(float)
    return plain(half), z["labels"].astype(int)


def cora():
    with gzip.open(data_file("planetoid_cora", "edges.txt.gz")) as lines:
        ends = np.loadtxt(lines, dtype=int)
    with gzip.open(data_file("planetoid_cora", "labels.txt.gz")) as lines:
        truth = np.loadtxt(lines, dtype=int)
    shape = (truth.size, truth.size)
    return plain(scipy.sparse.csr_matrix((np.ones(len(ends)), ends.T), shape=shape)), truth


def plain(half):
    both = half.maximum(half.T).tolil()
    both.setdiag(0)
    both = both.tocsr()
    both.eliminate_zeros()
    both.data[:] = 1.0
    return both


def largest_component(graph, truth):
    """Some peers do not return on disconnected graphs."""
    label = scipy.sparse.csgraph.connected_components(graph)[1]
    kept = np.flatnonzero((label == np.bincount(label).argmax()) & (truth >= 0))
    return graph[kept][:, kept].tocsr(), np.unique(truth[kept], return_inverse=True)[1]


def spambase():
    path = data_file("spambase", "spambase.data")
    table = np.unique(np.loadtxt(path, delimiter=","), axis=0)
    table = table[np.random.default_rng(SEED).permutation(len(table))]
    points = np.log1p(table[:, :57])
    return (points - points.mean(axis=0)) / points.std(axis=0), table[:, -1].astype(int)


def spam():
    """The shipped mails."""
    mails = load_spam()
    return mails.points, mails.labels


def spam_graph():
    """By cosines: some mails have no word left, and the origin is near to everything."""
    points, truth = spam()
    return scipy.sparse.csr_matrix(neighbor_edges(points, 10).to_edge_list().to_scipy()), truth


def spambase_graph():
    points, truth = spambase()
    return neighbors(points, 10), truth


def drawn(truth, n_labels, seed, balanced):
    """Labeled nodes, every class among them."""
    rng = np.random.default_rng([SEED, seed, n_labels])
    classes = np.unique(truth)
    if balanced:
        per_class = n_labels // classes.size
        picks = [rng.permutation(np.flatnonzero(truth == c))[:per_class] for c in classes]
        return np.concatenate(picks)
    while True:
        nodes = rng.choice(truth.size, n_labels, replace=False)
        if np.unique(truth[nodes]).size == classes.size:
            return nodes
