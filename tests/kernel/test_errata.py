"""Every entry of docs/research/errata.md on kernels: the printed formula fails on an example, ours
holds."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import poisson

from graphsqueak.kernel import (
    ManyStepRLS,
    NystromRidge,
    effective_dimension,
    estimate_leverage,
    leverage_scores,
    online_effective_dimension,
    ridge_rate,
    ridge_risk,
)
from graphsqueak.kernel.kernels import bind
from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.dictionary import kors_copies
from tests import reference
from tests.kernel.problems import clusters, gaussian_matrix

PAGE = Path(__file__).parents[2] / "docs" / "research" / "errata.md"
ONE = np.ones((1, 1))


def scalar_estimate(weight, ridge, **settings):
    """The estimate for a single point of norm 1 with this weight."""
    kernel, points = bind("precomputed", None, ONE)
    weights = np.array([weight])
    return float(estimate_leverage(kernel, points, points, weights, ridge=ridge, **settings)[0])


def test_every_entry_of_the_page_has_its_test_and_every_test_its_entry():
    sections = PAGE.read_text().split("## Online learning")[0]  # those have tests of their own
    named = set(re.findall(r"`(test_\w+)`", sections))
    here = {name for name in globals() if name.startswith("test_")}
    assert named == here - {"test_every_entry_of_the_page_has_its_test_and_every_test_its_entry"}


def test_scores_need_the_square_of_the_eigenvectors():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    lam, U = np.linalg.eigh(K)
    truth = reference.kernel_leverage(K, 1.0)
    assert not np.allclose(U @ (lam / (lam + 1)), truth)
    np.testing.assert_allclose(U**2 @ (lam / (lam + 1)), truth)
    np.testing.assert_allclose(leverage_scores(K, kernel="precomputed"), truth)


def test_a_new_point_can_more_than_halve_a_score():
    seen = np.vstack([np.tile([1.0, 0.0], (1000, 1)), [[math.cos(0.2), math.sin(0.2)]]])
    both = np.vstack([seen, [[0.0, 1.0]]])  # all of norm 1, as the lemma has it
    before, after = (leverage_scores(X, kernel="linear", ridge=1.0)[1000] for X in (seen, both))
    assert after / before == pytest.approx(0.522, abs=5e-4)
    assert 1 / (1 + before) == pytest.approx(0.963, abs=5e-4)
    assert after >= before * 1 / (1 + 1)
    X = np.array([[0.03], [3.0]])
    before, after = (leverage_scores(X[:t], kernel="linear", ridge=1.0)[0] for t in (1, 2))
    assert after / before == pytest.approx(0.1, abs=5e-4)
    assert after >= before * 1 / (1 + 9)


def test_the_online_dimension_can_exceed_the_printed_bound():
    same, g = np.ones((200, 1)), 100.0
    d_eff = effective_dimension(same, kernel="linear", ridge=g)
    d_onl = online_effective_dimension(same, kernel="linear", ridge=g)
    assert (d_onl, 2 * d_eff * math.log(200 / g)) == pytest.approx((1.10, 0.92), abs=5e-3)
    assert d_onl <= 2 * d_eff * math.log(2 * 200 / g)


def test_a_union_of_accurate_dictionaries_is_accurate_for_twice_the_ridge_only():
    empty = np.zeros(1)
    assert reference.dictionary_range(ONE, empty, 1.0)[1] == pytest.approx(1 / 2)
    twins, nothing = np.ones((2, 2)), np.zeros(2)
    assert reference.dictionary_range(twins, nothing, 1.0)[1] == pytest.approx(2 / 3)
    assert reference.dictionary_range(twins, nothing, 2.0)[1] == pytest.approx(1 / 2)
    with_exact = reference.dictionary_range(twins, np.array([0.0, 1.0]), 1.0)[1]
    assert with_exact <= 1 / 2


def test_the_estimator_of_a_merge_needs_the_larger_ridge_in_its_prefactor():
    e, g = 0.5, 0.1
    weight = 1 - e * (1 + g)  # (e, g)-accurate for one point of norm 1, just so
    truth = 1 / (1 + g)
    ours = scalar_estimate(weight, g, epsilon=e, n_inexact=2)
    printed = ours * (1 + e)  # (1 - e) / g instead of (1 - e) / ((1 + e) g)
    assert (printed, truth) == pytest.approx((1.25, 0.91), abs=5e-3)
    assert truth / rho(e, n_inexact=2) <= ours <= truth


def test_the_factor_of_a_merge_counts_every_inexact_part_twice():
    e, g = 0.3, 0.5
    heavy = 1 + e * (1 + g)
    ratio = (1 / (1 + g)) / scalar_estimate(heavy, g, epsilon=e)
    assert ratio > (1 + 2 * (1 - 1) * e) / (1 - e)  # printed, for k = 1
    assert math.isclose(ratio, rho(e))  # and ours is attained


class Levels(ManyStepRLS):
    """Many-Step that notes the probabilities and the weights of every level."""

    def _sample(self, prob, n_copies, rng):
        rows, weight = super()._sample(prob, n_copies, rng)
        self.levels = [*getattr(self, "levels", []), (prob, rows, weight)]
        return rows, weight


def test_weights_of_many_step_divide_by_the_probability_of_the_draw():
    X, n_runs = np.ones((100, 1)), 200
    ours, printed = np.zeros((n_runs, 2)), np.zeros(n_runs)
    for run in range(n_runs):
        d = Levels(kernel="linear", ridge=50.0, n_copies=40, random_state=run + 5_117).fit(X)
        (first, rows, weight), (second, _, last) = d.levels  # ridges 100 and 50
        np.testing.assert_array_equal(last, d.weights_)
        ours[run] = weight.sum(), last.sum()
        printed[run] = np.sum(weight * first[rows] / second[rows])
    error = 6 * ours.std(axis=0) / math.sqrt(n_runs)
    assert np.all(np.abs(ours.mean(axis=0) - 100) <= error)
    assert np.all(error < 15)
    assert printed.mean() > 200


def test_recursive_sampling_needs_over_estimates():
    X = clusters(400)
    K = gaussian_matrix(X)
    kernel, points = bind("precomputed", None, K)
    half = np.flatnonzero(np.random.default_rng(77_215).random(400) < 0.5)
    truth = reference.kernel_leverage(K, 1.0)
    over, under = (
        estimate_leverage(
            kernel, points, points[half], np.ones(half.size), ridge=1.0, epsilon=0.5, side=side
        )
        for side in ("over", "under")
    )
    assert np.all(over >= truth)
    assert np.mean(under >= truth) < 0.5


def chernoff(d, g):
    return math.exp(-d * (g * math.log(g) - g + 1))


def test_the_number_of_landmarks_has_a_chernoff_tail_not_a_faster_one():
    def printed(d, g):
        return math.exp(-d) * math.exp(-g * (math.log(g) - 1) - 1)

    tail = poisson.sf(14, 10)  # at least 15 = 1.5 * 10, in the limit of many small probabilities
    assert (printed(10, 1.5), tail) == pytest.approx((4.1e-5, 0.083), rel=0.01)
    assert tail <= chernoff(10, 1.5) == pytest.approx(0.34, abs=5e-3)
    assert (printed(3, 3), poisson.sf(8, 3)) == pytest.approx((0.0136, 0.0038), rel=0.01)


def test_three_times_the_mean_is_rarer_than_the_chernoff_bound_only():
    d, tail = 3, poisson.sf(8, 3)
    first = math.exp(-3 * d * (3 * d - (math.log(3 * d) + 1)))
    assert first == pytest.approx(2e-23, rel=0.2)
    assert (tail, math.exp(-2 * d)) == pytest.approx((0.0038, 0.0025), abs=5e-5)
    assert tail <= chernoff(d, 3) == pytest.approx(math.exp(-1.296 * d), rel=1e-2)


def test_budgets_of_kors_must_cover_every_step():
    e, delta, T = 0.5, 0.1, 1000

    def failure(copies, factor):
        """The union bound of the proof: Freedman at every step, variance rho / copies."""
        t = np.arange(1, T + 1)
        return np.sum(2 * t * np.exp(-(e**2) * copies / (factor * (2 + 2 * e / 3))))

    thesis, paper = 4 * math.log(2 * T / delta) / e**2, 3 * math.log(T / delta) / e**2
    assert failure(thesis, rho(e)) > delta
    assert failure(paper, 1.0) > delta
    for factor in (rho(e), 1.0):
        assert failure(kors_copies(e, delta=delta, n_points=T, rho=factor), factor) <= delta


def test_ridge_regression_penalizes_the_norm_in_the_kernels_space():
    K, y, lam = 2.0, 1.0, 1.0
    w = y / (K + lam)
    grid = np.linspace(0, 1, 10_001)
    ours = (y - K * grid) ** 2 + lam * K * grid**2
    printed = (y - K * grid) ** 2 + lam * grid**2
    assert abs(grid[np.argmin(ours)] - w) < 1e-3
    assert abs(grid[np.argmin(printed)] - w) > 0.05


def test_regression_weights_need_the_square_of_the_kernel():
    K, g, lam, y = 2.0, 1.0, 1.0, 1.0
    C, V = K, K + g
    exact = y / (K**2 / V + lam)
    assert math.isclose((y - C * C * y / (C * C + lam * V)) / lam, exact)
    printed = (y - C * C * y / (K + lam * V)) / lam
    assert (exact, printed) == pytest.approx((3 / 7, 1 / 5))
    model = NystromRidge(
        alpha=lam, kernel="precomputed", landmarks=[0], ridge=g, regularized=True
    ).fit(np.array([[K]]), [y])
    assert math.isclose(model.predict([[K]])[0], K**2 / V * exact)


def risk(smoother, signal=1.0):
    """Of one noiseless observation."""
    return ((1 - smoother) * signal) ** 2


def test_predictions_must_use_the_same_approximation_as_the_fit():
    K, approximation, lam, g = 1.0, 0.0, 0.1, 1.0  # the point was not drawn
    e = K / (K + g)
    bound = (1 + e * g / (1 - e) / lam) ** 2 * risk(K / (K + lam))
    assert risk(K / (approximation + lam)) > bound
    assert risk(approximation / (approximation + lam)) <= bound + 1e-12
    X = np.eye(2)  # two points at right angles, of which the second was not drawn
    model = NystromRidge(alpha=lam, kernel="linear", landmarks=[0]).fit(X, [1.0, 1.0])
    assert model.predict(X) == pytest.approx([1 / (1 + lam), approximation / lam])


def test_the_risk_of_the_regularized_form_has_the_larger_factor():
    K, g, lam, e = 1.0, 1.0, 0.5, 0.0  # an exact dictionary
    approximation = K**2 / (K + g)
    achieved = risk(approximation / (approximation + lam))
    assert achieved > (1 + e * g / (1 - e) / lam) ** 2 * risk(K / (K + lam))
    assert achieved <= (1 + g / (1 - e) / lam) ** 2 * risk(K / (K + lam))
    assert achieved <= ridge_risk(e, ridge=g, alpha=lam, regularized=True).value * risk(
        K / (K + lam)
    )


def test_the_exponents_of_regression_are_the_other_ones():
    """The least bias and variance for eigenvalues i^-2 and targets of norm 1, over the ridge."""
    q, eigenvalues = 2.0, np.arange(1.0, 200_000) ** -2.0
    ridges = np.geomspace(1e-6, 1, 400)
    dimension = np.array([np.sum(eigenvalues / (eigenvalues + g)) for g in ridges])

    def excess(n):
        bias = [np.max(eigenvalues * (g / (eigenvalues + g)) ** 2) for g in ridges]
        return bias + dimension / n  # noise 1; the squares of the shares are of the same order

    small, large = excess(10**3), excess(10**6)
    slope = math.log(large.min() / small.min()) / math.log(10**3)
    assert slope == pytest.approx(-q / (1 + q), abs=0.03)
    assert abs(slope + 1 / (1 + q)) > 0.3  # printed
    for n, curve in ((10**3, small), (10**6, large)):
        rate = ridge_rate(n, decay=q)
        near = np.argmin(np.abs(ridges - rate.alpha / n))
        assert curve[near] < 2 * curve.min()
        assert 0.9 * rate.dimension < dimension[near] <= 1.01 * rate.dimension
