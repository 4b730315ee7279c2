"""Streams that change: discounts, stale atoms, widths, horizons."""

import warnings

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import KORS, SQUEAK
from graphsqueak.kernel.samplers.dictionary import kors_copies
from graphsqueak.online import CONKONS, KONS, PROSNKONS, KernelOGD, flipped_blocks, run_prequential
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.newton import NewtonStep, step_rule


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


def test_a_target_that_moves_is_followed_by_a_discount():
    rng = np.random.default_rng(3_909)
    X = rng.uniform(-1, 1, size=(3000, 2))
    y = 0.8 * np.sin(3 * X[:, 0] + np.arange(3000) / 300)
    late = {}
    for discount in (1.0, 0.99):
        learner = CONKONS(n_components=50, discount=discount, random_state=2)
        late[discount] = np.mean((learner.predict_then_learn(X, y) - y)[-1000:] ** 2)
    assert late[1.0] > 0.1
    assert late[0.99] < 0.3 * late[1.0]


def test_flipped_blocks_are_survived_with_a_discount():
    rng = np.random.default_rng(28_004)
    X = rng.uniform(size=(200, 5))
    A, b = flipped_blocks(X, np.sign(X[:, 0] - 0.5), n_blocks=200, n_repeats=10, random_state=1)
    settings = {"loss": "squared_hinge", "n_components": 50, "random_state": 4}
    rate = {
        d: run_prequential(CONKONS(discount=d, **settings), A, b).error_rate for d in (1.0, 0.97)
    }
    assert rate[1.0] > 0.25
    assert rate[0.97] < 0.15


def test_stale_atoms_go_first():
    """Where nothing but age tells points apart."""
    rng = np.random.default_rng(19_390)
    X, y = rng.normal(size=(3000, 2)), np.zeros(3000)
    settings = {"n_components": 40, "kernel_params": {"gamma": 4.0}, "ridge": 1e-4}
    age = {
        d: 3000 - np.median(CONKONS(discount=d, random_state=5, **settings).fit(X, y).indices_)
        for d in (1.0, 0.995)
    }
    assert age[0.995] < 0.6 * age[1.0]


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


def test_a_horizon_that_is_passed_is_told_once():
    X, y = np.random.default_rng(4).normal(size=(30, 2)), np.zeros(30)
    for maker in (KORS, SQUEAK):
        d = maker(horizon=20, random_state=1).partial_fit(X[:20])
        with pytest.warns(UserWarning, match="point 21 is beyond horizon=20"):
            d.partial_fit(X[20:25])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            d.partial_fit(X[25:])
    learner = PROSNKONS(budget="theory", horizon=10, random_state=1)
    with pytest.warns(UserWarning, match="beyond horizon=10"):
        learner.fit(X, y)


def test_a_stream_of_unknown_length_has_epochs_of_its_own_budget():
    X, y = np.random.default_rng(9).uniform(-1, 1, size=(3000, 1)), np.zeros(3000)
    settings = {"kernel": "linear", "alpha": 1.0, "budget": "theory", "random_state": 1}
    learner, seen = PROSNKONS(**settings), []
    for start, stop in ((0, 1000), (1000, 2000), (2000, 2100), (2100, 3000)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learner.partial_fit(X[start:stop], y[start:stop])
        seen.append(learner.models_[0].stream.sampler.n_copies)
    needed = [
        kors_copies(0.5, delta=0.1 / 2 ** (j + 1), n_points=1024 << j, rho=3.0) for j in (0, 1, 2)
    ]
    assert seen == [needed[0], needed[1], needed[2], needed[2]]
    assert learner.indices_.min() >= 2048
    assert learner.n_rounds_ == 3000
    whole = PROSNKONS(**settings).fit(X, y)
    np.testing.assert_array_equal(whole.indices_, learner.indices_)
    fixed = PROSNKONS(horizon=3000, **settings).fit(X, y)
    assert fixed.indices_.min() < 1024
