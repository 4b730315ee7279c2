"""Cuts of a graph, of its sparsifier and of random edges."""

import numpy as np
import pytest

from graphsqueak import EdgeList, InputError, sources
from graphsqueak.sparsifiers import cut_comparison
from graphsqueak.sparsifiers.cut_comparison import compare_cuts

SEED = 281_907


def groups_of(n_nodes, seed):
    """The groups that `compare_cuts` draws first, as an array of bool (n_groups, n_nodes)."""
    sides = cut_comparison._draw_groups(n_nodes, np.random.default_rng(seed))
    return np.array([(side >> bit) & 1 for side in sides for bit in range(8)], dtype=bool)


def test_weights_are_those_of_a_dense_computation():
    graph = sources.chung_lu(60, 500, random_state=SEED).to_edge_list()
    kept = graph.part(0, 200)
    cuts = compare_cuts(graph, kept, n_edges=graph.n_edges, seed=SEED)
    groups = groups_of(graph.n_nodes, SEED)
    for weights, edges in ((cuts.graph, graph), (cuts.sparsifier, kept)):
        is_cut = groups[:, edges.tail] != groups[:, edges.head]
        in_graph = (groups[:, graph.tail] != groups[:, graph.head]).any(axis=1)
        np.testing.assert_allclose(weights, (is_cut @ edges.weight)[in_graph])


def test_groups_have_sizes_from_one_node_to_half_of_them():
    sizes = groups_of(1000, SEED).sum(axis=1)
    assert sizes.size == 64
    assert sizes.min() == 1
    assert sizes.max() == 500
    np.testing.assert_array_equal(sizes[::2], sizes[1::2])
    # Every second group is a range of nodes.
    ranges = groups_of(1000, SEED)[::2]
    assert (np.abs(np.diff(ranges.astype(int), axis=1)).sum(axis=1) <= 2).all()


def test_random_edges_are_unbiased():
    """Of m edges in a cut, each is kept with probability p and has the weight 1 / p.

    Over 200 seeds the mean ratio of a cut of m edges to that of the graph has the variance
    (1 - p) / (p m 200).
    """
    graph = sources.complete(40).to_edge_list()
    kept = graph.part(0, 195)
    fraction = 0.25
    several = [
        compare_cuts(graph, kept, n_edges=graph.n_edges, seed=SEED + number)
        for number in range(200)
    ]
    # The largest groups have 20 * 20 edges.
    ratios = [(cuts.random_edges / cuts.graph)[-2:] for cuts in several]
    assert [cuts.graph[-1] for cuts in several] == [400.0] * 200
    sigma = np.sqrt((1 - fraction) / (fraction * 400))
    assert np.abs(np.mean(ratios, axis=0) - 1).max() < 6 * sigma / np.sqrt(200)
    assert np.std(ratios, axis=0) == pytest.approx(sigma, rel=6 / np.sqrt(2 * 200))


def test_nodes_are_matched_by_id():
    graph = sources.chung_lu(60, 500, random_state=SEED).to_edge_list()
    order = np.random.default_rng(SEED).permutation(60)
    renamed = EdgeList.from_pairs(
        list(zip(*(order[ends].tolist() for ends in (graph.tail, graph.head)), strict=True))
    )
    other = EdgeList.from_pairs(renamed.ids[np.column_stack([renamed.head, renamed.tail])].tolist())
    cuts = compare_cuts(renamed, other, n_edges=renamed.n_edges, seed=SEED)
    np.testing.assert_allclose(cuts.sparsifier, cuts.graph)


def test_a_node_that_the_sparsifier_lacks_is_an_error():
    graph = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    with pytest.raises(InputError, match="'cy' of the graph is not in the sparsifier"):
        compare_cuts(graph, EdgeList.from_pairs([("ann", "bob")]), n_edges=2, seed=SEED)
