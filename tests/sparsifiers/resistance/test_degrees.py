"""Resistances by degrees: used where they are close, refused where a cut or the share says so."""

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, sources
from graphsqueak.graph.forest import join, roots
from graphsqueak.sparsifiers.resistance import degrees
from graphsqueak.sparsifiers.resistance.degrees import (
    degree_resistances,
    degree_sketch,
    leverages_fit,
)
from tests import reference
from tests.sparsifiers.resistance.graphs import connected_lognormal


def sketch_of(graph, seed=11, **how):
    forest = join(roots(graph.n_nodes), graph.tail, graph.head)
    columns, degree = (graph.tail, graph.head, graph.weight), graph.degrees()
    sketch = degree_sketch(*columns, forest, degree, seed=seed, **how)
    return (
        None
        if sketch is None
        else (degree_resistances(sketch.points / 2, degree, *columns), sketch)
    )


@pytest.mark.parametrize(
    "graph",
    [
        sources.erdos_renyi(300, 12_000, random_state=5).to_edge_list().simplified(),
        sources.block_model(300, 9_000, random_state=5).to_edge_list().simplified(),
        sources.gaussian_neighbors(300, 60, random_state=5).to_edge_list().simplified(),
    ],
    ids=["random", "blocks", "neighbors"],
)
def test_where_degrees_are_taken_they_are_close(graph):
    resistance, sketch = sketch_of(graph)
    exact = reference.resistances(graph, np.column_stack([graph.tail, graph.head]))
    off = np.log(resistance / exact)
    leverage = graph.weight * exact
    assert np.sqrt((leverage * off**2).sum() / leverage.sum()) <= 0.12
    assert not sketch.has_bottlenecks


@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize("n_small", [25, 100])
def test_links_of_weak_cuts_are_never_left_to_degrees(weight, n_small):
    """Two links to a part of any size, over many seeds of the sample and of the guards."""
    large = sources.erdos_renyi(400, 12_000, random_state=2).to_edge_list()
    small = sources.erdos_renyi(n_small, 20 * n_small, random_state=3).to_edge_list()
    graph = EdgeList(
        tail=np.r_[large.tail, small.tail + 400, 0, 1],
        head=np.r_[large.head, small.head + 400, 400, 401],
        weight=np.r_[large.weight, small.weight, weight, weight],
    ).simplified()
    links = np.flatnonzero((graph.tail < 400) != (graph.head < 400))
    exact = 1 / (2 * weight)  # and a little more
    for seed in range(60):
        scored = sketch_of(graph, seed=seed)
        assert scored is None or np.all(scored[0][links] >= exact)


def test_stars_of_light_nodes_have_the_weak_cuts_of_the_graph():
    """Two parts, each with as many light nodes again, and four links between heavy ones.

    Their resistance is a little above 1 / 4, that by degrees about 1 / 25.
    """
    half = sources.erdos_renyi(200, 10_000, random_state=2).to_edge_list()
    rng = np.random.default_rng(6)
    ends = [half.tail, np.repeat(np.arange(200, 400), 3)], [half.head, rng.integers(200, size=600)]
    tail, head = (np.concatenate(end) for end in ends)
    links = np.arange(4)
    graph = EdgeList(
        tail=np.r_[tail, tail + 400, links], head=np.r_[head, head + 400, links + 400]
    ).simplified()
    across = (graph.tail < 400) != (graph.head < 400)
    for seed in range(20):
        fine, stars = (
            sketch_of(graph, seed=seed, aggregation_min_nodes=most) for most in (10**6, 1)
        )
        for scored in (fine, stars):
            assert scored is None or scored[0][across].min() >= 0.25
        assert stars is None or 380 <= np.unique(stars[1].points, axis=0).shape[0] <= 400


def test_sparse_and_uneven_graphs_are_not_left_to_degrees():
    assert sketch_of(sources.grid(20, 20).to_edge_list()) is None
    assert sketch_of(connected_lognormal(3.0)) is None


def test_streams_by_degrees_are_as_good_and_stop_and_go_on(tmp_path):
    graph = sources.erdos_renyi(300, 30_000, random_state=9).to_edge_list()
    simple = graph.simplified()
    by_degree = StreamOptions(degree_approx_min_nodes=1, chunk_size=2**12)
    errors = []
    for options in (by_degree, StreamOptions(chunk_size=2**12)):
        stream = StreamSparsifier(n_edges=3000, random_state=4, options=options)
        stream.partial_fit(graph.part(0, 20_000))
        stream.save(tmp_path / "run.ckpt")
        resumed = StreamSparsifier.load(tmp_path / "run.ckpt").partial_fit(graph.part(20_000))
        result = stream.partial_fit(graph.part(20_000)).sparsifier()
        np.testing.assert_array_equal(resumed.sparsifier().weight, result.weight)
        errors.append(reference.epsilon(simple, result))
    assert stream.n_shrinks_ > 0
    assert errors[0] <= 1.1 * errors[1]


@pytest.mark.parametrize("many_edges", [1, 2**20])
def test_a_sketch_serves_only_while_it_is_right(many_edges):
    """A ring whose edges come in its order: the first half has resistances that fall later on.

    With a sketch that is kept for good, epsilon is 1.4 instead of 0.4.
    """
    rng = np.random.default_rng(5)
    tail = np.sort(rng.integers(500, size=60_000))
    head = (tail + rng.geometric(0.03, size=tail.size)) % 500
    graph = EdgeList(tail=tail, head=head, n_nodes=500)
    options = StreamOptions(
        degree_approx_min_nodes=1, inplace_min_edges=many_edges, chunk_size=2**11
    )
    stream = StreamSparsifier(n_edges=5000, random_state=3, options=options)
    assert reference.epsilon(graph.simplified(), stream.partial_fit(graph).sparsifier()) <= 0.6
    assert stream.n_shrinks_ > 5


def test_few_parallel_edges_stay_apart_until_the_end():
    """A shrink of more than a million edges by degrees: the result has none that are parallel."""
    source = sources.erdos_renyi(5000, 2_500_000, random_state=3)
    stream = StreamSparsifier(n_edges=400_000, random_state=6)
    for batch in source:
        stream.partial_fit(batch)
    result = stream.sparsifier()
    assert stream.n_shrinks_ > 0
    assert result.n_edges == result.simplified().n_edges <= 400_000
    np.testing.assert_allclose(result.degrees(), stream.degrees_, rtol=0.02)


def test_the_sum_of_leverages_tells_whether_they_fit():
    graph = sources.erdos_renyi(300, 12_000, random_state=5).to_edge_list().simplified()
    resistance, _ = sketch_of(graph)
    assert leverages_fit(resistance, graph.weight, 300)
    assert not leverages_fit(1.2 * resistance, graph.weight, 300)


def test_an_edge_list_of_one_node_pair_is_told():
    pair = EdgeList(tail=[0], head=[1], n_nodes=2)
    assert sketch_of(pair) is None or sketch_of(pair)[0] == pytest.approx([1.0])


@pytest.mark.parametrize("in_stars", [False, True], ids=["nodes", "stars"])
def test_the_mean_of_all_coarse_solvers_is_the_graph_with_its_ridge(in_stars):
    """Off the forest, entries within six sigma over 300 samples; the forest is always there.

    Every node is a star of its own, and a star has the ridge of each of its nodes.
    """
    rng = np.random.default_rng(71_003)
    graph = sources.complete(40).to_edge_list()
    weight = rng.lognormal(sigma=0.5, size=graph.n_edges)
    forest = graph.tail == 0
    columns = (graph.tail, graph.head, weight, forest)
    degree = EdgeList(tail=graph.tail, head=graph.head, weight=weight).degrees()
    near = (1 / degree).astype(np.float32)
    ridge = 0.7
    found = []
    for seed in range(300):
        if in_stars:
            star = np.arange(40, dtype=np.int32)
            solver = degrees._aggregated_solver(*columns, degree, star, 40, ridge=ridge, seed=seed)
        else:
            solver = degrees._coarse_solver(*columns, near, ridge=ridge, seed=seed)
        np.testing.assert_allclose(solver.rows.ridge, ridge)
        matrix = solver.rows.to_scipy().toarray()
        found.append(-matrix[graph.tail, graph.head])
    mean = np.mean(found, axis=0)
    sigma = np.std(found, axis=0) / np.sqrt(300)
    assert np.all(np.abs(mean - weight)[~forest] <= 6 * sigma[~forest] + 1e-6)
    least = np.min(found, axis=0)[forest]
    np.testing.assert_array_less(weight[forest] * (1 - 1e-6), least)
    if not in_stars:
        np.testing.assert_allclose(np.array(found)[:, forest], np.tile(weight[forest], (300, 1)))
    assert np.count_nonzero(sigma[~forest]) > 300


def test_light_nodes_join_a_neighbor_by_its_weight_and_bring_their_ridge():
    """3,000 light nodes with edges of weights 1 and 3: within six sigma, 3/4 join the heavier."""
    core = sources.complete(20).to_edge_list()
    light = np.arange(20, 3020, dtype=np.int32)
    tail = np.concatenate([core.tail, light, light])
    head = np.concatenate([core.head, np.zeros(3000, np.int32), np.ones(3000, np.int32)])
    weight = np.concatenate([core.weight, np.full(3000, 1.0), np.full(3000, 3.0)])
    graph = EdgeList(tail=tail, head=head, weight=weight)
    degree = graph.degrees()
    star = np.empty(3020, dtype=np.int32)
    near = (1 / degree).astype(np.float32)
    n_stars = degrees._aggregate_low_degrees(
        graph.tail, graph.head, graph.weight, near, np.uint64(71_004), star
    )
    assert n_stars == 20
    assert sorted(star[:20]) == list(range(20))
    n_heavier = np.count_nonzero(star[light] == star[1])
    assert np.count_nonzero(star[light] == star[0]) == 3000 - n_heavier
    assert abs(n_heavier - 2250) <= 6 * np.sqrt(3000 * 0.75 * 0.25)
    forest = join(roots(3020), graph.tail, graph.head)
    columns = (graph.tail, graph.head, graph.weight, forest)
    solver = degrees._aggregated_solver(*columns, degree, star, n_stars, ridge=0.5, seed=3)
    np.testing.assert_allclose(solver.rows.ridge, 0.5 * np.bincount(star))


def test_no_resistance_by_degrees_is_above_that_of_the_edge_alone():
    """Points that are far apart may add any amount; an edge alone has 1 / w."""
    graph = sources.erdos_renyi(50, 600, random_state=4).to_edge_list().simplified()
    points = 10 * np.random.default_rng(71_005).standard_normal((50, 4)).astype(np.float32)
    columns = (graph.tail, graph.head, graph.weight)
    found = degree_resistances(points, graph.degrees(), *columns)
    np.testing.assert_allclose(found, 1 / graph.weight)
