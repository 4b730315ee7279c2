"""Resistances of all edges from a factorization: those of dense algebra, where it is cheap."""

import numpy as np
import pytest

from graphsqueak import EdgeList, effective_resistance, sources
from graphsqueak.analysis import rank
from graphsqueak.sparsifiers.resistance.exact import exact_resistances
from graphsqueak.sparsifiers.resistance.selected import has_small_separators, selected_resistances

SEED = 141_421


def weighted(graph, n_nodes=None):
    weight = 10.0 ** np.random.default_rng(SEED).uniform(-2, 2, graph.n_edges)
    shape = {"weight": weight, "n_nodes": n_nodes or graph.n_nodes}
    return EdgeList(tail=graph.tail, head=graph.head, **shape).simplified()


def pieces():
    """Two grids, a triangle and nodes alone, in a random order."""
    grid = sources.grid(9, 13).to_edge_list()
    tail = np.concatenate([grid.tail, grid.tail + 117, [240, 241, 242]])
    head = np.concatenate([grid.head, grid.head + 117, [241, 242, 240]])
    order = np.random.default_rng(SEED).permutation(250)
    return EdgeList(tail=order[tail], head=order[head], n_nodes=250)


GRAPHS = {
    "grid": sources.grid(20, 31).to_edge_list(),
    "ring": sources.cycle(300).to_edge_list(),
    "star": sources.star(300).to_edge_list(),
    "tree": sources.erdos_renyi(300, 320, random_state=SEED).to_edge_list(),
    "pieces": pieces(),
    "filled": sources.erdos_renyi(200, 1_500, random_state=SEED).to_edge_list(),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_they_are_those_of_dense_algebra(name):
    graph = weighted(GRAPHS[name])
    ends = (graph.components(), graph.tail, graph.head)
    found = selected_resistances(graph, *ends)
    np.testing.assert_allclose(found, exact_resistances(graph, *ends, use_dense=True), rtol=1e-9)


def test_grids_and_trees_are_factorized_and_expanders_are_not():
    easy = [sources.grid(60, 60), sources.path(5_000), sources.star(5_000), sources.grid(4, 5_000)]
    hard = [
        sources.erdos_renyi(20_000, 60_000, random_state=SEED),
        sources.small_world(150, 150, 20_000, random_state=SEED),
        sources.complete(100),
    ]
    assert all(has_small_separators(source.to_edge_list()) for source in easy)
    assert not any(has_small_separators(source.to_edge_list().simplified()) for source in hard)


def test_where_rounding_would_show_there_is_no_answer():
    """A clique of weight 1e12 at the end of a path of weight 1e-3."""
    path = np.arange(20)
    tail, head = np.append(path, [20, 21, 22]), np.append(path + 1, [21, 22, 20])
    weight = np.append(np.full(20, 1e-3), np.full(3, 1e12))
    graph = EdgeList(tail=np.append(tail, 0), head=np.append(head, 1), weight=np.append(weight, 9))
    graph = graph.simplified()
    assert selected_resistances(graph, graph.components(), graph.tail, graph.head) is None


def test_spanning_edges_of_a_grid_are_exact_and_say_so():
    graph = sources.grid(40, 40).to_edge_list()
    found = rank(graph, "spanning", random_state=SEED)
    ends = (graph.components(), graph.tail, graph.head)
    exact = exact_resistances(graph, *ends, use_dense=True)
    np.testing.assert_allclose(found.scores, exact, rtol=1e-9)
    assert found.error == 0.0
    by_hand = effective_resistance(graph, method="exact")
    np.testing.assert_allclose(by_hand, exact, rtol=1e-9)
    assert rank(graph, "spanning", n_probes=40, random_state=SEED).error > 0
