"""Nystrom features and what stands on them: dense solutions, and the bounds of the theory."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge

from graphsqueak import InputError
from graphsqueak.kernel import (
    KORS,
    SQUEAK,
    ManyStepRLS,
    NystromPCA,
    NystromRidge,
    NystromTransformer,
    effective_dimension,
)
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import as_kernel
from tests.kernel.problems import clusters, gaussian_matrix

PARAMS = {"gamma": 0.5}
X = clusters(150)
K = gaussian_matrix(X)


def approximations(seed, ridge, n_copies=40):
    """Regularized and unregularized K~ of a dictionary, its accuracy, and the dictionary."""
    sampler = ManyStepRLS(kernel_params=PARAMS, ridge=ridge, n_copies=n_copies, random_state=seed)
    matrices = []
    for regularized in (True, False):
        features = NystromTransformer(
            kernel_params=PARAMS, sampling=sampler, regularized=regularized
        ).fit(X)
        z = features.transform(X)
        matrices.append(z @ z.T)
    return *matrices, features.dictionary_.accuracy(X), features.dictionary_


def psd(matrix):
    return np.linalg.eigvalsh(matrix)[0] > -1e-8


def test_features_are_the_printed_matrices():
    regularized, plain, _, d = approximations(31, 0.5, n_copies=5)
    rows, weight = d.indices_, d.weights_
    K_nI, K_II = K[:, rows], K[np.ix_(rows, rows)]
    expected = K_nI @ np.linalg.solve(K_II + 0.5 * np.diag(1 / weight), K_nI.T)
    np.testing.assert_allclose(regularized, expected, atol=1e-9)
    expected = K_nI @ np.linalg.pinv(K_II, rcond=1e-13) @ K_nI.T
    np.testing.assert_allclose(plain, expected, atol=1e-5)


@pytest.mark.parametrize("ridge", [0.2, 2.0])
def test_both_approximations_lie_below_the_kernel_by_no_more_than_the_bound(ridge):
    tested, identity = 0, np.eye(len(X))
    smoother = np.linalg.solve(K + ridge * identity, K)
    for seed in range(20):
        regularized, plain, e, _ = approximations(seed, ridge, n_copies=25)
        if e >= 0.95:
            continue
        tested += 1
        assert psd(K - regularized)
        assert psd(K - plain)
        assert psd(ridge / (1 - e) * smoother - (K - regularized))
        assert psd(e * ridge / (1 - e) * identity - (K - plain))
        d_eff = effective_dimension(X, kernel_params=PARAMS, ridge=ridge)
        assert np.trace(K - plain) <= ridge * d_eff / (1 - e)
    assert tested >= 10


def test_dependent_landmarks_open_no_coordinate():
    z = NystromTransformer(landmarks=[0, 1, 0, 1, 5], kernel_params=PARAMS).fit(X)
    assert z.transform(X).shape == (150, 3)
    assert list(z.get_feature_names_out()) == [f"nystromtransformer{i}" for i in range(3)]
    points = NystromTransformer(landmarks=X[[0, 1, 5]], kernel_params=PARAMS).fit(X)
    left, right = z.transform(X), points.transform(X)
    np.testing.assert_allclose(left @ left.T, right @ right.T, atol=1e-9)


def test_an_embedding_without_a_kernel_takes_kernel_values_only():
    kernel = as_kernel("rbf", PARAMS)
    values = NystromEmbedding(None, X[:5], gram=kernel(X[:5], X[:5]))
    points = NystromEmbedding(kernel, X[:5])
    z = values.from_values(kernel(X, X[:5][values.pivots]))
    np.testing.assert_array_equal(z, points(X))
    with pytest.raises(InputError, match="call from_values"):
        values(X)
    with pytest.raises(InputError, match="needs a kernel"):
        NystromEmbedding(None, X[:5])


def test_the_map_between_embeddings_is_exact_within_the_older_span():
    kernel = as_kernel("rbf", PARAMS)
    older, newer = NystromEmbedding(kernel, X[:12]), NystromEmbedding(kernel, X[4:40])
    inside = older(X[4:12])
    T = newer.map_from(older)
    np.testing.assert_allclose(inside @ T.T, newer(X[4:12]), atol=1e-6)
    grown = NystromEmbedding(kernel, X[:20])
    T = grown.map_from(older)
    np.testing.assert_allclose(T.T @ T, np.eye(older.rank), atol=1e-6)


@pytest.mark.parametrize("regularized", [True, False])
def test_ridge_regression_is_the_dense_solution(regularized):
    y = np.sin(X[:, 0]) + X[:, 1]
    lam, g = 0.3, 0.5
    sampler = SQUEAK(ridge=g, n_copies=6, random_state=77)
    model = NystromRidge(
        alpha=lam, kernel_params=PARAMS, sampling=sampler, regularized=regularized
    ).fit(X, y)
    rows, weight = model.landmark_indices_, model.landmark_weights_
    if regularized:  # Eq. 4.5, corrected
        C = K[:, rows] * np.sqrt(weight)
        V = np.sqrt(np.outer(weight, weight)) * K[np.ix_(rows, rows)] + g * np.eye(rows.size)
        w = (y - C @ np.linalg.solve(C.T @ C + lam * V, C.T @ y)) / lam
        approximation = C @ np.linalg.solve(V, C.T)
    else:  # Eq. 4.6
        K_nI, K_II = K[:, rows], K[np.ix_(rows, rows)]
        approximation = K_nI @ np.linalg.pinv(K_II, rcond=1e-13) @ K_nI.T
        w = np.linalg.solve(approximation + lam * np.eye(150), y)
    np.testing.assert_allclose(model.predict(X), approximation @ w, atol=1e-5)


def test_with_all_points_it_is_kernel_ridge_regression():
    y = np.stack([np.sin(X[:, 0]), X[:, 1]], axis=1)
    exact = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X, y)
    model = NystromRidge(alpha=0.3, kernel_params=PARAMS, landmarks=np.arange(150)).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:9]), exact.predict(X[:9]), atol=1e-6)


@pytest.mark.parametrize("lam", [0.5, 5.0])
def test_the_risk_grows_by_no_more_than_its_factor(lam):
    """Fixed design: expected risk |lam (K + lam)^-1 f|^2 + sigma^2 |K (K + lam)^-1|_F^2."""
    f = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]

    def risk(matrix):
        inverse = np.linalg.inv(matrix + lam * np.eye(150))
        return np.sum((lam * inverse @ f) ** 2) + 0.2 * np.sum((matrix @ inverse) ** 2)

    g, tested = 0.5, 0
    for seed in range(15):
        regularized, plain, e, _ = approximations(seed + 50, g, n_copies=30)
        if e >= 0.95:
            continue
        tested += 1
        assert risk(plain) <= (1 + e * g / (1 - e) / lam) ** 2 * risk(K)
        assert risk(regularized) <= (1 + g / (1 - e) / lam) ** 2 * risk(K)
    assert tested >= 8


@pytest.mark.parametrize("sampling", [SQUEAK(n_landmarks=150), KORS(n_copies=3)])
def test_one_pass_does_almost_as_well_as_two(sampling):
    points = clusters(2000, seed=90_044)
    rng = np.random.default_rng(5_512)
    y = np.sin(2 * points[:, 0]) + points[:, 1] + 0.1 * rng.normal(size=2000)
    sampling.set_params(ridge=2.0, random_state=5)
    settings = {"kernel_params": PARAMS, "alpha": 0.3, "sampling": sampling}
    once, twice = NystromRidge(**settings), NystromRidge(**settings).fit(points[:1500], y[:1500])
    for start in range(0, 1500, 150):
        once.partial_fit(points[start : start + 150], y[start : start + 150])
    errors = [np.mean((model.predict(points[1500:]) - y[1500:]) ** 2) for model in (once, twice)]
    assert errors[1] < 0.05
    assert errors[0] < 1.3 * errors[1]


def test_sums_are_exact_while_the_landmarks_stay():
    y = X[:, 0] ** 2
    settings = {"kernel_params": PARAMS, "landmarks": X[:30], "alpha": 0.1}
    pieces = NystromRidge(**settings)
    for part in np.array_split(np.arange(150), 4):
        pieces.partial_fit(X[part], y[part])
    whole = NystromRidge(**settings).fit(X, y)
    np.testing.assert_allclose(pieces.predict(X), whole.predict(X), atol=1e-8)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_best_rank_k_within_a_dictionary_is_close_to_the_best_of_all(k):
    best = np.linalg.eigvalsh(K)[:-k].sum()
    tested = 0
    for seed in range(12):
        sampler = ManyStepRLS(ridge=best / k, n_copies=25, random_state=seed)
        pca = NystromPCA(n_components=k, kernel_params=PARAMS, sampling=sampler).fit(X)
        e = pca.dictionary_.accuracy(X)
        cost = np.trace(K) - pca.eigenvalues_.sum()
        assert cost >= best - 1e-9
        if e < 0.95:
            tested += 1
            assert cost <= best / (1 - e)
            coordinates = pca.transform(X)
            np.testing.assert_allclose(np.sum(coordinates**2, axis=0), pca.eigenvalues_)
    assert tested >= 6


def test_centered_components_are_scikit_learns():
    ours = NystromPCA(
        n_components=3, center=True, kernel_params=PARAMS, landmarks=np.arange(150)
    ).fit(X)
    theirs = KernelPCA(n_components=3, kernel="rbf", gamma=0.5).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-6)
    signs = np.sign(np.sum(ours.transform(X) * theirs.transform(X), axis=0))
    others = clusters(40, seed=90_046)  # whose mean is not that of X
    for points in (X, others):
        expected = signs * theirs.transform(points)
        np.testing.assert_allclose(ours.transform(points), expected, atol=1e-5)


def test_components_of_a_stream_are_close_to_those_of_two_passes():
    points = clusters(1200, seed=90_045)
    pca = NystromPCA(n_components=4, n_landmarks=100, kernel_params=PARAMS, random_state=6)
    for start in range(0, 1200, 150):
        pca.partial_fit(points[start : start + 150])
    exact = np.linalg.eigvalsh(gaussian_matrix(points))[::-1][:4]
    assert np.all(pca.eigenvalues_ <= exact + 1e-9)
    assert np.all(pca.eigenvalues_ >= 0.97 * exact)


def test_late_landmarks_know_about_early_points():
    """One pass of KORS is nearly as good as summing again over all rows for the same landmarks."""
    rng = np.random.default_rng(60_107)
    X = rng.normal(size=(1500, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    how = {"kernel_params": {"gamma": 0.1}, "alpha": 0.1}
    one = NystromRidge(sampling=KORS(ridge=5.0, n_copies=2, random_state=3), **how)
    for start in range(0, 1500, 50):
        one.partial_fit(X[start : start + 50], y[start : start + 50])
    two = NystromRidge(landmarks=one.landmarks_, **how).fit(X, y)
    error = {model: np.mean((model.predict(X) - y) ** 2) for model in (one, two)}
    assert error[one] < 1.1 * error[two]
