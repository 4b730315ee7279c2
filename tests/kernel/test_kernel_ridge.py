"""Full kernel ridge regression: the dense solution, in few steps, with points and matrices."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from graphsqueak import InputError
from graphsqueak.kernel import KernelRidge
from graphsqueak.kernel.kernel_ridge import kernel_product
from graphsqueak.kernel.kernels import as_kernel
from tests.kernel.problems import clusters, gaussian_matrix

PARAMS = {"gamma": 0.5}


def problem(n_points=400):
    X = clusters(n_points)
    noise = np.random.default_rng(40_922).normal(size=(n_points, 2))
    return X, np.sin(X[:, :2]) + 0.1 * noise


@pytest.mark.parametrize("alpha", [1.0, 1e-4])
def test_the_solution_is_the_dense_one(alpha):
    X, y = problem()
    K = gaussian_matrix(X)
    expected = K @ np.linalg.solve(K + alpha * np.eye(400), y)
    settings = {"alpha": alpha, "tol": 1e-10, "random_state": 6}
    points = KernelRidge(kernel_params=PARAMS, **settings).fit(X, y)
    matrix = KernelRidge(kernel="precomputed", **settings).fit(K, y)
    np.testing.assert_allclose(points.predict(X), expected, atol=1e-6)
    np.testing.assert_allclose(matrix.predict(K), expected, atol=1e-6)
    one = KernelRidge(kernel_params=PARAMS, **settings).fit(X, y[:, 0])
    np.testing.assert_allclose(one.predict(X), expected[:, 0], atol=1e-6)


def test_a_preconditioner_saves_steps():
    X, y = problem(1000)
    settings = {"alpha": 1e-3, "kernel_params": PARAMS, "random_state": 3}
    ours = KernelRidge(**settings).fit(X, y[:, 0])
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        plain = KernelRidge(preconditioner=None, max_iter=50, **settings).fit(X, y[:, 0])
    assert ours.n_iter_ < 15
    assert plain.n_iter_ == 50


def test_rows_in_blocks_are_the_matrix():
    X, v = clusters(60), np.arange(60.0)
    kernel = as_kernel("rbf", PARAMS)
    expected = gaussian_matrix(X) @ v
    np.testing.assert_allclose(kernel_product(kernel, X)(v), expected)
    asked = []

    def counted(rows, columns):
        asked.append(len(rows) * len(columns))
        return kernel(rows, columns)

    in_blocks = kernel_product(counted, X, max_stored=0, chunk_entries=200)
    np.testing.assert_allclose(in_blocks(v), expected)
    assert sum(asked) < 0.6 * 60**2  # the others are known by symmetry


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"tol": 1.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"preconditioner_rank": 0}, "preconditioner_rank"),
        ({"preconditioner": "jacobi"}, "preconditioner"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        KernelRidge(**settings).fit(np.eye(3), np.ones(3))
