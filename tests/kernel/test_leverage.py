"""Leverage scores: exact ones are the dense reference's, estimates lie within rho of them."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import (
    effective_dimension,
    leverage_scores,
    online_effective_dimension,
    online_leverage_scores,
)
from graphsqueak.kernel.kernels import CHUNK_ENTRIES, as_kernel, bind
from graphsqueak.kernel.leverage import (
    estimate_leverage,
    landmark_leverage,
    merged_ridge,
    rho,
)
from tests import reference
from tests.kernel.problems import clusters, draw, gaussian_matrix, random_psd

MATRICES = {
    "gaussian": gaussian_matrix(clusters(80)),
    "uneven diagonal": random_psd(60, 12, seed=440_191),
}


every_matrix = pytest.mark.parametrize("K", MATRICES.values(), ids=MATRICES)


def scores(K, ridge):
    return leverage_scores(K, kernel="precomputed", ridge=ridge)


@every_matrix
@pytest.mark.parametrize("ridge", [1e-2, 1.0, 50.0])
def test_scores_are_the_dense_ones_alone_or_for_many_ridges(K, ridge):
    expected = reference.kernel_leverage(K, ridge)
    np.testing.assert_allclose(scores(K, ridge), expected, atol=1e-9)
    np.testing.assert_allclose(scores(K, [ridge, 2.0])[0], expected, atol=1e-9)
    lam = np.linalg.eigvalsh(K)
    expected = np.sum(lam / (lam + ridge))
    assert effective_dimension(K, kernel="precomputed", ridge=ridge) == pytest.approx(expected)


@every_matrix
def test_a_score_lies_between_its_bounds(K):
    for ridge in (0.1, 3.0):
        tau, diagonal = scores(K, ridge), np.diag(K)
        assert np.all(tau >= diagonal / (diagonal.sum() + ridge) - 1e-12)
        assert np.all(tau <= diagonal / (diagonal + ridge) + 1e-12)
        assert tau.sum() <= min(np.linalg.matrix_rank(K), diagonal.sum() / ridge)


@every_matrix
def test_scores_fall_with_the_ridge_and_with_more_points_but_not_faster_than_the_bound(K):
    assert np.all(np.diff(scores(K, [0.1, 1.0, 10.0]), axis=0) <= 1e-12)
    for ridge in (0.1, 1.0):
        for t in (10, 30):
            before, after = scores(K[:t, :t], ridge), scores(K[: t + 1, : t + 1], ridge)
            assert np.all(after[:t] <= before + 1e-9)
            assert np.all(after[:t] >= before * ridge / (ridge + K[t, t]) - 1e-9)
            assert after.sum() >= before.sum() - 1e-9


@every_matrix
def test_online_scores_are_those_of_the_prefixes(K):
    online = online_leverage_scores(K, kernel="precomputed", ridge=0.7)
    expected = [reference.kernel_leverage(K[:t, :t], 0.7)[-1] for t in range(1, len(K) + 1)]
    np.testing.assert_allclose(online, expected, atol=1e-9)


@every_matrix
@pytest.mark.parametrize("ridge", [0.1, 1.0, 20.0])
def test_the_chain_of_dimensions(K, ridge):
    d_eff = effective_dimension(K, kernel="precomputed", ridge=ridge)
    d_onl = online_effective_dimension(K, kernel="precomputed", ridge=ridge)
    logdet = np.linalg.slogdet(np.eye(len(K)) + K / ridge)[1]
    norm = np.linalg.norm(K, 2)
    assert d_eff <= d_onl <= logdet <= d_eff * (1 + np.log1p(norm / ridge))


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (np.eye(2), {"ridge": 0.0}, "ridge"),
        (np.zeros((0, 2)), {}, "shape"),
        (np.ones(3), {}, "shape"),
        (-np.eye(2), {"kernel": "precomputed"}, "not positive semi-definite"),
    ],
)
def test_bad_input_is_named(X, settings, message):
    with pytest.raises(InputError, match=message):
        leverage_scores(X, **settings)


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
    np.testing.assert_allclose(landmark_leverage(K, weights, ridge=0.6), expected, atol=1e-9)


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


def test_without_landmarks_a_score_is_what_a_single_point_would_have_at_most():
    K = random_psd(6, 3, seed=99_175)
    kernel, points = bind("precomputed", None, K)
    empty = estimate_leverage(kernel, points, points[:0], np.zeros(0), ridge=2.0)
    np.testing.assert_allclose(empty, np.diag(K) / 2)


def test_chunks_do_not_matter():
    """6,000 points and 1,000 landmarks are more kernel values than a chunk has."""
    X = clusters(6000)
    assert X.shape[0] * 1000 > CHUNK_ENTRIES
    settings = {"landmarks": X[:1000], "weights": np.full(1000, 1.5), "ridge": 1.0}
    kernel = as_kernel("rbf", {"gamma": 0.5})
    whole = estimate_leverage(kernel, X, **settings)
    pieces = [estimate_leverage(kernel, part, **settings) for part in np.array_split(X, 4)]
    np.testing.assert_allclose(np.concatenate(pieces), whole, rtol=1e-9)


@pytest.mark.parametrize("n_inexact", [0, 1, 2, 5])
def test_the_two_sides_of_an_estimate_are_rho_apart(n_inexact):
    X, kernel = clusters(60), as_kernel("rbf", {"gamma": 0.5})
    settings = {"ridge": 0.7, "epsilon": 0.3, "n_inexact": n_inexact}
    weights = np.random.default_rng(4).uniform(0.5, 4.0, size=20)
    under, over = (
        estimate_leverage(kernel, X, X[:20], weights, side=side, **settings)
        for side in ("under", "over")
    )
    np.testing.assert_allclose(over / under, rho(0.3, n_inexact=n_inexact), rtol=1e-12)
    g = merged_ridge(0.7, 0.3, n_inexact=n_inexact)
    gram = kernel(X[:20], X[:20]) + g * np.diag(1 / weights)
    explained = np.einsum("ij,ij->j", kernel(X[:20], X), np.linalg.solve(gram, kernel(X[:20], X)))
    factor = 1.0 if n_inexact == 0 else 0.7
    np.testing.assert_allclose(under, factor * (1 - explained) / g, rtol=1e-6)
