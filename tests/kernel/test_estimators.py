"""The estimators obey scikit-learn, with points and with kernel matrices."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphsqueak import InputError
from graphsqueak.kernel import SQUEAK, KernelRidge, NystromPCA, NystromRidge, NystromTransformer
from tests.kernel.problems import clusters, gaussian_matrix


@parametrize_with_checks(
    [
        NystromTransformer(random_state=3),
        NystromTransformer(regularized=True, sampling="many-step", random_state=3),
        NystromRidge(random_state=3),
        NystromRidge(regularized=True, sampling="kors", ridge=0.1, random_state=3),
        NystromPCA(random_state=3),
        KernelRidge(random_state=3),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "sampling", ["squeak", "uniform", "exact", "recursive", "kors", "rp-cholesky"]
)
def test_a_kernel_matrix_gives_what_the_points_give(sampling):
    X, y = clusters(150), clusters(150, seed=2)[:, 0]
    K = gaussian_matrix(X)
    settings = {"sampling": sampling, "ridge": 0.5, "random_state": 8}
    points = {"kernel_params": {"gamma": 0.5}, **settings}
    matrix = {"kernel": "precomputed", **settings}
    train, test = np.arange(100), np.arange(100, 150)
    across = K[np.ix_(test, train)]
    for one, two in (
        (
            NystromTransformer(n_components=20, **points),
            NystromTransformer(n_components=20, **matrix),
        ),
        (NystromPCA(n_landmarks=20, **points), NystromPCA(n_landmarks=20, **matrix)),
    ):
        expected = one.fit(X[train]).transform(X[test])
        got = two.fit(K[np.ix_(train, train)]).transform(across)
        np.testing.assert_allclose(got, expected, atol=1e-6)
    one = NystromRidge(n_landmarks=20, **points).fit(X[train], y[train])
    two = NystromRidge(n_landmarks=20, **matrix).fit(K[np.ix_(train, train)], y[train])
    np.testing.assert_allclose(two.predict(across), one.predict(X[test]), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sampling": "sqeak"}, "sampling"),
        ({"landmarks": np.array([0, 99])}, "row numbers from 0"),
        ({"landmarks": np.ones((2, 7))}, "do not fit"),
        ({"kernel": "precomputed", "landmarks": np.ones((2, 4))}, "row numbers"),
        ({"landmarks": [0, 1], "regularized": True}, "needs a ridge"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        NystromTransformer(**settings).fit(np.eye(4))


def test_only_streams_can_be_continued():
    with pytest.raises(AttributeError, match="partial_fit") as refusal:
        NystromTransformer(sampling="uniform").partial_fit(np.eye(4))
    assert "needs all points at once" in str(refusal.value.__cause__)
    with pytest.raises(InputError, match="alpha"):
        NystromRidge(alpha=0.0).fit(np.eye(4), np.ones(4))


def test_a_dictionary_with_settings_of_its_own_is_used():
    X = clusters(200)
    sampler = SQUEAK(ridge=2.0, n_copies=3, random_state=6)
    features = NystromTransformer(kernel_params={"gamma": 0.5}, sampling=sampler).fit(X)
    expected = sampler.set_params(kernel_params={"gamma": 0.5}).fit(X)
    np.testing.assert_array_equal(features.landmark_indices_, expected.indices_)
