"""Sketched resistances of graphs whose weights differ by many decades."""

import numpy as np
import pytest

from graphsqueak import EdgeList
from graphsqueak.sparsifiers.resistance.sketch import precise_embedding, sketch_parts


def chain_of_triangles(heavy, n=150):
    """Triangles of heavy edges, joined by light ones: r is 2/3 of 1 / heavy in each."""
    first = 3 * np.arange(n)
    tail = np.concatenate([first, first + 1, first, first[:-1] + 2])
    head = np.concatenate([first + 1, first + 2, first + 2, first[1:]])
    weight = np.concatenate([np.full(3 * n, heavy), np.ones(n - 1)])
    return EdgeList(tail=tail, head=head, weight=weight).simplified()


@pytest.mark.parametrize(("heavy", "dtype"), [(1.0, np.float32), (1e12, np.float64)])
def test_double_precision_is_used_if_single_is_not_enough(heavy, dtype):
    """Six standard deviations of 64 probes, without the bounds from degrees.

    In single precision the leverages of heavy edges would be up to 10 instead of 2/3.
    """
    graph = chain_of_triangles(heavy)
    sketch = precise_embedding(graph, graph.tail, graph.head, graph.weight, n_probes=64, seed=5)
    known, sketched = sketch_parts(sketch, graph.tail, graph.head, graph.weight)
    resistance = known + sketched
    assert sketch.points.dtype == dtype
    # Links begin at the third node of a triangle.
    exact = np.where(graph.tail % 3 == 2, 1.0, 2 / 3)
    assert (np.abs(graph.weight * resistance / exact - 1) < 6 * np.sqrt(2 / 64)).all()
