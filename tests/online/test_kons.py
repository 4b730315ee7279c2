"""KONS is the explicit online Newton step; Sketched-KONS the one with a mask."""

import numpy as np
import pytest

from graphsqueak.kernel import as_kernel
from graphsqueak.online import KONS, SketchedKONS
from graphsqueak.online.kons import DualNewton
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.newton import step_rule
from graphsqueak.randomness import uniforms
from tests import reference

CASES = [
    ("squared", "global"),
    ("squared", "auto"),
    ("squared", 0.7),
    ("logistic", "auto"),
    ("squared_hinge", "global"),
    ("squared_hinge", "auto"),
    ("hinge", 0.5),
]


def rounds(loss, n_rounds=120, d=6, seed=773_120_419):
    """Points of uneven length with repeats, and targets of which some are met exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rounds, d)) * rng.uniform(0.3, 3, size=(n_rounds, 1))
    X[40:50] = X[30:40]
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n_rounds))
    return X, y if LOSSES[loss].is_classification else 0.9 * y


def explicit(X, y, loss, eta, *, alpha=0.4, clip=0.6, mask=None):
    law = LOSSES[loss]

    def weight(target, prediction, slope):
        if eta == "auto":
            return law.curvature(target, prediction, clip)
        return (law.sigma(clip) if eta == "global" else eta) * slope**2

    settings = {"alpha": alpha, "clip": clip, "mask": mask}
    return reference.online_newton(X, y, slope=law.derivative, weight=weight, **settings)


@pytest.mark.parametrize(("loss", "eta"), CASES)
def test_kons_is_the_explicit_newton_step(loss, eta):
    X, y = rounds(loss)
    expected, raw, w = explicit(X, y, loss, eta)
    assert 0.1 < np.mean(expected != raw) < 0.9  # clipping is at work
    learner = KONS(kernel="linear", loss=loss, eta=eta, alpha=0.4, clip=0.6)
    np.testing.assert_allclose(learner.predict_then_learn(X, y), expected, atol=1e-10)
    score = learner.models_[0].scores(np.eye(X.shape[1]))
    np.testing.assert_allclose(score, np.clip(w, -0.6, 0.6), atol=1e-10)


def test_a_round_without_a_slope_still_projects():
    X, y = rounds("squared")
    y[5::3] = 0.6  # predictions that are clipped to 0.6 are then exact: the slope is 0
    expected, raw, _ = explicit(X, y, "squared", "global")
    silent = (expected == y) & (raw != expected)
    assert silent.sum() > 3
    learner = KONS(kernel="linear", eta="global", alpha=0.4, clip=0.6)
    np.testing.assert_allclose(learner.predict_then_learn(X, y), expected, atol=1e-10)


def test_steps_left_out_of_the_sketch_are_left_out_of_the_matrix():
    X, y = rounds("squared")
    mask = np.random.default_rng(40_119).random(len(X)) < 0.4
    expected, _, _ = explicit(X, y, "squared", "global", mask=mask)
    state = DualNewton(alpha=0.4, rule=step_rule(get_loss("squared"), "global", 0.6))
    K = X @ X.T
    got = [
        state.run_round(K[t, :t], K[t, t], y[t], sample=lambda h, t=t: mask[t])
        for t in range(len(X))
    ]
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_sketched_kons_with_every_step_is_kons():
    X, y = rounds("squared")
    settings = {"kernel_params": {"gamma": 0.2}, "alpha": 0.4, "clip": 0.6}
    whole = KONS(**settings).predict_then_learn(X, y)
    sketched = SketchedKONS(min_probability=1.0, random_state=3, **settings)
    np.testing.assert_allclose(sketched.predict_then_learn(X, y), whole, atol=1e-12)
    assert sketched.n_sampled_ == len(X)


def test_sketched_kons_follows_the_mask_that_it_drew():
    X, y = rounds("squared")
    learner = SketchedKONS(
        kernel="linear", eta="global", alpha=0.4, clip=0.6, min_probability=0.1, random_state=11
    )
    got = learner.predict_then_learn(X, y)
    mask = np.isin(np.arange(len(X)), learner.models_[0].newton.sampled)
    assert 10 < mask.sum() < 90
    assert np.isin(learner.models_[0].landmarks, learner.models_[0].newton.sampled).all()
    assert 0 < len(learner.models_[0].landmarks) < mask.sum()
    expected, _, _ = explicit(X, y, "squared", "global", mask=mask)
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_the_mask_is_drawn_from_scores_of_the_scaled_kernel():
    X, y = rounds("squared")
    settings = {"beta": 1.5, "min_probability": 0.1, "random_state": 11}
    learner = SketchedKONS(kernel="linear", eta="global", alpha=0.4, clip=0.6, **settings)
    slope = 2 * (learner.predict_then_learn(X, y) - y)
    h = LOSSES["squared"].sigma(0.6) * slope**2
    K = np.sqrt(h)[:, None] * (X @ X.T) * np.sqrt(h)
    draws = uniforms(learner.models_[0].seed, 0, len(X))
    atoms, weight, chosen = [], [], []
    for t, draw in enumerate(draws):
        seen, s = [*atoms, t], np.array([*weight, 1.0])
        middle = np.linalg.inv(K[np.ix_(seen, seen)] + np.diag(0.4 / s))
        tau = (K[t, t] - K[t, seen] @ middle @ K[seen, t]) / 0.4
        p = min(1.5 * 1.5 * tau, 1.0)
        if draw > 1 - p:
            atoms.append(t)
            weight.append(1 / p)
        if draw > 1 - max(p, 0.1):
            chosen.append(t)
    assert learner.models_[0].landmarks.tolist() == atoms
    assert learner.models_[0].newton.sampled.tolist() == chosen


def test_a_kernel_with_an_uneven_diagonal():
    X, y = rounds("squared", n_rounds=60, d=3)
    params = {"degree": 2, "coef0": 1.0, "gamma": 1.0}
    K = as_kernel("poly", params)(X, X)
    lam, U = np.linalg.eigh(K)
    features = U * np.sqrt(np.maximum(lam, 0))
    expected, _, _ = explicit(features, y, "squared", "auto")
    learner = KONS(kernel="poly", kernel_params=params, alpha=0.4, clip=0.6)
    np.testing.assert_allclose(learner.predict_then_learn(X, y), expected, atol=1e-6)
