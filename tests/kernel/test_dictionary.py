"""The accuracy that a dictionary measures is that of the definition, on both sides."""

import numpy as np
import pytest

from graphsqueak.kernel import KORS, SQUEAK
from graphsqueak.kernel.kernels import as_kernel, bind
from graphsqueak.kernel.samplers.dictionary import accuracy_range
from graphsqueak.kernel.samplers.merging import (
    MergeRule,
    leaf,
    merge_nodes,
    score_landmarks,
    select_landmarks,
    union,
)
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


@pytest.mark.parametrize(
    "settings",
    [
        (SQUEAK, {"n_landmarks": 8}),
        (SQUEAK, {"n_landmarks": 8, "uniform_share": 0.3}),
        (SQUEAK, {"n_landmarks": 8, "ridge": "auto"}),
        (KORS, {"n_landmarks": 8, "ridge": 1e-6, "form": "paper"}),
    ],
    ids=lambda settings: f"{settings[0].__name__}-{len(settings[1])}",
)
def test_no_part_of_the_shown_weights_is_lost(settings):
    """On orthonormal points totals hardly vary: their mean is within 0.7 % of the 12 points.

    A part of the weights comes from inclusion and the rest from pivots; either one alone is biased.
    """
    sampler, settings = settings
    X = np.eye(12)
    totals = np.array(
        [
            sampler(kernel="linear", random_state=seed, **settings).fit(X).weights_.sum()
            for seed in range(400)
        ]
    )
    error = 6 * totals.std() / np.sqrt(totals.size)
    assert error < 0.08
    assert abs(totals.mean() - 12) < error


def test_shown_weights_follow_those_of_their_node():
    """Landmarks that stand for four points each."""
    rule = MergeRule(as_kernel("linear"), 1.0, 0.5, n_copies=1, size=12)
    node = leaf(rule, np.eye(12), 0)._replace(prob=np.full(12, 0.25), is_exact=False)
    totals = np.array(
        [
            select_landmarks(rule, [node], 8, rng=np.random.default_rng(seed))[0].weights.sum()
            for seed in range(400)
        ]
    )
    error = 6 * totals.std() / np.sqrt(totals.size)
    assert error < 0.01 * 48
    assert abs(totals.mean() - 48) < error


def test_a_ceiling_that_is_passed_keeps_the_total():
    """Landmarks that stay when others make room weigh more, by the inverse of their chance."""
    totals = np.array(
        [
            KORS(kernel="linear", n_landmarks=3, ridge=1e-6, form="paper", random_state=seed)
            .fit(np.eye(12))
            .weights_.sum()
            for seed in range(400)
        ]
    )
    error = 6 * totals.std() / np.sqrt(totals.size)
    assert error < 0.1 * 12
    assert abs(totals.mean() - 12) < error


def test_a_merge_is_for_the_larger_ridge_and_shares_by_the_points_that_landmarks_stand_for():
    rule = MergeRule(as_kernel("rbf"), 0.5, 0.5, n_copies=1, size=8, uniform_share=0.4)
    X = clusters(20)
    light = leaf(rule, X[:10], 0)._replace(ridge=0.5, is_exact=False)
    heavy = leaf(rule, X[10:], 10)._replace(ridge=2.0, prob=np.full(10, 0.2), is_exact=False)
    for nodes in ([light, heavy], [heavy, light]):
        assert merge_nodes(nodes, 3, rule=rule).ridge == 2.0
        merged = union(nodes)
        weight = 1 / merged.prob
        gram = rule.kernel(merged.points, merged.points)
        score, ridge = score_landmarks(rule, nodes, gram, 8)
        root = np.sqrt(weight)
        scaled = root[:, None] * gram * root
        tau = np.diag(scaled @ np.linalg.inv(scaled + 2.0 * np.eye(20))) / weight
        mean = (weight * tau).sum() / weight.sum()
        np.testing.assert_allclose(score, 0.6 * tau + 0.4 * mean, rtol=1e-9)
        assert ridge == 2.0
