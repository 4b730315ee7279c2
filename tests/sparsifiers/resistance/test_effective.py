"""Effective resistances: closed forms, the dense reference, and others' known defects."""

import tracemalloc

import networkx as nx
import numba
import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, effective_resistance, sources
from tests.sparsifiers.resistance.graphs import weighted_graph

METHODS = ["exact", "sketch"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (sources.path(9), 1.0),
        (sources.cycle(10), 0.9),
        (sources.star(12), 1.0),
        (sources.complete(11), 2 / 11),
        (sources.complete_bipartite(3, 5), 7 / 15),
        (sources.hypercube(4), 15 / 32),
    ],
)
def test_closed_forms(source, expected):
    np.testing.assert_allclose(effective_resistance(source), expected, rtol=1e-10)


def test_pairs_on_a_path_are_as_far_as_they_look():
    pairs = [(0, 8), (3, 3), (7, 2)]
    np.testing.assert_allclose(effective_resistance(sources.path(9), pairs), [8, 0, 5], atol=1e-9)


def test_sketched_edges_obey_fosters_theorem_and_the_bounds():
    graph = sources.gaussian_neighbors(1500, 12, random_state=41_907).to_edge_list()
    r = effective_resistance(graph, method="sketch", random_state=5_551_203)
    n_components = graph.components().max() + 1
    assert abs(graph.weight @ r - (1500 - n_components)) < 1e-6 * 1500
    error = np.abs(r / effective_resistance(graph, method="exact") - 1)
    assert error.mean() < 0.05


def test_the_sketch_sees_the_bridge_of_two_cliques():
    """Its flow is a tiny share of the right-hand sides, and all of its resistance."""
    graph = sources.barbell(600).to_edge_list()
    r = effective_resistance(graph, method="sketch", random_state=20_771)
    assert r[-1] == pytest.approx(1.0, abs=6 * np.sqrt(2 / 32))
    np.testing.assert_allclose(r[:-1], 2 / 600, rtol=0.05)


def test_auto_reaches_the_asked_mean_error():
    graph = sources.grid(40, 40).to_edge_list()
    expected = effective_resistance(graph, method="exact")
    for rtol in (0.1, 0.03):
        r = effective_resistance(graph, method="sketch", rtol=rtol, random_state=77_312)
        assert np.abs(r / expected - 1).mean() < rtol


@pytest.mark.parametrize("method", METHODS)
def test_components_are_infinitely_far_apart_and_a_node_is_at_zero(method):
    """netrd gives 1e17 here, PyGSP 2.9e14."""
    graph = EdgeList(tail=[0, 1, 3], head=[1, 2, 4], n_nodes=6)
    pairs = [(0, 2), (0, 3), (5, 0), (5, 5), (3, 4)]
    r = effective_resistance(graph, pairs, method=method, n_probes=2000, random_state=808)
    assert r[1] == r[2] == np.inf
    assert r[3] == 0
    np.testing.assert_allclose(r[[0, 4]], [2, 1], rtol=0.2 if method == "sketch" else 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_bridges_of_a_disconnected_weighted_graph(method):
    graph = EdgeList(tail=[0, 2, 3], head=[1, 3, 4], weight=[4.0, 1e-6, 1e6], n_nodes=6)
    r = effective_resistance(graph, method=method, random_state=31_337)
    np.testing.assert_allclose(r, 1 / graph.weight, rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_small_weights_do_not_make_nan(method):
    """PyGSP inverts a singular Laplacian: NaN from small weights, errors of 880 %."""
    graph = weighted_graph()
    tiny = EdgeList(tail=graph.tail, head=graph.head, weight=graph.weight * 1e-12, n_nodes=60)
    plain = effective_resistance(graph, method=method, random_state=2_024)
    scaled = effective_resistance(tiny, method=method, random_state=2_024)
    np.testing.assert_allclose(scaled * 1e-12, plain, rtol=1e-3 if method == "sketch" else 1e-8)


def test_weights_are_conductances_and_the_result_is_r_not_w_times_r():
    """networkx inverts weights by default; networkit returns R where it promises w R."""
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 10.0), ("b", "c", 5.0), ("c", "a", 5.0)])
    r = effective_resistance(graph)
    expected = [
        nx.resistance_distance(graph, u, v, weight="weight", invert_weight=False)
        for u, v in graph.edges
    ]
    np.testing.assert_allclose(r, expected)


def test_parallel_edges_share_the_resistance_of_their_ends():
    graph = EdgeList(tail=[0, 1, 0], head=[1, 0, 1], weight=[1.0, 2.0, 5.0])
    for method in METHODS:
        np.testing.assert_allclose(effective_resistance(graph, method=method), 1 / 8)


def test_an_isolated_node_is_harmless():
    """networkit's LAMG crashes on one."""
    graph = EdgeList(tail=[0], head=[1], n_nodes=3)
    for method in METHODS:
        np.testing.assert_allclose(effective_resistance(graph, method=method), [1.0])
    assert effective_resistance(EdgeList(tail=[], head=[], n_nodes=2)).size == 0


def test_one_pair_of_a_large_graph_needs_one_solve():
    """networkx inverts the whole matrix for one pair; networkit runs out of memory."""
    graph = sources.cycle(20_000)
    np.testing.assert_allclose(effective_resistance(graph, [(0, 10_000)]), [5_000], rtol=1e-6)


def test_forty_thousand_nodes_need_no_square_matrix():
    """PyGSP peaks at 500 GB here, all pairs at once."""
    graph = sources.erdos_renyi(40_000, 120_000, random_state=15).to_edge_list()
    tracemalloc.start()
    r = effective_resistance(graph, random_state=16)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(r).all()
    assert peak < 400 * 2**20


def test_same_seed_same_bytes_on_one_thread_or_two():
    graph = sources.erdos_renyi(1500, 20_000, random_state=5).to_edge_list()
    results = []
    for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(n_threads)
        results.append(effective_resistance(graph, random_state=616_001))
    assert results[0].tobytes() == results[1].tobytes()
    assert not np.array_equal(results[0], effective_resistance(graph, random_state=616_002))


def test_edge_order_does_not_matter():
    graph = sources.erdos_renyi(1200, 9_000, random_state=6).to_edge_list()
    order = np.random.default_rng(77_001).permutation(9_000)
    shuffled = EdgeList(tail=graph.head[order], head=graph.tail[order], n_nodes=1200)
    np.testing.assert_allclose(
        effective_resistance(shuffled, random_state=12),
        effective_resistance(graph, random_state=12)[order],
        rtol=1e-5,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": [(0, 9)]}, "pair 0 names node 9"),
        ({"pairs": [(0, 1, 2)]}, "give two nodes"),
        ({"pairs": [0, 1]}, "pair 0 is 0; give two nodes"),
        ({"pairs": np.array([0, 1])}, "give two nodes"),
        ({"pairs": [(0.5, 1)]}, "node 0.5; it is not in the graph"),
        ({"pairs": [(0, 1), ("ann", 1)]}, "pair 1 names node 'ann'; it is not in the graph"),
        ({"method": "guess"}, "not one of"),
        ({"n_probes": 0}, "at least 1"),
        ({"rtol": 0.0}, "above 0"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        effective_resistance(sources.path(3), **arguments)


@pytest.mark.parametrize("names", [["ann", "bob", "cy"], [70, 30, 2**40], [(0, 0), "x", 2]])
def test_a_user_names_the_nodes_of_a_pair_by_id(names):
    """On a path of three named nodes, in any form of pairs; the same by number."""
    path = EdgeList.from_networkx(nx.path_graph(3))
    graph = EdgeList.from_networkx(nx.relabel_nodes(nx.path_graph(3), dict(enumerate(names))))
    pairs = [(names[0], names[2]), (names[2], names[1]), (names[1], names[1])]
    wanted = effective_resistance(path, [(0, 2), (2, 1), (1, 1)])
    np.testing.assert_allclose(wanted, [2.0, 1.0, 0.0])
    np.testing.assert_allclose(effective_resistance(graph, pairs, by_id=True), wanted)
    np.testing.assert_allclose(effective_resistance(graph, [(0, 2), (2, 1), (1, 1)]), wanted)
    with pytest.raises(InputError, match="names node 'zoe'"):
        effective_resistance(graph, [(names[0], "zoe")])
    if names[0] == 70:
        with pytest.raises(InputError, match="names node 70; nodes are 0 to 2, or give by_id=True"):
            effective_resistance(graph, pairs)


@pytest.mark.parametrize("heavy", [1e6, 1e10, 1e13])
def test_a_light_bridge_between_heavy_squares(heavy):
    """Heavy flows that cancel leave rounding behind; twelve digits are too many for float32."""
    tail, head = [0, 1, 2, 3, 3, 4, 5, 6, 7], [1, 2, 3, 0, 4, 5, 6, 7, 4]
    weight = np.array([heavy] * 4 + [1.0] + [heavy] * 4)
    graph = EdgeList(tail=tail, head=head, weight=weight)
    how = {"method": "sketch", "n_probes": 2000, "random_state": 4_411}
    deviation = np.sqrt(2 / 2000)  # of the mean of 2000 squares
    leverage = effective_resistance(graph, **how) * weight
    np.testing.assert_allclose(leverage, [0.75] * 4 + [1.0] + [0.75] * 4, rtol=6 * deviation)
    apart = effective_resistance(graph, [(0, 2), (1, 5)], **how)
    np.testing.assert_allclose(apart, [1 / heavy, 1 + 1.75 / heavy], rtol=6 * deviation)
