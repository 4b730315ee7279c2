"""Regret stays below its bound, and bounds are the formulas of the theorems."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import as_kernel
from graphsqueak.online import (
    CONKONS,
    KONS,
    PROSNKONS,
    SkeGD,
    SketchedKONS,
    kons_regret,
    pros_n_kons_regret,
    run_prequential,
    skegd_regret,
    sketch_error,
    sketched_kons_regret,
)
from graphsqueak.online.evaluation import best_scores
from graphsqueak.online.losses import LOSSES, get_loss
from graphsqueak.online.skegd import sparse_signs
from tests.kernel.problems import random_psd

PARAMS = {"gamma": 1.0}


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("eta", ["auto", "global"])
def test_regret_of_kons_is_bounded(loss, eta):
    rng = np.random.default_rng(5_501)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=400))
    alpha = 1.0
    learner = KONS(kernel_params=PARAMS, loss=loss, alpha=alpha, eta=eta)
    run = run_prequential(learner, X, y, regret=True)
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
    run = run_prequential(CONKONS(kernel_params=PARAMS, random_state=1), X, y, regret=True)
    assert run.regret[-1] - run.regret[3999] < 0.3 * run.regret[3999]


def test_regret_of_sketched_kons_is_bounded_at_the_budget_of_its_proof():
    rng = np.random.default_rng(28_809)
    X = rng.uniform(-1, 1, size=(300, 1))
    y = np.clip(0.5 * X[:, 0] + 0.3 * rng.normal(size=300), -1, 1)
    settings = {"kernel": "linear", "alpha": 1.0, "min_probability": 0.5, "epsilon": 0.5}
    learner = SketchedKONS(beta=150.0, eta="global", random_state=2, **settings)
    scores = learner.predict_then_learn(X, y)
    assert learner.n_sampled_ < 300
    w = np.sum(X[:, 0] * y) / np.sum(X**2)
    regret = np.sum((scores - y) ** 2 - (w * X[:, 0] - y) ** 2)
    bound = sketched_kons_regret(X, beta=150.0, norm=abs(w), **settings)
    whole = kons_regret(X, kernel="linear", alpha=1.0, norm=abs(w))
    assert 0 < regret < bound.value
    assert bound.value - w**2 == pytest.approx(4 * (whole.value - w**2))  # 1 / ((1 - e) floor)


def terms(K, *, loss="squared", clip, alpha, norm):
    """The terms of the theorems, written out: alpha |w|^2, D / sigma, L, and L^2 k / alpha."""
    sigma, L = LOSSES[loss].sigma(clip), LOSSES[loss].lipschitz(clip)
    g = alpha / (sigma * L**2)
    eigenvalues = np.linalg.eigvalsh(K)
    d_eff = np.trace(K @ np.linalg.inv(K + g * np.eye(len(K))))
    D = d_eff * (1 + np.log(1 + eigenvalues[-1] / g))
    return alpha * norm**2, D / sigma, L, L**2 * K.diagonal().max() / alpha


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_bounds_are_the_formulas_of_the_theorems(loss):
    """[C17, Theorems 5.4, 5.7, 5.8 and 5.9], corrected; every term is at least 1 % of the sum."""
    rng = np.random.default_rng(77_120)
    X, n = rng.normal(size=(80, 2)), 80
    y = np.clip(X[:, 0], -0.7, 0.7)
    K = X @ X.T
    clip, alpha, norm, ridge, epsilon = 0.7, 0.9, 1.3, 0.2, 0.3
    settings = {"kernel": "linear", "loss": loss, "clip": clip, "alpha": alpha, "norm": norm}
    start, growth, L, first = terms(K, loss=loss, clip=clip, alpha=alpha, norm=norm)
    assert kons_regret(X, **settings).value == pytest.approx(start + growth)

    sketched = sketched_kons_regret(X, min_probability=0.25, epsilon=epsilon, **settings)
    assert sketched.value == pytest.approx(start + growth / ((1 - epsilon) * 0.25))

    epoch = start + 2 * growth + first + 2 * L * clip
    once = L**2 / alpha * n * ridge * epsilon / (4 * (1 - epsilon))
    assert once > 0.01 * (3 * epoch + once)
    settings |= {"ridge": ridge, "epsilon": epsilon}
    got = pros_n_kons_regret(X, n_epochs=3, **settings)
    assert got.value == pytest.approx(3 * epoch + once)
    twice = pros_n_kons_regret(X, n_epochs=6, **settings)
    assert twice.value - got.value == pytest.approx(3 * epoch)
    if loss != "squared":
        return
    more = alpha / (alpha - ridge * epsilon / (1 - epsilon)) - 1
    w = np.linalg.solve(X.T @ X + alpha * np.eye(2), X.T @ y)
    least = np.sum((X @ w - y) ** 2) + alpha * w @ w
    epoch = start + 2 * growth + first + L * clip + more * least
    assert more * least > 0.001 * epoch
    assert pros_n_kons_regret(X, y, n_epochs=3, **settings).value == pytest.approx(3 * epoch)


def count_starts(learner, X, y):
    """Epochs counted from outside: the first, and one wherever all predictions are zero again."""
    n_starts = 1
    for x, target in zip(X, y, strict=True):
        learner.learn_one(x, target)
        n_starts += not learner.predict(np.eye(X.shape[1])).any()
    return n_starts


@pytest.mark.parametrize(("horizon", "n_epochs"), [(1100, 3), (None, 6)])
def test_epochs_are_all_starts_from_zero_those_of_a_doubled_horizon_included(horizon, n_epochs):
    """Two coordinates and the start, for each of the dictionaries: 1,100 rounds are two phases."""
    rng = np.random.default_rng(30_114)
    X = rng.uniform(0.5, 1.0, size=(1100, 2)) * rng.choice((-1, 1), size=(1100, 2))
    y = np.clip(0.4 * X[:, 0] + 0.1 * rng.normal(size=1100), -1, 1)
    settings = {"kernel": "linear", "alpha": 1.0, "epsilon": 0.4}
    learner = PROSNKONS(budget="theory", horizon=horizon, eta="global", random_state=3, **settings)
    assert count_starts(learner, X, y) == n_epochs
    assert learner.n_epochs_ == n_epochs
    assert learner.n_coordinates_ == 2
    again = PROSNKONS(budget="theory", horizon=horizon, eta="global", random_state=3, **settings)
    assert again.fit(X, y).n_epochs_ == n_epochs
    known = pros_n_kons_regret(X, n_epochs=n_epochs, norm=0.4, **settings)
    unknown = pros_n_kons_regret(X, horizon=horizon, norm=0.4, **settings)
    assert known.value < unknown.value < np.inf


def test_thinning_starts_an_epoch_and_carrying_on_does_not():
    rng = np.random.default_rng(70_430)
    X = rng.normal(size=(200, 3))
    settings = {"kernel": "linear", "alpha": 0.1, "n_copies": 4, "n_components": 12}
    thinned = PROSNKONS(random_state=8, **settings).fit(X, X[:, 0])
    assert thinned.models_[0].stream.n_subsamplings > 0
    assert thinned.n_epochs_ == 1 + 3 + thinned.models_[0].stream.n_subsamplings
    assert CONKONS(random_state=8, **settings).fit(X, X[:, 0]).n_epochs_ == 1


def test_the_bound_of_the_epochs_adds_up_over_phases():
    """1 + 3 q d_onl for the points of each phase, q of its own delta and length."""
    X = np.ones((1500, 1))
    settings = {"kernel": "linear", "alpha": 1.0, "epsilon": 0.25, "norm": 1.0, "delta": 0.2}
    one = pros_n_kons_regret(X, n_epochs=1, **settings).value
    epoch = pros_n_kons_regret(X, n_epochs=2, **settings).value - one

    def d_onl(n_points):
        return np.sum(1 / (1 + np.arange(1, n_points + 1)))

    def copies(n_points, delta):
        rho = (1 + 0.25) / (1 - 0.25)
        return np.ceil(rho * (2 + 0.5 / 3) * np.log(4 * n_points**2 / delta) / 0.25**2)

    J = 2 + 3 * copies(1024, 0.1) * d_onl(1024) + 3 * copies(2048, 0.05) * d_onl(1500 - 1024)
    assert pros_n_kons_regret(X, **settings).value == pytest.approx(one + (J - 1) * epoch)
    J = 1 + 3 * copies(1500, 0.2) * d_onl(1500)
    alone = pros_n_kons_regret(X, horizon=1500, **settings)
    assert alone.value == pytest.approx(one + (J - 1) * epoch)
    given = pros_n_kons_regret(X, n_copies=copies(1500, 0.2), **settings)
    assert given.value == pytest.approx(alone.value)
    short = pros_n_kons_regret(X, horizon=1000, **settings)
    assert short.failed == ("1500 rounds are beyond horizon=1000",)


@pytest.mark.parametrize("clip", [1.0, 3.0])
def test_regret_without_curvature_grows_with_the_root(clip):
    """Hinge, L = 1: alpha |w|^2 + C T^1/2 (D + 8), D at alpha C for T equal points."""
    for n in (100, 400):
        settings = {"kernel": "linear", "loss": "hinge", "clip": clip, "alpha": 0.5}
        bound = kons_regret(np.ones((n, 1)), norm=1.0, **settings)
        D = n / (n + 0.5 * clip) * (1 + np.log1p(n / (0.5 * clip)))
        assert bound.value == pytest.approx(0.5 + clip * np.sqrt(n) * (D + 8))


def test_the_error_of_a_sketch_stays_below_its_bound():
    """[ZL19, Theorem 1] on 40 sketches, with the singular values that each of them has."""
    rng = np.random.default_rng(52_881)
    X = rng.normal(size=(60, 2))
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    C = K[:, :5]
    U = np.linalg.qr(C)[0]
    least = np.linalg.norm(U @ U.T @ K @ U @ U.T - K) ** 2
    n_below = 0
    for _ in range(40):
        column, value = sparse_signs(60, 4000, 2, rng=rng)
        S = np.zeros((60, 4000))
        np.put_along_axis(S, column, value, axis=1)
        pm = np.linalg.pinv(S.T @ C)
        error = np.linalg.norm(C @ pm @ S.T @ K @ S @ pm.T @ C.T - K) ** 2
        singular = np.linalg.svd(S.T @ U, compute_uv=False)
        distortion = max(singular[0] - 1, 1 - singular[-1])
        bound = sketch_error(60, n_landmarks=5, sketch_size=4000, distortion=distortion)
        n_below += error <= bound.value * least
        assert error >= least * (1 - 1e-9)
    assert n_below >= 36  # of 40, at delta = 0.1
    root = 2 * 0.2 * np.sqrt(200 / 0.05**2) + np.sqrt(2 * 0.2 / 0.05) * (0.25 + 1 + 2)
    got = sketch_error(200, n_landmarks=15, sketch_size=75, distortion=0.5, delta=0.1)
    assert got.value == pytest.approx(1 + root**2 / 0.5**8)
    assert sketch_error(200, n_landmarks=15, sketch_size=75, distortion=1.0).value == np.inf


def cycles_of(learner, X, y):
    """Rounds and features of each cycle of SkeGD(transfer="paper"); scores and |w| of rounds."""
    kernel, out, seen = as_kernel("rbf", PARAMS), [], None
    scores, norms = np.empty(len(X)), np.empty(len(X))
    (model,) = learner.models_
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        scores[t] = learner.predict_one(x)
        w = model.descent.w.copy()
        before = model.descent.feature_map
        learner.learn_one(x, target)
        if model.descent.feature_map is not before or seen is None:
            seen = model.descent.feature_map
            # The round starts a cycle, in the new features.
            if model.descent.feature_map is not before:
                z = seen(x[None])[0]
                w = scores[t] * z / (z @ z)
            out.append({"rounds": [], "map": seen})
        norms[t] = np.linalg.norm(w)
        out[-1]["rounds"].append(t)
    for cycle in out:
        rows = X[cycle["rounds"]]
        cycle["features"] = cycle["map"](rows)
        missed = kernel(rows, rows) - cycle["features"] @ cycle["features"].T
        cycle["error"] = np.linalg.norm(missed, 2)
    return out, scores, norms


@pytest.mark.parametrize("n_landmarks", [4, 30])
def test_regret_of_skegd_is_bounded(n_landmarks):
    """Few landmarks miss much of the kernel, and the bound says so; logistic loss, L = 1."""
    rng = np.random.default_rng(91_530)
    X = rng.uniform(-1, 1, size=(240, 2))
    y = np.sign(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=240))
    eta, lam, cycle = 0.4, 0.05, 50
    learner = SkeGD(
        kernel_params=PARAMS,
        loss="logistic",
        learning_rate=eta,
        regularization=lam,
        n_components=40,
        n_landmarks=n_landmarks,
        cycle=cycle,
        transfer="paper",
        clip=1e3,
        random_state=3,
    )
    learner.fit(X[:40], y[:40])
    X, y = X[40:], y[40:]
    cycles, scores, norms = cycles_of(learner, X, y)
    assert [len(c["rounds"]) for c in cycles] == [49, 50, 50, 50, 1]
    features = np.linalg.cholesky(as_kernel("rbf", PARAMS)(X, X) + 1e-9 * np.eye(200))
    # sum_t l_t + 200 lam / 2 |w|^2
    best = best_scores(features, y, loss=get_loss("logistic"), alpha=200 * lam / 2)
    w = np.linalg.solve(features, best)
    law = LOSSES["logistic"]
    paid = np.sum(law.value(y, scores) + lam / 2 * norms**2)
    regret = paid - np.sum(law.value(y, best)) - 200 * lam / 2 * w @ w
    optima = []
    for c in cycles:
        rows = c["features"]
        own = best_scores(
            rows, y[c["rounds"]], loss=get_loss("logistic"), alpha=len(rows) * lam / 2
        )
        optima.append(np.linalg.norm(np.linalg.lstsq(rows, own)[0]))
    measured = {
        "norm": norms.max(),
        "length": max(np.linalg.norm(c["features"], axis=1).max() for c in cycles),
        "kernel_error": sum(c["error"] for c in cycles),
    }
    norm, z, error = measured.values()
    settings = {"learning_rate": eta, "regularization": lam, "loss": "logistic"}
    for optimum, v in ((None, z / lam), (max(optima), max(optima))):
        bound = skegd_regret(200, cycle=cycle, optimum=optimum, **settings, **measured)
        assert 0 < regret < bound.value
        expected = 5 * (norm + v) ** 2 / (2 * eta)
        expected += 200 * eta * (z + lam * norm) ** 2 / 2 + error / (2 * lam)
        assert bound.value == pytest.approx(expected)
    assert max(optima) <= z / lam
    assert bound.value < 800
    assert (error > 20) == (n_landmarks == 4)


def test_regret_of_skegd_needs_a_regularizer():
    settings = {"cycle": 50, "norm": 1.0, "kernel_error": 1.0}
    free = skegd_regret(100, learning_rate=0.1, regularization=0.0, **settings)
    assert (free.value, free.failed) == (np.inf, ("regularization is 0",))
    steep = skegd_regret(100, learning_rate=0.1, regularization=1.0, loss="squared", **settings)
    flat = skegd_regret(100, learning_rate=0.1, regularization=1.0, loss="hinge", **settings)
    assert steep.value > flat.value
    with pytest.raises(InputError, match="cycle"):
        skegd_regret(100, learning_rate=0.1, regularization=1.0, **settings | {"cycle": 0})


def test_what_a_theorem_does_not_cover_has_no_bound():
    X = np.ones((50, 1))
    lone = pros_n_kons_regret(X, kernel="linear", loss="hinge", norm=1.0)
    assert (lone.value, lone.failed) == (np.inf, ("the loss has no curvature",))
    free = sketched_kons_regret(X, kernel="linear", norm=1.0)
    assert (free.value, free.failed) == (np.inf, ("min_probability and min_leverage are 0",))
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


def dimension(K, g):
    lam = np.linalg.eigvalsh(K).clip(0.0)
    return np.sum(lam / (lam + g)) * (1 + np.log(1 + lam.max() / g))


@pytest.mark.parametrize(
    ("loss", "sigma", "lipschitz"),
    [("squared", 1 / (8 * 1.5**2), 6.0), ("logistic", np.exp(-1.5), 1.0)],
)
def test_bounds_are_the_sums_that_the_theorems_print(loss, sigma, lipschitz):
    """Every term and factor, on a kernel matrix whose diagonal is uneven."""
    K = random_psd(25, 9, seed=61_402)
    alpha, clip, norm, epsilon = 0.7, 1.5, 2.0, 0.25
    settings = {"kernel": "precomputed", "loss": loss, "clip": clip, "alpha": alpha, "norm": norm}
    start = alpha * norm**2
    growth = dimension(K, alpha / (sigma * lipschitz**2))
    assert kons_regret(K, **settings).value == pytest.approx(start + growth / sigma)
    sketched = sketched_kons_regret(K, **settings, min_probability=0.2, epsilon=epsilon).value
    assert sketched == pytest.approx(start + growth / (sigma * (1 - epsilon) * 0.2))
    few, more = (
        pros_n_kons_regret(K, **settings, ridge=0.4, epsilon=epsilon, n_epochs=n).value
        for n in (5, 9)
    )
    first = lipschitz**2 * np.diag(K).max() / alpha
    epoch = start + 2 * growth / sigma + first + 2 * lipschitz * clip
    assert more - few == pytest.approx(4 * epoch)
    larger = pros_n_kons_regret(K, **settings, ridge=0.8, epsilon=epsilon, n_epochs=9).value
    projection = lipschitz**2 * 25 * 0.4 * epsilon / (4 * alpha * (1 - epsilon))
    assert larger - more == pytest.approx(projection)


def test_the_bound_without_curvature_is_the_sum_that_is_printed():
    K = random_psd(25, 9, seed=61_402)
    settings = {"kernel": "precomputed", "loss": "hinge", "clip": 1.5, "alpha": 0.7, "norm": 2.0}
    expected = 0.7 * 4 + 1.5 * 5 * (dimension(K, 0.7 * 1.5) + 8)
    assert kons_regret(K, **settings).value == pytest.approx(expected)


def test_targets_replace_the_projection_by_a_share_of_the_least_loss():
    K = random_psd(25, 9, seed=61_402)
    y = np.random.default_rng(8).uniform(-1.5, 1.5, size=25)
    alpha, clip, epsilon, ridge = 0.7, 1.5, 0.25, 0.4
    settings = {"kernel": "precomputed", "clip": clip, "alpha": alpha, "norm": 2.0}
    few, more = (
        pros_n_kons_regret(K, y, **settings, ridge=ridge, epsilon=epsilon, n_epochs=n).value
        for n in (5, 9)
    )
    sigma, lipschitz, lost = 1 / (8 * clip**2), 4 * clip, ridge * epsilon / (1 - epsilon)
    least = alpha * y @ np.linalg.inv(K + alpha * np.eye(25)) @ y
    epoch = alpha * 4 + 2 * dimension(K, alpha / (sigma * lipschitz**2)) / sigma
    epoch += lipschitz**2 * np.diag(K).max() / alpha + lipschitz * clip
    epoch += (alpha / (alpha - lost) - 1) * least
    assert more - few == pytest.approx(4 * epoch)
