"""Fiedler vectors and what follows from them are those of networkx and of dense algebra."""

import networkx as nx
import numpy as np
import pytest

from tests.integrations.networkx_backend.graphs import (
    OURS,
    THEIRS,
    assert_close,
    connected_graph,
)

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")

FUNCTIONS = [
    (nx.number_of_spanning_trees, {"weight": "weight"}),
    (nx.algebraic_connectivity, {"tol": 1e-12, "method": "tracemin_lu"}),
    (nx.algebraic_connectivity, {"tol": 1e-12, "method": "tracemin_lu", "normalized": True}),
]


@pytest.mark.parametrize(("function", "given"), FUNCTIONS)
@pytest.mark.parametrize("kind", ["simple", "multi", "loops"])
def test_results_are_those_of_networkx(function, given, kind):
    G = connected_graph(9_007, multi=kind == "multi", loops=kind == "loops")
    assert_close(function(G, **given, **OURS), function(G, **given, **THEIRS))


@pytest.mark.parametrize(
    "G", [nx.path_graph(700), nx.random_regular_graph(8, 700, seed=3), nx.grid_2d_graph(25, 28)]
)
def test_fiedler_vectors_of_larger_graphs(G):
    """Of long graphs and of expanders; a path has 2 - 2 cos(pi / n)."""
    L = nx.laplacian_matrix(G)
    x = nx.fiedler_vector(G, seed=7, **OURS)
    value = nx.algebraic_connectivity(G, seed=7, **OURS)
    assert np.linalg.norm(L @ x - value * x) < 1e-6 * np.linalg.norm(x)
    assert value == pytest.approx(np.linalg.eigvalsh(L.toarray())[1], rel=1e-7)
    low, high = nx.spectral_bisection(G, seed=7, **OURS)
    assert low | high == set(G)
    assert next(iter(G)) in low
    assert sorted(nx.spectral_ordering(G, seed=7, **OURS)) == sorted(G)


def test_the_normalized_fiedler_value_of_a_long_path():
    """The walk on a path of n nodes has the eigenvalues 1 - cos(pi i / (n - 1))."""
    value = nx.algebraic_connectivity(nx.path_graph(1500), normalized=True, seed=7, **OURS)
    assert value == pytest.approx(1 - np.cos(np.pi / 1499), rel=1e-6)
