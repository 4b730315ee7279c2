"""Newton steps on a dictionary: as published, in one span, with a capacity, on changing streams."""

import pickle
import warnings

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import KORS, SQUEAK, OnlineSampler, as_kernel
from graphsqueak.kernel.samplers.dictionary import kors_copies
from graphsqueak.online import (
    BKONS,
    CONKONS,
    PROSNKONS,
    flipped_blocks,
    run_prequential,
)
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.newton import NewtonStep, step_rule
from tests import reference
from tests.kernel.problems import clusters

PARAMS = {"gamma": 0.5}


def problem(n_points=600, seed=61_250):
    X = clusters(n_points)
    noise = 0.1 * np.random.default_rng(seed).normal(size=n_points)
    return X, np.clip(np.sin(X[:, 0]) + noise, -0.9, 0.9)


@pytest.mark.parametrize("learner", [PROSNKONS, CONKONS])
@pytest.mark.parametrize("eta", ["global", "auto"])
def test_predictions_are_those_of_the_listing_with_eigenvectors(learner, eta):
    X, y = problem()
    law, clip = LOSSES["squared"], 0.8
    settings = {"kernel_params": PARAMS, "alpha": 0.3, "ridge": 0.5, "clip": clip}
    fast = learner(eta=eta, random_state=5, **settings)
    got = fast.predict_then_learn(X, y)
    assert 15 < fast.n_coordinates_ == fast.n_support_

    def weight(target, prediction, slope):
        return 2.0 if eta == "auto" else law.sigma(clip) * slope**2

    expected = reference.pros_n_kons(
        as_kernel("rbf", PARAMS),
        X,
        y,
        np.isin(np.arange(len(X)), fast.indices_),
        loss=law.derivative,
        weight=weight,
        alpha=0.3,
        clip=clip,
        carry=learner is CONKONS,
    )
    np.testing.assert_allclose(got, expected, atol=1e-8)
    assert np.count_nonzero(np.abs(expected) == clip) > 10  # the projection is at work


def test_atoms_are_those_of_kors():
    X, y = problem()
    learner = PROSNKONS(kernel_params=PARAMS, ridge=0.5, n_copies=2, random_state=8).fit(X, y)
    sampler = KORS(kernel_params=PARAMS, ridge=0.5, n_copies=2, random_state=8).fit(X)
    np.testing.assert_array_equal(learner.indices_, sampler.indices_)
    np.testing.assert_array_equal(learner.components_, sampler.components_)


def test_with_the_whole_span_from_the_start_it_is_the_newton_step_of_the_full_space():
    rng = np.random.default_rng(90_733)
    X, y = rng.normal(size=(300, 4)), rng.uniform(-1, 1, size=300)
    learner = CONKONS(kernel="linear", alpha=0.7, ridge=1e-9, epsilon=1e-9, random_state=3)
    got = learner.predict_then_learn(X, y)
    assert learner.indices_[:4].tolist() == [0, 1, 2, 3]  # all are kept until they span
    assert learner.n_coordinates_ == 4
    orthonormal = np.linalg.qr(X[:4].T)[0]
    w, A = np.zeros(4), 0.7 * np.eye(4)
    for t, z in enumerate(X):
        prediction = np.clip(z @ w, -1, 1)
        if t >= 4:
            assert got[t] == pytest.approx(prediction, abs=1e-8)
        if t < 4:  # features so far: the projection on the span of the points before
            basis = orthonormal[:, :t]
            z = basis @ basis.T @ z
            prediction = np.clip(z @ w, -1, 1)
            if t == 0:
                continue
        u = np.linalg.solve(A, z)
        w = w - (z @ w - prediction) / (z @ u) * u
        A = A + 2 * np.outer(z, z)
        w = w - 2 * (prediction - y[t]) * np.linalg.solve(A, z)


def test_a_ceiling_that_is_not_reached_changes_nothing():
    X, y = problem()
    settings = {"kernel_params": PARAMS, "ridge": 0.5, "random_state": 4}
    free = PROSNKONS(**settings)
    expected = free.predict_then_learn(X, y)
    capped = BKONS(n_components=free.n_support_, **settings)
    np.testing.assert_array_equal(capped.predict_then_learn(X, y), expected)
    few = BKONS(n_components=5, **settings).fit(X, y)
    np.testing.assert_array_equal(few.indices_, free.indices_[:5])
    thinned = BKONS(n_components=free.n_support_, when_full="subsample", **settings)
    np.testing.assert_array_equal(thinned.predict_then_learn(X, y), expected)


def test_an_atom_in_the_span_starts_nothing_anew():
    """The same point again and again, targets alternating: one coordinate, log T atoms."""
    n_rounds = 4000
    X, y = np.ones((n_rounds, 1)), np.where(np.arange(n_rounds) % 2, 1.0, -1.0)
    atoms, regret = [], []
    for seed in range(20):
        learner = PROSNKONS(kernel="linear", alpha=1.0, eta="global", random_state=seed)
        scores = learner.predict_then_learn(X, y)
        assert learner.n_coordinates_ == 1
        atoms.append(learner.n_support_)
        regret.append(np.cumsum((scores - y) ** 2 - 1))  # the best constant is 0
    d_onl = np.sum(1 / (1 + np.arange(1, n_rounds + 1)))
    assert np.mean(atoms) < 3 * d_onl  # 3 q d_onl, q = 1
    halves = np.mean(regret, axis=0)[[n_rounds // 2 - 1, n_rounds - 1]]
    assert halves[1] - halves[0] < 0.2 * halves[0]  # logarithmic: a doubling adds a constant


def test_a_full_dictionary_goes_on_by_least_squares_in_what_is_left():
    X, y = problem(400)
    settings = {"kernel_params": PARAMS, "alpha": 0.1, "clip": None, "random_state": 4}
    learner = CONKONS(n_components=30, n_copies=3, **settings)
    learner.predict_then_learn(X, y)
    assert learner.models_[0].stream.n_subsamplings > 0
    assert learner.n_coordinates_ <= learner.n_support_ <= 30
    step = NewtonStep(alpha=0.3, rule=step_rule(get_loss("squared"), "auto", np.inf))
    for _ in range(4):
        step.add_coordinate()
    rng = np.random.default_rng(55_190)
    Z, targets = rng.normal(size=(4, 50)), rng.normal(size=50)
    step.run(np.ascontiguousarray(Z.T), targets)
    T = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    step.transform(T)
    now = T @ Z
    A = 0.3 * np.eye(2) + 2 * now @ now.T
    np.testing.assert_allclose(step.inverse, np.linalg.inv(A), rtol=1e-9)
    np.testing.assert_allclose(step.w, np.linalg.solve(A, 2 * now @ targets), rtol=1e-9)


@pytest.mark.parametrize("learner", [PROSNKONS, CONKONS])
def test_a_full_dictionary_drops_a_tenth_of_its_atoms(learner):
    X, y = problem(400)
    settings = {"kernel_params": PARAMS, "alpha": 0.1, "n_copies": 3, "random_state": 4}
    full = learner(n_components=30, **settings)
    sizes, n_subsamplings = [], 0
    for x, target in zip(X, y, strict=True):
        full.learn_one(x, target)
        if full.models_[0].stream.n_subsamplings > n_subsamplings:
            n_subsamplings = full.models_[0].stream.n_subsamplings
            sizes.append(full.n_support_)
    assert len(sizes) > 2
    assert set(sizes) == {27}


def test_thinning_within_a_span_changes_no_prediction_of_one_that_carries_on():
    """Points in R^3 with a linear kernel: the atoms that stay span what all of them did."""
    rng = np.random.default_rng(70_429)
    X = rng.normal(size=(400, 3))
    y = X @ [0.5, -0.2, 0.1] + 0.1 * rng.normal(size=400)
    settings = {"kernel": "linear", "alpha": 0.1, "n_copies": 4, "clip": None, "random_state": 8}
    expected = CONKONS(**settings).predict_then_learn(X, y)
    thinned = CONKONS(n_components=12, **settings)
    np.testing.assert_allclose(thinned.predict_then_learn(X, y), expected, atol=1e-9)
    assert thinned.models_[0].stream.n_subsamplings >= 3
    again, n_subsamplings = PROSNKONS(n_components=12, **settings), 0
    for x, target in zip(X, y, strict=True):
        again.learn_one(x, target)
        if again.models_[0].stream.n_subsamplings > n_subsamplings:  # it starts anew
            n_subsamplings = again.models_[0].stream.n_subsamplings
            assert not again.predict(X).any()
    assert n_subsamplings >= 3


@pytest.mark.parametrize("learner", [CONKONS, PROSNKONS])
def test_a_stream_that_moves_is_followed_under_a_ceiling(learner):
    """After 400 points all come from elsewhere; a dictionary that is closed has learnt nothing."""
    rng = np.random.default_rng(20_077)
    X = rng.normal(size=(1500, 2))
    X[400:] += [6.0, 0.0]
    y = 0.8 * np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    late = {}
    for when_full in ("subsample", "stop"):
        settings = {"kernel_params": {"gamma": 1.0}, "n_components": 40, "random_state": 3}
        scores = learner(when_full=when_full, **settings).predict_then_learn(X, y)
        late[when_full] = np.mean((scores - y)[-500:] ** 2)
    assert late["stop"] > 0.12
    assert late["subsample"] < 0.05


@pytest.mark.parametrize("learner", [PROSNKONS, CONKONS, BKONS])
def test_rows_batches_and_copies_give_the_same_learner(learner):
    X, y = problem(400)
    settings = {"kernel_params": PARAMS, "ridge": 0.5, "random_state": 12, "n_components": 18}
    whole = learner(**settings).fit(X, y)
    assert learner is BKONS or whole.models_[0].stream.n_subsamplings > 0
    rows = learner(**settings)
    for i in range(150):
        rows.learn_one(X[i], y[i])
    rows = pickle.loads(pickle.dumps(rows))  # noqa: S301
    rows.partial_fit(X[150:151], y[150:151]).partial_fit(X[151:], y[151:])
    np.testing.assert_array_equal(rows.indices_, whole.indices_)
    np.testing.assert_allclose(rows.predict(X), whole.predict(X), atol=1e-9)


def test_the_matrix_keeps_its_inverse():
    X, y = problem(5000)
    learner = CONKONS(kernel_params=PARAMS, alpha=0.1, random_state=2).fit(X, y)
    features = learner.models_[0].features(X)
    z = features[learner.indices_[-1] + 1 :]
    late = CONKONS(kernel_params=PARAMS, alpha=0.1, random_state=2).fit(
        X[: learner.indices_[-1] + 1], y[: learner.indices_[-1] + 1]
    )
    A = np.linalg.inv(late.models_[0].newton.inverse) + 2 * z.T @ z
    np.testing.assert_allclose(learner.models_[0].newton.inverse @ A, np.eye(len(A)), atol=1e-6)


@pytest.mark.parametrize("learner", [PROSNKONS, CONKONS, BKONS])
def test_part_of_a_copy_is_refused_and_a_fraction_of_a_coin_is_not(learner):
    """A binomial of half a copy is no number; all weights came out as NaN."""
    X, y = problem(200)
    for n_copies in (0.5, 2.5):
        with pytest.raises(InputError, match=f"n_copies={n_copies} is not a whole number"):
            learner(n_copies=n_copies, random_state=1).fit(X, y)
    kept = learner(n_copies=0.5, form="paper", random_state=1).fit(X, y)
    assert np.all(np.isfinite(kept.models_[0].stream.sampler.weights))
    whole = learner(n_copies=2.0, random_state=1).fit(X, y)
    assert np.all(np.isfinite(whole.models_[0].stream.sampler.weights))
    with pytest.raises(InputError, match="whole number"):
        OnlineSampler(ridge=1.0, n_copies=0.5, epsilon=0.5, form="thesis")


def test_the_theory_budget_is_that_of_kors():
    X, y = problem(100)
    theory = PROSNKONS(budget="theory", horizon=10_000, random_state=6).fit(X, y)
    assert theory.models_[0].stream.sampler.n_copies == 620
    coins = PROSNKONS(budget="theory", horizon=10_000, form="paper", random_state=6).fit(X, y)
    assert coins.models_[0].stream.sampler.n_copies == 207
    assert PROSNKONS(random_state=6).fit(X, y).models_[0].stream.sampler.n_copies == 1
    same = KORS(budget="theory", horizon=10_000, ridge=0.01, random_state=6).fit(X)
    np.testing.assert_array_equal(theory.indices_, same.indices_)
    for settings, message in (
        ({"n_copies": 3}, "exclude each other"),
        ({"horizon": 0}, "horizon"),
        ({"delta": 1.0}, "delta"),
    ):
        with pytest.raises(InputError, match=message):
            PROSNKONS(budget="theory", **settings).fit(X, y)
    with pytest.raises(InputError, match="budget"):
        PROSNKONS(budget="proof").fit(X, y)


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
