"""Estimated leverage scores lie within rho of the true ones, at the dictionary's own accuracy."""

import numpy as np
import pytest

from graphsqueak.kernel.estimator import atom_leverage, estimate_leverage, merged_ridge, rho
from graphsqueak.kernel.kernels import bind
from tests import reference
from tests.kernel.problems import clusters, draw, gaussian_matrix, random_psd


@pytest.mark.parametrize("n_inexact", [1, 2, 3])
@pytest.mark.parametrize("ridge", [0.3, 2.0])
def test_rho_sandwich_for_unions_of_inexact_dictionaries_and_raw_points(n_inexact, ridge):
    rng = np.random.default_rng(350_117 + n_inexact)
    K = gaussian_matrix(clusters(100))
    kernel, points = bind("precomputed", None, K)
    parts = np.array_split(np.arange(85), n_inexact)  # the last 15 points are raw
    truth = reference.kernel_leverage(K, ridge)
    tested = 0
    for _ in range(60):
        weights, accuracy = np.ones(100), 0.0
        for part in parts:
            weights[part] = draw(K[np.ix_(part, part)], 60, ridge=ridge, rng=rng)
            low, high = reference.dictionary_range(K[np.ix_(part, part)], weights[part], ridge)
            accuracy = max(accuracy, -low, high)
        if accuracy >= 0.9:
            continue
        tested += 1
        kept = np.flatnonzero(weights)
        bounds = {
            side: estimate_leverage(
                kernel,
                points,
                points[kept],
                weights[kept],
                ridge=ridge,
                epsilon=accuracy,
                n_inexact=n_inexact,
                side=side,
            )
            for side in ("under", "over")
        }
        factor = rho(accuracy, n_inexact=n_inexact)
        assert np.all(bounds["under"] <= truth * (1 + 1e-9))
        assert np.all(bounds["under"] >= truth / factor * (1 - 1e-9))
        assert np.all(bounds["over"] >= truth * (1 - 1e-9))
        assert np.all(bounds["over"] <= truth * factor * (1 + 1e-9))
    assert tested > 30


def test_the_diagonal_form_is_the_general_one():
    K = random_psd(40, 9, seed=99_173)
    kernel, points = bind("precomputed", None, K)
    weights = np.random.default_rng(8_116).uniform(0.2, 5, 40)
    expected = weights * estimate_leverage(kernel, points, points, weights, ridge=0.6)
    np.testing.assert_allclose(atom_leverage(K, weights, ridge=0.6), expected, atol=1e-9)


def test_an_exact_dictionary_needs_no_allowance():
    assert rho(0.4, n_inexact=0) == 1.0
    assert merged_ridge(2.0, 0.4, n_inexact=0) == 2.0
    K = random_psd(20, 5, seed=99_174)
    kernel, points = bind("precomputed", None, K)
    for side in ("under", "over"):
        exact = estimate_leverage(
            kernel, points, points, np.ones(20), ridge=1.5, epsilon=0.4, n_inexact=0, side=side
        )
        np.testing.assert_allclose(exact, reference.kernel_leverage(K, 1.5))


def test_without_atoms_a_score_is_what_a_single_point_would_have_at_most():
    K = random_psd(6, 3, seed=99_175)
    kernel, points = bind("precomputed", None, K)
    empty = estimate_leverage(kernel, points, points[:0], np.zeros(0), ridge=2.0)
    np.testing.assert_allclose(empty, np.diag(K) / 2)


def test_chunks_do_not_matter(monkeypatch):
    X = clusters(50)
    K = gaussian_matrix(X)
    kernel, points = bind("precomputed", None, K)
    whole = estimate_leverage(kernel, points, points[:9], np.ones(9), ridge=1.0)
    monkeypatch.setattr("graphsqueak.kernel.kernels._CHUNK_ENTRIES", 30)
    pieces = estimate_leverage(kernel, points, points[:9], np.ones(9), ridge=1.0)
    np.testing.assert_allclose(pieces, whole, rtol=1e-12)
