"""Samplers that need all points in memory: the base class, Two-Step and Many-Step.

Every sampler ends with independent draws of q_i ~ Binomial(q, p_i) copies, with weights
q_i / (q p_i) of expectation 1. With scheme="bernoulli", a point is kept once, with probability
min(1, q p_i): a few more landmarks, and no variance where q p_i >= 1. With `n_landmarks`, a fixed
number is sampled with probabilities min(1, c p_i), and reweighted by their inverse. Samplers differ
in p_i:

* Two-Step: a first dictionary by p_i = k_ii / trace(K), then p_i = (1 - e) raw_i from it [AM15],
  [C17, Algorithm 4].
* Many-Step: ridges trace(K), trace(K) / 2, ..., g. The first dictionary is by
  p_i = k_ii / trace(K), and each one estimates the scores for the next ridge [C17, Algorithm 5].
  The printed weights divide by the probabilities of the next level, and the printed rho is below 2
  at the first level; both are corrected here.

The estimates from a dictionary with the landmarks I and the weights W = diag(s) are (`leverage`)

    raw_i = (k_ii - k_I(x_i)' (K_II + g W^-1)^-1 k_I(x_i)) / g.

Uniform and exact sampling are in `baselines`.

References
----------
[AM15] Alaoui, Mahoney. Fast randomized kernel ridge regression with statistical guarantees.
       NeurIPS 2015.
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
"""

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.kernel.leverage import auto_ridge, estimate_leverage, rho
from graphsqueak.kernel.samplers.dictionary import Dictionary
from graphsqueak.kernel.samplers.merging import Landmarks
from graphsqueak.sampling import (
    inclusion_probabilities,
    subsample_weights,
    systematic_sample,
)
from graphsqueak.validation import check_choice


@dataclass(kw_only=True, eq=False, repr=False)
class BatchDictionary(Dictionary):
    """Base of the samplers that need all points.

    A subclass implements `_draw(kernel, points, rng)`, which returns row numbers and weights and
    sets `n_copies_`.
    """

    scheme: Literal["binomial", "bernoulli"] = "binomial"

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Sample a dictionary of the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        self._check()
        check_choice("scheme", self.scheme, ("binomial", "bernoulli"))
        kernel, points = self._bind(X, reset=True)
        rng = np.random.default_rng(self.random_state)
        self.n_seen_ = len(points)
        self.ridge_ = self._find_ridge(kernel, points, rng)
        rows, weights = self._draw(kernel, points, rng)
        self._selected = Landmarks(rows, points[rows], weights)
        return self

    def _landmarks(self):
        return self._selected

    def _draw(self, kernel, points, rng):
        raise NotImplementedError

    def _find_ridge(self, kernel, points, rng):
        """Return the ridge, for "auto" the one that suits a uniform sample of the points."""
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        size = min(4 * self.n_landmarks, len(points))
        sample = points[rng.choice(len(points), size=size, replace=False)]
        # K of all points has about n / size times the eigenvalues of K of the sample.
        return auto_ridge(kernel(sample, sample) * (len(points) / size), self.n_landmarks)

    def _sample(self, prob, n_copies, rng):
        """Return row numbers and weights of a draw; only proportions matter for a fixed size."""
        if n_copies is None:
            keep_prob = inclusion_probabilities(prob, self.n_landmarks)
            rows = systematic_sample(keep_prob, rng=rng)
            return rows, 1 / keep_prob[rows]
        if self.scheme == "bernoulli":
            # Points of probability 0 get an infinite threshold and are dropped.
            with np.errstate(divide="ignore"):
                weights = subsample_weights(np.ones(prob.size), 1 / (n_copies * prob), rng=rng)
        else:
            copies = rng.binomial(n_copies, prob)
            weights = np.divide(copies, n_copies * prob, out=np.zeros(prob.size), where=copies > 0)
        rows = np.flatnonzero(weights)
        return rows, weights[rows]

    def _scores(self, kernel, points, landmarks, weights, ridge):
        """Return lower bounds of the scores from a dictionary that is (epsilon, ridge)-accurate."""
        score = estimate_leverage(
            kernel, points, landmarks, weights, ridge=ridge, epsilon=self._assumed_epsilon()
        )
        return np.minimum(score, 1.0)

    def _assumed_epsilon(self):
        """Return the epsilon of the estimates; only proportions matter for a fixed size."""
        return 0.0 if self.n_landmarks is not None else self.epsilon


class TwoStepRLS(BatchDictionary):
    """Two-Step sampler: scores from a first dictionary, which is sampled by the diagonal of K.

    Use it if the ridge is not much smaller than the mean eigenvalue of K. Otherwise the first
    dictionary has to be large; see `ManyStepRLS`.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only: the
        effective dimension is a quarter of `n_landmarks`, estimated from a sample of the points.
    n_landmarks : int, optional
        Number of landmarks (all points, if there are fewer). Default: determined by the copies.
    n_copies : int, optional
        Copies per point in both draws, instead of those of `budget`. Not with `n_landmarks`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability of a worse one with budget="theory".
    budget : {"practical", "theory"}
        q of the second draw: rho log(n) / epsilon^2, or the number in the proof.
    scheme : {"binomial", "bernoulli"}
        Binomial copies, or each point once, with probability min(1, q p_i). Ignored with
        `n_landmarks`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies of the second draw (None with `n_landmarks`), the number of points.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> len(TwoStepRLS(ridge=0.1, n_landmarks=5, random_state=7).fit(X).indices_)
    5
    """

    def _draw(self, kernel, points, rng):
        n_points = len(points)
        diagonal = kernel.diag(points)
        # The kernel may be zero everywhere.
        trace = max(diagonal.sum(), np.finfo(np.float64).tiny)
        # k_ii / trace(K) is smaller than tau_i by this factor at most.
        scale = trace / (self.ridge_ + diagonal.min())
        first_copies = self._count_copies(n_points, rho=1.0, scale=scale)
        self.n_copies_ = self._count_copies(n_points, rho=rho(self.epsilon))
        rows, weights = self._sample(diagonal / trace, first_copies, rng)
        score = self._scores(kernel, points, points[rows], weights, self.ridge_)
        return self._sample(score, self.n_copies_, rng)


class ManyStepRLS(BatchDictionary):
    """Many-Step sampler: scores from a dictionary for twice the ridge, and so on.

    Use it if all points are in memory and weights with a small variance are needed; for the best
    span of the landmarks, see `RPCholesky`. It computes n m kernel values per level, and the number
    of levels is logarithmic in trace(K) / ridge.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only: the
        effective dimension is a quarter of `n_landmarks`, estimated from a sample of the points.
    n_landmarks : int, optional
        Number of landmarks (all points, if there are fewer). Default: determined by the copies.
    n_copies : int, optional
        Copies per point at each level, instead of those of `budget`. Not with `n_landmarks`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability of a worse one with budget="theory".
    budget : {"practical", "theory"}
        q: rho log(n) / epsilon^2, or the number for which the proof holds for all levels.
    scheme : {"binomial", "bernoulli"}
        Binomial copies, or each point once, with probability min(1, q p_i). Ignored with
        `n_landmarks`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies at each level (None with `n_landmarks`), and the number of points.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = ManyStepRLS(ridge=0.1, n_landmarks=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _draw(self, kernel, points, rng):
        diagonal = kernel.diag(points)
        ridge = max(diagonal.sum(), self.ridge_)
        n_levels = math.ceil(math.log2(ridge / self.ridge_) + 1)
        # The first scores are within a factor 2, the others within rho of a union of two.
        factor = max(2.0, rho(self.epsilon, n_inexact=2))
        self.n_copies_ = self._count_copies(len(points), rho=factor, n_draws=n_levels)
        # tau_i <= k_ii / trace(K) <= 2 tau_i for the ridge trace(K).
        score = diagonal / ridge
        for _ in range(n_levels - 1):
            rows, weights = self._sample(score, self.n_copies_, rng)
            ridge = max(ridge / 2, self.ridge_)
            # A dictionary that is accurate for 2 ridge is used at (1 + e) ridge [C17, Lemma 3.5].
            wider = (1 + self._assumed_epsilon()) * ridge
            score = self._scores(kernel, points, points[rows], weights, wider)
        return self._sample(score, self.n_copies_, rng)
