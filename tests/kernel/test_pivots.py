"""Randomly pivoted Cholesky: its distribution, its residual, and samplers that match it."""

from itertools import permutations, product

import numpy as np
import pytest

from graphsqueak.kernel import KORS, SQUEAK, RPCholesky
from graphsqueak.kernel.kernels import bind
from graphsqueak.kernel.pivots import draw_best_pivots, draw_pivots, kernel_factor, pivot_weights
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
    for i, chance in zip(pivots.rows, pivots.prob, strict=True):
        assert chance == pytest.approx(residual[i, i] / np.trace(residual), rel=1e-6)
        residual -= np.outer(residual[i], residual[i]) / residual[i, i]
    np.testing.assert_allclose(K - pivots.factor @ pivots.factor.T, residual, atol=1e-9)


def test_the_best_of_eight_proposals_has_the_probability_that_is_returned():
    """Against all draws of eight proposals; one pivot in ten is the first of them."""
    K = random_psd(5, 5, seed=88_214) + 0.1 * np.eye(5)
    residual = K - np.outer(K[2], K[2]) / K[2, 2]
    others = np.array([0, 1, 3, 4])
    d = np.diagonal(residual)[others]
    gain = np.sum(residual**2, axis=1)[others] / d
    draws = np.array(list(product(range(4), repeat=8)))
    each = np.prod((d / d.sum())[draws], axis=1)
    best = draws[np.arange(len(draws)), np.argmax(gain[draws], axis=1)]
    chance = 0.1 * d / d.sum() + 0.9 * np.bincount(best, weights=each, minlength=4)
    seen = set()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        pivots = draw_best_pivots(K, 3, rng=rng, first=np.array([2]), floor=0.0)
        assert pivots.prob[0] == pytest.approx(chance[others == pivots.rows[0]][0], rel=1e-9)
        assert len({2, *pivots.rows.tolist()}) == 4
        seen.add(int(pivots.rows[0]))
    assert len(seen) > 1


def test_weights_of_the_best_pivots_are_unbiased():
    K = random_psd(6, 6, seed=88_215) + 0.1 * np.eye(6)
    values, totals = np.arange(1.0, 7.0), []
    first = np.array([4])
    for run in range(3000):
        rng = np.random.default_rng(60_001 + run)
        pivots = draw_best_pivots(K, 3, rng=rng, first=first, floor=0.01)
        totals.append(values[pivots.rows] @ pivot_weights(pivots.prob))
    sigma = np.std(totals) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - (values.sum() - values[4])) < 6 * sigma


def test_the_best_pivots_leave_less():
    X = np.random.default_rng(7).normal(size=(300, 2))
    K = gaussian_matrix(X)
    first = np.arange(3)
    residual = K - K[:, first] @ np.linalg.solve(K[np.ix_(first, first)], K[first])
    kernel, points = bind("precomputed", None, (residual + residual.T) / 2)
    left = []
    for seed in range(8):
        a, b = (np.random.default_rng(seed) for _ in range(2))
        best = draw_best_pivots(K, 27, rng=a, first=first)
        plain = draw_pivots(kernel, points, 27, rng=b)
        left.append(
            [
                np.trace(K - best.factor @ best.factor.T),
                np.trace(residual - plain.factor @ plain.factor.T),
            ]
        )
    best, plain = np.median(left, axis=0)
    assert best < 0.9 * plain


def test_all_rows_may_be_pivots():
    K = gaussian_matrix(clusters(12))
    rng = np.random.default_rng(8)
    pivots = draw_best_pivots(K, 50, rng=rng, first=np.array([3, 5]))
    assert sorted(pivots.rows) == [i for i in range(12) if i not in (3, 5)]
    np.testing.assert_allclose(pivots.factor @ pivots.factor.T, K, atol=1e-9)
    twins = np.ones((5, 5))
    assert len(draw_best_pivots(twins, 9, rng=rng, first=np.array([0])).rows) == 4


def test_more_pivots_than_dimensions_are_still_distinct():
    X = np.repeat(np.eye(3), 4, axis=0)
    d = RPCholesky(kernel="linear", n_landmarks=7, random_state=2).fit(X)
    assert len(set(d.indices_)) == 7
    assert np.linalg.matrix_rank(d.components_) == 3
    assert np.all(np.isfinite(d.weights_))
    nothing = RPCholesky(kernel="linear", n_landmarks=2, random_state=2).fit(np.zeros((5, 1)))
    assert len(set(nothing.indices_)) == 2


def test_all_but_the_best_columns_are_found():
    """The trace left by m pivots, on average, beside the sum of the smaller eigenvalues."""
    X = np.random.default_rng(6).normal(size=(300, 2))
    K = gaussian_matrix(X)
    lam = np.linalg.eigvalsh(K)[::-1]
    settings = {"kernel": "precomputed", "n_landmarks": 30}
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
    """A ring around a blob, where chances alone lose a factor of two to four; ours see more."""
    rng = np.random.default_rng(41_118)
    angle = rng.uniform(0, 2 * np.pi, size=300)
    ring = 5 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(300, 2))
    X = rng.permutation(np.vstack([ring, 0.3 * rng.normal(size=(300, 2))]))
    K = gaussian_matrix(X)
    settings = {"kernel": "precomputed", "n_landmarks": 100, "ridge": "auto"}
    ours, theirs = (
        np.median([_trace_left(K, kind(random_state=s, **settings).fit(K)) for s in range(5)])
        for kind in (sampler, RPCholesky)
    )
    assert ours < 0.97 * theirs


def test_a_factor_reproduces_the_matrix():
    K = gaussian_matrix(clusters(400, spread=0.3))
    kernel, points = bind("precomputed", None, K)
    Z = kernel_factor(kernel, points, rest=1e-5)
    assert Z.shape[1] < 300
    assert abs(np.trace(K - Z @ Z.T)) <= 1.1e-5
    assert np.linalg.norm(K - Z @ Z.T, 2) <= 1.1e-5
