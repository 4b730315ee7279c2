"""The sketches of SkeGD against whole matrices, and the moves of its hypothesis."""

import numpy as np
import pytest

from graphsqueak.kernel import as_kernel
from graphsqueak.online import KernelOGD, SkeGD
from graphsqueak.online.skegd import KernelSketch, fit_values, sparse_signs
from tests.kernel.problems import clusters
from tests.online.baselines.test_kernel_descent import PARAMS, labeled


def test_sparse_signs_preserve_products():
    rng = np.random.default_rng(17_004)
    x, y, size = rng.normal(size=50), rng.normal(size=50), 24
    products = []
    for _ in range(2000):
        S = np.zeros((50, size))
        column, value = sparse_signs(50, size, 3, rng=rng)
        np.put_along_axis(S, column, value, axis=1)
        products.append((S.T @ x) @ (S.T @ y))
    variance = ((x @ y) ** 2 + (x @ x) * (y @ y)) / size
    assert abs(np.mean(products) - x @ y) < 6 * np.sqrt(variance / 2000)
    assert np.var(products) < variance * (1 + 6 * np.sqrt(2 / 2000) * 2)


def test_sketches_that_grew_are_those_of_the_whole_matrix():
    X, kernel = clusters(60), as_kernel("rbf", PARAMS)
    landmarks = np.arange(0, 30, 3)
    sketch = KernelSketch(
        kernel, X[:30], landmarks, size=20, n_blocks=2, rng=np.random.default_rng(7_201)
    )
    for i in range(30, 60):
        if i % 4 == 0:  # landmarks come, and some go
            landmarks = np.append(landmarks[int(i % 8 == 0) :], i)
        sketch.absorb(X[i : i + 1], landmarks=landmarks)
    np.testing.assert_array_equal(sketch.landmarks, X[landmarks])
    S = np.zeros((60, 20))
    np.put_along_axis(S, sketch.columns, sketch.signs, axis=1)
    K = kernel(X, X)
    np.testing.assert_allclose(sketch.pm, S.T @ K[:, landmarks], atol=1e-12)
    np.testing.assert_allclose(sketch.pp, S.T @ K @ S, atol=1e-12)


def test_the_sketched_map_tends_to_the_best_one():
    """C F C' with F sketched comes close to C C^+ K (C C^+)', the best in the span of C."""
    X, kernel = clusters(60), as_kernel("rbf", PARAMS)
    K, landmarks = kernel(X, X), np.arange(0, 60, 6)
    C = K[:, landmarks]
    P = C @ np.linalg.pinv(C)
    excess = []
    for size in (20, 400):
        gaps = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            sketch = KernelSketch(kernel, X, landmarks, size=size, n_blocks=2, rng=rng)
            Z = C @ sketch.feature_map(size).Q
            gaps.append(np.linalg.norm(Z @ Z.T - K) / np.linalg.norm(P @ K @ P - K))
        excess.append(np.mean(gaps))
    assert excess[1] < 1.2
    assert excess[0] > 1.3


@pytest.mark.parametrize(("size", "rank"), [(12, 4), (30, 8), (400, 20)])
def test_the_sketched_map_is_the_formula_with_the_first_cut_that_is_short_enough(size, rank):
    """Q = Phi_pm^+ V_k diag(sig)^1/2, |z(x)|^2 at most 2 k(x, x) = 2 at the points absorbed."""
    X, kernel = clusters(60), as_kernel("rbf", PARAMS)
    landmarks = np.arange(0, 60, 6)
    rng = np.random.default_rng(17)
    sketch = KernelSketch(kernel, X, landmarks, size=size, n_blocks=2, rng=rng)
    sig, V = np.linalg.eigh(sketch.pp)
    root = V[:, -rank:] * np.sqrt(np.maximum(sig[-rank:], 0.0))
    tried = []
    for cut in (1e-8, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3):
        Q = np.linalg.pinv(sketch.pm, rcond=cut) @ root
        tried.append(np.sum((kernel(X, X[landmarks]) @ Q) ** 2, axis=1).max())
        if tried[-1] <= 2:
            break
    got = sketch.feature_map(rank).Q
    assert got.shape == (10, rank)
    np.testing.assert_allclose(got @ got.T, Q @ Q.T, rtol=1e-6, atol=1e-9)
    assert (len(tried) > 1) == (size < 400)  # small sketches are noisy, and more is cut off


def test_a_hypothesis_moves_by_ridge_regression_on_its_values():
    X, y = labeled(120)
    learner = SkeGD(kernel_params=PARAMS, loss="hinge", n_components=40, random_state=3).fit(X, y)
    points, values = X[:50], np.sin(np.arange(50))
    z = learner.models_[0].features(points)
    ridge = 1e-5 * np.trace(z.T @ z)
    expected = np.linalg.inv(z.T @ z + ridge * np.eye(z.shape[1])) @ z.T @ values
    np.testing.assert_allclose(fit_values(z, values), expected, rtol=1e-6)


@pytest.mark.parametrize("transfer", ["paper", "least-squares"])
def test_what_a_new_map_keeps_of_the_hypothesis(transfer):
    X, y = labeled(400)
    learner = SkeGD(
        kernel_params=PARAMS,
        loss="hinge",
        n_components=60,
        n_landmarks=30,
        rank=25,
        sketch_size=50,
        cycle=10**6,
        transfer=transfer,
        random_state=3,
    ).fit(X, y)
    point, probe = X[-1:], X[:100]
    before, at = learner.models_[0].scores(probe), learner.models_[0].scores(point)
    without_slope = 5 * np.sign(at[0]) / min(abs(at[0]), 1)
    np.testing.assert_array_equal(learner.models_[0].update_features(point, without_slope), at)
    change = np.linalg.norm(learner.models_[0].scores(probe) - before) / np.linalg.norm(before)
    if transfer == "paper":
        np.testing.assert_allclose(learner.models_[0].scores(point), at, atol=1e-8)
        assert change > 0.5
    else:
        assert change < 0.3


def test_the_step_of_a_renewal_is_taken_in_the_new_features():
    """[ZL19, Eq. 8 and 9]: w = (1 - eta lam) w~ - eta l'(f(x)) z_new(x), w~ right at x."""
    X, y = np.random.default_rng(9_430).normal(size=(80, 2)), np.full(80, 0.3)
    settings = {"n_components": 30, "cycle": 10**6, "learning_rate": 0.2, "regularization": 0.5}
    learner = SkeGD(kernel_params=PARAMS, transfer="paper", random_state=3, **settings).fit(X, y)
    point = np.array([[0.4, -0.2]])
    f = learner.models_[0].scores(point)[0]
    learner.models_[0].update_features(point, -0.7)
    z = learner.models_[0].features(point)[0]
    w = f * z / (z @ z)
    np.testing.assert_allclose(
        learner.models_[0].descent.w, (1 - 0.1) * w - 0.2 * 2 * (f + 0.7) * z, rtol=1e-9
    )


def test_landmarks_follow_a_stream_that_moves():
    """After 400 points all come from elsewhere; landmarks of the first points knew nothing."""
    rng = np.random.default_rng(60_208)
    X = rng.normal(size=(3000, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    X[400:] += [7.0, 0.0]
    settings = {"loss": "hinge", "kernel_params": PARAMS, "learning_rate": 0.2}
    late = {}
    for cycle in (50, 10**6):
        learner = SkeGD(cycle=cycle, random_state=8, **settings)
        scores = learner.predict_then_learn(X, y)
        late[cycle] = np.mean(np.sign(scores)[-1000:] != y[-1000:])
    exact = KernelOGD(**settings).predict_then_learn(X, y)
    assert late[10**6] > 0.4  # never absorbed
    assert late[50] < 3 * np.mean(np.sign(exact)[-1000:] != y[-1000:]) < 0.2
