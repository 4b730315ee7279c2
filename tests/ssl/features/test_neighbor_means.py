"""Means over neighbors of graphs in memory, files and pair tables agree with a dense product."""

import io

import numpy as np
import pytest
import scipy.sparse

import graphsqueak as gs
from graphsqueak.ssl.features.neighbor_means import neighbor_features
from graphsqueak.ssl.features.neighborhood import Neighborhood, limit_row_entries
from tests.ssl.graphs import random_graph


class CountedPasses(gs.sources.EdgeSource):
    """A source that counts how often it is read."""

    def __init__(self, source):
        super().__init__()
        self._source = source
        self.n_passes = 0

    def _batches(self):
        self.n_passes += 1
        yield from self._source.batches()


def dense_means(graph, X):
    adjacency = graph.to_scipy().toarray()
    degrees = adjacency.sum(axis=1, keepdims=True)
    return np.where(degrees > 0, adjacency @ X / np.where(degrees > 0, degrees, 1), X)


def points(n_nodes, seed=81_337):
    return np.random.default_rng(seed).normal(size=(n_nodes, 3)) + 5


def test_columns_are_those_of_the_dense_product():
    graph, X = random_graph(5_113), points(30)
    one = dense_means(graph, X)
    spread = np.sqrt(dense_means(graph, X**2) - one**2)
    two = dense_means(graph, one)
    got = gs.NeighborMeans(hops=2).fit_transform(X, graph=graph)
    np.testing.assert_allclose(got[:, :9], np.column_stack([X, one, spread]), atol=1e-9)
    np.testing.assert_allclose(got[:, 9:12], two, atol=1e-9)
    plain = gs.NeighborMeans(hops=2, deviations=False).fit(X)
    assert plain.transform(X, graph).shape == (30, 9)
    assert plain.get_feature_names_out(["a", "b", "c"])[3:5].tolist() == ["mean1_a", "mean1_b"]


def test_a_file_is_read_once_per_hop_whatever_the_order_of_its_nodes(tmp_path):
    graph, X = random_graph(77_003), points(30)
    names = np.array([f"n{number}" for number in range(30)])
    named = gs.EdgeList(
        tail=graph.tail, head=graph.head, weight=graph.weight, n_nodes=30, ids=names
    )
    gs.write_edges(named, tmp_path / "edges.tsv")
    order = np.random.default_rng(3).permutation(30)
    source = CountedPasses(gs.read_edges(tmp_path / "edges.tsv"))
    neighborhood = Neighborhood(source, 30, names[order])
    source.n_passes = 0
    got = neighborhood.means(neighborhood.means(X[order]))
    np.testing.assert_allclose(got, dense_means(graph, dense_means(graph, X))[order], atol=1e-9)
    assert source.n_passes == 2


def test_pairs_are_averaged_without_their_graph():
    rng = np.random.default_rng(60_211)
    table = "".join(f"a{rng.integers(40)},d{rng.integers(9)}\n" for _ in range(150))
    pairs = gs.read_projection(io.BytesIO(table.encode()), header=False)
    graph = pairs.to_edge_list()
    X = points(graph.n_nodes)
    got = gs.NeighborMeans(hops=2).fit_transform(X, graph=pairs, ids=graph.ids)
    in_memory = gs.NeighborMeans().fit_transform(X, graph=graph, ids=graph.ids)
    np.testing.assert_allclose(got, in_memory, atol=1e-9)


def test_rows_that_do_not_match_the_graph_are_refused():
    graph, X = random_graph(5_113), points(30)
    with pytest.raises(gs.InputError, match="29 rows of features for 30 nodes"):
        gs.NeighborMeans().fit_transform(X[:29], graph=graph)
    with pytest.raises(gs.InputError, match="needs the graph"):
        gs.NeighborMeans().fit_transform(X)
    with pytest.raises(gs.InputError, match="has no row of features"):
        gs.NeighborMeans().fit_transform(X, graph=graph, ids=np.arange(30) + 1)


def test_propagated_features_are_those_of_dense_walks():
    graph, X = random_graph(5_113), points(30)
    steps = [X]
    for _ in range(3):
        steps.append(dense_means(graph, steps[-1]))
    expected = 0.25 * (steps[0] + 0.75 * steps[1] + 0.75**2 * steps[2]) + 0.75**3 * steps[3]
    neighborhood = Neighborhood(graph, 30)
    for features in (X, scipy.sparse.csr_matrix(X)):
        found = neighbor_features(neighborhood, features, hops=1, deviations=False, n_steps=3)
        propagated = found.propagated
        if scipy.sparse.issparse(features):
            propagated = propagated.toarray()
        np.testing.assert_allclose(propagated, expected, atol=1e-12)
        assert found.neighbors.shape == (30, 6)


@pytest.mark.parametrize("is_projection", [False, True])
def test_sparse_features_have_the_means_of_dense_ones(tmp_path, is_projection):
    graph = random_graph(77_003)
    gs.write_edges(graph, tmp_path / "edges.tsv")
    sources = [graph, gs.read_edges(tmp_path / "edges.tsv")]
    if is_projection:
        rng = np.random.default_rng(60_211)
        table = "".join(f"{rng.integers(30)},d{rng.integers(9)}\n" for _ in range(150))
        sources = [gs.read_projection(io.BytesIO(table.encode()), header=False)]
    X = scipy.sparse.random(30, 400, density=0.05, format="csr", random_state=7)
    for source in sources:
        ids = source.to_edge_list().ids if is_projection else range(30)
        sparse = gs.NeighborMeans().fit_transform(X, graph=source, ids=ids)
        dense = gs.NeighborMeans().fit_transform(X.toarray(), graph=source, ids=ids)
        assert scipy.sparse.issparse(sparse)
        # Square roots of rounding errors of 1e-16.
        np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-7)


def test_long_sparse_rows_lose_their_smallest_entries_only():
    rng = np.random.default_rng(41)
    matrix = scipy.sparse.csr_array(rng.pareto(1.0, size=(20, 300)))
    before = matrix.toarray()
    limited = limit_row_entries(matrix, max_entries=100).toarray()
    np.testing.assert_array_equal(matrix.toarray(), before)
    is_kept = limited > 0
    np.testing.assert_array_equal(limited[is_kept], before[is_kept])
    assert (is_kept.sum(axis=1) <= 100).all()
    assert (before[~is_kept] < np.repeat(before.sum(axis=1) / 100, (~is_kept).sum(axis=1))).all()
    short = scipy.sparse.csr_array(before[:, :100])
    np.testing.assert_array_equal(
        limit_row_entries(short, max_entries=100).toarray(), before[:, :100]
    )


def test_a_node_without_neighbors_keeps_its_features():
    graph = gs.EdgeList(tail=[0], head=[1], n_nodes=3)
    X = np.array([[1.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    for features in (X, scipy.sparse.csr_matrix(X)):
        means = gs.NeighborMeans(hops=1, deviations=False).fit_transform(features, graph=graph)
        if scipy.sparse.issparse(means):
            means = means.toarray()
        np.testing.assert_allclose(means[:, 2:], X[[1, 0, 2]], atol=1e-12)
