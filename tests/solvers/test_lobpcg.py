"""LOBPCG on matrices whose eigenpairs are known; orthonormal bases of blocks."""

import numpy as np
import pytest

from graphsqueak.solvers.lobpcg import lobpcg, orthonormal


class Diagonal:
    """A diagonal matrix with eigenvalue zero in the first row, and its exact inverse."""

    def __init__(self, diagonal):
        self.diagonal = diagonal

    def multiply(self, X, report=None):
        return self.diagonal[:, None] * X

    def precondition(self, R):
        return self.centered(R / np.maximum(self.diagonal, 1e-300)[:, None])

    def centered(self, X):
        return np.vstack([np.zeros((1, X.shape[1])), X[1:]])


def test_multiple_eigenvalues_are_found():
    diagonal = np.concatenate([[0.0, 2.0, 2.0, 2.0], np.linspace(5.0, 100.0, 300)])
    start = np.random.default_rng(7).standard_normal((diagonal.size, 8))
    found = lobpcg(Diagonal(diagonal), start, 4, tol=1e-6, max_iter=50, largest=100.0)
    np.testing.assert_allclose(found.values, [2.0, 2.0, 2.0, 5.0], rtol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(4), atol=1e-9)
    residual = np.linalg.norm(
        diagonal[:, None] * found.vectors - found.vectors * found.values, axis=0
    )
    assert found.residual == pytest.approx((residual / found.values).max(), rel=1e-3)
    assert found.residual <= 1e-6


def test_the_iteration_stops_at_the_limit_and_at_rounding_errors():
    """Without a tolerance that can be reached."""
    diagonal = np.concatenate([[0.0], np.linspace(1.0, 1e6, 400)])
    operator = Diagonal(diagonal)
    operator.precondition = operator.centered
    start = np.random.default_rng(8).standard_normal((diagonal.size, 4))
    limited = lobpcg(operator, start, 2, tol=1e-9, max_iter=3, largest=1e6)
    assert limited.n_iter == 3
    assert limited.residual > 1e-9
    accepted = lobpcg(Diagonal(diagonal), start, 2, tol=1e-30, max_iter=500, largest=1e6)
    assert accepted.n_iter < 100
    assert accepted.residual <= 1e-30
    np.testing.assert_allclose(accepted.values, diagonal[1:3], rtol=1e-9)


def test_orthonormal_directions_span_the_block():
    rng = np.random.default_rng(93_019)
    M = np.diag(rng.lognormal(sigma=2.0, size=150))
    M[0, 1] = M[1, 0] = M[0, 0] * 1e-3
    independent = rng.standard_normal((150, 4)) * [1e-8, 1.0, 1e5, 1.0]
    block = np.column_stack([independent, independent[:, 1] + 1e-3 * independent[:, 3]])
    P = orthonormal(block, lambda y: M @ y)
    assert P.shape[1] == 4
    assert np.abs(P.T @ M @ P - np.eye(4)).max() < 1e-9
    scaled = independent / np.linalg.norm(independent, axis=0)
    assert np.abs(P @ (P.T @ M @ scaled) - scaled).max() < 1e-6
    assert orthonormal(np.zeros((3, 2))).shape == (3, 0)
