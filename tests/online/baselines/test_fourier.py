"""FOGD and Dual-SGD against gradient descent written out, and their random features."""

import numpy as np

from graphsqueak.kernel import as_kernel
from graphsqueak.online import FOGD, DualSGD
from tests.kernel.problems import clusters
from tests.online.baselines.test_kernel_descent import PARAMS, descent, labeled


def test_fourier_descent_is_descent_on_its_features():
    X, y = labeled()
    learner = FOGD(kernel_params=PARAMS, loss="hinge", learning_rate=0.2, random_state=5)
    got = learner.predict_then_learn(X, y)
    Z = learner.models_[0].features(X)
    np.testing.assert_allclose(got, descent(Z, y, "hinge", 0.2, 0.0), atol=1e-10)


def test_fourier_features_have_the_kernel_as_their_mean():
    X, draws = clusters(6), []
    for seed in range(40):
        learner = FOGD(kernel_params=PARAMS, n_components=50, random_state=seed)
        Z = learner.fit(X, np.zeros(6)).models_[0].features(X)
        draws.append(Z @ Z.T)
    sigma = 1 / np.sqrt(2 * 50 * 40)  # of cos(u'(x - y)), at most, over D and the draws
    assert np.abs(np.mean(draws, axis=0) - as_kernel("rbf", PARAMS)(X, X)).max() < 6 * sigma


def test_dual_descent_within_its_budget_is_pegasos():
    X, y = labeled(90)
    learner = DualSGD(
        kernel_params=PARAMS, loss="hinge", regularization=0.5, n_components=90, random_state=1
    )
    got = learner.predict_then_learn(X, y)
    K, a, expected = as_kernel("rbf", PARAMS)(X, X), np.zeros(90), []
    for t in range(90):
        expected.append(K[t] @ a)
        a *= 1 - 1 / (t + 1)
        if y[t] * expected[-1] < 1:
            a[t] = y[t] / (0.5 * (t + 1))
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_dual_descent_beyond_its_budget_stays_close():
    X, y = labeled(400)
    settings = {"kernel_params": PARAMS, "loss": "hinge", "regularization": 0.1}
    whole = DualSGD(n_components=400, random_state=1, **settings).predict_then_learn(X, y)
    some = DualSGD(n_components=20, n_frequencies=20_000, random_state=1, **settings)
    got = some.predict_then_learn(X, y)
    assert some.n_support_ == 20
    assert np.mean(np.abs(got - whole)) < 0.1 * np.mean(np.abs(whole))
