"""What every sampler promises: unbiased weights, its size, its accuracy, clear refusals."""

import numpy as np
import pytest

from graphsqueak import InputError
from graphsqueak.kernel import (
    BLESS,
    KORS,
    SQUEAK,
    ExactRLS,
    ManyStepRLS,
    RecursiveRLS,
    RPCholesky,
    TwoStepRLS,
    UniformDictionary,
    effective_dimension,
    online_effective_dimension,
)
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix

BATCH = (UniformDictionary, ExactRLS, TwoStepRLS, ManyStepRLS, RecursiveRLS, BLESS)
ALL = (*BATCH, KORS, SQUEAK)
PARAMS = {"gamma": 0.5}

CONFIGURATIONS = [
    *((sampler, {"n_copies": 3}) for sampler in BATCH),
    (ExactRLS, {"n_copies": 3, "scheme": "bernoulli"}),
    (ManyStepRLS, {"n_copies": 3, "scheme": "bernoulli"}),
    *((sampler, {"n_landmarks": 5}) for sampler in (*BATCH, SQUEAK, RPCholesky)),
    (RPCholesky, {"n_landmarks": 5, "block_size": 1}),
    (SQUEAK, {"n_landmarks": 2, "batch_size": 2}),
    (KORS, {"n_landmarks": 2}),
    (KORS, {"n_landmarks": 2, "ridge": "auto"}),
    (KORS, {"n_landmarks": 2, "n_copies": 1, "form": "paper"}),
    (SQUEAK, {"n_landmarks": 5, "ridge": "auto"}),
    (KORS, {"n_copies": 3}),
    (KORS, {"n_copies": 1, "form": "paper"}),
    (SQUEAK, {"n_copies": 4, "batch_size": 1}),
    (SQUEAK, {"n_copies": 4, "batch_size": 7}),
    (SQUEAK, {"n_copies": 4, "batch_size": 5, "tree": "balanced"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "settings"), CONFIGURATIONS)
def test_weights_are_one_on_average(sampler, settings):
    K = gaussian_matrix(clusters(16, seed=6_119))
    n_runs, total, square = 250, np.zeros(17), np.zeros(17)
    for run in range(n_runs):
        seed = 104_729 * run + 17
        d = sampler(kernel="precomputed", random_state=seed).set_params(**settings).fit(K)
        weight = np.zeros(17)
        weight[d.indices_] = d.weights_
        weight[16] = weight.sum() / 16  # their mean, whose error is far smaller
        total, square = total + weight, square + weight**2
    mean = total / n_runs
    sigma = np.sqrt((square / n_runs - mean**2) / n_runs)
    assert np.all(np.abs(mean - 1) <= 6 * sigma + 1e-9)


@pytest.mark.parametrize("sampler", [*BATCH, SQUEAK, RPCholesky])
@pytest.mark.parametrize("ridge", [0.5, "auto"])
def test_a_number_of_components_is_met(sampler, ridge):
    X = clusters(300)
    d = sampler(kernel_params=PARAMS, ridge=ridge, n_landmarks=40, random_state=5).fit(X)
    assert len(d.indices_) == len(set(d.indices_)) == 40
    np.testing.assert_array_equal(d.components_, X[d.indices_])
    assert d.ridge_ > 0
    everything = sampler(ridge=ridge, n_landmarks=40, random_state=5).fit(X[:10])
    np.testing.assert_array_equal(np.sort(everything.indices_), np.arange(10))
    if sampler is not RPCholesky:  # whose weights are by the order of the draws
        np.testing.assert_allclose(everything.weights_, 1.0)


@pytest.mark.parametrize("sampler", ALL)
def test_same_seed_same_dictionary(sampler):
    X = clusters(200)
    one, two = (sampler(n_copies=5, random_state=11).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.weights_, two.weights_)
    other = sampler(n_copies=5, random_state=12).fit(X)
    assert one.weights_.tolist() != other.weights_.tolist()


@pytest.mark.parametrize("sampler", [ExactRLS, TwoStepRLS, ManyStepRLS, RecursiveRLS, BLESS, KORS])
def test_theory_budgets_keep_their_promise(sampler):
    """Points in a few tight clusters: even theory budgets leave most of them out."""
    rng = np.random.default_rng(441_907)
    X = np.repeat(5 * np.eye(4), 150, axis=0) + 0.001 * rng.normal(size=(600, 4))
    rng.shuffle(X)
    for seed in (31, 32, 33):
        d = sampler(ridge=1500.0, epsilon=0.5, budget="theory", random_state=seed).fit(X)
        assert d.accuracy(X) <= 0.5
        assert len(d.indices_) < 400


def raw_scores(X, rows, weights, ridge):
    """phi' (sum_i s_i phi_i phi_i' + ridge I)^-1 phi of every row of X, features written out."""
    covariance = (X[rows].T * weights) @ X[rows] + ridge * np.eye(X.shape[1])
    return np.einsum("ij,jk,ik->i", X, np.linalg.inv(covariance), X)


def copies_drawn(p, n_copies, rng):
    """Rows and weights of binomial copies."""
    q = rng.binomial(n_copies, p)
    rows = np.flatnonzero(q)
    return rows, q[rows] / (n_copies * p[rows])


def two_step(X, *, ridge, epsilon, n_copies, rng, first_copies=None):
    """[C17, Algorithm 4] with the estimator of Eq. 3.2."""
    diagonal = np.sum(X**2, axis=1)
    rows, weights = copies_drawn(diagonal / diagonal.sum(), first_copies or n_copies, rng)
    tau = (1 - epsilon) * raw_scores(X, rows, weights, ridge)
    return copies_drawn(np.minimum(tau, 1.0), n_copies, rng)


def many_step(X, *, ridge, epsilon, n_copies, rng):
    """[C17, Algorithm 5], corrected: a dictionary at twice the ridge is seen at (1 + e) ridge."""
    diagonal = np.sum(X**2, axis=1)
    level = diagonal.sum()
    p = diagonal / level
    while level > ridge:
        rows, weights = copies_drawn(p, n_copies, rng)
        level = max(level / 2, ridge)
        tau = (1 - epsilon) * raw_scores(X, rows, weights, (1 + epsilon) * level)
        p = np.minimum(tau, 1.0)
    return copies_drawn(p, n_copies, rng)


def recursive(X, *, ridge, epsilon, n_copies, rng):
    """[C17, Algorithm 6] with the over-estimates of Musco and Musco, factor 3/2."""
    halves = [np.arange(len(X))]
    while halves[-1].size > 16:
        halves.append(halves[-1][rng.random(halves[-1].size) < 0.5])
    rows, weights = halves[-1], np.ones(halves[-1].size)
    for level in halves[-2::-1]:
        over = 1.5 * raw_scores(X, rows, weights, ridge)[level]
        p = np.minimum(n_copies * over, 1.0)
        chosen = rng.random(level.size) < p
        rows, weights = level[chosen], 1 / p[chosen]
    return rows, weights


def bless(X, *, ridge, epsilon, n_copies, rng):
    """BLESS: few points are looked at while the ridge is large; weights divide by both chances."""
    diagonal = np.sum(X**2, axis=1)
    largest = diagonal.max()
    rows = weights = None
    for level in range(int(np.ceil(np.log2(len(X) * largest / ridge))), -1, -1):
        g = 2**level * ridge
        bound = largest / (largest + g)
        looked = min(1.0, n_copies * bound)
        size = rng.binomial(len(X), looked)
        drawn = np.sort(rng.choice(len(X), size=size, replace=False))
        if rows is None:
            score = diagonal / g
        else:
            score = (1 - epsilon) * raw_scores(X, rows, weights, (1 + epsilon) * g)
        p = np.minimum(n_copies * np.minimum(score, bound)[drawn] / looked, 1.0)
        chosen = rng.random(drawn.size) < p
        rows, weights = drawn[chosen], 1 / (looked * p[chosen])
    return rows, weights


@pytest.mark.parametrize("epsilon", [0.2, 0.6])
@pytest.mark.parametrize(
    ("sampler", "listing"),
    [
        (TwoStepRLS, two_step),
        (ManyStepRLS, many_step),
        (RecursiveRLS, recursive),
        (BLESS, bless),
    ],
)
def test_batch_samplers_are_their_listings(sampler, listing, epsilon):
    rng = np.random.default_rng(49_006)
    X = rng.normal(size=(500, 4)) * rng.uniform(0.2, 2.0, size=(500, 1))
    settings = {"ridge": 3.0, "epsilon": epsilon, "n_copies": 30}
    d = sampler(kernel="linear", random_state=6, **settings).fit(X)
    rows, weights = listing(X, rng=np.random.default_rng(6), **settings)
    assert 20 < rows.size < 400
    np.testing.assert_array_equal(d.indices_, rows)
    np.testing.assert_allclose(d.weights_, weights, rtol=1e-6)


def test_the_first_draw_of_two_steps_has_copies_for_the_trace():
    """p_i = k_ii / trace(K) is too small by trace(K) / (ridge + least k_ii) at most."""
    rng = np.random.default_rng(49_007)
    X = rng.normal(size=(500, 4)) * rng.uniform(0.2, 2.0, size=(500, 1))
    d = TwoStepRLS(kernel="linear", ridge=300.0, epsilon=0.5, random_state=6).fit(X)
    diagonal = np.sum(X**2, axis=1)
    scale = diagonal.sum() / (300.0 + diagonal.min())
    settings = {"n_copies": d.n_copies_, "first_copies": int(np.ceil(scale * 25))}  # log(500) / e^2
    rows, weights = two_step(X, ridge=300.0, epsilon=0.5, rng=np.random.default_rng(6), **settings)
    np.testing.assert_array_equal(d.indices_, rows)
    np.testing.assert_allclose(d.weights_, weights, rtol=1e-8)


def test_copies_are_the_formulas_of_the_budgets():
    """n = 200 points of norm 1, ridge 10, e = 0.4, delta = 0.05."""
    rng = np.random.default_rng(31_337)
    X = rng.normal(size=(200, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    n, e, delta, ridge = 200, 0.4, 0.05, 10.0
    once, twice, thrice = (1 + e) / (1 - e), (1 + 3 * e) / (1 - e), (1 + 5 * e) / (1 - e)
    levels = np.ceil(np.log2(n / ridge) + 1)
    batch = 4 * np.log(4 * n / delta) / e**2
    kors = (2 + 2 * e / 3) * np.log(4 * n**2 / delta) / e**2
    squeak = 26 * np.log(3 * n / delta) / e**2
    practical = np.log(n) / e**2
    many = 4 * twice * np.log(4 * n * levels / delta) / e**2
    coherence = n * 1 / (1 + ridge)
    expected = [
        (ExactRLS, {}, batch, practical),
        (UniformDictionary, {}, coherence * np.ceil(batch), coherence * np.ceil(practical)),
        (TwoStepRLS, {}, once * batch, once * practical),
        (ManyStepRLS, {}, many, twice * practical),
        (BLESS, {}, many, twice * practical),
        (KORS, {}, once * kors, once * practical),
        (KORS, {"form": "paper"}, kors, practical),
        (SQUEAK, {}, once * squeak, once * practical),
        (SQUEAK, {"tree": "balanced"}, twice * squeak, twice * practical),
        (SQUEAK, {"tree": 3}, thrice * squeak, thrice * practical),
    ]
    for sampler, settings, *budgets in expected:
        for budget, n_copies in zip(("theory", "practical"), budgets, strict=True):
            d = sampler(ridge=ridge, epsilon=e, delta=delta, budget=budget, random_state=2)
            d.set_params(kernel="linear", **settings).fit(X)
            assert d.n_copies_ == np.ceil(n_copies - 1e-9)
    for sampler in (ManyStepRLS, BLESS):  # the first level has rho = 2, the others 13 / 9
        d = sampler(kernel="linear", ridge=ridge, epsilon=0.1, random_state=2).fit(X)
        assert d.n_copies_ == np.ceil(2 * np.log(n) / 0.1**2)


def test_squeak_at_its_theory_budget_is_accurate_and_small():
    X = np.random.default_rng(83_217).normal(size=(2000, 1)) * 1e-3
    d = SQUEAK(ridge=18_000.0, budget="theory", random_state=31).fit(X)
    d_eff = 2000 / 20_000  # all points are almost one and the same
    assert d.n_copies_ > 3000
    assert len(d.indices_) <= min(3 * d.n_copies_ * d_eff, 600)
    assert d.accuracy(X) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "settings"),
    [(ExactRLS, {}), (KORS, {}), (SQUEAK, {}), (SQUEAK, {"tree": "balanced", "batch_size": 40})],
)
def test_the_error_falls_with_the_root_of_the_copies(sampler, settings):
    K = gaussian_matrix(clusters(160))
    median = []
    for n_copies in (20, 320):
        errors = []
        for run in range(15):
            d = sampler(kernel="precomputed", n_copies=n_copies, random_state=7 * run + 3)
            errors.append(d.set_params(**settings).fit(K).accuracy(K))
        median.append(np.median(errors))
    assert 2.5 < median[0] / median[1] < 6.5  # 4 in the limit


@pytest.mark.parametrize("n_copies", [1, 6])
def test_sizes_stay_within_their_bounds(n_copies):
    X = clusters(400)
    settings = {"kernel_params": PARAMS, "ridge": 2.0}
    d_eff = effective_dimension(X, **settings)
    d_onl = online_effective_dimension(X, **settings)
    bounds = [
        (ExactRLS(n_copies=n_copies), 3 * n_copies * d_eff),
        (SQUEAK(n_copies=n_copies), 3 * n_copies * d_eff),
        (SQUEAK(n_copies=n_copies, tree="balanced"), 3 * n_copies * d_eff),
        (KORS(n_copies=n_copies), 3 * n_copies * d_onl),
        (KORS(n_copies=n_copies, form="paper"), 3 * 3 * n_copies * d_onl),
    ]
    for d, bound in bounds:
        assert len(d.set_params(random_state=19, **settings).fit(X).indices_) <= bound


@pytest.mark.parametrize("sampler", ALL)
def test_a_point_that_is_alone_is_found_by_scores_and_lost_by_uniform_sampling(sampler):
    X = np.zeros((400, 2))
    X[137] = 8.0
    size = {"n_copies": 8} if sampler is KORS else {"n_landmarks": 12}
    found = 0
    for seed in range(20):
        d = sampler(ridge=0.1, random_state=1_000 + seed, **size).fit(X)
        found += 137 in d.indices_
        if sampler is UniformDictionary and 137 not in d.indices_:
            assert d.accuracy_range(X)[1] == pytest.approx(1 / 1.1)
    assert found < 6 if sampler is UniformDictionary else found >= 18


def test_accuracy_is_the_references():
    X = clusters(150)
    d = ManyStepRLS(kernel_params=PARAMS, ridge=0.5, n_copies=20, random_state=2).fit(X)
    weight = np.zeros(150)
    weight[d.indices_] = d.weights_
    low, high = reference.dictionary_range(gaussian_matrix(X), weight, 0.5)
    assert d.accuracy(X) == pytest.approx(max(-low, high), abs=1e-3)
    with pytest.raises(InputError, match="150"):
        d.accuracy(X[:100])


def test_a_kernel_matrix_does_as_well_as_the_points():
    X = clusters(150)
    for sampler in ALL:
        points = sampler(kernel_params=PARAMS, n_copies=4, random_state=2).fit(X)
        matrix = sampler(kernel="precomputed", n_copies=4, random_state=2)
        matrix.fit(gaussian_matrix(X))
        np.testing.assert_array_equal(points.indices_, matrix.indices_)


def test_a_kernel_of_zeros_is_no_accident():
    for sampler in ALL:
        d = sampler(kernel="linear", n_copies=4, random_state=3).fit(np.zeros((20, 2)))
        assert np.all(np.isfinite(d.weights_))


@pytest.mark.parametrize(
    ("sampler", "settings", "message"),
    [
        (ExactRLS, {"epsilon": 1.0}, "epsilon"),
        (ExactRLS, {"delta": 0.0}, "delta"),
        (ExactRLS, {"budget": "pratical"}, "budget"),
        (ExactRLS, {"n_landmarks": 0}, "n_landmarks"),
        (ExactRLS, {"n_landmarks": 5, "n_copies": 5}, "not both"),
        (ExactRLS, {"n_copies": 2.5}, "n_copies"),
        (ExactRLS, {"ridge": "auto"}, "needs n_landmarks"),
        (ExactRLS, {"ridge": -1.0}, "ridge"),
        (ExactRLS, {"scheme": "poisson"}, "scheme"),
        (KORS, {"form": "003"}, "form"),
        (KORS, {"ridge": "auto"}, "needs n_landmarks"),
        (RPCholesky, {}, "give n_landmarks"),
        (RPCholesky, {"n_landmarks": 2, "block_size": 0}, "block_size"),
        (KORS, {"horizon": 0}, "horizon"),
        (SQUEAK, {"tree": "oak"}, "tree"),
        (SQUEAK, {"batch_size": 0}, "batch_size"),
    ],
)
def test_bad_settings_are_named(sampler, settings, message):
    with pytest.raises(InputError, match=message):
        sampler(**settings).fit(np.eye(3))
