"""Test EdgeList: dropped and rejected edges, matrices, and conversions to other libraries."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import graphsqueak as gs
from graphsqueak import EdgeList, InputError, TimedEdges

RNG = np.random.default_rng(480_215_977)
FRIENDS = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.5), ("cy", "dan")])


def random_edges(n_nodes=30, n_edges=120):
    tail = RNG.integers(n_nodes, size=n_edges)
    head = (tail + RNG.integers(1, n_nodes, size=n_edges)) % n_nodes
    return EdgeList(tail=tail, head=head, weight=RNG.uniform(0.5, 2, n_edges), n_nodes=n_nodes)


def test_laplacian_is_the_sum_of_its_edges():
    edges = random_edges()
    expected = np.zeros((30, 30))
    for u, v, w in zip(edges.tail, edges.head, edges.weight, strict=True):
        b = np.eye(30)[u] - np.eye(30)[v]
        expected += w * np.outer(b, b)
    np.testing.assert_allclose(edges.laplacian().toarray(), expected, atol=1e-12)
    b = edges.incidence()
    np.testing.assert_allclose((b.T * edges.weight @ b).toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(edges.degrees(), np.diag(expected))
    np.testing.assert_allclose(edges.simplified().laplacian().toarray(), expected, atol=1e-12)


def test_self_loops_and_zero_weights_are_dropped_and_counted():
    edges = EdgeList(tail=[0, 1, 2, 2], head=[1, 1, 0, 2], weight=[1, 5, 0, 0], n_nodes=3)
    assert (edges.n_edges, edges.n_self_loops, edges.n_zero_weights) == (1, 2, 1)


def test_parallel_edges_in_both_directions_are_summed():
    edges = EdgeList(tail=[0, 1, 0], head=[1, 0, 2], weight=[1, 2, 4]).simplified()
    assert list(zip(edges.tail, edges.head, edges.weight, strict=True)) == [(0, 1, 3), (0, 2, 4)]


def test_arrays_are_immutable_and_the_users_own_are_left_alone():
    tail, weight = np.array([0, 1], dtype=np.int32), np.array([1.0, 2.0])
    edges = EdgeList(tail=tail, head=[1, 2], weight=weight)
    with pytest.raises(ValueError, match="read-only"):
        edges.weight[0] = 9
    weight[0] = tail[0] = 7
    assert edges.weight[0] == 1
    assert edges.tail[0] == 0


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, -np.inf])
def test_bad_weights_are_refused_with_their_place(weight):
    with pytest.raises(InputError, match="edge 1 has weight"):
        EdgeList(tail=[0, 1], head=[1, 2], weight=[1.0, weight])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tail": [0, 1], "head": [1]}, "same length"),
        ({"tail": [-1], "head": [0]}, "node -1 is negative"),
        ({"tail": [0], "head": [5], "n_nodes": 3}, "node 5 does not exist"),
        ({"tail": [0.5], "head": [1]}, "array of node numbers"),
        ({"tail": ["a"], "head": ["b"]}, "from_pairs takes names"),
        ({"tail": [0], "head": [1], "ids": ["a"]}, "node 1 does not exist"),
        ({"tail": [0], "head": [1], "n_nodes": 2, "ids": ["a"]}, "ids has 1 entries"),
        ({"tail": [0], "head": [1], "n_nodes": 2.5}, "whole number"),
        ({"tail": np.array([2**63], np.uint64), "head": [0]}, "huge ids"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        EdgeList(**arguments)


def test_empty_graphs_work():
    edges = EdgeList(tail=[], head=[], n_nodes=3)
    assert edges.n_edges == 0
    assert edges.components().tolist() == [0, 1, 2]
    assert edges.laplacian().nnz == 0
    assert edges.simplified().n_edges == 0
    assert EdgeList(tail=[], head=[]).n_nodes == 0


def test_scipy_round_trip():
    edges = random_edges().simplified()
    back = EdgeList.from_scipy(edges.to_scipy())
    for name in ("tail", "head", "weight"):
        np.testing.assert_array_equal(getattr(back, name), getattr(edges, name))


@pytest.mark.parametrize("container", [scipy.sparse.csr_matrix, scipy.sparse.lil_array, np.asarray])
def test_any_matrix_type_is_taken(container):
    dense = random_edges().to_scipy().toarray()
    edges = EdgeList.from_scipy(container(dense))
    np.testing.assert_allclose(edges.to_scipy().toarray(), dense)


def test_a_diagonal_is_self_loops():
    edges = EdgeList.from_scipy(scipy.sparse.csr_array([[3.0, 1.0], [1.0, 0.0]]))
    assert (edges.n_edges, edges.n_self_loops) == (1, 1)


def test_a_laplacian_handed_in_by_mistake_is_recognized():
    with pytest.raises(InputError, match="looks like a Laplacian"):
        EdgeList.from_scipy(random_edges().laplacian())


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, -1.0], [-1.0, 0]], "negative entry"),
        ([[0, 1.0], [0, 0]], "not symmetric"),
        ([[0, np.nan], [np.nan, 0]], "infinite or NaN"),
        ([[0, 1.0, 0], [1.0, 0, 0]], "square"),
    ],
)
def test_matrices_that_are_no_adjacency_are_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        EdgeList.from_scipy(scipy.sparse.coo_array(matrix))


def test_networkx_round_trip_keeps_names_weights_and_isolated_nodes():
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "a", weight=0.5)
    graph.add_edge("b", "c")
    graph.add_edge("c", "c")
    graph.add_node("alone")
    edges = EdgeList.from_networkx(graph)
    assert edges.n_self_loops == 1
    assert edges.ids.tolist() == ["a", "b", "c", "alone"]
    back = edges.to_networkx()
    assert sorted(back.nodes) == ["a", "alone", "b", "c"]
    assert back["a"]["b"]["weight"] == 2.5
    assert back["b"]["c"]["weight"] == 1.0


def test_networkx_weight_attribute_can_be_named():
    graph = nx.Graph()
    graph.add_edge(10, 20, similarity=3.0)
    edges = EdgeList.from_networkx(graph, weight="similarity")
    assert edges.weight.tolist() == [3.0]
    assert edges.ids.tolist() == [10, 20]


def test_directed_networkx_graphs_are_refused():
    with pytest.raises(InputError, match="directed"):
        EdgeList.from_networkx(nx.DiGraph([(0, 1)]))


def test_pairs_of_any_hashable_ids():
    edges = EdgeList.from_pairs([(2**70, "x"), ("x", (1, 2), 4.0)])
    assert edges.ids.tolist() == [2**70, "x", (1, 2)]
    with pytest.raises(InputError, match="pair 1 has 1 entries"):
        EdgeList.from_pairs([(1, 2), (3,)])


def test_components_match_networkx():
    edges = random_edges(n_nodes=30, n_edges=18)
    expected = list(nx.connected_components(edges.to_networkx()))
    found = edges.components()
    assert found.max() + 1 == len(expected)
    for nodes in expected:
        assert len(set(found[list(nodes)])) == 1


@pytest.mark.parametrize(
    "name",
    [
        "n_nodes",
        "n_edges",
        "tail",
        "head",
        "weight",
        "ids",
        "node_ids",
        "n_self_loops",
        "n_zero_weights",
        "certificate",
        "anything",
    ],
)
def test_an_edge_list_is_immutable(name):
    edges = EdgeList(tail=[0, 1], head=[1, 1])
    with pytest.raises(AttributeError, match="immutable"):
        setattr(edges, name, 7)
    for array in (edges.tail, edges.head, edges.weight, edges.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_a_certificate_comes_with_a_new_edge_list():
    edges = EdgeList(tail=[0, 1], head=[1, 1], ids=["ann", "bob"])
    certified = edges.with_certificate("proof")
    assert (edges.certificate, certified.certificate) == (None, "proof")
    assert certified.tail is edges.tail
    assert (certified.n_self_loops, certified.ids.tolist()) == (1, ["ann", "bob"])


def test_an_edge_list_survives_pickling():
    edges = EdgeList(tail=[0, 1, 1], head=[1, 2, 1], weight=[1.0, 2.0, 3.0], ids=[7, 8, 9])
    back = pickle.loads(pickle.dumps(edges))  # noqa: S301 - our own bytes
    assert back.ids.tolist() == [7, 8, 9]
    assert (back.n_nodes, back.n_self_loops, back.weight.tolist()) == (3, 1, [1.0, 2.0])


def test_notebooks_show_the_size_and_the_first_edges():
    shown = EdgeList.from_pairs([("a<b", "b", 0.5), *((0, v) for v in range(1, 9))])._repr_html_()
    assert "9 edges" in shown
    assert "... 4 more" in shown
    assert "<td>a&lt;b</td><td>b</td><td>0.5</td>" in shown
    assert shown.count("<tr>") == 7
    assert "0 edges" in EdgeList(tail=[], head=[])._repr_html_()


def test_times_stay_with_their_edges_where_others_are_dropped():
    """A self-loop, an edge of weight zero, and one that is both."""
    edges = TimedEdges(
        tail=[0, 1, 1, 2, 3],
        head=[1, 1, 2, 3, 3],
        weight=[1.0, 2.0, 0.0, 3.0, 0.0],
        time=[10.0, 11.0, 12.0, 13.0, 14.0],
    )
    assert edges.time.tolist() == [10.0, 13.0]
    assert edges.weight.tolist() == [1.0, 3.0]
    assert (edges.n_self_loops, edges.n_zero_weights) == (2, 1)
    assert edges.part(1).time.tolist() == [13.0]


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


def test_length_iteration_and_columns_agree():
    assert len(FRIENDS) == FRIENDS.n_edges == 3
    assert list(FRIENDS) == FRIENDS.edges.rows()
    assert FRIENDS.edges.columns == ["source", "target", "weight"]
    assert FRIENDS.nodes.tolist() == ["ann", "bob", "cy", "dan"]
    np.testing.assert_array_equal(FRIENDS.weights, [1.0, 2.5, 1.0])
    assert [batch is FRIENDS for batch in FRIENDS.batches()] == [True]


def test_a_graph_without_edges_is_true():
    empty = EdgeList(tail=[], head=[], n_nodes=2)
    assert len(empty) == 0
    assert empty


@pytest.mark.parametrize(
    ("other", "is_equal"),
    [
        ([("dan", "cy"), ("cy", "bob", 2.5), ("bob", "ann")], True),
        ([("cy", "dan"), ("ann", "bob"), ("bob", "cy", 1.0), ("cy", "bob", 1.5)], True),
        ([("ann", "bob"), ("bob", "cy", 2.0), ("cy", "dan")], False),
        ([("ann", "bob"), ("bob", "cy", 2.5), ("bob", "dan")], False),
        ([("ann", "bob"), ("bob", "cy", 2.5), ("cy", "eve")], False),
        ([("ann", "bob"), ("bob", "cy", 2.5)], False),
    ],
)
def test_equality_is_that_of_graphs(other, is_equal):
    graph = EdgeList.from_pairs(other)
    assert (graph == FRIENDS) is is_equal
    assert (graph != FRIENDS) is not is_equal
    if is_equal:
        assert hash(graph) == hash(FRIENDS)


def test_a_graph_is_not_equal_to_another_object():
    assert FRIENDS != [("ann", "bob", 1.0)]


def test_a_subgraph_has_the_edges_between_its_nodes():
    part = FRIENDS[["dan", "bob", "cy"]]
    assert part.nodes.tolist() == ["dan", "bob", "cy"]
    assert list(part) == [("bob", "cy", 2.5), ("cy", "dan", 1.0)]
    assert part.has_explicit_order
    assert FRIENDS[np.array(["ann"])].n_edges == 0


def test_a_subgraph_keeps_node_attributes():
    graph = nx.Graph([("ann", "bob"), ("bob", "cy")])
    graph.nodes["cy"]["age"] = 31
    part = EdgeList.from_networkx(graph)[["cy", "bob"]]
    assert part.to_networkx().nodes["cy"] == {"age": 31}


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("ann", r"H\[\['ann'\]\]"),
        (slice(2, 9, 3), r"H\.edges\[2:9:3\]"),
        (["ann", "eve"], "node 'eve' is not in the graph"),
        (["ann", "ann"], "listed twice"),
    ],
)
def test_other_ways_to_index_show_the_working_call(ids, words):
    with pytest.raises(InputError, match=words):
        FRIENDS[ids]


@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet"])
def test_a_saved_graph_is_read_back(tmp_path, name):
    FRIENDS.save(tmp_path / name)
    assert gs.read_edges(tmp_path / name).to_edge_list() == FRIENDS
