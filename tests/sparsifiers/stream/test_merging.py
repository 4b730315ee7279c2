"""Merging streams keeps the components of the union, whatever is dropped afterwards."""

from itertools import pairwise

import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, read_edges, write_edges
from graphsqueak.cli import run
from graphsqueak.sparsifiers.tree.tasks import Piece, leaf, merge

pytestmark = pytest.mark.filterwarnings("ignore::graphsqueak.errors.AccuracyWarning")

# The buffer holds little more than the budget, so that every merge is followed by a shrink.
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
def test_components_of_the_union_survive_a_merge_and_what_follows(seed, n_parts):
    """At two edges above the fewest that can hold the components together."""
    graph = near_tree(seed)
    budget = forest_size(graph) + 2
    first, *others = streams_of(graph.part(0, 160), n_parts, seed, n_edges=budget)
    merged = first.merge(*others)
    so_far = graph.part(0, 160)
    np.testing.assert_array_equal(merged.sparsifier().components(), so_far.components())
    for start, stop in ((160, 180), (180, 200), (200, graph.n_edges)):
        merged.partial_fit(graph.part(start, stop))
        merged._engine.shrink(budget)
        expected = graph.part(0, stop).components()
        np.testing.assert_array_equal(merged.sparsifier().components(), expected)
    again = streams_of(graph, 2, seed + 50, n_edges=budget)[0].merge(merged)
    assert again.n_shrinks_ > 3
    assert np.count_nonzero(again._engine.buffer.edges().pinned) == forest_size(graph)
    np.testing.assert_array_equal(again.sparsifier().components(), graph.components())


def test_one_forest_is_pinned_when_all_streams_had_the_same_one():
    """A second pinned forest would use up the budget: cycles are not pinned."""
    graph = near_tree(9)
    first, *others = (
        StreamSparsifier(n_edges=400, options=TIGHT, random_state=number).partial_fit(
            graph.part(0, number + 200)
        )
        for number in range(3)
    )
    pinned = first.merge(*others)._engine.buffer.edges().pinned
    assert np.count_nonzero(pinned) == forest_size(graph.part(0, 202))


@pytest.mark.parametrize("seed", range(3))
def test_the_tasks_of_a_tree_keep_the_components(seed):
    graph = near_tree(seed + 20, n_nodes=200)
    settings = {"n_edges": forest_size(graph) + 2}
    ends = np.linspace(0, graph.n_edges, 5).astype(int)
    states = [
        leaf(Piece(k, [graph.part(ends[k], ends[k + 1])]), k, settings=settings, options=TIGHT)
        for k in range(4)
    ]
    pairs = [merge(states[:2], 10), merge(states[2:], 11)]
    result = StreamSparsifier.from_bytes(merge(pairs, 12))
    result._engine.shrink(result.budget_)
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
    more = [] if kind == "ckpt" else ["--edges", str(budget)]
    assert run(["merge", *files, "-o", str(tmp_path / "all.tsv"), "--seed", "3", *more]) == 0
    result = read_edges(tmp_path / "all.tsv").to_edge_list()
    label = dict(zip(result.ids.tolist(), result.components().tolist(), strict=True))
    expected = graph.components()
    touched = np.unique(np.concatenate([graph.tail, graph.head]))
    pairs = {(label[node], expected[node]) for node in touched.tolist()}
    n_components = np.unique(expected[touched]).size
    assert result.n_edges <= budget
    assert len(pairs) == n_components == len({one for one, _ in pairs})
