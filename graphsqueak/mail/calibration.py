"""Probabilities of spam by one temperature [GPSW17], and what to expect of a threshold on them.

    P(spam | score s) = 1 / (1 + exp(-s / T))

A score of 0 stays at 0.5 and no two mails change places, so that calibration changes no decision.
T has the least log loss over labeled mails that are scored without their own label. Their targets
are smoothed [P99],

    (n_spam + 1) / (n_spam + 2) for spam,   1 / (n_ham + 2) for ham,

as otherwise T would be 0 whenever a few labels are separated without a mistake.

*Thresholds.* If the next ham is drawn like the n labeled ones, its score exceeds the k-th largest
of theirs with probability k / (n + 1) at most. A threshold that may flag a fraction r of the ham is
therefore the k-th largest score for k = floor(r (n + 1)), and needs n >= 1 / r - 1 labeled ham. It
is at least 0.5: however much may be flagged, mail that is more likely ham is not.

References
----------
[GPSW17] Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017.
[P99]    Platt. Probabilistic outputs for support vector machines. Advances in Large Margin
         Classifiers, 1999.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from graphsqueak.validation import check_real

# Temperature without labels to fit it by. 1 / (1 + exp(-s / T)) then has the slope 1 at s = 0, so
# that scores near 0 are s + 1/2, the mean label that Stable-HFS estimates.
DEFAULT_TEMPERATURE = 0.25
# Range of temperatures, in standard deviations of the left-out scores. The smoothed targets of
# 2 to 5,000 labels have their optimum inside if spam scores higher than ham; if not, the largest
# makes all scores about 0.5. Halved or doubled: no other temperature on the shipped mails.
TEMPERATURE_RANGE = (1e-3, 1e3)
# Probability of the intervals of the fractions of caught spam and flagged ham, as is customary.
CONFIDENCE = 0.95


class LabeledFraction(NamedTuple):
    """Fraction of the labeled mails of one kind that are flagged, each scored without its label.

    Attributes
    ----------
    n_flagged, n_labeled : int
    fraction : float or None
        None without labeled mails.
    low, high : float
        Exact (Clopper-Pearson) 95 % confidence interval; 0 and 1 without labeled mails.
    """

    n_flagged: int
    n_labeled: int
    fraction: float | None
    low: float
    high: float


class ExpectedRates(NamedTuple):
    """What a threshold is expected to do on further mail.

    Attributes
    ----------
    threshold : float
        Mails with a larger score are flagged as spam.
    caught_spam, flagged_ham : LabeledFraction
    """

    threshold: float
    caught_spam: LabeledFraction
    flagged_ham: LabeledFraction


class Threshold(NamedTuple):
    """Threshold for a largest fraction of flagged ham.

    Attributes
    ----------
    value : float
    is_supported : bool
        Whether there are enough labeled ham. If not, the threshold is the largest of their scores
        or 0.5, and 1 (nothing is flagged) if there are none.
    n_ham : int
        Number of labeled ham that the threshold rests on.
    n_ham_needed : int
        Smallest number of labeled ham that supports the fraction.
    """

    value: float
    is_supported: bool
    n_ham: int
    n_ham_needed: int


def fit_temperature(scores: ArrayLike, is_spam: ArrayLike) -> float:
    """Fit the temperature that turns scores into probabilities of spam.

    Parameters
    ----------
    scores : array of shape (k,)
        Scores of labeled mails without their own labels, positive for spam.
    is_spam : array of bool, shape (k,)

    Returns
    -------
    float

    Examples
    --------
    Three of four spam mails score 1, the others -1, and the same for ham. The targets are 5/6 and
    1/6, on average 2/3 on the right side, and log(2/3 / (1/3)) = log(2) is 1 / T:

    >>> scores = np.array([1, 1, 1, -1, -1, -1, -1, 1])
    >>> round(1 / fit_temperature(scores, np.repeat([True, False], 4)), 4), np.log(2).round(4)
    (0.6931, np.float64(0.6931))
    """
    return least_log_loss(scores, is_spam)[0]


def least_log_loss(scores, is_spam):
    """Return the temperature with the least log loss, and that loss.

    >>> least_log_loss([0.0, 0.0], [True, False])
    (0.25, np.float64(1.3862943611198906))
    """
    from scipy.optimize import minimize_scalar

    scores = np.asarray(scores, dtype=np.float64)
    is_spam = np.asarray(is_spam, dtype=bool)
    deviation = math.sqrt(np.mean(scores**2)) if scores.size else 0.0
    if deviation == 0:
        return DEFAULT_TEMPERATURE, scores.size * np.log(2)
    n_spam = np.count_nonzero(is_spam)
    n_ham = is_spam.size - n_spam
    target = np.where(is_spam, (n_spam + 1) / (n_spam + 2), 1 / (n_ham + 2))

    def log_loss(log_temperature):
        logit = scores / (deviation * math.exp(log_temperature))
        return np.sum(np.logaddexp(0.0, logit) - target * logit)

    # The loss is convex in 1 / T, and thus has one minimum in log T.
    low, high = np.log(TEMPERATURE_RANGE)
    best = minimize_scalar(log_loss, bounds=(low, high), method="bounded", options={"xatol": 1e-9})
    return deviation * math.exp(best.x), best.fun


def probability_of_spam(scores: ArrayLike, temperature: float) -> np.ndarray:
    """Return the probabilities that scores stand for.

    >>> probability_of_spam([-0.5, 0.0, 0.5], temperature=0.5).round(3)
    array([0.269, 0.5  , 0.731])
    """
    return expit(np.asarray(scores, dtype=np.float64) / temperature)


def choose_threshold(
    scores: ArrayLike, is_spam: ArrayLike, max_false_positives: float
) -> Threshold:
    """Return the smallest threshold, at least 0.5, expected to flag at most a fraction of ham.

    Parameters
    ----------
    scores : array of shape (k,)
        Probabilities of spam of labeled mails, without their own labels.
    is_spam : array of bool, shape (k,)
    max_false_positives : float
        Fraction of the ham that may be flagged, between 0 and 1.

    Returns
    -------
    Threshold

    Examples
    --------
    The next ham is equally likely to fall between, below or above the four labeled ones: it
    exceeds 0.6 with probability 2/5.

    >>> choose_threshold([0.1, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 0, 1], 0.4)
    Threshold(value=0.6, is_supported=True, n_ham=4, n_ham_needed=2)
    >>> choose_threshold([0.1, 0.2, 0.6, 0.7, 0.9], [0, 0, 0, 0, 1], 0.1)
    Threshold(value=0.7, is_supported=False, n_ham=4, n_ham_needed=9)
    """
    rate = check_real("max_false_positives", max_false_positives, above=0.0, below=1.0)
    ham_scores = np.sort(np.asarray(scores)[~np.asarray(is_spam, dtype=bool)])[::-1]
    n_ham = ham_scores.size
    # 0.005 of 200 is 1, though not in floating point.
    rank = math.floor(rate * (n_ham + 1) + 1e-9)
    return Threshold(
        value=max(0.5, float(ham_scores[max(rank, 1) - 1])) if n_ham else 1.0,
        is_supported=rank >= 1,
        n_ham=n_ham,
        n_ham_needed=math.ceil(1 / rate - 1e-9) - 1,
    )


def expected_rates(scores: ArrayLike, is_spam: ArrayLike, threshold: float) -> ExpectedRates:
    """Return the fractions of labeled spam and ham that a threshold flags.

    Parameters
    ----------
    scores : array of shape (k,)
        Probabilities of spam of labeled mails, without their own labels.
    is_spam : array of bool, shape (k,)
    threshold : float
        Larger scores are flagged.

    Returns
    -------
    ExpectedRates

    Examples
    --------
    >>> rates = expected_rates([0.1, 0.2, 0.8, 0.9], [0, 0, 0, 1], 0.5)
    >>> rates.flagged_ham.n_flagged, rates.flagged_ham.n_labeled, rates.caught_spam.fraction
    (1, 3, 1.0)
    """
    is_flagged = np.asarray(scores) > threshold
    is_spam = np.asarray(is_spam, dtype=bool)
    return ExpectedRates(
        threshold=float(threshold),
        caught_spam=_labeled_fraction(is_flagged[is_spam]),
        flagged_ham=_labeled_fraction(is_flagged[~is_spam]),
    )


def _labeled_fraction(is_flagged):
    from scipy.stats import binomtest

    n_labeled = is_flagged.size
    n_flagged = int(np.count_nonzero(is_flagged))
    if n_labeled == 0:
        return LabeledFraction(n_flagged=0, n_labeled=0, fraction=None, low=0.0, high=1.0)
    interval = binomtest(n_flagged, n_labeled).proportion_ci(CONFIDENCE)
    return LabeledFraction(
        n_flagged=n_flagged,
        n_labeled=n_labeled,
        fraction=n_flagged / n_labeled,
        low=float(interval.low),
        high=float(interval.high),
    )
