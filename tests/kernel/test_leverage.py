"""Exact leverage scores: the dense reference, and the inequalities of the theory."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import (
    effective_dimension,
    leverage_scores,
    online_effective_dimension,
    online_leverage_scores,
)
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix, random_psd

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
