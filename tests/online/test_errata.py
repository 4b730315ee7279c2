"""The online entries of docs/research/errata.md: the printed formula fails on an example, ours
holds."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from graphsqueak.online import (
    PROSNKONS,
    SkeGD,
    kons_regret,
    pros_n_kons_regret,
    skegd_regret,
    sketch_error,
)
from graphsqueak.online.kons import DualNewton
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.newton import step_rule
from tests import reference

PAGE = Path(__file__).parents[2] / "docs" / "research" / "errata.md"
ALPHA, CLIP = 0.4, 0.6
SIGMA = LOSSES["squared"].sigma(CLIP)


def test_every_entry_of_the_section_has_its_test_and_every_test_its_entry():
    section = PAGE.read_text().split("## Online learning")[1].split("## Graphs")[0]
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
    state = DualNewton(alpha=0.05, rule=step_rule(get_loss("squared"), "global", CLIP))
    ours = [state.run_round(X[:t, 0] * X[t, 0], X[t, 0] ** 2, y[t]) for t in range(3)]
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
    """One round, w = 0: regret 0."""

    def thesis(loss, clip, alpha, *, inside=1.0):
        sigma, L = LOSSES[loss].sigma(clip), LOSSES[loss].lipschitz(clip)
        g = alpha / (sigma * L**2)
        return 2 / (1 + g) * math.log(2 * sigma * L**2 / inside) / sigma

    assert thesis("logistic", 2.0, 0.01) < 0  # as printed
    assert thesis("logistic", 2.0, 0.01, inside=0.01) > 0
    assert thesis("squared", 1.0, 10.0, inside=10.0) == pytest.approx(-2.44, abs=5e-3)
    ours = kons_regret(np.ones((1, 1)), kernel="linear", alpha=10.0, norm=0.0)
    assert ours.value == pytest.approx(8 / 6 * (1 + math.log(1.2)))


def test_the_bound_for_squared_losses_is_infinite_at_the_accuracy_of_the_experiments():
    X, y = np.ones((50, 1)), np.zeros(50)
    settings = {"kernel": "linear", "alpha": 0.3, "norm": 0.0, "n_epochs": 2}
    experiments = pros_n_kons_regret(X, y, epsilon=0.5, **settings)
    assert experiments.value == math.inf
    assert "not below alpha" in experiments.failed[0]
    assert pros_n_kons_regret(X, y, epsilon=0.499, **settings).value < 1e4
    smaller = pros_n_kons_regret(X, y, epsilon=0.5, ridge=0.2, **settings)
    assert smaller.value < 1e4


def test_the_bound_for_squared_losses_needs_the_norm_of_the_comparator():
    n_rounds, alpha, epsilon = 1000, 10.0, 0.01
    X, y = np.full((n_rounds, 1), 0.1), np.ones(n_rounds)  # w = 10 predicts them
    settings = {"kernel": "linear", "alpha": alpha, "epsilon": epsilon, "n_copies": 2_000_000}
    learner = PROSNKONS(random_state=7, **settings)
    regret = np.sum((learner.predict_then_learn(X, y) - y) ** 2)
    assert learner.n_coordinates_ == 1
    assert learner.indices_[0] == 0
    sigma, L, whole = 1 / 8, 4.0, n_rounds * 0.1**2
    growth = 4 / sigma * whole / (whole + alpha / 2) * math.log(2 * sigma * L**2 * whole / alpha)
    more = alpha / (alpha - alpha * epsilon / (1 - epsilon)) - 1
    least = alpha * n_rounds / (whole + alpha)
    printed = growth + more * least + 2 * (L * (1 + L / alpha) + more * alpha * 10.0**2)
    assert printed < 70
    without_norm = printed - 2 * more * alpha * 10.0**2
    assert (regret, without_norm) == pytest.approx((335, 46), abs=0.5)
    assert regret > printed
    assert regret <= pros_n_kons_regret(X, y, n_epochs=2, norm=10.0, **settings).value


def test_regret_of_pros_n_kons_is_proved_at_the_theory_budget_only():
    rng = np.random.default_rng(60_122)
    X = rng.uniform(-1, 1, size=(300, 1))
    y = np.clip(0.5 * X[:, 0] + 0.2 * rng.normal(size=300), -1, 1)
    settings = {"kernel": "linear", "alpha": 1.0, "epsilon": 0.4}
    learner = PROSNKONS(budget="theory", horizon=300, eta="global", random_state=3, **settings)
    losses = (learner.predict_then_learn(X, y) - y) ** 2
    w = np.sum(X[:, 0] * y) / np.sum(X**2)
    regret = np.sum(losses - (w * X[:, 0] - y) ** 2)
    bound = pros_n_kons_regret(X, n_epochs=learner.n_epochs_, norm=abs(w), **settings)
    assert 0 < regret <= bound.value < 1200
    ours = pros_n_kons_regret(X, y, n_epochs=learner.n_epochs_, norm=abs(w), **settings)
    assert regret <= ours.value < 1200
    one = pros_n_kons_regret(X, n_copies=1, norm=abs(w), **settings)
    assert one.value == math.inf
    assert "what KORS needs" in one.failed[0]


def test_the_exponent_for_polynomial_decay_is_the_other_one():
    """The least of epochs and cost of the projection, d_eff(gamma) + T gamma, over gamma."""
    for q in (1.5, 3.0):
        eigenvalues = np.arange(1.0, 300_000) ** -q
        ridges = np.geomspace(1e-7, 1e-1, 200)
        dimension = np.array([np.sum(eigenvalues / (eigenvalues + g)) for g in ridges])
        few, many = (np.min(dimension + T * ridges) for T in (10**3, 10**6))
        slope = math.log(many / few) / math.log(10**3)
        assert slope == pytest.approx(1 / (1 + q), abs=0.03)
        assert abs(slope - q / (1 + q)) > 0.15  # printed


def test_the_weight_of_a_carried_hypothesis_is_not_its_value():
    rng = np.random.default_rng(3_316)
    X = rng.normal(size=(200, 2))
    few = {"n_landmarks": 6, "rank": 3}  # so that features are short
    learner = SkeGD(n_components=30, cycle=40, transfer="paper", random_state=5, **few)
    learner.fit(X[:30], np.sin(X[:30, 0]))
    learner.partial_fit(X[30:70], np.sin(X[30:70, 0]))  # the last of them was absorbed
    z = learner.models_[0].features(X[69:70])[0]
    w = learner.models_[0].descent.w
    f = z @ w
    assert f != 0
    assert w @ w == pytest.approx(f**2 / (z @ z))
    assert w @ w > 1.2 * f**2  # [ZL19, Eq. 17] has f^2 for |w|^2


def test_a_sketch_that_shortens_makes_a_larger_error():
    """K = diag(1, k), the first point a landmark, S_p = (s, 1)': the error is 1 + 1 / s^4 times."""
    s, k = 0.5, 0.3
    K, S = np.diag([1.0, k]), np.array([[s], [1.0]])
    C = K[:, :1]
    U = C  # already of length 1
    best = U @ U.T @ K @ U @ U.T - K
    pm = np.linalg.pinv(S.T @ C)
    sketched = C @ pm @ (S.T @ K @ S) @ pm.T @ C.T - K
    ratio = np.sum(sketched**2) / np.sum(best**2)
    assert ratio == pytest.approx(1 + 1 / s**4)
    middle = (S.T @ U).T @ S.T @ best @ S @ (S.T @ U)
    assert 1 + np.sum(middle**2) / np.sum(best**2) == pytest.approx(1 + s**4)  # the last step
    lost = np.linalg.svd(S.T @ U, compute_uv=False)[-1] ** -8
    assert 1 + lost * np.sum(middle**2) / np.sum(best**2) == pytest.approx(ratio)
    wide = {"n_landmarks": 1, "sketch_size": 10**6}
    tight, loose = (sketch_error(2, distortion=e0, **wide).value - 1 for e0 in (0.0, 0.5))
    terms = [2e-6 * math.sqrt(2) / 0.05 + math.sqrt(2e-6 / 0.05) * c for c in (2.0, 3.25)]
    assert loose / tight == pytest.approx((terms[1] / terms[0]) ** 2 / 0.5**8)


def test_points_that_a_sketch_never_saw_are_not_zero():
    """A hundred equal points, 20 of them absorbed: zeros for the others are far off."""
    T, B, cycle, beta = 100, 10, 9, 3.0
    n_absorbed = B + (T - B) // cycle
    K, padded = np.ones((T, T)), np.zeros((T, T))
    padded[:n_absorbed, :n_absorbed] = 1.0
    printed = (1 - n_absorbed / T) / (beta - 1)  # eigenvalues 100, 0, 0, ... decay at any rate
    assert printed == pytest.approx(0.4)
    assert np.linalg.norm(padded - K, 2) == pytest.approx(96.6, abs=0.05)
    assert np.linalg.norm(K - np.ones((T, 1)) @ np.ones((1, T)), 2) == 0.0  # with its features


def test_cycles_of_a_sketch_and_the_way_to_an_optimum_are_longer_than_printed():
    rest, theta = 19, 0.1  # T - B rounds
    cycle = math.floor(theta * rest)
    assert rest // cycle == 19  # printed is 1 / theta = 10
    w = np.array([1.0, 0.0])
    assert np.sum((w - -w) ** 2) > np.sum(w**2) + np.sum(w**2)
    settings = {"learning_rate": 0.5, "regularization": 1.0, "norm": 1.0, "kernel_error": 0.0}
    bound = skegd_regret(rest, cycle=cycle, **settings)
    # twenty cycles of |w - v|^2 / (2 eta), |w| = |v| = 1, and gradients of length L + lam |w| = 2
    assert bound.value == pytest.approx(20 * 4 + rest * 0.5 * 4 / 2)
