"""Arithmetic on four columns is that of numpy."""

import numpy as np
import pytest

from graphsqueak.solvers import vectors


@pytest.fixture
def block():
    return np.random.default_rng(5).standard_normal((3, 9))


def test_four_columns_are_loaded_and_stored(block):
    k = np.uint64(2)
    np.testing.assert_array_equal(vectors.load(block, 1, k), block[1, 2:6])
    out = np.zeros_like(block)
    vectors.store(out, 1, k, vectors.load(block, 1, k))
    np.testing.assert_array_equal(out[1, 2:6], block[1, 2:6])
    assert np.count_nonzero(out) == 4


def test_operations_are_those_of_numpy(block):
    left, right, total = block[:, :4]
    np.testing.assert_array_equal(vectors.scale(0.5, left), 0.5 * left)
    np.testing.assert_array_equal(vectors.subtract(left, right), left - right)
    np.testing.assert_array_equal(vectors.add_scaled(total, 0.5, left), total + 0.5 * left)
    np.testing.assert_array_equal(vectors.add_products(total, left, right), total + left * right)
    expected = block[2, 4:8] + 0.5 * left
    vectors.add_scaled_to_row(block, 2, np.uint64(4), 0.5, tuple(left))
    np.testing.assert_array_equal(block[2, 4:8], expected)


@pytest.mark.parametrize("n_columns", range(2, 20))
def test_widths_are_multiples_of_four(n_columns):
    width = vectors.padded_width(n_columns)
    assert width % vectors.COLUMNS_PER_VECTOR == 0
    assert 0 <= width - n_columns < vectors.COLUMNS_PER_VECTOR
