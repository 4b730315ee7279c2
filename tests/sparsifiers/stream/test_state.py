"""Merged states, leaders and continuations; merges keep the components of the union."""

from itertools import pairwise

import numpy as np
import pytest

from graphsqueak import (
    EdgeList,
    InputError,
    StreamOptions,
    StreamSparsifier,
    read_edges,
    write_edges,
)
from graphsqueak.cli import run
from graphsqueak.sparsifiers.stream.resparsify import resparsify
from graphsqueak.sparsifiers.tree.parts import Piece, leaf, merge
from tests.sparsifiers.stream import engine_state, stream_config
from tests.sparsifiers.stream.graphs import weighted_graph

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

# The buffer holds little more than the budget, so that every merge is followed by a
# resparsification.
TIGHT = StreamOptions(high_watermark=1.1, low_watermark=1.0, chunk_size=32)


def near_tree(seed, n_nodes=150, n_trees=6, n_extra=60):
    """A random forest, most of whose edges are bridges, and a few more edges inside its trees."""
    rng = np.random.default_rng(seed)
    child = np.arange(n_trees, n_nodes)
    parent = (rng.random(child.size) * child).astype(np.int64)
    tree = np.arange(n_nodes)
    for node, above in zip(child, parent, strict=True):
        tree[node] = tree[above]
    tail = rng.integers(n_nodes, size=20 * n_extra)
    head = rng.integers(n_nodes, size=20 * n_extra)
    inside = np.flatnonzero((tree[tail] == tree[head]) & (tail != head))[:n_extra]
    tail = np.concatenate([child, tail[inside]])
    head = np.concatenate([parent, head[inside]])
    order = rng.permutation(tail.size)
    weight = rng.lognormal(sigma=1.0, size=tail.size)
    return EdgeList(tail=tail[order], head=head[order], weight=weight, n_nodes=n_nodes)


def streams_of(graph, n_parts, seed, *, n_edges):
    ends = np.linspace(0, graph.n_edges, n_parts + 1).astype(int)
    return [
        StreamSparsifier(
            n_edges=n_edges, options=TIGHT, random_state=1000 * seed + number
        ).partial_fit(graph.part(start, stop))
        for number, (start, stop) in enumerate(pairwise(ends))
    ]


def forest_size(graph):
    return graph.n_nodes - 1 - int(graph.components().max())


@pytest.mark.parametrize("n_parts", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_components_of_the_union_are_kept_by_merges_and_resparsifications(seed, n_parts):
    """The budget is two edges more than a spanning forest."""
    graph = near_tree(seed)
    budget = forest_size(graph) + 2
    first, *others = streams_of(graph.part(0, 160), n_parts, seed, n_edges=budget)
    merged = first.merge(*others)
    so_far = graph.part(0, 160)
    np.testing.assert_array_equal(merged.sparsifier().components(), so_far.components())
    for start, stop in ((160, 180), (180, 200), (200, graph.n_edges)):
        merged.partial_fit(graph.part(start, stop))
        resparsify(engine_state(merged), stream_config(merged), budget)
        expected = graph.part(0, stop).components()
        np.testing.assert_array_equal(merged.sparsifier().components(), expected)
    again = streams_of(graph, 2, seed + 50, n_edges=budget)[0].merge(merged)
    assert again.n_resparsifications_ > 3
    assert np.count_nonzero(engine_state(again).buffer.edges().in_forest) == forest_size(graph)
    np.testing.assert_array_equal(again.sparsifier().components(), graph.components())


def test_a_merge_of_equal_forests_keeps_one_of_them():
    """A second forest would take the rest of the budget."""
    graph = near_tree(9)
    first, *others = (
        StreamSparsifier(n_edges=400, options=TIGHT, random_state=number).partial_fit(
            graph.part(0, number + 200)
        )
        for number in range(3)
    )
    in_forest = engine_state(first.merge(*others)).buffer.edges().in_forest
    assert np.count_nonzero(in_forest) == forest_size(graph.part(0, 202))


@pytest.mark.parametrize("seed", range(3))
def test_the_tasks_of_a_merge_tree_keep_the_components(seed):
    graph = near_tree(seed + 20, n_nodes=200)
    settings = {"n_edges": forest_size(graph) + 2}
    ends = np.linspace(0, graph.n_edges, 5).astype(int)
    states = [
        leaf(Piece(k, graph.part(ends[k], ends[k + 1])), k, settings=settings, options=TIGHT)
        for k in range(4)
    ]
    pairs = [merge(states[:2], 10), merge(states[2:], 11)]
    result = StreamSparsifier.from_bytes(merge(pairs, 12))
    resparsify(engine_state(result), stream_config(result), result.budget_)
    np.testing.assert_array_equal(result.sparsifier().components(), graph.components())


@pytest.mark.parametrize("kind", ["ckpt", "tsv"])
def test_the_merge_command_keeps_the_components(kind, tmp_path):
    graph = near_tree(31, n_nodes=200)
    budget = forest_size(graph) + 2
    files = []
    for number, stream in enumerate(streams_of(graph, 4, 7, n_edges=budget)):
        files.append(str(tmp_path / f"{number}.{kind}"))
        if kind == "ckpt":
            stream.save(files[-1])
        else:
            write_edges(stream.sparsifier(), files[-1])
    more = [] if kind == "ckpt" else ["--n-edges", str(budget)]
    assert run(["merge", *files, "-o", str(tmp_path / "all.tsv"), "--seed", "3", *more]) == 0
    result = read_edges(tmp_path / "all.tsv").to_edge_list()
    label = dict(zip(result.ids.tolist(), result.components().tolist(), strict=True))
    expected = graph.components()
    touched = np.unique(np.concatenate([graph.tail, graph.head]))
    pairs = {(label[node], expected[node]) for node in touched.tolist()}
    n_components = np.unique(expected[touched]).size
    assert result.n_edges <= budget
    assert len(pairs) == n_components == len({one for one, _ in pairs})


def test_a_merge_adds_counts_and_keeps_the_settings_of_every_stream():
    graph = weighted_graph()
    options = StreamOptions(chunk_size=64)
    streams = [
        StreamSparsifier(
            n_edges=220,
            priority_nodes=priority_nodes,
            priority_fraction=0.3,
            ridge=ridge,
            options=options,
            random_state=seed,
        ).partial_fit(graph.part(start, stop))
        for seed, (priority_nodes, ridge, start, stop) in enumerate(
            [([1, 2], 0.5, 0, 1500), ([2, 7], 0.25, 1500, 2500), (None, 0.125, 2500, None)]
        )
    ]
    engine_state(streams[1]).cut_error = 0.375
    merged = streams[0].merge(*streams[1:])
    state = engine_state(merged)
    assert merged.n_edges_seen_ == graph.n_edges
    assert (merged.ridge, state.ridge) == (0.875, 0.875)
    assert np.flatnonzero(state.priority.mask).tolist() == [1, 2, 7]
    assert merged.priority_nodes == {1, 2, 7}
    assert (merged.priority_fraction, state.priority.fraction) == (0.3, 0.3)
    assert state.cut_error >= 0.375
    assert merged.n_resparsifications_ >= sum(stream.n_resparsifications_ for stream in streams)
    np.testing.assert_allclose(merged.degrees_, graph.degrees(), rtol=1e-12)
    tables = np.sum([engine_state(stream).cuts.table for stream in streams], axis=0)
    np.testing.assert_allclose(state.cuts.table, tables, rtol=1e-12)
    merged.sparsifier()
    assert merged.cut_error_lower_ >= 0.375


@pytest.mark.parametrize("unit", [1.0, 2.0**-12])
def test_a_merge_keeps_the_filter_of_a_leader_and_a_continuation_its_degrees(unit):
    graph = weighted_graph(factor=unit)
    options = StreamOptions(chunk_size=64)
    stream = StreamSparsifier(
        n_edges=220,
        priority_nodes=[3, 4],
        ridge=2.0 * unit,
        options=options,
        random_state=5,
    ).partial_fit(graph)
    state = engine_state(stream)
    # The merged sample fits, so that no resparsification makes another filter.
    resparsify(state, stream_config(stream), 250)
    stream.lead()
    other = StreamSparsifier(n_edges=220, options=options, random_state=6)
    other.partial_fit(weighted_graph(seed=14, n_edges=100, factor=unit))
    merged = engine_state(stream.merge(other))
    assert merged.is_leader
    assert merged.priority.oversampling == state.priority.oversampling > 1.0
    assert merged.filter.edges_per_node == state.filter.edges_per_node
    assert merged.filter.scale == state.filter.scale
    assert merged.prefix_edges == 0

    continued = state.continuation(ridge=0.5 * unit, seed=7)
    assert (continued.ridge, continued.seed) == (0.5 * unit, 7)
    assert continued.weight_scale == state.weight_scale
    np.testing.assert_allclose(
        continued.prefix_degrees * continued.weight_scale,
        graph.degrees() + 2.0 * unit,
        rtol=1e-12,
    )
    np.testing.assert_allclose(continued.filter.inv_degree, 1 / continued.prefix_degrees, rtol=1e-6)
    assert not continued.degrees.any()
    assert continued.buffer.n_edges == 0
    assert continued.prefix_edges == graph.n_edges
    assert (continued.n_unions, continued.n_seen) == (state.n_unions, 0)
    assert not continued.is_leader
    assert continued.priority is state.priority
    assert continued.filter.edges_per_node == state.filter.edges_per_node


def test_more_nodes_than_a_stream_can_number_are_refused():
    graph = EdgeList.from_validated([0], [1], [1.0], n_nodes=2**31)
    with pytest.raises(InputError, match="more than a stream can number"):
        StreamSparsifier(n_edges=10).partial_fit(graph)
