"""Low-stretch spanning forests: they span all components, and their stretch is low."""

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

from graphsqueak import EdgeList, sources
from graphsqueak.graph.forest import make_sets, path_resistances, union_edges
from graphsqueak.sparsifiers import low_stretch_forest
from graphsqueak.sparsifiers.subgraph.low_stretch_forest import (
    cluster_forest,
    effective_weight_forest,
    total_stretch,
)


def parts(seed):
    """Weighted, in a few components of very different sizes, an isolated node among them."""
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(80, size=(2, 300))
    inside = (tail < 60) == (head < 60)
    weight = 10.0 ** rng.uniform(-3, 3, size=300)
    graph = EdgeList(tail=tail[inside], head=head[inside], weight=weight[inside], n_nodes=81)
    return graph.simplified()


@pytest.mark.parametrize("seed", [31_415, 31_416, 31_417])
def test_a_forest_has_the_components_of_its_graph_and_no_cycle(seed):
    graph = parts(seed)
    mask = low_stretch_forest(graph, random_state=seed)
    forest = EdgeList.from_validated(graph.tail[mask], graph.head[mask], graph.weight[mask], 81)
    np.testing.assert_array_equal(forest.components(), graph.components())
    assert mask.sum() == 81 - np.unique(graph.components()).size


@pytest.mark.parametrize("seed", [31_415, 31_416])
def test_path_resistances_are_distances_in_the_forest(seed):
    graph = parts(seed)
    mask = np.zeros(graph.n_edges, dtype=bool)
    order = np.random.default_rng(seed).permutation(graph.n_edges)
    mask[order] = union_edges(make_sets(81), graph.tail[order], graph.head[order])
    length = EdgeList.from_validated(graph.tail[mask], graph.head[mask], 1 / graph.weight[mask], 81)
    distance = dijkstra(length.to_scipy(), directed=False)
    ends = (graph.tail, graph.head, graph.weight)
    np.testing.assert_allclose(
        path_resistances(*ends, mask, 81), distance[graph.tail, graph.head], rtol=1e-9
    )


def test_the_stretch_of_a_grid_grows_like_a_logarithm():
    """Doubling the side adds to the mean stretch; of a comb, or a search from a corner, it doubles.

    A comb's mean stretch on 128 x 128 is about 128 / 3 / 2; ours is a third of that at most.
    """
    mean = {}
    for side in (32, 128):
        grid = sources.grid(side, side).to_edge_list()
        mask = low_stretch_forest(grid, random_state=5)
        mean[side] = total_stretch(grid, mask) / grid.n_edges
    assert mean[128] < 2 * mean[32]
    assert mean[128] < 128 / 3 / 2


def test_heavy_edges_are_in_the_forest():
    """Of a grid with lognormal weights, little more than a maximal forest's stretch is left."""
    grid = sources.grid(40, 40).to_edge_list()
    weight = np.random.default_rng(6).lognormal(sigma=3.0, size=grid.n_edges)
    graph = EdgeList(tail=grid.tail, head=grid.head, weight=weight)
    mask = low_stretch_forest(graph, random_state=6)
    heaviest = np.argsort(-weight, kind="stable")
    maximal = np.zeros(graph.n_edges, dtype=bool)
    ends = (graph.tail[heaviest], graph.head[heaviest])
    maximal[heaviest] = union_edges(make_sets(graph.n_nodes), *ends)
    assert total_stretch(graph, mask) < 1.2 * total_stretch(graph, maximal)


def test_weights_may_span_many_decades():
    graph = parts(31_418)
    wide = graph.weight ** (100 / 3)  # a hundred decades either way
    spread = EdgeList.from_validated(graph.tail, graph.head, wide, graph.n_nodes)
    assert (
        low_stretch_forest(spread, random_state=1).sum() == 81 - np.unique(graph.components()).size
    )


def test_both_forests_follow_the_weights():
    """A spanning tree that weighs a million times as much as the other edges is the forest."""
    rng = np.random.default_rng(88)
    child = np.arange(1, 300)
    above = (rng.random(299) * child).astype(int)
    tail, head = rng.integers(300, size=(2, 3000))
    apart = tail != head
    graph = EdgeList(
        tail=np.r_[child, tail[apart]],
        head=np.r_[above, head[apart]],
        weight=np.r_[np.full(299, 1e6), np.ones(apart.sum())],
    ).simplified()
    heavy = graph.weight > 1e5
    assert heavy.sum() == 299
    np.testing.assert_array_equal(effective_weight_forest(graph), heavy)
    np.testing.assert_array_equal(cluster_forest(graph, random_state=3), heavy)


def test_the_forest_of_less_weighted_stretch_is_taken():
    chosen = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        base = sources.grid(45, 45).to_edge_list() if seed % 2 else parts(seed)
        weight = rng.lognormal(sigma=rng.uniform(0, 2), size=base.n_edges)
        graph = EdgeList.from_validated(base.tail, base.head, weight, base.n_nodes)
        both = [cluster_forest(graph, random_state=seed), effective_weight_forest(graph)]
        stretch = [total_stretch(graph, mask) for mask in both]
        chosen.add(int(np.argmin(stretch)))
        found = low_stretch_forest(graph, random_state=seed)
        assert total_stretch(graph, found) == pytest.approx(min(stretch))
    assert chosen == {0, 1}
