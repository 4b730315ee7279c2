"""Resistances and their sums are those of networkx."""

import networkx as nx
import pytest

from graphsqueak.integrations.networkx_backend import resistances
from tests.integrations.networkx_backend.graphs import (
    OURS,
    THEIRS,
    assert_close,
    connected_graph,
)

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")

FUNCTIONS = [
    (nx.resistance_distance, {}),
    (nx.resistance_distance, {"weight": "weight"}),
    (nx.resistance_distance, {"weight": "cost", "invert_weight": False}),
    (nx.resistance_distance, {"nodeA": "n5", "weight": "weight"}),
    (nx.resistance_distance, {"nodeB": "n5"}),
    (nx.resistance_distance, {"nodeA": "n5", "nodeB": "n31", "weight": "cost"}),
    (nx.effective_graph_resistance, {"weight": "weight"}),
    (nx.effective_graph_resistance, {"weight": "weight", "invert_weight": False}),
    (nx.kemeny_constant, {"weight": "weight"}),
]


@pytest.mark.parametrize(("function", "given"), FUNCTIONS)
@pytest.mark.parametrize("kind", ["simple", "multi", "loops"])
def test_results_are_those_of_networkx(function, given, kind):
    G = connected_graph(9_007, multi=kind == "multi", loops=kind == "loops")
    assert_close(function(G, **given, **OURS), function(G, **given, **THEIRS))


def test_large_graphs_are_solved_without_a_dense_inverse(monkeypatch):
    G = connected_graph(35)
    monkeypatch.setattr(resistances, "MAX_INVERSE_NODES", 10)
    assert_close(
        nx.resistance_distance(G, "n5", weight="weight", **OURS),
        nx.resistance_distance(G, "n5", weight="weight", **THEIRS),
    )
    assert_close(
        nx.effective_graph_resistance(G, **OURS), nx.effective_graph_resistance(G, **THEIRS)
    )


def test_a_sketch_is_close():
    G = connected_graph(34, n=80)
    sketch = nx.resistance_distance(G, "n5", method="sketch", **OURS)
    for node, value in nx.resistance_distance(G, "n5", **THEIRS).items():
        assert sketch[node] == pytest.approx(value, rel=0.35)
