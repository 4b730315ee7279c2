"""Cuts are the best of the sweep, with bounds by Cheeger and by certificates."""

import numpy as np
import pytest

from graphsqueak import Certificate, EdgeList, InputError, sources
from graphsqueak.analysis import cut
from tests.analysis.graphs import SEED, as_file, certified_sparsifier, conductance, examples


@pytest.mark.parametrize("name", ["dense", "blocks", "heavy", "grid", "pieces"])
def test_a_cut_is_the_best_of_the_sweep_and_meets_cheegers_bounds(name):
    graph = examples()[name]
    found = cut(graph)
    inside = found.side >= 0
    order = np.flatnonzero(inside)[np.argsort(found.fiedler[inside], kind="stable")]
    tried = []
    for size in range(1, order.size):
        side = np.zeros(graph.n_nodes, dtype=bool)
        side[order[:size]] = True
        weight = graph.weight @ (side[graph.tail] != side[graph.head])
        degree = graph.degrees()
        tried.append(weight / min(degree[side].sum(), degree[inside & ~side].sum()))
    assert found.conductance == pytest.approx(min(tried))
    assert (
        found.cheeger_lower
        <= found.conductance
        <= np.sqrt(4 * found.cheeger_lower / (1 - 1e-3)) + 1e-12
    )


def test_a_cut_of_a_file_is_that_of_the_graph(tmp_path):
    graph = sources.barbell(40).to_edge_list()
    found = cut(as_file(graph, tmp_path), n_edges=400, random_state=SEED)
    assert found.weight == 1.0
    assert int((found.side == 1).sum()) == 40
    halved = cut(sources.grid(20, 5).to_edge_list(), balance=0.45)
    assert halved.volume >= 0.45 * sources.grid(20, 5).to_edge_list().degrees().sum()


def test_bounds_contain_the_conductance_and_the_weight_in_the_graph():
    graph, kept = certified_sparsifier()
    found = cut(kept)
    known = conductance(graph, found.side == 1)
    assert found.conductance_lower < known < found.conductance_upper
    weight = graph.weight @ (found.side[graph.tail] != found.side[graph.head])
    assert found.weight_lower < weight < found.weight_upper
    assert "conductance in the graph" in str(found)


def test_a_common_factor_changes_no_conductance():
    """Weights are doubled, both lambdas are 2: conductances are known exactly, cuts are halved."""
    graph = examples()["blocks"]
    double = EdgeList(tail=graph.tail, head=graph.head, weight=2 * graph.weight)
    found = cut(double.with_certificate(Certificate(1.0, 1.0, 2.0, 2.0, delta=0.0)))
    assert found.conductance_lower == pytest.approx(found.conductance, rel=1e-6)
    assert found.conductance_upper == pytest.approx(found.conductance, rel=1e-6)
    assert found.weight_lower == pytest.approx(found.weight / 2, rel=1e-6)


def test_a_graph_without_an_allowed_cut_is_an_error():
    with pytest.raises(InputError, match="the graph has no edge"):
        cut(EdgeList(tail=[], head=[], n_nodes=3))
    with pytest.raises(InputError, match=r"no cut along the Fiedler vector has 0.45"):
        cut(sources.star(5).to_edge_list(), balance=0.45)
