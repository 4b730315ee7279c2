"""Predicted errors of sampling: closed forms, and the curve over the number of edges."""

import math

import numpy as np
import pytest

from graphsqueak.graph import EdgeList
from graphsqueak.sources import chung_lu, complete
from graphsqueak.sparsifiers.error_prediction import (
    ErrorCurve,
    error_for_variance,
    sampling_error,
    sampling_error_curve,
)
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from tests import reference
from tests.sparsifiers.resistance.graphs import spanning_forest


def edges_with_resistances(graph):
    """The arguments of `sampling_error` that describe the edges."""
    resistance = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    return SampledEdges(graph.tail, graph.head, graph.weight, spanning_forest(graph)), resistance


@pytest.mark.parametrize("n_edges", [990, 2475])
def test_complete_graph_has_the_closed_form(n_edges):
    """V = 1 / c - t with leverage t = 2 / n and c = n_edges / (n - 1)."""
    edges = edges_with_resistances(complete(100).to_edge_list())
    found = sampling_error(*edges, n_edges, n_nodes=100)
    assert found == pytest.approx(math.sqrt(2 * (99 / n_edges - 0.02)))


def test_edges_dropped_earlier_have_the_mean_leverage():
    """V = 1 / c - t with c = 990 / 99 and t = 99 / 49,500: one edge in ten is left."""
    edges = edges_with_resistances(complete(100).to_edge_list())
    found = sampling_error(*edges, 990, n_nodes=100, n_seen=49_500)
    assert found == pytest.approx(math.sqrt(2 * (0.1 - 0.002)))


def test_all_edges_have_no_error_and_a_single_off_tree_edge_has_one():
    triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    edges = edges_with_resistances(triangle)
    assert sampling_error(*edges, 3, n_nodes=3) == 0.0
    assert sampling_error(*edges, 2, n_nodes=3) > 0.0


@pytest.mark.parametrize("n_seen", [None, 40_000])
def test_curve_agrees_with_the_sampling_error(n_seen):
    graph = chung_lu(600, 5_000, random_state=90_127).to_edge_list().simplified()
    edges = edges_with_resistances(graph)
    size = {"n_nodes": graph.n_nodes, "n_seen": n_seen}
    curve = sampling_error_curve(*edges, epsilon=0.6, **size)
    assert np.all(np.diff(curve.error) <= 0)
    for n_edges in (1500, 2200, 3000):
        exact = sampling_error(*edges, n_edges, **size)
        assert curve.error_at(n_edges) == pytest.approx(exact, rel=0.15)
        assert curve.edges_for(exact) == pytest.approx(n_edges, rel=0.1)
    n_edges = curve.edges_for(0.6)
    if n_edges < graph.n_edges:
        assert sampling_error(*edges, n_edges, **size) == pytest.approx(0.6, rel=0.05)
    if n_seen is None:
        assert curve.edges_for(0.0) == graph.n_edges


def test_curve_of_a_dense_graph_is_its_own_inverse():
    curve = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))
    for n_edges in (4, 100, 12_345):
        assert curve.edges_for(curve.error_at(n_edges)) == n_edges


def test_error_is_continuous_at_one():
    assert error_for_variance(0.5 - 1e-9) == pytest.approx(error_for_variance(0.5 + 1e-9))
