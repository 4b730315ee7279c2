"""First-order learners against explicit ones, and the sketches of SkeGD against whole matrices."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import as_kernel
from graphsqueak.online import FOGD, NOGD, DualSGD, KernelOGD, SkeGD, flipped_blocks
from graphsqueak.online.losses import LOSSES
from graphsqueak.online.skegd import KernelSketch, fit_values, sparse_signs
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


def test_flipped_blocks_repeat_and_flip():
    X, y = labeled(50)
    A, b = flipped_blocks(X, y, n_blocks=20, n_repeats=5, random_state=2)
    assert (A.reshape(20, 5, -1) == A[::5, None]).all()
    row = [int(np.flatnonzero((a == X).all(axis=1))[0]) for a in A[::5]]
    np.testing.assert_array_equal(b[::5] * y[row], np.tile([1.0, -1.0], 10))
    with pytest.raises(InputError, match="-1 and 1"):
        flipped_blocks(X, np.zeros(50), n_blocks=2, n_repeats=2)
    with pytest.raises(InputError, match="50 rows"):
        flipped_blocks(X, y[:3], n_blocks=2, n_repeats=2)
