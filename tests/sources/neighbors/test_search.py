"""Exact neighbors: the order of (d^2, number), the same for any block of points."""

import numpy as np
import pytest
import scipy.sparse

from graphsqueak.sources.neighbors.points import prepare_points
from graphsqueak.sources.neighbors.search import find_neighbors

SEED = 61_409_733


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("k", [1, 5, 9, 299])
def test_all_fields_are_those_of_a_full_sort(form, k):
    # Small integers: many distances are equal.
    rows = np.random.default_rng(SEED).integers(4, size=(300, 3)).astype(float)
    squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
    found = find_neighbors(prepare_points(form(rows), "euclidean"), 20, 60, k)
    for row, i in enumerate(range(20, 60)):
        order = [j for j in np.lexsort((np.arange(300), squared[i])) if j != i][:k]
        assert found.neighbor[row].tolist() == sorted(order)
        assert found.squared[row].tolist() == squared[i, sorted(order)].tolist()
        assert found.last[row] == order[-1]
        assert found.last_squared[row] == squared[i, order[-1]]
        assert found.local_squared[row] == squared[i, order[min(7, k) - 1]]


def test_neighbors_do_not_depend_on_how_many_are_found_at_once():
    points = prepare_points(np.random.default_rng(SEED).standard_normal((700, 5)), "euclidean")
    expected = find_neighbors(points, 3, 650, 7)
    found = find_neighbors(points, 3, 650, 7, chunks_per_call=1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
