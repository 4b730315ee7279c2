"""Cliques of attributes: scales, numbers of cycles, and blocks of edges."""

import numpy as np
import pytest

from graphsqueak.sources.projections.cliques import Cliques


def cliques_of_sizes(*sizes, n_entities=50):
    rng = np.random.default_rng(5)
    members = [rng.choice(n_entities, size, replace=False) for size in sizes]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    cliques = Cliques(starts, np.concatenate(members).astype(np.int32), np.zeros(0), n_entities)
    cliques.set_scale("size")
    return cliques


def test_all_edges_of_small_cliques_are_listed():
    cliques = cliques_of_sizes(1, 2, 5, 10)
    assert cliques.n_edges == 0 + 1 + 10 + 45
    (block,) = cliques.edges(seed=1)
    ends, weight = block
    laplacian = np.zeros((50, 50))
    for (u, v), w in zip(ends, weight, strict=True):
        laplacian[[u, v], [u, v]] += w
        laplacian[[u, v], [v, u]] -= w
    np.testing.assert_allclose(cliques.multiply(np.eye(50)), laplacian, atol=1e-12)


def test_a_sampled_clique_is_a_union_of_cycles():
    cliques = cliques_of_sizes(40)
    cliques.sample_at_degree(6)
    ((ends, weight),) = cliques.edges(seed=1)
    assert cliques.n_cycles.tolist() == [3]
    # Every entity has two edges per cycle, and the total weight is that of the clique.
    assert np.bincount(ends.ravel(), minlength=50)[cliques.members].tolist() == [6] * 40
    np.testing.assert_allclose(weight.sum(), 40 / 2)


@pytest.mark.parametrize("block_size", [1, 7, 1000])
def test_blocks_do_not_change_the_edges(block_size):
    cliques = cliques_of_sizes(40, 3, 25, 2)
    cliques.sample_at_degree(4)
    whole = next(cliques.edges(seed=8))
    blocks = list(cliques.edges(seed=8, block_size=block_size))
    np.testing.assert_array_equal(np.concatenate([ends for ends, _ in blocks]), whole[0])
    np.testing.assert_array_equal(np.concatenate([weight for _, weight in blocks]), whole[1])


@pytest.mark.parametrize("n_columns", [1, 8, 11])
def test_columns_are_multiplied_alike_in_blocks_of_any_size(n_columns):
    cliques = cliques_of_sizes(40, 3, 25, 2)
    X = np.random.default_rng(1).standard_normal((50, n_columns))
    expected = cliques.multiply(X)
    for columns_per_block in (1, 3, 20):
        product = cliques.multiply(X, columns_per_block=columns_per_block)
        np.testing.assert_array_equal(product, expected)


def test_large_attributes_have_no_scale():
    cliques = cliques_of_sizes(40, 3)
    cliques.set_scale("none", max_group_size=10)
    assert (cliques.scale > 0).tolist() == [False, True]
    assert cliques.n_edges == 3
