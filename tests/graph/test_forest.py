"""Test union-find and forest algorithms against networkx and dense references."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak.graph.forest import (
    add_degrees,
    append_growable,
    approx_max_forest,
    bottleneck_cuts,
    find_all,
    find_bridges,
    make_sets,
    path_resistances,
    root_forest,
    union_edges,
)


def random_graph(seed, n_nodes=40, n_edges=45):
    """Random simple graph, sparse enough to have bridges and several components."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(n_nodes, 1))
    tail, head = rng.permutation(pairs)[:n_edges].T
    return tail, head, 10 ** rng.uniform(-6, 6, n_edges)


def as_networkx(tail, head, weight, n_nodes=40):
    graph = nx.Graph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_weighted_edges_from(zip(tail.tolist(), head.tolist(), weight.tolist(), strict=True))
    return graph


@pytest.mark.parametrize("seed", [611_953, 27_644, 905_118])
def test_union_find_matches_connected_components(seed):
    tail, head, weight = random_graph(seed)
    graph = as_networkx(tail, head, weight)
    parent = make_sets(40)
    in_forest = union_edges(parent, tail, head)
    root = find_all(parent)
    components = list(nx.connected_components(graph))
    for nodes in components:
        assert set(root[list(nodes)]) == {min(nodes)}
    assert np.count_nonzero(in_forest) == 40 - len(components)
    forest = as_networkx(tail[in_forest], head[in_forest], weight[in_forest])
    assert nx.is_forest(forest)


@pytest.mark.parametrize("seed", [611_953, 27_644, 905_118])
def test_bridges_match_networkx(seed):
    tail, head, weight = random_graph(seed)
    in_forest = union_edges(make_sets(40), tail, head)
    found = find_bridges(tail, head, in_forest, 40, seed=seed)
    expected = {frozenset(pair) for pair in nx.bridges(as_networkx(tail, head, weight))}
    assert expected
    assert {frozenset(pair) for pair in zip(tail[found], head[found], strict=True)} == expected


@pytest.mark.parametrize("seed", [611_953, 27_644, 905_118])
def test_path_resistances_match_shortest_paths_in_the_forest(seed):
    tail, head, weight = random_graph(seed)
    in_forest = union_edges(make_sets(40), tail, head)
    found = path_resistances(tail, head, weight, in_forest, 40)
    forest = as_networkx(tail[in_forest], head[in_forest], 1 / weight[in_forest])
    for e in range(tail.size):
        length = nx.dijkstra_path_length(forest, tail[e], head[e])
        # The resistance is a difference of distances from the root.
        distance_from_root = sum(1 / weight[in_forest])
        assert found[e] == pytest.approx(length, rel=1e-9, abs=1e-12 * distance_from_root)


@pytest.mark.parametrize("seed", [611_953, 27_644, 905_118])
def test_forest_edges_are_within_a_factor_of_two_of_the_maximum_forest(seed):
    tail, head, weight = random_graph(seed, n_edges=200)
    forest = approx_max_forest(tail, head, weight, 40)
    exact = nx.maximum_spanning_edges(as_networkx(tail, head, weight), data=True)
    expected = np.sort([row["weight"] for *_, row in exact])
    ratio = np.sort(weight[forest]) / expected
    assert np.all((ratio > 0.5) & (ratio <= 1))
    exponents = np.frexp(weight[forest])[1]
    assert np.all(np.diff(exponents) <= 0)


def test_a_graph_without_edges_has_an_empty_forest():
    nothing = np.zeros(0, np.int64)
    assert approx_max_forest(nothing, nothing, np.zeros(0), 5).size == 0
    assert bottleneck_cuts(nothing, nothing, np.zeros(0), 5).tolist() == [0] * 5


def test_bottleneck_cuts_are_those_of_the_lightest_forest_edges():
    tail, head, weight = random_graph(700_211, n_edges=300)
    forest = approx_max_forest(tail, head, weight, 40)
    sides = bottleneck_cuts(tail, head, weight, 40)
    for bit in range(8):
        edge = forest[-1 - bit]
        rest = forest[forest != edge]
        component = find_all_of(tail[rest], head[rest])
        is_other = (sides >> bit) & 1 == 1
        is_cut = component[tail[edge]] == component
        is_cut_from_head = component[head[edge]] == component
        assert np.array_equal(is_other, is_cut) or np.array_equal(is_other, is_cut_from_head)


def find_all_of(tail, head, n_nodes=40):
    parent = make_sets(n_nodes)
    union_edges(parent, tail, head)
    return find_all(parent)


def test_rooted_forests_list_parents_first():
    tail, head, _ = random_graph(40_312)
    in_forest = union_edges(make_sets(40), tail, head)
    tail, head = tail[in_forest], head[in_forest]
    order, parent, parent_edge = root_forest(tail, head, 40)
    position = np.argsort(order)
    assert sorted(order) == list(range(40))
    assert np.array_equal(np.flatnonzero(parent < 0), np.unique(find_all_of(tail, head)))
    for node in np.flatnonzero(parent >= 0):
        assert position[parent[node]] < position[node]
        edge = parent_edge[node]
        assert {tail[edge], head[edge]} == {node, parent[node]}


def test_degrees_are_row_sums_of_the_adjacency_matrix():
    tail, head, weight = random_graph(91_406)
    degree = np.zeros(40)
    add_degrees(degree, tail, head, weight)
    dense = np.zeros((40, 40))
    np.add.at(dense, (tail, head), weight)
    np.testing.assert_allclose(degree, (dense + dense.T).sum(axis=1))


def test_appending_a_few_values_at_a_time_seldom_copies():
    values = np.zeros(0, np.int64)
    n_buffers = 0
    for number in range(2000):
        before = values.base
        values = append_growable(values, np.array([number]))
        n_buffers += values.base is not before
    assert values.tolist() == list(range(2000))
    assert n_buffers < 25


def test_two_arrays_appended_to_one_do_not_share_memory():
    first = append_growable(np.zeros(0), np.ones(10))
    longer = append_growable(first, np.full(2, 2.0))
    other = append_growable(first, np.full(3, 3.0))
    assert longer.tolist() == [1.0] * 10 + [2.0] * 2
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
    assert first.tolist() == [1.0] * 10


@pytest.mark.parametrize("decades", [0, 3, 12, 200])
def test_a_heavy_forest_has_every_component_and_nearly_the_largest_weight(decades):
    """Edges are taken by binary exponents.

    A greedy forest has as many edges of every exponent as the forest of maximal weight.
    """
    rng = np.random.default_rng(81_100 + decades)
    tail, head = np.triu_indices(40, 1)
    kept = (tail % 2 == head % 2) & (rng.random(tail.size) < 0.3)
    tail, head = tail[kept].astype(np.int32), head[kept].astype(np.int32)
    weight = 10.0 ** rng.uniform(-decades / 2, decades / 2, tail.size)
    forest = approx_max_forest(tail, head, weight, 40)
    assert union_edges(make_sets(40), tail[forest], head[forest]).all()
    heaviest = np.argsort(-weight)
    best = heaviest[union_edges(make_sets(40), tail[heaviest], head[heaviest])]
    assert forest.size == best.size
    ratio = np.sort(weight[best]) / np.sort(weight[forest])
    assert ratio.max() <= 2.0


def test_appending_to_an_array_twice_leaves_both_results_intact():
    first = append_growable(np.zeros(0), np.ones(10))
    longer = append_growable(first, np.full(2, 2.0))
    other = append_growable(first, np.full(3, 3.0))
    assert np.shares_memory(first, longer)
    assert not np.shares_memory(longer, other)
    assert append_growable(other[:4], np.zeros(1)).tolist() == [1.0] * 4 + [0.0]
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
