"""Graphs of other libraries are converted, or the error shows the conversion."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import graphsqueak as gs
from graphsqueak import EdgeList, InputError, sources
from graphsqueak.sources.graph_like import as_edge_list, as_stream

TRIANGLE = np.ones((3, 3)) - np.eye(3)


@pytest.mark.parametrize(
    "graph",
    [
        EdgeList(tail=[0, 0, 1], head=[1, 2, 2]),
        sources.cycle(3),
        nx.cycle_graph(3),
        TRIANGLE,
        scipy.sparse.csr_array(TRIANGLE),
        pl.DataFrame({"source": [0, 0, 1], "target": [1, 2, 2]}),
        pl.LazyFrame({"source": [0, 0, 1], "target": [1, 2, 2]}),
    ],
)
def test_every_form_of_a_triangle_is_the_same_graph(graph):
    edges = as_edge_list(graph)
    np.testing.assert_array_equal(edges.to_scipy().toarray(), TRIANGLE)


def test_streams_are_not_copied():
    for graph in (EdgeList(tail=[0], head=[1]), sources.cycle(3)):
        assert as_stream(graph) is graph


@pytest.mark.parametrize(
    ("graph", "conversion"),
    [
        ([(0, 1)], r"EdgeList\.from_pairs\(edges\)"),
        (iter([(0, 1)]), r"EdgeList\.from_pairs\(edges\)"),
        ({0: [1]}, r"networkx\.Graph\(neighbors\)"),
        (7, "a scipy adjacency matrix, or a networkx or igraph graph"),
    ],
)
def test_other_types_raise_an_error_that_shows_the_conversion(graph, conversion):
    with pytest.raises(InputError, match=f"is not supported; pass .*{conversion}"):
        as_edge_list(graph)


def test_types_of_other_libraries_are_known_by_their_package():
    data = type("Data", (), {"__module__": "torch_geometric.data.data"})()
    with pytest.raises(InputError, match=r"type Data is not supported.*Sparsify\(keep=...\)"):
        as_stream(data)


@pytest.fixture
def path(tmp_path):
    frame = pd.DataFrame({"source": ["ann", "bob"], "target": ["bob", "cy"], "weight": [1.0, 2.5]})
    frame.to_csv(tmp_path / "edges.csv", index=False)
    return tmp_path / "edges.csv"


def test_a_path_is_read_as_a_file(path):
    expected = gs.EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5)])
    for given in (path, str(path), gs.read_edges(path), pd.read_csv(path)):
        assert as_edge_list(given) == expected
        assert isinstance(as_stream(given), gs.EdgeSource)


def test_results_from_a_path_are_those_from_its_edges(path):
    assert gs.sparsify(path, keep=1.0) == as_edge_list(path)
    assert gs.info(path).rows()[:-1] == gs.info(as_edge_list(path)).rows()[:-1]
    solver = gs.LaplacianSolver(path)
    assert solver.matrix.n_nodes == 3


def test_a_path_that_does_not_exist_is_named():
    with pytest.raises(gs.InputError, match=r"missing\.csv"):
        as_edge_list("missing.csv")
