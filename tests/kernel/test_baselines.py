"""The oracle samplers of a stream: as listed, unbiased, accurate for every prefix, and small."""

import numpy as np
import pytest
from scipy import stats

from graphsqueak import InputError
from graphsqueak.kernel import (
    StreamingExactRLS,
    effective_dimension,
    leverage_scores,
    online_effective_dimension,
    online_leverage_scores,
)
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix

PARAMS = {"gamma": 0.5}


def listing(K, *, ridge, n_copies, removal, rng):
    """[C17, Algorithms 7 and 9] with a dense inverse in every step: p and q of all points."""
    p, q = np.ones(len(K)), np.zeros(len(K), dtype=np.int64)
    for t in range(len(K)):
        tau = reference.kernel_leverage(K[: t + 1, : t + 1], ridge)
        if removal:
            q[t] = n_copies
            for s in np.flatnonzero(q[: t + 1]):
                q[s] = rng.binomial(q[s], min(tau[s] / p[s], 1.0))
                p[s] = tau[s]
        else:
            p[t] = tau[t]
            q[t] = rng.binomial(n_copies, p[t])
    return p, q


@pytest.mark.parametrize("removal", [False, True])
def test_landmarks_and_weights_are_those_of_the_listing(removal):
    X = clusters(70)
    settings = {"ridge": 0.7, "n_copies": 6, "removal": removal}
    d = StreamingExactRLS(kernel_params=PARAMS, random_state=5, **settings).fit(X)
    p, q = listing(gaussian_matrix(X), rng=np.random.default_rng(5), **settings)
    rows = np.flatnonzero(q)
    assert 10 < rows.size < 70
    np.testing.assert_array_equal(d.indices_, rows)
    np.testing.assert_allclose(d.weights_, q[rows] / (6 * p[rows]), rtol=1e-7)
    np.testing.assert_array_equal(d.components_, X[rows])
    early = StreamingExactRLS(kernel_params=PARAMS, random_state=5, **settings).fit(X[:40])
    p, q = listing(gaussian_matrix(X[:40]), rng=np.random.default_rng(5), **settings)
    np.testing.assert_array_equal(early.indices_, np.flatnonzero(q))


@pytest.mark.parametrize("removal", [False, True])
def test_copies_are_binomial_with_the_score_and_weights_are_one_on_average(removal):
    """With removal a chain of binomials has the distribution of one; 6 standard errors."""
    K = gaussian_matrix(clusters(16, seed=6_119))
    oracle = leverage_scores if removal else online_leverage_scores
    p = oracle(K, kernel="precomputed", ridge=0.5)
    n_runs, n_copies = 1500, 3
    copies = np.zeros((n_runs, 16))
    for run in range(n_runs):
        settings = {"n_copies": n_copies, "removal": removal, "random_state": run}
        d = StreamingExactRLS(kernel="precomputed", ridge=0.5, **settings).fit(K)
        copies[run, d.indices_] = d.weights_ * n_copies * p[d.indices_]
    np.testing.assert_allclose(copies, np.round(copies), atol=1e-6)
    for value in range(n_copies + 1):
        chance = stats.binom.pmf(value, n_copies, p)
        share = np.mean(np.round(copies) == value, axis=0)
        assert np.all(np.abs(share - chance) <= 6 * np.sqrt(chance * (1 - chance) / n_runs) + 1e-9)
    weights = copies / (n_copies * p)
    error = weights.std(axis=0) / np.sqrt(n_runs)
    assert np.all(np.abs(weights.mean(axis=0) - 1) <= 6 * error + 1e-9)


@pytest.mark.parametrize("removal", [False, True])
def test_every_prefix_is_accurate_at_the_theory_budget(removal):
    rng = np.random.default_rng(902_114)
    X = np.repeat(5 * np.eye(3), 100, axis=0) + 0.01 * rng.normal(size=(300, 3))
    rng.shuffle(X)
    K = gaussian_matrix(X, 1 / 3)
    settings = {"ridge": 1500.0, "removal": removal, "random_state": 4}
    whole = StreamingExactRLS(budget="theory", **settings).fit(X)
    assert whole.n_copies_ == int(np.ceil(4 * np.log(4 * 300**2 / 0.1) / 0.5**2))
    assert whole.indices_.size < 150
    for t in range(30, 301, 30):
        d = StreamingExactRLS(n_copies=whole.n_copies_, **settings).fit(X[:t])
        weight = np.zeros(t)
        weight[d.indices_] = d.weights_
        low, high = reference.dictionary_range(K[:t, :t], weight, 1500.0)
        assert max(-low, high) <= 0.5


def test_removal_needs_the_effective_dimension_and_not_the_online_one():
    """The mean number of copies is q d_eff with removal, q d_onl without."""
    X = np.repeat(clusters(20), 20, axis=0)
    settings = {"kernel_params": PARAMS, "ridge": 2.0}
    dimension = {
        True: effective_dimension(X, **settings),
        False: online_effective_dimension(X, **settings),
    }
    assert dimension[False] > 2 * dimension[True]
    for removal, d_mean in dimension.items():
        p = (leverage_scores if removal else online_leverage_scores)(X, **settings)
        total = 0.0
        for seed in range(20):
            d = StreamingExactRLS(n_copies=3, removal=removal, random_state=seed, **settings)
            d.fit(X)
            total += np.sum(d.weights_ * 3 * p[d.indices_])
            assert d.indices_.size <= 3 * 3 * d_mean
        deviation = np.sqrt(3 * np.sum(p * (1 - p)) / 20)
        assert abs(total / 20 - 3 * d_mean) <= 6 * deviation


def test_a_fixed_size_and_bad_settings_are_refused():
    with pytest.raises(InputError, match="n_landmarks is not available here"):
        StreamingExactRLS(n_landmarks=3).fit(np.eye(4))
    with pytest.raises(InputError, match="ridge"):
        StreamingExactRLS(ridge=0.0).fit(np.eye(4))
    flat = StreamingExactRLS(kernel="linear", n_copies=4, random_state=3).fit(np.zeros((9, 2)))
    assert np.all(np.isfinite(flat.weights_))
