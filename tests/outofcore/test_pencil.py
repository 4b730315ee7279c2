"""Products of a streamed graph are those of its matrices."""

import numpy as np

from graphsqueak import EdgeList
from graphsqueak.outofcore import Pencil
from graphsqueak.outofcore.eigenpairs import NormalizedPencil
from graphsqueak.sources import StreamedLaplacian


def weighted(n_nodes=60, n_edges=400, factor=1.0, seed=5):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_nodes, size=(2, n_edges))
    weight = factor * rng.lognormal(sigma=1.0, size=n_edges)
    return EdgeList(tail=ends[0], head=ends[1], weight=weight, n_nodes=n_nodes)


def test_products_of_a_streamed_graph_are_those_of_its_matrices():
    graph = weighted()
    X = np.random.default_rng(2).normal(size=(60, 3))
    laplacian, degree = graph.laplacian().toarray(), graph.degrees()
    read = StreamedLaplacian(graph, graph)
    np.testing.assert_allclose(read.degrees(), degree)
    np.testing.assert_allclose(read.to_dense(), laplacian, atol=1e-12)
    np.testing.assert_allclose(read.multiply(X), laplacian @ X, atol=1e-10)
    pencil = NormalizedPencil(Pencil(graph, graph, np.zeros(60), seed=3), degree)
    scale = 1 / np.sqrt(degree)
    normalized = scale[:, None] * laplacian * scale
    np.testing.assert_allclose(pencil.multiply(X), normalized @ X, atol=1e-9)
    centered = pencil.centered(X)
    np.testing.assert_allclose(np.sqrt(degree) @ centered, 0.0, atol=1e-9)
    solved = pencil.precondition(normalized @ centered)
    np.testing.assert_allclose(solved, centered, atol=0.05 * np.abs(centered).max())
