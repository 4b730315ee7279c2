"""A factor that grows is the factor of the whole matrix."""

import numpy as np

from graphsqueak.kernel.cholesky import GrowingCholesky


def test_a_growing_factor_is_the_whole_ones():
    rng = np.random.default_rng(11_842)
    factor = rng.normal(size=(200, 210))
    matrix = factor @ factor.T
    grown = GrowingCholesky()
    for t in range(200):
        row = grown.solve(matrix[:t, t : t + 1])[:, 0]
        grown.append(row, np.sqrt(matrix[t, t] - row @ row))
    np.testing.assert_allclose(grown.lower, np.linalg.cholesky(matrix), atol=1e-8)
