"""Growable arrays of the union-find structure."""

import numpy as np

from graphsqueak.graph.forest import extended


def test_extending_an_array_twice_leaves_both_results_intact():
    first = extended(np.zeros(0), np.ones(10))
    longer = extended(first, np.full(2, 2.0))
    other = extended(first, np.full(3, 3.0))
    assert np.shares_memory(first, longer)
    assert not np.shares_memory(longer, other)
    assert longer.tolist() == [1.0] * 10 + [2.0] * 2
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
    assert extended(other[:4], np.zeros(1)).tolist() == [1.0] * 4 + [0.0]
    assert other.tolist() == [1.0] * 10 + [3.0] * 3
