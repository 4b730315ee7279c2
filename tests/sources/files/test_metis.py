"""METIS files list every edge twice and are read once."""

import gzip

import pytest

from graphsqueak.errors import InputError
from graphsqueak.sources import read_edges


def read(tmp_path, text, name="g.graph"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return read_edges(path).to_edge_list()


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("4 2\n2\n1 3\n2\n\n", [1, 1]),
        ("% c\n4 2\n% d\n2 \n 1 3\n2\n", None),
        ("4 2\r\n2\r\n1 3\r\n2\r\n\r\n", [1, 1]),
        ("4 2\n2\n1 3\n2\n\n\n\n", [1, 1]),
        ("4 2 1\n2 5\n1 5 3 6\n2 6\n\n", [5, 6]),
        ("4 2 001\n2 5\n1 5 3 6\n2 6\n\n", [5, 6]),
        ("4 2 10\n9 2\n9 1 3\n9 2\n9\n", [1, 1]),
        ("4 2 011 2\n9 9 2 5\n9 9 1 5 3 6\n9 9 2 6\n9 9\n", [5, 6]),
        ("4 2 111\n1 9 2 5\n1 9 1 5 3 6\n1 9 2 6\n1 9\n", [5, 6]),
    ],
)
@pytest.mark.parametrize("name", ["g.graph", "g.metis", "g.graph.gz"])
def test_a_path_and_an_isolated_node(tmp_path, text, weights, name):
    if weights is None:
        with pytest.raises(InputError, match="lines for 3 nodes, its header says 4"):
            read(tmp_path, text, name)
        return
    edges = read(tmp_path, text, name)
    assert edges.n_nodes == 4
    assert edges.ids.tolist() == [1, 2, 3, 4]
    assert (edges.tail.tolist(), edges.head.tolist()) == ([0, 1], [1, 2])
    assert edges.weight.tolist() == weights


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no header line"),
        ("4\n", "line 1: '4' is not a METIS header"),
        ("4 2 7\n", "fmt '7'"),
        ("2 1\n2\n3\n", "line 3: '3' does not list neighbors from 1 to 2"),
        ("2 1\n2\nx\n", "line 3: 'x' does not list"),
        ("2 1 1\n2\n1 1\n", "line 2: '2' does not list .* with their weights"),
        ("2 1\n2\n1\n1\n", "line 4: '1' does not list"),
        ("3 2\n2\n1\n\n", "lists 2 neighbors, its header says 2 x 2"),
        ("3 1\n2\n\n1\n", "does not list every edge from both its ends"),
        ("2 1 1\n2 5\n1 6\n", "does not list every edge from both its ends"),
    ],
)
def test_mistakes(tmp_path, text, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, text)
