"""KORS: blocks are single steps, every prefix is served, the ceiling holds."""

import numpy as np
import pytest
from scipy.optimize import brentq

from graphsqueak import InputError
from graphsqueak.kernel import KORS, OnlineSampler, as_kernel
from graphsqueak.kernel.leverage import estimate_leverage
from graphsqueak.kernel.samplers.landmark_stream import LandmarkStream
from graphsqueak.randomness import uniforms
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix

PARAMS = {"gamma": 0.5}


@pytest.mark.parametrize("form", ["thesis", "paper"])
def test_blocks_of_any_size_are_single_steps(form):
    X = clusters(400)
    settings = {"kernel_params": PARAMS, "n_copies": 3, "form": form, "random_state": 9}
    whole = KORS(**settings).fit(X)
    pieces = KORS(**settings)
    for start, stop in ((0, 1), (1, 2), (2, 300), (300, 301), (301, 400)):
        pieces.partial_fit(X[start:stop])
    kernel = as_kernel("rbf", PARAMS)
    sampler = OnlineSampler(ridge=1.0, n_copies=3, epsilon=0.5, form=form)
    kept = []
    for t, u in enumerate(uniforms(whole.seed_, 0, 400)):
        row = kernel(X[kept], X[t : t + 1])[:, 0]
        if sampler.offer(row, 1.0, uniform=u):
            kept.append(t)
    assert 30 < len(kept) < 350
    for d in (whole, pieces):
        np.testing.assert_array_equal(d.indices_, kept)
        np.testing.assert_allclose(d.weights_, sampler.weights, rtol=1e-8)


@pytest.mark.parametrize("epsilon", [0.2, 0.6])
@pytest.mark.parametrize("form", ["thesis", "paper"])
def test_landmarks_and_weights_are_those_of_the_listing(form, epsilon):
    rng = np.random.default_rng(71_505)
    X = rng.normal(size=(300, 4)) * rng.uniform(0.2, 2.0, size=(300, 1))
    settings = {"n_copies": 4, "ridge": 1.5, "epsilon": epsilon, "form": form}
    d = KORS(kernel="linear", random_state=10, **settings).fit(X)
    rows, weights = reference.kors(X, uniforms(d.seed_, 0, 300), **settings)
    assert 20 < rows.size < 250
    np.testing.assert_array_equal(d.indices_, rows)
    np.testing.assert_allclose(d.weights_, weights, rtol=1e-8)


def test_the_score_is_that_of_the_dictionary_with_the_point_added():
    X, kernel = clusters(60), as_kernel("rbf", PARAMS)
    sampler = OnlineSampler(ridge=0.4, n_copies=2, epsilon=0.3, form="thesis")
    kept = []
    for t, u in enumerate(np.random.default_rng(66_713).random(60)):
        row = kernel(X[kept], X[t : t + 1])[:, 0]
        weights = np.append(sampler.weights, 1.0)
        expected = estimate_leverage(kernel, X[[t]], X[[*kept, t]], weights, ridge=0.4)
        assert sampler.score(row, 1.0) == pytest.approx(expected[0], rel=1e-9)
        if sampler.offer(row, 1.0, uniform=u):
            kept.append(t)
    gram = kernel(X[kept], X[kept])
    root = np.sqrt(sampler.weights)
    lower = sampler.factor.lower
    expected = root[:, None] * gram * root + 0.4 * np.eye(len(kept))
    np.testing.assert_allclose(lower @ lower.T, expected, atol=1e-12)


def test_every_prefix_has_an_accurate_dictionary_at_the_theory_budget():
    rng = np.random.default_rng(902_113)
    X = np.repeat(5 * np.eye(3), 100, axis=0) + 0.01 * rng.normal(size=(300, 3))
    rng.shuffle(X)
    K = gaussian_matrix(X, 1 / 3)
    for form in ("thesis", "paper"):
        d = KORS(ridge=1500.0, budget="theory", form=form, horizon=300, random_state=4)
        for start in range(0, 300, 30):
            t = start + 30
            d.partial_fit(X[start:t])
            weight = np.zeros(t)
            weight[d.indices_] = d.weights_
            low, high = reference.dictionary_range(K[:t, :t], weight, 1500.0)
            assert max(-low, high) <= 0.5
        assert len(d.indices_) < 200


def test_late_points_have_their_place_under_a_ceiling():
    """The mean weight of the last tenth of the points; insertions that end gave .006."""
    K = gaussian_matrix(clusters(400))
    settings = {"kernel": "precomputed", "n_landmarks": 40}
    for ridge in (1.0, "auto"):
        late = np.zeros(30)
        for seed in range(30):
            d = KORS(ridge=ridge, random_state=8_000 + seed, **settings).fit(K)
            assert len(d.indices_) == 40
            late[seed] = d.weights_[d.indices_ >= 360].sum() / 40
        assert abs(late.mean() - 1) <= 6 * late.std() / np.sqrt(30)
        assert late.std() < 0.8


@pytest.mark.parametrize("discount", [1.0, 0.98])
def test_thinning_divides_faded_weights_by_their_chances(discount):
    """A landmark of age t counts discount^t; `after` stay, by chances min(1, c tau_i)."""
    X, kernel = clusters(200), as_kernel("rbf", PARAMS)
    settings = {"ridge": 1.0, "n_copies": 3, "epsilon": 0.5, "form": "thesis", "seed": 5}
    free = LandmarkStream(**settings)
    for block in free.blocks(kernel, X):
        for _ in block.insertions():
            pass
    rows, weights = np.array(free.rows[:13]), free.sampler.weights[:13]
    faded = weights * discount ** (rows[-1] - rows)
    root = np.sqrt(faded)
    gram = gaussian_matrix(X[rows])
    tau = reference.kernel_leverage(root[:, None] * gram * root, 1.0)
    c = brentq(lambda c: np.minimum(1.0, c * tau).sum() - 9, 1e-6, 1e6, xtol=1e-12)
    full = LandmarkStream(max_landmarks=12, n_after=9, discount=discount, **settings)
    for block in full.blocks(kernel, X):
        for _ in block.insertions():
            pass
        if block.subsample is not None:
            break
    assert full.n_subsamplings == 1
    kept = np.isin(rows, full.rows)
    assert np.count_nonzero(kept) == len(full.rows) == 9
    expected = (faded / np.minimum(1.0, c * tau))[kept]
    np.testing.assert_allclose(full.sampler.weights, expected, rtol=1e-6)


def test_every_thinning_discounts_the_rounds_since_the_last_one():
    """After two of them a landmark has faded once for each of its rounds, not twice for some."""
    X, kernel, discount = clusters(300), as_kernel("rbf", PARAMS), 0.98
    settings = {"ridge": 1.0, "n_copies": 3, "epsilon": 0.5, "form": "thesis", "seed": 5}
    stream = LandmarkStream(max_landmarks=12, n_after=9, discount=discount, **settings)
    expected, now = {}, 0
    for block in stream.blocks(kernel, X):
        for _ in block.insertions():
            expected[stream.rows[-1]] = stream.sampler.weights[-1]
        if block.subsample is None:
            continue
        newest = max(expected)
        rows = np.array(sorted(expected))
        ages = newest - np.maximum(rows, now)
        faded = np.array([expected[row] for row in rows]) * discount**ages
        now = newest
        root = np.sqrt(faded)
        tau = reference.kernel_leverage(root[:, None] * gaussian_matrix(X[rows]) * root, 1.0)
        c = brentq(lambda c, tau=tau: np.minimum(1.0, c * tau).sum() - 9, 1e-6, 1e6, xtol=1e-12)
        weights = dict(zip(rows.tolist(), faded / np.minimum(1.0, c * tau), strict=True))
        expected = {row: weights[row] for row in stream.rows}
        np.testing.assert_allclose(stream.sampler.weights, list(expected.values()), rtol=1e-6)
        if stream.n_subsamplings == 3:
            break
    assert stream.n_subsamplings == 3


def test_a_ceiling_does_not_depend_on_the_blocks():
    X = clusters(500)
    settings = {"kernel_params": PARAMS, "random_state": 3, "horizon": 500}
    # At most 36 landmarks are stored, and 12 are dropped at a time.
    assert len(KORS(ridge=0.1, **settings).fit(X).indices_) > 36 + 3 * 12
    settings["n_landmarks"] = 12
    for ridge in (0.1, "auto"):
        whole = KORS(ridge=ridge, **settings).fit(X)
        pieces = KORS(ridge=ridge, **settings)
        for start, stop in ((0, 1), (1, 40), (40, 301), (301, 500)):
            pieces.partial_fit(X[start:stop])
        np.testing.assert_array_equal(pieces.indices_, whole.indices_)
        np.testing.assert_allclose(pieces.weights_, whole.weights_, rtol=1e-6)
        assert pieces.ridge_ == pytest.approx(whole.ridge_)
        assert 24 <= len(whole.stored_points()) <= 36
        np.testing.assert_array_equal(whole.components_, X[whole.indices_])


def test_a_kernel_matrix_cannot_be_continued():
    with pytest.raises(InputError, match="call fit"):
        KORS(kernel="precomputed").partial_fit(np.eye(3))
