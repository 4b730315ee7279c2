"""Random cuts and bottleneck cuts: their weights, errors and warnings."""

import numpy as np
import pytest

from graphsqueak import AccuracyWarning, EdgeList, StreamSparsifier, sources
from graphsqueak.sparsifiers.stream.cut_probes import BottleneckCuts, RandomCuts
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from tests import reference
from tests.sparsifiers.stream import engine_state


def test_cut_weights_match_the_quadratic_forms_of_the_laplacian():
    graph = sources.block_model(200, 4_000, random_state=5).to_edge_list()
    cuts = RandomCuts()
    cuts.add(graph.tail, graph.head, graph.weight, graph.n_nodes)
    signs = 1.0 - 2.0 * np.unpackbits(cuts._signs[:, None], axis=1)
    lighter = EdgeList(
        tail=graph.tail, head=graph.head, weight=graph.weight * np.linspace(0.5, 1, 4_000)
    )
    forms = [np.einsum("uk,uk->k", signs, one.laplacian() @ signs) for one in (graph, lighter)]
    assert np.allclose(
        cuts.error(lighter, 1),
        np.abs(forms[1] / forms[0] - 1).max(),
    )


def test_the_error_of_random_cuts_is_a_lower_bound_of_epsilon():
    graph = sources.erdos_renyi(300, 40_000, random_state=6).to_edge_list()
    stream = StreamSparsifier(n_edges=3_000, random_state=6).partial_fit(graph)
    sparsifier = stream.sparsifier()
    assert 0 < stream.cut_error_lower_ <= reference.epsilon(graph, sparsifier)


def test_a_bad_sparsifier_raises_a_warning():
    graph = sources.complete(60).to_edge_list()
    stream = StreamSparsifier(n_edges=900, random_state=1).partial_fit(graph)
    engine_state(stream).cuts.table *= 3.0  # as if two thirds of the weight had been lost
    with pytest.warns(AccuracyWarning, match="a cut is off by 0.6"):
        stream.sparsifier()


def test_a_lost_edge_that_splits_a_component_is_an_infinite_error():
    path = sources.path(5).to_edge_list()
    cuts = RandomCuts()
    cuts.add(path.tail, path.head, path.weight, 5)
    assert cuts.error(path.part(1), 1) == np.inf


def test_checkpoints_and_merges_keep_the_cuts(tmp_path):
    graph = sources.erdos_renyi(200, 20_000, random_state=7).to_edge_list()
    halves = [graph.part(0, 10_000), graph.part(10_000)]
    whole = StreamSparsifier(n_edges=2_000, random_state=7)
    for half in halves:
        whole.partial_fit(half)
        whole.save(tmp_path / "run.ckpt")
        whole = StreamSparsifier.load(tmp_path / "run.ckpt")
    parts = [StreamSparsifier(n_edges=2_000, random_state=7).partial_fit(half) for half in halves]
    both = parts[0].merge(parts[1])
    assert np.array_equal(engine_state(whole).cuts.table, engine_state(both).cuts.table)
    both.sparsifier()
    assert both.cut_error_lower_ < both.epsilon_predicted_


def test_cuts_of_streams_with_different_node_numbers_are_unknown():
    names = [f"n{i}" for i in range(40)]
    pairs = [(a, b) for a in names for b in names if a < b]
    one = StreamSparsifier(n_edges=300).partial_fit(EdgeList.from_pairs(pairs[:400]))
    two = StreamSparsifier(n_edges=300).partial_fit(EdgeList.from_pairs(pairs[:399:-1]))
    both = one.merge(two)
    assert np.isnan(engine_state(both).cuts.table).all()
    both.sparsifier()
    assert both.cut_error_lower_ == 0.0  # of the bottleneck cuts, which are still compared


def test_changes_of_a_bottleneck_cut_are_reported_only_beyond_chance():
    """Chance is 4 sqrt(n / m): with 4 nodes and 10,000 edges, 0.02 per standard deviation."""
    sides = np.array([0, 0, 1, 1], dtype=np.uint8)
    many = np.zeros(10_000, dtype=np.int32)
    tail, head = many.copy(), many + 1
    head[0] = 2  # the only edge of the cut
    weight = np.ones(10_000)
    edges = SampledEdges(tail, head, weight, np.zeros(10_000, dtype=bool))
    cuts = BottleneckCuts(sides, weights=np.eye(8)[0])
    chance = 4 * 0.02
    for change, expected in ((0.99 * chance, 0.0), (1.01 * chance, 1.01 * chance)):
        for factor in (1 + change, 1 - change):
            after = edges._replace(weight=np.append(factor, weight[1:]))
            assert cuts.significant_change(after) == pytest.approx(expected)
