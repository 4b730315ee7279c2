"""Test sampling: expectations are constant, probabilities never increase, sizes are exact."""

import numpy as np
import pytest
import scipy.optimize

from graphsqueak.sampling import (
    Sample,
    expand,
    find_scale,
    importance_weights,
    inclusion_probabilities,
    local_pivotal_sample,
    merge,
    shrink,
    shrink_to_size,
    subsample_weights,
    systematic_sample,
)


@pytest.mark.slow
def test_copies_are_unbiased_under_any_scores():
    rng = np.random.default_rng(660_341)
    n_copies, n_runs, total = 7, 20_000, np.zeros(4)
    square = np.zeros(4)
    for _ in range(n_runs):
        sample = expand(
            Sample(np.zeros(0, int), np.ones(0), np.zeros(0, int)),
            np.arange(4),
            n_copies=n_copies,
        )
        for _ in range(3):  # scores that depend on what happened before
            score = rng.uniform(0.05, 1.5, sample.index.size) * (1 + sample.copies) / n_copies
            kept = shrink(sample, score, rng=rng)
            assert np.all(np.isin(kept.index, sample.index))
            old = sample.prob[np.searchsorted(sample.index, kept.index)]
            assert np.all(kept.prob <= old)
            sample = kept
        final = np.zeros(4)
        final[sample.index] = importance_weights(sample, n_copies=n_copies)
        total += final
        square += final**2
    mean = total / n_runs
    sigma = np.sqrt((square / n_runs - mean**2) / n_runs)
    assert np.all(np.abs(mean - 1) < 6 * sigma)


def test_subsampled_weights_are_unbiased_and_kept_weights_never_decrease():
    rng = np.random.default_rng(77_120_983)
    weight, threshold = np.array([0.3, 1.0, 5.0]), np.array([1.0, 4.0, 2.0])
    runs = np.array([subsample_weights(weight, threshold, rng=rng) for _ in range(20_000)])
    sigma = runs.std(axis=0) / np.sqrt(len(runs))
    assert np.all(np.abs(runs.mean(axis=0) - weight) <= 6 * sigma)
    assert set(np.unique(runs[:, 0])) == {0.0, 1.0}
    assert np.all(runs[:, 2] == 5.0)


def test_merging_concatenates_disjoint_samples():
    one = Sample(np.array([1]), np.array([0.5]), np.array([2]))
    two = Sample(np.array([7]), np.array([0.25]), np.array([3]))
    assert merge(one, two).index.tolist() == [1, 7]


@pytest.mark.parametrize("budget", [0.5, 3.0, 59.9])
def test_the_scale_solves_its_equation(budget):
    score = np.random.default_rng(73_302_611).pareto(0.7, size=60)
    found = find_scale(score, budget)

    def excess(log_scale):
        return np.minimum(np.exp(log_scale) * score, 1).sum() - budget

    expected = np.exp(scipy.optimize.brentq(excess, -50, 50, xtol=1e-13))
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_scale_is_infinite_if_everything_fits():
    assert find_scale(np.ones(4), 4) == np.inf
    assert find_scale(np.zeros(4), 2) == 0.0
    assert find_scale(np.array([2.0, 3.0, 0.0]), 2) == np.inf


def test_inclusion_probabilities_are_capped_proportional_and_add_up():
    rng = np.random.default_rng(18_220_117)
    for size in (1, 7, 59):
        score = rng.pareto(0.7, size=60)
        chance = inclusion_probabilities(score, size)
        np.testing.assert_allclose(chance.sum(), size)
        below = chance < 1
        assert np.ptp(chance[below] / score[below]) < 1e-9 * (chance[below] / score[below]).max()
        assert np.all(score[~below] >= score[below].max(initial=0))


def test_systematic_samples_have_given_probabilities_and_size():
    rng = np.random.default_rng(55_410_983)
    prob = inclusion_probabilities(rng.uniform(size=12) ** 3, 5)
    counts, n_runs = np.zeros(12), 20_000
    for _ in range(n_runs):
        chosen = systematic_sample(prob, rng=rng)
        assert chosen.size == 5
        counts[chosen] += 1
    sigma = np.sqrt(prob * (1 - prob) / n_runs)
    assert np.all(np.abs(counts / n_runs - prob) <= 6 * sigma + 1e-9)


def test_shrinking_to_a_size_twice_is_unbiased():
    rng = np.random.default_rng(39_116_204)
    score, total, square, n_runs = rng.uniform(size=20) ** 2, 0.0, 0.0, 20_000
    start = Sample(np.arange(20), np.ones(20), np.ones(20, int))
    for _ in range(n_runs):
        some = shrink_to_size(start, score, 12, rng=rng)
        few = shrink_to_size(some, score[some.index] ** 0.5, 6, rng=rng)
        assert few.index.size == 6
        final = np.zeros(20)
        final[few.index] = importance_weights(few, n_copies=1)
        total, square = total + final, square + final**2
    mean = total / n_runs
    sigma = np.sqrt((square / n_runs - mean**2) / n_runs)
    assert np.all(np.abs(mean - 1) < 6 * sigma)


def test_pivotal_samples_have_given_probabilities_and_size_and_are_spread_out():
    rng = np.random.default_rng(61_304_771)
    position = np.sort(rng.uniform(size=30))
    similarity = -np.abs(position[:, None] - position)
    prob = inclusion_probabilities(rng.uniform(0.2, 1, size=30), 10)
    counts, spread, n_runs = np.zeros(30), [], 10_000
    for _ in range(n_runs):
        chosen = local_pivotal_sample(prob, similarity, rng=rng)
        assert chosen.size == 10
        counts[chosen] += 1
        spread.append(np.count_nonzero(chosen < 15))
    sigma = np.sqrt(prob * (1 - prob) / n_runs)
    assert np.all(np.abs(counts / n_runs - prob) <= 6 * sigma + 1e-9)
    independent = np.sum((prob * (1 - prob))[:15])
    assert np.var(spread) < 0.3 * independent  # neighbors do not come together


def test_a_fractional_size_is_met_on_average():
    rng = np.random.default_rng(61_304_772)
    prob = np.array([0.5, 0.5, 0.25])
    sizes = [local_pivotal_sample(prob, np.eye(3), rng=rng).size for _ in range(20_000)]
    assert set(sizes) == {1, 2}
    assert abs(np.mean(sizes) - 1.25) < 6 * np.sqrt(0.25 * 0.75 / 20_000)
