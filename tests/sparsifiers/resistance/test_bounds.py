"""Bounds on resistances: they hold, and they are tight where theory says so."""

import numpy as np
import pytest

from graphsqueak import sources
from graphsqueak.sparsifiers.resistance.bounds import cut_bounds, degree_terms
from tests import reference
from tests.sparsifiers.resistance.graphs import connected_lognormal, two_blocks, weighted_graph


def edge_resistances(graph):
    return reference.resistances(graph, np.column_stack([graph.tail, graph.head]))


def test_degree_bounds_hold():
    graph = weighted_graph().simplified()
    degree = graph.degrees()
    _, lower, upper = degree_terms(degree[graph.tail], degree[graph.head], graph.weight)
    expected = edge_resistances(graph)
    assert np.all(lower <= expected * (1 + 1e-9))
    assert np.all(expected <= upper * (1 + 1e-9))


@pytest.mark.parametrize("weight", [1e-200, 1.0, 1e200])
def test_degree_bounds_of_an_isolated_edge_and_of_a_missing_edge(weight):
    one = np.array([weight])
    _, lower, upper = degree_terms(one, one, one)
    assert lower == upper == 1 / weight
    _, lower, upper = degree_terms(one, one, np.zeros(1))
    assert lower == pytest.approx(2 / weight)
    assert upper == np.inf


@pytest.mark.parametrize("seed", range(8))
def test_cut_bounds_are_lower_bounds(seed):
    rng = np.random.default_rng(7_919 * seed + 3)
    graph = connected_lognormal(rng.uniform(0, 1.5), n_nodes=30, n_edges=60, seed=seed)
    bound = cut_bounds(graph.tail, graph.head, graph.weight, graph.n_nodes)
    assert np.all(bound > 0)
    assert np.all(bound <= edge_resistances(graph) * (1 + 1e-6))


@pytest.mark.parametrize("n_links", [1, 3])
@pytest.mark.parametrize("weight", [1e-3, 1e-9])
def test_cut_bounds_are_tight_across_a_bottleneck(n_links, weight):
    """The only cut between two blocks has the total weight of its links."""
    block = sources.complete(12).to_edge_list()
    graph = two_blocks(block, block, n_links=n_links, weight=weight)
    is_link = graph.weight == weight
    bound = cut_bounds(graph.tail, graph.head, graph.weight, graph.n_nodes)
    # The rounding errors of sums of unit weights are about 1e-14.
    np.testing.assert_allclose(bound[is_link], 1 / (n_links * weight), rtol=1e-4)
    np.testing.assert_allclose(bound[is_link], edge_resistances(graph)[is_link], rtol=0.01)


def test_cut_bounds_are_exact_on_stars():
    star = sources.star(20).to_edge_list()
    weight = np.random.default_rng(5_113).lognormal(size=star.n_edges)
    np.testing.assert_allclose(cut_bounds(star.tail, star.head, weight, 20), 1 / weight)
