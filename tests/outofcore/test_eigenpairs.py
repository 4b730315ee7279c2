"""Eigenvectors of a graph that is read: near the dense ones, and as near as is proved."""

import numpy as np
import pytest

from graphsqueak import (
    ConvergenceWarning,
    EdgeList,
    InputError,
    SimpleHFSClassifier,
    read_edges,
    smallest_eigenpairs,
    sources,
    sparsify,
    write_edges,
)
from graphsqueak.outofcore import Pencil
from graphsqueak.solvers.lobpcg import lobpcg
from tests.outofcore.graphs import Counted, examples

SEED = 97_000


def check(graph, values, vectors, tol, wanted):
    """Ritz values: above the true ones, each within its residual of one; vectors orthonormal."""
    n_zero = int(graph.components().max()) + 1
    truth = np.linalg.eigvalsh(graph.laplacian().toarray())
    assert values.shape == (wanted,)
    assert np.abs(vectors.T @ vectors - np.eye(wanted)).max() < 1e-8
    residual = np.linalg.norm(graph.laplacian() @ vectors - vectors * values, axis=0)
    assert (residual <= 1.01 * tol * values).all()
    slack = 1e-9 * truth[-1]
    assert (truth[n_zero : n_zero + wanted] <= values + slack).all()
    assert (np.abs(truth[:, None] - values).min(axis=0) <= residual + slack).all()
    assert np.abs(values / truth[n_zero : n_zero + wanted] - 1).max() <= tol


@pytest.mark.parametrize("name", ["dense", "heavy", "clusters", "grid", "pieces"])
def test_graphs_of_all_kinds(name):
    """From a random start, so that all of the iteration is seen."""
    graph = examples()[name]
    kept = sparsify(graph, keep=0.4, random_state=SEED)
    pencil = Pencil(graph, kept, np.zeros(graph.n_nodes), seed=SEED)
    start = np.random.default_rng(SEED).standard_normal((graph.n_nodes, 9))
    largest = 2 * graph.degrees().max()
    found = lobpcg(pencil, start, 5, tol=1e-5, max_iter=80, largest=largest)
    check(graph, found.values, found.vectors, 1e-5, 5)


def test_a_file_is_read_and_not_held(tmp_path):
    """Three communities: two small eigenvalues, found in few passes."""
    rng = np.random.default_rng(SEED)
    group = np.arange(1200) % 3
    tail, head = rng.integers(1200, size=(2, 60_000))
    stays = (group[tail] == group[head]) | (rng.random(60_000) < 0.02)
    graph = EdgeList(tail=tail[stays], head=head[stays], n_nodes=1200)
    write_edges(graph, tmp_path / "edges.tsv")
    source = Counted(read_edges(tmp_path / "edges.tsv"))
    values, vectors = smallest_eigenpairs(source, 2, tol=1e-4, random_state=SEED)
    assert 2 <= source.n_begun <= 10
    check(graph, values, vectors, 1e-4, 2)  # row i is about the node with id i
    again = smallest_eigenpairs(source, 2, tol=1e-4, random_state=SEED)
    assert again[1].tobytes() == vectors.tobytes()


def test_small_graphs_and_graphs_in_memory():
    graph = examples()["pieces"]
    truth = np.linalg.eigvalsh(graph.laplacian().toarray())
    n_zero = int(graph.components().max()) + 1
    for options in ({}, {"keep": 0.5}, {"sparsifier": graph}):
        values, vectors = smallest_eigenpairs(graph, 6, random_state=SEED, **options)
        np.testing.assert_allclose(values, truth[n_zero : n_zero + 6], rtol=1e-8)
        assert vectors.shape == (graph.n_nodes, 6)
    values, _ = smallest_eigenpairs(graph, 1000, keep=0.5, random_state=SEED)
    assert values.size == graph.n_nodes - n_zero


def test_simple_hfs_on_a_graph_that_is_read(tmp_path):
    """The scores of the graph in memory; sets of classes need no further pass."""
    graph = sources.block_model(1100, 60_000, n_blocks=2, random_state=SEED).to_edge_list()
    write_edges(graph, tmp_path / "edges.tsv")
    labels = {node: node % 2 for node in range(40)}
    held = SimpleHFSClassifier(n_components=1, random_state=SEED).fit(graph, labels)
    source = read_edges(tmp_path / "edges.tsv")
    read = SimpleHFSClassifier(n_components=1, keep=0.3, random_state=SEED).fit(source, labels)
    order = np.argsort(read.ids_)
    assert np.abs(read.scores_[order] - held.scores_).max() <= 1e-2 * np.abs(held.scores_).max()
    assert (read.transduction_[order] == np.arange(1100) % 2).all()
    (tmp_path / "edges.tsv").unlink()
    assert read.prediction_sets(0.2).any(axis=1).all()
    with pytest.raises(InputError, match="are for graphs, not for points"):
        SimpleHFSClassifier(affinity="knn", keep=0.3).fit(np.eye(4), [0, 1, -1, -1])


def test_what_is_wrong_is_said():
    graph = sources.small_world(40, 40, 9000, random_state=SEED).to_edge_list()
    with pytest.warns(ConvergenceWarning, match="after 3 passes, above tol=1e-06; give"):
        smallest_eigenpairs(graph, 3, n_edges=1700, tol=1e-6, max_passes=3, random_state=SEED)
    with pytest.raises(InputError, match="k=0 must be at least 1"):
        smallest_eigenpairs(graph, 0)
    with pytest.raises(InputError, match="it belongs to another graph"):
        smallest_eigenpairs(
            EdgeList(tail=graph.tail, head=graph.head, n_nodes=1610),
            3,
            sparsifier=sources.cycle(1610).to_edge_list(),
        )
