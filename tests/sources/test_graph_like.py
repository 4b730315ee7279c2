"""A graph in any form is converted to the same edges."""

import pandas as pd
import pytest

import graphsqueak as gs
from graphsqueak.sources import as_edge_list, as_stream


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
