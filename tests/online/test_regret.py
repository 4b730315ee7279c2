"""Regret stays below its bound, with the constants of the loss and the logarithm with alpha."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.online import (
    CONKONS,
    KONS,
    SketchedKONS,
    kons_regret,
    progressive,
    pros_n_kons_regret,
    sketched_kons_regret,
)
from graphsqueak.online.losses import LOSSES

PARAMS = {"gamma": 1.0}


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("eta", ["auto", "global"])
def test_regret_of_kons_is_bounded(loss, eta):
    rng = np.random.default_rng(5_501)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=400))
    alpha = 1.0
    learner = KONS(kernel_params=PARAMS, loss=loss, alpha=alpha, eta=eta)
    run = progressive(learner, X, y, regret=True)
    settings = {"kernel_params": PARAMS, "loss": loss, "alpha": alpha}
    assert 0 < run.regret[-1] < kons_regret(X, norm=20.0, **settings).value
    assert run.hindsight.mean() < 0.95 * LOSSES[loss].value(1.0, 0.0)


def test_gradients_add_up_to_the_online_dimension():
    """sum h_t z'A_t^-1 z = d_onl of the scaled kernel matrix, as Proposition 5.3 uses it."""
    rng = np.random.default_rng(44_020)
    X, y = rng.normal(size=(60, 3)), rng.uniform(-1, 1, size=60)
    predictions = KONS(kernel="linear", eta="global").predict_then_learn(X, y)
    d = np.sqrt(LOSSES["squared"].sigma(1.0)) * 2 * np.abs(predictions - y)
    scaled = d[:, None] * X
    A, total = np.eye(3), 0.0
    for z in scaled:
        A += np.outer(z, z)
        total += z @ np.linalg.solve(A, z)
    E = scaled @ scaled.T
    online = sum(
        (E[: t + 1, : t + 1] @ np.linalg.inv(E[: t + 1, : t + 1] + np.eye(t + 1)))[t, t]
        for t in range(60)
    )
    assert total == pytest.approx(online)


def test_regret_grows_like_a_logarithm_where_the_hypothesis_is_in_the_space():
    rng = np.random.default_rng(7_781)
    X = rng.uniform(-1, 1, size=(8000, 1))
    y = np.sin(3 * X[:, 0]) * 0.8 + 0.1 * rng.normal(size=8000)
    run = progressive(CONKONS(kernel_params=PARAMS, random_state=1), X, y, regret=True)
    assert run.regret[-1] - run.regret[3999] < 0.3 * run.regret[3999]


def test_regret_of_sketched_kons_is_bounded_at_the_budget_of_its_proof():
    rng = np.random.default_rng(28_809)
    X = rng.uniform(-1, 1, size=(300, 1))
    y = np.clip(0.5 * X[:, 0] + 0.3 * rng.normal(size=300), -1, 1)
    settings = {"kernel": "linear", "alpha": 1.0, "floor": 0.5, "epsilon": 0.5}
    learner = SketchedKONS(beta=150.0, eta="global", random_state=2, **settings)
    scores = learner.predict_then_learn(X, y)
    assert learner.n_chosen_ < 300
    w = np.sum(X[:, 0] * y) / np.sum(X**2)
    regret = np.sum((scores - y) ** 2 - (w * X[:, 0] - y) ** 2)
    bound = sketched_kons_regret(X, beta=150.0, norm=abs(w), **settings)
    whole = kons_regret(X, kernel="linear", alpha=1.0, norm=abs(w))
    assert 0 < regret < bound.value
    assert bound.value - w**2 == pytest.approx(4 * (whole.value - w**2))  # 1 / ((1 - e) floor)


def test_regret_without_curvature_grows_with_the_root():
    """Hinge: |w|^2 + L C T^1/2 (D + 8), D = d_eff (1 + log(1 + T)) for T equal points."""
    for n in (100, 400):
        bound = kons_regret(np.ones((n, 1)), kernel="linear", loss="hinge", norm=1.0)
        assert bound.value == pytest.approx(1 + np.sqrt(n) * (n / (n + 1) * (1 + np.log1p(n)) + 8))


def test_what_a_theorem_does_not_cover_has_no_bound():
    X = np.ones((50, 1))
    lone = pros_n_kons_regret(X, kernel="linear", loss="hinge", norm=1.0)
    assert (lone.value, lone.failed) == (np.inf, ("the loss has no curvature",))
    free = sketched_kons_regret(X, kernel="linear", norm=1.0)
    assert (free.value, free.failed) == (np.inf, ("floor and least_score are 0",))
    assert str(free).startswith("no bound")
    for settings, message in (
        ({"alpha": 0.0, "norm": 1.0}, "alpha"),
        ({"norm": -1.0}, "norm"),
        ({"norm": 1.0, "epsilon": 1.0}, "epsilon"),
        ({"norm": 1.0, "n_epochs": 0}, "n_epochs"),
    ):
        with pytest.raises(InputError, match=message):
            pros_n_kons_regret(X, kernel="linear", **settings)
    with pytest.raises(InputError, match="a target for each of 50"):
        pros_n_kons_regret(X, np.ones(3), kernel="linear", norm=1.0)
    with pytest.raises(InputError, match="targets are for loss='squared'"):
        pros_n_kons_regret(X, np.ones(50), loss="logistic", kernel="linear", norm=1.0)
    large = pros_n_kons_regret(X, 3 * np.ones(50), epsilon=0.25, kernel="linear", norm=1.0)
    assert "targets reach 3" in large.failed[0]
