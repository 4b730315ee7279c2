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
    *((sampler, {"n_components": 5}) for sampler in (*BATCH, SQUEAK, RPCholesky)),
    (RPCholesky, {"n_components": 5, "block_size": 1}),
    (SQUEAK, {"n_components": 2, "batch_size": 2}),
    (KORS, {"n_components": 2}),
    (KORS, {"n_components": 2, "ridge": "auto"}),
    (KORS, {"n_components": 2, "n_copies": 1, "form": "paper"}),
    (SQUEAK, {"n_components": 5, "ridge": "auto"}),
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
    d = sampler(kernel_params=PARAMS, ridge=ridge, n_components=40, random_state=5).fit(X)
    assert len(d.indices_) == len(set(d.indices_)) == 40
    np.testing.assert_array_equal(d.components_, X[d.indices_])
    assert d.ridge_ > 0
    everything = sampler(ridge=ridge, n_components=40, random_state=5).fit(X[:10])
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
    size = {"n_copies": 8} if sampler is KORS else {"n_components": 12}
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
        (ExactRLS, {"n_components": 0}, "n_components"),
        (ExactRLS, {"n_components": 5, "n_copies": 5}, "not both"),
        (ExactRLS, {"n_copies": 2.5}, "n_copies"),
        (ExactRLS, {"ridge": "auto"}, "needs n_components"),
        (ExactRLS, {"ridge": -1.0}, "ridge"),
        (ExactRLS, {"scheme": "poisson"}, "scheme"),
        (KORS, {"form": "003"}, "form"),
        (KORS, {"ridge": "auto"}, "needs n_components"),
        (RPCholesky, {}, "give n_components"),
        (RPCholesky, {"n_components": 2, "block_size": 0}, "block_size"),
        (KORS, {"horizon": 0}, "horizon"),
        (SQUEAK, {"tree": "oak"}, "tree"),
        (SQUEAK, {"batch_size": 0}, "batch_size"),
    ],
)
def test_bad_settings_are_named(sampler, settings, message):
    with pytest.raises(InputError, match=message):
        sampler(**settings).fit(np.eye(3))
