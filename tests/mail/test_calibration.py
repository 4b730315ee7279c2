"""Temperature and thresholds: closed forms, and what they promise about mails that are left out."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from graphsqueak import InputError
from graphsqueak.mail import (
    choose_threshold,
    expected_rates,
    fit_temperature,
    probability_of_spam,
)


def drawn_scores(n, temperature, seed):
    """Scores, and labels drawn with the probability that the scores have at this temperature."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=2 * temperature, size=n)
    return scores, rng.random(n) < expit(scores / temperature)


@pytest.mark.parametrize("temperature", [1e-3, 0.2, 50.0])
def test_the_temperature_of_drawn_labels_is_found(temperature):
    """Fisher's information on log T is n E[(s / T)^2 p (1 - p)], about 0.37 n for such scores."""
    scores, is_spam = drawn_scores(20_000, temperature, 33_871)
    deviation = 1 / np.sqrt(0.37 * scores.size)
    assert abs(np.log(fit_temperature(scores, is_spam) / temperature)) < 6 * deviation


def test_the_unit_of_scores_does_not_matter():
    scores, is_spam = drawn_scores(50, 0.2, 90_551)
    one = fit_temperature(scores, is_spam)
    assert fit_temperature(1e4 * scores, is_spam) == pytest.approx(1e4 * one, rel=1e-6)


def test_separated_scores_are_not_called_certain():
    """Twenty scores of 1 and -1 have the targets 11/12 and 1/12."""
    is_spam = np.repeat([True, False], 10)
    scores = np.where(is_spam, 1.0, -1.0)
    probability = probability_of_spam(scores, fit_temperature(scores, is_spam))
    np.testing.assert_allclose(probability, np.where(is_spam, 11 / 12, 1 / 12), atol=1e-6)


def test_scores_on_the_wrong_side_become_undecided():
    is_spam = np.repeat([True, False], 10)
    scores = np.where(is_spam, -1.0, 1.0)
    probability = probability_of_spam(scores, fit_temperature(scores, is_spam))
    np.testing.assert_allclose(probability, 0.5, atol=1e-3)


@pytest.mark.parametrize("scores", [[], [0.0, 0.0]])
def test_without_scores_probabilities_near_a_half_are_the_scores(scores):
    temperature = fit_temperature(scores, np.zeros(len(scores), dtype=bool))
    assert probability_of_spam(0.01, temperature) == pytest.approx(0.51, abs=1e-5)


@pytest.mark.parametrize(("n_ham", "rate"), [(199, 0.005), (100, 0.05), (20, 0.3)])
def test_a_threshold_flags_the_fraction_of_ham_that_it_promises(n_ham, rate):
    """Of uniform scores, the fraction above the k-th largest is Beta(k, n + 1 - k).

    They are uniform between 0.5 and 1, so that the threshold is one of them.
    """
    rng = np.random.default_rng(77_120)
    rank = int(rate * (n_ham + 1) + 1e-9)
    values = []
    for _ in range(400):
        chosen = choose_threshold(1 - rng.random(n_ham) / 2, np.zeros(n_ham, dtype=bool), rate)
        assert chosen.is_supported
        values.append(2 * (1 - chosen.value))
    deviation = beta(rank, n_ham + 1 - rank).std() / np.sqrt(400)
    assert abs(np.mean(values) - rank / (n_ham + 1)) < 6 * deviation
    assert rank / (n_ham + 1) <= rate + 1e-12


def test_too_few_ham_are_reported():
    scores = np.linspace(0, 0.9, 198)
    chosen = choose_threshold(scores, np.zeros(198, dtype=bool), 0.005)
    assert chosen == (0.9, False, 198, 199)
    assert choose_threshold(scores / 2, np.zeros(198, dtype=bool), 0.5)[:2] == (0.5, True)
    nothing = choose_threshold([0.8], [True], 0.005)
    assert nothing == (1.0, False, 0, 199)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, np.nan])
def test_a_rate_is_a_fraction(rate):
    with pytest.raises(InputError, match="max_false_positives"):
        choose_threshold([0.1], [False], rate)


def test_rates_have_exact_intervals():
    rates = expected_rates([0.2, 0.4, 0.6, 0.8], [False, False, True, False], 0.5)
    assert rates.threshold == 0.5
    assert rates.flagged_ham[:3] == (1, 3, 1 / 3)
    assert rates.flagged_ham.low == pytest.approx(beta(1, 3).ppf(0.025))
    assert rates.flagged_ham.high == pytest.approx(beta(2, 2).ppf(0.975))
    assert expected_rates([0.6], [True], 0.5).flagged_ham == (0, 0, None, 0.0, 1.0)
    assert expected_rates([0.5], [True], 0.5).caught_spam.n_flagged == 0
