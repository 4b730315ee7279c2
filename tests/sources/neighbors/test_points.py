"""Points are checked, and scaled to length one for the cosine."""

import numpy as np
import pytest
import scipy.sparse

from graphsqueak import InputError
from graphsqueak.sources.neighbors.points import prepare_points


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e150])
def test_rows_have_length_one_whatever_their_size(form, size):
    points = prepare_points(form(size * np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])), "cosine")
    # The norm of a row of zeros is 1, so that its cosine with any row is 0.
    np.testing.assert_allclose(points.norms, 1.0)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("n_columns", [1, 100])
def test_coordinates_are_bounded_by_finite_distances(form, n_columns):
    limit = np.sqrt(np.finfo(float).max / n_columns) / 2
    rows = np.full((2, n_columns), 0.999 * limit)
    rows[1] *= -1
    points = prepare_points(form(rows), "euclidean")
    assert np.isfinite(points.norms).all()
    assert np.isfinite(((rows[0] - rows[1]) ** 2).sum())
    rows[1, -1] = -1.001 * limit
    with pytest.raises(InputError, match=r"point 1 has the coordinate -.*use a larger unit"):
        prepare_points(form(rows), "euclidean")


def test_empty_columns_take_no_memory():
    matrix = scipy.sparse.csr_array(([1.0, 2.0], [5, 10**9], [0, 1, 2]), shape=(2, 2 * 10**9))
    points = prepare_points(matrix, "euclidean")
    assert points.column_indptr.size == 3
    assert points.norms.tolist() == [1.0, 4.0]
