"""Random graphs have the distributions that they are named after, whatever the batch size."""

import numpy as np
import pytest

from graphsqueak import InputError, sources


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (sources.erdos_renyi, (50, 150_000)),
        (sources.block_model, (60, 70_000)),
        (sources.chung_lu, (60, 70_000)),
        (sources.small_world, (20, 20, 500)),
    ],
)
def test_batches_do_not_change_the_stream(make, arguments):
    seed = {"random_state": 806_113_275}
    whole = make(*arguments, **seed).to_edge_list()
    pieces = make(*arguments, batch_size=997, **seed)
    for _ in range(2):
        batches = list(pieces)
        np.testing.assert_array_equal(np.concatenate([b.tail for b in batches]), whole.tail)
        np.testing.assert_array_equal(np.concatenate([b.head for b in batches]), whole.head)
    assert not (whole.tail == whole.head).any()
    assert pieces.n_edges_read == whole.n_edges


def test_erdos_renyi_pairs_are_uniform():
    n, m = 20, 200_000
    graph = sources.erdos_renyi(n, m, random_state=550_931_442).to_edge_list().simplified()
    expected = m / (n * (n - 1) / 2)
    assert graph.n_edges == n * (n - 1) // 2
    assert np.abs(graph.weight - expected).max() < 6 * np.sqrt(expected)


def test_block_model_has_the_fraction_of_edges_within_blocks():
    graph = sources.block_model(40, 100_000, within=0.7, random_state=91_405).to_edge_list()
    fraction = np.mean(graph.tail % 4 == graph.head % 4)
    assert abs(fraction - 0.7) < 6 * np.sqrt(0.21 / 100_000)


def test_chung_lu_degrees_follow_the_power_law():
    graph = sources.chung_lu(1000, 300_000, exponent=3.0, random_state=17_440_921).to_edge_list()
    degree = np.bincount(np.concatenate([graph.tail, graph.head]), minlength=1000)
    probability = np.arange(1, 1001) ** -0.5
    expected = 600_000 * probability / probability.sum()
    assert np.all(
        np.abs(degree - expected)[10:] < 6 * np.sqrt(expected[10:]) + 0.01 * expected[10:]
    )


def test_neighbors_join_the_union_of_nearest_points():
    source = sources.gaussian_neighbors(300, 7, random_state=63_512, batch_size=100)
    graph = source.to_edge_list()
    points = source.points
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    order = np.argsort(distance, axis=1)[:, 1:8]
    expected = {frozenset((i, j)) for i in range(300) for j in order[i]}
    found = [frozenset(pair) for pair in zip(graph.tail.tolist(), graph.head.tolist(), strict=True)]
    assert len(found) == len(set(found))
    assert set(found) == expected
    bandwidth = np.sort(distance, axis=1)[:, 7].mean()
    weight = np.exp(-0.5 * (distance[graph.tail, graph.head] / bandwidth) ** 2)
    np.testing.assert_allclose(graph.weight, weight)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sources.erdos_renyi(1, 5),
        lambda: sources.block_model(10, 5, n_blocks=4),
        lambda: sources.block_model(12, 5, within=1.5),
        lambda: sources.chung_lu(10, 5, exponent=2.0),
        lambda: sources.gaussian_neighbors(5, 5),
    ],
)
def test_impossible_sizes_are_refused(call):
    with pytest.raises(InputError):
        call()
