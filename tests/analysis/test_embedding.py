"""Embeddings, clusters and cuts: eigenvectors of dense algebra, and what is proved from them."""

import numpy as np
import pytest
import scipy.linalg

from graphsqueak import (
    Certificate,
    EdgeList,
    InputError,
    certify,
    smallest_eigenpairs,
    sources,
    sparsify,
)
from graphsqueak.analysis import cut, spectral_clusters, spectral_embedding
from tests.analysis.graphs import SEED, as_file, examples

NAMES = pytest.mark.parametrize("name", ["dense", "blocks", "heavy", "grid", "pieces"])


def normalized(graph):
    degree = graph.degrees()
    root = np.where(degree > 0, np.sqrt(np.where(degree > 0, degree, 1.0)), np.inf)
    return graph.laplacian().toarray() / (root[:, None] * root)


@pytest.fixture(scope="module")
def certified():
    graph = examples()["blocks"]
    kept = sparsify(graph, keep=0.5, random_state=SEED)
    return graph, kept.with_certificate(certify(graph, kept, random_state=SEED))


@NAMES
def test_points_are_eigenvectors(name):
    """L x = mu D x, on a graph that is diagonalized."""
    graph = examples()[name]
    found = spectral_embedding(graph, 3)
    residual = (
        graph.laplacian() @ found.points - graph.degrees()[:, None] * found.points * found.values
    )
    assert np.abs(residual).max() < 1e-7 * graph.degrees().max() * np.abs(found.points).max()
    n_zero = int(graph.components().max()) + 1
    known = np.linalg.eigvalsh(normalized(graph))[n_zero : n_zero + 3]
    np.testing.assert_allclose(found.values, known, rtol=1e-6)
    plain = spectral_embedding(graph, 3, normalized=False)
    known = np.linalg.eigvalsh(graph.laplacian().toarray())[n_zero : n_zero + 3]
    np.testing.assert_allclose(plain.values, known, rtol=1e-6)


@pytest.mark.parametrize("is_normalized", [True, False])
def test_a_large_graph_in_memory_and_read_have_the_same_space(is_normalized, tmp_path):
    """Beyond dense algebra: the largest angle is about tol * value / gap."""
    graph = sources.block_model(1_500, 45_000, n_blocks=3, random_state=SEED).to_edge_list()
    matrix = normalized(graph) if is_normalized else graph.laplacian().toarray()
    values, exact = scipy.linalg.eigh(matrix, subset_by_index=[1, 3])
    exact, gap = exact[:, :2], values[2] - values[1]
    source = as_file(graph, tmp_path)
    for one, options in ((graph, {}), (source, {"n_edges": 9_000})):
        found = spectral_embedding(
            one, 2, normalized=is_normalized, tol=1e-4, random_state=SEED, **options
        )
        scale = np.sqrt(graph.degrees()) if is_normalized else np.ones(graph.n_nodes)
        points = np.empty_like(found.points)
        points[found.ids] = found.points
        basis = np.linalg.qr(scale[:, None] * points)[0]
        angle = scipy.linalg.subspace_angles(exact, basis).max()
        assert angle < 3 * 1e-4 * values[1] / gap
        np.testing.assert_allclose(found.values, values[:2], rtol=1e-4)


@pytest.mark.parametrize("name", ["clusters", "grid", "weights", "pieces"])
@pytest.mark.parametrize("is_normalized", [True, False])
def test_products_and_solves_find_the_pairs_of_dense_algebra(name, is_normalized):
    rng = np.random.default_rng(SEED)
    graph = {
        "clusters": lambda: sources.block_model(1_200, 20_000, random_state=SEED).to_edge_list(),
        "grid": lambda: sources.grid(40, 30).to_edge_list(),
        "weights": lambda: sources.small_world(35, 35, 4_000, random_state=SEED).to_edge_list(),
        "pieces": lambda: sources.block_model(1_200, 20_000, random_state=SEED).to_edge_list(),
    }[name]()
    n_nodes = 1_300 if name == "pieces" else graph.n_nodes
    weight = 10.0 ** rng.uniform(-1, 1, graph.n_edges)
    graph = EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=n_nodes)
    matrix = normalized(graph) if is_normalized else graph.laplacian().toarray()
    n_zero = int(graph.components().max()) + 1
    known = np.linalg.eigvalsh(matrix)[n_zero : n_zero + 4]
    values, vectors = smallest_eigenpairs(
        graph, 4, normalized=is_normalized, tol=1e-5, random_state=3
    )
    np.testing.assert_allclose(values, known, rtol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-6)
    residual = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert (residual < 2e-4 * np.maximum(values, 1e-3)).all()


def test_brackets_hold_the_eigenvalues_and_conductances_of_the_graph(certified):
    graph, kept = certified
    for is_normalized, matrix in ((True, normalized(graph)), (False, graph.laplacian().toarray())):
        found = spectral_embedding(kept, 5, normalized=is_normalized)
        known = np.linalg.eigvalsh(matrix)[1:6]
        assert (found.low < known).all()
        assert (known < found.high).all()
    clusters = spectral_clusters(kept, 4, random_state=SEED)
    known = [conductance(graph, clusters.labels == label) for label in range(4)]
    assert (clusters.low < known).all()
    assert (known < clusters.high).all()
    found = cut(kept)
    known = conductance(graph, found.side == 1)
    assert found.low < known < found.high
    weight = graph.weight @ (found.side[graph.tail] != found.side[graph.head])
    assert found.low_weight < weight < found.high_weight
    assert "conductance in the graph" in str(found)
    assert "at most" in clusters._repr_html_()


def conductance(graph, side):
    degree = graph.degrees()
    weight = graph.weight @ (side[graph.tail] != side[graph.head])
    return weight / min(degree[side].sum(), degree[~side].sum())


def test_the_gap_tells_how_many_blocks_there_are(tmp_path):
    """Also on a file, and beside dust."""
    for n_blocks in (2, 3, 5):
        n_nodes = 100 * n_blocks
        graph = sources.block_model(
            n_nodes, 30 * n_nodes, n_blocks=n_blocks, within=0.7, random_state=SEED
        ).to_edge_list()
        dust = [n_nodes, n_nodes + 1]
        tail, head = np.append(graph.tail, dust[0]), np.append(graph.head, dust[1])
        graph = EdgeList(tail=tail, head=head, n_nodes=n_nodes + 3)
        found = spectral_clusters(graph, random_state=SEED)
        assert found.n_clusters == n_blocks
        assert found.labels[n_nodes:].tolist() == [-1, -1, -1]
        blocks = [found.labels[block:n_nodes:n_blocks] for block in range(n_blocks)]
        assert sorted(int(one[0]) for one in blocks) == list(range(n_blocks))
        assert all((one == one[0]).all() for one in blocks)
        for label in range(n_blocks):
            known = conductance(graph, found.labels == label)
            assert found.conductance[label] == pytest.approx(known)
        assert found.gap > 0.1
    read = spectral_clusters(as_file(graph, tmp_path), n_edges=4_000, random_state=SEED)
    order = np.argsort(read.ids)
    assert read.n_clusters == 5
    assert (
        len({*zip(read.labels[order].tolist(), found.labels[: order.size].tolist(), strict=True)})
        == 6
    )


def test_components_are_clusters_where_they_are_large():
    blocks = [sources.complete(30).to_edge_list()] * 3
    tail = np.concatenate([one.tail + 30 * i for i, one in enumerate(blocks)])
    head = np.concatenate([one.head + 30 * i for i, one in enumerate(blocks)])
    found = spectral_clusters(EdgeList(tail=tail, head=head), random_state=SEED)
    assert found.n_clusters == 3
    assert len(set(zip(np.repeat([0, 1, 2], 30).tolist(), found.labels.tolist(), strict=True))) == 3
    assert found.conductance.tolist() == [0.0] * 3


@NAMES
def test_a_cut_is_the_best_of_the_sweep_and_cheegers(name):
    graph = examples()[name]
    found = cut(graph)
    inside = found.side >= 0
    order = np.flatnonzero(inside)[np.argsort(found.fiedler[inside], kind="stable")]
    tried = []
    for size in range(1, order.size):
        side = np.zeros(graph.n_nodes, dtype=bool)
        side[order[:size]] = True
        weight = graph.weight @ (side[graph.tail] != side[graph.head])
        degree = graph.degrees()
        tried.append(weight / min(degree[side].sum(), degree[inside & ~side].sum()))
    assert found.conductance == pytest.approx(min(tried))
    assert found.least <= found.conductance <= np.sqrt(4 * found.least / (1 - 1e-3)) + 1e-12


def test_a_cut_of_a_file_is_that_of_the_graph(tmp_path):
    graph = sources.barbell(40).to_edge_list()
    found = cut(as_file(graph, tmp_path), n_edges=400, random_state=SEED)
    assert found.weight == 1.0
    assert int((found.side == 1).sum()) == 40
    halved = cut(sources.grid(20, 5).to_edge_list(), balance=0.45)
    assert halved.volume >= 0.45 * sources.grid(20, 5).to_edge_list().degrees().sum()


def test_what_is_wrong_is_said():
    path = sources.path(5).to_edge_list()
    with pytest.raises(InputError, match="k=5 is more than the 4 positive eigenvalues"):
        spectral_embedding(path, 5)
    with pytest.raises(InputError, match="k=1 must be at least 2"):
        spectral_clusters(path, 1)
    with pytest.raises(InputError, match="7 clusters are too many for the 5 nodes"):
        spectral_clusters(path, 7)
    with pytest.raises(InputError, match="the graph has no edge"):
        cut(EdgeList(tail=[], head=[], n_nodes=3))


def test_a_common_factor_changes_no_conductance():
    """Twice all weights, both lambdas 2: what is a ratio is known exactly, a cut is halved."""
    graph = examples()["blocks"]
    double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    found = cut(double.with_certificate(Certificate(1.0, 1.0, 2.0, 2.0, delta=0.0)))
    assert found.low == pytest.approx(found.conductance, rel=1e-6)
    assert found.high == pytest.approx(found.conductance, rel=1e-6)
    assert found.low_weight == pytest.approx(found.weight / 2, rel=1e-6)


def test_normalized_points_have_the_usual_size_one():
    """D^-1/2 y sqrt(total degree): their squares, weighed by degrees, have the mean one."""
    graph = sources.block_model(60, 900, random_state=3).to_edge_list()
    points = spectral_embedding(graph, 3, random_state=3).points
    share = graph.degrees() / graph.degrees().sum()
    np.testing.assert_allclose(share @ points**2, 1.0, rtol=1e-4)
    np.testing.assert_allclose(share @ points, 0.0, atol=1e-4)
