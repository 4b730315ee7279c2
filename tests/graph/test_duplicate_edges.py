"""Test the counter of duplicate edges against exact counts."""

import numpy as np
import pytest

from graphsqueak.graph.duplicate_edges import DuplicateCounter


def random_multigraph(rng, n_pairs, n_lines):
    """Return edges over `n_pairs` distinct pairs, some far more frequent than others."""
    nodes = int(4 * n_pairs**0.5)
    codes = rng.choice(nodes * nodes, size=2 * n_pairs, replace=False)
    tail, head = codes // nodes, codes % nodes
    tail, head = tail[tail < head][:n_pairs], head[tail < head][:n_pairs]
    more = (tail.size * rng.random(n_lines - tail.size) ** 4).astype(np.int64)
    which = rng.permutation(np.concatenate([np.arange(tail.size), more]))
    is_reversed = rng.random(which.size) < 0.5
    tail, head = tail[which], head[which]
    return (
        np.where(is_reversed, head, tail),
        np.where(is_reversed, tail, head),
        np.unique(which).size,
    )


@pytest.mark.parametrize(("n_pairs", "n_lines"), [(3000, 3000), (40_000, 90_000), (9000, 400_000)])
def test_the_error_is_within_six_standard_deviations(n_pairs, n_lines):
    tail, head, n_distinct = random_multigraph(np.random.default_rng(90_210), n_pairs, n_lines)
    counter = DuplicateCounter(capacity=1 << 10)
    for start in range(0, len(tail), 1777):
        counter.add(tail[start : start + 1777], head[start : start + 1777])
    true = 1 - n_distinct / n_lines
    assert not counter.is_exact
    assert abs(counter.fraction - true) < 6 * (1 - true) / np.sqrt(1 << 10)
    exact = DuplicateCounter()
    exact.add(tail, head)
    assert exact.is_exact
    assert exact.fraction == pytest.approx(true, abs=1e-12)


def test_graphs_without_duplicates_have_none_reported():
    tail, head = np.triu_indices(200, k=1)
    counter = DuplicateCounter(capacity=1 << 10)
    counter.add(tail, head)
    assert not counter.is_exact
    assert counter.fraction == 0.0


def test_reversed_edges_are_duplicates():
    counter = DuplicateCounter()
    assert counter.fraction == 0.0
    tail, head = np.arange(100), np.arange(100) + 1
    counter.add(tail, head)
    assert counter.fraction == 0.0
    counter.add(head, tail)
    assert counter.fraction == 0.5
