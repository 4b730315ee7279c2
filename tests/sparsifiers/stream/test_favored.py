"""Favored nodes: their edges stay, the budget holds, and the expectation never moves."""

import numpy as np
import pytest

import graphsqueak as gs
from graphsqueak.graph import EdgeList
from graphsqueak.graph.forest import join, roots
from graphsqueak.sparsifiers.resistance.sketch import Embedding
from graphsqueak.sparsifiers.stream.arrivals import ArrivalFilter, Favored
from graphsqueak.sparsifiers.stream.edges import KeptEdges
from graphsqueak.sparsifiers.stream.in_place import stricter_filter

N_NODES = 400
NODES = [3, 50, 399]


@pytest.fixture(scope="module")
def dense():
    edges = gs.sources.erdos_renyi(N_NODES, 60_000, random_state=9_321).to_edge_list()
    again = [edges.part(i, i + 7_000) for i in range(0, edges.n_edges, 7_000)]
    return edges.simplified(), again * 6  # 360,000 edges in all: several chunks


def run(batches, **settings):
    stream = gs.StreamSparsifier(n_edges=4_000, random_state=7, **settings)
    for batch in batches:
        stream.partial_fit(batch)
    return stream


def at(graph, node):
    return np.sort(np.concatenate([graph.head[graph.tail == node], graph.tail[graph.head == node]]))


def test_all_edges_of_few_favored_nodes_stay(dense):
    graph, batches = dense
    H = run(batches, favored_nodes=NODES).sparsifier().simplified()
    assert 3_600 <= H.n_edges <= 4_000
    for node in NODES:
        assert at(H, node).tolist() == at(graph, node).tolist()


def test_many_favored_nodes_get_their_share_and_no_more(dense):
    _, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    H = run(batches, favored_nodes=nodes, favored_share=0.6).sparsifier()
    share = np.mean(np.isin(H.tail, nodes) | np.isin(H.head, nodes))
    assert H.n_edges <= 4_000
    assert 0.5 < share < 0.7


def test_total_weight_stays(dense):
    graph, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    H = run(batches, favored_nodes=nodes).sparsifier()
    np.testing.assert_allclose(H.degrees(), 6 * graph.degrees(), rtol=0.1)


def test_favored_edges_are_unbiased_on_arrival(dense):
    """The mean weight over seeds of all favored edges is theirs, within six standard errors."""
    graph, batches = dense
    nodes = np.arange(0, N_NODES, 4)
    plain = gs.StreamOptions(calibrate=False)
    isin = np.isin(graph.tail, nodes) | np.isin(graph.head, nodes)
    totals = []
    for seed in range(12):
        stream = gs.StreamSparsifier(
            n_edges=4_000, random_state=seed, favored_nodes=nodes, options=plain
        )
        for batch in batches:
            stream.partial_fit(batch)
        H = stream.sparsifier()
        totals.append(H.weight[np.isin(H.tail, nodes) | np.isin(H.head, nodes)].sum())
    expected = 6 * graph.weight[isin].sum()
    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - expected) < 6 * max(error, 1e-3 * expected)


def test_the_answer_does_not_depend_on_batches_or_stops(dense, tmp_path):
    _, batches = dense
    whole = run(batches, favored_nodes=NODES).sparsifier()
    stream = run(batches[:30], favored_nodes=NODES)
    stream.sparsifier()
    stream.save(tmp_path / "half")
    stream = gs.StreamSparsifier.load(tmp_path / "half")
    for batch in batches[30:]:
        stream.partial_fit(batch.part(0, 1_234)).partial_fit(batch.part(1_234))
    again = stream.sparsifier()
    assert np.array_equal(whole.weight, again.weight)
    assert np.array_equal(whole.tail, again.tail)


def test_favored_nodes_are_named_by_id():
    names = np.array([f"n{i}" for i in range(60)], dtype=object)
    full = gs.sources.complete(60).to_edge_list()
    named = EdgeList(tail=full.tail, head=full.head, ids=names)
    stream = gs.StreamSparsifier(n_edges=500, favored_nodes=["n7"], random_state=7)
    H = stream.partial_fit(named).sparsifier()
    assert at(H, 7).size == 59


def test_merged_streams_favor_the_nodes_of_both(dense):
    _, batches = dense
    first = run(batches[:30], favored_nodes=[3])
    second = run(batches[30:], favored_nodes=[50])
    both = first.merge(second)
    assert set(both.favored_nodes) == {3, 50}
    assert both._engine.favored.mask[[3, 50]].all()


def test_the_thesis_method_favors_nobody():
    with pytest.raises(gs.InputError, match="favors no nodes"):
        gs.StreamSparsifier(method="thesis", epsilon=0.5, favored_nodes=[1])


@pytest.mark.parametrize("away", [0.0, 3.0])
def test_the_filter_keeps_every_edge_with_its_probability(away):
    """Over 1,000 seeds, shares and mean weights within six sigmas; favored, new, apart, pinned.

    Where all points are far from the origin, what their lengths say of distances decides nothing.
    """
    rng = np.random.default_rng(12)
    degree = np.append(0.0, rng.uniform(20, 200, size=39))  # node 0 has no edges
    sketch = Embedding(rng.normal(scale=0.2, size=(40, 4)).astype(np.float32), degree, 1.0)
    sketch.points[0] = 0.0
    sketch.points[:] += away
    component = np.repeat([0, 30], [30, 10])
    arrivals = ArrivalFilter.from_sketch(sketch, component, 3.0)
    tail, head = rng.integers(1, 39, size=600), np.append(rng.integers(1, 40, size=590), [45] * 10)
    weight = rng.uniform(0.1, 4.0, size=600)
    favored = Favored(np.isin(np.arange(46), [5, 6]))
    favored.boost = 7.0
    far = np.minimum(head, 39)
    apart = ((sketch.points[tail] - sketch.points[far]) ** 2).sum(axis=1) / 4
    prob = 3.0 * weight * (1 / degree[tail] + 1 / degree[far] + apart)
    prob[favored.edges(tail, head)] *= 7.0
    prob[(head >= 40) | (component[tail] != component[far])] = 1.0
    prob = np.minimum(prob, 1.0)
    pinned = np.arange(600) % 50 == 7
    prob[pinned] = 1.0
    new = np.zeros((1000, 600))
    for seed, own in enumerate(new):
        key = {"seed": seed, "first": 9, "favored": favored}
        index, own_weight = arrivals.sample(tail, head, weight, pinned, **key)
        own[index] = own_weight
    assert (new[:, pinned] == weight[pinned]).all()
    share, mean = (new > 0).mean(axis=0), new.mean(axis=0)
    sigma = np.sqrt(prob * (1 - prob) / len(new))
    assert (np.abs(share - prob) <= 6 * sigma + 1e-12).all()
    assert (np.abs(mean - weight) <= 6 * weight / prob * sigma + 1e-5).all()
    assert 0.2 < prob.mean() < 0.8


@pytest.mark.parametrize("is_new", [True, False])
def test_a_stricter_filter_counts_favored_edges_as_it_samples_them(dense, is_new):
    """Probabilities, those of favored edges with their boost, add up to the target."""
    graph, _ = dense
    edges = KeptEdges(
        graph.tail,
        graph.head,
        graph.weight,
        np.ones(graph.n_edges, np.uint8),
        join(roots(N_NODES), graph.tail, graph.head),
    )
    sketch = Embedding(np.zeros((N_NODES, 4), np.float32), graph.degrees(), 1.0)
    arrivals = ArrivalFilter.from_sketch(sketch, np.zeros(N_NODES, np.int32))
    favored = Favored(np.arange(N_NODES) % 8 == 0, share=0.5)
    if not is_new:
        favored.boost = 2.5
    stricter = stricter_filter(arrivals, edges, N_NODES, 4_000, favored, is_new=is_new)
    assert favored.boost > 1.5
    leverage = graph.weight * (1 / graph.degrees()[graph.tail] + 1 / graph.degrees()[graph.head])
    boost = np.where(favored.edges(graph.tail, graph.head), favored.boost, 1.0)
    prob = np.where(edges.pinned, 1.0, np.minimum(stricter.scale * boost * leverage, 1.0))
    assert prob.sum() == pytest.approx(4_000, rel=1e-4)
