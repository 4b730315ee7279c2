"""networkx with our backend: its own tests, its answers on random graphs, what is passed back."""

import logging
import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms import node_classification

from graphsqueak.integrations.networkx_backend import can_run, convert_from_nx, convert_to_nx

OURS = {"backend": "graphsqueak"}
THEIRS = {"backend": "networkx"}
TESTS = (  # of networkx, about the functions that are here
    "algorithms.tests.test_distance_measures::TestEffectiveGraphResistance",
    "algorithms.tests.test_distance_measures::TestKemenyConstant",
    "algorithms.tests.test_distance_measures::TestResistanceDistance",
    "algorithms.tests.test_node_classification",
    "algorithms.centrality.tests.test_current_flow_closeness",
    "algorithms.centrality.tests.test_current_flow_betweenness_centrality",
    "algorithms.centrality.tests.test_second_order_centrality",
    "algorithms.tree.tests.test_mst::TestNumberSpanningTrees",
    "linalg.tests.test_algebraic_connectivity",
    "linalg.tests.test_spectrum",
)
pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs are saved")


def test_the_backend_is_registered():
    assert "graphsqueak" in nx.config.backends, "install anew: pip install --editable ."


@pytest.mark.slow
def test_the_tests_of_networkx_pass(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider"),
            *("--pyargs", *(f"networkx.{test}" for test in TESTS)),
        ],
        cwd=tmp_path,
        env=os.environ
        | {"NETWORKX_TEST_BACKEND": "graphsqueak", "NETWORKX_FALLBACK_TO_NX": "True"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 150


def graph(seed, *, n=60, multi=False, loops=False):
    """Connected, with weights, on names of several kinds."""
    rng = np.random.default_rng(seed)
    G = nx.MultiGraph() if multi else nx.Graph()
    names = [f"n{i}" if i % 2 else (i, "x") for i in range(n)]
    ends = [
        *zip(range(n - 1), range(1, n), strict=True),
        *rng.integers(n, size=(3 * n, 2)).tolist(),
    ]
    for u, v in ends:
        if u != v or loops:
            G.add_edge(names[u], names[v], weight=float(rng.lognormal()), cost=float(u + v + 1))
    return G


def close(ours, theirs):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            close(ours[key], theirs[key])
    else:
        assert type(ours) is type(theirs)
        assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-9)


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
    (nx.number_of_spanning_trees, {"weight": "weight"}),
    (nx.algebraic_connectivity, {"tol": 1e-12, "method": "tracemin_lu"}),
    (nx.algebraic_connectivity, {"tol": 1e-12, "method": "tracemin_lu", "normalized": True}),
]
SIMPLE = [
    (nx.current_flow_closeness_centrality, {"weight": "weight"}),
    (nx.information_centrality, {}),
    (nx.current_flow_betweenness_centrality, {"weight": "weight"}),
    (nx.current_flow_betweenness_centrality, {"normalized": False}),
]


@pytest.mark.parametrize(("function", "given"), FUNCTIONS)
@pytest.mark.parametrize("kind", ["simple", "multi", "loops"])
def test_answers_are_those_of_networkx(function, given, kind):
    G = graph(9_007, multi=kind == "multi", loops=kind == "loops")
    close(function(G, **given, **OURS), function(G, **given, **THEIRS))


@pytest.mark.parametrize(("function", "given"), SIMPLE)
def test_current_flow_is_that_of_networkx(function, given):
    G = graph(31)
    ours, theirs = (function(G, **given, **where) for where in (OURS, THEIRS))
    assert set(ours) == set(theirs)
    close({name: ours[name] for name in theirs}, theirs)


def test_second_order_centrality_is_that_of_networkx():
    G = graph(32, n=25)
    close(nx.second_order_centrality(G, **OURS), nx.second_order_centrality(G, **THEIRS))


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


@pytest.mark.parametrize(
    "function",
    [node_classification.harmonic_function, node_classification.local_and_global_consistency],
)
@pytest.mark.parametrize("n_classes", [2, 6])
def test_labels_are_those_of_networkx(function, n_classes):
    G = graph(33)
    for number, node in enumerate(list(G)[::5]):
        G.nodes[node]["kind"] = ["red", "blue", "green", "gray", "pink", "gold"][number % n_classes]
    given = {"label_name": "kind", "max_iter": 7}
    assert function(G, **given, **OURS) == function(G, **given, **THEIRS)
    with pytest.raises(nx.NetworkXError, match="labeled by 'other'"):
        function(G, label_name="other", **OURS)


def test_sketches_and_samples_come_near():
    """A sketched entry has a standard deviation of sqrt(2 / 512); sums of all are nearer."""
    G = graph(34, n=80)
    exact = nx.current_flow_closeness_centrality(G, **THEIRS)
    rough = nx.current_flow_closeness_centrality(G, method="sketch", **OURS)
    for node in G:
        assert rough[node] == pytest.approx(exact[node], rel=6 * np.sqrt(2 / 512))
    one = nx.resistance_distance(G, "n5", method="sketch", **OURS)
    for node, value in nx.resistance_distance(G, "n5", **THEIRS).items():
        assert one[node] == pytest.approx(value, rel=0.35)
    between = nx.current_flow_betweenness_centrality(G, **THEIRS)
    near = nx.approximate_current_flow_betweenness_centrality(G, epsilon=0.1, seed=5, **OURS)
    assert max(abs(near[node] - between[node]) for node in G) < 0.1  # as it promises


def test_large_graphs_are_solved_not_held(monkeypatch):
    from graphsqueak.integrations.networkx_backend import current_flow, resistances

    G = graph(35)
    monkeypatch.setattr(resistances, "MAX_DENSE_NODES", 10)
    close(
        nx.resistance_distance(G, "n5", weight="weight", **OURS),
        nx.resistance_distance(G, "n5", weight="weight", **THEIRS),
    )
    close(nx.effective_graph_resistance(G, **OURS), nx.effective_graph_resistance(G, **THEIRS))
    monkeypatch.setattr(current_flow, "MAX_DENSE_NODES", 10)
    with pytest.raises(NotImplementedError, match="backend raised NotImplementedError"):
        nx.current_flow_betweenness_centrality(G, **OURS)


def test_what_cannot_be_done_is_passed_back(caplog):
    caplog.set_level(logging.DEBUG, logger="networkx.utils.backends")
    large, small = graph(36), nx.path_graph(4)

    def told(function, *args, **given):
        caplog.clear()
        with nx.config.backend_priority(algos=["graphsqueak"]):
            function(*args, **given)
        return caplog.text

    assert "Using backend 'graphsqueak'" in told(nx.kemeny_constant, large)
    assert "because: the graph has fewer than 50 nodes" in told(nx.kemeny_constant, small)
    directed = nx.DiGraph([(0, 1), (1, 2)])
    assert "because: the graph is directed" in told(nx.spectral_ordering, directed)
    large.add_edge("n1", (0, "x"), weight=-1.0)
    said = told(nx.number_of_spanning_trees, large, weight="weight")
    assert "number_of_spanning_trees': weights must be positive" in said
    with pytest.raises(NotImplementedError, match="backend raised NotImplementedError"):
        nx.resistance_distance(large, weight="weight", **OURS)
    assert can_run("second_order_centrality", [nx.MultiGraph()], {}).startswith("the graph has par")
    assert can_run("current_flow_closeness_centrality", [small], {"dtype": np.float32}) is not True


def odd_graphs():
    """Nodes out of order, of other kinds, hidden by a view; loops, parallel edges, few weights."""
    G = nx.Graph([(2, 0, {"weight": 2.5}), (0, 1), (1, 1, {"weight": 4.0}), (3, 2)])
    M = nx.MultiGraph([(1, 0, {"weight": 2.0}), (0, 1), (1, 1), (2, 0)])
    line = nx.path_graph(4)
    yield from (G, nx.relabel_nodes(G, str), M, line, nx.Graph())
    yield from (line.subgraph([3, 2, 0]), M.subgraph([0, 1]), nx.freeze(G))


@pytest.mark.parametrize("number", range(8))
def test_conversion_gives_the_matrix_of_networkx(number):
    G = list(odd_graphs())[number]
    found = convert_from_nx(G, edge_attrs={"weight": 1})
    assert list(found) == list(G)
    if len(G):
        expected = nx.to_scipy_sparse_array(G).toarray()
        assert np.array_equal(found.adjacency("weight").toarray(), expected)


def test_graphs_come_back():
    G = graph(37)
    back = convert_to_nx(convert_from_nx(G))
    assert nx.is_isomorphic(back, G)
    assert {frozenset(e): d for *e, d in back.edges(data="weight")} == {
        frozenset(e): d for *e, d in G.edges(data="weight")
    }
    assert convert_to_nx(3.5) == 3.5
