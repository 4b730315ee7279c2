"""Cholesky factors that grow, and features from random pivots, are those of the whole matrix."""

import numpy as np

from graphsqueak.kernel.cholesky import GrowingCholesky, cholesky_features
from graphsqueak.kernel.kernels import bind
from tests.kernel.problems import clusters, gaussian_matrix


def test_a_growing_factor_is_the_whole_ones():
    rng = np.random.default_rng(11_842)
    factor = rng.normal(size=(200, 210))
    matrix = factor @ factor.T
    grown = GrowingCholesky()
    for t in range(200):
        row = grown.solve(matrix[:t, t : t + 1])[:, 0]
        grown.append(row, np.sqrt(matrix[t, t] - row @ row))
    np.testing.assert_allclose(grown.lower, np.linalg.cholesky(matrix), atol=1e-8)


def test_features_reproduce_the_matrix():
    K = gaussian_matrix(clusters(400, spread=0.3))
    kernel, points = bind("precomputed", None, K)
    Z = cholesky_features(kernel, points, rest=1e-5)
    assert Z.shape[1] < 300
    assert abs(np.trace(K - Z @ Z.T)) <= 1.1e-5
    assert np.linalg.norm(K - Z @ Z.T, 2) <= 1.1e-5
