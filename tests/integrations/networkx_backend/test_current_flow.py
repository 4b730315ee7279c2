"""Current-flow centralities are those of networkx."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak.integrations.networkx_backend import current_flow
from tests.integrations.networkx_backend.graphs import (
    OURS,
    THEIRS,
    assert_close,
    connected_graph,
)

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")

SIMPLE = [
    (nx.current_flow_closeness_centrality, {"weight": "weight"}),
    (nx.information_centrality, {}),
    (nx.current_flow_betweenness_centrality, {"weight": "weight"}),
    (nx.current_flow_betweenness_centrality, {"normalized": False}),
]


@pytest.mark.parametrize(("function", "given"), SIMPLE)
def test_current_flow_is_that_of_networkx(function, given):
    G = connected_graph(31)
    ours, theirs = (function(G, **given, **where) for where in (OURS, THEIRS))
    assert set(ours) == set(theirs)
    assert_close({name: ours[name] for name in theirs}, theirs)


def test_second_order_centrality_is_that_of_networkx():
    G = connected_graph(32, n=25)
    assert_close(nx.second_order_centrality(G, **OURS), nx.second_order_centrality(G, **THEIRS))


def test_a_sketch_of_closeness_has_an_error_of_some_percent():
    G = nx.random_regular_graph(4, 1_200, seed=35)
    exact = nx.current_flow_closeness_centrality(G, **OURS)
    sketch = nx.current_flow_closeness_centrality(G, method="sketch", **OURS)
    error = np.array([sketch[node] / exact[node] - 1 for node in G])
    assert 0 < np.sqrt((error**2).mean()) < 0.06


def test_random_pairs_have_the_promised_error():
    G = connected_graph(34, n=80)
    between = nx.current_flow_betweenness_centrality(G, **THEIRS)
    near = nx.approximate_current_flow_betweenness_centrality(G, epsilon=0.1, seed=5, **OURS)
    assert max(abs(near[node] - between[node]) for node in G) < 0.1


def test_betweenness_of_large_graphs_is_left_to_networkx(monkeypatch):
    monkeypatch.setattr(current_flow, "MAX_INVERSE_NODES", 10)
    with pytest.raises(NotImplementedError, match="backend raised NotImplementedError"):
        nx.current_flow_betweenness_centrality(connected_graph(35), **OURS)
