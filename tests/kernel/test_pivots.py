"""Randomly pivoted Cholesky: its law in blocks, its residual, and samplers that come up to it."""

from itertools import permutations

import numpy as np
import pytest

from graphsqueak.kernel import KORS, SQUEAK, RPCholesky
from graphsqueak.kernel.kernels import bind
from graphsqueak.kernel.pivots import draw_pivots
from tests.kernel.problems import clusters, gaussian_matrix, random_psd


def law(K, size, floor):
    """The probability of every sequence of pivots, by dense algebra."""
    out = {}
    for rows in permutations(range(len(K)), size):
        residual, chance = K.copy(), 1.0
        for step, i in enumerate(rows):
            d = np.maximum(np.diagonal(residual), 0.0)
            d = d + floor / (1 - floor) * d.sum() / np.trace(K) * np.diagonal(K)
            d[list(rows[:step])] = 0.0
            chance *= d[i] / d.sum()
            residual = residual - np.outer(residual[i], residual[i]) / residual[i, i]
        out[rows] = chance
    return out


@pytest.mark.parametrize("block", [1, 5])
def test_sequences_of_pivots_have_the_law_of_single_steps(block):
    K = random_psd(4, 4, seed=88_213) + 0.1 * np.eye(4)
    kernel, points = bind("precomputed", None, K)
    truth, n_runs = law(K, 2, 0.0), 2000
    count = dict.fromkeys(truth, 0)
    for run in range(n_runs):
        rng = np.random.default_rng(70_001 + run)
        count[tuple(draw_pivots(kernel, points, 2, rng=rng, block=block, floor=0.0).rows)] += 1
    for rows, chance in truth.items():
        error = 6 * np.sqrt(chance * (1 - chance) / n_runs) + 1e-9
        assert abs(count[rows] / n_runs - chance) <= error


@pytest.mark.parametrize("block", [1, None, 40])
def test_chances_are_those_of_the_draws(block):
    K = gaussian_matrix(clusters(60))
    kernel, points = bind("precomputed", None, K)
    pivots = draw_pivots(kernel, points, 12, rng=np.random.default_rng(5), block=block, floor=0.0)
    residual = K.copy()
    for i, chance in zip(pivots.rows, pivots.chance, strict=True):
        assert chance == pytest.approx(residual[i, i] / np.trace(residual), rel=1e-6)
        residual -= np.outer(residual[i], residual[i]) / residual[i, i]
    np.testing.assert_allclose(K - pivots.factor @ pivots.factor.T, residual, atol=1e-9)


def test_more_pivots_than_dimensions_are_still_distinct():
    X = np.repeat(np.eye(3), 4, axis=0)
    d = RPCholesky(kernel="linear", n_components=7, random_state=2).fit(X)
    assert len(set(d.indices_)) == 7
    assert np.linalg.matrix_rank(d.components_) == 3
    assert np.all(np.isfinite(d.weights_))
    nothing = RPCholesky(kernel="linear", n_components=2, random_state=2).fit(np.zeros((5, 1)))
    assert len(set(nothing.indices_)) == 2


def test_all_but_the_best_columns_are_found():
    """The trace left by m pivots, on average, beside the sum of the smaller eigenvalues."""
    X = np.random.default_rng(6).normal(size=(300, 2))
    K = gaussian_matrix(X)
    lam = np.linalg.eigvalsh(K)[::-1]
    settings = {"kernel": "precomputed", "n_components": 30}
    left = [_trace_left(K, RPCholesky(random_state=s, **settings).fit(K)) for s in range(10)]
    assert lam[30:].sum() <= np.mean(left) < lam[20:].sum()


def _trace_left(K, dictionary):
    rows = dictionary.indices_
    values, vectors = np.linalg.eigh(K[np.ix_(rows, rows)])
    good = values > 1e-12 * values[-1]
    z = K[:, rows] @ (vectors[:, good] / np.sqrt(values[good]))
    return np.trace(K) - np.sum(z**2)


@pytest.mark.parametrize("sampler", [SQUEAK, KORS])
def test_streams_come_up_to_pivots_from_all_points(sampler):
    """A ring around a blob, where chances alone lose a factor of two to four."""
    rng = np.random.default_rng(41_118)
    angle = rng.uniform(0, 2 * np.pi, size=300)
    ring = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(300, 2))
    X = rng.permutation(np.vstack([ring, 0.3 * rng.normal(size=(300, 2))]))
    K = gaussian_matrix(X)
    settings = {"kernel": "precomputed", "n_components": 100, "ridge": "auto"}
    ours, theirs = (
        np.median([_trace_left(K, kind(random_state=s, **settings).fit(K)) for s in range(5)])
        for kind in (sampler, RPCholesky)
    )
    assert ours < 1.3 * theirs
