"""Kernels: names, functions, objects and matrices are the same thing."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import pairwise_kernels

from graphsqueak import InputError
from graphsqueak.kernel.kernels import as_kernel, bind, row_chunks


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("rbf", {}),
        ("rbf", {"gamma": 0.3}),
        ("laplacian", {"gamma": 0.7}),
        ("linear", {}),
        ("poly", {"degree": 2, "coef0": 0.5, "gamma": 1.3}),
        ("polynomial", {}),
        ("cosine", {}),
        ("chi2", {"gamma": 0.2}),
    ],
)
def test_names_are_scikit_learns_and_the_diagonal_is_the_matrixs(name, params):
    X = np.random.default_rng(73_001).uniform(size=(9, 4))
    X[3] = 0.0
    k = as_kernel(name, params)
    expected = pairwise_kernels(X, metric=name, **params)
    np.testing.assert_allclose(k(X, X), expected, atol=1e-15)
    np.testing.assert_allclose(k.diag(X), np.diag(expected), atol=1e-15)


def test_functions_objects_and_matrices_agree():
    X = np.random.default_rng(73_002).normal(size=(8, 2))
    expected = as_kernel("gaussian", {"bandwidth": 1.5})(X, X)

    def of_rows(x, y, scale):
        return np.exp(-np.sum((x - y) ** 2) / scale)

    for kernel, params in ((of_rows, {"scale": 4.5}), (RBF(1.5), None)):
        k = as_kernel(kernel, params)
        np.testing.assert_allclose(k(X, X), expected, rtol=1e-12)
        np.testing.assert_allclose(k.diag(X), 1.0)
    k, points = bind("precomputed", None, expected)
    np.testing.assert_array_equal(k(points[2:4], points[:5]), expected[2:4, :5])
    np.testing.assert_array_equal(k.diag(points), np.diag(expected))


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        ("sigmoid", None, "not positive semi-definite"),
        ("rbff", None, "not one of"),
        ("rbf", {"gama": 1}, "no parameter 'gama'"),
        ("rbf", {"gamma": 1, "bandwidth": 1}, "not both"),
        ("rbf", {"bandwidth": 0.0}, "bandwidth"),
        (RBF(), {"gamma": 1}, "kernel object"),
        (7, None, "neither a name nor a function"),
    ],
)
def test_bad_kernels_are_named(kernel, params, message):
    with pytest.raises(InputError, match=message):
        as_kernel(kernel, params)


@pytest.mark.parametrize(
    ("matrix", "params", "message"),
    [
        (np.ones((2, 3)), None, "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), None, "not symmetric"),
        (np.eye(2), {"gamma": 1}, "no kernel_params"),
    ],
)
def test_bad_kernel_matrices_are_named(matrix, params, message):
    with pytest.raises(InputError, match=message):
        bind("precomputed", params, matrix)


def test_chunks_cover_every_row_once():
    for n_rows, n_columns in ((10, 10**9), (0, 5), (1000, 2**20)):
        rows = [row for part in row_chunks(n_rows, n_columns) for row in range(n_rows)[part]]
        assert rows == list(range(n_rows))
