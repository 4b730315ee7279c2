"""Buffers of sampled edges: growth, replacement in blocks, and precision of weights."""

import numpy as np

from graphsqueak.sparsifiers.stream.edge_buffer import EdgeBuffer, SampledEdges
from tests.comparison import differences


def random_edges(n_edges, seed):
    rng = np.random.default_rng(seed)
    return SampledEdges(
        tail=rng.integers(50, size=n_edges).astype(np.int32),
        head=rng.integers(50, size=n_edges).astype(np.int32),
        weight=rng.lognormal(size=n_edges),
        in_forest=rng.random(n_edges) < 0.1,
    )


def concatenated(*several):
    return SampledEdges(*map(np.concatenate, zip(*several, strict=True)))


def test_appended_edges_follow_each_other():
    parts = [random_edges(n_edges, seed) for seed, n_edges in enumerate((3, 0, 1, 400, 20))]
    buffer = EdgeBuffer()
    for part in parts:
        buffer.append(part)
    assert buffer.n_edges == 424
    assert differences(buffer.edges(), concatenated(*parts)) == []


def test_edges_after_a_truncation_are_overwritten():
    first, second = random_edges(100, 1), random_edges(30, 2)
    buffer = EdgeBuffer(first.copy())
    buffer.truncate(40)
    buffer.append(second)
    expected = concatenated(first.select(slice(0, 40)), second)
    assert differences(buffer.edges(), expected) == []
    buffer.release_capacity()
    assert differences(buffer.edges(), expected) == []


def test_blocks_are_replaced_in_order():
    edges = random_edges(300, 3)
    is_chosen = np.random.default_rng(4).random(300) < 0.6

    def choose(block, first):
        return block.select(is_chosen[first : first + block.n_edges])

    buffer = EdgeBuffer(edges.copy())
    buffer.replace_blocks(choose, block_size=64)
    assert differences(buffer.edges(), edges.select(is_chosen)) == []


def test_weights_change_their_precision_and_nothing_else_does():
    edges = random_edges(50, 5)
    buffer = EdgeBuffer(edges.copy())
    buffer.set_weight_dtype(np.float32)
    single = edges.weight.astype(np.float32)
    assert buffer.weight_dtype == np.float32
    assert differences(buffer.edges(), edges._replace(weight=single)) == []
    buffer.set_weight_dtype(np.float64)
    assert differences(buffer.edges(), edges._replace(weight=single.astype(np.float64))) == []
