"""Regret stays below its bound, with the constants of the loss and the logarithm with alpha."""

import numpy as np
import pytest

from graphsqueak.kernel import effective_dimension
from graphsqueak.online import CONKONS, KONS, progressive
from graphsqueak.online.losses import LOSSES

PARAMS = {"gamma": 1.0}


def bound(X, norm, *, loss, alpha, clip):
    """alpha |w|^2 + 2 d_eff(alpha / (sigma L^2)) log(2 sigma L^2 T / alpha) / sigma."""
    law = LOSSES[loss]
    scale = law.sigma(clip) * law.lipschitz(clip) ** 2
    d_eff = effective_dimension(X, kernel_params=PARAMS, ridge=alpha / scale)
    return alpha * norm + 2 * d_eff * np.log(2 * scale * len(X) / alpha) / law.sigma(clip)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("eta", ["auto", "global"])
def test_regret_of_kons_is_bounded(loss, eta):
    rng = np.random.default_rng(5_501)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=400))
    alpha = 1.0
    learner = KONS(kernel_params=PARAMS, loss=loss, alpha=alpha, eta=eta)
    run = progressive(learner, X, y, regret=True)
    assert 0 < run.regret[-1] < bound(X, 400, loss=loss, alpha=alpha, clip=1.0)
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
