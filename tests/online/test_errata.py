"""The online entries of docs/errata.md: the printed formula fails on an example, ours holds."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from graphsqueak.online.kons import DualNewton
from graphsqueak.online.losses import LOSSES
from graphsqueak.online.newton import step_rule
from tests import reference

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
ALPHA, CLIP = 0.4, 0.6
SIGMA = LOSSES["squared"].sigma(CLIP)


def test_every_entry_of_the_section_has_its_test_and_every_test_its_entry():
    section = PAGE.read_text().split("## Online learning")[1]
    here = {name for name in globals() if name.startswith("test_")}
    named = set(re.findall(r"`(test_\w+)`", section))
    assert named == here - {"test_every_entry_of_the_section_has_its_test_and_every_test_its_entry"}


def rounds():
    rng = np.random.default_rng(38_120)
    X = 2 * rng.normal(size=(40, 3))
    return X, 0.9 * np.sign(X @ rng.normal(size=3) + rng.normal(size=40))


def explicit(X, y, mask=None):
    return reference.online_newton(
        X,
        y,
        slope=lambda target, prediction: 2 * (prediction - target),
        weight=lambda target, prediction, slope: SIGMA * slope**2,
        alpha=ALPHA,
        clip=CLIP,
        mask=mask,
    )[0]


def seed_form(X, y, coefficient):
    """KONS with coefficients b_i of D phi_i, as the papers write it: ybar = k'D E^-1 b."""
    K, b, d, out = X @ X.T, [], [], []
    for t in range(len(X)):
        D, k = np.array(d), K[:t, t]
        E = D[:, None] * K[:t, :t] * D + ALPHA * np.eye(t)
        bar = D * k
        raw = bar @ np.linalg.solve(E, np.array(b)) if t else 0.0
        prediction = np.clip(raw, -CLIP, CLIP)
        out.append(prediction)
        g = 2 * (prediction - y[t])
        gone = bar @ np.linalg.solve(E, bar) if t else 0.0
        d.append(g * math.sqrt(SIGMA))
        b.append(coefficient(d[-1], prediction, raw - prediction, K[t, t], d[-1] ** 2 * gone, g))
    return np.array(out)


def corrected(d, prediction, over, k, gone, g):
    return d * (prediction - ALPHA * over / (d**2 * k - gone)) - 1 / math.sqrt(SIGMA)


def test_coefficients_of_kons_need_the_scaled_diagonal_and_the_slope():
    X, y = rounds()
    expected = explicit(X, y)

    def printed(d, prediction, over, k, gone, g):
        return d * (prediction - ALPHA * over / (k - gone) - 1 / SIGMA)

    def half_corrected(d, prediction, over, k, gone, g):
        return d * (prediction - ALPHA * over / (k - gone)) - 1 / math.sqrt(SIGMA)

    np.testing.assert_allclose(seed_form(X, y, corrected), expected, atol=1e-10)
    assert np.abs(seed_form(X, y, printed) - expected).max() > 0.5
    assert np.abs(seed_form(X, y, half_corrected) - expected).max() > 0.1


def test_the_hypothesis_is_a_sum_of_scaled_gradients():
    """u_2 = A_1^-1 b_1 d_1 phi_1, not A_1^-1 b_1 g_1 phi_1, after one round."""
    x, y = 1.5, 0.9
    g = -2 * y
    d = g * math.sqrt(SIGMA)
    A, b = ALPHA + d**2 * x**2, corrected(d, 0.0, 0.0, x**2, 0.0, g)
    step = -g * x / A
    assert b * d * x / A == pytest.approx(step)
    assert b * g * x / A != pytest.approx(step)


def test_a_clipped_round_without_a_slope_needs_its_projection():
    X = np.array([[1.0], [1.0], [0.5]])
    y = np.array([0.6, CLIP, 0.0])
    state = DualNewton(alpha=0.05, rule=step_rule("squared", "global", CLIP))
    ours = [state.round(X[:t, 0] * X[t, 0], X[t, 0] ** 2, y[t]) for t in range(3)]
    assert ours[1] == CLIP  # clipped, and right: the slope is 0
    assert ours[2] == pytest.approx(CLIP / 2)  # w was moved to CLIP
    d = math.sqrt(SIGMA) * 1.2
    unprojected = 1.2 / (0.05 + d**2)
    assert unprojected / 2 > CLIP  # with b_2 = d_2 (...) = 0 the hypothesis stays out of bounds


def test_a_step_left_out_of_the_sketch_has_no_curvature_in_its_coefficient():
    X, y = rounds()
    mask = np.random.default_rng(2_207).random(len(X)) < 0.5
    expected = explicit(X, y, mask)

    def run(with_term):
        c, d, out = [], [], []
        K = X @ X.T
        for t in range(len(X)):
            D = np.array(d)
            E = D[:, None] * K[:t, :t] * D + ALPHA * np.eye(t)
            k, coefficient = K[:t, t], np.array(c)
            if t:
                v = np.linalg.solve(E, D * (K[:t, :t] @ coefficient))
                raw = (k @ coefficient - (D * k) @ v) / ALPHA
                a = (K[t, t] - (D * k) @ np.linalg.solve(E, D * k)) / ALPHA
            else:
                raw, a = 0.0, K[0, 0] / ALPHA
            prediction = np.clip(raw, -CLIP, CLIP)
            out.append(prediction)
            g = 2 * (prediction - y[t])
            h = SIGMA * g**2
            d.append(math.sqrt(h) if mask[t] else 0.0)
            c.append((h if mask[t] or with_term else 0.0) * prediction - g - (raw - prediction) / a)
        return np.array(out)

    np.testing.assert_allclose(run(False), expected, atol=1e-10)
    assert np.abs(run(True) - expected).max() > 0.05


def test_the_logarithm_of_the_regret_has_alpha_in_it():
    """Logistic loss, C = 2, one round, w = 0: regret 0, printed bound negative."""
    sigma, alpha = LOSSES["logistic"].sigma(2.0), 0.01
    d_eff = 1 / (1 + alpha / sigma)
    assert 2 * d_eff * math.log(2 * sigma * 1) / sigma < 0
    assert 2 * d_eff * math.log(2 * sigma * 1 / alpha) / sigma > 0


def test_the_bound_for_squared_losses_is_infinite_at_the_accuracy_of_the_experiments():
    epsilon = 0.5
    assert 1 - 2 * epsilon == 0  # eps' = eps / (1 - 2 eps)


def test_the_exponent_for_polynomial_decay_is_the_other_one():
    T = 1e6
    for q in (1.5, 2.0, 4.0):
        assert T ** (q / (1 + q)) > math.sqrt(T)
        assert T ** (1 / (1 + q)) < math.sqrt(T)


def test_the_weight_of_a_carried_hypothesis_is_not_its_value():
    f, z = 0.8, np.array([0.3, 0.4])
    w = f * z / (z @ z)
    assert w @ z == pytest.approx(f)
    assert w @ w > f**2  # [ZL19, Eq. 17] has f^2 for |w|^2
    assert w @ w == pytest.approx(f**2 / (z @ z))
