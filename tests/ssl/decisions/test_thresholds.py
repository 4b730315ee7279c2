"""Prior weight and threshold by counted mistakes, weights of labels, and ties."""

import numpy as np
import pytest

from graphsqueak.ssl.decisions.thresholds import least_error_threshold, select_prior_weight


def test_a_label_of_weight_two_counts_as_two_labels_for_the_threshold():
    """All weights are two, so that the spread of the scores is that of the repeated ones."""
    rng = np.random.default_rng(41_079)
    code = np.repeat([0, 1], [14, 6])
    scores = rng.normal(size=(20, 2)) + np.eye(2)[code]
    prior = np.bincount(code) / 20 - 0.5
    found = select_prior_weight(scores, code, prior, "auto", sample_weight=np.full(20, 2.0))
    twice = select_prior_weight(np.repeat(scores, 2, axis=0), np.repeat(code, 2), prior, "auto")
    np.testing.assert_allclose(found, twice)
    assert abs(select_prior_weight(scores, code, prior, "auto")[0] - found[0]) > 0.01


def test_the_threshold_is_half_of_the_mean_of_those_with_the_fewest_mistakes():
    """By a fine grid of thresholds, with weights, and in any unit."""
    rng = np.random.default_rng(41_077)
    scores = rng.normal(size=500)
    for n_labels in (2, 5, 40):
        held_out = rng.normal(size=n_labels)
        is_second = held_out + rng.normal(size=n_labels) > 0
        weight = rng.integers(1, 4, size=n_labels)
        grid = np.linspace(*np.quantile(scores, [0.02, 0.98]), 100_001)
        is_wrong = (held_out[:, None] > grid) != is_second[:, None]
        mistakes = weight @ is_wrong
        expected = grid[mistakes == mistakes.min()].mean() / 2
        found = least_error_threshold(scores, held_out, is_second, sample_weight=weight)
        assert found == pytest.approx(expected, abs=1e-4)
        mirrored = least_error_threshold(-scores, -held_out, ~is_second, sample_weight=weight)
        assert mirrored == pytest.approx(-found)
        scaled = least_error_threshold(scores / 7, held_out / 7, is_second, sample_weight=weight)
        assert scaled == pytest.approx(found / 7)


def test_equal_scores_leave_the_threshold_at_zero():
    assert (
        least_error_threshold(np.zeros(50), np.zeros(4), np.array([True, True, False, False]))
        == 0.0
    )
