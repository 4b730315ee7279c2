"""Rank-one updates are the explicit online Newton step, with and without a discount."""

import numpy as np
import pytest

from graphsqueak.online import (
    KONS,
)
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.newton import NewtonStep, step_rule
from tests import reference
from tests.online.test_kons import CASES, explicit, rounds


@pytest.mark.parametrize(("loss", "eta"), CASES)
def test_rank_one_updates_are_the_explicit_newton_step(loss, eta):
    X, y = rounds(loss)
    expected, _, w = explicit(X, y, loss, eta)
    step = NewtonStep(alpha=0.4, rule=step_rule(get_loss(loss), eta, 0.6))
    for _ in range(X.shape[1]):
        step.add_coordinate()
    np.testing.assert_allclose(step.run(X, y), expected, atol=1e-10)
    np.testing.assert_allclose(step.w, w, atol=1e-10)


def test_without_curvature_the_step_falls_with_the_root_of_the_round():
    """Hinge: eta_t = 1 / (L C t^1/2), L = 1, t from 1 on, [C17, Theorem 5.4]."""
    X, y = rounds("hinge")
    numbers = iter(range(1, len(X) + 1))
    expected, raw, _ = reference.online_newton(
        X,
        y,
        slope=LOSSES["hinge"].derivative,
        weight=lambda target, prediction, slope: slope**2 / (0.6 * np.sqrt(next(numbers))),
        alpha=0.4,
        clip=0.6,
    )
    assert np.any(expected != raw)
    learner = KONS(kernel="linear", loss="hinge", eta="auto", alpha=0.4, clip=0.6)
    np.testing.assert_allclose(learner.predict_then_learn(X, y), expected, atol=1e-10)
    step = NewtonStep(alpha=0.4, rule=step_rule(get_loss("hinge"), "auto", 0.6))
    for _ in range(X.shape[1]):
        step.add_coordinate()
    np.testing.assert_allclose(step.run(X, y), expected, atol=1e-10)


def test_long_runs_do_not_drift():
    X, y = rounds("squared", n_rounds=20_000, d=4)
    expected, _, _ = explicit(X, y, "squared", "global")
    step = NewtonStep(alpha=0.4, rule=step_rule(get_loss("squared"), "global", 0.6))
    for _ in range(4):
        step.add_coordinate()
    np.testing.assert_allclose(step.run(X, y), expected, atol=1e-9)


def test_a_discount_is_weighted_least_squares():
    """w = argmin sum_t d^age (y - z'w)^2 2 / 2 + alpha |w|^2 / 2; ages in steps of 32 rounds."""
    rng = np.random.default_rng(71_119)
    Z, y, d, alpha = rng.normal(size=(3, 100)), rng.normal(size=100), 0.98, 0.7
    step = NewtonStep(alpha=alpha, rule=step_rule(get_loss("squared"), "auto", np.inf), discount=d)
    for _ in range(3):
        step.add_coordinate()
    pieces = [slice(0, 10), slice(10, 64), slice(64, 100)]
    for piece in pieces:
        step.run(np.ascontiguousarray(Z[:, piece].T), y[piece])
    weight = d ** (32 * np.array([3, 2, 1, 0]).repeat([32, 32, 32, 4]))
    A = alpha * np.eye(3) + 2 * (Z * weight) @ Z.T
    np.testing.assert_allclose(step.inverse, np.linalg.inv(A), rtol=1e-8)
    np.testing.assert_allclose(step.w, np.linalg.solve(A, 2 * (Z * weight) @ y), rtol=1e-8)
