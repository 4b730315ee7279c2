"""Dictionaries from all points at once: uniform, exact scores, Two-Step, Many-Step.

Every sampler ends with independent draws of q_i ~ Binomial(q, p_i) copies and weights
q_i / (q p_i), whose expectation is 1; with `n_components` a fixed number of atoms is drawn instead,
with chances min(1, c p_i) and the inverse as weight. With scheme="bernoulli" a point is kept once,
with probability min(1, q p_i): a few more atoms, and no variance where q p_i >= 1. They differ in
p_i:

* uniform: p_i = 1 / n. It needs n max_i tau_i times more copies than there are in d_eff(g) [C17,
  Proposition 2.3], and loses points that are alone.
* exact: p_i = tau_i, at O(n^3) [C17, Corollary 2.9].
* Two-Step: a first dictionary by p_i = k_ii / trace(K), then p_i = (1 - e) raw_i [AM15].
* Many-Step: ridges trace(K), trace(K) / 2, ..., g; p_i = k_ii / trace(K) at first, then each
  dictionary scores the points for the next ridge [C17, Algorithm 5]. The printed weights divide by
  the next level's probabilities, and its rho falls short of 2 at the first level; both are
  corrected here.

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

from graphsqueak.kernel.cholesky import cholesky, inverse_diagonal
from graphsqueak.kernel.leverage import estimate_leverage, rho
from graphsqueak.kernel.samplers.atoms import ATOMS_PER_DIMENSION, Atoms, ridge_for_dimension
from graphsqueak.kernel.samplers.dictionary import Dictionary
from graphsqueak.sampling import (
    Sample,
    expand,
    importance_weights,
    shrink,
    shrink_to_size,
    subsample_weights,
)
from graphsqueak.validation import check_choice

__all__ = ["BatchDictionary", "ExactRLS", "ManyStepRLS", "TwoStepRLS", "UniformDictionary"]

_TINY = np.finfo(np.float64).tiny  # for a kernel that is zero everywhere


@dataclass(kw_only=True, eq=False, repr=False)
class BatchDictionary(Dictionary):
    """Base of the samplers that need all points.

    A subclass offers `_draw(kernel, points, rng)`, which returns row numbers and weights and sets
    `n_copies_`.
    """

    scheme: Literal["binomial", "bernoulli"] = "binomial"

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Draw a dictionary of the rows of X.

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
        rows, weight = self._draw(kernel, points, rng)
        self._atoms = Atoms(rows, points[rows], weight)
        return self

    def _kept_atoms(self):
        return self._atoms

    def _find_ridge(self, kernel, points, rng):
        """The ridge given, or the one that suits the number of atoms, by a uniform sample."""
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        size = min(4 * self.n_components, len(points))
        some = points[rng.choice(len(points), size=size, replace=False)]
        eigenvalues = np.linalg.eigvalsh(kernel(some, some)) * (len(points) / size)
        return ridge_for_dimension(eigenvalues, self.n_components / ATOMS_PER_DIMENSION)

    def _sample(self, prob, n_copies, rng):
        """Row numbers and weights of a draw; for a fixed size only proportions matter."""
        everything = Sample(np.arange(prob.size), np.ones(prob.size), np.ones(prob.size, np.int64))
        if n_copies is None:
            kept = shrink_to_size(everything, prob, self.n_components, rng=rng)
            return kept.index, importance_weights(kept, n_copies=1)
        if self.scheme == "bernoulli":
            with np.errstate(divide="ignore"):
                weight = subsample_weights(np.ones(prob.size), 1 / (n_copies * prob), rng=rng)
            rows = np.flatnonzero(weight)
            return rows, weight[rows]
        none = Sample(np.zeros(0, np.int64), np.ones(0), np.zeros(0, np.int64))
        kept = shrink(expand(none, everything.index, n_copies=n_copies), prob, rng=rng)
        return kept.index, importance_weights(kept, n_copies=n_copies)

    def _scores(self, kernel, points, rows, weight, ridge):
        """Under-estimates from a dictionary that is (epsilon, ridge)-accurate."""
        score = estimate_leverage(
            kernel, points, points[rows], weight, ridge=ridge, epsilon=self._slack()
        )
        return np.minimum(score, 1.0)

    def _slack(self):
        """The epsilon of the estimators; for a fixed size only proportions matter."""
        return 0.0 if self.n_components is not None else self.epsilon


class UniformDictionary(BatchDictionary):
    """Every point alike.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only: a quarter
        as many effective dimensions as atoms, found from a sample of the points.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    n_copies : int, optional
        q, copies per point, instead of `budget`'s. Not with `n_components`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability of being less accurate.
    budget : {"practical", "theory"}
        q by n max_i tau_i log(n) / epsilon^2, bounded from above, or as the proof needs.
    scheme : {"binomial", "bernoulli"}
        Copies, or "bernoulli": kept once, with chance min(1, q p_i). No say with `n_components`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_components`), and how many points were seen.

    Examples
    --------
    >>> d = UniformDictionary(n_components=2, random_state=7).fit(np.arange(10.0)[:, None])
    >>> d.weights_
    array([5., 5.])
    """

    def _draw(self, kernel, points, rng):
        n = len(points)
        largest = kernel.diag(points).max()
        coherence = n * largest / (largest + self.ridge_)  # >= n max tau_i
        self.n_copies_ = self._copies(n, rho=1.0, scale=coherence)
        return self._sample(np.full(n, 1 / n), self.n_copies_, rng)


class ExactRLS(BatchDictionary):
    """Exact ridge leverage scores, at O(n^3).

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only: a quarter
        as many effective dimensions as atoms, found from all eigenvalues of K.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    n_copies : int, optional
        Copies per point instead of what `budget` gives. Not with `n_components`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability of being less accurate.
    budget : {"practical", "theory"}
        q by log(n) / epsilon^2, or as the proof needs.
    scheme : {"binomial", "bernoulli"}
        Copies, or "bernoulli": kept once, with chance min(1, q p_i). No say with `n_components`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_components`), and how many points were seen.

    Examples
    --------
    A point that is alone is almost certain to be kept, its thousand twins are not:

    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = ExactRLS(ridge=0.1, n_components=2, random_state=7).fit(X)
    >>> 1000 in d.indices_
    True
    """

    def _find_ridge(self, kernel, points, rng):
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        eigenvalues = np.linalg.eigvalsh(kernel(points, points))
        return ridge_for_dimension(eigenvalues, self.n_components / ATOMS_PER_DIMENSION)

    def _draw(self, kernel, points, rng):
        factor = cholesky(kernel(points, points), self.ridge_)
        score = np.clip(1 - self.ridge_ * inverse_diagonal(factor), 1e-15, 1.0)
        self.n_copies_ = self._copies(len(points), rho=1.0)
        return self._sample(score, self.n_copies_, rng)


class TwoStepRLS(BatchDictionary):
    """Scores from a first dictionary that is drawn by the diagonal of K.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only: a quarter
        as many effective dimensions as atoms, found from a sample of the points.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    n_copies : int, optional
        Copies per point in both draws, instead of `budget`'s. Not with `n_components`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability of being less accurate.
    budget : {"practical", "theory"}
        q of the second draw by rho log(n) / epsilon^2, or as the proof needs for rho.
    scheme : {"binomial", "bernoulli"}
        Copies, or "bernoulli": kept once, with chance min(1, q p_i). No say with `n_components`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies of the second draw (None with `n_components`), and points seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> len(TwoStepRLS(ridge=0.1, n_components=5, random_state=7).fit(X).indices_)
    5
    """

    def _draw(self, kernel, points, rng):
        n, diagonal = len(points), kernel.diag(points)
        trace = max(diagonal.sum(), _TINY)
        first_copies = self._copies(n, rho=1.0, scale=trace / (self.ridge_ + diagonal.min()))
        self.n_copies_ = self._copies(n, rho=rho(self.epsilon))
        rows, weight = self._sample(diagonal / trace, first_copies, rng)
        score = self._scores(kernel, points, rows, weight, self.ridge_)
        return self._sample(score, self.n_copies_, rng)


class ManyStepRLS(BatchDictionary):
    """Scores from a dictionary at twice the ridge, whose scores come from one at twice that.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only: a quarter
        as many effective dimensions as atoms, of the last level, by a sample of the points.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    n_copies : int, optional
        Copies per point, at each level anew, instead of `budget`'s. Not with `n_components`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability of being less accurate.
    budget : {"practical", "theory"}
        q by rho log(n) / epsilon^2, or so that the proof holds for all levels together.
    scheme : {"binomial", "bernoulli"}
        Copies, or "bernoulli": kept once, with chance min(1, q p_i). No say with `n_components`.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies at each level (None with `n_components`), and points seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = ManyStepRLS(ridge=0.1, n_components=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _draw(self, kernel, points, rng):
        n, diagonal = len(points), kernel.diag(points)
        ridge = max(diagonal.sum(), self.ridge_)
        n_levels = math.ceil(math.log2(ridge / self.ridge_) + 1)
        factor = max(2.0, rho(self.epsilon, n_inexact=2))
        self.n_copies_ = self._copies(n, rho=factor, n_draws=n_levels)
        score = diagonal / ridge  # tau_i <= this <= 2 tau_i
        for _ in range(n_levels - 1):
            rows, weight = self._sample(score, self.n_copies_, rng)  # (e, ridge)-accurate
            ridge = max(ridge / 2, self.ridge_)
            widened = (1 + self._slack()) * ridge  # a dictionary at 2 ridge: [C17, Lemma 3.5]
            score = self._scores(kernel, points, rows, weight, widened)
        return self._sample(score, self.n_copies_, rng)
