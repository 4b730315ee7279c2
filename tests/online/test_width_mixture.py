"""A mixture of kernel widths is nearly as good as the best of its models."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.online import CONKONS, KONS, KernelOGD, run_prequential
from graphsqueak.online.losses import LOSSES


@pytest.mark.parametrize(("speed", "loss"), [(1.0, "squared"), (9.0, "squared"), (9.0, "hinge")])
def test_a_mixture_of_widths_is_nearly_as_good_as_the_best(speed, loss):
    rng = np.random.default_rng(50_031)
    X = rng.uniform(-1, 1, size=(1500, 1))
    y = np.sin(speed * X[:, 0])
    y = np.sign(y) if loss == "hinge" else y
    learner = CONKONS(kernel_params="auto", n_components=40, random_state=3, loss=loss)
    run = run_prequential(learner, X, y)
    each = []
    for gamma in learner.mixture_.gammas:
        one = CONKONS(n_components=40, random_state=3, kernel_params={"gamma": gamma}, loss=loss)
        each.append(run_prequential(one, X, y).losses.sum())
    slack = np.log(7) / LOSSES[loss].sigma(1.0) if loss == "squared" else 2 * np.sqrt(1500 * 2)
    assert run.losses.sum() <= min(each) + slack
    assert run.losses.sum() < 0.5 * max(each)
    assert learner.mixture_.weights.sum() == pytest.approx(1)
    assert learner.n_support_ == sum(m.n_support for m in learner.mixture_.models) > 100


def test_without_a_clip_the_largest_target_bounds_the_mixture():
    """In other units everything is the same; the sum of losses is near that of the best copy."""
    rng = np.random.default_rng(50_032)
    X = rng.uniform(-1, 1, size=(1200, 1))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=1200)
    settings = {"clip": None, "n_components": 40, "random_state": 3}
    mixture = CONKONS(kernel_params="auto", **settings)
    losses = run_prequential(mixture, X, y).losses
    copies = [
        run_prequential(CONKONS(kernel_params={"gamma": gamma}, **settings), X, y).losses.sum()
        for gamma in mixture.mixture_.gammas
    ]
    assert losses.sum() <= min(copies) + 8 * np.abs(y).max() ** 2 * np.log(7)
    assert losses.sum() < 0.5 * max(copies)
    large = run_prequential(CONKONS(kernel_params="auto", **settings), X, 1e3 * y)
    np.testing.assert_allclose(large.losses, 1e6 * losses, rtol=1e-6, atol=1e-3)
    assert np.abs(mixture.predict([[50.0]])) <= np.abs(y).max()


def test_rows_and_batches_make_the_same_mixture():
    rng = np.random.default_rng(6_180)
    X = rng.uniform(-1, 1, size=(60, 2))
    y = np.sin(4 * X[:, 0])
    settings = {"kernel_params": "auto", "n_components": 10, "random_state": 3}
    whole, rows = CONKONS(**settings), CONKONS(**settings)
    scores = whole.predict_then_learn(X, y)
    for t in range(60):
        assert rows.predict_one(X[t]) == pytest.approx(scores[t], abs=1e-9)
        rows.learn_one(X[t], y[t])


def test_every_class_has_a_mixture_of_its_own():
    rng = np.random.default_rng(6_181)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
    settings = {"loss": "squared_hinge", "clip": 3.0, "n_components": 10, "random_state": 3}
    whole = CONKONS(kernel_params="auto", **settings)
    scores = whole.predict_then_learn(X, y)
    for k, name in enumerate("abc"):
        one = CONKONS(kernel_params="auto", **settings)
        single = one.predict_then_learn(X, np.where(y == name, 1, -1))
        np.testing.assert_allclose(scores[:, k], single, atol=1e-9)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (CONKONS(kernel_params="any"), "kernel_params='any' is not"),
        (KernelOGD(loss="huber", kernel_params="auto"), "needs a clip for loss='huber'"),
        (KONS(kernel="linear", kernel_params="auto"), "width of a Gaussian or"),
        (CONKONS(discount=0.0), "discount"),
        (CONKONS(discount=1.5), "discount"),
    ],
)
def test_bad_settings_are_named(learner, message):
    with pytest.raises(InputError, match=message):
        learner.fit(np.eye(4), np.zeros(4))
