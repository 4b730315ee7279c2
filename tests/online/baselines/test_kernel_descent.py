"""KernelOGD and NOGD against gradient descent written out."""

import numpy as np
import pytest

from graphsqueak.online import NOGD, DualSGD, KernelOGD, SkeGD
from graphsqueak.online.losses import LOSSES
from tests.kernel.problems import clusters

PARAMS = {"gamma": 0.5}


def labeled(n_points=300):
    X = clusters(n_points)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)


def descent(Z, y, loss, step, lam):
    """Gradient descent in R^k, written out."""
    w, out = np.zeros(Z.shape[1]), []
    for z, target in zip(Z, y, strict=True):
        out.append(z @ w)
        w = w - step * (LOSSES[loss].derivative(target, out[-1]) * z + lam * w)
    return np.array(out)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_kernel_descent_is_descent_in_the_feature_space(loss):
    X, y = labeled()
    learner = KernelOGD(kernel="linear", loss=loss, learning_rate=0.05, regularization=0.3)
    got = learner.predict_then_learn(X, y)
    np.testing.assert_allclose(got, descent(X, y, loss, 0.05, 0.3), atol=1e-10)


def test_nystrom_descent_with_full_rank_carries_the_hypothesis_over():
    X, y = labeled()
    settings = {"kernel_params": PARAMS, "loss": "hinge", "learning_rate": 0.2}
    learner = NOGD(n_components=40, rank=1.0, **settings)
    before = KernelOGD(**settings)
    scores = before.predict_then_learn(X, y)
    n = int(np.flatnonzero(np.cumsum(y * scores < 1) == 40)[0]) + 1
    learner.partial_fit(X[:n], y[:n], classes=[-1.0, 1.0])
    before = KernelOGD(**settings).partial_fit(X[:n], y[:n], classes=[-1.0, 1.0])
    assert learner.n_support_ == before.n_support_ == 40
    np.testing.assert_allclose(
        learner.models_[0].scores(X[:n]), before.models_[0].scores(X[:n]), atol=1e-3
    )


def test_cutting_the_stream_changes_nothing():
    X, y = labeled(500)
    for learner in (
        SkeGD(loss="hinge", n_components=30, cycle=37, random_state=5),
        NOGD(loss="hinge", n_components=30),
        DualSGD(loss="hinge", n_components=30, random_state=5),
        KernelOGD(loss="hinge"),
    ):
        whole = learner.predict_then_learn(X, y)
        other = type(learner)(**learner.get_params())
        cuts = np.split(np.arange(500), [1, 130, 260])
        parts = [other.predict_then_learn(X[c], y[c], classes=[-1.0, 1.0]) for c in cuts]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-8)
