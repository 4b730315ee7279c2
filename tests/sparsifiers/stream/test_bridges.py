"""Bridges pass through a stream with their own weights: no step samples or rescales them."""

import networkx as nx
import numpy as np
import pytest

from graphsqueak import EdgeList, StreamOptions, StreamSparsifier, sparsify

N_BLOCKS, BLOCK = 10, 16

WAYS = {
    "in memory": StreamOptions(chunk_size=64),
    "in place": StreamOptions(chunk_size=64, inplace_min_edges=1, degree_approx_min_nodes=1),
    "independent sampling": StreamOptions(chunk_size=64, dependent_rounding=False),
    "without a filter": StreamOptions(chunk_size=64, filter_arrivals=False),
}


@pytest.fixture(scope="module")
def graph():
    """Dense blocks joined by a tree of bridges, and pendant paths, in random order."""
    rng = np.random.default_rng(60_221)
    inside = rng.integers(BLOCK, size=(2, 3000)) + BLOCK * rng.integers(N_BLOCKS, size=3000)
    block = np.arange(1, N_BLOCKS)
    above = (rng.random(block.size) * block).astype(int)
    between = np.stack([BLOCK * block + 3, BLOCK * above + rng.integers(BLOCK, size=block.size)])
    n_inner = N_BLOCKS * BLOCK
    pendant = np.arange(n_inner, n_inner + 30)
    to = np.where(pendant % 3 == 0, rng.integers(n_inner, size=30), pendant - 1)
    tail, head = np.concatenate([inside, between, np.stack([pendant, to])], axis=1)
    weight = rng.lognormal(sigma=1.5, size=tail.size)
    order = rng.permutation(tail.size)
    return EdgeList(tail=tail[order], head=head[order], weight=weight, n_nodes=n_inner + 30)


def bridges_of(graph):
    """Weight of every bridge, by its ends."""
    simple = graph.simplified()
    weight = {
        (min(u, v), max(u, v)): w
        for u, v, w in zip(
            simple.tail.tolist(), simple.head.tolist(), simple.weight.tolist(), strict=True
        )
    }
    return {
        pair: weight[pair]
        for u, v in nx.bridges(nx.Graph(list(weight)))
        for pair in [(min(u, v), max(u, v))]
    }


def check_bridges(result, graph, rtol):
    expected = bridges_of(graph)
    found = {
        (min(u, v), max(u, v)): w
        for u, v, w in zip(
            result.tail.tolist(), result.head.tolist(), result.weight.tolist(), strict=True
        )
    }
    assert len(expected) >= 39
    assert expected.keys() <= found.keys()
    np.testing.assert_allclose(
        [found[pair] for pair in expected], list(expected.values()), rtol=rtol
    )


@pytest.mark.parametrize("way", WAYS)
def test_bridges_keep_their_weights_through_every_step(way, graph, tmp_path):
    """Through arrivals, shrinks, a checkpoint, a merge, the last shrink and the rescaling."""
    settings = {"n_edges": 700, "options": WAYS[way]}
    rtol = 1e-6 if way == "in place" else 1e-12  # many edges are held in single precision
    whole = StreamSparsifier(**settings, random_state=1).partial_fit(graph)
    assert whole.n_shrinks_ > 0
    result = whole.sparsifier()
    assert result.n_edges < 0.7 * graph.simplified().n_edges
    check_bridges(result, graph, rtol)
    first = StreamSparsifier(**settings, random_state=2).partial_fit(graph.part(0, 1200))
    second = StreamSparsifier(**settings, random_state=3).partial_fit(graph.part(1200, 2600))
    merged = first.merge(second)
    merged.save(tmp_path / "half.ckpt")
    resumed = StreamSparsifier.load(tmp_path / "half.ckpt").partial_fit(graph.part(2600))
    check_bridges(resumed.sparsifier(consume=True), graph, rtol)


def test_bridges_keep_their_weights_in_sparsify(graph):
    check_bridges(sparsify(graph, n_edges=900, random_state=4, method="fast"), graph, 1e-12)


def test_the_other_edges_are_rescaled(graph):
    """Degrees are met although bridges stay: the test above is not about an idle step."""
    whole = StreamSparsifier(n_edges=700, options=WAYS["in memory"], random_state=1)
    result = whole.partial_fit(graph).sparsifier()
    plain = StreamSparsifier(
        n_edges=700, options=StreamOptions(chunk_size=64, rescale_to_degrees=False), random_state=1
    )
    other = plain.partial_fit(graph).sparsifier()
    far = np.abs(result.degrees() / graph.degrees() - 1).mean()
    assert far < 0.02
    assert far < 0.2 * np.abs(other.degrees() / graph.degrees() - 1).mean()
