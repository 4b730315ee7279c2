"""Arithmetic on adjacent columns is that of numpy."""

import numba
import numpy as np
import pytest

from graphsqueak.solvers import vectors


@pytest.fixture
def block():
    return np.random.default_rng(5).standard_normal((3, 9))


@pytest.mark.parametrize("width", [1, 4])
def test_columns_are_loaded_and_stored(block, width):
    k = np.uint64(2)
    zero = vectors.zeros(width, np.float64)
    np.testing.assert_array_equal(vectors.load(block, 1, k, zero), block[1, 2 : 2 + width])
    out = np.zeros_like(block)
    vectors.store(out, 1, k, vectors.load(block, 1, k, zero))
    np.testing.assert_array_equal(out[1, 2 : 2 + width], block[1, 2 : 2 + width])
    assert np.count_nonzero(out) == width


def test_operations_are_those_of_numpy(block):
    left, right, total = (tuple(row) for row in block[:, :4])
    np.testing.assert_array_equal(vectors.scale(0.5, left), 0.5 * block[0, :4])
    np.testing.assert_array_equal(vectors.subtract(left, right), block[0, :4] - block[1, :4])
    scaled = vectors.add_scaled(total, 0.5, left)
    np.testing.assert_array_equal(scaled, block[2, :4] + 0.5 * block[0, :4])
    product = vectors.add_products(total, left, right)
    np.testing.assert_array_equal(product, block[2, :4] + block[0, :4] * block[1, :4])


@numba.njit
def _copy_columns(block, out, zero):
    vectors.store(out, 0, np.uint64(0), vectors.load(block, 1, np.uint64(2), zero))


def test_compiled_tuples_have_the_dtype_of_the_zeros(block):
    out = np.zeros((1, 8))
    _copy_columns(block, out, vectors.zeros(4, np.float32))
    np.testing.assert_array_equal(out[0], np.append(np.float32(block[1, 2:6]), np.zeros(4)))


@pytest.mark.parametrize("n_columns", range(2, 20))
def test_widths_are_multiples_of_four(n_columns):
    width = vectors.padded_width(n_columns)
    assert width % 4 == 0
    assert 0 <= width - n_columns < 4
    assert width % vectors.common_width(width) == 0
    assert vectors.common_width(width) in (4, 8)
