"""Names and attributes of nodes survive the way from and to other libraries, and a sparsifier."""

import networkx as nx
import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak import EdgeList, InputError


def zoo():
    """Names of many kinds; attributes on some nodes; weights under two names; a loop."""
    G = nx.Graph()
    names = ["ann", 7, (0, 1), frozenset({2}), 2.5, None.__class__, "cy"]
    for number, name in enumerate(names):
        G.add_node(name, **({"age": 20 + number, "note": "x"} if number % 2 else {}))
    for u in range(len(names)):
        for v in range(u):
            G.add_edge(names[u], names[v], weight=u + 0.5, trust=10.0 * v + 1)
    G.add_edge("ann", "ann", weight=9.0)
    return G


def test_a_round_by_networkx_changes_nothing():
    G = zoo()
    back = EdgeList.from_networkx(G).to_networkx()
    G.remove_edge("ann", "ann")
    assert list(back) == list(G)
    assert dict(back.nodes(data=True)) == dict(G.nodes(data=True))
    assert nx.utils.edges_equal(back.edges(data="weight"), G.edges(data="weight"))


def test_a_weight_is_chosen_among_attributes():
    G = zoo()
    edges = EdgeList.from_networkx(G, weight="trust")
    assert edges.weight.sum() == sum(d for *_, d in G.edges(data="trust", default=1.0)) - 1
    G["ann"][7]["trust"] = "much"
    with pytest.raises(InputError, match="'trust' is not a number everywhere; choose another"):
        EdgeList.from_networkx(G, weight="trust")


def test_attributes_survive_a_sparsifier():
    G = nx.complete_graph(60)
    for node in G:
        G.nodes[node]["side"] = "left" if node < 30 else "right"
    G = nx.relabel_nodes(G, {node: ("n", node) for node in G})
    H = gs.sparsify(G, n_edges=400, random_state=7)
    assert H.n_edges <= 400
    kept = H.to_networkx()
    assert list(kept) == list(G)
    assert kept.nodes["n", 3] == {"side": "left"}
    assert H.node_attributes[59] == {"side": "right"}
    kept.nodes["n", 3]["side"] = "up"
    assert H.node_attributes[3] == G.nodes["n", 3] == {"side": "left"}
    assert EdgeList.from_pairs([(0, 1)]).node_attributes is None


def test_igraph_in_and_out(tmp_path):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(
        n=4,
        edges=[(0, 1), (1, 2), (1, 2), (3, 3)],
        vertex_attrs={"name": ["ann", "bob", "cy", "dan"], "age": [3, 4, 5, 6]},
        edge_attrs={"weight": [1.0, 2.0, 3.0, 1.0], "trust": [4.0, 4.0, 4.0, 4.0]},
    )
    edges = EdgeList.from_igraph(graph)
    assert edges.ids.tolist() == ["ann", "bob", "cy", "dan"]
    assert edges.n_self_loops == 1
    back = gs.sparsify(graph, n_edges=10).to_igraph()
    assert back.vs["age"] == [3, 4, 5, 6]
    assert back.vs["name"] == graph.vs["name"]
    assert dict(zip(back.get_edgelist(), back.es["weight"], strict=True)) == {(0, 1): 1, (1, 2): 5}
    assert EdgeList.from_igraph(graph, weight="trust").weight.tolist() == [4, 4, 4]
    plain = EdgeList(tail=[0], head=[1], n_nodes=3).to_igraph()
    assert "name" not in plain.vs.attributes()
    assert EdgeList.from_igraph(plain).n_nodes == 3
    with pytest.raises(InputError, match=r"directed; call graph.as_undirected\(\) first"):
        gs.sparsify(igraph.Graph([(0, 1)], directed=True), n_edges=1)
    graph.vs["name"] = ["ann", "ann", "cy", "dan"]
    with pytest.raises(InputError, match="two vertices of the igraph graph have one name"):
        EdgeList.from_igraph(graph)


def test_scipy_with_names():
    A = np.array([[0, 2.0], [2.0, 0]])
    edges = EdgeList.from_scipy(A, ids=np.array(["ann", "bob"]))
    assert edges.to_polars().rows() == [("ann", "bob", 2.0)]


@pytest.mark.parametrize("name", ["g.graphml", "g.graphml.gz"])
def test_graphml_goes_out_with_names_and_attributes(name, tmp_path):
    G = nx.relabel_nodes(nx.path_graph(3), {0: "ann", 1: "bob", 2: "cy"})
    G.add_node("alone", age=7)
    G.edges["ann", "bob"]["weight"] = 2.5
    gs.write_edges(EdgeList.from_networkx(G), tmp_path / name)
    back = nx.read_graphml(tmp_path / name)
    assert list(back) == list(G)
    assert back.nodes["alone"] == {"age": 7}
    assert back["ann"]["bob"]["weight"] == 2.5
    assert back["bob"]["cy"]["weight"] == 1.0


def test_what_graphml_cannot_hold_leaves_no_file(tmp_path):
    G = nx.path_graph(3)
    G.nodes[0]["friends"] = [1, 2]
    with pytest.raises(InputError, match="GraphML holds numbers, texts and truth values"):
        gs.write_edges(EdgeList.from_networkx(G), tmp_path / "g.graphml")
    twins = EdgeList.from_pairs([(1, "1")])
    with pytest.raises(InputError, match="written the same"):
        gs.write_edges(twins, tmp_path / "g.graphml")
    assert not list(tmp_path.iterdir())
