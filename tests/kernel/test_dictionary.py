"""The accuracy that a dictionary measures is that of the definition, on both sides."""

import numpy as np
import pytest

from graphsqueak.kernel.kernels import as_kernel, bind
from graphsqueak.kernel.samplers.dictionary import accuracy_range
from tests import reference
from tests.kernel.problems import clusters, draw, gaussian_matrix, random_psd


@pytest.mark.parametrize("ridge", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("K", [gaussian_matrix(clusters(300)), random_psd(90, 20, seed=3_301)])
def test_range_is_the_dense_one(K, ridge):
    kernel, points = bind("precomputed", None, K)
    weights = draw(K, 15, ridge=ridge, rng=np.random.default_rng(66_020))
    kept = np.flatnonzero(weights)
    expected = reference.dictionary_range(K, weights, ridge)
    measured = accuracy_range(kernel, points, kept, weights[kept], ridge=ridge)
    np.testing.assert_allclose(measured, expected, atol=1e-3)


def test_all_points_are_exact_and_none_lose_everything():
    X = clusters(50)
    kernel = as_kernel("rbf")
    low, high = accuracy_range(kernel, X, np.arange(50), np.ones(50), ridge=0.1)
    assert max(-low, high) < 1e-12
    norm = np.linalg.norm(kernel(X, X), 2)
    _, high = accuracy_range(kernel, X, np.arange(0), np.zeros(0), ridge=0.1)
    assert high == pytest.approx(norm / (norm + 0.1))
