"""The samplers to compare with are unbiased and of the asked size."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources, sparsify
from tests import reference


def weighted(n_nodes=14, n_edges=400, seed=141_421):
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    return EdgeList(tail=tail, head=head, weight=rng.uniform(0.5, 2, n_edges), n_nodes=n_nodes)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["batch", "uniform", "kors"])
def test_the_mean_laplacian_is_the_graphs_own(method):
    graph = weighted()
    expected = graph.laplacian().toarray()
    runs = np.array(
        [
            sparsify(graph, n_edges=50, method=method, random_state=seed).laplacian().toarray()
            for seed in range(2000)
        ]
    )
    sigma = runs.std(axis=0) / np.sqrt(len(runs))
    assert np.all(np.abs(runs.mean(axis=0) - expected) < 6 * sigma + 1e-9)


@pytest.mark.parametrize("method", ["batch", "uniform"])
def test_the_expected_size_is_the_asked_one(method):
    graph = sources.erdos_renyi(300, 40_000, random_state=1).to_edge_list()
    result = sparsify(graph, n_edges=4000, method=method, random_state=2)
    assert abs(result.n_edges - 4000) < 6 * np.sqrt(4000)


def test_resistances_save_the_bridge_that_uniform_sampling_loses():
    graph = sources.barbell(60).to_edge_list()
    batch = sparsify(graph, n_edges=700, method="batch", random_state=3)
    uniform = sparsify(graph, n_edges=700, method="uniform", random_state=3)
    assert batch.components().max() == 0
    assert uniform.components().max() > 0
    stream = sparsify(graph, n_edges=700, random_state=3)
    assert reference.epsilon(graph, stream) < reference.epsilon(graph, batch)


def test_insertion_only_keeps_about_what_was_asked():
    graph = sources.erdos_renyi(200, 60_000, random_state=4).to_edge_list()
    result = sparsify(graph, n_edges=6000, method="kors", random_state=5)
    assert 0.5 * 6000 < result.n_edges < 2 * 6000
    assert reference.epsilon(graph, result) < 1


def test_unknown_methods_are_refused():
    with pytest.raises(InputError, match="not one of"):
        sparsify(weighted(), n_edges=50, method="magic")


@pytest.mark.parametrize("n_edges", [1, 2, 3])
def test_kors_ends_however_few_edges_are_asked_for(n_edges):
    one = EdgeList(tail=[0], head=[1])
    assert sparsify(one, n_edges=n_edges, method="kors", random_state=1).n_edges == 1
    graph = sources.complete(12).to_edge_list()
    assert 1 <= sparsify(graph, n_edges=n_edges, method="kors", random_state=1).n_edges <= 66
